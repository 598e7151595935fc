package clienttest_test

import (
	"github.com/stretchr/testify/require"

	"github.com/coxswain-sidecar/coxswain/client/api"
)

const (
	hour = 3_600_000
	day  = 24 * hour
)

// scenarios are calls whose answers by a fake and by a real sidecar are compared. Their times are long, so that
// no answer depends on the speed of the machine.
var scenarios = map[string]func(*asking){
	"token bucket":           limits(api.AlgorithmTokenBucket, m{}),
	"token bucket, burst":    limits(api.AlgorithmTokenBucket, m{"burst": 2}),
	"leaky bucket":           limits(api.AlgorithmLeakyBucket, m{}),
	"fixed window":           limits(api.AlgorithmFixedWindow, m{}),
	"sliding window log":     limits(api.AlgorithmSlidingWindowLog, m{}),
	"sliding window counter": limits(api.AlgorithmSlidingWindowCounter, m{}),
	"rules":                  rules,
	"many keys":              manyKeys,
	"some keys":              someKeys,
	"pauses and delays":      pauses,
	"max_concurrent":         concurrent,
	"request ids":            requestIDs,
	"what is refused":        invalid,
	"locks":                  locks,
	"semaphores":             semaphores,
	"seen":                   seenOnce,
	"queues":                 queues,
	"breakers":               breakers,
	"pools":                  pools,
	"permits":                permits,
	"streams":                streams,
	"streams by key":         streamLanes,
	"events":                 events,
	"streams, pushed":        pushed,
	"pubsub":                 pubsub,
	"waiting lines":          inLine,
	"a connection closes":    aClosed,
}

// limits charges a limit of 3 in 366 days until it refuses.
func limits(algorithm string, more m) func(*asking) {
	return func(x *asking) {
		band := m{"limit": 3, "period_ms": 366 * day}
		for k, v := range more {
			band[k] = v
		}
		p := func(more m) m {
			params := m{"algorithm": algorithm, "limits": []any{band}, "key": "k"}
			for k, v := range more {
				params[k] = v
			}
			return params
		}
		x.ask(x.a, "ratelimit.peek", p(nil))
		first := x.ask(x.a, "ratelimit.acquire", p(nil))
		x.ask(x.b, "ratelimit.acquire", p(m{"cost": 2}))
		x.ask(x.a, "ratelimit.acquire", p(m{"cost": 4}))
		x.ask(x.a, "ratelimit.acquire", p(nil))
		x.ask(x.a, "ratelimit.acquire", p(m{"wait_ms": 1}))
		x.ask(x.a, "ratelimit.peek", p(m{"cost": 0}))
		x.ask(x.a, "ratelimit.acquire", p(m{"key": "other"}))
		x.ask(x.a, "ratelimit.refund", m{"grant": first["grant"]})
		x.ask(x.a, "ratelimit.refund", m{"grant": first["grant"]})
		x.ask(x.a, "ratelimit.acquire", p(nil))
		x.ask(x.a, "ratelimit.reset", p(nil))
		x.ask(x.a, "ratelimit.reset", p(nil))
		x.ask(x.a, "ratelimit.acquire", p(nil))
	}
}

func rules(x *asking) {
	x.ask(x.a, "ratelimit.acquire", m{"rule": "crawl", "key": "k"})
	rule := m{"name": "crawl", "algorithm": api.AlgorithmTokenBucket, "limits": []any{
		m{"limit": 5, "period_ms": 366 * day}, m{"limit": 2, "period_ms": day},
	}, "deny": []any{m{"glob": "bad*"}}, "allow": []any{m{"suffix": "example.com"}}}
	x.ask(x.a, "ratelimit.put_rule", m{"rule": rule})
	x.ask(x.a, "ratelimit.put_rule", m{"rule": rule})
	for range 3 {
		x.ask(x.a, "ratelimit.acquire", m{"rule": "crawl", "key": "k"})
	}
	x.ask(x.a, "ratelimit.acquire", m{"rule": "crawl", "key": "bad.site"})
	x.ask(x.a, "ratelimit.acquire", m{"rule": "crawl", "key": "a.Example.com"})
	x.ask(x.a, "ratelimit.acquire", m{"rule": "crawl", "key": "k", "group": "g"})
	x.ask(x.a, "ratelimit.acquire", m{"rule": "crawl", "key": "l", "group": "g"})
	x.ask(x.a, "ratelimit.acquire", m{"rule": "crawl", "key": "m", "group": "g"})
	x.ask(x.a, "ratelimit.rules", m{})
	x.ask(x.a, "ratelimit.delete_rule", m{"name": "crawl"})
	x.ask(x.a, "ratelimit.delete_rule", m{"name": "crawl"})
	x.ask(x.a, "ratelimit.put_rule", m{"rule": m{"name": "crawl", "algorithm": "none", "limits": []any{}}})
}

