# Written by `go run ./hack/clientgen` from client/api. Do not edit.
"""The maps of the protocol, by the names that the contract gives them: results, events, and what calls take as lists."""

from __future__ import annotations

from typing import Any, Literal, NotRequired, TypedDict


class Band(TypedDict):
    # how much is admitted per period; for sliding_window_log at most 10000
    limit: int
    # the period in milliseconds, at most 366 days
    period_ms: int
    # how much token_bucket and leaky_bucket admit at once; absent or 0 = limit for token_bucket, 1 for leaky_bucket
    burst: NotRequired[int]


class BreakerAllowParams(TypedDict):
    # the name of the breaker, such as a host; with pool, the member
    name: str
    # the pool whose member's breaker it is, as permit.acquire uses it; absent = the breaker belongs to no pool
    pool: NotRequired[str]
    # the configured policy to use; absent = the first policy whose name matches the breaker's name (with pool, the pool's), or the default
    # policy if none does
    policy: NotRequired[str]
    # what decides while Redis does not answer: closed = this call fails with UNAVAILABLE, open = it is allowed; absent = that of the
    # policy, which is open by default
    fail_mode: NotRequired[Literal["closed", "open"]]


class BreakerAllowResult(TypedDict):
    # the call may be made; report its outcome by breaker.report
    allowed: bool
    # the breaker's state
    state: Literal["closed", "open", "half_open", "forced_open", "forced_closed", "disabled"]
    # a number that rises with every change of state; pass it to breaker.report
    generation: int
    # present if this call is a probe of a half-open breaker: pass it to breaker.report. The probe is lost after the policy's probe_ttl_ms,
    # or when this connection closes
    probe: NotRequired[str]
    # 0 when allowed; else milliseconds until a probe may be admitted, rounded up; -1 = the breaker is forced open
    retry_after_ms: int
    # the fail mode decided, because Redis did not answer
    degraded: bool
    # the fail mode decided after a failure that leaves it unknown whether Redis also gave out a probe
    maybe_executed: NotRequired[bool]
    # what decided: redis; cache = this sidecar saw less than a second ago that the breaker is open, and its open time is not over; local =
    # the fail mode
    source: Literal["redis", "cache", "local"]
    # this is the stored reply of an earlier call with the same request id
    replayed: NotRequired[bool]


class BreakerChangeResult(TypedDict):
    # its state
    state: Literal["closed", "open", "half_open", "forced_open", "forced_closed", "disabled"]
    # the breaker's generation
    generation: int
    # this call changed it
    changed: bool


class BreakerExplainResult(TypedDict):
    # what breaker.allow would return now: allowed; probe = allowed as a probe; open; half_open = all probes are given out; forced_open
    decision: Literal["allowed", "probe", "open", "half_open", "forced_open"]
    # 0 when a call is allowed now; else milliseconds until one may be, rounded up; -1 = not before breaker.reset
    retry_after_ms: int
    # the decision as a sentence for people
    text: str
    # its state
    state: Literal["closed", "open", "half_open", "forced_open", "forced_closed", "disabled"]
    # a number that rises with every change of state
    generation: int
    # when its state last changed, by the Redis server's clock, Unix milliseconds; 0 = never, or the breaker's state has expired
    changed_at_ms: NotRequired[int]
    # failures in a row while closed
    failures: int
    # successes of probes while half open
    successes: int
    # how many times in a row it opened
    opened: int
    # milliseconds that it would stay open the next time, plus or minus 5 %
    next_open_ms: int
    # probes that were given out and are not reported
    probes: int
    # how many probes may be given out at once while half open
    most_probes: int
    # milliseconds until the first of these probes is lost unless it is reported, rounded up
    probe_left_ms: NotRequired[int]
    # calls in the rolling window, if the policy has a window
    window_calls: NotRequired[int]
    # failed calls among them
    window_failed: NotRequired[int]
    # slow calls among them
    window_slow: NotRequired[int]
    # the policy in force for it; default = none is configured for it
    policy: str
    # why this policy: given = the call names it; name = it is the first policy whose name matches the breaker's name (with pool, the
    # pool's); default = no policy matches
    policy_from: Literal["given", "name", "default"]
    # the policy, with the defaults of the fields that it does not set
    settings: BreakerPolicy


class BreakerForceParams(TypedDict):
    # the breaker
    name: str
    # the pool whose member's breaker it is
    pool: NotRequired[str]
    # the policy, as for breaker.allow
    policy: NotRequired[str]
    # open = no call is allowed; closed = every call is allowed, and failures are counted without effect; disabled = every call is allowed,
    # and nothing is counted
    state: Literal["open", "closed", "disabled"]


class BreakerGetResult(TypedDict):
    # its state
    state: Literal["closed", "open", "half_open", "forced_open", "forced_closed", "disabled"]
    # a number that rises with every change of state
    generation: int
    # the policy in force for it; default = none is configured for it
    policy: str
    # failures in a row while closed
    failures: int
    # successes of probes while half open
    successes: int
    # probes that were given out and are not reported
    probes: int
    # milliseconds until a probe is admitted; 0 = one is admitted now, or the breaker is not open
    open_for_ms: NotRequired[int]
    # how many times in a row it opened; each further time doubles how long it stays open
    opened: int
    # calls in the rolling window, if the policy has a window
    window_calls: NotRequired[int]
    # failed calls among them
    window_failed: NotRequired[int]
    # slow calls among them
    window_slow: NotRequired[int]
    # when its state last changed, by the Redis server's clock, Unix milliseconds; 0 = never, or the breaker's state has expired
    changed_at_ms: NotRequired[int]
    # when it was forced, Unix milliseconds; 0 = it is not forced
    forced_at_ms: NotRequired[int]


class BreakerListParams(TypedDict):
    # the pool whose members' breakers to list; absent = breakers that belong to no pool
    pool: NotRequired[str]
    # the cursor that the previous page returned; absent = the first page
    cursor: NotRequired[str]
    # about how many entries to list
    count: NotRequired[int]
    # list only breakers in this state; not_closed = in any state but closed; absent = all
    state: NotRequired[Literal["closed", "open", "half_open", "forced_open", "forced_closed", "disabled", "not_closed"]]


class BreakerListResult(TypedDict):
    # the entries of this page; a page may be empty without being the last
    breakers: list[BreakerListed]
    # the cursor of the next page; absent = this was the last page
    cursor: NotRequired[str]


class BreakerListed(TypedDict):
    # the breaker; with pool, the member
    name: str
    # its state
    state: Literal["closed", "open", "half_open", "forced_open", "forced_closed", "disabled"]
    # the policy in force for a call that names none
    policy: str
    # failures in a row while closed
    failures: int
    # successes of probes while half open
    successes: int
    # probes that were given out and are not reported
    probes: int
    # milliseconds until a probe is admitted; 0 = one is admitted now, or the breaker is not open
    open_for_ms: int
    # how many times in a row it opened
    opened: int
    # calls in the rolling window, if the policy has a window
    window_calls: NotRequired[int]
    # failed calls among them
    window_failed: NotRequired[int]
    # slow calls among them
    window_slow: NotRequired[int]
    # when its state last changed, by the Redis server's clock, Unix milliseconds; 0 = never, or the breaker's state has expired
    changed_at_ms: int


class BreakerParams(TypedDict):
    # the breaker
    name: str
    # the pool whose member's breaker it is
    pool: NotRequired[str]
    # the policy, as for breaker.allow
    policy: NotRequired[str]


class BreakerPolicy(TypedDict):
    # the breaker that the policy is for (with a pool, the pool), or a glob of names
    name: str
    # how many failures in a row open the breaker; absent = 3
    failure_threshold: NotRequired[int]
    # how many successful probes close it; absent = 3
    success_threshold: NotRequired[int]
    # milliseconds that it stays open the first time, doubled each further time in a row; absent = 600000
    open_ms: NotRequired[int]
    # the longest that it stays open, in milliseconds; absent = 3600000, or open_ms if that is longer
    open_max_ms: NotRequired[int]
    # how many probes are given out at once; absent = success_threshold
    half_open_max: NotRequired[int]
    # milliseconds after which a probe that was not reported is lost; absent = 60000
    probe_ttl_ms: NotRequired[int]
    # a rolling window of calls, whose failure and slow rates open the breaker too; absent = none
    window: NotRequired[BreakerWindow]
    # what decides while Redis does not answer; absent = open
    fail_mode: NotRequired[Literal["closed", "open"]]


class BreakerReportParams(TypedDict):
    # the breaker
    name: str
    # the pool whose member's breaker it is
    pool: NotRequired[str]
    # the policy, as for breaker.allow
    policy: NotRequired[str]
    # the generation that breaker.allow returned; absent or 0 = the present one, if the breaker is closed
    generation: NotRequired[int]
    # the probe that breaker.allow returned
    probe: NotRequired[str]
    # how the call ended; ignored = it shows nothing about what the breaker protects, as a cancelled call or a refusal on this side; it is
    # not counted, and a probe is given back
    outcome: Literal["success", "failure", "ignored"]
    # milliseconds that the call took, for the slow rate of the policy's window
    duration_ms: NotRequired[int]


class BreakerReportResult(TypedDict):
    # the breaker's state
    state: Literal["closed", "open", "half_open", "forced_open", "forced_closed", "disabled"]
    # the breaker's generation
    generation: int
    # this report changed the state
    changed: bool
    # the report was counted: its generation is the present one, its probe was not lost, and its outcome is not ignored
    counted: bool
    # this is the stored reply of an earlier call with the same request id
    replayed: NotRequired[bool]


class BreakerWindow(TypedDict):
    # the length of the window in milliseconds
    window_ms: int
    # with fewer calls in the window, its rates are not used; absent = 10
    min_calls: NotRequired[int]
    # the percentage of failed calls that opens the breaker; absent = the rate does not open it
    failure_rate: NotRequired[int]
    # a call that takes at least this many milliseconds is slow
    slow_ms: NotRequired[int]
    # the percentage of slow calls that opens the breaker; absent = the rate does not open it
    slow_rate: NotRequired[int]


class DescribeParams(TypedDict):
    # the method's name
    method: str


class DrainParams(TypedDict):
    # milliseconds until the pod is killed; the first call sets it, later ones do not change it
    deadline_ms: NotRequired[int]


class DrainResult(TypedDict):
    # always true
    draining: bool
    # when the pod is killed, Unix milliseconds by the pod's clock, as the first call set it
    deadline_at_ms: int
    # connections open now, this one included
    connections: int


class DrainingParams(TypedDict):
    # when the pod is killed, Unix milliseconds by the pod's clock
    deadline_at_ms: int


