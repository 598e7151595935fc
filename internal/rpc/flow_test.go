package rpc_test

import (
	"bytes"
	"runtime"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/coxswain-sidecar/coxswain/client/api"
	"github.com/coxswain-sidecar/coxswain/internal/rpc"
)

func TestPingsOfOneReadShareOneWrite(t *testing.T) {
	t.Parallel()
	b := serve(t, rpc.Options{})
	p := b.dial(t)
	p.alive()
	writes := b.CountWrites()
	p.send(bytes.Repeat(request(t, 1, "session.ping"), 64))
	for range 64 {
		p.reply()
	}
	require.Equal(t, 1, writes())
}

func TestAReplyIsOneWrite(t *testing.T) {
	t.Parallel()
	g := newGate()
	b := serve(t, rpc.Options{}, g.method("gate.wait"))
	p := b.dial(t)
	p.alive()
	writes := b.CountWrites()
	for range 10 {
		g.open <- nil
		p.must("gate.wait")
		<-g.entered
	}
	require.Equal(t, 10, writes())
}

func TestAFrameMayComeByteByByte(t *testing.T) {
	t.Parallel()
	b := serveAll(t)
	p, other := b.dial(t), b.dial(t)
	for _, x := range request(t, 1, "rpc.describe", m{"method": "lock.acquire"}) {
		p.send([]byte{x})
		other.alive()
	}
	_, err, result := p.reply()
	require.Nil(t, err)
	require.Equal(t, "lock.acquire", result.(m)["name"])
}

func TestLongFramesAreReadAndTheirMemoryGivenBack(t *testing.T) {
	b := serve(t, rpc.Options{})
	long := request(t, 1, "session.ping", m{"_x": make([]byte, 1<<20-40)})
	require.LessOrEqual(t, len(long), 1<<20)
	b.dial(t).alive()
	before := heap()
	peers := make([]*peer, 16)
	for i := range peers {
		peers[i] = b.dial(t)
		peers[i].send(request(t, 1, "session.ping"), long, request(t, 1, "session.ping"))
		for range 3 {
			_, err, _ := peers[i].reply()
			require.Nil(t, err)
		}
	}
	eventually(t, "the buffers are small again", func() bool { return heap()-before < 2<<20 })

	p := peers[0]
	runtime.KeepAlive(long)

	_, _ = p.conn.Write(append(request(t, 1, "session.ping"), request(t, 1, "session.ping", m{"_x": make([]byte, 1<<20)})...))
	p.reply()
	p.closed()
	require.Contains(t, b.log.String(), "at most 1048576 are taken")
}

func TestRepliesBeforeMalformedBytesAreSent(t *testing.T) {
	t.Parallel()
	b := serve(t, rpc.Options{})
	p := b.dial(t)
	p.send(request(t, 1, "session.ping"), request(t, 2, "session.ping"), unhex(t, "94c1"), []byte("more of it"))
	for range 2 {
		_, err, _ := p.reply()
		require.Nil(t, err)
	}
	p.closed()
	frame := len(request(t, 1, "session.ping"))
	require.Contains(t, b.log.String(), "offset="+itoa(2*frame+1))
	require.Contains(t, b.log.String(), "bytes=c16d6f7265206f66206974")
}

// A client that reads none of its replies is disconnected.
func TestAClientThatDoesNotReadIsClosedAndCounted(t *testing.T) {
	t.Parallel()
	count := newCounters(t)
	b := serve(t, rpc.Options{WriteTimeout: 50 * time.Millisecond, Telemetry: count.telemetry})
	p, other := b.dial(t), b.dial(t)
	other.alive()
	flood := bytes.Repeat(request(t, 1, "rpc.methods"), 100)
	for err := error(nil); err == nil; { // the server stops reading, and then closes the connection
		_, err = p.conn.Write(flood)
		require.Less(t, b.Unwritten(), rpc.MaxUnwritten+64<<10)
	}
	other.alive()
	eventually(t, "only the other is left", func() bool { return b.Connections() == 1 })
	require.EqualValues(t, 1, count.value("coxswain.connections.closed", "slow_reader"))
}

// A client that is slow to read, but reads, gets every reply.
func TestAClientThatReadsLateGetsEverything(t *testing.T) {
	t.Parallel()
	b := serveAll(t)
	p := b.dial(t)
	const calls = 120
	sent := make(chan error, 1)
	go func() {
		_, err := p.conn.Write(bytes.Repeat(request(t, 1, "rpc.methods"), calls))
		sent <- err
	}()
	eventually(t, "the buffer is full", func() bool { return b.Unwritten() >= rpc.MaxUnwritten })
	for range calls {
		_, err, result := p.reply()
		require.Nil(t, err)
		require.Len(t, result.(m)["methods"], len(api.Methods()))
	}
	require.NoError(t, <-sent)
	p.alive()
}

