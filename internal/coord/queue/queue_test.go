package queue_test

import (
	"context"
	"fmt"
	"sync/atomic"
	"testing"
	"time"

	"github.com/redis/go-redis/v9"
	"github.com/stretchr/testify/require"

	"github.com/coxswain-sidecar/coxswain/client/api"
	"github.com/coxswain-sidecar/coxswain/internal/coord"
	"github.com/coxswain-sidecar/coxswain/internal/coord/queue"
	"github.com/coxswain-sidecar/coxswain/internal/coordtest"
	"github.com/coxswain-sidecar/coxswain/internal/lua"
	"github.com/coxswain-sidecar/coxswain/internal/luatest"
	"github.com/coxswain-sidecar/coxswain/internal/redistest"
)

func enqueue(t *testing.T, s *coordtest.Sidecar, ids ...string) {
	t.Helper()
	for _, id := range ids {
		_, err := s.Queues.Enqueue(t.Context(), coord.Caller{}, &api.QueueEnqueueParams{
			Queue: "q", ID: id, TTLMS: time.Hour.Milliseconds(), Body: []byte("of " + id),
		})
		require.NoError(t, err)
	}
}

// leased makes the params of a dequeue that does not wait; a lease of 0 means none.
func leased(d time.Duration) *api.QueueDequeueParams {
	return &api.QueueDequeueParams{Queue: "q", LeaseMS: d.Milliseconds(), Bind: api.BindTTL}
}

func dequeue(t *testing.T, s *coordtest.Sidecar, c coord.Caller, lease time.Duration) api.QueueDequeueResult {
	t.Helper()
	d, err := s.Queues.Dequeue(t.Context(), c, leased(lease))
	require.NoError(t, err)
	return d
}

// An enqueue whose reply was lost is repeated after its entry was acknowledged.
func TestAnEnqueueIsRunOnce(t *testing.T) {
	t.Parallel()
	s, _ := coordtest.OnRedis(t)
	again := coord.Caller{RequestID: "the same", Fingerprint: "f"}
	e := &api.QueueEnqueueParams{Queue: "q", ID: "1", TTLMS: time.Hour.Milliseconds()}
	first, err := s.Queues.Enqueue(t.Context(), again, e)
	require.NoError(t, err)
	require.Equal(t, api.QueueEnqueueResult{Enqueued: true, Position: 1, Depth: 1}, first)
	require.Equal(t, "1", dequeue(t, s, coord.Caller{}, 0).ID)
	second, err := s.Queues.Enqueue(t.Context(), again, e)
	require.NoError(t, err)
	require.Equal(t, api.QueueEnqueueResult{Enqueued: true, Position: 1, Depth: 1, Replayed: true}, second)
	require.False(t, dequeue(t, s, coord.Caller{}, 0).Found, "it is not done twice")
}

// Runs of the script, each of bounded size, skip the entries within one call.
func TestTwentyThousandExpiredEntriesAreSkippedInOneCall(t *testing.T) {
	t.Parallel()
	const dead, most = 20_000, 1000
	prefix, store := redistest.Prefix(t), redistest.Client(t)
	keys := coord.NewKeys(prefix, "")
	var now atomic.Int64
	now.Store(1_700_000_000_000_000)
	var look atomic.Bool
	var depths []int64 // before each run, and after the last
	depth := func() {
		depths = append(depths, store.ZCard(context.Background(), queue.KeysOf(keys, "q").Order).Val())
	}
	s := coordtest.New(t, luatest.Open(t, lua.Options{URL: redistest.URL(t), Clock: func() int64 {
		if look.Load() {
			depth()
		}
		return now.Load()
	}}), prefix)
	ins := make([]queue.EnqueueIn, dead)
	for i := range ins {
		ins[i] = queue.EnqueueIn{
			Queue: queue.KeysOf(keys, "q"), LineKeys: queue.LineOf(keys, "q"), ID: fmt.Sprint(i), TTLMS: 60_000, Body: "b",
		}
	}
	_, errs := lua.Batch(t.Context(), s.Runner, queue.EnqueueScript, ins)
	for _, err := range errs {
		require.NoError(t, err)
	}
	enqueue(t, s, "live")
	now.Add(time.Minute.Microseconds())

	look.Store(true)
	d := dequeue(t, s, coord.Caller{}, 0)
	depth()
	look.Store(false)
	require.Equal(t, []any{true, "live", int64(1), int64(0)}, []any{d.Found, d.ID, d.Attempt, d.Depth})
	require.EqualValues(t, dead+1, depths[0])
	require.Zero(t, depths[len(depths)-1])
	for i := range depths[1:] {
		require.LessOrEqual(t, depths[i]-depths[i+1], int64(most), "run %d", i)
	}
	for _, key := range []string{queue.KeysOf(keys, "q").Entries, queue.KeysOf(keys, "q").Bodies, queue.KeysOf(keys, "q").Expiry} {
		require.Zero(t, store.Exists(t.Context(), key).Val(), "%s is left", key)
	}
}

// queued is a queue, a sidecar whose proxy to Redis loses replies, and another sidecar without a proxy.
type queued struct {
	way       coordtest.Proxy
	s, beside *coordtest.Sidecar
	store     *redis.Client
	order     string
}

func queueBehindProxy(t *testing.T) queued {
	t.Helper()
	prefix, way := redistest.Prefix(t), coordtest.ThroughProxy(t)
	q := queued{
		// One connection, so that it is set up before the proxy loses replies, and a timeout so long that only Heal
		// ends the wait for a reply.
		way: way, s: coordtest.New(t, luatest.Open(t, lua.Options{URL: way.URL(), CommandTimeout: 20 * time.Second, MinIdle: 1, MaxConns: 1}), prefix),
		beside: coordtest.New(t, luatest.Open(t, lua.Options{URL: redistest.URL(t)}), prefix),
		store:  redistest.Client(t), order: queue.KeysOf(coord.NewKeys(prefix, ""), "q").Order,
	}
	enqueue(t, q.s, "1", "2")
	return q
}

