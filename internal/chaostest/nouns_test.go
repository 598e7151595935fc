package chaostest_test

import (
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/coxswain-sidecar/coxswain/internal/chaostest"
)

// permits turns an operation on a lock into one on a semaphore of 3 permits.
func permits(n int64, o chaostest.LockOp) chaostest.LockOp {
	o.Limit, o.Permits = 3, n
	return o
}

// semaphoreHistories are forged histories. In a wrong one the last operation is the wrong one.
var semaphoreHistories = map[string]struct {
	wrong bool
	ops   []chaostest.LockOp
}{
	"as many as there are": {false, []chaostest.LockOp{
		permits(1, acquired(0, 1, "a", 10)), permits(2, acquired(2, 3, "b", 11)), permits(1, busy(4, 5, "c")),
		permits(1, released(6, 7, "a")), permits(1, acquired(8, 9, "c", 12)), permits(2, released(10, 11, "b")),
	}},
	"one too many": {true, []chaostest.LockOp{
		permits(1, acquired(0, 1, "a", 10)), permits(2, acquired(2, 3, "b", 11)), permits(1, acquired(4, 5, "c", 12)),
	}},
	"one too many for who asks for two": {true, []chaostest.LockOp{
		permits(2, acquired(0, 1, "a", 10)), permits(2, acquired(2, 3, "b", 11)),
	}},
	"unless others released in time": {false, []chaostest.LockOp{
		permits(2, acquired(0, 1, "a", 10)), permits(2, released(2, 6, "a")), permits(2, acquired(3, 4, "b", 11)),
	}},
	"busy with a permit left": {true, []chaostest.LockOp{
		permits(2, acquired(0, 1, "a", 10)), permits(1, busy(2, 3, "b")),
	}},
	"busy for who asks for two": {false, []chaostest.LockOp{
		permits(2, acquired(0, 1, "a", 10)), permits(2, busy(2, 3, "b")),
	}},
	"busy by itself": {true, []chaostest.LockOp{
		permits(2, acquired(0, 1, "a", 10)), permits(2, busy(2, 3, "a")),
	}},
	"a fence that is not higher": {true, []chaostest.LockOp{
		permits(1, acquired(0, 1, "a", 10)), permits(1, acquired(2, 3, "b", 10)),
	}},
	"the same token again": {false, []chaostest.LockOp{
		permits(2, acquired(0, 1, "a", 10)), permits(2, acquired(2, 3, "a", 10)), permits(2, renewed(4, 5, "a", 10)),
	}},
	"the same token with another fence": {true, []chaostest.LockOp{
		permits(1, acquired(0, 1, "a", 10)), permits(1, acquired(2, 3, "a", 11)),
	}},
	"a renewal with another fence": {true, []chaostest.LockOp{
		permits(1, acquired(0, 1, "a", 10)), permits(1, renewed(2, 3, "a", 11)),
	}},
	"a renewal after the release": {true, []chaostest.LockOp{
		permits(1, acquired(0, 1, "a", 10)), permits(1, released(2, 3, "a")), permits(1, renewed(4, 5, "a", 10)),
	}},
	"an owner's renewal is refused": {true, []chaostest.LockOp{
		permits(1, acquired(0, 1, "a", 10)), permits(1, op(2, 3, chaostest.Renew, "a", chaostest.Expired, 0)),
	}},
	"another's release frees one": {true, []chaostest.LockOp{
		permits(1, acquired(0, 1, "a", 10)), permits(1, released(2, 3, "b")),
	}},
	"a release whose first answer was lost": {false, []chaostest.LockOp{
		permits(3, acquired(0, 1, "a", 10)), permits(3, op(2, 9, chaostest.Release, "a", chaostest.Expired, 0)), permits(3, acquired(4, 5, "b", 11)),
	}},
	"a release that did nothing": {true, []chaostest.LockOp{
		permits(1, acquired(0, 1, "a", 10)), permits(1, op(2, 3, chaostest.Release, "a", chaostest.Expired, 0)), permits(1, renewed(4, 5, "a", 10)),
	}},
	"an acquire without an answer may hold some": {false, []chaostest.LockOp{
		permits(2, unknown(0, chaostest.Acquire, "a")), permits(2, busy(1, 2, "b")), permits(1, acquired(3, 4, "c", 11)), permits(2, acquired(5, 6, "a", 10)),
	}},
	"or none": {false, []chaostest.LockOp{
		permits(2, unknown(0, chaostest.Acquire, "a")), permits(2, acquired(1, 2, "b", 10)),
	}},
	"but not both": {true, []chaostest.LockOp{
		permits(2, unknown(0, chaostest.Acquire, "a")), permits(2, acquired(1, 2, "b", 10)), permits(2, acquired(3, 4, "a", 11)),
	}},
	"the owner is told that its grant has ended": {true, []chaostest.LockOp{
		permits(1, acquired(0, 1, "a", 10)), permits(1, op(2, 3, chaostest.Acquire, "a", chaostest.Gone, 0)),
	}},
}

