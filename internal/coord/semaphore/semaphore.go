// Package semaphore gives out a bounded number of permits of one name.
//
// Its invariant: the permits that are held at one time are at most the limit that their
// callers give, whoever holds them and whatever ends.
package semaphore

import (
	"context"
	"time"

	"github.com/coxswain-sidecar/coxswain/client/api"
	"github.com/coxswain-sidecar/coxswain/internal/coord"
	"github.com/coxswain-sidecar/coxswain/internal/coord/lease"
	"github.com/coxswain-sidecar/coxswain/internal/lua"
)

// noun is the noun of a semaphore's leases, losses and metrics.
const noun = "semaphore"

// Semaphores let so many permits of a name be held at once. Each grant is a lease
// of its own, and what is free is the limit less what live leases hold: nothing is
// counted apart, so that nothing can be counted wrongly.
type Semaphores struct {
	runner *lua.Runner
	keys   keys
	leases *lease.Leases
	lines  *lease.Lines
}

// New makes the semaphore noun.
func New(r *lua.Runner, k coord.Keys, l *lease.Leases, n *lease.Lines) *Semaphores {
	return &Semaphores{runner: r, keys: keys{k}, leases: l, lines: n}
}

// Methods are those of the noun.
func (s *Semaphores) Methods() []coord.Method {
	byName := coord.Named(noun, "name")
	return []coord.Method{
		coord.OnParked(api.SemaphoreAcquire, s.AcquireThen, coord.Acquires, coord.Piped, byName),
		coord.On(api.SemaphoreRenew, s.Renew, byName),
		coord.On(api.SemaphoreRelease, s.Release, coord.Piped, byName),
		coord.On(api.SemaphoreGet, s.Get, byName),
	}
}

// Acquire takes permits. A token that holds some already gets the same grant
// again, however many are asked for now.
//
// A repeated request id answers what became of its grant: a live one is bound to
// the calling session, a dead one is not taken again.
func (s *Semaphores) Acquire(ctx context.Context, c coord.Caller, p *api.SemaphoreAcquireParams) (api.SemaphoreAcquireResult, error) {
	return coord.Await(func(done func(api.SemaphoreAcquireResult, error)) { s.AcquireThen(ctx, c, p, done) })
}

// semaphoreAcquisition is a call of Acquire.
type semaphoreAcquisition struct {
	lease.Acquisition[AcquireOut, api.SemaphoreAcquireResult]
	semaphores *Semaphores
	in         AcquireIn
}

// AcquireThen is Acquire for a caller that does not block: done is called when the call is
// answered, before AcquireThen returns or later.
func (s *Semaphores) AcquireThen(
	ctx context.Context, c coord.Caller, p *api.SemaphoreAcquireParams, done func(api.SemaphoreAcquireResult, error),
) {
	err := lease.CheckHeld(c, p.Bind, p.MaxHoldMS, p.Meta, noun)
	if err == nil && p.Permits > p.Limit {
		err = coord.Invalid("permits: %d are not to be had; ask for 1 to %d, which is the limit", p.Permits, p.Limit)
	}
	if err != nil {
		done(api.SemaphoreAcquireResult{}, err)
		return
	}
	x := lease.NewLease(c, noun, p.Name, p.Token, p.Bind, p.TTLMS, s)
	a := &semaphoreAcquisition{semaphores: s, in: s.input(c, p, x)}
	once := coord.Latch(a.in.Semaphore.Leases, c)
	a.Acquisition = lease.Acquisition[AcquireOut, api.SemaphoreAcquireResult]{
		Leases: s.leases, Lines: s.lines, Caller: c, Verb: "acquire", Lease: x, Made: p.Token == "",
		Line: a.in.LineKeys, Wait: coord.Millis(p.WaitMS),
		Ask: func(ctx context.Context, at lease.Place) (lease.Attempt[AcquireOut], error) {
			a.in.Waiter, a.in.BeatMS = at.Waiter, at.Beat.Milliseconds()
			return a.run(ctx, once, int(p.WaitReplicas))
		},
		Grant: func(ctx context.Context, t lease.Attempt[AcquireOut]) (api.SemaphoreAcquireResult, error) {
			if t.Acked < int(p.WaitReplicas) {
				a.TooFewReplicas(ctx)
				return api.SemaphoreAcquireResult{
					Reason: lease.ReasonReplicas, Free: t.Value.Free + p.Permits, RetryAfterMS: lease.PollEvery.Milliseconds(),
				}, nil
			}
			return a.granted(ctx, t.Outcome)
		},
		Refuse: func(t lease.Attempt[AcquireOut]) api.SemaphoreAcquireResult {
			return api.SemaphoreAcquireResult{Reason: lease.ReasonBusy, Free: t.Value.Free, RetryAfterMS: untilEnough(t.Value).Milliseconds()}
		},
		Replay: a.replayed,
		Waited: func(r *api.SemaphoreAcquireResult, ms int64) bool {
			r.WaitedMS = ms
			return r.Acquired
		},
	}
	lease.Acquire(ctx, &a.Acquisition, done)
}

