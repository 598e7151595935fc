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
	// maxEntryTTL is how long an entry may wait, as on the wire (api.QueueEnqueueParams).
	maxEntryTTL = 30 * 24 * time.Hour
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
	keys   Keys
	leases *Leases
	lines  *Lines
}

// NewQueues makes the queue noun.
func NewQueues(r *lua.Runner, k Keys, l *Leases, n *Lines) *Queues {
	return &Queues{runner: r, keys: k, leases: l, lines: n}
}

// QueueEntry is what is put into a queue.
type QueueEntry struct {
	Queue, ID string
	TTL       time.Duration
	Body      []byte
}

// Enqueued says where an entry is.
type Enqueued struct {
	New      bool  // its id was not there
	Position int64 // 1 is the first; 0 = someone has it
	Depth    int64
	Replayed bool // it is the answer of an earlier call with the same request id
}

// Enqueue puts an entry at the end of a queue. One whose id is there already
// stays as it is.
func (q *Queues) Enqueue(ctx context.Context, c Caller, e QueueEntry) (Enqueued, error) {
	if err := checkEntry(e); err != nil {
		return Enqueued{}, err
	}
	keys := q.keys.queueKeys(e.Queue)
	out, err := lua.Run(ctx, q.runner, lua.QueueEnqueue, lua.QueueEnqueueIn{
		Queue: keys, LineKeys: q.keys.queueLine(e.Queue),
		ID: e.ID, TTLMS: e.TTL.Milliseconds(), Body: string(e.Body), Inboxes: q.keys.inboxes(),
	}, latchAlways(keys.Order, c))
	if err != nil {
		return Enqueued{}, failed("queue "+e.Queue+": enqueue", err)
	}
	v := out.Value
	if !out.Replayed {
		q.tidied(ctx, v.QueueTidied)
		if v.Enqueued {
			q.leases.tel.QueueEntries(ctx, "enqueued", 1)
		}
	}
	return Enqueued{New: v.Enqueued, Position: v.Position, Depth: v.Depth, Replayed: out.Replayed && c.RequestID != ""}, nil
}

func checkEntry(e QueueEntry) error {
	if err := checkQueued(e.Queue, e.ID); err != nil {
		return err
	}
	if e.TTL < time.Millisecond || e.TTL > maxEntryTTL {
		return invalid("ttl_ms: %d is out of range; use 1 to %d", e.TTL.Milliseconds(), maxEntryTTL.Milliseconds())
	}
	if len(e.Body) > api.MaxBodyBytes {
		return invalid("body: %d bytes are too many; give at most %d, and of what is larger where it is kept", len(e.Body), api.MaxBodyBytes)
	}
	return nil
}

func checkQueued(queue, id string) error {
	if err := checkText("queue", queue); err != nil {
		return err
	}
	return checkText("id", id)
}

// tidied counts what a script found to have ended by itself.
func (q *Queues) tidied(ctx context.Context, t lua.QueueTidied) {
	q.leases.tel.QueueEntries(ctx, "returned", t.Returned)
	q.leases.tel.QueueEntries(ctx, "expired", t.Expired)
}

// EntryPlace is where an entry stands.
type EntryPlace struct {
	State    string // waiting, leased or absent
	Position int64  // 1 is the first; 0 unless it waits
	Depth    int64
}

// Position says where an entry stands.
func (q *Queues) Position(ctx context.Context, queue, id string) (EntryPlace, error) {
	if err := checkQueued(queue, id); err != nil {
		return EntryPlace{}, err
	}
	v, err := q.look(ctx, queue, id, "position")
	return EntryPlace{State: entryState(v.State), Position: v.Position, Depth: v.Depth}, err
}

// QueueStats are counts of one instant.
type QueueStats struct {
	Depth, Leased, Waiting int64
	Oldest                 time.Duration // since the first entry came; 0 when there is none
}

// Stats counts what a queue has.
func (q *Queues) Stats(ctx context.Context, queue string) (QueueStats, error) {
	if err := checkText("queue", queue); err != nil {
		return QueueStats{}, err
	}
	v, err := q.look(ctx, queue, "", "stats")
	return QueueStats{
		Depth: v.Depth, Leased: v.Leased, Waiting: v.Waiting, Oldest: time.Duration(v.OldestMS) * time.Millisecond,
	}, err
}

func (q *Queues) look(ctx context.Context, queue, id, verb string) (lua.QueueLookOut, error) {
	out, err := lua.Run(ctx, q.runner, lua.QueueLook, lua.QueueLookIn{
		Queue: q.keys.queueKeys(queue), Line: q.keys.queueLine(queue).Line, ID: id,
	}, lua.Latch{})
	if err != nil {
		return lua.QueueLookOut{}, failed("queue "+queue+": "+verb, err)
	}
	q.tidied(ctx, out.Value.QueueTidied)
	return out.Value, nil
}

// Cancel takes an entry out of its queue, unless someone has it. It returns what
// it was: waiting, leased or absent.
func (q *Queues) Cancel(ctx context.Context, queue, id string) (state string, err error) {
	if err := checkQueued(queue, id); err != nil {
		return "", err
	}
	out, err := lua.Run(ctx, q.runner, lua.QueueCancel, lua.QueueCancelIn{Queue: q.keys.queueKeys(queue), ID: id}, lua.Latch{})
	if err != nil {
		return "", failed("queue "+queue+": cancel", err)
	}
	q.tidied(ctx, out.Value.QueueTidied)
	return entryState(out.Value.State), nil
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
