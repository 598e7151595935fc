package api

// The circuit breaker's methods.
var (
	BreakerAllow = define[BreakerAllowParams, BreakerAllowResult](Spec{
		Name: "breaker.allow", Since: "0.1.0",
		Summary: "Asks whether a call may be made. While the breaker is half open it hands out probes, which are to be reported.",
	})
	BreakerReport = define[BreakerReportParams, BreakerReportResult](Spec{
		Name: "breaker.report", Notify: true, Since: "0.1.0",
		Summary: "Tells what became of a call that was allowed. What was allowed in an older generation changes nothing.",
	})
	BreakerGet = define[BreakerParams, BreakerGetResult](Spec{
		Name: "breaker.get", Idempotent: true, Since: "0.1.0",
		Summary: "Says in what state a breaker is, and why.",
	})
	BreakerList = define[BreakerListParams, BreakerListResult](Spec{
		Name: "breaker.list", Idempotent: true, Since: "0.1.0",
		Summary: "Lists the breakers that are known, or with pool those of its members, a page at a time, in no order. " +
			"What changes meanwhile may be missing or be there still.",
	})
	BreakerExplain = define[BreakerParams, BreakerExplainResult](Spec{
		Name: "breaker.explain", Idempotent: true, Since: "0.1.0",
		Summary: "Tells whether a breaker would let a call pass now, why not and until when, and by which policy. It takes nothing.",
	})
	BreakerReset = define[BreakerParams, BreakerChangeResult](Spec{
		Name: "breaker.reset", Idempotent: true, Admin: true, Since: "0.1.0",
		Summary: "Closes a breaker and forgets what it counted, a forced state too.",
	})
	BreakerForce = define[BreakerForceParams, BreakerChangeResult](Spec{
		Name: "breaker.force", Idempotent: true, Admin: true, Since: "0.1.0",
		Summary: "Holds a breaker in a state until breaker.reset, whatever is reported.",
	})
	BreakerLost = defineEvent[LostParams](Spec{
		Name: "breaker.lost", Since: "0.1.0",
		Summary: "A probe of this connection is no longer its own: others may have it. Its report changes nothing.",
	})
)

// The states of a breaker on the wire. A forced one is forced_open,
// forced_closed or disabled.
const (
	BreakerClosed       = "closed"
	BreakerOpen         = "open"
	BreakerHalfOpen     = "half_open"
	BreakerForcedOpen   = "forced_open"
	BreakerForcedClosed = "forced_closed"
	BreakerDisabled     = "disabled"
)

// The outcomes of breaker.report.
const (
	OutcomeSuccess = "success"
	OutcomeFailure = "failure"
	OutcomeIgnored = "ignored"
)

// BreakerAllowParams name a breaker.
type BreakerAllowParams struct {
	Name     string `codec:"name" required:"true" doc:"the breaker, such as a host; with pool the member"`
	Pool     string `codec:"pool,omitempty" doc:"the pool whose member's breaker it is, as permit.acquire uses it"`
	Policy   string `codec:"policy,omitempty" doc:"the configured policy to go by; absent = the first whose name matches the breaker's (with pool, the pool's), else the default"`
	FailMode string `codec:"fail_mode,omitempty" enum:"closed,open" doc:"what decides when Redis does not answer: closed = the call fails with UNAVAILABLE, open = it is allowed; absent = the policy's, open unless it says otherwise"`
}

// BreakerAllowResult says whether the call may be made.
type BreakerAllowResult struct {
	Allowed       bool   `codec:"allowed" doc:"the call may be made, and is to be reported"`
	State         string `codec:"state" enum:"closed,open,half_open,forced_open,forced_closed,disabled" doc:"the breaker's state"`
	Generation    int64  `codec:"generation" doc:"rises with every change of state; give it to breaker.report"`
	Probe         string `codec:"probe,omitempty" doc:"the probe that this call is, while half open: give it to breaker.report. It is lost after the policy's probe_ttl_ms, or with this connection"`
	RetryAfterMS  int64  `codec:"retry_after_ms" doc:"0 when allowed; else milliseconds until a probe may pass, rounded up; -1 = it is forced open"`
	Degraded      bool   `codec:"degraded" doc:"the answer came from the fail mode, since Redis did not answer"`
	MaybeExecuted bool   `codec:"maybe_executed,omitempty" doc:"the fail mode answered after a failure that leaves it unknown whether a probe is out, too"`
	Source        string `codec:"source" enum:"redis,cache,local" doc:"where the decision was made; cache = it was open less than a second ago and still is; local = the fail mode"`
	Replayed      bool   `codec:"replayed,omitempty" doc:"the reply of an earlier call with the same request id"`
}

