package main_test

import (
	"context"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/coxswain-sidecar/coxswain/client"
	"github.com/coxswain-sidecar/coxswain/client/api"
	"github.com/coxswain-sidecar/coxswain/internal/redistest"
)

// used is a sidecar whose every primitive is used, well and badly, on a Redis of
// its own that forgets and goes away.
type used struct {
	observed
	sidecar *sidecar
	redis   *redistest.Server
	config  string // its file
}

const usedRules = `
rules:
  items:
    - {name: site, algorithm: token_bucket, limits: [{limit: 2, period_ms: 3600000}], penalty: {codes: [429]}}
    - {name: slow, algorithm: token_bucket, limits: [{limit: 1, period_ms: 200}]}
    - {name: busy, algorithm: token_bucket, limits: [{limit: 100000, period_ms: 3600000}], mode: leased}
    - {name: shut, algorithm: token_bucket, limits: [{limit: 2, period_ms: 3600000}], fail_mode: closed}
`

func useEverything(t *testing.T) *used {
	t.Helper()
	u := &used{redis: redistest.Start(t), config: filepath.Join(t.TempDir(), "sidecar.yaml")}
	put(t, u.config, usedRules)
	u.sidecar = serve(t, socketIn(t), []string{noGrace, "COXSWAIN_CONFIG=" + u.config}, "--redis", u.redis.URL())
	u.socket = u.sidecar.socket
	wait(t, u.socket)
	u.http = u.sidecar.httpAddr(t)
	u.Client = dial(t, u.socket, "monitoring")

	u.useAll(t)
	u.limits(t)
	u.locks(t)
	u.pools(t)
	u.breakers(t)
	u.queues(t)
	u.streams(t)
	u.channels(t)
	u.reloads(t)
	u.outage(t)
	u.overflow(t)
	return u
}

func (u *used) take(t *testing.T, rule string) api.RatelimitResult {
	t.Helper()
	r, err := u.RatelimitAcquire(t.Context(), api.RatelimitParams{Rule: rule, Key: "k", WaitMS: 10_000})
	require.NoError(t, err)
	return r
}

func (u *used) limits(t *testing.T) {
	t.Helper()
	require.True(t, u.take(t, "slow").Allowed)
	require.True(t, u.take(t, "slow").Allowed, "after a while")
	_, err := u.RatelimitPause(t.Context(), api.RatelimitPauseParams{Rule: "site", Key: "k", ForMS: 60_000})
	require.NoError(t, err)
	require.Equal(t, "pause", u.take(t, "site").DeniedBy)
	_, err = u.RatelimitReport(t.Context(), api.RatelimitReportParams{Rule: "site", Key: "l", Status: 429, LatencyMS: 5})
	require.NoError(t, err)
	for from := ""; from != "lease"; { // once it is busy
		r, err := u.RatelimitAcquire(t.Context(), api.RatelimitParams{Rule: "busy", Key: "k"})
		require.NoError(t, err)
		from = r.Source
	}
}

func (u *used) locks(t *testing.T) {
	t.Helper()
	ctx := t.Context()
	lock, err := u.LockAcquire(ctx, "held", client.LockOptions{})
	require.NoError(t, err)
	_, err = u.LockAcquire(ctx, "held", client.LockOptions{Wait: time.Millisecond})
	require.ErrorIs(t, err, client.ErrBusy)
	_, err = u.LockForceRelease(ctx, lock.Name(), "")
	require.NoError(t, err)
	select {
	case <-lock.Context().Done():
	case <-time.After(limit):
		t.Fatal("a lock that was taken by hand is not lost")
	}
	_, err = u.SemaphoreAcquire(ctx, "held", client.SemaphoreOptions{Limit: 2})
	require.NoError(t, err)
	seen, state, err := u.SeenReserve(ctx, "urls", "a", client.SeenOptions{})
	require.NoError(t, err)
	require.NotNil(t, seen, state)
	require.NoError(t, seen.Commit(ctx))
}

func (u *used) pools(t *testing.T) {
	t.Helper()
	ctx := t.Context()
	_, err := u.PoolAcquire(ctx, "accounts", client.PoolOptions{})
	require.ErrorIs(t, err, client.ErrBusy, "it is empty")
	_, err = u.PoolPut(ctx, api.PoolPutParams{Pool: "accounts", Members: []api.PoolMember{{ID: "a"}}})
	require.NoError(t, err)
	permit, err := u.PermitAcquire(ctx, "accounts", client.PermitOptions{Rule: "site", Breaker: "default"})
	require.NoError(t, err)
	require.NoError(t, permit.Release(ctx))
	member, err := u.PoolAcquire(ctx, "accounts", client.PoolOptions{})
	require.NoError(t, err)
	require.NoError(t, member.Release(ctx, client.Outcome{Kind: api.OutcomeBan}))
	_, err = u.PoolAcquire(ctx, "accounts", client.PoolOptions{})
	require.ErrorIs(t, err, client.ErrBusy, "it is banned")
}

func (u *used) breakers(t *testing.T) {
	t.Helper()
	ctx := t.Context()
	_, err := u.BreakerForce(ctx, api.BreakerForceParams{Name: "host", State: api.BreakerOpen})
	require.NoError(t, err)
	_, err = u.BreakerAllow(ctx, api.BreakerAllowParams{Name: "host"})
	require.NoError(t, err)
	for range 3 {
		a, err := u.BreakerAllow(ctx, api.BreakerAllowParams{Name: "other"})
		require.NoError(t, err)
		_, err = u.BreakerReport(ctx, api.BreakerReportParams{Name: "other", Outcome: api.OutcomeFailure, Generation: a.Generation})
		require.NoError(t, err)
	}
	a, err := u.BreakerAllow(ctx, api.BreakerAllowParams{Name: "other"})
	require.NoError(t, err)
	require.Equal(t, api.BreakerOpen, a.State)
}

