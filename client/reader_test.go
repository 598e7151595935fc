package client_test

import (
	"context"
	"errors"
	"math/rand/v2"
	"net"
	"runtime"
	"sync"
	"sync/atomic"
	"syscall"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/coxswain-sidecar/coxswain/client"
	"github.com/coxswain-sidecar/coxswain/client/api"
)

// leading makes calls until a caller has read its own reply.
func leading(t testing.TB, c *client.Client) {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), patience)
	defer cancel()
	for before := client.Led(c); client.Led(c) == before; {
		_, err := c.Ping(ctx)
		require.NoError(t, err)
	}
}

func TestALoneCallerReadsItsOwnReply(t *testing.T) {
	t.Parallel()
	f := newFake(t)
	c := dial(t, f.listen(), client.Options{})
	leading(t, c)
	leading(t, c)
}

// aside runs a test in a bubble, with a client whose background reader has stepped aside.
func aside(t *testing.T, o client.Options, test func(t *testing.T, f *fake, c *client.Client)) {
	t.Helper()
	synctest.Test(t, func(t *testing.T) {
		f := newFake(t)
		c := bubble(t, f, o)
		defer f.wg.Wait()
		defer c.Close()
		leading(t, c)
		for len(f.frames) > 0 {
			<-f.frames
		}
		test(t, f, c)
	})
}

// peerOf is the client's connection as the fake has it.
func peerOf(f *fake) *peer {
	f.mu.Lock()
	defer f.mu.Unlock()
	return f.conns[len(f.conns)-1]
}

func TestEventsAreReceivedWithoutCalls(t *testing.T) {
	t.Parallel()
	var heard chan client.Event
	aside(t, client.Options{OnEvent: func(e client.Event) { heard <- e }}, func(t *testing.T, f *fake, c *client.Client) {
		heard = make(chan client.Event, 1) // of the bubble, so that its clock goes on
		began := time.Now()
		go peerOf(f).notify("a.b", map[string]any{"n": 1})
		require.Equal(t, "a.b", (<-heard).Method)
		require.LessOrEqual(t, time.Since(began), 2*client.Glance, "by the bubble's clock")
		led := client.Led(c)
		time.Sleep(time.Hour)
		go peerOf(f).notify("c.d", map[string]any{"n": 1})
		began = time.Now()
		require.Equal(t, "c.d", (<-heard).Method)
		require.Zero(t, time.Since(began), "by the bubble's clock: somebody reads")
		require.Equal(t, led, client.Led(c))
	})
}

// Losses, and the end of the connection, are seen at once.
func TestLocksAreLostAlsoWithoutCalls(t *testing.T) {
	t.Parallel()
	for name, lose := range map[string]func(p *peer, lk *client.Lock){
		"told": func(p *peer, lk *client.Lock) {
			p.notify("lock.lost", map[string]any{"name": "l", "token": lk.Token(), "fence": "1", "reason": "expired"})
		},
		"broken": func(p *peer, _ *client.Lock) { _ = p.nc.Close() },
	} {
		aside(t, client.Options{}, func(t *testing.T, f *fake, c *client.Client) {
			granting(f)
			lk, err := c.LockAcquire(t.Context(), "l", client.LockOptions{})
			require.NoError(t, err)
			_, err = c.Ping(t.Context())
			require.NoError(t, err)
			began := time.Now()
			go lose(peerOf(f), lk)
			<-lk.Context().Done()
			require.ErrorIs(t, context.Cause(lk.Context()), client.ErrLost, name)
			require.Zero(t, time.Since(began), "by the bubble's clock: a lease is held, so somebody reads")
		})
	}
}

func TestACallerThatReadsEndsWithItsContext(t *testing.T) {
	t.Parallel()
	aside(t, client.Options{}, func(t *testing.T, f *fake, c *client.Client) {
		f.on("ratelimit.acquire", nil)
		led := client.Led(c)
		for _, after := range []time.Duration{0, client.Glance / 2, time.Second} {
			ctx, cancel := context.WithCancel(t.Context())
			ended := make(chan error, 1)
			go func() {
				_, err := c.RatelimitAcquire(ctx, api.RatelimitParams{Rule: "r", Key: "k"})
				ended <- err
			}()
			fr := f.next("ratelimit.acquire")
			led++
			require.Equal(t, led, client.Led(c), "it reads")
			time.Sleep(after)
			began := time.Now()
			cancel()
			require.ErrorIs(t, <-ended, context.Canceled)
			require.LessOrEqual(t, time.Since(began), client.Glance, "by the bubble's clock")
			require.Equal(t, []any{fr.msgid}, f.next("rpc.cancel").list)
			fr.peer.reply(fr.msgid, nil, []any{0, "CANCELLED: as asked"})
			for before := client.Led(c); client.Led(c) == before; led = client.Led(c) {
				_, err := c.Ping(t.Context())
				require.NoError(t, err, "the connection is as it was")
			}
		}
	})
}

