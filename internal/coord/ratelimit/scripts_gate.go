package ratelimit

import (
	"github.com/coxswain-sidecar/coxswain/internal/coord"
	"github.com/coxswain-sidecar/coxswain/internal/lua"
)

// The scripts of a limit's gate (part_gate.lua). Those that change it broadcast
// on Channel what they did, and the gate's key: pause, resume or delay.

// PauseScript refuses a key until an instant. Of several pauses the longest counts.
var PauseScript = lua.Define[PauseIn, coord.PauseOut](files, lua.Source{
	Name:       "ratelimit_pause",
	Idempotent: true, // a second run makes no pause shorter, and ends it later by no more than the call was on its way
})

// PauseIn is one pause: ForUS from now, or until UntilUS when that is 0.
type PauseIn struct {
	Gate string `lua:"key"`
	// LongestUS is how far away the pause may end.
	ForUS, UntilUS, LongestUS int64
	Why, Channel              string
}

// ResumeScript ends the pause of a key and forgets its penalty, and reports
// whether it was paused. Delays stay.
var ResumeScript = lua.Define[ResumeIn, bool](files, lua.Source{
	Name:       "ratelimit_resume",
	Returns:    []string{"resumed"},
	Idempotent: true,
})

// ResumeIn names a gate.
type ResumeIn struct {
	Gate    string `lua:"key"`
	Channel string
}

// SetDelayScript sets the delay that one source asks for from one admission of a key
// to the next; the slowest of all sources counts.
var SetDelayScript = lua.Define[SetDelayIn, DelayOut](files, lua.Source{
	Name:       "ratelimit_set_delay",
	Idempotent: true,
})

// SetDelayIn is the delay of one source, which ends after TTLUS; a DelayUS of
// 0 takes it back. Of more than Most sources the one whose delay ends first makes room.
type SetDelayIn struct {
	Gate           string `lua:"key"`
	DelayUS, TTLUS int64
	Source         string
	Most           int64
	Channel        string
}

// DelayOut is the slowest delay, and when it ends; 0 = there is none.
type DelayOut struct{ DelayUS, UntilUS, NowUS int64 }

// ReportScript pauses a key for what its remote server answered.
var ReportScript = lua.Define[ReportIn, ReportOut](files, lua.Source{
	Name:        "ratelimit_report",
	StoresReply: true,
})

// ReportIn is one answer of a remote server.
type ReportIn struct {
	Gate string `lua:"key"`
	Hit  bool   // it is one to pause for
	// RetryUS is how long the server asks for; 0 = it does not say, and then the
	// pause is BaseMS, doubling up to MaxMS, by Factor thousandths.
	RetryUS, BaseMS, MaxMS, Factor int64
	// ForgiveUS after the end of a pause the next is a first one again.
	ForgiveUS    int64
	Why, Channel string
}

// ReportOut is the pause in force; a UntilUS of 0 is none.
type ReportOut struct {
	UntilUS int64
	Did     Penalty
	Level   int64 // pauses in a row
	NowUS   int64
}

// Penalty says whether an answer of a remote server began or prolonged a pause.
type Penalty int64

// The values of Penalty.
const (
	PenaltyNone      Penalty = 0
	PenaltyBegan     Penalty = 1 // a pause began
	PenaltyProlonged Penalty = 2 // the pause was prolonged
)
