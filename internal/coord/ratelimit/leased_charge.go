package ratelimit

import (
	"errors"
	"math"
	"time"

	"github.com/coxswain-sidecar/coxswain/client/api"
	"github.com/coxswain-sidecar/coxswain/internal/coord"
	"github.com/coxswain-sidecar/coxswain/internal/lua"
	"github.com/coxswain-sidecar/coxswain/internal/redis"
)

// ahead is a charge of a block that a call makes together with its own cost.
type ahead struct {
	of     *holding // nil = the call charges no block
	ticket int64    // the number of the charge
	most   int64    // tokens to charge at most, the cost included
	early  bool     // the parts have enough left for the call: it need not wait for Redis
}

// updateDemand updates the demand: an exponentially weighted average of the tokens that calls
// asked for per second, with one lease as its time constant.
func (h *holding) updateDemand(now time.Duration) {
	passed := (now - h.since).Seconds()
	if passed <= 0 {
		return
	}
	weight := -math.Expm1(-passed / h.lim.leased.ttl.Seconds())
	h.rate += weight * (float64(h.asked)/passed - h.rate)
	h.asked, h.since = 0, now
}

// wanted returns how many tokens to hold: the demand of one lease plus two standard
// deviations of a Poisson process; unused tokens are given back. It is 0 if the demand is
// less than one token in two leases, since such a block would mostly end unused.
func (h *holding) wanted() int64 {
	demand := h.rate * h.lim.leased.ttl.Seconds()
	if demand < 0.5 {
		return 0
	}
	return min(h.lim.leased.most, int64(demand+2*math.Sqrt(demand)))
}

// forgo ends a charge that was begun but is not sent.
func (a ahead) forgo() {
	if a.of != nil {
		a.of.failed(a, nil)
	}
}

// withoutCharge answers a call that is decided without Redis, such as by a remembered
// refusal, and ends the charge that it had begun. Tokens that are left serve it; otherwise
// it gets that decision.
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

// failed ends a charge that failed. If its script may have run, the tokens that it gave back
// are not given back again, since Redis may have credited them.
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

// refusedAhead answers a call that Redis refused. Tokens that are left serve it, unless a pause
// or a delay is in force: then nothing is served from memory.
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

// patience is how long the call's script is retried.
func (q *question) patience() lua.Patience {
	if q.ahead.early {
		return lua.Impatient
	}
	return q.mode.Patience(q.caller)
}

// block is the input of the script that charges ahead.
func (q *question) block() LeaseIn {
	return LeaseIn{State: q.state, Pace: q.pace, Block: Block{
		Cost: q.cost, Most: q.ahead.most, Revision: q.lim.revision, Signature: q.lim.signature,
		Unused: q.ahead.of.lent.left, AtUS: q.ahead.of.lent.at,
	}}
}

// chargedAhead keeps the block that a call charged, and returns the answer to the call itself.
func (q *question) chargedAhead(out lua.Outcome[LeaseOut], err error) (answer, error) {
	if err != nil {
		q.ahead.of.failed(q.ahead, err)
		return answer{}, err
	}
	q.ahead.of.charged(q, out.Value)
	return answer{Value: Out{LimitAnswer: out.Value.LimitAnswer}, Sent: out.Sent}, nil
}

// charged ends a charge that was answered, and keeps its block. The block's validity counts
// from when the charge was sent, which is before Redis charged it.
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
	h.setTold(d.RatelimitResult, o, q.begun)
	h.in.sweep.add(h, now, h.lim.leased.ttl/2)
}

// setTold keeps the state of the limit as the charge returned it. Tokens that are held here
// count as used in it.
func (h *holding) setTold(r api.RatelimitResult, o LeaseOut, begun time.Duration) {
	r.Source, r.Replayed = coord.SourceLease, false
	h.told = told{
		result: r, reset: begun + time.Duration(o.ResetAfterUS)*time.Microsecond, resetUS: o.NowUS + o.ResetAfterUS,
	}
	if b := h.lim.bands[o.Band-1]; h.lim.algorithm.bursts && b.L > 0 {
		h.told.drainUS = float64(b.P) / float64(b.L)
	}
}

// lasts returns how long a block is valid from the sending of its charge on: the lease, or
// until its window ends, less 1 % and 2 ms as with any lease, since the clocks of pods drift.
func (t *leaseTerms) lasts(endsUS int64) time.Duration {
	d := t.ttl
	if endsUS > 0 {
		d = min(d, time.Duration(endsUS)*time.Microsecond)
	}
	return d - d/100 - 2*time.Millisecond
}