class EventParams(TypedDict):
    # breaker = a circuit breaker changed its state; degraded = a fail mode decided a call; draining = the pod is shutting down; forced = a
    # lock was taken from its holder by hand; lost = a lease was lost; paused = a key was paused; refused = a limit refused a call; reloaded
    # = the configuration was read again; resumed = a pause was ended. More kinds may be added
    kind: str
    # when it happened, Unix milliseconds by the pod's clock
    at_ms: int
    # the noun it concerns, such as ratelimit or lock; absent if it concerns the sidecar itself
    noun: NotRequired[str]
    # the name of the rule, the lock, ...
    name: NotRequired[str]
    # the key that the limit counts; if count is above 1, the key of one of these events
    key: NotRequired[str]
    # why, in one word
    reason: NotRequired[str]
    # details as text for people
    detail: NotRequired[str]
    # how many events of the same kind, noun, name and reason this notification represents, itself included. Events that come after the last
    # notification of a burst are counted in the next one, if there is one
    count: int
    # how many earlier events were not sent because the client read this connection too slowly
    dropped: NotRequired[int]


class EventsSubscribeParams(TypedDict):
    # the kinds of events to send: breaker, degraded, draining, forced, lost, paused, refused, reloaded, resumed; empty or absent = all
    kinds: NotRequired[list[str]]


class EventsSubscribeResult(TypedDict):
    # the kinds of events that are sent from now on, sorted
    subscribed: list[str]


class ExplainBand(TypedDict):
    # the band as limit/period, such as 80/10m
    band: str
    # the limit per period
    limit: int
    # how much token_bucket and leaky_bucket admit at once
    burst: NotRequired[int]
    # how much could be taken at once now, rounded down
    remaining: int
    # how much counts against the band now, rounded up; what exceeds the limit is promised to waiting calls
    current: int
    # milliseconds until the band is full again, rounded up
    reset_after_ms: int


class ExplainBlock(TypedDict):
    # the tokens that are left
    tokens: int
    # milliseconds until the last of them lapses, rounded up
    left_ms: int


class ExplainDelay(TypedDict):
    # milliseconds from one admission to the next
    delay_ms: int
    # the source that set the delay
    source: str
    # when the delay ends, Unix milliseconds
    until_at_ms: int
    # milliseconds until the next admission, rounded up
    next_after_ms: int


class ExplainHolder(TypedDict):
    # the client program, as it gave it to session.hello
    client: str
    # the instance of the program, as it introduced itself
    instance: str
    # when it was given the permit, Unix milliseconds
    since_at_ms: int
    # milliseconds until it ends unless it is renewed, rounded up
    left_ms: int


class ExplainLine(TypedDict):
    # the sidecar's id, as inspect.sidecars lists it
    sidecar: str
    # how many of its calls are in the line
    waiting: int
    # milliseconds until its tickets end unless it sends a heartbeat, rounded up; 0 = it seems dead, and its calls are skipped
    left_ms: int


class ExplainPause(TypedDict):
    # when it ends, Unix milliseconds
    until_at_ms: int
    # milliseconds until then, rounded up
    left_ms: int
    # the reason, for people; for a penalty the HTTP status
    reason: str


class ExplainPenalty(TypedDict):
    # how many pauses there were in a row; the next one is twice as long as the last
    level: int
    # milliseconds until this is forgotten if no further refusal comes, rounded up
    forgiven_after_ms: int


class ExplainReason(TypedDict):
    # the reason, as in decision
    reason: Literal["busy", "cooling", "banned", "open", "limit", "pause"]
    # how many members it applies to
    members: int
    # the one of them that becomes available first
    id: str
    # milliseconds until then, rounded up; -1 = never, unless something changes
    after_ms: int


class FieldDescription(TypedDict):
    # the key
    name: str
    # int, str, bool, bin, map, list or any
    type: str
    # of params: the key must be given; of a result: the key is always present
    required: bool
    # the value of an absent key, as text
    default: NotRequired[str]
    # the smallest allowed int, if it is bounded
    min: NotRequired[int]
    # the largest allowed int, if it is bounded
    max: NotRequired[int]
    # the allowed values
    enum: NotRequired[list[str]]
    # the keys of the map, or of the maps in the list
    fields: NotRequired[list[FieldDescription]]
    # what it is, with its unit
    doc: str


class Group(TypedDict):
    # as in allow
    exact: NotRequired[str]
    # as in allow
    glob: NotRequired[str]
    # as in allow
    suffix: NotRequired[str]
    # the name that is counted instead of the key; absent = the suffix, which must then be given
    name: NotRequired[str]


class HealthCheck(TypedDict):
    # the check
    name: str
    # the check passed
    ok: bool
    # what the check found; if it failed, with the remedy
    detail: str
    # what is wrong, if it is known, in the words of sidecar doctor
    cause: NotRequired[str]
    # what to do about it
    fix: NotRequired[str]
    # the page and section that explain it
    docs: NotRequired[str]


class HealthResult(TypedDict):
    # the process and its socket answer
    live: bool
    # the sidecar can decide calls: Redis answers, scripts are loaded, rules are in force
    ready: bool
    # the sidecar cannot decide calls, and is ready only because readiness.mode is always; the checks give the cause
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
    # the instance of the program, such as its pod and process
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
    # the instance of the program, as it introduced itself
    instance: str
    # when it acquired the lease, by the Redis server's clock, Unix milliseconds
    since_at_ms: int
    # the meta that it gave when it acquired the lease
    meta: NotRequired[str]


class InspectChannel(TypedDict):
    # the channel
    channel: NotRequired[str]
    # the pattern of channels, in place of channel
    pattern: NotRequired[str]
    # subscriptions to it on connections of this sidecar
    subscriptions: int
    # Redis has confirmed the subscription on the present connection
    listening: bool


class InspectCounts(TypedDict):
    # connections, this one included
    connections: int
    # calls in flight, this one and waiting ones included
    inflight: int
    # calls in flight that have wait_ms
    waiting: int
    # leases that sessions hold
    held: int


class InspectError(TypedDict):
    # the error's code
    code: str
    # the method that was called
    method: str
    # when it happened, Unix milliseconds by the pod's clock
    at_ms: int
    # the text that the client was sent; the sidecar's log has the cause
    text: str


class InspectHeld(TypedDict):
    # the kind of lease, such as lock
    noun: str
    # the name of the lock, ...
    name: str
    # milliseconds until the lease ends unless it is renewed
    ttl_ms: int
    # the fence of the lease, a decimal number
    fence: NotRequired[str]


class InspectPool(TypedDict):
    # connections open now
    open: int
    # connections that are not in use
    idle: int
    # the most connections allowed (redis.pool.max)
    max: int


class InspectProbe(TypedDict):
    # when it happened, Unix milliseconds by the pod's clock
    at_ms: int
    # the store answered
    up: bool
    # the round trip in microseconds, the longest if there were several; if the store is not up, that of the last successful probe
    rtt_us: int


class InspectRedis(TypedDict):
    # the kind of store, such as standalone or embedded
    topology: str
    # the address, without credentials
    address: str
    # the store answers
    up: bool
    # why it is not up, or the error with which it refuses calls
    error: NotRequired[str]
    # the name of the trouble behind that error, such as oom or refused
    trouble: NotRequired[str]
    # the last probe's round trip, in microseconds
    rtt_us: int
    # the memory that it reports as used, in bytes
    memory_bytes: int
    # the connections to the store
    pool: InspectPool
    # the results of the last 300 seconds with a probe, the latest first
    history: list[InspectProbe]


class InspectRefusals(TypedDict):
    # the start of the counts, Unix milliseconds by the pod's clock: five to ten minutes ago, or later if the sidecar started later or
    # refused nothing for ten minutes
    since_at_ms: int
    # the keys that were refused most often, the most refused first, at most 100
    keys: list[InspectRefused]


class InspectRefused(TypedDict):
    # the rule; inline = limits that calls give in full
    rule: str
    # the key
    key: str
    # how often it was refused
    refused: int
    # by how much refused may be too high or too low, because only 256 keys are counted at a time; 0 = it is exact
    off_by: int
    # the reason of the last refusal, such as limit or pause
    reason: str


class InspectResult(TypedDict):
    # the sidecar's version
    version: str
    # its process id
    pid: int
    # when it started to serve, Unix milliseconds by the pod's clock
    started_at_ms: int
    # milliseconds since it started to serve
    uptime_ms: int
    # the pod is shutting down
    draining: bool
    # when the pod is killed, if it is draining, Unix milliseconds by the pod's clock
    ends_at_ms: NotRequired[int]
    # the configuration in force as YAML, with secrets masked, as sidecar config print shows it; at most 256 KiB
    config: str
    # the rules in force, sorted by name, at most 1,000
    rules: list[InspectRule]
    # how many more rules are in force
    truncated_rules: int
    # the connections, the oldest first
    sessions: list[InspectSession]
    # how many leases sessions hold beyond the 1,000 that are listed
    truncated: int
    # the groups of consumers that this sidecar takes part in, sorted by stream and group, at most 256
    stream_groups: list[InspectStreamGroup]
    # the channels and patterns of Pub/Sub that connections are subscribed to, sorted, at most 256
    channels: list[InspectChannel]
    # how many more channels and patterns there are
    truncated_channels: int
    # the calls since the start, sorted by method: the counts of the metric coxswain.rpc.duration
    calls: list[InspectTimes]
    # the runs of Redis scripts since the start, sorted by script: the counts of the metric coxswain.script.duration, each try on its own
    scripts: list[InspectTimes]
    # what rules decided since the start, as ratelimit.stats returns it; at most 1,000 rules
    decisions: list[RuleStats]
    # how many more rules decided calls
    truncated_decisions: int
    # the keys that limits refused most often in the last minutes
    refusals: InspectRefusals
    # the store, by its last probe
    redis: InspectRedis
    # the last 32 runs of scripts that took 100 ms or more from sending to the reply, the latest first; one that ran within a slow call is
    # the reason why that call was slow
    slow_scripts: list[InspectSlowScript]
    # the last 32 calls that took 100 ms or more, the latest first, except calls with wait_ms
    slow_calls: list[InspectSlow]
    # the last 32 errors that are not the caller's fault, and conflicts, the latest first, except calls that their clients cancelled
    errors: list[InspectError]
    # the numbers of connections, calls and leases now
    counts: InspectCounts


class InspectRule(TypedDict):
    # the rule
    name: str
    # how it counts
    algorithm: str
    # its limits as limit/period, such as 80/10m, shortest period first
    limits: list[str]
    # orders the versions of rules across pods: the modification time of the newest file that rules come from, Unix milliseconds
    revision: int


class InspectSession(TypedDict):
    # its id
    session: str
    # the client program, as it gave it to session.hello
    client: str
    # the instance of the program, as it gave it to session.hello
    instance: str
    # the user id of its process
    uid: int
    # when it connected, Unix milliseconds by the pod's clock
    since_at_ms: int
    # its calls in flight, waiting ones included
    inflight: int
    # it is subscribed to events
    events: bool
    # the leases that it holds
    held: list[InspectHeld]


