package redis

import (
	"context"
	"errors"
	"fmt"
	"net"
	"slices"
	"sync"
	"sync/atomic"
	"time"

	"github.com/redis/go-redis/v9"
)

// listening is one connection of a listener.
type listening struct {
	of   *Listener
	ctx  context.Context // ends with the connection
	sub  *redis.PubSub
	conn net.Conn // set by its only dial
	at   string   // the address
	// heard is set if something came since the last check.
	heard    atomic.Bool
	listened bool // Redis has sent a reply or a message

	mu      sync.Mutex // guards what follows
	err     error      // why this side has closed it
	sent    []command  // the commands for which replies are due, in the order of their replies
	refused []Topic    // refused since the last check
}

// command is a command about topics that was sent. Redis replies once for each topic, or with
// one error for all of them.
type command struct {
	topics []Topic
	left   int
}

// listenDial is the key of a listening in the context of the only call that may dial for it.
type listenDial struct{}

// errNoRedial is the error of a second dial. go-redis reconnects by itself without reporting
// it, so that messages would be missed unnoticed.
var errNoRedial = errors.New("a connection of a listener is made once")

// run listens until the connection ends, and returns why it did.
func (c *listening) run() error {
	ctx, cancel := context.WithCancel(c.of.ctx)
	c.ctx = ctx
	defer cancel()
	c.sub = c.of.store.listen.Subscribe(ctx) // without channels: with some it would connect here
	defer func() { _ = c.sub.Close() }()
	if err := c.sub.Ping(context.WithValue(ctx, listenDial{}, c)); err != nil {
		return err
	}
	var others sync.WaitGroup
	defer others.Wait()
	defer cancel() // ends also a write that blocks
	others.Go(func() { c.watch(ctx) })
	others.Go(func() { c.write(ctx) })
	for {
		m, err := c.sub.Receive(ctx)
		var refused redis.Error
		if errors.As(err, &refused) && c.refuse(err) {
			continue
		}
		if err != nil {
			return c.ended(err)
		}
		c.heard.Store(true)
		c.listened = true
		switch m := m.(type) {
		case *redis.Message:
			c.of.call(func() { c.of.to.Message(m.Pattern, m.Channel, m.Payload) })
		case *redis.Subscription:
			c.answer()
			c.of.answered(Topic{m.Channel, m.Kind == "psubscribe" || m.Kind == "punsubscribe"}, m.Kind == "subscribe" || m.Kind == "psubscribe")
		}
	}
}

// ended returns why the connection ended: the error that was passed to shut, else that of the
// last read.
func (c *listening) ended(last error) error {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.err != nil {
		return c.err
	}
	return last
}

// shut closes the connection because of err, which ends its reads and writes.
func (c *listening) shut(err error) {
	c.mu.Lock()
	if c.err == nil {
		c.err = err
	}
	c.mu.Unlock()
	_ = c.conn.Close()
}

// answer records the reply about one topic of the first command.
func (c *listening) answer() {
	c.mu.Lock()
	defer c.mu.Unlock()
	if len(c.sent) == 0 {
		return
	}
	if c.sent[0].left--; c.sent[0].left == 0 {
		c.sent = c.sent[1:]
	}
}

// refuse records that the first command was refused. It returns false if no reply is due.
func (c *listening) refuse(err error) bool {
	c.mu.Lock()
	if len(c.sent) == 0 {
		c.mu.Unlock()
		return false
	}
	topics := c.sent[0].topics
	c.sent = c.sent[1:]
	c.refused = append(c.refused, topics...)
	c.mu.Unlock()
	c.heard.Store(true)
	for _, t := range topics {
		c.of.refused(t, err)
	}
	return true
}