func (u *used) queues(t *testing.T) {
	t.Helper()
	ctx := t.Context()
	_, err := u.QueueEnqueue(ctx, "mails", "a", client.EntryOptions{})
	require.NoError(t, err)
	e, err := u.QueueDequeue(ctx, "mails", client.QueueOptions{})
	require.NoError(t, err)
	require.NoError(t, e.Ack(ctx))
	_, err = u.QueueDequeue(ctx, "mails", client.QueueOptions{Wait: time.Millisecond})
	require.ErrorIs(t, err, client.ErrBusy)
}

func (u *used) streams(t *testing.T) {
	t.Helper()
	ctx := t.Context()
	_, err := u.StreamPublish(ctx, api.StreamPublishParams{Stream: "orders", Body: []byte("a")})
	require.NoError(t, err)
	messages, err := u.StreamFetch(ctx, api.StreamFetchParams{Stream: "orders", Group: "billing"})
	require.NoError(t, err)
	require.Len(t, messages, 1)
	acked, err := u.StreamAck(ctx, api.StreamMessageParams{Stream: "orders", Group: "billing", ID: messages[0].ID})
	require.NoError(t, err)
	require.True(t, acked)
	for _, nack := range []api.StreamNackParams{{}, {Dead: true, Reason: "no order"}} { // it comes again; it is a dead letter
		_, err := u.StreamPublish(ctx, api.StreamPublishParams{Stream: "orders", Body: []byte("b")})
		require.NoError(t, err)
		messages, err := u.StreamFetch(ctx, api.StreamFetchParams{Stream: "orders", Group: "billing", WaitMS: 10_000})
		require.NoError(t, err)
		require.Len(t, messages, 1)
		nack.Stream, nack.Group, nack.ID = "orders", "billing", messages[0].ID
		_, err = u.StreamNack(ctx, nack)
		require.NoError(t, err)
	}
}

// channels leaves a subscription, which is told of a gap after the outage.
func (u *used) channels(t *testing.T) {
	t.Helper()
	ctx, cancel := context.WithCancel(t.Context())
	came, subscribed, ended := make(chan struct{}), make(chan struct{}), make(chan struct{})
	go func() {
		defer close(ended)
		_ = u.PubsubSubscribe(ctx, client.PubsubOptions{ // it ends with its context
			Channels: []string{"news"}, OnSubscribed: sync.OnceFunc(func() { close(subscribed) }),
		}, func(context.Context, api.PubsubMessage) error { close(came); return nil })
	}()
	t.Cleanup(func() { cancel(); <-ended })
	for _, next := range []chan struct{}{subscribed, came} {
		select {
		case <-next:
		case <-time.After(limit):
			t.Fatal("no message of a channel comes")
		}
		if next == subscribed {
			_, err := u.PubsubPublish(ctx, "news", []byte("a"))
			require.NoError(t, err)
		}
	}
}

func (u *used) reloads(t *testing.T) {
	t.Helper()
	put(t, u.config, "rules: 5\n")
	u.sidecar.shows(t, "/metrics", "\ncoxswain_config_reload_ok 0\n")
	put(t, u.config, usedRules)
	u.sidecar.shows(t, "/metrics", "\ncoxswain_config_reload_ok 1\n")
}

func (u *used) outage(t *testing.T) {
	t.Helper()
	admin := u.redis.Client(t)
	for retried := false; !retried; { // a probe may load the scripts before the call meets a server without them
		require.NoError(t, admin.ScriptFlush(t.Context()).Err())
		_, err := u.LockGet(t.Context(), "held")
		require.NoError(t, err)
		_, families := u.scrape(t)
		retried = families["coxswain_script_retries_total"] != nil
	}

	u.redis.Stop()
	u.sidecar.shows(t, "/metrics", "\ncoxswain_redis_up 0\n")
	require.True(t, u.take(t, "slow").Degraded)
	_, err := u.RatelimitAcquire(t.Context(), api.RatelimitParams{Rule: "shut", Key: "k"})
	require.ErrorIs(t, err, api.Unavailable)
	u.redis.Restart()
	u.sidecar.shows(t, "/metrics", "\ncoxswain_redis_up 1\n")
	wait(t, u.socket)
	// What is held now is there for the scrape.
	_, err = u.LockAcquire(t.Context(), "held again", client.LockOptions{})
	require.NoError(t, err)
}

// overflow uses more rules than metrics keep apart.
func (u *used) overflow(t *testing.T) {
	t.Helper()
	const rules = 2001
	var file strings.Builder
	file.WriteString(usedRules)
	for i := range rules {
		fmt.Fprintf(&file, "    - {name: r%d, algorithm: token_bucket, limits: [{limit: 1, period_ms: 1000}]}\n", i)
	}
	require.NoError(t, os.WriteFile(u.config, []byte(file.String()), 0o600))
	u.sidecar.knows(t, fmt.Sprint("r", rules-1), true)
	ctx, cancel := context.WithTimeout(t.Context(), 2*limit) // a machine may be slow, and a call's own deadline is 5 s
	defer cancel()
	for at := 0; at < rules; at += api.MaxItems {
		var p api.RatelimitManyParams
		for i := at; i < min(at+api.MaxItems, rules); i++ {
			p.Items = append(p.Items, api.RatelimitItem{Rule: fmt.Sprint("r", i), Key: "k"})
		}
		_, err := u.RatelimitAcquireMany(ctx, p)
		require.NoError(t, err)
	}
}
