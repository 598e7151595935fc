package redis

import (
	"errors"
	"fmt"
	"io"
	"strconv"
	"strings"
	"syscall"
	"time"

	"github.com/cenkalti/backoff/v4"
	"github.com/redis/go-redis/v9"

	"github.com/coxswain-sidecar/coxswain/internal/finding"
)

// condition is whether calls may go to a node or cluster. It is replaced at each change.
type condition struct {
	known bool // false until the first probe has ended
	up    bool
	// trouble is why the node is down or, while it is up, why it refuses calls.
	trouble *Trouble
	// changed is closed when up changes, or when a trouble begins or ends.
	changed chan struct{}
}

// refusing reports whether the node replies and refuses calls.
func (c *condition) refusing() bool { return c.up && c.trouble != nil }

// closed reports whether the node will not be used again.
func (c *condition) closed() bool {
	return c.trouble != nil && (errors.Is(c.trouble, errClosed) || errors.Is(c.trouble, errRetired))
}

func (c *condition) down() bool { return c.known && !c.up }

// seen is the result of the last probe.
type seen struct {
	scripts bool
	policy  string
	rtt     time.Duration
	memory  int64
}

// probeEvery is the time between two probes of a healthy Redis.
const probeEvery = time.Second

// Status is what health pages and metrics show of the connection.
type Status struct {
	Topology string // standalone, sentinel, cluster or embedded
	// Address is host:port, the path of a socket, or the list of the URL, without
	// credentials.
	Address string
	// Up is set while Redis replies. In a cluster every slot has a master then, and all of
	// them reply.
	Up bool
	// Trouble is why Redis is down or, while it is up, why it refuses calls; nil if nothing
	// is wrong. It holds no credentials.
	Trouble *Trouble
	// ScriptsLoaded is set if Redis is up and the last probe found or loaded every script.
	ScriptsLoaded bool
	// EvictionPolicy is maxmemory-policy of Redis, empty if the user may not read it.
	EvictionPolicy               string
	RTT                          time.Duration
	UsedMemory                   int64 // bytes
	PoolTotal, PoolIdle, PoolMax int
}

// Status returns what the background probe has found last; it does not ask Redis. For a
// cluster it adds up memory and connections of the masters and returns the longest round trip.
func (s *Store) Status() Status {
	st := Status{Topology: s.topology, Address: s.address, Up: true, ScriptsLoaded: true}
	if s.ring != nil {
		st.Trouble = s.ring.trouble()
		st.Up = st.Trouble == nil
	}
	for _, n := range s.nodes() {
		c, saw, pool := n.condition.Load(), n.seen.Load(), n.client.PoolStats()
		st.Up = st.Up && c.up
		// If several nodes have trouble, Status reports one that takes its node down.
		// CLUSTERDOWN of a node is preferred to noMaster: it also means that the node
		// refuses all slots because one has no master.
		if c.trouble != nil && (st.Trouble == nil || !c.up || st.Trouble == noMaster && c.trouble.Name == whyCluster) {
			st.Trouble = c.trouble
		}
		st.ScriptsLoaded = st.ScriptsLoaded && saw.scripts
		// If the policies differ, Status reports one that evicts.
		if saw.policy != "" && (st.EvictionPolicy == "" || st.EvictionPolicy == "noeviction") {
			st.EvictionPolicy = saw.policy
		}
		st.RTT = max(st.RTT, saw.rtt)
		st.UsedMemory += saw.memory
		st.PoolTotal += int(pool.TotalConns)
		st.PoolIdle += int(pool.IdleConns)
		st.PoolMax += s.maxConns
	}
	st.ScriptsLoaded = st.ScriptsLoaded && st.Up
	return st
}

// become replaces the condition. Only the probe calls it, and close after the probe has
// ended.
func (n *node) become(up bool, trouble *Trouble) {
	was := n.condition.Load()
	next := &condition{known: true, up: up, trouble: trouble, changed: was.changed}
	if was.known && was.up == up && (was.trouble == nil) == (trouble == nil) && !next.closed() {
		// Only the reason has changed: calls that wait need not be woken.
		n.condition.Store(next)
		n.of.logChange(n.addr, was, next)
		return
	}
	next.changed = make(chan struct{})
	n.condition.Store(next)
	close(was.changed)
	if next.closed() {
		return
	}
	n.of.logChange(n.addr, was, next)
	if !up && (was.up || !was.known) {
		n.conns.closeAll(trouble, false)
		if n.of.ring != nil {
			n.of.ring.look()
		}
	}
}