// someKeys tests rules with overrides and groups, in shadow, and with headroom.
func someKeys(x *asking) {
	band := func(limit int) []any { return []any{m{"limit": limit, "period_ms": 366 * day}} }
	x.ask(x.a, "ratelimit.put_rule", m{"rule": m{
		"name": "r", "algorithm": api.AlgorithmTokenBucket, "limits": band(2),
		"overrides": []any{m{"exact": "big", "limits": band(5)}, m{"glob": "few*", "max_concurrent": 1}},
		"groups":    []any{m{"suffix": "example.com"}, m{"glob": "g-*", "name": "g"}},
	}})
	for _, key := range []string{"big", "few-1", "few-1", "a.example.com", "b.example.com", "c.example.com", "g-1", "g-2", "g-3"} {
		x.ask(x.a, "ratelimit.acquire", m{"rule": "r", "key": key})
	}
	x.ask(x.a, "ratelimit.pause", m{"rule": "r", "key": "g-1", "for_ms": hour})
	x.ask(x.a, "ratelimit.acquire", m{"rule": "r", "key": "g-2"})
	x.ask(x.a, "ratelimit.put_rule", m{"rule": m{"name": "s", "algorithm": api.AlgorithmTokenBucket, "limits": band(1), "shadow": true}})
	for range 2 {
		x.ask(x.a, "ratelimit.acquire", m{"rule": "s", "key": "k"})
	}
	x.ask(x.a, "ratelimit.pause", m{"rule": "s", "key": "k", "for_ms": hour})
	x.ask(x.a, "ratelimit.acquire", m{"rule": "s", "key": "k"})
	x.ask(x.a, "ratelimit.put_rule", m{"rule": m{"name": "h", "algorithm": api.AlgorithmTokenBucket, "limits": band(10), "headroom_percent": 25}})
	x.ask(x.a, "ratelimit.acquire", m{"rule": "h", "key": "k"})
	x.ask(x.a, "ratelimit.acquire", m{"rule": "h", "key": "k", "cost": 8})
}

func manyKeys(x *asking) {
	inline := func(key string, more m) m {
		p := m{"algorithm": api.AlgorithmTokenBucket, "limits": []any{m{"limit": 2, "period_ms": 366 * day}}}
		if key != "" {
			p["key"] = key
		}
		for k, v := range more {
			p[k] = v
		}
		return p
	}
	x.ask(x.a, "ratelimit.acquire_many", m{"items": []any{inline("a", nil), inline("b", m{"cost": 3}), m{"rule": "none", "key": "k"}}})
	x.ask(x.a, "ratelimit.acquire_many", m{"atomic": true, "items": []any{inline("c", m{"group": "g"}), inline("d", m{"group": "g"})}})
	x.ask(x.a, "ratelimit.acquire_many", m{"atomic": true, "items": []any{inline("c", m{"group": "g"}), inline("d", m{"group": "g"})}})
	x.ask(x.a, "ratelimit.acquire_many", m{"atomic": true, "items": []any{inline("c", m{"group": "g"}), inline("d", m{"group": "h"})}})
	for range 3 {
		x.ask(x.a, "ratelimit.acquire_any", inline("", m{"keys": []any{"a", "e"}}))
	}
	x.ask(x.a, "ratelimit.acquire_any", inline("", m{"keys": []any{"a", "e"}}))
}

func pauses(x *asking) {
	rule := m{"name": "site", "algorithm": api.AlgorithmTokenBucket, "limits": []any{m{"limit": 1000, "period_ms": day}}}
	x.ask(x.a, "ratelimit.put_rule", m{"rule": rule})
	x.ask(x.a, "ratelimit.pause", m{"rule": "site", "key": "k", "for_ms": hour})
	x.ask(x.b, "ratelimit.acquire", m{"rule": "site", "key": "k"})
	x.ask(x.b, "ratelimit.peek", m{"rule": "site", "key": "k"})
	x.ask(x.b, "ratelimit.acquire", m{"rule": "site", "key": "l"})
	x.ask(x.a, "ratelimit.resume", m{"rule": "site", "key": "k"})
	x.ask(x.a, "ratelimit.resume", m{"rule": "site", "key": "k"})
	x.ask(x.b, "ratelimit.acquire", m{"rule": "site", "key": "k"})
	x.ask(x.b, "ratelimit.report", m{"rule": "site", "key": "k", "status": 200})
	x.ask(x.b, "ratelimit.report", m{"rule": "site", "key": "k", "status": 429, "retry_after_ms": hour})
	x.ask(x.a, "ratelimit.acquire", m{"rule": "site", "key": "k"})
	x.ask(x.b, "ratelimit.report", m{"rule": "none", "key": "k", "status": 429})
	x.ask(x.a, "ratelimit.pause", m{"rule": "site", "key": "k"})
	x.ask(x.a, "ratelimit.set_delay", m{"rule": "site", "key": "d", "delay_ms": 60_000})
	x.ask(x.a, "ratelimit.acquire", m{"rule": "site", "key": "d"})
	x.ask(x.a, "ratelimit.acquire", m{"rule": "site", "key": "d"})
	x.ask(x.a, "ratelimit.set_delay", m{"rule": "site", "key": "d", "delay_ms": 0})
	x.ask(x.a, "ratelimit.acquire", m{"rule": "site", "key": "d"})
}

