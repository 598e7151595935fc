// Written by `go run ./hack/clientgen` from client/api. Do not edit.
// The methods and events of the protocol. Names are as on the wire; durations end in _ms, instants in _at_ms (Unix milliseconds).

export interface Band {
  /** how much is admitted per period; for sliding_window_log at most 10000 */
  limit: number;
  /** the period in milliseconds, at most 366 days */
  period_ms: number;
  /** how much token_bucket and leaky_bucket admit at once; absent or 0 = limit for token_bucket, 1 for leaky_bucket */
  burst?: number;
}

export interface BreakerAllowParams {
  /** the name of the breaker, such as a host; with pool, the member */
  name: string;
  /** the pool whose member's breaker it is, as permit.acquire uses it; absent = the breaker belongs to no pool */
  pool?: string;
  /** the configured policy to use; absent = the first policy whose name matches the breaker's name (with pool, the pool's), or the default policy if none does */
  policy?: string;
  /** what decides while Redis does not answer: closed = this call fails with UNAVAILABLE, open = it is allowed; absent = that of the policy, which is open by default */
  fail_mode?: "closed" | "open";
}

export interface BreakerAllowResult {
  /** the call may be made; report its outcome by breaker.report */
  allowed: boolean;
  /** the breaker's state */
  state: "closed" | "open" | "half_open" | "forced_open" | "forced_closed" | "disabled";
  /** a number that rises with every change of state; pass it to breaker.report */
  generation: number;
  /** present if this call is a probe of a half-open breaker: pass it to breaker.report. The probe is lost after the policy's probe_ttl_ms, or when this connection closes */
  probe?: string;
  /** 0 when allowed; else milliseconds until a probe may be admitted, rounded up; -1 = the breaker is forced open */
  retry_after_ms: number;
  /** the fail mode decided, because Redis did not answer */
  degraded: boolean;
  /** the fail mode decided after a failure that leaves it unknown whether Redis also gave out a probe */
  maybe_executed?: boolean;
  /** what decided: redis; cache = this sidecar saw less than a second ago that the breaker is open, and its open time is not over; local = the fail mode */
  source: "redis" | "cache" | "local";
  /** this is the stored reply of an earlier call with the same request id */
  replayed?: boolean;
}

export interface BreakerChangeResult {
  /** its state */
  state: "closed" | "open" | "half_open" | "forced_open" | "forced_closed" | "disabled";
  /** the breaker's generation */
  generation: number;
  /** this call changed it */
  changed: boolean;
}

export interface BreakerExplainResult {
  /** what breaker.allow would return now: allowed; probe = allowed as a probe; open; half_open = all probes are given out; forced_open */
  decision: "allowed" | "probe" | "open" | "half_open" | "forced_open";
  /** 0 when a call is allowed now; else milliseconds until one may be, rounded up; -1 = not before breaker.reset */
  retry_after_ms: number;
  /** the decision as a sentence for people */
  text: string;
  /** its state */
  state: "closed" | "open" | "half_open" | "forced_open" | "forced_closed" | "disabled";
  /** a number that rises with every change of state */
  generation: number;
  /** when its state last changed, by the Redis server's clock, Unix milliseconds; 0 = never, or the breaker's state has expired */
  changed_at_ms?: number;
  /** failures in a row while closed */
  failures: number;
  /** successes of probes while half open */
  successes: number;
  /** how many times in a row it opened */
  opened: number;
  /** milliseconds that it would stay open the next time, plus or minus 5 % */
  next_open_ms: number;
  /** probes that were given out and are not reported */
  probes: number;
  /** how many probes may be given out at once while half open */
  most_probes: number;
  /** milliseconds until the first of these probes is lost unless it is reported, rounded up */
  probe_left_ms?: number;
  /** calls in the rolling window, if the policy has a window */
  window_calls?: number;
  /** failed calls among them */
  window_failed?: number;
  /** slow calls among them */
  window_slow?: number;
  /** the policy in force for it; default = none is configured for it */
  policy: string;
  /** why this policy: given = the call names it; name = it is the first policy whose name matches the breaker's name (with pool, the pool's); default = no policy matches */
  policy_from: "given" | "name" | "default";
  /** the policy, with the defaults of the fields that it does not set */
  settings: BreakerPolicy;
}

export interface BreakerForceParams {
  /** the breaker */
  name: string;
  /** the pool whose member's breaker it is */
  pool?: string;
  /** the policy, as for breaker.allow */
  policy?: string;
  /** open = no call is allowed; closed = every call is allowed, and failures are counted without effect; disabled = every call is allowed, and nothing is counted */
  state: "open" | "closed" | "disabled";
}

export interface BreakerGetResult {
  /** its state */
  state: "closed" | "open" | "half_open" | "forced_open" | "forced_closed" | "disabled";
  /** a number that rises with every change of state */
  generation: number;
  /** the policy in force for it; default = none is configured for it */
  policy: string;
  /** failures in a row while closed */
  failures: number;
  /** successes of probes while half open */
  successes: number;
  /** probes that were given out and are not reported */
  probes: number;
  /** milliseconds until a probe is admitted; 0 = one is admitted now, or the breaker is not open */
  open_for_ms?: number;
  /** how many times in a row it opened; each further time doubles how long it stays open */
  opened: number;
  /** calls in the rolling window, if the policy has a window */
  window_calls?: number;
  /** failed calls among them */
  window_failed?: number;
  /** slow calls among them */
  window_slow?: number;
  /** when its state last changed, by the Redis server's clock, Unix milliseconds; 0 = never, or the breaker's state has expired */
  changed_at_ms?: number;
  /** when it was forced, Unix milliseconds; 0 = it is not forced */
  forced_at_ms?: number;
}

export interface BreakerListParams {
  /** the pool whose members' breakers to list; absent = breakers that belong to no pool */
  pool?: string;
  /** the cursor that the previous page returned; absent = the first page */
  cursor?: string;
  /** about how many entries to list (1 to 1000); absent = 100 */
  count?: number;
  /** list only breakers in this state; not_closed = in any state but closed; absent = all */
  state?: "closed" | "open" | "half_open" | "forced_open" | "forced_closed" | "disabled" | "not_closed";
}

export interface BreakerListResult {
  /** the entries of this page; a page may be empty without being the last */
  breakers: BreakerListed[];
  /** the cursor of the next page; absent = this was the last page */
  cursor?: string;
}

export interface BreakerListed {
  /** the breaker; with pool, the member */
  name: string;
  /** its state */
  state: "closed" | "open" | "half_open" | "forced_open" | "forced_closed" | "disabled";
  /** the policy in force for a call that names none */
  policy: string;
  /** failures in a row while closed */
  failures: number;
  /** successes of probes while half open */
  successes: number;
  /** probes that were given out and are not reported */
  probes: number;
  /** milliseconds until a probe is admitted; 0 = one is admitted now, or the breaker is not open */
  open_for_ms: number;
  /** how many times in a row it opened */
  opened: number;
  /** calls in the rolling window, if the policy has a window */
  window_calls?: number;
  /** failed calls among them */
  window_failed?: number;
  /** slow calls among them */
  window_slow?: number;
  /** when its state last changed, by the Redis server's clock, Unix milliseconds; 0 = never, or the breaker's state has expired */
  changed_at_ms: number;
}

export interface BreakerParams {
  /** the breaker */
  name: string;
  /** the pool whose member's breaker it is */
  pool?: string;
  /** the policy, as for breaker.allow */
  policy?: string;
}

export interface BreakerPolicy {
  /** the breaker that the policy is for (with a pool, the pool), or a glob of names */
  name: string;
  /** how many failures in a row open the breaker; absent = 3 */
  failure_threshold?: number;
  /** how many successful probes close it; absent = 3 */
  success_threshold?: number;
  /** milliseconds that it stays open the first time, doubled each further time in a row; absent = 600000 */
  open_ms?: number;
  /** the longest that it stays open, in milliseconds; absent = 3600000, or open_ms if that is longer */
  open_max_ms?: number;
  /** how many probes are given out at once; absent = success_threshold */
  half_open_max?: number;
  /** milliseconds after which a probe that was not reported is lost; absent = 60000 */
  probe_ttl_ms?: number;
  /** a rolling window of calls, whose failure and slow rates open the breaker too; absent = none */
  window?: BreakerWindow;
  /** what decides while Redis does not answer; absent = open */
  fail_mode?: "closed" | "open";
}

export interface BreakerReportParams {
  /** the breaker */
  name: string;
  /** the pool whose member's breaker it is */
  pool?: string;
  /** the policy, as for breaker.allow */
  policy?: string;
  /** the generation that breaker.allow returned; absent or 0 = the present one, if the breaker is closed (0 to 9007199254740991) */
  generation?: number;
  /** the probe that breaker.allow returned */
  probe?: string;
  /** how the call ended; ignored = it shows nothing about what the breaker protects, as a cancelled call or a refusal on this side; it is not counted, and a probe is given back */
  outcome: "success" | "failure" | "ignored";
  /** milliseconds that the call took, for the slow rate of the policy's window (0 to 86400000) */
  duration_ms?: number;
}

export interface BreakerReportResult {
  /** the breaker's state */
  state: "closed" | "open" | "half_open" | "forced_open" | "forced_closed" | "disabled";
  /** the breaker's generation */
  generation: number;
  /** this report changed the state */
  changed: boolean;
  /** the report was counted: its generation is the present one, its probe was not lost, and its outcome is not ignored */
  counted: boolean;
  /** this is the stored reply of an earlier call with the same request id */
  replayed?: boolean;
}

export interface BreakerWindow {
  /** the length of the window in milliseconds */
  window_ms: number;
  /** with fewer calls in the window, its rates are not used; absent = 10 */
  min_calls?: number;
  /** the percentage of failed calls that opens the breaker; absent = the rate does not open it */
  failure_rate?: number;
  /** a call that takes at least this many milliseconds is slow */
  slow_ms?: number;
  /** the percentage of slow calls that opens the breaker; absent = the rate does not open it */
  slow_rate?: number;
}

export interface DescribeParams {
  /** the method's name */
  method: string;
}

export interface DrainParams {
  /** milliseconds until the pod is killed; the first call sets it, later ones do not change it (1 to 86400000); absent = 30000 */
  deadline_ms?: number;
}

export interface DrainResult {
  /** always true */
  draining: boolean;
  /** when the pod is killed, Unix milliseconds by the pod's clock, as the first call set it */
  deadline_at_ms: number;
  /** connections open now, this one included */
  connections: number;
}

export interface DrainingParams {
  /** when the pod is killed, Unix milliseconds by the pod's clock */
  deadline_at_ms: number;
}

export interface EventParams {
  /** breaker = a circuit breaker changed its state; degraded = a fail mode decided a call; draining = the pod is shutting down; forced = a lock was taken from its holder by hand; lost = a lease was lost; paused = a key was paused; refused = a limit refused a call; reloaded = the configuration was read again; resumed = a pause was ended. More kinds may be added */
  kind: string;
  /** when it happened, Unix milliseconds by the pod's clock */
  at_ms: number;
  /** the noun it concerns, such as ratelimit or lock; absent if it concerns the sidecar itself */
  noun?: string;
  /** the name of the rule, the lock, ... */
  name?: string;
  /** the key that the limit counts; if count is above 1, the key of one of these events */
  key?: string;
  /** why, in one word */
  reason?: string;
  /** details as text for people */
  detail?: string;
  /** how many events of the same kind, noun, name and reason this notification represents, itself included. Events that come after the last notification of a burst are counted in the next one, if there is one */
  count: number;
  /** how many earlier events were not sent because the client read this connection too slowly */
  dropped?: number;
}

export interface EventsSubscribeParams {
  /** the kinds of events to send: breaker, degraded, draining, forced, lost, paused, refused, reloaded, resumed; empty or absent = all */
  kinds?: string[];
}

export interface EventsSubscribeResult {
  /** the kinds of events that are sent from now on, sorted */
  subscribed: string[];
}

export interface ExplainBand {
  /** the band as limit/period, such as 80/10m */
  band: string;
  /** the limit per period */
  limit: number;
  /** how much token_bucket and leaky_bucket admit at once */
  burst?: number;
  /** how much could be taken at once now, rounded down */
  remaining: number;
  /** how much counts against the band now, rounded up; what exceeds the limit is promised to waiting calls */
  current: number;
  /** milliseconds until the band is full again, rounded up */
  reset_after_ms: number;
}

export interface ExplainBlock {
  /** the tokens that are left */
  tokens: number;
  /** milliseconds until the last of them lapses, rounded up */
  left_ms: number;
}

export interface ExplainDelay {
  /** milliseconds from one admission to the next */
  delay_ms: number;
  /** the source that set the delay */
  source: string;
  /** when the delay ends, Unix milliseconds */
  until_at_ms: number;
  /** milliseconds until the next admission, rounded up */
  next_after_ms: number;
}

export interface ExplainHolder {
  /** the client program, as it gave it to session.hello */
  client: string;
  /** the instance of the program, as it introduced itself */
  instance: string;
  /** when it was given the permit, Unix milliseconds */
  since_at_ms: number;
  /** milliseconds until it ends unless it is renewed, rounded up */
  left_ms: number;
}