// BreakerReportParams are what became of a call.
type BreakerReportParams struct {
	Name       string `codec:"name" required:"true" doc:"the breaker"`
	Pool       string `codec:"pool,omitempty" doc:"the pool whose member's breaker it is"`
	Policy     string `codec:"policy,omitempty" doc:"the policy to go by, as for breaker.allow"`
	Generation int64  `codec:"generation,omitempty" min:"0" max:"9007199254740991" doc:"the generation that allowed the call; absent or 0 = the present one, if it is closed"`
	Probe      string `codec:"probe,omitempty" doc:"the probe that the call was"`
	Outcome    string `codec:"outcome" required:"true" enum:"success,failure,ignored" doc:"ignored = it says nothing of what is behind the breaker, such as a cancelled call or a refusal of our own; it gives a probe back"`
	DurationMS int64  `codec:"duration_ms,omitempty" min:"0" max:"86400000" doc:"milliseconds that the call took, for the slow rate"`
}

// BreakerReportResult is the state after the report.
type BreakerReportResult struct {
	State      string `codec:"state" enum:"closed,open,half_open,forced_open,forced_closed,disabled" doc:"the breaker's state"`
	Generation int64  `codec:"generation" doc:"its generation"`
	Changed    bool   `codec:"changed" doc:"this report changed the state"`
	Counted    bool   `codec:"counted" doc:"it counted: it is of the present generation, its probe was not lost, and its outcome is not ignored"`
	Replayed   bool   `codec:"replayed,omitempty" doc:"the reply of an earlier call with the same request id"`
}

// BreakerParams name a breaker.
type BreakerParams struct {
	Name   string `codec:"name" required:"true" doc:"the breaker"`
	Pool   string `codec:"pool,omitempty" doc:"the pool whose member's breaker it is"`
	Policy string `codec:"policy,omitempty" doc:"the policy to go by, as for breaker.allow"`
}

// BreakerGetResult is all that is known of a breaker.
type BreakerGetResult struct {
	State        string `codec:"state" enum:"closed,open,half_open,forced_open,forced_closed,disabled" doc:"its state"`
	Generation   int64  `codec:"generation" doc:"rises with every change of state"`
	Policy       string `codec:"policy" doc:"the policy that it goes by, default when none is configured for it"`
	Failures     int64  `codec:"failures" doc:"failures in a row while closed"`
	Successes    int64  `codec:"successes" doc:"successes of probes while half open"`
	Probes       int64  `codec:"probes" doc:"probes that are out now"`
	OpenForMS    int64  `codec:"open_for_ms,omitempty" doc:"milliseconds until a probe may pass; 0 when one may, or it is not open"`
	Opened       int64  `codec:"opened" doc:"how often in a row it opened, which is how often its time doubled"`
	WindowCalls  int64  `codec:"window_calls,omitempty" doc:"calls in the rolling window, if the policy has one"`
	WindowFailed int64  `codec:"window_failed,omitempty" doc:"failures among them"`
	WindowSlow   int64  `codec:"window_slow,omitempty" doc:"slow ones among them"`
	ChangedAtMS  int64  `codec:"changed_at_ms,omitempty" doc:"when its state last changed, by the Redis server's clock, Unix milliseconds; 0 = never, or it is forgotten"`
	ForcedAtMS   int64  `codec:"forced_at_ms,omitempty" doc:"when it was forced, Unix milliseconds; 0 = it is not"`
}

// BreakerForceParams name a breaker and the state to hold it in.
type BreakerForceParams struct {
	Name   string `codec:"name" required:"true" doc:"the breaker"`
	Pool   string `codec:"pool,omitempty" doc:"the pool whose member's breaker it is"`
	Policy string `codec:"policy,omitempty" doc:"the policy to go by, as for breaker.allow"`
	State  string `codec:"state" required:"true" enum:"open,closed,disabled" doc:"open = nothing passes; closed = everything passes and failures are counted, without effect; disabled = everything passes, nothing is counted"`
}

// BreakerChangeResult is the state after the call.
type BreakerChangeResult struct {
	State      string `codec:"state" enum:"closed,open,half_open,forced_open,forced_closed,disabled" doc:"its state"`
	Generation int64  `codec:"generation" doc:"its generation"`
	Changed    bool   `codec:"changed" doc:"this call changed it"`
}