func concurrent(x *asking) {
	rule := m{"name": "few", "algorithm": api.AlgorithmTokenBucket, "limits": []any{m{"limit": 100, "period_ms": 366 * day}}, "max_concurrent": 2}
	x.ask(x.a, "ratelimit.put_rule", m{"rule": rule})
	first := x.ask(x.a, "ratelimit.acquire", m{"rule": "few", "key": "k"})
	x.ask(x.a, "ratelimit.acquire", m{"rule": "few", "key": "k"})
	x.ask(x.a, "ratelimit.acquire", m{"rule": "few", "key": "k"})
	x.ask(x.a, "ratelimit.done", m{"grant": first["grant"]})
	x.ask(x.a, "ratelimit.done", m{"grant": first["grant"]})
	third := x.ask(x.b, "ratelimit.acquire", m{"rule": "few", "key": "k"})
	x.ask(x.b, "ratelimit.report", m{"rule": "few", "key": "k", "status": 200, "grant": third["grant"]})
	x.ask(x.b, "ratelimit.acquire", m{"rule": "few", "key": "k"})
}

func requestIDs(x *asking) {
	p := m{"algorithm": api.AlgorithmTokenBucket, "limits": []any{m{"limit": 2, "period_ms": 366 * day}}, "key": "k", "_request_id": "id"}
	x.ask(x.a, "ratelimit.acquire", p)
	x.ask(x.b, "ratelimit.acquire", p)
	other := m{}
	for k, v := range p {
		other[k] = v
	}
	other["cost"] = 2
	x.ask(x.b, "ratelimit.acquire", other)
	x.ask(x.a, "queue.enqueue", m{"queue": "q", "id": "1", "_request_id": "id-2"})
	x.ask(x.a, "queue.enqueue", m{"queue": "q", "id": "1", "_request_id": "id-2"})
	x.ask(x.a, "queue.enqueue", m{"queue": "q", "id": "1"})
}

func invalid(x *asking) {
	x.ask(x.a, "no.such_method", m{})
	x.ask(x.a, "lock.acquire", m{})
	x.ask(x.a, "lock.acquire", m{"name": ""})
	x.ask(x.a, "lock.acquire", m{"name": "l", "ttl_ms": 1})
	x.ask(x.a, "lock.acquire", m{"name": "l", "bind": "forever"})
	x.ask(x.a, "lock.acquire", m{"name": "l", "unknown": 1})
	x.ask(x.a, "lock.acquire", m{"name": 7})
	x.ask(x.a, "semaphore.acquire", m{"name": "s", "limit": 0})
	x.ask(x.a, "semaphore.acquire", m{"name": "s", "limit": 2, "permits": 3})
	x.ask(x.a, "ratelimit.acquire", m{"key": "k"})
	x.ask(x.a, "ratelimit.acquire", m{"rule": "r", "algorithm": "token_bucket", "key": "k"})
	x.ask(x.a, "queue.dequeue", m{"queue": "q", "lease_ms": 5})
	x.ask(x.a, "pubsub.subscribe", m{})
	x.ask(x.a, "stream.trim", m{"stream": "s"})
	x.ask(x.a, "stream.fetch", m{"stream": "s", "group": "g", "rule": "r"})
	x.ask(x.a, "stream.fetch", m{"stream": "s", "group": "g", "rule": "r", "key": "k"})
	x.ask(x.a, "breaker.report", m{"name": "b", "outcome": "maybe"})
	x.ask(x.a, "permit.acquire", m{"pool": "p", "rule": "none"})
}

