package coord_test

import (
	"context"
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	"pgregory.net/rapid"

	"github.com/coxswain-sidecar/coxswain/client/api"
	"github.com/coxswain-sidecar/coxswain/internal/conformance"
	"github.com/coxswain-sidecar/coxswain/internal/coord"
	"github.com/coxswain-sidecar/coxswain/internal/coord/lease"
	"github.com/coxswain-sidecar/coxswain/internal/coord/lock"
	"github.com/coxswain-sidecar/coxswain/internal/coordtest"
	"github.com/coxswain-sidecar/coxswain/internal/lua"
	"github.com/coxswain-sidecar/coxswain/internal/luatest"
	"github.com/coxswain-sidecar/coxswain/internal/redistest"
)

// answer is the result of a call that does not wait, or the one that an explanation predicts.
type answer struct {
	decision, id string
	retryMS      int64
}

// told makes the answer of an acquisition: the reason of a refusal, unless it was acquired.
func told(acquired bool, why, id string, retryMS int64) answer {
	if acquired {
		return answer{api.ExplainAcquired, id, retryMS}
	}
	return answer{why, "", retryMS}
}

// life is a random history of one object, by a clock that stands still between its steps.
type life struct {
	t     *rapid.T
	s     *coordtest.Sidecar
	clock *conformance.Clock
	name  string
	rule  string // of permits
	story []string
}

func (l *life) draw(what string, from ...string) string {
	return rapid.SampledFrom(from).Draw(l.t, what)
}

func (l *life) ms(what string, from ...int64) int64 { return rapid.SampledFrom(from).Draw(l.t, what) }

// done requires that a step did not fail, and records it.
func (l *life) done(err error, format string, args ...any) {
	l.story = append(l.story, fmt.Sprintf("at %v ", l.clock.Now().Sub(conformance.NewClock().Now()))+fmt.Sprintf(format, args...))
	require.NoError(l.t, err, l.told())
}

func (l *life) told() string { return strings.Join(l.story, "\n") }

func (l *life) pass() {
	d := l.ms("pass", 1, 99, 100, 1000, 5000, 10_000, 30_000)
	l.clock.Advance(time.Duration(d) * time.Millisecond)
	l.done(nil, "%d ms have passed", d)
}

// agree compares an explanation with the answer to the call that comes next.
func (l *life) agree(explained, asked answer) {
	if explained.decision != api.ExplainAcquired {
		explained.id = "" // the member that is possible first, which an acquisition does not name
	}
	l.done(nil, "asked: %+v", asked)
	require.Equal(l.t, asked, explained, l.told())
}

// After any history, an explanation has the same decision and the same time as the answer to the next call.
func TestAnExplanationAgreesWithTheNextCall(t *testing.T) {
	t.Parallel()
	for noun, step := range map[string]func(*life, *[]string){
		"lock": lockStep, "breaker": breakerStep, "pool": poolStep, "permit": permitStep,
	} {
		t.Run(noun, func(t *testing.T) {
			t.Parallel()
			redistest.Stores(t, func(t *testing.T, url string) {
				t.Parallel()
				clock, prefix := conformance.NewClock(), redistest.Prefix(t)
				s := coordtest.NewWith(t, luatest.Open(t, lua.Options{URL: url, Clock: clock.Micros}), prefix, coordtest.Options{Clock: clock})
				rule := api.Rule{
					Name: "member", Algorithm: api.AlgorithmTokenBucket, Limits: []api.Band{{Limit: 2, PeriodMS: 10_000}},
					Overrides: []api.Override{{Exact: "y", Limits: []api.Band{{Limit: 1, PeriodMS: 60_000}}}},
				}
				require.NoError(t, s.Rules.Set([]api.Rule{rule}, 1))
				lives := 0
				rapid.Check(t, func(t *rapid.T) {
					lives++
					l, held := &life{t: t, s: s, clock: clock, name: fmt.Sprint(noun, " ", lives), rule: rule.Name}, []string{}
					for range rapid.IntRange(1, 25).Draw(t, "steps") {
						step(l, &held)
					}
				})
			})
		})
	}
}

