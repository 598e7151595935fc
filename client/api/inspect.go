package api

// The methods by which people and tools inspect sidecars.
var (
	InspectSnapshot = define[Nothing, InspectResult](Spec{
		Name: "inspect.snapshot", Idempotent: true, Admin: true, Since: "0.1.0",
		Summary: "Returns the state of the sidecar: its configuration, rules, sessions, leases, calls and store, without secrets.",
	})
	InspectSidecars = define[InspectSidecarsParams, InspectSidecarsResult](Spec{
		Name: "inspect.sidecars", Idempotent: true, Admin: true, Since: "0.1.0",
		Summary: "Lists the sidecars that use this Redis under the same prefix and tenant, one page at a time, in no particular order. " +
			"A sidecar that was killed is still listed for half a minute.",
	})
)

// InspectResult is the state of the sidecar at one moment. Each part is read on its own, so parts may differ by an instant.
type InspectResult struct {
	Version     string `codec:"version" doc:"the sidecar's version"`
	PID         int64  `codec:"pid" doc:"its process id"`
	StartedAtMS int64  `codec:"started_at_ms" doc:"when it started to serve, Unix milliseconds by the pod's clock"`
	UptimeMS    int64  `codec:"uptime_ms" doc:"milliseconds since it started to serve"`
	Draining    bool   `codec:"draining" doc:"the pod is shutting down"`
	EndsAtMS    int64  `codec:"ends_at_ms,omitempty" doc:"when the pod is killed, if it is draining, Unix milliseconds by the pod's clock"`
	Config      string `codec:"config" doc:"the configuration in force as YAML, with secrets masked, as sidecar config print shows it; at most 256 KiB"`

	Rules          []InspectRule    `codec:"rules" doc:"the rules in force, sorted by name, at most 1,000"`
	TruncatedRules int64            `codec:"truncated_rules" doc:"how many more rules are in force"`
	Sessions       []InspectSession `codec:"sessions" doc:"the connections, the oldest first"`
	Truncated      int64            `codec:"truncated" doc:"how many leases sessions hold beyond the 1,000 that are listed"`

	StreamGroups      []InspectStreamGroup `codec:"stream_groups" doc:"the groups of consumers that this sidecar takes part in, sorted by stream and group, at most 256"`
	Channels          []InspectChannel     `codec:"channels" doc:"the channels and patterns of Pub/Sub that connections are subscribed to, sorted, at most 256"`
	TruncatedChannels int64                `codec:"truncated_channels" doc:"how many more channels and patterns there are"`

	Calls              []InspectTimes  `codec:"calls" doc:"the calls since the start, sorted by method: the counts of the metric coxswain.rpc.duration"`
	Scripts            []InspectTimes  `codec:"scripts" doc:"the runs of Redis scripts since the start, sorted by script: the counts of the metric coxswain.script.duration, each try on its own"`
	Decisions          []RuleStats     `codec:"decisions" doc:"what rules decided since the start, as ratelimit.stats returns it; at most 1,000 rules"`
	TruncatedDecisions int64           `codec:"truncated_decisions" doc:"how many more rules decided calls"`
	Refusals           InspectRefusals `codec:"refusals" doc:"the keys that limits refused most often in the last minutes"`

	Redis       InspectRedis        `codec:"redis" doc:"the store, by its last probe"`
	SlowScripts []InspectSlowScript `codec:"slow_scripts" doc:"the last 32 runs of scripts that took 100 ms or more from sending to the reply, the latest first; one that ran within a slow call is the reason why that call was slow"`
	SlowCalls   []InspectSlow       `codec:"slow_calls" doc:"the last 32 calls that took 100 ms or more, the latest first, except calls with wait_ms"`
	Errors      []InspectError      `codec:"errors" doc:"the last 32 errors that are not the caller's fault, and conflicts, the latest first, except calls that their clients cancelled"`
	Counts      InspectCounts       `codec:"counts" doc:"the numbers of connections, calls and leases now"`
}

// InspectRule is a rule in force.
type InspectRule struct {
	Name      string   `codec:"name" doc:"the rule"`
	Algorithm string   `codec:"algorithm" doc:"how it counts"`
	Limits    []string `codec:"limits" doc:"its limits as limit/period, such as 80/10m, shortest period first"`
	Revision  int64    `codec:"revision" doc:"orders the versions of rules across pods: the modification time of the newest file that rules come from, Unix milliseconds"`
}

