# Written by `go run ./hack/clientgen` from client/api. Do not edit.
"""The calls of every method, with keyword arguments as on the wire. Durations end in _ms."""

from __future__ import annotations

from collections.abc import Coroutine, Mapping, Sequence
from typing import Any, Literal, Protocol

from .types import *  # noqa: F403


class Call(Protocol):
    """Calls a method and returns its result."""

    def __call__(self, method: str, params: dict[str, Any], deadline: float | None, /) -> Any: ...


class AsyncCall(Protocol):
    """Calls a method and returns a coroutine of its result."""

    def __call__(self, method: str, params: dict[str, Any], deadline: float | None, /) -> Coroutine[Any, Any, Any]: ...


# Methods that may be called again with the same params after a lost reply. The others need a request id for that.
IDEMPOTENT = frozenset(
    {
        "breaker.explain",
        "breaker.force",
        "breaker.get",
        "breaker.list",
        "breaker.reset",
        "events.subscribe",
        "events.unsubscribe",
        "health.get",
        "inspect.sidecars",
        "inspect.snapshot",
        "lock.explain",
        "lock.get",
        "lock.list",
        "lock.release",
        "lock.renew",
        "permit.explain",
        "permit.renew",
        "permit.report",
        "pool.ban",
        "pool.explain",
        "pool.list",
        "pool.pools",
        "pool.put",
        "pool.release",
        "pool.remove",
        "pool.renew",
        "pool.stats",
        "pool.unban",
        "pubsub.unsubscribe",
        "queue.ack",
        "queue.cancel",
        "queue.list",
        "queue.position",
        "queue.release",
        "queue.renew",
        "queue.stats",
        "ratelimit.delete_rule",
        "ratelimit.done",
        "ratelimit.explain",
        "ratelimit.pause",
        "ratelimit.peek",
        "ratelimit.put_rule",
        "ratelimit.refund",
        "ratelimit.reset",
        "ratelimit.resume",
        "ratelimit.rules",
        "ratelimit.set_delay",
        "ratelimit.stats",
        "rpc.describe",
        "rpc.methods",
        "seen.commit",
        "seen.release",
        "semaphore.get",
        "semaphore.list",
        "semaphore.release",
        "semaphore.renew",
        "session.drain",
        "session.hello",
        "session.ping",
        "stream.ack",
        "stream.dead",
        "stream.extend",
        "stream.groups",
        "stream.list",
        "stream.nack",
        "stream.read",
        "stream.stats",
        "stream.trim",
        "stream.unsubscribe",
    }
)


class BreakerMethods:
    """The calls of breaker."""

    def __init__(self, call: Call) -> None:
        self._call = call

    def allow(
        self,
        *,
        name: str,
        pool: str | None = None,
        policy: str | None = None,
        fail_mode: Literal["closed", "open"] | None = None,
        request_id: str | None = None,
        deadline: float | None = None,
    ) -> BreakerAllowResult:
        """Asks whether a call may be made. While the breaker is half open it gives out probes, which the caller must report.

        name: the name of the breaker, such as a host; with pool, the member
        pool: the pool whose member's breaker it is, as permit.acquire uses it; absent = the breaker belongs to no pool
        policy: the configured policy to use; absent = the first policy whose name matches the breaker's name (with pool, the pool's),
            or the default policy if none does
        fail_mode: what decides while Redis does not answer: closed = this call fails with UNAVAILABLE, open = it is allowed; absent =
            that of the policy, which is open by default
        request_id: makes the call run once however often it is sent; absent = a new one
        deadline: seconds for the call; absent = the client's, and wait_ms
        """
        params: dict[str, Any] = {"name": name}
        if pool is not None:
            params["pool"] = pool
        if policy is not None:
            params["policy"] = policy
        if fail_mode is not None:
            params["fail_mode"] = fail_mode
        if request_id is not None:
            params["_request_id"] = request_id
        result: BreakerAllowResult = self._call("breaker.allow", params, deadline)
        return result

    def explain(
        self,
        *,
        name: str,
        pool: str | None = None,
        policy: str | None = None,
        deadline: float | None = None,
    ) -> BreakerExplainResult:
        """Explains whether a breaker would allow a call now, and if not why and until when, and by which policy. It gives out no probe.

        name: the breaker
        pool: the pool whose member's breaker it is
        policy: the policy, as for breaker.allow
        deadline: seconds for the call; absent = the client's, and wait_ms
        """
        params: dict[str, Any] = {"name": name}
        if pool is not None:
            params["pool"] = pool
        if policy is not None:
            params["policy"] = policy
        result: BreakerExplainResult = self._call("breaker.explain", params, deadline)
        return result

    def force(
        self,
        *,
        name: str,
        state: Literal["open", "closed", "disabled"],
        pool: str | None = None,
        policy: str | None = None,
        deadline: float | None = None,
    ) -> BreakerChangeResult:
        """Holds a breaker in a state until breaker.reset, whatever callers report.

        name: the breaker
        state: open = no call is allowed; closed = every call is allowed, and failures are counted without effect; disabled = every call
            is allowed, and nothing is counted
        pool: the pool whose member's breaker it is
        policy: the policy, as for breaker.allow
        deadline: seconds for the call; absent = the client's, and wait_ms
        """
        params: dict[str, Any] = {"name": name, "state": state}
        if pool is not None:
            params["pool"] = pool
        if policy is not None:
            params["policy"] = policy
        result: BreakerChangeResult = self._call("breaker.force", params, deadline)
        return result

    def get(
        self,
        *,
        name: str,
        pool: str | None = None,
        policy: str | None = None,
        deadline: float | None = None,
    ) -> BreakerGetResult:
        """Returns the state of a breaker, and the counts that led to it.

        name: the breaker
        pool: the pool whose member's breaker it is
        policy: the policy, as for breaker.allow
        deadline: seconds for the call; absent = the client's, and wait_ms
        """
        params: dict[str, Any] = {"name": name}
        if pool is not None:
            params["pool"] = pool
        if policy is not None:
            params["policy"] = policy
        result: BreakerGetResult = self._call("breaker.get", params, deadline)
        return result

    def list(
        self,
        *,
        pool: str | None = None,
        cursor: str | None = None,
        count: int = 100,
        state: Literal["closed", "open", "half_open", "forced_open", "forced_closed", "disabled", "not_closed"] | None = None,
        deadline: float | None = None,
    ) -> BreakerListResult:
        """Lists the breakers that have state in Redis, or with pool those of its members, one page at a time, in no particular order. An
        entry that is added or removed during the listing may be missing or still listed.

        pool: the pool whose members' breakers to list; absent = breakers that belong to no pool
        cursor: the cursor that the previous page returned; absent = the first page
        count: about how many entries to list (1 to 1000); absent = 100
        state: list only breakers in this state; not_closed = in any state but closed; absent = all
        deadline: seconds for the call; absent = the client's, and wait_ms
        """
        params: dict[str, Any] = {}
        if pool is not None:
            params["pool"] = pool
        if cursor is not None:
            params["cursor"] = cursor
        if count != 100:
            params["count"] = count
        if state is not None:
            params["state"] = state
        result: BreakerListResult = self._call("breaker.list", params, deadline)
        return result

    def report(
        self,
        *,
        name: str,
        outcome: Literal["success", "failure", "ignored"],
        pool: str | None = None,
        policy: str | None = None,
        generation: int | None = None,
        probe: str | None = None,
        duration_ms: int | None = None,
        request_id: str | None = None,
        deadline: float | None = None,
    ) -> BreakerReportResult:
        """Reports the outcome of a call that was allowed. The outcome of a call from an older generation changes nothing.

        name: the breaker
        outcome: how the call ended; ignored = it shows nothing about what the breaker protects, as a cancelled call or a refusal on
            this side; it is not counted, and a probe is given back
        pool: the pool whose member's breaker it is
        policy: the policy, as for breaker.allow
        generation: the generation that breaker.allow returned; absent or 0 = the present one, if the breaker is closed (0 to
            9007199254740991)
        probe: the probe that breaker.allow returned
        duration_ms: milliseconds that the call took, for the slow rate of the policy's window (0 to 86400000)
        request_id: makes the call run once however often it is sent; absent = a new one
        deadline: seconds for the call; absent = the client's, and wait_ms
        """
        params: dict[str, Any] = {"name": name, "outcome": outcome}
        if pool is not None:
            params["pool"] = pool
        if policy is not None:
            params["policy"] = policy
        if generation is not None:
            params["generation"] = generation
        if probe is not None:
            params["probe"] = probe
        if duration_ms is not None:
            params["duration_ms"] = duration_ms
        if request_id is not None:
            params["_request_id"] = request_id
        result: BreakerReportResult = self._call("breaker.report", params, deadline)
        return result

    def reset(
        self,
        *,
        name: str,
        pool: str | None = None,
        policy: str | None = None,
        deadline: float | None = None,
    ) -> BreakerChangeResult:
        """Closes a breaker, and clears its counts and a forced state.

        name: the breaker
        pool: the pool whose member's breaker it is
        policy: the policy, as for breaker.allow
        deadline: seconds for the call; absent = the client's, and wait_ms
        """
        params: dict[str, Any] = {"name": name}
        if pool is not None:
            params["pool"] = pool
        if policy is not None:
            params["policy"] = policy
        result: BreakerChangeResult = self._call("breaker.reset", params, deadline)
        return result


class EventsMethods:
    """The calls of events."""

    def __init__(self, call: Call) -> None:
        self._call = call

    def subscribe(
        self,
        *,
        kinds: Sequence[str] | None = None,
        deadline: float | None = None,
    ) -> EventsSubscribeResult:
        """Sends this connection a notification named event for each event of the given kinds, until it closes. A further call replaces the
        kinds.

        kinds: the kinds of events to send: breaker, degraded, draining, forced, lost, paused, refused, reloaded, resumed; empty or
            absent = all
        deadline: seconds for the call; absent = the client's, and wait_ms
        """
        params: dict[str, Any] = {}
        if kinds is not None:
            params["kinds"] = kinds
        result: EventsSubscribeResult = self._call("events.subscribe", params, deadline)
        return result

    def unsubscribe(
        self,
        *,
        deadline: float | None = None,
    ) -> Nothing:
        """Ends the subscription of events.subscribe. Without one it does nothing, and is not an error.

        deadline: seconds for the call; absent = the client's, and wait_ms
        """
        params: dict[str, Any] = {}
        result: Nothing = self._call("events.unsubscribe", params, deadline)
        return result


class HealthMethods:
    """The calls of health."""

    def __init__(self, call: Call) -> None:
        self._call = call

    def get(
        self,
        *,
        deadline: float | None = None,
    ) -> HealthResult:
        """Returns the checks that /readyz?verbose and /livez?verbose show.

        deadline: seconds for the call; absent = the client's, and wait_ms
        """
        params: dict[str, Any] = {}
        result: HealthResult = self._call("health.get", params, deadline)
        return result


class InspectMethods:
    """The calls of inspect."""

    def __init__(self, call: Call) -> None:
        self._call = call

    def sidecars(
        self,
        *,
        cursor: str | None = None,
        count: int = 100,
        deadline: float | None = None,
    ) -> InspectSidecarsResult:
        """Lists the sidecars that use this Redis under the same prefix and tenant, one page at a time, in no particular order. A sidecar
        that was killed is still listed for half a minute.

        cursor: the cursor that the previous page returned; absent = the first page
        count: about how many entries to list (1 to 1000); absent = 100
        deadline: seconds for the call; absent = the client's, and wait_ms
        """
        params: dict[str, Any] = {}
        if cursor is not None:
            params["cursor"] = cursor
        if count != 100:
            params["count"] = count
        result: InspectSidecarsResult = self._call("inspect.sidecars", params, deadline)
        return result

    def snapshot(
        self,
        *,
        deadline: float | None = None,
    ) -> InspectResult:
        """Returns the state of the sidecar: its configuration, rules, sessions, leases, calls and store, without secrets.

        deadline: seconds for the call; absent = the client's, and wait_ms
        """
        params: dict[str, Any] = {}
        result: InspectResult = self._call("inspect.snapshot", params, deadline)
        return result


class LockMethods:
    """The calls of lock."""

    def __init__(self, call: Call) -> None:
        self._call = call

    def acquire(
        self,
        *,
        name: str,
        ttl_ms: int = 30000,
        wait_ms: int = 0,
        token: str | None = None,
        wait_replicas: int = 0,
        max_hold_ms: int = 0,
        meta: str | None = None,
        bind: Literal["session", "ttl"] = "session",
        request_id: str | None = None,
        deadline: float | None = None,
    ) -> LockAcquireResult:
        """Acquires a lock, at once or in turn within wait_ms, or returns who holds it. A repeated call with the same token returns the same
        grant.

        name: the lock
        ttl_ms: milliseconds that the lease lasts unless it is renewed (100 to 86400000); absent = 30000
        wait_ms: how many milliseconds the call may be in the waiting line, within its deadline; first come, first served across all
            pods (0 to 60000); absent = 0
        token: the owner's secret; the sidecar makes one when it is absent
        wait_replicas: how many replicas of Redis must have the grant; if fewer do in time, it is given back. A second holder after a
            failover becomes less likely (0 to 16); absent = 0
        max_hold_ms: milliseconds after which it is lost even if it is renewed; 0 = never (0 to 604800000); absent = 0
        meta: a text that is shown with the holder, such as a job's id; at most 512 bytes
        bind: session = the sidecar renews it while this connection is open and releases it when the connection closes; ttl = it does
            neither; absent = session
        request_id: makes the call run once however often it is sent; absent = a new one
        deadline: seconds for the call; absent = the client's, and wait_ms
        """
        params: dict[str, Any] = {"name": name}
        if ttl_ms != 30000:
            params["ttl_ms"] = ttl_ms
        if wait_ms != 0:
            params["wait_ms"] = wait_ms
        if token is not None:
            params["token"] = token
        if wait_replicas != 0:
            params["wait_replicas"] = wait_replicas
        if max_hold_ms != 0:
            params["max_hold_ms"] = max_hold_ms
        if meta is not None:
            params["meta"] = meta
        if bind != "session":
            params["bind"] = bind
        if request_id is not None:
            params["_request_id"] = request_id
        result: LockAcquireResult = self._call("lock.acquire", params, deadline)
        return result

    def explain(
        self,
        *,
        name: str,
        deadline: float | None = None,
    ) -> LockExplainResult:
        """Explains why a lock would be refused now and until when: who holds it, what keeps it held, and whose calls are in its waiting
        line. It takes nothing.

        name: the lock
        deadline: seconds for the call; absent = the client's, and wait_ms
        """
        params: dict[str, Any] = {"name": name}
        result: LockExplainResult = self._call("lock.explain", params, deadline)
        return result

    def force_release(
        self,
        *,
        name: str,
        reason: str | None = None,
        request_id: str | None = None,
        deadline: float | None = None,
    ) -> LockForceReleaseResult:
        """Takes a lock from whoever holds it, and returns who that was. The owner is notified that it has lost the lock; the next owner's
        fence is higher.

        name: the lock
        reason: the reason, for the log and the event; at most 512 bytes
        request_id: makes the call run once however often it is sent; absent = a new one
        deadline: seconds for the call; absent = the client's, and wait_ms
        """
        params: dict[str, Any] = {"name": name}
        if reason is not None:
            params["reason"] = reason
        if request_id is not None:
            params["_request_id"] = request_id
        result: LockForceReleaseResult = self._call("lock.force_release", params, deadline)
        return result

    def get(
        self,
        *,
        name: str,
        deadline: float | None = None,
    ) -> LockGetResult:
        """Returns whether a lock is held, by whom and for how long.

        name: the lock
        deadline: seconds for the call; absent = the client's, and wait_ms
        """
        params: dict[str, Any] = {"name": name}
        result: LockGetResult = self._call("lock.get", params, deadline)
        return result

    def list(
        self,
        *,
        cursor: str | None = None,
        count: int = 100,
        state: Literal["held", "waited"] | None = None,
        deadline: float | None = None,
    ) -> LockListResult:
        """Lists the locks that are held, one page at a time, in no particular order. A lock that is taken or freed during the listing may
        be missing or still listed.

        cursor: the cursor that the previous page returned; absent = the first page
        count: about how many entries to list (1 to 1000); absent = 100
        state: held = all held locks; waited = only held locks with calls in their waiting lines; absent = held
        deadline: seconds for the call; absent = the client's, and wait_ms
        """
        params: dict[str, Any] = {}
        if cursor is not None:
            params["cursor"] = cursor
        if count != 100:
            params["count"] = count
        if state is not None:
            params["state"] = state
        result: LockListResult = self._call("lock.list", params, deadline)
        return result

    def release(
        self,
        *,
        name: str,
        token: str,
        deadline: float | None = None,
    ) -> LockReleaseResult:
        """Releases a lock, if this token holds it.

        name: the lock
        token: the owner's secret
        deadline: seconds for the call; absent = the client's, and wait_ms
        """
        params: dict[str, Any] = {"name": name, "token": token}
        result: LockReleaseResult = self._call("lock.release", params, deadline)
        return result

    def renew(
        self,
        *,
        name: str,
        token: str,
        ttl_ms: int = 30000,
        deadline: float | None = None,
    ) -> LockRenewResult:
        """Renews a lock that this token holds: from now on it lasts the given time, which may be shorter or longer than what was left. The
        sidecar renews locks that are bound to the session itself, with the new TTL from then on.

        name: the lock
        token: the owner's secret
        ttl_ms: milliseconds that the lease lasts from now on (100 to 86400000); absent = 30000
        deadline: seconds for the call; absent = the client's, and wait_ms
        """
        params: dict[str, Any] = {"name": name, "token": token}
        if ttl_ms != 30000:
            params["ttl_ms"] = ttl_ms
        result: LockRenewResult = self._call("lock.renew", params, deadline)
        return result


class PermitMethods:
    """The calls of permit."""

    def __init__(self, call: Call) -> None:
        self._call = call

    def acquire(
        self,
        *,
        pool: str,
        rule: str | None = None,
        breaker: str | None = None,
        cost: int = 1,
        lease_ms: int = 60000,
        wait_ms: int = 0,
        scope: str | None = None,
        exclude: Sequence[str] | None = None,
        sticky: str | None = None,
        bind: Literal["session", "ttl"] = "session",
        request_id: str | None = None,
        deadline: float | None = None,
    ) -> PermitAcquireResult:
        """Leases the least recently used member that is free, whose breaker is not open and whose bucket has the cost. One step decides and
        takes all of it.

        pool: the pool
        rule: the rule (token_bucket), under which each member has its own bucket; absent = no limit
        breaker: the policy of the members' breakers (default = the built-in one); absent = breakers are not used
        cost: how much is taken from the member's bucket (0 to 1000000000); absent = 1
        lease_ms: milliseconds that the lease lasts unless it is renewed (100 to 86400000); absent = 60000
        wait_ms: how many milliseconds the call may be in the waiting line of this pool, scope, rule and breaker, within its deadline;
            first come, first served across all pods (0 to 60000); absent = 0
        scope: as for pool.acquire
        exclude: members not to take, at most 100
        sticky: as for pool.acquire
        bind: session = the sidecar renews it while this connection is open and gives it back when the connection closes; ttl = it does
            neither; absent = session
        request_id: makes the call run once however often it is sent; absent = a new one
        deadline: seconds for the call; absent = the client's, and wait_ms
        """
        params: dict[str, Any] = {"pool": pool}
        if rule is not None:
            params["rule"] = rule
        if breaker is not None:
            params["breaker"] = breaker
        if cost != 1:
            params["cost"] = cost
        if lease_ms != 60000:
            params["lease_ms"] = lease_ms
        if wait_ms != 0:
            params["wait_ms"] = wait_ms
        if scope is not None:
            params["scope"] = scope
        if exclude is not None:
            params["exclude"] = exclude
        if sticky is not None:
            params["sticky"] = sticky
        if bind != "session":
            params["bind"] = bind
        if request_id is not None:
            params["_request_id"] = request_id
        result: PermitAcquireResult = self._call("permit.acquire", params, deadline)
        return result

    def explain(
        self,
        *,
        pool: str,
        rule: str | None = None,
        breaker: str | None = None,
        cost: int = 1,
        scope: str | None = None,
        exclude: Sequence[str] | None = None,
        id: str | None = None,
        deadline: float | None = None,
    ) -> PoolExplainResult:
        """Explains which member permit.acquire would lease now, or why none and until when: members, their breakers, buckets and pauses,
        who holds them, and whose calls are in the waiting line. It takes nothing.

        pool: the pool
        rule: as for permit.acquire
        breaker: as for permit.acquire
        cost: as for permit.acquire (0 to 1000000000); absent = 1
        scope: as for pool.acquire
        exclude: members not to take, at most 100
        id: only this member
        deadline: seconds for the call; absent = the client's, and wait_ms
        """
        params: dict[str, Any] = {"pool": pool}
        if rule is not None:
            params["rule"] = rule
        if breaker is not None:
            params["breaker"] = breaker
        if cost != 1:
            params["cost"] = cost
        if scope is not None:
            params["scope"] = scope
        if exclude is not None:
            params["exclude"] = exclude
        if id is not None:
            params["id"] = id
        result: PoolExplainResult = self._call("permit.explain", params, deadline)
        return result

    def renew(
        self,
        *,
        pool: str,
        lease: str,
        lease_ms: int = 60000,
        deadline: float | None = None,
    ) -> PoolRenewResult:
        """Renews a permit: from now on it lasts the given time, which may be shorter or longer than what was left. The sidecar renews
        leases that are bound to the session itself, with the new time from then on.

        pool: the pool
        lease: the lease that permit.acquire returned
        lease_ms: milliseconds that the lease lasts from now on (100 to 86400000); absent = 60000
        deadline: seconds for the call; absent = the client's, and wait_ms
        """
        params: dict[str, Any] = {"pool": pool, "lease": lease}
        if lease_ms != 60000:
            params["lease_ms"] = lease_ms
        result: PoolRenewResult = self._call("permit.renew", params, deadline)
        return result

    def report(
        self,
        *,
        pool: str,
        lease: str,
        outcome: Literal["ok", "soft_block", "hard_block", "transport", "captcha", "fail", "ban", "cancelled"] = "ok",
        status: int | None = None,
        retry_after_ms: int | None = None,
        duration_ms: int | None = None,
        cooldown_ms: int | None = None,
        unban_after_ms: int | None = None,
        deadline: float | None = None,
    ) -> PermitReportResult:
        """Gives back a permit's member and reports the outcome of the work to its breaker, its cooldown and its pause, in one step.

        pool: the pool
        lease: the lease that permit.acquire returned
        outcome: as in pool.release; for the breaker, ok is a success, cancelled is ignored, and any other is a failure; absent = ok
        status: the HTTP status: one of the rule's penalty.codes pauses the member (0 to 999)
        retry_after_ms: the Retry-After of the server, in milliseconds; 0 or less (a date that has passed, for example) = it asks for no
            pause; absent = it gave none. The Go client omits a 0: give -1 there (-31622400000 to 31622400000)
        duration_ms: milliseconds that the work took, for the breaker's slow rate (0 to 86400000)
        cooldown_ms: the least milliseconds that the member cools down in the scope, whatever the outcome (0 to 604800000)
        unban_after_ms: milliseconds that a ban from this call lasts; absent or 0 = until pool.unban (0 to 31622400000)
        deadline: seconds for the call; absent = the client's, and wait_ms
        """
        params: dict[str, Any] = {"pool": pool, "lease": lease}
        if outcome != "ok":
            params["outcome"] = outcome
        if status is not None:
            params["status"] = status
        if retry_after_ms is not None:
            params["retry_after_ms"] = retry_after_ms
        if duration_ms is not None:
            params["duration_ms"] = duration_ms
        if cooldown_ms is not None:
            params["cooldown_ms"] = cooldown_ms
        if unban_after_ms is not None:
            params["unban_after_ms"] = unban_after_ms
        result: PermitReportResult = self._call("permit.report", params, deadline)
        return result


