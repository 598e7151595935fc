package ratelimit_test

import (
	"fmt"
	"slices"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
	"pgregory.net/rapid"

	"github.com/coxswain-sidecar/coxswain/internal/coord"
	"github.com/coxswain-sidecar/coxswain/internal/coord/ratelimit"
	"github.com/coxswain-sidecar/coxswain/internal/luatest"
)

// modelGate is a gate as the spec words it: all that ever happened, of which each
// answer is made anew.
type modelGate struct {
	pauses []modelPause // since the last resume
	// Of the penalty: when its last pause ends, and how many of our own in a row.
	penalty int64
	level   int64
	words   map[string]modelWord
	last    int64 // admission under a delay, 0 = none
}

type modelPause struct {
	until int64
	why   string
}

type modelWord struct{ delay, ends int64 }

// paused is the longest pause and why, 0 when none is in force.
func (m *modelGate) paused(now int64) (int64, string) {
	var longest modelPause
	for _, p := range m.pauses {
		if p.until > longest.until {
			longest = p
		}
	}
	if longest.until <= now {
		return 0, ""
	}
	return longest.until, longest.why
}

// slowest is the word that counts. An admission is remembered while there is one.
func (m *modelGate) slowest(now int64) modelWord {
	var slowest modelWord
	for source, w := range m.words {
		switch {
		case w.ends <= now:
			delete(m.words, source)
		case w.delay > slowest.delay, w.delay == slowest.delay && w.ends > slowest.ends:
			slowest = w
		}
	}
	if len(m.words) == 0 {
		m.last = 0
	}
	return slowest
}

// closed is how long the gate stays closed, and why.
func (m *modelGate) closed(now int64) (int64, string) {
	until, _ := m.paused(now)
	next := int64(0)
	if w := m.slowest(now); w.delay > 0 && m.last > 0 {
		next = m.last + w.delay
	}
	switch {
	case until > now && until >= next:
		return until - now, "pause"
	case next > now:
		return next - now, "delay"
	default:
		return 0, ""
	}
}

func (m *modelGate) setDelay(now int64, source string, w modelWord, most int) {
	m.slowest(now)
	delete(m.words, source)
	if w.delay == 0 {
		m.slowest(now)
		return
	}
	m.words[source] = w
	for len(m.words) > most {
		var victim string
		for other, o := range m.words {
			if other == source {
				continue
			}
			if v := m.words[victim]; victim == "" || o.ends < v.ends || o.ends == v.ends && other > victim {
				victim = other
			}
		}
		delete(m.words, victim)
	}
}

// report is one answer of the server that is to be paused for.
func (m *modelGate) report(now int64, in ratelimit.ReportIn) {
	quiet := now - m.penalty
	if m.penalty > 0 && quiet >= in.ForgiveUS {
		m.level = 0
	}
	var d int64
	switch {
	case in.RetryUS > 0:
		d = in.RetryUS
	case quiet < 0:
		return // once in a window
	default:
		m.level++
		d = in.BaseMS
		for range m.level - 1 {
			d = min(2*d, in.MaxMS)
		}
		d = min(min(d, in.MaxMS)*in.Factor, in.MaxMS*1000)
	}
	if now+d > m.penalty {
		m.penalty = now + d
		m.pauses = append(m.pauses, modelPause{now + d, in.Why})
	}
}

// matters reports whether anything of the gate would still be answered, for as
// long as a penalty is remembered.
func (m *modelGate) matters(now, forgive int64) bool {
	until, _ := m.paused(now)
	return until > 0 || m.slowest(now).delay > 0 || m.penalty > 0 && now-m.penalty < forgive
}

// gateRun is one random life of a gate and of its model.
type gateRun struct {
	s        *luatest.Store
	gate     string
	m        modelGate
	now      int64
	forgets  int64 // when Redis drops the key, 0 = not known
	rule     ratelimit.ReportIn
	timeline []string
}

const mostWords = 3

func (g *gateRun) note(format string, args ...any) {
	at := luatest.Shown(fmt.Sprint(g.now))
	g.timeline = append(g.timeline, "at "+at+" "+fmt.Sprintf(format, args...))
}

// wrote notes until when a write has the key live, and that every write says so.
func (g *gateRun) wrote(t *rapid.T, before string) {
	after := g.s.Raw(t, g.gate)
	if after == before {
		return
	}
	g.forgets = 0
	if after != "none" {
		require.Positive(t, g.s.TTL(g.gate), "a write sets a TTL\n%s", strings.Join(g.timeline, "\n"))
		g.forgets = g.now + g.s.TTL(g.gate).Microseconds()
	}
}

