package client

import (
	"context"
	"crypto/rand"
	"time"

	"github.com/coxswain-sidecar/coxswain/client/api"
)

// LockOptions say how to hold a lock. The zero LockOptions hold it for as long
// as this client is connected, 30 s at a time.
type LockOptions struct {
	// TTL is how long the lock outlives its last renewal; 0 = 30 s.
	TTL time.Duration
	// Bind is api.BindSession (the default: renewed by the sidecar while the
	// connection lives, released when it closes) or api.BindTTL (neither: it is
	// held for its TTL and for as long as Renew is called, across connections).
	Bind string
	// Wait is how long to stand in line for it, at most 60 s and no longer than
	// the context lasts; 0 = not at all. First come, first served, across all pods.
	Wait time.Duration
	// WaitReplicas is how many replicas of Redis must have the grant: fewer locks
	// then have a second holder after a failover. With too few it is given back,
	// and the error is a *BusyError without a holder.
	WaitReplicas int
	// MaxHold is after how long it is lost whoever renews it; 0 = never. The
	// Context then ends with "max_hold" in its cause.
	MaxHold time.Duration
	// Meta is shown with the holder, such as a job's id; at most 512 bytes.
	Meta string
}

// Lock is a held lock.
//
// Watch its Context: work under a lock has to end when the lock is lost. That
// still leaves a moment in which a paused process believes in a lock that has
// passed on, so what the lock protects should refuse a Fence lower than the
// last it saw.
type Lock struct{ held }

var lockKind = heldKind{
	noun: "lock", acquire: api.LockAcquire.Name, renew: api.LockRenew.Name, release: api.LockRelease.Name,
	name: "name", token: "token", ttl: "ttl_ms",
}

// LockAcquire takes a lock, at once or in turn within o.Wait, or returns a
// *BusyError that says who holds it. A lock whose grant comes after ctx has ended
// is given back.
func (c *Client) LockAcquire(ctx context.Context, name string, o LockOptions) (*Lock, error) {
	params := api.LockAcquireParams{
		Name: name, TTLMS: millis(o.TTL), WaitMS: millis(o.Wait), WaitReplicas: int64(o.WaitReplicas),
		MaxHoldMS: millis(o.MaxHold), Meta: o.Meta, Bind: o.Bind,
	}
	for {
		lk := &Lock{held{c: c, kind: &lockKind, name: name, token: rand.Text(), session: o.Bind != api.BindTTL, maxHold: o.MaxHold}}
		params.Token = lk.token
		var r api.LockAcquireResult
		err := c.invoke(ctx, invocation{
			method: api.LockAcquire.Name, params: &params, result: &r, lease: &lk.held, ownID: true,
		})
		switch {
		case err != nil:
			lk.disown(err)
			return nil, err
		case r.Acquired:
			if err := lk.take(ctx, grant{r.Fence, r.TTLMS, r.WaitedMS}); err != nil {
				return nil, err
			}
			return lk, nil
		}
		lk.forget()
		// A grant that ended with its broken connection before the call was
		// repeated: nothing was decided about the lock as it is now, so ask again.
		if !r.Replayed {
			return nil, &BusyError{
				Noun: lockKind.noun, Name: name, HeldBy: r.HeldBy, RetryAfter: time.Duration(r.RetryAfterMS) * time.Millisecond,
			}
		}
	}
}

// LockDo runs fn while it holds the lock, acquired as by LockAcquire, and gives
// the lock back when fn returns or panics. The context that fn gets ends with ctx,
// and when the lock is lost: fn has to end then.
//
// It returns fn's error, joined with one that is ErrLost when the lock was not
// held to the end; fn is not run, and the error is a *BusyError, when the lock is
// not had.
func (c *Client) LockDo(ctx context.Context, name string, o LockOptions, fn func(context.Context) error) error {
	lk, err := c.LockAcquire(ctx, name, o)
	if err != nil {
		return err
	}
	return lk.do(ctx, fn)
}

// LockGet says whether a lock is held, and by whom.
func (c *Client) LockGet(ctx context.Context, name string) (api.LockGetResult, error) {
	return Call(ctx, c, api.LockGet, api.LockGetParams{Name: name})
}

// LockList returns a page of the locks that are held, from the cursor of the page
// before it, empty for the first; about count of them, 0 = 100.
func (c *Client) LockList(ctx context.Context, cursor string, count int) (api.LockListResult, error) {
	return Call(ctx, c, api.LockList, api.LockListParams{Cursor: cursor, Count: int64(count)})
}

// LockForceRelease frees a lock whoever holds it, and says who did. The holder is
// told that it lost the lock; the fence of the next one is higher. Reason is for
// the sidecar's log and its events. It needs the rights of an administrator.
func (c *Client) LockForceRelease(ctx context.Context, name, reason string) (api.LockForceReleaseResult, error) {
	return Call(ctx, c, api.LockForceRelease, api.LockForceReleaseParams{Name: name, Reason: reason})
}
