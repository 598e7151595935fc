package telemetry

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"net/http"
	"os"
	"strings"
	"time"

	"github.com/prometheus/client_golang/prometheus"
	"github.com/prometheus/client_golang/prometheus/collectors"
	"github.com/prometheus/client_golang/prometheus/promhttp"
	"github.com/prometheus/otlptranslator"
	"go.opentelemetry.io/contrib/exporters/autoexport"
	"go.opentelemetry.io/otel/attribute"
	promexporter "go.opentelemetry.io/otel/exporters/prometheus"
	sdkmetric "go.opentelemetry.io/otel/sdk/metric"
	"go.opentelemetry.io/otel/sdk/metric/exemplar"
	"go.opentelemetry.io/otel/sdk/resource"
	sdktrace "go.opentelemetry.io/otel/sdk/trace"
	"go.opentelemetry.io/otel/trace"
)

// SetupOptions are settings of the process. Only the standard OTEL_* variables set
// where to export to, so that one setting serves a whole pod.
type SetupOptions struct {
	// Version is the resource's service.version.
	Version string
	// RecordKeys lets spans carry key text (telemetry.record_keys).
	RecordKeys bool
	// Log gets the errors and warnings of OpenTelemetry, at most one line for each
	// minute and level: exports to a collector that is down fail every few seconds.
	Log *slog.Logger
}

// SDK is OpenTelemetry, running.
type SDK struct {
	*Telemetry

	// Metrics serves /metrics in the Prometheus format, exporters or not.
	Metrics http.Handler
	// Exporting names the signals that are exported: traces, metrics.
	Exporting []string

	log      *slog.Logger
	reader   sdkmetric.Reader // for /metrics and Times
	shutdown []func(context.Context) error
}

// Setup starts the SDK by the OTEL_* variables. If a value of a variable is not
// valid, Setup logs it and does not export that signal, as the OpenTelemetry
// specification requires: a typo in a pod's environment must not prevent the
// sidecar from starting. An error means a fault of this package.
//
// OpenTelemetry has one error handler and one logger for the process, which the
// last Setup sets.
func Setup(ctx context.Context, o SetupOptions) (*SDK, error) {
	limited := divert(o.Log)
	res, err := describe(ctx, o.Version)
	if err != nil {
		o.Log.Warn("telemetry: part of the resource is unknown; check OTEL_RESOURCE_ATTRIBUTES", "err", err)
	}
	s := &SDK{log: o.Log}
	mp, err := s.meterProvider(ctx, res, limited)
	if err != nil {
		return nil, err
	}
	s.Telemetry, err = New(s.tracerProvider(ctx, res), mp, o.RecordKeys)
	if err != nil {
		return nil, errors.Join(err, s.Shutdown(ctx))
	}
	return s, nil
}

// lateness is how much longer than its time an exporter may take to end.
const lateness = time.Second

// Shutdown exports the remaining data and stops, within ctx. The signals are
// exported concurrently, so that a collector that accepts only one of them loses
// only the other. Shutdown does not wait for an exporter that does not end with
// ctx: an exporter to the console blocks as long as its output is not read.
func (s *SDK) Shutdown(ctx context.Context) error {
	ended := make(chan error, len(s.shutdown))
	for _, stop := range s.shutdown {
		go func() { ended <- stop(ctx) }()
	}
	// Most exporters return a moment after ctx has ended, with an error that says more
	// than that the time is over.
	over := make(chan struct{})
	defer context.AfterFunc(ctx, func() { time.AfterFunc(lateness, func() { close(over) }) })()
	var errs []error
	for range s.shutdown {
		select {
		case err := <-ended:
			errs = append(errs, err)
		case <-over:
			errs = append(errs, ctx.Err())
		}
	}
	if err := errors.Join(errs...); err != nil {
		return fmt.Errorf("telemetry: shut down: %w", err)
	}
	return nil
}

// describe returns the resource, which describes the exporting service. It has no
// attributes of the process, whose command line may contain the password of a
// Redis URL.
func describe(ctx context.Context, version string) (*resource.Resource, error) {
	return resource.New(ctx,
		resource.WithTelemetrySDK(),
		resource.WithHost(),
		resource.WithAttributes(
			attribute.String("service.name", "coxswain"),
			attribute.String("service.version", version),
		),
		resource.WithFromEnv(), // last, so that OTEL_SERVICE_NAME takes precedence
	)
}

