package rpc_test

import (
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/coxswain-sidecar/coxswain/internal/lua"
	"github.com/coxswain-sidecar/coxswain/internal/luatest"
	"github.com/coxswain-sidecar/coxswain/internal/redistest"
	"github.com/coxswain-sidecar/coxswain/internal/rpc"
)

// sendAll sends crowd calls in one write.
func (p *peer) sendAll(method string, params func(i int) m) (ids []int) {
	p.t.Helper()
	var frames [][]byte
	for i := range crowd {
		ids = append(ids, i)
		frames = append(frames, request(p.t, i, method, params(i)))
	}
	p.send(frames...)
	return ids
}

// named returns params with another name for each call of a crowd.
func named(more m) func(i int) m {
	return func(i int) m {
		p := m{"name": "n" + itoa(i)}
		for k, v := range more {
			p[k] = v
		}
		return p
	}
}

// A step is a crowd of calls of one method. params makes each call's params from a result of an
// earlier step, and yes is the key of the result that has to be true.
type step struct {
	method, yes string
	params      func(i int, before m) m
}

// For every method that may use the direct path: each call of a crowd gets its own answer, most
// of them use the direct path, and the metrics count each.
func TestACrowdOfEveryNounGoesTheDirectPath(t *testing.T) {
	name := func(i int) string { return "n" + itoa(i) }
	token := func(i int, was m) m { return m{"name": name(i), "token": was["token"]} }
	longer := func(i int, was m) m { return m{"name": name(i), "token": was["token"], "ttl_ms": 90_000} }
	key := func(i int, was m) m { return m{"set": "s", "key": name(i), "token": was["token"]} }
	reserve := func(i int, _ m) m { return m{"set": "s", "key": name(i)} }
	enqueue := func(i int, _ m) m { return m{"queue": name(i), "id": "e", "ttl_ms": 60_000} }
	dequeue := func(i int, _ m) m { return m{"queue": name(i), "lease_ms": 60_000} }
	entry := func(i int, was m) m { return m{"queue": name(i), "lease": was["lease"]} }
	for _, c := range []struct {
		name   string
		before func(p *peer)
		steps  []step
		keep   string // the step whose results the later steps use
	}{
		{name: "lock", keep: "lock.acquire", steps: []step{
			{"lock.acquire", "acquired", func(i int, _ m) m { return m{"name": name(i)} }},
			{"lock.renew", "renewed", longer},
			{"lock.release", "released", token},
		}},
		{name: "semaphore", keep: "semaphore.acquire", steps: []step{
			{"semaphore.acquire", "acquired", func(i int, _ m) m { return m{"name": name(i), "limit": 2} }},
			{"semaphore.renew", "renewed", longer},
			{"semaphore.release", "released", token},
		}},
		{name: "seen, committed", keep: "seen.reserve", steps: []step{
			{"seen.reserve", "reserved", reserve}, {"seen.commit", "committed", key},
		}},
		{name: "seen, released", keep: "seen.reserve", steps: []step{
			{"seen.reserve", "reserved", reserve}, {"seen.release", "released", key},
		}},
		{name: "queue", keep: "queue.dequeue", steps: []step{
			{"queue.enqueue", "enqueued", enqueue}, {"queue.dequeue", "found", dequeue}, {"queue.ack", "acked", entry},
		}},
		{name: "breaker", keep: "breaker.allow", steps: []step{
			{"breaker.allow", "allowed", func(i int, _ m) m { return m{"name": name(i)} }},
			{"breaker.report", "counted", func(i int, was m) m {
				return m{"name": name(i), "generation": was["generation"], "outcome": "success"}
			}},
		}},
		{name: "permit", keep: "permit.acquire", before: func(p *peer) {
			var members []m
			for i := range crowd {
				members = append(members, m{"id": name(i)})
			}
			p.must("pool.put", m{"pool": "p", "members": members})
		}, steps: []step{
			{"permit.acquire", "acquired", func(int, m) m { return m{"pool": "p"} }},
			{"permit.report", "released", func(_ int, was m) m { return m{"pool": "p", "lease": was["lease"], "outcome": "ok"} }},
		}},
		{name: "report", steps: []step{
			{"ratelimit.report", "", func(i int, _ m) m { return m{"key": name(i), "status": 200} }},
		}},
	} {
		t.Run(c.name, func(t *testing.T) {
			eachStore(t, func(t *testing.T, url string) {
				seen := newCounters(t)
				b := serveOn(t, rpc.Options{Telemetry: seen.telemetry}, luatest.Open(t, lua.Options{URL: url, Telemetry: seen.telemetry}))
				p := b.dial(t)
				p.must("lock.get", m{"name": "warm"}) // Redis is up
				if c.before != nil {
					c.before(p)
				}
				was := map[int]m{}
				for _, s := range c.steps {
					before := seen.value("coxswain.direct", "answered")
					got := p.replies(p.sendAll(s.method, func(i int) m { return s.params(i, was[i]) })...)
					for i, r := range got {
						if s.yes != "" {
							require.Equal(t, true, r[s.yes], "%s %d: %v", s.method, i, r)
						}
					}
					require.Greater(t, seen.value("coxswain.direct", "answered")-before, int64(crowd/2), s.method)
					eventually(t, "each is counted, maybe after its reply", func() bool {
						return seen.value("coxswain.rpc.duration", s.method+" OK") >= crowd
					})
					require.EqualValues(t, crowd, seen.value("coxswain.rpc.duration", s.method+" OK"))
					if s.method == c.keep {
						was = got
					}
				}
				require.Zero(t, seen.value("coxswain.direct", "failed"))
				eventually(t, "all was given back", func() bool { return b.leases.Held() == 0 })
			})
		})
	}
}