func locks(x *asking) {
	x.ask(x.a, "lock.get", m{"name": "l"})
	mine := x.ask(x.a, "lock.acquire", m{"name": "l", "ttl_ms": hour, "meta": "job 7"})
	x.ask(x.a, "lock.acquire", m{"name": "l", "ttl_ms": hour, "token": mine["token"]})
	x.ask(x.b, "lock.acquire", m{"name": "l"})
	x.ask(x.b, "lock.acquire", m{"name": "l", "wait_ms": 1})
	x.ask(x.b, "lock.get", m{"name": "l"})
	x.list(x.b, "lock.list", m{}, "locks")
	x.ask(x.a, "lock.renew", m{"name": "l", "token": mine["token"], "ttl_ms": 2 * hour})
	x.ask(x.b, "lock.renew", m{"name": "l", "token": "another"})
	x.ask(x.b, "lock.release", m{"name": "l", "token": "another"})
	x.ask(x.a, "lock.release", m{"name": "l", "token": mine["token"]})
	x.ask(x.a, "lock.release", m{"name": "l", "token": mine["token"]})
	x.ask(x.a, "lock.renew", m{"name": "l", "token": mine["token"]})
	x.ask(x.b, "lock.acquire", m{"name": "l", "bind": "ttl", "ttl_ms": hour})
	x.ask(x.a, "lock.force_release", m{"name": "l"})
	x.ask(x.a, "lock.force_release", m{"name": "l"})
	x.list(x.a, "lock.list", m{}, "locks")
	x.ask(x.b, "lock.acquire", m{"name": "m", "ttl_ms": hour})
	x.ask(x.a, "lock.force_release", m{"name": "m"})
	x.event(x.b)
	x.ask(x.b, "lock.acquire", m{"name": "n", "max_hold_ms": 100})
	x.event(x.b)
}

// inLine tests calls that wait for what another client holds.
func inLine(x *asking) {
	lock := x.ask(x.a, "lock.acquire", m{"name": "l", "ttl_ms": hour})
	first := x.begin(x.b, "lock.acquire", m{"name": "l", "wait_ms": 60_000, "ttl_ms": hour})
	x.until("lock.get", m{"name": "l"}, "waiting", 1)
	second := x.begin(x.a, "lock.acquire", m{"name": "l", "wait_ms": 60_000, "ttl_ms": hour})
	x.until("lock.get", m{"name": "l"}, "waiting", 2)
	x.ask(x.a, "lock.acquire", m{"name": "l"})
	x.ask(x.a, "lock.release", m{"name": "l", "token": lock["token"]})
	got := x.end(first)
	x.ask(x.b, "lock.get", m{"name": "l"})
	x.ask(x.b, "lock.release", m{"name": "l", "token": got["token"]})
	x.end(second)

	x.ask(x.a, "pool.put", m{"pool": "p", "members": []any{m{"id": "x"}}})
	member := x.ask(x.a, "pool.acquire", m{"pool": "p", "lease_ms": hour})
	waits := x.begin(x.b, "pool.acquire", m{"pool": "p", "wait_ms": 60_000, "lease_ms": hour})
	x.until("pool.stats", m{"pool": "p"}, "waiting", 1)
	x.ask(x.a, "pool.release", m{"pool": "p", "lease": member["lease"]})
	x.end(waits)

	permits := x.ask(x.a, "semaphore.acquire", m{"name": "s", "limit": 2, "permits": 2, "ttl_ms": hour})
	waits = x.begin(x.b, "semaphore.acquire", m{"name": "s", "limit": 2, "wait_ms": 60_000, "ttl_ms": hour})
	x.until("semaphore.get", m{"name": "s"}, "waiting", 1)
	x.ask(x.a, "semaphore.release", m{"name": "s", "token": permits["token"]})
	x.end(waits)

	waits = x.begin(x.b, "queue.dequeue", m{"queue": "q", "wait_ms": 60_000})
	x.until("queue.stats", m{"queue": "q"}, "waiting", 1)
	x.ask(x.a, "queue.enqueue", m{"queue": "q", "id": "1", "body": []byte("b")})
	x.end(waits)

	waits = x.begin(x.b, "stream.fetch", m{"stream": "s", "group": "g", "wait_ms": 60_000})
	x.ask(x.a, "stream.publish", m{"stream": "s", "body": []byte("b")})
	x.end(waits)
}

