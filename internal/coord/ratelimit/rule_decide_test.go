package ratelimit_test

import (
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/coxswain-sidecar/coxswain/internal/coord/ratelimit"
	"github.com/coxswain-sidecar/coxswain/internal/coordtest"

	sdk "go.opentelemetry.io/otel/sdk/metric"
	"go.opentelemetry.io/otel/trace/noop"

	"github.com/coxswain-sidecar/coxswain/client/api"
	"github.com/coxswain-sidecar/coxswain/internal/coord"
	"github.com/coxswain-sidecar/coxswain/internal/lua"
	"github.com/coxswain-sidecar/coxswain/internal/luatest"
	"github.com/coxswain-sidecar/coxswain/internal/redis"
	"github.com/coxswain-sidecar/coxswain/internal/redistest"
	"github.com/coxswain-sidecar/coxswain/internal/telemetry"
)

// ruled is a sidecar with rules.
func ruled(t *testing.T, url string, rules ...api.Rule) (*ratelimit.Limiter, *fleet) {
	t.Helper()
	f := newFleet(t, url, 1, api.RatelimitParams{})
	require.NoError(t, f.pods[0].Rules.Set(rules, 1))
	return f.pods[0].Limiter, f
}

func TestAListDecidesWithoutCounting(t *testing.T) {
	t.Parallel()
	r := rule("r", band(2, time.Minute), band(10, time.Hour))
	r.Allow, r.Deny = []api.Match{coordtest.Suffix("example.com")}, []api.Match{coordtest.Exact("bad.example.com")}
	l, _ := ruled(t, redistest.URL(t), r)
	allowed := api.RatelimitResult{Allowed: true, Rule: "r", Algorithm: tokenBucket, Band: "2/1m", Limit: 2, Source: coord.SourceList}
	denied := allowed
	denied.Allowed, denied.DeniedBy, denied.RetryAfterMS = false, ratelimit.ReasonDenyList, -1
	for range 3 {
		require.Equal(t, allowed, acquire(t, l, asks(byRule("r", "a.example.com"), 5)))
		require.Equal(t, denied, acquire(t, l, waits(byRule("r", "bad.example.com"), 1, time.Minute)))
	}
	look, err := l.Peek(t.Context(), coord.Caller{}, asks(byRule("r", "bad.example.com"), 1))
	require.NoError(t, err)
	require.Equal(t, denied, look)
	// A group is no way around the lists, and what is not in one is counted.
	grouped := byRule("r", "bad.example.com")
	grouped.Group = "other"
	require.Equal(t, denied, acquire(t, l, asks(grouped, 1)))
	require.Equal(t, int64(1), acquire(t, l, asks(byRule("r", "other"), 1)).Remaining)
}

func TestAListDecidesWithoutRedis(t *testing.T) {
	t.Parallel()
	r := withMode(coord.FailClosed, "r", band(2, time.Minute))
	r.Allow, r.Deny = []api.Match{coordtest.Exact("good")}, []api.Match{coordtest.Exact("bad")}
	l, _ := ruled(t, coordtest.NewRefusing(t).URL(), r)
	require.True(t, acquire(t, l, asks(byRule("r", "good"), 1)).Allowed)
	require.Equal(t, ratelimit.ReasonDenyList, acquire(t, l, asks(byRule("r", "bad"), 1)).DeniedBy)
}

func TestARuleInShadowRefusesNothing(t *testing.T) {
	t.Parallel()
	reader := sdk.NewManualReader()
	tel, err := telemetry.New(noop.NewTracerProvider(), sdk.NewMeterProvider(sdk.WithReader(reader)), false)
	require.NoError(t, err)
	r := rule("r", band(2, time.Hour))
	r.Shadow, r.Deny = true, []api.Match{coordtest.Exact("bad")}
	rules := ratelimit.NewRules()
	require.NoError(t, rules.Set([]api.Rule{r}, 1))
	l := ratelimit.New(ratelimit.Options{
		Runner: luatest.Open(t, lua.Options{URL: redis.Embedded}), Keys: coord.NewKeys("p", ""), Rules: rules, Telemetry: tel,
	})
	first := acquire(t, l, asks(byRule("r", "k"), 2))
	require.True(t, first.Allowed && !first.Shadow)
	require.NotEmpty(t, first.Grant)
	for _, source := range []string{coord.SourceRedis, coord.SourceCache} {
		// It never waits.
		d := acquire(t, l, waits(byRule("r", "k"), 1, time.Minute))
		if d.Source != source { // the second may have passed meanwhile
			require.Equal(t, coord.SourceRedis, d.Source)
		}
		require.True(t, d.Allowed && d.Shadow)
		require.Equal(t, ratelimit.ReasonLimit, d.DeniedBy)
		require.Zero(t, millis(d.RetryAfterMS))
		require.Empty(t, d.Grant, "nothing was taken")
	}
	look, err := l.Peek(t.Context(), coord.Caller{}, asks(byRule("r", "k"), 1))
	require.NoError(t, err)
	require.True(t, look.Allowed && look.Shadow)
	d := acquire(t, l, asks(byRule("r", "bad"), 1))
	require.True(t, d.Allowed && d.Shadow)
	require.Equal(t, ratelimit.ReasonDenyList, d.DeniedBy)
	require.Equal(t, map[string]int64{"r allowed": 1, "r shadow_limit": 2, "r shadow_deny_list": 1}, decisions(t, reader))
}

