package coord

import (
	"cmp"
	"context"
	"math/rand/v2"
	"slices"
	"strconv"
	"time"

	"github.com/coxswain-sidecar/coxswain/internal/lua"
)

// GateRef names a key of a rule and all that holds it up whatever is left of the
// limit: a pause, delays and a penalty. An empty Rule is that of limits given in
// full, which share it.
type GateRef struct {
	Rule, Key string
	Group     string // counts in place of Key; empty = the rule's group of it, if any
}

// PauseRequest refuses a key for a time, or until an instant by the Redis
// server's clock; one of them is given, at most 366 days away.
type PauseRequest struct {
	GateRef
	For    time.Duration
	Until  time.Time
	Reason string // for people
}

// DelayRequest is one source's word on how long it is from one admission of a key
// to the next: up to 24 h, of which the rule's MaxDelay counts. 0 takes it back.
type DelayRequest struct {
	GateRef
	Delay  time.Duration
	TTL    time.Duration // of the word, 1 ms to 366 days
	Source string        // 1 to 64 bytes
}

// ReportRequest is one answer of a remote server.
type ReportRequest struct {
	GateRef
	Grant      string        // that the request went out with; empty = none
	Status     int64         // HTTP's, 100 to 999
	Latency    time.Duration // 0 = not told
	RetryAfter time.Duration // that the server asks for, at most 366 days; negative = no pause, 0 = it does not say
}

// Backoff says how long to stay away; a zero one is not at all. Until is by the
// Redis server's clock.
type Backoff struct {
	Wait  time.Duration
	Until time.Time
}

// Delay is the delay in force, of the slowest source, and until when it is; a zero
// one is none.
type Delay struct {
	Delay time.Duration
	Until time.Time
}

const (
	maxSource = 64
	// maxSources bounds what one key may have of words.
	maxSources = 16
)

// The causes of pauses, for metrics and events.
const (
	causeManual  = "manual"
	causePenalty = "penalty"
)

// upstream is what a rule says of the remote server behind it.
type upstream struct {
	penalty  PenaltyOptions
	maxDelay time.Duration
}

func upstreamOf(o RuleOptions) upstream {
	return upstream{o.Penalty.orDefault(), cmp.Or(o.MaxDelay, time.Minute)}
}

// noRule stands for the rule of limits given in full.
var noRule = &limit{upstream: upstreamOf(RuleOptions{})}

// gate is a GateRef resolved.
type gate struct {
	*limit
	key string // Redis's
}

func (l *RateLimiter) gate(ref GateRef) (gate, error) {
	if err := checkCounted(ref.Key, ref.Group); err != nil {
		return gate{}, err
	}
	t := target{lim: noRule, counted: cmp.Or(ref.Group, ref.Key)}
	if ref.Rule != "" {
		r, err := l.rules.find(ref.Rule)
		if err != nil {
			return gate{}, err
		}
		t = r.of(ref.Key, ref.Group)
	}
	return gate{t.lim, l.keys.gate(limitTag(t.lim.rule, t.counted))}, nil
}

// Pause refuses a key for a time, in every sidecar, and returns when the longest
// pause ends: zero when none is in force, as when the given end has passed.
func (l *RateLimiter) Pause(ctx context.Context, r PauseRequest) (time.Time, error) {
	g, err := l.gate(r.GateRef)
	if err != nil {
		return time.Time{}, err
	}
	if err := r.check(); err != nil {
		return time.Time{}, err
	}
	in := lua.RatelimitPauseIn{
		Gate: g.key, ForUS: r.For.Microseconds(), LongestUS: maxPeriod.Microseconds(), Why: r.Reason, Channel: l.keys.broadcast(),
	}
	if r.For == 0 {
		in.UntilUS = r.Until.UnixMicro()
	}
	out, err := lua.Run(ctx, l.runner, lua.RatelimitPause, in, lua.Latch{})
	if err != nil {
		return time.Time{}, failed("ratelimit "+g.label()+": pause", err)
	}
	if out.Value.UntilUS < 0 {
		return time.Time{}, errFarPause
	}
	l.answers.forget(g.key)
	if out.Value.Changed {
		l.paused(ctx, g, r.Key, causeManual, r.Reason)
	}
	return instant(out.Value.UntilUS), nil
}

