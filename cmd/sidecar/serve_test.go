package main_test

import (
	"errors"
	"io"
	"log/slog"
	"net"
	"net/http"
	"os"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/coxswain-sidecar/coxswain/client"
	"github.com/coxswain-sidecar/coxswain/client/api"
	main "github.com/coxswain-sidecar/coxswain/cmd/sidecar"
	"github.com/coxswain-sidecar/coxswain/internal/config"
	"github.com/coxswain-sidecar/coxswain/internal/redistest"
)

// What the README shows, word for word but for the paths and for the time of the limit, of which none comes back while
// the test runs.
func TestALimitALockAndATypoFromTheCommandLine(t *testing.T) {
	t.Parallel()
	s := ready(t)
	acquire := []string{
		"call", "--socket", s.socket, "-o", "json", "ratelimit.acquire",
		`{"key":"a","algorithm":"token_bucket","limits":[{"limit":3,"period_ms":3600000}]}`,
	}
	for i := range 3 {
		a := cli(t, acquire...)
		require.Equal(t, main.OK, a.code, a.err)
		require.Contains(t, a.out, `"allowed":true`, "call %d", i+1)
		require.Contains(t, a.out, `"retry_after_ms":0,`)
	}
	a := cli(t, acquire...)
	require.Equal(t, main.OK, a.code, "a refusal is a result")
	require.Contains(t, a.out, `"allowed":false`)
	require.Contains(t, a.out, `"denied_by":"limit"`)
	require.Regexp(t, `"retry_after_ms":[1-9][0-9]*,`, a.out)

	first := call(t, s.socket, "lock.acquire", `{"name":"l","bind":"ttl"}`)
	require.Equal(t, true, first["acquired"])
	second := call(t, s.socket, "lock.acquire", `{"name":"l","bind":"ttl"}`)
	require.Equal(t, false, second["acquired"])
	holder, ok := second["held_by"].(map[string]any)
	require.True(t, ok, "%v", second)
	require.Equal(t, "sidecar call", holder["client"])
	require.NotContains(t, second, "token")

	a = cli(t, "call", "--socket", s.socket, "lock.aquire")
	require.Equal(t, main.Failed, a.code)
	require.Empty(t, a.out)
	require.Equal(t, "METHOD_NOT_FOUND: lock.aquire: no such method; did you mean lock.acquire?\n", a.err)
}

func TestTheSessionOfACallEndsWithIt(t *testing.T) {
	t.Parallel()
	s := ready(t)
	require.Equal(t, true, call(t, s.socket, "lock.acquire", `{"name":"l"}`)["acquired"])
	require.Eventually(t, func() bool {
		held, ok := call(t, s.socket, "lock.get", `{"name":"l"}`)["held"].(bool)
		return ok && !held
	}, limit, 5*time.Millisecond)
}

func TestRulesOfTheFileAreInForce(t *testing.T) {
	t.Parallel()
	file := t.TempDir() + "/c.yaml"
	require.NoError(t, os.WriteFile(file, []byte(`
rules:
  items:
    - name: crawl
      algorithm: token_bucket
      limits: [{limit: 1, period_ms: 3600000}]
`), 0o600))
	s := ready(t, "COXSWAIN_CONFIG="+file)
	require.Equal(t, true, call(t, s.socket, "ratelimit.acquire", `{"rule":"crawl","key":"a"}`)["allowed"])
	r := call(t, s.socket, "ratelimit.acquire", `{"rule":"crawl","key":"a"}`)
	require.Equal(t, false, r["allowed"])
	require.Equal(t, "1/1h", r["band"])
	a := cli(t, "call", "--socket", s.socket, "ratelimit.acquire", `{"rule":"craw","key":"a"}`)
	require.Equal(t, main.Failed, a.code)
	require.Contains(t, a.err, "NOT_FOUND: ")
}

