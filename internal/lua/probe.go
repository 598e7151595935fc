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
	Topology string // standalone or embedded
	Address  string // without credentials
	Up       bool
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

// Status answers from memory; a background probe keeps it fresh.
func (r *Runner) Status() Status {
	c, s, pool := r.condition.Load(), r.seen.Load(), r.client.PoolStats()
	return Status{
		Topology: r.topology, Address: r.address, Up: c.up, Err: c.err,
		ScriptsLoaded: c.up && s.scripts, EvictionPolicy: s.policy, RTT: s.rtt, UsedMemory: s.memory,
		PoolTotal: int(pool.TotalConns), PoolIdle: int(pool.IdleConns), PoolMax: r.maxConns,
	}
}

// gate lets calls pass while Redis is up. While it is known to be down it fails
// at once, unless the call is patient: it was under way when the outage came.
// Before the first probe has ended everyone waits.
func (r *Runner) gate(ctx context.Context, patient bool) error {
	for {
		c := r.condition.Load()
		switch {
		case c.up:
			return nil
		case c.down() && !patient, errors.Is(c.err, errClosed):
			return &unsent{"down", c.err}
		}
		select {
		case <-c.changed:
		case <-ctx.Done():
			return ctx.Err()
		}
	}
}

// become changes the condition. Only the probe calls it, and Close after it.
func (r *Runner) become(up bool, err error) {
	closed := errors.Is(err, errClosed)
	was := r.condition.Load()
	next := &condition{known: true, up: up, err: err, changed: was.changed}
	if was.known && was.up == up && !closed {
		// Only the reason differs; whoever waits need not wake for that.
		r.condition.Store(next)
		return
	}
	next.changed = make(chan struct{})
	r.condition.Store(next)
	close(was.changed)
	switch {
	case closed:
	case up:
		r.log.Info("redis is up", "address", r.address)
	default:
		r.log.Warn("redis is down; calls fail at once until it is back", "address", r.address, "error", err)
		r.conns.closeAll(false)
	}
}

// look asks for a probe now. Failures of calls only ever do this: one reset
// connection or one slow command is no outage, and the probe knows within a
// round trip.
func (r *Runner) look() {
	select {
	case r.suspect <- struct{}{}:
	default:
	}
}

// watch probes until Close: every second while Redis is up, with a growing
// pause of at most a second while it is down, and at once when a call failed.
func (r *Runner) watch() {
	defer r.wg.Done()
	pauses := backoff.NewExponentialBackOff(
		backoff.WithInitialInterval(20*time.Millisecond), backoff.WithMaxInterval(700*time.Millisecond),
		backoff.WithMultiplier(1.6), backoff.WithRandomizationFactor(0.4), backoff.WithMaxElapsedTime(0))
	timer := time.NewTimer(0)
	defer timer.Stop()
	<-timer.C
	for {
		err := r.examine()
		// Its connection may be the one that was reset; a server that is gone
		// refuses the next.
		for tries := 0; tries < 3 && hungUp(err) && r.condition.Load().up; tries++ {
			err = r.examine()
		}
		if r.ctx.Err() != nil {
			return
		}
		pause := probeEvery
		if err == nil {
			pauses.Reset()
		} else {
			pause = pauses.NextBackOff()
		}
		r.become(err == nil, err)
		timer.Reset(pause)
		select {
		case <-timer.C:
		case <-r.suspect:
		case <-r.ctx.Done():
			return
		}
	}
}

// examine asks Redis for an answer, for its scripts, and for its memory. It
// fails when calls could not succeed.
func (r *Runner) examine() error {
	ctx := r.ctx // the connection's timeouts bound each step
	now := *r.seen.Load()
	start := time.Now()
	err := r.probe.Ping(ctx).Err()
	if busy(err) && r.condition.Load().up {
		return nil
	}
	if err != nil {
		return err
	}
	now.rtt = time.Since(start)
	now.scripts = false
	if err := r.ensureScripts(ctx, r.probe); err != nil {
		r.seen.Store(&now)
		return fmt.Errorf("load scripts: %w", err)
	}
	now.scripts = true
	// What may not be read stays unknown; the embedded store has no such section.
	now.policy, now.memory = "", 0
	if info, err := r.probe.Info(ctx, "memory").Result(); err == nil {
		now.policy, now.memory = memory(info)
	}
	r.seen.Store(&now)
	return nil
}

func hungUp(err error) bool {
	return errors.Is(err, io.EOF) || errors.Is(err, syscall.ECONNRESET) || errors.Is(err, syscall.EPIPE)
}

// busy are answers of a server that is alive and keeps its other connections:
// it runs a long script, or has no room for one client more.
func busy(err error) bool {
	return err != nil && (redis.HasErrorPrefix(err, "BUSY") || redis.IsMaxClientsError(err))
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
