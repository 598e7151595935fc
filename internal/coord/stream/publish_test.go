package stream_test

import (
	"context"
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	"go.opentelemetry.io/otel/trace"

	"github.com/coxswain-sidecar/coxswain/client/api"
	"github.com/coxswain-sidecar/coxswain/internal/conformance"
	"github.com/coxswain-sidecar/coxswain/internal/coord"
	"github.com/coxswain-sidecar/coxswain/internal/coord/stream"
	"github.com/coxswain-sidecar/coxswain/internal/coordtest"
	"github.com/coxswain-sidecar/coxswain/internal/lua"
	"github.com/coxswain-sidecar/coxswain/internal/luatest"
	"github.com/coxswain-sidecar/coxswain/internal/redistest"
)

// everywhere runs a test on every store; in a TestTopology these include a cluster and sentinels.
func everywhere(t *testing.T, test func(t *testing.T, url string)) {
	t.Helper()
	if strings.HasPrefix(t.Name(), "TestTopology") {
		redistest.Topologies(t, test)
		return
	}
	redistest.Stores(t, test)
}

func sidecarOn(t *testing.T, url string) *coordtest.Sidecar {
	t.Helper()
	return coordtest.New(t, luatest.Open(t, lua.Options{URL: url}), redistest.Prefix(t))
}

func publish(t *testing.T, s *coordtest.Sidecar, c coord.Caller, p api.StreamPublishParams) api.StreamPublishResult {
	t.Helper()
	if p.DedupeMS == 0 {
		p.DedupeMS = 300_000
	}
	r, err := s.Streams.Publish(t.Context(), c, &p)
	require.NoError(t, err)
	return r
}

// dueNow adds the messages that are due, and returns what the script returned.
func dueNow(t *testing.T, s *coordtest.Sidecar, name string) stream.DueOut {
	t.Helper()
	out, err := lua.Run(t.Context(), s.Runner, stream.DueScript, stream.DueOf(s.Keys, name), lua.StoredReply{})
	require.NoError(t, err)
	return out.Value
}

func TestAPublishIsRunOnce(t *testing.T) {
	t.Parallel()
	everywhere(t, publishesOnce)
}

func TestTopologyAPublishIsRunOnce(t *testing.T) {
	t.Parallel()
	everywhere(t, publishesOnce)
}

func publishesOnce(t *testing.T, url string) {
	s := sidecarOn(t, url)
	for _, name := range []string{"s", "a{b}c", "{}", "}{", "x:y", "grüße 世界", "nul\x00", strings.Repeat("n", 512)} {
		again := coord.Caller{RequestID: "the same", Fingerprint: "f"}
		p := api.StreamPublishParams{Stream: name, Body: []byte("\x00\xff"), Fields: map[string]string{"a": "b"}}
		first := publish(t, s, again, p)
		require.True(t, first.Published)
		require.NotEmpty(t, first.ID)
		want := first
		want.Replayed = true
		require.Equal(t, want, publish(t, s, again, p), "%q", name)
		again.Fingerprint = "other"
		_, err := s.Streams.Publish(t.Context(), again, &p)
		coordtest.RequireCode(t, err, api.Conflict, "_request_id")
		second := publish(t, s, coord.Caller{}, p)
		require.True(t, second.Published)
		require.Positive(t, compareIDs(second.ID, first.ID))

		p.DedupeID = "d:" + name
		third := publish(t, s, coord.Caller{}, p)
		require.True(t, third.Published)
		require.Equal(t, api.StreamPublishResult{ID: third.ID}, publish(t, s, coord.Caller{}, p))
	}
}

func TestManyMessagesAreAddedInTheirOrderAndOnce(t *testing.T) {
	t.Parallel()
	everywhere(t, publishesMany)
}

func TestTopologyManyMessagesAreAddedInTheirOrderAndOnce(t *testing.T) {
	t.Parallel()
	everywhere(t, publishesMany)
}

