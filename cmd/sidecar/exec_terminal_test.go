package main_test

import (
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strconv"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	"golang.org/x/sys/unix"
)

// terminal is a pseudo-terminal with an interactive shell on it, and what it shows.
type terminal struct {
	keys   *os.File
	shown  *output
	hangUp func()
}

// openTerminal starts the shell. $X in it is sidecar exec with the socket and the lock l.
func openTerminal(t testing.TB, s *sidecar) terminal {
	t.Helper()
	fd, err := unix.Open("/dev/ptmx", unix.O_RDWR|unix.O_NOCTTY|unix.O_CLOEXEC, 0)
	require.NoError(t, err)
	require.NoError(t, unix.SetNonblock(fd, true)) // so that closing it ends a read
	keys := os.NewFile(uintptr(fd), "/dev/ptmx")
	require.NoError(t, unix.IoctlSetPointerInt(fd, unix.TIOCSPTLCK, 0))
	n, err := unix.IoctlGetInt(fd, unix.TIOCGPTN)
	require.NoError(t, err)
	tty, err := os.OpenFile("/dev/pts/"+strconv.Itoa(n), os.O_RDWR|syscall.O_NOCTTY, 0)
	require.NoError(t, err)
	exe, err := os.Executable()
	require.NoError(t, err)
	bash := exec.CommandContext(t.Context(), "bash", "--norc", "--noprofile", "--noediting", "-i")
	bash.Env = asMain("PATH="+os.Getenv("PATH"), "TMPDIR="+os.TempDir(), "PS1=", "HISTFILE=", "X="+exe+" exec --socket "+s.socket+" --lock l")
	bash.Stdin, bash.Stdout, bash.Stderr = tty, tty, tty
	bash.SysProcAttr = &syscall.SysProcAttr{Setsid: true, Setctty: true}
	require.NoError(t, bash.Start())
	require.NoError(t, tty.Close())
	shown, done := &output{}, make(chan struct{})
	go func() {
		defer close(done)
		b := make([]byte, 4096)
		for {
			n, err := keys.Read(b)
			_, _ = shown.Write(b[:n])
			if err != nil { // it is closed, or the last program on it has ended
				return
			}
		}
	}()
	hangUp := sync.OnceFunc(func() {
		require.NoError(t, keys.Close())
		<-done
	})
	t.Cleanup(func() {
		hangUp() // bash gets SIGHUP and passes it on
		_ = bash.Process.Kill()
		_ = bash.Wait()
		if t.Failed() {
			t.Logf("the terminal shows:\n%s", shown)
		}
	})
	return terminal{keys, shown, hangUp}
}

// types presses keys.
func (m terminal) types(t testing.TB, keys string) {
	t.Helper()
	_, err := m.keys.WriteString(keys)
	require.NoError(t, err)
}

// shows waits for text that matches the pattern, and returns its groups. What is
// typed is shown too, so a pattern is of what no command line says.
func (m terminal) shows(t testing.TB, pattern string) []string {
	t.Helper()
	var found []string
	re := regexp.MustCompile(pattern)
	require.Eventually(t, func() bool {
		found = re.FindStringSubmatch(m.shown.String())
		return found != nil
	}, limit, 10*time.Millisecond, "%s", pattern)
	return found
}

const (
	ctrlC = "\x03"
	ctrlZ = "\x1a"
)

func TestExecLetsTheCommandReadTheTerminal(t *testing.T) {
	t.Parallel()
	m := openTerminal(t, ready(t))
	m.types(t, "$X -- sh -c 'echo ready-$((40+2)); read x; echo \"got-$x-$(ps -o tpgid= -p $$ | tr -d \" \")-$$.\"'; echo code-$?.\n")
	m.shows(t, "ready-42")
	m.types(t, "abc\n")
	found := m.shows(t, `got-abc-(\d+)-(\d+)\.`)
	require.Equal(t, found[1], found[2], "the command is not what the terminal talks to")
	m.shows(t, `code-0\.`)
	m.types(t, "read y; echo shell-$y.\n") // the shell has the terminal back
	m.types(t, "def\n")
	m.shows(t, `shell-def\.`)
}