class PoolMethods:
    """The calls of pool."""

    def __init__(self, call: Call) -> None:
        self._call = call

    def acquire(
        self,
        *,
        pool: str,
        lease_ms: int = 60000,
        wait_ms: int = 0,
        scope: str | None = None,
        exclude: Sequence[str] | None = None,
        sticky: str | None = None,
        bind: Literal["session", "ttl"] = "session",
        request_id: str | None = None,
        deadline: float | None = None,
    ) -> PoolAcquireResult:
        """Leases the least recently used member that is not leased, cooling or banned, at once or in turn within wait_ms.

        pool: the pool
        lease_ms: milliseconds that the lease lasts unless it is renewed (100 to 86400000); absent = 60000
        wait_ms: how many milliseconds the call may be in the waiting line, within its deadline; first come, first served across all
            pods (0 to 60000); absent = 0
        scope: what the member is used for, such as a host; last use and cooldowns are kept for each scope on its own
        exclude: members not to take, at most 100
        sticky: a name that the caller chooses: a later call with the same name gets the same member again, if it is available when it
            is that call's turn
        bind: session = the sidecar renews it while this connection is open and gives it back when the connection closes; ttl = it does
            neither; absent = session
        request_id: makes the call run once however often it is sent; absent = a new one
        deadline: seconds for the call; absent = the client's, and wait_ms
        """
        params: dict[str, Any] = {"pool": pool}
        if lease_ms != 60000:
            params["lease_ms"] = lease_ms
        if wait_ms != 0:
            params["wait_ms"] = wait_ms
        if scope is not None:
            params["scope"] = scope
        if exclude is not None:
            params["exclude"] = exclude
        if sticky is not None:
            params["sticky"] = sticky
        if bind != "session":
            params["bind"] = bind
        if request_id is not None:
            params["_request_id"] = request_id
        result: PoolAcquireResult = self._call("pool.acquire", params, deadline)
        return result

    def ban(
        self,
        *,
        pool: str,
        id: str,
        for_ms: int | None = None,
        deadline: float | None = None,
    ) -> PoolBanResult:
        """Takes a member out of use, for a time or until pool.unban. A present holder keeps it until it gives it back.

        pool: the pool
        id: the member
        for_ms: milliseconds that the ban lasts; absent or 0 = until pool.unban (0 to 31622400000)
        deadline: seconds for the call; absent = the client's, and wait_ms
        """
        params: dict[str, Any] = {"pool": pool, "id": id}
        if for_ms is not None:
            params["for_ms"] = for_ms
        result: PoolBanResult = self._call("pool.ban", params, deadline)
        return result

    def explain(
        self,
        *,
        pool: str,
        scope: str | None = None,
        exclude: Sequence[str] | None = None,
        id: str | None = None,
        deadline: float | None = None,
    ) -> PoolExplainResult:
        """Explains which member pool.acquire would lease now, or why none and until when: why members are not available, who holds them,
        and whose calls are in the waiting line. It takes nothing.

        pool: the pool
        scope: as for pool.acquire
        exclude: members not to take, at most 100
        id: only this member
        deadline: seconds for the call; absent = the client's, and wait_ms
        """
        params: dict[str, Any] = {"pool": pool}
        if scope is not None:
            params["scope"] = scope
        if exclude is not None:
            params["exclude"] = exclude
        if id is not None:
            params["id"] = id
        result: PoolExplainResult = self._call("pool.explain", params, deadline)
        return result

    def list(
        self,
        *,
        pool: str,
        scope: str | None = None,
        cursor: str | None = None,
        count: int = 100,
        deadline: float | None = None,
    ) -> PoolListResult:
        """Lists the members of a pool and their states, one page at a time, in the order in which they were added.

        pool: the pool
        scope: the scope whose last use and cooldowns to show
        cursor: the cursor that the previous page returned; absent = the first page
        count: how many members to list (1 to 1000); absent = 100
        deadline: seconds for the call; absent = the client's, and wait_ms
        """
        params: dict[str, Any] = {"pool": pool}
        if scope is not None:
            params["scope"] = scope
        if cursor is not None:
            params["cursor"] = cursor
        if count != 100:
            params["count"] = count
        result: PoolListResult = self._call("pool.list", params, deadline)
        return result

    def pools(
        self,
        *,
        cursor: str | None = None,
        count: int = 100,
        state: Literal["exhausted", "waited"] | None = None,
        deadline: float | None = None,
    ) -> PoolPoolsResult:
        """Lists the pools that have members, with counts of these, one page at a time, in no particular order. An entry that is added or
        removed during the listing may be missing or still listed.

        cursor: the cursor that the previous page returned; absent = the first page
        count: about how many entries to list (1 to 1000); absent = 100
        state: exhausted = only pools without a free member; waited = only those with calls in their waiting lines; absent = all
        deadline: seconds for the call; absent = the client's, and wait_ms
        """
        params: dict[str, Any] = {}
        if cursor is not None:
            params["cursor"] = cursor
        if count != 100:
            params["count"] = count
        if state is not None:
            params["state"] = state
        result: PoolPoolsResult = self._call("pool.pools", params, deadline)
        return result

    def put(
        self,
        *,
        pool: str,
        members: Sequence[PoolMember],
        deadline: float | None = None,
    ) -> PoolPutResult:
        """Adds members to a pool, and replaces the meta of members that it already has, which keep their state, bans included.

        pool: the pool, which the first member creates; it has at most 10000 members
        members: 1 to 1000 members
        deadline: seconds for the call; absent = the client's, and wait_ms
        """
        params: dict[str, Any] = {"pool": pool, "members": members}
        result: PoolPutResult = self._call("pool.put", params, deadline)
        return result

    def release(
        self,
        *,
        pool: str,
        lease: str,
        outcome: Literal["ok", "soft_block", "hard_block", "transport", "captcha", "fail", "ban", "cancelled"] = "ok",
        cooldown_ms: int | None = None,
        unban_after_ms: int | None = None,
        deadline: float | None = None,
    ) -> PoolReleaseResult:
        """Gives a member back and reports the outcome of its use.

        pool: the pool
        lease: the lease that pool.acquire returned
        outcome: ok = clears the member's failures; cancelled = shows nothing about the member, for example because it was not used; ban
            = bans it; any other makes it cool down, longer with each one in a row; see docs/pool.md; absent = ok
        cooldown_ms: the least milliseconds that the member cools down in the scope, whatever the outcome (0 to 604800000)
        unban_after_ms: milliseconds that a ban from this call lasts; absent or 0 = until pool.unban (0 to 31622400000)
        deadline: seconds for the call; absent = the client's, and wait_ms
        """
        params: dict[str, Any] = {"pool": pool, "lease": lease}
        if outcome != "ok":
            params["outcome"] = outcome
        if cooldown_ms is not None:
            params["cooldown_ms"] = cooldown_ms
        if unban_after_ms is not None:
            params["unban_after_ms"] = unban_after_ms
        result: PoolReleaseResult = self._call("pool.release", params, deadline)
        return result

    def remove(
        self,
        *,
        pool: str,
        ids: Sequence[str],
        deadline: float | None = None,
    ) -> PoolRemoveResult:
        """Removes members from a pool with their state. The holder of a removed member learns of it when its lease is renewed.

        pool: the pool
        ids: 1 to 1000 members
        deadline: seconds for the call; absent = the client's, and wait_ms
        """
        params: dict[str, Any] = {"pool": pool, "ids": ids}
        result: PoolRemoveResult = self._call("pool.remove", params, deadline)
        return result

    def renew(
        self,
        *,
        pool: str,
        lease: str,
        lease_ms: int = 60000,
        deadline: float | None = None,
    ) -> PoolRenewResult:
        """Renews the lease of a member: from now on it lasts the given time, which may be shorter or longer than what was left. The sidecar
        renews leases that are bound to the session itself, with the new time from then on.

        pool: the pool
        lease: the lease that pool.acquire returned
        lease_ms: milliseconds that the lease lasts from now on (100 to 86400000); absent = 60000
        deadline: seconds for the call; absent = the client's, and wait_ms
        """
        params: dict[str, Any] = {"pool": pool, "lease": lease}
        if lease_ms != 60000:
            params["lease_ms"] = lease_ms
        result: PoolRenewResult = self._call("pool.renew", params, deadline)
        return result

    def stats(
        self,
        *,
        pool: str,
        scope: str | None = None,
        deadline: float | None = None,
    ) -> PoolStatsResult:
        """Counts the members of a pool by state: live, cooling, banned and free make the total.

        pool: the pool
        scope: the scope whose cooldowns count
        deadline: seconds for the call; absent = the client's, and wait_ms
        """
        params: dict[str, Any] = {"pool": pool}
        if scope is not None:
            params["scope"] = scope
        result: PoolStatsResult = self._call("pool.stats", params, deadline)
        return result

    def unban(
        self,
        *,
        pool: str,
        id: str,
        deadline: float | None = None,
    ) -> PoolBanResult:
        """Lifts the ban of a member, and clears its failures and cooldowns.

        pool: the pool
        id: the member
        deadline: seconds for the call; absent = the client's, and wait_ms
        """
        params: dict[str, Any] = {"pool": pool, "id": id}
        result: PoolBanResult = self._call("pool.unban", params, deadline)
        return result


class PubsubMethods:
    """The calls of pubsub."""

    def __init__(self, call: Call) -> None:
        self._call = call

    def publish(
        self,
        *,
        channel: str,
        body: bytes | None = None,
        request_id: str | None = None,
        deadline: float | None = None,
    ) -> PubsubPublishResult:
        """Sends a message to the present subscribers of a channel. The message is not kept.

        channel: the channel
        body: any bytes, at most 256 KiB
        request_id: makes the call run once however often it is sent; absent = a new one
        deadline: seconds for the call; absent = the client's, and wait_ms
        """
        params: dict[str, Any] = {"channel": channel}
        if body is not None:
            params["body"] = body
        if request_id is not None:
            params["_request_id"] = request_id
        result: PubsubPublishResult = self._call("pubsub.publish", params, deadline)
        return result

    def subscribe(
        self,
        *,
        channels: Sequence[str] | None = None,
        patterns: Sequence[str] | None = None,
        buffer: int = 1000,
        request_id: str | None = None,
        deadline: float | None = None,
    ) -> PubsubSubscribeResult:
        """Sends this connection the messages of channels as pubsub.message, each at most once. The call returns when Redis has confirmed
        the subscription.

        channels: channels to subscribe to; channels and patterns are at most 256 together
        patterns: patterns of channels as in Redis: * ? [ab], and a backslash before a character that stands for itself
        buffer: how many messages are kept while the client does not read this connection; further ones are dropped, and pubsub.gap
            reports how many (1 to 100000); absent = 1000
        request_id: makes the call run once however often it is sent; absent = a new one
        deadline: seconds for the call; absent = the client's, and wait_ms
        """
        params: dict[str, Any] = {}
        if channels is not None:
            params["channels"] = channels
        if patterns is not None:
            params["patterns"] = patterns
        if buffer != 1000:
            params["buffer"] = buffer
        if request_id is not None:
            params["_request_id"] = request_id
        result: PubsubSubscribeResult = self._call("pubsub.subscribe", params, deadline)
        return result

    def unsubscribe(
        self,
        *,
        subscription: str,
        deadline: float | None = None,
    ) -> PubsubUnsubscribeResult:
        """Ends a subscription.

        subscription: the id that pubsub.subscribe returned
        deadline: seconds for the call; absent = the client's, and wait_ms
        """
        params: dict[str, Any] = {"subscription": subscription}
        result: PubsubUnsubscribeResult = self._call("pubsub.unsubscribe", params, deadline)
        return result


class QueueMethods:
    """The calls of queue."""

    def __init__(self, call: Call) -> None:
        self._call = call

    def ack(
        self,
        *,
        queue: str,
        lease: str,
        deadline: float | None = None,
    ) -> QueueAckResult:
        """Acknowledges a leased entry: it is removed for good.

        queue: the queue
        lease: the lease that queue.dequeue returned
        deadline: seconds for the call; absent = the client's, and wait_ms
        """
        params: dict[str, Any] = {"queue": queue, "lease": lease}
        result: QueueAckResult = self._call("queue.ack", params, deadline)
        return result

    def cancel(
        self,
        *,
        queue: str,
        id: str,
        deadline: float | None = None,
    ) -> QueueCancelResult:
        """Removes an entry from the queue, unless it is leased.

        queue: the queue
        id: the entry
        deadline: seconds for the call; absent = the client's, and wait_ms
        """
        params: dict[str, Any] = {"queue": queue, "id": id}
        result: QueueCancelResult = self._call("queue.cancel", params, deadline)
        return result

    def dequeue(
        self,
        *,
        queue: str,
        wait_ms: int = 0,
        lease_ms: int = 0,
        bind: Literal["session", "ttl"] = "ttl",
        request_id: str | None = None,
        deadline: float | None = None,
    ) -> QueueDequeueResult:
        """Takes the first entry of a queue that has not expired, at once or in turn within wait_ms. With lease_ms the entry returns to the
        head of the queue unless it is acknowledged.

        queue: the queue
        wait_ms: how many milliseconds the call may wait for an entry, within its deadline; first come, first served across all pods (0
            to 60000); absent = 0
        lease_ms: milliseconds within which the entry must be acknowledged, at least 100; 0 = no lease: it is removed from the queue at
            once (0 to 86400000); absent = 0
        bind: ttl = the lease lasts lease_ms unless it is renewed; session = the sidecar renews it while this connection is open, and
            returns the entry to the head when the connection closes; absent = ttl
        request_id: makes the call run once however often it is sent; absent = a new one
        deadline: seconds for the call; absent = the client's, and wait_ms
        """
        params: dict[str, Any] = {"queue": queue}
        if wait_ms != 0:
            params["wait_ms"] = wait_ms
        if lease_ms != 0:
            params["lease_ms"] = lease_ms
        if bind != "ttl":
            params["bind"] = bind
        if request_id is not None:
            params["_request_id"] = request_id
        result: QueueDequeueResult = self._call("queue.dequeue", params, deadline)
        return result

    def enqueue(
        self,
        *,
        queue: str,
        id: str,
        ttl_ms: int = 60000,
        body: bytes | None = None,
        request_id: str | None = None,
        deadline: float | None = None,
    ) -> QueueEnqueueResult:
        """Adds an entry at the end of a queue, or returns the position of the entry that has this id already.

        queue: the queue
        id: the id of the entry; a queue has an id only once
        ttl_ms: milliseconds until the entry expires unless it is taken; it does not expire while it is leased (1 to 2592000000); absent
            = 60000
        body: any bytes, at most 256 KiB, which queue.dequeue returns
        request_id: makes the call run once however often it is sent; absent = a new one
        deadline: seconds for the call; absent = the client's, and wait_ms
        """
        params: dict[str, Any] = {"queue": queue, "id": id}
        if ttl_ms != 60000:
            params["ttl_ms"] = ttl_ms
        if body is not None:
            params["body"] = body
        if request_id is not None:
            params["_request_id"] = request_id
        result: QueueEnqueueResult = self._call("queue.enqueue", params, deadline)
        return result

    def list(
        self,
        *,
        cursor: str | None = None,
        count: int = 100,
        state: Literal["entries", "leased", "empty"] | None = None,
        deadline: float | None = None,
    ) -> QueueListResult:
        """Lists the queues with entries or waiting calls, one page at a time, in no particular order. An entry that is added or removed
        during the listing may be missing or still listed.

        cursor: the cursor that the previous page returned; absent = the first page
        count: about how many entries to list (1 to 1000); absent = 100
        state: entries = only queues in which entries wait to be taken; leased = only queues with leased entries; empty = only queues in
            which no entry waits; absent = all
        deadline: seconds for the call; absent = the client's, and wait_ms
        """
        params: dict[str, Any] = {}
        if cursor is not None:
            params["cursor"] = cursor
        if count != 100:
            params["count"] = count
        if state is not None:
            params["state"] = state
        result: QueueListResult = self._call("queue.list", params, deadline)
        return result

    def position(
        self,
        *,
        queue: str,
        id: str,
        deadline: float | None = None,
    ) -> QueuePositionResult:
        """Returns the state of an entry and its position in the queue.

        queue: the queue
        id: the entry
        deadline: seconds for the call; absent = the client's, and wait_ms
        """
        params: dict[str, Any] = {"queue": queue, "id": id}
        result: QueuePositionResult = self._call("queue.position", params, deadline)
        return result

    def release(
        self,
        *,
        queue: str,
        lease: str,
        deadline: float | None = None,
    ) -> QueueReleaseResult:
        """Gives up the lease of an entry: it returns to the head of the queue at once.

        queue: the queue
        lease: the lease that queue.dequeue returned
        deadline: seconds for the call; absent = the client's, and wait_ms
        """
        params: dict[str, Any] = {"queue": queue, "lease": lease}
        result: QueueReleaseResult = self._call("queue.release", params, deadline)
        return result

    def renew(
        self,
        *,
        queue: str,
        lease: str,
        lease_ms: int,
        deadline: float | None = None,
    ) -> QueueRenewResult:
        """Renews the lease of an entry: from now on it lasts the given time, which may be shorter or longer than what was left. The sidecar
        renews leases that are bound to the session itself, with the new time from then on.

        queue: the queue
        lease: the lease that queue.dequeue returned
        lease_ms: milliseconds that the lease lasts from now on (100 to 86400000)
        deadline: seconds for the call; absent = the client's, and wait_ms
        """
        params: dict[str, Any] = {"queue": queue, "lease": lease, "lease_ms": lease_ms}
        result: QueueRenewResult = self._call("queue.renew", params, deadline)
        return result

    def stats(
        self,
        *,
        queue: str,
        deadline: float | None = None,
    ) -> QueueStatsResult:
        """Counts the entries of a queue and the calls that wait for one.

        queue: the queue
        deadline: seconds for the call; absent = the client's, and wait_ms
        """
        params: dict[str, Any] = {"queue": queue}
        result: QueueStatsResult = self._call("queue.stats", params, deadline)
        return result