func publishesMany(t *testing.T, url string) {
	s := sidecarOn(t, url)
	p := &api.StreamPublishManyParams{Stream: "s"}
	for i := range 256 {
		p.Messages = append(p.Messages, api.StreamNewMessage{Body: fmt.Append(nil, i), DedupeMS: 300_000})
	}
	p.Messages[7].DedupeID, p.Messages[9].DedupeID = "d", "d"
	p.Messages[11].DelayMS = time.Hour.Milliseconds()
	again := coord.Caller{RequestID: "id", Fingerprint: "f"}
	first, err := s.Streams.PublishMany(t.Context(), again, p)
	require.NoError(t, err)
	require.Len(t, first.Results, 256)
	last := "0-0"
	for i, r := range first.Results {
		require.Nil(t, r.Error)
		switch i {
		case 9:
			require.Equal(t, api.StreamPublished{ID: first.Results[7].ID}, r)
		case 11:
			require.Empty(t, r.ID)
			require.Positive(t, r.DueAtMS)
		default:
			require.True(t, r.Published)
			require.Positive(t, compareIDs(r.ID, last), "%d", i)
			last = r.ID
		}
	}
	second, err := s.Streams.PublishMany(t.Context(), again, p)
	require.NoError(t, err)
	require.Equal(t, first, second)
	again.Fingerprint = "other"
	conflict, err := s.Streams.PublishMany(t.Context(), again, p)
	require.NoError(t, err)
	require.Equal(t, string(api.Conflict), conflict.Results[0].Error.Code)
	require.Positive(t, compareIDs(publish(t, s, coord.Caller{}, api.StreamPublishParams{Stream: "s"}).ID, last))
}

func TestMessagesThatAreTooLongOrTooManyAreRefused(t *testing.T) {
	t.Parallel()
	s := sidecarOn(t, "embedded")
	most := api.MaxBodyBytes
	fields := map[string]string{"name": strings.Repeat("x", most-4)}
	p := api.StreamPublishParams{Stream: "s", Fields: fields}
	require.True(t, publish(t, s, coord.Caller{}, p).Published, "the largest message")
	p.Body = []byte("x")
	_, err := s.Streams.Publish(t.Context(), coord.Caller{}, &p)
	coordtest.RequireCode(t, err, api.InvalidArgument, "body: with the fields it has 262145 bytes; give at most 262144")
	many := func(messages ...api.StreamNewMessage) error {
		_, err := s.Streams.PublishMany(t.Context(), coord.Caller{}, &api.StreamPublishManyParams{Stream: "s", Messages: messages})
		return err
	}
	one := api.StreamNewMessage{Fields: fields}
	require.NoError(t, many(one, one, one))
	coordtest.RequireCode(t, many(), api.InvalidArgument, "messages: there are 0; give 1 to 256")
	coordtest.RequireCode(t, many(make([]api.StreamNewMessage, 257)...), api.InvalidArgument, "messages: there are 257; give 1 to 256")
	coordtest.RequireCode(t, many(one, one, one, api.StreamNewMessage{Body: []byte("x")}), api.InvalidArgument,
		"messages: their bodies and fields have 786433 bytes together; give at most 786432")
	coordtest.RequireCode(t, many(one, api.StreamNewMessage{Fields: fields, Body: []byte("x")}), api.InvalidArgument, "messages[1].body: ")
}

