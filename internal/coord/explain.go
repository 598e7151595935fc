package coord

import (
	"context"
	"time"

	"github.com/coxswain-sidecar/coxswain/internal/lua"
)

// maxHolders is how many of those who hold places are told.
const maxHolders = 100

// Explanation is all that decides about a key. Instants are by the Redis server's
// clock, and what is left is rounded up to a millisecond.
type Explanation struct {
	Rule, Algorithm string // no rule for a limit given in full
	Revision        int64  // of the rule, Unix milliseconds
	Counted         string // what the state is kept under: the group, or the key
	Override        string // the one that counts, such as glob:api-*; empty = none
	List            string // allow or deny, if one has the key; then nothing else counts
	Shadow          bool   // the rule refuses nothing
	// Decision is allowed, or the reason for which a call of cost 1 would be
	// refused now, were it not for Shadow; RetryAfter is then as of a Decision.
	Decision   string
	RetryAfter time.Duration
	Bands      []BandState
	Pause      *PauseState   // nil = it is not paused
	Delay      *DelayState   // nil = there is none
	Penalty    *PenaltyState // nil = nothing is remembered
	// MaxConcurrent is how many grants may be held at once, 0 = any number.
	MaxConcurrent int64
	Held          []HolderState // at most 100, the first to end first
	Waiting       int64         // in line for a place
}

// BandState is how one band stands.
type BandState struct {
	Band       string // limit/period, such as 80/10m
	Limit      int64  // per period
	Capacity   int64  // at once, of a bucket; 0 = it is none
	Remaining  int64  // what could be taken at once now, rounded down
	Used       int64  // what counts now, rounded up; past the limit it is promised
	ResetAfter time.Duration
}

// PauseState is a pause in force.
type PauseState struct {
	Until  time.Time
	Left   time.Duration
	Reason string
}

// DelayState is a delay in force, that of the slowest source.
type DelayState struct {
	Delay  time.Duration
	Source string
	Until  time.Time     // when its word is forgotten
	Next   time.Duration // until the next may go
}

// PenaltyState is what refusals of the remote server led to.
type PenaltyState struct {
	Level    int64         // pauses in a row
	Forgiven time.Duration // until it is forgotten if none comes
}

// HolderState is who holds a place.
type HolderState struct {
	Client, Instance string
	Since            time.Time
	Left             time.Duration // until it ends unless it is renewed
}

// explanationAllowed is Explanation.Decision of what is not refused.
const explanationAllowed = "allowed"

// Explain tells all there is to know of a limit and a key, and changes nothing.
// It looks twice, so that what happens meanwhile may be in one part and not in
// the other.
func (l *RateLimiter) Explain(ctx context.Context, ref LimitRef) (Explanation, error) {
	t, err := l.resolve(ref)
	if err != nil {
		return Explanation{}, err
	}
	lim := t.lim
	tag := limitTag(lim.rule, t.counted)
	leases, holders, line := l.keys.seats(tag)
	seat := lua.Seat{
		Leases: leases, Holders: holders, Line: line.Line, Beats: line.Beats, MaxConcurrent: lim.maxConcurrent, HoldMS: 1,
	}
	look, err := lua.Run(ctx, l.runner, lua.Ratelimit[lim.algorithm], lua.RatelimitIn{
		State: l.keys.limitPart(tag, lim.part), Gate: l.keys.gate(tag),
		Charge: lua.Charge{Cost: 1, Peek: lua.PeekEach, Revision: lim.revision, Signature: lim.signature},
		Seat:   seat,
	}, lua.Latch{})
	if err != nil {
		return Explanation{}, failed("ratelimit "+lim.label()+": explain", err)
	}
	gate, err := lua.Run(ctx, l.runner, lua.RatelimitGate, lua.RatelimitGateIn{
		Gate: l.keys.gate(tag), Leases: leases, Holders: holders, Line: line.Line, Most: maxHolders,
	}, lua.Latch{})
	if err != nil {
		return Explanation{}, failed("ratelimit "+lim.label()+": explain", err)
	}
	e := Explanation{
		Rule: lim.rule, Algorithm: lim.algorithm, Revision: lim.revision, Counted: t.counted,
		List: t.list, Shadow: lim.shadow, MaxConcurrent: lim.maxConcurrent,
	}
	var written RuleOptions // as it is now; it may have changed since
	if r, err := l.rules.find(ref.Rule); err == nil {
		written = r.options
	}
	if t.override >= 0 && t.override < len(written.Overrides) {
		e.Override = written.Overrides[t.override].Match.String()
	}
	e.decide(look.Value)
	decided, err := lim.sizes.by(look.Value.Newer)
	if err != nil {
		return Explanation{}, failed("ratelimit "+lim.label()+": explain", err)
	}
	e.bands(decided, look.Value.Bands)
	e.gate(gate.Value, written.Penalty.orDefault().Forgive)
	return e, nil
}

// String is how the set is written, such as glob:api-*.
func (m Match) String() string {
	switch {
	case m.Exact != "":
		return "exact:" + m.Exact
	case m.Suffix != "":
		return "suffix:" + m.Suffix
	default:
		return "glob:" + m.Glob
	}
}

// decide says what a call would be told.
func (e *Explanation) decide(o lua.RatelimitOut) {
	switch {
	case e.List == listDeny:
		e.Decision, e.RetryAfter = ReasonDenyList, Never
	case e.List == listAllow || o.Admitted():
		e.Decision = explanationAllowed
	case o.RetryAfterUS < 0:
		e.Decision, e.RetryAfter = o.Denied, Never
	default:
		e.Decision, e.RetryAfter = o.Denied, ceilMS(o.RetryAfterUS)
	}
}

// bands puts what a script told of each band beside the size that it was
// counted by.
func (e *Explanation) bands(by sizes, views []lua.RatelimitBandView) {
	for i, v := range views[:min(len(views), len(by.bands))] {
		b := BandState{
			Band: by.names[i], Limit: by.limits[i],
			Remaining: v.Remaining, Used: v.Current, ResetAfter: ceilMS(v.ResetAfterUS),
		}
		if bursts(e.Algorithm) {
			b.Capacity = by.bands[i].Capacity
		}
		e.Bands = append(e.Bands, b)
	}
}

// gate reads what holds the key up, and who has places.
func (e *Explanation) gate(g lua.RatelimitGateOut, forgive time.Duration) {
	left := func(us int64) time.Duration { return ceilMS(max(0, us-g.NowUS)) }
	if g.PauseUS > g.NowUS {
		e.Pause = &PauseState{Until: time.UnixMicro(g.PauseUS), Left: left(g.PauseUS), Reason: g.Why}
	}
	if delays := g.Delays(); len(delays) > 0 && delays[0].DelayUS > 0 {
		d := delays[0]
		e.Delay = &DelayState{
			Delay: time.Duration(d.DelayUS) * time.Microsecond, Source: d.Source, Until: time.UnixMicro(d.EndsUS), Next: left(g.NextUS),
		}
	}
	if end := g.PenaltyUS + forgive.Microseconds(); g.PenaltyUS > 0 && end > g.NowUS {
		e.Penalty = &PenaltyState{Level: g.Level, Forgiven: left(end)}
	}
	for _, h := range g.Leases() {
		e.Held = append(e.Held, HolderState{Client: h.Client, Instance: h.Instance, Since: time.UnixMicro(h.SinceUS), Left: left(h.EndsUS)})
	}
	e.Waiting = g.Waiting
}
