package httplimit

import (
	"fmt"
	"net/http"
	"strconv"
	"strings"
	"time"
)

// setFields sets the header fields of a decision.
func setFields(h http.Header, d Decision) {
	if !d.Allowed && d.RetryAfterMS >= 0 {
		h.Set("Retry-After", strconv.FormatInt(max(seconds(d.RetryAfterMS), 1), 10))
	}
	if !tellsOfLimit(d) {
		return
	}
	reset := seconds(d.ResetAfterMS)
	until := reset
	if !d.Allowed && d.RetryAfterMS >= 0 {
		until = min(reset, seconds(d.RetryAfterMS))
	}
	name := policy(d)
	h.Add("RateLimit", fmt.Sprintf("%s;r=%d;t=%d", structured(name), d.Remaining, until))
	window := ""
	if w := windowSeconds(d.Band); w > 0 {
		window = fmt.Sprintf(";w=%d", w)
	}
	h.Add("RateLimit-Policy", fmt.Sprintf("%s;q=%d%s", structured(name), d.Limit, window))
	h.Set("X-RateLimit-Limit", strconv.FormatInt(d.Limit, 10))
	h.Set("X-RateLimit-Remaining", strconv.FormatInt(d.Remaining, 10))
	h.Set("X-RateLimit-Reset", strconv.FormatInt(reset, 10))
}

// tellsOfLimit reports whether the figures of a decision are those of the limit. Those of a
// rule in shadow would slow down the clients that respect them.
func tellsOfLimit(d Decision) bool {
	uncounted := d.Degraded && d.ResetAtMS == 0
	return d.Band != "" && d.Source != "list" && !d.Shadow && !uncounted
}

// policy returns the name of a band. By the draft a name always means the same policy.
func policy(d Decision) string { return d.Rule + ":" + d.Band }

// seconds rounds up, so that a client that waits for them is not early.
func seconds(ms int64) int64 { return (ms + 999) / 1000 }

// structured returns a String of RFC 9651. It may have printable ASCII only, so all other
// bytes of a rule's name are percent-encoded.
func structured(s string) string {
	b := make([]byte, 0, len(s)+2)
	b = append(b, '"')
	for i := range len(s) {
		switch c := s[i]; {
		case c == '"' || c == '\\':
			b = append(b, '\\', c)
		case c < ' ' || c > '~':
			b = fmt.Appendf(b, "%%%02X", c)
		default:
			b = append(b, c)
		}
	}
	return string(append(b, '"'))
}

var bandUnits = map[string]time.Duration{
	"d": 24 * time.Hour, "h": time.Hour, "m": time.Minute, "s": time.Second, "ms": time.Millisecond,
}

// windowSeconds returns the period of a band such as 80/10m; 0 if it is not a whole
// number of seconds, which the draft cannot express.
func windowSeconds(band string) int64 {
	_, period, _ := strings.Cut(band, "/")
	digits := len(period) - len(strings.TrimLeft(period, "0123456789"))
	n, err := strconv.ParseInt(period[:digits], 10, 64)
	unit := bandUnits[period[digits:]]
	if err != nil || n > int64(366*24*time.Hour/time.Millisecond) {
		return 0
	}
	if d := time.Duration(n) * unit; d > 0 && d%time.Second == 0 {
		return int64(d / time.Second)
	}
	return 0
}
