# Written by `go run ./hack/clientgen` from client/api. Do not edit.
"""The maps of the protocol, by the names that the contract gives them: results, events, and what calls take as lists."""

from __future__ import annotations

from typing import Any, Literal, NotRequired, TypedDict


class Band(TypedDict):
    # how many per period; of sliding_window_log at most 10000
    limit: int
    # the period in milliseconds, at most 366 days
    period_ms: int
    # how many at once, of token_bucket and leaky_bucket; absent or 0 = limit for token_bucket, 1 for leaky_bucket
    burst: NotRequired[int]


class BreakerAllowParams(TypedDict):
    # the breaker, such as a host; with pool the member
    name: str
    # the pool whose member's breaker it is, as permit.acquire uses it
    pool: NotRequired[str]
    # the configured policy to go by; absent = the first whose name matches the breaker's (with pool, the pool's), else the default
    policy: NotRequired[str]
    # what decides when Redis does not answer: closed = the call fails with UNAVAILABLE, open = it is allowed; absent = the policy's, open
    # unless it says otherwise
    fail_mode: NotRequired[Literal["closed", "open"]]


class BreakerAllowResult(TypedDict):
    # the call may be made, and is to be reported
    allowed: bool
    # the breaker's state
    state: Literal["closed", "open", "half_open", "forced_open", "forced_closed", "disabled"]
    # rises with every change of state; give it to breaker.report
    generation: int
    # the probe that this call is, while half open: give it to breaker.report. It is lost after the policy's probe_ttl_ms, or with this
    # connection
    probe: NotRequired[str]
    # 0 when allowed; else milliseconds until a probe may pass, rounded up; -1 = it is forced open
    retry_after_ms: int
    # the answer came from the fail mode, since Redis did not answer
    degraded: bool
    # the fail mode answered after a failure that leaves it unknown whether a probe is out, too
    maybe_executed: NotRequired[bool]
    # where the decision was made; cache = it was open less than a second ago and still is; local = the fail mode
    source: Literal["redis", "cache", "local"]
    # the reply of an earlier call with the same request id
    replayed: NotRequired[bool]


class BreakerChangeResult(TypedDict):
    # its state
    state: Literal["closed", "open", "half_open", "forced_open", "forced_closed", "disabled"]
    # its generation
    generation: int
    # this call changed it
    changed: bool


class BreakerExplainResult(TypedDict):
    # what breaker.allow would answer now: allowed; probe = allowed, as a probe; open; half_open = as many probes are out as may be;
    # forced_open
    decision: Literal["allowed", "probe", "open", "half_open", "forced_open"]
    # 0 when a call may pass; else milliseconds until one may, rounded up; -1 = not before breaker.reset
    retry_after_ms: int
    # the same as a sentence for people
    text: str
    # its state
    state: Literal["closed", "open", "half_open", "forced_open", "forced_closed", "disabled"]
    # rises with every change of state
    generation: int
    # when its state last changed, by the Redis server's clock, Unix milliseconds; 0 = never, or it is forgotten
    changed_at_ms: NotRequired[int]
    # failures in a row while closed
    failures: int
    # successes of probes while half open
    successes: int
    # how often in a row it opened
    opened: int
    # milliseconds that it would be open the next time, give or take 5 %
    next_open_ms: int
    # probes that are out now
    probes: int
    # how many may be out at once, while half open
    most_probes: int
    # milliseconds until the first of them is lost unless it is reported, rounded up
    probe_left_ms: NotRequired[int]
    # calls in the rolling window, if the policy has one
    window_calls: NotRequired[int]
    # failures among them
    window_failed: NotRequired[int]
    # slow ones among them
    window_slow: NotRequired[int]
    # the policy that it goes by, default when none is configured for it
    policy: str
    # why it is this one: given = the call names it; name = it is the first that matches the breaker's name, with pool the pool's; default =
    # none does
    policy_from: Literal["given", "name", "default"]
    # the policy, with the defaults of what it does not set
    settings: BreakerPolicy


class BreakerForceParams(TypedDict):
    # the breaker
    name: str
    # the pool whose member's breaker it is
    pool: NotRequired[str]
    # the policy to go by, as for breaker.allow
    policy: NotRequired[str]
    # open = nothing passes; closed = everything passes and failures are counted, without effect; disabled = everything passes, nothing is
    # counted
    state: Literal["open", "closed", "disabled"]


class BreakerGetResult(TypedDict):
    # its state
    state: Literal["closed", "open", "half_open", "forced_open", "forced_closed", "disabled"]
    # rises with every change of state
    generation: int
    # the policy that it goes by, default when none is configured for it
    policy: str
    # failures in a row while closed
    failures: int
    # successes of probes while half open
    successes: int
    # probes that are out now
    probes: int
    # milliseconds until a probe may pass; 0 when one may, or it is not open
    open_for_ms: NotRequired[int]
    # how often in a row it opened, which is how often its time doubled
    opened: int
    # calls in the rolling window, if the policy has one
    window_calls: NotRequired[int]
    # failures among them
    window_failed: NotRequired[int]
    # slow ones among them
    window_slow: NotRequired[int]
    # when its state last changed, by the Redis server's clock, Unix milliseconds; 0 = never, or it is forgotten
    changed_at_ms: NotRequired[int]
    # when it was forced, Unix milliseconds; 0 = it is not
    forced_at_ms: NotRequired[int]


class BreakerListParams(TypedDict):
    # the pool whose members' breakers to list; absent = breakers that are no member's
    pool: NotRequired[str]
    # the cursor of the page before; absent = from the start
    cursor: NotRequired[str]
    # about how many to list
    count: NotRequired[int]
    # only those in this state; not_closed = in any but closed; absent = all
    state: NotRequired[Literal["closed", "open", "half_open", "forced_open", "forced_closed", "disabled", "not_closed"]]


class BreakerListResult(TypedDict):
    # those of this page; it may have none and not be the last
    breakers: list[BreakerListed]
    # where the next page begins; absent = this was the last
    cursor: NotRequired[str]


class BreakerListed(TypedDict):
    # the breaker; with pool the member
    name: str
    # its state
    state: Literal["closed", "open", "half_open", "forced_open", "forced_closed", "disabled"]
    # the policy that it goes by where a call names none
    policy: str
    # failures in a row while closed
    failures: int
    # successes of probes while half open
    successes: int
    # probes that are out now
    probes: int
    # milliseconds until a probe may pass; 0 when one may, or it is not open
    open_for_ms: int
    # how often in a row it opened
    opened: int
    # calls in the rolling window, if the policy has one
    window_calls: NotRequired[int]
    # failures among them
    window_failed: NotRequired[int]
    # slow ones among them
    window_slow: NotRequired[int]
    # when its state last changed, by the Redis server's clock, Unix milliseconds; 0 = never, or it is forgotten
    changed_at_ms: int


class BreakerParams(TypedDict):
    # the breaker
    name: str
    # the pool whose member's breaker it is
    pool: NotRequired[str]
    # the policy to go by, as for breaker.allow
    policy: NotRequired[str]


class BreakerPolicy(TypedDict):
    # the breaker that it is for (with a pool, the pool), or a glob of them
    name: str
    # failures in a row that open it; absent = 3
    failure_threshold: NotRequired[int]
    # successes of probes that close it; absent = 3
    success_threshold: NotRequired[int]
    # milliseconds that it stays open, twice as long each time in a row; absent = 600000
    open_ms: NotRequired[int]
    # the most milliseconds that it stays open; absent = an hour, or open_ms if that is longer
    open_max_ms: NotRequired[int]
    # how many probes are out at once; absent = success_threshold
    half_open_max: NotRequired[int]
    # milliseconds after which a probe that nobody reports on is lost; absent = a minute
    probe_ttl_ms: NotRequired[int]
    # a rolling window of calls, whose rates open it too; absent = none
    window: NotRequired[BreakerWindow]
    # what decides when Redis does not answer; absent = open
    fail_mode: NotRequired[Literal["closed", "open"]]


class BreakerReportParams(TypedDict):
    # the breaker
    name: str
    # the pool whose member's breaker it is
    pool: NotRequired[str]
    # the policy to go by, as for breaker.allow
    policy: NotRequired[str]
    # the generation that allowed the call; absent or 0 = the present one, if it is closed
    generation: NotRequired[int]
    # the probe that the call was
    probe: NotRequired[str]
    # ignored = it says nothing of what is behind the breaker, such as a cancelled call or a refusal of our own; it gives a probe back
    outcome: Literal["success", "failure", "ignored"]
    # milliseconds that the call took, for the slow rate
    duration_ms: NotRequired[int]


class BreakerReportResult(TypedDict):
    # the breaker's state
    state: Literal["closed", "open", "half_open", "forced_open", "forced_closed", "disabled"]
    # its generation
    generation: int
    # this report changed the state
    changed: bool
    # it counted: it is of the present generation, its probe was not lost, and its outcome is not ignored
    counted: bool
    # the reply of an earlier call with the same request id
    replayed: NotRequired[bool]


class BreakerWindow(TypedDict):
    # its length in milliseconds
    window_ms: int
    # fewer calls say nothing; absent = 10
    min_calls: NotRequired[int]
    # the percent of failures that opens it; absent = they do not
    failure_rate: NotRequired[int]
    # milliseconds from which on a call is slow
    slow_ms: NotRequired[int]
    # the percent of slow calls that opens it; absent = they do not
    slow_rate: NotRequired[int]


class DescribeParams(TypedDict):
    # the method's name
    method: str


class DrainParams(TypedDict):
    # milliseconds until the pod is killed; a later call changes nothing
    deadline_ms: NotRequired[int]


class DrainResult(TypedDict):
    # always true
    draining: bool
    # when the pod is killed, Unix milliseconds by the pod's clock, as first told
    deadline_at_ms: int
    # connections open now, this one included
    connections: int


class DrainingParams(TypedDict):
    # when the pod is killed, Unix milliseconds by the pod's clock
    deadline_at_ms: int


class EventParams(TypedDict):
    # breaker = a circuit breaker changed its state; degraded = a fail mode decided; draining = the pod ends; forced = a lock was taken from
    # its holder by hand; lost = a lease was lost; paused = a key was paused; refused = a limit refused; reloaded = the configuration was
    # read again; resumed = a pause was ended. Others may be added
    kind: str
    # when, Unix milliseconds by the pod's clock
    at_ms: int
    # what it is about, such as ratelimit or lock; absent for the sidecar itself
    noun: NotRequired[str]
    # the rule, the lock, ...
    name: NotRequired[str]
    # whom a limit counts; of one of those that it stands for
    key: NotRequired[str]
    # why, in one word
    reason: NotRequired[str]
    # for people
    detail: NotRequired[str]
    # how many alike it stands for, itself included; those after the last one of a burst are told with the next, or never
    count: int
    # how many before it were not sent, since this connection is read too slowly
    dropped: NotRequired[int]