export interface ExplainLine {
  /** the sidecar's id, as inspect.sidecars lists it */
  sidecar: string;
  /** how many of its calls are in the line */
  waiting: number;
  /** milliseconds until its tickets end unless it sends a heartbeat, rounded up; 0 = it seems dead, and its calls are skipped */
  left_ms: number;
}

export interface ExplainPause {
  /** when it ends, Unix milliseconds */
  until_at_ms: number;
  /** milliseconds until then, rounded up */
  left_ms: number;
  /** the reason, for people; for a penalty the HTTP status */
  reason: string;
}

export interface ExplainPenalty {
  /** how many pauses there were in a row; the next one is twice as long as the last */
  level: number;
  /** milliseconds until this is forgotten if no further refusal comes, rounded up */
  forgiven_after_ms: number;
}

export interface ExplainReason {
  /** the reason, as in decision */
  reason: "busy" | "cooling" | "banned" | "open" | "limit" | "pause";
  /** how many members it applies to */
  members: number;
  /** the one of them that becomes available first */
  id: string;
  /** milliseconds until then, rounded up; -1 = never, unless something changes */
  after_ms: number;
}

export interface FieldDescription {
  /** the key */
  name: string;
  /** int, str, bool, bin, map, list or any */
  type: string;
  /** of params: the key must be given; of a result: the key is always present */
  required: boolean;
  /** the value of an absent key, as text */
  default?: string;
  /** the smallest allowed int, if it is bounded */
  min?: number;
  /** the largest allowed int, if it is bounded */
  max?: number;
  /** the allowed values */
  enum?: string[];
  /** the keys of the map, or of the maps in the list */
  fields?: FieldDescription[];
  /** what it is, with its unit */
  doc: string;
}

export interface Group {
  /** as in allow */
  exact?: string;
  /** as in allow */
  glob?: string;
  /** as in allow */
  suffix?: string;
  /** the name that is counted instead of the key; absent = the suffix, which must then be given */
  name?: string;
}

export interface HealthCheck {
  /** the check */
  name: string;
  /** the check passed */
  ok: boolean;
  /** what the check found; if it failed, with the remedy */
  detail: string;
  /** what is wrong, if it is known, in the words of sidecar doctor */
  cause?: string;
  /** what to do about it */
  fix?: string;
  /** the page and section that explain it */
  docs?: string;
}

export interface HealthResult {
  /** the process and its socket answer */
  live: boolean;
  /** the sidecar can decide calls: Redis answers, scripts are loaded, rules are in force */
  ready: boolean;
  /** the sidecar cannot decide calls, and is ready only because readiness.mode is always; the checks give the cause */
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
  /** the instance of the program, such as its pod and process */
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
  /** the instance of the program, as it introduced itself */
  instance: string;
  /** when it acquired the lease, by the Redis server's clock, Unix milliseconds */
  since_at_ms: number;
  /** the meta that it gave when it acquired the lease */
  meta?: string;
}

export interface InspectChannel {
  /** the channel */
  channel?: string;
  /** the pattern of channels, in place of channel */
  pattern?: string;
  /** subscriptions to it on connections of this sidecar */
  subscriptions: number;
  /** Redis has confirmed the subscription on the present connection */
  listening: boolean;
}

export interface InspectCounts {
  /** connections, this one included */
  connections: number;
  /** calls in flight, this one and waiting ones included */
  inflight: number;
  /** calls in flight that have wait_ms */
  waiting: number;
  /** leases that sessions hold */
  held: number;
}

export interface InspectError {
  /** the error's code */
  code: string;
  /** the method that was called */
  method: string;
  /** when it happened, Unix milliseconds by the pod's clock */
  at_ms: number;
  /** the text that the client was sent; the sidecar's log has the cause */
  text: string;
}

export interface InspectHeld {
  /** the kind of lease, such as lock */
  noun: string;
  /** the name of the lock, ... */
  name: string;
  /** milliseconds until the lease ends unless it is renewed */
  ttl_ms: number;
  /** the fence of the lease, a decimal number */
  fence?: string;
}

export interface InspectPool {
  /** connections open now */
  open: number;
  /** connections that are not in use */
  idle: number;
  /** the most connections allowed (redis.pool.max) */
  max: number;
}

export interface InspectProbe {
  /** when it happened, Unix milliseconds by the pod's clock */
  at_ms: number;
  /** the store answered */
  up: boolean;
  /** the round trip in microseconds, the longest if there were several; if the store is not up, that of the last successful probe */
  rtt_us: number;
}

export interface InspectRedis {
  /** the kind of store, such as standalone or embedded */
  topology: string;
  /** the address, without credentials */
  address: string;
  /** the store answers */
  up: boolean;
  /** why it is not up, or the error with which it refuses calls */
  error?: string;
  /** the name of the trouble behind that error, such as oom or refused */
  trouble?: string;
  /** the last probe's round trip, in microseconds */
  rtt_us: number;
  /** the memory that it reports as used, in bytes */
  memory_bytes: number;
  /** the connections to the store */
  pool: InspectPool;
  /** the results of the last 300 seconds with a probe, the latest first */
  history: InspectProbe[];
}

export interface InspectRefusals {
  /** the start of the counts, Unix milliseconds by the pod's clock: five to ten minutes ago, or later if the sidecar started later or refused nothing for ten minutes */
  since_at_ms: number;
  /** the keys that were refused most often, the most refused first, at most 100 */
  keys: InspectRefused[];
}

export interface InspectRefused {
  /** the rule; inline = limits that calls give in full */
  rule: string;
  /** the key */
  key: string;
  /** how often it was refused */
  refused: number;
  /** by how much refused may be too high or too low, because only 256 keys are counted at a time; 0 = it is exact */
  off_by: number;
  /** the reason of the last refusal, such as limit or pause */
  reason: string;
}

export interface InspectResult {
  /** the sidecar's version */
  version: string;
  /** its process id */
  pid: number;
  /** when it started to serve, Unix milliseconds by the pod's clock */
  started_at_ms: number;
  /** milliseconds since it started to serve */
  uptime_ms: number;
  /** the pod is shutting down */
  draining: boolean;
  /** when the pod is killed, if it is draining, Unix milliseconds by the pod's clock */
  ends_at_ms?: number;
  /** the configuration in force as YAML, with secrets masked, as sidecar config print shows it; at most 256 KiB */
  config: string;
  /** the rules in force, sorted by name, at most 1,000 */
  rules: InspectRule[];
  /** how many more rules are in force */
  truncated_rules: number;
  /** the connections, the oldest first */
  sessions: InspectSession[];
  /** how many leases sessions hold beyond the 1,000 that are listed */
  truncated: number;
  /** the groups of consumers that this sidecar takes part in, sorted by stream and group, at most 256 */
  stream_groups: InspectStreamGroup[];
  /** the channels and patterns of Pub/Sub that connections are subscribed to, sorted, at most 256 */
  channels: InspectChannel[];
  /** how many more channels and patterns there are */
  truncated_channels: number;
  /** the calls since the start, sorted by method: the counts of the metric coxswain.rpc.duration */
  calls: InspectTimes[];
  /** the runs of Redis scripts since the start, sorted by script: the counts of the metric coxswain.script.duration, each try on its own */
  scripts: InspectTimes[];
  /** what rules decided since the start, as ratelimit.stats returns it; at most 1,000 rules */
  decisions: RuleStats[];
  /** how many more rules decided calls */
  truncated_decisions: number;
  /** the keys that limits refused most often in the last minutes */
  refusals: InspectRefusals;
  /** the store, by its last probe */
  redis: InspectRedis;
  /** the last 32 runs of scripts that took 100 ms or more from sending to the reply, the latest first; one that ran within a slow call is the reason why that call was slow */
  slow_scripts: InspectSlowScript[];
  /** the last 32 calls that took 100 ms or more, the latest first, except calls with wait_ms */
  slow_calls: InspectSlow[];
  /** the last 32 errors that are not the caller's fault, and conflicts, the latest first, except calls that their clients cancelled */
  errors: InspectError[];
  /** the numbers of connections, calls and leases now */
  counts: InspectCounts;
}

export interface InspectRule {
  /** the rule */
  name: string;
  /** how it counts */
  algorithm: string;
  /** its limits as limit/period, such as 80/10m, shortest period first */
  limits: string[];
  /** orders the versions of rules across pods: the modification time of the newest file that rules come from, Unix milliseconds */
  revision: number;
}

export interface InspectSession {
  /** its id */
  session: string;
  /** the client program, as it gave it to session.hello */
  client: string;
  /** the instance of the program, as it gave it to session.hello */
  instance: string;
  /** the user id of its process */
  uid: number;
  /** when it connected, Unix milliseconds by the pod's clock */
  since_at_ms: number;
  /** its calls in flight, waiting ones included */
  inflight: number;
  /** it is subscribed to events */
  events: boolean;
  /** the leases that it holds */
  held: InspectHeld[];
}

export interface InspectSidecar {
  /** its id, made when it started; explanations of waiting lines use it */
  sidecar: string;
  /** it is the sidecar that answers this call */
  self?: boolean;
  /** the name of its pod, as groups of consumers use it; empty = unknown */
  pod: string;
  /** host:port of its health pages, where host is an address of the pod; empty = it has no health pages */
  address: string;
  /** its version */
  version: string;
  /** when it started, by the clock of its pod, Unix milliseconds */
  started_at_ms: number;
  /** how many rules it has in force */
  rules: number;
  /** the newest revision among its rules, Unix milliseconds; 0 = it has no rules */
  rules_revision: number;
  /** milliseconds since its last heartbeat */
  seen_ms: number;
}

export interface InspectSidecarsParams {
  /** the cursor that the previous page returned; absent = the first page */
  cursor?: string;
  /** about how many entries to list (1 to 1000); absent = 100 */
  count?: number;
}

export interface InspectSidecarsResult {
  /** the entries of this page; a page may be empty without being the last */
  sidecars: InspectSidecar[];
  /** how many sidecars there are, on all pages */
  total: number;
  /** the cursor of the next page; absent = this was the last page */
  cursor?: string;
}

export interface InspectSlow {
  /** the method */
  method: string;
  /** milliseconds from reading the call to answering it */
  duration_ms: number;
  /** when it was answered, Unix milliseconds by the pod's clock */
  at_ms: number;
  /** OK, or the code of its error */
  code: string;
}

export interface InspectSlowScript {
  /** the script */
  script: string;
  /** milliseconds from sending it to its reply */
  duration_ms: number;
  /** when the reply came, Unix milliseconds by the pod's clock */
  at_ms: number;
  /** ok or error */
  outcome: string;
}

export interface InspectStreamGroup {
  /** the stream */
  stream: string;
  /** the group */
  group: string;
  /** subscriptions to it on connections of this sidecar */
  subscriptions: number;
  /** calls of stream.fetch that wait in this sidecar */
  fetches: number;
  /** messages that were sent to these subscriptions and are not acknowledged */
  in_flight: number;
  /** messages that this sidecar has read and not yet sent to a client */
  unsent: number;
  /** messages that the group has not been given yet, counted within the last half minute; a lower bound if Redis cannot count them */
  lag: number;
  /** messages that the group was given and has not acknowledged, in all pods, counted at the same time as lag */
  pending: number;
}

export interface InspectTimes {
  /** the method or the script */
  name: string;
  /** how many calls or runs there were */
  count: number;
  /** how many of them ended with an error */
  errors: number;
  /** how long they took all together, in microseconds */
  sum_us: number;
  /** the median in microseconds, estimated from the metric's buckets */
  p50_us: number;
  /** the 99th percentile in microseconds, estimated from the metric's buckets */
  p99_us: number;
}

export interface ItemError {
  /** a code, as of an error */
  code: string;
  /** the error text */
  message: string;
}

export interface Limits {
  /** the longest frame, in bytes */
  max_frame_bytes: number;
  /** how deeply a frame may be nested */
  max_depth: number;
  /** the most elements of an array or a map */
  max_elements: number;
  /** the most running calls of a connection */
  max_inflight: number;
  /** the most waiting calls of a connection */
  max_waiting: number;
  /** the most connections to the sidecar */
  max_connections: number;
  /** the most bytes of memory for all connections together: half for unfinished frames and unread replies, half for calls in flight */
  max_total_bytes: number;
  /** the most waiting calls of all connections together */
  max_total_waiting: number;
}

export interface LockAcquireParams {
  /** the lock */
  name: string;
  /** milliseconds that the lease lasts unless it is renewed (100 to 86400000); absent = 30000 */
  ttl_ms?: number;
  /** how many milliseconds the call may be in the waiting line, within its deadline; first come, first served across all pods (0 to 60000); absent = 0 */
  wait_ms?: number;
  /** the owner's secret; the sidecar makes one when it is absent */
  token?: string;
  /** how many replicas of Redis must have the grant; if fewer do in time, it is given back. A second holder after a failover becomes less likely (0 to 16); absent = 0 */
  wait_replicas?: number;
  /** milliseconds after which it is lost even if it is renewed; 0 = never (0 to 604800000); absent = 0 */
  max_hold_ms?: number;
  /** a text that is shown with the holder, such as a job's id; at most 512 bytes */
  meta?: string;
  /** session = the sidecar renews it while this connection is open and releases it when the connection closes; ttl = it does neither; absent = session */
  bind?: "session" | "ttl";
}

