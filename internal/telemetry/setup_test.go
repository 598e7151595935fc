package telemetry_test

import (
	"bytes"
	"context"
	"log/slog"
	"net/http"
	"net/http/httptest"
	"os"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	"go.uber.org/goleak"

	"github.com/coxswain-sidecar/coxswain/internal/otlptest"
	"github.com/coxswain-sidecar/coxswain/internal/telemetry"
)

func TestMain(m *testing.M) {
	// A developer's or CI's own OTEL_* must not decide what these tests see.
	for _, kv := range os.Environ() {
		if name, _, _ := strings.Cut(kv, "="); strings.HasPrefix(name, "OTEL_") {
			os.Unsetenv(name)
		}
	}
	goleak.VerifyTestMain(m)
}

// lines is a log's writer.
type lines struct {
	mu sync.Mutex // guards b
	b  bytes.Buffer
}

func (l *lines) Write(p []byte) (int, error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.b.Write(p)
}

func (l *lines) String() string {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.b.String()
}

// sender sends each line to the channel, and drops it if the channel is full.
type sender chan string

func (s sender) Write(p []byte) (int, error) {
	select {
	case s <- string(p):
	default:
	}
	return len(p), nil
}

// setup starts an SDK that is shut down when the test ends. It changes global state and reads the environment, so tests
// that call it are not parallel.
func setup(t *testing.T, o telemetry.SetupOptions) *telemetry.SDK {
	t.Helper()
	if o.Log == nil {
		o.Log = slog.New(slog.DiscardHandler)
	}
	s, err := telemetry.Setup(t.Context(), o)
	require.NoError(t, err)
	t.Cleanup(func() { _ = s.Shutdown(context.Background()) }) // if the test has shut it down already, this is an error
	return s
}

// traced makes one span, and reports whether it is recorded.
func traced(ctx context.Context, s *telemetry.SDK) bool {
	_, span := s.Tracer().Start(ctx, "coxswain.session.ping")
	defer span.End()
	return span.IsRecording()
}

func TestWithoutOTELVariablesNothingLeavesTheProcess(t *testing.T) {
	log := new(lines)
	l, err := telemetry.NewLog(log, telemetry.LogOptions{Level: "debug"})
	require.NoError(t, err)
	s := setup(t, telemetry.SetupOptions{Log: l.Logger})
	require.Empty(t, s.Exporting)
	require.False(t, traced(t.Context(), s))
	require.False(t, s.Traces())
	s.RPC(t.Context(), "session.ping", "OK", time.Millisecond)

	// A default exporter would now flush to a port on which nothing listens, and log the error.
	require.NoError(t, s.Shutdown(t.Context()))
	l.Close(patience)
	require.NotContains(t, log.String(), "127.0.0.1")
	require.NotContains(t, log.String(), "localhost")
}

func TestTheVariablesSayWhatIsExported(t *testing.T) {
	endpoint := otlptest.Start(t).URL
	for name, c := range map[string]struct {
		env  map[string]string
		want []string
	}{
		"an endpoint":             {map[string]string{"OTEL_EXPORTER_OTLP_ENDPOINT": endpoint}, []string{"metrics", "traces"}},
		"an endpoint for traces":  {map[string]string{"OTEL_EXPORTER_OTLP_TRACES_ENDPOINT": endpoint}, []string{"traces"}},
		"an endpoint for metrics": {map[string]string{"OTEL_EXPORTER_OTLP_METRICS_ENDPOINT": endpoint}, []string{"metrics"}},
		"an exporter":             {map[string]string{"OTEL_TRACES_EXPORTER": "otlp"}, []string{"traces"}},
		"over gRPC": {map[string]string{
			"OTEL_EXPORTER_OTLP_ENDPOINT": endpoint, "OTEL_EXPORTER_OTLP_PROTOCOL": "grpc",
			"OTEL_METRICS_EXPORTER": "none",
		}, []string{"traces"}},
		"none beside an endpoint": {map[string]string{
			"OTEL_EXPORTER_OTLP_ENDPOINT": endpoint, "OTEL_METRICS_EXPORTER": "none",
		}, []string{"traces"}},
		"both none": {map[string]string{
			"OTEL_EXPORTER_OTLP_ENDPOINT": endpoint, "OTEL_METRICS_EXPORTER": "none", "OTEL_TRACES_EXPORTER": "none",
		}, nil},
		"an empty exporter": {map[string]string{"OTEL_TRACES_EXPORTER": ""}, nil},
		"disabled": {map[string]string{
			"OTEL_SDK_DISABLED": "true", "OTEL_TRACES_EXPORTER": "otlp", "OTEL_EXPORTER_OTLP_ENDPOINT": endpoint,
		}, nil},
	} {
		t.Run(name, func(t *testing.T) {
			for k, v := range c.env {
				t.Setenv(k, v)
			}
			s := setup(t, telemetry.SetupOptions{})
			require.Equal(t, c.want, s.Exporting)
			require.NotNil(t, s.Metrics)
			require.NoError(t, s.Shutdown(t.Context()))
		})
	}
}

