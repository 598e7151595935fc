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

// StreamOptions say how a group's messages are delivered. The zero StreamOptions deliver one
// at a time, of all that the stream has.
type StreamOptions struct {
	// Concurrency is how many messages are worked on at once; 0 = 1.
	Concurrency int
	// Prefetch is how many messages may be here that are not acknowledged, 1 to 1000; 0 =
	// Concurrency. With more, the next messages are here already when a function ends, and the
	// next function does not wait until the sidecar has answered the ack of the one before.
	Prefetch int
	// MaxDeliveries is after how many deliveries a message becomes a dead letter; 0 = 5.
	MaxDeliveries int
	// Visibility is after how long a message is delivered to another, unless it is extended;
	// 0 = a minute. It is extended for as long as the function runs.
	Visibility time.Duration
	// Bind is api.BindSession or api.BindTTL. With api.BindSession, the default, the sidecar
	// extends messages while the connection lives; with api.BindTTL this client does, so that
	// a program that hangs as a whole loses its messages. Either way they are delivered again
	// when the connection closes.
	Bind string
	// Start is where a group begins that is made by this: first, the default, with the oldest
	// message, or new, with those published from now on.
	Start string
	// Rule and Key go together: a message is delivered only when this rule admits the text of
	// its field Key, and messages whose text is the same go one at a time, in their order.
	// All consumers of a group name the same field.
	Rule, Key string
	// Grace is how long running functions have to end after the context of the subscription
	// has; 0 = 10 s. After that their contexts end too.
	Grace time.Duration
	// OnSubscribed is called when messages will come from now on: first, and whenever the
	// connection to the sidecar was made again. Nil = nobody is told.
	OnSubscribed func()
}

const (
	defaultGrace      = 10 * time.Second
	defaultVisibility = time.Minute
	defaultDeliveries = 5
	maxReason         = 1000 // bytes
)

// NackError has a message of StreamSubscribe delivered again in another way than after other
// errors: return it, alone or wrapped.
type NackError struct {
	// Err is what went wrong.
	Err error
	// Delay is until the next delivery, at most 24 h; 0 = as after other errors.
	Delay time.Duration
	// Dead: it becomes a dead letter at once, for what no further attempt can change.
	Dead bool
}

// Error implements error.
func (e *NackError) Error() string {
	if e.Err == nil {
		return "not dealt with"
	}
	return e.Err.Error()
}

// Unwrap returns the cause.
func (e *NackError) Unwrap() error { return e.Err }

