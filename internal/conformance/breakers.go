package conformance

import (
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/coxswain-sidecar/coxswain/client/api"
)

// The policies that the suite uses.
const (
	quick    = "quick-*"
	rates    = "rates"
	fleeting = "fleeting"
	many     = "many"
)

// BreakerPolicies are all policies that the suite uses, in their order. A system under test is configured with them.
func BreakerPolicies() []api.BreakerPolicy {
	return []api.BreakerPolicy{
		{
			Name: quick, FailureThreshold: 3, SuccessThreshold: 2, OpenMS: 10_000, OpenMaxMS: 40_000, HalfOpenMax: 2, ProbeTTLMS: 60_000,
		},
		{
			Name: rates, FailureThreshold: 1000, SuccessThreshold: 1, OpenMS: 10_000,
			Window: &api.BreakerWindow{WindowMS: 10_000, MinCalls: 10, FailureRate: 50, SlowMS: 200, SlowRate: 80},
		},
		{Name: fleeting, FailureThreshold: 1, OpenMS: 1000, ProbeTTLMS: 200, HalfOpenMax: 1},
		{Name: many, FailureThreshold: 1, SuccessThreshold: 3, OpenMS: 1000, ProbeTTLMS: 60_000, HalfOpenMax: 5},
	}
}

// breaker is one test's view of a breaker of its own.
type breaker struct {
	t            *testing.T
	sys          System
	a, b         Client // of sidecar 0 and 1
	name, policy string
	pool         string
}

// Breakers tests what breaker.allow, report, get, reset and force promise.
func Breakers(t *testing.T, sys System) {
	for name, test := range map[string]func(breaker){
		"failures in a row open it":                           failuresOpen,
		"who sleeps until its end and asks is a probe":        endIsExact,
		"probes are few, and successes close it":              probesClose,
		"no more probes are out than successes are missing":   probesAreMissed,
		"each opening in a row lasts longer":                  opensLonger,
		"probes that are lost make room":                      lostProbes,
		"a lost probe is told":                                lostIsTold,
		"what is ignored gives its probe back":                ignoredGivesBack,
		"a connection that closes gives its probe back":       closeGivesBack,
		"an older generation changes nothing":                 olderGeneration,
		"who sees it open does not move its end":              endStays,
		"an open breaker is answered locally for a second":    openIsCached,
		"forced states stay until it is reset":                forcedStays,
		"a reset closes it for all":                           resetCloses,
		"rates in a window open it":                           ratesOpen,
		"a replayed probe belongs to the new connection":      probeMoves,
		"a replay of a reported probe is not let through":     replayOfReported,
		"a replayed report counts once":                       reportOnce,
		"a request id of another call is no breaker's answer": breakerConflict,
		"breakers are apart, whatever their bytes":            breakersApart,
		"members of a pool are apart":                         membersApart,
		"policies are found by name":                          policiesByName,
		"mistakes in a breaker's parameters name their field": breakerMistakes,
		"a hundred callers through two sidecars, two probes":  fewProbes,
	} {
		t.Run(name, func(t *testing.T) {
			test(breaker{t: t, sys: sys, a: sys.Connect(t, 0, "a"), b: sys.Connect(t, 1, "b"), name: t.Name(), policy: quick})
		})
	}
}

func (b breaker) ask(c Client, id string) api.BreakerAllowResult {
	b.t.Helper()
	r, err := do(patient(b.t), c, id, api.BreakerAllow, api.BreakerAllowParams{Name: b.name, Pool: b.pool, Policy: b.policy})
	require.NoError(b.t, err)
	return r
}

func (b breaker) allow(c Client) api.BreakerAllowResult { b.t.Helper(); return b.ask(c, "") }

