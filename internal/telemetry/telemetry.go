// Package telemetry counts, times and traces for every other package. It is
// a leaf: any internal package may import it, and it imports none of them.
//
// Its invariant: no user key, name or payload becomes a metric label, and a
// sidecar without OTEL_* in its environment exports nowhere.
package telemetry

import (
	"context"
	"errors"
	"fmt"
	"time"

	"go.opentelemetry.io/otel/attribute"
	"go.opentelemetry.io/otel/metric"
	metricnoop "go.opentelemetry.io/otel/metric/noop"
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

	rpc, script, remaining, waited, upstream         metric.Float64Histogram
	batch                                            metric.Int64Histogram
	decisions, retries, reloads, direct              metric.Int64Counter
	lost, closed, dropped, configs, pauses, reports  metric.Int64Counter
	members, uses                                    metric.Int64Counter
	held                                             metric.Int64UpDownCounter
	byMethod, byScript, byRule, byRuleOnly, byRetry  labels
	byNoun, byLoss, byReason, byWait, byOutcome      labels
	byCause, byStatus, byBatch, byDirect             labels
	breakers, breakerChanges                         metric.Int64Counter
	queueEntries, logDropped, tokens, streamMessages metric.Int64Counter
	pubsubMessages, pubsubGaps                       metric.Int64Counter
	pubsubSubscriptions                              metric.Int64UpDownCounter
	byChange                                         labels

	slow slowScripts
}

// The metrics that Times reads.
const (
	rpcDuration    = "coxswain.rpc.duration"
	scriptDuration = "coxswain.script.duration"
)

// latency covers a socket round trip of 50 us up to a wait of a minute, in seconds.
var latency = []float64{
	.00005, .0001, .00025, .0005, .001, .0025, .005, .01, .025, .05, .1, .25, .5, 1, 2.5, 5, 10, 60,
}

// batchSizes goes up to the greatest number of items that one command carries out.
var batchSizes = []float64{1, 2, 4, 8, 16, 32, 64, 128, 256}

// share is finest near 0, since alerts are about limits with little left.
var share = []float64{0, .01, .05, .1, .25, .5, .75, .9, 1}

