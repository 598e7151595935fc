package client_test

import (
	"sync"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/coxswain-sidecar/coxswain/client"
	"github.com/coxswain-sidecar/coxswain/client/api"
)

// following is a client of the fake that hears events.
func following(t testing.TB, f *fake, o client.Options) (*client.Client, <-chan client.Event) {
	t.Helper()
	events := make(chan client.Event, 64)
	o.OnEvent = func(e client.Event) { events <- e }
	return dial(t, f.listen(), o), events
}

// subscribing answers events.subscribe as the sidecar does.
func subscribing(f *fake) {
	f.on(api.EventsSubscribe.Name, func(fr frame) (any, any) {
		return map[string]any{"subscribed": fr.params["kinds"]}, nil
	})
	f.on(api.EventsUnsubscribe.Name, func(frame) (any, any) { return map[string]any{}, nil })
}

func TestEventsAreReceived(t *testing.T) {
	t.Parallel()
	f := newFake(t)
	subscribing(f)
	c, events := following(t, f, client.Options{})
	require.NoError(t, c.EventsSubscribe(t.Context(), "lost", "refused"))
	fr := f.next(api.EventsSubscribe.Name)
	require.Equal(t, []any{"lost", "refused"}, fr.params["kinds"])
	fr.peer.notify("event", map[string]any{"kind": "lost", "at_ms": 1, "count": 1, "name": "orders"})
	e := <-events
	require.Equal(t, "event", e.Method)
	require.Equal(t, "orders", e.Params["name"])
	require.NoError(t, c.EventsUnsubscribe(t.Context()))
	require.Same(t, fr.peer, f.next(api.EventsUnsubscribe.Name).peer)
}

// notBegunAnew is about what was sent and not looked at. The end of a connection
// and a ping on it are seen in either order, so that one ping may be left.
func notBegunAnew(t *testing.T, f *fake) {
	t.Helper()
	for len(f.frames) > 0 {
		require.Equal(t, "session.ping", (<-f.frames).method, "what was ended is not begun anew")
	}
}

// The subscription outlives its connection, and the program hears of the gap
// before what comes after it.
func TestASubscriptionOutlivesItsConnection(t *testing.T) {
	t.Parallel()
	f := newFake(t)
	subscribing(f)
	c, events := following(t, f, client.Options{})
	require.NoError(t, c.EventsSubscribe(t.Context(), "lost"))
	_ = f.next(api.EventsSubscribe.Name).peer.nc.Close()
	again := f.next(api.EventsSubscribe.Name)
	require.Equal(t, []any{"lost"}, again.params["kinds"])
	again.peer.notify("event", map[string]any{"kind": "lost", "at_ms": 1, "count": 1})
	require.Equal(t, client.Event{Method: client.EventsGap, Params: map[string]any{"reason": "reconnected"}}, <-events)
	require.Equal(t, "event", (<-events).Method)

	require.NoError(t, c.EventsUnsubscribe(t.Context()))
	_ = again.peer.nc.Close()
	_, err := c.Ping(t.Context())
	require.NoError(t, err)
	for f.next("session.ping").peer == again.peer { // it may have been sent before the end was seen
	}
	notBegunAnew(t, f)
	require.Empty(t, events)
}

// A sidecar that refuses to go on telling is still one that calls reach.
func TestASubscriptionThatIsRefusedLaterIsReported(t *testing.T) {
	t.Parallel()
	f := newFake(t)
	subscribing(f)
	c, events := following(t, f, client.Options{})
	require.NoError(t, c.EventsSubscribe(t.Context()))
	fr := f.next(api.EventsSubscribe.Name)
	f.on(api.EventsSubscribe.Name, func(frame) (any, any) {
		return nil, map[string]any{"code": "PERMISSION_DENIED", "message": "no longer"}
	})
	_ = fr.peer.nc.Close()
	require.Equal(t, "reconnected", (<-events).Params["reason"])
	e := <-events
	require.Equal(t, client.EventsGap, e.Method)
	require.Equal(t, map[string]any{"reason": "refused", "error": "PERMISSION_DENIED: no longer"}, e.Params)
	_, err := c.Ping(t.Context())
	require.NoError(t, err)
}

