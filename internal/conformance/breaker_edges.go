package conformance

import (
	"time"

	"github.com/stretchr/testify/require"

	"github.com/coxswain-sidecar/coxswain/client/api"
)

func openIsCached(b breaker) {
	b.open()
	var first, again api.BreakerAllowResult
	// The broadcasts of the change and of the subscription may come late; each makes the sidecar ask Redis once more.
	// There are only a few of them.
	for range 10 {
		first = b.refused(b.a, api.BreakerOpen)
		require.Equal(b.t, "redis", first.Source)
		b.sys.Advance(300 * time.Millisecond)
		if again = b.refused(b.a, api.BreakerOpen); again.Source == "cache" {
			break
		}
		b.sys.Advance(time.Second)
	}
	require.Equal(b.t, "cache", again.Source)
	require.Equal(b.t, first.RetryAfterMS-300, again.RetryAfterMS)
	require.Equal(b.t, first.Generation, again.Generation)
	b.sys.Advance(700 * time.Millisecond)
	require.Equal(b.t, "redis", b.refused(b.a, api.BreakerOpen).Source, "for a second at most")
}

func forcedStays(b breaker) {
	require.Equal(b.t, api.BreakerChangeResult{State: api.BreakerForcedOpen, Generation: 2, Changed: true}, b.force(b.a, api.BreakerOpen))
	require.False(b.t, b.force(b.b, api.BreakerOpen).Changed)
	require.Equal(b.t, int64(-1), b.refused(b.b, api.BreakerForcedOpen).RetryAfterMS)
	b.sys.Advance(24 * time.Hour)
	require.Equal(b.t, int64(-1), b.refused(b.a, api.BreakerForcedOpen).RetryAfterMS)
	forcedAt := b.get(b.a).ForcedAtMS
	require.Equal(b.t, b.sys.Now().Add(-24*time.Hour).UnixMilli(), forcedAt)

	b.force(b.a, api.BreakerClosed)
	b.sys.Advance(time.Second) // a refusal is remembered for at most that long
	for range 5 {
		g := b.allow(b.b)
		require.True(b.t, g.Allowed)
		require.Equal(b.t, api.BreakerForcedClosed, g.State)
		require.True(b.t, b.report(b.b, g, api.OutcomeFailure).Counted, "without effect")
	}
	require.Equal(b.t, int64(5), b.get(b.a).Failures)

	b.force(b.b, api.BreakerDisabled)
	for range 5 {
		g := b.allow(b.a)
		require.True(b.t, g.Allowed)
		require.Equal(b.t, api.BreakerDisabled, g.State)
		require.False(b.t, b.report(b.a, g, api.OutcomeFailure).Counted)
	}
	require.Equal(b.t, api.BreakerChangeResult{State: api.BreakerClosed, Generation: 5, Changed: true}, b.reset(b.a))
	require.Zero(b.t, b.get(b.a).ForcedAtMS)
	b.open()
}

func resetCloses(b breaker) {
	require.Equal(b.t, api.BreakerChangeResult{State: api.BreakerClosed, Generation: 1}, b.reset(b.a), "there is nothing to forget")
	b.open()
	b.refused(b.b, api.BreakerOpen)
	r := b.reset(b.a)
	require.Equal(b.t, api.BreakerChangeResult{State: api.BreakerClosed, Generation: 3, Changed: true}, r)
	require.True(b.t, b.allow(b.a).Allowed, "at once where it was reset")
	b.sys.Advance(time.Second)
	require.True(b.t, b.allow(b.b).Allowed)

	b.halfOpen()
	g := b.probe(b.a)
	b.reset(b.b)
	require.False(b.t, b.report(b.a, g, api.OutcomeFailure).Counted)
	require.Equal(b.t, api.BreakerClosed, b.get(b.a).State)
}

