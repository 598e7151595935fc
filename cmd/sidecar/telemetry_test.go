package main_test

import (
	"io"
	"net"
	"net/http"
	"os"
	"regexp"
	"slices"
	"strings"
	"syscall"
	"testing"
	"time"

	dto "github.com/prometheus/client_model/go"
	"github.com/prometheus/common/expfmt"
	"github.com/prometheus/common/model"
	"github.com/stretchr/testify/require"
	"go.opentelemetry.io/otel/exporters/otlp/otlptrace/otlptracehttp"
	sdktrace "go.opentelemetry.io/otel/sdk/trace"
	otlp "go.opentelemetry.io/proto/otlp/trace/v1"

	"github.com/coxswain-sidecar/coxswain/client"
	"github.com/coxswain-sidecar/coxswain/client/api"
	"github.com/coxswain-sidecar/coxswain/client/clientotel"
	main "github.com/coxswain-sidecar/coxswain/cmd/sidecar"
	"github.com/coxswain-sidecar/coxswain/internal/otlptest"
	"github.com/coxswain-sidecar/coxswain/internal/redistest"
)

// secret is in every text that a user chooses freely, below.
const secret = "p0ison"

// observed is a sidecar in a process of its own, and a client of it whose spans
// go to the same collector.
type observed struct {
	*client.Client
	socket, http string
	collector    *otlptest.Collector

	stop func() // ends client and sidecar, and so sends all spans
}

func observe(t *testing.T, env ...string) *observed {
	t.Helper()
	o := &observed{socket: socketIn(t), collector: otlptest.Start(t)}
	cmd, log := spawn(t, append([]string{
		"OTEL_EXPORTER_OTLP_ENDPOINT=" + o.collector.URL, "OTEL_METRICS_EXPORTER=none",
		"COXSWAIN_REDIS_PREFIX=" + redistest.Prefix(t), noGrace,
	}, env...), "serve", "--socket", o.socket, "--http", "127.0.0.1:0", "--redis", redistest.URL(t))
	wait(t, o.socket)
	o.http = (&sidecar{log: log}).httpAddr(t)

	exporter, err := otlptracehttp.New(t.Context(), otlptracehttp.WithEndpointURL(o.collector.URL+"/v1/traces"))
	require.NoError(t, err)
	spans := sdktrace.NewTracerProvider(sdktrace.WithSyncer(exporter))
	o.Client, err = client.Dial(t.Context(), client.Options{
		Socket: o.socket, Client: secret, Version: secret, Instance: secret, Tracer: clientotel.New(spans),
	})
	require.NoError(t, err)
	o.stop = func() {
		require.NoError(t, o.Close())
		require.NoError(t, spans.Shutdown(t.Context()))
		require.NoError(t, cmd.Process.Signal(syscall.SIGTERM))
		require.NoError(t, cmd.Wait(), "%s", log)
	}
	return o
}

// useAll makes calls of every kind, with the secret wherever a user may put it.
func (o *observed) useAll(t *testing.T) {
	t.Helper()
	ctx := t.Context()
	site := api.RatelimitParams{
		Key: secret, Algorithm: api.AlgorithmTokenBucket, Limits: []api.Band{{Limit: 3, PeriodMS: 3_600_000}},
	}
	for _, allowed := range []bool{true, true, true, false} {
		r, err := o.RatelimitAcquire(ctx, site)
		require.NoError(t, err)
		require.Equal(t, allowed, r.Allowed)
	}
	_, err := o.RatelimitPeek(ctx, site)
	require.NoError(t, err)
	_, err = o.RatelimitReset(ctx, api.RatelimitResetParams{Key: secret, Algorithm: site.Algorithm, Limits: site.Limits})
	require.NoError(t, err)
	_, err = o.RatelimitAcquire(ctx, api.RatelimitParams{Rule: secret, Key: secret})
	require.ErrorIs(t, err, api.NotFound)

	lock, err := o.LockAcquire(ctx, secret, client.LockOptions{})
	require.NoError(t, err)
	var busy *client.BusyError
	_, err = o.LockAcquire(ctx, secret, client.LockOptions{})
	require.ErrorAs(t, err, &busy)
	_, err = o.LockGet(ctx, secret)
	require.NoError(t, err)
	require.NoError(t, lock.Renew(ctx))
	require.NoError(t, lock.Release(ctx))

	require.Equal(t, main.Failed, cli(t, "call", "--socket", o.socket, secret).code, "a method of this name")
	require.Equal(t, main.Failed, cli(t, "call", "--socket", o.socket, "lock.get", `{"`+secret+`":1}`).code)
	o.send(t, "\x93\x02\xa6"+secret+"\x90", false) // a notification that names no method
	o.send(t, "\xc1"+secret, true)                 // bytes that are no MessagePack
}

// send writes bytes of no client, and waits for the sidecar to hang up or does
// it itself.
func (o *observed) send(t *testing.T, bytes string, wait bool) {
	t.Helper()
	c, err := net.Dial("unix", o.socket)
	require.NoError(t, err)
	defer c.Close()
	_, err = c.Write([]byte(bytes))
	require.NoError(t, err)
	if wait {
		_, err = io.Copy(io.Discard, c)
		require.NoError(t, err)
	}
}

