package queue_test

import (
	"cmp"
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	"pgregory.net/rapid"

	"github.com/coxswain-sidecar/coxswain/internal/coord/queue"
	"github.com/coxswain-sidecar/coxswain/internal/luatest"
)

// modelQueue is a queue as the specification describes it: entries in the order in which they came, some of them
// leased. In the model, leases and entries end exactly at their time; the scripts notice it when they run.
type modelQueue struct {
	entries           []*modelEntry
	serial            int64
	taken             map[string]*modelTaken // by lease: the entries that left the queue
	said              map[string]bool        // a or r and the lease: those that were acknowledged or given back
	returned, expired int64                  // by time, since the start
}

type modelEntry struct {
	id, body       string
	serial, came   int64
	patience       int64 // how long it may still wait, as of since
	since          int64 // when it came, came back, or was leased
	attempts       int64
	lease, session string // empty lease = it waits
	leaseEnds      int64
}

type modelTaken struct {
	entry   modelEntry // as it was before it was taken
	expires int64      // when it would have expired
	session string
	forgets int64
}

// settle ends all leases and entries whose time is over by now.
func (m *modelQueue) settle(now int64) {
	m.entries = slices.DeleteFunc(m.entries, func(e *modelEntry) bool {
		if e.lease != "" && e.leaseEnds <= now {
			e.lease, e.session, e.since, e.leaseEnds = "", "", e.leaseEnds, 0
			m.returned++
		}
		if e.lease == "" && e.since+e.patience <= now {
			m.expired++
			return true
		}
		return false
	})
	slices.SortFunc(m.entries, func(a, b *modelEntry) int { return cmp.Compare(a.serial, b.serial) })
}

func (m *modelQueue) of(id string) *modelEntry {
	return m.by(func(e *modelEntry) bool { return e.id == id })
}

func (m *modelQueue) leasedBy(token string) *modelEntry {
	return m.by(func(e *modelEntry) bool { return e.lease == token && token != "" })
}

func (m *modelQueue) by(says func(*modelEntry) bool) *modelEntry {
	if i := slices.IndexFunc(m.entries, says); i >= 0 {
		return m.entries[i]
	}
	return nil
}

func (m *modelQueue) waiting() (all []*modelEntry) {
	for _, e := range m.entries {
		if e.lease == "" {
			all = append(all, e)
		}
	}
	return all
}

func (m *modelQueue) position(id string) int64 {
	return int64(slices.IndexFunc(m.waiting(), func(e *modelEntry) bool { return e.id == id }) + 1)
}

func (m *modelQueue) drop(gone *modelEntry) {
	m.entries = slices.DeleteFunc(m.entries, func(e *modelEntry) bool { return e == gone })
}

func (e *modelEntry) state() queue.EntryState {
	switch {
	case e == nil:
		return queue.Absent
	case e.lease == "":
		return queue.Waiting
	default:
		return queue.Leased
	}
}

// queueRun is one random history of a queue, run on Redis and on the model.
type queueRun struct {
	s        *luatest.Store
	name     string
	m        modelQueue
	now      int64
	forgets  int64 // when the keys of the queue expire, 0 = there are none
	silence  int64 // when the key of ended leases expires
	told     queue.Tidied
	timeline []string
}

func (p *queueRun) say(format string, args ...any) {
	p.timeline = append(p.timeline, fmt.Sprintf("at %s ", time.Duration(p.now-luatest.Epoch)*time.Microsecond)+fmt.Sprintf(format, args...))
}

func (p *queueRun) story() string { return strings.Join(p.timeline, "\n") }

func (p *queueRun) ended() string             { return p.name + ":ended" }
func (p *queueRun) taken(token string) string { return p.name + ":taken:" + token }

// wrote records when the keys expire, and requires that they outlive every entry and lease.
func (p *queueRun) wrote(t *rapid.T) {
	for _, key := range p.all() {
		if ttl := p.s.TTL(key); ttl > 0 {
			p.forgets = p.now + ttl.Microseconds()
		}
	}
	for _, e := range p.m.entries {
		require.Greater(t, p.forgets, max(e.since, e.leaseEnds)+e.patience, "%s would go too early: %s", e.id, p.story())
	}
}

func (p *queueRun) tidied(t *rapid.T, n queue.Tidied) {
	p.told.Returned += n.Returned
	p.told.Expired += n.Expired
	p.wrote(t)
}

