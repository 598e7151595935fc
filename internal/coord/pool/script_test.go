package pool_test

import (
	"fmt"
	"strings"
	"testing"

	"github.com/redis/go-redis/v9"
	"github.com/stretchr/testify/require"

	"github.com/coxswain-sidecar/coxswain/internal/coord/pool"
	"github.com/coxswain-sidecar/coxswain/internal/lua"
	"github.com/coxswain-sidecar/coxswain/internal/luatest"
	"github.com/coxswain-sidecar/coxswain/internal/redistest"
)

// newPool is a pool of n members.
func newPool(t require.TestingT, s *luatest.Store, n int) *poolRun {
	r := &poolRun{s: s, name: "p", now: luatest.Epoch, given: map[string]string{}, sticky: map[string]string{}}
	for from := 0; from < n; from += 500 {
		in := pool.PutIn{Pool: r.keys(), Most: 10_000}
		for i := from; i < min(from+500, n); i++ {
			in.List = append(in.List, fmt.Sprintf("m%05d", i), "")
		}
		luatest.Call(t, s, pool.PutScript, r.now, in)
	}
	return r
}

func (r *poolRun) acquireIn(a poolAsk) pool.PermitAcquireIn {
	return pool.PermitAcquireIn{
		AcquireIn: pool.AcquireIn{
			Pool: r.keys(), View: r.view(a), Token: a.token, LeaseMS: a.lease, Session: "s", Inboxes: "in:", Exclude: a.exclude,
		},
		Buckets: r.s.Key(r.name + "bk"), Cost: a.cost, Revision: 1, Signature: "1/1/60000000/60000",
	}
}

// runs asks until there is an answer, and counts how often.
func (r *poolRun) runs(t require.TestingT, in pool.PermitAcquireIn) (out pool.PermitAcquireOut, runs int) {
	for {
		out = luatest.Call(t, r.s, pool.PermitAcquireScript, r.now, in)
		runs++
		if !out.More {
			return out, runs
		}
	}
}

// TestAPoolOfTokenlessMembersIsNotLookedThrough: once they are known to be away,
// asking is one run, and so is finding the first one that is back.
func TestAPoolOfTokenlessMembersIsNotLookedThrough(t *testing.T) {
	t.Parallel()
	const n = 900
	luatest.EachStore(t, func(t *testing.T, s *luatest.Store) {
		r := newPool(t, s, n)
		for i := range n {
			luatest.Call(t, s, pool.RatelimitMemberScript, r.now+int64(i), pool.RatelimitMemberIn{
				Pool: r.keys(), Buckets: s.Key("pbk"), Member: fmt.Sprintf("m%05d", i), Cost: 1, Revision: 1, Signature: "1/1/60000000/60000",
			})
		}
		ask := r.acquireIn(poolAsk{token: "t", permit: true, cost: 1, lease: 1000})
		r.now = luatest.Epoch + 1_000_000
		out, runs := r.runs(t, ask)
		require.Equal(t, "limit", out.Reason)
		require.EqualValues(t, 59_000_000, out.RetryUS, "the first that was charged")
		require.LessOrEqual(t, runs, 1+n/400+n/128+1, "each run goes on where the last one stopped")
		_, runs = r.runs(t, ask)
		require.Equal(t, 1, runs)
		r.now = luatest.Epoch + 60_000_000
		out, runs = r.runs(t, ask)
		require.Equal(t, "m00000", out.ID)
		require.Equal(t, 1, runs)
		ask.Token = "t2"
		r.now = luatest.Epoch + 60_000_000 + n
		out, _ = r.runs(t, ask)
		require.Equal(t, "m00001", out.ID, "all are back, in their order")
	})
}

