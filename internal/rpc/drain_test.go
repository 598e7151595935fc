package rpc_test

import (
	"context"
	"sync"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/coxswain-sidecar/coxswain/internal/coord/lease"
	"github.com/coxswain-sidecar/coxswain/internal/lua"
	"github.com/coxswain-sidecar/coxswain/internal/luatest"
	"github.com/coxswain-sidecar/coxswain/internal/redis"
	"github.com/coxswain-sidecar/coxswain/internal/rpc"
	"github.com/coxswain-sidecar/coxswain/internal/telemetry"
)

// draining reads the next message, which has to be session.draining, and returns its
// deadline_at_ms, the time at which the pod is killed.
func (p *peer) draining() int64 {
	p.t.Helper()
	got := p.message()
	require.Len(p.t, got, 3, "%v", got)
	require.EqualValues(p.t, 2, got[0])
	require.Equal(p.t, "session.draining", got[1])
	params, ok := got[2].([]any)
	require.True(p.t, ok && len(params) == 1, "%v", got)
	params0, ok := params[0].(map[string]any)
	require.True(p.t, ok, "%v", got)
	return number(p.t, params0["deadline_at_ms"])
}

func TestDrainNotifiesEachHolderOnce(t *testing.T) {
	t.Parallel()
	b := serveAll(t)
	holder, idle, admin := b.dial(t), b.dial(t), b.dial(t)
	require.Equal(t, true, holder.must("lock.acquire", m{"name": "held"})["acquired"])
	idle.alive()

	before := time.Now().UnixMilli()
	r := admin.must("session.drain", m{"deadline_ms": 60_000})
	end := number(t, r["deadline_at_ms"])
	require.GreaterOrEqual(t, end, before+60_000)
	require.Equal(t, m{"draining": true, "deadline_at_ms": r["deadline_at_ms"], "connections": r["connections"]}, r)
	require.EqualValues(t, 3, r["connections"])
	require.Equal(t, end, holder.draining())

	again := admin.must("session.drain", m{"deadline_ms": 1})
	require.Equal(t, r, again, "said twice is said once")
	holder.alive() // the next message is the reply, not a second notification

	// Calls still work, acquisitions included: the application has time to finish.
	idle.alive()
	require.Equal(t, true, idle.must("ratelimit.acquire", bucket("a", 3))["allowed"])
	require.Equal(t, true, idle.must("lock.acquire", m{"name": "ttl", "bind": "ttl"})["acquired"])
	idle.alive() // not notified: its lock is not bound to its session
	got := idle.must("lock.acquire", m{"name": "late"})
	require.Equal(t, true, got["acquired"])
	require.Equal(t, end, idle.draining(), "once it has something to lose, after the reply")
	require.Equal(t, true, idle.must("lock.release", m{"name": "late", "token": got["token"]})["released"])
	require.Equal(t, true, idle.must("lock.acquire", m{"name": "later"})["acquired"])
	idle.alive()
}

func TestDrainIsForAdmins(t *testing.T) {
	t.Parallel()
	b := serve(t, rpc.Options{AdminOff: true})
	_, err := b.dial(t).call("session.drain")
	require.Contains(t, err, "PERMISSION_DENIED: session.drain: ")
	_, draining := b.Draining()
	require.False(t, draining)
}

func TestShutdownNotifiesThoseThatDrainDidNot(t *testing.T) {
	t.Parallel()
	b := serveAll(t)
	p := b.dial(t)
	got := p.must("lock.acquire", m{"name": "l"})
	ctx, cancel := context.WithTimeout(context.Background(), time.Hour)
	defer cancel()
	ended := make(chan error, 1)
	go func() { ended <- b.Shutdown(ctx) }()
	until, _ := ctx.Deadline()
	require.Equal(t, until.UnixMilli(), p.draining())
	_, err := p.call("lock.acquire", m{"name": "m"})
	require.Contains(t, err, "DRAINING: ")
	require.Equal(t, true, p.must("lock.renew", m{"name": "l", "token": got["token"]})["renewed"], "what is held is still renewed")
	require.Equal(t, true, p.must("lock.release", m{"name": "l", "token": got["token"]})["released"], "and taken back")
	require.NoError(t, p.conn.Close())
	require.NoError(t, <-ended, "it ends with its last client")
}

// However draining and acquiring interleave, each holder is notified exactly once.
func TestNoHolderIsMissedOrNotifiedTwice(t *testing.T) {
	t.Parallel()
	for range 20 {
		b := serveOn(t, rpc.Options{}, luatest.Open(t, lua.Options{URL: redis.Embedded}))
		peers := make([]*peer, 8)
		for i := range peers {
			peers[i] = b.dial(t)
			peers[i].alive()
		}
		var wg sync.WaitGroup
		for i, p := range peers {
			wg.Go(func() {
				p.send(request(t, 1, "lock.acquire", m{"name": string(rune('a' + i)), "_deadline_ms": patience.Milliseconds()}))
			})
		}
		wg.Go(func() { b.Drain(time.Now().Add(time.Hour)) })
		wg.Wait()
		for _, p := range peers {
			var kinds []any
			for range 2 {
				got := p.message()
				kinds = append(kinds, got[0])
				if number(t, got[0]) == 1 {
					require.Nil(t, got[2], "who got no lock holds nothing, and is not told")
				}
			}
			require.ElementsMatch(t, []any{uint64(1), uint64(2)}, normal(t, kinds))
			p.alive()
		}
		b.shutdown(t)
	}
}

func normal(t testing.TB, kinds []any) []any {
	t.Helper()
	for i, k := range kinds {
		kinds[i] = uint64(number(t, k))
	}
	return kinds
}

func TestEachServedConnectionIsNotifiedOnceThatThePodEnds(t *testing.T) {
	t.Parallel()
	told := make(chan time.Time, 2)
	b := serveWith(t, rpc.Options{}, rpc.Services{
		Leases: lease.NewLeases(telemetry.Nop()), Draining: func(until time.Time) { told <- until },
	})
	end := b.Drain(time.UnixMilli(4_000_000_000_000))
	require.Equal(t, end, b.Drain(time.Now()))
	require.Equal(t, end, <-told)
	b.shutdown(t)
	require.Empty(t, told)
	got, draining := b.Draining()
	require.True(t, draining)
	require.Equal(t, end, got)
}
