package ratelimit_test

import (
	"cmp"
	"context"
	"fmt"
	"math"
	"math/big"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	"pgregory.net/rapid"

	"github.com/coxswain-sidecar/coxswain/internal/coord"
	"github.com/coxswain-sidecar/coxswain/internal/coord/ratelimit"
	"github.com/coxswain-sidecar/coxswain/internal/luatest"
)

// modelRule is a limit as users write it: limit per period in ms, burst at once.
type modelRule []struct{ limit, periodMS, burst int64 }

// bands reduces the rule to bands, as coord does.
func (r modelRule) bands() []ratelimit.Band {
	out := make([]ratelimit.Band, len(r))
	for i, b := range r {
		p := b.periodMS * 1000
		g := new(big.Int).GCD(nil, nil, big.NewInt(b.limit), big.NewInt(p)).Int64()
		out[i] = ratelimit.Band{Capacity: b.burst, L: b.limit / g, P: p / g, PeriodMS: b.periodMS}
	}
	return out
}

func signature(bands []ratelimit.Band) string {
	texts := make([]string, len(bands))
	for i, b := range bands {
		texts[i] = fmt.Sprintf("%d/%d/%d/%d", b.Capacity, b.L, b.P, b.PeriodMS)
	}
	return strings.Join(texts, ";")
}

// ask is a call for a limit under a rule. An empty algorithm is token_bucket.
type ask struct {
	algorithm      string
	rule           modelRule
	revision, cost int64
	peek           bool
	wait           int64 // us
}

// run runs the script that coord would run: for one band it is the short one.
func (a ask) run(t require.TestingT, s *luatest.Store, now int64, bucket string) ratelimit.Out {
	if bands := a.rule.bands(); len(bands) == 1 && a.named() == "token_bucket" {
		b := bands[0]
		return ratelimit.Out{LimitAnswer: luatest.Call(t, s, ratelimit.TokenBucketScript, now, ratelimit.TokenBucketIn{
			State: bucket, Pace: bucket + "pace", Cost: a.cost, Peek: a.peek, WaitUS: a.wait, Revision: a.revision, Signature: signature(bands),
			Capacity: b.Capacity, L: b.L, P: b.P,
		})}
	}
	return a.runBands(t, s, now, bucket)
}

func (a ask) named() string { return cmp.Or(a.algorithm, "token_bucket") }

func (a ask) runBands(t require.TestingT, s *luatest.Store, now int64, bucket string) ratelimit.Out {
	return luatest.Call(t, s, ratelimit.ChargeScript(a.named()), now, ratelimit.In{State: bucket, Pace: bucket + "pace", Charge: a.charge()})
}

// charge is the input of the general scripts.
func (a ask) charge() ratelimit.Charge {
	c := ratelimit.Charge{Cost: a.cost, WaitUS: a.wait, Revision: a.revision, Signature: signature(a.rule.bands())}
	if a.peek {
		c.Peek = ratelimit.PeekOn
	}
	return c
}

// admitted is the answer of a script to a cost that fits after retry microseconds;
// takes reports whether the script charged it.
func admitted(retry int64, takes bool) coord.Admission {
	switch {
	case retry == 0:
		return coord.AdmissionNow
	case takes:
		return coord.AdmissionReserved
	default:
		return coord.AdmissionRefused
	}
}

// charge asks without waiting.
func charge(t require.TestingT, s *luatest.Store, now int64, bucket string, r modelRule, revision, cost int64, peek bool) ratelimit.Out {
	return ask{rule: r, revision: revision, cost: cost, peek: peek}.run(t, s, now, bucket)
}

// modelBand is a bucket that leaks: level is what is in it, exactly.
type modelBand struct {
	ratelimit.Band
	level *big.Rat
}

// modelBucket is the token bucket over fractions, as specified.
type modelBucket struct {
	leaky    bool
	known    bool
	at       int64
	from     int64 // since when it is kept under these bands
	revision int64
	sig      string
	bands    []modelBand
	promises []promise // all, first to last
	held     int64     // the latest slot that the pace delayed
}

// bucketPace is the pace of a key: when its pause ends, the delay between admissions, and
// the instant for which the next admission waits.
type bucketPace struct{ pause, delay, next int64 }

