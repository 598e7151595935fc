"""Limits and identities for Scrapy: a downloader middleware that asks before each request, without blocking the reactor.

    DOWNLOADER_MIDDLEWARES = {"coxswain.scrapy.CoxswainMiddleware": 740}
    COXSWAIN_RULE = "crawl"

The calls run on the client's own thread, and their results are passed to the reactor, so that any reactor works. A request waits in
process_request, where it occupies one of CONCURRENT_REQUESTS. docs/scrapy.md lists the settings and the counted stats.
"""

from __future__ import annotations

import asyncio
import logging
import time
from collections.abc import Callable, Coroutine, Generator
from typing import Any, Self, TypeVar, cast

from scrapy import signals
from scrapy.crawler import Crawler
from scrapy.exceptions import IgnoreRequest, NotConfigured
from scrapy.http import Request, Response
from scrapy.spiders import Spider
from scrapy.utils.misc import load_object
from twisted.internet.defer import Deferred, inlineCallbacks
from twisted.internet.task import deferLater
from twisted.internet.threads import deferToThread

from ._client import Client
from ._errors import Busy, CoxswainError, LostError
from ._http import host, outcome, retry_after, may_pause
from ._lease import Permit

log = logging.getLogger(__name__)

T = TypeVar("T")
Steps = Generator[Any, Any, T]

# Signals of the crawler: a request was refused and waits or is dropped (request, key, reason, retry_after in seconds), was allowed
# (request, key), has been given an identity (request, permit).
request_refused = object()
request_allowed = object()
identity_taken = object()

# The most seconds between checks whether the spider is closing.
CLOSING_CHECK = 1.0
# The seconds before a call that failed is repeated, unless the error names another time.
RETRY_PAUSE = 1.0
GRANT, PERMIT, SENT = "_coxswain_grant", "_coxswain_permit", "_coxswain_sent"


def request_host(request: Request) -> str:
    """The key of a request, unless COXSWAIN_KEY names another function or its meta has coxswain_key."""
    return host(request.url)


def response_outcome(response: Response) -> str:
    """The outcome of the use of an identity, unless COXSWAIN_OUTCOME names another function."""
    return outcome(response.status)


def set_user_agent(request: Request, permit: Permit) -> None:
    request.headers["User-Agent"] = permit.meta or permit.id


def set_proxy(request: Request, permit: Permit) -> None:
    request.meta["proxy"] = permit.meta or permit.id


IDENTITIES: dict[str, Callable[[Request, Permit], None]] = {"user_agent": set_user_agent, "proxy": set_proxy}