// New makes the instruments on the given providers. It fails only on a name or
// unit that the metrics API refuses.
func New(tp trace.TracerProvider, mp metric.MeterProvider, recordKeys bool) (*Telemetry, error) {
	t := &Telemetry{
		tracer: tp.Tracer(Scope), meter: mp.Meter(Scope), RecordKeys: recordKeys,
		byMethod:   labels{first: "method", second: "code"},
		byScript:   labels{first: "script", second: "outcome"},
		byRule:     labels{first: "rule", second: "outcome"},
		byRuleOnly: labels{first: "rule"},
		byBatch:    labels{first: "script"},
		byDirect:   labels{first: "outcome"},
		byRetry:    labels{first: "script", second: "reason"},
		byNoun:     labels{first: "noun"},
		byLoss:     labels{first: "noun", second: "reason"},
		byReason:   labels{first: "reason"},
		byWait:     labels{first: "noun", second: "outcome"},
		byOutcome:  labels{first: "outcome"},
		byCause:    labels{first: "rule", second: "cause"},
		byStatus:   labels{first: "rule", second: "status"},
		byChange:   labels{first: "from", second: "to"},
		slow:       slowScripts{ring: NewRing[SlowScript](32)},
	}
	m := maker{meter: t.meter}
	t.rpc = m.histogram(rpcDuration, "s", "How long calls took, by method and code.", latency)
	t.script = m.histogram(scriptDuration, "s", "How long runs of Redis scripts took, each try for itself.", latency)
	t.batch = m.sizes("coxswain.script.batch.size", "{run}", "How many runs of a script went to Redis in one command.", batchSizes)
	t.direct = m.counter("coxswain.direct", "{call}", "Calls whose method has a direct path, by whether they went it, or why not.")
	t.retries = m.counter("coxswain.script.retries", "{retry}", "Further tries of a script, by the reason for them.")
	t.reloads = m.counter("coxswain.script.reloads", "{reload}", "Scripts loaded again after the server had forgotten them.")
	t.decisions = m.counter("coxswain.decisions", "{decision}", "What rules decided: allowed, the reason for the refusal, or what the fail mode decided.")
	t.tokens = m.counter("coxswain.tokens", "{token}", "Tokens that were charged ahead, of rules in mode leased, by what became of them.")
	t.remaining = m.histogram("coxswain.decision.remaining", "", "The share of the limit that was left after a decision, 0 to 1.", share)
	t.waited = m.histogram("coxswain.wait.duration", "s", "How long calls with wait_ms waited for what they asked for.", latency)
	t.pauses = m.counter("coxswain.pauses", "{pause}", "Pauses of keys that began or were prolonged here, by rule and cause.")
	t.reports = m.counter("coxswain.reports", "{report}", "Answers of remote servers that were reported, by rule and class of their status.")
	t.upstream = m.histogram("coxswain.upstream.duration", "s", "How long remote servers took to answer, as it was reported.", latency)
	t.breakers = m.counter("coxswain.breaker.decisions", "{decision}",
		"What circuit breakers decided: allowed, probe, the state that refused, or what the fail mode decided.")
	t.queueEntries = m.counter("coxswain.queue.entries", "{entry}", "Entries of queues, by what became of them.")
	t.streamMessages = m.counter("coxswain.stream.messages", "{message}", "Messages of streams, by what became of them here.")
	t.pubsubMessages = m.counter("coxswain.pubsub.messages", "{message}",
		"Messages of Pub/Sub: published here, or delivered or dropped for one subscription each.")
	t.pubsubGaps = m.counter("coxswain.pubsub.gaps", "{gap}", "Gaps that subscriptions were told of.")
	t.pubsubSubscriptions = m.upDown("coxswain.pubsub.subscriptions", "{subscription}", "Subscriptions of Pub/Sub now.")
	t.breakerChanges = m.counter("coxswain.breaker.transitions", "{transition}", "Changes of state of circuit breakers that happened here, by the states.")
	t.members = m.counter("coxswain.members", "{decision}", "Acquisitions of members of pools: acquired, the reason for the refusal, or failed.")
	t.uses = m.counter("coxswain.member.uses", "{use}", "Members of pools that were given back, by how they did.")
	t.lost = m.counter("coxswain.leases.lost", "{lease}", "Leases that ended before their holder gave them back.")
	t.closed = m.counter("coxswain.connections.closed", "{connection}", "Client connections that the sidecar closed.")
	t.dropped = m.counter("coxswain.notifications.dropped", "{notification}", "Client notifications that failed or name no method.")
	t.configs = m.counter("coxswain.config.reloads", "{reload}", "Times the configuration was read again while serving, by outcome: ok or invalid.")
	t.logDropped = m.counter("coxswain.log.dropped", "{line}", "Lines of the log that were dropped, since nothing took them in time.")
	t.held = m.upDown("coxswain.leases.held", "{lease}", "Leases held for sessions now.")
	if err := errors.Join(m.errs...); err != nil {
		return nil, fmt.Errorf("telemetry: make the instruments: %w", err)
	}
	return t, nil
}

// Nop counts and traces nothing; for tests and tools.
func Nop() *Telemetry {
	t, err := New(off{}, metricnoop.NewMeterProvider(), false)
	if err != nil {
		panic(err) // the no-op providers refuse no name
	}
	return t
}

// maker collects the errors of a list of instruments.
type maker struct {
	meter metric.Meter
	errs  []error
}

func (m *maker) sizes(name, unit, help string, bounds []float64) metric.Int64Histogram {
	h, err := m.meter.Int64Histogram(name, metric.WithUnit(unit), metric.WithDescription(help),
		metric.WithExplicitBucketBoundaries(bounds...))
	m.errs = append(m.errs, err)
	return h
}

func (m *maker) histogram(name, unit, help string, bounds []float64) metric.Float64Histogram {
	h, err := m.meter.Float64Histogram(name, metric.WithUnit(unit), metric.WithDescription(help),
		metric.WithExplicitBucketBoundaries(bounds...))
	m.errs = append(m.errs, err)
	return h
}

func (m *maker) counter(name, unit, help string) metric.Int64Counter {
	c, err := m.meter.Int64Counter(name, metric.WithUnit(unit), metric.WithDescription(help))
	m.errs = append(m.errs, err)
	return c
}

func (m *maker) upDown(name, unit, help string) metric.Int64UpDownCounter {
	c, err := m.meter.Int64UpDownCounter(name, metric.WithUnit(unit), metric.WithDescription(help))
	m.errs = append(m.errs, err)
	return c
}

// Tracer starts spans. Check span.IsRecording before building attributes, which are
// of no use if the parent is not sampled or the sampler drops the span.
func (t *Telemetry) Tracer() trace.Tracer { return t.tracer }

// RPC records one call: its method (of the table, never client text), its code
// (OK or an api code) and how long it took.
func (t *Telemetry) RPC(ctx context.Context, method, code string, took time.Duration) {
	t.rpc.Record(ctx, took.Seconds(), t.byMethod.of(method, code).record...)
}