// pass moves the clock forward, sometimes exactly to the end of an entry or a lease, or just before it.
func (p *queueRun) pass(t *rapid.T) {
	d := rapid.SampledFrom([]int64{1, 100_000, 4_999_999, 12_000_000}).Draw(t, "us")
	if len(p.m.entries) > 0 && rapid.Bool().Draw(t, "to an end") {
		e := rapid.SampledFrom(p.m.entries).Draw(t, "whose")
		end := e.since + e.patience
		if e.lease != "" {
			end = e.leaseEnds
		}
		d = max(end-rapid.Int64Range(0, 1).Draw(t, "just before")-p.now, 0)
	} else if p.forgets > p.now && rapid.IntRange(0, 9).Draw(t, "to the end of all") == 0 {
		d = p.forgets - p.now
	}
	p.now += d
	p.m.settle(p.now)
	p.forget(t)
}

// forget deletes the keys whose TTL is over.
func (p *queueRun) forget(t *rapid.T) {
	if p.forgets > 0 && p.now >= p.forgets {
		require.Empty(t, p.m.entries, "the keys went too early: %s", p.story())
		for _, key := range p.all() {
			p.s.Del(t, key)
		}
		p.forgets, p.told = 0, queue.Tidied{Returned: p.m.returned, Expired: p.m.expired}
		p.say("redis forgets the queue")
	}
	if p.silence > 0 && p.now >= p.silence {
		p.s.Del(t, p.ended())
		p.m.said, p.silence = map[string]bool{}, 0
	}
	for lease, x := range p.m.taken {
		if p.now >= x.forgets {
			p.s.Del(t, p.taken(lease))
			delete(p.m.taken, lease)
		}
	}
}

// said records that a lease's holder acknowledged its entry or gave it back.
func (p *queueRun) said(how, token string) {
	p.m.said[how+token] = true
	p.silence = p.now + 150_000_000
}

func (p *queueRun) enqueue(t *rapid.T, id, body string, ttl int64) {
	p.say("enqueue %s %q for %dms", id, body, ttl)
	e := p.m.of(id)
	isNew := e == nil
	if isNew {
		p.m.serial++
		e = &modelEntry{id: id, body: body, serial: p.m.serial, came: p.now, patience: ttl * 1000, since: p.now}
		p.m.entries = append(p.m.entries, e)
	}
	got := luatest.Call(t, p.s, queue.EnqueueScript, p.now, queue.EnqueueIn{
		Queue: p.keys(), LineKeys: p.line(), ID: id, TTLMS: ttl, Body: body, Inboxes: "inbox:",
	})
	p.tidied(t, got.Tidied)
	got.Tidied = queue.Tidied{}
	require.Equal(t, queue.EnqueueOut{
		Enqueued: isNew, Position: p.m.position(id), Depth: int64(len(p.m.waiting())),
	}, got, "%s", p.story())
}

func (p *queueRun) dequeue(t *rapid.T, lease, session string, ms int64) (found bool) {
	p.say("dequeue %s %s for %dms", lease, session, ms)
	const keep = 75_000
	got := luatest.Call(t, p.s, queue.DequeueScript, p.now, queue.DequeueIn{
		Queue: p.keys(), LineKeys: p.line(), Taken: p.taken(lease), Lease: lease, LeaseMS: ms, Session: session,
		KeepMS: keep, Inboxes: "inbox:",
	})
	defer func(n queue.Tidied) { p.tidied(t, n) }(got.Tidied)
	got.Tidied = queue.Tidied{}
	want := queue.DequeueOut{First: true, Depth: int64(len(p.m.waiting()))}
	e, x, waiting := p.m.leasedBy(lease), p.m.taken[lease], p.m.waiting()
	switch {
	case e == nil && x != nil:
		e = &x.entry
		want.Attempt, want.Depth, got.Depth = e.attempts+1, 0, 0
	case e != nil:
		// The entry is returned again, and the script does not look at the others.
		want.Attempt, want.Depth, got.Depth = e.attempts, 0, 0
	case len(waiting) == 0:
		want.LeaseEndsMS = p.firstEnd()
		require.Equal(t, want, got, "%s", p.story())
		return false
	default:
		e = waiting[0]
		want.Attempt, want.Depth = e.attempts+1, int64(len(waiting)-1)
		p.hand(e, lease, session, ms, keep)
	}
	want.Found, want.ID, want.CameMS, want.Body = true, e.id, e.came/1000, e.body
	require.Equal(t, want, got, "%s", p.story())
	return true
}

