package stream

import (
	"context"
	"strconv"
	"time"

	"github.com/coxswain-sidecar/coxswain/client/api"
	"github.com/coxswain-sidecar/coxswain/internal/coord"
	"github.com/coxswain-sidecar/coxswain/internal/coord/lease"
)

// subscription is a subscription of a connection to a group. Its group's mu guards the fields
// below follows, which change.
type subscription struct {
	group    *group
	session  *coord.Session
	name     string
	prefetch int
	bound    bool // its messages are bound to the session
	follows  *coord.Following

	inFlight int  // messages that were sent to it and are not acknowledged
	full     bool // its client reads too slowly; the outlet's WhenRoom resets it
	gone     bool // its connection is closed; end is called soon
	answered bool // its client has received the answer to stream.subscribe
	joined   bool // it counts as a user of its group
	ended    bool // no more messages are delivered to it
}

// free returns how many more messages it takes. It needs the group's mu.
func (u *subscription) free() int {
	if !u.answered || u.full || u.gone {
		return 0
	}
	return max(u.prefetch-u.inFlight, 0)
}

// flight is a message that was sent to a subscription and is not acknowledged.
type flight struct {
	to *subscription
	// lease is the delivery's lease if it is bound to the session; else it is nil, and the
	// delivery ends at until unless it is extended.
	lease *lease.Lease
	until time.Time
	ttl   time.Duration
}

// Subscribe makes the sidecar send messages of a group to the caller's connection, until the
// connection closes or calls Unsubscribe. No message is sent before the answer.
func (d *delivery) Subscribe(ctx context.Context, c coord.Caller, p *api.StreamSubscribeParams) (r api.StreamSubscribeResult, _ error) {
	n := groupName{p.Stream, p.Group}
	if c.Session == nil || c.Session.Outlet == nil {
		return r, coord.Invalid("this call has no connection to send messages to; use stream.fetch")
	}
	switch n, prefetch := d.subscribed(c.Session); {
	case n >= maxSubscriptions:
		return r, coord.Invalid("this connection has %d subscriptions; end some by stream.unsubscribe, or open another", maxSubscriptions)
	case prefetch+int(p.Prefetch) > maxPrefetched:
		return r, coord.Invalid("prefetch: with the %d of its other subscriptions this connection would have more than %d; "+
			"give less, or open another", prefetch, maxPrefetched)
	}
	set := settings{coord.Millis(p.VisibilityMS), p.MaxDeliveries, p.Rule, p.Key}
	g, created, err := d.join(ctx, n, set, p.Start)
	if err != nil {
		return r, err
	}
	u := &subscription{group: g, session: c.Session, prefetch: int(p.Prefetch), bound: p.Bind == api.BindSession}
	if !d.add(u) {
		g.leave()
		return r, &coord.Error{Code: api.Cancelled, Op: n.op("subscribe"), Err: context.Canceled}
	}
	c.Then(func() {
		g.mu.Lock()
		u.answered = true
		g.wake()
		g.mu.Unlock()
		g.lookBy(time.Now())
	})
	return api.StreamSubscribeResult{Subscription: u.name, Created: created}, nil
}

// subscribed returns the number of subscriptions of a session, and the sum of their prefetch.
func (d *delivery) subscribed(of *coord.Session) (n, prefetch int) {
	d.mu.Lock()
	defer d.mu.Unlock()
	for _, u := range d.subscriptions[of] {
		prefetch += u.prefetch
	}
	return len(d.subscriptions[of]), prefetch
}

// add puts a subscription into its group. It returns false if the session has ended.
func (d *delivery) add(u *subscription) bool {
	var ok bool
	if u.follows, ok = u.session.Follow(func(ctx context.Context) { d.end(ctx, u) }); !ok {
		return false
	}
	d.mu.Lock()
	defer d.mu.Unlock()
	u.group.mu.Lock()
	defer u.group.mu.Unlock()
	if u.ended { // the session has ended since Follow
		return false
	}
	d.named++
	u.name = strconv.FormatUint(d.named, 10)
	all := d.subscriptions[u.session]
	if all == nil {
		all = make(map[string]*subscription)
		d.subscriptions[u.session] = all
	}
	all[u.name] = u
	u.joined = true
	u.group.subs = append(u.group.subs, u)
	u.group.wake()
	return true
}

// Unsubscribe ends a subscription of the caller's connection. The connection keeps the messages
// that were sent to it.
func (d *delivery) Unsubscribe(_ context.Context, c coord.Caller, p *api.StreamUnsubscribeParams) (api.StreamUnsubscribeResult, error) {
	d.mu.Lock()
	u := d.subscriptions[c.Session][p.Subscription]
	d.drop(u)
	d.mu.Unlock()
	if u == nil {
		return api.StreamUnsubscribeResult{}, nil
	}
	u.group.mu.Lock()
	if u.bound { // the session renews them and gives them back
		u.group.landAll(u)
	}
	u.group.remove(u)
	u.group.mu.Unlock()
	u.group.deliver()
	return api.StreamUnsubscribeResult{Unsubscribed: true}, nil
}

// drop removes a subscription from the list of its session. It needs d.mu.
func (d *delivery) drop(u *subscription) {
	if u == nil {
		return
	}
	all := d.subscriptions[u.session]
	delete(all, u.name)
	if len(all) == 0 {
		delete(d.subscriptions, u.session)
	}
}

// end ends the subscription of a connection that has closed. The session gives back the messages
// that are bound to it, end the others.
func (d *delivery) end(ctx context.Context, u *subscription) {
	d.mu.Lock()
	d.drop(u)
	d.mu.Unlock()
	g := u.group
	g.mu.Lock()
	gone := g.landAll(u)
	g.remove(u)
	g.mu.Unlock()
	g.deliver()
	if !u.bound {
		d.Leases.GiveBack(ctx, d.holds(g.groupName, gone, d))
	}
}

// holds returns messages in the form in which lease.Leases gives them back.
func (d *delivery) holds(n groupName, ids []string, k lease.Kind) []lease.Hold {
	holds := make([]lease.Hold, len(ids))
	for i, id := range ids {
		holds[i] = lease.Hold{ID: lease.ID{Noun: noun, Name: n.lease(), Token: id}, Kind: k}
	}
	return holds
}
