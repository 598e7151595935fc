package coord_test

import (
	"context"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/coxswain-sidecar/coxswain/client/api"
	"github.com/coxswain-sidecar/coxswain/internal/conformance"
	"github.com/coxswain-sidecar/coxswain/internal/coord/ratelimit"
	"github.com/coxswain-sidecar/coxswain/internal/lua"
	"github.com/coxswain-sidecar/coxswain/internal/redis"
	"github.com/coxswain-sidecar/coxswain/internal/redistest"
)

func TestRulesConform(t *testing.T) {
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
	*system
	prefix string
}

func newRulesSystem(t *testing.T, url string, deaf bool) *rulesSystem {
	t.Helper()
	prefix := redistest.Prefix(t)
	s := &rulesSystem{system: &system{Clock: conformance.NewClock()}, prefix: prefix}
	var r *lua.Runner
	for i := range s.sidecars {
		if r == nil || url != redis.Embedded {
			r = openRunner(t, lua.Options{URL: url, Clock: s.Micros})
		}
		s.sidecars[i] = newSidecarBy(t, r, prefix, s.Clock)
		o := ratelimit.RuntimeRulesOptions{}
		if !deaf {
			o.Signals = s.sidecars[i].signals
		}
		s.sidecars[i].has(runtimeRules(t, s.sidecars[i], prefix, s.Clock, o).Methods())
	}
	return s
}

func (s *rulesSystem) SetFile(t testing.TB, sidecar int, precedence string, rules ...api.Rule) {
	t.Helper()
	require.NoError(t, s.sidecars[sidecar].rules.SetFirst(rules, s.Now().UnixMilli(), ratelimit.Precedence(precedence)))
}

func (s *rulesSystem) Rules(t testing.TB, sidecar int, name string) conformance.RulesClient {
	t.Helper()
	c, ok := s.Connect(t, sidecar, name).(*client)
	require.True(t, ok)
	return c
}

func (c *client) RatelimitRules(ctx context.Context) (api.RatelimitRulesResult, error) {
	return do(ctx, c, "", api.RatelimitRules, api.Nothing{})
}

func (c *client) RatelimitPutRule(ctx context.Context, r api.Rule) (api.RatelimitPutRuleResult, error) {
	return do(ctx, c, "", api.RatelimitPutRule, api.RatelimitPutRuleParams{Rule: &r})
}

func (c *client) RatelimitDeleteRule(ctx context.Context, name string) (bool, error) {
	r, err := do(ctx, c, "", api.RatelimitDeleteRule, api.RatelimitDeleteRuleParams{Name: name})
	return r.Deleted, err
}

func (c *client) RatelimitExplain(ctx context.Context, p api.RatelimitExplainParams) (api.RatelimitExplainResult, error) {
	return do(ctx, c, "", api.RatelimitExplain, p)
}

func (c *client) RatelimitStats(ctx context.Context) (api.RatelimitStatsResult, error) {
	return do(ctx, c, "", api.RatelimitStats, api.Nothing{})
}
