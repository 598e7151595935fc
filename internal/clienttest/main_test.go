// Package clienttest_test runs the Go client on real sidecars and a real Redis: the
// conformance suites through the socket, and tests that need both. The client is a
// module of its own, whose tests need no sidecar.
package clienttest_test

import (
	"cmp"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/coxswain-sidecar/coxswain/client"
	"github.com/coxswain-sidecar/coxswain/internal/redistest"
)

// patience bounds how long a test waits for another goroutine or process on a busy
// machine. No assertion depends on it.
const patience = 2 * time.Minute

func TestMain(m *testing.M) { redistest.Main(m) }

// dial connects a client to a sidecar until the test ends.
func dial(t testing.TB, socket string, o client.Options) *client.Client {
	t.Helper()
	o.Socket, o.Timeout = socket, cmp.Or(o.Timeout, patience)
	c, err := client.Dial(t.Context(), o)
	require.NoError(t, err)
	t.Cleanup(func() { require.NoError(t, c.Close()) })
	return c
}
