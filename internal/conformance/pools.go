package conformance

import (
	"fmt"
	"strconv"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/coxswain-sidecar/coxswain/client/api"
)

// pooled is one test's view of a pool of its own.
type pooled struct {
	t    *testing.T
	sys  RulesSystem
	a, b Client // of sidecar 0 and 1
	pool string
}

// Pools tests what the methods of pools promise.
func Pools(t *testing.T, sys RulesSystem) {
	for name, test := range map[string]func(pooled){
		"the least recently used one is given":                 leastRecentlyUsed,
		"a member is one caller's at a time":                   oneAtATime,
		"what cools down is not given while another is free":   coolingIsNotGiven,
		"failures in a row cool down longer":                   failuresBackOff,
		"a ban lasts until it is lifted":                       bans,
		"an empty pool says so":                                emptyPool,
		"scopes have uses and cooldowns of their own":          scopesAreApart,
		"the same name gets the same member":                   stickiness,
		"members that were put again keep their state":         putKeepsState,
		"a pool is listed in pages":                            listedInPages,
		"a removed member is gone and its owner is told":       removedIsTold,
		"releasing twice answers the same":                     poolReleasedTwice,
		"an expired lease frees nothing of others":             expiredFreesNothing,
		"renewing lasts so long from now on":                   poolRenewing,
		"a connection that closes gives its members back":      poolClosing,
		"a member bound to its TTL outlives its connection":    poolTTLOutlives,
		"a replayed grant belongs to the new connection":       poolReplayMoves,
		"a replay of a released lease takes nothing":           poolReplayOfReleased,
		"a replay of an expired lease takes nothing":           poolReplayOfExpired,
		"a request id of another call is a conflict":           poolConflict,
		"waiters are served in their order":                    poolWaiting,
		"who is put while others wait is given to them":        poolWaitingForMore,
		"mistakes in a pool's parameters name their field":     poolMistakes,
		"pools are apart, whatever their bytes":                poolsAreApart,
		"live, cooling, banned and free are all, at each step": poolSums,
	} {
		t.Run(name, func(t *testing.T) {
			test(pooled{t, sys, sys.Connect(t, 0, "a"), sys.Connect(t, 1, "b"), t.Name()})
		})
	}
}

func (p pooled) put(ids ...string) {
	p.t.Helper()
	in := api.PoolPutParams{Pool: p.pool}
	for _, id := range ids {
		in.Members = append(in.Members, api.PoolMember{ID: id, Meta: "meta of " + id})
	}
	r, err := do(patient(p.t), p.a, "", api.PoolPut, in)
	require.NoError(p.t, err)
	require.Equal(p.t, int64(len(ids)), r.Added)
}

func (p pooled) try(c Client, id string, in api.PoolAcquireParams) api.PoolAcquireResult {
	p.t.Helper()
	in.Pool = p.pool
	r, err := do(patient(p.t), c, id, api.PoolAcquire, in)
	require.NoError(p.t, err)
	require.Equal(p.t, r.Acquired, r.Lease != "", "%+v", r)
	return r
}

func (p pooled) take(c Client, in api.PoolAcquireParams) api.PoolAcquireResult {
	p.t.Helper()
	r := p.try(c, "", in)
	require.True(p.t, r.Acquired, "%+v", r)
	return r
}

// held takes a member that only its TTL gives back, for tests that let time pass.
func (p pooled) held(c Client, scope string) api.PoolAcquireResult {
	p.t.Helper()
	return p.take(c, api.PoolAcquireParams{Scope: scope, Bind: api.BindTTL})
}

func (p pooled) release(c Client, lease string, in api.PoolReleaseParams) api.PoolReleaseResult {
	p.t.Helper()
	in.Pool, in.Lease = p.pool, lease
	r, err := do(patient(p.t), c, "", api.PoolRelease, in)
	require.NoError(p.t, err)
	return r
}

