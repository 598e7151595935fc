package client_test

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"runtime"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/coxswain-sidecar/coxswain/client"
	"github.com/coxswain-sidecar/coxswain/client/api"
)

// streaming answers the calls of a consumer as the sidecar does. Subscriptions are named sub-1,
// sub-2 and so on.
func streaming(f *fake) {
	subscriptions := 0
	f.on("stream.subscribe", func(frame) (any, any) {
		subscriptions++
		return map[string]any{"subscription": fmt.Sprint("sub-", subscriptions), "created": true}, nil
	})
	f.on("stream.unsubscribe", func(frame) (any, any) { return map[string]any{"unsubscribed": true}, nil })
	f.on("stream.ack", func(frame) (any, any) { return map[string]any{"acked": true}, nil })
	f.on("stream.nack", func(frame) (any, any) { return map[string]any{"nacked": true, "dead": false, "delay_ms": 1000}, nil })
}

// sent is a message of a subscription as the sidecar sends it.
func sent(subscription, id string, attempt int) map[string]any {
	return map[string]any{
		"subscription": subscription, "stream": "s:1", "group": "g", "id": id, "attempt": attempt, "published_at_ms": 1,
		"body": []byte("body of " + id), "fields": map[string]string{"k": "v"},
	}
}

// consume subscribes until the test ends, or stop is called, which returns why it has ended.
func consume(t *testing.T, c *client.Client, o client.StreamOptions, fn func(context.Context, api.StreamMessage) error) (stop func() error) {
	t.Helper()
	ctx, cancel := context.WithCancel(context.WithValue(t.Context(), valueKey{}, "v"))
	ended := make(chan error, 1)
	go func() { ended <- c.StreamSubscribe(ctx, "s:1", "g", o, fn) }()
	stop = sync.OnceValue(func() error {
		cancel()
		return <-ended
	})
	t.Cleanup(func() { _ = stop() })
	return stop
}

type valueKey struct{}

func TestAMessageIsAcknowledgedWhenItsFunctionReturns(t *testing.T) {
	t.Parallel()
	f := newFake(t)
	streaming(f)
	c := dial(t, f.listen(), client.Options{})
	var ctx context.Context
	subscribed := make(chan struct{}, 1)
	stop := consume(t, c, client.StreamOptions{
		Concurrency: 3, MaxDeliveries: 7, Visibility: 90 * time.Second, Start: "new", Rule: "per-host", Key: "host",
		OnSubscribed: func() { subscribed <- struct{}{} },
	}, func(inside context.Context, m api.StreamMessage) error {
		ctx = inside
		require.Equal(t, "v", ctx.Value(valueKey{}))
		require.Equal(t, "body of 1-0", string(m.Body))
		require.Equal(t, map[string]string{"k": "v"}, m.Fields)
		require.EqualValues(t, 1, m.Attempt)
		return ctx.Err()
	})
	fr := f.next("stream.subscribe")
	<-subscribed
	require.Equal(t, map[string]any{
		"stream": "s:1", "group": "g", "prefetch": int64(3), "max_deliveries": int64(7), "visibility_ms": int64(90_000), "start": "new",
		"rule": "per-host", "key": "host",
	}, withoutMeta(fr.params))
	fr.peer.notify("stream.message", sent("sub-1", "1-0", 1))
	require.Equal(t, map[string]any{"stream": "s:1", "group": "g", "id": "1-0"}, withoutMeta(f.next("stream.ack").params))
	require.ErrorIs(t, stop(), context.Canceled)
	require.ErrorIs(t, context.Cause(ctx), client.ErrReleased)
	require.Equal(t, "sub-1", f.next("stream.unsubscribe").params["subscription"])
	require.Empty(t, f.frames)
}

