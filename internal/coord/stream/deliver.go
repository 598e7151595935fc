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
	// maxSubscriptions bounds the subscriptions of one connection.
	maxSubscriptions = 256
	// maxPrefetched bounds the sum of prefetch of the subscriptions of one connection: the
	// sidecar keeps about 1.5 KB for each message.
	maxPrefetched = 10_000
)

// delivery delivers messages to the clients of this sidecar: it has the groups that the sidecar
// takes part in, and the subscriptions to them.
type delivery struct {
	*Streams

	acks    coord.Halved[api.StreamMessageParams, api.StreamAckResult]
	nacks   coord.Halved[api.StreamNackParams, api.StreamNackResult]
	extends coord.Halved[api.StreamMessageParams, api.StreamExtendResult]

	stop    context.CancelFunc
	ctx     context.Context // of the loops; it ends with Stop
	running sync.WaitGroup  // the loops, and what runs in the background

	mu            sync.Mutex // guards what follows; taken before that of a group
	groups        map[groupName]*group
	subscriptions map[*coord.Session]map[string]*subscription
	named         uint64 // the number of the last subscription, which is its name
	watching      bool   // watch was called
	draining      bool
	stopped       bool
}

// groupName is a group of a stream.
type groupName struct{ stream, group string }

// lease returns the name of a group's leases. Escaped names have no colon, so that groupOf can
// split it.
func (n groupName) lease() string { return coord.Escaped(n.stream) + ":" + coord.Escaped(n.group) }

// op names an operation on a group in errors.
func (n groupName) op(verb string) string { return noun + " " + n.lease() + ": " + verb }

// settings determine how the messages of a group are delivered by this sidecar. They are those of
// the newest subscription or fetch, since one loop serves all of them.
type settings struct {
	visibility    time.Duration
	maxDeliveries int64
	// If a group delivers by key, rule admits its messages and key names the field of messages
	// that has their key; else both are empty. The key of a group never changes.
	rule, key string
}

// newDelivery returns a delivery without groups. Subscriptions and fetches start the loops.
func newDelivery(s *Streams) *delivery {
	d := &delivery{Streams: s}
	d.ctx, d.stop = context.WithCancel(context.Background())
	d.groups = make(map[groupName]*group)
	d.subscriptions = make(map[*coord.Session]map[string]*subscription)
	d.acks, d.nacks, d.extends = d.acking().Halved(), d.nacking().Halved(), d.extending().Halved()
	if d.Signals != nil {
		d.Signals.OnForget(d.broadcast, func() { d.broadcast(noun, "") })
	}
	return d
}

// delivering lists the methods of consumers.
func (s *Streams) delivering() []coord.Method {
	d := s.delivery
	// Calls of one connection for the same message take effect in their order.
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

// broadcast handles a broadcast that messages of a stream may have to be delivered again. An empty
// key means all streams, since broadcasts may have been lost. It does not block.
func (d *delivery) broadcast(topic, log string) {
	if topic != noun {
		return
	}
	d.mu.Lock()
	defer d.mu.Unlock()
	for _, g := range d.groups {
		if log == "" || g.keys.Log == log {
			g.mayRetry()
		}
	}
}

// Drain stops delivering messages: those that were not sent to a client are given back, and fetches
// that wait end. Messages that were sent stay delivered until they are acknowledged or their
// connection closes.
func (s *Streams) Drain() {
	d := s.delivery
	d.mu.Lock()
	defer d.mu.Unlock()
	d.draining = true
	for _, g := range d.groups {
		g.drain()
	}
}

// Stop drains, ends the loops, and gives back what they read; it returns ctx.Err() if ctx ends
// before that is done. The reply of a read that is under way is lost, so that its messages are
// delivered again after their visibility timeout. Other sidecars add delayed messages, or this one
// after its restart.
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

// Unsent returns the bytes of all messages that were read and not sent to a client yet.
func (s *Streams) Unsent() int64 {
	s.delivery.mu.Lock()
	defer s.delivery.mu.Unlock()
	var n int64
	for _, g := range s.delivery.groups {
		n += g.unsentBytes()
	}
	return n
}

// inBackground runs f on a goroutine that Stop waits for. After Stop it runs f itself.
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

// find returns a group, nil if this sidecar takes no part in it.
func (d *delivery) find(n groupName) *group {
	d.mu.Lock()
	defer d.mu.Unlock()
	return d.groups[n]
}

// join adds a user to a group, and starts the group's loop if there is none. created reports
// whether the group was made in Redis. The caller must call leave.
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
			return nil, false, wrongKey(n, g.key, set.key)
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
		return nil, false, wrongKey(n, out.By, set.key)
	}
	opened.last = out.Last
	if g = d.enter(n, set, opened); g == nil {
		opened.close()
		return nil, false, d.refused(n)
	}
	return g, out.Created, nil
}

// enter adds a user to a group and returns the group. If the sidecar takes no part in it yet, enter
// starts opened. It returns nil if opened is nil then, or if the sidecar drains.
func (d *delivery) enter(n groupName, set settings, opened *group) *group {
	d.mu.Lock()
	defer d.mu.Unlock()
	g := d.groups[n]
	switch {
	case d.draining:
		return nil
	case g != nil:
		if opened != nil {
			opened.close() // another call opened the group meanwhile
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

// watch starts a goroutine that calls Drain when the leases drain. It needs d.mu.
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

// retire removes a group from the list if it is unused or after Stop, and reports whether it did.
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

// admit refuses subscriptions and fetches while the sidecar drains.
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
