package ratelimit

import (
	"context"
	"errors"
	"math"
	"sync"
	"sync/atomic"
	"time"

	"github.com/coxswain-sidecar/coxswain/client/api"
	"github.com/coxswain-sidecar/coxswain/internal/coord"
	"github.com/coxswain-sidecar/coxswain/internal/coord/lease"
	"github.com/coxswain-sidecar/coxswain/internal/lua"
	"github.com/coxswain-sidecar/coxswain/internal/redis"
	"github.com/coxswain-sidecar/coxswain/internal/telemetry"
)

// In mode leased a sidecar charges a block of tokens ahead and serves calls from it, in
// memory, for the rule's lease. What was charged counts as used from then on, so that in
// any interval T no more is let through than the algorithm admits in T and one lease.
//
// A call that finds too little charges a block with its own cost; meanwhile others of its
// key are charged exactly. What is unused when a block ends goes back with the next charge,
// or by itself once the key is idle. What cannot go back lapses: it stays used, as if it
// had been let through.

// kindBlock is the kind of holdings among the local answers.
const kindBlock = noun + " block"

const (
	// renewAhead is how long a charge may take so that a block lasts until the next one is
	// there: a block that would not last longer is renewed.
	renewAhead = 5 * time.Millisecond
	// returnCrew is how many returns are under way at most; the others queue.
	returnCrew = 8
)

// The outcomes of tokens that were charged ahead; labels of a metric.
const (
	tokensCharged  = "charged"
	tokensServed   = "served"
	tokensReturned = "returned" // sent back in time, though refills may have left less of them
	tokensLapsed   = "lapsed"
)

// blocks are what all holdings of a limiter have in common.
type blocks struct {
	runner  *lua.Runner
	answers *coord.Answers
	tel     *telemetry.Telemetry
	now     func() time.Duration
	crew    *coord.Crew
	over    atomic.Bool // nothing is charged ahead any more
	sweep   sweep

	mu      sync.Mutex // guards what follows
	sending int        // returns under way or queued
	quiet   chan struct{}
}

// part is a block, or what is left of one.
type part struct {
	size, left int64
	at         int64         // when it was charged, by the Redis server's clock, Unix microseconds
	since      time.Duration // when that was sent, on the limiter's clock
	ends       time.Duration // until when it is served
}

// add puts what is left of another part to this one, which is not served. Both count as
// charged when the earlier one was: refills of that long ago are taken off both.
func (p *part) add(o part) {
	switch {
	case o.left == 0:
	case p.left == 0:
		*p = o
	default:
		p.left += o.left
		p.at, p.since = min(p.at, o.at), min(p.since, o.since)
	}
}

// holding is what this sidecar knows and has of one key in mode leased.
type holding struct {
	in    *blocks
	lim   *limit
	key   coord.AnswerKey
	state string

	mu   sync.Mutex // guards what follows
	gone bool       // nobody finds it any more: nothing is put here
	// charging is the ticket of the call that charges, 0 = there is none.
	charging, tickets int64
	// spent: the limit refused the last charge, so that none is made before it is needed.
	spent bool
	parts [2]part // what is served, the older first
	back  part    // what is given back
	lent  part    // what the charge that is under way gives back; only who makes it has it
	told  told
	used  time.Duration // when a call came last

	// The demand: tokens per second, and what was asked for since it was reckoned last.
	rate  float64
	asked int64
	since time.Duration

	// What follows is guarded by the lock of the sweep.
	lookAt time.Duration // when look is called next
	place  int           // in the sweep, from 1; 0 = it has none
}

// told is what the answer to the last charge said of the limit.
type told struct {
	result api.RatelimitResult
	reset  time.Duration // when it is as if unused, on the limiter's clock
	// resetUS is that by the Redis server's clock, drainUS how much earlier it is for each
	// token that is not used.
	resetUS int64
	drainUS float64
}

// ahead is what a call charges beside its cost.
type ahead struct {
	of     *holding // nil = nothing
	ticket int64
	most   int64 // the cost included
	early  bool  // there is enough left for the call: it need not wait for Redis
}