class EventsSubscribeParams(TypedDict):
    # the kinds of events to be sent: breaker, degraded, draining, forced, lost, paused, refused, reloaded, resumed; all when there are none
    kinds: NotRequired[list[str]]


class EventsSubscribeResult(TypedDict):
    # the kinds of events that are sent from now on, sorted
    subscribed: list[str]


class ExplainBand(TypedDict):
    # limit/period, such as 80/10m
    band: str
    # the limit per period
    limit: int
    # how many at once, of token_bucket and leaky_bucket
    burst: NotRequired[int]
    # what could be taken at once now, rounded down
    remaining: int
    # what counts now, rounded up; past the limit it is promised
    current: int
    # milliseconds until it is as if unused, rounded up
    reset_after_ms: int


class ExplainBlock(TypedDict):
    # what is left of it
    tokens: int
    # milliseconds until the last of it lapses, rounded up
    left_ms: int


class ExplainDelay(TypedDict):
    # milliseconds from one admission to the next
    delay_ms: int
    # whose word it is
    source: str
    # when it is forgotten, Unix milliseconds
    until_at_ms: int
    # milliseconds until the next may go, rounded up
    next_after_ms: int


class ExplainHolder(TypedDict):
    # the client program, by its session.hello
    client: str
    # which one it is
    instance: str
    # since when, Unix milliseconds
    since_at_ms: int
    # milliseconds until it ends unless it is renewed, rounded up
    left_ms: int


class ExplainLine(TypedDict):
    # the sidecar, as inspect.sidecars lists it
    sidecar: str
    # how many of its calls stand in line
    waiting: int
    # milliseconds for which its places are kept unless it shows that it lives, rounded up; 0 = it seems dead, and is passed over
    left_ms: int


class ExplainPause(TypedDict):
    # when it ends, Unix milliseconds
    until_at_ms: int
    # milliseconds until then, rounded up
    left_ms: int
    # for people; a penalty's is the status
    reason: str


class ExplainPenalty(TypedDict):
    # how many pauses in a row; the next one is twice as long
    level: int
    # milliseconds until it is forgotten if none comes, rounded up
    forgiven_after_ms: int


class ExplainReason(TypedDict):
    # what keeps them, as decision says it
    reason: Literal["busy", "cooling", "banned", "open", "limit", "pause"]
    # how many it keeps
    members: int
    # the one of them that may be had first
    id: str
    # milliseconds until then, rounded up; -1 = never, as things are
    after_ms: int


class FieldDescription(TypedDict):
    # the key
    name: str
    # int, str, bool, bin, map, list or any
    type: str
    # params: it must be there; result: it always is
    required: bool
    # the value of an absent key, as text
    default: NotRequired[str]
    # the smallest int, where it is bounded
    min: NotRequired[int]
    # the largest int, where it is bounded
    max: NotRequired[int]
    # the allowed values
    enum: NotRequired[list[str]]
    # the keys of the map, or of the maps in the list
    fields: NotRequired[list[FieldDescription]]
    # what it is, with its unit
    doc: str


class Group(TypedDict):
    # as of allow
    exact: NotRequired[str]
    # as of allow
    glob: NotRequired[str]
    # as of allow
    suffix: NotRequired[str]
    # what counts in place of the key; absent = the suffix, which is then given
    name: NotRequired[str]


class HealthCheck(TypedDict):
    # the check
    name: str
    # it passed
    ok: bool
    # what was found, and the remedy when it failed
    detail: str
    # what is wrong, where that is known: as sidecar doctor says it
    cause: NotRequired[str]
    # what to do about it
    fix: NotRequired[str]
    # where that is explained: a page with its section
    docs: NotRequired[str]


class HealthResult(TypedDict):
    # the process and its socket answer
    live: bool
    # it can decide: Redis answers, scripts are loaded, rules are in force
    ready: bool
    # it is ready because readiness.mode is always, and cannot decide: the checks say why
    degraded: bool
    # standalone, sentinel, cluster or embedded
    store: str
    # each check, sorted by name
    checks: list[HealthCheck]


class HelloParams(TypedDict):
    # the client program or library
    client: NotRequired[str]
    # its version
    version: NotRequired[str]
    # which one it is, such as the pod and the process
    instance: NotRequired[str]
    # the form of errors on this connection: list = [kind, text], map = {code, message, retryable, retry_after_ms?, details?}
    errors: NotRequired[Literal["list", "map"]]


class HelloResult(TypedDict):
    # the server's name, coxswain
    server: str
    # the sidecar's version
    version: str
    # the version of this protocol
    protocol: int
    # the id of this connection
    session: str
    # what the sidecar accepts on a connection
    limits: Limits
    # the names of all methods, sorted
    methods: list[str]
    # the pod's clock, Unix milliseconds
    now_at_ms: int


class Holder(TypedDict):
    # the client program
    client: str
    # which one it is
    instance: str
    # since when, by the Redis server's clock, Unix milliseconds
    since_at_ms: int
    # what it said of itself when it acquired
    meta: NotRequired[str]


class InspectChannel(TypedDict):
    # the channel
    channel: NotRequired[str]
    # in its place: the pattern of channels
    pattern: NotRequired[str]
    # subscriptions to it here
    subscriptions: int
    # Redis has confirmed it on the connection that there is now
    listening: bool


class InspectCounts(TypedDict):
    # connections, this one included
    connections: int
    # calls in flight, this one and those that wait included
    inflight: int
    # calls with wait_ms among them
    waiting: int
    # leases that sessions hold
    held: int


class InspectError(TypedDict):
    # the error's code
    code: str
    # the method that was called
    method: str
    # when, Unix milliseconds by the pod's clock
    at_ms: int
    # the text that the client was told; the sidecar's log has the cause
    text: str


class InspectHeld(TypedDict):
    # lock, ...
    noun: str
    # the lock, ...
    name: str
    # for how many milliseconds it is valid unless it is renewed
    ttl_ms: int
    # its fence, a decimal number
    fence: NotRequired[str]


class InspectPool(TypedDict):
    # connections open now
    open: int
    # those that nobody uses
    idle: int
    # the most there may be (redis.pool.max)
    max: int


class InspectProbe(TypedDict):
    # when, Unix milliseconds by the pod's clock
    at_ms: int
    # the store answered
    up: bool
    # the round trip in microseconds, the longest if there were several; where it is not up the last one that there was
    rtt_us: int


class InspectRedis(TypedDict):
    # what kind of store it is, such as standalone or embedded
    topology: str
    # where, without credentials
    address: str
    # it answers
    up: bool
    # why it is not up, or what it refuses calls with
    error: NotRequired[str]
    # the name of that, such as oom or refused
    trouble: NotRequired[str]
    # the last probe's round trip, in microseconds
    rtt_us: int
    # the memory that it says it uses, in bytes
    memory_bytes: int
    # the connections to it
    pool: InspectPool
    # the results of the last 300 seconds in which it was probed, the latest first
    history: list[InspectProbe]


class InspectRefusals(TypedDict):
    # since when they are counted, Unix milliseconds by the pod's clock: between five and ten minutes ago, or later if the sidecar started
    # later or refused nothing for ten minutes
    since_at_ms: int
    # those that were refused most, at most 100, in this order
    keys: list[InspectRefused]


class InspectRefused(TypedDict):
    # the rule; inline = limits given in full
    rule: str
    # the key
    key: str
    # how often it was refused
    refused: int
    # by how much that may be wrong, since only 256 keys are counted at a time; 0 = it is exact
    off_by: int
    # why it was refused last, such as limit or pause
    reason: str


class InspectResult(TypedDict):
    # the sidecar's version
    version: str
    # its process id
    pid: int
    # since when it serves, Unix milliseconds by the pod's clock
    started_at_ms: int
    # for how many milliseconds
    uptime_ms: int
    # the pod ends
    draining: bool
    # when, if it is draining, Unix milliseconds by the pod's clock
    ends_at_ms: NotRequired[int]
    # the configuration in force as YAML, secrets masked, as sidecar config print shows it; at most 256 KiB
    config: str
    # the rules in force, sorted by name, at most 1,000
    rules: list[InspectRule]
    # how many more rules there are
    truncated_rules: int
    # the connections, the oldest first
    sessions: list[InspectSession]
    # how many leases more than the 1,000 that are listed sessions hold
    truncated: int
    # the groups of consumers that this sidecar takes part in, sorted by stream and group, at most 256
    stream_groups: list[InspectStreamGroup]
    # the channels and patterns of Pub/Sub that connections are subscribed to, sorted, at most 256
    channels: list[InspectChannel]
    # how many more channels and patterns there are
    truncated_channels: int
    # the calls since the start, by method, sorted: what the metric coxswain.rpc.duration counts
    calls: list[InspectTimes]
    # the runs of Redis scripts since the start, by script, sorted: what the metric coxswain.script.duration counts, each try for itself
    scripts: list[InspectTimes]
    # what rules decided since the start, as ratelimit.stats has it, at most 1,000
    decisions: list[RuleStats]
    # how many more rules decided
    truncated_decisions: int
    # the keys that limits refused most lately
    refusals: InspectRefusals
    # the store, as last probed
    redis: InspectRedis
    # the last 32 tries of a script that took 100 ms or more from when they were sent to their reply, the latest first; one that was within
    # a slow call is why it was slow
    slow_scripts: list[InspectSlowScript]
    # the last 32 calls that took 100 ms or more, the latest first; not those with wait_ms
    slow_calls: list[InspectSlow]
    # the last 32 errors that are not the caller's fault, and conflicts, the latest first; not calls that their clients cancelled
    errors: list[InspectError]
    # what there is now
    counts: InspectCounts


class InspectRule(TypedDict):
    # the rule
    name: str
    # how it counts
    algorithm: str
    # its limits as limit/period, such as 80/10m, shortest period first
    limits: list[str]
    # orders versions of the rules across pods: the age of the newest file they come from, Unix milliseconds
    revision: int


class InspectSession(TypedDict):
    # its id
    session: str
    # the client program, as it introduced itself
    client: str
    # which one it is
    instance: str
    # the user id of its process
    uid: int
    # when it connected, Unix milliseconds by the pod's clock
    since_at_ms: int
    # its calls in flight, those that wait included
    inflight: int
    # it subscribed to events
    events: bool
    # what it holds
    held: list[InspectHeld]


