package queue

import (
	"context"

	"github.com/coxswain-sidecar/coxswain/client/api"
	"github.com/coxswain-sidecar/coxswain/internal/coord"
	"github.com/coxswain-sidecar/coxswain/internal/coord/lease"
	"github.com/coxswain-sidecar/coxswain/internal/lua"
)

// Dequeue takes the first entry of a queue when it is the caller's turn. A call takes one entry even if replies of
// Redis are lost: all runs of the script for one call have the same token.
//
// An entry goes back to its place if the answer does not reach the caller. A call with a repeated request id returns
// the entry that the first call took, unless it went back.
func (q *Queues) Dequeue(ctx context.Context, c coord.Caller, p *api.QueueDequeueParams) (api.QueueDequeueResult, error) {
	return coord.Await(func(done func(api.QueueDequeueResult, error)) { q.DequeueThen(ctx, c, p, done) })
}

// DequeueThen is Dequeue without a blocked goroutine: done is called when the call is answered, before DequeueThen
// returns or later.
func (q *Queues) DequeueThen(ctx context.Context, c coord.Caller, p *api.QueueDequeueParams, done func(api.QueueDequeueResult, error)) {
	q.dequeues.Then(ctx, c, p, done)
}

// dequeuing is a call of Dequeue. It implements lease.Terms.
type dequeuing struct {
	lease.Acquisition[DequeueOut, api.QueueDequeueResult]
	lease.Uncounted[api.QueueDequeueResult]
	queues *Queues
	in     DequeueIn
	once   lua.StoredReply
}

func (a *dequeuing) open(q *Queues, c coord.Caller, p *api.QueueDequeueParams) error {
	if err := checkDequeue(c, p); err != nil {
		return err
	}
	x := lease.NewLease(c, noun, p.Queue, "", p.Bind, p.LeaseMS, q)
	x.Owner = c.SessionID()
	a.queues, a.in = q, DequeueIn{
		Queue: q.keys.queueKeys(p.Queue), LineKeys: q.keys.queueLine(p.Queue), Taken: q.keys.queueTaken(p.Queue, x.Token),
		Lease: x.Token, LeaseMS: p.LeaseMS, Session: x.Owner, KeepMS: keepTaken.Milliseconds(), Inboxes: q.keys.Inboxes(),
	}
	if c.RequestID != "" {
		a.in.KeepMS = keepReplayed.Milliseconds()
	}
	a.once = coord.StoredReply(a.in.Queue.Order, c)
	// Even an entry that is bound to the session goes back if its answer does not reach the caller: the session may
	// go on for long, and the entry would never be acknowledged.
	a.Acquisition = lease.Acquisition[DequeueOut, api.QueueDequeueResult]{
		Leases: q.leases, Lines: q.lines, Caller: c, Verb: "dequeue", Lease: x, Made: true,
		Line: a.in.LineKeys, Wait: coord.Millis(p.WaitMS), LateGrants: lease.FreeAll, Terms: a,
	}
	return nil
}

// checkDequeue checks what the contract's tags do not: a LeaseMS of 0 means no lease, and any other has the bounds of
// all leases.
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

// Ask implements lease.Terms, as do the methods that follow.
func (a *dequeuing) Ask(at lease.Place, run *lua.Asked) {
	in := a.in
	in.Waiter, in.HeartbeatMS = at.Waiter, at.Heartbeat.Milliseconds()
	lua.Ask(a.queues.runner, DequeueScript, in, a.once, lua.Patient, run)
}

// Read reports that the script must run again if more entries and leases have ended than one run removes. It does not
// run without end, since each run removes some.
func (a *dequeuing) Read(ctx context.Context, run *lua.Asked) (lease.Attempt[DequeueOut], bool, error) {
	out, err := lua.Answer(ctx, a.queues.runner, DequeueScript, run)
	v := out.Value
	if err == nil && !out.Replayed {
		a.queues.tidied(ctx, v.Tidied)
	}
	return lease.Attempt[DequeueOut]{
		Outcome: out, Look: lease.Look{Served: v.Found || out.Replayed, First: v.First, Free: coord.Millis(v.LeaseEndsMS)},
	}, v.More && !out.Replayed, err
}

func (a *dequeuing) Take(*lease.Lease, DequeueOut) {}

func (a *dequeuing) Granted(ctx context.Context, t lease.Attempt[DequeueOut]) api.QueueDequeueResult {
	if !t.Replayed { // a repeated entry was counted when it was taken
		a.queues.leases.Tel.QueueEntries(ctx, "dequeued", 1)
	}
	v := t.Value
	r := api.QueueDequeueResult{
		Found: true, ID: v.ID, Body: []byte(v.Body), Attempt: v.Attempt, EnqueuedAtMS: v.CameMS, Depth: v.Depth,
	}
	if a.in.LeaseMS > 0 {
		r.Lease = a.Lease.Token
	}
	return r
}

func (a *dequeuing) Refused(t lease.Attempt[DequeueOut]) api.QueueDequeueResult {
	return nothingFor(t.Value)
}

func (a *dequeuing) Waited(r *api.QueueDequeueResult, ms int64) bool {
	r.WaitedMS = ms
	return r.Found
}

// nothingFor returns the answer of a call that gets no entry.
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

// Replayed answers a repeated request id whose first call took an entry. It looks up whether the entry is still held,
// and if so binds it to this session.
func (a *dequeuing) Replayed(ctx context.Context, was DequeueOut) (api.QueueDequeueResult, error) {
	q, x := a.queues, a.Lease
	out, err := lua.Run(ctx, q.runner, ReplayScript, ReplayIn{
		Queue: a.in.Queue, Ended: q.keys.queueEnded(x.Name), Taken: a.in.Taken,
		Lease: a.in.Lease, Session: a.in.Session, LeaseMS: a.in.LeaseMS,
	}, lua.StoredReply{})
	if err != nil {
		q.leases.Unsure(ctx, a.Caller, x, false, "", err)
		return api.QueueDequeueResult{}, coord.Failed("queue "+x.Name+": replay", err)
	}
	switch out.Value.State {
	case LeaseHeld:
		was.Body = out.Value.Body
		r, err := a.Grant(ctx, lease.Attempt[DequeueOut]{Outcome: lua.Outcome[DequeueOut]{Sent: out.Sent, Value: was, Replayed: true}})
		r.Replayed = err == nil
		return r, err
	case LeaseEnded:
		return api.QueueDequeueResult{Replayed: true, Reason: lease.ReasonReleased}, nil
	default:
		return api.QueueDequeueResult{Replayed: true, Reason: lease.ReasonExpired}, nil
	}
}
