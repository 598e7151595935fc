package lua_test

import (
	"context"
	"errors"
	"fmt"
	"net"
	"path/filepath"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	goredis "github.com/redis/go-redis/v9"
	"github.com/stretchr/testify/require"

	"github.com/coxswain-sidecar/coxswain/internal/coord/ratelimit"
	"github.com/coxswain-sidecar/coxswain/internal/lua"
	"github.com/coxswain-sidecar/coxswain/internal/luatest"
	"github.com/coxswain-sidecar/coxswain/internal/redis"
	"github.com/coxswain-sidecar/coxswain/internal/redistest"
)

// TestTopologyScripts runs scripts on the cluster that the timelines of nouns run on other stores.
func TestTopologyScripts(t *testing.T) {
	t.Parallel()
	nouns, err := filepath.Glob("../coord/*/testdata")
	require.NoError(t, err)
	require.NotEmpty(t, nouns)
	for _, dir := range nouns {
		noun := filepath.Dir(dir)
		t.Run(filepath.Base(noun), func(t *testing.T) {
			t.Parallel()
			luatest.Timelines(t, noun)
		})
	}
}

// spanning returns keys that are spread over all masters.
func spanning(t *testing.T, n int) []string {
	p := redistest.Prefix(t)
	keys := make([]string, n)
	for i := range keys {
		keys[i] = fmt.Sprintf("%s:{k%d}:s", p, i)
	}
	return keys
}

func TestTopologyCallsGoWhereTheirKeyIs(t *testing.T) {
	t.Parallel()
	redistest.Topologies(t, func(t *testing.T, url string) {
		r := luatest.Open(t, lua.Options{URL: url})
		keys := spanning(t, 60)
		var wg sync.WaitGroup
		errs := make(chan error, len(keys))
		for _, k := range keys {
			wg.Go(func() {
				_, err := lua.Run(luatest.Deadline(t), r, ratelimit.TokenBucketScript, bucket(k, 9), lua.StoredReply{Key: k + ":idem", Fingerprint: "f"})
				errs <- err
			})
		}
		wg.Wait()
		close(errs)
		require.NoError(t, errors.Join(drain(errs)...))
		var ins []ratelimit.TokenBucketIn
		for _, k := range keys {
			ins = append(ins, bucket(k, 9))
		}
		outs, failed := lua.Batch(luatest.Deadline(t), r, ratelimit.TokenBucketScript, ins)
		require.NoError(t, errors.Join(failed...))
		for _, o := range outs {
			require.EqualValues(t, 7, o.Value.Remaining, "in the order of the inputs, counted once each")
		}
		st := r.Status()
		require.True(t, st.Up, "%v", st.Trouble)
		require.True(t, st.ScriptsLoaded)
		require.Contains(t, url, "redis+"+st.Topology+"://"+st.Address)
		require.NoError(t, r.Ping(luatest.Deadline(t)))
	})
}

func TestTopologySubscribersReceiveWhatOthersPublish(t *testing.T) {
	t.Parallel()
	redistest.Topologies(t, func(t *testing.T, url string) {
		r := luatest.Open(t, lua.Options{URL: url})
		require.NoError(t, luatest.UntilUp(t, r))
		p := redistest.Prefix(t)
		h, stop := luatest.Listen(t, r, p+"a", p+"b")
		luatest.Next(t, h.Subscribed)
		command(t, r, "publish", p+"b", "1")
		require.Equal(t, p+"b 1", luatest.Next(t, h.Messages))
		stop()
	})
}

func TestTopologyReplicasAcknowledge(t *testing.T) {
	t.Parallel()
	redistest.Topologies(t, func(t *testing.T, url string) {
		r := luatest.Open(t, lua.Options{URL: url})
		in := bucket(spanning(t, 1)[0], 9)
		out, acked, err := lua.RunReplicated(luatest.Deadline(t), r, ratelimit.TokenBucketScript, in, lua.StoredReply{}, 1, 20*time.Second)
		require.NoError(t, err)
		require.True(t, out.Value.Admitted())
		require.GreaterOrEqual(t, acked, 1)
		out, acked, err = lua.RunReplicated(luatest.Deadline(t), r, ratelimit.TokenBucketScript, in, lua.StoredReply{}, 9, time.Millisecond)
		require.NoError(t, err, "too few replicas are no error")
		require.Less(t, acked, 9)
		require.EqualValues(t, 7, out.Value.Remaining)
	})
}

