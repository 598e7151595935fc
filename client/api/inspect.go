package api

// The methods by which people and their tools look at sidecars.
var (
	InspectSnapshot = define[Nothing, InspectResult](Spec{
		Name: "inspect.snapshot", Idempotent: true, Admin: true, Since: "0.1.0",
		Summary: "Shows what the sidecar is, has in force, holds and does now, without secrets.",
	})
	InspectSidecars = define[InspectSidecarsParams, InspectSidecarsResult](Spec{
		Name: "inspect.sidecars", Idempotent: true, Admin: true, Since: "0.1.0",
		Summary: "Lists the sidecars that use this Redis under the same prefix and tenant, a page at a time, in no order. " +
			"One that was killed is listed for half a minute still.",
	})
)

// InspectResult is the sidecar at one moment, each part for itself.
type InspectResult struct {
	Version     string `codec:"version" doc:"the sidecar's version"`
	PID         int64  `codec:"pid" doc:"its process id"`
	StartedAtMS int64  `codec:"started_at_ms" doc:"since when it serves, Unix milliseconds by the pod's clock"`
	UptimeMS    int64  `codec:"uptime_ms" doc:"for how many milliseconds"`
	Draining    bool   `codec:"draining" doc:"the pod ends"`
	EndsAtMS    int64  `codec:"ends_at_ms,omitempty" doc:"when, if it is draining, Unix milliseconds by the pod's clock"`
	Config      string `codec:"config" doc:"the configuration in force as YAML, secrets masked, as sidecar config print shows it; at most 256 KiB"`

	Rules          []InspectRule    `codec:"rules" doc:"the rules in force, sorted by name, at most 1,000"`
	TruncatedRules int64            `codec:"truncated_rules" doc:"how many more rules there are"`
	Sessions       []InspectSession `codec:"sessions" doc:"the connections, the oldest first"`
	Truncated      int64            `codec:"truncated" doc:"how many leases more than the 1,000 that are listed sessions hold"`

	StreamGroups      []InspectStreamGroup `codec:"stream_groups" doc:"the groups of consumers that this sidecar takes part in, sorted by stream and group, at most 256"`
	Channels          []InspectChannel     `codec:"channels" doc:"the channels and patterns of Pub/Sub that connections are subscribed to, sorted, at most 256"`
	TruncatedChannels int64                `codec:"truncated_channels" doc:"how many more channels and patterns there are"`

	Calls              []InspectTimes  `codec:"calls" doc:"the calls since the start, by method, sorted: what the metric coxswain.rpc.duration counts"`
	Scripts            []InspectTimes  `codec:"scripts" doc:"the runs of Redis scripts since the start, by script, sorted: what the metric coxswain.script.duration counts, each try for itself"`
	Decisions          []RuleStats     `codec:"decisions" doc:"what rules decided since the start, as ratelimit.stats has it, at most 1,000"`
	TruncatedDecisions int64           `codec:"truncated_decisions" doc:"how many more rules decided"`
	Refusals           InspectRefusals `codec:"refusals" doc:"the keys that limits refused most lately"`

	Redis       InspectRedis        `codec:"redis" doc:"the store, as last probed"`
	SlowScripts []InspectSlowScript `codec:"slow_scripts" doc:"the last 32 tries of a script that took 100 ms or more from when they were sent to their reply, the latest first; one that was within a slow call is why it was slow"`
	SlowCalls   []InspectSlow       `codec:"slow_calls" doc:"the last 32 calls that took 100 ms or more, the latest first; not those with wait_ms"`
	Errors      []InspectError      `codec:"errors" doc:"the last 32 errors that are not the caller's fault, and conflicts, the latest first; not calls that their clients cancelled"`
	Counts      InspectCounts       `codec:"counts" doc:"what there is now"`
}

// InspectRule is a rule in force.
type InspectRule struct {
	Name      string   `codec:"name" doc:"the rule"`
	Algorithm string   `codec:"algorithm" doc:"how it counts"`
	Limits    []string `codec:"limits" doc:"its limits as limit/period, such as 80/10m, shortest period first"`
	Revision  int64    `codec:"revision" doc:"orders versions of the rules across pods: the age of the newest file they come from, Unix milliseconds"`
}