// lockStep makes one step in the history of a lock; held are the tokens that held it, the latest last.
func lockStep(l *life, held *[]string) {
	ctx, none := context.Background(), coord.Caller{}
	switch l.draw("step", "ask", "ask", "pass", "pass", "release", "force", "line") {
	case "ask":
		e, err := l.s.Locks.Explain(ctx, none, &api.LockGetParams{Name: l.name})
		l.done(err, "explain")
		ttl := l.ms("ttl", 100, 5000, 30_000)
		r, err := l.s.Locks.Acquire(ctx, none, coordtest.Unbound(l.name, time.Duration(ttl)*time.Millisecond))
		l.done(err, "acquire for %d ms", ttl)
		l.agree(answer{e.Decision, "", e.RetryAfterMS}, told(r.Acquired, r.Reason, "", r.RetryAfterMS))
		if r.Acquired {
			*held = append(*held, r.Token)
		}
	case "pass":
		l.pass()
	case "release":
		if n := len(*held); n > 0 {
			_, err := l.s.Locks.Release(ctx, none, &api.LockReleaseParams{Name: l.name, Token: (*held)[n-1]})
			l.done(err, "release")
		}
	case "force":
		_, err := l.s.Locks.ForceRelease(ctx, none, &api.LockForceReleaseParams{Name: l.name})
		l.done(err, "force release")
	case "line": // a call of another sidecar waits in line, until that sidecar's heartbeat ends
		key := coordtest.LockKey(l.s.Keys, l.name)
		_, err := lua.Run(ctx, l.s.Runner, lock.AcquireScript, lock.AcquireIn{
			Lock: key, LineKeys: lease.LineKeysOf(key), Token: "elsewhere", TTLMS: 100, Waiter: l.draw("waiter", "elsewhere:1", "beyond:2"), HeartbeatMS: 6000,
		}, lua.StoredReply{})
		l.done(err, "another stands in line")
	}
}

// breakerStep makes one step in the history of a breaker; held are the probes that it allowed.
func breakerStep(l *life, held *[]string) {
	ctx, none := context.Background(), coord.Caller{}
	policy := "quick-*"
	switch l.draw("step", "ask", "ask", "pass", "fail", "fail", "report", "force") {
	case "ask":
		e, err := l.s.Breakers.Explain(ctx, none, &api.BreakerParams{Name: l.name, Policy: policy})
		l.done(err, "explain: %+v", e)
		r, err := l.s.Breakers.Allow(ctx, none, &api.BreakerAllowParams{Name: l.name, Policy: policy})
		l.done(err, "allow: %+v", r)
		asked := answer{"allowed", "", r.RetryAfterMS}
		switch {
		case !r.Allowed:
			asked.decision = r.State
		case r.Probe != "":
			asked.decision = api.ExplainProbe
			*held = append(*held, fmt.Sprint(r.Generation, " ", r.Probe))
		}
		l.agree(answer{e.Decision, "", e.RetryAfterMS}, asked)
	case "pass":
		l.pass()
	case "fail":
		_, err := l.s.Breakers.Report(ctx, none, &api.BreakerReportParams{Name: l.name, Policy: policy, Outcome: api.OutcomeFailure})
		l.done(err, "a failure")
	case "report":
		if n := len(*held); n > 0 {
			p := api.BreakerReportParams{Name: l.name, Policy: policy, Outcome: l.draw("outcome", api.OutcomeSuccess, api.OutcomeSuccess, api.OutcomeFailure)}
			_, err := fmt.Sscan((*held)[n-1], &p.Generation, &p.Probe)
			require.NoError(l.t, err)
			*held = (*held)[:n-1]
			_, err = l.s.Breakers.Report(ctx, none, &p)
			l.done(err, "a probe: %s", p.Outcome)
		}
	case "force":
		var err error
		state := l.draw("state", "open", "closed", "disabled", "reset", "reset", "reset")
		if state == "reset" {
			_, err = l.s.Breakers.Reset(ctx, none, &api.BreakerParams{Name: l.name, Policy: policy})
		} else {
			_, err = l.s.Breakers.Force(ctx, none, &api.BreakerForceParams{Name: l.name, Policy: policy, State: state})
		}
		l.done(err, "force %s", state)
	}
}

// soonest is the answer that an explanation of members predicts. If several members are possible at the same time, or
// never, an acquisition may name any of them.
func soonest(e api.PoolExplainResult, why string) answer {
	for _, x := range e.Reasons {
		if e.Decision == e.Reasons[0].Reason && x.Reason == why && x.AfterMS == e.RetryAfterMS {
			return answer{why, "", e.RetryAfterMS}
		}
	}
	return answer{e.Decision, e.ID, e.RetryAfterMS}
}

// memberStep makes one step in the history of a pool's members; it returns false if the step is not about members.
func memberStep(l *life, step string) bool {
	ctx, none, id := context.Background(), coord.Caller{}, ""
	if step != "pass" {
		id = l.draw("member", "x", "y", "z")
	}
	var err error
	switch step {
	case "pass":
		l.pass()
		return true
	case "put":
		_, err = l.s.Pools.Put(ctx, none, &api.PoolPutParams{Pool: l.name, Members: []api.PoolMember{{ID: id}}})
	case "remove":
		_, err = l.s.Pools.Remove(ctx, none, &api.PoolRemoveParams{Pool: l.name, IDs: []string{id}})
	case "ban":
		_, err = l.s.Pools.Ban(ctx, none, &api.PoolBanParams{Pool: l.name, ID: id, ForMS: l.ms("for", 0, 10_000)})
	case "unban":
		_, err = l.s.Pools.Unban(ctx, none, &api.PoolUnbanParams{Pool: l.name, ID: id})
	default:
		return false
	}
	if coord.Wire(err).Code == api.NotFound { // the pool has no such member
		err = nil
	}
	l.done(err, "%s %s", step, id)
	return true
}

