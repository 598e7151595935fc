// Package telemetry is how every other package counts, times and traces. It is
// a leaf: any internal package may import it, and it imports none of them.
//
// Its invariant: no user key, name or payload becomes a metric label, and a
// sidecar without OTEL_* in its environment exports nowhere.
package telemetry

import (
	"context"
	"time"

	"go.opentelemetry.io/otel/attribute"
	"go.opentelemetry.io/otel/metric"
	"go.opentelemetry.io/otel/trace"
)

// Scope is the instrumentation scope of all spans and metrics.
const Scope = "github.com/coxswain-sidecar/coxswain"

// Telemetry holds the instruments. Its methods are safe for concurrent use.
type Telemetry struct {
	tracer trace.Tracer
	meter  metric.Meter

	// RecordKeys lets spans carry key text (telemetry.record_keys).
	RecordKeys bool

	rpc, script      metric.Float64Histogram
	decisions        metric.Int64Counter
	remaining        metric.Float64Histogram
	retries, reloads metric.Int64Counter
	leases           metric.Int64UpDownCounter
	lost             metric.Int64Counter
	closed, dropped  metric.Int64Counter
	configReloads    metric.Int64Counter
}

// latency covers a socket round trip of 50 us up to a wait of a minute, in seconds.
var latency = []float64{
	.00005, .0001, .00025, .0005, .001, .0025, .005, .01, .025, .05, .1, .25, .5, 1, 2.5, 5, 10, 60,
}

// New makes the instruments on the given providers. It fails only on a name or
// unit that the metrics API refuses.
func New(tp trace.TracerProvider, mp metric.MeterProvider, recordKeys bool) (*Telemetry, error) {
	panic("not yet")
}

// Nop counts and traces nothing; for tests and tools.
func Nop() *Telemetry { panic("not yet") }

// Tracer starts spans. Start none where no parent is sampled and the sampler
// says no: ask span.IsRecording before building attributes.
func (t *Telemetry) Tracer() trace.Tracer { return t.tracer }

// RPC records one call: its method (of the table, never client text), its code
// (OK or an api code) and how long it took.
func (t *Telemetry) RPC(ctx context.Context, method, code string, took time.Duration) {}

// Script records one run of a script with its outcome (ok or error).
func (t *Telemetry) Script(ctx context.Context, script, outcome string, took time.Duration) {}

// Retry counts one more try of a script, and why (dial, loading, noscript, ...).
func (t *Telemetry) Retry(ctx context.Context, script, why string) {}

// ScriptsReloaded counts a NOSCRIPT recovery.
func (t *Telemetry) ScriptsReloaded(ctx context.Context) {}

// Decision records what a rule decided: outcome is allowed or a refusal reason;
// ratio is remaining/limit, within 0 and 1. Rule is a configured name, or
// "inline": never a key.
func (t *Telemetry) Decision(ctx context.Context, rule, outcome string, ratio float64) {}

// LeaseHeld adds n (1 or -1) to the leases held for sessions, by noun (lock, ...).
func (t *Telemetry) LeaseHeld(ctx context.Context, noun string, n int64) {}

// LeaseLost counts a lease that was lost, by noun and reason.
func (t *Telemetry) LeaseLost(ctx context.Context, noun, reason string) {}

// ConnectionClosed counts connections that the sidecar closed, by reason
// (malformed, slow_reader, too_many, duplicate_msgid, ...).
func (t *Telemetry) ConnectionClosed(ctx context.Context, reason string) {}

// NotificationDropped counts client notifications that failed or are unknown.
func (t *Telemetry) NotificationDropped(ctx context.Context) {}

// Gauge registers a value that is read at each scrape, such as open sessions.
// Unit is a UCUM unit such as {session}, By or s.
func (t *Telemetry) Gauge(name, unit, help string, read func(context.Context) float64, attrs ...attribute.KeyValue) error {
	return nil
}
