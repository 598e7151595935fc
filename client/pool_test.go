package client_test

import (
	"context"
	"errors"
	"fmt"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/coxswain-sidecar/coxswain/client"
	"github.com/coxswain-sidecar/coxswain/client/api"
)

// lending makes the fake give a member for each acquisition, and take each back.
func lending(f *fake, noun, release string) {
	f.on(noun+".acquire", func(frame) (any, any) {
		return map[string]any{
			"acquired": true, "id": "ua-1", "lease": "the lease", "meta": "m", "fence": "7", "last_used_at_ms": 1767225600000,
			"generation": 3, "probe": true, "remaining": 9,
		}, nil
	})
	f.on(release, func(frame) (any, any) { return map[string]any{"released": true, "reason": "released"}, nil })
}

func TestAMemberIsHeldUntilReleased(t *testing.T) {
	t.Parallel()
	f := newFake(t)
	lending(f, "pool", "pool.release")
	c := dial(t, f.listen(), client.Options{})
	l, err := c.PoolAcquire(t.Context(), "uas", client.PoolOptions{Scope: "example.com", Exclude: []string{"x"}, Sticky: "me"})
	require.NoError(t, err)
	require.Equal(t, map[string]any{"pool": "uas", "scope": "example.com", "exclude": []any{"x"}, "sticky": "me"}, withoutMeta(f.next("pool.acquire").params))
	require.Equal(t, []any{"ua-1", "m", uint64(7), "the lease"}, []any{l.ID(), l.Meta(), l.Fence(), l.Token()})
	require.Equal(t, int64(1767225600000), l.LastUsed().UnixMilli())
	require.NoError(t, l.Release(t.Context(), client.Outcome{Kind: api.OutcomeFail, Cooldown: time.Second}))
	require.Equal(t, map[string]any{"pool": "uas", "lease": "the lease", "outcome": "fail", "cooldown_ms": int64(1000)}, withoutMeta(f.next("pool.release").params))
	require.ErrorIs(t, context.Cause(l.Context()), client.ErrReleased)
}

// The sidecar names the lease, and may tell of its loss in the same breath.
func TestAMemberIsLostRightBehindItsGrant(t *testing.T) {
	t.Parallel()
	f := newFake(t)
	f.on("pool.acquire", func(fr frame) (any, any) {
		fr.peer.reply(fr.msgid, map[string]any{"acquired": true, "id": "a", "lease": "L", "fence": "7"}, nil)
		fr.peer.notify("pool.lost", map[string]any{"name": "p", "token": "L", "fence": "7", "reason": "expired"})
		return nil, nil
	})
	f.on("pool.release", func(frame) (any, any) { return map[string]any{"released": false, "reason": "expired"}, nil })
	c := dial(t, f.listen(), client.Options{})
	for range 50 {
		l, err := c.PoolAcquire(t.Context(), "p", client.PoolOptions{})
		require.NoError(t, err)
		<-l.Context().Done()
		require.EqualError(t, context.Cause(l.Context()), "lost: expired")
		require.ErrorIs(t, l.Release(t.Context()), client.ErrLost)
	}
}

// A grant that comes when nobody waits for it any more is given back, unused.
func TestALateMemberIsGivenBack(t *testing.T) {
	t.Parallel()
	f := newFake(t)
	f.on("permit.acquire", func(frame) (any, any) { return nil, nil })
	c := dial(t, f.listen(), client.Options{})
	ctx, cancel := context.WithCancel(t.Context())
	done := make(chan error, 1)
	go func() {
		_, err := c.PermitAcquire(ctx, "p", client.PermitOptions{})
		done <- err
	}()
	fr := f.next("permit.acquire")
	cancel()
	require.ErrorIs(t, <-done, context.Canceled)
	f.next("rpc.cancel")
	fr.peer.reply(fr.msgid, map[string]any{"acquired": true, "id": "a", "lease": "L", "fence": "7"}, nil)
	require.Equal(t, map[string]any{"pool": "p", "lease": "L", "outcome": "cancelled"}, f.next("permit.report").params)
}

