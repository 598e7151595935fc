package stream_test

import (
	"crypto/rand"
	"fmt"
	"slices"
	"sync"
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

// byHost returns the params of a subscription that delivers by the field host under the rule crawl.
func byHost() api.StreamSubscribeParams {
	return api.StreamSubscribeParams{Rule: "crawl", Key: "host", Prefetch: 100}
}

// crawl sets the rule crawl to limit messages in a period.
func crawl(t *testing.T, s *coordtest.Sidecar, limit int64, per time.Duration, revision int64) {
	t.Helper()
	require.NoError(t, s.Rules.Set([]api.Rule{{
		Name: "crawl", Algorithm: api.AlgorithmSlidingWindowLog, Limits: []api.Band{{Limit: limit, PeriodMS: per.Milliseconds()}},
	}}, revision))
}

// crawler makes a sidecar with the rule crawl, and a consumer that has not subscribed.
func (f *fleet) crawler(limit int64, per time.Duration) (*coordtest.Sidecar, *consumer) {
	f.t.Helper()
	s := f.sidecar()
	crawl(f.t, s, limit, per, 1)
	return s, connect(f.t, s)
}

// publishTo adds messages for a host; the body of each is the host and its number.
func (f *fleet) publishTo(host string, from, to int) {
	f.t.Helper()
	keys, delayed := f.keys()
	var ins []stream.PublishIn
	for i := from; i < to; i++ {
		text, err := stream.Packed(f.t.Context(), fmt.Appendf(nil, "%s %d", host, i), map[string]string{"depth": "1", "host": host, "z": ""})
		require.NoError(f.t, err)
		ins = append(ins, stream.PublishIn{Keys: keys, DelayedKeys: delayed, Message: text, Broadcast: coord.NewKeys(f.prefix, "").Broadcast()})
	}
	_, errs := lua.BatchOnce(f.t.Context(), f.runner, stream.PublishScript, ins, make([]lua.StoredReply, len(ins)))
	for _, err := range errs {
		require.NoError(f.t, err)
	}
}

// nothing requires that no message waits for these consumers: it publishes a message of another key,
// which must be the next that they are sent.
func (f *fleet) nothing(all ...*consumer) {
	f.t.Helper()
	host := "only " + rand.Text()
	f.publishTo(host, 0, 1)
	m := either(all[0], all[len(all)-1])
	require.Equal(f.t, host+" 0", string(m.Body))
	require.True(f.t, all[0].ack(m.ID))
}

func TestAMessageWaitsForTheLimitOfItsKeyAndMessagesOfOtherKeysDoNot(t *testing.T) {
	onStores(t, func(t *testing.T, f *fleet) {
		s, c := f.crawler(1, time.Hour)
		f.publishTo("a", 0, 3)
		f.publishTo("b", 0, 2)
		c.subscribe(byHost())
		first, second := c.next(), c.next()
		bodies := []string{string(first.Body), string(second.Body)}
		slices.Sort(bodies)
		require.Equal(t, []string{"a 0", "b 0"}, bodies)
		require.Equal(t, int64(1), first.Attempt)
		require.True(t, c.ack(first.ID))
		require.True(t, c.ack(second.ID))
		f.nothing(c)

		crawl(t, s, 10, time.Hour, 2)
		var rest []string
		for range 3 {
			m := c.next()
			rest = append(rest, string(m.Body))
			require.True(t, c.ack(m.ID))
		}
		slices.Sort(rest)
		require.Equal(t, []string{"a 1", "a 2", "b 1"}, rest)
	})
}

func TestMessagesOfAKeyGoOneAtATime(t *testing.T) {
	onStores(t, oneAtATime)
}

func TestTopologyMessagesOfAKeyGoOneAtATime(t *testing.T) {
	t.Parallel()
	redistest.Topologies(t, func(t *testing.T, url string) { oneAtATime(t, newFleet(t, url)) })
}

func oneAtATime(t *testing.T, f *fleet) {
	s, other := f.sidecar(), f.sidecar()
	crawl(t, s, 1000, time.Second, 1)
	crawl(t, other, 1000, time.Second, 1)
	f.publishTo("a", 0, 4)
	c, d := connect(t, s), connect(t, other)
	c.subscribe(byHost())
	m := c.next()
	require.Equal(t, "a 0", string(m.Body))
	d.subscribe(byHost())
	f.nothing(c, d)

	t.Log("one that was nacked is the first again, and the others wait for it")
	require.Equal(t, api.StreamNackResult{Nacked: true, DelayMS: 1}, c.nack(m.ID, 1))
	again := either(c, d)
	require.Equal(t, "a 0", string(again.Body))
	require.Equal(t, int64(2), again.Attempt)
	require.True(t, c.ack(again.ID))
	require.Equal(t, "a 1", string(either(c, d).Body))
}

// either waits for a message to either of two consumers.
func either(c, d *consumer) api.StreamMessage {
	select {
	case m := <-c.sent:
		return m
	case m := <-d.sent:
		return m
	case <-time.After(patience):
		c.t.Fatal("no message comes")
		return api.StreamMessage{}
	}
}

func TestAMessageOfAClosedConnectionIsTheFirstOfItsKeyAgain(t *testing.T) {
	onStores(t, func(t *testing.T, f *fleet) {
		s, c := f.crawler(1000, time.Second)
		f.publishTo("a", 0, 2)
		c.subscribe(byHost())
		require.Equal(t, "a 0", string(c.next().Body))
		d := connect(t, s)
		d.subscribe(byHost())
		c.Close()
		m := d.next()
		require.Equal(t, "a 0", string(m.Body))
		require.Equal(t, int64(2), m.Attempt)
	})
}

func TestAMessageOfAKeyThatIsNotAcknowledgedIsADeadLetterAndTheNextGoes(t *testing.T) {
	onStores(t, func(t *testing.T, f *fleet) {
		_, c := f.crawler(1000, time.Second)
		f.publishTo("a", 0, 2)
		p := byHost()
		p.MaxDeliveries, p.VisibilityMS, p.Bind = 2, 100, api.BindTTL
		c.subscribe(p)
		require.Equal(t, "a 0", string(c.next().Body))
		again := c.next()
		require.Equal(t, "a 0", string(again.Body))
		require.Equal(t, int64(2), again.Attempt)
		require.Equal(t, "a 1", string(c.next().Body))
		letters := must(c, api.StreamDead, api.StreamDeadParams{Stream: "jobs"}).Letters
		require.Len(t, letters, 1)
		require.Equal(t, "max_deliveries", letters[0].Reason)
		require.Equal(t, again.ID, letters[0].MessageID)
	})
}

func TestAMessageThatIsNotAcknowledgedWaitsForItsLimitAgain(t *testing.T) {
	onStores(t, func(t *testing.T, f *fleet) {
		_, c := f.crawler(1, time.Hour)
		f.publishTo("a", 0, 1)
		p := byHost()
		p.VisibilityMS, p.Bind = 100, api.BindTTL
		c.subscribe(p)
		require.Equal(t, "a 0", string(c.next().Body))
		eventually(t, func() bool {
			group := must(c, api.StreamStats, api.StreamStatsParams{Stream: "jobs"}).Groups[0]
			return group.Pending == 0 && group.Parked == 1
		})
		f.nothing(c)
	})
}

func TestAMessageThatIsForAnotherGroupHasNoLane(t *testing.T) {
	onStores(t, func(t *testing.T, f *fleet) {
		_, c := f.crawler(1000, time.Second)
		f.publishTo("a", 0, 1)
		c.subscribe(byHost())
		require.True(t, c.ack(c.next().ID))
		other := api.StreamFetchParams{Stream: "jobs", Group: "other"}
		id := must(c, api.StreamFetch, other).Messages[0].ID
		require.True(t, must(c, api.StreamNack, api.StreamNackParams{Stream: "jobs", Group: "other", ID: id, Dead: true}).Dead)
		require.Equal(t, int64(1), must(c, api.StreamRedrive, api.StreamRedriveParams{Stream: "jobs", Count: 1}).Redriven)
		f.nothing(c)
		require.Equal(t, "a 0", string(must(c, api.StreamFetch, other).Messages[0].Body))
	})
}

func TestAMessageWithoutItsKeyIsADeadLetter(t *testing.T) {
	onStores(t, func(t *testing.T, f *fleet) {
		_, c := f.crawler(1000, time.Second)
		f.publish("no fields")
		f.publishTo("", 0, 1)
		f.publishTo("a\x00b", 0, 1)
		f.publishTo(string(make([]byte, api.MaxNameBytes+1)), 0, 1)
		f.publishTo("a", 0, 1)
		c.subscribe(byHost())
		require.Equal(t, "a 0", string(c.next().Body))
		letters := must(c, api.StreamDead, api.StreamDeadParams{Stream: "jobs"}).Letters
		require.Len(t, letters, 4)
		for _, l := range letters {
			require.Equal(t, "its field host is no key", l.Reason)
		}
	})
}

func TestMessagesOfAKeyOnTheDenyListAreDeadLetters(t *testing.T) {
	onStores(t, func(t *testing.T, f *fleet) {
		s := f.sidecar()
		require.NoError(t, s.Rules.Set([]api.Rule{{
			Name: "crawl", Algorithm: api.AlgorithmSlidingWindowLog, Limits: []api.Band{{Limit: 100, PeriodMS: 1000}},
			Deny: []api.Match{{Exact: "evil"}},
		}}, 1))
		f.publishTo("evil", 0, 1)
		f.publishTo("a", 0, 1)
		c := connect(t, s)
		c.subscribe(byHost())
		require.Equal(t, "a 0", string(c.next().Body))
		eventually(t, func() bool {
			letters := must(c, api.StreamDead, api.StreamDeadParams{Stream: "jobs"}).Letters
			return len(letters) == 1 && letters[0].Reason == "refused for good by deny_list"
		})
	})
}

func TestAGroupDeliversByOneField(t *testing.T) {
	onStores(t, func(t *testing.T, f *fleet) {
		s, other := f.sidecar(), f.sidecar()
		crawl(t, s, 1, time.Second, 1)
		crawl(t, other, 1, time.Second, 1)
		c, d := connect(t, s), connect(t, other)
		c.subscribe(byHost())
		must(c, api.StreamSubscribe, api.StreamSubscribeParams{Stream: "jobs", Group: "plain"})
		for _, x := range []struct {
			of        *consumer
			group     string
			rule, key string
			want      string
		}{
			{c, "workers", "", "", "key: the group workers of the stream jobs delivers by the field host; name it as key, with a rule, or name another group"},
			{d, "workers", "", "", "key: the group workers of the stream jobs delivers by the field host; name it as key, with a rule, or name another group"},
			{d, "workers", "crawl", "port", "key: the group workers of the stream jobs delivers by the field host; name it in place of port, or name another group"},
			{c, "plain", "crawl", "host", "key: the group plain of the stream jobs delivers in the order of the stream; leave rule and key out, or name another group"},
			{d, "plain", "crawl", "host", "key: the group plain of the stream jobs delivers in the order of the stream; leave rule and key out, or name another group"},
			{c, "new", "crawl", "", "key: it is missing; rule needs the field of messages that has the key, such as host, or leave both out"},
			{c, "new", "", "host", "rule: it is missing; key needs the rule that admits the messages of a key, or leave both out"},
		} {
			_, err := do(x.of, api.StreamSubscribe, api.StreamSubscribeParams{Stream: "jobs", Group: x.group, Rule: x.rule, Key: x.key})
			require.ErrorContains(t, err, x.want)
			_, err = do(x.of, api.StreamFetch, api.StreamFetchParams{Stream: "jobs", Group: x.group, Rule: x.rule, Key: x.key})
			require.ErrorContains(t, err, x.want)
		}
		_, err := do(c, api.StreamSubscribe, api.StreamSubscribeParams{Stream: "jobs", Group: "new", Rule: "crowl", Key: "host"})
		requireCode(t, err, api.NotFound)
	})
}

func TestFetchTakesMessagesThatTheLimitAdmits(t *testing.T) {
	onStores(t, func(t *testing.T, f *fleet) {
		_, c := f.crawler(1, time.Hour)
		f.publishTo("a", 0, 3)
		f.publishTo("b", 0, 1)
		p := api.StreamFetchParams{Stream: "jobs", Group: "workers", Rule: "crawl", Key: "host", Count: 10}
		got := must(c, api.StreamFetch, p).Messages
		require.Len(t, got, 2)
		for _, m := range got {
			require.True(t, c.ack(m.ID))
		}
		require.Empty(t, must(c, api.StreamFetch, p).Messages)
		f.publishTo("c", 0, 1)
		p.WaitMS = 60_000
		got = must(c, api.StreamFetch, p).Messages
		require.Len(t, got, 1)
		require.Equal(t, "c 0", string(got[0].Body))
	})
}

func TestMessagesThatWereDeletedWhileTheyWaitedAreCounted(t *testing.T) {
	onStores(t, func(t *testing.T, f *fleet) {
		_, c := f.crawler(1, time.Hour)
		f.publishTo("a", 0, 3)
		c.subscribe(byHost())
		m := c.next()
		require.True(t, c.ack(m.ID))
		f.nothing(c)
		must(c, api.StreamTrim, api.StreamTrimParams{Stream: "jobs", MaxLen: new(int64)})
		eventually(t, func() bool {
			return must(c, api.StreamStats, api.StreamStatsParams{Stream: "jobs"}).Trimmed == 2
		})
	})
}

// A lane whose message was acknowledged in Redis without a sidecar continues after a while.
func TestALaneContinuesAfterAnotherClientAcknowledgedItsFirstMessage(t *testing.T) {
	t.Parallel()
	luatest.EachStore(t, func(t *testing.T, s *luatest.Store) {
		p := aRun(s, "lane")
		luatest.Call(t, s, stream.OpenScript, p.now, stream.OpenIn{Keys: p.keys(), GroupKeys: p.of("g"), Group: "g", From: "0-0", Field: "host"})
		var ids []string
		for range 2 {
			text, err := stream.Packed(t.Context(), nil, map[string]string{"host": "a"})
			require.NoError(t, err)
			ids = append(ids, luatest.Call(t, s, stream.PublishScript, p.now, p.publishing(text, 0, 0)).ID)
		}
		heads := func() []stream.Head {
			return luatest.Call(t, s, stream.HeadsScript, p.now, stream.HeadsIn{
				Keys: p.keys(), GroupKeys: p.of("g"), Group: "g", Consumer: "me", Count: 1, Most: 10, Longest: 512, HoldMS: 1000,
			}).Heads
		}
		admit := stream.AdmitIn{Keys: p.keys(), GroupKeys: p.of("g"), Group: "g", Consumer: "me", Lane: "a", ID: ids[0], MaxDeliveries: 5}
		require.Equal(t, []stream.Head{{Lane: "a", ID: ids[0]}}, heads())
		require.True(t, luatest.Call(t, s, stream.AdmitScript, p.now, admit).Admitted)
		for range 3 {
			p.now += time.Minute.Microseconds()
			require.Empty(t, heads(), "the message is pending, however long that takes")
		}
		require.EqualValues(t, 1, s.Client.XAck(t.Context(), p.keys().Log, "g", ids[0]).Val())
		p.now += time.Minute.Microseconds()
		require.Equal(t, []stream.Head{{Lane: "a", ID: ids[1]}}, heads())
	})
}

// TestByHost runs a crawler: three sidecars, whose consumers limit their visits to each of many hosts. The first of the
// visits within a period may have been admitted before that period, so that the rule has a headroom of one.
func TestByHost(t *testing.T) {
	f := onRedis(t)
	const (
		hosts = 20
		large = 4000
		small = 1000 / (hosts - 1)
		limit = 2
	)
	f.publishTo("host0", 0, large)
	for h := 1; h < hosts; h++ {
		f.publishTo(fmt.Sprint("host", h), 0, small)
	}
	var sidecars []*coordtest.Sidecar
	for range 3 {
		s := f.sidecar()
		require.NoError(t, s.Rules.Set([]api.Rule{{
			Name: "crawl", Algorithm: api.AlgorithmSlidingWindowLog, Limits: []api.Band{{Limit: limit, PeriodMS: 1000}},
			HeadroomPercent: 100 / limit,
		}}, 1))
		sidecars = append(sidecars, s)
	}
	site := newSite()
	for _, s := range sidecars {
		for range 2 {
			c := connect(t, s)
			c.subscribe(byHost())
			go func() {
				for {
					select {
					case m := <-c.sent:
						site.visit(m)
						c.ack(m.ID)
					case <-t.Context().Done():
						return
					}
				}
			}()
		}
	}
	require.Eventually(t, func() bool { return site.done() == hosts-1 && site.visits("host0") < large/2 }, 10*patience, 10*time.Millisecond,
		"the small hosts are done while the large one waits")
	site.requireBound(t, limit, time.Second)
	for _, s := range sidecars {
		crawl(t, s, 10_000, time.Second, 2)
	}
	require.Eventually(t, func() bool { return site.done() == hosts }, 10*patience, 10*time.Millisecond)
	site.requireOrder(t)
}

// site logs the visits to each host.
type site struct {
	mu  sync.Mutex
	log map[string][]visit
}

type visit struct {
	at   time.Time
	body string
}

func newSite() *site { return &site{log: make(map[string][]visit)} }

func (s *site) visit(m api.StreamMessage) {
	s.mu.Lock()
	defer s.mu.Unlock()
	host := m.Fields["host"]
	s.log[host] = append(s.log[host], visit{time.Now(), string(m.Body)})
}

func (s *site) visits(host string) int {
	s.mu.Lock()
	defer s.mu.Unlock()
	return len(s.log[host])
}

// done counts the hosts whose pages were all visited.
func (s *site) done() (n int) {
	s.mu.Lock()
	defer s.mu.Unlock()
	for host, all := range s.log {
		want := 1000 / 19
		if host == "host0" {
			want = 4000
		}
		if len(all) == want {
			n++
		}
	}
	return n
}

// requireBound requires that no host was visited more often in any period than the limit allows.
func (s *site) requireBound(t *testing.T, limit int, per time.Duration) {
	t.Helper()
	s.mu.Lock()
	defer s.mu.Unlock()
	for host, all := range s.log {
		for i, v := range all {
			within := 0
			for _, later := range all[i:] {
				if later.at.Sub(v.at) < per {
					within++
				}
			}
			require.LessOrEqual(t, within, limit, "%s from visit %d", host, i)
		}
	}
}

// requireOrder requires that the pages of each host were visited in their order.
func (s *site) requireOrder(t *testing.T) {
	t.Helper()
	s.mu.Lock()
	defer s.mu.Unlock()
	for host, all := range s.log {
		for i, v := range all {
			require.Equal(t, fmt.Sprint(host, " ", i), v.body)
		}
	}
}

func TestMessagesThatWaitForTheirKeyAreCounted(t *testing.T) {
	onStores(t, func(t *testing.T, f *fleet) {
		_, c := f.crawler(1, time.Hour)
		f.publishTo("a", 0, 3)
		c.subscribe(byHost())
		c.next()
		group := must(c, api.StreamStats, api.StreamStatsParams{Stream: "jobs"}).Groups[0]
		require.Equal(t, int64(1), group.Pending)
		require.Equal(t, int64(2), group.Parked)
		require.Zero(t, group.Lag)
	})
}