class InspectSidecar(TypedDict):
    # its id, made when it started; explanations name those who wait by it
    sidecar: str
    # it is the one that answers
    self: NotRequired[bool]
    # the name of its pod, as groups of consumers see it; empty = it is not known
    pod: str
    # host:port of its health pages; the host is an address of the pod. Empty = it has none
    address: str
    # its version
    version: str
    # when it started, by the clock of its pod, Unix milliseconds
    started_at_ms: int
    # how many rules are in force in it
    rules: int
    # the newest revision among its rules, Unix milliseconds; 0 = it has none
    rules_revision: int
    # milliseconds since it last showed that it lives
    seen_ms: int


class InspectSidecarsParams(TypedDict):
    # the cursor of the page before; absent = from the start
    cursor: NotRequired[str]
    # about how many to list
    count: NotRequired[int]


class InspectSidecarsResult(TypedDict):
    # those of this page; it may have none and not be the last
    sidecars: list[InspectSidecar]
    # how many there are, on all pages
    total: int
    # where the next page begins; absent = this was the last
    cursor: NotRequired[str]


class InspectSlow(TypedDict):
    # the method
    method: str
    # from when it was read to its answer, in milliseconds
    duration_ms: int
    # when it was answered, Unix milliseconds by the pod's clock
    at_ms: int
    # OK, or the code of its error
    code: str


class InspectSlowScript(TypedDict):
    # the script
    script: str
    # from when it was sent to its reply, in milliseconds
    duration_ms: int
    # when its reply came, Unix milliseconds by the pod's clock
    at_ms: int
    # ok or error
    outcome: str


class InspectStreamGroup(TypedDict):
    # the stream
    stream: str
    # the group
    group: str
    # subscriptions of connections here
    subscriptions: int
    # calls of stream.fetch here that wait
    fetches: int
    # messages that those subscriptions were sent and have not acknowledged
    in_flight: int
    # messages that were read here and that no client was sent so far
    unsent: int
    # messages that the group was not given, as counted within the last half minute; where Redis does not know it, how many there are at
    # least
    lag: int
    # messages that the group was given and has not acknowledged, in all pods, counted with lag
    pending: int


class InspectTimes(TypedDict):
    # the method or the script
    name: str
    # how many there were
    count: int
    # how many of them ended with an error
    errors: int
    # how long all together took, in microseconds
    sum_us: int
    # what half of them took at most, in microseconds, as the metric's buckets tell it
    p50_us: int
    # what 99 of 100 took at most, in microseconds, as the metric's buckets tell it
    p99_us: int


class ItemError(TypedDict):
    # as of errors
    code: str
    # for people
    message: str


class Limits(TypedDict):
    # the longest frame, in bytes
    max_frame_bytes: int
    # the deepest nesting of a frame
    max_depth: int
    # the most elements of one array or map
    max_elements: int
    # running calls on a connection
    max_inflight: int
    # waiting calls on a connection
    max_waiting: int
    # connections to the sidecar
    max_connections: int
    # bytes that all connections may hold together: half in unfinished frames and unread replies, half in calls in flight
    max_total_bytes: int
    # waiting calls of all connections together
    max_total_waiting: int


class LockAcquireParams(TypedDict):
    # the lock
    name: str
    # milliseconds until it is free again unless renewed
    ttl_ms: NotRequired[int]
    # milliseconds to stand in line for it, within the call's deadline; first come, first served across all pods
    wait_ms: NotRequired[int]
    # the owner's secret; made by the sidecar when absent
    token: NotRequired[str]
    # how many replicas of Redis must have the grant, or it is given back; for fewer second holders after a failover
    wait_replicas: NotRequired[int]
    # milliseconds after which it is lost, whoever renews it; 0 = never
    max_hold_ms: NotRequired[int]
    # shown with the holder, such as a job's id; at most 512 bytes
    meta: NotRequired[str]
    # session = renewed while this connection lives and released when it closes; ttl = neither
    bind: NotRequired[Literal["session", "ttl"]]


class LockAcquireResult(TypedDict):
    # the lock is held by this token
    acquired: bool
    # the owner's secret, for renew and release
    token: NotRequired[str]
    # a decimal number that rises with every new owner; give it to what the lock protects
    fence: NotRequired[str]
    # milliseconds that the present owner has left at least
    ttl_ms: int
    # who holds it, when it is not acquired
    held_by: NotRequired[Holder]
    # 0 when acquired; else milliseconds until the holder's TTL ends, or when to ask again while others stand in line
    retry_after_ms: int
    # milliseconds it stood in line until the answer was asked for, rounded down
    waited_ms: NotRequired[int]
    # the answer is about an earlier grant with the same request id
    replayed: NotRequired[bool]
    # why it is not acquired; replicas = too few had the grant, and it was given back; released or expired = what became of a replayed grant
    reason: NotRequired[Literal["busy", "replicas", "released", "expired"]]


class LockEntry(TypedDict):
    # the lock
    name: str
    # the owner's fence
    fence: str
    # milliseconds that the owner has left
    ttl_ms: int
    # who holds it
    held_by: Holder
    # how many calls stand in line for it
    waiting: NotRequired[int]


class LockExplainResult(TypedDict):
    # what a call without wait_ms would be told now: acquired, or busy = it is held, or others stand in line for it
    decision: Literal["acquired", "busy"]
    # 0 when it would be acquired; else milliseconds until the holder's TTL ends, or when to ask again while others stand in line
    retry_after_ms: int
    # the same as a sentence for people
    text: str
    # someone holds it
    held: bool
    # who holds it
    held_by: NotRequired[Holder]
    # the owner's fence
    fence: NotRequired[str]
    # milliseconds that the owner has left unless it is renewed
    ttl_ms: NotRequired[int]
    # what keeps it held: session = a sidecar renews it while the owner's connection lives; ttl = only the owner renews it
    bind: NotRequired[Literal["session", "ttl"]]
    # when max_hold_ms of its owner is over, after which no renewal extends it, by the Redis server's clock, Unix milliseconds; absent =
    # never
    final_at_ms: NotRequired[int]
    # how many calls stand in line for it
    waiting: int
    # whose they are, the first in line first; of at most the first 1,000 calls, and at most 20 sidecars
    line: list[ExplainLine]


class LockForceReleaseParams(TypedDict):
    # the lock
    name: str
    # for the log and the event, at most 512 bytes
    reason: NotRequired[str]


class LockForceReleaseResult(TypedDict):
    # it was held and is free now
    released: bool
    # the fence of who held it
    fence: NotRequired[str]
    # who held it
    held_by: NotRequired[Holder]


class LockGetParams(TypedDict):
    # the lock
    name: str


class LockGetResult(TypedDict):
    # someone holds it
    held: bool
    # the present owner's fence
    fence: NotRequired[str]
    # milliseconds that the owner has left
    ttl_ms: NotRequired[int]
    # who holds it
    held_by: NotRequired[Holder]
    # how many calls stand in line for it
    waiting: NotRequired[int]


class LockListParams(TypedDict):
    # the cursor of the page before; absent = from the start
    cursor: NotRequired[str]
    # about how many to list
    count: NotRequired[int]
    # held = all that are held; waited = only those that calls stand in line for; absent = held
    state: NotRequired[Literal["held", "waited"]]


class LockListResult(TypedDict):
    # those of this page that are held; it may have none and not be the last
    locks: list[LockEntry]
    # where the next page begins; absent = this was the last
    cursor: NotRequired[str]


class LockReleaseParams(TypedDict):
    # the lock
    name: str
    # the owner's secret
    token: str


class LockReleaseResult(TypedDict):
    # the lock was this token's and is free now
    released: bool
    # what was found
    reason: Literal["released", "not_owner", "expired"]


class LockRenewParams(TypedDict):
    # the lock
    name: str
    # the owner's secret
    token: str
    # milliseconds from now until it is free again
    ttl_ms: NotRequired[int]


class LockRenewResult(TypedDict):
    # the lock is held for ttl_ms more
    renewed: bool
    # the grant's fence, unchanged
    fence: NotRequired[str]
    # milliseconds left at least; 0 when it is not held by this token
    ttl_ms: int
    # what was found
    reason: Literal["renewed", "not_owner", "expired"]


class LostParams(TypedDict):
    # what was held
    name: str
    # the owner's secret
    token: str
    # the lost grant's fence
    fence: str
    # not_owner = someone else holds it; expired = it is gone from Redis; unreachable = it could not be renewed in time; max_hold = it was
    # held as long as it may be
    reason: Literal["not_owner", "expired", "unreachable", "max_hold"]


class Match(TypedDict):
    # this key
    exact: NotRequired[str]
    # keys of this form: * is any text, ? one character, \ before either means itself
    glob: NotRequired[str]
    # this domain and those under it: example.com matches a.example.com, not anexample.com; in upper and lower case alike
    suffix: NotRequired[str]


class MethodDescription(TypedDict):
    # the method
    name: str
    # what it does
    summary: str
    # it may be repeated without a request id
    idempotent: bool
    # it is also run as a notification
    notify: bool
    # it can be switched off or bound to uids
    admin: bool
    # the first version that has it
    since: str
    # its parameters
    params: list[FieldDescription]
    # the keys of its result
    result: list[FieldDescription]


class MethodsResult(TypedDict):
    # every method, sorted by name
    methods: list[MethodDescription]


class Nothing(TypedDict):
    pass


class Override(TypedDict):
    # as of allow
    exact: NotRequired[str]
    # as of allow
    glob: NotRequired[str]
    # as of allow
    suffix: NotRequired[str]
    # the bands for these keys; absent = the rule's
    limits: NotRequired[list[Band]]
    # how many grants may be held at once; absent or 0 = the rule's
    max_concurrent: NotRequired[int]


class Penalty(TypedDict):
    # the statuses that pause the key; absent = 429 and 503
    codes: NotRequired[list[int]]
    # milliseconds of the first pause when the server gives none; absent = 60000
    base_ms: NotRequired[int]
    # milliseconds of the longest; each pause is twice the last one; absent = 86400000
    max_ms: NotRequired[int]
    # milliseconds after the end of a pause after which the next is a first one again; absent = 1800000
    forgive_ms: NotRequired[int]
    # how much longer or shorter a pause of our own may be, so that not all come back at once; absent = 10
    jitter_percent: NotRequired[int]


