package client_test

import (
	"context"
	"errors"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/coxswain-sidecar/coxswain/client"
	"github.com/coxswain-sidecar/coxswain/client/api"
)

func TestLockDoGivesBackHoweverItEnds(t *testing.T) {
	t.Parallel()
	f := newFake(t)
	granting(f)
	c := dial(t, f.listen(), client.Options{})
	released := func() {
		token := f.next("lock.acquire").params["token"]
		require.Equal(t, token, f.next("lock.release").params["token"])
	}
	type key struct{}
	ctx := context.WithValue(t.Context(), key{}, "v")
	var inside context.Context
	require.NoError(t, c.LockDo(ctx, "l", client.LockOptions{}, func(ctx context.Context, _ *client.Lock) error {
		inside = ctx
		require.Equal(t, "v", ctx.Value(key{}))
		return ctx.Err()
	}))
	require.ErrorIs(t, context.Cause(inside), client.ErrReleased)
	released()

	mine := errors.New("mine")
	require.Equal(t, mine, c.LockDo(ctx, "l", client.LockOptions{}, func(context.Context, *client.Lock) error { return mine }))
	released()

	require.PanicsWithValue(t, "mine", func() {
		_ = c.LockDo(ctx, "l", client.LockOptions{}, func(context.Context, *client.Lock) error { panic("mine") })
	})
	released()

	ending, cancel := context.WithCancel(t.Context())
	require.ErrorIs(t, c.LockDo(ending, "l", client.LockOptions{}, func(ctx context.Context, _ *client.Lock) error {
		cancel()
		<-ctx.Done()
		return ctx.Err()
	}), context.Canceled)
	released()
}

func TestLockDoReportsALoss(t *testing.T) {
	t.Parallel()
	f := newFake(t)
	granting(f)
	c := dial(t, f.listen(), client.Options{})
	mine := errors.New("mine")
	err := c.LockDo(t.Context(), "l", client.LockOptions{}, func(ctx context.Context, _ *client.Lock) error {
		fr := f.next("lock.acquire")
		fr.peer.notify("lock.lost", map[string]any{"name": "l", "token": fr.params["token"], "fence": "1", "reason": "max_hold"})
		<-ctx.Done()
		require.ErrorIs(t, context.Cause(ctx), client.ErrLost)
		return mine
	})
	require.ErrorIs(t, err, mine)
	require.ErrorIs(t, err, client.ErrLost)
	require.ErrorContains(t, err, "max_hold")
}

func TestLockDoDoesNotRunWithoutTheLock(t *testing.T) {
	t.Parallel()
	f := newFake(t)
	f.on("lock.acquire", func(frame) (any, any) {
		return map[string]any{"acquired": false, "retry_after_ms": 1500, "reason": "busy"}, nil
	})
	c := dial(t, f.listen(), client.Options{})
	err := c.LockDo(t.Context(), "l", client.LockOptions{}, func(context.Context, *client.Lock) error {
		t.Error("run without the lock")
		return nil
	})
	require.ErrorIs(t, err, client.ErrBusy)
	require.EqualError(t, err, "lock l: busy for up to 1.5s")
}

// A release that fails is no failure of what was done under the lock.
func TestLockDoIsDoneWhenTheReleaseFails(t *testing.T) {
	t.Parallel()
	f := newFake(t)
	granting(f)
	f.on("lock.release", func(frame) (any, any) { return nil, []any{0, "UNAVAILABLE: no redis"} })
	c := dial(t, f.listen(), client.Options{})
	require.NoError(t, c.LockDo(t.Context(), "l", client.LockOptions{}, func(context.Context, *client.Lock) error { return nil }))
}

// Renewals of what is bound to its TTL do not pass max_hold_ms, by the client's count too.
func TestALockIsHeldNoLongerThanItMay(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		f := newFake(t)
		granting(f)
		f.on("lock.renew", func(frame) (any, any) { return map[string]any{"renewed": true, "reason": "renewed", "ttl_ms": 1}, nil })
		c := bubble(t, f, client.Options{})
		defer f.wg.Wait()
		defer c.Close()
		lk, err := c.LockAcquire(t.Context(), "l", client.LockOptions{
			TTL: 10 * time.Second, Bind: api.BindTTL, MaxHold: 20 * time.Second, Meta: "job 7",
		})
		require.NoError(t, err)
		p := f.next("lock.acquire").params
		require.Equal(t, []any{int64(20000), "job 7"}, []any{p["max_hold_ms"], p["meta"]})
		for range 3 {
			time.Sleep(6 * time.Second) // the bubble's clock
			require.NoError(t, lk.Renew(t.Context()))
		}
		require.NoError(t, lk.Context().Err())
		time.Sleep(2 * time.Second)
		synctest.Wait()
		require.EqualError(t, context.Cause(lk.Context()), "lost: max_hold")
	})
}