func TestACollectorGetsTheSpansOnShutdown(t *testing.T) {
	c := otlptest.Start(t)
	t.Setenv("OTEL_EXPORTER_OTLP_ENDPOINT", c.URL)
	s := setup(t, telemetry.SetupOptions{Version: "1.2.3"})
	require.True(t, s.Traces())
	require.True(t, traced(t.Context(), s))
	s.RPC(t.Context(), "session.ping", "OK", time.Millisecond)
	require.NoError(t, s.Shutdown(t.Context()))

	require.Len(t, c.Spans(), 1)
	require.Equal(t, "coxswain.session.ping", c.Spans()[0].GetName())
	require.Equal(t, 1, c.Exports("/v1/metrics"))
	who := otlptest.Attributes(c.Spans()[0].Resource.GetAttributes())
	require.Equal(t, "coxswain", who["service.name"])
	require.Equal(t, "1.2.3", who["service.version"])
	for name := range who {
		require.False(t, strings.HasPrefix(name, "process."), "%s may show a password on the command line", name)
	}
}

func TestTheServiceNameIsTheUsers(t *testing.T) {
	c := otlptest.Start(t)
	t.Setenv("OTEL_EXPORTER_OTLP_TRACES_ENDPOINT", c.URL+"/v1/traces")
	t.Setenv("OTEL_SERVICE_NAME", "crawler")
	t.Setenv("OTEL_RESOURCE_ATTRIBUTES", "k8s.pod.name=crawler-7")
	s := setup(t, telemetry.SetupOptions{})
	require.True(t, traced(t.Context(), s))
	require.NoError(t, s.Shutdown(t.Context()))
	require.Len(t, c.Spans(), 1)
	who := otlptest.Attributes(c.Spans()[0].Resource.GetAttributes())
	require.Equal(t, "crawler", who["service.name"])
	require.Equal(t, "crawler-7", who["k8s.pod.name"])
}

func TestTheSamplerIsTheUsers(t *testing.T) {
	t.Setenv("OTEL_TRACES_EXPORTER", "otlp")
	t.Setenv("OTEL_TRACES_SAMPLER", "always_off")
	s := setup(t, telemetry.SetupOptions{})
	require.Equal(t, []string{"traces"}, s.Exporting)
	require.False(t, traced(t.Context(), s))
	require.NoError(t, s.Shutdown(t.Context()))
}

func TestAnUnknownExporterIsLoggedAndDoesNotStopTheSidecar(t *testing.T) {
	t.Setenv("OTEL_TRACES_EXPORTER", "jaeger")
	t.Setenv("OTEL_METRICS_EXPORTER", "otpl")
	log := new(lines)
	s := setup(t, telemetry.SetupOptions{Log: slog.New(slog.NewTextHandler(log, nil))})
	require.Empty(t, s.Exporting)
	for _, text := range []string{
		"traces are not exported; set OTEL_TRACES_EXPORTER to one of otlp, console or none", "value=jaeger",
		"metrics are not exported; set OTEL_METRICS_EXPORTER to one of otlp, console or none", "value=otpl",
	} {
		require.Contains(t, log.String(), text)
	}
}

