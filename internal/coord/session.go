package coord

import (
	"context"
	"sync"
)

// Identity is how a client introduced itself; holders are shown by it.
type Identity struct{ Client, Instance string }

// Caller is who makes a call. The zero Caller is a call without a session:
// what it acquires can only be bound to its TTL.
type Caller struct {
	Session *Session
	// RequestID and Fingerprint make the call run once; both empty = no latch.
	RequestID, Fingerprint string
}

// Loss tells a session that it no longer holds a lease.
type Loss struct {
	Noun, Name, Token string
	Fence             int64
	// Reason is not_owner, expired or unreachable.
	Reason string
}

// Session is one client connection, as far as it holds things. What it holds
// is renewed by Leases until Close gives it back.
type Session struct {
	// ID is unique among all sidecars of the fleet.
	ID string

	leases *Leases
	lost   func(Loss)

	mu       sync.Mutex // guards what follows
	identity Identity
	held     map[leaseID]*lease
	closed   bool
}

// Identify sets the names by which holders are shown.
func (s *Session) Identify(id Identity) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.identity = id
}

// Identity returns those names.
func (s *Session) Identity() Identity {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.identity
}

// Close gives back everything the session holds, all at once, and returns when
// that is done or ctx ends. What could not be given back in time is left to its
// TTL. Nothing can be bound to a closed session.
func (s *Session) Close(ctx context.Context) { panic("not yet") }
