package httplimit_test

import (
	"net/http"
	"strings"
	"testing"
	"time"

	"github.com/coxswain-sidecar/coxswain/client/httplimit"
)

// For every Retry-After the result is not before now (-1 ms stands for now), and
// digits alone mean seconds.
func FuzzRetryAfter(f *testing.F) {
	for _, s := range []string{"", "0", "120", "99999999999999999999", "-1", "Wed, 01 Jul 2026 12:00:10 GMT", "Wed Jul  1 12:00:10 2026"} {
		f.Add(s, "Wed, 01 Jul 2026 12:00:00 GMT")
	}
	f.Fuzz(func(t *testing.T, value, date string) {
		h := http.Header{"Retry-After": {value}, "Date": {date}}
		got := httplimit.RetryAfter(h, time.Unix(1782907200, 0))
		if got < 0 && got != -time.Millisecond {
			t.Fatalf("%v before now", -got)
		}
		if digits := value != "" && strings.Trim(value, "0123456789") == ""; digits && len(value) < 10 {
			if want, err := time.ParseDuration(value + "s"); err != nil || got != want && (want != 0 || got != -time.Millisecond) {
				t.Fatalf("%v, want %v", got, want)
			}
		}
	})
}

// For every header that a client sends, the key is the address that the trusted proxy
// appended, or the header is refused.
func FuzzForwardedFor(f *testing.F) {
	for _, s := range []string{
		"", "192.0.2.66", `for=192.0.2.66`, `for="192.0.2.66`, `for=192.0.2.66;x="`, `x="\`, "a,b,,", "for=1;for=2", "10.0.0.1", "for=10.0.0.1, ",
	} {
		f.Add(s, false)
		f.Add(s, true)
	}
	f.Fuzz(func(t *testing.T, written string, quoted bool) {
		const want = "ip:198.51.100.1"
		got, err := proxies("").Key(from("10.0.0.1:1", "X-Forwarded-For", written+", 198.51.100.1"))
		if err != nil || got != want {
			t.Fatalf("X-Forwarded-For: %q, %v", got, err)
		}
		appended := ", for=198.51.100.1"
		if quoted {
			appended = `, for="198.51.100.1:4711";proto=https`
		}
		got, err = proxies("Forwarded").Key(from("10.0.0.1:1", "Forwarded", written+appended))
		if err == nil && got != want {
			t.Fatalf("Forwarded: %q", got)
		}
		if got, err = proxies("").Key(from(stranger, "X-Forwarded-For", written, "Forwarded", written)); err != nil || got != "ip:203.0.113.9" {
			t.Fatalf("a stranger was believed: %q, %v", got, err)
		}
	})
}
