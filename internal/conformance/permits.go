package conformance

import (
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/coxswain-sidecar/coxswain/client/api"
)

// permits is one test's view of a pool of its own and the rules for it.
type permits struct{ pooled }

// Permits tests what the methods of permits promise.
func Permits(t *testing.T, sys RulesSystem) {
	rules := []api.Rule{
		{Name: "two", Algorithm: api.AlgorithmTokenBucket, Limits: []api.Band{per(2, time.Hour)}},
		{Name: "leaky", Algorithm: api.AlgorithmLeakyBucket, Limits: []api.Band{per(2, time.Hour)}},
	}
	sys.SetFile(t, 0, "file", rules...)
	sys.SetFile(t, 1, "file", rules...)
	for name, test := range map[string]func(permits){
		"each member has a bucket of its own":                   ownBuckets,
		"the cost is taken from the member's bucket":            costIsTaken,
		"a member whose breaker is open is passed over":         breakerOpens,
		"a half open breaker hands out probes":                  permitProbes,
		"a penalty code pauses the member":                      penaltyPauses,
		"without rule and breaker it is a member of a pool":     bareMember,
		"a member of a pool and a permit are never one":         permitAndMember,
		"reporting twice answers the same and counts once":      reportedTwice,
		"cancelled work counts nowhere":                         cancelledCounts,
		"a connection that closes gives its permits back":       permitClosing,
		"a replayed permit belongs to the new connection":       permitReplayMoves,
		"a replay of a reported permit takes nothing":           permitReplayOfReported,
		"a report serves who waits":                             permitWaiting,
		"mistakes in a permit's parameters name their field":    permitMistakes,
		"permits of a rule that they cannot have say so":        permitRules,
		"renewing extends a permit":                             permitRenewing,
		"live, cooling, banned and free are all, after permits": permitSums,
	} {
		t.Run(name, func(t *testing.T) {
			test(permits{pooled{t, sys, sys.Connect(t, 0, "a"), sys.Connect(t, 1, "b"), t.Name()}})
		})
	}
}

func (p permits) ask(c Client, id string, in api.PermitAcquireParams) api.PermitAcquireResult {
	p.t.Helper()
	in.Pool = p.pool
	r, err := do(patient(p.t), c, id, api.PermitAcquire, in)
	require.NoError(p.t, err)
	require.Equal(p.t, r.Acquired, r.Lease != "", "%+v", r)
	return r
}

// get takes a permit that only its TTL ends, since these tests let time pass.
func (p permits) get(c Client, in api.PermitAcquireParams) api.PermitAcquireResult {
	p.t.Helper()
	in.Bind = api.BindTTL
	r := p.ask(c, "", in)
	require.True(p.t, r.Acquired, "%+v", r)
	return r
}

func (p permits) report(c Client, lease string, in api.PermitReportParams) api.PermitReportResult {
	p.t.Helper()
	in.Pool, in.Lease = p.pool, lease
	r, err := do(patient(p.t), c, "", api.PermitReport, in)
	require.NoError(p.t, err)
	return r
}

func ownBuckets(p permits) {
	p.put("x", "y")
	in := api.PermitAcquireParams{Rule: "two"}
	for i, want := range []string{"x", "y", "x", "y"} {
		g := p.get([]Client{p.a, p.b}[i%2], in)
		require.Equal(p.t, want, g.ID, "in the order of their last use")
		require.Equal(p.t, int64(1-i/2), g.Remaining)
		require.Equal(p.t, "meta of "+want, g.Meta)
		require.Zero(p.t, g.Generation, "no breaker was asked")
		require.Equal(p.t, "free", p.report(p.b, g.Lease, api.PermitReportParams{}).State)
	}
	none := p.ask(p.a, "", in)
	require.Equal(p.t, "limit", none.DeniedBy)
	require.Equal(p.t, (30 * time.Minute).Milliseconds(), none.RetryAfterMS)
	require.Equal(p.t, p.sys.Now().UnixMilli()+none.RetryAfterMS, none.NextAtMS)
	require.Equal(p.t, int64(2), p.stats("").Free, "as members of the pool they are free")
	require.Equal(p.t, "x", p.take(p.a, api.PoolAcquireParams{}).ID)
	p.sys.Advance(30 * time.Minute)
	require.Equal(p.t, "y", p.get(p.b, in).ID, "exactly then")
}

