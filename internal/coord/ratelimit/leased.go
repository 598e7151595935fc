package ratelimit

import (
	"sync"
	"time"

	"github.com/coxswain-sidecar/coxswain/client/api"
	"github.com/coxswain-sidecar/coxswain/internal/coord"
)

// In mode leased a sidecar charges a block of tokens ahead, and serves calls from it in
// memory for the rule's lease.ttl_ms. The tokens count as used from the charge on, so that
// in any interval T no more is admitted than the algorithm admits in T plus one lease.
//
// A call that finds too few tokens charges a block together with its own cost; meanwhile
// other calls of its key are charged in Redis, each by itself. When a block ends, its unused
// tokens are given back with the next charge, or by a script of their own once the key is
// idle. Tokens that cannot be given back lapse: they stay charged, as if calls had used them.

// kindBlock is the kind of holdings among the local answers.
const kindBlock = noun + " block"

// renewAhead is how long a charge may take: at the present demand, a block that would be used
// up sooner than that is renewed.
const renewAhead = 5 * time.Millisecond

// part is a block of size tokens, of which left are not served yet.
type part struct {
	size, left int64
	at         int64         // when it was charged, by the Redis server's clock, Unix microseconds
	since      time.Duration // when the charge was sent, on the limiter's clock
	ends       time.Duration // until when calls are served from it
}

// add adds the tokens that another part has left to this one. Neither part serves calls any
// more. The sum counts as charged at the earlier of the two charges, so that a return
// subtracts all refills since then.
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

// holding is the tokens that this sidecar holds for one key in mode leased, with the state of
// the limit as the last charge returned it.
type holding struct {
	in    *blocks
	lim   *limit
	key   coord.AnswerKey
	state string

	mu   sync.Mutex // guards the fields up to since
	gone bool       // it is removed from the answers: no block may be added any more
	// charging is the number of the charge that is under way, 0 = there is none; tickets
	// is the number of the last one.
	charging, tickets int64
	// spent: the limit refused the last charge. The next one waits until a call needs it.
	spent bool
	parts [2]part // the blocks that serve calls, the older first
	back  part    // tokens to give back
	lent  part    // tokens that the charge under way gives back
	told  told
	used  time.Duration // when the last call came

	// The demand: rate in tokens per second, and asked, the tokens that calls asked for since
	// the instant since, when the rate was last updated.
	rate  float64
	asked int64
	since time.Duration

	// The lock of the sweep guards these.
	lookAt time.Duration // when look is called next
	place  int           // index in the heap of the sweep, from 1; 0 = it is not in there
}

// told is the state of the limit as the last charge returned it.
type told struct {
	result api.RatelimitResult
	reset  time.Duration // when it is as if unused, on the limiter's clock
	// resetUS is the same instant by the Redis server's clock. It comes drainUS earlier for
	// each token that is not used.
	resetUS int64
	drainUS float64
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

// served answers a call from a block. If it cannot, it may set in q.ahead the block that the
// call charges.
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

// holding returns the holding of a call's key, and creates it if there is none.
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
	return h // not reached: no other type is kept under this kind
}

func (l *limit) blockKey(key string) coord.AnswerKey {
	k := l.answerKey(key)
	k.Kind = kindBlock
	return k
}

// take serves a call from the parts. If their tokens are too few, or soon will be, it begins a
// charge and sets it in q, unless another call is charging or no block is wanted.
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
	h.updateDemand(q.begun)
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

// valid closes the parts that have ended, and returns how many tokens the others have left.
// The caller must hold h.mu, as for close, end and serve.
func (h *holding) valid(now time.Duration) (left int64) {
	for i := range h.parts {
		if p := &h.parts[i]; p.left > 0 && now >= p.ends {
			h.close(p)
		}
		left += h.parts[i].left
	}
	return left
}

// close moves the tokens that a part has left to back, and counts the tokens that it served.
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

// serve takes a cost from the parts, which must have enough, and answers with the state of
// the limit as of the last charge.
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

// serveLeft serves a call whose charge failed or was refused, if the parts have enough left.
func (h *holding) serveLeft(cost int64, now time.Duration) (decision, bool) {
	h.mu.Lock()
	defer h.mu.Unlock()
	if h.gone || h.valid(now) < cost {
		return decision{}, false
	}
	return h.serve(cost, now), true
}

// view returns how many tokens are left, and when the last part ends.
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
