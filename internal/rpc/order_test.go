package rpc_test

import (
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/coxswain-sidecar/coxswain/internal/lua"
	"github.com/coxswain-sidecar/coxswain/internal/luatest"
	"github.com/coxswain-sidecar/coxswain/internal/redis"
	"github.com/coxswain-sidecar/coxswain/internal/redistest"
	"github.com/coxswain-sidecar/coxswain/internal/rpc"
)

// rounds is how often a test repeats a race that would be lost one time in four.
const rounds = 100

// eachStore runs a test on Redis and on the embedded store.
func eachStore(t *testing.T, test func(t *testing.T, url string)) {
	t.Run("redis", func(t *testing.T) { test(t, redistest.URL(t)) })
	t.Run("embedded", func(t *testing.T) { test(t, redis.Embedded) })
}

// Calls of one connection that name the same object take effect in the order in which they were sent.
func TestCallsThatNameTheSameTakeEffectInTheirOrder(t *testing.T) { eachStore(t, inOrder) }

func TestTopologyCallsThatNameTheSameTakeEffectInTheirOrder(t *testing.T) {
	redistest.Topologies(t, inOrder)
}

func inOrder(t *testing.T, url string) {
	b := serveOn(t, rpc.Options{}, luatest.Open(t, lua.Options{URL: url}))
	t.Run("a release before the acquire behind it", func(t *testing.T) {
		p := b.dial(t)
		for range rounds {
			held := p.must("lock.acquire", m{"name": "l"})
			p.send(notification(t, "lock.release", m{"name": "l", "token": held["token"]}),
				request(t, 8, "lock.acquire", m{"name": "l", "token": "next"}),
				request(t, 9, "lock.release", m{"name": "l", "token": "next"}))
			require.Equal(t, true, p.replies(8, 9)[8]["acquired"])
		}
		sem := m{"name": "s", "limit": 1, "token": "mine"}
		for range rounds {
			p.send(request(t, 1, "semaphore.acquire", sem), request(t, 2, "semaphore.release", sem2("mine")),
				request(t, 3, "semaphore.acquire", m{"name": "s", "limit": 1, "token": "other"}), request(t, 4, "semaphore.release", sem2("other")))
			got := p.replies(1, 2, 3, 4)
			require.Equal(t, []any{true, true, true, true},
				[]any{got[1]["acquired"], got[2]["released"], got[3]["acquired"], got[4]["released"]})
		}
	})
	t.Run("reports before the allow behind them", func(t *testing.T) {
		p := b.dial(t)
		for i := range rounds {
			name := "b" + itoa(i)
			failed := notification(t, "breaker.report", m{"name": name, "outcome": "failure"})
			p.send(failed, failed, failed, request(t, 7, "breaker.allow", m{"name": name}))
			require.Equal(t, false, p.replies(7)[7]["allowed"])
		}
	})
	t.Run("enqueues", func(t *testing.T) {
		p := b.dial(t)
		var frames [][]byte
		var ids []int
		for i := range 2 * rounds {
			frames = append(frames, request(t, i, "queue.enqueue", m{"queue": "q", "id": itoa(i)}))
			ids = append(ids, i)
		}
		p.send(frames...)
		for i, r := range p.replies(ids...) {
			require.EqualValues(t, i+1, r["position"])
		}
	})
	t.Run("the last tokens go to who asked first", func(t *testing.T) {
		p := b.dial(t)
		limit := m{"key": "k", "algorithm": "token_bucket", "limits": []m{{"limit": rounds, "period_ms": 86_400_000}}}
		var frames [][]byte
		var ids []int
		for i := range 2 * rounds {
			frames = append(frames, request(t, i, "ratelimit.acquire", limit))
			ids = append(ids, i)
		}
		p.send(append(frames, request(t, 999, "ratelimit.reset", limit), request(t, 1000, "ratelimit.acquire", limit))...)
		got := p.replies(append(ids, 999, 1000)...)
		for i := range 2 * rounds {
			require.Equal(t, i < rounds, got[i]["allowed"], i)
		}
		require.Equal(t, true, got[1000]["allowed"], "the reset came before it")
	})
	t.Run("a rule before what goes by it", func(t *testing.T) {
		p := b.dial(t)
		rule := m{"rule": m{"name": "r", "algorithm": "fixed_window", "limits": []m{{"limit": 5, "period_ms": 60_000}}}}
		for range 10 {
			p.send(request(t, 1, "ratelimit.put_rule", rule), request(t, 2, "ratelimit.acquire", m{"rule": "r", "key": "k", "cost": 0}),
				request(t, 3, "ratelimit.acquire_many", m{"items": []m{{"rule": "r", "key": "k", "cost": 0}, {"rule": "r", "key": "k2"}}}),
				request(t, 4, "ratelimit.delete_rule", m{"name": "r"}), request(t, 5, "ratelimit.acquire", m{"rule": "r", "key": "k"}))
			errs := p.errors(1, 2, 3, 4, 5)
			require.Empty(t, errs[1]+errs[2]+errs[3]+errs[4])
			require.Contains(t, errs[5], "NOT_FOUND")
		}
	})
}

func sem2(token string) m { return m{"name": "s", "token": token} }

// Calls enter the waiting line in the order in which they were sent, and do not delay
// other calls.
func TestCallsThatWaitAreInOrderAndHoldNobodyUp(t *testing.T) {
	eachStore(t, func(t *testing.T, url string) {
		b := serveOn(t, rpc.Options{}, luatest.Open(t, lua.Options{URL: url}))
		p := b.dial(t)
		p.must("lock.acquire", m{"name": "l", "token": "0"})
		var frames [][]byte
		for i := 1; i <= 2*rounds; i++ {
			frames = append(frames, request(t, i, "lock.acquire", m{"name": "l", "token": itoa(i), "wait_ms": 60_000}))
		}
		p.send(frames...)
		for i := range 2 * rounds {
			p.send(request(t, 9999, "lock.release", m{"name": "l", "token": itoa(i)}))
			got := p.replies(9999, i+1)
			require.Equal(t, true, got[9999]["released"])
			require.Equal(t, true, got[i+1]["acquired"])
		}
	})
}

// replies reads the results of these calls, by msgid.
func (p *peer) replies(ids ...int) map[int]m {
	p.t.Helper()
	got := make(map[int]m, len(ids))
	for range ids {
		id, e, r := p.reply()
		require.Nil(p.t, e)
		got[int(asInt(id))] = r.(map[string]any)
	}
	for _, id := range ids {
		require.Contains(p.t, got, id)
	}
	return got
}

// errors reads the errors of these calls, by msgid; empty for a call that succeeded.
func (p *peer) errors(ids ...int) map[int]string {
	p.t.Helper()
	got := make(map[int]string, len(ids))
	for range ids {
		id, e, _ := p.reply()
		if got[int(asInt(id))] = ""; e != nil {
			got[int(asInt(id))] = errorText(p.t, e)
		}
	}
	return got
}
