package lease

import (
	"context"
	"time"

	"github.com/coxswain-sidecar/coxswain/internal/coord"
	"github.com/coxswain-sidecar/coxswain/internal/lua"
)

// The methods that acquire, renew or give back a lease of any noun, for the direct path and for calls
// on a goroutine of their own. Both ways run the same code before and after the script.

// Acquiring is a method that acquires a lease. A is the noun's own type of an acquisition: Open
// fills it in from a call, and Of returns the Acquisition within it.
type Acquiring[P, O, R, A any] struct {
	Open func(c coord.Caller, p *P, a *A) error
	Of   func(a *A) *Acquisition[O, R]
}

// acquiring is what a call keeps between its halves.
type acquiring[A any] struct {
	a   A
	run lua.Asked
}

// Then carries a call out without blocking its caller: done is called when the call is
// answered, before Then returns or later.
func (m Acquiring[P, O, R, A]) Then(ctx context.Context, c coord.Caller, p *P, done func(R, error)) {
	a := new(A)
	if err := m.Open(c, p, a); err != nil {
		var none R
		done(none, err)
		return
	}
	Acquire(ctx, m.Of(a), done)
}

// Direct puts the method on the direct path. A call that waits, in line or for replicas, gets a
// goroutine instead.
func (m Acquiring[P, O, R, A]) Direct() coord.Option {
	return coord.Direct(&coord.Halves[P, R, acquiring[A]]{
		Prepare: func(c coord.Caller, p *P, q *acquiring[A]) (prepared coord.Prepared, none R, err error) {
			prepared, err = m.prepare(c, p, q)
			return prepared, none, err
		},
		Asked: func(q *acquiring[A]) *lua.Asked { return &q.run },
		Answer: func(q *acquiring[A]) (R, coord.Rest[R], error) {
			r, rest := m.answer(q)
			return r, rest, nil
		},
		Forget: func(q *acquiring[A]) {
			var none A
			q.a = none
			q.run.Forget()
		},
	})
}

func (m Acquiring[P, O, R, A]) prepare(c coord.Caller, p *P, q *acquiring[A]) (coord.Prepared, error) {
	if err := m.Open(c, p, &q.a); err != nil {
		return coord.Known, err
	}
	a := m.Of(&q.a)
	if a.Wait > 0 || a.Replicas > 0 {
		return coord.Elsewhere, nil
	}
	if err := a.admit(); err != nil {
		return coord.Known, err
	}
	a.prepare(Place{}, &q.run)
	return coord.Asking, nil
}

func (m Acquiring[P, O, R, A]) answer(q *acquiring[A]) (R, coord.Rest[R]) {
	var none R
	a := m.Of(&q.a)
	if !q.run.Answered() {
		return none, a.finish(&q.run)
	}
	ctx := context.Background()
	t, more, err := a.Terms.Read(ctx, &q.run)
	if more || err != nil {
		return none, a.goOn(t, more, err)
	}
	r, rest := a.settle(ctx, t)
	if rest != nil {
		return none, a.decided(rest)
	}
	a.Terms.Decided(ctx, r, nil)
	return r, nil
}

// finish is the second half of a call whose script got no reply on the direct path.
func (a *Acquisition[O, R]) finish(run *lua.Asked) coord.Rest[R] {
	return func(ctx context.Context) (R, error) {
		t, err := a.read(ctx, Place{}, run)
		return a.end(ctx, t, "", err)
	}
}

// goOn is finish for a script that got a reply and has to be run again, or has failed.
func (a *Acquisition[O, R]) goOn(t Attempt[O], more bool, err error) coord.Rest[R] {
	return func(ctx context.Context) (R, error) {
		if more {
			t, err = a.ask(ctx, Place{})
		}
		return a.end(ctx, t, "", err)
	}
}

// decided runs the rest and passes its result to Terms.Decided.
func (a *Acquisition[O, R]) decided(rest coord.Rest[R]) coord.Rest[R] {
	return func(ctx context.Context) (R, error) {
		r, err := rest(ctx)
		a.Terms.Decided(ctx, r, err)
		return r, err
	}
}

// Giving is a method that gives a lease back, bound to any session. It has a deadline of its own: it goes
// on when its caller is gone. K is what its noun keeps of a call between the halves.
type Giving[P, I, F, R, K any] struct {
	// Verb is what the call does, for errors: release or commit.
	Verb   string
	Leases *Leases
	Runner *lua.Runner
	Script lua.Script[I, F]
	// Ask returns the id of the lease and the script's input. With an empty token no lease is given
	// back, and the script ends with its call.
	Ask func(c coord.Caller, p *P, k *K) (ID, coord.Question[I], error)
	// Answer makes the result from what the script found.
	Answer func(ctx context.Context, k *K, found lua.Outcome[F]) (R, coord.Rest[R])
}

// giving is what a call that gives a lease back keeps between its halves.
type giving[K any] struct {
	kept  K
	id    ID
	lease *Lease // as a session of this sidecar held it; nil = none did
}