export interface LockAcquireResult {
  /** the lock is held by this token */
  acquired: boolean;
  /** the owner's secret, for renew and release */
  token?: string;
  /** a decimal number that rises with every new owner; pass it to what the lock protects */
  fence?: string;
  /** the least milliseconds that the present owner's lease has left */
  ttl_ms: number;
  /** the holder, if the lock is not acquired */
  held_by?: Holder;
  /** 0 when acquired; else milliseconds until the holder's lease ends, or until it is worth asking again while other calls are in the waiting line */
  retry_after_ms: number;
  /** milliseconds that the call was in the waiting line before Redis was asked for the result, rounded down */
  waited_ms?: number;
  /** the call repeats an earlier one with the same request id, and this is about the grant of that one */
  replayed?: boolean;
  /** why it is not acquired: busy = others hold it or are before this call in the waiting line; replicas = too few replicas had the grant in time, so it was given back; released or expired = how the grant of a repeated call ended */
  reason?: "busy" | "replicas" | "released" | "expired";
}

export interface LockEntry {
  /** the lock */
  name: string;
  /** the owner's fence */
  fence: string;
  /** milliseconds until the lease ends */
  ttl_ms: number;
  /** the holder */
  held_by: Holder;
  /** how many calls are in its waiting line */
  waiting?: number;
}

export interface LockExplainResult {
  /** what a call without wait_ms would get now: acquired; busy = the lock is held, or other calls are in its waiting line */
  decision: "acquired" | "busy";
  /** 0 when it would be acquired; else milliseconds until the holder's lease ends, or until it is worth asking again while other calls are in the waiting line */
  retry_after_ms: number;
  /** the decision as a sentence for people */
  text: string;
  /** it is held */
  held: boolean;
  /** the holder */
  held_by?: Holder;
  /** the owner's fence */
  fence?: string;
  /** milliseconds until the lease ends unless it is renewed */
  ttl_ms?: number;
  /** what keeps it held: session = a sidecar renews it while the owner's connection is open; ttl = only the owner renews it */
  bind?: "session" | "ttl";
  /** when the owner's max_hold_ms ends, beyond which no renewal extends the lease, by the Redis server's clock, Unix milliseconds; absent = never */
  final_at_ms?: number;
  /** how many calls are in its waiting line */
  waiting: number;
  /** which sidecars these calls belong to, in the order of their first calls; of the first 1,000 calls at most, and at most 20 sidecars */
  line: ExplainLine[];
}

export interface LockForceReleaseParams {
  /** the lock */
  name: string;
  /** the reason, for the log and the event; at most 512 bytes */
  reason?: string;
}

export interface LockForceReleaseResult {
  /** the lock was held, and is free now */
  released: boolean;
  /** the fence of the former holder */
  fence?: string;
  /** the former holder */
  held_by?: Holder;
}

export interface LockGetParams {
  /** the lock */
  name: string;
}

export interface LockGetResult {
  /** it is held */
  held: boolean;
  /** the present owner's fence */
  fence?: string;
  /** milliseconds until the lease ends */
  ttl_ms?: number;
  /** the holder */
  held_by?: Holder;
  /** how many calls are in its waiting line */
  waiting?: number;
}

export interface LockListParams {
  /** the cursor that the previous page returned; absent = the first page */
  cursor?: string;
  /** about how many entries to list (1 to 1000); absent = 100 */
  count?: number;
  /** held = all held locks; waited = only held locks with calls in their waiting lines; absent = held */
  state?: "held" | "waited";
}

export interface LockListResult {
  /** the held locks of this page; a page may be empty without being the last */
  locks: LockEntry[];
  /** the cursor of the next page; absent = this was the last page */
  cursor?: string;
}

export interface LockReleaseParams {
  /** the lock */
  name: string;
  /** the owner's secret */
  token: string;
}

export interface LockReleaseResult {
  /** this token held the lock, which is free now */
  released: boolean;
  /** the outcome; not_owner = another owner holds it now; expired = this lease had ended */
  reason: "released" | "not_owner" | "expired";
}

export interface LockRenewParams {
  /** the lock */
  name: string;
  /** the owner's secret */
  token: string;
  /** milliseconds that the lease lasts from now on (100 to 86400000); absent = 30000 */
  ttl_ms?: number;
}

export interface LockRenewResult {
  /** the lock is held for another ttl_ms */
  renewed: boolean;
  /** the grant's fence, unchanged */
  fence?: string;
  /** the least milliseconds that the lease has left; 0 when this token does not hold the lock */
  ttl_ms: number;
  /** the outcome; not_owner = another owner holds it now; expired = this lease had ended */
  reason: "renewed" | "not_owner" | "expired";
}

export interface LostParams {
  /** the name of what was held */
  name: string;
  /** the owner's secret */
  token: string;
  /** the lost grant's fence */
  fence: string;
  /** not_owner = another owner holds it now; expired = Redis no longer has the lease; unreachable = the sidecar could not renew it in time; max_hold = it was held for max_hold_ms */
  reason: "not_owner" | "expired" | "unreachable" | "max_hold";
}

export interface Match {
  /** this key */
  exact?: string;
  /** keys of this form: * stands for any text, ? for one character; \ before either makes it literal */
  glob?: string;
  /** this domain and those under it: example.com matches a.example.com, not anexample.com; case is ignored */
  suffix?: string;
}

export interface MethodDescription {
  /** the method */
  name: string;
  /** what it does */
  summary: string;
  /** a call may be repeated without a request id */
  idempotent: boolean;
  /** it may also be sent as a notification */
  notify: boolean;
  /** the configuration can switch it off or restrict it to some uids */
  admin: boolean;
  /** the first version of the sidecar that has it */
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
  /** as in allow */
  exact?: string;
  /** as in allow */
  glob?: string;
  /** as in allow */
  suffix?: string;
  /** the bands for these keys; absent = the rule's */
  limits?: Band[];
  /** how many grants may be held at once; absent or 0 = the rule's */
  max_concurrent?: number;
}

export interface Penalty {
  /** the HTTP statuses that pause the key; absent = 429 and 503 */
  codes?: number[];
  /** the length of the first pause in milliseconds, if the server gives none; absent = 60000 */
  base_ms?: number;
  /** the length of the longest pause in milliseconds; each pause is twice as long as the last one; absent = 86400000 */
  max_ms?: number;
  /** milliseconds after the end of a pause after which the next pause counts as the first again; absent = 1800000 */
  forgive_ms?: number;
  /** by what percentage a pause that the server did not give is made longer or shorter at random, so that not all callers return at once; absent = 10 */
  jitter_percent?: number;
}

export interface PermitAcquireParams {
  /** the pool */
  pool: string;
  /** the rule (token_bucket), under which each member has its own bucket; absent = no limit */
  rule?: string;
  /** the policy of the members' breakers (default = the built-in one); absent = breakers are not used */
  breaker?: string;
  /** how much is taken from the member's bucket (0 to 1000000000); absent = 1 */
  cost?: number;
  /** milliseconds that the lease lasts unless it is renewed (100 to 86400000); absent = 60000 */
  lease_ms?: number;
  /** how many milliseconds the call may be in the waiting line of this pool, scope, rule and breaker, within its deadline; first come, first served across all pods (0 to 60000); absent = 0 */
  wait_ms?: number;
  /** as for pool.acquire */
  scope?: string;
  /** members not to take, at most 100 */
  exclude?: string[];
  /** as for pool.acquire */
  sticky?: string;
  /** session = the sidecar renews it while this connection is open and gives it back when the connection closes; ttl = it does neither; absent = session */
  bind?: "session" | "ttl";
}

export interface PermitAcquireResult {
  /** the member is leased to this caller, and the cost is taken */
  acquired: boolean;
  /** the member */
  id?: string;
  /** the lease, for permit.renew and permit.report */
  lease?: string;
  /** a decimal number that rises with every lease of the pool */
  fence?: string;
  /** the text that pool.put gave the member */
  meta?: string;
  /** the generation of its breaker; permit.report uses it by itself */
  generation?: number;
  /** its breaker is half open, and this permit is a probe */
  probe?: boolean;
  /** how much is left in the member's bucket, rounded down */
  remaining: number;
  /** when it was last acquired in this scope before this call, Unix milliseconds; 0 = never */
  last_used_at_ms?: number;
  /** 0 when acquired; else milliseconds until the first member becomes available, rounded up; -1 = none will unless something changes */
  retry_after_ms: number;
  /** that instant, by the Redis server's clock, Unix milliseconds */
  next_at_ms?: number;
  /** milliseconds that the call was in the waiting line before Redis was asked for the result, rounded down */
  waited_ms?: number;
  /** the call repeats an earlier one with the same request id, and this is about the permit of that one */
  replayed?: boolean;
  /** why there is none, for the member that becomes available first: as in pool.acquire, and open = its breaker is open; limit = its bucket has too little; pause = it is paused */
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
  /** the lease that permit.acquire returned */
  lease: string;
  /** milliseconds that the lease lasts from now on (100 to 86400000); absent = 60000 */
  lease_ms?: number;
}

export interface PermitReportParams {
  /** the pool */
  pool: string;
  /** the lease that permit.acquire returned */
  lease: string;
  /** as in pool.release; for the breaker, ok is a success, cancelled is ignored, and any other is a failure; absent = ok */
  outcome?: "ok" | "soft_block" | "hard_block" | "transport" | "captcha" | "fail" | "ban" | "cancelled";
  /** the HTTP status: one of the rule's penalty.codes pauses the member (0 to 999) */
  status?: number;
  /** the Retry-After of the server, in milliseconds; 0 or less (a date that has passed, for example) = it asks for no pause; absent = it gave none. The Go client omits a 0: give -1 there (-31622400000 to 31622400000) */
  retry_after_ms?: number;
  /** milliseconds that the work took, for the breaker's slow rate (0 to 86400000) */
  duration_ms?: number;
  /** the least milliseconds that the member cools down in the scope, whatever the outcome (0 to 604800000) */
  cooldown_ms?: number;
  /** milliseconds that a ban from this call lasts; absent or 0 = until pool.unban (0 to 31622400000) */
  unban_after_ms?: number;
}

export interface PermitReportResult {
  /** the permit was in force, and its member is given back; false = nothing was counted */
  released: boolean;
  /** the outcome; not_owner = another owner holds it now; expired = this lease had ended */
  reason: "released" | "not_owner" | "expired";
  /** the state of the member after the call */
  state?: "free" | "cooling" | "banned";
  /** the state of its breaker */
  breaker?: "closed" | "open" | "half_open" | "forced_open" | "forced_closed" | "disabled";
  /** when it becomes available, by the Redis server's clock, Unix milliseconds; 0 = now; -1 = it will not unless something changes */
  next_at_ms?: number;
}

export interface PingResult {
  /** the pod's clock, Unix milliseconds */
  now_at_ms: number;
}

export interface PoolAcquireParams {
  /** the pool */
  pool: string;
  /** milliseconds that the lease lasts unless it is renewed (100 to 86400000); absent = 60000 */
  lease_ms?: number;
  /** how many milliseconds the call may be in the waiting line, within its deadline; first come, first served across all pods (0 to 60000); absent = 0 */
  wait_ms?: number;
  /** what the member is used for, such as a host; last use and cooldowns are kept for each scope on its own */
  scope?: string;
  /** members not to take, at most 100 */
  exclude?: string[];
  /** a name that the caller chooses: a later call with the same name gets the same member again, if it is available when it is that call's turn */
  sticky?: string;
  /** session = the sidecar renews it while this connection is open and gives it back when the connection closes; ttl = it does neither; absent = session */
  bind?: "session" | "ttl";
}

export interface PoolAcquireResult {
  /** the member is leased to this caller */
  acquired: boolean;
  /** the member */
  id?: string;
  /** the lease, for pool.renew and pool.release */
  lease?: string;
  /** a decimal number that rises with every lease of the pool */
  fence?: string;
  /** the text that pool.put gave the member */
  meta?: string;
  /** when it was last acquired in this scope before this call, Unix milliseconds; 0 = never */
  last_used_at_ms?: number;
  /** 0 when acquired; else milliseconds until the first member becomes available, rounded up; -1 = none will unless something changes */
  retry_after_ms: number;
  /** that instant, by the Redis server's clock, Unix milliseconds */
  next_at_ms?: number;
  /** milliseconds that the call was in the waiting line before Redis was asked for the result, rounded down */
  waited_ms?: number;
  /** the call repeats an earlier one with the same request id, and this is about the lease of that one */
  replayed?: boolean;
  /** why there is none, for the member that becomes available first: busy = it is leased, or other calls are in the waiting line; cooling; banned; empty = the pool has no members except excluded ones; released or expired = how the lease of a repeated call ended */
  reason?: "busy" | "cooling" | "banned" | "empty" | "released" | "expired";
}

export interface PoolBanParams {
  /** the pool */
  pool: string;
  /** the member */
  id: string;
  /** milliseconds that the ban lasts; absent or 0 = until pool.unban (0 to 31622400000) */
  for_ms?: number;
}

