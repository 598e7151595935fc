package main_test

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"maps"
	"net/http"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/coxswain-sidecar/coxswain/client"
	"github.com/coxswain-sidecar/coxswain/client/api"
	"github.com/coxswain-sidecar/coxswain/internal/config"
	"github.com/coxswain-sidecar/coxswain/internal/redistest"
)

// make soak sets them: the outage of minutes with the rules of a file.
var (
	outage      = flag.Duration("outage", 2*time.Second, "how long TestTheSidecarRecoversFromAnOutageOfRedisUnderLoad keeps Redis away")
	outageRules = flag.String("outage-rules", "", "configuration `file` whose rules it calls (default one of each fail mode)")
)

// What an outage may cost at most, whatever its length: goroutines and resident
// memory over what the same load took with Redis there.
const (
	moreGoroutines = 64
	moreMemory     = 64 << 20

	clients = 8
)

// load calls a sidecar until it is told to end, and counts the answers.
type load struct {
	wg sync.WaitGroup

	mu      sync.Mutex // guards answers
	answers map[string]int
}

func (l *load) count(what string, err error, refused bool) {
	var e *api.Error
	switch {
	case errors.Is(err, context.DeadlineExceeded), errors.Is(err, api.DeadlineExceeded):
		what += " " + string(api.DeadlineExceeded)
	case errors.As(err, &e):
		what += " " + string(e.Code)
	case err != nil:
		what += " " + err.Error()
	case refused:
		what += " refused"
	default:
		what += " ok"
	}
	l.mu.Lock()
	defer l.mu.Unlock()
	l.answers[what]++
}

// take returns what was counted since the last time.
func (l *load) take() map[string]int {
	l.mu.Lock()
	defer l.mu.Unlock()
	was := l.answers
	l.answers = map[string]int{}
	return was
}

// run is one client: every rule and a lock, over and over.
func (l *load) run(ctx context.Context, c *client.Client, n int, rules []string) {
	for turn := 0; ctx.Err() == nil; turn++ {
		for _, rule := range rules {
			r, err := client.Call(ctx, c, api.RatelimitAcquire, api.RatelimitParams{Rule: rule, Key: strconv.Itoa(n)})
			if ctx.Err() == nil {
				l.count(rule, err, err == nil && !r.Allowed)
			}
		}
		lock, err := c.LockAcquire(ctx, fmt.Sprintf("l%d", n), client.LockOptions{TTL: time.Second})
		if ctx.Err() == nil {
			l.count("lock", err, false)
		}
		if err == nil {
			_ = lock.Release(ctx) // told by lock.lost where it fails
		}
		select {
		case <-ctx.Done():
		case <-time.After(2 * time.Millisecond): // the sidecar's load, not a wait for it
		}
	}
}

// gauges are what a sidecar says of itself.
type gauges struct{ goroutines, memory float64 }

func measure(t *testing.T, s *sidecar) gauges {
	t.Helper()
	text := page(t, s, "/metrics")
	value := func(name string) float64 {
		m := regexp.MustCompile(`(?m)^` + name + ` (\S+)$`).FindStringSubmatch(text)
		require.NotNil(t, m, name)
		v, err := strconv.ParseFloat(m[1], 64)
		require.NoError(t, err)
		return v
	}
	return gauges{value("go_goroutines"), value("process_resident_memory_bytes")}
}

func (g gauges) String() string {
	return fmt.Sprintf("%.0f goroutines, %.1f MiB resident", g.goroutines, g.memory/(1<<20))
}

func highest(all []gauges) gauges {
	var h gauges
	for _, g := range all {
		h.goroutines, h.memory = max(h.goroutines, g.goroutines), max(h.memory, g.memory)
	}
	return h
}

// rulesForLoad are the file and the names of the rules to call.
func rulesForLoad(t *testing.T) (file string, names []string) {
	t.Helper()
	file = *outageRules
	if file == "" {
		file = t.TempDir() + "/c.yaml"
		text := ruled("open", "closed", "local")
		for _, mode := range []string{"open", "closed", "local"} {
			text = strings.Replace(text, "{name: "+mode+",", "{name: "+mode+", fail_mode: "+mode+",", 1)
		}
		put(t, file, text)
	}
	c, err := config.Load(config.Sources{File: file})
	require.NoError(t, err)
	for _, r := range c.Rules.Items {
		names = append(names, r.Name)
	}
	return file, names
}

