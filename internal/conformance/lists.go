package conformance

import (
	"context"
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/coxswain-sidecar/coxswain/client/api"
)

// looker is one test that lists objects and asks for explanations of them. The names of all objects that it makes begin
// with name.
type looker struct {
	t    *testing.T
	sys  RulesSystem
	a, b Client // of sidecar 0 and 1
	name string
}

// Lists tests what lists promise.
func Lists(t *testing.T, sys RulesSystem) {
	eachLooks(t, sys, map[string]func(looker){
		"locks are listed with those who wait":              locksAreListed,
		"semaphores are listed with who holds some":         semaphoresAreListed,
		"queues are listed with entries, leases or waiters": queuesAreListed,
		"breakers are listed by their state":                breakersAreListed,
		"the breakers of a pool's members are listed":       memberBreakersAreListed,
		"pools are listed with what their members are":      poolsAreListed,
		"streams are listed with what is left to be done":   streamsAreListed,
		"whatever their bytes, all are listed by pages":     allAreListed,
		"a cursor that no list answered is a mistake":       cursorMistakes,
		"each sidecar that uses the store is listed":        sidecarsAreListed,
	})
}

// eachLooks runs tests one after the other, each with clients of its own.
func eachLooks(t *testing.T, sys RulesSystem, tests map[string]func(looker)) {
	for name, test := range tests {
		t.Run(name, func(t *testing.T) {
			test(looker{t, sys, sys.Connect(t, 0, "a"), sys.Connect(t, 1, "b"), t.Name()})
		})
	}
}

// ask makes a call that must succeed.
func ask[P, R any](l looker, c Client, m api.Method[P, R], p P) R {
	l.t.Helper()
	r, err := do(patient(l.t), c, "", m, p)
	require.NoError(l.t, err, m.Name)
	return r
}

// listed returns the rows of this test, by their names, from all pages that page returns.
func listed[E any](l looker, name func(E) string, page func(cursor string) ([]E, string)) map[string]E {
	l.t.Helper()
	all := map[string]E{}
	for cursor, pages := "", 0; pages == 0 || cursor != ""; pages++ {
		var rows []E
		rows, cursor = page(cursor)
		for _, row := range rows {
			if strings.HasPrefix(name(row), l.name) {
				all[name(row)] = row
			}
		}
	}
	return all
}

func (l looker) locks(state string, count int64) map[string]api.LockEntry {
	return listed(l, func(e api.LockEntry) string { return e.Name }, func(cursor string) ([]api.LockEntry, string) {
		r := ask(l, l.b, api.LockList, api.LockListParams{Cursor: cursor, Count: count, State: state})
		return r.Locks, r.Cursor
	})
}

func (l looker) semaphores(state string, count int64) map[string]api.SemaphoreListed {
	return listed(l, func(e api.SemaphoreListed) string { return e.Name }, func(cursor string) ([]api.SemaphoreListed, string) {
		r := ask(l, l.b, api.SemaphoreList, api.SemaphoreListParams{Cursor: cursor, Count: count, State: state})
		return r.Semaphores, r.Cursor
	})
}

func (l looker) queues(state string, count int64) map[string]api.QueueListed {
	return listed(l, func(e api.QueueListed) string { return e.Queue }, func(cursor string) ([]api.QueueListed, string) {
		r := ask(l, l.b, api.QueueList, api.QueueListParams{Cursor: cursor, Count: count, State: state})
		return r.Queues, r.Cursor
	})
}

func (l looker) breakers(pool, state string, count int64) map[string]api.BreakerListed {
	return listed(l, func(e api.BreakerListed) string { return e.Name }, func(cursor string) ([]api.BreakerListed, string) {
		r := ask(l, l.b, api.BreakerList, api.BreakerListParams{Pool: pool, Cursor: cursor, Count: count, State: state})
		return r.Breakers, r.Cursor
	})
}