// Callers mostly use one context again and again: its end is seen at once.
func TestACallerThatReadsEndsWithTheContextOfOthers(t *testing.T) {
	t.Parallel()
	aside(t, client.Options{}, func(t *testing.T, f *fake, c *client.Client) {
		f.on("ratelimit.acquire", nil)
		ctx, cancel := context.WithCancel(t.Context())
		for range 10 {
			_, err := c.Ping(ctx)
			require.NoError(t, err)
			time.Sleep(client.Glance / 3)
		}
		led := client.Led(c)
		ended := make(chan error, 1)
		go func() {
			_, err := c.RatelimitAcquire(ctx, api.RatelimitParams{Rule: "r", Key: "k"})
			ended <- err
		}()
		f.next("ratelimit.acquire")
		require.Equal(t, led+1, client.Led(c), "it reads")
		began := time.Now()
		cancel()
		require.ErrorIs(t, <-ended, context.Canceled)
		require.Zero(t, time.Since(began), "by the bubble's clock")
	})
}

func TestACallerThatReadsEndsWithItsDeadline(t *testing.T) {
	t.Parallel()
	aside(t, client.Options{}, func(t *testing.T, f *fake, c *client.Client) {
		f.on("session.ping", nil)
		led, began := client.Led(c), time.Now()
		ctx, cancel := context.WithTimeout(t.Context(), client.Glance/4)
		defer cancel()
		_, err := c.Ping(ctx)
		require.ErrorIs(t, err, context.DeadlineExceeded)
		require.Equal(t, client.Glance/4, time.Since(began), "by the bubble's clock")
		require.Equal(t, led+1, client.Led(c), "it read")
	})
}

func TestCloseEndsACallerThatReads(t *testing.T) {
	t.Parallel()
	aside(t, client.Options{}, func(t *testing.T, f *fake, c *client.Client) {
		f.on("session.ping", nil)
		led := client.Led(c)
		ended := make(chan error, 1)
		go func() {
			_, err := c.Ping(context.Background())
			ended <- err
		}()
		f.next("session.ping")
		require.Equal(t, led+1, client.Led(c), "it reads")
		require.NoError(t, c.Close())
		require.ErrorIs(t, <-ended, client.ErrClosed)
	})
}

// A caller that reads has the replies of others too, and leaves the reading to the
// background when its own has come.
func TestACallerReadsRepliesForOthersWhileItWaits(t *testing.T) {
	t.Parallel()
	aside(t, client.Options{}, func(t *testing.T, f *fake, c *client.Client) {
		f.on("session.ping", nil)
		ended := make(chan error, 3)
		call := func() frame {
			go func() {
				_, err := c.Ping(context.Background())
				ended <- err
			}()
			return f.next("session.ping")
		}
		led := client.Led(c)
		first, second, third := call(), call(), call()
		require.Equal(t, led+1, client.Led(c), "one of them reads")
		began := time.Now()
		second.peer.reply(second.msgid, map[string]any{}, nil)
		require.NoError(t, <-ended)
		first.peer.reply(first.msgid, map[string]any{}, nil)
		require.NoError(t, <-ended)
		third.peer.reply(third.msgid, map[string]any{}, nil)
		require.NoError(t, <-ended)
		require.Zero(t, time.Since(began), "by the bubble's clock: nothing waits to be looked for")
	})
}

// A connection that breaks under a caller that reads: the call is made on the next one.
func TestACallerThatReadsIsRepeated(t *testing.T) {
	t.Parallel()
	f := newFake(t)
	c := dial(t, f.listen(), client.Options{})
	for range 5 {
		leading(t, c)
		_ = peerOf(f).nc.Close()
		_, err := c.Ping(t.Context())
		require.NoError(t, err)
	}
}

// A call that waits for others to end is not sent, and ends with its context, with its
// deadline and with the connection.
func TestACallBeyondTheLimitOfTheSidecarIsNotSent(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		f := newFake(t)
		f.hello["limits"] = map[string]any{"max_frame_bytes": 1000, "max_inflight": 1}
		f.on("echo.long", nil)
		f.on("session.ping", nil)
		c := bubble(t, f, client.Options{})
		defer f.wg.Wait()
		defer c.Close()
		long, cancel := context.WithTimeout(t.Context(), time.Minute)
		defer cancel()
		first := make(chan error, 1)
		go func() { first <- c.CallRaw(long, "echo.long", nil, nil) }()
		fr := f.next("echo.long")

		pings := make(chan error, 2)
		ping := func() {
			_, err := c.Ping(context.Background())
			pings <- err
		}
		began := time.Now()
		go ping()
		synctest.Wait()
		short, cancel := context.WithTimeout(t.Context(), time.Second)
		defer cancel()
		_, err := c.Ping(short)
		require.ErrorIs(t, err, context.DeadlineExceeded)
		require.Equal(t, time.Second, time.Since(began))
		ending, cancel := context.WithCancel(t.Context())
		time.AfterFunc(time.Second, cancel)
		_, err = c.Ping(ending)
		require.ErrorIs(t, err, context.Canceled)
		require.ErrorIs(t, <-pings, context.DeadlineExceeded)
		require.Equal(t, 5*time.Second, time.Since(began), "the default")
		require.Empty(t, f.frames, "none of them, nor that they are cancelled")

		go ping()
		go ping()
		time.Sleep(time.Second)
		fr.peer.reply(fr.msgid, nil, nil)
		require.NoError(t, <-first)
		sent := f.next("session.ping")
		require.Equal(t, int64(4000), sent.params["_deadline_ms"], "what is left when it is sent")
		_ = sent.peer.nc.Close()
		sent = f.next("session.ping")
		f.on("session.ping", func(frame) (any, any) { return map[string]any{}, nil })
		sent.peer.reply(sent.msgid, map[string]any{}, nil)
		require.NoError(t, errors.Join(<-pings, <-pings))
	})
}