// Halved makes the method for both ways.
func (m Giving[P, I, F, R, K]) Halved() coord.Halved[P, R] {
	return coord.Single[P, I, F, R, giving[K]]{
		Runner: m.Runner, Script: m.Script, Answer: m.answer,
		Ask: func(c coord.Caller, p *P, g *giving[K]) (q coord.Question[I], _ coord.Prepared, none R, err error) {
			if q, err = m.ask(c, p, g); err != nil {
				return q, coord.Known, none, err
			}
			return q, coord.Asking, none, nil
		},
		OwnTime: func(g *giving[K]) time.Duration {
			if g.id.Token == "" {
				return 0
			}
			return GiveBackTime
		},
	}.Halved()
}

func (m Giving[P, I, F, R, K]) ask(c coord.Caller, p *P, g *giving[K]) (q coord.Question[I], err error) {
	g.id, q, err = m.Ask(c, p, &g.kept)
	q.Patience = lua.Patient
	if err != nil || g.id.Token == "" {
		return q, err
	}
	// Forget comes before the script, so that nothing renews the lease or reports it lost while it is released.
	g.lease = m.Leases.Forget(g.id)
	if g.lease != nil && g.lease.Session != c.Session {
		m.Leases.ReportLost(g.lease, ReasonExpired) // another session released it
	}
	return q, nil
}

func (m Giving[P, I, F, R, K]) answer(ctx context.Context, g *giving[K], found lua.Outcome[F], err error) (r R, rest coord.Rest[R], _ error) {
	if err == nil {
		r, rest = m.Answer(ctx, &g.kept, found)
		return r, rest, nil
	}
	if x := g.lease; x != nil {
		// The lease is no longer renewed, but closing the session tries again to give it back.
		m.Leases.Ambiguous(&Lease{ID: x.ID, TTL: x.TTL, Session: x.Session, Kind: x.Kind}, err)
	}
	return r, nil, coord.Failed(g.id.Noun+" "+g.id.Name+": "+m.Verb, err)
}

// Renewing is a method by which an owner renews its lease, bound to any session.
type Renewing[P, I, O, R any] struct {
	Leases *Leases
	Runner *lua.Runner
	Script lua.Script[I, O]
	// Ask returns the id of the lease, its new TTL and the script's input.
	Ask func(p *P) (ID, time.Duration, I, error)
	// Found returns what became of the lease, from the script's output.
	Found func(O) Renewal
	// Result makes the result, from the TTL that was asked for and the script's output.
	Result func(ttl time.Duration, found Renewal, v O) R
}

// renewing is what a call keeps between its halves.
type renewing struct {
	id    ID
	ttl   time.Duration
	lease *Lease // claimed; nil = no session of this sidecar holds it
}

// Halved makes the method for both ways.
func (m Renewing[P, I, O, R]) Halved() coord.Halved[P, R] {
	s := coord.Single[P, I, O, R, renewing]{Runner: m.Runner, Script: m.Script}
	s.Answer = func(_ context.Context, k *renewing, out lua.Outcome[O], err error) (R, coord.Rest[R], error) {
		r, err := m.answer(k, out, err)
		return r, nil, err
	}
	s.Ask = func(_ coord.Caller, p *P, k *renewing) (q coord.Question[I], _ coord.Prepared, r R, err error) {
		if q, err = m.ask(p, k); err != nil {
			return q, coord.Known, r, err
		}
		// The lease is looked up before the script runs. A lease that is granted while it runs is another
		// one, which must not be dropped because of what the script found.
		var free bool
		if k.lease, free = m.Leases.claimNow(k.id); !free {
			return q, coord.Elsewhere, r, nil
		}
		return q, coord.Asking, r, nil
	}
	// Elsewhere waits until no other renewal of the lease is under way.
	s.Elsewhere = func(ctx context.Context, _ coord.Caller, p *P) (r R, err error) {
		k := &renewing{}
		q, err := m.ask(p, k)
		if err != nil {
			return r, err
		}
		if k.lease, err = m.Leases.Claim(ctx, k.id); err != nil {
			return r, coord.Failed(k.op(), err)
		}
		out, err := lua.RunAs(ctx, m.Runner, m.Script, q.In, q.StoredReply, q.Patience)
		return m.answer(k, out, err)
	}
	return s.Halved()
}

func (k *renewing) op() string { return k.id.Noun + " " + k.id.Name + ": renew" }

func (m Renewing[P, I, O, R]) ask(p *P, k *renewing) (q coord.Question[I], err error) {
	q.Patience = lua.Patient
	k.id, k.ttl, q.In, err = m.Ask(p)
	return q, err
}

func (m Renewing[P, I, O, R]) answer(k *renewing, out lua.Outcome[O], err error) (r R, _ error) {
	if err != nil {
		m.Leases.Unclaim(k.lease)
		return r, coord.Failed(k.op(), err)
	}
	found := m.Found(out.Value)
	found.Sent = out.Sent
	if found.Held {
		m.Leases.Extend(k.lease, k.ttl, found)
	} else {
		m.Leases.Lose(k.lease, found.Reason)
	}
	return m.Result(k.ttl, found, out.Value), nil
}
