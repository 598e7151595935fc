// Package queue has FIFO queues whose entries are leased to the callers that dequeue them.
//
// Its invariant: an entry whose enqueue succeeded leaves the queue only by an ack, a cancel or its TTL; a lease that
// ends in another way puts it back at its place.
package queue

import (
	"context"
	"time"

	"github.com/coxswain-sidecar/coxswain/client/api"
	"github.com/coxswain-sidecar/coxswain/internal/coord"
	"github.com/coxswain-sidecar/coxswain/internal/coord/lease"
	"github.com/coxswain-sidecar/coxswain/internal/lua"
)

// noun is the noun of leases of entries, of losses and metrics.
const noun = "queue"

// The reasons of a dequeue that found nothing, beside those of a lease.
const (
	// ReasonEmpty: there is nothing to take.
	ReasonEmpty = "empty"
	// ReasonAcked: the entry was acknowledged.
	ReasonAcked = "acked"
)

const (
	// keepReplayed is how long an entry that left its queue can be put back or returned again if the call has a
	// request id: as long as stored replies are kept.
	keepReplayed = 150 * time.Second
	// keepTaken is the same for a call without a request id: longer than any call lasts.
	keepTaken = 75 * time.Second
)

// Queues are first in, first out, across all pods. Entries expire, and those
// taken with a lease come back to their place unless they are acknowledged.
type Queues struct {
	runner *lua.Runner
	keys   keys
	leases *lease.Leases
	lines  *lease.Lines

	enqueues coord.Halved[api.QueueEnqueueParams, api.QueueEnqueueResult]
	dequeues dequeues
	acks     coord.Halved[api.QueueLeaseParams, api.QueueAckResult]
	releases coord.Halved[api.QueueLeaseParams, api.QueueReleaseResult]
	renews   coord.Halved[api.QueueRenewParams, api.QueueRenewResult]
}

type dequeues = lease.Acquiring[api.QueueDequeueParams, DequeueOut, api.QueueDequeueResult, dequeuing]

// New makes the queue noun.
func New(r *lua.Runner, k coord.Keys, l *lease.Leases, n *lease.Lines) *Queues {
	q := &Queues{runner: r, keys: keys{k}, leases: l, lines: n}
	q.enqueues = q.enqueuing().Halved()
	q.dequeues = dequeues{
		Open: func(c coord.Caller, p *api.QueueDequeueParams, a *dequeuing) error { return a.open(q, c, p) },
		Of:   func(a *dequeuing) *lease.Acquisition[DequeueOut, api.QueueDequeueResult] { return &a.Acquisition },
	}
	q.acks, q.releases, q.renews = q.acking().Halved(), q.releasing().Halved(), q.renewing().Halved()
	return q
}

// Methods returns the methods of the noun.
func (q *Queues) Methods() []coord.Method {
	byQueue := coord.Named(noun, "queue")
	return []coord.Method{
		coord.On(api.QueueEnqueue, q.Enqueue, coord.Piped, byQueue, q.enqueues.Direct),
		coord.OnParked(api.QueueDequeue, q.DequeueThen, coord.Acquires, coord.Piped, byQueue, q.dequeues.Direct()),
		coord.On(api.QueueAck, q.Ack, coord.Piped, byQueue, q.acks.Direct),
		coord.On(api.QueueRelease, q.Release, coord.Piped, byQueue, q.releases.Direct),
		coord.On(api.QueueRenew, q.Renew, byQueue, q.renews.Direct),
		coord.On(api.QueuePosition, q.Position, byQueue),
		coord.On(api.QueueCancel, q.Cancel, byQueue),
		coord.On(api.QueueStats, q.Stats, byQueue),
		coord.On(api.QueueList, q.List),
	}
}

// Enqueue puts an entry at the end of a queue. One whose id is there already
// stays as it is.
func (q *Queues) Enqueue(ctx context.Context, c coord.Caller, p *api.QueueEnqueueParams) (api.QueueEnqueueResult, error) {
	return q.enqueues.Run(ctx, c, p)
}

// enqueued is what an answer of enqueue needs of its call.
type enqueued struct {
	queue     string
	requestID string
}

