package coord

import (
	"crypto/rand"
	"log/slog"
	"sync"

	"github.com/coxswain-sidecar/coxswain/client/api"
)

// Identity is how a client introduced itself; holders are shown by it.
type Identity struct{ Client, Instance string }

// Caller is who makes a call. The zero Caller is a call without a session:
// what it acquires can only be bound to its TTL.
type Caller struct {
	Session *Session
	// RequestID and Fingerprint make the call run once; both empty = no latch.
	RequestID, Fingerprint string
	// HasDeadline: it said itself by when it wants an answer.
	HasDeadline bool
	// Log is that of its connection; nil = what is told there is dropped.
	Log *slog.Logger
	// ItemFailed hears what failed in a call that does not fail: what its caller is told
	// of one item, and why. It is called on the call's goroutine; nil = nobody hears it.
	ItemFailed func(*api.Error, error)
}

// ItemError is the error of one item of a call that goes on with the others.
func (c Caller) ItemError(err error) *api.ItemError {
	e := Wire(err)
	if c.ItemFailed != nil {
		c.ItemFailed(e, err)
	}
	return &api.ItemError{Code: string(e.Code), Message: e.Message}
}

// Logger is that of the caller's connection, or one that drops what it is told.
func (c Caller) Logger() *slog.Logger {
	if c.Log == nil {
		return slog.New(slog.DiscardHandler)
	}
	return c.Log
}

// Identity is that of the caller's session, if it has one.
func (c Caller) Identity() Identity {
	if c.Session == nil {
		return Identity{}
	}
	return c.Session.Identity()
}

// Loss tells a session that it no longer holds a lease.
type Loss struct {
	Noun, Name, Token string
	Fence             int64
	// Reason is not_owner, expired, unreachable or max_hold.
	Reason string
}

// Session is one client connection, as far as it holds things. package lease renews
// what it holds until it is closed.
type Session struct {
	// ID is unique among all sidecars of the fleet.
	ID string

	lost func(Loss)

	mu       sync.Mutex // guards identity
	identity Identity
}

// NewSession makes one. Lost is called, never blocking for long and never with a lock
// held, for each lease that is lost; a call may still be under way after it was closed.
func NewSession(id Identity, lost func(Loss)) *Session {
	return &Session{ID: rand.Text(), lost: lost, identity: id}
}

// Lose tells the session that it no longer holds a lease.
func (s *Session) Lose(l Loss) { s.lost(l) }

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

// SessionID is that of the caller's session, empty when it has none.
func (c Caller) SessionID() string {
	if c.Session == nil {
		return ""
	}
	return c.Session.ID
}
