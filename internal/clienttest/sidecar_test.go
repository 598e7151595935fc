package clienttest_test

import (
	"context"
	"path/filepath"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/coxswain-sidecar/coxswain/internal/coord"
	"github.com/coxswain-sidecar/coxswain/internal/coord/ratelimit"
	"github.com/coxswain-sidecar/coxswain/internal/coordtest"
	"github.com/coxswain-sidecar/coxswain/internal/lua"
	"github.com/coxswain-sidecar/coxswain/internal/luatest"
	"github.com/coxswain-sidecar/coxswain/internal/redistest"
	"github.com/coxswain-sidecar/coxswain/internal/rpc"
	"github.com/coxswain-sidecar/coxswain/internal/telemetry"
)

// live starts a sidecar on the shared server, and returns its socket.
func live(t *testing.T) string {
	t.Helper()
	return serve(t, luatest.Open(t, lua.Options{URL: redistest.URL(t)}), redistest.Prefix(t))
}

// serve starts a sidecar that uses the runner, and returns its socket.
func serve(t testing.TB, r *lua.Runner, prefix string) string {
	t.Helper()
	return serveBy(t, r, prefix, nil)
}

// serveBy is serve with another clock than the pod's.
func serveBy(t testing.TB, r *lua.Runner, prefix string, clock coord.Clock) string {
	t.Helper()
	return listen(t, sidecar(t, r, prefix, clock))
}

// sidecar returns a sidecar without a socket, which follows the rules in Redis.
func sidecar(t testing.TB, r *lua.Runner, prefix string, clock coord.Clock) *coordtest.Sidecar {
	t.Helper()
	s := coordtest.NewWith(t, r, prefix, coordtest.Options{Clock: clock})
	s.FollowRules(t, ratelimit.RuntimeRulesOptions{Signals: s.Signals})
	return s
}

// listen serves a sidecar on a socket until the test ends.
func listen(t testing.TB, s *coordtest.Sidecar) string {
	t.Helper()
	path := filepath.Join(t.TempDir(), "s.sock")
	server, err := rpc.Listen(rpc.Options{Path: path, Mode: 0o600, UID: -1, GID: -1, Telemetry: telemetry.Nop()}, rpc.Services{
		Leases: s.Leases, Methods: s.Methods(),
	})
	require.NoError(t, err)
	t.Cleanup(func() {
		ended, cancel := context.WithCancel(context.Background())
		cancel() // do not wait for the connections that are left
		_ = server.Shutdown(ended)
	})
	return path
}
