package conformance

import (
	"math/rand"
	"strings"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/coxswain-sidecar/coxswain/client/api"
)

func removedIsTold(p pooled) {
	p.put("x", "y")
	g := p.take(p.a, api.PoolAcquireParams{LeaseMS: 300})
	r, err := do(patient(p.t), p.b, "", api.PoolRemove, api.PoolRemoveParams{Pool: p.pool, IDs: []string{"x", "nobody"}})
	require.NoError(p.t, err)
	require.Equal(p.t, api.PoolRemoveResult{Removed: 1, Total: 1}, r)
	lost := locker{t: p.t}.loss(p.a)
	require.Equal(p.t, p.pool, lost.Name)
	require.Equal(p.t, g.Lease, lost.Token)
	require.Equal(p.t, g.Fence, lost.Fence)
	require.False(p.t, p.release(p.a, g.Lease, api.PoolReleaseParams{}).Released)
	require.Equal(p.t, "y", p.take(p.b, api.PoolAcquireParams{}).ID)
}

func poolReleasedTwice(p pooled) {
	p.put("x")
	g := p.take(p.a, api.PoolAcquireParams{})
	first := p.release(p.a, g.Lease, api.PoolReleaseParams{Outcome: "fail"})
	require.Equal(p.t, "cooling", first.State)
	for range 2 {
		again := p.release(p.b, g.Lease, api.PoolReleaseParams{Outcome: "fail"})
		require.True(p.t, again.Released)
		require.Equal(p.t, "released", again.Reason)
	}
	list, err := do(patient(p.t), p.a, "", api.PoolList, api.PoolListParams{Pool: p.pool})
	require.NoError(p.t, err)
	require.Equal(p.t, int64(1), list.Members[0].Failures, "counted once")
	require.Equal(p.t, "expired", p.renew(p.a, g.Lease, time.Minute).Reason)
}

func expiredFreesNothing(p pooled) {
	p.put("x")
	old := p.held(p.a, "")
	p.sys.Advance(time.Minute)
	require.Equal(p.t, "expired", p.release(p.a, old.Lease, api.PoolReleaseParams{}).Reason)
	g := p.held(p.b, "")
	require.Equal(p.t, api.PoolReleaseResult{Reason: "not_owner"}, p.release(p.a, old.Lease, api.PoolReleaseParams{Outcome: "ban"}))
	require.Equal(p.t, api.PoolRenewResult{Reason: "not_owner"}, p.renew(p.a, old.Lease, time.Minute))
	require.Equal(p.t, api.PoolStatsResult{Total: 1, Live: 1}, p.stats(""))
	require.Equal(p.t, "free", p.release(p.b, g.Lease, api.PoolReleaseParams{}).State)
}

func poolRenewing(p pooled) {
	p.put("x")
	g := p.held(p.a, "")
	p.sys.Advance(50 * time.Second)
	r := p.renew(p.b, g.Lease, time.Minute)
	require.True(p.t, r.Renewed)
	require.Equal(p.t, "renewed", r.Reason)
	require.Equal(p.t, "busy", p.try(p.b, "", api.PoolAcquireParams{}).Reason, "who looks believes that it is away for a minute")
	p.sys.Advance(50 * time.Second)
	require.Equal(p.t, int64(1), p.stats("").Live)
	require.True(p.t, p.renew(p.a, g.Lease, time.Second).Renewed)
	p.sys.Advance(time.Second)
	require.Equal(p.t, int64(0), p.stats("").Live, "the owner's own word makes it shorter too")
	p.release(p.b, p.held(p.b, "").Lease, api.PoolReleaseParams{})
	require.Equal(p.t, "expired", p.renew(p.a, g.Lease, time.Minute).Reason, "renewing never takes anew")
}

func poolClosing(p pooled) {
	p.put("x", "y")
	for range 2 {
		p.take(p.a, api.PoolAcquireParams{LeaseMS: 86_400_000})
	}
	p.a.Close()
	p.until("they are given back", func() bool { return p.stats("").Free == 2 })
}

func poolTTLOutlives(p pooled) {
	p.put("x", "y")
	g := p.held(p.a, "")
	p.take(p.a, api.PoolAcquireParams{})
	p.a.Close()
	p.until("the other is given back", func() bool { return p.stats("").Free == 1 })
	require.True(p.t, p.renew(p.b, g.Lease, time.Minute).Renewed)
}

