package redistest_test

import (
	"context"
	"testing"

	"github.com/redis/go-redis/v9"
	"github.com/stretchr/testify/require"

	"github.com/coxswain-sidecar/coxswain/internal/redistest"
)

func TestTLSServerTakesItsOwnClientsOnly(t *testing.T) {
	t.Parallel()
	ctx := context.Background()
	s := redistest.StartTLS(t)
	require.NoError(t, s.Client(t).Ping(ctx).Err())
	s.Restart()
	require.NoError(t, s.Client(t).Ping(ctx).Err())
	opt, err := redis.ParseURL(s.URL())
	require.NoError(t, err)
	opt.MaxRetries = -1
	strange := redis.NewClient(opt)
	defer func() { require.NoError(t, strange.Close()) }()
	require.Error(t, strange.Ping(ctx).Err())
}

func TestServerOnAUnixSocketAndWithAUser(t *testing.T) {
	t.Parallel()
	ctx := context.Background()
	_, path := redistest.StartUnix(t)
	unix := redis.NewClient(&redis.Options{Network: "unix", Addr: path, MaxRetries: -1})
	defer func() { require.NoError(t, unix.Close()) }()
	require.NoError(t, unix.Ping(ctx).Err())

	s := redistest.StartUser(t, "app", "secret", "~app:*", "+get", "+ping")
	opt, err := redis.ParseURL(s.URL())
	require.NoError(t, err)
	opt.MaxRetries, opt.Username, opt.Password = -1, "app", "secret"
	app := redis.NewClient(opt)
	defer func() { require.NoError(t, app.Close()) }()
	require.ErrorIs(t, app.Get(ctx, "app:k").Err(), redis.Nil)
	require.ErrorContains(t, app.Get(ctx, "k").Err(), "NOPERM")
	require.NoError(t, s.Client(t).Set(ctx, "k", "v", 0).Err())
}

func TestTopologyServersOfASetSpeakTLSOnlyAndFailOver(t *testing.T) {
	t.Parallel()
	ctx := context.Background()
	strange := func(addr string) error {
		c := redis.NewClient(&redis.Options{Addr: addr, MaxRetries: -1})
		defer func() { require.NoError(t, c.Close()) }()
		return c.Ping(ctx).Err()
	}
	t.Run("cluster", func(t *testing.T) {
		t.Parallel()
		c := redistest.StartClusterTLS(t)
		require.Regexp(t, `^rediss\+cluster://127`, c.URL())
		require.NoError(t, c.Client(t).Set(ctx, "k", "v", 0).Err())
		first := c.Master("k")
		require.Error(t, strange(first))
		c.Failover("k")
		require.NotEqual(t, first, c.Master("k"))
		require.Equal(t, "v", c.Client(t).Get(ctx, "k").Val())
		c.KillMaster("k")()
	})
	t.Run("sentinel", func(t *testing.T) {
		t.Parallel()
		s := redistest.StartSentinelTLS(t)
		require.Regexp(t, `^rediss\+sentinel://127.*/mymaster$`, s.URL())
		first := s.Client(t)
		require.NoError(t, first.Set(ctx, "k", "v", 0).Err())
		require.NoError(t, first.Wait(ctx, 2, 0).Err())
		require.Error(t, strange(first.Options().Addr))
		s.Failover()
		require.NotEqual(t, first.Options().Addr, s.Client(t).Options().Addr)
		require.Equal(t, "v", s.Client(t).Get(ctx, "k").Val())
	})
}
