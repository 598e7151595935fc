package api

import "time"

// Per makes a band of limit per period, such as Per(80, 10*time.Minute). The period is rounded up
// to whole milliseconds.
func Per(limit int64, period time.Duration) Band {
	return Band{Limit: limit, PeriodMS: Millis(period)}
}

// WithBurst returns the band with another burst, which is how many calls token_bucket and
// leaky_bucket admit at once.
func (b Band) WithBurst(burst int64) Band {
	b.Burst = burst
	return b
}

// Millis converts a duration for fields of params whose names end in MS. It rounds up, so that a
// short duration does not become 0, which means the default in most of these fields.
func Millis(d time.Duration) int64 {
	return int64((d + time.Millisecond - 1) / time.Millisecond)
}

// RetryAfter returns how long to wait until the same call may be allowed; false = it will never
// be allowed.
func (r RatelimitResult) RetryAfter() (time.Duration, bool) {
	if r.RetryAfterMS < 0 {
		return 0, false
	}
	return time.Duration(r.RetryAfterMS) * time.Millisecond, true
}
