package client

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"runtime/debug"
	"strings"
	"sync"
	"sync/atomic"
	"time"
	"unicode/utf8"

	"github.com/coxswain-sidecar/coxswain/client/api"
)

// StreamOptions set how a group's messages are delivered. With the zero StreamOptions a new group
// begins with the oldest message, and messages are processed one at a time.
type StreamOptions struct {
	// Concurrency is how many messages are processed at once; 0 = 1.
	Concurrency int
	// Prefetch is how many unacknowledged messages this client may have, 1 to 1000; 0 =
	// Concurrency. With more than Concurrency, the next message is already here when a function
	// ends, so the next function need not wait for the acknowledgement of the one before.
	Prefetch int
	// MaxDeliveries is how many times a message is delivered before it becomes a dead letter; 0 = 5.
	MaxDeliveries int
	// Visibility is the visibility timeout: how long a message stays delivered to this client unless
	// it is extended; 0 = a minute. It is extended for as long as the function runs.
	Visibility time.Duration
	// Bind is api.BindSession or api.BindTTL. With api.BindSession, the default, the sidecar
	// extends messages while the connection is open. With api.BindTTL this client extends them, so
	// that a program that hangs as a whole loses its messages. In both cases they are delivered
	// again when the connection closes.
	Bind string
	// Start is where the group begins if this subscription creates it: first, the default, with the
	// oldest message, or new, with messages published from now on.
	Start string
	// Rule and Key are given together: a message is delivered only when this rule admits the value
	// of its field Key, and messages with the same value are delivered one at a time, in their order.
	// All consumers of a group must name the same field.
	Rule, Key string
	// Grace is how long running functions have to end after the context of the subscription
	// has ended; 0 = 10 s. After that their contexts end too.
	Grace time.Duration
	// OnSubscribed, if not nil, is called when the subscription is in force: first, and each time
	// after the connection to the sidecar was made again.
	OnSubscribed func()
}

const (
	defaultGrace      = 10 * time.Second
	defaultVisibility = time.Minute
	defaultDeliveries = 5
	maxReason         = 1000 // bytes
)

// NackError is an error that the function of StreamSubscribe can return, alone or wrapped, to
// choose what happens to its message.
type NackError struct {
	// Err is the cause.
	Err error
	// Delay is the time until the next delivery, at most 24 h; 0 = as after other errors.
	Delay time.Duration
	// Dead makes the message a dead letter at once, for failures that no further attempt can change.
	Dead bool
}

// Error implements error.
func (e *NackError) Error() string {
	if e.Err == nil {
		return "not processed"
	}
	return e.Err.Error()
}

// Unwrap returns the cause.
func (e *NackError) Unwrap() error { return e.Err }