class InspectSidecar(TypedDict):
    # its id, made when it started; explanations of waiting lines use it
    sidecar: str
    # it is the sidecar that answers this call
    self: NotRequired[bool]
    # the name of its pod, as groups of consumers use it; empty = unknown
    pod: str
    # host:port of its health pages, where host is an address of the pod; empty = it has no health pages
    address: str
    # its version
    version: str
    # when it started, by the clock of its pod, Unix milliseconds
    started_at_ms: int
    # how many rules it has in force
    rules: int
    # the newest revision among its rules, Unix milliseconds; 0 = it has no rules
    rules_revision: int
    # milliseconds since its last heartbeat
    seen_ms: int


class InspectSidecarsParams(TypedDict):
    # the cursor that the previous page returned; absent = the first page
    cursor: NotRequired[str]
    # about how many entries to list
    count: NotRequired[int]


class InspectSidecarsResult(TypedDict):
    # the entries of this page; a page may be empty without being the last
    sidecars: list[InspectSidecar]
    # how many sidecars there are, on all pages
    total: int
    # the cursor of the next page; absent = this was the last page
    cursor: NotRequired[str]


class InspectSlow(TypedDict):
    # the method
    method: str
    # milliseconds from reading the call to answering it
    duration_ms: int
    # when it was answered, Unix milliseconds by the pod's clock
    at_ms: int
    # OK, or the code of its error
    code: str


class InspectSlowScript(TypedDict):
    # the script
    script: str
    # milliseconds from sending it to its reply
    duration_ms: int
    # when the reply came, Unix milliseconds by the pod's clock
    at_ms: int
    # ok or error
    outcome: str


class InspectStreamGroup(TypedDict):
    # the stream
    stream: str
    # the group
    group: str
    # subscriptions to it on connections of this sidecar
    subscriptions: int
    # calls of stream.fetch that wait in this sidecar
    fetches: int
    # messages that were sent to these subscriptions and are not acknowledged
    in_flight: int
    # messages that this sidecar has read and not yet sent to a client
    unsent: int
    # messages that the group has not been given yet, counted within the last half minute; a lower bound if Redis cannot count them
    lag: int
    # messages that the group was given and has not acknowledged, in all pods, counted at the same time as lag
    pending: int


class InspectTimes(TypedDict):
    # the method or the script
    name: str
    # how many calls or runs there were
    count: int
    # how many of them ended with an error
    errors: int
    # how long they took all together, in microseconds
    sum_us: int
    # the median in microseconds, estimated from the metric's buckets
    p50_us: int
    # the 99th percentile in microseconds, estimated from the metric's buckets
    p99_us: int


class ItemError(TypedDict):
    # a code, as of an error
    code: str
    # the error text
    message: str


class Limits(TypedDict):
    # the longest frame, in bytes
    max_frame_bytes: int
    # how deeply a frame may be nested
    max_depth: int
    # the most elements of an array or a map
    max_elements: int
    # the most running calls of a connection
    max_inflight: int
    # the most waiting calls of a connection
    max_waiting: int
    # the most connections to the sidecar
    max_connections: int
    # the most bytes of memory for all connections together: half for unfinished frames and unread replies, half for calls in flight
    max_total_bytes: int
    # the most waiting calls of all connections together
    max_total_waiting: int


class LockAcquireParams(TypedDict):
    # the lock
    name: str
    # milliseconds that the lease lasts unless it is renewed
    ttl_ms: NotRequired[int]
    # how many milliseconds the call may be in the waiting line, within its deadline; first come, first served across all pods
    wait_ms: NotRequired[int]
    # the owner's secret; the sidecar makes one when it is absent
    token: NotRequired[str]
    # how many replicas of Redis must have the grant; if fewer do in time, it is given back. A second holder after a failover becomes less
    # likely
    wait_replicas: NotRequired[int]
    # milliseconds after which it is lost even if it is renewed; 0 = never
    max_hold_ms: NotRequired[int]
    # a text that is shown with the holder, such as a job's id; at most 512 bytes
    meta: NotRequired[str]
    # session = the sidecar renews it while this connection is open and releases it when the connection closes; ttl = it does neither
    bind: NotRequired[Literal["session", "ttl"]]


class LockAcquireResult(TypedDict):
    # the lock is held by this token
    acquired: bool
    # the owner's secret, for renew and release
    token: NotRequired[str]
    # a decimal number that rises with every new owner; pass it to what the lock protects
    fence: NotRequired[str]
    # the least milliseconds that the present owner's lease has left
    ttl_ms: int
    # the holder, if the lock is not acquired
    held_by: NotRequired[Holder]
    # 0 when acquired; else milliseconds until the holder's lease ends, or until it is worth asking again while other calls are in the
    # waiting line
    retry_after_ms: int
    # milliseconds that the call was in the waiting line before Redis was asked for the result, rounded down
    waited_ms: NotRequired[int]
    # the call repeats an earlier one with the same request id, and this is about the grant of that one
    replayed: NotRequired[bool]
    # why it is not acquired: busy = others hold it or are before this call in the waiting line; replicas = too few replicas had the grant
    # in time, so it was given back; released or expired = how the grant of a repeated call ended
    reason: NotRequired[Literal["busy", "replicas", "released", "expired"]]


class LockEntry(TypedDict):
    # the lock
    name: str
    # the owner's fence
    fence: str
    # milliseconds until the lease ends
    ttl_ms: int
    # the holder
    held_by: Holder
    # how many calls are in its waiting line
    waiting: NotRequired[int]


class LockExplainResult(TypedDict):
    # what a call without wait_ms would get now: acquired; busy = the lock is held, or other calls are in its waiting line
    decision: Literal["acquired", "busy"]
    # 0 when it would be acquired; else milliseconds until the holder's lease ends, or until it is worth asking again while other calls are
    # in the waiting line
    retry_after_ms: int
    # the decision as a sentence for people
    text: str
    # it is held
    held: bool
    # the holder
    held_by: NotRequired[Holder]
    # the owner's fence
    fence: NotRequired[str]
    # milliseconds until the lease ends unless it is renewed
    ttl_ms: NotRequired[int]
    # what keeps it held: session = a sidecar renews it while the owner's connection is open; ttl = only the owner renews it
    bind: NotRequired[Literal["session", "ttl"]]
    # when the owner's max_hold_ms ends, beyond which no renewal extends the lease, by the Redis server's clock, Unix milliseconds; absent =
    # never
    final_at_ms: NotRequired[int]
    # how many calls are in its waiting line
    waiting: int
    # which sidecars these calls belong to, in the order of their first calls; of the first 1,000 calls at most, and at most 20 sidecars
    line: list[ExplainLine]


class LockForceReleaseParams(TypedDict):
    # the lock
    name: str
    # the reason, for the log and the event; at most 512 bytes
    reason: NotRequired[str]


class LockForceReleaseResult(TypedDict):
    # the lock was held, and is free now
    released: bool
    # the fence of the former holder
    fence: NotRequired[str]
    # the former holder
    held_by: NotRequired[Holder]


class LockGetParams(TypedDict):
    # the lock
    name: str


class LockGetResult(TypedDict):
    # it is held
    held: bool
    # the present owner's fence
    fence: NotRequired[str]
    # milliseconds until the lease ends
    ttl_ms: NotRequired[int]
    # the holder
    held_by: NotRequired[Holder]
    # how many calls are in its waiting line
    waiting: NotRequired[int]


class LockListParams(TypedDict):
    # the cursor that the previous page returned; absent = the first page
    cursor: NotRequired[str]
    # about how many entries to list
    count: NotRequired[int]
    # held = all held locks; waited = only held locks with calls in their waiting lines; absent = held
    state: NotRequired[Literal["held", "waited"]]


class LockListResult(TypedDict):
    # the held locks of this page; a page may be empty without being the last
    locks: list[LockEntry]
    # the cursor of the next page; absent = this was the last page
    cursor: NotRequired[str]


class LockReleaseParams(TypedDict):
    # the lock
    name: str
    # the owner's secret
    token: str


class LockReleaseResult(TypedDict):
    # this token held the lock, which is free now
    released: bool
    # the outcome; not_owner = another owner holds it now; expired = this lease had ended
    reason: Literal["released", "not_owner", "expired"]


class LockRenewParams(TypedDict):
    # the lock
    name: str
    # the owner's secret
    token: str
    # milliseconds that the lease lasts from now on
    ttl_ms: NotRequired[int]


class LockRenewResult(TypedDict):
    # the lock is held for another ttl_ms
    renewed: bool
    # the grant's fence, unchanged
    fence: NotRequired[str]
    # the least milliseconds that the lease has left; 0 when this token does not hold the lock
    ttl_ms: int
    # the outcome; not_owner = another owner holds it now; expired = this lease had ended
    reason: Literal["renewed", "not_owner", "expired"]


class LostParams(TypedDict):
    # the name of what was held
    name: str
    # the owner's secret
    token: str
    # the lost grant's fence
    fence: str
    # not_owner = another owner holds it now; expired = Redis no longer has the lease; unreachable = the sidecar could not renew it in time;
    # max_hold = it was held for max_hold_ms
    reason: Literal["not_owner", "expired", "unreachable", "max_hold"]


class Match(TypedDict):
    # this key
    exact: NotRequired[str]
    # keys of this form: * stands for any text, ? for one character; \ before either makes it literal
    glob: NotRequired[str]
    # this domain and those under it: example.com matches a.example.com, not anexample.com; case is ignored
    suffix: NotRequired[str]


class MethodDescription(TypedDict):
    # the method
    name: str
    # what it does
    summary: str
    # a call may be repeated without a request id
    idempotent: bool
    # it may also be sent as a notification
    notify: bool
    # the configuration can switch it off or restrict it to some uids
    admin: bool
    # the first version of the sidecar that has it
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
    # as in allow
    exact: NotRequired[str]
    # as in allow
    glob: NotRequired[str]
    # as in allow
    suffix: NotRequired[str]
    # the bands for these keys; absent = the rule's
    limits: NotRequired[list[Band]]
    # how many grants may be held at once; absent or 0 = the rule's
    max_concurrent: NotRequired[int]


class Penalty(TypedDict):
    # the HTTP statuses that pause the key; absent = 429 and 503
    codes: NotRequired[list[int]]
    # the length of the first pause in milliseconds, if the server gives none; absent = 60000
    base_ms: NotRequired[int]
    # the length of the longest pause in milliseconds; each pause is twice as long as the last one; absent = 86400000
    max_ms: NotRequired[int]
    # milliseconds after the end of a pause after which the next pause counts as the first again; absent = 1800000
    forgive_ms: NotRequired[int]
    # by what percentage a pause that the server did not give is made longer or shorter at random, so that not all callers return at once;
    # absent = 10
    jitter_percent: NotRequired[int]


