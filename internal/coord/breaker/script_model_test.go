package breaker_test

import (
	"fmt"
	"maps"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	"pgregory.net/rapid"

	"github.com/coxswain-sidecar/coxswain/internal/coord/breaker"
	"github.com/coxswain-sidecar/coxswain/internal/lua"
	"github.com/coxswain-sidecar/coxswain/internal/luatest"
)

// modelPolicy is a policy in the model's form, with times in us.
type modelPolicy struct {
	failures, successes, probes  int
	open, openMax, probe         int64
	window                       int64
	minCalls, failedPct, slowPct int
	slow                         int64
	jitter                       int64
}

func (p modelPolicy) text() string {
	return fmt.Sprintf("%d %d %d %d %d %d %d %d %d %d %d %d", p.failures, p.successes, p.open, p.openMax, p.probes, p.probe,
		p.window, p.minCalls, p.failedPct, p.slow, p.slowPct, p.jitter)
}

// modelBreaker is the breaker as the specification describes it: a history of phases, of which only the last one
// matters, and of calls. It does not encode its state as text.
type modelBreaker struct {
	phases []modelPhase
	forced string
	row    int // openings in a row
}

type modelPhase struct {
	state     string
	began     int64
	ends      int64 // of an open phase
	calls     []modelCall
	probes    map[string]modelProbe
	successes int
}

type modelCall struct {
	slice        int64
	failed, slow bool
}

type modelProbe struct {
	ends    int64
	session string
}

func newModelBreaker() *modelBreaker {
	return &modelBreaker{phases: []modelPhase{{state: "closed"}}}
}

func (m *modelBreaker) phase() *modelPhase { return &m.phases[len(m.phases)-1] }
func (m *modelBreaker) generation() int64  { return int64(len(m.phases)) }

func (m *modelBreaker) state() string {
	switch m.forced {
	case "":
		return m.phase().state
	case "disabled":
		return m.forced
	}
	return "forced_" + m.forced
}

func (m *modelBreaker) enter(state string, now int64) *modelPhase {
	m.phases = append(m.phases, modelPhase{state: state, began: now, probes: map[string]modelProbe{}})
	return m.phase()
}

func (m *modelBreaker) open(p modelPolicy, now int64) {
	us := p.open
	for range m.row {
		us = min(2*us, p.openMax)
	}
	m.row++
	m.enter("open", now).ends = now + min(us*p.jitter/1000, p.openMax)
}

// out returns when the probes that are out end, sorted.
func (m *modelBreaker) out(now int64) []int64 {
	var ends []int64
	for _, x := range m.phase().probes {
		if x.ends > now {
			ends = append(ends, x.ends)
		}
	}
	slices.Sort(ends)
	return ends
}

// most returns how many probes may be out: at least one, even under a policy that requires fewer successes than there
// were.
func (m *modelBreaker) most(p modelPolicy) int {
	return min(p.probes, max(1, p.successes-m.phase().successes))
}

// wait returns the time until a call may pass, -1 = never.
func (m *modelBreaker) wait(p modelPolicy, now int64) int64 {
	ph, out := m.phase(), m.out(now)
	switch {
	case m.forced == "open":
		return -1
	case m.forced != "":
		return 0
	case ph.state == "open":
		return max(ph.ends-now, 0)
	case ph.state == "half_open" && len(out) >= m.most(p):
		return out[0] - now
	}
	return 0
}

func (m *modelBreaker) allow(p modelPolicy, now int64, probe, session string) breaker.AllowOut {
	was := m.state()
	wait := m.wait(p, now)
	if x, mine := m.phase().probes[probe]; mine && x.ends > now {
		wait = 0
	}
	if wait != 0 {
		return breaker.AllowOut{RetryUS: wait, Generation: m.generation(), Was: was, State: was}
	}
	out := breaker.AllowOut{Allowed: true, Was: was}
	if m.forced == "" && m.phase().state != "closed" {
		if m.phase().state == "open" {
			m.enter("half_open", now)
		}
		// Lost probes are removed, so that a backward step of the clock brings none back.
		maps.DeleteFunc(m.phase().probes, func(_ string, x modelProbe) bool { return x.ends <= now })
		m.phase().probes[probe] = modelProbe{now + p.probe, session}
		out.Probe = true
	}
	out.Generation, out.State = m.generation(), m.state()
	return out
}

