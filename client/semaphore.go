package client

import (
	"context"
	"crypto/rand"
	"time"

	"github.com/coxswain-sidecar/coxswain/client/api"
)

// SemaphoreOptions say how many permits to take of how many, and how to hold them.
type SemaphoreOptions struct {
	// Limit is how many permits the semaphore has: 1 to api.MaxSemaphoreLimit. Each
	// call goes by its own, so give the same everywhere.
	Limit int64
	// Permits is how many are taken, all or none; 0 = 1.
	Permits int64
	// TTL is how long they outlive their last renewal; 0 = 30 s.
	TTL time.Duration
	// Bind is api.BindSession (the default) or api.BindTTL, as for locks.
	Bind string
	// Wait is how long to stand in line for them, at most 60 s and no longer than the
	// context lasts; 0 = not at all. First come, first served, across all pods: nobody
	// passes who asks for many.
	Wait time.Duration
	// WaitReplicas is how many replicas of Redis must have the grant. With too few it
	// is given back, and the error is a *BusyError.
	WaitReplicas int
	// MaxHold is after how long they are lost whoever renews them; 0 = never.
	MaxHold time.Duration
	// Meta is shown with the holder; at most 512 bytes.
	Meta string
}

// Semaphore is permits that are held. What is said of Lock holds for it: watch its
// Context, and give its Fence to what the semaphore protects.
type Semaphore struct{ held }

var semaphoreKind = heldKind{
	noun: "semaphore", acquire: api.SemaphoreAcquire.Name, renew: api.SemaphoreRenew.Name, release: api.SemaphoreRelease.Name,
	name: "name", token: "token", ttl: "ttl_ms",
}

// SemaphoreAcquire takes permits, at once or in turn within o.Wait, or returns a
// *BusyError. A grant that comes after ctx has ended is given back.
func (c *Client) SemaphoreAcquire(ctx context.Context, name string, o SemaphoreOptions) (*Semaphore, error) {
	params := api.SemaphoreAcquireParams{
		Name: name, Limit: o.Limit, Permits: o.Permits, TTLMS: millis(o.TTL), WaitMS: millis(o.Wait),
		WaitReplicas: int64(o.WaitReplicas), MaxHoldMS: millis(o.MaxHold), Meta: o.Meta, Bind: o.Bind,
	}
	for {
		s := &Semaphore{held{
			c: c, kind: &semaphoreKind, name: name, token: rand.Text(), session: o.Bind != api.BindTTL, maxHold: o.MaxHold,
		}}
		params.Token = s.token
		var r api.SemaphoreAcquireResult
		err := c.invoke(ctx, invocation{
			method: api.SemaphoreAcquire.Name, params: &params, result: &r, lease: &s.held, ownID: true,
		})
		switch {
		case err != nil:
			s.disown(err)
			return nil, err
		case r.Acquired:
			if err := s.take(ctx, grant{r.Fence, r.TTLMS, r.WaitedMS}); err != nil {
				return nil, err
			}
			return s, nil
		}
		s.forget()
		// As for locks: a grant that ended with its broken connection decided nothing.
		if !r.Replayed {
			return nil, &BusyError{Noun: semaphoreKind.noun, Name: name, RetryAfter: time.Duration(r.RetryAfterMS) * time.Millisecond}
		}
	}
}

// SemaphoreDo runs fn while it holds the permits, acquired as by SemaphoreAcquire,
// and gives them back when fn returns or panics; else it is as LockDo.
func (c *Client) SemaphoreDo(ctx context.Context, name string, o SemaphoreOptions, fn func(context.Context) error) error {
	s, err := c.SemaphoreAcquire(ctx, name, o)
	if err != nil {
		return err
	}
	return s.do(ctx, fn)
}

// SemaphoreGet says how many permits are held, and by whom.
func (c *Client) SemaphoreGet(ctx context.Context, name string) (api.SemaphoreGetResult, error) {
	return Call(ctx, c, api.SemaphoreGet, api.SemaphoreGetParams{Name: name})
}
