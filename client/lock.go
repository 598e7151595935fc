package client

import (
	"context"
	"crypto/rand"
	"errors"
	"fmt"
	"strconv"
	"sync"
	"time"

	"github.com/coxswain-sidecar/coxswain/client/api"
)

// releaseTime is what a release gets whose context has ended already.
const releaseTime = 2 * time.Second

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
}

// Lock is a held lock.
//
// Watch its Context: work under a lock has to end when the lock is lost. That
// still leaves a moment in which a paused process believes in a lock that has
// passed on, so what the lock protects should refuse a Fence lower than the
// last it saw.
type Lock struct {
	c           *Client
	name, token string
	session     bool // bound to the session, not to its TTL

	// Set by the grant.
	fence uint64
	ttl   time.Duration
	ctx   context.Context
	end   context.CancelCauseFunc

	mu        sync.Mutex // guards what follows
	on        *conn      // the session that holds it
	confirmed time.Time  // it was held for all that is known at this time
	loss      error
	timer     *time.Timer // nil until it is granted
	released  bool
}

// LockAcquire takes a lock, at once or in turn within o.Wait, or returns a
// *BusyError that says who holds it. A lock whose grant comes after ctx has ended
// is given back.
func (c *Client) LockAcquire(ctx context.Context, name string, o LockOptions) (*Lock, error) {
	params := api.LockAcquireParams{Name: name, TTLMS: millis(o.TTL), WaitMS: millis(o.Wait), WaitReplicas: int64(o.WaitReplicas), Bind: o.Bind}
	for {
		lk := &Lock{c: c, name: name, token: rand.Text(), session: o.Bind != api.BindTTL}
		params.Token = lk.token
		var r api.LockAcquireResult
		err := c.invoke(ctx, invocation{
			method: api.LockAcquire.Name, params: &params, result: &r, lock: lk, ownID: true,
		})
		switch {
		case err != nil:
			lk.disown(err)
			return nil, err
		case r.Acquired:
			if err := lk.grant(ctx, r); err != nil {
				return nil, err
			}
			return lk, nil
		}
		lk.forget()
		// A grant that ended with its broken connection before the call was
		// repeated: nothing was decided about the lock as it is now, so ask again.
		if !r.Replayed {
			return nil, &BusyError{name, r.HeldBy, time.Duration(r.RetryAfterMS) * time.Millisecond}
		}
	}
}

// LockGet says whether a lock is held, and by whom.
func (c *Client) LockGet(ctx context.Context, name string) (api.LockGetResult, error) {
	return Call(ctx, c, api.LockGet, api.LockGetParams{Name: name})
}

// Name is the lock's name.
func (l *Lock) Name() string { return l.name }

// Token is the owner's secret, with which another client may renew or release
// the lock by lock.renew and lock.release.
func (l *Lock) Token() string { return l.token }

// Fence rises with every new owner of the lock, through failovers and data loss
// too.
func (l *Lock) Fence() uint64 { return l.fence }

// Context ends when the lock is no longer held; its cause is then ErrReleased,
// or an error that is ErrLost and says why. It has the values of the context
// that the lock was acquired with, but not its end.
func (l *Lock) Context() context.Context { return l.ctx }

// Renew extends the lock by its TTL. Only locks bound to their TTL need it. When
// the lock is not held any more it is lost, and the error is ErrLost; after any
// other error the lock is held until its TTL ends.
func (l *Lock) Renew(ctx context.Context) error {
	l.mu.Lock()
	on, loss, released := l.on, l.loss, l.released
	l.mu.Unlock()
	switch {
	case released:
		return fmt.Errorf("lock %s: renew: %w", l.name, ErrReleased)
	case loss != nil:
		return fmt.Errorf("lock %s: renew: %w", l.name, loss)
	case !l.session:
		on = nil
	}
	sent := time.Now()
	params := api.LockRenewParams{Name: l.name, Token: l.token, TTLMS: l.ttl.Milliseconds()}
	var r api.LockRenewResult
	err := l.c.invoke(ctx, invocation{
		method: api.LockRenew.Name, idempotent: true, params: &params, result: &r, on: on,
	})
	if err != nil {
		return err
	}
	if !r.Renewed {
		return fmt.Errorf("lock %s: renew: %w", l.name, l.lose(r.Reason))
	}
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.loss == nil && !l.released {
		l.confirmed = sent
		l.arm()
	}
	return nil
}

// Release gives the lock back and ends its Context. It works on a context that
// has ended too, as in a defer. It returns an error that is ErrLost when the
// lock was not held to the end; after any other error it may be called again,
// and the lock is free when its session or its TTL ends at the latest. Once
// released, further calls do nothing.
func (l *Lock) Release(ctx context.Context) error {
	l.mu.Lock()
	if l.released {
		l.mu.Unlock()
		return nil
	}
	l.timer.Stop()
	on, loss := l.on, l.loss
	l.mu.Unlock()
	l.end(ErrReleased)

	if ctx.Err() != nil {
		var cancel context.CancelFunc
		ctx, cancel = context.WithTimeout(context.WithoutCancel(ctx), releaseTime)
		defer cancel()
	}
	// The session that holds it must let go of it too, or it would take the
	// release for a loss. Where that session has ended the token is enough, and
	// frees at once what a killed sidecar left behind.
	if !l.session || loss != nil {
		on = nil
	}
	params := api.LockReleaseParams{Name: l.name, Token: l.token}
	var r api.LockReleaseResult
	err := l.c.invoke(ctx, invocation{
		method: api.LockRelease.Name, idempotent: true, params: &params, result: &r, on: on,
	})
	if err != nil {
		return err
	}
	l.forget()
	l.mu.Lock()
	defer l.mu.Unlock()
	l.released = true
	if l.loss != nil {
		return fmt.Errorf("lock %s: release: %w", l.name, l.loss)
	}
	if !r.Released {
		return fmt.Errorf("lock %s: release: %w", l.name, lost(r.Reason))
	}
	return nil
}

