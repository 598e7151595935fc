package luatest

import (
	"cmp"
	"context"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/coxswain-sidecar/coxswain/internal/coord/ratelimit"
	"github.com/coxswain-sidecar/coxswain/internal/lua"
)

// UntilUp returns after the first call that gets a reply, or with the error of the last one.
func UntilUp(t *testing.T, r *lua.Runner) error {
	ctx := Deadline(t)
	tick := time.NewTicker(2 * time.Millisecond)
	defer tick.Stop()
	for {
		_, err := lua.Run(ctx, r, ratelimit.ResetScript, ratelimit.ResetIn{State: "nobody"}, lua.StoredReply{})
		if err == nil || ctx.Err() != nil {
			return err
		}
		<-tick.C
	}
}

// stall is longer than the scheduler of a busy machine keeps Redis, or the test, from running.
const stall = 30 * time.Second

// Open starts a runner that is closed with the test. Its default timeouts are long: a Redis that a busy machine does not
// run for some seconds would otherwise count as down, and calls would fail.
func Open(t testing.TB, o lua.Options) *lua.Runner {
	t.Helper()
	o.DialTimeout, o.CommandTimeout = cmp.Or(o.DialTimeout, stall), cmp.Or(o.CommandTimeout, stall)
	r, err := lua.Open(o)
	require.NoError(t, err)
	t.Cleanup(func() { require.NoError(t, r.Close()) })
	return r
}

// Deadline is much longer than anything here takes, so that only a hang reaches it.
func Deadline(t testing.TB) context.Context {
	ctx, cancel := context.WithTimeout(context.Background(), 30*time.Second)
	t.Cleanup(cancel)
	return ctx
}