// Script records one run of a script with its outcome (ok or error).
func (t *Telemetry) Script(ctx context.Context, script, outcome string, took time.Duration) {
	t.script.Record(ctx, took.Seconds(), t.byScript.of(script, outcome).record...)
	if took >= slowScript {
		t.slow.add(script, outcome, took)
	}
}

// Batch records how many runs of a script one command carried out.
func (t *Telemetry) Batch(ctx context.Context, script string, runs int64) {
	t.batch.Record(ctx, runs, t.byBatch.of(script, "").record...)
}

// Direct counts a call whose method has a direct path, by its outcome there.
func (t *Telemetry) Direct(ctx context.Context, outcome string) {
	t.direct.Add(ctx, 1, t.byDirect.of(outcome, "").add...)
}

// Retry counts one more try of a script, and why (refused, loading, noscript, ...).
func (t *Telemetry) Retry(ctx context.Context, script, why string) {
	t.retries.Add(ctx, 1, t.byRetry.of(script, why).add...)
}

// ScriptsReloaded counts a NOSCRIPT recovery.
func (t *Telemetry) ScriptsReloaded(ctx context.Context) { t.reloads.Add(ctx, 1) }

// Decision records what a rule decided: outcome is allowed or a refusal reason;
// ratio is remaining/limit, within 0 and 1. Rule is a configured name, or
// "inline": never a key.
func (t *Telemetry) Decision(ctx context.Context, rule, outcome string, ratio float64) {
	t.decisions.Add(ctx, 1, t.byRule.of(rule, outcome).add...)
	t.remaining.Record(ctx, ratio, t.byRuleOnly.of(rule, "").record...)
}

// TokensAhead counts tokens that were charged ahead of the calls for them, by their
// state: charged, served, returned or lapsed.
func (t *Telemetry) TokensAhead(ctx context.Context, rule, outcome string, n int64) {
	t.tokens.Add(ctx, n, t.byRule.of(rule, outcome).add...)
}

// Degraded counts a decision that was made without Redis, with an outcome as
// Decision has them. What is left of a limit is not known then.
func (t *Telemetry) Degraded(ctx context.Context, rule, outcome string) {
	t.decisions.Add(ctx, 1, t.byRule.of(rule, outcome).add...)
}

// Waited records how long a call with wait_ms waited, by noun and by how the wait
// ended: served, refused or failed.
func (t *Telemetry) Waited(ctx context.Context, noun, outcome string, d time.Duration) {
	t.waited.Record(ctx, d.Seconds(), t.byWait.of(noun, outcome).record...)
}

// Paused counts a pause of a key under a rule, by its cause: manual, or penalty
// for what a remote server answered.
func (t *Telemetry) Paused(ctx context.Context, rule, cause string) {
	t.pauses.Add(ctx, 1, t.byCause.of(rule, cause).add...)
}

// Reported counts an answer of a remote server, by the class of its status (2xx,
// ...), and records how long it took; 0 = not reported.
func (t *Telemetry) Reported(ctx context.Context, rule, class string, took time.Duration) {
	t.reports.Add(ctx, 1, t.byStatus.of(rule, class).add...)
	if took > 0 {
		t.upstream.Record(ctx, took.Seconds(), t.byRuleOnly.of(rule, "").record...)
	}
}

// BreakerDecided counts what a circuit breaker decided: allowed, probe, the state
// that refused, degraded_allowed or unavailable.
func (t *Telemetry) BreakerDecided(ctx context.Context, outcome string) {
	t.breakers.Add(ctx, 1, t.byOutcome.of(outcome, "").add...)
}

// QueueEntries counts entries of queues by what happened to them: enqueued, dequeued,
// returned or expired.
func (t *Telemetry) QueueEntries(ctx context.Context, outcome string, n int64) {
	if n > 0 {
		t.queueEntries.Add(ctx, n, t.byOutcome.of(outcome, "").add...)
	}
}

// StreamMessages counts messages of streams by what happened to them: published, delivered,
// redelivered, acked, nacked, returned, dead or trimmed.
func (t *Telemetry) StreamMessages(ctx context.Context, outcome string, n int64) {
	if n > 0 {
		t.streamMessages.Add(ctx, n, t.byOutcome.of(outcome, "").add...)
	}
}

// The outcomes of messages of Pub/Sub.
const (
	PubsubPublished = "published"
	PubsubDelivered = "delivered"
	PubsubDropped   = "dropped"
)

