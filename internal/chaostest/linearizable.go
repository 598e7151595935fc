package chaostest

import (
	"cmp"
	"context"
	"fmt"
	"slices"
	"sort"
	"time"

	"github.com/anishathalye/porcupine"
)

// checkTime bounds the search for one lock's order. It is much longer than a search takes, since a search without a
// verdict counts as a violation.
const checkTime = 60 * time.Second

// owner is the state of a lock that is bound to its TTL, which is longer than any hold, so that only the owner ends it.
type owner struct {
	token string // empty: free
	fence uint64 // of the last grant whose fence is known
	// silent reports that the lock was granted to token by a call without an answer; its fence is above this one.
	silent bool
}

// Linearizable reports each lock or semaphore whose operations cannot be put in one order, each at an instant between
// its call and its return, in which the object keeps its promises: one owner at a time, or at most as many permits as
// its limit; rising fences; and a refusal only if there is not enough free. The last is not required of objects for
// which queued returns true, where a call may be refused because others are in the waiting line.
func Linearizable(ops []LockOp, queued func(name string) bool) []Violation {
	byName := make(map[string][]LockOp)
	for _, o := range ops {
		byName[o.Name] = append(byName[o.Name], o)
	}
	names := make([]string, 0, len(byName))
	for name := range byName {
		names = append(names, name)
	}
	slices.Sort(names)
	var found []Violation
	for _, name := range names {
		model := lockModel(queued(name))
		if byName[name][0].Limit > 0 {
			model = semaphoreModel(queued(name))
		}
		switch verdict := order(&model, byName[name]); verdict {
		case porcupine.Ok:
		case porcupine.Unknown:
			found = append(found, Violation{Rule: "linearizable", What: fmt.Sprintf("%s: no verdict on %d operations in %v", name, len(byName[name]), checkTime)})
		default:
			found = append(found, Violation{
				Rule: "linearizable", What: name + ": no order of these operations is possible; the last to return is one too many",
				Part: texts(shortest(&model, byName[name])...),
			})
		}
	}
	return found
}

func order(m *porcupine.Model, ops []LockOp) porcupine.CheckResult {
	history := make([]porcupine.Operation, len(ops))
	for i, o := range ops {
		history[i] = porcupine.Operation{ClientId: i, Input: o, Call: int64(o.Call), Return: int64(o.Return)}
	}
	return porcupine.CheckOperationsTimeout(*m, history, checkTime)
}

// shortest returns the last operations of the shortest prefix of a history that is impossible by itself. Every prefix
// of a possible history is possible, so the first impossible one is found by binary search.
func shortest(m *porcupine.Model, ops []LockOp) []LockOp {
	const shown = 16
	ops = slices.Clone(ops)
	slices.SortFunc(ops, func(a, b LockOp) int { return cmp.Compare(a.Return, b.Return) })
	n := sort.Search(len(ops), func(i int) bool { return order(m, Until(ops, ops[i].Return)) == porcupine.Illegal })
	if n == len(ops) { // a check within the search ended without a verdict
		n--
	}
	part := Until(ops, ops[n].Return)
	slices.SortStableFunc(part, func(a, b LockOp) int { return cmp.Compare(a.Return, b.Return) })
	// All operations without a return may matter, whenever they began; of the others only the last ones are returned.
	settled := slices.IndexFunc(part, func(o LockOp) bool { return o.Return == Never })
	if settled < 0 {
		settled = len(part)
	}
	return part[max(0, settled-shown):]
}

// Until returns a history as it was known at one time: operations that had not returned have an unknown outcome.
func Until(ops []LockOp, end time.Duration) []LockOp {
	var known []LockOp
	for _, o := range ops {
		if o.Call > end {
			continue
		}
		if o.Return > end {
			o.Return, o.Outcome, o.Fence = Never, Unknown, 0
		}
		known = append(known, o)
	}
	return known
}

func lockModel(queued bool) porcupine.Model {
	m := porcupine.NondeterministicModel{
		Init: func() []any { return []any{owner{}} },
		StepContext: func(_ context.Context, state, input, _ any) []any {
			return step(state.(owner), input.(LockOp), queued)
		},
	}
	return m.ToModel()
}

// step returns the possible states after an operation; none means that it cannot have had this outcome.
func step(s owner, o LockOp, queued bool) []any {
	mine := s.token == o.Token
	switch o.Kind {
	case Acquire:
		return acquire(s, o, queued)
	case Renew:
		switch {
		case o.Outcome == Unknown,
			o.Outcome == Renewed && mine && (s.silent || s.fence == o.Fence),
			o.Outcome == Expired && s.token == "",
			o.Outcome == NotOwner && s.token != "" && !mine:
			return []any{s}
		}
		return nil
	default:
		freed := owner{fence: s.fence}
		switch {
		case o.Outcome == Released && mine:
			return []any{freed}
		case o.Outcome == Released:
			return nil
		case o.Outcome == Unknown && mine:
			return []any{s, freed}
		case mine:
			// The first try released the lock and its answer was lost; a later try got the answer for the lock's later
			// state.
			return []any{freed}
		}
		return []any{s}
	}
}

func acquire(s owner, o LockOp, queued bool) []any {
	mine := s.token == o.Token
	switch o.Outcome {
	case Acquired:
		granted := owner{token: o.Token, fence: o.Fence}
		switch {
		case mine && !s.silent && s.fence == o.Fence, // a repeated acquire, which changes nothing
			mine && s.silent && s.fence < o.Fence,
			s.token == "" && s.fence < o.Fence:
			return []any{granted}
		}
	case Busy:
		if queued || s.token != "" && !mine {
			return []any{s}
		}
	case Unknown:
		if s.token == "" {
			return []any{s, owner{token: o.Token, fence: s.fence, silent: true}}
		}
		return []any{s}
	default: // Gone is impossible: a worker that repeats an acquire has not released its token.
	}
	return nil
}
