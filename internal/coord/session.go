package coord

import (
	"context"
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
	// RequestID and Fingerprint make the call run once; both empty = no stored reply.
	RequestID, Fingerprint string
	// Traceparent is the W3C trace context that its client sent, unchecked; empty = none.
	Traceparent string
	// HasDeadline: it said itself by when it wants an answer.
	HasDeadline bool
	// Log is that of its connection; nil = what is told there is dropped.
	Log *slog.Logger
	// ItemFailed hears what failed in a call that does not fail: what its caller is told
	// of one item, and why. It is called on the call's goroutine; nil = nobody hears it.
	ItemFailed func(*api.Error, error)
	// Answered has f called once the call's answer is ahead of all that is sent to the client
	// later. It is not called if the call fails. F must not block. A method on the direct path
	// has none. Nil = nobody waits for the answer.
	Answered func(f func())
}

// Then calls f once the call is answered; see Answered.
func (c Caller) Then(f func()) {
	if c.Answered == nil {
		f()
		return
	}
	c.Answered(f)
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
	// Outlet takes notifications to the client. It is set before the session is used;
	// nil = the session cannot subscribe to anything.
	Outlet Outlet

	lost func(Loss)

	mu       sync.Mutex // guards what follows
	identity Identity
	ends     map[*Following]struct{}
	ended    bool
}

// Outlet writes notifications to one client. Its methods never block.
type Outlet interface {
	// Notify sends an event of the contract, with params of its type. It may leave it to
	// Flush to write it, which has to follow: many notifications then leave in one write.
	Notify(e *api.Spec, params any) Told
	Flush()
	// WhenRoom calls f once, on any goroutine, as soon as the client has read enough for
	// more notifications, or has gone: at once if that is so already.
	WhenRoom(f func())
}

// Told is what became of a notification.
type Told uint8

// What became of a notification.
const (
	ToldSent Told = iota // it will be written before all that follows
	ToldFull             // the client reads too slowly; nothing was sent
	ToldGone             // the connection is closed; nothing was sent
)

// Following is something that a session subscribed to.
type Following struct {
	session *Session
	end     func(context.Context)
}

// Follow has end called when the session ends, unless Leave is called before. False is a
// session that has ended, or that has no client to tell.
func (s *Session) Follow(end func(context.Context)) (*Following, bool) {
	if s == nil || s.Outlet == nil {
		return nil, false
	}
	f := &Following{session: s, end: end}
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.ended {
		return nil, false
	}
	if s.ends == nil {
		s.ends = make(map[*Following]struct{})
	}
	s.ends[f] = struct{}{}
	return f, true
}

// Leave ends the following without a call of its end. It may be called again.
func (f *Following) Leave() {
	f.session.mu.Lock()
	defer f.session.mu.Unlock()
	delete(f.session.ends, f)
}

// Follows reports whether the session subscribed to anything.
func (s *Session) Follows() bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	return len(s.ends) > 0
}

// End ends all that the session subscribed to, side by side, and returns when each has
// ended or ctx has. Nothing can be subscribed to afterwards.
func (s *Session) End(ctx context.Context) {
	s.mu.Lock()
	ends := s.ends
	s.ends, s.ended = nil, true
	s.mu.Unlock()
	var all sync.WaitGroup
	for f := range ends {
		all.Go(func() { f.end(ctx) })
	}
	all.Wait()
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