func TestASemaphoresHistoryIsPossibleOrNot(t *testing.T) {
	t.Parallel()
	for name, c := range semaphoreHistories {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			found := chaostest.Linearizable(c.ops, never)
			require.Equal(t, c.wrong, len(found) > 0, "%v", found)
			if c.wrong {
				require.Empty(t, chaostest.Linearizable(c.ops[:len(c.ops)-1], never), "the last is what is wrong")
			}
		})
	}
	refused := []chaostest.LockOp{permits(1, busy(0, 1, "a"))}
	require.Len(t, chaostest.Linearizable(refused, never), 1)
	require.Empty(t, chaostest.Linearizable(refused, func(string) bool { return true }), "who stands in line comes first")
}

func TestAFenceOfASemaphoreMayBeRepeatedUnderLaterOnes(t *testing.T) {
	t.Parallel()
	h := chaostest.NewHistory()
	h.Ops = []chaostest.LockOp{
		permits(1, acquired(0, 1, "a", 10)), permits(1, acquired(2, 3, "b", 11)), permits(1, acquired(4, 5, "a", 10)),
	}
	require.Empty(t, chaostest.Fences(h.Grants(), false))
	h.Ops = append(h.Ops, permits(1, acquired(6, 7, "c", 11)))
	require.Len(t, chaostest.Fences(h.Grants(), false), 1)
}

func TestNoMorePermitsAreBelievedInThanThereAre(t *testing.T) {
	t.Parallel()
	hold := func(from, until int, n int64) chaostest.Hold {
		return chaostest.Hold{Name: "s", From: time.Duration(from) * ms, Until: time.Duration(until) * ms, Limit: 3, Permits: n}
	}
	require.Empty(t, chaostest.Crowded([]chaostest.Hold{hold(0, 10, 2), hold(0, 20, 1), hold(10, 30, 2), hold(20, 30, 1)}, nil))
	require.Empty(t, chaostest.Crowded([]chaostest.Hold{{Name: "l", From: 0, Until: 10}, {Name: "l", From: 0, Until: 10}}, nil), "a lock is no semaphore")
	over := []chaostest.Hold{hold(0, 10, 2), hold(5, 20, 1), hold(9, 30, 1), hold(40, 50, 3)}
	found := chaostest.Crowded(over, nil)
	require.Len(t, found, 1)
	require.Contains(t, found[0].String(), "s: 4 permits of 3 were held at 0.0090s")

	// A client that got its loss late has not held the permits as long as it recorded.
	var stalls chaostest.Stalls
	stalls.Add(10*time.Second, 11*time.Second)
	require.Len(t, chaostest.Crowded(over, &stalls), 1)
	stalls.Add(8*ms, 10*ms)
	require.Empty(t, chaostest.Crowded(over, &stalls))
}

func TestAPoolsMembersHaveItsFencesAndTheirOwnHolders(t *testing.T) {
	t.Parallel()
	hold := func(member, token string, from, until int, fence uint64) chaostest.Hold {
		return chaostest.Hold{
			Name: "pool/" + member, Of: "pool", Token: token, Fence: fence,
			Call: time.Duration(from-1) * ms, From: time.Duration(from) * ms, Until: time.Duration(until) * ms,
		}
	}
	h := chaostest.NewHistory()
	h.Holds = []chaostest.Hold{hold("a", "t1", 10, 20, 1), hold("b", "t2", 15, 40, 2), hold("a", "t3", 30, 40, 3)}
	require.Empty(t, chaostest.Beliefs(h.Holds, nil))
	require.Empty(t, chaostest.Fences(h.Grants(), false))
	h.Holds[1].Fence = 3
	require.Len(t, chaostest.Fences(h.Grants(), false), 1, "of another member, but of the same pool")
	h.Holds[2].From = 19 * ms
	require.Len(t, chaostest.Beliefs(h.Holds, nil), 1)
}

