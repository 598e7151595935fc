package chaostest_test

import (
	"context"
	"fmt"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/coxswain-sidecar/coxswain/client/api"
	"github.com/coxswain-sidecar/coxswain/internal/chaostest"
)

const ms = time.Millisecond

// An operation of a forged history: a client, what it does to which lock, and with which outcome. Call and return are
// in milliseconds.
func op(call, end int, kind chaostest.Kind, token string, o chaostest.Outcome, fence uint64) chaostest.LockOp {
	x := chaostest.LockOp{
		Client: token, Kind: kind, Name: "l", Token: token, Outcome: o, Fence: fence,
		Call: time.Duration(call) * ms, Return: time.Duration(end) * ms,
	}
	if o == chaostest.Unknown {
		x.Return = chaostest.Never
	}
	return x
}

func acquired(call, end int, token string, fence uint64) chaostest.LockOp {
	return op(call, end, chaostest.Acquire, token, chaostest.Acquired, fence)
}

func busy(call, end int, token string) chaostest.LockOp {
	return op(call, end, chaostest.Acquire, token, chaostest.Busy, 0)
}

func released(call, end int, token string) chaostest.LockOp {
	return op(call, end, chaostest.Release, token, chaostest.Released, 0)
}

func unknown(call int, kind chaostest.Kind, token string) chaostest.LockOp {
	return op(call, 0, kind, token, chaostest.Unknown, 0)
}

func renewed(call, end int, token string, fence uint64) chaostest.LockOp {
	return op(call, end, chaostest.Renew, token, chaostest.Renewed, fence)
}

// lockHistories are forged histories. In a wrong one the last operation is the wrong one.
var lockHistories = map[string]struct {
	wrong bool
	ops   []chaostest.LockOp
}{
	"one after the other": {false, []chaostest.LockOp{
		acquired(0, 1, "a", 10), busy(2, 3, "b"), released(4, 5, "a"), acquired(6, 7, "b", 11), released(8, 9, "b"),
	}},
	"two at once": {true, []chaostest.LockOp{
		acquired(0, 1, "a", 10), acquired(2, 3, "b", 11),
	}},
	"two at once, if the other one released in time": {false, []chaostest.LockOp{
		acquired(0, 1, "a", 10), released(2, 5, "a"), acquired(3, 4, "b", 11),
	}},
	"busy and free": {true, []chaostest.LockOp{
		acquired(0, 1, "a", 10), released(2, 3, "a"), busy(4, 5, "b"),
	}},
	"busy by itself": {true, []chaostest.LockOp{
		acquired(0, 1, "a", 10), busy(2, 3, "a"),
	}},
	"a fence that is not higher": {true, []chaostest.LockOp{
		acquired(0, 1, "a", 10), released(2, 3, "a"), acquired(4, 5, "b", 10),
	}},
	"the same token again": {false, []chaostest.LockOp{
		acquired(0, 1, "a", 10), acquired(2, 3, "a", 10), renewed(4, 5, "a", 10),
	}},
	"the same token with another fence": {true, []chaostest.LockOp{
		acquired(0, 1, "a", 10), acquired(2, 3, "a", 11),
	}},
	"the owner is told that its grant has ended": {true, []chaostest.LockOp{
		acquired(0, 1, "a", 10), op(2, 3, chaostest.Acquire, "a", chaostest.Gone, 0),
	}},
	"a renewal after the release": {true, []chaostest.LockOp{
		acquired(0, 1, "a", 10), released(2, 3, "a"), renewed(4, 5, "a", 10),
	}},
	"a renewal with another fence": {true, []chaostest.LockOp{
		acquired(0, 1, "a", 10), renewed(2, 3, "a", 11),
	}},
	"the owner's renewal is refused": {true, []chaostest.LockOp{
		acquired(0, 1, "a", 10), op(2, 3, chaostest.Renew, "a", chaostest.Expired, 0),
	}},
	"another's renewal is refused": {false, []chaostest.LockOp{
		acquired(0, 1, "a", 10), op(2, 3, chaostest.Renew, "b", chaostest.NotOwner, 0),
	}},
	"another's release frees it": {true, []chaostest.LockOp{
		acquired(0, 1, "a", 10), released(2, 3, "b"),
	}},
	"another's release frees nothing": {false, []chaostest.LockOp{
		acquired(0, 1, "a", 10), op(2, 3, chaostest.Release, "b", chaostest.NotOwner, 0), renewed(4, 5, "a", 10),
	}},
	"a release whose first answer was lost": {false, []chaostest.LockOp{
		acquired(0, 1, "a", 10), op(2, 9, chaostest.Release, "a", chaostest.NotOwner, 0), acquired(4, 5, "b", 11),
	}},
	"a release that did nothing": {true, []chaostest.LockOp{
		acquired(0, 1, "a", 10), op(2, 3, chaostest.Release, "a", chaostest.Expired, 0), renewed(4, 5, "a", 10),
	}},
	"an acquire without an answer may hold it": {false, []chaostest.LockOp{
		unknown(0, chaostest.Acquire, "a"), busy(1, 2, "b"), acquired(3, 4, "a", 10),
	}},
	"or not": {false, []chaostest.LockOp{
		unknown(0, chaostest.Acquire, "a"), acquired(1, 2, "b", 10),
	}},
	"but does not end another's": {true, []chaostest.LockOp{
		acquired(0, 1, "b", 10), unknown(2, chaostest.Acquire, "a"), released(3, 4, "a"),
	}},
	"a release without an answer may have freed it": {false, []chaostest.LockOp{
		acquired(0, 1, "a", 10), unknown(2, chaostest.Release, "a"), acquired(3, 4, "b", 11),
	}},
	"but not before it was sent": {true, []chaostest.LockOp{
		acquired(0, 1, "a", 10), unknown(4, chaostest.Release, "a"), acquired(2, 3, "b", 11),
	}},
}