class PermitAcquireParams(TypedDict):
    # the pool
    pool: str
    # the rule (token_bucket) of which each member has a bucket of its own; absent = no limit
    rule: NotRequired[str]
    # the policy of the members' breakers, default for the built-in one; absent = breakers are not asked
    breaker: NotRequired[str]
    # what is taken from the member's bucket
    cost: NotRequired[int]
    # milliseconds until it is free again unless renewed
    lease_ms: NotRequired[int]
    # milliseconds to stand in line, within the call's deadline; first come, first served across all pods for the same pool, scope, rule and
    # breaker
    wait_ms: NotRequired[int]
    # as for pool.acquire
    scope: NotRequired[str]
    # members not to take, at most 100
    exclude: NotRequired[list[str]]
    # as for pool.acquire
    sticky: NotRequired[str]
    # session = renewed while this connection lives and given back when it closes; ttl = neither
    bind: NotRequired[Literal["session", "ttl"]]


class PermitAcquireResult(TypedDict):
    # the member is this caller's, and the cost is taken
    acquired: bool
    # the member
    id: NotRequired[str]
    # for permit.renew and report
    lease: NotRequired[str]
    # a decimal number that rises with every lease of the pool
    fence: NotRequired[str]
    # what was put with the member
    meta: NotRequired[str]
    # that of its breaker; permit.report knows it
    generation: NotRequired[int]
    # its breaker is half open, and this is a probe
    probe: NotRequired[bool]
    # what is left in the member's bucket, rounded down
    remaining: int
    # when it was acquired before in this scope, Unix milliseconds; 0 = never
    last_used_at_ms: NotRequired[int]
    # 0 when acquired; else milliseconds until the soonest member may be had, rounded up; -1 = none ever, as things are
    retry_after_ms: int
    # that instant, by the Redis server's clock, Unix milliseconds
    next_at_ms: NotRequired[int]
    # milliseconds it stood in line until the answer was asked for, rounded down
    waited_ms: NotRequired[int]
    # the answer is about an earlier permit with the same request id
    replayed: NotRequired[bool]
    # why there is none, by the member that is soonest: as of pool.acquire; open = its breaker; limit = its bucket; pause = the server asked
    # for it
    denied_by: NotRequired[Literal["busy", "cooling", "banned", "empty", "open", "limit", "pause", "released", "expired"]]


class PermitExplainParams(TypedDict):
    # the pool
    pool: str
    # as for permit.acquire
    rule: NotRequired[str]
    # as for permit.acquire
    breaker: NotRequired[str]
    # as for permit.acquire
    cost: NotRequired[int]
    # as for pool.acquire
    scope: NotRequired[str]
    # members not to take, at most 100
    exclude: NotRequired[list[str]]
    # only this member
    id: NotRequired[str]


class PermitRenewParams(TypedDict):
    # the pool
    pool: str
    # what permit.acquire answered
    lease: str
    # milliseconds from now until it is free again
    lease_ms: NotRequired[int]


class PermitReportParams(TypedDict):
    # the pool
    pool: str
    # what permit.acquire answered
    lease: str
    # as of pool.release; to the breaker ok is a success, cancelled is ignored, and all else is a failure
    outcome: NotRequired[Literal["ok", "soft_block", "hard_block", "transport", "captcha", "fail", "ban", "cancelled"]]
    # the HTTP status: one of the rule's penalty.codes pauses the member
    status: NotRequired[int]
    # milliseconds the server asks to stay away; 0 or less, such as for a date that has passed = it asks for no pause; absent = it did not
    # say. The Go client leaves a 0 out: there it is -1
    retry_after_ms: NotRequired[int]
    # milliseconds that the work took, for the breaker's slow rate
    duration_ms: NotRequired[int]
    # milliseconds to cool down in the scope at least, whatever the outcome
    cooldown_ms: NotRequired[int]
    # milliseconds that a ban by this call lasts; absent or 0 = until pool.unban
    unban_after_ms: NotRequired[int]


class PermitReportResult(TypedDict):
    # the member was this permit's and is given back; else nothing was counted
    released: bool
    # what was found
    reason: Literal["released", "not_owner", "expired"]
    # what the member is now
    state: NotRequired[Literal["free", "cooling", "banned"]]
    # the state of its breaker
    breaker: NotRequired[Literal["closed", "open", "half_open", "forced_open", "forced_closed", "disabled"]]
    # when it may be had again, by the Redis server's clock, Unix milliseconds; 0 = now; -1 = not as things are
    next_at_ms: NotRequired[int]


class PingResult(TypedDict):
    # the pod's clock, Unix milliseconds
    now_at_ms: int


class PoolAcquireParams(TypedDict):
    # the pool
    pool: str
    # milliseconds until it is free again unless renewed
    lease_ms: NotRequired[int]
    # milliseconds to stand in line, within the call's deadline; first come, first served across all pods
    wait_ms: NotRequired[int]
    # what it is used for, such as a host: least recent use and cooldowns are of each scope alone
    scope: NotRequired[str]
    # members not to take, at most 100
    exclude: NotRequired[list[str]]
    # who comes back: in its turn the same name gets the same member again, if that can be had then
    sticky: NotRequired[str]
    # session = renewed while this connection lives and given back when it closes; ttl = neither
    bind: NotRequired[Literal["session", "ttl"]]


class PoolAcquireResult(TypedDict):
    # the member is this caller's
    acquired: bool
    # the member
    id: NotRequired[str]
    # for pool.renew and release
    lease: NotRequired[str]
    # a decimal number that rises with every lease of the pool
    fence: NotRequired[str]
    # what was put with the member
    meta: NotRequired[str]
    # when it was acquired before in this scope, Unix milliseconds; 0 = never
    last_used_at_ms: NotRequired[int]
    # 0 when acquired; else milliseconds until the soonest member may be had, rounded up; -1 = none ever, as things are
    retry_after_ms: int
    # that instant, by the Redis server's clock, Unix milliseconds
    next_at_ms: NotRequired[int]
    # milliseconds it stood in line until the answer was asked for, rounded down
    waited_ms: NotRequired[int]
    # the answer is about an earlier lease with the same request id
    replayed: NotRequired[bool]
    # why there is none, by the member that is soonest: busy = leased, or others are waiting; cooling; banned; empty = there is no member
    # but excluded ones; released or expired = what became of a replayed lease
    reason: NotRequired[Literal["busy", "cooling", "banned", "empty", "released", "expired"]]


class PoolBanParams(TypedDict):
    # the pool
    pool: str
    # the member
    id: str
    # milliseconds that it lasts; absent or 0 = until pool.unban
    for_ms: NotRequired[int]


class PoolBanResult(TypedDict):
    # the member was not so before
    changed: bool


class PoolEntry(TypedDict):
    # the member
    id: str
    # what was put with it
    meta: NotRequired[str]
    # its state; a banned or cooling one that is still leased is leased
    state: Literal["free", "leased", "cooling", "banned"]
    # milliseconds that this lasts; 0 when free, -1 = until pool.unban
    for_ms: int
    # who has it
    held_by: NotRequired[Holder]
    # when it was last acquired in the scope, by the Redis server's clock, Unix milliseconds; 0 = never
    last_used_at_ms: int
    # failures in a row
    failures: int
    # the state of its breaker, if it has one
    breaker: NotRequired[Literal["closed", "open", "half_open", "forced_open", "forced_closed", "disabled"]]
    # milliseconds that permits of it are paused for
    paused_for_ms: NotRequired[int]


class PoolExplainParams(TypedDict):
    # the pool
    pool: str
    # as for pool.acquire
    scope: NotRequired[str]
    # members not to take, at most 100
    exclude: NotRequired[list[str]]
    # only this member
    id: NotRequired[str]


class PoolExplainResult(TypedDict):
    # what a call without wait_ms would be told now: acquired, or why there is none, by the member that is soonest: busy = leased, or others
    # are waiting; cooling; banned; empty = there is no such member; open = its breaker; limit = its bucket; pause = the server asked for it
    decision: Literal["acquired", "busy", "cooling", "banned", "empty", "open", "limit", "pause"]
    # 0 when one would be acquired; else milliseconds until the soonest member may be had, rounded up; -1 = none ever, as things are
    retry_after_ms: int
    # the same as a sentence for people
    text: str
    # the member that would be acquired, else the one that is soonest
    id: NotRequired[str]
    # members that were looked at: all but excluded ones, or that of id
    members: int
    # those that may be had now
    free: int
    # why the others may not be had, each member by what keeps it longest, the soonest first
    reasons: list[ExplainReason]
    # who has members, by when their leases end; at most 20
    holders: list[PoolHolder]
    # the rule, of a permit
    rule: NotRequired[str]
    # what it allows the member of id, as limit/period, such as 80/10m
    limits: NotRequired[list[str]]
    # these limits are those of an override, for that member alone
    override: NotRequired[bool]
    # the rule refuses nothing
    shadow: NotRequired[bool]
    # the policy of the members' breakers, of a permit
    breaker: NotRequired[str]
    # how many calls stand in line for the same pool, scope, rule and breaker
    waiting: int
    # whose they are, as of lock.explain
    line: list[ExplainLine]


class PoolHolder(TypedDict):
    # the member
    id: str
    # milliseconds until the lease ends unless it is renewed, rounded up
    left_ms: int
    # who has it
    held_by: Holder


class PoolListParams(TypedDict):
    # the pool
    pool: str
    # whose use and cooldowns to show
    scope: NotRequired[str]
    # the cursor of the page before; absent = from the start
    cursor: NotRequired[str]
    # how many to list
    count: NotRequired[int]


class PoolListResult(TypedDict):
    # those of this page, in the order in which they came
    members: list[PoolEntry]
    # where the next page begins; absent = this was the last
    cursor: NotRequired[str]


class PoolListed(TypedDict):
    # the pool
    pool: str
    # members
    total: int
    # those that are leased, whatever else they are
    live: int
    # of the others, those that are cooling down outside of any scope
    cooling: int
    # of the others, those that are banned
    banned: int
    # the rest
    free: int
    # members whose breaker is open or forced open, whatever else they are
    open: int
    # in how many waiting lines calls stand: there is one for each scope, rule and breaker policy
    lines: int
    # who has members, by when their leases end; at most 3
    holders: list[PoolHolder]


class PoolMember(TypedDict):
    # the member
    id: str
    # given to who acquires it, at most 4096 bytes
    meta: NotRequired[str]


class PoolPoolsParams(TypedDict):
    # the cursor of the page before; absent = from the start
    cursor: NotRequired[str]
    # about how many to list
    count: NotRequired[int]
    # exhausted = only those without a free member; waited = only those that calls stand in line for; absent = all
    state: NotRequired[Literal["exhausted", "waited"]]


