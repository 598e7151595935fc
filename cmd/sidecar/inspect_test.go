package main_test

import (
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/coxswain-sidecar/coxswain/client"
	"github.com/coxswain-sidecar/coxswain/client/api"
	main "github.com/coxswain-sidecar/coxswain/cmd/sidecar"
	"github.com/coxswain-sidecar/coxswain/internal/redistest"
)

// One call shows an operator what the sidecar is, holds and met, and no secret.
func TestASnapshotShowsTheSidecarAndNoSecret(t *testing.T) {
	t.Parallel()
	redis := redistest.Start(t, "--requirepass", "hunter2")
	s := serve(t, socketIn(t), []string{noGrace, "COXSWAIN_REDIS_URL=" + strings.Replace(redis.URL(), "://", "://:hunter2@", 1)})
	wait(t, s.socket)
	c := dial(t, s.socket, "holder")
	lock, err := c.LockAcquire(t.Context(), "orders", client.LockOptions{TTL: time.Minute})
	require.NoError(t, err)

	_, err = c.StreamFetch(t.Context(), api.StreamFetchParams{Stream: "mails", Group: "billing"})
	require.NoError(t, err)
	require.NoError(t, c.CallRaw(t.Context(), "pubsub.subscribe", map[string]any{"channels": []string{"news"}}, nil))

	a := cli(t, "call", "--socket", s.socket, "-o", "json", "inspect.snapshot")
	require.Equal(t, main.OK, a.code, a.err)
	require.NotContains(t, a.out, "hunter2")
	require.NotContains(t, a.out, lock.Token())
	for _, want := range []string{`"orders"`, `"holder"`, `"up":true`, `"topology":"standalone"`, "prefix: coxswain", `"draining":false`, `"group":"billing"`, `"channel":"news"`} {
		require.Contains(t, a.out, want)
	}
}

// What the sidecar did since it started, and what is wrong with it, comes with one call.
func TestASnapshotCountsCallsScriptsAndRefusals(t *testing.T) {
	t.Parallel()
	s := ready(t)
	c := dial(t, s.socket, "crawler")
	limit := api.RatelimitParams{Key: "example.com", Algorithm: "sliding_window_log", Limits: []api.Band{{Limit: 1, PeriodMS: 60_000}}}
	for range 3 {
		_, err := c.RatelimitAcquire(t.Context(), limit)
		require.NoError(t, err)
	}
	_, err := c.LockGet(t.Context(), "")
	require.ErrorContains(t, err, "INVALID_ARGUMENT")
	var r api.InspectResult
	require.Eventually(t, func() bool { // a call is counted a moment after its answer
		r, err = c.InspectSnapshot(t.Context())
		return err == nil && slices.ContainsFunc(r.Calls, func(x api.InspectTimes) bool { return x.Name == "ratelimit.acquire" && x.Count == 3 })
	}, time.Minute, time.Millisecond)

	of := func(all []api.InspectTimes, name string) api.InspectTimes {
		i := slices.IndexFunc(all, func(x api.InspectTimes) bool { return x.Name == name })
		require.GreaterOrEqual(t, i, 0, "%s is not in %+v", name, all)
		return all[i]
	}
	acquired := of(r.Calls, "ratelimit.acquire")
	require.Equal(t, []int64{3, 0}, []int64{acquired.Count, acquired.Errors})
	require.Positive(t, acquired.P50US)
	require.GreaterOrEqual(t, acquired.P99US, acquired.P50US)
	require.Positive(t, acquired.SumUS)
	require.EqualValues(t, 1, of(r.Calls, "lock.get").Errors)
	require.Positive(t, of(r.Scripts, "ratelimit_sliding_window_log").Count)
	require.Equal(t, []api.RuleStats{{Rule: "inline", Allowed: 1, Refused: 2}}, r.Decisions)
	require.Equal(t, []api.InspectRefused{{Rule: "inline", Key: "example.com", Refused: 2, Reason: "limit"}}, r.Refusals.Keys)
	require.GreaterOrEqual(t, r.Refusals.SinceAtMS, r.StartedAtMS-time.Minute.Milliseconds())
	require.NotEmpty(t, r.Redis.History)
	require.True(t, r.Redis.History[0].Up)
}
