package stream_test

import (
	"context"
	"fmt"
	"log/slog"
	"slices"
	"strings"
	"testing"

	"github.com/redis/go-redis/v9"
	"github.com/stretchr/testify/require"

	"github.com/coxswain-sidecar/coxswain/client/api"
	"github.com/coxswain-sidecar/coxswain/internal/coord"
	"github.com/coxswain-sidecar/coxswain/internal/coord/lease"
	"github.com/coxswain-sidecar/coxswain/internal/coord/stream"
	"github.com/coxswain-sidecar/coxswain/internal/lua"
	"github.com/coxswain-sidecar/coxswain/internal/luatest"
	internalredis "github.com/coxswain-sidecar/coxswain/internal/redis"
	"github.com/coxswain-sidecar/coxswain/internal/redistest"
	"github.com/coxswain-sidecar/coxswain/internal/telemetry"
)

// ctx is the context of the tests' own commands to Redis; no test ends it.
var ctx = context.Background()

// operated has the streams of a sidecar, and a client of its Redis.
type operated struct {
	*stream.Streams
	keys   coord.Keys
	runner *lua.Runner
	client redis.UniversalClient
}

func operate(t *testing.T) *operated {
	t.Helper()
	keys, r := coord.NewKeys(redistest.Prefix(t), ""), luatest.Open(t, lua.Options{URL: redistest.URL(t)})
	return &operated{newStreams(t, r, keys), keys, r, redistest.Client(t)}
}

// newStreams makes streams that are stopped at the end of the test.
func newStreams(t *testing.T, r *lua.Runner, k coord.Keys) *stream.Streams {
	t.Helper()
	leases := lease.NewLeases(telemetry.Nop())
	s := stream.New(stream.Options{
		Runner: r, Keys: k, Leases: leases, Telemetry: telemetry.Nop(), Log: slog.New(slog.DiscardHandler), Consumer: "me",
	})
	t.Cleanup(func() {
		if s, ok := any(s).(interface {
			Stop(ctx context.Context) error
		}); ok { // they have something going on
			require.NoError(t, s.Stop(ctx))
		}
		leases.Stop(ctx)
	})
	return s
}

// log and of return keys of the stream s.
func (o *operated) log() stream.Keys {
	k, _, _ := stream.OperatedKeys(o.keys, "s", "")
	return k
}

func (o *operated) of(group string) stream.GroupKeys {
	_, _, own := stream.OperatedKeys(o.keys, "s", group)
	return own
}

// bury makes n messages with these bodies dead letters of group g, in order.
func (o *operated) bury(t *testing.T, n int, body func(i int) []byte) {
	t.Helper()
	k := o.log()
	_ = o.client.XGroupCreateMkStream(ctx, k.Log, "g", "0-0").Err() // it may be there
	for i := range n {
		m, err := stream.Packed(ctx, body(i), map[string]string{"n": fmt.Sprint(i)})
		require.NoError(t, err)
		id, err := o.client.XAdd(ctx, &redis.XAddArgs{Stream: k.Log, Values: []any{"m", m}}).Result()
		require.NoError(t, err)
		require.NoError(t, o.client.XReadGroup(ctx, &redis.XReadGroupArgs{Group: "g", Consumer: "me", Streams: []string{k.Log, ">"}, Count: 1}).Err())
		out, err := lua.Run(ctx, o.runner, stream.NackScript, stream.NackIn{
			Keys: k, GroupKeys: o.of("g"), Group: "g", ID: id, Dead: true, Reason: "no good",
		}, lua.StoredReply{})
		require.NoError(t, err)
		require.True(t, out.Value.Dead)
	}
}

func named(i int) []byte { return fmt.Append(nil, "body ", i) }

