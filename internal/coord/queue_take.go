package coord

import (
	"context"

	"github.com/coxswain-sidecar/coxswain/client/api"
	"github.com/coxswain-sidecar/coxswain/internal/lua"
)

// Dequeue takes the first entry of a queue, in the caller's turn. Each call takes
// one, whatever becomes of its replies on their way from Redis: its token is
// what its tries are known by.
//
// An entry of which the caller does not hear goes back to its place. A repeated
// request id answers the entry that the call before took, unless it went back.
func (q *Queues) Dequeue(ctx context.Context, c Caller, p *api.QueueDequeueParams) (api.QueueDequeueResult, error) {
	return Await(func(done func(api.QueueDequeueResult, error)) { q.DequeueThen(ctx, c, p, done) })
}

// dequeuing is a call of Dequeue.
type dequeuing struct {
	acquisition[lua.QueueDequeueOut, api.QueueDequeueResult]
	queues *Queues
	in     lua.QueueDequeueIn
}

// DequeueThen is Dequeue as AcquireThen is Acquire of Locks.
func (q *Queues) DequeueThen(ctx context.Context, c Caller, p *api.QueueDequeueParams, done func(api.QueueDequeueResult, error)) {
	if err := checkDequeue(c, p); err != nil {
		done(api.QueueDequeueResult{}, err)
		return
	}
	x := newLease(c, nounQueue, p.Queue, "", p.Bind, p.LeaseMS, q)
	x.owner = c.sessionID()
	a := &dequeuing{queues: q, in: lua.QueueDequeueIn{
		Queue: q.keys.queueKeys(p.Queue), LineKeys: q.keys.queueLine(p.Queue), Taken: q.keys.queueTaken(p.Queue, x.token),
		Lease: x.token, LeaseMS: p.LeaseMS, Session: x.owner, KeepMS: keepTaken.Milliseconds(), Inboxes: q.keys.inboxes(),
	}}
	if c.RequestID != "" {
		a.in.KeepMS = keepReplayed.Milliseconds()
	}
	once := Latch(a.in.Queue.Order, c)
	a.acquisition = acquisition[lua.QueueDequeueOut, api.QueueDequeueResult]{
		leases: q.leases, lines: q.lines, caller: c, verb: "dequeue", lease: x, made: true,
		line: a.in.LineKeys, wait: Millis(p.WaitMS),
		ask: func(ctx context.Context, at place) (attempt[lua.QueueDequeueOut], error) {
			a.in.Waiter, a.in.BeatMS = at.waiter, at.beat.Milliseconds()
			return a.run(ctx, once)
		},
		grant: func(ctx context.Context, t attempt[lua.QueueDequeueOut]) (api.QueueDequeueResult, error) {
			r, err := a.taken(ctx, t.Outcome)
			if err == nil {
				q.leases.tel.QueueEntries(ctx, "dequeued", 1)
			}
			return r, err
		},
		refuse: func(t attempt[lua.QueueDequeueOut]) api.QueueDequeueResult { return nothingFor(t.Value) },
		replay: a.replayed,
		waited: func(r *api.QueueDequeueResult, ms int64) bool {
			r.WaitedMS = ms
			return r.Found
		},
	}
	acquire(ctx, &a.acquisition, done)
}

// checkDequeue checks what the contract's tags do not: a lease of 0 is none, and any
// other has the bounds of all leases.
func checkDequeue(c Caller, p *api.QueueDequeueParams) error {
	bound := p.Bind == api.BindSession
	switch {
	case p.LeaseMS != 0 && p.LeaseMS < minLockTTL.Milliseconds():
		return invalid("lease_ms: %d is out of range; use %d to %d", p.LeaseMS, minLockTTL.Milliseconds(), maxLockTTL.Milliseconds())
	case p.LeaseMS == 0 && bound:
		return invalid("lease_ms: missing; what is bound to the session needs one of 100 or more")
	}
	return checkBound(c, bound, "lease")
}

// run asks for an entry, in several runs of the script where many have expired: each
// removes as many as it may, and there is an end to them.
func (a *dequeuing) run(ctx context.Context, once lua.Latch) (attempt[lua.QueueDequeueOut], error) {
	for {
		out, err := lua.Run(ctx, a.queues.runner, lua.QueueDequeue, a.in, once)
		v := out.Value
		if err == nil && !out.Replayed {
			a.queues.tidied(ctx, v.QueueTidied)
		}
		if err != nil || out.Replayed || !v.More {
			return attempt[lua.QueueDequeueOut]{Outcome: out, look: look{v.Found || out.Replayed, v.First, Millis(v.LeaseEndsMS)}}, err
		}
	}
}

// nothingFor is the answer to who gets no entry.
func nothingFor(v lua.QueueDequeueOut) api.QueueDequeueResult {
	r := api.QueueDequeueResult{Depth: v.Depth, Reason: ReasonEmpty, RetryAfterMS: pollEvery.Milliseconds()}
	if !v.First && v.Depth > 0 {
		r.Reason = ReasonBusy
	}
	if v.LeaseEndsMS > 0 {
		r.RetryAfterMS = min(r.RetryAfterMS, v.LeaseEndsMS)
	}
	return r
}

// taken answers an entry that was taken. When nobody hears of it, it goes back, unless
// a repetition of the call has it by now.
func (a *dequeuing) taken(ctx context.Context, out lua.Outcome[lua.QueueDequeueOut]) (api.QueueDequeueResult, error) {
	x := a.lease
	if over := ctx.Err(); over != nil {
		// Even one that is to be bound: its session may go on for long, and nobody
		// would acknowledge it.
		a.leases.takeBack(ctx, hold{leaseID: x.leaseID, session: x.owner, kind: x.kind})
		return api.QueueDequeueResult{}, Failed("queue "+x.name+": dequeue", over)
	}
	if err := a.held(ctx, out.Sent); err != nil {
		return api.QueueDequeueResult{}, err
	}
	v := out.Value
	r := api.QueueDequeueResult{
		Found: true, ID: v.ID, Body: []byte(v.Body), Attempt: v.Attempt, EnqueuedAtMS: v.CameMS, Depth: v.Depth,
	}
	if a.in.LeaseMS > 0 {
		r.Lease = x.token
	}
	return r, nil
}

// replayed answers a request id that took an entry before: whether that entry is
// its own still is asked, and from now on it is this session's.
func (a *dequeuing) replayed(ctx context.Context, was lua.QueueDequeueOut) (api.QueueDequeueResult, error) {
	q, x := a.queues, a.lease
	out, err := lua.Run(ctx, q.runner, lua.QueueReplay, lua.QueueReplayIn{
		Queue: a.in.Queue, Ended: q.keys.queueEnded(x.name), Taken: a.in.Taken,
		Lease: a.in.Lease, Session: a.in.Session, LeaseMS: a.in.LeaseMS,
	}, lua.Latch{})
	if err != nil {
		q.leases.unsure(ctx, a.caller, x, false, "", err)
		return api.QueueDequeueResult{}, Failed("queue "+x.name+": replay", err)
	}
	switch out.Value.State {
	case lua.QueueLeaseHeld:
		was.Body = out.Value.Body
		r, err := a.taken(ctx, lua.Outcome[lua.QueueDequeueOut]{Sent: out.Sent, Value: was})
		r.Replayed = err == nil
		return r, err
	case lua.QueueLeaseEnded:
		return api.QueueDequeueResult{Replayed: true, Reason: ReasonReleased}, nil
	default:
		return api.QueueDequeueResult{Replayed: true, Reason: ReasonExpired}, nil
	}
}
