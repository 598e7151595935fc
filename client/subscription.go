package client

import (
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"time"

	"github.com/hashicorp/go-msgpack/v2/codec"

	"github.com/coxswain-sidecar/coxswain/client/api"
)

// A subscription belongs to one connection. The sidecar returns its id, sends its messages as
// notifications that contain the id as "subscription", and ends it with the connection. This
// file gives those notifications to the subscriber. The noun decides what is kept of them, and
// what happens when the connection has ended.

// subscriber receives the notifications of one subscription.
type subscriber interface {
	// hear is given a notification whose params are valid until it returns, and the decoder
	// for them. It is called on the goroutine that reads the connection, so it must not block and
	// must not use the connection. After an error the connection is closed.
	hear(method string, params []byte, d *codec.Decoder) error
	// ended is called once, when the connection has ended. hear is not called after it.
	ended(err error)
}

// opening describes how to subscribe.
type opening struct {
	// subscribe and unsubscribe are methods: the result of subscribe has the id of the
	// subscription, which unsubscribe takes.
	subscribe, unsubscribe string
	params                 any
	to                     subscriber
	// leased: a message stays with the connection until it is acknowledged or given back.
	leased bool
}

// subscriptions are those of one connection; its mutex guards them.
type subscriptions struct {
	by map[string]subscriber
	// unanswered counts the calls that subscribe and have no reply yet. While there are any, early
	// keeps the notifications of unknown subscriptions, which have earlyBytes together: the first
	// notifications of a subscription may be read before the reply that contains its id.
	unanswered int
	early      []earlyNotification
	earlyBytes int
}

type earlyNotification struct {
	id, method string
	params     []byte
}

// maxEarlyBytes bounds the notifications that are kept until a call that subscribes is answered.
const maxEarlyBytes = 8 << 20

var errTooEarly = errors.New("the sidecar sent more than 8 MiB for a subscription before the reply that has its id")

// subscribed is a subscription of one connection.
type subscribed struct {
	cn          *conn
	id          string
	unsubscribe string
}

// open subscribes on any connection, within Options.Timeout if ctx has no deadline.
func (c *Client) open(ctx context.Context, o *opening) (*subscribed, error) {
	ctx, cancel := c.withDeadline(ctx)
	defer cancel()
	for {
		cn, err := c.await(ctx, nil, nil, c.live)
		if err != nil {
			return nil, fmt.Errorf("%s: %w", o.subscribe, err)
		}
		var r openedResult
		err = c.invoke(ctx, invocation{method: o.subscribe, ownID: true, params: o.params, result: &r, on: cn, opens: o})
		var broken *brokenError
		switch {
		case errors.As(err, &broken):
			continue // the subscription, if any, ended with the connection; await ends with ctx
		case err != nil:
			return nil, err
		}
		return &subscribed{cn, r.Subscription, o.unsubscribe}, nil
	}
}

// openAgain repeats open until it succeeds, for a subscription whose connection has ended. Its
// error is that of ctx, ErrClosed, or a refusal that a further try would not change.
func (c *Client) openAgain(ctx context.Context, o *opening) (*subscribed, error) {
	for pause := firstPause; ; pause = min(2*pause, longestPause) {
		s, err := c.open(ctx, o)
		var refused *api.Error
		switch {
		case err == nil, ctx.Err() != nil, errors.Is(err, ErrClosed), errors.As(err, &refused) && !refused.Retryable && refused.Code != api.DeadlineExceeded:
			return s, err
		}
		c.o.Logger.Debug("cannot subscribe again", "method", o.subscribe, "err", err)
		select {
		case <-time.After(pause/2 + rand.N(pause)):
		case <-ctx.Done():
		case <-c.ctx.Done():
		}
	}
}

// close unsubscribes, also if ctx has ended. The subscriber stays registered until then: notifications without one go to
// Options.OnEvent.
func (s *subscribed) close(ctx context.Context) error {
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), releaseTime)
	defer cancel()
	defer s.cn.unregister(s.id)
	err := s.cn.c.invoke(ctx, invocation{
		method: s.unsubscribe, idempotent: true, params: &api.PubsubUnsubscribeParams{Subscription: s.id}, on: s.cn,
	})
	var broken *brokenError
	if errors.As(err, &broken) {
		return nil // it ended with the connection
	}
	return err
}

