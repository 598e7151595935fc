package client

import (
	"context"

	"github.com/coxswain-sidecar/coxswain/client/api"
)

// RatelimitRules lists the rules in force in the sidecar, and those that another
// one of the same name hides.
func (c *Client) RatelimitRules(ctx context.Context) (api.RatelimitRulesResult, error) {
	return Call(ctx, c, api.RatelimitRules, api.Nothing{})
}

// RatelimitPutRule keeps a rule in Redis, for every sidecar, in place of another
// one of its name there. It is in force in this sidecar when the call returns,
// and in the others at once or a second later. An invalid rule is
// api.InvalidArgument, with every mistake; api.PermissionDenied where
// socket.admin keeps this user out.
func (c *Client) RatelimitPutRule(ctx context.Context, r api.Rule) (api.RatelimitPutRuleResult, error) {
	return Call(ctx, c, api.RatelimitPutRule, api.RatelimitPutRuleParams{Rule: &r})
}

// RatelimitDeleteRule removes a rule that was put, and reports whether there was
// one. Rules of files stay. Errors are those of Call; api.PermissionDenied as of
// RatelimitPutRule.
func (c *Client) RatelimitDeleteRule(ctx context.Context, name string) (bool, error) {
	r, err := Call(ctx, c, api.RatelimitDeleteRule, api.RatelimitDeleteRuleParams{Name: name})
	return r.Deleted, err
}

// RatelimitExplain tells all there is to know of a limit and a key, and changes
// nothing. It is api.NotFound when there is no such rule.
func (c *Client) RatelimitExplain(ctx context.Context, p api.RatelimitExplainParams) (api.RatelimitExplainResult, error) {
	return Call(ctx, c, api.RatelimitExplain, p)
}

// RatelimitStats counts what the sidecar decided since it started.
func (c *Client) RatelimitStats(ctx context.Context) (api.RatelimitStatsResult, error) {
	return Call(ctx, c, api.RatelimitStats, api.Nothing{})
}