func (g *gateRun) pass(t *rapid.T) {
	var d int64
	switch rapid.IntRange(0, 3).Draw(t, "how long") {
	case 0:
		d = rapid.Int64Range(0, 10).Draw(t, "us")
	case 1:
		d = rapid.Int64Range(0, 20*luatest.Second).Draw(t, "us")
	case 2:
		d = rapid.Int64Range(0, 3*g.rule.ForgiveUS/2).Draw(t, "us")
	case 3: // to an edge
		until, _ := g.m.paused(g.now)
		edge := rapid.SampledFrom([]int64{until, g.m.penalty, g.m.penalty + g.rule.ForgiveUS, g.forgets}).Draw(t, "edge")
		d = max(0, edge-g.now+rapid.Int64Range(-1, 1).Draw(t, "us"))
	}
	g.now += d
	g.note("passed %dus", d)
	if g.forgets > 0 && g.now >= g.forgets {
		require.False(t, g.m.matters(g.now, g.rule.ForgiveUS), "the key went while it mattered\n%s", strings.Join(g.timeline, "\n"))
		g.s.Del(t, g.gate)
		g.m, g.forgets = modelGate{words: map[string]modelWord{}}, 0
	}
}

func (g *gateRun) pause(t *rapid.T) {
	in := ratelimit.PauseIn{Gate: g.gate, LongestUS: luatest.Hour, Why: rapid.SampledFrom([]string{"", "a", "b"}).Draw(t, "why"), Channel: "c"}
	d := rapid.Int64Range(-luatest.Second, luatest.Hour+1).Draw(t, "us")
	if in.UntilUS = g.now + d; d > 0 && rapid.Bool().Draw(t, "for") {
		in.ForUS, in.UntilUS = d, 0
	}
	g.note("pause %d %q", d, in.Why)
	was, _ := g.m.paused(g.now)
	want := coord.PauseOut{UntilUS: -1, NowUS: g.now}
	if d <= luatest.Hour {
		g.m.pauses = append(g.m.pauses, modelPause{g.now + d, in.Why})
		want.UntilUS, _ = g.m.paused(g.now)
		want.Changed = want.UntilUS != was
	}
	require.Equal(t, want, luatest.Call(t, g.s, ratelimit.PauseScript, g.now, in), strings.Join(g.timeline, "\n"))
}

func (g *gateRun) resume(t *rapid.T) {
	g.note("resume")
	until, _ := g.m.paused(g.now)
	g.m.pauses, g.m.penalty, g.m.level = nil, 0, 0
	got := luatest.Call(t, g.s, ratelimit.ResumeScript, g.now, ratelimit.ResumeIn{Gate: g.gate, Channel: "c"})
	require.Equal(t, until > 0, got, strings.Join(g.timeline, "\n"))
}

func (g *gateRun) setDelay(t *rapid.T) {
	source := rapid.SampledFrom([]string{"a", "b", "c", "d", "e"}).Draw(t, "source")
	w := modelWord{delay: rapid.Int64Range(0, 5).Draw(t, "delay s") * luatest.Second}
	ttl := rapid.Int64Range(1, 4).Draw(t, "ttl") * 10 * luatest.Second
	w.ends = g.now + ttl
	g.note("delay %s %dus for %dus", source, w.delay, ttl)
	g.m.setDelay(g.now, source, w, mostWords)
	slowest := g.m.slowest(g.now)
	got := luatest.Call(t, g.s, ratelimit.SetDelayScript, g.now, ratelimit.SetDelayIn{
		Gate: g.gate, DelayUS: w.delay, TTLUS: ttl, Source: source, Most: mostWords, Channel: "c",
	})
	require.Equal(t, ratelimit.DelayOut{DelayUS: slowest.delay, UntilUS: slowest.ends, NowUS: g.now}, got, strings.Join(g.timeline, "\n"))
}

func (g *gateRun) report(t *rapid.T) {
	in := g.rule
	in.Gate, in.Why, in.Channel = g.gate, rapid.SampledFrom([]string{"429", "503"}).Draw(t, "status"), "c"
	in.Hit = rapid.IntRange(0, 3).Draw(t, "hit") > 0
	in.Factor = rapid.Int64Range(900, 1100).Draw(t, "factor")
	if rapid.IntRange(0, 2).Draw(t, "says") == 0 {
		in.RetryUS = rapid.Int64Range(1, 200*luatest.Second).Draw(t, "retry us")
	}
	g.note("report hit=%t retry=%dus factor=%d", in.Hit, in.RetryUS, in.Factor)
	before := g.m.penalty
	if in.Hit {
		g.m.report(g.now, in)
	}
	until, _ := g.m.paused(g.now)
	changed := g.m.penalty != before
	got := luatest.Call(t, g.s, ratelimit.ReportScript, g.now, in)
	did := ratelimit.PenaltyNone
	switch {
	case changed && before <= g.now:
		did = ratelimit.PenaltyBegan
	case changed:
		did = ratelimit.PenaltyProlonged
	}
	require.Equal(t, ratelimit.ReportOut{UntilUS: until, Did: did, Level: g.m.level, NowUS: g.now}, got, strings.Join(g.timeline, "\n"))
}