// Ends implements coord.Ending.
func (h *holding) Ends() time.Duration {
	h.mu.Lock()
	defer h.mu.Unlock()
	ends := h.used
	for _, p := range h.parts {
		if p.left > 0 {
			ends = max(ends, p.ends)
		}
	}
	return ends
}

// About implements coord.Ending.
func (h *holding) About() string { return h.state }

// Dropped implements coord.Dropped: it gives back what is left.
func (h *holding) Dropped() {
	h.mu.Lock()
	defer h.mu.Unlock()
	h.gone = true
	h.in.sweep.remove(h)
	h.end()
	h.in.giveBack(h, h.back)
	h.back = part{}
}

// served answers a call from a block, or else says in q what to charge.
func (l *Limiter) served(q *question, wait int64) (decision, bool) {
	terms := q.lim.leased
	if terms == nil || q.peek || wait > 0 || q.cost > terms.most || l.blocks.over.Load() {
		return decision{}, false
	}
	h := l.holding(q)
	d, ok := h.take(q)
	if ok && q.mode == coord.FailLocal {
		q.state = h.state
		l.keepWarm(*q)
	}
	return d, ok
}

// holding is that of a call's key.
func (l *Limiter) holding(q *question) *holding {
	k := q.lim.blockKey(q.counted)
	known, _, _ := l.answers.Get(k)
	if h, ok := known.(*holding); ok {
		return h
	}
	h := &holding{in: &l.blocks, lim: q.lim, key: k, state: l.keys.limit(q.lim.options.Name, q.counted, q.lim.part), used: q.begun, since: q.begun}
	known = l.answers.Keep(k, h)
	if h, ok := known.(*holding); ok {
		return h
	}
	return h // nothing else is kept under this kind
}

func (l *limit) blockKey(key string) coord.AnswerKey {
	k := l.answerKey(key)
	k.Kind = kindBlock
	return k
}

// take serves a call, or else begins a charge, which it puts into q, if there is something
// to charge beside the cost and nobody does so already.
func (h *holding) take(q *question) (decision, bool) {
	h.mu.Lock()
	defer h.mu.Unlock()
	if h.gone {
		return decision{}, false
	}
	h.asked += q.cost
	h.used = q.begun
	have := h.valid(q.begun)
	enough := have >= q.cost
	if enough && (h.charging != 0 || h.spent || float64(have-q.cost) >= h.rate*renewAhead.Seconds()) {
		return h.serve(q.cost, q.begun), true
	}
	if h.charging != 0 {
		return decision{}, false
	}
	h.learn(q.begun)
	terms := h.lim.leased
	block := min(h.wanted(), terms.most-q.cost) - have
	switch {
	case block > 0:
	case enough:
		return h.serve(q.cost, q.begun), true
	case h.back.left == 0 || !h.lim.worth(h.back, q.begun):
		return decision{}, false
	default:
		block = 0
	}
	h.tickets++
	h.charging = h.tickets
	q.ahead = ahead{of: h, ticket: h.charging, most: q.cost + max(0, block), early: enough}
	h.lent, h.back = h.back, part{}
	return decision{}, false
}

// valid ends the parts whose time is up, and returns what is left of the others. It needs
// h.mu, as do those below it.
func (h *holding) valid(now time.Duration) (left int64) {
	for i := range h.parts {
		if p := &h.parts[i]; p.left > 0 && now >= p.ends {
			h.close(p)
		}
		left += h.parts[i].left
	}
	return left
}

// close has what is left of a part given back, and counts what was served of it.
func (h *holding) close(p *part) {
	h.in.count(h.lim, tokensServed, p.size-p.left)
	h.back.add(*p)
	*p = part{}
}

// end closes all parts.
func (h *holding) end() {
	for i := range h.parts {
		h.close(&h.parts[i])
	}
}

