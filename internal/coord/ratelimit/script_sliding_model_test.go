package ratelimit_test

import (
	"context"
	"fmt"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/redis/go-redis/v9"
	"github.com/stretchr/testify/require"
	"pgregory.net/rapid"

	"github.com/coxswain-sidecar/coxswain/internal/coord"
	"github.com/coxswain-sidecar/coxswain/internal/coord/ratelimit"
	"github.com/coxswain-sidecar/coxswain/internal/lua"
	"github.com/coxswain-sidecar/coxswain/internal/luatest"
)

// slide is a call for a sliding window, and the id of its charge.
type slide struct {
	ask
	id   string
	each bool
}

func (a slide) run(t require.TestingT, s *luatest.Store, algorithm string, now int64, state string) ratelimit.Out {
	c := a.charge()
	if c.ID = a.id; a.each {
		c.Peek = ratelimit.PeekEach
	}
	return luatest.Call(t, s, ratelimit.ChargeScript(algorithm), now, ratelimit.In{State: state, Pace: state + "pace", Charge: c})
}

// slidingRule is a rule with one band, which has no burst beyond its limit.
func slidingRule(limit, periodMS int64) modelRule {
	return modelRule{{limit: limit, periodMS: periodMS, burst: limit}}
}

// takeBack calls a function of a part, as the scripts that give back and refund do. It returns whether the function
// took something back, and the TTL that it set (-1 = none).
func takeBack(t require.TestingT, s *luatest.Store, now int64, state, parts, expression string, args ...any) (bool, time.Duration) {
	text := "local now = tonumber(ARGV[1])\n"
	text += lua.PartsOf(ratelimit.ChargeScript("sliding_window_log").Source, append([]string{"lifetime", "muldiv", "bands"}, strings.Fields(parts)...)...)
	ctx := context.Background()
	var did *redis.Cmd
	var ttl *redis.DurationCmd
	_, err := s.Client.TxPipelined(ctx, func(p redis.Pipeliner) error {
		did = p.Eval(ctx, text+"return "+expression+" and 1 or 0", []string{state}, append([]any{now}, args...)...)
		ttl = p.PTTL(ctx, state)
		p.Persist(ctx, state)
		return nil
	})
	require.NoError(t, err, expression)
	return did.Val().(int64) == 1, max(ttl.Val(), -1)
}

func logGivesBack(t require.TestingT, s *luatest.Store, now int64, state, id string) (bool, time.Duration) {
	return takeBack(t, s, now, state, "log", "log_give_back(KEYS[1], ARGV[2])", id)
}

func logRefunds(t require.TestingT, s *luatest.Store, now int64, state, id string, at int64) (bool, time.Duration) {
	return takeBack(t, s, now, state, "log", "log_refund(KEYS[1], ARGV[2], tonumber(ARGV[3]))", id, at)
}

func counterCredits(t require.TestingT, s *luatest.Store, now int64, state string, cost, at int64) (bool, time.Duration) {
	return takeBack(t, s, now, state, "counter", "counter_credit(KEYS[1], tonumber(ARGV[2]), tonumber(ARGV[3]))", cost, at)
}

// standing is the state of one band: how much is free, how much is used, how long (us) until it is as if unused, and
// how long until the cost fits (-1 = never).
type standing struct{ left, used, reset, wait int64 }

func (b standing) view() ratelimit.BandView {
	return ratelimit.BandView{Remaining: max(b.left, 0), Current: b.used, ResetAfterUS: b.reset}
}

// decided returns the answer for bands in this state, without the fields that view returns; at is the band to which the
// answer refers.
func decided(bands []standing, a slide, now int64) (out ratelimit.Out, at int, takes bool) {
	least, late, retry := 0, -1, int64(0)
	for i, b := range bands {
		if b.left < bands[least].left {
			least = i
		}
		if retry >= 0 && (b.wait < 0 || b.wait > retry) {
			late, retry = i, b.wait
		}
	}
	takes = a.cost > 0 && !a.peek && !a.each && retry >= 0 && retry <= a.wait
	out = ratelimit.Out{LimitAnswer: coord.LimitAnswer{Allowed: admitted(retry, takes), RetryAfterUS: retry, NowUS: now}}
	at = late
	if out.Admitted() {
		at = least
	} else if !out.Reserved() {
		out.Denied = "limit"
	}
	out.Band = int64(at + 1)
	return out, at, takes
}

