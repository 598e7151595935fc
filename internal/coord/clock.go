package coord

import "time"

// Clock is how a noun tells the time in its own process: what decides between
// pods is the Redis server's. Tests move one by hand.
type Clock interface {
	// Now has to be monotonic.
	Now() time.Time
	// AfterFunc calls f on a goroutine of its own when d has passed, unless stop
	// came first, as time.AfterFunc does.
	AfterFunc(d time.Duration, f func()) (stop func() bool)
}

// SystemClock is the pod's.
type SystemClock struct{}

// Now implements Clock.
func (SystemClock) Now() time.Time { return time.Now() }

// AfterFunc implements Clock.
func (SystemClock) AfterFunc(d time.Duration, f func()) func() bool {
	return time.AfterFunc(d, f).Stop
}
