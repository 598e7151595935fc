package queue

import (
	"context"
	"time"

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
	}, found)
}

// found converts what the script of a renewal returns.
func found(state LeaseState) lease.Renewal {
	switch state {
	case LeaseHeld:
		return lease.Renewal{Held: true}
	case LeaseMoved:
		return lease.Renewal{Moved: true}
	default:
		return lease.Renewal{Reason: lease.ReasonExpired}
	}
}

// GiveBackHeld implements Kind.
func (q *Queues) GiveBackHeld(ctx context.Context, gone []lease.Hold) []error {
	return lease.GiveBackBy(ctx, q.runner, ReleaseScript, gone, q.release)
}

// release returns the input of the script that gives back an entry, a ticket in the waiting line, or both.
func (q *Queues) release(h lease.Hold) ReleaseIn {
	return ReleaseIn{
		Queue: q.keys.queueKeys(h.Name), LineKeys: q.keys.queueLine(h.Name),
		Ended: q.keys.queueEnded(h.Name), Taken: q.keys.queueTaken(h.Name, h.Token),
		Lease: h.Token, Session: h.Session, Waiter: h.Waiter, Inboxes: q.keys.Inboxes(),
	}
}

// Ack acknowledges an entry, whose lease may be bound to any session. It has a deadline of its own: it goes on when
// its caller is gone. For a while a repeated Ack returns the same result, since the first reply may have been lost.
func (q *Queues) Ack(ctx context.Context, c coord.Caller, p *api.QueueLeaseParams) (api.QueueAckResult, error) {
	return q.acks.Run(ctx, c, p)
}

// idOf returns the id of the lease of an entry.
func idOf(p *api.QueueLeaseParams) lease.ID {
	return lease.ID{Noun: noun, Name: p.Queue, Token: p.Lease}
}

// ended reports whether this run of a script, or the same call before, ended a lease.
func ended(found LeaseState) bool { return found == LeaseHeld || found == LeaseEnded }

func (q *Queues) acking() lease.Giving[api.QueueLeaseParams, AckIn, LeaseState, api.QueueAckResult, struct{}] {
	return lease.Giving[api.QueueLeaseParams, AckIn, LeaseState, api.QueueAckResult, struct{}]{
		Verb: "ack", Leases: q.leases, Runner: q.runner, Script: AckScript,
		Ask: func(_ coord.Caller, p *api.QueueLeaseParams, _ *struct{}) (lease.ID, coord.Question[AckIn], error) {
			return idOf(p), coord.Question[AckIn]{In: AckIn{
				Queue: q.keys.queueKeys(p.Queue), Ended: q.keys.queueEnded(p.Queue), Lease: p.Lease,
			}}, nil
		},
		Answer: func(_ context.Context, _ *struct{}, found lua.Outcome[LeaseState]) (api.QueueAckResult, coord.Rest[api.QueueAckResult]) {
			if !ended(found.Value) {
				return api.QueueAckResult{Reason: lease.ReasonExpired}, nil
			}
			return api.QueueAckResult{Acked: true, Reason: ReasonAcked}, nil
		},
	}
}

// Release puts back an entry that was not processed. In all else it is like Ack.
func (q *Queues) Release(ctx context.Context, c coord.Caller, p *api.QueueLeaseParams) (api.QueueReleaseResult, error) {
	return q.releases.Run(ctx, c, p)
}

func (q *Queues) releasing() lease.Giving[api.QueueLeaseParams, ReleaseIn, LeaseState, api.QueueReleaseResult, struct{}] {
	return lease.Giving[api.QueueLeaseParams, ReleaseIn, LeaseState, api.QueueReleaseResult, struct{}]{
		Verb: "release", Leases: q.leases, Runner: q.runner, Script: ReleaseScript,
		Ask: func(_ coord.Caller, p *api.QueueLeaseParams, _ *struct{}) (lease.ID, coord.Question[ReleaseIn], error) {
			id := idOf(p)
			return id, coord.Question[ReleaseIn]{In: q.release(lease.Hold{ID: id})}, nil
		},
		Answer: func(ctx context.Context, _ *struct{}, found lua.Outcome[LeaseState]) (api.QueueReleaseResult, coord.Rest[api.QueueReleaseResult]) {
			if found.Value == LeaseHeld {
				q.leases.Tel.QueueEntries(ctx, "returned", 1)
			}
			if !ended(found.Value) {
				return api.QueueReleaseResult{Reason: lease.ReasonExpired}, nil
			}
			return api.QueueReleaseResult{Released: true, Reason: lease.ReasonReleased}, nil
		},
	}
}

// Renew sets the time that the lease of an entry has left, shorter or longer than before. The lease may be bound to
// any session.
func (q *Queues) Renew(ctx context.Context, c coord.Caller, p *api.QueueRenewParams) (api.QueueRenewResult, error) {
	return q.renews.Run(ctx, c, p)
}

func (q *Queues) renewing() lease.Renewing[api.QueueRenewParams, RenewIn, LeaseState, api.QueueRenewResult] {
	return lease.Renewing[api.QueueRenewParams, RenewIn, LeaseState, api.QueueRenewResult]{
		Leases: q.leases, Runner: q.runner, Script: RenewScript, Found: found,
		Ask: func(p *api.QueueRenewParams) (lease.ID, time.Duration, RenewIn, error) {
			id := lease.ID{Noun: noun, Name: p.Queue, Token: p.Lease}
			return id, coord.Millis(p.LeaseMS), RenewIn{Queue: q.keys.queueKeys(p.Queue), Lease: p.Lease, LeaseMS: p.LeaseMS}, nil
		},
		Result: func(ttl time.Duration, f lease.Renewal, _ LeaseState) api.QueueRenewResult {
			if !f.Held {
				return api.QueueRenewResult{Reason: f.Reason}
			}
			return api.QueueRenewResult{Renewed: true, LeaseMS: lease.LeftMS(ttl.Milliseconds(), f.Sent), Reason: lease.ReasonRenewed}
		},
	}
}
