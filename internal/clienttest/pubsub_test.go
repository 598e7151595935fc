package clienttest_test

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"net"
	"os"
	"path/filepath"
	"runtime"
	"strconv"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/hashicorp/go-msgpack/v2/codec"
	"github.com/stretchr/testify/require"

	"github.com/coxswain-sidecar/coxswain/client"
	"github.com/coxswain-sidecar/coxswain/client/api"
	"github.com/coxswain-sidecar/coxswain/internal/lua"
	"github.com/coxswain-sidecar/coxswain/internal/luatest"
	"github.com/coxswain-sidecar/coxswain/internal/redistest"
	"github.com/coxswain-sidecar/coxswain/internal/rpc"
	"github.com/coxswain-sidecar/coxswain/internal/telemetry"
)

// tally counts the messages and gaps that a subscriber receives.
type tally struct {
	received, dropped, unknown, twice atomic.Int64

	had map[string]bool // the messages so far; used only by the goroutine that calls message
}

func (n *tally) message(body string) {
	if n.had[body] {
		n.twice.Add(1)
	}
	n.had[body] = true
	n.received.Add(1)
}

func (n *tally) gap(dropped int64) {
	if dropped < 0 {
		n.unknown.Add(1)
		return
	}
	n.dropped.Add(dropped)
}

// addsUp waits until all messages that were sent are received or reported as dropped.
func (n *tally) addsUp(t *testing.T, sent int64) {
	t.Helper()
	require.Eventually(t, func() bool { return n.received.Load()+n.dropped.Load() >= sent }, 5*time.Minute, 10*time.Millisecond)
	require.Equal(t, sent, n.received.Load()+n.dropped.Load())
	require.Zero(t, n.twice.Load())
	require.Zero(t, n.unknown.Load())
}

// follow subscribes until the test ends; each is called with each message.
func follow(t *testing.T, socket string, buffer int, each func()) *tally {
	t.Helper()
	c := dial(t, socket, client.Options{})
	n := &tally{had: map[string]bool{}}
	ready, done := make(chan struct{}, 10), make(chan error, 1)
	ctx, cancel := context.WithCancel(t.Context())
	go func() {
		done <- c.PubsubSubscribe(ctx, client.PubsubOptions{
			Channels: []string{"numbers"}, Buffer: buffer, OnGap: n.gap, OnSubscribed: func() { ready <- struct{}{} },
		}, func(_ context.Context, m api.PubsubMessage) error {
			n.message(string(m.Body))
			each()
			return nil
		})
	}()
	t.Cleanup(func() {
		cancel()
		if err := <-done; !errors.Is(err, context.Canceled) {
			t.Error(err)
		}
	})
	select {
	case <-ready:
	case err := <-done:
		t.Fatal(err)
	}
	return n
}

// messages returns how many messages to send: $COXSWAIN_PUBSUB_MESSAGES makes the test longer.
func messages(t *testing.T) int64 {
	t.Helper()
	text := os.Getenv("COXSWAIN_PUBSUB_MESSAGES")
	if text == "" {
		return 100_000
	}
	n, err := strconv.ParseInt(text, 10, 64)
	require.NoError(t, err)
	return n
}

// unread is a subscriber that uses a plain MessagePack library and reads nothing until the test calls next or read.
type unread struct {
	t *testing.T
	d *codec.Decoder
}

func subscribeUnread(t *testing.T, socket string, buffer int) unread {
	t.Helper()
	nc, err := net.Dial("unix", socket)
	require.NoError(t, err)
	t.Cleanup(func() { _ = nc.Close() })
	h := &codec.MsgpackHandle{WriteExt: true, PositiveIntUnsigned: true}
	h.RawToString, h.SignedInteger = true, true
	var b []byte
	require.NoError(t, codec.NewEncoderBytes(&b, h).Encode([]any{0, 1, "pubsub.subscribe", []any{map[string]any{"channels": []string{"numbers"}, "buffer": buffer}}}))
	_, err = nc.Write(b)
	require.NoError(t, err)
	u := unread{t, codec.NewDecoder(bufio.NewReader(nc), h)}
	require.Len(t, u.next(), 4, "the answer comes before all messages")
	return u
}

func (u unread) next() []any {
	var v []any
	require.NoError(u.t, u.d.Decode(&v))
	return v
}

