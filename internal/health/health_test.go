package health_test

import (
	"bytes"
	"context"
	"errors"
	"log/slog"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/require"
	sdkmetric "go.opentelemetry.io/otel/sdk/metric"
	"go.opentelemetry.io/otel/sdk/metric/metricdata"
	"go.opentelemetry.io/otel/trace/noop"
	"go.uber.org/goleak"

	"github.com/coxswain-sidecar/coxswain/internal/health"
	"github.com/coxswain-sidecar/coxswain/internal/telemetry"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

// fake is a check whose outcome a test changes.
type fake struct {
	name string

	mu     sync.Mutex // guards what follows
	detail string
	err    error
	runs   int
}

func (f *fake) check() health.Check {
	return health.Check{Name: f.name, Run: func(context.Context) (string, error) {
		f.mu.Lock()
		defer f.mu.Unlock()
		f.runs++
		return f.detail, f.err
	}}
}

func (f *fake) set(err error) {
	f.mu.Lock()
	defer f.mu.Unlock()
	f.err = err
}

var away = errors.New("connection refused; is Redis up at redis.url?")

func start(t *testing.T, o health.Options) *health.Health {
	t.Helper()
	if o.Log == nil {
		o.Log = slog.New(slog.DiscardHandler)
	}
	if o.Telemetry == nil {
		o.Telemetry = telemetry.Nop()
	}
	h, err := health.Start(o)
	require.NoError(t, err)
	return h
}

// ask answers as the handler does: status and body.
func ask(t *testing.T, h *health.Health, path string) (int, string) {
	t.Helper()
	w := httptest.NewRecorder()
	health.Handler(h, http.NotFoundHandler()).ServeHTTP(w, httptest.NewRequest("GET", path, nil))
	return w.Code, w.Body.String()
}

// after lets d pass, and everything that is due by then happen.
func after(d time.Duration) {
	time.Sleep(d)
	synctest.Wait()
}

func TestTwoFailedRoundsMakeItUnreadyAndOneGoodRoundReady(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		redis := &fake{name: "redis"}
		h := start(t, health.Options{Ready: []health.Check{redis.check()}})
		defer h.Stop()
		for _, step := range []struct {
			err  error
			want string
		}{
			{nil, "ok\n"},
			{away, "ok\nwarning: redis: " + away.Error() + "\n"}, // once is not enough
			{nil, "ok\n"},
			{away, "ok\nwarning: redis: " + away.Error() + "\n"}, // and the count began again
			{away, "not ready: redis: " + away.Error() + "\n"},
			{away, "not ready: redis: " + away.Error() + "\n"},
			{nil, "ok\n"}, // once is enough
			{away, "ok\nwarning: redis: " + away.Error() + "\n"},
			{away, "not ready: redis: " + away.Error() + "\n"},
		} {
			redis.set(step.err)
			after(health.Every)
			_, got := ask(t, h, "/readyz")
			require.Equal(t, step.want, got)
		}
	})
}

func TestReadyAtOnceWhenAllIsThere(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		redis := &fake{name: "redis", err: away}
		h := start(t, health.Options{Ready: []health.Check{redis.check()}})
		defer h.Stop()
		synctest.Wait()
		code, _ := ask(t, h, "/readyz")
		require.Equal(t, http.StatusServiceUnavailable, code, "a first bad round is no reason to start ready")

		redis.set(nil) // the connection came up, some milliseconds after the start
		after(health.Soonest)
		code, _ = ask(t, h, "/readyz")
		require.Equal(t, http.StatusOK, code)
	})
}

func TestALongOutageIsNotPolledHard(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		redis := &fake{name: "redis", err: away}
		h := start(t, health.Options{Ready: []health.Check{redis.check()}})
		defer h.Stop()
		after(15 * time.Minute)
		redis.mu.Lock()
		defer redis.mu.Unlock()
		require.Less(t, redis.runs, 15*60+10)
		require.Greater(t, redis.runs, 15*60-10)
	})
}

func TestARedisThatHangsLeavesTheProcessAlive(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		c := make(chan struct{})
		h := start(t, health.Options{
			Live: []health.Check{(&fake{name: "socket"}).check()},
			Ready: []health.Check{{Name: "redis", Run: func(context.Context) (string, error) {
				<-c // whatever its context says
				return "", nil
			}}},
		})
		defer h.Stop()
		defer close(c)
		synctest.Wait()
		_, got := ask(t, h, "/readyz")
		require.Equal(t, "not ready: ready: the checks have not run yet; ask again\n", got)
		after(time.Minute)
		code, got := ask(t, h, "/livez")
		require.Equal(t, http.StatusOK, code)
		require.Equal(t, "ok\n", got)
	})
}

func TestALoopThatStopsIsNotLive(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		c, first := make(chan struct{}), true
		h := start(t, health.Options{Live: []health.Check{{Name: "socket", Run: func(context.Context) (string, error) {
			if !first {
				<-c
			}
			first = false
			return "answers", nil
		}}}})
		defer h.Stop()
		defer close(c)
		after(health.Stale)
		code, _ := ask(t, h, "/livez")
		require.Equal(t, http.StatusOK, code)
		after(2 * time.Second)
		code, got := ask(t, h, "/livez")
		require.Equal(t, http.StatusServiceUnavailable, code)
		require.Equal(t, "not live: live: no round of checks has ended for 12s: the process hangs or gets no CPU\n", got)
		code, _ = ask(t, h, "/startupz")
		require.Equal(t, http.StatusOK, code, "it did start")
		require.False(t, h.Snapshot().Live)
	})
}

