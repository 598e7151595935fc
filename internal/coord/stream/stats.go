package stream

import (
	"cmp"
	"context"
	"errors"
	"slices"
	"strings"

	"github.com/coxswain-sidecar/coxswain/client/api"
	"github.com/coxswain-sidecar/coxswain/internal/coord"
	"github.com/coxswain-sidecar/coxswain/internal/lua"
)

// Stats counts the messages of a stream and of its groups. A stream that does not exist has counts
// of 0, and a group that does not exist is left out.
func (s *Streams) Stats(ctx context.Context, _ coord.Caller, p *api.StreamStatsParams) (api.StreamStatsResult, error) {
	keys := s.keys.streamKeys(p.Stream)
	out, err := lua.Run(ctx, s.Runner, LookScript, LookIn{Keys: keys, Due: s.keys.delayedKeys(p.Stream).Due}, lua.StoredReply{})
	if err != nil {
		return api.StreamStatsResult{}, coord.Failed("stream "+p.Stream+": stats", err)
	}
	v := out.Value
	r := api.StreamStatsResult{Length: v.Length, Delayed: v.Delayed, Dead: v.Dead, Trimmed: v.Trimmed}
	slices.Sort(v.Names)
	names := slices.DeleteFunc(v.Names, func(group string) bool { return p.Group != "" && p.Group != group })
	groups, err := s.counted(ctx, []groupsOf{{p.Stream, names}})
	if err != nil {
		return api.StreamStatsResult{}, coord.Failed("stream "+p.Stream+": stats", err)
	}
	r.Groups = groups[0]
	return r, nil
}

// groupsOf names groups of a stream.
type groupsOf struct {
	stream string
	names  []string
}

// counted counts the messages of groups of some streams. A group that does not exist is left out.
func (s *Streams) counted(ctx context.Context, of []groupsOf) ([][]api.StreamGroup, error) {
	var ins []GroupIn
	for _, o := range of {
		for _, group := range o.names {
			ins = append(ins, GroupIn{Keys: s.keys.streamKeys(o.stream), GroupKeys: s.keys.groupKeys(o.stream, group), Group: group})
		}
	}
	outs, errs := lua.Batch(ctx, s.Runner, GroupScript, ins)
	if err := errors.Join(errs...); err != nil {
		return nil, err
	}
	all := make([][]api.StreamGroup, len(of))
	for i, o := range of {
		all[i] = []api.StreamGroup{}
		for _, group := range o.names {
			if g := outs[0].Value; g.Found {
				all[i] = append(all[i], api.StreamGroup{
					Group: group, Lag: g.Lag, Pending: g.Pending, Retrying: g.Retrying, Parked: g.Parked, Consumers: g.Consumers,
					OldestPendingMS: g.OldestMS, LastDeliveredID: g.Last,
				})
			}
			outs = outs[1:]
		}
	}
	return all, nil
}

// listedGroups is the most groups that a list has of each stream.
const listedGroups = 8

// List lists the streams, as coord.Listing does.
func (s *Streams) List(ctx context.Context, _ coord.Caller, p *api.StreamListParams) (r api.StreamListResult, err error) {
	r.Streams, r.Cursor, err = s.listing(p.State).Page(ctx, p.Cursor, p.Count)
	return r, err
}

func (s *Streams) listing(state string) coord.Listing[api.StreamListed] {
	return coord.Listing[api.StreamListed]{
		Runner: s.Runner, Method: api.StreamList.Name, Pattern: s.keys.Pattern(foundBy),
		Read: func(ctx context.Context, keys []string) ([]api.StreamListed, error) {
			var of []groupsOf
			rows, err := coord.ReadEach(ctx, s.Runner, LookScript, keys, func(key string) (LookIn, bool) {
				stream, _, ok := s.found(key)
				return LookIn{Keys: s.keys.streamKeys(stream), Due: s.keys.delayedKeys(stream).Due}, ok
			}, func(key string, v LookOut) (api.StreamListed, bool) {
				stream, due, _ := s.found(key)
				if due == v.Log { // a stream that has both keys is listed once, by its log
					return api.StreamListed{}, false
				}
				of = append(of, groupsOf{stream, v.Names})
				return api.StreamListed{Stream: stream, Length: v.Length, Delayed: v.Delayed, Dead: v.Dead, Trimmed: v.Trimmed}, true
			})
			if err != nil {
				return nil, err
			}
			groups, err := s.counted(ctx, of)
			if err != nil {
				return nil, err
			}
			for i := range rows {
				slices.SortFunc(groups[i], func(a, b api.StreamGroup) int {
					return cmp.Or(cmp.Compare(behind(b), behind(a)), strings.Compare(a.Group, b.Group))
				})
				some := min(len(groups[i]), listedGroups)
				rows[i].Groups, rows[i].MoreGroups = groups[i][:some], int64(len(groups[i])-some)
			}
			return slices.DeleteFunc(rows, func(r api.StreamListed) bool { return !chosen(state, r) }), nil
		},
	}
}

// found returns the stream of a key that the pattern foundBy matched; due reports whether the key
// is that of the messages that are not due. ok is false for any other key.
func (s *Streams) found(key string) (stream string, due, ok bool) {
	if stream, ok = s.keys.NameOf(key, kindLog); ok {
		return stream, false, true
	}
	stream, ok = s.keys.NameOf(key, kindDue)
	return stream, true, ok
}

// behind counts the messages that were not delivered to a group or that it has not acknowledged. An unknown lag counts
// as api.MaxInt.
func behind(g api.StreamGroup) int64 {
	if g.Lag < 0 {
		return api.MaxInt
	}
	return g.Lag + g.Pending + g.Parked
}

// chosen reports whether a list that is filtered by this state has the stream. r.Groups begins with the group that is
// furthest behind.
func chosen(state string, r api.StreamListed) bool {
	switch state {
	case api.StreamBehind:
		return len(r.Groups) > 0 && behind(r.Groups[0]) > 0
	case api.StreamDeadLetters:
		return r.Dead > 0
	default:
		return true
	}
}

// ListGroups lists the groups of a stream and their consumers.
func (s *Streams) ListGroups(ctx context.Context, _ coord.Caller, p *api.StreamParams) (api.StreamGroupsResult, error) {
	out, err := lua.Run(ctx, s.Runner, GroupsScript, s.keys.streamKeys(p.Stream), lua.StoredReply{})
	if err != nil {
		return api.StreamGroupsResult{}, coord.Failed("stream "+p.Stream+": groups", err)
	}
	rows := out.Value.Rows
	// The row of the group itself has an empty consumer, and therefore comes before those of its consumers.
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