func costIsTaken(p permits) {
	p.put("x")
	require.Equal(p.t, int64(0), p.get(p.a, api.PermitAcquireParams{Rule: "two", Cost: 2}).Remaining)
	p.sys.Advance(time.Minute)
	p.put("y")
	never := p.ask(p.a, "", api.PermitAcquireParams{Rule: "two", Cost: 3})
	require.Equal(p.t, "limit", never.DeniedBy)
	require.Equal(p.t, int64(-1), never.RetryAfterMS)
}

func breakerOpens(p permits) {
	p.put("x", "y")
	in := api.PermitAcquireParams{Breaker: "default", Exclude: []string{"y"}}
	for i := range 3 {
		g := p.get(p.a, in)
		require.Equal(p.t, "x", g.ID)
		require.Equal(p.t, int64(1), g.Generation)
		r := p.report(p.b, g.Lease, api.PermitReportParams{Outcome: "transport"})
		require.Equal(p.t, []string{"closed", "closed", "open"}[i], r.Breaker)
		p.sys.Advance(time.Minute)
	}
	require.Equal(p.t, "y", p.get(p.a, api.PermitAcquireParams{Breaker: "default"}).ID)
	none := p.ask(p.b, "", in)
	require.Equal(p.t, "open", none.DeniedBy)
	require.Positive(p.t, none.RetryAfterMS)
	require.Equal(p.t, "x", p.get(p.b, api.PermitAcquireParams{}).ID, "who does not ask for the breaker has it")
}

func permitProbes(p permits) {
	p.put("x")
	in := api.PermitAcquireParams{Breaker: "default"}
	for range 3 {
		p.report(p.a, p.get(p.a, in).Lease, api.PermitReportParams{Outcome: "transport"})
		p.sys.Advance(time.Minute)
	}
	p.sys.Advance(time.Hour)
	// beside reports whether the breaker would let one more call through, and gives the probe back.
	beside := func() bool {
		r, err := do(patient(p.t), p.a, "", api.BreakerAllow, api.BreakerAllowParams{Name: "x", Pool: p.pool, Policy: "default"})
		require.NoError(p.t, err)
		if r.Allowed {
			_, err = do(patient(p.t), p.a, "", api.BreakerReport, api.BreakerReportParams{
				Name: "x", Pool: p.pool, Policy: "default", Generation: r.Generation, Probe: r.Probe, Outcome: api.OutcomeIgnored,
			})
			require.NoError(p.t, err)
		}
		return r.Allowed
	}
	for i := range 3 {
		g := p.get(p.b, in)
		require.True(p.t, g.Probe)
		require.Equal(p.t, i < 2, beside(), "no more probes are out than successes are missing, with or without a permit")
		require.Equal(p.t, []string{"half_open", "half_open", "closed"}[i], p.report(p.a, g.Lease, api.PermitReportParams{}).Breaker)
	}
	require.False(p.t, p.get(p.a, in).Probe)
}

func penaltyPauses(p permits) {
	p.put("x")
	in := api.PermitAcquireParams{Rule: "two"}
	p.report(p.a, p.get(p.a, in).Lease, api.PermitReportParams{Status: 429, RetryAfterMS: 90_000})
	none := p.ask(p.b, "", in)
	require.Equal(p.t, "pause", none.DeniedBy)
	require.Equal(p.t, int64(90_000), none.RetryAfterMS)
	p.sys.Advance(90 * time.Second)
	p.report(p.a, p.get(p.b, in).Lease, api.PermitReportParams{Status: 429, RetryAfterMS: -1})
	require.NotEqual(p.t, "pause", p.ask(p.b, "", api.PermitAcquireParams{}).DeniedBy, "the server asks for none")
	p.sys.Advance(time.Hour)
	p.report(p.a, p.get(p.b, in).Lease, api.PermitReportParams{Status: 500})
	require.NotEqual(p.t, "pause", p.ask(p.b, "", api.PermitAcquireParams{}).DeniedBy, "500 is none of its codes")
}