class RatelimitMethods:
    """The calls of ratelimit."""

    def __init__(self, call: Call) -> None:
        self._call = call

    def acquire(
        self,
        *,
        key: str,
        rule: str | None = None,
        algorithm: Literal["token_bucket", "leaky_bucket", "fixed_window", "sliding_window_log", "sliding_window_counter"] | None = None,
        limits: Sequence[Band] | None = None,
        group: str | None = None,
        pool: str | None = None,
        cost: int = 1,
        wait_ms: int | None = None,
        fail_mode: Literal["closed", "open", "local"] | None = None,
        request_id: str | None = None,
        deadline: float | None = None,
    ) -> RatelimitResult:
        """Takes cost from every band of a limit, all or none, or returns when it may succeed.

        key: what the limit counts, such as a host or an account
        rule: the rule's name; or give algorithm and limits instead
        algorithm: the algorithm of a limit given in full
        limits: the bands of a limit given in full, 1 to 4; limits with different bands are different limits, which share only the
            pauses and delays of the key
        group: is counted instead of the key, for all keys of the group together; absent = the group that the rule has for the key, if
            any
        pool: the pool whose member the key is: the call uses the member's bucket under the rule and its pause, as permits do; not with
            group, wait_ms, algorithm or limits
        cost: how much to take; 0 takes nothing, like ratelimit.peek. The Go client omits a 0, which then takes 1: use RatelimitPeek
            there (0 to 1000000000); absent = 1
        wait_ms: milliseconds that the call may wait for a slot, first come, first served; if the slot is further away, the call is
            refused at once. ratelimit.peek never waits. Not with sliding_window_counter (0 to 60000)
        fail_mode: what decides while Redis does not answer: closed = the call fails with UNAVAILABLE, open = it is allowed, local =
            this sidecar limits it from its own memory; absent = that of the rule, which is open by default
        request_id: makes the call run once however often it is sent; absent = a new one
        deadline: seconds for the call; absent = the client's, and wait_ms
        """
        params: dict[str, Any] = {"key": key}
        if rule is not None:
            params["rule"] = rule
        if algorithm is not None:
            params["algorithm"] = algorithm
        if limits is not None:
            params["limits"] = limits
        if group is not None:
            params["group"] = group
        if pool is not None:
            params["pool"] = pool
        if cost != 1:
            params["cost"] = cost
        if wait_ms is not None:
            params["wait_ms"] = wait_ms
        if fail_mode is not None:
            params["fail_mode"] = fail_mode
        if request_id is not None:
            params["_request_id"] = request_id
        result: RatelimitResult = self._call("ratelimit.acquire", params, deadline)
        return result

    def acquire_any(
        self,
        *,
        keys: Sequence[str],
        rule: str | None = None,
        algorithm: Literal["token_bucket", "leaky_bucket", "fixed_window", "sliding_window_log", "sliding_window_counter"] | None = None,
        limits: Sequence[Band] | None = None,
        cost: int = 1,
        fail_mode: Literal["closed", "open", "local"] | None = None,
        request_id: str | None = None,
        deadline: float | None = None,
    ) -> RatelimitAnyResult:
        """Takes cost for the first of several keys that is allowed now, or returns the key that will be allowed soonest.

        keys: 1 to 100 keys, the preferred first
        rule: the rule's name; or give algorithm and limits instead
        algorithm: the algorithm of a limit given in full
        limits: the bands of a limit given in full, 1 to 4
        cost: how much to take (0 to 1000000000); absent = 1
        fail_mode: what decides while Redis does not answer
        request_id: makes the call run once however often it is sent; absent = a new one
        deadline: seconds for the call; absent = the client's, and wait_ms
        """
        params: dict[str, Any] = {"keys": keys}
        if rule is not None:
            params["rule"] = rule
        if algorithm is not None:
            params["algorithm"] = algorithm
        if limits is not None:
            params["limits"] = limits
        if cost != 1:
            params["cost"] = cost
        if fail_mode is not None:
            params["fail_mode"] = fail_mode
        if request_id is not None:
            params["_request_id"] = request_id
        result: RatelimitAnyResult = self._call("ratelimit.acquire_any", params, deadline)
        return result

    def acquire_many(
        self,
        *,
        items: Sequence[RatelimitItem],
        atomic: bool = False,
        request_id: str | None = None,
        deadline: float | None = None,
    ) -> RatelimitManyResult:
        """Takes from many limits in one round trip. With atomic it takes all or none, and the items must have the same rule and group.

        items: 1 to 100 acquisitions, each as ratelimit.acquire without wait_ms
        atomic: take all or none; all items must have the same rule and group
        request_id: makes the call run once however often it is sent; absent = a new one
        deadline: seconds for the call; absent = the client's, and wait_ms
        """
        params: dict[str, Any] = {"items": items}
        if atomic:
            params["atomic"] = atomic
        if request_id is not None:
            params["_request_id"] = request_id
        result: RatelimitManyResult = self._call("ratelimit.acquire_many", params, deadline)
        return result

    def delete_rule(
        self,
        *,
        name: str,
        deadline: float | None = None,
    ) -> RatelimitDeleteRuleResult:
        """Removes a rule that ratelimit.put_rule stored. It does not remove rules of files.

        name: the rule
        deadline: seconds for the call; absent = the client's, and wait_ms
        """
        params: dict[str, Any] = {"name": name}
        result: RatelimitDeleteRuleResult = self._call("ratelimit.delete_rule", params, deadline)
        return result

    def done(
        self,
        *,
        grant: str,
        deadline: float | None = None,
    ) -> RatelimitDoneResult:
        """Gives back the permit of a grant under a rule with max_concurrent. What the grant took from the bands stays taken.

        grant: the grant that ratelimit.acquire returned
        deadline: seconds for the call; absent = the client's, and wait_ms
        """
        params: dict[str, Any] = {"grant": grant}
        result: RatelimitDoneResult = self._call("ratelimit.done", params, deadline)
        return result

    def explain(
        self,
        *,
        key: str,
        rule: str | None = None,
        algorithm: Literal["token_bucket", "leaky_bucket", "fixed_window", "sliding_window_log", "sliding_window_counter"] | None = None,
        limits: Sequence[Band] | None = None,
        group: str | None = None,
        deadline: float | None = None,
    ) -> RatelimitExplainResult:
        """Explains what a limit would decide for a key now, and everything that decides it: the rule and override in force, each band, the
        pause, the delay, and who holds permits. It takes nothing.

        key: the key
        rule: the rule's name; or give algorithm and limits instead
        algorithm: the algorithm of a limit given in full
        limits: the bands of a limit given in full, 1 to 4
        group: the group that is counted instead of the key
        deadline: seconds for the call; absent = the client's, and wait_ms
        """
        params: dict[str, Any] = {"key": key}
        if rule is not None:
            params["rule"] = rule
        if algorithm is not None:
            params["algorithm"] = algorithm
        if limits is not None:
            params["limits"] = limits
        if group is not None:
            params["group"] = group
        result: RatelimitExplainResult = self._call("ratelimit.explain", params, deadline)
        return result

    def pause(
        self,
        *,
        key: str,
        rule: str | None = None,
        group: str | None = None,
        for_ms: int | None = None,
        until_at_ms: int | None = None,
        reason: str | None = None,
        pool: str | None = None,
        deadline: float | None = None,
    ) -> RatelimitPauseResult:
        """Refuses all calls for a key for a time, in every sidecar. If there are several pauses, the longest is in force.

        key: the key
        rule: the rule's name; absent for a limit that is given in full
        group: the group that is counted instead of the key
        for_ms: milliseconds from now; or give until_at_ms instead (0 to 31622400000)
        until_at_ms: when the pause ends, by the Redis server's clock, Unix milliseconds, within 366 days (at least 0)
        reason: the reason, for people
        pool: the pool whose member the key is: the pause is the member's, which permits respect under any rule
        deadline: seconds for the call; absent = the client's, and wait_ms
        """
        params: dict[str, Any] = {"key": key}
        if rule is not None:
            params["rule"] = rule
        if group is not None:
            params["group"] = group
        if for_ms is not None:
            params["for_ms"] = for_ms
        if until_at_ms is not None:
            params["until_at_ms"] = until_at_ms
        if reason is not None:
            params["reason"] = reason
        if pool is not None:
            params["pool"] = pool
        result: RatelimitPauseResult = self._call("ratelimit.pause", params, deadline)
        return result

    def peek(
        self,
        *,
        key: str,
        rule: str | None = None,
        algorithm: Literal["token_bucket", "leaky_bucket", "fixed_window", "sliding_window_log", "sliding_window_counter"] | None = None,
        limits: Sequence[Band] | None = None,
        group: str | None = None,
        pool: str | None = None,
        cost: int = 1,
        wait_ms: int | None = None,
        fail_mode: Literal["closed", "open", "local"] | None = None,
        deadline: float | None = None,
    ) -> RatelimitResult:
        """Returns what ratelimit.acquire would return, and takes nothing.

        key: what the limit counts, such as a host or an account
        rule: the rule's name; or give algorithm and limits instead
        algorithm: the algorithm of a limit given in full
        limits: the bands of a limit given in full, 1 to 4; limits with different bands are different limits, which share only the
            pauses and delays of the key
        group: is counted instead of the key, for all keys of the group together; absent = the group that the rule has for the key, if
            any
        pool: the pool whose member the key is: the call uses the member's bucket under the rule and its pause, as permits do; not with
            group, wait_ms, algorithm or limits
        cost: how much to take; 0 takes nothing, like ratelimit.peek. The Go client omits a 0, which then takes 1: use RatelimitPeek
            there (0 to 1000000000); absent = 1
        wait_ms: milliseconds that the call may wait for a slot, first come, first served; if the slot is further away, the call is
            refused at once. ratelimit.peek never waits. Not with sliding_window_counter (0 to 60000)
        fail_mode: what decides while Redis does not answer: closed = the call fails with UNAVAILABLE, open = it is allowed, local =
            this sidecar limits it from its own memory; absent = that of the rule, which is open by default
        deadline: seconds for the call; absent = the client's, and wait_ms
        """
        params: dict[str, Any] = {"key": key}
        if rule is not None:
            params["rule"] = rule
        if algorithm is not None:
            params["algorithm"] = algorithm
        if limits is not None:
            params["limits"] = limits
        if group is not None:
            params["group"] = group
        if pool is not None:
            params["pool"] = pool
        if cost != 1:
            params["cost"] = cost
        if wait_ms is not None:
            params["wait_ms"] = wait_ms
        if fail_mode is not None:
            params["fail_mode"] = fail_mode
        result: RatelimitResult = self._call("ratelimit.peek", params, deadline)
        return result

    def put_rule(
        self,
        *,
        rule: Rule,
        deadline: float | None = None,
    ) -> RatelimitPutRuleResult:
        """Stores a rule in Redis. It takes effect in every sidecar within about a second, and replaces a rule of the same name in Redis.

        rule: the rule
        deadline: seconds for the call; absent = the client's, and wait_ms
        """
        params: dict[str, Any] = {"rule": rule}
        result: RatelimitPutRuleResult = self._call("ratelimit.put_rule", params, deadline)
        return result

    def refund(
        self,
        *,
        grant: str,
        deadline: float | None = None,
    ) -> RatelimitRefundResult:
        """Gives back, once, what a grant took and the caller did not use: at most what still counts against the limit. The sidecar does not
        check that it was not used.

        grant: the grant that ratelimit.acquire returned
        deadline: seconds for the call; absent = the client's, and wait_ms
        """
        params: dict[str, Any] = {"grant": grant}
        result: RatelimitRefundResult = self._call("ratelimit.refund", params, deadline)
        return result

    def report(
        self,
        *,
        key: str,
        status: int,
        rule: str | None = None,
        group: str | None = None,
        grant: str | None = None,
        latency_ms: int | None = None,
        retry_after_ms: int | None = None,
        pool: str | None = None,
        request_id: str | None = None,
        deadline: float | None = None,
    ) -> RatelimitReportResult:
        """Reports how the remote server answered. A status among the rule's penalty codes pauses the key for all callers. Gives back the
        grant's permit.

        key: what the limit counts
        status: the HTTP status of the response (100 to 999)
        rule: the rule's name; absent for a limit that is given in full
        group: the group that is counted instead of the key
        grant: the grant for the request; its permit is given back
        latency_ms: milliseconds that the response took, for metrics (0 to 86400000)
        retry_after_ms: the Retry-After of the server, in milliseconds; 0 or less (a date that has passed, for example) = it asks for no
            pause; absent = it gave none. The Go client omits a 0: give -1 there (-31622400000 to 31622400000)
        pool: the pool whose member the key is: the pause is the member's, which permits respect
        request_id: makes the call run once however often it is sent; absent = a new one
        deadline: seconds for the call; absent = the client's, and wait_ms
        """
        params: dict[str, Any] = {"key": key, "status": status}
        if rule is not None:
            params["rule"] = rule
        if group is not None:
            params["group"] = group
        if grant is not None:
            params["grant"] = grant
        if latency_ms is not None:
            params["latency_ms"] = latency_ms
        if retry_after_ms is not None:
            params["retry_after_ms"] = retry_after_ms
        if pool is not None:
            params["pool"] = pool
        if request_id is not None:
            params["_request_id"] = request_id
        result: RatelimitReportResult = self._call("ratelimit.report", params, deadline)
        return result

    def reset(
        self,
        *,
        key: str,
        rule: str | None = None,
        algorithm: Literal["token_bucket", "leaky_bucket", "fixed_window", "sliding_window_log", "sliding_window_counter"] | None = None,
        limits: Sequence[Band] | None = None,
        group: str | None = None,
        pool: str | None = None,
        deadline: float | None = None,
    ) -> RatelimitResetResult:
        """Forgets what a key has taken from a limit, so that the limit is full again.

        key: the key to forget
        rule: the rule's name; or give algorithm and limits instead
        algorithm: the algorithm of a limit given in full
        limits: the bands of a limit given in full, 1 to 4
        group: the group that is counted instead of the key
        pool: the pool whose member the key is: the member's bucket under the rule is forgotten
        deadline: seconds for the call; absent = the client's, and wait_ms
        """
        params: dict[str, Any] = {"key": key}
        if rule is not None:
            params["rule"] = rule
        if algorithm is not None:
            params["algorithm"] = algorithm
        if limits is not None:
            params["limits"] = limits
        if group is not None:
            params["group"] = group
        if pool is not None:
            params["pool"] = pool
        result: RatelimitResetResult = self._call("ratelimit.reset", params, deadline)
        return result

    def resume(
        self,
        *,
        key: str,
        rule: str | None = None,
        group: str | None = None,
        pool: str | None = None,
        deadline: float | None = None,
    ) -> RatelimitResumeResult:
        """Ends the pause of a key and forgets its penalty.

        key: the key
        rule: the rule's name; absent for a limit that is given in full
        group: the group that is counted instead of the key
        pool: the pool whose member the key is
        deadline: seconds for the call; absent = the client's, and wait_ms
        """
        params: dict[str, Any] = {"key": key}
        if rule is not None:
            params["rule"] = rule
        if group is not None:
            params["group"] = group
        if pool is not None:
            params["pool"] = pool
        result: RatelimitResumeResult = self._call("ratelimit.resume", params, deadline)
        return result

    def rules(
        self,
        *,
        deadline: float | None = None,
    ) -> RatelimitRulesResult:
        """Lists the rules in force in this sidecar, and the rules that one of the same name hides.

        deadline: seconds for the call; absent = the client's, and wait_ms
        """
        params: dict[str, Any] = {}
        result: RatelimitRulesResult = self._call("ratelimit.rules", params, deadline)
        return result

    def set_delay(
        self,
        *,
        key: str,
        rule: str | None = None,
        group: str | None = None,
        delay_ms: int | None = None,
        ttl_ms: int = 86400000,
        source: str = "robots",
        deadline: float | None = None,
    ) -> RatelimitSetDelayResult:
        """Sets the least time between two admissions of a key, such as a crawl-delay. If several sources set one, the longest is in force.

        key: the key
        rule: the rule's name; absent for a limit that is given in full
        group: the group that is counted instead of the key
        delay_ms: milliseconds from one admission to the next, at most the rule's max_delay_ms; 0 = removes the delay of this source (0
            to 86400000)
        ttl_ms: milliseconds until this source's delay is forgotten (1 to 31622400000); absent = 86400000
        source: the source of the delay, such as robots; each source has one delay; absent = robots
        deadline: seconds for the call; absent = the client's, and wait_ms
        """
        params: dict[str, Any] = {"key": key}
        if rule is not None:
            params["rule"] = rule
        if group is not None:
            params["group"] = group
        if delay_ms is not None:
            params["delay_ms"] = delay_ms
        if ttl_ms != 86400000:
            params["ttl_ms"] = ttl_ms
        if source != "robots":
            params["source"] = source
        result: RatelimitSetDelayResult = self._call("ratelimit.set_delay", params, deadline)
        return result

    def stats(
        self,
        *,
        deadline: float | None = None,
    ) -> RatelimitStatsResult:
        """Returns, for each rule, the counts of this sidecar's decisions since it started.

        deadline: seconds for the call; absent = the client's, and wait_ms
        """
        params: dict[str, Any] = {}
        result: RatelimitStatsResult = self._call("ratelimit.stats", params, deadline)
        return result


class RpcMethods:
    """The calls of rpc."""

    def __init__(self, call: Call) -> None:
        self._call = call

    def describe(
        self,
        *,
        method: str,
        deadline: float | None = None,
    ) -> MethodDescription:
        """Describes one method: parameters, results, defaults, guarantees.

        method: the method's name
        deadline: seconds for the call; absent = the client's, and wait_ms
        """
        params: dict[str, Any] = {"method": method}
        result: MethodDescription = self._call("rpc.describe", params, deadline)
        return result

    def methods(
        self,
        *,
        deadline: float | None = None,
    ) -> MethodsResult:
        """Describes every method.

        deadline: seconds for the call; absent = the client's, and wait_ms
        """
        params: dict[str, Any] = {}
        result: MethodsResult = self._call("rpc.methods", params, deadline)
        return result


class SeenMethods:
    """The calls of seen."""

    def __init__(self, call: Call) -> None:
        self._call = call

    def commit(
        self,
        *,
        set: str,
        key: str,
        token: str,
        keep_ms: int = 86400000,
        deadline: float | None = None,
    ) -> SeenCommitResult:
        """Records that what was reserved is done: for keep_ms no caller can reserve the key.

        set: the set
        key: the key
        token: the token that seen.reserve returned
        keep_ms: milliseconds to remember that the key is done, at most 366 days (1 to 31622400000); absent = 86400000
        deadline: seconds for the call; absent = the client's, and wait_ms
        """
        params: dict[str, Any] = {"set": set, "key": key, "token": token}
        if keep_ms != 86400000:
            params["keep_ms"] = keep_ms
        result: SeenCommitResult = self._call("seen.commit", params, deadline)
        return result

    def release(
        self,
        *,
        set: str,
        key: str,
        token: str,
        deadline: float | None = None,
    ) -> SeenReleaseResult:
        """Gives up a reservation: the next caller that asks can reserve the key.

        set: the set
        key: the key
        token: the token that seen.reserve returned
        deadline: seconds for the call; absent = the client's, and wait_ms
        """
        params: dict[str, Any] = {"set": set, "key": key, "token": token}
        result: SeenReleaseResult = self._call("seen.release", params, deadline)
        return result

    def reserve(
        self,
        *,
        set: str,
        key: str,
        ttl_ms: int = 30000,
        bind: Literal["session", "ttl"] = "session",
        request_id: str | None = None,
        deadline: float | None = None,
    ) -> SeenReserveResult:
        """Reserves a key of a set, so that something is done once, such as fetching a URL; or reports that it is done or under way.

        set: the set
        key: what is to be done once, such as a URL or its hash
        ttl_ms: milliseconds that the reservation lasts unless it is renewed or committed (100 to 86400000); absent = 30000
        bind: session = the sidecar renews it while this connection is open and gives it up when the connection closes; ttl = it does
            neither; absent = session
        request_id: makes the call run once however often it is sent; absent = a new one
        deadline: seconds for the call; absent = the client's, and wait_ms
        """
        params: dict[str, Any] = {"set": set, "key": key}
        if ttl_ms != 30000:
            params["ttl_ms"] = ttl_ms
        if bind != "session":
            params["bind"] = bind
        if request_id is not None:
            params["_request_id"] = request_id
        result: SeenReserveResult = self._call("seen.reserve", params, deadline)
        return result