func (p pooled) renew(c Client, lease string, d time.Duration) api.PoolRenewResult {
	p.t.Helper()
	r, err := do(patient(p.t), c, "", api.PoolRenew, api.PoolRenewParams{Pool: p.pool, Lease: lease, LeaseMS: d.Milliseconds()})
	require.NoError(p.t, err)
	return r
}

func (p pooled) stats(scope string) api.PoolStatsResult {
	p.t.Helper()
	s, err := do(patient(p.t), p.b, "", api.PoolStats, api.PoolStatsParams{Pool: p.pool, Scope: scope})
	require.NoError(p.t, err)
	require.Equal(p.t, s.Total, s.Live+s.Cooling+s.Banned+s.Free, "%+v", s)
	return s
}

// until polls until a condition holds that another goroutine or sidecar fulfils.
func (p pooled) until(what string, is func() bool) {
	p.t.Helper()
	limiter{t: p.t}.until(what, is)
}

func leastRecentlyUsed(p pooled) {
	p.put("c", "a", "b")
	var leases []string
	for i, want := range []string{"c", "a", "b"} {
		g := p.held([]Client{p.a, p.b}[i%2], "")
		require.Equal(p.t, want, g.ID, "those that were never used go by when they came")
		require.Equal(p.t, "meta of "+want, g.Meta)
		require.Zero(p.t, g.LastUsedAtMS)
		require.Zero(p.t, g.RetryAfterMS)
		leases = append(leases, g.Lease)
	}
	at := p.sys.Now().UnixMilli()
	for _, i := range []int{2, 0, 1} {
		require.Equal(p.t, "free", p.release(p.b, leases[i], api.PoolReleaseParams{}).State)
	}
	p.sys.Advance(time.Second)
	for _, want := range []string{"c", "a", "b"} {
		g := p.held(p.a, "")
		require.Equal(p.t, want, g.ID, "by their last use, not by when they were given back")
		require.InDelta(p.t, at, g.LastUsedAtMS, 1)
	}
}

func oneAtATime(p pooled) {
	p.put("only")
	g := p.held(p.a, "")
	fence, err := strconv.ParseInt(g.Fence, 10, 64)
	require.NoError(p.t, err)
	busy := p.try(p.b, "", api.PoolAcquireParams{})
	require.Equal(p.t, "busy", busy.Reason)
	require.Equal(p.t, int64(60_000), busy.RetryAfterMS, "when its lease is over")
	require.Equal(p.t, p.sys.Now().UnixMilli()+60_000, busy.NextAtMS)
	require.Equal(p.t, "busy", p.try(p.b, "", api.PoolAcquireParams{Scope: "another"}).Reason, "in whatever scope")
	list, err := do(patient(p.t), p.b, "", api.PoolList, api.PoolListParams{Pool: p.pool})
	require.NoError(p.t, err)
	require.Equal(p.t, "leased", list.Members[0].State)
	require.Equal(p.t, "a", list.Members[0].HeldBy.Client)
	p.release(p.a, g.Lease, api.PoolReleaseParams{})
	next, err := strconv.ParseInt(p.held(p.b, "").Fence, 10, 64)
	require.NoError(p.t, err)
	require.Greater(p.t, next, fence)
}

func coolingIsNotGiven(p pooled) {
	p.put("x", "y")
	g := p.held(p.a, "")
	require.Equal(p.t, "x", g.ID)
	r := p.release(p.a, g.Lease, api.PoolReleaseParams{CooldownMS: 5000})
	require.Equal(p.t, api.PoolReleaseResult{Released: true, Reason: "released", State: "cooling", NextAtMS: p.sys.Now().UnixMilli() + 5000}, r)
	y := p.held(p.a, "")
	require.Equal(p.t, "y", y.ID)
	none := p.try(p.b, "", api.PoolAcquireParams{})
	require.Equal(p.t, "cooling", none.Reason, "the soonest member's")
	require.Equal(p.t, int64(5000), none.RetryAfterMS)
	require.Equal(p.t, api.PoolStatsResult{Total: 2, Live: 1, Cooling: 1}, p.stats(""))
	p.sys.Advance(5 * time.Second)
	require.Equal(p.t, "x", p.held(p.b, "").ID, "exactly then")
}

