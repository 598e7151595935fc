package lease

import (
	"slices"

	"github.com/coxswain-sidecar/coxswain/client/api"
	"github.com/coxswain-sidecar/coxswain/internal/coord"
)

// LineView is what one sidecar has in a waiting line, as lib/line_view.lua tells it.
type LineView struct {
	Sidecar string
	Waiting int64
	LeftUS  int64 // until when it is taken to be alive; 0 = it is not
}

// Taken reports whether somebody alive stands in a line, so that who comes now is behind.
func Taken(line []LineView) bool {
	return slices.ContainsFunc(line, func(v LineView) bool { return v.LeftUS > 0 })
}

// ExplainLine tells who stands in a line.
func ExplainLine(line []LineView) []api.ExplainLine {
	told := make([]api.ExplainLine, len(line))
	for i, v := range line {
		told[i] = api.ExplainLine{Sidecar: v.Sidecar, Waiting: v.Waiting, LeftMS: coord.WaitMS(v.LeftUS)}
	}
	return told
}