// aClosed tests that a closed connection gives back the leases that are bound to it.
func aClosed(x *asking) {
	x.ask(x.a, "pool.put", m{"pool": "p", "members": []any{m{"id": "x"}}})
	x.ask(x.a, "queue.enqueue", m{"queue": "q", "id": "1", "ttl_ms": day})
	x.ask(x.a, "queue.enqueue", m{"queue": "q", "id": "2", "ttl_ms": day})
	x.ask(x.a, "stream.publish", m{"stream": "s", "body": []byte("b")})
	x.ask(x.b, "lock.acquire", m{"name": "session", "ttl_ms": hour})
	x.ask(x.b, "lock.acquire", m{"name": "ttl", "ttl_ms": hour, "bind": "ttl"})
	x.ask(x.b, "semaphore.acquire", m{"name": "s", "limit": 1, "ttl_ms": hour})
	x.ask(x.b, "pool.acquire", m{"pool": "p", "lease_ms": hour})
	x.ask(x.b, "queue.dequeue", m{"queue": "q", "lease_ms": hour, "bind": "session"})
	x.ask(x.b, "queue.dequeue", m{"queue": "q", "lease_ms": hour})
	x.ask(x.b, "seen.reserve", m{"set": "urls", "key": "u", "ttl_ms": hour})
	x.ask(x.b, "stream.fetch", m{"stream": "s", "group": "g", "visibility_ms": hour})
	require.NoError(x.t, x.b.Close())
	x.until("lock.get", m{"name": "session"}, "held", false)
	x.until("semaphore.get", m{"name": "s"}, "held", 0)
	x.until("pool.stats", m{"pool": "p"}, "free", 1)
	x.until("queue.stats", m{"queue": "q"}, "depth", 1)
	x.until("stream.stats", m{"stream": "s"}, "length", 1)
	x.ask(x.a, "lock.get", m{"name": "ttl"})
	x.ask(x.a, "queue.dequeue", m{"queue": "q", "lease_ms": hour})
	x.ask(x.a, "stream.fetch", m{"stream": "s", "group": "g", "visibility_ms": hour, "wait_ms": 60_000})
}

func pushed(x *asking) {
	x.ask(x.a, "stream.publish", m{"stream": "s", "body": []byte("one"), "fields": m{"k": "v"}})
	sub := x.ask(x.b, "stream.subscribe", m{"stream": "s", "group": "g", "prefetch": 1, "visibility_ms": hour})
	one := x.event(x.b)
	x.ask(x.a, "stream.publish", m{"stream": "s", "body": []byte("two")})
	x.ask(x.b, "stream.nack", m{"stream": "s", "group": "g", "id": one["id"], "dead": true, "reason": "why"})
	x.event(x.b)
	x.ask(x.b, "stream.unsubscribe", m{"subscription": sub["subscription"]})
	x.ask(x.b, "stream.unsubscribe", m{"subscription": sub["subscription"]})
	x.ask(x.b, "stream.dead", m{"stream": "s"})

	x.ask(x.a, "stream.publish", m{"stream": "late", "body": []byte("one")})
	x.ask(x.b, "stream.subscribe", m{"stream": "late", "group": "g", "bind": "ttl", "visibility_ms": 100, "max_deliveries": 1})
	x.event(x.b)
	x.until("stream.stats", m{"stream": "late"}, "dead", 1)
	x.ask(x.b, "stream.dead", m{"stream": "late"})
}

func semaphores(x *asking) {
	acquire := func(n int) m { return m{"name": "s", "limit": 3, "permits": n, "ttl_ms": hour} }
	two := x.ask(x.a, "semaphore.acquire", acquire(2))
	x.ask(x.b, "semaphore.acquire", acquire(2))
	x.ask(x.b, "semaphore.acquire", acquire(1))
	x.ask(x.b, "semaphore.get", m{"name": "s"})
	x.list(x.b, "semaphore.list", m{}, "semaphores")
	x.ask(x.a, "semaphore.renew", m{"name": "s", "token": two["token"], "ttl_ms": hour})
	x.ask(x.a, "semaphore.release", m{"name": "s", "token": two["token"]})
	x.ask(x.a, "semaphore.release", m{"name": "s", "token": two["token"]})
	x.ask(x.a, "semaphore.renew", m{"name": "s", "token": two["token"]})
	x.ask(x.a, "semaphore.release", m{"name": "s", "token": "another"})
	x.ask(x.b, "semaphore.acquire", acquire(2))
	x.ask(x.b, "semaphore.get", m{"name": "none"})
}

func events(x *asking) {
	x.ask(x.a, "events.subscribe", m{"kinds": []any{"paused", "breaker"}})
	x.ask(x.a, "events.subscribe", m{"kinds": []any{"no such kind"}})
	x.ask(x.a, "events.subscribe", m{})
	x.ask(x.a, "events.unsubscribe", m{})
	x.ask(x.a, "events.unsubscribe", m{})
}

