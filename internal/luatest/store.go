package luatest

import (
	"context"
	"fmt"
	"slices"
	"strconv"
	"strings"
	"sync/atomic"
	"testing"
	"time"
	"unicode"

	"github.com/alicebob/miniredis/v2"
	"github.com/redis/go-redis/v9"
	"github.com/stretchr/testify/require"

	"github.com/coxswain-sidecar/coxswain/internal/lua"
	"github.com/coxswain-sidecar/coxswain/internal/redistest"
)

// Store is a Redis that scripts run on with a clock of the test's own. It is
// for one goroutine.
type Store struct {
	// Name is embedded, redis or cluster.
	Name   string
	Client redis.UniversalClient
	// Prefix is the tag of all keys, without its braces.
	Prefix string

	under string                   // the beginning of keys after the tag
	many  bool                     // the next run uses the form for many items
	tick  func()                   // advances the server's own clock; nil = it advances by itself
	ttls  map[string]time.Duration // the TTL that the last run set, for each key that scripts were given
}

// EachStore runs a test on the embedded store and on real Redis, and below a
// TestTopology on a cluster instead. The clock that scripts read does not move the
// store's TTLs, so a test of a TTL reads it by TTL, and deletes the key to end it.
func EachStore(t *testing.T, test func(t *testing.T, s *Store)) {
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
		m, now := miniredis.RunT(t), time.UnixMicro(Epoch)
		m.SetTime(now)
		s := NewStore(t, "embedded", &redis.Options{Addr: m.Addr()}, "t")
		s.tick = func() {
			now = now.Add(time.Millisecond)
			m.SetTime(now)
		}
		test(t, s)
	})
	t.Run("redis", func(t *testing.T) {
		t.Parallel()
		o, err := redis.ParseURL(redistest.URL(t))
		require.NoError(t, err)
		test(t, NewStore(t, "redis", o, redistest.Prefix(t)))
	})
}

// clusterStore is the master of the shared cluster that has the test's keys.
func clusterStore(t *testing.T) *Store {
	prefix := redistest.Prefix(t)
	seeds := strings.Split(strings.TrimPrefix(redistest.SharedCluster(t), "redis+cluster://"), ",")
	c := redis.NewClusterClient(&redis.ClusterOptions{Addrs: seeds})
	defer func() { _ = c.Close() }()
	s := &Store{Prefix: prefix}
	node, err := c.MasterForKey(context.Background(), s.Key("any"))
	require.NoError(t, err)
	return NewStore(t, "cluster", &redis.Options{Addr: node.Options().Addr}, prefix)
}

// NewStore makes a store with all scripts loaded. Its name is embedded, redis or cluster.
func NewStore(t *testing.T, name string, o *redis.Options, prefix string) *Store {
	t.Helper()
	o.MaxRetries = -1
	o.ReadTimeout = time.Minute // a script of the embedded store takes long on a busy machine
	c := redis.NewClient(o)
	t.Cleanup(func() { _ = c.Close() })
	s := &Store{Name: name, Client: c, Prefix: prefix, ttls: map[string]time.Duration{}}
	for _, src := range lua.Scripts() {
		for _, many := range []bool{false, true} {
			text, sha := lua.Clocked(src, many)
			got, err := c.ScriptLoad(context.Background(), text).Result()
			require.NoError(t, err, src.Name)
			require.Equal(t, sha, got, src.Name)
		}
	}
	return s
}

// Key returns a key under the tag of the test, which a cluster requires.
func (s *Store) Key(name string) string { return "{" + s.Prefix + "}:" + s.under + name }

