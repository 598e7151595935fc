package lua_test

import (
	"context"
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/coxswain-sidecar/coxswain/internal/lua"
	"github.com/coxswain-sidecar/coxswain/internal/luatest"
	"github.com/coxswain-sidecar/coxswain/internal/redis"
	"github.com/coxswain-sidecar/coxswain/internal/redistest"
)

// listener starts a listener, and returns it with a channel that gets, in order, a text for each call of its hearer.
func listener(t *testing.T, r *lua.Runner) (*redis.Listener, <-chan string) {
	t.Helper()
	heard := make(chan string, 1000)
	l := r.Listen(redis.Hearer{
		Message: func(pattern, channel, payload string) {
			heard <- strings.Join([]string{pattern, channel, payload}, "|")
		},
		Listening: func(t redis.Topic) { heard <- "on " + t.Name },
		Refused:   func(t redis.Topic, _ error) { heard <- "refused " + t.Name },
		Lost:      func() { heard <- "lost" },
	})
	t.Cleanup(l.Stop)
	return l, heard
}

func channel(name string) redis.Topic { return redis.Topic{Name: name} }
func pattern(name string) redis.Topic { return redis.Topic{Name: name, Pattern: true} }

// until returns the next text that is not a refusal. Refusals are reported again and again.
func until(t *testing.T, heard <-chan string) string {
	for {
		if next := luatest.Next(t, heard); !strings.HasPrefix(next, "refused") {
			return next
		}
	}
}

func TestAListenerReceivesOnlyItsPresentTopics(t *testing.T) {
	t.Parallel()
	redistest.Stores(t, func(t *testing.T, url string) {
		t.Parallel()
		r := luatest.Open(t, lua.Options{URL: url})
		p := redistest.Prefix(t)
		l, heard := listener(t, r)
		tell := func(channel, payload string) { command(t, r, "publish", p+channel, payload) }
		for range 2 { // also again
			l.Add(channel(p+"a"), pattern(p+"[ab]"))
			require.ElementsMatch(t, []string{"on " + p + "a", "on " + p + "[ab]"}, []string{luatest.Next(t, heard), luatest.Next(t, heard)})
			tell("b", "1")
			require.Equal(t, p+"[ab]|"+p+"b|1", luatest.Next(t, heard))
			tell("a", "2")
			require.ElementsMatch(t, []string{p + "[ab]|" + p + "a|2", "|" + p + "a|2"}, []string{luatest.Next(t, heard), luatest.Next(t, heard)})

			l.Remove(channel(p+"a"), channel(p+"never"))
			l.Add(channel(p + "c"))
			require.Equal(t, "on "+p+"c", luatest.Next(t, heard), "and what was removed is by then")
			tell("a", "3")
			tell("c", "4")
			require.Equal(t, p+"[ab]|"+p+"a|3", luatest.Next(t, heard))
			require.Equal(t, "|"+p+"c|4", luatest.Next(t, heard))
			l.Remove(pattern(p+"[ab]"), channel(p+"c"))
		}
		l.Add(channel(p + "a"))
		require.Equal(t, "on "+p+"a", luatest.Next(t, heard))
		l.Stop()
		tell("a", "late")
		require.Empty(t, heard)
	})
}

// A topic that is quickly added and removed many times is listened to in the end, and the hearer is called for it.
func TestATopicThatIsRemovedAndAddedIsSubscribedInTheEnd(t *testing.T) {
	t.Parallel()
	redistest.Stores(t, func(t *testing.T, url string) {
		t.Parallel()
		r := luatest.Open(t, lua.Options{URL: url})
		p := redistest.Prefix(t)
		l, heard := listener(t, r)
		for round := range 200 {
			l.Add(channel(p+"a"), pattern(p+"*"))
			if round%3 == 0 {
				luatest.Next(t, heard)
			}
			l.Remove(channel(p+"a"), pattern(p+"*"))
		}
		l.Add(channel(p+"a"), channel(p+"last"))
		told := map[string]bool{}
		for !told["on "+p+"last"] {
			told[luatest.Next(t, heard)] = true
		}
		for command(t, r, "publish", p+"a", "x"); ; {
			if luatest.Next(t, heard) == "|"+p+"a|x" {
				return
			}
		}
	})
}

