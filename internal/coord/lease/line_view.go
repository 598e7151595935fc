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
	LeftUS  int64 // how long it is still taken to be alive; 0 = it is not
}

// Taken reports whether a live sidecar has a waiter in the line: whoever comes now is behind it.
func Taken(line []LineView) bool {
	return slices.ContainsFunc(line, func(v LineView) bool { return v.LeftUS > 0 })
}

// ExplainLine puts a line into the terms of the contract.
func ExplainLine(line []LineView) []api.ExplainLine {
	told := make([]api.ExplainLine, len(line))
	for i, v := range line {
		told[i] = api.ExplainLine{Sidecar: v.Sidecar, Waiting: v.Waiting, LeftMS: coord.WaitMS(v.LeftUS)}
	}
	return told
}
