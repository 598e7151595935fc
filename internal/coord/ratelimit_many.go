package coord

import (
	"context"
	"errors"
	"fmt"
	"strconv"
	"sync"

	"github.com/coxswain-sidecar/coxswain/client/api"
)

// ItemDecision is the decision of one of many, or why there is none.
type ItemDecision struct {
	Decision
	Err error
}

// AcquireMany takes from 1 to api.MaxItems limits and answers in their order.
// None waits. Those of one key go one after the other, so that the earlier comes
// first; all others side by side.
//
// With atomic all are taken together or none is: they have one rule and what they
// count under in common, else it is InvalidArgument. Then they share one
// decision, and one grant.
func (l *RateLimiter) AcquireMany(ctx context.Context, c Caller, items []LimitRequest, atomic bool) ([]ItemDecision, error) {
	if len(items) == 0 || len(items) > api.MaxItems {
		return nil, invalid("items: there are %d; give 1 to %d", len(items), api.MaxItems)
	}
	if atomic {
		d, err := l.acquireTogether(ctx, c, items)
		if err != nil {
			return nil, err
		}
		all := make([]ItemDecision, len(items))
		for i := range all {
			all[i].Decision = d
		}
		return all, nil
	}
	// What a call counts under, whatever its limit is.
	type state struct{ rule, part, counted string }
	answers := make([]ItemDecision, len(items))
	var order []state
	lines := make(map[state][]int, len(items))
	for i, it := range items {
		t, err := l.resolve(it.LimitRef)
		if err != nil {
			answers[i].Err = err
			continue
		}
		s := state{t.lim.rule, t.lim.part, t.counted}
		if lines[s] == nil {
			order = append(order, s)
		}
		lines[s] = append(lines[s], i)
	}
	sideBySide(len(order), func(n int) {
		for _, i := range lines[order[n]] {
			answers[i].Decision, answers[i].Err = l.Acquire(ctx, c.item(i), items[i])
		}
	})
	return answers, nil
}

// acquireTogether takes what all items cost at once. A key that is refused by the
// rule's list refuses all of them, and one that is allowed by it costs nothing.
func (l *RateLimiter) acquireTogether(ctx context.Context, c Caller, items []LimitRequest) (Decision, error) {
	whole := items[0]
	var first target
	sum, list := int64(0), listAllow
	for i, it := range items {
		t, err := l.resolve(it.LimitRef)
		if err == nil {
			err = it.check(t.lim.algorithm)
		}
		if i == 0 {
			first = t
		}
		switch {
		case err != nil:
			return Decision{}, within(fmt.Sprintf("items[%d]", i), err)
		case t.counted != first.counted || !t.lim.same(first.lim):
			return Decision{}, invalid("items[%d]: it counts apart from items[0]; with atomic all have one rule and one group: "+
				"give both the same group, or leave atomic out", i)
		case it.FailMode != items[0].FailMode:
			return Decision{}, invalid("items[%d].fail_mode: it is not that of items[0]; with atomic all have one", i)
		case t.list == listAllow || list == listDeny:
			continue
		case t.list == listDeny:
			whole, list = it, listDeny
			continue
		case list == listAllow:
			whole, list = it, ""
		}
		sum += it.Cost
	}
	if sum > maxLimit {
		return Decision{}, invalid("items: they cost %d together; with atomic at most %d", sum, int64(maxLimit))
	}
	if list == "" {
		whole.Cost = sum
	}
	return l.Acquire(ctx, c, whole)
}

// same reports whether two limits are one, however often it was made ready.
func (l *limit) same(o *limit) bool {
	return l.rule == o.rule && l.algorithm == o.algorithm && l.signature == o.signature && l.maxConcurrent == o.maxConcurrent
}

// AnyRequest asks for whichever of several keys may go. The Key of its
// LimitRequest is not used, nor is its Wait.
type AnyRequest struct {
	LimitRequest
	Keys []string // the preferred first
}