func (l looker) pools(state string, count int64) map[string]api.PoolListed {
	return listed(l, func(e api.PoolListed) string { return e.Pool }, func(cursor string) ([]api.PoolListed, string) {
		r := ask(l, l.b, api.PoolPools, api.PoolPoolsParams{Cursor: cursor, Count: count, State: state})
		return r.Pools, r.Cursor
	})
}

func (l looker) streams(state string, count int64) map[string]api.StreamListed {
	return listed(l, func(e api.StreamListed) string { return e.Stream }, func(cursor string) ([]api.StreamListed, string) {
		r := ask(l, l.b, api.StreamList, api.StreamListParams{Cursor: cursor, Count: count, State: state})
		return r.Streams, r.Cursor
	})
}

// background makes a call that waits until the test ends, and returns as soon as met reports that it waits.
func background[P, R any](l looker, c Client, m api.Method[P, R], p P, met func() bool) {
	l.t.Helper()
	ctx, cancel := context.WithCancel(patient(l.t))
	ended := make(chan struct{})
	go func() {
		defer close(ended)
		_, _ = do(ctx, c, "", m, p) // it is cancelled
	}()
	l.t.Cleanup(func() { cancel(); <-ended })
	require.Eventually(l.t, met, 2*patience, 10*time.Millisecond, "%s does not wait", m.Name)
}

func locksAreListed(l looker) {
	held, waited := l.name+" held", l.name+" waited"
	for _, name := range []string{held, waited} {
		ask(l, l.a, api.LockAcquire, api.LockAcquireParams{Name: name, Meta: "m"})
	}
	background(l, l.b, api.LockAcquire, api.LockAcquireParams{Name: waited, WaitMS: 60_000}, func() bool {
		return ask(l, l.a, api.LockGet, api.LockGetParams{Name: waited}).Waiting == 1
	})
	all := l.locks("", 100)
	require.Len(l.t, all, 2)
	require.Equal(l.t, []int64{0, 1}, []int64{all[held].Waiting, all[waited].Waiting})
	require.Equal(l.t, []string{"a", "m"}, []string{all[waited].HeldBy.Client, all[waited].HeldBy.Meta})
	require.Len(l.t, l.locks("held", 100), 2)
	require.Equal(l.t, map[string]api.LockEntry{waited: all[waited]}, l.locks("waited", 100))
}

func semaphoresAreListed(l looker) {
	some, full := l.name+" some", l.name+" full"
	take := func(name string, limit int64) {
		r := ask(l, l.a, api.SemaphoreAcquire, api.SemaphoreAcquireParams{Name: name, Limit: limit})
		require.True(l.t, r.Acquired)
	}
	take(some, 9)
	for range 5 {
		take(full, 5)
	}
	background(l, l.b, api.SemaphoreAcquire, api.SemaphoreAcquireParams{Name: full, Limit: 5, WaitMS: 60_000}, func() bool {
		return ask(l, l.a, api.SemaphoreGet, api.SemaphoreGetParams{Name: full}).Waiting == 1
	})
	freed := l.name + " freed"
	r := ask(l, l.a, api.SemaphoreAcquire, api.SemaphoreAcquireParams{Name: freed, Limit: 1})
	ask(l, l.a, api.SemaphoreRelease, api.SemaphoreReleaseParams{Name: freed, Token: r.Token})

	all := l.semaphores("", 100)
	require.Len(l.t, all, 2, "one of which nothing is held is not listed")
	require.Equal(l.t, []int64{1, 0, 5, 1}, []int64{all[some].Held, all[some].Waiting, all[full].Held, all[full].Waiting})
	require.Len(l.t, all[some].Holders, 1)
	require.Len(l.t, all[full].Holders, 3, "the first to end")
	require.Equal(l.t, "a", all[full].Holders[0].HeldBy.Client)
	require.Len(l.t, l.semaphores("held", 100), 2)
	require.Equal(l.t, map[string]api.SemaphoreListed{full: all[full]}, l.semaphores("waited", 100))
}

