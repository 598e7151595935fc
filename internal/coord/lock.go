package coord

import (
	"context"
	"time"

	"github.com/coxswain-sidecar/coxswain/internal/lua"
)

// nounLock is the noun of a lock's leases, losses and metrics.
const nounLock = "lock"

// The reasons of a lock that is not acquired or renewed, beside those of a Loss.
const (
	ReasonBusy     = "busy"
	ReasonReplicas = "replicas"
	ReasonReleased = "released"
	ReasonRenewed  = "renewed"
)

// The bounds of a lock's TTL, as on the wire (api.LockAcquireParams): below
// 100 ms there is no time to renew it, and a lock of days is a mistake.
const (
	minLockTTL = 100 * time.Millisecond
	maxLockTTL = 24 * time.Hour
)

// Locks are mutual exclusion with owners, TTLs and fencing tokens.
type Locks struct {
	runner *lua.Runner
	keys   Keys
	leases *Leases
	lines  *Lines
}

// NewLocks makes the lock noun. It hears of locks that are freed by force, through
// the signals of the lines.
func NewLocks(r *lua.Runner, k Keys, l *Leases, n *Lines) *Locks {
	n.signals.onForget(func(topic, key string) {
		if name, ok := k.lockName(key); ok && topic == topicForced {
			l.hurry(nounLock, name)
		}
	}, func() {}) // what was missed meanwhile is found by the next renewals
	return &Locks{runner: r, keys: k, leases: l, lines: n}
}

// LockRequest asks for a lock. Bound binds it to the caller's session.
type LockRequest struct {
	Name, Token string // an empty Token is made
	TTL         time.Duration
	// Wait is how long to stand in line for it, no longer than the call's deadline.
	Wait time.Duration
	// Replicas is how many replicas of Redis must have the grant; with fewer it is
	// given back, whoever's token it was.
	Replicas int
	Bound    bool
	// MaxHold is after how long it is lost, whoever renews it; 0 = never.
	MaxHold time.Duration
	Meta    string // shown with the holder
}

// LockGrant is a grant, or who is in the way.
type LockGrant struct {
	Acquired bool
	Token    string
	Fence    int64
	// TTL is what the owner or the present holder has left at least.
	TTL time.Duration
	// RetryAfter is 0 when acquired, else when the present holder's TTL is over
	// unless it renews: TTL is rounded down, this is rounded up.
	RetryAfter time.Duration
	Holder     *Holder // when it is not acquired and someone holds it
	// Waited is from when the call came to when the try that decided was sent.
	Waited   time.Duration
	Replayed bool
	// Reason is busy, replicas, released or expired when it is not acquired.
	Reason string
}

// Holder is who holds something.
type Holder struct {
	Identity
	Since time.Time // by the Redis server's clock
	Meta  string
}

// Acquire takes a lock. A token that holds it already gets the same fence again.
//
// A repeated request id answers what became of its grant: a live one is bound
// to the calling session, a dead one is not taken again.
func (l *Locks) Acquire(ctx context.Context, c Caller, r LockRequest) (LockGrant, error) {
	return await(func(done func(LockGrant, error)) { l.AcquireThen(ctx, c, r, done) })
}

// AcquireThen is Acquire for thousands of callers that wait: it returns when there
// is nothing to do but wait, and done is called before, or later on another goroutine.
func (l *Locks) AcquireThen(ctx context.Context, c Caller, r LockRequest, done func(LockGrant, error)) {
	err := r.check(c, nounLock)
	if err == nil {
		err = l.leases.admit("lock " + r.Name + ": acquire")
	}
	if err != nil {
		done(LockGrant{}, err)
		return
	}
	came := time.Now()
	l.acquire(ctx, c, r, func(g LockGrant, sent time.Time, err error) {
		if r.Wait > 0 {
			g.Waited = l.leases.waited(ctx, nounLock, came, sent, g.Acquired, err)
		}
		done(g, err)
	})
}