// A connection that sends hostile bytes is closed, costs almost no memory, and does not
// affect other connections.
func TestHostileBytesCostNoMemory(t *testing.T) {
	b := serve(t, rpc.Options{})
	other := b.dial(t)
	other.alive()
	bin := append(unhex(t, "940001ac73657373696f6e2e70696e6791c600800000"), make([]byte, 8<<20)...)
	defer runtime.KeepAlive(bin)
	before := heap()
	for name, bytes := range map[string][]byte{
		"a gigabyte in six bytes":   unhex(t, "c940000000ff"),
		"a gigabyte within a frame": unhex(t, "940001a16dc940000000ff"),
		"5 KB of nested array32":    bytes.Repeat(unhex(t, "dd00000001"), 1024),
		"array32 of 4 billion":      unhex(t, "ddffffffff"),
		"nested arrays of 65,536":   bytes.Repeat(unhex(t, "dd00010000"), 1024),
		"a bin of 8 MiB":            bin,
		"garbage":                   []byte(strings.Repeat("GET / HTTP/1.1\r\n", 100)),
	} {
		p := b.dial(t)
		_, _ = p.conn.Write(bytes) // the server may close it before all is written
		p.closed()
		other.alive()
		require.Less(t, heap()-before, int64(2<<20), name)
	}
	// A frame that never ends takes memory only for the bytes that have arrived.
	var slow []*peer
	for range 32 {
		p := b.dial(t)
		p.send(unhex(t, "940001ac73657373696f6e2e70696e6791c600080000"))
		slow = append(slow, p)
	}
	for range 20 {
		for _, p := range slow {
			p.send([]byte{0})
		}
		other.alive()
	}
	require.Less(t, heap()-before, int64(2<<20), "frames that trickle in")
}

// heap returns the bytes that are allocated now.
func heap() int64 {
	var s runtime.MemStats
	runtime.GC()
	runtime.ReadMemStats(&s)
	return int64(s.HeapAlloc)
}

func TestAHalfClosedConnectionIsClosed(t *testing.T) {
	t.Parallel()
	b := serve(t, rpc.Options{})
	p := b.dial(t)
	p.send(request(t, 1, "session.ping"))
	require.NoError(t, p.conn.CloseWrite())
	p.reply()
	p.closed()
}

// A client that shuts its connection for writing, as printf in a pipe does, gets the
// replies to all requests that it has sent. If it closes the connection, its calls are cancelled.
func TestAConnectionShutForWritingGetsItsReplies(t *testing.T) {
	t.Parallel()
	g := newGate()
	b := serve(t, rpc.Options{}, g.method("gate.wait"))
	p := b.dial(t)
	p.send(request(t, 1, "gate.wait"), request(t, 2, "gate.wait"))
	require.NoError(t, p.conn.CloseWrite())
	<-g.entered
	<-g.entered
	g.open <- nil
	_, err, _ := p.reply()
	require.Nil(t, err)
	g.open <- &api.Error{Code: api.NotFound, Message: "x"}
	_, err, _ = p.reply()
	require.Contains(t, errorText(t, err), "NOT_FOUND")
	p.closed()

	p = b.dial(t)
	p.send(request(t, 1, "gate.wait"))
	require.NoError(t, p.conn.CloseWrite())
	ctx := <-g.entered
	require.NoError(t, p.conn.Close())
	<-ctx.Done()
	eventually(t, "the connection was not let go", func() bool { return b.Connections() == 0 })
}

func TestNotificationsRunOnlyWhatIsMarked(t *testing.T) {
	t.Parallel()
	count := newCounters(t)
	g := newGate()
	b := serve(t, rpc.Options{Telemetry: count.telemetry}, g.method("gate.notify"), g.method("gate.wait"))
	p := b.dial(t)
	p.send(notification(t, "gate.notify", m{"note": "x"}))
	<-g.entered
	g.open <- nil
	p.send(
		notification(t, "gate.wait", m{}),            // not marked
		notification(t, "gate.notify", m{"nope": 1}), // cannot be decoded
		notification(t, "no.such", []any{}),          // unknown
		notification(t, "session.ping", nil),         // not marked
		notification(t, "rpc.cancel", []any{"x"}),    // cannot be read
	)
	p.alive() // its reply is the first message: the notifications got none
	require.Empty(t, g.entered)
	require.EqualValues(t, 5, count.value("coxswain.notifications.dropped", ""))
}

func TestCallsAreCountedByMethodAndCode(t *testing.T) {
	t.Parallel()
	count := newCounters(t)
	p := serve(t, rpc.Options{Telemetry: count.telemetry}).dial(t)
	p.alive()
	p.call("no.such")
	p.call("other.such")
	p.call("rpc.describe", m{"x": 1})
	require.EqualValues(t, 1, count.value("coxswain.rpc.duration", "session.ping OK"))
	require.EqualValues(t, 2, count.value("coxswain.rpc.duration", "unknown METHOD_NOT_FOUND"))
	require.EqualValues(t, 1, count.value("coxswain.rpc.duration", "rpc.describe INVALID_ARGUMENT"))
}
