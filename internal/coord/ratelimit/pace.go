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

// maxSources is how many sources of delays one key may have.
const maxSources = 16

// upstream is what a rule defines about the remote server behind it.
type upstream struct {
	penalty    api.Penalty // with the defaults filled in
	maxDelayMS int64
}

func upstreamOf(o api.Rule) upstream {
	return upstream{penaltyOf(o.Penalty), cmp.Or(o.MaxDelayMS, defaultMaxDelayMS)}
}

// noRule stands for the rule of limits given in full.
var noRule = &limit{upstream: upstreamOf(api.Rule{})}

// pacedKey is a key of a rule, with its pace: what holds its calls up whatever the
// algorithm is, namely a pause, delays and a penalty. Limits given in full have no rule,
// and share one pace for each key.
type pacedKey struct {
	*limit
	key string // the Redis key of the pace
}

func (l *Limiter) pacedKey(rule, key, group string) (pacedKey, error) {
	t := target{lim: noRule, counted: cmp.Or(group, key)}
	if rule != "" {
		r, err := l.rules.find(rule)
		if err != nil {
			return pacedKey{}, err
		}
		t = r.of(key, group)
	}
	return pacedKey{t.lim, l.keys.pace(limitTag(t.lim.options.Name, t.counted))}, nil
}

// Pause pauses a key in every sidecar, and returns when its longest pause ends: 0 if no
// pause is in force, for example because the given end has passed.
func (l *Limiter) Pause(ctx context.Context, c coord.Caller, p *api.RatelimitPauseParams) (api.RatelimitPauseResult, error) {
	if p.Pool != "" {
		return l.members.Pause(ctx, c, p)
	}
	k, err := l.pacedKey(p.Rule, p.Key, p.Group)
	if err != nil {
		return api.RatelimitPauseResult{}, err
	}
	if err := coord.CheckPause(p); err != nil {
		return api.RatelimitPauseResult{}, err
	}
	out, err := lua.Run(ctx, l.runner, PauseScript, PauseIn{
		Pace: k.key, ForUS: p.ForMS * 1000, UntilUS: p.UntilAtMS * 1000, LongestUS: coord.MaxPeriod.Microseconds(),
		Why: p.Reason, Channel: l.keys.Broadcast(),
	}, lua.StoredReply{})
	if err != nil {
		return api.RatelimitPauseResult{}, coord.Failed("ratelimit "+k.label()+": pause", err)
	}
	if out.Value.UntilUS < 0 {
		return api.RatelimitPauseResult{}, coord.ErrFarPause
	}
	l.answers.Forget(k.key)
	if out.Value.Changed {
		l.paused(ctx, k, p.Key, coord.CauseManual, p.Reason)
	}
	return api.RatelimitPauseResult{PausedUntilAtMS: coord.InstantMS(out.Value.UntilUS)}, nil
}

// paused counts a pause and publishes its event.
func (l *Limiter) paused(ctx context.Context, k pacedKey, key, cause, why string) {
	l.tel.Paused(ctx, k.label(), cause)
	if l.events.Wanted() {
		l.events.Publish(coord.Event{Kind: coord.EventPaused, Noun: noun, Name: k.options.Name, Key: key, Reason: cause, Detail: why})
	}
}

// Resume ends the pause of a key, forgets its penalty, and reports whether the key was
// paused. Delays stay.
func (l *Limiter) Resume(ctx context.Context, c coord.Caller, p *api.RatelimitResumeParams) (api.RatelimitResumeResult, error) {
	if p.Pool != "" {
		return l.members.Resume(ctx, c, p)
	}
	k, err := l.pacedKey(p.Rule, p.Key, p.Group)
	if err != nil {
		return api.RatelimitResumeResult{}, err
	}
	out, err := lua.Run(ctx, l.runner, ResumeScript, ResumeIn{Pace: k.key, Channel: l.keys.Broadcast()}, lua.StoredReply{})
	if err != nil {
		return api.RatelimitResumeResult{}, coord.Failed("ratelimit "+k.label()+": resume", err)
	}
	l.answers.Forget(k.key)
	if out.Value && l.events.Wanted() {
		l.events.Publish(coord.Event{Kind: coord.EventResumed, Noun: noun, Name: k.options.Name, Key: p.Key})
	}
	return api.RatelimitResumeResult{Resumed: out.Value}, nil
}

// SetDelay sets the delay that one source asks for, at most the rule's max_delay_ms, and
// returns the delay that is in force then. 0 removes the source's delay. Of more than 16
// sources, the one whose delay ends first is dropped.
func (l *Limiter) SetDelay(ctx context.Context, _ coord.Caller, p *api.RatelimitSetDelayParams) (api.RatelimitSetDelayResult, error) {
	k, err := l.pacedKey(p.Rule, p.Key, p.Group)
	if err != nil {
		return api.RatelimitSetDelayResult{}, err
	}
	if p.Source == "" {
		return api.RatelimitSetDelayResult{}, coord.Invalid("source: 0 bytes; give 1 to 64, such as robots")
	}
	out, err := lua.Run(ctx, l.runner, SetDelayScript, SetDelayIn{
		Pace: k.key, DelayUS: min(p.DelayMS, k.upstream.maxDelayMS) * 1000, TTLUS: p.TTLMS * 1000,
		Source: p.Source, Most: maxSources, Channel: l.keys.Broadcast(),
	}, lua.StoredReply{})
	if err != nil {
		return api.RatelimitSetDelayResult{}, coord.Failed("ratelimit "+k.label()+": set the delay", err)
	}
	l.answers.Forget(k.key)
	return api.RatelimitSetDelayResult{DelayMS: coord.WaitMS(out.Value.DelayUS), UntilAtMS: coord.InstantMS(out.Value.UntilUS)}, nil
}

// confirmAfter is the longest wait for a slot after which a call does not ask whether the
// key was paused meanwhile.
const confirmAfter = 250 * time.Millisecond

// confirm checks the pause again after a long wait for a slot, which came us after it was
// promised: the call is refused if its key was paused meanwhile. Its cost stays charged,
// since other calls were promised slots after it. If Redis does not reply, the slot counts.
func (l *Limiter) confirm(ctx context.Context, q question, d decision, us int64) decision {
	if us > confirmAfter.Microseconds() {
		out, err := lua.Attempt(ctx, l.runner, PauseScript, PauseIn{Pace: q.pace}, lua.StoredReply{})
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
