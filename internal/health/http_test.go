package health_test

import (
	"bufio"
	"context"
	"errors"
	"io"
	"log/slog"
	"net"
	"net/http"
	"net/http/httptest"
	"os"
	"strconv"
	"testing"
	"testing/synctest"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/stretchr/testify/require"

	"github.com/coxswain-sidecar/coxswain/client/api"
	"github.com/coxswain-sidecar/coxswain/internal/finding"
	"github.com/coxswain-sidecar/coxswain/internal/health"
)

var alone = &finding.Problem{ID: "redis-reach", Cause: "EMBEDDED STORE: nothing is shared or kept", Fix: "set redis.url", Warns: true}

// sick is a sidecar on the embedded store whose rules are missing.
func sick(t *testing.T) *health.Health {
	t.Helper()
	return start(t, health.Options{
		Live: []health.Check{(&fake{name: "socket", detail: "answers"}).check()},
		Ready: []health.Check{
			(&fake{name: "redis", detail: "embedded", err: alone}).check(),
			(&fake{name: "rules", err: errors.New("items[0].limits: missing; write at least one <limit>")}).check(),
			(&fake{name: "pool", detail: "1 of 50 in use"}).check(),
		},
		Store: "embedded",
	})
}

func TestWhatProbesAreTold(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		h := sick(t)
		defer h.Stop()
		synctest.Wait()
		report := `{
  "live": true,
  "ready": false,
  "degraded": false,
  "store": "embedded",
  "checks": [
    {
      "name": "pool",
      "ok": true,
      "detail": "1 of 50 in use"
    },
    {
      "name": "redis",
      "ok": true,
      "detail": "embedded; warning: EMBEDDED STORE: nothing is shared or kept; set redis.url",
      "cause": "EMBEDDED STORE: nothing is shared or kept",
      "fix": "set redis.url",
      "docs": "docs/doctor.md#redis-reach"
    },
    {
      "name": "rules",
      "ok": false,
      "detail": "items[0].limits: missing; write at least one <limit>"
    },
    {
      "name": "socket",
      "ok": true,
      "detail": "answers"
    }
  ]
}
`
		for path, want := range map[string]string{
			"/livez":    "200 ok\n",
			"/startupz": "200 ok\n",
			"/readyz": "503 not ready: rules: items[0].limits: missing; write at least one <limit>\n" +
				"warning: redis: EMBEDDED STORE: nothing is shared or kept; set redis.url\n",
			"/livez?verbose":      "200 " + report,
			"/startupz?verbose=1": "200 " + report,
			"/readyz?verbose":     "503 " + report,
			"/metrics":            "200 scraped\n",
			"/":                   "404 nothing here; try /livez, /readyz, /startupz (each with ?verbose) or /metrics\n",
			"/healthz":            "404 nothing here; try /livez, /readyz, /startupz (each with ?verbose) or /metrics\n",
		} {
			w := httptest.NewRecorder()
			health.Handler(h, scrape).ServeHTTP(w, httptest.NewRequest("GET", path, nil))
			got := strconv.Itoa(w.Code) + " " + w.Body.String()
			if d := cmp.Diff(want, got); d != "" {
				t.Errorf("%s (-want +got):\n%s", path, d)
			}
		}
	})
}

var scrape = http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) { _, _ = io.WriteString(w, "scraped\n") })

func TestTheReportIsThatOfTheCall(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		h := sick(t)
		defer h.Stop()
		synctest.Wait()
		require.Equal(t, api.HealthResult{Live: true, Store: "embedded", Checks: []api.HealthCheck{
			{Name: "pool", OK: true, Detail: "1 of 50 in use"},
			{
				Name: "redis", OK: true, Detail: "embedded; warning: EMBEDDED STORE: nothing is shared or kept; set redis.url",
				Cause: alone.Cause, Fix: alone.Fix, Docs: "docs/doctor.md#redis-reach",
			},
			{Name: "rules", Detail: "items[0].limits: missing; write at least one <limit>"},
			{Name: "socket", OK: true, Detail: "answers"},
		}}, h.Snapshot())
	})
}

func TestAReadySidecarSaysItsWarningsToo(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		h := start(t, health.Options{Ready: []health.Check{
			(&fake{name: "redis", err: &finding.Problem{ID: "x", Cause: "maxmemory-policy is allkeys-lru", Fix: "change it", Warns: true}}).check(),
		}})
		defer h.Stop()
		synctest.Wait()
		code, got := ask(t, h, "/readyz")
		require.Equal(t, http.StatusOK, code)
		require.Equal(t, "ok\nwarning: redis: maxmemory-policy is allkeys-lru; change it\n", got)
	})
}

// readiness.mode always: in service and honest about it.
func TestAlwaysIsReadyAndSaysDegraded(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		redis := &fake{name: "redis", err: away}
		h := start(t, health.Options{Ready: []health.Check{redis.check()}})
		defer h.Stop()
		h.SetAlways(true)
		code, got := ask(t, h, "/readyz")
		require.Equal(t, http.StatusOK, code, "from the start")
		require.Contains(t, got, "degraded: ", "whether or not the checks have run")
		synctest.Wait()
		code, got = ask(t, h, "/readyz")
		require.Equal(t, http.StatusOK, code)
		require.Equal(t, "degraded: redis: connection refused; is Redis up at redis.url?\n", got)
		s := h.Snapshot()
		require.True(t, s.Ready)
		require.True(t, s.Degraded)
		require.False(t, s.Checks[0].OK)

		redis.set(nil)
		after(time.Minute)
		_, got = ask(t, h, "/readyz")
		require.Equal(t, "ok\n", got)
		require.False(t, h.Snapshot().Degraded)

		redis.set(away)
		after(time.Minute)
		h.SetAlways(false)
		code, got = ask(t, h, "/readyz")
		require.Equal(t, http.StatusServiceUnavailable, code)
		require.Equal(t, "not ready: redis: connection refused; is Redis up at redis.url?\n", got)
	})
}

