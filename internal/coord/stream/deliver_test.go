package stream_test

import (
	"context"
	"log/slog"
	"slices"
	"sync/atomic"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/coxswain-sidecar/coxswain/client/api"
	"github.com/coxswain-sidecar/coxswain/internal/coord"
	"github.com/coxswain-sidecar/coxswain/internal/coord/stream"
	"github.com/coxswain-sidecar/coxswain/internal/coordtest"
	"github.com/coxswain-sidecar/coxswain/internal/lua"
	"github.com/coxswain-sidecar/coxswain/internal/luatest"
	"github.com/coxswain-sidecar/coxswain/internal/redistest"
)

func TestASubscriptionIsSentMessages(t *testing.T) {
	onStores(t, sendsMessages)
}

func TestTopologyASubscriptionIsSentMessages(t *testing.T) {
	t.Parallel()
	redistest.Topologies(t, func(t *testing.T, url string) { sendsMessages(t, newFleet(t, url)) })
}

func sendsMessages(t *testing.T, f *fleet) {
	ids := f.publish("early")
	c := connect(t, f.sidecar())
	r := must(c, api.StreamSubscribe, api.StreamSubscribeParams{Stream: "jobs", Group: "workers", Prefetch: 2})
	require.True(t, r.Created)
	m := c.next()
	require.Positive(t, m.PublishedAtMS)
	require.Equal(t, api.StreamMessage{
		Subscription: r.Subscription, Stream: "jobs", Group: "workers", ID: ids[0], Body: []byte("early"), Attempt: 1,
		PublishedAtMS: m.PublishedAtMS,
	}, m)
	ids = append(ids, f.publish("one", "two", "three")...)
	require.Equal(t, ids[1], c.next().ID)
	require.True(t, c.ack(ids[0]))
	require.False(t, c.ack(ids[0]))
	require.Equal(t, ids[2], c.next().ID)
	require.Empty(t, c.sent, "prefetch is 2")
	require.True(t, c.ack(ids[2]))
	require.Equal(t, ids[3], c.next().ID)
	require.True(t, c.ack(ids[1]))
	require.True(t, c.ack(ids[3]))

	other := must(c, api.StreamSubscribe, api.StreamSubscribeParams{Stream: "jobs", Group: "workers"})
	require.False(t, other.Created)
	require.NotEqual(t, r.Subscription, other.Subscription)
	late := must(c, api.StreamSubscribe, api.StreamSubscribeParams{Stream: "jobs", Group: "late", Start: "new"})
	all := must(c, api.StreamSubscribe, api.StreamSubscribeParams{Stream: "jobs", Group: "all"})
	require.Equal(t, []string{"early", "one", "two", "three"}, c.bodies(4))
	for _, name := range []string{r.Subscription, other.Subscription, all.Subscription} {
		require.True(t, must(c, api.StreamUnsubscribe, api.StreamUnsubscribeParams{Subscription: name}).Unsubscribed)
		require.False(t, must(c, api.StreamUnsubscribe, api.StreamUnsubscribeParams{Subscription: name}).Unsubscribed)
	}
	stranger := connect(t, f.sidecar())
	require.False(t, must(stranger, api.StreamUnsubscribe, api.StreamUnsubscribeParams{Subscription: late.Subscription}).Unsubscribed)
	f.publish("now")
	require.Equal(t, []string{"now"}, c.bodies(1))
}