// Sidecars of one host are consumers of their own when they are told what they are called.
func TestAConsumerIsCalledAsItsConfigurationSays(t *testing.T) {
	t.Parallel()
	host, err := os.Hostname()
	require.NoError(t, err)
	prefix := redistest.Prefix(t)
	for env, name := range map[string]string{"": host, "COXSWAIN_STREAMS_CONSUMER=pod-7": "pod-7"} {
		s := ready(t, "COXSWAIN_REDIS_PREFIX="+prefix, env)
		call(t, s.socket, "stream.publish", `{"stream":"`+name+`"}`)
		require.NotEmpty(t, call(t, s.socket, "stream.fetch", `{"stream":"`+name+`","group":"g","bind":"ttl"}`)["messages"])
		groups, err := dial(t, s.socket, "asks").StreamGroups(t.Context(), name)
		require.NoError(t, err)
		require.Len(t, groups[0].Consumers, 1)
		require.Equal(t, name, groups[0].Consumers[0].Name)
	}
}

// The whole way of a SIGTERM to a process of its own, with a client that stays.
func TestSIGTERMReleasesWhatIsHeldAndExitsWith0(t *testing.T) {
	t.Parallel()
	env := []string{"COXSWAIN_REDIS_PREFIX=" + redistest.Prefix(t), "COXSWAIN_LIMITS_SHUTDOWN_GRACE=20ms", "COXSWAIN_HTTP_ADDR=127.0.0.1:0"}
	socket := socketIn(t)
	p, log := spawn(t, env, "serve", "--socket", socket, "--redis", redistest.URL(t))
	wait(t, socket)
	l, err := dial(t, socket, "stays").LockAcquire(t.Context(), "l", client.LockOptions{TTL: time.Hour})
	require.NoError(t, err)
	require.NoError(t, p.Process.Signal(syscall.SIGTERM))
	require.NoError(t, p.Wait(), "exit code 0; its log:\n%s", log)
	require.Contains(t, log.String(), `"msg":"stopped"`)
	require.NoFileExists(t, socket)
	<-l.Context().Done()

	other := serve(t, socketIn(t), env, "--redis", redistest.URL(t))
	wait(t, other.socket)
	require.Equal(t, false, call(t, other.socket, "lock.get", `{"name":"l"}`)["held"], "an hour before its TTL")
}

func TestWhileStoppingNothingIsAcquiredAndReleasesGoOn(t *testing.T) {
	t.Parallel()
	s := ready(t, "COXSWAIN_LIMITS_SHUTDOWN_GRACE=1h")
	c := dial(t, s.socket, "stays")
	l, err := c.LockAcquire(t.Context(), "l", client.LockOptions{})
	require.NoError(t, err)
	s.signals <- syscall.SIGINT
	require.Eventually(t, func() bool {
		_, err := client.Call(t.Context(), c, api.LockAcquire, api.LockAcquireParams{Name: "m", Bind: api.BindTTL, TTLMS: 100})
		return errors.Is(err, api.Draining)
	}, limit, time.Millisecond)
	require.NoError(t, l.Release(t.Context()))
	require.NoError(t, c.Close())
	require.Equal(t, main.OK, s.exit(t), "it ends with its last client, an hour before the grace does")
}

func TestASecondSignalEndsAtOnce(t *testing.T) {
	t.Parallel()
	socket := socketIn(t)
	p, log := spawn(t, []string{"COXSWAIN_LIMITS_SHUTDOWN_GRACE=1h"}, "serve", "--socket", socket, "--redis", "embedded", "--http", "")
	wait(t, socket)
	dial(t, socket, "stays")
	require.NoError(t, p.Process.Signal(syscall.SIGTERM))
	require.Eventually(t, func() bool { return strings.Contains(log.String(), `"msg":"stopping"`) }, limit, time.Millisecond)
	require.NoError(t, p.Process.Signal(syscall.SIGINT))
	require.Error(t, p.Wait())
	require.Equal(t, main.Signal+int(syscall.SIGINT), p.ProcessState.ExitCode(), log)
	require.Contains(t, log.String(), "ended by a second signal")
}

