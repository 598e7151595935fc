package coord

import "time"

// Clock is the clock of one process. Decisions between pods are made by the clock of the Redis
// server instead. Tests move a clock by hand.
type Clock interface {
	// Now has to be monotonic.
	Now() time.Time
	// AfterFunc calls f on a goroutine of its own when d has passed, unless stop
	// is called first, as time.AfterFunc does.
	AfterFunc(d time.Duration, f func()) (stop func() bool)
}

// SystemClock is the clock of the pod.
type SystemClock struct{}

// Now implements Clock.
func (SystemClock) Now() time.Time { return time.Now() }

// AfterFunc implements Clock.
func (SystemClock) AfterFunc(d time.Duration, f func()) func() bool {
	return time.AfterFunc(d, f).Stop
}
