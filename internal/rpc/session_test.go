package rpc_test

import (
	"net"
	"slices"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/coxswain-sidecar/coxswain/client/api"
	"github.com/coxswain-sidecar/coxswain/internal/lua"
	"github.com/coxswain-sidecar/coxswain/internal/luatest"
	"github.com/coxswain-sidecar/coxswain/internal/rpc"
)

// bucket returns params with an inline limit.
func bucket(key string, limit int) m {
	return m{"key": key, "algorithm": "token_bucket", "limits": []m{{"limit": limit, "period_ms": 3_600_000}}}
}

func TestALimitToItsEndAndOver(t *testing.T) {
	t.Parallel()
	p := serveAll(t).dial(t)
	peek := p.must("ratelimit.peek", bucket("a", 3))
	require.Equal(t, true, peek["allowed"])
	require.EqualValues(t, 3, peek["remaining"])
	for i := range 3 {
		r := p.must("ratelimit.acquire", bucket("a", 3))
		require.Equal(t, true, r["allowed"])
		require.EqualValues(t, 2-i, r["remaining"])
		require.Equal(t, "redis", r["source"])
	}
	r := p.must("ratelimit.acquire", bucket("a", 3))
	require.Equal(t, false, r["allowed"])
	require.Equal(t, "limit", r["denied_by"])
	require.Greater(t, number(t, r["retry_after_ms"]), int64(0))

	over := bucket("a", 3)
	over["cost"] = 4
	require.EqualValues(t, -1, p.must("ratelimit.peek", over)["retry_after_ms"])

	reset := bucket("a", 3)
	require.Equal(t, m{"reset": true}, p.must("ratelimit.reset", reset))
	require.Equal(t, m{"reset": false}, p.must("ratelimit.reset", reset))
	require.Equal(t, true, p.must("ratelimit.acquire", bucket("a", 3))["allowed"])
}

// number reads an integer of either sign.
func number(t testing.TB, v any) int64 {
	t.Helper()
	switch n := v.(type) {
	case int64:
		return n
	case uint64:
		return int64(n)
	}
	t.Fatalf("%v is no integer", v)
	return 0
}

// A server may send Retry-After: 0, which asks for no pause. Only without a Retry-After does the rule's penalty apply.
func TestARetryAfterOfZeroAsksForNoPause(t *testing.T) {
	t.Parallel()
	p := serveAll(t).dial(t)
	p.must("pool.put", m{"pool": "p", "members": []m{{"id": "a"}}})
	report := m{"key": "a", "status": 429, "retry_after_ms": 0}
	require.Zero(t, number(t, p.must("ratelimit.report", report)["wait_ms"]))
	permit := m{"pool": "p", "lease": p.must("permit.acquire", m{"pool": "p"})["lease"], "status": 429, "retry_after_ms": 0}
	p.must("permit.report", permit)
	again := p.must("permit.acquire", m{"pool": "p"})
	require.Equal(t, true, again["acquired"], again["denied_by"])

	delete(report, "retry_after_ms")
	require.Positive(t, number(t, p.must("ratelimit.report", report)["wait_ms"]))
	p.must("permit.report", m{"pool": "p", "lease": again["lease"], "status": 429})
	require.Equal(t, "pause", p.must("permit.acquire", m{"pool": "p"})["denied_by"])
}

func TestMistakesOfALimitAreTheCallers(t *testing.T) {
	t.Parallel()
	p := serveAll(t).dial(t)
	for want, params := range map[string]m{
		"INVALID_ARGUMENT: ": {"key": "a"},
		"NOT_FOUND: ":        {"key": "a", "rule": "nope"},
		"INVALID_ARGUMENT: limits[0].period_ms: ":           {"key": "a", "algorithm": "token_bucket", "limits": []m{{"limit": 1, "period_ms": 0}}},
		"INVALID_ARGUMENT: limits[1].limit: it is required": {"key": "a", "algorithm": "token_bucket", "limits": []m{{"limit": 1, "period_ms": 1}, {"period_ms": 1}}},
	} {
		_, err := p.call("ratelimit.acquire", params)
		require.Contains(t, err, want)
	}
}