func (g *bucketPace) wait(now int64) (int64, string) {
	paused, delayed := g.pause-now, int64(0)
	if g.delay > 0 {
		delayed = g.next - now
	}
	switch {
	case paused > 0 && paused >= delayed:
		return paused, "pause"
	case delayed > 0:
		return delayed, "delay"
	}
	return 0, ""
}

// pass records an admission at an instant, and forgets a pause that has ended.
func (g *bucketPace) pass(now, at int64) {
	g.forget(now)
	if g.delay > 0 {
		g.next = max(g.next, at+g.delay)
	}
}

func (g *bucketPace) forget(now int64) {
	if g.pause <= now {
		g.pause = 0
	}
}

// slow changes the delay. The new one counts from the last admission.
func (g *bucketPace) slow(delay int64) {
	if g.next > 0 {
		g.next += delay - g.delay
	}
	g.delay = delay
}

// promise is a slot, when it was promised, and what was charged for it.
type promise struct{ slot, made, cost int64 }

func (b modelBand) rate() *big.Rat { return big.NewRat(b.L, b.P) }

func (b modelBand) capacity() int64 {
	if b.L == 0 {
		return 0
	}
	return b.Capacity
}

// after is the level d microseconds later.
func (b modelBand) after(d int64) *big.Rat {
	if b.L == 0 {
		return new(big.Rat)
	}
	x := new(big.Rat).Mul(b.rate(), new(big.Rat).SetInt64(d))
	x.Sub(b.level, x)
	if x.Sign() < 0 {
		return new(big.Rat)
	}
	return x
}

// until returns in how many microseconds x tokens have leaked if the leak begins after lag.
func (b modelBand) until(x *big.Rat, lag int64) int64 {
	us := ceil(new(big.Rat).Quo(x, b.rate()))
	us.Add(us, big.NewInt(lag))
	if most := big.NewInt(1<<53 - 1); us.Cmp(most) > 0 {
		us = most
	}
	return us.Int64()
}

func ceil(x *big.Rat) *big.Int {
	q, m := new(big.Int).DivMod(x.Num(), x.Denom(), new(big.Int))
	if m.Sign() > 0 {
		q.Add(q, big.NewInt(1))
	}
	return q
}

func floor(x *big.Rat) *big.Int { return new(big.Int).Div(x.Num(), x.Denom()) }

// under is the bucket as a caller with a rule and its revision sees it.
func (m modelBucket) under(bands []ratelimit.Band, revision, now int64) modelBucket {
	sig := signature(bands)
	fresh := modelBucket{leaky: m.leaky, known: true, at: now, from: now, revision: revision, sig: sig, promises: m.promises, held: m.held}
	for _, b := range bands {
		if m.leaky && b.L > 0 {
			b.Capacity = min(b.Capacity, most(b))
		}
		fresh.bands = append(fresh.bands, modelBand{b, new(big.Rat)})
	}
	switch {
	case !m.known:
		return fresh
	case m.sig == sig:
		m.revision = max(m.revision, revision)
		return m
	case revision < m.revision:
		return m
	}
	fresh.at = m.at
	olds, news := make([]bool, len(m.bands)), make([]bool, len(bands))
	for _, wanted := range []bool{true, false} {
		for n := range fresh.bands {
			for o, old := range m.bands {
				if olds[o] || news[n] || wanted && old.PeriodMS != fresh.bands[n].PeriodMS {
					continue
				}
				olds[o], news[n] = true, true
				fresh.bands[n].level = moved(old, fresh.bands[n])
				if m.leaky && bands[n].L > 0 {
					fresh.bands[n].level = least(fresh.bands[n].level, most(bands[n]))
				}
			}
		}
	}
	return fresh
}

// most is how many tokens of a leaky bucket fit at once: what drains in 2^52 us.
func most(b ratelimit.Band) int64 {
	x := floor(new(big.Rat).Mul(big.NewRat(b.L, b.P), new(big.Rat).SetInt64(1<<52)))
	if !x.IsInt64() {
		return math.MaxInt64
	}
	return x.Int64()
}

func least(x *big.Rat, y int64) *big.Rat {
	if limit := new(big.Rat).SetInt64(y); x.Cmp(limit) > 0 {
		return limit
	}
	return x
}

// moved is what a band's level becomes under another band's parameters.
func moved(from, to modelBand) *big.Rat {
	whole := ceil(from.level).Int64()
	carry := new(big.Rat).Sub(new(big.Rat).SetInt64(whole), from.level)
	level := new(big.Rat).SetInt64(min(whole, from.Capacity, to.Capacity) + max(whole-from.Capacity, 0))
	if from.L == to.L && from.P == to.P && level.Sign() > 0 {
		level.Sub(level, carry)
	}
	return level
}

