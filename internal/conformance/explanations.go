package conformance

import (
	"slices"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/coxswain-sidecar/coxswain/client/api"
)

// Explanations tests what explanations promise: they return how a call would be answered, and change nothing.
func Explanations(t *testing.T, sys RulesSystem) {
	eachLooks(t, sys, map[string]func(looker){
		"a lock is explained by who is in the way":              locksAreExplained,
		"a breaker is explained by its policy":                  breakersAreExplained,
		"a pool is explained as an acquisition is answered":     poolsAreExplained,
		"a permit is explained by its rule and breaker":         permitsAreExplained,
		"an explanation takes nothing":                          explanationsTakeNothing,
		"mistakes in what is to be explained name their fields": explanationMistakes,
	})
}

func locksAreExplained(l looker) {
	explain := func() api.LockExplainResult { return ask(l, l.b, api.LockExplain, api.LockGetParams{Name: l.name}) }
	free := explain()
	require.Equal(l.t, []any{"acquired", int64(0), false}, []any{free.Decision, free.RetryAfterMS, free.Held})
	require.Contains(l.t, free.Text, "is free")
	g := ask(l, l.a, api.LockAcquire, api.LockAcquireParams{Name: l.name, MaxHoldMS: 600_000, Meta: "job 7"})
	background(l, l.b, api.LockAcquire, api.LockAcquireParams{Name: l.name, WaitMS: 60_000}, func() bool { return explain().Waiting == 1 })
	r := explain()
	require.Equal(l.t, []any{"busy", int64(30_001), g.Fence, "session"}, []any{r.Decision, r.RetryAfterMS, r.Fence, r.Bind})
	require.Equal(l.t, []string{"a", "job 7"}, []string{r.HeldBy.Client, r.HeldBy.Meta})
	require.Equal(l.t, l.sys.Now().Add(10*time.Minute).UnixMilli(), r.FinalAtMS)
	require.Equal(l.t, int64(1), r.Line[0].Waiting)
	require.Positive(l.t, r.Line[0].LeftMS)
	require.True(l.t, slices.ContainsFunc(l.sidecars(), func(s api.InspectSidecar) bool { return s.Sidecar == r.Line[0].Sidecar }), "it is one that is listed")
	for _, want := range []string{"held by a conformance (job 7)", "for as long as the holder is connected", "calls ahead in the waiting line: 1"} {
		require.Contains(l.t, r.Text, want)
	}
	other := l.name + " ttl"
	ask(l, l.a, api.LockAcquire, api.LockAcquireParams{Name: other, Bind: api.BindTTL})
	require.Equal(l.t, "ttl", ask(l, l.b, api.LockExplain, api.LockGetParams{Name: other}).Bind)
}

func breakersAreExplained(l looker) {
	explain := func() api.BreakerExplainResult {
		r := ask(l, l.b, api.BreakerExplain, api.BreakerParams{Name: l.name, Policy: quick})
		allowed := ask(l, l.b, api.BreakerGet, api.BreakerParams{Name: l.name, Policy: quick})
		require.Equal(l.t, allowed.State, r.State)
		require.NotEmpty(l.t, r.Text)
		return r
	}
	l.fail(l.name, "", 2)
	r := explain()
	require.Equal(l.t, []any{"allowed", int64(0), int64(2), quick, "given"}, []any{r.Decision, r.RetryAfterMS, r.Failures, r.Policy, r.PolicyFrom})
	require.Equal(l.t, []int64{3, 2, 10_000}, []int64{r.Settings.FailureThreshold, r.Settings.HalfOpenMax, r.NextOpenMS})
	require.Contains(l.t, r.Text, "2 of 3 failures")
	l.fail(l.name, "", 1)
	r = explain()
	require.Equal(l.t, []any{"open", int64(20_000)}, []any{r.Decision, r.NextOpenMS})
	require.InDelta(l.t, 10_000, r.RetryAfterMS, 500)
	l.sys.Advance(11 * time.Second)
	require.Equal(l.t, "probe", explain().Decision)
	for range 2 {
		require.True(l.t, ask(l, l.a, api.BreakerAllow, api.BreakerAllowParams{Name: l.name, Policy: quick}).Allowed)
	}
	r = explain()
	require.Equal(l.t, []any{"half_open", int64(2), int64(2), int64(60_000), int64(60_000)}, []any{
		r.Decision, r.Probes, r.MostProbes, r.ProbeLeftMS, r.RetryAfterMS,
	})
	for state, want := range map[string]string{"open": "forced_open", "closed": "allowed", "disabled": "allowed"} {
		ask(l, l.a, api.BreakerForce, api.BreakerForceParams{Name: l.name, State: state})
		require.Equal(l.t, want, explain().Decision, state)
	}
	by := func(name string) string {
		return ask(l, l.b, api.BreakerExplain, api.BreakerParams{Name: name}).PolicyFrom
	}
	require.Equal(l.t, []string{"name", "default"}, []string{by(quick), by(l.name)})
}