func TestMessagesOfASubscriptionWhoseCallerHasGoneAreGivenBack(t *testing.T) {
	t.Parallel()
	f := newFake(t)
	streaming(f)
	f.on("stream.subscribe", nil)
	c := dial(t, f.listen(), client.Options{})
	ctx, cancel := context.WithCancel(t.Context())
	ended := make(chan error, 1)
	go func() {
		ended <- c.StreamSubscribe(ctx, "s:1", "g", client.StreamOptions{}, func(context.Context, api.StreamMessage) error { return nil })
	}()
	fr := f.next("stream.subscribe")
	cancel()
	require.ErrorIs(t, <-ended, context.Canceled)
	fr.peer.notify("stream.message", sent("sub-1", "1-0", 1))
	fr.peer.reply(fr.msgid, map[string]any{"subscription": "sub-1"}, nil)
	fr.peer.notify("stream.message", sent("sub-1", "2-0", 1))
	var back, unsubscribed []any
	for len(back) < 2 || len(unsubscribed) == 0 {
		switch fr := <-f.frames; fr.method {
		case "stream.nack":
			require.EqualValues(t, 0, fr.params["delay_ms"])
			require.Equal(t, []any{"s:1", "g"}, []any{fr.params["stream"], fr.params["group"]})
			back = append(back, fr.params["id"])
		case "stream.unsubscribe":
			unsubscribed = append(unsubscribed, fr.params["subscription"])
		}
	}
	require.ElementsMatch(t, []any{"1-0", "2-0"}, back)
	require.Equal(t, []any{"sub-1"}, unsubscribed)
}

// The sidecar bounds by prefetch how many messages wait for the answers to their acks.
func TestTheNextFunctionDoesNotWaitForTheAnswerToAnAck(t *testing.T) {
	t.Parallel()
	f := newFake(t)
	streaming(f)
	f.on("stream.ack", nil)
	c := dial(t, f.listen(), client.Options{})
	running := make(chan string, 2)
	stop := consume(t, c, client.StreamOptions{Prefetch: 2}, func(_ context.Context, m api.StreamMessage) error {
		running <- m.ID
		return nil
	})
	p := f.next("stream.subscribe").peer
	p.notify("stream.message", sent("sub-1", "1-0", 1))
	p.notify("stream.message", sent("sub-1", "2-0", 1))
	require.Equal(t, "1-0", <-running)
	require.Equal(t, "2-0", <-running)
	acks := []frame{f.next("stream.ack"), f.next("stream.ack")}
	ended := make(chan error, 1)
	go func() { ended <- stop() }()
	f.next("stream.unsubscribe")
	for _, a := range acks {
		p.reply(a.msgid, map[string]any{"acked": true}, nil)
	}
	require.ErrorIs(t, <-ended, context.Canceled)
}

// logged counts the errors in a log.
type logged struct {
	slog.Handler
	errors atomic.Int64
}

func (l *logged) Enabled(context.Context, slog.Level) bool { return true }

func (l *logged) Handle(_ context.Context, r slog.Record) error {
	if r.Level >= slog.LevelError {
		l.errors.Add(1)
	}
	return nil
}

func TestAMessageIsGivenBackHoweverItsFunctionFails(t *testing.T) {
	t.Parallel()
	f := newFake(t)
	streaming(f)
	log := &logged{Handler: slog.DiscardHandler}
	c := dial(t, f.listen(), client.Options{Logger: slog.New(log)})
	long := strings.Repeat("é", 501)
	how := map[string]func() error{
		"1-0": func() error { return errors.New("no good") },
		"2-0": func() error { panic("boom") },
		"3-0": func() error { runtime.Goexit(); return nil },
		"4-0": func() error {
			return fmt.Errorf("wrapped: %w", &client.NackError{Err: errors.New("poison"), Dead: true})
		},
		"5-0": func() error { return &client.NackError{Delay: 1500 * time.Millisecond} },
		"6-0": func() error { return errors.New(long + "\xff") },
		"7-0": func() error { return nil },
	}
	consume(t, c, client.StreamOptions{}, func(_ context.Context, m api.StreamMessage) error { return how[m.ID]() })
	p := f.next("stream.subscribe").peer
	for id, want := range map[string]map[string]any{
		"1-0": {"reason": "no good"},
		"2-0": {"reason": "panic: boom"},
		"3-0": {"reason": "the function ended its goroutine"},
		"4-0": {"reason": "wrapped: poison", "dead": true},
		"5-0": {"reason": "not processed", "dead": false, "delay_ms": int64(1500)},
		"6-0": {"reason": long[:1000]},
	} {
		p.notify("stream.message", sent("sub-1", id, 1))
		want["stream"], want["group"], want["id"] = "s:1", "g", id
		require.Equal(t, want, withoutMeta(f.next("stream.nack").params))
	}
	require.EqualValues(t, 1, log.errors.Load(), "the panic")
	p.notify("stream.message", sent("sub-1", "7-0", 1))
	require.Equal(t, "7-0", f.next("stream.ack").params["id"], "it goes on")
}

