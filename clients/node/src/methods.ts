// Written by `go run ./hack/clientgen` from client/api. Do not edit.
// The methods and events of the protocol. Names are as on the wire; durations end in _ms, instants in _at_ms (Unix milliseconds).

export interface Band {
  /** how many per period; of sliding_window_log at most 10000 */
  limit: number;
  /** the period in milliseconds, at most 366 days */
  period_ms: number;
  /** how many at once, of token_bucket and leaky_bucket; absent or 0 = limit for token_bucket, 1 for leaky_bucket */
  burst?: number;
}

export interface BreakerAllowParams {
  /** the breaker, such as a host; with pool the member */
  name: string;
  /** the pool whose member's breaker it is, as permit.acquire uses it */
  pool?: string;
  /** the configured policy to go by; absent = the first whose name matches the breaker's (with pool, the pool's), else the default */
  policy?: string;
  /** what decides when Redis does not answer: closed = the call fails with UNAVAILABLE, open = it is allowed; absent = the policy's, open unless it says otherwise */
  fail_mode?: "closed" | "open";
}

export interface BreakerAllowResult {
  /** the call may be made, and is to be reported */
  allowed: boolean;
  /** the breaker's state */
  state: "closed" | "open" | "half_open" | "forced_open" | "forced_closed" | "disabled";
  /** rises with every change of state; give it to breaker.report */
  generation: number;
  /** the probe that this call is, while half open: give it to breaker.report. It is lost after the policy's probe_ttl_ms, or with this connection */
  probe?: string;
  /** 0 when allowed; else milliseconds until a probe may pass, rounded up; -1 = it is forced open */
  retry_after_ms: number;
  /** the answer came from the fail mode, since Redis did not answer */
  degraded: boolean;
  /** the fail mode answered after a failure that leaves it unknown whether a probe is out, too */
  maybe_executed?: boolean;
  /** where the decision was made; cache = it was open less than a second ago and still is; local = the fail mode */
  source: "redis" | "cache" | "local";
  /** the reply of an earlier call with the same request id */
  replayed?: boolean;
}

export interface BreakerChangeResult {
  /** its state */
  state: "closed" | "open" | "half_open" | "forced_open" | "forced_closed" | "disabled";
  /** its generation */
  generation: number;
  /** this call changed it */
  changed: boolean;
}

export interface BreakerExplainResult {
  /** what breaker.allow would answer now: allowed; probe = allowed, as a probe; open; half_open = as many probes are out as may be; forced_open */
  decision: "allowed" | "probe" | "open" | "half_open" | "forced_open";
  /** 0 when a call may pass; else milliseconds until one may, rounded up; -1 = not before breaker.reset */
  retry_after_ms: number;
  /** the same as a sentence for people */
  text: string;
  /** its state */
  state: "closed" | "open" | "half_open" | "forced_open" | "forced_closed" | "disabled";
  /** rises with every change of state */
  generation: number;
  /** when its state last changed, by the Redis server's clock, Unix milliseconds; 0 = never, or it is forgotten */
  changed_at_ms?: number;
  /** failures in a row while closed */
  failures: number;
  /** successes of probes while half open */
  successes: number;
  /** how often in a row it opened */
  opened: number;
  /** milliseconds that it would be open the next time, give or take 5 % */
  next_open_ms: number;
  /** probes that are out now */
  probes: number;
  /** how many may be out at once, while half open */
  most_probes: number;
  /** milliseconds until the first of them is lost unless it is reported, rounded up */
  probe_left_ms?: number;
  /** calls in the rolling window, if the policy has one */
  window_calls?: number;
  /** failures among them */
  window_failed?: number;
  /** slow ones among them */
  window_slow?: number;
  /** the policy that it goes by, default when none is configured for it */
  policy: string;
  /** why it is this one: given = the call names it; name = it is the first that matches the breaker's name, with pool the pool's; default = none does */
  policy_from: "given" | "name" | "default";
  /** the policy, with the defaults of what it does not set */
  settings: BreakerPolicy;
}

export interface BreakerForceParams {
  /** the breaker */
  name: string;
  /** the pool whose member's breaker it is */
  pool?: string;
  /** the policy to go by, as for breaker.allow */
  policy?: string;
  /** open = nothing passes; closed = everything passes and failures are counted, without effect; disabled = everything passes, nothing is counted */
  state: "open" | "closed" | "disabled";
}

export interface BreakerGetResult {
  /** its state */
  state: "closed" | "open" | "half_open" | "forced_open" | "forced_closed" | "disabled";
  /** rises with every change of state */
  generation: number;
  /** the policy that it goes by, default when none is configured for it */
  policy: string;
  /** failures in a row while closed */
  failures: number;
  /** successes of probes while half open */
  successes: number;
  /** probes that are out now */
  probes: number;
  /** milliseconds until a probe may pass; 0 when one may, or it is not open */
  open_for_ms?: number;
  /** how often in a row it opened, which is how often its time doubled */
  opened: number;
  /** calls in the rolling window, if the policy has one */
  window_calls?: number;
  /** failures among them */
  window_failed?: number;
  /** slow ones among them */
  window_slow?: number;
  /** when its state last changed, by the Redis server's clock, Unix milliseconds; 0 = never, or it is forgotten */
  changed_at_ms?: number;
  /** when it was forced, Unix milliseconds; 0 = it is not */
  forced_at_ms?: number;
}

export interface BreakerListParams {
  /** the pool whose members' breakers to list; absent = breakers that are no member's */
  pool?: string;
  /** the cursor of the page before; absent = from the start */
  cursor?: string;
  /** about how many to list (1 to 1000); absent = 100 */
  count?: number;
  /** only those in this state; not_closed = in any but closed; absent = all */
  state?: "closed" | "open" | "half_open" | "forced_open" | "forced_closed" | "disabled" | "not_closed";
}

export interface BreakerListResult {
  /** those of this page; it may have none and not be the last */
  breakers: BreakerListed[];
  /** where the next page begins; absent = this was the last */
  cursor?: string;
}

export interface BreakerListed {
  /** the breaker; with pool the member */
  name: string;
  /** its state */
  state: "closed" | "open" | "half_open" | "forced_open" | "forced_closed" | "disabled";
  /** the policy that it goes by where a call names none */
  policy: string;
  /** failures in a row while closed */
  failures: number;
  /** successes of probes while half open */
  successes: number;
  /** probes that are out now */
  probes: number;
  /** milliseconds until a probe may pass; 0 when one may, or it is not open */
  open_for_ms: number;
  /** how often in a row it opened */
  opened: number;
  /** calls in the rolling window, if the policy has one */
  window_calls?: number;
  /** failures among them */
  window_failed?: number;
  /** slow ones among them */
  window_slow?: number;
  /** when its state last changed, by the Redis server's clock, Unix milliseconds; 0 = never, or it is forgotten */
  changed_at_ms: number;
}

export interface BreakerParams {
  /** the breaker */
  name: string;
  /** the pool whose member's breaker it is */
  pool?: string;
  /** the policy to go by, as for breaker.allow */
  policy?: string;
}

export interface BreakerPolicy {
  /** the breaker that it is for (with a pool, the pool), or a glob of them */
  name: string;
  /** failures in a row that open it; absent = 3 */
  failure_threshold?: number;
  /** successes of probes that close it; absent = 3 */
  success_threshold?: number;
  /** milliseconds that it stays open, twice as long each time in a row; absent = 600000 */
  open_ms?: number;
  /** the most milliseconds that it stays open; absent = an hour, or open_ms if that is longer */
  open_max_ms?: number;
  /** how many probes are out at once; absent = success_threshold */
  half_open_max?: number;
  /** milliseconds after which a probe that nobody reports on is lost; absent = a minute */
  probe_ttl_ms?: number;
  /** a rolling window of calls, whose rates open it too; absent = none */
  window?: BreakerWindow;
  /** what decides when Redis does not answer; absent = open */
  fail_mode?: "closed" | "open";
}

export interface BreakerReportParams {
  /** the breaker */
  name: string;
  /** the pool whose member's breaker it is */
  pool?: string;
  /** the policy to go by, as for breaker.allow */
  policy?: string;
  /** the generation that allowed the call; absent or 0 = the present one, if it is closed (0 to 9007199254740991) */
  generation?: number;
  /** the probe that the call was */
  probe?: string;
  /** ignored = it says nothing of what is behind the breaker, such as a cancelled call or a refusal of our own; it gives a probe back */
  outcome: "success" | "failure" | "ignored";
  /** milliseconds that the call took, for the slow rate (0 to 86400000) */
  duration_ms?: number;
}

export interface BreakerReportResult {
  /** the breaker's state */
  state: "closed" | "open" | "half_open" | "forced_open" | "forced_closed" | "disabled";
  /** its generation */
  generation: number;
  /** this report changed the state */
  changed: boolean;
  /** it counted: it is of the present generation, its probe was not lost, and its outcome is not ignored */
  counted: boolean;
  /** the reply of an earlier call with the same request id */
  replayed?: boolean;
}

export interface BreakerWindow {
  /** its length in milliseconds */
  window_ms: number;
  /** fewer calls say nothing; absent = 10 */
  min_calls?: number;
  /** the percent of failures that opens it; absent = they do not */
  failure_rate?: number;
  /** milliseconds from which on a call is slow */
  slow_ms?: number;
  /** the percent of slow calls that opens it; absent = they do not */
  slow_rate?: number;
}

export interface DescribeParams {
  /** the method's name */
  method: string;
}

export interface DrainParams {
  /** milliseconds until the pod is killed; a later call changes nothing (1 to 86400000); absent = 30000 */
  deadline_ms?: number;
}

export interface DrainResult {
  /** always true */
  draining: boolean;
  /** when the pod is killed, Unix milliseconds by the pod's clock, as first told */
  deadline_at_ms: number;
  /** connections open now, this one included */
  connections: number;
}

export interface DrainingParams {
  /** when the pod is killed, Unix milliseconds by the pod's clock */
  deadline_at_ms: number;
}

export interface EventParams {
  /** breaker = a circuit breaker changed its state; degraded = a fail mode decided; draining = the pod ends; forced = a lock was taken from its holder by hand; lost = a lease was lost; paused = a key was paused; refused = a limit refused; reloaded = the configuration was read again; resumed = a pause was ended. Others may be added */
  kind: string;
  /** when, Unix milliseconds by the pod's clock */
  at_ms: number;
  /** what it is about, such as ratelimit or lock; absent for the sidecar itself */
  noun?: string;
  /** the rule, the lock, ... */
  name?: string;
  /** whom a limit counts; of one of those that it stands for */
  key?: string;
  /** why, in one word */
  reason?: string;
  /** for people */
  detail?: string;
  /** how many alike it stands for, itself included; those after the last one of a burst are told with the next, or never */
  count: number;
  /** how many before it were not sent, since this connection is read too slowly */
  dropped?: number;
}

export interface EventsSubscribeParams {
  /** the kinds of events to be sent: breaker, degraded, draining, forced, lost, paused, refused, reloaded, resumed; all when there are none */
  kinds?: string[];
}

export interface EventsSubscribeResult {
  /** the kinds of events that are sent from now on, sorted */
  subscribed: string[];
}

export interface ExplainBand {
  /** limit/period, such as 80/10m */
  band: string;
  /** the limit per period */
  limit: number;
  /** how many at once, of token_bucket and leaky_bucket */
  burst?: number;
  /** what could be taken at once now, rounded down */
  remaining: number;
  /** what counts now, rounded up; past the limit it is promised */
  current: number;
  /** milliseconds until it is as if unused, rounded up */
  reset_after_ms: number;
}

export interface ExplainBlock {
  /** what is left of it */
  tokens: number;
  /** milliseconds until the last of it lapses, rounded up */
  left_ms: number;
}

export interface ExplainDelay {
  /** milliseconds from one admission to the next */
  delay_ms: number;
  /** whose word it is */
  source: string;
  /** when it is forgotten, Unix milliseconds */
  until_at_ms: number;
  /** milliseconds until the next may go, rounded up */
  next_after_ms: number;
}

export interface ExplainHolder {
  /** the client program, by its session.hello */
  client: string;
  /** which one it is */
  instance: string;
  /** since when, Unix milliseconds */
  since_at_ms: number;
  /** milliseconds until it ends unless it is renewed, rounded up */
  left_ms: number;
}

export interface ExplainLine {
  /** the sidecar, as inspect.sidecars lists it */
  sidecar: string;
  /** how many of its calls stand in line */
  waiting: number;
  /** milliseconds for which its places are kept unless it shows that it lives, rounded up; 0 = it seems dead, and is passed over */
  left_ms: number;
}

export interface ExplainPause {
  /** when it ends, Unix milliseconds */
  until_at_ms: number;
  /** milliseconds until then, rounded up */
  left_ms: number;
  /** for people; a penalty's is the status */
  reason: string;
}

export interface ExplainPenalty {
  /** how many pauses in a row; the next one is twice as long */
  level: number;
  /** milliseconds until it is forgotten if none comes, rounded up */
  forgiven_after_ms: number;
}

