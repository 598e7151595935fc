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
	keys   Keys
	leases *Leases
	lines  *Lines
}

// NewSemaphores makes the semaphore noun.
func NewSemaphores(r *lua.Runner, k Keys, l *Leases, n *Lines) *Semaphores {
	return &Semaphores{runner: r, keys: k, leases: l, lines: n}
}

// SemaphoreRequest asks for permits, in the way in which one asks for a lock.
type SemaphoreRequest struct {
	LockRequest
	// Limit is how many permits there are, by this caller's word.
	Limit int64
	// Permits is how many are taken, all or none.
	Permits int64
}

// SemaphoreGrant is a grant, or what is in the way.
type SemaphoreGrant struct {
	Acquired bool
	Token    string
	Fence    int64
	// TTL is what the grant has left at least.
	TTL time.Duration
	// Free is how many permits of the limit are free after the call.
	Free int64
	// RetryAfter is 0 when acquired, else when enough TTLs are over unless they are
	// renewed, rounded up, or when to ask again while others stand in line.
	RetryAfter time.Duration
	// Waited is from when the call came to when the try that decided was sent.
	Waited   time.Duration
	Replayed bool
	// Reason is busy, replicas, released or expired when it is not acquired.
	Reason string
}

func (r SemaphoreRequest) check(c Caller) error {
	if err := r.LockRequest.check(c, nounSemaphore); err != nil {
		return err
	}
	switch {
	case r.Limit < 1 || r.Limit > api.MaxSemaphoreLimit:
		return invalid("limit: %d is out of range; use 1 to %d", r.Limit, api.MaxSemaphoreLimit)
	case r.Permits < 1 || r.Permits > r.Limit:
		return invalid("permits: %d are not to be had; ask for 1 to %d, which is the limit", r.Permits, r.Limit)
	}
	return nil
}

// Acquire takes permits. A token that holds some already gets the same grant
// again, however many are asked for now.
//
// A repeated request id answers what became of its grant: a live one is bound to
// the calling session, a dead one is not taken again.
func (s *Semaphores) Acquire(ctx context.Context, c Caller, r SemaphoreRequest) (SemaphoreGrant, error) {
	return Await(func(done func(SemaphoreGrant, error)) { s.AcquireThen(ctx, c, r, done) })
}

// AcquireThen is Acquire as that of Locks.
func (s *Semaphores) AcquireThen(ctx context.Context, c Caller, r SemaphoreRequest, done func(SemaphoreGrant, error)) {
	err := r.check(c)
	if err == nil {
		err = s.leases.admit("semaphore " + r.Name + ": acquire")
	}
	if err != nil {
		done(SemaphoreGrant{}, err)
		return
	}
	came := time.Now()
	s.acquire(ctx, c, r, func(g SemaphoreGrant, sent time.Time, err error) {
		if r.Wait > 0 {
			g.Waited = s.leases.waited(ctx, nounSemaphore, came, sent, g.Acquired, err)
		}
		done(g, err)
	})
}

// acquire is AcquireThen of what was checked. It also tells when the try that
// decided was sent.
func (s *Semaphores) acquire(ctx context.Context, c Caller, r SemaphoreRequest, done func(SemaphoreGrant, time.Time, error)) {
	made := r.Token == ""
	if made {
		r.Token = makeToken(c, nounSemaphore, r.Name)
	}
	in := s.input(c, r)
	s.take(ctx, &r, &in, latch(in.Semaphore.Leases, c), func(out lua.Outcome[lua.SemaphoreAcquireOut], acked int, waiter string, err error) {
		var g SemaphoreGrant
		switch {
		case err != nil:
			s.leases.unsure(ctx, c, s.lease(c, r, 0), made, waiter, err)
			err = failed("semaphore "+r.Name+": acquire", err)
		case out.Replayed:
			g, err = s.replay(ctx, c, r, in, out.Value)
		case !out.Value.Acquired:
			g = SemaphoreGrant{Reason: ReasonBusy, Free: out.Value.Free, RetryAfter: untilEnough(out.Value)}
		case acked < r.Replicas:
			x := s.lease(c, r, out.Value.Fence)
			s.leases.forget(x.leaseID)
			s.leases.takeBack(ctx, hold{leaseID: x.leaseID, session: in.Session, kind: s})
			g = SemaphoreGrant{Reason: ReasonReplicas, Free: out.Value.Free + r.Permits, RetryAfter: pollEvery}
		default:
			g, err = s.grant(ctx, c, r, out)
		}
		done(g, out.Sent, err)
	})
}

func (s *Semaphores) input(c Caller, r SemaphoreRequest) lua.SemaphoreAcquireIn {
	id := c.identity()
	in := lua.SemaphoreAcquireIn{
		Gone: s.keys.semaphoreGone(r.Name, r.Token), Token: r.Token, Limit: r.Limit, Permits: r.Permits,
		TTLMS: r.TTL.Milliseconds(), Client: id.Client, Instance: id.Instance, Meta: r.Meta,
		MaxHoldMS: r.MaxHold.Milliseconds(), Inboxes: s.keys.inboxes(),
	}
	in.Semaphore, in.LineKeys = s.keys.semaphore(r.Name)
	if r.Bound {
		in.Session = c.Session.ID
	}
	return in
}

