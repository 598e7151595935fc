package coordtest

import (
	"fmt"
	"time"

	"github.com/coxswain-sidecar/coxswain/internal/coord"
)

// Audience collects the events of a hub whose clock the test sets.
type Audience struct {
	Hub   *coord.Events
	Now   time.Time
	Heard []coord.Event
}

// NewAudience subscribes to events of these kinds, or of all if there are none.
func NewAudience(kinds ...coord.EventKind) *Audience {
	a := &Audience{Now: time.UnixMilli(1_767_225_600_000)}
	a.Hub = coord.NewEventsBy(func() time.Time { return a.Now })
	a.Hub.Subscribe(kinds, func(e coord.Event) { a.Heard = append(a.Heard, e) })
	return a
}

// Told returns the events since the last call, as "name count".
func (a *Audience) Told() []string {
	var all []string
	for _, e := range a.Heard {
		all = append(all, fmt.Sprintf("%s %d", e.Name, e.Count))
	}
	a.Heard = nil
	return all
}