// hand gives an entry to a caller.
func (p *queueRun) hand(e *modelEntry, lease, session string, ms, keep int64) {
	if ms == 0 {
		p.m.drop(e)
		p.m.taken[lease] = &modelTaken{entry: *e, expires: e.since + e.patience, session: session, forgets: p.now + keep*1000}
		return
	}
	e.patience -= p.now - e.since
	e.since, e.lease, e.session, e.leaseEnds = p.now, lease, session, p.now+ms*1000
	e.attempts++
}

// firstEnd returns the time until the first lease ends, 0 = there is no lease.
func (p *queueRun) firstEnd() (ms int64) {
	for _, e := range p.m.entries {
		if left := luatest.CeilMS(e.leaseEnds - p.now); e.lease != "" && (ms == 0 || left < ms) {
			ms = left
		}
	}
	return ms
}

func (p *queueRun) ack(t *rapid.T, token string) {
	p.say("ack %s", token)
	want := queue.LeaseGone
	if e := p.m.leasedBy(token); e != nil {
		want = queue.LeaseHeld
		p.m.drop(e)
		p.said("a", token)
	} else if p.m.said["a"+token] {
		want = queue.LeaseEnded
	}
	got := luatest.Call(t, p.s, queue.AckScript, p.now, queue.AckIn{Queue: p.keys(), Ended: p.ended(), Lease: token})
	require.Equal(t, want, got, "%s", p.story())
	p.wrote(t)
}

func (p *queueRun) release(t *rapid.T, lease, session string) {
	p.say("release %s %s", lease, session)
	want := queue.LeaseGone
	e, x := p.m.leasedBy(lease), p.m.taken[lease]
	switch {
	case e != nil && session != "" && e.session != session, e == nil && x != nil && session != "" && x.session != session:
		want = queue.LeaseMoved
	case e != nil:
		want = queue.LeaseHeld
		e.lease, e.session, e.since, e.leaseEnds = "", "", p.now, 0
		p.said("r", lease)
	case x != nil:
		want = queue.LeaseHeld
		delete(p.m.taken, lease)
		if p.m.of(x.entry.id) == nil {
			back := x.entry
			back.since, back.patience = p.now, x.expires-p.now
			p.m.entries = append(p.m.entries, &back)
		}
		p.said("r", lease)
	case p.m.said["r"+lease]:
		want = queue.LeaseEnded
	}
	got := luatest.Call(t, p.s, queue.ReleaseScript, p.now, queue.ReleaseIn{
		Queue: p.keys(), LineKeys: p.line(), Ended: p.ended(), Taken: p.taken(lease), Lease: lease, Session: session, Inboxes: "inbox:",
	})
	require.Equal(t, want, got, "%s", p.story())
	p.wrote(t)
	p.m.settle(p.now)
}

func (p *queueRun) renew(t *rapid.T, lease, session string, ms int64) {
	p.say("renew %s %s %dms", lease, session, ms)
	want := queue.LeaseGone
	if e := p.m.leasedBy(lease); e != nil && session != "" && e.session != session {
		want = queue.LeaseMoved
	} else if e != nil {
		want = queue.LeaseHeld
		if session == "" {
			e.leaseEnds = 0 // the owner's own renewal may shorten it
		}
		e.leaseEnds = max(e.leaseEnds, p.now+ms*1000)
	}
	got := luatest.Call(t, p.s, queue.RenewScript, p.now, queue.RenewIn{Queue: p.keys(), Lease: lease, Session: session, LeaseMS: ms})
	require.Equal(t, want, got, "%s", p.story())
	p.wrote(t)
}

func (p *queueRun) replay(t *rapid.T, lease, session string, ms int64) {
	p.say("replay %s %s %dms", lease, session, ms)
	want := queue.ReplayOut{}
	if e, x := p.m.leasedBy(lease), p.m.taken[lease]; e != nil {
		e.session, e.leaseEnds = session, max(e.leaseEnds, p.now+ms*1000)
		want = queue.ReplayOut{State: queue.LeaseHeld, Body: e.body}
	} else if x != nil {
		x.session, x.forgets = session, p.now+150_000_000
		want = queue.ReplayOut{State: queue.LeaseHeld, Body: x.entry.body}
	} else if p.m.said["a"+lease] || p.m.said["r"+lease] {
		want.State = queue.LeaseEnded
	}
	got := luatest.Call(t, p.s, queue.ReplayScript, p.now, queue.ReplayIn{
		Queue: p.keys(), Ended: p.ended(), Taken: p.taken(lease), Lease: lease, Session: session, LeaseMS: ms,
	})
	require.Equal(t, want, got, "%s", p.story())
	p.wrote(t)
}

