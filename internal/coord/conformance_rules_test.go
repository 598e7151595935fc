package coord_test

import (
	"context"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/coxswain-sidecar/coxswain/client/api"
	"github.com/coxswain-sidecar/coxswain/internal/conformance"
	"github.com/coxswain-sidecar/coxswain/internal/coord"
	"github.com/coxswain-sidecar/coxswain/internal/lua"
	"github.com/coxswain-sidecar/coxswain/internal/redis"
	"github.com/coxswain-sidecar/coxswain/internal/redistest"
	"github.com/coxswain-sidecar/coxswain/internal/rpc"
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

// rulesSystem is a system whose sidecars take rules. Rules are turned into wire
// values by package rpc itself, which the other run of the suite also tests.
type rulesSystem struct {
	*system
	prefix  string
	runtime [2]*coord.RuntimeRules
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
		o := coord.RuntimeRulesOptions{}
		if !deaf {
			o.Signals = s.sidecars[i].signals
		}
		s.runtime[i] = runtimeRules(t, s.sidecars[i], prefix, s.Clock, o)
	}
	return s
}

func (s *rulesSystem) SetFile(t testing.TB, sidecar int, precedence string, rules ...api.Rule) {
	t.Helper()
	items := make([]coord.RuleOptions, 0, len(rules))
	for _, r := range rules {
		items = append(items, rpc.RuleOptions(&r))
	}
	require.NoError(t, s.sidecars[sidecar].rules.SetFirst(items, s.Now().UnixMilli(), coord.Precedence(precedence)))
}

func (s *rulesSystem) Rules(t testing.TB, sidecar int, name string) conformance.RulesClient {
	t.Helper()
	c, ok := s.Connect(t, sidecar, name).(*client)
	require.True(t, ok)
	return &rulesClient{client: c, runtime: s.runtime[sidecar]}
}

type rulesClient struct {
	*client
	runtime *coord.RuntimeRules
}

func (c *rulesClient) RatelimitRules(context.Context) (api.RatelimitRulesResult, error) {
	return rpc.WireRules(c.rules.All()), nil
}

func (c *rulesClient) RatelimitPutRule(ctx context.Context, r api.Rule) (api.RatelimitPutRuleResult, error) {
	p, err := c.runtime.Put(ctx, rpc.RuleOptions(&r))
	return api.RatelimitPutRuleResult{Revision: p.Revision, Replaced: p.Replaced, Hidden: p.Hidden}, wire(err)
}

func (c *rulesClient) RatelimitDeleteRule(ctx context.Context, name string) (bool, error) {
	was, err := c.runtime.Delete(ctx, name)
	return was, wire(err)
}

func (c *rulesClient) RatelimitExplain(ctx context.Context, p api.RatelimitExplainParams) (api.RatelimitExplainResult, error) {
	e, err := c.limiter.Explain(ctx, ref(p.Rule, p.Algorithm, p.Limits, p.Key, p.Group))
	if err != nil {
		return api.RatelimitExplainResult{}, wire(err)
	}
	return rpc.WireExplanation(e), nil
}

func (c *rulesClient) RatelimitStats(context.Context) (api.RatelimitStatsResult, error) {
	return rpc.WireStats(c.limiter.Stats()), nil
}
