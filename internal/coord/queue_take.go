package coord

import (
	"context"
	"errors"
	"time"

	"github.com/coxswain-sidecar/coxswain/internal/lua"
	"github.com/coxswain-sidecar/coxswain/internal/redis"
)

// DequeueRequest asks for the first entry of a queue.
type DequeueRequest struct {
	Queue string
	// Wait is how long to wait for one, no longer than the call's deadline.
	Wait time.Duration
	// Lease is how long it is the caller's to acknowledge; 0 = it leaves the queue.
	Lease time.Duration
	// Bound binds the lease to the caller's session.
	Bound bool
}

// Dequeued is an entry, or that there is none.
type Dequeued struct {
	Found   bool
	ID      string
	Body    []byte
	Lease   string // empty for one that left the queue
	Attempt int64  // from 1
	Came    time.Time
	Depth   int64 // without it
	// RetryAfter is 0 when one was found, else when a lease ends, or when to ask
	// again.
	RetryAfter time.Duration
	// Waited is from when the call came to when the try that decided was sent.
	Waited   time.Duration
	Replayed bool
	// Reason is empty, busy, released or expired when none was found.
	Reason string
}

// Dequeue takes the first entry of a queue, in the caller's turn. Each call takes
// one, whatever becomes of its replies on their way from Redis: its token is
// what its tries are known by.
//
// An entry of which the caller does not hear goes back to its place. A repeated
// request id answers the entry that the call before took, unless it went back.
func (q *Queues) Dequeue(ctx context.Context, c Caller, r DequeueRequest) (Dequeued, error) {
	return Await(func(done func(Dequeued, error)) { q.DequeueThen(ctx, c, r, done) })
}

// DequeueThen is Dequeue as AcquireThen is Acquire of Locks.
func (q *Queues) DequeueThen(ctx context.Context, c Caller, r DequeueRequest, done func(Dequeued, error)) {
	err := checkDequeue(c, r)
	if err == nil {
		err = q.leases.admit("queue " + r.Queue + ": dequeue")
	}
	if err != nil {
		done(Dequeued{}, err)
		return
	}
	came := time.Now()
	q.dequeue(ctx, c, r, func(d Dequeued, sent time.Time, err error) {
		if r.Wait > 0 {
			d.Waited = q.leases.waited(ctx, nounQueue, came, sent, d.Found, err)
		}
		if d.Found && !d.Replayed {
			q.leases.tel.QueueEntries(ctx, "dequeued", 1)
		}
		done(d, err)
	})
}

func checkDequeue(c Caller, r DequeueRequest) error {
	if err := checkText("queue", r.Queue); err != nil {
		return err
	}
	if r.Lease != 0 {
		if err := checkLease(r.Lease); err != nil {
			return err
		}
	} else if r.Bound {
		return invalid("lease_ms: missing; what is bound to the session needs one of 100 or more")
	}
	if err := checkBound(c, r.Bound, "lease"); err != nil {
		return err
	}
	return checkWait(r.Wait)
}

func checkLease(d time.Duration) error {
	if d < minLockTTL || d > maxLockTTL {
		return invalid("lease_ms: %d is out of range; use %d to %d", d.Milliseconds(), minLockTTL.Milliseconds(), maxLockTTL.Milliseconds())
	}
	return nil
}

// dequeue is DequeueThen of what was checked. It also tells when the try that
// decided was sent.
func (q *Queues) dequeue(ctx context.Context, c Caller, r DequeueRequest, done func(Dequeued, time.Time, error)) {
	x := &lease{leaseID: leaseID{nounQueue, r.Queue, makeToken(c, nounQueue, r.Queue)}, ttl: r.Lease, kind: q}
	if r.Bound {
		x.session = c.Session
	}
	in := lua.QueueDequeueIn{
		Queue: q.keys.queueKeys(r.Queue), LineKeys: q.keys.queueLine(r.Queue), Taken: q.keys.queueTaken(r.Queue, x.token),
		Lease: x.token, LeaseMS: r.Lease.Milliseconds(), KeepMS: keepTaken.Milliseconds(), Inboxes: q.keys.inboxes(),
	}
	in.Session, x.owner = c.sessionID(), c.sessionID()
	if c.RequestID != "" {
		in.KeepMS = keepReplayed.Milliseconds()
	}
	q.take(ctx, r.Wait, &in, latch(in.Queue.Order, c), func(out lua.Outcome[lua.QueueDequeueOut], waiter string, err error) {
		var d Dequeued
		switch {
		case err != nil:
			q.leases.unsure(ctx, c, x, true, waiter, err)
			err = failed("queue "+r.Queue+": dequeue", err)
		case out.Replayed:
			d, err = q.replay(ctx, c, r, in, x, out.Value)
		case !out.Value.Found:
			d = nothingFor(out.Value)
		default:
			d, err = q.give(ctx, r, in, x, out.Value, out.Sent)
		}
		done(d, out.Sent, err)
	})
}

