package api

// The methods that take from limits and give back to them, and the event of lost grants.
var (
	RatelimitAcquire = define[RatelimitParams, RatelimitResult](Spec{
		Name: "ratelimit.acquire", Since: "0.1.0",
		Summary: "Takes cost from every band of a limit, all or none, or returns when it may succeed.",
	})
	RatelimitPeek = define[RatelimitParams, RatelimitResult](Spec{
		Name: "ratelimit.peek", Idempotent: true, Since: "0.1.0",
		Summary: "Returns what ratelimit.acquire would return, and takes nothing.",
	})
	RatelimitAcquireMany = define[RatelimitManyParams, RatelimitManyResult](Spec{
		Name: "ratelimit.acquire_many", Since: "0.1.0",
		Summary: "Takes from many limits in one round trip. With atomic it takes all or none, and the items must have the same rule and group.",
	})
	RatelimitAcquireAny = define[RatelimitAnyParams, RatelimitAnyResult](Spec{
		Name: "ratelimit.acquire_any", Since: "0.1.0",
		Summary: "Takes cost for the first of several keys that is allowed now, or returns the key that will be allowed soonest.",
	})
	RatelimitRefund = define[RatelimitGrantParams, RatelimitRefundResult](Spec{
		Name: "ratelimit.refund", Idempotent: true, Notify: true, Since: "0.1.0",
		Summary: "Gives back, once, what a grant took and the caller did not use: at most what still counts against the limit. The " +
			"sidecar does not check that it was not used.",
	})
	RatelimitDone = define[RatelimitGrantParams, RatelimitDoneResult](Spec{
		Name: "ratelimit.done", Idempotent: true, Notify: true, Since: "0.1.0",
		Summary: "Gives back the permit of a grant under a rule with max_concurrent. What the grant took from the bands stays taken.",
	})
	RatelimitReset = define[RatelimitResetParams, RatelimitResetResult](Spec{
		Name: "ratelimit.reset", Idempotent: true, Since: "0.1.0",
		Summary: "Forgets what a key has taken from a limit, so that the limit is full again.",
	})
	RatelimitLost = defineEvent[LostParams](Spec{
		Name: "ratelimit.lost", Since: "0.1.0",
		Summary: "This connection has lost the permit of a grant under max_concurrent: name is the rule and the counted key or group, " +
			"token the grant. Another caller may be given the permit.",
	})
)

// The names of the algorithms on the wire.
const (
	AlgorithmTokenBucket          = "token_bucket"
	AlgorithmLeakyBucket          = "leaky_bucket"
	AlgorithmFixedWindow          = "fixed_window"
	AlgorithmSlidingWindowLog     = "sliding_window_log"
	AlgorithmSlidingWindowCounter = "sliding_window_counter"
)

// Algorithms are the names of all algorithms, in the order in which pages and errors list them. Do not modify it.
var Algorithms = []string{
	AlgorithmTokenBucket, AlgorithmLeakyBucket, AlgorithmFixedWindow, AlgorithmSlidingWindowLog, AlgorithmSlidingWindowCounter,
}

// WaitingAlgorithms are the algorithms that can promise a slot to a call with wait_ms. Do not
// modify it.
var WaitingAlgorithms = []string{AlgorithmTokenBucket, AlgorithmLeakyBucket, AlgorithmFixedWindow, AlgorithmSlidingWindowLog}

// MaxBands is the most bands of one limit.
const MaxBands = 4

// MaxLogLimit is the highest limit of a sliding_window_log, which keeps an entry
// for each charge.
const MaxLogLimit = 10_000

// MaxItems is the most items of ratelimit.acquire_many and the most keys of ratelimit.acquire_any.
const MaxItems = 100

// Band is one limit of a rule: Limit per PeriodMS, up to Burst at once.
type Band struct {
	Limit    int64 `codec:"limit" yaml:"limit" json:"limit" required:"true" min:"0" max:"1000000000" doc:"how much is admitted per period; for sliding_window_log at most 10000"`
	PeriodMS int64 `codec:"period_ms" yaml:"period_ms" json:"period_ms" required:"true" min:"1" max:"31622400000" doc:"the period in milliseconds, at most 366 days"`
	Burst    int64 `codec:"burst,omitempty" yaml:"burst,omitempty" json:"burst,omitempty" min:"0" max:"1000000000" doc:"how much token_bucket and leaky_bucket admit at once; absent or 0 = limit for token_bucket, 1 for leaky_bucket"`
}

