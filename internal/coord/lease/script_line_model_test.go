package lease_test

import (
	"context"
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	"pgregory.net/rapid"

	"github.com/coxswain-sidecar/coxswain/internal/coord/lease"
	"github.com/coxswain-sidecar/coxswain/internal/coord/lock"
	"github.com/coxswain-sidecar/coxswain/internal/luatest"
)

// modelLine is the waiting line as the specification has it: a list of waiters in the order in which they came, and
// until when each sidecar counts as alive.
type modelLine struct {
	now     int64
	waiters []string
	alive   map[string]int64
	holder  string // token
	ends    int64
}

func sidecarOf(waiter string) string { s, _, _ := strings.Cut(waiter, ":"); return s }

// head returns the first waiter whose sidecar is alive, and removes the waiters before it.
func (m *modelLine) head() string {
	for len(m.waiters) > 0 && m.alive[sidecarOf(m.waiters[0])] <= m.now {
		m.waiters = m.waiters[1:]
	}
	if len(m.waiters) == 0 {
		return ""
	}
	return m.waiters[0]
}

func (m *modelLine) held() bool { return m.holder != "" && m.ends > m.now }

func (m *modelLine) leave(waiter string) bool {
	i := slices.Index(m.waiters, waiter)
	if i >= 0 {
		m.waiters = slices.Delete(slices.Clone(m.waiters), i, i+1)
	}
	return i >= 0
}

func (m *modelLine) acquire(token, waiter string, ttl, heartbeat int64) (acquired, first bool) {
	if heartbeat > 0 && slices.Contains(m.waiters, waiter) {
		m.alive[sidecarOf(waiter)] = m.now + heartbeat // a call is a heartbeat too
	}
	head := m.head()
	first = head == "" || head == waiter
	mine := m.held() && m.holder == token
	if mine || !m.held() && first {
		m.holder, m.ends = token, max(m.now+ttl, map[bool]int64{true: m.ends}[mine])
		m.leave(waiter)
		return true, first
	}
	switch {
	case waiter == "":
	case heartbeat == 0:
		m.leave(waiter)
	default:
		if !slices.Contains(m.waiters, waiter) {
			m.waiters = append(slices.Clone(m.waiters), waiter)
		}
		m.alive[sidecarOf(waiter)] = m.now + heartbeat
	}
	return false, first
}

func (m *modelLine) release(token, waiter string) {
	held := m.held()
	mine := held && m.holder == token
	left := waiter != "" && m.leave(waiter)
	if mine {
		m.holder = ""
	}
	if mine || left && !held {
		m.head()
	}
}

// lineRun is one random history of a lock's waiting line, run on Redis and on the model.
type lineRun struct {
	s     *luatest.Store
	lock  string
	m     modelLine
	story []string
}

func (l *lineRun) say(format string, args ...any) {
	l.story = append(l.story, fmt.Sprintf("at %v ", time.Duration(l.m.now-luatest.Epoch)*time.Microsecond)+fmt.Sprintf(format, args...))
}

// same compares the waiters of both lines.
func (l *lineRun) same(t *rapid.T) {
	got, err := l.s.Client.ZRange(context.Background(), lease.LineKeysOf(l.lock).Line, 0, -1).Result()
	require.NoError(t, err)
	require.Equal(t, append([]string{}, l.m.waiters...), append([]string{}, got...), "%s", strings.Join(l.story, "\n"))
}

func (l *lineRun) step(t *rapid.T) {
	const heartbeat, ttl = 3_000_000, 10_000_000
	waiter := rapid.SampledFrom([]string{"", "P:1", "P:2", "Q:1", "Q:2", "R:1"}).Draw(t, "waiter")
	token := "t" + waiter
	switch rapid.IntRange(0, 8).Draw(t, "step") {
	case 0, 1, 2, 3:
		heartbeats := rapid.SampledFrom([]int64{0, heartbeat, heartbeat}).Draw(t, "heartbeat")
		l.say("acquire %s heartbeat %d", token, heartbeats)
		want, first := l.m.acquire(token, waiter, ttl, heartbeats)
		got := luatest.Call(t, l.s, lock.AcquireScript, l.m.now, lock.AcquireIn{
			Lock: l.lock, LineKeys: lease.LineKeysOf(l.lock), Token: token, TTLMS: ttl / 1000, Waiter: waiter, HeartbeatMS: heartbeats / 1000,
		})
		require.Equal(t, []bool{want, first}, []bool{got.Acquired, got.First}, "%s", strings.Join(l.story, "\n"))
	case 4, 5:
		given := rapid.SampledFrom([]string{token, l.m.holder, ""}).Draw(t, "token")
		l.say("release %s, leave %s", given, waiter)
		l.m.release(given, waiter)
		luatest.Call(t, l.s, lock.ReleaseScript, l.m.now, lock.ReleaseIn{
			Lock: l.lock, LineKeys: lease.LineKeysOf(l.lock), Token: given, Waiter: waiter, Inboxes: "in:",
		})
	case 6:
		s := rapid.SampledFrom([]string{"P", "Q", "R"}).Draw(t, "sidecar")
		l.say("%s heartbeats", s)
		l.m.alive[s] = l.m.now + heartbeat
		var missing []string
		for _, w := range []string{s + ":1", s + ":2"} {
			// Read after head, which removes the dead waiters from the model too.
			if l.m.head(); !slices.Contains(l.m.waiters, w) {
				missing = append(missing, w)
			}
		}
		got := luatest.Call(t, l.s, lease.LineHeartbeat, l.m.now, lease.LineHeartbeatIn{
			LineKeys: lease.LineKeysOf(l.lock), Sidecar: s, HeartbeatMS: heartbeat / 1000, Waiters: s + ":1 " + s + ":2",
		})
		require.Equal(t, l.m.head(), got.Head, "%s", strings.Join(l.story, "\n"))
		require.ElementsMatch(t, missing, strings.Fields(got.Missing), "%s", strings.Join(l.story, "\n"))
	default:
		d := rapid.SampledFrom([]int64{1, heartbeat - 1, heartbeat, heartbeat + 1, ttl}).Draw(t, "us")
		l.m.now += d
	}
	l.same(t)
}

func TestTheLineEqualsTheModel(t *testing.T) {
	t.Parallel()
	luatest.EachStore(t, func(t *testing.T, s *luatest.Store) {
		run := 0
		rapid.Check(t, func(rt *rapid.T) {
			run++
			l := &lineRun{s: s, lock: s.Key(fmt.Sprintf("q%d", run)), m: modelLine{now: luatest.Epoch, alive: map[string]int64{}}}
			defer func() {
				for _, k := range []string{l.lock, lease.LineKeysOf(l.lock).Line, lease.LineKeysOf(l.lock).Heartbeats} {
					s.Del(t, k)
				}
			}()
			for range rapid.IntRange(1, 60).Draw(rt, "steps") {
				l.step(rt)
			}
		})
	})
}
