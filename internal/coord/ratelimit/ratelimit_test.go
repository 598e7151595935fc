package ratelimit_test

import (
	"context"
	"errors"
	"sync"
	"sync/atomic"
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

	"github.com/coxswain-sidecar/coxswain/internal/coord"
	"github.com/coxswain-sidecar/coxswain/internal/lua"
	"github.com/coxswain-sidecar/coxswain/internal/luatest"
	"github.com/coxswain-sidecar/coxswain/internal/redis"
	"github.com/coxswain-sidecar/coxswain/internal/redistest"
	"github.com/coxswain-sidecar/coxswain/internal/telemetry"
)

func byRule(name, key string) api.RatelimitParams { return api.RatelimitParams{Rule: name, Key: key} }

func inFull(key string, bands ...api.Band) api.RatelimitParams {
	return api.RatelimitParams{Algorithm: tokenBucket, Limits: bands, Key: key}
}

// asks is a call for cost that does not wait.
func asks(p api.RatelimitParams, cost int64) *api.RatelimitParams {
	p.Cost = cost
	return &p
}

// waits is a call for cost that may wait so long.
func waits(p api.RatelimitParams, cost int64, wait time.Duration) *api.RatelimitParams {
	p.Cost, p.WaitMS = cost, wait.Milliseconds()
	return &p
}

// reset is a call that forgets the state of a limit.
func reset(p api.RatelimitParams) *api.RatelimitResetParams {
	return &api.RatelimitResetParams{Rule: p.Rule, Algorithm: p.Algorithm, Limits: p.Limits, Key: p.Key, Group: p.Group}
}

// explain asks for the explanation of a limit.
func explain(p api.RatelimitParams) *api.RatelimitExplainParams {
	return &api.RatelimitExplainParams{Rule: p.Rule, Algorithm: p.Algorithm, Limits: p.Limits, Key: p.Key, Group: p.Group}
}

// ended is a call about a grant.
func ended(grant string) *api.RatelimitGrantParams { return &api.RatelimitGrantParams{Grant: grant} }

// onTheWire acquires as a client does, whose params are read first.
func onTheWire(t *testing.T, s *coordtest.Sidecar, p *api.RatelimitParams) error {
	t.Helper()
	return s.Connect(t, "c").Do(t.Context(), "", api.RatelimitAcquire.Name, p, new(api.RatelimitResult))
}

func millis(n int64) time.Duration { return time.Duration(n) * time.Millisecond }

func TestARuleDecidesUnderItsName(t *testing.T) {
	t.Parallel()
	s := coordtest.NewSystem(t, redistest.URL(t)).Sidecars[0]
	require.NoError(t, s.Rules.Set([]api.Rule{
		rule("per-host", band(80, 10*time.Minute)), rule("two", band(100, time.Minute), band(2, time.Second)),
	}, 1))
	d, err := s.Limiter.Acquire(t.Context(), coord.Caller{}, asks(byRule("per-host", "a"), 1))
	require.NoError(t, err)
	require.Equal(t, api.RatelimitResult{
		Allowed: true, Rule: "per-host", Algorithm: tokenBucket, Band: "80/10m",
		Limit: 80, Remaining: 79, Current: 1, ResetAfterMS: 7500, ResetAtMS: d.ResetAtMS,
		Source: coord.SourceRedis, Grant: d.Grant,
	}, d)
	require.NotEmpty(t, d.Grant)
	d, err = s.Limiter.Acquire(t.Context(), coord.Caller{}, asks(byRule("two", "a"), 2))
	require.NoError(t, err)
	require.Equal(t, "2/1s", d.Band)
	// The same key under another rule, or none, is another state.
	d, err = s.Limiter.Peek(t.Context(), coord.Caller{}, asks(inFull("a", band(80, 10*time.Minute)), 1))
	require.NoError(t, err)
	require.Equal(t, int64(80), d.Remaining)
	was, err := s.Limiter.Reset(t.Context(), coord.Caller{}, reset(byRule("per-host", "a")))
	require.NoError(t, err)
	require.True(t, was.Reset)
}

