package stream_test

import (
	"testing"

	"github.com/stretchr/testify/require"
	sdkmetric "go.opentelemetry.io/otel/sdk/metric"
	"go.opentelemetry.io/otel/sdk/metric/metricdata"
	"go.opentelemetry.io/otel/trace/noop"

	"github.com/coxswain-sidecar/coxswain/client/api"
	"github.com/coxswain-sidecar/coxswain/internal/coord"
	"github.com/coxswain-sidecar/coxswain/internal/coordtest"
	"github.com/coxswain-sidecar/coxswain/internal/lua"
	"github.com/coxswain-sidecar/coxswain/internal/luatest"
	"github.com/coxswain-sidecar/coxswain/internal/redistest"
	"github.com/coxswain-sidecar/coxswain/internal/telemetry"
)

// The sums are over the groups that the sidecar takes part in, and a group is not counted after that.
func TestMessagesOfASidecarsGroupsAreCounted(t *testing.T) {
	onStores(t, func(t *testing.T, f *fleet) {
		s := f.sidecar()
		require.Zero(t, s.Streams.Standing())
		c := connect(t, s)
		f.publish("one", "two", "three")
		var names []string
		for group, prefetch := range map[string]int64{"workers": 1, "others": 2} {
			r := must(c, api.StreamSubscribe, api.StreamSubscribeParams{Stream: "jobs", Group: group, Prefetch: prefetch})
			names = append(names, r.Subscription)
		}
		c.bodies(3)
		eventually(t, func() bool {
			got := s.Streams.Standing()
			return got.Lag == 3 && got.Pending == 3 && got.Oldest > 0
		})
		require.Zero(t, f.sidecar().Streams.Standing(), "a sidecar that takes no part")
		for _, name := range names {
			must(c, api.StreamUnsubscribe, api.StreamUnsubscribeParams{Subscription: name})
		}
		eventually(t, func() bool { return s.Streams.Loops() == 0 })
		require.Zero(t, s.Streams.Standing())
	})
}

// outcomes returns the counts of coxswain.stream.messages.
func outcomes(t *testing.T, reader sdkmetric.Reader) map[string]int64 {
	t.Helper()
	var all metricdata.ResourceMetrics
	require.NoError(t, reader.Collect(t.Context(), &all))
	counts := map[string]int64{}
	for _, scope := range all.ScopeMetrics {
		for _, m := range scope.Metrics {
			if m.Name != "coxswain.stream.messages" {
				continue
			}
			for _, p := range m.Data.(metricdata.Sum[int64]).DataPoints {
				outcome, _ := p.Attributes.Value("outcome")
				counts[outcome.AsString()] = p.Value
			}
		}
	}
	return counts
}

// A message is counted once, when it is accepted: a repeated call or a duplicate is not counted.
func TestPublishedMessagesAreCountedOnce(t *testing.T) {
	t.Parallel()
	reader := sdkmetric.NewManualReader()
	tel, err := telemetry.New(noop.NewTracerProvider(), sdkmetric.NewMeterProvider(sdkmetric.WithReader(reader)), false)
	require.NoError(t, err)
	s := coordtest.NewWith(t, luatest.Open(t, lua.Options{URL: redistest.URL(t)}), redistest.Prefix(t), coordtest.Options{Telemetry: tel})
	c := coord.Caller{RequestID: "r", Fingerprint: "f"}
	for range 2 {
		publish(t, s, c, api.StreamPublishParams{Stream: "s", Body: []byte("one")})
		publish(t, s, coord.Caller{}, api.StreamPublishParams{Stream: "s", DedupeID: "two"})
	}
	require.Equal(t, map[string]int64{"published": 2}, outcomes(t, reader))
	publish(t, s, coord.Caller{}, api.StreamPublishParams{Stream: "s", DelayMS: 3_600_000})
	require.Equal(t, map[string]int64{"published": 3}, outcomes(t, reader), "one that is not due has been published")
	c.RequestID = "many"
	for range 2 {
		_, err = s.Streams.PublishMany(t.Context(), c, &api.StreamPublishManyParams{Stream: "s", Messages: []api.StreamNewMessage{
			{Body: []byte("three")}, {DedupeID: "two", DedupeMS: 300_000}, {Body: []byte("four")},
		}})
		require.NoError(t, err)
	}
	require.Equal(t, map[string]int64{"published": 5}, outcomes(t, reader))
}