func (l *life) excluded() []string {
	return rapid.SampledFrom([][]string{nil, nil, nil, {"x"}, {"y", "z"}, {"x", "y", "z"}}).Draw(l.t, "exclude")
}

// poolStep makes one step in the history of a pool; held are its leases.
func poolStep(l *life, held *[]string) {
	ctx, none := context.Background(), coord.Caller{}
	step := l.draw("step", "ask", "ask", "ask", "pass", "put", "put", "remove", "ban", "unban", "release", "release")
	switch {
	case step == "ask":
		scope, exclude := l.draw("scope", "", "", "s"), l.excluded()
		e, err := l.s.Pools.Explain(ctx, none, &api.PoolExplainParams{Pool: l.name, Scope: scope, Exclude: exclude})
		l.done(err, "explain %q without %v: %+v", scope, exclude, e)
		r, err := l.s.Pools.Acquire(ctx, none, &api.PoolAcquireParams{
			Pool: l.name, Scope: scope, Exclude: exclude, LeaseMS: l.ms("lease", 100, 5000, 30_000), Bind: api.BindTTL,
		})
		l.done(err, "acquire")
		l.agree(soonest(e, r.Reason), told(r.Acquired, r.Reason, r.ID, r.RetryAfterMS))
		if r.Acquired {
			*held = append(*held, r.Lease)
		}
	case step == "release" && len(*held) > 0:
		p := api.PoolReleaseParams{
			Pool: l.name, Lease: (*held)[0], CooldownMS: l.ms("cooldown", 0, 0, 7000),
			Outcome: l.draw("outcome", api.OutcomeOK, api.OutcomeOK, api.OutcomeSoftBlock, api.OutcomeFail, api.OutcomeBan, api.OutcomeCancelled),
		}
		if p.Outcome == api.OutcomeBan {
			p.UnbanAfterMS = l.ms("unban", 0, 9000)
		}
		*held = (*held)[1:]
		_, err := l.s.Pools.Release(ctx, none, &p)
		l.done(err, "release: %+v", p)
	default:
		memberStep(l, step)
	}
}

// permitStep makes one step in the history of a pool whose permits are acquired; held are those permits.
func permitStep(l *life, held *[]string) {
	ctx, none := context.Background(), coord.Caller{}
	step := l.draw("step", "ask", "ask", "ask", "ask", "pass", "put", "put", "remove", "ban", "unban", "report", "report", "pause", "force")
	switch {
	case step == "ask":
		p := api.PermitAcquireParams{
			Pool: l.name, Rule: l.draw("rule", "", l.rule, l.rule), Breaker: l.draw("breaker", "", "quick-*", "quick-*"), Cost: l.ms("cost", 0, 1, 1, 2, 3),
			Scope: l.draw("scope", "", "", "s"), Exclude: l.excluded(), LeaseMS: l.ms("lease", 100, 5000, 30_000), Bind: api.BindTTL,
		}
		e, err := l.s.Permits.Explain(ctx, none, &api.PermitExplainParams{
			Pool: p.Pool, Rule: p.Rule, Breaker: p.Breaker, Cost: p.Cost, Scope: p.Scope, Exclude: p.Exclude,
		})
		l.done(err, "explain %+v: %+v", p, e)
		r, err := l.s.Permits.Acquire(ctx, none, &p)
		l.done(err, "acquire: %+v", r)
		l.agree(soonest(e, r.DeniedBy), told(r.Acquired, r.DeniedBy, r.ID, r.RetryAfterMS))
		if r.Acquired {
			*held = append(*held, r.Lease)
		}
	case step == "report" && len(*held) > 0:
		p := api.PermitReportParams{
			Pool: l.name, Lease: (*held)[0], CooldownMS: l.ms("cooldown", 0, 0, 7000), RetryAfterMS: l.ms("retry_after", 0, 0, 4000),
			Outcome: l.draw("outcome", api.OutcomeOK, api.OutcomeSoftBlock, api.OutcomeFail, api.OutcomeFail, api.OutcomeBan, api.OutcomeCancelled),
		}
		*held = (*held)[1:]
		_, err := l.s.Permits.Report(ctx, none, &p)
		l.done(err, "report: %+v", p)
	case step == "pause":
		_, err := l.s.Limiter.Pause(ctx, none, &api.RatelimitPauseParams{Pool: l.name, Key: l.draw("member", "x", "y", "z"), ForMS: l.ms("for", 500, 20_000)})
		if coord.Wire(err).Code == api.NotFound {
			err = nil
		}
		l.done(err, "pause")
	case step == "force":
		_, err := l.s.Breakers.Force(ctx, none, &api.BreakerForceParams{
			Pool: l.name, Name: l.draw("member", "x", "y", "z"), State: l.draw("state", "open", "closed", "closed"),
		})
		if coord.Wire(err).Code == api.NotFound {
			err = nil
		}
		l.done(err, "force")
	default:
		memberStep(l, step)
	}
}
