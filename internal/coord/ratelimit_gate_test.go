package coord_test

import (
	"context"
	"testing"
	"time"

	"github.com/coxswain-sidecar/coxswain/client/api"

	"github.com/stretchr/testify/require"
	"go.opentelemetry.io/otel/attribute"
	sdk "go.opentelemetry.io/otel/sdk/metric"
	"go.opentelemetry.io/otel/sdk/metric/metricdata"
	"go.opentelemetry.io/otel/trace/noop"

	"github.com/coxswain-sidecar/coxswain/internal/conformance"
	"github.com/coxswain-sidecar/coxswain/internal/coord"
	"github.com/coxswain-sidecar/coxswain/internal/lua"
	"github.com/coxswain-sidecar/coxswain/internal/redis"
	"github.com/coxswain-sidecar/coxswain/internal/redistest"
	"github.com/coxswain-sidecar/coxswain/internal/telemetry"
)

func gateOf(rule, key string) coord.GateRef { return coord.GateRef{Rule: rule, Key: key} }

// answered is a report without a request id.
func answered(t *testing.T, l *coord.RateLimiter, r coord.ReportRequest) coord.Backoff {
	t.Helper()
	b, err := l.Report(t.Context(), coord.Caller{}, r)
	require.NoError(t, err)
	return b
}

func TestAPenaltyIsTheRules(t *testing.T) {
	t.Parallel()
	sys := newSystem(t, redistest.URL(t))
	s := sys.sidecars[0]
	strict := rule("strict", band(1000, time.Second))
	strict.Penalty = coord.PenaltyOptions{
		Codes: []int64{403}, Base: time.Second, Max: 5 * time.Second, Forgive: 10 * time.Second, JitterPercent: -1,
	}
	require.NoError(t, s.rules.Set([]coord.RuleOptions{strict, rule("plain", band(1000, time.Second))}, 1))
	report := func(rule string, status int64) time.Duration {
		return answered(t, s.limiter, coord.ReportRequest{GateRef: gateOf(rule, "k"), Status: status}).Wait
	}
	for _, want := range []time.Duration{time.Second, 2 * time.Second, 4 * time.Second, 5 * time.Second, 5 * time.Second} {
		require.Zero(t, report("strict", 429), "it is not among the rule's codes")
		require.Equal(t, want, report("strict", 403))
		require.Zero(t, report("plain", 403))
		sys.Advance(want)
	}
	sys.Advance(10 * time.Second)
	require.Equal(t, time.Second, report("strict", 403), "forgiven")
	require.InDelta(t, time.Minute, report("plain", 503), float64(6*time.Second))
}

func TestJitterMakesAPauseLongerOrShorter(t *testing.T) {
	t.Parallel()
	s := newSystem(t, redis.Embedded).sidecars[0]
	r := rule("r", band(1000, time.Second))
	r.Penalty.JitterPercent = 20
	require.NoError(t, s.rules.Set([]coord.RuleOptions{r}, 1))
	shorter, longer := 0, 0
	for i := range 200 {
		ref := gateOf("r", string(rune('a'+i)))
		wait := answered(t, s.limiter, coord.ReportRequest{GateRef: ref, Status: 429}).Wait
		require.InDelta(t, time.Minute, wait, float64(12*time.Second))
		if wait < 55*time.Second {
			shorter++
		}
		if wait > 65*time.Second {
			longer++
		}
		ref.Key += " asked"
		asked := answered(t, s.limiter, coord.ReportRequest{GateRef: ref, Status: 429, RetryAfter: 7 * time.Second}).Wait
		require.Equal(t, 7*time.Second, asked, "what the server asks for is kept to exactly")
	}
	require.Positive(t, shorter)
	require.Positive(t, longer)
}

func TestARuleBoundsDelays(t *testing.T) {
	t.Parallel()
	sys := newSystem(t, redis.Embedded)
	s := sys.sidecars[0]
	slow := rule("slow", band(1000, time.Second))
	slow.MaxDelay = 3 * time.Second
	require.NoError(t, s.rules.Set([]coord.RuleOptions{slow}, 1))
	d, err := s.limiter.SetDelay(t.Context(), coord.DelayRequest{GateRef: gateOf("slow", "k"), Delay: time.Hour, TTL: time.Minute, Source: "robots"})
	require.NoError(t, err)
	require.Equal(t, coord.Delay{Delay: 3 * time.Second, Until: sys.Now().Add(time.Minute)}, d)
	require.True(t, acquire(t, s.limiter, asks(byRule("slow", "k"), 1)).Allowed)
	refused := acquire(t, s.limiter, asks(byRule("slow", "k"), 1))
	require.Equal(t, coord.ReasonDelay, refused.DeniedBy)
	require.Equal(t, 3*time.Second, refused.RetryAfter)
}

