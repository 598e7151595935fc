package ratelimit

import (
	"context"
	"errors"
	"fmt"
	"strconv"
	"sync"

	"github.com/coxswain-sidecar/coxswain/client/api"
	"github.com/coxswain-sidecar/coxswain/internal/coord"
)

// AcquireMany takes from 1 to api.MaxItems limits and answers in their order.
// None waits. Those of one key go one after the other, so that the earlier comes
// first; all others side by side.
//
// With atomic all are taken together or none is: they have one rule and what they
// count under in common, else it is InvalidArgument. Then they share one
// decision, and one grant.
func (l *Limiter) AcquireMany(ctx context.Context, c coord.Caller, p *api.RatelimitManyParams) (api.RatelimitManyResult, error) {
	n := len(p.Items)
	if n == 0 || n > api.MaxItems {
		return api.RatelimitManyResult{}, coord.Invalid("items: there are %d; give 1 to %d", n, api.MaxItems)
	}
	all := api.RatelimitManyResult{Results: make([]api.RatelimitItemResult, n)}
	items := make([]api.RatelimitParams, n)
	for i, it := range p.Items {
		items[i] = api.RatelimitParams{
			Rule: it.Rule, Algorithm: it.Algorithm, Limits: it.Limits, Key: it.Key, Group: it.Group, Cost: it.Cost, FailMode: it.FailMode,
		}
	}
	if p.Atomic {
		d, err := l.acquireTogether(ctx, c, items)
		if err != nil {
			return api.RatelimitManyResult{}, err
		}
		for i := range all.Results {
			all.Results[i].Result = &d.RatelimitResult
		}
		return all, nil
	}
	for i, err := range l.acquireApart(ctx, c, items, all.Results) {
		if err != nil {
			all.Results[i] = api.RatelimitItemResult{Error: c.ItemError(err)}
		}
	}
	return all, nil
}

// acquireApart fills in the result of each item, or returns the error of it.
func (l *Limiter) acquireApart(ctx context.Context, c coord.Caller, items []api.RatelimitParams, results []api.RatelimitItemResult) []error {
	// What a call counts under, whatever its limit is.
	type state struct{ rule, part, counted string }
	var order []state
	lines, errs := make(map[state][]int, len(items)), make([]error, len(items))
	for i := range items {
		t, err := l.resolve(&items[i])
		if err != nil {
			errs[i] = err
			continue
		}
		s := state{t.lim.options.Name, t.lim.part, t.counted}
		if lines[s] == nil {
			order = append(order, s)
		}
		lines[s] = append(lines[s], i)
	}
	sideBySide(len(order), func(n int) {
		for _, i := range lines[order[n]] {
			var d decision
			d, errs[i] = l.decide(ctx, itemOf(c, i), &items[i], items[i].Cost == 0)
			results[i].Result = &d.RatelimitResult
		}
	})
	return errs
}

