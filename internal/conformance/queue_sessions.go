package conformance

import (
	"context"
	"fmt"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/coxswain-sidecar/coxswain/client/api"
)

func closedIsReturned(q queuer) {
	q.put(q.a, "1", minute)
	q.put(q.a, "2", minute)
	gone := q.sys.Connect(q.t, 0, "gone")
	q.get(gone, "1", api.QueueDequeueParams{LeaseMS: 86_400_000, Bind: api.BindSession})
	gone.Close()
	q.until(func(s api.QueueStatsResult) bool { return s.Depth == 2 })
	require.EqualValues(q.t, 2, q.get(q.b, "1", api.QueueDequeueParams{}).Attempt)
}

func lostLeaseIsTold(q queuer) {
	q.put(q.a, "1", 2*time.Hour)
	r := q.get(q.a, "1", api.QueueDequeueParams{LeaseMS: 86_400_000, Bind: api.BindSession})
	require.True(q.t, q.release(q.b, r.Lease).Released)
	x, err := do(patient(q.t), q.a, "", api.QueueRenew, api.QueueRenewParams{Queue: q.name, Lease: r.Lease, LeaseMS: 1000})
	require.NoError(q.t, err)
	require.False(q.t, x.Renewed)
	select {
	case lost := <-q.a.Lost():
		require.Equal(q.t, api.LostParams{Name: q.name, Token: r.Lease, Reason: "expired"}, lost)
	case <-time.After(patience):
		q.t.Fatal("no queue.lost")
	}
}

func repeatedIsTheSame(q queuer) {
	for _, lease := range []int64{0, 5000} {
		id := fmt.Sprint("id", lease)
		p := api.QueueDequeueParams{LeaseMS: lease}
		require.False(q.t, q.try(q.a, id, p).Found, "what found nothing is asked anew")
		q.put(q.a, "1", minute)
		q.put(q.a, "2", minute)
		first := q.try(q.a, id, p)
		require.Equal(q.t, "1", first.ID)
		again := q.try(q.b, id, p)
		require.True(q.t, again.Replayed)
		again.Replayed = false
		require.Equal(q.t, first, again, "its reply was lost")
		if lease > 0 {
			require.True(q.t, q.ack(q.a, again.Lease).Acked)
			require.Equal(q.t, api.QueueDequeueResult{Replayed: true, Reason: "released"}, q.try(q.a, id, p))
		}
		q.get(q.b, "2", api.QueueDequeueParams{})
		_, err := do(patient(q.t), q.a, id, api.QueueDequeue, api.QueueDequeueParams{Queue: q.name, LeaseMS: 777})
		require.ErrorIs(q.t, err, api.Conflict)
	}
	q.put(q.a, "3", minute)
	require.Equal(q.t, "3", q.try(q.a, "late", api.QueueDequeueParams{LeaseMS: 1000}).ID)
	q.sys.Advance(time.Second)
	require.Equal(q.t, api.QueueDequeueResult{Replayed: true, Reason: "expired"}, q.try(q.a, "late", api.QueueDequeueParams{LeaseMS: 1000}))
}

func repeatedMoves(q queuer) {
	from := q.sys.Connect(q.t, 0, "from")
	q.put(q.a, "marker", minute)
	q.get(from, "marker", api.QueueDequeueParams{LeaseMS: 86_400_000, Bind: api.BindSession})
	q.put(q.a, "1", minute)
	p := api.QueueDequeueParams{LeaseMS: 86_400_000, Bind: api.BindSession}
	first := q.try(from, "id", p)
	require.Equal(q.t, "1", first.ID)
	again := q.try(q.b, "id", p)
	require.Equal(q.t, first.Lease, again.Lease)
	from.Close()
	q.until(func(s api.QueueStatsResult) bool { return s.Depth == 1 }) // the marker
	require.True(q.t, q.ack(q.b, again.Lease).Acked, "the lost connection's end does not give it back")
}

func queueServedInOrder(q queuer) {
	var line []<-chan api.QueueDequeueResult
	for i := range 8 {
		line = append(line, q.wait(patient(q.t), []Client{q.a, q.b}[i%2], api.QueueDequeueParams{}))
	}
	for i, found := range line {
		q.put(q.a, fmt.Sprint(i), minute)
		require.Equal(q.t, fmt.Sprint(i), q.served(found).ID)
	}
	require.Equal(q.t, api.QueueStatsResult{}, q.stats())
}

func goneTakesNothing(q queuer) {
	gone, mind := q.sys.Connect(q.t, 0, "gone"), q.sys.Connect(q.t, 1, "changes its mind")
	early, leave := context.WithCancel(patient(q.t))
	left := q.wait(early, q.b, api.QueueDequeueParams{})
	held := api.QueueDequeueParams{LeaseMS: 86_400_000, Bind: api.BindSession}
	first := q.wait(patient(q.t), gone, held)
	ctx, cancel := context.WithCancel(patient(q.t))
	second := q.wait(ctx, mind, held)
	third := q.wait(patient(q.t), q.b, api.QueueDequeueParams{})
	leave()
	q.until(func(s api.QueueStatsResult) bool { return s.Waiting == 3 })
	require.False(q.t, q.served(left).Found)
	// One of the two calls may get the entry before it ends. Then the call gives it back or, if its answer is already
	// sent and nobody reads it, the end of its connection does.
	q.put(q.a, "1", minute)
	gone.Close()
	cancel()
	q.served(first)
	q.served(second)
	mind.Close()
	require.Equal(q.t, "1", q.served(third).ID)
	require.Equal(q.t, api.QueueStatsResult{}, q.stats())
}

func endedIsWaitedFor(q queuer) {
	q.put(q.a, "1", minute)
	held := q.get(q.a, "1", api.QueueDequeueParams{LeaseMS: 2000})
	found := q.wait(patient(q.t), q.b, api.QueueDequeueParams{LeaseMS: 5000})
	q.sys.Advance(2 * time.Second)
	r := q.served(found) // nobody released the entry: the first in the waiting line asks by itself
	require.Equal(q.t, "1", r.ID)
	next := q.wait(patient(q.t), q.a, api.QueueDequeueParams{})
	require.Equal(q.t, "expired", q.ack(q.a, held.Lease).Reason)
	require.True(q.t, q.release(q.b, r.Lease).Released)
	require.Equal(q.t, "1", q.served(next).ID)
}