func ratesOpen(b breaker) {
	b.policy = rates
	report := func(outcome string, ms int64, n int) (last api.BreakerReportResult) {
		for i := range n {
			last = b.tell([]Client{b.a, b.b}[i%2], "", api.BreakerReportParams{Outcome: outcome, DurationMS: ms})
			require.True(b.t, last.Counted)
		}
		return last
	}
	report(api.OutcomeSuccess, 0, 4)
	require.False(b.t, report(api.OutcomeFailure, 0, 5).Changed, "nine calls are too few")
	i := b.get(b.a)
	require.Equal(b.t, []int64{9, 5, 0}, []int64{i.WindowCalls, i.WindowFailed, i.WindowSlow})
	b.sys.Advance(11 * time.Second)
	require.Zero(b.t, b.get(b.a).WindowCalls, "they are over")
	report(api.OutcomeSuccess, 0, 6)
	require.False(b.t, report(api.OutcomeFailure, 0, 5).Changed, "five of eleven")
	require.True(b.t, report(api.OutcomeFailure, 0, 1).Changed, "half of them")
	b.reset(b.a)

	report(api.OutcomeSuccess, 199, 2)
	require.False(b.t, report(api.OutcomeSuccess, 200, 7).Changed)
	require.True(b.t, report(api.OutcomeSuccess, 200, 1).Changed, "eight of ten are slow")
	b.sys.Advance(11 * time.Second)
	g := b.probe(b.a)
	r := b.tell(b.a, "", api.BreakerReportParams{Generation: g.Generation, Probe: g.Probe, Outcome: api.OutcomeSuccess, DurationMS: 200})
	require.Equal(b.t, api.BreakerOpen, r.State, "a slow probe closes nothing")
}

func probeMoves(b breaker) {
	b.halfOpen()
	for _, sidecar := range []int{0, 1} {
		from, to := b.sys.Connect(b.t, 0, "from"), b.sys.Connect(b.t, sidecar, "to")
		id := []string{"first", "second"}[sidecar]
		g := b.ask(from, id)
		require.NotEmpty(b.t, g.Probe)
		require.False(b.t, g.Replayed)
		again := b.ask(to, id)
		require.True(b.t, again.Replayed)
		require.True(b.t, again.Allowed)
		require.Equal(b.t, g.Probe, again.Probe)
		require.Equal(b.t, int64(1), b.get(b.a).Probes)

		marker := locker{b.t, b.sys, from, b.b, b.name + " marker " + id}
		marker.take(from, api.LockAcquireParams{})
		from.Close()
		marker.becomesFree(b.b) // by now the connection's end is dealt with
		require.Equal(b.t, int64(1), b.get(b.a).Probes, "it moved")
		require.False(b.t, b.report(to, again, api.OutcomeIgnored).Counted)
		require.Zero(b.t, b.get(b.a).Probes)
	}
}

func replayOfReported(b breaker) {
	b.halfOpen()
	g := b.ask(b.a, "id")
	b.report(b.a, g, api.OutcomeIgnored)
	for _, c := range []Client{b.a, b.b} {
		again := b.ask(c, "id")
		require.True(b.t, again.Replayed)
		require.False(b.t, again.Allowed)
		require.Empty(b.t, again.Probe)
		require.Positive(b.t, again.RetryAfterMS)
	}
	require.Zero(b.t, b.get(b.a).Probes, "nothing is taken again")
}

func reportOnce(b breaker) {
	p := api.BreakerReportParams{Outcome: api.OutcomeFailure}
	for i, c := range []Client{b.a, b.b, b.a} {
		r := b.tell(c, "id", p)
		require.True(b.t, r.Counted)
		require.Equal(b.t, i > 0, r.Replayed)
	}
	require.Equal(b.t, int64(1), b.get(b.a).Failures)
}

func breakerConflict(b breaker) {
	b.tell(b.a, "id", api.BreakerReportParams{Outcome: api.OutcomeFailure})
	_, err := do(patient(b.t), b.b, "id", api.BreakerReport, api.BreakerReportParams{Name: b.name, Policy: b.policy, Outcome: api.OutcomeSuccess})
	require.ErrorIs(b.t, err, api.Conflict)
	require.Equal(b.t, int64(1), b.get(b.a).Failures)
}

func breakersApart(b breaker) {
	for i, n := range names() {
		b.name = n
		require.Equal(b.t, api.BreakerClosed, b.get(b.a).State, "%q", n)
		for range i%3 + 1 {
			b.tell(b.a, "", api.BreakerReportParams{Outcome: api.OutcomeFailure})
		}
	}
	for i, n := range names() {
		b.name = n
		want := int64(i%3 + 1)
		if want == 3 { // it opened
			require.Equal(b.t, api.BreakerOpen, b.get(b.b).State, "%q", n)
			want = 0
		}
		require.Equal(b.t, want, b.get(b.b).Failures, "%q", n)
		b.reset(b.b)
	}
}