// poolsAreExplained compares each explanation with the answer to the next call.
func poolsAreExplained(l looker) {
	agrees := func(want string) api.PoolExplainResult {
		l.t.Helper()
		r := ask(l, l.b, api.PoolExplain, api.PoolExplainParams{Pool: l.name})
		require.Equal(l.t, want, r.Decision, r.Text)
		got := ask(l, l.a, api.PoolAcquire, api.PoolAcquireParams{Pool: l.name, LeaseMS: 30_000})
		if got.Acquired {
			require.Equal(l.t, []any{"acquired", got.ID, int64(0)}, []any{r.Decision, r.ID, r.RetryAfterMS})
			return r
		}
		require.Equal(l.t, []any{got.Reason, got.RetryAfterMS}, []any{r.Decision, r.RetryAfterMS})
		return r
	}
	agrees("empty")
	l.put(l.name, "x", "y", "z")
	agrees("acquired")
	ask(l, l.a, api.PoolBan, api.PoolBanParams{Pool: l.name, ID: "z"})
	agrees("acquired")
	r := agrees("busy")
	require.Equal(l.t, []api.ExplainReason{
		{Reason: "busy", Members: 2, ID: "x", AfterMS: 30_000}, {Reason: "banned", Members: 1, ID: "z", AfterMS: -1},
	}, r.Reasons)
	require.Equal(l.t, []any{int64(3), int64(0), 2, "a"}, []any{r.Members, r.Free, len(r.Holders), r.Holders[0].HeldBy.Client})
	for _, want := range []string{"the soonest is x, in 30s", "2 leased", "1 banned"} {
		require.Contains(l.t, r.Text, want)
	}
	for _, id := range []string{"x", "y"} {
		ask(l, l.a, api.PoolBan, api.PoolBanParams{Pool: l.name, ID: id})
	}
	agrees("banned")
	one := ask(l, l.b, api.PoolExplain, api.PoolExplainParams{Pool: l.name, ID: "z"})
	require.Equal(l.t, []any{"banned", int64(1), int64(-1)}, []any{one.Decision, one.Members, one.RetryAfterMS})
	ask(l, l.a, api.PoolUnban, api.PoolUnbanParams{Pool: l.name, ID: "z"})
	all := ask(l, l.b, api.PoolExplain, api.PoolExplainParams{Pool: l.name, Exclude: []string{"z"}})
	require.Equal(l.t, []any{"banned", int64(2)}, []any{all.Decision, all.Members})
	agrees("acquired")
}

