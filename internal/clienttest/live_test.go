package clienttest_test

import (
	"context"
	"strconv"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/coxswain-sidecar/coxswain/client"
	"github.com/coxswain-sidecar/coxswain/client/api"
	"github.com/coxswain-sidecar/coxswain/internal/lua"
	"github.com/coxswain-sidecar/coxswain/internal/luatest"
	"github.com/coxswain-sidecar/coxswain/internal/redistest"
)

func inline(key string, limit int64) api.RatelimitParams {
	return api.RatelimitParams{Algorithm: api.AlgorithmTokenBucket, Key: key, Limits: []api.Band{{Limit: limit, PeriodMS: 86_400_000}}}
}

// If a reply is lost with its connection after the call was carried out, the
// repeated call gets that reply, and the call is counted once.
func TestALostReplyIsCountedOnce(t *testing.T) {
	t.Parallel()
	cut := newCutter(t, live(t))
	c := dial(t, cut.socket, client.Options{})
	for i := range int64(5) {
		cut.next.Store(true)
		r, err := c.RatelimitAcquire(t.Context(), inline("k", 100))
		require.NoError(t, err)
		require.True(t, r.Allowed)
		require.True(t, r.Replayed)
		require.Equal(t, 99-i, r.Remaining)
	}
	require.Equal(t, int32(5), cut.cuts.Load())
}

// The same for a lock: it is held once, whether the old session ends before or
// after the repeated call.
func TestALostGrantIsStillOneGrant(t *testing.T) {
	t.Parallel()
	socket := live(t)
	cut := newCutter(t, socket)
	c := dial(t, cut.socket, client.Options{Client: "cut"})
	other := dial(t, socket, client.Options{})
	last := uint64(0)
	for range 5 {
		cut.next.Store(true)
		lk, err := c.LockAcquire(t.Context(), "l", client.LockOptions{})
		require.NoError(t, err)
		require.Greater(t, lk.Fence(), last)
		last = lk.Fence()
		var busy *client.BusyError
		_, err = other.LockAcquire(t.Context(), "l", client.LockOptions{})
		require.ErrorAs(t, err, &busy)
		require.Equal(t, "cut", busy.HeldBy.Client)
		require.NoError(t, lk.Context().Err())
		require.NoError(t, lk.Release(t.Context()))
	}
}

// The lock of a client that dies is released at once, not at its TTL, which is a day.
func TestAClientThatDiesFreesItsLock(t *testing.T) {
	t.Parallel()
	socket := live(t)
	cut := newCutter(t, socket)
	dying, err := client.Dial(t.Context(), client.Options{Socket: cut.socket})
	require.NoError(t, err)
	lk, err := dying.LockAcquire(t.Context(), "l", client.LockOptions{TTL: 24 * time.Hour})
	require.NoError(t, err)
	cut.kill()
	heir := dial(t, socket, client.Options{})
	ctx, cancel := context.WithTimeout(t.Context(), patience)
	defer cancel()
	for {
		got, err := heir.LockAcquire(ctx, "l", client.LockOptions{})
		if err == nil {
			require.Greater(t, got.Fence(), lk.Fence())
			require.NoError(t, got.Release(t.Context()))
			break
		}
		require.ErrorIs(t, err, client.ErrBusy)
	}
	<-lk.Context().Done()
	require.ErrorIs(t, context.Cause(lk.Context()), client.ErrLost)
	require.NoError(t, dying.Close())
}

// If two pods use one request id for different calls, neither gets the other's result.
func TestOneRequestIDForTwoCallsIsAConflict(t *testing.T) {
	t.Parallel()
	socket := live(t)
	a, b := dial(t, socket, client.Options{}), dial(t, socket, client.Options{})
	ctx := client.WithRequestID(t.Context(), "id")
	_, err := a.RatelimitAcquire(ctx, inline("k", 10))
	require.NoError(t, err)
	p := inline("k", 10)
	p.Cost = 2
	_, err = b.RatelimitAcquire(ctx, p)
	require.ErrorIs(t, err, api.Conflict)
	r, err := b.RatelimitAcquire(ctx, inline("k", 10))
	require.NoError(t, err)
	require.True(t, r.Replayed)
	r, err = b.RatelimitPeek(t.Context(), inline("k", 10))
	require.NoError(t, err)
	require.Equal(t, int64(9), r.Remaining, "counted once")
}

// If the clock of Redis jumps beyond a lock's TTL, the client loses the lock at the next renewal.
func TestALockWhoseKeyWasDeletedIsLost(t *testing.T) {
	t.Parallel()
	now := atomic.Int64{}
	now.Store(time.Now().UnixMicro())
	socket := serve(t, luatest.Open(t, lua.Options{URL: redistest.URL(t), Clock: now.Load}), redistest.Prefix(t))
	c := dial(t, socket, client.Options{})
	lk, err := c.LockAcquire(t.Context(), "l", client.LockOptions{TTL: 3 * time.Second})
	require.NoError(t, err)
	now.Add(time.Hour.Microseconds())
	<-lk.Context().Done()
	require.EqualError(t, context.Cause(lk.Context()), "lost: expired")
	require.ErrorIs(t, lk.Release(t.Context()), client.ErrLost)
}

func TestManyCallersShareALimitExactly(t *testing.T) {
	t.Parallel()
	socket := live(t)
	c := dial(t, socket, client.Options{Connections: 2})
	var allowed atomic.Int64
	var wg sync.WaitGroup
	for range 200 {
		wg.Go(func() {
			r, err := c.RatelimitAcquire(context.Background(), inline("k", 70))
			if err != nil {
				t.Error(err)
			} else if r.Allowed {
				allowed.Add(1)
			}
		})
	}
	wg.Wait()
	require.Equal(t, int64(70), allowed.Load())
}

// A hundred locks at once, each of a goroutine of its own, on one connection.
func TestLocksOfManyGoroutines(t *testing.T) {
	t.Parallel()
	c := dial(t, live(t), client.Options{})
	var wg sync.WaitGroup
	for i := range 100 {
		wg.Go(func() {
			for range 5 {
				lk, err := c.LockAcquire(context.Background(), strconv.Itoa(i), client.LockOptions{})
				if err != nil {
					t.Error(err)
					return
				}
				if err := lk.Release(context.Background()); err != nil {
					t.Error(err)
				}
			}
		})
	}
	wg.Wait()
}
