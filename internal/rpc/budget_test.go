package rpc_test

import (
	"encoding/binary"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/coxswain-sidecar/coxswain/client/api"
	"github.com/coxswain-sidecar/coxswain/internal/lua"
	"github.com/coxswain-sidecar/coxswain/internal/luatest"
	"github.com/coxswain-sidecar/coxswain/internal/redis"
	"github.com/coxswain-sidecar/coxswain/internal/rpc"
)

// unfinished returns the beginning of a frame, with size bytes of a longer body.
func unfinished(t testing.TB, size int) []byte {
	t.Helper()
	head := []byte{0x94, 0, 7, 0xa1, 'x', 0xc6}
	return append(binary.BigEndian.AppendUint32(head, 1<<20-100), make([]byte, size)...)
}

// Half of the budget, 1 MiB, is for buffers. When it is used up, the server closes the connection with the
// largest buffers.
func TestTheLargestUnfinishedFrameMakesRoomForOthers(t *testing.T) {
	t.Parallel()
	count := newCounters(t)
	b := serve(t, rpc.Options{Limits: api.Limits{MaxTotalBytes: 2 << 20}, Telemetry: count.telemetry})
	idle, large, small := b.dial(t), b.dial(t), b.dial(t)
	idle.alive()
	large.send(unfinished(t, 600_000)) // its buffer is 1 MiB, the whole budget of buffers
	eventually(t, "the frame is held", func() bool { held, _ := b.Held(); return held > 1<<19 })
	small.send(unfinished(t, 100_000))
	large.closed()
	eventually(t, "only the small one is held", func() bool { held, _ := b.Held(); return 0 < held && held < 1<<18 })
	require.EqualValues(t, 1, count.value("coxswain.connections.closed", "over_budget"))
	require.Contains(t, b.log.String(), "the buffers of all connections take too much memory together: closing the connection with the largest")

	// The small frame is completed, and answered.
	small.send(make([]byte, 1<<20-100-100_000), []byte{0x80})
	_, err, _ := small.reply()
	require.Contains(t, errorText(t, err), "METHOD_NOT_FOUND")
	idle.alive()
	eventually(t, "what was held is given back", func() bool { held, _ := b.Held(); return held == 0 })
}

func TestUnreadRepliesCountAmongTheBuffers(t *testing.T) {
	t.Parallel()
	count := newCounters(t)
	b := serve(t, rpc.Options{Limits: api.Limits{MaxTotalBytes: 256 << 10}, Telemetry: count.telemetry})
	deaf, other := b.dial(t), b.dial(t)
	ask := request(t, 1, "rpc.describe", m{"method": "lock.acquire"})
	for closed := false; !closed; {
		_, err := deaf.conn.Write(ask)
		closed = err != nil
	}
	require.EqualValues(t, 1, count.value("coxswain.connections.closed", "over_budget"))
	other.alive()
}

func TestCallsThatTakeTooMuchTogetherAreRefused(t *testing.T) {
	t.Parallel()
	g := newGate()
	b := serve(t, rpc.Options{Limits: api.Limits{MaxTotalBytes: 2 << 20}}, g.method("gate.wait"))
	p, other := b.dial(t), b.dial(t)
	note := string(make([]byte, 400_000))
	p.send(request(t, 1, "gate.wait", m{"note": note})) // its two copies take 0.8 of the 1 MiB for calls
	<-g.entered
	p.send(request(t, 2, "gate.wait", m{"note": note}))
	id, err, _ := p.reply()
	require.EqualValues(t, 2, id)
	require.Contains(t, errorText(t, err), "OVERLOADED: the calls in flight of all connections take too much memory together")
	other.send(request(t, 3, "gate.wait", m{"note": note}))
	_, err, _ = other.reply()
	require.Contains(t, errorText(t, err), "OVERLOADED: ", "it is of all connections")

	other.send(request(t, 4, "gate.wait", m{"note": "small"}))
	<-g.entered
	g.open <- nil
	g.open <- nil
	_, err, _ = p.reply()
	require.Nil(t, err)
	_, err, _ = other.reply()
	require.Nil(t, err)
	eventually(t, "what was held is given back", func() bool { _, held := b.Held(); return held == 0 })
	g.open <- nil
	require.Equal(t, note, p.must("gate.wait", m{"note": note})["note"], "there is room again")
}

func TestCallsInFlightOfAClosedConnectionCountUntilTheyEnd(t *testing.T) {
	t.Parallel()
	g := newGate()
	g.deaf = true
	b := serve(t, rpc.Options{}, g.method("gate.wait"))
	p := b.dial(t)
	p.send(request(t, 1, "gate.wait", m{"note": string(make([]byte, 400_000))}))
	<-g.entered
	require.NoError(t, p.conn.Close())
	eventually(t, "it is closed", func() bool { return b.Connections() == 0 })
	_, held := b.Held()
	require.Greater(t, held, int64(700_000))
	g.open <- nil
	eventually(t, "it has ended", func() bool { _, held := b.Held(); return held == 0 })
}

func TestMoreWaitingCallsOfAllConnectionsThanAllowedAreRefused(t *testing.T) {
	t.Parallel()
	b := serveOn(t, rpc.Options{Limits: api.Limits{MaxTotalWaiting: 2}}, luatest.Open(t, lua.Options{URL: redis.Embedded}))
	p, q, eye := b.dial(t), b.dial(t), b.dial(t)
	p.must("lock.acquire", m{"name": "l"})
	p.send(request(t, 1, "lock.acquire", m{"name": "l", "wait_ms": 60_000}))
	q.send(request(t, 2, "lock.acquire", m{"name": "l", "wait_ms": 60_000}))
	eye.inLine(2)
	_, err := eye.call("lock.acquire", m{"name": "l", "wait_ms": 1})
	require.Contains(t, err, "OVERLOADED: too many calls of all connections wait")
	require.Equal(t, false, eye.must("lock.acquire", m{"name": "l"})["acquired"], "those that do not wait are counted apart")
	require.NoError(t, q.conn.Close())
	eventually(t, "it has left", func() bool { return b.Waiting() == 1 })
	require.Equal(t, false, eye.must("lock.acquire", m{"name": "l", "wait_ms": 1})["acquired"], "there is room again")
}