func TestFunctionsRunAsManyAtOnceAsMay(t *testing.T) {
	t.Parallel()
	f := newFake(t)
	streaming(f)
	c := dial(t, f.listen(), client.Options{})
	begun, end := make(chan string, 10), make(chan struct{})
	consume(t, c, client.StreamOptions{Concurrency: 2, Prefetch: 4}, func(_ context.Context, m api.StreamMessage) error {
		begun <- m.ID
		<-end
		return nil
	})
	fr := f.next("stream.subscribe")
	require.Equal(t, int64(4), fr.params["prefetch"])
	for i := range 4 {
		fr.peer.notify("stream.message", sent("sub-1", fmt.Sprintf("%d-0", i), 1))
	}
	require.ElementsMatch(t, []string{"0-0", "1-0"}, []string{<-begun, <-begun})
	_, err := c.Ping(t.Context()) // the reply comes behind all messages
	require.NoError(t, err)
	require.Empty(t, begun)
	end <- struct{}{}
	require.Equal(t, "2-0", <-begun, "in their order")
	close(end)
	require.Equal(t, "3-0", <-begun)
}

// Others may be dealing with a lost message: they say what becomes of it.
func TestALostMessageEndsItsContext(t *testing.T) {
	t.Parallel()
	f := newFake(t)
	streaming(f)
	c := dial(t, f.listen(), client.Options{})
	begun, caused := make(chan struct{}, 1), make(chan error, 1)
	consume(t, c, client.StreamOptions{}, func(ctx context.Context, m api.StreamMessage) error {
		if m.ID != "1-0" {
			return nil
		}
		begun <- struct{}{}
		<-ctx.Done()
		caused <- context.Cause(ctx)
		return ctx.Err()
	})
	p := f.next("stream.subscribe").peer
	for _, id := range []string{"1-0", "2-0", "3-0"} {
		p.notify("stream.message", sent("sub-1", id, 1))
	}
	<-begun
	lost := func(name, id string) {
		p.notify("stream.lost", map[string]any{"name": name, "token": id, "fence": "0", "reason": "not_owner"})
	}
	lost("s%3A1:other", "1-0")
	lost("s:1", "1-0")
	lost("s%3A1:g", "2-0") // one that was not begun
	require.Empty(t, caused)
	lost("s%3A1:g", "1-0")
	require.ErrorIs(t, <-caused, client.ErrLost)
	require.Equal(t, "3-0", f.next("stream.ack").params["id"], "neither was told of")
	require.Empty(t, f.frames)
}