// Beside a pager, which needs the terminal itself, the command has it as soon as it reads it.
func TestExecInAPipelineLetsTheCommandReadTheTerminal(t *testing.T) {
	t.Parallel()
	m := openTerminal(t, ready(t))
	m.types(t, "$X -- sh -c 'echo ready-$((40+2)); read x; echo got-$x.' | cat; echo codes-${PIPESTATUS[*]}.\n")
	m.shows(t, "ready-42")
	m.types(t, "abc\n")
	m.shows(t, `got-abc\.`)
	m.shows(t, `codes-0 0\.`)
}

func TestExecLetsAPagerReadTheTerminal(t *testing.T) {
	t.Parallel()
	m := openTerminal(t, ready(t))
	m.types(t, "$X -- sh -c 'echo one; sleep 0.1' | sh -c 'read line; read x </dev/tty; echo pager-$line-$x.'; echo codes-${PIPESTATUS[*]}.\n")
	m.types(t, "abc\n")
	m.shows(t, `pager-one-abc\.`)
	m.shows(t, `codes-0 0\.`)
}

func TestExecIsEndedByTheKeyboard(t *testing.T) {
	t.Parallel()
	m := openTerminal(t, ready(t))
	// It says that it is up once the terminal talks to it: a key before that is its parent's.
	m.types(t, "for i in 1 2 3; do $X -- sh -c 'until [ $(ps -o tpgid= -p $$) = $$ ]; do sleep 0.02; done; echo up-$((40+2)); exec sleep 600'; done; echo loop-$?.\n")
	m.shows(t, "up-42")
	m.types(t, ctrlC)
	m.types(t, "echo code-$?.\n")
	m.shows(t, `code-130\.`)
	require.Equal(t, 1, strings.Count(m.shown.String(), "up-42"), "the loop goes on, which it does not after a command that the keyboard ended")

	m.types(t, "clear-$((1+1)) 2>/dev/null; $X -- sh -c 'trap \"echo int-$((40+2)); exit 9\" INT; echo trap-$((40+2)); while :; do sleep 0.02; done'; echo code-$?.\n")
	m.shows(t, "trap-42")
	m.types(t, ctrlC)
	m.shows(t, `code-9\.`)
	require.Equal(t, 1, strings.Count(m.shown.String(), "int-42"), "Ctrl-C reaches the command once")
}

// A script that runs sidecar exec is ended by Ctrl-C as by any other command in it.
func TestExecInAScriptIsEndedByTheKeyboard(t *testing.T) {
	t.Parallel()
	m := openTerminal(t, ready(t))
	m.types(t, "bash -c 'for i in 1 2 3; do $X -- sh -c \"until [ \\$(ps -o tpgid= -p \\$\\$) = \\$\\$ ]; do sleep 0.02; done; echo up-\\$((40+2)); exec sleep 600\"; done; echo loop-$((40+2))'\n")
	m.shows(t, "up-42")
	m.types(t, ctrlC)
	m.types(t, "echo code-$?.\n")
	m.shows(t, `code-130\.`)
	require.Equal(t, 1, strings.Count(m.shown.String(), "up-42"))
	require.NotContains(t, m.shown.String(), "loop-42")
}

