package conformance

import (
	"bytes"
	"context"
	"fmt"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/coxswain-sidecar/coxswain/client/api"
)

// queuer is one test's view of a queue of its own.
type queuer struct {
	t    *testing.T
	sys  System
	a, b Client // of sidecar 0 and 1
	name string
}

// Queues tests what queue.* promises.
func Queues(t *testing.T, sys System) {
	for name, test := range map[string]func(queuer){
		"first in, first out":                                firstInFirstOut,
		"the same id twice is one entry":                     sameIDOnce,
		"expired entries are skipped in one call":            expiredAreSkipped,
		"an entry that is not acknowledged comes back first": comesBackFirst,
		"an acknowledged entry is gone":                      ackedIsGone,
		"a lease that ended acknowledges nothing":            endedAcksNothing,
		"renewing keeps an entry":                            renewedIsKept,
		"a closed connection's entries are at the head":      closedIsReturned,
		"a lost lease is told":                               lostLeaseIsTold,
		"a repeated request id is the same entry":            repeatedIsTheSame,
		"a repeated entry is the new connection's":           repeatedMoves,
		"those who wait are served in their order":           queueServedInOrder,
		"who goes away while waiting takes nothing along":    goneTakesNothing,
		"an ended lease is waited for":                       endedIsWaitedFor,
		"a cancelled entry is gone":                          cancelledIsGone,
		"queues are apart, whatever their bytes":             queuesAreApart,
		"a body may be as large as is promised":              largestBody,
		"mistakes in a queue's parameters name their field":  queueMistakes,
	} {
		t.Run(name, func(t *testing.T) {
			test(queuer{t, sys, sys.Connect(t, 0, "a"), sys.Connect(t, 1, "b"), t.Name()})
		})
	}
}

func (q queuer) put(c Client, id string, ttl time.Duration) api.QueueEnqueueResult {
	q.t.Helper()
	r, err := do(patient(q.t), c, "", api.QueueEnqueue, api.QueueEnqueueParams{Queue: q.name, ID: id, TTLMS: ttl.Milliseconds(), Body: []byte("of " + id)})
	require.NoError(q.t, err)
	return r
}

func (q queuer) try(c Client, id string, p api.QueueDequeueParams) api.QueueDequeueResult {
	q.t.Helper()
	p.Queue = q.name
	r, err := do(patient(q.t), c, id, api.QueueDequeue, p)
	require.NoError(q.t, err)
	return r
}

// get takes an entry, which must be this one.
func (q queuer) get(c Client, want string, p api.QueueDequeueParams) api.QueueDequeueResult {
	q.t.Helper()
	r := q.try(c, "", p)
	require.True(q.t, r.Found, "%+v", r)
	require.Equal(q.t, want, r.ID)
	require.Equal(q.t, "of "+want, string(r.Body))
	return r
}

func (q queuer) ack(c Client, lease string) api.QueueAckResult {
	q.t.Helper()
	r, err := do(patient(q.t), c, "", api.QueueAck, api.QueueLeaseParams{Queue: q.name, Lease: lease})
	require.NoError(q.t, err)
	return r
}

func (q queuer) release(c Client, lease string) api.QueueReleaseResult {
	q.t.Helper()
	r, err := do(patient(q.t), c, "", api.QueueRelease, api.QueueLeaseParams{Queue: q.name, Lease: lease})
	require.NoError(q.t, err)
	return r
}

func (q queuer) stats() api.QueueStatsResult {
	q.t.Helper()
	r, err := do(patient(q.t), q.b, "", api.QueueStats, api.QueueParams{Queue: q.name})
	require.NoError(q.t, err)
	return r
}

// until polls the counts until is reports true.
func (q queuer) until(so func(api.QueueStatsResult) bool) {
	q.t.Helper()
	ctx, cancel := context.WithTimeout(patient(q.t), patience)
	defer cancel()
	for s := q.stats(); !so(s); s = q.stats() {
		require.NoError(q.t, ctx.Err(), "never so: %+v", s)
	}
}

// wait starts one more call that waits, and returns when it is in the waiting line.
func (q queuer) wait(ctx context.Context, c Client, p api.QueueDequeueParams) <-chan api.QueueDequeueResult {
	q.t.Helper()
	before := q.stats().Waiting
	found := make(chan api.QueueDequeueResult, 1)
	p.Queue, p.WaitMS = q.name, 60_000
	go func() {
		if r, err := do(ctx, c, "", api.QueueDequeue, p); err == nil {
			found <- r
		}
		close(found)
	}()
	q.until(func(s api.QueueStatsResult) bool { return s.Waiting == before+1 })
	return found
}

func (q queuer) served(found <-chan api.QueueDequeueResult) api.QueueDequeueResult {
	q.t.Helper()
	select {
	case r := <-found:
		return r
	case <-time.After(patience):
		q.t.Fatalf("never served: %+v", q.stats())
		return api.QueueDequeueResult{}
	}
}

