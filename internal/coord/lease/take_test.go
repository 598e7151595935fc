package lease_test

import (
	"context"
	"math"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/coxswain-sidecar/coxswain/internal/coord"
	"github.com/coxswain-sidecar/coxswain/internal/coord/lease"
	"github.com/coxswain-sidecar/coxswain/internal/lua"
	"github.com/coxswain-sidecar/coxswain/internal/luatest"
	"github.com/coxswain-sidecar/coxswain/internal/redis"
	"github.com/coxswain-sidecar/coxswain/internal/redistest"
	"github.com/coxswain-sidecar/coxswain/internal/telemetry"
)

// A call ends while its script is under way. What the script may take is given back after the script has run: in the
// other order the lease, or the ticket in the waiting line, would stay taken.
func TestNothingIsReleasedBeforeTheScriptThatAcquiresItHasRun(t *testing.T) {
	for what, c := range map[string]struct {
		waiter string
		made   bool // the sidecar made the token, so that no other call can name it
	}{
		"the lease":                           {made: true},
		"the place in the line":               {waiter: "a:1"},
		"the lease and the place in the line": {waiter: "a:1", made: true},
	} {
		t.Run(what, func(t *testing.T) {
			t.Parallel()
			s, l := redistest.Start(t), lease.NewLeases(telemetry.Nop())
			t.Cleanup(func() { l.Stop(context.Background()) })
			p, admin := luatest.StartProxy(t, s.URL()), s.Client(t)
			r := luatest.Open(t, lua.Options{URL: p.URL, CommandTimeout: time.Minute})
			require.NoError(t, luatest.UntilUp(t, r))
			keys := lease.LineKeysOf("fake{fake}")
			require.NoError(t, admin.Do(t.Context(), "client", "pause", 600_000, "write").Err())
			ctx, cancel := context.WithCancel(t.Context())
			run := func(ctx context.Context, keys lease.LineKeys) <-chan error {
				ended := make(chan error, 1)
				p.Lose(luatest.Plan{Pass: math.MaxInt}) // it loses nothing, and reports when the script was sent
				go func() {
					_, err := lua.Run(ctx, r, lease.LineHeartbeat, lease.LineHeartbeatIn{LineKeys: keys, Sidecar: "a", HeartbeatMS: 60_000}, lua.StoredReply{})
					ended <- err
				}()
				<-p.Saw
				return ended
			}
			// A call that is alone on its connection reads its reply itself and cannot abandon it, so another call is
			// under way.
			other := run(t.Context(), lease.LineKeysOf("other{other}"))
			ended := run(ctx, keys)
			cancel()
			err := <-ended
			require.ErrorIs(t, err, redis.ErrMaybeExecuted)
			require.ErrorIs(t, err, context.Canceled)
			var gone []lease.Hold
			ran := int64(-1)
			k := &lease.FakeKind{OnGiveBack: func(ctx context.Context, holds []lease.Hold) []error {
				gone = append(gone, holds...)
				ran = admin.ZCard(ctx, keys.Heartbeats).Val()
				return make([]error, len(holds))
			}}
			x := &lease.Lease{ID: lease.ID{Noun: "fake", Name: "name", Token: "token"}, TTL: time.Minute, Kind: k}
			// Redis runs the script while Unsure waits for it; on a busy machine it may have run before.
			unpaused := make(chan error, 1)
			time.AfterFunc(300*time.Millisecond, func() { unpaused <- admin.ClientUnpause(context.Background()).Err() })
			l.Unsure(ctx, coord.Caller{}, x, c.made, c.waiter, err)
			require.NoError(t, <-unpaused)
			require.EqualValues(t, 1, ran, "the script had not run")
			require.Len(t, gone, 1)
			require.Equal(t, c.waiter, gone[0].Waiter)
			require.Equal(t, c.made, gone[0].Token == "token")
			require.NoError(t, <-other)
		})
	}
}