func (m *modelBreaker) report(p modelPolicy, now, generation int64, probe, outcome string, us int64) breaker.ReportOut {
	was, ph := m.state(), m.phase()
	counted := false
	slow := p.slowPct > 0 && us >= p.slow
	switch {
	case generation != 0 && generation != m.generation(), m.forced == "open", m.forced == "disabled":
	case ph.state == "half_open":
		x, known := ph.probes[probe]
		if !known || x.ends <= now {
			break
		}
		delete(ph.probes, probe)
		counted = outcome != "ignored"
		switch {
		case !counted:
		case outcome == "failure" || slow:
			m.open(p, now)
		default:
			if ph.successes++; ph.successes >= p.successes {
				m.row = 0
				m.enter("closed", now)
			}
		}
	case ph.state == "closed" && outcome != "ignored" && (probe == "" || generation != 0):
		counted = true
		ph.calls = append(ph.calls, modelCall{m.slice(p, now), outcome == "failure", slow})
		if m.forced == "" && m.tripped(p, now) {
			m.open(p, now)
		}
	}
	return breaker.ReportOut{Counted: counted, Generation: m.generation(), Was: was, State: m.state(), OpenUS: m.wait(p, now)}
}

// slice returns the number of the tenth of a window that now is in; after a backward step of the clock, that of the
// last call.
func (m *modelBreaker) slice(p modelPolicy, now int64) int64 {
	if p.window == 0 {
		return 0
	}
	at := now / (p.window / 10)
	if n := len(m.phase().calls); n > 0 {
		at = max(at, m.phase().calls[n-1].slice)
	}
	return at
}

// row returns how many calls have failed since the last one that did not.
func (ph *modelPhase) row() (n int) {
	for i := len(ph.calls) - 1; i >= 0 && ph.calls[i].failed; i-- {
		n++
	}
	return n
}

func (m *modelBreaker) rates(p modelPolicy, now int64) (calls, failed, slow int) {
	if p.window == 0 {
		return 0, 0, 0
	}
	for _, c := range m.phase().calls {
		if c.slice <= m.slice(p, now)-10 {
			continue
		}
		calls++
		if c.failed {
			failed++
		}
		if c.slow {
			slow++
		}
	}
	return calls, failed, slow
}

func (m *modelBreaker) tripped(p modelPolicy, now int64) bool {
	calls, failed, slow := m.rates(p, now)
	return m.phase().row() >= p.failures || calls > 0 && calls >= p.minCalls &&
		(p.failedPct > 0 && 100*failed >= p.failedPct*calls || p.slowPct > 0 && 100*slow >= p.slowPct*calls)
}

func (m *modelBreaker) force(now int64, to string) breaker.ForceOut {
	was := m.state()
	if to != m.forced || to == "" && m.phase().state != "closed" {
		m.enter("closed", now)
	}
	if m.forced = to; to == "" {
		m.row = 0
		m.phase().calls = nil
	}
	return breaker.ForceOut{Generation: m.generation(), Was: was, State: m.state()}
}

func (m *modelBreaker) get(p modelPolicy, now int64) breaker.GetOut {
	ph := m.phase()
	calls, failed, slow := m.rates(p, now)
	found := breaker.GetOut{
		State: m.state(), Generation: m.generation(), Failures: int64(ph.row()), Successes: int64(ph.successes),
		Probes: int64(len(m.out(now))), Opened: int64(m.row), Calls: int64(calls), Failed: int64(failed), Slow: int64(slow),
		ChangedUS: ph.began, Forced: m.forced != "", RetryUS: m.wait(p, now), Most: int64(m.most(p)),
	}
	if out := m.out(now); len(out) > 0 {
		found.ProbeUS = out[0] - now
	}
	if ph.state == "open" {
		found.OpenUS = max(ph.ends-now, 0)
	}
	return found
}

// lives returns how long the breaker must be kept.
func (m *modelBreaker) lives(p modelPolicy, now int64) time.Duration {
	end := max(now, m.phase().ends)
	for _, x := range m.phase().probes {
		end = max(end, x.ends)
	}
	return time.Duration((end-now+p.openMax+p.window+999)/1000)*time.Millisecond + 24*time.Hour
}

// breakerRun is one random history of a breaker, run on Redis and on the model.
type breakerRun struct {
	s        *luatest.Store
	key      string
	m        *modelBreaker
	now      int64
	policies []modelPolicy // those of the sidecars, one of which has reloaded
	given    []breaker.AllowOut
	probes   []string
	story    []string
}

func (b *breakerRun) in(p modelPolicy) breaker.In {
	return breaker.In{Breaker: b.key, Field: "b", Policy: p.text()}
}

// pass moves the clock, often exactly to the end of something, and sometimes back.
func (b *breakerRun) pass(t *rapid.T) {
	d := rapid.Int64Range(0, 30_000_000).Draw(t, "us")
	ph := b.m.phase()
	ends := append(b.m.out(b.now), ph.ends)
	switch rapid.IntRange(0, 4).Draw(t, "how") {
	case 0, 1:
		if end := rapid.SampledFrom(ends).Draw(t, "end"); end > b.now {
			d = end - b.now - rapid.Int64Range(0, 1).Draw(t, "just before")
		}
	case 2:
		d = -rapid.Int64Range(0, 2_000_000).Draw(t, "back")
	case 3:
		d = min(d, 300_000)
	}
	b.now += d
}