func TestTopologyLostReplyOfAClusterCountsOnce(t *testing.T) {
	t.Parallel()
	c := redistest.StartCluster(t)
	const key = "{k}"
	p := luatest.StartProxy(t, "redis://"+c.Master(key))
	_, port, err := net.SplitHostPort(strings.TrimPrefix(p.URL, "redis://"))
	require.NoError(t, err)
	witness := luatest.Open(t, lua.Options{URL: c.URL()})
	require.NoError(t, luatest.UntilUp(t, witness))
	node := goredis.NewClient(&goredis.Options{Addr: p.Target})
	defer func() { require.NoError(t, node.Close()) }()
	require.NoError(t, node.ConfigSet(luatest.Deadline(t), "cluster-announce-port", port).Err())
	r := luatest.Open(t, lua.Options{URL: c.URL()})
	require.NoError(t, luatest.UntilUp(t, r))

	// Until the new address has reached the runner, calls do not go through the proxy.
	ctx, count := luatest.Deadline(t), int64(0)
	for err = nil; err == nil; count++ {
		p.Lose(luatest.Plan{})
		_, err = take(ctx, r, key, 1_000_000)
	}
	require.ErrorIs(t, err, redis.ErrMaybeExecuted)
	require.EqualValues(t, count, spent(t, witness, key, 1_000_000), "each ran once")

	for replayed := false; !replayed; count++ {
		p.Lose(luatest.Plan{})
		stored := lua.StoredReply{Key: fmt.Sprintf("%s:idem%d", key, count), Fingerprint: "f"}
		out, err := lua.Run(ctx, r, ratelimit.TokenBucketScript, bucket(key, 1_000_000), stored)
		require.NoError(t, err)
		replayed = out.Replayed
	}
	require.EqualValues(t, count, spent(t, witness, key, 1_000_000))
}

func TestTopologyFlushedScriptsOfAClusterCountNoCallTwice(t *testing.T) {
	t.Parallel()
	c := redistest.StartCluster(t)
	r, admin := luatest.Open(t, lua.Options{URL: c.URL()}), c.Client(t)
	require.NoError(t, luatest.UntilUp(t, r))
	keys := spanning(t, 30)
	var ins []ratelimit.TokenBucketIn
	for _, k := range keys {
		ins = append(ins, bucket(k, 1_000_000))
	}
	var calls atomic.Int64
	var wg sync.WaitGroup
	errs := make(chan error, 100_000)
	for range 20 {
		wg.Go(func() {
			for i := range 60 {
				_, err := take(luatest.Deadline(t), r, keys[i%len(keys)], 1_000_000)
				calls.Add(1)
				errs <- err
			}
		})
	}
	wg.Go(func() {
		for range 20 {
			calls.Add(int64(len(ins)))
			// A run that met too many flushes in a row was not executed, and the caller may repeat it.
			for left := ins; len(left) > 0; {
				_, failed := lua.Batch(luatest.Deadline(t), r, ratelimit.TokenBucketScript, left)
				var again []ratelimit.TokenBucketIn
				for i, err := range failed {
					if errors.Is(err, redis.ErrUnavailable) {
						again = append(again, left[i])
					} else {
						errs <- err
					}
				}
				left = again
			}
		}
	})
	for range 20 {
		require.NoError(t, admin.ForEachMaster(luatest.Deadline(t), func(ctx context.Context, m *goredis.Client) error {
			return m.ScriptFlush(ctx).Err()
		}))
	}
	wg.Wait()
	close(errs)
	require.NoError(t, errors.Join(drain(errs)...))
	var counted int64
	for _, k := range keys {
		counted += spent(t, r, k, 1_000_000)
	}
	require.Equal(t, calls.Load(), counted)
}