func TestALockBetweenTwoClients(t *testing.T) {
	t.Parallel()
	b := serveAll(t)
	first, second := b.dial(t), b.dial(t)
	first.must("session.hello", m{"client": "billing", "instance": "pod-1"})
	got := first.must("lock.acquire", m{"name": "l"})
	require.Equal(t, true, got["acquired"])
	require.IsType(t, "", got["fence"])
	require.NotEmpty(t, got["token"])

	busy := second.must("lock.acquire", m{"name": "l"})
	require.Equal(t, false, busy["acquired"])
	require.Equal(t, "busy", busy["reason"])
	require.NotContains(t, busy, "token")
	require.Equal(t, "billing", busy["held_by"].(m)["client"])
	require.Equal(t, "pod-1", busy["held_by"].(m)["instance"])
	require.Greater(t, number(t, busy["retry_after_ms"]), int64(0))

	seen := second.must("lock.get", m{"name": "l"})
	require.Equal(t, true, seen["held"])
	require.Equal(t, got["fence"], seen["fence"])

	require.Equal(t, "not_owner", second.must("lock.release", m{"name": "l", "token": "x"})["reason"])
	renewed := first.must("lock.renew", m{"name": "l", "token": got["token"]})
	require.Equal(t, true, renewed["renewed"])
	require.Equal(t, got["fence"], renewed["fence"])
	require.Equal(t, m{"released": true, "reason": "released"}, first.must("lock.release", m{"name": "l", "token": got["token"]}))
	require.Equal(t, true, second.must("lock.acquire", m{"name": "l"})["acquired"])
	require.Equal(t, m{"held": false}, second.must("lock.get", m{"name": "free"}))
}

// When a client crashes, the leases that are bound to its session are given back at once,
// and no others.
func TestACrashedClientGivesBack(t *testing.T) {
	t.Parallel()
	b := serveAll(t)
	first, second := b.dial(t), b.dial(t)
	require.Equal(t, true, first.must("lock.acquire", m{"name": "bound", "ttl_ms": 600_000})["acquired"])
	require.Equal(t, true, first.must("lock.acquire", m{"name": "free", "ttl_ms": 600_000, "bind": "ttl"})["acquired"])
	require.NoError(t, first.conn.Close())
	eventually(t, "the lock is free", func() bool {
		return second.must("lock.acquire", m{"name": "bound"})["acquired"] == true
	})
	require.Equal(t, false, second.must("lock.acquire", m{"name": "free"})["acquired"])
}

// A grant that Redis replies with after the client has closed its connection is given back too.
func TestAGrantThatComesTooLateIsGivenBack(t *testing.T) {
	t.Parallel()
	b := serveAll(t)
	last := b.dial(t)
	for i := range 50 {
		p := b.dial(t)
		p.send(request(t, 1, "lock.acquire", m{"name": itoa(i), "ttl_ms": 600_000}))
		require.NoError(t, p.conn.Close())
	}
	for i := range 50 {
		eventually(t, "the lock is free", func() bool {
			return last.must("lock.get", m{"name": itoa(i)})["held"] == false
		})
	}
	eventually(t, "only the last is left", func() bool { return b.Connections() == 1 })
	require.Zero(t, b.leases.Held())
}

// A release that a client sends just before it closes its connection is carried out.
func TestAReleaseJustBeforeClosingIsCarriedOut(t *testing.T) {
	t.Parallel()
	b := serveAll(t)
	first, second := b.dial(t), b.dial(t)
	got := first.must("lock.acquire", m{"name": "l", "ttl_ms": 600_000, "bind": "ttl"})
	first.send(notification(t, "lock.release", m{"name": "l", "token": got["token"]}))
	require.NoError(t, first.conn.Close())
	eventually(t, "the lock is free", func() bool {
		return second.must("lock.get", m{"name": "l"})["held"] == false
	})
}

func TestALostLockIsTold(t *testing.T) {
	t.Parallel()
	b := serveAll(t)
	first, second := b.dial(t), b.dial(t)
	got := first.must("lock.acquire", m{"name": "l", "token": "mine", "ttl_ms": 300})
	second.must("lock.release", m{"name": "l", "token": "mine"})
	note := first.message()
	require.Len(t, note, 3)
	require.EqualValues(t, 2, note[0])
	require.Equal(t, "lock.lost", note[1])
	require.Equal(t, []any{m{"name": "l", "token": "mine", "fence": got["fence"], "reason": "expired"}}, note[2])
	first.alive()
}

func TestARequestIDIsForOneCall(t *testing.T) {
	t.Parallel()
	b := serveAll(t)
	first, second := b.dial(t), b.dial(t)
	call := func(p *peer, limit int) (map[string]any, string) {
		params := bucket("a", limit)
		params["_request_id"] = "id-1"
		return p.call("ratelimit.acquire", params)
	}
	r, err := call(first, 5)
	require.Empty(t, err)
	require.EqualValues(t, 4, r["remaining"])
	require.NotContains(t, r, "replayed")

	r, err = call(second, 5)
	require.Empty(t, err)
	require.Equal(t, true, r["replayed"])
	require.EqualValues(t, 4, r["remaining"])
	require.EqualValues(t, 4, second.must("ratelimit.peek", bucket("a", 5))["remaining"], "it was counted once")

	params := bucket("a", 5)
	params["_request_id"], params["cost"] = "id-1", 2
	_, err = second.call("ratelimit.acquire", params)
	require.Contains(t, err, "CONFLICT: _request_id: ")
}

