package clienttest_test

import (
	"os/exec"
	"slices"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/coxswain-sidecar/coxswain/client"
)

// A child that inherited the connection would keep it open, and so keep the leases of its parent after that died.
func TestAChildDoesNotKeepTheConnection(t *testing.T) {
	t.Parallel()
	files := func() (all []string) {
		list, err := exec.Command("sh", "-c", `for f in /proc/self/fd/*; do readlink "$f"; done; echo listed`).Output()
		require.NoError(t, err)
		require.Contains(t, string(list), "listed")
		return slices.DeleteFunc(strings.Split(string(list), "\n"), func(f string) bool { return !strings.HasPrefix(f, "socket:") })
	}
	inherited := files() // sockets of the process that runs the tests
	c := dial(t, live(t), client.Options{})
	_, err := c.LockAcquire(t.Context(), "l", client.LockOptions{})
	require.NoError(t, err)
	require.Equal(t, inherited, files())
}