// acquire is AcquireThen of what was checked. It also tells when the try that
// decided was sent.
func (l *Locks) acquire(ctx context.Context, c Caller, r LockRequest, done func(LockGrant, time.Time, error)) {
	made := r.Token == ""
	if made {
		r.Token = makeToken(c, nounLock, r.Name)
	}
	key := l.keys.lock(r.Name)
	id := c.identity()
	in := &lua.LockAcquireIn{
		Lock: key, LineKeys: l.keys.line(key), Token: r.Token, TTLMS: r.TTL.Milliseconds(),
		Client: id.Client, Instance: id.Instance, MaxHoldMS: r.MaxHold.Milliseconds(), Meta: r.Meta,
	}
	if r.Bound {
		in.Session = c.Session.ID
	}
	l.take(ctx, &r, in, latch(key, c), func(out lua.Outcome[lua.LockAcquireOut], acked int, waiter string, err error) {
		var g LockGrant
		switch {
		case err != nil:
			l.leases.unsure(ctx, c, l.lease(c, r, 0), made, waiter, err)
			err = failed("lock "+r.Name+": acquire", err)
		case out.Replayed:
			g, err = l.replay(ctx, c, r, *in, out.Value.Fence)
		case !out.Value.Acquired:
			g = busy(out.Value)
		case acked < r.Replicas:
			x := l.lease(c, r, out.Value.Fence)
			l.leases.forget(x.leaseID)
			l.leases.takeBack(ctx, hold{leaseID: x.leaseID, session: in.Session, kind: l})
			g = LockGrant{Reason: ReasonReplicas, RetryAfter: pollEvery}
		default:
			g, err = l.grant(ctx, c, r, out)
		}
		done(g, out.Sent, err)
	})
}

// replicaTime bounds the wait for replicas, which have a grant within a round
// trip or are away.
const replicaTime = time.Second

// take asks for the lock once, or stands in line for it, and tells how many
// replicas have the grant, if that was asked for. The waiter, if there was one,
// may still be in the line after an error.
func (l *Locks) take(
	ctx context.Context, r *LockRequest, in *lua.LockAcquireIn, once lua.Latch,
	done func(out lua.Outcome[lua.LockAcquireOut], acked int, waiter string, err error),
) {
	var out lua.Outcome[lua.LockAcquireOut]
	var acked int
	l.lines.stand(ctx, in.LineKeys, r.Wait, func(ctx context.Context, at place) (_ look, err error) {
		in.Waiter, in.BeatMS = at.waiter, at.beat.Milliseconds()
		out, acked, err = lua.RunReplicated(ctx, l.runner, lua.LockAcquire, *in, once, r.Replicas, replicaTime)
		v := out.Value
		return look{served: v.Acquired || out.Replayed, first: v.First, free: untilFree(v)}, err
	}, func(waiter string, err error) { done(out, acked, waiter, err) })
}

// check is for all nouns that are asked for in this way.
func (r LockRequest) check(c Caller, noun string) error {
	if err := checkText("name", r.Name); err != nil {
		return err
	}
	if r.Token != "" {
		if err := checkText("token", r.Token); err != nil {
			return err
		}
	}
	if err := checkBound(c, r.Bound, noun); err != nil {
		return err
	}
	if err := checkWait(r.Wait); err != nil {
		return err
	}
	if err := checkHold(r.MaxHold, r.Meta); err != nil {
		return err
	}
	return checkTTL(r.TTL)
}

// The bounds of max_hold_ms and meta, as on the wire.
const (
	maxHold      = 7 * 24 * time.Hour
	maxMetaBytes = 512
)

func checkHold(d time.Duration, meta string) error {
	if d != 0 && (d < minLockTTL || d > maxHold) {
		return invalid("max_hold_ms: %d is out of range; use %d to %d, or 0 for no end",
			d.Milliseconds(), minLockTTL.Milliseconds(), maxHold.Milliseconds())
	}
	if len(meta) > maxMetaBytes {
		return invalid("meta: %d bytes are too many; give at most %d, such as the id of what is longer", len(meta), maxMetaBytes)
	}
	return nil
}

func checkTTL(ttl time.Duration) error {
	if ttl < minLockTTL || ttl > maxLockTTL {
		return invalid("ttl_ms: %d is out of range; use %d to %d", ttl.Milliseconds(), minLockTTL.Milliseconds(), maxLockTTL.Milliseconds())
	}
	return nil
}

