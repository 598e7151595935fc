package lua

import (
	"context"
	"net"
	"sync"
	"time"

	"github.com/redis/go-redis/v9"
)

// Subscriber is told what arrives on its channels, on one goroutine: it must
// not block.
type Subscriber struct {
	Message func(channel, payload string)
	// Subscribed is called whenever the subscription to all channels was made,
	// the first time included: whatever was sent before is lost.
	Subscribed func()
}

const (
	// listenCheck is how often a silent subscription is asked for a sign of life,
	// and for how long it may owe one.
	listenCheck = time.Second
	// listenBuffer is how many messages may wait for the subscriber.
	listenBuffer = 1024
)

// Subscribe listens on channels until stop is called or the runner is closed,
// over a connection of its own that is made again whenever it breaks. It returns
// before the subscription is made, and stop when the subscriber is told no more:
// neither waits for Redis.
func (r *Runner) Subscribe(channels []string, s Subscriber) (stop func()) {
	sub := r.listen.Subscribe(r.ctx) // to nothing yet: that would connect here
	var mu sync.Mutex                // guards stopped; held while the subscriber is told
	stopped := false
	r.wg.Go(func() {
		_ = sub.Subscribe(r.ctx, channels...) // one that fails is made again by who receives
		made := 0
		for m := range sub.ChannelWithSubscriptions(redis.WithChannelSize(listenBuffer),
			redis.WithChannelHealthCheckInterval(listenCheck), redis.WithChannelPingTimeout(listenCheck)) {
			mu.Lock()
			switch m := m.(type) {
			case *redis.Message:
				if !stopped {
					s.Message(m.Channel, m.Payload)
				}
			case *redis.Subscription:
				if made++; made%len(channels) == 0 && !stopped {
					s.Subscribed()
				}
			}
			mu.Unlock()
		}
	})
	// Closing waits for a connection that is being made.
	closed := context.AfterFunc(r.ctx, func() { _ = sub.Close() })
	return func() {
		mu.Lock()
		stopped = true
		mu.Unlock()
		if closed() {
			go func() { _ = sub.Close() }()
		}
	}
}

// listener makes the client of subscriptions. They read and write side by side,
// and carry no scripts, so that their connections keep no account of what may
// have run. In a cluster any node will do: messages reach all of them.
func (r *Runner) listener() {
	r.listened = newConns(func(ctx context.Context) (net.Conn, error) {
		addr, err := r.listenAt()
		if err != nil {
			return nil, err
		}
		return r.connector.dial(ctx, addr)
	})
	opt := r.connector.options(r.address)
	opt.Dialer = func(ctx context.Context, _, _ string) (net.Conn, error) {
		ctx, cancel := context.WithCancel(ctx)
		defer cancel()
		defer context.AfterFunc(r.ctx, cancel)()
		return r.listened.track(ctx), nil
	}
	opt.MinIdleConns = 0
	r.listen = redis.NewClient(&opt)
}

// listenAt is where a subscription goes now: to a node that is up, if one is.
func (r *Runner) listenAt() (string, error) {
	nodes := r.nodes()
	for _, n := range nodes {
		if n.condition.Load().up {
			return n.reach()
		}
	}
	if len(nodes) == 0 {
		return "", r.ring.trouble()
	}
	return nodes[0].reach()
}