func queuesAreListed(l looker) {
	full, leased, empty := l.name+" full", l.name+" leased", l.name+" empty"
	for _, queue := range []string{full, full, leased} {
		ask(l, l.a, api.QueueEnqueue, api.QueueEnqueueParams{Queue: queue, ID: fmt.Sprint(queue, l.sys.Now().UnixNano())})
		l.sys.Advance(time.Second)
	}
	took := ask(l, l.a, api.QueueDequeue, api.QueueDequeueParams{Queue: leased, LeaseMS: 60_000})
	require.True(l.t, took.Found)
	require.Empty(l.t, l.queues("", 100)[empty])
	background(l, l.b, api.QueueDequeue, api.QueueDequeueParams{Queue: empty, WaitMS: 60_000}, func() bool {
		return ask(l, l.a, api.QueueStats, api.QueueParams{Queue: empty}).Waiting == 1
	})
	all := l.queues("", 100)
	require.Len(l.t, all, 3)
	require.Equal(l.t, api.QueueListed{Queue: full, Depth: 2, OldestMS: 3000, Holders: nil}, plainQueue(all[full]))
	require.Equal(l.t, []int64{0, 1, 0}, []int64{all[leased].Depth, all[leased].Leased, all[leased].Waiting})
	holder := all[leased].Holders[0]
	require.Equal(l.t, took.ID, holder.ID)
	require.Equal(l.t, []int64{60_000, 1}, []int64{holder.LeftMS, holder.Attempt})
	require.Equal(l.t, api.QueueListed{Queue: empty, Waiting: 1}, plainQueue(all[empty]))
	for state, want := range map[string][]string{"entries": {full}, "leased": {leased}, "empty": {empty, leased}} {
		require.ElementsMatch(l.t, want, keysOf(l.queues(state, 100)), state)
	}
}

// plainQueue replaces an empty list by nil, since a client may decode either.
func plainQueue(q api.QueueListed) api.QueueListed {
	if len(q.Holders) == 0 {
		q.Holders = nil
	}
	return q
}

func keysOf[E any](m map[string]E) (all []string) {
	for k := range m {
		all = append(all, k)
	}
	return all
}

func (l looker) fail(name, pool string, times int) {
	for range times {
		ask(l, l.a, api.BreakerReport, api.BreakerReportParams{Name: name, Pool: pool, Policy: quick, Outcome: api.OutcomeFailure})
	}
}

func breakersAreListed(l looker) {
	closed, open, half, forced := l.name+" closed", l.name+" open", l.name+" half", l.name+" forced"
	l.fail(half, "", 3)
	l.sys.Advance(11 * time.Second)
	require.True(l.t, ask(l, l.a, api.BreakerAllow, api.BreakerAllowParams{Name: half, Policy: quick}).Allowed)
	l.fail(closed, "", 2)
	l.fail(open, "", 3)
	ask(l, l.a, api.BreakerForce, api.BreakerForceParams{Name: forced, State: "open"})
	all := l.breakers("", "", 100)
	states := map[string]string{}
	for name, b := range all {
		states[name] = b.State
	}
	require.Equal(l.t, map[string]string{closed: "closed", open: "open", half: "half_open", forced: "forced_open"}, states)
	require.Equal(l.t, []any{int64(2), "default"}, []any{all[closed].Failures, all[closed].Policy})
	require.Equal(l.t, int64(1), all[half].Probes)
	require.InDelta(l.t, 10_000, all[open].OpenForMS, 500, "with a jitter of 5 %")
	require.Equal(l.t, l.sys.Now().UnixMilli(), all[open].ChangedAtMS)
	for name, state := range states {
		require.Equal(l.t, map[string]api.BreakerListed{name: all[name]}, l.breakers("", state, 100))
	}
	require.ElementsMatch(l.t, []string{open, half, forced}, keysOf(l.breakers("", api.BreakerNotClosed, 100)))
}