func TestStatsAndGroupsOfAStream(t *testing.T) {
	t.Parallel()
	o := operate(t)
	r, err := o.Stats(t.Context(), coord.Caller{}, &api.StreamStatsParams{Stream: "s"})
	require.NoError(t, err)
	require.Equal(t, api.StreamStatsResult{Groups: []api.StreamGroup{}}, r, "a stream that nobody used is empty")
	list, err := o.ListGroups(t.Context(), coord.Caller{}, &api.StreamParams{Stream: "s"})
	require.NoError(t, err)
	require.Equal(t, api.StreamGroupsResult{Groups: []api.StreamGroupDetail{}}, list)

	o.bury(t, 1, named)
	k := o.log()
	for _, group := range []string{"b:{x}", "a"} {
		require.NoError(t, o.client.XGroupCreate(ctx, k.Log, group, "0-0").Err())
	}
	require.NoError(t, o.client.XReadGroup(ctx, &redis.XReadGroupArgs{Group: "b:{x}", Consumer: "me", Streams: []string{k.Log, ">"}}).Err())
	_, err = lua.Run(ctx, o.runner, stream.NackScript, stream.NackIn{
		Keys: k, GroupKeys: o.of("b:{x}"), Group: "b:{x}", ID: o.client.XRange(ctx, k.Log, "-", "+").Val()[0].ID, DelayMS: 3_600_000,
	}, lua.StoredReply{})
	require.NoError(t, err)
	_, delayed, _ := stream.OperatedKeys(o.keys, "s", "")
	require.NoError(t, o.client.ZAdd(ctx, delayed.Due, redis.Z{Score: 1, Member: "one that is not due"}).Err())

	r, err = o.Stats(t.Context(), coord.Caller{}, &api.StreamStatsParams{Stream: "s"})
	require.NoError(t, err)
	for i := range r.Groups {
		require.GreaterOrEqual(t, r.Groups[i].OldestPendingMS, int64(0))
		r.Groups[i].OldestPendingMS = 0 // by the clock of Redis
	}
	last := o.client.XRange(ctx, k.Log, "-", "+").Val()[0].ID
	require.Equal(t, api.StreamStatsResult{Length: 1, Delayed: 1, Dead: 1, Groups: []api.StreamGroup{
		{Group: "a", Lag: 1, LastDeliveredID: "0-0"},
		{Group: "b:{x}", Pending: 1, Retrying: 1, Consumers: 1, LastDeliveredID: last},
		{Group: "g", Consumers: 1, LastDeliveredID: last},
	}}, r)
	for group, n := range map[string]int{"g": 1, "nobody": 0} {
		one, err := o.Stats(t.Context(), coord.Caller{}, &api.StreamStatsParams{Stream: "s", Group: group})
		require.NoError(t, err)
		require.Len(t, one.Groups, n, group)
		require.EqualValues(t, 1, one.Length)
	}
	list, err = o.ListGroups(t.Context(), coord.Caller{}, &api.StreamParams{Stream: "s"})
	require.NoError(t, err)
	require.Len(t, list.Groups, 3)
	require.Equal(t, api.StreamGroupDetail{Group: "a", Consumers: []api.StreamConsumer{}}, list.Groups[0])
	require.Equal(t, "b:{x}", list.Groups[1].Group)
	require.Equal(t, "me", list.Groups[1].Consumers[0].Name)
	require.EqualValues(t, 1, list.Groups[1].Consumers[0].Pending)
}

// Redis lists groups in no particular order; the embedded store's varies most.
func TestGroupsAreSorted(t *testing.T) {
	t.Parallel()
	keys, r := coord.NewKeys("p", ""), luatest.Open(t, lua.Options{URL: internalredis.Embedded})
	s := newStreams(t, r, keys)
	var want []string
	for i := range 20 {
		group := fmt.Sprint("group-", 'a'+i)
		k, _, own := stream.OperatedKeys(keys, "s", group)
		_, err := lua.Run(ctx, r, stream.OpenScript, stream.OpenIn{Keys: k, GroupKeys: own, Group: group, From: "0-0"}, lua.StoredReply{})
		require.NoError(t, err)
		want = append(want, group)
	}
	slices.Sort(want)
	stats, err := s.Stats(t.Context(), coord.Caller{}, &api.StreamStatsParams{Stream: "s"})
	require.NoError(t, err)
	list, err := s.ListGroups(t.Context(), coord.Caller{}, &api.StreamParams{Stream: "s"})
	require.NoError(t, err)
	var counted, listed []string
	for i := range stats.Groups {
		counted, listed = append(counted, stats.Groups[i].Group), append(listed, list.Groups[i].Group)
	}
	require.Equal(t, want, counted)
	require.Equal(t, want, listed)
}

