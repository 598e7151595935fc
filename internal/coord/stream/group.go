package stream

import (
	"context"
	"math/rand/v2"
	"sync"
	"time"

	"github.com/coxswain-sidecar/coxswain/internal/coord"
	"github.com/coxswain-sidecar/coxswain/internal/lua"
	"github.com/coxswain-sidecar/coxswain/internal/redis"
)

const (
	// maxUnsent bounds the bytes of messages that a group has read and not sent: no more are
	// read while so many wait. One read may pass it, by what messages became larger since
	// the reads before, and by 32 MiB at most: maxRead messages of the largest size.
	maxUnsent = 8 << 20
	// maxRead is how many messages one read takes at most, and maxClaim one claim.
	maxRead  = 64
	maxClaim = 100
	// largest is the most bytes of a message, of which a group is supposed to have none but
	// such until it was read.
	largest = 512 << 10
	// lookEvery is the longest time between two looks for messages that are to be delivered
	// again.
	lookEvery = time.Second
	// reapEvery is how often consumers that are gone for good are removed.
	reapEvery = 10 * time.Minute
	// heardWithin spreads the looks of a fleet that heard of the same message. Of many that
	// it hears of, it looks for no more often than every heardEvery.
	heardWithin = 5 * time.Millisecond
	heardEvery  = 20 * time.Millisecond
	// idleFor is how long a loop goes on after its last user has left: a client that fetches
	// again and again does not open the group each time.
	idleFor = 10 * time.Second
	// keepFor is how long a message waits at most when all that could have taken it have
	// enough, before other sidecars may have it.
	keepFor = 100 * time.Millisecond
)

// The ways by which messages of a group are had. One may fail while the other does not.
const (
	byReading  = iota // new ones
	byClaiming        // those that are to be delivered again
	ways
)

// spread is a time of at most d, by chance.
func spread(d time.Duration) time.Duration { return rand.N(d + 1) }

// group is the part of this sidecar in a group of consumers: one loop for all its connections.
type group struct {
	groupName
	d      *delivery
	leases string // the name of its leases
	keys   Keys
	own    GroupKeys
	key    string        // the field of messages by which it delivers; empty = it has no lanes
	reader *redis.Reader // waits for new messages

	asking sync.Mutex    // makes fetches take turns with asker
	asker  *redis.Reader // does not wait

	giving sync.Mutex     // makes deliver one at a time, so that messages keep their order
	told   []coord.Outlet // of deliver: those that were sent something, until they are flushed

	reapAt, countAt time.Time // of the loop alone

	// more has a token when there may be capacity, look when claiming may be due.
	more, look chan struct{}
	// parked has a token when new messages were put into their lanes, or may be.
	parked chan struct{}

	mu        sync.Mutex // guards what follows
	settings  settings
	users     int // subscriptions that have not left, and fetches
	idle      time.Time
	last      string // the newest message that is known to have been delivered to the group
	subs      []*subscription
	turn      int // of subs: whose turn it is
	fetches   []*fetch
	unsent    []*message
	bytes     int64 // of unsent
	heaviest  int64 // about the most bytes of one message
	flights   map[string]*flight
	lookAt    time.Time
	looked    time.Time
	owed      bool // messages wait that are to be delivered again: they go before new ones
	full      bool // as many messages as may are in lanes
	draining  bool
	reporting [ways]bool // a line of the log says that messages cannot be had this way
	standing  Standing
}

// message is one that was read for the group and that no client was sent so far.
type message struct {
	id, text string
	attempt  int64
	// at is when its delivery was heard of. When Redis made it is not known: the read
	// began up to MostBlock before.
	at time.Time
}

// newGroup makes the loop of a group, which run starts.
func newGroup(d *delivery, n groupName, set settings) *group {
	keys := d.keys.streamKeys(n.stream)
	return &group{
		groupName: n, d: d, leases: n.lease(), keys: keys, own: d.keys.groupKeys(n.stream, n.group), settings: set, key: set.key,
		reader: d.Runner.Reader(keys.Log), asker: d.Runner.Reader(keys.Log),
		more: make(chan struct{}, 1), look: make(chan struct{}, 1), parked: make(chan struct{}, 1),
		last: "0-0", heaviest: largest, flights: make(map[string]*flight), idle: time.Now(),
		reapAt: time.Now().Add(spread(reapEvery)), countAt: time.Now().Add(spread(countEvery)),
	}
}

// close ends the connections.
func (g *group) close() {
	g.reader.Close()
	g.asker.Close()
}

// create makes the group in Redis, if it is not there.
func (g *group) create(ctx context.Context, from string, p lua.Patience) (OpenOut, error) {
	out, err := lua.RunAs(ctx, g.d.Runner, OpenScript, OpenIn{
		Keys: g.keys, GroupKeys: g.own, Group: g.group, From: from, Field: g.key,
	}, lua.StoredReply{}, p)
	return out.Value, err
}

// use adds a user with these settings.
func (g *group) use(set settings) {
	g.mu.Lock()
	defer g.mu.Unlock()
	g.users++
	g.settings = set
}

// leave undoes use.
func (g *group) leave() {
	g.mu.Lock()
	defer g.mu.Unlock()
	g.leaveLocked()
}

