package chaostest

import (
	"context"
	"errors"
	"slices"
	"time"

	"github.com/coxswain-sidecar/coxswain/client"
	"github.com/coxswain-sidecar/coxswain/client/api"
)

// The locks for which the workers compete. Owned and queued ones are bound to TTLs longer than any hold, so that only
// their owners end them. Session locks also end with their connection, and short ones also at their TTL.
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

// queued reports whether workers wait for a lock or semaphore of this name.
func queued(name string) bool {
	return slices.Contains(slices.Concat(queuedLocks, queuedSemaphores), name)
}

// The limits: bounded has those whose bound is checked, by key. counter refills so slowly that its usage at the end of a run
// is the sum of all costs that were taken.
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

// roles returns the tasks of the workers of one sidecar, one for each worker.
func (w *worker) roles() []func(context.Context) {
	return append([]func(context.Context){
		w.own(ownedLocks, 0), w.own(ownedLocks, 0), w.own(queuedLocks, 3000),
		w.hold(sessionLocks, sessionTTL), w.hold(sessionLocks, sessionTTL), w.hold(shortLocks, shortTTL), w.hold(shortLocks, shortTTL),
		w.admit, w.admit, w.count,
	}, rolesOfNouns(w)...)
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

// lockOp carries out one operation and records it.
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

// hold takes a lock for its session, at once or in the waiting line, and holds it, at times for longer than its TTL.
// Then it releases the lock, or closes the connection without a release.
func (w *worker) hold(names []string, ttl time.Duration) func(context.Context) {
	return func(ctx context.Context) {
		o := client.LockOptions{TTL: ttl}
		if w.chance(60) {
			o.Wait = 10 * time.Second
		}
		most := 30 * time.Millisecond
		// A short lock is at times held for longer than its TTL, so that it must be renewed.
		if ttl == shortTTL && w.chance(5) {
			most = 2 * ttl
		}
		w.keep(ctx, Hold{Name: w.one(names)}, o.Wait, most, func(ctx context.Context, s *session, h *Hold) (holding, error) {
			return s.LockAcquire(ctx, h.Name, o)
		})
	}
}

// holding is a lease that a client holds for its session.
type holding interface {
	Token() string
	Fence() uint64
	Context() context.Context
	Release(ctx context.Context) error
}

// keep acquires something for its session, and holds it for up to most.
func (w *worker) keep(ctx context.Context, h Hold, wait, most time.Duration, acquire func(context.Context, *session, *Hold) (holding, error)) {
	s, err := w.connect(ctx)
	if err != nil {
		return
	}
	h.Client, h.Call = s.name, w.history.Now()
	// A call without a deadline of its own gets the default one (5 s) in addition to its wait.
	held, err := acquire(context.WithoutCancel(ctx), s, &h)
	h.From = w.history.Now()
	if wait > 0 {
		w.waited(h, wait, err)
	}
	if err != nil {
		w.suspect(err)
		return
	}
	w.believe(ctx, s, held, h, most)
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

// believe records how long the holder considers its lease valid: until its loss is
// reported, the holder gives it back, or the holder is killed.
func (w *worker) believe(ctx context.Context, s *session, held holding, h Hold, most time.Duration) {
	lost := make(chan time.Duration, 1)
	stop := context.AfterFunc(held.Context(), func() { lost <- w.history.Now() })
	w.pause(most)
	h.Token, h.Fence = held.Token(), held.Fence()
	h.Until, h.End = w.history.Now(), "released"
	vanish := w.chance(10)
	if vanish {
		h.End = "vanished"
	}
	if !stop() {
		if t := <-lost; t < h.Until {
			h.Until, h.End = t, context.Cause(held.Context()).Error()
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
		w.letGo(ctx, held)
	}
}

// letGo releases a lease. A release that fails is repeated once. If that fails too, the lease ends with its session or
// at its TTL.
func (w *worker) letGo(ctx context.Context, held holding) {
	for range 2 {
		err := held.Release(ctx)
		if err == nil || errors.Is(err, client.ErrLost) || errors.Is(err, client.ErrClosed) {
			return
		}
		w.suspect(err)
	}
}

// admit calls a limit whose bound is checked.
func (w *worker) admit(ctx context.Context) {
	key := w.one(boundedKeys)
	w.charge(ctx, key, bounded[key], int64(1+w.rnd.IntN(2)))
}

// count charges a counting limit. With a request id it repeats the call until it is answered. Without one it makes the
// call once, and a possible error shows whether the call may have been carried out.
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
	// The error shows whether Redis was not reached, or may have carried out the call.
	var e *api.Error
	w.charged(c, err == nil || errors.As(err, &e) && e.Code == api.Unavailable && !e.MaybeExecuted())
}

func (w *worker) charged(c Charge, known bool) {
	c.Received = w.history.Now()
	c.Unknown = c.Unknown || !known
	w.history.add(func() { w.history.Charges = append(w.history.Charges, c) })
}

// take asks for a charge once. If a fail mode allowed the call, it is not known whether the bucket was charged.
func take(ctx context.Context, s *session, c *Charge, bands []api.Band) error {
	r, err := s.RatelimitAcquire(ctx, api.RatelimitParams{
		Algorithm: api.AlgorithmTokenBucket, Limits: bands, Key: c.Key, Cost: c.Cost,
	})
	c.Admitted = err == nil && r.Allowed && !r.Degraded
	c.Unknown = err == nil && r.Degraded
	return err
}
