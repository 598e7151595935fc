package stream

import (
	"context"
	"sync"
	"time"

	"github.com/coxswain-sidecar/coxswain/client/api"
	"github.com/coxswain-sidecar/coxswain/internal/coord"
	"github.com/coxswain-sidecar/coxswain/internal/lua"
)

const (
	// maxGroups bounds the groups that a sidecar takes part in, each of which has
	// connections to Redis of its own.
	maxGroups = 256
	// maxSubscriptions bounds those of one connection.
	maxSubscriptions = 256
	// maxPrefetched bounds the messages that the subscriptions of one connection may have
	// together: the sidecar keeps about 1.5 KB for each.
	maxPrefetched = 10_000
)

// delivery is the part of a sidecar in delivering: its groups, and who subscribed to them.
type delivery struct {
	*Streams

	acks    coord.Halved[api.StreamMessageParams, api.StreamAckResult]
	nacks   coord.Halved[api.StreamNackParams, api.StreamNackResult]
	extends coord.Halved[api.StreamMessageParams, api.StreamExtendResult]

	stop    context.CancelFunc
	ctx     context.Context // of the loops; it ends with Stop
	running sync.WaitGroup  // the loops, and what is being given back

	mu            sync.Mutex // guards what follows; taken before that of a group
	groups        map[groupName]*group
	subscriptions map[*coord.Session]map[string]*subscription
	named         uint64 // subscriptions that were given a name
	watching      bool   // for the leases to drain
	draining      bool
	stopped       bool
}

// groupName is a group of a stream.
type groupName struct{ stream, group string }

// lease is the name of a group's leases. What is escaped has no colon.
func (n groupName) lease() string { return coord.Escaped(n.stream) + ":" + coord.Escaped(n.group) }

// op names a step in errors.
func (n groupName) op(verb string) string { return noun + " " + n.lease() + ": " + verb }

// settings say how the messages of a group are delivered here. They are those of the newest
// subscription or fetch: one loop serves all of them.
type settings struct {
	visibility    time.Duration
	maxDeliveries int64
	// rule admits the messages of a group that delivers by key, and key is the field of
	// messages that has it; both empty = it does not. The key of a group never changes.
	rule, key string
}

// newDelivery prepares to deliver. The loops are started by those who want messages.
func newDelivery(s *Streams) *delivery {
	d := &delivery{Streams: s}
	d.ctx, d.stop = context.WithCancel(context.Background())
	d.groups = make(map[groupName]*group)
	d.subscriptions = make(map[*coord.Session]map[string]*subscription)
	d.acks, d.nacks, d.extends = d.acking().Halved(), d.nacking().Halved(), d.extending().Halved()
	if d.Signals != nil {
		d.Signals.OnForget(d.heard, func() { d.heard(noun, "") })
	}
	return d
}

// delivering are the methods of consumers.
func (s *Streams) delivering() []coord.Method {
	d := s.delivery
	// A message by its id: what is done with it on one connection takes effect in order.
	byMessage := coord.Named(noun, "stream", "id")
	return []coord.Method{
		coord.On(api.StreamSubscribe, d.Subscribe, coord.Acquires),
		coord.On(api.StreamUnsubscribe, d.Unsubscribe),
		coord.On(api.StreamFetch, d.Fetch, coord.Acquires),
		coord.On(api.StreamAck, d.Ack, coord.Piped, byMessage, d.acks.Direct),
		coord.On(api.StreamNack, d.Nack, coord.Piped, byMessage, d.nacks.Direct),
		coord.On(api.StreamExtend, d.Extend, byMessage),
	}
}

// heard is told of broadcasts: messages of a stream may be had. An empty key means all
// streams, since a broadcast may have been lost. It does not block.
func (d *delivery) heard(topic, log string) {
	if topic != noun {
		return
	}
	d.mu.Lock()
	defer d.mu.Unlock()
	for _, g := range d.groups {
		if log == "" || g.keys.Log == log {
			g.hear()
		}
	}
}

// Drain ends delivering: what no client was sent is given back, and fetches that wait
// end. Messages that were sent stay until they are acknowledged or their connection closes.
func (s *Streams) Drain() {
	d := s.delivery
	d.mu.Lock()
	defer d.mu.Unlock()
	d.draining = true
	for _, g := range d.groups {
		g.drain()
	}
}