class PermitAcquireParams(TypedDict):
    # the pool
    pool: str
    # the rule (token_bucket), under which each member has its own bucket; absent = no limit
    rule: NotRequired[str]
    # the policy of the members' breakers (default = the built-in one); absent = breakers are not used
    breaker: NotRequired[str]
    # how much is taken from the member's bucket
    cost: NotRequired[int]
    # milliseconds that the lease lasts unless it is renewed
    lease_ms: NotRequired[int]
    # how many milliseconds the call may be in the waiting line of this pool, scope, rule and breaker, within its deadline; first come,
    # first served across all pods
    wait_ms: NotRequired[int]
    # as for pool.acquire
    scope: NotRequired[str]
    # members not to take, at most 100
    exclude: NotRequired[list[str]]
    # as for pool.acquire
    sticky: NotRequired[str]
    # session = the sidecar renews it while this connection is open and gives it back when the connection closes; ttl = it does neither
    bind: NotRequired[Literal["session", "ttl"]]


class PermitAcquireResult(TypedDict):
    # the member is leased to this caller, and the cost is taken
    acquired: bool
    # the member
    id: NotRequired[str]
    # the lease, for permit.renew and permit.report
    lease: NotRequired[str]
    # a decimal number that rises with every lease of the pool
    fence: NotRequired[str]
    # the text that pool.put gave the member
    meta: NotRequired[str]
    # the generation of its breaker; permit.report uses it by itself
    generation: NotRequired[int]
    # its breaker is half open, and this permit is a probe
    probe: NotRequired[bool]
    # how much is left in the member's bucket, rounded down
    remaining: int
    # when it was last acquired in this scope before this call, Unix milliseconds; 0 = never
    last_used_at_ms: NotRequired[int]
    # 0 when acquired; else milliseconds until the first member becomes available, rounded up; -1 = none will unless something changes
    retry_after_ms: int
    # that instant, by the Redis server's clock, Unix milliseconds
    next_at_ms: NotRequired[int]
    # milliseconds that the call was in the waiting line before Redis was asked for the result, rounded down
    waited_ms: NotRequired[int]
    # the call repeats an earlier one with the same request id, and this is about the permit of that one
    replayed: NotRequired[bool]
    # why there is none, for the member that becomes available first: as in pool.acquire, and open = its breaker is open; limit = its bucket
    # has too little; pause = it is paused
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
    # the lease that permit.acquire returned
    lease: str
    # milliseconds that the lease lasts from now on
    lease_ms: NotRequired[int]


class PermitReportParams(TypedDict):
    # the pool
    pool: str
    # the lease that permit.acquire returned
    lease: str
    # as in pool.release; for the breaker, ok is a success, cancelled is ignored, and any other is a failure
    outcome: NotRequired[Literal["ok", "soft_block", "hard_block", "transport", "captcha", "fail", "ban", "cancelled"]]
    # the HTTP status: one of the rule's penalty.codes pauses the member
    status: NotRequired[int]
    # the Retry-After of the server, in milliseconds; 0 or less (a date that has passed, for example) = it asks for no pause; absent = it
    # gave none. The Go client omits a 0: give -1 there
    retry_after_ms: NotRequired[int]
    # milliseconds that the work took, for the breaker's slow rate
    duration_ms: NotRequired[int]
    # the least milliseconds that the member cools down in the scope, whatever the outcome
    cooldown_ms: NotRequired[int]
    # milliseconds that a ban from this call lasts; absent or 0 = until pool.unban
    unban_after_ms: NotRequired[int]


class PermitReportResult(TypedDict):
    # the permit was in force, and its member is given back; false = nothing was counted
    released: bool
    # the outcome; not_owner = another owner holds it now; expired = this lease had ended
    reason: Literal["released", "not_owner", "expired"]
    # the state of the member after the call
    state: NotRequired[Literal["free", "cooling", "banned"]]
    # the state of its breaker
    breaker: NotRequired[Literal["closed", "open", "half_open", "forced_open", "forced_closed", "disabled"]]
    # when it becomes available, by the Redis server's clock, Unix milliseconds; 0 = now; -1 = it will not unless something changes
    next_at_ms: NotRequired[int]


class PingResult(TypedDict):
    # the pod's clock, Unix milliseconds
    now_at_ms: int


class PoolAcquireParams(TypedDict):
    # the pool
    pool: str
    # milliseconds that the lease lasts unless it is renewed
    lease_ms: NotRequired[int]
    # how many milliseconds the call may be in the waiting line, within its deadline; first come, first served across all pods
    wait_ms: NotRequired[int]
    # what the member is used for, such as a host; last use and cooldowns are kept for each scope on its own
    scope: NotRequired[str]
    # members not to take, at most 100
    exclude: NotRequired[list[str]]
    # a name that the caller chooses: a later call with the same name gets the same member again, if it is available when it is that call's
    # turn
    sticky: NotRequired[str]
    # session = the sidecar renews it while this connection is open and gives it back when the connection closes; ttl = it does neither
    bind: NotRequired[Literal["session", "ttl"]]


class PoolAcquireResult(TypedDict):
    # the member is leased to this caller
    acquired: bool
    # the member
    id: NotRequired[str]
    # the lease, for pool.renew and pool.release
    lease: NotRequired[str]
    # a decimal number that rises with every lease of the pool
    fence: NotRequired[str]
    # the text that pool.put gave the member
    meta: NotRequired[str]
    # when it was last acquired in this scope before this call, Unix milliseconds; 0 = never
    last_used_at_ms: NotRequired[int]
    # 0 when acquired; else milliseconds until the first member becomes available, rounded up; -1 = none will unless something changes
    retry_after_ms: int
    # that instant, by the Redis server's clock, Unix milliseconds
    next_at_ms: NotRequired[int]
    # milliseconds that the call was in the waiting line before Redis was asked for the result, rounded down
    waited_ms: NotRequired[int]
    # the call repeats an earlier one with the same request id, and this is about the lease of that one
    replayed: NotRequired[bool]
    # why there is none, for the member that becomes available first: busy = it is leased, or other calls are in the waiting line; cooling;
    # banned; empty = the pool has no members except excluded ones; released or expired = how the lease of a repeated call ended
    reason: NotRequired[Literal["busy", "cooling", "banned", "empty", "released", "expired"]]


class PoolBanParams(TypedDict):
    # the pool
    pool: str
    # the member
    id: str
    # milliseconds that the ban lasts; absent or 0 = until pool.unban
    for_ms: NotRequired[int]


class PoolBanResult(TypedDict):
    # the call changed the member's state
    changed: bool


class PoolEntry(TypedDict):
    # the member
    id: str
    # the text that pool.put gave it
    meta: NotRequired[str]
    # its state; a member that is banned or cooling while it is still leased is leased
    state: Literal["free", "leased", "cooling", "banned"]
    # milliseconds that this state lasts; 0 = free, -1 = until pool.unban
    for_ms: int
    # the holder
    held_by: NotRequired[Holder]
    # when it was last acquired in the scope, by the Redis server's clock, Unix milliseconds; 0 = never
    last_used_at_ms: int
    # failures in a row
    failures: int
    # the state of its breaker, if it has one
    breaker: NotRequired[Literal["closed", "open", "half_open", "forced_open", "forced_closed", "disabled"]]
    # milliseconds that it is still paused for permits
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
    # what a call without wait_ms would get now: acquired, or why there is no member, for the one that becomes available first: busy = it is
    # leased, or other calls are in the waiting line; cooling; banned; empty = there is no such member; open = its breaker is open; limit =
    # its bucket has too little; pause = it is paused
    decision: Literal["acquired", "busy", "cooling", "banned", "empty", "open", "limit", "pause"]
    # 0 when a member would be acquired; else milliseconds until the first one becomes available, rounded up; -1 = none will unless
    # something changes
    retry_after_ms: int
    # the decision as a sentence for people
    text: str
    # the member that would be acquired, or else the one that becomes available first
    id: NotRequired[str]
    # how many members were considered: all except excluded ones, or the one of id
    members: int
    # how many of them are available now
    free: int
    # why the others are not available, in the order in which they become available; each member is counted under the reason that lasts
    # longest
    reasons: list[ExplainReason]
    # leased members and their holders, in the order in which their leases end, at most 20
    holders: list[PoolHolder]
    # the rule of a permit
    rule: NotRequired[str]
    # the rule's bands for the member of id, as limit/period, such as 80/10m
    limits: NotRequired[list[str]]
    # limits are those of an override for that member
    override: NotRequired[bool]
    # the rule is in shadow: it refuses nothing
    shadow: NotRequired[bool]
    # the policy of the members' breakers, for a permit
    breaker: NotRequired[str]
    # how many calls are in the waiting line of this pool, scope, rule and breaker
    waiting: int
    # which sidecars these calls belong to, as in lock.explain
    line: list[ExplainLine]


class PoolHolder(TypedDict):
    # the member
    id: str
    # milliseconds until the lease ends unless it is renewed, rounded up
    left_ms: int
    # the holder
    held_by: Holder


class PoolListParams(TypedDict):
    # the pool
    pool: str
    # the scope whose last use and cooldowns to show
    scope: NotRequired[str]
    # the cursor that the previous page returned; absent = the first page
    cursor: NotRequired[str]
    # how many members to list
    count: NotRequired[int]


class PoolListResult(TypedDict):
    # the members of this page, in the order in which they were added
    members: list[PoolEntry]
    # the cursor of the next page; absent = this was the last page
    cursor: NotRequired[str]


class PoolListed(TypedDict):
    # the pool
    pool: str
    # members
    total: int
    # leased members, even if they are also cooling or banned
    live: int
    # members that are not leased and are cooling down outside of any scope
    cooling: int
    # members that are not leased and are banned
    banned: int
    # all other members
    free: int
    # members whose breaker is open or forced open, whatever their state
    open: int
    # how many waiting lines with calls it has; there is one line for each scope, rule and breaker policy
    lines: int
    # leased members and their holders, in the order in which their leases end, at most 3
    holders: list[PoolHolder]


class PoolMember(TypedDict):
    # the member
    id: str
    # a text that the caller who acquires the member is given, at most 4096 bytes
    meta: NotRequired[str]


class PoolPoolsParams(TypedDict):
    # the cursor that the previous page returned; absent = the first page
    cursor: NotRequired[str]
    # about how many entries to list
    count: NotRequired[int]
    # exhausted = only pools without a free member; waited = only those with calls in their waiting lines; absent = all
    state: NotRequired[Literal["exhausted", "waited"]]


class PoolPoolsResult(TypedDict):
    # the pools of this page; a page may be empty without being the last
    pools: list[PoolListed]
    # the cursor of the next page; absent = this was the last page
    cursor: NotRequired[str]


class PoolPutParams(TypedDict):
    # the pool, which the first member creates; it has at most 10000 members
    pool: str
    # 1 to 1000 members
    members: list[PoolMember]


