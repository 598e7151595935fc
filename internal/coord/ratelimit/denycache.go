package ratelimit

import (
	"time"

	"github.com/coxswain-sidecar/coxswain/internal/coord"
)

func (l *limit) answerKey(key string) coord.AnswerKey {
	return coord.AnswerKey{Kind: noun, Name: l.options.Name, Key: key, Terms: l.terms, Revision: l.revision}
}

// maxExact keeps sums of waits, in us, within what a duration holds.
const maxExact = 1e14

// denial is a refusal that Redis gave.
type denial struct {
	state string
	cost  int64
	// at is when it was asked for: its times count from there, which is early
	// rather than late.
	at       time.Duration
	retryUS  int64 // -1 = never
	resetUS  int64
	decision decision
	newer    bool // it is by a rule that this sidecar has not read yet
}

func (d denial) Ends() time.Duration {
	if d.retryUS < 0 {
		return d.at + coord.MaxCached
	}
	return d.at + min(time.Duration(d.retryUS)*time.Microsecond, coord.MaxCached)
}

func (d denial) About() string { return d.state }

// repeat is what the refusal says at now of a call with this cost, which may
// wait; false when Redis has to be asked.
func (d denial) repeat(lim *limit, cost int64, now, wait time.Duration) (decision, bool) {
	if now >= d.Ends() || cost < d.cost && !d.shut() {
		return decision{}, false
	}
	passed, out := now-d.at, d.decision
	out.Source = coord.SourceCache
	out.ResetAfterMS = coord.MsLeft(time.Duration(d.resetUS)*time.Microsecond - passed)
	if d.retryUS < 0 {
		return out, true
	}
	if cost > d.cost && (d.shut() || d.newer || !lim.dearerIsExact()) {
		return decision{}, false
	}
	if cost > d.cost && cost > lim.bands[0].Capacity {
		out.RetryAfterMS = neverMS
		return out, true
	}
	retry := time.Duration(d.retryUS)*time.Microsecond - passed
	if cost > d.cost {
		more := float64(cost-d.cost) * float64(lim.bands[0].P)
		if more > maxExact {
			return decision{}, false
		}
		retry += time.Duration(more) * time.Microsecond
	}
	if wait > 0 && retry <= wait {
		return decision{}, false
	}
	out.RetryAfterMS = coord.MsLeft(retry)
	return out, true
}

// shut reports whether the key was refused whatever it asks for. What costs less
// is then refused as long; what costs more may be longer.
func (d denial) shut() bool {
	return d.decision.DeniedBy == ReasonPause || d.decision.DeniedBy == ReasonDelay
}

// dearerIsExact reports whether each token more makes the wait longer by the same
// whole microseconds: in one band of a bucket.
func (l *limit) dearerIsExact() bool {
	return l.algorithm.bursts && len(l.bands) == 1 && l.bands[0].L == 1
}

// topicReset is what ratelimit_reset.lua broadcasts.
const topicReset = "reset"

// forget drops what this sidecar remembers of a limit's key that something
// happened to, in whichever sidecar. What was let through without Redis is
// forgotten only with the limit itself.
func (l *Limiter) forget(topic, key string) {
	l.answers.Forget(key)
	l.forgetLocal(topic, key)
}

func (l *Limiter) forgetLocal(topic, key string) {
	if topic == topicReset {
		l.local.Forget(key)
	}
}