func TestAllMembersOfAPoolAreCounted(t *testing.T) {
	t.Parallel()
	count := func(total, live, cooling, banned, free int64) []chaostest.Count {
		return []chaostest.Count{{Name: "p", Return: time.Second, Total: total, Live: live, Cooling: cooling, Banned: banned, Free: free}}
	}
	require.Empty(t, chaostest.Complete(count(10, 1, 2, 3, 4), 10, chaostest.Never))
	require.Len(t, chaostest.Complete(count(10, 1, 2, 3, 3), 10, chaostest.Never), 1, "one is nowhere")
	require.Len(t, chaostest.Complete(count(10, 1, 2, 3, 5), 10, time.Millisecond), 1, "one is counted twice, whatever is lost")
	require.Len(t, chaostest.Complete(count(9, 1, 2, 3, 3), 10, chaostest.Never), 1, "one is gone")
	require.Empty(t, chaostest.Complete(count(9, 1, 2, 3, 3), 10, time.Second), "it may have been lost")
}

func TestNoPermitPassesAnOpenBreaker(t *testing.T) {
	t.Parallel()
	opened := []chaostest.Opening{{Key: "a", Call: 10 * ms, Return: 12 * ms}}
	permit := func(key string, sent, received int) []chaostest.Charge {
		return []chaostest.Charge{{Key: key, Sent: time.Duration(sent) * ms, Received: time.Duration(received) * ms, Admitted: true}}
	}
	shut := func(charges []chaostest.Charge, intact time.Duration) int {
		return len(chaostest.Shut(opened, charges, 100*ms, intact))
	}
	require.Equal(t, 1, shut(permit("a", 13, 14), chaostest.Never))
	require.Equal(t, 0, shut(permit("b", 13, 14), chaostest.Never), "another's")
	require.Equal(t, 0, shut(permit("a", 11, 14), chaostest.Never), "it may have come before")
	require.Equal(t, 0, shut(permit("a", 13, 111), chaostest.Never), "it may have been open no more")
	require.Equal(t, 0, shut(permit("a", 13, 14), 13*ms), "that it was open may be lost")
	refused := permit("a", 13, 14)
	refused[0].Admitted = false
	require.Equal(t, 0, shut(refused, chaostest.Never))
}

func TestABreakersGenerationNeverGoesBack(t *testing.T) {
	t.Parallel()
	asked := func(name string, call, end int, generation int64) chaostest.BreakerOp {
		return chaostest.BreakerOp{Name: name, Kind: chaostest.Allow, Call: time.Duration(call) * ms, Return: time.Duration(end) * ms, Generation: generation}
	}
	require.Empty(t, chaostest.Generations([]chaostest.BreakerOp{
		asked("b", 0, 1, 1), asked("b", 2, 9, 2), asked("b", 3, 8, 1), asked("b", 10, 11, 2), asked("other", 12, 13, 1),
	}))
	found := chaostest.Generations([]chaostest.BreakerOp{asked("b", 4, 5, 1), asked("b", 0, 1, 1), asked("b", 2, 3, 2)})
	require.Len(t, found, 1)
	require.Contains(t, found[0].String(), "b: its generation went back")
}

func TestNoMoreProbesAreOutThanMayBe(t *testing.T) {
	t.Parallel()
	probe := func(id string, end, until int, generation int64) chaostest.BreakerOp {
		return chaostest.BreakerOp{Name: "b", Probe: id, Return: time.Duration(end) * ms, Until: time.Duration(until) * ms, Generation: generation}
	}
	fine := []chaostest.BreakerOp{
		probe("a", 1, 10, 2), probe("b", 2, 5, 2), {Name: "b", Return: 3 * ms, Until: 10 * ms, Generation: 2}, probe("c", 5, 20, 2), probe("d", 6, 20, 4),
	}
	require.Empty(t, chaostest.Probes(fine, 2))
	found := chaostest.Probes(append(fine, probe("e", 9, 20, 2)), 2)
	require.Len(t, found, 1)
	require.Contains(t, found[0].String(), "3 probes out at once, at most 2 allowed")
}

// entries returns the entries that producer 1 put into a queue, one after the other.
func entries(ids ...string) []chaostest.Entry {
	var all []chaostest.Entry
	for i, id := range ids {
		all = append(all, chaostest.Entry{Queue: "q", ID: id, Producer: 1, N: i + 1, Call: time.Duration(i) * ms, Return: time.Duration(i) * ms})
	}
	return all
}

// given returns a delivery under a lease of 100 ms that was never ended.
func given(id string, attempt int64, call, end int) chaostest.Delivery {
	return chaostest.Delivery{
		Queue: "q", ID: id, Attempt: attempt, Call: time.Duration(call) * ms, Return: time.Duration(end) * ms,
		Lease: 100 * ms, EndCall: chaostest.Never, EndReturn: chaostest.Never,
	}
}