func TestRedisDownAtBootIsNotReadyAndThenReadyWithoutARestart(t *testing.T) {
	t.Parallel()
	redis := redistest.Start(t)
	redis.Stop()
	s := serve(t, socketIn(t), []string{noGrace}, "--redis", redis.URL())
	require.Eventually(t, func() bool {
		return cli(t, "probe", "live", "--socket", s.socket).code == main.OK
	}, limit, time.Millisecond, "a sidecar without Redis lives")
	require.Eventually(t, func() bool { // once the first check has been
		a := cli(t, "probe", "ready", "--socket", s.socket)
		return a.code == main.Failed &&
			strings.Contains(a.err, "not ready\n  redis: "+strings.TrimPrefix(redis.URL(), "redis://")+"; redis cannot be reached, since nothing listens at its address (")
	}, limit, time.Millisecond)
	require.Equal(t, http.StatusServiceUnavailable, status(t, s, "/readyz"))
	require.Equal(t, http.StatusOK, status(t, s, "/livez"))
	require.Equal(t, http.StatusOK, status(t, s, "/startupz"))
	a := cli(t, "call", "--socket", s.socket, "lock.get", `{"name":"l"}`)
	require.Equal(t, main.Failed, a.code)
	require.Contains(t, a.err, "UNAVAILABLE: ")
	a, within := inVain(t, s, "ready")
	require.Equal(t, main.Failed, a.code)
	require.Contains(t, a.err, "not within "+within+": not ready\n  redis: ")

	redis.Restart()
	wait(t, s.socket)
	require.Equal(t, http.StatusOK, status(t, s, "/readyz"))
	require.Equal(t, false, call(t, s.socket, "lock.get", `{"name":"l"}`)["held"])
}

// get asks the health port and returns the status and the body.
func get(t *testing.T, s *sidecar, path string) (int, string) {
	t.Helper()
	req, err := http.NewRequestWithContext(t.Context(), http.MethodGet, "http://"+s.httpAddr(t)+path, nil)
	require.NoError(t, err)
	req.Close = true
	r, err := http.DefaultClient.Do(req)
	require.NoError(t, err)
	defer r.Body.Close()
	b, err := io.ReadAll(r.Body)
	require.NoError(t, err)
	return r.StatusCode, string(b)
}

func status(t *testing.T, s *sidecar, path string) int {
	t.Helper()
	code, _ := get(t, s, path)
	return code
}

func page(t *testing.T, s *sidecar, path string) string {
	t.Helper()
	_, body := get(t, s, path)
	return body
}

func TestASocketFileLeftByKill9IsTakenOver(t *testing.T) {
	t.Parallel()
	socket := socketIn(t)
	p, _ := spawn(t, nil, "serve", "--socket", socket, "--redis", "embedded", "--http", "")
	wait(t, socket)
	require.NoError(t, p.Process.Kill())
	require.Error(t, p.Wait())
	require.FileExists(t, socket)
	a := cli(t, "call", "--socket", socket, "session.ping")
	require.Equal(t, main.Unreachable, a.code)
	require.Equal(t, "cannot reach the sidecar at "+socket+
		": nobody listens on it: the file was left by a sidecar that died; start one: it takes the file over\n", a.err)

	serve(t, socket, []string{noGrace}, "--redis", "embedded")
	wait(t, socket)
}

func TestASecondSidecarLeavesTheFirstAlone(t *testing.T) {
	t.Parallel()
	first := serve(t, socketIn(t), []string{noGrace}, "--redis", "embedded")
	wait(t, first.socket)
	c := dial(t, first.socket, "stays")
	l, err := c.LockAcquire(t.Context(), "l", client.LockOptions{})
	require.NoError(t, err)

	second := serve(t, first.socket, []string{noGrace}, "--redis", "embedded", "--log-level", "error")
	require.Equal(t, main.Failed, second.exit(t))
	require.Equal(t, []string{"socket " + first.socket + ": another sidecar listens there; stop it, or set socket.path to another path"}, fatal(t, second.log.String()))

	require.NoError(t, l.Context().Err())
	require.Equal(t, true, call(t, first.socket, "lock.get", `{"name":"l"}`)["held"])
}

func TestASocketPathThatIsTooLongNamesTheLimit(t *testing.T) {
	t.Parallel()
	path := "/" + strings.Repeat("a", 107)
	a := cli(t, "serve", "--socket", path)
	require.Equal(t, main.Usage, a.code)
	require.Equal(t, []string{"--socket: socket.path: has 108 bytes; the operating system takes at most 107: choose a shorter path"}, fatal(t, a.err))
	a = cli(t, "call", "--socket", path, "session.ping")
	require.Equal(t, main.Unreachable, a.code)
	require.Equal(t, "cannot reach the sidecar at "+path+": the path has 108 bytes; the operating system takes at most 107; choose a shorter one\n", a.err)
}

