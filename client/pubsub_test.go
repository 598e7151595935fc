package client_test

import (
	"context"
	"errors"
	"fmt"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/coxswain-sidecar/coxswain/client"
	"github.com/coxswain-sidecar/coxswain/client/api"
)

// channels answers pubsub.subscribe with a new subscription each time. Early messages are sent
// ahead of the answer.
func channels(f *fake, early ...string) {
	n := 0
	f.on(api.PubsubSubscribe.Name, func(fr frame) (any, any) {
		n++
		id := fmt.Sprint("s", n)
		for _, body := range early {
			tell(fr.peer, id, body)
		}
		return map[string]any{"subscription": id}, nil
	})
	f.on(api.PubsubUnsubscribe.Name, func(frame) (any, any) { return map[string]any{"unsubscribed": true}, nil })
}

func tell(p *peer, id, body string) {
	p.notify(api.PubsubMessageEvent.Name, map[string]any{"subscription": id, "channel": "c", "body": []byte(body)})
}

// subscriber is a program that writes down what it is told.
type subscriber struct {
	told chan string
	done chan error
	stop context.CancelFunc
}

func subscribe(t *testing.T, c *client.Client, o client.PubsubOptions, fn func(context.Context, api.PubsubMessage) error) *subscriber {
	t.Helper()
	s := &subscriber{told: make(chan string, 10_000), done: make(chan error, 1)}
	o.OnGap = func(n int64) { s.told <- fmt.Sprint("gap ", n) }
	o.OnSubscribed = func() { s.told <- "subscribed" }
	if fn == nil {
		fn = func(_ context.Context, m api.PubsubMessage) error { s.told <- string(m.Body); return nil }
	}
	var ctx context.Context
	ctx, s.stop = context.WithCancel(t.Context())
	go func() { s.done <- c.PubsubSubscribe(ctx, o, fn) }()
	t.Cleanup(s.stop)
	return s
}

func (s *subscriber) next(t *testing.T) string {
	t.Helper()
	select {
	case x := <-s.told:
		return x
	case err := <-s.done:
		t.Fatal("it ended: ", err)
	case <-time.After(time.Minute):
		t.Fatal("nothing is told")
	}
	return ""
}

func TestMessagesOfASubscriptionAreReceived(t *testing.T) {
	t.Parallel()
	f := newFake(t)
	channels(f, "early 1", "early 2")
	events := make(chan client.Event, 10)
	c := dial(t, f.listen(), client.Options{OnEvent: func(e client.Event) { events <- e }})
	s := subscribe(t, c, client.PubsubOptions{Channels: []string{"c"}, Patterns: []string{"d*"}, Buffer: 7}, nil)
	fr := f.next(api.PubsubSubscribe.Name)
	require.Equal(t, []any{"c"}, fr.params["channels"])
	require.Equal(t, []any{"d*"}, fr.params["patterns"])
	require.EqualValues(t, 7, fr.params["buffer"])
	for _, want := range []string{"subscribed", "early 1", "early 2"} {
		require.Equal(t, want, s.next(t))
	}
	tell(fr.peer, "another's", "x")
	require.Equal(t, api.PubsubMessageEvent.Name, (<-events).Method, "what nobody here subscribed to is an event")
	for i := range 100 { // the client keeps none of the buffer that it reads into
		tell(fr.peer, "s1", fmt.Sprint("message ", i))
		require.Equal(t, fmt.Sprint("message ", i), s.next(t))
	}
	fr.peer.notify(api.PubsubGapEvent.Name, map[string]any{"subscription": "s1", "dropped": 3})
	require.Equal(t, "gap 3", s.next(t))
	s.stop()
	require.ErrorIs(t, <-s.done, context.Canceled)
	require.Equal(t, "s1", f.next(api.PubsubUnsubscribe.Name).params["subscription"])
	require.Empty(t, events)
}

func TestASubscriptionIsMadeAgainAfterAReconnect(t *testing.T) {
	t.Parallel()
	f := newFake(t)
	channels(f)
	c := dial(t, f.listen(), client.Options{})
	s := subscribe(t, c, client.PubsubOptions{Channels: []string{"c"}}, nil)
	require.Equal(t, "subscribed", s.next(t))
	for i := 1; i <= 3; i++ {
		fr := f.next(api.PubsubSubscribe.Name)
		tell(fr.peer, fmt.Sprint("s", i), "last")
		require.Equal(t, "last", s.next(t))
		_ = fr.peer.nc.Close()
		require.Equal(t, "subscribed", s.next(t))
		require.Equal(t, "gap -1", s.next(t))
	}
	f.on(api.PubsubSubscribe.Name, func(frame) (any, any) {
		return nil, map[string]any{"code": "INVALID_ARGUMENT", "message": "no longer"}
	})
	_ = f.next(api.PubsubSubscribe.Name).peer.nc.Close()
	require.ErrorIs(t, <-s.done, api.InvalidArgument)
}

