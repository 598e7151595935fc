"""The nouns of both clients: the calls of the protocol, and the convenience forms, in which times are seconds.

Each convenience form is written once for both clients; only the class that it makes differs.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any, Generic, Literal, TypeVar

from . import _methods as m
from ._breaker import AsyncBreaker, Breaker
from ._feed import AsyncPubsubSubscription, AsyncStreamSubscription, PubsubSubscription, StreamSubscription
from ._lease import (
    LOCK,
    PERMIT,
    POOL,
    QUEUE,
    SEEN,
    SEMAPHORE,
    Acquiring,
    AsyncAcquiring,
    AsyncLock,
    AsyncPermit,
    AsyncPoolMember,
    AsyncQueueEntry,
    AsyncSeenReservation,
    AsyncSemaphore,
    Lock,
    Permit,
    PoolMember,
    QueueEntry,
    SeenReservation,
    Semaphore,
    SyncAcquiring,
    ms,
)

Bind = Literal["session", "ttl"]
T = TypeVar("T")


def _ms(seconds: float | None) -> int | None:
    return None if seconds is None else ms(seconds)


class Noun(Generic[T]):
    """A noun of a client. Calling it, its convenience form, makes a T."""

    _makes: tuple[Callable[..., Any], Any]

    def __init__(self, portal: Any) -> None:
        self._call = portal.invoke
        self._portal = portal

    def _acquiring(self, kind: Any, params: Mapping[str, Any], wait: float) -> T:
        acquiring, form = self._makes
        made: T = acquiring(self._portal, form, kind, params, wait)
        return made


class LockForm(Noun[T]):
    def __call__(
        self,
        name: str,
        *,
        ttl: float = 30.0,
        wait: float = 0.0,
        bind: Bind = "session",
        max_hold: float | None = None,
        wait_replicas: int | None = None,
        meta: str | None = None,
    ) -> T:
        """A lock, held during a `with` block. The end of the block gives it back, or raises LostError if it was lost before.

        ttl: seconds for which it lasts after its last renewal
        wait: seconds to wait in line, first come, first served across all pods; then, or at once with 0, Busy is raised
        bind: session = renewed while the connection is open, and given back when it closes; ttl = neither
        max_hold: seconds after which it is lost even if it is renewed
        wait_replicas: how many replicas of Redis must have the grant
        meta: shown with the holder, at most 512 bytes
        """
        params = {
            "name": name,
            "ttl_ms": ms(ttl),
            "bind": bind,
            "max_hold_ms": _ms(max_hold),
            "wait_replicas": wait_replicas,
            "meta": meta,
        }
        return self._acquiring(LOCK, params, wait)


class SemaphoreForm(Noun[T]):
    def __call__(
        self,
        name: str,
        *,
        limit: int,
        permits: int = 1,
        ttl: float = 30.0,
        wait: float = 0.0,
        bind: Bind = "session",
        max_hold: float | None = None,
        wait_replicas: int | None = None,
        meta: str | None = None,
    ) -> T:
        """Permits of a semaphore, held during a `with` block.

        limit: how many permits the semaphore has; all callers must give the same number
        permits: how many to take, all or none
        The others are those of lock.
        """
        params = {
            "name": name,
            "limit": limit,
            "permits": permits,
            "ttl_ms": ms(ttl),
            "bind": bind,
            "max_hold_ms": _ms(max_hold),
            "wait_replicas": wait_replicas,
            "meta": meta,
        }
        return self._acquiring(SEMAPHORE, params, wait)


class PoolForm(Noun[T]):
    def __call__(
        self,
        pool: str,
        *,
        scope: str | None = None,
        wait: float = 0.0,
        lease: float = 60.0,
        exclude: Sequence[str] | None = None,
        sticky: str | None = None,
        bind: Bind = "session",
    ) -> T:
        """The least recently used free member of a pool, held during a `with` block.

        The end of the block gives it back with the outcome ok, or fail after an exception, unless report was called before.

        scope: what it is used for, such as a host: each scope has its own order of last use and its own cooldowns
        wait: seconds to wait in line; then, or at once with 0, Busy is raised
        lease: seconds for which it is held after its last renewal
        exclude: members not to take
        sticky: a name that gets its last member again if that is available
        """
        params = {
            "pool": pool,
            "scope": scope,
            "lease_ms": ms(lease),
            "exclude": None if exclude is None else list(exclude),
            "sticky": sticky,
            "bind": bind,
        }
        return self._acquiring(POOL, params, wait)


class PermitForm(Noun[T]):
    def __call__(
        self,
        pool: str,
        *,
        rule: str | None = None,
        breaker: str | None = None,
        cost: int = 1,
        scope: str | None = None,
        wait: float = 0.0,
        lease: float = 60.0,
        exclude: Sequence[str] | None = None,
        sticky: str | None = None,
        bind: Bind = "session",
    ) -> T:
        """A free member of a pool whose breaker is not open and whose bucket has the cost, held during a `with` block.

        rule: the token_bucket rule by which each member has a bucket of its own
        breaker: the policy of the members' breakers; "default" is the built-in one
        cost: how much is taken from the member's bucket
        The others are those of pool.
        """
        params = {
            "pool": pool,
            "rule": rule,
            "breaker": breaker,
            "cost": cost,
            "scope": scope,
            "lease_ms": ms(lease),
            "exclude": None if exclude is None else list(exclude),
            "sticky": sticky,
            "bind": bind,
        }
        return self._acquiring(PERMIT, params, wait)


class QueueForm(Noun[T]):
    def __call__(self, queue: str, *, wait: float = 0.0, lease: float = 60.0, bind: Bind = "session") -> T:
        """The first entry of a queue, held during a `with` block. The end of the block acknowledges it; an exception puts it back first.

        wait: seconds to wait for an entry; then, or at once with 0, Busy is raised
        lease: seconds for which it is held after its last renewal
        """
        return self._acquiring(QUEUE, {"queue": queue, "lease_ms": ms(lease), "bind": bind}, wait)


class SeenForm(Noun[T]):
    def __call__(self, set_: str, key: str, *, ttl: float = 30.0, keep: float | None = None, bind: Bind = "session") -> T:
        """Reserves a key of a set, such as a URL to fetch once: the end of a `with` block commits it, an exception releases it.

        Busy is raised if the key is done or reserved by another caller; its reason is which.

        ttl: seconds until the reservation ends unless it is renewed
        keep: seconds for which the key counts as done; None = a day
        """
        return self._acquiring(SEEN, {"set": set_, "key": key, "ttl_ms": ms(ttl), "bind": bind, "_keep_ms": _ms(keep)}, 0.0)


class BreakerForm(Noun[T]):
    def __call__(self, name: str, *, pool: str | None = None, policy: str | None = None) -> T:
        """Asks a breaker at the start of a `with` block, and reports to it at the end: a failure if the block raises.

        Busy is raised while the breaker is open; its reason is the breaker's state.

        pool: the pool whose member's breaker it is
        policy: the name of the configured policy
        """
        made: T = self._makes[0](self._portal, {"name": name, "pool": pool, "policy": policy})
        return made


class StreamForm(Noun[T]):
    def __call__(
        self,
        stream: str,
        *,
        group: str,
        prefetch: int = 16,
        max_deliveries: int = 5,
        visibility: float = 60.0,
        bind: Bind = "session",
        start: Literal["first", "new"] = "first",
        rule: str | None = None,
        key: str | None = None,
    ) -> T:
        """The messages of a group, to iterate. Process each in a `with` block of its own, or call its ack or nack.

        prefetch: how many messages may be delivered and not acknowledged
        max_deliveries: after how many deliveries a message becomes a dead letter
        visibility: seconds after which a message is delivered to another consumer, unless it is acknowledged or extended
        start: where the group begins if this creates it: first = with all messages of the stream, new = with those published later
        rule, key: key names a field; a message is delivered only when the rule admits that field's text
        """
        params = {
            "stream": stream,
            "group": group,
            "prefetch": prefetch,
            "max_deliveries": max_deliveries,
            "visibility_ms": ms(visibility),
            "bind": bind,
            "start": start,
            "rule": rule,
            "key": key,
        }
        made: T = self._makes[0](self._portal, params)
        return made


class PubsubForm(Noun[T]):
    def __call__(
        self, *channels: str, patterns: Sequence[str] = (), buffer: int = 1000, on_gap: Callable[[int], None] | None = None
    ) -> T:
        """The messages of channels, to iterate.

        patterns: globs in the syntax of Redis
        buffer: how many messages may wait here, and as many in the sidecar; later ones are dropped
        on_gap: called with the number of missed messages, in their place among the others; -1 = not known
        """
        params = {"channels": list(channels) or None, "patterns": list(patterns) or None, "buffer": buffer}
        made: T = self._makes[0](self._portal, params, on_gap)
        return made


class LockNoun(LockForm[SyncAcquiring[Lock]], m.LockMethods):
    """Locks."""

    _makes = (SyncAcquiring, Lock)


class AsyncLockNoun(LockForm[AsyncAcquiring[AsyncLock]], m.AsyncLockMethods):
    """Locks."""

    _makes = (AsyncAcquiring, AsyncLock)


class SemaphoreNoun(SemaphoreForm[SyncAcquiring[Semaphore]], m.SemaphoreMethods):
    """Semaphores."""

    _makes = (SyncAcquiring, Semaphore)


class AsyncSemaphoreNoun(SemaphoreForm[AsyncAcquiring[AsyncSemaphore]], m.AsyncSemaphoreMethods):
    """Semaphores."""

    _makes = (AsyncAcquiring, AsyncSemaphore)


class PoolNoun(PoolForm[SyncAcquiring[PoolMember]], m.PoolMethods):
    """Pools."""

    _makes = (SyncAcquiring, PoolMember)


class AsyncPoolNoun(PoolForm[AsyncAcquiring[AsyncPoolMember]], m.AsyncPoolMethods):
    """Pools."""

    _makes = (AsyncAcquiring, AsyncPoolMember)


class PermitNoun(PermitForm[SyncAcquiring[Permit]], m.PermitMethods):
    """Permits."""

    _makes = (SyncAcquiring, Permit)


class AsyncPermitNoun(PermitForm[AsyncAcquiring[AsyncPermit]], m.AsyncPermitMethods):
    """Permits."""

    _makes = (AsyncAcquiring, AsyncPermit)


class QueueNoun(QueueForm[SyncAcquiring[QueueEntry]], m.QueueMethods):
    """Queues."""

    _makes = (SyncAcquiring, QueueEntry)


class AsyncQueueNoun(QueueForm[AsyncAcquiring[AsyncQueueEntry]], m.AsyncQueueMethods):
    """Queues."""

    _makes = (AsyncAcquiring, AsyncQueueEntry)


class SeenNoun(SeenForm[SyncAcquiring[SeenReservation]], m.SeenMethods):
    """Sets of keys that were done."""

    _makes = (SyncAcquiring, SeenReservation)


class AsyncSeenNoun(SeenForm[AsyncAcquiring[AsyncSeenReservation]], m.AsyncSeenMethods):
    """Sets of keys that were done."""

    _makes = (AsyncAcquiring, AsyncSeenReservation)


class BreakerNoun(BreakerForm[Breaker], m.BreakerMethods):
    """Circuit breakers."""

    _makes = (Breaker, None)


class AsyncBreakerNoun(BreakerForm[AsyncBreaker], m.AsyncBreakerMethods):
    """Circuit breakers."""

    _makes = (AsyncBreaker, None)


class StreamNoun(StreamForm[StreamSubscription], m.StreamMethods):
    """Streams."""

    _makes = (StreamSubscription, None)


class AsyncStreamNoun(StreamForm[AsyncStreamSubscription], m.AsyncStreamMethods):
    """Streams."""

    _makes = (AsyncStreamSubscription, None)


class PubsubNoun(PubsubForm[PubsubSubscription], m.PubsubMethods):
    """Pub/Sub."""

    _makes = (PubsubSubscription, None)


class AsyncPubsubNoun(PubsubForm[AsyncPubsubSubscription], m.AsyncPubsubMethods):
    """Pub/Sub."""

    _makes = (AsyncPubsubSubscription, None)