func poolReplayMoves(p pooled) {
	p.put("x", "y")
	in := api.PoolAcquireParams{LeaseMS: 86_400_000}
	g := p.try(p.a, "id", in)
	again := p.try(p.b, "id", in)
	require.True(p.t, again.Replayed)
	require.Equal(p.t, []string{g.ID, g.Lease, g.Fence, g.Meta}, []string{again.ID, again.Lease, again.Fence, again.Meta})
	marker := p.take(p.a, in)
	p.a.Close()
	p.until("the old connection's end is dealt with", func() bool { return p.stats("").Live == 1 })
	require.NotEqual(p.t, marker.ID, g.ID)
	require.True(p.t, p.renew(p.b, g.Lease, time.Minute).Renewed, "it has moved")
	p.b.Close()
	p.b = p.sys.Connect(p.t, 1, "c")
	p.until("the new one gives it back", func() bool { return p.stats("").Free == 2 })
}

func poolReplayOfReleased(p pooled) {
	p.put("x", "y")
	g := p.try(p.a, "id", api.PoolAcquireParams{})
	p.release(p.a, g.Lease, api.PoolReleaseParams{})
	again := p.try(p.b, "id", api.PoolAcquireParams{})
	require.False(p.t, again.Acquired)
	require.True(p.t, again.Replayed)
	require.Equal(p.t, "released", again.Reason)
	require.Equal(p.t, int64(2), p.stats("").Free)
}

func poolReplayOfExpired(p pooled) {
	p.put("x")
	in := api.PoolAcquireParams{Bind: api.BindTTL, LeaseMS: 1000}
	p.try(p.a, "id", in)
	p.sys.Advance(time.Second)
	again := p.try(p.b, "id", in)
	require.False(p.t, again.Acquired)
	require.True(p.t, again.Replayed)
	require.Equal(p.t, "expired", again.Reason)
}

func poolConflict(p pooled) {
	p.put("x", "y")
	p.try(p.a, "id", api.PoolAcquireParams{})
	_, err := do(patient(p.t), p.b, "id", api.PoolAcquire, api.PoolAcquireParams{Pool: p.pool, LeaseMS: 1000})
	require.ErrorIs(p.t, err, api.Conflict)
}

// queued starts a call that waits, and returns when it is the n-th in the waiting line.
func (p pooled) queued(c Client, n int64) chan api.PoolAcquireResult {
	p.t.Helper()
	done := make(chan api.PoolAcquireResult, 1)
	go func() {
		r, err := do(patient(p.t), c, "", api.PoolAcquire, api.PoolAcquireParams{Pool: p.pool, WaitMS: 60_000})
		if err != nil {
			p.t.Error(err)
		}
		done <- r
	}()
	p.until("it stands in line", func() bool { return p.stats("").Waiting == n })
	return done
}

func (p pooled) served(done chan api.PoolAcquireResult) api.PoolAcquireResult {
	p.t.Helper()
	select {
	case r := <-done:
		require.True(p.t, r.Acquired, "%+v", r)
		return r
	case <-time.After(2 * patience):
		p.t.Fatal("it is never served")
		return api.PoolAcquireResult{}
	}
}

func poolWaiting(p pooled) {
	p.put("x")
	g := p.take(p.a, api.PoolAcquireParams{})
	first, second := p.queued(p.b, 1), p.queued(p.a, 2)
	require.Equal(p.t, "busy", p.try(p.b, "", api.PoolAcquireParams{}).Reason)
	p.release(p.a, g.Lease, api.PoolReleaseParams{})
	r := p.served(first)
	require.Empty(p.t, second)
	p.release(p.b, r.Lease, api.PoolReleaseParams{})
	r = p.served(second)
	p.release(p.a, r.Lease, api.PoolReleaseParams{})
	require.Equal(p.t, api.PoolStatsResult{Total: 1, Free: 1}, p.stats(""))
}

func poolWaitingForMore(p pooled) {
	done := p.queued(p.b, 1)
	p.put("x")
	require.Equal(p.t, "x", p.served(done).ID)
}

