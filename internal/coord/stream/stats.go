package stream

import (
	"context"
	"slices"
	"strings"

	"github.com/coxswain-sidecar/coxswain/client/api"
	"github.com/coxswain-sidecar/coxswain/internal/coord"
	"github.com/coxswain-sidecar/coxswain/internal/lua"
)

// Stats counts what a stream and its groups have. A stream that nobody used is empty, and a
// group that is not there is left out.
func (s *Streams) Stats(ctx context.Context, _ coord.Caller, p *api.StreamStatsParams) (api.StreamStatsResult, error) {
	keys := s.keys.streamKeys(p.Stream)
	out, err := lua.Run(ctx, s.Runner, LookScript, LookIn{Keys: keys, Due: s.keys.delayedKeys(p.Stream).Due}, lua.Latch{})
	if err != nil {
		return api.StreamStatsResult{}, coord.Failed("stream "+p.Stream+": stats", err)
	}
	v := out.Value
	r := api.StreamStatsResult{Length: v.Length, Delayed: v.Delayed, Dead: v.Dead, Trimmed: v.Trimmed, Groups: []api.StreamGroup{}}
	slices.Sort(v.Names)
	var ins []GroupIn
	for _, group := range v.Names {
		if p.Group == "" || p.Group == group {
			ins = append(ins, GroupIn{Keys: keys, GroupKeys: s.keys.groupKeys(p.Stream, group), Group: group})
		}
	}
	outs, errs := lua.Batch(ctx, s.Runner, GroupScript, ins)
	for i, out := range outs {
		if errs[i] != nil {
			return api.StreamStatsResult{}, coord.Failed("stream "+p.Stream+": stats", errs[i])
		}
		if g := out.Value; g.Found {
			r.Groups = append(r.Groups, api.StreamGroup{
				Group: ins[i].Group, Lag: g.Lag, Pending: g.Pending, Retrying: g.Retrying, Parked: g.Parked, Consumers: g.Consumers,
				OldestPendingMS: g.OldestMS, LastDeliveredID: g.Last,
			})
		}
	}
	return r, nil
}

// ListGroups lists the groups of a stream and their consumers.
func (s *Streams) ListGroups(ctx context.Context, _ coord.Caller, p *api.StreamParams) (api.StreamGroupsResult, error) {
	out, err := lua.Run(ctx, s.Runner, GroupsScript, s.keys.streamKeys(p.Stream), lua.Latch{})
	if err != nil {
		return api.StreamGroupsResult{}, coord.Failed("stream "+p.Stream+": groups", err)
	}
	rows := out.Value.Rows
	// The row of the group itself, whose consumer is empty, comes before those of its consumers.
	slices.SortFunc(rows, func(a, b ConsumerRow) int {
		if c := strings.Compare(a.Group, b.Group); c != 0 {
			return c
		}
		return strings.Compare(a.Consumer, b.Consumer)
	})
	r := api.StreamGroupsResult{Groups: []api.StreamGroupDetail{}}
	for _, row := range rows {
		if row.Consumer == "" {
			r.Groups = append(r.Groups, api.StreamGroupDetail{Group: row.Group, Consumers: []api.StreamConsumer{}})
			continue
		}
		g := &r.Groups[len(r.Groups)-1]
		g.Consumers = append(g.Consumers, api.StreamConsumer{Name: row.Consumer, Pending: row.Pending, IdleMS: row.IdleMS})
	}
	return r, nil
}