// BreakerListParams say where to go on.
type BreakerListParams struct {
	Pool   string `codec:"pool,omitempty" doc:"the pool whose members' breakers to list; absent = breakers that are no member's"`
	Cursor string `codec:"cursor,omitempty" doc:"the cursor of the page before; absent = from the start"`
	Count  int64  `codec:"count,omitempty" default:"100" min:"1" max:"1000" doc:"about how many to list"`
	State  string `codec:"state,omitempty" enum:"closed,open,half_open,forced_open,forced_closed,disabled,not_closed" doc:"only those in this state; not_closed = in any but closed; absent = all"`
}

// BreakerNotClosed is the state, for breaker.list, of all that are not closed.
const BreakerNotClosed = "not_closed"

// BreakerListResult is one page.
type BreakerListResult struct {
	Breakers []BreakerListed `codec:"breakers" doc:"those of this page; it may have none and not be the last"`
	Cursor   string          `codec:"cursor,omitempty" doc:"where the next page begins; absent = this was the last"`
}

// BreakerListed is one breaker.
type BreakerListed struct {
	Name         string `codec:"name" doc:"the breaker; with pool the member"`
	State        string `codec:"state" enum:"closed,open,half_open,forced_open,forced_closed,disabled" doc:"its state"`
	Policy       string `codec:"policy" doc:"the policy that it goes by where a call names none"`
	Failures     int64  `codec:"failures" doc:"failures in a row while closed"`
	Successes    int64  `codec:"successes" doc:"successes of probes while half open"`
	Probes       int64  `codec:"probes" doc:"probes that are out now"`
	OpenForMS    int64  `codec:"open_for_ms" doc:"milliseconds until a probe may pass; 0 when one may, or it is not open"`
	Opened       int64  `codec:"opened" doc:"how often in a row it opened"`
	WindowCalls  int64  `codec:"window_calls,omitempty" doc:"calls in the rolling window, if the policy has one"`
	WindowFailed int64  `codec:"window_failed,omitempty" doc:"failures among them"`
	WindowSlow   int64  `codec:"window_slow,omitempty" doc:"slow ones among them"`
	ChangedAtMS  int64  `codec:"changed_at_ms" doc:"when its state last changed, by the Redis server's clock, Unix milliseconds; 0 = never, or it is forgotten"`
}

// BreakerExplainResult has the answer to a call at a breaker, and all that decides about it.
type BreakerExplainResult struct {
	Decision     string `codec:"decision" enum:"allowed,probe,open,half_open,forced_open" doc:"what breaker.allow would answer now: allowed; probe = allowed, as a probe; open; half_open = as many probes are out as may be; forced_open"`
	RetryAfterMS int64  `codec:"retry_after_ms" doc:"0 when a call may pass; else milliseconds until one may, rounded up; -1 = not before breaker.reset"`
	Text         string `codec:"text" doc:"the same as a sentence for people"`
	State        string `codec:"state" enum:"closed,open,half_open,forced_open,forced_closed,disabled" doc:"its state"`
	Generation   int64  `codec:"generation" doc:"rises with every change of state"`
	ChangedAtMS  int64  `codec:"changed_at_ms,omitempty" doc:"when its state last changed, by the Redis server's clock, Unix milliseconds; 0 = never, or it is forgotten"`
	Failures     int64  `codec:"failures" doc:"failures in a row while closed"`
	Successes    int64  `codec:"successes" doc:"successes of probes while half open"`
	Opened       int64  `codec:"opened" doc:"how often in a row it opened"`
	NextOpenMS   int64  `codec:"next_open_ms" doc:"milliseconds that it would be open the next time, give or take 5 %"`
	Probes       int64  `codec:"probes" doc:"probes that are out now"`
	MostProbes   int64  `codec:"most_probes" doc:"how many may be out at once, while half open"`
	ProbeLeftMS  int64  `codec:"probe_left_ms,omitempty" doc:"milliseconds until the first of them is lost unless it is reported, rounded up"`
	WindowCalls  int64  `codec:"window_calls,omitempty" doc:"calls in the rolling window, if the policy has one"`
	WindowFailed int64  `codec:"window_failed,omitempty" doc:"failures among them"`
	WindowSlow   int64  `codec:"window_slow,omitempty" doc:"slow ones among them"`

	Policy     string        `codec:"policy" doc:"the policy that it goes by, default when none is configured for it"`
	PolicyFrom string        `codec:"policy_from" enum:"given,name,default" doc:"why it is this one: given = the call names it; name = it is the first that matches the breaker's name, with pool the pool's; default = none does"`
	Settings   BreakerPolicy `codec:"settings" doc:"the policy, with the defaults of what it does not set"`
}
