package coord

import (
	"context"
	"errors"
	"time"

	"github.com/coxswain-sidecar/coxswain/internal/lua"
	"github.com/coxswain-sidecar/coxswain/internal/redis"
)

// acquisition is one call that acquires a lease of any noun. It asks once or waits in
// line, answers a repeated request, binds the lease to the caller's session if the call
// says so, and gives it back if the caller has gone. O is the output of the noun's
// script, R the result on the wire.
type acquisition[O, R any] struct {
	leases *Leases
	lines  *Lines
	caller Caller
	// verb is what the call does, for errors: acquire or dequeue.
	verb string
	// lease is the lease that the call asks for, as its session would hold it. If it has
	// no session, it ends at its TTL.
	lease *lease
	// made: the token was made here, so that a caller that gets no answer cannot give
	// the lease back.
	made bool
	line lua.LineKeys
	wait time.Duration
	// doubt is the error of an attempt whose reply was lost, so that it may have acquired
	// the lease. A later attempt that is answered clears it.
	doubt error

	// ask runs the noun's script once.
	ask func(ctx context.Context, at place) (attempt[O], error)
	// grant answers an attempt that was served, refuse one that was not, and replay
	// the stored reply of an earlier call with the same request id.
	grant  func(ctx context.Context, a attempt[O]) (R, error)
	refuse func(a attempt[O]) R
	replay func(ctx context.Context, was O) (R, error)
	// waited says in a result how long the call waited, and tells whether it was served.
	waited func(r *R, ms int64) bool
}

// attempt is one run of a noun's script.
type attempt[O any] struct {
	lua.Outcome[O]
	look
	// acked is how many replicas have what the script wrote, if that was asked for.
	acked int
}

// acquire carries a call out. It returns when there is nothing to do but wait; done is
// called before, or later on another goroutine.
func acquire[O, R any](ctx context.Context, a *acquisition[O, R], done func(R, error)) {
	var none R
	op := a.lease.noun + " " + a.lease.name + ": " + a.verb
	if err := a.leases.admit(op); err != nil {
		done(none, err)
		return
	}
	came := time.Now()
	ask := func(ctx context.Context, at place) (attempt[O], error) {
		t, err := a.ask(ctx, at)
		a.doubt = inDoubt(a.doubt, err)
		return t, err
	}
	stand(ctx, a.lines, a.line, a.wait, ask, func(t attempt[O], waiter string, err error) {
		r := none
		switch {
		case err != nil:
			if a.doubt != nil && !errors.Is(err, redis.ErrMaybeExecuted) {
				err = errors.Join(err, a.doubt)
			}
			a.leases.unsure(ctx, a.caller, a.lease, a.made, waiter, err)
			err = Failed(op, err)
		case t.Replayed:
			r, err = a.replay(ctx, t.Value)
		case !t.served:
			r = a.refuse(t)
		default:
			r, err = a.grant(ctx, t)
		}
		if a.wait > 0 {
			waited := max(0, t.Sent.Sub(came))
			served := a.waited(&r, waited.Milliseconds())
			a.leases.tel.Waited(ctx, a.lease.noun, waitOutcome(served, err), time.Since(came))
		}
		done(r, err)
	})
}

// held has the caller's session hold what was granted by a call sent at that time, if
// the lease is to be bound to it.
func (a *acquisition[O, R]) held(ctx context.Context, sent time.Time) error {
	if a.lease.session == nil {
		return nil
	}
	return a.leases.keep(ctx, a.lease, sent)
}

// heard is held for nouns whose callers learn the token from the answer. If the call has
// ended, nobody can use a lease that is bound to its TTL: it is given back.
func (a *acquisition[O, R]) heard(ctx context.Context, sent time.Time) error {
	over := ctx.Err()
	if over == nil || a.lease.session != nil {
		return a.held(ctx, sent)
	}
	x := a.lease
	a.leases.takeBack(ctx, hold{leaseID: x.leaseID, session: x.owner, ttl: x.ttl, kind: x.kind})
	return Failed(x.noun+" "+x.name+": "+a.verb, over)
}

// tooFewReplicas gives a grant back: fewer replicas have it than the call asked for.
func (a *acquisition[O, R]) tooFewReplicas(ctx context.Context) {
	x := a.lease
	a.leases.forget(x.leaseID)
	h := hold{leaseID: x.leaseID, session: x.owner, kind: x.kind}
	if x.session != nil {
		h.session = x.session.ID
	}
	a.leases.takeBack(ctx, h)
}

// inDoubt returns err if the attempt may have acquired the lease although it failed. An
// attempt that certainly did not says nothing about earlier ones: their doubt stays.
func inDoubt(earlier, err error) error {
	if err == nil || errors.Is(err, redis.ErrMaybeExecuted) {
		return err
	}
	return earlier
}

// replicaTime bounds the wait for replicas, which have a grant within a round
// trip or are away.
const replicaTime = time.Second