// acquireTogether takes what all items cost at once. A key that is refused by the
// rule's list refuses all of them, and one that is allowed by it costs nothing.
func (l *Limiter) acquireTogether(ctx context.Context, c coord.Caller, items []api.RatelimitParams) (decision, error) {
	whole := items[0]
	var first target
	sum, list := int64(0), listAllow
	for i, it := range items {
		t, err := l.resolve(&items[i])
		if i == 0 {
			first = t
		}
		switch {
		case err != nil:
			return decision{}, within(fmt.Sprintf("items[%d]", i), err)
		case t.counted != first.counted || !t.lim.same(first.lim):
			return decision{}, coord.Invalid("items[%d]: it counts apart from items[0]; with atomic all have one rule and one group: "+
				"give both the same group, or leave atomic out", i)
		case it.FailMode != items[0].FailMode:
			return decision{}, coord.Invalid("items[%d].fail_mode: it is not that of items[0]; with atomic all have one", i)
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
	if sum > coord.MaxLimit {
		return decision{}, coord.Invalid("items: they cost %d together; with atomic at most %d", sum, int64(coord.MaxLimit))
	}
	if list == "" {
		whole.Cost = sum
	}
	return l.decide(ctx, c, &whole, whole.Cost == 0)
}

// same reports whether two limits are one, however often it was made ready.
func (l *limit) same(o *limit) bool {
	return l.options.Name == o.options.Name && l.algorithm == o.algorithm && l.signature == o.signature && l.options.MaxConcurrent == o.options.MaxConcurrent
}

// anyTries bounds how often a key is tried whose room somebody else took in
// between.
const anyTries = 3

// AcquireAny takes the cost for the first of the keys that may go now, or tells
// which may go soonest, with its refusal. All are looked at side by side; what
// happens between the look and the try is told by the try.
func (l *Limiter) AcquireAny(ctx context.Context, c coord.Caller, p *api.RatelimitAnyParams) (api.RatelimitAnyResult, error) {
	if len(p.Keys) == 0 || len(p.Keys) > api.MaxItems {
		return api.RatelimitAnyResult{}, coord.Invalid("keys: there are %d; give 1 to %d", len(p.Keys), api.MaxItems)
	}
	for i, k := range p.Keys {
		if k == "" {
			return api.RatelimitAnyResult{}, coord.CheckText(fmt.Sprintf("keys[%d]", i), k)
		}
	}
	one := api.RatelimitParams{Rule: p.Rule, Algorithm: p.Algorithm, Limits: p.Limits, Cost: p.Cost, FailMode: p.FailMode}
	at, d, err := firstOf(p.Keys, func(i int, peek bool) (decision, error) {
		it := one
		it.Key = p.Keys[i]
		// The request id goes along with a look: what a call before this one took
		// under it is its answer.
		return l.decide(ctx, itemOf(c, i), &it, peek || it.Cost == 0)
	})
	if err != nil {
		return api.RatelimitAnyResult{}, err
	}
	return api.RatelimitAnyResult{Key: p.Keys[at], Result: d.RatelimitResult}, nil
}

// firstOf finds the key that may go, or else the one that may go soonest, by its place.
func firstOf(keys []string, ask func(i int, peek bool) (decision, error)) (int, decision, error) {
	seen, errs := make([]decision, len(keys)), make([]error, len(keys))
	sideBySide(len(keys), func(i int) { seen[i], errs[i] = ask(i, true) })
	soonest, tries := -1, 0
	for i, d := range seen {
		if errs[i] != nil && faulty(errs[i]) {
			return 0, decision{}, errs[i]
		}
		if errs[i] == nil && d.Allowed && d.Replayed {
			d, err := ask(i, false) // what became of its place is not seen by a look
			return i, d, err
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
				return 0, decision{}, errs[i]
			}
			if seen[i].Allowed {
				return i, seen[i], nil
			}
		}
		if soonest < 0 || sooner(seen[i], seen[soonest]) {
			soonest = i
		}
	}
	if soonest < 0 {
		return 0, decision{}, errs[0]
	}
	if tries > 0 {
		return soonest, seen[soonest], nil
	}
	// Looks are counted nowhere; this is the refusal that is.
	d, err := ask(soonest, false)
	return soonest, d, err
}

// sooner reports whether a refused call may go before another.
func sooner(a, b decision) bool {
	return a.RetryAfterMS != neverMS && (b.RetryAfterMS == neverMS || a.RetryAfterMS < b.RetryAfterMS)
}

// faulty reports whether an error is about the call, not about one key's Redis.
func faulty(err error) bool {
	var e *coord.Error
	return errors.As(err, &e) && (e.Code == api.InvalidArgument || e.Code == api.NotFound || e.Code == api.Conflict)
}

// within puts a path before what an error says of a parameter.
func within(path string, err error) error {
	var e *coord.Error
	if !errors.As(err, &e) || e.Code != api.InvalidArgument && e.Code != api.NotFound {
		return err
	}
	inner := *e
	inner.Err = fmt.Errorf("%s.%w", path, e.Err)
	return &inner
}

// itemOf is the caller of one of several scripts that one call needs.
func itemOf(c coord.Caller, i int) coord.Caller {
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
