package main_test

import (
	"context"
	"net"
	"net/http"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/coxswain-sidecar/coxswain/client"
	main "github.com/coxswain-sidecar/coxswain/cmd/sidecar"
	"github.com/coxswain-sidecar/coxswain/internal/redistest"
)

// patient is a sidecar that waits for Redis for longer than any test.
var patient = []string{
	"COXSWAIN_LIMITS_SHUTDOWN_GRACE=50ms", "COXSWAIN_REDIS_POOL_DIAL_TIMEOUT=1m", "COXSWAIN_REDIS_POOL_COMMAND_TIMEOUT=1m",
}

func TestASilentRedisDelaysNeitherTheStartNorTheEnd(t *testing.T) {
	t.Parallel()
	for _, url := range []string{
		"redis://%s", "rediss://%s", "redis+sentinel://%s/m", "rediss+sentinel://%s/m", "redis+cluster://%s", "rediss+cluster://%s",
	} {
		scheme, _, _ := strings.Cut(url, ":")
		t.Run(scheme, func(t *testing.T) {
			t.Parallel()
			l, err := net.Listen("tcp", "127.0.0.1:0") // the system accepts for it
			require.NoError(t, err)
			defer l.Close()
			s := serve(t, socketIn(t), patient, "--redis", strings.Replace(url, "%s", l.Addr().String(), 1))
			require.Eventually(t, func() bool { return cli(t, "probe", "live", "--socket", s.socket).code == main.OK }, limit, time.Millisecond)
			require.Equal(t, http.StatusOK, status(t, s, "/livez"))
			require.Equal(t, http.StatusOK, status(t, s, "/startupz"))
			c := dial(t, s.socket, "waits")
			asked := make(chan error, 1)
			ctx, cancel := context.WithCancel(t.Context())
			defer cancel()
			go func() { _, err := c.LockGet(ctx, "l"); asked <- err }()
			s.signals <- syscall.SIGTERM
			require.Equal(t, main.OK, s.exit(t))
			cancel() // the client would wait for the next sidecar
			require.Error(t, <-asked)
		})
	}
}

func TestSIGTERMEndsASidecarWhoseRedisIsStopped(t *testing.T) {
	t.Parallel()
	redis := redistest.Start(t)
	s := serve(t, socketIn(t), patient, "--redis", redis.URL())
	wait(t, s.socket)
	c := dial(t, s.socket, "holds")
	_, err := c.LockAcquire(t.Context(), "held", client.LockOptions{})
	require.NoError(t, err)
	redis.Pause()
	defer redis.Resume()
	asked := make(chan error, 1)
	ctx, cancel := context.WithCancel(t.Context())
	defer cancel()
	go func() { _, err := c.LockGet(ctx, "l"); asked <- err }()
	s.signals <- syscall.SIGTERM
	require.Equal(t, main.OK, s.exit(t))
	cancel() // the client would wait for the next sidecar
	require.Error(t, <-asked)
}

// As timeout of GNU coreutils sends it: to its child, and to the group of it. What is measured is the sidecar's second,
// which may pass on a busy machine before the sidecar has read the second signal: such an attempt shows nothing.
func TestASignalThatComesTwiceAtOnceIsOneRequest(t *testing.T) {
	t.Parallel()
	for !asOne(t) {
		require.NoError(t, t.Context().Err())
	}
}

// asOne sends a sidecar two signals and checks that they are one request. It returns false if they were a second apart.
func asOne(t *testing.T) bool {
	t.Helper()
	s := serve(t, socketIn(t), []string{"COXSWAIN_LIMITS_SHUTDOWN_GRACE=1h"}, "--redis", "embedded")
	wait(t, s.socket)
	c := dial(t, s.socket, "stays")
	sent := time.Now()
	s.signals <- syscall.SIGTERM
	s.signals <- syscall.SIGTERM
	one := func() bool {
		return strings.Contains(s.log.String(), `"msg":"the same signal came twice within a second`)
	}
	require.Eventually(t, func() bool { return one() || len(s.ended) > 0 }, limit, time.Millisecond)
	if !one() {
		require.GreaterOrEqual(t, time.Since(sent), time.Second, "it has ended at the second signal")
		return false
	}
	_, err := c.LockGet(t.Context(), "l")
	require.NoError(t, err, "it lets its clients finish")
	require.NoError(t, c.Close())
	require.Equal(t, main.OK, s.exit(t))
	return true
}

func TestTheSameSignalLaterEndsAtOnce(t *testing.T) {
	t.Parallel()
	s := serve(t, socketIn(t), []string{"COXSWAIN_LIMITS_SHUTDOWN_GRACE=1h"}, "--redis", "embedded")
	wait(t, s.socket)
	dial(t, s.socket, "stays")
	s.signals <- syscall.SIGTERM
	require.Eventually(t, func() bool {
		select {
		case s.signals <- syscall.SIGTERM:
		default:
		}
		return len(s.ended) > 0
	}, limit, 10*time.Millisecond)
	require.Equal(t, main.Signal+int(syscall.SIGTERM), s.exit(t))
}
