"""Leases: locks, semaphores, members of pools, permits, entries of queues and reservations.

A lease that is bound to the session is renewed by the sidecar, which reports a loss in time as long as it lives; so the client asks
whether it does every third of the TTL. A lease that is bound to its TTL ends with that, unless it is renewed.

What is in here runs on the event loop of the client. The classes without Async in their names run it there from other threads.
"""

from __future__ import annotations

import asyncio
import logging
import math
import os
import secrets
from collections.abc import Callable, Coroutine, Generator
from dataclasses import dataclass
from typing import Any, Generic, Protocol, Self, TypeVar

from ._conn import Connection
from ._core import Core
from ._errors import Broken, Busy, Cancelled, ClosedError, CoxswainError, DeadlineExceeded, Internal, InvalidArgument, LostError

log = logging.getLogger("coxswain")

# The longest time in line that one call may ask for.
MAX_WAIT = 60.0


@dataclass(frozen=True)
class Kind:
    """What differs between the nouns that have leases."""

    noun: str
    acquire: str
    release: str
    renew: str | None
    name: str  # the keys of the params
    token: str
    ttl: str
    granted: str = "acquired"  # the key of the result
    named: bool = False  # the sidecar makes the token
    fenced: bool = True
    key: str | None = None  # the second part of the name
    unused: str | None = None  # the outcome of a grant that was not used
    reason: str = "reason"


LOCK = Kind("lock", "lock.acquire", "lock.release", "lock.renew", "name", "token", "ttl_ms")
SEMAPHORE = Kind("semaphore", "semaphore.acquire", "semaphore.release", "semaphore.renew", "name", "token", "ttl_ms")
POOL = Kind("pool", "pool.acquire", "pool.release", "pool.renew", "pool", "lease", "lease_ms", named=True, unused="cancelled")
PERMIT = Kind(
    "permit", "permit.acquire", "permit.report", "permit.renew", "pool", "lease", "lease_ms", named=True, unused="cancelled", reason="denied_by"
)
QUEUE = Kind("queue", "queue.dequeue", "queue.release", "queue.renew", "queue", "lease", "lease_ms", "found", named=True, fenced=False)
SEEN = Kind("seen", "seen.reserve", "seen.release", None, "set", "token", "ttl_ms", "reserved", named=True, fenced=False, key="key", reason="state")

class Event(Protocol):
    """What threading.Event and asyncio.Event have in common."""

    def set(self) -> None: ...

    def is_set(self) -> bool: ...


def ms(seconds: float) -> int:
    """Milliseconds, rounded up, so that a short time does not become 0, which asks for the default."""
    return math.ceil(seconds * 1000 - 1e-6)


def seconds(ms_: int) -> float | None:
    """Seconds of a retry_after_ms, of which a negative one says never."""
    return None if ms_ < 0 else ms_ / 1000


def validity(ttl: float) -> float:
    """How long a grant is safe to rely on: its TTL, less 1 % for clocks that differ in speed and 2 ms for rounding."""
    return ttl - ttl / 100 - 0.002


