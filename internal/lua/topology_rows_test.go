package lua_test

import (
	"context"
	"strings"
	"testing"

	goredis "github.com/redis/go-redis/v9"
	"github.com/stretchr/testify/require"

	"github.com/coxswain-sidecar/coxswain/internal/coord/ratelimit"
	"github.com/coxswain-sidecar/coxswain/internal/lua"
	"github.com/coxswain-sidecar/coxswain/internal/luatest"
	"github.com/coxswain-sidecar/coxswain/internal/redis"
	"github.com/coxswain-sidecar/coxswain/internal/redistest"
)

// If slots have no master, the cluster refuses all keys, unless cluster-require-full-coverage is no.
func TestTopologyAClusterThatIsNotWholeIsNamed(t *testing.T) {
	t.Parallel()
	c := redistest.StartCluster(t)
	var log noise
	r := luatest.Open(t, lua.Options{URL: c.URL(), Log: logTo(&log)})
	require.NoError(t, luatest.UntilUp(t, r))
	admin := c.Client(t)
	every := func(args ...string) {
		require.NoError(t, admin.ForEachShard(luatest.Deadline(t), func(_ context.Context, m *goredis.Client) error { return do(t, m, args) }))
	}
	every("config", "set", "cluster-require-full-coverage", "yes")
	slot := int(admin.ClusterKeySlot(luatest.Deadline(t), "{a}").Val())
	owner := goredis.NewClient(&goredis.Options{Addr: c.Master("{a}"), MaxRetries: -1})
	t.Cleanup(func() { require.NoError(t, owner.Close()) })
	require.NoError(t, owner.ClusterDelSlots(luatest.Deadline(t), slot).Err())
	// The other nodes would consider the slot the old owner's as long as no node claims it.
	require.NoError(t, admin.ForEachShard(luatest.Deadline(t), func(ctx context.Context, m *goredis.Client) error {
		if err := m.ClusterDelSlots(ctx, slot).Err(); err != nil {
			require.ErrorContains(t, err, "unassigned")
		}
		return nil
	}))

	told := untilTrouble(t, r, "clusterdown")
	require.Contains(t, told.Remedy, "cluster-require-full-coverage no")
	refused := func(key, name string) {
		t.Helper()
		_, err := lua.Attempt(luatest.Deadline(t), r, ratelimit.TokenBucketScript, bucket(key, 5), lua.StoredReply{})
		require.ErrorIs(t, err, redis.ErrUnavailable)
		require.NotErrorIs(t, err, redis.ErrMaybeExecuted)
		var trouble *redis.Trouble
		require.ErrorAs(t, err, &trouble)
		require.Equal(t, name, trouble.Name, key)
	}
	await(t, func() bool { // the masters notice it one after the other
		_, err := take(luatest.Deadline(t), r, "{b}", 1_000_000)
		return err != nil
	})
	refused("{b}", "clusterdown")
	await(t, func() bool { return strings.Contains(log.String(), "trouble=clusterdown") })

	every("config", "set", "cluster-require-full-coverage", "no")
	untilTrouble(t, r, "no_master")
	refused("{a}", "no_master")
	await(t, func() bool { // the other masters notice one after the other that they may serve
		_, err := take(luatest.Deadline(t), r, "{b}", 5)
		return err == nil
	})

	require.NoError(t, owner.ClusterAddSlots(luatest.Deadline(t), slot).Err())
	untilTrouble(t, r, "")
	_, err := take(luatest.Deadline(t), r, "{a}", 5)
	require.NoError(t, err)
}

func TestTopologyAServerThatHasNoRoomAnyMoreIsNamed(t *testing.T) {
	user := []string{"acl", "setuser", "app", "on", ">pw", "~*", "&*", "+@all"}
	t.Run("cluster", func(t *testing.T) {
		t.Parallel()
		c := redistest.StartCluster(t)
		require.NoError(t, c.Client(t).ForEachShard(luatest.Deadline(t), func(_ context.Context, m *goredis.Client) error { return do(t, m, user) }))
		var masters []*goredis.Client
		for _, key := range []string{"a", "b", "c"} { // one key of each master
			m := goredis.NewClient(&goredis.Options{Addr: c.Master(key), MaxRetries: -1, PoolSize: 1})
			t.Cleanup(func() { require.NoError(t, m.Close()) })
			require.NoError(t, m.Ping(luatest.Deadline(t)).Err())
			masters = append(masters, m)
		}
		hasNoRoom(t, c.URL(), masters...)
	})
	t.Run("sentinel", func(t *testing.T) {
		t.Parallel()
		s := redistest.StartSentinel(t)
		m := s.Client(t)
		require.NoError(t, do(t, m, user))
		hasNoRoom(t, s.URL(), m)
	})
}