func seenOnce(x *asking) {
	key := func(more m) m {
		p := m{"set": "urls", "key": "u"}
		for k, v := range more {
			p[k] = v
		}
		return p
	}
	first := x.ask(x.a, "seen.reserve", key(m{"ttl_ms": hour}))
	x.ask(x.b, "seen.reserve", key(nil))
	x.ask(x.a, "seen.release", key(m{"token": first["token"]}))
	x.ask(x.a, "seen.release", key(m{"token": first["token"]}))
	x.ask(x.a, "seen.commit", key(m{"token": first["token"]}))
	second := x.ask(x.b, "seen.reserve", key(m{"ttl_ms": hour}))
	x.ask(x.b, "seen.commit", key(m{"token": second["token"], "keep_ms": day}))
	x.ask(x.b, "seen.commit", key(m{"token": second["token"], "keep_ms": day}))
	x.ask(x.a, "seen.reserve", key(nil))
}

func queues(x *asking) {
	x.ask(x.a, "queue.dequeue", m{"queue": "q"})
	for _, id := range []string{"1", "2", "1", "3"} {
		x.ask(x.a, "queue.enqueue", m{"queue": "q", "id": id, "ttl_ms": day, "body": []byte("b" + id)})
	}
	x.ask(x.b, "queue.stats", m{"queue": "q"})
	one := x.ask(x.b, "queue.dequeue", m{"queue": "q", "lease_ms": hour})
	x.ask(x.a, "queue.position", m{"queue": "q", "id": "1"})
	x.ask(x.a, "queue.position", m{"queue": "q", "id": "3"})
	x.ask(x.a, "queue.position", m{"queue": "q", "id": "none"})
	x.ask(x.a, "queue.enqueue", m{"queue": "q", "id": "1"})
	x.ask(x.b, "queue.renew", m{"queue": "q", "lease": one["lease"], "lease_ms": hour})
	x.list(x.b, "queue.list", m{}, "queues")
	x.ask(x.b, "queue.release", m{"queue": "q", "lease": one["lease"]})
	x.ask(x.b, "queue.release", m{"queue": "q", "lease": one["lease"]})
	x.ask(x.b, "queue.ack", m{"queue": "q", "lease": one["lease"]})
	again := x.ask(x.a, "queue.dequeue", m{"queue": "q", "lease_ms": hour})
	x.ask(x.a, "queue.cancel", m{"queue": "q", "id": "1"})
	x.ask(x.a, "queue.cancel", m{"queue": "q", "id": "2"})
	x.ask(x.a, "queue.cancel", m{"queue": "q", "id": "2"})
	x.ask(x.a, "queue.ack", m{"queue": "q", "lease": again["lease"]})
	x.ask(x.a, "queue.ack", m{"queue": "q", "lease": again["lease"]})
	x.ask(x.a, "queue.dequeue", m{"queue": "q"})
	x.ask(x.a, "queue.dequeue", m{"queue": "q", "wait_ms": 1})
	x.ask(x.a, "queue.stats", m{"queue": "q"})
}

func breakers(x *asking) {
	x.ask(x.a, "breaker.get", m{"name": "b"})
	for range 3 {
		g := x.ask(x.a, "breaker.allow", m{"name": "b"})
		x.ask(x.a, "breaker.report", m{"name": "b", "generation": g["generation"], "outcome": "failure"})
	}
	x.ask(x.b, "breaker.allow", m{"name": "b"})
	x.ask(x.b, "breaker.get", m{"name": "b"})
	x.ask(x.b, "breaker.report", m{"name": "b", "outcome": "success"})
	x.list(x.b, "breaker.list", m{"state": "not_closed"}, "breakers")
	x.ask(x.b, "breaker.reset", m{"name": "b"})
	x.ask(x.b, "breaker.allow", m{"name": "b"})
	x.ask(x.b, "breaker.report", m{"name": "b", "outcome": "failure"})
	x.ask(x.b, "breaker.report", m{"name": "b", "outcome": "ignored"})
	x.ask(x.b, "breaker.report", m{"name": "b", "outcome": "success"})
	x.ask(x.b, "breaker.get", m{"name": "b"})
	for _, state := range []string{"open", "open", "closed", "disabled"} {
		x.ask(x.a, "breaker.force", m{"name": "b", "state": state})
		x.ask(x.b, "breaker.allow", m{"name": "b"})
		x.ask(x.b, "breaker.report", m{"name": "b", "outcome": "failure"})
	}
	x.ask(x.a, "breaker.reset", m{"name": "b"})
	x.ask(x.a, "breaker.get", m{"name": "b"})
	x.ask(x.a, "breaker.allow", m{"name": "b", "policy": "none"})
}

