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
	// maxUnsent bounds the bytes of messages that a group has read and not sent: it reads no
	// more while it has that many. One read can exceed it if messages have become larger since
	// the last read, by 32 MiB at most: maxRead messages of the largest size.
	maxUnsent = 8 << 20
	// maxRead is the most messages that one read takes, maxClaim the most that one claim takes.
	maxRead  = 64
	maxClaim = 100
	// largest is the most bytes of a message: the size that a group assumes of messages until it
	// has read some.
	largest = 512 << 10
	// lookEvery is the longest time between two claims of messages that are to be delivered
	// again.
	lookEvery = time.Second
	// reapEvery is how often consumers that are gone for good are removed.
	reapEvery = 10 * time.Minute
	// signalSpread spreads over time the claims of sidecars that received the same broadcast. A
	// group claims for broadcasts no more often than every signalEvery.
	signalSpread = 5 * time.Millisecond
	signalEvery  = 20 * time.Millisecond
	// idleFor is how long a loop goes on after its last user has left, so that a client that
	// fetches again and again does not open the group each time.
	idleFor = 10 * time.Second
	// keepFor is the longest time that a message is kept here while no user of the group has
	// capacity for it. After that it is given back, so that other sidecars can deliver it.
	keepFor = 100 * time.Millisecond
)

// The ways in which a group gets messages. One can fail while the other works.
const (
	byReading  = iota // new messages
	byClaiming        // messages that are to be delivered again
	ways
)

// spread returns a random duration of at most d.
func spread(d time.Duration) time.Duration { return rand.N(d + 1) }

// group is the part of this sidecar in a group of consumers: one loop for all its connections.
type group struct {
	groupName
	d      *delivery
	leases string // the name of its leases, groupName.lease
	keys   Keys
	own    GroupKeys
	key    string        // the field of messages by which it delivers; empty = it has no lanes
	reader *redis.Reader // blocks until there are new messages

	asking sync.Mutex    // serializes the fetches that use asker
	asker  *redis.Reader // does not block

	sending sync.Mutex     // serializes deliver, so that messages keep their order
	toFlush []coord.Outlet // the outlets that deliver has sent something to and must flush

	reapAt, countAt time.Time // used by the loop's goroutine alone

	// more has an element when there may be capacity, look when a claim may be due.
	more, look chan struct{}
	// parked has an element after readLanes has put the new messages of the stream into their lanes.
	parked chan struct{}

	mu        sync.Mutex // guards what follows
	settings  settings
	users     int       // subscriptions that have not left, and fetches
	idle      time.Time // when the number of users last fell
	last      string    // the newest message that is known to have been delivered to the group
	subs      []*subscription
	turn      int // index into subs: the subscription that was last served
	fetches   []*fetch
	unsent    []*message
	bytes     int64 // of unsent
	heaviest  int64 // an estimate of the most bytes of one message
	flights   map[string]*flight
	lookAt    time.Time // when to claim next
	looked    time.Time // when the last claim began
	retries   bool      // messages wait to be delivered again; they go before new ones
	full      bool      // the lanes have as many messages as they may have
	draining  bool
	reporting [ways]bool // the log reported that messages cannot be got this way
	standing  Standing
}

// message is a message that was read for the group and was not sent to a client yet.
type message struct {
	id, text string
	attempt  int64
	// at is when the sidecar received it. Redis may have delivered it earlier, by MostBlock at
	// most: that long before the read may have begun.
	at time.Time
}

// newGroup makes the loop of a group. The caller starts run.
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

// create makes the group in Redis if it does not exist.
func (g *group) create(ctx context.Context, from string, p lua.Patience) (OpenOut, error) {
	out, err := lua.RunAs(ctx, g.d.Runner, OpenScript, OpenIn{
		Keys: g.keys, GroupKeys: g.own, Group: g.group, From: from, Field: g.key,
	}, lua.StoredReply{}, p)
	return out.Value, err
}

// use adds a user; its settings replace those of the group.
func (g *group) use(set settings) {
	g.mu.Lock()
	defer g.mu.Unlock()
	g.users++
	g.settings = set
}

// leave removes a user.
func (g *group) leave() {
	g.mu.Lock()
	defer g.mu.Unlock()
	g.leaveLocked()
}

func (g *group) leaveLocked() {
	g.users--
	g.idle = time.Now()
}

// unused reports whether the group has had no user for idleFor.
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
	g.leaveIfDone(u)
}

// leaveIfDone makes a subscription leave the group if it has ended and has no message in flight.
// It needs mu.
func (g *group) leaveIfDone(u *subscription) {
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
		g.wake()
	}
}

// landed needs mu.
func (g *group) landed(id string, f *flight) {
	delete(g.flights, id)
	f.to.inFlight--
	g.leaveIfDone(f.to)
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

// prolong notes that the delivery of a message was extended, if it is not bound to a session.
func (g *group) prolong(id string) {
	g.mu.Lock()
	defer g.mu.Unlock()
	if f := g.flights[id]; f != nil {
		f.until = time.Now().Add(f.ttl)
	}
}

// sweep ends the flights whose lease ended without a call, and returns the visibility timeout with
// which to claim: the longest of the settings' and of the flights', which may have begun under
// earlier settings.
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
		g.wake()
	}
	return visibility
}

// capacity returns how many more messages could be sent now. It needs mu.
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

// bounded returns how many messages to ask Redis for if there is capacity for n: at most most, and
// about as many as maxUnsent leaves room for. It needs mu.
func (g *group) bounded(n, most int) int {
	return min(n, most, max(int((maxUnsent-g.bytes)/g.heaviest), 1))
}

// weigh updates heaviest and last by what a read or a claim returned. It needs mu.
func (g *group) weigh(all []*message) {
	heaviest := max(g.heaviest/4, 1<<10) // the messages after one read of small ones may be large
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

// keep appends messages to those that are to be sent.
func (g *group) keep(all []*message) {
	g.mu.Lock()
	defer g.mu.Unlock()
	g.weigh(all)
	for _, m := range all {
		g.bytes += int64(len(m.text))
	}
	g.unsent = append(g.unsent, all...)
}

// wake makes the loop check whether there is capacity. It needs mu.
func (g *group) wake() {
	signal(g.more)
	if g.retries || len(g.unsent) > 0 {
		signal(g.look)
	}
}

func signal(c chan struct{}) {
	select {
	case c <- struct{}{}:
	default: // a signal is pending
	}
}

// lookBy makes the loop claim messages that are to be delivered again at that time, or earlier if
// it is due earlier.
func (g *group) lookBy(at time.Time) {
	g.mu.Lock()
	defer g.mu.Unlock()
	if at.Before(g.lookAt) {
		g.lookAt = at
		signal(g.look)
	}
}

// mayRetry handles a broadcast that messages of the stream may have to be delivered again.
func (g *group) mayRetry() {
	g.mu.Lock()
	at := g.looked.Add(signalEvery)
	if g.capacity() == 0 {
		g.retries = true
		at = g.lookAt
	}
	g.mu.Unlock()
	if soon := time.Now().Add(spread(signalSpread)); soon.After(at) {
		at = soon
	}
	g.lookBy(at)
}

// drain stops delivering messages, and ends the fetches that wait.
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