// scrape reads /metrics: the text, and the sidecar's own families by name.
func (o *observed) scrape(t *testing.T) (string, map[string]*dto.MetricFamily) {
	t.Helper()
	res, err := http.Get("http://" + o.http + "/metrics")
	require.NoError(t, err)
	defer res.Body.Close()
	text, err := io.ReadAll(res.Body)
	require.NoError(t, err)
	parser := expfmt.NewTextParser(model.LegacyValidation)
	families, err := parser.TextToMetricFamilies(strings.NewReader(string(text)))
	require.NoError(t, err)
	for name := range families {
		if !strings.HasPrefix(name, "coxswain_") {
			delete(families, name)
		}
	}
	return string(text), families
}

// A trace shows what the client asked, what the sidecar did for it and which scripts ran.
func TestATraceHoldsTheClientsSpanTheCallsAndTheScripts(t *testing.T) {
	t.Parallel()
	o := observe(t)
	o.useAll(t)
	o.stop()
	spans := o.collector.Spans()

	traced := map[string]string{ // what each script decided first
		"ratelimit.acquire": "lua.ratelimit_token_bucket allowed",
		"ratelimit.peek":    "lua.ratelimit_token_bucket denied",
		"ratelimit.reset":   "lua.ratelimit_reset",
		"lock.acquire":      "lua.lock_acquire acquired",
		"lock.get":          "lua.lock_get",
		"lock.renew":        "lua.lock_renew",
		"lock.release":      "lua.lock_release",
	}
	for method, want := range traced {
		mine := find(t, spans, "coxswain."+method, otlp.Span_SPAN_KIND_CLIENT, nil)
		theirs := find(t, spans, "coxswain."+method, otlp.Span_SPAN_KIND_SERVER, &mine)
		name, decision, _ := strings.Cut(want, " ")
		script := find(t, spans, name, otlp.Span_SPAN_KIND_CLIENT, &theirs)

		require.Equal(t, method, otlptest.Attributes(theirs.GetAttributes())["rpc.method"])
		require.Equal(t, "coxswain", otlptest.Attributes(theirs.Resource.GetAttributes())["service.name"])
		got := otlptest.Attributes(script.GetAttributes())
		require.Equal(t, "redis", got["db.system.name"])
		require.Equal(t, "EVALSHA", got["db.operation.name"])
		require.Equal(t, strings.TrimPrefix(name, "lua."), got["db.stored_procedure.name"])
		require.EqualValues(t, 1, got["coxswain.attempt"])
		require.Positive(t, got["coxswain.keys"])
		if decision != "" {
			require.Equal(t, decision, got["coxswain.decision"], method)
		}
		if method == "ratelimit.acquire" {
			require.EqualValues(t, 2, got["coxswain.remaining"])
		}
	}
	for _, s := range spans {
		require.NotContains(t, s.String(), secret)
	}
}

// find returns the earliest span of that name, kind and parent.
func find(t *testing.T, spans []otlptest.Span, name string, kind otlp.Span_SpanKind, parent *otlptest.Span) otlptest.Span {
	t.Helper()
	var found []otlptest.Span
	for _, s := range spans {
		under := parent == nil || string(s.GetParentSpanId()) == string(parent.GetSpanId()) && string(s.GetTraceId()) == string(parent.GetTraceId())
		if s.GetName() == name && s.GetKind() == kind && under {
			found = append(found, s)
		}
	}
	require.NotEmpty(t, found, "no %v span %s with that parent among %v", kind, name, spans)
	return slices.MinFunc(found, func(a, b otlptest.Span) int {
		return int(int64(a.GetStartTimeUnixNano()) - int64(b.GetStartTimeUnixNano()))
	})
}

func TestSpansCarryKeysOnlyWhenAsked(t *testing.T) {
	t.Parallel()
	o := observe(t, "COXSWAIN_TELEMETRY_RECORD_KEYS=true")
	_, err := o.LockGet(t.Context(), secret)
	require.NoError(t, err)
	o.stop()
	script := find(t, o.collector.Spans(), "lua.lock_get", otlp.Span_SPAN_KIND_CLIENT, nil)
	require.Contains(t, script.String(), secret)
}

func TestNoUsersTextIsInTheMetricsAndAllAreDocumented(t *testing.T) {
	t.Parallel()
	o := observe(t)
	o.useAll(t)
	require.Eventually(t, func() bool { // what no reply waits for
		_, families := o.scrape(t)
		return families["coxswain_notifications_dropped_total"] != nil && families["coxswain_connections_closed_total"] != nil
	}, limit, 5*time.Millisecond)
	text, families := o.scrape(t)
	require.NotContains(t, text, secret)
	require.Contains(t, text, `coxswain_decisions_total{outcome="limit",rule="inline"} 1`)
	require.Contains(t, text, `coxswain_decisions_total{outcome="allowed",rule="inline"} 3`)
	require.Contains(t, text, "\ncoxswain_redis_up 1\n")
	require.Contains(t, text, "\ncoxswain_ready 1\n")

	page, err := os.ReadFile("../../docs/telemetry.md")
	require.NoError(t, err)
	counted, read, ok := strings.Cut(string(page), "\nRead at each scrape:\n")
	require.True(t, ok)
	documented := names(counted + read)
	for name, f := range families {
		require.Contains(t, documented, name+" "+strings.ToLower(f.GetType().String()))
	}
	for _, d := range names(read) {
		name, _, _ := strings.Cut(d, " ")
		require.Contains(t, families, name, "documented as read at each scrape")
	}
	o.stop()
}

// names are name and type of the metrics in a part of the page.
func names(page string) []string {
	var all []string
	for _, m := range regexp.MustCompile("(?m)^\\| `coxswain\\.[^|]*\\| `(coxswain_[a-z_]+)` \\| ([a-z]+) \\|").FindAllStringSubmatch(page, -1) {
		all = append(all, m[1]+" "+m[2])
	}
	return all
}
