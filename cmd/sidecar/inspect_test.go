package main_test

import (
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
