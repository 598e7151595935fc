package api

import "time"

// Per is a band of limit per period, such as Per(80, 10*time.Minute). A part of a millisecond
// counts as a whole one.
func Per(limit int64, period time.Duration) Band {
	return Band{Limit: limit, PeriodMS: Millis(period)}
}

// WithBurst is the band with another burst: how many at once, of token_bucket and leaky_bucket.
func (b Band) WithBurst(burst int64) Band {
	b.Burst = burst
	return b
}

// Millis is a duration as the fields of params have it whose names end in MS. It is rounded
// up, so that a short duration does not become 0, which most of them read as their default.
func Millis(d time.Duration) int64 {
	return int64((d + time.Millisecond - 1) / time.Millisecond)
}

// RetryAfter is how long to wait until the same call may be allowed; false = it never is.
func (r RatelimitResult) RetryAfter() (time.Duration, bool) {
	if r.RetryAfterMS < 0 {
		return 0, false
	}
	return time.Duration(r.RetryAfterMS) * time.Millisecond, true
}
