package rpc

import (
	"context"
	"reflect"
	"time"

	"github.com/coxswain-sidecar/coxswain/client/api"
)

// Drain sends every client that holds a lease or has a subscription a notification
// that the pod is killed at that time. Clients that get one later are notified then;
// each client is notified once. Calls go on. Drain returns the time that clients are
// sent, which is that of the first call of Drain.
func (s *Server) Drain(until time.Time) time.Time {
	if !s.drainAt.CompareAndSwap(nil, &until) {
		return *s.drainAt.Load()
	}
	if s.services.Draining != nil {
		s.services.Draining(until)
	}
	for _, c := range s.connections() {
		c.tellDraining()
	}
	return until
}

// Draining returns when the pod is killed, if Drain was called.
func (s *Server) Draining() (until time.Time, draining bool) {
	if at := s.drainAt.Load(); at != nil {
		return *at, true
	}
	return time.Time{}, false
}

var drainingParams = compiled.of(reflect.TypeFor[api.DrainingParams]())

// listening reports whether the client may be sent notifications: it holds a
// lease, or it has a subscription.
func (c *conn) listening() bool {
	return c.subscriber.Following() || c.session.Follows() || c.server.services.Leases.Holding(c.session)
}

// tellDraining sends a listening client session.draining, once. It is called when
// draining begins and after every call that succeeded, so that a client that begins
// to listen at the same moment is not missed. It never blocks.
func (c *conn) tellDraining() {
	at := c.server.drainAt.Load()
	if at == nil || !c.listening() || !c.toldDraining.CompareAndSwap(false, true) {
		return
	}
	b := append(appendText([]byte{0x93, 2}, api.SessionDraining.Name), 0x91)
	c.append(drainingParams.append(b, reflect.ValueOf(api.DrainingParams{DeadlineAtMS: at.UnixMilli()})))
	c.flush()
}

func sessionDrain(_ context.Context, k *call, p *api.DrainParams) (api.DrainResult, error) {
	s := k.conn.server
	until := s.Drain(time.Now().Add(time.Duration(p.DeadlineMS) * time.Millisecond))
	return api.DrainResult{Draining: true, DeadlineAtMS: until.UnixMilli(), Connections: int64(s.Connections())}, nil
}