func TestDeadLettersAreListedAsTheyWerePublished(t *testing.T) {
	t.Parallel()
	o := operate(t)
	exact := []byte{0, 0xff, '\n', 0xc1}
	o.bury(t, 1, func(int) []byte { return exact })
	r, err := o.Dead(t.Context(), coord.Caller{}, &api.StreamDeadParams{Stream: "s", Count: 20})
	require.NoError(t, err)
	require.Empty(t, r.Next)
	require.Len(t, r.Letters, 1)
	l := r.Letters[0]
	require.Equal(t, exact, l.Body)
	require.Equal(t, map[string]string{"n": "0"}, l.Fields)
	require.Equal(t, "g", l.Group)
	require.Equal(t, "no good", l.Reason)
	require.EqualValues(t, 1, l.Attempts)
	require.Equal(t, fmt.Sprint(l.DeadAtMS), strings.Split(l.ID, "-")[0])
	require.Equal(t, o.client.XRange(ctx, o.log().Log, "-", "+").Val()[0].ID, l.MessageID)
}

// A page is bounded by bytes and by count, and the next page continues without a gap.
func TestPagesOfDeadLettersAreBounded(t *testing.T) {
	t.Parallel()
	o := operate(t)
	const n, size = 9, 200 << 10
	o.bury(t, n, func(i int) []byte { return []byte(strings.Repeat(fmt.Sprint(i), size)) })
	var seen []string
	for after := ""; ; {
		r, err := o.Dead(t.Context(), coord.Caller{}, &api.StreamDeadParams{Stream: "s", Count: 20, After: after})
		require.NoError(t, err)
		require.Len(t, r.Letters, min(2, n-len(seen)))
		for _, l := range r.Letters {
			seen = append(seen, l.Fields["n"])
		}
		if r.Next == "" {
			break
		}
		require.Equal(t, r.Letters[1].ID, r.Next)
		after = r.Next
	}
	require.Equal(t, []string{"0", "1", "2", "3", "4", "5", "6", "7", "8"}, seen)
}

// A dead letter that no sidecar wrote does not hide the others.
func TestADeadLetterThatCannotBeReadIsListed(t *testing.T) {
	t.Parallel()
	o := operate(t)
	require.NoError(t, o.client.XAdd(ctx, &redis.XAddArgs{Stream: o.log().Dead, Values: []any{"m", "\xc1"}}).Err())
	o.bury(t, 1, named)
	r, err := o.Dead(t.Context(), coord.Caller{}, &api.StreamDeadParams{Stream: "s", Count: 20})
	require.NoError(t, err)
	require.Len(t, r.Letters, 2)
	require.Empty(t, r.Letters[0].Body)
	require.Equal(t, named(0), r.Letters[1].Body)
}

// A redrive whose reply was lost is repeated, and does not move more letters than it was asked to.
func TestARedriveIsRunOnce(t *testing.T) {
	t.Parallel()
	o := operate(t)
	o.bury(t, 5, named)
	c := coord.Caller{RequestID: "the same", Fingerprint: "f"}
	first, err := o.Redrive(t.Context(), c, &api.StreamRedriveParams{Stream: "s", Count: 2})
	require.NoError(t, err)
	require.Equal(t, api.StreamRedriveResult{Redriven: 2, Left: 3}, first)
	second, err := o.Redrive(t.Context(), c, &api.StreamRedriveParams{Stream: "s", Count: 2})
	require.NoError(t, err)
	require.Equal(t, api.StreamRedriveResult{Redriven: 2, Left: 3, Replayed: true}, second)
	k := o.log()
	require.EqualValues(t, 3, o.client.XLen(ctx, k.Dead).Val())
	require.EqualValues(t, 7, o.client.XLen(ctx, k.Log).Val())
}

