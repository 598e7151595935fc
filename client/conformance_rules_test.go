package client_test

import (
	"context"
	"path/filepath"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/coxswain-sidecar/coxswain/client/api"
	"github.com/coxswain-sidecar/coxswain/internal/conformance"
	"github.com/coxswain-sidecar/coxswain/internal/coord"
	"github.com/coxswain-sidecar/coxswain/internal/lua"
	"github.com/coxswain-sidecar/coxswain/internal/redistest"
	"github.com/coxswain-sidecar/coxswain/internal/rpc"
	"github.com/coxswain-sidecar/coxswain/internal/telemetry"
)

func TestRulesConformThroughTheSocket(t *testing.T) {
	t.Parallel()
	redistest.Stores(t, func(t *testing.T, url string) {
		t.Parallel()
		conformance.Rules(t, func(t *testing.T, deaf bool) conformance.RulesSystem {
			return newRulesSystem(t, url, deaf)
		})
	})
}

// rulesSystem is a system whose sidecars take rules.
type rulesSystem struct {
	system
	rules [2]*coord.Rules
}

func newRulesSystem(t testing.TB, url string, deaf bool) *rulesSystem {
	t.Helper()
	s := &rulesSystem{system: system{Clock: conformance.NewClock()}}
	prefix := redistest.Prefix(t)
	var r *lua.Runner
	for i := range s.sockets {
		if r == nil || url != lua.Embedded {
			r = openRunner(t, lua.Options{URL: url, Clock: s.Micros})
		}
		s.rules[i] = coord.NewRules()
		s.sockets[i] = serveRules(t, r, prefix, s.Clock, s.rules[i], deaf)
	}
	return s
}

func serveRules(t testing.TB, r *lua.Runner, prefix string, clock coord.Clock, rules *coord.Rules, deaf bool) string {
	t.Helper()
	tel, keys := telemetry.Nop(), coord.NewKeys(prefix, "")
	leases, signals := coord.NewLeases(tel), coord.NewSignals(r, keys)
	lines := coord.NewLines(r, signals, leases)
	heard := signals
	if deaf {
		heard = nil
	}
	runtime := coord.NewRuntimeRules(coord.RuntimeRulesOptions{Runner: r, Keys: keys, Rules: rules, Signals: heard, Clock: clock})
	path := filepath.Join(t.TempDir(), "s.sock")
	s, err := rpc.Listen(rpc.Options{Path: path, Mode: 0o600, UID: -1, GID: -1, Telemetry: tel}, rpc.Services{
		Leases: leases, Rules: rules, RuntimeRules: runtime,
		RateLimiter: coord.NewRateLimiter(coord.RateLimiterOptions{
			Runner: r, Keys: keys, Rules: rules, Leases: leases, Lines: lines, Signals: heard, Telemetry: tel, Clock: clock,
		}),
	})
	require.NoError(t, err)
	t.Cleanup(func() {
		ended, cancel := context.WithCancel(context.Background())
		cancel() // connections that are left are a test's own and need no time
		_ = s.Shutdown(ended)
		runtime.Stop()
		lines.Stop()
		signals.Stop()
		leases.Stop(context.Background())
	})
	return path
}

func (s *rulesSystem) SetFile(t testing.TB, sidecar int, precedence string, rules ...api.Rule) {
	t.Helper()
	items := make([]coord.RuleOptions, 0, len(rules))
	for _, r := range rules {
		o := coord.RuleOptions{Name: r.Name, Algorithm: r.Algorithm}
		for _, b := range r.Limits {
			o.Limits = append(o.Limits, coord.Band{Limit: b.Limit, Period: time.Duration(b.PeriodMS) * time.Millisecond, Burst: b.Burst})
		}
		items = append(items, o)
	}
	require.NoError(t, s.rules[sidecar].SetFirst(items, s.Now().UnixMilli(), coord.Precedence(precedence)))
}

func (s *rulesSystem) Rules(t testing.TB, sidecar int, name string) conformance.RulesClient {
	t.Helper()
	w, ok := s.Connect(t, sidecar, name).(*wireClient)
	require.True(t, ok)
	return w
}
