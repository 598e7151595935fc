package main

import (
	"context"
	"fmt"
	"slices"
	"time"

	"github.com/coxswain-sidecar/coxswain/client"
)

// sample is what one point measured in one round; what does not apply is zero.
type sample struct {
	rate     float64       // calls per second
	p50, p99 time.Duration // of one call
	cpu      time.Duration // of the process under test, per call
}

// point is one load, measured once in each round.
type point struct {
	name    string
	measure func(ctx context.Context, d time.Duration) (sample, error)
}

// connections is how many the callers of the workload share.
const connections = 4

// points are measured one after the other in each round, so that whatever else
// the machine does meets all of them alike.
func points(l *lab, c command, clients, secured *clients) []point {
	ps := []point{{"redis-benchmark", func(ctx context.Context, d time.Duration) (sample, error) {
		rate, err := l.redisBenchmark(ctx, c, d)
		return sample{rate: rate}, err
	}}, {"direct 1", func(ctx context.Context, d time.Duration) (sample, error) {
		return plain(closedLoop(1, d, func(key string) error { return c.eval(ctx, l.db, key) }))
	}}, {"loop 64", func(ctx context.Context, d time.Duration) (sample, error) {
		cpu, err := l.loop(ctx, c, 64, d)
		return sample{cpu: cpu}, err
	}}}
	for _, callers := range []int{64, 256} {
		ps = append(ps, point{fmt.Sprint("redis_rate ", callers), func(ctx context.Context, d time.Duration) (sample, error) {
			return plain(closedLoop(callers, d, l.redisRate(ctx)))
		}})
	}
	for _, callers := range []int{1, 64, 256} {
		ps = append(ps,
			point{fmt.Sprint("client acquire ", callers), func(ctx context.Context, d time.Duration) (sample, error) {
				return withCPU(l.sidecar, func() (load, error) { return clients.acquire(ctx, callers, d) })
			}},
			point{fmt.Sprint("client acquire without id ", callers), func(ctx context.Context, d time.Duration) (sample, error) {
				ctx = client.WithRequestID(ctx, "")
				return withCPU(l.sidecar, func() (load, error) { return clients.acquire(ctx, callers, d) })
			}},
			point{fmt.Sprint("raw acquire ", callers), func(_ context.Context, d time.Duration) (sample, error) {
				return withCPU(l.sidecar, func() (load, error) { return rawLoad(l.socket, callers, connections, d, acquireRequest) })
			}})
	}
	ps = append(ps, securePoints(l, secured)...)
	for _, callers := range []int{1, 64} {
		ps = append(ps,
			point{fmt.Sprint("client ping ", callers), func(ctx context.Context, d time.Duration) (sample, error) {
				return withCPU(l.sidecar, func() (load, error) { return clients.ping(ctx, callers, d) })
			}},
			point{fmt.Sprint("raw ping ", callers), func(_ context.Context, d time.Duration) (sample, error) {
				return withCPU(l.sidecar, func() (load, error) { return rawLoad(l.socket, callers, connections, d, pingRequest) })
			}},
			point{fmt.Sprint("echo ", callers), func(_ context.Context, d time.Duration) (sample, error) {
				return withCPU(l.echo, func() (load, error) { return rawLoad(l.echoSocket, callers, connections, d, echoRequest) })
			}})
	}
	return ps
}

// securePoints are the load of 64 callers through the sidecar that reaches Redis
// over TLS.
func securePoints(l *lab, secured *clients) []point {
	const callers = 64
	return []point{{"client acquire over TLS 64", func(ctx context.Context, d time.Duration) (sample, error) {
		return withCPU(l.secure, func() (load, error) { return secured.acquire(ctx, callers, d) })
	}}, {"client acquire without id over TLS 64", func(ctx context.Context, d time.Duration) (sample, error) {
		ctx = client.WithRequestID(ctx, "")
		return withCPU(l.secure, func() (load, error) { return secured.acquire(ctx, callers, d) })
	}}, {"raw acquire over TLS 64", func(_ context.Context, d time.Duration) (sample, error) {
		return withCPU(l.secure, func() (load, error) { return rawLoad(l.secureSocket, callers, connections, d, acquireRequest) })
	}}}
}

func plain(l load, err error) (sample, error) {
	return sample{rate: l.rate(), p50: l.p50, p99: l.p99}, err
}