func memberBreakersAreListed(l looker) {
	pool := l.name + " pool"
	var want []string
	for i := range 40 {
		name := fmt.Sprint(l.name, i)
		l.put(pool, name)
		l.fail(name, pool, 1+2*(i%2))
		if i%2 == 1 {
			want = append(want, name)
		}
	}
	for _, count := range []int64{0, 1, 1000} {
		require.Len(l.t, l.breakers(pool, "", count), 40)
		require.ElementsMatch(l.t, want, keysOf(l.breakers(pool, "open", count)))
	}
	require.Empty(l.t, l.breakers("", "", 100), "they are no breakers of their own")
	require.Equal(l.t, int64(20), l.pools("", 100)[pool].Open)
}

func (l looker) put(pool string, ids ...string) {
	in := api.PoolPutParams{Pool: pool}
	for _, id := range ids {
		in.Members = append(in.Members, api.PoolMember{ID: id})
	}
	ask(l, l.a, api.PoolPut, in)
}

func poolsAreListed(l looker) {
	busy, idle := l.name+" busy", l.name+" idle"
	l.put(busy, "x", "y", "z")
	l.put(idle, "x")
	ask(l, l.a, api.PoolBan, api.PoolBanParams{Pool: busy, ID: "z"})
	first := ask(l, l.a, api.PoolAcquire, api.PoolAcquireParams{Pool: busy, LeaseMS: 30_000})
	second := ask(l, l.a, api.PoolAcquire, api.PoolAcquireParams{Pool: busy})
	background(l, l.b, api.PoolAcquire, api.PoolAcquireParams{Pool: busy, WaitMS: 60_000}, func() bool {
		return ask(l, l.a, api.PoolStats, api.PoolStatsParams{Pool: busy}).Waiting == 1
	})
	all := l.pools("", 100)
	require.Len(l.t, all, 2)
	got := all[busy]
	require.Equal(l.t, []int64{3, 2, 0, 1, 0, 0, 1}, []int64{got.Total, got.Live, got.Cooling, got.Banned, got.Free, got.Open, got.Lines})
	require.Equal(l.t, []string{first.ID, second.ID}, []string{got.Holders[0].ID, got.Holders[1].ID}, "the first to end first")
	require.Equal(l.t, "a", got.Holders[0].HeldBy.Client)
	require.Equal(l.t, []int64{1, 1, 0}, []int64{all[idle].Total, all[idle].Free, all[idle].Lines})
	for _, state := range []string{"exhausted", "waited"} {
		require.Equal(l.t, []string{busy}, keysOf(l.pools(state, 100)), state)
	}
	ask(l, l.a, api.PoolRemove, api.PoolRemoveParams{Pool: idle, IDs: []string{"x"}})
	require.Equal(l.t, []string{busy}, keysOf(l.pools("", 100)), "one without members is none")
}

func streamsAreListed(l looker) {
	plain, behind, dead, later := l.name+" plain", l.name+" behind", l.name+" dead", l.name+" later"
	for _, stream := range []string{plain, behind, dead} {
		ask(l, l.a, api.StreamPublish, api.StreamPublishParams{Stream: stream, Body: []byte("x")})
	}
	ask(l, l.a, api.StreamPublish, api.StreamPublishParams{Stream: later, Body: []byte("x"), DelayMS: 3_600_000})
	for _, stream := range []string{behind, dead} {
		r := ask(l, l.a, api.StreamFetch, api.StreamFetchParams{Stream: stream, Group: "g", Start: "first", Count: 1})
		require.Len(l.t, r.Messages, 1)
		if stream == dead {
			ask(l, l.a, api.StreamNack, api.StreamNackParams{Stream: stream, Group: "g", ID: r.Messages[0].ID, Dead: true})
		}
	}
	all := l.streams("", 100)
	require.ElementsMatch(l.t, []string{plain, behind, dead, later}, keysOf(all))
	require.Equal(l.t, []int64{1, 0, 0, 1, 1}, []int64{
		all[plain].Length, all[plain].Delayed, all[later].Length, all[later].Delayed, all[dead].Dead,
	})
	require.Equal(l.t, []any{"g", int64(1)}, []any{all[behind].Groups[0].Group, all[behind].Groups[0].Pending})
	require.Equal(l.t, []string{behind}, keysOf(l.streams("behind", 100)))
	require.Equal(l.t, []string{dead}, keysOf(l.streams("dead", 100)))
}

