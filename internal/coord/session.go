package coord

import (
	"context"
	"crypto/rand"
	"log/slog"
	"sync"

	"github.com/coxswain-sidecar/coxswain/client/api"
)

// Identity is the name and the instance that a client gave; holders are shown by it.
type Identity struct{ Client, Instance string }

// Caller describes the caller of one call. The zero Caller has no session:
// what it acquires can only be bound to its TTL.
type Caller struct {
	Session *Session
	// RequestID and Fingerprint make the call run once; both empty = no stored reply.
	RequestID, Fingerprint string
	// Traceparent is the W3C trace context that its client sent, unchecked; empty = none.
	Traceparent string
	// HasDeadline: the call has a deadline that the caller set.
	HasDeadline bool
	// Log is the logger of the caller's connection; nil = log lines are dropped.
	Log *slog.Logger
	// ItemFailed is called for each item that failed in a call that goes on: with the item's error as the caller gets
	// it, and with its cause. It is called on the call's goroutine. May be nil.
	ItemFailed func(*api.Error, error)
	// Answered calls f as soon as the call's answer is queued ahead of everything that is sent to the client
	// later. F is not called if the call fails. F must not block. Calls on the direct path
	// have no Answered. Nil = there is no answer to wait for.
	Answered func(f func())
}

// Then calls f once the call is answered, or at once if there is no answer to wait for; see Answered.
func (c Caller) Then(f func()) {
	if c.Answered == nil {
		f()
		return
	}
	c.Answered(f)
}

// ItemError returns the error of one item of a call that goes on with the others, and calls ItemFailed.
func (c Caller) ItemError(err error) *api.ItemError {
	e := Wire(err)
	if c.ItemFailed != nil {
		c.ItemFailed(e, err)
	}
	return &api.ItemError{Code: string(e.Code), Message: e.Message}
}

// Logger returns the logger of the caller's connection, or one that drops its lines.
func (c Caller) Logger() *slog.Logger {
	if c.Log == nil {
		return slog.New(slog.DiscardHandler)
	}
	return c.Log
}

// Identity returns the identity of the caller's session, the zero Identity if it has none.
func (c Caller) Identity() Identity {
	if c.Session == nil {
		return Identity{}
	}
	return c.Session.Identity()
}

// Loss is the notice to a session that it no longer holds a lease.
type Loss struct {
	Noun, Name, Token string
	Fence             int64
	// Reason is not_owner, expired, unreachable or max_hold.
	Reason string
}

// Session is one client connection, as far as it holds leases and subscriptions. Package lease renews
// its leases until it is closed.
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
	// Notify queues an event of the contract, with params of its type. The event may not be written before
	// Flush, which has to follow: many notifications then leave in one write.
	Notify(e *api.Spec, params any) Told
	Flush()
	// WhenRoom calls f once, on any goroutine, as soon as the client has read enough for
	// more notifications, or its connection has closed. It may call f at once.
	WhenRoom(f func())
}

// Told is what became of a notification.
type Told uint8

// The values of Told.
const (
	ToldSent Told = iota // it will be written before all that follows
	ToldFull             // the client reads too slowly; nothing was sent
	ToldGone             // the connection is closed; nothing was sent
)

// Following is one subscription of a session.
type Following struct {
	session *Session
	end     func(context.Context)
}

// Follow adds a subscription: end is called when the session ends, unless Leave is called before. It returns
// false if the session has ended, or has no Outlet.
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

// Leave removes the subscription without calling its end. It may be called again.
func (f *Following) Leave() {
	f.session.mu.Lock()
	defer f.session.mu.Unlock()
	delete(f.session.ends, f)
}

// Follows reports whether the session has subscriptions.
func (s *Session) Follows() bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	return len(s.ends) > 0
}

// End ends all subscriptions of the session concurrently, and returns when the end functions of all have
// returned; they get ctx. Nothing can be subscribed to afterwards.
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

// NewSession makes a session. Lost is called for each lease that is lost, without a lock held; it must not
// block for long. A call of it may still be under way after the session was closed.
func NewSession(id Identity, lost func(Loss)) *Session {
	return &Session{ID: rand.Text(), lost: lost, identity: id}
}

// Lose reports to the session that it no longer holds a lease.
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

// SessionID returns the id of the caller's session, empty when it has none.
func (c Caller) SessionID() string {
	if c.Session == nil {
		return ""
	}
	return c.Session.ID
}
