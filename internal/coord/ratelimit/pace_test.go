package ratelimit_test

import (
	"context"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	"go.opentelemetry.io/otel/attribute"

	"github.com/coxswain-sidecar/coxswain/client/api"
	"github.com/coxswain-sidecar/coxswain/internal/coord/ratelimit"
	"github.com/coxswain-sidecar/coxswain/internal/coordtest"

	sdk "go.opentelemetry.io/otel/sdk/metric"
	"go.opentelemetry.io/otel/sdk/metric/metricdata"
	"go.opentelemetry.io/otel/trace/noop"

	"github.com/coxswain-sidecar/coxswain/internal/conformance"
	"github.com/coxswain-sidecar/coxswain/internal/coord"
	"github.com/coxswain-sidecar/coxswain/internal/lua"
	"github.com/coxswain-sidecar/coxswain/internal/luatest"
	"github.com/coxswain-sidecar/coxswain/internal/redis"
	"github.com/coxswain-sidecar/coxswain/internal/redistest"
	"github.com/coxswain-sidecar/coxswain/internal/telemetry"
)

// answered is how long a key is paused by a report without a request id.
func answered(t *testing.T, l *ratelimit.Limiter, p api.RatelimitReportParams) time.Duration {
	t.Helper()
	r, err := l.Report(t.Context(), coord.Caller{}, &p)
	require.NoError(t, err)
	return millis(r.WaitMS)
}

// paused pauses a key.
func paused(t *testing.T, l *ratelimit.Limiter, rule, key string, d time.Duration) {
	t.Helper()
	_, err := l.Pause(t.Context(), coord.Caller{}, &api.RatelimitPauseParams{Rule: rule, Key: key, ForMS: d.Milliseconds()})
	require.NoError(t, err)
}

func resume(ctx context.Context, l *ratelimit.Limiter, rule, key string) (bool, error) {
	r, err := l.Resume(ctx, coord.Caller{}, &api.RatelimitResumeParams{Rule: rule, Key: key})
	return r.Resumed, err
}

