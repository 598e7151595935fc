package lua_test

import (
	"context"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/alicebob/miniredis/v2"
	"github.com/redis/go-redis/v9"
	"github.com/stretchr/testify/require"

	"github.com/coxswain-sidecar/coxswain/internal/lua"
	"github.com/coxswain-sidecar/coxswain/internal/redistest"
)

// epoch is where the scripts' clock starts in tests, in Unix microseconds.
const epoch = int64(1_800_000_000_000_000)

// store is a Redis that scripts run on with a clock of the test's own. It is
// for one goroutine.
type store struct {
	name   string
	client redis.UniversalClient
	prefix string
	ttls   map[string]time.Duration // by key, see takeTTL
}

// eachStore runs a test on the embedded store and on real Redis, and below a
// TestTopology on a cluster instead. The clock that
// scripts read does not move the store's TTLs, so a test that is about a TTL
// looks at the PEXPIRE, and deletes the key to end it.
func eachStore(t *testing.T, test func(t *testing.T, s *store)) {
	t.Helper()
	if strings.HasPrefix(t.Name(), "TestTopology") {
		t.Run("cluster", func(t *testing.T) {
			t.Parallel()
			test(t, clusterStore(t))
		})
		return
	}
	t.Run("embedded", func(t *testing.T) {
		t.Parallel()
		m := miniredis.RunT(t)
		m.SetTime(time.UnixMicro(epoch))
		test(t, newStore(t, "embedded", &redis.Options{Addr: m.Addr()}, "t"))
	})
	t.Run("redis", func(t *testing.T) {
		t.Parallel()
		o, err := redis.ParseURL(redistest.URL(t))
		require.NoError(t, err)
		test(t, newStore(t, "redis", o, redistest.Prefix(t)))
	})
}

// clusterStore is the master of the shared cluster that has the test's keys.
func clusterStore(t *testing.T) *store {
	prefix := redistest.Prefix(t)
	seeds := strings.Split(strings.TrimPrefix(redistest.SharedCluster(t), "redis+cluster://"), ",")
	c := redis.NewClusterClient(&redis.ClusterOptions{Addrs: seeds})
	defer func() { _ = c.Close() }()
	s := &store{prefix: prefix}
	node, err := c.MasterForKey(context.Background(), s.key("any"))
	require.NoError(t, err)
	return newStore(t, "cluster", &redis.Options{Addr: node.Options().Addr}, prefix)
}

func newStore(t *testing.T, name string, o *redis.Options, prefix string) *store {
	t.Helper()
	o.MaxRetries = -1
	o.ReadTimeout = time.Minute // a script of the embedded store takes long on a busy machine
	c := redis.NewClient(o)
	t.Cleanup(func() { _ = c.Close() })
	s := &store{name: name, client: c, prefix: prefix, ttls: map[string]time.Duration{}}
	for _, src := range lua.Scripts() {
		text, sha := lua.Clocked(src)
		got, err := c.ScriptLoad(context.Background(), text).Result()
		require.NoError(t, err, src.Name)
		require.Equal(t, sha, got, src.Name)
	}
	return s
}

// key puts every key of a test under one tag, as a cluster wants it.
func (s *store) key(name string) string { return "{" + s.prefix + "}:" + name }

// eval runs a script at now and returns its raw reply. It takes away the TTLs
// that the script set, so that no key ends by the real clock while a test lives
// by its own.
func (s *store) eval(src *lua.Source, now int64, keys []string, args []any, l lua.Latch) ([]any, error) {
	_, sha := lua.Clocked(src)
	keys, args = withLatch(keys, args, l)
	ctx := context.Background()
	var reply *redis.Cmd
	once := slices.Compact(slices.Sorted(slices.Values(keys))) // a latch of its own is optional for some
	ttls := make([]*redis.DurationCmd, len(once))
	_, err := s.client.TxPipelined(ctx, func(p redis.Pipeliner) error {
		reply = p.EvalSha(ctx, sha, keys, append(args, now)...)
		for i, k := range once {
			ttls[i] = p.PTTL(ctx, k)
			p.Persist(ctx, k)
		}
		return nil
	})
	if err != nil {
		return nil, err
	}
	for i, k := range once {
		s.ttls[k] = max(ttls[i].Val(), -1)
	}
	return reply.Slice()
}