// told completes the answer with the state of the bands after it.
func told(out ratelimit.Out, bands []standing, a slide, at int) ratelimit.Out {
	v := bands[at].view()
	out.Remaining, out.Current, out.ResetAfterUS = v.Remaining, v.Current, v.ResetAfterUS
	if a.each {
		for _, b := range bands {
			out.Bands = append(out.Bands, b.view())
		}
	}
	return out
}

// passage is a cost that was admitted, and the instant from which it counts.
type passage struct {
	id       string
	at, cost int64
	slot     bool
}

// slidingModel is an algorithm in plain Go.
type slidingModel interface {
	// charge answers as the script should, and changes the model as it should.
	charge(now int64, a slide) ratelimit.Out
	// takeBack gives back a slot or refunds, and reports whether it did.
	takeBack(now int64, g passage, giveBack bool) bool
	// counting reports whether anything counts.
	counting(now int64) bool
}

// slidingRun is one random history of one state and of its model.
type slidingRun struct {
	s           *luatest.Store
	algorithm   string
	state       string
	limits      []struct{ limit, periodMS int64 }
	m           slidingModel
	fresh       func() slidingModel
	rule        modelRule
	revision    int64
	now         int64
	forgets     int64 // when Redis drops the key, 0 = not known
	grants      []passage
	n           int
	timeline    []string
	takesBackBy func(g passage, giveBack bool) (bool, time.Duration)
}

func (b *slidingRun) did(format string, args ...any) {
	b.timeline = append(b.timeline, "at "+luatest.Shown(strconv.FormatInt(b.now, 10))+" "+fmt.Sprintf(format, args...))
}

func (b *slidingRun) story() string { return strings.Join(b.timeline, "\n") }

func (b *slidingRun) pass(t *rapid.T) {
	us := b.rule[rapid.IntRange(0, len(b.rule)-1).Draw(t, "by band")].periodMS * 1000
	var d int64
	switch rapid.IntRange(0, 6).Draw(t, "how long") {
	case 0:
		d = rapid.Int64Range(0, 10).Draw(t, "us")
	case 1:
		d = rapid.Int64Range(0, us+1).Draw(t, "us")
	case 2:
		d = rapid.Int64Range(0, 3*us).Draw(t, "us")
	case 3:
		// To the ends of windows, aligned or of entries.
		d = us - b.now%us + rapid.Int64Range(-1, 1).Draw(t, "us")
	case 4:
		if len(b.grants) > 0 {
			g := b.grants[rapid.IntRange(0, len(b.grants)-1).Draw(t, "of")]
			d = max(g.at+us-b.now+rapid.Int64Range(-1, 1).Draw(t, "us"), 0)
		}
	case 5:
		d = -rapid.Int64Range(0, min(2_000_000, us)).Draw(t, "back us")
	case 6:
		// Up to the moment Redis forgets, or just past it, within 31 years.
		if left := b.forgets - b.now; left > 0 && left < 1_000_000_000_000_000 {
			d = left + rapid.Int64Range(-1000, 1000).Draw(t, "us")
		}
	}
	b.now += d
	if b.forgets > 0 && b.now >= b.forgets {
		require.False(t, b.m.counting(b.now), "the key went while something counted:\n%s", b.story())
		b.s.Del(t, b.state)
		b.m, b.forgets = b.fresh(), 0
		b.did("the key goes")
	}
}

// reload changes the rule, or makes a call with an older rule.
func (b *slidingRun) reload(t *rapid.T) {
	b.rule = nil
	periods := map[int64]bool{}
	for range rapid.IntRange(1, 4).Draw(t, "bands") {
		l := b.limits[rapid.IntRange(0, len(b.limits)-1).Draw(t, "limit")]
		if !periods[l.periodMS] {
			b.rule = append(b.rule, slidingRule(l.limit, l.periodMS)...)
		}
		periods[l.periodMS] = true
	}
	slices.SortFunc(b.rule, func(x, y struct{ limit, periodMS, burst int64 }) int {
		return int(min(max(x.periodMS-y.periodMS, -1), 1))
	})
	b.revision = max(b.revision+rapid.Int64Range(-2, 2).Draw(t, "revision step"), 0)
	b.did("rule %s revision %d", signature(b.rule.bands()), b.revision)
}