// RatelimitParams select a limit, by its rule or in full, and what to take from it.
type RatelimitParams struct {
	Rule      string `codec:"rule,omitempty" doc:"the rule's name; or give algorithm and limits instead"`
	Algorithm string `codec:"algorithm,omitempty" enum:"{algorithm}" doc:"the algorithm of a limit given in full"`
	Limits    []Band `codec:"limits,omitempty" doc:"the bands of a limit given in full, 1 to 4; limits with different bands are different limits, which share only the pauses and delays of the key"`
	Key       string `codec:"key" required:"true" doc:"what the limit counts, such as a host or an account"`
	Group     string `codec:"group,omitempty" doc:"is counted instead of the key, for all keys of the group together; absent = the group that the rule has for the key, if any"`
	Pool      string `codec:"pool,omitempty" doc:"the pool whose member the key is: the call uses the member's bucket under the rule and its pause, as permits do; not with group, wait_ms, algorithm or limits"`
	Cost      int64  `codec:"cost,omitempty" default:"1" min:"0" max:"1000000000" doc:"how much to take; 0 takes nothing, like ratelimit.peek. The Go client omits a 0, which then takes 1: use RatelimitPeek there"`
	WaitMS    int64  `codec:"wait_ms,omitempty" min:"0" max:"60000" doc:"milliseconds that the call may wait for a slot, first come, first served; if the slot is further away, the call is refused at once. ratelimit.peek never waits. Not with sliding_window_counter"`
	FailMode  string `codec:"fail_mode,omitempty" enum:"closed,open,local" doc:"what decides while Redis does not answer: closed = the call fails with UNAVAILABLE, open = it is allowed, local = this sidecar limits it from its own memory; absent = that of the rule, which is open by default"`
}

// RatelimitResult is a decision. Its figures are those of one band: the band that
// refused, or else the band with the least remaining.
type RatelimitResult struct {
	Allowed       bool   `codec:"allowed" doc:"the cost was taken"`
	Rule          string `codec:"rule" doc:"the rule's name, empty for a limit given in full"`
	Algorithm     string `codec:"algorithm" doc:"the algorithm"`
	Band          string `codec:"band" doc:"the band whose figures these are, as limit/period, such as 80/10m"`
	Limit         int64  `codec:"limit" doc:"the band's limit per period"`
	Remaining     int64  `codec:"remaining" doc:"how much could be taken at once now, rounded down"`
	Current       int64  `codec:"current" doc:"how much counts against the band now, rounded up"`
	ResetAfterMS  int64  `codec:"reset_after_ms" doc:"milliseconds until the band is full again, rounded up"`
	ResetAtMS     int64  `codec:"reset_at_ms" doc:"that instant by the Redis server's clock, or by the pod's when degraded, Unix milliseconds; 0 = unknown"`
	RetryAfterMS  int64  `codec:"retry_after_ms" doc:"0 when allowed; else milliseconds until this cost fits if no other call takes from the limit, rounded up; -1 = it never fits"`
	WaitedMS      int64  `codec:"waited_ms" doc:"milliseconds that the call waited for its slot"`
	DeniedBy      string `codec:"denied_by,omitempty" enum:"limit,pause,delay,concurrency,deny_list" doc:"why it was refused, or would have been if the rule were not in shadow: limit = a band is used up; pause = the key is paused; delay = it is too soon after the last admission; concurrency = max_concurrent grants are held; deny_list = the rule's deny list has the key"`
	Shadow        bool   `codec:"shadow,omitempty" doc:"it was allowed only because the rule is in shadow"`
	Degraded      bool   `codec:"degraded" doc:"the fail mode decided, because Redis did not answer"`
	Source        string `codec:"source" enum:"redis,cache,local,list,lease" doc:"where the decision was made: redis; lease = a block that the sidecar charged ahead, for a rule in mode leased; cache = a refusal of less than a second ago that still holds; local = the fail mode; list = the rule's allow or deny list"`
	Grant         string `codec:"grant,omitempty" doc:"identifies what was taken, for ratelimit.refund, ratelimit.done and ratelimit.report; absent if the source is lease"`
	Held          bool   `codec:"held,omitempty" doc:"the grant holds one of max_concurrent permits: give it back by ratelimit.done, or by ratelimit.report with the grant"`
	Replayed      bool   `codec:"replayed,omitempty" doc:"this is the stored reply of an earlier call with the same request id"`
	MaybeExecuted bool   `codec:"maybe_executed,omitempty" doc:"the decision is degraded, but the cost may also have been taken in Redis"`
}

