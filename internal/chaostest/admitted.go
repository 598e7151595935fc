package chaostest

import (
	"cmp"
	"fmt"
	"slices"
	"time"

	"github.com/coxswain-sidecar/coxswain/client/api"
)

// rounding is how much the clocks may add to a window: the clock of Redis is read in
// microseconds and slewed by the system, that of the test is not.
const rounding = 2 * time.Millisecond

// Bounded reports a window in which more was admitted under a band than it allows: capacity + rate x T, and capacity
// once more for each failover, which may lose the latest charges, but never more than a full bucket. While two masters
// answer, each to the sidecars that have not noticed the other one yet, each admits at the rate; twice is the total
// time for which that may have lasted.
//
// The exact instant of an admission is not known, only that it is between the call and its answer. So a window counts
// only calls that lie completely in it: their admissions are no further apart than the window is long, and their number
// is at most the bound for its length. A window that breaks the bound can be narrowed so that it begins when a counted
// call was sent and ends when one was answered; so only such windows are checked.
func Bounded(charges []Charge, band api.Band, failovers int, twice time.Duration) []Violation {
	var in []Charge
	for _, c := range charges {
		if c.Admitted {
			in = append(in, c)
		}
	}
	slices.SortFunc(in, func(a, b Charge) int { return cmp.Compare(a.Received, b.Received) })
	capacity := band.Burst
	if capacity == 0 {
		capacity = band.Limit
	}
	period := time.Duration(band.PeriodMS) * time.Millisecond
	for _, first := range in {
		var sum int64
		for i, c := range in {
			if c.Sent < first.Sent {
				continue
			}
			sum += c.Cost
			t := c.Received - first.Sent + rounding
			most := float64(capacity)*float64(1+failovers) + float64(band.Limit)*(t+min(t, twice)).Seconds()/period.Seconds()
			if float64(sum) > most {
				return []Violation{{
					Rule: "bound", What: fmt.Sprintf("%s: %d admitted from %s to %s, at most %.2f allowed by %d per %v, burst %d, %d failovers",
						first.Key, sum, at(first.Sent), at(c.Received), most, band.Limit, period, capacity, failovers),
					Part: texts(in[max(0, i-20) : i+1]...),
				}}
			}
		}
	}
	return nil
}

// CountedOnce reports a key whose bucket lost more, or less, than its callers took. taken is
// what the bucket has lost in the end; its rate is so low that nothing was refilled. A call
// with an unknown outcome took its cost once or not at all. After a failover the bucket may
// have lost less, never more.
func CountedOnce(key string, charges []Charge, taken, refilled int64, failovers int) []Violation {
	var known, unknown int64
	for _, c := range charges {
		switch {
		case c.Key != key:
		case c.Admitted:
			known += c.Cost
		case c.Unknown:
			unknown += c.Cost
		}
	}
	least := known - refilled
	if failovers > 0 {
		least = 0
	}
	if taken >= least && taken <= known+unknown {
		return nil
	}
	return []Violation{{Rule: "counted once", What: fmt.Sprintf(
		"%s: the bucket lost %d; its callers know of %d, and of %d more they do not know", key, taken, known, unknown)}}
}

// Answered reports the waits that outlasted their limit by more than grace.
func Answered(waits []Wait, grace time.Duration) []Violation {
	var found []Violation
	for _, w := range waits {
		if w.Return == Never || w.Return-w.Call > w.Limit+grace {
			found = append(found, Violation{Rule: "waiting", What: "a call hung beyond its deadline", Part: texts(w)})
		}
	}
	return found
}
