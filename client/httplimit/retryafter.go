package httplimit

import (
	"math"
	"net/http"
	"strconv"
	"strings"
	"time"
)

// retryAfter reads Retry-After, by RFC 9110, 10.2.3: whole seconds, or a date.
// 0 = not given or not valid; negative = 0 seconds, or a date that has passed.
func retryAfter(h http.Header, now time.Time) time.Duration {
	text := strings.TrimSpace(h.Get("Retry-After"))
	if isDigits(text) {
		s, err := strconv.ParseInt(text, 10, 64)
		if err != nil || s > int64(math.MaxInt64/time.Second) {
			return math.MaxInt64 // callers have bounds of their own
		}
		return orNow(time.Duration(s) * time.Second)
	}
	at, err := http.ParseTime(text)
	if err != nil {
		return 0
	}
	// The server's own clock is used if the response has its Date: the local clock may
	// differ by more than the requested time.
	if date, err := http.ParseTime(h.Get("Date")); err == nil {
		now = date
	}
	return orNow(at.Sub(now))
}

// orNow returns -1 ms for an instant that is not after now, and at least 1 ms for any other,
// since 0 means that there is no Retry-After.
func orNow(d time.Duration) time.Duration {
	if d <= 0 {
		return -time.Millisecond
	}
	return max(d, time.Millisecond)
}

func isDigits(s string) bool {
	return s != "" && strings.Trim(s, "0123456789") == ""
}