// RatelimitItem is one of several acquisitions. Its fields are as in RatelimitParams.
type RatelimitItem struct {
	Rule      string `codec:"rule,omitempty" doc:"the rule's name; or give algorithm and limits instead"`
	Algorithm string `codec:"algorithm,omitempty" enum:"{algorithm}" doc:"the algorithm of a limit given in full"`
	Limits    []Band `codec:"limits,omitempty" doc:"the bands of a limit given in full, 1 to 4"`
	Key       string `codec:"key" required:"true" doc:"what the limit counts"`
	Group     string `codec:"group,omitempty" doc:"is counted instead of the key"`
	Cost      int64  `codec:"cost,omitempty" default:"1" min:"0" max:"1000000000" doc:"how much to take"`
	FailMode  string `codec:"fail_mode,omitempty" enum:"closed,open,local" doc:"what decides while Redis does not answer"`
}

// RatelimitManyParams are several acquisitions, none of which waits.
type RatelimitManyParams struct {
	Items  []RatelimitItem `codec:"items" required:"true" doc:"1 to 100 acquisitions, each as ratelimit.acquire without wait_ms"`
	Atomic bool            `codec:"atomic,omitempty" doc:"take all or none; all items must have the same rule and group"`
}

// RatelimitManyResult has the results in the order of the items.
type RatelimitManyResult struct {
	Results []RatelimitItemResult `codec:"results" doc:"one for each item, in their order"`
}

// RatelimitItemResult is a decision, or the failure of this item alone.
type RatelimitItemResult struct {
	Result *RatelimitResult `codec:"result,omitempty" doc:"the decision, as ratelimit.acquire returns it"`
	Error  *ItemError       `codec:"error,omitempty" doc:"why there is no decision"`
}

// ItemError is the failure of one item of a call that did not fail.
type ItemError struct {
	Code    string `codec:"code" doc:"a code, as of an error"`
	Message string `codec:"message" doc:"the error text"`
}

// RatelimitAnyParams are one acquisition for any of several keys.
type RatelimitAnyParams struct {
	Rule      string   `codec:"rule,omitempty" doc:"the rule's name; or give algorithm and limits instead"`
	Algorithm string   `codec:"algorithm,omitempty" enum:"{algorithm}" doc:"the algorithm of a limit given in full"`
	Limits    []Band   `codec:"limits,omitempty" doc:"the bands of a limit given in full, 1 to 4"`
	Keys      []string `codec:"keys" required:"true" doc:"1 to 100 keys, the preferred first"`
	Cost      int64    `codec:"cost,omitempty" default:"1" min:"0" max:"1000000000" doc:"how much to take"`
	FailMode  string   `codec:"fail_mode,omitempty" enum:"closed,open,local" doc:"what decides while Redis does not answer"`
}

// RatelimitAnyResult is the decision for one of the keys.
type RatelimitAnyResult struct {
	Key    string          `codec:"key" doc:"the key that was allowed, or else the key that will be allowed soonest"`
	Result RatelimitResult `codec:"result" doc:"the decision for that key, as ratelimit.acquire returns it"`
}

// RatelimitGrantParams select a grant.
type RatelimitGrantParams struct {
	Grant string `codec:"grant" required:"true" maxlen:"4096" doc:"the grant that ratelimit.acquire returned"`
}

// RatelimitRefundResult reports the outcome of a refund.
type RatelimitRefundResult struct {
	Refunded bool   `codec:"refunded" doc:"what the grant took was given back"`
	Reason   string `codec:"reason" enum:"refunded,repeated,expired" doc:"the outcome; repeated = the grant was already refunded; expired = the grant no longer counts, or is unknown (because it was altered, for example)"`
}

// RatelimitDoneResult reports whether the grant held a permit.
type RatelimitDoneResult struct {
	Done bool `codec:"done" doc:"the grant's permit was given back; false = it held none"`
}

// RatelimitResetParams select the limit and the key to forget.
type RatelimitResetParams struct {
	Rule      string `codec:"rule,omitempty" doc:"the rule's name; or give algorithm and limits instead"`
	Algorithm string `codec:"algorithm,omitempty" enum:"{algorithm}" doc:"the algorithm of a limit given in full"`
	Limits    []Band `codec:"limits,omitempty" doc:"the bands of a limit given in full, 1 to 4"`
	Key       string `codec:"key" required:"true" doc:"the key to forget"`
	Group     string `codec:"group,omitempty" doc:"the group that is counted instead of the key"`
	Pool      string `codec:"pool,omitempty" doc:"the pool whose member the key is: the member's bucket under the rule is forgotten"`
}

// RatelimitResetResult reports whether there was anything to forget.
type RatelimitResetResult struct {
	Reset bool `codec:"reset" doc:"something was forgotten"`
}
