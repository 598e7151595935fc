package coord

import (
	"context"

	"github.com/coxswain-sidecar/coxswain/client/api"
	"github.com/coxswain-sidecar/coxswain/internal/lua"
)

// RenewHeld implements Kind.
func (q *Queues) RenewHeld(ctx context.Context, due []hold) []renewal {
	return renewBy(ctx, q.runner, lua.QueueRenew, due, func(h hold) lua.QueueRenewIn {
		return lua.QueueRenewIn{
			Queue: q.keys.queueKeys(h.name), Lease: h.token, Session: h.session, LeaseMS: h.ttl.Milliseconds(),
		}
	}, func(state lua.QueueLeaseState) renewal {
		switch state {
		case lua.QueueLeaseHeld:
			return renewal{held: true}
		case lua.QueueLeaseMoved:
			return renewal{moved: true}
		default:
			return renewal{reason: ReasonExpired}
		}
	})
}

// GiveBackHeld implements Kind.
func (q *Queues) GiveBackHeld(ctx context.Context, gone []hold) []error {
	return giveBackBy(ctx, q.runner, lua.QueueRelease, gone, q.release)
}

// release is what gives a hold back: the entry, the place in the line, or both.
func (q *Queues) release(h hold) lua.QueueReleaseIn {
	return lua.QueueReleaseIn{
		Queue: q.keys.queueKeys(h.name), LineKeys: q.keys.queueLine(h.name),
		Ended: q.keys.queueEnded(h.name), Taken: q.keys.queueTaken(h.name, h.token),
		Lease: h.token, Session: h.session, Waiter: h.waiter, Inboxes: q.keys.inboxes(),
	}
}

// Ack ends the lease of an entry that was dealt with, in whatever session. It
// runs on its own time. Repeating it answers the same for a while, since the
// first reply may have been lost.
func (q *Queues) Ack(ctx context.Context, c Caller, p *api.QueueLeaseParams) (api.QueueAckResult, error) {
	ended, err := q.end(ctx, c, p, func(ctx context.Context) (lua.QueueLeaseState, error) {
		out, err := lua.Run(ctx, q.runner, lua.QueueAck, lua.QueueAckIn{
			Queue: q.keys.queueKeys(p.Queue), Ended: q.keys.queueEnded(p.Queue), Lease: p.Lease,
		}, lua.Latch{})
		return out.Value, err
	})
	switch {
	case err != nil:
		return api.QueueAckResult{}, err
	case !ended:
		return api.QueueAckResult{Reason: ReasonExpired}, nil
	}
	return api.QueueAckResult{Acked: true, Reason: ReasonAcked}, nil
}

// Release puts an entry back that was not dealt with, as Ack ends a lease.
func (q *Queues) Release(ctx context.Context, c Caller, p *api.QueueLeaseParams) (api.QueueReleaseResult, error) {
	ended, err := q.end(ctx, c, p, func(ctx context.Context) (lua.QueueLeaseState, error) {
		in := q.release(hold{leaseID: leaseID{nounQueue, p.Queue, p.Lease}})
		out, err := lua.Run(ctx, q.runner, lua.QueueRelease, in, lua.Latch{})
		if err == nil && out.Value == lua.QueueLeaseHeld {
			q.leases.tel.QueueEntries(ctx, "returned", 1)
		}
		return out.Value, err
	})
	switch {
	case err != nil:
		return api.QueueReleaseResult{}, err
	case !ended:
		return api.QueueReleaseResult{Reason: ReasonExpired}, nil
	}
	return api.QueueReleaseResult{Released: true, Reason: ReasonReleased}, nil
}

// end ends a lease by run, and reports whether that, or the same call before, ended it.
func (q *Queues) end(
	ctx context.Context, c Caller, p *api.QueueLeaseParams, run func(context.Context) (lua.QueueLeaseState, error),
) (bool, error) {
	found, err := release(ctx, q.leases, c, leaseID{nounQueue, p.Queue, p.Lease}, run)
	return found == lua.QueueLeaseHeld || found == lua.QueueLeaseEnded, err
}

// Renew has the lease of an entry, in whatever session, live so long from now on,
// shorter or longer than before.
func (q *Queues) Renew(ctx context.Context, _ Caller, p *api.QueueRenewParams) (api.QueueRenewResult, error) {
	op := "queue " + p.Queue + ": renew"
	// Before the script, as Locks.Renew does.
	x, err := q.leases.claim(ctx, leaseID{nounQueue, p.Queue, p.Lease})
	if err != nil {
		return api.QueueRenewResult{}, Failed(op, err)
	}
	out, err := lua.Run(ctx, q.runner, lua.QueueRenew, lua.QueueRenewIn{
		Queue: q.keys.queueKeys(p.Queue), Lease: p.Lease, LeaseMS: p.LeaseMS,
	}, lua.Latch{})
	switch {
	case err != nil:
		q.leases.unclaim(x)
		return api.QueueRenewResult{}, Failed(op, err)
	case out.Value != lua.QueueLeaseHeld:
		q.leases.lose(x, ReasonExpired)
		return api.QueueRenewResult{Reason: ReasonExpired}, nil
	}
	q.leases.extend(x, Millis(p.LeaseMS), renewal{sent: out.Sent})
	return api.QueueRenewResult{Renewed: true, LeaseMS: leftMS(p.LeaseMS, out.Sent), Reason: ReasonRenewed}, nil
}
