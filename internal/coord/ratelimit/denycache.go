package ratelimit

import (
	"time"

	"github.com/coxswain-sidecar/coxswain/internal/coord"
)

func (l *limit) answerKey(key string) coord.AnswerKey {
	return coord.AnswerKey{Kind: noun, Name: l.options.Name, Key: key, Terms: l.terms, Revision: l.revision}
}

// maxExact bounds a wait (us), so that sums of waits do not overflow a time.Duration.
const maxExact = 1e14

// denial is a remembered refusal of a script.
type denial struct {
	state string
	cost  int64
	// at is when the call was sent. Its times count from there, so that they end rather too
	// early than too late.
	at       time.Duration
	retryUS  int64 // -1 = never
	resetUS  int64
	decision decision
	newer    bool // it was decided by a newer rule, which this sidecar does not have yet
}

func (d denial) Ends() time.Duration {
	if d.retryUS < 0 {
		return d.at + coord.MaxCached
	}
	return d.at + min(time.Duration(d.retryUS)*time.Microsecond, coord.MaxCached)
}

func (d denial) About() string { return d.state }

// repeat decides by the refusal, at now, about a call with this cost that waits up to wait.
// It returns false if Redis has to be asked.
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

// shut reports whether the key was refused whatever the cost. Then a call that costs less is
// refused for as long, and one that costs more possibly for longer.
func (d denial) shut() bool {
	return d.decision.DeniedBy == ReasonPause || d.decision.DeniedBy == ReasonDelay
}

// dearerIsExact reports whether each further token prolongs the wait by the same whole number
// of microseconds, as in a bucket of one band with L = 1.
func (l *limit) dearerIsExact() bool {
	return l.algorithm.bursts && len(l.bands) == 1 && l.bands[0].L == 1
}

// topicReset is the topic that ratelimit_reset.lua publishes.
const topicReset = "reset"

// forget drops what this sidecar remembers about a Redis key that any sidecar changed. Only a
// reset also drops the local limit, which counts what was admitted without Redis.
func (l *Limiter) forget(topic, key string) {
	l.answers.Forget(key)
	l.forgetLocal(topic, key)
}

func (l *Limiter) forgetLocal(topic, key string) {
	if topic == topicReset {
		l.local.Forget(key)
	}
}
