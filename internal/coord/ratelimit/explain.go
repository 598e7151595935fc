package ratelimit

import (
	"context"

	"github.com/coxswain-sidecar/coxswain/client/api"
	"github.com/coxswain-sidecar/coxswain/internal/coord"
	"github.com/coxswain-sidecar/coxswain/internal/lua"
)

// maxHolders is how many holders of permits an explanation lists at most.
const maxHolders = 100

// explanationAllowed is the decision on a call that would be admitted.
const explanationAllowed = "allowed"

// Explain returns all that is known about a limit and a key, and changes nothing. It runs
// two scripts, so that a change between them may show in one part of the result only.
func (l *Limiter) Explain(ctx context.Context, _ coord.Caller, p *api.RatelimitExplainParams) (api.RatelimitExplainResult, error) {
	t, err := l.resolve(&api.RatelimitParams{Rule: p.Rule, Algorithm: p.Algorithm, Limits: p.Limits, Key: p.Key, Group: p.Group})
	if err != nil {
		return api.RatelimitExplainResult{}, err
	}
	lim := t.lim
	op := "ratelimit " + lim.label() + ": explain"
	tag := limitTag(lim.options.Name, t.counted)
	leases, holders, line := l.keys.permits(tag)
	look, err := lua.Run(ctx, l.runner, lim.algorithm.script, In{
		State: l.keys.limitPart(tag, lim.part), Pace: l.keys.pace(tag),
		Charge: Charge{Cost: 1, Peek: PeekEach, Revision: lim.revision, Signature: lim.signature},
		Permit: Permit{
			Leases: leases, Holders: holders, Line: line.Line, Heartbeats: line.Heartbeats, MaxConcurrent: lim.options.MaxConcurrent, HoldMS: 1,
		},
	}, lua.StoredReply{})
	if err != nil {
		return api.RatelimitExplainResult{}, coord.Failed(op, err)
	}
	pace, err := lua.Run(ctx, l.runner, PaceScript, PaceIn{
		Pace: l.keys.pace(tag), Leases: leases, Holders: holders, Line: line.Line, Most: maxHolders,
	}, lua.StoredReply{})
	if err != nil {
		return api.RatelimitExplainResult{}, coord.Failed(op, err)
	}
	decided, err := lim.sizes.by(look.Value.Newer)
	if err != nil {
		return api.RatelimitExplainResult{}, coord.Failed(op, err)
	}
	e := explanation{
		Rule: lim.options.Name, Algorithm: lim.algorithm.name, Revision: lim.revision, Counted: t.counted,
		List: t.list, Shadow: lim.options.Shadow, MaxConcurrent: lim.options.MaxConcurrent,
	}
	var written api.Rule // the rule now, which may have changed since it was resolved
	if r, err := l.rules.find(p.Rule); err == nil {
		written = r.options
	}
	if t.override >= 0 && t.override < len(written.Overrides) {
		e.Override = matchText(overridden(written.Overrides[t.override]))
	}
	e.decide(look.Value)
	e.bands(lim.algorithm, decided, look.Value.Bands)
	e.pace(pace.Value, penaltyOf(written.Penalty).ForgiveMS)
	if lim.leased != nil {
		known, _, _ := l.answers.Get(lim.blockKey(t.counted))
		if h, ok := known.(*holding); ok {
			if left, until := h.view(l.now()); left > 0 {
				e.Block = &api.ExplainBlock{Tokens: left, LeftMS: coord.MsLeft(until - l.now())}
			}
		}
	}
	return api.RatelimitExplainResult(e), nil
}

// explanation is a result that is filled in part by part.
type explanation api.RatelimitExplainResult

// matchText is a set of keys as text, such as glob:api-*.
func matchText(m api.Match) string {
	switch {
	case m.Exact != "":
		return "exact:" + m.Exact
	case m.Suffix != "":
		return "suffix:" + m.Suffix
	default:
		return "glob:" + m.Glob
	}
}

// decide fills in how a call would be decided.
func (e *explanation) decide(o Out) {
	switch {
	case e.List == listDeny:
		e.Decision, e.RetryMS = ReasonDenyList, neverMS
	case e.List == listAllow || o.Admitted():
		e.Decision = explanationAllowed
	default:
		e.Decision, e.RetryMS = o.Denied, coord.WaitMS(o.RetryAfterUS)
	}
}

// bands fills in what the script returned about each band, with the size of the band that
// it was counted by.
func (e *explanation) bands(a *algorithm, by sizes, views []BandView) {
	for i, v := range views[:min(len(views), len(by.bands))] {
		b := api.ExplainBand{
			Band: by.names[i], Limit: by.limits[i],
			Remaining: v.Remaining, Current: v.Current, ResetAfterMS: coord.WaitMS(v.ResetAfterUS),
		}
		if a.bursts {
			b.Burst = by.bands[i].Capacity
		}
		e.Bands = append(e.Bands, b)
	}
}

// pace fills in the pace of the key, the holders of its permits and its waiting line.
func (e *explanation) pace(p PaceOut, forgiveMS int64) {
	left := func(us int64) int64 { return coord.WaitMS(max(0, us-p.NowUS)) }
	if p.PauseUS > p.NowUS {
		e.Pause = &api.ExplainPause{UntilAtMS: p.PauseUS / 1000, LeftMS: left(p.PauseUS), Reason: p.Why}
	}
	if delays := p.Delays(); len(delays) > 0 && delays[0].DelayUS > 0 {
		d := delays[0] // of the slowest source
		e.Delay = &api.ExplainDelay{DelayMS: d.DelayUS / 1000, Source: d.Source, UntilAtMS: d.EndsUS / 1000, NextMS: left(p.NextUS)}
	}
	if end := p.PenaltyUS + forgiveMS*1000; p.PenaltyUS > 0 && end > p.NowUS {
		e.Penalty = &api.ExplainPenalty{Level: p.Level, ForgivenMS: left(end)}
	}
	for _, h := range p.Leases() {
		e.Held = append(e.Held, api.ExplainHolder{Client: h.Client, Instance: h.Instance, SinceAtMS: h.SinceUS / 1000, LeftMS: left(h.EndsUS)})
	}
	e.Waiting = p.Waiting
}