func TestAListenerReportsALostConnection(t *testing.T) {
	t.Parallel()
	s := redistest.Start(t)
	r := luatest.Open(t, lua.Options{URL: s.URL()})
	l, heard := listener(t, r)
	l.Add(channel("a"))
	require.Equal(t, "on a", luatest.Next(t, heard))
	l.Add(pattern("b*"))
	require.Equal(t, "on b*", luatest.Next(t, heard))
	for range 3 {
		require.NoError(t, s.Client(t).ClientKillByFilter(context.Background(), "TYPE", "pubsub").Err())
		require.Equal(t, "lost", luatest.Next(t, heard))
		require.ElementsMatch(t, []string{"on a", "on b*"}, []string{luatest.Next(t, heard), luatest.Next(t, heard)})
		require.NoError(t, s.Client(t).Publish(context.Background(), "bc", "again").Err())
		require.Equal(t, "b*|bc|again", luatest.Next(t, heard))
	}
	require.NoError(t, l.Trouble())
	s.Stop()
	require.Equal(t, "lost", luatest.Next(t, heard))
	require.Eventually(t, func() bool { return l.Trouble() != nil }, time.Minute, time.Millisecond)
	require.ErrorIs(t, l.Trouble(), redis.ErrUnavailable)
	l.Remove(pattern("b*"))
	s.Restart()
	require.Equal(t, "on a", luatest.Next(t, heard))
	require.Empty(t, heard)
}

// The listener notices a server that no longer replies, although it writes nothing but pings.
func TestAListenerNoticesAServerThatHangs(t *testing.T) {
	t.Parallel()
	s := redistest.Start(t)
	r := luatest.Open(t, lua.Options{URL: s.URL(), CommandTimeout: 3 * time.Second})
	l, heard := listener(t, r)
	l.Add(channel("a"))
	require.Equal(t, "on a", luatest.Next(t, heard))
	s.Pause()
	defer s.Resume()
	require.Equal(t, "lost", luatest.Next(t, heard))
	s.Resume()
	require.Equal(t, "on a", luatest.Next(t, heard))
}

// A pattern to which the user may not listen does not affect other topics.
func TestATopicThatRedisRefusesIsReported(t *testing.T) {
	t.Parallel()
	s := redistest.StartUser(t, "u", "pw", "+@all", "~*", "resetchannels", "&mine:*")
	r := luatest.Open(t, lua.Options{URL: "redis://u:pw@" + strings.TrimPrefix(s.URL(), "redis://")})
	l, heard := listener(t, r)
	l.Add(channel("mine:a"), pattern("mine:*"))
	require.ElementsMatch(t, []string{"on mine:a", "on mine:*"}, []string{luatest.Next(t, heard), luatest.Next(t, heard)})
	l.Add(pattern("mine:b*"))
	require.Equal(t, "refused mine:b*", luatest.Next(t, heard))
	l.Add(channel("mine:c"))
	require.Equal(t, "on mine:c", until(t, heard))
	command(t, r, "publish", "mine:a", "x")
	require.ElementsMatch(t, []string{"|mine:a|x", "mine:*|mine:a|x"}, []string{until(t, heard), until(t, heard)})

	_, err := s.Client(t).Do(context.Background(), "acl", "setuser", "u", "&mine:b*").Result()
	require.NoError(t, err)
	require.Equal(t, "on mine:b*", until(t, heard), "it is tried again")
}

// Many topics are subscribed by few commands, and again after a lost connection.
func TestAListenerListensToThousandsOfTopics(t *testing.T) {
	t.Parallel()
	s := redistest.Start(t)
	r := luatest.Open(t, lua.Options{URL: s.URL()})
	on := make(chan string, 20_000)
	l := r.Listen(redis.Hearer{
		Message: func(string, string, string) {}, Listening: func(t redis.Topic) { on <- t.Name },
	})
	t.Cleanup(l.Stop)
	const most = 3500
	for i := range most {
		l.Add(channel(fmt.Sprint("c", i)))
	}
	for range 2 {
		names := map[string]bool{}
		for len(names) < most {
			names[luatest.Next(t, on)] = true
		}
		require.Empty(t, on)
		require.NoError(t, s.Client(t).ClientKillByFilter(context.Background(), "TYPE", "pubsub").Err())
	}
}