class PoolPoolsResult(TypedDict):
    # those of this page; it may have none and not be the last
    pools: list[PoolListed]
    # where the next page begins; absent = this was the last
    cursor: NotRequired[str]


class PoolPutParams(TypedDict):
    # the pool; the first member makes it, and at most 10000 are in one
    pool: str
    # 1 to 1000 members
    members: list[PoolMember]


class PoolPutResult(TypedDict):
    # how many were not there before
    added: int
    # how many there are now
    total: int


class PoolReleaseParams(TypedDict):
    # the pool
    pool: str
    # what pool.acquire answered
    lease: str
    # ok = forgets failures; cancelled = says nothing of the member, as when it was not used; ban = banned; the others cool down, longer
    # with each in a row; see docs/pool.md
    outcome: NotRequired[Literal["ok", "soft_block", "hard_block", "transport", "captcha", "fail", "ban", "cancelled"]]
    # milliseconds to cool down in the scope at least, whatever the outcome
    cooldown_ms: NotRequired[int]
    # milliseconds that a ban by this call lasts; absent or 0 = until pool.unban
    unban_after_ms: NotRequired[int]


class PoolReleaseResult(TypedDict):
    # the member was this lease's and is given back
    released: bool
    # what was found
    reason: Literal["released", "not_owner", "expired"]
    # what the member is now
    state: NotRequired[Literal["free", "cooling", "banned"]]
    # when it may be had again, by the Redis server's clock, Unix milliseconds; 0 = now; -1 = after pool.unban
    next_at_ms: NotRequired[int]


class PoolRemoveParams(TypedDict):
    # the pool
    pool: str
    # 1 to 1000 members
    ids: list[str]


class PoolRemoveResult(TypedDict):
    # how many were there
    removed: int
    # how many there are now
    total: int


class PoolRenewParams(TypedDict):
    # the pool
    pool: str
    # what pool.acquire answered
    lease: str
    # milliseconds from now until it is free again
    lease_ms: NotRequired[int]


class PoolRenewResult(TypedDict):
    # it is leased for lease_ms more
    renewed: bool
    # milliseconds left at least; 0 when it is not this lease's
    lease_ms: int
    # what was found
    reason: Literal["renewed", "not_owner", "expired"]


class PoolStatsParams(TypedDict):
    # the pool
    pool: str
    # whose cooldowns count
    scope: NotRequired[str]


class PoolStatsResult(TypedDict):
    # members
    total: int
    # those that are leased, whatever else they are
    live: int
    # of the others, those that are cooling down in the scope
    cooling: int
    # of the others, those that are banned
    banned: int
    # the rest
    free: int
    # calls that stand in line in the scope without a rule
    waiting: int
    # members whose breaker is open or forced open, whatever else they are
    open: int


class PoolUnbanParams(TypedDict):
    # the pool
    pool: str
    # the member
    id: str


class PubsubGap(TypedDict):
    # what pubsub.subscribe answered
    subscription: str
    # how many; -1 = it is not known, since Redis was not reached
    dropped: int


class PubsubMessage(TypedDict):
    # what pubsub.subscribe answered
    subscription: str
    # the channel
    channel: str
    # the pattern that it matched; absent for channels; a message that several match comes once for each
    pattern: NotRequired[str]
    # its body
    body: bytes


class PubsubPublishParams(TypedDict):
    # the channel
    channel: str
    # any bytes, at most 256 KiB
    body: NotRequired[bytes]


class PubsubPublishResult(TypedDict):
    # sidecars that were told, on the Redis node that was asked; 0 = nobody in a fleet on one Redis
    receivers: int


class PubsubSubscribeParams(TypedDict):
    # channels, at most 256 of both together
    channels: NotRequired[list[str]]
    # patterns of channels as of Redis: * ? [ab] and a backslash before what stands for itself
    patterns: NotRequired[list[str]]
    # how many messages are kept while this connection is not read; those that come then are dropped and told by pubsub.gap
    buffer: NotRequired[int]


class PubsubSubscribeResult(TypedDict):
    # the subscription, for pubsub.unsubscribe; its messages name it
    subscription: str


class PubsubUnsubscribeParams(TypedDict):
    # what pubsub.subscribe answered
    subscription: str


class PubsubUnsubscribeResult(TypedDict):
    # the subscription was this connection's
    unsubscribed: bool


class QueueAckResult(TypedDict):
    # the entry was this lease's and is gone
    acked: bool
    # what was found; expired = it went back to the head, or someone else has it
    reason: Literal["acked", "expired"]


class QueueCancelResult(TypedDict):
    # it was taken out
    cancelled: bool
    # what it was
    state: Literal["waiting", "leased", "absent"]


class QueueDequeueParams(TypedDict):
    # the queue
    queue: str
    # milliseconds to wait for an entry, within the call's deadline; first come, first served across all pods
    wait_ms: NotRequired[int]
    # milliseconds in which it is to be acknowledged, at least 100; 0 = it is gone from the queue at once
    lease_ms: NotRequired[int]
    # of the lease: ttl = it lasts lease_ms unless renewed; session = it is renewed while this connection lives, and the entry is back at
    # the head when it closes
    bind: NotRequired[Literal["session", "ttl"]]


class QueueDequeueResult(TypedDict):
    # there was an entry
    found: bool
    # its id
    id: NotRequired[str]
    # its body
    body: NotRequired[bytes]
    # for queue.ack, release and renew
    lease: NotRequired[str]
    # how often it has been taken, from 1
    attempt: NotRequired[int]
    # when it came, by the Redis server's clock, Unix milliseconds
    enqueued_at_ms: NotRequired[int]
    # how many entries are left in the queue
    depth: int
    # 0 when found; else milliseconds until a lease ends and its entry may be back, at most 1000, or when to ask again
    retry_after_ms: int
    # milliseconds it waited until the answer was asked for, rounded down
    waited_ms: NotRequired[int]
    # the entry of an earlier call with the same request id
    replayed: NotRequired[bool]
    # why there is none: empty; busy = others wait for one; released or expired = what became of a replayed lease
    reason: NotRequired[Literal["empty", "busy", "released", "expired"]]


class QueueEnqueueParams(TypedDict):
    # the queue
    queue: str
    # the entry; the same id is in a queue once
    id: str
    # milliseconds until it expires if nobody takes it; while it is leased it does not
    ttl_ms: NotRequired[int]
    # any bytes, at most 256 KiB, given to who takes it
    body: NotRequired[bytes]


class QueueEnqueueResult(TypedDict):
    # it is new; else its id was there already, and it is as it was
    enqueued: bool
    # how many are before it, itself included, those that expired but are not yet removed too; 0 = someone has it
    position: int
    # how many entries are in the queue
    depth: int
    # the answer of an earlier call with the same request id; the entry may have been taken since
    replayed: NotRequired[bool]


class QueueEntryParams(TypedDict):
    # the queue
    queue: str
    # the entry
    id: str


class QueueHolder(TypedDict):
    # the entry
    id: str
    # how often it has been taken, from 1
    attempt: int
    # milliseconds until the lease ends unless it is renewed, rounded up
    left_ms: int
    # the connection that took it, as inspect.snapshot of its sidecar lists it
    session: str


class QueueLeaseParams(TypedDict):
    # the queue
    queue: str
    # what queue.dequeue answered
    lease: str


class QueueListParams(TypedDict):
    # the cursor of the page before; absent = from the start
    cursor: NotRequired[str]
    # about how many to list
    count: NotRequired[int]
    # entries = only those in which entries wait to be taken; leased = only those of which someone has entries; empty = only those in which
    # none waits; absent = all
    state: NotRequired[Literal["entries", "leased", "empty"]]


class QueueListResult(TypedDict):
    # those of this page; it may have none and not be the last
    queues: list[QueueListed]
    # where the next page begins; absent = this was the last
    cursor: NotRequired[str]


class QueueListed(TypedDict):
    # the queue
    queue: str
    # entries that wait to be taken, those that expired but are not yet removed too
    depth: int
    # entries that someone has
    leased: int
    # calls that wait for an entry
    waiting: int
    # milliseconds since the first entry came; 0 when there is none
    oldest_ms: int
    # who has entries, by when their leases end; at most 3
    holders: list[QueueHolder]


class QueueParams(TypedDict):
    # the queue
    queue: str


class QueuePositionResult(TypedDict):
    # leased = someone has it; absent = it was taken, expired or never came
    state: Literal["waiting", "leased", "absent"]
    # how many are before it, itself included, those that expired but are not yet removed too; 0 unless it is waiting
    position: int
    # how many entries are in the queue
    depth: int


class QueueReleaseResult(TypedDict):
    # the entry is at the head again
    released: bool
    # what was found
    reason: Literal["released", "expired"]


class QueueRenewParams(TypedDict):
    # the queue
    queue: str
    # what queue.dequeue answered
    lease: str
    # milliseconds from now until it comes back
    lease_ms: int


class QueueRenewResult(TypedDict):
    # the entry is this lease's for lease_ms more
    renewed: bool
    # milliseconds left at least; 0 when it is not
    lease_ms: int
    # what was found
    reason: Literal["renewed", "expired"]


class QueueStatsResult(TypedDict):
    # entries in the queue, those that expired but are not yet removed too
    depth: int
    # entries that someone has
    leased: int
    # calls that wait for an entry
    waiting: int
    # milliseconds since the first entry came; 0 when there is none
    oldest_ms: int


class RatelimitAnyParams(TypedDict):
    # the rule's name; or give algorithm and limits
    rule: NotRequired[str]
    # the algorithm of a limit given in full
    algorithm: NotRequired[Literal["token_bucket", "leaky_bucket", "fixed_window", "sliding_window_log", "sliding_window_counter"]]
    # the bands of a limit given in full, 1 to 4
    limits: NotRequired[list[Band]]
    # 1 to 100 keys, the preferred first
    keys: list[str]
    # how much to take
    cost: NotRequired[int]
    # what decides when Redis does not answer
    fail_mode: NotRequired[Literal["closed", "open", "local"]]


class RatelimitAnyResult(TypedDict):
    # the key that was let through; else the one that may go soonest
    key: str
    # the decision for it, as of ratelimit.acquire
    result: RatelimitResult


class RatelimitDeleteRuleParams(TypedDict):
    # the rule
    name: str


class RatelimitDeleteRuleResult(TypedDict):
    # it was in Redis, and is no more
    deleted: bool


class RatelimitDoneResult(TypedDict):
    # its place is free again; false when it held none
    done: bool


