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

// AcquireMany takes from 1 to api.MaxItems limits, and answers in their order. No item waits.
// Items that count under the same key are decided one after the other, in their order; all
// others run concurrently.
//
// With atomic it takes all items or none. They must have the same rule and count under the
// same name, else the error is InvalidArgument. They share one decision and one grant.
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
	// state identifies the state that an item is charged to.
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
	concurrently(len(order), func(n int) {
		for _, i := range lines[order[n]] {
			var d decision
			d, errs[i] = l.decide(ctx, itemOf(c, i), &items[i], items[i].Cost == 0)
			results[i].Result = &d.RatelimitResult
		}
	})
	return errs
}

// acquireTogether takes the costs of all items at once. A key in the rule's deny list refuses
// all of them; an item whose key is in its allow list costs nothing.
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

// same reports whether two compiled limits are the same limit.
func (l *limit) same(o *limit) bool {
	return l.options.Name == o.options.Name && l.algorithm == o.algorithm && l.signature == o.signature && l.options.MaxConcurrent == o.options.MaxConcurrent
}

// anyTries is how many keys are tried that had room in the peek: another call may take the
// room in between.
const anyTries = 3

// AcquireAny takes the cost for the first of the keys that admits it now, or returns the
// refusal of the key that may admit it soonest. It peeks at all keys concurrently, and then
// takes the cost of one; the result is that of the take.
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
		// A peek has the request id too, so that it returns what an earlier call with the
		// same request id took.
		return l.decide(ctx, itemOf(c, i), &it, peek || it.Cost == 0)
	})
	if err != nil {
		return api.RatelimitAnyResult{}, err
	}
	return api.RatelimitAnyResult{Key: p.Keys[at], Result: d.RatelimitResult}, nil
}

// firstOf returns the index and the decision of the first key that admits the call, or else
// of the one that may admit it soonest.
func firstOf(keys []string, ask func(i int, peek bool) (decision, error)) (int, decision, error) {
	seen, errs := make([]decision, len(keys)), make([]error, len(keys))
	concurrently(len(keys), func(i int) { seen[i], errs[i] = ask(i, true) })
	soonest, tries := -1, 0
	for i, d := range seen {
		if errs[i] != nil && faulty(errs[i]) {
			return 0, decision{}, errs[i]
		}
		if errs[i] == nil && d.Allowed && d.Replayed {
			d, err := ask(i, false) // a peek does not show whether its permit is still held
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
	// A peek is not counted; so the key is asked again, for a refusal that is.
	d, err := ask(soonest, false)
	return soonest, d, err
}

// sooner reports whether a refused call may succeed before another.
func sooner(a, b decision) bool {
	return a.RetryAfterMS != neverMS && (b.RetryAfterMS == neverMS || a.RetryAfterMS < b.RetryAfterMS)
}

// faulty reports whether an error is the fault of the call, not of the Redis of one key.
func faulty(err error) bool {
	var e *coord.Error
	return errors.As(err, &e) && (e.Code == api.InvalidArgument || e.Code == api.NotFound || e.Code == api.Conflict)
}

// within prefixes the parameter that an error names with a path.
func within(path string, err error) error {
	var e *coord.Error
	if !errors.As(err, &e) || e.Code != api.InvalidArgument && e.Code != api.NotFound {
		return err
	}
	inner := *e
	inner.Err = fmt.Errorf("%s.%w", path, e.Err)
	return &inner
}

// itemOf is the caller of item i of a call, with a request id of its own.
func itemOf(c coord.Caller, i int) coord.Caller {
	if c.RequestID != "" {
		c.RequestID += "." + strconv.Itoa(i)
	}
	return c
}

// concurrently runs f for 0 to n-1, each on a goroutine, and returns when all have returned.
// A panic of f is raised again in the caller, which recovers from it.
func concurrently(n int, f func(i int)) {
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
