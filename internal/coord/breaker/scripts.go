package breaker

import (
	"embed"

	"github.com/coxswain-sidecar/coxswain/internal/lua"
)

//go:embed *.lua
var files embed.FS

// In addresses one breaker: a field of a hash, and the breaker's policy as text (see lib/breaker.lua).
type In struct {
	Breaker       string `lua:"key"`
	Field, Policy string
}

// AllowScript decides whether a call may pass. Repeated with the same probe, it returns the same while that probe is
// out.
var AllowScript = lua.Define[AllowIn, AllowOut](files, lua.Source{
	Name:        "breaker_allow",
	Idempotent:  true,
	StoresReply: true,
})

// AllowIn is one call that asks to pass.
type AllowIn struct {
	In
	// Probe is the id of the probe that the call is if the breaker is half open. Session is the id of the session
	// that then holds it, empty for none.
	Probe, Session string
}

// AllowOut is the decision, and the state before and after. RetryUS is the time until a call may pass: 0 = it may
// now, -1 = never.
type AllowOut struct {
	Allowed, Probe bool
	RetryUS        int64
	Generation     int64
	Was, State     string
}

// ReportScript counts the outcome of a call.
var ReportScript = lua.Define[ReportIn, ReportOut](files, lua.Source{
	Name:        "breaker_report",
	StoresReply: true,
})

// ReportIn is the outcome of one call that the breaker allowed.
type ReportIn struct {
	In
	Generation int64  // 0 = the present one
	Probe      string // empty = the call was not a probe
	Outcome    string // success, failure or ignored
	DurationUS int64
	Channel    string
}

// ReportOut is the state after it. OpenUS is how long it stays open, -1 =
// without an end.
type ReportOut struct {
	Counted    bool
	Generation int64
	Was, State string
	OpenUS     int64
}

// GetScript reads a breaker.
var GetScript = lua.Define[In, GetOut](files, lua.Source{
	Name:       "breaker_get",
	Idempotent: true,
})

// GetOut is the state of a breaker.
type GetOut struct {
	State                       string
	Generation                  int64
	Failures, Successes, Probes int64 // in a row while closed; of probes while half open; out now
	OpenUS, Opened              int64 // left of being open; how often in a row it opened
	Calls, Failed, Slow         int64 // in the window
	ChangedUS                   int64 // 0 = never
	Forced                      bool
	RetryUS                     int64 // as in AllowOut
	Most                        int64 // probes that may be out at once, while half open
	ProbeUS                     int64 // until the first of those that are out is lost
}

// MembersScript reads one page of the breakers of a pool's members.
var MembersScript = lua.Define[MembersIn, MembersOut](files, lua.Source{
	Name:       "breaker_members",
	Idempotent: true,
})

// MembersIn is one step through a hash of breakers, in the terms of HSCAN, and the policy of the breakers.
type MembersIn struct {
	Breakers string `lua:"key"`
	Cursor   string // 0 = from the start
	Count    int64
	Policy   string
}

// MembersOut has the breakers that one step found. A Cursor of 0 means that this was the last step.
type MembersOut struct {
	Cursor  string
	Members []MemberOut
}

// MemberOut is the breaker of one member.
type MemberOut struct {
	Name string
	GetOut
}

// ForceScript holds a breaker in a state, or resets it.
var ForceScript = lua.Define[ForceIn, ForceOut](files, lua.Source{
	Name:       "breaker_force",
	Idempotent: true,
})

// Forced is a state into which a breaker is forced.
type Forced int64

// The states into which a breaker can be forced.
const (
	ForcedNot    Forced = 0 // not forced: it is closed, and reported outcomes change it
	ForcedOpen   Forced = 1
	ForcedClosed Forced = 2
	Disabled     Forced = 3
)

// ForceIn is a breaker and the state to force it into.
type ForceIn struct {
	In
	Forced  Forced
	Channel string
}

// ForceOut is the state before and after.
type ForceOut struct {
	Generation int64
	Was, State string
}

// ProbeState is the state in which the script found a probe.
type ProbeState int64

// The states of a probe.
const (
	ProbeLost  ProbeState = 0 // reported, given back, or its time is over
	ProbeHeld  ProbeState = 1 // by that session
	ProbeMoved ProbeState = 2 // another session holds it
)

// DropScript gives a probe back.
var DropScript = lua.Define[ProbeIn, ProbeState](files, lua.Source{
	Name:       "breaker_drop",
	Returns:    []string{"state"},
	Idempotent: true,
})

// MoveScript binds a probe to another session.
var MoveScript = lua.Define[ProbeIn, MoveOut](files, lua.Source{
	Name:       "breaker_move",
	Idempotent: true,
})

// ProbeIn is one probe, and the session that holds it (DropScript) or that it is bound to (MoveScript).
type ProbeIn struct {
	In
	Probe, Session string
}

// MoveOut is the time that a probe has left and the state of its breaker.
// RetryUS is as in AllowOut.
type MoveOut struct {
	LeftUS     int64 // 0 = the probe has ended, or never was
	Generation int64
	State      string
	RetryUS    int64
}
