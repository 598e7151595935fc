package main

import (
	"context"
	"fmt"
	"slices"
	"time"
)

// load is one measurement, made once in each round.
type load struct {
	name string
	// peer: the load uses no sidecar, and is measured once a round, however many sidecars there are.
	peer bool
	run  runner
}

// connections is how many connections the callers of the workload share.
const connections = 4

// loads are all loads that figures need, in the order in which they are measured.
var loads = slices.Concat([]load{
	{"redis-benchmark", false, redisBenchmark},
	{"direct 1", false, direct},
	{"loop 64", false, loop(64)},
	{"loop 256", false, loop(256)},
	{"redis_rate 64", true, inProcessRate(64)},
	{"client acquire 64", false, byClient(64, shared(keyCount), clientAcquire(ruleName))},
	{"raw acquire 64", false, byHand(64, connections, shared(keyCount), rawAcquire(ruleName))},
	{"redis_rate 256", true, inProcessRate(256)},
	{"client acquire 256", false, byClient(256, shared(keyCount), clientAcquire(ruleName))},
	{"raw acquire 256", false, byHand(256, connections, shared(keyCount), rawAcquire(ruleName))},
	{"client acquire 1", false, byClient(1, shared(keyCount), clientAcquire(ruleName))},
	{"raw acquire 1", false, byHand(1, connections, shared(keyCount), rawAcquire(ruleName))},
	{"raw acquire over TLS 64", false, overTLS},
	{"envoy ratelimit 64", true, envoyRatelimit},
	{"client leased 64", false, leased(byClient(64, shared(keyCount), clientAcquire(leasedRule)))},
	{"raw leased 64", false, leased(byHand(64, connections, shared(keyCount), rawAcquire(leasedRule)))},
	{"client ping 1", false, byClient(1, shared(keyCount), clientPing)},
	{"raw ping 1", false, byHand(1, connections, shared(keyCount), rawPing)},
	{"echo 1", true, echo(1)},
	{"client ping 64", false, byClient(64, shared(keyCount), clientPing)},
	{"raw ping 64", false, byHand(64, connections, shared(keyCount), rawPing)},
	{"raw observed 64", false, observed},
	{"raw unobserved 64", false, unobserved},
	{"redislock 64", true, redisLock(64)},
	{"client lock 64", false, byClient(64, inTurn(keyCount), clientLock)},
	{"raw lock 64", false, byHand(64, connections, inTurn(keyCount), rawLock)},
	{"client permit 64", false, withPool(byClient(64, shared(keyCount), clientPermit))},
	{"raw permit 64", false, withPool(byHand(64, connections, shared(keyCount), rawPermit))},
	{"go-redis publish 1", true, redisPublish(1)},
	{"client publish 1", false, byClient(1, shared(keyCount), clientPublish)},
	{"raw publish 1", false, byHand(1, connections, shared(keyCount), rawPublish)},
	{"go-redis publish 64", true, redisPublish(64)},
	{"client publish 64", false, byClient(64, shared(keyCount), clientPublish)},
	{"raw publish 64", false, byHand(64, connections, shared(keyCount), rawPublish)},
	{"go-redis consume 1", true, redisConsume(1)},
	{"client consume 1", false, consumed(1, clientConsume)},
	{"raw consume 1", false, consumed(1, rawConsume)},
	{"go-redis consume 64", true, redisConsume(64)},
	{"client consume 64", false, consumed(64, clientConsume)},
	{"raw consume 64", false, consumed(64, rawConsume)},
	{"redis-py 64", false, byPython(kindRedisPy, 64)},
	{"Python acquire 64", false, byPython(kindPython, 64)},
	{"fleet, redis_rate", true, rateFleet},
	{"fleet, client", false, clientFleet},
	{"memory idle", false, idleMemory},
	{"memory of 256 x 64", false, fullMemory},
	{"memory after 1,000,000 keys", false, memoryGrowth},
	{"start to ready", false, startToReady},
	{"image compressed", true, imageCompressed},
	{"image unpacked", true, imageUnpacked},
	{"client killed", false, clientKilled},
	{"sidecar killed", false, sidecarKilled},
}, growthOverKeys.all(), growthOverConnections.all(), growthOverMasters.all())

// runner runs a load on one side.
type runner = func(ctx context.Context, s *side, d time.Duration) (sample, error)

// byClient is a load through package client with its defaults, which include request ids.
func byClient(callers int, keys keySpace, call clientCall) runner {
	return func(ctx context.Context, s *side, d time.Duration) (sample, error) {
		return s.client(ctx, s.usual, callers, d, keys, call)
	}
}

// byHand is a load of prepared frames.
func byHand(callers, connections int, keys keySpace, steps exchange) runner {
	return func(ctx context.Context, s *side, d time.Duration) (sample, error) {
		return s.raw(ctx, s.usual, callers, connections, d, keys, steps)
	}
}

// leased is a load on the rule in leased mode.
func leased(run runner) runner {
	return func(ctx context.Context, s *side, d time.Duration) (sample, error) {
		if !s.leased {
			return sample{}, notHere("this sidecar refuses a rule with mode: leased")
		}
		return run(ctx, s, d)
	}
}

// withPool is a load on the pool of permits.
func withPool(run runner) runner {
	return func(ctx context.Context, s *side, d time.Duration) (sample, error) {
		c, err := dialed(ctx, s.usual.socket, 1)
		if err != nil {
			return sample{}, err
		}
		err = fillPool(ctx, c)
		_ = c.Close() // it has no leases
		if err != nil {
			return sample{}, err
		}
		return run(ctx, s, d)
	}
}

// overTLS is the workload through a sidecar that reaches the same Redis over TLS.
func overTLS(ctx context.Context, s *side, d time.Duration) (sample, error) {
	v := variant{name: "tls", redis: "rediss://127.0.0.1:" + s.lab.securePort, env: []string{"COXSWAIN_REDIS_TLS_CA_FILE=" + s.lab.cert}}
	return s.beside(ctx, v, func(srv *server) (sample, error) {
		return s.started(ctx, srv, d)
	})
}

// observed is the workload through a sidecar that exports metrics and the traces of one
// call in a hundred, and serves its metrics.
func observed(ctx context.Context, s *side, d time.Duration) (sample, error) {
	v := variant{name: "observed", env: []string{
		"OTEL_EXPORTER_OTLP_ENDPOINT=" + s.lab.collector.URL,
		"OTEL_TRACES_SAMPLER=parentbased_traceidratio", "OTEL_TRACES_SAMPLER_ARG=0.01",
	}}
	return s.beside(ctx, v, func(srv *server) (sample, error) {
		return s.started(ctx, srv, d)
	})
}

func unobserved(ctx context.Context, s *side, d time.Duration) (sample, error) {
	v := variant{name: "unobserved", env: []string{"OTEL_SDK_DISABLED=true"}, args: []string{"--http", ""}}
	return s.beside(ctx, v, func(srv *server) (sample, error) {
		return s.started(ctx, srv, d)
	})
}

// echo is a server that returns the bytes it reads: no server on such a socket can be faster.
func echo(callers int) runner {
	return func(ctx context.Context, s *side, d time.Duration) (sample, error) {
		return s.raw(ctx, s.lab.echo, callers, connections, d, shared(keyCount), echoed)
	}
}

// named is the load with a name.
func named(name string) (load, error) {
	if i := slices.IndexFunc(loads, func(l load) bool { return l.name == name }); i >= 0 {
		return loads[i], nil
	}
	return load{}, fmt.Errorf("there is no load %q; docs/benchmarks.md lists them, and bench -loads", name)
}