export interface PoolBanResult {
  /** the call changed the member's state */
  changed: boolean;
}

export interface PoolEntry {
  /** the member */
  id: string;
  /** the text that pool.put gave it */
  meta?: string;
  /** its state; a member that is banned or cooling while it is still leased is leased */
  state: "free" | "leased" | "cooling" | "banned";
  /** milliseconds that this state lasts; 0 = free, -1 = until pool.unban */
  for_ms: number;
  /** the holder */
  held_by?: Holder;
  /** when it was last acquired in the scope, by the Redis server's clock, Unix milliseconds; 0 = never */
  last_used_at_ms: number;
  /** failures in a row */
  failures: number;
  /** the state of its breaker, if it has one */
  breaker?: "closed" | "open" | "half_open" | "forced_open" | "forced_closed" | "disabled";
  /** milliseconds that it is still paused for permits */
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
  /** what a call without wait_ms would get now: acquired, or why there is no member, for the one that becomes available first: busy = it is leased, or other calls are in the waiting line; cooling; banned; empty = there is no such member; open = its breaker is open; limit = its bucket has too little; pause = it is paused */
  decision: "acquired" | "busy" | "cooling" | "banned" | "empty" | "open" | "limit" | "pause";
  /** 0 when a member would be acquired; else milliseconds until the first one becomes available, rounded up; -1 = none will unless something changes */
  retry_after_ms: number;
  /** the decision as a sentence for people */
  text: string;
  /** the member that would be acquired, or else the one that becomes available first */
  id?: string;
  /** how many members were considered: all except excluded ones, or the one of id */
  members: number;
  /** how many of them are available now */
  free: number;
  /** why the others are not available, in the order in which they become available; each member is counted under the reason that lasts longest */
  reasons: ExplainReason[];
  /** leased members and their holders, in the order in which their leases end, at most 20 */
  holders: PoolHolder[];
  /** the rule of a permit */
  rule?: string;
  /** the rule's bands for the member of id, as limit/period, such as 80/10m */
  limits?: string[];
  /** limits are those of an override for that member */
  override?: boolean;
  /** the rule is in shadow: it refuses nothing */
  shadow?: boolean;
  /** the policy of the members' breakers, for a permit */
  breaker?: string;
  /** how many calls are in the waiting line of this pool, scope, rule and breaker */
  waiting: number;
  /** which sidecars these calls belong to, as in lock.explain */
  line: ExplainLine[];
}

export interface PoolHolder {
  /** the member */
  id: string;
  /** milliseconds until the lease ends unless it is renewed, rounded up */
  left_ms: number;
  /** the holder */
  held_by: Holder;
}

export interface PoolListParams {
  /** the pool */
  pool: string;
  /** the scope whose last use and cooldowns to show */
  scope?: string;
  /** the cursor that the previous page returned; absent = the first page */
  cursor?: string;
  /** how many members to list (1 to 1000); absent = 100 */
  count?: number;
}

export interface PoolListResult {
  /** the members of this page, in the order in which they were added */
  members: PoolEntry[];
  /** the cursor of the next page; absent = this was the last page */
  cursor?: string;
}

export interface PoolListed {
  /** the pool */
  pool: string;
  /** members */
  total: number;
  /** leased members, even if they are also cooling or banned */
  live: number;
  /** members that are not leased and are cooling down outside of any scope */
  cooling: number;
  /** members that are not leased and are banned */
  banned: number;
  /** all other members */
  free: number;
  /** members whose breaker is open or forced open, whatever their state */
  open: number;
  /** how many waiting lines with calls it has; there is one line for each scope, rule and breaker policy */
  lines: number;
  /** leased members and their holders, in the order in which their leases end, at most 3 */
  holders: PoolHolder[];
}

export interface PoolMember {
  /** the member */
  id: string;
  /** a text that the caller who acquires the member is given, at most 4096 bytes */
  meta?: string;
}

export interface PoolPoolsParams {
  /** the cursor that the previous page returned; absent = the first page */
  cursor?: string;
  /** about how many entries to list (1 to 1000); absent = 100 */
  count?: number;
  /** exhausted = only pools without a free member; waited = only those with calls in their waiting lines; absent = all */
  state?: "exhausted" | "waited";
}

export interface PoolPoolsResult {
  /** the pools of this page; a page may be empty without being the last */
  pools: PoolListed[];
  /** the cursor of the next page; absent = this was the last page */
  cursor?: string;
}

export interface PoolPutParams {
  /** the pool, which the first member creates; it has at most 10000 members */
  pool: string;
  /** 1 to 1000 members */
  members: PoolMember[];
}

export interface PoolPutResult {
  /** how many members are new */
  added: number;
  /** how many members the pool has now */
  total: number;
}

export interface PoolReleaseParams {
  /** the pool */
  pool: string;
  /** the lease that pool.acquire returned */
  lease: string;
  /** ok = clears the member's failures; cancelled = shows nothing about the member, for example because it was not used; ban = bans it; any other makes it cool down, longer with each one in a row; see docs/pool.md; absent = ok */
  outcome?: "ok" | "soft_block" | "hard_block" | "transport" | "captcha" | "fail" | "ban" | "cancelled";
  /** the least milliseconds that the member cools down in the scope, whatever the outcome (0 to 604800000) */
  cooldown_ms?: number;
  /** milliseconds that a ban from this call lasts; absent or 0 = until pool.unban (0 to 31622400000) */
  unban_after_ms?: number;
}

export interface PoolReleaseResult {
  /** the lease was in force, and the member is given back */
  released: boolean;
  /** the outcome; not_owner = another owner holds it now; expired = this lease had ended */
  reason: "released" | "not_owner" | "expired";
  /** the state of the member after the call */
  state?: "free" | "cooling" | "banned";
  /** when it becomes available, by the Redis server's clock, Unix milliseconds; 0 = now; -1 = after pool.unban */
  next_at_ms?: number;
}

export interface PoolRemoveParams {
  /** the pool */
  pool: string;
  /** 1 to 1000 members */
  ids: string[];
}

export interface PoolRemoveResult {
  /** how many of them the pool had */
  removed: number;
  /** how many members the pool has now */
  total: number;
}

export interface PoolRenewParams {
  /** the pool */
  pool: string;
  /** the lease that pool.acquire returned */
  lease: string;
  /** milliseconds that the lease lasts from now on (100 to 86400000); absent = 60000 */
  lease_ms?: number;
}

export interface PoolRenewResult {
  /** the member is leased for another lease_ms */
  renewed: boolean;
  /** the least milliseconds that the lease has left; 0 when it is not in force */
  lease_ms: number;
  /** the outcome; not_owner = another owner holds it now; expired = this lease had ended */
  reason: "renewed" | "not_owner" | "expired";
}

export interface PoolStatsParams {
  /** the pool */
  pool: string;
  /** the scope whose cooldowns count */
  scope?: string;
}

export interface PoolStatsResult {
  /** members */
  total: number;
  /** leased members, even if they are also cooling or banned */
  live: number;
  /** members that are not leased and are cooling down in the scope */
  cooling: number;
  /** members that are not leased and are banned */
  banned: number;
  /** all other members */
  free: number;
  /** calls in the scope's waiting line without a rule */
  waiting: number;
  /** members whose breaker is open or forced open, whatever their state */
  open: number;
}

export interface PoolUnbanParams {
  /** the pool */
  pool: string;
  /** the member */
  id: string;
}

export interface PubsubGap {
  /** the id that pubsub.subscribe returned */
  subscription: string;
  /** how many messages were not sent; -1 = unknown, because Redis was unreachable */
  dropped: number;
}

export interface PubsubMessage {
  /** the id that pubsub.subscribe returned */
  subscription: string;
  /** the channel */
  channel: string;
  /** the pattern that matched; absent if the subscription names the channel. A message that several patterns match is sent once for each */
  pattern?: string;
  /** the body of the message */
  body: Uint8Array;
}

export interface PubsubPublishParams {
  /** the channel */
  channel: string;
  /** any bytes, at most 256 KiB */
  body?: Uint8Array;
}

export interface PubsubPublishResult {
  /** to how many sidecars the Redis node that was asked sent the message, where a sidecar counts once for the channel and once for each pattern that matches it; 0 = the channel has no subscriber, if the whole fleet uses one Redis node */
  receivers: number;
}

export interface PubsubSubscribeParams {
  /** channels to subscribe to; channels and patterns are at most 256 together */
  channels?: string[];
  /** patterns of channels as in Redis: * ? [ab], and a backslash before a character that stands for itself */
  patterns?: string[];
  /** how many messages are kept while the client does not read this connection; further ones are dropped, and pubsub.gap reports how many (1 to 100000); absent = 1000 */
  buffer?: number;
}

export interface PubsubSubscribeResult {
  /** the id of the subscription, for pubsub.unsubscribe; its messages carry it */
  subscription: string;
}

export interface PubsubUnsubscribeParams {
  /** the id that pubsub.subscribe returned */
  subscription: string;
}

export interface PubsubUnsubscribeResult {
  /** this connection had the subscription, which has ended */
  unsubscribed: boolean;
}

export interface QueueAckResult {
  /** the lease was in force, and the entry is removed */
  acked: boolean;
  /** the outcome; expired = the lease had ended: the entry returned to the head, or another consumer has it */
  reason: "acked" | "expired";
}

export interface QueueCancelResult {
  /** the entry was removed */
  cancelled: boolean;
  /** the state in which the call found it */
  state: "waiting" | "leased" | "absent";
}

export interface QueueDequeueParams {
  /** the queue */
  queue: string;
  /** how many milliseconds the call may wait for an entry, within its deadline; first come, first served across all pods (0 to 60000); absent = 0 */
  wait_ms?: number;
  /** milliseconds within which the entry must be acknowledged, at least 100; 0 = no lease: it is removed from the queue at once (0 to 86400000); absent = 0 */
  lease_ms?: number;
  /** ttl = the lease lasts lease_ms unless it is renewed; session = the sidecar renews it while this connection is open, and returns the entry to the head when the connection closes; absent = ttl */
  bind?: "session" | "ttl";
}

export interface QueueDequeueResult {
  /** an entry was taken */
  found: boolean;
  /** its id */
  id?: string;
  /** its body */
  body?: Uint8Array;
  /** the lease, for queue.ack, queue.release and queue.renew */
  lease?: string;
  /** how many times it has been taken, counting from 1 */
  attempt?: number;
  /** when it was added, by the Redis server's clock, Unix milliseconds */
  enqueued_at_ms?: number;
  /** how many entries are left in the queue */
  depth: number;
  /** 0 when found; else milliseconds until it is worth asking again: until a lease ends and its entry may return, at most 1000 */
  retry_after_ms: number;
  /** milliseconds that the call waited before Redis was asked for the result, rounded down */
  waited_ms?: number;
  /** the call repeats an earlier one with the same request id, and this is the entry of that one */
  replayed?: boolean;
  /** why there is none: empty; busy = other calls wait for an entry; released or expired = how the lease of a repeated call ended */
  reason?: "empty" | "busy" | "released" | "expired";
}

export interface QueueEnqueueParams {
  /** the queue */
  queue: string;
  /** the id of the entry; a queue has an id only once */
  id: string;
  /** milliseconds until the entry expires unless it is taken; it does not expire while it is leased (1 to 2592000000); absent = 60000 */
  ttl_ms?: number;
  /** any bytes, at most 256 KiB, which queue.dequeue returns */
  body?: Uint8Array;
}

export interface QueueEnqueueResult {
  /** the entry was added; false = the queue had its id already, and that entry is unchanged */
  enqueued: boolean;
  /** its position, 1 = the first; entries that expired and are not yet removed count too; 0 = it is leased */
  position: number;
  /** how many entries are in the queue */
  depth: number;
  /** this is the stored reply of an earlier call with the same request id; the entry may have been taken since then */
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
  /** how many times it has been taken, counting from 1 */
  attempt: number;
  /** milliseconds until the lease ends unless it is renewed, rounded up */
  left_ms: number;
  /** the connection that took it, as inspect.snapshot of its sidecar lists it */
  session: string;
}

export interface QueueLeaseParams {
  /** the queue */
  queue: string;
  /** the lease that queue.dequeue returned */
  lease: string;
}

export interface QueueListParams {
  /** the cursor that the previous page returned; absent = the first page */
  cursor?: string;
  /** about how many entries to list (1 to 1000); absent = 100 */
  count?: number;
  /** entries = only queues in which entries wait to be taken; leased = only queues with leased entries; empty = only queues in which no entry waits; absent = all */
  state?: "entries" | "leased" | "empty";
}

export interface QueueListResult {
  /** the entries of this page; a page may be empty without being the last */
  queues: QueueListed[];
  /** the cursor of the next page; absent = this was the last page */
  cursor?: string;
}

export interface QueueListed {
  /** the queue */
  queue: string;
  /** entries that wait to be taken; entries that expired and are not yet removed count too */
  depth: number;
  /** entries that are leased */
  leased: number;
  /** calls that wait for an entry */
  waiting: number;
  /** milliseconds since the first entry was added; 0 when there is none */
  oldest_ms: number;
  /** leased entries and their holders, in the order in which their leases end, at most 3 */
  holders: QueueHolder[];
}