func TestAnEndpointWithoutASchemeIsLoggedBeforeTheFirstExport(t *testing.T) {
	for name, c := range map[string]struct {
		env  map[string]string
		want string // empty: there is no error
	}{
		"for all":    {map[string]string{"OTEL_EXPORTER_OTLP_ENDPOINT": "localhost:4318"}, "OTEL_EXPORTER_OTLP_ENDPOINT"},
		"for one":    {map[string]string{"OTEL_EXPORTER_OTLP_TRACES_ENDPOINT": "127.0.0.1:4318", "OTEL_EXPORTER_OTLP_PROTOCOL": "http/protobuf"}, "OTEL_EXPORTER_OTLP_TRACES_ENDPOINT"},
		"no host":    {map[string]string{"OTEL_EXPORTER_OTLP_ENDPOINT": "http:///v1"}, "OTEL_EXPORTER_OTLP_ENDPOINT"},
		"not http":   {map[string]string{"OTEL_EXPORTER_OTLP_ENDPOINT": "grpc://h:4317"}, "OTEL_EXPORTER_OTLP_ENDPOINT"},
		"over gRPC":  {map[string]string{"OTEL_EXPORTER_OTLP_TRACES_ENDPOINT": "localhost:1", "OTEL_EXPORTER_OTLP_PROTOCOL": "grpc"}, ""},
		"not needed": {map[string]string{"OTEL_EXPORTER_OTLP_ENDPOINT": "h:1", "OTEL_TRACES_EXPORTER": "none", "OTEL_METRICS_EXPORTER": "none"}, ""},
	} {
		t.Run(name, func(t *testing.T) {
			for k, v := range c.env {
				t.Setenv(k, v)
			}
			log := new(lines)
			s := setup(t, telemetry.SetupOptions{Log: slog.New(slog.NewTextHandler(log, nil))})
			require.NoError(t, s.Shutdown(t.Context()))
			if c.want == "" {
				require.NotContains(t, log.String(), "are not exported")
				return
			}
			require.Empty(t, s.Exporting)
			require.Contains(t, log.String(), "traces are not exported: "+c.want+" is ")
			require.Contains(t, log.String(), "write a scheme and a host into "+c.want+", such as http://localhost:4318")
			require.NotContains(t, log.String(), "no Host in request URL")
		})
	}
}

func TestShutdownEndsWithItsContextWhenTheCollectorHangs(t *testing.T) {
	hang := make(chan struct{})
	c := httptest.NewServer(hanging(hang))
	t.Cleanup(c.Close)
	t.Cleanup(func() { close(hang) })
	t.Setenv("OTEL_EXPORTER_OTLP_ENDPOINT", c.URL)
	s := setup(t, telemetry.SetupOptions{})
	traced(t.Context(), s)
	ctx, cancel := context.WithTimeout(t.Context(), 50*time.Millisecond)
	defer cancel()
	err := s.Shutdown(ctx)
	require.ErrorIs(t, err, context.DeadlineExceeded)
	require.ErrorContains(t, err, "telemetry: shut down")
}

func TestACollectorThatRefusesIsInTheLog(t *testing.T) {
	c := httptest.NewServer(http.NotFoundHandler())
	t.Cleanup(c.Close)
	t.Setenv("OTEL_EXPORTER_OTLP_TRACES_ENDPOINT", c.URL+"/v1/traces")
	t.Setenv("OTEL_BSP_SCHEDULE_DELAY", "1")
	log := make(chan string, 1)
	s := setup(t, telemetry.SetupOptions{Log: slog.New(slog.NewJSONHandler(sender(log), nil))})
	traced(t.Context(), s)
	line := <-log
	require.Contains(t, line, `"level":"ERROR","msg":"telemetry: export or record","err":`)
	require.Contains(t, line, "404 Not Found")
}

func TestMetricsHaveTheRuntimeAndTheResource(t *testing.T) {
	s := setup(t, telemetry.SetupOptions{Version: "1.2.3"})
	s.RPC(t.Context(), "session.ping", "OK", time.Millisecond)
	w := httptest.NewRecorder()
	s.Metrics.ServeHTTP(w, httptest.NewRequest("GET", "/metrics", nil))
	for _, text := range []string{
		"\ngo_goroutines ", "\nprocess_open_fds ", `service_name="coxswain"`, `service_version="1.2.3"`,
		"\ncoxswain_rpc_duration_seconds_count{code=\"OK\",method=\"session.ping\"} 1\n",
	} {
		require.Contains(t, w.Body.String(), text)
	}
	require.NotContains(t, w.Body.String(), "otel_scope")
}