class Lease:
    """Something held for a time.

    name: what was acquired
    token: the owner's secret, by which others can renew and release it
    fence: a number that rises with every grant, for what the lease protects; 0 = this noun has none
    lost: an event that is set when the lease is lost: end the work then
    result: the answer of the sidecar
    """

    def __init__(self, portal: Any, kind: Kind, params: dict[str, Any]) -> None:
        self._portal = portal
        self._core: Core = portal.core
        self._kind = kind
        self._params = params
        self._session = params.get("bind", "session") == "session"
        self._pid = os.getpid()
        self._on: Connection | None = None  # the session that holds it
        self._confirmed = 0.0  # when it was certainly held, by the loop's clock
        self._ttl = 0.0
        self._ends = math.inf  # the end of the longest hold
        self._granted = False
        self._over = False
        self._loss: str | None = None
        self._alarm: asyncio.TimerHandle | None = None
        self._asking: asyncio.Task[None] | None = None
        self.name: str = params[kind.name]
        self.token: str = "" if kind.named else secrets.token_hex(16)
        self.fence = 0
        self.result: dict[str, Any] = {}
        self.lost = portal.event()

    def __repr__(self) -> str:
        state = f"lost: {self._loss}" if self._loss else "over" if self._over else "held"
        return f"<{type(self).__name__} {self.name!r} fence={self.fence} {state}>"

    @property
    def held(self) -> bool:
        """It was granted, and neither lost nor given back."""
        return self._granted and not self._over and self._loss is None and not self._foreign()

    def check(self) -> None:
        """Raises LostError if the lease is lost."""
        if self._foreign():
            raise self._lost_error("it is the parent process's")
        if self._loss is not None:
            raise self._lost_error(self._loss)

    def _foreign(self) -> bool:
        """This is a child of the process that holds it, and has no part in it."""
        return self._pid != os.getpid()

    def _lost_error(self, reason: str) -> LostError:
        return LostError(f"{self._kind.noun} {self.name}: {reason}", reason=reason)

    # The grant. The connection calls these while it reads and writes.

    def _bind(self, conn: Connection) -> None:
        """The acquisition is sent: the validity of its grant counts from here."""
        self._on, self._confirmed, self._loss = conn, conn.loop.time(), None
        if self._session and not self._kind.named:
            conn.held[self.token] = self

    def _named(self, conn: Connection, result: dict[str, Any]) -> None:
        """Notes the token that the sidecar made, before its loss can be told."""
        if self._kind.named and result[self._kind.granted]:
            self.token = result.get(self._kind.token, "")
            if self._session and self.token:
                conn.held[self.token] = self

    def _late(self, conn: Connection, result: dict[str, Any]) -> None:
        """Gives a grant back that comes when its caller has gone."""
        if result[self._kind.granted]:
            token = result.get(self._kind.token) or self.token
            conn.held.pop(token, None)
            conn.notify(self._kind.release, self._naming(token, self._unused()))

    def _naming(self, token: str, more: dict[str, Any]) -> dict[str, Any]:
        params = {self._kind.name: self.name, self._kind.token: token, **more}
        if self._kind.key is not None:
            params[self._kind.key] = self._params[self._kind.key]
        return params

    def _unused(self) -> dict[str, Any]:
        return {"outcome": self._kind.unused} if self._kind.unused else {}

    def _disown(self, error: BaseException) -> None:
        """Gives back a grant that may exist although its call failed. Only this call knows the token."""
        self._forget()
        unclear = isinstance(error, (DeadlineExceeded, Cancelled, Internal, Broken)) or getattr(error, "maybe_executed", False)
        if unclear and not self._kind.named and self._core.conn is not None:
            self._core.conn.notify(self._kind.release, self._naming(self.token, {}))

    def _forget(self) -> None:
        if self._on is not None:
            self._on.held.pop(self.token, None)

    def _take(self, result: dict[str, Any]) -> None:
        self.result = result
        self._granted = True
        if self._kind.fenced:
            self.fence = int(result["fence"])
        ttl_ms: int = result.get(self._kind.ttl) or self._params[self._kind.ttl]
        self._ttl = ttl_ms / 1000
        # The sidecar waited for this long before it asked for the grant.
        self._confirmed += result.get("waited_ms", 0) / 1000
        if hold := self._params.get("max_hold_ms"):
            self._ends = self._confirmed + validity(hold / 1000)
        if self._loss is not None:  # lost between the reply and now
            self.lost.set()
        else:
            self._arm()

    # Its end.

    def _arm(self) -> None:
        """Sets the time of the next check."""
        at = self._confirmed + self._ttl / 3 if self._session else min(self._confirmed + validity(self._ttl), self._ends)
        self._disarm()
        self._alarm = asyncio.get_running_loop().call_at(at, self._ring)

    def _disarm(self) -> None:
        if self._alarm is not None:
            self._alarm.cancel()
            self._alarm = None

    def _ring(self) -> None:
        loop = asyncio.get_running_loop()
        if self._session:
            self._asking = loop.create_task(self._ask(loop))
        else:
            self._lose("max_hold" if loop.time() >= self._ends else "its TTL ran out")

    async def _ask(self, loop: asyncio.AbstractEventLoop) -> None:
        """Asks whether the sidecar lives, which renews the lease or has reported its loss before it answers."""
        # The last certain renewal may be a third of the TTL older than the last answer of the sidecar.
        until = self._confirmed + validity(self._ttl) - self._ttl / 3
        asked = loop.time()
        if asked >= until:
            # This process did not run for a while; it may have been stopped by a signal.
            until = asked + self._ttl / 3
        try:
            await self._core.invoke("session.ping", {}, until - asked, on=self._on)
        except (CoxswainError, Broken):
            self._lose("the sidecar does not answer")
        else:
            self._confirm(asked)

    def _confirm(self, at: float) -> None:
        if self._loss is None and not self._over:
            self._confirmed = at
            self._arm()

    def _lose(self, reason: str) -> None:
        if self._loss is None and not self._over:
            self._loss = reason
            self._disarm()
            if self._granted:
                self.lost.set()

    async def _renew(self, ttl: float | None) -> None:
        if self._kind.renew is None:
            raise InvalidArgument(f"{self._kind.noun}: there is no renewal; bind it to the session, or give it a longer ttl")
        self.check()
        if self._over:
            raise self._lost_error("it was given back")
        if ttl is not None:
            self._ttl = ttl
        sent = asyncio.get_running_loop().time()
        params = self._naming(self.token, {self._kind.ttl: ms(self._ttl)})
        try:
            r = await self._core.invoke(self._kind.renew, params, on=self._on if self._session else None)
        except Broken as e:
            raise self._lost_error(f"the connection ended: {e.why}") from None
        if not r["renewed"]:
            self._lose(r["reason"])
            raise self._lost_error(r["reason"])
        self._confirm(sent)

    async def _end(self, method: str, more: dict[str, Any]) -> None:
        """Ends the lease by one of its methods. It raises LostError if the lease was not held to the end."""
        if self._over:
            return
        self._disarm()
        # It goes to the session that holds it, which would otherwise report a loss. If that has ended, any session can end it by its
        # token, which frees at once what a killed sidecar left behind.
        loss = self._loss
        try:
            r = await self._core.invoke(method, self._naming(self.token, more), on=self._on if self._session and loss is None else None)
        except Broken:  # it was held until this call; whether it is over is made sure of on the next connection
            r = await self._core.invoke(method, self._naming(self.token, more))
            r["released"] = True
        self._forget()
        self._over = True
        if loss is None and not (r.get("released") or r.get("acked") or r.get("committed")):
            loss = self._loss = r["reason"]
            self.lost.set()
        if loss is not None:
            raise self._lost_error(loss)

    async def _settle(self, exc: BaseException | None) -> None:
        """What the end of a block does."""
        await self._end(self._kind.release, {})

    async def _leave(self, exc: BaseException | None) -> None:
        """Settles at the end of a block. An exception of the block matters more than what becomes of the lease."""
        try:
            await self._settle(exc)
        except LostError as lost:
            if exc is None:
                raise
            exc.add_note(str(lost))
        except CoxswainError as e:
            log.warning("%s %s: the release failed; the lease ends with its TTL: %s", self._kind.noun, self.name, e)
            if exc is None:
                self.check()


