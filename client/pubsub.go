package client

import (
	"bytes"
	"context"
	"fmt"
	"sync"

	"github.com/hashicorp/go-msgpack/v2/codec"

	"github.com/coxswain-sidecar/coxswain/client/api"
)

// PubsubPublish sends a message to the present subscribers of a channel. The body is any
// bytes, at most 256 KiB. The message is not kept. PubsubPublish returns how many sidecars the
// Redis node that was asked sent the message to.
//
// Errors are those of Call. The call is not repeated when its connection breaks, so that no
// subscriber gets the message twice: the error is then an *api.Error that is api.Unavailable and
// MaybeExecuted. With WithRequestID the call is repeated, and executed once.
func (c *Client) PubsubPublish(ctx context.Context, channel string, body []byte) (receivers int64, err error) {
	if _, ok := ctx.Value(requestIDKey{}).(string); !ok {
		ctx = WithRequestID(ctx, "")
	}
	r, err := Call(ctx, c, api.PubsubPublish, api.PubsubPublishParams{Channel: channel, Body: body})
	return r.Receivers, err
}

// PubsubOptions select the messages of a subscription, and set how they are delivered.
type PubsubOptions struct {
	// Channels and Patterns are what to subscribe to, 1 to 256 of both together. A pattern is a
	// glob as in Redis: * ? [ab], and a backslash before a character that stands for itself.
	Channels, Patterns []string
	// Buffer is how many messages may wait for the function in the client, and again in the
	// sidecar; 0 = 1000, at most 100000. Those in the client may have at most 8 MiB together.
	Buffer int
	// OnGap, if not nil, is called when messages were missed, between the messages before and
	// after them. dropped is how many were dropped because they were not handled fast enough, or
	// -1 if the number is unknown, because Redis or the sidecar was unreachable for a while. When
	// it is called with -1 the subscription is in force again: state that the function reads from
	// elsewhere now and the messages that follow leave no gap.
	OnGap func(dropped int64)
	// OnSubscribed, if not nil, is called when the subscription is in force: first, and each time
	// after the connection to the sidecar was made again.
	OnSubscribed func()
}

// PubsubSubscribe calls fn for each message of the channels, one after the other, until ctx ends
// or fn returns an error, which it returns. A message is delivered at most once; one that matches
// several channels and patterns is delivered once for each. OnGap and OnSubscribed are called on
// the same goroutine.
//
// When the connection to the sidecar breaks, PubsubSubscribe subscribes on the next one, however
// long that takes, and calls OnGap with -1. Its other errors are those of Call, for the first
// subscription or for a later one that the sidecar refuses for good; the error of ctx; ErrClosed.
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

// serve calls fn for messages. It returns nil when the connection of the subscription has
// ended, or else the error that ends PubsubSubscribe.
func (c *Client) serve(
	ctx context.Context, s *subscribed, f *pubsubFeed, o PubsubOptions, fn func(context.Context, api.PubsubMessage) error,
) error {
	defer func() { // also when fn panics
		if err := s.close(ctx); err != nil {
			c.o.Logger.Debug("unsubscribing failed; the subscription ends with the connection", "err", err)
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
	// maxFeedBytes bounds the bodies of the messages of one subscription that wait for the function.
	maxFeedBytes = 8 << 20
)

// pubsubFeed is the messages of a subscription that wait for the function. A message that does
// not fit is dropped, and becomes a gap in its place.
type pubsubFeed struct {
	most int           // messages
	more chan struct{} // filled when there is something to take; has a capacity of 1

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
	down    bool  // the connection has ended, and nothing follows
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
		m.Body = bytes.Clone(m.Body) // it may be a part of the read buffer
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

// gap queues a gap, or adds it to the previous gap if there is no message in between.
func (f *pubsubFeed) gap(dropped int64) {
	if n := len(f.queue); n > 0 && f.queue[n-1].dropped != 0 {
		if last := &f.queue[n-1].dropped; *last < 0 || dropped < 0 {
			*last = -1 // an unknown number stays unknown
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

// next takes the first item. It returns false if there is none; its item is then down, once,
// if the connection has ended.
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
