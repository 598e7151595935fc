package stream_test

import (
	"fmt"
	"slices"
	"strconv"
	"strings"
	"testing"

	"github.com/redis/go-redis/v9"
	"github.com/stretchr/testify/require"
	"pgregory.net/rapid"

	"github.com/coxswain-sidecar/coxswain/internal/coord/stream"
	"github.com/coxswain-sidecar/coxswain/internal/luatest"
)

// log is a stream for scripts; the test chooses the ids of its messages.
type log struct {
	*luatest.Store
	stream.Keys
}

func newLog(s *luatest.Store, name string) *log {
	return &log{s, stream.Keys{Log: s.Key(name + "log"), Dead: s.Key(name + "dead"), Groups: s.Key(name + "groups")}}
}

// add adds messages; the text of each is its id.
func (l *log) add(t require.TestingT, key string, ids ...string) {
	for _, id := range ids {
		require.NoError(t, l.Client.XAdd(ctx, &redis.XAddArgs{Stream: key, ID: id, Values: []any{"m", id}}).Err())
	}
}

// bury adds dead letters of group g.
func (l *log) bury(t require.TestingT, message string, ids ...string) {
	for _, id := range ids {
		ms, _, _ := strings.Cut(id, "-")
		require.NoError(t, l.Client.XAdd(ctx, &redis.XAddArgs{Stream: l.Dead, ID: id, Values: []any{
			"m", message, "id", "1-" + ms, "group", "g", "attempts", 5, "reason", "why",
		}}).Err())
	}
}

func (l *log) group(t require.TestingT, group, from string) {
	require.NoError(t, l.Client.XGroupCreateMkStream(ctx, l.Log, group, from).Err())
}

// read delivers n messages to a consumer.
func (l *log) read(t require.TestingT, group, consumer string, n int64) {
	got, err := l.Client.XReadGroup(ctx, &redis.XReadGroupArgs{Group: group, Consumer: consumer, Streams: []string{l.Log, ">"}, Count: n, Block: -1}).Result()
	require.NoError(t, err)
	require.Len(t, got[0].Messages, int(n))
}

// ids returns the ids of a log or of dead letters, in their order.
func (l *log) ids(t require.TestingT, key string) []string {
	all, err := l.Client.XRange(ctx, key, "-", "+").Result()
	require.NoError(t, err)
	ids := []string{}
	for _, m := range all {
		ids = append(ids, m.ID)
	}
	return ids
}

// stands returns the counts of a group by GroupScript, 1,000 s after the epoch of ids.
func (l *log) stands(t require.TestingT, group string) stream.GroupOut {
	return luatest.Call(t, l.Store, stream.GroupScript, 1000_000_000, stream.GroupIn{Keys: l.Keys, GroupKeys: stream.GroupKeys{Retry: l.Key("retry"), Lanes: l.Key("lanes"), Parked: l.Key("parked"), Laned: l.Key("laned")}, Group: group})
}

func TestMessagesOfAStreamAndItsGroupsAreCounted(t *testing.T) { luatest.EachStore(t, counts) }

func TestTopologyMessagesOfAStreamAndItsGroupsAreCounted(t *testing.T) { luatest.EachStore(t, counts) }

func counts(t *testing.T, s *luatest.Store) {
	l := newLog(s, "")
	look := func() stream.LookOut {
		out := luatest.Call(t, s, stream.LookScript, 0, stream.LookIn{Keys: l.Keys, Due: s.Key("due")})
		slices.Sort(out.Names)
		return out
	}
	for range 2 { // for one item and for many
		require.Equal(t, stream.LookOut{Names: []string{}}, look())
		require.Equal(t, stream.GroupOut{}, l.stands(t, "g"))
	}
	require.Equal(t, "none", s.Raw(t, l.Log), "looking writes nothing")
	l.add(t, l.Log, "100000-0", "200000-0", "200000-1", "400000-0")
	l.group(t, "g", "0-0")
	l.group(t, "h", "400000-0")
	l.bury(t, "m", "1-1")
	require.NoError(t, s.Client.HSet(ctx, l.Groups, "", 7, "g", "0-0").Err())
	require.NoError(t, s.Client.ZAdd(ctx, s.Key("due"), redis.Z{Score: 1, Member: "x"}).Err())
	require.Equal(t, stream.GroupOut{Found: true, Lag: 4, Least: 4, Last: "0-0"}, l.stands(t, "g"))
	require.Equal(t, stream.GroupOut{Found: true, Lag: 0, Last: "400000-0"}, l.stands(t, "h"))
	l.read(t, "g", "a", 2)
	l.read(t, "g", "b", 1)
	require.NoError(t, s.Client.ZAdd(ctx, s.Key("retry"), redis.Z{Score: 1, Member: "200000-0"}).Err())
	for range 2 {
		require.Equal(t, stream.LookOut{Log: true, Length: 4, Delayed: 1, Dead: 1, Trimmed: 7, Names: []string{"g", "h"}}, look())
		require.Equal(t, stream.GroupOut{
			Found: true, Lag: 1, Least: 1, Pending: 3, Retrying: 1, Consumers: 2, OldestMS: 900_000, Last: "200000-1",
		}, l.stands(t, "g"))
	}
	require.NoError(t, s.Client.XAck(ctx, l.Log, "g", "100000-0").Err())
	require.EqualValues(t, 800_000, l.stands(t, "g").OldestMS)
	require.NoError(t, s.Client.XAck(ctx, l.Log, "g", "200000-0", "200000-1").Err())
	last := l.stands(t, "g")
	require.Zero(t, last.OldestMS)
	require.Zero(t, last.Retrying, "what is not pending waits for nothing")
}

