package rpc_test

import (
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/coxswain-sidecar/coxswain/internal/coord"
	"github.com/coxswain-sidecar/coxswain/internal/lua"
	"github.com/coxswain-sidecar/coxswain/internal/luatest"
	"github.com/coxswain-sidecar/coxswain/internal/redis"
	"github.com/coxswain-sidecar/coxswain/internal/redistest"
	"github.com/coxswain-sidecar/coxswain/internal/rpc"
)

// Bytes that are not UTF-8 are returned unchanged, so that the client can use them in its next call.
func TestBytesThatAreNotUTF8AreReturnedUnchanged(t *testing.T) {
	eachStore(t, func(t *testing.T, url string) {
		p := serveOn(t, rpc.Options{}, luatest.Open(t, lua.Options{URL: url})).dial(t)
		e9, ea, pool := []byte("\xe9"), []byte("\xea"), []byte("p\xff")
		p.must("pool.put", m{"pool": pool, "members": []m{{"id": e9, "meta": e9}, {"id": ea}, {"id": "plain"}}})
		var ids []any
		for _, x := range p.must("pool.list", m{"pool": pool})["members"].([]any) {
			ids = append(ids, x.(map[string]any)["id"])
		}
		require.ElementsMatch(t, []any{e9, ea, "plain"}, ids)
		got := p.must("pool.acquire", m{"pool": pool})
		require.Equal(t, e9, got["id"])
		require.Equal(t, e9, got["meta"])
		require.Equal(t, true, p.must("pool.renew", m{"pool": pool, "lease": got["lease"]})["renewed"])
		require.Equal(t, true, p.must("pool.release", m{"pool": pool, "lease": got["lease"]})["released"])
		got = p.must("permit.acquire", m{"pool": pool})
		require.Equal(t, true, p.must("permit.report", m{"pool": pool, "lease": got["lease"]})["released"])

		held := p.must("lock.acquire", m{"name": e9, "token": ea, "meta": e9})
		require.Equal(t, ea, held["token"])
		require.Equal(t, e9, p.must("lock.get", m{"name": e9})["held_by"].(map[string]any)["meta"])
		require.Contains(t, names(p.must("lock.list")), any(e9))
		require.Equal(t, true, p.must("lock.release", m{"name": e9, "token": held["token"]})["released"])

		limit := m{"keys": []any{e9}, "algorithm": "fixed_window", "limits": []m{{"limit": 1, "period_ms": 86_400_000}}}
		require.Equal(t, e9, p.must("ratelimit.acquire_any", limit)["key"])
		p.must("queue.enqueue", m{"queue": e9, "id": ea})
		require.Equal(t, ea, p.must("queue.dequeue", m{"queue": e9})["id"])

		_, text := p.call("ratelimit.acquire", m{"rule": e9, "key": "k"})
		require.Contains(t, text, `xe9`, "people are shown which byte it is")
		require.NotContains(t, text, "\ufffd")
	})
}

// A text for people is UTF-8, even if the texts of clients in it are not.
func TestTextsForPeopleShowBytesThatAreNotUTF8(t *testing.T) {
	t.Parallel()
	b, hub := serveEvents(t, rpc.Options{})
	p := b.dial(t)
	p.must("events.subscribe")
	hub.Publish(coord.Event{Kind: coord.EventForced, Noun: "lock", Name: "a\xe9", Detail: "b\xe9\u00e9"})
	e := p.event()
	require.Equal(t, []any{[]byte("a\xe9"), `b\xe9é`}, []any{e["name"], e["detail"]})
}

func names(page map[string]any) (all []any) {
	for _, x := range page["locks"].([]any) {
		all = append(all, x.(map[string]any)["name"])
	}
	return all
}

// No reply exceeds max_frame_bytes: pages of lists are cut, and a result that cannot be cut is an error.
func TestAnswersKeepTheLimitOfFrames(t *testing.T) {
	t.Parallel()
	o := rpc.Options{}
	o.Limits.MaxFrameBytes = 16 << 10
	p := serveOn(t, o, luatest.Open(t, lua.Options{URL: redis.Embedded})).dial(t)
	want := map[any]bool{}
	for i := range 60 {
		id := itoa(i)
		want[id] = true
		p.must("pool.put", m{"pool": "p", "members": []m{{"id": id, "meta": strings.Repeat("x", 1000)}}})
	}
	pages := 0
	for cursor := any(nil); pages == 0 || cursor != nil; pages++ {
		page := p.must("pool.list", m{"pool": "p", "count": 1000, "cursor": cursor})
		require.Less(t, len(encode(t, page)), 16<<10)
		for _, x := range page["members"].([]any) {
			delete(want, x.(map[string]any)["id"])
		}
		cursor = page["cursor"]
	}
	require.Empty(t, want, "all are in some page")
	require.Greater(t, pages, 3)

	_, text := p.call("rpc.methods")
	require.Contains(t, text, "FAILED_PRECONDITION: ")
	require.Contains(t, text, "max_frame_bytes")
	p.alive()
}

// A request id identifies one call.
func TestARequestIDOfAnotherCallIsAConflict(t *testing.T) {
	t.Parallel()
	b := serveOn(t, rpc.Options{}, luatest.Open(t, lua.Options{URL: redistest.URL(t)}))
	p, other := b.dial(t), b.dial(t)
	first := p.must("lock.acquire", m{"name": "a", "_request_id": "id"})
	again := other.must("lock.acquire", m{"name": "a", "_request_id": "id"})
	require.Equal(t, []any{true, true, first["fence"]}, []any{again["acquired"], again["replayed"], again["fence"]})
	for _, c := range []struct {
		method string
		params m
	}{
		{"lock.acquire", m{"name": "b"}},
		{"semaphore.acquire", m{"name": "a", "limit": 1}},
	} {
		c.params["_request_id"] = "id"
		_, text := other.call(c.method, c.params)
		require.Contains(t, text, "CONFLICT: _request_id")
	}
	require.NotContains(t, p.must("lock.get", m{"name": "b"}), "fence", "it was not carried out")
	p.must("lock.get", m{"name": "a", "_request_id": "id"}) // an idempotent method, which ignores the id
}

// The languages of some clients have no booleans other than 0 and 1.
func TestZeroAndOneAreBooleans(t *testing.T) {
	t.Parallel()
	p := serveAll(t).dial(t)
	item := m{"key": "k", "algorithm": "fixed_window", "limits": []m{{"limit": 9, "period_ms": 1000}}}
	for _, v := range []any{0, 1, 1.0} {
		p.must("ratelimit.acquire_many", m{"items": []m{item}, "atomic": v})
	}
	for _, v := range []any{2, -1, "true"} {
		_, text := p.call("ratelimit.acquire_many", m{"items": []m{item}, "atomic": v})
		require.Contains(t, text, "atomic: true or false, or 1 or 0, is expected")
	}
}
