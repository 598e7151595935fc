package lua_test

import (
	"context"
	"fmt"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/coxswain-sidecar/coxswain/internal/coord"
	"github.com/coxswain-sidecar/coxswain/internal/coord/ratelimit"
	"github.com/coxswain-sidecar/coxswain/internal/lua"
	"github.com/coxswain-sidecar/coxswain/internal/luatest"
)

// bucket is a charge of one token from a bucket that hardly refills.
func bucket(key string, capacity int64) ratelimit.TokenBucketIn {
	const hour = 3_600_000
	return ratelimit.TokenBucketIn{
		State: key, Pace: key + "pace", Cost: 1, Revision: 1, Signature: fmt.Sprintf("1:%d:%d", hour, capacity),
		Capacity: capacity, L: 1, P: hour * 1000,
	}
}

func take(ctx context.Context, r *lua.Runner, key string, capacity int64) (lua.Outcome[coord.LimitAnswer], error) {
	return lua.Run(ctx, r, ratelimit.TokenBucketScript, bucket(key, capacity), lua.StoredReply{})
}

// spent returns how many tokens were taken from key.
func spent(t testing.TB, r *lua.Runner, key string, capacity int64) int64 {
	t.Helper()
	in := bucket(key, capacity)
	in.Cost = 0
	out, err := lua.Run(luatest.Deadline(t), r, ratelimit.TokenBucketScript, in, lua.StoredReply{})
	require.NoError(t, err)
	return capacity - out.Value.Remaining
}
