package health_test

import (
	"errors"
	"io"
	"net/http"
	"net/http/httptest"
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

func TestProbesGetTheStateAndItsReasons(t *testing.T) {
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

func TestAReadySidecarReportsItsWarnings(t *testing.T) {
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