// grant answers a lock that was taken, and binds it to the session if asked to.
func (l *Locks) grant(ctx context.Context, c Caller, r LockRequest, out lua.Outcome[lua.LockAcquireOut]) (LockGrant, error) {
	g := LockGrant{Acquired: true, Token: r.Token, Fence: out.Value.Fence, TTL: left(out.Value.TTLMS, out.Sent)}
	if !r.Bound {
		return g, nil
	}
	x := l.lease(c, r, g.Fence)
	x.final, x.granted = out.Value.Final, ms(out.Value.TTLMS)
	if err := l.leases.keep(ctx, x, out.Sent); err != nil {
		return LockGrant{}, err
	}
	return g, nil
}

func (l *Locks) lease(c Caller, r LockRequest, fence int64) *lease {
	x := &lease{leaseID: leaseID{nounLock, r.Name, r.Token}, fence: fence, ttl: r.TTL, kind: l}
	if r.Bound {
		x.session = c.Session
	}
	return x
}

func busy(out lua.LockAcquireOut) LockGrant {
	ttl := time.Duration(out.TTLMS) * time.Millisecond
	if ttl == 0 && out.SinceMS == 0 {
		// It is free, and those who wait for it come first.
		return LockGrant{Reason: ReasonBusy, RetryAfter: pollEvery}
	}
	return LockGrant{
		Reason: ReasonBusy, TTL: ttl, RetryAfter: untilFree(out),
		Holder: holder(out.Client, out.Instance, out.Meta, out.SinceMS),
	}
}

// untilFree is when the holder's TTL is over: what it has left is rounded down.
func untilFree(out lua.LockAcquireOut) time.Duration {
	return time.Duration(out.TTLMS+1) * time.Millisecond
}

func holder(client, instance, meta string, sinceMS int64) *Holder {
	return &Holder{Identity: Identity{client, instance}, Since: time.UnixMilli(sinceMS), Meta: meta}
}

// replay answers a request id whose grant was given before. The latched reply
// is only a memory, so that the lock itself is asked, by token and fence. A live
// grant is acquired again without the latch: for a token that holds the lock
// this changes no fence, restarts the TTL and binds it to this session, so that
// the give-back of the old one finds it moved. Between the two looks the old
// session may still give it back; the second then took the lock anew, which
// shows in the fence, and returns it: the answer to a replay is its own grant
// or none.
func (l *Locks) replay(ctx context.Context, c Caller, r LockRequest, in lua.LockAcquireIn, fence int64) (LockGrant, error) {
	op := "lock " + r.Name + ": replay"
	found, err := lua.Run(ctx, l.runner, lua.LockGet, lua.LockGetIn{Lock: in.Lock, Line: in.Line}, lua.Latch{})
	if err != nil {
		return LockGrant{}, failed(op, err)
	}
	info := found.Value
	if !info.Held || info.Token != r.Token || info.Fence != fence {
		reason := ReasonExpired
		if info.LastToken == r.Token {
			reason = ReasonReleased
		}
		return LockGrant{Replayed: true, Reason: reason}, nil
	}
	if !r.Bound {
		return LockGrant{
			Acquired: true, Token: r.Token, Fence: fence, TTL: left(info.TTLMS, found.Sent), Replayed: true,
		}, nil
	}
	again, err := lua.Run(ctx, l.runner, lua.LockAcquire, in, lua.Latch{})
	switch {
	case err != nil:
		l.leases.unsure(ctx, c, l.lease(c, r, 0), false, "", err)
		return LockGrant{}, failed(op, err)
	case !again.Value.Acquired:
		return LockGrant{Replayed: true, Reason: ReasonReleased}, nil
	case again.Value.Fence != fence:
		l.leases.takeBack(ctx, l.lease(c, r, again.Value.Fence).hold())
		return LockGrant{Replayed: true, Reason: ReasonReleased}, nil
	}
	g, err := l.grant(ctx, c, r, again)
	g.Replayed = err == nil
	return g, err
}
