package rpc_test

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/coxswain-sidecar/coxswain/client/api"
	"github.com/coxswain-sidecar/coxswain/internal/coord"
	"github.com/coxswain-sidecar/coxswain/internal/coord/lease"
	"github.com/coxswain-sidecar/coxswain/internal/coord/ratelimit"
	"github.com/coxswain-sidecar/coxswain/internal/rpc"
	"github.com/coxswain-sidecar/coxswain/internal/telemetry"
)

// serveEvents starts a server, and returns it with its hub of events.
func serveEvents(t testing.TB, o rpc.Options) (*bench, *coord.Events) {
	t.Helper()
	hub := coord.NewEvents()
	return serveWith(t, o, rpc.Services{Leases: lease.NewLeases(telemetry.Nop()), Events: hub}), hub
}

// event reads the next message, which has to be an event, and returns its params.
func (p *peer) event() m {
	p.t.Helper()
	got := p.message()
	require.Len(p.t, got, 3, "%v", got)
	require.EqualValues(p.t, 2, got[0])
	require.Equal(p.t, "event", got[1])
	params, ok := got[2].([]any)
	require.True(p.t, ok && len(params) == 1, "%v", got)
	params0, ok := params[0].(map[string]any)
	require.True(p.t, ok, "%v", got)
	return params0
}

func lost(name string) coord.Event {
	return coord.Event{Kind: coord.EventLost, Noun: "lock", Name: name, Reason: "expired"}
}

func TestEventsAreSentToSubscribers(t *testing.T) {
	t.Parallel()
	b, hub := serveEvents(t, rpc.Options{})
	p, other := b.dial(t), b.dial(t)
	r := p.must("events.subscribe")
	require.Equal(t, m{"subscribed": []any{"breaker", "degraded", "draining", "forced", "lost", "paused", "refused", "reloaded", "resumed"}}, r)
	hub.Publish(coord.Event{
		Kind: coord.EventRefused, At: time.UnixMilli(1_767_225_600_000), Noun: "ratelimit", Name: "crawl", Key: "example.com",
		Reason: "limit", Detail: "for people",
	})
	e := p.event()
	require.EqualValues(t, 1_767_225_600_000, number(t, e["at_ms"]))
	require.EqualValues(t, 1, number(t, e["count"]))
	delete(e, "at_ms")
	delete(e, "count")
	require.Equal(t, m{
		"kind": "refused", "noun": "ratelimit", "name": "crawl", "key": "example.com", "reason": "limit", "detail": "for people",
	}, e, "dropped is told only when there is something to tell")
	other.alive() // it was sent no event
}

func TestASubscriptionIsOfKindsAndCanBeReplacedAndEnded(t *testing.T) {
	t.Parallel()
	b, hub := serveEvents(t, rpc.Options{})
	p := b.dial(t)
	require.Equal(t, m{"subscribed": []any{"lost", "reloaded"}}, p.must("events.subscribe", m{"kinds": []string{"reloaded", "lost", "lost"}}))
	hub.Publish(coord.Event{Kind: coord.EventDraining})
	hub.Publish(lost("a"))
	require.Equal(t, "a", p.event()["name"])
	require.Equal(t, m{"subscribed": []any{"draining"}}, p.must("events.subscribe", m{"kinds": []string{"draining"}}))
	hub.Publish(lost("b"))
	hub.Publish(coord.Event{Kind: coord.EventDraining})
	require.Equal(t, "draining", p.event()["kind"])
	require.Equal(t, m{}, p.must("events.unsubscribe"))
	require.False(t, hub.Wanted())
	hub.Publish(coord.Event{Kind: coord.EventDraining})
	p.alive()
	require.Equal(t, m{}, p.must("events.unsubscribe"), "which is no error")

	// Calls that are sent without waiting for the replies take effect in their order.
	p.send(request(t, 1, "events.subscribe"), request(t, 2, "events.unsubscribe"), request(t, 3, "events.subscribe"), request(t, 4, "events.unsubscribe"))
	for range 4 {
		p.reply()
	}
	require.False(t, hub.Wanted())
}

func TestAnUnknownKindIsRefusedWithTheNearest(t *testing.T) {
	t.Parallel()
	b, hub := serveEvents(t, rpc.Options{})
	p := b.dial(t)
	_, err := p.call("events.subscribe", m{"kinds": []string{"lost", "refusd"}})
	require.Equal(t, `INVALID_ARGUMENT: kinds[1]: "refusd" is no kind of event; did you mean refused?`, err)
	_, err = p.call("events.subscribe", m{"kinds": []string{"zebra"}})
	require.Equal(t, `INVALID_ARGUMENT: kinds[0]: "zebra" is no kind of event; known are breaker, degraded, draining, forced, lost, paused, refused, reloaded, resumed`, err)
	require.False(t, hub.Wanted(), "refused as a whole")
}

