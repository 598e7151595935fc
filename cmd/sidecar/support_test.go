package main_test

import (
	"bytes"
	"context"
	"encoding/json"
	"os"
	"os/exec"
	"os/signal"
	"path/filepath"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/coxswain-sidecar/coxswain/client"
	main "github.com/coxswain-sidecar/coxswain/cmd/sidecar"
	"github.com/coxswain-sidecar/coxswain/internal/redistest"
)

// asMainKey makes this test binary be the sidecar: so the processes that tests
// start are the code under test, race detector included, without a build.
const asMainKey = "COXSWAIN_TEST_MAIN"

// asMain is the environment of such a process. With the race detector it would sleep for a second before it ends.
func asMain(more ...string) []string {
	return append([]string{asMainKey + "=1", "GORACE=atexit_sleep_ms=0"}, more...)
}

func TestMain(m *testing.M) {
	if os.Getenv(asMainKey) != "" {
		main.Main()
		return
	}
	// The demo starts its own program, which here is this binary: without this
	// the child would run the tests, and they the demo.
	if err := os.Setenv(asMainKey, "1"); err != nil {
		panic(err)
	}
	// A process that was started with signals ignored (by nohup, or in the background of a
	// script) hands that on to the commands that tests start, whose shells then cannot trap
	// them. What this process handles is not handed on.
	for _, s := range []os.Signal{syscall.SIGHUP, syscall.SIGINT, syscall.SIGQUIT} {
		if signal.Ignored(s) {
			signal.Notify(make(chan os.Signal, 1), s)
		}
	}
	redistest.Main(m)
}

// limit ends what hangs, long after anything here takes.
const limit = 5 * time.Minute

// output is written by one goroutine and read by another.
type output struct {
	mu sync.Mutex // guards b
	b  bytes.Buffer
}

func (o *output) Write(p []byte) (int, error) {
	o.mu.Lock()
	defer o.mu.Unlock()
	return o.b.Write(p)
}

func (o *output) String() string {
	o.mu.Lock()
	defer o.mu.Unlock()
	return o.b.String()
}

// answer is what a command line came to.
type answer struct {
	code     int
	out, err string
}

// cli carries out a command line in this process, in an environment of its own.
func cli(t testing.TB, args ...string) answer { t.Helper(); return cliWith(t, "", nil, args...) }

func cliWith(t testing.TB, in string, env []string, args ...string) answer {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), limit)
	defer cancel()
	var out, errs output
	code := main.Run(ctx, args, env, strings.NewReader(in), &out, &errs, nil)
	return answer{code, out.String(), errs.String()}
}

// fatal are the errors by which serve told in its log that it does not start. Every
// line has to be one of the log.
func fatal(t testing.TB, log string) []string {
	t.Helper()
	var errs []string
	for line := range strings.Lines(log) {
		var l struct{ Level, Msg, Err string }
		require.NoError(t, json.Unmarshal([]byte(line), &l), "%s", line)
		if l.Level == "ERROR" && l.Msg == "the sidecar does not start" {
			errs = append(errs, l.Err)
		}
	}
	return errs
}

// call is cli for one call, whose result it returns.
func call(t testing.TB, socket, method, params string) map[string]any {
	t.Helper()
	a := cli(t, "call", "--socket", socket, "--timeout", limit.String(), "-o", "json", method, params)
	require.Equal(t, main.OK, a.code, a.err)
	require.Equal(t, 1, strings.Count(a.out, "\n"), "one line: %s", a.out)
	var r map[string]any
	require.NoError(t, json.Unmarshal([]byte(a.out), &r))
	return r
}

// socketIn is a path short enough for a socket, whatever the test's name.
func socketIn(t testing.TB) string {
	t.Helper()
	dir, err := os.MkdirTemp("", "cox-") //nolint:usetesting // t.TempDir has the test's name in it
	require.NoError(t, err)
	t.Cleanup(func() { require.NoError(t, os.RemoveAll(dir)) })
	return filepath.Join(dir, "s")
}

// sidecar is one that serves in this process.
type sidecar struct {
	socket  string
	signals chan os.Signal
	log     *output
	ended   chan int // its exit code
	once    sync.Once
	code    int
}

