package lease

import (
	"context"

	"github.com/coxswain-sidecar/coxswain/internal/coord"
)

// holdings are the leases of one session.
type holdings struct {
	leases map[*Lease]struct{}
	// closed: nothing can be bound to the session any more.
	closed bool
	done   chan struct{} // closed when everything was given back, or the attempt to do so has ended
}

// Open starts a session, see coord.NewSession. After Stop the session is closed from the start.
func (l *Leases) Open(id coord.Identity, lost func(coord.Loss)) *coord.Session {
	s := coord.NewSession(id, lost)
	l.mu.Lock()
	defer l.mu.Unlock()
	if !l.stopped {
		l.sessions[s] = &holdings{leases: make(map[*Lease]struct{}), done: make(chan struct{})}
	}
	return s
}

// opened returns what an open session holds, nil for one that was closed. It needs l.mu.
func (l *Leases) opened(s *coord.Session) *holdings {
	if h := l.sessions[s]; h != nil && !h.closed {
		return h
	}
	return nil
}

// Holding reports whether the session holds anything that can be lost.
func (l *Leases) Holding(s *coord.Session) bool {
	l.mu.Lock()
	defer l.mu.Unlock()
	h := l.opened(s)
	return h != nil && len(h.leases) > 0
}

// Close gives back everything the session holds, all at once, and returns when
// that is done or ctx ends. ctx must not be the context of the connection that broke, since that has
// ended. Leases that could not be given back in time end at their TTL.
// Nothing can be bound to a closed session.
func (l *Leases) Close(ctx context.Context, s *coord.Session) {
	l.closeAll(ctx, s)
}

// Stop closes every session, giving back what they hold until ctx ends, and
// ends the renewer.
func (l *Leases) Stop(ctx context.Context) {
	l.mu.Lock()
	l.stopped = true
	sessions := make([]*coord.Session, 0, len(l.sessions))
	for s := range l.sessions {
		sessions = append(sessions, s)
	}
	l.mu.Unlock()
	l.closeAll(ctx, sessions...)
	l.cancel()
	ended := make(chan struct{})
	go func() { l.running.Wait(); close(ended) }()
	select {
	case <-ended:
	case <-ctx.Done(): // a renewal that hangs ends with its command timeout
	}
}

// closeAll gives back, in common batches, what these sessions hold, and waits for those
// that are being closed by another call.
func (l *Leases) closeAll(ctx context.Context, sessions ...*coord.Session) {
	var gone []Hold
	mine, others := map[*coord.Session]*holdings{}, []*holdings{}
	l.mu.Lock()
	for _, s := range sessions {
		h := l.sessions[s]
		switch {
		case h == nil:
		case h.closed:
			others = append(others, h)
		default:
			mine[s] = h
			for x := range h.leases {
				gone = append(gone, x.Hold())
				l.drop(x)
			}
			h.closed = true
		}
	}
	l.mu.Unlock()
	l.GiveBack(ctx, gone)
	l.mu.Lock()
	for s, h := range mine {
		delete(l.sessions, s)
		close(h.done)
	}
	l.mu.Unlock()
	for _, h := range others {
		select {
		case <-h.done:
		case <-ctx.Done():
		}
	}
}
