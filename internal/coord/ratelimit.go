package coord

import (
	"context"
	"fmt"
	"time"

	"github.com/coxswain-sidecar/coxswain/internal/lua"
	"github.com/coxswain-sidecar/coxswain/internal/telemetry"
)

// LimitRef names a limit: by rule, or in full.
type LimitRef struct {
	Rule      string
	Algorithm string
	Limits    []Band
	Key       string
}

// RateLimiter decides whether a call may go now.
//
// It goes on while the sidecar drains: a decision holds nothing that would have
// to be given back, and a pod that finishes its last requests must still keep
// to the limits it shares.
type RateLimiter struct {
	runner *lua.Runner
	keys   Keys
	rules  *Rules
	inline inlineLimits
	tel    *telemetry.Telemetry
}

// NewRateLimiter makes the noun.
func NewRateLimiter(r *lua.Runner, k Keys, rules *Rules, t *telemetry.Telemetry) *RateLimiter {
	return &RateLimiter{
		runner: r, keys: k, rules: rules, tel: t,
		inline: inlineLimits{known: make(map[inlineKey]*limit)},
	}
}

// Decision answers for one band.
type Decision struct {
	Allowed         bool
	Rule, Algorithm string
	// Band is limit/period of the band that refused, else of the one with the
	// least remaining, such as 80/10m.
	Band                      string
	Limit, Remaining, Current int64
	ResetAfter                time.Duration // rounded up to a millisecond
	ResetAt                   time.Time     // by the Redis server's clock
	// RetryAfter is 0 when allowed and Never when the cost never fits.
	RetryAfter time.Duration
	DeniedBy   string // limit
	Replayed   bool
}

// Never is Decision.RetryAfter of a cost that never fits.
const Never time.Duration = -1

// ReasonLimit is Decision.DeniedBy of a band that is used up.
const ReasonLimit = "limit"

// Acquire takes cost, or says when it may succeed. Cost 0 only looks.
func (l *RateLimiter) Acquire(ctx context.Context, c Caller, ref LimitRef, cost int64) (Decision, error) {
	return l.decide(ctx, c, ref, cost, cost == 0)
}

// Peek answers what Acquire would and takes nothing.
func (l *RateLimiter) Peek(ctx context.Context, ref LimitRef, cost int64) (Decision, error) {
	return l.decide(ctx, Caller{}, ref, cost, true)
}

func (l *RateLimiter) decide(ctx context.Context, c Caller, ref LimitRef, cost int64, peek bool) (Decision, error) {
	lim, err := l.find(ref)
	if err != nil {
		return Decision{}, err
	}
	if cost < 0 || cost > maxLimit {
		return Decision{}, invalid("cost: %d is out of range; use 0 to %d", cost, int64(maxLimit))
	}
	out, err := l.charge(ctx, c, lim, ref.Key, cost, peek)
	if err != nil {
		e := failed("ratelimit "+lim.label()+": acquire", err)
		// Looking changes nothing, so that nothing was executed.
		e.MaybeExecuted = e.MaybeExecuted && !peek
		return Decision{}, e
	}
	d, err := lim.decision(out)
	if err != nil {
		return Decision{}, failed("ratelimit "+lim.label()+": reply", err)
	}
	if !peek {
		outcome := "allowed"
		if !d.Allowed {
			outcome = d.DeniedBy
		}
		l.tel.Decision(ctx, lim.label(), outcome, min(1, float64(d.Remaining)/float64(max(1, d.Limit))))
	}
	return d, nil
}

// charge runs the lean script where there is one band, on the same state.
func (l *RateLimiter) charge(ctx context.Context, c Caller, lim *limit, key string, cost int64, peek bool) (lua.Outcome[lua.RatelimitOut], error) {
	state := l.keys.limit(lim.rule, key, lim.algorithm)
	if len(lim.bands) == 1 {
		return lua.Run(ctx, l.runner, lua.RatelimitTokenBucket, lua.RatelimitTokenBucketIn{
			Bucket: state, Cost: cost, Peek: peek, Revision: lim.revision, Signature: lim.signature, Band: lim.bands[0],
		}, latch(state, c))
	}
	return lua.Run(ctx, l.runner, lua.RatelimitTokenBucketBands, lua.RatelimitTokenBucketBandsIn{
		Bucket: state, Cost: cost, Peek: peek, Revision: lim.revision, Signature: lim.signature, Bands: lim.bands,
	}, latch(state, c))
}

// Reset forgets the state of one key and reports whether there was any.
func (l *RateLimiter) Reset(ctx context.Context, ref LimitRef) (bool, error) {
	lim, err := l.find(ref)
	if err != nil {
		return false, err
	}
	out, err := lua.Run(ctx, l.runner, lua.RatelimitReset, lua.RatelimitResetIn{
		State: l.keys.limit(lim.rule, ref.Key, lim.algorithm),
	}, lua.Latch{})
	if err != nil {
		return false, failed("ratelimit "+lim.label()+": reset", err)
	}
	return out.Value, nil
}

// find resolves what a call names, and checks its key.
func (l *RateLimiter) find(ref LimitRef) (*limit, error) {
	if err := checkText("key", ref.Key); err != nil {
		return nil, err
	}
	inline := ref.Algorithm != "" || len(ref.Limits) > 0
	switch {
	case ref.Rule != "" && inline:
		return nil, invalid("rule: given together with algorithm or limits; give the one or the other")
	case ref.Rule != "":
		return l.rules.find(ref.Rule)
	case inline:
		return l.inline.find(ref.Algorithm, ref.Limits)
	default:
		return nil, invalid("rule: missing; name a rule, or give algorithm and limits")
	}
}

// label is the rule's name for metrics and logs: never a key.
func (l *limit) label() string {
	if l.rule == "" {
		return "inline"
	}
	return l.rule
}

// decision puts a script's answer into the rule's words. Waits are rounded up,
// so that who sleeps exactly that long and asks again is not a moment early.
func (l *limit) decision(out lua.Outcome[lua.RatelimitOut]) (Decision, error) {
	o := out.Value
	if o.Band < 1 || o.Band > int64(len(l.bands)) {
		return Decision{}, fmt.Errorf("band %d of %d", o.Band, len(l.bands))
	}
	d := Decision{
		Allowed: o.Allowed, Rule: l.rule, Algorithm: l.algorithm,
		Band: l.names[o.Band-1], Limit: l.limits[o.Band-1], Remaining: o.Remaining, Current: o.Current,
		ResetAfter: ceilMS(o.ResetAfterUS),
		ResetAt:    time.UnixMilli((o.NowUS + o.ResetAfterUS + 999) / 1000),
		Replayed:   out.Replayed,
	}
	if o.Allowed {
		return d, nil
	}
	d.DeniedBy, d.RetryAfter = ReasonLimit, Never
	if o.RetryAfterUS >= 0 {
		d.RetryAfter = ceilMS(o.RetryAfterUS)
	}
	return d, nil
}

// ceilMS is a duration of microseconds, rounded up to a millisecond.
func ceilMS(us int64) time.Duration {
	return time.Duration((us+999)/1000) * time.Millisecond
}
