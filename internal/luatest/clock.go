package luatest

import (
	"strconv"
	"strings"
	"time"
)

// Epoch is where the scripts' clock starts in tests, in Unix microseconds.
const Epoch = int64(1_800_000_000_000_000)

// Durations of the scripts' clock, in microseconds.
const (
	Second = int64(1_000_000)
	Hour   = 3600 * Second
)

// CeilMS returns a duration in milliseconds, rounded up.
func CeilMS(us int64) int64 { return (us + 999) / 1000 }

// Shown prints a value for people: instants of the tests' clock as @ and the
// time since the epoch, text that would be hard to read quoted.
func Shown(v string) string {
	const horizon = int64(1000 * 24 * time.Hour / time.Microsecond)
	n, err := strconv.ParseInt(v, 10, 64)
	switch {
	case err == nil && n >= Epoch-horizon && n < Epoch+horizon:
		return "@" + (time.Duration(n-Epoch) * time.Microsecond).String()
	case err == nil && n >= (Epoch-horizon)/1000 && n < (Epoch+horizon)/1000:
		return "@" + (time.Duration(n-Epoch/1000) * time.Millisecond).String() + "(ms)"
	case v == "" || strings.ContainsFunc(v, func(r rune) bool { return r <= ' ' || r >= 0x7f || r == '"' || r == '@' }):
		return strconv.Quote(v)
	}
	return v
}
