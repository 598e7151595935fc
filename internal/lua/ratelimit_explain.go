package lua

// RatelimitGate tells all that holds up a key whatever its algorithm is.
var RatelimitGate = define[RatelimitGateIn](Source{
	Name: "ratelimit_gate",
	Keys: []string{"gate", "leases", "holders", "line"},
	Args: []string{"most"},
	Returns: []string{
		"now_us", "pause_us", "why", "penalty_us", "level", "next_us", "held", "waiting",
		"items", "then", "kind", "name", "instance", "us", "ends_us",
	},
	Idempotent: true,
}, func(r *Reply) RatelimitGateOut {
	out := RatelimitGateOut{
		NowUS: r.Int(), PauseUS: r.Int(), Why: r.Str(), PenaltyUS: r.Int(), Level: r.Int(),
		NextUS: r.Int(), Held: r.Int(), Waiting: r.Int(),
	}
	for range r.Int() {
		kind, name, instance, us, ends := r.Str(), r.Str(), r.Str(), r.Int(), r.Int()
		if kind == "delay" {
			out.Delays = append(out.Delays, RatelimitDelay{Source: name, DelayUS: us, EndsUS: ends})
		} else {
			out.Leases = append(out.Leases, RatelimitLease{Client: name, Instance: instance, SinceUS: us, EndsUS: ends})
		}
	}
	return out
})

// RatelimitGateIn names one gate and what is beside it; of the leases at most Most
// are told.
type RatelimitGateIn struct {
	Gate, Leases, Holders, Line string // keys
	Most                        int
}

func (in RatelimitGateIn) keys(to []string) []string {
	return append(to, in.Gate, in.Leases, in.Holders, in.Line)
}
func (in RatelimitGateIn) args(to []any) []any { return append(to, in.Most) }

// RatelimitGateOut is what the gate is now. Instants are 0 where there is nothing.
type RatelimitGateOut struct {
	NowUS, PauseUS   int64
	Why              string // of the pause
	PenaltyUS, Level int64  // when the last pause for what was reported ends or ended, and how many in a row
	NextUS           int64  // when a delay lets the next go
	Held, Waiting    int64
	Delays           []RatelimitDelay // the slowest, which counts, first
	Leases           []RatelimitLease // the first to end first
}

// RatelimitDelay is the word of one source.
type RatelimitDelay struct {
	Source          string
	DelayUS, EndsUS int64
}

// RatelimitLease is one grant of a limit with max_concurrent.
type RatelimitLease struct {
	Client, Instance string
	SinceUS, EndsUS  int64
}