// withCPU adds what the process used meanwhile, per call.
func withCPU(c *child, run func() (load, error)) (sample, error) {
	before, err := c.cpu()
	if err != nil {
		return sample{}, err
	}
	got, err := run()
	if err != nil {
		return sample{}, err
	}
	after, err := c.cpu()
	s, _ := plain(got, nil)
	s.cpu = (after - before) / time.Duration(max(got.calls, 1))
	return s, err
}

// rounds holds the samples of each point, by round.
type rounds map[string][]sample

// median of f over the rounds; f sees the samples of one round by point.
func (r rounds) median(f func(at func(point string) sample) float64) float64 {
	var values []float64
	for i := range r["direct 1"] {
		values = append(values, f(func(point string) sample { return r[point][i] }))
	}
	slices.Sort(values)
	return values[len(values)/2]
}

// kind is how the sidecar is called: what its points begin with, for each method.
type kind struct{ acquire, ping string }

// kinds are the columns of the table; the first decides whether a target is reached.
var kinds = []kind{
	{"client acquire", "client ping"},
	{"client acquire without id", "client ping"}, // a ping has none anyway
	{"raw acquire", "raw ping"},
}

// figure is one line of the table: a value per kind, and its target.
type figure struct {
	id, what, unit string
	values         []float64
	target         string
	reached        func(v float64) bool
}

// value computes a figure from the samples of one round, for one kind.
type value func(at func(point string) sample, k kind) float64

func (r rounds) figure(id, what, unit, target string, reached func(float64) bool, v value) figure {
	f := figure{id: id, what: what, unit: unit, target: target, reached: reached}
	for _, k := range kinds {
		f.values = append(f.values, r.median(func(at func(string) sample) float64 { return v(at, k) }))
	}
	return f
}

func atLeast(t float64) func(float64) bool { return func(v float64) bool { return v >= t } }
func atMost(t float64) func(float64) bool  { return func(v float64) bool { return v <= t } }

func us(d time.Duration) float64 { return float64(d) / float64(time.Microsecond) }

// figures are P1, P3, P4, P6 and P7 of the performance goals.
func (r rounds) figures() []figure {
	floor := r.median(func(at func(string) sample) float64 { return us(at("echo 1").p50) })
	return []figure{
		r.figure("P1", "acquire, 64 callers, against redis_rate in-process", "x", ">= 1.5", atLeast(1.5),
			func(at func(string) sample, k kind) float64 {
				return at(k.acquire+" 64").rate / at("redis_rate 64").rate
			}),
		r.figure("P1", "acquire, 256 callers, against redis_rate in-process", "x", ">= 2", atLeast(2),
			func(at func(string) sample, k kind) float64 {
				return at(k.acquire+" 256").rate / at("redis_rate 256").rate
			}),
		r.figure("P1", "acquire, 64 callers, over TLS to Redis against plain", "x", ">= 0.7", atLeast(0.7),
			func(at func(string) sample, k kind) float64 {
				return at(k.acquire+" over TLS 64").rate / at(k.acquire+" 64").rate
			}),
		r.figure("P3", "acquire, 256 callers, against redis-benchmark -P 16 with the same script", "%", ">= 65", atLeast(65),
			func(at func(string) sample, k kind) float64 {
				return 100 * at(k.acquire+" 256").rate / at("redis-benchmark").rate
			}),
		r.figure("P4", "acquire, one caller, p50 against p50 of a direct EVALSHA", "x", "<= 1.8", atMost(1.8),
			func(at func(string) sample, k kind) float64 {
				return us(at(k.acquire+" 1").p50) / us(at("direct 1").p50)
			}),
		r.figure("P6", "session.ping, 64 callers, sidecar CPU per call", "us", "<= 6", atMost(6),
			func(at func(string) sample, k kind) float64 { return us(at(k.ping + " 64").cpu) }),
		r.figure("P6", "session.ping, one caller, p50", "us", fmt.Sprintf("<= 60, or 1.7 x the echo's %.0f", floor),
			atMost(max(60, 1.7*floor)),
			func(at func(string) sample, k kind) float64 { return us(at(k.ping + " 1").p50) }),
		r.figure("P7", "acquire, 64 callers, sidecar CPU per call above a bare AutoPipeliner loop", "us", "<= 5", atMost(5),
			func(at func(string) sample, k kind) float64 {
				return us(at(k.acquire+" 64").cpu - at("loop 64").cpu)
			}),
	}
}