func TestPrefetchIsNeverPassedAndNothingIsLost(t *testing.T) {
	onStores(t, func(t *testing.T, f *fleet) {
		const messages, prefetch = 300, 3
		s := f.sidecar()
		got := make(chan string, messages)
		ctx, cancel := context.WithCancel(t.Context())
		defer cancel()
		done := make(chan struct{}, 2)
		for range 2 {
			c := connect(t, s)
			c.subscribe(api.StreamSubscribeParams{Prefetch: prefetch})
			go func() {
				defer func() { done <- struct{}{} }()
				for {
					select {
					case m := <-c.sent:
						// The consumer holds this message too.
						if len(c.sent)+1 > prefetch || m.Attempt != 1 {
							t.Errorf("%d messages are unacknowledged; attempt %d", len(c.sent)+1, m.Attempt)
						}
						c.ack(m.ID)
						got <- string(m.Body)
					case <-ctx.Done():
						return
					}
				}
			}()
		}
		f.publish(numbered(messages)...)
		var all []string
		for range messages {
			select {
			case body := <-got:
				all = append(all, body)
			case <-time.After(patience):
				t.Fatalf("%d messages came", len(all))
			}
		}
		cancel()
		<-done
		<-done
		want := numbered(messages)
		slices.Sort(want)
		slices.Sort(all)
		require.Equal(t, want, all)
	})
}

func TestConnectionsTakeTurns(t *testing.T) {
	onStores(t, func(t *testing.T, f *fleet) {
		s := f.sidecar()
		a, b := connect(t, s), connect(t, s)
		a.subscribe(api.StreamSubscribeParams{Prefetch: 20})
		b.subscribe(api.StreamSubscribeParams{Prefetch: 20})
		f.publish(numbered(20)...)
		a.bodies(10)
		b.bodies(10)
		require.Empty(t, a.sent)
		require.Empty(t, b.sent)
		f.publish(numbered(20)...) // both have prefetch for ten
		a.bodies(10)
		b.bodies(10)
	})
}

func TestMessagesOfAClosedConnectionAreSentToAnother(t *testing.T) {
	for _, bind := range []string{"session", "ttl"} {
		t.Run(bind, func(t *testing.T) {
			onStores(t, func(t *testing.T, f *fleet) {
				a := connect(t, f.sidecar())
				a.subscribe(api.StreamSubscribeParams{Bind: bind})
				ids := f.publish("one", "two", "three")
				a.bodies(3)
				require.True(t, a.ack(ids[1]))
				b := connect(t, f.sidecar())
				b.subscribe(api.StreamSubscribeParams{Bind: bind})
				a.Close()
				var got []string
				for range 2 {
					m := b.next()
					got = append(got, m.ID)
					require.EqualValues(t, 2, m.Attempt)
					require.True(t, b.ack(m.ID))
				}
				require.ElementsMatch(t, []string{ids[0], ids[2]}, got)
				require.Empty(t, b.sent)
			})
		})
	}
}

func TestANackedMessageIsDeliveredAgainUntilItIsADeadLetter(t *testing.T) {
	onStores(t, func(t *testing.T, f *fleet) {
		c := connect(t, f.sidecar())
		c.subscribe(api.StreamSubscribeParams{Prefetch: 1, MaxDeliveries: 3})
		id := f.publish("poison", "next")[0]
		require.EqualValues(t, 1, c.next().Attempt)
		require.Equal(t, api.StreamNackResult{Nacked: true, DelayMS: 40}, c.nack(id, 40))
		got := []api.StreamMessage{c.next(), {}}
		if got[0].ID == id { // the next one may have come first
			require.EqualValues(t, 2, got[0].Attempt)
		} else {
			require.True(t, c.ack(got[0].ID))
			got[1] = c.next()
			require.Equal(t, id, got[1].ID)
			require.EqualValues(t, 2, got[1].Attempt)
		}
		require.Equal(t, api.StreamNackResult{Nacked: true, DelayMS: 2000}, c.nack(id, 0)) // 0 is not sent on the wire
		for {
			m := c.next()
			if m.ID == id {
				require.EqualValues(t, 3, m.Attempt)
				break
			}
			require.True(t, c.ack(m.ID))
		}
		require.Equal(t, api.StreamNackResult{Nacked: true, Dead: true}, c.nack(id, 0))
		require.Equal(t, api.StreamNackResult{}, c.nack(id, 0))
		require.False(t, f.pending(id))
		f.publish("after")
		for {
			m := c.next()
			require.True(t, c.ack(m.ID))
			if string(m.Body) == "after" {
				break
			}
		}
	})
}

