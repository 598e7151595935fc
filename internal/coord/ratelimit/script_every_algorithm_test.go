package ratelimit_test

import (
	"errors"
	"sync"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/coxswain-sidecar/coxswain/client/api"
	"github.com/coxswain-sidecar/coxswain/internal/coord/ratelimit"
	"github.com/coxswain-sidecar/coxswain/internal/lua"
	"github.com/coxswain-sidecar/coxswain/internal/luatest"
	"github.com/coxswain-sidecar/coxswain/internal/redis"
	"github.com/coxswain-sidecar/coxswain/internal/redistest"
)

// everyAlgorithm runs a test for the general script of each.
func everyAlgorithm(t *testing.T, test func(t *testing.T, s lua.Script[ratelimit.In, ratelimit.Out])) {
	t.Parallel()
	for _, name := range api.Algorithms {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			test(t, ratelimit.ChargeScript(name))
		})
	}
}

// one is a charge of 1 of 10,000 a year.
func one(key string) ratelimit.In {
	return ratelimit.In{State: key, Pace: key + "pace", Charge: ratelimit.Charge{Cost: 1, Revision: 1, Signature: "10000/1/3153600000/31536000000", ID: "id"}}
}

// counted returns how much of the limit of one is used.
func counted(t *testing.T, r *lua.Runner, s lua.Script[ratelimit.In, ratelimit.Out], key string) int64 {
	t.Helper()
	in := one(key)
	in.Cost = 0
	out, err := lua.Run(luatest.Deadline(t), r, s, in, lua.StoredReply{})
	require.NoError(t, err)
	return out.Value.Current
}

// A charge whose reply is lost counts once. Without a request id the call returns an error that says that it may have
// counted.
func TestALostReplyCountsOnceWithEveryAlgorithm(t *testing.T) {
	everyAlgorithm(t, func(t *testing.T, s lua.Script[ratelimit.In, ratelimit.Out]) {
		p, r, witness, key := luatest.BehindProxy(t, lua.Options{})
		p.Lose(luatest.Plan{})
		_, err := lua.Run(luatest.Deadline(t), r, s, one(key), lua.StoredReply{})
		require.ErrorIs(t, err, redis.ErrMaybeExecuted)
		require.EqualValues(t, 1, counted(t, witness, s, key))

		p.Lose(luatest.Plan{})
		out, err := lua.Run(luatest.Deadline(t), r, s, one(key), lua.StoredReply{Key: key + "idem", Fingerprint: "f"})
		require.NoError(t, err)
		require.True(t, out.Replayed)
		require.True(t, out.Value.Admitted())
		require.EqualValues(t, 2, counted(t, witness, s, key))
	})
}

// If scripts are flushed during many calls, each call counts once.
func TestFlushedScriptsCountOnceWithEveryAlgorithm(t *testing.T) {
	everyAlgorithm(t, func(t *testing.T, s lua.Script[ratelimit.In, ratelimit.Out]) {
		const callers, each, flushes = 20, 25, 20
		server := redistest.Start(t)
		r, admin := luatest.Open(t, lua.Options{URL: server.URL()}), server.Client(t)
		require.NoError(t, luatest.UntilUp(t, r))
		var wg sync.WaitGroup
		errs := make(chan error, callers*each)
		for range callers {
			wg.Go(func() {
				for range each {
					_, err := lua.Run(luatest.Deadline(t), r, s, one("k"), lua.StoredReply{})
					errs <- err
				}
			})
		}
		for range flushes {
			require.NoError(t, admin.ScriptFlush(luatest.Deadline(t)).Err())
		}
		wg.Wait()
		close(errs)
		var all []error
		for err := range errs {
			all = append(all, err)
		}
		require.NoError(t, errors.Join(all...))
		require.EqualValues(t, callers*each, counted(t, r, s, "k"))
	})
}