// InspectSession is a connection and its leases.
type InspectSession struct {
	Session   string        `codec:"session" doc:"its id"`
	Client    string        `codec:"client" doc:"the client program, as it gave it to session.hello"`
	Instance  string        `codec:"instance" doc:"the instance of the program, as it gave it to session.hello"`
	UID       int64         `codec:"uid" doc:"the user id of its process"`
	SinceAtMS int64         `codec:"since_at_ms" doc:"when it connected, Unix milliseconds by the pod's clock"`
	Inflight  int64         `codec:"inflight" doc:"its calls in flight, waiting ones included"`
	Events    bool          `codec:"events" doc:"it is subscribed to events"`
	Held      []InspectHeld `codec:"held" doc:"the leases that it holds"`
}

// InspectHeld is a lease that a session holds, without its token, which is the owner's secret.
type InspectHeld struct {
	Noun  string `codec:"noun" doc:"the kind of lease, such as lock"`
	Name  string `codec:"name" doc:"the name of the lock, ..."`
	TTLMS int64  `codec:"ttl_ms" doc:"milliseconds until the lease ends unless it is renewed"`
	Fence string `codec:"fence,omitempty" doc:"the fence of the lease, a decimal number"`
}

// InspectStreamGroup is a group of consumers in which this sidecar takes part.
type InspectStreamGroup struct {
	Stream        string `codec:"stream" doc:"the stream"`
	Group         string `codec:"group" doc:"the group"`
	Subscriptions int64  `codec:"subscriptions" doc:"subscriptions to it on connections of this sidecar"`
	Fetches       int64  `codec:"fetches" doc:"calls of stream.fetch that wait in this sidecar"`
	InFlight      int64  `codec:"in_flight" doc:"messages that were sent to these subscriptions and are not acknowledged"`
	Unsent        int64  `codec:"unsent" doc:"messages that this sidecar has read and not yet sent to a client"`
	Lag           int64  `codec:"lag" doc:"messages that the group has not been given yet, counted within the last half minute; a lower bound if Redis cannot count them"`
	Pending       int64  `codec:"pending" doc:"messages that the group was given and has not acknowledged, in all pods, counted at the same time as lag"`
}

// InspectChannel is a channel or a pattern that connections are subscribed to.
type InspectChannel struct {
	Channel       string `codec:"channel,omitempty" doc:"the channel"`
	Pattern       string `codec:"pattern,omitempty" doc:"the pattern of channels, in place of channel"`
	Subscriptions int64  `codec:"subscriptions" doc:"subscriptions to it on connections of this sidecar"`
	Listening     bool   `codec:"listening" doc:"Redis has confirmed the subscription on the present connection"`
}

// InspectRedis is the state of the store.
type InspectRedis struct {
	Topology    string      `codec:"topology" doc:"the kind of store, such as standalone or embedded"`
	Address     string      `codec:"address" doc:"the address, without credentials"`
	Up          bool        `codec:"up" doc:"the store answers"`
	Error       string      `codec:"error,omitempty" doc:"why it is not up, or the error with which it refuses calls"`
	Trouble     string      `codec:"trouble,omitempty" doc:"the name of the trouble behind that error, such as oom or refused"`
	RTTUS       int64       `codec:"rtt_us" doc:"the last probe's round trip, in microseconds"`
	MemoryBytes int64       `codec:"memory_bytes" doc:"the memory that it reports as used, in bytes"`
	Pool        InspectPool `codec:"pool" doc:"the connections to the store"`

	History []InspectProbe `codec:"history" doc:"the results of the last 300 seconds with a probe, the latest first"`
}

// InspectProbe is the result of the probes of a second.
type InspectProbe struct {
	AtMS  int64 `codec:"at_ms" doc:"when it happened, Unix milliseconds by the pod's clock"`
	Up    bool  `codec:"up" doc:"the store answered"`
	RTTUS int64 `codec:"rtt_us" doc:"the round trip in microseconds, the longest if there were several; if the store is not up, that of the last successful probe"`
}

// InspectPool counts connections to the store.
type InspectPool struct {
	Open int64 `codec:"open" doc:"connections open now"`
	Idle int64 `codec:"idle" doc:"connections that are not in use"`
	Max  int64 `codec:"max" doc:"the most connections allowed (redis.pool.max)"`
}

// InspectSlow is a slow call.
type InspectSlow struct {
	Method     string `codec:"method" doc:"the method"`
	DurationMS int64  `codec:"duration_ms" doc:"milliseconds from reading the call to answering it"`
	AtMS       int64  `codec:"at_ms" doc:"when it was answered, Unix milliseconds by the pod's clock"`
	Code       string `codec:"code" doc:"OK, or the code of its error"`
}

