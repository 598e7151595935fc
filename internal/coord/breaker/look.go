package breaker

import (
	"cmp"
	"context"
	"fmt"
	"math"
	"strings"

	"github.com/coxswain-sidecar/coxswain/client/api"
	"github.com/coxswain-sidecar/coxswain/internal/coord"
	"github.com/coxswain-sidecar/coxswain/internal/lua"
)

// Get reads a breaker.
func (b *Breakers) Get(ctx context.Context, _ coord.Caller, p *api.BreakerParams) (api.BreakerGetResult, error) {
	at, _, err := b.find(p.Name, p.Pool, p.Policy)
	if err != nil {
		return api.BreakerGetResult{}, err
	}
	out, err := lua.Run(ctx, b.runner, GetScript, at.in(), lua.StoredReply{})
	if err != nil {
		return api.BreakerGetResult{}, coord.Failed("breaker "+p.Name+": get", err)
	}
	v := out.Value
	r := api.BreakerGetResult{
		State: v.State, Generation: v.Generation, Policy: at.policy.Name, Failures: v.Failures, Successes: v.Successes,
		Probes: v.Probes, OpenForMS: coord.CeilMS(v.OpenUS).Milliseconds(), Opened: v.Opened,
		WindowCalls: v.Calls, WindowFailed: v.Failed, WindowSlow: v.Slow, ChangedAtMS: changedAtMS(v),
	}
	if v.Forced {
		r.ForcedAtMS = r.ChangedAtMS
	}
	return r, nil
}

// List lists breakers as coord.Listing does: those that are no member's, or with a pool those
// of its members.
func (b *Breakers) List(ctx context.Context, _ coord.Caller, p *api.BreakerListParams) (r api.BreakerListResult, err error) {
	if p.Pool != "" {
		r.Breakers, r.Cursor, err = coord.Paged(ctx, api.BreakerList.Name, p.Cursor, p.Count, b.membersOf(p.Pool, p.State))
		return r, err
	}
	r.Breakers, r.Cursor, err = b.listing(p.State).Page(ctx, p.Cursor, p.Count)
	return r, err
}

func (b *Breakers) listing(state string) coord.Listing[api.BreakerListed] {
	policyOf := func(key string) (name string, _ Policy, ok bool) {
		name, ok = b.keys.NameOf(key, kindBreaker)
		p, _ := b.policies.Find("", name) // without the name of a policy, it never fails
		return name, p, ok
	}
	return coord.Listing[api.BreakerListed]{
		Runner: b.runner, Method: api.BreakerList.Name, Pattern: b.keys.Pattern(kindBreaker),
		Read: func(ctx context.Context, keys []string) ([]api.BreakerListed, error) {
			return coord.ReadEach(ctx, b.runner, GetScript, keys, func(key string) (In, bool) {
				_, p, ok := policyOf(key)
				return In{Breaker: key, Field: fieldBreaker, Policy: p.text()}, ok
			}, func(key string, v GetOut) (api.BreakerListed, bool) {
				name, p, _ := policyOf(key)
				return listed(name, p, v), chosen(state, v)
			})
		},
	}
}

// membersOf returns a function that reads one page of the breakers of a pool's members, and returns those in the
// given state.
func (b *Breakers) membersOf(pool, state string) func(context.Context, string, int64) ([]api.BreakerListed, string, error) {
	return func(ctx context.Context, cursor string, count int64) (rows []api.BreakerListed, next string, _ error) {
		at, err := coord.HashCursor(cursor)
		if err != nil {
			return nil, "", err
		}
		p, _ := b.policies.Find("", pool) // without the name of a policy, it never fails
		out, err := lua.Run(ctx, b.runner, MembersScript, MembersIn{
			Breakers: b.keys.MemberBreakers(pool), Cursor: at, Count: count, Policy: p.text(),
		}, lua.StoredReply{})
		for _, m := range out.Value.Members {
			if chosen(state, m.GetOut) {
				rows = append(rows, listed(m.Name, p, m.GetOut))
			}
		}
		return rows, coord.NextOfHash(out.Value.Cursor), err
	}
}

// chosen reports whether a list of the breakers in this state (empty: in any) includes a breaker.
func chosen(state string, v GetOut) bool {
	return state == "" || state == v.State || state == api.BreakerNotClosed && v.State != api.BreakerClosed
}

func listed(name string, p Policy, v GetOut) api.BreakerListed {
	return api.BreakerListed{
		Name: name, State: v.State, Policy: p.Name, Failures: v.Failures, Successes: v.Successes, Probes: v.Probes,
		OpenForMS: coord.CeilMS(v.OpenUS).Milliseconds(), Opened: v.Opened, WindowCalls: v.Calls, WindowFailed: v.Failed, WindowSlow: v.Slow,
		ChangedAtMS: changedAtMS(v),
	}
}