// Leases that were granted on the direct path belong to the session of the connection: they are
// renewed while it is open, and given back when it closes.
func TestWhatWasGrantedOnTheDirectPathIsRenewedAndGivenBack(t *testing.T) {
	seen := newCounters(t)
	b := serveOn(t, rpc.Options{}, luatest.Open(t, lua.Options{URL: redistest.URL(t), Telemetry: seen.telemetry}))
	p, eye := b.dial(t), b.dial(t)
	p.must("lock.get", m{"name": "warm"}) // Redis is up
	fences, tokens := map[int]any{}, map[int]any{}
	for i, r := range p.replies(p.sendAll("lock.acquire", named(m{"ttl_ms": 15_000}))...) { // renewed every 5 s
		require.Equal(t, true, r["acquired"], i)
		fences[i], tokens[i] = r["fence"], r["token"]
	}
	require.Equal(t, crowd, b.leases.Held())
	eventually(t, "they are renewed twice", func() bool {
		return seen.value("coxswain.script.duration", "lock_renew ok") >= 2*crowd
	})
	for i := range crowd {
		require.Equal(t, fences[i], eye.must("lock.get", m{"name": "n" + itoa(i)})["fence"], i)
	}
	longer := p.sendAll("lock.renew", func(i int) m {
		return m{"name": "n" + itoa(i), "token": tokens[i], "ttl_ms": 600_000} // none expires by its TTL
	})
	for i, r := range p.replies(longer...) {
		require.Equal(t, true, r["renewed"], i)
	}
	require.NoError(t, p.conn.Close())
	for i := range crowd {
		eventually(t, "it is given back", func() bool {
			return eye.must("lock.get", m{"name": "n" + itoa(i)})["held"] == false
		})
	}
	require.Zero(t, b.leases.Held())
	for i, r := range eye.replies(eye.sendAll("lock.acquire", named(nil))...) {
		require.Equal(t, true, r["acquired"], i)
	}
}

