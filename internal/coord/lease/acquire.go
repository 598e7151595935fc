package lease

import (
	"context"
	"errors"
	"time"

	"github.com/coxswain-sidecar/coxswain/internal/coord"
	"github.com/coxswain-sidecar/coxswain/internal/lua"
	"github.com/coxswain-sidecar/coxswain/internal/redis"
)

// Acquisition is one call that acquires a lease of any noun. It runs the noun's script once, or
// repeatedly while it waits in line. It answers a repeated request, binds the lease to the caller's
// session if the call asks for that, and gives the lease back if the caller is gone. O is the output
// of the noun's script, R the result on the wire.
type Acquisition[O, R any] struct {
	Leases *Leases
	Lines  *Lines
	Caller coord.Caller
	// Verb is what the call does, for errors: acquire or dequeue.
	Verb string
	// Lease is the lease that the call asks for, as its session would hold it. If it has
	// no session, it ends at its TTL.
	Lease *Lease
	// Made: the sidecar made the token. A caller that gets no answer does not have it then and
	// cannot release the lease.
	Made bool
	Line LineKeys
	Wait time.Duration
	// Replicas is how many replicas must have received a grant.
	Replicas int
	// LateGrants selects the grants that are given back because the call has ended when they arrive.
	LateGrants LateGrants
	// Terms are those of the call's noun.
	Terms Terms[O, R]
	// ambiguous is the error of an attempt whose reply was lost, so that it may have acquired
	// the lease. A later attempt that gets a reply clears it.
	ambiguous error
}

// Terms is what a noun implements for its calls that acquire a lease.
type Terms[O, R any] interface {
	// Ask prepares a run of the noun's script for a caller with that ticket, and Read reads
	// its outcome. If more is set, the script has to be run again. Neither blocks, except for
	// the run itself.
	Ask(at Place, run *lua.Asked)
	Read(ctx context.Context, run *lua.Asked) (a Attempt[O], more bool, err error)
	// Take copies what was granted into the lease.
	Take(x *Lease, granted O)
	// Granted makes the result of an attempt that was granted the lease. Refused makes that of an
	// attempt that was not, or whose grant reached too few replicas and was given back.
	Granted(ctx context.Context, a Attempt[O]) R
	Refused(a Attempt[O]) R
	// Replayed makes the result of a call whose request id has a stored reply, from that reply.
	Replayed(ctx context.Context, was O) (R, error)
	// Waited writes into a result how long the call waited, and reports whether it was served.
	Waited(r *R, ms int64) bool
	// Decided is called with the result or the error of each call whose script was run.
	Decided(ctx context.Context, r R, err error)
}

// Uncounted implements Decided for nouns that do not count how calls ended.
type Uncounted[R any] struct{}

// Decided implements Terms.
func (Uncounted[R]) Decided(context.Context, R, error) {}

// LateGrants selects the grants that are given back because their call ended before they arrived.
type LateGrants uint8

// The values of LateGrants.
const (
	// KeepLate: no grants, since the caller may have chosen the token and know it.
	KeepLate LateGrants = iota
	// FreeUnbound: grants that are bound to their TTL, since the caller gets the token only with
	// the answer. A grant that is bound to a session is given back when the session closes.
	FreeUnbound
	// FreeAll: also grants that are bound to a session, since the session may last long.
	FreeAll
)

// Attempt is one run of a noun's script.
type Attempt[O any] struct {
	lua.Outcome[O]
	Look
	// Acked is how many replicas have received what the script wrote, if the call asked for that.
	Acked int
}

// Acquire carries a call out. It returns as soon as the call has nothing to do but wait; done is
// called before it returns, or later on another goroutine.
func Acquire[O, R any](ctx context.Context, a *Acquisition[O, R], done func(R, error)) {
	if err := a.admit(); err != nil {
		var none R
		done(none, err)
		return
	}
	came := time.Now()
	WaitInLine(ctx, a.Lines, a.Line, a.Wait, a.ask, func(t Attempt[O], waiter string, err error) {
		r, err := a.end(ctx, t, waiter, err)
		if a.Wait > 0 {
			waited := max(0, t.Sent.Sub(came))
			served := a.Terms.Waited(&r, waited.Milliseconds())
			a.Leases.Tel.Waited(ctx, a.Lease.Noun, WaitOutcome(served, err), time.Since(came))
		}
		done(r, err)
	})
}

// op names the call in errors.
func (a *Acquisition[O, R]) op() string { return a.Lease.Noun + " " + a.Lease.Name + ": " + a.Verb }

// admit refuses the call while the sidecar drains.
func (a *Acquisition[O, R]) admit() error {
	if !a.Leases.draining() {
		return nil
	}
	return a.Leases.Admit(a.op())
}

// ask makes one attempt: it runs the noun's script, again for as long as Terms.Read asks for more.
func (a *Acquisition[O, R]) ask(ctx context.Context, at Place) (Attempt[O], error) {
	run := &lua.Asked{}
	a.prepare(at, run)
	return a.read(ctx, at, run)
}

