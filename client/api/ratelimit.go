package api

// The rate limiter's methods that take, and give back.
var (
	RatelimitAcquire = define[RatelimitParams, RatelimitResult](Spec{
		Name: "ratelimit.acquire", Since: "0.1.0",
		Summary: "Takes cost from every band of a limit, all or none, or says when it may succeed.",
	})
	RatelimitPeek = define[RatelimitParams, RatelimitResult](Spec{
		Name: "ratelimit.peek", Idempotent: true, Since: "0.1.0",
		Summary: "Answers what ratelimit.acquire would, and takes nothing.",
	})
	RatelimitAcquireMany = define[RatelimitManyParams, RatelimitManyResult](Spec{
		Name: "ratelimit.acquire_many", Since: "0.1.0",
		Summary: "Takes from many limits in one round trip. With atomic takes all or none; then the items share one rule and one group.",
	})
	RatelimitAcquireAny = define[RatelimitAnyParams, RatelimitAnyResult](Spec{
		Name: "ratelimit.acquire_any", Since: "0.1.0",
		Summary: "Takes cost for the first of several keys that may go now, or says which may go soonest.",
	})
	RatelimitRefund = define[RatelimitGrantParams, RatelimitRefundResult](Spec{
		Name: "ratelimit.refund", Idempotent: true, Notify: true, Since: "0.1.0",
		Summary: "Gives back what a grant took and was not used for, once, up to what the limit holds. What was used and refunded counts as admitted.",
	})
	RatelimitDone = define[RatelimitGrantParams, RatelimitDoneResult](Spec{
		Name: "ratelimit.done", Idempotent: true, Notify: true, Since: "0.1.0",
		Summary: "Frees the place of a grant under a rule with max_concurrent. What it took stays taken.",
	})
	RatelimitReset = define[RatelimitResetParams, RatelimitResetResult](Spec{
		Name: "ratelimit.reset", Idempotent: true, Since: "0.1.0",
		Summary: "Forgets what was taken from a limit under one key.",
	})
	RatelimitLost = defineEvent[LostParams](Spec{
		Name: "ratelimit.lost", Since: "0.1.0",
		Summary: "The place of a grant under max_concurrent is no longer this connection's: name is the rule and what is counted, " +
			"token the grant. Others may have it.",
	})
)

// The algorithms, by their names on the wire.
const (
	AlgorithmTokenBucket          = "token_bucket"
	AlgorithmLeakyBucket          = "leaky_bucket"
	AlgorithmFixedWindow          = "fixed_window"
	AlgorithmSlidingWindowLog     = "sliding_window_log"
	AlgorithmSlidingWindowCounter = "sliding_window_counter"
)

// Algorithms are all of them, as pages and errors list them. Do not change it.
var Algorithms = []string{
	AlgorithmTokenBucket, AlgorithmLeakyBucket, AlgorithmFixedWindow, AlgorithmSlidingWindowLog, AlgorithmSlidingWindowCounter,
}

// WaitingAlgorithms are those that can promise a slot to a call with wait_ms. Do not change
// it.
var WaitingAlgorithms = []string{AlgorithmTokenBucket, AlgorithmLeakyBucket, AlgorithmFixedWindow, AlgorithmSlidingWindowLog}

// MaxBands is the most bands of one limit.
const MaxBands = 4

// MaxLogLimit is the highest limit of a sliding_window_log, which keeps an entry
// for each charge.
const MaxLogLimit = 10_000

// MaxItems is the most items of ratelimit.acquire_many, and keys of ratelimit.acquire_any.
const MaxItems = 100

// Band is one limit of a rule: Limit per PeriodMS, up to Burst at once.
type Band struct {
	Limit    int64 `codec:"limit" yaml:"limit" json:"limit" required:"true" min:"0" max:"1000000000" doc:"how many per period; of sliding_window_log at most 10000"`
	PeriodMS int64 `codec:"period_ms" yaml:"period_ms" json:"period_ms" required:"true" min:"1" max:"31622400000" doc:"the period in milliseconds, at most 366 days"`
	Burst    int64 `codec:"burst,omitempty" yaml:"burst,omitempty" json:"burst,omitempty" min:"0" max:"1000000000" doc:"how many at once, of token_bucket and leaky_bucket; absent or 0 = limit for token_bucket, 1 for leaky_bucket"`
}

