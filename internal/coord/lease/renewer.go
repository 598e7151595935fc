package lease

import (
	"container/heap"
	"context"
	"math/bits"
	"math/rand/v2"
	"slices"
	"time"
)

// validity returns when a grant with this TTL, whose call was sent at that time, can no longer be
// relied on. It subtracts 1 % for clocks that run at different speeds and 2 ms for the precision of Redis's
// expiry, as Redlock does (https://redis.io/docs/latest/develop/use/patterns/distributed-locks/).
func validity(sent time.Time, ttl time.Duration) time.Time {
	return sent.Add(ttl - ttl/100 - 2*time.Millisecond)
}

// lossAt returns when a lease that was not renewed is reported lost: a little before its
// validity ends, since the report takes time too.
func (x *Lease) lossAt() time.Time {
	return x.validUntil.Add(-min(x.TTL/20, 50*time.Millisecond))
}

// over returns the reason of the loss when the validity of the lease ends.
func (x *Lease) over() string {
	switch {
	case x.Fixed:
		return ReasonExpired
	case x.Final:
		return ReasonMaxHold
	}
	return ReasonUnreachable
}

// renewAt returns when to renew a lease: a third of the TTL after the last grant, less a random part of up to
// a tenth of that third, so that leases which many sidecars acquired at once are not renewed at once.
func renewAt(sent time.Time, ttl time.Duration) time.Time {
	return sent.Add(ttl/3 - rand.N(ttl/30+1))
}

// attemptTime returns the time limit of one renewal. After a lost reply there is time for two more.
func attemptTime(ttl time.Duration) time.Duration { return ttl / 5 }

// retryDelay returns the time until the next try. It doubles with each failure in a row, up to a sixth of the TTL.
func retryDelay(ttl time.Duration, failures int) time.Duration {
	return min(ttl/30<<min(failures-1, 8), ttl/6)
}

// together is how much earlier than due a lease may be renewed to share a pipeline.
const together = 10 * time.Millisecond

// run is the renewer: it sleeps until the next lease is due. It runs renewals on other goroutines and never waits
// for Redis itself, so that it reports losses in time while a renewal hangs.
func (l *Leases) run() {
	timer := time.NewTimer(0)
	defer timer.Stop()
	for {
		batches, lost, wait := l.look(time.Now())
		for _, x := range lost {
			l.ReportLost(x, x.over())
		}
		for _, b := range batches {
			l.running.Go(func() { l.renew(b) })
		}
		var fire <-chan time.Time
		if wait >= 0 {
			timer.Reset(wait)
			fire = timer.C
		}
		select {
		case <-fire:
		case <-l.wake:
		case <-l.ctx.Done():
			return
		}
	}
}

// arm makes sure that the renewer runs at t or earlier. It needs l.mu.
func (l *Leases) arm(t time.Time) {
	if !l.armed.IsZero() && !t.Before(l.armed) {
		return
	}
	l.armed = t
	select {
	case l.wake <- struct{}{}:
	default: // woken already
	}
}

// batchKey groups renewals: one noun, and TTLs of one order of magnitude, so
// that the short patience of a short lease does not cut off long ones.
type batchKey struct {
	kind  Kind
	order int
}

// batch is a number of leases that are renewed in one pipeline.
type batch struct {
	kind   Kind
	leases []*Lease
	holds  []Hold
}

// look returns what is due: the renewals to start, the leases that are lost because their time is over,
// and how long to sleep after that (negative = until woken).
func (l *Leases) look(now time.Time) (batches []batch, lost []*Lease, wait time.Duration) {
	l.mu.Lock()
	defer l.mu.Unlock()
	groups := make(map[batchKey][]*Lease)
	for len(l.due) > 0 {
		x := l.due[0]
		// Only a first try may come early: a retry keeps its delay.
		early := !x.renewing && !x.Fixed && x.ambiguous == nil && x.failures == 0
		if x.next.After(now) && (!early || x.next.After(now.Add(together))) {
			break
		}
		switch {
		case x.ambiguous != nil:
			l.drop(x) // its TTL is over, so Redis does not hold it, whether or not it was granted
		case !now.Before(x.lossAt()):
			l.drop(x)
			lost = append(lost, x)
		default:
			x.renewing = true
			l.due.move(x, x.lossAt())
			k := batchKey{x.Kind, bits.Len64(uint64(x.TTL))}
			groups[k] = append(groups[k], x)
		}
	}
	for k, leases := range groups {
		for chunk := range slices.Chunk(leases, maxBatch) {
			b := batch{kind: k.kind, leases: chunk}
			for _, x := range chunk {
				b.holds = append(b.holds, x.Hold())
			}
			batches = append(batches, b)
		}
	}
	if len(l.due) == 0 {
		l.armed = time.Time{}
		return batches, lost, -1
	}
	l.armed = l.due[0].next
	return batches, lost, max(0, l.armed.Sub(now))
}

