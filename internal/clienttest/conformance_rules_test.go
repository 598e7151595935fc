package clienttest_test

import (
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/coxswain-sidecar/coxswain/client/api"
	"github.com/coxswain-sidecar/coxswain/internal/conformance"
	"github.com/coxswain-sidecar/coxswain/internal/coord/ratelimit"
	"github.com/coxswain-sidecar/coxswain/internal/lua"
	"github.com/coxswain-sidecar/coxswain/internal/redis"
	"github.com/coxswain-sidecar/coxswain/internal/redistest"
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
	rules [2]*ratelimit.Rules
}

func newRulesSystem(t testing.TB, url string, deaf bool) *rulesSystem {
	t.Helper()
	s := &rulesSystem{system: system{Clock: conformance.NewClock()}}
	prefix := redistest.Prefix(t)
	var r *lua.Runner
	for i := range s.sockets {
		if r == nil || url != redis.Embedded {
			r = openRunner(t, lua.Options{URL: url, Clock: s.Micros})
		}
		s.rules[i] = ratelimit.NewRules()
		s.sockets[i] = serveRules(t, r, prefix, s.Clock, s.rules[i], deaf)
	}
	return s
}

func (s *rulesSystem) SetFile(t testing.TB, sidecar int, precedence string, rules ...api.Rule) {
	t.Helper()
	require.NoError(t, s.rules[sidecar].SetFirst(rules, s.Now().UnixMilli(), ratelimit.Precedence(precedence)))
}

func (s *rulesSystem) Rules(t testing.TB, sidecar int, name string) conformance.RulesClient {
	t.Helper()
	w, ok := s.Connect(t, sidecar, name).(*wireClient)
	require.True(t, ok)
	return w
}