// charge answers as the script should, and changes the model as it should.
func (m *modelBucket) charge(now int64, a ask, g *bucketPace) ratelimit.Out {
	cost := a.cost
	seen := m.under(a.rule.bands(), a.revision, now)
	bands := slices.Clone(seen.bands)
	lag, passed := max(seen.at-now, 0), max(now-seen.at, 0)
	least, late, own := 0, -1, int64(0)
	retry, denied := g.wait(now)
	spare := func(b modelBand) *big.Rat {
		return new(big.Rat).Sub(new(big.Rat).SetInt64(b.capacity()), b.level)
	}
	for i := range bands {
		b := &bands[i]
		b.level = b.after(passed)
		// Of the whole tokens left, ties go to the first.
		if floor(spare(*b)).Cmp(floor(spare(bands[least]))) < 0 {
			least = i
		}
		over := new(big.Rat).Sub(new(big.Rat).SetInt64(cost), spare(*b))
		switch {
		case retry < 0:
		case cost > b.capacity():
			late, retry, denied = i, -1, "limit"
		case over.Sign() > 0:
			w := b.until(over, lag)
			own = max(own, w)
			if w > retry {
				late, retry, denied = i, w, "limit"
			}
		}
	}
	takes := cost > 0 && !a.peek && retry >= 0 && retry <= a.wait
	out := ratelimit.Out{LimitAnswer: coord.LimitAnswer{Allowed: admitted(retry, takes), RetryAfterUS: retry, NowUS: now}}
	at := late
	if at < 0 {
		at = least
	}
	if !out.Admitted() && !out.Reserved() {
		out.Denied = denied
	}
	if takes {
		for i := range bands {
			// What it is at the slot, and the charge; and then as much more as leaks
			// until the slot.
			slot := max(retry-lag, 0)
			level := bands[i].after(slot)
			level.Add(level, new(big.Rat).SetInt64(cost))
			bands[i].level = level.Add(level, new(big.Rat).Mul(bands[i].rate(), new(big.Rat).SetInt64(slot)))
		}
		seen.bands, seen.at = bands, max(now, seen.at)
		if out.Reserved() {
			seen.promises = append(slices.Clone(seen.promises), promise{now + retry, now, cost})
			if retry > own {
				seen.held = max(seen.held, now+retry)
			}
		}
		g.pass(now, now+retry)
		*m = seen
	}
	b := bands[at]
	out.Band = int64(at + 1)
	if seen.sig != signature(a.rule.bands()) {
		out.Newer = seen.sig
	}
	out.Remaining = max(floor(spare(b)).Int64(), 0)
	out.Current = ceil(b.level).Int64()
	if b.level.Sign() > 0 {
		out.ResetAfterUS = b.until(b.level, lag)
	}
	return out
}

// due is when the debt ends, 0 = there is none.
func (m *modelBucket) due() int64 {
	ends := int64(0)
	for _, b := range m.bands {
		if debt := new(big.Rat).Sub(b.level, new(big.Rat).SetInt64(b.capacity())); debt.Sign() > 0 {
			ends = max(ends, m.at+b.until(debt, 0))
		}
	}
	return ends
}

// giveBack credits a promise if its slot is the last one of those that are still to come; if several promises have that
// slot, any of them is the last. The debt shows only promises that the bands delayed, not those that the pace delayed:
// for these there is m.held.
func (m *modelBucket) giveBack(now int64, p promise, g *bucketPace) ratelimit.SlotState {
	switch {
	case p.slot <= now:
		return ratelimit.SlotCome
	case !m.known, m.from > p.made:
		return ratelimit.SlotInner
	}
	due := m.due()
	switch {
	case g.delay > 0 && g.next != p.slot+g.delay, due > p.slot, p.slot < m.held, p.slot > m.held && due != p.slot:
		return ratelimit.SlotInner
	}
	m.credit(now, func(modelBand) *big.Rat { return new(big.Rat).SetInt64(p.cost) })
	if g.delay > 0 {
		g.next = p.slot
		g.forget(now)
	}
	return ratelimit.SlotCredited
}