func TestALagIsCountedWhereRedisDoesNotKnowIt(t *testing.T)         { luatest.EachStore(t, lags) }
func TestTopologyALagIsCountedWhereRedisDoesNotKnowIt(t *testing.T) { luatest.EachStore(t, lags) }

// Redis does not know the lag if a message after the last delivered one was deleted.
func lags(t *testing.T, s *luatest.Store) {
	for name, test := range map[string]struct {
		behind, bytes int
		lag           int64
	}{
		"none":          {1, 1, 0},
		"some":          {40, 1, 39},
		"a page":        {17, 1, 16},
		"many":          {990, 1, 989},
		"too many":      {1100, 1, -1},
		"too many long": {100, 50_000, -1},
	} {
		t.Run(name, func(t *testing.T) {
			l := newLog(s, strings.ReplaceAll(name, " ", "-"))
			l.add(t, l.Log, "1-1", "1-2", "1-3")
			l.group(t, "g", "0-0")
			l.read(t, "g", "a", 2)
			_, err := s.Client.Pipelined(ctx, func(p redis.Pipeliner) error {
				p.XDel(ctx, l.Log, "1-3") // a gap in what was not delivered
				for i := range test.behind {
					p.XAdd(ctx, &redis.XAddArgs{Stream: l.Log, ID: fmt.Sprintf("2-%d", i), Values: []any{"m", strings.Repeat("x", test.bytes)}})
				}
				p.XDel(ctx, l.Log, "2-0")
				return nil
			})
			require.NoError(t, err)
			for range 2 {
				got := l.stands(t, "g")
				require.Equal(t, test.lag, got.Lag)
				if test.lag >= 0 {
					require.Equal(t, test.lag, got.Least)
				} else {
					require.Positive(t, got.Least)
					require.LessOrEqual(t, got.Least, int64(test.behind))
				}
			}
		})
	}
	l := newLog(s, "first")
	l.add(t, l.Log, "9-1", "9-2", "10-1", "10-2")
	for from, lag := range map[string]int64{"0-0": 4, "8-9": 4, "9-0": 4, "9-1": 3, "9-2": 2, "9-7": 2, "10-2": 0, "11-0": 0} {
		l.group(t, "from"+from, from)
		require.Equal(t, lag, l.stands(t, "from"+from).Lag, from)
	}
	_, err := s.Client.XDel(ctx, l.Log, "9-1", "9-2", "10-1", "10-2").Result()
	require.NoError(t, err)
	require.Zero(t, l.stands(t, "from0-0").Lag)
}

func TestConsumersAreListedByGroup(t *testing.T)         { luatest.EachStore(t, consumers) }
func TestTopologyConsumersAreListedByGroup(t *testing.T) { luatest.EachStore(t, consumers) }

func consumers(t *testing.T, s *luatest.Store) {
	l := newLog(s, "")
	list := func() []stream.ConsumerRow {
		rows := luatest.Call(t, s, stream.GroupsScript, 0, l.Keys).Rows
		for i := range rows {
			require.GreaterOrEqual(t, rows[i].IdleMS, int64(0))
			rows[i].IdleMS = 0 // it depends on the real clock
		}
		slices.SortFunc(rows, func(a, b stream.ConsumerRow) int {
			return strings.Compare(a.Group+"/"+a.Consumer, b.Group+"/"+b.Consumer)
		})
		return rows
	}
	require.Empty(t, list())
	l.add(t, l.Log, "1-1", "1-2", "1-3")
	l.group(t, "g", "0-0")
	l.group(t, "empty", "0-0")
	l.read(t, "g", "b", 2)
	l.read(t, "g", "a", 1)
	require.NoError(t, s.Client.XAck(ctx, l.Log, "g", "1-3").Err())
	for range 2 {
		require.Equal(t, []stream.ConsumerRow{
			{Group: "empty"}, {Group: "g"}, {Group: "g", Consumer: "a"}, {Group: "g", Consumer: "b", Pending: 2},
		}, list())
	}
}