func TestAReplayAfterTheReleaseTakesNothing(t *testing.T) {
	t.Parallel()
	b := serveAll(t)
	p := b.dial(t)
	params := m{"name": "l", "_request_id": "id-2"}
	got := p.must("lock.acquire", params)
	require.Equal(t, true, got["acquired"])
	again := p.must("lock.acquire", params)
	require.Equal(t, true, again["acquired"])
	require.Equal(t, true, again["replayed"])
	require.Equal(t, got["fence"], again["fence"])
	p.must("lock.release", m{"name": "l", "token": got["token"]})

	dead := p.must("lock.acquire", params)
	require.Equal(t, false, dead["acquired"])
	require.Equal(t, true, dead["replayed"])
	require.Equal(t, "released", dead["reason"])
	require.Equal(t, m{"held": false}, p.must("lock.get", m{"name": "l"}))
}

func TestDrainingRefusesNewLocksAndTakesBack(t *testing.T) {
	t.Parallel()
	b := serveAll(t)
	p := b.dial(t)
	got := p.must("lock.acquire", m{"name": "l"})
	b.leases.Drain()
	_, err := p.call("lock.acquire", m{"name": "other"})
	require.Contains(t, err, "DRAINING: ")
	require.Equal(t, true, p.must("lock.renew", m{"name": "l", "token": got["token"]})["renewed"])
	require.Equal(t, true, p.must("lock.release", m{"name": "l", "token": got["token"]})["released"])
}

func TestRedisAwayIsUnavailableAndNamesNoAddress(t *testing.T) {
	t.Parallel()
	l, err := net.Listen("tcp", "127.0.0.1:0")
	require.NoError(t, err)
	address := l.Addr().String()
	require.NoError(t, l.Close())
	b := serveOn(t, rpc.Options{}, luatest.Open(t, lua.Options{URL: "redis://:hunter2@" + address}))
	p := b.dial(t)
	closed := bucket("a", 1)
	closed["fail_mode"] = "closed"
	for _, call := range []func() (map[string]any, string){
		func() (map[string]any, string) { return p.call("lock.acquire", m{"name": "l", "_deadline_ms": 300}) },
		func() (map[string]any, string) { return p.call("lock.get", m{"name": "l", "_deadline_ms": 300}) },
		func() (map[string]any, string) { return p.call("ratelimit.acquire", closed) },
	} {
		_, err := call()
		require.Contains(t, err, "UNAVAILABLE: redis cannot be reached")
		require.Contains(t, err, "nothing was done")
		require.NotContains(t, err, address)
	}
	require.NotContains(t, b.log.String(), "hunter2")
	p.alive()
}

func TestHealthIsACallToo(t *testing.T) {
	t.Parallel()
	h := serveAll(t).dial(t).must("health.get")
	require.Equal(t, m{"live": true, "ready": false, "degraded": false, "store": "embedded", "checks": []any{}}, h)
}

// The contract has exactly the methods that the nouns and this package serve.
func TestTheTableIsTheContract(t *testing.T) {
	t.Parallel()
	var served []string
	for _, x := range serveAll(t).dial(t).must("rpc.methods")["methods"].([]any) {
		served = append(served, x.(m)["name"].(string))
	}
	served = append(served, api.RPCCancel.Name)
	slices.Sort(served)
	var want []string
	for _, s := range api.Methods() {
		want = append(want, s.Name)
	}
	require.Equal(t, want, slices.Compact(served))
}

func TestMethodsAreDescribed(t *testing.T) {
	t.Parallel()
	p := serveAll(t).dial(t)
	list := p.must("rpc.methods")["methods"].([]any)
	require.Len(t, list, len(api.Methods()))
	for i, s := range api.Methods() {
		d := list[i].(m)
		require.Equal(t, s.Name, d["name"])
		require.Equal(t, d, p.must("rpc.describe", m{"method": s.Name}))
		require.Len(t, d["params"], s.Params.NumField())
		require.Len(t, d["result"], s.Result.NumField())
	}
	d := p.must("rpc.describe", m{"method": "lock.acquire"})
	ttl := d["params"].([]any)[1].(m)
	require.Equal(t, "ttl_ms", ttl["name"])
	require.Equal(t, "30000", ttl["default"])
	require.EqualValues(t, 100, ttl["min"])
	require.Equal(t, false, ttl["required"])

	_, err := p.call("rpc.describe", m{"method": "lock.aquire"})
	require.Contains(t, err, "NOT_FOUND: lock.aquire: no such method; did you mean lock.acquire?")
}
