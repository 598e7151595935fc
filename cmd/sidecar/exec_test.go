package main_test

import (
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/coxswain-sidecar/coxswain/client"
)

// execution is a sidecar exec of its own process, and what it prints.
type execution struct {
	cmd *exec.Cmd
	log *output
}

// execute starts one for a shell script.
func execute(t testing.TB, s *sidecar, script string, flags ...string) execution {
	t.Helper()
	args := append([]string{"exec", "--socket", s.socket, "--lock", "l"}, flags...)
	cmd, log := spawn(t, []string{"PATH=" + os.Getenv("PATH"), "KEPT=kept"}, append(args, "--", "sh", "-c", script)...)
	return execution{cmd, log}
}

// code waits for the end and returns the exit code.
func (e execution) code(t testing.TB) int {
	t.Helper()
	timer := time.AfterFunc(limit, func() { _ = e.cmd.Process.Kill() })
	defer timer.Stop()
	_ = e.cmd.Wait() // the code says it
	return e.cmd.ProcessState.ExitCode()
}

// prints waits until it has printed the text.
func (e execution) prints(t testing.TB, text string) {
	t.Helper()
	require.Eventually(t, func() bool { return strings.Contains(e.log.String(), text) }, limit, 10*time.Millisecond, "%s", text)
}

func TestExecRunsUnderTheLock(t *testing.T) {
	t.Parallel()
	s := ready(t)
	c := dial(t, s.socket, "test")
	done := filepath.Join(t.TempDir(), "done")
	e := execute(t, s, `echo "fence $COXSWAIN_LOCK_FENCE, $KEPT"; until [ -e `+done+` ]; do sleep 0.02; done; exit 7`)
	e.prints(t, ", kept")
	r, err := c.LockGet(t.Context(), "l")
	require.NoError(t, err)
	require.True(t, r.Held)
	require.Equal(t, []string{"sidecar exec", "sh"}, []string{r.HeldBy.Client, r.HeldBy.Meta})
	require.Contains(t, e.log.String(), "fence "+r.Fence+", kept")

	other := execute(t, s, "echo ran")
	require.Equal(t, 75, other.code(t))
	require.Contains(t, other.log.String(), "busy: held by sidecar exec")
	require.NotContains(t, other.log.String(), "ran")

	waiting := execute(t, s, "echo ran", "--wait", "50s")
	require.NoError(t, os.WriteFile(done, nil, 0o600))
	require.Equal(t, 7, e.code(t))
	require.Equal(t, 0, waiting.code(t), waiting.log)
	require.Contains(t, waiting.log.String(), "ran")
	_, err = c.LockAcquire(t.Context(), "l", client.LockOptions{})
	require.NoError(t, err, "it was given back")
}

// A connection that the command kept open would hold the lock when sidecar exec is killed.
func TestTheCommandOfExecDoesNotKeepTheConnection(t *testing.T) {
	t.Parallel()
	const list = `for f in /proc/self/fd/*; do readlink "$f"; done; echo listed`
	inherited, err := exec.Command("sh", "-c", list).Output() // of whoever runs the tests
	require.NoError(t, err)
	e := execute(t, ready(t), list)
	require.Equal(t, 0, e.code(t), e.log)
	require.Contains(t, e.log.String(), "listed")
	for line := range strings.Lines(e.log.String()) {
		if strings.HasPrefix(line, "socket:") {
			require.Contains(t, string(inherited), line)
		}
	}
}

func TestExecForwardsSignals(t *testing.T) {
	t.Parallel()
	s := ready(t)
	for name, signal := range map[string]syscall.Signal{"TERM": syscall.SIGTERM, "INT": syscall.SIGINT, "HUP": syscall.SIGHUP} {
		e := execute(t, s, `trap 'echo got; exit 9' `+name+`; echo up; while :; do sleep 0.02; done`)
		e.prints(t, "up")
		require.NoError(t, e.cmd.Process.Signal(signal))
		require.Equal(t, 9, e.code(t), "%s: %s", name, e.log)
		require.Contains(t, e.log.String(), "got")
	}
	e := execute(t, s, `echo up; while :; do sleep 0.02; done`)
	e.prints(t, "up")
	require.NoError(t, e.cmd.Process.Signal(syscall.SIGTERM))
	require.Equal(t, 128+15, e.code(t), "the command's end by a signal")
}

