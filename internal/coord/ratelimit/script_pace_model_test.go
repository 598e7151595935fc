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

// modelPace is the pace of a key as specified: it keeps all that ever happened, and computes
// each answer from that.
type modelPace struct {
	pauses []modelPause // since the last resume
	// Of the penalty: when its last pause ends, and how many of our own in a row.
	penalty int64
	level   int64
	delays  map[string]modelDelay
	last    int64 // admission under a delay, 0 = none
}

type modelPause struct {
	until int64
	why   string
}

type modelDelay struct{ delay, ends int64 }

// paused is the longest pause and why, 0 when none is in force.
func (m *modelPace) paused(now int64) (int64, string) {
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

// slowest is the delay in force. An admission is remembered while there is one.
func (m *modelPace) slowest(now int64) modelDelay {
	var slowest modelDelay
	for source, w := range m.delays {
		switch {
		case w.ends <= now:
			delete(m.delays, source)
		case w.delay > slowest.delay, w.delay == slowest.delay && w.ends > slowest.ends:
			slowest = w
		}
	}
	if len(m.delays) == 0 {
		m.last = 0
	}
	return slowest
}

// closed is how long the key is held up, and by what.
func (m *modelPace) closed(now int64) (int64, string) {
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

func (m *modelPace) setDelay(now int64, source string, w modelDelay, most int) {
	m.slowest(now)
	delete(m.delays, source)
	if w.delay == 0 {
		m.slowest(now)
		return
	}
	m.delays[source] = w
	for len(m.delays) > most {
		var victim string
		for other, o := range m.delays {
			if other == source {
				continue
			}
			if v := m.delays[victim]; victim == "" || o.ends < v.ends || o.ends == v.ends && other > victim {
				victim = other
			}
		}
		delete(m.delays, victim)
	}
}

// report applies an answer of the server that the penalty pauses for.
func (m *modelPace) report(now int64, in ratelimit.ReportIn) {
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

// matters reports whether anything in the pace still has an effect; a penalty has one until
// it is forgiven.
func (m *modelPace) matters(now, forgive int64) bool {
	until, _ := m.paused(now)
	return until > 0 || m.slowest(now).delay > 0 || m.penalty > 0 && now-m.penalty < forgive
}

// paceRun is one random run of a pace and of its model.
type paceRun struct {
	s        *luatest.Store
	pace     string
	m        modelPace
	now      int64
	forgets  int64 // when Redis drops the key, 0 = not known
	rule     ratelimit.ReportIn
	timeline []string
}

const mostSources = 3

func (r *paceRun) note(format string, args ...any) {
	at := luatest.Shown(fmt.Sprint(r.now))
	r.timeline = append(r.timeline, "at "+at+" "+fmt.Sprintf(format, args...))
}

// wrote records until when a write keeps the key, and requires that every write sets a TTL.
func (r *paceRun) wrote(t *rapid.T, before string) {
	after := r.s.Raw(t, r.pace)
	if after == before {
		return
	}
	r.forgets = 0
	if after != "none" {
		require.Positive(t, r.s.TTL(r.pace), "a write sets a TTL\n%s", strings.Join(r.timeline, "\n"))
		r.forgets = r.now + r.s.TTL(r.pace).Microseconds()
	}
}

func (r *paceRun) pass(t *rapid.T) {
	var d int64
	switch rapid.IntRange(0, 3).Draw(t, "how long") {
	case 0:
		d = rapid.Int64Range(0, 10).Draw(t, "us")
	case 1:
		d = rapid.Int64Range(0, 20*luatest.Second).Draw(t, "us")
	case 2:
		d = rapid.Int64Range(0, 3*r.rule.ForgiveUS/2).Draw(t, "us")
	case 3: // to an edge
		until, _ := r.m.paused(r.now)
		edge := rapid.SampledFrom([]int64{until, r.m.penalty, r.m.penalty + r.rule.ForgiveUS, r.forgets}).Draw(t, "edge")
		d = max(0, edge-r.now+rapid.Int64Range(-1, 1).Draw(t, "us"))
	}
	r.now += d
	r.note("passed %dus", d)
	if r.forgets > 0 && r.now >= r.forgets {
		require.False(t, r.m.matters(r.now, r.rule.ForgiveUS), "the key went while it mattered\n%s", strings.Join(r.timeline, "\n"))
		r.s.Del(t, r.pace)
		r.m, r.forgets = modelPace{delays: map[string]modelDelay{}}, 0
	}
}

func (r *paceRun) pause(t *rapid.T) {
	in := ratelimit.PauseIn{Pace: r.pace, LongestUS: luatest.Hour, Why: rapid.SampledFrom([]string{"", "a", "b"}).Draw(t, "why"), Channel: "c"}
	d := rapid.Int64Range(-luatest.Second, luatest.Hour+1).Draw(t, "us")
	if in.UntilUS = r.now + d; d > 0 && rapid.Bool().Draw(t, "for") {
		in.ForUS, in.UntilUS = d, 0
	}
	r.note("pause %d %q", d, in.Why)
	was, _ := r.m.paused(r.now)
	want := coord.PauseOut{UntilUS: -1, NowUS: r.now}
	if d <= luatest.Hour {
		r.m.pauses = append(r.m.pauses, modelPause{r.now + d, in.Why})
		want.UntilUS, _ = r.m.paused(r.now)
		want.Changed = want.UntilUS != was
	}
	require.Equal(t, want, luatest.Call(t, r.s, ratelimit.PauseScript, r.now, in), strings.Join(r.timeline, "\n"))
}

func (r *paceRun) resume(t *rapid.T) {
	r.note("resume")
	until, _ := r.m.paused(r.now)
	r.m.pauses, r.m.penalty, r.m.level = nil, 0, 0
	got := luatest.Call(t, r.s, ratelimit.ResumeScript, r.now, ratelimit.ResumeIn{Pace: r.pace, Channel: "c"})
	require.Equal(t, until > 0, got, strings.Join(r.timeline, "\n"))
}

func (r *paceRun) setDelay(t *rapid.T) {
	source := rapid.SampledFrom([]string{"a", "b", "c", "d", "e"}).Draw(t, "source")
	w := modelDelay{delay: rapid.Int64Range(0, 5).Draw(t, "delay s") * luatest.Second}
	ttl := rapid.Int64Range(1, 4).Draw(t, "ttl") * 10 * luatest.Second
	w.ends = r.now + ttl
	r.note("delay %s %dus for %dus", source, w.delay, ttl)
	r.m.setDelay(r.now, source, w, mostSources)
	slowest := r.m.slowest(r.now)
	got := luatest.Call(t, r.s, ratelimit.SetDelayScript, r.now, ratelimit.SetDelayIn{
		Pace: r.pace, DelayUS: w.delay, TTLUS: ttl, Source: source, Most: mostSources, Channel: "c",
	})
	require.Equal(t, ratelimit.DelayOut{DelayUS: slowest.delay, UntilUS: slowest.ends, NowUS: r.now}, got, strings.Join(r.timeline, "\n"))
}

func (r *paceRun) report(t *rapid.T) {
	in := r.rule
	in.Pace, in.Why, in.Channel = r.pace, rapid.SampledFrom([]string{"429", "503"}).Draw(t, "status"), "c"
	in.Hit = rapid.IntRange(0, 3).Draw(t, "hit") > 0
	in.Factor = rapid.Int64Range(900, 1100).Draw(t, "factor")
	if rapid.IntRange(0, 2).Draw(t, "says") == 0 {
		in.RetryUS = rapid.Int64Range(1, 200*luatest.Second).Draw(t, "retry us")
	}
	r.note("report hit=%t retry=%dus factor=%d", in.Hit, in.RetryUS, in.Factor)
	before := r.m.penalty
	if in.Hit {
		r.m.report(r.now, in)
	}
	until, _ := r.m.paused(r.now)
	changed := r.m.penalty != before
	got := luatest.Call(t, r.s, ratelimit.ReportScript, r.now, in)
	did := ratelimit.PenaltyNone
	switch {
	case changed && before <= r.now:
		did = ratelimit.PenaltyBegan
	case changed:
		did = ratelimit.PenaltyProlonged
	}
	require.Equal(t, ratelimit.ReportOut{UntilUS: until, Did: did, Level: r.m.level, NowUS: r.now}, got, strings.Join(r.timeline, "\n"))
}

// admit asks a bucket that never refuses.
func (r *paceRun) admit(t *rapid.T) {
	a := ask{rule: modelRule{{limit: 1_000_000_000, periodMS: 1, burst: 1_000_000_000}}, cost: 1, peek: rapid.IntRange(0, 3).Draw(t, "peek") == 0}
	if rapid.Bool().Draw(t, "waits") {
		a.wait = rapid.Int64Range(0, 60*luatest.Second).Draw(t, "wait us")
	}
	r.note("admit peek=%t wait=%dus", a.peek, a.wait)
	retry, why := r.m.closed(r.now)
	taken := !a.peek && retry <= a.wait
	if taken {
		why = ""
		if len(r.m.delays) > 0 {
			r.m.last = max(r.m.last, r.now+retry)
		}
	}
	b := a.rule.bands()
	got := luatest.Call(t, r.s, ratelimit.TokenBucketScript, r.now, ratelimit.TokenBucketIn{
		State: r.pace + "bucket", Pace: r.pace, Cost: a.cost, Peek: a.peek, WaitUS: a.wait, Signature: signature(b),
		Capacity: b[0].Capacity, L: b[0].L, P: b[0].P,
	})
	r.s.Del(t, r.pace+"bucket")
	require.Equal(t, []any{retry == 0, taken && retry > 0, retry, why}, []any{got.Admitted(), got.Reserved(), got.RetryAfterUS, got.Denied},
		strings.Join(r.timeline, "\n"))
}

// look compares all that the script returns about the pace.
func (r *paceRun) look(t *rapid.T) {
	until, why := r.m.paused(r.now)
	slowest := r.m.slowest(r.now)
	want := ratelimit.PaceOut{NowUS: r.now, PauseUS: until, Why: why, PenaltyUS: r.m.penalty, Level: r.m.level}
	if r.m.last > 0 {
		want.NextUS = r.m.last + slowest.delay
	}
	for source, w := range r.m.delays {
		want.Items = append(want.Items, ratelimit.PaceItem{Kind: "delay", Name: source, US: w.delay, EndsUS: w.ends})
	}
	slices.SortFunc(want.Items, func(a, b ratelimit.PaceItem) int {
		switch {
		case a.US != b.US:
			return int(b.US - a.US)
		case a.EndsUS != b.EndsUS:
			return int(b.EndsUS - a.EndsUS)
		default:
			return strings.Compare(a.Name, b.Name)
		}
	})
	got := luatest.Call(t, r.s, ratelimit.PaceScript, r.now, ratelimit.PaceIn{
		Pace: r.pace, Leases: r.pace + "leases", Holders: r.pace + "holders", Line: r.pace + "line", Most: 9,
	})
	require.Equal(t, want, got, strings.Join(r.timeline, "\n"))
}

func TestThePaceEqualsTheModel(t *testing.T) {
	t.Parallel()
	luatest.EachStore(t, func(t *testing.T, s *luatest.Store) {
		run := 0
		rapid.Check(t, func(rt *rapid.T) {
			run++
			r := &paceRun{s: s, pace: s.Key(fmt.Sprintf("r%d", run)), now: luatest.Epoch, m: modelPace{delays: map[string]modelDelay{}}}
			r.rule = ratelimit.ReportIn{
				BaseMS:    rapid.Int64Range(1, 60_000).Draw(rt, "base"),
				MaxMS:     rapid.SampledFrom([]int64{30_000, 300_000, 86_400_000, 31_622_400_000}).Draw(rt, "max"),
				ForgiveUS: rapid.Int64Range(0, 600).Draw(rt, "forgive") * luatest.Second,
			}
			defer s.Del(t, r.pace)
			steps := []func(*rapid.T){r.pass, r.pass, r.pass, r.pause, r.resume, r.setDelay, r.setDelay, r.report, r.report, r.report, r.admit, r.admit}
			for range rapid.IntRange(1, 40).Draw(rt, "steps") {
				step := rapid.IntRange(0, len(steps)-1).Draw(rt, "step")
				before := s.Raw(rt, r.pace)
				steps[step](rt)
				if step > 2 {
					r.wrote(rt, before)
				}
				r.look(rt)
			}
		})
	})
}