// grant makes the lock a held one.
func (l *Lock) grant(ctx context.Context, r api.LockAcquireResult) error {
	fence, err := strconv.ParseUint(r.Fence, 10, 64)
	if err != nil {
		err = fmt.Errorf("%s: %w: fence: %w", api.LockAcquire.Name, errMalformed, err)
		l.disown(&brokenError{err, true})
		return err
	}
	l.fence, l.ttl = fence, time.Duration(r.TTLMS)*time.Millisecond
	l.ctx, l.end = context.WithCancelCause(context.WithoutCancel(ctx))
	l.mu.Lock()
	defer l.mu.Unlock()
	l.timer = time.AfterFunc(l.ttl, l.check)
	// What granted it was not sent before that, by the sidecar's own count.
	l.confirmed = l.confirmed.Add(time.Duration(r.WaitedMS) * time.Millisecond)
	l.arm()
	if l.loss != nil { // between the reply and now
		l.timer.Stop()
		l.end(l.loss)
	}
	return nil
}

// bind notes which connection the acquisition is sent on, and when. The lock's
// validity counts from here.
func (l *Lock) bind(cn *conn) {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.on, l.confirmed, l.loss = cn, time.Now(), nil
}

// arm sets the time of the next check, with l.mu held.
//
// A lock bound to its TTL ends with its validity. One bound to the session is
// renewed by the sidecar, which tells of a loss in time as long as it lives: so
// the sidecar itself is asked every third of the TTL.
func (l *Lock) arm() {
	next := l.confirmed.Add(l.ttl / 3)
	if !l.session {
		next = l.confirmed.Add(validity(l.ttl))
	}
	l.timer.Reset(time.Until(next))
}

// check runs when the timer does.
func (l *Lock) check() {
	if !l.session {
		_ = l.lose("its TTL ran out")
		return
	}
	l.mu.Lock()
	on := l.on
	// The renewal that is known to have been made may be a third of the TTL older
	// than the answer that vouches for it.
	until := l.confirmed.Add(validity(l.ttl) - l.ttl/3)
	l.mu.Unlock()
	ctx, cancel := context.WithDeadline(l.ctx, until)
	defer cancel()
	asked := time.Now()
	// Not a call of the program's own: it has no span.
	cl, err := l.c.newCall(api.SessionPing.Name, nil)
	if err == nil {
		err = on.roundTrip(ctx, cl, time.Until(until), nil)
		l.c.free(cl)
	}
	if l.ctx.Err() != nil {
		return
	}
	if err != nil {
		_ = l.lose("the sidecar does not answer")
		return
	}
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.loss == nil && !l.released {
		l.confirmed = asked
		l.arm()
	}
}

// validity is how long a grant can be relied on from when it was asked for: its
// TTL less 1 % for clocks that differ in speed and 2 ms for what they round.
func validity(ttl time.Duration) time.Duration { return ttl - ttl/100 - 2*time.Millisecond }

// lose ends the lock. It returns the first reason.
func (l *Lock) lose(reason string) error {
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.loss == nil {
		l.loss = lost(reason)
	}
	if l.timer != nil {
		l.timer.Stop()
		l.end(l.loss)
	}
	return l.loss
}

func lost(reason string) error { return fmt.Errorf("%w: %s", ErrLost, reason) }

// disown gives back what may have been granted although the call failed. The
// token is known to this call alone, so nothing else can be hit.
func (l *Lock) disown(err error) {
	l.forget()
	var reply *api.Error
	var broken *brokenError
	if errors.As(err, &reply) {
		switch reply.Code {
		case api.DeadlineExceeded, api.Cancelled, api.Internal:
		default:
			if !reply.MaybeExecuted() {
				return
			}
		}
	} else if !errors.As(err, &broken) {
		return
	}
	if cn := l.c.live(); cn != nil {
		cn.notify(l.releaseFrame())
	}
}

// forget takes the lock off its connection.
func (l *Lock) forget() {
	l.mu.Lock()
	on := l.on
	l.mu.Unlock()
	if on != nil {
		on.mu.Lock()
		delete(on.held, l.token)
		on.mu.Unlock()
	}
}

// releaseFrame is the notification that releases the lock.
func (l *Lock) releaseFrame() []byte {
	b := appendText([]byte{0x93, frameNotification}, api.LockRelease.Name)
	b = appendMap(append(b, 0x91), 2)
	b = appendText(appendText(b, "name"), l.name)
	return appendText(appendText(b, "token"), l.token)
}

// millis rounds up: a TTL that was asked for must not become the default.
func millis(d time.Duration) int64 {
	return int64((d + time.Millisecond - 1) / time.Millisecond)
}