class SyncForm(Lease):
    """A lease of Client."""

    def release(self) -> None:
        """Gives it back. It raises LostError if it was not held to the end. A second time does nothing."""
        self._run(self._end, self._kind.release, {})

    def renew(self, ttl: float | None = None) -> None:
        """Has it last ttl seconds from now on. Only a lease with bind="ttl" needs that."""
        self.check()
        self._run(self._renew, ttl)

    def _run(self, do: Callable[..., Coroutine[Any, Any, None]], *args: Any) -> None:
        if not self._foreign():
            self._portal.run(do(*args))

    def __enter__(self) -> Self:
        return self

    def __exit__(self, kind: object, exc: BaseException | None, trace: object) -> None:
        try:
            self._run(self._leave, exc)
        except ClosedError:  # which has given it back
            if exc is None:
                self.check()


class AsyncForm(Lease):
    """A lease of AsyncClient."""

    async def release(self) -> None:
        """Gives it back. It raises LostError if it was not held to the end. A second time does nothing."""
        if not self._foreign():
            await self._end(self._kind.release, {})

    async def renew(self, ttl: float | None = None) -> None:
        """Has it last ttl seconds from now on. Only a lease with bind="ttl" needs that."""
        await self._renew(ttl)

    async def __aenter__(self) -> Self:
        return self

    async def __aexit__(self, kind: object, exc: BaseException | None, trace: object) -> None:
        if not self._foreign():
            await self._leave(exc)