func permitsAreExplained(l looker) {
	rule := l.name + " rule"
	l.sys.SetFile(l.t, 0, "file")
	for sidecar := range 2 {
		l.sys.SetFile(l.t, sidecar, "file", api.Rule{
			Name: rule, Algorithm: api.AlgorithmTokenBucket, Limits: []api.Band{{Limit: 1, PeriodMS: 10_000}},
			Overrides: []api.Override{{Exact: "y", Limits: []api.Band{{Limit: 2, PeriodMS: 60_000}}}},
		})
	}
	agrees := func(want string) api.PoolExplainResult {
		l.t.Helper()
		r := ask(l, l.b, api.PermitExplain, api.PermitExplainParams{Pool: l.name, Rule: rule, Breaker: quick})
		require.Equal(l.t, want, r.Decision, r.Text)
		got := ask(l, l.a, api.PermitAcquire, api.PermitAcquireParams{Pool: l.name, Rule: rule, Breaker: quick})
		if got.Acquired {
			require.Equal(l.t, []any{"acquired", got.ID}, []any{r.Decision, r.ID})
			ask(l, l.a, api.PermitReport, api.PermitReportParams{Pool: l.name, Lease: got.Lease})
			return r
		}
		require.Equal(l.t, []any{got.DeniedBy, got.RetryAfterMS}, []any{r.Decision, r.RetryAfterMS})
		return r
	}
	l.put(l.name, "x", "y")
	r := agrees("acquired")
	require.Equal(l.t, []any{"x", []string{"1/10s"}, false, quick}, []any{r.ID, r.Limits, r.Override, r.Breaker})
	r = agrees("acquired")
	require.Equal(l.t, []any{"y", []string{"2/1m"}, true}, []any{r.ID, r.Limits, r.Override})
	agrees("acquired")
	r = agrees("limit")
	require.Equal(l.t, []any{"x", int64(10_000)}, []any{r.ID, r.RetryAfterMS})
	require.Contains(l.t, r.Text, "2 out of tokens")
	ask(l, l.a, api.PoolRemove, api.PoolRemoveParams{Pool: l.name, IDs: []string{"y"}})
	ask(l, l.a, api.RatelimitPause, api.RatelimitPauseParams{Pool: l.name, Key: "x", ForMS: 20_000})
	agrees("pause")
	l.fail("x", l.name, 3)
	l.sys.Advance(1 * time.Second)
	ask(l, l.a, api.BreakerForce, api.BreakerForceParams{Name: "x", Pool: l.name, State: "open"})
	r = agrees("open")
	require.Equal(l.t, int64(-1), r.RetryAfterMS)
	require.Contains(l.t, r.Text, "no time changes that")
}

func explanationsTakeNothing(l looker) {
	l.put(l.name, "x")
	for range 3 {
		ask(l, l.a, api.LockExplain, api.LockGetParams{Name: l.name})
		ask(l, l.a, api.BreakerExplain, api.BreakerParams{Name: l.name})
		require.Equal(l.t, "acquired", ask(l, l.a, api.PoolExplain, api.PoolExplainParams{Pool: l.name}).Decision)
		require.Equal(l.t, "acquired", ask(l, l.a, api.PermitExplain, api.PermitExplainParams{Pool: l.name, Breaker: quick}).Decision)
	}
	require.Empty(l.t, l.breakers("", "", 100))
	require.Empty(l.t, l.locks("", 100))
	require.Equal(l.t, int64(1), ask(l, l.a, api.PoolStats, api.PoolStatsParams{Pool: l.name}).Free)
}

func explanationMistakes(l looker) {
	l.put(l.name, "x")
	for field, call := range map[string]func() error{
		"id: ":      mistaken(l, api.PoolExplain, api.PoolExplainParams{Pool: l.name, ID: "none"}),
		"exclude: ": mistaken(l, api.PoolExplain, api.PoolExplainParams{Pool: l.name, Exclude: make([]string, 101)}),
		"rule: ":    mistaken(l, api.PermitExplain, api.PermitExplainParams{Pool: l.name, Rule: "none"}),
		"breaker: ": mistaken(l, api.PermitExplain, api.PermitExplainParams{Pool: l.name, Breaker: "none"}),
		"policy: ":  mistaken(l, api.BreakerExplain, api.BreakerParams{Name: l.name, Policy: "none"}),
		"state":     mistaken(l, api.BreakerList, api.BreakerListParams{State: "none"}),
	} {
		require.ErrorContains(l.t, call(), field)
	}
}