func withLatch(keys []string, args []any, l lua.Latch) ([]string, []any) {
	if l.Key == "" {
		return slices.Clone(keys), slices.Clone(args)
	}
	return append(slices.Clone(keys), l.Key), append(slices.Clone(args), l.Fingerprint)
}

// call runs a script at now and reads its reply by its descriptor.
func call[I, O any](t require.TestingT, s *store, script lua.Script[I, O], now int64, in I) O {
	keys, args := lua.InputOf(script, in)
	reply, err := s.eval(script.Source, now, keys, args, lua.Latch{})
	require.NoError(t, err, script.Name)
	if returns, repeats := fixedReturns(script.Source); repeats {
		require.GreaterOrEqual(t, len(reply), len(returns), script.Name)
	} else {
		require.Len(t, reply, len(returns), script.Name)
	}
	out, err := lua.ReadAs(script, reply)
	require.NoError(t, err, script.Name)
	return out
}

// raw is what a key holds, by its type, in one line; "none" when it is not there.
func (s *store) raw(t require.TestingT, key string) string {
	ctx := context.Background()
	kind, err := s.client.Type(ctx, key).Result()
	require.NoError(t, err)
	switch kind {
	case "none":
		return kind
	case "hash":
		fields, err := s.client.HGetAll(ctx, key).Result()
		require.NoError(t, err)
		words := make([]string, 0, len(fields))
		for f, v := range fields {
			words = append(words, f+"="+shown(v))
		}
		slices.Sort(words)
		return "hash " + strings.Join(words, " ")
	case "zset":
		members, err := s.client.ZRangeWithScores(ctx, key, 0, -1).Result()
		require.NoError(t, err)
		words := make([]string, 0, len(members))
		for _, m := range members {
			words = append(words, m.Member.(string)+"="+shown(strconv.FormatInt(int64(m.Score), 10)))
		}
		return "zset " + strings.Join(words, " ")
	case "string":
		v, err := s.client.Get(ctx, key).Result()
		require.NoError(t, err)
		return "string " + strconv.Quote(v)
	}
	require.FailNow(t, "no reader for type "+kind)
	return ""
}

// ttl is what the last run that was given the key set as its TTL, or -1.
func (s *store) ttl(key string) time.Duration { return s.ttls[key] }

func (s *store) del(t require.TestingT, key string) {
	require.NoError(t, s.client.Del(context.Background(), key).Err())
}

// shown prints a value for people: instants of the tests' clock as @ and the
// time since the epoch, text that would be hard to read quoted.
func shown(v string) string {
	const horizon = int64(1000 * 24 * time.Hour / time.Microsecond)
	n, err := strconv.ParseInt(v, 10, 64)
	switch {
	case err == nil && n >= epoch-horizon && n < epoch+horizon:
		return "@" + (time.Duration(n-epoch) * time.Microsecond).String()
	case err == nil && n >= (epoch-horizon)/1000 && n < (epoch+horizon)/1000:
		return "@" + (time.Duration(n-epoch/1000) * time.Millisecond).String() + "(ms)"
	case v == "" || strings.ContainsFunc(v, func(r rune) bool { return r <= ' ' || r >= 0x7f || r == '"' || r == '@' }):
		return strconv.Quote(v)
	}
	return v
}

// fixedReturns are the values that every reply of a script has, and whether others
// may follow, as many as the last of them says.
func fixedReturns(src *lua.Source) (names []string, repeats bool) {
	if i := slices.Index(src.Returns, "then"); i >= 0 {
		return src.Returns[:i], true
	}
	return src.Returns, false
}

const (
	second = int64(1_000_000)
	hour   = 3600 * second
)

func ceilMS(us int64) int64 { return (us + 999) / 1000 }
