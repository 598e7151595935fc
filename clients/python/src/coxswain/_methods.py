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
        """Asks whether a call may be made. While the breaker is half open it hands out probes, which are to be reported.

        name: the breaker, such as a host; with pool the member
        pool: the pool whose member's breaker it is, as permit.acquire uses it
        policy: the configured policy to go by; absent = the first whose name matches the breaker's (with pool, the pool's), else the
            default
        fail_mode: what decides when Redis does not answer: closed = the call fails with UNAVAILABLE, open = it is allowed; absent = the
            policy's, open unless it says otherwise
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
        """Tells whether a breaker would let a call pass now, why not and until when, and by which policy. It takes nothing.

        name: the breaker
        pool: the pool whose member's breaker it is
        policy: the policy to go by, as for breaker.allow
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
        """Holds a breaker in a state until breaker.reset, whatever is reported.

        name: the breaker
        state: open = nothing passes; closed = everything passes and failures are counted, without effect; disabled = everything passes,
            nothing is counted
        pool: the pool whose member's breaker it is
        policy: the policy to go by, as for breaker.allow
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
        """Says in what state a breaker is, and why.

        name: the breaker
        pool: the pool whose member's breaker it is
        policy: the policy to go by, as for breaker.allow
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
        """Lists the breakers that are known, or with pool those of its members, a page at a time, in no order. What changes meanwhile may
        be missing or be there still.

        pool: the pool whose members' breakers to list; absent = breakers that are no member's
        cursor: the cursor of the page before; absent = from the start
        count: about how many to list (1 to 1000); absent = 100
        state: only those in this state; not_closed = in any but closed; absent = all
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
        """Tells what became of a call that was allowed. What was allowed in an older generation changes nothing.

        name: the breaker
        outcome: ignored = it says nothing of what is behind the breaker, such as a cancelled call or a refusal of our own; it gives a
            probe back
        pool: the pool whose member's breaker it is
        policy: the policy to go by, as for breaker.allow
        generation: the generation that allowed the call; absent or 0 = the present one, if it is closed (0 to 9007199254740991)
        probe: the probe that the call was
        duration_ms: milliseconds that the call took, for the slow rate (0 to 86400000)
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
        """Closes a breaker and forgets what it counted, a forced state too.

        name: the breaker
        pool: the pool whose member's breaker it is
        policy: the policy to go by, as for breaker.allow
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
        """Has this connection sent what happens, as notifications named event, until it ends. Again: replaces the kinds.

        kinds: the kinds of events to be sent: breaker, degraded, draining, forced, lost, paused, refused, reloaded, resumed; all when
            there are none
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
        """Ends what events.subscribe began. It is no error when nothing was.

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
        """Answers what /readyz?verbose and /livez?verbose do.

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
        """Lists the sidecars that use this Redis under the same prefix and tenant, a page at a time, in no order. One that was killed is
        listed for half a minute still.

        cursor: the cursor of the page before; absent = from the start
        count: about how many to list (1 to 1000); absent = 100
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
        """Shows what the sidecar is, has in force, holds and does now, without secrets.

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
        """Takes a lock, at once or in turn within wait_ms, or says who holds it. Repeating it with the same token answers the same grant.

        name: the lock
        ttl_ms: milliseconds until it is free again unless renewed (100 to 86400000); absent = 30000
        wait_ms: milliseconds to stand in line for it, within the call's deadline; first come, first served across all pods (0 to
            60000); absent = 0
        token: the owner's secret; made by the sidecar when absent
        wait_replicas: how many replicas of Redis must have the grant, or it is given back; for fewer second holders after a failover (0
            to 16); absent = 0
        max_hold_ms: milliseconds after which it is lost, whoever renews it; 0 = never (0 to 604800000); absent = 0
        meta: shown with the holder, such as a job's id; at most 512 bytes
        bind: session = renewed while this connection lives and released when it closes; ttl = neither; absent = session
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
        """Tells why a lock would be refused now and until when: who holds it, what keeps it held, and who stands in line. It takes nothing.

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
        """Frees a lock whoever holds it, and says who did. The owner is told that it is lost; the next one's fence is higher.

        name: the lock
        reason: for the log and the event, at most 512 bytes
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
        """Says whether a lock is held, by whom and for how long.

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
        """Lists the locks that are held, a page at a time, in no order. One that is taken or freed meanwhile may be missing or be there
        still.

        cursor: the cursor of the page before; absent = from the start
        count: about how many to list (1 to 1000); absent = 100
        state: held = all that are held; waited = only those that calls stand in line for; absent = held
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
        """Gives a lock back, if this token holds it.

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
        """Renews a lock that this token holds: it lasts so long from now on, shorter or longer. Locks bound to the session are renewed by
        the sidecar, so from then on.

        name: the lock
        token: the owner's secret
        ttl_ms: milliseconds from now until it is free again (100 to 86400000); absent = 30000
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
        """Leases the least recently used member that is free, whose breaker is not open and whose bucket has the cost: all decided and
        taken in one step.

        pool: the pool
        rule: the rule (token_bucket) of which each member has a bucket of its own; absent = no limit
        breaker: the policy of the members' breakers, default for the built-in one; absent = breakers are not asked
        cost: what is taken from the member's bucket (0 to 1000000000); absent = 1
        lease_ms: milliseconds until it is free again unless renewed (100 to 86400000); absent = 60000
        wait_ms: milliseconds to stand in line, within the call's deadline; first come, first served across all pods for the same pool,
            scope, rule and breaker (0 to 60000); absent = 0
        scope: as for pool.acquire
        exclude: members not to take, at most 100
        sticky: as for pool.acquire
        bind: session = renewed while this connection lives and given back when it closes; ttl = neither; absent = session
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
        """Tells which member permit.acquire would lease now, or why none and until when: members, their breakers, buckets and pauses, who
        holds them and who stands in line. It takes nothing.

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
        """Renews a permit: it lasts so long from now on, shorter or longer. Those bound to the session are renewed by the sidecar, so from
        then on.

        pool: the pool
        lease: what permit.acquire answered
        lease_ms: milliseconds from now until it is free again (100 to 86400000); absent = 60000
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
        """Gives a permit's member back and tells its breaker, its cooldown and its pause how the work went, in one step.

        pool: the pool
        lease: what permit.acquire answered
        outcome: as of pool.release; to the breaker ok is a success, cancelled is ignored, and all else is a failure; absent = ok
        status: the HTTP status: one of the rule's penalty.codes pauses the member (0 to 999)
        retry_after_ms: milliseconds the server asks to stay away; 0 or less, such as for a date that has passed = it asks for no pause;
            absent = it did not say. The Go client leaves a 0 out: there it is -1 (-31622400000 to 31622400000)
        duration_ms: milliseconds that the work took, for the breaker's slow rate (0 to 86400000)
        cooldown_ms: milliseconds to cool down in the scope at least, whatever the outcome (0 to 604800000)
        unban_after_ms: milliseconds that a ban by this call lasts; absent or 0 = until pool.unban (0 to 31622400000)
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
        lease_ms: milliseconds until it is free again unless renewed (100 to 86400000); absent = 60000
        wait_ms: milliseconds to stand in line, within the call's deadline; first come, first served across all pods (0 to 60000);
            absent = 0
        scope: what it is used for, such as a host: least recent use and cooldowns are of each scope alone
        exclude: members not to take, at most 100
        sticky: who comes back: in its turn the same name gets the same member again, if that can be had then
        bind: session = renewed while this connection lives and given back when it closes; ttl = neither; absent = session
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
        """Takes a member out of use, for a time or until pool.unban. Who has it keeps it until it is given back.

        pool: the pool
        id: the member
        for_ms: milliseconds that it lasts; absent or 0 = until pool.unban (0 to 31622400000)
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
        """Tells which member pool.acquire would lease now, or why none and until when: what keeps each member, who holds them and who
        stands in line. It takes nothing.

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
        """Lists the members of a pool and their states, a page at a time, in the order in which they came.

        pool: the pool
        scope: whose use and cooldowns to show
        cursor: the cursor of the page before; absent = from the start
        count: how many to list (1 to 1000); absent = 100
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
        """Lists the pools that have members, and counts these, a page at a time, in no order. What changes meanwhile may be missing or be
        there still.

        cursor: the cursor of the page before; absent = from the start
        count: about how many to list (1 to 1000); absent = 100
        state: exhausted = only those without a free member; waited = only those that calls stand in line for; absent = all
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
        """Adds members to a pool, and replaces the meta of those that are there; these keep their state, bans included.

        pool: the pool; the first member makes it, and at most 10000 are in one
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
        """Gives a member back and says how it did.

        pool: the pool
        lease: what pool.acquire answered
        outcome: ok = forgets failures; cancelled = says nothing of the member, as when it was not used; ban = banned; the others cool
            down, longer with each in a row; see docs/pool.md; absent = ok
        cooldown_ms: milliseconds to cool down in the scope at least, whatever the outcome (0 to 604800000)
        unban_after_ms: milliseconds that a ban by this call lasts; absent or 0 = until pool.unban (0 to 31622400000)
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
        """Removes members from a pool, and forgets their state. Who has one is told when it renews.

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
        """Renews the lease of a member: it lasts so long from now on, shorter or longer. Those bound to the session are renewed by the
        sidecar, so from then on.

        pool: the pool
        lease: what pool.acquire answered
        lease_ms: milliseconds from now until it is free again (100 to 86400000); absent = 60000
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
        """Counts the members of a pool: live, cooling, banned and free ones are all there are.

        pool: the pool
        scope: whose cooldowns count
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
        """Lifts the ban of a member, and forgets its failures and cooldowns.

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
        """Sends a message to those who are subscribed to a channel now. It is not kept.

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
        """Has this connection sent the messages of channels as pubsub.message, at most once each. It answers once Redis has confirmed.

        channels: channels, at most 256 of both together
        patterns: patterns of channels as of Redis: * ? [ab] and a backslash before what stands for itself
        buffer: how many messages are kept while this connection is not read; those that come then are dropped and told by pubsub.gap (1
            to 100000); absent = 1000
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

        subscription: what pubsub.subscribe answered
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
        """Ends the lease of an entry that was dealt with: it does not come back.

        queue: the queue
        lease: what queue.dequeue answered
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
        """Takes an entry out of the queue, unless someone has it.

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
        """Takes the first entry of a queue that has not expired, at once or in turn within wait_ms. With lease_ms it comes back to the head
        unless it is acknowledged.

        queue: the queue
        wait_ms: milliseconds to wait for an entry, within the call's deadline; first come, first served across all pods (0 to 60000);
            absent = 0
        lease_ms: milliseconds in which it is to be acknowledged, at least 100; 0 = it is gone from the queue at once (0 to 86400000);
            absent = 0
        bind: of the lease: ttl = it lasts lease_ms unless renewed; session = it is renewed while this connection lives, and the entry
            is back at the head when it closes; absent = ttl
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
        """Puts an entry at the end of a queue, or answers where the entry of that id is.

        queue: the queue
        id: the entry; the same id is in a queue once
        ttl_ms: milliseconds until it expires if nobody takes it; while it is leased it does not (1 to 2592000000); absent = 60000
        body: any bytes, at most 256 KiB, given to who takes it
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
        """Lists the queues that have entries or that calls wait at, a page at a time, in no order. What changes meanwhile may be missing or
        be there still.

        cursor: the cursor of the page before; absent = from the start
        count: about how many to list (1 to 1000); absent = 100
        state: entries = only those in which entries wait to be taken; leased = only those of which someone has entries; empty = only
            those in which none waits; absent = all
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
        """Says where an entry stands.

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
        """Ends the lease of an entry that was not dealt with: it is at the head again at once.

        queue: the queue
        lease: what queue.dequeue answered
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
        """Renews the lease of an entry: it lasts so long from now on, shorter or longer. Those bound to the session are renewed by the
        sidecar, so from then on.

        queue: the queue
        lease: what queue.dequeue answered
        lease_ms: milliseconds from now until it comes back (100 to 86400000)
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
        """Counts the entries of a queue, and who waits for one.

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
        """Takes cost from every band of a limit, all or none, or says when it may succeed.

        key: whom or what the limit counts, such as a host or an account
        rule: the rule's name; or give algorithm and limits
        algorithm: the algorithm of a limit given in full
        limits: the bands of a limit given in full, 1 to 4; with other bands it is another limit, which shares nothing with this one but
            pauses and delays of the key
        group: counts in place of the key, for all keys of the group together; absent = the rule's group of the key, or none
        pool: the pool whose member the key names: its bucket under the rule and its pause, as permits use them; takes no group,
            wait_ms, algorithm or limits
        cost: how much to take; 0 takes nothing, as ratelimit.peek. The Go client leaves a 0 out, so that it takes 1: look with
            RatelimitPeek (0 to 1000000000); absent = 1
        wait_ms: milliseconds the call may wait for a slot, first come first served; further away it is refused at once; ratelimit.peek
            never waits; sliding_window_counter takes none (0 to 60000)
        fail_mode: what decides when Redis does not answer: closed = the call fails with UNAVAILABLE, open = it is allowed, local = this
            sidecar alone limits it; absent = the rule's, open unless it says otherwise
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
        """Takes cost for the first of several keys that may go now, or says which may go soonest.

        keys: 1 to 100 keys, the preferred first
        rule: the rule's name; or give algorithm and limits
        algorithm: the algorithm of a limit given in full
        limits: the bands of a limit given in full, 1 to 4
        cost: how much to take (0 to 1000000000); absent = 1
        fail_mode: what decides when Redis does not answer
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
        """Takes from many limits in one round trip. With atomic takes all or none; then the items share one rule and one group.

        items: 1 to 100 acquisitions, each as ratelimit.acquire without wait_ms
        atomic: all or none: the items have one rule and one group, and none is refused alone
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
        """Removes a rule that ratelimit.put_rule put. Rules of files stay.

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
        """Frees the place of a grant under a rule with max_concurrent. What it took stays taken.

        grant: the grant, as ratelimit.acquire told it
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
        """Tells all there is to know of a limit and a key: the rule and override that count, each band, pause, delay, and who holds places.

        key: the key
        rule: the rule's name; or give algorithm and limits
        algorithm: the algorithm of a limit given in full
        limits: the bands of a limit given in full, 1 to 4
        group: the group that counts in its place
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
        """Refuses a key for a time, in every sidecar. Of several pauses the longest counts.

        key: the key
        rule: the rule's name; absent for limits given in full
        group: the group that counts in its place
        for_ms: milliseconds from now; or give until_at_ms (0 to 31622400000)
        until_at_ms: the instant it ends, by the Redis server's clock, Unix milliseconds, within 366 days (at least 0)
        reason: for people
        pool: the pool whose member the key names: it is paused for permits, whatever the rule
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
        """Answers what ratelimit.acquire would, and takes nothing.

        key: whom or what the limit counts, such as a host or an account
        rule: the rule's name; or give algorithm and limits
        algorithm: the algorithm of a limit given in full
        limits: the bands of a limit given in full, 1 to 4; with other bands it is another limit, which shares nothing with this one but
            pauses and delays of the key
        group: counts in place of the key, for all keys of the group together; absent = the rule's group of the key, or none
        pool: the pool whose member the key names: its bucket under the rule and its pause, as permits use them; takes no group,
            wait_ms, algorithm or limits
        cost: how much to take; 0 takes nothing, as ratelimit.peek. The Go client leaves a 0 out, so that it takes 1: look with
            RatelimitPeek (0 to 1000000000); absent = 1
        wait_ms: milliseconds the call may wait for a slot, first come first served; further away it is refused at once; ratelimit.peek
            never waits; sliding_window_counter takes none (0 to 60000)
        fail_mode: what decides when Redis does not answer: closed = the call fails with UNAVAILABLE, open = it is allowed, local = this
            sidecar alone limits it; absent = the rule's, open unless it says otherwise
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
        """Keeps a rule in Redis, for every sidecar, at once or a second later. A rule of the same name there is replaced.

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
        """Gives back what a grant took and was not used for, once, up to what the limit holds. What was used and refunded counts as
        admitted.

        grant: the grant, as ratelimit.acquire told it
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
        """Tells how the remote server answered. A status among the rule's penalty codes pauses the key for everyone. Frees the grant's
        place.

        key: whom or what the limit counts
        status: the HTTP status that came back (100 to 999)
        rule: the rule's name; absent for limits given in full
        group: the group that counts in its place
        grant: the grant that the request went out with; its place is freed
        latency_ms: milliseconds that the answer took, for metrics (0 to 86400000)
        retry_after_ms: milliseconds the server asks to stay away; 0 or less, such as for a date that has passed = it asks for no pause;
            absent = it did not say. The Go client leaves a 0 out: there it is -1 (-31622400000 to 31622400000)
        pool: the pool whose member the key names: the member is paused for permits
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
        """Forgets what was taken from a limit under one key.

        key: the key to forget
        rule: the rule's name; or give algorithm and limits
        algorithm: the algorithm of a limit given in full
        limits: the bands of a limit given in full, 1 to 4
        group: the group that counts in its place
        pool: the pool whose member the key names: its bucket under the rule is forgotten
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
        rule: the rule's name; absent for limits given in full
        group: the group that counts in its place
        pool: the pool whose member the key names
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
        """Lists the rules in force in this sidecar, and those that another one of the same name hides.

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
        """Keeps a time between any two admissions of a key, such as a crawl-delay. Of several sources the slowest counts.

        key: the key
        rule: the rule's name; absent for limits given in full
        group: the group that counts in its place
        delay_ms: milliseconds from one admission to the next, at most the rule's max_delay_ms; 0 = this source asks for none (0 to
            86400000)
        ttl_ms: milliseconds until this source's word is forgotten (1 to 31622400000); absent = 86400000
        source: who says so, such as robots; each has one word; absent = robots
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
        """Counts the decisions of this sidecar since it started, for each rule.

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
        """Says that what was reserved is done: for keep_ms no one else does it.

        set: the set
        key: the key
        token: what seen.reserve answered
        keep_ms: milliseconds to remember it, at most 366 days (1 to 31622400000); absent = 86400000
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
        """Gives a reservation up: the next one who asks does it.

        set: the set
        key: the key
        token: what seen.reserve answered
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
        """Reserves a key of a set to do something once, such as fetching a URL, or says that it is done or under way.

        set: the set
        key: what is to be done once, such as a URL or its hash
        ttl_ms: milliseconds until the reservation ends unless renewed or committed (100 to 86400000); absent = 30000
        bind: session = renewed while this connection lives and given up when it closes; ttl = neither; absent = session
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
        """Takes permits of a semaphore, all or none, at once or in turn within wait_ms. Repeating it with the same token answers the same
        grant.

        name: the semaphore
        limit: how many permits it has; each call goes by its own limit, so give the same everywhere (1 to 10000)
        permits: how many to take, at most limit (1 to 10000); absent = 1
        ttl_ms: milliseconds until they are free again unless renewed (100 to 86400000); absent = 30000
        wait_ms: milliseconds to stand in line for them, within the call's deadline; first come, first served across all pods, and
            nobody passes who asks for many (0 to 60000); absent = 0
        token: the owner's secret; made by the sidecar when absent
        wait_replicas: how many replicas of Redis must have the grant, or it is given back (0 to 16); absent = 0
        max_hold_ms: milliseconds after which they are lost, whoever renews them; 0 = never (0 to 604800000); absent = 0
        meta: shown with the holder; at most 512 bytes
        bind: session = renewed while this connection lives and released when it closes; ttl = neither; absent = session
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
        """Says how many permits are held, and by whom.

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
        """Lists the semaphores of which permits are held or waited for, a page at a time, in no order. What changes meanwhile may be
        missing or be there still.

        cursor: the cursor of the page before; absent = from the start
        count: about how many to list (1 to 1000); absent = 100
        state: held = only those of which permits are held; waited = only those that calls stand in line for; absent = both
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
        """Gives the permits of this token back, and nobody else's.

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
        """Renews the permits of this token: they last so long from now on, shorter or longer. Those bound to the session are renewed by the
        sidecar, so from then on.

        name: the semaphore
        token: the owner's secret
        ttl_ms: milliseconds from now until they are free again (100 to 86400000); absent = 30000
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
        """Tells every client that holds or follows something that the pod ends (session.draining). Calls go on.

        deadline_ms: milliseconds until the pod is killed; a later call changes nothing (1 to 86400000); absent = 30000
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
        """Introduces the client and learns what the sidecar is and allows. Optional.

        client: the client program or library
        version: its version
        instance: which one it is, such as the pod and the process
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
        """Answers at once, without Redis.

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
        """Ends the delivery of a message that was dealt with: the group is not given it again.

        stream: the stream
        group: the group
        id: the message
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
        count: how many at most; fewer come if together they pass 512 KiB (1 to 256); absent = 20
        after: only those after this one: next of the answer before
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
        """Starts the visibility timeout of a message again. Those bound to the session are extended by the sidecar.

        stream: the stream
        group: the group
        id: the message
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
        """Takes messages of a group, at once or within wait_ms. The group is made if there is none.

        stream: the stream
        group: the group of consumers
        count: how many messages at most; fewer come if together they pass 512 KiB (1 to 256); absent = 1
        wait_ms: milliseconds to wait for the first, within the call's deadline (0 to 60000); absent = 0
        max_deliveries: as of stream.subscribe (1 to 1000); absent = 5
        visibility_ms: as of stream.subscribe (100 to 43200000); absent = 60000
        bind: as of stream.subscribe; with ttl messages also outlive this connection; absent = session
        start: as of stream.subscribe; absent = first
        rule: as of stream.subscribe
        key: as of stream.subscribe
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
        """Lists the streams that there are, with what their groups are behind, a page at a time, in no order. What changes meanwhile may be
        missing or be there still.

        cursor: the cursor of the page before; absent = from the start
        count: about how many to list (1 to 1000); absent = 100
        state: behind = only those with a group that has messages left to be given or acknowledged; dead = only those with dead letters;
            absent = all
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
        """Ends the delivery of a message that was not dealt with: it is delivered again after delay_ms, or moved to the dead letters after
        its last attempt.

        stream: the stream
        group: the group
        id: the message
        delay_ms: milliseconds until it is delivered again; -1 = 1 s after the first attempt, doubled with each, at most 5 min (-1 to
            86400000); absent = -1
        dead: it is moved to the dead letters at once
        reason: why, for the dead letter
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
        """Adds a message to the end of a stream, or later with delay_ms.

        stream: the stream
        body: any bytes, at most 256 KiB
        fields: texts by name, at most 256 KiB together, beside the body or in its place
        dedupe_id: a message with the same one, published within dedupe_ms before, is not published again
        dedupe_ms: milliseconds for which dedupe_id is remembered (1000 to 86400000); absent = 300000
        delay_ms: milliseconds until it is added to the stream (0 to 2592000000); absent = 0
        maxlen: about how many messages the stream keeps, the newest, when this one is added; a few more may stay; 0 = all (0 to
            1000000000); absent = 0
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
        maxlen: as of stream.publish (0 to 1000000000); absent = 0
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
        """Lists messages of a stream, the oldest first, without a group: nothing is taken from anybody.

        stream: the stream
        after: only those after this message: next of the answer before
        start: where to begin without after: first = with the oldest message; new = with those that are published from now on, so that
            this call lists none; absent = first
        count: how many at most; fewer come if together they pass 512 KiB (1 to 256); absent = 20
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
        ids: the dead letters, at most 256
        count: in place of ids: so many, the oldest first (0 to 256); absent = 0
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
        """Counts the messages of a stream and, of each group, what is not delivered and not acknowledged.

        stream: the stream
        group: this group alone
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
        """Has this connection sent the messages of a group as stream.message, up to prefetch that it has not acknowledged. The group is
        made if there is none.

        stream: the stream
        group: the group of consumers; each message goes to one of them. The newest subscription or fetch of a pod sets visibility_ms
            and max_deliveries for all of the group in this pod
        prefetch: how many messages this subscription may have unacknowledged (1 to 1000); absent = 16
        max_deliveries: a message that was delivered so often and not acknowledged is moved to the dead letters (1 to 1000); absent = 5
        visibility_ms: milliseconds after which a message is delivered to another consumer, unless it is acknowledged or extended (100
            to 43200000); absent = 60000
        bind: session = the sidecar extends messages while this connection lives; ttl = they last visibility_ms unless extended. Either
            way they are delivered again at once when it closes; absent = session
        start: where a group begins that is made by this: first = with the oldest message; new = with those published from now on;
            absent = first
        rule: with key: a message is delivered only when this rule admits its key. Messages of other keys pass it by; those of one key
            go one at a time, in their order. The newest subscription or fetch of a pod sets it for all of the group in this pod
        key: with rule: the field of messages that has the key, such as host. All subscriptions and fetches of a group name the same; a
            message that has no such field is moved to the dead letters
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
        dead: of its dead letters
        maxlen: keep the newest so many (0 to 1000000000)
        older_ms: delete those that were added longer ago, in milliseconds (0 to 31536000000)
        ids: delete these, at most 256
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
        """Ends a subscription. Messages that were sent stay this connection's until they are acknowledged or it closes.

        subscription: what stream.subscribe answered
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
        """Asks whether a call may be made. While the breaker is half open it hands out probes, which are to be reported.

        name: the breaker, such as a host; with pool the member
        pool: the pool whose member's breaker it is, as permit.acquire uses it
        policy: the configured policy to go by; absent = the first whose name matches the breaker's (with pool, the pool's), else the
            default
        fail_mode: what decides when Redis does not answer: closed = the call fails with UNAVAILABLE, open = it is allowed; absent = the
            policy's, open unless it says otherwise
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
        """Tells whether a breaker would let a call pass now, why not and until when, and by which policy. It takes nothing.

        name: the breaker
        pool: the pool whose member's breaker it is
        policy: the policy to go by, as for breaker.allow
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
        """Holds a breaker in a state until breaker.reset, whatever is reported.

        name: the breaker
        state: open = nothing passes; closed = everything passes and failures are counted, without effect; disabled = everything passes,
            nothing is counted
        pool: the pool whose member's breaker it is
        policy: the policy to go by, as for breaker.allow
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
        """Says in what state a breaker is, and why.

        name: the breaker
        pool: the pool whose member's breaker it is
        policy: the policy to go by, as for breaker.allow
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
        """Lists the breakers that are known, or with pool those of its members, a page at a time, in no order. What changes meanwhile may
        be missing or be there still.

        pool: the pool whose members' breakers to list; absent = breakers that are no member's
        cursor: the cursor of the page before; absent = from the start
        count: about how many to list (1 to 1000); absent = 100
        state: only those in this state; not_closed = in any but closed; absent = all
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
        """Tells what became of a call that was allowed. What was allowed in an older generation changes nothing.

        name: the breaker
        outcome: ignored = it says nothing of what is behind the breaker, such as a cancelled call or a refusal of our own; it gives a
            probe back
        pool: the pool whose member's breaker it is
        policy: the policy to go by, as for breaker.allow
        generation: the generation that allowed the call; absent or 0 = the present one, if it is closed (0 to 9007199254740991)
        probe: the probe that the call was
        duration_ms: milliseconds that the call took, for the slow rate (0 to 86400000)
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
        """Closes a breaker and forgets what it counted, a forced state too.

        name: the breaker
        pool: the pool whose member's breaker it is
        policy: the policy to go by, as for breaker.allow
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
        """Has this connection sent what happens, as notifications named event, until it ends. Again: replaces the kinds.

        kinds: the kinds of events to be sent: breaker, degraded, draining, forced, lost, paused, refused, reloaded, resumed; all when
            there are none
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
        """Ends what events.subscribe began. It is no error when nothing was.

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
        """Answers what /readyz?verbose and /livez?verbose do.

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
        """Lists the sidecars that use this Redis under the same prefix and tenant, a page at a time, in no order. One that was killed is
        listed for half a minute still.

        cursor: the cursor of the page before; absent = from the start
        count: about how many to list (1 to 1000); absent = 100
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
        """Shows what the sidecar is, has in force, holds and does now, without secrets.

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
        """Takes a lock, at once or in turn within wait_ms, or says who holds it. Repeating it with the same token answers the same grant.

        name: the lock
        ttl_ms: milliseconds until it is free again unless renewed (100 to 86400000); absent = 30000
        wait_ms: milliseconds to stand in line for it, within the call's deadline; first come, first served across all pods (0 to
            60000); absent = 0
        token: the owner's secret; made by the sidecar when absent
        wait_replicas: how many replicas of Redis must have the grant, or it is given back; for fewer second holders after a failover (0
            to 16); absent = 0
        max_hold_ms: milliseconds after which it is lost, whoever renews it; 0 = never (0 to 604800000); absent = 0
        meta: shown with the holder, such as a job's id; at most 512 bytes
        bind: session = renewed while this connection lives and released when it closes; ttl = neither; absent = session
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
        """Tells why a lock would be refused now and until when: who holds it, what keeps it held, and who stands in line. It takes nothing.

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
        """Frees a lock whoever holds it, and says who did. The owner is told that it is lost; the next one's fence is higher.

        name: the lock
        reason: for the log and the event, at most 512 bytes
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
        """Says whether a lock is held, by whom and for how long.

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
        """Lists the locks that are held, a page at a time, in no order. One that is taken or freed meanwhile may be missing or be there
        still.

        cursor: the cursor of the page before; absent = from the start
        count: about how many to list (1 to 1000); absent = 100
        state: held = all that are held; waited = only those that calls stand in line for; absent = held
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
        """Gives a lock back, if this token holds it.

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
        """Renews a lock that this token holds: it lasts so long from now on, shorter or longer. Locks bound to the session are renewed by
        the sidecar, so from then on.

        name: the lock
        token: the owner's secret
        ttl_ms: milliseconds from now until it is free again (100 to 86400000); absent = 30000
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
        """Leases the least recently used member that is free, whose breaker is not open and whose bucket has the cost: all decided and
        taken in one step.

        pool: the pool
        rule: the rule (token_bucket) of which each member has a bucket of its own; absent = no limit
        breaker: the policy of the members' breakers, default for the built-in one; absent = breakers are not asked
        cost: what is taken from the member's bucket (0 to 1000000000); absent = 1
        lease_ms: milliseconds until it is free again unless renewed (100 to 86400000); absent = 60000
        wait_ms: milliseconds to stand in line, within the call's deadline; first come, first served across all pods for the same pool,
            scope, rule and breaker (0 to 60000); absent = 0
        scope: as for pool.acquire
        exclude: members not to take, at most 100
        sticky: as for pool.acquire
        bind: session = renewed while this connection lives and given back when it closes; ttl = neither; absent = session
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
        """Tells which member permit.acquire would lease now, or why none and until when: members, their breakers, buckets and pauses, who
        holds them and who stands in line. It takes nothing.

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
        """Renews a permit: it lasts so long from now on, shorter or longer. Those bound to the session are renewed by the sidecar, so from
        then on.

        pool: the pool
        lease: what permit.acquire answered
        lease_ms: milliseconds from now until it is free again (100 to 86400000); absent = 60000
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
        """Gives a permit's member back and tells its breaker, its cooldown and its pause how the work went, in one step.

        pool: the pool
        lease: what permit.acquire answered
        outcome: as of pool.release; to the breaker ok is a success, cancelled is ignored, and all else is a failure; absent = ok
        status: the HTTP status: one of the rule's penalty.codes pauses the member (0 to 999)
        retry_after_ms: milliseconds the server asks to stay away; 0 or less, such as for a date that has passed = it asks for no pause;
            absent = it did not say. The Go client leaves a 0 out: there it is -1 (-31622400000 to 31622400000)
        duration_ms: milliseconds that the work took, for the breaker's slow rate (0 to 86400000)
        cooldown_ms: milliseconds to cool down in the scope at least, whatever the outcome (0 to 604800000)
        unban_after_ms: milliseconds that a ban by this call lasts; absent or 0 = until pool.unban (0 to 31622400000)
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
        lease_ms: milliseconds until it is free again unless renewed (100 to 86400000); absent = 60000
        wait_ms: milliseconds to stand in line, within the call's deadline; first come, first served across all pods (0 to 60000);
            absent = 0
        scope: what it is used for, such as a host: least recent use and cooldowns are of each scope alone
        exclude: members not to take, at most 100
        sticky: who comes back: in its turn the same name gets the same member again, if that can be had then
        bind: session = renewed while this connection lives and given back when it closes; ttl = neither; absent = session
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
        """Takes a member out of use, for a time or until pool.unban. Who has it keeps it until it is given back.

        pool: the pool
        id: the member
        for_ms: milliseconds that it lasts; absent or 0 = until pool.unban (0 to 31622400000)
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
        """Tells which member pool.acquire would lease now, or why none and until when: what keeps each member, who holds them and who
        stands in line. It takes nothing.

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
        """Lists the members of a pool and their states, a page at a time, in the order in which they came.

        pool: the pool
        scope: whose use and cooldowns to show
        cursor: the cursor of the page before; absent = from the start
        count: how many to list (1 to 1000); absent = 100
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
        """Lists the pools that have members, and counts these, a page at a time, in no order. What changes meanwhile may be missing or be
        there still.

        cursor: the cursor of the page before; absent = from the start
        count: about how many to list (1 to 1000); absent = 100
        state: exhausted = only those without a free member; waited = only those that calls stand in line for; absent = all
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
        """Adds members to a pool, and replaces the meta of those that are there; these keep their state, bans included.

        pool: the pool; the first member makes it, and at most 10000 are in one
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
        """Gives a member back and says how it did.

        pool: the pool
        lease: what pool.acquire answered
        outcome: ok = forgets failures; cancelled = says nothing of the member, as when it was not used; ban = banned; the others cool
            down, longer with each in a row; see docs/pool.md; absent = ok
        cooldown_ms: milliseconds to cool down in the scope at least, whatever the outcome (0 to 604800000)
        unban_after_ms: milliseconds that a ban by this call lasts; absent or 0 = until pool.unban (0 to 31622400000)
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
        """Removes members from a pool, and forgets their state. Who has one is told when it renews.

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
        """Renews the lease of a member: it lasts so long from now on, shorter or longer. Those bound to the session are renewed by the
        sidecar, so from then on.

        pool: the pool
        lease: what pool.acquire answered
        lease_ms: milliseconds from now until it is free again (100 to 86400000); absent = 60000
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
        """Counts the members of a pool: live, cooling, banned and free ones are all there are.

        pool: the pool
        scope: whose cooldowns count
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
        """Lifts the ban of a member, and forgets its failures and cooldowns.

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
        """Sends a message to those who are subscribed to a channel now. It is not kept.

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
        """Has this connection sent the messages of channels as pubsub.message, at most once each. It answers once Redis has confirmed.

        channels: channels, at most 256 of both together
        patterns: patterns of channels as of Redis: * ? [ab] and a backslash before what stands for itself
        buffer: how many messages are kept while this connection is not read; those that come then are dropped and told by pubsub.gap (1
            to 100000); absent = 1000
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

        subscription: what pubsub.subscribe answered
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
        """Ends the lease of an entry that was dealt with: it does not come back.

        queue: the queue
        lease: what queue.dequeue answered
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
        """Takes an entry out of the queue, unless someone has it.

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
        """Takes the first entry of a queue that has not expired, at once or in turn within wait_ms. With lease_ms it comes back to the head
        unless it is acknowledged.

        queue: the queue
        wait_ms: milliseconds to wait for an entry, within the call's deadline; first come, first served across all pods (0 to 60000);
            absent = 0
        lease_ms: milliseconds in which it is to be acknowledged, at least 100; 0 = it is gone from the queue at once (0 to 86400000);
            absent = 0
        bind: of the lease: ttl = it lasts lease_ms unless renewed; session = it is renewed while this connection lives, and the entry
            is back at the head when it closes; absent = ttl
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
        """Puts an entry at the end of a queue, or answers where the entry of that id is.

        queue: the queue
        id: the entry; the same id is in a queue once
        ttl_ms: milliseconds until it expires if nobody takes it; while it is leased it does not (1 to 2592000000); absent = 60000
        body: any bytes, at most 256 KiB, given to who takes it
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
        """Lists the queues that have entries or that calls wait at, a page at a time, in no order. What changes meanwhile may be missing or
        be there still.

        cursor: the cursor of the page before; absent = from the start
        count: about how many to list (1 to 1000); absent = 100
        state: entries = only those in which entries wait to be taken; leased = only those of which someone has entries; empty = only
            those in which none waits; absent = all
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
        """Says where an entry stands.

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
        """Ends the lease of an entry that was not dealt with: it is at the head again at once.

        queue: the queue
        lease: what queue.dequeue answered
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
        """Renews the lease of an entry: it lasts so long from now on, shorter or longer. Those bound to the session are renewed by the
        sidecar, so from then on.

        queue: the queue
        lease: what queue.dequeue answered
        lease_ms: milliseconds from now until it comes back (100 to 86400000)
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
        """Counts the entries of a queue, and who waits for one.

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
        """Takes cost from every band of a limit, all or none, or says when it may succeed.

        key: whom or what the limit counts, such as a host or an account
        rule: the rule's name; or give algorithm and limits
        algorithm: the algorithm of a limit given in full
        limits: the bands of a limit given in full, 1 to 4; with other bands it is another limit, which shares nothing with this one but
            pauses and delays of the key
        group: counts in place of the key, for all keys of the group together; absent = the rule's group of the key, or none
        pool: the pool whose member the key names: its bucket under the rule and its pause, as permits use them; takes no group,
            wait_ms, algorithm or limits
        cost: how much to take; 0 takes nothing, as ratelimit.peek. The Go client leaves a 0 out, so that it takes 1: look with
            RatelimitPeek (0 to 1000000000); absent = 1
        wait_ms: milliseconds the call may wait for a slot, first come first served; further away it is refused at once; ratelimit.peek
            never waits; sliding_window_counter takes none (0 to 60000)
        fail_mode: what decides when Redis does not answer: closed = the call fails with UNAVAILABLE, open = it is allowed, local = this
            sidecar alone limits it; absent = the rule's, open unless it says otherwise
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
        """Takes cost for the first of several keys that may go now, or says which may go soonest.

        keys: 1 to 100 keys, the preferred first
        rule: the rule's name; or give algorithm and limits
        algorithm: the algorithm of a limit given in full
        limits: the bands of a limit given in full, 1 to 4
        cost: how much to take (0 to 1000000000); absent = 1
        fail_mode: what decides when Redis does not answer
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
        """Takes from many limits in one round trip. With atomic takes all or none; then the items share one rule and one group.

        items: 1 to 100 acquisitions, each as ratelimit.acquire without wait_ms
        atomic: all or none: the items have one rule and one group, and none is refused alone
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
        """Removes a rule that ratelimit.put_rule put. Rules of files stay.

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
        """Frees the place of a grant under a rule with max_concurrent. What it took stays taken.

        grant: the grant, as ratelimit.acquire told it
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
        """Tells all there is to know of a limit and a key: the rule and override that count, each band, pause, delay, and who holds places.

        key: the key
        rule: the rule's name; or give algorithm and limits
        algorithm: the algorithm of a limit given in full
        limits: the bands of a limit given in full, 1 to 4
        group: the group that counts in its place
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
        """Refuses a key for a time, in every sidecar. Of several pauses the longest counts.

        key: the key
        rule: the rule's name; absent for limits given in full
        group: the group that counts in its place
        for_ms: milliseconds from now; or give until_at_ms (0 to 31622400000)
        until_at_ms: the instant it ends, by the Redis server's clock, Unix milliseconds, within 366 days (at least 0)
        reason: for people
        pool: the pool whose member the key names: it is paused for permits, whatever the rule
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
        """Answers what ratelimit.acquire would, and takes nothing.

        key: whom or what the limit counts, such as a host or an account
        rule: the rule's name; or give algorithm and limits
        algorithm: the algorithm of a limit given in full
        limits: the bands of a limit given in full, 1 to 4; with other bands it is another limit, which shares nothing with this one but
            pauses and delays of the key
        group: counts in place of the key, for all keys of the group together; absent = the rule's group of the key, or none
        pool: the pool whose member the key names: its bucket under the rule and its pause, as permits use them; takes no group,
            wait_ms, algorithm or limits
        cost: how much to take; 0 takes nothing, as ratelimit.peek. The Go client leaves a 0 out, so that it takes 1: look with
            RatelimitPeek (0 to 1000000000); absent = 1
        wait_ms: milliseconds the call may wait for a slot, first come first served; further away it is refused at once; ratelimit.peek
            never waits; sliding_window_counter takes none (0 to 60000)
        fail_mode: what decides when Redis does not answer: closed = the call fails with UNAVAILABLE, open = it is allowed, local = this
            sidecar alone limits it; absent = the rule's, open unless it says otherwise
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
        """Keeps a rule in Redis, for every sidecar, at once or a second later. A rule of the same name there is replaced.

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
        """Gives back what a grant took and was not used for, once, up to what the limit holds. What was used and refunded counts as
        admitted.

        grant: the grant, as ratelimit.acquire told it
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
        """Tells how the remote server answered. A status among the rule's penalty codes pauses the key for everyone. Frees the grant's
        place.

        key: whom or what the limit counts
        status: the HTTP status that came back (100 to 999)
        rule: the rule's name; absent for limits given in full
        group: the group that counts in its place
        grant: the grant that the request went out with; its place is freed
        latency_ms: milliseconds that the answer took, for metrics (0 to 86400000)
        retry_after_ms: milliseconds the server asks to stay away; 0 or less, such as for a date that has passed = it asks for no pause;
            absent = it did not say. The Go client leaves a 0 out: there it is -1 (-31622400000 to 31622400000)
        pool: the pool whose member the key names: the member is paused for permits
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
        """Forgets what was taken from a limit under one key.

        key: the key to forget
        rule: the rule's name; or give algorithm and limits
        algorithm: the algorithm of a limit given in full
        limits: the bands of a limit given in full, 1 to 4
        group: the group that counts in its place
        pool: the pool whose member the key names: its bucket under the rule is forgotten
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
        rule: the rule's name; absent for limits given in full
        group: the group that counts in its place
        pool: the pool whose member the key names
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
        """Lists the rules in force in this sidecar, and those that another one of the same name hides.

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
        """Keeps a time between any two admissions of a key, such as a crawl-delay. Of several sources the slowest counts.

        key: the key
        rule: the rule's name; absent for limits given in full
        group: the group that counts in its place
        delay_ms: milliseconds from one admission to the next, at most the rule's max_delay_ms; 0 = this source asks for none (0 to
            86400000)
        ttl_ms: milliseconds until this source's word is forgotten (1 to 31622400000); absent = 86400000
        source: who says so, such as robots; each has one word; absent = robots
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
        """Counts the decisions of this sidecar since it started, for each rule.

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
        """Says that what was reserved is done: for keep_ms no one else does it.

        set: the set
        key: the key
        token: what seen.reserve answered
        keep_ms: milliseconds to remember it, at most 366 days (1 to 31622400000); absent = 86400000
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
        """Gives a reservation up: the next one who asks does it.

        set: the set
        key: the key
        token: what seen.reserve answered
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
        """Reserves a key of a set to do something once, such as fetching a URL, or says that it is done or under way.

        set: the set
        key: what is to be done once, such as a URL or its hash
        ttl_ms: milliseconds until the reservation ends unless renewed or committed (100 to 86400000); absent = 30000
        bind: session = renewed while this connection lives and given up when it closes; ttl = neither; absent = session
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
        """Takes permits of a semaphore, all or none, at once or in turn within wait_ms. Repeating it with the same token answers the same
        grant.

        name: the semaphore
        limit: how many permits it has; each call goes by its own limit, so give the same everywhere (1 to 10000)
        permits: how many to take, at most limit (1 to 10000); absent = 1
        ttl_ms: milliseconds until they are free again unless renewed (100 to 86400000); absent = 30000
        wait_ms: milliseconds to stand in line for them, within the call's deadline; first come, first served across all pods, and
            nobody passes who asks for many (0 to 60000); absent = 0
        token: the owner's secret; made by the sidecar when absent
        wait_replicas: how many replicas of Redis must have the grant, or it is given back (0 to 16); absent = 0
        max_hold_ms: milliseconds after which they are lost, whoever renews them; 0 = never (0 to 604800000); absent = 0
        meta: shown with the holder; at most 512 bytes
        bind: session = renewed while this connection lives and released when it closes; ttl = neither; absent = session
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
        """Says how many permits are held, and by whom.

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
        """Lists the semaphores of which permits are held or waited for, a page at a time, in no order. What changes meanwhile may be
        missing or be there still.

        cursor: the cursor of the page before; absent = from the start
        count: about how many to list (1 to 1000); absent = 100
        state: held = only those of which permits are held; waited = only those that calls stand in line for; absent = both
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
        """Gives the permits of this token back, and nobody else's.

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
        """Renews the permits of this token: they last so long from now on, shorter or longer. Those bound to the session are renewed by the
        sidecar, so from then on.

        name: the semaphore
        token: the owner's secret
        ttl_ms: milliseconds from now until they are free again (100 to 86400000); absent = 30000
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
        """Tells every client that holds or follows something that the pod ends (session.draining). Calls go on.

        deadline_ms: milliseconds until the pod is killed; a later call changes nothing (1 to 86400000); absent = 30000
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
        """Introduces the client and learns what the sidecar is and allows. Optional.

        client: the client program or library
        version: its version
        instance: which one it is, such as the pod and the process
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
        """Answers at once, without Redis.

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
        """Ends the delivery of a message that was dealt with: the group is not given it again.

        stream: the stream
        group: the group
        id: the message
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
        count: how many at most; fewer come if together they pass 512 KiB (1 to 256); absent = 20
        after: only those after this one: next of the answer before
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
        """Starts the visibility timeout of a message again. Those bound to the session are extended by the sidecar.

        stream: the stream
        group: the group
        id: the message
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
        """Takes messages of a group, at once or within wait_ms. The group is made if there is none.

        stream: the stream
        group: the group of consumers
        count: how many messages at most; fewer come if together they pass 512 KiB (1 to 256); absent = 1
        wait_ms: milliseconds to wait for the first, within the call's deadline (0 to 60000); absent = 0
        max_deliveries: as of stream.subscribe (1 to 1000); absent = 5
        visibility_ms: as of stream.subscribe (100 to 43200000); absent = 60000
        bind: as of stream.subscribe; with ttl messages also outlive this connection; absent = session
        start: as of stream.subscribe; absent = first
        rule: as of stream.subscribe
        key: as of stream.subscribe
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
        """Lists the streams that there are, with what their groups are behind, a page at a time, in no order. What changes meanwhile may be
        missing or be there still.

        cursor: the cursor of the page before; absent = from the start
        count: about how many to list (1 to 1000); absent = 100
        state: behind = only those with a group that has messages left to be given or acknowledged; dead = only those with dead letters;
            absent = all
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
        """Ends the delivery of a message that was not dealt with: it is delivered again after delay_ms, or moved to the dead letters after
        its last attempt.

        stream: the stream
        group: the group
        id: the message
        delay_ms: milliseconds until it is delivered again; -1 = 1 s after the first attempt, doubled with each, at most 5 min (-1 to
            86400000); absent = -1
        dead: it is moved to the dead letters at once
        reason: why, for the dead letter
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
        """Adds a message to the end of a stream, or later with delay_ms.

        stream: the stream
        body: any bytes, at most 256 KiB
        fields: texts by name, at most 256 KiB together, beside the body or in its place
        dedupe_id: a message with the same one, published within dedupe_ms before, is not published again
        dedupe_ms: milliseconds for which dedupe_id is remembered (1000 to 86400000); absent = 300000
        delay_ms: milliseconds until it is added to the stream (0 to 2592000000); absent = 0
        maxlen: about how many messages the stream keeps, the newest, when this one is added; a few more may stay; 0 = all (0 to
            1000000000); absent = 0
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
        maxlen: as of stream.publish (0 to 1000000000); absent = 0
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
        """Lists messages of a stream, the oldest first, without a group: nothing is taken from anybody.

        stream: the stream
        after: only those after this message: next of the answer before
        start: where to begin without after: first = with the oldest message; new = with those that are published from now on, so that
            this call lists none; absent = first
        count: how many at most; fewer come if together they pass 512 KiB (1 to 256); absent = 20
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
        ids: the dead letters, at most 256
        count: in place of ids: so many, the oldest first (0 to 256); absent = 0
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
        """Counts the messages of a stream and, of each group, what is not delivered and not acknowledged.

        stream: the stream
        group: this group alone
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
        """Has this connection sent the messages of a group as stream.message, up to prefetch that it has not acknowledged. The group is
        made if there is none.

        stream: the stream
        group: the group of consumers; each message goes to one of them. The newest subscription or fetch of a pod sets visibility_ms
            and max_deliveries for all of the group in this pod
        prefetch: how many messages this subscription may have unacknowledged (1 to 1000); absent = 16
        max_deliveries: a message that was delivered so often and not acknowledged is moved to the dead letters (1 to 1000); absent = 5
        visibility_ms: milliseconds after which a message is delivered to another consumer, unless it is acknowledged or extended (100
            to 43200000); absent = 60000
        bind: session = the sidecar extends messages while this connection lives; ttl = they last visibility_ms unless extended. Either
            way they are delivered again at once when it closes; absent = session
        start: where a group begins that is made by this: first = with the oldest message; new = with those published from now on;
            absent = first
        rule: with key: a message is delivered only when this rule admits its key. Messages of other keys pass it by; those of one key
            go one at a time, in their order. The newest subscription or fetch of a pod sets it for all of the group in this pod
        key: with rule: the field of messages that has the key, such as host. All subscriptions and fetches of a group name the same; a
            message that has no such field is moved to the dead letters
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
        dead: of its dead letters
        maxlen: keep the newest so many (0 to 1000000000)
        older_ms: delete those that were added longer ago, in milliseconds (0 to 31536000000)
        ids: delete these, at most 256
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
        """Ends a subscription. Messages that were sent stay this connection's until they are acknowledged or it closes.

        subscription: what stream.subscribe answered
        deadline: seconds for the call; absent = the client's, and wait_ms
        """
        params: dict[str, Any] = {"subscription": subscription}
        result: Coroutine[Any, Any, StreamUnsubscribeResult] = self._call("stream.unsubscribe", params, deadline)
        return result