func TestAFirstSubscriptionThatIsRefusedIsNotTriedAgain(t *testing.T) {
	t.Parallel()
	f := newFake(t)
	f.on(api.EventsSubscribe.Name, func(frame) (any, any) {
		return nil, map[string]any{"code": "INVALID_ARGUMENT", "message": "kinds[0]"}
	})
	c, events := following(t, f, client.Options{})
	require.ErrorIs(t, c.EventsSubscribe(t.Context(), "x"), api.InvalidArgument)
	fr := f.next(api.EventsSubscribe.Name)
	_ = fr.peer.nc.Close()
	_, err := c.Ping(t.Context())
	require.NoError(t, err)
	for f.next("session.ping").peer == fr.peer {
	}
	notBegunAnew(t, f)
	require.Empty(t, events)
}

// The connection breaks with the answer on its way: the next one is asked too.
func TestASubscriptionWhoseConnectionBreaksIsMadeOnTheNext(t *testing.T) {
	t.Parallel()
	f := newFake(t)
	first := true
	f.on(api.EventsSubscribe.Name, func(fr frame) (any, any) {
		if first {
			first = false
			_ = fr.peer.nc.Close()
			return nil, nil
		}
		return map[string]any{"subscribed": []any{}}, nil
	})
	c, _ := following(t, f, client.Options{})
	require.NoError(t, c.EventsSubscribe(t.Context()))
	require.NotSame(t, f.next(api.EventsSubscribe.Name).peer, f.next(api.EventsSubscribe.Name).peer)
}

// Of several connections one is subscribed, or each event would come from all.
func TestOneConnectionIsSubscribed(t *testing.T) {
	t.Parallel()
	f := newFake(t)
	subscribing(f)
	c, _ := following(t, f, client.Options{Connections: 3})
	require.NoError(t, c.EventsSubscribe(t.Context(), "lost"))
	require.NoError(t, c.EventsSubscribe(t.Context()))
	require.Same(t, f.next(api.EventsSubscribe.Name).peer, f.next(api.EventsSubscribe.Name).peer)
	notBegunAnew(t, f)
}

// However changes come together, the sidecar and the client agree in the end on
// what is followed: what the next connection asks for is what the last one got.
func TestChangesOfASubscriptionTakeTurns(t *testing.T) {
	t.Parallel()
	f := newFake(t)
	subscribing(f)
	c, _ := following(t, f, client.Options{})
	var wg sync.WaitGroup
	for range 10 {
		for _, kind := range []string{"lost", "refused"} {
			wg.Go(func() { _ = c.EventsSubscribe(t.Context(), kind) })
		}
	}
	wg.Wait()
	var last frame
	for range 20 {
		last = f.next(api.EventsSubscribe.Name)
	}
	_ = last.peer.nc.Close()
	require.Equal(t, last.params["kinds"], f.next(api.EventsSubscribe.Name).params["kinds"])
}

func TestASubscriptionNeedsOnEvent(t *testing.T) {
	t.Parallel()
	deaf := dial(t, newFake(t).listen(), client.Options{})
	require.EqualError(t, deaf.EventsSubscribe(t.Context()), "events.subscribe: Options.OnEvent is not set, so no function would receive events: set it")
}

func TestAClosedClientCannotSubscribe(t *testing.T) {
	t.Parallel()
	f := newFake(t)
	c := dial(t, f.listen(), client.Options{OnEvent: func(client.Event) {}})
	require.NoError(t, c.Close())
	require.ErrorIs(t, c.EventsSubscribe(t.Context()), client.ErrClosed)
	require.NoError(t, c.EventsUnsubscribe(t.Context()), "there is nothing to end")
}
