package pool_test

import (
	"bufio"
	"context"
	"net"
	"strings"
	"testing"
	"time"

	"github.com/coxswain-sidecar/coxswain/client/api"

	"github.com/stretchr/testify/require"

	"github.com/coxswain-sidecar/coxswain/internal/coord"
	"github.com/coxswain-sidecar/coxswain/internal/coordtest"
	"github.com/coxswain-sidecar/coxswain/internal/lua"
	"github.com/coxswain-sidecar/coxswain/internal/luatest"
	"github.com/coxswain-sidecar/coxswain/internal/redis"
	"github.com/coxswain-sidecar/coxswain/internal/redistest"
)

// A permit is decided, and reported, by one script call each: MONITOR shows what
// Redis is sent.
func TestAPermitIsOneScriptCall(t *testing.T) {
	t.Parallel()
	prefix := redistest.Prefix(t)
	s := coordtest.New(t, luatest.Open(t, lua.Options{URL: redistest.URL(t)}), prefix)
	require.NoError(t, s.Rules.Set([]api.Rule{{
		Name: "r", Algorithm: "token_bucket", Limits: []api.Band{{Limit: 100, PeriodMS: 3_600_000}},
		Overrides: []api.Override{{Exact: "b", Limits: []api.Band{{Limit: 5, PeriodMS: 3_600_000}}}},
	}}, 1))
	_, err := s.Pools.Put(t.Context(), coord.Caller{}, &api.PoolPutParams{Pool: "p", Members: []api.PoolMember{{ID: "a"}, {ID: "b"}}})
	require.NoError(t, err)
	session := s.Leases.Open(coord.Identity{}, func(coord.Loss) {})
	defer s.Leases.Close(context.Background(), session)
	ask := &api.PermitAcquireParams{Pool: "p", LeaseMS: 3_600_000, Bind: api.BindSession, Rule: "r", Breaker: "default", Cost: 1}
	once := func() api.PermitAcquireResult {
		g, err := s.Permits.Acquire(t.Context(), coord.Caller{Session: session}, ask)
		require.NoError(t, err)
		require.True(t, g.Acquired)
		d, err := s.Permits.Report(t.Context(), coord.Caller{Session: session}, &api.PermitReportParams{
			Pool: "p", Lease: g.Lease, Outcome: "ok", Status: 200,
		})
		require.NoError(t, err)
		require.True(t, d.Released)
		return g
	}
	once() // loads the scripts
	// A connection of our own: go-redis reads that of its Monitor from two goroutines.
	at := redistest.Client(t).Options()
	conn, err := net.Dial(at.Network, at.Addr)
	require.NoError(t, err)
	defer conn.Close()
	_, err = conn.Write([]byte("MONITOR\r\n"))
	require.NoError(t, err)
	require.NoError(t, conn.SetReadDeadline(time.Now().Add(30*time.Second)))
	lines := bufio.NewScanner(conn)
	require.True(t, lines.Scan())
	require.Equal(t, "+OK", lines.Text())
	seen := func(marker string) (ours []string) {
		t.Helper()
		require.NoError(t, redistest.Client(t).Echo(t.Context(), marker).Err())
		for lines.Scan() {
			switch line := lines.Text(); {
			case strings.Contains(line, marker):
				return ours
			case strings.Contains(line, prefix+":v2:") && !strings.Contains(line, " lua]"):
				ours = append(ours, line)
			}
		}
		t.Fatal("MONITOR ended: ", lines.Err())
		return nil
	}
	seen(prefix + " begins")
	require.Equal(t, int64(4), once().Remaining, "the override's")
	sent := seen(prefix + " ends")
	require.Len(t, sent, 2, "%v", sent)
	for _, line := range sent {
		require.Contains(t, strings.ToLower(line), `"evalsha"`)
	}
}

