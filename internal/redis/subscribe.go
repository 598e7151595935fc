package redis

import (
	"context"
	"net"
	"sync"
	"time"

	"github.com/redis/go-redis/v9"
)

// Subscriber receives what arrives on its channels, on one goroutine. It must not
// block.
type Subscriber struct {
	Message func(channel, payload string)
	// Subscribed is called whenever all channels have been subscribed to, also the
	// first time. Messages that were sent before that are lost.
	Subscribed func()
}

const (
	// listenCheck is how often a subscription without messages is pinged, and how long
	// the answer may take.
	listenCheck = time.Second
	// listenBuffer is how many messages may wait for the subscriber.
	listenBuffer = 1024
)

// Subscribe listens on channels over a connection of its own, which is made again
// whenever it breaks, until stop is called or the store is closed. It returns before
// the subscription is made. After stop has returned the subscriber is not called any
// more. Neither waits for Redis.
func (s *Store) Subscribe(channels []string, to Subscriber) (stop func()) {
	sub := s.listen.Subscribe(s.ctx) // to nothing yet: that would connect here
	var mu sync.Mutex                // guards stopped; held while the subscriber is told
	stopped := false
	s.wg.Go(func() {
		_ = sub.Subscribe(s.ctx, channels...) // one that fails is made again by who receives
		made := 0
		for m := range sub.ChannelWithSubscriptions(redis.WithChannelSize(listenBuffer),
			redis.WithChannelHealthCheckInterval(listenCheck), redis.WithChannelPingTimeout(listenCheck)) {
			mu.Lock()
			switch m := m.(type) {
			case *redis.Message:
				if !stopped {
					to.Message(m.Channel, m.Payload)
				}
			case *redis.Subscription:
				if made++; made%len(channels) == 0 && !stopped {
					to.Subscribed()
				}
			}
			mu.Unlock()
		}
	})
	// Close of a subscription waits for a connection that is being made, so that it
	// needs a goroutine.
	closed := context.AfterFunc(s.ctx, func() { _ = sub.Close() })
	return func() {
		mu.Lock()
		stopped = true
		mu.Unlock()
		if closed() {
			go func() { _ = sub.Close() }()
		}
	}
}

// listener makes the client of subscriptions. Their connections carry no scripts and
// are read and written at the same time, so that they are tracked without a record of
// what may have run. In a cluster any node will do: messages reach all nodes.
func (s *Store) listener() {
	s.listened = newConns(func(ctx context.Context) (net.Conn, error) {
		addr, err := s.listenAt()
		if err != nil {
			return nil, err
		}
		return s.connector.dial(ctx, addr)
	})
	opt := s.connector.options(s.address)
	opt.Dialer = func(ctx context.Context, _, _ string) (net.Conn, error) {
		ctx, cancel := context.WithCancel(ctx)
		defer cancel()
		defer context.AfterFunc(s.ctx, cancel)()
		return s.listened.track(ctx), nil
	}
	opt.MinIdleConns = 0
	s.listen = redis.NewClient(&opt)
}

// listenAt is the address for a new subscription: a node that is up, if there is one.
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