// Eval runs a script at now and returns its raw reply. It removes the TTLs that
// the script set, so that no key expires by the real clock, while the test has a
// clock of its own. Every second run uses the script's form for many items.
func (s *Store) Eval(src *lua.Source, now int64, keys []string, args []any, l lua.StoredReply) ([]any, error) {
	keys, args = withStoredReply(keys, args, l)
	s.many = !s.many
	f := formOf(src, s.many)
	ctx := context.Background()
	var reply *redis.Cmd
	once := slices.Compact(slices.Sorted(slices.Values(keys))) // a stored reply of its own is optional for some
	ttls := make([]*redis.DurationCmd, len(once))
	_, err := s.Client.TxPipelined(ctx, func(p redis.Pipeliner) error {
		reply = p.EvalSha(ctx, f.sha, keys, f.args(append(args, now))...)
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
	return f.reply(reply)
}

// form is a script in one of its forms, on the clock of the caller.
type form struct {
	sha  string
	many bool
}

func formOf(src *lua.Source, many bool) form {
	_, sha := lua.Clocked(src, many)
	return form{sha, many}
}

// runs is the number of runs of forms for many.
var runs atomic.Int64

// args returns the arguments of a run for one item. In every second run of a form for many
// the mask marks all arguments as the same for all items, in the other ones none.
func (f form) args(item []any) []any {
	if !f.many {
		return item
	}
	mask := []string{"0", "1"}[runs.Add(1)%2]
	return append(item, strings.Repeat(mask, len(item)), 1)
}

// reply returns the reply of the only item.
func (f form) reply(cmd *redis.Cmd) ([]any, error) {
	reply, err := cmd.Slice()
	if err != nil || !f.many {
		return reply, err
	}
	switch item := reply[0].(type) {
	case []any:
		return item, nil
	default:
		return nil, fmt.Errorf("the item failed: %v", item)
	}
}

func withStoredReply(keys []string, args []any, l lua.StoredReply) ([]string, []any) {
	if l.Key == "" {
		return slices.Clone(keys), slices.Clone(args)
	}
	return append(slices.Clone(keys), l.Key), append(slices.Clone(args), l.Fingerprint)
}

// Raw returns the value of a key, by its type, in one line; "none" if it does not exist.
func (s *Store) Raw(t require.TestingT, key string) string {
	ctx := context.Background()
	kind, err := s.Client.Type(ctx, key).Result()
	require.NoError(t, err)
	switch kind {
	case "none":
		return kind
	case "hash":
		fields, err := s.Client.HGetAll(ctx, key).Result()
		require.NoError(t, err)
		words := make([]string, 0, len(fields))
		for f, v := range fields {
			words = append(words, f+"="+Shown(v))
		}
		slices.Sort(words)
		return "hash " + strings.Join(words, " ")
	case "zset":
		members, err := s.Client.ZRangeWithScores(ctx, key, 0, -1).Result()
		require.NoError(t, err)
		words := make([]string, 0, len(members))
		for _, m := range members {
			member := m.Member.(string)
			if strings.ContainsFunc(member, unicode.IsControl) {
				member = strconv.Quote(member)
			}
			words = append(words, member+"="+Shown(strconv.FormatInt(int64(m.Score), 10)))
		}
		return "zset " + strings.Join(words, " ")
	case "string":
		v, err := s.Client.Get(ctx, key).Result()
		require.NoError(t, err)
		return "string " + strconv.Quote(v)
	case "stream":
		return s.rawStream(t, key)
	}
	require.FailNow(t, "no reader for type "+kind)
	return ""
}

// TTL returns the TTL that the last run with this key set, or -1.
func (s *Store) TTL(key string) time.Duration { return s.ttls[key] }

// Del deletes a key.
func (s *Store) Del(t require.TestingT, key string) {
	require.NoError(t, s.Client.Del(context.Background(), key).Err())
}

// Clear deletes all keys with this beginning that scripts were given.
func (s *Store) Clear(t require.TestingT, name string) {
	var keys []string
	for k := range s.ttls {
		if strings.HasPrefix(k, s.Key(name)) {
			keys = append(keys, k)
			delete(s.ttls, k)
		}
	}
	require.NoError(t, s.Client.Del(context.Background(), keys...).Err())
}
