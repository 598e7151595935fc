package client

import (
	"context"
	"time"

	"github.com/coxswain-sidecar/coxswain/client/api"
)

// SemaphoreOptions set how many permits to acquire, and how to hold them. TTL,
// Bind, WaitReplicas, MaxHold and Meta mean what they mean in LockOptions.
type SemaphoreOptions struct {
	// Limit is how many permits the semaphore has: 1 to api.MaxSemaphoreLimit. Redis does not
	// keep the limit: each call uses its own, so use the same one everywhere.
	Limit int64
	// Permits is how many permits to take, all or none; 0 = 1.
	Permits int64
	// TTL is how long the permits outlive their last renewal; 0 = 30 s.
	TTL time.Duration
	// Bind is api.BindSession (the default) or api.BindTTL.
	Bind string
	// Wait is how long to wait in line, at most 60 s and no longer than the context
	// lasts; 0 = do not wait. The line is first come, first served, across all pods: a
	// caller that asks for few permits does not overtake one that asks for many.
	Wait time.Duration
	// WaitReplicas is how many replicas of Redis must confirm the grant.
	WaitReplicas int
	// MaxHold is the longest time to hold the permits, with all renewals; 0 = unlimited.
	MaxHold time.Duration
	// Meta is shown with the holder; at most 512 bytes.
	Meta string
}

// Semaphore is a set of held permits. As with a Lock, watch its Context, and give its
// Fence to the protected resource.
type Semaphore struct{ *held }

var semaphores = noun[api.SemaphoreAcquireParams, api.SemaphoreAcquireResult]{
	heldKind: heldKind{
		noun: "semaphore", renew: api.SemaphoreRenew.Name, release: api.SemaphoreRelease.Name, name: "name", token: "token", ttl: "ttl_ms",
	},
	acquire:  api.SemaphoreAcquire,
	setToken: func(p *api.SemaphoreAcquireParams, token string) { p.Token = token },
	decide: func(_ *api.SemaphoreAcquireParams, r *api.SemaphoreAcquireResult) decision {
		return decision{
			granted: r.Acquired, replayed: r.Replayed, fence: r.Fence, ttlMS: r.TTLMS, waitedMS: r.WaitedMS, retryAfterMS: r.RetryAfterMS,
		}
	},
}

// SemaphoreAcquire acquires permits, at once or in turn within o.Wait. If it gets none, the
// error is a *BusyError. A grant that arrives after ctx has ended is given back.
func (c *Client) SemaphoreAcquire(ctx context.Context, name string, o SemaphoreOptions) (*Semaphore, error) {
	t := terms{name: name, session: o.Bind != api.BindTTL, maxHold: o.MaxHold}
	h, _, err := acquire(ctx, c, &semaphores, t, api.SemaphoreAcquireParams{
		Name: name, Limit: o.Limit, Permits: o.Permits, TTLMS: api.Millis(o.TTL), WaitMS: api.Millis(o.Wait),
		WaitReplicas: int64(o.WaitReplicas), MaxHoldMS: api.Millis(o.MaxHold), Meta: o.Meta, Bind: o.Bind,
	})
	if err != nil {
		return nil, err
	}
	return (*Semaphore)(&h.itself), nil
}

// SemaphoreDo acquires permits as SemaphoreAcquire does, runs fn, and releases the
// permits when fn returns or panics. Its errors are those of LockDo.
func (c *Client) SemaphoreDo(ctx context.Context, name string, o SemaphoreOptions, fn func(context.Context, *Semaphore) error) error {
	s, err := c.SemaphoreAcquire(ctx, name, o)
	if err != nil {
		return err
	}
	return s.do(ctx, func(ctx context.Context) error { return fn(ctx, s) })
}

// SemaphoreGet returns how many permits are held, and by whom.
func (c *Client) SemaphoreGet(ctx context.Context, name string) (api.SemaphoreGetResult, error) {
	return Call(ctx, c, api.SemaphoreGet, api.SemaphoreGetParams{Name: name})
}

// SemaphoreList returns one page of semaphores. Pass the Cursor of its result to the next call.
func (c *Client) SemaphoreList(ctx context.Context, p api.SemaphoreListParams) (api.SemaphoreListResult, error) {
	return Call(ctx, c, api.SemaphoreList, p)
}
