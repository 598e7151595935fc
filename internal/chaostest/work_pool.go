package chaostest

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/coxswain-sidecar/coxswain/client"
	"github.com/coxswain-sidecar/coxswain/client/api"
)

// The pool whose members are taken without buckets and breakers, and what all pools share.
const (
	plainPool = "pool/plain"
	memberTTL = 3 * time.Second
)

var (
	members = []string{"m0", "m1", "m2", "m3", "m4", "m5"}
	scopes  = []string{"", "x", "y"}
)

var poolNoun = noun{
	roles:  func(w *worker) []func(context.Context) { return []func(context.Context){w.member} },
	before: func(ctx context.Context, c *client.Client) error { return fill(ctx, c, plainPool) },
	after: func(*run) map[string]func(context.Context, *client.Client) error {
		return map[string]func(context.Context, *client.Client) error{
			plainPool: func(ctx context.Context, c *client.Client) error { return empty(ctx, c, plainPool) },
		}
	},
	judge: func(r *run, _ int, intact time.Duration) []Violation {
		return Complete(r.history.Counts, int64(len(members)), intact)
	},
	shows: func(h *History) map[string]int {
		n := granted(h, plainPool)
		n["counts of members"] = len(h.Counts)
		return n
	},
}

// fill puts all members into a pool, where those that are there stay: at the start, and after all data was lost.
func fill(ctx context.Context, c *client.Client, pool string) error {
	p := api.PoolPutParams{Pool: pool}
	for _, id := range members {
		p.Members = append(p.Members, api.PoolMember{ID: id, Meta: "meta of " + id})
	}
	_, err := client.Call(ctx, c, api.PoolPut, p)
	return err
}

// refill fills a pool that was found empty.
func (w *worker) refill(ctx context.Context, pool string) {
	w.settle(ctx, func(ctx context.Context, s *session) error { return fill(ctx, s.Client, pool) })
}

// census counts the members of a pool.
func (w *worker) census(ctx context.Context, pool string) {
	c := Count{Name: pool, Call: w.history.Now()}
	_, known := w.settle(ctx, func(ctx context.Context, s *session) error {
		r, err := client.Call(ctx, s.Client, api.PoolStats, api.PoolStatsParams{Pool: pool, Scope: w.one(scopes)})
		c.Total, c.Live, c.Cooling, c.Banned, c.Free = r.Total, r.Live, r.Cooling, r.Banned, r.Free
		return err
	})
	if known {
		c.Return = w.history.Now()
		w.history.add(func() { w.history.Counts = append(w.history.Counts, c) })
	}
}

// member takes a member, uses it, and gives it back, or closes the connection without giving it back. At times it bans
// a member or counts them instead.
func (w *worker) member(ctx context.Context) {
	switch {
	case w.chance(15):
		w.census(ctx, plainPool)
		return
	case w.chance(5):
		p := api.PoolBanParams{Pool: plainPool, ID: w.one(members), ForMS: 300}
		w.settle(ctx, func(ctx context.Context, s *session) error {
			_, err := client.Call(ctx, s.Client, api.PoolBan, p)
			return gone(err)
		})
		return
	}
	p := api.PoolAcquireParams{Pool: plainPool, LeaseMS: memberTTL.Milliseconds(), Scope: w.one(scopes), WaitMS: w.waitMS(), Bind: w.bind()}
	h, on := Hold{Of: plainPool, Call: w.history.Now()}, (*session)(nil)
	var r api.PoolAcquireResult
	_, known := w.settle(ctx, func(ctx context.Context, s *session) (err error) {
		on = s
		r, err = client.Call(ctx, s.Client, api.PoolAcquire, p)
		return err
	})
	if !known || !r.Acquired {
		if r.Reason == "empty" {
			w.refill(ctx, plainPool)
		}
		return
	}
	h.Name, h.Token, h.Fence = plainPool+"/"+r.ID, r.Lease, fence(r.Fence)
	if r.Meta != "meta of "+r.ID {
		w.strange("members", r.ID+" has the meta "+r.Meta)
	}
	if !w.uses(h, on, p.Bind) {
		return
	}
	release := api.PoolReleaseParams{Pool: plainPool, Lease: r.Lease, Outcome: api.OutcomeOK}
	switch {
	case w.chance(5):
		release.Outcome = api.OutcomeTransport
	case w.chance(20):
		release.CooldownMS = 100
	}
	w.settle(ctx, func(ctx context.Context, s *session) error {
		_, err := client.Call(ctx, s.Client, api.PoolRelease, release)
		return err
	})
}

// uses holds a member for a while, and records how long it certainly held it: until it gives the member back, its
// session was killed, or the TTL of the lease is over, whichever is first. It reports whether the caller has to give
// the member back.
func (w *worker) uses(h Hold, on *session, bind string) bool {
	h.Client, h.From = on.name, w.history.Now()
	w.pause(30 * time.Millisecond)
	vanish := bind == api.BindSession && w.chance(5)
	h.Until, h.End = w.history.Now(), "released"
	if vanish {
		h.End = "vanished"
	}
	if t := h.Call + memberTTL; t < h.Until {
		h.Until, h.End = t, "its lease may be over"
	}
	if t := on.ended(); t < h.Until {
		h.Until, h.End = t, "killed"
	}
	w.history.add(func() { w.history.Holds = append(w.history.Holds, h) })
	if vanish {
		w.kill()
	}
	return !vanish
}

// gone ignores the error that a member is not there, since all data may have been lost.
func gone(err error) error {
	var e *api.Error
	if errors.As(err, &e) && e.Code == api.NotFound {
		return nil
	}
	return err
}

// empty waits until no member of a pool is leased.
func empty(ctx context.Context, c *client.Client, pool string) error {
	ctx, cancel := context.WithTimeout(ctx, memberTTL+patience)
	defer cancel()
	return until(ctx, func() error {
		r, err := client.Call(ctx, c, api.PoolStats, api.PoolStatsParams{Pool: pool})
		if err == nil && r.Live > 0 {
			err = fmt.Errorf("%s: %d members are still leased", pool, r.Live)
		}
		return err
	})
}