// TestManyLeasedElsewhereAreFoundByThemselves: no view is told of what others lease.
func TestManyLeasedElsewhereAreFoundByThemselves(t *testing.T) {
	t.Parallel()
	const n = 300
	luatest.EachStore(t, func(t *testing.T, s *luatest.Store) {
		r := newPool(t, s, n)
		other := r.acquireIn(poolAsk{token: "t", scope: "h", permit: true, lease: 60_000})
		for i := range n - 1 {
			other.Token = fmt.Sprint("t", i)
			out, _ := r.runs(t, other)
			require.Equal(t, fmt.Sprintf("m%05d", i), out.ID)
		}
		out, runs := r.runs(t, r.acquireIn(poolAsk{token: "u", permit: true, lease: 1000}))
		require.Equal(t, fmt.Sprintf("m%05d", n-1), out.ID)
		require.LessOrEqual(t, runs, 4)
		out, _ = r.runs(t, r.acquireIn(poolAsk{token: "v", permit: true, lease: 1000}))
		require.Equal(t, "busy", out.Reason)
	})
}

// TestFencesOfAPoolRiseThroughWhatIsLost: they are times, too.
func TestFencesOfAPoolRiseThroughWhatIsLost(t *testing.T) {
	t.Parallel()
	luatest.EachStore(t, func(t *testing.T, s *luatest.Store) {
		r := newPool(t, s, 2)
		first, _ := r.runs(t, r.acquireIn(poolAsk{token: "a", permit: true, lease: 1000}))
		s.Del(t, r.keys().State)
		r.now++
		second, _ := r.runs(t, r.acquireIn(poolAsk{token: "b", permit: true, lease: 1000}))
		require.True(t, second.Acquired)
		require.Greater(t, second.Fence, first.Fence)
	})
}

// TestAReleaseWakesTheFirstOfEachLine: it knows none of the lines.
func TestAReleaseWakesTheFirstOfEachLine(t *testing.T) {
	t.Parallel()
	o, err := redis.ParseURL(redistest.URL(t))
	require.NoError(t, err)
	s := luatest.NewStore(t, "redis", o, redistest.Prefix(t))
	r := newPool(t, s, 1)
	inboxes := s.Prefix + "in:"
	runner := luatest.Open(t, lua.Options{URL: redistest.URL(t)})
	h, _ := luatest.Listen(t, runner, inboxes+"P", inboxes+"Q")
	luatest.Next(t, h.Subscribed)

	held := r.acquireIn(poolAsk{token: "a", permit: true, lease: 60_000})
	out, _ := r.runs(t, held)
	require.True(t, out.Acquired)
	for scope, waiters := range map[string][]string{"": {"P:1", "P:2"}, "h": {"Q:7"}} {
		for _, w := range waiters {
			in := r.acquireIn(poolAsk{token: "t" + w, scope: scope, permit: true, lease: 1000})
			in.Waiter, in.HeartbeatMS, in.Inboxes = w, 3000, inboxes
			got, _ := r.runs(t, in)
			require.False(t, got.Acquired)
		}
	}
	luatest.Call(t, s, pool.ReleaseScript, r.now, pool.ReleaseIn{
		Pool: r.keys(), Used: r.used(""), LineKeys: held.View.LineKeys, Lease: pool.Lease{Token: "a"}, Inboxes: inboxes,
	})
	woken := []string{luatest.Next(t, h.Messages), luatest.Next(t, h.Messages)}
	require.ElementsMatch(t, []string{inboxes + "P P:1", inboxes + "Q Q:7"}, woken, "%s", strings.Join(woken, ", "))

	// The first goes away, and the second is known without having looked.
	luatest.Call(t, s, pool.ReleaseScript, r.now, pool.ReleaseIn{
		Pool: r.keys(), Used: r.used(""), LineKeys: held.View.LineKeys, Waiter: "P:1", Inboxes: inboxes,
	})
	woken = []string{luatest.Next(t, h.Messages), luatest.Next(t, h.Messages)}
	require.ElementsMatch(t, []string{inboxes + "P P:2", inboxes + "Q Q:7"}, woken, "%s", strings.Join(woken, ", "))
}
