package main_test

import (
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	main "github.com/coxswain-sidecar/coxswain/cmd/sidecar"
	"github.com/coxswain-sidecar/coxswain/internal/redistest"
)

// inVain runs sidecar wait for what does not come, with a time in which it is answered: a busy machine may need more
// than 100 ms for that.
func inVain(t *testing.T, s *sidecar, what string) (a answer, within string) {
	t.Helper()
	for timeout := 100 * time.Millisecond; timeout < limit; timeout *= 2 {
		a, within = cli(t, "wait", what, "--socket", s.socket, "--timeout", timeout.String()), timeout.String()
		if a.code != main.Unreachable && !strings.Contains(a.err, "it did not answer") {
			break
		}
	}
	return a, within
}

// What holds the start of a pod's app: the socket alone, whatever Redis does, or
// Redis, whatever readiness stands for.
func TestWaitForTheSocketOrForRedis(t *testing.T) {
	t.Parallel()
	redis := redistest.Start(t)
	redis.Stop()
	s := serve(t, socketIn(t), []string{noGrace, "COXSWAIN_READINESS_MODE=always"}, "--redis", redis.URL())
	a := cli(t, "wait", "live", "--socket", s.socket, "--timeout", limit.String())
	require.Equal(t, main.OK, a.code, a.err)
	require.Eventually(t, func() bool { // once the first check has been
		return cli(t, "probe", "ready", "--socket", s.socket).code == main.OK
	}, limit, time.Millisecond)
	require.Equal(t, main.Failed, cli(t, "probe", "redis", "--socket", s.socket, "--timeout", limit.String()).code)
	a, within := inVain(t, s, "redis")
	require.Equal(t, main.Failed, a.code)
	require.Contains(t, a.err, "not within "+within+": not in reach of Redis\n  redis: ")

	redis.Restart()
	a = cli(t, "wait", "redis", "--socket", s.socket, "--timeout", limit.String())
	require.Equal(t, main.OK, a.code, a.err)
	require.Equal(t, "in reach of Redis (standalone store)\n", cli(t, "probe", "redis", "--socket", s.socket, "--timeout", limit.String()).out)
}