func TestASubscriptionContinuesOnTheNextConnection(t *testing.T) {
	t.Parallel()
	f := newFake(t)
	streaming(f)
	c := dial(t, f.listen(), client.Options{})
	begun, caused, end := make(chan struct{}, 2), make(chan error, 1), make(chan error)
	consume(t, c, client.StreamOptions{Concurrency: 2}, func(ctx context.Context, m api.StreamMessage) error {
		begun <- struct{}{}
		if m.ID == "3-0" {
			return nil
		}
		<-ctx.Done()
		caused <- context.Cause(ctx)
		return <-end
	})
	first := f.next("stream.subscribe").peer
	first.notify("stream.message", sent("sub-1", "1-0", 1))
	first.notify("stream.message", sent("sub-1", "2-0", 1))
	<-begun
	<-begun
	_ = first.nc.Close()
	require.ErrorIs(t, <-caused, client.ErrLost)
	require.ErrorIs(t, <-caused, client.ErrLost)
	second := f.next("stream.subscribe").peer
	require.NotSame(t, first, second)
	end <- errors.New("it failed") // which is not told: the message was given back
	second.notify("stream.message", sent("sub-2", "3-0", 1))
	<-begun
	require.Equal(t, "3-0", f.next("stream.ack").params["id"])
	end <- nil // what was dealt with is told, so that it does not come again
	ack := f.next("stream.ack")
	require.Contains(t, []any{"1-0", "2-0"}, ack.params["id"])
	require.Same(t, second, ack.peer)
	require.Empty(t, f.frames)
}

func TestASubscriptionEndsWhenItsFunctionsHave(t *testing.T) {
	t.Parallel()
	f := newFake(t)
	streaming(f)
	c := dial(t, f.listen(), client.Options{})
	begun, end := make(chan string, 3), make(chan struct{})
	var inside atomic.Pointer[error]
	stop := consume(t, c, client.StreamOptions{Prefetch: 5, MaxDeliveries: 3, Grace: time.Hour}, func(ctx context.Context, m api.StreamMessage) error {
		begun <- m.ID
		<-end
		err := ctx.Err()
		inside.Store(&err)
		return nil
	})
	p := f.next("stream.subscribe").peer
	// One more comes while the end is being told of.
	f.on("stream.unsubscribe", func(fr frame) (any, any) {
		fr.peer.notify("stream.message", sent("sub-1", "4-0", 2))
		return map[string]any{"unsubscribed": true}, nil
	})
	p.notify("stream.message", sent("sub-1", "1-0", 1))
	p.notify("stream.message", sent("sub-1", "2-0", 3)) // its last attempt: to give it back would end it
	p.notify("stream.message", sent("sub-1", "3-0", 1))
	require.Equal(t, "1-0", <-begun)
	ended := make(chan error, 1)
	go func() { ended <- stop() }()
	f.next("stream.unsubscribe")
	end <- struct{}{}
	require.Equal(t, "2-0", <-begun)
	require.NoError(t, *inside.Load(), "what runs may end its work")
	told := map[string]string{}
	for len(told) < 3 {
		fr := <-f.frames
		told[fmt.Sprint(fr.params["id"])] = fr.method
		if fr.method == "stream.nack" {
			require.EqualValues(t, 0, fr.params["delay_ms"], "a message that no function was started for")
		}
	}
	require.Equal(t, map[string]string{"1-0": "stream.ack", "3-0": "stream.nack", "4-0": "stream.nack"}, told)
	require.Empty(t, ended)
	end <- struct{}{}
	require.Equal(t, "2-0", f.next("stream.ack").params["id"])
	require.ErrorIs(t, <-ended, context.Canceled)
	require.Empty(t, begun)
}

func TestFunctionsThatGoOnAreEnded(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) { // the 2 s after the grace are those of the bubble's clock
		f := newFake(t)
		streaming(f)
		c := bubble(t, f, client.Options{})
		defer f.wg.Wait()
		defer c.Close()
		begun, deaf := make(chan struct{}, 2), make(chan struct{})
		defer close(deaf)
		stop := consume(t, c, client.StreamOptions{Concurrency: 2, Grace: time.Millisecond}, func(ctx context.Context, m api.StreamMessage) error {
			begun <- struct{}{}
			if m.ID == "2-0" {
				<-deaf
				return nil
			}
			<-ctx.Done()
			return ctx.Err()
		})
		p := f.next("stream.subscribe").peer
		p.notify("stream.message", sent("sub-1", "1-0", 1))
		p.notify("stream.message", sent("sub-1", "2-0", 1))
		<-begun
		<-begun
		began := time.Now()
		err := stop()
		require.ErrorIs(t, err, context.Canceled)
		require.ErrorContains(t, err, "1 functions have not ended")
		require.Equal(t, 2001*time.Millisecond, time.Since(began), "the grace and 2 s")
		nack := f.next("stream.nack").params
		require.Equal(t, "1-0", nack["id"])
		require.Equal(t, "context canceled", nack["reason"])
	})
}