// PubsubMessages counts messages by outcome.
func (t *Telemetry) PubsubMessages(ctx context.Context, outcome string, n int64) {
	t.pubsubMessages.Add(ctx, n, t.byOutcome.of(outcome, "").add...)
}

// PubsubGap counts a gap that was reported to a subscription.
func (t *Telemetry) PubsubGap(ctx context.Context) { t.pubsubGaps.Add(ctx, 1) }

// PubsubSubscriptions counts subscriptions that begin, or end where n is negative.
func (t *Telemetry) PubsubSubscriptions(ctx context.Context, n int64) {
	t.pubsubSubscriptions.Add(ctx, n)
}

// BreakerChanged counts a change of state.
func (t *Telemetry) BreakerChanged(ctx context.Context, from, to string) {
	t.breakerChanges.Add(ctx, 1, t.byChange.of(from, to).add...)
}

// MemberDecided counts an acquisition of a pool's member, by noun (pool or permit)
// and outcome: acquired, the reason for the refusal, or failed.
func (t *Telemetry) MemberDecided(ctx context.Context, noun, outcome string) {
	t.members.Add(ctx, 1, t.byWait.of(noun, outcome).add...)
}

// MemberReleased counts a member that was given back, by noun (pool or permit) and
// by how it did (ok, fail, ...).
func (t *Telemetry) MemberReleased(ctx context.Context, noun, outcome string) {
	t.uses.Add(ctx, 1, t.byWait.of(noun, outcome).add...)
}

// LeaseHeld adds n (1 or -1) to the leases held for sessions, by noun (lock, ...).
func (t *Telemetry) LeaseHeld(ctx context.Context, noun string, n int64) {
	t.held.Add(ctx, n, t.byNoun.of(noun, "").add...)
}

// LeaseLost counts a lease that was lost, by noun and reason.
func (t *Telemetry) LeaseLost(ctx context.Context, noun, reason string) {
	t.lost.Add(ctx, 1, t.byLoss.of(noun, reason).add...)
}

// ConnectionClosed counts connections that the sidecar closed, by reason
// (malformed, slow_reader, too_many, duplicate_msgid, ...).
func (t *Telemetry) ConnectionClosed(ctx context.Context, reason string) {
	t.closed.Add(ctx, 1, t.byReason.of(reason, "").add...)
}

// NotificationDropped counts client notifications that failed or are unknown.
func (t *Telemetry) NotificationDropped(ctx context.Context) { t.dropped.Add(ctx, 1) }

// LogDropped counts lines of the log that were dropped.
func (t *Telemetry) LogDropped(ctx context.Context, lines int64) { t.logDropped.Add(ctx, lines) }

// ConfigReloaded counts a configuration that was read again, by outcome (ok or
// invalid).
func (t *Telemetry) ConfigReloaded(ctx context.Context, outcome string) {
	t.configs.Add(ctx, 1, t.byOutcome.of(outcome, "").add...)
}

// State registers a gauge with one series, which has the name of the current state
// as its attribute label. read must return a word of a fixed list, never text of users.
func (t *Telemetry) State(name, help, label string, read func(context.Context) (string, float64)) error {
	g, err := t.meter.Float64ObservableGauge(name, metric.WithDescription(help))
	if err == nil {
		_, err = t.meter.RegisterCallback(func(ctx context.Context, o metric.Observer) error {
			state, value := read(ctx)
			o.ObserveFloat64(g, value, metric.WithAttributes(attribute.String(label, state)))
			return nil
		}, g)
	}
	if err != nil {
		return fmt.Errorf("gauge %s: %w", name, err)
	}
	return nil
}

// Gauge registers a value that is read at each scrape, such as open sessions.
// Unit is a UCUM unit such as {session}, By or s. One name may be registered
// once for each of several attribute sets.
func (t *Telemetry) Gauge(name, unit, help string, read func(context.Context) float64, attrs ...attribute.KeyValue) error {
	set := metric.WithAttributeSet(attribute.NewSet(attrs...))
	g, err := t.meter.Float64ObservableGauge(name, metric.WithUnit(unit), metric.WithDescription(help))
	if err != nil {
		return fmt.Errorf("gauge %s: %w", name, err)
	}
	// Not as the instrument's own callback, of which the SDK keeps only the first.
	_, err = t.meter.RegisterCallback(func(ctx context.Context, o metric.Observer) error {
		o.ObserveFloat64(g, read(ctx), set)
		return nil
	}, g)
	if err != nil {
		return fmt.Errorf("gauge %s: %w", name, err)
	}
	return nil
}
