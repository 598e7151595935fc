package redistest_test

import (
	"context"
	"testing"

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