func TestIdleConsumersWithoutMessagesAreRemoved(t *testing.T) { luatest.EachStore(t, reaps) }
func TestTopologyIdleConsumersWithoutMessagesAreRemoved(t *testing.T) {
	luatest.EachStore(t, reaps)
}

func reaps(t *testing.T, s *luatest.Store) {
	l := newLog(s, "")
	reap := func(group string, idleMS int64) int64 {
		return luatest.Call(t, s, stream.ReapScript, 0, stream.ReapIn{Keys: l.Keys, Group: group, IdleMS: idleMS})
	}
	require.Zero(t, reap("g", 0), "there is no stream")
	l.group(t, "g", "0-0")
	l.group(t, "h", "0-0")
	for i := range 50 { // a pod with a new name each time; every tenth keeps a pending message
		l.add(t, l.Log, fmt.Sprintf("1-%d", i+1))
		l.read(t, "g", fmt.Sprint("pod-", i), 1)
		l.read(t, "h", fmt.Sprint("pod-", i), 1)
		if i%10 != 0 {
			require.NoError(t, s.Client.XAck(ctx, l.Log, "g", fmt.Sprintf("1-%d", i+1)).Err())
		}
	}
	require.Zero(t, reap("other", 0))
	require.Zero(t, reap("g", 3_600_000), "they were there a moment ago")
	require.EqualValues(t, 50, l.stands(t, "g").Consumers)
	if s.Name == "embedded" {
		require.Zero(t, reap("g", 0), "it does not know for how long a consumer that reads has been idle")
		return
	}
	require.EqualValues(t, 45, reap("g", 0))
	require.Zero(t, reap("g", 0))
	after := l.stands(t, "g")
	require.EqualValues(t, 5, after.Consumers, "those that have messages stay")
	require.EqualValues(t, 5, after.Pending, "and so do their messages")
	require.EqualValues(t, 50, l.stands(t, "h").Consumers, "another group is another")
}

func TestDeadLettersComeInPages(t *testing.T)         { luatest.EachStore(t, deadPages) }
func TestTopologyDeadLettersComeInPages(t *testing.T) { luatest.EachStore(t, deadPages) }

func deadPages(t *testing.T, s *luatest.Store) {
	l := newLog(s, "")
	page := func(after string, count, bytes int64) (ids []string, more bool) {
		out := luatest.Call(t, s, stream.DeadScript, 0, stream.DeadIn{Keys: l.Keys, After: after, Count: count, Bytes: bytes})
		for _, d := range out.Letters {
			ids = append(ids, d.ID)
		}
		return ids, out.More
	}
	ids, more := page("", 10, 1000)
	require.Empty(t, ids)
	require.False(t, more)
	var all []string
	for i := 1; i <= 20; i++ {
		all = append(all, fmt.Sprintf("%d-0", i))
	}
	l.bury(t, "0123456", all...) // each has 10 bytes with its reason
	require.Equal(t, stream.DeadOut{More: true, Letters: []stream.Letter{
		{ID: "1-0", MessageID: "1-1", Group: "g", Attempts: 5, Reason: "why", Message: "0123456"},
	}}, luatest.Call(t, s, stream.DeadScript, 0, stream.DeadIn{Keys: l.Keys, Count: 1, Bytes: 1000}))
	for _, test := range []struct {
		after        string
		count, bytes int64
		from, to     int
	}{
		{"", 20, 1000, 0, 20},
		{"", 256, 200, 0, 20},
		{"", 19, 1000, 0, 19},
		{"", 8, 1000, 0, 8},
		{"", 256, 199, 0, 19},
		{"", 256, 1, 0, 1},
		{"8-0", 256, 80, 8, 16},
		{"8-0", 4, 1000, 8, 12},
		{"19-0", 256, 1000, 19, 20},
		{"20-0", 256, 1000, 20, 20},
		{"7-5", 1, 1000, 7, 8},
	} {
		ids, more := page(test.after, test.count, test.bytes)
		require.Equal(t, append([]string(nil), all[test.from:test.to]...), ids, "%+v", test)
		require.Equal(t, test.to < 20, more, "%+v", test)
	}
}

func TestDeadLettersAreRedriven(t *testing.T)         { luatest.EachStore(t, redrives) }
func TestTopologyDeadLettersAreRedriven(t *testing.T) { luatest.EachStore(t, redrives) }

