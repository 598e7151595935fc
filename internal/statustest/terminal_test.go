package statustest_test

import (
	"html"
	"io"
	"net/url"
	"os/exec"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
)

// screen collects what a program writes to its terminal.
type screen struct {
	mu sync.Mutex // guards b
	b  strings.Builder
}

func (s *screen) Write(p []byte) (int, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.b.Write(p)
}

// frame returns the last complete frame that sidecar top drew; empty = none yet.
func (s *screen) frame() string {
	s.mu.Lock()
	defer s.mu.Unlock()
	all, _, _ := cutLast(s.b.String(), "\x1b[J")
	_, frame, _ := cutLast(all, "\x1b[H")
	return strings.ReplaceAll(strings.ReplaceAll(frame, "\x1b[K", ""), "\r", "")
}

func cutLast(s, sep string) (before, after string, found bool) {
	if i := strings.LastIndex(s, sep); i >= 0 {
		return s[:i], s[i+len(sep):], true
	}
	return s, "", false
}

// top runs sidecar top on a terminal of 118 columns and 16 lines, and returns a frame of a view after several looks.
func top(t testing.TB, p *pod, view string) string {
	t.Helper()
	command := "stty cols 118 rows 16; exec " + binary(t) + " top --view " + view + " --interval 1s --socket " + p.socket
	c := exec.Command("script", "-qec", command, "/dev/null")
	keys, err := c.StdinPipe()
	require.NoError(t, err)
	s := &screen{}
	c.Stdout = s
	require.NoError(t, c.Start())
	t.Cleanup(func() { end(c) })
	frames := map[string]bool{}
	for len(frames) < 5 { // the rates of the first look are since the start of the sidecar
		frames[s.frame()] = true
		time.Sleep(100 * time.Millisecond)
	}
	frame := s.frame()
	_, err = io.WriteString(keys, "q")
	require.NoError(t, err)
	require.NoError(t, c.Wait())
	return frame
}

// asPage returns a frame as an HTML page, in a data URL.
func asPage(frame string) string {
	return "data:text/html;charset=utf-8," + url.PathEscape(`<!DOCTYPE html><style>
body { margin: 0; background: #10151b; }
pre { margin: 0; padding: 14px 18px; color: #dfe5eb; font: 13px/1.35 "DejaVu Sans Mono", monospace; width: max-content; }
</style><pre>`+html.EscapeString(frame)+`</pre>`)
}