// probe calls breaker.allow, and requires that the call becomes a probe.
func (b breaker) probe(c Client) api.BreakerAllowResult {
	b.t.Helper()
	g := b.allow(c)
	require.True(b.t, g.Allowed, "%+v", g)
	require.NotEmpty(b.t, g.Probe, "%+v", g)
	require.Equal(b.t, api.BreakerHalfOpen, g.State)
	require.Zero(b.t, g.RetryAfterMS)
	return g
}

func (b breaker) refused(c Client, state string) api.BreakerAllowResult {
	b.t.Helper()
	g := b.allow(c)
	require.False(b.t, g.Allowed, "%+v", g)
	require.Equal(b.t, state, g.State)
	require.Empty(b.t, g.Probe)
	return g
}

func (b breaker) report(c Client, g api.BreakerAllowResult, outcome string) api.BreakerReportResult {
	b.t.Helper()
	return b.tell(c, "", api.BreakerReportParams{Generation: g.Generation, Probe: g.Probe, Outcome: outcome})
}

func (b breaker) tell(c Client, id string, p api.BreakerReportParams) api.BreakerReportResult {
	b.t.Helper()
	p.Name, p.Pool, p.Policy = b.name, b.pool, b.policy
	r, err := do(patient(b.t), c, id, api.BreakerReport, p)
	require.NoError(b.t, err)
	return r
}

func (b breaker) get(c Client) api.BreakerGetResult {
	b.t.Helper()
	r, err := do(patient(b.t), c, "", api.BreakerGet, api.BreakerParams{Name: b.name, Pool: b.pool, Policy: b.policy})
	require.NoError(b.t, err)
	return r
}

func (b breaker) force(c Client, state string) api.BreakerChangeResult {
	b.t.Helper()
	r, err := do(patient(b.t), c, "", api.BreakerForce, api.BreakerForceParams{Name: b.name, Pool: b.pool, Policy: b.policy, State: state})
	require.NoError(b.t, err)
	return r
}

func (b breaker) reset(c Client) api.BreakerChangeResult {
	b.t.Helper()
	r, err := do(patient(b.t), c, "", api.BreakerReset, api.BreakerParams{Name: b.name, Pool: b.pool, Policy: b.policy})
	require.NoError(b.t, err)
	return r
}

// open reports three failed calls, which open the breaker.
func (b breaker) open() {
	b.t.Helper()
	for i := range 3 {
		g := b.allow([]Client{b.a, b.b}[i%2])
		require.True(b.t, g.Allowed, "%+v", g)
		require.Empty(b.t, g.Probe)
		r := b.report([]Client{b.b, b.a}[i%2], g, api.OutcomeFailure)
		require.True(b.t, r.Counted)
		require.Equal(b.t, i == 2, r.Changed)
	}
	require.Equal(b.t, api.BreakerOpen, b.get(b.a).State)
}

// halfOpen opens the breaker and advances the clock until it is half-open.
func (b breaker) halfOpen() {
	b.t.Helper()
	b.open()
	b.sys.Advance(11 * time.Second)
}

func failuresOpen(b breaker) {
	require.Equal(b.t, api.BreakerGetResult{State: api.BreakerClosed, Generation: 1, Policy: quick}, b.get(b.a))
	g := b.allow(b.a)
	require.Equal(b.t, api.BreakerAllowResult{Allowed: true, State: api.BreakerClosed, Generation: 1, Source: "redis"}, g)
	for range 2 {
		b.report(b.a, g, api.OutcomeFailure)
		b.report(b.b, g, api.OutcomeFailure)
		require.Equal(b.t, int64(2), b.get(b.a).Failures)
		b.report(b.a, g, api.OutcomeSuccess)
		require.Zero(b.t, b.get(b.b).Failures)
	}
	b.open()
	i := b.get(b.b)
	require.Equal(b.t, int64(2), i.Generation)
	require.Equal(b.t, int64(1), i.Opened)
	require.Equal(b.t, b.sys.Now().UnixMilli(), i.ChangedAtMS)
	require.InDelta(b.t, 10_000, i.OpenForMS, 500)
	for _, c := range []Client{b.a, b.b} {
		require.Equal(b.t, i.OpenForMS, b.refused(c, api.BreakerOpen).RetryAfterMS)
	}
}