var errFarPause = invalid("until_at_ms: that is more than 366 days away; pause for less, and again when that ends")

// lastSecond is one whose microseconds are exact in scripts, far from now.
const lastSecond = 1 << 33

func (r PauseRequest) check() error {
	switch {
	case r.For != 0 && !r.Until.IsZero():
		return invalid("for_ms: given together with until_at_ms; give the one or the other")
	case r.For == 0 && r.Until.IsZero():
		return invalid("for_ms: missing; give it, or until_at_ms")
	case r.For < 0 || r.For > maxPeriod:
		return outOfRange("for_ms", r.For, time.Millisecond, maxPeriod)
	case r.Until.Unix() > lastSecond:
		return errFarPause
	default:
		return nil
	}
}

// paused counts and tells what paused a key.
func (l *RateLimiter) paused(ctx context.Context, g gate, key, cause, why string) {
	l.tel.Paused(ctx, g.label(), cause)
	if l.events.Wanted() {
		l.events.Publish(Event{Kind: EventPaused, Noun: nounRatelimit, Name: g.rule, Key: key, Reason: cause, Detail: why})
	}
}

// Resume ends the pause of a key, forgets its penalty, and reports whether it was
// paused. Delays stay.
func (l *RateLimiter) Resume(ctx context.Context, ref GateRef) (bool, error) {
	g, err := l.gate(ref)
	if err != nil {
		return false, err
	}
	out, err := lua.Run(ctx, l.runner, lua.RatelimitResume, lua.RatelimitResumeIn{Gate: g.key, Channel: l.keys.broadcast()}, lua.Latch{})
	if err != nil {
		return false, failed("ratelimit "+g.label()+": resume", err)
	}
	l.answers.forget(g.key)
	if out.Value && l.events.Wanted() {
		l.events.Publish(Event{Kind: EventResumed, Noun: nounRatelimit, Name: g.rule, Key: ref.Key})
	}
	return out.Value, nil
}

// SetDelay sets one source's word on the delay of a key, and returns what is in
// force then. Of more than 16 sources the word that ends first makes room.
func (l *RateLimiter) SetDelay(ctx context.Context, r DelayRequest) (Delay, error) {
	g, err := l.gate(r.GateRef)
	if err != nil {
		return Delay{}, err
	}
	if err := r.check(); err != nil {
		return Delay{}, err
	}
	out, err := lua.Run(ctx, l.runner, lua.RatelimitSetDelay, lua.RatelimitSetDelayIn{
		Gate: g.key, DelayUS: min(r.Delay, g.upstream.maxDelay).Microseconds(), TTLUS: r.TTL.Microseconds(),
		Source: r.Source, Most: maxSources, Channel: l.keys.broadcast(),
	}, lua.Latch{})
	if err != nil {
		return Delay{}, failed("ratelimit "+g.label()+": set the delay", err)
	}
	l.answers.forget(g.key)
	return Delay{Delay: ceilMS(out.Value.DelayUS), Until: instant(out.Value.UntilUS)}, nil
}

func (r DelayRequest) check() error {
	switch {
	case r.Delay < 0 || r.Delay > maxDelay:
		return outOfRange("delay_ms", r.Delay, 0, maxDelay)
	case r.TTL < time.Millisecond || r.TTL > maxPeriod:
		return outOfRange("ttl_ms", r.TTL, time.Millisecond, maxPeriod)
	case r.Source == "" || len(r.Source) > maxSource:
		return invalid("source: %d bytes; give 1 to %d, such as robots", len(r.Source), maxSource)
	default:
		return nil
	}
}

