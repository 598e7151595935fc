package clienttest

import (
	"cmp"
	"slices"
	"time"

	"github.com/coxswain-sidecar/coxswain/client/api"
)

// queue has the waiting entries of a queue, in the order in which they were added, and the leased ones. An
// entry whose lease ended returns to its place, before all entries that were added after it.
type queue struct {
	entries []*entry
	leased  []*entry
}

type entry struct {
	number  uint64
	id      string
	body    []byte
	came    time.Time
	ends    time.Time     // when it expires, while it waits
	left    time.Duration // of its TTL, while it is leased
	attempt int64
}

func queueMethods(t map[string]method) {
	define(t, api.QueueEnqueue, func(c *call, p *api.QueueEnqueueParams) (api.QueueEnqueueResult, error) {
		s := c.s
		q, now := s.queue(p.Queue), s.now()
		if state, position := q.find(p.ID); state != "absent" {
			return api.QueueEnqueueResult{Position: position, Depth: int64(len(q.entries))}, nil
		}
		s.fences++
		q.entries = append(q.entries, &entry{number: s.fences, id: p.ID, body: p.Body, came: now, ends: now.Add(ms(p.TTLMS))})
		n := int64(len(q.entries))
		return api.QueueEnqueueResult{Enqueued: true, Position: n, Depth: n}, nil
	})
	define(t, api.QueueDequeue, dequeue)
	define(t, api.QueueAck, func(c *call, p *api.QueueLeaseParams) (api.QueueAckResult, error) {
		l := c.s.leased("queue", p.Queue, p.Lease)
		if l == nil {
			if c.s.wasReleased("acked", p.Lease) {
				return api.QueueAckResult{Acked: true, Reason: "acked"}, nil
			}
			return api.QueueAckResult{Reason: "expired"}, nil
		}
		q := c.s.queue(p.Queue)
		q.leased = slices.DeleteFunc(q.leased, func(e *entry) bool { return e == l.entry })
		l.freed = nil
		c.release(l)
		c.s.clocks["ended\x00acked\x00"+p.Lease+"\x00released"] = c.s.now().Add(150 * time.Second)
		return api.QueueAckResult{Acked: true, Reason: "acked"}, nil
	})
	define(t, api.QueueRelease, func(c *call, p *api.QueueLeaseParams) (api.QueueReleaseResult, error) {
		l := c.s.leased("queue", p.Queue, p.Lease)
		if l == nil {
			if c.s.wasReleased("queue", p.Lease) && !c.s.wasReleased("acked", p.Lease) {
				return api.QueueReleaseResult{Released: true, Reason: "released"}, nil
			}
			return api.QueueReleaseResult{Reason: "expired"}, nil
		}
		c.release(l)
		return api.QueueReleaseResult{Released: true, Reason: "released"}, nil
	})
	define(t, api.QueueRenew, func(c *call, p *api.QueueRenewParams) (api.QueueRenewResult, error) {
		l := c.s.leased("queue", p.Queue, p.Lease)
		if l == nil {
			return api.QueueRenewResult{Reason: "expired"}, nil
		}
		c.s.renew(l, ms(p.LeaseMS))
		return api.QueueRenewResult{Renewed: true, LeaseMS: millis(c.s.left(l)), Reason: "renewed"}, nil
	})
	define(t, api.QueuePosition, func(c *call, p *api.QueueEntryParams) (api.QueuePositionResult, error) {
		q := c.s.queue(p.Queue)
		state, position := q.find(p.ID)
		return api.QueuePositionResult{State: state, Position: position, Depth: int64(len(q.entries))}, nil
	})
	define(t, api.QueueCancel, func(c *call, p *api.QueueEntryParams) (api.QueueCancelResult, error) {
		q := c.s.queue(p.Queue)
		state, _ := q.find(p.ID)
		if state == "waiting" {
			q.entries = slices.DeleteFunc(q.entries, func(e *entry) bool { return e.id == p.ID })
		}
		return api.QueueCancelResult{Cancelled: state == "waiting", State: state}, nil
	})
	define(t, api.QueueStats, func(c *call, p *api.QueueParams) (api.QueueStatsResult, error) {
		return c.s.queueStats(p.Queue), nil
	})
	define(t, api.QueueList, func(c *call, p *api.QueueListParams) (api.QueueListResult, error) {
		s, all := c.s, make(map[string]bool)
		for name := range s.queues {
			st := s.queueStats(name)
			switch {
			case st.Depth+st.Leased+st.Waiting == 0, p.State == api.QueueEntries && st.Depth == 0, p.State == api.QueueLeased && st.Leased == 0,
				p.State == api.QueueEmpty && st.Depth > 0:
			default:
				all[name] = true
			}
		}
		r := api.QueueListResult{Queues: []api.QueueListed{}}
		var names []string
		names, r.Cursor = page(all, p.Cursor, p.Count)
		for _, name := range names {
			st := s.queueStats(name)
			listed := api.QueueListed{
				Queue: name, Depth: st.Depth, Leased: st.Leased, Waiting: st.Waiting, OldestMS: st.OldestMS, Holders: []api.QueueHolder{},
			}
			for _, l := range s.of("queue", name) {
				listed.Holders = append(listed.Holders, api.QueueHolder{
					ID: l.entry.id, Attempt: l.entry.attempt, LeftMS: millis(s.left(l)), Session: l.from.id,
				})
			}
			listed.Holders = listed.Holders[:min(len(listed.Holders), 3)]
			r.Queues = append(r.Queues, listed)
		}
		return r, nil
	})
}