class CoxswainMiddleware:
    """Asks a rule and takes an identity before each request, and reports the outcome of both."""

    def __init__(self, crawler: Crawler, client: Client | None = None) -> None:
        s = crawler.settings
        self.rule: str | None = s.get("COXSWAIN_RULE")
        self.pool: str | None = s.get("COXSWAIN_POOL")
        if not s.getbool("COXSWAIN_ENABLED", True) or not (self.rule or self.pool):
            raise NotConfigured("set COXSWAIN_RULE, COXSWAIN_POOL or both")
        self.crawler = crawler
        self.stats = crawler.stats
        self.key = cast(Callable[[Request], str], load_object(s.get("COXSWAIN_KEY", request_host)))
        self.wait = s.getfloat("COXSWAIN_WAIT", 0.0)
        self.max_wait = s.getfloat("COXSWAIN_MAX_WAIT", 3600.0)
        self.permit_rule: str | None = s.get("COXSWAIN_POOL_RULE")
        self.permit_breaker: str | None = s.get("COXSWAIN_POOL_BREAKER")
        self.scoped = s.getbool("COXSWAIN_POOL_SCOPED", True)
        identity = s.get("COXSWAIN_IDENTITY", "user_agent")
        self.identify = IDENTITIES.get(identity) or cast(Callable[[Request, Permit], None], load_object(identity))
        self.outcome = cast(Callable[[Response], str], load_object(s.get("COXSWAIN_OUTCOME", response_outcome)))
        self.bans = {int(status) for status in s.getlist("COXSWAIN_BAN_STATUSES")}
        self.unban: float | None = s.getfloat("COXSWAIN_UNBAN_AFTER") or None
        self.client = client or Client(s.get("COXSWAIN_CLIENT", s.get("BOT_NAME")), s.get("COXSWAIN_SOCKET"))

    @classmethod
    def from_crawler(cls, crawler: Crawler) -> Self:
        middleware = cls(crawler)
        crawler.signals.connect(middleware.spider_closed, signal=signals.spider_closed)
        return middleware

    # Scrapy calls these.

    @inlineCallbacks
    def process_request(self, request: Request, spider: Spider) -> Steps[None]:
        if request.meta.get("coxswain_skip"):
            return
        key = request.meta.get("coxswain_key") or self.key(request)
        until = time.monotonic() + self.max_wait
        # The identity first, so that the request goes as soon as the limit admits it, and the site sees requests as evenly spaced as
        # they were admitted.
        if self.pool:
            permit = yield self._until_granted(request, key, until, self._take)
            request.meta[PERMIT] = permit
            self.identify(request, permit)
            self._signal(identity_taken, request=request, permit=permit)
        try:
            if self.rule:
                request.meta[GRANT] = (key, (yield self._until_granted(request, key, until, self._ask)))
        except BaseException:
            yield self._give_back(request, "cancelled")
            raise
        request.meta[SENT] = time.monotonic()
        self._signal(request_allowed, request=request, key=key)

    @inlineCallbacks
    def process_response(self, request: Request, response: Response, spider: Spider) -> Steps[Response]:
        after = retry_after(response.headers.get("Retry-After", b"").decode("latin-1"))
        # Before the response goes on, so that the requests that follow from it are decided with this report.
        yield self._report(request, response.status, after)
        ban = response.status in self.bans
        if ban and PERMIT in request.meta:
            self._count("bans")
        yield self._give_back(request, "ban" if ban else self.outcome(response), response.status, after)
        return response

    @inlineCallbacks
    def process_exception(self, request: Request, exception: Exception, spider: Spider) -> Steps[None]:
        sent = not isinstance(exception, IgnoreRequest)
        yield self._report(request, None, None)
        yield self._give_back(request, "transport" if sent else "cancelled")

    def spider_closed(self, spider: Spider) -> Deferred[None]:
        closing: Deferred[None] = deferToThread(self.client.close)
        return closing

    # Asking.

    @inlineCallbacks
    def _until_granted(self, request: Request, key: str, until: float, ask: Callable[[str], Coroutine[Any, Any, Any]]) -> Steps[Any]:
        """Asks until it is granted. The reactor is not blocked between the calls."""
        while True:
            wait = RETRY_PAUSE
            try:
                return (yield self._call(ask(key)))
            except Refused as refused:
                reason, wait = refused.reason, refused.retry_after
                self._count(f"refused/{reason}")
            except CoxswainError as e:
                if not e.retryable:
                    raise
                reason, wait = "unavailable", e.retry_after or RETRY_PAUSE
                self._count("unavailable")
                log.warning("the sidecar could not decide about %s: %s", request, e)
            self._signal(request_refused, request=request, key=key, reason=reason, retry_after=wait)
            if wait < 0 or time.monotonic() + wait > until:
                self._count("given_up")
                raise IgnoreRequest(f"{key}: {reason}, " + ("waiting does not help" if wait < 0 else f"for {wait:g} s more"))
            yield self._pause(wait)

    @inlineCallbacks
    def _pause(self, seconds: float) -> Steps[None]:
        end = time.monotonic() + seconds
        while (left := end - time.monotonic()) > 0:
            if self.crawler.engine is not None and self.crawler.engine.slot is not None and self.crawler.engine.slot.closing:
                raise IgnoreRequest("the spider is closing")
            yield deferLater(self._reactor(), min(left, CLOSING_CHECK), lambda: None)

    async def _ask(self, key: str) -> dict[str, Any]:
        params = {"rule": self.rule, "key": key} | ({"wait_ms": round(self.wait * 1000)} if self.wait > 0 else {})
        r: dict[str, Any] = await self.client.core.call("ratelimit.acquire", params, None)
        if not r["allowed"]:
            raise Refused(r.get("denied_by", "limit"), r["retry_after_ms"] / 1000)
        if r["degraded"]:
            self._later(self._count, "degraded")
        return r

    async def _take(self, key: str) -> Permit:
        assert self.pool is not None
        acquiring = self.client.permit(
            self.pool, rule=self.permit_rule, breaker=self.permit_breaker, scope=key if self.scoped else None, wait=self.wait
        )
        try:
            return await acquiring._obtain()
        except Busy as busy:
            raise Refused(f"pool/{busy.reason}", -1.0 if busy.retry_after is None else busy.retry_after) from None

    # Reporting.

    @inlineCallbacks
    def _report(self, request: Request, status: int | None, after: float | None) -> Steps[None]:
        """Reports the server's answer to the limit, and gives back the permit that the grant holds under max_concurrent."""
        key, grant = request.meta.pop(GRANT, (None, None))
        if grant is None:
            return
        params = {} if "grant" not in grant else {"grant": grant["grant"]}
        if status is not None and may_pause(status, after):
            self._count(f"reported/{status}")
            params |= {"rule": self.rule, "key": key, "status": status, "latency_ms": self._took(request)}
            if after is not None:
                params["retry_after_ms"] = min(max(round(after * 1000), -1), 31_622_400_000)
            r = yield self._send_report("ratelimit.report", params)
            if r is not None and r["wait_ms"] > 0:
                self._count("pauses")
        elif grant.get("held"):
            yield self._send_report("ratelimit.done", params)

    @inlineCallbacks
    def _send_report(self, method: str, params: dict[str, Any]) -> Steps[dict[str, Any] | None]:
        try:
            r: dict[str, Any] = yield self._call(self.client.core.call(method, params, None))
            return r
        except CoxswainError as e:  # a failed report does not fail the request
            self._count("unreported")
            log.warning("%s: %s", method, e)
            return None

    @inlineCallbacks
    def _give_back(self, request: Request, how: str, status: int | None = None, after: float | None = None) -> Steps[None]:
        permit: Permit | None = request.meta.pop(PERMIT, None)
        if permit is None:
            return
        numbers = {"retry_after": after, "took": self._took(request) / 1000, "unban_after": self.unban if how == "ban" else None}
        try:
            yield self._call(permit._report(how, {NAMES[k]: v for k, v in numbers.items()}, status))
        except LostError:
            self._count("lost")
        except CoxswainError as e:  # the permit ends with the session or its lease
            self._count("unreported")
            log.warning("permit.report: %s", e)

    def _took(self, request: Request) -> int:
        sent: float | None = request.meta.get(SENT)
        return 0 if sent is None else round((time.monotonic() - sent) * 1000)

    # Calls on the client's thread.

    def _call(self, coroutine: Coroutine[Any, Any, T]) -> Deferred[T]:
        """Runs a coroutine of the client on its thread. The Deferred fires on the reactor's thread."""
        done: Deferred[T] = Deferred()
        future = self.client.submit(coroutine)

        def resolve(_: object) -> None:
            error = asyncio.CancelledError() if future.cancelled() else future.exception()
            if error is not None:
                self._later(done.errback, error)
            else:
                self._later(done.callback, future.result())

        future.add_done_callback(resolve)
        return done

    def _later(self, do: Callable[..., object], *args: Any) -> None:
        self._reactor().callFromThread(do, *args)

    @staticmethod
    def _reactor() -> Any:
        from twisted.internet import reactor  # which Scrapy installs after this module was imported

        return reactor

    def _count(self, what: str) -> None:
        self.stats.inc_value(f"coxswain/{what}")

    def _signal(self, signal: object, **args: Any) -> None:
        if signal is request_allowed:
            self._count("allowed")
        elif signal is identity_taken:
            self._count("identities")
        self.crawler.signals.send_catch_log(signal=signal, **args)


# The params for the numbers of an outcome.
NAMES = {"retry_after": "retry_after_ms", "took": "duration_ms", "unban_after": "unban_after_ms"}


class Refused(Exception):
    """A limit or a pool refused; retry_after in seconds, below 0 = waiting does not help."""

    def __init__(self, reason: str, retry_after: float) -> None:
        super().__init__(reason)
        self.reason, self.retry_after = reason, retry_after