func (q *Queues) enqueuing() coord.Single[api.QueueEnqueueParams, EnqueueIn, EnqueueOut, api.QueueEnqueueResult, enqueued] {
	return coord.Single[api.QueueEnqueueParams, EnqueueIn, EnqueueOut, api.QueueEnqueueResult, enqueued]{
		Runner: q.runner, Script: EnqueueScript,
		Ask: func(c coord.Caller, p *api.QueueEnqueueParams, k *enqueued) (ask coord.Question[EnqueueIn], _ coord.Prepared, r api.QueueEnqueueResult, _ error) {
			k.queue, k.requestID = p.Queue, c.RequestID
			keys := q.keys.queueKeys(p.Queue)
			ask.Patience, ask.StoredReply = lua.Patient, coord.StoredReplyAlways(keys.Order, c)
			ask.In = EnqueueIn{
				Queue: keys, LineKeys: q.keys.queueLine(p.Queue),
				ID: p.ID, TTLMS: p.TTLMS, Body: string(p.Body), Inboxes: q.keys.Inboxes(),
			}
			return ask, coord.Asking, r, nil
		},
		Answer: q.enqueued,
	}
}

func (q *Queues) enqueued(
	ctx context.Context, k *enqueued, out lua.Outcome[EnqueueOut], err error,
) (r api.QueueEnqueueResult, _ coord.Rest[api.QueueEnqueueResult], _ error) {
	if err != nil {
		return r, nil, coord.Failed("queue "+k.queue+": enqueue", err)
	}
	v := out.Value
	if !out.Replayed {
		q.tidied(ctx, v.Tidied)
		if v.Enqueued {
			q.leases.Tel.QueueEntries(ctx, "enqueued", 1)
		}
	}
	return api.QueueEnqueueResult{
		Enqueued: v.Enqueued, Position: v.Position, Depth: v.Depth, Replayed: out.Replayed && k.requestID != "",
	}, nil, nil
}

// tidied counts the leases and entries that a script found to have ended by time.
func (q *Queues) tidied(ctx context.Context, t Tidied) {
	q.leases.Tel.QueueEntries(ctx, "returned", t.Returned)
	q.leases.Tel.QueueEntries(ctx, "expired", t.Expired)
}

// Position returns the position of an entry in its queue.
func (q *Queues) Position(ctx context.Context, _ coord.Caller, p *api.QueueEntryParams) (api.QueuePositionResult, error) {
	v, err := q.look(ctx, p.Queue, p.ID, "position")
	if err != nil {
		return api.QueuePositionResult{}, err
	}
	return api.QueuePositionResult{State: entryState(v.State), Position: v.Position, Depth: v.Depth}, nil
}

// Stats counts the entries, leases and waiting calls of a queue.
func (q *Queues) Stats(ctx context.Context, _ coord.Caller, p *api.QueueParams) (api.QueueStatsResult, error) {
	v, err := q.look(ctx, p.Queue, "", "stats")
	if err != nil {
		return api.QueueStatsResult{}, err
	}
	return api.QueueStatsResult{Depth: v.Depth, Leased: v.Leased, Waiting: v.Waiting, OldestMS: v.OldestMS}, nil
}

func (q *Queues) look(ctx context.Context, queue, id, verb string) (LookOut, error) {
	out, err := lua.Run(ctx, q.runner, LookScript, LookIn{
		Queue: q.keys.queueKeys(queue), Line: q.keys.queueLine(queue).Line, ID: id,
	}, lua.StoredReply{})
	if err != nil {
		return LookOut{}, coord.Failed("queue "+queue+": "+verb, err)
	}
	q.tidied(ctx, out.Value.Tidied)
	return out.Value, nil
}

// Cancel removes an entry from its queue, unless it is leased.
func (q *Queues) Cancel(ctx context.Context, _ coord.Caller, p *api.QueueEntryParams) (api.QueueCancelResult, error) {
	out, err := lua.Run(ctx, q.runner, CancelScript, CancelIn{Queue: q.keys.queueKeys(p.Queue), ID: p.ID}, lua.StoredReply{})
	if err != nil {
		return api.QueueCancelResult{}, coord.Failed("queue "+p.Queue+": cancel", err)
	}
	v := out.Value
	q.tidied(ctx, v.Tidied)
	return api.QueueCancelResult{Cancelled: v.State == Waiting, State: entryState(v.State)}, nil
}

// The states of an entry.
const (
	EntryWaiting = "waiting"
	EntryLeased  = "leased"
	EntryAbsent  = "absent"
)

func entryState(s EntryState) string {
	switch s {
	case Waiting:
		return EntryWaiting
	case Leased:
		return EntryLeased
	default:
		return EntryAbsent
	}
}