func never(string) bool { return false }

func TestALockHistoryIsPossibleOrNot(t *testing.T) {
	t.Parallel()
	for name, c := range lockHistories {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			found := chaostest.Linearizable(c.ops, never)
			if !c.wrong {
				require.Empty(t, found)
				return
			}
			require.Len(t, found, 1)
			require.Contains(t, found[0].String(), "l: no order")
		})
	}
}

func TestThoseInLineMayBeRefusedAFreeLock(t *testing.T) {
	t.Parallel()
	ops := []chaostest.LockOp{busy(0, 1, "a")}
	require.Len(t, chaostest.Linearizable(ops, never), 1)
	require.Empty(t, chaostest.Linearizable(ops, func(string) bool { return true }))
}

func TestAWrongHistoryIsShownByItsEndOnly(t *testing.T) {
	t.Parallel()
	var ops []chaostest.LockOp
	for i := range 500 {
		token := fmt.Sprint("t", i)
		ops = append(ops, acquired(10*i, 10*i+1, token, uint64(i)+1), busy(10*i+2, 10*i+3, "x"), released(10*i+4, 10*i+5, token))
	}
	require.Empty(t, chaostest.Linearizable(ops, never))
	ops = append(ops, acquired(2001, 2003, "second", 5000)) // while t200 has it
	found := chaostest.Linearizable(ops, never)
	require.Len(t, found, 1)
	require.LessOrEqual(t, len(found[0].Part), 20)
	require.Contains(t, found[0].String(), "t200 ")
	require.NotContains(t, found[0].String(), "t300")
}

func grant(call, end int, token string, fence uint64) chaostest.Grant {
	return chaostest.Grant{Name: "l", Token: token, Call: time.Duration(call) * ms, Return: time.Duration(end) * ms, Fence: fence}
}

