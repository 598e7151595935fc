package rpc_test

import (
	"bytes"
	"context"
	"reflect"
	"slices"
	"strconv"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	"go.opentelemetry.io/otel/attribute"
	sdkmetric "go.opentelemetry.io/otel/sdk/metric"
	"go.opentelemetry.io/otel/sdk/metric/metricdata"
	tracenoop "go.opentelemetry.io/otel/trace/noop"

	"github.com/coxswain-sidecar/coxswain/internal/redistest"
	"github.com/coxswain-sidecar/coxswain/internal/telemetry"
)

func TestMain(m *testing.M) { redistest.Main(m) }

var typeOfMap = reflect.TypeFor[map[string]any]()

// lockedBuffer is a log that a test may read while it is written.
type lockedBuffer struct {
	mu sync.Mutex // guards b
	b  bytes.Buffer
}

func (l *lockedBuffer) Write(p []byte) (int, error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.b.Write(p)
}

func (l *lockedBuffer) String() string {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.b.String()
}

// shutdown ends the server at once and closes all connections.
func (b *bench) shutdown(t testing.TB) {
	t.Helper()
	ctx, cancel := context.WithCancel(context.Background())
	cancel()
	require.NoError(t, b.Shutdown(ctx))
	b.leases.Stop(context.Background())
}

// eventually waits for an effect of another goroutine for which there is no signal
// that a test could wait for.
func eventually(t testing.TB, what string, ok func() bool) {
	t.Helper()
	require.Eventually(t, ok, patience, time.Millisecond, what)
}

func itoa(n int) string { return strconv.Itoa(n) }

// counters read the metrics that a server records.
type counters struct {
	t         testing.TB
	reader    *sdkmetric.ManualReader
	telemetry *telemetry.Telemetry
}

func newCounters(t testing.TB) *counters {
	t.Helper()
	r := sdkmetric.NewManualReader()
	tel, err := telemetry.New(tracenoop.NewTracerProvider(), sdkmetric.NewMeterProvider(sdkmetric.WithReader(r)), false)
	require.NoError(t, err)
	return &counters{t, r, tel}
}

// value returns the value of a counter, or the count of a histogram. labels are the
// values of the label set, sorted by label name in reverse and joined by spaces.
func (c *counters) value(name, labels string) int64 {
	c.t.Helper()
	var rm metricdata.ResourceMetrics
	require.NoError(c.t, c.reader.Collect(context.Background(), &rm))
	var n int64
	for _, sm := range rm.ScopeMetrics {
		for _, got := range sm.Metrics {
			if got.Name != name {
				continue
			}
			switch d := got.Data.(type) {
			case metricdata.Sum[int64]:
				for _, p := range d.DataPoints {
					if values(p.Attributes) == labels {
						n += p.Value
					}
				}
			case metricdata.Histogram[float64]:
				for _, p := range d.DataPoints {
					if values(p.Attributes) == labels {
						n += int64(p.Count)
					}
				}
			}
		}
	}
	return n
}

func values(s attribute.Set) string {
	var out []string
	for _, kv := range s.ToSlice() {
		out = append(out, kv.Value.AsString())
	}
	slices.Reverse(out)
	return strings.Join(out, " ")
}

func (l *lockedBuffer) reset() {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.b = bytes.Buffer{}
}