export interface QueueParams {
  /** the queue */
  queue: string;
}

export interface QueuePositionResult {
  /** waiting = it waits to be taken; leased; absent = it was taken, has expired or was never added */
  state: "waiting" | "leased" | "absent";
  /** its position, 1 = the first; entries that expired and are not yet removed count too; 0 unless it is waiting */
  position: number;
  /** how many entries are in the queue */
  depth: number;
}

export interface QueueReleaseResult {
  /** the entry is at the head of the queue again */
  released: boolean;
  /** the outcome; expired = the lease had ended */
  reason: "released" | "expired";
}

export interface QueueRenewParams {
  /** the queue */
  queue: string;
  /** the lease that queue.dequeue returned */
  lease: string;
  /** milliseconds that the lease lasts from now on (100 to 86400000) */
  lease_ms: number;
}

export interface QueueRenewResult {
  /** the entry is leased for another lease_ms */
  renewed: boolean;
  /** the least milliseconds that the lease has left; 0 when it is not renewed */
  lease_ms: number;
  /** the outcome; expired = the lease had ended */
  reason: "renewed" | "expired";
}

export interface QueueStatsResult {
  /** entries that wait to be taken; entries that expired and are not yet removed count too */
  depth: number;
  /** entries that are leased */
  leased: number;
  /** calls that wait for an entry */
  waiting: number;
  /** milliseconds since the first entry was added; 0 when there is none */
  oldest_ms: number;
}

export interface RatelimitAnyParams {
  /** the rule's name; or give algorithm and limits instead */
  rule?: string;
  /** the algorithm of a limit given in full */
  algorithm?: "token_bucket" | "leaky_bucket" | "fixed_window" | "sliding_window_log" | "sliding_window_counter";
  /** the bands of a limit given in full, 1 to 4 */
  limits?: Band[];
  /** 1 to 100 keys, the preferred first */
  keys: string[];
  /** how much to take (0 to 1000000000); absent = 1 */
  cost?: number;
  /** what decides while Redis does not answer */
  fail_mode?: "closed" | "open" | "local";
}

export interface RatelimitAnyResult {
  /** the key that was allowed, or else the key that will be allowed soonest */
  key: string;
  /** the decision for that key, as ratelimit.acquire returns it */
  result: RatelimitResult;
}

export interface RatelimitDeleteRuleParams {
  /** the rule */
  name: string;
}

export interface RatelimitDeleteRuleResult {
  /** the rule was in Redis, and was removed */
  deleted: boolean;
}

export interface RatelimitDoneResult {
  /** the grant's permit was given back; false = it held none */
  done: boolean;
}

export interface RatelimitExplainParams {
  /** the rule's name; or give algorithm and limits instead */
  rule?: string;
  /** the algorithm of a limit given in full */
  algorithm?: "token_bucket" | "leaky_bucket" | "fixed_window" | "sliding_window_log" | "sliding_window_counter";
  /** the bands of a limit given in full, 1 to 4 */
  limits?: Band[];
  /** the key */
  key: string;
  /** the group that is counted instead of the key */
  group?: string;
}

export interface RatelimitExplainResult {
  /** the rule's name, empty for a limit given in full */
  rule: string;
  /** the algorithm */
  algorithm: string;
  /** the revision of the rule; 0 for a limit given in full */
  revision: number;
  /** the name under which the state is kept: the group or the key */
  counted: string;
  /** the override in force, as it is written, such as glob:api-* */
  override?: string;
  /** the list of the rule that has the key, which then decides alone */
  list?: "allow" | "deny";
  /** the rule is in shadow: it refuses nothing */
  shadow?: boolean;
  /** what a call of cost 1 would get now: allowed, or the denied_by of its refusal */
  decision: "allowed" | "limit" | "pause" | "delay" | "concurrency" | "deny_list";
  /** milliseconds until such a call would be allowed, rounded up; -1 = never */
  retry_after_ms: number;
  /** each band */
  bands: ExplainBand[];
  /** the pause, if one is in force */
  pause?: ExplainPause;
  /** the delay, if one is in force */
  delay?: ExplainDelay;
  /** how many pauses the remote server's refusals have led to */
  penalty?: ExplainPenalty;
  /** how many grants may be held at once */
  max_concurrent?: number;
  /** who holds permits, in the order in which they end, at most 100 */
  held: ExplainHolder[];
  /** how many calls are in the waiting line for a permit */
  waiting?: number;
  /** what this sidecar has charged ahead and not yet used, in mode leased; the bands count it as used */
  block?: ExplainBlock;
}

export interface RatelimitGrantParams {
  /** the grant that ratelimit.acquire returned */
  grant: string;
}

export interface RatelimitItem {
  /** the rule's name; or give algorithm and limits instead */
  rule?: string;
  /** the algorithm of a limit given in full */
  algorithm?: "token_bucket" | "leaky_bucket" | "fixed_window" | "sliding_window_log" | "sliding_window_counter";
  /** the bands of a limit given in full, 1 to 4 */
  limits?: Band[];
  /** what the limit counts */
  key: string;
  /** is counted instead of the key */
  group?: string;
  /** how much to take */
  cost?: number;
  /** what decides while Redis does not answer */
  fail_mode?: "closed" | "open" | "local";
}

export interface RatelimitItemResult {
  /** the decision, as ratelimit.acquire returns it */
  result?: RatelimitResult;
  /** why there is no decision */
  error?: ItemError;
}

export interface RatelimitManyParams {
  /** 1 to 100 acquisitions, each as ratelimit.acquire without wait_ms */
  items: RatelimitItem[];
  /** take all or none; all items must have the same rule and group */
  atomic?: boolean;
}

export interface RatelimitManyResult {
  /** one for each item, in their order */
  results: RatelimitItemResult[];
}

export interface RatelimitParams {
  /** the rule's name; or give algorithm and limits instead */
  rule?: string;
  /** the algorithm of a limit given in full */
  algorithm?: "token_bucket" | "leaky_bucket" | "fixed_window" | "sliding_window_log" | "sliding_window_counter";
  /** the bands of a limit given in full, 1 to 4; limits with different bands are different limits, which share only the pauses and delays of the key */
  limits?: Band[];
  /** what the limit counts, such as a host or an account */
  key: string;
  /** is counted instead of the key, for all keys of the group together; absent = the group that the rule has for the key, if any */
  group?: string;
  /** the pool whose member the key is: the call uses the member's bucket under the rule and its pause, as permits do; not with group, wait_ms, algorithm or limits */
  pool?: string;
  /** how much to take; 0 takes nothing, like ratelimit.peek. The Go client omits a 0, which then takes 1: use RatelimitPeek there (0 to 1000000000); absent = 1 */
  cost?: number;
  /** milliseconds that the call may wait for a slot, first come, first served; if the slot is further away, the call is refused at once. ratelimit.peek never waits. Not with sliding_window_counter (0 to 60000) */
  wait_ms?: number;
  /** what decides while Redis does not answer: closed = the call fails with UNAVAILABLE, open = it is allowed, local = this sidecar limits it from its own memory; absent = that of the rule, which is open by default */
  fail_mode?: "closed" | "open" | "local";
}

export interface RatelimitPauseParams {
  /** the rule's name; absent for a limit that is given in full */
  rule?: string;
  /** the key */
  key: string;
  /** the group that is counted instead of the key */
  group?: string;
  /** milliseconds from now; or give until_at_ms instead (0 to 31622400000) */
  for_ms?: number;
  /** when the pause ends, by the Redis server's clock, Unix milliseconds, within 366 days (at least 0) */
  until_at_ms?: number;
  /** the reason, for people */
  reason?: string;
  /** the pool whose member the key is: the pause is the member's, which permits respect under any rule */
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
  /** the revision of the rule, Unix milliseconds */
  revision: number;
  /** it replaced a rule of this name in Redis */
  replaced: boolean;
  /** a file of this sidecar has a rule of this name, which takes precedence */
  hidden: boolean;
}

export interface RatelimitRefundResult {
  /** what the grant took was given back */
  refunded: boolean;
  /** the outcome; repeated = the grant was already refunded; expired = the grant no longer counts, or is unknown (because it was altered, for example) */
  reason: "refunded" | "repeated" | "expired";
}

export interface RatelimitReportParams {
  /** the rule's name; absent for a limit that is given in full */
  rule?: string;
  /** what the limit counts */
  key: string;
  /** the group that is counted instead of the key */
  group?: string;
  /** the grant for the request; its permit is given back */
  grant?: string;
  /** the HTTP status of the response (100 to 999) */
  status: number;
  /** milliseconds that the response took, for metrics (0 to 86400000) */
  latency_ms?: number;
  /** the Retry-After of the server, in milliseconds; 0 or less (a date that has passed, for example) = it asks for no pause; absent = it gave none. The Go client omits a 0: give -1 there (-31622400000 to 31622400000) */
  retry_after_ms?: number;
  /** the pool whose member the key is: the pause is the member's, which permits respect */
  pool?: string;
}

export interface RatelimitReportResult {
  /** milliseconds until the key's pause ends; 0 = it is not paused */
  wait_ms: number;
  /** that instant by the Redis server's clock, Unix milliseconds */
  paused_until_at_ms?: number;
}

export interface RatelimitResetParams {
  /** the rule's name; or give algorithm and limits instead */
  rule?: string;
  /** the algorithm of a limit given in full */
  algorithm?: "token_bucket" | "leaky_bucket" | "fixed_window" | "sliding_window_log" | "sliding_window_counter";
  /** the bands of a limit given in full, 1 to 4 */
  limits?: Band[];
  /** the key to forget */
  key: string;
  /** the group that is counted instead of the key */
  group?: string;
  /** the pool whose member the key is: the member's bucket under the rule is forgotten */
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
  /** the band whose figures these are, as limit/period, such as 80/10m */
  band: string;
  /** the band's limit per period */
  limit: number;
  /** how much could be taken at once now, rounded down */
  remaining: number;
  /** how much counts against the band now, rounded up */
  current: number;
  /** milliseconds until the band is full again, rounded up */
  reset_after_ms: number;
  /** that instant by the Redis server's clock, or by the pod's when degraded, Unix milliseconds; 0 = unknown */
  reset_at_ms: number;
  /** 0 when allowed; else milliseconds until this cost fits if no other call takes from the limit, rounded up; -1 = it never fits */
  retry_after_ms: number;
  /** milliseconds that the call waited for its slot */
  waited_ms: number;
  /** why it was refused, or would have been if the rule were not in shadow: limit = a band is used up; pause = the key is paused; delay = it is too soon after the last admission; concurrency = max_concurrent grants are held; deny_list = the rule's deny list has the key */
  denied_by?: "limit" | "pause" | "delay" | "concurrency" | "deny_list";
  /** it was allowed only because the rule is in shadow */
  shadow?: boolean;
  /** the fail mode decided, because Redis did not answer */
  degraded: boolean;
  /** where the decision was made: redis; lease = a block that the sidecar charged ahead, for a rule in mode leased; cache = a refusal of less than a second ago that still holds; local = the fail mode; list = the rule's allow or deny list */
  source: "redis" | "cache" | "local" | "list" | "lease";
  /** identifies what was taken, for ratelimit.refund, ratelimit.done and ratelimit.report; absent if the source is lease */
  grant?: string;
  /** the grant holds one of max_concurrent permits: give it back by ratelimit.done, or by ratelimit.report with the grant */
  held?: boolean;
  /** this is the stored reply of an earlier call with the same request id */
  replayed?: boolean;
  /** the decision is degraded, but the cost may also have been taken in Redis */
  maybe_executed?: boolean;
}

export interface RatelimitResumeParams {
  /** the rule's name; absent for a limit that is given in full */
  rule?: string;
  /** the key */
  key: string;
  /** the group that is counted instead of the key */
  group?: string;
  /** the pool whose member the key is */
  pool?: string;
}

export interface RatelimitResumeResult {
  /** the key was paused, and no longer is */
  resumed: boolean;
}

export interface RatelimitRulesResult {
  /** the rules, sorted by name */
  rules: RuleInForce[];
  /** the source whose rule is in force when both have one of the same name */
  precedence: "file" | "redis";
  /** the names of rules in Redis that this version of the sidecar cannot read; they are not in force here */
  unreadable?: string[];
}

export interface RatelimitSetDelayParams {
  /** the rule's name; absent for a limit that is given in full */
  rule?: string;
  /** the key */
  key: string;
  /** the group that is counted instead of the key */
  group?: string;
  /** milliseconds from one admission to the next, at most the rule's max_delay_ms; 0 = removes the delay of this source (0 to 86400000) */
  delay_ms?: number;
  /** milliseconds until this source's delay is forgotten (1 to 31622400000); absent = 86400000 */
  ttl_ms?: number;
  /** the source of the delay, such as robots; each source has one delay; absent = robots */
  source?: string;
}

export interface RatelimitSetDelayResult {
  /** milliseconds from one admission to the next, the longest of all sources; 0 = none */
  delay_ms: number;
  /** when the delay ends, by the Redis server's clock, Unix milliseconds */
  until_at_ms?: number;
}