// renew runs one batch and applies the outcome to each lease.
func (l *Leases) renew(b batch) {
	patience := attemptTime(b.holds[0].TTL)
	for _, h := range b.holds {
		patience = min(patience, attemptTime(h.TTL))
	}
	ctx, cancel := context.WithTimeout(l.ctx, patience)
	defer cancel()
	results := b.kind.RenewHeld(ctx, b.holds)

	var lost []*Lease
	var reasons []string
	now := time.Now()
	// One random number for all, so that renewals that failed together are tried together again.
	spread := 0.8 + 0.4*rand.Float64()
	l.mu.Lock()
	for i, x := range b.leases {
		if l.bound[x.ID] != x {
			continue // released, lost or granted anew meanwhile
		}
		x.rest()
		switch r := results[i]; {
		case r.Err != nil:
			l.retry(x, now, spread)
		case r.Held:
			l.renewed(x, b.holds[i].TTL, r)
		default:
			l.drop(x)
			if x.Final && r.Reason == ReasonExpired {
				r.Reason = ReasonMaxHold
			}
			if !r.Moved {
				lost, reasons = append(lost, x), append(reasons, r.Reason)
			}
		}
	}
	l.mu.Unlock()
	for i, x := range lost {
		l.ReportLost(x, reasons[i])
	}
}

// renewed applies a renewal with this TTL. It does not shorten the validity: only a renewal by the owner may, and
// Extend resets the validity for that. It needs l.mu.
func (l *Leases) renewed(x *Lease, ttl time.Duration, r Renewal) {
	x.failures, x.Final = 0, r.Final
	if r.Final {
		ttl = r.Left
	}
	if v := validity(r.Sent, ttl); v.After(x.validUntil) {
		x.validUntil = v
	}
	next := earlier(renewAt(r.Sent, x.TTL), x.lossAt())
	if x.soon {
		x.soon, next = false, time.Now()
	}
	l.due.move(x, next)
	l.arm(next)
}

// retry schedules another renewal of a lease after a failure, before its validity ends. It
// needs l.mu.
func (l *Leases) retry(x *Lease, now time.Time, spread float64) {
	x.failures++
	next := earlier(now.Add(time.Duration(spread*float64(retryDelay(x.TTL, x.failures)))), x.lossAt())
	l.due.move(x, next)
	l.arm(next)
}

// Claim returns the lease of a token for a renewal by its owner, nil if no session of this sidecar holds it. It
// waits until no other renewal of the lease is under way: one that the renewer has sent with the old TTL would undo
// the owner's. Extend, Lose or Unclaim has to follow.
func (l *Leases) Claim(ctx context.Context, id ID) (*Lease, error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	for {
		x, free := l.claimFree(id)
		if free {
			return x, nil
		}
		if x.rested == nil {
			x.rested = make(chan struct{})
		}
		rested := x.rested
		l.mu.Unlock()
		var err error
		select {
		case <-rested:
		case <-ctx.Done():
			err = ctx.Err()
		}
		l.mu.Lock()
		if err != nil {
			return nil, err
		}
	}
}

// claimNow is Claim for callers that cannot wait. It returns false if another renewal of the lease
// is under way.
func (l *Leases) claimNow(id ID) (*Lease, bool) {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.claimFree(id)
}

// claimFree claims a lease, or returns it with false if it is being renewed. It needs l.mu.
func (l *Leases) claimFree(id ID) (x *Lease, free bool) {
	x = l.bound[id]
	switch {
	case x == nil, x.ambiguous != nil, x.Fixed:
		return x, true
	case x.renewing:
		return x, false
	}
	x.renewing = true
	l.due.move(x, x.lossAt())
	l.arm(x.next)
	return x, true
}

// Unclaim ends a renewal by the owner whose outcome is unknown.
func (l *Leases) Unclaim(x *Lease) {
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.claimed(x) {
		x.rest()
		l.retry(x, time.Now(), 1)
	}
}

// claimed reports whether a lease that Claim returned is still held. It needs l.mu.
func (l *Leases) claimed(x *Lease) bool {
	return x != nil && l.bound[x.ID] == x && x.ambiguous == nil && !x.Fixed
}

// rest marks the renewal of a lease as ended. It needs l.mu.
func (x *Lease) rest() {
	x.renewing = false
	if x.rested != nil {
		close(x.rested)
		x.rested = nil
	}
}

func earlier(a, b time.Time) time.Time {
	if a.Before(b) {
		return a
	}
	return b
}

// leaseHeap is ordered by next; see container/heap.
type leaseHeap []*Lease

func (h leaseHeap) Len() int           { return len(h) }
func (h leaseHeap) Less(i, j int) bool { return h[i].next.Before(h[j].next) }
func (h leaseHeap) Swap(i, j int) {
	h[i], h[j] = h[j], h[i]
	h[i].at, h[j].at = i, j
}

// Push implements heap.Interface.
func (h *leaseHeap) Push(x any) {
	l := x.(*Lease)
	l.at = len(*h)
	*h = append(*h, l)
}

// Pop implements heap.Interface.
func (h *leaseHeap) Pop() any {
	last := len(*h) - 1
	x := (*h)[last]
	(*h)[last] = nil
	*h = (*h)[:last]
	return x
}

func (h *leaseHeap) push(x *Lease)   { heap.Push(h, x) }
func (h *leaseHeap) remove(x *Lease) { heap.Remove(h, x.at) }

// move changes when the renewer looks at a lease in the heap.
func (h *leaseHeap) move(x *Lease, next time.Time) {
	x.next = next
	heap.Fix(h, x.at)
}
