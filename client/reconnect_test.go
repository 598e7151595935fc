package client_test

import (
	"context"
	"path/filepath"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/coxswain-sidecar/coxswain/client"
	"github.com/coxswain-sidecar/coxswain/client/api"
)

// A connection killed between a call and its reply: the call is repeated on the
// next one with the same request id, so that the sidecar runs it once.
func TestACallWhoseConnectionBreaksRunsOnce(t *testing.T) {
	t.Parallel()
	f := newFake(t)
	ran := map[any]int{}
	breaks := 2
	f.on("ratelimit.acquire", func(fr frame) (any, any) {
		id := fr.params["_request_id"]
		replayed := ran[id] > 0
		if !replayed {
			ran[id]++
		}
		if breaks > 0 {
			breaks--
			_ = fr.peer.nc.Close()
			return nil, nil
		}
		return map[string]any{"allowed": true, "replayed": replayed}, nil
	})
	c := dial(t, f.listen(), client.Options{})
	r, err := c.RatelimitAcquire(t.Context(), api.RatelimitParams{Rule: "r", Key: "k"})
	require.NoError(t, err)
	require.True(t, r.Allowed)
	require.True(t, r.Replayed)
	f.answering.Lock()
	defer f.answering.Unlock()
	require.Len(t, ran, 1)
	a, b := f.next("ratelimit.acquire"), f.next("ratelimit.acquire")
	require.NotSame(t, a.peer, b.peer)
	require.Equal(t, a.params["_request_id"], b.params["_request_id"])
}

func TestIdempotentCallsAreRepeatedWithoutAnID(t *testing.T) {
	t.Parallel()
	f := newFake(t)
	first := true
	f.on("session.ping", func(fr frame) (any, any) {
		if first {
			first = false
			_ = fr.peer.nc.Close()
			return nil, nil
		}
		return map[string]any{"now_at_ms": 1}, nil
	})
	c := dial(t, f.listen(), client.Options{})
	_, err := c.Ping(t.Context())
	require.NoError(t, err)
	require.NotContains(t, f.next("session.ping").params, "_request_id")
	require.NotContains(t, f.next("session.ping").params, "_request_id")
}

// Without a request id a call that may have run is reported, not run again.
func TestACallWithoutAnIDIsNotRepeated(t *testing.T) {
	t.Parallel()
	f := newFake(t)
	f.on("ratelimit.acquire", func(fr frame) (any, any) {
		_ = fr.peer.nc.Close()
		return nil, nil
	})
	c := dial(t, f.listen(), client.Options{})
	_, err := c.RatelimitAcquire(client.WithRequestID(t.Context(), ""), api.RatelimitParams{Rule: "r", Key: "k"})
	require.ErrorIs(t, err, api.Unavailable)
	var e *api.Error
	require.ErrorAs(t, err, &e)
	require.True(t, e.MaybeExecuted())
	require.Len(t, f.frames, 1)
	require.NotContains(t, f.next("ratelimit.acquire").params, "_request_id")
}

// A call that breaks every connection must not go on doing so: others lose
// their locks by it.
func TestACallThatBreaksConnectionsIsGivenUp(t *testing.T) {
	t.Parallel()
	f := newFake(t)
	f.on("session.ping", func(fr frame) (any, any) {
		_ = fr.peer.nc.Close()
		return nil, nil
	})
	c := dial(t, f.listen(), client.Options{})
	_, err := c.Ping(t.Context())
	require.ErrorContains(t, err, "session.ping: connection to the sidecar lost")
	require.Len(t, f.frames, client.MaxSends)
}

func TestCallsWaitForTheNextConnection(t *testing.T) {
	t.Parallel()
	first, second := newFake(t), newFake(t)
	path := filepath.Join(t.TempDir(), "s.sock")
	stop := first.listenAt(path)
	c := dial(t, path, client.Options{})
	_, err := c.Ping(t.Context())
	require.NoError(t, err)
	lost := first.next("session.ping").peer
	stop()
	<-lost.ended

	ctx, cancel := context.WithCancel(t.Context())
	ended := make(chan error, 1)
	go func() {
		_, err := c.Ping(ctx)
		ended <- err
	}()
	cancel()
	err = <-ended
	require.ErrorIs(t, err, context.Canceled)

	go func() {
		_, err := c.Ping(context.Background())
		ended <- err
	}()
	second.listenAt(path)
	require.NoError(t, <-ended)
	second.next("session.ping")
}

func TestWaitingForAConnectionSaysWhatIsWrong(t *testing.T) {
	t.Parallel()
	f := newFake(t)
	path := filepath.Join(t.TempDir(), "s.sock")
	stop := f.listenAt(path)
	c := dial(t, path, client.Options{})
	stop()
	all, end := context.WithTimeout(t.Context(), patience)
	defer end()
	for client.Unreached(c) == nil {
		// Until the client has noticed, the error is about the connection it had.
		require.NoError(t, all.Err(), "the client never notices that nobody listens")
		ctx, cancel := context.WithCancel(all)
		ended := make(chan error, 1)
		go func() {
			_, err := c.Ping(ctx)
			ended <- err
		}()
		cancel()
		<-ended
	}
	require.ErrorContains(t, client.Unreached(c), "is it running? start it with sidecar serve")
}

// The caller's end and the connection's come together: the call is not sent anew.
func TestACallThatHasEndedIsNotRepeated(t *testing.T) {
	t.Parallel()
	f := newFake(t)
	cancels := make(chan context.CancelFunc, 1)
	f.on("session.ping", func(fr frame) (any, any) {
		(<-cancels)()
		_ = fr.peer.nc.Close()
		return nil, nil
	})
	c := dial(t, f.listen(), client.Options{Connections: 2}) // the other one is up at once
	for range 5 {
		ctx, cancel := context.WithCancel(t.Context())
		cancels <- cancel
		_, err := c.Ping(ctx)
		require.ErrorIs(t, err, context.Canceled)
		f.next("session.ping")
		require.Empty(t, f.frames)
	}
}

func TestADeadlineHoldsIfTheConnectionBreaksAtTheSameTime(t *testing.T) {
	t.Parallel()
	for i := range 20 {
		o, limit := client.Options{}, 5*time.Second
		if i%2 == 1 {
			o.Timeout, limit = 2*time.Second, 2*time.Second
		}
		synctest.Test(t, func(t *testing.T) {
			f := newFake(t)
			f.on("session.ping", func(fr frame) (any, any) {
				time.Sleep(limit) // the bubble's clock, and the call's deadline
				_ = fr.peer.nc.Close()
				return nil, nil
			})
			c := bubble(t, f, o)
			defer f.wg.Wait()
			defer c.Close()
			began := time.Now()
			_, err := c.Ping(context.Background())
			require.ErrorIs(t, err, context.DeadlineExceeded)
			require.Equal(t, limit, time.Since(began))
		})
	}
}