// RatelimitParams name a limit, by rule or in full, and what to take from it.
type RatelimitParams struct {
	Rule      string `codec:"rule,omitempty" doc:"the rule's name; or give algorithm and limits"`
	Algorithm string `codec:"algorithm,omitempty" enum:"{algorithm}" doc:"the algorithm of a limit given in full"`
	Limits    []Band `codec:"limits,omitempty" doc:"the bands of a limit given in full, 1 to 4; with other bands it is another limit, which shares nothing with this one but pauses and delays of the key"`
	Key       string `codec:"key" required:"true" doc:"whom or what the limit counts, such as a host or an account"`
	Group     string `codec:"group,omitempty" doc:"counts in place of the key, for all keys of the group together; absent = the rule's group of the key, or none"`
	Pool      string `codec:"pool,omitempty" doc:"the pool whose member the key names: its bucket under the rule and its pause, as permits use them; takes no group, wait_ms, algorithm or limits"`
	Cost      int64  `codec:"cost,omitempty" default:"1" min:"0" max:"1000000000" doc:"how much to take; 0 takes nothing, as ratelimit.peek. The Go client leaves a 0 out, so that it takes 1: look with RatelimitPeek"`
	WaitMS    int64  `codec:"wait_ms,omitempty" min:"0" max:"60000" doc:"milliseconds the call may wait for a slot, first come first served; further away it is refused at once; ratelimit.peek never waits; sliding_window_counter takes none"`
	FailMode  string `codec:"fail_mode,omitempty" enum:"closed,open,local" doc:"what decides when Redis does not answer: closed = the call fails with UNAVAILABLE, open = it is allowed, local = this sidecar alone limits it; absent = the rule's, open unless it says otherwise"`
}

// RatelimitResult answers for one band: the one that refused, else the one
// with the least remaining.
type RatelimitResult struct {
	Allowed       bool   `codec:"allowed" doc:"the cost was taken"`
	Rule          string `codec:"rule" doc:"the rule's name, empty for a limit given in full"`
	Algorithm     string `codec:"algorithm" doc:"the algorithm"`
	Band          string `codec:"band" doc:"the band this answer is about, as limit/period, such as 80/10m"`
	Limit         int64  `codec:"limit" doc:"the band's limit per period"`
	Remaining     int64  `codec:"remaining" doc:"what could be taken at once now, rounded down"`
	Current       int64  `codec:"current" doc:"what counts against the band now, rounded up"`
	ResetAfterMS  int64  `codec:"reset_after_ms" doc:"milliseconds until the band is as if unused, rounded up"`
	ResetAtMS     int64  `codec:"reset_at_ms" doc:"that instant by the Redis server's clock, or the pod's when degraded, Unix milliseconds; 0 = not known"`
	RetryAfterMS  int64  `codec:"retry_after_ms" doc:"0 when allowed; else milliseconds until this cost fits if nobody else asks, rounded up; -1 = it never fits"`
	WaitedMS      int64  `codec:"waited_ms" doc:"milliseconds the call waited for its slot"`
	DeniedBy      string `codec:"denied_by,omitempty" enum:"limit,pause,delay,concurrency,deny_list" doc:"why it was refused, or would have been if the rule were not in shadow: limit = a band is used up; pause = the key is paused; delay = too soon after the last one; concurrency = max_concurrent grants are held; deny_list = the rule refuses the key"`
	Shadow        bool   `codec:"shadow,omitempty" doc:"it was let through only because the rule is in shadow"`
	Degraded      bool   `codec:"degraded" doc:"the answer came from the fail mode, since Redis did not answer"`
	Source        string `codec:"source" enum:"redis,cache,local,list,lease" doc:"where the decision was made: redis; lease = from what the sidecar charged ahead, of a rule in mode leased; cache = a refusal of less than a second ago that still holds; local = the fail mode; list = the rule's allow or deny list"`
	Grant         string `codec:"grant,omitempty" doc:"what was taken, for ratelimit.refund, done and report; absent if the source is lease"`
	Held          bool   `codec:"held,omitempty" doc:"the grant holds one of max_concurrent places: end it with ratelimit.done, or a report with the grant"`
	Replayed      bool   `codec:"replayed,omitempty" doc:"the reply of an earlier call with the same request id"`
	MaybeExecuted bool   `codec:"maybe_executed,omitempty" doc:"degraded, and the cost may have been taken from Redis all the same"`
}

