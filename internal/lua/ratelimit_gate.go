package lua

// The scripts of a limit's gate (prelude_gate.lua). Those that change it broadcast
// on Channel what they did, and the gate's key: pause, resume or delay.

// RatelimitPause refuses a key until an instant. Of several pauses the longest counts.
var RatelimitPause = Define[RatelimitPauseIn, RatelimitPauseOut](files, Source{
	Name:       "ratelimit_pause",
	Idempotent: true, // a second run makes no pause shorter, and ends it later by no more than the call was on its way
})

// RatelimitPauseIn is one pause: ForUS from now, or until UntilUS when that is 0.
type RatelimitPauseIn struct {
	Gate string `lua:"key"`
	// LongestUS is how far away the pause may end.
	ForUS, UntilUS, LongestUS int64
	Why, Channel              string
}

// RatelimitResume ends the pause of a key and forgets its penalty, and reports
// whether it was paused. Delays stay.
var RatelimitResume = Define[RatelimitResumeIn, bool](files, Source{
	Name:       "ratelimit_resume",
	Returns:    []string{"resumed"},
	Idempotent: true,
})

// RatelimitResumeIn names a gate.
type RatelimitResumeIn struct {
	Gate    string `lua:"key"`
	Channel string
}

// RatelimitSetDelay sets the delay that one source asks for from one admission of a key
// to the next; the slowest of all sources counts.
var RatelimitSetDelay = Define[RatelimitSetDelayIn, RatelimitDelayOut](files, Source{
	Name:       "ratelimit_set_delay",
	Idempotent: true,
})

// RatelimitSetDelayIn is the delay of one source, which ends after TTLUS; a DelayUS of
// 0 takes it back. Of more than Most sources the one whose delay ends first makes room.
type RatelimitSetDelayIn struct {
	Gate           string `lua:"key"`
	DelayUS, TTLUS int64
	Source         string
	Most           int
	Channel        string
}

// RatelimitDelayOut is the slowest delay, and when it ends; 0 = there is none.
type RatelimitDelayOut struct{ DelayUS, UntilUS, NowUS int64 }

// RatelimitReport pauses a key for what its remote server answered.
var RatelimitReport = Define[RatelimitReportIn, RatelimitReportOut](files, Source{
	Name:    "ratelimit_report",
	Latched: true,
})

// RatelimitReportIn is one answer of a remote server.
type RatelimitReportIn struct {
	Gate string `lua:"key"`
	Hit  bool   // it is one to pause for
	// RetryUS is how long the server asks for; 0 = it does not say, and then the
	// pause is BaseMS, doubling up to MaxMS, by Factor thousandths.
	RetryUS, BaseMS, MaxMS, Factor int64
	// ForgiveUS after the end of a pause the next is a first one again.
	ForgiveUS    int64
	Why, Channel string
}

// RatelimitReportOut is the pause in force; a UntilUS of 0 is none.
type RatelimitReportOut struct {
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
