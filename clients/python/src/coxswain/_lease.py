"""Leases: locks, semaphores, members of pools, permits, entries of queues and reservations.

The sidecar renews a lease that is bound to the session, and reports a loss in time as long as it runs; so the client pings the sidecar
every third of the TTL. A lease that is bound to its TTL ends with the TTL, unless the caller renews it.

The code runs on the event loop of the client. The classes without Async in their names run it there from other threads.
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

# The most seconds that one call may wait in line.
MAX_WAIT = 60.0


@dataclass(frozen=True)
class Kind:
    """What differs between the nouns that have leases."""

    noun: str
    acquire: str
    release: str
    renew: str | None
    # Keys of the params.
    name: str
    token: str
    ttl: str
    # The key of the result that has whether the lease was granted.
    granted: str = "acquired"
    named: bool = False  # whether the sidecar makes the token
    fenced: bool = True
    key: str | None = None  # the key of the params with the second part of the name
    unused: str | None = None  # the outcome with which a grant that was not used is given back
    reason: str = "reason"  # the key of the result with the reason of a refusal


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
    """Seconds of a retry_after_ms; None for a negative one, which means never."""
    return None if ms_ < 0 else ms_ / 1000


def validity(ttl: float) -> float:
    """For how many seconds a grant is valid: its TTL, less 1 % for clocks that differ in speed and 2 ms for rounding."""
    return ttl - ttl / 100 - 0.002


class Lease:
    """Something held for a time.

    name: the name of the lock, semaphore, pool, queue or set
    token: the owner's secret, which any client can use to renew or release the lease
    fence: a number that rises with every grant, for the resource that the lease protects; 0 = this noun has none
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
        self._on: Connection | None = None  # the connection whose session holds it
        self._confirmed = 0.0  # the latest instant at which it was certainly held, by the loop's clock
        self._ttl = 0.0
        self._ends = math.inf  # the end of its validity by max_hold
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
        """Whether it was granted, and neither lost nor given back."""
        return self._granted and not self._over and self._loss is None and not self._foreign()

    def check(self) -> None:
        """Raises LostError if the lease is lost."""
        if self._foreign():
            raise self._lost_error("it belongs to the parent process")
        if self._loss is not None:
            raise self._lost_error(self._loss)

    def _foreign(self) -> bool:
        """Whether this process is a child of the one that acquired it, which alone holds it."""
        return self._pid != os.getpid()

    def _lost_error(self, reason: str) -> LostError:
        return LostError(f"{self._kind.noun} {self.name}: {reason}", reason=reason)

    # The methods of Held, by which the connection binds and loses the lease.

    def _bind(self, conn: Connection) -> None:
        self._on, self._confirmed, self._loss = conn, conn.loop.time(), None
        if self._session and not self._kind.named:
            conn.held[self.token] = self

    def _note_token(self, conn: Connection, result: dict[str, Any]) -> None:
        if self._kind.named and result[self._kind.granted]:
            self.token = result.get(self._kind.token, "")
            if self._session and self.token:
                conn.held[self.token] = self

    def _give_back_late(self, conn: Connection, result: dict[str, Any]) -> None:
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
        """Gives back a grant that may exist although its call failed. No other code has its token."""
        self._forget()
        unclear = isinstance(error, (asyncio.CancelledError, DeadlineExceeded, Cancelled, Internal, Broken)) or getattr(error, "maybe_executed", False)
        if not unclear or self._kind.named or self._on is None:  # None: it was not sent
            return
        params = self._naming(self.token, {})
        if self._core.conn is not None:
            self._core.conn.notify(self._kind.release, params)
        if not self._session:  # the end of the connection would not give it back, and would lose the notification
            self._core.spawn(self._core.invoke(self._kind.release, params))

    def _return(self) -> None:
        """Gives back a grant that its caller does not get."""
        self._disarm()
        self._over = True
        if self._on is not None:
            self._give_back_late(self._on, self.result)

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
        # The sidecar asked Redis for the grant only after this wait.
        self._confirmed += result.get("waited_ms", 0) / 1000
        if hold := self._params.get("max_hold_ms"):
            self._ends = self._confirmed + validity(hold / 1000)
        if self._loss is not None:  # lost between the reply and now
            self.lost.set()
        else:
            self._arm()

    # The end.

    def _arm(self) -> None:
        """Sets the timer of the next ping, or without a session that of the end of its validity."""
        at = self._confirmed + self._ttl / 3 if self._session else min(self._confirmed + validity(self._ttl), self._ends)
        self._disarm()
        self._alarm = asyncio.get_running_loop().call_at(at, self._on_alarm)

    def _disarm(self) -> None:
        if self._alarm is not None:
            self._alarm.cancel()
            self._alarm = None

    def _on_alarm(self) -> None:
        loop = asyncio.get_running_loop()
        if self._session:
            self._asking = loop.create_task(self._ask(loop))
        else:
            self._lose("max_hold" if loop.time() >= self._ends else "its TTL ran out")

    async def _ask(self, loop: asyncio.AbstractEventLoop) -> None:
        """Pings the sidecar. If it answers, it renews the lease, or has reported the loss before the answer."""
        # The last certain renewal may be a third of the TTL older than the sidecar's last answer.
        until = self._confirmed + validity(self._ttl) - self._ttl / 3
        asked = loop.time()
        if asked >= until:
            # This process did not run for a while, for example since a signal stopped it.
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
        """Ends the lease by one of its methods. It raises LostError if the lease was lost before."""
        if self._over:
            return
        self._disarm()
        # The call goes to the session that holds the lease, which would otherwise report a loss. If that session has ended, any session
        # can end the lease by its token, which frees at once the lease of a killed sidecar.
        loss = self._loss
        try:
            try:
                r = await self._core.settle(method, self._naming(self.token, more), self._on if self._session and loss is None else None)
            except Broken:  # the lease was held until this call; the next connection makes sure that it ends
                r = await self._core.settle(method, self._naming(self.token, more))
                r["released"] = True
        except asyncio.CancelledError:  # the call goes on without its caller
            self._forget()
            self._over = True
            raise
        self._forget()
        self._over = True
        if loss is None and not (r.get("released") or r.get("acked") or r.get("committed")):
            loss = self._loss = r["reason"]
            self.lost.set()
        if loss is not None:
            raise self._lost_error(loss)

    async def _settle(self, exc: BaseException | None) -> None:
        """Ends the lease at the end of its block."""
        await self._end(self._kind.release, {})

    async def _leave(self, exc: BaseException | None) -> None:
        """Calls _settle at the end of a block. If the block raised, its exception is kept, and a LostError becomes a note of it."""
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
        """Gives the lease back. It raises LostError if the lease was lost before. A second call does nothing."""
        self._run(self._end, self._kind.release, {})

    def renew(self, ttl: float | None = None) -> None:
        """Renews the lease, to last ttl seconds from now; None = as before. Only a lease with bind="ttl" needs it."""
        self.check()
        self._portal.run(self._renew(ttl))

    def _run(self, do: Callable[..., Coroutine[Any, Any, None]], *args: Any) -> None:
        if not self._foreign():
            self._portal.finish(do(*args))

    def __enter__(self) -> Self:
        return self

    def __exit__(self, kind: object, exc: BaseException | None, trace: object) -> None:
        try:
            self._run(self._leave, exc)
        except ClosedError:  # closing the client has given it back
            if exc is None:
                self.check()


