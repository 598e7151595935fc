package coord

import (
	"context"
	"time"

	"github.com/coxswain-sidecar/coxswain/client/api"
	"github.com/coxswain-sidecar/coxswain/internal/lua"
)

// nounLock is the noun of a lock's leases, losses and metrics.
const nounLock = "lock"

// Locks are mutual exclusion with owners, TTLs and fencing tokens.
//
// A fence is made by the script that grants: it rises with every new owner and never
// goes back, since a free lock is remembered with its fence, and the server's clock is
// the least that a fence can be.
type Locks struct {
	runner *lua.Runner
	keys   lockKeys
	leases *Leases
	lines  *Lines
}

// NewLocks makes the lock noun. It hears of locks that are freed by force, through
// the signals of the lines.
func NewLocks(r *lua.Runner, k Keys, l *Leases, n *Lines) *Locks {
	keys := lockKeys{k}
	n.signals.onForget(func(topic, key string) {
		if name, ok := keys.lockName(key); ok && topic == topicForced {
			l.hurry(nounLock, name)
		}
	}, func() {}) // what was missed meanwhile is found by the next renewals
	return &Locks{runner: r, keys: keys, leases: l, lines: n}
}

// Methods are those of the noun.
func (l *Locks) Methods() []Method {
	byName := Named(nounLock, "name")
	return []Method{
		OnParked(api.LockAcquire, l.AcquireThen, Acquires, Piped, byName),
		On(api.LockRenew, l.Renew, byName),
		On(api.LockRelease, l.Release, Piped, byName),
		On(api.LockGet, l.Get, byName),
		On(api.LockList, l.List),
		On(api.LockForceRelease, l.ForceRelease, byName),
	}
}

// Acquire takes a lock, at once or in turn within its wait_ms. A token that holds it
// already gets the same fence again.
//
// A repeated request id answers what became of its grant: a live one is bound
// to the calling session, a dead one is not taken again.
func (l *Locks) Acquire(ctx context.Context, c Caller, p *api.LockAcquireParams) (api.LockAcquireResult, error) {
	return Await(func(done func(api.LockAcquireResult, error)) { l.AcquireThen(ctx, c, p, done) })
}

// lockAcquisition is a call of Acquire.
type lockAcquisition struct {
	acquisition[lua.LockAcquireOut, api.LockAcquireResult]
	runner *lua.Runner
	in     lua.LockAcquireIn
}

// AcquireThen is Acquire for thousands of callers that wait: it returns when there
// is nothing to do but wait, and done is called before, or later on another goroutine.
func (l *Locks) AcquireThen(ctx context.Context, c Caller, p *api.LockAcquireParams, done func(api.LockAcquireResult, error)) {
	if err := checkHeld(c, p.Bind, p.MaxHoldMS, p.Meta, nounLock); err != nil {
		done(api.LockAcquireResult{}, err)
		return
	}
	x := newLease(c, nounLock, p.Name, p.Token, p.Bind, p.TTLMS, l)
	id, key := c.identity(), l.keys.lock(p.Name)
	a := &lockAcquisition{runner: l.runner, in: lua.LockAcquireIn{
		Lock: key, LineKeys: lineKeys(key), Token: x.token, TTLMS: p.TTLMS, Session: x.sessionID(),
		Client: id.Client, Instance: id.Instance, MaxHoldMS: p.MaxHoldMS, Meta: p.Meta,
	}}
	once := Latch(key, c)
	a.acquisition = acquisition[lua.LockAcquireOut, api.LockAcquireResult]{
		leases: l.leases, lines: l.lines, caller: c, verb: "acquire", lease: x, made: p.Token == "",
		line: a.in.LineKeys, wait: Millis(p.WaitMS),
		ask: func(ctx context.Context, at place) (attempt[lua.LockAcquireOut], error) {
			a.in.Waiter, a.in.BeatMS = at.waiter, at.beat.Milliseconds()
			out, acked, err := lua.RunReplicated(ctx, l.runner, lua.LockAcquire, a.in, once, int(p.WaitReplicas), replicaTime)
			v := out.Value
			return attempt[lua.LockAcquireOut]{out, look{v.Acquired || out.Replayed, v.First, untilFree(v)}, acked}, err
		},
		grant: func(ctx context.Context, t attempt[lua.LockAcquireOut]) (api.LockAcquireResult, error) {
			if t.acked < int(p.WaitReplicas) {
				a.tooFewReplicas(ctx)
				return api.LockAcquireResult{Reason: ReasonReplicas, RetryAfterMS: pollEvery.Milliseconds()}, nil
			}
			return a.granted(ctx, t.Outcome)
		},
		refuse: func(t attempt[lua.LockAcquireOut]) api.LockAcquireResult { return lockBusy(t.Value) },
		replay: a.replayed,
		waited: func(r *api.LockAcquireResult, ms int64) bool {
			r.WaitedMS = ms
			return r.Acquired
		},
	}
	acquire(ctx, &a.acquisition, done)
}

