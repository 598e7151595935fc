package coord

import (
	"context"
	"time"

	"github.com/coxswain-sidecar/coxswain/client/api"
	"github.com/coxswain-sidecar/coxswain/internal/lua"
)

// nounSemaphore is the noun of a semaphore's leases, losses and metrics.
const nounSemaphore = "semaphore"

// Semaphores let so many permits of a name be held at once. Each grant is a lease
// of its own, and what is free is the limit less what live leases hold: nothing is
// counted apart, so that nothing can be counted wrongly.
type Semaphores struct {
	runner *lua.Runner
	keys   semaphoreKeys
	leases *Leases
	lines  *Lines
}

// NewSemaphores makes the semaphore noun.
func NewSemaphores(r *lua.Runner, k Keys, l *Leases, n *Lines) *Semaphores {
	return &Semaphores{runner: r, keys: semaphoreKeys{k}, leases: l, lines: n}
}

// Methods are those of the noun.
func (s *Semaphores) Methods() []Method {
	byName := Named(nounSemaphore, "name")
	return []Method{
		OnParked(api.SemaphoreAcquire, s.AcquireThen, Acquires, Piped, byName),
		On(api.SemaphoreRenew, s.Renew, byName),
		On(api.SemaphoreRelease, s.Release, Piped, byName),
		On(api.SemaphoreGet, s.Get, byName),
	}
}

// Acquire takes permits. A token that holds some already gets the same grant
// again, however many are asked for now.
//
// A repeated request id answers what became of its grant: a live one is bound to
// the calling session, a dead one is not taken again.
func (s *Semaphores) Acquire(ctx context.Context, c Caller, p *api.SemaphoreAcquireParams) (api.SemaphoreAcquireResult, error) {
	return Await(func(done func(api.SemaphoreAcquireResult, error)) { s.AcquireThen(ctx, c, p, done) })
}

// semaphoreAcquisition is a call of Acquire.
type semaphoreAcquisition struct {
	acquisition[lua.SemaphoreAcquireOut, api.SemaphoreAcquireResult]
	semaphores *Semaphores
	in         lua.SemaphoreAcquireIn
}

// AcquireThen is Acquire as that of Locks.
func (s *Semaphores) AcquireThen(
	ctx context.Context, c Caller, p *api.SemaphoreAcquireParams, done func(api.SemaphoreAcquireResult, error),
) {
	err := checkHeld(c, p.Bind, p.MaxHoldMS, p.Meta, nounSemaphore)
	if err == nil && p.Permits > p.Limit {
		err = invalid("permits: %d are not to be had; ask for 1 to %d, which is the limit", p.Permits, p.Limit)
	}
	if err != nil {
		done(api.SemaphoreAcquireResult{}, err)
		return
	}
	x := newLease(c, nounSemaphore, p.Name, p.Token, p.Bind, p.TTLMS, s)
	a := &semaphoreAcquisition{semaphores: s, in: s.input(c, p, x)}
	once := Latch(a.in.Semaphore.Leases, c)
	a.acquisition = acquisition[lua.SemaphoreAcquireOut, api.SemaphoreAcquireResult]{
		leases: s.leases, lines: s.lines, caller: c, verb: "acquire", lease: x, made: p.Token == "",
		line: a.in.LineKeys, wait: Millis(p.WaitMS),
		ask: func(ctx context.Context, at place) (attempt[lua.SemaphoreAcquireOut], error) {
			a.in.Waiter, a.in.BeatMS = at.waiter, at.beat.Milliseconds()
			return a.run(ctx, once, int(p.WaitReplicas))
		},
		grant: func(ctx context.Context, t attempt[lua.SemaphoreAcquireOut]) (api.SemaphoreAcquireResult, error) {
			if t.acked < int(p.WaitReplicas) {
				a.tooFewReplicas(ctx)
				return api.SemaphoreAcquireResult{
					Reason: ReasonReplicas, Free: t.Value.Free + p.Permits, RetryAfterMS: pollEvery.Milliseconds(),
				}, nil
			}
			return a.granted(ctx, t.Outcome)
		},
		refuse: func(t attempt[lua.SemaphoreAcquireOut]) api.SemaphoreAcquireResult {
			return api.SemaphoreAcquireResult{Reason: ReasonBusy, Free: t.Value.Free, RetryAfterMS: untilEnough(t.Value).Milliseconds()}
		},
		replay: a.replayed,
		waited: func(r *api.SemaphoreAcquireResult, ms int64) bool {
			r.WaitedMS = ms
			return r.Acquired
		},
	}
	acquire(ctx, &a.acquisition, done)
}

