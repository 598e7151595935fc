package ratelimit_test

import (
	"math/big"
	"slices"
	"sort"
	"testing"
	"time"

	"pgregory.net/rapid"

	"github.com/coxswain-sidecar/coxswain/internal/coord/ratelimit"
)

// modelWindows is one band of the sliding window counter.
type modelWindows struct {
	ratelimit.Band
	w, cur, prev int64
}

func (b modelWindows) us() int64 { return b.PeriodMS * 1000 }

// at is the band as it is at an instant, when nothing is charged until then.
func (b modelWindows) at(instant int64) modelWindows {
	for w := instant / b.us(); b.w < w; b.w++ {
		b.prev, b.cur = b.cur, 0
		if b.prev == 0 {
			b.w = w - 1
		}
	}
	return b
}

// used is what counts at an instant, rounded up.
func (b modelWindows) used(instant int64) int64 {
	b = b.at(instant)
	share := big.NewRat(b.us()-max(instant-b.w*b.us(), 0), b.us())
	return b.cur + ceil(share.Mul(share, new(big.Rat).SetInt64(b.prev))).Int64()
}

func (b modelWindows) stands(now, cost int64) standing {
	b = b.at(now)
	used := b.used(now)
	out := standing{left: limitOf(b.Band) - used, used: used, wait: -1}
	ends := (b.w+2)*b.us() - now
	if used > 0 {
		out.reset = ends
		if b.cur == 0 {
			out.reset = ends - b.us()
		}
	}
	// What counts only falls until all of it is gone.
	first := sort.Search(int(ends), func(d int) bool { return b.used(now+int64(d))+cost <= limitOf(b.Band) })
	if cost <= limitOf(b.Band) {
		out.wait = int64(first)
	}
	return out
}

// modelCounter is the sliding window counter over fractions.
type modelCounter struct {
	known    bool
	revision int64
	since    int64
	bands    []modelWindows
}

func bandsOf(bands []modelWindows) []ratelimit.Band {
	out := make([]ratelimit.Band, len(bands))
	for i, b := range bands {
		out[i] = b.Band
	}
	return out
}

// under is the counter as a caller with a rule and its revision sees it.
func (m modelCounter) under(bands []ratelimit.Band, revision, now int64) modelCounter {
	if m.known && (revision < m.revision || slices.Equal(bandsOf(m.bands), bands)) {
		m.bands, m.revision = slices.Clone(m.bands), max(m.revision, revision)
		return m
	}
	fresh := modelCounter{known: true, revision: revision, since: now}
	if m.known {
		fresh.since = m.since
	}
	heirs, gone := make([]bool, len(bands)), make([]bool, len(m.bands))
	for _, b := range bands {
		fresh.bands = append(fresh.bands, modelWindows{Band: b, w: now / (b.PeriodMS * 1000)})
	}
	for n := range fresh.bands {
		for o, old := range m.bands {
			if old.PeriodMS == bands[n].PeriodMS {
				fresh.bands[n] = modelWindows{bands[n], old.w, old.cur, old.prev}
				heirs[n], gone[o] = true, true
			}
		}
	}
	for n := range fresh.bands {
		o := slices.Index(gone, false)
		if heirs[n] {
			continue
		}
		fresh.since = now
		if o < 0 {
			continue
		}
		gone[o] = true
		old := m.bands[o].at(now)
		at := max(now, old.w*old.us())
		fresh.bands[n].w = at / fresh.bands[n].us()
		fresh.bands[n].cur = min(old.used(now), limitOf(old.Band), limitOf(bands[n]))
	}
	return fresh
}

func (m *modelCounter) charge(now int64, a slide) ratelimit.Out {
	seen := m.under(a.rule.bands(), a.revision, now)
	stand := func() (out []standing) {
		for _, b := range seen.bands {
			out = append(out, b.stands(now, a.cost))
		}
		return out
	}
	a.wait = 0
	before := stand()
	out, at, takes := decided(before, a, now)
	if takes {
		for i := range seen.bands {
			seen.bands[i] = seen.bands[i].at(now)
			seen.bands[i].cur += a.cost
		}
		*m, before = seen, stand()
	}
	return told(out, before, a, at)
}

func (m *modelCounter) takeBack(now int64, g passage, _ bool) bool {
	if !m.known || g.at < m.since {
		return false
	}
	found, bands := false, slices.Clone(m.bands)
	for i := range bands {
		bands[i] = bands[i].at(now)
		b := &bands[i]
		for w, count := range map[int64]*int64{b.w: &b.cur, b.w - 1: &b.prev} {
			if g.at/b.us() == w && *count > 0 {
				*count, found = max(*count-g.cost, 0), true
			}
		}
	}
	if found {
		m.bands = bands
	}
	return found
}

func (m *modelCounter) counting(now int64) bool {
	return slices.ContainsFunc(m.bands, func(b modelWindows) bool { return b.used(now) > 0 })
}

func TestSlidingWindowCounterEqualsTheModel(t *testing.T) {
	t.Parallel()
	checkSliding(t, func(b *slidingRun, rt *rapid.T) {
		b.algorithm, b.limits = "sliding_window_counter", limits
		b.fresh = func() slidingModel { return &modelCounter{} }
		b.takesBackBy = func(g passage, _ bool) (bool, time.Duration) {
			return counterCredits(rt, b.s, b.now, b.state, g.cost, g.at)
		}
	})
}
