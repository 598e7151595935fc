package rpc_test

import (
	"log/slog"
	"maps"
	"regexp"
	"slices"
	"testing"

	"github.com/stretchr/testify/require"
	metricnoop "go.opentelemetry.io/otel/metric/noop"
	tracenoop "go.opentelemetry.io/otel/trace/noop"

	"github.com/coxswain-sidecar/coxswain/client/api"
	"github.com/coxswain-sidecar/coxswain/internal/lua"
	"github.com/coxswain-sidecar/coxswain/internal/luatest"
	"github.com/coxswain-sidecar/coxswain/internal/redistest"
	"github.com/coxswain-sidecar/coxswain/internal/rpc"
	"github.com/coxswain-sidecar/coxswain/internal/telemetry"
)

// recording returns a telemetry that exports nothing; keys sets whether the log may have names.
func recording(t testing.TB, keys bool) *telemetry.Telemetry {
	t.Helper()
	tel, err := telemetry.New(tracenoop.NewTracerProvider(), metricnoop.NewMeterProvider(), keys)
	require.NoError(t, err)
	return tel
}

// callLine matches the line of one call in the log, without its duration.
var callLine = regexp.MustCompile(`level=DEBUG msg=call uid=\d+ (method=.*) duration_ms=[\d.e+-]+(.*)\n`)

func (b *bench) callLines() (lines []string) {
	for _, m := range callLine.FindAllStringSubmatch(b.log.String(), -1) {
		lines = append(lines, m[1]+m[2])
	}
	return lines
}

func TestEachCallIsALineOfTheLogAtDebug(t *testing.T) {
	t.Parallel()
	runner := luatest.Open(t, lua.Options{URL: redistest.URL(t)})
	for keys, want := range map[bool][]string{
		false: {
			"method=session.ping code=OK", "method=lock.acquire code=OK", "method=lock.get code=OK", "method=lock.acquire code=INVALID_ARGUMENT",
			"method=unknown code=METHOD_NOT_FOUND", "method=rpc.cancel code=OK", "method=session.ping code=OK",
		},
		true: {
			"method=session.ping code=OK", "method=lock.acquire code=OK name=\"the job\\n\"", "method=lock.get code=OK name=\"the job\\n\"",
			"method=lock.acquire code=INVALID_ARGUMENT name=\"\"", "method=unknown code=METHOD_NOT_FOUND", "method=rpc.cancel code=OK", "method=session.ping code=OK",
		},
	} {
		b := serveOn(t, rpc.Options{Telemetry: recording(t, keys)}, runner)
		p := b.dial(t)
		p.must("session.ping")
		require.NotEmpty(t, p.must("lock.acquire", m{"name": "the job\n"})["token"])
		p.must("lock.get", m{"name": "the job\n"})
		_, err := p.call("lock.acquire", m{"ttl_ms": 1000})
		require.NotEmpty(t, err)
		_, err = p.call("lock.frobnicate")
		require.NotEmpty(t, err)
		p.send(notification(t, "rpc.cancel", []any{1}))
		p.must("session.ping")
		// A call is logged while its reply is sent, so the reply may arrive before the line.
		eventually(t, "lines of the calls", func() bool { return len(b.callLines()) >= len(want) })
		require.ElementsMatch(t, want, b.callLines(), b.log)
	}
}

// Not parallel, since the allocations of other tests would count.
func TestACallThatIsNotLoggedAllocatesNothing(t *testing.T) {
	quiet := slog.New(slog.NewJSONHandler(&lockedBuffer{}, &slog.HandlerOptions{Level: slog.LevelInfo}))
	record := rpc.Recorder(quiet, recording(t, true), api.LockAcquire.Name)
	require.Zero(t, testing.AllocsPerRun(100, record))
}

func TestTheLogNamesWhatACallActsOn(t *testing.T) {
	t.Parallel()
	of := make(map[string][]string)
	for _, s := range api.Methods() {
		noun := rpc.NounOf(s.Name)
		of[noun] = append(of[noun], s.Name)
	}
	require.Equal(t, []string{
		"breaker.list", "events.subscribe", "events.unsubscribe", "health.get", "inspect.sidecars", "inspect.snapshot", "lock.list", "pool.pools",
		"pubsub.subscribe", "pubsub.unsubscribe", "queue.list", "ratelimit.acquire_any", "ratelimit.acquire_many", "ratelimit.done",
		"ratelimit.put_rule", "ratelimit.refund", "ratelimit.rules", "ratelimit.stats", "rpc.cancel", "rpc.describe", "rpc.methods", "semaphore.list",
		"session.drain", "session.hello", "session.ping", "stream.list", "stream.unsubscribe",
	}, of[""], "these name nothing by one param; no token, lease or grant is a name")
	require.ElementsMatch(t, []string{"", "name", "key", "pool", "queue", "set", "stream", "channel"}, slices.Collect(maps.Keys(of)))
	require.Contains(t, of["pool"], api.PermitAcquire.Name)
	require.Contains(t, of["set"], api.SeenReserve.Name)
}