export interface ExplainReason {
  /** what keeps them, as decision says it */
  reason: "busy" | "cooling" | "banned" | "open" | "limit" | "pause";
  /** how many it keeps */
  members: number;
  /** the one of them that may be had first */
  id: string;
  /** milliseconds until then, rounded up; -1 = never, as things are */
  after_ms: number;
}

export interface FieldDescription {
  /** the key */
  name: string;
  /** int, str, bool, bin, map, list or any */
  type: string;
  /** params: it must be there; result: it always is */
  required: boolean;
  /** the value of an absent key, as text */
  default?: string;
  /** the smallest int, where it is bounded */
  min?: number;
  /** the largest int, where it is bounded */
  max?: number;
  /** the allowed values */
  enum?: string[];
  /** the keys of the map, or of the maps in the list */
  fields?: FieldDescription[];
  /** what it is, with its unit */
  doc: string;
}

export interface Group {
  /** as of allow */
  exact?: string;
  /** as of allow */
  glob?: string;
  /** as of allow */
  suffix?: string;
  /** what counts in place of the key; absent = the suffix, which is then given */
  name?: string;
}

export interface HealthCheck {
  /** the check */
  name: string;
  /** it passed */
  ok: boolean;
  /** what was found, and the remedy when it failed */
  detail: string;
  /** what is wrong, where that is known: as sidecar doctor says it */
  cause?: string;
  /** what to do about it */
  fix?: string;
  /** where that is explained: a page with its section */
  docs?: string;
}

export interface HealthResult {
  /** the process and its socket answer */
  live: boolean;
  /** it can decide: Redis answers, scripts are loaded, rules are in force */
  ready: boolean;
  /** it is ready because readiness.mode is always, and cannot decide: the checks say why */
  degraded: boolean;
  /** standalone, sentinel, cluster or embedded */
  store: string;
  /** each check, sorted by name */
  checks: HealthCheck[];
}

export interface HelloParams {
  /** the client program or library */
  client?: string;
  /** its version */
  version?: string;
  /** which one it is, such as the pod and the process */
  instance?: string;
  /** the form of errors on this connection: list = [kind, text], map = {code, message, retryable, retry_after_ms?, details?}; absent = list */
  errors?: "list" | "map";
}

export interface HelloResult {
  /** the server's name, coxswain */
  server: string;
  /** the sidecar's version */
  version: string;
  /** the version of this protocol */
  protocol: number;
  /** the id of this connection */
  session: string;
  /** what the sidecar accepts on a connection */
  limits: Limits;
  /** the names of all methods, sorted */
  methods: string[];
  /** the pod's clock, Unix milliseconds */
  now_at_ms: number;
}

export interface Holder {
  /** the client program */
  client: string;
  /** which one it is */
  instance: string;
  /** since when, by the Redis server's clock, Unix milliseconds */
  since_at_ms: number;
  /** what it said of itself when it acquired */
  meta?: string;
}

export interface InspectChannel {
  /** the channel */
  channel?: string;
  /** in its place: the pattern of channels */
  pattern?: string;
  /** subscriptions to it here */
  subscriptions: number;
  /** Redis has confirmed it on the connection that there is now */
  listening: boolean;
}

export interface InspectCounts {
  /** connections, this one included */
  connections: number;
  /** calls in flight, this one and those that wait included */
  inflight: number;
  /** calls with wait_ms among them */
  waiting: number;
  /** leases that sessions hold */
  held: number;
}

export interface InspectError {
  /** the error's code */
  code: string;
  /** the method that was called */
  method: string;
  /** when, Unix milliseconds by the pod's clock */
  at_ms: number;
  /** the text that the client was told; the sidecar's log has the cause */
  text: string;
}

export interface InspectHeld {
  /** lock, ... */
  noun: string;
  /** the lock, ... */
  name: string;
  /** for how many milliseconds it is valid unless it is renewed */
  ttl_ms: number;
  /** its fence, a decimal number */
  fence?: string;
}

export interface InspectPool {
  /** connections open now */
  open: number;
  /** those that nobody uses */
  idle: number;
  /** the most there may be (redis.pool.max) */
  max: number;
}

export interface InspectProbe {
  /** when, Unix milliseconds by the pod's clock */
  at_ms: number;
  /** the store answered */
  up: boolean;
  /** the round trip in microseconds, the longest if there were several; where it is not up the last one that there was */
  rtt_us: number;
}

export interface InspectRedis {
  /** what kind of store it is, such as standalone or embedded */
  topology: string;
  /** where, without credentials */
  address: string;
  /** it answers */
  up: boolean;
  /** why it is not up, or what it refuses calls with */
  error?: string;
  /** the name of that, such as oom or refused */
  trouble?: string;
  /** the last probe's round trip, in microseconds */
  rtt_us: number;
  /** the memory that it says it uses, in bytes */
  memory_bytes: number;
  /** the connections to it */
  pool: InspectPool;
  /** the results of the last 300 seconds in which it was probed, the latest first */
  history: InspectProbe[];
}

export interface InspectRefusals {
  /** since when they are counted, Unix milliseconds by the pod's clock: between five and ten minutes ago, or later if the sidecar started later or refused nothing for ten minutes */
  since_at_ms: number;
  /** those that were refused most, at most 100, in this order */
  keys: InspectRefused[];
}

export interface InspectRefused {
  /** the rule; inline = limits given in full */
  rule: string;
  /** the key */
  key: string;
  /** how often it was refused */
  refused: number;
  /** by how much that may be wrong, since only 256 keys are counted at a time; 0 = it is exact */
  off_by: number;
  /** why it was refused last, such as limit or pause */
  reason: string;
}

export interface InspectResult {
  /** the sidecar's version */
  version: string;
  /** its process id */
  pid: number;
  /** since when it serves, Unix milliseconds by the pod's clock */
  started_at_ms: number;
  /** for how many milliseconds */
  uptime_ms: number;
  /** the pod ends */
  draining: boolean;
  /** when, if it is draining, Unix milliseconds by the pod's clock */
  ends_at_ms?: number;
  /** the configuration in force as YAML, secrets masked, as sidecar config print shows it; at most 256 KiB */
  config: string;
  /** the rules in force, sorted by name, at most 1,000 */
  rules: InspectRule[];
  /** how many more rules there are */
  truncated_rules: number;
  /** the connections, the oldest first */
  sessions: InspectSession[];
  /** how many leases more than the 1,000 that are listed sessions hold */
  truncated: number;
  /** the groups of consumers that this sidecar takes part in, sorted by stream and group, at most 256 */
  stream_groups: InspectStreamGroup[];
  /** the channels and patterns of Pub/Sub that connections are subscribed to, sorted, at most 256 */
  channels: InspectChannel[];
  /** how many more channels and patterns there are */
  truncated_channels: number;
  /** the calls since the start, by method, sorted: what the metric coxswain.rpc.duration counts */
  calls: InspectTimes[];
  /** the runs of Redis scripts since the start, by script, sorted: what the metric coxswain.script.duration counts, each try for itself */
  scripts: InspectTimes[];
  /** what rules decided since the start, as ratelimit.stats has it, at most 1,000 */
  decisions: RuleStats[];
  /** how many more rules decided */
  truncated_decisions: number;
  /** the keys that limits refused most lately */
  refusals: InspectRefusals;
  /** the store, as last probed */
  redis: InspectRedis;
  /** the last 32 tries of a script that took 100 ms or more from when they were sent to their reply, the latest first; one that was within a slow call is why it was slow */
  slow_scripts: InspectSlowScript[];
  /** the last 32 calls that took 100 ms or more, the latest first; not those with wait_ms */
  slow_calls: InspectSlow[];
  /** the last 32 errors that are not the caller's fault, and conflicts, the latest first; not calls that their clients cancelled */
  errors: InspectError[];
  /** what there is now */
  counts: InspectCounts;
}

export interface InspectRule {
  /** the rule */
  name: string;
  /** how it counts */
  algorithm: string;
  /** its limits as limit/period, such as 80/10m, shortest period first */
  limits: string[];
  /** orders versions of the rules across pods: the age of the newest file they come from, Unix milliseconds */
  revision: number;
}

export interface InspectSession {
  /** its id */
  session: string;
  /** the client program, as it introduced itself */
  client: string;
  /** which one it is */
  instance: string;
  /** the user id of its process */
  uid: number;
  /** when it connected, Unix milliseconds by the pod's clock */
  since_at_ms: number;
  /** its calls in flight, those that wait included */
  inflight: number;
  /** it subscribed to events */
  events: boolean;
  /** what it holds */
  held: InspectHeld[];
}

export interface InspectSidecar {
  /** its id, made when it started; explanations name those who wait by it */
  sidecar: string;
  /** it is the one that answers */
  self?: boolean;
  /** the name of its pod, as groups of consumers see it; empty = it is not known */
  pod: string;
  /** host:port of its health pages; the host is an address of the pod. Empty = it has none */
  address: string;
  /** its version */
  version: string;
  /** when it started, by the clock of its pod, Unix milliseconds */
  started_at_ms: number;
  /** how many rules are in force in it */
  rules: number;
  /** the newest revision among its rules, Unix milliseconds; 0 = it has none */
  rules_revision: number;
  /** milliseconds since it last showed that it lives */
  seen_ms: number;
}

export interface InspectSidecarsParams {
  /** the cursor of the page before; absent = from the start */
  cursor?: string;
  /** about how many to list (1 to 1000); absent = 100 */
  count?: number;
}

export interface InspectSidecarsResult {
  /** those of this page; it may have none and not be the last */
  sidecars: InspectSidecar[];
  /** how many there are, on all pages */
  total: number;
  /** where the next page begins; absent = this was the last */
  cursor?: string;
}

export interface InspectSlow {
  /** the method */
  method: string;
  /** from when it was read to its answer, in milliseconds */
  duration_ms: number;
  /** when it was answered, Unix milliseconds by the pod's clock */
  at_ms: number;
  /** OK, or the code of its error */
  code: string;
}

export interface InspectSlowScript {
  /** the script */
  script: string;
  /** from when it was sent to its reply, in milliseconds */
  duration_ms: number;
  /** when its reply came, Unix milliseconds by the pod's clock */
  at_ms: number;
  /** ok or error */
  outcome: string;
}

export interface InspectStreamGroup {
  /** the stream */
  stream: string;
  /** the group */
  group: string;
  /** subscriptions of connections here */
  subscriptions: number;
  /** calls of stream.fetch here that wait */
  fetches: number;
  /** messages that those subscriptions were sent and have not acknowledged */
  in_flight: number;
  /** messages that were read here and that no client was sent so far */
  unsent: number;
  /** messages that the group was not given, as counted within the last half minute; where Redis does not know it, how many there are at least */
  lag: number;
  /** messages that the group was given and has not acknowledged, in all pods, counted with lag */
  pending: number;
}

export interface InspectTimes {
  /** the method or the script */
  name: string;
  /** how many there were */
  count: number;
  /** how many of them ended with an error */
  errors: number;
  /** how long all together took, in microseconds */
  sum_us: number;
  /** what half of them took at most, in microseconds, as the metric's buckets tell it */
  p50_us: number;
  /** what 99 of 100 took at most, in microseconds, as the metric's buckets tell it */
  p99_us: number;
}

export interface ItemError {
  /** as of errors */
  code: string;
  /** for people */
  message: string;
}

export interface Limits {
  /** the longest frame, in bytes */
  max_frame_bytes: number;
  /** the deepest nesting of a frame */
  max_depth: number;
  /** the most elements of one array or map */
  max_elements: number;
  /** running calls on a connection */
  max_inflight: number;
  /** waiting calls on a connection */
  max_waiting: number;
  /** connections to the sidecar */
  max_connections: number;
  /** bytes that all connections may hold together: half in unfinished frames and unread replies, half in calls in flight */
  max_total_bytes: number;
  /** waiting calls of all connections together */
  max_total_waiting: number;
}

export interface LockAcquireParams {
  /** the lock */
  name: string;
  /** milliseconds until it is free again unless renewed (100 to 86400000); absent = 30000 */
  ttl_ms?: number;
  /** milliseconds to stand in line for it, within the call's deadline; first come, first served across all pods (0 to 60000); absent = 0 */
  wait_ms?: number;
  /** the owner's secret; made by the sidecar when absent */
  token?: string;
  /** how many replicas of Redis must have the grant, or it is given back; for fewer second holders after a failover (0 to 16); absent = 0 */
  wait_replicas?: number;
  /** milliseconds after which it is lost, whoever renews it; 0 = never (0 to 604800000); absent = 0 */
  max_hold_ms?: number;
  /** shown with the holder, such as a job's id; at most 512 bytes */
  meta?: string;
  /** session = renewed while this connection lives and released when it closes; ttl = neither; absent = session */
  bind?: "session" | "ttl";
}