class AsyncForm(Lease):
    """A lease of AsyncClient."""

    async def release(self) -> None:
        """Gives the lease back. It raises LostError if the lease was lost before. A second call does nothing."""
        if not self._foreign():
            await self._end(self._kind.release, {})

    async def renew(self, ttl: float | None = None) -> None:
        """Renews the lease, to last ttl seconds from now; None = as before. Only a lease with bind="ttl" needs it."""
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
        # An exception that is no Exception, such as CancelledError or KeyboardInterrupt, shows nothing about the member.
        outcome = "ok" if exc is None else "fail" if isinstance(exc, Exception) else "cancelled"
        more: dict[str, Any] = {"outcome": outcome}
        if self._kind is PERMIT:
            more["duration_ms"] = min(max(int((asyncio.get_running_loop().time() - self._confirmed) * 1000), 0), 86_400_000)
        await self._end(self._kind.release, more)

    async def _report(self, outcome: str, numbers: dict[str, float | None], status: int | None) -> None:
        """Gives the member back with its outcome. Values are bounded here: one from a server's header must not make the release fail."""
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
    """An entry of a queue. The end of its block acknowledges it, or after an exception puts it back at the head of the queue."""

    @property
    def id(self) -> str:
        return str(self.result["id"])

    @property
    def body(self) -> bytes:
        return bytes(self.result.get("body", b""))

    @property
    def attempt(self) -> int:
        """How often the entry has been taken, from 1."""
        return int(self.result["attempt"])

    async def _settle(self, exc: BaseException | None) -> None:
        await self._end("queue.ack" if exc is None else "queue.release", {})


class Reservation(Lease):
    """A reserved key of a set. The end of its block commits it as done, or after an exception releases it."""

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
    """Permits of a semaphore, which are held."""


class AsyncSemaphore(AsyncForm):
    """Permits of a semaphore, which are held."""


class PoolMember(Member, SyncForm):
    """A member of a pool, which is held."""

    def report(self, outcome: str = "ok", *, cooldown: float | None = None, unban_after: float | None = None) -> None:
        """Gives the member back with its outcome: ok, soft_block, hard_block, transport, captcha, fail, ban or cancelled."""
        self._run(self._report, outcome, {"cooldown_ms": cooldown, "unban_after_ms": unban_after}, None)