func TestAPenaltyIsTheRules(t *testing.T) {
	t.Parallel()
	sys := coordtest.NewSystem(t, redistest.URL(t))
	s := sys.Sidecars[0]
	strict := rule("strict", band(1000, time.Second))
	strict.Penalty = &api.Penalty{Codes: []int64{403}, BaseMS: 1000, MaxMS: 5000, ForgiveMS: 10_000, JitterPercent: new(int64)}
	require.NoError(t, s.Rules.Set([]api.Rule{strict, rule("plain", band(1000, time.Second))}, 1))
	report := func(rule string, status int64) time.Duration {
		return answered(t, s.Limiter, api.RatelimitReportParams{Rule: rule, Key: "k", Status: status})
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
	s := coordtest.NewSystem(t, redis.Embedded).Sidecars[0]
	r := rule("r", band(1000, time.Second))
	percent := int64(20)
	r.Penalty = &api.Penalty{JitterPercent: &percent}
	require.NoError(t, s.Rules.Set([]api.Rule{r}, 1))
	shorter, longer := 0, 0
	for i := range 200 {
		report := api.RatelimitReportParams{Rule: "r", Key: string(rune('a' + i)), Status: 429}
		wait := answered(t, s.Limiter, report)
		require.InDelta(t, time.Minute, wait, float64(12*time.Second))
		if wait < 55*time.Second {
			shorter++
		}
		if wait > 65*time.Second {
			longer++
		}
		report.Key, report.RetryAfterMS = report.Key+" asked", 7000
		asked := answered(t, s.Limiter, report)
		require.Equal(t, 7*time.Second, asked, "what the server asks for is kept to exactly")
	}
	require.Positive(t, shorter)
	require.Positive(t, longer)
}

func TestARuleBoundsDelays(t *testing.T) {
	t.Parallel()
	sys := coordtest.NewSystem(t, redis.Embedded)
	s := sys.Sidecars[0]
	slow := rule("slow", band(1000, time.Second))
	slow.MaxDelayMS = 3000
	require.NoError(t, s.Rules.Set([]api.Rule{slow}, 1))
	d, err := s.Limiter.SetDelay(t.Context(), coord.Caller{}, &api.RatelimitSetDelayParams{
		Rule: "slow", Key: "k", DelayMS: 3_600_000, TTLMS: 60_000, Source: "robots",
	})
	require.NoError(t, err)
	require.Equal(t, api.RatelimitSetDelayResult{DelayMS: 3000, UntilAtMS: sys.Now().Add(time.Minute).UnixMilli()}, d)
	require.True(t, acquire(t, s.Limiter, asks(byRule("slow", "k"), 1)).Allowed)
	refused := acquire(t, s.Limiter, asks(byRule("slow", "k"), 1))
	require.Equal(t, ratelimit.ReasonDelay, refused.DeniedBy)
	require.Equal(t, 3*time.Second, millis(refused.RetryAfterMS))
}

func TestALimitGivenInFullSharesNoPaceWithARule(t *testing.T) {
	t.Parallel()
	s := coordtest.NewSystem(t, redis.Embedded).Sidecars[0]
	require.NoError(t, s.Rules.Set([]api.Rule{rule("site", band(1000, time.Second))}, 1))
	paused(t, s.Limiter, "site", "k", time.Minute)
	require.True(t, acquire(t, s.Limiter, asks(inFull("k", band(1000, time.Second)), 1)).Allowed)
	require.Equal(t, ratelimit.ReasonPause, acquire(t, s.Limiter, asks(byRule("site", "k"), 1)).DeniedBy)
	_, err := resume(t.Context(), s.Limiter, "sites", "k")
	coordtest.RequireCode(t, err, api.NotFound, `rule: there is no rule "sites"; did you mean "site"?`)
}

// A resume whose broadcast is lost is seen within a second.
func TestAResumeWithoutABroadcastIsSeenWithinASecond(t *testing.T) {
	t.Parallel()
	clock := conformance.NewClock()
	r := luatest.Open(t, lua.Options{URL: redis.Embedded, Clock: clock.Micros})
	deaf := func() *ratelimit.Limiter {
		return ratelimit.New(ratelimit.Options{
			Runner: r, Keys: coord.NewKeys("p", ""), Rules: ratelimit.NewRules(), Telemetry: telemetry.Nop(), Clock: clock,
		})
	}
	here, there := deaf(), deaf()
	limit := inFull("k", band(1000, time.Second))
	paused(t, there, "", "k", time.Hour)
	require.Equal(t, coord.SourceRedis, acquire(t, here, asks(limit, 1)).Source)
	_, err := resume(t.Context(), there, "", "k")
	require.NoError(t, err)
	clock.Advance(time.Second - time.Microsecond)
	require.Equal(t, coord.SourceCache, acquire(t, here, asks(limit, 1)).Source)
	clock.Advance(time.Microsecond)
	require.True(t, acquire(t, here, asks(limit, 1)).Allowed)
}

// Admissions that were decided without Redis still count after a key is paused or resumed.
func TestAPauseForgetsNoLocalLimit(t *testing.T) {
	t.Parallel()
	s := coordtest.NewSystem(t, redis.Embedded).Sidecars[0]
	limit := asks(inFull("k", band(10, time.Hour)), 1)
	limit.FailMode = "local"
	require.True(t, acquire(t, s.Limiter, limit).Allowed)
	_, local := s.Limiter.Remembered()
	require.Equal(t, 1, local)
	paused(t, s.Limiter, "", "k", time.Hour)
	_, err := resume(t.Context(), s.Limiter, "", "k")
	require.NoError(t, err)
	_, local = s.Limiter.Remembered()
	require.Equal(t, 1, local)
}

// A slot that comes while Redis is away is valid: it was charged, and the sidecar knows of no pause of the key.
func TestASlotThatCannotBeConfirmedCounts(t *testing.T) {
	t.Parallel()
	server, clock := redistest.Start(t), conformance.NewClock()
	s := coordtest.NewWith(t, luatest.Open(t, lua.Options{URL: server.URL(), Clock: clock.Micros}), "p", coordtest.Options{Clock: clock})
	r := asks(inFull("k", band(1, time.Second)), 1)
	require.True(t, acquire(t, s.Limiter, r).Allowed)
	r.WaitMS = 60_000
	type ended struct {
		d   api.RatelimitResult
		err error
	}
	done := make(chan ended, 1)
	go func() {
		d, err := s.Limiter.Acquire(context.Background(), coord.Caller{}, r)
		done <- ended{d, err}
	}()
	require.Eventually(t, func() bool { return s.Limiter.Sleeping() == 1 }, 30*time.Second, time.Millisecond)
	server.Stop()
	clock.Advance(time.Second)
	e := <-done
	require.NoError(t, e.err)
	require.True(t, e.d.Allowed)
	require.Equal(t, time.Second, millis(e.d.WaitedMS))
}

func TestPausesAreEventsAndCounted(t *testing.T) {
	t.Parallel()
	reader, a := sdk.NewManualReader(), coordtest.NewAudience(coord.EventPaused, coord.EventResumed)
	tel, err := telemetry.New(noop.NewTracerProvider(), sdk.NewMeterProvider(sdk.WithReader(reader)), false)
	require.NoError(t, err)
	rules, clock := ratelimit.NewRules(), conformance.NewClock()
	require.NoError(t, rules.Set([]api.Rule{rule("r", band(2, time.Hour))}, 1))
	l := ratelimit.New(ratelimit.Options{
		Runner: luatest.Open(t, lua.Options{URL: redis.Embedded, Clock: clock.Micros}), Keys: coord.NewKeys("p", ""),
		Rules: rules, Events: a.Hub, Telemetry: tel, Clock: clock,
	})
	pause := &api.RatelimitPauseParams{Rule: "r", Key: "secret", ForMS: 60_000, Reason: "by hand"}
	for range 2 { // the second one changes nothing
		_, err = l.Pause(t.Context(), coord.Caller{}, pause)
		require.NoError(t, err)
	}
	for _, p := range []api.RatelimitReportParams{
		{Status: 429, RetryAfterMS: 2000, LatencyMS: 3000}, {Status: 429, RetryAfterMS: 3000}, {Status: 200}, {Status: 777},
	} {
		p.Rule, p.Key = "r", "secret"
		answered(t, l, p)
	}
	for range 2 {
		_, err = resume(t.Context(), l, "r", "secret")
		require.NoError(t, err)
	}
	at := a.Now
	require.Equal(t, []coord.Event{
		{Kind: coord.EventPaused, At: at, Noun: "ratelimit", Name: "r", Key: "secret", Reason: "manual", Detail: "by hand", Count: 1},
		{Kind: coord.EventPaused, At: at, Noun: "ratelimit", Name: "r", Key: "secret", Reason: "penalty", Detail: "429", Count: 1},
		{Kind: coord.EventResumed, At: at, Noun: "ratelimit", Name: "r", Key: "secret", Count: 1},
	}, a.Heard)
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
	s := coordtest.New(t, luatest.Open(t, lua.Options{URL: server.URL()}), "p")
	server.Stop()
	ctx, cancel := context.WithTimeout(t.Context(), 30*time.Second)
	defer cancel()
	_, err := s.Limiter.Pause(ctx, coord.Caller{}, &api.RatelimitPauseParams{Key: "k", ForMS: 1000})
	coordtest.RequireCode(t, err, api.Unavailable, "redis")
	for _, err := range []error{
		second(resume(ctx, s.Limiter, "", "k")),
		second(s.Limiter.SetDelay(ctx, coord.Caller{}, &api.RatelimitSetDelayParams{Key: "k", DelayMS: 1000, TTLMS: 1000, Source: "s"})),
		second(s.Limiter.Report(ctx, coord.Caller{}, &api.RatelimitReportParams{Key: "k", Status: 429})),
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
	s := coordtest.NewSystem(t, redis.Embedded).Sidecars[0]
	r := rule("site", band(1000, time.Second))
	r.Groups = []api.Group{{Suffix: "example.com"}}
	r.Overrides = []api.Override{{Exact: "example.com", Limits: []api.Band{band(5, time.Second)}}}
	require.NoError(t, s.Rules.Set([]api.Rule{r}, 1))
	answered(t, s.Limiter, api.RatelimitReportParams{Rule: "site", Key: "a.example.com", Status: 503})
	for _, key := range []string{"a.example.com", "b.example.com"} {
		require.Equal(t, ratelimit.ReasonPause, acquire(t, s.Limiter, asks(byRule("site", key), 1)).DeniedBy, key)
	}
	require.True(t, acquire(t, s.Limiter, asks(byRule("site", "example.org"), 1)).Allowed)
	was, err := resume(t.Context(), s.Limiter, "site", "c.example.com")
	require.NoError(t, err)
	require.True(t, was)
	require.True(t, acquire(t, s.Limiter, asks(byRule("site", "b.example.com"), 1)).Allowed)
}

func TestAReportReleasesTheGrantsPermit(t *testing.T) {
	t.Parallel()
	s := coordtest.NewSystem(t, redis.Embedded).Sidecars[0]
	r := rule("site", band(1000, time.Second))
	r.MaxConcurrent = 1
	require.NoError(t, s.Rules.Set([]api.Rule{r}, 1))
	first := acquire(t, s.Limiter, asks(byRule("site", "k"), 1))
	require.NotEmpty(t, first.Grant)
	require.Equal(t, ratelimit.ReasonConcurrency, acquire(t, s.Limiter, asks(byRule("site", "k"), 1)).DeniedBy)
	for range 2 { // a second one finds nothing to free
		require.Zero(t, answered(t, s.Limiter, api.RatelimitReportParams{Rule: "site", Key: "k", Status: 200, Grant: first.Grant}))
	}
	require.True(t, acquire(t, s.Limiter, asks(byRule("site", "k"), 1)).Allowed)
	require.Equal(t, ratelimit.ReasonConcurrency, acquire(t, s.Limiter, asks(byRule("site", "k"), 1)).DeniedBy)
}

// A slot that is given up releases its permit too.
func TestAPausedSlotReleasesItsPermit(t *testing.T) {
	t.Parallel()
	sys := coordtest.NewSystem(t, redistest.URL(t))
	s := sys.Sidecars[0]
	r := rule("site", band(1, time.Second))
	r.MaxConcurrent = 1
	require.NoError(t, s.Rules.Set([]api.Rule{r}, 1))
	first := acquire(t, s.Limiter, asks(byRule("site", "k"), 1))
	_, err := s.Limiter.Done(t.Context(), coord.Caller{}, ended(first.Grant))
	require.NoError(t, err)
	waiting := waits(byRule("site", "k"), 1, time.Minute)
	done := make(chan api.RatelimitResult, 1)
	go func() {
		d, err := s.Limiter.Acquire(context.Background(), coord.Caller{}, waiting)
		if err != nil {
			t.Error(err)
		}
		done <- d
	}()
	require.Eventually(t, func() bool { return s.Limiter.Sleeping() == 1 }, 30*time.Second, time.Millisecond)
	paused(t, s.Limiter, "site", "k", 10*time.Second)
	sys.Advance(time.Second)
	d := <-done
	require.Equal(t, []any{false, ratelimit.ReasonPause, "", 9 * time.Second}, []any{d.Allowed, d.DeniedBy, d.Grant, millis(d.RetryAfterMS)})
	sys.Advance(9 * time.Second)
	require.True(t, acquire(t, s.Limiter, asks(byRule("site", "k"), 1)).Allowed)
}