// read counts messages and gaps until all that was sent is received or reported as dropped.
func (u unread) read(sent int64) *tally {
	n := &tally{had: map[string]bool{}}
	for n.received.Load()+n.dropped.Load() < sent {
		v := u.next()
		list, ok := v[2].([]any)
		require.True(u.t, ok)
		params, ok := list[0].(map[any]any)
		require.True(u.t, ok, "%T", list[0])
		switch v[1] {
		case api.PubsubMessageEvent.Name:
			n.message(fmt.Sprint(params["body"]))
		case api.PubsubGapEvent.Name:
			dropped, ok := params["dropped"].(int64)
			require.True(u.t, ok, "%T", params["dropped"])
			n.gap(dropped)
		}
	}
	return n
}

// For each subscriber of two sidecars, received and dropped messages add up to those sent, and slow subscribers do not
// delay others.
func TestEveryMessageIsReceivedOrCountedInAGap(t *testing.T) {
	t.Parallel()
	prefix, sent := redistest.Prefix(t), messages(t)
	serve := func() string { return serve(t, luatest.Open(t, lua.Options{URL: redistest.URL(t)}), prefix) }
	here, there := serve(), serve()
	fast, far := follow(t, here, 100_000, func() {}), follow(t, there, 100_000, func() {})
	slow := follow(t, here, 10, func() { runtime.Gosched(); time.Sleep(time.Microsecond) })
	stuck := subscribeUnread(t, here, 100)

	publisher := dial(t, here, client.Options{})
	var last atomic.Int64
	var all sync.WaitGroup
	for range 64 {
		all.Go(func() {
			for i := last.Add(1); i <= sent; i = last.Add(1) {
				if _, err := publisher.PubsubPublish(t.Context(), "numbers", fmt.Append(nil, i)); err != nil {
					t.Error(err)
				}
			}
		})
	}
	all.Wait()
	fast.addsUp(t, sent)
	far.addsUp(t, sent)
	slow.addsUp(t, sent)
	n := stuck.read(sent)
	n.addsUp(t, sent)
	require.Positive(t, n.dropped.Load())
	t.Logf("dropped of %d: fast %d, in another sidecar %d, slow %d, stuck %d", sent, fast.dropped.Load(), far.dropped.Load(), slow.dropped.Load(), n.dropped.Load())
}

// The client subscribes again on its next connection, and the sidecar on its next connection to Redis.
func TestASubscriptionContinuesAfterALostConnection(t *testing.T) {
	t.Parallel()
	server := redistest.Start(t)
	socket := serve(t, luatest.Open(t, lua.Options{URL: server.URL()}), "p")
	n := follow(t, socket, 10, func() {})
	c := dial(t, socket, client.Options{})
	publish := func() {
		_, err := c.PubsubPublish(t.Context(), "numbers", fmt.Append(nil, n.received.Load()))
		require.NoError(t, err)
	}
	publish()
	require.Eventually(t, func() bool { return n.received.Load() == 1 }, time.Minute, time.Millisecond)
	require.NoError(t, server.Client(t).ClientKillByFilter(t.Context(), "TYPE", "pubsub").Err())
	require.Eventually(t, func() bool { return n.unknown.Load() == 1 }, time.Minute, time.Millisecond)
	publish()
	require.Eventually(t, func() bool { return n.received.Load() == 2 }, time.Minute, time.Millisecond)
}

// The answer to pubsub.subscribe comes before the messages, also while many are published.
func TestTheAnswerComesBeforeTheMessages(t *testing.T) {
	t.Parallel()
	socket := live(t)
	publisher := dial(t, socket, client.Options{})
	ctx, cancel := context.WithCancel(t.Context())
	var all sync.WaitGroup
	for range 8 {
		all.Go(func() {
			for ctx.Err() == nil {
				_, _ = publisher.PubsubPublish(ctx, "numbers", []byte("1")) // the last call is cancelled
			}
		})
	}
	for range 50 {
		u := subscribeUnread(t, socket, 10)
		require.Equal(t, api.PubsubMessageEvent.Name, u.next()[1])
	}
	cancel()
	all.Wait()
}

func TestASubscriberIsNotifiedOfADrain(t *testing.T) {
	t.Parallel()
	s := sidecar(t, luatest.Open(t, lua.Options{URL: redistest.URL(t)}), redistest.Prefix(t), nil)
	path := filepath.Join(t.TempDir(), "s.sock")
	server, err := rpc.Listen(rpc.Options{Path: path, Mode: 0o600, UID: -1, GID: -1, Telemetry: telemetry.Nop()}, rpc.Services{
		Leases: s.Leases, Methods: s.Methods(),
	})
	require.NoError(t, err)
	u := subscribeUnread(t, path, 10)
	ctx, cancel := context.WithCancel(t.Context())
	ended := make(chan error, 1)
	go func() { ended <- server.Shutdown(ctx) }()
	require.Equal(t, api.SessionDraining.Name, u.next()[1])
	cancel()
	<-ended
}