func TestFencesRiseFromOwnerToOwner(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		wrong    bool
		dataLost bool
		grants   []chaostest.Grant
	}{
		"rising":                 {false, false, []chaostest.Grant{grant(0, 1, "a", 1), grant(2, 3, "b", 2), grant(4, 5, "c", 3)}},
		"at once, in any order":  {false, false, []chaostest.Grant{grant(0, 9, "a", 2), grant(1, 8, "b", 1)}},
		"falling":                {true, false, []chaostest.Grant{grant(0, 1, "a", 2), grant(2, 3, "b", 1)}},
		"falling over a failure": {true, true, []chaostest.Grant{grant(0, 1, "a", 2), grant(2, 3, "b", 1)}},
		"standing still":         {true, false, []chaostest.Grant{grant(0, 1, "a", 2), grant(2, 3, "b", 2)}},
		"falling below one before the last": {true, false, []chaostest.Grant{
			grant(0, 1, "a", 5), grant(2, 3, "a", 5), grant(0, 1, "b", 4), grant(4, 5, "a", 5), grant(6, 7, "b", 4),
		}},
		"the same token":                           {false, false, []chaostest.Grant{grant(0, 1, "a", 2), grant(2, 3, "a", 2)}},
		"the same token, risen":                    {true, false, []chaostest.Grant{grant(0, 1, "a", 2), grant(2, 3, "a", 3)}},
		"the same token, risen after data loss":    {false, true, []chaostest.Grant{grant(0, 1, "a", 2), grant(2, 3, "a", 3)}},
		"the same token, fallen after data loss":   {true, true, []chaostest.Grant{grant(0, 1, "a", 2), grant(2, 3, "a", 1)}},
		"another token between, and the first one": {true, false, []chaostest.Grant{grant(0, 1, "a", 2), grant(2, 3, "b", 3), grant(4, 5, "a", 2)}},
		"an old master confirms the first":         {false, true, []chaostest.Grant{grant(0, 1, "a", 2), grant(2, 3, "b", 3), grant(4, 5, "a", 2)}},
		"after which another is granted less": {true, true, []chaostest.Grant{
			grant(0, 1, "a", 2), grant(2, 3, "b", 4), grant(4, 5, "a", 2), grant(6, 7, "c", 3),
		}},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			found := chaostest.Fences(c.grants, c.dataLost)
			require.Equal(t, c.wrong, len(found) > 0, "%v", found)
		})
	}
	other := grant(2, 3, "b", 1)
	other.Name = "another lock"
	require.Empty(t, chaostest.Fences([]chaostest.Grant{grant(0, 1, "a", 2), other}, false))
}

func TestNoTwoClientsBelieveAtOnceThatTheyHoldALock(t *testing.T) {
	t.Parallel()
	hold := func(from, until int, by string) chaostest.Hold {
		return chaostest.Hold{Client: by, Name: "l", From: time.Duration(from) * ms, Until: time.Duration(until) * ms}
	}
	require.Empty(t, chaostest.Beliefs([]chaostest.Hold{hold(0, 10, "a"), hold(10, 20, "b"), hold(25, 30, "a")}, nil))
	require.Empty(t, chaostest.Beliefs([]chaostest.Hold{hold(9, 5, "a"), hold(6, 20, "b")}, nil), "one that was killed before it knew")

	both := []chaostest.Hold{hold(0, 100, "a"), hold(10, 20, "b"), hold(90, 120, "c")}
	found := chaostest.Beliefs(both, nil)
	require.Len(t, found, 2)
	require.Contains(t, found[0].String(), "10ms")
	require.Contains(t, found[0].String(), "held by a until")

	// A longer stall of the machine explains it, if the stall was at that time.
	var stalls chaostest.Stalls
	stalls.Add(10*time.Second, 11*time.Second)
	require.Len(t, chaostest.Beliefs(both, &stalls), 2)
	stalls.Add(80*ms, 91*ms)
	require.Empty(t, chaostest.Beliefs(both, &stalls))
}

func TestAStallIsNoticed(t *testing.T) {
	t.Parallel()
	ctx, cancel := context.WithCancel(t.Context())
	var stalls chaostest.Stalls
	asked, now := 0, time.Duration(0)
	stalls.Watch(ctx, func() time.Duration {
		asked++
		switch asked {
		case 1, 2:
			now += 6 * ms
		case 3:
			now += 80 * ms
		default:
			cancel()
		}
		return now
	})
	require.Equal(t, 80*ms, stalls.Around(now))
	require.Zero(t, stalls.Around(now+10*time.Second))
}

// charges are admissions at these times (ms), each sent 1 ms before and received 1 ms after.
func charges(times ...int) []chaostest.Charge {
	var all []chaostest.Charge
	for _, t := range times {
		all = append(all, chaostest.Charge{
			Key: "k", Cost: 1, Sent: time.Duration(t-1) * ms, Received: time.Duration(t+1) * ms, Admitted: true,
		})
	}
	return all
}