// prepare is the first half of an attempt, and read the second.
func (a *Acquisition[O, R]) prepare(at Place, run *lua.Asked) {
	a.Terms.Ask(at, run)
	run.Replicas, run.Wait = a.Replicas, ReplicaTime
}

func (a *Acquisition[O, R]) read(ctx context.Context, at Place, run *lua.Asked) (Attempt[O], error) {
	for {
		t, more, err := a.Terms.Read(ctx, run)
		t.Acked = run.Acked
		if err == nil && more {
			if err = ctx.Err(); err == nil {
				run.Forget()
				a.prepare(at, run)
				continue
			}
		}
		a.ambiguous = ambiguousAfter(a.ambiguous, err)
		return t, err
	}
}

// end returns the result of a call after its last attempt. It may block: a repeated request runs another
// script, and a grant that nobody can use is given back.
func (a *Acquisition[O, R]) end(ctx context.Context, t Attempt[O], waiter string, err error) (R, error) {
	var r R
	if err != nil {
		if a.ambiguous != nil && !errors.Is(err, redis.ErrMaybeExecuted) {
			err = errors.Join(err, a.ambiguous)
		}
		a.Leases.Unsure(ctx, a.Caller, a.Lease, a.Made, waiter, err)
		err = coord.Failed(a.op(), err)
	} else {
		var rest coord.Rest[R]
		if r, rest = a.settle(ctx, t); rest != nil {
			r, err = rest(ctx)
		}
	}
	a.Terms.Decided(ctx, r, err)
	return r, err
}

// settle returns the result of an attempt that got a reply, or the Rest that makes the result
// and may block.
func (a *Acquisition[O, R]) settle(ctx context.Context, t Attempt[O]) (R, coord.Rest[R]) {
	var none R
	switch {
	case t.Replayed:
		return none, a.replay(t.Value)
	case !t.Served:
		return a.Terms.Refused(t), nil
	case t.Acked < a.Replicas:
		return none, a.scarce(t)
	}
	return a.take(ctx, t)
}

func (a *Acquisition[O, R]) replay(was O) coord.Rest[R] {
	return func(ctx context.Context) (R, error) { return a.Terms.Replayed(ctx, was) }
}

// take binds a grant to the caller's session if the call asks for that, and returns the result. If the grant
// cannot be used any more, it returns a Rest that gives it back.
func (a *Acquisition[O, R]) take(ctx context.Context, t Attempt[O]) (R, coord.Rest[R]) {
	var none R
	x := a.Lease
	a.Terms.Take(x, t.Value)
	if over := ctx.Err(); over != nil && (a.LateGrants == FreeAll || a.LateGrants == FreeUnbound && x.Session == nil) {
		return none, a.unheard(over)
	}
	if x.Session != nil && !a.Leases.Bind(x, t.Sent) {
		return none, a.unbound()
	}
	return a.Terms.Granted(ctx, t), nil
}

// Grant makes the result of an attempt that acquired again what an earlier call with the same request
// id had been granted.
func (a *Acquisition[O, R]) Grant(ctx context.Context, t Attempt[O]) (R, error) {
	r, rest := a.take(ctx, t)
	if rest != nil {
		return rest(ctx)
	}
	return r, nil
}

// unheard gives back a grant whose call has ended.
func (a *Acquisition[O, R]) unheard(over error) coord.Rest[R] {
	return func(ctx context.Context) (none R, err error) {
		x := a.Lease
		a.Leases.TakeBack(ctx, Hold{ID: x.ID, Session: x.Owner, TTL: x.TTL, Kind: x.Kind})
		return none, coord.Failed(a.op(), over)
	}
}

// unbound gives back a grant whose session has closed.
func (a *Acquisition[O, R]) unbound() coord.Rest[R] {
	return func(ctx context.Context) (none R, err error) { return none, a.Leases.Unbound(ctx, a.Lease) }
}

// scarce gives back a grant that reached fewer replicas than the call asked for.
func (a *Acquisition[O, R]) scarce(t Attempt[O]) coord.Rest[R] {
	return func(ctx context.Context) (R, error) {
		x := a.Lease
		a.Leases.Forget(x.ID)
		h := Hold{ID: x.ID, Session: x.Owner, Kind: x.Kind}
		if x.Session != nil {
			h.Session = x.Session.ID
		}
		a.Leases.TakeBack(ctx, h)
		return a.Terms.Refused(t), nil
	}
}

// ambiguousAfter returns the error that leaves it open whether the call acquired the lease, after an attempt that ended
// with err. An attempt without an error clears it. An attempt that may have been executed although it failed sets it.
// An attempt that was certainly not executed leaves the error of earlier attempts unchanged.
func ambiguousAfter(earlier, err error) error {
	if err == nil || errors.Is(err, redis.ErrMaybeExecuted) {
		return err
	}
	return earlier
}

// ReplicaTime bounds the wait for replicas. A replica that is connected receives a grant within
// a round trip.
const ReplicaTime = time.Second
