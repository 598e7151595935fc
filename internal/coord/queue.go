package coord

import (
	"context"
	"time"

	"github.com/coxswain-sidecar/coxswain/client/api"
	"github.com/coxswain-sidecar/coxswain/internal/lua"
)

// nounQueue is the noun of leases of entries, of losses and metrics.
const nounQueue = "queue"

// The reasons of a dequeue that found nothing, beside those of a lease.
const (
	// ReasonEmpty: there is nothing to take.
	ReasonEmpty = "empty"
	// ReasonAcked: the entry was dealt with.
	ReasonAcked = "acked"
)

const (
	// keepReplayed is how long an entry that left its queue can be put back or told
	// again when the call has a request id: as long as replies are by one.
	keepReplayed = 150 * time.Second
	// keepTaken is how long one can without: longer than any call lasts.
	keepTaken = 75 * time.Second
)

// Queues are first in, first out, across all pods. Entries expire, and those
// taken with a lease come back to their place unless they are acknowledged.
type Queues struct {
	runner *lua.Runner
	keys   queueKeys
	leases *Leases
	lines  *Lines
}

// NewQueues makes the queue noun.
func NewQueues(r *lua.Runner, k Keys, l *Leases, n *Lines) *Queues {
	return &Queues{runner: r, keys: queueKeys{k}, leases: l, lines: n}
}

// Methods are those of the noun.
func (q *Queues) Methods() []Method {
	byQueue := Named(nounQueue, "queue")
	return []Method{
		On(api.QueueEnqueue, q.Enqueue, Piped, byQueue),
		OnParked(api.QueueDequeue, q.DequeueThen, Acquires, Piped, byQueue),
		On(api.QueueAck, q.Ack, Piped, byQueue),
		On(api.QueueRelease, q.Release, Piped, byQueue),
		On(api.QueueRenew, q.Renew, byQueue),
		On(api.QueuePosition, q.Position, byQueue),
		On(api.QueueCancel, q.Cancel, byQueue),
		On(api.QueueStats, q.Stats, byQueue),
	}
}

// Enqueue puts an entry at the end of a queue. One whose id is there already
// stays as it is.
func (q *Queues) Enqueue(ctx context.Context, c Caller, p *api.QueueEnqueueParams) (api.QueueEnqueueResult, error) {
	keys := q.keys.queueKeys(p.Queue)
	out, err := lua.Run(ctx, q.runner, lua.QueueEnqueue, lua.QueueEnqueueIn{
		Queue: keys, LineKeys: q.keys.queueLine(p.Queue),
		ID: p.ID, TTLMS: p.TTLMS, Body: string(p.Body), Inboxes: q.keys.inboxes(),
	}, latchAlways(keys.Order, c))
	if err != nil {
		return api.QueueEnqueueResult{}, Failed("queue "+p.Queue+": enqueue", err)
	}
	v := out.Value
	if !out.Replayed {
		q.tidied(ctx, v.QueueTidied)
		if v.Enqueued {
			q.leases.tel.QueueEntries(ctx, "enqueued", 1)
		}
	}
	return api.QueueEnqueueResult{
		Enqueued: v.Enqueued, Position: v.Position, Depth: v.Depth, Replayed: out.Replayed && c.RequestID != "",
	}, nil
}

// tidied counts what a script found to have ended by itself.
func (q *Queues) tidied(ctx context.Context, t lua.QueueTidied) {
	q.leases.tel.QueueEntries(ctx, "returned", t.Returned)
	q.leases.tel.QueueEntries(ctx, "expired", t.Expired)
}

// Position says where an entry stands.
func (q *Queues) Position(ctx context.Context, _ Caller, p *api.QueueEntryParams) (api.QueuePositionResult, error) {
	v, err := q.look(ctx, p.Queue, p.ID, "position")
	if err != nil {
		return api.QueuePositionResult{}, err
	}
	return api.QueuePositionResult{State: entryState(v.State), Position: v.Position, Depth: v.Depth}, nil
}

// Stats counts what a queue has.
func (q *Queues) Stats(ctx context.Context, _ Caller, p *api.QueueParams) (api.QueueStatsResult, error) {
	v, err := q.look(ctx, p.Queue, "", "stats")
	if err != nil {
		return api.QueueStatsResult{}, err
	}
	return api.QueueStatsResult{Depth: v.Depth, Leased: v.Leased, Waiting: v.Waiting, OldestMS: v.OldestMS}, nil
}

func (q *Queues) look(ctx context.Context, queue, id, verb string) (lua.QueueLookOut, error) {
	out, err := lua.Run(ctx, q.runner, lua.QueueLook, lua.QueueLookIn{
		Queue: q.keys.queueKeys(queue), Line: q.keys.queueLine(queue).Line, ID: id,
	}, lua.Latch{})
	if err != nil {
		return lua.QueueLookOut{}, Failed("queue "+queue+": "+verb, err)
	}
	q.tidied(ctx, out.Value.QueueTidied)
	return out.Value, nil
}

// Cancel takes an entry out of its queue, unless someone has it.
func (q *Queues) Cancel(ctx context.Context, _ Caller, p *api.QueueEntryParams) (api.QueueCancelResult, error) {
	out, err := lua.Run(ctx, q.runner, lua.QueueCancel, lua.QueueCancelIn{Queue: q.keys.queueKeys(p.Queue), ID: p.ID}, lua.Latch{})
	if err != nil {
		return api.QueueCancelResult{}, Failed("queue "+p.Queue+": cancel", err)
	}
	v := out.Value
	q.tidied(ctx, v.QueueTidied)
	return api.QueueCancelResult{Cancelled: v.State == lua.QueueWaiting, State: entryState(v.State)}, nil
}

// The states of an entry.
const (
	EntryWaiting = "waiting"
	EntryLeased  = "leased"
	EntryAbsent  = "absent"
)

func entryState(s lua.QueueEntryState) string {
	switch s {
	case lua.QueueWaiting:
		return EntryWaiting
	case lua.QueueLeased:
		return EntryLeased
	default:
		return EntryAbsent
	}
}