func TestAnUnknownRuleNamesTheNearest(t *testing.T) {
	t.Parallel()
	s := coordtest.NewSystem(t, redis.Embedded).Sidecars[0]
	_, err := s.Limiter.Peek(t.Context(), coord.Caller{}, asks(byRule("per-host", "a"), 1))
	coordtest.RequireCode(t, err, api.NotFound, `rule: there is no rule "per-host", and none is configured; add it to rules.items, or give algorithm and limits`)
	require.NoError(t, s.Rules.Set([]api.Rule{rule("per-host", band(1, time.Second))}, 1))
	_, err = s.Limiter.Acquire(t.Context(), coord.Caller{}, asks(byRule("perhost", "a"), 1))
	coordtest.RequireCode(t, err, api.NotFound, `rule: there is no rule "perhost"; did you mean "per-host"?`)
	_, err = s.Limiter.Reset(t.Context(), coord.Caller{}, reset(byRule("something else", "a")))
	coordtest.RequireCode(t, err, api.NotFound, `rule: there is no rule "something else"; add it to rules.items, or give algorithm and limits`)
}

func TestACostOutOfRangeIsTheCallersMistake(t *testing.T) {
	t.Parallel()
	s := coordtest.NewSystem(t, redis.Embedded).Sidecars[0]
	for _, cost := range []int64{-1, 1e9 + 1} {
		err := onTheWire(t, s, asks(inFull("a", band(1, time.Second)), cost))
		var e *api.Error
		require.ErrorAs(t, err, &e)
		require.Equal(t, api.InvalidArgument, e.Code)
		require.Contains(t, e.Message, "cost: ")
	}
}

func TestANewerRevisionOfARuleWinsOnEveryPod(t *testing.T) {
	t.Parallel()
	redistest.Stores(t, func(t *testing.T, url string) {
		sys := coordtest.NewSystem(t, url)
		older, newer := sys.Sidecars[0], sys.Sidecars[1]
		require.NoError(t, older.Rules.Set([]api.Rule{rule("r", band(100, time.Hour))}, 1))
		require.NoError(t, newer.Rules.Set([]api.Rule{rule("r", band(5, time.Hour))}, 2))
		acquire := func(s *coordtest.Sidecar, cost int64) bool {
			d, err := s.Limiter.Acquire(t.Context(), coord.Caller{}, asks(byRule("r", "k"), cost))
			require.NoError(t, err)
			return d.Allowed
		}
		require.True(t, acquire(older, 3))
		require.True(t, acquire(newer, 2))
		require.False(t, acquire(older, 1), "a pod that was not reloaded keeps to the newer parameters")
		require.NoError(t, older.Rules.Set([]api.Rule{rule("r", band(6, time.Hour))}, 3))
		require.True(t, acquire(older, 1))
		require.False(t, acquire(newer, 1))
	})
}

func TestAPodWithAnOlderRuleAnswersWithTheNewerOne(t *testing.T) {
	t.Parallel()
	for _, algorithm := range []string{tokenBucket, "leaky_bucket", "fixed_window", "sliding_window_log", "sliding_window_counter"} {
		t.Run(algorithm, func(t *testing.T) {
			t.Parallel()
			sys := coordtest.NewSystem(t, redis.Embedded)
			older, newer := sys.Sidecars[0], sys.Sidecars[1]
			old := rule("r", band(10, time.Hour))
			old.Algorithm = algorithm
			next := rule("r", band(500, 1500*time.Minute), band(100, time.Hour))
			next.Algorithm = algorithm
			if algorithm == "leaky_bucket" {
				next.Limits = []api.Band{{Limit: 500, PeriodMS: 90_000_000, Burst: 500}, {Limit: 100, PeriodMS: 3_600_000, Burst: 100}}
			}
			require.NoError(t, older.Rules.Set([]api.Rule{old}, 1))
			require.NoError(t, newer.Rules.Set([]api.Rule{next}, 2))
			acquire := func(s *coordtest.Sidecar, cost int64) api.RatelimitResult {
				d, err := s.Limiter.Acquire(t.Context(), coord.Caller{}, asks(byRule("r", "k"), cost))
				require.NoError(t, err)
				return d
			}
			acquire(newer, 13)
			d := acquire(older, 1)
			require.Equal(t, []any{true, "100/1h", int64(100), int64(86), int64(14)}, []any{d.Allowed, d.Band, d.Limit, d.Remaining, d.Current})
			d = acquire(older, 90)
			require.Equal(t, []any{false, "100/1h", int64(100), int64(86)}, []any{d.Allowed, d.Band, d.Limit, d.Remaining})
			d = acquire(older, 101)
			require.Equal(t, int64(-1), d.RetryAfterMS, "by the newer rule")
			e, err := older.Limiter.Explain(t.Context(), coord.Caller{}, explain(byRule("r", "k")))
			require.NoError(t, err)
			require.Len(t, e.Bands, 2)
			require.Equal(t, []any{"100/1h", int64(86), "500/25h", int64(486)},
				[]any{e.Bands[0].Band, e.Bands[0].Remaining, e.Bands[1].Band, e.Bands[1].Remaining})
		})
	}
}

