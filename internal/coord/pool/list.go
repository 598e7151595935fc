package pool

import (
	"cmp"
	"context"
	"slices"
	"strconv"
	"strings"

	"github.com/coxswain-sidecar/coxswain/client/api"
	"github.com/coxswain-sidecar/coxswain/internal/coord"
	"github.com/coxswain-sidecar/coxswain/internal/lua"
)

// List returns a page of members, in the order in which they were added. Pages are read one
// after the other: a member that is added or removed meanwhile may or may not be listed.
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
		}, lua.StoredReply{})
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

// entryOf converts a member's view to the type of the wire. If several states apply, the lease comes
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

// Stats counts the members, a page at a time: each counts once, with its state at that moment. Waiting
// is the number of calls in the waiting line of the scope.
func (p *Pools) Stats(ctx context.Context, _ coord.Caller, q *api.PoolStatsParams) (api.PoolStatsResult, error) {
	v, err := p.count(ctx, q.Pool, q.Scope, 0)
	if err != nil {
		return api.PoolStatsResult{}, coord.Failed("pool "+q.Pool+": stats", err)
	}
	return api.PoolStatsResult{
		Total: total(v), Live: v.Live, Cooling: v.Cooling, Banned: v.Banned, Free: v.Free, Open: v.Open, Waiting: v.Waiting,
	}, nil
}

func total(v StatsOut) int64 { return v.Live + v.Cooling + v.Banned + v.Free }

// count counts the members of a pool, and returns at most that many of their holders, in the order in which their leases end.
func (p *Pools) count(ctx context.Context, pool, scope string, most int64) (sum StatsOut, _ error) {
	in := StatsIn{
		Pool: p.keys.poolKeys(pool), Used: p.keys.used(pool, scope),
		Line: p.keys.view(pool, nounPool, [3]string{scope}, "").Line, Count: countAtOnce, Most: most,
	}
	for {
		out, err := lua.Run(ctx, p.runner, StatsScript, in, lua.StoredReply{})
		if err != nil {
			return sum, err
		}
		v := out.Value
		sum = StatsOut{
			Live: sum.Live + v.Live, Cooling: sum.Cooling + v.Cooling, Banned: sum.Banned + v.Banned, Free: sum.Free + v.Free,
			Open: sum.Open + v.Open, Waiting: v.Waiting, Lines: v.Lines, Holders: firstToEnd(append(sum.Holders, v.Holders...), most),
		}
		if in.After = v.Cursor; in.After == 0 {
			return sum, nil
		}
	}
}

// firstToEnd returns the holders, at most that many, whose leases end first.
func firstToEnd(all []Holder, most int64) []Holder {
	slices.SortFunc(all, func(a, b Holder) int { return cmp.Or(cmp.Compare(a.LeftUS, b.LeftUS), strings.Compare(a.ID, b.ID)) })
	return all[:min(len(all), int(most))]
}

func holders(all []Holder) (told []api.PoolHolder) {
	for _, h := range all {
		told = append(told, api.PoolHolder{ID: h.ID, LeftMS: coord.WaitMS(h.LeftUS), HeldBy: coord.HeldBy(h.Client, h.Instance, "", h.SinceMS)})
	}
	return told
}

// listedHolders is how many holders a list contains for each pool.
const listedHolders = 3

// Pools returns a page of the pools that have members, as coord.Listing does.
func (p *Pools) Pools(ctx context.Context, _ coord.Caller, q *api.PoolPoolsParams) (r api.PoolPoolsResult, err error) {
	r.Pools, r.Cursor, err = p.listing(q.State).Page(ctx, q.Cursor, q.Count)
	return r, err
}

// listing counts one pool after the other, since each visits all members of its pool. Other scripts
// can then run in between.
func (p *Pools) listing(state string) coord.Listing[api.PoolListed] {
	return coord.Listing[api.PoolListed]{
		Runner: p.runner, Method: api.PoolPools.Name, Pattern: p.keys.Pattern(kindPool + partOrder),
		Read: func(ctx context.Context, keys []string) (rows []api.PoolListed, _ error) {
			for _, key := range keys {
				pool, ok := p.keys.NameOf(key, kindPool+partOrder)
				if !ok {
					continue
				}
				v, err := p.count(ctx, pool, "", listedHolders)
				if err != nil {
					return nil, err
				}
				if total(v) > 0 && (state != api.PoolExhausted || v.Free == 0) && (state != api.StateWaited || v.Lines > 0) {
					rows = append(rows, api.PoolListed{
						Pool: pool, Total: total(v), Live: v.Live, Cooling: v.Cooling, Banned: v.Banned, Free: v.Free, Open: v.Open,
						Lines: v.Lines, Holders: holders(v.Holders),
					})
				}
			}
			return rows, nil
		},
	}
}