// StreamSubscribe calls fn for each message of a group of a stream, up to o.Concurrency at once,
// until ctx ends. A message is delivered at least once: it is delivered again after a failure, and
// possibly when a connection breaks or Redis fails over.
//
// If fn returns nil, the message is acknowledged. After an error it is delivered again, with a
// delay that doubles with each attempt or that a *NackError sets. After its last attempt it becomes
// a dead letter, which keeps the text of the error. A panic of fn is recovered and logged, and
// counts as an error.
//
// The context that fn gets has the values of ctx and, with a Tracer, the span of the processing,
// which is linked to the span of the publisher. It ends with a cause that is ErrLost when the
// message is lost or the connection breaks: another consumer may then have the message. It does
// not end with ctx, so that fn can finish its work. After ctx has ended, fn is called only for
// messages on their last attempt. Functions that run have o.Grace to end; then their contexts end
// too. StreamSubscribe returns when all functions have ended, or 2 s after the grace.
//
// When the connection to the sidecar breaks, StreamSubscribe subscribes on the next one, however
// long that takes. Its errors are those of Call, for the first subscription or for a later one that
// the sidecar refuses for good; the error of ctx; ErrClosed.
func (c *Client) StreamSubscribe(
	ctx context.Context, stream, group string, o StreamOptions, fn func(context.Context, api.StreamMessage) error,
) error {
	o.Concurrency = max(o.Concurrency, 1)
	o.Prefetch = cmp.Or(o.Prefetch, o.Concurrency)
	o.Grace = cmp.Or(o.Grace, defaultGrace)
	s := newConsumer(ctx, c, stream, group, o, fn)
	open := &opening{
		subscribe: api.StreamSubscribe.Name, unsubscribe: api.StreamUnsubscribe.Name, to: s.feed, leased: true,
		params: &api.StreamSubscribeParams{
			Stream: stream, Group: group, Prefetch: int64(o.Prefetch), MaxDeliveries: int64(o.MaxDeliveries),
			VisibilityMS: api.Millis(o.Visibility), Bind: o.Bind, Start: o.Start, Rule: o.Rule, Key: o.Key,
		},
	}
	sub, err := c.open(ctx, open)
	for err == nil {
		if o.OnSubscribed != nil {
			o.OnSubscribed()
		}
		if err = s.serve(ctx, sub); err == nil { // its connection has ended
			sub, err = c.openAgain(ctx, open)
		}
	}
	if running := s.drain(err); running > 0 {
		err = errors.Join(err, fmt.Errorf("%s: %d functions have not ended, or the sidecar did not receive the outcome of their messages",
			api.StreamSubscribe.Name, running))
	}
	if sub != nil {
		sub.cn.unregister(sub.id)
	}
	return err
}

// consumer is one StreamSubscribe.
type consumer struct {
	c             *Client
	stream, group string
	o             StreamOptions
	fn            func(context.Context, api.StreamMessage) error
	feed          *streamFeed
	ctx           context.Context // the parent of the functions' contexts; ends when the grace is over
	stop          context.CancelCauseFunc
	ending        sync.Once     // starts the grace
	running       chan struct{} // has one item for each function that runs; its capacity is Concurrency

	// unsettled counts the messages whose function was started and whose outcome the sidecar has not
	// received. settled waits until there are none. Only the goroutine that starts functions adds to them.
	unsettled atomic.Int64
	settled   sync.WaitGroup
}

func newConsumer(
	ctx context.Context, c *Client, stream, group string, o StreamOptions, fn func(context.Context, api.StreamMessage) error,
) *consumer {
	s := &consumer{c: c, stream: stream, group: group, o: o, fn: fn, running: make(chan struct{}, o.Concurrency)}
	s.ctx, s.stop = context.WithCancelCause(context.WithoutCancel(ctx))
	s.feed = newStreamFeed(s.ctx)
	return s
}

// serve starts functions. It returns nil when the connection of the subscription has ended, or
// else the error that ends StreamSubscribe.
func (s *consumer) serve(ctx context.Context, sub *subscribed) error {
	if s.o.Bind == api.BindTTL {
		go s.extend(sub)
	}
	for {
		select { // comes before a message is taken, which would otherwise wait without a function
		case s.running <- struct{}{}:
		case <-sub.cn.dead:
			s.feed.wait()
			return nil
		case <-ctx.Done():
			return s.leave(sub, ctx.Err())
		case <-s.c.ctx.Done():
			return s.leave(sub, ErrClosed)
		}
		d := s.next(ctx)
		if d != nil {
			s.start(sub.cn, d)
			continue
		}
		<-s.running
		switch {
		case ctx.Err() != nil:
			return s.leave(sub, ctx.Err())
		case s.c.ctx.Err() != nil:
			return s.leave(sub, ErrClosed)
		}
		return nil
	}
}

// next waits for a message; nil = none will come, or no function is to be started.
func (s *consumer) next(ctx context.Context) *delivery {
	for ctx.Err() == nil && s.c.ctx.Err() == nil {
		d, down := s.feed.next()
		if d != nil || down {
			return d
		}
		select {
		case <-s.feed.more:
		case <-ctx.Done():
		case <-s.c.ctx.Done():
		}
	}
	return nil
}

