package statustest_test

import (
	"context"
	"fmt"
	"math"
	"math/rand/v2"
	"os"
	"syscall"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/coxswain-sidecar/coxswain/client"
)

// rulesOfFleet are the rules of a fleet that crawls shops and news.
const rulesOfFleet = `rules:
  items:
    - {name: per-site, algorithm: token_bucket, limits: [{limit: 8, period_ms: 1000, burst: 16}]}
    - {name: search-api, algorithm: sliding_window_counter, limits: [{limit: 20, period_ms: 1000}, {limit: 900, period_ms: 60000}]}
    - {name: user-agent, algorithm: token_bucket, limits: [{limit: 80, period_ms: 600000}]}
    - {name: geocoder, algorithm: leaky_bucket, limits: [{limit: 5, period_ms: 1000}]}
    - {name: robots-txt, algorithm: fixed_window, limits: [{limit: 600, period_ms: 60000}]}
    - {name: screenshots, algorithm: leaky_bucket, limits: [{limit: 2, period_ms: 1000}]}
`

// fleet starts three pods of a busy fleet of crawlers, which run until the test ends. It returns one of them after they
// were busy for a while; in the middle of that time it stops Redis for some moments.
func fleet(t testing.TB, busy time.Duration) *pod {
	t.Helper()
	url, server := redis(t)
	var pods []*pod
	for _, name := range []string{"crawler-7d9f4-q2x8k", "crawler-7d9f4-vb5tn", "crawler-7d9f4-zz91c"} {
		pods = append(pods, newPod(t, url, name, rulesOfFleet))
	}
	ctx, stop := context.WithCancel(context.Background())
	t.Cleanup(stop)
	things(t, pods)
	for i, p := range pods {
		c := p.client(t, "spider", fmt.Sprintf("worker-%d", i+1))
		for _, l := range loads {
			go l.drive(ctx, c)
		}
	}
	time.Sleep(busy / 2) // until the page has data of some minutes
	for _, d := range []time.Duration{150 * time.Millisecond, 400 * time.Millisecond, 3500 * time.Millisecond} {
		freeze(t, server.Process, d)
		time.Sleep(busy / 20)
	}
	time.Sleep(busy / 3)
	return pods[0]
}

// load is a rate of calls of one rule, which rises and falls in waves.
type load struct {
	rule      string
	keys      []string
	perSecond float64
	wave      time.Duration // the period of the waves; 0 = a constant rate
}

var loads = []load{
	{"per-site", []string{"shop.example", "news.example", "tickets.example", "jobs.example", "www.maps.example"}, 22, 70 * time.Second},
	{"search-api", []string{"tenant-a", "tenant-b"}, 16, 110 * time.Second},
	{"user-agent", []string{"Mozilla/5.0 (X11; Linux x86_64) Gecko/20100101 Firefox/140.0", "Mozilla/5.0 (Windows NT 10.0; Win64; x64)"}, 1.2, 0},
	{"geocoder", []string{"city", "street"}, 2.5, 40 * time.Second},
	{"robots-txt", []string{"shop.example", "news.example"}, 1.5, 0},
}

// drive makes calls until ctx ends. It ignores their outcomes, which the page shows.
func (l load) drive(ctx context.Context, c *client.Client) {
	begun := time.Now()
	for {
		rate := l.perSecond
		if l.wave > 0 {
			rate *= 1 + 0.8*math.Sin(2*math.Pi*time.Since(begun).Seconds()/l.wave.Seconds())
		}
		select {
		case <-time.After(time.Duration(rand.ExpFloat64() / rate * float64(time.Second))):
		case <-ctx.Done():
			return
		}
		key := l.keys[min(int(rand.ExpFloat64()*1.2), len(l.keys)-1)]
		_ = c.CallRaw(ctx, "ratelimit.acquire", map[string]any{"rule": l.rule, "key": key}, nil)
	}
}

