package stream_test

import (
	"context"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/coxswain-sidecar/coxswain/client/api"
	"github.com/coxswain-sidecar/coxswain/internal/coord/stream"
)

func (c *consumer) fetch(p api.StreamFetchParams) (ids []string) {
	c.t.Helper()
	p.Stream, p.Group = "jobs", "workers"
	for _, m := range must(c, api.StreamFetch, p).Messages {
		ids = append(ids, m.ID)
	}
	return ids
}

func TestFetchTakesAvailableMessages(t *testing.T) {
	onStores(t, func(t *testing.T, f *fleet) {
		s := f.sidecar()
		c := connect(t, s)
		require.Empty(t, c.fetch(api.StreamFetchParams{Count: 10}))
		ids := f.publish(numbered(40)...)
		require.Equal(t, ids[:1], c.fetch(api.StreamFetchParams{}))
		require.Equal(t, ids[1:31], c.fetch(api.StreamFetchParams{Count: 30}))
		require.Equal(t, ids[31:], c.fetch(api.StreamFetchParams{Count: 30}))
		require.Equal(t, api.StreamNackResult{Nacked: true, DelayMS: 1}, c.nack(ids[3], 1))
		eventually(t, func() bool {
			got := c.fetch(api.StreamFetchParams{})
			return len(got) == 1 && got[0] == ids[3]
		})
		require.True(t, c.ack(ids[3]))

		got := make(chan []string, 1)
		go func() { got <- c.fetch(api.StreamFetchParams{Count: 5, WaitMS: 60_000}) }()
		eventually(t, func() bool { return stream.Reading(s.Streams, "jobs", "workers") })
		late := f.publish("late")
		require.Equal(t, late, <-got)
		require.Empty(t, c.fetch(api.StreamFetchParams{WaitMS: 1}))
	})
}

func TestAnAnswerOfFetchIsBounded(t *testing.T) {
	onStores(t, func(t *testing.T, f *fleet) {
		c, big := connect(t, f.sidecar()), strings.Repeat("x", 200<<10)
		ids := f.publish(append(numbered(100), big, big, big, big, big)...)
		var got []string
		for len(got) < len(ids) {
			r := must(c, api.StreamFetch, api.StreamFetchParams{Stream: "jobs", Group: "workers", Count: 256})
			bytes := 0
			for _, m := range r.Messages {
				bytes += len(m.Body)
				got = append(got, m.ID)
				require.EqualValues(t, 1, m.Attempt)
			}
			require.LessOrEqual(t, bytes, 512<<10)
		}
		require.ElementsMatch(t, ids, got)
	})
}

func TestFetchedMessagesAreBoundToTheSessionIfAsked(t *testing.T) {
	onStores(t, func(t *testing.T, f *fleet) {
		a, b := connect(t, f.sidecar()), connect(t, f.sidecar())
		ids := f.publish("bound", "free", "unread")
		require.Equal(t, ids[:1], a.fetch(api.StreamFetchParams{}))
		require.Equal(t, ids[1:2], a.fetch(api.StreamFetchParams{Bind: "ttl", VisibilityMS: 1000}))
		a.Close()
		b.subscribe(api.StreamSubscribeParams{VisibilityMS: 1000})
		attempts := map[string]int64{}
		for range 3 {
			m := b.next()
			attempts[m.ID] = m.Attempt
		}
		require.Equal(t, map[string]int64{ids[0]: 2, ids[1]: 2, ids[2]: 1}, attempts)
	})
}

func TestAFetchThatIsCancelledTakesNothing(t *testing.T) {
	onStores(t, func(t *testing.T, f *fleet) {
		s := f.sidecar()
		c := connect(t, s)
		ctx, cancel := context.WithCancel(t.Context())
		ended := make(chan error, 1)
		go func() {
			p, r := api.StreamFetchParams{Stream: "jobs", Group: "workers", WaitMS: 60_000}, api.StreamFetchResult{}
			ended <- c.Do(ctx, "", api.StreamFetch.Name, &p, &r)
		}()
		eventually(t, func() bool { return stream.Reading(s.Streams, "jobs", "workers") })
		cancel()
		requireCode(t, <-ended, api.Cancelled)
		ids := f.publish("one")
		other := connect(t, f.sidecar())
		other.subscribe(api.StreamSubscribeParams{})
		m := other.next()
		require.Equal(t, ids[0], m.ID)
		require.EqualValues(t, 1, m.Attempt)
	})
}
