package lua

import (
	"context"
	"errors"
	"fmt"
	"io"
	"strconv"
	"strings"
	"syscall"
	"time"

	"github.com/cenkalti/backoff/v4"
	"github.com/redis/go-redis/v9"
)

// condition is whether calls may go to Redis; a new one replaces it at each change.
type condition struct {
	known bool // false until the first probe has ended
	up    bool
	err   error // why it is down
	// changed is closed when this is no longer the condition.
	changed chan struct{}
}

func (c *condition) down() bool { return c.known && !c.up }

// seen is what the last probe found.
type seen struct {
	scripts bool
	policy  string
	rtt     time.Duration
	memory  int64
}

// probeEvery is how often a healthy Redis is looked at.
const probeEvery = time.Second

// Status is what health pages show of the connection.
type Status struct {
	Topology string // standalone, sentinel, cluster or embedded
	// Address is host:port, the path of a socket, or the list of the URL, without
	// credentials.
	Address string
	// Up: it answers; of a cluster every slot has a master, and all answer.
	Up bool
	// Err is why it is down, without credentials.
	Err error
	// ScriptsLoaded: every script was loaded since the connection last came up.
	ScriptsLoaded bool
	// EvictionPolicy is Redis's maxmemory-policy, empty when it may not be read.
	EvictionPolicy               string
	RTT                          time.Duration
	UsedMemory                   int64 // bytes
	PoolTotal, PoolIdle, PoolMax int
}

// Status answers from memory; a background probe keeps it fresh. Of a cluster
// it is the sum of its masters, and the worst round trip.
func (r *Runner) Status() Status {
	st := Status{Topology: r.topology, Address: r.address, Up: true, ScriptsLoaded: true}
	if r.ring != nil {
		st.Err = r.ring.err()
		st.Up = st.Err == nil
	}
	for _, n := range r.nodes() {
		c, s, pool := n.condition.Load(), n.seen.Load(), n.client.PoolStats()
		st.Up = st.Up && c.up
		if st.Err == nil {
			st.Err = c.err
		}
		st.ScriptsLoaded = st.ScriptsLoaded && s.scripts
		// The policy that evicts is the one to tell of.
		if s.policy != "" && (st.EvictionPolicy == "" || st.EvictionPolicy == "noeviction") {
			st.EvictionPolicy = s.policy
		}
		st.RTT = max(st.RTT, s.rtt)
		st.UsedMemory += s.memory
		st.PoolTotal += int(pool.TotalConns)
		st.PoolIdle += int(pool.IdleConns)
		st.PoolMax += r.maxConns
	}
	st.ScriptsLoaded = st.ScriptsLoaded && st.Up
	return st
}

// route finds the node of a key and lets the call pass while that node is up.
// While it is known to be down it fails at once, unless the call is patient: it
// was under way when the outage came. Before the first probe has ended everyone
// waits. No call dials or asks for the way itself.
func (r *Runner) route(ctx context.Context, key string, patient bool) (*node, error) {
	for {
		n := r.only
		var c *condition
		var moved <-chan struct{}
		if r.ring != nil {
			n, c, moved = r.ring.find(key)
		}
		if n != nil {
			c = n.condition.Load()
		}
		switch {
		case c.up:
			return n, nil
		case c.down() && !patient, errors.Is(c.err, errClosed):
			return nil, &unsent{"down", c.err}
		}
		select {
		case <-c.changed:
		case <-moved:
		case <-ctx.Done():
			return nil, ctx.Err()
		}
	}
}

// become changes the condition. Only the probe calls it, and Close after it.
func (n *node) become(up bool, err error) {
	closed := errors.Is(err, errClosed) || errors.Is(err, errRetired)
	was := n.condition.Load()
	next := &condition{known: true, up: up, err: err, changed: was.changed}
	if was.known && was.up == up && !closed {
		// Only the reason differs; whoever waits need not wake for that.
		n.condition.Store(next)
		return
	}
	next.changed = make(chan struct{})
	n.condition.Store(next)
	close(was.changed)
	switch {
	case closed:
	case up:
		n.of.log.Info("redis is up", "address", n.addr)
	default:
		n.of.log.Warn("redis is down; calls fail at once until it is back", "address", n.addr, "error", err)
		n.conns.closeAll(false)
		if n.of.ring != nil {
			n.of.ring.look()
		}
	}
}

// look asks for a probe now. Failures of calls only ever do this: one reset
// connection or one slow command is no outage, and the probe knows within a
// round trip.
func (n *node) look() {
	select {
	case n.suspect <- struct{}{}:
	default:
	}
}

// watch probes until Close: every second while Redis is up, with a growing
// pause of at most a second while it is down, and at once when a call failed.
func (n *node) watch() {
	pauses := backoff.NewExponentialBackOff(
		backoff.WithInitialInterval(20*time.Millisecond), backoff.WithMaxInterval(700*time.Millisecond),
		backoff.WithMultiplier(1.6), backoff.WithRandomizationFactor(0.4), backoff.WithMaxElapsedTime(0))
	timer := time.NewTimer(0)
	defer timer.Stop()
	<-timer.C
	for {
		err := n.examine()
		// Its connection may be the one that was reset; a server that is gone
		// refuses the next.
		for tries := 0; tries < 3 && hungUp(err) && n.condition.Load().up; tries++ {
			err = n.examine()
		}
		if n.ctx.Err() != nil {
			return
		}
		pause := probeEvery
		if err == nil {
			pauses.Reset()
		} else {
			pause = pauses.NextBackOff()
		}
		n.become(err == nil, err)
		timer.Reset(pause)
		select {
		case <-timer.C:
		case <-n.suspect:
		case <-n.ctx.Done():
			return
		}
	}
}

// examine asks Redis for an answer, for its scripts, and for its memory. It
// fails when calls could not succeed.
func (n *node) examine() error {
	ctx := n.ctx // the connection's timeouts bound each step
	if n.resolve != nil {
		if err := n.resolve(ctx); err != nil {
			return err
		}
	}
	now := *n.seen.Load()
	start := time.Now()
	err := n.probe.Ping(ctx).Err()
	if busy(err) && n.condition.Load().up {
		return nil
	}
	if err != nil {
		return err
	}
	now.rtt = time.Since(start)
	now.scripts = false
	if err := n.ensureScripts(ctx, n.probe); err != nil {
		n.seen.Store(&now)
		return fmt.Errorf("load scripts: %w", err)
	}
	now.scripts = true
	// What may not be read stays unknown; the embedded store has no such section.
	now.policy, now.memory = "", 0
	if info, err := n.probe.Info(ctx, "memory").Result(); err == nil {
		now.policy, now.memory = memory(info)
	}
	n.seen.Store(&now)
	return nil
}

func hungUp(err error) bool {
	return errors.Is(err, io.EOF) || errors.Is(err, syscall.ECONNRESET) || errors.Is(err, syscall.EPIPE)
}

// busy are answers of a server that is alive and keeps its other connections:
// it runs a long script, or has no room for one client more.
func busy(err error) bool {
	return err != nil && (redis.HasErrorPrefix(err, "BUSY") || redis.HasErrorPrefix(err, "max number of clients reached"))
}

func memory(info string) (policy string, used int64) {
	for line := range strings.Lines(info) {
		name, value, _ := strings.Cut(strings.TrimSpace(line), ":")
		switch name {
		case "maxmemory_policy":
			policy = value
		case "used_memory":
			used, _ = strconv.ParseInt(value, 10, 64)
		}
	}
	return policy, used
}
