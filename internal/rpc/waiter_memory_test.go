package rpc_test

import (
	"runtime"
	"runtime/metrics"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/coxswain-sidecar/coxswain/internal/lua"
	"github.com/coxswain-sidecar/coxswain/internal/luatest"
	"github.com/coxswain-sidecar/coxswain/internal/redistest"
	"github.com/coxswain-sidecar/coxswain/internal/rpc"
)

// maxWaiterBytes is the memory that a waiting call may take in this process: its params, its
// context, and its entry in the waiting line. It has no goroutine, and so no stack. It is what
// cmd/sidecar divides the memory limit by (waiterBytes).
const maxWaiterBytes = 5 << 10

// Not parallel, since it measures the memory of the whole process.
func TestACallThatWaitsCostsAFewKiB(t *testing.T) {
	const many = 2000
	b := serveOn(t, rpc.Options{}, luatest.Open(t, lua.Options{URL: redistest.URL(t)}))
	one := []m{{"limit": 10_000, "period_ms": 1000}}
	slot := m{"key": "slot", "algorithm": "leaky_bucket", "limits": one}
	for _, c := range []struct {
		name, method string
		params       m
		// before sets up the object that the calls will wait for.
		before func(p *peer)
	}{
		{name: "lock", method: "lock.acquire", params: m{"name": "l"}},
		{name: "semaphore", method: "semaphore.acquire", params: m{"name": "s", "limit": 1, "permits": 1}},
		{name: "pool", method: "pool.acquire", params: m{"pool": "p"}, before: func(p *peer) {
			p.must("pool.put", m{"pool": "p", "members": []m{{"id": "a"}}})
		}},
		{name: "permit", method: "permit.acquire", params: m{"pool": "q"}, before: func(p *peer) {
			p.must("pool.put", m{"pool": "q", "members": []m{{"id": "a"}}})
		}},
		{name: "queue", method: "queue.dequeue", params: m{"queue": "waiters"}},
		{name: "slot of a limit", method: "ratelimit.acquire", params: slot, before: func(p *peer) {
			p.must("ratelimit.pause", m{"key": "slot", "for_ms": 50_000})
		}},
		{name: "place under max_concurrent", method: "ratelimit.acquire", params: m{"rule": "places", "key": "k"}, before: func(p *peer) {
			p.must("ratelimit.put_rule", m{"rule": m{"name": "places", "algorithm": "token_bucket", "max_concurrent": 1, "limits": one}})
		}},
	} {
		t.Run(c.name, func(t *testing.T) {
			p, eye := b.dial(t), b.dial(t)
			if c.before != nil {
				c.before(eye)
			}
			holder := b.dial(t)
			holder.must(c.method, c.params)
			params := m{"wait_ms": 60_000}
			for k, v := range c.params {
				params[k] = v
			}
			before, goroutines := inUse(), runtime.NumGoroutine()
			for i := range many {
				p.send(request(t, 100+i, c.method, params))
			}
			eventually(t, "they come", func() bool { return b.Waiting() >= many })
			var each int64
			t.Cleanup(func() { t.Logf("%d bytes for each of %d", each, many) })
			eventually(t, "a waiting call takes more than a call may", func() bool {
				each = (inUse() - before) / many // larger, until all of them are in the waiting line
				return each < maxWaiterBytes || b.Waiting() < many
			})
			require.EqualValues(t, many, b.Waiting(), "they do not wait")
			eventually(t, "a waiting call has a goroutine", func() bool { return runtime.NumGoroutine() < goroutines+many/10 })
			require.NoError(t, p.conn.Close())
			eventually(t, "they leave", func() bool { return b.Waiting() == 0 })
		})
	}
}

// inUse returns the bytes of live objects on the heap. It leaves out stacks: the runtime
// keeps those of ended goroutines for later ones, so their size is not the cost of a call.
func inUse() int64 {
	runtime.GC()
	s := []metrics.Sample{{Name: "/memory/classes/heap/objects:bytes"}}
	metrics.Read(s)
	return int64(s[0].Value.Uint64())
}
