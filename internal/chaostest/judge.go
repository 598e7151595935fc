package chaostest

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"sync"
	"time"

	"github.com/coxswain-sidecar/coxswain/client"
	"github.com/coxswain-sidecar/coxswain/client/api"
)

// heal reports sidecars that ended, or that do not work again by themselves after the last fault has ended.
func (r *run) heal(ctx context.Context) []Violation {
	var found []Violation
	fail := func(s *Sidecar, err error) {
		found = append(found, Violation{Rule: "healed", What: fmt.Sprintf("%s: %v", s.name, err)})
	}
	for i, s := range r.sidecars {
		if s.Ended() {
			fail(s, errors.New("it ended by itself; its log is kept"))
			continue
		}
		if err := healed(ctx, s, fmt.Sprintf("healed/%d", i)); err != nil {
			fail(s, err)
		}
	}
	return found
}

// healed waits until a sidecar is ready and works. Right after the last fault the sidecar may still report that it is
// ready although it does not work, and servers may still be electing a master.
func healed(ctx context.Context, s *Sidecar, name string) error {
	ctx, cancel := context.WithTimeout(ctx, patience)
	defer cancel()
	for {
		err := s.Ready(ctx)
		if err == nil {
			err = pair(ctx, s, name)
		}
		if err == nil || ctx.Err() != nil {
			return err
		}
		select {
		case <-time.After(50 * time.Millisecond):
		case <-ctx.Done():
		}
	}
}

// pair acquires a lock and releases it.
func pair(ctx context.Context, s *Sidecar, name string) error {
	c, err := client.Dial(ctx, client.Options{Socket: s.Socket(), Client: "chaos", Instance: "healed"})
	if err != nil {
		return err
	}
	defer func() { _ = c.Close() }()
	lk, err := c.LockAcquire(ctx, name, client.LockOptions{})
	if err != nil {
		return err
	}
	return lk.Release(ctx)
}

// settled reports limits that counted wrongly, and leases that killed clients and sidecars still hold. Its clients
// connect after all others have gone.
func (r *run) settled() []Violation {
	ctx := context.Background() // each question has its own time
	c, err := client.Dial(ctx, client.Options{Socket: r.sidecars[0].Socket(), Client: "chaos", Instance: "settled"})
	if err != nil {
		return []Violation{{Rule: "settled", What: err.Error()}}
	}
	defer func() { _ = c.Close() }()
	found := r.counted(ctx, c)
	var asked sync.WaitGroup
	var mu sync.Mutex
	ask := func(what string, question func() error) {
		asked.Go(func() {
			if err := question(); err != nil {
				mu.Lock()
				defer mu.Unlock()
				found = append(found, Violation{Rule: "given back", What: what + ": " + err.Error()})
			}
		})
	}
	for i, s := range r.sidecars {
		ask(s.name, func() error { return widow(ctx, s, c, fmt.Sprintf("widowed/%d", i)) })
	}
	for range 2 {
		for _, s := range r.sidecars {
			ask(s.name+": the line", func() error { return stand(ctx, s) })
		}
	}
	// The locks of a killed sidecar, and those that could not be given back while Redis did not reply, are free when
	// their TTL has ended.
	for _, name := range slices.Concat(sessionLocks, shortLocks) {
		ask("the dead", func() error { return free(ctx, c, name, sessionTTL+patience) })
	}
	for _, n := range nouns {
		if n.after == nil {
			continue
		}
		for what, question := range n.after(r) {
			ask(what, func() error { return question(ctx, c) })
		}
	}
	asked.Wait()
	return found
}

// widow kills a client that holds a lock: the lock must be free long before its TTL
// has ended.
func widow(ctx context.Context, s *Sidecar, c *client.Client, name string) error {
	holder, err := client.Dial(ctx, client.Options{Socket: s.Socket(), Client: "chaos", Instance: "widow"})
	if err != nil {
		return err
	}
	_, err = holder.LockAcquire(ctx, name, client.LockOptions{TTL: 10 * patience})
	_ = holder.Close() // without releasing the lock
	if err != nil {
		return err
	}
	return free(ctx, c, name, patience)
}

// stand waits in a waiting line in which each caller releases its lease: each of them
// must be served.
func stand(ctx context.Context, s *Sidecar) error {
	c, err := client.Dial(ctx, client.Options{Socket: s.Socket(), Client: "chaos", Instance: "in line"})
	if err != nil {
		return err
	}
	defer func() { _ = c.Close() }()
	for range 5 {
		lk, err := c.LockAcquire(ctx, "line", client.LockOptions{TTL: 10 * patience, Wait: patience})
		if err != nil {
			return err
		}
		if err := lk.Release(ctx); err != nil {
			return err
		}
	}
	return nil
}

