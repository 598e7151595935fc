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

// heldBy is who holds something, by its session's names.
func heldBy(client, instance, meta string, sinceMS int64) *api.Holder {
	return &api.Holder{Client: client, Instance: instance, SinceAtMS: sinceMS, Meta: meta}
}