class PoolPutResult(TypedDict):
    # how many members are new
    added: int
    # how many members the pool has now
    total: int


class PoolReleaseParams(TypedDict):
    # the pool
    pool: str
    # the lease that pool.acquire returned
    lease: str
    # ok = clears the member's failures; cancelled = shows nothing about the member, for example because it was not used; ban = bans it; any
    # other makes it cool down, longer with each one in a row; see docs/pool.md
    outcome: NotRequired[Literal["ok", "soft_block", "hard_block", "transport", "captcha", "fail", "ban", "cancelled"]]
    # the least milliseconds that the member cools down in the scope, whatever the outcome
    cooldown_ms: NotRequired[int]
    # milliseconds that a ban from this call lasts; absent or 0 = until pool.unban
    unban_after_ms: NotRequired[int]


class PoolReleaseResult(TypedDict):
    # the lease was in force, and the member is given back
    released: bool
    # the outcome; not_owner = another owner holds it now; expired = this lease had ended
    reason: Literal["released", "not_owner", "expired"]
    # the state of the member after the call
    state: NotRequired[Literal["free", "cooling", "banned"]]
    # when it becomes available, by the Redis server's clock, Unix milliseconds; 0 = now; -1 = after pool.unban
    next_at_ms: NotRequired[int]


class PoolRemoveParams(TypedDict):
    # the pool
    pool: str
    # 1 to 1000 members
    ids: list[str]


class PoolRemoveResult(TypedDict):
    # how many of them the pool had
    removed: int
    # how many members the pool has now
    total: int


class PoolRenewParams(TypedDict):
    # the pool
    pool: str
    # the lease that pool.acquire returned
    lease: str
    # milliseconds that the lease lasts from now on
    lease_ms: NotRequired[int]


class PoolRenewResult(TypedDict):
    # the member is leased for another lease_ms
    renewed: bool
    # the least milliseconds that the lease has left; 0 when it is not in force
    lease_ms: int
    # the outcome; not_owner = another owner holds it now; expired = this lease had ended
    reason: Literal["renewed", "not_owner", "expired"]


class PoolStatsParams(TypedDict):
    # the pool
    pool: str
    # the scope whose cooldowns count
    scope: NotRequired[str]


class PoolStatsResult(TypedDict):
    # members
    total: int
    # leased members, even if they are also cooling or banned
    live: int
    # members that are not leased and are cooling down in the scope
    cooling: int
    # members that are not leased and are banned
    banned: int
    # all other members
    free: int
    # calls in the scope's waiting line without a rule
    waiting: int
    # members whose breaker is open or forced open, whatever their state
    open: int


class PoolUnbanParams(TypedDict):
    # the pool
    pool: str
    # the member
    id: str


class PubsubGap(TypedDict):
    # the id that pubsub.subscribe returned
    subscription: str
    # how many messages were not sent; -1 = unknown, because Redis was unreachable
    dropped: int


class PubsubMessage(TypedDict):
    # the id that pubsub.subscribe returned
    subscription: str
    # the channel
    channel: str
    # the pattern that matched; absent if the subscription names the channel. A message that several patterns match is sent once for each
    pattern: NotRequired[str]
    # the body of the message
    body: bytes


class PubsubPublishParams(TypedDict):
    # the channel
    channel: str
    # any bytes, at most 256 KiB
    body: NotRequired[bytes]


class PubsubPublishResult(TypedDict):
    # to how many sidecars the Redis node that was asked sent the message, where a sidecar counts once for the channel and once for each
    # pattern that matches it; 0 = the channel has no subscriber, if the whole fleet uses one Redis node
    receivers: int


class PubsubSubscribeParams(TypedDict):
    # channels to subscribe to; channels and patterns are at most 256 together
    channels: NotRequired[list[str]]
    # patterns of channels as in Redis: * ? [ab], and a backslash before a character that stands for itself
    patterns: NotRequired[list[str]]
    # how many messages are kept while the client does not read this connection; further ones are dropped, and pubsub.gap reports how many
    buffer: NotRequired[int]


class PubsubSubscribeResult(TypedDict):
    # the id of the subscription, for pubsub.unsubscribe; its messages carry it
    subscription: str


class PubsubUnsubscribeParams(TypedDict):
    # the id that pubsub.subscribe returned
    subscription: str


class PubsubUnsubscribeResult(TypedDict):
    # this connection had the subscription, which has ended
    unsubscribed: bool


class QueueAckResult(TypedDict):
    # the lease was in force, and the entry is removed
    acked: bool
    # the outcome; expired = the lease had ended: the entry returned to the head, or another consumer has it
    reason: Literal["acked", "expired"]


class QueueCancelResult(TypedDict):
    # the entry was removed
    cancelled: bool
    # the state in which the call found it
    state: Literal["waiting", "leased", "absent"]


class QueueDequeueParams(TypedDict):
    # the queue
    queue: str
    # how many milliseconds the call may wait for an entry, within its deadline; first come, first served across all pods
    wait_ms: NotRequired[int]
    # milliseconds within which the entry must be acknowledged, at least 100; 0 = no lease: it is removed from the queue at once
    lease_ms: NotRequired[int]
    # ttl = the lease lasts lease_ms unless it is renewed; session = the sidecar renews it while this connection is open, and returns the
    # entry to the head when the connection closes
    bind: NotRequired[Literal["session", "ttl"]]


class QueueDequeueResult(TypedDict):
    # an entry was taken
    found: bool
    # its id
    id: NotRequired[str]
    # its body
    body: NotRequired[bytes]
    # the lease, for queue.ack, queue.release and queue.renew
    lease: NotRequired[str]
    # how many times it has been taken, counting from 1
    attempt: NotRequired[int]
    # when it was added, by the Redis server's clock, Unix milliseconds
    enqueued_at_ms: NotRequired[int]
    # how many entries are left in the queue
    depth: int
    # 0 when found; else milliseconds until it is worth asking again: until a lease ends and its entry may return, at most 1000
    retry_after_ms: int
    # milliseconds that the call waited before Redis was asked for the result, rounded down
    waited_ms: NotRequired[int]
    # the call repeats an earlier one with the same request id, and this is the entry of that one
    replayed: NotRequired[bool]
    # why there is none: empty; busy = other calls wait for an entry; released or expired = how the lease of a repeated call ended
    reason: NotRequired[Literal["empty", "busy", "released", "expired"]]


class QueueEnqueueParams(TypedDict):
    # the queue
    queue: str
    # the id of the entry; a queue has an id only once
    id: str
    # milliseconds until the entry expires unless it is taken; it does not expire while it is leased
    ttl_ms: NotRequired[int]
    # any bytes, at most 256 KiB, which queue.dequeue returns
    body: NotRequired[bytes]


class QueueEnqueueResult(TypedDict):
    # the entry was added; false = the queue had its id already, and that entry is unchanged
    enqueued: bool
    # its position, 1 = the first; entries that expired and are not yet removed count too; 0 = it is leased
    position: int
    # how many entries are in the queue
    depth: int
    # this is the stored reply of an earlier call with the same request id; the entry may have been taken since then
    replayed: NotRequired[bool]


class QueueEntryParams(TypedDict):
    # the queue
    queue: str
    # the entry
    id: str


class QueueHolder(TypedDict):
    # the entry
    id: str
    # how many times it has been taken, counting from 1
    attempt: int
    # milliseconds until the lease ends unless it is renewed, rounded up
    left_ms: int
    # the connection that took it, as inspect.snapshot of its sidecar lists it
    session: str


class QueueLeaseParams(TypedDict):
    # the queue
    queue: str
    # the lease that queue.dequeue returned
    lease: str


class QueueListParams(TypedDict):
    # the cursor that the previous page returned; absent = the first page
    cursor: NotRequired[str]
    # about how many entries to list
    count: NotRequired[int]
    # entries = only queues in which entries wait to be taken; leased = only queues with leased entries; empty = only queues in which no
    # entry waits; absent = all
    state: NotRequired[Literal["entries", "leased", "empty"]]


class QueueListResult(TypedDict):
    # the entries of this page; a page may be empty without being the last
    queues: list[QueueListed]
    # the cursor of the next page; absent = this was the last page
    cursor: NotRequired[str]


class QueueListed(TypedDict):
    # the queue
    queue: str
    # entries that wait to be taken; entries that expired and are not yet removed count too
    depth: int
    # entries that are leased
    leased: int
    # calls that wait for an entry
    waiting: int
    # milliseconds since the first entry was added; 0 when there is none
    oldest_ms: int
    # leased entries and their holders, in the order in which their leases end, at most 3
    holders: list[QueueHolder]


class QueueParams(TypedDict):
    # the queue
    queue: str


class QueuePositionResult(TypedDict):
    # waiting = it waits to be taken; leased; absent = it was taken, has expired or was never added
    state: Literal["waiting", "leased", "absent"]
    # its position, 1 = the first; entries that expired and are not yet removed count too; 0 unless it is waiting
    position: int
    # how many entries are in the queue
    depth: int


class QueueReleaseResult(TypedDict):
    # the entry is at the head of the queue again
    released: bool
    # the outcome; expired = the lease had ended
    reason: Literal["released", "expired"]


class QueueRenewParams(TypedDict):
    # the queue
    queue: str
    # the lease that queue.dequeue returned
    lease: str
    # milliseconds that the lease lasts from now on
    lease_ms: int


class QueueRenewResult(TypedDict):
    # the entry is leased for another lease_ms
    renewed: bool
    # the least milliseconds that the lease has left; 0 when it is not renewed
    lease_ms: int
    # the outcome; expired = the lease had ended
    reason: Literal["renewed", "expired"]


class QueueStatsResult(TypedDict):
    # entries that wait to be taken; entries that expired and are not yet removed count too
    depth: int
    # entries that are leased
    leased: int
    # calls that wait for an entry
    waiting: int
    # milliseconds since the first entry was added; 0 when there is none
    oldest_ms: int


class RatelimitAnyParams(TypedDict):
    # the rule's name; or give algorithm and limits instead
    rule: NotRequired[str]
    # the algorithm of a limit given in full
    algorithm: NotRequired[Literal["token_bucket", "leaky_bucket", "fixed_window", "sliding_window_log", "sliding_window_counter"]]
    # the bands of a limit given in full, 1 to 4
    limits: NotRequired[list[Band]]
    # 1 to 100 keys, the preferred first
    keys: list[str]
    # how much to take
    cost: NotRequired[int]
    # what decides while Redis does not answer
    fail_mode: NotRequired[Literal["closed", "open", "local"]]


class RatelimitAnyResult(TypedDict):
    # the key that was allowed, or else the key that will be allowed soonest
    key: str
    # the decision for that key, as ratelimit.acquire returns it
    result: RatelimitResult


class RatelimitDeleteRuleParams(TypedDict):
    # the rule
    name: str


