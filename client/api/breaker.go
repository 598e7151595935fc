package api

// The methods and the event of circuit breakers.
var (
	BreakerAllow = define[BreakerAllowParams, BreakerAllowResult](Spec{
		Name: "breaker.allow", Since: "0.1.0",
		Summary: "Asks whether a call may be made. While the breaker is half open it gives out probes, which the caller must report.",
	})
	BreakerReport = define[BreakerReportParams, BreakerReportResult](Spec{
		Name: "breaker.report", Notify: true, Since: "0.1.0",
		Summary: "Reports the outcome of a call that was allowed. The outcome of a call from an older generation changes nothing.",
	})
	BreakerGet = define[BreakerParams, BreakerGetResult](Spec{
		Name: "breaker.get", Idempotent: true, Since: "0.1.0",
		Summary: "Returns the state of a breaker, and the counts that led to it.",
	})
	BreakerList = define[BreakerListParams, BreakerListResult](Spec{
		Name: "breaker.list", Idempotent: true, Since: "0.1.0",
		Summary: "Lists the breakers that have state in Redis, or with pool those of its members, one page at a time, in no particular order. " +
			"An entry that is added or removed during the listing may be missing or still listed.",
	})
	BreakerExplain = define[BreakerParams, BreakerExplainResult](Spec{
		Name: "breaker.explain", Idempotent: true, Since: "0.1.0",
		Summary: "Explains whether a breaker would allow a call now, and if not why and until when, and by which policy. It gives out no probe.",
	})
	BreakerReset = define[BreakerParams, BreakerChangeResult](Spec{
		Name: "breaker.reset", Idempotent: true, Admin: true, Since: "0.1.0",
		Summary: "Closes a breaker, and clears its counts and a forced state.",
	})
	BreakerForce = define[BreakerForceParams, BreakerChangeResult](Spec{
		Name: "breaker.force", Idempotent: true, Admin: true, Since: "0.1.0",
		Summary: "Holds a breaker in a state until breaker.reset, whatever callers report.",
	})
	BreakerLost = defineEvent[LostParams](Spec{
		Name: "breaker.lost", Since: "0.1.0",
		Summary: "This connection has lost a probe, which another caller may be given. A report of it changes nothing.",
	})
)

// The states of a breaker on the wire. A breaker that was forced is forced_open,
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

// BreakerAllowParams select a breaker.
type BreakerAllowParams struct {
	Name     string `codec:"name" required:"true" doc:"the name of the breaker, such as a host; with pool, the member"`
	Pool     string `codec:"pool,omitempty" doc:"the pool whose member's breaker it is, as permit.acquire uses it; absent = the breaker belongs to no pool"`
	Policy   string `codec:"policy,omitempty" doc:"the configured policy to use; absent = the first policy whose name matches the breaker's name (with pool, the pool's), or the default policy if none does"`
	FailMode string `codec:"fail_mode,omitempty" enum:"closed,open" doc:"what decides while Redis does not answer: closed = this call fails with UNAVAILABLE, open = it is allowed; absent = that of the policy, which is open by default"`
}

// BreakerAllowResult reports whether the call may be made.
type BreakerAllowResult struct {
	Allowed       bool   `codec:"allowed" doc:"the call may be made; report its outcome by breaker.report"`
	State         string `codec:"state" enum:"closed,open,half_open,forced_open,forced_closed,disabled" doc:"the breaker's state"`
	Generation    int64  `codec:"generation" doc:"a number that rises with every change of state; pass it to breaker.report"`
	Probe         string `codec:"probe,omitempty" doc:"present if this call is a probe of a half-open breaker: pass it to breaker.report. The probe is lost after the policy's probe_ttl_ms, or when this connection closes"`
	RetryAfterMS  int64  `codec:"retry_after_ms" doc:"0 when allowed; else milliseconds until a probe may be admitted, rounded up; -1 = the breaker is forced open"`
	Degraded      bool   `codec:"degraded" doc:"the fail mode decided, because Redis did not answer"`
	MaybeExecuted bool   `codec:"maybe_executed,omitempty" doc:"the fail mode decided after a failure that leaves it unknown whether Redis also gave out a probe"`
	Source        string `codec:"source" enum:"redis,cache,local" doc:"what decided: redis; cache = this sidecar saw less than a second ago that the breaker is open, and its open time is not over; local = the fail mode"`
	Replayed      bool   `codec:"replayed,omitempty" doc:"this is the stored reply of an earlier call with the same request id"`
}