export interface LockAcquireResult {
  /** the lock is held by this token */
  acquired: boolean;
  /** the owner's secret, for renew and release */
  token?: string;
  /** a decimal number that rises with every new owner; give it to what the lock protects */
  fence?: string;
  /** milliseconds that the present owner has left at least */
  ttl_ms: number;
  /** who holds it, when it is not acquired */
  held_by?: Holder;
  /** 0 when acquired; else milliseconds until the holder's TTL ends, or when to ask again while others stand in line */
  retry_after_ms: number;
  /** milliseconds it stood in line until the answer was asked for, rounded down */
  waited_ms?: number;
  /** the answer is about an earlier grant with the same request id */
  replayed?: boolean;
  /** why it is not acquired; replicas = too few had the grant, and it was given back; released or expired = what became of a replayed grant */
  reason?: "busy" | "replicas" | "released" | "expired";
}

export interface LockEntry {
  /** the lock */
  name: string;
  /** the owner's fence */
  fence: string;
  /** milliseconds that the owner has left */
  ttl_ms: number;
  /** who holds it */
  held_by: Holder;
  /** how many calls stand in line for it */
  waiting?: number;
}

export interface LockExplainResult {
  /** what a call without wait_ms would be told now: acquired, or busy = it is held, or others stand in line for it */
  decision: "acquired" | "busy";
  /** 0 when it would be acquired; else milliseconds until the holder's TTL ends, or when to ask again while others stand in line */
  retry_after_ms: number;
  /** the same as a sentence for people */
  text: string;
  /** someone holds it */
  held: boolean;
  /** who holds it */
  held_by?: Holder;
  /** the owner's fence */
  fence?: string;
  /** milliseconds that the owner has left unless it is renewed */
  ttl_ms?: number;
  /** what keeps it held: session = a sidecar renews it while the owner's connection lives; ttl = only the owner renews it */
  bind?: "session" | "ttl";
  /** when max_hold_ms of its owner is over, after which no renewal extends it, by the Redis server's clock, Unix milliseconds; absent = never */
  final_at_ms?: number;
  /** how many calls stand in line for it */
  waiting: number;
  /** whose they are, the first in line first; of at most the first 1,000 calls, and at most 20 sidecars */
  line: ExplainLine[];
}

export interface LockForceReleaseParams {
  /** the lock */
  name: string;
  /** for the log and the event, at most 512 bytes */
  reason?: string;
}

export interface LockForceReleaseResult {
  /** it was held and is free now */
  released: boolean;
  /** the fence of who held it */
  fence?: string;
  /** who held it */
  held_by?: Holder;
}

export interface LockGetParams {
  /** the lock */
  name: string;
}

export interface LockGetResult {
  /** someone holds it */
  held: boolean;
  /** the present owner's fence */
  fence?: string;
  /** milliseconds that the owner has left */
  ttl_ms?: number;
  /** who holds it */
  held_by?: Holder;
  /** how many calls stand in line for it */
  waiting?: number;
}

export interface LockListParams {
  /** the cursor of the page before; absent = from the start */
  cursor?: string;
  /** about how many to list (1 to 1000); absent = 100 */
  count?: number;
  /** held = all that are held; waited = only those that calls stand in line for; absent = held */
  state?: "held" | "waited";
}

export interface LockListResult {
  /** those of this page that are held; it may have none and not be the last */
  locks: LockEntry[];
  /** where the next page begins; absent = this was the last */
  cursor?: string;
}

export interface LockReleaseParams {
  /** the lock */
  name: string;
  /** the owner's secret */
  token: string;
}

export interface LockReleaseResult {
  /** the lock was this token's and is free now */
  released: boolean;
  /** what was found */
  reason: "released" | "not_owner" | "expired";
}

export interface LockRenewParams {
  /** the lock */
  name: string;
  /** the owner's secret */
  token: string;
  /** milliseconds from now until it is free again (100 to 86400000); absent = 30000 */
  ttl_ms?: number;
}

export interface LockRenewResult {
  /** the lock is held for ttl_ms more */
  renewed: boolean;
  /** the grant's fence, unchanged */
  fence?: string;
  /** milliseconds left at least; 0 when it is not held by this token */
  ttl_ms: number;
  /** what was found */
  reason: "renewed" | "not_owner" | "expired";
}

export interface LostParams {
  /** what was held */
  name: string;
  /** the owner's secret */
  token: string;
  /** the lost grant's fence */
  fence: string;
  /** not_owner = someone else holds it; expired = it is gone from Redis; unreachable = it could not be renewed in time; max_hold = it was held as long as it may be */
  reason: "not_owner" | "expired" | "unreachable" | "max_hold";
}

export interface Match {
  /** this key */
  exact?: string;
  /** keys of this form: * is any text, ? one character, \ before either means itself */
  glob?: string;
  /** this domain and those under it: example.com matches a.example.com, not anexample.com; in upper and lower case alike */
  suffix?: string;
}

export interface MethodDescription {
  /** the method */
  name: string;
  /** what it does */
  summary: string;
  /** it may be repeated without a request id */
  idempotent: boolean;
  /** it is also run as a notification */
  notify: boolean;
  /** it can be switched off or bound to uids */
  admin: boolean;
  /** the first version that has it */
  since: string;
  /** its parameters */
  params: FieldDescription[];
  /** the keys of its result */
  result: FieldDescription[];
}

export interface MethodsResult {
  /** every method, sorted by name */
  methods: MethodDescription[];
}

export interface Nothing {
}

export interface Override {
  /** as of allow */
  exact?: string;
  /** as of allow */
  glob?: string;
  /** as of allow */
  suffix?: string;
  /** the bands for these keys; absent = the rule's */
  limits?: Band[];
  /** how many grants may be held at once; absent or 0 = the rule's */
  max_concurrent?: number;
}

export interface Penalty {
  /** the statuses that pause the key; absent = 429 and 503 */
  codes?: number[];
  /** milliseconds of the first pause when the server gives none; absent = 60000 */
  base_ms?: number;
  /** milliseconds of the longest; each pause is twice the last one; absent = 86400000 */
  max_ms?: number;
  /** milliseconds after the end of a pause after which the next is a first one again; absent = 1800000 */
  forgive_ms?: number;
  /** how much longer or shorter a pause of our own may be, so that not all come back at once; absent = 10 */
  jitter_percent?: number;
}

export interface PermitAcquireParams {
  /** the pool */
  pool: string;
  /** the rule (token_bucket) of which each member has a bucket of its own; absent = no limit */
  rule?: string;
  /** the policy of the members' breakers, default for the built-in one; absent = breakers are not asked */
  breaker?: string;
  /** what is taken from the member's bucket (0 to 1000000000); absent = 1 */
  cost?: number;
  /** milliseconds until it is free again unless renewed (100 to 86400000); absent = 60000 */
  lease_ms?: number;
  /** milliseconds to stand in line, within the call's deadline; first come, first served across all pods for the same pool, scope, rule and breaker (0 to 60000); absent = 0 */
  wait_ms?: number;
  /** as for pool.acquire */
  scope?: string;
  /** members not to take, at most 100 */
  exclude?: string[];
  /** as for pool.acquire */
  sticky?: string;
  /** session = renewed while this connection lives and given back when it closes; ttl = neither; absent = session */
  bind?: "session" | "ttl";
}

export interface PermitAcquireResult {
  /** the member is this caller's, and the cost is taken */
  acquired: boolean;
  /** the member */
  id?: string;
  /** for permit.renew and report */
  lease?: string;
  /** a decimal number that rises with every lease of the pool */
  fence?: string;
  /** what was put with the member */
  meta?: string;
  /** that of its breaker; permit.report knows it */
  generation?: number;
  /** its breaker is half open, and this is a probe */
  probe?: boolean;
  /** what is left in the member's bucket, rounded down */
  remaining: number;
  /** when it was acquired before in this scope, Unix milliseconds; 0 = never */
  last_used_at_ms?: number;
  /** 0 when acquired; else milliseconds until the soonest member may be had, rounded up; -1 = none ever, as things are */
  retry_after_ms: number;
  /** that instant, by the Redis server's clock, Unix milliseconds */
  next_at_ms?: number;
  /** milliseconds it stood in line until the answer was asked for, rounded down */
  waited_ms?: number;
  /** the answer is about an earlier permit with the same request id */
  replayed?: boolean;
  /** why there is none, by the member that is soonest: as of pool.acquire; open = its breaker; limit = its bucket; pause = the server asked for it */
  denied_by?: "busy" | "cooling" | "banned" | "empty" | "open" | "limit" | "pause" | "released" | "expired";
}

export interface PermitExplainParams {
  /** the pool */
  pool: string;
  /** as for permit.acquire */
  rule?: string;
  /** as for permit.acquire */
  breaker?: string;
  /** as for permit.acquire (0 to 1000000000); absent = 1 */
  cost?: number;
  /** as for pool.acquire */
  scope?: string;
  /** members not to take, at most 100 */
  exclude?: string[];
  /** only this member */
  id?: string;
}

export interface PermitRenewParams {
  /** the pool */
  pool: string;
  /** what permit.acquire answered */
  lease: string;
  /** milliseconds from now until it is free again (100 to 86400000); absent = 60000 */
  lease_ms?: number;
}

export interface PermitReportParams {
  /** the pool */
  pool: string;
  /** what permit.acquire answered */
  lease: string;
  /** as of pool.release; to the breaker ok is a success, cancelled is ignored, and all else is a failure; absent = ok */
  outcome?: "ok" | "soft_block" | "hard_block" | "transport" | "captcha" | "fail" | "ban" | "cancelled";
  /** the HTTP status: one of the rule's penalty.codes pauses the member (0 to 999) */
  status?: number;
  /** milliseconds the server asks to stay away; 0 or less, such as for a date that has passed = it asks for no pause; absent = it did not say. The Go client leaves a 0 out: there it is -1 (-31622400000 to 31622400000) */
  retry_after_ms?: number;
  /** milliseconds that the work took, for the breaker's slow rate (0 to 86400000) */
  duration_ms?: number;
  /** milliseconds to cool down in the scope at least, whatever the outcome (0 to 604800000) */
  cooldown_ms?: number;
  /** milliseconds that a ban by this call lasts; absent or 0 = until pool.unban (0 to 31622400000) */
  unban_after_ms?: number;
}

export interface PermitReportResult {
  /** the member was this permit's and is given back; else nothing was counted */
  released: boolean;
  /** what was found */
  reason: "released" | "not_owner" | "expired";
  /** what the member is now */
  state?: "free" | "cooling" | "banned";
  /** the state of its breaker */
  breaker?: "closed" | "open" | "half_open" | "forced_open" | "forced_closed" | "disabled";
  /** when it may be had again, by the Redis server's clock, Unix milliseconds; 0 = now; -1 = not as things are */
  next_at_ms?: number;
}

export interface PingResult {
  /** the pod's clock, Unix milliseconds */
  now_at_ms: number;
}

export interface PoolAcquireParams {
  /** the pool */
  pool: string;
  /** milliseconds until it is free again unless renewed (100 to 86400000); absent = 60000 */
  lease_ms?: number;
  /** milliseconds to stand in line, within the call's deadline; first come, first served across all pods (0 to 60000); absent = 0 */
  wait_ms?: number;
  /** what it is used for, such as a host: least recent use and cooldowns are of each scope alone */
  scope?: string;
  /** members not to take, at most 100 */
  exclude?: string[];
  /** who comes back: in its turn the same name gets the same member again, if that can be had then */
  sticky?: string;
  /** session = renewed while this connection lives and given back when it closes; ttl = neither; absent = session */
  bind?: "session" | "ttl";
}

export interface PoolAcquireResult {
  /** the member is this caller's */
  acquired: boolean;
  /** the member */
  id?: string;
  /** for pool.renew and release */
  lease?: string;
  /** a decimal number that rises with every lease of the pool */
  fence?: string;
  /** what was put with the member */
  meta?: string;
  /** when it was acquired before in this scope, Unix milliseconds; 0 = never */
  last_used_at_ms?: number;
  /** 0 when acquired; else milliseconds until the soonest member may be had, rounded up; -1 = none ever, as things are */
  retry_after_ms: number;
  /** that instant, by the Redis server's clock, Unix milliseconds */
  next_at_ms?: number;
  /** milliseconds it stood in line until the answer was asked for, rounded down */
  waited_ms?: number;
  /** the answer is about an earlier lease with the same request id */
  replayed?: boolean;
  /** why there is none, by the member that is soonest: busy = leased, or others are waiting; cooling; banned; empty = there is no member but excluded ones; released or expired = what became of a replayed lease */
  reason?: "busy" | "cooling" | "banned" | "empty" | "released" | "expired";
}

export interface PoolBanParams {
  /** the pool */
  pool: string;
  /** the member */
  id: string;
  /** milliseconds that it lasts; absent or 0 = until pool.unban (0 to 31622400000) */
  for_ms?: number;
}

export interface PoolBanResult {
  /** the member was not so before */
  changed: boolean;
}

export interface PoolEntry {
  /** the member */
  id: string;
  /** what was put with it */
  meta?: string;
  /** its state; a banned or cooling one that is still leased is leased */
  state: "free" | "leased" | "cooling" | "banned";
  /** milliseconds that this lasts; 0 when free, -1 = until pool.unban */
  for_ms: number;
  /** who has it */
  held_by?: Holder;
  /** when it was last acquired in the scope, by the Redis server's clock, Unix milliseconds; 0 = never */
  last_used_at_ms: number;
  /** failures in a row */
  failures: number;
  /** the state of its breaker, if it has one */
  breaker?: "closed" | "open" | "half_open" | "forced_open" | "forced_closed" | "disabled";
  /** milliseconds that permits of it are paused for */
  paused_for_ms?: number;
}

