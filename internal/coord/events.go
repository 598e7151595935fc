package coord

import (
	"slices"
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

// EventKind names what an event is about.
type EventKind string

// The kinds of events.
const (
	EventBreaker  EventKind = "breaker"  // a breaker changed its state
	EventRefused  EventKind = "refused"  // a limit refused; sampled
	EventDegraded EventKind = "degraded" // a fail mode decided; sampled
	EventLost     EventKind = "lost"     // a lease was lost
	EventReloaded EventKind = "reloaded" // configuration was read again, or refused (Reason invalid)
	EventDraining EventKind = "draining" // the sidecar was told that its pod ends
	EventPaused   EventKind = "paused"   // a key was paused here, by hand or for what its remote server answered
	EventResumed  EventKind = "resumed"  // a pause was ended by hand
	EventForced   EventKind = "forced"   // a lock was taken from its holder by hand
)

// eventKinds is every kind, sorted; a kind's place is its bit in a set of them.
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

// bit is the kind as a set; of an unknown kind it is empty.
func (k EventKind) bit() kindSet {
	if i := slices.Index(eventKinds, k); i >= 0 {
		return 1 << i
	}
	return 0
}

// Events carries events from nouns to subscribers. A nil *Events drops all.
//
// Of the kinds that are sampled, alike events (same kind, noun, name and
// reason) are told at most once per second; the next one that is told counts
// those before it. What follows the last one told is told with the next, or
// never: no timer waits for the end of a burst.
type Events struct {
	listening atomic.Bool // whether subs has any, so that nobody listening costs nothing
	clock     func() time.Time

	mu     sync.Mutex // guards what follows; held while subscribers are told
	subs   map[*Subscriber]struct{}
	bursts map[alike]burst // of what was told lately; empty while nobody listens
}

// alike is what makes sampled events the same: not the key, of which there may
// be as many as there are users.
type alike struct {
	kind               EventKind
	noun, name, reason string
}

// burst is what became of alike events.
type burst struct {
	told   time.Time
	untold int64 // since then
}

const (
	// samplePause is how long alike events are kept back after one was told.
	samplePause = time.Second
	// maxBursts bounds what is remembered of them: names are the callers' to
	// choose. One that is dropped for another loses its count, no more.
	maxBursts = 1024
)

// NewEvents starts with no subscriber.
func NewEvents() *Events { return NewEventsBy(time.Now) }

// NewEventsBy is NewEvents by another clock than the pod's.
func NewEventsBy(now func() time.Time) *Events {
	return &Events{clock: now, subs: make(map[*Subscriber]struct{}), bursts: make(map[alike]burst)}
}

// Wanted reports whether anyone listens: what builds an event may ask first.
func (e *Events) Wanted() bool { return e != nil && e.listening.Load() }

// Publish tells every subscriber of the kind. It never blocks.
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

// sample reports whether the event is to be told, and adds to it those that
// were not. It needs e.mu.
func (e *Events) sample(v *Event, now time.Time) bool {
	id := alike{v.Kind, v.Noun, v.Name, v.Reason}
	b, known := e.bursts[id]
	if known && now.Sub(b.told) < samplePause {
		b.untold += v.Count
		e.bursts[id] = b
		return false
	}
	if !known && len(e.bursts) >= maxBursts {
		for victim := range e.bursts { // any one will do
			delete(e.bursts, victim)
			break
		}
	}
	v.Count += b.untold
	e.bursts[id] = burst{told: now}
	return true
}

// Subscribe has tell called for each event of the kinds, of all kinds when there
// are none, until cancel. Tell must not block, publish or cancel.
func (e *Events) Subscribe(kinds []EventKind, tell func(Event)) (cancel func()) {
	s := e.Subscriber(tell)
	s.Follow(kinds)
	return s.Close
}

// Subscriber is one who may follow events, and follows none to begin with.
type Subscriber struct {
	events *Events // nil: nothing ever happens
	tell   func(Event)
	active atomic.Bool // it follows something

	// Guarded by events.mu.
	follows kindSet
	closed  bool
}

// Subscriber makes one. Tell is called as for Subscribe.
func (e *Events) Subscriber(tell func(Event)) *Subscriber {
	return &Subscriber{events: e, tell: tell}
}

// Follow sets the kinds that it is told of, all when there are none, in place
// of those it followed: no event of a kind in both is missed or told twice. A
// closed one follows nothing.
func (s *Subscriber) Follow(kinds []EventKind) { s.set(setOf(kinds), false) }

// Leave makes it follow nothing, until it follows again.
func (s *Subscriber) Leave() { s.set(0, false) }

// Close makes it follow nothing for good. It is told nothing once Close returned.
func (s *Subscriber) Close() { s.set(0, true) }

// Following reports whether it follows any kind. A nil one follows none.
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
		clear(e.bursts) // what nobody saw is not news to who comes next
	}
}
