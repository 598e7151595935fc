package lua

// BreakerIn addresses one breaker: a field of a hash, and the policy that it
// goes by, as text (see prelude_breaker.lua).
type BreakerIn struct {
	Breaker       string `lua:"key"`
	Field, Policy string
}

// BreakerAllow says whether a call may pass. Repeated with the same probe it
// answers the same while that is out.
var BreakerAllow = Define[BreakerAllowIn, BreakerAllowOut](files, Source{
	Name:       "breaker_allow",
	Idempotent: true,
	Latched:    true,
})

// BreakerAllowIn is one call that wants to pass.
type BreakerAllowIn struct {
	BreakerIn
	// Probe is the id of the probe that it is, should it be one; Session the id of
	// who then holds it, empty for none.
	Probe, Session string
}

// BreakerAllowOut is the decision, and the state before and after. RetryUS is until a
// call may pass: 0 = it may now, -1 = never.
type BreakerAllowOut struct {
	Allowed, Probe bool
	RetryUS        int64
	Generation     int64
	Was, State     string
}

// BreakerReport counts what became of a call.
var BreakerReport = Define[BreakerReportIn, BreakerReportOut](files, Source{
	Name:    "breaker_report",
	Latched: true,
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

// BreakerReportOut is the state after it. OpenUS is how long it stays open, -1 =
// without an end.
type BreakerReportOut struct {
	Counted    bool
	Generation int64
	Was, State string
	OpenUS     int64
}

// BreakerGet reads a breaker.
var BreakerGet = Define[BreakerIn, BreakerGetOut](files, Source{
	Name:       "breaker_get",
	Idempotent: true,
})

// BreakerGetOut is all that is kept of a breaker.
type BreakerGetOut struct {
	State                       string
	Generation                  int64
	Failures, Successes, Probes int64 // in a row while closed; of probes while half open; out now
	OpenUS, Opened              int64 // left of being open; how often in a row it opened
	Calls, Failed, Slow         int64 // in the window
	ChangedUS                   int64 // 0 = never
	Forced                      bool
}

// BreakerForce holds a breaker in a state, or resets it.
var BreakerForce = Define[BreakerForceIn, BreakerForceOut](files, Source{
	Name:       "breaker_force",
	Idempotent: true,
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
var BreakerDrop = Define[BreakerProbeIn, ProbeState](files, Source{
	Name:       "breaker_drop",
	Returns:    []string{"state"},
	Idempotent: true,
})

// BreakerMove has another session hold a probe.
var BreakerMove = Define[BreakerProbeIn, BreakerMoveOut](files, Source{
	Name:       "breaker_move",
	Idempotent: true,
})

// BreakerProbeIn is one probe, and the session that has it or is to have it.
type BreakerProbeIn struct {
	BreakerIn
	Probe, Session string
}

// BreakerMoveOut is the time that a probe has left and the state of its breaker.
// RetryUS is as in BreakerAllowOut.
type BreakerMoveOut struct {
	LeftUS     int64 // 0 = the probe has ended, or never was
	Generation int64
	State      string
	RetryUS    int64
}
