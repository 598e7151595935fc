package queue

import (
	"context"

	"github.com/coxswain-sidecar/coxswain/client/api"
	"github.com/coxswain-sidecar/coxswain/internal/coord"
	"github.com/coxswain-sidecar/coxswain/internal/coord/lease"
	"github.com/coxswain-sidecar/coxswain/internal/lua"
)

// Dequeue takes the first entry of a queue, in the caller's turn. Each call takes
// one, whatever becomes of its replies on their way from Redis: its token is
// what its tries are known by.
//
// An entry of which the caller does not hear goes back to its place. A repeated
// request id answers the entry that the call before took, unless it went back.
func (q *Queues) Dequeue(ctx context.Context, c coord.Caller, p *api.QueueDequeueParams) (api.QueueDequeueResult, error) {
	return coord.Await(func(done func(api.QueueDequeueResult, error)) { q.DequeueThen(ctx, c, p, done) })
}

// dequeuing is a call of Dequeue.
type dequeuing struct {
	lease.Acquisition[DequeueOut, api.QueueDequeueResult]
	queues *Queues
	in     DequeueIn
}

// DequeueThen is Dequeue as AcquireThen is Acquire of Locks.
func (q *Queues) DequeueThen(ctx context.Context, c coord.Caller, p *api.QueueDequeueParams, done func(api.QueueDequeueResult, error)) {
	if err := checkDequeue(c, p); err != nil {
		done(api.QueueDequeueResult{}, err)
		return
	}
	x := lease.NewLease(c, noun, p.Queue, "", p.Bind, p.LeaseMS, q)
	x.Owner = c.SessionID()
	a := &dequeuing{queues: q, in: DequeueIn{
		Queue: q.keys.queueKeys(p.Queue), LineKeys: q.keys.queueLine(p.Queue), Taken: q.keys.queueTaken(p.Queue, x.Token),
		Lease: x.Token, LeaseMS: p.LeaseMS, Session: x.Owner, KeepMS: keepTaken.Milliseconds(), Inboxes: q.keys.Inboxes(),
	}}
	if c.RequestID != "" {
		a.in.KeepMS = keepReplayed.Milliseconds()
	}
	once := coord.Latch(a.in.Queue.Order, c)
	a.Acquisition = lease.Acquisition[DequeueOut, api.QueueDequeueResult]{
		Leases: q.leases, Lines: q.lines, Caller: c, Verb: "dequeue", Lease: x, Made: true,
		Line: a.in.LineKeys, Wait: coord.Millis(p.WaitMS),
		Ask: func(ctx context.Context, at lease.Place) (lease.Attempt[DequeueOut], error) {
			a.in.Waiter, a.in.BeatMS = at.Waiter, at.Beat.Milliseconds()
			return a.run(ctx, once)
		},
		Grant: func(ctx context.Context, t lease.Attempt[DequeueOut]) (api.QueueDequeueResult, error) {
			r, err := a.taken(ctx, t.Outcome)
			if err == nil {
				q.leases.Tel.QueueEntries(ctx, "dequeued", 1)
			}
			return r, err
		},
		Refuse: func(t lease.Attempt[DequeueOut]) api.QueueDequeueResult { return nothingFor(t.Value) },
		Replay: a.replayed,
		Waited: func(r *api.QueueDequeueResult, ms int64) bool {
			r.WaitedMS = ms
			return r.Found
		},
	}
	lease.Acquire(ctx, &a.Acquisition, done)
}

// checkDequeue checks what the contract's tags do not: a lease of 0 is none, and any
// other has the bounds of all leases.
func checkDequeue(c coord.Caller, p *api.QueueDequeueParams) error {
	bound := p.Bind == api.BindSession
	switch {
	case p.LeaseMS != 0 && p.LeaseMS < lease.MinTTL.Milliseconds():
		return coord.Invalid("lease_ms: %d is out of range; use %d to %d", p.LeaseMS, lease.MinTTL.Milliseconds(), lease.MaxTTL.Milliseconds())
	case p.LeaseMS == 0 && bound:
		return coord.Invalid("lease_ms: missing; what is bound to the session needs one of 100 or more")
	}
	return lease.CheckBound(c, bound, "lease")
}

