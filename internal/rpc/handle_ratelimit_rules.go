package rpc

import (
	"context"
	"time"

	"github.com/coxswain-sidecar/coxswain/client/api"
	"github.com/coxswain-sidecar/coxswain/internal/coord"
)

func ratelimitRules(_ context.Context, k *call, _ *api.Nothing) (api.RatelimitRulesResult, error) {
	return WireRules(k.services().Rules.All()), nil
}

func ratelimitPutRule(ctx context.Context, k *call, p *api.RatelimitPutRuleParams) (api.RatelimitPutRuleResult, error) {
	put, err := k.services().RuntimeRules.Put(ctx, RuleOptions(p.Rule))
	return api.RatelimitPutRuleResult{Revision: put.Revision, Replaced: put.Replaced, Hidden: put.Hidden}, err
}

func ratelimitDeleteRule(ctx context.Context, k *call, p *api.RatelimitDeleteRuleParams) (api.RatelimitDeleteRuleResult, error) {
	was, err := k.services().RuntimeRules.Delete(ctx, p.Name)
	return api.RatelimitDeleteRuleResult{Deleted: was}, err
}

func ratelimitStats(_ context.Context, k *call, _ *api.Nothing) (api.RatelimitStatsResult, error) {
	return WireStats(k.services().RateLimiter.Stats()), nil
}

// WireStats is what ratelimit.stats answers.
func WireStats(since time.Time, rules []coord.RuleStats) api.RatelimitStatsResult {
	r := api.RatelimitStatsResult{Since: since.UnixMilli()}
	for _, s := range rules {
		r.Rules = append(r.Rules, api.RuleStats{
			Rule: s.Rule, Allowed: s.Allowed, Refused: s.Refused, Shadowed: s.Shadowed, Degraded: s.Degraded,
			Waited: s.Waited, WaitedMS: s.Wait.Milliseconds(),
		})
	}
	return r
}

func ratelimitExplain(ctx context.Context, k *call, p *api.RatelimitExplainParams) (api.RatelimitExplainResult, error) {
	e, err := k.services().RateLimiter.Explain(ctx, limitRef(p.Rule, p.Algorithm, p.Limits, p.Key, p.Group))
	if err != nil {
		return api.RatelimitExplainResult{}, err
	}
	return WireExplanation(e), nil
}

// RuleOptions are a rule of the wire as coord takes them.
func RuleOptions(r *api.Rule) coord.RuleOptions {
	o := coord.RuleOptions{
		Name: r.Name, Algorithm: r.Algorithm, Limits: bands(r.Limits),
		FailMode: coord.FailMode(r.FailMode), LocalShareOf: r.LocalShareOf, DenyCache: r.DenyCache,
		Allow: matches(r.Allow), Deny: matches(r.Deny),
		Shadow: r.Shadow, MaxConcurrent: r.MaxConcurrent, HeadroomPercent: r.HeadroomPercent,
		MaxDelay: coord.Millis(r.MaxDelayMS),
	}
	for _, x := range r.Overrides {
		o.Overrides = append(o.Overrides, coord.Override{
			Match:  coord.Match{Exact: x.Exact, Glob: x.Glob, Suffix: x.Suffix},
			Limits: bands(x.Limits), MaxConcurrent: x.MaxConcurrent,
		})
	}
	for _, g := range r.Groups {
		o.Groups = append(o.Groups, coord.Group{Match: coord.Match{Exact: g.Exact, Glob: g.Glob, Suffix: g.Suffix}, Name: g.Name})
	}
	if p := r.Penalty; p != nil {
		o.Penalty = coord.PenaltyOptions{Codes: p.Codes, Base: coord.Millis(p.BaseMS), Max: coord.Millis(p.MaxMS), Forgive: coord.Millis(p.ForgiveMS)}
		o.Penalty.SetJitter(p.JitterPercent)
	}
	return o
}

func matches(in []api.Match) []coord.Match {
	out := make([]coord.Match, len(in))
	for i, m := range in {
		out[i] = coord.Match(m)
	}
	return out
}

// WireRules is what ratelimit.rules answers.
func WireRules(all coord.RuleList) api.RatelimitRulesResult {
	r := api.RatelimitRulesResult{Precedence: string(all.Precedence), Unreadable: all.Unreadable}
	for _, x := range all.Rules {
		r.Rules = append(r.Rules, api.RuleInForce{
			Rule: WireRule(x.RuleOptions), Source: x.Source, Hidden: x.Hidden, Revision: x.Revision,
		})
	}
	return r
}

// WireRule is a rule as it goes over the wire, without what is as by default.
func WireRule(o coord.RuleOptions) api.Rule {
	o = o.Plain()
	r := api.Rule{
		Name: o.Name, Algorithm: o.Algorithm, Limits: wireBands(o.Limits),
		FailMode: string(o.FailMode), LocalShareOf: o.LocalShareOf, DenyCache: o.DenyCache,
		Shadow: o.Shadow, MaxConcurrent: o.MaxConcurrent, HeadroomPercent: o.HeadroomPercent,
		MaxDelayMS: o.MaxDelay.Milliseconds(),
	}
	for _, m := range o.Allow {
		r.Allow = append(r.Allow, api.Match(m))
	}
	for _, m := range o.Deny {
		r.Deny = append(r.Deny, api.Match(m))
	}
	for _, x := range o.Overrides {
		r.Overrides = append(r.Overrides, api.Override{
			Exact: x.Exact, Glob: x.Glob, Suffix: x.Suffix, Limits: wireBands(x.Limits), MaxConcurrent: x.MaxConcurrent,
		})
	}
	for _, g := range o.Groups {
		r.Groups = append(r.Groups, api.Group{Exact: g.Exact, Glob: g.Glob, Suffix: g.Suffix, Name: g.Name})
	}
	if !o.Penalty.IsZero() {
		p := o.Penalty
		r.Penalty = &api.Penalty{
			Codes: p.Codes, BaseMS: p.Base.Milliseconds(), MaxMS: p.Max.Milliseconds(), ForgiveMS: p.Forgive.Milliseconds(),
		}
		if percent, given := p.Jitter(); given {
			r.Penalty.JitterPercent = &percent
		}
	}
	return r
}

func wireBands(bands []coord.Band) []api.Band {
	var out []api.Band
	for _, b := range bands {
		out = append(out, api.Band{Limit: b.Limit, PeriodMS: b.Period.Milliseconds(), Burst: b.Burst})
	}
	return out
}