func TestExecIsStoppedAndContinuedByTheKeyboard(t *testing.T) {
	t.Parallel()
	s := ready(t)
	c := dial(t, s.socket, "test")
	m := openTerminal(t, s)
	m.types(t, "$X -- sh -c 'echo command-$$.; read x; echo got-$x.; read y; echo got-$y.'; echo code-$?.\n")
	command, err := strconv.Atoi(m.shows(t, `command-(\d+)\.`)[1])
	require.NoError(t, err)
	m.types(t, ctrlZ)
	m.shows(t, `code-14[78]\.`)
	require.True(t, inState(command, "T"), "the command is not stopped")
	r, err := c.LockGet(t.Context(), "l")
	require.NoError(t, err)
	require.True(t, r.Held, "what is stopped keeps the lock")
	m.types(t, "jobs; echo listed-$((40+2))\n")
	m.shows(t, "listed-42")
	require.Equal(t, 2, strings.Count(m.shown.String(), "Stopped"), "the shell does not know")
	m.types(t, "fg\n")
	require.Eventually(t, func() bool { return !inState(command, "T") }, limit, 10*time.Millisecond, "fg does not reach the command")
	m.types(t, "abc\n")
	m.shows(t, `got-abc\.`)
	m.types(t, ctrlZ)
	require.Eventually(t, func() bool { return strings.Count(m.shown.String(), "Stopped") == 3 }, limit, 10*time.Millisecond)
	// In the background it is stopped again as soon as it reads the terminal, and says so.
	m.types(t, "bg\n")
	require.Eventually(t, func() bool {
		m.types(t, "jobs\n")
		return strings.Count(m.shown.String(), "Stopped") > 3
	}, limit, 200*time.Millisecond)
	m.types(t, "fg\n")
	require.Eventually(t, func() bool { return !inState(command, "T") }, limit, 10*time.Millisecond)
	m.types(t, "def\n")
	m.shows(t, `got-def\.`)
}

// The lock is renewed by the sidecar, also while nobody here could ask for it.
func TestExecKeepsTheLockWhileItIsStoppedForLongerThanTheTTL(t *testing.T) {
	t.Parallel()
	m := openTerminal(t, ready(t))
	// The TTL is long beside the pauses of a busy machine, in which nothing is renewed.
	m.types(t, "$X --ttl 9s -- sh -c 'echo ready-$((40+2)); read x; echo got-$x.'\n")
	m.shows(t, "ready-42")
	m.types(t, ctrlZ)
	m.shows(t, "Stopped")
	m.types(t, "sleep 10; echo slept-$((40+2))\n")
	m.shows(t, "slept-42")
	m.types(t, "fg; echo code-$?.\n")
	m.types(t, "abc\n")
	m.shows(t, `got-abc\.`)
	m.shows(t, `code-0\.`)
}

// Where no shell could continue it, the keyboard stops nothing, as for any other program.
func TestExecIsNotStoppedWithoutAShellThatCouldContinueIt(t *testing.T) {
	t.Parallel()
	m := openTerminal(t, ready(t))
	m.types(t, "exec $X -- sh -c 'echo ready-$((40+2)); read x; echo got-$x.; read y'\n") // in place of the shell
	m.shows(t, "ready-42")
	m.types(t, ctrlZ)
	m.types(t, "abc\n")
	m.shows(t, `got-abc\.`)
}

// Without a shell that could give it the terminal, a command that reads it is ended
// and not left stopped, lock in hand.
func TestExecEndsACommandThatReadsATerminalItCannotGet(t *testing.T) {
	t.Parallel()
	m := openTerminal(t, ready(t))
	goOn := filepath.Join(t.TempDir(), "go-on")
	m.types(t, "sh -c '$X -- sh -c \"echo command-\\$\\$.; until [ -e "+goOn+" ]; do sleep 0.02; done; read x </dev/tty\" &'; echo back-$((40+2))\n")
	command, err := strconv.Atoi(m.shows(t, `command-(\d+)\.`)[1])
	require.NoError(t, err)
	m.shows(t, "back-42") // the shell in between has ended
	require.NoError(t, os.WriteFile(goOn, nil, 0o600))
	m.shows(t, "the command reads from a terminal, and no shell can put it into the foreground; ending the command")
	require.Eventually(t, func() bool { return ended(command) }, limit, 10*time.Millisecond)
}

// A terminal that goes away ends the command, as it ends any other.
func TestExecEndsWithItsTerminal(t *testing.T) {
	t.Parallel()
	m := openTerminal(t, ready(t))
	m.types(t, "$X -- sh -c 'echo command-$$.; read x; sleep 600'\n")
	command, err := strconv.Atoi(m.shows(t, `command-(\d+)\.`)[1])
	require.NoError(t, err)
	m.hangUp()
	require.Eventually(t, func() bool { return ended(command) }, limit, 10*time.Millisecond)
}