// write sends the commands for changes of the topics. If a write fails, it closes the
// connection.
func (c *listening) write(ctx context.Context) {
	for {
		p := c.of.plan()
		for _, t := range p.unannounced {
			c.of.announce(t)
		}
		for _, do := range []struct {
			names    []string
			send     func(context.Context, ...string) error
			patterns bool
			atOnce   int
		}{
			{p.unsubscribe, c.sub.Unsubscribe, false, listenAtOnce},
			{p.punsubscribe, c.sub.PUnsubscribe, true, listenAtOnce},
			{p.subscribe, c.sub.Subscribe, false, listenAtOnce},
			// Patterns go one by one: Redis may refuse one of them and not others to a user whose
			// channels are restricted.
			{p.psubscribe, c.sub.PSubscribe, true, 1},
		} {
			for names := range slices.Chunk(do.names, do.atOnce) {
				c.sending(names, do.patterns)
				if err := do.send(ctx, names...); err != nil {
					c.shut(err)
					return
				}
			}
		}
		select {
		case <-c.of.changed:
		case <-ctx.Done():
			return
		}
	}
}

// sending records a command before it is sent, so that its reply cannot come first.
func (c *listening) sending(names []string, patterns bool) {
	topics := make([]Topic, len(names))
	for i, n := range names {
		topics[i] = Topic{n, patterns}
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	c.sent = append(c.sent, command{topics, len(topics)})
}

// watch pings the connection if nothing comes, and closes it if Redis does not reply, if
// there are no topics any more, or if its server does not get the messages any more.
func (c *listening) watch(ctx context.Context) {
	tick := time.NewTicker(listenCheck)
	defer tick.Stop()
	silent, idle := 0, 0
	for {
		select {
		case <-tick.C:
		case <-ctx.Done():
			return
		}
		silent++
		if c.heard.Swap(false) {
			silent = 0
		}
		c.mu.Lock()
		refused := c.refused
		c.refused = nil
		c.mu.Unlock()
		c.of.again(refused)
		idle++
		c.of.mu.Lock()
		if c.of.wanted > 0 {
			idle = 0
		}
		c.of.mu.Unlock()
		switch {
		case silent >= listenSilence:
			c.shut(newTrouble(whySilent, fmt.Errorf("redis sent nothing for %v, not even the reply to a ping", listenSilence*listenCheck)))
		case idle >= listenIdle:
			c.shut(nil)
		case !c.of.store.receives(c.at):
			c.shut(newTrouble(whyNoMaster, errors.New("the server of the subscriptions is not a master any more")))
		case silent == 0:
			continue
		default:
			if err := c.sub.Ping(ctx); err != nil {
				c.shut(err)
			}
			continue
		}
		return
	}
}

// listener makes the client of listeners. Their connections are tracked without a record
// of what may have run: they carry no scripts, and are read and written at the same time.
func (s *Store) listener() {
	s.listened = newConns(func(ctx context.Context) (net.Conn, error) {
		addr, err := s.listenAt()
		if err != nil {
			return nil, err
		}
		if c, ok := ctx.Value(listenDial{}).(*listening); ok {
			c.at = addr
		}
		return s.connector.dial(ctx, addr)
	})
	opt := s.connector.options(s.address)
	opt.Dialer = func(ctx context.Context, _, _ string) (net.Conn, error) {
		c, _ := ctx.Value(listenDial{}).(*listening)
		if c == nil || c.conn != nil {
			return nil, errNoRedial
		}
		ctx, cancel := context.WithCancel(ctx)
		defer cancel()
		defer context.AfterFunc(c.of.ctx, cancel)()
		c.conn = s.listened.track(ctx)
		context.AfterFunc(c.ctx, func() { _ = c.conn.Close() })
		return c.conn, nil
	}
	opt.MinIdleConns = 0
	s.listen = redis.NewClient(&opt)
}

// listenAt returns the address for a new connection of a listener: that of a node that is
// up, if there is one. In a cluster any node will do, since messages reach all nodes.
func (s *Store) listenAt() (string, error) {
	nodes := s.nodes()
	for _, n := range nodes {
		if n.condition.Load().up {
			return n.reach()
		}
	}
	if len(nodes) == 0 {
		return "", s.ring.trouble()
	}
	return nodes[0].reach()
}

// receives reports whether published messages reach the server at addr, as far as is known:
// a node that left its cluster, or that is cut off from it, does not receive them.
func (s *Store) receives(addr string) bool {
	other := false
	for _, n := range s.nodes() {
		up := n.condition.Load().up
		if at, err := n.reach(); err == nil && at == addr && up {
			return true
		}
		other = other || up
	}
	return !other
}
