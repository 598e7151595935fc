package stream

import (
	"cmp"
	"context"
	"slices"
	"strings"
	"time"

	"github.com/coxswain-sidecar/coxswain/client/api"
	"github.com/coxswain-sidecar/coxswain/internal/coord"
	"github.com/coxswain-sidecar/coxswain/internal/lua"
)

// countEvery is about how often a sidecar counts the messages of each of its groups. It is long,
// since counting passes over all groups and consumers of a stream, and all pods of a group do it.
const countEvery = 15 * time.Second

// Standing has the counts of messages of a sidecar's groups, as of the last count.
type Standing struct {
	// Lag is the number of messages that were not delivered, of all groups together. If Redis
	// does not know it and there are too many to be counted, it is a lower bound.
	Lag int64
	// Pending is the number of messages that were delivered and not acknowledged, of all groups
	// together.
	Pending int64
	// Oldest is the time since the oldest pending message was published, the longest of all
	// groups; 0 = none is pending.
	Oldest time.Duration
}

// Standing sums up the last counts of the groups that this sidecar takes part in now. It does not
// ask Redis, and does not block.
func (s *Streams) Standing() Standing {
	d := s.delivery
	d.mu.Lock()
	defer d.mu.Unlock()
	var sum Standing
	for _, g := range d.groups {
		g.mu.Lock()
		one := g.standing
		g.mu.Unlock()
		sum.Lag += one.Lag
		sum.Pending += one.Pending
		sum.Oldest = max(sum.Oldest, one.Oldest)
	}
	return sum
}

// count counts the messages of the group, about every countEvery. If that fails, the earlier counts
// are kept: during an outage of Redis no better ones are known.
func (g *group) count(ctx context.Context) {
	if time.Now().Before(g.countAt) {
		return
	}
	g.countAt = time.Now().Add(countEvery - spread(countEvery/4))
	ctx, cancel := context.WithTimeout(ctx, scriptTime)
	defer cancel()
	out, err := lua.Attempt(ctx, g.d.Runner, GroupScript, GroupIn{Keys: g.keys, GroupKeys: g.own, Group: g.group}, lua.StoredReply{})
	if err != nil {
		return
	}
	v := out.Value
	g.mu.Lock()
	defer g.mu.Unlock()
	g.standing = Standing{Lag: v.Least, Pending: v.Pending, Oldest: coord.Millis(v.OldestMS)}
}

// Inspect lists the groups that this sidecar takes part in now, sorted by stream and group.
func (s *Streams) Inspect() []api.InspectStreamGroup {
	d := s.delivery
	d.mu.Lock()
	defer d.mu.Unlock()
	all := make([]api.InspectStreamGroup, 0, len(d.groups))
	for _, g := range d.groups {
		g.mu.Lock()
		all = append(all, api.InspectStreamGroup{
			Stream: g.stream, Group: g.group, Subscriptions: int64(len(g.subs)), Fetches: int64(len(g.fetches)),
			InFlight: int64(len(g.flights)), Unsent: int64(len(g.unsent)), Lag: g.standing.Lag, Pending: g.standing.Pending,
		})
		g.mu.Unlock()
	}
	slices.SortFunc(all, func(a, b api.InspectStreamGroup) int {
		return cmp.Or(strings.Compare(a.Stream, b.Stream), strings.Compare(a.Group, b.Group))
	})
	return all
}