export interface PoolExplainParams {
  /** the pool */
  pool: string;
  /** as for pool.acquire */
  scope?: string;
  /** members not to take, at most 100 */
  exclude?: string[];
  /** only this member */
  id?: string;
}

export interface PoolExplainResult {
  /** what a call without wait_ms would be told now: acquired, or why there is none, by the member that is soonest: busy = leased, or others are waiting; cooling; banned; empty = there is no such member; open = its breaker; limit = its bucket; pause = the server asked for it */
  decision: "acquired" | "busy" | "cooling" | "banned" | "empty" | "open" | "limit" | "pause";
  /** 0 when one would be acquired; else milliseconds until the soonest member may be had, rounded up; -1 = none ever, as things are */
  retry_after_ms: number;
  /** the same as a sentence for people */
  text: string;
  /** the member that would be acquired, else the one that is soonest */
  id?: string;
  /** members that were looked at: all but excluded ones, or that of id */
  members: number;
  /** those that may be had now */
  free: number;
  /** why the others may not be had, each member by what keeps it longest, the soonest first */
  reasons: ExplainReason[];
  /** who has members, by when their leases end; at most 20 */
  holders: PoolHolder[];
  /** the rule, of a permit */
  rule?: string;
  /** what it allows the member of id, as limit/period, such as 80/10m */
  limits?: string[];
  /** these limits are those of an override, for that member alone */
  override?: boolean;
  /** the rule refuses nothing */
  shadow?: boolean;
  /** the policy of the members' breakers, of a permit */
  breaker?: string;
  /** how many calls stand in line for the same pool, scope, rule and breaker */
  waiting: number;
  /** whose they are, as of lock.explain */
  line: ExplainLine[];
}

export interface PoolHolder {
  /** the member */
  id: string;
  /** milliseconds until the lease ends unless it is renewed, rounded up */
  left_ms: number;
  /** who has it */
  held_by: Holder;
}

export interface PoolListParams {
  /** the pool */
  pool: string;
  /** whose use and cooldowns to show */
  scope?: string;
  /** the cursor of the page before; absent = from the start */
  cursor?: string;
  /** how many to list (1 to 1000); absent = 100 */
  count?: number;
}

export interface PoolListResult {
  /** those of this page, in the order in which they came */
  members: PoolEntry[];
  /** where the next page begins; absent = this was the last */
  cursor?: string;
}

export interface PoolListed {
  /** the pool */
  pool: string;
  /** members */
  total: number;
  /** those that are leased, whatever else they are */
  live: number;
  /** of the others, those that are cooling down outside of any scope */
  cooling: number;
  /** of the others, those that are banned */
  banned: number;
  /** the rest */
  free: number;
  /** members whose breaker is open or forced open, whatever else they are */
  open: number;
  /** in how many waiting lines calls stand: there is one for each scope, rule and breaker policy */
  lines: number;
  /** who has members, by when their leases end; at most 3 */
  holders: PoolHolder[];
}

export interface PoolMember {
  /** the member */
  id: string;
  /** given to who acquires it, at most 4096 bytes */
  meta?: string;
}

export interface PoolPoolsParams {
  /** the cursor of the page before; absent = from the start */
  cursor?: string;
  /** about how many to list (1 to 1000); absent = 100 */
  count?: number;
  /** exhausted = only those without a free member; waited = only those that calls stand in line for; absent = all */
  state?: "exhausted" | "waited";
}

export interface PoolPoolsResult {
  /** those of this page; it may have none and not be the last */
  pools: PoolListed[];
  /** where the next page begins; absent = this was the last */
  cursor?: string;
}

export interface PoolPutParams {
  /** the pool; the first member makes it, and at most 10000 are in one */
  pool: string;
  /** 1 to 1000 members */
  members: PoolMember[];
}

export interface PoolPutResult {
  /** how many were not there before */
  added: number;
  /** how many there are now */
  total: number;
}

export interface PoolReleaseParams {
  /** the pool */
  pool: string;
  /** what pool.acquire answered */
  lease: string;
  /** ok = forgets failures; cancelled = says nothing of the member, as when it was not used; ban = banned; the others cool down, longer with each in a row; see docs/pool.md; absent = ok */
  outcome?: "ok" | "soft_block" | "hard_block" | "transport" | "captcha" | "fail" | "ban" | "cancelled";
  /** milliseconds to cool down in the scope at least, whatever the outcome (0 to 604800000) */
  cooldown_ms?: number;
  /** milliseconds that a ban by this call lasts; absent or 0 = until pool.unban (0 to 31622400000) */
  unban_after_ms?: number;
}

export interface PoolReleaseResult {
  /** the member was this lease's and is given back */
  released: boolean;
  /** what was found */
  reason: "released" | "not_owner" | "expired";
  /** what the member is now */
  state?: "free" | "cooling" | "banned";
  /** when it may be had again, by the Redis server's clock, Unix milliseconds; 0 = now; -1 = after pool.unban */
  next_at_ms?: number;
}

export interface PoolRemoveParams {
  /** the pool */
  pool: string;
  /** 1 to 1000 members */
  ids: string[];
}

export interface PoolRemoveResult {
  /** how many were there */
  removed: number;
  /** how many there are now */
  total: number;
}

export interface PoolRenewParams {
  /** the pool */
  pool: string;
  /** what pool.acquire answered */
  lease: string;
  /** milliseconds from now until it is free again (100 to 86400000); absent = 60000 */
  lease_ms?: number;
}

export interface PoolRenewResult {
  /** it is leased for lease_ms more */
  renewed: boolean;
  /** milliseconds left at least; 0 when it is not this lease's */
  lease_ms: number;
  /** what was found */
  reason: "renewed" | "not_owner" | "expired";
}

export interface PoolStatsParams {
  /** the pool */
  pool: string;
  /** whose cooldowns count */
  scope?: string;
}

export interface PoolStatsResult {
  /** members */
  total: number;
  /** those that are leased, whatever else they are */
  live: number;
  /** of the others, those that are cooling down in the scope */
  cooling: number;
  /** of the others, those that are banned */
  banned: number;
  /** the rest */
  free: number;
  /** calls that stand in line in the scope without a rule */
  waiting: number;
  /** members whose breaker is open or forced open, whatever else they are */
  open: number;
}

export interface PoolUnbanParams {
  /** the pool */
  pool: string;
  /** the member */
  id: string;
}

export interface PubsubGap {
  /** what pubsub.subscribe answered */
  subscription: string;
  /** how many; -1 = it is not known, since Redis was not reached */
  dropped: number;
}

export interface PubsubMessage {
  /** what pubsub.subscribe answered */
  subscription: string;
  /** the channel */
  channel: string;
  /** the pattern that it matched; absent for channels; a message that several match comes once for each */
  pattern?: string;
  /** its body */
  body: Uint8Array;
}

export interface PubsubPublishParams {
  /** the channel */
  channel: string;
  /** any bytes, at most 256 KiB */
  body?: Uint8Array;
}

export interface PubsubPublishResult {
  /** sidecars that were told, on the Redis node that was asked; 0 = nobody in a fleet on one Redis */
  receivers: number;
}

export interface PubsubSubscribeParams {
  /** channels, at most 256 of both together */
  channels?: string[];
  /** patterns of channels as of Redis: * ? [ab] and a backslash before what stands for itself */
  patterns?: string[];
  /** how many messages are kept while this connection is not read; those that come then are dropped and told by pubsub.gap (1 to 100000); absent = 1000 */
  buffer?: number;
}

export interface PubsubSubscribeResult {
  /** the subscription, for pubsub.unsubscribe; its messages name it */
  subscription: string;
}

export interface PubsubUnsubscribeParams {
  /** what pubsub.subscribe answered */
  subscription: string;
}

export interface PubsubUnsubscribeResult {
  /** the subscription was this connection's */
  unsubscribed: boolean;
}

export interface QueueAckResult {
  /** the entry was this lease's and is gone */
  acked: boolean;
  /** what was found; expired = it went back to the head, or someone else has it */
  reason: "acked" | "expired";
}

export interface QueueCancelResult {
  /** it was taken out */
  cancelled: boolean;
  /** what it was */
  state: "waiting" | "leased" | "absent";
}

export interface QueueDequeueParams {
  /** the queue */
  queue: string;
  /** milliseconds to wait for an entry, within the call's deadline; first come, first served across all pods (0 to 60000); absent = 0 */
  wait_ms?: number;
  /** milliseconds in which it is to be acknowledged, at least 100; 0 = it is gone from the queue at once (0 to 86400000); absent = 0 */
  lease_ms?: number;
  /** of the lease: ttl = it lasts lease_ms unless renewed; session = it is renewed while this connection lives, and the entry is back at the head when it closes; absent = ttl */
  bind?: "session" | "ttl";
}

export interface QueueDequeueResult {
  /** there was an entry */
  found: boolean;
  /** its id */
  id?: string;
  /** its body */
  body?: Uint8Array;
  /** for queue.ack, release and renew */
  lease?: string;
  /** how often it has been taken, from 1 */
  attempt?: number;
  /** when it came, by the Redis server's clock, Unix milliseconds */
  enqueued_at_ms?: number;
  /** how many entries are left in the queue */
  depth: number;
  /** 0 when found; else milliseconds until a lease ends and its entry may be back, at most 1000, or when to ask again */
  retry_after_ms: number;
  /** milliseconds it waited until the answer was asked for, rounded down */
  waited_ms?: number;
  /** the entry of an earlier call with the same request id */
  replayed?: boolean;
  /** why there is none: empty; busy = others wait for one; released or expired = what became of a replayed lease */
  reason?: "empty" | "busy" | "released" | "expired";
}

export interface QueueEnqueueParams {
  /** the queue */
  queue: string;
  /** the entry; the same id is in a queue once */
  id: string;
  /** milliseconds until it expires if nobody takes it; while it is leased it does not (1 to 2592000000); absent = 60000 */
  ttl_ms?: number;
  /** any bytes, at most 256 KiB, given to who takes it */
  body?: Uint8Array;
}

export interface QueueEnqueueResult {
  /** it is new; else its id was there already, and it is as it was */
  enqueued: boolean;
  /** how many are before it, itself included, those that expired but are not yet removed too; 0 = someone has it */
  position: number;
  /** how many entries are in the queue */
  depth: number;
  /** the answer of an earlier call with the same request id; the entry may have been taken since */
  replayed?: boolean;
}

export interface QueueEntryParams {
  /** the queue */
  queue: string;
  /** the entry */
  id: string;
}

export interface QueueHolder {
  /** the entry */
  id: string;
  /** how often it has been taken, from 1 */
  attempt: number;
  /** milliseconds until the lease ends unless it is renewed, rounded up */
  left_ms: number;
  /** the connection that took it, as inspect.snapshot of its sidecar lists it */
  session: string;
}

export interface QueueLeaseParams {
  /** the queue */
  queue: string;
  /** what queue.dequeue answered */
  lease: string;
}

export interface QueueListParams {
  /** the cursor of the page before; absent = from the start */
  cursor?: string;
  /** about how many to list (1 to 1000); absent = 100 */
  count?: number;
  /** entries = only those in which entries wait to be taken; leased = only those of which someone has entries; empty = only those in which none waits; absent = all */
  state?: "entries" | "leased" | "empty";
}

export interface QueueListResult {
  /** those of this page; it may have none and not be the last */
  queues: QueueListed[];
  /** where the next page begins; absent = this was the last */
  cursor?: string;
}

export interface QueueListed {
  /** the queue */
  queue: string;
  /** entries that wait to be taken, those that expired but are not yet removed too */
  depth: number;
  /** entries that someone has */
  leased: number;
  /** calls that wait for an entry */
  waiting: number;
  /** milliseconds since the first entry came; 0 when there is none */
  oldest_ms: number;
  /** who has entries, by when their leases end; at most 3 */
  holders: QueueHolder[];
}

export interface QueueParams {
  /** the queue */
  queue: string;
}

export interface QueuePositionResult {
  /** leased = someone has it; absent = it was taken, expired or never came */
  state: "waiting" | "leased" | "absent";
  /** how many are before it, itself included, those that expired but are not yet removed too; 0 unless it is waiting */
  position: number;
  /** how many entries are in the queue */
  depth: number;
}

export interface QueueReleaseResult {
  /** the entry is at the head again */
  released: boolean;
  /** what was found */
  reason: "released" | "expired";
}

export interface QueueRenewParams {
  /** the queue */
  queue: string;
  /** what queue.dequeue answered */
  lease: string;
  /** milliseconds from now until it comes back (100 to 86400000) */
  lease_ms: number;
}

export interface QueueRenewResult {
  /** the entry is this lease's for lease_ms more */
  renewed: boolean;
  /** milliseconds left at least; 0 when it is not */
  lease_ms: number;
  /** what was found */
  reason: "renewed" | "expired";
}