class SemaphoreMethods:
    """The calls of semaphore."""

    def __init__(self, call: Call) -> None:
        self._call = call

    def acquire(
        self,
        *,
        name: str,
        limit: int,
        permits: int = 1,
        ttl_ms: int = 30000,
        wait_ms: int = 0,
        token: str | None = None,
        wait_replicas: int = 0,
        max_hold_ms: int = 0,
        meta: str | None = None,
        bind: Literal["session", "ttl"] = "session",
        request_id: str | None = None,
        deadline: float | None = None,
    ) -> SemaphoreAcquireResult:
        """Acquires permits of a semaphore, all or none, at once or in turn within wait_ms. A repeated call with the same token returns the
        same grant.

        name: the semaphore
        limit: how many permits the semaphore has. Redis does not keep the limit: each call uses its own, so pass the same one
            everywhere (1 to 10000)
        permits: how many permits to acquire, at most limit (1 to 10000); absent = 1
        ttl_ms: milliseconds that the lease of the permits lasts unless it is renewed (100 to 86400000); absent = 30000
        wait_ms: how many milliseconds the call may be in the waiting line, within its deadline; first come, first served across all
            pods: a call for few permits does not overtake one for many (0 to 60000); absent = 0
        token: the owner's secret; the sidecar makes one when it is absent
        wait_replicas: how many replicas of Redis must have the grant; if fewer do in time, it is given back (0 to 16); absent = 0
        max_hold_ms: milliseconds after which they are lost even if they are renewed; 0 = never (0 to 604800000); absent = 0
        meta: a text that is shown with the holder, at most 512 bytes
        bind: session = the sidecar renews it while this connection is open and releases it when the connection closes; ttl = it does
            neither; absent = session
        request_id: makes the call run once however often it is sent; absent = a new one
        deadline: seconds for the call; absent = the client's, and wait_ms
        """
        params: dict[str, Any] = {"name": name, "limit": limit}
        if permits != 1:
            params["permits"] = permits
        if ttl_ms != 30000:
            params["ttl_ms"] = ttl_ms
        if wait_ms != 0:
            params["wait_ms"] = wait_ms
        if token is not None:
            params["token"] = token
        if wait_replicas != 0:
            params["wait_replicas"] = wait_replicas
        if max_hold_ms != 0:
            params["max_hold_ms"] = max_hold_ms
        if meta is not None:
            params["meta"] = meta
        if bind != "session":
            params["bind"] = bind
        if request_id is not None:
            params["_request_id"] = request_id
        result: SemaphoreAcquireResult = self._call("semaphore.acquire", params, deadline)
        return result

    def get(
        self,
        *,
        name: str,
        deadline: float | None = None,
    ) -> SemaphoreGetResult:
        """Returns how many permits are held, and by whom.

        name: the semaphore
        deadline: seconds for the call; absent = the client's, and wait_ms
        """
        params: dict[str, Any] = {"name": name}
        result: SemaphoreGetResult = self._call("semaphore.get", params, deadline)
        return result

    def list(
        self,
        *,
        cursor: str | None = None,
        count: int = 100,
        state: Literal["held", "waited"] | None = None,
        deadline: float | None = None,
    ) -> SemaphoreListResult:
        """Lists the semaphores with permits that are held or waited for, one page at a time, in no particular order. An entry that is added
        or removed during the listing may be missing or still listed.

        cursor: the cursor that the previous page returned; absent = the first page
        count: about how many entries to list (1 to 1000); absent = 100
        state: held = only semaphores with held permits; waited = only those with calls in their waiting lines; absent = both
        deadline: seconds for the call; absent = the client's, and wait_ms
        """
        params: dict[str, Any] = {}
        if cursor is not None:
            params["cursor"] = cursor
        if count != 100:
            params["count"] = count
        if state is not None:
            params["state"] = state
        result: SemaphoreListResult = self._call("semaphore.list", params, deadline)
        return result

    def release(
        self,
        *,
        name: str,
        token: str,
        deadline: float | None = None,
    ) -> SemaphoreReleaseResult:
        """Releases the permits of this token.

        name: the semaphore
        token: the owner's secret
        deadline: seconds for the call; absent = the client's, and wait_ms
        """
        params: dict[str, Any] = {"name": name, "token": token}
        result: SemaphoreReleaseResult = self._call("semaphore.release", params, deadline)
        return result

    def renew(
        self,
        *,
        name: str,
        token: str,
        ttl_ms: int = 30000,
        deadline: float | None = None,
    ) -> SemaphoreRenewResult:
        """Renews the permits of this token: from now on they last the given time, which may be shorter or longer than what was left. The
        sidecar renews leases that are bound to the session itself, with the new time from then on.

        name: the semaphore
        token: the owner's secret
        ttl_ms: milliseconds that the lease of the permits lasts from now on (100 to 86400000); absent = 30000
        deadline: seconds for the call; absent = the client's, and wait_ms
        """
        params: dict[str, Any] = {"name": name, "token": token}
        if ttl_ms != 30000:
            params["ttl_ms"] = ttl_ms
        result: SemaphoreRenewResult = self._call("semaphore.renew", params, deadline)
        return result


class SessionMethods:
    """The calls of session."""

    def __init__(self, call: Call) -> None:
        self._call = call

    def drain(
        self,
        *,
        deadline_ms: int = 30000,
        deadline: float | None = None,
    ) -> DrainResult:
        """Notifies every client that holds a lease or a subscription that the pod is shutting down (session.draining). Calls go on.

        deadline_ms: milliseconds until the pod is killed; the first call sets it, later ones do not change it (1 to 86400000); absent =
            30000
        deadline: seconds for the call; absent = the client's, and wait_ms
        """
        params: dict[str, Any] = {}
        if deadline_ms != 30000:
            params["deadline_ms"] = deadline_ms
        result: DrainResult = self._call("session.drain", params, deadline)
        return result

    def hello(
        self,
        *,
        client: str | None = None,
        version: str | None = None,
        instance: str | None = None,
        errors: Literal["list", "map"] = "list",
        deadline: float | None = None,
    ) -> HelloResult:
        """Introduces the client, and returns what the sidecar is and what it allows. Optional.

        client: the client program or library
        version: its version
        instance: the instance of the program, such as its pod and process
        errors: the form of errors on this connection: list = [kind, text], map = {code, message, retryable, retry_after_ms?, details?};
            absent = list
        deadline: seconds for the call; absent = the client's, and wait_ms
        """
        params: dict[str, Any] = {}
        if client is not None:
            params["client"] = client
        if version is not None:
            params["version"] = version
        if instance is not None:
            params["instance"] = instance
        if errors != "list":
            params["errors"] = errors
        result: HelloResult = self._call("session.hello", params, deadline)
        return result

    def ping(
        self,
        *,
        deadline: float | None = None,
    ) -> PingResult:
        """Returns at once, without asking Redis.

        deadline: seconds for the call; absent = the client's, and wait_ms
        """
        params: dict[str, Any] = {}
        result: PingResult = self._call("session.ping", params, deadline)
        return result


class StreamMethods:
    """The calls of stream."""

    def __init__(self, call: Call) -> None:
        self._call = call

    def ack(
        self,
        *,
        stream: str,
        group: str,
        id: str,
        deadline: float | None = None,
    ) -> StreamAckResult:
        """Acknowledges a message: its delivery ends, and the group is not given it again.

        stream: the stream
        group: the group
        id: the id of the message
        deadline: seconds for the call; absent = the client's, and wait_ms
        """
        params: dict[str, Any] = {"stream": stream, "group": group, "id": id}
        result: StreamAckResult = self._call("stream.ack", params, deadline)
        return result

    def dead(
        self,
        *,
        stream: str,
        count: int = 20,
        after: str | None = None,
        deadline: float | None = None,
    ) -> StreamDeadResult:
        """Lists the dead letters of a stream, the oldest first.

        stream: the stream
        count: the most messages to return; fewer are returned if they would exceed 512 KiB together (1 to 256); absent = 20
        after: list only dead letters after this id; pass the next of the previous result
        deadline: seconds for the call; absent = the client's, and wait_ms
        """
        params: dict[str, Any] = {"stream": stream}
        if count != 20:
            params["count"] = count
        if after is not None:
            params["after"] = after
        result: StreamDeadResult = self._call("stream.dead", params, deadline)
        return result

    def extend(
        self,
        *,
        stream: str,
        group: str,
        id: str,
        deadline: float | None = None,
    ) -> StreamExtendResult:
        """Restarts the visibility timeout of a message. The sidecar extends messages that are bound to the session itself.

        stream: the stream
        group: the group
        id: the id of the message
        deadline: seconds for the call; absent = the client's, and wait_ms
        """
        params: dict[str, Any] = {"stream": stream, "group": group, "id": id}
        result: StreamExtendResult = self._call("stream.extend", params, deadline)
        return result

    def fetch(
        self,
        *,
        stream: str,
        group: str,
        count: int = 1,
        wait_ms: int = 0,
        max_deliveries: int = 5,
        visibility_ms: int = 60000,
        bind: Literal["session", "ttl"] = "session",
        start: Literal["first", "new"] = "first",
        rule: str | None = None,
        key: str | None = None,
        request_id: str | None = None,
        deadline: float | None = None,
    ) -> StreamFetchResult:
        """Takes messages of a group, at once or within wait_ms. Creates the group if it does not exist.

        stream: the stream
        group: the group of consumers
        count: the most messages to return; fewer are returned if they would exceed 512 KiB together (1 to 256); absent = 1
        wait_ms: how many milliseconds the call may wait for the first message, within its deadline (0 to 60000); absent = 0
        max_deliveries: as in stream.subscribe (1 to 1000); absent = 5
        visibility_ms: as in stream.subscribe (100 to 43200000); absent = 60000
        bind: as in stream.subscribe; with ttl, the closing of the connection does not end the deliveries; absent = session
        start: as in stream.subscribe; absent = first
        rule: as in stream.subscribe
        key: as in stream.subscribe
        request_id: makes the call run once however often it is sent; absent = a new one
        deadline: seconds for the call; absent = the client's, and wait_ms
        """
        params: dict[str, Any] = {"stream": stream, "group": group}
        if count != 1:
            params["count"] = count
        if wait_ms != 0:
            params["wait_ms"] = wait_ms
        if max_deliveries != 5:
            params["max_deliveries"] = max_deliveries
        if visibility_ms != 60000:
            params["visibility_ms"] = visibility_ms
        if bind != "session":
            params["bind"] = bind
        if start != "first":
            params["start"] = start
        if rule is not None:
            params["rule"] = rule
        if key is not None:
            params["key"] = key
        if request_id is not None:
            params["_request_id"] = request_id
        result: StreamFetchResult = self._call("stream.fetch", params, deadline)
        return result

    def groups(
        self,
        *,
        stream: str,
        deadline: float | None = None,
    ) -> StreamGroupsResult:
        """Lists the groups of a stream and their consumers. A consumer is a pod.

        stream: the stream
        deadline: seconds for the call; absent = the client's, and wait_ms
        """
        params: dict[str, Any] = {"stream": stream}
        result: StreamGroupsResult = self._call("stream.groups", params, deadline)
        return result

    def list(
        self,
        *,
        cursor: str | None = None,
        count: int = 100,
        state: Literal["behind", "dead"] | None = None,
        deadline: float | None = None,
    ) -> StreamListResult:
        """Lists the streams, and how far their groups are behind, one page at a time, in no particular order. An entry that is added or
        removed during the listing may be missing or still listed.

        cursor: the cursor that the previous page returned; absent = the first page
        count: about how many entries to list (1 to 1000); absent = 100
        state: behind = only streams with a group that has undelivered or unacknowledged messages; dead = only streams with dead
            letters; absent = all
        deadline: seconds for the call; absent = the client's, and wait_ms
        """
        params: dict[str, Any] = {}
        if cursor is not None:
            params["cursor"] = cursor
        if count != 100:
            params["count"] = count
        if state is not None:
            params["state"] = state
        result: StreamListResult = self._call("stream.list", params, deadline)
        return result

    def nack(
        self,
        *,
        stream: str,
        group: str,
        id: str,
        delay_ms: int = -1,
        dead: bool = False,
        reason: str | None = None,
        deadline: float | None = None,
    ) -> StreamNackResult:
        """Ends the delivery of a message that was not processed: it is delivered again after delay_ms, or moved to the dead letters after
        its last attempt.

        stream: the stream
        group: the group
        id: the id of the message
        delay_ms: milliseconds until it is delivered again; -1 = 1 s after the first attempt, doubled with each further one, at most 5
            min (-1 to 86400000); absent = -1
        dead: move the message to the dead letters at once
        reason: the reason, which the dead letter keeps
        deadline: seconds for the call; absent = the client's, and wait_ms
        """
        params: dict[str, Any] = {"stream": stream, "group": group, "id": id}
        if delay_ms != -1:
            params["delay_ms"] = delay_ms
        if dead:
            params["dead"] = dead
        if reason is not None:
            params["reason"] = reason
        result: StreamNackResult = self._call("stream.nack", params, deadline)
        return result

    def publish(
        self,
        *,
        stream: str,
        body: bytes | None = None,
        fields: Mapping[str, str] | None = None,
        dedupe_id: str | None = None,
        dedupe_ms: int = 300000,
        delay_ms: int = 0,
        maxlen: int = 0,
        request_id: str | None = None,
        deadline: float | None = None,
    ) -> StreamPublishResult:
        """Adds a message to the end of a stream, with delay_ms after that delay.

        stream: the stream
        body: any bytes, at most 256 KiB
        fields: texts by name, at most 256 KiB together, in addition to the body or instead of it
        dedupe_id: if a message with the same dedupe_id was published within the last dedupe_ms, this one is not added
        dedupe_ms: milliseconds for which dedupe_id is remembered (1000 to 86400000); absent = 300000
        delay_ms: milliseconds until it is added to the stream (0 to 2592000000); absent = 0
        maxlen: when this message is added, the stream is cut to about this many of its newest messages; a few more may stay; 0 = keep
            all (0 to 1000000000); absent = 0
        request_id: makes the call run once however often it is sent; absent = a new one
        deadline: seconds for the call; absent = the client's, and wait_ms
        """
        params: dict[str, Any] = {"stream": stream}
        if body is not None:
            params["body"] = body
        if fields is not None:
            params["fields"] = fields
        if dedupe_id is not None:
            params["dedupe_id"] = dedupe_id
        if dedupe_ms != 300000:
            params["dedupe_ms"] = dedupe_ms
        if delay_ms != 0:
            params["delay_ms"] = delay_ms
        if maxlen != 0:
            params["maxlen"] = maxlen
        if request_id is not None:
            params["_request_id"] = request_id
        result: StreamPublishResult = self._call("stream.publish", params, deadline)
        return result

    def publish_many(
        self,
        *,
        stream: str,
        messages: Sequence[StreamNewMessage],
        maxlen: int = 0,
        request_id: str | None = None,
        deadline: float | None = None,
    ) -> StreamPublishManyResult:
        """Adds messages to the end of a stream, in their order. Each has its own outcome.

        stream: the stream
        messages: 1 to 256 messages, at most 768 KiB together
        maxlen: as in stream.publish (0 to 1000000000); absent = 0
        request_id: makes the call run once however often it is sent; absent = a new one
        deadline: seconds for the call; absent = the client's, and wait_ms
        """
        params: dict[str, Any] = {"stream": stream, "messages": messages}
        if maxlen != 0:
            params["maxlen"] = maxlen
        if request_id is not None:
            params["_request_id"] = request_id
        result: StreamPublishManyResult = self._call("stream.publish_many", params, deadline)
        return result

    def read(
        self,
        *,
        stream: str,
        after: str | None = None,
        start: Literal["first", "new"] = "first",
        count: int = 20,
        deadline: float | None = None,
    ) -> StreamReadResult:
        """Lists messages of a stream, the oldest first, without a group: no group is affected.

        stream: the stream
        after: list only messages after this id; pass the next of the previous result
        start: where to begin without after: first = with the oldest message; new = with messages published from now on, so this call
            lists none; absent = first
        count: the most messages to return; fewer are returned if they would exceed 512 KiB together (1 to 256); absent = 20
        deadline: seconds for the call; absent = the client's, and wait_ms
        """
        params: dict[str, Any] = {"stream": stream}
        if after is not None:
            params["after"] = after
        if start != "first":
            params["start"] = start
        if count != 20:
            params["count"] = count
        result: StreamReadResult = self._call("stream.read", params, deadline)
        return result

    def redrive(
        self,
        *,
        stream: str,
        ids: Sequence[str] | None = None,
        count: int = 0,
        request_id: str | None = None,
        deadline: float | None = None,
    ) -> StreamRedriveResult:
        """Moves dead letters back to the end of their stream, each for the group that failed to process it.

        stream: the stream
        ids: the ids of the dead letters, at most 256
        count: instead of ids: how many to move, the oldest first (0 to 256); absent = 0
        request_id: makes the call run once however often it is sent; absent = a new one
        deadline: seconds for the call; absent = the client's, and wait_ms
        """
        params: dict[str, Any] = {"stream": stream}
        if ids is not None:
            params["ids"] = ids
        if count != 0:
            params["count"] = count
        if request_id is not None:
            params["_request_id"] = request_id
        result: StreamRedriveResult = self._call("stream.redrive", params, deadline)
        return result

    def stats(
        self,
        *,
        stream: str,
        group: str | None = None,
        deadline: float | None = None,
    ) -> StreamStatsResult:
        """Counts the messages of a stream and, for each group, those that are not delivered and those that are not acknowledged.

        stream: the stream
        group: count only this group; absent = all groups
        deadline: seconds for the call; absent = the client's, and wait_ms
        """
        params: dict[str, Any] = {"stream": stream}
        if group is not None:
            params["group"] = group
        result: StreamStatsResult = self._call("stream.stats", params, deadline)
        return result

    def subscribe(
        self,
        *,
        stream: str,
        group: str,
        prefetch: int = 16,
        max_deliveries: int = 5,
        visibility_ms: int = 60000,
        bind: Literal["session", "ttl"] = "session",
        start: Literal["first", "new"] = "first",
        rule: str | None = None,
        key: str | None = None,
        request_id: str | None = None,
        deadline: float | None = None,
    ) -> StreamSubscribeResult:
        """Sends this connection the messages of a group as stream.message, with at most prefetch of them unacknowledged. Creates the group
        if it does not exist.

        stream: the stream
        group: the group of consumers; each message goes to one of them. The latest subscription or fetch in a pod sets visibility_ms
            and max_deliveries for the whole group in that pod
        prefetch: how many messages this subscription may have unacknowledged (1 to 1000); absent = 16
        max_deliveries: how many times a message is delivered; if it is then not acknowledged, it is moved to the dead letters (1 to
            1000); absent = 5
        visibility_ms: the visibility timeout in milliseconds: when it ends, the message is delivered to another consumer, unless it was
            acknowledged or extended (100 to 43200000); absent = 60000
        bind: session = the sidecar extends messages while this connection is open; ttl = a delivery lasts visibility_ms unless the
            client extends it. In both cases messages are delivered again at once when the connection closes; absent = session
        start: where the group begins if this call creates it: first = with the oldest message; new = with messages published from now
            on; absent = first
        rule: given together with key: a message is delivered only when this rule admits its key. Messages of other keys overtake it;
            those of one key are delivered one at a time, in their order. The latest subscription or fetch in a pod sets the rule for the
            whole group in that pod
        key: given together with rule: the field of messages that contains the key, such as host. All subscriptions and fetches of a
            group must name the same field; a message without it is moved to the dead letters
        request_id: makes the call run once however often it is sent; absent = a new one
        deadline: seconds for the call; absent = the client's, and wait_ms
        """
        params: dict[str, Any] = {"stream": stream, "group": group}
        if prefetch != 16:
            params["prefetch"] = prefetch
        if max_deliveries != 5:
            params["max_deliveries"] = max_deliveries
        if visibility_ms != 60000:
            params["visibility_ms"] = visibility_ms
        if bind != "session":
            params["bind"] = bind
        if start != "first":
            params["start"] = start
        if rule is not None:
            params["rule"] = rule
        if key is not None:
            params["key"] = key
        if request_id is not None:
            params["_request_id"] = request_id
        result: StreamSubscribeResult = self._call("stream.subscribe", params, deadline)
        return result

    def trim(
        self,
        *,
        stream: str,
        dead: bool = False,
        maxlen: int | None = None,
        older_ms: int | None = None,
        ids: Sequence[str] | None = None,
        deadline: float | None = None,
    ) -> StreamTrimResult:
        """Deletes the oldest messages of a stream, or dead letters.

        stream: the stream
        dead: delete dead letters instead of messages
        maxlen: keep only this many of the newest ones (0 to 1000000000)
        older_ms: delete those that were added more than this many milliseconds ago (0 to 31536000000)
        ids: delete those with these ids, at most 256
        deadline: seconds for the call; absent = the client's, and wait_ms
        """
        params: dict[str, Any] = {"stream": stream}
        if dead:
            params["dead"] = dead
        if maxlen is not None:
            params["maxlen"] = maxlen
        if older_ms is not None:
            params["older_ms"] = older_ms
        if ids is not None:
            params["ids"] = ids
        result: StreamTrimResult = self._call("stream.trim", params, deadline)
        return result

    def unsubscribe(
        self,
        *,
        subscription: str,
        deadline: float | None = None,
    ) -> StreamUnsubscribeResult:
        """Ends a subscription. Messages that were already sent stay delivered to this connection until they are acknowledged or it closes.

        subscription: the id that stream.subscribe returned
        deadline: seconds for the call; absent = the client's, and wait_ms
        """
        params: dict[str, Any] = {"subscription": subscription}
        result: StreamUnsubscribeResult = self._call("stream.unsubscribe", params, deadline)
        return result


