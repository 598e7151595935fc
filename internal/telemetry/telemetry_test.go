package telemetry_test

import (
	"context"
	"fmt"
	"net/http/httptest"
	"os"
	"reflect"
	"regexp"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/prometheus/common/expfmt"
	"github.com/prometheus/common/model"
	"github.com/stretchr/testify/require"
	"go.opentelemetry.io/otel/attribute"
	sdkmetric "go.opentelemetry.io/otel/sdk/metric"
	"go.opentelemetry.io/otel/sdk/metric/metricdata"

	"github.com/coxswain-sidecar/coxswain/internal/telemetry"
)

// notMetrics are the methods that record no metric.
var notMetrics = []string{"Tracer", "Traces", "Gauge", "State"}

// recordAll calls every other method once, by reflection, so that these tests include instruments that are added later.
func recordAll(t *testing.T, tel *telemetry.Telemetry, text func(n int) string) {
	t.Helper()
	v := reflect.ValueOf(tel)
	for i := range v.NumMethod() {
		name := v.Type().Method(i).Name
		if slices.Contains(notMetrics, name) {
			continue
		}
		m := v.Method(i)
		args := make([]reflect.Value, m.Type().NumIn())
		for j := range args {
			switch in := m.Type().In(j); in {
			case reflect.TypeFor[context.Context]():
				args[j] = reflect.ValueOf(t.Context())
			case reflect.TypeFor[string]():
				args[j] = reflect.ValueOf(text(j))
			case reflect.TypeFor[time.Duration]():
				args[j] = reflect.ValueOf(time.Millisecond)
			case reflect.TypeFor[int64](), reflect.TypeFor[float64]():
				args[j] = reflect.ValueOf(1).Convert(in)
			default:
				t.Fatalf("%s takes a %v: teach recordAll to make one", name, in)
			}
		}
		m.Call(args)
	}
}

// row is the row of a metric in the documentation, without its meaning.
type row struct{ OTel, Prometheus, Type, Unit, Labels string }

func documented(t *testing.T) map[string]row {
	t.Helper()
	text, err := os.ReadFile("../../docs/telemetry.md")
	require.NoError(t, err)
	rows := make(map[string]row)
	for _, m := range regexp.MustCompile("(?m)^\\| `(coxswain[^|]*)\\|([^|]*)\\|([^|]*)\\|([^|]*)\\|([^|]*)\\|").FindAllStringSubmatch(string(text), -1) {
		for i := range m {
			m[i] = strings.Trim(strings.ReplaceAll(m[i], "`", ""), " ")
		}
		rows[m[1]] = row{OTel: m[1], Prometheus: m[2], Type: m[3], Unit: m[4], Labels: m[5]}
	}
	return rows
}

// registered returns the metrics in the SDK by name.
func registered(t *testing.T, reader sdkmetric.Reader) map[string]metricdata.Metrics {
	t.Helper()
	var rm metricdata.ResourceMetrics
	require.NoError(t, reader.Collect(t.Context(), &rm))
	all := make(map[string]metricdata.Metrics)
	for _, sm := range rm.ScopeMetrics {
		for _, m := range sm.Metrics {
			all[m.Name] = m
		}
	}
	return all
}

// scraped returns the metrics on the page for Prometheus by their help texts.
func scraped(t *testing.T) map[string]row {
	t.Helper()
	s := setup(t, telemetry.SetupOptions{})
	recordAll(t, s.Telemetry, func(n int) string { return fmt.Sprintf("v%d", n) })
	w := httptest.NewRecorder()
	s.Metrics.ServeHTTP(w, httptest.NewRequest("GET", "/metrics", nil))
	parser := expfmt.NewTextParser(model.LegacyValidation)
	families, err := parser.TextToMetricFamilies(w.Body)
	require.NoError(t, err)
	rows := make(map[string]row)
	for name, f := range families {
		if !strings.HasPrefix(name, "coxswain_") {
			continue
		}
		var labels []string
		for _, l := range f.GetMetric()[0].GetLabel() {
			labels = append(labels, l.GetName())
		}
		slices.Sort(labels)
		rows[f.GetHelp()] = row{
			Prometheus: name, Type: strings.ToLower(f.GetType().String()), Labels: strings.Join(labels, ", "),
		}
	}
	return rows
}

