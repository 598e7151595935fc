package pool

import (
	"context"
	"strconv"

	"github.com/coxswain-sidecar/coxswain/client/api"
	"github.com/coxswain-sidecar/coxswain/internal/coord"
	"github.com/coxswain-sidecar/coxswain/internal/lua"
)

// List reads a page of members, in the order in which they came. Pages are read one
// after the other: who comes or goes meanwhile may be missing or be there still.
func (p *Pools) List(ctx context.Context, _ coord.Caller, q *api.PoolListParams) (api.PoolListResult, error) {
	var after int64
	if q.Cursor != "" {
		var err error
		if after, err = strconv.ParseInt(q.Cursor, 10, 64); err != nil || after < 1 || after > api.MaxInt {
			return api.PoolListResult{}, coord.Invalid("cursor: this is none; give the cursor of the page before, or none to start")
		}
	}
	var page api.PoolListResult
	bytes := 0
	for {
		out, err := lua.Run(ctx, p.runner, ListScript, ListIn{
			Pool: p.keys.poolKeys(q.Pool), Used: p.keys.used(q.Pool, q.Scope),
			After: after, Count: min(listAtOnce, q.Count-int64(len(page.Members))),
		}, lua.Latch{})
		if err != nil {
			return api.PoolListResult{}, coord.Failed("pool "+q.Pool+": list", err)
		}
		for _, v := range out.Value.Members {
			page.Members = append(page.Members, entryOf(v, out.Value.NowUS))
			bytes += len(v.ID) + len(v.Meta)
		}
		after = out.Value.Cursor
		switch {
		case after == 0:
			return page, nil
		case int64(len(page.Members)) >= q.Count, bytes >= maxPageBytes:
			page.Cursor = strconv.FormatInt(after, 10)
			return page, nil
		}
	}
}

// entryOf puts a member's view into words. Of several states the lease counts
// first, then the ban.
func entryOf(v MemberView, now int64) api.PoolEntry {
	e := api.PoolEntry{
		ID: v.ID, Meta: v.Meta, State: MemberFree, Failures: v.Failures, Breaker: v.Breaker,
		PausedForMS: coord.WaitMS(max(0, v.PauseUS-now)), LastUsedAtMS: coord.InstantMS(v.LastUS),
	}
	switch {
	case v.LeaseUS > now:
		e.State, e.ForMS, e.HeldBy = MemberLeased, coord.WaitMS(v.LeaseUS-now), coord.HeldBy(v.Client, v.Instance, "", v.SinceUS/1000)
	case v.BanUS < 0:
		e.State, e.ForMS = MemberBanned, -1
	case v.BanUS > now:
		e.State, e.ForMS = MemberBanned, coord.WaitMS(v.BanUS-now)
	case v.CoolUS > now:
		e.State, e.ForMS = MemberCooling, coord.WaitMS(v.CoolUS-now)
	}
	return e
}

// Stats counts the members, some at a time: each counts once, as it is then. Waiting
// is how many stand in line in the scope for whichever member.
func (p *Pools) Stats(ctx context.Context, _ coord.Caller, q *api.PoolStatsParams) (api.PoolStatsResult, error) {
	in := StatsIn{
		Pool: p.keys.poolKeys(q.Pool), Used: p.keys.used(q.Pool, q.Scope),
		Line: p.keys.view(q.Pool, nounPool, [3]string{q.Scope}, "").Line, Count: countAtOnce,
	}
	var r api.PoolStatsResult
	for {
		out, err := lua.Run(ctx, p.runner, StatsScript, in, lua.Latch{})
		if err != nil {
			return api.PoolStatsResult{}, coord.Failed("pool "+q.Pool+": stats", err)
		}
		v := out.Value
		r.Live, r.Cooling, r.Banned, r.Free, r.Waiting = r.Live+v.Live, r.Cooling+v.Cooling, r.Banned+v.Banned, r.Free+v.Free, v.Waiting
		if in.After = v.Cursor; in.After == 0 {
			r.Total = r.Live + r.Cooling + r.Banned + r.Free
			return r, nil
		}
	}
}