// forget lets Redis drop the key when its TTL is over.
func (b *breakerRun) forget(t *rapid.T) {
	if b.m.forced != "" || !rapid.Bool().Draw(t, "over") {
		return
	}
	b.now += (48 * time.Hour).Microseconds()
	b.s.Del(t, b.key)
	b.m, b.given, b.probes = newModelBreaker(), nil, nil
}

func (b *breakerRun) step(t *rapid.T) {
	p := rapid.SampledFrom(b.policies).Draw(t, "sidecar")
	p.jitter = rapid.Int64Range(950, 1050).Draw(t, "jitter")
	before := b.s.Raw(t, b.key)
	verb := rapid.SampledFrom([]string{"allow", "allow", "report", "report", "report", "report", "get", "force", "drop", "move", "again"}).Draw(t, "verb")
	b.story = append(b.story, fmt.Sprintf("at %s %s", time.Duration(b.now-luatest.Epoch)*time.Microsecond, verb))
	told := func() string { return strings.Join(b.story, "\n") }
	switch verb {
	case "allow", "again":
		id := fmt.Sprint("p", len(b.probes))
		if verb == "again" && len(b.probes) > 0 {
			id = rapid.SampledFrom(b.probes).Draw(t, "probe")
		}
		session := rapid.SampledFrom([]string{"s1", "s 2", ""}).Draw(t, "session")
		want := b.m.allow(p, b.now, id, session)
		got := luatest.Call(t, b.s, breaker.AllowScript, b.now, breaker.AllowIn{In: b.in(p), Probe: id, Session: session})
		require.Equal(t, want, got, told)
		b.given, b.probes = append(b.given, got), append(b.probes, id)
	case "report":
		b.report(t, p, told)
	case "get":
		require.Equal(t, b.m.get(p, b.now), luatest.Call(t, b.s, breaker.GetScript, b.now, b.in(p)), told)
	case "force":
		i := rapid.SampledFrom([]int{0, 0, 0, 1, 2, 3}).Draw(t, "to")
		want := b.m.force(b.now, []string{"", "open", "closed", "disabled"}[i])
		got := luatest.Call(t, b.s, breaker.ForceScript, b.now, breaker.ForceIn{In: b.in(p), Forced: breaker.Forced(i), Channel: "none"})
		require.Equal(t, want, got, told)
	default:
		b.hold(t, p, verb, told)
	}
	after, ttl := b.s.Raw(t, b.key), b.s.TTL(b.key)
	want := b.m.get(p, b.now)
	require.Equal(t, want, luatest.Call(t, b.s, breaker.GetScript, b.now, b.in(p)), told)
	members := breaker.MembersOut{Cursor: "0"}
	if after != "none" {
		members.Members = []breaker.MemberOut{{Name: "b", GetOut: want}}
	}
	require.Equal(t, members, luatest.Call(t, b.s, breaker.MembersScript, b.now, breaker.MembersIn{
		Breakers: b.key, Cursor: "0", Count: 10, Policy: p.text(),
	}), told)
	switch {
	case after == before:
	case after == "none", b.m.forced != "":
		require.Negative(t, ttl, told)
	default:
		require.Less(t, b.m.lives(p, b.now)-ttl, 10*time.Second, told) // the store's own clock goes on
		require.LessOrEqual(t, ttl, b.m.lives(p, b.now), told)
	}
}

// report reports the outcome of an allowed call or of none, sometimes with a generation or a probe that the call did
// not get.
func (b *breakerRun) report(t *rapid.T, p modelPolicy, told func() string) {
	in := breaker.ReportIn{
		In: b.in(p), Outcome: rapid.SampledFrom([]string{"success", "failure", "failure", "ignored"}).Draw(t, "outcome"), Channel: "none",
		DurationUS: rapid.SampledFrom([]int64{0, 100_000, 200_000}).Draw(t, "took"),
	}
	if len(b.given) > 0 && rapid.IntRange(0, 4).Draw(t, "of") > 0 {
		i := rapid.IntRange(max(0, len(b.given)-8), len(b.given)-1).Draw(t, "call")
		in.Generation = b.given[i].Generation
		if b.given[i].Probe || rapid.Bool().Draw(t, "named") {
			in.Probe = b.probes[i]
		}
	}
	if rapid.IntRange(0, 3).Draw(t, "whose") == 0 {
		in.Generation = 0
	}
	want := b.m.report(p, b.now, in.Generation, in.Probe, in.Outcome, in.DurationUS)
	require.Equal(t, want, luatest.Call(t, b.s, breaker.ReportScript, b.now, in), told)
}

