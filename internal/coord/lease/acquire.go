package lease

import (
	"context"
	"errors"
	"time"

	"github.com/coxswain-sidecar/coxswain/internal/coord"
	"github.com/coxswain-sidecar/coxswain/internal/lua"
	"github.com/coxswain-sidecar/coxswain/internal/redis"
)

// Acquisition is one call that acquires a lease of any noun. It asks once or waits in
// line, answers a repeated request, binds the lease to the caller's session if the call
// says so, and gives it back if the caller has gone. O is the output of the noun's
// script, R the result on the wire.
type Acquisition[O, R any] struct {
	Leases *Leases
	Lines  *Lines
	Caller coord.Caller
	// Verb is what the call does, for errors: acquire or dequeue.
	Verb string
	// Lease is the lease that the call asks for, as its session would hold it. If it has
	// no session, it ends at its TTL.
	Lease *Lease
	// Made: the token was made here, so that a caller that gets no answer cannot give
	// the lease back.
	Made bool
	Line LineKeys
	Wait time.Duration
	// doubt is the error of an attempt whose reply was lost, so that it may have acquired
	// the lease. A later attempt that is answered clears it.
	doubt error

	// Ask runs the noun's script once.
	Ask func(ctx context.Context, at Place) (Attempt[O], error)
	// Grant answers an attempt that was served, Refuse one that was not, and Replay
	// the stored reply of an earlier call with the same request id.
	Grant  func(ctx context.Context, a Attempt[O]) (R, error)
	Refuse func(a Attempt[O]) R
	Replay func(ctx context.Context, was O) (R, error)
	// Waited says in a result how long the call waited, and tells whether it was served.
	Waited func(r *R, ms int64) bool
}

// Attempt is one run of a noun's script.
type Attempt[O any] struct {
	lua.Outcome[O]
	Look
	// Acked is how many replicas have what the script wrote, if that was asked for.
	Acked int
}

// Acquire carries a call out. It returns when there is nothing to do but wait; done is
// called before, or later on another goroutine.
func Acquire[O, R any](ctx context.Context, a *Acquisition[O, R], done func(R, error)) {
	var none R
	op := a.Lease.Noun + " " + a.Lease.Name + ": " + a.Verb
	if err := a.Leases.Admit(op); err != nil {
		done(none, err)
		return
	}
	came := time.Now()
	ask := func(ctx context.Context, at Place) (Attempt[O], error) {
		t, err := a.Ask(ctx, at)
		a.doubt = inDoubt(a.doubt, err)
		return t, err
	}
	Stand(ctx, a.Lines, a.Line, a.Wait, ask, func(t Attempt[O], waiter string, err error) {
		r := none
		switch {
		case err != nil:
			if a.doubt != nil && !errors.Is(err, redis.ErrMaybeExecuted) {
				err = errors.Join(err, a.doubt)
			}
			a.Leases.Unsure(ctx, a.Caller, a.Lease, a.Made, waiter, err)
			err = coord.Failed(op, err)
		case t.Replayed:
			r, err = a.Replay(ctx, t.Value)
		case !t.Served:
			r = a.Refuse(t)
		default:
			r, err = a.Grant(ctx, t)
		}
		if a.Wait > 0 {
			waited := max(0, t.Sent.Sub(came))
			served := a.Waited(&r, waited.Milliseconds())
			a.Leases.Tel.Waited(ctx, a.Lease.Noun, WaitOutcome(served, err), time.Since(came))
		}
		done(r, err)
	})
}

// Held has the caller's session hold what was granted by a call sent at that time, if
// the lease is to be bound to it.
func (a *Acquisition[O, R]) Held(ctx context.Context, sent time.Time) error {
	if a.Lease.Session == nil {
		return nil
	}
	return a.Leases.Keep(ctx, a.Lease, sent)
}

// Heard is Held for nouns whose callers learn the token from the answer. If the call has
// ended, nobody can use a lease that is bound to its TTL: it is given back.
func (a *Acquisition[O, R]) Heard(ctx context.Context, sent time.Time) error {
	over := ctx.Err()
	if over == nil || a.Lease.Session != nil {
		return a.Held(ctx, sent)
	}
	x := a.Lease
	a.Leases.TakeBack(ctx, Hold{ID: x.ID, Session: x.Owner, TTL: x.TTL, Kind: x.Kind})
	return coord.Failed(x.Noun+" "+x.Name+": "+a.Verb, over)
}

// TooFewReplicas gives a grant back: fewer replicas have it than the call asked for.
func (a *Acquisition[O, R]) TooFewReplicas(ctx context.Context) {
	x := a.Lease
	a.Leases.Forget(x.ID)
	h := Hold{ID: x.ID, Session: x.Owner, Kind: x.Kind}
	if x.Session != nil {
		h.Session = x.Session.ID
	}
	a.Leases.TakeBack(ctx, h)
}

// inDoubt returns err if the attempt may have acquired the lease although it failed. An
// attempt that certainly did not says nothing about earlier ones: their doubt stays.
func inDoubt(earlier, err error) error {
	if err == nil || errors.Is(err, redis.ErrMaybeExecuted) {
		return err
	}
	return earlier
}

// ReplicaTime bounds the wait for replicas, which have a grant within a round
// trip or are away.
const ReplicaTime = time.Second