export interface RatelimitStatsResult {
  /** when the counts began, by the pod's clock, Unix milliseconds */
  since_at_ms: number;
  /** the rules, sorted by name; inline = limits that calls give in full */
  rules: RuleStats[];
}

export interface Rule {
  /** the name by which calls select the rule */
  name: string;
  /** the algorithm */
  algorithm: "token_bucket" | "leaky_bucket" | "fixed_window" | "sliding_window_log" | "sliding_window_counter";
  /** its bands, 1 to 4, each with a different period */
  limits: Band[];
  /** what decides while Redis does not answer; absent = open */
  fail_mode?: "closed" | "open" | "local";
  /** by how many pods the limit is divided while fail_mode local decides; absent = 1 */
  local_share_of?: number;
  /** whether the sidecar repeats a refusal from memory for up to a second; absent = on */
  deny_cache?: "on" | "off";
  /** other limits for some keys; the first that matches is used */
  overrides?: Override[];
  /** keys that are always allowed and never counted */
  allow?: Match[];
  /** keys that are always refused; checked before allow */
  deny?: Match[];
  /** keys that are counted together; the first that matches is used */
  groups?: Group[];
  /** count and report, but refuse nothing */
  shadow?: boolean;
  /** how many grants of a key may be held at once; absent or 0 = no bound */
  max_concurrent?: number;
  /** the percentage of each limit and burst that is not given out, since granted requests reach the server late and may bunch up; absent = 0 */
  headroom_percent?: number;
  /** the longest delay that ratelimit.set_delay may set, in milliseconds; absent = 60000 */
  max_delay_ms?: number;
  /** exact = Redis decides each call; leased = a sidecar charges blocks ahead and admits calls from them in memory, only for token_bucket and fixed_window without max_concurrent; absent = exact */
  mode?: "exact" | "leased";
  /** how much a sidecar may charge ahead in mode leased, and for how long */
  lease?: RuleLease;
  /** how ratelimit.report treats refusals of the remote server */
  penalty?: Penalty;
}

export interface RuleInForce {
  /** the rule, without the fields that have their defaults */
  rule: Rule;
  /** file = the configuration; redis = ratelimit.put_rule */
  source: "file" | "redis";
  /** it is not in force: the other source has a rule of this name, which takes precedence */
  hidden?: boolean;
  /** a number that rises with each change, in Unix milliseconds */
  revision: number;
}

export interface RuleLease {
  /** the most that one sidecar may charge ahead for a key, as a percentage of each band's limit, and never more than its burst; absent = 10 */
  max_share_percent?: number;
  /** milliseconds after its charge for which a block may be used, at least 10; absent = 1000 */
  ttl_ms?: number;
}

export interface RuleStats {
  /** the rule's name */
  rule: string;
  /** calls that were allowed, those allowed only by shadow included */
  allowed: number;
  /** calls that were refused, for any reason */
  refused: number;
  /** calls that were allowed only because the rule is in shadow */
  shadowed: number;
  /** calls that a fail mode decided, those that failed included */
  degraded: number;
  /** calls that waited for a slot or a permit and got it */
  waited: number;
  /** the sum of their waiting times, in milliseconds */
  waited_ms: number;
}

export interface SeenCommitParams {
  /** the set */
  set: string;
  /** the key */
  key: string;
  /** the token that seen.reserve returned */
  token: string;
  /** milliseconds to remember that the key is done, at most 366 days (1 to 31622400000); absent = 86400000 */
  keep_ms?: number;
}

export interface SeenCommitResult {
  /** the key is recorded as done */
  committed: boolean;
  /** the outcome; expired = the reservation had ended; another caller may have done it, or may do it now */
  reason: "committed" | "expired";
}

export interface SeenReleaseParams {
  /** the set */
  set: string;
  /** the key */
  key: string;
  /** the token that seen.reserve returned */
  token: string;
}

export interface SeenReleaseResult {
  /** the reservation belonged to this token and is given up */
  released: boolean;
  /** the outcome; expired = the lease had ended */
  reason: "released" | "expired";
}

export interface SeenReserveParams {
  /** the set */
  set: string;
  /** what is to be done once, such as a URL or its hash */
  key: string;
  /** milliseconds that the reservation lasts unless it is renewed or committed (100 to 86400000); absent = 30000 */
  ttl_ms?: number;
  /** session = the sidecar renews it while this connection is open and gives it up when the connection closes; ttl = it does neither; absent = session */
  bind?: "session" | "ttl";
}

export interface SeenReserveResult {
  /** the caller has the reservation: do it, then commit or release it */
  reserved: boolean;
  /** the state of the key before the call: new = not reserved; reserved = reserved by another caller; done = committed */
  state: "new" | "reserved" | "done";
  /** the reservation's token, for seen.commit and seen.release */
  token?: string;
  /** 0 when reserved; else milliseconds until the other reservation ends unless it is renewed, or until the committed key is forgotten */
  retry_after_ms: number;
  /** the call repeats an earlier one with the same request id, and this is about the reservation of that one */
  replayed?: boolean;
  /** how the reservation of a repeated call ended */
  reason?: "released" | "expired";
}

export interface SemaphoreAcquireParams {
  /** the semaphore */
  name: string;
  /** how many permits the semaphore has. Redis does not keep the limit: each call uses its own, so pass the same one everywhere (1 to 10000) */
  limit: number;
  /** how many permits to acquire, at most limit (1 to 10000); absent = 1 */
  permits?: number;
  /** milliseconds that the lease of the permits lasts unless it is renewed (100 to 86400000); absent = 30000 */
  ttl_ms?: number;
  /** how many milliseconds the call may be in the waiting line, within its deadline; first come, first served across all pods: a call for few permits does not overtake one for many (0 to 60000); absent = 0 */
  wait_ms?: number;
  /** the owner's secret; the sidecar makes one when it is absent */
  token?: string;
  /** how many replicas of Redis must have the grant; if fewer do in time, it is given back (0 to 16); absent = 0 */
  wait_replicas?: number;
  /** milliseconds after which they are lost even if they are renewed; 0 = never (0 to 604800000); absent = 0 */
  max_hold_ms?: number;
  /** a text that is shown with the holder, at most 512 bytes */
  meta?: string;
  /** session = the sidecar renews it while this connection is open and releases it when the connection closes; ttl = it does neither; absent = session */
  bind?: "session" | "ttl";
}

export interface SemaphoreAcquireResult {
  /** this token holds the permits */
  acquired: boolean;
  /** the owner's secret, for renew and release */
  token?: string;
  /** a decimal number that rises with every grant; pass it to what the semaphore protects */
  fence?: string;
  /** the least milliseconds that the lease has left; 0 when it is not acquired */
  ttl_ms: number;
  /** how many of the limit's permits are free after this call */
  free: number;
  /** 0 when acquired; else milliseconds until enough leases have ended, or until it is worth asking again while other calls are in the waiting line */
  retry_after_ms: number;
  /** milliseconds that the call was in the waiting line before Redis was asked for the result, rounded down */
  waited_ms?: number;
  /** the call repeats an earlier one with the same request id, and this is about the grant of that one */
  replayed?: boolean;
  /** why it is not acquired: busy = others hold it or are before this call in the waiting line; replicas = too few replicas had the grant in time, so it was given back; released or expired = how the grant of a repeated call ended */
  reason?: "busy" | "replicas" | "released" | "expired";
}

export interface SemaphoreGetParams {
  /** the semaphore */
  name: string;
}

export interface SemaphoreGetResult {
  /** how many permits are held */
  held: number;
  /** how many calls are in its waiting line */
  waiting?: number;
  /** the grants, in the order in which their leases end, at most 100 */
  holders: SemaphoreHolder[];
}

export interface SemaphoreHolder {
  /** how many permits it holds */
  permits: number;
  /** its fence */
  fence: string;
  /** milliseconds until its lease ends */
  ttl_ms: number;
  /** the holder */
  held_by: Holder;
}

export interface SemaphoreListParams {
  /** the cursor that the previous page returned; absent = the first page */
  cursor?: string;
  /** about how many entries to list (1 to 1000); absent = 100 */
  count?: number;
  /** held = only semaphores with held permits; waited = only those with calls in their waiting lines; absent = both */
  state?: "held" | "waited";
}

export interface SemaphoreListResult {
  /** the entries of this page; a page may be empty without being the last */
  semaphores: SemaphoreListed[];
  /** the cursor of the next page; absent = this was the last page */
  cursor?: string;
}

export interface SemaphoreListed {
  /** the semaphore */
  name: string;
  /** how many permits are held */
  held: number;
  /** how many calls are in its waiting line */
  waiting: number;
  /** the grants, in the order in which their leases end, at most 3 */
  holders: SemaphoreHolder[];
}

export interface SemaphoreReleaseParams {
  /** the semaphore */
  name: string;
  /** the owner's secret */
  token: string;
}

export interface SemaphoreReleaseResult {
  /** this token held the permits, which are free now */
  released: boolean;
  /** the outcome; expired = the lease had ended */
  reason: "released" | "expired";
}

export interface SemaphoreRenewParams {
  /** the semaphore */
  name: string;
  /** the owner's secret */
  token: string;
  /** milliseconds that the lease of the permits lasts from now on (100 to 86400000); absent = 30000 */
  ttl_ms?: number;
}

export interface SemaphoreRenewResult {
  /** the permits are held for another ttl_ms */
  renewed: boolean;
  /** the grant's fence, unchanged */
  fence?: string;
  /** the least milliseconds that the lease has left; 0 when this token does not hold the permits */
  ttl_ms: number;
  /** the outcome; expired = the lease had ended */
  reason: "renewed" | "expired";
}

export interface StreamAckResult {
  /** this call acknowledged the message; false = it was already acknowledged, is a dead letter, or was never delivered to the group */
  acked: boolean;
}

export interface StreamConsumer {
  /** the pod */
  name: string;
  /** messages that it was given and has not acknowledged */
  pending: number;
  /** milliseconds since it was last active */
  idle_ms: number;
}

export interface StreamDeadLetter {
  /** the id of the dead letter, for stream.redrive and stream.trim */
  id: string;
  /** the id that the message had in the stream */
  message_id: string;
  /** the group that failed to process it */
  group: string;
  /** how many times it was delivered */
  attempts: number;
  /** the reason given to stream.nack, or max_deliveries */
  reason: string;
  /** when it became a dead letter, by the Redis server's clock, Unix milliseconds */
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
  /** the most messages to return; fewer are returned if they would exceed 512 KiB together (1 to 256); absent = 20 */
  count?: number;
  /** list only dead letters after this id; pass the next of the previous result */
  after?: string;
}

export interface StreamDeadResult {
  /** the dead letters */
  letters: StreamDeadLetter[];
  /** the after of the next call; absent when there are no more */
  next?: string;
}

export interface StreamEntry {
  /** its id in the stream */
  id: string;
  /** its body */
  body?: Uint8Array;
  /** its fields */
  fields?: Record<string, string>;
  /** for a message that stream.redrive moved back: the only group that is given it */
  group?: string;
  /** when it was added to the stream, by the Redis server's clock, Unix milliseconds */
  published_at_ms: number;
  /** the W3C trace context of its publisher */
  traceparent?: string;
}

export interface StreamExtendResult {
  /** the message is delivered to this pod for another visibility_ms */
  extended: boolean;
  /** the outcome; not_pending = it was acknowledged or deleted; taken = it is delivered to another pod */
  reason: "extended" | "not_pending" | "taken";
}

export interface StreamFetchParams {
  /** the stream */
  stream: string;
  /** the group of consumers */
  group: string;
  /** the most messages to return; fewer are returned if they would exceed 512 KiB together (1 to 256); absent = 1 */
  count?: number;
  /** how many milliseconds the call may wait for the first message, within its deadline (0 to 60000); absent = 0 */
  wait_ms?: number;
  /** as in stream.subscribe (1 to 1000); absent = 5 */
  max_deliveries?: number;
  /** as in stream.subscribe (100 to 43200000); absent = 60000 */
  visibility_ms?: number;
  /** as in stream.subscribe; with ttl, the closing of the connection does not end the deliveries; absent = session */
  bind?: "session" | "ttl";
  /** as in stream.subscribe; absent = first */
  start?: "first" | "new";
  /** as in stream.subscribe */
  rule?: string;
  /** as in stream.subscribe */
  key?: string;
}

export interface StreamFetchResult {
  /** the messages; empty if there was none within wait_ms */
  messages: StreamMessage[];
}

export interface StreamGroup {
  /** the group */
  group: string;
  /** messages that it was not yet given; -1 = unknown: Redis does not have the number, and there are too many to count */
  lag: number;
  /** messages that it was given and has not acknowledged */
  pending: number;
  /** pending messages that wait for their delay after stream.nack */
  retrying: number;
  /** if the group delivers by key: messages that wait for the limit of their key or for the message before them; they count neither as lag nor as pending */
  parked?: number;
  /** pods that take part in the group */
  consumers: number;
  /** milliseconds since the oldest pending message was published; 0 when there is none */
  oldest_pending_ms: number;
  /** the id of the newest message that it was given */
  last_delivered_id: string;
}

