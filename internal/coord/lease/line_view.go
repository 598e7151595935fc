package lease

import (
	"slices"

	"github.com/coxswain-sidecar/coxswain/client/api"
	"github.com/coxswain-sidecar/coxswain/internal/coord"
)

// LineView counts the waiters of one sidecar in a waiting line, as lib/line_view.lua does.
type LineView struct {
	Sidecar string
	Waiting int64
	LeftUS  int64 // how long the sidecar still counts as alive; 0 = it does not
}

// Taken reports whether a live sidecar has a waiter in the line. A call that comes now is behind that waiter.
func Taken(line []LineView) bool {
	return slices.ContainsFunc(line, func(v LineView) bool { return v.LeftUS > 0 })
}

// ExplainLine converts a line to the types of the contract.
func ExplainLine(line []LineView) []api.ExplainLine {
	rows := make([]api.ExplainLine, len(line))
	for i, v := range line {
		rows[i] = api.ExplainLine{Sidecar: v.Sidecar, Waiting: v.Waiting, LeftMS: coord.WaitMS(v.LeftUS)}
	}
	return rows
}