func TestOnlyGETAndHEADAreTaken(t *testing.T) {
	t.Parallel()
	h := start(t, health.Options{Live: []health.Check{(&fake{name: "socket"}).check()}})
	defer h.Stop()
	for _, method := range []string{"POST", "PUT", "DELETE", "PATCH", "OPTIONS"} {
		for _, path := range []string{"/livez", "/readyz", "/startupz", "/metrics", "/other"} {
			w := httptest.NewRecorder()
			health.Handler(h, scrape).ServeHTTP(w, httptest.NewRequest(method, path, nil))
			require.Equal(t, http.StatusMethodNotAllowed, w.Code, "%s %s", method, path)
			require.Equal(t, "GET, HEAD", w.Header().Get("Allow"))
		}
	}
}

func listen(t *testing.T, h *health.Health, metrics http.Handler) *health.Server {
	t.Helper()
	l, err := health.Listen("127.0.0.1:0")
	require.NoError(t, err)
	s := health.Serve(l, h, metrics, slog.New(slog.DiscardHandler))
	t.Cleanup(func() { _ = s.Stop(context.Background()) })
	return s
}

func TestThePortAnswersUntilItIsStopped(t *testing.T) {
	t.Parallel()
	h := start(t, health.Options{})
	defer h.Stop()
	s := listen(t, h, scrape)
	require.NotContains(t, s.Addr(), ":0")
	for method, want := range map[string]string{"GET": "scraped\n", "HEAD": ""} {
		r, err := http.NewRequestWithContext(t.Context(), method, "http://"+s.Addr()+"/metrics", nil)
		require.NoError(t, err)
		r.Close = true // its connection must not outlive the test
		res, err := http.DefaultClient.Do(r)
		require.NoError(t, err)
		body, err := io.ReadAll(res.Body)
		require.NoError(t, err)
		require.NoError(t, res.Body.Close())
		require.Equal(t, http.StatusOK, res.StatusCode)
		require.Equal(t, want, string(body))
	}
	require.NoError(t, s.Stop(t.Context()))
	_, err := net.Dial("tcp", s.Addr())
	require.Error(t, err)
	require.NoError(t, s.Stop(t.Context()), "twice is once")
}

func TestConnectionsThatAskNothingMakeRoomForOthers(t *testing.T) {
	t.Parallel()
	h := start(t, health.Options{})
	defer h.Stop()
	s := listen(t, h, scrape)
	open := make([]net.Conn, 3*health.MaxConns)
	for i := range open {
		c, err := net.Dial("tcp", s.Addr())
		require.NoError(t, err)
		defer c.Close()
		open[i] = c
		if i%2 == 0 {
			require.Equal(t, "404 Not Found", kept(t, c), "a new one is always served")
		}
	}
	require.Equal(t, "404 Not Found", kept(t, open[len(open)-1]))
	closed := make(map[int]bool)
	require.Eventually(t, func() bool {
		for i, c := range open {
			require.NoError(t, c.SetReadDeadline(time.Now().Add(time.Millisecond)))
			_, err := c.Read(make([]byte, 1))
			if !errors.Is(err, os.ErrDeadlineExceeded) {
				closed[i] = true
			}
		}
		return len(closed) >= 2*health.MaxConns
	}, time.Minute, time.Millisecond, "more stay open than the port allows")
	require.NotContains(t, closed, len(open)-1, "the last to ask goes last")
	require.NoError(t, s.Stop(t.Context()))
}

// kept sends a request on a connection that stays open, and returns the status.
func kept(t *testing.T, c net.Conn) string {
	t.Helper()
	_, err := io.WriteString(c, "GET / HTTP/1.1\r\nHost: a\r\n\r\n")
	require.NoError(t, err)
	r, err := http.ReadResponse(bufio.NewReader(c), nil)
	require.NoError(t, err)
	_, err = io.Copy(io.Discard, r.Body)
	require.NoError(t, err)
	require.NoError(t, r.Body.Close())
	return r.Status
}

func TestStopCutsOffWhatDoesNotEnd(t *testing.T) {
	t.Parallel()
	h := start(t, health.Options{})
	defer h.Stop()
	entered := make(chan struct{})
	s := listen(t, h, http.HandlerFunc(func(_ http.ResponseWriter, r *http.Request) {
		close(entered)
		<-r.Context().Done()
	}))
	answered := make(chan error)
	go func() {
		res, err := http.Get("http://" + s.Addr() + "/metrics")
		if err == nil {
			err = res.Body.Close()
		}
		answered <- err
	}()
	<-entered
	ended, cancel := context.WithCancel(t.Context())
	cancel()
	require.ErrorIs(t, s.Stop(ended), context.Canceled)
	require.Error(t, <-answered)
}

func TestAnAddressThatCannotBeHasARemedy(t *testing.T) {
	t.Parallel()
	h := start(t, health.Options{})
	defer h.Stop()
	s := listen(t, h, scrape)
	for addr, want := range map[string]string{
		s.Addr():        "http.addr \"" + s.Addr() + "\": the port is taken; stop what listens there, or set http.addr (--http, COXSWAIN_HTTP_ADDR) to a free one",
		"8086":          "; write http.addr (--http, COXSWAIN_HTTP_ADDR) as host:port, such as :8086",
		"192.0.2.1:80":  "http.addr \"192.0.2.1:80\": ", // not an address of this machine
		"127.0.0.1:1e9": "http.addr \"127.0.0.1:1e9\": cannot listen: ",
	} {
		_, err := health.Listen(addr)
		require.ErrorContains(t, err, want)
	}
}
