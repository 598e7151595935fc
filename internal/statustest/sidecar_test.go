// Package statustest tests the status page in Chromium: what it shows of real sidecars on a real Redis, its dark scheme
// and its layout on a phone, and that hostile names do not break it.
package statustest_test

import (
	"bufio"
	"context"
	"io"
	"math/rand/v2"
	"net"
	"net/http"
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

// limit ends a test that hangs; it is far longer than any step takes.
const limit = 2 * time.Minute

// binary is the sidecar that the make target built.
func binary(t testing.TB) string {
	t.Helper()
	path, err := filepath.Abs("../../bin/sidecar")
	require.NoError(t, err)
	_, err = os.Stat(path)
	require.NoError(t, err, "build it with: make build")
	return path
}

// process starts a program in a folder, which ends with the test, and returns its output, line by line.
func process(t testing.TB, dir string, env []string, program string, args ...string) (*exec.Cmd, *bufio.Scanner) {
	t.Helper()
	c := exec.Command(program, args...)
	c.Dir = dir
	c.Env = append(os.Environ(), env...)
	c.SysProcAttr = &syscall.SysProcAttr{Pdeathsig: syscall.SIGKILL}
	out, in, err := os.Pipe()
	require.NoError(t, err)
	c.Stdout, c.Stderr = in, in
	require.NoError(t, c.Start())
	require.NoError(t, in.Close())
	t.Cleanup(func() {
		end(c)
		_ = out.Close()
	})
	return c, bufio.NewScanner(out)
}

// end kills a process, if it has not ended.
func end(c *exec.Cmd) {
	_ = c.Process.Kill()
	_ = c.Wait()
}

// until reads lines up to one with a text. It continues to read in the background, so that the process does not block
// when it writes.
func until(t testing.TB, lines *bufio.Scanner, text string) {
	t.Helper()
	var all strings.Builder
	for lines.Scan() {
		all.WriteString(lines.Text() + "\n")
		if strings.Contains(lines.Text(), text) {
			go func() {
				for lines.Scan() { // empty the pipe
				}
			}()
			return
		}
	}
	require.Fail(t, "the process ended", "without %q:\n%s", text, all.String())
}

// freePort returns a port on which nothing listened a moment ago, below the range that the kernel assigns to clients: a
// browser that asks a sidecar which has ended would otherwise take its port, even by a connection to itself.
func freePort(t testing.TB) string {
	t.Helper()
	for range 1000 {
		port := strconv.Itoa(20_000 + rand.IntN(10_000))
		if l, err := net.Listen("tcp", "127.0.0.1:"+port); err == nil {
			require.NoError(t, l.Close())
			return port
		}
	}
	require.Fail(t, "no port is free")
	return ""
}

// redis starts a Redis server for the test.
func redis(t testing.TB) (url string, server *exec.Cmd) {
	t.Helper()
	port := freePort(t)
	server, lines := process(t, "", nil, "redis-server", "--port", port, "--bind", "127.0.0.1", "--save", "", "--appendonly", "no", "--dir", t.TempDir())
	until(t, lines, "Ready to accept connections")
	return "redis://127.0.0.1:" + port, server
}

// pod is one sidecar with its page.
type pod struct {
	socket, port string
	process      *exec.Cmd
	restart      func()
}

// page returns the address of the status page.
func (p *pod) page() string { return "http://127.0.0.1:" + p.port + "/" }

// newPod starts a sidecar with a configuration, and waits until it is ready.
func newPod(t testing.TB, redisURL, name, config string) *pod {
	t.Helper()
	dir, err := os.MkdirTemp("", "cox-") //nolint:usetesting // t.TempDir has the test's name in its path, which makes it too long for a socket
	require.NoError(t, err)
	t.Cleanup(func() { _ = os.RemoveAll(dir) })
	require.NoError(t, os.WriteFile(filepath.Join(dir, "coxswain.yaml"), []byte(config), 0o600))
	p := &pod{socket: filepath.Join(dir, "sidecar.sock"), port: freePort(t)}
	p.restart = func() {
		t.Helper()
		var lines *bufio.Scanner
		p.process, lines = process(t, dir, []string{"COXSWAIN_STREAMS_CONSUMER=" + name}, binary(t),
			"serve", "--socket", "sidecar.sock", "--redis", redisURL, "--config", "coxswain.yaml", "--http", "127.0.0.1:0", "--status", "127.0.0.1:"+p.port)
		until(t, lines, "health: ready")
	}
	p.restart()
	return p
}

// client connects as a program of the pod.
func (p *pod) client(t testing.TB, name, instance string) *client.Client {
	t.Helper()
	c, err := client.Dial(t.Context(), client.Options{Socket: p.socket, Client: name, Instance: instance})
	require.NoError(t, err)
	t.Cleanup(func() { _ = c.Close() })
	return c
}

// call calls a method that has to succeed.
func call(t testing.TB, c *client.Client, method string, params map[string]any) map[string]any {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), limit)
	defer cancel()
	var result map[string]any
	require.NoError(t, c.CallRaw(ctx, method, params, &result), method)
	return result
}

// get makes a request with a Host header, without a browser.
func get(t testing.TB, url, host string) (status int, body string) {
	t.Helper()
	r, err := http.NewRequestWithContext(t.Context(), http.MethodGet, url, nil)
	require.NoError(t, err)
	r.Host = host
	r.Close = true
	answer, err := http.DefaultClient.Do(r)
	require.NoError(t, err)
	defer answer.Body.Close()
	b, err := io.ReadAll(answer.Body)
	require.NoError(t, err)
	return answer.StatusCode, string(b)
}