// While Redis hangs, a call that is cancelled before its script was sent is not executed, and a
// lease that a call takes although it was cancelled later is given back. The same applies to the
// calls of a connection that closes.
func TestGrantsOfCallsThatEndOnTheDirectPathAreGivenBack(t *testing.T) {
	for name, end := range map[string]func(p *peer, ids []int){
		"cancelled": func(p *peer, ids []int) {
			for _, id := range ids {
				p.send(notification(t, "rpc.cancel", []any{id}))
			}
		},
		"closed": func(p *peer, _ []int) { require.NoError(t, p.conn.Close()) },
	} {
		t.Run(name, func(t *testing.T) {
			s, seen := redistest.Start(t), newCounters(t)
			b := serveOn(t, rpc.Options{Telemetry: seen.telemetry},
				luatest.Open(t, lua.Options{URL: s.URL(), CommandTimeout: time.Hour}))
			first, second, admin := b.dial(t), b.dial(t), s.Client(t)
			first.must("lock.acquire", m{"name": "warm"})
			require.NoError(t, admin.Do(t.Context(), "client", "pause", 600_000, "write").Err())
			sent := first.sendAll("lock.acquire", named(nil))
			eventually(t, "the first crowd is submitted", func() bool { return seen.value("coxswain.direct", "answered") >= crowd-1 })
			later := second.sendAll("lock.acquire", func(i int) m { return m{"name": "later" + itoa(i)} })
			eventually(t, "the second waits behind it", func() bool { return seen.value("coxswain.direct", "answered") >= 2*crowd-2 })
			end(second, later)
			end(first, sent)
			eventually(t, "all are taken off the direct path", func() bool { return seen.value("coxswain.direct", "stopped") >= 2*crowd-4 })
			require.NoError(t, admin.ClientUnpause(t.Context()).Err())
			if name == "cancelled" {
				for i, text := range first.errors(sent...) {
					require.Contains(t, text, "CANCELLED", i)
				}
			}
			eye := b.dial(t)
			for i := range crowd {
				eventually(t, "it is given back", func() bool {
					return eye.must("lock.get", m{"name": "n" + itoa(i)})["held"] == false
				})
			}
			eventually(t, "nothing is held but the first", func() bool { return b.leases.Held() <= 1 })
			// Redis keeps a key of each lock that was ever held, for its fence.
			keys := admin.Keys(t.Context(), "*{later*").Val()
			require.Less(t, len(keys), crowd/2, "what was not sent was executed: %v", keys)
		})
	}
}

// A call that gives back is stopped neither by rpc.cancel nor by the end of its connection.
func TestReleasesOnTheDirectPathRunOnTheirOwnTime(t *testing.T) {
	s, seen := redistest.Start(t), newCounters(t)
	b := serveOn(t, rpc.Options{Telemetry: seen.telemetry},
		luatest.Open(t, lua.Options{URL: s.URL(), CommandTimeout: time.Hour}))
	p, eye, admin := b.dial(t), b.dial(t), s.Client(t)
	p.must("lock.get", m{"name": "warm"}) // Redis is up
	for _, ending := range []string{"cancelled", "closed"} {
		tokens := map[int]any{}
		for i, r := range p.replies(p.sendAll("lock.acquire", named(m{"bind": "ttl", "ttl_ms": 600_000}))...) {
			require.Equal(t, true, r["acquired"], i)
			tokens[i] = r["token"]
		}
		before := seen.value("coxswain.direct", "answered")
		require.NoError(t, admin.Do(t.Context(), "client", "pause", 600_000, "write").Err())
		ids := p.sendAll("lock.release", func(i int) m { return m{"name": "n" + itoa(i), "token": tokens[i]} })
		eventually(t, "they are submitted", func() bool { return seen.value("coxswain.direct", "answered") >= before+crowd-1 })
		if ending == "cancelled" {
			for _, id := range ids {
				p.send(notification(t, "rpc.cancel", []any{id}))
			}
			p.send(request(t, crowd, "session.ping"))
			p.replies(crowd) // the cancellations were read
			require.NoError(t, admin.ClientUnpause(t.Context()).Err())
			for i, r := range p.replies(ids...) {
				require.Equal(t, true, r["released"], i)
			}
			continue
		}
		require.NoError(t, p.conn.Close())
		eventually(t, "the connection has ended", func() bool { return b.Connections() == 1 })
		require.NoError(t, admin.ClientUnpause(t.Context()).Err())
		for i := range crowd {
			eventually(t, "it is free", func() bool { return eye.must("lock.get", m{"name": "n" + itoa(i)})["held"] == false })
		}
	}
	require.Zero(t, seen.value("coxswain.direct", "stopped"))
}