// InspectSession is one connection.
type InspectSession struct {
	Session   string        `codec:"session" doc:"its id"`
	Client    string        `codec:"client" doc:"the client program, as it introduced itself"`
	Instance  string        `codec:"instance" doc:"which one it is"`
	UID       int64         `codec:"uid" doc:"the user id of its process"`
	SinceAtMS int64         `codec:"since_at_ms" doc:"when it connected, Unix milliseconds by the pod's clock"`
	Inflight  int64         `codec:"inflight" doc:"its calls in flight, those that wait included"`
	Events    bool          `codec:"events" doc:"it subscribed to events"`
	Held      []InspectHeld `codec:"held" doc:"what it holds"`
}

// InspectHeld is something that a session holds. Its token is its owner's secret.
type InspectHeld struct {
	Noun  string `codec:"noun" doc:"lock, ..."`
	Name  string `codec:"name" doc:"the lock, ..."`
	TTLMS int64  `codec:"ttl_ms" doc:"for how many milliseconds it is valid unless it is renewed"`
	Fence string `codec:"fence,omitempty" doc:"its fence, a decimal number"`
}

// InspectStreamGroup is a group of consumers, as far as this sidecar takes part in it.
type InspectStreamGroup struct {
	Stream        string `codec:"stream" doc:"the stream"`
	Group         string `codec:"group" doc:"the group"`
	Subscriptions int64  `codec:"subscriptions" doc:"subscriptions of connections here"`
	Fetches       int64  `codec:"fetches" doc:"calls of stream.fetch here that wait"`
	InFlight      int64  `codec:"in_flight" doc:"messages that those subscriptions were sent and have not acknowledged"`
	Unsent        int64  `codec:"unsent" doc:"messages that were read here and that no client was sent so far"`
	Lag           int64  `codec:"lag" doc:"messages that the group was not given, as counted within the last half minute; where Redis does not know it, how many there are at least"`
	Pending       int64  `codec:"pending" doc:"messages that the group was given and has not acknowledged, in all pods, counted with lag"`
}

// InspectChannel is what connections are subscribed to.
type InspectChannel struct {
	Channel       string `codec:"channel,omitempty" doc:"the channel"`
	Pattern       string `codec:"pattern,omitempty" doc:"in its place: the pattern of channels"`
	Subscriptions int64  `codec:"subscriptions" doc:"subscriptions to it here"`
	Listening     bool   `codec:"listening" doc:"Redis has confirmed it on the connection that there is now"`
}

// InspectRedis is the store.
type InspectRedis struct {
	Topology    string      `codec:"topology" doc:"what kind of store it is, such as standalone or embedded"`
	Address     string      `codec:"address" doc:"where, without credentials"`
	Up          bool        `codec:"up" doc:"it answers"`
	Error       string      `codec:"error,omitempty" doc:"why it is not up, or what it refuses calls with"`
	Trouble     string      `codec:"trouble,omitempty" doc:"the name of that, such as oom or refused"`
	RTTUS       int64       `codec:"rtt_us" doc:"the last probe's round trip, in microseconds"`
	MemoryBytes int64       `codec:"memory_bytes" doc:"the memory that it says it uses, in bytes"`
	Pool        InspectPool `codec:"pool" doc:"the connections to it"`

	History []InspectProbe `codec:"history" doc:"the results of the last 300 seconds in which it was probed, the latest first"`
}

// InspectProbe is the result of the probes of one second.
type InspectProbe struct {
	AtMS  int64 `codec:"at_ms" doc:"when, Unix milliseconds by the pod's clock"`
	Up    bool  `codec:"up" doc:"the store answered"`
	RTTUS int64 `codec:"rtt_us" doc:"the round trip in microseconds, the longest if there were several; where it is not up the last one that there was"`
}

// InspectPool counts connections to the store.
type InspectPool struct {
	Open int64 `codec:"open" doc:"connections open now"`
	Idle int64 `codec:"idle" doc:"those that nobody uses"`
	Max  int64 `codec:"max" doc:"the most there may be (redis.pool.max)"`
}

// InspectSlow is a call that took long.
type InspectSlow struct {
	Method     string `codec:"method" doc:"the method"`
	DurationMS int64  `codec:"duration_ms" doc:"from when it was read to its answer, in milliseconds"`
	AtMS       int64  `codec:"at_ms" doc:"when it was answered, Unix milliseconds by the pod's clock"`
	Code       string `codec:"code" doc:"OK, or the code of its error"`
}

