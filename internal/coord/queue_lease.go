package coord

import (
	"context"
	"time"

	"github.com/coxswain-sidecar/coxswain/internal/lua"
)

// renew implements leaseKind.
func (q *Queues) renew(ctx context.Context, due []hold) []renewal {
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

// giveBack implements leaseKind.
func (q *Queues) giveBack(ctx context.Context, gone []hold) []error {
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

// LeaseOutcome says what was found of a lease.
type LeaseOutcome struct {
	Done   bool
	Reason string // what was done, or expired
}

func leaseOutcome(s lua.QueueLeaseState, done string) LeaseOutcome {
	if s == lua.QueueLeaseHeld || s == lua.QueueLeaseEnded {
		return LeaseOutcome{Done: true, Reason: done}
	}
	return LeaseOutcome{Reason: ReasonExpired}
}

// Ack ends the lease of an entry that was dealt with, in whatever session. It
// runs on its own time. Repeating it answers the same for a while, since the
// first reply may have been lost.
func (q *Queues) Ack(ctx context.Context, c Caller, queue, token string) (LeaseOutcome, error) {
	return q.end(ctx, c, queue, token, ReasonAcked, func(ctx context.Context) (lua.QueueLeaseState, error) {
		out, err := lua.Run(ctx, q.runner, lua.QueueAck, lua.QueueAckIn{
			Queue: q.keys.queueKeys(queue), Ended: q.keys.queueEnded(queue), Lease: token,
		}, lua.Latch{})
		return out.Value, err
	})
}

// Release puts an entry back that was not dealt with, as Ack ends a lease.
func (q *Queues) Release(ctx context.Context, c Caller, queue, token string) (LeaseOutcome, error) {
	return q.end(ctx, c, queue, token, ReasonReleased, func(ctx context.Context) (lua.QueueLeaseState, error) {
		in := q.release(hold{leaseID: leaseID{nounQueue, queue, token}})
		out, err := lua.Run(ctx, q.runner, lua.QueueRelease, in, lua.Latch{})
		if err == nil && out.Value == lua.QueueLeaseHeld {
			q.leases.tel.QueueEntries(ctx, "returned", 1)
		}
		return out.Value, err
	})
}

// end ends a lease by run.
func (q *Queues) end(
	ctx context.Context, c Caller, queue, token, done string, run func(context.Context) (lua.QueueLeaseState, error),
) (LeaseOutcome, error) {
	if err := checkLeased(queue, token); err != nil {
		return LeaseOutcome{}, err
	}
	var found lua.QueueLeaseState
	err := q.leases.release(ctx, c, leaseID{nounQueue, queue, token}, func(ctx context.Context) (err error) {
		found, err = run(ctx)
		return err
	})
	if err != nil {
		return LeaseOutcome{}, err
	}
	return leaseOutcome(found, done), nil
}

func checkLeased(queue, token string) error {
	if err := checkText("queue", queue); err != nil {
		return err
	}
	return checkText("lease", token)
}

// Renew has the lease of an entry, in whatever session, live so long from now on,
// shorter or longer than before. It also returns what is left at least.
func (q *Queues) Renew(ctx context.Context, queue, token string, d time.Duration) (LeaseOutcome, time.Duration, error) {
	if err := checkLeased(queue, token); err != nil {
		return LeaseOutcome{}, 0, err
	}
	if err := checkLease(d); err != nil {
		return LeaseOutcome{}, 0, err
	}
	// Before the script, as Locks.Renew does.
	x, err := q.leases.claim(ctx, leaseID{nounQueue, queue, token})
	if err != nil {
		return LeaseOutcome{}, 0, failed("queue "+queue+": renew", err)
	}
	out, err := lua.Run(ctx, q.runner, lua.QueueRenew, lua.QueueRenewIn{
		Queue: q.keys.queueKeys(queue), Lease: token, LeaseMS: d.Milliseconds(),
	}, lua.Latch{})
	switch {
	case err != nil:
		q.leases.unclaim(x)
		return LeaseOutcome{}, 0, failed("queue "+queue+": renew", err)
	case out.Value != lua.QueueLeaseHeld:
		q.leases.lose(x, ReasonExpired)
		return LeaseOutcome{Reason: ReasonExpired}, 0, nil
	}
	q.leases.extend(x, d, renewal{sent: out.Sent})
	return LeaseOutcome{Done: true, Reason: ReasonRenewed}, left(d.Milliseconds(), out.Sent), nil
}
