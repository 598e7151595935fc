package rpc_test

import (
	"fmt"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/coxswain-sidecar/coxswain/internal/coord/stream"
	"github.com/coxswain-sidecar/coxswain/internal/lua"
	"github.com/coxswain-sidecar/coxswain/internal/luatest"
	"github.com/coxswain-sidecar/coxswain/internal/redis"
	"github.com/coxswain-sidecar/coxswain/internal/rpc"
)

// streaming is a server with a stream jobs, to which the test publishes directly in its store.
type streaming struct {
	*bench
	t      *testing.T
	runner *lua.Runner
}

func serveStreams(t *testing.T) *streaming {
	t.Helper()
	r := luatest.Open(t, lua.Options{URL: redis.Embedded})
	return &streaming{serveOn(t, rpc.Options{}, r), t, r}
}

// publish adds messages with these bodies and returns their ids.
func (s *streaming) publish(bodies ...string) (ids []string) {
	s.t.Helper()
	key := func(part string) string { return s.streams.Options.Keys.Key("jobs", "stream:", part) }
	for _, body := range bodies {
		out, err := lua.Run(s.t.Context(), s.runner, stream.PublishScript, stream.PublishIn{
			Keys:        stream.Keys{Log: key("log"), Dead: key("dead"), Groups: key("groups")},
			DelayedKeys: stream.DelayedKeys{Due: key("due"), Delayed: key("delayed")},
			Message:     "\x81\xa1b\xc6" + string([]byte{byte(len(body) >> 24), byte(len(body) >> 16), byte(len(body) >> 8), byte(len(body))}) + body,
			Broadcast:   s.streams.Options.Keys.Broadcast(),
		}, lua.StoredReply{})
		require.NoError(s.t, err)
		ids = append(ids, out.Value.ID)
	}
	return ids
}

// consumer is a client that is sent notifications between its replies.
type consumer struct {
	*peer
	told []m
	kept []string // the methods of the notifications in told
}

func (s *streaming) connect() *consumer { return &consumer{peer: s.dial(s.t)} }

// ask makes a call, and keeps the notifications that arrive before its reply.
func (c *consumer) ask(method string, params m) m {
	c.t.Helper()
	c.send(request(c.t, 7, method, params))
	for {
		got := c.message()
		if len(got) == 4 {
			require.Nil(c.t, got[2])
			result, ok := got[3].(map[string]any)
			require.True(c.t, ok)
			return result
		}
		c.keep(got)
	}
}

func (c *consumer) keep(got []any) {
	c.t.Helper()
	require.Len(c.t, got, 3)
	params, ok := got[2].([]any)
	require.True(c.t, ok && len(params) == 1, "%v", got)
	first, ok := params[0].(map[string]any)
	require.True(c.t, ok, "%v", got)
	method, ok := got[1].(string)
	require.True(c.t, ok, "%v", got)
	c.told, c.kept = append(c.told, first), append(c.kept, method)
}

// next returns the params of the next notification, which must have this method.
func (c *consumer) next(method string) m {
	c.t.Helper()
	if len(c.told) == 0 {
		c.keep(c.message())
	}
	first, kind := c.told[0], c.kept[0]
	c.told, c.kept = c.told[1:], c.kept[1:]
	require.Equal(c.t, method, kind, "%v", first)
	return first
}

func (c *consumer) subscribe(more m) string {
	c.t.Helper()
	p := m{"stream": "jobs", "group": "workers"}
	for k, v := range more {
		p[k] = v
	}
	name, ok := c.ask("stream.subscribe", p)["subscription"].(string)
	require.True(c.t, ok)
	return name
}

// says calls a method about a message as a notification, which has no reply.
func (c *consumer) says(method, id string, more m) {
	c.t.Helper()
	p := m{"stream": "jobs", "group": "workers", "id": id}
	for k, v := range more {
		p[k] = v
	}
	c.send(notification(c.t, method, []any{p}))
}

func TestStreamsOverTheSocket(t *testing.T) {
	t.Parallel()
	s := serveStreams(t)
	a, b := s.connect(), s.connect()
	name := a.subscribe(m{"prefetch": 2})
	ids := s.publish("one\x00\xff", "two", "three", "four")
	got := a.next("stream.message")
	require.Equal(t, m{
		"subscription": name, "stream": "jobs", "group": "workers", "id": ids[0], "body": []byte("one\x00\xff"), "attempt": got["attempt"],
		"published_at_ms": got["published_at_ms"],
	}, got)
	require.EqualValues(t, 1, got["attempt"])
	require.Equal(t, ids[1], a.next("stream.message")["id"])
	a.alive()
	a.says("stream.ack", ids[0], nil)
	require.Equal(t, ids[2], a.next("stream.message")["id"])
	a.says("stream.nack", ids[1], m{"dead": true})
	require.Equal(t, ids[3], a.next("stream.message")["id"])
	a.says("stream.extend", ids[2], nil)
	require.Equal(t, false, a.ask("stream.ack", m{"stream": "jobs", "group": "workers", "id": ids[1]})["acked"])

	b.subscribe(nil)
	require.NoError(t, a.conn.Close())
	again := map[any]any{}
	for range 2 {
		got := b.next("stream.message")
		require.EqualValues(t, 2, got["attempt"])
		again[got["id"]] = got["body"]
	}
	require.Equal(t, map[any]any{ids[2]: []byte("three"), ids[3]: []byte("four")}, again)
}

// A client reads nothing for a while, although more messages wait for it than fit in its socket.
func TestAClientThatReadsLateIsSentEveryMessageOnce(t *testing.T) {
	t.Parallel()
	s := serveStreams(t)
	c := s.connect()
	c.subscribe(m{"prefetch": 1000})
	var want []string
	for i := range 100 {
		want = append(want, fmt.Sprintf("%03d%s", i, strings.Repeat("x", 20_000)))
	}
	s.publish(want...)
	eventually(t, "messages wait for the client", func() bool { return s.streams.Unsent() > 0 })
	for _, body := range want {
		got := c.next("stream.message")
		require.Equal(t, body, string(got["body"].([]byte)))
		require.EqualValues(t, 1, got["attempt"])
	}
	c.alive()
	require.Zero(t, s.streams.Unsent())
}

func TestSubscribersAreToldThatThePodEnds(t *testing.T) {
	t.Parallel()
	s := serveStreams(t)
	c, admin := s.connect(), s.dial(t)
	c.subscribe(m{"prefetch": 1})
	ids := s.publish("one", "two")
	require.Equal(t, ids[0], c.next("stream.message")["id"])
	admin.must("session.drain", m{"deadline_ms": 60_000})
	require.Contains(t, c.next("session.draining"), "deadline_at_ms")
	require.Equal(t, true, c.ask("stream.ack", m{"stream": "jobs", "group": "workers", "id": ids[0]})["acked"])
	c.alive() // it is not sent the other message
	_, err := c.call("stream.subscribe", m{"stream": "jobs", "group": "workers"})
	require.Contains(t, err, "DRAINING: ")
	require.Empty(t, c.told)
}