class RatelimitDeleteRuleResult(TypedDict):
    # the rule was in Redis, and was removed
    deleted: bool


class RatelimitDoneResult(TypedDict):
    # the grant's permit was given back; false = it held none
    done: bool


class RatelimitExplainParams(TypedDict):
    # the rule's name; or give algorithm and limits instead
    rule: NotRequired[str]
    # the algorithm of a limit given in full
    algorithm: NotRequired[Literal["token_bucket", "leaky_bucket", "fixed_window", "sliding_window_log", "sliding_window_counter"]]
    # the bands of a limit given in full, 1 to 4
    limits: NotRequired[list[Band]]
    # the key
    key: str
    # the group that is counted instead of the key
    group: NotRequired[str]


class RatelimitExplainResult(TypedDict):
    # the rule's name, empty for a limit given in full
    rule: str
    # the algorithm
    algorithm: str
    # the revision of the rule; 0 for a limit given in full
    revision: int
    # the name under which the state is kept: the group or the key
    counted: str
    # the override in force, as it is written, such as glob:api-*
    override: NotRequired[str]
    # the list of the rule that has the key, which then decides alone
    list: NotRequired[Literal["allow", "deny"]]
    # the rule is in shadow: it refuses nothing
    shadow: NotRequired[bool]
    # what a call of cost 1 would get now: allowed, or the denied_by of its refusal
    decision: Literal["allowed", "limit", "pause", "delay", "concurrency", "deny_list"]
    # milliseconds until such a call would be allowed, rounded up; -1 = never
    retry_after_ms: int
    # each band
    bands: list[ExplainBand]
    # the pause, if one is in force
    pause: NotRequired[ExplainPause]
    # the delay, if one is in force
    delay: NotRequired[ExplainDelay]
    # how many pauses the remote server's refusals have led to
    penalty: NotRequired[ExplainPenalty]
    # how many grants may be held at once
    max_concurrent: NotRequired[int]
    # who holds permits, in the order in which they end, at most 100
    held: list[ExplainHolder]
    # how many calls are in the waiting line for a permit
    waiting: NotRequired[int]
    # what this sidecar has charged ahead and not yet used, in mode leased; the bands count it as used
    block: NotRequired[ExplainBlock]


class RatelimitGrantParams(TypedDict):
    # the grant that ratelimit.acquire returned
    grant: str


class RatelimitItem(TypedDict):
    # the rule's name; or give algorithm and limits instead
    rule: NotRequired[str]
    # the algorithm of a limit given in full
    algorithm: NotRequired[Literal["token_bucket", "leaky_bucket", "fixed_window", "sliding_window_log", "sliding_window_counter"]]
    # the bands of a limit given in full, 1 to 4
    limits: NotRequired[list[Band]]
    # what the limit counts
    key: str
    # is counted instead of the key
    group: NotRequired[str]
    # how much to take
    cost: NotRequired[int]
    # what decides while Redis does not answer
    fail_mode: NotRequired[Literal["closed", "open", "local"]]


class RatelimitItemResult(TypedDict):
    # the decision, as ratelimit.acquire returns it
    result: NotRequired[RatelimitResult]
    # why there is no decision
    error: NotRequired[ItemError]


class RatelimitManyParams(TypedDict):
    # 1 to 100 acquisitions, each as ratelimit.acquire without wait_ms
    items: list[RatelimitItem]
    # take all or none; all items must have the same rule and group
    atomic: NotRequired[bool]


class RatelimitManyResult(TypedDict):
    # one for each item, in their order
    results: list[RatelimitItemResult]


class RatelimitParams(TypedDict):
    # the rule's name; or give algorithm and limits instead
    rule: NotRequired[str]
    # the algorithm of a limit given in full
    algorithm: NotRequired[Literal["token_bucket", "leaky_bucket", "fixed_window", "sliding_window_log", "sliding_window_counter"]]
    # the bands of a limit given in full, 1 to 4; limits with different bands are different limits, which share only the pauses and delays
    # of the key
    limits: NotRequired[list[Band]]
    # what the limit counts, such as a host or an account
    key: str
    # is counted instead of the key, for all keys of the group together; absent = the group that the rule has for the key, if any
    group: NotRequired[str]
    # the pool whose member the key is: the call uses the member's bucket under the rule and its pause, as permits do; not with group,
    # wait_ms, algorithm or limits
    pool: NotRequired[str]
    # how much to take; 0 takes nothing, like ratelimit.peek. The Go client omits a 0, which then takes 1: use RatelimitPeek there
    cost: NotRequired[int]
    # milliseconds that the call may wait for a slot, first come, first served; if the slot is further away, the call is refused at once.
    # ratelimit.peek never waits. Not with sliding_window_counter
    wait_ms: NotRequired[int]
    # what decides while Redis does not answer: closed = the call fails with UNAVAILABLE, open = it is allowed, local = this sidecar limits
    # it from its own memory; absent = that of the rule, which is open by default
    fail_mode: NotRequired[Literal["closed", "open", "local"]]


class RatelimitPauseParams(TypedDict):
    # the rule's name; absent for a limit that is given in full
    rule: NotRequired[str]
    # the key
    key: str
    # the group that is counted instead of the key
    group: NotRequired[str]
    # milliseconds from now; or give until_at_ms instead
    for_ms: NotRequired[int]
    # when the pause ends, by the Redis server's clock, Unix milliseconds, within 366 days
    until_at_ms: NotRequired[int]
    # the reason, for people
    reason: NotRequired[str]
    # the pool whose member the key is: the pause is the member's, which permits respect under any rule
    pool: NotRequired[str]


class RatelimitPauseResult(TypedDict):
    # when the longest pause ends, by the Redis server's clock, Unix milliseconds
    paused_until_at_ms: int


class RatelimitPutRuleParams(TypedDict):
    # the rule
    rule: Rule


class RatelimitPutRuleResult(TypedDict):
    # the revision of the rule, Unix milliseconds
    revision: int
    # it replaced a rule of this name in Redis
    replaced: bool
    # a file of this sidecar has a rule of this name, which takes precedence
    hidden: bool


class RatelimitRefundResult(TypedDict):
    # what the grant took was given back
    refunded: bool
    # the outcome; repeated = the grant was already refunded; expired = the grant no longer counts, or is unknown (because it was altered,
    # for example)
    reason: Literal["refunded", "repeated", "expired"]


class RatelimitReportParams(TypedDict):
    # the rule's name; absent for a limit that is given in full
    rule: NotRequired[str]
    # what the limit counts
    key: str
    # the group that is counted instead of the key
    group: NotRequired[str]
    # the grant for the request; its permit is given back
    grant: NotRequired[str]
    # the HTTP status of the response
    status: int
    # milliseconds that the response took, for metrics
    latency_ms: NotRequired[int]
    # the Retry-After of the server, in milliseconds; 0 or less (a date that has passed, for example) = it asks for no pause; absent = it
    # gave none. The Go client omits a 0: give -1 there
    retry_after_ms: NotRequired[int]
    # the pool whose member the key is: the pause is the member's, which permits respect
    pool: NotRequired[str]


class RatelimitReportResult(TypedDict):
    # milliseconds until the key's pause ends; 0 = it is not paused
    wait_ms: int
    # that instant by the Redis server's clock, Unix milliseconds
    paused_until_at_ms: NotRequired[int]


class RatelimitResetParams(TypedDict):
    # the rule's name; or give algorithm and limits instead
    rule: NotRequired[str]
    # the algorithm of a limit given in full
    algorithm: NotRequired[Literal["token_bucket", "leaky_bucket", "fixed_window", "sliding_window_log", "sliding_window_counter"]]
    # the bands of a limit given in full, 1 to 4
    limits: NotRequired[list[Band]]
    # the key to forget
    key: str
    # the group that is counted instead of the key
    group: NotRequired[str]
    # the pool whose member the key is: the member's bucket under the rule is forgotten
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
    # the band whose figures these are, as limit/period, such as 80/10m
    band: str
    # the band's limit per period
    limit: int
    # how much could be taken at once now, rounded down
    remaining: int
    # how much counts against the band now, rounded up
    current: int
    # milliseconds until the band is full again, rounded up
    reset_after_ms: int
    # that instant by the Redis server's clock, or by the pod's when degraded, Unix milliseconds; 0 = unknown
    reset_at_ms: int
    # 0 when allowed; else milliseconds until this cost fits if no other call takes from the limit, rounded up; -1 = it never fits
    retry_after_ms: int
    # milliseconds that the call waited for its slot
    waited_ms: int
    # why it was refused, or would have been if the rule were not in shadow: limit = a band is used up; pause = the key is paused; delay =
    # it is too soon after the last admission; concurrency = max_concurrent grants are held; deny_list = the rule's deny list has the key
    denied_by: NotRequired[Literal["limit", "pause", "delay", "concurrency", "deny_list"]]
    # it was allowed only because the rule is in shadow
    shadow: NotRequired[bool]
    # the fail mode decided, because Redis did not answer
    degraded: bool
    # where the decision was made: redis; lease = a block that the sidecar charged ahead, for a rule in mode leased; cache = a refusal of
    # less than a second ago that still holds; local = the fail mode; list = the rule's allow or deny list
    source: Literal["redis", "cache", "local", "list", "lease"]
    # identifies what was taken, for ratelimit.refund, ratelimit.done and ratelimit.report; absent if the source is lease
    grant: NotRequired[str]
    # the grant holds one of max_concurrent permits: give it back by ratelimit.done, or by ratelimit.report with the grant
    held: NotRequired[bool]
    # this is the stored reply of an earlier call with the same request id
    replayed: NotRequired[bool]
    # the decision is degraded, but the cost may also have been taken in Redis
    maybe_executed: NotRequired[bool]


class RatelimitResumeParams(TypedDict):
    # the rule's name; absent for a limit that is given in full
    rule: NotRequired[str]
    # the key
    key: str
    # the group that is counted instead of the key
    group: NotRequired[str]
    # the pool whose member the key is
    pool: NotRequired[str]


class RatelimitResumeResult(TypedDict):
    # the key was paused, and no longer is
    resumed: bool


class RatelimitRulesResult(TypedDict):
    # the rules, sorted by name
    rules: list[RuleInForce]
    # the source whose rule is in force when both have one of the same name
    precedence: Literal["file", "redis"]
    # the names of rules in Redis that this version of the sidecar cannot read; they are not in force here
    unreadable: NotRequired[list[str]]


class RatelimitSetDelayParams(TypedDict):
    # the rule's name; absent for a limit that is given in full
    rule: NotRequired[str]
    # the key
    key: str
    # the group that is counted instead of the key
    group: NotRequired[str]
    # milliseconds from one admission to the next, at most the rule's max_delay_ms; 0 = removes the delay of this source
    delay_ms: NotRequired[int]
    # milliseconds until this source's delay is forgotten
    ttl_ms: NotRequired[int]
    # the source of the delay, such as robots; each source has one delay
    source: NotRequired[str]