class AsyncBreakerMethods:
    """The calls of breaker."""

    def __init__(self, call: AsyncCall) -> None:
        self._call = call

    def allow(
        self,
        *,
        name: str,
        pool: str | None = None,
        policy: str | None = None,
        fail_mode: Literal["closed", "open"] | None = None,
        request_id: str | None = None,
        deadline: float | None = None,
    ) -> Coroutine[Any, Any, BreakerAllowResult]:
        """Asks whether a call may be made. While the breaker is half open it gives out probes, which the caller must report.

        name: the name of the breaker, such as a host; with pool, the member
        pool: the pool whose member's breaker it is, as permit.acquire uses it; absent = the breaker belongs to no pool
        policy: the configured policy to use; absent = the first policy whose name matches the breaker's name (with pool, the pool's),
            or the default policy if none does
        fail_mode: what decides while Redis does not answer: closed = this call fails with UNAVAILABLE, open = it is allowed; absent =
            that of the policy, which is open by default
        request_id: makes the call run once however often it is sent; absent = a new one
        deadline: seconds for the call; absent = the client's, and wait_ms
        """
        params: dict[str, Any] = {"name": name}
        if pool is not None:
            params["pool"] = pool
        if policy is not None:
            params["policy"] = policy
        if fail_mode is not None:
            params["fail_mode"] = fail_mode
        if request_id is not None:
            params["_request_id"] = request_id
        result: Coroutine[Any, Any, BreakerAllowResult] = self._call("breaker.allow", params, deadline)
        return result

    def explain(
        self,
        *,
        name: str,
        pool: str | None = None,
        policy: str | None = None,
        deadline: float | None = None,
    ) -> Coroutine[Any, Any, BreakerExplainResult]:
        """Explains whether a breaker would allow a call now, and if not why and until when, and by which policy. It gives out no probe.

        name: the breaker
        pool: the pool whose member's breaker it is
        policy: the policy, as for breaker.allow
        deadline: seconds for the call; absent = the client's, and wait_ms
        """
        params: dict[str, Any] = {"name": name}
        if pool is not None:
            params["pool"] = pool
        if policy is not None:
            params["policy"] = policy
        result: Coroutine[Any, Any, BreakerExplainResult] = self._call("breaker.explain", params, deadline)
        return result

    def force(
        self,
        *,
        name: str,
        state: Literal["open", "closed", "disabled"],
        pool: str | None = None,
        policy: str | None = None,
        deadline: float | None = None,
    ) -> Coroutine[Any, Any, BreakerChangeResult]:
        """Holds a breaker in a state until breaker.reset, whatever callers report.

        name: the breaker
        state: open = no call is allowed; closed = every call is allowed, and failures are counted without effect; disabled = every call
            is allowed, and nothing is counted
        pool: the pool whose member's breaker it is
        policy: the policy, as for breaker.allow
        deadline: seconds for the call; absent = the client's, and wait_ms
        """
        params: dict[str, Any] = {"name": name, "state": state}
        if pool is not None:
            params["pool"] = pool
        if policy is not None:
            params["policy"] = policy
        result: Coroutine[Any, Any, BreakerChangeResult] = self._call("breaker.force", params, deadline)
        return result

    def get(
        self,
        *,
        name: str,
        pool: str | None = None,
        policy: str | None = None,
        deadline: float | None = None,
    ) -> Coroutine[Any, Any, BreakerGetResult]:
        """Returns the state of a breaker, and the counts that led to it.

        name: the breaker
        pool: the pool whose member's breaker it is
        policy: the policy, as for breaker.allow
        deadline: seconds for the call; absent = the client's, and wait_ms
        """
        params: dict[str, Any] = {"name": name}
        if pool is not None:
            params["pool"] = pool
        if policy is not None:
            params["policy"] = policy
        result: Coroutine[Any, Any, BreakerGetResult] = self._call("breaker.get", params, deadline)
        return result

    def list(
        self,
        *,
        pool: str | None = None,
        cursor: str | None = None,
        count: int = 100,
        state: Literal["closed", "open", "half_open", "forced_open", "forced_closed", "disabled", "not_closed"] | None = None,
        deadline: float | None = None,
    ) -> Coroutine[Any, Any, BreakerListResult]:
        """Lists the breakers that have state in Redis, or with pool those of its members, one page at a time, in no particular order. An
        entry that is added or removed during the listing may be missing or still listed.

        pool: the pool whose members' breakers to list; absent = breakers that belong to no pool
        cursor: the cursor that the previous page returned; absent = the first page
        count: about how many entries to list (1 to 1000); absent = 100
        state: list only breakers in this state; not_closed = in any state but closed; absent = all
        deadline: seconds for the call; absent = the client's, and wait_ms
        """
        params: dict[str, Any] = {}
        if pool is not None:
            params["pool"] = pool
        if cursor is not None:
            params["cursor"] = cursor
        if count != 100:
            params["count"] = count
        if state is not None:
            params["state"] = state
        result: Coroutine[Any, Any, BreakerListResult] = self._call("breaker.list", params, deadline)
        return result

    def report(
        self,
        *,
        name: str,
        outcome: Literal["success", "failure", "ignored"],
        pool: str | None = None,
        policy: str | None = None,
        generation: int | None = None,
        probe: str | None = None,
        duration_ms: int | None = None,
        request_id: str | None = None,
        deadline: float | None = None,
    ) -> Coroutine[Any, Any, BreakerReportResult]:
        """Reports the outcome of a call that was allowed. The outcome of a call from an older generation changes nothing.

        name: the breaker
        outcome: how the call ended; ignored = it shows nothing about what the breaker protects, as a cancelled call or a refusal on
            this side; it is not counted, and a probe is given back
        pool: the pool whose member's breaker it is
        policy: the policy, as for breaker.allow
        generation: the generation that breaker.allow returned; absent or 0 = the present one, if the breaker is closed (0 to
            9007199254740991)
        probe: the probe that breaker.allow returned
        duration_ms: milliseconds that the call took, for the slow rate of the policy's window (0 to 86400000)
        request_id: makes the call run once however often it is sent; absent = a new one
        deadline: seconds for the call; absent = the client's, and wait_ms
        """
        params: dict[str, Any] = {"name": name, "outcome": outcome}
        if pool is not None:
            params["pool"] = pool
        if policy is not None:
            params["policy"] = policy
        if generation is not None:
            params["generation"] = generation
        if probe is not None:
            params["probe"] = probe
        if duration_ms is not None:
            params["duration_ms"] = duration_ms
        if request_id is not None:
            params["_request_id"] = request_id
        result: Coroutine[Any, Any, BreakerReportResult] = self._call("breaker.report", params, deadline)
        return result

    def reset(
        self,
        *,
        name: str,
        pool: str | None = None,
        policy: str | None = None,
        deadline: float | None = None,
    ) -> Coroutine[Any, Any, BreakerChangeResult]:
        """Closes a breaker, and clears its counts and a forced state.

        name: the breaker
        pool: the pool whose member's breaker it is
        policy: the policy, as for breaker.allow
        deadline: seconds for the call; absent = the client's, and wait_ms
        """
        params: dict[str, Any] = {"name": name}
        if pool is not None:
            params["pool"] = pool
        if policy is not None:
            params["policy"] = policy
        result: Coroutine[Any, Any, BreakerChangeResult] = self._call("breaker.reset", params, deadline)
        return result


class AsyncEventsMethods:
    """The calls of events."""

    def __init__(self, call: AsyncCall) -> None:
        self._call = call

    def subscribe(
        self,
        *,
        kinds: Sequence[str] | None = None,
        deadline: float | None = None,
    ) -> Coroutine[Any, Any, EventsSubscribeResult]:
        """Sends this connection a notification named event for each event of the given kinds, until it closes. A further call replaces the
        kinds.

        kinds: the kinds of events to send: breaker, degraded, draining, forced, lost, paused, refused, reloaded, resumed; empty or
            absent = all
        deadline: seconds for the call; absent = the client's, and wait_ms
        """
        params: dict[str, Any] = {}
        if kinds is not None:
            params["kinds"] = kinds
        result: Coroutine[Any, Any, EventsSubscribeResult] = self._call("events.subscribe", params, deadline)
        return result

    def unsubscribe(
        self,
        *,
        deadline: float | None = None,
    ) -> Coroutine[Any, Any, Nothing]:
        """Ends the subscription of events.subscribe. Without one it does nothing, and is not an error.

        deadline: seconds for the call; absent = the client's, and wait_ms
        """
        params: dict[str, Any] = {}
        result: Coroutine[Any, Any, Nothing] = self._call("events.unsubscribe", params, deadline)
        return result


class AsyncHealthMethods:
    """The calls of health."""

    def __init__(self, call: AsyncCall) -> None:
        self._call = call

    def get(
        self,
        *,
        deadline: float | None = None,
    ) -> Coroutine[Any, Any, HealthResult]:
        """Returns the checks that /readyz?verbose and /livez?verbose show.

        deadline: seconds for the call; absent = the client's, and wait_ms
        """
        params: dict[str, Any] = {}
        result: Coroutine[Any, Any, HealthResult] = self._call("health.get", params, deadline)
        return result


class AsyncInspectMethods:
    """The calls of inspect."""

    def __init__(self, call: AsyncCall) -> None:
        self._call = call

    def sidecars(
        self,
        *,
        cursor: str | None = None,
        count: int = 100,
        deadline: float | None = None,
    ) -> Coroutine[Any, Any, InspectSidecarsResult]:
        """Lists the sidecars that use this Redis under the same prefix and tenant, one page at a time, in no particular order. A sidecar
        that was killed is still listed for half a minute.

        cursor: the cursor that the previous page returned; absent = the first page
        count: about how many entries to list (1 to 1000); absent = 100
        deadline: seconds for the call; absent = the client's, and wait_ms
        """
        params: dict[str, Any] = {}
        if cursor is not None:
            params["cursor"] = cursor
        if count != 100:
            params["count"] = count
        result: Coroutine[Any, Any, InspectSidecarsResult] = self._call("inspect.sidecars", params, deadline)
        return result

    def snapshot(
        self,
        *,
        deadline: float | None = None,
    ) -> Coroutine[Any, Any, InspectResult]:
        """Returns the state of the sidecar: its configuration, rules, sessions, leases, calls and store, without secrets.

        deadline: seconds for the call; absent = the client's, and wait_ms
        """
        params: dict[str, Any] = {}
        result: Coroutine[Any, Any, InspectResult] = self._call("inspect.snapshot", params, deadline)
        return result


class AsyncLockMethods:
    """The calls of lock."""

    def __init__(self, call: AsyncCall) -> None:
        self._call = call

    def acquire(
        self,
        *,
        name: str,
        ttl_ms: int = 30000,
        wait_ms: int = 0,
        token: str | None = None,
        wait_replicas: int = 0,
        max_hold_ms: int = 0,
        meta: str | None = None,
        bind: Literal["session", "ttl"] = "session",
        request_id: str | None = None,
        deadline: float | None = None,
    ) -> Coroutine[Any, Any, LockAcquireResult]:
        """Acquires a lock, at once or in turn within wait_ms, or returns who holds it. A repeated call with the same token returns the same
        grant.

        name: the lock
        ttl_ms: milliseconds that the lease lasts unless it is renewed (100 to 86400000); absent = 30000
        wait_ms: how many milliseconds the call may be in the waiting line, within its deadline; first come, first served across all
            pods (0 to 60000); absent = 0
        token: the owner's secret; the sidecar makes one when it is absent
        wait_replicas: how many replicas of Redis must have the grant; if fewer do in time, it is given back. A second holder after a
            failover becomes less likely (0 to 16); absent = 0
        max_hold_ms: milliseconds after which it is lost even if it is renewed; 0 = never (0 to 604800000); absent = 0
        meta: a text that is shown with the holder, such as a job's id; at most 512 bytes
        bind: session = the sidecar renews it while this connection is open and releases it when the connection closes; ttl = it does
            neither; absent = session
        request_id: makes the call run once however often it is sent; absent = a new one
        deadline: seconds for the call; absent = the client's, and wait_ms
        """
        params: dict[str, Any] = {"name": name}
        if ttl_ms != 30000:
            params["ttl_ms"] = ttl_ms
        if wait_ms != 0:
            params["wait_ms"] = wait_ms
        if token is not None:
            params["token"] = token
        if wait_replicas != 0:
            params["wait_replicas"] = wait_replicas
        if max_hold_ms != 0:
            params["max_hold_ms"] = max_hold_ms
        if meta is not None:
            params["meta"] = meta
        if bind != "session":
            params["bind"] = bind
        if request_id is not None:
            params["_request_id"] = request_id
        result: Coroutine[Any, Any, LockAcquireResult] = self._call("lock.acquire", params, deadline)
        return result

    def explain(
        self,
        *,
        name: str,
        deadline: float | None = None,
    ) -> Coroutine[Any, Any, LockExplainResult]:
        """Explains why a lock would be refused now and until when: who holds it, what keeps it held, and whose calls are in its waiting
        line. It takes nothing.

        name: the lock
        deadline: seconds for the call; absent = the client's, and wait_ms
        """
        params: dict[str, Any] = {"name": name}
        result: Coroutine[Any, Any, LockExplainResult] = self._call("lock.explain", params, deadline)
        return result

    def force_release(
        self,
        *,
        name: str,
        reason: str | None = None,
        request_id: str | None = None,
        deadline: float | None = None,
    ) -> Coroutine[Any, Any, LockForceReleaseResult]:
        """Takes a lock from whoever holds it, and returns who that was. The owner is notified that it has lost the lock; the next owner's
        fence is higher.

        name: the lock
        reason: the reason, for the log and the event; at most 512 bytes
        request_id: makes the call run once however often it is sent; absent = a new one
        deadline: seconds for the call; absent = the client's, and wait_ms
        """
        params: dict[str, Any] = {"name": name}
        if reason is not None:
            params["reason"] = reason
        if request_id is not None:
            params["_request_id"] = request_id
        result: Coroutine[Any, Any, LockForceReleaseResult] = self._call("lock.force_release", params, deadline)
        return result

    def get(
        self,
        *,
        name: str,
        deadline: float | None = None,
    ) -> Coroutine[Any, Any, LockGetResult]:
        """Returns whether a lock is held, by whom and for how long.

        name: the lock
        deadline: seconds for the call; absent = the client's, and wait_ms
        """
        params: dict[str, Any] = {"name": name}
        result: Coroutine[Any, Any, LockGetResult] = self._call("lock.get", params, deadline)
        return result

    def list(
        self,
        *,
        cursor: str | None = None,
        count: int = 100,
        state: Literal["held", "waited"] | None = None,
        deadline: float | None = None,
    ) -> Coroutine[Any, Any, LockListResult]:
        """Lists the locks that are held, one page at a time, in no particular order. A lock that is taken or freed during the listing may
        be missing or still listed.

        cursor: the cursor that the previous page returned; absent = the first page
        count: about how many entries to list (1 to 1000); absent = 100
        state: held = all held locks; waited = only held locks with calls in their waiting lines; absent = held
        deadline: seconds for the call; absent = the client's, and wait_ms
        """
        params: dict[str, Any] = {}
        if cursor is not None:
            params["cursor"] = cursor
        if count != 100:
            params["count"] = count
        if state is not None:
            params["state"] = state
        result: Coroutine[Any, Any, LockListResult] = self._call("lock.list", params, deadline)
        return result

    def release(
        self,
        *,
        name: str,
        token: str,
        deadline: float | None = None,
    ) -> Coroutine[Any, Any, LockReleaseResult]:
        """Releases a lock, if this token holds it.

        name: the lock
        token: the owner's secret
        deadline: seconds for the call; absent = the client's, and wait_ms
        """
        params: dict[str, Any] = {"name": name, "token": token}
        result: Coroutine[Any, Any, LockReleaseResult] = self._call("lock.release", params, deadline)
        return result

    def renew(
        self,
        *,
        name: str,
        token: str,
        ttl_ms: int = 30000,
        deadline: float | None = None,
    ) -> Coroutine[Any, Any, LockRenewResult]:
        """Renews a lock that this token holds: from now on it lasts the given time, which may be shorter or longer than what was left. The
        sidecar renews locks that are bound to the session itself, with the new TTL from then on.

        name: the lock
        token: the owner's secret
        ttl_ms: milliseconds that the lease lasts from now on (100 to 86400000); absent = 30000
        deadline: seconds for the call; absent = the client's, and wait_ms
        """
        params: dict[str, Any] = {"name": name, "token": token}
        if ttl_ms != 30000:
            params["ttl_ms"] = ttl_ms
        result: Coroutine[Any, Any, LockRenewResult] = self._call("lock.renew", params, deadline)
        return result


class AsyncPermitMethods:
    """The calls of permit."""

    def __init__(self, call: AsyncCall) -> None:
        self._call = call

    def acquire(
        self,
        *,
        pool: str,
        rule: str | None = None,
        breaker: str | None = None,
        cost: int = 1,
        lease_ms: int = 60000,
        wait_ms: int = 0,
        scope: str | None = None,
        exclude: Sequence[str] | None = None,
        sticky: str | None = None,
        bind: Literal["session", "ttl"] = "session",
        request_id: str | None = None,
        deadline: float | None = None,
    ) -> Coroutine[Any, Any, PermitAcquireResult]:
        """Leases the least recently used member that is free, whose breaker is not open and whose bucket has the cost. One step decides and
        takes all of it.

        pool: the pool
        rule: the rule (token_bucket), under which each member has its own bucket; absent = no limit
        breaker: the policy of the members' breakers (default = the built-in one); absent = breakers are not used
        cost: how much is taken from the member's bucket (0 to 1000000000); absent = 1
        lease_ms: milliseconds that the lease lasts unless it is renewed (100 to 86400000); absent = 60000
        wait_ms: how many milliseconds the call may be in the waiting line of this pool, scope, rule and breaker, within its deadline;
            first come, first served across all pods (0 to 60000); absent = 0
        scope: as for pool.acquire
        exclude: members not to take, at most 100
        sticky: as for pool.acquire
        bind: session = the sidecar renews it while this connection is open and gives it back when the connection closes; ttl = it does
            neither; absent = session
        request_id: makes the call run once however often it is sent; absent = a new one
        deadline: seconds for the call; absent = the client's, and wait_ms
        """
        params: dict[str, Any] = {"pool": pool}
        if rule is not None:
            params["rule"] = rule
        if breaker is not None:
            params["breaker"] = breaker
        if cost != 1:
            params["cost"] = cost
        if lease_ms != 60000:
            params["lease_ms"] = lease_ms
        if wait_ms != 0:
            params["wait_ms"] = wait_ms
        if scope is not None:
            params["scope"] = scope
        if exclude is not None:
            params["exclude"] = exclude
        if sticky is not None:
            params["sticky"] = sticky
        if bind != "session":
            params["bind"] = bind
        if request_id is not None:
            params["_request_id"] = request_id
        result: Coroutine[Any, Any, PermitAcquireResult] = self._call("permit.acquire", params, deadline)
        return result

    def explain(
        self,
        *,
        pool: str,
        rule: str | None = None,
        breaker: str | None = None,
        cost: int = 1,
        scope: str | None = None,
        exclude: Sequence[str] | None = None,
        id: str | None = None,
        deadline: float | None = None,
    ) -> Coroutine[Any, Any, PoolExplainResult]:
        """Explains which member permit.acquire would lease now, or why none and until when: members, their breakers, buckets and pauses,
        who holds them, and whose calls are in the waiting line. It takes nothing.

        pool: the pool
        rule: as for permit.acquire
        breaker: as for permit.acquire
        cost: as for permit.acquire (0 to 1000000000); absent = 1
        scope: as for pool.acquire
        exclude: members not to take, at most 100
        id: only this member
        deadline: seconds for the call; absent = the client's, and wait_ms
        """
        params: dict[str, Any] = {"pool": pool}
        if rule is not None:
            params["rule"] = rule
        if breaker is not None:
            params["breaker"] = breaker
        if cost != 1:
            params["cost"] = cost
        if scope is not None:
            params["scope"] = scope
        if exclude is not None:
            params["exclude"] = exclude
        if id is not None:
            params["id"] = id
        result: Coroutine[Any, Any, PoolExplainResult] = self._call("permit.explain", params, deadline)
        return result

    def renew(
        self,
        *,
        pool: str,
        lease: str,
        lease_ms: int = 60000,
        deadline: float | None = None,
    ) -> Coroutine[Any, Any, PoolRenewResult]:
        """Renews a permit: from now on it lasts the given time, which may be shorter or longer than what was left. The sidecar renews
        leases that are bound to the session itself, with the new time from then on.

        pool: the pool
        lease: the lease that permit.acquire returned
        lease_ms: milliseconds that the lease lasts from now on (100 to 86400000); absent = 60000
        deadline: seconds for the call; absent = the client's, and wait_ms
        """
        params: dict[str, Any] = {"pool": pool, "lease": lease}
        if lease_ms != 60000:
            params["lease_ms"] = lease_ms
        result: Coroutine[Any, Any, PoolRenewResult] = self._call("permit.renew", params, deadline)
        return result

    def report(
        self,
        *,
        pool: str,
        lease: str,
        outcome: Literal["ok", "soft_block", "hard_block", "transport", "captcha", "fail", "ban", "cancelled"] = "ok",
        status: int | None = None,
        retry_after_ms: int | None = None,
        duration_ms: int | None = None,
        cooldown_ms: int | None = None,
        unban_after_ms: int | None = None,
        deadline: float | None = None,
    ) -> Coroutine[Any, Any, PermitReportResult]:
        """Gives back a permit's member and reports the outcome of the work to its breaker, its cooldown and its pause, in one step.

        pool: the pool
        lease: the lease that permit.acquire returned
        outcome: as in pool.release; for the breaker, ok is a success, cancelled is ignored, and any other is a failure; absent = ok
        status: the HTTP status: one of the rule's penalty.codes pauses the member (0 to 999)
        retry_after_ms: the Retry-After of the server, in milliseconds; 0 or less (a date that has passed, for example) = it asks for no
            pause; absent = it gave none. The Go client omits a 0: give -1 there (-31622400000 to 31622400000)
        duration_ms: milliseconds that the work took, for the breaker's slow rate (0 to 86400000)
        cooldown_ms: the least milliseconds that the member cools down in the scope, whatever the outcome (0 to 604800000)
        unban_after_ms: milliseconds that a ban from this call lasts; absent or 0 = until pool.unban (0 to 31622400000)
        deadline: seconds for the call; absent = the client's, and wait_ms
        """
        params: dict[str, Any] = {"pool": pool, "lease": lease}
        if outcome != "ok":
            params["outcome"] = outcome
        if status is not None:
            params["status"] = status
        if retry_after_ms is not None:
            params["retry_after_ms"] = retry_after_ms
        if duration_ms is not None:
            params["duration_ms"] = duration_ms
        if cooldown_ms is not None:
            params["cooldown_ms"] = cooldown_ms
        if unban_after_ms is not None:
            params["unban_after_ms"] = unban_after_ms
        result: Coroutine[Any, Any, PermitReportResult] = self._call("permit.report", params, deadline)
        return result