func (g *group) leaveLocked() {
	g.users--
	g.idle = time.Now()
}

// unused reports whether nobody has used the group for a while.
func (g *group) unused() bool {
	g.mu.Lock()
	defer g.mu.Unlock()
	return g.users == 0 && time.Since(g.idle) >= idleFor
}

func (g *group) settingsNow() settings {
	g.mu.Lock()
	defer g.mu.Unlock()
	return g.settings
}

func (g *group) unsentBytes() int64 {
	g.mu.Lock()
	defer g.mu.Unlock()
	return g.bytes
}

// remove ends a subscription. It needs mu.
func (g *group) remove(u *subscription) {
	u.ended = true
	for i, other := range g.subs {
		if other == u {
			g.subs = append(g.subs[:i:i], g.subs[i+1:]...)
			break
		}
	}
	g.part(u)
}

// part has a subscription leave that has ended and of which no message is in flight. It
// needs mu.
func (g *group) part(u *subscription) {
	if u.ended && u.joined && u.inFlight == 0 {
		u.joined = false
		u.follows.Leave()
		g.leaveLocked()
	}
}

// land ends the flight of a message, if it is in flight.
func (g *group) land(id string) {
	g.mu.Lock()
	defer g.mu.Unlock()
	if f := g.flights[id]; f != nil {
		g.landed(id, f)
		g.kick()
	}
}

// landed needs mu.
func (g *group) landed(id string, f *flight) {
	delete(g.flights, id)
	f.to.inFlight--
	g.part(f.to)
}

// landAll ends the flights of a subscription and returns the messages. It needs mu.
func (g *group) landAll(u *subscription) (ids []string) {
	for id, f := range g.flights {
		if f.to == u {
			g.landed(id, f)
			ids = append(ids, id)
		}
	}
	return ids
}

// prolong counts an extension of a message that is not bound to a session.
func (g *group) prolong(id string) {
	g.mu.Lock()
	defer g.mu.Unlock()
	if f := g.flights[id]; f != nil {
		f.until = time.Now().Add(f.ttl)
	}
}

// sweep ends flights whose lease has ended in another way than by a call, and returns for how
// long messages of the group are not to be taken from who has them: flights that began with
// settings of before count.
func (g *group) sweep() (visibility time.Duration) {
	now := time.Now()
	g.mu.Lock()
	defer g.mu.Unlock()
	visibility = g.settings.visibility
	freed := false
	for id, f := range g.flights {
		over := now.After(f.until)
		if f.lease != nil {
			over = g.d.Leases.Find(f.lease.ID) != f.lease
		}
		if over {
			g.landed(id, f)
			freed = true
			continue
		}
		visibility = max(visibility, f.ttl)
	}
	if freed {
		g.kick()
	}
	return visibility
}

// capacity is how many messages more could be sent now. It needs mu.
func (g *group) capacity() int {
	if g.draining || g.bytes >= maxUnsent {
		return 0
	}
	n := -len(g.unsent)
	for _, u := range g.subs {
		n += u.free()
	}
	for _, f := range g.fetches {
		n += f.count
	}
	return max(n, 0)
}

// bounded is how many messages to ask for where there is capacity for n. It needs mu.
func (g *group) bounded(n, most int) int {
	return min(n, most, max(int((maxUnsent-g.bytes)/g.heaviest), 1))
}

// weigh counts what a read or a claim returned. It needs mu.
func (g *group) weigh(all []*message) {
	heaviest := max(g.heaviest/4, 1<<10) // one read of small messages says little of the next
	for _, m := range all {
		heaviest = max(heaviest, int64(len(m.text)))
		if later(m.id, g.last) {
			g.last = m.id
		}
	}
	if len(all) > 0 {
		g.heaviest = heaviest
	}
}

// keep puts messages behind those that are to be sent.
func (g *group) keep(all []*message) {
	g.mu.Lock()
	defer g.mu.Unlock()
	g.weigh(all)
	for _, m := range all {
		g.bytes += int64(len(m.text))
	}
	g.unsent = append(g.unsent, all...)
}

// kick has the loop see whether there is capacity. It needs mu.
func (g *group) kick() {
	signal(g.more)
	if g.owed || len(g.unsent) > 0 {
		signal(g.look)
	}
}

func signal(c chan struct{}) {
	select {
	case c <- struct{}{}:
	default: // it has been told
	}
}

// lookBy has the loop look for messages that are to be delivered again at that time, unless
// it does so before.
func (g *group) lookBy(at time.Time) {
	g.mu.Lock()
	defer g.mu.Unlock()
	if at.Before(g.lookAt) {
		g.lookAt = at
		signal(g.look)
	}
}

// hear is told that messages may be there that are to be delivered again.
func (g *group) hear() {
	g.mu.Lock()
	at := g.looked.Add(heardEvery)
	if g.capacity() == 0 {
		g.owed = true
		at = g.lookAt
	}
	g.mu.Unlock()
	if soon := time.Now().Add(spread(heardWithin)); soon.After(at) {
		at = soon
	}
	g.lookBy(at)
}

// drain ends delivering.
func (g *group) drain() {
	g.mu.Lock()
	g.draining = true
	for _, f := range g.fetches {
		close(f.done)
	}
	g.fetches = nil
	signal(g.look)
	g.mu.Unlock()
}
