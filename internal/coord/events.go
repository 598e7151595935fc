package coord

import (
	"slices"
	"sync"
	"sync/atomic"
	"time"
)

// Event is something that an operator may want to see as it happens. Unlike
// a metric it contains names and keys of users, so it is sent to subscribers only.
type Event struct {
	Kind EventKind
	At   time.Time // by this pod's clock
	Noun string    // ratelimit, lock, ...; empty for the sidecar itself
	Name string    // the rule, the lock, ...
	Key  string    // the key of a limit; empty for other nouns
	// Reason is one word of a closed list, such as limit or unreachable.
	Reason string
	Detail string // a text for display
	// Count is how many alike events this one stands for, since some kinds are sampled; at least 1.
	Count int64
}

// EventKind names what an event is about.
type EventKind string

// The kinds of events.
const (
	EventBreaker  EventKind = "breaker"  // a breaker changed its state
	EventRefused  EventKind = "refused"  // a limit refused; sampled
	EventDegraded EventKind = "degraded" // a fail mode decided; sampled
	EventLost     EventKind = "lost"     // a lease was lost
	EventReloaded EventKind = "reloaded" // configuration was read again, or refused (Reason invalid)
	EventDraining EventKind = "draining" // the sidecar drains because its pod ends
	EventPaused   EventKind = "paused"   // this sidecar paused a key, by hand or because of a remote server's answer
	EventResumed  EventKind = "resumed"  // a pause was ended by hand
	EventForced   EventKind = "forced"   // a lock was taken from its holder by hand
)

// eventKinds are all kinds, sorted; a kind's index is its bit in a kindSet.
var eventKinds = []EventKind{
	EventBreaker, EventDegraded, EventDraining, EventForced, EventLost, EventPaused, EventRefused, EventReloaded, EventResumed,
}

// EventKinds lists every kind, sorted.
func EventKinds() []EventKind { return slices.Clone(eventKinds) }

// sampled reports whether the kind may come with every call.
func (k EventKind) sampled() bool { return k == EventRefused || k == EventDegraded }

// kindSet has a bit for each kind.
type kindSet uint32

const allKinds = ^kindSet(0)

func setOf(kinds []EventKind) kindSet {
	if len(kinds) == 0 {
		return allKinds
	}
	var s kindSet
	for _, k := range kinds {
		s |= k.bit()
	}
	return s
}

// bit returns the set of this kind alone; for an unknown kind it is empty.
func (k EventKind) bit() kindSet {
	if i := slices.Index(eventKinds, k); i >= 0 {
		return 1 << i
	}
	return 0
}

// Events carries events from nouns to subscribers. A nil *Events drops all.
//
// For the kinds that are sampled, alike events (same kind, noun, name and
// reason) are sent at most once per second. An event that is sent counts the ones before it that
// were not. Events after the last one sent are counted by the next, which may never
// come: no timer waits for the end of a burst.
type Events struct {
	listening atomic.Bool // whether subs has any, so that Publish costs nothing without subscribers
	clock     func() time.Time

	mu     sync.Mutex // guards what follows; held while subscribers are called
	subs   map[*Subscriber]struct{}
	bursts map[alike]burst // recent events of sampled kinds; empty without subscribers
}

// alike is what sampled events must have in common to count as alike. The key is not part of it, since
// there may be as many keys as users.
type alike struct {
	kind               EventKind
	noun, name, reason string
}

// burst records recent alike events.
type burst struct {
	told   time.Time // when the last one was sent
	untold int64     // how many were not sent since
}

const (
	// samplePause is how long alike events are held back after one was sent.
	samplePause = time.Second
	// maxBursts bounds the bursts that are kept, since callers choose the names. A burst that is
	// dropped for another loses its count, nothing else.
	maxBursts = 1024
)

// NewEvents makes an Events without subscribers.
func NewEvents() *Events { return NewEventsBy(time.Now) }

// NewEventsBy is NewEvents with a clock of the caller's.
func NewEventsBy(now func() time.Time) *Events {
	return &Events{clock: now, subs: make(map[*Subscriber]struct{}), bursts: make(map[alike]burst)}
}

// Wanted reports whether there are subscribers. A caller can check it before it builds an event.
func (e *Events) Wanted() bool { return e != nil && e.listening.Load() }

// Publish sends an event to every subscriber of its kind. It never blocks.
func (e *Events) Publish(v Event) {
	if !e.Wanted() {
		return
	}
	now := e.clock()
	if v.At.IsZero() {
		v.At = now
	}
	v.Count = max(v.Count, 1)
	bit := v.Kind.bit()
	e.mu.Lock()
	defer e.mu.Unlock()
	if v.Kind.sampled() && !e.sample(&v, now) {
		return
	}
	for s := range e.subs {
		if s.follows&bit != 0 {
			s.tell(v)
		}
	}
}

// sample reports whether the event is to be sent, and adds to its count those that
// were not sent. It needs e.mu.
func (e *Events) sample(v *Event, now time.Time) bool {
	id := alike{v.Kind, v.Noun, v.Name, v.Reason}
	b, known := e.bursts[id]
	if known && now.Sub(b.told) < samplePause {
		b.untold += v.Count
		e.bursts[id] = b
		return false
	}
	if !known && len(e.bursts) >= maxBursts {
		for victim := range e.bursts { // drops an arbitrary one
			delete(e.bursts, victim)
			break
		}
	}
	v.Count += b.untold
	e.bursts[id] = burst{told: now}
	return true
}

// Subscribe calls tell for each event of these kinds, of all kinds if kinds is empty,
// until cancel is called. tell must not block, publish or cancel.
func (e *Events) Subscribe(kinds []EventKind, tell func(Event)) (cancel func()) {
	s := e.Subscriber(tell)
	s.Follow(kinds)
	return s.Close
}

// Subscriber follows events of some kinds, at first of none.
type Subscriber struct {
	events *Events // nil: there are never any events
	tell   func(Event)
	active atomic.Bool // it follows at least one kind

	// Guarded by events.mu.
	follows kindSet
	closed  bool
}

// Subscriber makes a Subscriber. tell is called as for Subscribe.
func (e *Events) Subscriber(tell func(Event)) *Subscriber {
	return &Subscriber{events: e, tell: tell}
}

// Follow replaces the kinds that the subscriber follows; an empty list is all kinds. No event of a kind in both
// lists is missed or sent twice. A closed subscriber follows nothing.
func (s *Subscriber) Follow(kinds []EventKind) { s.set(setOf(kinds), false) }

// Leave makes the subscriber follow nothing, until Follow is called again.
func (s *Subscriber) Leave() { s.set(0, false) }

// Close makes the subscriber follow nothing for good. tell is not called after Close has returned.
func (s *Subscriber) Close() { s.set(0, true) }

// Following reports whether the subscriber follows any kind. A nil one follows none.
func (s *Subscriber) Following() bool { return s != nil && s.active.Load() }

func (s *Subscriber) set(kinds kindSet, closed bool) {
	if s == nil || s.events == nil {
		return
	}
	e := s.events
	e.mu.Lock()
	defer e.mu.Unlock()
	s.closed = s.closed || closed
	if s.closed {
		kinds = 0
	}
	s.follows = kinds
	s.active.Store(kinds != 0)
	if kinds != 0 {
		e.subs[s] = struct{}{}
	} else {
		delete(e.subs, s)
	}
	e.listening.Store(len(e.subs) > 0)
	if len(e.subs) == 0 {
		clear(e.bursts) // a later subscriber must not count events from before it
	}
}
