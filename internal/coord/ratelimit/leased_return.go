package ratelimit

import (
	"context"
	"sync"
	"sync/atomic"
	"time"

	"github.com/coxswain-sidecar/coxswain/internal/coord"
	"github.com/coxswain-sidecar/coxswain/internal/coord/lease"
	"github.com/coxswain-sidecar/coxswain/internal/lua"
	"github.com/coxswain-sidecar/coxswain/internal/telemetry"
)

// returnCrew is how many returns run at the same time; further ones queue.
const returnCrew = 8

// The outcomes of tokens that were charged ahead; labels of a metric.
const (
	tokensCharged  = "charged"
	tokensServed   = "served"
	tokensReturned = "returned" // sent back in time, though refills may have left less of them
	tokensLapsed   = "lapsed"
)

// blocks is what all holdings of a limiter share.
type blocks struct {
	runner  *lua.Runner
	answers *coord.Answers
	tel     *telemetry.Telemetry
	now     func() time.Duration
	crew    *coord.Crew
	over    atomic.Bool // Drain was called: no block is charged any more
	sweep   sweep

	mu      sync.Mutex    // guards sending and quiet
	sending int           // returns that run or are queued
	quiet   chan struct{} // closed when sending becomes 0; nil = settled does not wait
}

// Dropped implements coord.Dropped: it gives back the tokens that are left.
func (h *holding) Dropped() {
	h.mu.Lock()
	defer h.mu.Unlock()
	h.gone = true
	h.in.sweep.remove(h)
	h.end()
	h.in.giveBack(h, h.back)
	h.back = part{}
}

// worth reports whether Redis would credit any token of a part now. It credits neither tokens
// that have refilled since the charge nor those of a window that has ended: see
// part_lease_back.lua.
func (l *limit) worth(p part, now time.Duration) bool {
	us := (now - p.since).Microseconds()
	for _, b := range l.bands {
		switch {
		case l.algorithm.bursts:
			if b.L > 0 && float64(p.left)*float64(b.P) > float64(us)*float64(b.L) {
				return true
			}
		case us < b.PeriodMS*1000-p.at%(b.PeriodMS*1000):
			return true
		}
	}
	return false
}

// look is called by the sweep. It gives back the tokens of an idle key, and removes the
// holding of a key that stays idle.
func (h *holding) look() {
	h.mu.Lock()
	now, ttl := h.in.now(), h.lim.leased.ttl
	left, idle := h.valid(now), now-h.used
	if h.gone {
		h.mu.Unlock()
		return
	}
	if idle >= ttl/2 {
		for i := range h.parts {
			if p := &h.parts[i]; p.left > 0 && h.lim.worth(*p, now) {
				left -= p.left
				h.close(p)
			}
		}
		h.in.giveBack(h, h.back)
		h.back = part{}
	}
	over := left == 0 && h.charging == 0 && idle >= 2*ttl
	if !over {
		h.in.sweep.add(h, now, h.nextLook(now, left))
	}
	h.mu.Unlock()
	if over {
		h.in.answers.Drop(h.key)
	}
}

// nextLook returns how long it is until look may have something to do.
func (h *holding) nextLook(now time.Duration, left int64) time.Duration {
	ttl := h.lim.leased.ttl
	if half := h.used + ttl/2; now < half {
		return half - now
	}
	if left == 0 {
		return h.used + 2*ttl - now
	}
	next := now + 2*ttl
	for _, p := range h.parts {
		if p.left > 0 {
			next = min(next, p.ends)
		}
	}
	return next - now
}

func (b *blocks) count(lim *limit, outcome string, n int64) {
	if n > 0 {
		b.tel.TokensAhead(context.Background(), lim.label(), outcome, n)
	}
}

// giveBack gives the unused tokens of a part back to Redis, on another goroutine. A try that
// may have run is not repeated, since a second run would credit tokens that other calls used.
func (b *blocks) giveBack(h *holding, p part) {
	if p.left == 0 {
		return
	}
	if !h.lim.worth(p, b.now()) {
		b.count(h.lim, tokensLapsed, p.left)
		return
	}
	b.mu.Lock()
	b.sending++
	b.mu.Unlock()
	b.crew.Go(func() {
		defer b.sent()
		ctx, cancel := context.WithTimeout(context.Background(), lease.GiveBackTime)
		defer cancel()
		out, err := lua.Attempt(ctx, b.runner, ReturnScript, ReturnIn{
			State: h.state, Algorithm: h.lim.algorithm.name, Unused: p.left, AtUS: p.at,
		}, lua.StoredReply{})
		if err == nil && out.Value {
			b.count(h.lim, tokensReturned, p.left)
		} else {
			b.count(h.lim, tokensLapsed, p.left)
		}
	})
}

func (b *blocks) sent() {
	b.mu.Lock()
	defer b.mu.Unlock()
	if b.sending--; b.sending == 0 && b.quiet != nil {
		close(b.quiet)
		b.quiet = nil
	}
}

// settled returns when no return runs or is queued, or ctx ends.
func (b *blocks) settled(ctx context.Context) error {
	b.mu.Lock()
	if b.sending == 0 {
		b.mu.Unlock()
		return nil
	}
	if b.quiet == nil {
		b.quiet = make(chan struct{})
	}
	quiet := b.quiet
	b.mu.Unlock()
	select {
	case <-quiet:
		return nil
	case <-ctx.Done():
		return ctx.Err()
	}
}

// Drain ends mode leased, and gives back all tokens that are held. It does not wait until
// they are given back; Stop does.
func (l *Limiter) Drain() {
	l.blocks.over.Store(true)
	l.answers.DropIf(func(k coord.AnswerKey, _ coord.Ending) bool { return k.Kind == kindBlock })
}

// Stop drains, and returns when all tokens are given back or ctx ends; its error is that of
// ctx. Calls are still decided afterwards, each in Redis.
func (l *Limiter) Stop(ctx context.Context) error {
	l.Drain()
	return l.blocks.settled(ctx)
}

// reloaded drops the tokens that are held under rules that are no longer in force.
func (l *Limiter) reloaded(set map[string]*rule) {
	l.answers.DropIf(func(k coord.AnswerKey, _ coord.Ending) bool {
		if k.Kind != kindBlock {
			return false
		}
		r := set[k.Name]
		return r == nil || r.revision != k.Revision
	})
}