// logChange logs a trouble when it begins and when it ends.
func (s *Store) logChange(address string, was, is *condition) {
	switch {
	case is.trouble == nil:
		if was.trouble != nil || !was.known {
			s.log.Info("redis is up", "address", address)
		}
		return
	case was.trouble != nil && was.trouble.Name == is.trouble.Name && was.up == is.up:
		return
	}
	text := "redis is down; calls fail at once until it is back"
	switch {
	case is.up:
		text = "redis answers and refuses calls; until it accepts them they fail, or their fail mode decides"
	case was.trouble != nil && !was.up:
		text = "redis is still down, for another reason than before"
	}
	s.log.Warn(text, "address", address, "trouble", is.trouble.Name, "error", is.trouble, "remedy", is.trouble.Remedy,
		"docs", finding.Docs(is.trouble.Check))
}

// look starts a probe at once. A failed call never does more than this: one reset
// connection or one slow command is not an outage, and the probe finds out within a
// round trip.
func (n *node) look() {
	select {
	case n.suspect <- struct{}{}:
	default:
	}
}

// watch probes the node until it is closed: every second while it is up, after a
// growing pause of at most a second while it is down, and at once when a call failed.
func (n *node) watch() {
	pauses := backoff.NewExponentialBackOff(
		backoff.WithInitialInterval(20*time.Millisecond), backoff.WithMaxInterval(700*time.Millisecond),
		backoff.WithMultiplier(1.6), backoff.WithRandomizationFactor(0.4), backoff.WithMaxElapsedTime(0))
	timer := time.NewTimer(0)
	defer timer.Stop()
	<-timer.C
	for {
		up, err := n.examine()
		// The probe's own connection may be the one that was reset. A server that has
		// ended refuses the next one.
		for tries := 0; tries < hangUps && hungUp(err) && n.condition.Load().up; tries++ {
			up, err = n.examine()
		}
		if n.ctx.Err() != nil {
			return
		}
		pause := probeEvery
		var trouble *Trouble
		if err == nil {
			pauses.Reset()
		} else {
			pause, trouble = pauses.NextBackOff(), troubleOf(err)
		}
		n.become(up, trouble)
		n.looked()
		st := n.of.Status()
		n.of.history.probed(Probed{At: time.Now(), Up: st.Up, RTT: st.RTT})
		timer.Reset(pause)
		select {
		case <-timer.C:
		case <-n.suspect:
		case <-n.ctx.Done():
			return
		}
	}
}

// hangUps is how many of its connections the probe may lose in a row before the server
// counts as down: another client may kill connections as fast as they are made.
const hangUps = 8

// looked ends a round of the probe and wakes the calls that wait for it.
func (n *node) looked() { close(n.round.Swap(newRound()).over) }

// round is one round of the probe; over is closed at its end.
type round struct{ over chan struct{} }

func newRound() *round { return &round{make(chan struct{})} }

// examine pings the node, loads the scripts if they are missing, reads its memory and
// runs the script of the probe. If up is set, calls may go there; with an error as well,
// the node refuses some of them.
func (n *node) examine() (up bool, err error) {
	ctx := n.ctx // the connection's timeouts bound each step
	if n.resolve != nil {
		if err := n.resolve(ctx); err != nil {
			return busy(err) && n.condition.Load().up, err
		}
	}
	now := *n.seen.Load()
	start := time.Now()
	// A server that cannot save answers MISCONF even to PING, and still serves reads.
	if err := n.probe.Ping(ctx).Err(); err != nil && !redis.HasErrorPrefix(err, "MISCONF") {
		return busy(err) && n.condition.Load().up, err
	}
	now.rtt = time.Since(start)
	now.scripts = false
	if err := n.ensureScripts(ctx, n.probe); err != nil {
		n.seen.Store(&now)
		return false, fmt.Errorf("load scripts: %w", err)
	}
	now.scripts = true
	// The policy stays unknown if the user may not run INFO, and in the embedded store,
	// which has no such section.
	now.policy, now.memory = "", 0
	if info, err := n.probe.Info(ctx, "memory").Result(); err == nil {
		m := fields(info)
		now.policy = m["maxmemory_policy"]
		now.memory, _ = strconv.ParseInt(m["used_memory"], 10, 64)
	}
	n.seen.Store(&now)
	err = n.tryWriting(ctx)
	return err == nil || troubles[troubleOf(err).Name].refuses, err
}

func hungUp(err error) bool {
	return errors.Is(err, io.EOF) || errors.Is(err, syscall.ECONNRESET) || errors.Is(err, syscall.EPIPE)
}

// busy reports whether an error comes from a server that is alive and keeps its other
// connections: it runs a long script, or has no room for another client.
func busy(err error) bool {
	name := troubleOf(err).Name
	return name == whyBusy || name == whyNoRoom
}

// fields are the lines of INFO.
func fields(info string) map[string]string {
	m := map[string]string{}
	for line := range strings.Lines(info) {
		if name, value, ok := strings.Cut(strings.TrimSpace(line), ":"); ok {
			m[name] = value
		}
	}
	return m
}