func TestExecStopsWaitingAtASignal(t *testing.T) {
	t.Parallel()
	s := ready(t)
	c := dial(t, s.socket, "test")
	lk, err := c.LockAcquire(t.Context(), "l", client.LockOptions{})
	require.NoError(t, err)
	e := execute(t, s, "echo ran", "--wait", "50s")
	require.Eventually(t, func() bool {
		r, err := c.LockGet(t.Context(), "l")
		return err == nil && r.Waiting == 1
	}, limit, 10*time.Millisecond)
	require.NoError(t, e.cmd.Process.Signal(syscall.SIGTERM))
	require.Equal(t, 128+15, e.code(t))
	require.NotContains(t, e.log.String(), "ran")
	require.NoError(t, lk.Release(t.Context()))
}

// The command and all it started is ended, by force where it does not listen.
func TestExecEndsTheCommandWhenTheLockIsLost(t *testing.T) {
	t.Parallel()
	s := ready(t)
	e := execute(t, s, `trap 'echo got; exit 0' TERM; echo up; while :; do sleep 0.02; done`)
	e.prints(t, "up")
	call(t, s.socket, "lock.force_release", `{"name":"l"}`)
	require.Equal(t, 79, e.code(t), e.log)
	require.Contains(t, e.log.String(), "got")
	require.Contains(t, e.log.String(), "lost: ")

	e = execute(t, s, `trap '' TERM; echo up; sh -c 'while :; do sleep 0.02; done'`, "--max-hold", "3s", "--kill-after", "100ms")
	require.Equal(t, 79, e.code(t), e.log)
	require.Contains(t, e.log.String(), "lost: ")
}

// What the command started and left behind ends with the lock too.
func TestExecEndsWhatOutlivesTheCommand(t *testing.T) {
	t.Parallel()
	s := ready(t)
	e := execute(t, s, `(trap '' TERM; echo up; while :; do sleep 0.02; done) & echo "child $!"; trap 'exit 0' TERM; wait`, "--kill-after", "100ms")
	e.prints(t, "up")
	e.prints(t, "child ")
	_, after, _ := strings.Cut(e.log.String(), "child ")
	child, err := strconv.Atoi(strings.Fields(after)[0])
	require.NoError(t, err)
	call(t, s.socket, "lock.force_release", `{"name":"l"}`)
	require.Equal(t, 79, e.code(t), e.log)
	require.Eventually(t, func() bool { return ended(child) }, limit, 10*time.Millisecond, "it works on without the lock")
}

// ended reports whether a process is gone, or waits for its parent to notice.
func ended(pid int) bool {
	stat, err := os.ReadFile("/proc/" + strconv.Itoa(pid) + "/stat")
	return err != nil || strings.Contains(string(stat), ") Z ")
}

func TestExecSaysWhatItCannotRun(t *testing.T) {
	t.Parallel()
	s := ready(t)
	for want, args := range map[int][]string{
		127: {"--lock", "l", "--", "no-such-command-anywhere"},
		126: {"--lock", "l", "--", t.TempDir() + "/"},
		2:   {"--", "sh"},
		3:   {"--lock", "l", "--socket", filepath.Join(t.TempDir(), "none"), "--", "sh", "-c", ":"},
	} {
		a := cli(t, append([]string{"exec", "--socket", s.socket}, args...)...)
		require.Equal(t, want, a.code, "%v: %s", args, a.err)
		require.NotEmpty(t, a.err)
	}
	require.Equal(t, 2, cli(t, "exec", "--socket", s.socket, "--lock", "l").code)
	require.Equal(t, 2, cli(t, "exec", "--socket", s.socket, "--lock", "l", "--ttl", "1ms", "--", "sh").code)
}
