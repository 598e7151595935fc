package httplimit

import (
	"net/http"
	"time"
)

// RetryAfter is how tests read a Retry-After.
func RetryAfter(h http.Header, now time.Time) time.Duration { return retryAfter(h, now) }

// SetFields is how tests see the fields of a decision.
func SetFields(h http.Header, d Decision) { setFields(h, d) }