// TestARefusalWritesNothing looks at the stored values themselves.
func TestARefusalWritesNothing(t *testing.T) {
	t.Parallel()
	prefix := redistest.Prefix(t)
	s := coordtest.New(t, luatest.Open(t, lua.Options{URL: redistest.URL(t)}), prefix)
	store, ctx := redistest.Client(t), t.Context()
	for name, bands := range map[string][]api.Band{
		"one band": {band(10, time.Hour)}, "two bands": {band(10, time.Hour), band(1000, 2*time.Hour)},
	} {
		key := ratelimit.InFullKey(coord.NewKeys(prefix, ""), name, tokenBucket, bands...)
		never, err := s.Limiter.Acquire(ctx, coord.Caller{}, asks(inFull(name, bands...), 11))
		require.NoError(t, err)
		require.Equal(t, int64(-1), never.RetryAfterMS)
		require.Zero(t, store.Exists(ctx, key).Val(), "a cost that never fits stores nothing")

		_, err = s.Limiter.Acquire(ctx, coord.Caller{}, asks(inFull(name, bands...), 8))
		require.NoError(t, err)
		values, expires := store.Get(ctx, key).Val(), store.PExpireTime(ctx, key).Val()
		require.NotEmpty(t, values)
		require.Positive(t, expires)
		c := coord.Caller{RequestID: "refused", Fingerprint: "f"}
		d, err := s.Limiter.Acquire(ctx, c, asks(inFull(name, bands...), 5))
		require.NoError(t, err)
		require.False(t, d.Allowed)
		_, err = s.Limiter.Peek(ctx, coord.Caller{}, asks(inFull(name, bands...), 2))
		require.NoError(t, err)
		_, err = s.Limiter.Acquire(ctx, c, asks(inFull(name, bands...), 0))
		require.NoError(t, err)
		require.Equal(t, values, store.Get(ctx, key).Val())
		require.Equal(t, expires, store.PExpireTime(ctx, key).Val())
		require.Zero(t, store.Exists(ctx, coord.StoredReply(key, c).Key).Val(), "nor a stored")
	}
}

func TestWithoutRedisALimitIsUnavailable(t *testing.T) {
	t.Parallel()
	server := redistest.Start(t)
	s := coordtest.New(t, luatest.Open(t, lua.Options{URL: server.URL()}), "p")
	limit := inFull("k", band(10, time.Hour))
	_, err := s.Limiter.Acquire(t.Context(), coord.Caller{}, asks(limit, 1))
	require.NoError(t, err)
	server.Stop()
	// The first call is tried until its deadline, which a busy machine must not meet before the first try has failed.
	ctx, cancel := context.WithTimeout(t.Context(), 5*time.Second)
	defer cancel()
	closed := asks(limit, 1)
	closed.FailMode = "closed"
	_, err = s.Limiter.Acquire(ctx, coord.Caller{RequestID: "id", Fingerprint: "f"}, closed)
	coordtest.RequireCode(t, err, api.Unavailable, "redis")
	ctx, cancel = context.WithTimeout(t.Context(), 30*time.Second)
	defer cancel()
	_, err = s.Limiter.Peek(ctx, coord.Caller{}, closed)
	var e *coord.Error
	require.ErrorAs(t, err, &e)
	require.False(t, e.MaybeExecuted, "there was nothing to execute")
	_, err = s.Limiter.Reset(ctx, coord.Caller{}, reset(limit))
	require.Error(t, err)
}

func TestAnUnansweredPeekWasNotExecuted(t *testing.T) {
	t.Parallel()
	way := coordtest.ThroughProxy(t)
	s := coordtest.New(t, luatest.Open(t, lua.Options{URL: way.URL()}), redistest.Prefix(t))
	limit := inFull("k", band(10, time.Hour))
	_, err := s.Limiter.Peek(t.Context(), coord.Caller{}, asks(limit, 1))
	require.NoError(t, err)
	// A busy machine may not have sent the script in the time; then it is tried again with more.
	for within := 200 * time.Millisecond; within < 30*time.Second && !errors.Is(err, redis.ErrMaybeExecuted); within *= 2 {
		coordtest.Until(t, func() bool {
			_, err := s.Limiter.Peek(t.Context(), coord.Caller{}, asks(limit, 1))
			return err == nil
		})
		way.Mute()
		ctx, cancel := context.WithTimeout(t.Context(), within)
		_, err = s.Limiter.Peek(ctx, coord.Caller{}, asks(limit, 1))
		cancel()
		way.Heal()
	}
	var e *coord.Error
	require.ErrorAs(t, err, &e)
	require.ErrorIs(t, err, redis.ErrMaybeExecuted, "the script may have run")
	require.False(t, e.MaybeExecuted, "but it changes nothing")
}