func TestALimitGivenInFullHasNoGateOfARule(t *testing.T) {
	t.Parallel()
	s := newSystem(t, redis.Embedded).sidecars[0]
	require.NoError(t, s.rules.Set([]coord.RuleOptions{rule("site", band(1000, time.Second))}, 1))
	_, err := s.limiter.Pause(t.Context(), coord.PauseRequest{GateRef: gateOf("site", "k"), For: time.Minute})
	require.NoError(t, err)
	require.True(t, acquire(t, s.limiter, asks(inFull("k", band(1000, time.Second)), 1)).Allowed)
	require.Equal(t, coord.ReasonPause, acquire(t, s.limiter, asks(byRule("site", "k"), 1)).DeniedBy)
	_, err = s.limiter.Resume(t.Context(), gateOf("sites", "k"))
	requireCode(t, err, api.NotFound, `rule: there is no rule "sites"; did you mean "site"?`)
}

// A resume whose broadcast is lost is seen within a second.
func TestAResumeThatNobodyHearsIsSeenWithinASecond(t *testing.T) {
	t.Parallel()
	clock := conformance.NewClock()
	r := openRunner(t, lua.Options{URL: redis.Embedded, Clock: clock.Micros})
	deaf := func() *coord.RateLimiter {
		return coord.NewRateLimiter(coord.RateLimiterOptions{
			Runner: r, Keys: coord.NewKeys("p", ""), Rules: coord.NewRules(), Telemetry: telemetry.Nop(), Clock: clock,
		})
	}
	here, there := deaf(), deaf()
	limit := inFull("k", band(1000, time.Second))
	_, err := there.Pause(t.Context(), coord.PauseRequest{GateRef: gateOf("", "k"), For: time.Hour})
	require.NoError(t, err)
	require.Equal(t, coord.SourceRedis, acquire(t, here, asks(limit, 1)).Source)
	_, err = there.Resume(t.Context(), gateOf("", "k"))
	require.NoError(t, err)
	clock.Advance(time.Second - time.Microsecond)
	require.Equal(t, coord.SourceCache, acquire(t, here, asks(limit, 1)).Source)
	clock.Advance(time.Microsecond)
	require.True(t, acquire(t, here, asks(limit, 1)).Allowed)
}

// What was let through without Redis counts on when a key is paused or resumed.
func TestAPauseForgetsNoLocalLimit(t *testing.T) {
	t.Parallel()
	s := newSystem(t, redis.Embedded).sidecars[0]
	limit := asks(inFull("k", band(10, time.Hour)), 1)
	limit.FailMode = coord.FailLocal
	require.True(t, acquire(t, s.limiter, limit).Allowed)
	_, local := s.limiter.Remembered()
	require.Equal(t, 1, local)
	_, err := s.limiter.Pause(t.Context(), coord.PauseRequest{GateRef: gateOf("", "k"), For: time.Hour})
	require.NoError(t, err)
	_, err = s.limiter.Resume(t.Context(), gateOf("", "k"))
	require.NoError(t, err)
	_, local = s.limiter.Remembered()
	require.Equal(t, 1, local)
}

// A slot that comes while Redis is away counts: it was charged, and nobody says
// that the key is paused.
func TestASlotThatCannotBeConfirmedCounts(t *testing.T) {
	t.Parallel()
	server, clock := redistest.Start(t), conformance.NewClock()
	s := newSidecarBy(t, openRunner(t, lua.Options{URL: server.URL(), Clock: clock.Micros}), "p", clock)
	r := asks(inFull("k", band(1, time.Second)), 1)
	require.True(t, acquire(t, s.limiter, r).Allowed)
	r.Wait = time.Minute
	type ended struct {
		d   coord.Decision
		err error
	}
	done := make(chan ended, 1)
	go func() {
		d, err := s.limiter.Acquire(context.Background(), coord.Caller{}, r)
		done <- ended{d, err}
	}()
	require.Eventually(t, func() bool { return s.limiter.Sleeping() == 1 }, 30*time.Second, time.Millisecond)
	server.Stop()
	clock.Advance(time.Second)
	e := <-done
	require.NoError(t, e.err)
	require.True(t, e.d.Allowed)
	require.Equal(t, time.Second, e.d.Waited)
}