// run asks for an entry, in several runs of the script where many have expired: each
// removes as many as it may, and there is an end to them.
func (a *dequeuing) run(ctx context.Context, once lua.Latch) (lease.Attempt[DequeueOut], error) {
	for {
		out, err := lua.Run(ctx, a.queues.runner, DequeueScript, a.in, once)
		v := out.Value
		if err == nil && !out.Replayed {
			a.queues.tidied(ctx, v.Tidied)
		}
		if err != nil || out.Replayed || !v.More {
			return lease.Attempt[DequeueOut]{Outcome: out, Look: lease.Look{Served: v.Found || out.Replayed, First: v.First, Free: coord.Millis(v.LeaseEndsMS)}}, err
		}
	}
}

// nothingFor is the answer to who gets no entry.
func nothingFor(v DequeueOut) api.QueueDequeueResult {
	r := api.QueueDequeueResult{Depth: v.Depth, Reason: ReasonEmpty, RetryAfterMS: lease.PollEvery.Milliseconds()}
	if !v.First && v.Depth > 0 {
		r.Reason = lease.ReasonBusy
	}
	if v.LeaseEndsMS > 0 {
		r.RetryAfterMS = min(r.RetryAfterMS, v.LeaseEndsMS)
	}
	return r
}

// taken answers an entry that was taken. When nobody hears of it, it goes back, unless
// a repetition of the call has it by now.
func (a *dequeuing) taken(ctx context.Context, out lua.Outcome[DequeueOut]) (api.QueueDequeueResult, error) {
	x := a.Lease
	if over := ctx.Err(); over != nil {
		// Even one that is to be bound: its session may go on for long, and nobody
		// would acknowledge it.
		a.Leases.TakeBack(ctx, lease.Hold{ID: x.ID, Session: x.Owner, Kind: x.Kind})
		return api.QueueDequeueResult{}, coord.Failed("queue "+x.Name+": dequeue", over)
	}
	if err := a.Held(ctx, out.Sent); err != nil {
		return api.QueueDequeueResult{}, err
	}
	v := out.Value
	r := api.QueueDequeueResult{
		Found: true, ID: v.ID, Body: []byte(v.Body), Attempt: v.Attempt, EnqueuedAtMS: v.CameMS, Depth: v.Depth,
	}
	if a.in.LeaseMS > 0 {
		r.Lease = x.Token
	}
	return r, nil
}

// replayed answers a request id that took an entry before: whether that entry is
// its own still is asked, and from now on it is this session's.
func (a *dequeuing) replayed(ctx context.Context, was DequeueOut) (api.QueueDequeueResult, error) {
	q, x := a.queues, a.Lease
	out, err := lua.Run(ctx, q.runner, ReplayScript, ReplayIn{
		Queue: a.in.Queue, Ended: q.keys.queueEnded(x.Name), Taken: a.in.Taken,
		Lease: a.in.Lease, Session: a.in.Session, LeaseMS: a.in.LeaseMS,
	}, lua.Latch{})
	if err != nil {
		q.leases.Unsure(ctx, a.Caller, x, false, "", err)
		return api.QueueDequeueResult{}, coord.Failed("queue "+x.Name+": replay", err)
	}
	switch out.Value.State {
	case LeaseHeld:
		was.Body = out.Value.Body
		r, err := a.taken(ctx, lua.Outcome[DequeueOut]{Sent: out.Sent, Value: was})
		r.Replayed = err == nil
		return r, err
	case LeaseEnded:
		return api.QueueDequeueResult{Replayed: true, Reason: lease.ReasonReleased}, nil
	default:
		return api.QueueDequeueResult{Replayed: true, Reason: lease.ReasonExpired}, nil
	}
}