class RatelimitSetDelayResult(TypedDict):
    # milliseconds from one admission to the next, the longest of all sources; 0 = none
    delay_ms: int
    # when the delay ends, by the Redis server's clock, Unix milliseconds
    until_at_ms: NotRequired[int]


class RatelimitStatsResult(TypedDict):
    # when the counts began, by the pod's clock, Unix milliseconds
    since_at_ms: int
    # the rules, sorted by name; inline = limits that calls give in full
    rules: list[RuleStats]


class Rule(TypedDict):
    # the name by which calls select the rule
    name: str
    # the algorithm
    algorithm: Literal["token_bucket", "leaky_bucket", "fixed_window", "sliding_window_log", "sliding_window_counter"]
    # its bands, 1 to 4, each with a different period
    limits: list[Band]
    # what decides while Redis does not answer; absent = open
    fail_mode: NotRequired[Literal["closed", "open", "local"]]
    # by how many pods the limit is divided while fail_mode local decides; absent = 1
    local_share_of: NotRequired[int]
    # whether the sidecar repeats a refusal from memory for up to a second; absent = on
    deny_cache: NotRequired[Literal["on", "off"]]
    # other limits for some keys; the first that matches is used
    overrides: NotRequired[list[Override]]
    # keys that are always allowed and never counted
    allow: NotRequired[list[Match]]
    # keys that are always refused; checked before allow
    deny: NotRequired[list[Match]]
    # keys that are counted together; the first that matches is used
    groups: NotRequired[list[Group]]
    # count and report, but refuse nothing
    shadow: NotRequired[bool]
    # how many grants of a key may be held at once; absent or 0 = no bound
    max_concurrent: NotRequired[int]
    # the percentage of each limit and burst that is not given out, since granted requests reach the server late and may bunch up; absent =
    # 0
    headroom_percent: NotRequired[int]
    # the longest delay that ratelimit.set_delay may set, in milliseconds; absent = 60000
    max_delay_ms: NotRequired[int]
    # exact = Redis decides each call; leased = a sidecar charges blocks ahead and admits calls from them in memory, only for token_bucket
    # and fixed_window without max_concurrent; absent = exact
    mode: NotRequired[Literal["exact", "leased"]]
    # how much a sidecar may charge ahead in mode leased, and for how long
    lease: NotRequired[RuleLease]
    # how ratelimit.report treats refusals of the remote server
    penalty: NotRequired[Penalty]


class RuleInForce(TypedDict):
    # the rule, without the fields that have their defaults
    rule: Rule
    # file = the configuration; redis = ratelimit.put_rule
    source: Literal["file", "redis"]
    # it is not in force: the other source has a rule of this name, which takes precedence
    hidden: NotRequired[bool]
    # a number that rises with each change, in Unix milliseconds
    revision: int


class RuleLease(TypedDict):
    # the most that one sidecar may charge ahead for a key, as a percentage of each band's limit, and never more than its burst; absent = 10
    max_share_percent: NotRequired[int]
    # milliseconds after its charge for which a block may be used, at least 10; absent = 1000
    ttl_ms: NotRequired[int]


class RuleStats(TypedDict):
    # the rule's name
    rule: str
    # calls that were allowed, those allowed only by shadow included
    allowed: int
    # calls that were refused, for any reason
    refused: int
    # calls that were allowed only because the rule is in shadow
    shadowed: int
    # calls that a fail mode decided, those that failed included
    degraded: int
    # calls that waited for a slot or a permit and got it
    waited: int
    # the sum of their waiting times, in milliseconds
    waited_ms: int


class SeenCommitParams(TypedDict):
    # the set
    set: str
    # the key
    key: str
    # the token that seen.reserve returned
    token: str
    # milliseconds to remember that the key is done, at most 366 days
    keep_ms: NotRequired[int]


class SeenCommitResult(TypedDict):
    # the key is recorded as done
    committed: bool
    # the outcome; expired = the reservation had ended; another caller may have done it, or may do it now
    reason: Literal["committed", "expired"]


class SeenReleaseParams(TypedDict):
    # the set
    set: str
    # the key
    key: str
    # the token that seen.reserve returned
    token: str


class SeenReleaseResult(TypedDict):
    # the reservation belonged to this token and is given up
    released: bool
    # the outcome; expired = the lease had ended
    reason: Literal["released", "expired"]


class SeenReserveParams(TypedDict):
    # the set
    set: str
    # what is to be done once, such as a URL or its hash
    key: str
    # milliseconds that the reservation lasts unless it is renewed or committed
    ttl_ms: NotRequired[int]
    # session = the sidecar renews it while this connection is open and gives it up when the connection closes; ttl = it does neither
    bind: NotRequired[Literal["session", "ttl"]]


class SeenReserveResult(TypedDict):
    # the caller has the reservation: do it, then commit or release it
    reserved: bool
    # the state of the key before the call: new = not reserved; reserved = reserved by another caller; done = committed
    state: Literal["new", "reserved", "done"]
    # the reservation's token, for seen.commit and seen.release
    token: NotRequired[str]
    # 0 when reserved; else milliseconds until the other reservation ends unless it is renewed, or until the committed key is forgotten
    retry_after_ms: int
    # the call repeats an earlier one with the same request id, and this is about the reservation of that one
    replayed: NotRequired[bool]
    # how the reservation of a repeated call ended
    reason: NotRequired[Literal["released", "expired"]]


class SemaphoreAcquireParams(TypedDict):
    # the semaphore
    name: str
    # how many permits the semaphore has. Redis does not keep the limit: each call uses its own, so pass the same one everywhere
    limit: int
    # how many permits to acquire, at most limit
    permits: NotRequired[int]
    # milliseconds that the lease of the permits lasts unless it is renewed
    ttl_ms: NotRequired[int]
    # how many milliseconds the call may be in the waiting line, within its deadline; first come, first served across all pods: a call for
    # few permits does not overtake one for many
    wait_ms: NotRequired[int]
    # the owner's secret; the sidecar makes one when it is absent
    token: NotRequired[str]
    # how many replicas of Redis must have the grant; if fewer do in time, it is given back
    wait_replicas: NotRequired[int]
    # milliseconds after which they are lost even if they are renewed; 0 = never
    max_hold_ms: NotRequired[int]
    # a text that is shown with the holder, at most 512 bytes
    meta: NotRequired[str]
    # session = the sidecar renews it while this connection is open and releases it when the connection closes; ttl = it does neither
    bind: NotRequired[Literal["session", "ttl"]]


class SemaphoreAcquireResult(TypedDict):
    # this token holds the permits
    acquired: bool
    # the owner's secret, for renew and release
    token: NotRequired[str]
    # a decimal number that rises with every grant; pass it to what the semaphore protects
    fence: NotRequired[str]
    # the least milliseconds that the lease has left; 0 when it is not acquired
    ttl_ms: int
    # how many of the limit's permits are free after this call
    free: int
    # 0 when acquired; else milliseconds until enough leases have ended, or until it is worth asking again while other calls are in the
    # waiting line
    retry_after_ms: int
    # milliseconds that the call was in the waiting line before Redis was asked for the result, rounded down
    waited_ms: NotRequired[int]
    # the call repeats an earlier one with the same request id, and this is about the grant of that one
    replayed: NotRequired[bool]
    # why it is not acquired: busy = others hold it or are before this call in the waiting line; replicas = too few replicas had the grant
    # in time, so it was given back; released or expired = how the grant of a repeated call ended
    reason: NotRequired[Literal["busy", "replicas", "released", "expired"]]


class SemaphoreGetParams(TypedDict):
    # the semaphore
    name: str


class SemaphoreGetResult(TypedDict):
    # how many permits are held
    held: int
    # how many calls are in its waiting line
    waiting: NotRequired[int]
    # the grants, in the order in which their leases end, at most 100
    holders: list[SemaphoreHolder]


class SemaphoreHolder(TypedDict):
    # how many permits it holds
    permits: int
    # its fence
    fence: str
    # milliseconds until its lease ends
    ttl_ms: int
    # the holder
    held_by: Holder


class SemaphoreListParams(TypedDict):
    # the cursor that the previous page returned; absent = the first page
    cursor: NotRequired[str]
    # about how many entries to list
    count: NotRequired[int]
    # held = only semaphores with held permits; waited = only those with calls in their waiting lines; absent = both
    state: NotRequired[Literal["held", "waited"]]


class SemaphoreListResult(TypedDict):
    # the entries of this page; a page may be empty without being the last
    semaphores: list[SemaphoreListed]
    # the cursor of the next page; absent = this was the last page
    cursor: NotRequired[str]


class SemaphoreListed(TypedDict):
    # the semaphore
    name: str
    # how many permits are held
    held: int
    # how many calls are in its waiting line
    waiting: int
    # the grants, in the order in which their leases end, at most 3
    holders: list[SemaphoreHolder]


class SemaphoreReleaseParams(TypedDict):
    # the semaphore
    name: str
    # the owner's secret
    token: str


class SemaphoreReleaseResult(TypedDict):
    # this token held the permits, which are free now
    released: bool
    # the outcome; expired = the lease had ended
    reason: Literal["released", "expired"]


class SemaphoreRenewParams(TypedDict):
    # the semaphore
    name: str
    # the owner's secret
    token: str
    # milliseconds that the lease of the permits lasts from now on
    ttl_ms: NotRequired[int]


class SemaphoreRenewResult(TypedDict):
    # the permits are held for another ttl_ms
    renewed: bool
    # the grant's fence, unchanged
    fence: NotRequired[str]
    # the least milliseconds that the lease has left; 0 when this token does not hold the permits
    ttl_ms: int
    # the outcome; expired = the lease had ended
    reason: Literal["renewed", "expired"]


class StreamAckResult(TypedDict):
    # this call acknowledged the message; false = it was already acknowledged, is a dead letter, or was never delivered to the group
    acked: bool


class StreamConsumer(TypedDict):
    # the pod
    name: str
    # messages that it was given and has not acknowledged
    pending: int
    # milliseconds since it was last active
    idle_ms: int


class StreamDeadLetter(TypedDict):
    # the id of the dead letter, for stream.redrive and stream.trim
    id: str
    # the id that the message had in the stream
    message_id: str
    # the group that failed to process it
    group: str
    # how many times it was delivered
    attempts: int
    # the reason given to stream.nack, or max_deliveries
    reason: str
    # when it became a dead letter, by the Redis server's clock, Unix milliseconds
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
    # the most messages to return; fewer are returned if they would exceed 512 KiB together
    count: NotRequired[int]
    # list only dead letters after this id; pass the next of the previous result
    after: NotRequired[str]


