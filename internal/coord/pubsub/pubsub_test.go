package pubsub_test

import (
	"context"
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/coxswain-sidecar/coxswain/client/api"
	"github.com/coxswain-sidecar/coxswain/internal/coord"
	"github.com/coxswain-sidecar/coxswain/internal/coordtest"
	"github.com/coxswain-sidecar/coxswain/internal/lua"
	"github.com/coxswain-sidecar/coxswain/internal/luatest"
	"github.com/coxswain-sidecar/coxswain/internal/redis"
	"github.com/coxswain-sidecar/coxswain/internal/redistest"
)

func TestSubscribersAreSentWhatIsPublished(t *testing.T) {
	t.Parallel()
	redistest.Stores(t, func(t *testing.T, url string) {
		t.Parallel()
		s := sidecar(t, url)
		require.Zero(t, publish(t, s, "news", "nobody hears"))
		c, other := connect(t, s, -1), connect(t, s, -1)
		id := c.subscribe(channels("news", "a:{b}*\x00", "news"))
		second := other.subscribe(channels("news"))
		require.EqualValues(t, 1, publish(t, s, "news", "any\x00bytes\xff"), "one sidecar, however many subscribe")
		publish(t, s, "elsewhere", "x")
		publish(t, s, "a:{b}*\x00", "")
		require.Equal(t, []any{
			api.PubsubMessage{Subscription: id, Channel: "news", Body: []byte("any\x00bytes\xff")},
			api.PubsubMessage{Subscription: id, Channel: "a:{b}*\x00", Body: []byte{}},
		}, c.wants(2))
		require.Equal(t, []any{api.PubsubMessage{Subscription: second, Channel: "news", Body: []byte("any\x00bytes\xff")}}, other.wants(1))

		end := func(c *client, id string) bool {
			r, err := s.Pubsub.Unsubscribe(t.Context(), c.caller(), &api.PubsubUnsubscribeParams{Subscription: id})
			require.NoError(t, err)
			return r.Unsubscribed
		}
		require.False(t, end(other, id), "it is another's")
		require.True(t, end(c, id))
		require.False(t, end(c, id))
		publish(t, s, "news", "for one")
		other.wants(2)
		require.Len(t, c.heard(), 2)
		other.close()
		coordtest.Until(t, func() bool { return publish(t, s, "news", "for nobody") == 0 })
		require.Len(t, other.heard(), 2)
	})
}

// Only one pattern is used: if several match, the embedded store reports one of them.
func TestAPatternMatchesOnEveryStore(t *testing.T) {
	t.Parallel()
	redistest.Stores(t, func(t *testing.T, url string) {
		t.Parallel()
		s := sidecar(t, url)
		c := connect(t, s, -1)
		id := c.subscribe(api.PubsubSubscribeParams{Patterns: []string{"o?der.[12]*"}})
		publish(t, s, "order.3", "0")
		publish(t, s, "order.1x", "1")
		require.Equal(t, []any{api.PubsubMessage{Subscription: id, Channel: "order.1x", Pattern: "o?der.[12]*", Body: []byte("1")}}, c.wants(1))
	})
	s := sidecar(t, redis.Embedded)
	_, err := connect(t, s, -1).try(api.PubsubSubscribeParams{Patterns: []string{"[b-a]"}})
	coordtest.RequireCode(t, err, api.InvalidArgument, "embedded")
}

