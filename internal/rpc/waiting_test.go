package rpc_test

import (
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/coxswain-sidecar/coxswain/client/api"
	"github.com/coxswain-sidecar/coxswain/internal/lua"
	"github.com/coxswain-sidecar/coxswain/internal/luatest"
	"github.com/coxswain-sidecar/coxswain/internal/redis"
	"github.com/coxswain-sidecar/coxswain/internal/redistest"
	"github.com/coxswain-sidecar/coxswain/internal/rpc"
)

// inLine waits until the waiting line of the lock l has want calls.
func (p *peer) inLine(want int) {
	p.t.Helper()
	eventually(p.t, "never so many in line: "+itoa(want), func() bool {
		n, ok := p.must("lock.get", m{"name": "l"})["waiting"]
		return ok && int(asInt(n)) == want || !ok && want == 0
	})
}

func asInt(v any) int64 {
	switch n := v.(type) {
	case int64:
		return n
	case uint64:
		return int64(n)
	}
	return -1
}

// While two thousand calls of one connection wait, the connection's releases and
// cancels are served.
func TestWaitingCallsBlockNoOtherCalls(t *testing.T) {
	t.Parallel()
	const many = 2000
	b := serveOn(t, rpc.Options{}, luatest.Open(t, lua.Options{URL: redistest.URL(t)}))
	p, eye := b.dial(t), b.dial(t)
	held := p.must("lock.acquire", m{"name": "l"})
	for i := range many {
		p.send(request(t, 100+i, "lock.acquire", m{"name": "l", "wait_ms": 60_000}))
	}
	eye.inLine(many)
	p.alive()

	p.send(notification(t, "rpc.cancel", []any{100 + many/2}))
	id, e, _ := p.reply()
	require.EqualValues(t, 100+many/2, id)
	require.Contains(t, errorText(t, e), "CANCELLED: ")
	eye.inLine(many - 1)

	p.send(request(t, 7, "lock.release", m{"name": "l", "token": held["token"]}))
	granted := false
	for released := false; !released || !granted; {
		id, e, r := p.reply()
		require.Nil(t, e)
		if asInt(id) == 7 {
			require.Equal(t, m{"released": true, "reason": "released"}, r)
			released = true
			continue
		}
		require.Equal(t, true, r.(m)["acquired"])
		granted = true
	}
	eye.inLine(many - 2)
	require.NoError(t, p.conn.Close())
	eye.inLine(0)
	eventually(t, "the lock is given back", func() bool {
		return eye.must("lock.get", m{"name": "l"})["held"] == false
	})
}

func TestMoreWaitingCallsThanAllowedAreRefused(t *testing.T) {
	t.Parallel()
	b := serveOn(t, rpc.Options{Limits: api.Limits{MaxWaiting: 2, MaxInflight: 1}}, luatest.Open(t, lua.Options{URL: redis.Embedded}))
	p, eye := b.dial(t), b.dial(t)
	held := p.must("lock.acquire", m{"name": "l"})
	for id := range 2 {
		p.send(request(t, id, "lock.acquire", m{"name": "l", "wait_ms": 60_000}))
	}
	eye.inLine(2)
	_, err := p.call("lock.acquire", m{"name": "l", "wait_ms": 1})
	require.Contains(t, err, "OVERLOADED: too many calls are in flight or waiting")
	require.Equal(t, false, p.must("lock.acquire", m{"name": "l"})["acquired"], "those that do not wait are counted apart")

	p.send(notification(t, "lock.release", m{"name": "l", "token": held["token"]}))
	_, _, first := p.reply()
	require.Equal(t, true, first.(m)["acquired"])
	require.Equal(t, false, p.must("lock.acquire", m{"name": "l", "wait_ms": 1})["acquired"], "there is room again")
}

// A deadline that the client sets includes the wait, which ends early enough for the call to be answered.
func TestTheDeadlineCountsFromTheWait(t *testing.T) {
	t.Parallel()
	b := serveAll(t)
	p := b.dial(t)
	p.must("lock.acquire", m{"name": "l"})
	r, err := map[string]any(nil), "DEADLINE_EXCEEDED"
	// If a busy machine sends the answer after the deadline, the test calls again with a longer deadline.
	for within := 2000; within < 60_000 && strings.HasPrefix(err, "DEADLINE_EXCEEDED"); within *= 2 {
		r, err = p.call("lock.acquire", m{"name": "l", "wait_ms": 60_000, "_deadline_ms": within})
	}
	require.Empty(t, err)
	require.Equal(t, "busy", r["reason"], "the wait ended in time to say so")
}

func TestShutdownEndsTheWait(t *testing.T) {
	t.Parallel()
	b := serveAll(t)
	p, eye := b.dial(t), b.dial(t)
	p.must("lock.acquire", m{"name": "l"})
	p.send(request(t, 9, "lock.acquire", m{"name": "l", "wait_ms": 60_000}))
	eye.inLine(1)
	b.leases.Drain()
	_, e, _ := p.reply()
	require.Contains(t, errorText(t, e), "DRAINING: ")
	eye.inLine(0)
}