// Who handles messages slowly is told what it missed, in its place, and the connection is read
// all the same.
func TestASlowFunctionMissesEventsBeyondItsBuffer(t *testing.T) {
	t.Parallel()
	f := newFake(t)
	channels(f)
	c := dial(t, f.listen(), client.Options{})
	go1 := make(chan struct{})
	var s *subscriber
	ready := make(chan struct{})
	s = subscribe(t, c, client.PubsubOptions{Channels: []string{"c"}, Buffer: 2}, func(_ context.Context, m api.PubsubMessage) error {
		<-ready
		s.told <- string(m.Body)
		<-go1
		return nil
	})
	close(ready)
	require.Equal(t, "subscribed", s.next(t))
	p := f.next(api.PubsubSubscribe.Name).peer
	tell(p, "s1", "0")
	require.Equal(t, "0", s.next(t))
	for i := 1; i <= 5; i++ {
		tell(p, "s1", fmt.Sprint(i))
	}
	p.notify(api.PubsubGapEvent.Name, map[string]any{"subscription": "s1", "dropped": 4})
	_, err := c.Ping(t.Context()) // all was read by then
	require.NoError(t, err)
	close(go1)
	for _, want := range []string{"1", "2", "gap 7"} {
		require.Equal(t, want, s.next(t))
	}
}

func TestASubscriptionEndsWithItsFunctionAndItsClient(t *testing.T) {
	t.Parallel()
	f := newFake(t)
	channels(f, "x")
	c := dial(t, f.listen(), client.Options{})
	enough := errors.New("enough")
	err := c.PubsubSubscribe(t.Context(), client.PubsubOptions{Channels: []string{"c"}}, func(context.Context, api.PubsubMessage) error { return enough })
	require.ErrorIs(t, err, enough)
	f.next(api.PubsubUnsubscribe.Name)
	require.Panics(t, func() {
		_ = c.PubsubSubscribe(t.Context(), client.PubsubOptions{Channels: []string{"c"}}, func(context.Context, api.PubsubMessage) error { panic("oh") })
	})
	require.Equal(t, "s2", f.next(api.PubsubUnsubscribe.Name).params["subscription"])
	s := subscribe(t, c, client.PubsubOptions{Channels: []string{"c"}}, nil)
	require.Equal(t, "subscribed", s.next(t))
	require.NoError(t, c.Close())
	require.ErrorIs(t, <-s.done, client.ErrClosed)
}

// A subscription whose caller has gone before it was answered is ended.
func TestASubscriptionWhoseAnswerComesLateIsEnded(t *testing.T) {
	t.Parallel()
	f := newFake(t)
	channels(f)
	f.on(api.PubsubSubscribe.Name, func(frame) (any, any) { return nil, nil })
	c := dial(t, f.listen(), client.Options{})
	s := subscribe(t, c, client.PubsubOptions{Channels: []string{"c"}}, nil)
	fr := f.next(api.PubsubSubscribe.Name)
	s.stop()
	require.ErrorIs(t, <-s.done, context.Canceled)
	fr.peer.reply(fr.msgid, map[string]any{"subscription": "late"}, nil)
	require.Equal(t, "late", f.next(api.PubsubUnsubscribe.Name).params["subscription"])
}

// A publish is not repeated: nobody is to get the message twice.
func TestAPublishIsNotRepeated(t *testing.T) {
	t.Parallel()
	f := newFake(t)
	f.on(api.PubsubPublish.Name, func(fr frame) (any, any) {
		if _, named := fr.params["_request_id"]; named {
			return map[string]any{"receivers": 2}, nil
		}
		_ = fr.peer.nc.Close()
		return nil, nil
	})
	c := dial(t, f.listen(), client.Options{})
	_, err := c.PubsubPublish(t.Context(), "c", []byte("x"))
	var e *api.Error
	require.ErrorAs(t, err, &e)
	require.True(t, e.MaybeExecuted())
	n, err := c.PubsubPublish(client.WithRequestID(t.Context(), "id"), "c", []byte("x"))
	require.NoError(t, err)
	require.EqualValues(t, 2, n)
}