export interface StreamGroupDetail {
  /** the group */
  group: string;
  /** the pods that take part in the group, sorted by name */
  consumers: StreamConsumer[];
}

export interface StreamGroupsResult {
  /** its groups, sorted by name */
  groups: StreamGroupDetail[];
}

export interface StreamListParams {
  /** the cursor that the previous page returned; absent = the first page */
  cursor?: string;
  /** about how many entries to list (1 to 1000); absent = 100 */
  count?: number;
  /** behind = only streams with a group that has undelivered or unacknowledged messages; dead = only streams with dead letters; absent = all */
  state?: "behind" | "dead";
}

export interface StreamListResult {
  /** the entries of this page; a page may be empty without being the last */
  streams: StreamListed[];
  /** the cursor of the next page; absent = this was the last page */
  cursor?: string;
}

export interface StreamListed {
  /** the stream */
  stream: string;
  /** messages in the stream, acknowledged ones included */
  length: number;
  /** delayed messages that are not yet added to the stream */
  delayed: number;
  /** dead letters */
  dead: number;
  /** messages that were deleted while a group had them delivered and not acknowledged, since the stream was first used */
  trimmed: number;
  /** its groups, those that are furthest behind first; at most 8 */
  groups: StreamGroup[];
  /** how many more groups it has */
  more_groups?: number;
}

export interface StreamMessage {
  /** the id of the subscription; absent in the result of stream.fetch */
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
  /** how many times it has been delivered, counting from 1 */
  attempt: number;
  /** when it was added to the stream, by the Redis server's clock, Unix milliseconds */
  published_at_ms: number;
  /** the W3C trace context of its publisher, for a span link */
  traceparent?: string;
}

export interface StreamMessageParams {
  /** the stream */
  stream: string;
  /** the group */
  group: string;
  /** the id of the message */
  id: string;
}

export interface StreamNackParams {
  /** the stream */
  stream: string;
  /** the group */
  group: string;
  /** the id of the message */
  id: string;
  /** milliseconds until it is delivered again; -1 = 1 s after the first attempt, doubled with each further one, at most 5 min (-1 to 86400000); absent = -1 */
  delay_ms?: number;
  /** move the message to the dead letters at once */
  dead?: boolean;
  /** the reason, which the dead letter keeps */
  reason?: string;
}

export interface StreamNackResult {
  /** the message was delivered and not acknowledged; false = nothing was done */
  nacked: boolean;
  /** the message is a dead letter now */
  dead: boolean;
  /** milliseconds until it is delivered again; 0 = at once, or it is a dead letter */
  delay_ms: number;
}

export interface StreamNewMessage {
  /** as in stream.publish */
  body?: Uint8Array;
  /** as in stream.publish */
  fields?: Record<string, string>;
  /** as in stream.publish */
  dedupe_id?: string;
  /** as in stream.publish */
  dedupe_ms?: number;
  /** as in stream.publish */
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
  /** as in stream.publish (0 to 1000000000); absent = 0 */
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
  /** texts by name, at most 256 KiB together, in addition to the body or instead of it */
  fields?: Record<string, string>;
  /** if a message with the same dedupe_id was published within the last dedupe_ms, this one is not added */
  dedupe_id?: string;
  /** milliseconds for which dedupe_id is remembered (1000 to 86400000); absent = 300000 */
  dedupe_ms?: number;
  /** milliseconds until it is added to the stream (0 to 2592000000); absent = 0 */
  delay_ms?: number;
  /** when this message is added, the stream is cut to about this many of its newest messages; a few more may stay; 0 = keep all (0 to 1000000000); absent = 0 */
  maxlen?: number;
}

export interface StreamPublishResult {
  /** the message was added, or will be after its delay; false = it is a duplicate by its dedupe_id */
  published: boolean;
  /** its id in the stream; for a duplicate, the id of the first message; absent for a delayed message */
  id?: string;
  /** when a delayed message is added, by the Redis server's clock, Unix milliseconds */
  due_at_ms?: number;
  /** this is the stored reply of an earlier call with the same request id */
  replayed?: boolean;
}

export interface StreamPublished {
  /** as in stream.publish */
  published: boolean;
  /** as in stream.publish */
  id?: string;
  /** as in stream.publish */
  due_at_ms?: number;
  /** why this message failed; the others are not affected */
  error?: ItemError;
}

export interface StreamReadParams {
  /** the stream */
  stream: string;
  /** list only messages after this id; pass the next of the previous result */
  after?: string;
  /** where to begin without after: first = with the oldest message; new = with messages published from now on, so this call lists none; absent = first */
  start?: "first" | "new";
  /** the most messages to return; fewer are returned if they would exceed 512 KiB together (1 to 256); absent = 20 */
  count?: number;
}

export interface StreamReadResult {
  /** the messages, acknowledged ones included */
  messages: StreamEntry[];
  /** the after of the next call, present even if nothing was listed */
  next: string;
  /** the stream already has further messages */
  more: boolean;
}

export interface StreamRedriveParams {
  /** the stream */
  stream: string;
  /** the ids of the dead letters, at most 256 */
  ids?: string[];
  /** instead of ids: how many to move, the oldest first (0 to 256); absent = 0 */
  count?: number;
}

export interface StreamRedriveResult {
  /** dead letters that were moved back to the stream */
  redriven: number;
  /** dead letters that are left */
  left: number;
  /** this is the stored reply of an earlier call with the same request id */
  replayed?: boolean;
}

export interface StreamStatsParams {
  /** the stream */
  stream: string;
  /** count only this group; absent = all groups */
  group?: string;
}

export interface StreamStatsResult {
  /** messages in the stream, acknowledged ones included */
  length: number;
  /** delayed messages that are not yet added to the stream */
  delayed: number;
  /** dead letters */
  dead: number;
  /** messages that were deleted while a group had them delivered and not acknowledged, since the stream was first used */
  trimmed: number;
  /** its groups, sorted by name */
  groups: StreamGroup[];
}

export interface StreamSubscribeParams {
  /** the stream */
  stream: string;
  /** the group of consumers; each message goes to one of them. The latest subscription or fetch in a pod sets visibility_ms and max_deliveries for the whole group in that pod */
  group: string;
  /** how many messages this subscription may have unacknowledged (1 to 1000); absent = 16 */
  prefetch?: number;
  /** how many times a message is delivered; if it is then not acknowledged, it is moved to the dead letters (1 to 1000); absent = 5 */
  max_deliveries?: number;
  /** the visibility timeout in milliseconds: when it ends, the message is delivered to another consumer, unless it was acknowledged or extended (100 to 43200000); absent = 60000 */
  visibility_ms?: number;
  /** session = the sidecar extends messages while this connection is open; ttl = a delivery lasts visibility_ms unless the client extends it. In both cases messages are delivered again at once when the connection closes; absent = session */
  bind?: "session" | "ttl";
  /** where the group begins if this call creates it: first = with the oldest message; new = with messages published from now on; absent = first */
  start?: "first" | "new";
  /** given together with key: a message is delivered only when this rule admits its key. Messages of other keys overtake it; those of one key are delivered one at a time, in their order. The latest subscription or fetch in a pod sets the rule for the whole group in that pod */
  rule?: string;
  /** given together with rule: the field of messages that contains the key, such as host. All subscriptions and fetches of a group must name the same field; a message without it is moved to the dead letters */
  key?: string;
}

export interface StreamSubscribeResult {
  /** the id of the subscription, for stream.unsubscribe; its messages carry it */
  subscription: string;
  /** the call created the group */
  created: boolean;
}

export interface StreamTrimParams {
  /** the stream */
  stream: string;
  /** delete dead letters instead of messages */
  dead?: boolean;
  /** keep only this many of the newest ones (0 to 1000000000) */
  maxlen?: number;
  /** delete those that were added more than this many milliseconds ago (0 to 31536000000) */
  older_ms?: number;
  /** delete those with these ids, at most 256 */
  ids?: string[];
}

export interface StreamTrimResult {
  /** messages or dead letters that were deleted */
  deleted: number;
  /** messages or dead letters that are left */
  left: number;
}

export interface StreamUnsubscribeParams {
  /** the id that stream.subscribe returned */
  subscription: string;
}

export interface StreamUnsubscribeResult {
  /** this connection had the subscription, which has ended */
  unsubscribed: boolean;
}