// until waits until this many entries wait in the queue.
func (q queued) until(t *testing.T, depth int64) {
	t.Helper()
	coordtest.Until(t, func() bool { return q.store.ZCard(t.Context(), q.order).Val() == depth })
}

func TestALostReplyToADequeueIsFetched(t *testing.T) {
	t.Parallel()
	for _, lease := range []time.Duration{0, time.Hour} {
		t.Run(lease.String(), func(t *testing.T) {
			t.Parallel()
			q := queueBehindProxy(t)
			q.way.Mute()
			got := make(chan api.QueueDequeueResult, 1)
			ctx, cancel := context.WithTimeout(t.Context(), 30*time.Second)
			defer cancel()
			go func() {
				d, err := q.s.Queues.Dequeue(ctx, coord.Caller{}, leased(lease))
				if err != nil {
					t.Error(err)
				}
				got <- d
			}()
			q.until(t, 1) // the script has run, and its reply has not come
			q.way.Heal()
			d := <-got
			require.Equal(t, []any{true, "1", "of 1", int64(1)}, []any{d.Found, d.ID, string(d.Body), d.Attempt})
			require.Equal(t, "2", dequeue(t, q.beside, coord.Caller{}, lease).ID, "nothing is lost, and nothing comes twice")
			require.False(t, dequeue(t, q.beside, coord.Caller{}, lease).Found)
		})
	}
}

func TestAnEntryWhoseCallerEndedBeforeTheAnswerIsReturned(t *testing.T) {
	t.Parallel()
	for _, lease := range []time.Duration{0, time.Hour} {
		t.Run(lease.String(), func(t *testing.T) {
			t.Parallel()
			q := queueBehindProxy(t)
			q.way.Mute()
			ctx, cancel := context.WithCancel(t.Context())
			done := make(chan error, 1)
			go func() {
				_, err := q.s.Queues.Dequeue(ctx, coord.Caller{}, leased(lease))
				done <- err
			}()
			q.until(t, 1)
			cancel()
			q.way.Heal()
			requireMaybe(t, <-done)
			q.until(t, 2)
			for _, want := range []string{"1", "2"} {
				d := dequeue(t, q.beside, coord.Caller{}, lease)
				require.Equal(t, []any{want, "of " + want}, []any{d.ID, string(d.Body)})
			}
			require.False(t, dequeue(t, q.beside, coord.Caller{}, lease).Found)
		})
	}
}

func requireMaybe(t *testing.T, err error) {
	t.Helper()
	var e *coord.Error
	require.ErrorAs(t, err, &e)
	require.True(t, e.MaybeExecuted)
}

// TestAnUnansweredDequeueIsRepeatedElsewhere repeats a call as a client does whose sidecar does not answer.
func TestAnUnansweredDequeueIsRepeatedElsewhere(t *testing.T) {
	t.Parallel()
	for _, lease := range []time.Duration{0, time.Hour} {
		t.Run(lease.String(), func(t *testing.T) {
			t.Parallel()
			q := queueBehindProxy(t)
			who := coord.Caller{RequestID: "id", Fingerprint: "f"}
			q.way.Mute()
			done := make(chan error, 1)
			ctx, cancel := context.WithTimeout(t.Context(), 30*time.Second)
			defer cancel()
			go func() {
				_, err := q.s.Queues.Dequeue(ctx, who, leased(lease))
				done <- err
			}()
			q.until(t, 1)
			d := dequeue(t, q.beside, who, lease)
			require.Equal(t, []any{true, "1", "of 1", int64(1)}, []any{d.Replayed, d.ID, string(d.Body), d.Attempt})
			require.Equal(t, "2", dequeue(t, q.beside, coord.Caller{}, lease).ID)
			require.False(t, dequeue(t, q.beside, coord.Caller{}, lease).Found)
			q.way.Heal()
			<-done // whatever its result is
			q.until(t, 0)
			p, err := q.beside.Queues.Position(t.Context(), coord.Caller{}, &api.QueueEntryParams{Queue: "q", ID: "1"})
			require.NoError(t, err)
			want := queue.EntryAbsent
			if lease > 0 {
				want = queue.EntryLeased
			}
			require.Equal(t, want, p.State, "it is the other's, whatever the first one heard")
		})
	}
}

// TestAnEntryTakenForACallThatEndedIsReturned ends the call just as its script runs.
func TestAnEntryTakenForACallThatEndedIsReturned(t *testing.T) {
	t.Parallel()
	redistest.Stores(t, func(t *testing.T, url string) {
		bound, waits := leased(time.Hour), leased(0)
		bound.Bind, waits.WaitMS = api.BindSession, time.Minute.Milliseconds()
		for _, p := range []*api.QueueDequeueParams{leased(0), leased(time.Hour), bound, waits} {
			s, before := coordtest.Hooked(t, url)
			enqueue(t, s, "1", "2")
			ctx, cancel := context.WithCancel(t.Context())
			before(1, cancel)
			_, err := s.Queues.Dequeue(ctx, coordtest.OpenSession(t, s).Caller(), p)
			require.Error(t, err, "%+v", p)
			place, err := s.Queues.Position(t.Context(), coord.Caller{}, &api.QueueEntryParams{Queue: "q", ID: "1"})
			require.NoError(t, err)
			require.Equal(t, api.QueuePositionResult{State: queue.EntryWaiting, Position: 1, Depth: 2}, place, "%+v", p)
			require.Zero(t, s.Leases.Held())
		}
	})
}
