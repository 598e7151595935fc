package stream

import (
	"context"
	"errors"
	"slices"
	"time"

	"github.com/coxswain-sidecar/coxswain/client/api"
	"github.com/coxswain-sidecar/coxswain/internal/coord"
	"github.com/coxswain-sidecar/coxswain/internal/coord/lease"
	"github.com/coxswain-sidecar/coxswain/internal/lua"
)

// deliver sends the messages that were read to users with capacity: first to fetches that wait,
// then to subscriptions, which take turns. It gives back messages that no user could take in time.
func (g *group) deliver() {
	g.sending.Lock()
	defer g.sending.Unlock()
	for g.deliverOne() {
	}
	for i, o := range g.toFlush {
		o.Flush()
		g.toFlush[i] = nil
	}
	g.toFlush = g.toFlush[:0]
	g.mu.Lock()
	ids := g.unwanted()
	g.mu.Unlock()
	g.d.giveBackUnseen(g.groupName, ids)
}

// deliverOne delivers the first message. It returns false if there is no message, or no user with
// capacity for it.
func (g *group) deliverOne() bool {
	g.mu.Lock()
	switch {
	case len(g.unsent) == 0 || g.draining:
		g.mu.Unlock()
		return false
	case len(g.fetches) > 0:
		g.serve(g.fetches[0])
		g.mu.Unlock()
		return true
	}
	u := g.next()
	if u == nil {
		g.mu.Unlock()
		return false
	}
	m := g.unsent[0]
	sent, err := g.d.wire(g.groupName, m)
	if err != nil {
		g.forget(1)
		g.mu.Unlock()
		g.d.bury(g.groupName, m, err)
		return true
	}
	g.forget(1)
	f := &flight{to: u, ttl: g.settings.visibility, until: m.at.Add(g.settings.visibility)}
	if u.bound {
		f.lease = g.d.leaseOf(g.leases, m.id, u.session, f.ttl)
	}
	if old := g.flights[m.id]; old != nil {
		g.landed(m.id, old)
	}
	g.flights[m.id] = f
	u.inFlight++
	g.mu.Unlock()
	sent.Subscription = u.name
	g.send(m, f, sent)
	return true
}

// send sends a message to a subscription. If the connection does not accept it, the message is put
// back in front of those that are to be sent.
func (g *group) send(m *message, f *flight, sent api.StreamMessage) {
	u := f.to
	outcome := coord.ToldGone
	// The lease is bound before the message is sent, since the acknowledgement may come at once.
	bound := f.lease == nil || g.d.bind(f.lease, m.at)
	if bound {
		outcome = u.session.Outlet.Notify(api.StreamMessageEvent.Spec, sent)
		if !slices.Contains(g.toFlush, u.session.Outlet) {
			g.toFlush = append(g.toFlush, u.session.Outlet)
		}
	}
	if outcome == coord.ToldSent {
		g.d.delivered(m)
		return
	}
	g.mu.Lock()
	mine := g.flights[m.id] == f
	if mine {
		g.landed(m.id, f)
	}
	u.full, u.gone = outcome == coord.ToldFull, outcome == coord.ToldGone
	if f.lease != nil {
		// If Forget does not return the lease, the connection has closed meanwhile and gives it back.
		mine = !bound || g.d.Leases.Forget(f.lease.ID) == f.lease
	}
	if mine {
		g.unsent = append([]*message{m}, g.unsent...)
		g.bytes += int64(len(m.text))
	}
	g.mu.Unlock()
	if outcome == coord.ToldFull {
		u.session.Outlet.WhenRoom(func() {
			g.mu.Lock()
			u.full = false
			g.wake()
			g.mu.Unlock()
		})
	}
}

// next returns the subscription whose turn it is, nil if none has capacity. It needs mu.
func (g *group) next() *subscription {
	for range g.subs {
		g.turn = (g.turn + 1) % len(g.subs)
		if u := g.subs[g.turn]; u.free() > 0 {
			return u
		}
	}
	return nil
}