const minute = time.Minute

func firstInFirstOut(q queuer) {
	require.Equal(q.t, api.QueueDequeueResult{Reason: "empty", RetryAfterMS: 1000}, q.try(q.a, "", api.QueueDequeueParams{}))
	for i := range int64(6) {
		r := q.put([]Client{q.a, q.b}[i%2], fmt.Sprint(i), minute)
		require.Equal(q.t, api.QueueEnqueueResult{Enqueued: true, Position: i + 1, Depth: i + 1}, r)
	}
	for i := range int64(6) {
		r := q.get([]Client{q.b, q.a}[i%2], fmt.Sprint(i), api.QueueDequeueParams{})
		require.Equal(q.t, []int64{1, 5 - i}, []int64{r.Attempt, r.Depth})
		require.Empty(q.t, r.Lease)
		require.Equal(q.t, q.sys.Now().UnixMilli(), r.EnqueuedAtMS)
	}
	require.Equal(q.t, api.QueueStatsResult{}, q.stats())
}

func sameIDOnce(q queuer) {
	q.put(q.a, "first", minute)
	q.put(q.a, "x", time.Second)
	r, err := do(patient(q.t), q.b, "", api.QueueEnqueue, api.QueueEnqueueParams{Queue: q.name, ID: "x", TTLMS: 90_000, Body: []byte("other")})
	require.NoError(q.t, err)
	require.Equal(q.t, api.QueueEnqueueResult{Position: 2, Depth: 2}, r)
	taken := q.get(q.a, "first", api.QueueDequeueParams{LeaseMS: 60_000})
	require.Equal(q.t, api.QueueEnqueueResult{Depth: 1}, q.put(q.b, "first", minute), "someone has it")
	require.Equal(q.t, "of x", string(q.try(q.a, "", api.QueueDequeueParams{}).Body), "as it was")
	require.True(q.t, q.ack(q.a, taken.Lease).Acked)
	require.True(q.t, q.put(q.b, "first", minute).Enqueued, "it may come again once it is dealt with")
}

// expiredAreSkipped makes so many entries expire that one run of a script cannot skip all of them.
func expiredAreSkipped(q queuer) {
	for i := range 1100 {
		q.put(q.a, fmt.Sprint(i), time.Second)
	}
	q.put(q.a, "live", minute)
	q.sys.Advance(time.Second)
	r := q.get(q.b, "live", api.QueueDequeueParams{})
	require.Zero(q.t, r.Depth)
	require.False(q.t, q.try(q.b, "", api.QueueDequeueParams{}).Found)
}

func comesBackFirst(q queuer) {
	for _, id := range []string{"1", "2", "3"} {
		q.put(q.a, id, minute)
	}
	one := q.get(q.a, "1", api.QueueDequeueParams{LeaseMS: 10_000})
	two := q.get(q.b, "2", api.QueueDequeueParams{LeaseMS: 1000})
	q.sys.Advance(time.Second)
	require.Equal(q.t, api.QueueReleaseResult{Released: true, Reason: "released"}, q.release(q.b, one.Lease))
	require.Equal(q.t, api.QueueReleaseResult{Released: true, Reason: "released"}, q.release(q.b, one.Lease), "its reply was lost")
	require.Equal(q.t, api.QueueReleaseResult{Reason: "expired"}, q.release(q.b, two.Lease))
	for i, id := range []string{"1", "2", "3"} {
		r := q.get(q.a, id, api.QueueDequeueParams{})
		require.Equal(q.t, []int64{2, 2, 1}[i], r.Attempt)
	}
}

func ackedIsGone(q queuer) {
	q.put(q.a, "1", minute)
	r := q.get(q.a, "1", api.QueueDequeueParams{LeaseMS: 1000})
	require.Equal(q.t, api.QueueStatsResult{Leased: 1}, q.stats())
	for range 2 {
		require.Equal(q.t, api.QueueAckResult{Acked: true, Reason: "acked"}, q.ack(q.b, r.Lease))
	}
	q.sys.Advance(time.Second)
	require.False(q.t, q.try(q.a, "", api.QueueDequeueParams{}).Found)
	require.Equal(q.t, api.QueueAckResult{Reason: "expired"}, q.ack(q.b, "never"))
}

func endedAcksNothing(q queuer) {
	q.put(q.a, "1", minute)
	old := q.get(q.a, "1", api.QueueDequeueParams{LeaseMS: 1000})
	q.sys.Advance(time.Second)
	require.Equal(q.t, api.QueueAckResult{Reason: "expired"}, q.ack(q.a, old.Lease))
	next := q.get(q.b, "1", api.QueueDequeueParams{LeaseMS: 1000})
	require.Equal(q.t, api.QueueAckResult{Reason: "expired"}, q.ack(q.a, old.Lease))
	require.Equal(q.t, api.QueueReleaseResult{Reason: "expired"}, q.release(q.a, old.Lease))
	require.True(q.t, q.ack(q.b, next.Lease).Acked, "the next one's lease is untouched")
}

