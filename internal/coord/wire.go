package coord

import (
	"strconv"
	"time"

	"github.com/coxswain-sidecar/coxswain/client/api"
)

// Fence is text on the wire, since it may pass 2^53; 0 is none.
func Fence(n int64) string {
	if n == 0 {
		return ""
	}
	return strconv.FormatInt(n, 10)
}

// Millis is a duration of so many milliseconds, as params give it.
func Millis(n int64) time.Duration { return time.Duration(n) * time.Millisecond }

// MillisUp rounds up to milliseconds, so that waiting that long is enough.
func MillisUp(d time.Duration) int64 {
	return int64((d + time.Millisecond - 1) / time.Millisecond)
}

// HeldBy is the holder of a lease, by the names that its client gave.
func HeldBy(client, instance, meta string, sinceMS int64) *api.Holder {
	return &api.Holder{Client: client, Instance: instance, SinceAtMS: sinceMS, Meta: meta}
}

// WaitMS is a script's wait of so many microseconds, rounded up to milliseconds; -1 is
// one without an end.
func WaitMS(us int64) int64 {
	if us < 0 {
		return -1
	}
	return CeilMS(us).Milliseconds()
}

// InstantMS is an instant of Redis in microseconds, rounded up to milliseconds; 0 is
// none.
func InstantMS(us int64) int64 { return (us + 999) / 1000 }

// MsLeft is a remaining time in milliseconds, rounded up; 0 when it is over.
func MsLeft(d time.Duration) int64 { return RoundUp(d).Milliseconds() }

// RoundUp is a duration in whole milliseconds, not negative.
func RoundUp(d time.Duration) time.Duration {
	return max(0, (d + time.Millisecond - 1).Truncate(time.Millisecond))
}

// CeilMS is a duration of microseconds, rounded up to a millisecond.
func CeilMS(us int64) time.Duration { return Millis(InstantMS(us)) }

// At is an instant of Unix milliseconds for people.
func At(ms int64) string { return time.UnixMilli(ms).UTC().Format("2006-01-02T15:04:05Z") }

// Who names a holder for people: by its client, its instance and its meta.
func Who(h *api.Holder) string {
	text := h.Client
	if h.Instance != "" {
		text += " " + h.Instance
	}
	if text == "" {
		text = "a client without a name"
	}
	if h.Meta != "" {
		text += " (" + h.Meta + ")"
	}
	return text
}