class Member(Lease):
    """A member of a pool. id: the member. meta: the text that was put with it."""

    _reported: dict[str, Any] | None = None

    @property
    def id(self) -> str:
        return str(self.result["id"])

    @property
    def meta(self) -> str:
        return str(self.result.get("meta", ""))

    async def _settle(self, exc: BaseException | None) -> None:
        outcome = "ok" if exc is None else "cancelled" if isinstance(exc, asyncio.CancelledError) else "fail"
        more: dict[str, Any] = {"outcome": outcome}
        if self._kind is PERMIT:
            more["duration_ms"] = min(max(int((asyncio.get_running_loop().time() - self._confirmed) * 1000), 0), 86_400_000)
        await self._end(self._kind.release, more)

    async def _report(self, outcome: str, numbers: dict[str, float | None], status: int | None) -> None:
        """Bounds are kept here: what a server sends in a header must not prevent the release."""
        more: dict[str, Any] = {"outcome": outcome}
        for key, (most, value) in {k: (MOST[k], v) for k, v in numbers.items()}.items():
            if value is not None:
                more[key] = min(max(ms(value), 0), most)
        if status is not None and 100 <= status <= 999:
            more["status"] = status
        await self._end(self._kind.release, more)


# The largest values that pool.release and permit.report take.
MOST = {"cooldown_ms": 604_800_000, "unban_after_ms": 31_622_400_000, "retry_after_ms": 31_622_400_000, "duration_ms": 86_400_000}


class Entry(Lease):
    """An entry of a queue. At the end of its block it is acknowledged, or after an exception at the head of the queue again."""

    @property
    def id(self) -> str:
        return str(self.result["id"])

    @property
    def body(self) -> bytes:
        return bytes(self.result.get("body", b""))

    @property
    def attempt(self) -> int:
        """How often it has been taken, from 1."""
        return int(self.result["attempt"])

    async def _settle(self, exc: BaseException | None) -> None:
        await self._end("queue.ack" if exc is None else "queue.release", {})


class Reservation(Lease):
    """A key that is reserved to do something once. At the end of its block it is done, or after an exception given up."""

    @property
    def key(self) -> str:
        return str(self._params["key"])

    async def _settle(self, exc: BaseException | None) -> None:
        if exc is None:
            await self._end("seen.commit", self._keep())
        else:
            await self._end("seen.release", {})

    def _keep(self) -> dict[str, Any]:
        keep = self._params.get("_keep_ms")
        return {} if keep is None else {"keep_ms": keep}


class Lock(SyncForm):
    """A lock that is held."""


class AsyncLock(AsyncForm):
    """A lock that is held."""


class Semaphore(SyncForm):
    """Permits of a semaphore that are held."""


class AsyncSemaphore(AsyncForm):
    """Permits of a semaphore that are held."""


class PoolMember(Member, SyncForm):
    """A member of a pool that is this client's."""

    def report(self, outcome: str = "ok", *, cooldown: float | None = None, unban_after: float | None = None) -> None:
        """Gives the member back and says how it did: ok, soft_block, hard_block, transport, captcha, fail, ban or cancelled."""
        self._run(self._report, outcome, {"cooldown_ms": cooldown, "unban_after_ms": unban_after}, None)


class AsyncPoolMember(Member, AsyncForm):
    """A member of a pool that is this client's."""

    async def report(self, outcome: str = "ok", *, cooldown: float | None = None, unban_after: float | None = None) -> None:
        """Gives the member back and says how it did: ok, soft_block, hard_block, transport, captcha, fail, ban or cancelled."""
        await self._report(outcome, {"cooldown_ms": cooldown, "unban_after_ms": unban_after}, None)


class Permit(Member, SyncForm):
    """A member of a pool that may be used now, by its breaker and its limit."""

    def report(
        self,
        outcome: str = "ok",
        *,
        status: int | None = None,
        retry_after: float | None = None,
        duration: float | None = None,
        cooldown: float | None = None,
        unban_after: float | None = None,
    ) -> None:
        """Gives the member back, and tells its breaker, its cooldown and its pause how the work went.

        outcome: ok, soft_block, hard_block, transport, captcha, fail, ban or cancelled
        status: the HTTP status
        retry_after, duration, cooldown, unban_after: seconds
        """
        self._run(self._report, outcome, _report(retry_after, duration, cooldown, unban_after), status)


class AsyncPermit(Member, AsyncForm):
    """A member of a pool that may be used now, by its breaker and its limit."""

    async def report(
        self,
        outcome: str = "ok",
        *,
        status: int | None = None,
        retry_after: float | None = None,
        duration: float | None = None,
        cooldown: float | None = None,
        unban_after: float | None = None,
    ) -> None:
        """Gives the member back, and tells its breaker, its cooldown and its pause how the work went. See Permit.report."""
        await self._report(outcome, _report(retry_after, duration, cooldown, unban_after), status)


def _report(
    retry_after: float | None, duration: float | None, cooldown: float | None, unban_after: float | None
) -> dict[str, float | None]:
    return {"retry_after_ms": retry_after, "duration_ms": duration, "cooldown_ms": cooldown, "unban_after_ms": unban_after}


