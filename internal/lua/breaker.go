package lua

// BreakerIn addresses one breaker: a field of a hash, and the policy that it
// goes by, as text (see prelude_breaker.lua).
type BreakerIn struct {
	Breaker       string // key
	Field, Policy string
}

func (in BreakerIn) keys(to []string) []string { return append(to, in.Breaker) }
func (in BreakerIn) args(to []any) []any       { return append(to, in.Field, in.Policy) }

// BreakerAllow says whether a call may pass. Repeated with the same probe it
// answers the same while that is out.
var BreakerAllow = define[BreakerAllowIn](Source{
	Name:       "breaker_allow",
	Keys:       []string{"breaker"},
	Args:       []string{"field", "policy", "probe", "session"},
	Returns:    []string{"allowed", "probe", "retry_us", "generation", "was", "state"},
	Idempotent: true,
	Latched:    true,
}, func(r *Reply) BreakerAllowOut {
	return BreakerAllowOut{
		Allowed: r.Bool(), Probe: r.Bool(), RetryUS: r.Int(), Generation: r.Int(), Was: r.Str(), State: r.Str(),
	}
})

// BreakerAllowIn is one call that wants to pass.
type BreakerAllowIn struct {
	BreakerIn
	// Probe is the id of the probe that it is, should it be one; Session the id of
	// who then holds it, empty for none.
	Probe, Session string
}

func (in BreakerAllowIn) args(to []any) []any {
	return append(in.BreakerIn.args(to), in.Probe, in.Session)
}

// BreakerAllowOut is the decision. RetryUS is -1 when it never passes.
type BreakerAllowOut struct {
	Allowed, Probe bool
	RetryUS        int64
	Generation     int64
	Was, State     string
}

// BreakerReport counts what became of a call.
var BreakerReport = define[BreakerReportIn](Source{
	Name:    "breaker_report",
	Keys:    []string{"breaker"},
	Args:    []string{"field", "policy", "generation", "probe", "outcome", "duration_us", "channel"},
	Returns: []string{"counted", "generation", "was", "state", "open_us"},
	Latched: true,
}, func(r *Reply) BreakerReportOut {
	return BreakerReportOut{Counted: r.Bool(), Generation: r.Int(), Was: r.Str(), State: r.Str(), OpenUS: r.Int()}
})

// BreakerReportIn is what became of one call.
type BreakerReportIn struct {
	BreakerIn
	Generation int64  // 0 = the present one
	Probe      string // empty = it was none
	Outcome    string // success, failure or ignored
	DurationUS int64
	Channel    string
}

func (in BreakerReportIn) args(to []any) []any {
	return append(in.BreakerIn.args(to), in.Generation, in.Probe, in.Outcome, in.DurationUS, in.Channel)
}

// BreakerReportOut is the state after it. OpenUS is how long it stays open, -1 =
// without an end.
type BreakerReportOut struct {
	Counted    bool
	Generation int64
	Was, State string
	OpenUS     int64
}

// BreakerGet reads a breaker.
var BreakerGet = define[BreakerIn](Source{
	Name: "breaker_get",
	Keys: []string{"breaker"},
	Args: []string{"field", "policy"},
	Returns: []string{
		"state", "generation", "failures", "successes", "probes", "open_us", "opened", "calls", "failed", "slow", "changed_us", "forced",
	},
	Idempotent: true,
}, func(r *Reply) BreakerGetOut {
	return BreakerGetOut{
		State: r.Str(), Generation: r.Int(), Failures: r.Int(), Successes: r.Int(), Probes: r.Int(), OpenUS: r.Int(), Opened: r.Int(),
		Calls: r.Int(), Failed: r.Int(), Slow: r.Int(), ChangedUS: r.Int(), Forced: r.Bool(),
	}
})

// BreakerGetOut is all that is kept of a breaker.
type BreakerGetOut struct {
	State                       string
	Generation                  int64
	Failures, Successes, Probes int64
	OpenUS, Opened              int64
	Calls, Failed, Slow         int64 // in the window
	ChangedUS                   int64 // 0 = never
	Forced                      bool
}

// BreakerForce holds a breaker in a state, or resets it.
var BreakerForce = define[BreakerForceIn](Source{
	Name:       "breaker_force",
	Keys:       []string{"breaker"},
	Args:       []string{"field", "policy", "forced", "channel"},
	Returns:    []string{"generation", "was", "state"},
	Idempotent: true,
}, func(r *Reply) BreakerForceOut {
	return BreakerForceOut{Generation: r.Int(), Was: r.Str(), State: r.Str()}
})

// Forced is a state that a breaker is held in.
type Forced int64

// What a breaker can be forced to be.
const (
	ForcedNot    Forced = 0 // it is closed, and goes by what is reported
	ForcedOpen   Forced = 1
	ForcedClosed Forced = 2
	Disabled     Forced = 3
)

// BreakerForceIn is a breaker and what it is to be.
type BreakerForceIn struct {
	BreakerIn
	Forced  Forced
	Channel string
}

func (in BreakerForceIn) args(to []any) []any {
	return append(in.BreakerIn.args(to), int64(in.Forced), in.Channel)
}

// BreakerForceOut is the state before and after.
type BreakerForceOut struct {
	Generation int64
	Was, State string
}

// ProbeState is what a probe was found to be.
type ProbeState int64

// The states of a probe.
const (
	ProbeLost  ProbeState = 0 // reported, given back, or its time is over
	ProbeHeld  ProbeState = 1 // by that session
	ProbeMoved ProbeState = 2 // another session has it
)

// BreakerDrop gives a probe back.
var BreakerDrop = define[BreakerProbeIn](Source{
	Name:       "breaker_drop",
	Keys:       []string{"breaker"},
	Args:       []string{"field", "policy", "probe", "session"},
	Returns:    []string{"state"},
	Idempotent: true,
}, func(r *Reply) ProbeState { return ProbeState(r.Int()) })

// BreakerMove has another session hold a probe.
var BreakerMove = define[BreakerProbeIn](Source{
	Name:       "breaker_move",
	Keys:       []string{"breaker"},
	Args:       []string{"field", "policy", "probe", "session"},
	Returns:    []string{"left_us", "generation", "state", "retry_us"},
	Idempotent: true,
}, func(r *Reply) BreakerMoveOut {
	return BreakerMoveOut{LeftUS: r.Int(), Generation: r.Int(), State: r.Str(), RetryUS: r.Int()}
})

// BreakerProbeIn is one probe, and the session that has it or is to have it.
type BreakerProbeIn struct {
	BreakerIn
	Probe, Session string
}

func (in BreakerProbeIn) args(to []any) []any {
	return append(in.BreakerIn.args(to), in.Probe, in.Session)
}

// BreakerMoveOut is what is left of a probe, 0 = it is not out, and the state.
type BreakerMoveOut struct {
	LeftUS     int64
	Generation int64
	State      string
	RetryUS    int64
}