export interface QueueStatsResult {
  /** entries in the queue, those that expired but are not yet removed too */
  depth: number;
  /** entries that someone has */
  leased: number;
  /** calls that wait for an entry */
  waiting: number;
  /** milliseconds since the first entry came; 0 when there is none */
  oldest_ms: number;
}

export interface RatelimitAnyParams {
  /** the rule's name; or give algorithm and limits */
  rule?: string;
  /** the algorithm of a limit given in full */
  algorithm?: "token_bucket" | "leaky_bucket" | "fixed_window" | "sliding_window_log" | "sliding_window_counter";
  /** the bands of a limit given in full, 1 to 4 */
  limits?: Band[];
  /** 1 to 100 keys, the preferred first */
  keys: string[];
  /** how much to take (0 to 1000000000); absent = 1 */
  cost?: number;
  /** what decides when Redis does not answer */
  fail_mode?: "closed" | "open" | "local";
}

export interface RatelimitAnyResult {
  /** the key that was let through; else the one that may go soonest */
  key: string;
  /** the decision for it, as of ratelimit.acquire */
  result: RatelimitResult;
}

export interface RatelimitDeleteRuleParams {
  /** the rule */
  name: string;
}

export interface RatelimitDeleteRuleResult {
  /** it was in Redis, and is no more */
  deleted: boolean;
}

export interface RatelimitDoneResult {
  /** its place is free again; false when it held none */
  done: boolean;
}

export interface RatelimitExplainParams {
  /** the rule's name; or give algorithm and limits */
  rule?: string;
  /** the algorithm of a limit given in full */
  algorithm?: "token_bucket" | "leaky_bucket" | "fixed_window" | "sliding_window_log" | "sliding_window_counter";
  /** the bands of a limit given in full, 1 to 4 */
  limits?: Band[];
  /** the key */
  key: string;
  /** the group that counts in its place */
  group?: string;
}

export interface RatelimitExplainResult {
  /** the rule's name, empty for a limit given in full */
  rule: string;
  /** the algorithm */
  algorithm: string;
  /** of the rule; 0 for a limit given in full */
  revision: number;
  /** what the state is kept under: the group, or the key */
  counted: string;
  /** the override that counts, as it is written, such as glob:api-* */
  override?: string;
  /** the list of the rule that has the key; then nothing else counts */
  list?: "allow" | "deny";
  /** the rule refuses nothing */
  shadow?: boolean;
  /** what a call of cost 1 would be told now: allowed, or denied_by */
  decision: "allowed" | "limit" | "pause" | "delay" | "concurrency" | "deny_list";
  /** milliseconds until it would be allowed, rounded up; -1 = never */
  retry_after_ms: number;
  /** each band */
  bands: ExplainBand[];
  /** the pause, while there is one */
  pause?: ExplainPause;
  /** the delay, while there is one */
  delay?: ExplainDelay;
  /** what refusals of the remote server led to so far */
  penalty?: ExplainPenalty;
  /** how many grants may be held at once */
  max_concurrent?: number;
  /** who holds places, the first to end first, at most 100 */
  held: ExplainHolder[];
  /** how many calls stand in line for a place */
  waiting?: number;
  /** what this sidecar charged ahead and has not served, in mode leased; the bands count it as used */
  block?: ExplainBlock;
}

export interface RatelimitGrantParams {
  /** the grant, as ratelimit.acquire told it */
  grant: string;
}

export interface RatelimitItem {
  /** the rule's name; or give algorithm and limits */
  rule?: string;
  /** the algorithm of a limit given in full */
  algorithm?: "token_bucket" | "leaky_bucket" | "fixed_window" | "sliding_window_log" | "sliding_window_counter";
  /** the bands of a limit given in full, 1 to 4 */
  limits?: Band[];
  /** whom or what the limit counts */
  key: string;
  /** counts in place of the key */
  group?: string;
  /** how much to take */
  cost?: number;
  /** what decides when Redis does not answer */
  fail_mode?: "closed" | "open" | "local";
}

export interface RatelimitItemResult {
  /** the decision, as of ratelimit.acquire */
  result?: RatelimitResult;
  /** why there is none */
  error?: ItemError;
}

export interface RatelimitManyParams {
  /** 1 to 100 acquisitions, each as ratelimit.acquire without wait_ms */
  items: RatelimitItem[];
  /** all or none: the items have one rule and one group, and none is refused alone */
  atomic?: boolean;
}

export interface RatelimitManyResult {
  /** one for each item, in their order */
  results: RatelimitItemResult[];
}

export interface RatelimitParams {
  /** the rule's name; or give algorithm and limits */
  rule?: string;
  /** the algorithm of a limit given in full */
  algorithm?: "token_bucket" | "leaky_bucket" | "fixed_window" | "sliding_window_log" | "sliding_window_counter";
  /** the bands of a limit given in full, 1 to 4; with other bands it is another limit, which shares nothing with this one but pauses and delays of the key */
  limits?: Band[];
  /** whom or what the limit counts, such as a host or an account */
  key: string;
  /** counts in place of the key, for all keys of the group together; absent = the rule's group of the key, or none */
  group?: string;
  /** the pool whose member the key names: its bucket under the rule and its pause, as permits use them; takes no group, wait_ms, algorithm or limits */
  pool?: string;
  /** how much to take; 0 takes nothing, as ratelimit.peek. The Go client leaves a 0 out, so that it takes 1: look with RatelimitPeek (0 to 1000000000); absent = 1 */
  cost?: number;
  /** milliseconds the call may wait for a slot, first come first served; further away it is refused at once; ratelimit.peek never waits; sliding_window_counter takes none (0 to 60000) */
  wait_ms?: number;
  /** what decides when Redis does not answer: closed = the call fails with UNAVAILABLE, open = it is allowed, local = this sidecar alone limits it; absent = the rule's, open unless it says otherwise */
  fail_mode?: "closed" | "open" | "local";
}

export interface RatelimitPauseParams {
  /** the rule's name; absent for limits given in full */
  rule?: string;
  /** the key */
  key: string;
  /** the group that counts in its place */
  group?: string;
  /** milliseconds from now; or give until_at_ms (0 to 31622400000) */
  for_ms?: number;
  /** the instant it ends, by the Redis server's clock, Unix milliseconds, within 366 days (at least 0) */
  until_at_ms?: number;
  /** for people */
  reason?: string;
  /** the pool whose member the key names: it is paused for permits, whatever the rule */
  pool?: string;
}

export interface RatelimitPauseResult {
  /** when the longest pause ends, by the Redis server's clock, Unix milliseconds */
  paused_until_at_ms: number;
}

export interface RatelimitPutRuleParams {
  /** the rule */
  rule: Rule;
}

export interface RatelimitPutRuleResult {
  /** of the rule, Unix milliseconds */
  revision: number;
  /** there was another one of this name in Redis */
  replaced: boolean;
  /** a file of this sidecar has a rule of this name, which comes first */
  hidden: boolean;
}

export interface RatelimitRefundResult {
  /** what the grant took is free again */
  refunded: boolean;
  /** repeated = it was refunded before; expired = nothing of it counts any more, or nothing is known of it, as of a grant that was edited */
  reason: "refunded" | "repeated" | "expired";
}

export interface RatelimitReportParams {
  /** the rule's name; absent for limits given in full */
  rule?: string;
  /** whom or what the limit counts */
  key: string;
  /** the group that counts in its place */
  group?: string;
  /** the grant that the request went out with; its place is freed */
  grant?: string;
  /** the HTTP status that came back (100 to 999) */
  status: number;
  /** milliseconds that the answer took, for metrics (0 to 86400000) */
  latency_ms?: number;
  /** milliseconds the server asks to stay away; 0 or less, such as for a date that has passed = it asks for no pause; absent = it did not say. The Go client leaves a 0 out: there it is -1 (-31622400000 to 31622400000) */
  retry_after_ms?: number;
  /** the pool whose member the key names: the member is paused for permits */
  pool?: string;
}

export interface RatelimitReportResult {
  /** milliseconds until the key may go again; 0 = now */
  wait_ms: number;
  /** that instant by the Redis server's clock, Unix milliseconds */
  paused_until_at_ms?: number;
}

export interface RatelimitResetParams {
  /** the rule's name; or give algorithm and limits */
  rule?: string;
  /** the algorithm of a limit given in full */
  algorithm?: "token_bucket" | "leaky_bucket" | "fixed_window" | "sliding_window_log" | "sliding_window_counter";
  /** the bands of a limit given in full, 1 to 4 */
  limits?: Band[];
  /** the key to forget */
  key: string;
  /** the group that counts in its place */
  group?: string;
  /** the pool whose member the key names: its bucket under the rule is forgotten */
  pool?: string;
}

export interface RatelimitResetResult {
  /** something was forgotten */
  reset: boolean;
}

export interface RatelimitResult {
  /** the cost was taken */
  allowed: boolean;
  /** the rule's name, empty for a limit given in full */
  rule: string;
  /** the algorithm */
  algorithm: string;
  /** the band this answer is about, as limit/period, such as 80/10m */
  band: string;
  /** the band's limit per period */
  limit: number;
  /** what could be taken at once now, rounded down */
  remaining: number;
  /** what counts against the band now, rounded up */
  current: number;
  /** milliseconds until the band is as if unused, rounded up */
  reset_after_ms: number;
  /** that instant by the Redis server's clock, or the pod's when degraded, Unix milliseconds; 0 = not known */
  reset_at_ms: number;
  /** 0 when allowed; else milliseconds until this cost fits if nobody else asks, rounded up; -1 = it never fits */
  retry_after_ms: number;
  /** milliseconds the call waited for its slot */
  waited_ms: number;
  /** why it was refused, or would have been if the rule were not in shadow: limit = a band is used up; pause = the key is paused; delay = too soon after the last one; concurrency = max_concurrent grants are held; deny_list = the rule refuses the key */
  denied_by?: "limit" | "pause" | "delay" | "concurrency" | "deny_list";
  /** it was let through only because the rule is in shadow */
  shadow?: boolean;
  /** the answer came from the fail mode, since Redis did not answer */
  degraded: boolean;
  /** where the decision was made: redis; lease = from what the sidecar charged ahead, of a rule in mode leased; cache = a refusal of less than a second ago that still holds; local = the fail mode; list = the rule's allow or deny list */
  source: "redis" | "cache" | "local" | "list" | "lease";
  /** what was taken, for ratelimit.refund, done and report; absent if the source is lease */
  grant?: string;
  /** the grant holds one of max_concurrent places: end it with ratelimit.done, or a report with the grant */
  held?: boolean;
  /** the reply of an earlier call with the same request id */
  replayed?: boolean;
  /** degraded, and the cost may have been taken from Redis all the same */
  maybe_executed?: boolean;
}

export interface RatelimitResumeParams {
  /** the rule's name; absent for limits given in full */
  rule?: string;
  /** the key */
  key: string;
  /** the group that counts in its place */
  group?: string;
  /** the pool whose member the key names */
  pool?: string;
}

export interface RatelimitResumeResult {
  /** the key was paused, and is no more */
  resumed: boolean;
}

export interface RatelimitRulesResult {
  /** by name */
  rules: RuleInForce[];
  /** which of two rules of one name is in force */
  precedence: "file" | "redis";
  /** rules in Redis that this version of the sidecar cannot read, by name; they are not in force here */
  unreadable?: string[];
}

export interface RatelimitSetDelayParams {
  /** the rule's name; absent for limits given in full */
  rule?: string;
  /** the key */
  key: string;
  /** the group that counts in its place */
  group?: string;
  /** milliseconds from one admission to the next, at most the rule's max_delay_ms; 0 = this source asks for none (0 to 86400000) */
  delay_ms?: number;
  /** milliseconds until this source's word is forgotten (1 to 31622400000); absent = 86400000 */
  ttl_ms?: number;
  /** who says so, such as robots; each has one word; absent = robots */
  source?: string;
}

export interface RatelimitSetDelayResult {
  /** milliseconds from one admission to the next, of the slowest source; 0 = none */
  delay_ms: number;
  /** until when, by the Redis server's clock, Unix milliseconds */
  until_at_ms?: number;
}

export interface RatelimitStatsResult {
  /** since when, by the pod's clock, Unix milliseconds */
  since_at_ms: number;
  /** by name; inline = limits given in full */
  rules: RuleStats[];
}

