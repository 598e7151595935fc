package main_test

import (
	"bufio"
	"bytes"
	"context"
	"encoding/json"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"runtime/debug"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/coxswain-sidecar/coxswain/client"
	"github.com/coxswain-sidecar/coxswain/client/api"
	main "github.com/coxswain-sidecar/coxswain/examples/httpserver"
	"github.com/coxswain-sidecar/coxswain/internal/redistest"
)

func TestMain(m *testing.M) { redistest.Main(m) }

// patience is the timeout of a test that hangs, far longer than any step takes.
const patience = 30 * time.Second

// sidecar builds and starts a real sidecar with these rules, and returns its socket.
func sidecar(t *testing.T, config string) string {
	t.Helper()
	dir, err := os.MkdirTemp("", "cox-") //nolint:usetesting // t.TempDir has the test's name in it, and is too long for a socket
	require.NoError(t, err)
	t.Cleanup(func() { require.NoError(t, os.RemoveAll(dir)) })
	exe, socket := filepath.Join(dir, "sidecar"), filepath.Join(dir, "s")
	build := []string{"build", "-o", exe}
	if raced() {
		build = append(build, "-race") // as everything that is built already
	}
	out, err := exec.CommandContext(t.Context(), "go", append(build, "../../cmd/sidecar")...).CombinedOutput()
	require.NoError(t, err, "%s", out)

	var log bytes.Buffer
	cmd := exec.Command(exe, "serve", "--redis", "embedded", "--socket", socket, "--http", "127.0.0.1:0", "--config", config)
	cmd.Stdout, cmd.Stderr = &log, &log
	require.NoError(t, cmd.Start())
	t.Cleanup(func() {
		_ = cmd.Process.Signal(os.Interrupt)
		if err := cmd.Wait(); err != nil || t.Failed() {
			t.Errorf("the sidecar ended with %v:\n%s", err, log.String())
		}
	})
	return socket
}

func raced() bool {
	info, ok := debug.ReadBuildInfo()
	for _, s := range info.Settings {
		if ok && s.Key == "-race" {
			return s.Value == "true"
		}
	}
	return false
}

// serve runs the example until the test ends, and returns its URL.
func serve(t *testing.T, args ...string) string {
	t.Helper()
	ctx, cancel := context.WithCancel(context.Background())
	r, w := io.Pipe()
	ended := make(chan error, 1)
	go func() {
		err := main.Run(ctx, args, w)
		_ = w.CloseWithError(io.EOF)
		ended <- err
	}()
	t.Cleanup(func() { cancel(); require.NoError(t, <-ended) })
	line, err := bufio.NewReader(r).ReadString('\n')
	require.NoError(t, err)
	url, ok := strings.CutPrefix(strings.TrimSpace(line), "listening on ")
	require.True(t, ok, line)
	return url
}

// answer is the output of curl -i.
type answer struct {
	status string
	header map[string]string // by lower-cased names
	body   string
}

func curl(t *testing.T, args ...string) answer {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), patience)
	defer cancel()
	cmd := exec.CommandContext(ctx, "curl", append([]string{"-i", "-sS", "--noproxy", "*"}, args...)...)
	out, err := cmd.CombinedOutput()
	require.NoError(t, err, "curl (Debian package curl) is needed: %s", out)
	head, body, ok := strings.Cut(string(out), "\r\n\r\n")
	require.True(t, ok, "%s", out)
	lines := strings.Split(head, "\r\n")
	a := answer{status: lines[0], header: map[string]string{}, body: body}
	for _, line := range lines[1:] {
		name, value, _ := strings.Cut(line, ": ")
		a.header[strings.ToLower(name)] = value
	}
	return a
}

// The budget of an hour-long limit does not come back while the test runs.
func config(t *testing.T) string {
	t.Helper()
	shipped, err := os.ReadFile("sidecar.yaml")
	require.NoError(t, err)
	slow := strings.Replace(string(shipped), "period_ms: 5000", "period_ms: 360000000", 1)
	require.NotEqual(t, string(shipped), slow)
	path := filepath.Join(t.TempDir(), "sidecar.yaml")
	require.NoError(t, os.WriteFile(path, []byte(slow), 0o600))
	return path
}

