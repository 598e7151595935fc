package main_test

import (
	"encoding/json"
	"io"
	"net"
	"net/http"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	main "github.com/coxswain-sidecar/coxswain/cmd/sidecar"
)

// debugURL is where a sidecar's log says that its profiles are.
func debugURL(t *testing.T, s *sidecar) string {
	t.Helper()
	var l struct{ Msg, Debug string }
	require.Eventually(t, func() bool {
		for line := range strings.Lines(s.log.String()) {
			if json.Unmarshal([]byte(line), &l) == nil && l.Msg == "serving profiles" {
				return true
			}
		}
		return false
	}, limit, time.Millisecond, "no line says where the profiles are")
	return l.Debug
}

func fetch(t *testing.T, url string) (int, string) {
	t.Helper()
	req, err := http.NewRequestWithContext(t.Context(), http.MethodGet, url, nil)
	require.NoError(t, err)
	r, err := http.DefaultClient.Do(req)
	require.NoError(t, err)
	defer r.Body.Close()
	b, err := io.ReadAll(r.Body)
	require.NoError(t, err)
	return r.StatusCode, string(b)
}

func TestProfilesAreServedWhereTheyWereAskedForAndEndWithTheSidecar(t *testing.T) {
	t.Parallel()
	s := serve(t, socketIn(t), []string{noGrace}, "--redis", "embedded", "--debug-addr", "127.0.0.1:0")
	url := debugURL(t, s)
	status, body := fetch(t, url+"goroutine?debug=1")
	require.Equal(t, http.StatusOK, status)
	require.Contains(t, body, "goroutine profile: total ")
	status, _ = fetch(t, url+"cmdline")
	require.Equal(t, http.StatusNotFound, status, "the command line may have a password")

	wait(t, s.socket)
	s.signals <- syscall.SIGTERM
	require.Equal(t, main.OK, s.exit(t))
	_, err := net.Dial("tcp", strings.TrimSuffix(strings.TrimPrefix(url, "http://"), "/debug/pprof/"))
	require.Error(t, err)
}

func TestProfilesAreNowhereUnlessAskedFor(t *testing.T) {
	t.Parallel()
	s := serve(t, socketIn(t), []string{noGrace}, "--redis", "embedded")
	wait(t, s.socket)
	status, _ := fetch(t, "http://"+s.httpAddr(t)+"/debug/pprof/")
	require.Equal(t, http.StatusNotFound, status)
	require.NotContains(t, s.log.String(), "serving profiles")
}

func TestProfilesAreForThisMachineAlone(t *testing.T) {
	t.Parallel()
	const only = ": profiles are served on 127.0.0.1 only; write 127.0.0.1:PORT\n"
	for addr, want := range map[string]string{
		"0.0.0.0:6060":   "--debug-addr 0.0.0.0:6060" + only,
		":6060":          "--debug-addr :6060" + only,
		"localhost:6060": "--debug-addr localhost:6060" + only,
		"[::1]:6060":     "--debug-addr [::1]:6060" + only,
		"6060":           "--debug-addr 6060: address 6060: missing port in address; write 127.0.0.1:PORT\n",
	} {
		a := cli(t, "serve", "--redis", "embedded", "--socket", socketIn(t), "--http", "", "--debug-addr", addr)
		require.Equal(t, answer{main.Usage, "", want}, a)
	}
}

func TestAPortThatIsTakenKeepsTheSidecarFromStarting(t *testing.T) {
	t.Parallel()
	l, err := net.Listen("tcp", "127.0.0.1:0")
	require.NoError(t, err)
	defer l.Close()
	addr := l.Addr().String()
	a := cli(t, "serve", "--redis", "embedded", "--socket", socketIn(t), "--http", "", "--debug-addr", addr)
	require.Equal(t, main.Failed, a.code)
	errs := fatal(t, a.err)
	require.Len(t, errs, 1)
	require.Contains(t, errs[0], "--debug-addr "+addr+": cannot listen, choose another port: ")
}
