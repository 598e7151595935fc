package client_test

import (
	"context"
	"errors"
	"net"
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

func TestCallCarriesParamsAndMetadata(t *testing.T) {
	t.Parallel()
	f := newFake(t)
	f.on("ratelimit.acquire", func(frame) (any, any) {
		return map[string]any{"allowed": true, "remaining": 2, "band": "3/5s", "key_of_a_later_version": []any{1}}, nil
	})
	f.on("lock.release", func(frame) (any, any) { return map[string]any{"released": true}, nil })
	c := dial(t, f.listen(), client.Options{})

	r, err := c.RatelimitAcquire(t.Context(), api.RatelimitParams{Rule: "crawl", Key: "k", Limits: []api.Band{{Limit: 3, PeriodMS: 5000}}})
	require.NoError(t, err)
	require.Equal(t, api.RatelimitResult{Allowed: true, Remaining: 2, Band: "3/5s"}, r)
	p := f.next("ratelimit.acquire").params
	require.Equal(t, "crawl", p["rule"])
	require.Equal(t, []any{map[string]any{"limit": int64(3), "period_ms": int64(5000)}}, p["limits"])
	require.NotContains(t, p, "cost", "zero values are left out")
	require.LessOrEqual(t, p["_deadline_ms"], patience.Milliseconds())
	require.NotContains(t, p, "_traceparent", "nobody traces")
	id := p["_request_id"].(string)
	require.LessOrEqual(t, len(id), api.MaxRequestIDBytes)

	_, err = c.RatelimitAcquire(t.Context(), api.RatelimitParams{Rule: "crawl", Key: "k"})
	require.NoError(t, err)
	require.NotEqual(t, id, f.next("ratelimit.acquire").params["_request_id"], "each call has its own")

	_, err = c.RatelimitAcquire(client.WithRequestID(t.Context(), "mine"), api.RatelimitParams{Rule: "crawl", Key: "k"})
	require.NoError(t, err)
	require.Equal(t, "mine", f.next("ratelimit.acquire").params["_request_id"])

	_, err = client.Call(t.Context(), c, api.LockRelease, api.LockReleaseParams{Name: "l", Token: "t"})
	require.NoError(t, err)
	require.NotContains(t, f.next("lock.release").params, "_request_id", "idempotent")
}

func TestCallRaw(t *testing.T) {
	t.Parallel()
	f := newFake(t)
	f.on("later.method", func(frame) (any, any) {
		return map[string]any{"n": 5, "neg": -5, "text": "x", "list": []any{map[string]any{"deep": true}}, "bin": []byte{1}}, nil
	})
	c := dial(t, f.listen(), client.Options{})

	var r any
	require.NoError(t, c.CallRaw(t.Context(), "later.method", map[string]any{"a": []any{1, "b"}}, &r))
	require.Equal(t, map[string]any{
		"n": int64(5), "neg": int64(-5), "text": "x", "list": []any{map[string]any{"deep": true}}, "bin": []byte{1},
	}, r)
	p := f.next("later.method").params
	require.Equal(t, []any{int64(1), "b"}, p["a"])
	require.Contains(t, p, "_request_id", "nothing is known of it, so it must not run twice")

	given := map[string]any{"_request_id": "r", "_deadline_ms": 7, "_traceparent": "tp"}
	var m map[string]any
	require.NoError(t, c.CallRaw(t.Context(), "later.method", given, &m))
	require.Equal(t, map[string]any{"_request_id": "r", "_deadline_ms": int64(7), "_traceparent": "tp"}, f.next("later.method").params)

	require.NoError(t, c.CallRaw(t.Context(), "session.ping", nil, nil))
	require.NotContains(t, f.next("session.ping").params, "_request_id")

	for _, bad := range []any{5, "text", []any{1}} {
		err := c.CallRaw(t.Context(), "later.method", bad, nil)
		require.ErrorContains(t, err, "give a map or a struct")
	}
	require.Error(t, c.CallRaw(t.Context(), "session.ping", nil, new(func())), "a result that nothing can be read into")
}

func TestErrorRepliesKeepTheirCode(t *testing.T) {
	t.Parallel()
	f := newFake(t)
	c := dial(t, f.listen(), client.Options{})
	for name, reply := range map[string]any{
		"map":  map[string]any{"code": "UNAVAILABLE", "message": "maybe executed: no answer", "retryable": true, "retry_after_ms": 250, "details": map[string]any{"maybe_executed": true}},
		"list": []any{0, "UNAVAILABLE: maybe executed: no answer"},
	} {
		f.on("session.ping", func(frame) (any, any) { return nil, reply })
		_, err := c.Ping(t.Context())
		require.ErrorIs(t, err, api.Unavailable, name)
		require.NotErrorIs(t, err, api.Internal, name)
		require.EqualError(t, err, "UNAVAILABLE: maybe executed: no answer", name)
		var e *api.Error
		require.ErrorAs(t, err, &e, name)
		require.True(t, e.Retryable, name)
		if name == "map" {
			require.True(t, e.MaybeExecuted())
			require.Equal(t, 250*time.Millisecond, e.RetryAfter())
		}
	}
	for _, odd := range []any{[]any{0}, []any{"x", 1}, "text", map[string]any{"code": 5}} {
		f.on("session.ping", func(frame) (any, any) { return nil, odd })
		_, err := c.Ping(t.Context())
		require.ErrorContains(t, err, "not MessagePack-RPC", "%v", odd)
	}
	f.on("session.ping", func(frame) (any, any) { return nil, []any{0, "no code"} })
	_, err := c.Ping(t.Context())
	require.ErrorIs(t, err, api.Internal)
}

// The sidecar's word and the caller's own clock look the same to callers.
func TestDeadlineOfEitherSideIsBothErrors(t *testing.T) {
	t.Parallel()
	f := newFake(t)
	f.on("session.ping", func(frame) (any, any) { return nil, []any{0, "DEADLINE_EXCEEDED: too late"} })
	c := dial(t, f.listen(), client.Options{})
	_, err := c.Ping(t.Context())
	require.ErrorIs(t, err, api.DeadlineExceeded)
	require.ErrorIs(t, err, context.DeadlineExceeded)

	f.on("session.ping", nil)
	ctx, cancel := context.WithTimeout(t.Context(), time.Millisecond)
	defer cancel()
	_, err = c.Ping(ctx)
	require.ErrorIs(t, err, api.DeadlineExceeded)
	require.ErrorIs(t, err, context.DeadlineExceeded)
}

func TestDeadlineTravels(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		f := newFake(t)
		f.on("session.ping", nil)
		c := bubble(t, f, client.Options{})
		defer f.wg.Wait()
		defer c.Close()

		began := time.Now()
		_, err := c.Ping(context.Background())
		require.ErrorIs(t, err, context.DeadlineExceeded)
		require.Equal(t, 5*time.Second, time.Since(began), "the default")
		fr := f.next("session.ping")
		require.Equal(t, int64(5000), fr.params["_deadline_ms"])
		require.Equal(t, []any{fr.msgid}, f.next("rpc.cancel").list)

		ctx, cancel := context.WithTimeout(context.Background(), 1500*time.Microsecond)
		defer cancel()
		_, err = c.Ping(ctx)
		require.ErrorIs(t, err, context.DeadlineExceeded)
		require.Equal(t, int64(2), f.next("session.ping").params["_deadline_ms"], "rounded up")
	})
}