func (s *SDK) meterProvider(ctx context.Context, res *resource.Resource, limited *slog.Logger) (*sdkmetric.MeterProvider, error) {
	registry := prometheus.NewRegistry()
	registry.MustRegister(collectors.NewGoCollector(),
		collectors.NewProcessCollector(collectors.ProcessCollectorOpts{}))
	scraped, err := promexporter.New(
		promexporter.WithRegisterer(registry),
		// Explicit, since the default depends on a process-wide variable.
		promexporter.WithTranslationStrategy(otlptranslator.UnderscoreEscapingWithSuffixes),
		promexporter.WithoutScopeInfo(), // there is one scope
	)
	if err != nil {
		return nil, fmt.Errorf("telemetry: make the Prometheus reader: %w", err)
	}
	s.reader = scraped
	s.Metrics = promhttp.HandlerFor(registry, promhttp.HandlerOpts{
		ErrorLog:          slog.NewLogLogger(limited.Handler(), slog.LevelError),
		EnableOpenMetrics: true, // the format that carries exemplars
	})
	opts := []sdkmetric.Option{
		sdkmetric.WithResource(res),
		sdkmetric.WithReader(scraped),
		sdkmetric.WithCardinalityLimit(maxSeries),
	}
	if wanted(os.Getenv, "METRICS") && s.addressed("METRICS") {
		reader, err := autoexport.NewMetricReader(ctx)
		switch {
		case err != nil:
			s.refused("METRICS", err)
		case !autoexport.IsNoneMetricReader(reader):
			opts = append(opts, sdkmetric.WithReader(reader))
			s.Exporting = append(s.Exporting, "metrics")
		}
	}
	if _, said := os.LookupEnv("OTEL_METRICS_EXEMPLAR_FILTER"); !said && !wanted(os.Getenv, "TRACES") {
		// No measurement has a sampled trace, and looking for one takes a quarter of its time.
		opts = append(opts, sdkmetric.WithExemplarFilter(exemplar.AlwaysOffFilter))
	}
	mp := sdkmetric.NewMeterProvider(opts...)
	s.shutdown = append(s.shutdown, mp.Shutdown)
	return mp, nil
}

// tracerProvider reads OTEL_TRACES_SAMPLER by itself; the SDK does.
func (s *SDK) tracerProvider(ctx context.Context, res *resource.Resource) trace.TracerProvider {
	if !wanted(os.Getenv, "TRACES") || !s.addressed("TRACES") {
		return off{}
	}
	exporter, err := autoexport.NewSpanExporter(ctx)
	if err != nil {
		s.refused("TRACES", err)
		return off{}
	}
	if autoexport.IsNoneSpanExporter(exporter) {
		return off{}
	}
	tp := sdktrace.NewTracerProvider(sdktrace.WithResource(res), sdktrace.WithBatcher(exporter))
	s.shutdown = append(s.shutdown, tp.Shutdown)
	s.Exporting = append(s.Exporting, "traces")
	return tp
}

// wanted reports whether the environment asks to export a signal, TRACES or
// METRICS: by naming an exporter, or an OTLP endpoint, which by itself means
// the otlp exporter. autoexport's own default is otlp to localhost whatever is
// set, so that every sidecar without a collector would dial a closed port.
func wanted(env func(string) string, signal string) bool {
	if strings.EqualFold(strings.TrimSpace(env("OTEL_SDK_DISABLED")), "true") {
		return false
	}
	return env("OTEL_"+signal+"_EXPORTER") != "" ||
		env("OTEL_EXPORTER_OTLP_"+signal+"_ENDPOINT") != "" ||
		env("OTEL_EXPORTER_OTLP_ENDPOINT") != ""
}

func (s *SDK) refused(signal string, err error) {
	name := "OTEL_" + signal + "_EXPORTER"
	s.log.Error("telemetry: "+strings.ToLower(signal)+" are not exported; set "+name+
		" to one of otlp, console or none and OTEL_EXPORTER_OTLP_PROTOCOL to http/protobuf or grpc",
		"value", os.Getenv(name), "err", err)
}