// RatelimitItem is one of many: what RatelimitParams says holds for its fields.
type RatelimitItem struct {
	Rule      string `codec:"rule,omitempty" doc:"the rule's name; or give algorithm and limits"`
	Algorithm string `codec:"algorithm,omitempty" enum:"{algorithm}" doc:"the algorithm of a limit given in full"`
	Limits    []Band `codec:"limits,omitempty" doc:"the bands of a limit given in full, 1 to 4"`
	Key       string `codec:"key" required:"true" doc:"whom or what the limit counts"`
	Group     string `codec:"group,omitempty" doc:"counts in place of the key"`
	Cost      int64  `codec:"cost,omitempty" default:"1" min:"0" max:"1000000000" doc:"how much to take"`
	FailMode  string `codec:"fail_mode,omitempty" enum:"closed,open,local" doc:"what decides when Redis does not answer"`
}

// RatelimitManyParams are many acquisitions at once; none of them waits.
type RatelimitManyParams struct {
	Items  []RatelimitItem `codec:"items" required:"true" doc:"1 to 100 acquisitions, each as ratelimit.acquire without wait_ms"`
	Atomic bool            `codec:"atomic,omitempty" doc:"all or none: the items have one rule and one group, and none is refused alone"`
}

// RatelimitManyResult has the answers in the items' order.
type RatelimitManyResult struct {
	Results []RatelimitItemResult `codec:"results" doc:"one for each item, in their order"`
}

// RatelimitItemResult is a decision, or the failure of this item alone.
type RatelimitItemResult struct {
	Result *RatelimitResult `codec:"result,omitempty" doc:"the decision, as of ratelimit.acquire"`
	Error  *ItemError       `codec:"error,omitempty" doc:"why there is none"`
}

// ItemError is the failure of one item of a call that did not fail.
type ItemError struct {
	Code    string `codec:"code" doc:"as of errors"`
	Message string `codec:"message" doc:"for people"`
}

// RatelimitAnyParams are one acquisition for whichever of several keys may go.
type RatelimitAnyParams struct {
	Rule      string   `codec:"rule,omitempty" doc:"the rule's name; or give algorithm and limits"`
	Algorithm string   `codec:"algorithm,omitempty" enum:"{algorithm}" doc:"the algorithm of a limit given in full"`
	Limits    []Band   `codec:"limits,omitempty" doc:"the bands of a limit given in full, 1 to 4"`
	Keys      []string `codec:"keys" required:"true" doc:"1 to 100 keys, the preferred first"`
	Cost      int64    `codec:"cost,omitempty" default:"1" min:"0" max:"1000000000" doc:"how much to take"`
	FailMode  string   `codec:"fail_mode,omitempty" enum:"closed,open,local" doc:"what decides when Redis does not answer"`
}

// RatelimitAnyResult is the decision for one key.
type RatelimitAnyResult struct {
	Key    string          `codec:"key" doc:"the key that was let through; else the one that may go soonest"`
	Result RatelimitResult `codec:"result" doc:"the decision for it, as of ratelimit.acquire"`
}

// RatelimitGrantParams name a grant.
type RatelimitGrantParams struct {
	Grant string `codec:"grant" required:"true" maxlen:"4096" doc:"the grant, as ratelimit.acquire told it"`
}

// RatelimitRefundResult says what became of a refund, as data.
type RatelimitRefundResult struct {
	Refunded bool   `codec:"refunded" doc:"what the grant took is free again"`
	Reason   string `codec:"reason" enum:"refunded,repeated,expired" doc:"repeated = it was refunded before; expired = nothing of it counts any more, or nothing is known of it, as of a grant that was edited"`
}

// RatelimitDoneResult says whether the grant held a place.
type RatelimitDoneResult struct {
	Done bool `codec:"done" doc:"its place is free again; false when it held none"`
}

// RatelimitResetParams name the limit and key to forget.
type RatelimitResetParams struct {
	Rule      string `codec:"rule,omitempty" doc:"the rule's name; or give algorithm and limits"`
	Algorithm string `codec:"algorithm,omitempty" enum:"{algorithm}" doc:"the algorithm of a limit given in full"`
	Limits    []Band `codec:"limits,omitempty" doc:"the bands of a limit given in full, 1 to 4"`
	Key       string `codec:"key" required:"true" doc:"the key to forget"`
	Group     string `codec:"group,omitempty" doc:"the group that counts in its place"`
	Pool      string `codec:"pool,omitempty" doc:"the pool whose member the key names: its bucket under the rule is forgotten"`
}

// RatelimitResetResult says whether there was anything to forget.
type RatelimitResetResult struct {
	Reset bool `codec:"reset" doc:"something was forgotten"`
}
