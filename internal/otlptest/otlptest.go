// Package otlptest is a collector for tests: it takes OTLP over HTTP and keeps
// the spans, so that a test sees what a real collector would.
//
// It keeps traces only; metrics are answered and forgotten.
package otlptest

import (
	"io"
	"net/http"
	"net/http/httptest"
	"sync"
	"testing"

	collector "go.opentelemetry.io/proto/otlp/collector/trace/v1"
	common "go.opentelemetry.io/proto/otlp/common/v1"
	resource "go.opentelemetry.io/proto/otlp/resource/v1"
	trace "go.opentelemetry.io/proto/otlp/trace/v1"
	"google.golang.org/protobuf/proto"
)

// Collector is a running receiver.
type Collector struct {
	// URL is for OTEL_EXPORTER_OTLP_ENDPOINT.
	URL string

	mu    sync.Mutex // guards what follows
	spans []Span
	paths map[string]int
}

// Span is one span and who sent it.
type Span struct {
	*trace.Span
	Resource *resource.Resource
}

// Start starts a collector that ends with the test.
func Start(t testing.TB) *Collector {
	t.Helper()
	c := &Collector{paths: make(map[string]int)}
	s := httptest.NewServer(c)
	t.Cleanup(s.Close)
	c.URL = s.URL
	return c
}

// ServeHTTP takes one export.
func (c *Collector) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	body, err := io.ReadAll(r.Body)
	if err != nil {
		http.Error(w, err.Error(), http.StatusBadRequest)
		return
	}
	var spans []Span
	if r.URL.Path == "/v1/traces" {
		var in collector.ExportTraceServiceRequest
		if err := proto.Unmarshal(body, &in); err != nil {
			http.Error(w, err.Error(), http.StatusBadRequest)
			return
		}
		for _, rs := range in.GetResourceSpans() {
			for _, ss := range rs.GetScopeSpans() {
				for _, s := range ss.GetSpans() {
					spans = append(spans, Span{Span: s, Resource: rs.GetResource()})
				}
			}
		}
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	c.paths[r.URL.Path]++
	c.spans = append(c.spans, spans...)
	// An empty message is the answer of a collector that took everything.
	w.Header().Set("Content-Type", "application/x-protobuf")
}

// Spans returns what has come so far.
func (c *Collector) Spans() []Span {
	c.mu.Lock()
	defer c.mu.Unlock()
	return append([]Span(nil), c.spans...)
}

// Exports counts the exports to a path, such as /v1/metrics.
func (c *Collector) Exports(path string) int {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.paths[path]
}

// Attributes makes OTLP's list a map; values are string, int64, float64 or bool.
func Attributes(kvs []*common.KeyValue) map[string]any {
	m := make(map[string]any, len(kvs))
	for _, kv := range kvs {
		switch v := kv.GetValue().GetValue().(type) {
		case *common.AnyValue_StringValue:
			m[kv.GetKey()] = v.StringValue
		case *common.AnyValue_IntValue:
			m[kv.GetKey()] = v.IntValue
		case *common.AnyValue_DoubleValue:
			m[kv.GetKey()] = v.DoubleValue
		case *common.AnyValue_BoolValue:
			m[kv.GetKey()] = v.BoolValue
		default:
			m[kv.GetKey()] = kv.GetValue().String()
		}
	}
	return m
}