func failuresBackOff(p pooled) {
	p.put("x")
	last := int64(0)
	for range 3 {
		r := p.release(p.a, p.held(p.a, "").Lease, api.PoolReleaseParams{Outcome: "fail"})
		require.Equal(p.t, "cooling", r.State)
		wait := r.NextAtMS - p.sys.Now().UnixMilli()
		require.Greater(p.t, wait, last)
		last = wait
		p.sys.Advance(time.Duration(wait) * time.Millisecond)
	}
	require.Equal(p.t, "free", p.release(p.a, p.held(p.a, "").Lease, api.PoolReleaseParams{Outcome: "cancelled"}).State)
	again := p.release(p.a, p.held(p.a, "").Lease, api.PoolReleaseParams{Outcome: "fail"})
	require.Greater(p.t, again.NextAtMS-p.sys.Now().UnixMilli(), last, "cancelled says nothing of it")
	p.sys.Advance(time.Hour)
	require.Equal(p.t, "free", p.release(p.a, p.held(p.a, "").Lease, api.PoolReleaseParams{}).State)
	first := p.release(p.a, p.held(p.a, "").Lease, api.PoolReleaseParams{Outcome: "fail"})
	require.Less(p.t, first.NextAtMS-p.sys.Now().UnixMilli(), last, "ok forgets failures")
	for range 20 {
		p.sys.Advance(24 * time.Hour)
		require.Equal(p.t, "cooling", p.release(p.a, p.held(p.a, "").Lease, api.PoolReleaseParams{Outcome: "transport"}).State, "never a ban")
	}
}

func bans(p pooled) {
	p.put("x")
	r := p.release(p.a, p.held(p.a, "").Lease, api.PoolReleaseParams{Outcome: "ban", UnbanAfterMS: 1000})
	require.Equal(p.t, "banned", r.State)
	require.Equal(p.t, p.sys.Now().UnixMilli()+1000, r.NextAtMS)
	none := p.try(p.b, "", api.PoolAcquireParams{})
	require.Equal(p.t, "banned", none.Reason)
	require.Equal(p.t, int64(1000), none.RetryAfterMS)
	p.sys.Advance(time.Second)
	r = p.release(p.a, p.held(p.a, "").Lease, api.PoolReleaseParams{Outcome: "ban"})
	require.Equal(p.t, int64(-1), r.NextAtMS)
	p.sys.Advance(1000 * time.Hour)
	none = p.try(p.b, "", api.PoolAcquireParams{})
	require.Equal(p.t, "banned", none.Reason)
	require.Equal(p.t, int64(-1), none.RetryAfterMS)
	require.Equal(p.t, api.PoolStatsResult{Total: 1, Banned: 1}, p.stats(""))
	for _, changed := range []bool{true, false} {
		u, err := do(patient(p.t), p.b, "", api.PoolUnban, api.PoolUnbanParams{Pool: p.pool, ID: "x"})
		require.NoError(p.t, err)
		require.Equal(p.t, changed, u.Changed)
	}
	g := p.held(p.b, "")
	_, err := do(patient(p.t), p.a, "", api.PoolBan, api.PoolBanParams{Pool: p.pool, ID: "x"})
	require.NoError(p.t, err)
	require.True(p.t, p.renew(p.b, g.Lease, time.Minute).Renewed, "who has it keeps it")
	require.Equal(p.t, "banned", p.release(p.b, g.Lease, api.PoolReleaseParams{}).State)
	_, err = do(patient(p.t), p.a, "", api.PoolBan, api.PoolBanParams{Pool: p.pool, ID: "nobody"})
	require.ErrorIs(p.t, err, api.NotFound)
}