// A subscriber gets one message for each pattern that matches, with the pattern as the user gave it.
func TestPatternsMatchAsThoseOfRedis(t *testing.T) {
	t.Parallel()
	t.Run("redis", func(t *testing.T) {
		t.Parallel()
		s := sidecar(t, redistest.URL(t))
		c := connect(t, s, -1)
		id := c.subscribe(api.PubsubSubscribeParams{Channels: []string{"order.1"}, Patterns: []string{"order.*", "*.[12]", `q\?`, "*"}})
		publish(t, s, "order.1", "1")
		var patterns []string
		for _, m := range c.wants(4) {
			m, ok := m.(api.PubsubMessage)
			require.True(t, ok)
			require.Equal(t, api.PubsubMessage{Subscription: id, Channel: "order.1", Pattern: m.Pattern, Body: []byte("1")}, m)
			patterns = append(patterns, m.Pattern)
		}
		require.ElementsMatch(t, []string{"", "order.*", "*.[12]", "*"}, patterns)
		publish(t, s, "qx", "2")
		publish(t, s, "q?", "3")
		require.ElementsMatch(t, []any{
			api.PubsubMessage{Subscription: id, Channel: "qx", Pattern: "*", Body: []byte("2")},
			api.PubsubMessage{Subscription: id, Channel: "q?", Pattern: "*", Body: []byte("3")},
			api.PubsubMessage{Subscription: id, Channel: "q?", Pattern: `q\?`, Body: []byte("3")},
		}, c.wants(7)[4:])
	})
}

// No pattern of a user matches channels of another prefix, even if the prefix looks like a glob, or the sidecars' own
// channels.
func TestPatternsStayWithinTheirPrefix(t *testing.T) {
	t.Parallel()
	r := luatest.Open(t, lua.Options{URL: redistest.URL(t)})
	prefix := redistest.Prefix(t)
	s, near := coordtest.New(t, r, prefix+"[ab]*?"), coordtest.New(t, r, prefix+"axx")
	c := connect(t, s, -1)
	id := c.subscribe(api.PubsubSubscribeParams{Patterns: []string{"*", "broadcast", "../*"}})
	publish(t, near, "x", "of another prefix")
	require.NoError(t, redistest.Client(t).Publish(t.Context(), s.Keys.Broadcast(), "reset k").Err())
	publish(t, s, "x", "ours")
	require.Equal(t, []any{api.PubsubMessage{Subscription: id, Channel: "x", Pattern: "*", Body: []byte("ours")}}, c.wants(1))
}

// A gap is sent in place of messages that did not fit, and no other subscriber waits for a slow one.
func TestASlowSubscriberGetsAGapWithTheCountItMissed(t *testing.T) {
	t.Parallel()
	redistest.Stores(t, func(t *testing.T, url string) {
		t.Parallel()
		s := sidecar(t, url)
		slow, fast := connect(t, s, 2), connect(t, s, -1)
		id := slow.subscribe(api.PubsubSubscribeParams{Channels: []string{"c"}, Buffer: 3})
		fast.subscribe(channels("c"))
		for i := range 10 {
			publish(t, s, "c", fmt.Sprint(i))
		}
		fast.wants(10)
		message := func(body string) any {
			return api.PubsubMessage{Subscription: id, Channel: "c", Body: []byte(body)}
		}
		require.Equal(t, []any{message("0"), message("1")}, slow.heard())
		slow.read(1)
		publish(t, s, "c", "10")
		fast.wants(11)
		slow.read(-1)
		require.Equal(t, []any{
			message("0"), message("1"), message("2"), message("3"), message("4"), api.PubsubGap{Subscription: id, Dropped: 5}, message("10"),
		}, slow.wants(7))
		publish(t, s, "c", "11")
		require.Equal(t, message("11"), slow.wants(8)[7])
	})
}

// The bytes of queued messages are bounded too, across the subscriptions of a session.
func TestWhatIsKeptForASessionIsBounded(t *testing.T) {
	t.Parallel()
	s := sidecar(t, redistest.URL(t))
	slow, fast := connect(t, s, 0), connect(t, s, -1)
	slow.subscribe(channels("c"))
	slow.subscribe(channels("c"))
	fast.subscribe(channels("c"))
	body := strings.Repeat("x", 256<<10)
	const sent = 40
	for range sent {
		publish(t, s, "c", body)
	}
	fast.wants(sent)
	slow.read(-1)
	counts := func() (messages, dropped int64) {
		for _, n := range slow.heard() {
			switch n := n.(type) {
			case api.PubsubMessage:
				messages++
			case api.PubsubGap:
				dropped += n.Dropped
			}
		}
		return messages, dropped
	}
	require.Eventually(t, func() bool { m, d := counts(); return m+d == 2*sent }, time.Minute, time.Millisecond)
	messages, _ := counts()
	require.Equal(t, int64(31), messages, "8 MiB, with what each takes beside its body")
}