func redrives(t *testing.T, s *luatest.Store) {
	l := newLog(s, "")
	redrive := func(count int64, ids ...string) stream.RedriveOut {
		return luatest.Call(t, s, stream.RedriveScript, 0, stream.RedriveIn{Keys: l.Keys, IDs: ids, Count: count})
	}
	require.Equal(t, stream.RedriveOut{}, redrive(0, "1-0"))
	require.Equal(t, stream.RedriveOut{}, redrive(3))
	require.Equal(t, "none", s.Raw(t, l.Log))
	l.bury(t, "one", "1-0")
	l.bury(t, "two", "2-0", "3-0", "4-0", "5-0", "6-0")
	require.Equal(t, stream.RedriveOut{Redriven: 2, Left: 4}, redrive(0, "4-0", "1-0", "4-0", "9-9"), "each once, those that are there")
	require.Equal(t, []string{"2-0", "3-0", "5-0", "6-0"}, l.ids(t, l.Dead))
	require.Equal(t, stream.RedriveOut{Redriven: 2, Left: 2}, redrive(2))
	require.Equal(t, []string{"5-0", "6-0"}, l.ids(t, l.Dead), "the oldest went")
	require.Equal(t, stream.RedriveOut{Redriven: 2}, redrive(256))
	var texts []string
	for _, m := range s.Client.XRange(ctx, l.Log, "-", "+").Val() {
		require.Equal(t, "g", m.Values["g"], "it is for the group that failed")
		texts = append(texts, m.Values["m"].(string))
	}
	require.Equal(t, []string{"two", "one", "two", "two", "two", "two"}, texts, "in the order of ids, then the oldest first")
}

// Trims a log, its dead letters and lists of their ids at random, and compares them.
func TestTrimDeletesExactlyWhatItSelects(t *testing.T)         { luatest.EachStore(t, trims) }
func TestTopologyTrimDeletesExactlyWhatItSelects(t *testing.T) { luatest.EachStore(t, trims) }

func trims(t *testing.T, s *luatest.Store) {
	rounds := 0
	rapid.Check(t, func(t *rapid.T) {
		rounds++
		l := newLog(s, fmt.Sprint(rounds, "-"))
		want := map[bool][]string{false: {}, true: {}} // ids of the dead letters (true) and of the log (false)
		ms := int64(1)
		t.Repeat(map[string]func(*rapid.T){
			"add": func(t *rapid.T) {
				dead := rapid.Bool().Draw(t, "dead")
				key := map[bool]string{false: l.Log, true: l.Dead}[dead]
				for range rapid.IntRange(1, 150).Draw(t, "n") { // Redis keeps 100 entries in one node of a stream
					ms += rapid.Int64Range(1, 3).Draw(t, "later")
					id := fmt.Sprintf("%d-%d", ms, rapid.IntRange(0, 2).Draw(t, "serial"))
					l.add(t, key, id)
					want[dead] = append(want[dead], id)
				}
			},
			"trim": func(t *rapid.T) {
				dead := rapid.Bool().Draw(t, "dead")
				had := want[dead]
				in := stream.TrimIn{Keys: l.Keys, Dead: dead, MaxLen: -1, OlderMS: -1}
				now := (ms + rapid.Int64Range(0, 5).Draw(t, "later")) * 1000
				keep := slices.Clone(had)
				switch rapid.SampledFrom([]string{"maxlen", "older", "ids"}).Draw(t, "by") {
				case "maxlen":
					in.MaxLen = rapid.Int64Range(0, 200).Draw(t, "maxlen")
					keep = keep[max(0, len(keep)-int(in.MaxLen)):]
				case "older":
					in.OlderMS = rapid.Int64Range(0, 300).Draw(t, "older")
					keep = slices.DeleteFunc(keep, func(id string) bool {
						at, _, _ := strings.Cut(id, "-")
						added, _ := strconv.ParseInt(at, 10, 64)
						return added < now/1000-in.OlderMS
					})
				case "ids":
					in.IDs = rapid.SliceOfN(rapid.SampledFrom(append(slices.Clone(had), "999999-1")), 1, 20).Draw(t, "ids")
					keep = slices.DeleteFunc(keep, func(id string) bool { return slices.Contains(in.IDs, id) })
				}
				out := luatest.Call(t, s, stream.TrimScript, now, in)
				require.Equal(t, stream.TrimOut{Deleted: int64(len(had) - len(keep)), Left: int64(len(keep))}, out, "%+v", in)
				want[dead] = keep
			},
			"": func(t *rapid.T) {
				require.Equal(t, want[false], l.ids(t, l.Log))
				require.Equal(t, want[true], l.ids(t, l.Dead))
			},
		})
		s.Del(t, l.Log)
		s.Del(t, l.Dead)
	})
}