func poolMistakes(p pooled) {
	long := strings.Repeat("x", api.MaxNameBytes+1)
	for want, in := range map[string]api.PoolAcquireParams{
		"pool":       {},
		"scope":      {Pool: p.pool, Scope: long},
		"sticky":     {Pool: p.pool, Sticky: long},
		"lease_ms":   {Pool: p.pool, LeaseMS: 99},
		"wait_ms":    {Pool: p.pool, WaitMS: 60_001},
		"exclude[1]": {Pool: p.pool, Exclude: []string{"a", long}},
		"exclude":    {Pool: p.pool, Exclude: make([]string, 101)},
	} {
		_, err := do(patient(p.t), p.a, "", api.PoolAcquire, in)
		require.ErrorIs(p.t, err, api.InvalidArgument, want)
		require.ErrorContains(p.t, err, want)
	}
	_, err := do(patient(p.t), p.a, "", api.PoolPut, api.PoolPutParams{Pool: p.pool, Members: []api.PoolMember{{ID: "a"}, {ID: "b"}, {ID: "c"}, {}}})
	require.ErrorIs(p.t, err, api.InvalidArgument)
	require.ErrorContains(p.t, err, "members[3]")
	_, err = do(patient(p.t), p.a, "", api.PoolPut, api.PoolPutParams{Pool: p.pool, Members: []api.PoolMember{{ID: "a", Meta: strings.Repeat("x", 4097)}}})
	require.ErrorIs(p.t, err, api.InvalidArgument)
	require.ErrorContains(p.t, err, "meta")
	for _, lease := range []string{"x", "1.2.token_bucket.1.1.a:b", "p1.T.9.0.x", "m1.T.0.0.x"} {
		_, err := do(patient(p.t), p.a, "", api.PoolRelease, api.PoolReleaseParams{Pool: p.pool, Lease: lease})
		require.ErrorIs(p.t, err, api.InvalidArgument, lease)
		require.ErrorContains(p.t, err, "lease")
	}
	_, err = do(patient(p.t), p.a, "", api.PoolList, api.PoolListParams{Pool: p.pool, Cursor: "x"})
	require.ErrorIs(p.t, err, api.InvalidArgument)
	require.ErrorContains(p.t, err, "cursor")
	require.Zero(p.t, p.stats("").Total)
}

func poolsAreApart(p pooled) {
	type place struct{ pool, id, lease string }
	var all []place
	for _, name := range names() {
		p.pool = name
		p.put(name)
		g := p.take(p.a, api.PoolAcquireParams{Scope: name, Sticky: name})
		require.Equal(p.t, name, g.ID)
		all = append(all, place{name, g.ID, g.Lease})
	}
	for _, x := range all {
		p.pool = x.pool
		require.Equal(p.t, int64(1), p.stats("").Live, "%q", x.pool)
		require.True(p.t, p.release(p.b, x.lease, api.PoolReleaseParams{}).Released, "%q", x.pool)
	}
}

// poolSums makes random steps and checks after each that the states add up to the total, and that a lease that has
// ended frees no member of another lease.
func poolSums(p pooled) {
	const seed = 5
	random := rand.New(rand.NewSource(seed))
	p.put("a", "b", "c", "d", "e")
	held := map[string]string{} // member by lease
	var old []string
	outcomes := []string{"ok", "ok", "ok", "fail", "transport", "cancelled", "ban"}
	for step := range 150 {
		c := []Client{p.a, p.b}[random.Intn(2)]
		switch random.Intn(6) {
		case 0, 1, 2:
			if g := p.try(c, "", api.PoolAcquireParams{Bind: api.BindTTL, Scope: []string{"", "s"}[random.Intn(2)]}); g.Acquired {
				for _, id := range held {
					require.NotEqual(p.t, id, g.ID, "step %d", step)
				}
				held[g.Lease] = g.ID
			}
		case 3:
			for lease := range held {
				require.True(p.t, p.release(c, lease, api.PoolReleaseParams{Outcome: outcomes[random.Intn(len(outcomes))]}).Released)
				delete(held, lease)
				break
			}
		case 4:
			for _, lease := range old {
				require.False(p.t, p.release(c, lease, api.PoolReleaseParams{}).Released)
			}
			for _, id := range []string{"a", "b", "c", "d", "e"} {
				_, err := do(patient(p.t), c, "", api.PoolUnban, api.PoolUnbanParams{Pool: p.pool, ID: id})
				require.NoError(p.t, err)
			}
		case 5:
			if random.Intn(3) == 0 {
				p.sys.Advance(time.Minute)
				for lease := range held {
					old = append(old, lease)
					delete(held, lease)
				}
			}
		}
		s := p.stats([]string{"", "s"}[random.Intn(2)])
		require.Equal(p.t, int64(5), s.Total, "step %d of seed %d", step, seed)
		require.Equal(p.t, int64(len(held)), s.Live, "step %d of seed %d", step, seed)
	}
}
