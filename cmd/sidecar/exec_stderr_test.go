package main_test

import (
	"errors"
	"os"
	"os/exec"
	"path/filepath"
	"syscall"
	"testing"

	"github.com/stretchr/testify/require"
)

// fullPipe is a pipe that nobody reads and that takes not a byte more.
func fullPipe(t *testing.T) (r, w *os.File) {
	t.Helper()
	var fds [2]int
	require.NoError(t, syscall.Pipe2(fds[:], syscall.O_CLOEXEC|syscall.O_NONBLOCK))
	for _, chunk := range [][]byte{make([]byte, 4096), {0}} {
		for {
			if _, err := syscall.Write(fds[1], chunk); err != nil {
				require.ErrorIs(t, err, syscall.EAGAIN)
				break
			}
		}
	}
	require.NoError(t, syscall.SetNonblock(fds[1], false)) // as a shell has it
	return os.NewFile(uintptr(fds[0]), "r"), os.NewFile(uintptr(fds[1]), "w")
}

// The command ends and exec with it, whatever becomes of what exec has to say.
func TestExecEndsTheCommandWhenTheLockIsLostAndStderrIsNotRead(t *testing.T) {
	t.Parallel()
	s := ready(t)
	for name, broken := range map[string]bool{"blocked": false, "broken": true} {
		dir := t.TempDir()
		r, w := fullPipe(t)
		exe, err := os.Executable()
		require.NoError(t, err)
		// The command has closed stderr, so that only exec writes there.
		cmd := exec.CommandContext(t.Context(), exe, "exec", "--socket", s.socket, "--lock", name, "--", "sh", "-c",
			`exec 2>/dev/null; trap "echo got > `+dir+`/got; exit 0" TERM; echo up > `+dir+`/up; while :; do sleep 0.02; done`)
		cmd.Env = asMain("PATH=" + os.Getenv("PATH"))
		cmd.Stderr = w
		require.NoError(t, cmd.Start())
		require.NoError(t, w.Close())
		require.Eventually(t, func() bool {
			_, err := os.Stat(filepath.Join(dir, "up"))
			return err == nil
		}, limit, limit/1000)
		if broken {
			require.NoError(t, r.Close())
		}
		call(t, s.socket, "lock.force_release", `{"name":"`+name+`"}`)
		var failed *exec.ExitError
		if err := cmd.Wait(); !errors.As(err, &failed) {
			t.Fatalf("%s: %v", name, err)
		}
		require.Equal(t, 79, failed.ExitCode(), name)
		require.FileExists(t, filepath.Join(dir, "got"), name)
		_ = r.Close()
	}
}