class AsyncPoolMethods:
    """The calls of pool."""

    def __init__(self, call: AsyncCall) -> None:
        self._call = call

    def acquire(
        self,
        *,
        pool: str,
        lease_ms: int = 60000,
        wait_ms: int = 0,
        scope: str | None = None,
        exclude: Sequence[str] | None = None,
        sticky: str | None = None,
        bind: Literal["session", "ttl"] = "session",
        request_id: str | None = None,
        deadline: float | None = None,
    ) -> Coroutine[Any, Any, PoolAcquireResult]:
        """Leases the least recently used member that is not leased, cooling or banned, at once or in turn within wait_ms.

        pool: the pool
        lease_ms: milliseconds that the lease lasts unless it is renewed (100 to 86400000); absent = 60000
        wait_ms: how many milliseconds the call may be in the waiting line, within its deadline; first come, first served across all
            pods (0 to 60000); absent = 0
        scope: what the member is used for, such as a host; last use and cooldowns are kept for each scope on its own
        exclude: members not to take, at most 100
        sticky: a name that the caller chooses: a later call with the same name gets the same member again, if it is available when it
            is that call's turn
        bind: session = the sidecar renews it while this connection is open and gives it back when the connection closes; ttl = it does
            neither; absent = session
        request_id: makes the call run once however often it is sent; absent = a new one
        deadline: seconds for the call; absent = the client's, and wait_ms
        """
        params: dict[str, Any] = {"pool": pool}
        if lease_ms != 60000:
            params["lease_ms"] = lease_ms
        if wait_ms != 0:
            params["wait_ms"] = wait_ms
        if scope is not None:
            params["scope"] = scope
        if exclude is not None:
            params["exclude"] = exclude
        if sticky is not None:
            params["sticky"] = sticky
        if bind != "session":
            params["bind"] = bind
        if request_id is not None:
            params["_request_id"] = request_id
        result: Coroutine[Any, Any, PoolAcquireResult] = self._call("pool.acquire", params, deadline)
        return result

    def ban(
        self,
        *,
        pool: str,
        id: str,
        for_ms: int | None = None,
        deadline: float | None = None,
    ) -> Coroutine[Any, Any, PoolBanResult]:
        """Takes a member out of use, for a time or until pool.unban. A present holder keeps it until it gives it back.

        pool: the pool
        id: the member
        for_ms: milliseconds that the ban lasts; absent or 0 = until pool.unban (0 to 31622400000)
        deadline: seconds for the call; absent = the client's, and wait_ms
        """
        params: dict[str, Any] = {"pool": pool, "id": id}
        if for_ms is not None:
            params["for_ms"] = for_ms
        result: Coroutine[Any, Any, PoolBanResult] = self._call("pool.ban", params, deadline)
        return result

    def explain(
        self,
        *,
        pool: str,
        scope: str | None = None,
        exclude: Sequence[str] | None = None,
        id: str | None = None,
        deadline: float | None = None,
    ) -> Coroutine[Any, Any, PoolExplainResult]:
        """Explains which member pool.acquire would lease now, or why none and until when: why members are not available, who holds them,
        and whose calls are in the waiting line. It takes nothing.

        pool: the pool
        scope: as for pool.acquire
        exclude: members not to take, at most 100
        id: only this member
        deadline: seconds for the call; absent = the client's, and wait_ms
        """
        params: dict[str, Any] = {"pool": pool}
        if scope is not None:
            params["scope"] = scope
        if exclude is not None:
            params["exclude"] = exclude
        if id is not None:
            params["id"] = id
        result: Coroutine[Any, Any, PoolExplainResult] = self._call("pool.explain", params, deadline)
        return result

    def list(
        self,
        *,
        pool: str,
        scope: str | None = None,
        cursor: str | None = None,
        count: int = 100,
        deadline: float | None = None,
    ) -> Coroutine[Any, Any, PoolListResult]:
        """Lists the members of a pool and their states, one page at a time, in the order in which they were added.

        pool: the pool
        scope: the scope whose last use and cooldowns to show
        cursor: the cursor that the previous page returned; absent = the first page
        count: how many members to list (1 to 1000); absent = 100
        deadline: seconds for the call; absent = the client's, and wait_ms
        """
        params: dict[str, Any] = {"pool": pool}
        if scope is not None:
            params["scope"] = scope
        if cursor is not None:
            params["cursor"] = cursor
        if count != 100:
            params["count"] = count
        result: Coroutine[Any, Any, PoolListResult] = self._call("pool.list", params, deadline)
        return result

    def pools(
        self,
        *,
        cursor: str | None = None,
        count: int = 100,
        state: Literal["exhausted", "waited"] | None = None,
        deadline: float | None = None,
    ) -> Coroutine[Any, Any, PoolPoolsResult]:
        """Lists the pools that have members, with counts of these, one page at a time, in no particular order. An entry that is added or
        removed during the listing may be missing or still listed.

        cursor: the cursor that the previous page returned; absent = the first page
        count: about how many entries to list (1 to 1000); absent = 100
        state: exhausted = only pools without a free member; waited = only those with calls in their waiting lines; absent = all
        deadline: seconds for the call; absent = the client's, and wait_ms
        """
        params: dict[str, Any] = {}
        if cursor is not None:
            params["cursor"] = cursor
        if count != 100:
            params["count"] = count
        if state is not None:
            params["state"] = state
        result: Coroutine[Any, Any, PoolPoolsResult] = self._call("pool.pools", params, deadline)
        return result

    def put(
        self,
        *,
        pool: str,
        members: Sequence[PoolMember],
        deadline: float | None = None,
    ) -> Coroutine[Any, Any, PoolPutResult]:
        """Adds members to a pool, and replaces the meta of members that it already has, which keep their state, bans included.

        pool: the pool, which the first member creates; it has at most 10000 members
        members: 1 to 1000 members
        deadline: seconds for the call; absent = the client's, and wait_ms
        """
        params: dict[str, Any] = {"pool": pool, "members": members}
        result: Coroutine[Any, Any, PoolPutResult] = self._call("pool.put", params, deadline)
        return result

    def release(
        self,
        *,
        pool: str,
        lease: str,
        outcome: Literal["ok", "soft_block", "hard_block", "transport", "captcha", "fail", "ban", "cancelled"] = "ok",
        cooldown_ms: int | None = None,
        unban_after_ms: int | None = None,
        deadline: float | None = None,
    ) -> Coroutine[Any, Any, PoolReleaseResult]:
        """Gives a member back and reports the outcome of its use.

        pool: the pool
        lease: the lease that pool.acquire returned
        outcome: ok = clears the member's failures; cancelled = shows nothing about the member, for example because it was not used; ban
            = bans it; any other makes it cool down, longer with each one in a row; see docs/pool.md; absent = ok
        cooldown_ms: the least milliseconds that the member cools down in the scope, whatever the outcome (0 to 604800000)
        unban_after_ms: milliseconds that a ban from this call lasts; absent or 0 = until pool.unban (0 to 31622400000)
        deadline: seconds for the call; absent = the client's, and wait_ms
        """
        params: dict[str, Any] = {"pool": pool, "lease": lease}
        if outcome != "ok":
            params["outcome"] = outcome
        if cooldown_ms is not None:
            params["cooldown_ms"] = cooldown_ms
        if unban_after_ms is not None:
            params["unban_after_ms"] = unban_after_ms
        result: Coroutine[Any, Any, PoolReleaseResult] = self._call("pool.release", params, deadline)
        return result

    def remove(
        self,
        *,
        pool: str,
        ids: Sequence[str],
        deadline: float | None = None,
    ) -> Coroutine[Any, Any, PoolRemoveResult]:
        """Removes members from a pool with their state. The holder of a removed member learns of it when its lease is renewed.

        pool: the pool
        ids: 1 to 1000 members
        deadline: seconds for the call; absent = the client's, and wait_ms
        """
        params: dict[str, Any] = {"pool": pool, "ids": ids}
        result: Coroutine[Any, Any, PoolRemoveResult] = self._call("pool.remove", params, deadline)
        return result

    def renew(
        self,
        *,
        pool: str,
        lease: str,
        lease_ms: int = 60000,
        deadline: float | None = None,
    ) -> Coroutine[Any, Any, PoolRenewResult]:
        """Renews the lease of a member: from now on it lasts the given time, which may be shorter or longer than what was left. The sidecar
        renews leases that are bound to the session itself, with the new time from then on.

        pool: the pool
        lease: the lease that pool.acquire returned
        lease_ms: milliseconds that the lease lasts from now on (100 to 86400000); absent = 60000
        deadline: seconds for the call; absent = the client's, and wait_ms
        """
        params: dict[str, Any] = {"pool": pool, "lease": lease}
        if lease_ms != 60000:
            params["lease_ms"] = lease_ms
        result: Coroutine[Any, Any, PoolRenewResult] = self._call("pool.renew", params, deadline)
        return result

    def stats(
        self,
        *,
        pool: str,
        scope: str | None = None,
        deadline: float | None = None,
    ) -> Coroutine[Any, Any, PoolStatsResult]:
        """Counts the members of a pool by state: live, cooling, banned and free make the total.

        pool: the pool
        scope: the scope whose cooldowns count
        deadline: seconds for the call; absent = the client's, and wait_ms
        """
        params: dict[str, Any] = {"pool": pool}
        if scope is not None:
            params["scope"] = scope
        result: Coroutine[Any, Any, PoolStatsResult] = self._call("pool.stats", params, deadline)
        return result

    def unban(
        self,
        *,
        pool: str,
        id: str,
        deadline: float | None = None,
    ) -> Coroutine[Any, Any, PoolBanResult]:
        """Lifts the ban of a member, and clears its failures and cooldowns.

        pool: the pool
        id: the member
        deadline: seconds for the call; absent = the client's, and wait_ms
        """
        params: dict[str, Any] = {"pool": pool, "id": id}
        result: Coroutine[Any, Any, PoolBanResult] = self._call("pool.unban", params, deadline)
        return result


class AsyncPubsubMethods:
    """The calls of pubsub."""

    def __init__(self, call: AsyncCall) -> None:
        self._call = call

    def publish(
        self,
        *,
        channel: str,
        body: bytes | None = None,
        request_id: str | None = None,
        deadline: float | None = None,
    ) -> Coroutine[Any, Any, PubsubPublishResult]:
        """Sends a message to the present subscribers of a channel. The message is not kept.

        channel: the channel
        body: any bytes, at most 256 KiB
        request_id: makes the call run once however often it is sent; absent = a new one
        deadline: seconds for the call; absent = the client's, and wait_ms
        """
        params: dict[str, Any] = {"channel": channel}
        if body is not None:
            params["body"] = body
        if request_id is not None:
            params["_request_id"] = request_id
        result: Coroutine[Any, Any, PubsubPublishResult] = self._call("pubsub.publish", params, deadline)
        return result

    def subscribe(
        self,
        *,
        channels: Sequence[str] | None = None,
        patterns: Sequence[str] | None = None,
        buffer: int = 1000,
        request_id: str | None = None,
        deadline: float | None = None,
    ) -> Coroutine[Any, Any, PubsubSubscribeResult]:
        """Sends this connection the messages of channels as pubsub.message, each at most once. The call returns when Redis has confirmed
        the subscription.

        channels: channels to subscribe to; channels and patterns are at most 256 together
        patterns: patterns of channels as in Redis: * ? [ab], and a backslash before a character that stands for itself
        buffer: how many messages are kept while the client does not read this connection; further ones are dropped, and pubsub.gap
            reports how many (1 to 100000); absent = 1000
        request_id: makes the call run once however often it is sent; absent = a new one
        deadline: seconds for the call; absent = the client's, and wait_ms
        """
        params: dict[str, Any] = {}
        if channels is not None:
            params["channels"] = channels
        if patterns is not None:
            params["patterns"] = patterns
        if buffer != 1000:
            params["buffer"] = buffer
        if request_id is not None:
            params["_request_id"] = request_id
        result: Coroutine[Any, Any, PubsubSubscribeResult] = self._call("pubsub.subscribe", params, deadline)
        return result

    def unsubscribe(
        self,
        *,
        subscription: str,
        deadline: float | None = None,
    ) -> Coroutine[Any, Any, PubsubUnsubscribeResult]:
        """Ends a subscription.

        subscription: the id that pubsub.subscribe returned
        deadline: seconds for the call; absent = the client's, and wait_ms
        """
        params: dict[str, Any] = {"subscription": subscription}
        result: Coroutine[Any, Any, PubsubUnsubscribeResult] = self._call("pubsub.unsubscribe", params, deadline)
        return result


class AsyncQueueMethods:
    """The calls of queue."""

    def __init__(self, call: AsyncCall) -> None:
        self._call = call

    def ack(
        self,
        *,
        queue: str,
        lease: str,
        deadline: float | None = None,
    ) -> Coroutine[Any, Any, QueueAckResult]:
        """Acknowledges a leased entry: it is removed for good.

        queue: the queue
        lease: the lease that queue.dequeue returned
        deadline: seconds for the call; absent = the client's, and wait_ms
        """
        params: dict[str, Any] = {"queue": queue, "lease": lease}
        result: Coroutine[Any, Any, QueueAckResult] = self._call("queue.ack", params, deadline)
        return result

    def cancel(
        self,
        *,
        queue: str,
        id: str,
        deadline: float | None = None,
    ) -> Coroutine[Any, Any, QueueCancelResult]:
        """Removes an entry from the queue, unless it is leased.

        queue: the queue
        id: the entry
        deadline: seconds for the call; absent = the client's, and wait_ms
        """
        params: dict[str, Any] = {"queue": queue, "id": id}
        result: Coroutine[Any, Any, QueueCancelResult] = self._call("queue.cancel", params, deadline)
        return result

    def dequeue(
        self,
        *,
        queue: str,
        wait_ms: int = 0,
        lease_ms: int = 0,
        bind: Literal["session", "ttl"] = "ttl",
        request_id: str | None = None,
        deadline: float | None = None,
    ) -> Coroutine[Any, Any, QueueDequeueResult]:
        """Takes the first entry of a queue that has not expired, at once or in turn within wait_ms. With lease_ms the entry returns to the
        head of the queue unless it is acknowledged.

        queue: the queue
        wait_ms: how many milliseconds the call may wait for an entry, within its deadline; first come, first served across all pods (0
            to 60000); absent = 0
        lease_ms: milliseconds within which the entry must be acknowledged, at least 100; 0 = no lease: it is removed from the queue at
            once (0 to 86400000); absent = 0
        bind: ttl = the lease lasts lease_ms unless it is renewed; session = the sidecar renews it while this connection is open, and
            returns the entry to the head when the connection closes; absent = ttl
        request_id: makes the call run once however often it is sent; absent = a new one
        deadline: seconds for the call; absent = the client's, and wait_ms
        """
        params: dict[str, Any] = {"queue": queue}
        if wait_ms != 0:
            params["wait_ms"] = wait_ms
        if lease_ms != 0:
            params["lease_ms"] = lease_ms
        if bind != "ttl":
            params["bind"] = bind
        if request_id is not None:
            params["_request_id"] = request_id
        result: Coroutine[Any, Any, QueueDequeueResult] = self._call("queue.dequeue", params, deadline)
        return result

    def enqueue(
        self,
        *,
        queue: str,
        id: str,
        ttl_ms: int = 60000,
        body: bytes | None = None,
        request_id: str | None = None,
        deadline: float | None = None,
    ) -> Coroutine[Any, Any, QueueEnqueueResult]:
        """Adds an entry at the end of a queue, or returns the position of the entry that has this id already.

        queue: the queue
        id: the id of the entry; a queue has an id only once
        ttl_ms: milliseconds until the entry expires unless it is taken; it does not expire while it is leased (1 to 2592000000); absent
            = 60000
        body: any bytes, at most 256 KiB, which queue.dequeue returns
        request_id: makes the call run once however often it is sent; absent = a new one
        deadline: seconds for the call; absent = the client's, and wait_ms
        """
        params: dict[str, Any] = {"queue": queue, "id": id}
        if ttl_ms != 60000:
            params["ttl_ms"] = ttl_ms
        if body is not None:
            params["body"] = body
        if request_id is not None:
            params["_request_id"] = request_id
        result: Coroutine[Any, Any, QueueEnqueueResult] = self._call("queue.enqueue", params, deadline)
        return result

    def list(
        self,
        *,
        cursor: str | None = None,
        count: int = 100,
        state: Literal["entries", "leased", "empty"] | None = None,
        deadline: float | None = None,
    ) -> Coroutine[Any, Any, QueueListResult]:
        """Lists the queues with entries or waiting calls, one page at a time, in no particular order. An entry that is added or removed
        during the listing may be missing or still listed.

        cursor: the cursor that the previous page returned; absent = the first page
        count: about how many entries to list (1 to 1000); absent = 100
        state: entries = only queues in which entries wait to be taken; leased = only queues with leased entries; empty = only queues in
            which no entry waits; absent = all
        deadline: seconds for the call; absent = the client's, and wait_ms
        """
        params: dict[str, Any] = {}
        if cursor is not None:
            params["cursor"] = cursor
        if count != 100:
            params["count"] = count
        if state is not None:
            params["state"] = state
        result: Coroutine[Any, Any, QueueListResult] = self._call("queue.list", params, deadline)
        return result

    def position(
        self,
        *,
        queue: str,
        id: str,
        deadline: float | None = None,
    ) -> Coroutine[Any, Any, QueuePositionResult]:
        """Returns the state of an entry and its position in the queue.

        queue: the queue
        id: the entry
        deadline: seconds for the call; absent = the client's, and wait_ms
        """
        params: dict[str, Any] = {"queue": queue, "id": id}
        result: Coroutine[Any, Any, QueuePositionResult] = self._call("queue.position", params, deadline)
        return result

    def release(
        self,
        *,
        queue: str,
        lease: str,
        deadline: float | None = None,
    ) -> Coroutine[Any, Any, QueueReleaseResult]:
        """Gives up the lease of an entry: it returns to the head of the queue at once.

        queue: the queue
        lease: the lease that queue.dequeue returned
        deadline: seconds for the call; absent = the client's, and wait_ms
        """
        params: dict[str, Any] = {"queue": queue, "lease": lease}
        result: Coroutine[Any, Any, QueueReleaseResult] = self._call("queue.release", params, deadline)
        return result

    def renew(
        self,
        *,
        queue: str,
        lease: str,
        lease_ms: int,
        deadline: float | None = None,
    ) -> Coroutine[Any, Any, QueueRenewResult]:
        """Renews the lease of an entry: from now on it lasts the given time, which may be shorter or longer than what was left. The sidecar
        renews leases that are bound to the session itself, with the new time from then on.

        queue: the queue
        lease: the lease that queue.dequeue returned
        lease_ms: milliseconds that the lease lasts from now on (100 to 86400000)
        deadline: seconds for the call; absent = the client's, and wait_ms
        """
        params: dict[str, Any] = {"queue": queue, "lease": lease, "lease_ms": lease_ms}
        result: Coroutine[Any, Any, QueueRenewResult] = self._call("queue.renew", params, deadline)
        return result

    def stats(
        self,
        *,
        queue: str,
        deadline: float | None = None,
    ) -> Coroutine[Any, Any, QueueStatsResult]:
        """Counts the entries of a queue and the calls that wait for one.

        queue: the queue
        deadline: seconds for the call; absent = the client's, and wait_ms
        """
        params: dict[str, Any] = {"queue": queue}
        result: Coroutine[Any, Any, QueueStatsResult] = self._call("queue.stats", params, deadline)
        return result