func emptyPool(p pooled) {
	none := p.try(p.a, "", api.PoolAcquireParams{})
	require.Equal(p.t, "empty", none.Reason)
	require.Equal(p.t, int64(-1), none.RetryAfterMS)
	p.put("x")
	none = p.try(p.a, "", api.PoolAcquireParams{Exclude: []string{"x"}})
	require.Equal(p.t, "empty", none.Reason, "there is no member but excluded ones")
	require.Equal(p.t, "x", p.take(p.a, api.PoolAcquireParams{Exclude: []string{"y"}}).ID)
}

func scopesAreApart(p pooled) {
	p.put("x", "y")
	g := p.held(p.a, "one")
	require.Equal(p.t, "x", g.ID)
	p.release(p.a, g.Lease, api.PoolReleaseParams{CooldownMS: 60_000})
	require.Equal(p.t, "x", p.take(p.b, api.PoolAcquireParams{Scope: "two"}).ID, "it cools down in the one alone")
	require.Equal(p.t, int64(1), p.stats("two").Free)
	require.Equal(p.t, "y", p.take(p.a, api.PoolAcquireParams{Scope: "one"}).ID)
}

func stickiness(p pooled) {
	p.put("x", "y", "z")
	g := p.held(p.a, "")
	p.release(p.a, g.Lease, api.PoolReleaseParams{})
	mine := p.take(p.a, api.PoolAcquireParams{Sticky: "me", Bind: api.BindTTL})
	require.Equal(p.t, "y", mine.ID)
	for range 3 {
		p.release(p.a, mine.Lease, api.PoolReleaseParams{})
		mine = p.take(p.b, api.PoolAcquireParams{Sticky: "me", Bind: api.BindTTL})
		require.Equal(p.t, "y", mine.ID)
	}
	require.Equal(p.t, "z", p.take(p.a, api.PoolAcquireParams{Sticky: "me"}).ID, "another one while it is not to be had")
}

func putKeepsState(p pooled) {
	p.put("x")
	p.release(p.a, p.held(p.a, "").Lease, api.PoolReleaseParams{Outcome: "ban"})
	r, err := do(patient(p.t), p.b, "", api.PoolPut, api.PoolPutParams{Pool: p.pool, Members: []api.PoolMember{{ID: "x", Meta: "new"}, {ID: "y"}}})
	require.NoError(p.t, err)
	require.Equal(p.t, api.PoolPutResult{Added: 1, Total: 2}, r)
	list, err := do(patient(p.t), p.a, "", api.PoolList, api.PoolListParams{Pool: p.pool})
	require.NoError(p.t, err)
	require.Equal(p.t, "banned", list.Members[0].State)
	require.Equal(p.t, "new", list.Members[0].Meta)
	require.Equal(p.t, int64(-1), list.Members[0].ForMS)
	require.Equal(p.t, api.PoolEntry{ID: "y", State: "free"}, list.Members[1])
}

func listedInPages(p pooled) {
	ids := make([]string, 700)
	for i := range ids {
		ids[i] = fmt.Sprintf("m%03d", i)
	}
	p.put(ids...)
	var seen []string
	in := api.PoolListParams{Pool: p.pool, Count: 300}
	for pages := 1; ; pages++ {
		r, err := do(patient(p.t), p.a, "", api.PoolList, in)
		require.NoError(p.t, err)
		for _, m := range r.Members {
			seen = append(seen, m.ID)
		}
		if in.Cursor = r.Cursor; in.Cursor == "" {
			break
		}
		require.Len(p.t, r.Members, 300)
	}
	require.Equal(p.t, ids, seen)
	require.Equal(p.t, api.PoolStatsResult{Total: 700, Free: 700}, p.stats(""))
}