// A message that is not acknowledged is a dead letter after its last attempt, also if no consumer has
// capacity for more.
func TestAMessageThatIsNeverAcknowledgedIsADeadLetter(t *testing.T) {
	onStores(t, func(t *testing.T, f *fleet) {
		c := connect(t, f.sidecar())
		c.subscribe(api.StreamSubscribeParams{Prefetch: 1, MaxDeliveries: 2, VisibilityMS: 200, Bind: "ttl"})
		id := f.publish("poison")[0]
		require.EqualValues(t, 1, c.next().Attempt)
		m := c.next()
		require.Equal(t, id, m.ID)
		require.EqualValues(t, 2, m.Attempt)
		f.publish("after")
		require.Equal(t, "after", string(c.next().Body))
		eventually(t, func() bool {
			r := must(c, api.StreamExtend, api.StreamMessageParams{Stream: "jobs", Group: "workers", ID: id})
			return !r.Extended && r.Reason == "not_pending"
		})
	})
}

// The redelivery of one group's messages, which are not extended, shows that the other group's messages would have been
// redelivered too.
func TestASlowConsumerIsNotSentAMessageAgain(t *testing.T) {
	onStores(t, func(t *testing.T, f *fleet) {
		s := f.sidecar()
		slow, clock, rival := connect(t, s), connect(t, s), connect(t, f.sidecar())
		const visibility = 1500
		slow.subscribe(api.StreamSubscribeParams{Prefetch: 1, VisibilityMS: visibility})
		id := f.publish("long")[0]
		require.Equal(t, id, slow.next().ID)
		rival.subscribe(api.StreamSubscribeParams{VisibilityMS: visibility})
		must(clock, api.StreamSubscribe, api.StreamSubscribeParams{
			Stream: "jobs", Group: "clock", VisibilityMS: visibility, Bind: "ttl", MaxDeliveries: 100,
		})
		for range 4 {
			clock.next()
		}
		require.Empty(t, slow.sent)
		require.Empty(t, rival.sent)
		require.Equal(t, api.StreamExtendResult{Extended: true, Reason: "extended"},
			must(slow, api.StreamExtend, api.StreamMessageParams{Stream: "jobs", Group: "workers", ID: id}))
		require.Equal(t, "taken", must(rival, api.StreamExtend, api.StreamMessageParams{Stream: "jobs", Group: "workers", ID: id}).Reason)
		require.True(t, slow.ack(id))
		require.Empty(t, slow.Lost())
	})
}

// A proxy cuts one sidecar off from Redis, as if it had been killed.
func TestMessagesOfADeadSidecarAreSentToAnother(t *testing.T) {
	f := onRedis(t)
	proxy := luatest.StartProxy(t, redistest.URL(t))
	dead := connect(t, coordtest.New(t, luatest.Open(t, lua.Options{URL: proxy.URL}), f.prefix))
	dead.subscribe(api.StreamSubscribeParams{VisibilityMS: 500})
	first := f.publish(numbered(16)...)
	dead.bodies(16)
	require.True(t, dead.ack(first[0]))
	proxy.Kill()
	alive := connect(t, f.sidecar())
	alive.subscribe(api.StreamSubscribeParams{VisibilityMS: 500})
	got := map[string]int64{}
	for len(got) < 15 {
		m := alive.next()
		got[m.ID] = m.Attempt
		require.True(t, alive.ack(m.ID))
	}
	for _, id := range first[1:] {
		require.EqualValues(t, 2, got[id])
	}
	for range 15 {
		select {
		case l := <-dead.Lost():
			require.Contains(t, first, l.Token)
		case <-time.After(patience):
			t.Fatal("the session is not notified of its loss")
		}
	}
}