// BreakerReportParams are the outcome of a call that was allowed.
type BreakerReportParams struct {
	Name       string `codec:"name" required:"true" doc:"the breaker"`
	Pool       string `codec:"pool,omitempty" doc:"the pool whose member's breaker it is"`
	Policy     string `codec:"policy,omitempty" doc:"the policy, as for breaker.allow"`
	Generation int64  `codec:"generation,omitempty" min:"0" max:"9007199254740991" doc:"the generation that breaker.allow returned; absent or 0 = the present one, if the breaker is closed"`
	Probe      string `codec:"probe,omitempty" doc:"the probe that breaker.allow returned"`
	Outcome    string `codec:"outcome" required:"true" enum:"success,failure,ignored" doc:"how the call ended; ignored = it shows nothing about what the breaker protects, as a cancelled call or a refusal on this side; it is not counted, and a probe is given back"`
	DurationMS int64  `codec:"duration_ms,omitempty" min:"0" max:"86400000" doc:"milliseconds that the call took, for the slow rate of the policy's window"`
}

// BreakerReportResult is the state after the report.
type BreakerReportResult struct {
	State      string `codec:"state" enum:"closed,open,half_open,forced_open,forced_closed,disabled" doc:"the breaker's state"`
	Generation int64  `codec:"generation" doc:"the breaker's generation"`
	Changed    bool   `codec:"changed" doc:"this report changed the state"`
	Counted    bool   `codec:"counted" doc:"the report was counted: its generation is the present one, its probe was not lost, and its outcome is not ignored"`
	Replayed   bool   `codec:"replayed,omitempty" doc:"this is the stored reply of an earlier call with the same request id"`
}

// BreakerParams select a breaker.
type BreakerParams struct {
	Name   string `codec:"name" required:"true" doc:"the breaker"`
	Pool   string `codec:"pool,omitempty" doc:"the pool whose member's breaker it is"`
	Policy string `codec:"policy,omitempty" doc:"the policy, as for breaker.allow"`
}

// BreakerGetResult is the state of a breaker.
type BreakerGetResult struct {
	State        string `codec:"state" enum:"closed,open,half_open,forced_open,forced_closed,disabled" doc:"its state"`
	Generation   int64  `codec:"generation" doc:"a number that rises with every change of state"`
	Policy       string `codec:"policy" doc:"the policy in force for it; default = none is configured for it"`
	Failures     int64  `codec:"failures" doc:"failures in a row while closed"`
	Successes    int64  `codec:"successes" doc:"successes of probes while half open"`
	Probes       int64  `codec:"probes" doc:"probes that were given out and are not reported"`
	OpenForMS    int64  `codec:"open_for_ms,omitempty" doc:"milliseconds until a probe is admitted; 0 = one is admitted now, or the breaker is not open"`
	Opened       int64  `codec:"opened" doc:"how many times in a row it opened; each further time doubles how long it stays open"`
	WindowCalls  int64  `codec:"window_calls,omitempty" doc:"calls in the rolling window, if the policy has a window"`
	WindowFailed int64  `codec:"window_failed,omitempty" doc:"failed calls among them"`
	WindowSlow   int64  `codec:"window_slow,omitempty" doc:"slow calls among them"`
	ChangedAtMS  int64  `codec:"changed_at_ms,omitempty" doc:"when its state last changed, by the Redis server's clock, Unix milliseconds; 0 = never, or the breaker's state has expired"`
	ForcedAtMS   int64  `codec:"forced_at_ms,omitempty" doc:"when it was forced, Unix milliseconds; 0 = it is not forced"`
}

// BreakerForceParams select a breaker and the state to hold it in.
type BreakerForceParams struct {
	Name   string `codec:"name" required:"true" doc:"the breaker"`
	Pool   string `codec:"pool,omitempty" doc:"the pool whose member's breaker it is"`
	Policy string `codec:"policy,omitempty" doc:"the policy, as for breaker.allow"`
	State  string `codec:"state" required:"true" enum:"open,closed,disabled" doc:"open = no call is allowed; closed = every call is allowed, and failures are counted without effect; disabled = every call is allowed, and nothing is counted"`
}

// BreakerChangeResult is the state after the call.
type BreakerChangeResult struct {
	State      string `codec:"state" enum:"closed,open,half_open,forced_open,forced_closed,disabled" doc:"its state"`
	Generation int64  `codec:"generation" doc:"the breaker's generation"`
	Changed    bool   `codec:"changed" doc:"this call changed it"`
}