// leave ends the subscription. It gives back delivered messages whose function was not started,
// except those that would become dead letters by that: their functions are still run.
func (s *consumer) leave(sub *subscribed, why error) error {
	s.end(why)
	ctx, cancel := context.WithTimeout(context.WithoutCancel(s.ctx), releaseTime)
	defer cancel()
	// The feed stays subscribed: messages that the sidecar sends before its answer belong to this connection.
	err := s.c.invoke(ctx, invocation{
		method: api.StreamUnsubscribe.Name, idempotent: true, params: &api.StreamUnsubscribeParams{Subscription: sub.id}, on: sub.cn,
	})
	if err != nil && s.c.ctx.Err() == nil {
		s.c.o.Logger.Debug("unsubscribing failed; the subscription ends with the connection", "err", err)
	}
	last := int64(cmp.Or(s.o.MaxDeliveries, defaultDeliveries))
	for {
		d, _ := s.feed.next()
		if d == nil {
			return fmt.Errorf("%s: %w", api.StreamSubscribe.Name, why)
		}
		if d.Attempt < last {
			s.giveBack(sub.cn, d)
			continue
		}
		select {
		case s.running <- struct{}{}:
			s.start(sub.cn, d)
		case <-s.ctx.Done():
			s.giveBack(sub.cn, d)
		}
	}
}

// end starts the grace period of the running functions.
func (s *consumer) end(why error) {
	s.ending.Do(func() { time.AfterFunc(s.o.Grace, func() { s.stop(why) }) })
}

// drain waits until the running functions have ended and the sidecar has received the outcomes
// of their messages: for the grace period and releaseTime more. It returns how many are left.
func (s *consumer) drain(why error) (left int) {
	s.end(why)
	over, closed, settled := s.ctx.Done(), s.c.ctx.Done(), make(chan struct{})
	go func() { s.settled.Wait(); close(settled) }()
	var last <-chan time.Time
	for {
		select {
		case <-settled:
			s.stop(why)
			return 0
		case <-last:
			return int(s.unsettled.Load())
		case <-over:
		case <-closed:
			s.stop(ErrClosed)
		}
		over, closed, last = nil, nil, time.After(releaseTime)
	}
}

var errNotReturned = errors.New("the function ended its goroutine")

// start runs the function for a message, for which s.running has an item. The next function may
// run while the outcome of this one is sent to the sidecar; Prefetch bounds how many outcomes are.
func (s *consumer) start(cn *conn, d *delivery) {
	s.unsettled.Add(1)
	s.settled.Add(1)
	go s.run(cn, d)
}

func (s *consumer) run(cn *conn, d *delivery) {
	ctx, traced := d.ctx, false
	if s.c.o.Tracer != nil {
		ctx, traced = s.c.o.Tracer.StartMessage(ctx, d.Traceparent)
	}
	err := errNotReturned
	defer func() { // also when the function panics, or ends its goroutine
		if p := recover(); p != nil {
			s.c.o.Logger.Error("the function for a message panicked; the message is delivered again",
				"stream", s.stream, "group", s.group, "id", d.ID, "panic", p, "stack", string(debug.Stack()))
			err = fmt.Errorf("panic: %v", p)
		}
		if traced {
			failed := ""
			if err != nil {
				failed = "nack" // not the text of the error, which may contain parts of the message
			}
			s.c.o.Tracer.End(ctx, failed)
		}
		<-s.running
		s.report(cn, d, err)
		s.unsettled.Add(-1)
		s.settled.Done()
	}()
	err = s.fn(ctx, d.StreamMessage)
}

