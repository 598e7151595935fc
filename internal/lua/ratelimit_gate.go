package lua

// The scripts of a limit's gate (prelude_gate.lua). Those that change it broadcast
// on Channel what they did, and the gate's key: pause, resume or delay.

// RatelimitPause refuses a key until an instant. Of several pauses the longest counts.
var RatelimitPause = define[RatelimitPauseIn](Source{
	Name:       "ratelimit_pause",
	Keys:       []string{"gate"},
	Args:       []string{"for_us", "until_us", "longest_us", "why", "channel"},
	Returns:    []string{"until_us", "changed", "now_us"},
	Idempotent: true, // a second run is no shorter, and later by no more than its way
}, func(r *Reply) RatelimitPauseOut {
	return RatelimitPauseOut{UntilUS: r.Int(), Changed: r.Bool(), NowUS: r.Int()}
})

// RatelimitPauseIn is one pause: ForUS from now, or until UntilUS when that is 0.
type RatelimitPauseIn struct {
	Gate                      string // key
	ForUS, UntilUS, LongestUS int64
	Why, Channel              string
}

func (in RatelimitPauseIn) keys(to []string) []string { return append(to, in.Gate) }
func (in RatelimitPauseIn) args(to []any) []any {
	return append(to, in.ForUS, in.UntilUS, in.LongestUS, in.Why, in.Channel)
}

// RatelimitPauseOut is the pause in force.
type RatelimitPauseOut struct {
	// UntilUS is when it ends; 0 = there is none, -1 = it would end later than
	// LongestUS from now, and nothing was done.
	UntilUS int64
	Changed bool // the pause in force is the one that was asked for
	NowUS   int64
}

// RatelimitResume ends the pause of a key and forgets its penalty, and reports
// whether it was paused. Delays stay.
var RatelimitResume = define[RatelimitResumeIn](Source{
	Name:       "ratelimit_resume",
	Keys:       []string{"gate"},
	Args:       []string{"channel"},
	Returns:    []string{"resumed"},
	Idempotent: true,
}, func(r *Reply) bool { return r.Bool() })

// RatelimitResumeIn names a gate.
type RatelimitResumeIn struct {
	Gate    string // key
	Channel string
}

func (in RatelimitResumeIn) keys(to []string) []string { return append(to, in.Gate) }
func (in RatelimitResumeIn) args(to []any) []any       { return append(to, in.Channel) }

// RatelimitSetDelay sets one source's word on the delay of a key; the slowest
// word counts.
var RatelimitSetDelay = define[RatelimitSetDelayIn](Source{
	Name:       "ratelimit_set_delay",
	Keys:       []string{"gate"},
	Args:       []string{"delay_us", "ttl_us", "source", "most", "channel"},
	Returns:    []string{"delay_us", "until_us", "now_us"},
	Idempotent: true,
}, func(r *Reply) RatelimitDelayOut {
	return RatelimitDelayOut{DelayUS: r.Int(), UntilUS: r.Int(), NowUS: r.Int()}
})

// RatelimitSetDelayIn is one source's word; a DelayUS of 0 takes it back. Of more
// than Most words the one that ends first makes room.
type RatelimitSetDelayIn struct {
	Gate           string // key
	DelayUS, TTLUS int64
	Source         string
	Most           int
	Channel        string
}

func (in RatelimitSetDelayIn) keys(to []string) []string { return append(to, in.Gate) }
func (in RatelimitSetDelayIn) args(to []any) []any {
	return append(to, in.DelayUS, in.TTLUS, in.Source, in.Most, in.Channel)
}

// RatelimitDelayOut is the slowest word, and when it ends; 0 = there is none.
type RatelimitDelayOut struct{ DelayUS, UntilUS, NowUS int64 }

// RatelimitReport pauses a key for what its remote server answered.
var RatelimitReport = define[RatelimitReportIn](Source{
	Name:    "ratelimit_report",
	Keys:    []string{"gate"},
	Args:    []string{"hit", "retry_us", "base_ms", "max_ms", "factor", "forgive_us", "why", "channel"},
	Returns: []string{"until_us", "did", "level", "now_us"},
	Latched: true,
}, func(r *Reply) RatelimitReportOut {
	out := RatelimitReportOut{UntilUS: r.Int()}
	did := r.Int()
	out.Began, out.Prolonged = did == 1, did == 2
	out.Level, out.NowUS = r.Int(), r.Int()
	return out
})

// RatelimitReportIn is one answer of a remote server.
type RatelimitReportIn struct {
	Gate string // key
	Hit  bool   // it is one to pause for
	// RetryUS is how long the server asks for; 0 = it does not say, and then the
	// pause is BaseMS, doubling up to MaxMS, by Factor thousandths.
	RetryUS, BaseMS, MaxMS, Factor int64
	// ForgiveUS after the end of a pause the next is a first one again.
	ForgiveUS    int64
	Why, Channel string
}

func (in RatelimitReportIn) keys(to []string) []string { return append(to, in.Gate) }
func (in RatelimitReportIn) args(to []any) []any {
	return append(to, flag(in.Hit), in.RetryUS, in.BaseMS, in.MaxMS, in.Factor, in.ForgiveUS, in.Why, in.Channel)
}

// RatelimitReportOut is the pause in force; a UntilUS of 0 is none.
type RatelimitReportOut struct {
	UntilUS          int64
	Began, Prolonged bool // a penalty's pause, by this answer
	Level            int64
	NowUS            int64
}