// credit subtracts from the level of each band what of returns for it.
func (m *modelBucket) credit(now int64, of func(b modelBand) *big.Rat) {
	m.bands = slices.Clone(m.bands)
	for i := range m.bands {
		b := &m.bands[i]
		less := of(*b)
		b.level = new(big.Rat).Sub(b.after(max(now-m.at, 0)), less)
		if b.level.Sign() < 0 {
			b.level = new(big.Rat)
		}
	}
	m.at = max(m.at, now)
}

// refund credits the part of a grant that would be left when all promised slots have come, if the grant had drained
// since its instant. Nothing drains while the clock is behind.
func (m *modelBucket) refund(now, at, cost int64) ratelimit.RefundState {
	if !m.known || m.from > at {
		return ratelimit.RefundExpired
	}
	since, passed := max(now, m.at, m.held, m.due(), at)-at, max(now-m.at, 0)
	left := func(b modelBand) *big.Rat {
		x := new(big.Rat).Mul(b.rate(), new(big.Rat).SetInt64(since))
		if x.Sub(new(big.Rat).SetInt64(cost), x); x.Sign() < 0 || b.after(passed).Sign() == 0 {
			return new(big.Rat)
		}
		return x
	}
	if !slices.ContainsFunc(m.bands, func(b modelBand) bool { return left(b).Sign() > 0 }) {
		return ratelimit.RefundExpired
	}
	m.credit(now, left)
	return ratelimit.Refunded
}

// limits that rules are drawn from: usual, tiny, fast, and with products past 2^53.
var limits = []struct{ limit, periodMS int64 }{
	{80, 600_000},
	{10, 6_000},
	{3, 5_000},
	{7, 3_000},
	{100, 60_000},
	{1, 1},
	{0, 60_000},
	{1, 366 * 86_400_000},
	{1_000_000, 1_000},
	{1_000_000_000, 1_000},
	{1_000_000_000, 86_400_000},
	{1_000_000_000, 1},
	{999_999_937, 366 * 86_400_000},
	{1_000_003, 86_400_000},
	{999_999_937, 1_000},
	{999_983, 31_535_999_999},
}

func drawRule(t *rapid.T) modelRule {
	r := make(modelRule, rapid.IntRange(1, 4).Draw(t, "bands"))
	for i := range r {
		l := limits[rapid.IntRange(0, len(limits)-1).Draw(t, "limit")]
		r[i].limit, r[i].periodMS, r[i].burst = l.limit, l.periodMS, l.limit
		if rapid.IntRange(0, 3).Draw(t, "has burst") == 0 {
			r[i].burst = rapid.Int64Range(1, 1_000_000_000).Draw(t, "burst")
		}
	}
	slices.SortStableFunc(r, func(a, b struct{ limit, periodMS, burst int64 }) int {
		return int(min(max(a.periodMS-b.periodMS, -1), 1))
	})
	return r
}

// bucketRun is one random history of one bucket and of its model.
type bucketRun struct {
	s         *luatest.Store
	algorithm string
	bucket    string
	m         modelBucket
	rule      modelRule
	revision  int64
	now       int64
	forgets   int64 // when Redis drops the key, 0 = not known
	pace      bucketPace
	mine      []promise
	grants    []promise // what was let through, for when
	timeline  []string
}

func (b *bucketRun) pass(t *rapid.T) {
	i := rapid.IntRange(0, len(b.rule)-1).Draw(t, "by band")
	band := b.rule.bands()[i]
	var d int64
	switch rapid.IntRange(0, 5).Draw(t, "how long") {
	case 0:
		d = rapid.Int64Range(0, 10).Draw(t, "us")
	case 1:
		d = rapid.Int64Range(0, band.P/max(band.L, 1)+2).Draw(t, "us")
	case 2:
		d = rapid.Int64Range(0, band.PeriodMS*1000+1).Draw(t, "us")
	case 3:
		d = rapid.Int64Range(0, 1_000_000).Draw(t, "us")
	case 4:
		d = -rapid.Int64Range(0, 2_000_000).Draw(t, "back us")
	case 5:
		// Up to the moment Redis forgets, or just past it, within 31 years.
		if left := b.forgets - b.now; left > 0 && left < 1_000_000_000_000_000 {
			d = b.forgets - b.now + rapid.Int64Range(-1000, 1000).Draw(t, "us")
		}
	}
	b.now += d
	b.timeline = append(b.timeline, "pass "+strconv.FormatInt(d, 10)+"us")
	if b.m.known && b.forgets > 0 && b.now >= b.forgets {
		for _, band := range b.m.bands {
			require.Zero(t, band.after(max(b.now-b.m.at, 0)).Sign(), "the key went while something was used: %v", b.timeline)
		}
		b.s.Del(t, b.bucket)
		b.m = modelBucket{leaky: b.m.leaky}
	}
}

