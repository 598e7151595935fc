package main_test

import (
	"bufio"
	"encoding/json"
	"io"
	"net"
	"net/http"
	"os"
	"os/exec"
	"regexp"
	"strconv"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	main "github.com/coxswain-sidecar/coxswain/cmd/sidecar"
	"github.com/coxswain-sidecar/coxswain/internal/redistest"
)

// piped is a sidecar in a process of its own, whose stderr is a pipe that the
// test reads, or does not.
type piped struct {
	*exec.Cmd
	socket, http string
	stderr       *os.File // the end that is read
}

// pipe starts one and reads its log until it serves, no further.
func pipe(t *testing.T, redis string, env ...string) *piped {
	t.Helper()
	r, w, err := os.Pipe()
	require.NoError(t, err)
	t.Cleanup(func() { _ = r.Close() })
	p := &piped{socket: socketIn(t), stderr: r}
	exe, err := os.Executable()
	require.NoError(t, err)
	p.Cmd = exec.CommandContext(t.Context(), exe, "serve", "--socket", p.socket, "--http", "127.0.0.1:0", "--redis", redis)
	p.Env = append(asMain("TMPDIR="+os.TempDir(), "COXSWAIN_REDIS_PREFIX="+redistest.Prefix(t), noGrace), env...)
	p.Stderr = w
	require.NoError(t, p.Start())
	require.NoError(t, w.Close())
	t.Cleanup(func() {
		if p.ProcessState == nil {
			_ = p.Process.Kill()
			_ = p.Wait()
		}
	})
	log := bufio.NewReaderSize(r, 16) // so that it reads hardly ahead
	for {
		line, err := log.ReadString('\n')
		require.NoError(t, err)
		var l struct{ Msg, HTTP string }
		require.NoError(t, json.Unmarshal([]byte(line), &l), "every line is JSON: %s", line)
		if l.Msg == "serving" {
			p.http = l.HTTP
			break
		}
	}
	wait(t, p.socket)
	return p
}

// misbehave sends what makes the sidecar close the connection with a line of its log.
func (p *piped) misbehave(t *testing.T) {
	t.Helper()
	nc, err := net.Dial("unix", p.socket)
	require.NoError(t, err)
	defer nc.Close()
	require.NoError(t, nc.SetDeadline(time.Now().Add(limit)))
	_, err = nc.Write([]byte{0xc1})
	require.NoError(t, err)
	_, err = nc.Read(make([]byte, 1))
	require.ErrorIs(t, err, io.EOF, "the connection is closed, whatever becomes of the line")
}

var droppedLines = regexp.MustCompile(`(?m)^coxswain_log_dropped_total (\d+)$`)

// dropped is how many lines its metrics say were dropped.
func (p *piped) dropped(t *testing.T) int {
	t.Helper()
	req, err := http.NewRequestWithContext(t.Context(), http.MethodGet, "http://"+p.http+"/metrics", nil)
	require.NoError(t, err)
	req.Close = true
	r, err := http.DefaultClient.Do(req)
	require.NoError(t, err)
	defer r.Body.Close()
	b, err := io.ReadAll(r.Body)
	require.NoError(t, err)
	m := droppedLines.FindSubmatch(b)
	if m == nil {
		return 0
	}
	n, err := strconv.Atoi(string(m[1]))
	require.NoError(t, err)
	return n
}

