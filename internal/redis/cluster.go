package redis

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"time"
)

// ring is a cluster: it keeps the master of each slot. One goroutine asks the nodes for
// their slots every second, and earlier when the failure of a call suggests a change. Calls
// read the slots from memory; a call that gets MOVED corrects one slot. The cluster client of
// go-redis is not used: it looks up the slots while a call waits, follows redirections
// itself, and does not keep track of masters that are down.
type ring struct {
	of    *Store
	slots [slotCount]atomic.Pointer[node]
	// state is known from the first reply on. It is replaced whenever a slot gets
	// another node.
	state atomic.Pointer[condition]
	hint  chan struct{} // filled to make follow ask for the slots at once

	mu    sync.Mutex // guards the rest and the writing of slots and state
	nodes map[string]*node
	spare map[string]time.Time // nodes without a slot, and since when
	shut  bool
}

// spareFor is how long a node without a slot is kept, so that calls on it can end.
const spareFor = 30 * time.Second

func newRing(s *Store) *ring {
	g := &ring{of: s, hint: make(chan struct{}, 1), nodes: map[string]*node{}, spare: map[string]time.Time{}}
	g.state.Store(&condition{changed: make(chan struct{})})
	return g
}

// find returns the master of a key. If there is none, it returns the condition of the
// cluster instead. The channel is closed when slots have changed.
func (g *ring) find(key string) (*node, *condition, <-chan struct{}) {
	// state must be read before the slot, so that a change after that closes the channel
	// that is returned.
	state := g.state.Load()
	n := g.slots[slotOf(key)].Load()
	if n == nil && state.up {
		state = &condition{known: true, trouble: noMaster, changed: state.changed}
	}
	return n, state, state.changed
}

var (
	noMaster = noMasterOfSlots("a slot of the cluster has no master")
	notAsked = noMasterOfSlots("the cluster has not been asked yet")
	noSlots  = noMasterOfSlots("its list of nodes has no slots")
)

// noMasterOfSlots returns whyNoMaster of a cluster. Another check of doctor finds it than that of sentinels.
func noMasterOfSlots(why string) *Trouble {
	t := newTrouble(whyNoMaster, errors.New(why))
	t.Check = "redis-cluster"
	return t
}

// trouble returns why the cluster as a whole is down; nil if it is not.
func (g *ring) trouble() *Trouble {
	state := g.state.Load()
	switch {
	case state.trouble != nil:
		return state.trouble
	case !state.known:
		return notAsked
	}
	for i := range g.slots {
		if g.slots[i].Load() == nil {
			return noMaster
		}
	}
	return nil
}

// masters returns the nodes that have slots, in the order of their addresses.
func (g *ring) masters() []*node {
	g.mu.Lock()
	defer g.mu.Unlock()
	list := make([]*node, 0, len(g.nodes))
	for addr, n := range g.nodes {
		if _, spare := g.spare[addr]; !spare {
			list = append(list, n)
		}
	}
	slices.SortFunc(list, func(a, b *node) int { return strings.Compare(a.addr, b.addr) })
	return list
}

// look makes follow ask the nodes for their slots now.
func (g *ring) look() {
	select {
	case g.hint <- struct{}{}:
	default:
	}
}

// follow keeps the slots up to date until Close.
func (g *ring) follow() {
	// Every call to an unreachable master calls look: the nodes are asked at most once in
	// this time.
	const least = 50 * time.Millisecond
	for {
		views, err := g.views()
		if g.of.ctx.Err() != nil {
			return
		}
		g.apply(views, err)
		pause := probeEvery
		if err != nil {
			pause = 4 * least
		}
		timer := time.NewTimer(pause)
		select {
		case <-timer.C:
		case <-g.hint:
			timer.Reset(least)
			select {
			case <-timer.C:
			case <-g.of.ctx.Done():
			}
		case <-g.of.ctx.Done():
		}
		timer.Stop()
		if g.of.ctx.Err() != nil {
			return
		}
	}
}