// A call that was prepared and cannot be submitted is completed on a goroutine, and not begun
// again: a new attempt would wait for the lease that the first has claimed for its renewal.
func TestACrowdIsAnsweredWhileRedisIsDown(t *testing.T) {
	s, seen := redistest.Start(t), newCounters(t)
	b := serveOn(t, rpc.Options{Telemetry: seen.telemetry}, luatest.Open(t, lua.Options{URL: s.URL()}))
	p := b.dial(t)
	p.must("lock.get", m{"name": "warm"}) // Redis is up
	tokens := map[int]any{}
	for i, r := range p.replies(p.sendAll("lock.acquire", named(m{"ttl_ms": 600_000}))...) {
		require.Equal(t, true, r["acquired"], i)
		tokens[i] = r["token"]
	}
	s.Stop()
	unanswered := func(method string, more m) {
		ids := p.sendAll(method, func(i int) m {
			all := m{"name": "n" + itoa(i), "token": tokens[i]}
			for k, v := range more {
				all[k] = v
			}
			return all
		})
		for i, text := range p.errors(ids...) {
			require.Contains(t, text, "UNAVAILABLE", "%s %d", method, i)
		}
	}
	down := func() int64 { return seen.value("coxswain.direct", "down") }
	eventually(t, "it is known to be down", func() bool {
		// These calls may end in any way: those in flight when the outage began wait for its end.
		p.errors(p.sendAll("lock.renew", func(i int) m {
			return m{"name": "n" + itoa(i), "token": tokens[i], "ttl_ms": 600_000, "_deadline_ms": 500}
		})...)
		return down() > 0
	})
	before := down()
	unanswered("lock.acquire", m{"token": "another"})
	unanswered("lock.renew", m{"ttl_ms": 600_000})
	require.Equal(t, crowd, b.leases.Held())
	unanswered("lock.release", nil)
	require.Zero(t, b.leases.Held(), "nobody relies on what was to be released")
	require.Greater(t, down()-before, int64(2*crowd))
}

// A repeated request needs more than the reply of its script: a goroutine completes it, and the metrics count it as
// "more".
func TestARepeatedCrowdHasMoreToDo(t *testing.T) {
	eachStore(t, func(t *testing.T, url string) {
		seen := newCounters(t)
		b := serveOn(t, rpc.Options{Telemetry: seen.telemetry}, luatest.Open(t, lua.Options{URL: url}))
		p, other := b.dial(t), b.dial(t)
		p.must("lock.get", m{"name": "warm"}) // Redis is up
		again := func(i int) m { return m{"name": "n" + itoa(i), "_request_id": "r" + itoa(i)} }
		first := p.replies(p.sendAll("lock.acquire", again)...)
		for i, r := range other.replies(other.sendAll("lock.acquire", again)...) {
			require.Equal(t, true, r["replayed"], "%d: %v", i, r)
			require.Equal(t, first[i]["fence"], r["fence"], i)
		}
		require.Greater(t, seen.value("coxswain.direct", "more"), int64(crowd/2))
		require.NoError(t, p.conn.Close())
		eventually(t, "the first connection has ended", func() bool { return b.Connections() == 1 })
		require.Equal(t, crowd, b.leases.Held(), "they moved to the second")
	})
}