func TestAStreamOrAGroupThatIsDeletedIsMadeAgain(t *testing.T) {
	f := onRedis(t)
	s := f.sidecar()
	c := connect(t, s)
	c.subscribe(api.StreamSubscribeParams{})
	keys, _ := f.keys()
	redis := redistest.Client(t)
	for i, loss := range []func() error{
		func() error { return redis.Del(background, keys.Log).Err() },
		func() error { return redis.XGroupDestroy(background, keys.Log, "workers").Err() },
		func() error { return redis.Del(background, keys.Log, keys.Groups).Err() },
	} {
		before := f.publish("before")
		require.Equal(t, before[0], c.next().ID)
		require.True(t, c.ack(before[0]))
		eventually(t, func() bool { return stream.Reading(s.Streams, "jobs", "workers") })
		require.NoError(t, loss())
		after := f.publish("after")
		for after[0] <= before[0] { // a new stream can make an id of the same millisecond again
			after = f.publish("after")
		}
		for {
			m := c.next() // an acknowledged message may come again, since the group was lost
			c.ack(m.ID)
			if m.ID == after[0] {
				break
			}
			require.Equal(t, before[0], m.ID, i)
		}
	}
}

// lines counts the lines of a log.
type lines struct {
	slog.Handler
	warnings, infos atomic.Int64
}

func (l *lines) Enabled(context.Context, slog.Level) bool { return true }

func (l *lines) Handle(_ context.Context, r slog.Record) error {
	switch r.Level {
	case slog.LevelWarn:
		l.warnings.Add(1)
	case slog.LevelInfo:
		l.infos.Add(1)
	}
	return nil
}

// New messages are delivered while messages that are to be delivered again cannot be claimed.
func TestTheLogReportsOnceThatAGroupCannotBeRead(t *testing.T) {
	f := onRedis(t)
	l := &lines{Handler: slog.DiscardHandler}
	s := coordtest.NewWith(t, f.runner, f.prefix, coordtest.Options{Log: slog.New(l)})
	c := connect(t, s)
	c.subscribe(api.StreamSubscribeParams{VisibilityMS: 100, Bind: "ttl"})
	redis, keys := redistest.Client(t), stream.AckOf(coord.NewKeys(f.prefix, ""), "jobs", "workers", "")
	require.NoError(t, redis.Set(background, keys.Retry, "of another type", 0).Err())
	for range 5 {
		id := f.publish("new")[0]
		require.Equal(t, id, c.next().ID)
		for range 2 { // the second look begins after the end of the first
			last := stream.Looked(s.Streams, "jobs", "workers")
			eventually(t, func() bool { return stream.Looked(s.Streams, "jobs", "workers") != last })
		}
	}
	require.EqualValues(t, 1, l.warnings.Load())
	require.Zero(t, l.infos.Load())
	require.NoError(t, redis.Del(background, keys.Retry).Err())
	eventually(t, func() bool { return l.infos.Load() == 1 })
}

func TestAClientThatReadsSlowlyLosesNothing(t *testing.T) {
	onStores(t, func(t *testing.T, f *fleet) {
		s := f.sidecar()
		c := connect(t, s)
		c.read(2)
		c.subscribe(api.StreamSubscribeParams{Prefetch: 100})
		f.publish(numbered(50)...)
		require.Equal(t, []string{"0", "1"}, c.bodies(2))
		for i := 2; i < 50; i += 4 {
			eventually(t, c.waiting)
			require.Empty(t, c.sent)
			require.Positive(t, s.Streams.Unsent())
			c.read(4)
			for j := range 4 {
				m := c.next()
				require.Equal(t, numbered(50)[i+j], string(m.Body))
				require.EqualValues(t, 1, m.Attempt)
				require.True(t, c.ack(m.ID))
			}
		}
		require.Zero(t, s.Streams.Unsent())
	})
}

// Messages that a client does not read in time are delivered to other clients, and no attempt is counted.
func TestMessagesThatAreNotReadGoToAnotherSidecar(t *testing.T) {
	onStores(t, func(t *testing.T, f *fleet) {
		stuck, other := connect(t, f.sidecar()), connect(t, f.sidecar())
		stuck.read(0)
		stuck.subscribe(api.StreamSubscribeParams{VisibilityMS: 1000})
		f.publish(numbered(10)...)
		eventually(t, stuck.waiting)
		other.subscribe(api.StreamSubscribeParams{VisibilityMS: 60_000})
		for range 10 {
			m := other.next()
			require.EqualValues(t, 1, m.Attempt)
			require.True(t, other.ack(m.ID))
		}
		require.Empty(t, stuck.sent)
	})
}

