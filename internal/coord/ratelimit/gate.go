package ratelimit

import (
	"cmp"
	"context"
	"time"

	"github.com/coxswain-sidecar/coxswain/client/api"
	"github.com/coxswain-sidecar/coxswain/internal/coord"
	"github.com/coxswain-sidecar/coxswain/internal/coord/lease"
	"github.com/coxswain-sidecar/coxswain/internal/lua"
)

// maxSources bounds what one key may have of words.
const maxSources = 16

// upstream has the terms of a rule about the remote server behind it.
type upstream struct {
	penalty    api.Penalty // with nothing left out
	maxDelayMS int64
}

func upstreamOf(o api.Rule) upstream {
	return upstream{penaltyOf(o.Penalty), cmp.Or(o.MaxDelayMS, defaultMaxDelayMS)}
}

// noRule stands for the rule of limits given in full.
var noRule = &limit{upstream: upstreamOf(api.Rule{})}

// gate is a key of a rule with all that holds it up whatever is left of the limit: a
// pause, delays and a penalty. Limits given in full share those of no rule.
type gate struct {
	*limit
	key string // Redis's
}

func (l *Limiter) gate(rule, key, group string) (gate, error) {
	t := target{lim: noRule, counted: cmp.Or(group, key)}
	if rule != "" {
		r, err := l.rules.find(rule)
		if err != nil {
			return gate{}, err
		}
		t = r.of(key, group)
	}
	return gate{t.lim, l.keys.gate(limitTag(t.lim.options.Name, t.counted))}, nil
}

// Pause refuses a key for a time, in every sidecar, and returns when the longest
// pause ends: 0 when none is in force, as when the given end has passed.
func (l *Limiter) Pause(ctx context.Context, c coord.Caller, p *api.RatelimitPauseParams) (api.RatelimitPauseResult, error) {
	if p.Pool != "" {
		return l.members.Pause(ctx, c, p)
	}
	g, err := l.gate(p.Rule, p.Key, p.Group)
	if err != nil {
		return api.RatelimitPauseResult{}, err
	}
	if err := coord.CheckPause(p); err != nil {
		return api.RatelimitPauseResult{}, err
	}
	out, err := lua.Run(ctx, l.runner, PauseScript, PauseIn{
		Gate: g.key, ForUS: p.ForMS * 1000, UntilUS: p.UntilAtMS * 1000, LongestUS: coord.MaxPeriod.Microseconds(),
		Why: p.Reason, Channel: l.keys.Broadcast(),
	}, lua.StoredReply{})
	if err != nil {
		return api.RatelimitPauseResult{}, coord.Failed("ratelimit "+g.label()+": pause", err)
	}
	if out.Value.UntilUS < 0 {
		return api.RatelimitPauseResult{}, coord.ErrFarPause
	}
	l.answers.Forget(g.key)
	if out.Value.Changed {
		l.paused(ctx, g, p.Key, coord.CauseManual, p.Reason)
	}
	return api.RatelimitPauseResult{PausedUntilAtMS: coord.InstantMS(out.Value.UntilUS)}, nil
}

// paused counts and tells what paused a key.
func (l *Limiter) paused(ctx context.Context, g gate, key, cause, why string) {
	l.tel.Paused(ctx, g.label(), cause)
	if l.events.Wanted() {
		l.events.Publish(coord.Event{Kind: coord.EventPaused, Noun: noun, Name: g.options.Name, Key: key, Reason: cause, Detail: why})
	}
}

// Resume ends the pause of a key, forgets its penalty, and reports whether it was
// paused. Delays stay.
func (l *Limiter) Resume(ctx context.Context, c coord.Caller, p *api.RatelimitResumeParams) (api.RatelimitResumeResult, error) {
	if p.Pool != "" {
		return l.members.Resume(ctx, c, p)
	}
	g, err := l.gate(p.Rule, p.Key, p.Group)
	if err != nil {
		return api.RatelimitResumeResult{}, err
	}
	out, err := lua.Run(ctx, l.runner, ResumeScript, ResumeIn{Gate: g.key, Channel: l.keys.Broadcast()}, lua.StoredReply{})
	if err != nil {
		return api.RatelimitResumeResult{}, coord.Failed("ratelimit "+g.label()+": resume", err)
	}
	l.answers.Forget(g.key)
	if out.Value && l.events.Wanted() {
		l.events.Publish(coord.Event{Kind: coord.EventResumed, Noun: noun, Name: g.options.Name, Key: p.Key})
	}
	return api.RatelimitResumeResult{Resumed: out.Value}, nil
}

// SetDelay sets one source's word on the delay of a key, of which the rule's
// max_delay_ms counts at most, and returns what is in force then. 0 takes the word
// back. Of more than 16 sources the word that ends first makes room.
func (l *Limiter) SetDelay(ctx context.Context, _ coord.Caller, p *api.RatelimitSetDelayParams) (api.RatelimitSetDelayResult, error) {
	g, err := l.gate(p.Rule, p.Key, p.Group)
	if err != nil {
		return api.RatelimitSetDelayResult{}, err
	}
	if p.Source == "" {
		return api.RatelimitSetDelayResult{}, coord.Invalid("source: 0 bytes; give 1 to 64, such as robots")
	}
	out, err := lua.Run(ctx, l.runner, SetDelayScript, SetDelayIn{
		Gate: g.key, DelayUS: min(p.DelayMS, g.upstream.maxDelayMS) * 1000, TTLUS: p.TTLMS * 1000,
		Source: p.Source, Most: maxSources, Channel: l.keys.Broadcast(),
	}, lua.StoredReply{})
	if err != nil {
		return api.RatelimitSetDelayResult{}, coord.Failed("ratelimit "+g.label()+": set the delay", err)
	}
	l.answers.Forget(g.key)
	return api.RatelimitSetDelayResult{DelayMS: coord.WaitMS(out.Value.DelayUS), UntilAtMS: coord.InstantMS(out.Value.UntilUS)}, nil
}

// confirmAfter is how long a call may have waited for its slot without asking
// whether the key was paused meanwhile.
const confirmAfter = 250 * time.Millisecond

// confirm looks again after a long wait for a slot, us after it was promised: the call
// is refused when its key was paused meanwhile. What it took counts as used, since
// others were promised slots after it. When Redis does not say, the slot counts.
func (l *Limiter) confirm(ctx context.Context, q question, d decision, us int64) decision {
	if us > confirmAfter.Microseconds() {
		out, err := lua.Attempt(ctx, l.runner, PauseScript, PauseIn{Gate: q.gate}, lua.StoredReply{})
		if err == nil && out.Value.UntilUS > 0 {
			if q.takesPermit() {
				l.releasePermit(ctx, q.tag, d.Grant, q.caller.Session)
			}
			d.Allowed, d.DeniedBy, d.Grant, d.Held = false, ReasonPause, "", false
			d.RetryAfterMS = coord.WaitMS(out.Value.UntilUS - out.Value.NowUS)
		}
	}
	l.tel.Waited(ctx, noun, lease.WaitOutcome(d.Allowed, nil), d.waited)
	return d
}