// things makes the locks, pools, queues and other objects that the page lists.
func things(t testing.TB, pods []*pod) {
	t.Helper()
	workers := make([]*client.Client, len(pods))
	for i, p := range pods {
		workers[i] = p.client(t, "spider", fmt.Sprintf("worker-%d", i+4))
	}
	janitor := pods[0].client(t, "janitor", "nightly")
	for i, name := range []string{"sitemap:shop.example", "sitemap:news.example", "login:tickets.example", "export:2026-11-30", "reindex:jobs.example"} {
		call(t, workers[i%len(workers)], "lock.acquire", map[string]any{"name": name, "ttl_ms": 120_000 + 30_000*i})
	}
	call(t, janitor, "lock.acquire", map[string]any{"name": "compact-frontier", "bind": "ttl", "ttl_ms": 1_800_000})
	for i, waiting := range map[string]int{"sitemap:shop.example": 4, "login:tickets.example": 1} {
		for range waiting {
			go func() { // they wait until the test ends
				for t.Context().Err() == nil {
					_ = workers[len(workers)-1].CallRaw(t.Context(), "lock.acquire", map[string]any{"name": i, "ttl_ms": 1000, "wait_ms": 60_000}, nil)
				}
			}()
		}
	}
	for i := range 3 {
		call(t, workers[i], "semaphore.acquire", map[string]any{"name": "headless-chrome", "limit": 4, "permits": 1, "ttl_ms": 300_000})
	}
	call(t, workers[1], "semaphore.acquire", map[string]any{"name": "pdf-render", "limit": 2, "ttl_ms": 300_000})
	for pool, members := range map[string]int{"proxies-eu": 40, "proxies-us": 25, "accounts": 6, "user-agents": 120} {
		var all []map[string]any
		for n := range members {
			all = append(all, map[string]any{"id": fmt.Sprintf("%s-%02d", pool, n)})
		}
		call(t, workers[0], "pool.put", map[string]any{"pool": pool, "members": all})
		for range members / 3 {
			call(t, workers[0], "pool.acquire", map[string]any{"pool": pool, "lease_ms": 600_000})
		}
	}
	for n := range 3 {
		call(t, workers[0], "pool.ban", map[string]any{"pool": "proxies-eu", "id": fmt.Sprintf("proxies-eu-%02d", 30+n), "for_ms": 3_600_000})
	}
	call(t, workers[0], "pool.ban", map[string]any{"pool": "accounts", "id": "accounts-05"})
	for name, failures := range map[string]int{"tickets.example": 3, "api.maps.example": 1, "news.example": 0, "shop.example": 2, "cdn.jobs.example": 3} {
		call(t, workers[1], "breaker.report", map[string]any{"name": name, "outcome": "success"})
		for range failures {
			call(t, workers[1], "breaker.report", map[string]any{"name": name, "outcome": "failure"})
		}
	}
	for queue, entries := range map[string]int{"frontier:news.example": 214, "frontier:shop.example": 37, "retries": 6, "thumbnails": 0} {
		for n := range entries {
			call(t, workers[2], "queue.enqueue", map[string]any{"queue": queue, "id": fmt.Sprintf("page-%d", n)})
		}
	}
	for range 5 {
		call(t, workers[2], "queue.dequeue", map[string]any{"queue": "frontier:news.example", "lease_ms": 600_000})
	}
	streams(t, workers[0])
	// A request id that two different calls use is a conflict, which the page lists among the errors.
	call(t, workers[0], "lock.acquire", map[string]any{"name": "deploy", "ttl_ms": 60_000, "bind": "ttl", "_request_id": "deploy-42"})
	require.Error(t, workers[0].CallRaw(t.Context(), "lock.acquire", map[string]any{"name": "deploy", "ttl_ms": 90_000, "bind": "ttl", "_request_id": "deploy-42"}, nil))
}

func streams(t testing.TB, c *client.Client) {
	t.Helper()
	for _, group := range []string{"extract", "index"} {
		call(t, c, "stream.fetch", map[string]any{"stream": "pages", "group": group})
	}
	call(t, c, "stream.fetch", map[string]any{"stream": "images", "group": "thumbnails"})
	for n := range 180 {
		call(t, c, "stream.publish", map[string]any{"stream": "pages", "body": fmt.Sprintf("page %d", n)})
	}
	for n := range 12 {
		call(t, c, "stream.publish", map[string]any{"stream": "images", "body": fmt.Sprintf("image %d", n)})
	}
	for range 4 {
		call(t, c, "stream.fetch", map[string]any{"stream": "pages", "group": "extract", "count": 10})
	}
	got := call(t, c, "stream.fetch", map[string]any{"stream": "pages", "group": "index", "count": 3})
	for _, m := range got["messages"].([]any) {
		call(t, c, "stream.nack", map[string]any{"stream": "pages", "group": "index", "id": m.(map[string]any)["id"], "dead": true, "reason": "no title"})
	}
}

// freeze stops Redis for a while, so that the scripts, calls and probes of that time are slow.
func freeze(t testing.TB, server *os.Process, d time.Duration) {
	t.Helper()
	require.NoError(t, server.Signal(syscall.SIGSTOP))
	time.Sleep(d) // how long Redis is stopped
	require.NoError(t, server.Signal(syscall.SIGCONT))
}