func TestAdmissionsStayWithinTheirBound(t *testing.T) {
	t.Parallel()
	// Two at once, and then one every 100 ms.
	band := api.Band{Limit: 10, PeriodMS: 1000, Burst: 2}
	for name, c := range map[string]struct {
		wrong     bool
		failovers int
		charges   []chaostest.Charge
	}{
		"at the rate":              {false, 0, charges(10, 10, 110, 210, 310, 410)},
		"one too many at once":     {true, 0, charges(10, 10, 11)},
		"one too many later":       {true, 0, charges(10, 10, 110, 1000, 1000, 1010)},
		"slightly faster":          {true, 0, charges(10, 10, 90, 170, 250, 330, 410, 490)},
		"when nobody knows":        {false, 0, []chaostest.Charge{charges(10)[0], charges(10)[0], {Key: "k", Cost: 1, Sent: 0, Received: 200 * ms, Admitted: true}}},
		"refusals":                 {false, 0, []chaostest.Charge{{Key: "k", Cost: 9}, {Key: "k", Cost: 9, Unknown: true}}},
		"by cost":                  {true, 0, []chaostest.Charge{{Key: "k", Cost: 3, Sent: 1 * ms, Received: 2 * ms, Admitted: true}}},
		"once more for a failover": {false, 1, charges(10, 10, 11, 11)},
		"twice more for one":       {true, 1, charges(10, 10, 11, 11, 12, 12)},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			found := chaostest.Bounded(c.charges, band, c.failovers, 0)
			require.Equal(t, c.wrong, len(found) > 0, "%v", found)
		})
	}
	require.Empty(t, chaostest.Bounded(charges(1, 1, 1, 1), api.Band{Limit: 4, PeriodMS: 1000}, 0, 0), "without a burst the limit is the capacity")
}

func TestEachChargeIsCountedOnce(t *testing.T) {
	t.Parallel()
	of := []chaostest.Charge{
		{Key: "k", Cost: 2, Admitted: true},
		{Key: "k", Cost: 3, Unknown: true},
		{Key: "k", Cost: 100},
		{Key: "other", Cost: 1000, Admitted: true},
	}
	wrong := func(taken, refilled int64, failovers int) bool {
		return len(chaostest.CountedOnce("k", of, taken, refilled, failovers)) > 0
	}
	require.False(t, wrong(2, 0, 0))
	require.False(t, wrong(5, 0, 0))
	require.True(t, wrong(6, 0, 0), "counted twice")
	require.True(t, wrong(1, 0, 0), "not counted")
	require.False(t, wrong(1, 1, 0), "refilled")
	require.False(t, wrong(0, 0, 1), "lost in a failover")
	require.True(t, wrong(6, 0, 1), "counted twice in a failover")
}

func TestNoWaitOutlastsItsDeadline(t *testing.T) {
	t.Parallel()
	wait := func(end time.Duration) []chaostest.Wait {
		return []chaostest.Wait{{Client: "a", Name: "l", Call: time.Second, Return: end, Limit: 10 * time.Second}}
	}
	require.Empty(t, chaostest.Answered(wait(11*time.Second), time.Second))
	require.Len(t, chaostest.Answered(wait(13*time.Second), time.Second), 1)
	require.Len(t, chaostest.Answered(wait(chaostest.Never), time.Second), 1)
}

func TestTwoMastersAdmitAtTheRateEachForAWhileOnly(t *testing.T) {
	t.Parallel()
	band := api.Band{Limit: 10, PeriodMS: 1000, Burst: 2}
	// Two masters, each with 100 ms a token: both buckets at once, and then two admissions each 100 ms.
	both := charges(1, 1, 1, 1, 101, 101, 201, 201, 301, 301)
	require.Empty(t, chaostest.Bounded(both, band, 1, time.Second))
	require.NotEmpty(t, chaostest.Bounded(both, band, 1, 0), "one alone would have refused some")
	require.NotEmpty(t, chaostest.Bounded(both, band, 1, 100*time.Millisecond), "it took too long")
}