class AsyncRatelimitMethods:
    """The calls of ratelimit."""

    def __init__(self, call: AsyncCall) -> None:
        self._call = call

    def acquire(
        self,
        *,
        key: str,
        rule: str | None = None,
        algorithm: Literal["token_bucket", "leaky_bucket", "fixed_window", "sliding_window_log", "sliding_window_counter"] | None = None,
        limits: Sequence[Band] | None = None,
        group: str | None = None,
        pool: str | None = None,
        cost: int = 1,
        wait_ms: int | None = None,
        fail_mode: Literal["closed", "open", "local"] | None = None,
        request_id: str | None = None,
        deadline: float | None = None,
    ) -> Coroutine[Any, Any, RatelimitResult]:
        """Takes cost from every band of a limit, all or none, or returns when it may succeed.

        key: what the limit counts, such as a host or an account
        rule: the rule's name; or give algorithm and limits instead
        algorithm: the algorithm of a limit given in full
        limits: the bands of a limit given in full, 1 to 4; limits with different bands are different limits, which share only the
            pauses and delays of the key
        group: is counted instead of the key, for all keys of the group together; absent = the group that the rule has for the key, if
            any
        pool: the pool whose member the key is: the call uses the member's bucket under the rule and its pause, as permits do; not with
            group, wait_ms, algorithm or limits
        cost: how much to take; 0 takes nothing, like ratelimit.peek. The Go client omits a 0, which then takes 1: use RatelimitPeek
            there (0 to 1000000000); absent = 1
        wait_ms: milliseconds that the call may wait for a slot, first come, first served; if the slot is further away, the call is
            refused at once. ratelimit.peek never waits. Not with sliding_window_counter (0 to 60000)
        fail_mode: what decides while Redis does not answer: closed = the call fails with UNAVAILABLE, open = it is allowed, local =
            this sidecar limits it from its own memory; absent = that of the rule, which is open by default
        request_id: makes the call run once however often it is sent; absent = a new one
        deadline: seconds for the call; absent = the client's, and wait_ms
        """
        params: dict[str, Any] = {"key": key}
        if rule is not None:
            params["rule"] = rule
        if algorithm is not None:
            params["algorithm"] = algorithm
        if limits is not None:
            params["limits"] = limits
        if group is not None:
            params["group"] = group
        if pool is not None:
            params["pool"] = pool
        if cost != 1:
            params["cost"] = cost
        if wait_ms is not None:
            params["wait_ms"] = wait_ms
        if fail_mode is not None:
            params["fail_mode"] = fail_mode
        if request_id is not None:
            params["_request_id"] = request_id
        result: Coroutine[Any, Any, RatelimitResult] = self._call("ratelimit.acquire", params, deadline)
        return result

    def acquire_any(
        self,
        *,
        keys: Sequence[str],
        rule: str | None = None,
        algorithm: Literal["token_bucket", "leaky_bucket", "fixed_window", "sliding_window_log", "sliding_window_counter"] | None = None,
        limits: Sequence[Band] | None = None,
        cost: int = 1,
        fail_mode: Literal["closed", "open", "local"] | None = None,
        request_id: str | None = None,
        deadline: float | None = None,
    ) -> Coroutine[Any, Any, RatelimitAnyResult]:
        """Takes cost for the first of several keys that is allowed now, or returns the key that will be allowed soonest.

        keys: 1 to 100 keys, the preferred first
        rule: the rule's name; or give algorithm and limits instead
        algorithm: the algorithm of a limit given in full
        limits: the bands of a limit given in full, 1 to 4
        cost: how much to take (0 to 1000000000); absent = 1
        fail_mode: what decides while Redis does not answer
        request_id: makes the call run once however often it is sent; absent = a new one
        deadline: seconds for the call; absent = the client's, and wait_ms
        """
        params: dict[str, Any] = {"keys": keys}
        if rule is not None:
            params["rule"] = rule
        if algorithm is not None:
            params["algorithm"] = algorithm
        if limits is not None:
            params["limits"] = limits
        if cost != 1:
            params["cost"] = cost
        if fail_mode is not None:
            params["fail_mode"] = fail_mode
        if request_id is not None:
            params["_request_id"] = request_id
        result: Coroutine[Any, Any, RatelimitAnyResult] = self._call("ratelimit.acquire_any", params, deadline)
        return result

    def acquire_many(
        self,
        *,
        items: Sequence[RatelimitItem],
        atomic: bool = False,
        request_id: str | None = None,
        deadline: float | None = None,
    ) -> Coroutine[Any, Any, RatelimitManyResult]:
        """Takes from many limits in one round trip. With atomic it takes all or none, and the items must have the same rule and group.

        items: 1 to 100 acquisitions, each as ratelimit.acquire without wait_ms
        atomic: take all or none; all items must have the same rule and group
        request_id: makes the call run once however often it is sent; absent = a new one
        deadline: seconds for the call; absent = the client's, and wait_ms
        """
        params: dict[str, Any] = {"items": items}
        if atomic:
            params["atomic"] = atomic
        if request_id is not None:
            params["_request_id"] = request_id
        result: Coroutine[Any, Any, RatelimitManyResult] = self._call("ratelimit.acquire_many", params, deadline)
        return result

    def delete_rule(
        self,
        *,
        name: str,
        deadline: float | None = None,
    ) -> Coroutine[Any, Any, RatelimitDeleteRuleResult]:
        """Removes a rule that ratelimit.put_rule stored. It does not remove rules of files.

        name: the rule
        deadline: seconds for the call; absent = the client's, and wait_ms
        """
        params: dict[str, Any] = {"name": name}
        result: Coroutine[Any, Any, RatelimitDeleteRuleResult] = self._call("ratelimit.delete_rule", params, deadline)
        return result

    def done(
        self,
        *,
        grant: str,
        deadline: float | None = None,
    ) -> Coroutine[Any, Any, RatelimitDoneResult]:
        """Gives back the permit of a grant under a rule with max_concurrent. What the grant took from the bands stays taken.

        grant: the grant that ratelimit.acquire returned
        deadline: seconds for the call; absent = the client's, and wait_ms
        """
        params: dict[str, Any] = {"grant": grant}
        result: Coroutine[Any, Any, RatelimitDoneResult] = self._call("ratelimit.done", params, deadline)
        return result

    def explain(
        self,
        *,
        key: str,
        rule: str | None = None,
        algorithm: Literal["token_bucket", "leaky_bucket", "fixed_window", "sliding_window_log", "sliding_window_counter"] | None = None,
        limits: Sequence[Band] | None = None,
        group: str | None = None,
        deadline: float | None = None,
    ) -> Coroutine[Any, Any, RatelimitExplainResult]:
        """Explains what a limit would decide for a key now, and everything that decides it: the rule and override in force, each band, the
        pause, the delay, and who holds permits. It takes nothing.

        key: the key
        rule: the rule's name; or give algorithm and limits instead
        algorithm: the algorithm of a limit given in full
        limits: the bands of a limit given in full, 1 to 4
        group: the group that is counted instead of the key
        deadline: seconds for the call; absent = the client's, and wait_ms
        """
        params: dict[str, Any] = {"key": key}
        if rule is not None:
            params["rule"] = rule
        if algorithm is not None:
            params["algorithm"] = algorithm
        if limits is not None:
            params["limits"] = limits
        if group is not None:
            params["group"] = group
        result: Coroutine[Any, Any, RatelimitExplainResult] = self._call("ratelimit.explain", params, deadline)
        return result

    def pause(
        self,
        *,
        key: str,
        rule: str | None = None,
        group: str | None = None,
        for_ms: int | None = None,
        until_at_ms: int | None = None,
        reason: str | None = None,
        pool: str | None = None,
        deadline: float | None = None,
    ) -> Coroutine[Any, Any, RatelimitPauseResult]:
        """Refuses all calls for a key for a time, in every sidecar. If there are several pauses, the longest is in force.

        key: the key
        rule: the rule's name; absent for a limit that is given in full
        group: the group that is counted instead of the key
        for_ms: milliseconds from now; or give until_at_ms instead (0 to 31622400000)
        until_at_ms: when the pause ends, by the Redis server's clock, Unix milliseconds, within 366 days (at least 0)
        reason: the reason, for people
        pool: the pool whose member the key is: the pause is the member's, which permits respect under any rule
        deadline: seconds for the call; absent = the client's, and wait_ms
        """
        params: dict[str, Any] = {"key": key}
        if rule is not None:
            params["rule"] = rule
        if group is not None:
            params["group"] = group
        if for_ms is not None:
            params["for_ms"] = for_ms
        if until_at_ms is not None:
            params["until_at_ms"] = until_at_ms
        if reason is not None:
            params["reason"] = reason
        if pool is not None:
            params["pool"] = pool
        result: Coroutine[Any, Any, RatelimitPauseResult] = self._call("ratelimit.pause", params, deadline)
        return result

    def peek(
        self,
        *,
        key: str,
        rule: str | None = None,
        algorithm: Literal["token_bucket", "leaky_bucket", "fixed_window", "sliding_window_log", "sliding_window_counter"] | None = None,
        limits: Sequence[Band] | None = None,
        group: str | None = None,
        pool: str | None = None,
        cost: int = 1,
        wait_ms: int | None = None,
        fail_mode: Literal["closed", "open", "local"] | None = None,
        deadline: float | None = None,
    ) -> Coroutine[Any, Any, RatelimitResult]:
        """Returns what ratelimit.acquire would return, and takes nothing.

        key: what the limit counts, such as a host or an account
        rule: the rule's name; or give algorithm and limits instead
        algorithm: the algorithm of a limit given in full
        limits: the bands of a limit given in full, 1 to 4; limits with different bands are different limits, which share only the
            pauses and delays of the key
        group: is counted instead of the key, for all keys of the group together; absent = the group that the rule has for the key, if
            any
        pool: the pool whose member the key is: the call uses the member's bucket under the rule and its pause, as permits do; not with
            group, wait_ms, algorithm or limits
        cost: how much to take; 0 takes nothing, like ratelimit.peek. The Go client omits a 0, which then takes 1: use RatelimitPeek
            there (0 to 1000000000); absent = 1
        wait_ms: milliseconds that the call may wait for a slot, first come, first served; if the slot is further away, the call is
            refused at once. ratelimit.peek never waits. Not with sliding_window_counter (0 to 60000)
        fail_mode: what decides while Redis does not answer: closed = the call fails with UNAVAILABLE, open = it is allowed, local =
            this sidecar limits it from its own memory; absent = that of the rule, which is open by default
        deadline: seconds for the call; absent = the client's, and wait_ms
        """
        params: dict[str, Any] = {"key": key}
        if rule is not None:
            params["rule"] = rule
        if algorithm is not None:
            params["algorithm"] = algorithm
        if limits is not None:
            params["limits"] = limits
        if group is not None:
            params["group"] = group
        if pool is not None:
            params["pool"] = pool
        if cost != 1:
            params["cost"] = cost
        if wait_ms is not None:
            params["wait_ms"] = wait_ms
        if fail_mode is not None:
            params["fail_mode"] = fail_mode
        result: Coroutine[Any, Any, RatelimitResult] = self._call("ratelimit.peek", params, deadline)
        return result

    def put_rule(
        self,
        *,
        rule: Rule,
        deadline: float | None = None,
    ) -> Coroutine[Any, Any, RatelimitPutRuleResult]:
        """Stores a rule in Redis. It takes effect in every sidecar within about a second, and replaces a rule of the same name in Redis.

        rule: the rule
        deadline: seconds for the call; absent = the client's, and wait_ms
        """
        params: dict[str, Any] = {"rule": rule}
        result: Coroutine[Any, Any, RatelimitPutRuleResult] = self._call("ratelimit.put_rule", params, deadline)
        return result

    def refund(
        self,
        *,
        grant: str,
        deadline: float | None = None,
    ) -> Coroutine[Any, Any, RatelimitRefundResult]:
        """Gives back, once, what a grant took and the caller did not use: at most what still counts against the limit. The sidecar does not
        check that it was not used.

        grant: the grant that ratelimit.acquire returned
        deadline: seconds for the call; absent = the client's, and wait_ms
        """
        params: dict[str, Any] = {"grant": grant}
        result: Coroutine[Any, Any, RatelimitRefundResult] = self._call("ratelimit.refund", params, deadline)
        return result

    def report(
        self,
        *,
        key: str,
        status: int,
        rule: str | None = None,
        group: str | None = None,
        grant: str | None = None,
        latency_ms: int | None = None,
        retry_after_ms: int | None = None,
        pool: str | None = None,
        request_id: str | None = None,
        deadline: float | None = None,
    ) -> Coroutine[Any, Any, RatelimitReportResult]:
        """Reports how the remote server answered. A status among the rule's penalty codes pauses the key for all callers. Gives back the
        grant's permit.

        key: what the limit counts
        status: the HTTP status of the response (100 to 999)
        rule: the rule's name; absent for a limit that is given in full
        group: the group that is counted instead of the key
        grant: the grant for the request; its permit is given back
        latency_ms: milliseconds that the response took, for metrics (0 to 86400000)
        retry_after_ms: the Retry-After of the server, in milliseconds; 0 or less (a date that has passed, for example) = it asks for no
            pause; absent = it gave none. The Go client omits a 0: give -1 there (-31622400000 to 31622400000)
        pool: the pool whose member the key is: the pause is the member's, which permits respect
        request_id: makes the call run once however often it is sent; absent = a new one
        deadline: seconds for the call; absent = the client's, and wait_ms
        """
        params: dict[str, Any] = {"key": key, "status": status}
        if rule is not None:
            params["rule"] = rule
        if group is not None:
            params["group"] = group
        if grant is not None:
            params["grant"] = grant
        if latency_ms is not None:
            params["latency_ms"] = latency_ms
        if retry_after_ms is not None:
            params["retry_after_ms"] = retry_after_ms
        if pool is not None:
            params["pool"] = pool
        if request_id is not None:
            params["_request_id"] = request_id
        result: Coroutine[Any, Any, RatelimitReportResult] = self._call("ratelimit.report", params, deadline)
        return result

    def reset(
        self,
        *,
        key: str,
        rule: str | None = None,
        algorithm: Literal["token_bucket", "leaky_bucket", "fixed_window", "sliding_window_log", "sliding_window_counter"] | None = None,
        limits: Sequence[Band] | None = None,
        group: str | None = None,
        pool: str | None = None,
        deadline: float | None = None,
    ) -> Coroutine[Any, Any, RatelimitResetResult]:
        """Forgets what a key has taken from a limit, so that the limit is full again.

        key: the key to forget
        rule: the rule's name; or give algorithm and limits instead
        algorithm: the algorithm of a limit given in full
        limits: the bands of a limit given in full, 1 to 4
        group: the group that is counted instead of the key
        pool: the pool whose member the key is: the member's bucket under the rule is forgotten
        deadline: seconds for the call; absent = the client's, and wait_ms
        """
        params: dict[str, Any] = {"key": key}
        if rule is not None:
            params["rule"] = rule
        if algorithm is not None:
            params["algorithm"] = algorithm
        if limits is not None:
            params["limits"] = limits
        if group is not None:
            params["group"] = group
        if pool is not None:
            params["pool"] = pool
        result: Coroutine[Any, Any, RatelimitResetResult] = self._call("ratelimit.reset", params, deadline)
        return result

    def resume(
        self,
        *,
        key: str,
        rule: str | None = None,
        group: str | None = None,
        pool: str | None = None,
        deadline: float | None = None,
    ) -> Coroutine[Any, Any, RatelimitResumeResult]:
        """Ends the pause of a key and forgets its penalty.

        key: the key
        rule: the rule's name; absent for a limit that is given in full
        group: the group that is counted instead of the key
        pool: the pool whose member the key is
        deadline: seconds for the call; absent = the client's, and wait_ms
        """
        params: dict[str, Any] = {"key": key}
        if rule is not None:
            params["rule"] = rule
        if group is not None:
            params["group"] = group
        if pool is not None:
            params["pool"] = pool
        result: Coroutine[Any, Any, RatelimitResumeResult] = self._call("ratelimit.resume", params, deadline)
        return result

    def rules(
        self,
        *,
        deadline: float | None = None,
    ) -> Coroutine[Any, Any, RatelimitRulesResult]:
        """Lists the rules in force in this sidecar, and the rules that one of the same name hides.

        deadline: seconds for the call; absent = the client's, and wait_ms
        """
        params: dict[str, Any] = {}
        result: Coroutine[Any, Any, RatelimitRulesResult] = self._call("ratelimit.rules", params, deadline)
        return result

    def set_delay(
        self,
        *,
        key: str,
        rule: str | None = None,
        group: str | None = None,
        delay_ms: int | None = None,
        ttl_ms: int = 86400000,
        source: str = "robots",
        deadline: float | None = None,
    ) -> Coroutine[Any, Any, RatelimitSetDelayResult]:
        """Sets the least time between two admissions of a key, such as a crawl-delay. If several sources set one, the longest is in force.

        key: the key
        rule: the rule's name; absent for a limit that is given in full
        group: the group that is counted instead of the key
        delay_ms: milliseconds from one admission to the next, at most the rule's max_delay_ms; 0 = removes the delay of this source (0
            to 86400000)
        ttl_ms: milliseconds until this source's delay is forgotten (1 to 31622400000); absent = 86400000
        source: the source of the delay, such as robots; each source has one delay; absent = robots
        deadline: seconds for the call; absent = the client's, and wait_ms
        """
        params: dict[str, Any] = {"key": key}
        if rule is not None:
            params["rule"] = rule
        if group is not None:
            params["group"] = group
        if delay_ms is not None:
            params["delay_ms"] = delay_ms
        if ttl_ms != 86400000:
            params["ttl_ms"] = ttl_ms
        if source != "robots":
            params["source"] = source
        result: Coroutine[Any, Any, RatelimitSetDelayResult] = self._call("ratelimit.set_delay", params, deadline)
        return result

    def stats(
        self,
        *,
        deadline: float | None = None,
    ) -> Coroutine[Any, Any, RatelimitStatsResult]:
        """Returns, for each rule, the counts of this sidecar's decisions since it started.

        deadline: seconds for the call; absent = the client's, and wait_ms
        """
        params: dict[str, Any] = {}
        result: Coroutine[Any, Any, RatelimitStatsResult] = self._call("ratelimit.stats", params, deadline)
        return result


class AsyncRpcMethods:
    """The calls of rpc."""

    def __init__(self, call: AsyncCall) -> None:
        self._call = call

    def describe(
        self,
        *,
        method: str,
        deadline: float | None = None,
    ) -> Coroutine[Any, Any, MethodDescription]:
        """Describes one method: parameters, results, defaults, guarantees.

        method: the method's name
        deadline: seconds for the call; absent = the client's, and wait_ms
        """
        params: dict[str, Any] = {"method": method}
        result: Coroutine[Any, Any, MethodDescription] = self._call("rpc.describe", params, deadline)
        return result

    def methods(
        self,
        *,
        deadline: float | None = None,
    ) -> Coroutine[Any, Any, MethodsResult]:
        """Describes every method.

        deadline: seconds for the call; absent = the client's, and wait_ms
        """
        params: dict[str, Any] = {}
        result: Coroutine[Any, Any, MethodsResult] = self._call("rpc.methods", params, deadline)
        return result


class AsyncSeenMethods:
    """The calls of seen."""

    def __init__(self, call: AsyncCall) -> None:
        self._call = call

    def commit(
        self,
        *,
        set: str,
        key: str,
        token: str,
        keep_ms: int = 86400000,
        deadline: float | None = None,
    ) -> Coroutine[Any, Any, SeenCommitResult]:
        """Records that what was reserved is done: for keep_ms no caller can reserve the key.

        set: the set
        key: the key
        token: the token that seen.reserve returned
        keep_ms: milliseconds to remember that the key is done, at most 366 days (1 to 31622400000); absent = 86400000
        deadline: seconds for the call; absent = the client's, and wait_ms
        """
        params: dict[str, Any] = {"set": set, "key": key, "token": token}
        if keep_ms != 86400000:
            params["keep_ms"] = keep_ms
        result: Coroutine[Any, Any, SeenCommitResult] = self._call("seen.commit", params, deadline)
        return result

    def release(
        self,
        *,
        set: str,
        key: str,
        token: str,
        deadline: float | None = None,
    ) -> Coroutine[Any, Any, SeenReleaseResult]:
        """Gives up a reservation: the next caller that asks can reserve the key.

        set: the set
        key: the key
        token: the token that seen.reserve returned
        deadline: seconds for the call; absent = the client's, and wait_ms
        """
        params: dict[str, Any] = {"set": set, "key": key, "token": token}
        result: Coroutine[Any, Any, SeenReleaseResult] = self._call("seen.release", params, deadline)
        return result

    def reserve(
        self,
        *,
        set: str,
        key: str,
        ttl_ms: int = 30000,
        bind: Literal["session", "ttl"] = "session",
        request_id: str | None = None,
        deadline: float | None = None,
    ) -> Coroutine[Any, Any, SeenReserveResult]:
        """Reserves a key of a set, so that something is done once, such as fetching a URL; or reports that it is done or under way.

        set: the set
        key: what is to be done once, such as a URL or its hash
        ttl_ms: milliseconds that the reservation lasts unless it is renewed or committed (100 to 86400000); absent = 30000
        bind: session = the sidecar renews it while this connection is open and gives it up when the connection closes; ttl = it does
            neither; absent = session
        request_id: makes the call run once however often it is sent; absent = a new one
        deadline: seconds for the call; absent = the client's, and wait_ms
        """
        params: dict[str, Any] = {"set": set, "key": key}
        if ttl_ms != 30000:
            params["ttl_ms"] = ttl_ms
        if bind != "session":
            params["bind"] = bind
        if request_id is not None:
            params["_request_id"] = request_id
        result: Coroutine[Any, Any, SeenReserveResult] = self._call("seen.reserve", params, deadline)
        return result


