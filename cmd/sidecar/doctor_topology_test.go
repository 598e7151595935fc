package main_test

import (
	"context"
	"strings"
	"testing"

	goredis "github.com/redis/go-redis/v9"
	"github.com/stretchr/testify/require"

	"github.com/coxswain-sidecar/coxswain/internal/doctor"
	"github.com/coxswain-sidecar/coxswain/internal/redistest"
)

func TestTopologyDoctorFindsNothingWrongWhereNothingIs(t *testing.T) {
	redistest.Topologies(t, func(t *testing.T, url string) {
		prefix := "COXSWAIN_REDIS_PREFIX=" + redistest.Prefix(t)
		s := serve(t, socketIn(t), []string{prefix, noGrace}, "--redis", url)
		wait(t, s.socket)
		worked(t, s)
		found := healthy(t, []string{prefix, noGrace}, "--socket", s.socket, "--http", "127.0.0.1:0", "--redis", url)
		if strings.HasPrefix(url, "redis+cluster") {
			require.Equal(t, "all slots on 3 masters", found["redis-cluster"].Found)
		} else {
			require.Contains(t, found["redis-sentinel"].Found, "3 of 3 sentinels name 127.0.0.1:")
		}
	})
}

func TestTopologyDoctorNamesSlotsWithoutAMaster(t *testing.T) {
	t.Parallel()
	c := redistest.StartCluster(t)
	require.NoError(t, c.Client(t).ForEachShard(t.Context(), func(ctx context.Context, n *goredis.Client) error {
		return n.ClusterDelSlotsRange(ctx, 100, 299).Err()
	}))
	found := before(t, c.URL())
	broken{"redis-cluster", doctor.Fail, "a slot of the cluster has no master", "agree on one"}.names(t, found)
	require.Equal(t, "slots without a master: 100-299", found["redis-cluster"].Found)
}

func TestTopologyDoctorNamesTheShardThatIsAway(t *testing.T) {
	t.Parallel()
	c := redistest.StartCluster(t)
	admin := c.Client(t)
	master := c.Master("key")
	require.NoError(t, admin.ForEachMaster(t.Context(), func(ctx context.Context, n *goredis.Client) error {
		if n.Options().Addr != master {
			return nil
		}
		return n.ConfigSet(ctx, "maxmemory", "1").Err()
	}))
	found := before(t, c.URL())
	broken{"redis-memory", doctor.Fail, "out of memory", "raise maxmemory"}.names(t, found)
	require.Equal(t, master, found["redis-memory"].Found)
}

func TestTopologyDoctorNamesWhatSentinelsRefuse(t *testing.T) {
	t.Parallel()
	s := redistest.StartSentinel(t)
	addrs, name, _ := strings.Cut(strings.TrimPrefix(s.URL(), "redis+sentinel://"), "/")
	all := strings.Split(addrs, ",")
	first := goredis.NewClient(&goredis.Options{Addr: all[0]})
	defer first.Close()

	require.NoError(t, first.Do(t.Context(), "sentinel", "set", name, "quorum", "9").Err())
	found := before(t, s.URL())
	broken{"redis-sentinel", doctor.Warn, "no failover could come about", "lower the quorum"}.names(t, found)
	require.NoError(t, first.Do(t.Context(), "sentinel", "set", name, "quorum", "2").Err())

	away := strings.Replace(s.URL(), "redis+sentinel://", "redis+sentinel://"+closedPort(t)+",", 1)
	found = before(t, away)
	broken{"redis-sentinel", doctor.Warn, "names no master: redis cannot be reached", "check redis.url"}.names(t, found)
	require.Contains(t, found["redis-sentinel"].Found, "3 of 4 sentinels name")

	found = before(t, strings.Replace(s.URL(), "/"+name, "/other", 1))
	broken{"redis-sentinel", doctor.Fail, "it does not know the master's name", "agree on one"}.names(t, found)

	for _, addr := range all {
		c := goredis.NewClient(&goredis.Options{Addr: addr})
		defer c.Close()
		require.NoError(t, c.Do(t.Context(), "acl", "setuser", "default", "resetpass", ">secret").Err())
	}
	found = before(t, s.URL())
	broken{"redis-sentinel-login", doctor.Fail, "a sentinel of redis refuses the user or the password", "redis.sentinel.password_file"}.names(t, found)
	require.Equal(t, "redis-sentinel-login has to be in order first", found["redis-login"].Cause)
	found = before(t, s.URL(), "COXSWAIN_REDIS_SENTINEL_PASSWORD=secret")
	require.Equal(t, doctor.OK, found["redis-sentinel-login"].State, "%+v", found)
	require.Equal(t, doctor.OK, found["redis-login"].State)
}