func (p *queueRun) cancel(t *rapid.T, id string) {
	p.say("cancel %s", id)
	e := p.m.of(id)
	want := e.state()
	if want == queue.Waiting {
		p.m.drop(e)
	}
	got := luatest.Call(t, p.s, queue.CancelScript, p.now, queue.CancelIn{Queue: p.keys(), ID: id})
	p.tidied(t, got.Tidied)
	require.Equal(t, want, got.State, "%s", p.story())
}

// look compares all that can be seen of an entry, and of the queue.
func (p *queueRun) look(t *rapid.T, id string) {
	p.say("look for %q", id)
	got := luatest.Call(t, p.s, queue.LookScript, p.now, queue.LookIn{Queue: p.keys(), Line: p.line().Line, ID: id})
	p.tidied(t, got.Tidied)
	got.Tidied = queue.Tidied{}
	waiting := p.m.waiting()
	want := queue.LookOut{
		State: p.m.of(id).state(), Position: p.m.position(id), Depth: int64(len(waiting)), Leased: int64(len(p.m.entries) - len(waiting)),
	}
	if len(waiting) > 0 {
		want.OldestMS = (p.now - waiting[0].came) / 1000
	}
	require.Equal(t, want, got, "%s", p.story())
	if len(p.m.entries) == 0 {
		for _, key := range p.all() {
			require.Equal(t, "none", p.s.Raw(t, key), "%s of an empty queue: %s", key, p.story())
		}
	}
}

// end looks at all entries, and takes those that are left, in their order. Whatever ended by time has been counted
// once by then, except for an entry that was put back while another one had its id.
func (p *queueRun) end(t *rapid.T, ids []string) {
	for _, id := range append([]string{""}, ids...) {
		p.look(t, id)
	}
	require.LessOrEqual(t, p.told.Returned, p.m.returned, "%s", p.story())
	require.LessOrEqual(t, p.told.Expired, p.m.expired, "%s", p.story())
	if !strings.Contains(p.story(), "release") {
		require.Equal(t, queue.Tidied{Returned: p.m.returned, Expired: p.m.expired}, p.told, "%s", p.story())
	}
	for i := 0; p.dequeue(t, fmt.Sprint("last", i), "", 1000); i++ {
		p.now++
		p.m.settle(p.now)
	}
}

func (p *queueRun) clear(t *rapid.T, leases []string) {
	for _, key := range append(p.all(), p.ended()) {
		p.s.Del(t, key)
	}
	for _, lease := range leases {
		p.s.Del(t, p.taken(lease))
	}
}

func TestQueueEqualsTheModel(t *testing.T) {
	t.Parallel()
	ids, leases := []string{"1", "b\x00 2", "3 ", "\xff"}, []string{"lA", "lB", "lC", "lD"}
	luatest.EachStore(t, func(t *testing.T, s *luatest.Store) {
		run := 0
		rapid.Check(t, func(rt *rapid.T) {
			run++
			p := &queueRun{s: s, name: s.Key(fmt.Sprintf("q%d", run)), now: luatest.Epoch}
			p.m.taken, p.m.said = map[string]*modelTaken{}, map[string]bool{}
			defer p.clear(rt, leases)
			for range rapid.IntRange(1, 40).Draw(rt, "steps") {
				id, lease := rapid.SampledFrom(ids).Draw(rt, "id"), rapid.SampledFrom(leases).Draw(rt, "lease")
				session := rapid.SampledFrom([]string{"", "s1", "s2"}).Draw(rt, "session")
				ms := rapid.SampledFrom([]int64{100, 5_000, 30_000}).Draw(rt, "ms")
				switch rapid.IntRange(0, 13).Draw(rt, "step") {
				case 0, 1, 2:
					p.enqueue(rt, id, rapid.SampledFrom([]string{"", "body", "\x00\xff "}).Draw(rt, "body"), ms)
				case 3, 4:
					p.dequeue(rt, lease, session, ms)
				case 5:
					p.dequeue(rt, lease, session, 0)
				case 6:
					p.ack(rt, lease)
				case 7:
					p.release(rt, lease, session)
				case 8:
					p.renew(rt, lease, session, ms)
				case 9:
					p.replay(rt, lease, session, ms)
				case 10:
					p.cancel(rt, id)
				case 11:
					p.look(rt, id)
				default:
					p.pass(rt)
				}
				// No two runs of scripts are at the same instant.
				p.now++
				p.m.settle(p.now)
				p.forget(rt)
			}
			p.end(rt, ids)
		})
	})
}