func endIsExact(b breaker) {
	b.open()
	wait := b.refused(b.a, api.BreakerOpen).RetryAfterMS
	b.sys.Advance(time.Duration(wait)*time.Millisecond - 2*time.Millisecond)
	require.Positive(b.t, b.refused(b.a, api.BreakerOpen).RetryAfterMS)
	b.sys.Advance(2 * time.Millisecond)
	require.Zero(b.t, b.get(b.a).OpenForMS)
	g := b.probe(b.a)
	require.Equal(b.t, int64(3), g.Generation)
}

func probesClose(b breaker) {
	b.halfOpen()
	one, two := b.probe(b.a), b.probe(b.b)
	require.NotEqual(b.t, one.Probe, two.Probe)
	require.Equal(b.t, int64(60_000), b.refused(b.a, api.BreakerHalfOpen).RetryAfterMS, "when the first probe is lost")
	require.Equal(b.t, int64(2), b.get(b.a).Probes)

	r := b.report(b.a, one, api.OutcomeSuccess)
	require.Equal(b.t, api.BreakerReportResult{State: api.BreakerHalfOpen, Generation: 3, Counted: true}, r)
	require.Equal(b.t, int64(1), b.get(b.a).Successes)
	require.Equal(b.t, int64(60_000), b.refused(b.b, api.BreakerHalfOpen).RetryAfterMS, "one success is missing, and one probe is out")
	r = b.report(b.a, two, api.OutcomeSuccess)
	require.Equal(b.t, api.BreakerReportResult{State: api.BreakerClosed, Generation: 4, Counted: true, Changed: true}, r)
	require.False(b.t, b.report(b.b, two, api.OutcomeFailure).Counted, "it is of a state before")
	require.Zero(b.t, b.get(b.a).Failures)
	b.open()
}

func opensLonger(b breaker) {
	b.open()
	for _, want := range []float64{10_000, 20_000, 40_000, 40_000} {
		wait := b.get(b.b).OpenForMS
		require.InDelta(b.t, want, wait, want*0.05)
		require.LessOrEqual(b.t, wait, int64(40_000))
		b.sys.Advance(time.Duration(wait) * time.Millisecond)
		require.Equal(b.t, api.BreakerOpen, b.report(b.a, b.probe(b.a), api.OutcomeFailure).State)
	}
	require.Equal(b.t, int64(5), b.get(b.a).Opened)
	b.sys.Advance(40 * time.Second)
	for range 2 {
		b.report(b.a, b.probe(b.a), api.OutcomeSuccess)
	}
	b.open()
	require.Equal(b.t, int64(1), b.get(b.a).Opened, "it was closed since")
}

func lostProbes(b breaker) {
	b.halfOpen()
	one, two := b.probe(b.a), b.probe(b.b)
	b.sys.Advance(time.Minute - time.Millisecond)
	require.Equal(b.t, int64(1), b.refused(b.a, api.BreakerHalfOpen).RetryAfterMS)
	b.sys.Advance(time.Millisecond)
	require.Zero(b.t, b.get(b.a).Probes)
	b.probe(b.b)
	b.probe(b.a)
	b.refused(b.a, api.BreakerHalfOpen)
	require.False(b.t, b.report(b.a, one, api.OutcomeFailure).Counted, "it was lost")
	require.False(b.t, b.report(b.b, two, api.OutcomeSuccess).Counted)
	require.Equal(b.t, api.BreakerHalfOpen, b.get(b.a).State)
}