func TestTheTableInTheDocumentationIsWhatIsRegistered(t *testing.T) {
	reader := sdkmetric.NewManualReader()
	tel, err := telemetry.New(telemetry.Off, sdkmetric.NewMeterProvider(sdkmetric.WithReader(reader)), false)
	require.NoError(t, err)
	recordAll(t, tel, func(n int) string { return fmt.Sprintf("v%d", n) })
	told := scraped(t)

	got := make(map[string]row)
	for name, m := range registered(t, reader) {
		r := told[m.Description]
		r.OTel, r.Unit = name, m.Unit
		got[name] = r
	}
	require.Len(t, told, len(got), "two metrics share a help text")
	want := documented(t)
	for name := range want {
		if _, ok := got[name]; !ok && want[name].Type == "gauge" {
			delete(want, name) // gauges that other packages register; a test of cmd/sidecar compares them
		}
	}
	if d := cmp.Diff(want, got); d != "" {
		t.Errorf("docs/telemetry.md (-) against what is registered (+):\n%s", d)
	}
}

// TestLabelsAreWhatTheyWere has a list of all labels that is changed by hand, since each new label of a metric may
// expose text of users.
func TestLabelsAreWhatTheyWere(t *testing.T) {
	reader := sdkmetric.NewManualReader()
	tel, err := telemetry.New(telemetry.Off, sdkmetric.NewMeterProvider(sdkmetric.WithReader(reader)), false)
	require.NoError(t, err)
	recordAll(t, tel, func(n int) string { return fmt.Sprintf("v%d", n) })
	got := make(map[string]string)
	for name, m := range registered(t, reader) {
		got[name] = labelsOf(t, m.Data)
	}
	require.Equal(t, map[string]string{
		"coxswain.rpc.duration":          "code=v2 method=v1",
		"coxswain.script.duration":       "outcome=v2 script=v1",
		"coxswain.script.batch.size":     "script=v1",
		"coxswain.direct":                "outcome=v1",
		"coxswain.script.retries":        "reason=v2 script=v1",
		"coxswain.wait.duration":         "noun=v1 outcome=v2",
		"coxswain.script.reloads":        "",
		"coxswain.decisions":             "outcome=v2 rule=v1",
		"coxswain.decision.remaining":    "rule=v1",
		"coxswain.tokens":                "outcome=v2 rule=v1",
		"coxswain.queue.entries":         "outcome=v1",
		"coxswain.stream.messages":       "outcome=v1",
		"coxswain.pubsub.messages":       "outcome=v1",
		"coxswain.pubsub.gaps":           "",
		"coxswain.pubsub.subscriptions":  "",
		"coxswain.pauses":                "cause=v2 rule=v1",
		"coxswain.breaker.decisions":     "outcome=v1",
		"coxswain.breaker.transitions":   "from=v1 to=v2",
		"coxswain.reports":               "rule=v1 status=v2",
		"coxswain.upstream.duration":     "rule=v1",
		"coxswain.leases.held":           "noun=v1",
		"coxswain.members":               "noun=v1 outcome=v2",
		"coxswain.member.uses":           "noun=v1 outcome=v2",
		"coxswain.leases.lost":           "noun=v1 reason=v2",
		"coxswain.config.reloads":        "outcome=v1",
		"coxswain.connections.closed":    "reason=v1",
		"coxswain.notifications.dropped": "",
		"coxswain.log.dropped":           "",
	}, got)
}

func labelsOf(t *testing.T, data metricdata.Aggregation) string {
	t.Helper()
	var set attribute.Set
	switch d := data.(type) {
	case metricdata.Histogram[float64]:
		set = d.DataPoints[0].Attributes
	case metricdata.Histogram[int64]:
		set = d.DataPoints[0].Attributes
	case metricdata.Sum[int64]:
		set = d.DataPoints[0].Attributes
	case metricdata.Gauge[float64]:
		set = d.DataPoints[0].Attributes
	default:
		t.Fatalf("an aggregation of type %T", data)
	}
	var parts []string
	for _, kv := range set.ToSlice() {
		parts = append(parts, string(kv.Key)+"="+kv.Value.String())
	}
	return strings.Join(parts, " ")
}

func TestValuesAreRecordedInSecondsAndShares(t *testing.T) {
	reader := sdkmetric.NewManualReader()
	tel, err := telemetry.New(telemetry.Off, sdkmetric.NewMeterProvider(sdkmetric.WithReader(reader)), false)
	require.NoError(t, err)
	ctx := t.Context()
	tel.RPC(ctx, "lock.acquire", "OK", 1500*time.Millisecond)
	tel.Decision(ctx, "site", "allowed", .25)
	tel.Decision(ctx, "site", "limit", 0)
	tel.LeaseHeld(ctx, "lock", 1)
	tel.LeaseHeld(ctx, "lock", 1)
	tel.LeaseHeld(ctx, "lock", -1)

	got := registered(t, reader)
	rpc := got["coxswain.rpc.duration"].Data.(metricdata.Histogram[float64]).DataPoints
	require.Len(t, rpc, 1)
	require.Equal(t, 1.5, rpc[0].Sum)
	remaining := got["coxswain.decision.remaining"].Data.(metricdata.Histogram[float64]).DataPoints
	require.Len(t, remaining, 1, "the share is not split by outcome")
	require.Equal(t, uint64(2), remaining[0].Count)
	require.Equal(t, uint64(1), remaining[0].BucketCounts[0], "nothing left has its own bucket")
	require.Len(t, got["coxswain.decisions"].Data.(metricdata.Sum[int64]).DataPoints, 2)
	held := got["coxswain.leases.held"].Data.(metricdata.Sum[int64])
	require.Equal(t, int64(1), held.DataPoints[0].Value)
	require.False(t, held.IsMonotonic)
}

