package api

// The rate limiter's methods.
var (
	RatelimitAcquire = define[RatelimitParams, RatelimitResult](Spec{
		Name: "ratelimit.acquire", Since: "0.1.0",
		Summary: "Takes cost from every band of a limit, all or none, or says when it may succeed.",
	})
	RatelimitPeek = define[RatelimitParams, RatelimitResult](Spec{
		Name: "ratelimit.peek", Idempotent: true, Since: "0.1.0",
		Summary: "Answers what ratelimit.acquire would, and takes nothing.",
	})
	RatelimitReset = define[RatelimitResetParams, RatelimitResetResult](Spec{
		Name: "ratelimit.reset", Idempotent: true, Since: "0.1.0",
		Summary: "Forgets what was taken from a limit under one key.",
	})
)

// AlgorithmTokenBucket names the token bucket on the wire.
const AlgorithmTokenBucket = "token_bucket"

// MaxBands is the most bands of one limit.
const MaxBands = 4

// Band is one limit of a rule: Limit per PeriodMS, up to Burst at once.
type Band struct {
	Limit    int64 `codec:"limit" required:"true" min:"0" max:"1000000000" doc:"how many per period"`
	PeriodMS int64 `codec:"period_ms" required:"true" min:"1" max:"31622400000" doc:"the period in milliseconds, at most 366 days"`
	Burst    int64 `codec:"burst,omitempty" min:"0" max:"1000000000" doc:"how many at once; absent or 0 = limit"`
}

// RatelimitParams name a limit, by rule or in full, and what to take from it.
type RatelimitParams struct {
	Rule      string `codec:"rule,omitempty" doc:"the rule's name; or give algorithm and limits"`
	Algorithm string `codec:"algorithm,omitempty" enum:"token_bucket" doc:"the algorithm of a limit given in full"`
	Limits    []Band `codec:"limits,omitempty" doc:"the bands of a limit given in full, 1 to 4"`
	Key       string `codec:"key" required:"true" doc:"whom or what the limit counts, such as a host or an account"`
	Cost      int64  `codec:"cost,omitempty" default:"1" min:"0" max:"1000000000" doc:"how much to take; 0 takes nothing, as ratelimit.peek"`
	WaitMS    int64  `codec:"wait_ms,omitempty" min:"0" max:"60000" doc:"milliseconds the call may wait for a slot, first come first served; further away it is refused at once; ratelimit.peek never waits"`
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
	DeniedBy      string `codec:"denied_by,omitempty" enum:"limit" doc:"why it was refused"`
	Degraded      bool   `codec:"degraded" doc:"the answer came from the fail mode, since Redis did not answer"`
	Source        string `codec:"source" enum:"redis,cache,local" doc:"where the decision was made: redis; cache = a refusal of less than a second ago that still holds; local = the fail mode"`
	Replayed      bool   `codec:"replayed,omitempty" doc:"the reply of an earlier call with the same request id"`
	MaybeExecuted bool   `codec:"maybe_executed,omitempty" doc:"degraded, and the cost may have been taken from Redis all the same"`
}

// RatelimitResetParams name the limit and key to forget.
type RatelimitResetParams struct {
	Rule      string `codec:"rule,omitempty" doc:"the rule's name; or give algorithm and limits"`
	Algorithm string `codec:"algorithm,omitempty" enum:"token_bucket" doc:"the algorithm of a limit given in full"`
	Limits    []Band `codec:"limits,omitempty" doc:"the bands of a limit given in full, 1 to 4"`
	Key       string `codec:"key" required:"true" doc:"the key to forget"`
}

// RatelimitResetResult says whether there was anything to forget.
type RatelimitResetResult struct {
	Reset bool `codec:"reset" doc:"something was forgotten"`
}