class RatelimitExplainParams(TypedDict):
    # the rule's name; or give algorithm and limits
    rule: NotRequired[str]
    # the algorithm of a limit given in full
    algorithm: NotRequired[Literal["token_bucket", "leaky_bucket", "fixed_window", "sliding_window_log", "sliding_window_counter"]]
    # the bands of a limit given in full, 1 to 4
    limits: NotRequired[list[Band]]
    # the key
    key: str
    # the group that counts in its place
    group: NotRequired[str]


class RatelimitExplainResult(TypedDict):
    # the rule's name, empty for a limit given in full
    rule: str
    # the algorithm
    algorithm: str
    # of the rule; 0 for a limit given in full
    revision: int
    # what the state is kept under: the group, or the key
    counted: str
    # the override that counts, as it is written, such as glob:api-*
    override: NotRequired[str]
    # the list of the rule that has the key; then nothing else counts
    list: NotRequired[Literal["allow", "deny"]]
    # the rule refuses nothing
    shadow: NotRequired[bool]
    # what a call of cost 1 would be told now: allowed, or denied_by
    decision: Literal["allowed", "limit", "pause", "delay", "concurrency", "deny_list"]
    # milliseconds until it would be allowed, rounded up; -1 = never
    retry_after_ms: int
    # each band
    bands: list[ExplainBand]
    # the pause, while there is one
    pause: NotRequired[ExplainPause]
    # the delay, while there is one
    delay: NotRequired[ExplainDelay]
    # what refusals of the remote server led to so far
    penalty: NotRequired[ExplainPenalty]
    # how many grants may be held at once
    max_concurrent: NotRequired[int]
    # who holds places, the first to end first, at most 100
    held: list[ExplainHolder]
    # how many calls stand in line for a place
    waiting: NotRequired[int]
    # what this sidecar charged ahead and has not served, in mode leased; the bands count it as used
    block: NotRequired[ExplainBlock]


class RatelimitGrantParams(TypedDict):
    # the grant, as ratelimit.acquire told it
    grant: str


class RatelimitItem(TypedDict):
    # the rule's name; or give algorithm and limits
    rule: NotRequired[str]
    # the algorithm of a limit given in full
    algorithm: NotRequired[Literal["token_bucket", "leaky_bucket", "fixed_window", "sliding_window_log", "sliding_window_counter"]]
    # the bands of a limit given in full, 1 to 4
    limits: NotRequired[list[Band]]
    # whom or what the limit counts
    key: str
    # counts in place of the key
    group: NotRequired[str]
    # how much to take
    cost: NotRequired[int]
    # what decides when Redis does not answer
    fail_mode: NotRequired[Literal["closed", "open", "local"]]


class RatelimitItemResult(TypedDict):
    # the decision, as of ratelimit.acquire
    result: NotRequired[RatelimitResult]
    # why there is none
    error: NotRequired[ItemError]


class RatelimitManyParams(TypedDict):
    # 1 to 100 acquisitions, each as ratelimit.acquire without wait_ms
    items: list[RatelimitItem]
    # all or none: the items have one rule and one group, and none is refused alone
    atomic: NotRequired[bool]


class RatelimitManyResult(TypedDict):
    # one for each item, in their order
    results: list[RatelimitItemResult]


class RatelimitParams(TypedDict):
    # the rule's name; or give algorithm and limits
    rule: NotRequired[str]
    # the algorithm of a limit given in full
    algorithm: NotRequired[Literal["token_bucket", "leaky_bucket", "fixed_window", "sliding_window_log", "sliding_window_counter"]]
    # the bands of a limit given in full, 1 to 4; with other bands it is another limit, which shares nothing with this one but pauses and
    # delays of the key
    limits: NotRequired[list[Band]]
    # whom or what the limit counts, such as a host or an account
    key: str
    # counts in place of the key, for all keys of the group together; absent = the rule's group of the key, or none
    group: NotRequired[str]
    # the pool whose member the key names: its bucket under the rule and its pause, as permits use them; takes no group, wait_ms, algorithm
    # or limits
    pool: NotRequired[str]
    # how much to take; 0 takes nothing, as ratelimit.peek. The Go client leaves a 0 out, so that it takes 1: look with RatelimitPeek
    cost: NotRequired[int]
    # milliseconds the call may wait for a slot, first come first served; further away it is refused at once; ratelimit.peek never waits;
    # sliding_window_counter takes none
    wait_ms: NotRequired[int]
    # what decides when Redis does not answer: closed = the call fails with UNAVAILABLE, open = it is allowed, local = this sidecar alone
    # limits it; absent = the rule's, open unless it says otherwise
    fail_mode: NotRequired[Literal["closed", "open", "local"]]


class RatelimitPauseParams(TypedDict):
    # the rule's name; absent for limits given in full
    rule: NotRequired[str]
    # the key
    key: str
    # the group that counts in its place
    group: NotRequired[str]
    # milliseconds from now; or give until_at_ms
    for_ms: NotRequired[int]
    # the instant it ends, by the Redis server's clock, Unix milliseconds, within 366 days
    until_at_ms: NotRequired[int]
    # for people
    reason: NotRequired[str]
    # the pool whose member the key names: it is paused for permits, whatever the rule
    pool: NotRequired[str]


class RatelimitPauseResult(TypedDict):
    # when the longest pause ends, by the Redis server's clock, Unix milliseconds
    paused_until_at_ms: int


class RatelimitPutRuleParams(TypedDict):
    # the rule
    rule: Rule


class RatelimitPutRuleResult(TypedDict):
    # of the rule, Unix milliseconds
    revision: int
    # there was another one of this name in Redis
    replaced: bool
    # a file of this sidecar has a rule of this name, which comes first
    hidden: bool


class RatelimitRefundResult(TypedDict):
    # what the grant took is free again
    refunded: bool
    # repeated = it was refunded before; expired = nothing of it counts any more, or nothing is known of it, as of a grant that was edited
    reason: Literal["refunded", "repeated", "expired"]


class RatelimitReportParams(TypedDict):
    # the rule's name; absent for limits given in full
    rule: NotRequired[str]
    # whom or what the limit counts
    key: str
    # the group that counts in its place
    group: NotRequired[str]
    # the grant that the request went out with; its place is freed
    grant: NotRequired[str]
    # the HTTP status that came back
    status: int
    # milliseconds that the answer took, for metrics
    latency_ms: NotRequired[int]
    # milliseconds the server asks to stay away; 0 or less, such as for a date that has passed = it asks for no pause; absent = it did not
    # say. The Go client leaves a 0 out: there it is -1
    retry_after_ms: NotRequired[int]
    # the pool whose member the key names: the member is paused for permits
    pool: NotRequired[str]


class RatelimitReportResult(TypedDict):
    # milliseconds until the key may go again; 0 = now
    wait_ms: int
    # that instant by the Redis server's clock, Unix milliseconds
    paused_until_at_ms: NotRequired[int]


class RatelimitResetParams(TypedDict):
    # the rule's name; or give algorithm and limits
    rule: NotRequired[str]
    # the algorithm of a limit given in full
    algorithm: NotRequired[Literal["token_bucket", "leaky_bucket", "fixed_window", "sliding_window_log", "sliding_window_counter"]]
    # the bands of a limit given in full, 1 to 4
    limits: NotRequired[list[Band]]
    # the key to forget
    key: str
    # the group that counts in its place
    group: NotRequired[str]
    # the pool whose member the key names: its bucket under the rule is forgotten
    pool: NotRequired[str]


class RatelimitResetResult(TypedDict):
    # something was forgotten
    reset: bool


class RatelimitResult(TypedDict):
    # the cost was taken
    allowed: bool
    # the rule's name, empty for a limit given in full
    rule: str
    # the algorithm
    algorithm: str
    # the band this answer is about, as limit/period, such as 80/10m
    band: str
    # the band's limit per period
    limit: int
    # what could be taken at once now, rounded down
    remaining: int
    # what counts against the band now, rounded up
    current: int
    # milliseconds until the band is as if unused, rounded up
    reset_after_ms: int
    # that instant by the Redis server's clock, or the pod's when degraded, Unix milliseconds; 0 = not known
    reset_at_ms: int
    # 0 when allowed; else milliseconds until this cost fits if nobody else asks, rounded up; -1 = it never fits
    retry_after_ms: int
    # milliseconds the call waited for its slot
    waited_ms: int
    # why it was refused, or would have been if the rule were not in shadow: limit = a band is used up; pause = the key is paused; delay =
    # too soon after the last one; concurrency = max_concurrent grants are held; deny_list = the rule refuses the key
    denied_by: NotRequired[Literal["limit", "pause", "delay", "concurrency", "deny_list"]]
    # it was let through only because the rule is in shadow
    shadow: NotRequired[bool]
    # the answer came from the fail mode, since Redis did not answer
    degraded: bool
    # where the decision was made: redis; lease = from what the sidecar charged ahead, of a rule in mode leased; cache = a refusal of less
    # than a second ago that still holds; local = the fail mode; list = the rule's allow or deny list
    source: Literal["redis", "cache", "local", "list", "lease"]
    # what was taken, for ratelimit.refund, done and report; absent if the source is lease
    grant: NotRequired[str]
    # the grant holds one of max_concurrent places: end it with ratelimit.done, or a report with the grant
    held: NotRequired[bool]
    # the reply of an earlier call with the same request id
    replayed: NotRequired[bool]
    # degraded, and the cost may have been taken from Redis all the same
    maybe_executed: NotRequired[bool]


class RatelimitResumeParams(TypedDict):
    # the rule's name; absent for limits given in full
    rule: NotRequired[str]
    # the key
    key: str
    # the group that counts in its place
    group: NotRequired[str]
    # the pool whose member the key names
    pool: NotRequired[str]


class RatelimitResumeResult(TypedDict):
    # the key was paused, and is no more
    resumed: bool


class RatelimitRulesResult(TypedDict):
    # by name
    rules: list[RuleInForce]
    # which of two rules of one name is in force
    precedence: Literal["file", "redis"]
    # rules in Redis that this version of the sidecar cannot read, by name; they are not in force here
    unreadable: NotRequired[list[str]]


class RatelimitSetDelayParams(TypedDict):
    # the rule's name; absent for limits given in full
    rule: NotRequired[str]
    # the key
    key: str
    # the group that counts in its place
    group: NotRequired[str]
    # milliseconds from one admission to the next, at most the rule's max_delay_ms; 0 = this source asks for none
    delay_ms: NotRequired[int]
    # milliseconds until this source's word is forgotten
    ttl_ms: NotRequired[int]
    # who says so, such as robots; each has one word
    source: NotRequired[str]