// learn reckons the demand: an average that forgets within a lease, so that a block of the
// demand of one lease is what was asked for in the last one.
func (h *holding) learn(now time.Duration) {
	passed := (now - h.since).Seconds()
	if passed <= 0 {
		return
	}
	weight := -math.Expm1(-passed / h.lim.leased.ttl.Seconds())
	h.rate += weight * (float64(h.asked)/passed - h.rate)
	h.asked, h.since = 0, now
}

// wanted is how much to hold: what one lease is likely to ask for. Calls come as they please,
// so that it is the demand and two standard deviations; what is too much goes back. Of a key
// that is asked for less than every second lease nothing would be served.
func (h *holding) wanted() int64 {
	demand := h.rate * h.lim.leased.ttl.Seconds()
	if demand < 0.5 {
		return 0
	}
	return min(h.lim.leased.most, int64(demand+2*math.Sqrt(demand)))
}

// serve takes a cost that is there, and says how the limit stands as far as it is known
// here.
func (h *holding) serve(cost int64, now time.Duration) decision {
	left := int64(0)
	for i := range h.parts {
		p := &h.parts[i]
		n := min(cost, p.left)
		p.left -= n
		cost -= n
		left += p.left
	}
	t := &h.told
	d := decision{RatelimitResult: t.result}
	d.Remaining += left
	d.Current = max(0, d.Current-left)
	drained := int64(float64(left) * t.drainUS)
	d.ResetAfterMS = coord.MsLeft(t.reset - now - time.Duration(drained)*time.Microsecond)
	d.ResetAtMS = coord.InstantMS(t.resetUS - drained)
	return d
}

// serveLeft serves a call that could not be charged from what is left.
func (h *holding) serveLeft(cost int64, now time.Duration) (decision, bool) {
	h.mu.Lock()
	defer h.mu.Unlock()
	if h.gone || h.valid(now) < cost {
		return decision{}, false
	}
	return h.serve(cost, now), true
}

// forgo ends a charge that was not made.
func (a ahead) forgo() {
	if a.of != nil {
		a.of.failed(a, nil)
	}
}

// withoutCharge is the answer to a call that was refused as a moment ago, and so charges
// nothing: from what is left of a block, or else that refusal.
func (q *question) withoutCharge(refused decision) decision {
	if q.ahead.of == nil {
		return refused
	}
	q.ahead.forgo()
	if d, ok := q.ahead.of.serveLeft(q.cost, q.begun); ok {
		return d
	}
	return refused
}

// failed ends a charge that failed. If it may have been made for all that, what it took
// back may not be given back once more.
func (h *holding) failed(a ahead, err error) {
	h.mu.Lock()
	defer h.mu.Unlock()
	if h.charging != a.ticket {
		return
	}
	h.charging = 0
	switch {
	case errors.Is(err, redis.ErrMaybeExecuted):
		h.in.count(h.lim, tokensLapsed, h.lent.left)
	case h.gone:
		h.in.giveBack(h, h.lent)
	default:
		h.back.add(h.lent)
	}
	h.lent = part{}
}

// refusedAhead is the answer to a call that Redis refused, under a limit in mode leased: what
// is left of a block serves it, unless a pause or a delay is in force, under which nothing is
// served from memory.
func (l *Limiter) refusedAhead(q question, d decision) decision {
	switch d.DeniedBy {
	case ReasonPause, ReasonDelay:
		l.answers.Drop(q.lim.blockKey(q.counted))
	case ReasonLimit:
		if q.ahead.of != nil {
			if s, ok := q.ahead.of.serveLeft(q.cost, l.now()); ok {
				return s
			}
		}
	}
	return d
}

// patience is that of the call's script.
func (q *question) patience() lua.Patience {
	if q.ahead.early {
		return lua.Impatient
	}
	return q.mode.Patience(q.caller)
}

// block is the input of the script that charges ahead.
func (q *question) block() LeaseIn {
	return LeaseIn{State: q.state, Gate: q.gate, Block: Block{
		Cost: q.cost, Most: q.ahead.most, Revision: q.lim.revision, Signature: q.lim.signature,
		Unused: q.ahead.of.lent.left, AtUS: q.ahead.of.lent.at,
	}}
}