class AsyncPoolMember(Member, AsyncForm):
    """A member of a pool, which is held."""

    async def report(self, outcome: str = "ok", *, cooldown: float | None = None, unban_after: float | None = None) -> None:
        """Gives the member back with its outcome: ok, soft_block, hard_block, transport, captcha, fail, ban or cancelled."""
        await self._report(outcome, {"cooldown_ms": cooldown, "unban_after_ms": unban_after}, None)


class Permit(Member, SyncForm):
    """A member of a pool, held after its breaker and its limit admitted it."""

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
        """Gives the member back, and reports the outcome to its breaker, its cooldown and its pause.

        outcome: ok, soft_block, hard_block, transport, captcha, fail, ban or cancelled
        status: the HTTP status
        retry_after, duration, cooldown, unban_after: seconds
        """
        self._run(self._report, outcome, _report(retry_after, duration, cooldown, unban_after), status)


class AsyncPermit(Member, AsyncForm):
    """A member of a pool, held after its breaker and its limit admitted it."""

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
        """Gives the member back, and reports the outcome to its breaker, its cooldown and its pause. See Permit.report."""
        await self._report(outcome, _report(retry_after, duration, cooldown, unban_after), status)


def _report(
    retry_after: float | None, duration: float | None, cooldown: float | None, unban_after: float | None
) -> dict[str, float | None]:
    return {"retry_after_ms": retry_after, "duration_ms": duration, "cooldown_ms": cooldown, "unban_after_ms": unban_after}


class QueueEntry(Entry, SyncForm):
    """An entry of a queue, which is held."""

    def ack(self) -> None:
        """Acknowledges the entry, which removes it. release puts it back at the head of the queue."""
        self._run(self._end, "queue.ack", {})


class AsyncQueueEntry(Entry, AsyncForm):
    """An entry of a queue, which is held."""

    async def ack(self) -> None:
        """Acknowledges the entry, which removes it. release puts it back at the head of the queue."""
        if not self._foreign():
            await self._end("queue.ack", {})


class SeenReservation(Reservation, SyncForm):
    """A reserved key of a set. See Reservation."""

    def commit(self) -> None:
        """Marks the key as done. release gives the reservation up."""
        self._run(self._end, "seen.commit", self._keep())


class AsyncSeenReservation(Reservation, AsyncForm):
    """A reserved key of a set. See Reservation."""

    async def commit(self) -> None:
        """Marks the key as done. release gives the reservation up."""
        if not self._foreign():
            await self._end("seen.commit", self._keep())


L = TypeVar("L", bound=Lease)
S = TypeVar("S", bound=SyncForm)
A = TypeVar("A", bound=AsyncForm)


class Acquiring(Generic[L]):
    """The parameters of a lease to acquire: each use acquires another lease."""

    def __init__(self, portal: Any, form: type[L], kind: Kind, params: dict[str, Any], wait: float) -> None:
        self._portal = portal
        self._form = form
        self._kind = kind
        self._params = {k: v for k, v in params.items() if v is not None}
        self._wait = wait
        self._lease: L | None = None  # of the running block

    async def _obtain(self) -> L:
        """Acquires the lease, in calls that each wait at most MAX_WAIT."""
        loop = asyncio.get_running_loop()
        end = loop.time() + self._wait
        while True:
            left = end - loop.time()
            turn = min(max(left, 0.0), MAX_WAIT)
            try:
                return await self._once(turn)
            except Busy:
                if turn < MAX_WAIT or end - loop.time() <= 0 or left - (end - loop.time()) < turn / 2:
                    raise  # the time is over, or the call was refused without waiting

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
            # A replayed refusal is about a grant that ended with its broken connection before the call was repeated. It does not mean
            # that the name is held now, so a new call is made.
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
    """A lease to acquire by `with` or by acquire."""

    def acquire(self) -> S:
        """Acquires the lease, within wait. A refusal raises Busy."""
        lease: S = self._portal.run(self._obtain(), Lease._return)
        return lease

    def __enter__(self) -> S:
        self._lease = self.acquire()
        return self._lease

    def __exit__(self, kind: type[BaseException] | None, exc: BaseException | None, trace: object) -> None:
        assert self._lease is not None
        self._lease.__exit__(kind, exc, trace)


class AsyncAcquiring(Acquiring[A]):
    """A lease to acquire by `async with`, `await` or acquire."""

    async def acquire(self) -> A:
        """Acquires the lease, within wait. A refusal raises Busy."""
        return await self._obtain()

    def __await__(self) -> Generator[Any, None, A]:
        return self._obtain().__await__()

    async def __aenter__(self) -> A:
        self._lease = await self._obtain()
        return self._lease

    async def __aexit__(self, kind: type[BaseException] | None, exc: BaseException | None, trace: object) -> None:
        assert self._lease is not None
        await self._lease.__aexit__(kind, exc, trace)