func TestCurlSeesWhatTheMiddlewareStates(t *testing.T) {
	t.Parallel()
	socket := sidecar(t, config(t))
	ctx, cancel := context.WithTimeout(t.Context(), patience)
	defer cancel()
	c, err := client.Dial(ctx, client.Options{Socket: socket})
	require.NoError(t, err, "it serves")
	// Until the sidecar is ready the rule's fail mode answers, and counts nothing.
	for ready := false; !ready; {
		h, err := client.Call(ctx, c, api.HealthGet, api.Nothing{})
		require.NoError(t, err)
		ready = h.Ready
	}
	require.NoError(t, c.Close())
	url := serve(t, "-socket", socket, "-addr", "127.0.0.1:0", "-timeout", patience.String())

	const tokenKey = "token:2bb80d537b1da3e38bd30361aa855686bde0eacd7162fef6a25fe97bf527a25b"
	all := []string{"-H", "X-User-Id: alice", "-H", "User-Id: bob", "-H", "Authorization: Bearer secret", url}
	for i, key := range []string{"user:alice", "user:bob", tokenKey, "ip:127.0.0.1"} {
		t.Run(key, func(t *testing.T) {
			args := all[2*i:]
			for _, left := range []string{"2", "1", "0"} {
				a := curl(t, args...)
				require.Equal(t, "HTTP/1.1 200 OK", a.status)
				require.Equal(t, "hello "+key+", "+left+" left\n", a.body)
				require.Equal(t, "3", a.header["x-ratelimit-limit"])
				require.Equal(t, left, a.header["x-ratelimit-remaining"])
				require.Regexp(t, `^"api:3/100h";r=`+left+`;t=\d+$`, a.header["ratelimit"])
				require.Equal(t, `"api:3/100h";q=3;w=360000`, a.header["ratelimit-policy"])
				require.NotContains(t, a.header, "retry-after")
			}
			refused(t, curl(t, args...))
		})
	}
	t.Run("both headers name one user", func(t *testing.T) {
		refused(t, curl(t, "-H", "User-Id: alice", url))
		refused(t, curl(t, "-H", "X-User-Id: bob", url))
	})
	t.Run("a bad identifier", func(t *testing.T) {
		a := curl(t, "-H", "X-User-Id;", url) // the semicolon sends it empty
		require.Equal(t, "HTTP/1.1 400 Bad Request", a.status)
		require.Equal(t, "application/problem+json", a.header["content-type"])
		require.JSONEq(t, `{"type":"about:blank","title":"Bad Request","status":400,
			"detail":"X-User-Id is empty; send 1 to 128 bytes of UTF-8 without control characters, or leave it out"}`, a.body)
	})
	t.Run("a fault is masked", func(t *testing.T) {
		other := serve(t, "-socket", socket, "-addr", "127.0.0.1:0", "-rule", "gone", "-timeout", patience.String())
		a := curl(t, other)
		require.Equal(t, "HTTP/1.1 500 Internal Server Error", a.status)
		require.JSONEq(t, `{"type":"about:blank","title":"Internal Server Error","status":500,
			"detail":"the request could not be checked against its limit"}`, a.body)
	})
	t.Run("a trusted proxy speaks for others", func(t *testing.T) {
		proxied := serve(t, "-socket", socket, "-addr", "127.0.0.1:0", "-trust", "127.0.0.0/8", "-timeout", patience.String())
		a := curl(t, "-H", "X-Forwarded-For: 192.0.2.66, 198.51.100.1", proxied)
		require.Equal(t, "hello ip:198.51.100.1, 2 left\n", a.body)
		refused(t, curl(t, "-H", "X-Forwarded-For: 198.51.100.1", url)) // not from a trusted proxy: the budget of 127.0.0.1
	})
}

// refused checks the answer to a request beyond the limit, whose next token takes 33 hours.
func refused(t *testing.T, a answer) {
	t.Helper()
	require.Equal(t, "HTTP/1.1 429 Too Many Requests", a.status)
	require.Equal(t, "application/problem+json", a.header["content-type"])
	require.Equal(t, "3", a.header["x-ratelimit-limit"])
	require.Equal(t, "0", a.header["x-ratelimit-remaining"])
	require.Regexp(t, `^\d{6}$`, a.header["x-ratelimit-reset"])
	after := a.header["retry-after"]
	require.Regexp(t, `^1\d{5}$`, after)
	require.Equal(t, `"api:3/100h";r=0;t=`+after, a.header["ratelimit"])
	var p map[string]any
	require.NoError(t, json.Unmarshal([]byte(a.body), &p))
	ms, ok := p["retry_after_ms"].(float64)
	require.True(t, ok)
	require.Greater(t, ms, 100_000_000.0)
	delete(p, "retry_after_ms")
	require.Equal(t, map[string]any{
		"type": "https://iana.org/assignments/http-problem-types#quota-exceeded", "status": 429.0,
		"title":  "Request cannot be satisfied as assigned quota has been exceeded",
		"detail": "the limit 3/100h is used up; try again in " + after + " s",
		"rule":   "api", "denied_by": "limit", "violated-policies": []any{"api:3/100h"},
	}, p)
}

func TestErrorsNameTheWrongFlag(t *testing.T) {
	t.Parallel()
	err := main.Run(t.Context(), []string{"-trust", "10.0.0.0/8,nonsense"}, io.Discard)
	require.ErrorContains(t, err, `-trust: netip.ParsePrefix("nonsense")`)
}