// InspectSlowScript is a slow run of a script.
type InspectSlowScript struct {
	Script     string `codec:"script" doc:"the script"`
	DurationMS int64  `codec:"duration_ms" doc:"milliseconds from sending it to its reply"`
	AtMS       int64  `codec:"at_ms" doc:"when the reply came, Unix milliseconds by the pod's clock"`
	Outcome    string `codec:"outcome" doc:"ok or error"`
}

// InspectTimes is how long the calls of a method or the runs of a script took.
type InspectTimes struct {
	Name   string `codec:"name" doc:"the method or the script"`
	Count  int64  `codec:"count" doc:"how many calls or runs there were"`
	Errors int64  `codec:"errors" doc:"how many of them ended with an error"`
	SumUS  int64  `codec:"sum_us" doc:"how long they took all together, in microseconds"`
	P50US  int64  `codec:"p50_us" doc:"the median in microseconds, estimated from the metric's buckets"`
	P99US  int64  `codec:"p99_us" doc:"the 99th percentile in microseconds, estimated from the metric's buckets"`
}

// InspectRefusals are the keys that limits refused most often.
type InspectRefusals struct {
	SinceAtMS int64            `codec:"since_at_ms" doc:"the start of the counts, Unix milliseconds by the pod's clock: five to ten minutes ago, or later if the sidecar started later or refused nothing for ten minutes"`
	Keys      []InspectRefused `codec:"keys" doc:"the keys that were refused most often, the most refused first, at most 100"`
}

// InspectRefused is a key that limits refused.
type InspectRefused struct {
	Rule    string `codec:"rule" doc:"the rule; inline = limits that calls give in full"`
	Key     string `codec:"key" doc:"the key"`
	Refused int64  `codec:"refused" doc:"how often it was refused"`
	OffBy   int64  `codec:"off_by" doc:"by how much refused may be too high or too low, because only 256 keys are counted at a time; 0 = it is exact"`
	Reason  string `codec:"reason" doc:"the reason of the last refusal, such as limit or pause"`
}

// InspectError is an error that was returned to a client.
type InspectError struct {
	Code   string `codec:"code" doc:"the error's code"`
	Method string `codec:"method" doc:"the method that was called"`
	AtMS   int64  `codec:"at_ms" doc:"when it happened, Unix milliseconds by the pod's clock"`
	Text   string `codec:"text" doc:"the text that the client was sent; the sidecar's log has the cause"`
}

// InspectCounts are the present numbers of connections, calls and leases.
type InspectCounts struct {
	Connections int64 `codec:"connections" doc:"connections, this one included"`
	Inflight    int64 `codec:"inflight" doc:"calls in flight, this one and waiting ones included"`
	Waiting     int64 `codec:"waiting" doc:"calls in flight that have wait_ms"`
	Held        int64 `codec:"held" doc:"leases that sessions hold"`
}

// InspectSidecarsParams select one page of the list.
type InspectSidecarsParams struct {
	Cursor string `codec:"cursor,omitempty" doc:"the cursor that the previous page returned; absent = the first page"`
	Count  int64  `codec:"count,omitempty" default:"100" min:"1" max:"1000" doc:"about how many entries to list"`
}

// InspectSidecarsResult is one page of the list.
type InspectSidecarsResult struct {
	Sidecars []InspectSidecar `codec:"sidecars" doc:"the entries of this page; a page may be empty without being the last"`
	Total    int64            `codec:"total" doc:"how many sidecars there are, on all pages"`
	Cursor   string           `codec:"cursor,omitempty" doc:"the cursor of the next page; absent = this was the last page"`
}

// InspectSidecar is the description of a sidecar that it wrote to Redis.
type InspectSidecar struct {
	Sidecar       string `codec:"sidecar" doc:"its id, made when it started; explanations of waiting lines use it"`
	Self          bool   `codec:"self,omitempty" doc:"it is the sidecar that answers this call"`
	Pod           string `codec:"pod" doc:"the name of its pod, as groups of consumers use it; empty = unknown"`
	Address       string `codec:"address" doc:"host:port of its health pages, where host is an address of the pod; empty = it has no health pages"`
	Version       string `codec:"version" doc:"its version"`
	StartedAtMS   int64  `codec:"started_at_ms" doc:"when it started, by the clock of its pod, Unix milliseconds"`
	Rules         int64  `codec:"rules" doc:"how many rules it has in force"`
	RulesRevision int64  `codec:"rules_revision" doc:"the newest revision among its rules, Unix milliseconds; 0 = it has no rules"`
	SeenMS        int64  `codec:"seen_ms" doc:"milliseconds since its last heartbeat"`
}