// Of many redrives at once, none loses a letter or moves it twice.
func TestRedrivesAtOnceMoveEachLetterOnce(t *testing.T) {
	t.Parallel()
	o := operate(t)
	const n = 100
	o.bury(t, n, named)
	sum := make(chan int64, 4)
	for range 4 {
		go func() {
			var moved int64
			for {
				r, err := o.Redrive(context.Background(), coord.Caller{}, &api.StreamRedriveParams{Stream: "s", Count: 7})
				if err != nil || r.Redriven == 0 {
					sum <- moved
					return
				}
				moved += r.Redriven
			}
		}()
	}
	require.EqualValues(t, n, <-sum+<-sum+<-sum+<-sum)
	k := o.log()
	require.Zero(t, o.client.XLen(ctx, k.Dead).Val())
	texts := map[string]int{}
	for _, m := range o.client.XRange(ctx, k.Log, "-", "+").Val() {
		if m.Values["g"] == "g" {
			texts[m.Values["m"].(string)]++
		}
	}
	require.Len(t, texts, n)
}

func ptr(n int64) *int64 { return &n }

func TestTrimTakesExactlyOneWay(t *testing.T) {
	t.Parallel()
	o := operate(t)
	o.bury(t, 6, named)
	trim := func(p api.StreamTrimParams) (api.StreamTrimResult, error) {
		p.Stream = "s"
		return o.Trim(t.Context(), coord.Caller{}, &p)
	}
	for _, p := range []api.StreamTrimParams{
		{}, {MaxLen: ptr(0), OlderMS: ptr(0)}, {MaxLen: ptr(0), IDs: []string{"1-0"}}, {OlderMS: ptr(0), IDs: []string{"1-0"}},
	} {
		_, err := trim(p)
		require.ErrorContains(t, coord.Wire(err), "INVALID_ARGUMENT: maxlen: give exactly one of maxlen, older_ms and ids")
	}
	r, err := trim(api.StreamTrimParams{MaxLen: ptr(4)})
	require.NoError(t, err)
	require.Equal(t, api.StreamTrimResult{Deleted: 2, Left: 4}, r)
	k := o.log()
	require.EqualValues(t, 6, o.client.XLen(ctx, k.Dead).Val())
	ids := []string{o.client.XRange(ctx, k.Dead, "-", "+").Val()[2].ID, "1-1"}
	r, err = trim(api.StreamTrimParams{Dead: true, IDs: ids})
	require.NoError(t, err)
	require.Equal(t, api.StreamTrimResult{Deleted: 1, Left: 5}, r)
	r, err = trim(api.StreamTrimParams{OlderMS: ptr(31_536_000_000)})
	require.NoError(t, err)
	require.Equal(t, api.StreamTrimResult{Left: 4}, r)
	require.NoError(t, o.client.XAdd(ctx, &redis.XAddArgs{Stream: k.Log + "old", ID: "1-1", Values: []any{"m", "x"}}).Err())
	require.NoError(t, o.client.Rename(ctx, k.Log+"old", k.Log).Err())
	r, err = trim(api.StreamTrimParams{OlderMS: ptr(31_536_000_000)})
	require.NoError(t, err)
	require.Equal(t, api.StreamTrimResult{Deleted: 1}, r)
	r, err = trim(api.StreamTrimParams{MaxLen: ptr(0), Dead: true})
	require.NoError(t, err)
	require.Equal(t, api.StreamTrimResult{Deleted: 5}, r)
}