// take asks once, or stands in line. The waiter, if there was one, may still be
// in the line after an error.
func (q *Queues) take(
	ctx context.Context, wait time.Duration, in *lua.QueueDequeueIn, once lua.Latch,
	done func(out lua.Outcome[lua.QueueDequeueOut], waiter string, err error),
) {
	var out lua.Outcome[lua.QueueDequeueOut]
	run := func(ctx context.Context) (err error) {
		for { // each run removes as many as it may, and there is an end to them
			out, err = lua.Run(ctx, q.runner, lua.QueueDequeue, *in, once)
			if err == nil && !out.Replayed {
				q.tidied(ctx, out.Value.QueueTidied)
			}
			if err != nil || out.Replayed || !out.Value.More {
				return err
			}
		}
	}
	// The last try of which it is not known whether it took an entry.
	var doubt error
	q.lines.stand(ctx, in.LineKeys, wait, func(ctx context.Context, at place) (look, error) {
		in.Waiter, in.BeatMS = at.waiter, at.beat.Milliseconds()
		err := run(ctx)
		if err == nil || errors.Is(err, redis.ErrMaybeExecuted) {
			doubt = err
		}
		v := out.Value
		return look{served: v.Found || out.Replayed, first: v.First, free: time.Duration(v.LeaseEndsMS) * time.Millisecond}, err
	}, func(waiter string, err error) {
		if err != nil && doubt != nil && !errors.Is(err, redis.ErrMaybeExecuted) {
			err = errors.Join(err, doubt)
		}
		done(out, waiter, err)
	})
}

// nothingFor is the answer to who gets no entry.
func nothingFor(v lua.QueueDequeueOut) Dequeued {
	d := Dequeued{Depth: v.Depth, Reason: ReasonEmpty, RetryAfter: pollEvery}
	if !v.First && v.Depth > 0 {
		d.Reason = ReasonBusy
	}
	if v.LeaseEndsMS > 0 {
		d.RetryAfter = min(pollEvery, time.Duration(v.LeaseEndsMS)*time.Millisecond)
	}
	return d
}

// give answers an entry that was taken by a call sent at that time. When nobody
// hears of it, it goes back, unless a repetition of the call has it by now.
func (q *Queues) give(
	ctx context.Context, r DequeueRequest, in lua.QueueDequeueIn, x *lease, v lua.QueueDequeueOut, sent time.Time,
) (Dequeued, error) {
	if over := ctx.Err(); over != nil {
		q.leases.takeBack(ctx, hold{leaseID: x.leaseID, session: in.Session, kind: q})
		return Dequeued{}, failed("queue "+r.Queue+": dequeue", over)
	}
	if r.Bound {
		if err := q.leases.keep(ctx, x, sent); err != nil {
			return Dequeued{}, err
		}
	}
	d := Dequeued{
		Found: true, ID: v.ID, Body: []byte(v.Body), Attempt: v.Attempt, Came: time.UnixMilli(v.CameMS), Depth: v.Depth,
	}
	if r.Lease > 0 {
		d.Lease = x.token
	}
	return d, nil
}

// replay answers a request id that took an entry before: whether that entry is
// its own still is asked, and from now on it is this session's.
func (q *Queues) replay(
	ctx context.Context, c Caller, r DequeueRequest, in lua.QueueDequeueIn, x *lease, was lua.QueueDequeueOut,
) (Dequeued, error) {
	out, err := lua.Run(ctx, q.runner, lua.QueueReplay, lua.QueueReplayIn{
		Queue: in.Queue, Ended: q.keys.queueEnded(r.Queue), Taken: in.Taken,
		Lease: in.Lease, Session: in.Session, LeaseMS: in.LeaseMS,
	}, lua.Latch{})
	if err != nil {
		q.leases.unsure(ctx, c, x, false, "", err)
		return Dequeued{}, failed("queue "+r.Queue+": replay", err)
	}
	switch out.Value.State {
	case lua.QueueLeaseHeld:
		was.Body = out.Value.Body
		d, err := q.give(ctx, r, in, x, was, out.Sent)
		d.Replayed = err == nil
		return d, err
	case lua.QueueLeaseEnded:
		return Dequeued{Replayed: true, Reason: ReasonReleased}, nil
	default:
		return Dequeued{Replayed: true, Reason: ReasonExpired}, nil
	}
}