func TestMessagesBoundToTheirTTLAreExtended(t *testing.T) {
	t.Parallel()
	f := newFake(t)
	streaming(f)
	var extended atomic.Bool
	extended.Store(true)
	f.on("stream.extend", func(frame) (any, any) {
		return map[string]any{"extended": extended.Load(), "reason": map[bool]string{true: "extended", false: "taken"}[extended.Load()]}, nil
	})
	c := dial(t, f.listen(), client.Options{})
	caused := make(chan error, 1)
	consume(t, c, client.StreamOptions{Bind: api.BindTTL, Visibility: 150 * time.Millisecond}, func(ctx context.Context, _ api.StreamMessage) error {
		<-ctx.Done()
		caused <- context.Cause(ctx)
		return ctx.Err()
	})
	fr := f.next("stream.subscribe")
	require.Equal(t, "ttl", fr.params["bind"])
	fr.peer.notify("stream.message", sent("sub-1", "1-0", 1))
	for range 3 {
		require.Equal(t, map[string]any{"stream": "s:1", "group": "g", "id": "1-0"}, withoutMeta(f.next("stream.extend").params))
	}
	require.Empty(t, caused)
	extended.Store(false)
	require.ErrorIs(t, <-caused, client.ErrLost)
}

func TestAnAcknowledgementIsRepeatedUntilItIsTaken(t *testing.T) {
	t.Parallel()
	f := newFake(t)
	streaming(f)
	acks := 0
	f.on("stream.ack", func(frame) (any, any) {
		if acks++; acks < 4 {
			return nil, map[string]any{"code": "UNAVAILABLE", "message": "m", "retryable": true}
		}
		return map[string]any{"acked": true}, nil
	})
	c := dial(t, f.listen(), client.Options{})
	consume(t, c, client.StreamOptions{}, func(context.Context, api.StreamMessage) error { return nil })
	p := f.next("stream.subscribe").peer
	p.notify("stream.message", sent("sub-1", "1-0", 1))
	for range 4 {
		require.Equal(t, "1-0", f.next("stream.ack").params["id"])
	}
	p.notify("stream.message", sent("sub-1", "2-0", 1))
	require.Equal(t, "2-0", f.next("stream.ack").params["id"])
}

func TestASubscriptionThatIsRefusedFails(t *testing.T) {
	t.Parallel()
	f := newFake(t)
	streaming(f)
	refuse := func(frame) (any, any) {
		return nil, map[string]any{"code": "INVALID_ARGUMENT", "message": "prefetch: too many", "retryable": false}
	}
	c := dial(t, f.listen(), client.Options{})
	ended := make(chan error, 1)
	go func() {
		ended <- c.StreamSubscribe(t.Context(), "s:1", "g", client.StreamOptions{}, func(context.Context, api.StreamMessage) error { return nil })
	}()
	p := f.next("stream.subscribe").peer
	f.on("stream.subscribe", refuse)
	_ = p.nc.Close()
	require.ErrorIs(t, <-ended, api.InvalidArgument, "a later one is refused")
	require.ErrorIs(t, c.StreamSubscribe(t.Context(), "s:1", "g", client.StreamOptions{}, nil), api.InvalidArgument, "the first one is")
	require.NoError(t, c.Close())
	require.ErrorIs(t, c.StreamSubscribe(t.Context(), "s:1", "g", client.StreamOptions{}, nil), client.ErrClosed)
}