func TestABurstOf6100AdmitsItsCapacityAndWhatRefilled(t *testing.T) {
	t.Parallel()
	s := coordtest.New(t, luatest.Open(t, lua.Options{URL: redistest.URL(t)}), redistest.Prefix(t))
	limit := inFull("k", band(6000, 10*time.Minute)) // it must not be full again before the test ends
	first, err := s.Limiter.Acquire(t.Context(), coord.Caller{}, asks(limit, 500))
	require.NoError(t, err)
	var admitted, begun atomic.Int64
	var last atomic.Int64 // the latest reset seen: what is used, by the server's clock
	var wg sync.WaitGroup
	for range 32 {
		wg.Go(func() {
			for begun.Add(1) <= 5600 {
				d, err := s.Limiter.Acquire(t.Context(), coord.Caller{}, asks(limit, 1))
				if err != nil {
					t.Error(err)
					return
				}
				if d.Allowed {
					admitted.Add(1)
				}
				for at := d.ResetAtMS; ; {
					if old := last.Load(); old >= at || last.CompareAndSwap(old, at) {
						break
					}
				}
			}
		})
	}
	wg.Wait()
	// What was admitted since is exactly what moved the reset: 0.01 per
	// millisecond, each end rounded up to one.
	moved := float64(last.Load()-first.ResetAtMS) * 0.01
	require.InDelta(t, moved, float64(admitted.Load()), 1)
	require.GreaterOrEqual(t, admitted.Load(), int64(5500))
}

// decisions reads the counter of decisions, by rule and outcome.
func decisions(t *testing.T, r sdk.Reader) map[string]int64 {
	t.Helper()
	var all metricdata.ResourceMetrics
	require.NoError(t, r.Collect(t.Context(), &all))
	found := make(map[string]int64)
	for _, scope := range all.ScopeMetrics {
		for _, m := range scope.Metrics {
			sum, ok := m.Data.(metricdata.Sum[int64])
			if !ok {
				continue
			}
			for _, p := range sum.DataPoints {
				ruleName, ok := p.Attributes.Value(attribute.Key("rule"))
				if !ok {
					continue
				}
				outcome, _ := p.Attributes.Value(attribute.Key("outcome"))
				found[ruleName.AsString()+" "+outcome.AsString()] = p.Value
			}
		}
	}
	return found
}

func TestDecisionsAreCountedByRuleNeverByKey(t *testing.T) {
	t.Parallel()
	reader := sdk.NewManualReader()
	tel, err := telemetry.New(noop.NewTracerProvider(), sdk.NewMeterProvider(sdk.WithReader(reader)), false)
	require.NoError(t, err)
	rules := ratelimit.NewRules()
	require.NoError(t, rules.Set([]api.Rule{rule("r", band(2, time.Hour))}, 1))
	l := ratelimit.New(ratelimit.Options{
		Runner: luatest.Open(t, lua.Options{URL: redis.Embedded}), Keys: coord.NewKeys("p", ""), Rules: rules, Telemetry: tel,
	})
	for range 3 {
		_, err := l.Acquire(t.Context(), coord.Caller{}, asks(byRule("r", "secret"), 1))
		require.NoError(t, err)
	}
	_, err = l.Acquire(t.Context(), coord.Caller{}, asks(inFull("secret", band(1, time.Hour)), 1))
	require.NoError(t, err)
	_, err = l.Peek(t.Context(), coord.Caller{}, asks(byRule("r", "secret"), 1))
	require.NoError(t, err)
	_, err = l.Acquire(t.Context(), coord.Caller{}, asks(byRule("r", "secret"), 0))
	require.NoError(t, err)
	require.Equal(t, map[string]int64{"r allowed": 2, "r limit": 1, "inline allowed": 1}, decisions(t, reader), "looking decides nothing")
}