func bareMember(p permits) {
	p.put("x")
	g := p.get(p.a, api.PermitAcquireParams{})
	require.Equal(p.t, "x", g.ID)
	require.Equal(p.t, "busy", p.ask(p.b, "", api.PermitAcquireParams{}).DeniedBy)
	r := p.report(p.a, g.Lease, api.PermitReportParams{Outcome: "fail"})
	require.Equal(p.t, "cooling", r.State)
	require.Empty(p.t, r.Breaker)
	require.Equal(p.t, "cooling", p.ask(p.b, "", api.PermitAcquireParams{}).DeniedBy)
}

func permitAndMember(p permits) {
	p.put("x")
	g := p.get(p.a, api.PermitAcquireParams{Rule: "two", Breaker: "default"})
	require.Equal(p.t, "busy", p.try(p.b, "", api.PoolAcquireParams{}).Reason)
	_, err := do(patient(p.t), p.a, "", api.PoolRelease, api.PoolReleaseParams{Pool: p.pool, Lease: g.Lease})
	require.ErrorIs(p.t, err, api.InvalidArgument, "a permit is reported")
	p.report(p.a, g.Lease, api.PermitReportParams{})
	m := p.held(p.b, "")
	require.Equal(p.t, "busy", p.ask(p.a, "", api.PermitAcquireParams{Rule: "two"}).DeniedBy)
	p.release(p.b, m.Lease, api.PoolReleaseParams{})
	require.Equal(p.t, "x", p.get(p.a, api.PermitAcquireParams{Rule: "two"}).ID)
}

func reportedTwice(p permits) {
	p.put("x")
	g := p.get(p.a, api.PermitAcquireParams{Breaker: "default"})
	for range 4 {
		r := p.report(p.b, g.Lease, api.PermitReportParams{Outcome: "transport"})
		require.True(p.t, r.Released)
		require.Equal(p.t, "released", r.Reason)
	}
	p.sys.Advance(time.Hour)
	g = p.get(p.a, api.PermitAcquireParams{Breaker: "default"})
	require.False(p.t, g.Probe, "one failure opens no breaker")
	require.Equal(p.t, "closed", p.report(p.a, g.Lease, api.PermitReportParams{Outcome: "transport"}).Breaker)
}

func cancelledCounts(p permits) {
	p.put("x")
	in := api.PermitAcquireParams{Breaker: "default"}
	for range 5 {
		r := p.report(p.a, p.get(p.a, in).Lease, api.PermitReportParams{Outcome: "cancelled"})
		require.Equal(p.t, "free", r.State)
		require.Equal(p.t, "closed", r.Breaker)
	}
}

func permitClosing(p permits) {
	p.put("x", "y")
	for range 2 {
		require.True(p.t, p.ask(p.a, "", api.PermitAcquireParams{Rule: "two", Breaker: "default", LeaseMS: 86_400_000}).Acquired)
	}
	p.a.Close()
	p.until("they are given back", func() bool { return p.stats("").Free == 2 })
	g := p.get(p.b, api.PermitAcquireParams{Rule: "two", Breaker: "default"})
	require.Equal(p.t, int64(0), g.Remaining, "what was taken stays taken")
	require.Equal(p.t, int64(1), g.Generation)
}

func permitReplayMoves(p permits) {
	p.put("x", "y")
	in := api.PermitAcquireParams{Rule: "two", LeaseMS: 86_400_000}
	g := p.ask(p.a, "id", in)
	again := p.ask(p.b, "id", in)
	require.True(p.t, again.Replayed)
	require.Equal(p.t, []string{g.ID, g.Lease, g.Fence}, []string{again.ID, again.Lease, again.Fence})
	require.Equal(p.t, g.Remaining, again.Remaining, "charged once")
	require.True(p.t, p.ask(p.a, "", in).Acquired)
	p.a.Close()
	p.until("the old connection's end is dealt with", func() bool { return p.stats("").Live == 1 })
	require.True(p.t, p.report(p.b, g.Lease, api.PermitReportParams{}).Released, "it has moved")
}

func permitReplayOfReported(p permits) {
	p.put("x", "y")
	g := p.ask(p.a, "id", api.PermitAcquireParams{})
	p.report(p.a, g.Lease, api.PermitReportParams{})
	again := p.ask(p.b, "id", api.PermitAcquireParams{})
	require.True(p.t, again.Replayed)
	require.False(p.t, again.Acquired)
	require.Equal(p.t, "released", again.DeniedBy)
}