// views asks every master that is up for its view of the slots, since a master that was cut
// off has not noticed a failover. If no master replies, it asks the nodes of the URL until
// one does.
func (g *ring) views() ([]view, error) {
	var views []view
	for _, n := range g.masters() {
		if !n.condition.Load().up {
			continue
		}
		if text, err := n.probe.ClusterNodes(g.of.ctx).Result(); err == nil {
			views = append(views, readView(text, n.addr))
		}
	}
	if len(views) > 0 {
		return views, nil
	}
	var failed []error
	for _, addr := range g.of.connector.target.Addrs {
		text, err := g.seed(addr)
		if err == nil {
			v := readView(text, addr)
			if len(v) > 0 {
				return []view{v}, nil
			}
			err = noSlots
		}
		failed = append(failed, err)
	}
	return nil, fmt.Errorf("no node of the cluster returned its slots: %w", errors.Join(failed...))
}

// seed asks a node of the URL over a connection of its own.
func (g *ring) seed(addr string) (string, error) {
	c := g.of.connector
	ctx, cancel := context.WithTimeout(g.of.ctx, c.opt.DialTimeout+c.opt.CommandTimeout)
	defer cancel()
	a := c.adviser(addr, c.handshake)
	defer func() { _ = a.close() }()
	return a.client.ClusterNodes(ctx).Result()
}

// apply sets the slots according to views.
func (g *ring) apply(views []view, err error) {
	g.mu.Lock()
	defer g.mu.Unlock()
	before := g.state.Load()
	if err != nil {
		// The slots stay as they were; each node has its own condition, which stops
		// calls.
		if !before.known || before.up && len(g.nodes) == 0 || !before.up {
			g.change(&condition{known: true, trouble: troubleOf(err)}, !before.known)
			g.of.logChange(g.of.address, before, g.state.Load())
		}
		return
	}
	owners := merge(views)
	changed := !before.up
	used := map[string]bool{}
	for slot, o := range owners {
		var n *node
		if o.addr != "" {
			n = g.node(o.addr)
		}
		if n != nil {
			used[n.addr] = true
		}
		if g.slots[slot].Swap(n) != n {
			changed = true
		}
	}
	if changed {
		g.change(&condition{known: true, up: true}, true)
		if before.trouble != nil {
			g.of.logChange(g.of.address, before, g.state.Load())
		}
	}
	g.retire(used)
}

// change replaces the state. With wake it also wakes the calls that wait for a change.
func (g *ring) change(next *condition, wake bool) {
	before := g.state.Load()
	next.changed = before.changed
	if wake {
		next.changed = make(chan struct{})
	}
	g.state.Store(next)
	if wake {
		close(before.changed)
	}
}

// node returns the node of an address. If there is none, it makes one and starts its probe,
// and after Close it returns nil.
func (g *ring) node(addr string) *node {
	if n := g.nodes[addr]; n != nil {
		delete(g.spare, addr)
		return n
	}
	if g.shut {
		return nil
	}
	n := g.of.newNode(addr, func() (string, error) { return addr, nil })
	g.nodes[addr] = n
	n.wg.Go(n.watch)
	return n
}

// retire closes nodes that have had no slot for a while.
func (g *ring) retire(used map[string]bool) {
	for addr, n := range g.nodes {
		since, spare := g.spare[addr]
		switch {
		case used[addr]:
			delete(g.spare, addr)
		case !spare:
			g.spare[addr] = time.Now()
		case time.Since(since) > spareFor && n.running.Load() == 0:
			delete(g.nodes, addr)
			delete(g.spare, addr)
			g.of.wg.Go(func() { _ = n.close(errRetired) })
		}
	}
}

// redirected reads a redirection and returns the node that it names. MOVED corrects the
// slot; ASK changes nothing.
func (g *ring) redirected(f Failure, asked string) *node {
	slot, addr, ok := redirection(f.Err, asked)
	if !ok {
		return nil
	}
	g.mu.Lock()
	defer g.mu.Unlock()
	n := g.node(addr)
	if n != nil && f.Why == whyMoved && g.slots[slot].Swap(n) != n {
		g.change(&condition{known: true, up: true}, true)
		g.look()
	}
	return n
}

// close ends all nodes. The context of the store must have ended before, which ends follow.
func (g *ring) close() error {
	g.mu.Lock()
	g.shut = true
	nodes := g.nodes
	g.nodes = map[string]*node{}
	g.change(&condition{known: true, trouble: newTrouble("closed", errClosed)}, true)
	g.mu.Unlock()
	var all error
	for _, n := range nodes {
		all = errors.Join(all, n.close(errClosed))
	}
	return all
}