// anyTries bounds how often a key is tried whose room somebody else took in
// between.
const anyTries = 3

// AcquireAny takes the cost for the first of the keys that may go now, or tells
// which may go soonest, with its refusal. All are looked at side by side; what
// happens between the look and the try is told by the try.
func (l *RateLimiter) AcquireAny(ctx context.Context, c Caller, r AnyRequest) (string, Decision, error) {
	if len(r.Keys) == 0 || len(r.Keys) > api.MaxItems {
		return "", Decision{}, invalid("keys: there are %d; give 1 to %d", len(r.Keys), api.MaxItems)
	}
	for i, k := range r.Keys {
		if err := checkText(fmt.Sprintf("keys[%d]", i), k); err != nil {
			return "", Decision{}, err
		}
	}
	ask := func(i int, peek bool) (Decision, error) {
		one := r.LimitRequest
		one.Key, one.Wait = r.Keys[i], 0
		// The request id goes along with a look: what a call before this one took
		// under it is its answer.
		return l.decide(ctx, c.item(i), one, peek || r.Cost == 0)
	}
	seen, errs := make([]Decision, len(r.Keys)), make([]error, len(r.Keys))
	sideBySide(len(r.Keys), func(i int) { seen[i], errs[i] = ask(i, true) })
	soonest, tries := -1, 0
	for i, d := range seen {
		if errs[i] != nil && faulty(errs[i]) {
			return "", Decision{}, errs[i]
		}
		if errs[i] == nil && d.Allowed && d.Replayed {
			d, err := ask(i, false) // what became of its place is not seen by a look
			return r.Keys[i], d, err
		}
	}
	for i := range seen {
		switch {
		case errs[i] != nil:
			continue
		case seen[i].Allowed && tries == anyTries:
			continue
		case seen[i].Allowed:
			tries++
			if seen[i], errs[i] = ask(i, false); errs[i] != nil {
				return "", Decision{}, errs[i]
			}
			if seen[i].Allowed {
				return r.Keys[i], seen[i], nil
			}
		}
		if soonest < 0 || sooner(seen[i], seen[soonest]) {
			soonest = i
		}
	}
	if soonest < 0 {
		return "", Decision{}, errs[0]
	}
	if tries > 0 {
		return r.Keys[soonest], seen[soonest], nil
	}
	// Looks are counted nowhere; this is the refusal that is.
	d, err := ask(soonest, false)
	return r.Keys[soonest], d, err
}

// sooner reports whether a refused call may go before another.
func sooner(a, b Decision) bool {
	return a.RetryAfter != Never && (b.RetryAfter == Never || a.RetryAfter < b.RetryAfter)
}

// faulty reports whether an error is about the call, not about one key's Redis.
func faulty(err error) bool {
	var e *Error
	return errors.As(err, &e) && (e.Code == api.InvalidArgument || e.Code == api.NotFound || e.Code == api.Conflict)
}

// within puts a path before what an error says of a parameter.
func within(path string, err error) error {
	var e *Error
	if !errors.As(err, &e) || e.Code != api.InvalidArgument && e.Code != api.NotFound {
		return err
	}
	inner := *e
	inner.Err = fmt.Errorf("%s.%w", path, e.Err)
	return &inner
}

// item is the caller of one of several scripts that one call needs.
func (c Caller) item(i int) Caller {
	if c.RequestID != "" {
		c.RequestID += "." + strconv.Itoa(i)
	}
	return c
}

// sideBySide runs f for 0 to n-1, all at once, and returns when all have. A
// panic is the caller's, who is ready for one.
func sideBySide(n int, f func(i int)) {
	var all sync.WaitGroup
	var once sync.Once
	var fault any
	for i := range n {
		all.Go(func() {
			defer func() {
				if p := recover(); p != nil {
					once.Do(func() { fault = p })
				}
			}()
			f(i)
		})
	}
	all.Wait()
	if fault != nil {
		panic(fault)
	}
}