func TestAGaugeIsReadAtEachScrape(t *testing.T) {
	reader := sdkmetric.NewManualReader()
	tel, err := telemetry.New(telemetry.Off, sdkmetric.NewMeterProvider(sdkmetric.WithReader(reader)), false)
	require.NoError(t, err)
	open := 0.0
	require.NoError(t, tel.Gauge("coxswain.connections", "{connection}", "Open.", func(context.Context) float64 { return open },
		attribute.String("state", "idle")))
	for _, open = range []float64{3, 5} {
		m := registered(t, reader)["coxswain.connections"]
		require.Equal(t, "{connection}", m.Unit)
		require.Equal(t, "state=idle", labelsOf(t, m.Data))
		require.Equal(t, open, m.Data.(metricdata.Gauge[float64]).DataPoints[0].Value)
	}
	err = tel.Gauge("no spaces, please", "", "", func(context.Context) float64 { return 0 })
	require.ErrorContains(t, err, "gauge no spaces, please")
}

func TestAGaugeMayHaveSeveralAttributeSets(t *testing.T) {
	reader := sdkmetric.NewManualReader()
	tel, err := telemetry.New(telemetry.Off, sdkmetric.NewMeterProvider(sdkmetric.WithReader(reader)), false)
	require.NoError(t, err)
	for state, n := range map[string]float64{"idle": 3, "used": 5} {
		require.NoError(t, tel.Gauge("coxswain.redis.pool", "{connection}", "Pool.",
			func(context.Context) float64 { return n }, attribute.String("state", state)))
	}
	got := map[string]float64{}
	for _, p := range registered(t, reader)["coxswain.redis.pool"].Data.(metricdata.Gauge[float64]).DataPoints {
		state, _ := p.Attributes.Value("state")
		got[state.AsString()] = p.Value
	}
	require.Equal(t, map[string]float64{"idle": 3, "used": 5}, got)
}

func TestLabelSetsAreBounded(t *testing.T) {
	reader := sdkmetric.NewManualReader()
	tel, err := telemetry.New(telemetry.Off, sdkmetric.NewMeterProvider(
		sdkmetric.WithReader(reader), sdkmetric.WithCardinalityLimit(telemetry.MaxSeries)), false)
	require.NoError(t, err)
	const more = telemetry.MaxSeries + 100
	for i := range more {
		tel.ConnectionClosed(t.Context(), fmt.Sprint(i))
	}
	require.Equal(t, telemetry.MaxSeries, telemetry.Kept(tel))
	points := registered(t, reader)["coxswain.connections.closed"].Data.(metricdata.Sum[int64]).DataPoints
	require.Len(t, points, telemetry.MaxSeries)
	var sum int64
	for _, p := range points {
		sum += p.Value
	}
	require.Equal(t, int64(more), sum, "what is over the bound is folded, not lost")
}

func TestConcurrentUseKeepsEveryCount(t *testing.T) {
	reader := sdkmetric.NewManualReader()
	tel, err := telemetry.New(telemetry.Off, sdkmetric.NewMeterProvider(sdkmetric.WithReader(reader)), false)
	require.NoError(t, err)
	done := make(chan struct{})
	for range 8 {
		go func() {
			defer func() { done <- struct{}{} }()
			for i := range 200 {
				tel.Retry(context.Background(), fmt.Sprint(i), "dial")
			}
		}()
	}
	for range 8 {
		<-done
	}
	points := registered(t, reader)["coxswain.script.retries"].Data.(metricdata.Sum[int64]).DataPoints
	require.Len(t, points, 200)
	for _, p := range points {
		require.Equal(t, int64(8), p.Value)
	}
}

func TestNopAcceptsEveryMeasurement(t *testing.T) {
	tel := telemetry.Nop()
	recordAll(t, tel, func(int) string { return "x" })
	_, span := tel.Tracer().Start(t.Context(), "x")
	require.False(t, span.IsRecording())
	require.NoError(t, tel.Gauge("coxswain.x", "", "", func(context.Context) float64 { return 0 }))
}