func pools(x *asking) {
	x.ask(x.a, "pool.acquire", m{"pool": "p"})
	x.ask(x.a, "pool.put", m{"pool": "p", "members": []any{m{"id": "x", "meta": "mx"}, m{"id": "y"}, m{"id": "z"}}})
	x.ask(x.a, "pool.put", m{"pool": "p", "members": []any{m{"id": "x", "meta": "mx"}}})
	first := x.ask(x.a, "pool.acquire", m{"pool": "p", "lease_ms": hour})
	second := x.ask(x.b, "pool.acquire", m{"pool": "p", "lease_ms": hour, "exclude": []any{"y"}})
	x.ask(x.b, "pool.stats", m{"pool": "p"})
	x.ask(x.b, "pool.list", m{"pool": "p"})
	x.ask(x.a, "pool.renew", m{"pool": "p", "lease": first["lease"], "lease_ms": hour})
	x.ask(x.a, "pool.release", m{"pool": "p", "lease": first["lease"], "outcome": "hard_block"})
	x.ask(x.b, "pool.release", m{"pool": "p", "lease": second["lease"]})
	x.ask(x.b, "pool.release", m{"pool": "p", "lease": second["lease"]})
	third := x.ask(x.a, "pool.acquire", m{"pool": "p", "lease_ms": hour, "sticky": "me"})
	x.ask(x.a, "pool.release", m{"pool": "p", "lease": third["lease"], "outcome": "ban"})
	fourth := x.ask(x.a, "pool.acquire", m{"pool": "p", "lease_ms": hour})
	x.ask(x.a, "pool.acquire", m{"pool": "p"})
	x.ask(x.a, "pool.stats", m{"pool": "p"})
	x.ask(x.a, "pool.ban", m{"pool": "p", "id": "x", "for_ms": hour})
	x.ask(x.a, "pool.unban", m{"pool": "p", "id": "x"})
	x.ask(x.a, "pool.unban", m{"pool": "p", "id": "x"})
	x.ask(x.a, "pool.ban", m{"pool": "p", "id": "none"})
	x.ask(x.a, "pool.release", m{"pool": "p", "lease": fourth["lease"], "cooldown_ms": hour})
	x.ask(x.a, "pool.acquire", m{"pool": "p", "scope": "host"})
	x.ask(x.a, "pool.remove", m{"pool": "p", "ids": []any{"y", "none"}})
	x.ask(x.a, "pool.list", m{"pool": "p"})
}

func permits(x *asking) {
	rule := m{"name": "member", "algorithm": api.AlgorithmTokenBucket, "limits": []any{m{"limit": 2, "period_ms": 366 * day}}}
	x.ask(x.a, "ratelimit.put_rule", m{"rule": rule})
	x.ask(x.a, "pool.put", m{"pool": "p", "members": []any{m{"id": "x"}}})
	permit := m{"pool": "p", "rule": "member", "breaker": "default", "lease_ms": hour}
	first := x.ask(x.a, "permit.acquire", permit)
	x.ask(x.b, "permit.acquire", permit)
	x.ask(x.a, "permit.renew", m{"pool": "p", "lease": first["lease"], "lease_ms": hour})
	x.ask(x.a, "permit.report", m{"pool": "p", "lease": first["lease"]})
	x.ask(x.a, "permit.report", m{"pool": "p", "lease": first["lease"]})
	second := x.ask(x.a, "permit.acquire", permit)
	x.ask(x.a, "permit.report", m{"pool": "p", "lease": second["lease"], "outcome": "cancelled"})
	x.ask(x.a, "permit.acquire", permit) // its bucket is empty
	x.ask(x.a, "ratelimit.reset", m{"rule": "member", "key": "x", "pool": "p"})
	third := x.ask(x.a, "permit.acquire", permit)
	x.ask(x.a, "permit.report", m{"pool": "p", "lease": third["lease"], "status": 429, "retry_after_ms": hour, "outcome": "cancelled"})
	x.ask(x.a, "permit.acquire", permit)
	x.ask(x.a, "ratelimit.resume", m{"key": "x", "pool": "p"})
	x.ask(x.a, "breaker.force", m{"pool": "p", "name": "x", "state": "open"})
	x.ask(x.a, "permit.acquire", permit)
	x.ask(x.a, "permit.acquire", m{"pool": "p", "lease_ms": hour})
	x.ask(x.a, "permit.acquire", m{"pool": "p", "breaker": "none"})
	x.list(x.b, "pool.pools", m{}, "pools")
	x.ask(x.a, "pool.put", m{"pool": "q", "members": []any{m{"id": "y"}}})
	for range 3 {
		got := x.ask(x.b, "permit.acquire", m{"pool": "q", "breaker": "default", "scope": "host"})
		x.ask(x.b, "permit.report", m{"pool": "q", "lease": got["lease"], "outcome": "transport"})
		x.ask(x.b, "pool.unban", m{"pool": "q", "id": "y"})
	}
	x.ask(x.b, "permit.acquire", m{"pool": "q", "breaker": "default", "scope": "host"})
	x.ask(x.b, "breaker.get", m{"pool": "q", "name": "y"})
}

