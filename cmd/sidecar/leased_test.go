package main_test

import (
	"cmp"
	"path/filepath"
	"slices"
	"sync"
	"sync/atomic"
	"syscall"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/coxswain-sidecar/coxswain/client"
	"github.com/coxswain-sidecar/coxswain/client/api"
	"github.com/coxswain-sidecar/coxswain/internal/redistest"
)

// admission is a call that was let through, between these two instants.
type admission struct{ asked, told time.Time }

// TestLeasedModeKeepsToItsBoundWhenASidecarIsKilled: two sidecars share a key in mode leased;
// one is killed with what it has charged ahead. In any interval T no more is let through than
// capacity + rate * (T + lease), and what it had is free again for the other one.
func TestLeasedModeKeepsToItsBoundWhenASidecarIsKilled(t *testing.T) {
	t.Parallel()
	const limit, lease = 1000, time.Second // per second
	config := filepath.Join(t.TempDir(), "sidecar.yaml")
	put(t, config, "rules: {items: [{name: r, algorithm: token_bucket, limits: [{limit: 1000, period_ms: 1000}], mode: leased, deny_cache: off}]}\n")
	env := []string{"COXSWAIN_REDIS_PREFIX=" + redistest.Prefix(t), "COXSWAIN_CONFIG=" + config}
	sockets := []string{socketIn(t), socketIn(t)}
	kill := func() {}
	for i, socket := range sockets {
		cmd, _ := spawn(t, env, "serve", "--socket", socket, "--redis", redistest.URL(t), "--http", "")
		wait(t, socket)
		if i == 0 {
			kill = func() {
				require.NoError(t, cmd.Process.Kill())
				require.Error(t, cmd.Wait())
			}
		}
	}
	var mu sync.Mutex
	var log []admission
	var leased [2]atomic.Int64
	press := func(sidecar int, until func(n int) bool) func() {
		c := dial(t, sockets[sidecar], "press")
		var callers sync.WaitGroup
		for range 4 {
			callers.Go(func() {
				for {
					asked := time.Now()
					r, err := c.RatelimitAcquire(t.Context(), api.RatelimitParams{Rule: "r", Key: "k", FailMode: "closed"})
					if err != nil {
						return // it was killed
					}
					mu.Lock()
					if r.Allowed {
						log = append(log, admission{asked, time.Now()})
					}
					enough := until(len(log))
					mu.Unlock()
					if r.Source == "lease" {
						leased[sidecar].Add(1)
					}
					if enough {
						return
					}
				}
			})
		}
		return callers.Wait
	}
	second := press(1, func(n int) bool { return n >= 6000 })
	press(0, func(n int) bool { return n >= 3000 })()
	kill()
	second()
	for i := range leased {
		require.Positive(t, leased[i].Load(), "sidecar %d served nothing from memory", i)
	}

	slices.SortFunc(log, func(a, b admission) int { return cmp.Compare(a.asked.UnixNano(), b.asked.UnixNano()) })
	broken := ""
	for i := range log {
		last := log[i].told
		for n, x := range log[i:] {
			if x.told.After(last) {
				last = x.told
			}
			span := last.Sub(log[i].asked) + lease
			if most := limit + limit*span.Seconds(); float64(n+1) > most && broken == "" {
				broken = span.String()
			}
		}
	}
	require.Empty(t, broken, "more was let through than the bound in this time, lease included")

	c := dial(t, sockets[1], "looks")
	require.Eventually(t, func() bool {
		r, err := c.RatelimitPeek(t.Context(), api.RatelimitParams{Rule: "r", Key: "k"})
		return err == nil && r.Remaining == limit
	}, 30*time.Second, 10*time.Millisecond, "what the killed one had is lost")
}

// A sidecar that drains gives back what it charged ahead, and so does one that ends.
func TestDrainingGivesBackWhatWasChargedAhead(t *testing.T) {
	t.Parallel()
	config := filepath.Join(t.TempDir(), "sidecar.yaml")
	put(t, config, "rules: {items: [{name: r, algorithm: fixed_window, limits: [{limit: 100000, period_ms: 31622400000}], mode: leased, lease: {ttl_ms: 60000}}]}\n")
	prefix := redistest.Prefix(t)
	env := []string{"COXSWAIN_REDIS_PREFIX=" + prefix, "COXSWAIN_CONFIG=" + config, noGrace}
	ends := serve(t, socketIn(t), env, "--redis", redistest.URL(t))
	wait(t, ends.socket)
	let := int64(0)
	held := func(c *client.Client) int64 {
		e, err := c.RatelimitExplain(t.Context(), api.RatelimitExplainParams{Rule: "r", Key: "k"})
		require.NoError(t, err)
		if e.Block == nil {
			return 0
		}
		return e.Block.Tokens
	}
	warm := func(c *client.Client) {
		for i := 0; i%10 > 0 || held(c) < 5; i++ {
			r, err := c.RatelimitAcquire(t.Context(), api.RatelimitParams{Rule: "r", Key: "k"})
			require.NoError(t, err)
			require.True(t, r.Allowed)
			let++
		}
	}
	first := dial(t, ends.socket, "first")
	warm(first)
	require.Equal(t, "draining", cli(t, "drain", "--socket", ends.socket, "--grace", "1h").out[:8])
	other := ready(t, "COXSWAIN_REDIS_PREFIX="+prefix, "COXSWAIN_CONFIG="+config)
	looks := dial(t, other.socket, "looks")
	used := func() bool {
		e, err := looks.RatelimitExplain(t.Context(), api.RatelimitExplainParams{Rule: "r", Key: "k"})
		return err == nil && e.Bands[0].Current == let
	}
	require.Eventually(t, used, limit, time.Millisecond, "it kept its block as it drained")
	for range 50 {
		r, err := first.RatelimitAcquire(t.Context(), api.RatelimitParams{Rule: "r", Key: "k"})
		require.NoError(t, err)
		require.Equal(t, "redis", r.Source, "nothing is charged ahead any more")
		let++
	}
	require.True(t, used())

	dies := serve(t, socketIn(t), env, "--redis", redistest.URL(t))
	wait(t, dies.socket)
	warm(dial(t, dies.socket, "second"))
	require.False(t, used())
	dies.signals <- syscall.SIGTERM
	require.Zero(t, dies.exit(t))
	require.True(t, used(), "it ended with its block")
}
