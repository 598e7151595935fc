package main_test

import (
	"encoding/json"
	"fmt"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
	"time"

	"github.com/redis/go-redis/v9"
	"github.com/stretchr/testify/require"

	"github.com/coxswain-sidecar/coxswain/client"
	"github.com/coxswain-sidecar/coxswain/client/api"
	"github.com/coxswain-sidecar/coxswain/client/httplimit"
	"github.com/coxswain-sidecar/coxswain/internal/redistest"
)

// oneOfEachMode are rules that differ in their fail mode alone.
const oneOfEachMode = `rules:
  items:
    - {name: open, algorithm: token_bucket, limits: [{limit: 2, period_ms: 3600000}], fail_mode: open}
    - {name: local, algorithm: token_bucket, limits: [{limit: 2, period_ms: 3600000}], fail_mode: local}
    - {name: closed, algorithm: token_bucket, limits: [{limit: 2, period_ms: 3600000}], fail_mode: closed}
`

func onRules(t *testing.T, url string) *sidecar {
	t.Helper()
	file := t.TempDir() + "/c.yaml"
	put(t, file, oneOfEachMode)
	return serve(t, socketIn(t), []string{noGrace, "COXSWAIN_CONFIG=" + file}, "--redis", url)
}

// hears is what callers are told while Redis refuses: each fail mode decides, and
// what fails says why. Nothing takes nearly as long as its deadline.
func hears(t *testing.T, s *sidecar, trouble, words string) {
	t.Helper()
	c := dial(t, s.socket, "caller")
	for range 3 {
		d, err := c.RatelimitAcquire(t.Context(), api.RatelimitParams{Rule: "open", Key: "k"})
		require.NoError(t, err)
		require.True(t, d.Allowed)
		require.True(t, d.Degraded)
		require.False(t, d.MaybeExecuted)
	}
	allowed := 0
	for range 9 {
		d, err := c.RatelimitAcquire(t.Context(), api.RatelimitParams{Rule: "local", Key: words})
		require.NoError(t, err)
		require.True(t, d.Degraded)
		if d.Allowed {
			allowed++
		}
	}
	require.Less(t, allowed, 3, "this process alone limits it")
	for name, call := range map[string]func() error{
		"a rule that fails closed": func() error {
			_, err := c.RatelimitAcquire(t.Context(), api.RatelimitParams{Rule: "closed", Key: "k"})
			return err
		},
		"a lock": func() error { _, err := c.LockAcquire(t.Context(), "l", client.LockOptions{}); return err },
	} {
		var e *api.Error
		require.ErrorAs(t, call(), &e, name)
		require.Equal(t, api.Unavailable, e.Code, name)
		require.Equal(t, trouble, e.Trouble(), name)
		require.Contains(t, e.Message, words, name)
		require.NotContains(t, e.Message, "127.0.0.1", name)
		require.False(t, e.MaybeExecuted(), name)
	}
	for rule, want := range map[string]int{"open": http.StatusNoContent, "closed": http.StatusServiceUnavailable} {
		w := httptest.NewRecorder()
		r := httptest.NewRequest(http.MethodGet, "/", nil)
		httplimit.Handler(c, httplimit.HandlerOptions{Rule: rule, Timeout: 2 * time.Second})(http.HandlerFunc(
			func(w http.ResponseWriter, _ *http.Request) { w.WriteHeader(http.StatusNoContent) })).ServeHTTP(w, r)
		require.Equal(t, want, w.Code, rule)
	}
}

// lines counts lines of the log that have a message and a trouble.
func lines(t *testing.T, log, msg, trouble string) (n int) {
	t.Helper()
	for line := range strings.Lines(log) {
		var l struct{ Msg, Trouble, Remedy string }
		if json.Unmarshal([]byte(line), &l) == nil && strings.Contains(l.Msg, msg) && l.Trouble == trouble {
			require.True(t, trouble == "" || l.Remedy != "", line)
			n++
		}
	}
	return n
}

func TestARedisThatRefusesIsReportedEverywhereAndFailModesDecide(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		words      string
		begin, end string
	}{
		"oom":        {"out of memory", "config set maxmemory 1", "config set maxmemory 0"},
		"noreplicas": {"too few replicas", "config set min-replicas-to-write 1", "config set min-replicas-to-write 0"},
		"readonly":   {"read only", "replicaof 127.0.0.1 1", "replicaof no one"},
		"denied":     {"HMGET", "acl setuser default -hmget -zadd -hget -set", "acl setuser default +@all"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			server := redistest.Start(t)
			s := onRules(t, server.URL())
			wait(t, s.socket)
			admin := server.Client(t)
			tell(t, admin, c.begin)
			s.shows(t, "/metrics", fmt.Sprintf("coxswain_redis_trouble{trouble=%q} 1\n", name))
			hears(t, s, name, c.words)
			require.Eventually(t, func() bool { return status(t, s, "/readyz") == http.StatusServiceUnavailable }, limit, 5*time.Millisecond)
			s.shows(t, "/readyz", c.words)
			tell(t, admin, c.end)
			require.Eventually(t, func() bool { return status(t, s, "/readyz") == http.StatusOK }, limit, 5*time.Millisecond, "without a restart")
			s.shows(t, "/metrics", "coxswain_redis_trouble{trouble=\"none\"} 0\n")
			d, err := dial(t, s.socket, "after").RatelimitAcquire(t.Context(), api.RatelimitParams{Rule: "closed", Key: "after"})
			require.NoError(t, err)
			require.False(t, d.Degraded)
			require.Eventually(t, func() bool { return lines(t, s.log.String(), "redis is up", "") == 2 }, limit, 5*time.Millisecond,
				"at the start, and when it was over")
			log := s.log.String()
			require.Equal(t, 1, lines(t, log, "redis answers and refuses", name), log)
			require.NotContains(t, log, "call failed")
		})
	}
}

func TestCommandsThatAreMissingAtTheStartAreNamed(t *testing.T) {
	t.Parallel()
	for _, name := range []string{"EVALSHA", "ZADD"} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			s := onRules(t, redistest.Start(t, "--rename-command", name, "").URL())
			require.Eventually(t, func() bool { return strings.Contains(s.log.String(), `"msg":"serving"`) }, limit, time.Millisecond)
			s.shows(t, "/readyz", "redis does not know "+name)
			s.shows(t, "/readyz", "docs/redis.md")
			require.Equal(t, http.StatusServiceUnavailable, status(t, s, "/readyz"))
			_, err := dial(t, s.socket, "caller").LockAcquire(t.Context(), "l", client.LockOptions{})
			var e *api.Error
			require.ErrorAs(t, err, &e)
			require.Equal(t, api.Unavailable, e.Code)
			require.Contains(t, e.Message, name)
			require.Equal(t, "no_command", e.Trouble())
		})
	}
}

func tell(t *testing.T, c *redis.Client, words string) {
	t.Helper()
	var args []any
	for _, w := range strings.Fields(words) {
		args = append(args, w)
	}
	require.NoError(t, c.Do(t.Context(), args...).Err())
}