// serve starts a sidecar in this process. It ends with the test.
func serve(t testing.TB, socket string, env []string, args ...string) *sidecar {
	t.Helper()
	s := &sidecar{socket: socket, signals: make(chan os.Signal, 2), log: &output{}, ended: make(chan int, 1)}
	args = append([]string{"serve", "--socket", socket, "--http", "127.0.0.1:0"}, args...)
	go func() {
		s.ended <- main.Run(context.WithoutCancel(t.Context()), args, env, nil, s.log, s.log, s.signals)
	}()
	t.Cleanup(func() {
		select {
		case s.signals <- syscall.SIGTERM:
		default: // a sidecar that has ended reads no more, and one that has not has a signal to read
		}
		s.exit(t)
		if t.Failed() {
			t.Logf("log of the sidecar:\n%s", s.log)
		}
	})
	return s
}

// ready starts a sidecar on the shared Redis, under a prefix of its own unless
// env has one, and returns when it is ready.
func ready(t testing.TB, env ...string) *sidecar {
	t.Helper()
	s := serve(t, socketIn(t), append([]string{"COXSWAIN_REDIS_PREFIX=" + redistest.Prefix(t), noGrace}, env...), "--redis", redistest.URL(t))
	wait(t, s.socket)
	return s
}

// listed waits until a sidecar is in the registry, which it enters in the background while it is ready already.
func listed(t testing.TB, s *sidecar) {
	t.Helper()
	require.Eventually(t, func() bool {
		return strings.Contains(cli(t, "sidecars", "--socket", s.socket).out, `"self":true`)
	}, limit, 10*time.Millisecond, "it is not in the registry")
}

// noGrace keeps stopping from waiting for clients that a test leaves open.
const noGrace = "COXSWAIN_LIMITS_SHUTDOWN_GRACE=0s"

func wait(t testing.TB, socket string) {
	t.Helper()
	a := cli(t, "wait", "--socket", socket, "--timeout", limit.String())
	require.Equal(t, main.OK, a.code, a.err)
}

// exit waits for the end and returns the exit code.
func (s *sidecar) exit(t testing.TB) int {
	t.Helper()
	s.once.Do(func() {
		select {
		case s.code = <-s.ended:
		case <-time.After(limit):
			t.Errorf("the sidecar does not end; its log:\n%s", s.log)
		}
	})
	return s.code
}

// logs waits until its log has the text.
func (s *sidecar) logs(t testing.TB, text string) {
	t.Helper()
	require.Eventually(t, func() bool { return strings.Contains(s.log.String(), text) }, limit, time.Millisecond, "%s", text)
}

// httpAddr is where its health pages are, once it serves.
func (s *sidecar) httpAddr(t testing.TB) string {
	t.Helper()
	var l struct{ Msg, HTTP string }
	require.Eventually(t, func() bool { // the log comes a moment after what it tells
		for line := range strings.Lines(s.log.String()) {
			if json.Unmarshal([]byte(line), &l) == nil && l.Msg == "serving" {
				return true
			}
		}
		return false
	}, limit, time.Millisecond, "no line says where it serves")
	return l.HTTP
}

func dial(t testing.TB, socket, name string) *client.Client {
	t.Helper()
	c, err := client.Dial(t.Context(), client.Options{Socket: socket, Client: name, Timeout: time.Minute})
	require.NoError(t, err)
	t.Cleanup(func() { require.NoError(t, c.Close()) })
	return c
}

// spawn starts a sidecar command as a process of its own.
func spawn(t testing.TB, env []string, args ...string) (*exec.Cmd, *output) {
	t.Helper()
	exe, err := os.Executable()
	require.NoError(t, err)
	var log output
	cmd := exec.CommandContext(t.Context(), exe, args...)
	cmd.Env = append(asMain("TMPDIR="+os.TempDir()), env...)
	cmd.Stdout, cmd.Stderr = &log, &log
	cmd.WaitDelay = limit // what outlives it keeps its output open
	require.NoError(t, cmd.Start())
	t.Cleanup(func() {
		if cmd.ProcessState == nil {
			_ = cmd.Process.Kill()
			_ = cmd.Wait()
		}
	})
	return cmd, &log
}