// Stop drains, ends the loops, and gives back what they read, until ctx ends. Entries of a
// read that was under way, whose reply is lost, come back after their visibility timeout.
// Delayed messages are added by other sidecars, or by this one when it is back.
func (s *Streams) Stop(ctx context.Context) error {
	d := s.delivery
	s.Drain()
	d.mu.Lock()
	d.stopped = true
	d.mu.Unlock()
	d.stop()
	s.dues.Stop()
	ended := make(chan struct{})
	go func() { d.running.Wait(); close(ended) }()
	select {
	case <-ended:
		return nil
	case <-ctx.Done():
		return ctx.Err()
	}
}

// Loops counts the groups that this sidecar takes part in now.
func (s *Streams) Loops() int {
	s.delivery.mu.Lock()
	defer s.delivery.mu.Unlock()
	return len(s.delivery.groups)
}

// Unsent counts the bytes of messages that were read and that no client was sent so far.
func (s *Streams) Unsent() int64 {
	s.delivery.mu.Lock()
	defer s.delivery.mu.Unlock()
	var n int64
	for _, g := range s.delivery.groups {
		n += g.unsentBytes()
	}
	return n
}

// inBackground runs what Stop waits for; after Stop it is run at once.
func (d *delivery) inBackground(f func()) {
	d.mu.Lock()
	if !d.stopped {
		defer d.mu.Unlock()
		d.running.Go(f)
		return
	}
	d.mu.Unlock()
	f()
}

// find returns the loop of a group, nil if there is none.
func (d *delivery) find(n groupName) *group {
	d.mu.Lock()
	defer d.mu.Unlock()
	return d.groups[n]
}

// join adds a user to a group, whose loop it starts if there is none, and reports whether the
// group was made in Redis. Leave has to follow.
func (d *delivery) join(ctx context.Context, n groupName, set settings, start string) (g *group, created bool, err error) {
	if err := d.admit(n); err != nil {
		return nil, false, err
	}
	if err := d.checkLanes(ctx, set); err != nil {
		return nil, false, err
	}
	if g := d.enter(n, set, nil); g != nil {
		if g.key != set.key {
			g.leave()
			return nil, false, delivers(n, g.key, set.key)
		}
		return g, false, nil
	}
	d.mu.Lock()
	many := len(d.groups)
	d.mu.Unlock()
	if many >= maxGroups {
		return nil, false, coord.Invalid("group: this sidecar takes part in %d groups already; unsubscribe from some", many)
	}
	opened := newGroup(d, n, set)
	from := "0-0"
	if start == api.StartNew {
		from = "$"
	}
	out, err := opened.create(ctx, from, lua.Patient)
	if err != nil {
		opened.close()
		return nil, false, coord.Failed(n.op("open"), err)
	}
	if out.By != set.key {
		opened.close()
		return nil, false, delivers(n, out.By, set.key)
	}
	opened.last = out.Last
	if g = d.enter(n, set, opened); g == nil {
		opened.close()
		return nil, false, d.refused(n)
	}
	return g, out.Created, nil
}

// enter adds a user to the loop of a group. If there is none it starts opened, unless that is
// nil or the sidecar has stopped. It returns nil if there is none then.
func (d *delivery) enter(n groupName, set settings, opened *group) *group {
	d.mu.Lock()
	defer d.mu.Unlock()
	g := d.groups[n]
	switch {
	case d.draining:
		return nil
	case g != nil:
		if opened != nil {
			opened.close() // another call was faster
		}
	case opened == nil:
		return nil
	default:
		g = opened
		d.groups[n] = g
		d.watch()
		d.dues.watch(n.stream)
		d.running.Go(g.run)
	}
	g.use(set)
	return g
}

// watch drains when the leases do. It needs d.mu.
func (d *delivery) watch() {
	if d.watching {
		return
	}
	d.watching = true
	d.running.Go(func() {
		select {
		case <-d.Leases.Drained():
			d.Drain()
		case <-d.ctx.Done():
		}
	})
}

// retire takes a loop that nobody uses from the list. False = somebody does.
func (d *delivery) retire(g *group) bool {
	d.mu.Lock()
	defer d.mu.Unlock()
	if !g.unused() && d.ctx.Err() == nil {
		return false
	}
	delete(d.groups, g.groupName)
	d.dues.unwatch(g.stream)
	return true
}

// admit refuses who wants messages while none are delivered.
func (d *delivery) admit(n groupName) error {
	d.mu.Lock()
	draining := d.draining
	d.mu.Unlock()
	if draining {
		return d.refused(n)
	}
	return d.Leases.Admit(n.op("subscribe"))
}

func (d *delivery) refused(n groupName) error {
	return &coord.Error{Code: api.Draining, Op: n.op("subscribe"), Err: coord.ErrDraining}
}
