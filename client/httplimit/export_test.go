package httplimit

import (
	"net/http"
	"time"
)

// RetryAfter exports retryAfter for tests.
func RetryAfter(h http.Header, now time.Time) time.Duration { return retryAfter(h, now) }

// SetFields exports setFields for tests.
func SetFields(h http.Header, d Decision) { setFields(h, d) }
