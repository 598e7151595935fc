package ratelimit_test

import (
	"slices"
	"testing"
	"time"

	"pgregory.net/rapid"

	"github.com/coxswain-sidecar/coxswain/internal/coord/ratelimit"
	"github.com/coxswain-sidecar/coxswain/internal/luatest"
)

// modelWindow is one band of the fixed window: its last window that was charged,
// as periods since 1970, and what counts there.
type modelWindow struct {
	ratelimit.Band
	w, count int64
}

func (b modelWindow) us() int64 { return b.PeriodMS * 1000 }

// modelFixed is the fixed window: counts by windows, of which only the last is
// charged.
type modelFixed struct {
	known    bool
	at       int64 // when it was charged last
	from     int64
	revision int64
	bands    []modelWindow
	made     map[string]int64 // when each charge was made, by its id
}

func fixedBands(bands []modelWindow) []ratelimit.Band {
	out := make([]ratelimit.Band, len(bands))
	for i, b := range bands {
		out[i] = b.Band
	}
	return out
}

// opened returns the bands at an instant: a window that is over no longer counts.
func opened(bands []modelWindow, at int64) []modelWindow {
	bands = slices.Clone(bands)
	for i := range bands {
		if b := &bands[i]; b.w < at/b.us() {
			b.w, b.count = at/b.us(), 0
		}
	}
	return bands
}

// under is the state as a caller with a rule and its revision sees it.
func (m *modelFixed) under(rule []ratelimit.Band, revision, now int64) modelFixed {
	seen, at := *m, max(m.at, now)
	if m.known && (revision < m.revision || slices.Equal(fixedBands(m.bands), rule)) {
		seen.revision, seen.bands = max(m.revision, revision), opened(m.bands, at)
		return seen
	}
	seen.known, seen.at, seen.from, seen.revision = true, at, now, revision
	seen.bands = make([]modelWindow, len(rule))
	heirs, gone := make([]bool, len(rule)), make([]bool, len(m.bands))
	for n, b := range rule {
		seen.bands[n].Band = b
	}
	for _, wanted := range []bool{true, false} {
		for n := range seen.bands {
			for o, old := range m.bands {
				if !heirs[n] && !gone[o] && (old.PeriodMS == rule[n].PeriodMS || !wanted) {
					heirs[n], gone[o] = true, true
					seen.bands[n].inherit(old, at)
				}
			}
		}
	}
	seen.bands = opened(seen.bands, at)
	return seen
}

func (b *modelWindow) inherit(old modelWindow, at int64) {
	begin, present := old.w*old.us(), at/old.us()
	switch {
	case old.w > present:
		// Promised: all windows until then are taken for full, of those in the new one.
		b.w, b.count = begin/b.us(), old.count
		for w := present; b.PeriodMS != old.PeriodMS && w < old.w; w++ {
			if (w+1)*old.us() > b.w*b.us() {
				b.count += old.Capacity
			}
		}
	case begin+old.us() > at/b.us()*b.us():
		b.w = at / b.us()
		b.count = min(old.count, old.Capacity, b.Capacity) + max(old.count-old.Capacity, 0)
	}
}

func (m *modelFixed) stand(now, cost int64) (out []standing) {
	at := max(m.at, now)
	for _, b := range m.bands {
		s := standing{used: b.count, wait: -1}
		begin, ahead := b.w*b.us(), b.w > at/b.us()
		if ahead {
			s.used += b.Capacity
			s.reset = begin - now
		}
		if b.count > 0 {
			s.reset = begin + b.us() - now
		}
		s.left = b.Capacity - s.used
		switch {
		case cost > b.Capacity:
		case b.count+cost > b.Capacity:
			s.wait = begin + b.us() - now
		case ahead:
			s.wait = begin - now
		default:
			s.wait = 0
		}
		out = append(out, s)
	}
	return out
}

func (m *modelFixed) charge(now int64, a slide) ratelimit.Out {
	seen := m.under(a.rule.bands(), a.revision, now)
	before := seen.stand(now, a.cost)
	out, at, takes := decided(before, a, now)
	if takes {
		seen.bands = opened(seen.bands, now+out.RetryAfterUS)
		for i := range seen.bands {
			seen.bands[i].count += a.cost
		}
		seen.at = max(m.at, now)
		seen.made[a.id] = now
		*m = seen
		before = m.stand(now, a.cost)
	}
	return told(out, before, a, at)
}

// takeBack gives back a slot that is in the last window of each band, or refunds
// what counts in the last window of any.
func (m *modelFixed) takeBack(now int64, g passage, giveBack bool) bool {
	since := g.at
	if giveBack {
		since = m.made[g.id]
	}
	if !m.known || since < m.from {
		return false
	}
	bands, hits := opened(m.bands, max(m.at, now)), 0
	for i := range bands {
		if b := &bands[i]; g.at/b.us() == b.w && b.count > 0 {
			b.count = max(b.count-g.cost, 0)
			hits++
		}
	}
	if hits == 0 || giveBack && hits < len(bands) {
		return false
	}
	m.bands, m.at = bands, max(m.at, now)
	return true
}

func (m *modelFixed) counting(now int64) bool {
	return slices.ContainsFunc(m.bands, func(b modelWindow) bool { return b.count > 0 && b.w >= now/b.us() })
}

func TestFixedWindowEqualsTheModel(t *testing.T) {
	t.Parallel()
	checkSliding(t, func(b *slidingRun, rt *rapid.T) {
		b.algorithm, b.limits = "fixed_window", limits
		marker := b.state + "marker"
		b.fresh = func() slidingModel { return &modelFixed{made: map[string]int64{}} }
		b.takesBackBy = func(g passage, giveBack bool) (bool, time.Duration) {
			if giveBack {
				made := b.m.(*modelFixed).made[g.id]
				got := luatest.Call(rt, b.s, ratelimit.GiveBackScript, b.now, ratelimit.GiveBackIn{
					State: b.state, Pace: b.state + "pace", Algorithm: b.algorithm, ID: g.id, Cost: g.cost, SlotUS: g.at, PromisedUS: made,
				})
				return got == ratelimit.SlotCredited, b.s.TTL(b.state)
			}
			got := luatest.Call(rt, b.s, ratelimit.RefundScript, b.now, ratelimit.RefundIn{
				State: b.state, Marker: marker, Algorithm: b.algorithm, ID: g.id, Cost: g.cost, AtUS: g.at,
			})
			b.s.Del(rt, marker)
			return got == ratelimit.Refunded, b.s.TTL(b.state)
		}
	})
}
