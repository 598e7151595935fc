package chaostest

import (
	"context"
	"errors"
	"time"

	"github.com/coxswain-sidecar/coxswain/client"
	"github.com/coxswain-sidecar/coxswain/client/api"
)

// The locks that are fought over. Owned and queued ones are bound to TTLs longer
// than any hold, so that nothing but their owners ends them; those of sessions
// end with their connection too, and the short ones by time.
var (
	ownedLocks   = []string{"owned/a", "owned/b", "owned/c"}
	queuedLocks  = []string{"queued/a", "queued/b"}
	sessionLocks = []string{"session/a", "session/b"}
	shortLocks   = []string{"short/a", "short/b"}
)

const (
	ownedTTL   = 2 * time.Minute
	sessionTTL = 10 * time.Second
	shortTTL   = 3 * time.Second
)

// queued reports whether a lock of this name is waited for.
func queued(name string) bool { return name == queuedLocks[0] || name == queuedLocks[1] }

// The limits: those of which the bound is checked, by key, and one that gives
// nothing back within a run, so that it counts what was taken.
var (
	bounded = map[string][]api.Band{
		"one band":  {{Limit: 30, PeriodMS: 1000, Burst: 15}},
		"two bands": {{Limit: 20, PeriodMS: 1000}, {Limit: 150, PeriodMS: 10_000}},
	}
	boundedKeys = []string{"one band", "two bands"}
	counter     = []api.Band{{Limit: 100_000, PeriodMS: 366 * 24 * 3600 * 1000}}
	countedKeys = []string{countedWithID, countedWithoutID}
)

const (
	countedWithID    = "counted, with request ids"
	countedWithoutID = "counted, without request ids"
)

// role is what the nth worker of a sidecar does.
func (w *worker) role(n int) func(context.Context) {
	roles := []func(context.Context){
		w.own(ownedLocks, 0), w.own(ownedLocks, 0), w.own(queuedLocks, 3000),
		w.hold(sessionLocks, sessionTTL), w.hold(sessionLocks, sessionTTL), w.hold(shortLocks, shortTTL), w.hold(shortLocks, shortTTL),
		w.admit, w.admit, w.count,
	}
	return roles[n%len(roles)]
}

// own takes, renews and releases a lock by its token.
func (w *worker) own(names []string, waitMS int64) func(context.Context) {
	return func(ctx context.Context) {
		name, token := w.one(names), w.token()
		wait := waitMS
		if w.chance(30) {
			wait = 0
		}
		if w.acquire(ctx, name, token, wait) != Acquired {
			return
		}
		w.pause(15 * time.Millisecond)
		if w.chance(30) {
			w.acquire(ctx, name, token, 0)
		}
		if w.chance(30) {
			w.renew(ctx, name, token)
		}
		w.release(ctx, name, token)
	}
}

// lockOp carries one operation out and notes it.
func (w *worker) lockOp(ctx context.Context, o LockOp, call func(context.Context, *session, *LockOp) error) LockOp {
	o.Call = w.history.Now()
	by, known := w.settle(ctx, func(ctx context.Context, s *session) error { return call(ctx, s, &o) })
	o.Client, o.Return = by, w.history.Now()
	if !known {
		o.Outcome, o.Return, o.Fence = Unknown, Never, 0
	}
	w.history.add(func() { w.history.Ops = append(w.history.Ops, o) })
	return o
}

func (w *worker) acquire(ctx context.Context, name, token string, waitMS int64) Outcome {
	p := api.LockAcquireParams{Name: name, Token: token, TTLMS: ownedTTL.Milliseconds(), WaitMS: waitMS, Bind: api.BindTTL}
	return w.lockOp(ctx, LockOp{Kind: Acquire, Name: name, Token: token}, func(ctx context.Context, s *session, o *LockOp) error {
		r, err := client.Call(ctx, s.Client, api.LockAcquire, p)
		switch {
		case err != nil:
		case r.Acquired:
			o.Outcome, o.Fence = Acquired, fence(r.Fence)
		case r.Replayed:
			o.Outcome = Gone
		default:
			o.Outcome = Busy
		}
		return err
	}).Outcome
}

func (w *worker) renew(ctx context.Context, name, token string) {
	p := api.LockRenewParams{Name: name, Token: token, TTLMS: ownedTTL.Milliseconds()}
	w.lockOp(ctx, LockOp{Kind: Renew, Name: name, Token: token}, func(ctx context.Context, s *session, o *LockOp) error {
		r, err := client.Call(ctx, s.Client, api.LockRenew, p)
		o.Outcome, o.Fence = outcome(r.Reason), fence(r.Fence)
		return err
	})
}

func (w *worker) release(ctx context.Context, name, token string) {
	p := api.LockReleaseParams{Name: name, Token: token}
	w.lockOp(ctx, LockOp{Kind: Release, Name: name, Token: token}, func(ctx context.Context, s *session, o *LockOp) error {
		r, err := client.Call(ctx, s.Client, api.LockRelease, p)
		o.Outcome = outcome(r.Reason)
		return err
	})
}

