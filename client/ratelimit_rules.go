package client

import (
	"context"

	"github.com/coxswain-sidecar/coxswain/client/api"
)

// RatelimitRules lists the rules that are in force in the sidecar, and those that are hidden
// by another rule of the same name.
func (c *Client) RatelimitRules(ctx context.Context) (api.RatelimitRulesResult, error) {
	return Call(ctx, c, api.RatelimitRules, api.Nothing{})
}

// RatelimitPutRule stores a rule in Redis for all sidecars, and replaces the stored rule of
// the same name. It is in force in this sidecar when the call returns, and in the others
// within about a second. Errors are those of Call: api.InvalidArgument lists every
// mistake of an invalid rule; api.PermissionDenied if socket.admin does not allow this user.
func (c *Client) RatelimitPutRule(ctx context.Context, r api.Rule) (api.RatelimitPutRuleResult, error) {
	return Call(ctx, c, api.RatelimitPutRule, api.RatelimitPutRuleParams{Rule: &r})
}

// RatelimitDeleteRule removes a rule that was stored by RatelimitPutRule, and reports whether
// there was one. Rules of files stay. Its errors are those of RatelimitPutRule.
func (c *Client) RatelimitDeleteRule(ctx context.Context, name string) (bool, error) {
	r, err := Call(ctx, c, api.RatelimitDeleteRule, api.RatelimitDeleteRuleParams{Name: name})
	return r.Deleted, err
}

// RatelimitExplain returns the rule, the state and the decision for a limit and a key, and
// changes nothing. The error is api.NotFound if there is no such rule.
func (c *Client) RatelimitExplain(ctx context.Context, p api.RatelimitExplainParams) (api.RatelimitExplainResult, error) {
	return Call(ctx, c, api.RatelimitExplain, p)
}

// RatelimitStats returns the counts of the decisions since the sidecar started.
func (c *Client) RatelimitStats(ctx context.Context) (api.RatelimitStatsResult, error) {
	return Call(ctx, c, api.RatelimitStats, api.Nothing{})
}