func lostIsTold(b breaker) {
	b.policy = fleeting
	b.tell(b.a, "", api.BreakerReportParams{Outcome: api.OutcomeFailure})
	b.sys.Advance(2 * time.Second)
	g := b.probe(b.a)
	l := locker{b.t, b.sys, b.a, b.b, b.name}
	require.Equal(b.t, api.LostParams{Name: b.name, Token: g.Probe, Reason: "expired"}, l.loss(b.a))
	b.sys.Advance(200 * time.Millisecond)
	b.probe(b.b)
}

func ignoredGivesBack(b breaker) {
	g := b.allow(b.a)
	for range 5 {
		require.Equal(b.t, api.BreakerReportResult{State: api.BreakerClosed, Generation: 1}, b.report(b.a, g, api.OutcomeIgnored))
	}
	require.Zero(b.t, b.get(b.a).Failures)
	b.halfOpen()
	for range 5 {
		one, two := b.probe(b.a), b.probe(b.b)
		b.refused(b.a, api.BreakerHalfOpen)
		require.False(b.t, b.report(b.b, one, api.OutcomeIgnored).Counted)
		require.False(b.t, b.report(b.b, two, api.OutcomeIgnored).Counted)
	}
	i := b.get(b.a)
	require.Equal(b.t, api.BreakerHalfOpen, i.State)
	require.Zero(b.t, i.Successes+i.Probes)
}

func closeGivesBack(b breaker) {
	b.halfOpen()
	dying := b.sys.Connect(b.t, 0, "dying")
	b.probe(dying)
	kept := b.probe(b.b)
	dying.Close()
	end := time.Now().Add(patience)
	for b.get(b.a).Probes > 1 {
		require.True(b.t, time.Now().Before(end), "it is never given back")
	}
	b.probe(b.a)
	require.True(b.t, b.report(b.b, kept, api.OutcomeSuccess).Counted)
}

func olderGeneration(b breaker) {
	old := b.allow(b.a)
	b.open()
	for _, outcome := range []string{api.OutcomeSuccess, api.OutcomeFailure} {
		r := b.report(b.a, old, outcome)
		require.Equal(b.t, api.BreakerReportResult{State: api.BreakerOpen, Generation: 2}, r)
	}
	b.sys.Advance(11 * time.Second)
	first := b.probe(b.a)
	for _, outcome := range []string{api.OutcomeSuccess, api.OutcomeFailure} {
		require.False(b.t, b.report(b.b, old, outcome).Counted)
		require.False(b.t, b.tell(b.b, "", api.BreakerReportParams{Outcome: outcome}).Counted, "half open only probes count")
	}
	b.report(b.a, first, api.OutcomeSuccess)
	b.report(b.a, b.probe(b.a), api.OutcomeSuccess)
	for range 5 {
		require.False(b.t, b.report(b.b, old, api.OutcomeFailure).Counted)
	}
	require.Equal(b.t, api.BreakerClosed, b.get(b.a).State)
	require.Zero(b.t, b.get(b.a).Failures)
}

func endStays(b breaker) {
	b.open()
	ends := b.refused(b.a, api.BreakerOpen).RetryAfterMS
	for passed := int64(1500); passed < 9000; passed += 1500 {
		b.sys.Advance(1500 * time.Millisecond)
		require.Equal(b.t, ends-passed, b.refused(b.b, api.BreakerOpen).RetryAfterMS)
		b.tell(b.b, "", api.BreakerReportParams{Outcome: api.OutcomeFailure})
	}
}

func fewProbes(b breaker) {
	b.halfOpen()
	var wg sync.WaitGroup
	var passed, failed atomic.Int64
	for i := range 100 {
		wg.Go(func() {
			r, err := do(patient(b.t), []Client{b.a, b.b}[i%2], "", api.BreakerAllow, api.BreakerAllowParams{Name: b.name, Policy: b.policy})
			switch {
			case err != nil:
				failed.Add(1)
			case r.Allowed:
				passed.Add(1)
			}
		})
	}
	wg.Wait()
	require.Zero(b.t, failed.Load())
	require.Equal(b.t, int64(2), passed.Load())
}
