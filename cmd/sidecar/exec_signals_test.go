package main_test

import (
	"fmt"
	"os"
	"strconv"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
)

// Each signal that can be caught and means something reaches the command, and
// none of them ends sidecar exec alone.
func TestExecPassesOnEverySignal(t *testing.T) {
	t.Parallel()
	s := ready(t)
	signals := []syscall.Signal{
		syscall.SIGHUP, syscall.SIGINT, syscall.SIGQUIT, syscall.SIGILL, syscall.SIGTRAP, syscall.SIGABRT, syscall.SIGBUS,
		syscall.SIGFPE, syscall.SIGUSR1, syscall.SIGUSR2, syscall.SIGALRM, syscall.SIGTERM, syscall.SIGSTKFLT,
		syscall.SIGCONT, syscall.SIGTSTP, syscall.SIGTTIN, syscall.SIGXCPU, syscall.SIGXFSZ, syscall.SIGVTALRM, syscall.SIGWINCH,
		syscall.SIGIO, syscall.SIGPWR, syscall.SIGSYS, 40, 64,
	}
	var traps, none strings.Builder
	for _, n := range signals {
		fmt.Fprintf(&traps, "trap 'echo got-%d.' %d; ", n, n)
		fmt.Fprintf(&none, " %d", n)
	}
	// The shell hears a signal at once while it waits for what itself hears none.
	e := execute(t, s, "(trap ''"+none.String()+"; exec sleep 600) & "+traps.String()+`echo up; while :; do wait; done`, "--kill-after", "100ms")
	e.prints(t, "up")
	for _, n := range signals {
		require.NoError(t, e.cmd.Process.Signal(n), "sidecar exec has ended: %s", e.log)
		e.prints(t, fmt.Sprintf("got-%d.", n))
	}
	call(t, s.socket, "lock.force_release", `{"name":"l"}`) // ends the group by force
	require.Equal(t, 79, e.code(t), e.log)
}

// Whatever sidecar exec is sent, its command does not run on without it.
func TestExecIsNotOutlivedByItsCommand(t *testing.T) {
	t.Parallel()
	s := ready(t)
	for n := syscall.Signal(1); n <= 64; n++ {
		if n == syscall.SIGSTOP || n == 32 || n == 33 { // these are the C library's own
			continue
		}
		t.Run(strconv.Itoa(int(n)), func(t *testing.T) {
			t.Parallel()
			e := execute(t, s, `echo "command $$."; while :; do sleep 0.02; done`, "--lock", "l"+strconv.Itoa(int(n)))
			command := e.number(t, "command ")
			defer func() {
				if t.Failed() {
					_ = syscall.Kill(command, syscall.SIGKILL)
				}
			}()
			require.NoError(t, e.cmd.Process.Signal(n))
			require.NoError(t, e.cmd.Process.Signal(syscall.SIGTERM))
			e.code(t)
			require.Eventually(t, func() bool { return ended(command) }, limit, 10*time.Millisecond, "it runs on without the lock")
		})
	}
}

// A signal that stops the command for a while does not keep it from ending with the lock.
func TestExecEndsAStoppedCommandWhenTheLockIsLost(t *testing.T) {
	t.Parallel()
	s := ready(t)
	e := execute(t, s, `trap 'echo got; exit 0' TERM; echo "command $$."; while :; do sleep 0.02; done`, "--kill-after", "10m")
	command := e.number(t, "command ")
	require.NoError(t, syscall.Kill(command, syscall.SIGSTOP))
	require.Eventually(t, func() bool { return inState(command, "T") }, limit, 10*time.Millisecond)
	call(t, s.socket, "lock.force_release", `{"name":"l"}`)
	require.Equal(t, 79, e.code(t), e.log)
	require.Contains(t, e.log.String(), "got")
}

// A stopped command takes a signal only when it is continued.
func TestExecEndsAStoppedCommandByTheSignalsThatEnd(t *testing.T) {
	t.Parallel()
	s := ready(t)
	for _, n := range []syscall.Signal{syscall.SIGTERM, syscall.SIGINT} {
		e := execute(t, s, `trap "echo got; exit 3" INT TERM; echo "command $$."; while :; do sleep 0.02; done`)
		command := e.number(t, "command ")
		require.NoError(t, syscall.Kill(command, syscall.SIGSTOP))
		require.Eventually(t, func() bool { return inState(command, "T") }, limit, 10*time.Millisecond)
		require.NoError(t, e.cmd.Process.Signal(n))
		require.Equal(t, 3, e.code(t), e.log)
		require.Contains(t, e.log.String(), "got")
	}
}

// Signals that mean no end do not end the waiting for the lock, and the others do.
func TestExecKeepsWaitingAfterASignalThatDoesNotEndIt(t *testing.T) {
	t.Parallel()
	s := ready(t)
	c := dial(t, s.socket, "test")
	call(t, s.socket, "lock.acquire", `{"name":"l","bind":"ttl","ttl_ms":600000}`)
	for _, last := range []syscall.Signal{syscall.SIGQUIT, syscall.SIGUSR1, syscall.SIGHUP} {
		waiting := func(want int64) {
			require.Eventually(t, func() bool {
				r, err := c.LockGet(t.Context(), "l")
				return err == nil && r.Waiting == want
			}, limit, 10*time.Millisecond, "%d waiting, %s", want, last)
		}
		waiting(0) // the one before has left the line
		e := execute(t, s, "echo ran", "--wait", "50s")
		waiting(1)
		require.NoError(t, e.cmd.Process.Signal(syscall.SIGWINCH))
		require.NoError(t, e.cmd.Process.Signal(syscall.SIGCONT))
		require.NoError(t, e.cmd.Process.Signal(last))
		require.Equal(t, 128+int(last), e.code(t), e.log)
		require.NotContains(t, e.log.String(), "goroutine")
	}
}

// number waits for a line with text and a number after it, which ends with a dot.
func (e execution) number(t testing.TB, text string) int {
	t.Helper()
	var n int
	require.Eventually(t, func() bool {
		_, after, _ := strings.Cut(e.log.String(), text)
		digits, _, whole := strings.Cut(after, ".")
		var err error
		n, err = strconv.Atoi(digits)
		return whole && err == nil
	}, limit, 10*time.Millisecond, "%s", text)
	return n
}

// inState reports whether a process is in a state of /proc/PID/stat.
func inState(pid int, state string) bool {
	stat, err := os.ReadFile("/proc/" + strconv.Itoa(pid) + "/stat")
	return err == nil && strings.Contains(string(stat), ") "+state+" ")
}