func renewedIsKept(q queuer) {
	q.put(q.a, "1", minute)
	r := q.get(q.a, "1", api.QueueDequeueParams{LeaseMS: 1000})
	renew := func(ms int64) api.QueueRenewResult {
		x, err := do(patient(q.t), q.b, "", api.QueueRenew, api.QueueRenewParams{Queue: q.name, Lease: r.Lease, LeaseMS: ms})
		require.NoError(q.t, err)
		return x
	}
	none := func() {
		require.Equal(q.t, api.QueueDequeueResult{Reason: "empty", RetryAfterMS: 1}, q.try(q.b, "", api.QueueDequeueParams{}))
	}
	x := renew(5000)
	require.True(q.t, x.Renewed)
	require.Equal(q.t, "renewed", x.Reason)
	q.sys.Advance(4999 * time.Millisecond)
	none()
	require.True(q.t, renew(5000).Renewed)
	require.True(q.t, renew(2000).Renewed, "the owner's own word makes it shorter too")
	q.sys.Advance(1999 * time.Millisecond)
	none()
	q.sys.Advance(time.Millisecond)
	require.Equal(q.t, api.QueueRenewResult{Reason: "expired"}, renew(5000))
	q.get(q.b, "1", api.QueueDequeueParams{})
}

func cancelledIsGone(q queuer) {
	cancel := func(id string) api.QueueCancelResult {
		r, err := do(patient(q.t), q.b, "", api.QueueCancel, api.QueueEntryParams{Queue: q.name, ID: id})
		require.NoError(q.t, err)
		return r
	}
	place := func(id string) api.QueuePositionResult {
		r, err := do(patient(q.t), q.b, "", api.QueuePosition, api.QueueEntryParams{Queue: q.name, ID: id})
		require.NoError(q.t, err)
		return r
	}
	for _, id := range []string{"1", "2", "3"} {
		q.put(q.a, id, minute)
	}
	q.get(q.a, "1", api.QueueDequeueParams{LeaseMS: 1000})
	require.Equal(q.t, api.QueuePositionResult{State: "waiting", Position: 2, Depth: 2}, place("3"))
	require.Equal(q.t, api.QueuePositionResult{State: "leased", Depth: 2}, place("1"))
	require.Equal(q.t, api.QueueCancelResult{State: "leased"}, cancel("1"))
	require.Equal(q.t, api.QueueCancelResult{Cancelled: true, State: "waiting"}, cancel("2"))
	require.Equal(q.t, api.QueueCancelResult{State: "absent"}, cancel("2"))
	require.Equal(q.t, api.QueuePositionResult{State: "absent", Depth: 1}, place("2"))
	q.get(q.b, "3", api.QueueDequeueParams{})
}

func queuesAreApart(q queuer) {
	for _, name := range names() {
		q.name = name
		q.put(q.a, name, minute)
	}
	for _, name := range names() {
		q.name = name
		q.get(q.b, name, api.QueueDequeueParams{})
	}
}

func largestBody(q queuer) {
	body := make([]byte, api.MaxBodyBytes)
	for i := range body {
		body[i] = byte(i * 7)
	}
	_, err := do(patient(q.t), q.a, "", api.QueueEnqueue, api.QueueEnqueueParams{Queue: q.name, ID: "1", Body: body})
	require.NoError(q.t, err)
	require.True(q.t, bytes.Equal(body, q.try(q.b, "", api.QueueDequeueParams{}).Body))
}

func queueMistakes(q queuer) {
	for want, p := range map[string]api.QueueDequeueParams{
		"queue":    {},
		"lease_ms": {Queue: q.name, LeaseMS: 99},
		"wait_ms":  {Queue: q.name, WaitMS: 60_001},
		"lease_m":  {Queue: q.name, Bind: api.BindSession},
	} {
		_, err := do(patient(q.t), q.a, "", api.QueueDequeue, p)
		require.ErrorIs(q.t, err, api.InvalidArgument, "%+v", p)
		require.ErrorContains(q.t, err, want)
	}
	for want, p := range map[string]api.QueueEnqueueParams{
		"queue":  {ID: "1"},
		"id":     {Queue: q.name},
		"ttl_ms": {Queue: q.name, ID: "1", TTLMS: -1},
		"body":   {Queue: q.name, ID: "1", Body: make([]byte, api.MaxBodyBytes+1)},
	} {
		_, err := do(patient(q.t), q.a, "", api.QueueEnqueue, p)
		require.ErrorIs(q.t, err, api.InvalidArgument, "%s", want)
		require.ErrorContains(q.t, err, want)
	}
}