func TestAnOccupiedPortIsOneClearLineAndLeavesNothingBehind(t *testing.T) {
	t.Parallel()
	l, err := net.Listen("tcp", "127.0.0.1:0")
	require.NoError(t, err)
	defer l.Close()
	socket := socketIn(t)
	a := cli(t, "serve", "--socket", socket, "--redis", "redis://127.0.0.1:1", "--http", l.Addr().String())
	require.Equal(t, main.Failed, a.code)
	errs := fatal(t, a.err)
	require.Len(t, errs, 1)
	require.Contains(t, errs[0], `http.addr "`+l.Addr().String()+`": the port is taken; `)
	require.Equal(t, 1, strings.Count(a.err, "\n"), "nothing was served, and so nothing is told: %s", a.err)
	require.NoFileExists(t, socket)
}

func TestTheEmbeddedStoreIsWarnedAbout(t *testing.T) {
	t.Parallel()
	s := serve(t, socketIn(t), []string{noGrace}, "--redis", "embedded")
	wait(t, s.socket)
	s.logs(t, `"level":"WARN","msg":"using the embedded store: `)
	const warning = "its state is in this process alone and ends with it; for development only; set redis.url"
	require.Equal(t, "ok\nwarning: redis: "+warning+"\n", page(t, s, "/readyz"))
	verbose := page(t, s, "/readyz?verbose")
	require.Contains(t, verbose, `"store": "embedded"`)
	require.Contains(t, verbose, warning)
	require.Equal(t, "ready (embedded store)\n", cli(t, "probe", "ready", "--socket", s.socket, "--timeout", limit.String()).out)
}

func TestTheStateOfTheSidecarIsInItsMetrics(t *testing.T) {
	t.Parallel()
	s := ready(t, "COXSWAIN_REDIS_POOL_MAX=7")
	dial(t, s.socket, "stays")
	var metrics string
	require.Eventually(t, func() bool { // once the connection of wait is counted out
		metrics = page(t, s, "/metrics")
		return strings.Contains(metrics, "\ncoxswain_connections 1\n")
	}, limit, time.Millisecond, "the one that stays")
	for _, line := range []string{"coxswain_redis_up 1\n", "coxswain_redis_pool_max 7\n", "coxswain_ready 1\n"} {
		require.Contains(t, metrics, "\n"+line)
	}
	for _, name := range []string{
		`coxswain_redis_rtt_seconds`, `coxswain_redis_memory_bytes`,
		`coxswain_redis_pool{state="idle"}`, `coxswain_redis_pool{state="used"}`,
	} {
		require.Contains(t, metrics, "\n"+name+" ")
	}
}

func TestSeveralSidecarsInOneProcessShareOneRedis(t *testing.T) {
	t.Parallel()
	prefix := "COXSWAIN_REDIS_PREFIX=" + redistest.Prefix(t)
	a, b := ready(t, prefix), ready(t, prefix)
	require.Equal(t, true, call(t, a.socket, "lock.acquire", `{"name":"l","bind":"ttl"}`)["acquired"])
	require.Equal(t, false, call(t, b.socket, "lock.acquire", `{"name":"l","bind":"ttl"}`)["acquired"])
	a.signals <- syscall.SIGTERM
	require.Equal(t, main.OK, a.exit(t))
	require.Equal(t, true, call(t, b.socket, "lock.get", `{"name":"l"}`)["held"])
}

func TestStopIsSafeInAnyOrder(t *testing.T) {
	t.Parallel()
	app := func() *main.App {
		c := config.Default()
		c.Socket.Path, c.HTTP.Addr, c.Redis.URL, c.Limits.ShutdownGrace = socketIn(t), "", "embedded", 0
		return main.NewApp(&c, slog.New(slog.DiscardHandler))
	}
	never := app()
	never.Stop()
	require.ErrorContains(t, never.Start(), "stopped before")

	twice := app()
	require.NoError(t, twice.Start())
	require.ErrorContains(t, twice.Start(), "started or stopped before")
	twice.Stop()
	twice.Stop()

	for range 20 {
		a := app()
		var wg sync.WaitGroup
		wg.Go(func() { _ = a.Start() }) // either comes first
		wg.Go(a.Stop)
		wg.Go(a.Stop)
		wg.Wait()
		a.Stop()
	}
}