// What a rule says that a permit cannot go by is refused with the remedy.
func TestRulesThatPermitsCannotHave(t *testing.T) {
	t.Parallel()
	prefix := redistest.Prefix(t)
	s := coordtest.New(t, luatest.Open(t, lua.Options{URL: redis.Embedded}), prefix)
	bands := []api.Band{{Limit: 1, PeriodMS: 3_600_000}}
	require.NoError(t, s.Rules.Set([]api.Rule{
		{Name: "glob", Algorithm: "token_bucket", Limits: bands, Overrides: []api.Override{{Glob: "a*", Limits: bands}}},
		{Name: "group", Algorithm: "token_bucket", Limits: bands, Groups: []api.Group{{Suffix: "a"}}},
		{Name: "list", Algorithm: "token_bucket", Limits: bands, Deny: []api.Match{{Exact: "a"}}},
		{Name: "shadow", Algorithm: "token_bucket", Limits: []api.Band{{Limit: 0, PeriodMS: 3_600_000}}, Shadow: true},
	}, 1))
	_, err := s.Pools.Put(t.Context(), coord.Caller{}, &api.PoolPutParams{Pool: "p", Members: []api.PoolMember{{ID: "a"}}})
	require.NoError(t, err)
	for rule, want := range map[string]string{
		"glob": "write exact ones", "group": "leave them out", "list": "pool.ban",
	} {
		_, err := s.Permits.Acquire(t.Context(), coord.Caller{}, &api.PermitAcquireParams{Pool: "p", LeaseMS: 60_000, Rule: rule, Cost: 1})
		var e *coord.Error
		require.ErrorAs(t, err, &e, rule)
		require.Equal(t, api.InvalidArgument, e.Code)
		require.ErrorContains(t, err, want)
	}
	g, err := s.Permits.Acquire(t.Context(), coord.Caller{}, &api.PermitAcquireParams{Pool: "p", LeaseMS: 60_000, Rule: "shadow", Cost: 1})
	require.NoError(t, err)
	require.True(t, g.Acquired, "a rule in shadow refuses nothing")
}

// A probe of breaker.* that comes back is one for permits, at once.
func TestPermitsWaitingForAProbeContinueWhenItIsReturned(t *testing.T) {
	t.Parallel()
	prefix := redistest.Prefix(t)
	s := coordtest.New(t, luatest.Open(t, lua.Options{URL: redistest.URL(t)}), prefix)
	c := coordtest.OpenSession(t, s)
	_, err := s.Pools.Put(t.Context(), coord.Caller{}, &api.PoolPutParams{Pool: "p", Members: []api.PoolMember{{ID: "a"}}})
	require.NoError(t, err)
	require.NoError(t, s.Policies.Set([]api.BreakerPolicy{{
		Name: "one", FailureThreshold: 1, SuccessThreshold: 1, HalfOpenMax: 1, OpenMS: 1, ProbeTTLMS: 3_600_000,
	}}))
	failed, err := s.Breakers.Report(t.Context(), coord.Caller{}, &api.BreakerReportParams{Name: "a", Pool: "p", Policy: "one", Outcome: "failure"})
	require.NoError(t, err)
	require.Equal(t, "open", failed.State)
	var probe api.BreakerAllowResult
	require.Eventually(t, func() bool {
		probe, err = s.Breakers.Allow(t.Context(), c.Caller(), &api.BreakerAllowParams{Name: "a", Pool: "p", Policy: "one"})
		return err == nil && probe.Allowed
	}, 30*time.Second, 10*time.Millisecond)
	ask := &api.PermitAcquireParams{Pool: "p", LeaseMS: 3_600_000, Breaker: "one", Cost: 1}
	g, err := s.Permits.Acquire(t.Context(), coord.Caller{}, ask)
	require.NoError(t, err)
	require.Equal(t, "open", g.DeniedBy, "its only probe is out")
	_, err = s.Breakers.Report(t.Context(), c.Caller(), &api.BreakerReportParams{
		Name: "a", Pool: "p", Policy: "one", Generation: probe.Generation, Probe: probe.Probe, Outcome: "ignored",
	})
	require.NoError(t, err)
	g, err = s.Permits.Acquire(t.Context(), coord.Caller{}, ask)
	require.NoError(t, err)
	require.True(t, g.Acquired, g.DeniedBy)
	require.True(t, g.Probe)
}