func membersApart(b breaker) {
	alone := b
	b.pool = b.name
	other := b
	for _, n := range names() {
		b.name = n
		b.tell(b.a, "", api.BreakerReportParams{Outcome: api.OutcomeFailure})
		require.Equal(b.t, int64(1), b.get(b.b).Failures, "%q", n)
	}
	b.name = "m"
	b.halfOpen()
	require.Equal(b.t, api.BreakerClosed, alone.get(alone.a).State)
	other.name = "n"
	require.Equal(b.t, api.BreakerClosed, other.get(b.a).State)
	g := b.probe(b.a)
	require.True(b.t, b.report(b.b, g, api.OutcomeSuccess).Counted)
	b.reset(b.a)
	require.Equal(b.t, api.BreakerClosed, b.get(b.b).State)
}

// probesAreMissed holds for the breakers of a pool's members too.
func probesAreMissed(b breaker) {
	for _, pool := range []string{"", b.name} {
		b.pool, b.policy = pool, many
		b.tell(b.a, "", api.BreakerReportParams{Outcome: api.OutcomeFailure})
		b.sys.Advance(2 * time.Second)
		probes := []api.BreakerAllowResult{b.probe(b.a), b.probe(b.b), b.probe(b.a)}
		b.refused(b.a, api.BreakerHalfOpen)
		for _, p := range probes[:2] {
			require.True(b.t, b.report(b.b, p, api.OutcomeSuccess).Counted)
			b.refused(b.a, api.BreakerHalfOpen)
		}
		require.False(b.t, b.report(b.a, probes[2], api.OutcomeIgnored).Counted)
		last := b.probe(b.b)
		b.refused(b.a, api.BreakerHalfOpen)
		b.sys.Advance(time.Minute)
		require.False(b.t, b.report(b.a, last, api.OutcomeSuccess).Counted, "it was lost")
		require.Equal(b.t, api.BreakerClosed, b.report(b.a, b.probe(b.b), api.OutcomeSuccess).State)
	}
}

func policiesByName(b breaker) {
	for name, want := range map[string]string{"quick-" + b.name: quick, b.name: "default", "rates": rates, "rates ": "default"} {
		r, err := do(patient(b.t), b.a, "", api.BreakerGet, api.BreakerParams{Name: name})
		require.NoError(b.t, err)
		require.Equal(b.t, want, r.Policy, name)
	}
	r, err := do(patient(b.t), b.a, "", api.BreakerGet, api.BreakerParams{Name: "m", Pool: "quick-" + b.name})
	require.NoError(b.t, err)
	require.Equal(b.t, quick, r.Policy, "by the pool")

	b.policy, b.name = "", "quick-"+b.name
	b.open()

	_, err = do(patient(b.t), b.a, "", api.BreakerAllow, api.BreakerAllowParams{Name: "x", Policy: "ratse"})
	require.ErrorIs(b.t, err, api.NotFound)
	require.ErrorContains(b.t, err, `policy: there is no breaker policy "ratse"; did you mean "rates"?`)
	_, err = do(patient(b.t), b.a, "", api.BreakerAllow, api.BreakerAllowParams{Name: "x", Policy: "something else"})
	require.ErrorIs(b.t, err, api.NotFound)
	require.ErrorContains(b.t, err, "add it to breakers.items")
}

func breakerMistakes(b breaker) {
	ctx := patient(b.t)
	_, err := do(ctx, b.a, "", api.BreakerAllow, api.BreakerAllowParams{})
	mistake(b, err, "name: ")
	_, err = do(ctx, b.a, "", api.BreakerAllow, api.BreakerAllowParams{Name: "x", FailMode: "local"})
	mistake(b, err, "fail_mode: ")
	_, err = do(ctx, b.a, "", api.BreakerReport, api.BreakerReportParams{Name: "x", Outcome: "fine"})
	mistake(b, err, "outcome: ")
	_, err = do(ctx, b.a, "", api.BreakerReport, api.BreakerReportParams{Name: "x", Outcome: api.OutcomeSuccess, Generation: -1})
	mistake(b, err, "generation: ")
	_, err = do(ctx, b.a, "", api.BreakerReport, api.BreakerReportParams{Name: "x", Outcome: api.OutcomeSuccess, DurationMS: 86_400_001})
	mistake(b, err, "duration_ms: ")
	_, err = do(ctx, b.a, "", api.BreakerForce, api.BreakerForceParams{Name: "x", State: "half_open"})
	mistake(b, err, "state: ")
}

func mistake(b breaker, err error, field string) {
	b.t.Helper()
	require.ErrorIs(b.t, err, api.InvalidArgument)
	require.ErrorContains(b.t, err, field)
}