func permitWaiting(p permits) {
	p.put("x")
	g := p.ask(p.a, "", api.PermitAcquireParams{Rule: "two", Breaker: "default"})
	done := make(chan api.PermitAcquireResult, 1)
	go func() {
		r, err := do(patient(p.t), p.b, "", api.PermitAcquire, api.PermitAcquireParams{Pool: p.pool, Rule: "two", Breaker: "default", WaitMS: 60_000})
		if err != nil {
			p.t.Error(err)
		}
		done <- r
	}()
	// A call for the same member queues behind the call that waits, which shows that that one is in the waiting line.
	p.until("it stands in line", func() bool {
		return p.ask(p.a, "", api.PermitAcquireParams{Rule: "two", Breaker: "default"}).RetryAfterMS == 1000
	})
	p.report(p.a, g.Lease, api.PermitReportParams{})
	select {
	case r := <-done:
		require.True(p.t, r.Acquired, "%+v", r)
		require.Equal(p.t, "x", r.ID)
	case <-time.After(2 * patience):
		p.t.Fatal("it is never served")
	}
}

func permitMistakes(p permits) {
	for want, in := range map[string]api.PermitAcquireParams{
		"pool":     {},
		"cost":     {Pool: p.pool, Cost: 1_000_000_001},
		"lease_ms": {Pool: p.pool, LeaseMS: 99},
		"wait_ms":  {Pool: p.pool, WaitMS: 60_001},
	} {
		_, err := do(patient(p.t), p.a, "", api.PermitAcquire, in)
		require.ErrorIs(p.t, err, api.InvalidArgument, want)
		require.ErrorContains(p.t, err, want)
	}
	for want, in := range map[string]api.PermitAcquireParams{
		"rule":    {Pool: p.pool, Rule: "twos"},
		"breaker": {Pool: p.pool, Breaker: "defaults"},
	} {
		_, err := do(patient(p.t), p.a, "", api.PermitAcquire, in)
		require.ErrorIs(p.t, err, api.NotFound, want)
		require.ErrorContains(p.t, err, want+": ")
	}
	for want, in := range map[string]api.PermitReportParams{
		"status": {Pool: p.pool, Lease: "m1.T.0.0.x", Status: 99},
		"lease":  {Pool: p.pool, Lease: "p1.T.0.0.x"},
	} {
		_, err := do(patient(p.t), p.a, "", api.PermitReport, in)
		require.ErrorIs(p.t, err, api.InvalidArgument, want)
		require.ErrorContains(p.t, err, want+": ")
	}
}

func permitRules(p permits) {
	_, err := do(patient(p.t), p.a, "", api.PermitAcquire, api.PermitAcquireParams{Pool: p.pool, Rule: "leaky"})
	require.ErrorIs(p.t, err, api.InvalidArgument)
	require.ErrorContains(p.t, err, "rule: leaky is a leaky_bucket")
}

func permitRenewing(p permits) {
	p.put("x")
	g := p.get(p.a, api.PermitAcquireParams{})
	p.sys.Advance(50 * time.Second)
	r, err := do(patient(p.t), p.b, "", api.PermitRenew, api.PermitRenewParams{Pool: p.pool, Lease: g.Lease, LeaseMS: 60_000})
	require.NoError(p.t, err)
	require.True(p.t, r.Renewed)
	p.sys.Advance(50 * time.Second)
	require.Equal(p.t, int64(1), p.stats("").Live)
	p.sys.Advance(10 * time.Second)
	require.Equal(p.t, "expired", p.report(p.a, g.Lease, api.PermitReportParams{}).Reason)
}

func permitSums(p permits) {
	p.put("x", "y", "z")
	for i := range 12 {
		g := p.ask([]Client{p.a, p.b}[i%2], "", api.PermitAcquireParams{Rule: "two", Breaker: "default", Bind: api.BindTTL})
		if g.Acquired && i%4 < 3 {
			p.report(p.a, g.Lease, api.PermitReportParams{Outcome: []string{"ok", "transport", "ban"}[i%4]})
		}
		require.Equal(p.t, int64(3), p.stats("").Total)
		p.sys.Advance(10 * time.Second)
	}
}
