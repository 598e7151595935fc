package lua_test

import (
	"context"
	"testing"

	"github.com/redis/go-redis/v9"
	"github.com/stretchr/testify/require"

	"github.com/coxswain-sidecar/coxswain/internal/coord/lease"
	"github.com/coxswain-sidecar/coxswain/internal/coord/lock"
	"github.com/coxswain-sidecar/coxswain/internal/coord/ratelimit"
	"github.com/coxswain-sidecar/coxswain/internal/lua"
	"github.com/coxswain-sidecar/coxswain/internal/luatest"
)

// TestScriptsReadTheServersClock runs the script texts of production, which read the server's clock.
func TestScriptsReadTheServersClock(t *testing.T) {
	t.Parallel()
	luatest.EachStore(t, func(t *testing.T, s *luatest.Store) {
		ctx := context.Background()
		for src := range everyScript(t) {
			require.Equal(t, src.SHA(), s.Client.ScriptLoad(ctx, src.Text()).Val(), src.Name)
		}
		keys, args := lua.InputOf(ratelimit.TokenBucketScript, bucket(s.Key("b"), 5))
		lockKeys, lockArgs := lua.InputOf(lock.AcquireScript, lock.AcquireIn{Lock: s.Key("l"), LineKeys: lease.LineKeysOf(s.Key("l")), Token: "t", TTLMS: 1000})
		var from, to *redis.TimeCmd
		var charge, locked *redis.Cmd
		_, err := s.Client.TxPipelined(ctx, func(p redis.Pipeliner) error {
			from = p.Time(ctx)
			charge = p.EvalSha(ctx, ratelimit.TokenBucketScript.SHA(), keys, args...)
			locked = p.EvalSha(ctx, lock.AcquireScript.SHA(), lockKeys, lockArgs...)
			to = p.Time(ctx)
			return nil
		})
		require.NoError(t, err)
		charged, err := lua.ReadAs(ratelimit.TokenBucketScript, charge.Val().([]any))
		require.NoError(t, err)
		granted, err := lua.ReadAs(lock.AcquireScript, locked.Val().([]any))
		require.NoError(t, err)
		for _, at := range []int64{charged.NowUS, granted.Fence} {
			require.GreaterOrEqual(t, at, from.Val().UnixMicro())
			require.LessOrEqual(t, at, to.Val().UnixMicro())
		}
	})
}
