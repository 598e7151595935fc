package clienttest

import (
	"math"
	"slices"
	"time"

	"github.com/coxswain-sidecar/coxswain/client/api"
)

// bucket is what a key has used of one band. Which fields count depends on the algorithm.
type bucket struct {
	at time.Time // token_bucket, leaky_bucket: when it is unused again
	// The windows.
	start     time.Time
	now, last int64 // what was taken in the window that began at start, and in the one before
	log       []charge
}

type charge struct {
	at   time.Time
	cost int64
}

// standing is the state of a band, and whether a cost fits into it.
type standing struct {
	used    float64
	most    float64
	retry   time.Duration // until the cost fits; negative = never
	reset   time.Duration // until the band is unused again
	allowed bool
}

func (s standing) remaining() int64 { return max(int64(math.Floor(s.most-s.used+tiny)), 0) }
func (s standing) current() int64   { return int64(math.Ceil(s.used - tiny)) }

// tiny absorbs rounding errors: it is less than any limit of a test refills in a nanosecond.
const tiny = 1e-6

// burst is the cost that an unused band admits at once.
func burst(algorithm string, b api.Band) int64 {
	switch {
	case algorithm == api.AlgorithmTokenBucket && b.Burst > 0, algorithm == api.AlgorithmLeakyBucket && b.Burst > 0:
		return b.Burst
	case algorithm == api.AlgorithmLeakyBucket:
		return 1
	default:
		return b.Limit
	}
}

// look returns the standing of the band for a cost, at a time.
func (b *bucket) look(algorithm string, band api.Band, cost int64, now time.Time) standing {
	period := ms(band.PeriodMS)
	s := standing{most: float64(burst(algorithm, band))}
	switch algorithm {
	case api.AlgorithmTokenBucket, api.AlgorithmLeakyBucket:
		b.fill(&s, band, cost, now)
	case api.AlgorithmFixedWindow:
		b.turn(now, period)
		s.used, s.reset = float64(b.now), b.start.Add(period).Sub(now)
		s.retry = s.reset
		if b.now == 0 {
			s.reset = 0
		}
	case api.AlgorithmSlidingWindowLog:
		b.slide(&s, cost, now, period)
	case api.AlgorithmSlidingWindowCounter:
		b.weigh(&s, cost, now, period)
	}
	s.allowed = s.used+float64(cost) <= s.most+tiny
	switch {
	case s.allowed:
		s.retry = 0
	case float64(cost) > s.most:
		s.retry = -1
	}
	return s
}

func (b *bucket) fill(s *standing, band api.Band, cost int64, now time.Time) {
	if band.Limit == 0 {
		s.most, s.retry = 0, -1
		return
	}
	each := float64(ms(band.PeriodMS)) / float64(band.Limit)
	s.reset = max(b.at.Sub(now), 0)
	s.used = float64(s.reset) / each
	s.retry = time.Duration(math.Ceil((s.used + float64(cost) - s.most) * each))
}

// turn moves on to the window of now, unless that is the present one already.
func (b *bucket) turn(now time.Time, period time.Duration) {
	start := time.UnixMilli(now.UnixMilli() / period.Milliseconds() * period.Milliseconds())
	if start.Equal(b.start) {
		return
	}
	b.last = 0
	if start.Equal(b.start.Add(period)) {
		b.last = b.now
	}
	b.start, b.now = start, 0
}

func (b *bucket) slide(s *standing, cost int64, now time.Time, period time.Duration) {
	for len(b.log) > 0 && !now.Before(b.log[0].at.Add(period)) {
		b.log = b.log[1:]
	}
	for _, c := range b.log {
		s.used += float64(c.cost)
		s.reset = c.at.Add(period).Sub(now)
	}
	left := s.used
	for _, c := range b.log {
		if left+float64(cost) <= s.most {
			break
		}
		left -= float64(c.cost)
		s.retry = c.at.Add(period).Sub(now)
	}
}

func (b *bucket) weigh(s *standing, cost int64, now time.Time, period time.Duration) {
	b.turn(now, period)
	share := 1 - float64(now.Sub(b.start))/float64(period)
	s.used = float64(b.now) + float64(b.last)*share
	switch {
	case b.now > 0:
		s.reset = b.start.Add(2 * period).Sub(now)
	case b.last > 0:
		s.reset = b.start.Add(period).Sub(now)
	}
	room := s.most - float64(cost)
	if free := room - float64(b.now); free >= 0 && b.last > 0 {
		s.retry = b.start.Add(time.Duration((1 - free/float64(b.last)) * float64(period))).Sub(now)
	} else if b.now > 0 {
		s.retry = b.start.Add(period + time.Duration((1-room/float64(b.now))*float64(period))).Sub(now)
	}
}

// take takes a cost that fits.
func (b *bucket) take(algorithm string, band api.Band, cost int64, now time.Time) {
	switch algorithm {
	case api.AlgorithmTokenBucket, api.AlgorithmLeakyBucket:
		if b.at.Before(now) {
			b.at = now
		}
		if band.Limit > 0 {
			b.at = b.at.Add(time.Duration(float64(cost) * float64(ms(band.PeriodMS)) / float64(band.Limit)))
		}
	case api.AlgorithmSlidingWindowLog:
		b.log = append(b.log, charge{now, cost})
	default:
		b.turn(now, ms(band.PeriodMS))
		b.now += cost
	}
}

// giveBack gives back a cost that was taken at an instant, and reports whether it still counted.
func (b *bucket) giveBack(algorithm string, band api.Band, cost int64, at, now time.Time) bool {
	period := ms(band.PeriodMS)
	if b.look(algorithm, band, 0, now).used < tiny {
		return false
	}
	switch algorithm {
	case api.AlgorithmTokenBucket, api.AlgorithmLeakyBucket:
		b.at = b.at.Add(-time.Duration(float64(cost) * float64(period) / float64(band.Limit)))
	case api.AlgorithmSlidingWindowLog:
		i := slices.IndexFunc(b.log, func(c charge) bool { return c.cost == cost && c.at.Equal(at) })
		if i < 0 {
			return false
		}
		b.log = slices.Delete(b.log, i, i+1)
	default:
		switch {
		case !at.Before(b.start):
			b.now = max(b.now-cost, 0)
		case !at.Before(b.start.Add(-period)) && algorithm == api.AlgorithmSlidingWindowCounter:
			b.last = max(b.last-cost, 0)
		default:
			return false
		}
	}
	return true
}