// take asks for the permits once, or stands in line for them, and tells how many
// replicas have the grant, if that was asked for. The waiter, if there was one,
// may still be in the line after an error.
func (s *Semaphores) take(
	ctx context.Context, r *SemaphoreRequest, in *lua.SemaphoreAcquireIn, once lua.Latch,
	done func(out lua.Outcome[lua.SemaphoreAcquireOut], acked int, waiter string, err error),
) {
	var out lua.Outcome[lua.SemaphoreAcquireOut]
	var acked int
	run := func(ctx context.Context) (err error) {
		for again := true; again && err == nil; again = out.Value.More {
			out, acked, err = lua.RunReplicated(ctx, s.runner, lua.SemaphoreAcquire, *in, once, r.Replicas, replicaTime)
		}
		return err
	}
	s.lines.stand(ctx, in.LineKeys, r.Wait, func(ctx context.Context, at place) (look, error) {
		in.Waiter, in.BeatMS = at.waiter, at.beat.Milliseconds()
		err := run(ctx)
		v := out.Value
		return look{served: v.Acquired || out.Replayed, first: v.First, free: untilEnough(v)}, err
	}, func(waiter string, err error) { done(out, acked, waiter, err) })
}

// untilEnough is when enough TTLs are over, rounded up, or when to ask again.
func untilEnough(out lua.SemaphoreAcquireOut) time.Duration {
	if out.WaitUS == 0 {
		return pollEvery
	}
	return ms((out.WaitUS + 999) / 1000)
}

// grant answers permits that were taken, and binds them to the session if asked to.
func (s *Semaphores) grant(ctx context.Context, c Caller, r SemaphoreRequest, out lua.Outcome[lua.SemaphoreAcquireOut]) (SemaphoreGrant, error) {
	v := out.Value
	g := SemaphoreGrant{Acquired: true, Token: r.Token, Fence: v.Fence, TTL: left(v.TTLMS, out.Sent), Free: v.Free}
	if !r.Bound {
		return g, nil
	}
	x := s.lease(c, r, g.Fence)
	x.final, x.granted = v.Final, ms(v.TTLMS)
	if err := s.leases.keep(ctx, x, out.Sent); err != nil {
		return SemaphoreGrant{}, err
	}
	return g, nil
}

func (s *Semaphores) lease(c Caller, r SemaphoreRequest, fence int64) *lease {
	x := &lease{leaseID: leaseID{nounSemaphore, r.Name, r.Token}, fence: fence, ttl: r.TTL, kind: s}
	if r.Bound {
		x.session = c.Session
	}
	return x
}

// replay answers a request id whose grant was given before. The latched reply is
// only a memory, so that the grant itself is asked, by token and fence. A live one
// is bound to this session and its TTL restarts, in that one step, so that the
// give-back of the old session finds it moved. What is free is as of now too.
func (s *Semaphores) replay(
	ctx context.Context, c Caller, r SemaphoreRequest, in lua.SemaphoreAcquireIn, was lua.SemaphoreAcquireOut,
) (SemaphoreGrant, error) {
	ask := lua.SemaphoreRenewIn{Semaphore: in.Semaphore, Gone: in.Gone, Token: r.Token, Fence: was.Fence}
	if r.Bound {
		ask.Session, ask.Move, ask.Client, ask.Instance, ask.TTLMS = in.Session, true, in.Client, in.Instance, in.TTLMS
	}
	now, err := s.look(ctx, r.Name)
	if err != nil {
		return SemaphoreGrant{}, failed("semaphore "+r.Name+": replay", err)
	}
	free := max(0, r.Limit-now.Held)
	found, err := lua.Run(ctx, s.runner, lua.SemaphoreRenew, ask, lua.Latch{})
	if err != nil {
		if r.Bound {
			s.leases.unsure(ctx, c, s.lease(c, r, 0), false, "", err)
		}
		return SemaphoreGrant{}, failed("semaphore "+r.Name+": replay", err)
	}
	v := found.Value
	if v.State != lua.SemaphoreHeld {
		return SemaphoreGrant{Replayed: true, Reason: ended(v.State), Free: free}, nil
	}
	g, err := s.grant(ctx, c, r, lua.Outcome[lua.SemaphoreAcquireOut]{Sent: found.Sent, Value: lua.SemaphoreAcquireOut{
		Fence: v.Fence, TTLMS: v.TTLMS, Final: v.Final, Free: free,
	}})
	g.Replayed = err == nil
	return g, err
}

// ended is the reason for a token that holds nothing.
func ended(s lua.SemaphoreState) string {
	if s == lua.SemaphoreReleased {
		return ReasonReleased
	}
	return ReasonExpired
}