func TestMalformedIDsAreInvalidArguments(t *testing.T) {
	t.Parallel()
	o := operate(t)
	many := make([]string, 257)
	for i := range many {
		many[i] = fmt.Sprintf("%d-0", i)
	}
	for _, ids := range [][]string{{""}, {"x"}, {"1-"}, {"-1"}, {"1-2-3"}, {"1-0", "+"}, {"18446744073709551615-0"}, many} {
		_, err := o.Trim(t.Context(), coord.Caller{}, &api.StreamTrimParams{Stream: "s", IDs: ids})
		require.ErrorContains(t, coord.Wire(err), "INVALID_ARGUMENT: ids: ")
		_, err = o.Redrive(t.Context(), coord.Caller{}, &api.StreamRedriveParams{Stream: "s", IDs: ids})
		require.ErrorContains(t, coord.Wire(err), "INVALID_ARGUMENT: ids: ")
	}
	_, err := o.Dead(t.Context(), coord.Caller{}, &api.StreamDeadParams{Stream: "s", Count: 1, After: "x"})
	require.ErrorContains(t, coord.Wire(err), "INVALID_ARGUMENT: after: ")
	for _, p := range []*api.StreamRedriveParams{{Stream: "s"}, {Stream: "s", Count: 1, IDs: []string{"1-0"}}} {
		_, err := o.Redrive(t.Context(), coord.Caller{}, p)
		require.ErrorContains(t, coord.Wire(err), "INVALID_ARGUMENT: ids: give either ids, or count")
	}
	r, err := o.Trim(t.Context(), coord.Caller{}, &api.StreamTrimParams{Stream: "s", IDs: []string{"7"}})
	require.NoError(t, err, "a time alone is the first id of it, as in Redis")
	require.Zero(t, r.Deleted)
}

// A pod that gets another name with each restart leaves no consumers behind.
func TestConsumersOfEndedPodsAreRemoved(t *testing.T) {
	t.Parallel()
	o := operate(t)
	k := o.log()
	require.NoError(t, stream.Reap(t.Context(), o.Streams, "s", "g"), "there is no stream")
	require.NoError(t, o.client.XGroupCreateMkStream(ctx, k.Log, "g", "0-0").Err())
	for i := range 50 {
		require.NoError(t, o.client.XGroupCreateConsumer(ctx, k.Log, "g", fmt.Sprint("pod-", i)).Err())
		require.NoError(t, stream.ReapIdle(t.Context(), o.Streams, "s", "g", 0))
		require.Empty(t, o.client.XInfoConsumers(ctx, k.Log, "g").Val())
	}
	require.NoError(t, o.client.XGroupCreateConsumer(ctx, k.Log, "g", "pod").Err())
	require.NoError(t, stream.Reap(t.Context(), o.Streams, "s", "g"))
	require.Len(t, o.client.XInfoConsumers(ctx, k.Log, "g").Val(), 1, "one that was there within the hour stays")
}

// An ACL user can be permitted single subcommands of XINFO and XGROUP; the error names the one that is missing.
func TestASubcommandThatAUserMayNotRunIsNamed(t *testing.T) {
	t.Parallel()
	server := redistest.StartUser(t, "coxswain", "pw", "~*", "&*", "+@all", "-xinfo|consumers")
	r := luatest.Open(t, lua.Options{URL: "redis://coxswain:pw@" + strings.TrimPrefix(server.URL(), "redis://")})
	s := newStreams(t, r, coord.NewKeys("p", ""))
	_, err := s.ListGroups(luatest.Deadline(t), coord.Caller{}, &api.StreamParams{Stream: "s"})
	require.ErrorContains(t, err, "redis denies the sidecar's user XINFO|CONSUMERS (NOPERM)")
	_, err = s.Stats(luatest.Deadline(t), coord.Caller{}, &api.StreamStatsParams{Stream: "s"})
	require.NoError(t, err, "what does not need it goes on")
}