// openedResult is the part of a result that has the id of a subscription, for all nouns.
type openedResult struct {
	Subscription string `codec:"subscription"`
}

// opened registers the subscription whose id a reply has, and gives it the early notifications.
// The reader calls it with cn.mu held, before it reads on.
func (cn *conn) opened(cl *call, reply []byte) (err error) {
	o := cl.opens
	if o == nil {
		return nil
	}
	var r openedResult
	switch {
	case decodeReply(cn.dec, reply, &r, "") != nil || r.Subscription == "": // the caller gets the error
	case cl.gone:
		err = cn.register(&refusal{cn, o.leased}, r.Subscription)
		go func() {
			if err := (&subscribed{cn, r.Subscription, o.unsubscribe}).close(context.Background()); err != nil {
				cn.c.o.Logger.Debug("unsubscribing failed; the subscription ends with the connection", "method", o.unsubscribe, "err", err)
			}
		}()
	default:
		err = cn.register(o.to, r.Subscription)
	}
	if cn.subs.unanswered--; cn.subs.unanswered == 0 {
		cn.subs.early, cn.subs.earlyBytes = nil, 0
	}
	return err
}

// register registers the subscriber of a subscription, and gives it the early notifications.
func (cn *conn) register(to subscriber, id string) (err error) {
	if cn.subs.by == nil {
		cn.subs.by = make(map[string]subscriber)
	}
	cn.subs.by[id] = to
	for _, e := range cn.subs.early {
		if e.id == id && err == nil {
			err = to.hear(e.method, e.params, cn.dec)
		}
	}
	return err
}

func (cn *conn) unregister(id string) {
	cn.mu.Lock()
	defer cn.mu.Unlock()
	delete(cn.subs.by, id)
}

// refusal is the subscriber of a subscription whose caller has gone before the reply came. It gives messages back, since
// the sidecar would keep them for this connection as long as that is open.
type refusal struct {
	cn     *conn
	leased bool
}

func (r *refusal) hear(method string, params []byte, d *codec.Decoder) error {
	if !r.leased || method != api.StreamMessageEvent.Name {
		return nil
	}
	var m api.StreamMessage
	if err := decode(d, params, &m); err != nil {
		return err
	}
	go func() {
		ctx, cancel := context.WithTimeout(context.Background(), releaseTime)
		defer cancel()
		err := r.cn.c.invoke(ctx, invocation{method: api.StreamNack.Name, idempotent: true, params: unstarted(m.Stream, m.Group, m.ID), on: r.cn})
		if err != nil {
			r.cn.c.o.Logger.Debug("a message was not given back; it is when the connection ends", "id", m.ID, "err", err)
		}
	}()
	return nil
}

func (*refusal) ended(error) {}

// forSubscriber gives a notification to its subscriber. It returns false if the notification
// belongs to no subscription that is known or may become known.
func (cn *conn) forSubscriber(method string, params []byte) (bool, error) {
	id, ok := subscriptionIn(params)
	if !ok {
		return false, nil
	}
	cn.mu.Lock()
	to := cn.subs.by[id]
	if to == nil && cn.subs.unanswered > 0 {
		defer cn.mu.Unlock()
		cn.subs.early = append(cn.subs.early, earlyNotification{id, method, append([]byte(nil), params...)})
		if cn.subs.earlyBytes += len(params); cn.subs.earlyBytes > maxEarlyBytes {
			return true, errTooEarly
		}
		return true, nil
	}
	cn.mu.Unlock()
	if to == nil {
		return false, nil
	}
	return true, to.hear(method, params, cn.dec)
}

// subscriptionIn returns the id of the subscription in params.
func subscriptionIn(params []byte) (id string, ok bool) {
	r := cursor{params}
	n, ok := r.pairs()
	if !ok {
		return "", false
	}
	for range n {
		key, ok := r.bytes()
		if !ok {
			return "", false
		}
		if string(key) == "subscription" {
			return r.text()
		}
		if !r.skip() {
			return "", false
		}
	}
	return "", false
}

// listens reports whether notifications must be received at once; the caller holds cn.mu.
func (cn *conn) listens() bool { return len(cn.held) > 0 || len(cn.subs.by) > 0 }