// granted answers a lock that was taken, and binds it to the session if asked to.
func (a *lockAcquisition) granted(ctx context.Context, out lua.Outcome[lua.LockAcquireOut]) (api.LockAcquireResult, error) {
	v, x := out.Value, a.lease
	x.fence, x.final, x.granted = v.Fence, v.Final, Millis(v.TTLMS)
	if err := a.held(ctx, out.Sent); err != nil {
		return api.LockAcquireResult{}, err
	}
	return api.LockAcquireResult{Acquired: true, Token: x.token, Fence: Fence(v.Fence), TTLMS: leftMS(v.TTLMS, out.Sent)}, nil
}

func lockBusy(v lua.LockAcquireOut) api.LockAcquireResult {
	if v.TTLMS == 0 && v.SinceMS == 0 {
		// It is free, and those who wait for it come first.
		return api.LockAcquireResult{Reason: ReasonBusy, RetryAfterMS: pollEvery.Milliseconds()}
	}
	return api.LockAcquireResult{
		Reason: ReasonBusy, TTLMS: v.TTLMS, RetryAfterMS: untilFree(v).Milliseconds(),
		HeldBy: heldBy(v.Client, v.Instance, v.Meta, v.SinceMS),
	}
}

// untilFree is when the holder's TTL is over: what it has left is rounded down.
func untilFree(v lua.LockAcquireOut) time.Duration { return Millis(v.TTLMS + 1) }

// replayed answers a request id whose grant was given before. The stored reply
// is only a memory, so that the lock itself is asked, by token and fence. A live
// grant is acquired again without the latch: for a token that holds the lock
// this changes no fence, restarts the TTL and binds it to this session, so that
// the give-back of the old one finds it moved. Between the two looks the old
// session may still give it back; the second then took the lock anew, which
// shows in the fence, and returns it: the answer to a replay is its own grant
// or none.
func (a *lockAcquisition) replayed(ctx context.Context, was lua.LockAcquireOut) (api.LockAcquireResult, error) {
	x := a.lease
	op := "lock " + x.name + ": replay"
	found, err := lua.Run(ctx, a.runner, lua.LockGet, lua.LockGetIn{Lock: a.in.Lock, Line: a.in.Line}, lua.Latch{})
	if err != nil {
		return api.LockAcquireResult{}, Failed(op, err)
	}
	v := found.Value
	switch {
	case !v.Held || v.Token != x.token || v.Fence != was.Fence:
		reason := ReasonExpired
		if v.LastToken == x.token {
			reason = ReasonReleased
		}
		return api.LockAcquireResult{Replayed: true, Reason: reason}, nil
	case x.session == nil:
		return api.LockAcquireResult{
			Acquired: true, Token: x.token, Fence: Fence(was.Fence), TTLMS: leftMS(v.TTLMS, found.Sent), Replayed: true,
		}, nil
	}
	again, err := lua.Run(ctx, a.runner, lua.LockAcquire, a.in, lua.Latch{})
	switch {
	case err != nil:
		a.leases.unsure(ctx, a.caller, x, false, "", err)
		return api.LockAcquireResult{}, Failed(op, err)
	case !again.Value.Acquired:
		return api.LockAcquireResult{Replayed: true, Reason: ReasonReleased}, nil
	case again.Value.Fence != was.Fence:
		a.leases.takeBack(ctx, x.hold())
		return api.LockAcquireResult{Replayed: true, Reason: ReasonReleased}, nil
	}
	r, err := a.granted(ctx, again)
	r.Replayed = err == nil
	return r, err
}

