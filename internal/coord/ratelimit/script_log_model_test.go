package ratelimit_test

import (
	"slices"
	"testing"
	"time"

	"pgregory.net/rapid"

	"github.com/coxswain-sidecar/coxswain/internal/coord/ratelimit"
)

// modelLog is the sliding window log as a plain list of admissions.
type modelLog struct {
	known    bool
	revision int64
	rule     []ratelimit.Band
	entries  []passage
}

// counted returns the cost of all entries that count at an instant, under a period of us.
func (m *modelLog) counted(at, us int64) int64 {
	sum := int64(0)
	for _, e := range m.entries {
		if e.at > at-us {
			sum += e.cost
		}
	}
	return sum
}

func limitOf(b ratelimit.Band) int64 {
	if b.L == 0 {
		return 0
	}
	return b.Capacity
}

func (m *modelLog) standings(bands []ratelimit.Band, now, cost int64) []standing {
	out := make([]standing, len(bands))
	for i, b := range bands {
		us := b.PeriodMS * 1000
		used := m.counted(now, us)
		out[i] = standing{left: limitOf(b) - used, used: used, wait: -1}
		if used > 0 {
			out[i].reset = m.entries[len(m.entries)-1].at + us - now
		}
		// It fits now, or first when one of the entries goes.
		instants := []int64{now}
		for _, e := range m.entries {
			instants = append(instants, e.at+us)
		}
		slices.Sort(instants)
		for _, at := range instants {
			if at >= now && m.counted(at, us)+cost <= limitOf(b) {
				out[i].wait = at - now
				break
			}
		}
	}
	return out
}

func (m *modelLog) charge(now int64, a slide) ratelimit.Out {
	bands, revision := a.rule.bands(), a.revision
	if m.known && a.revision < m.revision {
		bands, revision = m.rule, m.revision
	}
	stand := m.standings(bands, now, a.cost)
	out, at, takes := decided(stand, a, now)
	if takes {
		slot := now + out.RetryAfterUS
		longest := bands[len(bands)-1].PeriodMS * 1000
		last := int64(0)
		if len(m.entries) > 0 {
			last = m.entries[len(m.entries)-1].at
		}
		m.entries = slices.DeleteFunc(m.entries, func(e passage) bool { return e.at <= now-longest })
		m.entries = append(m.entries, passage{id: a.id, at: max(slot, last), cost: a.cost})
		m.known, m.rule, m.revision = true, bands, revision
		stand = m.standings(bands, now, a.cost)
	}
	return told(out, stand, a, at)
}

func (m *modelLog) takeBack(now int64, g passage, giveBack bool) bool {
	i := slices.IndexFunc(m.entries, func(e passage) bool { return e.id == g.id })
	if i < 0 || giveBack && i != len(m.entries)-1 || m.entries[i].at <= now-m.rule[len(m.rule)-1].PeriodMS*1000 {
		return false
	}
	m.entries = slices.Delete(m.entries, i, i+1)
	return true
}

func (m *modelLog) counting(now int64) bool {
	return m.known && m.counted(now, m.rule[len(m.rule)-1].PeriodMS*1000) > 0
}

// logLimits are few and small, so that the same entries matter to many steps.
var logLimits = []struct{ limit, periodMS int64 }{
	{80, 600_000},
	{10, 6_000},
	{3, 5_000},
	{7, 1_000},
	{10_000, 1_000},
	{100, 60_000},
	{1, 1},
	{0, 60_000},
	{5, 366 * 86_400_000},
}

func TestSlidingWindowLogEqualsTheModel(t *testing.T) {
	t.Parallel()
	checkSliding(t, func(b *slidingRun, rt *rapid.T) {
		b.algorithm, b.limits = "sliding_window_log", logLimits
		b.fresh = func() slidingModel { return &modelLog{} }
		b.takesBackBy = func(g passage, giveBack bool) (bool, time.Duration) {
			if giveBack {
				return logGivesBack(rt, b.s, b.now, b.state, g.id)
			}
			return logRefunds(rt, b.s, b.now, b.state, g.id, g.at)
		}
	})
}
