package client

import (
	"context"
	"time"

	"github.com/coxswain-sidecar/coxswain/client/api"
)

// LockOptions set how to hold a lock. With the zero LockOptions it is held for as long
// as this client is connected, and renewed for 30 s each time.
type LockOptions struct {
	// TTL is how long the lock outlives its last renewal; 0 = 30 s.
	TTL time.Duration
	// Bind is api.BindSession or api.BindTTL. With api.BindSession, the default, the
	// sidecar renews the lock while the connection is open, and releases it when the
	// connection closes. With api.BindTTL it does neither: the lock is held for its TTL
	// and for as long as Renew is called, across connections.
	Bind string
	// Wait is how long to wait in line, at most 60 s and no longer than the context
	// lasts; 0 = do not wait. The line is first come, first served, across all pods.
	Wait time.Duration
	// WaitReplicas is how many replicas of Redis must confirm the grant. A failover is
	// then less likely to give the lock to a second holder. If too few confirm it, the
	// lock is given back and the error is a *BusyError without a holder.
	WaitReplicas int
	// MaxHold is the longest time to hold the lock, with all renewals; 0 = unlimited. After
	// it the lock is lost, and the cause of its Context contains "max_hold".
	MaxHold time.Duration
	// Meta is shown with the holder, for example the id of a job; at most 512 bytes.
	Meta string
}

// Lock is a held lock.
//
// Watch its Context: work under a lock must end when the lock is lost. A process that
// was suspended may go on before it notices that another owner has the lock. So let the
// protected resource refuse a Fence that is lower than the highest it has seen.
type Lock struct{ *held }

var locks = noun[api.LockAcquireParams, api.LockAcquireResult]{
	heldKind: heldKind{
		noun: "lock", renew: api.LockRenew.Name, release: api.LockRelease.Name, name: "name", token: "token", ttl: "ttl_ms",
	},
	acquire:  api.LockAcquire,
	setToken: func(p *api.LockAcquireParams, token string) { p.Token = token },
	decide: func(_ *api.LockAcquireParams, r *api.LockAcquireResult) decision {
		return decision{
			granted: r.Acquired, replayed: r.Replayed, fence: r.Fence, ttlMS: r.TTLMS, waitedMS: r.WaitedMS,
			heldBy: r.HeldBy, retryAfterMS: r.RetryAfterMS,
		}
	},
}

// LockAcquire acquires a lock, at once or in turn within o.Wait. If it is not acquired,
// the error is a *BusyError that names the holder. A grant that arrives after ctx has
// ended is given back.
func (c *Client) LockAcquire(ctx context.Context, name string, o LockOptions) (*Lock, error) {
	h, _, err := acquire(ctx, c, &locks, terms{name: name, session: o.Bind != api.BindTTL, maxHold: o.MaxHold}, api.LockAcquireParams{
		Name: name, TTLMS: api.Millis(o.TTL), WaitMS: api.Millis(o.Wait), WaitReplicas: int64(o.WaitReplicas),
		MaxHoldMS: api.Millis(o.MaxHold), Meta: o.Meta, Bind: o.Bind,
	})
	if err != nil {
		return nil, err
	}
	return (*Lock)(&h.itself), nil
}

// LockDo acquires a lock as LockAcquire does, runs fn, and releases the lock when fn
// returns or panics. The context that fn gets ends with ctx, and also when the lock is
// lost: fn must end then.
//
// It returns the error of fn, joined with an error that is ErrLost if the lock was not
// held to the end. If the lock is not acquired, fn does not run and the error is a
// *BusyError.
func (c *Client) LockDo(ctx context.Context, name string, o LockOptions, fn func(context.Context, *Lock) error) error {
	lk, err := c.LockAcquire(ctx, name, o)
	if err != nil {
		return err
	}
	return lk.do(ctx, func(ctx context.Context) error { return fn(ctx, lk) })
}

// LockGet returns whether a lock is held, and by whom.
func (c *Client) LockGet(ctx context.Context, name string) (api.LockGetResult, error) {
	return Call(ctx, c, api.LockGet, api.LockGetParams{Name: name})
}

// LockList returns one page of held locks. Pass the Cursor of its result to the next call.
func (c *Client) LockList(ctx context.Context, p api.LockListParams) (api.LockListResult, error) {
	return Call(ctx, c, api.LockList, p)
}

// LockForceRelease releases a lock of any holder and returns who held it. The holder is
// notified of the loss, and the next fence is higher. The reason is written to the log
// of the sidecar and to its events. The error is api.PermissionDenied if socket.admin does
// not allow this user.
func (c *Client) LockForceRelease(ctx context.Context, name, reason string) (api.LockForceReleaseResult, error) {
	return Call(ctx, c, api.LockForceRelease, api.LockForceReleaseParams{Name: name, Reason: reason})
}

// LockExplain returns why a lock would be refused now and until when, who holds it and whose calls wait for it.
func (c *Client) LockExplain(ctx context.Context, name string) (api.LockExplainResult, error) {
	return Call(ctx, c, api.LockExplain, api.LockGetParams{Name: name})
}