// countingWrites is a connection whose writes are counted.
type countingWrites struct {
	*net.UnixConn
	writes atomic.Int64
}

func (c *countingWrites) SyscallConn() (syscall.RawConn, error) {
	raw, err := c.UnixConn.SyscallConn()
	return countedWrites{raw, &c.writes}, err
}

type countedWrites struct {
	syscall.RawConn
	writes *atomic.Int64
}

func (c countedWrites) Write(f func(uintptr) bool) error {
	c.writes.Add(1)
	return c.RawConn.Write(f)
}

// Callers whose replies come together write together: GOMAXPROCS is 1, so that they run
// one after the other.
func TestCallersWriteTogether(t *testing.T) {
	defer runtime.GOMAXPROCS(runtime.GOMAXPROCS(1))
	const callers, rounds = 32, 50
	ours, theirs := socketPair(t)
	counted := &countingWrites{UnixConn: ours.(*net.UnixConn)}
	s := canned{}
	s.set(t, "session.hello", newFake(t).hello)
	s.set(t, "session.ping", map[string]any{})
	go s.serveTogether(theirs, callers, rounds)
	c, err := client.DialBy(t.Context(), client.Options{Timeout: patience}, once(counted))
	require.NoError(t, err)
	var wg sync.WaitGroup
	for range callers {
		wg.Go(func() {
			for range rounds {
				if _, err := c.Ping(t.Context()); err != nil {
					t.Error(err)
					return
				}
			}
		})
	}
	wg.Wait()
	require.Less(t, counted.writes.Load(), int64(callers*rounds/4))
	require.NoError(t, c.Close())
}

// serveTogether answers hello, and then so many calls at a time, when all of them have
// come.
func (s canned) serveTogether(nc net.Conn, callers, rounds int) {
	in, have := make([]byte, 1<<16), 0
	var out []byte
	for answered, waiting := 0, 0; answered < 1+callers*rounds; {
		n, err := nc.Read(in[have:])
		if err != nil {
			return
		}
		rest := in[:have+n]
		for {
			length, err := client.Skim(rest, len(rest))
			if err != nil || length == 0 {
				break
			}
			out = s.answer(out, rest[:length])
			rest = rest[length:]
			waiting++
		}
		have = copy(in, rest)
		if answered == 0 || waiting == callers {
			answered, waiting = answered+waiting, 0
			if _, err := nc.Write(out); err != nil {
				return
			}
			out = out[:0]
		}
	}
}

// However many calls there are at a time, and however others end: each that has a reply has
// its own.
func TestEachCallHasItsOwnReply(t *testing.T) {
	t.Parallel()
	f := newFake(t)
	f.on("echo.late", func(fr frame) (any, any) {
		n := fr.params["n"].(int64)
		if n%31 == 0 {
			fr.peer.notify("a.b", map[string]any{"n": n})
		}
		return map[string]any{"n": n}, nil
	})
	go func() { // the fake's frames are not looked at
		for range f.frames {
		}
	}()
	t.Cleanup(func() { close(f.frames) })
	c := dial(t, f.listen(), client.Options{Connections: 2, OnEvent: func(client.Event) {}})
	all, stop := context.WithTimeout(t.Context(), patience)
	defer stop()
	call := func(r *rand.Rand) {
		ctx, cancel := all, context.CancelFunc(func() {})
		switch r.IntN(6) {
		case 0:
			ctx, cancel = context.WithTimeout(all, time.Duration(r.IntN(300))*time.Microsecond)
		case 1:
			ctx, cancel = context.WithCancel(all)
			time.AfterFunc(time.Duration(r.IntN(300))*time.Microsecond, cancel)
		}
		defer cancel()
		var got map[string]any
		n := r.Int64N(1 << 40)
		err := c.CallRaw(ctx, "echo.late", map[string]any{"n": n}, &got)
		switch {
		case err != nil && ctx == all:
			t.Error(err)
		case err == nil && got["n"] != n:
			t.Errorf("call %d got the reply of %v", n, got["n"])
		}
	}
	for _, callers := range []int{1, 2, 1, 16, 1, 3, 64, 1} {
		var wg sync.WaitGroup
		for i := range callers {
			wg.Go(func() {
				for r := rand.New(rand.NewPCG(uint64(callers), uint64(i))); r.IntN(200) > 0 && all.Err() == nil; {
					call(r)
				}
			})
		}
		wg.Wait()
	}
	require.NoError(t, all.Err(), "some call has not ended")
}