func TestAMessageIsStoredUnchangedWithItsTraceContext(t *testing.T) {
	t.Parallel()
	s := sidecarOn(t, redistest.URL(t))
	const client = "00-0af7651916cd43dd8448eb211c80319c-b7ad6b7169203331-01"
	p := api.StreamPublishParams{Stream: "s", Body: []byte("\x00\xff"), Fields: map[string]string{"a\x00": "\xff", "": ""}}
	publish(t, s, coord.Caller{}, p)
	publish(t, s, coord.Caller{Traceparent: client}, p)
	publish(t, s, coord.Caller{Traceparent: "no trace context"}, p)
	span := trace.NewSpanContext(trace.SpanContextConfig{TraceID: trace.TraceID{1}, SpanID: trace.SpanID{2}, TraceFlags: trace.FlagsSampled})
	ctx := trace.ContextWithSpanContext(t.Context(), span)
	_, err := s.Streams.Publish(ctx, coord.Caller{Traceparent: client}, &p)
	require.NoError(t, err)
	_, err = s.Streams.PublishMany(ctx, coord.Caller{}, &api.StreamPublishManyParams{Stream: "s", Messages: []api.StreamNewMessage{{Body: p.Body, Fields: p.Fields}}})
	require.NoError(t, err)
	all, err := redistest.Client(t).XRange(t.Context(), stream.LogOf(s.Keys, "s"), "-", "+").Result()
	require.NoError(t, err)
	own := "00-01000000000000000000000000000000-0200000000000000-01"
	for i, want := range []string{"", client, "", own, own} {
		body, fields, traceparent, err := stream.MessageOf(all[i].Values["m"].(string))
		require.NoError(t, err)
		require.Equal(t, p.Body, body)
		require.Equal(t, p.Fields, fields)
		require.Equal(t, want, traceparent, "%d", i)
	}
	require.Len(t, all, 5)
}

// A publish, or an item of publish_many, whose reply was lost is repeated and adds its message once.
func TestALostReplyToAPublishIsRepeated(t *testing.T) {
	t.Parallel()
	proxy, r, _, prefix := luatest.BehindProxy(t, lua.Options{MaxConns: 1})
	s := coordtest.New(t, r, prefix)
	publish(t, s, coord.Caller{}, api.StreamPublishParams{Stream: "s"})
	proxy.Lose(luatest.Plan{})
	require.True(t, publish(t, s, coord.Caller{}, api.StreamPublishParams{Stream: "s"}).Published)
	p := &api.StreamPublishManyParams{Stream: "s"}
	for i := range 20 {
		p.Messages = append(p.Messages, api.StreamNewMessage{Body: fmt.Append(nil, i), DedupeMS: 300_000})
	}
	proxy.Lose(luatest.Plan{Pass: 100})
	got, err := s.Streams.PublishMany(luatest.Deadline(t), coord.Caller{}, p)
	require.NoError(t, err)
	for i, r := range got.Results {
		require.Nil(t, r.Error, "%d", i)
		require.True(t, r.Published)
	}
	all, err := redistest.Client(t).XRange(t.Context(), stream.LogOf(s.Keys, "s"), "-", "+").Result()
	require.NoError(t, err)
	require.Len(t, all, 22)
	for i, m := range all[2:] {
		body, _, _, err := stream.MessageOf(m.Values["m"].(string))
		require.NoError(t, err)
		require.Equal(t, fmt.Sprint(i), string(body))
		require.Equal(t, got.Results[i].ID, m.ID)
	}
}

// timed makes a sidecar whose scripts and timers use one clock.
func timed(t *testing.T, url, prefix string, clock *conformance.Clock) *coordtest.Sidecar {
	t.Helper()
	return coordtest.NewWith(t, luatest.Open(t, lua.Options{URL: url, Clock: clock.Micros}), prefix, coordtest.Options{Clock: clock})
}

func TestDelayedMessagesAreAddedByTheSidecarThatPublishedThem(t *testing.T) {
	t.Parallel()
	everywhere(t, func(t *testing.T, url string) {
		clock := conformance.NewClock()
		s := timed(t, url, redistest.Prefix(t), clock)
		for i := range int64(250) {
			r := publish(t, s, coord.Caller{}, api.StreamPublishParams{Stream: "s", DelayMS: 5000 + i%2})
			require.Equal(t, clock.Micros()/1000+5000+i%2, r.DueAtMS)
		}
		require.Equal(t, 1, stream.LooksAfter(s.Streams))
		looked(t, s, clock, 5002*time.Millisecond)
		require.Equal(t, stream.DueOut{NextMS: -1}, dueNow(t, s, "s"), "all were added before")
		require.True(t, publish(t, s, coord.Caller{}, api.StreamPublishParams{Stream: "s"}).Published)
	})
}

