package chaostest

import (
	"cmp"
	"fmt"
	"slices"
	"time"
)

// BreakerOp is one call to a breaker that Redis answered.
type BreakerOp struct {
	Client, Name string
	Kind         Kind // Allow or Report
	Call, Return time.Duration
	State        string
	Generation   int64
	// Probe is the probe that an Allow was given, if any. Until is when it can have ended at the earliest: when its
	// report was sent, its client was killed, or its TTL was over.
	Probe string
	Until time.Duration
}

func (o BreakerOp) String() string {
	s := fmt.Sprintf("%s..%s %-6s %s by %s: %s, generation %d", at(o.Call), at(o.Return), o.Kind, o.Name, o.Client, o.State, o.Generation)
	if o.Probe != "" {
		s += fmt.Sprintf(", probe %s until %s", o.Probe, at(o.Until))
	}
	return s
}

// Generations reports breakers whose generation went back: a call was sent after an
// answer with a higher generation had been received, and its answer has a lower one.
func Generations(asked []BreakerOp) []Violation {
	return perBreaker(asked, func(name string, byCall []BreakerOp) []Violation {
		byReturn := slices.Clone(byCall)
		slices.SortFunc(byReturn, func(a, b BreakerOp) int { return cmp.Compare(a.Return, b.Return) })
		var found []Violation
		var high BreakerOp
		returned := 0
		for _, o := range byCall {
			for ; returned < len(byReturn) && byReturn[returned].Return < o.Call; returned++ {
				if r := byReturn[returned]; r.Generation >= high.Generation {
					high = r
				}
			}
			if o.Generation < high.Generation {
				found = append(found, Violation{Rule: "generations", What: name + ": its generation went back", Part: texts(high, o)})
			}
		}
		return found
	})
}

// Probes reports breakers of which more than most probes of one generation were under way at once. A probe is certainly
// under way from the moment at which its client gets it until the earliest time at which it can have ended.
func Probes(asked []BreakerOp, most int) []Violation {
	return perBreaker(asked, func(name string, byCall []BreakerOp) []Violation {
		for _, last := range byCall {
			if last.Probe == "" {
				continue
			}
			var out []BreakerOp
			for _, o := range byCall {
				if o.Probe != "" && o.Generation == last.Generation && o.Return <= last.Return && last.Return < o.Until {
					out = append(out, o)
				}
			}
			if len(out) > most {
				return []Violation{{Rule: "probes", What: fmt.Sprintf("%s: %d probes out at once, at most %d allowed", name, len(out), most), Part: texts(out...)}}
			}
		}
		return nil
	})
}

func perBreaker(asked []BreakerOp, check func(name string, byCall []BreakerOp) []Violation) []Violation {
	byName := make(map[string][]BreakerOp)
	for _, o := range asked {
		byName[o.Name] = append(byName[o.Name], o)
	}
	var found []Violation
	for name, of := range byName {
		slices.SortFunc(of, func(a, b BreakerOp) int { return cmp.Compare(a.Call, b.Call) })
		found = append(found, check(name, of)...)
	}
	slices.SortFunc(found, func(a, b Violation) int { return cmp.Compare(a.What, b.What) })
	return found
}
