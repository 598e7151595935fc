package lua_test

import (
	"errors"
	"fmt"
	"sync"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/coxswain-sidecar/coxswain/internal/coord/lock"
	"github.com/coxswain-sidecar/coxswain/internal/coord/ratelimit"
	"github.com/coxswain-sidecar/coxswain/internal/lua"
	"github.com/coxswain-sidecar/coxswain/internal/luatest"
	"github.com/coxswain-sidecar/coxswain/internal/redistest"
)

// 10,000 calls are made while scripts are flushed and 600 foreign scripts are loaded.
func TestFlushedScriptsCountNoCallTwiceAndShowNoNoscript(t *testing.T) {
	t.Parallel()
	const callers, each, perBatch, foreign = 60, 150, 100, 600
	s := redistest.Start(t)
	r, admin := luatest.Open(t, lua.Options{URL: s.URL()}), s.Client(t)
	require.NoError(t, luatest.UntilUp(t, r))
	over := make(chan struct{}) // closed when all foreign scripts have run
	var mu sync.Mutex           // guards calls and errs
	var calls int
	var errs []error
	count := func(n int, err error) {
		mu.Lock()
		defer mu.Unlock()
		calls, errs = calls+n, append(errs, err)
	}
	until := func(least int, do func()) {
		for i := 0; ; i++ {
			select {
			case <-over:
				if i >= least {
					return
				}
			default:
			}
			do()
		}
	}
	var wg sync.WaitGroup
	for range callers {
		wg.Go(func() {
			until(each, func() {
				_, err := take(luatest.Deadline(t), r, "k", 100_000_000)
				count(1, err)
			})
		})
	}
	ins := make([]ratelimit.TokenBucketIn, perBatch)
	for i := range ins {
		ins[i] = bucket("k", 100_000_000)
	}
	wg.Go(func() {
		until(10, func() {
			_, failed := lua.Batch(luatest.Deadline(t), r, ratelimit.TokenBucketScript, ins)
			count(perBatch, errors.Join(failed...))
		})
	})
	for i := range foreign {
		require.NoError(t, admin.Eval(luatest.Deadline(t), fmt.Sprintf("return %d", i), nil).Err())
		if i%20 == 0 {
			require.NoError(t, admin.ScriptFlush(luatest.Deadline(t)).Err())
		}
	}
	close(over)
	wg.Wait()
	require.NoError(t, errors.Join(errs...))
	require.GreaterOrEqual(t, calls, 10_000)
	require.EqualValues(t, calls, spent(t, r, "k", 100_000_000))
}

func TestScriptsAreLoadedAgainAfterAFlushWithoutACall(t *testing.T) {
	t.Parallel()
	s := redistest.Start(t)
	r := luatest.Open(t, lua.Options{URL: s.URL()})
	require.NoError(t, luatest.UntilUp(t, r))
	admin := s.Client(t)
	require.NoError(t, admin.ScriptFlush(luatest.Deadline(t)).Err())
	for have := []bool{false}; !have[0]; { // the probe checks for missing scripts every second
		var err error
		have, err = admin.ScriptExists(luatest.Deadline(t), lock.AcquireScript.SHA()).Result()
		require.NoError(t, err)
	}
}