// chargedAhead keeps what a call charged beside its cost, and returns its own answer.
func (q *question) chargedAhead(out lua.Outcome[LeaseOut], err error) (answer, error) {
	if err != nil {
		q.ahead.of.failed(q.ahead, err)
		return answer{}, err
	}
	q.ahead.of.charged(q, out.Value)
	return answer{Value: Out{LimitAnswer: out.Value.LimitAnswer}, Sent: out.Sent}, nil
}

// charged ends a charge that was answered. The block is served for its time from when the
// charge was sent on, which is before Redis charged it.
func (h *holding) charged(q *question, o LeaseOut) {
	block := part{left: max(0, o.Taken-q.cost), at: o.NowUS, since: q.begun, ends: q.begun + h.lim.leased.lasts(o.EndsUS)}
	block.size = block.left
	d, err := h.lim.decision(o.LimitAnswer, false)
	now := h.in.now()
	h.in.count(h.lim, tokensCharged, block.size)
	outcome := tokensLapsed
	if o.Returned {
		outcome = tokensReturned
	}
	h.mu.Lock()
	defer h.mu.Unlock()
	if h.charging == q.ahead.ticket {
		h.in.count(h.lim, outcome, h.lent.left)
		h.charging, h.lent = 0, part{}
	}
	h.spent = o.Taken == 0
	switch {
	case block.left == 0:
		return
	case err != nil || h.gone || h.in.over.Load() || now >= block.ends:
		h.in.giveBack(h, block)
		return
	}
	if h.parts[1].left > 0 {
		h.close(&h.parts[0])
		h.parts[0] = h.parts[1]
	} else {
		h.in.count(h.lim, tokensServed, h.parts[1].size)
	}
	h.parts[1] = block
	h.tell(d.RatelimitResult, o, q.begun)
	h.in.sweep.add(h, now, h.lim.leased.ttl/2)
}

// tell notes what is known of the limit without what is held here.
func (h *holding) tell(r api.RatelimitResult, o LeaseOut, begun time.Duration) {
	r.Source, r.Replayed = coord.SourceLease, false
	h.told = told{
		result: r, reset: begun + time.Duration(o.ResetAfterUS)*time.Microsecond, resetUS: o.NowUS + o.ResetAfterUS,
	}
	if b := h.lim.bands[o.Band-1]; h.lim.algorithm.bursts && b.L > 0 {
		h.told.drainUS = float64(b.P) / float64(b.L)
	}
}

// lasts is how long a block is served from the sending of its charge on: the lease, or up to
// its window's end, less 1 % and 2 ms as of any lease, since the clocks of pods drift.
func (t *leaseTerms) lasts(endsUS int64) time.Duration {
	d := t.ttl
	if endsUS > 0 {
		d = min(d, time.Duration(endsUS)*time.Microsecond)
	}
	return d - d/100 - 2*time.Millisecond
}

// worth reports whether any of a part would be credited now. What has refilled since it was
// charged is not, nor what belongs to a window that is over: see part_lease_back.lua.
func (l *limit) worth(p part, now time.Duration) bool {
	us := (now - p.since).Microseconds()
	for _, b := range l.bands {
		switch {
		case l.algorithm.bursts:
			if b.L > 0 && float64(p.left)*float64(b.P) > float64(us)*float64(b.L) {
				return true
			}
		case us < b.PeriodMS*1000-p.at%(b.PeriodMS*1000):
			return true
		}
	}
	return false
}

// look gives back what an idle key has, and ends what is known of a key that stays idle.
func (h *holding) look() {
	h.mu.Lock()
	now, ttl := h.in.now(), h.lim.leased.ttl
	left, idle := h.valid(now), now-h.used
	if h.gone {
		h.mu.Unlock()
		return
	}
	if idle >= ttl/2 {
		for i := range h.parts {
			if p := &h.parts[i]; p.left > 0 && h.lim.worth(*p, now) {
				left -= p.left
				h.close(p)
			}
		}
		h.in.giveBack(h, h.back)
		h.back = part{}
	}
	over := left == 0 && h.charging == 0 && idle >= 2*ttl
	if !over {
		h.in.sweep.add(h, now, h.nextLook(now, left))
	}
	h.mu.Unlock()
	if over {
		h.in.answers.Drop(h.key)
	}
}