export interface Rule {
  /** what calls name it by */
  name: string;
  /** how it counts */
  algorithm: "token_bucket" | "leaky_bucket" | "fixed_window" | "sliding_window_log" | "sliding_window_counter";
  /** its bands, 1 to 4, each with a period of its own */
  limits: Band[];
  /** what decides when Redis does not answer; absent = open */
  fail_mode?: "closed" | "open" | "local";
  /** how many pods share the limit when it is local; absent = 1 */
  local_share_of?: number;
  /** whether refusals are answered locally for up to a second; absent = on */
  deny_cache?: "on" | "off";
  /** other limits for some keys; the first that matches counts */
  overrides?: Override[];
  /** keys that are always let through and count nowhere */
  allow?: Match[];
  /** keys that are always refused, before allow */
  deny?: Match[];
  /** keys that count together; the first that matches counts */
  groups?: Group[];
  /** count and tell, and refuse nothing */
  shadow?: boolean;
  /** how many grants of a key may be held at once; absent or 0 = any number */
  max_concurrent?: number;
  /** how much of each limit and burst is kept back, since what was granted arrives late; absent = 0 */
  headroom_percent?: number;
  /** the longest delay that ratelimit.set_delay may set; absent = 60000 */
  max_delay_ms?: number;
  /** exact = Redis decides each call; leased = a sidecar charges blocks ahead and serves them from memory, of token_bucket and fixed_window, without max_concurrent; absent = exact */
  mode?: "exact" | "leased";
  /** how much a sidecar may charge ahead in mode leased, and for how long */
  lease?: RuleLease;
  /** what ratelimit.report does about refusals of the remote server */
  penalty?: Penalty;
}

export interface RuleInForce {
  /** the rule, without what is as by default */
  rule: Rule;
  /** file = the configuration; redis = ratelimit.put_rule */
  source: "file" | "redis";
  /** it is not in force: the other source has a rule of this name, which comes first */
  hidden?: boolean;
  /** rises with each change; Unix milliseconds */
  revision: number;
}

export interface RuleLease {
  /** the most that one sidecar may hold of a key, in percent of each band's limit, and never more than its burst; absent = 10 */
  max_share_percent?: number;
  /** milliseconds from the charge for which a block may be served, at least 10; absent = 1000 */
  ttl_ms?: number;
}

export interface RuleStats {
  /** the rule's name */
  rule: string;
  /** calls that were let through, those in shadow included */
  allowed: number;
  /** calls that were refused, for whatever reason */
  refused: number;
  /** calls that were let through only because the rule is in shadow */
  shadowed: number;
  /** calls that a fail mode answered, those that failed included */
  degraded: number;
  /** calls that waited for a slot or a place and got it */
  waited: number;
  /** milliseconds that they waited, all together */
  waited_ms: number;
}

export interface SeenCommitParams {
  /** the set */
  set: string;
  /** the key */
  key: string;
  /** what seen.reserve answered */
  token: string;
  /** milliseconds to remember it, at most 366 days (1 to 31622400000); absent = 86400000 */
  keep_ms?: number;
}

export interface SeenCommitResult {
  /** it is remembered as done */
  committed: boolean;
  /** expired = the reservation had ended; someone else may have done it, or do it now */
  reason: "committed" | "expired";
}

export interface SeenReleaseParams {
  /** the set */
  set: string;
  /** the key */
  key: string;
  /** what seen.reserve answered */
  token: string;
}

export interface SeenReleaseResult {
  /** the reservation was this token's and is given up */
  released: boolean;
  /** what was found */
  reason: "released" | "expired";
}

export interface SeenReserveParams {
  /** the set */
  set: string;
  /** what is to be done once, such as a URL or its hash */
  key: string;
  /** milliseconds until the reservation ends unless renewed or committed (100 to 86400000); absent = 30000 */
  ttl_ms?: number;
  /** session = renewed while this connection lives and given up when it closes; ttl = neither; absent = session */
  bind?: "session" | "ttl";
}

export interface SeenReserveResult {
  /** do it, then commit or release */
  reserved: boolean;
  /** what it was: new = nobody had it; reserved = someone else does it; done = it was committed */
  state: "new" | "reserved" | "done";
  /** for seen.commit and release */
  token?: string;
  /** 0 when reserved; else milliseconds until the reservation ends unless renewed, or what was committed is forgotten */
  retry_after_ms: number;
  /** the answer is about an earlier call with the same request id */
  replayed?: boolean;
  /** what became of a replayed reservation */
  reason?: "released" | "expired";
}

export interface SemaphoreAcquireParams {
  /** the semaphore */
  name: string;
  /** how many permits it has; each call goes by its own limit, so give the same everywhere (1 to 10000) */
  limit: number;
  /** how many to take, at most limit (1 to 10000); absent = 1 */
  permits?: number;
  /** milliseconds until they are free again unless renewed (100 to 86400000); absent = 30000 */
  ttl_ms?: number;
  /** milliseconds to stand in line for them, within the call's deadline; first come, first served across all pods, and nobody passes who asks for many (0 to 60000); absent = 0 */
  wait_ms?: number;
  /** the owner's secret; made by the sidecar when absent */
  token?: string;
  /** how many replicas of Redis must have the grant, or it is given back (0 to 16); absent = 0 */
  wait_replicas?: number;
  /** milliseconds after which they are lost, whoever renews them; 0 = never (0 to 604800000); absent = 0 */
  max_hold_ms?: number;
  /** shown with the holder; at most 512 bytes */
  meta?: string;
  /** session = renewed while this connection lives and released when it closes; ttl = neither; absent = session */
  bind?: "session" | "ttl";
}

export interface SemaphoreAcquireResult {
  /** the permits are held by this token */
  acquired: boolean;
  /** the owner's secret, for renew and release */
  token?: string;
  /** a decimal number that rises with every grant; give it to what the semaphore protects */
  fence?: string;
  /** milliseconds that the grant has left at least; 0 when it is not acquired */
  ttl_ms: number;
  /** how many permits of limit are free after this call */
  free: number;
  /** 0 when acquired; else milliseconds until enough TTLs have ended, or when to ask again while others stand in line */
  retry_after_ms: number;
  /** milliseconds it stood in line until the answer was asked for, rounded down */
  waited_ms?: number;
  /** the answer is about an earlier grant with the same request id */
  replayed?: boolean;
  /** why it is not acquired; replicas = too few had the grant, and it was given back; released or expired = what became of a replayed grant */
  reason?: "busy" | "replicas" | "released" | "expired";
}

export interface SemaphoreGetParams {
  /** the semaphore */
  name: string;
}

export interface SemaphoreGetResult {
  /** how many permits are held */
  held: number;
  /** how many calls stand in line */
  waiting?: number;
  /** who holds them, by when their TTLs end; at most 100 */
  holders: SemaphoreHolder[];
}

export interface SemaphoreHolder {
  /** how many it holds */
  permits: number;
  /** its fence */
  fence: string;
  /** milliseconds that it has left */
  ttl_ms: number;
  /** who holds them */
  held_by: Holder;
}

export interface SemaphoreListParams {
  /** the cursor of the page before; absent = from the start */
  cursor?: string;
  /** about how many to list (1 to 1000); absent = 100 */
  count?: number;
  /** held = only those of which permits are held; waited = only those that calls stand in line for; absent = both */
  state?: "held" | "waited";
}

export interface SemaphoreListResult {
  /** those of this page; it may have none and not be the last */
  semaphores: SemaphoreListed[];
  /** where the next page begins; absent = this was the last */
  cursor?: string;
}

export interface SemaphoreListed {
  /** the semaphore */
  name: string;
  /** how many permits are held */
  held: number;
  /** how many calls stand in line */
  waiting: number;
  /** who holds them, by when their TTLs end; at most 3 */
  holders: SemaphoreHolder[];
}

export interface SemaphoreReleaseParams {
  /** the semaphore */
  name: string;
  /** the owner's secret */
  token: string;
}

export interface SemaphoreReleaseResult {
  /** the permits were this token's and are free now */
  released: boolean;
  /** what was found */
  reason: "released" | "expired";
}

export interface SemaphoreRenewParams {
  /** the semaphore */
  name: string;
  /** the owner's secret */
  token: string;
  /** milliseconds from now until they are free again (100 to 86400000); absent = 30000 */
  ttl_ms?: number;
}

export interface SemaphoreRenewResult {
  /** the permits are held for ttl_ms more */
  renewed: boolean;
  /** the grant's fence, unchanged */
  fence?: string;
  /** milliseconds left at least; 0 when they are not held by this token */
  ttl_ms: number;
  /** what was found */
  reason: "renewed" | "expired";
}

export interface StreamAckResult {
  /** the group is not given it again; false = it was acknowledged before, is a dead letter, or never was the group's */
  acked: boolean;
}

export interface StreamConsumer {
  /** the pod */
  name: string;
  /** messages that it was given and has not acknowledged */
  pending: number;
  /** milliseconds since it last did anything */
  idle_ms: number;
}

export interface StreamDeadLetter {
  /** the dead letter, for stream.redrive and stream.trim */
  id: string;
  /** the id that the message had in the stream */
  message_id: string;
  /** the group that failed */
  group: string;
  /** how often it was delivered */
  attempts: number;
  /** why: what stream.nack said, or max_deliveries */
  reason: string;
  /** when it was moved, by the Redis server's clock, Unix milliseconds */
  dead_at_ms: number;
  /** its body */
  body?: Uint8Array;
  /** its fields */
  fields?: Record<string, string>;
  /** the W3C trace context of its publisher */
  traceparent?: string;
}

export interface StreamDeadParams {
  /** the stream */
  stream: string;
  /** how many at most; fewer come if together they pass 512 KiB (1 to 256); absent = 20 */
  count?: number;
  /** only those after this one: next of the answer before */
  after?: string;
}

export interface StreamDeadResult {
  /** the dead letters */
  letters: StreamDeadLetter[];
  /** for after; absent when there are no more */
  next?: string;
}

export interface StreamEntry {
  /** its id in the stream */
  id: string;
  /** its body */
  body?: Uint8Array;
  /** its fields */
  fields?: Record<string, string>;
  /** the only group that it is for, of one that stream.redrive moved back */
  group?: string;
  /** when it was added to the stream, by the Redis server's clock, Unix milliseconds */
  published_at_ms: number;
  /** the W3C trace context of its publisher */
  traceparent?: string;
}

export interface StreamExtendResult {
  /** the message is this pod's for visibility_ms more */
  extended: boolean;
  /** what was found; not_pending = it was acknowledged, or deleted; taken = another pod has it */
  reason: "extended" | "not_pending" | "taken";
}

export interface StreamFetchParams {
  /** the stream */
  stream: string;
  /** the group of consumers */
  group: string;
  /** how many messages at most; fewer come if together they pass 512 KiB (1 to 256); absent = 1 */
  count?: number;
  /** milliseconds to wait for the first, within the call's deadline (0 to 60000); absent = 0 */
  wait_ms?: number;
  /** as of stream.subscribe (1 to 1000); absent = 5 */
  max_deliveries?: number;
  /** as of stream.subscribe (100 to 43200000); absent = 60000 */
  visibility_ms?: number;
  /** as of stream.subscribe; with ttl messages also outlive this connection; absent = session */
  bind?: "session" | "ttl";
  /** as of stream.subscribe; absent = first */
  start?: "first" | "new";
  /** as of stream.subscribe */
  rule?: string;
  /** as of stream.subscribe */
  key?: string;
}

export interface StreamFetchResult {
  /** the messages; none when there were none in time */
  messages: StreamMessage[];
}

export interface StreamGroup {
  /** the group */
  group: string;
  /** messages that it has not been given; -1 = Redis does not know, and they are too many to be counted */
  lag: number;
  /** messages that it was given and has not acknowledged */
  pending: number;
  /** those of them that wait for their delay after stream.nack */
  retrying: number;
  /** those that wait for the limit of their key, or for the one before it, where the group delivers by key; they are neither lag nor pending */
  parked?: number;
  /** pods that take part */
  consumers: number;
  /** milliseconds since the oldest of those pending was published; 0 when there is none */
  oldest_pending_ms: number;
  /** the newest message that it was given */
  last_delivered_id: string;
}

export interface StreamGroupDetail {
  /** the group */
  group: string;
  /** pods that take part, sorted by name */
  consumers: StreamConsumer[];
}

export interface StreamGroupsResult {
  /** its groups, sorted by name */
  groups: StreamGroupDetail[];
}

export interface StreamListParams {
  /** the cursor of the page before; absent = from the start */
  cursor?: string;
  /** about how many to list (1 to 1000); absent = 100 */
  count?: number;
  /** behind = only those with a group that has messages left to be given or acknowledged; dead = only those with dead letters; absent = all */
  state?: "behind" | "dead";
}

export interface StreamListResult {
  /** those of this page; it may have none and not be the last */
  streams: StreamListed[];
  /** where the next page begins; absent = this was the last */
  cursor?: string;
}

export interface StreamListed {
  /** the stream */
  stream: string;
  /** messages in the stream, acknowledged ones too */
  length: number;
  /** messages that are not due */
  delayed: number;
  /** dead letters */
  dead: number;
  /** messages that were deleted before a group that had been given them acknowledged them, since the stream was first used */
  trimmed: number;
  /** its groups, those first that are behind most; at most 8 */
  groups: StreamGroup[];
  /** how many more groups it has */
  more_groups?: number;
}

export interface StreamMessage {
  /** what stream.subscribe answered; absent in the result of stream.fetch */
  subscription?: string;
  /** the stream */
  stream: string;
  /** the group */
  group: string;
  /** its id in the stream */
  id: string;
  /** its body */
  body?: Uint8Array;
  /** its fields */
  fields?: Record<string, string>;
  /** how often it has been delivered, from 1 */
  attempt: number;
  /** when it was added to the stream, by the Redis server's clock, Unix milliseconds */
  published_at_ms: number;
  /** the W3C trace context of its publisher, to be linked to */
  traceparent?: string;
}