class StreamDeadResult(TypedDict):
    # the dead letters
    letters: list[StreamDeadLetter]
    # the after of the next call; absent when there are no more
    next: NotRequired[str]


class StreamEntry(TypedDict):
    # its id in the stream
    id: str
    # its body
    body: NotRequired[bytes]
    # its fields
    fields: NotRequired[dict[str, str]]
    # for a message that stream.redrive moved back: the only group that is given it
    group: NotRequired[str]
    # when it was added to the stream, by the Redis server's clock, Unix milliseconds
    published_at_ms: int
    # the W3C trace context of its publisher
    traceparent: NotRequired[str]


class StreamExtendResult(TypedDict):
    # the message is delivered to this pod for another visibility_ms
    extended: bool
    # the outcome; not_pending = it was acknowledged or deleted; taken = it is delivered to another pod
    reason: Literal["extended", "not_pending", "taken"]


class StreamFetchParams(TypedDict):
    # the stream
    stream: str
    # the group of consumers
    group: str
    # the most messages to return; fewer are returned if they would exceed 512 KiB together
    count: NotRequired[int]
    # how many milliseconds the call may wait for the first message, within its deadline
    wait_ms: NotRequired[int]
    # as in stream.subscribe
    max_deliveries: NotRequired[int]
    # as in stream.subscribe
    visibility_ms: NotRequired[int]
    # as in stream.subscribe; with ttl, the closing of the connection does not end the deliveries
    bind: NotRequired[Literal["session", "ttl"]]
    # as in stream.subscribe
    start: NotRequired[Literal["first", "new"]]
    # as in stream.subscribe
    rule: NotRequired[str]
    # as in stream.subscribe
    key: NotRequired[str]


class StreamFetchResult(TypedDict):
    # the messages; empty if there was none within wait_ms
    messages: list[StreamMessage]


class StreamGroup(TypedDict):
    # the group
    group: str
    # messages that it was not yet given; -1 = unknown: Redis does not have the number, and there are too many to count
    lag: int
    # messages that it was given and has not acknowledged
    pending: int
    # pending messages that wait for their delay after stream.nack
    retrying: int
    # if the group delivers by key: messages that wait for the limit of their key or for the message before them; they count neither as lag
    # nor as pending
    parked: NotRequired[int]
    # pods that take part in the group
    consumers: int
    # milliseconds since the oldest pending message was published; 0 when there is none
    oldest_pending_ms: int
    # the id of the newest message that it was given
    last_delivered_id: str


class StreamGroupDetail(TypedDict):
    # the group
    group: str
    # the pods that take part in the group, sorted by name
    consumers: list[StreamConsumer]


class StreamGroupsResult(TypedDict):
    # its groups, sorted by name
    groups: list[StreamGroupDetail]


class StreamListParams(TypedDict):
    # the cursor that the previous page returned; absent = the first page
    cursor: NotRequired[str]
    # about how many entries to list
    count: NotRequired[int]
    # behind = only streams with a group that has undelivered or unacknowledged messages; dead = only streams with dead letters; absent =
    # all
    state: NotRequired[Literal["behind", "dead"]]


class StreamListResult(TypedDict):
    # the entries of this page; a page may be empty without being the last
    streams: list[StreamListed]
    # the cursor of the next page; absent = this was the last page
    cursor: NotRequired[str]


class StreamListed(TypedDict):
    # the stream
    stream: str
    # messages in the stream, acknowledged ones included
    length: int
    # delayed messages that are not yet added to the stream
    delayed: int
    # dead letters
    dead: int
    # messages that were deleted while a group had them delivered and not acknowledged, since the stream was first used
    trimmed: int
    # its groups, those that are furthest behind first; at most 8
    groups: list[StreamGroup]
    # how many more groups it has
    more_groups: NotRequired[int]


class StreamMessage(TypedDict):
    # the id of the subscription; absent in the result of stream.fetch
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
    # how many times it has been delivered, counting from 1
    attempt: int
    # when it was added to the stream, by the Redis server's clock, Unix milliseconds
    published_at_ms: int
    # the W3C trace context of its publisher, for a span link
    traceparent: NotRequired[str]


class StreamMessageParams(TypedDict):
    # the stream
    stream: str
    # the group
    group: str
    # the id of the message
    id: str


class StreamNackParams(TypedDict):
    # the stream
    stream: str
    # the group
    group: str
    # the id of the message
    id: str
    # milliseconds until it is delivered again; -1 = 1 s after the first attempt, doubled with each further one, at most 5 min
    delay_ms: NotRequired[int]
    # move the message to the dead letters at once
    dead: NotRequired[bool]
    # the reason, which the dead letter keeps
    reason: NotRequired[str]


class StreamNackResult(TypedDict):
    # the message was delivered and not acknowledged; false = nothing was done
    nacked: bool
    # the message is a dead letter now
    dead: bool
    # milliseconds until it is delivered again; 0 = at once, or it is a dead letter
    delay_ms: int


class StreamNewMessage(TypedDict):
    # as in stream.publish
    body: NotRequired[bytes]
    # as in stream.publish
    fields: NotRequired[dict[str, str]]
    # as in stream.publish
    dedupe_id: NotRequired[str]
    # as in stream.publish
    dedupe_ms: NotRequired[int]
    # as in stream.publish
    delay_ms: NotRequired[int]


class StreamParams(TypedDict):
    # the stream
    stream: str


class StreamPublishManyParams(TypedDict):
    # the stream
    stream: str
    # 1 to 256 messages, at most 768 KiB together
    messages: list[StreamNewMessage]
    # as in stream.publish
    maxlen: NotRequired[int]


class StreamPublishManyResult(TypedDict):
    # one for each message, in their order
    results: list[StreamPublished]


class StreamPublishParams(TypedDict):
    # the stream
    stream: str
    # any bytes, at most 256 KiB
    body: NotRequired[bytes]
    # texts by name, at most 256 KiB together, in addition to the body or instead of it
    fields: NotRequired[dict[str, str]]
    # if a message with the same dedupe_id was published within the last dedupe_ms, this one is not added
    dedupe_id: NotRequired[str]
    # milliseconds for which dedupe_id is remembered
    dedupe_ms: NotRequired[int]
    # milliseconds until it is added to the stream
    delay_ms: NotRequired[int]
    # when this message is added, the stream is cut to about this many of its newest messages; a few more may stay; 0 = keep all
    maxlen: NotRequired[int]


class StreamPublishResult(TypedDict):
    # the message was added, or will be after its delay; false = it is a duplicate by its dedupe_id
    published: bool
    # its id in the stream; for a duplicate, the id of the first message; absent for a delayed message
    id: NotRequired[str]
    # when a delayed message is added, by the Redis server's clock, Unix milliseconds
    due_at_ms: NotRequired[int]
    # this is the stored reply of an earlier call with the same request id
    replayed: NotRequired[bool]


class StreamPublished(TypedDict):
    # as in stream.publish
    published: bool
    # as in stream.publish
    id: NotRequired[str]
    # as in stream.publish
    due_at_ms: NotRequired[int]
    # why this message failed; the others are not affected
    error: NotRequired[ItemError]


class StreamReadParams(TypedDict):
    # the stream
    stream: str
    # list only messages after this id; pass the next of the previous result
    after: NotRequired[str]
    # where to begin without after: first = with the oldest message; new = with messages published from now on, so this call lists none
    start: NotRequired[Literal["first", "new"]]
    # the most messages to return; fewer are returned if they would exceed 512 KiB together
    count: NotRequired[int]


class StreamReadResult(TypedDict):
    # the messages, acknowledged ones included
    messages: list[StreamEntry]
    # the after of the next call, present even if nothing was listed
    next: str
    # the stream already has further messages
    more: bool


class StreamRedriveParams(TypedDict):
    # the stream
    stream: str
    # the ids of the dead letters, at most 256
    ids: NotRequired[list[str]]
    # instead of ids: how many to move, the oldest first
    count: NotRequired[int]


class StreamRedriveResult(TypedDict):
    # dead letters that were moved back to the stream
    redriven: int
    # dead letters that are left
    left: int
    # this is the stored reply of an earlier call with the same request id
    replayed: NotRequired[bool]


class StreamStatsParams(TypedDict):
    # the stream
    stream: str
    # count only this group; absent = all groups
    group: NotRequired[str]


class StreamStatsResult(TypedDict):
    # messages in the stream, acknowledged ones included
    length: int
    # delayed messages that are not yet added to the stream
    delayed: int
    # dead letters
    dead: int
    # messages that were deleted while a group had them delivered and not acknowledged, since the stream was first used
    trimmed: int
    # its groups, sorted by name
    groups: list[StreamGroup]


class StreamSubscribeParams(TypedDict):
    # the stream
    stream: str
    # the group of consumers; each message goes to one of them. The latest subscription or fetch in a pod sets visibility_ms and
    # max_deliveries for the whole group in that pod
    group: str
    # how many messages this subscription may have unacknowledged
    prefetch: NotRequired[int]
    # how many times a message is delivered; if it is then not acknowledged, it is moved to the dead letters
    max_deliveries: NotRequired[int]
    # the visibility timeout in milliseconds: when it ends, the message is delivered to another consumer, unless it was acknowledged or
    # extended
    visibility_ms: NotRequired[int]
    # session = the sidecar extends messages while this connection is open; ttl = a delivery lasts visibility_ms unless the client extends
    # it. In both cases messages are delivered again at once when the connection closes
    bind: NotRequired[Literal["session", "ttl"]]
    # where the group begins if this call creates it: first = with the oldest message; new = with messages published from now on
    start: NotRequired[Literal["first", "new"]]
    # given together with key: a message is delivered only when this rule admits its key. Messages of other keys overtake it; those of one
    # key are delivered one at a time, in their order. The latest subscription or fetch in a pod sets the rule for the whole group in that
    # pod
    rule: NotRequired[str]
    # given together with rule: the field of messages that contains the key, such as host. All subscriptions and fetches of a group must
    # name the same field; a message without it is moved to the dead letters
    key: NotRequired[str]


class StreamSubscribeResult(TypedDict):
    # the id of the subscription, for stream.unsubscribe; its messages carry it
    subscription: str
    # the call created the group
    created: bool


class StreamTrimParams(TypedDict):
    # the stream
    stream: str
    # delete dead letters instead of messages
    dead: NotRequired[bool]
    # keep only this many of the newest ones
    maxlen: NotRequired[int]
    # delete those that were added more than this many milliseconds ago
    older_ms: NotRequired[int]
    # delete those with these ids, at most 256
    ids: NotRequired[list[str]]


class StreamTrimResult(TypedDict):
    # messages or dead letters that were deleted
    deleted: int
    # messages or dead letters that are left
    left: int


class StreamUnsubscribeParams(TypedDict):
    # the id that stream.subscribe returned
    subscription: str


class StreamUnsubscribeResult(TypedDict):
    # this connection had the subscription, which has ended
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