func TestPausesAreToldAndCounted(t *testing.T) {
	t.Parallel()
	reader, a := sdk.NewManualReader(), newAudience(coord.EventPaused, coord.EventResumed)
	tel, err := telemetry.New(noop.NewTracerProvider(), sdk.NewMeterProvider(sdk.WithReader(reader)), false)
	require.NoError(t, err)
	rules, clock := coord.NewRules(), conformance.NewClock()
	require.NoError(t, rules.Set([]coord.RuleOptions{rule("r", band(2, time.Hour))}, 1))
	l := coord.NewRateLimiter(coord.RateLimiterOptions{
		Runner: openRunner(t, lua.Options{URL: redis.Embedded, Clock: clock.Micros}), Keys: coord.NewKeys("p", ""),
		Rules: rules, Events: a.hub, Telemetry: tel, Clock: clock,
	})
	pause := coord.PauseRequest{GateRef: gateOf("r", "secret"), For: time.Minute, Reason: "by hand"}
	for range 2 { // the second one changes nothing
		_, err = l.Pause(t.Context(), pause)
		require.NoError(t, err)
	}
	for _, r := range []coord.ReportRequest{
		{Status: 429, RetryAfter: 2 * time.Second, Latency: 3 * time.Second}, {Status: 429, RetryAfter: 3 * time.Second}, {Status: 200}, {Status: 777},
	} {
		r.GateRef = pause.GateRef
		answered(t, l, r)
	}
	for range 2 {
		_, err = l.Resume(t.Context(), pause.GateRef)
		require.NoError(t, err)
	}
	at := a.now
	require.Equal(t, []coord.Event{
		{Kind: coord.EventPaused, At: at, Noun: "ratelimit", Name: "r", Key: "secret", Reason: "manual", Detail: "by hand", Count: 1},
		{Kind: coord.EventPaused, At: at, Noun: "ratelimit", Name: "r", Key: "secret", Reason: "penalty", Detail: "429", Count: 1},
		{Kind: coord.EventResumed, At: at, Noun: "ratelimit", Name: "r", Key: "secret", Count: 1},
	}, a.heard)
	require.Equal(t, map[string]int64{
		"coxswain.pauses r manual": 1, "coxswain.pauses r penalty": 1,
		"coxswain.reports r 4xx": 2, "coxswain.reports r 2xx": 1, "coxswain.reports r other": 1,
	}, upstreamCounts(t, reader))
}

// upstreamCounts reads the counters of pauses and reports, by their labels.
func upstreamCounts(t *testing.T, r sdk.Reader) map[string]int64 {
	t.Helper()
	var all metricdata.ResourceMetrics
	require.NoError(t, r.Collect(t.Context(), &all))
	found := make(map[string]int64)
	for _, scope := range all.ScopeMetrics {
		for _, m := range scope.Metrics {
			label := map[string]string{"coxswain.pauses": "cause", "coxswain.reports": "status"}[m.Name]
			sum, ok := m.Data.(metricdata.Sum[int64])
			if label == "" || !ok {
				continue
			}
			for _, p := range sum.DataPoints {
				rule, _ := p.Attributes.Value("rule")
				by, _ := p.Attributes.Value(attribute.Key(label))
				found[m.Name+" "+rule.AsString()+" "+by.AsString()] = p.Value
			}
		}
	}
	return found
}

func TestWithoutRedisNothingIsPaused(t *testing.T) {
	t.Parallel()
	server := redistest.Start(t)
	s := newSidecar(t, openRunner(t, lua.Options{URL: server.URL()}), "p")
	server.Stop()
	ctx, cancel := context.WithTimeout(t.Context(), 100*time.Millisecond)
	defer cancel()
	ref := gateOf("", "k")
	_, err := s.limiter.Pause(ctx, coord.PauseRequest{GateRef: ref, For: time.Second})
	requireCode(t, err, api.Unavailable, "redis")
	for _, err := range []error{
		second(s.limiter.Resume(ctx, ref)),
		second(s.limiter.SetDelay(ctx, coord.DelayRequest{GateRef: ref, Delay: time.Second, TTL: time.Second, Source: "s"})),
		second(s.limiter.Report(ctx, coord.Caller{}, coord.ReportRequest{GateRef: ref, Status: 429})),
	} {
		var e *coord.Error
		require.ErrorAs(t, err, &e)
	}
}