func TestMessagesForAClosedConnectionAreDeliveredToAnother(t *testing.T) {
	onStores(t, func(t *testing.T, f *fleet) {
		s := f.sidecar()
		gone, other := connect(t, s), connect(t, s)
		gone.hangUp()
		gone.subscribe(api.StreamSubscribeParams{})
		other.subscribe(api.StreamSubscribeParams{})
		f.publish(numbered(10)...)
		for range 10 {
			require.EqualValues(t, 1, other.next().Attempt)
		}
		lonely := connect(t, f.sidecar())
		lonely.subscribe(api.StreamSubscribeParams{})
		other.hangUp()
		f.publish("last")
		m := lonely.next()
		require.Equal(t, "last", string(m.Body))
		require.EqualValues(t, 1, m.Attempt)
	})
}

func TestDrainGivesBackMessagesThatWereNotSent(t *testing.T) {
	for name, drain := range map[string]func(*coordtest.Sidecar){
		"told":   func(s *coordtest.Sidecar) { s.Streams.Drain() },
		"leases": func(s *coordtest.Sidecar) { s.Leases.Drain() },
		"stop":   func(s *coordtest.Sidecar) { _ = s.Streams.Stop(background) },
	} {
		t.Run(name, func(t *testing.T) {
			onStores(t, func(t *testing.T, f *fleet) {
				s := f.sidecar()
				ending, other := connect(t, s), connect(t, f.sidecar())
				ending.read(1)
				ending.subscribe(api.StreamSubscribeParams{})
				ids := f.publish(numbered(5)...)
				require.Equal(t, ids[0], ending.next().ID)
				eventually(t, ending.waiting)
				waiting := make(chan error, 1)
				go func() {
					r, err := do(ending, api.StreamFetch, api.StreamFetchParams{Stream: "other", Group: "workers", WaitMS: 60_000})
					if len(r.Messages) > 0 {
						t.Errorf("a fetch has %v", r.Messages)
					}
					waiting <- err
				}()
				eventually(t, func() bool { return stream.Reading(s.Streams, "other", "workers") })
				drain(s)
				require.NoError(t, <-waiting)
				_, err := do(ending, api.StreamSubscribe, api.StreamSubscribeParams{Stream: "jobs", Group: "workers"})
				requireCode(t, err, api.Draining)
				_, err = do(ending, api.StreamFetch, api.StreamFetchParams{Stream: "jobs", Group: "workers"})
				requireCode(t, err, api.Draining)
				other.subscribe(api.StreamSubscribeParams{})
				var got []string
				for range ids[1:] {
					m := other.next()
					got = append(got, m.ID)
					require.EqualValues(t, 1, m.Attempt)
				}
				require.ElementsMatch(t, ids[1:], got)
				require.Empty(t, ending.sent)
				require.True(t, ending.ack(ids[0]))
			})
		})
	}
}

func TestUnsubscribeKeepsMessagesThatWereSent(t *testing.T) {
	for _, bind := range []string{"session", "ttl"} {
		t.Run(bind, func(t *testing.T) {
			onStores(t, func(t *testing.T, f *fleet) {
				a, b := connect(t, f.sidecar()), connect(t, f.sidecar())
				name := a.subscribe(api.StreamSubscribeParams{Prefetch: 2, Bind: bind})
				ids := f.publish("one", "two")
				a.bodies(2)
				require.True(t, must(a, api.StreamUnsubscribe, api.StreamUnsubscribeParams{Subscription: name}).Unsubscribed)
				b.subscribe(api.StreamSubscribeParams{})
				three := f.publish("three")
				require.Equal(t, three[0], b.next().ID)
				require.Empty(t, b.sent)
				require.True(t, a.ack(ids[0]))
				a.Close()
				m := b.next()
				require.Equal(t, ids[1], m.ID)
				require.EqualValues(t, 2, m.Attempt)
				require.Empty(t, a.sent)
			})
		})
	}
}

