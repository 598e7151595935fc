package ratelimit

import (
	"math"
	"time"

	"github.com/coxswain-sidecar/coxswain/client/api"
	"github.com/coxswain-sidecar/coxswain/internal/coord"
)

// gcra is the limit in this process that replaces all bands of a rule in fail mode local:
// the rate of the slowest band and the capacity of the smallest one, divided among the
// pods. So it exceeds no band. The generic cell rate algorithm keeps one instant: when all
// that was admitted has drained.
type gcra struct {
	interval float64 // ns that one token takes to drain; +Inf admits nothing
	burst    int64   // tokens at once
	most     int64   // the largest cost that any state admits, in Redis or here
	band     int     // index of the slowest band
}

// share returns the local limit of one of n pods.
func share(bands []Band, n int64) gcra {
	g := gcra{burst: math.MaxInt64, most: math.MaxInt64}
	for i, b := range bands {
		interval, capacity := math.Inf(1), int64(0)
		if b.L > 0 {
			interval, capacity = float64(b.P)/float64(b.L)*1000*float64(n), b.Capacity
		}
		if interval > g.interval {
			g.interval, g.band = interval, i
		}
		g.burst, g.most = min(g.burst, max(capacity/n, min(capacity, 1))), min(g.most, capacity)
	}
	return g
}

// localKey names a limit in this process: a rule of any revision, or a limit given in full.
type localKey struct{ rule, key, terms string }

func (l *limit) localKey(key string) localKey {
	if l.options.Name != "" {
		return localKey{rule: l.options.Name, key: key}
	}
	return localKey{key: key, terms: l.terms}
}

// drain is the state of a local limit: at is when all that was admitted has drained, in ns.
type drain struct {
	state string
	at    float64
}

func (d drain) Ends() time.Duration { return time.Duration(d.at) }
func (d drain) About() string       { return d.state }

// decide admits cost if it fits. A cost above this pod's share is admitted once nothing is
// used, and then delays the calls after it.
func (g gcra) decide(d *drain, cost int64, now time.Duration, peek bool) decision {
	t := float64(now)
	d.at = max(d.at, t)
	out := decision{RatelimitResult: api.RatelimitResult{Degraded: true, Source: coord.SourceLocal}}
	over := 0.0
	switch {
	case cost > g.most:
		out.DeniedBy, out.RetryAfterMS = ReasonLimit, neverMS
	case cost > 0:
		over = d.at - t - float64(max(0, g.burst-cost))*g.interval
	}
	switch {
	case out.DeniedBy != "":
	case over >= 1: // less than a nanosecond is a rounding error
		out.DeniedBy, out.RetryAfterMS = ReasonLimit, coord.MillisUp(time.Duration(math.Ceil(over)))
	default:
		out.Allowed = true
		if !peek && cost > 0 {
			d.at += float64(cost) * g.interval
		}
	}
	if used := d.at - t; used > 0 {
		tokens := used / g.interval
		out.Current = int64(math.Ceil(tokens - 1e-9))
		out.ResetAfterMS = coord.MillisUp(time.Duration(used))
	}
	out.Remaining = max(0, g.burst-out.Current)
	return out
}

// warm counts a cost that Redis admitted, up to the burst of this limit: this pod may have
// used the shares of other pods in Redis, and must not be blocked for that.
func (g gcra) warm(d *drain, cost int64, now time.Duration) {
	t := float64(now)
	d.at = min(max(d.at, t)+float64(cost)*g.interval, max(d.at, t+float64(g.burst)*g.interval))
}

// decideLocally decides by fail mode open or local.
func (l *Limiter) decideLocally(q question) decision {
	lim := q.lim
	d := decision{RatelimitResult: api.RatelimitResult{Allowed: true, Degraded: true, Source: coord.SourceLocal}}
	if q.mode == coord.FailLocal {
		now := l.now()
		l.local.Update(lim.localKey(q.counted), func(was drain) drain {
			was.state = q.state
			d = lim.local.decide(&was, q.cost, now, q.peek)
			return was
		})
		d.ResetAtMS = l.clock.Now().Add(coord.Millis(d.ResetAfterMS)).UnixMilli()
	}
	d.Rule, d.Algorithm = lim.options.Name, lim.algorithm.name
	d.Band, d.Limit = lim.names[lim.local.band], lim.limits[lim.local.band]
	return d
}

// keepWarm counts a cost that Redis admitted in the local limit too.
func (l *Limiter) keepWarm(q question) {
	now := l.now()
	l.local.Update(q.lim.localKey(q.counted), func(was drain) drain {
		was.state = q.state
		q.lim.local.warm(&was, q.cost, now)
		return was
	})
}
