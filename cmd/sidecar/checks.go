package main

import (
	"context"
	"errors"
	"fmt"
	"time"

	"go.opentelemetry.io/otel/attribute"

	"github.com/coxswain-sidecar/coxswain/client/api"
	"github.com/coxswain-sidecar/coxswain/internal/coord"
	"github.com/coxswain-sidecar/coxswain/internal/doctor"
	"github.com/coxswain-sidecar/coxswain/internal/health"
	"github.com/coxswain-sidecar/coxswain/internal/redis"
)

// liveChecks never ask Redis, since restarting the sidecar does not repair Redis.
func (a *app) liveChecks() []health.Check {
	return []health.Check{{Name: "socket", Run: func(ctx context.Context) (string, error) {
		return fmt.Sprintf("%s answers, %d connections", a.config.Socket.Path, a.server.Connections()), a.server.Alive(ctx)
	}}}
}

// readyChecks use the results of the runner's probe. Only the check of Redis sends a ping of its own:
// by a result that is a second old, a frozen Redis would be ready.
func (a *app) readyChecks() []health.Check {
	return []health.Check{
		{Name: "redis", Run: func(ctx context.Context) (string, error) {
			err := a.runner.Ping(ctx)
			return doctor.Store(a.runner.Status(), err)
		}},
		{Name: "scripts", Run: func(context.Context) (string, error) { return doctor.Scripts(a.runner.Status()) }},
		{Name: "eviction", Run: func(context.Context) (string, error) { return doctor.Eviction(a.runner.Status().EvictionPolicy) }},
		{Name: "pool", Run: a.checkPool},
		{Name: "rules", Run: func(context.Context) (string, error) {
			return fmt.Sprintf("%d rules in force", len(a.rules.Names())), nil
		}},
		{Name: "drain", Run: func(context.Context) (string, error) {
			if until, ok := a.server.Draining(); ok {
				return "draining: the pod ends at " + until.UTC().Format(time.RFC3339), nil
			}
			return "not draining", nil
		}},
		{Name: "config", Run: func(ctx context.Context) (string, error) {
			if r := a.reloads.Load(); r != nil {
				return r.check(ctx)
			}
			return "not watched yet", nil
		}},
	}
}

func (a *app) checkPool(context.Context) (string, error) {
	s := a.runner.Status()
	return fmt.Sprintf("%d of %d connections open, %d idle", s.PoolTotal, s.PoolMax, s.PoolIdle), nil
}

// snapshot returns the result of health.get, also between the opening of the socket and the first
// check.
func (a *app) snapshot(context.Context) api.HealthResult {
	if h := a.health.Load(); h != nil {
		return h.Snapshot()
	}
	return api.HealthResult{Store: a.runner.Status().Topology, Checks: []api.HealthCheck{{Name: "start", Detail: "still starting; ask again"}}}
}

// draining handles session.drain: it logs it, stops charging tokens ahead and delivering messages, and publishes an event.
func (a *app) draining(until time.Time) {
	at := until.UTC().Format(time.RFC3339)
	a.log.Info("draining: the pod ends", "at", at)
	a.limiter.Drain()
	a.streams.Drain()
	a.events.Publish(coord.Event{Kind: coord.EventDraining, Reason: "told", Detail: "the pod ends at " + at})
}

// addGauges registers what is read at each scrape.
func (a *app) addGauges() error {
	status := func(of func(redis.Status) float64) func(context.Context) float64 {
		return func(context.Context) float64 { return of(a.runner.Status()) }
	}
	trouble := func(context.Context) (string, float64) {
		if t := a.runner.Status().Trouble; t != nil {
			return t.Name, 1
		}
		return "none", 0
	}
	up := func(s redis.Status) float64 {
		if s.Up {
			return 1
		}
		return 0
	}
	t := a.telemetry
	state := func(s string) attribute.KeyValue { return attribute.String("state", s) }
	of := func(what string) attribute.KeyValue { return attribute.String("of", what) }
	const held = "Bytes that all connections hold together, beyond the fixed part of each."
	return errors.Join(
		t.Gauge("coxswain.config.reload.ok", "", "1 while the configuration in force is that of the files, 0 after a reload that was refused.",
			func(context.Context) float64 {
				if r := a.reloads.Load(); r != nil && r.state.Load().err != nil {
					return 0
				}
				return 1
			}),
		t.Gauge("coxswain.connections", "{connection}", "Client connections open now.",
			func(context.Context) float64 { return float64(a.server.Connections()) }),
		t.Gauge("coxswain.held", "By", held, a.held(func(buffers, _ int64) int64 { return buffers }), of("buffers")),
		t.Gauge("coxswain.held", "By", held, a.held(func(_, calls int64) int64 { return calls }), of("calls")),
		t.Gauge("coxswain.held.max", "By", "The most bytes of either that connections may hold together (half of limits.max_total_bytes).",
			func(context.Context) float64 { return float64(a.server.Limits().MaxTotalBytes / 2) }),
		t.Gauge("coxswain.waiting", "{call}", "Calls that are in a waiting line now.",
			func(context.Context) float64 { return float64(a.lines.Waiting()) }),
		t.Gauge("coxswain.stream.groups", "{group}", "Groups of consumers that this sidecar takes part in now.",
			func(context.Context) float64 { return float64(a.streams.Loops()) }),
		t.Gauge("coxswain.stream.unsent", "By", "Bytes of messages of streams that were read and not sent to a client yet.",
			func(context.Context) float64 { return float64(a.streams.Unsent()) }),
		t.Gauge("coxswain.stream.lag", "{message}", "Messages that were not delivered to the groups of this sidecar, all groups together, as of the last count.",
			func(context.Context) float64 { return float64(a.streams.Standing().Lag) }),
		t.Gauge("coxswain.stream.pending", "{message}", "Messages that were delivered to the groups of this sidecar and are not acknowledged, all groups together.",
			func(context.Context) float64 { return float64(a.streams.Standing().Pending) }),
		t.Gauge("coxswain.stream.pending.age", "s", "Time since the publishing of the oldest message that a group of this sidecar has not acknowledged.",
			func(context.Context) float64 { return a.streams.Standing().Oldest.Seconds() }),
		t.Gauge("coxswain.redis.up", "", "1 while Redis answers, else 0.", status(up)),
		t.State("coxswain.redis.trouble", "1 and its name while something is wrong with Redis or the way to it, else 0 and none.", "trouble", trouble),
		t.Gauge("coxswain.redis.rtt", "s", "The last probe's round trip to Redis.",
			status(func(s redis.Status) float64 { return s.RTT.Seconds() })),
		t.Gauge("coxswain.redis.memory", "By", "Memory that Redis reports to use.",
			status(func(s redis.Status) float64 { return float64(s.UsedMemory) })),
		t.Gauge("coxswain.redis.pool", "{connection}", "Connections of the pool, idle or used.",
			status(func(s redis.Status) float64 { return float64(s.PoolIdle) }), state("idle")),
		t.Gauge("coxswain.redis.pool", "{connection}", "Connections of the pool, idle or used.",
			status(func(s redis.Status) float64 { return float64(s.PoolTotal - s.PoolIdle) }), state("used")),
		t.Gauge("coxswain.redis.pool.max", "{connection}", "The most connections the pool may have (redis.pool.max).",
			status(func(s redis.Status) float64 { return float64(s.PoolMax) })),
	)
}

// held returns a function that reads one part of the bytes that connections hold.
func (a *app) held(part func(buffers, calls int64) int64) func(context.Context) float64 {
	return func(context.Context) float64 { return float64(part(a.server.Held())) }
}