// forget drops the first n messages that are to be sent. It needs mu.
func (g *group) forget(n int) {
	for _, m := range g.unsent[:n] {
		g.bytes -= int64(len(m.text))
	}
	clear(g.unsent[:n])
	g.unsent = g.unsent[n:]
	if len(g.unsent) == 0 {
		g.unsent = nil
	}
}

// unwanted removes and returns the messages that are to be given back: all that are to be sent,
// if keptUntil has passed. It needs mu.
func (g *group) unwanted() (ids []string) {
	until, waiting := g.keptUntil()
	if !waiting || time.Now().Before(until) {
		return nil
	}
	for _, m := range g.unsent {
		ids = append(ids, m.id)
	}
	g.forget(len(g.unsent))
	return ids
}

// keptUntil returns until when the messages that are to be sent are kept here before they are given
// back; waiting is false if there are none. It needs mu.
func (g *group) keptUntil() (until time.Time, waiting bool) {
	if len(g.unsent) == 0 {
		return time.Time{}, false
	}
	keep := min(keepFor, g.settings.visibility/3)
	users := len(g.fetches)
	for _, u := range g.subs {
		if !u.gone {
			users++
		}
		if u.full { // the subscription takes more when its client has read what it was sent
			keep = g.settings.visibility / 3
		}
	}
	if g.draining || users == 0 {
		keep = 0
	}
	return g.unsent[0].at.Add(keep), true
}

// wire converts a message to the form that clients are sent.
func (d *delivery) wire(n groupName, m *message) (api.StreamMessage, error) {
	e, err := unpack(m.text)
	return api.StreamMessage{
		Stream: n.stream, Group: n.group, ID: m.id, Body: e.Body, Fields: e.Fields, Attempt: m.attempt,
		PublishedAtMS: publishedMS(m.id), Traceparent: e.Traceparent,
	}, err
}

// bury moves an entry that no sidecar wrote to the dead letters.
func (d *delivery) bury(n groupName, m *message, why error) {
	d.inBackground(func() {
		ctx, cancel := context.WithTimeout(context.Background(), scriptTime)
		defer cancel()
		out, err := lua.Run(ctx, d.Runner, NackScript, NackIn{
			Keys: d.keys.streamKeys(n.stream), GroupKeys: d.keys.groupKeys(n.stream, n.group), Group: n.group, ID: m.id,
			Dead: true, Reason: "not written by a sidecar",
		}, lua.StoredReply{})
		if out.Value.Dead {
			d.Telemetry.StreamMessages(ctx, "dead", 1)
		}
		d.foreign.Do(func() {
			d.Log.Warn("a sidecar did not write this entry of a stream; it is a dead letter, and so are others like it, which are not logged",
				"stream", n.stream, "id", m.id, "err", errors.Join(why, err))
		})
	})
}

// delivered counts a message that was sent to a client.
func (d *delivery) delivered(m *message) {
	outcome := "delivered"
	if m.attempt > 1 {
		outcome = "redelivered"
	}
	d.Telemetry.StreamMessages(context.Background(), outcome, 1)
}

// leaseOf returns the lease of a delivery that is bound to a session. name is the name of the
// group's leases, id the message's.
func (d *delivery) leaseOf(name, id string, to *coord.Session, ttl time.Duration) *lease.Lease {
	return &lease.Lease{ID: lease.ID{Noun: noun, Name: name, Token: id}, TTL: ttl, Session: to, Kind: d}
}

// bind makes a session hold a delivery. If another session of this sidecar still holds an earlier
// delivery of the message, which was renewed too late, that session is notified of its loss. bind
// returns false if the session has ended.
func (d *delivery) bind(x *lease.Lease, at time.Time) bool {
	d.Leases.Lose(d.Leases.Find(x.ID), lease.ReasonExpired)
	return d.Leases.Bind(x, at)
}