func TestCloseEndsASubscription(t *testing.T) {
	t.Parallel()
	f := newFake(t)
	streaming(f)
	c := dial(t, f.listen(), client.Options{})
	ended, begun := make(chan error, 1), make(chan struct{}, 1)
	go func() {
		ended <- c.StreamSubscribe(t.Context(), "s:1", "g", client.StreamOptions{}, func(ctx context.Context, _ api.StreamMessage) error {
			begun <- struct{}{}
			<-ctx.Done()
			return ctx.Err()
		})
	}()
	f.next("stream.subscribe").peer.notify("stream.message", sent("sub-1", "1-0", 1))
	<-begun
	require.NoError(t, c.Close())
	require.ErrorIs(t, <-ended, client.ErrClosed)
}

// The tracer is given what links the span of a message to that of its publisher.
func TestAMessageIsLinkedToItsPublisher(t *testing.T) {
	t.Parallel()
	f := newFake(t)
	streaming(f)
	tp := &tracing{}
	c := dial(t, f.listen(), client.Options{Tracer: tp})
	inside := make(chan string, 2)
	consume(t, c, client.StreamOptions{}, func(ctx context.Context, m api.StreamMessage) error {
		in, _ := tp.TraceContext(ctx)
		inside <- in
		if m.Traceparent == "" {
			return errors.New("secret")
		}
		return nil
	})
	p := f.next("stream.subscribe").peer
	m := sent("sub-1", "1-0", 1)
	m["traceparent"] = "publisher"
	p.notify("stream.message", m)
	f.next("stream.ack")
	p.notify("stream.message", sent("sub-1", "2-0", 1))
	f.next("stream.nack")
	require.Equal(t, "in-message", <-inside)
	require.Equal(t, []span{
		{what: "message", parent: "publisher"},
		{what: "message", failed: "nack"}, // the text of the error is the program's own
	}, tp.of("message"))
}

// Each method has its call, and each call its method.
func TestCallsOfStreams(t *testing.T) {
	t.Parallel()
	f := newFake(t)
	c := dial(t, f.listen(), client.Options{})
	for method, call := range map[string]func() error{
		"stream.publish": func() error { _, err := c.StreamPublish(t.Context(), api.StreamPublishParams{Stream: "s"}); return err },
		"stream.publish_many": func() error {
			_, err := c.StreamPublishMany(t.Context(), api.StreamPublishManyParams{Stream: "s"})
			return err
		},
		"stream.fetch":   func() error { _, err := c.StreamFetch(t.Context(), api.StreamFetchParams{Stream: "s"}); return err },
		"stream.ack":     func() error { _, err := c.StreamAck(t.Context(), api.StreamMessageParams{Stream: "s"}); return err },
		"stream.nack":    func() error { _, err := c.StreamNack(t.Context(), api.StreamNackParams{Stream: "s"}); return err },
		"stream.extend":  func() error { _, err := c.StreamExtend(t.Context(), api.StreamMessageParams{Stream: "s"}); return err },
		"stream.stats":   func() error { _, err := c.StreamStats(t.Context(), api.StreamStatsParams{Stream: "s"}); return err },
		"stream.groups":  func() error { _, err := c.StreamGroups(t.Context(), "s"); return err },
		"stream.read":    func() error { _, err := c.StreamRead(t.Context(), api.StreamReadParams{Stream: "s"}); return err },
		"stream.dead":    func() error { _, err := c.StreamDead(t.Context(), api.StreamDeadParams{Stream: "s"}); return err },
		"stream.redrive": func() error { _, err := c.StreamRedrive(t.Context(), api.StreamRedriveParams{Stream: "s"}); return err },
		"stream.trim":    func() error { _, err := c.StreamTrim(t.Context(), api.StreamTrimParams{Stream: "s"}); return err },
	} {
		f.on(method, func(frame) (any, any) { return map[string]any{}, nil })
		require.NoError(t, call(), method)
		require.Equal(t, "s", f.next(method).params["stream"])
	}
}
