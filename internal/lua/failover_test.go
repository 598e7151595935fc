package lua_test

import (
	"errors"
	"fmt"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/coxswain-sidecar/coxswain/internal/coord/lease"
	"github.com/coxswain-sidecar/coxswain/internal/coord/lock"
	"github.com/coxswain-sidecar/coxswain/internal/lua"
	"github.com/coxswain-sidecar/coxswain/internal/luatest"
	"github.com/coxswain-sidecar/coxswain/internal/redis"
	"github.com/coxswain-sidecar/coxswain/internal/redistest"
)

// load is a set of workers. Each takes and returns a lock of its own, and charges a bucket of its own, without stored
// replies.
type load struct {
	r        *lua.Runner
	keys     []string
	rounds   []atomic.Int64 // complete ones, by worker
	answered []atomic.Int64 // charges, by worker
	maybe    []atomic.Int64
	stop     chan struct{}
	wg       sync.WaitGroup
	failed   chan string
}

func startLoad(t *testing.T, r *lua.Runner, keys []string) *load {
	l := &load{
		r: r, keys: keys, rounds: make([]atomic.Int64, len(keys)), answered: make([]atomic.Int64, len(keys)),
		maybe: make([]atomic.Int64, len(keys)), stop: make(chan struct{}), failed: make(chan string, 1000),
	}
	for i := range keys {
		l.wg.Go(func() { l.work(t, i) })
	}
	t.Cleanup(l.end)
	return l
}

func (l *load) end() {
	select {
	case <-l.stop:
	default:
		close(l.stop)
	}
	l.wg.Wait()
}

func (l *load) work(t *testing.T, worker int) {
	ctx := t.Context()
	var last int64
	// The load is low, so that the servers have enough processor time to elect a master.
	tick := time.NewTicker(2 * time.Millisecond)
	defer tick.Stop()
	for round := 0; ; round++ {
		select {
		case <-l.stop:
			return
		case <-tick.C:
		}
		name, token := l.keys[worker]+":lock", fmt.Sprintf("t%d", round)
		got, err := lua.Run(ctx, l.r, lock.AcquireScript, lock.AcquireIn{Lock: name, LineKeys: lease.LineKeysOf(name), Token: token, TTLMS: 100}, lua.StoredReply{})
		if err == nil && got.Value.Acquired {
			if got.Value.Fence <= last {
				l.failed <- fmt.Sprintf("%s: fence %d after %d", name, got.Value.Fence, last)
			}
			last = got.Value.Fence
			_, _ = lua.Run(ctx, l.r, lock.ReleaseScript, lock.ReleaseIn{Lock: name, LineKeys: lease.LineKeysOf(name), Token: token}, lua.StoredReply{})
		}
		_, charged := take(ctx, l.r, l.keys[worker]+":bucket", 1_000_000_000)
		switch {
		case charged == nil:
			l.answered[worker].Add(1)
		case errors.Is(charged, redis.ErrMaybeExecuted):
			l.maybe[worker].Add(1)
		case !errors.Is(charged, redis.ErrUnavailable):
			l.failed <- charged.Error()
		}
		if err == nil && charged == nil {
			l.rounds[worker].Add(1)
		}
	}
}

// recovers waits until every worker has completed some more rounds.
func (l *load) recovers(t *testing.T) {
	t.Helper()
	patience := time.After(60 * time.Second)
	tick := time.NewTicker(5 * time.Millisecond)
	defer tick.Stop()
	for i := range l.rounds {
		for goal := l.rounds[i].Load() + 5; l.rounds[i].Load() < goal; {
			require.Empty(t, l.failed)
			select {
			case <-tick.C:
			case <-patience:
				t.Fatalf("worker %d does not go on: %+v", i, l.r.Status())
			}
		}
	}
}

// verify ends the load. It requires that each bucket has no more charges than were answered or may have been executed,
// and, if lossless, all that were answered.
func (l *load) verify(t *testing.T, lossless bool) {
	t.Helper()
	l.end()
	require.Empty(t, l.failed)
	for i, k := range l.keys {
		n := spent(t, l.r, k+":bucket", 1_000_000_000)
		require.LessOrEqual(t, n, l.answered[i].Load()+l.maybe[i].Load())
		if lossless {
			require.GreaterOrEqual(t, n, l.answered[i].Load())
		}
	}
}

func TestTopologyClusterFailoverUnderLoad(t *testing.T) {
	c := redistest.StartCluster(t)
	r := luatest.Open(t, lua.Options{URL: c.URL()})
	require.NoError(t, luatest.UntilUp(t, r))
	keys := spanning(t, 6)
	l := startLoad(t, r, keys)
	h, _ := luatest.Listen(t, r, "heard")
	luatest.Next(t, h.Subscribed)
	l.recovers(t)
	c.Failover(keys[0])
	l.recovers(t)
	c.Failover(keys[0])
	l.recovers(t)
	l.verify(t, true)

	other := keys[0]
	for i := 0; c.Master(other) == c.Master(keys[0]); i++ {
		other = fmt.Sprintf("{other%d}", i)
	}
	l = startLoad(t, r, append(spanning(t, 5), keys[0]+"again"))
	restart := c.KillMaster(keys[0])
	// Only the shard of the dead master is gone.
	_, err := take(luatest.Deadline(t), r, other, 5)
	require.NoError(t, err)
	l.recovers(t)
	restart()
	l.recovers(t)
	l.verify(t, false)
	for len(h.Messages) == 0 { // the subscription has moved to another node if its node was killed
		require.NoError(t, c.Client(t).Publish(luatest.Deadline(t), "heard", "x").Err())
	}
}

func TestTopologySentinelFailoverUnderLoad(t *testing.T) {
	s := redistest.StartSentinel(t)
	r := luatest.Open(t, lua.Options{URL: s.URL()})
	require.NoError(t, luatest.UntilUp(t, r))
	keys := spanning(t, 4)
	l := startLoad(t, r, keys)
	h, _ := luatest.Listen(t, r, "heard")
	luatest.Next(t, h.Subscribed)
	l.recovers(t)
	s.Failover()
	// The old master answers until it becomes a replica. The kill below must hit the new one, so the subscription and
	// the load must have moved to it before.
	luatest.Next(t, h.Subscribed)
	l.recovers(t)
	restart := s.KillMaster()
	l.recovers(t)
	restart()
	l.recovers(t)
	l.verify(t, false)
	luatest.Next(t, h.Subscribed) // with the new master
}