// reload changes the rule, or makes a call with an older rule.
func (b *bucketRun) reload(t *rapid.T) {
	b.rule = drawRule(t)
	b.revision = max(b.revision+rapid.Int64Range(-2, 2).Draw(t, "revision step"), 0)
	b.timeline = append(b.timeline, fmt.Sprintf("rule %s revision %d", signature(b.rule.bands()), b.revision))
}

// giveBack gives back one of the promises, which may be an old one.
func (b *bucketRun) giveBack(t *rapid.T) {
	if len(b.mine) == 0 {
		return
	}
	i := rapid.IntRange(0, len(b.mine)-1).Draw(t, "promise")
	p := b.mine[i]
	b.mine = slices.Delete(b.mine, i, i+1)
	before := b.s.Raw(t, b.bucket)
	b.timeline = append(b.timeline, fmt.Sprintf("at %s give back %+v", luatest.Shown(strconv.FormatInt(b.now, 10)), p))
	want := b.m.giveBack(b.now, p, &b.pace)
	got := luatest.Call(t, b.s, ratelimit.GiveBackScript, b.now, ratelimit.GiveBackIn{
		State: b.bucket, Pace: b.bucket + "pace", Algorithm: ask{algorithm: b.algorithm}.named(), Cost: p.cost, SlotUS: p.slot, PromisedUS: p.made,
	})
	require.Equal(t, want, got, "%s", strings.Join(b.timeline, "\n"))
	if got != ratelimit.SlotCredited {
		require.Equal(t, before, b.s.Raw(t, b.bucket), "nothing given back, nothing written: %v", b.timeline)
		return
	}
	require.Positive(t, b.s.TTL(b.bucket), "a write sets a TTL")
	b.forgets = b.now + b.s.TTL(b.bucket).Microseconds()
}

// refund undoes one of the grants, once or again.
func (b *bucketRun) refund(t *rapid.T) {
	if len(b.grants) == 0 {
		return
	}
	g := b.grants[rapid.IntRange(max(0, len(b.grants)-4), len(b.grants)-1).Draw(t, "grant")]
	before, marker := b.s.Raw(t, b.bucket), b.bucket+"marker"
	b.timeline = append(b.timeline, fmt.Sprintf("at %s refund %+v", luatest.Shown(strconv.FormatInt(b.now, 10)), g))
	want := b.m.refund(b.now, g.slot, g.cost)
	in := ratelimit.RefundIn{State: b.bucket, Marker: marker, Algorithm: b.algorithm, Cost: g.cost, AtUS: g.slot}
	require.Equal(t, want, luatest.Call(t, b.s, ratelimit.RefundScript, b.now, in), "%s", strings.Join(b.timeline, "\n"))
	if want != ratelimit.Refunded {
		require.Equal(t, before, b.s.Raw(t, b.bucket), "nothing refunded, nothing written: %v", b.timeline)
		require.Equal(t, "none", b.s.Raw(t, marker))
		return
	}
	require.Positive(t, b.s.TTL(b.bucket), "a write sets a TTL")
	require.GreaterOrEqual(t, b.s.TTL(marker), 149*time.Second)
	b.forgets = b.now + b.s.TTL(b.bucket).Microseconds()
	require.Equal(t, ratelimit.RefundRepeated, luatest.Call(t, b.s, ratelimit.RefundScript, b.now, in))
	b.s.Del(t, marker)
}

// shut changes what holds the key up.
func (b *bucketRun) shut(t *rapid.T) {
	g, key, ctx := &b.pace, b.bucket+"pace", context.Background()
	switch rapid.IntRange(0, 3).Draw(t, "pace") {
	case 0:
		g.pause = b.now + rapid.Int64Range(1, 20_000_000).Draw(t, "pause us")
	case 1:
		*g = bucketPace{}
	default:
		g.slow(rapid.Int64Range(1, 5_000_000).Draw(t, "delay us"))
	}
	b.timeline = append(b.timeline, fmt.Sprintf("at %s pace %+v", luatest.Shown(strconv.FormatInt(b.now, 10)), *g))
	b.s.Del(t, key)
	if g.pause > 0 {
		require.NoError(t, b.s.Client.HSet(ctx, key, "pause", g.pause, "why", "").Err())
	}
	if g.delay > 0 {
		require.NoError(t, b.s.Client.HSet(ctx, key, "delay", g.delay, "delay_ends", int64(1)<<52, "next", g.next).Err())
	}
}