func second[T any](_ T, err error) error { return err }

// A rule's group is paused as one, whichever of its keys is named, and an override
// of it is paused with it.
func TestAGroupOfARuleIsPausedAsOne(t *testing.T) {
	t.Parallel()
	s := newSystem(t, redis.Embedded).sidecars[0]
	r := rule("site", band(1000, time.Second))
	r.Groups = []coord.Group{{Match: coord.Match{Suffix: "example.com"}}}
	r.Overrides = []coord.Override{{Match: coord.Match{Exact: "example.com"}, Limits: []coord.Band{band(5, time.Second)}}}
	require.NoError(t, s.rules.Set([]coord.RuleOptions{r}, 1))
	answered(t, s.limiter, coord.ReportRequest{GateRef: gateOf("site", "a.example.com"), Status: 503})
	for _, key := range []string{"a.example.com", "b.example.com"} {
		require.Equal(t, coord.ReasonPause, acquire(t, s.limiter, asks(byRule("site", key), 1)).DeniedBy, key)
	}
	require.True(t, acquire(t, s.limiter, asks(byRule("site", "example.org"), 1)).Allowed)
	was, err := s.limiter.Resume(t.Context(), gateOf("site", "c.example.com"))
	require.NoError(t, err)
	require.True(t, was)
	require.True(t, acquire(t, s.limiter, asks(byRule("site", "b.example.com"), 1)).Allowed)
}

func TestAReportFreesTheGrantsPlace(t *testing.T) {
	t.Parallel()
	s := newSystem(t, redis.Embedded).sidecars[0]
	r := rule("site", band(1000, time.Second))
	r.MaxConcurrent = 1
	require.NoError(t, s.rules.Set([]coord.RuleOptions{r}, 1))
	first := acquire(t, s.limiter, asks(byRule("site", "k"), 1))
	require.NotEmpty(t, first.Grant)
	require.Equal(t, coord.ReasonConcurrency, acquire(t, s.limiter, asks(byRule("site", "k"), 1)).DeniedBy)
	for range 2 { // a second one finds nothing to free
		require.Zero(t, answered(t, s.limiter, coord.ReportRequest{GateRef: gateOf("site", "k"), Status: 200, Grant: first.Grant}))
	}
	require.True(t, acquire(t, s.limiter, asks(byRule("site", "k"), 1)).Allowed)
	require.Equal(t, coord.ReasonConcurrency, acquire(t, s.limiter, asks(byRule("site", "k"), 1)).DeniedBy)
}

// A slot that is given up frees its place with it.
func TestAPausedSlotLeavesItsPlace(t *testing.T) {
	t.Parallel()
	sys := newSystem(t, redistest.URL(t))
	s := sys.sidecars[0]
	r := rule("site", band(1, time.Second))
	r.MaxConcurrent = 1
	require.NoError(t, s.rules.Set([]coord.RuleOptions{r}, 1))
	first := acquire(t, s.limiter, asks(byRule("site", "k"), 1))
	_, err := s.limiter.Done(t.Context(), coord.Caller{}, first.Grant)
	require.NoError(t, err)
	waits := asks(byRule("site", "k"), 1)
	waits.Wait = time.Minute
	done := make(chan coord.Decision, 1)
	go func() {
		d, err := s.limiter.Acquire(context.Background(), coord.Caller{}, waits)
		if err != nil {
			t.Error(err)
		}
		done <- d
	}()
	require.Eventually(t, func() bool { return s.limiter.Sleeping() == 1 }, 30*time.Second, time.Millisecond)
	_, err = s.limiter.Pause(t.Context(), coord.PauseRequest{GateRef: gateOf("site", "k"), For: 10 * time.Second})
	require.NoError(t, err)
	sys.Advance(time.Second)
	d := <-done
	require.Equal(t, []any{false, coord.ReasonPause, "", 9 * time.Second}, []any{d.Allowed, d.DeniedBy, d.Grant, d.RetryAfter})
	sys.Advance(9 * time.Second)
	require.True(t, acquire(t, s.limiter, asks(byRule("site", "k"), 1)).Allowed)
}
