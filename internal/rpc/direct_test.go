package rpc_test

import (
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/coxswain-sidecar/coxswain/internal/lua"
	"github.com/coxswain-sidecar/coxswain/internal/luatest"
	"github.com/coxswain-sidecar/coxswain/internal/redistest"
	"github.com/coxswain-sidecar/coxswain/internal/rpc"
)

// crowd is how many calls are sent together: they are read together, so all but the last use the direct path.
const crowd = 64

func perKey(key string, more m) m {
	p := m{"key": key, "algorithm": "token_bucket", "limits": []m{{"limit": 5, "period_ms": 86_400_000}}}
	for k, v := range more {
		p[k] = v
	}
	return p
}

func (p *peer) acquireAll(more m) (ids []int) {
	p.t.Helper()
	var frames [][]byte
	for i := range crowd {
		ids = append(ids, i)
		frames = append(frames, request(p.t, i, "ratelimit.acquire", perKey("k"+itoa(i), more)))
	}
	p.send(frames...)
	return ids
}

// Each call gets its own answer, and the metrics count each.
func TestACrowdIsAnsweredOnTheDirectPathAndCounted(t *testing.T) {
	eachStore(t, func(t *testing.T, url string) {
		seen := newCounters(t)
		b := serveOn(t, rpc.Options{Telemetry: seen.telemetry}, luatest.Open(t, lua.Options{URL: url, Telemetry: seen.telemetry}))
		p := b.dial(t)
		p.must("ratelimit.acquire", perKey("first", nil)) // makes the sidecar read the secret of grants
		for round := range 3 {
			for i, r := range p.replies(p.acquireAll(nil)...) {
				require.Equal(t, true, r["allowed"], i)
				require.EqualValues(t, 5-round-1, r["remaining"], i)
			}
		}
		const calls = 3*crowd + 1
		eventually(t, "each is counted, maybe after its reply", func() bool {
			return seen.value("coxswain.rpc.duration", "ratelimit.acquire OK") >= calls
		})
		require.EqualValues(t, calls, seen.value("coxswain.rpc.duration", "ratelimit.acquire OK"))
		require.EqualValues(t, calls, seen.value("coxswain.script.duration", "ratelimit_token_bucket ok"))
		require.EqualValues(t, calls, seen.value("coxswain.decisions", "inline allowed"))
		answered, alone := seen.value("coxswain.direct", "answered"), seen.value("coxswain.direct", "alone")
		require.Greater(t, answered, int64(2*crowd))
		require.EqualValues(t, calls, answered+alone)
	})
}

// While Redis hangs, each call ends at its deadline, and a call whose script was not sent by then is
// not executed later.
func TestCallsOnTheDirectPathMeetTheirDeadlines(t *testing.T) {
	s := redistest.Start(t)
	b := serveOn(t, rpc.Options{}, luatest.Open(t, lua.Options{URL: s.URL(), CommandTimeout: time.Hour}))
	p := b.dial(t)
	p.must("ratelimit.acquire", perKey("first", nil))
	require.NoError(t, s.Client(t).Do(t.Context(), "client", "pause", 600_000, "write").Err())
	maybe, unsent := map[int]int64{}, 0
	// The first crowd is sent; the second waits behind it. A busy machine may not have sent anything by the deadline.
	for within := 300; within < 60_000 && (len(maybe) == 0 || unsent == 0); within *= 2 {
		for range 2 {
			for i, text := range p.errors(p.acquireAll(m{"_deadline_ms": within})...) {
				if strings.Contains(text, "maybe executed") {
					maybe[i]++
					continue
				}
				require.Contains(t, text, "DEADLINE_EXCEEDED", i)
				unsent++
			}
		}
	}
	require.NotEmpty(t, maybe)
	require.Positive(t, unsent)
	require.NoError(t, s.Client(t).ClientUnpause(t.Context()).Err())
	for i, r := range p.replies(p.acquireAll(m{"cost": 0})...) {
		require.GreaterOrEqual(t, asInt(r["remaining"]), 5-maybe[i], "%d: what was not sent is not executed later", i)
	}
}

// A call that is cancelled, or whose connection ends, ends at once although Redis hangs.
func TestCallsOnTheDirectPathAreCancelled(t *testing.T) {
	s := redistest.Start(t)
	b := serveOn(t, rpc.Options{}, luatest.Open(t, lua.Options{URL: s.URL(), CommandTimeout: time.Hour}))
	p := b.dial(t)
	p.must("ratelimit.acquire", perKey("first", nil))
	require.NoError(t, s.Client(t).Do(t.Context(), "client", "pause", 600_000, "write").Err())
	ids := p.acquireAll(nil)
	for _, id := range ids {
		p.send(notification(t, "rpc.cancel", []any{id}))
	}
	for i, text := range p.errors(ids...) {
		require.Contains(t, text, "CANCELLED", i)
	}
	p.acquireAll(nil)
	require.NoError(t, p.conn.Close())
	require.NoError(t, s.Client(t).ClientUnpause(t.Context()).Err())
	other := b.dial(t)
	other.replies(other.acquireAll(nil)...)
}

// Calls whose scripts Redis does not have any more are sent again, and each is counted once.
func TestACrowdOutlivesFlushedScripts(t *testing.T) {
	s := redistest.Start(t)
	b := serveOn(t, rpc.Options{}, luatest.Open(t, lua.Options{URL: s.URL()}))
	p := b.dial(t)
	p.must("ratelimit.acquire", perKey("first", nil))
	for round := range 4 {
		require.NoError(t, s.Client(t).ScriptFlush(t.Context()).Err())
		for i, r := range p.replies(p.acquireAll(nil)...) {
			require.EqualValues(t, 5-round-1, r["remaining"], i)
		}
	}
}
