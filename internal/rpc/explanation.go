package rpc

import (
	"github.com/coxswain-sidecar/coxswain/client/api"
	"github.com/coxswain-sidecar/coxswain/internal/coord"
)

// WireExplanation is what ratelimit.explain answers.
func WireExplanation(e coord.Explanation) api.RatelimitExplainResult {
	r := api.RatelimitExplainResult{
		Rule: e.Rule, Algorithm: e.Algorithm, Revision: e.Revision, Counted: e.Counted, Override: e.Override,
		List: e.List, Shadow: e.Shadow, Decision: e.Decision, RetryMS: -1,
		MaxConcurrent: e.MaxConcurrent, Waiting: e.Waiting,
	}
	if e.RetryAfter != coord.Never {
		r.RetryMS = coord.MillisUp(e.RetryAfter)
	}
	for _, b := range e.Bands {
		r.Bands = append(r.Bands, api.ExplainBand{
			Band: b.Band, Limit: b.Limit, Burst: b.Capacity, Remaining: b.Remaining, Current: b.Used, ResetAfterMS: coord.MillisUp(b.ResetAfter),
		})
	}
	if p := e.Pause; p != nil {
		r.Pause = &api.ExplainPause{UntilAtMS: p.Until.UnixMilli(), LeftMS: coord.MillisUp(p.Left), Reason: p.Reason}
	}
	if d := e.Delay; d != nil {
		r.Delay = &api.ExplainDelay{
			DelayMS: d.Delay.Milliseconds(), Source: d.Source, UntilAtMS: d.Until.UnixMilli(), NextMS: coord.MillisUp(d.Next),
		}
	}
	if p := e.Penalty; p != nil {
		r.Penalty = &api.ExplainPenalty{Level: p.Level, ForgivenMS: coord.MillisUp(p.Forgiven)}
	}
	for _, h := range e.Held {
		r.Held = append(r.Held, api.ExplainHolder{
			Client: h.Client, Instance: h.Instance, SinceAtMS: h.Since.UnixMilli(), LeftMS: coord.MillisUp(h.Left),
		})
	}
	return r
}