func TestACancelledCallReturnsAtOnceAndIsCancelledInTheSidecar(t *testing.T) {
	t.Parallel()
	f := newFake(t)
	f.on("ratelimit.acquire", nil)
	c := dial(t, f.listen(), client.Options{})
	ctx, cancel := context.WithCancel(t.Context())
	ended := make(chan error, 1)
	go func() {
		_, err := c.RatelimitAcquire(ctx, api.RatelimitParams{Rule: "r", Key: "k"})
		ended <- err
	}()
	fr := f.next("ratelimit.acquire")
	cancel()
	err := <-ended
	require.ErrorIs(t, err, context.Canceled)
	require.ErrorIs(t, err, api.Cancelled)
	require.ErrorContains(t, err, "ratelimit.acquire")
	require.Equal(t, []any{fr.msgid}, f.next("rpc.cancel").list)
	fr.peer.reply(fr.msgid, nil, []any{0, "CANCELLED: as asked"}) // late: nobody is hurt
	_, err = c.Ping(t.Context())
	require.NoError(t, err)

	_, err = c.Ping(ctx)
	require.ErrorIs(t, err, context.Canceled, "ended before it began: nothing is sent")
	require.Equal(t, 1, len(f.frames), "only the ping before")
}

// A sidecar that reads nothing fills the socket; callers still end with their contexts.
func TestCallersDoNotBlockOnAFullSocket(t *testing.T) {
	t.Parallel()
	ours, theirs := socketPair(t)
	f := newFake(t)
	served := make(chan struct{})
	go func() {
		defer close(served)
		f.serveHello(theirs) // and nothing after
	}()
	c, err := client.DialBy(t.Context(), client.Options{Timeout: patience}, once(ours))
	require.NoError(t, err)
	<-served
	big := strings.Repeat("x", 512<<10)
	// Longer each time, since a slow machine may need it to get as far as the socket; but not for ever, since a
	// client whose connection is lost ends every call by its deadline.
	all, stop := context.WithTimeout(t.Context(), patience)
	defer stop()
	for wait := time.Millisecond; !errors.Is(err, api.Overloaded); wait += 5 * time.Millisecond {
		require.NoError(t, all.Err(), "never refused; the last call ended so: %v", err)
		ctx, cancel := context.WithTimeout(all, wait)
		err = c.CallRaw(ctx, "session.ping", map[string]any{"_pad": big}, nil)
		cancel()
		require.True(t, errors.Is(err, context.DeadlineExceeded) || errors.Is(err, api.Overloaded), "%v", err)
	}
	require.NoError(t, c.Close())
}