func TestEventsAreForAdmins(t *testing.T) {
	t.Parallel()
	b, _ := serveEvents(t, rpc.Options{AdminOff: true})
	for _, method := range []string{"events.subscribe", "events.unsubscribe", "inspect.snapshot"} {
		_, err := b.dial(t).call(method)
		require.Contains(t, err, "PERMISSION_DENIED: "+method+": ")
	}
}

func TestASubscriptionEndsWithItsConnection(t *testing.T) {
	t.Parallel()
	b, hub := serveEvents(t, rpc.Options{})
	p := b.dial(t)
	p.must("events.subscribe")
	require.True(t, hub.Wanted())
	require.NoError(t, p.conn.Close())
	eventually(t, "the subscription ends", func() bool { return !hub.Wanted() })
}

// A subscriber is notified that the pod ends, whether it subscribed before or after draining began.
func TestASubscriberIsToldThatThePodEnds(t *testing.T) {
	t.Parallel()
	b, _ := serveEvents(t, rpc.Options{})
	before, after := b.dial(t), b.dial(t)
	before.must("events.subscribe", m{"kinds": []string{"lost"}})
	after.alive()
	end := b.Drain(time.Now().Add(time.Hour)).UnixMilli()
	require.Equal(t, end, before.draining())
	after.alive()
	after.must("events.subscribe", m{"kinds": []string{"lost"}})
	require.Equal(t, end, after.draining(), "after the reply")
}

// A subscriber that does not read delays neither the hub nor other subscribers. It
// keeps its connection, and is sent the number of events that it missed.
func TestASlowSubscriberLosesEventsAndBlocksNobody(t *testing.T) {
	t.Parallel()
	b, hub := serveEvents(t, rpc.Options{WriteTimeout: time.Millisecond})
	slow, quick := b.dial(t), b.dial(t)
	slow.must("events.subscribe", m{"kinds": []string{"lost"}})
	quick.must("events.subscribe", m{"kinds": []string{"reloaded"}})
	detail := strings.Repeat("x", 1000)
	const published = 5000 // 5 MB: more than the socket's buffer and the server's together
	for i := range published {
		e := lost(fmt.Sprint(i))
		e.Detail = detail
		hub.Publish(e) // returns, although the client does not read
		if i%1000 == 0 {
			hub.Publish(coord.Event{Kind: coord.EventReloaded, Name: fmt.Sprint(i)})
			require.Equal(t, fmt.Sprint(i), quick.event()["name"])
		}
	}
	require.Less(t, b.Unwritten(), rpc.MaxUnwritten, "events leave room for replies")
	quick.alive()

	var wg sync.WaitGroup
	defer wg.Wait()
	wg.Go(func() {
		for b.Unwritten() > 0 { // until the client, which reads below, has made room
			time.Sleep(time.Millisecond)
		}
		hub.Publish(lost("last"))
	})
	var told, dropped int64
	for name := any(""); name != "last"; {
		e := slow.event()
		name = e["name"]
		told += number(t, e["count"])
		if d, ok := e["dropped"]; ok {
			dropped += number(t, d)
		}
	}
	require.EqualValues(t, published+1, told+dropped, "what was not told was counted")
	require.Positive(t, dropped)
	slow.must("events.unsubscribe")
	require.NotContains(t, b.log.String(), "unread")
}

