package chaostest

import (
	"fmt"
	"math/rand/v2"
	"slices"
	"time"
)

// Fault is a fault that can be injected into the system.
type Fault struct {
	Name string
	// Targets is the number of targets that it may hit, such as sidecars; 0 means 1.
	Targets int
	// Longest is how long it may last; 0 = it has no duration.
	Longest time.Duration
	// Weight is how likely it is to be drawn, in proportion to the others. A fault with Every is not drawn: it comes
	// about once in that time, in any case.
	Weight int
	Every  time.Duration
	// Begin begins the fault. It returns the function that ends it, nil if the fault has no duration. The event's Dose,
	// 0 to 99, is how severe it is.
	Begin func(Event) (end func() error, err error)
}

// Event is one fault of a schedule.
type Event struct {
	N      int // from 0
	At     time.Duration
	Fault  string
	Target int
	For    time.Duration
	Dose   int
}

func (e Event) String() string {
	return fmt.Sprintf("%3d at %8s %-14s target %d for %v dose %d", e.N, at(e.At), e.Fault, e.Target, e.For, e.Dose)
}

// The pause between two faults that are drawn.
const (
	leastPause = 100 * time.Millisecond
	mostPause  = 700 * time.Millisecond
)

// Schedule draws the faults of a run, in the order of their times; the same
// arguments give the same schedule. All end when the run does.
func Schedule(seed uint64, length time.Duration, faults []Fault) []Event {
	r := rand.New(rand.NewPCG(seed, 0))
	var events []Event
	weights := 0
	for _, f := range faults {
		if f.Every > 0 {
			for t := between(r, f.Every/2, f.Every); t < length; t += between(r, f.Every*3/4, f.Every*5/4) {
				events = append(events, draw(r, f, t, length))
			}
			continue
		}
		weights += f.Weight
	}
	for t := between(r, leastPause, mostPause); t < length && weights > 0; t += between(r, leastPause, mostPause) {
		n := r.IntN(weights)
		i := slices.IndexFunc(faults, func(f Fault) bool {
			if f.Every == 0 {
				n -= f.Weight
			}
			return n < 0
		})
		events = append(events, draw(r, faults[i], t, length))
	}
	slices.SortStableFunc(events, func(a, b Event) int { return int(a.At - b.At) })
	for i := range events {
		events[i].N = i
	}
	return events
}

func draw(r *rand.Rand, f Fault, t, length time.Duration) Event {
	e := Event{At: t, Fault: f.Name, Target: r.IntN(max(f.Targets, 1)), Dose: r.IntN(100)}
	if f.Longest > 0 {
		e.For = min(between(r, f.Longest/10, f.Longest), length-t)
	}
	return e
}

// between is in whole milliseconds, so that a schedule reads well.
func between(r *rand.Rand, least, most time.Duration) time.Duration {
	return (least + time.Duration(r.Int64N(int64(most-least)))).Truncate(time.Millisecond)
}