// queue returns a queue, from which it has removed expired entries.
func (s *Sidecar) queue(name string) *queue {
	if s.queues[name] == nil {
		s.queues[name] = new(queue)
	}
	q, now := s.queues[name], s.now()
	q.entries = slices.DeleteFunc(q.entries, func(e *entry) bool { return !now.Before(e.ends) })
	return q
}

func (q *queue) find(id string) (state string, position int64) {
	for i, e := range q.entries {
		if e.id == id {
			return "waiting", int64(i) + 1
		}
	}
	if slices.ContainsFunc(q.leased, func(e *entry) bool { return e.id == id }) {
		return "leased", 0
	}
	return "absent", 0
}

func (s *Sidecar) queueStats(name string) api.QueueStatsResult {
	q := s.queue(name)
	r := api.QueueStatsResult{Depth: int64(len(q.entries)), Leased: int64(len(q.leased)), Waiting: int64(len(s.lines["queue:"+name]))}
	if len(q.entries) > 0 {
		r.OldestMS = millis(s.now().Sub(q.entries[0].came))
	}
	return r
}

func dequeue(c *call, p *api.QueueDequeueParams) (api.QueueDequeueResult, error) {
	s := c.s
	if p.LeaseMS > 0 && p.LeaseMS < 100 {
		return api.QueueDequeueResult{}, invalid("lease_ms: give at least 100, or 0 for none")
	}
	var r api.QueueDequeueResult
	waited, err := c.stand("queue:"+p.Queue, p.WaitMS, func(turn bool) (bool, time.Duration) {
		q := s.queue(p.Queue)
		if len(q.entries) == 0 || !turn {
			r = api.QueueDequeueResult{Depth: int64(len(q.entries)), RetryAfterMS: 1000, Reason: "empty"}
			if len(q.entries) > 0 {
				r.Reason = "busy"
			}
			for _, l := range s.of("queue", p.Queue) {
				r.RetryAfterMS = min(r.RetryAfterMS, max(millis(s.left(l)), 1))
			}
			return false, time.Hour
		}
		e := q.entries[0]
		q.entries = q.entries[1:]
		e.attempt++
		r = api.QueueDequeueResult{
			Found: true, ID: e.id, Body: e.body, Attempt: e.attempt, EnqueuedAtMS: e.came.UnixMilli(), Depth: int64(len(q.entries)),
		}
		if p.LeaseMS > 0 {
			l := c.grant("queue", p.Queue, "", p.Bind, ms(p.LeaseMS))
			l.entry, r.Lease = e, l.token
			e.left = e.ends.Sub(s.now())
			q.leased = append(q.leased, e)
			l.freed = func() { s.comesBack(q, e) }
		}
		return true, 0
	})
	r.WaitedMS = waited
	return r, err
}

// comesBack returns an entry whose lease has ended to its place in the queue, before all entries that were added
// after it.
func (s *Sidecar) comesBack(q *queue, e *entry) {
	q.leased = slices.DeleteFunc(q.leased, func(x *entry) bool { return x == e })
	e.ends = s.now().Add(e.left)
	at, _ := slices.BinarySearchFunc(q.entries, e.number, func(x *entry, n uint64) int { return cmp.Compare(x.number, n) })
	q.entries = slices.Insert(q.entries, at, e)
}