func TestASnapshotShowsWhatIsHeldAndNoSecret(t *testing.T) {
	t.Parallel()
	b := serveAll(t)
	holder, admin := b.dial(t), b.dial(t)
	holder.must("session.hello", m{"client": "billing", "instance": "pod-7"})
	got := holder.must("lock.acquire", m{"name": "orders", "token": "the-owners-secret"})
	require.Equal(t, true, got["acquired"])
	holder.send(request(t, 9, "lock.acquire", m{"name": "orders", "wait_ms": 60_000}))
	admin.must("events.subscribe")
	eventually(t, "the second stands in line", func() bool {
		return number(t, sub(t, admin.must("inspect.snapshot"), "counts")["waiting"]) == 1
	})
	r := admin.must("inspect.snapshot")
	require.NotContains(t, fmt.Sprint(r), "the-owners-secret")
	require.Equal(t, "1.2.3", r["version"])
	require.Positive(t, number(t, r["pid"]))
	require.Positive(t, number(t, r["started_at_ms"]))
	require.Equal(t, false, r["draining"])
	require.Empty(t, r["errors"])
	counts := sub(t, r, "counts")
	require.Equal(t, []int64{2, 2, 1, 1}, []int64{
		number(t, counts["connections"]), number(t, counts["inflight"]), number(t, counts["waiting"]), number(t, counts["held"]),
	})
	sessions, ok := r["sessions"].([]any)
	require.True(t, ok)
	require.Len(t, sessions, 2)
	first, ok := sessions[0].(map[string]any)
	require.True(t, ok)
	require.Equal(t, "billing pod-7", fmt.Sprint(first["client"], " ", first["instance"]))
	require.EqualValues(t, 1, number(t, first["inflight"]))
	held, ok := first["held"].([]any)
	require.True(t, ok)
	require.Len(t, held, 1)
	one, ok := held[0].(map[string]any)
	require.True(t, ok)
	require.Positive(t, number(t, one["ttl_ms"]))
	delete(one, "ttl_ms")
	require.Equal(t, m{"noun": "lock", "name": "orders", "fence": got["fence"]}, one)
	second, ok := sessions[1].(map[string]any)
	require.True(t, ok)
	require.Equal(t, true, second["events"])
	require.Equal(t, []any{}, second["held"])

	admin.must("events.unsubscribe")
	end := b.Drain(time.UnixMilli(4_000_000_000_000)).UnixMilli()
	r = admin.must("inspect.snapshot")
	require.Equal(t, true, r["draining"])
	require.Equal(t, end, number(t, r["ends_at_ms"]))
}

func sub(t testing.TB, r map[string]any, key string) map[string]any {
	t.Helper()
	v, ok := r[key].(map[string]any)
	require.True(t, ok, "%s of %v", key, r)
	return v
}

func TestASnapshotListsABoundedNumberOfLeases(t *testing.T) {
	t.Parallel()
	b := serveAll(t)
	p := b.dial(t)
	const locks = 1003
	for i := range locks {
		// The TTL is so long that none is renewed or lost while the others are taken.
		p.must("lock.acquire", m{"name": fmt.Sprint(i), "ttl_ms": 86_400_000})
	}
	r := b.dial(t).must("inspect.snapshot")
	require.EqualValues(t, 3, number(t, r["truncated"]))
	require.EqualValues(t, locks, number(t, sub(t, r, "counts")["held"]))
}

func TestASnapshotListsGroupsAndChannels(t *testing.T) {
	t.Parallel()
	b := serveAll(t)
	admin, p := b.dial(t), b.dial(t)
	r := admin.must("inspect.snapshot")
	require.Empty(t, r["stream_groups"])
	require.Empty(t, r["channels"])
	p.must("pubsub.subscribe", m{"channels": []string{"news", "b"}, "patterns": []string{"n*"}})
	p.must("pubsub.subscribe", m{"channels": []string{"news"}})
	channels, ok := admin.must("inspect.snapshot")["channels"].([]any)
	require.True(t, ok)
	var shown []string
	for _, c := range channels {
		one, ok := c.(map[string]any)
		require.True(t, ok)
		shown = append(shown, fmt.Sprint(one["channel"], " ", one["pattern"], " ", number(t, one["subscriptions"]), " ", one["listening"]))
	}
	require.Equal(t, []string{"b <nil> 1 true", "news <nil> 2 true", "<nil> n* 1 true"}, shown)

	for i := range 3 {
		var many []string
		for j := range 100 {
			many = append(many, fmt.Sprint("many-", i, "-", j))
		}
		p.must("pubsub.subscribe", m{"channels": many})
	}
	r = admin.must("inspect.snapshot")
	require.Len(t, r["channels"], 256)
	require.EqualValues(t, 303-256, number(t, r["truncated_channels"]))

	p.must("stream.publish", m{"stream": "orders", "body": "1"})
	p.must("stream.subscribe", m{"stream": "orders", "group": "audit", "start": "new"})
	p.must("stream.subscribe", m{"stream": "orders", "group": "billing", "prefetch": 1})
	var groups []any
	eventually(t, "the message is in flight", func() bool {
		groups, _ = admin.must("inspect.snapshot")["stream_groups"].([]any)
		return len(groups) == 2 && number(t, groups[1].(map[string]any)["in_flight"]) == 1
	})
	for i, group := range []string{"audit", "billing"} {
		one, ok := groups[i].(map[string]any)
		require.True(t, ok)
		require.Equal(t, "orders", one["stream"])
		require.Equal(t, group, one["group"])
		require.EqualValues(t, 1, number(t, one["subscriptions"]))
		require.Zero(t, number(t, one["unsent"]))
	}
}