func changedAtMS(v GetOut) int64 { return max(0, v.ChangedUS) / 1000 }

// Explain reports how a call would be answered, and by which policy.
func (b *Breakers) Explain(ctx context.Context, _ coord.Caller, p *api.BreakerParams) (api.BreakerExplainResult, error) {
	at, _, err := b.find(p.Name, p.Pool, p.Policy)
	if err != nil {
		return api.BreakerExplainResult{}, err
	}
	out, err := lua.Run(ctx, b.runner, GetScript, at.in(), lua.StoredReply{})
	if err != nil {
		return api.BreakerExplainResult{}, coord.Failed("breaker "+p.Name+": explain", err)
	}
	v := out.Value
	r := api.BreakerExplainResult{
		RetryAfterMS: coord.WaitMS(v.RetryUS), State: v.State, Generation: v.Generation, ChangedAtMS: changedAtMS(v),
		Failures: v.Failures, Successes: v.Successes, Opened: v.Opened, NextOpenMS: at.policy.openMS(v.Opened),
		Probes: v.Probes, MostProbes: v.Most, ProbeLeftMS: coord.WaitMS(v.ProbeUS),
		WindowCalls: v.Calls, WindowFailed: v.Failed, WindowSlow: v.Slow,
		Policy: at.policy.Name, PolicyFrom: policyFrom(p.Policy, at.policy), Settings: at.policy.BreakerPolicy,
	}
	if *r.Settings.Window == (api.BreakerWindow{}) {
		r.Settings.Window = nil
	}
	r.Decision = decision(v)
	r.Text = explained(p, r)
	return r, nil
}

// openMS returns how long the next opening of a breaker lasts, without the jitter, if it has opened this many times
// in a row. breaker_open in lib/breaker_step.lua sets the real time.
func (p Policy) openMS(opened int64) int64 {
	return int64(min(float64(p.OpenMS)*math.Pow(2, float64(min(opened, 50))), float64(p.OpenMaxMS)))
}

// The reasons why a policy applies to a breaker.
const (
	fromCall    = "given"
	fromName    = "name"
	fromDefault = "default"
)

func policyFrom(given string, p Policy) string {
	switch {
	case given != "":
		return fromCall
	case p.Name == DefaultPolicy.Name:
		return fromDefault
	default:
		return fromName
	}
}

// decision returns the answer that a call would get.
func decision(v GetOut) string {
	switch {
	case v.RetryUS != 0:
		return v.State
	case v.State == api.BreakerOpen || v.State == api.BreakerHalfOpen:
		return api.ExplainProbe
	default:
		return api.ExplainAllowed
	}
}

// explained returns the decision about a call as a sentence.
func explained(p *api.BreakerParams, r api.BreakerExplainResult) string {
	name := p.Name
	if p.Pool != "" {
		name = p.Name + " of pool " + p.Pool
	}
	switch r.Decision {
	case api.BreakerForcedOpen:
		return fmt.Sprintf("breaker %s refuses every call: it was forced open, and stays so until breaker.reset", name)
	case api.BreakerOpen:
		return fmt.Sprintf("breaker %s is open and refuses every call; a probe may pass in %v", name, coord.Millis(r.RetryAfterMS))
	case api.BreakerHalfOpen:
		return fmt.Sprintf("breaker %s is half open and its probes are out, %d of %d; another may pass once one is reported, or in %v",
			name, r.Probes, r.MostProbes, coord.Millis(r.RetryAfterMS))
	case api.ExplainProbe:
		return fmt.Sprintf("breaker %s lets a call pass as a probe; %d of %d probes that close it have succeeded", name, r.Successes, r.Settings.SuccessThreshold)
	}
	switch r.State {
	case api.BreakerForcedClosed:
		return fmt.Sprintf("breaker %s lets every call pass: it was forced closed, and stays so until breaker.reset", name)
	case api.BreakerDisabled:
		return fmt.Sprintf("breaker %s lets every call pass and counts nothing: it was disabled, and stays so until breaker.reset", name)
	}
	return fmt.Sprintf("breaker %s lets calls pass: it is closed, with %s", name, strings.Join(near(r), " and "))
}

// near describes how near a closed breaker is to opening, one text per threshold.
func near(r api.BreakerExplainResult) []string {
	all := []string{fmt.Sprintf("%d of %d failures in a row that open it", r.Failures, r.Settings.FailureThreshold)}
	w := cmp.Or(r.Settings.Window, &api.BreakerWindow{})
	rate := func(n, most int64, what string) {
		if most > 0 && r.WindowCalls > 0 {
			all = append(all, fmt.Sprintf("%d of %d calls in its window %s, of which %d %% open it from %d calls on",
				n, r.WindowCalls, what, most, w.MinCalls))
		}
	}
	rate(r.WindowFailed, w.FailureRate, "failed")
	rate(r.WindowSlow, w.SlowRate, "slow")
	return all
}