export interface StreamMessageParams {
  /** the stream */
  stream: string;
  /** the group */
  group: string;
  /** the message */
  id: string;
}

export interface StreamNackParams {
  /** the stream */
  stream: string;
  /** the group */
  group: string;
  /** the message */
  id: string;
  /** milliseconds until it is delivered again; -1 = 1 s after the first attempt, doubled with each, at most 5 min (-1 to 86400000); absent = -1 */
  delay_ms?: number;
  /** it is moved to the dead letters at once */
  dead?: boolean;
  /** why, for the dead letter */
  reason?: string;
}

export interface StreamNackResult {
  /** it was waiting for an ack; else nothing was done */
  nacked: boolean;
  /** it is a dead letter now */
  dead: boolean;
  /** milliseconds until it is delivered again; 0 = at once, or it is a dead letter */
  delay_ms: number;
}

export interface StreamNewMessage {
  /** as of stream.publish */
  body?: Uint8Array;
  /** as of stream.publish */
  fields?: Record<string, string>;
  /** as of stream.publish */
  dedupe_id?: string;
  /** as of stream.publish */
  dedupe_ms?: number;
  /** as of stream.publish */
  delay_ms?: number;
}

export interface StreamParams {
  /** the stream */
  stream: string;
}

export interface StreamPublishManyParams {
  /** the stream */
  stream: string;
  /** 1 to 256 messages, at most 768 KiB together */
  messages: StreamNewMessage[];
  /** as of stream.publish (0 to 1000000000); absent = 0 */
  maxlen?: number;
}

export interface StreamPublishManyResult {
  /** one for each message, in their order */
  results: StreamPublished[];
}

export interface StreamPublishParams {
  /** the stream */
  stream: string;
  /** any bytes, at most 256 KiB */
  body?: Uint8Array;
  /** texts by name, at most 256 KiB together, beside the body or in its place */
  fields?: Record<string, string>;
  /** a message with the same one, published within dedupe_ms before, is not published again */
  dedupe_id?: string;
  /** milliseconds for which dedupe_id is remembered (1000 to 86400000); absent = 300000 */
  dedupe_ms?: number;
  /** milliseconds until it is added to the stream (0 to 2592000000); absent = 0 */
  delay_ms?: number;
  /** about how many messages the stream keeps, the newest, when this one is added; a few more may stay; 0 = all (0 to 1000000000); absent = 0 */
  maxlen?: number;
}

export interface StreamPublishResult {
  /** it was added or will be; else its dedupe_id was known */
  published: boolean;
  /** its id in the stream; of a duplicate that of the first; absent of a delayed one */
  id?: string;
  /** when a delayed message is added, by the Redis server's clock, Unix milliseconds */
  due_at_ms?: number;
  /** the answer of an earlier call with the same request id */
  replayed?: boolean;
}

export interface StreamPublished {
  /** as of stream.publish */
  published: boolean;
  /** as of stream.publish */
  id?: string;
  /** as of stream.publish */
  due_at_ms?: number;
  /** why it failed; the others are not affected */
  error?: ItemError;
}

export interface StreamReadParams {
  /** the stream */
  stream: string;
  /** only those after this message: next of the answer before */
  after?: string;
  /** where to begin without after: first = with the oldest message; new = with those that are published from now on, so that this call lists none; absent = first */
  start?: "first" | "new";
  /** how many at most; fewer come if together they pass 512 KiB (1 to 256); absent = 20 */
  count?: number;
}

export interface StreamReadResult {
  /** the messages; acknowledged ones too */
  messages: StreamEntry[];
  /** for after of the next call, also when nothing was listed */
  next: string;
  /** others follow already */
  more: boolean;
}

export interface StreamRedriveParams {
  /** the stream */
  stream: string;
  /** the dead letters, at most 256 */
  ids?: string[];
  /** in place of ids: so many, the oldest first (0 to 256); absent = 0 */
  count?: number;
}

export interface StreamRedriveResult {
  /** dead letters that are back in the stream */
  redriven: number;
  /** dead letters that are left */
  left: number;
  /** the answer of an earlier call with the same request id */
  replayed?: boolean;
}

export interface StreamStatsParams {
  /** the stream */
  stream: string;
  /** this group alone */
  group?: string;
}

export interface StreamStatsResult {
  /** messages in the stream, acknowledged ones too */
  length: number;
  /** messages that are not due */
  delayed: number;
  /** dead letters */
  dead: number;
  /** messages that were deleted before a group that had been given them acknowledged them, since the stream was first used */
  trimmed: number;
  /** its groups, sorted by name */
  groups: StreamGroup[];
}

export interface StreamSubscribeParams {
  /** the stream */
  stream: string;
  /** the group of consumers; each message goes to one of them. The newest subscription or fetch of a pod sets visibility_ms and max_deliveries for all of the group in this pod */
  group: string;
  /** how many messages this subscription may have unacknowledged (1 to 1000); absent = 16 */
  prefetch?: number;
  /** a message that was delivered so often and not acknowledged is moved to the dead letters (1 to 1000); absent = 5 */
  max_deliveries?: number;
  /** milliseconds after which a message is delivered to another consumer, unless it is acknowledged or extended (100 to 43200000); absent = 60000 */
  visibility_ms?: number;
  /** session = the sidecar extends messages while this connection lives; ttl = they last visibility_ms unless extended. Either way they are delivered again at once when it closes; absent = session */
  bind?: "session" | "ttl";
  /** where a group begins that is made by this: first = with the oldest message; new = with those published from now on; absent = first */
  start?: "first" | "new";
  /** with key: a message is delivered only when this rule admits its key. Messages of other keys pass it by; those of one key go one at a time, in their order. The newest subscription or fetch of a pod sets it for all of the group in this pod */
  rule?: string;
  /** with rule: the field of messages that has the key, such as host. All subscriptions and fetches of a group name the same; a message that has no such field is moved to the dead letters */
  key?: string;
}

export interface StreamSubscribeResult {
  /** the subscription, for stream.unsubscribe; its messages name it */
  subscription: string;
  /** the group was made */
  created: boolean;
}

export interface StreamTrimParams {
  /** the stream */
  stream: string;
  /** of its dead letters */
  dead?: boolean;
  /** keep the newest so many (0 to 1000000000) */
  maxlen?: number;
  /** delete those that were added longer ago, in milliseconds (0 to 31536000000) */
  older_ms?: number;
  /** delete these, at most 256 */
  ids?: string[];
}

export interface StreamTrimResult {
  /** messages that were deleted */
  deleted: number;
  /** messages that are left */
  left: number;
}

export interface StreamUnsubscribeParams {
  /** what stream.subscribe answered */
  subscription: string;
}

export interface StreamUnsubscribeResult {
  /** the subscription was this connection's */
  unsubscribed: boolean;
}