// hold gives a probe back, or moves it to another session.
func (b *breakerRun) hold(t *rapid.T, p modelPolicy, verb string, told func() string) {
	in := breaker.ProbeIn{
		In: b.in(p), Probe: rapid.SampledFrom(append([]string{"nobody's"}, b.probes...)).Draw(t, "probe"),
		Session: rapid.SampledFrom([]string{"s1", "s 2", ""}).Draw(t, "session"),
	}
	probes := b.m.phase().probes
	x, known := probes[in.Probe]
	known = known && x.ends > b.now
	if verb == "move" {
		var left int64
		if known {
			left = x.ends - b.now
			probes[in.Probe] = modelProbe{x.ends, in.Session}
		}
		want := breaker.MoveOut{LeftUS: left, Generation: b.m.generation(), State: b.m.state(), RetryUS: b.m.wait(p, b.now)}
		require.Equal(t, want, luatest.Call(t, b.s, breaker.MoveScript, b.now, in), told)
		return
	}
	want := breaker.ProbeLost
	switch {
	case known && in.Session != "" && in.Session != x.session:
		want = breaker.ProbeMoved
	case known:
		want = breaker.ProbeHeld
		delete(probes, in.Probe)
	}
	require.Equal(t, want, luatest.Call(t, b.s, breaker.DropScript, b.now, in), told)
}

// Three sidecars, one of which has another policy by now, and a clock that steps.
func TestABreakerIsItsModel(t *testing.T) {
	t.Parallel()
	luatest.EachStore(t, func(t *testing.T, s *luatest.Store) {
		n := 0
		rapid.Check(t, func(t *rapid.T) {
			n++
			p := modelPolicy{
				failures: rapid.IntRange(1, 4).Draw(t, "failures"), successes: rapid.IntRange(1, 3).Draw(t, "successes"),
				open: 10_000_000, openMax: rapid.SampledFrom([]int64{10_000_000, 35_000_000, 3_600_000_000}).Draw(t, "open max"),
				probes: rapid.IntRange(1, 3).Draw(t, "probes"), probe: 5_000_000, jitter: 1000,
			}
			if rapid.Bool().Draw(t, "window") {
				p.failures, p.window, p.minCalls = rapid.IntRange(2, 9).Draw(t, "more"), 10_000_000, rapid.IntRange(1, 6).Draw(t, "least")
				p.failedPct, p.slowPct, p.slow = rapid.IntRange(0, 100).Draw(t, "failed"), rapid.IntRange(1, 100).Draw(t, "slow"), 200_000
			}
			other := p
			other.failures, other.probes, other.open = p.failures+1, p.probes%3+1, 9_000_000
			b := &breakerRun{
				s: s, key: s.Key(fmt.Sprint("b", n)), m: newModelBreaker(), now: luatest.Epoch, policies: []modelPolicy{p, p, other},
			}
			t.Repeat(map[string]func(*rapid.T){"step": b.step, "again": b.step, "pass": b.pass, "forget": b.forget})
		})
	})
}

// A hash of several breakers has the longest TTL of them.
func TestBreakersSideBySideLiveAsLongAsTheLast(t *testing.T) {
	t.Parallel()
	luatest.EachStore(t, func(t *testing.T, s *luatest.Store) {
		key := s.Key("members")
		keep := func(field string, forced breaker.Forced, window int64) time.Duration {
			in := breaker.In{Breaker: key, Field: field, Policy: modelPolicy{failures: 9, window: window, jitter: 1000}.text()}
			ctx := t.Context()
			if forced != breaker.ForcedNot {
				keys, args := lua.InputOf(breaker.ForceScript, breaker.ForceIn{In: in, Forced: forced, Channel: "none"})
				_, sha := lua.Clocked(breaker.ForceScript.Source, false)
				require.NoError(t, s.Client.EvalSha(ctx, sha, keys, append(args, luatest.Epoch)...).Err())
			} else {
				keys, args := lua.InputOf(breaker.ReportScript, breaker.ReportIn{In: in, Outcome: "failure", Channel: "none"})
				_, sha := lua.Clocked(breaker.ReportScript.Source, false)
				require.NoError(t, s.Client.EvalSha(ctx, sha, keys, append(args, luatest.Epoch)...).Err())
			}
			if left := s.Client.PTTL(ctx, key).Val(); left > 0 {
				return left.Round(time.Hour)
			}
			return -1
		}
		hour := time.Hour.Microseconds()
		require.Equal(t, 25*time.Hour, keep("m1", breaker.ForcedNot, hour))
		require.Equal(t, 28*time.Hour, keep("m2", breaker.ForcedNot, 4*hour))
		require.Equal(t, 28*time.Hour, keep("m1", breaker.ForcedNot, hour), "no shorter for the other")
		require.Negative(t, keep("m3", breaker.ForcedOpen, 0))
		require.Negative(t, keep("m1", breaker.ForcedNot, hour), "while one is forced")
	})
}
