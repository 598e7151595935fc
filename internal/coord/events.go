package coord

import (
	"sync"
	"sync/atomic"
	"time"
)

// Event is something that an operator may want to see as it happens. Unlike
// metrics it names what users name, so that it goes to subscribers only.
type Event struct {
	Kind EventKind
	At   time.Time // by this pod's clock
	Noun string    // ratelimit, lock, ...; empty for the sidecar itself
	Name string    // the rule, the lock, ...
	Key  string    // whom a limit counts; empty for other nouns
	// Reason is one word of a closed list, such as limit or unreachable.
	Reason string
	Detail string // for people
	// Count is how many alike this one stands for, since some kinds are sampled; at least 1.
	Count int64
}

// EventKind is what happened.
type EventKind string

// The kinds of events.
const (
	EventRefused  EventKind = "refused"  // a limit refused; sampled
	EventDegraded EventKind = "degraded" // a fail mode decided; sampled
	EventLost     EventKind = "lost"     // a lease was lost
	EventReloaded EventKind = "reloaded" // configuration was read again, or refused (Reason invalid)
	EventDraining EventKind = "draining" // the sidecar was told that its pod ends
)

// Events carries events from nouns to subscribers. A nil *Events drops all.
type Events struct {
	listening atomic.Bool // whether subs has any, so that nobody listening costs nothing

	mu   sync.Mutex // guards subs; held while they are told
	subs map[*subscription]struct{}
}

type subscription struct {
	kinds map[EventKind]bool // empty = all
	tell  func(Event)
}

// NewEvents starts with no subscriber.
func NewEvents() *Events { return &Events{subs: make(map[*subscription]struct{})} }

// Wanted reports whether anyone listens: what builds an event may ask first.
func (e *Events) Wanted() bool { return e != nil && e.listening.Load() }

// Publish tells every subscriber of the kind. It never blocks.
func (e *Events) Publish(v Event) {
	if !e.Wanted() {
		return
	}
	if v.At.IsZero() {
		v.At = time.Now()
	}
	v.Count = max(v.Count, 1)
	e.mu.Lock()
	defer e.mu.Unlock()
	for s := range e.subs {
		if len(s.kinds) == 0 || s.kinds[v.Kind] {
			s.tell(v)
		}
	}
}

// Subscribe has tell called for each event of the kinds, of all kinds when there
// are none, until cancel. Tell must not block, publish or cancel.
func (e *Events) Subscribe(kinds []EventKind, tell func(Event)) (cancel func()) {
	s := &subscription{kinds: make(map[EventKind]bool, len(kinds)), tell: tell}
	for _, k := range kinds {
		s.kinds[k] = true
	}
	e.mu.Lock()
	defer e.mu.Unlock()
	e.subs[s] = struct{}{}
	e.listening.Store(true)
	return func() {
		e.mu.Lock()
		defer e.mu.Unlock()
		delete(e.subs, s)
		e.listening.Store(len(e.subs) > 0)
	}
}