// free waits until a lock has no holder.
func free(ctx context.Context, c *client.Client, name string, limit time.Duration) error {
	ctx, cancel := context.WithTimeout(ctx, limit)
	defer cancel()
	for {
		g, err := c.LockGet(ctx, name)
		if err == nil && !g.Held {
			return nil
		}
		select {
		case <-time.After(20 * time.Millisecond):
		case <-ctx.Done():
			return fmt.Errorf("lock %s is still held, by %+v with %d ms left (last error: %w)", name, g.HeldBy, g.TTLMS, errors.Join(err, ctx.Err()))
		}
	}
}

// counted reads how much was taken from the counting limits, and reports those that counted wrongly.
func (r *run) counted(ctx context.Context, c *client.Client) []Violation {
	var found []Violation
	for _, key := range countedKeys {
		p, err := c.RatelimitPeek(ctx, api.RatelimitParams{Algorithm: api.AlgorithmTokenBucket, Limits: counter, Key: key})
		if err != nil {
			found = append(found, Violation{Rule: "counted once", What: err.Error()})
			continue
		}
		refilled := r.history.Now().Milliseconds() * counter[0].Limit / counter[0].PeriodMS
		found = append(found, CountedOnce(key, r.history.Charges, p.Current, refilled, r.losses())...)
	}
	return found
}

// losses returns how many faults, or failovers that no fault caused, may have lost writes.
func (r *run) losses() int {
	r.mu.Lock()
	defer r.mu.Unlock()
	n := 0
	for _, name := range r.top.Loses {
		n += r.counts[name]
	}
	return max(n, len(r.switches()))
}

func (r *run) switches() []time.Time {
	if r.top.Switches == nil {
		return nil
	}
	return r.top.Switches()
}

// switchTakes is longer than a failover takes that no fault caused, from when the sentinels give up the old master to
// its end.
const switchTakes = 5 * time.Second

// intact returns the time until which no write can have been lost.
func (r *run) intact() time.Duration {
	r.mu.Lock()
	defer r.mu.Unlock()
	until := r.whole
	for _, s := range r.switches() {
		until = min(until, s.Sub(r.history.start)-switchTakes)
	}
	return until
}

// judge applies the rules to the history.
func (r *run) judge() []Violation {
	h, losses, intact := r.history, r.losses(), r.intact()
	found := slices.Concat(
		h.Strange, Fences(h.Grants(), losses > 0), Answered(h.Waits, patience),
		// Redis replicates asynchronously: once it may have lost a grant, a lock may have two holders, which only their
		// fences distinguish. So these rules hold only until intact.
		Linearizable(Until(h.Ops, intact), queued),
		Beliefs(slices.DeleteFunc(slices.Clone(h.Holds), func(x Hold) bool { return x.From >= intact || x.Limit > 0 }), &r.stalls),
	)
	for _, key := range boundedKeys {
		for _, band := range bounded[key] {
			found = append(found, Bounded(ofKey(h.Charges, key), band, losses, time.Duration(losses)*r.top.Overlap)...)
		}
	}
	return slices.Concat(found, r.judgeNouns(losses, intact), r.idle())
}

func ofKey(charges []Charge, key string) []Charge {
	var of []Charge
	for _, c := range charges {
		if c.Key == key {
			of = append(of, c)
		}
	}
	return of
}

// idle reports a run that shows nothing, because nothing happened in it.
func (r *run) idle() []Violation {
	h := r.history
	grants := make(map[string]int)
	for _, g := range h.Grants() {
		grants[g.Name]++
	}
	charged := make(map[string]int)
	for _, c := range h.Charges {
		if c.Admitted {
			charged[c.Key]++
		}
	}
	var found []Violation
	for _, name := range slices.Concat(ownedLocks, queuedLocks, sessionLocks, shortLocks) {
		if grants[name] < 2 {
			found = append(found, Violation{Rule: "work", What: fmt.Sprintf("lock %s was granted %d times: the run shows nothing", name, grants[name])})
		}
	}
	for _, key := range slices.Concat(boundedKeys, countedKeys) {
		if charged[key] == 0 {
			found = append(found, Violation{Rule: "work", What: key + ": nothing was admitted: the run shows nothing"})
		}
	}
	return append(found, r.idleNouns()...)
}