class RatelimitSetDelayResult(TypedDict):
    # milliseconds from one admission to the next, of the slowest source; 0 = none
    delay_ms: int
    # until when, by the Redis server's clock, Unix milliseconds
    until_at_ms: NotRequired[int]


class RatelimitStatsResult(TypedDict):
    # since when, by the pod's clock, Unix milliseconds
    since_at_ms: int
    # by name; inline = limits given in full
    rules: list[RuleStats]


class Rule(TypedDict):
    # what calls name it by
    name: str
    # how it counts
    algorithm: Literal["token_bucket", "leaky_bucket", "fixed_window", "sliding_window_log", "sliding_window_counter"]
    # its bands, 1 to 4, each with a period of its own
    limits: list[Band]
    # what decides when Redis does not answer; absent = open
    fail_mode: NotRequired[Literal["closed", "open", "local"]]
    # how many pods share the limit when it is local; absent = 1
    local_share_of: NotRequired[int]
    # whether refusals are answered locally for up to a second; absent = on
    deny_cache: NotRequired[Literal["on", "off"]]
    # other limits for some keys; the first that matches counts
    overrides: NotRequired[list[Override]]
    # keys that are always let through and count nowhere
    allow: NotRequired[list[Match]]
    # keys that are always refused, before allow
    deny: NotRequired[list[Match]]
    # keys that count together; the first that matches counts
    groups: NotRequired[list[Group]]
    # count and tell, and refuse nothing
    shadow: NotRequired[bool]
    # how many grants of a key may be held at once; absent or 0 = any number
    max_concurrent: NotRequired[int]
    # how much of each limit and burst is kept back, since what was granted arrives late; absent = 0
    headroom_percent: NotRequired[int]
    # the longest delay that ratelimit.set_delay may set; absent = 60000
    max_delay_ms: NotRequired[int]
    # exact = Redis decides each call; leased = a sidecar charges blocks ahead and serves them from memory, of token_bucket and
    # fixed_window, without max_concurrent; absent = exact
    mode: NotRequired[Literal["exact", "leased"]]
    # how much a sidecar may charge ahead in mode leased, and for how long
    lease: NotRequired[RuleLease]
    # what ratelimit.report does about refusals of the remote server
    penalty: NotRequired[Penalty]


class RuleInForce(TypedDict):
    # the rule, without what is as by default
    rule: Rule
    # file = the configuration; redis = ratelimit.put_rule
    source: Literal["file", "redis"]
    # it is not in force: the other source has a rule of this name, which comes first
    hidden: NotRequired[bool]
    # rises with each change; Unix milliseconds
    revision: int


class RuleLease(TypedDict):
    # the most that one sidecar may hold of a key, in percent of each band's limit, and never more than its burst; absent = 10
    max_share_percent: NotRequired[int]
    # milliseconds from the charge for which a block may be served, at least 10; absent = 1000
    ttl_ms: NotRequired[int]


class RuleStats(TypedDict):
    # the rule's name
    rule: str
    # calls that were let through, those in shadow included
    allowed: int
    # calls that were refused, for whatever reason
    refused: int
    # calls that were let through only because the rule is in shadow
    shadowed: int
    # calls that a fail mode answered, those that failed included
    degraded: int
    # calls that waited for a slot or a place and got it
    waited: int
    # milliseconds that they waited, all together
    waited_ms: int


class SeenCommitParams(TypedDict):
    # the set
    set: str
    # the key
    key: str
    # what seen.reserve answered
    token: str
    # milliseconds to remember it, at most 366 days
    keep_ms: NotRequired[int]


class SeenCommitResult(TypedDict):
    # it is remembered as done
    committed: bool
    # expired = the reservation had ended; someone else may have done it, or do it now
    reason: Literal["committed", "expired"]


class SeenReleaseParams(TypedDict):
    # the set
    set: str
    # the key
    key: str
    # what seen.reserve answered
    token: str


class SeenReleaseResult(TypedDict):
    # the reservation was this token's and is given up
    released: bool
    # what was found
    reason: Literal["released", "expired"]


class SeenReserveParams(TypedDict):
    # the set
    set: str
    # what is to be done once, such as a URL or its hash
    key: str
    # milliseconds until the reservation ends unless renewed or committed
    ttl_ms: NotRequired[int]
    # session = renewed while this connection lives and given up when it closes; ttl = neither
    bind: NotRequired[Literal["session", "ttl"]]


class SeenReserveResult(TypedDict):
    # do it, then commit or release
    reserved: bool
    # what it was: new = nobody had it; reserved = someone else does it; done = it was committed
    state: Literal["new", "reserved", "done"]
    # for seen.commit and release
    token: NotRequired[str]
    # 0 when reserved; else milliseconds until the reservation ends unless renewed, or what was committed is forgotten
    retry_after_ms: int
    # the answer is about an earlier call with the same request id
    replayed: NotRequired[bool]
    # what became of a replayed reservation
    reason: NotRequired[Literal["released", "expired"]]


class SemaphoreAcquireParams(TypedDict):
    # the semaphore
    name: str
    # how many permits it has; each call goes by its own limit, so give the same everywhere
    limit: int
    # how many to take, at most limit
    permits: NotRequired[int]
    # milliseconds until they are free again unless renewed
    ttl_ms: NotRequired[int]
    # milliseconds to stand in line for them, within the call's deadline; first come, first served across all pods, and nobody passes who
    # asks for many
    wait_ms: NotRequired[int]
    # the owner's secret; made by the sidecar when absent
    token: NotRequired[str]
    # how many replicas of Redis must have the grant, or it is given back
    wait_replicas: NotRequired[int]
    # milliseconds after which they are lost, whoever renews them; 0 = never
    max_hold_ms: NotRequired[int]
    # shown with the holder; at most 512 bytes
    meta: NotRequired[str]
    # session = renewed while this connection lives and released when it closes; ttl = neither
    bind: NotRequired[Literal["session", "ttl"]]


class SemaphoreAcquireResult(TypedDict):
    # the permits are held by this token
    acquired: bool
    # the owner's secret, for renew and release
    token: NotRequired[str]
    # a decimal number that rises with every grant; give it to what the semaphore protects
    fence: NotRequired[str]
    # milliseconds that the grant has left at least; 0 when it is not acquired
    ttl_ms: int
    # how many permits of limit are free after this call
    free: int
    # 0 when acquired; else milliseconds until enough TTLs have ended, or when to ask again while others stand in line
    retry_after_ms: int
    # milliseconds it stood in line until the answer was asked for, rounded down
    waited_ms: NotRequired[int]
    # the answer is about an earlier grant with the same request id
    replayed: NotRequired[bool]
    # why it is not acquired; replicas = too few had the grant, and it was given back; released or expired = what became of a replayed grant
    reason: NotRequired[Literal["busy", "replicas", "released", "expired"]]


class SemaphoreGetParams(TypedDict):
    # the semaphore
    name: str


class SemaphoreGetResult(TypedDict):
    # how many permits are held
    held: int
    # how many calls stand in line
    waiting: NotRequired[int]
    # who holds them, by when their TTLs end; at most 100
    holders: list[SemaphoreHolder]


class SemaphoreHolder(TypedDict):
    # how many it holds
    permits: int
    # its fence
    fence: str
    # milliseconds that it has left
    ttl_ms: int
    # who holds them
    held_by: Holder


class SemaphoreListParams(TypedDict):
    # the cursor of the page before; absent = from the start
    cursor: NotRequired[str]
    # about how many to list
    count: NotRequired[int]
    # held = only those of which permits are held; waited = only those that calls stand in line for; absent = both
    state: NotRequired[Literal["held", "waited"]]


class SemaphoreListResult(TypedDict):
    # those of this page; it may have none and not be the last
    semaphores: list[SemaphoreListed]
    # where the next page begins; absent = this was the last
    cursor: NotRequired[str]


class SemaphoreListed(TypedDict):
    # the semaphore
    name: str
    # how many permits are held
    held: int
    # how many calls stand in line
    waiting: int
    # who holds them, by when their TTLs end; at most 3
    holders: list[SemaphoreHolder]


class SemaphoreReleaseParams(TypedDict):
    # the semaphore
    name: str
    # the owner's secret
    token: str


class SemaphoreReleaseResult(TypedDict):
    # the permits were this token's and are free now
    released: bool
    # what was found
    reason: Literal["released", "expired"]


class SemaphoreRenewParams(TypedDict):
    # the semaphore
    name: str
    # the owner's secret
    token: str
    # milliseconds from now until they are free again
    ttl_ms: NotRequired[int]


class SemaphoreRenewResult(TypedDict):
    # the permits are held for ttl_ms more
    renewed: bool
    # the grant's fence, unchanged
    fence: NotRequired[str]
    # milliseconds left at least; 0 when they are not held by this token
    ttl_ms: int
    # what was found
    reason: Literal["renewed", "expired"]


class StreamAckResult(TypedDict):
    # the group is not given it again; false = it was acknowledged before, is a dead letter, or never was the group's
    acked: bool


class StreamConsumer(TypedDict):
    # the pod
    name: str
    # messages that it was given and has not acknowledged
    pending: int
    # milliseconds since it last did anything
    idle_ms: int


class StreamDeadLetter(TypedDict):
    # the dead letter, for stream.redrive and stream.trim
    id: str
    # the id that the message had in the stream
    message_id: str
    # the group that failed
    group: str
    # how often it was delivered
    attempts: int
    # why: what stream.nack said, or max_deliveries
    reason: str
    # when it was moved, by the Redis server's clock, Unix milliseconds
    dead_at_ms: int
    # its body
    body: NotRequired[bytes]
    # its fields
    fields: NotRequired[dict[str, str]]
    # the W3C trace context of its publisher
    traceparent: NotRequired[str]


class StreamDeadParams(TypedDict):
    # the stream
    stream: str
    # how many at most; fewer come if together they pass 512 KiB
    count: NotRequired[int]
    # only those after this one: next of the answer before
    after: NotRequired[str]


class StreamDeadResult(TypedDict):
    # the dead letters
    letters: list[StreamDeadLetter]
    # for after; absent when there are no more
    next: NotRequired[str]


class StreamEntry(TypedDict):
    # its id in the stream
    id: str
    # its body
    body: NotRequired[bytes]
    # its fields
    fields: NotRequired[dict[str, str]]
    # the only group that it is for, of one that stream.redrive moved back
    group: NotRequired[str]
    # when it was added to the stream, by the Redis server's clock, Unix milliseconds
    published_at_ms: int
    # the W3C trace context of its publisher
    traceparent: NotRequired[str]