// hold takes a lock for its session, at once or in line, holds it, at times
// for longer than its TTL, and releases it, or vanishes with it.
func (w *worker) hold(names []string, ttl time.Duration) func(context.Context) {
	return func(ctx context.Context) {
		s, err := w.connect(ctx)
		if err != nil {
			return
		}
		o := client.LockOptions{TTL: ttl}
		if w.chance(60) {
			o.Wait = 10 * time.Second
		}
		h := Hold{Client: s.name, Name: w.one(names), Call: w.history.Now()}
		// Without a deadline of its own a call has 5 s beside its wait.
		lk, err := s.LockAcquire(context.WithoutCancel(ctx), h.Name, o)
		h.From = w.history.Now()
		if o.Wait > 0 {
			w.waited(h, o.Wait, err)
		}
		if err != nil {
			w.suspect(err)
			return
		}
		// A short one is at times held for longer than it lives without renewal.
		if ttl == shortTTL && w.chance(5) {
			w.believe(ctx, s, lk, h, 2*ttl)
		} else {
			w.believe(ctx, s, lk, h, 30*time.Millisecond)
		}
	}
}

func (w *worker) waited(h Hold, wait time.Duration, err error) {
	x := Wait{
		Client: h.Client, Name: h.Name, Call: h.Call, Return: h.From, Outcome: Acquired,
		Limit: wait + api.DefaultDeadlineMS*time.Millisecond,
	}
	switch {
	case errors.Is(err, client.ErrBusy):
		x.Outcome = Busy
	case err != nil:
		x.Outcome = Unknown
	}
	w.history.add(func() { w.history.Waits = append(w.history.Waits, x) })
}

// believe notes how long the holder takes the lock for its own: until it hears
// that it is not, gives it back, or is killed.
func (w *worker) believe(ctx context.Context, s *session, lk *client.Lock, h Hold, most time.Duration) {
	lost := make(chan time.Duration, 1)
	stop := context.AfterFunc(lk.Context(), func() { lost <- w.history.Now() })
	w.pause(most)
	h.Token, h.Fence = lk.Token(), lk.Fence()
	h.Until, h.End = w.history.Now(), "released"
	vanish := w.chance(10)
	if vanish {
		h.End = "vanished"
	}
	if !stop() {
		if t := <-lost; t < h.Until {
			h.Until, h.End = t, context.Cause(lk.Context()).Error()
		}
	}
	if t := s.ended(); t < h.Until {
		h.Until, h.End = t, "killed"
	}
	w.history.add(func() { w.history.Holds = append(w.history.Holds, h) })
	switch {
	case s.ended() < Never:
	case vanish:
		w.kill()
	default:
		w.letGo(ctx, lk)
	}
}

// letGo releases a lock. A release that fails is repeated once; what is left is
// the session's to give back, or the TTL's.
func (w *worker) letGo(ctx context.Context, lk *client.Lock) {
	for range 2 {
		err := lk.Release(ctx)
		if err == nil || errors.Is(err, client.ErrLost) || errors.Is(err, client.ErrClosed) {
			return
		}
		w.suspect(err)
	}
}

// admit asks a limit whose bound is checked.
func (w *worker) admit(ctx context.Context) {
	key := w.one(boundedKeys)
	w.charge(ctx, key, bounded[key], int64(1+w.rnd.IntN(2)))
}

// count takes from a limit that counts: under a request id until the answer is
// known, or once without an id, with an error that says what is not known.
func (w *worker) count(ctx context.Context) {
	cost := int64(1 + w.rnd.IntN(3))
	if w.chance(50) {
		w.charge(client.WithRequestID(ctx, ""), countedWithoutID, counter, cost)
		return
	}
	c := Charge{Key: countedWithID, Cost: cost, Sent: w.history.Now()}
	_, known := w.settle(ctx, func(ctx context.Context, s *session) error { return take(ctx, s, &c, counter) })
	w.charged(c, known)
}

func (w *worker) charge(ctx context.Context, key string, bands []api.Band, cost int64) {
	s, err := w.connect(ctx)
	if err != nil {
		return
	}
	c := Charge{Key: key, Cost: cost, Sent: w.history.Now()}
	err = take(context.WithoutCancel(ctx), s, &c, bands)
	if err != nil {
		w.suspect(err)
	}
	// Redis was not reached, or did not answer: the error says which.
	var e *api.Error
	w.charged(c, err == nil || errors.As(err, &e) && e.Code == api.Unavailable && !e.MaybeExecuted())
}

func (w *worker) charged(c Charge, known bool) {
	c.Received = w.history.Now()
	c.Unknown = c.Unknown || !known
	w.history.add(func() { w.history.Charges = append(w.history.Charges, c) })
}

// take asks for a charge once. What a fail mode allowed was not taken from the
// bucket, or nobody knows.
func take(ctx context.Context, s *session, c *Charge, bands []api.Band) error {
	r, err := s.RatelimitAcquire(ctx, api.RatelimitParams{
		Algorithm: api.AlgorithmTokenBucket, Limits: bands, Key: c.Key, Cost: c.Cost,
	})
	c.Admitted = err == nil && r.Allowed && !r.Degraded
	c.Unknown = err == nil && r.Degraded
	return err
}
