package api

import "time"

// Per returns the band of limit per period, such as Per(80, 10*time.Minute). It rounds the period up
// to whole milliseconds.
func Per(limit int64, period time.Duration) Band {
	return Band{Limit: limit, PeriodMS: Millis(period)}
}

// WithBurst returns a copy of the band with this burst: how much token_bucket and leaky_bucket
// admit at once.
func (b Band) WithBurst(burst int64) Band {
	b.Burst = burst
	return b
}

// Millis converts a duration to the milliseconds of params fields whose names end in MS. It rounds
// up, so that a short duration does not become 0, which most of these fields take as the default.
func Millis(d time.Duration) int64 {
	return int64((d + time.Millisecond - 1) / time.Millisecond)
}

// RetryAfter returns how long to wait until the same call may be allowed. It returns false if the
// call will never be allowed.
func (r RatelimitResult) RetryAfter() (time.Duration, bool) {
	if r.RetryAfterMS < 0 {
		return 0, false
	}
	return time.Duration(r.RetryAfterMS) * time.Millisecond, true
}