// BreakerListParams select one page of the list.
type BreakerListParams struct {
	Pool   string `codec:"pool,omitempty" doc:"the pool whose members' breakers to list; absent = breakers that belong to no pool"`
	Cursor string `codec:"cursor,omitempty" doc:"the cursor that the previous page returned; absent = the first page"`
	Count  int64  `codec:"count,omitempty" default:"100" min:"1" max:"1000" doc:"about how many entries to list"`
	State  string `codec:"state,omitempty" enum:"closed,open,half_open,forced_open,forced_closed,disabled,not_closed" doc:"list only breakers in this state; not_closed = in any state but closed; absent = all"`
}

// BreakerNotClosed selects, as the state of breaker.list, every breaker that is not closed.
const BreakerNotClosed = "not_closed"

// BreakerListResult is one page of the list.
type BreakerListResult struct {
	Breakers []BreakerListed `codec:"breakers" doc:"the entries of this page; a page may be empty without being the last"`
	Cursor   string          `codec:"cursor,omitempty" doc:"the cursor of the next page; absent = this was the last page"`
}

// BreakerListed is a breaker in the list.
type BreakerListed struct {
	Name         string `codec:"name" doc:"the breaker; with pool, the member"`
	State        string `codec:"state" enum:"closed,open,half_open,forced_open,forced_closed,disabled" doc:"its state"`
	Policy       string `codec:"policy" doc:"the policy in force for a call that names none"`
	Failures     int64  `codec:"failures" doc:"failures in a row while closed"`
	Successes    int64  `codec:"successes" doc:"successes of probes while half open"`
	Probes       int64  `codec:"probes" doc:"probes that were given out and are not reported"`
	OpenForMS    int64  `codec:"open_for_ms" doc:"milliseconds until a probe is admitted; 0 = one is admitted now, or the breaker is not open"`
	Opened       int64  `codec:"opened" doc:"how many times in a row it opened"`
	WindowCalls  int64  `codec:"window_calls,omitempty" doc:"calls in the rolling window, if the policy has a window"`
	WindowFailed int64  `codec:"window_failed,omitempty" doc:"failed calls among them"`
	WindowSlow   int64  `codec:"window_slow,omitempty" doc:"slow calls among them"`
	ChangedAtMS  int64  `codec:"changed_at_ms" doc:"when its state last changed, by the Redis server's clock, Unix milliseconds; 0 = never, or the breaker's state has expired"`
}

// BreakerExplainResult is what breaker.allow would return, and everything that decides it.
type BreakerExplainResult struct {
	Decision     string `codec:"decision" enum:"allowed,probe,open,half_open,forced_open" doc:"what breaker.allow would return now: allowed; probe = allowed as a probe; open; half_open = all probes are given out; forced_open"`
	RetryAfterMS int64  `codec:"retry_after_ms" doc:"0 when a call is allowed now; else milliseconds until one may be, rounded up; -1 = not before breaker.reset"`
	Text         string `codec:"text" doc:"the decision as a sentence for people"`
	State        string `codec:"state" enum:"closed,open,half_open,forced_open,forced_closed,disabled" doc:"its state"`
	Generation   int64  `codec:"generation" doc:"a number that rises with every change of state"`
	ChangedAtMS  int64  `codec:"changed_at_ms,omitempty" doc:"when its state last changed, by the Redis server's clock, Unix milliseconds; 0 = never, or the breaker's state has expired"`
	Failures     int64  `codec:"failures" doc:"failures in a row while closed"`
	Successes    int64  `codec:"successes" doc:"successes of probes while half open"`
	Opened       int64  `codec:"opened" doc:"how many times in a row it opened"`
	NextOpenMS   int64  `codec:"next_open_ms" doc:"milliseconds that it would stay open the next time, plus or minus 5 %"`
	Probes       int64  `codec:"probes" doc:"probes that were given out and are not reported"`
	MostProbes   int64  `codec:"most_probes" doc:"how many probes may be given out at once while half open"`
	ProbeLeftMS  int64  `codec:"probe_left_ms,omitempty" doc:"milliseconds until the first of these probes is lost unless it is reported, rounded up"`
	WindowCalls  int64  `codec:"window_calls,omitempty" doc:"calls in the rolling window, if the policy has a window"`
	WindowFailed int64  `codec:"window_failed,omitempty" doc:"failed calls among them"`
	WindowSlow   int64  `codec:"window_slow,omitempty" doc:"slow calls among them"`

	Policy     string        `codec:"policy" doc:"the policy in force for it; default = none is configured for it"`
	PolicyFrom string        `codec:"policy_from" enum:"given,name,default" doc:"why this policy: given = the call names it; name = it is the first policy whose name matches the breaker's name (with pool, the pool's); default = no policy matches"`
	Settings   BreakerPolicy `codec:"settings" doc:"the policy, with the defaults of the fields that it does not set"`
}