func TestARuleInShadowLetsThroughWithoutRedis(t *testing.T) {
	t.Parallel()
	closed, local := withMode(coord.FailClosed, "closed", band(1, time.Hour)), withMode(coord.FailLocal, "local", band(1, time.Hour))
	closed.Shadow, local.Shadow = true, true
	l, _ := ruled(t, coordtest.NewRefusing(t).URL(), closed, local)
	for range 2 {
		d := acquire(t, l, by(coord.FailClosed, byRule("closed", "k"), 1))
		require.True(t, d.Allowed && d.Degraded)
		require.False(t, d.Shadow)
	}
	require.False(t, acquire(t, l, asks(byRule("local", "k"), 1)).Shadow)
	d := acquire(t, l, asks(byRule("local", "k"), 1))
	require.True(t, d.Allowed && d.Degraded && d.Shadow)
	require.Equal(t, ratelimit.ReasonLimit, d.DeniedBy)
}

func TestAnOverrideIsTheLimitOfItsKeys(t *testing.T) {
	t.Parallel()
	r := rule("r", band(2, time.Hour))
	r.Overrides = []api.Override{{Glob: "vip-*", Limits: []api.Band{band(5, time.Minute)}}}
	r.Groups = []api.Group{{Suffix: "example.com", Name: "vip-group"}}
	l, f := ruled(t, redistest.URL(t), r)
	require.Equal(t, "2/1h", acquire(t, l, asks(byRule("r", "k"), 1)).Band)
	d := acquire(t, l, asks(byRule("r", "vip-1"), 1))
	require.Equal(t, "5/1m", d.Band)
	require.Equal(t, int64(4), d.Remaining)
	require.Equal(t, "5/1m", acquire(t, l, asks(byRule("r", "a.example.com"), 3)).Band)
	require.Equal(t, int64(1), acquire(t, l, asks(byRule("r", "b.example.com"), 1)).Remaining, "they count together")
	// What was used stays when a key gets a limit of its own.
	require.True(t, acquire(t, l, asks(byRule("r", "k"), 1)).Allowed)
	require.False(t, acquire(t, l, asks(byRule("r", "k"), 1)).Allowed)
	r.Overrides = append(r.Overrides, api.Override{Exact: "k", Limits: []api.Band{band(3, time.Hour)}})
	require.NoError(t, f.pods[0].Rules.Set([]api.Rule{r}, 2))
	require.True(t, acquire(t, l, asks(byRule("r", "k"), 1)).Allowed)
	require.False(t, acquire(t, l, asks(byRule("r", "k"), 1)).Allowed)
	was, err := l.Reset(t.Context(), coord.Caller{}, reset(byRule("r", "a.example.com")))
	require.NoError(t, err)
	require.True(t, was.Reset)
	require.Equal(t, int64(4), acquire(t, l, asks(byRule("r", "b.example.com"), 1)).Remaining)
}

func TestAtomicHeedsTheListsOfEachKey(t *testing.T) {
	t.Parallel()
	r := rule("r", band(10, time.Hour))
	r.Allow, r.Deny = []api.Match{coordtest.Exact("good")}, []api.Match{coordtest.Exact("bad")}
	l, _ := ruled(t, redistest.URL(t), r)
	many := func(keys ...string) api.RatelimitResult {
		p := &api.RatelimitManyParams{Atomic: true}
		for _, k := range keys {
			p.Items = append(p.Items, api.RatelimitItem{Rule: "r", Key: k, Group: "g", Cost: 4})
		}
		all, err := l.AcquireMany(t.Context(), coord.Caller{}, p)
		require.NoError(t, err)
		require.Len(t, all.Results, len(keys))
		return *all.Results[0].Result
	}
	require.Equal(t, int64(6), many("good", "a", "good").Remaining, "only a is counted")
	for _, keys := range [][]string{{"bad", "a"}, {"a", "good", "bad"}} {
		d := many(keys...)
		require.False(t, d.Allowed)
		require.Equal(t, ratelimit.ReasonDenyList, d.DeniedBy)
	}
	require.Equal(t, coord.SourceList, many("good", "good").Source)
	require.False(t, many("a", "b").Allowed, "8 of the 6 that are left")
}

func TestAGrantSaysWhatWasTaken(t *testing.T) {
	t.Parallel()
	l, f := ruled(t, redistest.URL(t), rule("r", band(2, 2*time.Second)), rule("two", band(2, 2*time.Second), band(10, time.Hour)))
	for _, name := range []string{"r", "two"} {
		f.ref = byRule(name, "a.b:c")
		d := acquire(t, l, asks(f.ref, 2))
		g, err := ratelimit.GrantOf(d.Grant)
		require.NoError(t, err)
		require.Equal(t, ratelimit.Taken{ID: g.ID, Tag: name + ":a.b%3Ac", Part: tokenBucket, Cost: 2, At: f.clock.Micros()}, g)
		require.Empty(t, acquire(t, l, asks(f.ref, 1)).Grant)
		other, err := ratelimit.GrantOf(acquire(t, l, asks(byRule(name, "other"), 1)).Grant)
		require.NoError(t, err)
		require.NotEqual(t, g.ID, other.ID)

		slot := f.clock.Micros() + time.Second.Microseconds()
		w := f.start(0, "id", 1, time.Minute)
		f.clock.Advance(time.Second)
		got := w.let(t, time.Second)
		g, err = ratelimit.GrantOf(got.Grant)
		require.NoError(t, err)
		require.Equal(t, []int64{1, slot}, []int64{g.Cost, g.At})
	}
	c := coord.Caller{RequestID: "repeated", Fingerprint: "f"}
	first, err := l.Acquire(t.Context(), c, asks(byRule("r", "x"), 1))
	require.NoError(t, err)
	f.clock.Advance(time.Millisecond)
	again, err := l.Acquire(t.Context(), c, asks(byRule("r", "x"), 1))
	require.NoError(t, err)
	require.True(t, again.Replayed)
	require.Equal(t, first.Grant, again.Grant)
}