func TestASubscriptionEndsWithItsSession(t *testing.T) {
	t.Parallel()
	s := sidecar(t, redistest.URL(t))
	c, stuck := connect(t, s, -1), connect(t, s, 0)
	c.subscribe(channels("c"))
	stuck.subscribe(channels("c"))
	publish(t, s, "c", "1")
	c.wants(1)
	c.close()
	stuck.end()
	publish(t, s, "c", "2")
	_, err := c.try(channels("c"))
	coordtest.RequireCode(t, err, api.FailedPrecondition, "has ended")
	stuck.close()
	coordtest.Until(t, func() bool { return publish(t, s, "c", "3") == 0 })
	require.Len(t, c.heard(), 1)
	require.Empty(t, stuck.heard())
	_, err = s.Pubsub.Subscribe(t.Context(), coord.Caller{}, &api.PubsubSubscribeParams{Channels: []string{"c"}, Buffer: 1})
	coordtest.RequireCode(t, err, api.FailedPrecondition, "takes no messages")
}

func TestSubscriptionsAreBounded(t *testing.T) {
	t.Parallel()
	s := sidecar(t, redistest.URL(t))
	c := connect(t, s, -1)
	names := func(from, n int) (list []string) {
		for i := range n {
			list = append(list, fmt.Sprint(from+i))
		}
		return list
	}
	for _, wrong := range []api.PubsubSubscribeParams{
		{}, channels(names(0, 257)...), {Channels: names(0, 128), Patterns: names(0, 129)}, channels(""), {Patterns: []string{strings.Repeat("x", api.MaxNameBytes+1)}},
	} {
		_, err := c.try(wrong)
		coordtest.RequireCode(t, err, api.InvalidArgument, "")
	}
	for i := range 4 {
		c.subscribe(channels(names(256*i, 256)...))
	}
	_, err := c.try(channels("more"))
	coordtest.RequireCode(t, err, api.FailedPrecondition, "1024")
	connect(t, s, -1).subscribe(channels("more"))
}

// A call that fails leaves nothing behind, and one that waits is confirmed when Redis is back.
func TestASubscribeWithoutRedisIsUndone(t *testing.T) {
	t.Parallel()
	server := redistest.Start(t)
	s := sidecar(t, server.URL())
	c := connect(t, s, -1)
	server.Stop()
	ctx, cancel := context.WithTimeout(t.Context(), 300*time.Millisecond)
	defer cancel()
	_, err := s.Pubsub.Subscribe(ctx, c.caller(), &api.PubsubSubscribeParams{Channels: []string{"c"}, Buffer: 1})
	var e *coord.Error
	require.ErrorAs(t, err, &e)
	require.Contains(t, []api.Code{api.Unavailable, api.DeadlineExceeded}, e.Code)
	require.False(t, c.session.Follows())
	answered := make(chan string, 1)
	go func() { answered <- c.subscribe(channels("d")) }()
	server.Restart()
	id := <-answered
	require.NoError(t, luatest.UntilUp(t, s.Runner))
	require.Zero(t, publish(t, s, "c", "nobody"))
	require.EqualValues(t, 1, publish(t, s, "d", "heard"))
	require.Equal(t, []any{api.PubsubMessage{Subscription: id, Channel: "d", Body: []byte("heard")}}, c.wants(1))
}

func TestAConnectionThatWasLostIsAGap(t *testing.T) {
	t.Parallel()
	server := redistest.Start(t)
	s := sidecar(t, server.URL())
	fast, slow := connect(t, s, -1), connect(t, s, 0)
	id := fast.subscribe(api.PubsubSubscribeParams{Channels: []string{"c"}, Patterns: []string{"d*"}})
	late := slow.subscribe(channels("c"))
	publish(t, s, "c", "before")
	fast.wants(1)
	require.NoError(t, server.Client(t).ClientKillByFilter(t.Context(), "TYPE", "pubsub").Err())
	require.Equal(t, api.PubsubGap{Subscription: id, Dropped: -1}, fast.wants(2)[1])
	// The gap is sent once no more messages are missed.
	require.EqualValues(t, 2, publish(t, s, "dx", "after")+publish(t, s, "c", "after"))
	require.Len(t, fast.wants(4), 4)
	slow.read(-1)
	require.Equal(t, []any{
		api.PubsubMessage{Subscription: late, Channel: "c", Body: []byte("before")},
		api.PubsubGap{Subscription: late, Dropped: -1},
		api.PubsubMessage{Subscription: late, Channel: "c", Body: []byte("after")},
	}, slow.wants(3))
}

