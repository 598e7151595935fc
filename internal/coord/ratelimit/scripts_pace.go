package ratelimit

import (
	"github.com/coxswain-sidecar/coxswain/internal/coord"
	"github.com/coxswain-sidecar/coxswain/internal/lua"
)

// The scripts of a key's pace (part_pace.lua). Those that change it publish on Channel
// what they did (pause, resume or delay) and the pace's Redis key.

// PauseScript pauses a key until an instant. Of several pauses the longest counts.
var PauseScript = lua.Define[PauseIn, coord.PauseOut](files, lua.Source{
	Name:       "ratelimit_pause",
	Idempotent: true, // a second run makes no pause shorter, and prolongs it at most by the time between the runs
})

// PauseIn is one pause: ForUS from now, or until UntilUS when that is 0.
type PauseIn struct {
	Pace string `lua:"key"`
	// LongestUS is how far away the end of the pause may be.
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

// ResumeIn names one pace.
type ResumeIn struct {
	Pace    string `lua:"key"`
	Channel string
}

// SetDelayScript sets the delay that one source asks for from one admission of a key
// to the next; the slowest of all sources counts.
var SetDelayScript = lua.Define[SetDelayIn, DelayOut](files, lua.Source{
	Name:       "ratelimit_set_delay",
	Idempotent: true,
})

// SetDelayIn is the delay of one source, which ends after TTLUS; a DelayUS of 0 removes
// it. Of more than Most sources, the one whose delay ends first is dropped.
type SetDelayIn struct {
	Pace           string `lua:"key"`
	DelayUS, TTLUS int64
	Source         string
	Most           int64
	Channel        string
}

// DelayOut is the slowest delay, and when it ends; 0 = there is none.
type DelayOut struct{ DelayUS, UntilUS, NowUS int64 }

// ReportScript pauses a key because of an answer of its remote server.
var ReportScript = lua.Define[ReportIn, ReportOut](files, lua.Source{
	Name:        "ratelimit_report",
	StoresReply: true,
})

// ReportIn is one answer of a remote server.
type ReportIn struct {
	Pace string `lua:"key"`
	Hit  bool   // the answer is one that the penalty pauses for
	// RetryUS is the time that the server asks for; 0 = none. Then the pause is BaseMS,
	// doubled with each pause in a row up to MaxMS, times Factor thousandths.
	RetryUS, BaseMS, MaxMS, Factor int64
	// ForgiveUS after the end of a pause, the next pause starts at BaseMS again.
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

// Penalty is whether an answer of a remote server began or prolonged a pause.
type Penalty int64

// The values of Penalty.
const (
	PenaltyNone      Penalty = 0
	PenaltyBegan     Penalty = 1 // a pause began
	PenaltyProlonged Penalty = 2 // the pause was prolonged
)
