package stream

import (
	"slices"
	"strconv"
	"strings"

	"github.com/coxswain-sidecar/coxswain/internal/coord"
)

// idOf is an id of Redis as numbers: milliseconds and a serial. Ok is false for what is no id.
func idOf(id string) (n [2]uint64, ok bool) {
	ms, serial, _ := strings.Cut(id, "-")
	a, err := strconv.ParseUint(ms, 10, 64)
	b, errB := strconv.ParseUint(serial, 10, 64)
	if err != nil || errB != nil {
		return n, false
	}
	return [2]uint64{a, b}, true
}

// later reports whether the id of a message is behind another. What is no id is before all.
func later(a, b string) bool {
	x, ok := idOf(a)
	y, okB := idOf(b)
	return ok && (!okB || slices.Compare(x[:], y[:]) > 0)
}

// checkID refuses what is no id of a message: Redis would answer an error, which looks like
// a fault.
func checkID(id string) error {
	if _, ok := idOf(id); !ok {
		return coord.Invalid("id: %q is no message; give the id that it was delivered with, such as 1700000000000-0", id)
	}
	return nil
}

// publishedMS is when a message was added to its stream, Unix milliseconds.
func publishedMS(id string) int64 {
	n, _ := idOf(id)
	return int64(n[0])
}