// A sidecar in its own process is under load while Redis is down, and when Redis is back as an empty server without scripts.
func TestTheSidecarRecoversFromAnOutageOfRedisUnderLoad(t *testing.T) {
	t.Parallel()
	redis := redistest.Start(t)
	file, rules := rulesForLoad(t)
	s := &sidecar{socket: socketIn(t)}
	// With GOGC the heap grows only with what is live, and not to the least heap at which garbage is collected.
	p, log := spawn(t, []string{noGrace, "GOGC=100"}, "serve", "--config", file, "--socket", s.socket, "--redis", redis.URL(), "--http", "127.0.0.1:0")
	s.log = log
	wait(t, s.socket)

	l := &load{answers: map[string]int{}}
	ctx, cancel := context.WithCancel(t.Context())
	defer l.wg.Wait()
	defer cancel()
	for n := range clients {
		// Not by dial, whose clients have a long timeout: a call that is under way when Redis stops is retried until its timeout.
		c, err := client.Dial(t.Context(), client.Options{Socket: s.socket, Client: "load"})
		require.NoError(t, err)
		t.Cleanup(func() { require.NoError(t, c.Close()) })
		l.wg.Go(func() { l.run(ctx, c, n, rules) })
	}
	require.Eventually(t, func() bool { return l.take()["lock ok"] > 0 }, limit, 10*time.Millisecond)
	before := sample(t, s, time.Second)

	redis.Stop()
	require.Eventually(t, func() bool {
		require.Equal(t, http.StatusOK, status(t, s, "/livez"), "restarting a sidecar mends no Redis")
		return status(t, s, "/readyz") == http.StatusServiceUnavailable
	}, limit, 10*time.Millisecond)
	// The page may change before the line is through the pipe of the process.
	require.Eventually(t, func() bool { return notReady(s.log.String()) == 1 }, limit, 10*time.Millisecond)
	require.Eventually(t, func() bool { return l.take()["lock UNAVAILABLE"] > 0 }, limit, 10*time.Millisecond)
	during := sample(t, s, *outage)
	answers := l.take()
	t.Logf("Redis away for %v under load: %v", *outage, answers)
	t.Logf("  before: at most %v", highest(before))
	t.Logf("  away:   first %v; last %v; at most %v", during[0], during[len(during)-1], highest(during))
	expected := []string{"lock UNAVAILABLE"}
	if *outageRules == "" {
		expected = append(expected, "open ok", "local ok", "local refused", "closed UNAVAILABLE")
	}
	// A busy machine may make too few calls in that time for the limit of the rule local.
	require.Eventually(t, func() bool {
		for what, n := range l.take() {
			answers[what] += n
		}
		return !slices.ContainsFunc(expected, func(what string) bool { return answers[what] == 0 })
	}, limit, 10*time.Millisecond, "each of %v", expected)
	if *outageRules == "" {
		require.Zero(t, answers["open refused"], "it lets all through")
		require.Zero(t, answers["open UNAVAILABLE"]+answers["local UNAVAILABLE"])
	}
	var late int // what was under way when Redis went, tried again until its deadline
	for what, n := range answers {
		switch what[strings.LastIndex(what, " ")+1:] {
		case "UNAVAILABLE", "ok", "refused":
		case string(api.DeadlineExceeded):
			late += n
		default:
			require.Fail(t, "while Redis is away", "%s: %v", what, answers)
		}
	}
	require.LessOrEqual(t, late, clients, "one call of each client at most: %v", answers)
	require.Equal(t, 1, notReady(s.log.String()), "told once, however often it was found")
	require.LessOrEqual(t, highest(during).goroutines, highest(before).goroutines+moreGoroutines)
	require.LessOrEqual(t, highest(during).memory, highest(before).memory+moreMemory)

	redis.Restart()
	require.Eventually(t, func() bool { return status(t, s, "/readyz") == http.StatusOK }, limit, 10*time.Millisecond, "without a restart")
	l.take()
	require.Eventually(t, func() bool { return answered(l.take(), append(rules, "lock")) }, limit, 50*time.Millisecond, "scripts and all")
	t.Logf("  back:   %v", measure(t, s))
	cancel()
	l.wg.Wait()
	require.NoError(t, p.Process.Signal(syscall.SIGTERM))
	require.NoError(t, p.Wait(), log)
}

// notReady counts how often that was said since Redis had answered first.
func notReady(log string) int {
	_, after, _ := strings.Cut(log, `"msg":"health: ready"`)
	return strings.Count(after, `"msg":"health: not ready"`)
}

// answered reports whether each was answered in the last while, and nothing failed.
func answered(answers map[string]int, names []string) bool {
	for _, n := range names {
		if answers[n+" ok"] == 0 {
			return false
		}
	}
	return !slices.ContainsFunc(slices.Collect(maps.Keys(answers)), func(a string) bool { return strings.HasSuffix(a, " UNAVAILABLE") })
}

// sample measures for a while, at least twice.
func sample(t *testing.T, s *sidecar, during time.Duration) []gauges {
	t.Helper()
	all := []gauges{measure(t, s)}
	every := time.NewTicker(min(max(during/20, 50*time.Millisecond), 5*time.Second))
	defer every.Stop()
	end := time.After(during)
	for {
		select {
		case <-every.C:
			all = append(all, measure(t, s))
		case <-end:
			return append(all, measure(t, s))
		}
	}
}
