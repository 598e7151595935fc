package rpc

import (
	"context"
	"reflect"
	"time"

	"github.com/coxswain-sidecar/coxswain/client/api"
)

// Drain tells every client that has something to lose that the pod ends at that
// time; clients that come to have something are told when they do, and each is
// told once. Calls go on. It returns the time that clients were told, which is
// that of the first call.
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

// Draining is when the pod ends, if Drain was called.
func (s *Server) Draining() (until time.Time, draining bool) {
	if at := s.drainAt.Load(); at != nil {
		return *at, true
	}
	return time.Time{}, false
}

var drainingParams = compiled.of(reflect.TypeFor[api.DrainingParams]())

// listening reports whether the client may be sent notifications: it holds
// something that can be lost, or it subscribed.
func (c *conn) listening() bool {
	return c.subscriber.Following() || c.session.Follows() || c.server.services.Leases.Holding(c.session)
}

// tellDraining tells a client that listens, once. It is called when draining
// begins and after every call that succeeded, so that neither can miss the
// other. It never blocks.
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