func TestALogThatIsNotReadBlocksNeitherRecoveryNorShutdown(t *testing.T) {
	t.Parallel()
	redis := redistest.Start(t)
	p := pipe(t, redis.URL())
	for range 400 { // 64 KiB are in the pipe then
		p.misbehave(t)
	}
	require.Equal(t, 0, p.dropped(t), "a log that is only slow loses nothing")
	for p.dropped(t) == 0 {
		for range 200 {
			p.misbehave(t)
		}
	}
	redis.Stop()
	require.Eventually(t, func() bool { return cli(t, "probe", "ready", "--socket", p.socket).code == main.Failed }, limit, time.Millisecond)
	redis.Restart()
	wait(t, p.socket)
	require.Equal(t, false, call(t, p.socket, "lock.get", `{"name":"l"}`)["held"])

	told, read := make(chan string, 1), make(chan string, 1)
	go func() {
		var all strings.Builder
		for lines := bufio.NewScanner(p.stderr); lines.Scan(); {
			all.WriteString(lines.Text() + "\n")
			if len(told) == 0 && strings.Contains(lines.Text(), "lines of the log were dropped") {
				told <- lines.Text()
			}
		}
		read <- all.String()
	}()
	select {
	case line := <-told:
		require.Regexp(t, `"msg":"lines of the log were dropped: nothing took them in time","lines":[1-9][0-9]*}`, line, "once it is read again")
	case <-time.After(limit):
		t.Fatal("nobody is told that lines were dropped")
	}
	require.NoError(t, p.Process.Signal(syscall.SIGTERM))
	require.NoError(t, p.Wait(), "exit code 0")
	log := <-read
	require.Contains(t, log, `"msg":"stopped"`)
}

func TestSIGTERMEndsASidecarWhoseLogIsNotRead(t *testing.T) {
	t.Parallel()
	p := pipe(t, "embedded")
	for range 1000 {
		p.misbehave(t)
	}
	require.NoError(t, p.Process.Signal(syscall.SIGTERM))
	require.NoError(t, p.Wait(), "exit code 0")
	require.NoFileExists(t, p.socket)
}

func TestALogWhoseReaderEndedDoesNotEndTheSidecar(t *testing.T) {
	t.Parallel()
	p := pipe(t, "embedded", "OTEL_TRACES_EXPORTER=console")
	require.NoError(t, p.stderr.Close())
	require.Eventually(t, func() bool {
		p.misbehave(t)
		return p.dropped(t) > 0
	}, limit, time.Millisecond)
	require.Equal(t, true, call(t, p.socket, "lock.acquire", `{"name":"l"}`)["acquired"])
	require.NoError(t, p.Process.Signal(syscall.SIGTERM))
	require.NoError(t, p.Wait(), "exit code 0, and no SIGPIPE")
}

func TestTheFormatOfTheLogIsAsItIsConfigured(t *testing.T) {
	t.Parallel()
	s := serve(t, socketIn(t), []string{noGrace, "COXSWAIN_TELEMETRY_LOG_FORMAT=text"}, "--redis", "embedded")
	s.logs(t, "level=INFO msg=serving version=")
	a := cliWith(t, "", []string{"COXSWAIN_TELEMETRY_LOG_FORMAT=text"}, "serve", "--socket", s.socket, "--redis", "embedded")
	require.Equal(t, main.Failed, a.code)
	require.Contains(t, a.err, "\nsocket "+s.socket+": another sidecar listens there", "for people it stays as it is")
}

// The library under the connections has a log of its own, which goes to stderr.
func TestEveryLineOnStderrIsJSON(t *testing.T) {
	t.Parallel()
	redis := redistest.Start(t)
	p, log := spawn(t, []string{noGrace, "COXSWAIN_TELEMETRY_LOG_LEVEL=debug"},
		"serve", "--socket", socketIn(t), "--http", "127.0.0.1:0", "--redis", redis.URL())
	require.Eventually(t, func() bool { return strings.Contains(log.String(), `"msg":"health: ready"`) }, limit, time.Millisecond)
	redis.Stop()
	require.Eventually(t, func() bool { return strings.Contains(log.String(), `"msg":"redis is down`) }, limit, time.Millisecond)
	redis.Restart()
	require.Eventually(t, func() bool { return strings.Count(log.String(), `"msg":"redis is up"`) == 2 }, limit, time.Millisecond)
	require.NoError(t, p.Process.Signal(syscall.SIGTERM))
	require.NoError(t, p.Wait(), log)
	for line := range strings.Lines(log.String()) {
		require.True(t, json.Valid([]byte(line)), "%s", line)
	}
}