// InspectSlowScript is one try of a script, of those that took long.
type InspectSlowScript struct {
	Script     string `codec:"script" doc:"the script"`
	DurationMS int64  `codec:"duration_ms" doc:"from when it was sent to its reply, in milliseconds"`
	AtMS       int64  `codec:"at_ms" doc:"when its reply came, Unix milliseconds by the pod's clock"`
	Outcome    string `codec:"outcome" doc:"ok or error"`
}

// InspectTimes says how long the calls of a method took, or the runs of a script.
type InspectTimes struct {
	Name   string `codec:"name" doc:"the method or the script"`
	Count  int64  `codec:"count" doc:"how many there were"`
	Errors int64  `codec:"errors" doc:"how many of them ended with an error"`
	SumUS  int64  `codec:"sum_us" doc:"how long all together took, in microseconds"`
	P50US  int64  `codec:"p50_us" doc:"what half of them took at most, in microseconds, as the metric's buckets tell it"`
	P99US  int64  `codec:"p99_us" doc:"what 99 of 100 took at most, in microseconds, as the metric's buckets tell it"`
}

// InspectRefusals are the keys that limits refused most.
type InspectRefusals struct {
	SinceAtMS int64            `codec:"since_at_ms" doc:"since when they are counted, Unix milliseconds by the pod's clock: between five and ten minutes ago, or later if the sidecar started later or refused nothing for ten minutes"`
	Keys      []InspectRefused `codec:"keys" doc:"those that were refused most, at most 100, in this order"`
}

// InspectRefused is one key that limits refused.
type InspectRefused struct {
	Rule    string `codec:"rule" doc:"the rule; inline = limits given in full"`
	Key     string `codec:"key" doc:"the key"`
	Refused int64  `codec:"refused" doc:"how often it was refused"`
	OffBy   int64  `codec:"off_by" doc:"by how much that may be wrong, since only 256 keys are counted at a time; 0 = it is exact"`
	Reason  string `codec:"reason" doc:"why it was refused last, such as limit or pause"`
}

// InspectError is an error that a client was answered.
type InspectError struct {
	Code   string `codec:"code" doc:"the error's code"`
	Method string `codec:"method" doc:"the method that was called"`
	AtMS   int64  `codec:"at_ms" doc:"when, Unix milliseconds by the pod's clock"`
	Text   string `codec:"text" doc:"the text that the client was told; the sidecar's log has the cause"`
}

// InspectCounts are what there is now.
type InspectCounts struct {
	Connections int64 `codec:"connections" doc:"connections, this one included"`
	Inflight    int64 `codec:"inflight" doc:"calls in flight, this one and those that wait included"`
	Waiting     int64 `codec:"waiting" doc:"calls with wait_ms among them"`
	Held        int64 `codec:"held" doc:"leases that sessions hold"`
}

// InspectSidecarsParams say where to go on.
type InspectSidecarsParams struct {
	Cursor string `codec:"cursor,omitempty" doc:"the cursor of the page before; absent = from the start"`
	Count  int64  `codec:"count,omitempty" default:"100" min:"1" max:"1000" doc:"about how many to list"`
}

// InspectSidecarsResult is one page.
type InspectSidecarsResult struct {
	Sidecars []InspectSidecar `codec:"sidecars" doc:"those of this page; it may have none and not be the last"`
	Total    int64            `codec:"total" doc:"how many there are, on all pages"`
	Cursor   string           `codec:"cursor,omitempty" doc:"where the next page begins; absent = this was the last"`
}

// InspectSidecar is a sidecar as it described itself to Redis.
type InspectSidecar struct {
	Sidecar       string `codec:"sidecar" doc:"its id, made when it started; explanations name those who wait by it"`
	Self          bool   `codec:"self,omitempty" doc:"it is the one that answers"`
	Pod           string `codec:"pod" doc:"the name of its pod, as groups of consumers see it; empty = it is not known"`
	Address       string `codec:"address" doc:"host:port of its health pages; the host is an address of the pod. Empty = it has none"`
	Version       string `codec:"version" doc:"its version"`
	StartedAtMS   int64  `codec:"started_at_ms" doc:"when it started, by the clock of its pod, Unix milliseconds"`
	Rules         int64  `codec:"rules" doc:"how many rules are in force in it"`
	RulesRevision int64  `codec:"rules_revision" doc:"the newest revision among its rules, Unix milliseconds; 0 = it has none"`
	SeenMS        int64  `codec:"seen_ms" doc:"milliseconds since it last showed that it lives"`
}