// looked advances the clock until the sidecar looks after no stream.
func looked(t *testing.T, s *coordtest.Sidecar, clock *conformance.Clock, d time.Duration) {
	t.Helper()
	clock.Advance(d)
	// The run of the script takes real time, in which the clock has to advance as a real one does.
	coordtest.Until(t, func() bool {
		clock.Advance(time.Millisecond)
		return stream.LooksAfter(s.Streams) == 0
	})
}

// The sidecar that published dies; one that has consumers adds its delayed messages.
func TestDelayedMessagesOfADeadSidecarAreAddedByAnother(t *testing.T) {
	t.Parallel()
	clock, prefix := conformance.NewClock(), redistest.Prefix(t)
	dies, lives := timed(t, redistest.URL(t), prefix, clock), timed(t, redistest.URL(t), prefix, clock)
	publish(t, dies, coord.Caller{}, api.StreamPublishParams{Stream: "s", Body: []byte("left"), DelayMS: 5000})
	require.NoError(t, dies.Streams.Stop(context.Background()))
	stream.Watch(lives.Streams, "s")
	clock.Advance(5 * time.Second)
	store, log := redistest.Client(t), stream.LogOf(lives.Keys, "s")
	coordtest.Until(t, func() bool {
		clock.Advance(time.Millisecond)
		return store.XLen(t.Context(), log).Val() == 1
	})
	stream.Unwatch(lives.Streams, "s")
	looked(t, lives, clock, time.Second)

	// A message that is published while this sidecar waits is broadcast by the sidecar that published it.
	other := timed(t, redistest.URL(t), prefix, clock)
	stream.Watch(lives.Streams, "s")
	publish(t, other, coord.Caller{}, api.StreamPublishParams{Stream: "s", Body: []byte("next"), DelayMS: 10})
	require.NoError(t, other.Streams.Stop(context.Background()))
	clock.Advance(time.Second)
	coordtest.Until(t, func() bool {
		clock.Advance(time.Millisecond)
		return store.XLen(t.Context(), log).Val() == 2
	})
}

func TestAStreamIsLookedAfterUntilItsLastWatcherLeaves(t *testing.T) {
	t.Parallel()
	clock := conformance.NewClock()
	s := timed(t, "embedded", redistest.Prefix(t), clock)
	stream.Watch(s.Streams, "s")
	stream.Watch(s.Streams, "s")
	stream.Watch(s.Streams, "other")
	stream.Unwatch(s.Streams, "s")
	stream.Unwatch(s.Streams, "unknown")
	looks := func() bool { return stream.LooksAfter(s.Streams) == 2 }
	clock.Advance(10 * time.Second)
	require.True(t, looks())
	stream.Unwatch(s.Streams, "s")
	coordtest.Until(t, func() bool { return stream.LooksAfter(s.Streams) == 1 })
	stream.Unwatch(s.Streams, "s")
	stream.Unwatch(s.Streams, "other")
	coordtest.Until(t, func() bool { return stream.LooksAfter(s.Streams) == 0 })
}

// During an outage of Redis no stream is forgotten.
func TestDelayedMessagesWaitForRedis(t *testing.T) {
	t.Parallel()
	way, clock, prefix := coordtest.ThroughProxy(t), conformance.NewClock(), redistest.Prefix(t)
	s := timed(t, way.URL(), prefix, clock)
	publish(t, s, coord.Caller{}, api.StreamPublishParams{Stream: "s", DelayMS: 5000})
	way.Mute()
	clock.Advance(6 * time.Second)
	way.Heal()
	looked(t, s, clock, time.Second)
	require.EqualValues(t, 1, redistest.Client(t).XLen(t.Context(), stream.LogOf(s.Keys, "s")).Val())
}
