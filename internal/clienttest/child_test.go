package clienttest_test

import (
	"os/exec"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/coxswain-sidecar/coxswain/client"
)

// A child that kept the connection open would keep what its parent held after the parent died.
func TestAChildDoesNotKeepTheConnection(t *testing.T) {
	t.Parallel()
	c := dial(t, live(t), client.Options{})
	_, err := c.LockAcquire(t.Context(), "l", client.LockOptions{})
	require.NoError(t, err)
	files, err := exec.Command("sh", "-c", `for f in /proc/self/fd/*; do readlink "$f"; done; echo listed`).Output()
	require.NoError(t, err)
	require.Contains(t, string(files), "listed")
	require.NotContains(t, string(files), "socket:")
}
