package stream

import (
	"slices"
	"strconv"
	"strings"

	"github.com/coxswain-sidecar/coxswain/internal/coord"
)

// idOf parses the id of an entry of a Redis stream: milliseconds and a serial. ok is false if id is
// malformed.
func idOf(id string) (n [2]uint64, ok bool) {
	ms, serial, _ := strings.Cut(id, "-")
	a, err := strconv.ParseUint(ms, 10, 64)
	b, errB := strconv.ParseUint(serial, 10, 64)
	if err != nil || errB != nil {
		return n, false
	}
	return [2]uint64{a, b}, true
}

// later reports whether message id a comes after b. A malformed id comes before all others.
func later(a, b string) bool {
	x, ok := idOf(a)
	y, okB := idOf(b)
	return ok && (!okB || slices.Compare(x[:], y[:]) > 0)
}

// checkID refuses a malformed message id. Redis would reply with an error to it, which would be
// reported as a fault.
func checkID(id string) error {
	if _, ok := idOf(id); !ok {
		return coord.Invalid("id: %q is not a message id; give the id that the message was delivered with, such as 1700000000000-0", id)
	}
	return nil
}

// publishedMS returns when a message was added to its stream, in Unix milliseconds.
func publishedMS(id string) int64 {
	n, _ := idOf(id)
	return int64(n[0])
}