// ended returns the delivery as its client ended it.
func ended(d chaostest.Delivery, by chaostest.Kind, o chaostest.Outcome, call, end int) chaostest.Delivery {
	d.End, d.Outcome, d.EndCall, d.EndReturn = by, o, time.Duration(call)*ms, time.Duration(end)*ms
	if o == chaostest.Unknown {
		d.EndReturn = chaostest.Never
	}
	return d
}

func TestWhatAQueueDelivers(t *testing.T) {
	t.Parallel()
	acked := func(id string, attempt int64, call int) chaostest.Delivery {
		return ended(given(id, attempt, call, call+1), chaostest.Ack, chaostest.Acked, call+2, call+3)
	}
	for name, c := range map[string]struct {
		wrong  string
		intact time.Duration // Never when 0
		given  []chaostest.Delivery
	}{
		"in order":                         {given: []chaostest.Delivery{acked("a", 1, 10), acked("b", 1, 20)}},
		"in another order":                 {wrong: "b of q: given before one", given: []chaostest.Delivery{acked("b", 1, 10), acked("a", 1, 20)}},
		"or perhaps not":                   {given: []chaostest.Delivery{ended(given("b", 1, 10, 21), chaostest.Ack, chaostest.Acked, 22, 23), acked("a", 1, 20)}},
		"the first time nobody heard of":   {given: []chaostest.Delivery{acked("b", 1, 10), acked("a", 2, 20)}},
		"lost":                             {wrong: "b of q: lost", given: []chaostest.Delivery{acked("a", 1, 10), given("b", 1, 20, 21)}},
		"never given":                      {wrong: "b of q: lost", given: []chaostest.Delivery{acked("a", 1, 10)}},
		"an ack without an answer":         {given: []chaostest.Delivery{acked("a", 1, 10), ended(given("b", 1, 20, 21), chaostest.Ack, chaostest.Unknown, 22, 0)}},
		"given again after its lease":      {given: []chaostest.Delivery{given("a", 1, 10, 11), acked("b", 1, 20), acked("a", 2, 120)}},
		"given again within its lease":     {wrong: "a of q: given while somebody had it", given: []chaostest.Delivery{given("a", 1, 10, 11), acked("b", 1, 20), acked("a", 2, 100)}},
		"given again after its release":    {given: []chaostest.Delivery{ended(given("a", 1, 10, 11), chaostest.Release, chaostest.Released, 12, 13), acked("b", 1, 20), acked("a", 2, 30)}},
		"given again, an ack under way":    {given: []chaostest.Delivery{ended(given("a", 1, 10, 11), chaostest.Ack, chaostest.Expired, 125, 126), acked("b", 1, 20), acked("a", 2, 120)}},
		"given again after its ack":        {wrong: "a of q: given again after it was acknowledged", given: []chaostest.Delivery{acked("a", 1, 10), acked("b", 1, 20), given("a", 2, 200, 201)}},
		"acknowledged twice":               {wrong: "a of q: acknowledged twice", given: []chaostest.Delivery{ended(given("a", 1, 10, 11), chaostest.Ack, chaostest.Acked, 125, 190), acked("b", 1, 20), acked("a", 2, 120)}},
		"given twice, but data was lost":   {intact: 150 * ms, given: []chaostest.Delivery{acked("a", 1, 10), acked("b", 1, 20), given("a", 2, 200, 201)}},
		"given twice, and lost after that": {wrong: "acknowledged", intact: 250 * ms, given: []chaostest.Delivery{acked("a", 1, 10), acked("b", 1, 20), given("a", 2, 200, 201)}},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			intact := c.intact
			if intact == 0 {
				intact = chaostest.Never
			}
			found := chaostest.Delivered(entries("a", "b"), c.given, true, intact)
			if c.wrong == "" {
				require.Empty(t, found)
				return
			}
			require.NotEmpty(t, found)
			require.Contains(t, found[0].String(), c.wrong)
		})
	}
	require.Empty(t, chaostest.Delivered(entries("a", "b"), nil, false, chaostest.Never), "it was not emptied")
}

func TestAnEntryOfUnknownOutcomeMayBeDeliveredLateOrNever(t *testing.T) {
	t.Parallel()
	put := entries("a", "b")
	put[0].Return = chaostest.Never
	ack := func(id string, call int) chaostest.Delivery {
		return ended(given(id, 1, call, call+1), chaostest.Ack, chaostest.Acked, call+2, call+3)
	}
	require.Empty(t, chaostest.Delivered(put, []chaostest.Delivery{ack("b", 10)}, true, chaostest.Never))
	require.Empty(t, chaostest.Delivered(put, []chaostest.Delivery{ack("b", 10), ack("a", 20)}, true, chaostest.Never))
}