// report sends the outcome of a function to the sidecar.
func (s *consumer) report(cn *conn, d *delivery, err error) {
	switch {
	case err == nil:
		// Also if it was lost, so that another consumer need not process it again.
		s.settle(cn, d, api.StreamAck.Name, &api.StreamMessageParams{Stream: s.stream, Group: s.group, ID: d.ID})
		return
	case errors.Is(context.Cause(d.ctx), ErrLost):
		return // another consumer may have it, and reports the outcome
	}
	p := s.params(d)
	p["reason"] = reasonOf(err)
	var nack *NackError
	if errors.As(err, &nack) {
		p["dead"] = nack.Dead
		if nack.Delay > 0 {
			p["delay_ms"] = api.Millis(nack.Delay)
		}
	}
	s.settle(cn, d, api.StreamNack.Name, p)
}

// params returns the params that identify a message.
func (s *consumer) params(d *delivery) map[string]any {
	return map[string]any{"stream": s.stream, "group": s.group, "id": d.ID}
}

// giveBack gives back a message whose function was not started, so that it is delivered again at once.
func (s *consumer) giveBack(cn *conn, d *delivery) {
	s.settle(cn, d, api.StreamNack.Name, unstarted(s.stream, s.group, d.ID))
}

// unstarted returns the params that nack a message which no function was started for.
func unstarted(stream, group, id string) map[string]any {
	return map[string]any{
		"stream": stream, "group": group, "id": id, "delay_ms": 0, "reason": "the consumer ended before it processed the message",
	}
}

// settle sends the outcome of a message to the sidecar. It tries again as long as that fails,
// because the message would otherwise stay delivered to this connection for as long as it is open.
// If the connection has ended, the sidecar has given the message back. An acknowledgement is then
// still sent on another connection, so that the message is not delivered again.
func (s *consumer) settle(cn *conn, d *delivery, method string, params any) {
	defer s.feed.forget(d)
	for pause := firstPause; ; pause = min(2*pause, longestPause) {
		ctx, cancel := context.WithTimeout(context.WithoutCancel(s.ctx), s.c.o.Timeout)
		err := s.c.invoke(ctx, invocation{method: method, idempotent: true, params: params, on: cn})
		cancel()
		var broken *brokenError
		var refused *api.Error
		switch {
		case err == nil, errors.Is(err, ErrClosed):
			return
		case errors.As(err, &broken) && cn != nil && method == api.StreamAck.Name:
			cn = nil
			continue
		case errors.As(err, &broken), errors.As(err, &refused) && !refused.Retryable && refused.Code != api.DeadlineExceeded, cn == nil:
			s.c.o.Logger.Debug("the sidecar did not receive the outcome of a message, which is delivered again", "method", method, "id", d.ID, "err", err)
			return
		}
		select {
		case <-time.After(pause):
		case <-s.ctx.Done():
			return
		case <-s.c.ctx.Done():
			return
		}
	}
}

// extend restarts the visibility timeout of all messages each third of it, until the
// connection or the last function ends.
func (s *consumer) extend(sub *subscribed) {
	t := time.NewTicker(cmp.Or(s.o.Visibility, defaultVisibility) / 3)
	defer t.Stop()
	for {
		select {
		case <-t.C:
		case <-s.ctx.Done():
			return
		case <-sub.cn.dead:
			return
		}
		for _, d := range s.feed.all() {
			var r api.StreamExtendResult
			err := s.c.invoke(s.ctx, invocation{
				method: api.StreamExtend.Name, idempotent: true, result: &r, on: sub.cn,
				params: &api.StreamMessageParams{Stream: s.stream, Group: s.group, ID: d.ID},
			})
			if err == nil && !r.Extended {
				s.feed.lose(d.ID, lost(r.Reason))
			}
		}
	}
}

// reasonOf returns the text of an error for a dead letter, cut to maxReason bytes.
func reasonOf(err error) string {
	text := strings.ToValidUTF8(err.Error(), "\uFFFD")
	if len(text) <= maxReason {
		return text
	}
	end := maxReason
	for !utf8.RuneStart(text[end]) {
		end--
	}
	return text[:end]
}