func (b *slidingRun) charge(t *rapid.T) {
	band := b.rule[rapid.IntRange(0, len(b.rule)-1).Draw(t, "by band")]
	cost := int64(1)
	switch rapid.IntRange(0, 4).Draw(t, "how much") {
	case 0:
		cost = rapid.Int64Range(0, 10).Draw(t, "cost")
	case 1:
		cost = rapid.Int64Range(0, band.limit).Draw(t, "cost")
	case 2:
		cost = band.limit/2 + 1
	case 3:
		cost = band.limit + rapid.Int64Range(0, 1).Draw(t, "more")
	}
	b.n++
	a := slide{ask: ask{rule: b.rule, revision: b.revision, cost: cost}, id: fmt.Sprint("i", b.n)}
	switch rapid.IntRange(0, 9).Draw(t, "looks") {
	case 0:
		a.peek = true
	case 1:
		a.each = true
	}
	if rapid.Bool().Draw(t, "waits") {
		a.wait = rapid.Int64Range(0, 2*band.periodMS*1000).Draw(t, "wait us")
	}
	before := b.s.Raw(t, b.state)
	want := b.m.charge(b.now, a)
	b.did("%s charge %d peek=%t each=%t wait=%dus: %+v", a.id, cost, a.peek, a.each, a.wait, want)
	got := a.run(t, b.s, b.algorithm, b.now, b.state)
	require.NotEqual(t, signature(b.rule.bands()), got.Newer, "it is told only when it is another")
	want.Newer = got.Newer // the models keep no text
	require.Equal(t, want, got, "%s", b.story())
	if (got.Admitted() || got.Reserved()) && cost > 0 && !a.peek && !a.each {
		require.Positive(t, b.s.TTL(b.state), "a write sets a TTL")
		b.forgets = b.now + b.s.TTL(b.state).Microseconds()
		b.grants = append(b.grants, passage{a.id, b.now + got.RetryAfterUS, cost, got.Reserved()})
		return
	}
	require.Equal(t, before, b.s.Raw(t, b.state), "nothing taken, nothing written:\n%s", b.story())
	require.EqualValues(t, -1, b.s.TTL(b.state), "nothing taken, no TTL")
}

func (b *slidingRun) takeBack(t *rapid.T) {
	if len(b.grants) == 0 {
		return
	}
	i := rapid.IntRange(0, len(b.grants)-1).Draw(t, "grant")
	g := b.grants[i]
	giveBack := g.slot && g.at > b.now && rapid.Bool().Draw(t, "gives back")
	before := b.s.Raw(t, b.state)
	want := b.m.takeBack(b.now, g, giveBack)
	b.did("take back %+v, give back=%t: %t", g, giveBack, want)
	got, ttl := b.takesBackBy(g, giveBack)
	require.Equal(t, want, got, "%s", b.story())
	if !got {
		require.Equal(t, before, b.s.Raw(t, b.state), "nothing taken back, nothing written:\n%s", b.story())
		return
	}
	require.Positive(t, ttl, "a write sets a TTL")
	b.forgets = b.now + ttl.Microseconds()
	b.grants = slices.Delete(b.grants, i, i+1)
}

// checkSliding runs random histories on each store; begin sets what depends on the algorithm.
func checkSliding(t *testing.T, begin func(b *slidingRun, t *rapid.T)) {
	luatest.EachStore(t, func(t *testing.T, s *luatest.Store) {
		run := 0
		rapid.Check(t, func(rt *rapid.T) {
			run++
			b := &slidingRun{s: s, state: s.Key(fmt.Sprintf("b%d", run)), now: luatest.Epoch, revision: 5}
			defer s.Del(t, b.state)
			begin(b, rt)
			b.m = b.fresh()
			b.reload(rt)
			for range rapid.IntRange(1, 30).Draw(rt, "steps") {
				switch rapid.IntRange(0, 19).Draw(rt, "step") {
				case 0:
					b.reload(rt)
				case 1, 2:
					b.takeBack(rt)
				case 3, 4, 5, 6, 7, 8:
					b.pass(rt)
				default:
					b.charge(rt)
				}
			}
		})
	})
}
