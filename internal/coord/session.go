package coord

import (
	"context"
	"crypto/rand"
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
	// HasDeadline: it said itself by when it wants an answer.
	HasDeadline bool
}

// identity is that of the caller's session, if it has one.
func (c Caller) identity() Identity {
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

// Session is one client connection, as far as it holds things. What it holds
// is renewed by Leases until Close gives it back.
type Session struct {
	// ID is unique among all sidecars of the fleet.
	ID string

	leases *Leases
	lost   func(Loss)
	done   chan struct{} // closed when everything was given back, or could not be

	mu       sync.Mutex // guards identity
	identity Identity

	// Guarded by leases.mu, as the leases themselves are: one lock decides
	// whether a grant or the closing of its session came first.
	held   map[*lease]struct{}
	closed bool
}

// Open starts a session. Lost is called, never blocking for long and never with
// a lock held, for each lease that is lost; a call may still be under way when
// Close returns. After Stop the session is closed from the start.
func (l *Leases) Open(id Identity, lost func(Loss)) *Session {
	s := &Session{
		ID: rand.Text(), leases: l, lost: lost, done: make(chan struct{}),
		identity: id, held: make(map[*lease]struct{}),
	}
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.stopped {
		s.closed = true
		close(s.done)
		return s
	}
	l.sessions[s] = struct{}{}
	return s
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

// Holding reports whether the session holds anything that can be lost.
func (s *Session) Holding() bool {
	s.leases.mu.Lock()
	defer s.leases.mu.Unlock()
	return len(s.held) > 0
}

// Close gives back everything the session holds, all at once, and returns when
// that is done or ctx ends, which is therefore not the context of the connection
// that just broke. What could not be given back in time is left to its TTL.
// Nothing can be bound to a closed session.
func (s *Session) Close(ctx context.Context) {
	s.leases.close(ctx, s)
	select {
	case <-s.done: // also when another call closed it first
	case <-ctx.Done():
	}
}

// Stop closes every session, giving back what they hold until ctx ends, and
// ends the renewer.
func (l *Leases) Stop(ctx context.Context) {
	l.mu.Lock()
	l.stopped = true
	sessions := make([]*Session, 0, len(l.sessions))
	for s := range l.sessions {
		sessions = append(sessions, s)
	}
	l.mu.Unlock()
	l.close(ctx, sessions...)
	for _, s := range sessions {
		select {
		case <-s.done: // by a Close that began before
		case <-ctx.Done():
		}
	}
	l.cancel()
	ended := make(chan struct{})
	go func() { l.running.Wait(); close(ended) }()
	select {
	case <-ended:
	case <-ctx.Done(): // a renewal that hangs ends with its command timeout
	}
}

// close closes those of the sessions that are still open and gives back, in
// common batches, what they held.
func (l *Leases) close(ctx context.Context, sessions ...*Session) {
	var mine []*Session
	var gone []hold
	l.mu.Lock()
	for _, s := range sessions {
		if s.closed {
			continue
		}
		s.closed = true
		mine = append(mine, s)
		for x := range s.held {
			gone = append(gone, x.hold())
			l.drop(x)
		}
	}
	l.mu.Unlock()
	l.giveBack(ctx, gone)
	l.mu.Lock()
	defer l.mu.Unlock()
	for _, s := range mine {
		delete(l.sessions, s)
		close(s.done)
	}
}