func TestAnEntryThatNoSidecarWroteIsADeadLetter(t *testing.T) {
	f := onRedis(t)
	keys, _ := f.keys()
	redis := redistest.Client(t)
	c := connect(t, f.sidecar())
	c.subscribe(api.StreamSubscribeParams{})
	add := func(values ...any) string {
		id, err := redis.Do(background, append([]any{"xadd", keys.Log, "*"}, values...)...).Text()
		require.NoError(t, err)
		return id
	}
	other := add("m", "", "g", "other")
	text, err := stream.Pack(background, "mine")
	require.NoError(t, err)
	foreign := add("foreign", "entry")
	broken := add("m", "\xc1")
	mine := add("m", text, "g", "workers")
	require.Equal(t, mine, c.next().ID)
	eventually(t, func() bool { return redis.XLen(background, keys.Dead).Val() == 2 })
	var dead []any
	for _, letter := range redis.XRange(background, keys.Dead, "-", "+").Val() {
		dead = append(dead, letter.Values["id"])
	}
	require.ElementsMatch(t, []any{foreign, broken}, dead)
	eventually(t, func() bool { return redis.XPending(background, keys.Log, "workers").Val().Count == 1 })
	require.False(t, f.pending(other))
	require.Empty(t, c.sent)
}

func TestACallWithoutAConnectionCannotSubscribe(t *testing.T) {
	onStores(t, func(t *testing.T, f *fleet) {
		nobody := &consumer{Client: f.sidecar().Connect(t, "nobody"), t: t}
		_, err := do(nobody, api.StreamSubscribe, api.StreamSubscribeParams{Stream: "jobs", Group: "workers"})
		requireCode(t, err, api.InvalidArgument)
		require.ErrorContains(t, err, "stream.fetch")
		for _, id := range []string{"x", "1", "1-x", "-", "1-2-3"} {
			_, err = do(nobody, api.StreamAck, api.StreamMessageParams{Stream: "jobs", Group: "workers", ID: id})
			requireCode(t, err, api.InvalidArgument)
		}
		require.False(t, nobody.ack("1-1"))
		require.Equal(t, api.StreamNackResult{}, nobody.nack("1-1", -1))
	})
}

// The messages are not bound to the session, so that nothing else would end their deliveries within half a day.
func TestEachEndOfADeliveryMakesRoomForTheNext(t *testing.T) {
	onStores(t, func(t *testing.T, f *fleet) {
		c := connect(t, f.sidecar())
		c.subscribe(api.StreamSubscribeParams{Prefetch: 1, Bind: "ttl", VisibilityMS: 12 * time.Hour.Milliseconds()})
		ids := f.publish("acked", "nacked", "last")
		require.Equal(t, ids[0], c.next().ID)
		require.True(t, c.ack(ids[0]))
		require.Equal(t, ids[1], c.next().ID)
		require.True(t, c.nack(ids[1], 60_000).Nacked)
		require.Equal(t, ids[2], c.next().ID)
	})
}

func TestTheSubscriptionsOfAConnectionAreBounded(t *testing.T) {
	f := onRedis(t)
	s := f.sidecar()
	c := connect(t, s)
	for range 10 {
		c.subscribe(api.StreamSubscribeParams{Prefetch: 1000})
	}
	_, err := do(c, api.StreamSubscribe, api.StreamSubscribeParams{Stream: "jobs", Group: "workers", Prefetch: 1})
	require.ErrorContains(t, err, "prefetch: with the 10000 of its other subscriptions this connection would have more than 10000; give less, or open another")
	connect(t, s).subscribe(api.StreamSubscribeParams{Prefetch: 1000})

	c = connect(t, s)
	for range 256 {
		c.subscribe(api.StreamSubscribeParams{Prefetch: 1})
	}
	_, err = do(c, api.StreamSubscribe, api.StreamSubscribeParams{Stream: "jobs", Group: "workers", Prefetch: 1})
	require.ErrorContains(t, err, "this connection has 256 subscriptions; end some by stream.unsubscribe, or open another")
}