// Redis lets a restricted user listen only to the patterns in its list.
func TestAPatternThatRedisRefusesFailsTheCall(t *testing.T) {
	t.Parallel()
	server := redistest.StartUser(t, "u", "pw", "+@all", "~*", "resetchannels", "&p:*")
	s := coordtest.New(t, luatest.Open(t, lua.Options{URL: "redis://u:pw@" + strings.TrimPrefix(server.URL(), "redis://")}), "p")
	c := connect(t, s, -1)
	id := c.subscribe(channels("c"))
	_, err := c.try(api.PubsubSubscribeParams{Channels: []string{"d"}, Patterns: []string{"x*"}})
	coordtest.RequireCode(t, err, api.Unavailable, "NOPERM")
	_, err = coordtest.New(t, s.Runner, "q").Pubsub.Publish(t.Context(), coord.Caller{}, &api.PubsubPublishParams{Channel: "c"})
	coordtest.RequireCode(t, err, api.FailedPrecondition, "NOPERM")
	require.EqualValues(t, 1, publish(t, s, "c", "1"))
	require.Equal(t, []any{api.PubsubMessage{Subscription: id, Channel: "c", Body: []byte("1")}}, c.wants(1))
}

// Messages that come before the answer of subscribe is sent wait for it.
func TestMessagesComeAfterTheAnswer(t *testing.T) {
	t.Parallel()
	s := sidecar(t, redistest.URL(t))
	c, other := connect(t, s, -1), connect(t, s, -1)
	var answer func()
	caller := c.caller()
	caller.Answered = func(f func()) { answer = f }
	r, err := s.Pubsub.Subscribe(luatest.Deadline(t), caller, &api.PubsubSubscribeParams{Channels: []string{"c"}, Buffer: 10})
	require.NoError(t, err)
	other.subscribe(channels("c"))
	publish(t, s, "c", "1")
	other.wants(1)
	require.Empty(t, c.heard())
	answer()
	require.Equal(t, []any{api.PubsubMessage{Subscription: r.Subscription, Channel: "c", Body: []byte("1")}}, c.heard())
}

// With a request id a message is sent once, however often the call is repeated.
func TestAPublishIsRunOnceByItsRequestID(t *testing.T) {
	t.Parallel()
	s := sidecar(t, redistest.URL(t))
	c := connect(t, s, -1)
	c.subscribe(channels("c"))
	for range 3 {
		r, err := s.Pubsub.Publish(t.Context(), coord.Caller{RequestID: "same", Fingerprint: "f"}, &api.PubsubPublishParams{Channel: "c", Body: []byte("1")})
		require.NoError(t, err)
		require.EqualValues(t, 1, r.Receivers)
	}
	publish(t, s, "c", "2")
	require.Len(t, c.wants(2), 2)
}

func TestNothingIsSentAfterStop(t *testing.T) {
	t.Parallel()
	r := luatest.Open(t, lua.Options{URL: redistest.URL(t)})
	prefix := redistest.Prefix(t)
	s, other := coordtest.New(t, r, prefix), coordtest.New(t, r, prefix)
	c, still := connect(t, s, -1), connect(t, other, -1)
	c.subscribe(channels("c"))
	still.subscribe(channels("c"))
	require.EqualValues(t, 2, publish(t, other, "c", "1"), "two sidecars")
	c.wants(1)
	s.Pubsub.Stop()
	publish(t, other, "c", "2")
	still.wants(2)
	require.Len(t, c.heard(), 1)
}