// Renew has a lock that the token holds, in whatever session, live so long from now
// on, shorter or longer than before.
func (l *Locks) Renew(ctx context.Context, _ Caller, p *api.LockRenewParams) (api.LockRenewResult, error) {
	op := "lock " + p.Name + ": renew"
	// Looked up before the script: a lease that is granted while it runs is
	// another one, and not lost by what the script finds.
	x, err := l.leases.claim(ctx, leaseID{nounLock, p.Name, p.Token})
	if err != nil {
		return api.LockRenewResult{}, Failed(op, err)
	}
	out, err := lua.Run(ctx, l.runner, lua.LockRenew, lua.LockRenewIn{
		Lock: l.keys.lock(p.Name), Token: p.Token, TTLMS: p.TTLMS,
	}, lua.Latch{})
	if err != nil {
		l.leases.unclaim(x)
		return api.LockRenewResult{}, Failed(op, err)
	}
	v := out.Value
	if v.State != lua.LockOwned {
		reason := notHeld(v.State)
		l.leases.lose(x, reason)
		return api.LockRenewResult{Reason: reason}, nil
	}
	l.leases.extend(x, Millis(p.TTLMS), renewal{sent: out.Sent, final: v.Final, left: Millis(v.TTLMS)})
	return api.LockRenewResult{Renewed: true, Fence: Fence(v.Fence), TTLMS: leftMS(v.TTLMS, out.Sent), Reason: ReasonRenewed}, nil
}

// Release gives a lock back, in whatever session. It runs on its own time: a
// caller that goes away does not stop it. Repeating it answers the same, since
// the first reply may have been lost.
func (l *Locks) Release(ctx context.Context, c Caller, p *api.LockReleaseParams) (api.LockReleaseResult, error) {
	id := leaseID{nounLock, p.Name, p.Token}
	found, err := release(ctx, l.leases, c, id, func(ctx context.Context) (lua.LockState, error) {
		out, err := lua.Run(ctx, l.runner, lua.LockRelease, l.release(hold{leaseID: id}), lua.Latch{})
		return out.Value, err
	})
	switch {
	case err != nil:
		return api.LockReleaseResult{}, err
	case found == lua.LockOwned || found == lua.LockReleased:
		return api.LockReleaseResult{Released: true, Reason: ReasonReleased}, nil
	default:
		return api.LockReleaseResult{Reason: notHeld(found)}, nil
	}
}

// Get reads a lock.
func (l *Locks) Get(ctx context.Context, _ Caller, p *api.LockGetParams) (api.LockGetResult, error) {
	key := l.keys.lock(p.Name)
	out, err := lua.Run(ctx, l.runner, lua.LockGet, lua.LockGetIn{Lock: key, Line: lineKeys(key).Line}, lua.Latch{})
	v := out.Value
	switch {
	case err != nil:
		return api.LockGetResult{}, Failed("lock "+p.Name+": get", err)
	case !v.Held:
		return api.LockGetResult{Waiting: v.Waiting}, nil
	}
	return api.LockGetResult{
		Held: true, Fence: Fence(v.Fence), TTLMS: v.TTLMS, Waiting: v.Waiting,
		HeldBy: heldBy(v.Client, v.Instance, v.Meta, v.SinceMS),
	}, nil
}

// RenewHeld implements Kind.
func (l *Locks) RenewHeld(ctx context.Context, due []hold) []renewal {
	return renewBy(ctx, l.runner, lua.LockRenew, due, func(h hold) lua.LockRenewIn {
		return lua.LockRenewIn{Lock: l.keys.lock(h.name), Token: h.token, TTLMS: h.ttl.Milliseconds(), Session: h.session}
	}, func(v lua.LockRenewOut) renewal {
		switch v.State {
		case lua.LockOwned:
			return renewal{held: true, final: v.Final, left: Millis(v.TTLMS)}
		case lua.LockMoved:
			return renewal{moved: true}
		default:
			return renewal{reason: notHeld(v.State)}
		}
	})
}

// GiveBackHeld implements Kind. Whatever the scripts find, the holds are no
// longer ours: only an error is worth another try.
func (l *Locks) GiveBackHeld(ctx context.Context, gone []hold) []error {
	return giveBackBy(ctx, l.runner, lua.LockRelease, gone, l.release)
}

// release is the input of the script that gives back a lock, a ticket in its waiting
// line, or both.
func (l *Locks) release(h hold) lua.LockReleaseIn {
	key := l.keys.lock(h.name)
	return lua.LockReleaseIn{
		Lock: key, LineKeys: lineKeys(key), Token: h.token, Session: h.session,
		Waiter: h.waiter, Inboxes: l.keys.inboxes(),
	}
}