func allAreListed(l looker) {
	var want []string
	for i, n := range names()[:8] {
		name := fmt.Sprint(l.name, i, n)
		want = append(want, name)
		ask(l, l.a, api.LockAcquire, api.LockAcquireParams{Name: name})
		ask(l, l.a, api.SemaphoreAcquire, api.SemaphoreAcquireParams{Name: name, Limit: 1})
		ask(l, l.a, api.QueueEnqueue, api.QueueEnqueueParams{Queue: name, ID: "x"})
		l.fail(name, "", 1)
		l.put(name, "x")
		ask(l, l.a, api.StreamPublish, api.StreamPublishParams{Stream: name, Body: []byte("x")})
	}
	for _, count := range []int64{0, 50, 1000} {
		for noun, got := range map[string][]string{
			"lock": keysOf(l.locks("", count)), "semaphore": keysOf(l.semaphores("", count)), "queue": keysOf(l.queues("", count)),
			"breaker": keysOf(l.breakers("", "", count)), "pool": keysOf(l.pools("", count)), "stream": keysOf(l.streams("", count)),
		} {
			require.ElementsMatch(l.t, want, got, noun)
		}
	}
}

func cursorMistakes(l looker) {
	for _, cursor := range []string{"x", "-1.0", "16384.0", "0.x"} {
		for method, call := range map[string]func() error{
			"semaphore.list":   mistaken(l, api.SemaphoreList, api.SemaphoreListParams{Cursor: cursor}),
			"queue.list":       mistaken(l, api.QueueList, api.QueueListParams{Cursor: cursor}),
			"breaker.list":     mistaken(l, api.BreakerList, api.BreakerListParams{Cursor: cursor}),
			"pool.pools":       mistaken(l, api.PoolPools, api.PoolPoolsParams{Cursor: cursor}),
			"stream.list":      mistaken(l, api.StreamList, api.StreamListParams{Cursor: cursor}),
			"inspect.sidecars": mistaken(l, api.InspectSidecars, api.InspectSidecarsParams{Cursor: cursor}),
		} {
			err := call()
			require.ErrorIs(l.t, err, api.InvalidArgument, method)
			require.ErrorContains(l.t, err, "cursor: not one that "+method+" answered")
		}
	}
	err := mistaken(l, api.BreakerList, api.BreakerListParams{Pool: "p", Cursor: "0.1"})()
	require.ErrorIs(l.t, err, api.InvalidArgument)
}

func mistaken[P, R any](l looker, m api.Method[P, R], p P) func() error {
	return func() error {
		_, err := do(patient(l.t), l.a, "", m, p)
		return err
	}
}

// sidecars returns the sidecars that are registered in the store, once both of the system are.
func (l looker) sidecars() (all []api.InspectSidecar) {
	l.t.Helper()
	require.Eventually(l.t, func() bool {
		all = nil
		for cursor, pages := "", 0; pages == 0 || cursor != ""; pages++ {
			r := ask(l, l.a, api.InspectSidecars, api.InspectSidecarsParams{Cursor: cursor, Count: 1})
			all, cursor = append(all, r.Sidecars...), r.Cursor
		}
		return len(all) == 2
	}, 2*patience, 10*time.Millisecond)
	return all
}

func sidecarsAreListed(l looker) {
	all := l.sidecars()
	require.NotEqual(l.t, all[0].Sidecar, all[1].Sidecar)
	require.NotEqual(l.t, all[0].Self, all[1].Self, "one of them answers")
	for _, s := range all {
		require.Equal(l.t, []string{"pod", "test"}, []string{s.Pod, s.Version})
	}
	require.Equal(l.t, int64(2), ask(l, l.b, api.InspectSidecars, api.InspectSidecarsParams{}).Total)
}