class StreamExtendResult(TypedDict):
    # the message is this pod's for visibility_ms more
    extended: bool
    # what was found; not_pending = it was acknowledged, or deleted; taken = another pod has it
    reason: Literal["extended", "not_pending", "taken"]


class StreamFetchParams(TypedDict):
    # the stream
    stream: str
    # the group of consumers
    group: str
    # how many messages at most; fewer come if together they pass 512 KiB
    count: NotRequired[int]
    # milliseconds to wait for the first, within the call's deadline
    wait_ms: NotRequired[int]
    # as of stream.subscribe
    max_deliveries: NotRequired[int]
    # as of stream.subscribe
    visibility_ms: NotRequired[int]
    # as of stream.subscribe; with ttl messages also outlive this connection
    bind: NotRequired[Literal["session", "ttl"]]
    # as of stream.subscribe
    start: NotRequired[Literal["first", "new"]]
    # as of stream.subscribe
    rule: NotRequired[str]
    # as of stream.subscribe
    key: NotRequired[str]


class StreamFetchResult(TypedDict):
    # the messages; none when there were none in time
    messages: list[StreamMessage]


class StreamGroup(TypedDict):
    # the group
    group: str
    # messages that it has not been given; -1 = Redis does not know, and they are too many to be counted
    lag: int
    # messages that it was given and has not acknowledged
    pending: int
    # those of them that wait for their delay after stream.nack
    retrying: int
    # those that wait for the limit of their key, or for the one before it, where the group delivers by key; they are neither lag nor
    # pending
    parked: NotRequired[int]
    # pods that take part
    consumers: int
    # milliseconds since the oldest of those pending was published; 0 when there is none
    oldest_pending_ms: int
    # the newest message that it was given
    last_delivered_id: str


class StreamGroupDetail(TypedDict):
    # the group
    group: str
    # pods that take part, sorted by name
    consumers: list[StreamConsumer]


class StreamGroupsResult(TypedDict):
    # its groups, sorted by name
    groups: list[StreamGroupDetail]


class StreamListParams(TypedDict):
    # the cursor of the page before; absent = from the start
    cursor: NotRequired[str]
    # about how many to list
    count: NotRequired[int]
    # behind = only those with a group that has messages left to be given or acknowledged; dead = only those with dead letters; absent = all
    state: NotRequired[Literal["behind", "dead"]]


class StreamListResult(TypedDict):
    # those of this page; it may have none and not be the last
    streams: list[StreamListed]
    # where the next page begins; absent = this was the last
    cursor: NotRequired[str]


class StreamListed(TypedDict):
    # the stream
    stream: str
    # messages in the stream, acknowledged ones too
    length: int
    # messages that are not due
    delayed: int
    # dead letters
    dead: int
    # messages that were deleted before a group that had been given them acknowledged them, since the stream was first used
    trimmed: int
    # its groups, those first that are behind most; at most 8
    groups: list[StreamGroup]
    # how many more groups it has
    more_groups: NotRequired[int]


class StreamMessage(TypedDict):
    # what stream.subscribe answered; absent in the result of stream.fetch
    subscription: NotRequired[str]
    # the stream
    stream: str
    # the group
    group: str
    # its id in the stream
    id: str
    # its body
    body: NotRequired[bytes]
    # its fields
    fields: NotRequired[dict[str, str]]
    # how often it has been delivered, from 1
    attempt: int
    # when it was added to the stream, by the Redis server's clock, Unix milliseconds
    published_at_ms: int
    # the W3C trace context of its publisher, to be linked to
    traceparent: NotRequired[str]


class StreamMessageParams(TypedDict):
    # the stream
    stream: str
    # the group
    group: str
    # the message
    id: str


class StreamNackParams(TypedDict):
    # the stream
    stream: str
    # the group
    group: str
    # the message
    id: str
    # milliseconds until it is delivered again; -1 = 1 s after the first attempt, doubled with each, at most 5 min
    delay_ms: NotRequired[int]
    # it is moved to the dead letters at once
    dead: NotRequired[bool]
    # why, for the dead letter
    reason: NotRequired[str]


class StreamNackResult(TypedDict):
    # it was waiting for an ack; else nothing was done
    nacked: bool
    # it is a dead letter now
    dead: bool
    # milliseconds until it is delivered again; 0 = at once, or it is a dead letter
    delay_ms: int


class StreamNewMessage(TypedDict):
    # as of stream.publish
    body: NotRequired[bytes]
    # as of stream.publish
    fields: NotRequired[dict[str, str]]
    # as of stream.publish
    dedupe_id: NotRequired[str]
    # as of stream.publish
    dedupe_ms: NotRequired[int]
    # as of stream.publish
    delay_ms: NotRequired[int]


class StreamParams(TypedDict):
    # the stream
    stream: str


class StreamPublishManyParams(TypedDict):
    # the stream
    stream: str
    # 1 to 256 messages, at most 768 KiB together
    messages: list[StreamNewMessage]
    # as of stream.publish
    maxlen: NotRequired[int]


class StreamPublishManyResult(TypedDict):
    # one for each message, in their order
    results: list[StreamPublished]


class StreamPublishParams(TypedDict):
    # the stream
    stream: str
    # any bytes, at most 256 KiB
    body: NotRequired[bytes]
    # texts by name, at most 256 KiB together, beside the body or in its place
    fields: NotRequired[dict[str, str]]
    # a message with the same one, published within dedupe_ms before, is not published again
    dedupe_id: NotRequired[str]
    # milliseconds for which dedupe_id is remembered
    dedupe_ms: NotRequired[int]
    # milliseconds until it is added to the stream
    delay_ms: NotRequired[int]
    # about how many messages the stream keeps, the newest, when this one is added; a few more may stay; 0 = all
    maxlen: NotRequired[int]


class StreamPublishResult(TypedDict):
    # it was added or will be; else its dedupe_id was known
    published: bool
    # its id in the stream; of a duplicate that of the first; absent of a delayed one
    id: NotRequired[str]
    # when a delayed message is added, by the Redis server's clock, Unix milliseconds
    due_at_ms: NotRequired[int]
    # the answer of an earlier call with the same request id
    replayed: NotRequired[bool]


class StreamPublished(TypedDict):
    # as of stream.publish
    published: bool
    # as of stream.publish
    id: NotRequired[str]
    # as of stream.publish
    due_at_ms: NotRequired[int]
    # why it failed; the others are not affected
    error: NotRequired[ItemError]


class StreamReadParams(TypedDict):
    # the stream
    stream: str
    # only those after this message: next of the answer before
    after: NotRequired[str]
    # where to begin without after: first = with the oldest message; new = with those that are published from now on, so that this call
    # lists none
    start: NotRequired[Literal["first", "new"]]
    # how many at most; fewer come if together they pass 512 KiB
    count: NotRequired[int]


class StreamReadResult(TypedDict):
    # the messages; acknowledged ones too
    messages: list[StreamEntry]
    # for after of the next call, also when nothing was listed
    next: str
    # others follow already
    more: bool


class StreamRedriveParams(TypedDict):
    # the stream
    stream: str
    # the dead letters, at most 256
    ids: NotRequired[list[str]]
    # in place of ids: so many, the oldest first
    count: NotRequired[int]


class StreamRedriveResult(TypedDict):
    # dead letters that are back in the stream
    redriven: int
    # dead letters that are left
    left: int
    # the answer of an earlier call with the same request id
    replayed: NotRequired[bool]


class StreamStatsParams(TypedDict):
    # the stream
    stream: str
    # this group alone
    group: NotRequired[str]


class StreamStatsResult(TypedDict):
    # messages in the stream, acknowledged ones too
    length: int
    # messages that are not due
    delayed: int
    # dead letters
    dead: int
    # messages that were deleted before a group that had been given them acknowledged them, since the stream was first used
    trimmed: int
    # its groups, sorted by name
    groups: list[StreamGroup]


class StreamSubscribeParams(TypedDict):
    # the stream
    stream: str
    # the group of consumers; each message goes to one of them. The newest subscription or fetch of a pod sets visibility_ms and
    # max_deliveries for all of the group in this pod
    group: str
    # how many messages this subscription may have unacknowledged
    prefetch: NotRequired[int]
    # a message that was delivered so often and not acknowledged is moved to the dead letters
    max_deliveries: NotRequired[int]
    # milliseconds after which a message is delivered to another consumer, unless it is acknowledged or extended
    visibility_ms: NotRequired[int]
    # session = the sidecar extends messages while this connection lives; ttl = they last visibility_ms unless extended. Either way they are
    # delivered again at once when it closes
    bind: NotRequired[Literal["session", "ttl"]]
    # where a group begins that is made by this: first = with the oldest message; new = with those published from now on
    start: NotRequired[Literal["first", "new"]]
    # with key: a message is delivered only when this rule admits its key. Messages of other keys pass it by; those of one key go one at a
    # time, in their order. The newest subscription or fetch of a pod sets it for all of the group in this pod
    rule: NotRequired[str]
    # with rule: the field of messages that has the key, such as host. All subscriptions and fetches of a group name the same; a message
    # that has no such field is moved to the dead letters
    key: NotRequired[str]


class StreamSubscribeResult(TypedDict):
    # the subscription, for stream.unsubscribe; its messages name it
    subscription: str
    # the group was made
    created: bool


class StreamTrimParams(TypedDict):
    # the stream
    stream: str
    # of its dead letters
    dead: NotRequired[bool]
    # keep the newest so many
    maxlen: NotRequired[int]
    # delete those that were added longer ago, in milliseconds
    older_ms: NotRequired[int]
    # delete these, at most 256
    ids: NotRequired[list[str]]


class StreamTrimResult(TypedDict):
    # messages that were deleted
    deleted: int
    # messages that are left
    left: int


class StreamUnsubscribeParams(TypedDict):
    # what stream.subscribe answered
    subscription: str


class StreamUnsubscribeResult(TypedDict):
    # the subscription was this connection's
    unsubscribed: bool


# The params of each event.
EVENTS: dict[str, type] = {
    "breaker.lost": LostParams,
    "event": EventParams,
    "lock.lost": LostParams,
    "permit.lost": LostParams,
    "pool.lost": LostParams,
    "pubsub.gap": PubsubGap,
    "pubsub.message": PubsubMessage,
    "queue.lost": LostParams,
    "ratelimit.lost": LostParams,
    "seen.lost": LostParams,
    "semaphore.lost": LostParams,
    "session.draining": DrainingParams,
    "stream.lost": LostParams,
    "stream.message": StreamMessage,
}
