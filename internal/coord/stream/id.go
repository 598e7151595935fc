package stream

import (
	"strconv"
	"strings"

	"github.com/coxswain-sidecar/coxswain/internal/coord"
)

// idOf is an id of Redis as numbers: milliseconds and a serial. What is no id is before all.
func idOf(id string) []uint64 {
	ms, serial, _ := strings.Cut(id, "-")
	a, err := strconv.ParseUint(ms, 10, 64)
	b, errB := strconv.ParseUint(serial, 10, 64)
	if err != nil || errB != nil {
		return nil
	}
	return []uint64{a, b}
}

// checkID refuses what is no id of a message: Redis would answer an error, which looks like
// a fault.
func checkID(id string) error {
	if idOf(id) == nil {
		return coord.Invalid("id: %q is no message; give the id that it was delivered with, such as 1700000000000-0", id)
	}
	return nil
}

// publishedMS is when a message was added to its stream, Unix milliseconds.
func publishedMS(id string) int64 {
	n := idOf(id)
	if n == nil {
		return 0
	}
	return int64(n[0]) //nolint:gosec // it is a time
}