func TestACheckThatHangsDoesNotHoldUpTheEnd(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		c := make(chan struct{})
		defer close(c)
		h := start(t, health.Options{Live: []health.Check{{Name: "socket", Run: func(context.Context) (string, error) {
			<-c
			return "", nil
		}}}})
		synctest.Wait()
		h.Stop()
	})
}

func TestACheckHasTwoSeconds(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		h := start(t, health.Options{Live: []health.Check{{Name: "socket", Run: func(ctx context.Context) (string, error) {
			<-ctx.Done()
			return "", context.Cause(ctx)
		}}}})
		defer h.Stop()
		after(2 * time.Second)
		_, got := ask(t, h, "/livez")
		require.Equal(t, "not live: socket: context deadline exceeded\n", got)
	})
}

func TestChecksOfARoundRunSideBySide(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		a, b := make(chan struct{}), make(chan struct{})
		meet := func(mine, other chan struct{}) func(context.Context) (string, error) {
			return func(ctx context.Context) (string, error) {
				close(mine)
				select {
				case <-other:
					return "", nil
				case <-ctx.Done():
					return "", ctx.Err()
				}
			}
		}
		h := start(t, health.Options{Ready: []health.Check{{Name: "a", Run: meet(a, b)}, {Name: "b", Run: meet(b, a)}}})
		defer h.Stop()
		synctest.Wait()
		code, _ := ask(t, h, "/readyz")
		require.Equal(t, http.StatusOK, code)
	})
}

func TestStartedOnceIsStarted(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		socket, redis := &fake{name: "socket", err: errors.New("not open yet")}, &fake{name: "redis", err: away}
		h := start(t, health.Options{Live: []health.Check{socket.check()}, Ready: []health.Check{redis.check()}})
		defer h.Stop()
		synctest.Wait()
		code, got := ask(t, h, "/startupz")
		require.Equal(t, http.StatusServiceUnavailable, code)
		require.Equal(t, "not started: socket: not open yet\n", got)

		socket.set(nil)
		after(health.Every)
		code, got = ask(t, h, "/startupz")
		require.Equal(t, http.StatusOK, code, "Redis plays no part in it")
		require.Equal(t, "ok\n", got)

		socket.set(errors.New("gone"))
		after(3 * health.Every)
		code, _ = ask(t, h, "/livez")
		require.Equal(t, http.StatusServiceUnavailable, code)
		code, _ = ask(t, h, "/startupz")
		require.Equal(t, http.StatusOK, code)
	})
}

func TestOnlyChangesAreLogged(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var log bytes.Buffer
		redis := &fake{name: "redis", err: away}
		h := start(t, health.Options{
			Ready: []health.Check{redis.check(), (&fake{name: "rules", err: errors.New("none in force")}).check()},
			Log: slog.New(slog.NewTextHandler(&log, &slog.HandlerOptions{ReplaceAttr: func(_ []string, a slog.Attr) slog.Attr {
				if a.Key == slog.TimeKey {
					return slog.Attr{}
				}
				return a
			}})),
		})
		after(time.Minute)
		h.Stop()
		require.ElementsMatch(t, []string{ // two loops write; the order is not promised
			`level=INFO msg="health: live"`,
			`level=WARN msg="health: not ready" why="redis: connection refused; is Redis up at redis.url?; rules: none in force"`,
		}, strings.Split(strings.TrimSpace(log.String()), "\n"))
	})
}

func TestReadinessIsAMetric(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		reader := sdkmetric.NewManualReader()
		tel, err := telemetry.New(noop.NewTracerProvider(), sdkmetric.NewMeterProvider(sdkmetric.WithReader(reader)), false)
		require.NoError(t, err)
		redis := &fake{name: "redis"}
		h := start(t, health.Options{Ready: []health.Check{redis.check()}, Telemetry: tel})
		defer h.Stop()
		ready := func() float64 {
			var rm metricdata.ResourceMetrics
			require.NoError(t, reader.Collect(t.Context(), &rm))
			m := rm.ScopeMetrics[0].Metrics[0]
			require.Equal(t, "coxswain.ready", m.Name)
			return m.Data.(metricdata.Gauge[float64]).DataPoints[0].Value
		}
		synctest.Wait()
		require.Equal(t, 1.0, ready())
		redis.set(away)
		after(2 * health.Every)
		require.Equal(t, 0.0, ready())
	})
}

func TestStopIsSafeAtAnyTime(t *testing.T) {
	t.Parallel()
	h := start(t, health.Options{Live: []health.Check{(&fake{name: "socket"}).check()}})
	var wg sync.WaitGroup
	for range 4 {
		wg.Go(h.Stop)
		wg.Go(func() { h.Snapshot() })
	}
	wg.Wait()
	h.Stop()
}
