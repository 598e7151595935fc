package breaker_test

import (
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/coxswain-sidecar/coxswain/client/api"
	"github.com/coxswain-sidecar/coxswain/internal/conformance"
	"github.com/coxswain-sidecar/coxswain/internal/coord"
	"github.com/coxswain-sidecar/coxswain/internal/coord/breaker"
	"github.com/coxswain-sidecar/coxswain/internal/coordtest"
	"github.com/coxswain-sidecar/coxswain/internal/lua"
	"github.com/coxswain-sidecar/coxswain/internal/luatest"
	"github.com/coxswain-sidecar/coxswain/internal/redis"
	"github.com/coxswain-sidecar/coxswain/internal/redistest"
)

// A hundred calls of three sidecars ask at once when the time of an opening is over: exactly half_open_max of them
// are probes. All probes are lost, and then as many may pass again.
func TestOfManyCallsThroughThreeSidecarsFewAreProbes(t *testing.T) {
	t.Parallel()
	redistest.Stores(t, func(t *testing.T, url string) {
		t.Parallel()
		clock, prefix := conformance.NewClock(), redistest.Prefix(t)
		var pods [3]*coordtest.Sidecar
		var r *lua.Runner
		for i := range pods {
			if r == nil || url != redis.Embedded {
				r = luatest.Open(t, lua.Options{URL: url, Clock: clock.Micros})
			}
			pods[i] = coordtest.NewWith(t, r, prefix, coordtest.Options{Clock: clock})
		}
		for range 3 {
			_, err := pods[0].Breakers.Report(t.Context(), coord.Caller{}, &api.BreakerReportParams{
				Name: "b", Policy: "quick-*", Outcome: api.OutcomeFailure,
			})
			require.NoError(t, err)
		}
		clock.Advance(11 * time.Second)
		for range 3 {
			probes := make(map[string]bool)
			var mu sync.Mutex
			var wg sync.WaitGroup
			for i := range 100 {
				wg.Go(func() {
					d, err := pods[i%3].Breakers.Allow(t.Context(), coord.Caller{}, &api.BreakerAllowParams{Name: "b", Policy: "quick-*"})
					mu.Lock()
					defer mu.Unlock()
					switch {
					case err != nil:
						t.Error(err)
					case d.Allowed:
						probes[d.Probe] = true
					}
				})
			}
			wg.Wait()
			require.Len(t, probes, 2)
			require.NotContains(t, probes, "")
			clock.Advance(time.Minute)
		}
	})
}

// While Redis does not reply, the fail mode answers: the policy's, or the call's.
func TestABreakerWithoutRedisFollowsItsFailMode(t *testing.T) {
	t.Parallel()
	s := coordtest.New(t, luatest.Open(t, lua.Options{URL: coordtest.NewRefusing(t).URL()}), "p")
	allow := func(mode coord.FailMode) (api.BreakerAllowResult, error) {
		return s.Breakers.Allow(t.Context(), coord.Caller{}, &api.BreakerAllowParams{Name: "b", FailMode: string(mode)})
	}
	for _, mode := range []coord.FailMode{"", coord.FailOpen} {
		r, err := allow(mode)
		require.NoError(t, err)
		require.Equal(t, api.BreakerAllowResult{Allowed: true, State: api.BreakerClosed, Degraded: true, Source: coord.SourceLocal}, r)
	}
	_, err := allow(coord.FailClosed)
	var e *coord.Error
	require.ErrorAs(t, err, &e)
	require.Equal(t, api.Unavailable, e.Code)
	err = s.Connect(t, "c").Do(t.Context(), "", api.BreakerAllow.Name,
		&api.BreakerAllowParams{Name: "b", FailMode: string(coord.FailLocal)}, new(api.BreakerAllowResult))
	require.ErrorIs(t, err, api.InvalidArgument)
}

