package queue

import (
	"context"

	"github.com/coxswain-sidecar/coxswain/client/api"
	"github.com/coxswain-sidecar/coxswain/internal/coord"
)

// listedHolders is the most holders of entries that a list returns of each queue.
const listedHolders = 3

// List lists the queues that have entries, waiting or leased, and those that calls wait for, as coord.Listing does.
func (q *Queues) List(ctx context.Context, _ coord.Caller, p *api.QueueListParams) (r api.QueueListResult, err error) {
	r.Queues, r.Cursor, err = q.listing(p.State).Page(ctx, p.Cursor, p.Count)
	return r, err
}

func (q *Queues) listing(state string) coord.Listing[api.QueueListed] {
	return coord.Listing[api.QueueListed]{
		Runner: q.runner, Method: api.QueueList.Name, Pattern: q.keys.Pattern(foundBy),
		Read: func(ctx context.Context, keys []string) ([]api.QueueListed, error) {
			return coord.ReadEach(ctx, q.runner, LookScript, keys, func(key string) (LookIn, bool) {
				name, _, ok := q.found(key)
				return LookIn{Queue: q.keys.queueKeys(name), Line: q.keys.queueLine(name).Line, Most: listedHolders}, ok
			}, func(key string, v LookOut) (api.QueueListed, bool) {
				q.tidied(ctx, v.Tidied)
				return q.listed(key, v, state)
			})
		},
	}
}

// found returns the name of the queue of a key, and whether the key is that of its waiting line. ok is false if the
// key is of neither kind by which queues are found.
func (q *Queues) found(key string) (name string, line, ok bool) {
	if name, ok = q.keys.NameOf(key, kindEntries); ok {
		return name, false, true
	}
	name, ok = q.keys.NameOf(key, kindLine)
	return name, true, ok
}

// listed makes the row of a queue. A queue that has both keys is listed once, for the key of its entries.
func (q *Queues) listed(key string, v LookOut, state string) (api.QueueListed, bool) {
	name, line, _ := q.found(key)
	row := api.QueueListed{Queue: name, Depth: v.Depth, Leased: v.Leased, Waiting: v.Waiting, OldestMS: v.OldestMS}
	for _, h := range v.Holders {
		row.Holders = append(row.Holders, api.QueueHolder{
			ID: h.ID, Attempt: h.Tries, LeftMS: coord.WaitMS(h.LeftUS), Session: h.Session,
		})
	}
	switch has := v.Depth+v.Leased > 0; {
	case has == line, !has && v.Waiting == 0:
		return row, false
	case state == api.QueueEntries:
		return row, v.Depth > 0
	case state == api.QueueLeased:
		return row, v.Leased > 0
	case state == api.QueueEmpty:
		return row, v.Depth == 0
	default:
		return row, true
	}
}