func streams(x *asking) {
	publish := func(body string) m { return x.ask(x.a, "stream.publish", m{"stream": "s", "body": []byte(body)}) }
	publish("one")
	x.ask(x.a, "stream.publish", m{"stream": "s", "body": []byte("two"), "fields": m{"k": "v"}, "dedupe_id": "d"})
	x.ask(x.a, "stream.publish", m{"stream": "s", "body": []byte("two"), "dedupe_id": "d"})
	x.ask(x.a, "stream.publish", m{"stream": "s", "body": []byte("later"), "delay_ms": hour})
	x.ask(x.a, "stream.publish_many", m{"stream": "s", "messages": []any{m{"body": []byte("three")}, m{"body": []byte("four")}}})
	fetch := m{"stream": "s", "group": "g", "count": 2, "max_deliveries": 2, "visibility_ms": hour}
	got := x.ask(x.a, "stream.fetch", fetch)["messages"].([]any)
	id := func(i int) any { return got[i].(m)["id"] }
	x.ask(x.a, "stream.ack", m{"stream": "s", "group": "g", "id": id(0)})
	x.ask(x.a, "stream.ack", m{"stream": "s", "group": "g", "id": id(0)})
	x.ask(x.a, "stream.extend", m{"stream": "s", "group": "g", "id": id(1)})
	x.ask(x.a, "stream.nack", m{"stream": "s", "group": "g", "id": id(1), "delay_ms": 0, "reason": "why"})
	got = x.ask(x.b, "stream.fetch", fetch)["messages"].([]any)
	x.ask(x.b, "stream.stats", m{"stream": "s"})
	x.ask(x.b, "stream.nack", m{"stream": "s", "group": "g", "id": id(0), "reason": "again"})
	x.ask(x.b, "stream.nack", m{"stream": "s", "group": "g", "id": id(1), "delay_ms": hour})
	x.ask(x.b, "stream.nack", m{"stream": "s", "group": "g", "id": "1-1"})
	dead := x.ask(x.b, "stream.dead", m{"stream": "s"})["letters"].([]any)
	x.ask(x.b, "stream.redrive", m{"stream": "s", "ids": []any{dead[0].(m)["id"]}})
	x.ask(x.b, "stream.fetch", m{"stream": "s", "group": "g", "count": 10, "max_deliveries": 2, "visibility_ms": hour})
	x.ask(x.b, "stream.fetch", m{"stream": "s", "group": "new", "start": "new"})
	x.ask(x.b, "stream.read", m{"stream": "s", "count": 2})
	x.ask(x.b, "stream.groups", m{"stream": "s"})
	x.ask(x.b, "stream.trim", m{"stream": "s", "maxlen": 1})
	x.ask(x.b, "stream.trim", m{"stream": "s", "dead": true, "maxlen": 0})
	x.ask(x.b, "stream.stats", m{"stream": "none"})
}

func streamLanes(x *asking) {
	rule := m{"name": "site", "algorithm": api.AlgorithmFixedWindow, "limits": []any{m{"limit": 1, "period_ms": 366 * day}}}
	x.ask(x.a, "ratelimit.put_rule", m{"rule": rule})
	for _, host := range []string{"a", "a", "b"} {
		x.ask(x.a, "stream.publish", m{"stream": "s", "fields": m{"host": host}})
	}
	fetch := m{"stream": "s", "group": "g", "count": 10, "visibility_ms": hour, "rule": "site", "key": "host", "wait_ms": 10_000}
	x.ask(x.a, "stream.fetch", fetch)
}

func pubsub(x *asking) {
	x.ask(x.a, "pubsub.publish", m{"channel": "c", "body": []byte("nobody")})
	sub := x.ask(x.b, "pubsub.subscribe", m{"channels": []any{"c"}, "patterns": []any{"c*"}})
	x.ask(x.a, "pubsub.publish", m{"channel": "c", "body": []byte("hello")})
	x.event(x.b)
	x.event(x.b)
	x.ask(x.a, "pubsub.publish", m{"channel": "other", "body": []byte("hello")})
	x.ask(x.b, "pubsub.unsubscribe", m{"subscription": sub["subscription"]})
	x.ask(x.b, "pubsub.unsubscribe", m{"subscription": sub["subscription"]})
}