func (s *Semaphores) input(c Caller, p *api.SemaphoreAcquireParams, x *lease) lua.SemaphoreAcquireIn {
	id := c.identity()
	in := lua.SemaphoreAcquireIn{
		Gone: s.keys.semaphoreGone(x.name, x.token), Token: x.token, Limit: p.Limit, Permits: p.Permits,
		TTLMS: p.TTLMS, Session: x.sessionID(), Client: id.Client, Instance: id.Instance, Meta: p.Meta,
		MaxHoldMS: p.MaxHoldMS, Inboxes: s.keys.inboxes(),
	}
	in.Semaphore, in.LineKeys = s.keys.semaphore(x.name)
	return in
}

// run asks for the permits, in several runs of the script where many leases have ended:
// each run removes as many as it may.
func (a *semaphoreAcquisition) run(ctx context.Context, once lua.Latch, replicas int) (attempt[lua.SemaphoreAcquireOut], error) {
	for {
		out, acked, err := lua.RunReplicated(ctx, a.semaphores.runner, lua.SemaphoreAcquire, a.in, once, replicas, replicaTime)
		if v := out.Value; err != nil || !v.More {
			return attempt[lua.SemaphoreAcquireOut]{out, look{v.Acquired || out.Replayed, v.First, untilEnough(v)}, acked}, err
		}
	}
}

// untilEnough is when enough TTLs are over, rounded up to milliseconds, or when to ask
// again.
func untilEnough(out lua.SemaphoreAcquireOut) time.Duration {
	if out.WaitUS == 0 {
		return pollEvery
	}
	return Millis((out.WaitUS + 999) / 1000)
}

// granted answers permits that were taken, and binds them to the session if asked to.
func (a *semaphoreAcquisition) granted(ctx context.Context, out lua.Outcome[lua.SemaphoreAcquireOut]) (api.SemaphoreAcquireResult, error) {
	v, x := out.Value, a.lease
	x.fence, x.final, x.granted = v.Fence, v.Final, Millis(v.TTLMS)
	if err := a.held(ctx, out.Sent); err != nil {
		return api.SemaphoreAcquireResult{}, err
	}
	return api.SemaphoreAcquireResult{
		Acquired: true, Token: x.token, Fence: Fence(v.Fence), TTLMS: leftMS(v.TTLMS, out.Sent), Free: v.Free,
	}, nil
}

// replayed answers a request id whose grant was given before. The stored reply is
// only a memory, so that the grant itself is asked, by token and fence. A live one
// is bound to this session and its TTL restarts, in that one step, so that the
// give-back of the old session finds it moved. What is free is as of now too.
func (a *semaphoreAcquisition) replayed(ctx context.Context, was lua.SemaphoreAcquireOut) (api.SemaphoreAcquireResult, error) {
	s, x := a.semaphores, a.lease
	op := "semaphore " + x.name + ": replay"
	ask := lua.SemaphoreRenewIn{Semaphore: a.in.Semaphore, Gone: a.in.Gone, Token: x.token, Fence: was.Fence}
	if x.session != nil {
		ask.Session, ask.Move, ask.Client, ask.Instance, ask.TTLMS = a.in.Session, true, a.in.Client, a.in.Instance, a.in.TTLMS
	}
	now, err := s.look(ctx, x.name)
	if err != nil {
		return api.SemaphoreAcquireResult{}, Failed(op, err)
	}
	free := max(0, a.in.Limit-now.Held)
	found, err := lua.Run(ctx, s.runner, lua.SemaphoreRenew, ask, lua.Latch{})
	if err != nil {
		if x.session != nil {
			s.leases.unsure(ctx, a.caller, x, false, "", err)
		}
		return api.SemaphoreAcquireResult{}, Failed(op, err)
	}
	v := found.Value
	if v.State != lua.SemaphoreHeld {
		return api.SemaphoreAcquireResult{Replayed: true, Reason: ended(v.State), Free: free}, nil
	}
	r, err := a.granted(ctx, lua.Outcome[lua.SemaphoreAcquireOut]{Sent: found.Sent, Value: lua.SemaphoreAcquireOut{
		Fence: v.Fence, TTLMS: v.TTLMS, Final: v.Final, Free: free,
	}})
	r.Replayed = err == nil
	return r, err
}

// ended is the reason for a token that holds nothing.
func ended(s lua.SemaphoreState) string {
	if s == lua.SemaphoreReleased {
		return ReasonReleased
	}
	return ReasonExpired
}