// A snapshot has a bounded number of slow calls and errors, the latest first. It has
// neither other calls nor mistakes of callers.
func TestASnapshotShowsSlowCallsAndErrors(t *testing.T) {
	t.Parallel()
	type params struct {
		Code   string `codec:"code,omitempty"`
		Slow   bool   `codec:"slow,omitempty"`
		WaitMS int64  `codec:"wait_ms,omitempty" default:"0"`
	}
	method := rpc.NewMethod[params, api.Nothing](api.Spec{Name: "test.odd"})
	odd := rpc.On(method, func(_ context.Context, p *params) (api.Nothing, error) {
		if p.Slow {
			time.Sleep(rpc.SlowCall) // a call's duration without its wait is compared with SlowCall
		}
		switch p.Code {
		case "":
			return api.Nothing{}, nil
		case "INTERNAL":
			return api.Nothing{}, errors.New("dial tcp 10.1.2.3: the cause")
		default:
			return api.Nothing{}, &api.Error{Code: api.Code(p.Code), Message: "said " + p.Code}
		}
	})
	b := serve(t, rpc.Options{}, odd)
	p := b.dial(t)
	began := time.Now()
	p.must("test.odd")
	most := 1
	if time.Since(began) >= rpc.SlowCall { // on a busy machine it may have been slow as well
		most = 2
	}
	p.must("test.odd", m{"slow": true, "wait_ms": 1})
	p.must("test.odd", m{"slow": true})
	for _, code := range []string{"NOT_FOUND", "CANCELLED", "CONFLICT", "INTERNAL"} {
		p.call("test.odd", m{"code": code})
	}
	_, _ = p.call("test.none")
	r := p.must("inspect.snapshot")
	slow, ok := r["slow_calls"].([]any)
	require.True(t, ok)
	shown := 0
	for _, one := range slow {
		one, ok := one.(map[string]any)
		require.True(t, ok)
		require.GreaterOrEqual(t, number(t, one["duration_ms"]), rpc.SlowCall.Milliseconds())
		if fmt.Sprint(one["method"], " ", one["code"]) == "test.odd OK" {
			shown++
		}
	}
	require.Positive(t, shown)
	require.LessOrEqual(t, shown, most, "%v", slow)
	errs, ok := r["errors"].([]any)
	require.True(t, ok)
	var texts []string
	for _, e := range errs {
		e, ok := e.(map[string]any)
		require.True(t, ok)
		require.Positive(t, number(t, e["at_ms"]))
		texts = append(texts, fmt.Sprint(e["method"], " ", e["code"], ": ", e["text"]))
	}
	require.Equal(t, []string{
		"test.odd INTERNAL: a fault of the sidecar; its log has the cause", "test.odd CONFLICT: said CONFLICT",
	}, texts)

	for range 40 {
		p.call("test.odd", m{"code": "UNAVAILABLE"})
	}
	errs, ok = p.must("inspect.snapshot")["errors"].([]any)
	require.True(t, ok)
	require.Len(t, errs, 32)
	require.NotContains(t, fmt.Sprint(errs), "CONFLICT")
}

func TestALongConfigurationIsCutBetweenLines(t *testing.T) {
	t.Parallel()
	text := strings.Repeat("rule: x\n", 100_000)
	b := serveWith(t, rpc.Options{}, rpc.Services{
		Leases: lease.NewLeases(telemetry.Nop()), Config: func() (string, error) { return text, nil },
		Redis: func() api.InspectRedis {
			return api.InspectRedis{Topology: "standalone", Address: "r:1", Pool: api.InspectPool{Max: 5}}
		},
		Rules: ratelimit.NewRules().InForce,
	})
	p := b.dial(t)
	r := p.must("inspect.snapshot")
	config, ok := r["config"].(string)
	require.True(t, ok)
	require.LessOrEqual(t, len(config), 256<<10)
	require.True(t, strings.HasSuffix(config, "\nrule: x\n# ... the rest is left out\n"))
	require.EqualValues(t, 5, number(t, sub(t, sub(t, r, "redis"), "pool")["max"]))
	text = "short: 1\n"
	require.Equal(t, text, p.must("inspect.snapshot")["config"])
}