func TestPoolDoAndPermitDoReportTheOutcome(t *testing.T) {
	t.Parallel()
	mine, blocked := errors.New("mine"), errors.New("blocked")
	o := client.PoolOptions{OutcomeOf: func(err error) client.Outcome {
		if errors.Is(err, blocked) {
			return client.Outcome{Kind: api.OutcomeSoftBlock, Status: 429}
		}
		return client.Outcome{}
	}}
	for noun, release := range map[string]string{"pool": "pool.release", "permit": "permit.report"} {
		t.Run(noun, func(t *testing.T) {
			f := newFake(t)
			lending(f, noun, release)
			c := dial(t, f.listen(), client.Options{})
			run := func(ctx context.Context, fn func(context.Context) error) error {
				if noun == "pool" {
					return c.PoolDo(ctx, "p", o, func(ctx context.Context, _ *client.Member) error { return fn(ctx) })
				}
				return c.PermitDo(ctx, "p", client.PermitOptions{PoolOptions: o}, func(ctx context.Context, _ *client.Permit) error { return fn(ctx) })
			}
			said := func() any { return f.next(release).params["outcome"] }
			require.NoError(t, run(t.Context(), func(context.Context) error { return nil }))
			require.Equal(t, "ok", said())
			require.Equal(t, mine, run(t.Context(), func(context.Context) error { return mine }))
			require.Equal(t, "fail", said())
			require.Equal(t, blocked, run(t.Context(), func(context.Context) error { return blocked }))
			require.Equal(t, "soft_block", said())
			require.PanicsWithValue(t, "mine", func() {
				_ = run(t.Context(), func(context.Context) error { panic("mine") })
			})
			require.Equal(t, "fail", said())
			ctx, cancel := context.WithCancel(t.Context())
			require.ErrorIs(t, run(ctx, func(ctx context.Context) error {
				cancel()
				<-ctx.Done()
				return ctx.Err()
			}), context.Canceled)
			require.Equal(t, "cancelled", said(), "the caller's own end says nothing of the member")
		})
	}
}

func TestAPoolWithoutAFreeMemberNamesTheReason(t *testing.T) {
	t.Parallel()
	f := newFake(t)
	f.on("permit.acquire", func(frame) (any, any) {
		return map[string]any{"acquired": false, "denied_by": "limit", "retry_after_ms": 1500}, nil
	})
	f.on("pool.acquire", func(frame) (any, any) {
		return map[string]any{"acquired": false, "reason": "empty", "retry_after_ms": -1}, nil
	})
	c := dial(t, f.listen(), client.Options{})
	_, err := c.PermitAcquire(t.Context(), "p", client.PermitOptions{})
	require.ErrorIs(t, err, client.ErrBusy)
	require.EqualError(t, err, "permit p: limit for up to 1.5s")
	err = c.PoolDo(t.Context(), "p", client.PoolOptions{}, func(context.Context, *client.Member) error {
		t.Error("run without a member")
		return nil
	})
	require.EqualError(t, err, "pool p: empty")
}

// What a server asks for in a header, and what only permits can be told, keeps no
// member from going back.
func TestAnOutcomeIsCutToTheBoundsOfTheContract(t *testing.T) {
	t.Parallel()
	much := client.Outcome{Kind: api.OutcomeFail, Status: 42, RetryAfter: 1000 * 24 * time.Hour, Took: 1000 * time.Hour, Cooldown: 1000 * time.Hour}
	for noun, want := range map[string]map[string]any{
		"pool":   {"pool": "p", "lease": "the lease", "outcome": "fail", "cooldown_ms": uint64(604_800_000)},
		"permit": {"pool": "p", "lease": "the lease", "outcome": "fail", "cooldown_ms": uint64(604_800_000), "retry_after_ms": uint64(31_622_400_000), "duration_ms": uint64(86_400_000)},
	} {
		f := newFake(t)
		release := map[string]string{"pool": "pool.release", "permit": "permit.report"}[noun]
		lending(f, noun, release)
		c := dial(t, f.listen(), client.Options{})
		if noun == "pool" {
			l, err := c.PoolAcquire(t.Context(), "p", client.PoolOptions{})
			require.NoError(t, err)
			require.NoError(t, l.Release(t.Context(), much))
		} else {
			p, err := c.PermitAcquire(t.Context(), "p", client.PermitOptions{})
			require.NoError(t, err)
			require.NoError(t, p.Release(t.Context(), much))
		}
		said := f.next(release).params
		delete(said, "_deadline_ms")
		require.Equal(t, fmt.Sprint(want), fmt.Sprint(said), noun)
	}
}
