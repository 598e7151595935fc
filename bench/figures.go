package main

// figure is one line of the table.
type figure struct {
	id, what string
	formula
	goal goal
}

const lockTTLText = "2 s"

// figures are the performance goals P1 to P19, in the order of the table.
var figures = []figure{
	{"P1", "acquire, Go client, 64 callers, against redis_rate in-process", over(rate, "client acquire 64", "redis_rate 64"), atLeast(1.5, "x")},
	{"P1", "acquire, Go client, 256 callers, against redis_rate in-process", over(rate, "client acquire 256", "redis_rate 256"), atLeast(2.5, "x")},
	{"P1", "acquire, raw, 64 callers, against redis_rate in-process", over(rate, "raw acquire 64", "redis_rate 64"), atLeast(2.5, "x")},
	{"P1", "acquire, raw, 256 callers, against redis_rate in-process", over(rate, "raw acquire 256", "redis_rate 256"), atLeast(4, "x")},
	{"P1", "acquire, raw, 64 callers, over TLS to Redis against plain", over(rate, "raw acquire over TLS 64", "raw acquire 64"), atLeast(0.7, "x")},
	{"P2", "acquire, Go client, 64 callers, against envoyproxy/ratelimit by gRPC", over(rate, "client acquire 64", "envoy ratelimit 64"), atLeast(6, "x")},
	{"P3", "acquire, raw, 256 callers, against redis-benchmark -P 16 of the script", percent(rate, "raw acquire 256", "redis-benchmark"), atLeast(150, "%")},
	{"P4", "acquire, raw, one caller, p50 against that of a direct EVALSHA", over(p50, "raw acquire 1", "direct 1"), atMost(1.8, "x")},
	{"P4", "acquire, Go client, one caller, p50 against that of a direct EVALSHA", over(p50, "client acquire 1", "direct 1"), atMost(2.2, "x")},
	{"P5", "leased acquire, raw, 64 callers, against exact", over(rate, "raw leased 64", "raw acquire 64"), atLeast(2.5, "x")},
	{"P5", "leased acquire, Go client, 64 callers, against exact", over(rate, "client leased 64", "client acquire 64"), atLeast(2.5, "x")},
	{"P5", "leased acquire, raw, 64 callers, against session.ping", percent(rate, "raw leased 64", "raw ping 64"), atLeast(80, "%")},
	{"P5", "leased acquire, Go client, 64 callers, against session.ping", percent(rate, "client leased 64", "client ping 64"), atLeast(80, "%")},
	{"P6", "session.ping, raw, 64 callers, sidecar CPU per call", plainly(cpu, "raw ping 64"), atMost(2.5, "us")},
	{"P6", "session.ping, Go client, 64 callers, sidecar CPU per call", plainly(cpu, "client ping 64"), atMost(5, "us")},
	{"P6", "session.ping, raw, one caller, p50 against that of the echo", over(p50, "raw ping 1", "echo 1"), atMost(1.1, "x")},
	{"P6", "session.ping, Go client, one caller, p50 against that of the echo", over(p50, "client ping 1", "echo 1"), atMost(1.7, "x")},
	{"P7", "acquire, raw, 64 callers, sidecar CPU per call against a bare AutoPipeliner loop", over(cpu, "raw acquire 64", "loop 64"), atMost(0.7, "x")},
	{"P7", "acquire, raw, 256 callers, sidecar CPU per call against a bare AutoPipeliner loop", over(cpu, "raw acquire 256", "loop 256"), atMost(0.4, "x")},
	{"P7", "acquire, raw, one caller, sidecar CPU per call", plainly(cpu, "raw acquire 1"), atMost(90, "us")},
	{"P8", "acquire, raw, 64 callers, traces of 1 % and metrics, against none", over(rate, "raw observed 64", "raw unobserved 64"), atLeast(0.95, "x")},
	{"P9", "anonymous memory, idle", plainly(value, "memory idle"), atMost(20, "MB")},
	{"P9", "anonymous memory, 256 connections with 64 acquires in flight on each", plainly(value, "memory of 256 x 64"), atMost(64, "MB")},
	{"P9", "anonymous memory after 1,000,000 distinct keys, against before", plainly(value, "memory after 1,000,000 keys"), atMost(1.1, "x")},
	{"P10", "start of the process to ready", plainly(value, "start to ready"), atMost(150, "ms")},
	{"P10", "image, compressed", plainly(value, "image compressed"), atMost(12, "MB")},
	{"P10", "image, unpacked", plainly(value, "image unpacked"), atMost(36, "MB")},
	{"P11", "acquire, Go client, 64 callers, p99 (goal: a quarter of 10 ms)", plainly(p99, "client acquire 64"), atMost(2_500, "us")},
	{"P11", "lock, Go client, 64 callers, p99 of acquire and release (goal: a quarter of 50 ms)", plainly(p99, "client lock 64"), atMost(12_500, "us")},
	{"P11", "acquire, Go client, 64 callers, calls per second (goal: 4 times 10,000)", plainly(rate, "client acquire 64"), atLeast(40_000, "/s")},
	{"P12", "lock pairs, Go client, 64 callers, against redislock in-process", over(rate, "client lock 64", "redislock 64"), atLeast(1.5, "x")},
	{"P12", "lock pairs, raw, 64 callers, against redislock in-process", over(rate, "raw lock 64", "redislock 64"), atLeast(2.5, "x")},
	{"P13", "acquire, raw, 64 callers, slowest of 10 to 1,000,000 keys against the fastest", flat(growthOverKeys), atLeast(0.8, "x")},
	{"P13", "acquire, raw, 256 callers, slowest of 1 to 256 connections against the fastest", flat(growthOverConnections), atLeast(0.8, "x")},
	{"P13", "acquire, raw, 64 callers, cluster of 3 masters against 1", over(rate, "raw acquire 64, 3 masters", "raw acquire 64, 1 master"), atLeast(1, "x")},
	{"P14", "lock of a killed client: time until the next caller holds it", plainly(value, "client killed"), atMost(100, "ms")},
	{"P14", "lock of a killed sidecar: time until the next caller holds it; its TTL is " + lockTTLText, plainly(value, "sidecar killed"), atMost(2_100, "ms")},
	{"P15", "acquire, raw, 64 callers, Redis CPU per call against redis_rate", over(redis, "raw acquire 64", "redis_rate 64"), atMost(0.4, "x")},
	{"P15", "acquire, Go client, 64 callers, Redis CPU per call against redis_rate", over(redis, "client acquire 64", "redis_rate 64"), atMost(0.4, "x")},
	{"P15", "acquire, raw, 256 callers, Redis CPU per call against redis_rate", over(redis, "raw acquire 256", "redis_rate 256"), atMost(0.3, "x")},
	{"P15", "acquire, Go client, 256 callers, Redis CPU per call against redis_rate", over(redis, "client acquire 256", "redis_rate 256"), atMost(0.3, "x")},
	{"P16", "8 sidecars of 8 callers, Go client, against 8 processes of 8 on redis_rate", over(rate, "fleet, client", "fleet, redis_rate"), atLeast(1.5, "x")},
	{"P17", "permit.acquire and report, Go client, 64 callers, pool of 1,000", plainly(rate, "client permit 64"), twiceTheBase},
	{"P17", "permit.acquire and report, raw, 64 callers, pool of 1,000", plainly(rate, "raw permit 64"), twiceTheBase},
	{"P17", "permit.acquire and report, raw, 64 callers, Redis CPU per pair", plainly(redis, "raw permit 64"), reported("us")},
	{"P18", "publish, Go client, one producer, against XADD by go-redis", over(rate, "client publish 1", "go-redis publish 1"), atLeast(1, "x")},
	{"P18", "publish, raw, one producer, against XADD by go-redis", over(rate, "raw publish 1", "go-redis publish 1"), atLeast(1, "x")},
	{"P18", "publish, Go client, 64 producers, against XADD by go-redis", over(rate, "client publish 64", "go-redis publish 64"), atLeast(2, "x")},
	{"P18", "publish, raw, 64 producers, against XADD by go-redis", over(rate, "raw publish 64", "go-redis publish 64"), atLeast(2, "x")},
	{"P18", "consume, Go client, one consumer, against XREADGROUP and XACK", over(rate, "client consume 1", "go-redis consume 1"), atLeast(1, "x")},
	{"P18", "consume, raw, one consumer, against XREADGROUP and XACK", over(rate, "raw consume 1", "go-redis consume 1"), atLeast(1, "x")},
	{"P18", "consume, Go client, 64 consumers, against XREADGROUP and XACK", over(rate, "client consume 64", "go-redis consume 64"), atLeast(2, "x")},
	{"P18", "consume, raw, 64 consumers, against XREADGROUP and XACK", over(rate, "raw consume 64", "go-redis consume 64"), atLeast(2, "x")},
	{"P19", "acquire, Python client, 64 tasks, against redis-py (asyncio) with the same script", over(rate, "Python acquire 64", "redis-py 64"), atLeast(1, "x")},
}