// StreamSubscribe calls fn for each message of a group of a stream, with up to o.Concurrency
// at once, until ctx ends. A message comes at least once: again after a failure, and it may
// come twice when a connection breaks or Redis fails over.
//
// If fn returns nil the message is acknowledged. After an error it is delivered again after a
// delay that doubles with each attempt, or as a *NackError says, and becomes a dead letter
// after its last attempt; the text of the error is kept with it. A panic of fn is recovered,
// logged, and counts as an error.
//
// The context that fn gets has the values of ctx and, with a Tracer, the span in which the
// message is dealt with, linked to that of its publisher. It ends with a cause that is ErrLost when the message
// is lost or the connection breaks: others may have the message then. It does not end with ctx,
// so that fn can end its work: no function is begun after ctx has ended, but for messages on
// their last attempt, those that run have o.Grace, and then their contexts end. StreamSubscribe
// returns when all have ended, or 2 s later.
//
// When the connection to the sidecar breaks it subscribes on the next one, for as long as that
// takes. Errors are those of Call, of the first subscription or of a later one that the sidecar
// refuses for good; the error of ctx; ErrClosed.
func (c *Client) StreamSubscribe(
	ctx context.Context, stream, group string, o StreamOptions, fn func(context.Context, api.StreamMessage) error,
) error {
	o.Concurrency = max(o.Concurrency, 1)
	o.Prefetch = cmp.Or(o.Prefetch, o.Concurrency)
	o.Grace = cmp.Or(o.Grace, defaultGrace)
	s := newConsumer(ctx, c, stream, group, o, fn)
	open := &opening{
		subscribe: api.StreamSubscribe.Name, unsubscribe: api.StreamUnsubscribe.Name, to: s.feed,
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
		err = errors.Join(err, fmt.Errorf("%s: %d functions have not ended, or what became of their messages was not told", api.StreamSubscribe.Name, running))
	}
	if sub != nil {
		sub.cn.mu.Lock()
		delete(sub.cn.subs.by, sub.id)
		sub.cn.mu.Unlock()
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
	ctx           context.Context // of functions; ends when the grace is over
	stop          context.CancelCauseFunc
	ending        sync.Once     // starts the grace
	running       chan struct{} // has as many as functions run, and room for Concurrency

	// untold are the messages of which a function was begun and the sidecar was not told, told
	// is done when there are none. Only who begins functions adds to it.
	untold atomic.Int64
	told   sync.WaitGroup
}

func newConsumer(
	ctx context.Context, c *Client, stream, group string, o StreamOptions, fn func(context.Context, api.StreamMessage) error,
) *consumer {
	s := &consumer{c: c, stream: stream, group: group, o: o, fn: fn, running: make(chan struct{}, o.Concurrency)}
	s.ctx, s.stop = context.WithCancelCause(context.WithoutCancel(ctx))
	s.feed = newStreamFeed(s.ctx)
	return s
}

// serve begins functions until the connection of the subscription has ended, or else returns
// why it does not go on.
func (s *consumer) serve(ctx context.Context, sub *subscribed) error {
	if s.o.Bind == api.BindTTL {
		go s.extend(sub)
	}
	for {
		select { // before a message is taken, which would be one more that nobody works on
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
			s.begin(sub.cn, d)
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

// next waits for a message; nil = none will come, or none is to be begun.
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

// leave ends the subscription. What was delivered and not begun is given back, but for what
// would become a dead letter by that.
func (s *consumer) leave(sub *subscribed, why error) error {
	s.end(why)
	ctx, cancel := context.WithTimeout(context.WithoutCancel(s.ctx), releaseTime)
	defer cancel()
	// The feed hears on: messages that were sent before the answer are this connection's.
	err := s.c.invoke(ctx, invocation{
		method: api.StreamUnsubscribe.Name, idempotent: true, params: &api.StreamUnsubscribeParams{Subscription: sub.id}, on: sub.cn,
	})
	if err != nil && s.c.ctx.Err() == nil {
		s.c.o.Logger.Debug("a subscription was not ended; it ends with the connection", "err", err)
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
			s.begin(sub.cn, d)
		case <-s.ctx.Done():
			s.giveBack(sub.cn, d)
		}
	}
}

// end starts the grace of the functions that run.
func (s *consumer) end(why error) {
	s.ending.Do(func() { time.AfterFunc(s.o.Grace, func() { s.stop(why) }) })
}

// drain waits for the functions that run, and until the sidecar was told of them, as long as
// that may take, and returns of how many it was not.
func (s *consumer) drain(why error) (left int) {
	s.end(why)
	over, closed, told := s.ctx.Done(), s.c.ctx.Done(), make(chan struct{})
	go func() { s.told.Wait(); close(told) }()
	var last <-chan time.Time
	for {
		select {
		case <-told:
			s.stop(why)
			return 0
		case <-last:
			return int(s.untold.Load())
		case <-over:
		case <-closed:
			s.stop(ErrClosed)
		}
		over, closed, last = nil, nil, time.After(releaseTime)
	}
}

var errNotReturned = errors.New("the function ended its goroutine")

// begin deals with a message, of which s.running has one. The next function may run while the
// sidecar is told of it: Prefetch bounds how many may be so.
func (s *consumer) begin(cn *conn, d *delivery) {
	s.untold.Add(1)
	s.told.Add(1)
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
			s.c.o.Logger.Error("a function for messages panicked; the message is delivered again",
				"stream", s.stream, "group", s.group, "id", d.ID, "panic", p, "stack", string(debug.Stack()))
			err = fmt.Errorf("panic: %v", p)
		}
		if traced {
			failed := ""
			if err != nil {
				failed = "nack" // the text may have what the message has
			}
			s.c.o.Tracer.End(ctx, failed)
		}
		<-s.running
		s.tell(cn, d, err)
		s.untold.Add(-1)
		s.told.Done()
	}()
	err = s.fn(ctx, d.StreamMessage)
}

// tell tells the sidecar how a function has ended.
func (s *consumer) tell(cn *conn, d *delivery, err error) {
	switch {
	case err == nil:
		// Even if it was lost: what was dealt with need not be done by others.
		s.settle(cn, d, api.StreamAck.Name, &api.StreamMessageParams{Stream: s.stream, Group: s.group, ID: d.ID})
		return
	case errors.Is(context.Cause(d.ctx), ErrLost):
		return // others may be dealing with it, who say what becomes of it
	}
	p := s.naming(d)
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

// naming are the params that name a message.
func (s *consumer) naming(d *delivery) map[string]any {
	return map[string]any{"stream": s.stream, "group": s.group, "id": d.ID}
}

// giveBack has a message delivered again at once that was not begun.
func (s *consumer) giveBack(cn *conn, d *delivery) {
	p := s.naming(d)
	p["delay_ms"], p["reason"] = 0, "it was not begun"
	s.settle(cn, d, api.StreamNack.Name, p)
}

// settle tells the sidecar what became of a message. While it cannot, it tries again, since
// the message would stay with this connection for as long as that lives. A connection that has
// ended has given it back; it is told all the same, on another one, so that the message does
// not come again.
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
			s.c.o.Logger.Debug("what became of a message was not told; it is delivered again", "method", method, "id", d.ID, "err", err)
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

// extend starts the visibility timeout of all messages again, each third of it, until the
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

// reasonOf is the text of an error, as a dead letter has it.
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