class AsyncSemaphoreMethods:
    """The calls of semaphore."""

    def __init__(self, call: AsyncCall) -> None:
        self._call = call

    def acquire(
        self,
        *,
        name: str,
        limit: int,
        permits: int = 1,
        ttl_ms: int = 30000,
        wait_ms: int = 0,
        token: str | None = None,
        wait_replicas: int = 0,
        max_hold_ms: int = 0,
        meta: str | None = None,
        bind: Literal["session", "ttl"] = "session",
        request_id: str | None = None,
        deadline: float | None = None,
    ) -> Coroutine[Any, Any, SemaphoreAcquireResult]:
        """Acquires permits of a semaphore, all or none, at once or in turn within wait_ms. A repeated call with the same token returns the
        same grant.

        name: the semaphore
        limit: how many permits the semaphore has. Redis does not keep the limit: each call uses its own, so pass the same one
            everywhere (1 to 10000)
        permits: how many permits to acquire, at most limit (1 to 10000); absent = 1
        ttl_ms: milliseconds that the lease of the permits lasts unless it is renewed (100 to 86400000); absent = 30000
        wait_ms: how many milliseconds the call may be in the waiting line, within its deadline; first come, first served across all
            pods: a call for few permits does not overtake one for many (0 to 60000); absent = 0
        token: the owner's secret; the sidecar makes one when it is absent
        wait_replicas: how many replicas of Redis must have the grant; if fewer do in time, it is given back (0 to 16); absent = 0
        max_hold_ms: milliseconds after which they are lost even if they are renewed; 0 = never (0 to 604800000); absent = 0
        meta: a text that is shown with the holder, at most 512 bytes
        bind: session = the sidecar renews it while this connection is open and releases it when the connection closes; ttl = it does
            neither; absent = session
        request_id: makes the call run once however often it is sent; absent = a new one
        deadline: seconds for the call; absent = the client's, and wait_ms
        """
        params: dict[str, Any] = {"name": name, "limit": limit}
        if permits != 1:
            params["permits"] = permits
        if ttl_ms != 30000:
            params["ttl_ms"] = ttl_ms
        if wait_ms != 0:
            params["wait_ms"] = wait_ms
        if token is not None:
            params["token"] = token
        if wait_replicas != 0:
            params["wait_replicas"] = wait_replicas
        if max_hold_ms != 0:
            params["max_hold_ms"] = max_hold_ms
        if meta is not None:
            params["meta"] = meta
        if bind != "session":
            params["bind"] = bind
        if request_id is not None:
            params["_request_id"] = request_id
        result: Coroutine[Any, Any, SemaphoreAcquireResult] = self._call("semaphore.acquire", params, deadline)
        return result

    def get(
        self,
        *,
        name: str,
        deadline: float | None = None,
    ) -> Coroutine[Any, Any, SemaphoreGetResult]:
        """Returns how many permits are held, and by whom.

        name: the semaphore
        deadline: seconds for the call; absent = the client's, and wait_ms
        """
        params: dict[str, Any] = {"name": name}
        result: Coroutine[Any, Any, SemaphoreGetResult] = self._call("semaphore.get", params, deadline)
        return result

    def list(
        self,
        *,
        cursor: str | None = None,
        count: int = 100,
        state: Literal["held", "waited"] | None = None,
        deadline: float | None = None,
    ) -> Coroutine[Any, Any, SemaphoreListResult]:
        """Lists the semaphores with permits that are held or waited for, one page at a time, in no particular order. An entry that is added
        or removed during the listing may be missing or still listed.

        cursor: the cursor that the previous page returned; absent = the first page
        count: about how many entries to list (1 to 1000); absent = 100
        state: held = only semaphores with held permits; waited = only those with calls in their waiting lines; absent = both
        deadline: seconds for the call; absent = the client's, and wait_ms
        """
        params: dict[str, Any] = {}
        if cursor is not None:
            params["cursor"] = cursor
        if count != 100:
            params["count"] = count
        if state is not None:
            params["state"] = state
        result: Coroutine[Any, Any, SemaphoreListResult] = self._call("semaphore.list", params, deadline)
        return result

    def release(
        self,
        *,
        name: str,
        token: str,
        deadline: float | None = None,
    ) -> Coroutine[Any, Any, SemaphoreReleaseResult]:
        """Releases the permits of this token.

        name: the semaphore
        token: the owner's secret
        deadline: seconds for the call; absent = the client's, and wait_ms
        """
        params: dict[str, Any] = {"name": name, "token": token}
        result: Coroutine[Any, Any, SemaphoreReleaseResult] = self._call("semaphore.release", params, deadline)
        return result

    def renew(
        self,
        *,
        name: str,
        token: str,
        ttl_ms: int = 30000,
        deadline: float | None = None,
    ) -> Coroutine[Any, Any, SemaphoreRenewResult]:
        """Renews the permits of this token: from now on they last the given time, which may be shorter or longer than what was left. The
        sidecar renews leases that are bound to the session itself, with the new time from then on.

        name: the semaphore
        token: the owner's secret
        ttl_ms: milliseconds that the lease of the permits lasts from now on (100 to 86400000); absent = 30000
        deadline: seconds for the call; absent = the client's, and wait_ms
        """
        params: dict[str, Any] = {"name": name, "token": token}
        if ttl_ms != 30000:
            params["ttl_ms"] = ttl_ms
        result: Coroutine[Any, Any, SemaphoreRenewResult] = self._call("semaphore.renew", params, deadline)
        return result


class AsyncSessionMethods:
    """The calls of session."""

    def __init__(self, call: AsyncCall) -> None:
        self._call = call

    def drain(
        self,
        *,
        deadline_ms: int = 30000,
        deadline: float | None = None,
    ) -> Coroutine[Any, Any, DrainResult]:
        """Notifies every client that holds a lease or a subscription that the pod is shutting down (session.draining). Calls go on.

        deadline_ms: milliseconds until the pod is killed; the first call sets it, later ones do not change it (1 to 86400000); absent =
            30000
        deadline: seconds for the call; absent = the client's, and wait_ms
        """
        params: dict[str, Any] = {}
        if deadline_ms != 30000:
            params["deadline_ms"] = deadline_ms
        result: Coroutine[Any, Any, DrainResult] = self._call("session.drain", params, deadline)
        return result

    def hello(
        self,
        *,
        client: str | None = None,
        version: str | None = None,
        instance: str | None = None,
        errors: Literal["list", "map"] = "list",
        deadline: float | None = None,
    ) -> Coroutine[Any, Any, HelloResult]:
        """Introduces the client, and returns what the sidecar is and what it allows. Optional.

        client: the client program or library
        version: its version
        instance: the instance of the program, such as its pod and process
        errors: the form of errors on this connection: list = [kind, text], map = {code, message, retryable, retry_after_ms?, details?};
            absent = list
        deadline: seconds for the call; absent = the client's, and wait_ms
        """
        params: dict[str, Any] = {}
        if client is not None:
            params["client"] = client
        if version is not None:
            params["version"] = version
        if instance is not None:
            params["instance"] = instance
        if errors != "list":
            params["errors"] = errors
        result: Coroutine[Any, Any, HelloResult] = self._call("session.hello", params, deadline)
        return result

    def ping(
        self,
        *,
        deadline: float | None = None,
    ) -> Coroutine[Any, Any, PingResult]:
        """Returns at once, without asking Redis.

        deadline: seconds for the call; absent = the client's, and wait_ms
        """
        params: dict[str, Any] = {}
        result: Coroutine[Any, Any, PingResult] = self._call("session.ping", params, deadline)
        return result


class AsyncStreamMethods:
    """The calls of stream."""

    def __init__(self, call: AsyncCall) -> None:
        self._call = call

    def ack(
        self,
        *,
        stream: str,
        group: str,
        id: str,
        deadline: float | None = None,
    ) -> Coroutine[Any, Any, StreamAckResult]:
        """Acknowledges a message: its delivery ends, and the group is not given it again.

        stream: the stream
        group: the group
        id: the id of the message
        deadline: seconds for the call; absent = the client's, and wait_ms
        """
        params: dict[str, Any] = {"stream": stream, "group": group, "id": id}
        result: Coroutine[Any, Any, StreamAckResult] = self._call("stream.ack", params, deadline)
        return result

    def dead(
        self,
        *,
        stream: str,
        count: int = 20,
        after: str | None = None,
        deadline: float | None = None,
    ) -> Coroutine[Any, Any, StreamDeadResult]:
        """Lists the dead letters of a stream, the oldest first.

        stream: the stream
        count: the most messages to return; fewer are returned if they would exceed 512 KiB together (1 to 256); absent = 20
        after: list only dead letters after this id; pass the next of the previous result
        deadline: seconds for the call; absent = the client's, and wait_ms
        """
        params: dict[str, Any] = {"stream": stream}
        if count != 20:
            params["count"] = count
        if after is not None:
            params["after"] = after
        result: Coroutine[Any, Any, StreamDeadResult] = self._call("stream.dead", params, deadline)
        return result

    def extend(
        self,
        *,
        stream: str,
        group: str,
        id: str,
        deadline: float | None = None,
    ) -> Coroutine[Any, Any, StreamExtendResult]:
        """Restarts the visibility timeout of a message. The sidecar extends messages that are bound to the session itself.

        stream: the stream
        group: the group
        id: the id of the message
        deadline: seconds for the call; absent = the client's, and wait_ms
        """
        params: dict[str, Any] = {"stream": stream, "group": group, "id": id}
        result: Coroutine[Any, Any, StreamExtendResult] = self._call("stream.extend", params, deadline)
        return result

    def fetch(
        self,
        *,
        stream: str,
        group: str,
        count: int = 1,
        wait_ms: int = 0,
        max_deliveries: int = 5,
        visibility_ms: int = 60000,
        bind: Literal["session", "ttl"] = "session",
        start: Literal["first", "new"] = "first",
        rule: str | None = None,
        key: str | None = None,
        request_id: str | None = None,
        deadline: float | None = None,
    ) -> Coroutine[Any, Any, StreamFetchResult]:
        """Takes messages of a group, at once or within wait_ms. Creates the group if it does not exist.

        stream: the stream
        group: the group of consumers
        count: the most messages to return; fewer are returned if they would exceed 512 KiB together (1 to 256); absent = 1
        wait_ms: how many milliseconds the call may wait for the first message, within its deadline (0 to 60000); absent = 0
        max_deliveries: as in stream.subscribe (1 to 1000); absent = 5
        visibility_ms: as in stream.subscribe (100 to 43200000); absent = 60000
        bind: as in stream.subscribe; with ttl, the closing of the connection does not end the deliveries; absent = session
        start: as in stream.subscribe; absent = first
        rule: as in stream.subscribe
        key: as in stream.subscribe
        request_id: makes the call run once however often it is sent; absent = a new one
        deadline: seconds for the call; absent = the client's, and wait_ms
        """
        params: dict[str, Any] = {"stream": stream, "group": group}
        if count != 1:
            params["count"] = count
        if wait_ms != 0:
            params["wait_ms"] = wait_ms
        if max_deliveries != 5:
            params["max_deliveries"] = max_deliveries
        if visibility_ms != 60000:
            params["visibility_ms"] = visibility_ms
        if bind != "session":
            params["bind"] = bind
        if start != "first":
            params["start"] = start
        if rule is not None:
            params["rule"] = rule
        if key is not None:
            params["key"] = key
        if request_id is not None:
            params["_request_id"] = request_id
        result: Coroutine[Any, Any, StreamFetchResult] = self._call("stream.fetch", params, deadline)
        return result

    def groups(
        self,
        *,
        stream: str,
        deadline: float | None = None,
    ) -> Coroutine[Any, Any, StreamGroupsResult]:
        """Lists the groups of a stream and their consumers. A consumer is a pod.

        stream: the stream
        deadline: seconds for the call; absent = the client's, and wait_ms
        """
        params: dict[str, Any] = {"stream": stream}
        result: Coroutine[Any, Any, StreamGroupsResult] = self._call("stream.groups", params, deadline)
        return result

    def list(
        self,
        *,
        cursor: str | None = None,
        count: int = 100,
        state: Literal["behind", "dead"] | None = None,
        deadline: float | None = None,
    ) -> Coroutine[Any, Any, StreamListResult]:
        """Lists the streams, and how far their groups are behind, one page at a time, in no particular order. An entry that is added or
        removed during the listing may be missing or still listed.

        cursor: the cursor that the previous page returned; absent = the first page
        count: about how many entries to list (1 to 1000); absent = 100
        state: behind = only streams with a group that has undelivered or unacknowledged messages; dead = only streams with dead
            letters; absent = all
        deadline: seconds for the call; absent = the client's, and wait_ms
        """
        params: dict[str, Any] = {}
        if cursor is not None:
            params["cursor"] = cursor
        if count != 100:
            params["count"] = count
        if state is not None:
            params["state"] = state
        result: Coroutine[Any, Any, StreamListResult] = self._call("stream.list", params, deadline)
        return result

    def nack(
        self,
        *,
        stream: str,
        group: str,
        id: str,
        delay_ms: int = -1,
        dead: bool = False,
        reason: str | None = None,
        deadline: float | None = None,
    ) -> Coroutine[Any, Any, StreamNackResult]:
        """Ends the delivery of a message that was not processed: it is delivered again after delay_ms, or moved to the dead letters after
        its last attempt.

        stream: the stream
        group: the group
        id: the id of the message
        delay_ms: milliseconds until it is delivered again; -1 = 1 s after the first attempt, doubled with each further one, at most 5
            min (-1 to 86400000); absent = -1
        dead: move the message to the dead letters at once
        reason: the reason, which the dead letter keeps
        deadline: seconds for the call; absent = the client's, and wait_ms
        """
        params: dict[str, Any] = {"stream": stream, "group": group, "id": id}
        if delay_ms != -1:
            params["delay_ms"] = delay_ms
        if dead:
            params["dead"] = dead
        if reason is not None:
            params["reason"] = reason
        result: Coroutine[Any, Any, StreamNackResult] = self._call("stream.nack", params, deadline)
        return result

    def publish(
        self,
        *,
        stream: str,
        body: bytes | None = None,
        fields: Mapping[str, str] | None = None,
        dedupe_id: str | None = None,
        dedupe_ms: int = 300000,
        delay_ms: int = 0,
        maxlen: int = 0,
        request_id: str | None = None,
        deadline: float | None = None,
    ) -> Coroutine[Any, Any, StreamPublishResult]:
        """Adds a message to the end of a stream, with delay_ms after that delay.

        stream: the stream
        body: any bytes, at most 256 KiB
        fields: texts by name, at most 256 KiB together, in addition to the body or instead of it
        dedupe_id: if a message with the same dedupe_id was published within the last dedupe_ms, this one is not added
        dedupe_ms: milliseconds for which dedupe_id is remembered (1000 to 86400000); absent = 300000
        delay_ms: milliseconds until it is added to the stream (0 to 2592000000); absent = 0
        maxlen: when this message is added, the stream is cut to about this many of its newest messages; a few more may stay; 0 = keep
            all (0 to 1000000000); absent = 0
        request_id: makes the call run once however often it is sent; absent = a new one
        deadline: seconds for the call; absent = the client's, and wait_ms
        """
        params: dict[str, Any] = {"stream": stream}
        if body is not None:
            params["body"] = body
        if fields is not None:
            params["fields"] = fields
        if dedupe_id is not None:
            params["dedupe_id"] = dedupe_id
        if dedupe_ms != 300000:
            params["dedupe_ms"] = dedupe_ms
        if delay_ms != 0:
            params["delay_ms"] = delay_ms
        if maxlen != 0:
            params["maxlen"] = maxlen
        if request_id is not None:
            params["_request_id"] = request_id
        result: Coroutine[Any, Any, StreamPublishResult] = self._call("stream.publish", params, deadline)
        return result

    def publish_many(
        self,
        *,
        stream: str,
        messages: Sequence[StreamNewMessage],
        maxlen: int = 0,
        request_id: str | None = None,
        deadline: float | None = None,
    ) -> Coroutine[Any, Any, StreamPublishManyResult]:
        """Adds messages to the end of a stream, in their order. Each has its own outcome.

        stream: the stream
        messages: 1 to 256 messages, at most 768 KiB together
        maxlen: as in stream.publish (0 to 1000000000); absent = 0
        request_id: makes the call run once however often it is sent; absent = a new one
        deadline: seconds for the call; absent = the client's, and wait_ms
        """
        params: dict[str, Any] = {"stream": stream, "messages": messages}
        if maxlen != 0:
            params["maxlen"] = maxlen
        if request_id is not None:
            params["_request_id"] = request_id
        result: Coroutine[Any, Any, StreamPublishManyResult] = self._call("stream.publish_many", params, deadline)
        return result

    def read(
        self,
        *,
        stream: str,
        after: str | None = None,
        start: Literal["first", "new"] = "first",
        count: int = 20,
        deadline: float | None = None,
    ) -> Coroutine[Any, Any, StreamReadResult]:
        """Lists messages of a stream, the oldest first, without a group: no group is affected.

        stream: the stream
        after: list only messages after this id; pass the next of the previous result
        start: where to begin without after: first = with the oldest message; new = with messages published from now on, so this call
            lists none; absent = first
        count: the most messages to return; fewer are returned if they would exceed 512 KiB together (1 to 256); absent = 20
        deadline: seconds for the call; absent = the client's, and wait_ms
        """
        params: dict[str, Any] = {"stream": stream}
        if after is not None:
            params["after"] = after
        if start != "first":
            params["start"] = start
        if count != 20:
            params["count"] = count
        result: Coroutine[Any, Any, StreamReadResult] = self._call("stream.read", params, deadline)
        return result

    def redrive(
        self,
        *,
        stream: str,
        ids: Sequence[str] | None = None,
        count: int = 0,
        request_id: str | None = None,
        deadline: float | None = None,
    ) -> Coroutine[Any, Any, StreamRedriveResult]:
        """Moves dead letters back to the end of their stream, each for the group that failed to process it.

        stream: the stream
        ids: the ids of the dead letters, at most 256
        count: instead of ids: how many to move, the oldest first (0 to 256); absent = 0
        request_id: makes the call run once however often it is sent; absent = a new one
        deadline: seconds for the call; absent = the client's, and wait_ms
        """
        params: dict[str, Any] = {"stream": stream}
        if ids is not None:
            params["ids"] = ids
        if count != 0:
            params["count"] = count
        if request_id is not None:
            params["_request_id"] = request_id
        result: Coroutine[Any, Any, StreamRedriveResult] = self._call("stream.redrive", params, deadline)
        return result

    def stats(
        self,
        *,
        stream: str,
        group: str | None = None,
        deadline: float | None = None,
    ) -> Coroutine[Any, Any, StreamStatsResult]:
        """Counts the messages of a stream and, for each group, those that are not delivered and those that are not acknowledged.

        stream: the stream
        group: count only this group; absent = all groups
        deadline: seconds for the call; absent = the client's, and wait_ms
        """
        params: dict[str, Any] = {"stream": stream}
        if group is not None:
            params["group"] = group
        result: Coroutine[Any, Any, StreamStatsResult] = self._call("stream.stats", params, deadline)
        return result

    def subscribe(
        self,
        *,
        stream: str,
        group: str,
        prefetch: int = 16,
        max_deliveries: int = 5,
        visibility_ms: int = 60000,
        bind: Literal["session", "ttl"] = "session",
        start: Literal["first", "new"] = "first",
        rule: str | None = None,
        key: str | None = None,
        request_id: str | None = None,
        deadline: float | None = None,
    ) -> Coroutine[Any, Any, StreamSubscribeResult]:
        """Sends this connection the messages of a group as stream.message, with at most prefetch of them unacknowledged. Creates the group
        if it does not exist.

        stream: the stream
        group: the group of consumers; each message goes to one of them. The latest subscription or fetch in a pod sets visibility_ms
            and max_deliveries for the whole group in that pod
        prefetch: how many messages this subscription may have unacknowledged (1 to 1000); absent = 16
        max_deliveries: how many times a message is delivered; if it is then not acknowledged, it is moved to the dead letters (1 to
            1000); absent = 5
        visibility_ms: the visibility timeout in milliseconds: when it ends, the message is delivered to another consumer, unless it was
            acknowledged or extended (100 to 43200000); absent = 60000
        bind: session = the sidecar extends messages while this connection is open; ttl = a delivery lasts visibility_ms unless the
            client extends it. In both cases messages are delivered again at once when the connection closes; absent = session
        start: where the group begins if this call creates it: first = with the oldest message; new = with messages published from now
            on; absent = first
        rule: given together with key: a message is delivered only when this rule admits its key. Messages of other keys overtake it;
            those of one key are delivered one at a time, in their order. The latest subscription or fetch in a pod sets the rule for the
            whole group in that pod
        key: given together with rule: the field of messages that contains the key, such as host. All subscriptions and fetches of a
            group must name the same field; a message without it is moved to the dead letters
        request_id: makes the call run once however often it is sent; absent = a new one
        deadline: seconds for the call; absent = the client's, and wait_ms
        """
        params: dict[str, Any] = {"stream": stream, "group": group}
        if prefetch != 16:
            params["prefetch"] = prefetch
        if max_deliveries != 5:
            params["max_deliveries"] = max_deliveries
        if visibility_ms != 60000:
            params["visibility_ms"] = visibility_ms
        if bind != "session":
            params["bind"] = bind
        if start != "first":
            params["start"] = start
        if rule is not None:
            params["rule"] = rule
        if key is not None:
            params["key"] = key
        if request_id is not None:
            params["_request_id"] = request_id
        result: Coroutine[Any, Any, StreamSubscribeResult] = self._call("stream.subscribe", params, deadline)
        return result

    def trim(
        self,
        *,
        stream: str,
        dead: bool = False,
        maxlen: int | None = None,
        older_ms: int | None = None,
        ids: Sequence[str] | None = None,
        deadline: float | None = None,
    ) -> Coroutine[Any, Any, StreamTrimResult]:
        """Deletes the oldest messages of a stream, or dead letters.

        stream: the stream
        dead: delete dead letters instead of messages
        maxlen: keep only this many of the newest ones (0 to 1000000000)
        older_ms: delete those that were added more than this many milliseconds ago (0 to 31536000000)
        ids: delete those with these ids, at most 256
        deadline: seconds for the call; absent = the client's, and wait_ms
        """
        params: dict[str, Any] = {"stream": stream}
        if dead:
            params["dead"] = dead
        if maxlen is not None:
            params["maxlen"] = maxlen
        if older_ms is not None:
            params["older_ms"] = older_ms
        if ids is not None:
            params["ids"] = ids
        result: Coroutine[Any, Any, StreamTrimResult] = self._call("stream.trim", params, deadline)
        return result

    def unsubscribe(
        self,
        *,
        subscription: str,
        deadline: float | None = None,
    ) -> Coroutine[Any, Any, StreamUnsubscribeResult]:
        """Ends a subscription. Messages that were already sent stay delivered to this connection until they are acknowledged or it closes.

        subscription: the id that stream.subscribe returned
        deadline: seconds for the call; absent = the client's, and wait_ms
        """
        params: dict[str, Any] = {"subscription": subscription}
        result: Coroutine[Any, Any, StreamUnsubscribeResult] = self._call("stream.unsubscribe", params, deadline)
        return result