// Report pauses a key if its remote server's answer is one to pause for: as long
// as the server asks, else as the rule's penalty says. It returns how long the key
// is paused, whoever paused it. Then it frees the grant's place, so that nobody
// gets it who would go before the pause.
func (l *RateLimiter) Report(ctx context.Context, c Caller, r ReportRequest) (Backoff, error) {
	g, err := l.gate(r.GateRef)
	if err != nil {
		return Backoff{}, err
	}
	if err := r.check(); err != nil {
		return Backoff{}, err
	}
	l.tel.Reported(ctx, g.label(), statusClass(r.Status), r.Latency)
	p, status := g.upstream.penalty, strconv.FormatInt(r.Status, 10)
	out, err := lua.Run(ctx, l.runner, lua.RatelimitReport, lua.RatelimitReportIn{
		Gate: g.key, Hit: slices.Contains(p.Codes, r.Status) && r.RetryAfter >= 0, RetryUS: max(r.RetryAfter, 0).Microseconds(),
		BaseMS: p.Base.Milliseconds(), MaxMS: p.Max.Milliseconds(), Factor: p.factor(), ForgiveUS: p.Forgive.Microseconds(),
		Why: status, Channel: l.keys.broadcast(),
	}, latch(g.key, c))
	if err != nil {
		return Backoff{}, failed("ratelimit "+g.label()+": report", err)
	}
	o := out.Value
	if o.Did != lua.PenaltyNone && !out.Replayed {
		l.answers.forget(g.key)
		if o.Did == lua.PenaltyBegan {
			l.paused(ctx, g, r.Key, causePenalty, status)
		}
	}
	if r.Grant != "" && (g.maxConcurrent > 0 || l.holds(r.Grant)) {
		if _, err := l.Done(ctx, c, r.Grant); err != nil {
			return Backoff{}, err
		}
	}
	if o.UntilUS == 0 {
		return Backoff{}, nil
	}
	return Backoff{Wait: ceilMS(o.UntilUS - o.NowUS), Until: instant(o.UntilUS)}, nil
}

func (r ReportRequest) check() error {
	switch {
	case r.Status < minStatus || r.Status > maxStatus:
		return invalid("status: %d is no HTTP status; give %d to %d", r.Status, minStatus, maxStatus)
	case r.Latency < 0:
		return invalid("latency_ms: %d is negative; give 0 or more", r.Latency.Milliseconds())
	case r.RetryAfter < -maxPeriod || r.RetryAfter > maxPeriod:
		return outOfRange("retry_after_ms", r.RetryAfter, -maxPeriod, maxPeriod)
	case r.Grant == "":
		return nil
	default:
		_, _, err := parseGrant(r.Grant)
		return err
	}
}

// factor is how many thousandths of a pause are kept to: keys that were paused at
// one time are not to come back at one time.
func (p PenaltyOptions) factor() int64 {
	most := p.JitterPercent * 10
	return max(1, 1000-most+rand.Int64N(2*most+1))
}

// statusClass is one of a closed list.
func statusClass(status int64) string {
	if status >= 100 && status < 600 {
		return string('0'+rune(status/100)) + "xx"
	}
	return "other"
}

// confirmAfter is how long a call may have waited for its slot without asking
// whether the key was paused meanwhile.
const confirmAfter = 250 * time.Millisecond

// confirm is what a call is told whose slot came, us after it was promised. After a
// long wait it is given up when its key was paused meanwhile. What it took counts
// as used, since others were promised slots after it. When Redis does not say, the
// slot counts.
func (l *RateLimiter) confirm(ctx context.Context, q question, d Decision, us int64) Decision {
	if us > confirmAfter.Microseconds() {
		out, err := lua.Attempt(ctx, l.runner, lua.RatelimitPause, lua.RatelimitPauseIn{Gate: q.gate}, lua.Latch{})
		if err == nil && out.Value.UntilUS > 0 {
			if q.seated() {
				l.leaveSeat(ctx, q.tag, d.Grant, q.caller.Session)
			}
			d.Allowed, d.DeniedBy, d.Grant, d.Held = false, ReasonPause, "", false
			d.RetryAfter = ceilMS(out.Value.UntilUS - out.Value.NowUS)
		}
	}
	l.tel.Waited(ctx, nounRatelimit, waitOutcome(d.Allowed, nil), d.Waited)
	return d
}

// instant is a time of Redis, rounded up to a millisecond; 0 is none.
func instant(us int64) time.Time {
	if us == 0 {
		return time.Time{}
	}
	return time.UnixMilli((us + 999) / 1000)
}

func outOfRange(field string, d, least, most time.Duration) error {
	return invalid("%s: %d is out of range; use %d to %d", field, d.Milliseconds(), least.Milliseconds(), most.Milliseconds())
}