class QueueEntry(Entry, SyncForm):
    """An entry of a queue that is this client's."""

    def ack(self) -> None:
        """Its work is done: it does not come back. release puts it back at the head of the queue."""
        self._run(self._end, "queue.ack", {})


class AsyncQueueEntry(Entry, AsyncForm):
    """An entry of a queue that is this client's."""

    async def ack(self) -> None:
        """Its work is done: it does not come back. release puts it back at the head of the queue."""
        if not self._foreign():
            await self._end("queue.ack", {})


class SeenReservation(Reservation, SyncForm):
    """A key of a set that is this client's to do."""

    def commit(self) -> None:
        """It is done. release gives it up."""
        self._run(self._end, "seen.commit", self._keep())


class AsyncSeenReservation(Reservation, AsyncForm):
    """A key of a set that is this client's to do."""

    async def commit(self) -> None:
        """It is done. release gives it up."""
        if not self._foreign():
            await self._end("seen.commit", self._keep())


L = TypeVar("L", bound=Lease)
S = TypeVar("S", bound=SyncForm)
A = TypeVar("A", bound=AsyncForm)


class Acquiring(Generic[L]):
    """A lease that is to be acquired: each use acquires another one."""

    def __init__(self, portal: Any, form: type[L], kind: Kind, params: dict[str, Any], wait: float) -> None:
        self._portal = portal
        self._form = form
        self._kind = kind
        self._params = {k: v for k, v in params.items() if v is not None}
        self._wait = wait
        self._lease: L | None = None  # of the block

    async def _obtain(self) -> L:
        """Asks until it is granted or refused, in rounds of what one call may wait."""
        loop = asyncio.get_running_loop()
        end = loop.time() + self._wait
        while True:
            left = end - loop.time()
            turn = min(max(left, 0.0), MAX_WAIT)
            try:
                return await self._once(turn)
            except Busy:
                if turn < MAX_WAIT or end - loop.time() <= 0 or left - (end - loop.time()) < turn / 2:
                    raise  # the time is over, or more time does not help

    async def _once(self, wait: float) -> L:
        kind = self._kind
        while True:
            lease = self._form(self._portal, kind, self._params)
            params = {k: v for k, v in self._params.items() if not k.startswith("_")}
            if wait > 0:
                params["wait_ms"] = ms(wait)
            if not kind.named:
                params[kind.token] = lease.token
            try:
                r = await lease._core.invoke(kind.acquire, params, lease=lease)
            except BaseException as e:
                lease._disown(e)
                raise
            if r[kind.granted]:
                lease._take(r)
                return lease
            lease._forget()
            # A replayed refusal is about a grant that ended with its broken connection before the call was repeated. It says nothing
            # of the present, so the call is made anew.
            if not r.get("replayed"):
                raise self._busy(r)

    def _busy(self, r: dict[str, Any]) -> Busy:
        reason, after, holder = r.get(self._kind.reason, ""), seconds(r["retry_after_ms"]), r.get("held_by")
        text = f"{self._kind.noun} {self._params[self._kind.name]}: {reason or 'busy'}"
        if holder is not None:
            text += f": held by {holder['client']!r} {holder['instance']!r}"
        if after is not None:
            text += f" for up to {after:g} s"
        return Busy(text, retry_after=after, reason=reason, held_by=holder)


class SyncAcquiring(Acquiring[S]):
    """Acquire it with `with`, or by acquire."""

    def acquire(self) -> S:
        """Acquires it, within wait. A refusal raises Busy."""
        lease: S = self._portal.run(self._obtain())
        return lease

    def __enter__(self) -> S:
        self._lease = self.acquire()
        return self._lease

    def __exit__(self, kind: type[BaseException] | None, exc: BaseException | None, trace: object) -> None:
        assert self._lease is not None
        self._lease.__exit__(kind, exc, trace)


class AsyncAcquiring(Acquiring[A]):
    """Acquire it with `async with`, or by `await`."""

    async def acquire(self) -> A:
        """Acquires it, within wait. A refusal raises Busy."""
        return await self._obtain()

    def __await__(self) -> Generator[Any, None, A]:
        return self._obtain().__await__()

    async def __aenter__(self) -> A:
        self._lease = await self._obtain()
        return self._lease

    async def __aexit__(self, kind: type[BaseException] | None, exc: BaseException | None, trace: object) -> None:
        assert self._lease is not None
        await self._lease.__aexit__(kind, exc, trace)