/** The params and the result of each method. */
export interface Methods {
  /** Asks whether a call may be made. While the breaker is half open it hands out probes, which are to be reported. */
  "breaker.allow": { params: BreakerAllowParams; result: BreakerAllowResult };
  /** Tells whether a breaker would let a call pass now, why not and until when, and by which policy. It takes nothing. */
  "breaker.explain": { params: BreakerParams; result: BreakerExplainResult };
  /** Holds a breaker in a state until breaker.reset, whatever is reported. */
  "breaker.force": { params: BreakerForceParams; result: BreakerChangeResult };
  /** Says in what state a breaker is, and why. */
  "breaker.get": { params: BreakerParams; result: BreakerGetResult };
  /** Lists the breakers that are known, or with pool those of its members, a page at a time, in no order. What changes meanwhile may be missing or be there still. */
  "breaker.list": { params: BreakerListParams; result: BreakerListResult };
  /** Tells what became of a call that was allowed. What was allowed in an older generation changes nothing. */
  "breaker.report": { params: BreakerReportParams; result: BreakerReportResult };
  /** Closes a breaker and forgets what it counted, a forced state too. */
  "breaker.reset": { params: BreakerParams; result: BreakerChangeResult };
  /** Has this connection sent what happens, as notifications named event, until it ends. Again: replaces the kinds. */
  "events.subscribe": { params: EventsSubscribeParams; result: EventsSubscribeResult };
  /** Ends what events.subscribe began. It is no error when nothing was. */
  "events.unsubscribe": { params: Nothing; result: Nothing };
  /** Answers what /readyz?verbose and /livez?verbose do. */
  "health.get": { params: Nothing; result: HealthResult };
  /** Lists the sidecars that use this Redis under the same prefix and tenant, a page at a time, in no order. One that was killed is listed for half a minute still. */
  "inspect.sidecars": { params: InspectSidecarsParams; result: InspectSidecarsResult };
  /** Shows what the sidecar is, has in force, holds and does now, without secrets. */
  "inspect.snapshot": { params: Nothing; result: InspectResult };
  /** Takes a lock, at once or in turn within wait_ms, or says who holds it. Repeating it with the same token answers the same grant. */
  "lock.acquire": { params: LockAcquireParams; result: LockAcquireResult };
  /** Tells why a lock would be refused now and until when: who holds it, what keeps it held, and who stands in line. It takes nothing. */
  "lock.explain": { params: LockGetParams; result: LockExplainResult };
  /** Frees a lock whoever holds it, and says who did. The owner is told that it is lost; the next one's fence is higher. */
  "lock.force_release": { params: LockForceReleaseParams; result: LockForceReleaseResult };
  /** Says whether a lock is held, by whom and for how long. */
  "lock.get": { params: LockGetParams; result: LockGetResult };
  /** Lists the locks that are held, a page at a time, in no order. One that is taken or freed meanwhile may be missing or be there still. */
  "lock.list": { params: LockListParams; result: LockListResult };
  /** Gives a lock back, if this token holds it. */
  "lock.release": { params: LockReleaseParams; result: LockReleaseResult };
  /** Renews a lock that this token holds: it lasts so long from now on, shorter or longer. Locks bound to the session are renewed by the sidecar, so from then on. */
  "lock.renew": { params: LockRenewParams; result: LockRenewResult };
  /** Leases the least recently used member that is free, whose breaker is not open and whose bucket has the cost: all decided and taken in one step. */
  "permit.acquire": { params: PermitAcquireParams; result: PermitAcquireResult };
  /** Tells which member permit.acquire would lease now, or why none and until when: members, their breakers, buckets and pauses, who holds them and who stands in line. It takes nothing. */
  "permit.explain": { params: PermitExplainParams; result: PoolExplainResult };
  /** Renews a permit: it lasts so long from now on, shorter or longer. Those bound to the session are renewed by the sidecar, so from then on. */
  "permit.renew": { params: PermitRenewParams; result: PoolRenewResult };
  /** Gives a permit's member back and tells its breaker, its cooldown and its pause how the work went, in one step. */
  "permit.report": { params: PermitReportParams; result: PermitReportResult };
  /** Leases the least recently used member that is not leased, cooling or banned, at once or in turn within wait_ms. */
  "pool.acquire": { params: PoolAcquireParams; result: PoolAcquireResult };
  /** Takes a member out of use, for a time or until pool.unban. Who has it keeps it until it is given back. */
  "pool.ban": { params: PoolBanParams; result: PoolBanResult };
  /** Tells which member pool.acquire would lease now, or why none and until when: what keeps each member, who holds them and who stands in line. It takes nothing. */
  "pool.explain": { params: PoolExplainParams; result: PoolExplainResult };
  /** Lists the members of a pool and their states, a page at a time, in the order in which they came. */
  "pool.list": { params: PoolListParams; result: PoolListResult };
  /** Lists the pools that have members, and counts these, a page at a time, in no order. What changes meanwhile may be missing or be there still. */
  "pool.pools": { params: PoolPoolsParams; result: PoolPoolsResult };
  /** Adds members to a pool, and replaces the meta of those that are there; these keep their state, bans included. */
  "pool.put": { params: PoolPutParams; result: PoolPutResult };
  /** Gives a member back and says how it did. */
  "pool.release": { params: PoolReleaseParams; result: PoolReleaseResult };
  /** Removes members from a pool, and forgets their state. Who has one is told when it renews. */
  "pool.remove": { params: PoolRemoveParams; result: PoolRemoveResult };
  /** Renews the lease of a member: it lasts so long from now on, shorter or longer. Those bound to the session are renewed by the sidecar, so from then on. */
  "pool.renew": { params: PoolRenewParams; result: PoolRenewResult };
  /** Counts the members of a pool: live, cooling, banned and free ones are all there are. */
  "pool.stats": { params: PoolStatsParams; result: PoolStatsResult };
  /** Lifts the ban of a member, and forgets its failures and cooldowns. */
  "pool.unban": { params: PoolUnbanParams; result: PoolBanResult };
  /** Sends a message to those who are subscribed to a channel now. It is not kept. */
  "pubsub.publish": { params: PubsubPublishParams; result: PubsubPublishResult };
  /** Has this connection sent the messages of channels as pubsub.message, at most once each. It answers once Redis has confirmed. */
  "pubsub.subscribe": { params: PubsubSubscribeParams; result: PubsubSubscribeResult };
  /** Ends a subscription. */
  "pubsub.unsubscribe": { params: PubsubUnsubscribeParams; result: PubsubUnsubscribeResult };
  /** Ends the lease of an entry that was dealt with: it does not come back. */
  "queue.ack": { params: QueueLeaseParams; result: QueueAckResult };
  /** Takes an entry out of the queue, unless someone has it. */
  "queue.cancel": { params: QueueEntryParams; result: QueueCancelResult };
  /** Takes the first entry of a queue that has not expired, at once or in turn within wait_ms. With lease_ms it comes back to the head unless it is acknowledged. */
  "queue.dequeue": { params: QueueDequeueParams; result: QueueDequeueResult };
  /** Puts an entry at the end of a queue, or answers where the entry of that id is. */
  "queue.enqueue": { params: QueueEnqueueParams; result: QueueEnqueueResult };
  /** Lists the queues that have entries or that calls wait at, a page at a time, in no order. What changes meanwhile may be missing or be there still. */
  "queue.list": { params: QueueListParams; result: QueueListResult };
  /** Says where an entry stands. */
  "queue.position": { params: QueueEntryParams; result: QueuePositionResult };
  /** Ends the lease of an entry that was not dealt with: it is at the head again at once. */
  "queue.release": { params: QueueLeaseParams; result: QueueReleaseResult };
  /** Renews the lease of an entry: it lasts so long from now on, shorter or longer. Those bound to the session are renewed by the sidecar, so from then on. */
  "queue.renew": { params: QueueRenewParams; result: QueueRenewResult };
  /** Counts the entries of a queue, and who waits for one. */
  "queue.stats": { params: QueueParams; result: QueueStatsResult };
  /** Takes cost from every band of a limit, all or none, or says when it may succeed. */
  "ratelimit.acquire": { params: RatelimitParams; result: RatelimitResult };
  /** Takes cost for the first of several keys that may go now, or says which may go soonest. */
  "ratelimit.acquire_any": { params: RatelimitAnyParams; result: RatelimitAnyResult };
  /** Takes from many limits in one round trip. With atomic takes all or none; then the items share one rule and one group. */
  "ratelimit.acquire_many": { params: RatelimitManyParams; result: RatelimitManyResult };
  /** Removes a rule that ratelimit.put_rule put. Rules of files stay. */
  "ratelimit.delete_rule": { params: RatelimitDeleteRuleParams; result: RatelimitDeleteRuleResult };
  /** Frees the place of a grant under a rule with max_concurrent. What it took stays taken. */
  "ratelimit.done": { params: RatelimitGrantParams; result: RatelimitDoneResult };
  /** Tells all there is to know of a limit and a key: the rule and override that count, each band, pause, delay, and who holds places. */
  "ratelimit.explain": { params: RatelimitExplainParams; result: RatelimitExplainResult };
  /** Refuses a key for a time, in every sidecar. Of several pauses the longest counts. */
  "ratelimit.pause": { params: RatelimitPauseParams; result: RatelimitPauseResult };
  /** Answers what ratelimit.acquire would, and takes nothing. */
  "ratelimit.peek": { params: RatelimitParams; result: RatelimitResult };
  /** Keeps a rule in Redis, for every sidecar, at once or a second later. A rule of the same name there is replaced. */
  "ratelimit.put_rule": { params: RatelimitPutRuleParams; result: RatelimitPutRuleResult };
  /** Gives back what a grant took and was not used for, once, up to what the limit holds. What was used and refunded counts as admitted. */
  "ratelimit.refund": { params: RatelimitGrantParams; result: RatelimitRefundResult };
  /** Tells how the remote server answered. A status among the rule's penalty codes pauses the key for everyone. Frees the grant's place. */
  "ratelimit.report": { params: RatelimitReportParams; result: RatelimitReportResult };
  /** Forgets what was taken from a limit under one key. */
  "ratelimit.reset": { params: RatelimitResetParams; result: RatelimitResetResult };
  /** Ends the pause of a key and forgets its penalty. */
  "ratelimit.resume": { params: RatelimitResumeParams; result: RatelimitResumeResult };
  /** Lists the rules in force in this sidecar, and those that another one of the same name hides. */
  "ratelimit.rules": { params: Nothing; result: RatelimitRulesResult };
  /** Keeps a time between any two admissions of a key, such as a crawl-delay. Of several sources the slowest counts. */
  "ratelimit.set_delay": { params: RatelimitSetDelayParams; result: RatelimitSetDelayResult };
  /** Counts the decisions of this sidecar since it started, for each rule. */
  "ratelimit.stats": { params: Nothing; result: RatelimitStatsResult };
  /** Describes one method: parameters, results, defaults, guarantees. */
  "rpc.describe": { params: DescribeParams; result: MethodDescription };
  /** Describes every method. */
  "rpc.methods": { params: Nothing; result: MethodsResult };
  /** Says that what was reserved is done: for keep_ms no one else does it. */
  "seen.commit": { params: SeenCommitParams; result: SeenCommitResult };
  /** Gives a reservation up: the next one who asks does it. */
  "seen.release": { params: SeenReleaseParams; result: SeenReleaseResult };
  /** Reserves a key of a set to do something once, such as fetching a URL, or says that it is done or under way. */
  "seen.reserve": { params: SeenReserveParams; result: SeenReserveResult };
  /** Takes permits of a semaphore, all or none, at once or in turn within wait_ms. Repeating it with the same token answers the same grant. */
  "semaphore.acquire": { params: SemaphoreAcquireParams; result: SemaphoreAcquireResult };
  /** Says how many permits are held, and by whom. */
  "semaphore.get": { params: SemaphoreGetParams; result: SemaphoreGetResult };
  /** Lists the semaphores of which permits are held or waited for, a page at a time, in no order. What changes meanwhile may be missing or be there still. */
  "semaphore.list": { params: SemaphoreListParams; result: SemaphoreListResult };
  /** Gives the permits of this token back, and nobody else's. */
  "semaphore.release": { params: SemaphoreReleaseParams; result: SemaphoreReleaseResult };
  /** Renews the permits of this token: they last so long from now on, shorter or longer. Those bound to the session are renewed by the sidecar, so from then on. */
  "semaphore.renew": { params: SemaphoreRenewParams; result: SemaphoreRenewResult };
  /** Tells every client that holds or follows something that the pod ends (session.draining). Calls go on. */
  "session.drain": { params: DrainParams; result: DrainResult };
  /** Introduces the client and learns what the sidecar is and allows. Optional. */
  "session.hello": { params: HelloParams; result: HelloResult };
  /** Answers at once, without Redis. */
  "session.ping": { params: Nothing; result: PingResult };
  /** Ends the delivery of a message that was dealt with: the group is not given it again. */
  "stream.ack": { params: StreamMessageParams; result: StreamAckResult };
  /** Lists the dead letters of a stream, the oldest first. */
  "stream.dead": { params: StreamDeadParams; result: StreamDeadResult };
  /** Starts the visibility timeout of a message again. Those bound to the session are extended by the sidecar. */
  "stream.extend": { params: StreamMessageParams; result: StreamExtendResult };
  /** Takes messages of a group, at once or within wait_ms. The group is made if there is none. */
  "stream.fetch": { params: StreamFetchParams; result: StreamFetchResult };
  /** Lists the groups of a stream and their consumers. A consumer is a pod. */
  "stream.groups": { params: StreamParams; result: StreamGroupsResult };
  /** Lists the streams that there are, with what their groups are behind, a page at a time, in no order. What changes meanwhile may be missing or be there still. */
  "stream.list": { params: StreamListParams; result: StreamListResult };
  /** Ends the delivery of a message that was not dealt with: it is delivered again after delay_ms, or moved to the dead letters after its last attempt. */
  "stream.nack": { params: StreamNackParams; result: StreamNackResult };
  /** Adds a message to the end of a stream, or later with delay_ms. */
  "stream.publish": { params: StreamPublishParams; result: StreamPublishResult };
  /** Adds messages to the end of a stream, in their order. Each has its own outcome. */
  "stream.publish_many": { params: StreamPublishManyParams; result: StreamPublishManyResult };
  /** Lists messages of a stream, the oldest first, without a group: nothing is taken from anybody. */
  "stream.read": { params: StreamReadParams; result: StreamReadResult };
  /** Moves dead letters back to the end of their stream, each for the group that failed to process it. */
  "stream.redrive": { params: StreamRedriveParams; result: StreamRedriveResult };
  /** Counts the messages of a stream and, of each group, what is not delivered and not acknowledged. */
  "stream.stats": { params: StreamStatsParams; result: StreamStatsResult };
  /** Has this connection sent the messages of a group as stream.message, up to prefetch that it has not acknowledged. The group is made if there is none. */
  "stream.subscribe": { params: StreamSubscribeParams; result: StreamSubscribeResult };
  /** Deletes the oldest messages of a stream, or dead letters. */
  "stream.trim": { params: StreamTrimParams; result: StreamTrimResult };
  /** Ends a subscription. Messages that were sent stay this connection's until they are acknowledged or it closes. */
  "stream.unsubscribe": { params: StreamUnsubscribeParams; result: StreamUnsubscribeResult };
}

export type MethodName = keyof Methods;

/** The params of each event. */
export interface Events {
  /** A probe of this connection is no longer its own: others may have it. Its report changes nothing. */
  "breaker.lost": LostParams;
  /** Something happened. Sent after events.subscribe. Refusals and degraded decisions are sampled: at most one a second of the same kind, noun, name and reason. */
  "event": EventParams;
  /** A lock of this connection is no longer its own. Sent before its validity ends. */
  "lock.lost": LostParams;
  /** The member of a permit is no longer this connection's: name is the pool, token the lease. Sent before its validity ends. */
  "permit.lost": LostParams;
  /** A member of this connection is no longer its own: name is the pool, token the lease. Sent before its validity ends. */
  "pool.lost": LostParams;
  /** Messages of a subscription were not sent: this connection is read too slowly, or Redis was not reached for a while. */
  "pubsub.gap": PubsubGap;
  /** A message for a subscription of this connection. */
  "pubsub.message": PubsubMessage;
  /** The lease of an entry is no longer this connection's: token is the lease. The entry is at the head again, or gone. */
  "queue.lost": LostParams;
  /** The place of a grant under max_concurrent is no longer this connection's: name is the rule and what is counted, token the grant. Others may have it. */
  "ratelimit.lost": LostParams;
  /** A reservation is no longer this connection's: name is the set and the key. Others may do the same now. */
  "seen.lost": LostParams;
  /** Permits of this connection are no longer its own. Sent before their validity ends. */
  "semaphore.lost": LostParams;
  /** The pod ends. Sent once to a connection that holds or follows something, or comes to while draining. */
  "session.draining": DrainingParams;
  /** A message is no longer this connection's: token is its id, name the stream, a colon and the group, in which % { } : and control bytes are written as %XX. It is delivered again, or was acknowledged or trimmed. */
  "stream.lost": LostParams;
  /** A message for a subscription of this connection: acknowledge it by stream.ack or stream.nack. */
  "stream.message": StreamMessage;
}

export type EventName = keyof Events;

/** Methods that may be called again with the same params after a lost reply. The others need a request id for that. */
export const idempotent: ReadonlySet<string> = new Set<MethodName>([
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
]);

/** Every method, sorted by name. */
export const methodNames: readonly MethodName[] = [
  "breaker.allow",
  "breaker.explain",
  "breaker.force",
  "breaker.get",
  "breaker.list",
  "breaker.report",
  "breaker.reset",
  "events.subscribe",
  "events.unsubscribe",
  "health.get",
  "inspect.sidecars",
  "inspect.snapshot",
  "lock.acquire",
  "lock.explain",
  "lock.force_release",
  "lock.get",
  "lock.list",
  "lock.release",
  "lock.renew",
  "permit.acquire",
  "permit.explain",
  "permit.renew",
  "permit.report",
  "pool.acquire",
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
  "pubsub.publish",
  "pubsub.subscribe",
  "pubsub.unsubscribe",
  "queue.ack",
  "queue.cancel",
  "queue.dequeue",
  "queue.enqueue",
  "queue.list",
  "queue.position",
  "queue.release",
  "queue.renew",
  "queue.stats",
  "ratelimit.acquire",
  "ratelimit.acquire_any",
  "ratelimit.acquire_many",
  "ratelimit.delete_rule",
  "ratelimit.done",
  "ratelimit.explain",
  "ratelimit.pause",
  "ratelimit.peek",
  "ratelimit.put_rule",
  "ratelimit.refund",
  "ratelimit.report",
  "ratelimit.reset",
  "ratelimit.resume",
  "ratelimit.rules",
  "ratelimit.set_delay",
  "ratelimit.stats",
  "rpc.describe",
  "rpc.methods",
  "seen.commit",
  "seen.release",
  "seen.reserve",
  "semaphore.acquire",
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
  "stream.fetch",
  "stream.groups",
  "stream.list",
  "stream.nack",
  "stream.publish",
  "stream.publish_many",
  "stream.read",
  "stream.redrive",
  "stream.stats",
  "stream.subscribe",
  "stream.trim",
  "stream.unsubscribe",
];
