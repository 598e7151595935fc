package redistest_test

import (
	"context"
	"net"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/redis/go-redis/v9"
	"github.com/stretchr/testify/require"

	"github.com/coxswain-sidecar/coxswain/internal/redistest"
)

func TestTopologyClusterFailsOver(t *testing.T) {
	t.Parallel()
	ctx := context.Background()
	c := redistest.StartCluster(t)
	require.NoError(t, c.Client(t).Set(ctx, "k", "v", 0).Err())
	first := c.Master("k")
	c.Failover("k")
	second := c.Master("k")
	require.NotEqual(t, first, second)
	require.Equal(t, "v", c.Client(t).Get(ctx, "k").Val())
	restart := c.KillMaster("k")
	require.Equal(t, first, c.Master("k"), "the replica takes over")
	restart()
	c.Failover("k")
	require.Equal(t, second, c.Master("k"))
}

// A replica that was promoted a moment ago is elected again, by new votes, and
// all others believe it.
func TestTopologyClusterElectsWhoWasElectedJustBefore(t *testing.T) {
	t.Parallel()
	ctx := context.Background()
	c := redistest.StartCluster(t)
	c.Failover("k")
	heir := c.Master("k")
	// As long as this are its votes of now good, however slow the machine is.
	node := redis.NewClient(&redis.Options{Addr: heir, Protocol: 2})
	require.NoError(t, node.ConfigSet(ctx, "cluster-node-timeout", "30000").Err())
	require.NoError(t, node.Close())
	c.Failover("k")
	dead := c.Master("k")
	c.KillMaster("k")
	for _, addr := range strings.Split(strings.TrimPrefix(c.URL(), "redis+cluster://"), ",") {
		if addr == dead {
			continue
		}
		node = redis.NewClient(&redis.Options{Addr: addr, Protocol: 2})
		require.Eventually(t, func() bool {
			view, err := node.ClusterShards(ctx).Result()
			return err == nil && slices.ContainsFunc(view, func(s redis.ClusterShard) bool {
				return slices.ContainsFunc(s.Nodes, func(n redis.Node) bool {
					return n.Role == "master" && len(s.Slots) > 0 && net.JoinHostPort(n.IP, strconv.FormatInt(n.Port, 10)) == heir
				})
			})
		}, 60*time.Second, 20*time.Millisecond, "%s does not know of %s", addr, heir)
		require.NoError(t, node.Close())
	}
}

func TestTopologySentinelFailsOver(t *testing.T) {
	t.Parallel()
	ctx := context.Background()
	s := redistest.StartSentinel(t)
	first := s.Client(t)
	require.NoError(t, first.Set(ctx, "k", "v", 0).Err())
	require.NoError(t, first.Wait(ctx, 2, 0).Err())
	s.Failover()
	second := s.Client(t)
	require.NotEqual(t, first.Options().Addr, second.Options().Addr)
	require.Equal(t, "v", second.Get(ctx, "k").Val())
	restart := s.KillMaster()
	third := s.Client(t)
	require.NotEqual(t, second.Options().Addr, third.Options().Addr)
	restart()
	s.Failover()
}

func TestTopologyVisitsBoth(t *testing.T) {
	var seen []string
	redistest.Topologies(t, func(_ *testing.T, url string) { seen = append(seen, url) })
	require.Len(t, seen, 2)
	require.Contains(t, seen[0], "redis+cluster://127.0.0.1:")
	require.Regexp(t, "^redis\\+sentinel://127.*/mymaster$", seen[1])
}