func (s *Semaphores) input(c coord.Caller, p *api.SemaphoreAcquireParams, x *lease.Lease) AcquireIn {
	id := c.Identity()
	in := AcquireIn{
		Gone: s.keys.semaphoreGone(x.Name, x.Token), Token: x.Token, Limit: p.Limit, Permits: p.Permits,
		TTLMS: p.TTLMS, Session: x.SessionID(), Client: id.Client, Instance: id.Instance, Meta: p.Meta,
		MaxHoldMS: p.MaxHoldMS, Inboxes: s.keys.Inboxes(),
	}
	in.Semaphore, in.LineKeys = s.keys.semaphore(x.Name)
	return in
}

// run asks for the permits, in several runs of the script where many leases have ended:
// each run removes as many as it may.
func (a *semaphoreAcquisition) run(ctx context.Context, once lua.Latch, replicas int) (lease.Attempt[AcquireOut], error) {
	for {
		out, acked, err := lua.RunReplicated(ctx, a.semaphores.runner, AcquireScript, a.in, once, replicas, lease.ReplicaTime)
		if v := out.Value; err != nil || !v.More {
			return lease.Attempt[AcquireOut]{Outcome: out, Look: lease.Look{Served: v.Acquired || out.Replayed, First: v.First, Free: untilEnough(v)}, Acked: acked}, err
		}
	}
}

// untilEnough is when enough TTLs are over, rounded up to milliseconds, or when to ask
// again.
func untilEnough(out AcquireOut) time.Duration {
	if out.WaitUS == 0 {
		return lease.PollEvery
	}
	return coord.Millis((out.WaitUS + 999) / 1000)
}

// granted answers permits that were taken, and binds them to the session if asked to.
func (a *semaphoreAcquisition) granted(ctx context.Context, out lua.Outcome[AcquireOut]) (api.SemaphoreAcquireResult, error) {
	v, x := out.Value, a.Lease
	x.Fence, x.Final, x.Granted = v.Fence, v.Final, coord.Millis(v.TTLMS)
	if err := a.Held(ctx, out.Sent); err != nil {
		return api.SemaphoreAcquireResult{}, err
	}
	return api.SemaphoreAcquireResult{
		Acquired: true, Token: x.Token, Fence: coord.Fence(v.Fence), TTLMS: lease.LeftMS(v.TTLMS, out.Sent), Free: v.Free,
	}, nil
}

// replayed answers a request id whose grant was given before. The stored reply is
// only a memory, so that the grant itself is asked, by token and fence. A live one
// is bound to this session and its TTL restarts, in that one step, so that the
// give-back of the old session finds it moved. What is free is as of now too.
func (a *semaphoreAcquisition) replayed(ctx context.Context, was AcquireOut) (api.SemaphoreAcquireResult, error) {
	s, x := a.semaphores, a.Lease
	op := "semaphore " + x.Name + ": replay"
	ask := RenewIn{Semaphore: a.in.Semaphore, Gone: a.in.Gone, Token: x.Token, Fence: was.Fence}
	if x.Session != nil {
		ask.Session, ask.Move, ask.Client, ask.Instance, ask.TTLMS = a.in.Session, true, a.in.Client, a.in.Instance, a.in.TTLMS
	}
	now, err := s.look(ctx, x.Name)
	if err != nil {
		return api.SemaphoreAcquireResult{}, coord.Failed(op, err)
	}
	free := max(0, a.in.Limit-now.Held)
	found, err := lua.Run(ctx, s.runner, RenewScript, ask, lua.Latch{})
	if err != nil {
		if x.Session != nil {
			s.leases.Unsure(ctx, a.Caller, x, false, "", err)
		}
		return api.SemaphoreAcquireResult{}, coord.Failed(op, err)
	}
	v := found.Value
	if v.State != Held {
		return api.SemaphoreAcquireResult{Replayed: true, Reason: ended(v.State), Free: free}, nil
	}
	r, err := a.granted(ctx, lua.Outcome[AcquireOut]{Sent: found.Sent, Value: AcquireOut{
		Fence: v.Fence, TTLMS: v.TTLMS, Final: v.Final, Free: free,
	}})
	r.Replayed = err == nil
	return r, err
}

// ended is the reason for a token that holds nothing.
func ended(s State) string {
	if s == Released {
		return lease.ReasonReleased
	}
	return lease.ReasonExpired
}
