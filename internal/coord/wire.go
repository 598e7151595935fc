package coord

import (
	"strconv"
	"time"

	"github.com/coxswain-sidecar/coxswain/client/api"
)

// Fence returns a fence as on the wire: as text, since it may exceed 2^53; empty for 0, which is no fence.
func Fence(n int64) string {
	if n == 0 {
		return ""
	}
	return strconv.FormatInt(n, 10)
}

// Millis returns a duration of so many milliseconds, as params give it.
func Millis(n int64) time.Duration { return time.Duration(n) * time.Millisecond }

// MillisUp rounds a duration up to milliseconds, so that waiting that long is enough.
func MillisUp(d time.Duration) int64 {
	return int64((d + time.Millisecond - 1) / time.Millisecond)
}

// HeldBy returns the holder of a lease, by the names that its client gave.
func HeldBy(client, instance, meta string, sinceMS int64) *api.Holder {
	return &api.Holder{Client: client, Instance: instance, SinceAtMS: sinceMS, Meta: meta}
}

// WaitMS returns a wait of so many microseconds, rounded up to milliseconds; -1 is a wait
// without an end.
func WaitMS(us int64) int64 {
	if us < 0 {
		return -1
	}
	return CeilMS(us).Milliseconds()
}

// InstantMS rounds an instant of Redis in microseconds up to milliseconds; 0 is
// no instant.
func InstantMS(us int64) int64 { return (us + 999) / 1000 }

// MsLeft returns a remaining time in milliseconds, rounded up; 0 when it is over.
func MsLeft(d time.Duration) int64 { return RoundUp(d).Milliseconds() }

// RoundUp rounds a duration up to whole milliseconds; a negative one becomes 0.
func RoundUp(d time.Duration) time.Duration {
	return max(0, (d + time.Millisecond - 1).Truncate(time.Millisecond))
}

// CeilMS returns a duration of so many microseconds, rounded up to a millisecond.
func CeilMS(us int64) time.Duration { return Millis(InstantMS(us)) }

// At formats an instant of Unix milliseconds for display.
func At(ms int64) string { return time.UnixMilli(ms).UTC().Format("2006-01-02T15:04:05Z") }

// Who describes a holder for display, by its client, its instance and its meta.
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