// admit asks a bucket that never refuses.
func (g *gateRun) admit(t *rapid.T) {
	a := ask{rule: modelRule{{limit: 1_000_000_000, periodMS: 1, burst: 1_000_000_000}}, cost: 1, peek: rapid.IntRange(0, 3).Draw(t, "peek") == 0}
	if rapid.Bool().Draw(t, "waits") {
		a.wait = rapid.Int64Range(0, 60*luatest.Second).Draw(t, "wait us")
	}
	g.note("admit peek=%t wait=%dus", a.peek, a.wait)
	retry, why := g.m.closed(g.now)
	taken := !a.peek && retry <= a.wait
	if taken {
		why = ""
		if len(g.m.words) > 0 {
			g.m.last = max(g.m.last, g.now+retry)
		}
	}
	b := a.rule.bands()
	got := luatest.Call(t, g.s, ratelimit.TokenBucketScript, g.now, ratelimit.TokenBucketIn{
		State: g.gate + "bucket", Gate: g.gate, Cost: a.cost, Peek: a.peek, WaitUS: a.wait, Signature: signature(b),
		Capacity: b[0].Capacity, L: b[0].L, P: b[0].P,
	})
	g.s.Del(t, g.gate+"bucket")
	require.Equal(t, []any{retry == 0, taken && retry > 0, retry, why}, []any{got.Admitted(), got.Reserved(), got.RetryAfterUS, got.Denied},
		strings.Join(g.timeline, "\n"))
}

// look compares all that is told of the gate.
func (g *gateRun) look(t *rapid.T) {
	until, why := g.m.paused(g.now)
	slowest := g.m.slowest(g.now)
	want := ratelimit.GateOut{NowUS: g.now, PauseUS: until, Why: why, PenaltyUS: g.m.penalty, Level: g.m.level}
	if g.m.last > 0 {
		want.NextUS = g.m.last + slowest.delay
	}
	for source, w := range g.m.words {
		want.Items = append(want.Items, ratelimit.GateItem{Kind: "delay", Name: source, US: w.delay, EndsUS: w.ends})
	}
	slices.SortFunc(want.Items, func(a, b ratelimit.GateItem) int {
		switch {
		case a.US != b.US:
			return int(b.US - a.US)
		case a.EndsUS != b.EndsUS:
			return int(b.EndsUS - a.EndsUS)
		default:
			return strings.Compare(a.Name, b.Name)
		}
	})
	got := luatest.Call(t, g.s, ratelimit.GateScript, g.now, ratelimit.GateIn{
		Gate: g.gate, Leases: g.gate + "leases", Holders: g.gate + "holders", Line: g.gate + "line", Most: 9,
	})
	require.Equal(t, want, got, strings.Join(g.timeline, "\n"))
}

func TestTheGateEqualsTheModel(t *testing.T) {
	t.Parallel()
	luatest.EachStore(t, func(t *testing.T, s *luatest.Store) {
		run := 0
		rapid.Check(t, func(rt *rapid.T) {
			run++
			g := &gateRun{s: s, gate: s.Key(fmt.Sprintf("g%d", run)), now: luatest.Epoch, m: modelGate{words: map[string]modelWord{}}}
			g.rule = ratelimit.ReportIn{
				BaseMS:    rapid.Int64Range(1, 60_000).Draw(rt, "base"),
				MaxMS:     rapid.SampledFrom([]int64{30_000, 300_000, 86_400_000, 31_622_400_000}).Draw(rt, "max"),
				ForgiveUS: rapid.Int64Range(0, 600).Draw(rt, "forgive") * luatest.Second,
			}
			defer s.Del(t, g.gate)
			steps := []func(*rapid.T){g.pass, g.pass, g.pass, g.pause, g.resume, g.setDelay, g.setDelay, g.report, g.report, g.report, g.admit, g.admit}
			for range rapid.IntRange(1, 40).Draw(rt, "steps") {
				step := rapid.IntRange(0, len(steps)-1).Draw(rt, "step")
				before := s.Raw(rt, g.gate)
				steps[step](rt)
				if step > 2 {
					g.wrote(rt, before)
				}
				g.look(rt)
			}
		})
	})
}
