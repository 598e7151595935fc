package httplimit_test

import (
	"math"
	"net/http"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/coxswain-sidecar/coxswain/client/httplimit"
)

func TestRetryAfterIsReadAsItsStandardSays(t *testing.T) {
	t.Parallel()
	now := time.Date(2026, 7, 1, 12, 0, 0, 500e6, time.UTC)
	for _, c := range []struct {
		value, date string
		want        time.Duration
	}{
		{"", "", 0},
		{"0", "", -time.Millisecond}, // now
		{"000", "", -time.Millisecond},
		{"2", "", 2 * time.Second},
		{" 120\t", "", 2 * time.Minute},
		{"002", "", 2 * time.Second},
		{"9223372036", "", 9223372036 * time.Second},
		{"9223372037", "", math.MaxInt64},
		{"99999999999999999999999999", "", math.MaxInt64},
		{"-2", "", 0},
		{"+2", "", 0},
		{"1.5", "", 0},
		{"2s", "", 0},
		{"2, 3", "", 0},
		{"٢", "", 0},
		{"soon", "", 0},
		{"Wed, 01 Jul 2026 12:00:10 GMT", "", 9500 * time.Millisecond},
		{"Wednesday, 01-Jul-26 12:00:10 GMT", "", 9500 * time.Millisecond},
		{"Wed Jul  1 12:00:10 2026", "", 9500 * time.Millisecond},
		{"Wed, 01 Jul 2026 11:59:00 GMT", "", -time.Millisecond},
		{"Wed, 01 Jul 2026 12:00:10 GMT", "Wed, 01 Jul 2026 12:00:10 GMT", -time.Millisecond},
		{"Mon, 01 Jan 0001 00:00:00 GMT", "", -time.Millisecond},
		{"Wed, 01 Jul 2026 12:00:10 PST", "", 0},
		// The server's clock is an hour behind; its date is ten seconds after its own Date.
		{"Wed, 01 Jul 2026 11:00:10 GMT", "Wed, 01 Jul 2026 11:00:00 GMT", 10 * time.Second},
		{"Wed, 01 Jul 2026 12:00:10 GMT", "nonsense", 9500 * time.Millisecond},
		{"Fri, 31 Dec 9999 23:59:59 GMT", "", math.MaxInt64},
	} {
		h := http.Header{}
		h.Set("Retry-After", c.value)
		if c.date != "" {
			h.Set("Date", c.date)
		}
		require.Equal(t, c.want, httplimit.RetryAfter(h, now), "%q %q", c.value, c.date)
	}
	require.Zero(t, httplimit.RetryAfter(http.Header{}, now))
}