/** The params and the result of each method. */
export interface Methods {
  /** Asks whether a call may be made. While the breaker is half open it gives out probes, which the caller must report. */
  "breaker.allow": { params: BreakerAllowParams; result: BreakerAllowResult };
  /** Explains whether a breaker would allow a call now, and if not why and until when, and by which policy. It gives out no probe. */
  "breaker.explain": { params: BreakerParams; result: BreakerExplainResult };
  /** Holds a breaker in a state until breaker.reset, whatever callers report. */
  "breaker.force": { params: BreakerForceParams; result: BreakerChangeResult };
  /** Returns the state of a breaker, and the counts that led to it. */
  "breaker.get": { params: BreakerParams; result: BreakerGetResult };
  /** Lists the breakers that have state in Redis, or with pool those of its members, one page at a time, in no particular order. An entry that is added or removed during the listing may be missing or still listed. */
  "breaker.list": { params: BreakerListParams; result: BreakerListResult };
  /** Reports the outcome of a call that was allowed. The outcome of a call from an older generation changes nothing. */
  "breaker.report": { params: BreakerReportParams; result: BreakerReportResult };
  /** Closes a breaker, and clears its counts and a forced state. */
  "breaker.reset": { params: BreakerParams; result: BreakerChangeResult };
  /** Sends this connection a notification named event for each event of the given kinds, until it closes. A further call replaces the kinds. */
  "events.subscribe": { params: EventsSubscribeParams; result: EventsSubscribeResult };
  /** Ends the subscription of events.subscribe. Without one it does nothing, and is not an error. */
  "events.unsubscribe": { params: Nothing; result: Nothing };
  /** Returns the checks that /readyz?verbose and /livez?verbose show. */
  "health.get": { params: Nothing; result: HealthResult };
  /** Lists the sidecars that use this Redis under the same prefix and tenant, one page at a time, in no particular order. A sidecar that was killed is still listed for half a minute. */
  "inspect.sidecars": { params: InspectSidecarsParams; result: InspectSidecarsResult };
  /** Returns the state of the sidecar: its configuration, rules, sessions, leases, calls and store, without secrets. */
  "inspect.snapshot": { params: Nothing; result: InspectResult };
  /** Acquires a lock, at once or in turn within wait_ms, or returns who holds it. A repeated call with the same token returns the same grant. */
  "lock.acquire": { params: LockAcquireParams; result: LockAcquireResult };
  /** Explains why a lock would be refused now and until when: who holds it, what keeps it held, and whose calls are in its waiting line. It takes nothing. */
  "lock.explain": { params: LockGetParams; result: LockExplainResult };
  /** Takes a lock from whoever holds it, and returns who that was. The owner is notified that it has lost the lock; the next owner's fence is higher. */
  "lock.force_release": { params: LockForceReleaseParams; result: LockForceReleaseResult };
  /** Returns whether a lock is held, by whom and for how long. */
  "lock.get": { params: LockGetParams; result: LockGetResult };
  /** Lists the locks that are held, one page at a time, in no particular order. A lock that is taken or freed during the listing may be missing or still listed. */
  "lock.list": { params: LockListParams; result: LockListResult };
  /** Releases a lock, if this token holds it. */
  "lock.release": { params: LockReleaseParams; result: LockReleaseResult };
  /** Renews a lock that this token holds: from now on it lasts the given time, which may be shorter or longer than what was left. The sidecar renews locks that are bound to the session itself, with the new TTL from then on. */
  "lock.renew": { params: LockRenewParams; result: LockRenewResult };
  /** Leases the least recently used member that is free, whose breaker is not open and whose bucket has the cost. One step decides and takes all of it. */
  "permit.acquire": { params: PermitAcquireParams; result: PermitAcquireResult };
  /** Explains which member permit.acquire would lease now, or why none and until when: members, their breakers, buckets and pauses, who holds them, and whose calls are in the waiting line. It takes nothing. */
  "permit.explain": { params: PermitExplainParams; result: PoolExplainResult };
  /** Renews a permit: from now on it lasts the given time, which may be shorter or longer than what was left. The sidecar renews leases that are bound to the session itself, with the new time from then on. */
  "permit.renew": { params: PermitRenewParams; result: PoolRenewResult };
  /** Gives back a permit's member and reports the outcome of the work to its breaker, its cooldown and its pause, in one step. */
  "permit.report": { params: PermitReportParams; result: PermitReportResult };
  /** Leases the least recently used member that is not leased, cooling or banned, at once or in turn within wait_ms. */
  "pool.acquire": { params: PoolAcquireParams; result: PoolAcquireResult };
  /** Takes a member out of use, for a time or until pool.unban. A present holder keeps it until it gives it back. */
  "pool.ban": { params: PoolBanParams; result: PoolBanResult };
  /** Explains which member pool.acquire would lease now, or why none and until when: why members are not available, who holds them, and whose calls are in the waiting line. It takes nothing. */
  "pool.explain": { params: PoolExplainParams; result: PoolExplainResult };
  /** Lists the members of a pool and their states, one page at a time, in the order in which they were added. */
  "pool.list": { params: PoolListParams; result: PoolListResult };
  /** Lists the pools that have members, with counts of these, one page at a time, in no particular order. An entry that is added or removed during the listing may be missing or still listed. */
  "pool.pools": { params: PoolPoolsParams; result: PoolPoolsResult };
  /** Adds members to a pool, and replaces the meta of members that it already has, which keep their state, bans included. */
  "pool.put": { params: PoolPutParams; result: PoolPutResult };
  /** Gives a member back and reports the outcome of its use. */
  "pool.release": { params: PoolReleaseParams; result: PoolReleaseResult };
  /** Removes members from a pool with their state. The holder of a removed member learns of it when its lease is renewed. */
  "pool.remove": { params: PoolRemoveParams; result: PoolRemoveResult };
  /** Renews the lease of a member: from now on it lasts the given time, which may be shorter or longer than what was left. The sidecar renews leases that are bound to the session itself, with the new time from then on. */
  "pool.renew": { params: PoolRenewParams; result: PoolRenewResult };
  /** Counts the members of a pool by state: live, cooling, banned and free make the total. */
  "pool.stats": { params: PoolStatsParams; result: PoolStatsResult };
  /** Lifts the ban of a member, and clears its failures and cooldowns. */
  "pool.unban": { params: PoolUnbanParams; result: PoolBanResult };
  /** Sends a message to the present subscribers of a channel. The message is not kept. */
  "pubsub.publish": { params: PubsubPublishParams; result: PubsubPublishResult };
  /** Sends this connection the messages of channels as pubsub.message, each at most once. The call returns when Redis has confirmed the subscription. */
  "pubsub.subscribe": { params: PubsubSubscribeParams; result: PubsubSubscribeResult };
  /** Ends a subscription. */
  "pubsub.unsubscribe": { params: PubsubUnsubscribeParams; result: PubsubUnsubscribeResult };
  /** Acknowledges a leased entry: it is removed for good. */
  "queue.ack": { params: QueueLeaseParams; result: QueueAckResult };
  /** Removes an entry from the queue, unless it is leased. */
  "queue.cancel": { params: QueueEntryParams; result: QueueCancelResult };
  /** Takes the first entry of a queue that has not expired, at once or in turn within wait_ms. With lease_ms the entry returns to the head of the queue unless it is acknowledged. */
  "queue.dequeue": { params: QueueDequeueParams; result: QueueDequeueResult };
  /** Adds an entry at the end of a queue, or returns the position of the entry that has this id already. */
  "queue.enqueue": { params: QueueEnqueueParams; result: QueueEnqueueResult };
  /** Lists the queues with entries or waiting calls, one page at a time, in no particular order. An entry that is added or removed during the listing may be missing or still listed. */
  "queue.list": { params: QueueListParams; result: QueueListResult };
  /** Returns the state of an entry and its position in the queue. */
  "queue.position": { params: QueueEntryParams; result: QueuePositionResult };
  /** Gives up the lease of an entry: it returns to the head of the queue at once. */
  "queue.release": { params: QueueLeaseParams; result: QueueReleaseResult };
  /** Renews the lease of an entry: from now on it lasts the given time, which may be shorter or longer than what was left. The sidecar renews leases that are bound to the session itself, with the new time from then on. */
  "queue.renew": { params: QueueRenewParams; result: QueueRenewResult };
  /** Counts the entries of a queue and the calls that wait for one. */
  "queue.stats": { params: QueueParams; result: QueueStatsResult };
  /** Takes cost from every band of a limit, all or none, or returns when it may succeed. */
  "ratelimit.acquire": { params: RatelimitParams; result: RatelimitResult };
  /** Takes cost for the first of several keys that is allowed now, or returns the key that will be allowed soonest. */
  "ratelimit.acquire_any": { params: RatelimitAnyParams; result: RatelimitAnyResult };
  /** Takes from many limits in one round trip. With atomic it takes all or none, and the items must have the same rule and group. */
  "ratelimit.acquire_many": { params: RatelimitManyParams; result: RatelimitManyResult };
  /** Removes a rule that ratelimit.put_rule stored. It does not remove rules of files. */
  "ratelimit.delete_rule": { params: RatelimitDeleteRuleParams; result: RatelimitDeleteRuleResult };
  /** Gives back the permit of a grant under a rule with max_concurrent. What the grant took from the bands stays taken. */
  "ratelimit.done": { params: RatelimitGrantParams; result: RatelimitDoneResult };
  /** Explains what a limit would decide for a key now, and everything that decides it: the rule and override in force, each band, the pause, the delay, and who holds permits. It takes nothing. */
  "ratelimit.explain": { params: RatelimitExplainParams; result: RatelimitExplainResult };
  /** Refuses all calls for a key for a time, in every sidecar. If there are several pauses, the longest is in force. */
  "ratelimit.pause": { params: RatelimitPauseParams; result: RatelimitPauseResult };
  /** Returns what ratelimit.acquire would return, and takes nothing. */
  "ratelimit.peek": { params: RatelimitParams; result: RatelimitResult };
  /** Stores a rule in Redis. It takes effect in every sidecar within about a second, and replaces a rule of the same name in Redis. */
  "ratelimit.put_rule": { params: RatelimitPutRuleParams; result: RatelimitPutRuleResult };
  /** Gives back, once, what a grant took and the caller did not use: at most what still counts against the limit. The sidecar does not check that it was not used. */
  "ratelimit.refund": { params: RatelimitGrantParams; result: RatelimitRefundResult };
  /** Reports how the remote server answered. A status among the rule's penalty codes pauses the key for all callers. Gives back the grant's permit. */
  "ratelimit.report": { params: RatelimitReportParams; result: RatelimitReportResult };
  /** Forgets what a key has taken from a limit, so that the limit is full again. */
  "ratelimit.reset": { params: RatelimitResetParams; result: RatelimitResetResult };
  /** Ends the pause of a key and forgets its penalty. */
  "ratelimit.resume": { params: RatelimitResumeParams; result: RatelimitResumeResult };
  /** Lists the rules in force in this sidecar, and the rules that one of the same name hides. */
  "ratelimit.rules": { params: Nothing; result: RatelimitRulesResult };
  /** Sets the least time between two admissions of a key, such as a crawl-delay. If several sources set one, the longest is in force. */
  "ratelimit.set_delay": { params: RatelimitSetDelayParams; result: RatelimitSetDelayResult };
  /** Returns, for each rule, the counts of this sidecar's decisions since it started. */
  "ratelimit.stats": { params: Nothing; result: RatelimitStatsResult };
  /** Describes one method: parameters, results, defaults, guarantees. */
  "rpc.describe": { params: DescribeParams; result: MethodDescription };
  /** Describes every method. */
  "rpc.methods": { params: Nothing; result: MethodsResult };
  /** Records that what was reserved is done: for keep_ms no caller can reserve the key. */
  "seen.commit": { params: SeenCommitParams; result: SeenCommitResult };
  /** Gives up a reservation: the next caller that asks can reserve the key. */
  "seen.release": { params: SeenReleaseParams; result: SeenReleaseResult };
  /** Reserves a key of a set, so that something is done once, such as fetching a URL; or reports that it is done or under way. */
  "seen.reserve": { params: SeenReserveParams; result: SeenReserveResult };
  /** Acquires permits of a semaphore, all or none, at once or in turn within wait_ms. A repeated call with the same token returns the same grant. */
  "semaphore.acquire": { params: SemaphoreAcquireParams; result: SemaphoreAcquireResult };
  /** Returns how many permits are held, and by whom. */
  "semaphore.get": { params: SemaphoreGetParams; result: SemaphoreGetResult };
  /** Lists the semaphores with permits that are held or waited for, one page at a time, in no particular order. An entry that is added or removed during the listing may be missing or still listed. */
  "semaphore.list": { params: SemaphoreListParams; result: SemaphoreListResult };
  /** Releases the permits of this token. */
  "semaphore.release": { params: SemaphoreReleaseParams; result: SemaphoreReleaseResult };
  /** Renews the permits of this token: from now on they last the given time, which may be shorter or longer than what was left. The sidecar renews leases that are bound to the session itself, with the new time from then on. */
  "semaphore.renew": { params: SemaphoreRenewParams; result: SemaphoreRenewResult };
  /** Notifies every client that holds a lease or a subscription that the pod is shutting down (session.draining). Calls go on. */
  "session.drain": { params: DrainParams; result: DrainResult };
  /** Introduces the client, and returns what the sidecar is and what it allows. Optional. */
  "session.hello": { params: HelloParams; result: HelloResult };
  /** Returns at once, without asking Redis. */
  "session.ping": { params: Nothing; result: PingResult };
  /** Acknowledges a message: its delivery ends, and the group is not given it again. */
  "stream.ack": { params: StreamMessageParams; result: StreamAckResult };
  /** Lists the dead letters of a stream, the oldest first. */
  "stream.dead": { params: StreamDeadParams; result: StreamDeadResult };
  /** Restarts the visibility timeout of a message. The sidecar extends messages that are bound to the session itself. */
  "stream.extend": { params: StreamMessageParams; result: StreamExtendResult };
  /** Takes messages of a group, at once or within wait_ms. Creates the group if it does not exist. */
  "stream.fetch": { params: StreamFetchParams; result: StreamFetchResult };
  /** Lists the groups of a stream and their consumers. A consumer is a pod. */
  "stream.groups": { params: StreamParams; result: StreamGroupsResult };
  /** Lists the streams, and how far their groups are behind, one page at a time, in no particular order. An entry that is added or removed during the listing may be missing or still listed. */
  "stream.list": { params: StreamListParams; result: StreamListResult };
  /** Ends the delivery of a message that was not processed: it is delivered again after delay_ms, or moved to the dead letters after its last attempt. */
  "stream.nack": { params: StreamNackParams; result: StreamNackResult };
  /** Adds a message to the end of a stream, with delay_ms after that delay. */
  "stream.publish": { params: StreamPublishParams; result: StreamPublishResult };
  /** Adds messages to the end of a stream, in their order. Each has its own outcome. */
  "stream.publish_many": { params: StreamPublishManyParams; result: StreamPublishManyResult };
  /** Lists messages of a stream, the oldest first, without a group: no group is affected. */
  "stream.read": { params: StreamReadParams; result: StreamReadResult };
  /** Moves dead letters back to the end of their stream, each for the group that failed to process it. */
  "stream.redrive": { params: StreamRedriveParams; result: StreamRedriveResult };
  /** Counts the messages of a stream and, for each group, those that are not delivered and those that are not acknowledged. */
  "stream.stats": { params: StreamStatsParams; result: StreamStatsResult };
  /** Sends this connection the messages of a group as stream.message, with at most prefetch of them unacknowledged. Creates the group if it does not exist. */
  "stream.subscribe": { params: StreamSubscribeParams; result: StreamSubscribeResult };
  /** Deletes the oldest messages of a stream, or dead letters. */
  "stream.trim": { params: StreamTrimParams; result: StreamTrimResult };
  /** Ends a subscription. Messages that were already sent stay delivered to this connection until they are acknowledged or it closes. */
  "stream.unsubscribe": { params: StreamUnsubscribeParams; result: StreamUnsubscribeResult };
}

export type MethodName = keyof Methods;

/** The params of each event. */
export interface Events {
  /** This connection has lost a probe, which another caller may be given. A report of it changes nothing. */
  "breaker.lost": LostParams;
  /** An event, sent after events.subscribe. Refusals and degraded decisions are sampled: at most one a second is sent for the same kind, noun, name and reason. */
  "event": EventParams;
  /** This connection has lost a lock. Sent before the lease ends. */
  "lock.lost": LostParams;
  /** This connection has lost the member of a permit; name is the pool, token the lease. Sent before the lease ends. */
  "permit.lost": LostParams;
  /** This connection has lost a member; name is the pool, token the lease. Sent before the lease ends. */
  "pool.lost": LostParams;
  /** Messages of a subscription were not sent: the client reads this connection too slowly, or Redis was unreachable for a while. */
  "pubsub.gap": PubsubGap;
  /** A message for a subscription of this connection. */
  "pubsub.message": PubsubMessage;
  /** This connection has lost the lease of an entry; token is the lease. The entry is at the head of the queue again, or gone. */
  "queue.lost": LostParams;
  /** This connection has lost the permit of a grant under max_concurrent: name is the rule and the counted key or group, token the grant. Another caller may be given the permit. */
  "ratelimit.lost": LostParams;
  /** This connection has lost a reservation; name is the set and the key. Another caller may now reserve the key. */
  "seen.lost": LostParams;
  /** This connection has lost permits. Sent before their lease ends. */
  "semaphore.lost": LostParams;
  /** The pod is shutting down. Sent once to each connection that holds a lease or a subscription, or gets one while the pod drains. */
  "session.draining": DrainingParams;
  /** This connection has lost a message: token is its id; name is the stream, a colon and the group, in which % { } : and control bytes are written as %XX. The message is delivered again, or it was acknowledged or trimmed. */
  "stream.lost": LostParams;
  /** A message for a subscription of this connection. Answer it by stream.ack or stream.nack. */
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