func (b *bucketRun) charge(t *rapid.T) {
	band := b.rule[rapid.IntRange(0, len(b.rule)-1).Draw(t, "by band")]
	cost := int64(1)
	switch rapid.IntRange(0, 4).Draw(t, "how much") {
	case 0:
		cost = rapid.Int64Range(0, 10).Draw(t, "cost")
	case 1:
		cost = rapid.Int64Range(0, band.burst).Draw(t, "cost")
	case 2:
		cost = band.burst
	case 3:
		cost = band.burst + rapid.Int64Range(0, 1).Draw(t, "more")
	}
	a := ask{algorithm: b.algorithm, rule: b.rule, revision: b.revision, cost: cost, peek: rapid.IntRange(0, 4).Draw(t, "peek") == 0}
	if rapid.Bool().Draw(t, "waits") {
		a.wait = rapid.Int64Range(0, min(60_000_000, 2*band.periodMS*1000)).Draw(t, "wait us")
	}
	before := b.s.Raw(t, b.bucket)
	want := b.m.charge(b.now, a, &b.pace)
	do := a.run
	if rapid.Bool().Draw(t, "bands script") {
		do = a.runBands
	}
	got := do(t, b.s, b.now, b.bucket)
	b.timeline = append(b.timeline, fmt.Sprintf("at %s charge %d peek=%t wait=%dus", luatest.Shown(strconv.FormatInt(b.now, 10)), cost, a.peek, a.wait))
	require.Equal(t, want, got, "%s", strings.Join(b.timeline, "\n"))
	ttl := b.s.TTL(b.bucket)
	if got.Reserved() {
		b.mine = append(b.mine, b.m.promises[len(b.m.promises)-1])
	}
	if (got.Admitted() || got.Reserved()) && cost > 0 && !a.peek {
		b.grants = append(b.grants, promise{b.now + got.RetryAfterUS, b.now, cost})
		require.Positive(t, ttl, "a write sets a TTL")
		b.forgets = b.now + ttl.Microseconds()
		return
	}
	require.Equal(t, before, b.s.Raw(t, b.bucket), "nothing taken, nothing written: %v", b.timeline)
	require.EqualValues(t, -1, ttl, "nothing taken, no TTL: %v", b.timeline)
}

func TestTokenBucketEqualsTheModel(t *testing.T) { bucketEqualsTheModel(t, "token_bucket") }

// TestTopologyTokenBucketEqualsTheModel is the same on the cluster.
func TestTopologyTokenBucketEqualsTheModel(t *testing.T) { bucketEqualsTheModel(t, "token_bucket") }

func TestLeakyBucketEqualsTheModel(t *testing.T) { bucketEqualsTheModel(t, "leaky_bucket") }

func bucketEqualsTheModel(t *testing.T, algorithm string) {
	t.Parallel()
	luatest.EachStore(t, func(t *testing.T, s *luatest.Store) {
		run := 0
		rapid.Check(t, func(rt *rapid.T) {
			run++
			b := &bucketRun{s: s, algorithm: algorithm, bucket: s.Key(fmt.Sprintf("b%d", run)), now: luatest.Epoch, revision: 5}
			b.m.leaky = algorithm == "leaky_bucket"
			defer s.Del(t, b.bucket)
			defer s.Del(t, b.bucket+"pace")
			b.reload(rt)
			paced := rapid.Bool().Draw(rt, "paced")
			for range rapid.IntRange(1, 30).Draw(rt, "steps") {
				switch rapid.IntRange(0, 19).Draw(rt, "step") {
				case 0:
					b.reload(rt)
				case 1, 2:
					b.giveBack(rt)
				case 3:
					b.refund(rt)
				case 4:
					if paced {
						b.shut(rt)
					}
				case 5, 6, 7, 8, 9:
					b.pass(rt)
				default:
					b.charge(rt)
				}
			}
		})
	})
}