// nextLook is how long it is until there may be something to do.
func (h *holding) nextLook(now time.Duration, left int64) time.Duration {
	ttl := h.lim.leased.ttl
	if half := h.used + ttl/2; now < half {
		return half - now
	}
	if left == 0 {
		return h.used + 2*ttl - now
	}
	next := now + 2*ttl
	for _, p := range h.parts {
		if p.left > 0 {
			next = min(next, p.ends)
		}
	}
	return next - now
}

// view is what is left, and until when.
func (h *holding) view(now time.Duration) (left int64, until time.Duration) {
	h.mu.Lock()
	defer h.mu.Unlock()
	left = h.valid(now)
	for _, p := range h.parts {
		if p.left > 0 {
			until = max(until, p.ends)
		}
	}
	return left, until
}

func (b *blocks) count(lim *limit, outcome string, n int64) {
	if n > 0 {
		b.tel.TokensAhead(context.Background(), lim.label(), outcome, n)
	}
}

// giveBack sends what is unused of a part back, on a goroutine of its own. It is not tried
// again after a failure that leaves open whether it was done.
func (b *blocks) giveBack(h *holding, p part) {
	if p.left == 0 {
		return
	}
	if !h.lim.worth(p, b.now()) {
		b.count(h.lim, tokensLapsed, p.left)
		return
	}
	b.mu.Lock()
	b.sending++
	b.mu.Unlock()
	b.crew.Go(func() {
		defer b.sent()
		ctx, cancel := context.WithTimeout(context.Background(), lease.GiveBackTime)
		defer cancel()
		out, err := lua.Attempt(ctx, b.runner, ReturnScript, ReturnIn{
			State: h.state, Algorithm: h.lim.algorithm.name, Unused: p.left, AtUS: p.at,
		}, lua.Latch{})
		if err == nil && out.Value {
			b.count(h.lim, tokensReturned, p.left)
		} else {
			b.count(h.lim, tokensLapsed, p.left)
		}
	})
}

func (b *blocks) sent() {
	b.mu.Lock()
	defer b.mu.Unlock()
	if b.sending--; b.sending == 0 && b.quiet != nil {
		close(b.quiet)
		b.quiet = nil
	}
}

// settled returns when no return is under way, or ctx ends.
func (b *blocks) settled(ctx context.Context) error {
	b.mu.Lock()
	if b.sending == 0 {
		b.mu.Unlock()
		return nil
	}
	if b.quiet == nil {
		b.quiet = make(chan struct{})
	}
	quiet := b.quiet
	b.mu.Unlock()
	select {
	case <-quiet:
		return nil
	case <-ctx.Done():
		return ctx.Err()
	}
}

// Drain has nothing charged ahead any more, and gives back what is held. It does not wait
// until that is done; Stop does.
func (l *Limiter) Drain() {
	l.blocks.over.Store(true)
	l.answers.DropIf(func(k coord.AnswerKey, _ coord.Ending) bool { return k.Kind == kindBlock })
}

// Stop drains, and returns when all is given back or ctx ends; its error is that of ctx.
// Calls are still decided, each in Redis.
func (l *Limiter) Stop(ctx context.Context) error {
	l.Drain()
	return l.blocks.settled(ctx)
}

// reloaded drops what is held under rules that are not in force any more.
func (l *Limiter) reloaded(set map[string]*rule) {
	l.answers.DropIf(func(k coord.AnswerKey, _ coord.Ending) bool {
		if k.Kind != kindBlock {
			return false
		}
		r := set[k.Name]
		return r == nil || r.revision != k.Revision
	})
}