// After a Set, of the same policies or of others, no answer is used that was cached before it; a Set with a mistake
// changes nothing.
func TestPoliciesAreReplacedAsAWhole(t *testing.T) {
	t.Parallel()
	p := breaker.NewPolicies()
	found := func(policy, name string) string {
		x, err := p.Find(policy, name)
		require.NoError(t, err)
		return x.Name
	}
	require.Equal(t, "default", found("", "a.example.com"))
	require.NoError(t, p.Set([]api.BreakerPolicy{
		{Name: "a.example.com"}, {Name: "*.example.com", OpenMS: 7_200_000, SuccessThreshold: 7}, {Name: `a\*`}, {Name: "*", FailMode: string(coord.FailClosed)},
	}))
	for name, want := range map[string]string{
		"a.example.com": "a.example.com", "b.example.com": "*.example.com", "a*": `a\*`, "ab": "*",
	} {
		require.Equal(t, want, found("", name), name)
	}
	require.Equal(t, "default", found("default", "ab"))
	x, err := p.Find("*.example.com", "anything")
	require.NoError(t, err)
	require.Equal(t, int64(7_200_000), x.OpenMaxMS, "never less than open_ms")
	require.Equal(t, int64(7), x.HalfOpenMax, "the success threshold")
	require.Error(t, p.Set([]api.BreakerPolicy{{Name: "x"}, {Name: "x"}}))
	require.Equal(t, "*", found("", "ab"))
}

func TestEveryMistakeInAPolicyIsReported(t *testing.T) {
	t.Parallel()
	window := func(w api.BreakerWindow) api.BreakerPolicy { return api.BreakerPolicy{Name: "w", Window: &w} }
	for want, o := range map[string]api.BreakerPolicy{
		"items[0].name: missing":                                     {},
		`items[0].name: "default" is the policy of`:                  {Name: "default"},
		`items[0].name: the \ at byte 1`:                             {Name: `a\b`},
		"items[0].failure_threshold: -1 is out of range; use 1 to":   {Name: "a", FailureThreshold: -1},
		"items[0].success_threshold: 1001 is out of range; use 1 to": {Name: "a", SuccessThreshold: 1001},
		"items[0].half_open_max: 1001 is out of range; use 1 to":     {Name: "a", HalfOpenMax: 1001},
		"items[0].open_ms: -1 is out of range":                       {Name: "a", OpenMS: -1},
		"items[0].open_max_ms: 500 is less than open_ms, 600000":     {Name: "a", OpenMaxMS: 500},
		"items[0].open_max_ms: 2592000001 is out of range":           {Name: "a", OpenMaxMS: 2_592_000_001},
		"items[0].probe_ttl_ms: 99 is out of range; use 100":         {Name: "a", ProbeTTLMS: 99},
		`items[0].fail_mode: "local" is not for breakers`:            {Name: "a", FailMode: string(coord.FailLocal)},
		`items[0].fail_mode: "opne" is not a fail mode; did you`:     {Name: "a", FailMode: "opne"},
		"items[0].window.window_ms: 0 is out of range; use 100":      window(api.BreakerWindow{FailureRate: 1}),
		"items[0].window.failure_rate: missing":                      window(api.BreakerWindow{WindowMS: 60_000}),
		"items[0].window.failure_rate: 101 is out of range":          window(api.BreakerWindow{WindowMS: 60_000, FailureRate: 101}),
		"items[0].window.slow_ms: missing":                           window(api.BreakerWindow{WindowMS: 60_000, SlowRate: 1}),
		"items[0].window.slow_rate: missing":                         window(api.BreakerWindow{WindowMS: 60_000, FailureRate: 1, SlowMS: 1000}),
		"items[0].window.min_calls: -1 is out of range":              window(api.BreakerWindow{WindowMS: 60_000, FailureRate: 1, MinCalls: -1}),
	} {
		p := breaker.CheckPolicies([]api.BreakerPolicy{o})
		require.Len(t, p, 1, "%s: %v", want, p)
		require.True(t, strings.HasPrefix(p.Error(), want), "%s\n%v", want, p)
	}
	dup := breaker.CheckPolicies([]api.BreakerPolicy{{Name: "a"}, {Name: "a"}})
	require.EqualError(t, dup, `items[1].name: "a" is also the name of items[0]; give each policy its own name`)
}
