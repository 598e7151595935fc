package client

import (
	"bytes"
	"context"
	"fmt"
	"sync"

	"github.com/hashicorp/go-msgpack/v2/codec"

	"github.com/coxswain-sidecar/coxswain/client/api"
)

// PubsubPublish sends a message to those who are subscribed to a channel now. Body is any
// bytes, at most 256 KiB. The message is not kept. It returns how many sidecars were told, on
// the Redis node that was asked.
//
// Errors are those of Call. The call is not repeated when its connection breaks, so that
// nobody gets the message twice: the error is then an *api.Error that is api.Unavailable and
// MaybeExecuted. With WithRequestID it is repeated, and carried out once.
func (c *Client) PubsubPublish(ctx context.Context, channel string, body []byte) (receivers int64, err error) {
	if _, ok := ctx.Value(requestIDKey{}).(string); !ok {
		ctx = WithRequestID(ctx, "")
	}
	r, err := Call(ctx, c, api.PubsubPublish, api.PubsubPublishParams{Channel: channel, Body: body})
	return r.Receivers, err
}

// PubsubOptions say what to hear of.
type PubsubOptions struct {
	// Channels and Patterns name what is heard, 1 to 256 of both together. A pattern is a glob
	// as of Redis: * ? [ab] and a backslash before what stands for itself.
	Channels, Patterns []string
	// Buffer is how many messages may wait for the function, here and as many in the sidecar;
	// 0 = 1000, at most 100000. Here they may also have 8 MiB together.
	Buffer int
	// OnGap is called when messages were missed, in their place among the others: so many that
	// were dropped because they were not read quickly enough, or -1 if it is not known how
	// many, since Redis or the sidecar was not reached for a while. After a -1 it is subscribed
	// again: what is read from elsewhere now misses nothing. Nil = gaps are not told.
	OnGap func(dropped int64)
	// OnSubscribed is called when messages will be heard from now on: first, and whenever the
	// connection to the sidecar was made again. Nil = nobody is told.
	OnSubscribed func()
}

// PubsubSubscribe calls fn for each message of channels, one after the other, until ctx ends
// or fn returns an error, which it returns. A message comes at most once; one that matches
// several channels and patterns comes once for each. OnGap and OnSubscribed are called on the
// same goroutine.
//
// When the connection to the sidecar breaks it subscribes on the next one, for as long as that
// takes, and OnGap is told -1. Errors are those of Call, of the first subscription or of a
// later one that the sidecar refuses for good; the error of ctx; ErrClosed.
func (c *Client) PubsubSubscribe(ctx context.Context, o PubsubOptions, fn func(context.Context, api.PubsubMessage) error) error {
	f := newPubsubFeed(o.Buffer)
	open := &opening{
		subscribe: api.PubsubSubscribe.Name, unsubscribe: api.PubsubUnsubscribe.Name, to: f,
		params: &api.PubsubSubscribeParams{Channels: o.Channels, Patterns: o.Patterns, Buffer: int64(o.Buffer)},
	}
	s, err := c.open(ctx, open)
	for again := false; err == nil; again = true {
		if o.OnSubscribed != nil {
			o.OnSubscribed()
		}
		if again && o.OnGap != nil {
			o.OnGap(-1)
		}
		if err := c.serve(ctx, s, f, o, fn); err != nil {
			return err
		}
		s, err = c.openAgain(ctx, open)
	}
	return err
}

// serve calls fn until the connection of the subscription has ended, or else returns why it
// does not go on.
func (c *Client) serve(
	ctx context.Context, s *subscribed, f *pubsubFeed, o PubsubOptions, fn func(context.Context, api.PubsubMessage) error,
) error {
	defer func() { // also when fn panics
		if err := s.close(ctx); err != nil {
			c.o.Logger.Debug("a subscription was not ended; it ends with the connection", "err", err)
		}
	}()
	for {
		next, ok := f.next()
		switch {
		case !ok && next.down:
			return nil
		case !ok:
			select {
			case <-f.more:
			case <-ctx.Done():
			case <-c.ctx.Done():
				return fmt.Errorf("%s: %w", api.PubsubSubscribe.Name, ErrClosed)
			}
		case next.dropped != 0:
			if o.OnGap != nil {
				o.OnGap(next.dropped)
			}
		default:
			if err := fn(ctx, next.message); err != nil {
				return err
			}
		}
		if err := ctx.Err(); err != nil {
			return fmt.Errorf("%s: %w", api.PubsubSubscribe.Name, err)
		}
	}
}

