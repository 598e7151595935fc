package queue

import (
	"context"

	"github.com/coxswain-sidecar/coxswain/client/api"
	"github.com/coxswain-sidecar/coxswain/internal/coord"
	"github.com/coxswain-sidecar/coxswain/internal/coord/lease"
	"github.com/coxswain-sidecar/coxswain/internal/lua"
)

// RenewHeld implements Kind.
func (q *Queues) RenewHeld(ctx context.Context, due []lease.Hold) []lease.Renewal {
	return lease.RenewBy(ctx, q.runner, RenewScript, due, func(h lease.Hold) RenewIn {
		return RenewIn{
			Queue: q.keys.queueKeys(h.Name), Lease: h.Token, Session: h.Session, LeaseMS: h.TTL.Milliseconds(),
		}
	}, func(state LeaseState) lease.Renewal {
		switch state {
		case LeaseHeld:
			return lease.Renewal{Held: true}
		case LeaseMoved:
			return lease.Renewal{Moved: true}
		default:
			return lease.Renewal{Reason: lease.ReasonExpired}
		}
	})
}

// GiveBackHeld implements Kind.
func (q *Queues) GiveBackHeld(ctx context.Context, gone []lease.Hold) []error {
	return lease.GiveBackBy(ctx, q.runner, ReleaseScript, gone, q.release)
}

// release is what gives a hold back: the entry, the place in the line, or both.
func (q *Queues) release(h lease.Hold) ReleaseIn {
	return ReleaseIn{
		Queue: q.keys.queueKeys(h.Name), LineKeys: q.keys.queueLine(h.Name),
		Ended: q.keys.queueEnded(h.Name), Taken: q.keys.queueTaken(h.Name, h.Token),
		Lease: h.Token, Session: h.Session, Waiter: h.Waiter, Inboxes: q.keys.Inboxes(),
	}
}

// Ack ends the lease of an entry that was dealt with, in whatever session. It
// runs on its own time. Repeating it answers the same for a while, since the
// first reply may have been lost.
func (q *Queues) Ack(ctx context.Context, c coord.Caller, p *api.QueueLeaseParams) (api.QueueAckResult, error) {
	ended, err := q.end(ctx, c, p, func(ctx context.Context) (LeaseState, error) {
		out, err := lua.Run(ctx, q.runner, AckScript, AckIn{
			Queue: q.keys.queueKeys(p.Queue), Ended: q.keys.queueEnded(p.Queue), Lease: p.Lease,
		}, lua.Latch{})
		return out.Value, err
	})
	switch {
	case err != nil:
		return api.QueueAckResult{}, err
	case !ended:
		return api.QueueAckResult{Reason: lease.ReasonExpired}, nil
	}
	return api.QueueAckResult{Acked: true, Reason: ReasonAcked}, nil
}

// Release puts an entry back that was not dealt with, as Ack ends a lease.
func (q *Queues) Release(ctx context.Context, c coord.Caller, p *api.QueueLeaseParams) (api.QueueReleaseResult, error) {
	ended, err := q.end(ctx, c, p, func(ctx context.Context) (LeaseState, error) {
		in := q.release(lease.Hold{ID: lease.ID{Noun: noun, Name: p.Queue, Token: p.Lease}})
		out, err := lua.Run(ctx, q.runner, ReleaseScript, in, lua.Latch{})
		if err == nil && out.Value == LeaseHeld {
			q.leases.Tel.QueueEntries(ctx, "returned", 1)
		}
		return out.Value, err
	})
	switch {
	case err != nil:
		return api.QueueReleaseResult{}, err
	case !ended:
		return api.QueueReleaseResult{Reason: lease.ReasonExpired}, nil
	}
	return api.QueueReleaseResult{Released: true, Reason: lease.ReasonReleased}, nil
}

// end ends a lease by run, and reports whether that, or the same call before, ended it.
func (q *Queues) end(
	ctx context.Context, c coord.Caller, p *api.QueueLeaseParams, run func(context.Context) (LeaseState, error),
) (bool, error) {
	found, err := lease.Release(ctx, q.leases, c, lease.ID{Noun: noun, Name: p.Queue, Token: p.Lease}, run)
	return found == LeaseHeld || found == LeaseEnded, err
}

// Renew has the lease of an entry, in whatever session, live so long from now on,
// shorter or longer than before.
func (q *Queues) Renew(ctx context.Context, _ coord.Caller, p *api.QueueRenewParams) (api.QueueRenewResult, error) {
	op := "queue " + p.Queue + ": renew"
	// Before the script, as Locks.Renew does.
	x, err := q.leases.Claim(ctx, lease.ID{Noun: noun, Name: p.Queue, Token: p.Lease})
	if err != nil {
		return api.QueueRenewResult{}, coord.Failed(op, err)
	}
	out, err := lua.Run(ctx, q.runner, RenewScript, RenewIn{
		Queue: q.keys.queueKeys(p.Queue), Lease: p.Lease, LeaseMS: p.LeaseMS,
	}, lua.Latch{})
	switch {
	case err != nil:
		q.leases.Unclaim(x)
		return api.QueueRenewResult{}, coord.Failed(op, err)
	case out.Value != LeaseHeld:
		q.leases.Lose(x, lease.ReasonExpired)
		return api.QueueRenewResult{Reason: lease.ReasonExpired}, nil
	}
	q.leases.Extend(x, coord.Millis(p.LeaseMS), lease.Renewal{Sent: out.Sent})
	return api.QueueRenewResult{Renewed: true, LeaseMS: lease.LeftMS(p.LeaseMS, out.Sent), Reason: lease.ReasonRenewed}, nil
}
