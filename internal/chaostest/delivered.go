package chaostest

import (
	"cmp"
	"fmt"
	"slices"
	"time"
)

// Entry is an entry that a producer put into a queue. N is its number among the producer's entries, each of which was
// sent when the one before was settled.
type Entry struct {
	Queue, ID    string
	Producer, N  int
	Call, Return time.Duration // Return is Never when it is not known whether the entry is there
}

func (e Entry) String() string {
	return fmt.Sprintf("%s..%s %s put into %s", at(e.Call), at(e.Return), e.ID, e.Queue)
}

// Delivery is an entry that a client was given under a lease, and how it ended it.
type Delivery struct {
	Client, Queue, ID string
	Attempt           int64
	Call, Return      time.Duration
	Lease             time.Duration
	// End is the call by which the client ended the delivery, or empty. EndCall is Never if there was none, and
	// EndReturn if there was no answer.
	End                Kind
	Outcome            Outcome
	EndCall, EndReturn time.Duration
}

func (d Delivery) String() string {
	s := fmt.Sprintf("%s..%s %s of %s to %s, attempt %d", at(d.Call), at(d.Return), d.ID, d.Queue, d.Client, d.Attempt)
	if d.End != "" {
		s += fmt.Sprintf("; %s..%s %s: %s", at(d.EndCall), at(d.EndReturn), d.End, d.Outcome)
	}
	return s
}

// Delivered reports broken promises of queues for the time until intact, in which no write can have been lost. If
// drained, it also reports the entries that are missing in the end: those of which no client sent an ack.
func Delivered(entries []Entry, given []Delivery, drained bool, intact time.Duration) []Violation {
	byID := make(map[string][]Delivery)
	for _, d := range given {
		if d.Return < intact {
			byID[d.ID] = append(byID[d.ID], d)
		}
	}
	var found []Violation
	for _, of := range byID {
		slices.SortFunc(of, func(a, b Delivery) int { return cmp.Compare(a.Return, b.Return) })
		found = append(found, repeated(of, intact)...)
	}
	found = append(found, disordered(entries, byID)...)
	if drained {
		found = append(found, missing(entries, byID)...)
	}
	slices.SortFunc(found, func(a, b Violation) int { return cmp.Compare(a.What, b.What) })
	return found
}

// repeated reports an entry that was acknowledged twice, or delivered after it had been
// acknowledged, or delivered while another client certainly had it.
func repeated(of []Delivery, intact time.Duration) []Violation {
	for i, d := range of {
		for j, other := range of {
			what := ""
			switch acked := d.Outcome == Acked && d.EndReturn < intact; {
			case i == j:
			case acked && other.Call > d.EndReturn:
				what = "given again after it was acknowledged"
			case acked && i < j && other.Outcome == Acked && other.EndReturn < intact:
				what = "acknowledged twice"
			case d.Return < other.Call && other.Return < min(d.Call+d.Lease, d.EndCall):
				what = "given while somebody had it"
			}
			if what != "" {
				return []Violation{{Rule: "queue", What: fmt.Sprintf("%s of %s: %s", d.ID, d.Queue, what), Part: texts(d, other)}}
			}
		}
	}
	return nil
}

// disordered reports entries of one producer whose first deliveries were in another order than they were put. It checks
// only first attempts: an entry whose first delivery went to a call without an answer is delivered out of order, with a
// higher attempt.
func disordered(entries []Entry, byID map[string][]Delivery) []Violation {
	type line struct {
		queue    string
		producer int
	}
	lines := make(map[line][]Delivery)
	entries = slices.Clone(entries)
	slices.SortFunc(entries, func(a, b Entry) int { return cmp.Compare(a.N, b.N) })
	for _, e := range entries {
		for _, d := range byID[e.ID] {
			if l := (line{e.Queue, e.Producer}); d.Attempt == 1 && e.Return != Never {
				lines[l] = append(lines[l], d)
			}
		}
	}
	var found []Violation
	for _, of := range lines {
		var late Delivery // of the deliveries so far, the one that was asked for last
		for _, d := range of {
			if d.Return < late.Call {
				found = append(found, Violation{Rule: "queue", What: d.ID + " of " + d.Queue + ": given before one that was put before it", Part: texts(late, d)})
				break
			}
			if d.Call > late.Call {
				late = d
			}
		}
	}
	return found
}

func missing(entries []Entry, byID map[string][]Delivery) []Violation {
	var found []Violation
	for _, e := range entries {
		gone := slices.ContainsFunc(byID[e.ID], func(d Delivery) bool { return d.End == Ack })
		if e.Return != Never && !gone {
			found = append(found, Violation{Rule: "queue", What: e.ID + " of " + e.Queue + ": lost", Part: append(texts(e), texts(byID[e.ID]...)...)})
		}
	}
	return found
}
