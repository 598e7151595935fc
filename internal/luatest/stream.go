package luatest

import (
	"cmp"
	"context"
	"fmt"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/redis/go-redis/v9"
	"github.com/stretchr/testify/require"
)

// Streams use the server's own clock, not that of scripts: an id has the millisecond in which
// its message was added, and Redis itself measures how long a pending message is idle. Tests
// therefore never compare ids, and use idle times of hours.

// rawStream is a stream: its messages, and of each group the last one that was delivered and
// those that are pending, with their consumer and how often they were delivered, and with
// whole hours for which they have been idle.
func (s *Store) rawStream(t require.TestingT, key string) string {
	ctx := context.Background()
	messages, err := s.Client.XRange(ctx, key, "-", "+").Result()
	require.NoError(t, err)
	words := []string{"stream"}
	for _, m := range messages {
		var fields []string
		for name, v := range m.Values {
			fields = append(fields, name+"="+Shown(fmt.Sprint(v)))
		}
		slices.Sort(fields)
		words = append(words, m.ID+"{"+strings.Join(fields, " ")+"}")
	}
	groups, err := s.Client.XInfoGroups(ctx, key).Result()
	require.NoError(t, err)
	slices.SortFunc(groups, func(a, b redis.XInfoGroup) int { return cmp.Compare(a.Name, b.Name) })
	for _, g := range groups {
		words = append(words, "| "+Shown(g.Name), "last="+g.LastDeliveredID)
		for _, p := range s.Pending(t, key, g.Name) {
			idle := ""
			if p.Idle >= time.Hour {
				idle = "(" + strconv.Itoa(int(p.Idle.Hours())) + "h)"
			}
			words = append(words, fmt.Sprintf("%s=%s*%d%s", p.ID, Shown(p.Consumer), p.RetryCount, idle))
		}
	}
	return strings.Join(words, " ")
}

// Pending returns the first 1,000 pending messages of a group.
func (s *Store) Pending(t require.TestingT, log, group string) []redis.XPendingExt {
	all, err := s.Client.XPendingExt(context.Background(), &redis.XPendingExtArgs{
		Stream: log, Group: group, Start: "-", End: "+", Count: 1000,
	}).Result()
	require.NoError(t, err)
	return all
}

// Deliver delivers at most that many new messages of a group to a consumer.
func (s *Store) Deliver(t require.TestingT, log, group, consumer string, count int64) []redis.XMessage {
	got, err := s.Client.XReadGroup(context.Background(), &redis.XReadGroupArgs{
		Group: group, Consumer: consumer, Streams: []string{log, ">"}, Count: count, Block: -1,
	}).Result()
	if err == redis.Nil { //nolint:errorlint // go-redis returns it as it is
		return nil
	}
	require.NoError(t, err)
	return got[0].Messages
}

// Idle sets how long a pending message has been idle, and changes nothing else of it.
func (s *Store) Idle(t require.TestingT, log, group, id string, d time.Duration) {
	ctx := context.Background()
	p, err := s.Client.XPendingExt(ctx, &redis.XPendingExtArgs{Stream: log, Group: group, Start: id, End: id, Count: 1}).Result()
	require.NoError(t, err)
	require.Len(t, p, 1, "%s is not pending", id)
	require.NoError(t, s.Client.Do(ctx, "XCLAIM", log, group, p[0].Consumer, 0, id,
		"IDLE", d.Milliseconds(), "RETRYCOUNT", p[0].RetryCount, "JUSTID").Err())
}

// Apart waits until messages get a later millisecond than all before, so that no two streams
// have the same id.
func (s *Store) Apart(t require.TestingT) {
	if s.tick != nil {
		s.tick()
		return
	}
	clock := func() int64 {
		now, err := s.Client.Time(context.Background()).Result()
		require.NoError(t, err)
		return now.UnixMilli()
	}
	for from := clock(); clock() == from; {
	}
}

// act carries out a line of a timeline that is about a stream. It returns false for any other line.
func (tl *timeline) act(t *testing.T, verb string, args []string) bool {
	ctx, s := context.Background(), tl.s
	key := func() string { return s.Key(args[0]) }
	switch {
	case verb == "deliver" && len(args) == 4:
		n, err := strconv.ParseInt(args[3], 10, 64)
		require.NoError(t, err)
		s.Deliver(t, key(), args[1], args[2], n)
	case verb == "idle" && len(args) == 4:
		s.Idle(t, key(), args[1], args[2], duration(t, args[3]))
	case verb == "add" && len(args) > 1:
		var values []any
		for _, w := range parseWords(t, strings.Join(args[1:], " ")) {
			values = append(values, w.name, w.value)
		}
		s.Apart(t)
		id, err := s.Client.XAdd(ctx, &redis.XAddArgs{Stream: key(), Values: values}).Result()
		require.NoError(t, err)
		tl.shortIDs(id)
	case verb == "drop" && len(args) == 2:
		require.EqualValues(t, 1, s.Client.XDel(ctx, key(), args[1]).Val(), "drop %s: there is no such message", args[1])
	case verb == "ungroup" && len(args) == 2:
		require.EqualValues(t, 1, s.Client.XGroupDestroy(ctx, key(), args[1]).Val(), "ungroup %s: there is no such group", args[1])
	default:
		return false
	}
	return true
}

// shortIDs puts #1 for the first id that a timeline shows, and so on, also where its last part
// has zeros in front so that ids sort.
func (tl *timeline) shortIDs(text string) string {
	return streamID.ReplaceAllStringFunc(text, func(id string) string {
		ms, serial, _ := strings.Cut(id, "-")
		id = ms + "-" + cmp.Or(strings.TrimLeft(serial, "0"), "0")
		i := slices.Index(tl.ids, id)
		if i < 0 {
			i, tl.ids = len(tl.ids), append(tl.ids, id)
		}
		return "#" + strconv.Itoa(i+1)
	})
}

// longIDs undoes shortIDs.
func (tl *timeline) longIDs(text string) string {
	return shortID.ReplaceAllStringFunc(text, func(short string) string {
		if n, err := strconv.Atoi(short[1:]); err == nil && n <= len(tl.ids) {
			return tl.ids[n-1]
		}
		return short
	})
}