const (
	defaultPubsubBuffer = 1000
	// maxFeedBytes bounds the bodies that wait for the program, of one subscription.
	maxFeedBytes = 8 << 20
)

// pubsubFeed is what the program has not taken so far. What does not fit is dropped and
// becomes a gap in its place.
type pubsubFeed struct {
	most int           // messages
	more chan struct{} // filled when there is something to take; has room for one

	mu       sync.Mutex // guards what follows
	queue    []pubsubItem
	messages int
	bytes    int
	down     bool // the connection has ended
}

// pubsubItem is a message or a gap.
type pubsubItem struct {
	message api.PubsubMessage
	dropped int64 // 0 = it is a message
	down    bool  // there is nothing more to come
}

func newPubsubFeed(buffer int) *pubsubFeed {
	if buffer == 0 {
		buffer = defaultPubsubBuffer
	}
	return &pubsubFeed{most: buffer, more: make(chan struct{}, 1)}
}

func (f *pubsubFeed) hear(method string, params []byte, d *codec.Decoder) error {
	switch method {
	case api.PubsubMessageEvent.Name:
		var m api.PubsubMessage
		if err := decode(d, params, &m); err != nil {
			return err
		}
		m.Body = bytes.Clone(m.Body) // it may lie in the read buffer
		f.add(m)
	case api.PubsubGapEvent.Name:
		var g api.PubsubGap
		if err := decode(d, params, &g); err != nil {
			return err
		}
		f.mu.Lock()
		f.gap(g.Dropped)
		f.mu.Unlock()
	}
	return nil
}

// add queues a message, or drops it.
func (f *pubsubFeed) add(m api.PubsubMessage) {
	f.mu.Lock()
	defer f.mu.Unlock()
	size := len(m.Body) + len(m.Channel)
	if f.messages >= f.most || f.bytes+size > maxFeedBytes && f.messages > 0 {
		f.gap(1)
		return
	}
	f.messages++
	f.bytes += size
	f.push(pubsubItem{message: m})
}

// gap queues a gap, as a part of the one before it if nothing is between them.
func (f *pubsubFeed) gap(dropped int64) {
	if n := len(f.queue); n > 0 && f.queue[n-1].dropped != 0 {
		if last := &f.queue[n-1].dropped; *last < 0 || dropped < 0 {
			*last = -1 // what is not known stays so
		} else {
			*last += dropped
		}
		return
	}
	f.push(pubsubItem{dropped: dropped})
}

func (f *pubsubFeed) push(i pubsubItem) {
	f.queue = append(f.queue, i)
	f.wake()
}

func (f *pubsubFeed) wake() {
	select {
	case f.more <- struct{}{}:
	default:
	}
}

func (f *pubsubFeed) ended(error) {
	f.mu.Lock()
	defer f.mu.Unlock()
	f.down = true
	f.wake()
}

// next takes what is first. False = there is nothing; whether more may come says down, of
// which it tells once.
func (f *pubsubFeed) next() (pubsubItem, bool) {
	f.mu.Lock()
	defer f.mu.Unlock()
	if len(f.queue) == 0 {
		down := f.down
		f.queue, f.down = nil, false
		return pubsubItem{down: down}, false
	}
	i := f.queue[0]
	f.queue[0] = pubsubItem{}
	f.queue = f.queue[1:]
	if i.dropped == 0 {
		f.messages--
		f.bytes -= len(i.message.Body) + len(i.message.Channel)
	}
	return i, true
}