func TestAFrameThatIsTooLongIsNotSent(t *testing.T) {
	t.Parallel()
	f := newFake(t)
	f.hello["limits"] = map[string]any{"max_frame_bytes": 1000, "max_inflight": 4}
	c := dial(t, f.listen(), client.Options{})
	_, err := c.LockGet(t.Context(), strings.Repeat("n", 1000))
	require.ErrorIs(t, err, api.InvalidArgument)
	require.ErrorContains(t, err, "the sidecar accepts 1000: send less, or raise limits.max_frame_bytes")
	_, err = c.Ping(t.Context())
	require.NoError(t, err, "the connection is as it was")
}

func TestNoMoreCallsInFlightThanTheSidecarTakes(t *testing.T) {
	t.Parallel()
	f := newFake(t)
	f.hello["limits"] = map[string]any{"max_frame_bytes": 1000, "max_inflight": 2}
	f.on("session.ping", nil)
	c := dial(t, f.listen(), client.Options{})
	var wg sync.WaitGroup
	for range 5 {
		wg.Go(func() {
			_, err := c.Ping(context.Background())
			require.NoError(t, err)
		})
	}
	// Each answer lets the next one in, and never a third.
	a, b := f.next("session.ping"), f.next("session.ping")
	for range 3 {
		require.Empty(t, f.frames)
		a.peer.reply(a.msgid, map[string]any{}, nil)
		a, b = b, f.next("session.ping")
	}
	a.peer.reply(a.msgid, map[string]any{}, nil)
	b.peer.reply(b.msgid, map[string]any{}, nil)
	wg.Wait()
}

func TestLongRepliesAndManyCallers(t *testing.T) {
	t.Parallel()
	f := newFake(t)
	long := strings.Repeat("é", 700<<10)
	f.on("echo.long", func(fr frame) (any, any) {
		if fr.params["long"] == true {
			return map[string]any{"n": fr.params["n"], "text": long}, nil
		}
		return map[string]any{"n": fr.params["n"], "text": ""}, nil
	})
	go func() { // the fake's frames are not looked at
		for range f.frames {
		}
	}()
	t.Cleanup(func() { close(f.frames) })
	c := dial(t, f.listen(), client.Options{})
	var wg sync.WaitGroup
	var longs atomic.Int64
	for i := range 64 {
		wg.Go(func() {
			for j := range 20 {
				n, isLong := int64(i*100+j), i == 7 && j%10 == 0
				var r map[string]any
				if err := c.CallRaw(context.Background(), "echo.long", map[string]any{"n": n, "long": isLong}, &r); err != nil {
					t.Error(err)
					return
				}
				if r["n"] != n {
					t.Errorf("call %d got the reply of %v", n, r["n"])
				}
				if r["text"] == long {
					longs.Add(1)
				}
			}
		})
	}
	wg.Wait()
	require.Equal(t, int64(2), longs.Load())
}

func TestCallsAreTraced(t *testing.T) {
	t.Parallel()
	tp := &tracing{}
	f := newFake(t)
	c := dial(t, f.listen(), client.Options{Tracer: tp})
	_, err := c.Ping(within(t.Context(), "mine", "vendor=value"))
	require.NoError(t, err)
	require.Equal(t, []span{{what: "session.ping", parent: "mine"}}, tp.of("session.ping"))
	p := f.next("session.ping").params
	require.Equal(t, "in-session.ping", p["_traceparent"])
	require.Equal(t, "vendor=value", p["_tracestate"])

	f.on("session.ping", func(frame) (any, any) { return nil, []any{1, "INVALID_ARGUMENT: key secret: unknown"} })
	_, err = c.Ping(t.Context())
	require.Error(t, err)
	require.Equal(t, span{what: "session.ping", failed: "INVALID_ARGUMENT"}, tp.of("session.ping")[1], "no text of the error")
	f.next("session.ping")

	ended, cancel := context.WithCancel(t.Context())
	f.on("session.ping", func(frame) (any, any) { cancel(); return nil, nil })
	_, err = c.Ping(ended)
	require.ErrorIs(t, err, context.Canceled)
	require.Equal(t, "CANCELLED", tp.of("session.ping")[2].failed)
}

// A tracer that starts no span still says what goes with the call.
func TestTheCallersOwnTraceContextIsPassedOn(t *testing.T) {
	t.Parallel()
	tp := &tracing{silent: true}
	f := newFake(t)
	c := dial(t, f.listen(), client.Options{Tracer: tp})
	_, err := c.Ping(within(t.Context(), "mine", ""))
	require.NoError(t, err)
	require.Empty(t, tp.spans, "what was not started is not ended")
	p := f.next("session.ping").params
	require.Equal(t, "mine", p["_traceparent"])
	require.NotContains(t, p, "_tracestate")
}

// once dials the given connection, and none after it.
func once(nc net.Conn) func(context.Context) (net.Conn, error) {
	var used atomic.Bool
	return func(ctx context.Context) (net.Conn, error) {
		if used.Swap(true) {
			<-ctx.Done()
			return nil, ctx.Err()
		}
		return nc, nil
	}
}
