package clienttest_test

import (
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/coxswain-sidecar/coxswain/client"
	"github.com/coxswain-sidecar/coxswain/client/api"
)

// The suites call methods by their names. These tests check that each typed call of the
// client calls its method, with the params that it was given.

func TestTypedCallsAboutAKeyAreTheirMethods(t *testing.T) {
	t.Parallel()
	c, ctx, key := dial(t, live(t), client.Options{}), t.Context(), inline("k", 2)
	first, err := c.RatelimitAcquire(ctx, key)
	require.NoError(t, err)
	back, err := c.RatelimitRefund(ctx, first.Grant)
	require.NoError(t, err)
	require.True(t, back.Refunded)

	paused, err := c.RatelimitPause(ctx, api.RatelimitPauseParams{Key: "k", ForMS: 3_600_000})
	require.NoError(t, err)
	require.WithinDuration(t, time.Now().Add(time.Hour), paused, 10*time.Minute)
	for _, want := range []bool{true, false} {
		was, err := c.RatelimitResume(ctx, api.RatelimitResumeParams{Key: "k"})
		require.NoError(t, err)
		require.Equal(t, want, was)
	}
	delay, err := c.RatelimitSetDelay(ctx, api.RatelimitSetDelayParams{Key: "k", DelayMS: 1})
	require.NoError(t, err)
	require.Equal(t, int64(1), delay.DelayMS)
	for _, want := range []bool{true, false} {
		was, err := c.RatelimitReset(ctx, api.RatelimitResetParams{Algorithm: key.Algorithm, Limits: key.Limits, Key: "k"})
		require.NoError(t, err)
		require.Equal(t, want, was)
	}
}

func TestTypedCallsAboutRulesAreTheirMethods(t *testing.T) {
	t.Parallel()
	c, ctx := dial(t, live(t), client.Options{}), t.Context()
	put, err := c.RatelimitPutRule(ctx, api.Rule{Name: "r", Algorithm: api.AlgorithmTokenBucket, Limits: inline("", 2).Limits})
	require.NoError(t, err)
	require.Positive(t, put.Revision)
	_, err = c.RatelimitAcquire(ctx, api.RatelimitParams{Rule: "r", Key: "k"})
	require.NoError(t, err)
	rules, err := c.RatelimitRules(ctx)
	require.NoError(t, err)
	require.Len(t, rules.Rules, 1)
	why, err := c.RatelimitExplain(ctx, api.RatelimitExplainParams{Rule: "r", Key: "k"})
	require.NoError(t, err)
	require.Equal(t, []any{"r", int64(1)}, []any{why.Rule, why.Bands[0].Remaining})
	stats, err := c.RatelimitStats(ctx)
	require.NoError(t, err)
	require.Equal(t, []api.RuleStats{{Rule: "r", Allowed: 1}}, stats.Rules)
	for _, want := range []bool{true, false} {
		was, err := c.RatelimitDeleteRule(ctx, "r")
		require.NoError(t, err)
		require.Equal(t, want, was)
	}
}

func TestTypedCallsThatLookAreTheirMethods(t *testing.T) {
	t.Parallel()
	c, ctx := dial(t, live(t), client.Options{}), t.Context()
	lk, err := c.LockAcquire(ctx, "l", client.LockOptions{TTL: time.Hour})
	require.NoError(t, err)
	list, err := c.LockList(ctx, api.LockListParams{Count: 1000})
	require.NoError(t, err)
	require.Len(t, list.Locks, 1)
	require.NoError(t, lk.Release(ctx))
	permit, err := c.SemaphoreAcquire(ctx, "s", client.SemaphoreOptions{Limit: 3})
	require.NoError(t, err)
	got, err := c.SemaphoreGet(ctx, "s")
	require.NoError(t, err)
	require.Equal(t, int64(1), got.Held)
	require.NoError(t, permit.Release(ctx))
}

func TestTypedCallsAboutAPoolAreTheirMethods(t *testing.T) {
	t.Parallel()
	c, ctx := dial(t, live(t), client.Options{}), t.Context()
	put, err := c.PoolPut(ctx, api.PoolPutParams{Pool: "p", Members: []api.PoolMember{{ID: "x"}, {ID: "y"}}})
	require.NoError(t, err)
	require.Equal(t, int64(2), put.Added)
	banned, err := c.PoolBan(ctx, api.PoolBanParams{Pool: "p", ID: "x"})
	require.NoError(t, err)
	require.True(t, banned)
	list, err := c.PoolList(ctx, api.PoolListParams{Pool: "p"})
	require.NoError(t, err)
	require.Equal(t, []string{"banned", "free"}, []string{list.Members[0].State, list.Members[1].State})
	stats, err := c.PoolStats(ctx, api.PoolStatsParams{Pool: "p"})
	require.NoError(t, err)
	require.Equal(t, api.PoolStatsResult{Total: 2, Banned: 1, Free: 1}, stats)
	for _, want := range []bool{true, false} {
		unban, err := c.PoolUnban(ctx, "p", "x")
		require.NoError(t, err)
		require.Equal(t, want, unban)
	}
	removed, err := c.PoolRemove(ctx, api.PoolRemoveParams{Pool: "p", IDs: []string{"x"}})
	require.NoError(t, err)
	require.Equal(t, api.PoolRemoveResult{Removed: 1, Total: 1}, removed)
}
