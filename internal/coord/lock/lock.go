// Package lock is mutual exclusion: locks with owners, TTLs and fences.
//
// Its invariant: of one name at most one token is the owner, as Redis tells the time, and
// the fences of its grants only grow. Who writes to a store that checks the fence is safe
// even when its lock has ended without its knowledge.
package lock

import (
	"context"
	"time"

	"github.com/coxswain-sidecar/coxswain/client/api"
	"github.com/coxswain-sidecar/coxswain/internal/coord"
	"github.com/coxswain-sidecar/coxswain/internal/coord/lease"
	"github.com/coxswain-sidecar/coxswain/internal/lua"
)

// noun is the noun of a lock's leases, losses and metrics.
const noun = "lock"

// Locks are mutual exclusion with owners, TTLs and fencing tokens.
//
// A fence is made by the script that grants: it rises with every new owner and never
// goes back, since a free lock is remembered with its fence, and the server's clock is
// the least that a fence can be.
type Locks struct {
	runner *lua.Runner
	keys   keys
	leases *lease.Leases
	lines  *lease.Lines

	acquires acquires
	renews   coord.Halved[api.LockRenewParams, api.LockRenewResult]
	releases coord.Halved[api.LockReleaseParams, api.LockReleaseResult]
}

type acquires = lease.Acquiring[api.LockAcquireParams, AcquireOut, api.LockAcquireResult, lockAcquisition]

// New makes the lock noun. It hears of locks that are freed by force, through
// the signals of the lines.
func New(r *lua.Runner, k coord.Keys, l *lease.Leases, n *lease.Lines) *Locks {
	keys := keys{k}
	n.Signals.OnForget(func(topic, key string) {
		if name, ok := keys.NameOf(key, kindLock); ok && topic == topicForced {
			l.Hurry(noun, name)
		}
	}, func() {}) // what was missed meanwhile is found by the next renewals
	locks := &Locks{runner: r, keys: keys, leases: l, lines: n}
	locks.acquires = acquires{
		Open: func(c coord.Caller, p *api.LockAcquireParams, a *lockAcquisition) error { return a.open(locks, c, p) },
		Of: func(a *lockAcquisition) *lease.Acquisition[AcquireOut, api.LockAcquireResult] {
			return &a.Acquisition
		},
	}
	locks.renews, locks.releases = locks.renewing().Halved(), locks.releasing().Halved()
	return locks
}

// Methods are those of the noun.
func (l *Locks) Methods() []coord.Method {
	byName := coord.Named(noun, "name")
	return []coord.Method{
		coord.OnParked(api.LockAcquire, l.AcquireThen, coord.Acquires, coord.Piped, byName, l.acquires.Direct()),
		coord.On(api.LockRenew, l.Renew, byName, l.renews.Direct),
		coord.On(api.LockRelease, l.Release, coord.Piped, byName, l.releases.Direct),
		coord.On(api.LockGet, l.Get, byName),
		coord.On(api.LockList, l.List),
		coord.On(api.LockExplain, l.Explain, byName),
		coord.On(api.LockForceRelease, l.ForceRelease, byName),
	}
}

// Acquire takes a lock, at once or in turn within its wait_ms. A token that holds it
// already gets the same fence again.
//
// A repeated request id answers what became of its grant: a live one is bound
// to the calling session, a dead one is not taken again.
func (l *Locks) Acquire(ctx context.Context, c coord.Caller, p *api.LockAcquireParams) (api.LockAcquireResult, error) {
	return coord.Await(func(done func(api.LockAcquireResult, error)) { l.AcquireThen(ctx, c, p, done) })
}

// AcquireThen is Acquire for thousands of callers that wait: it returns when there
// is nothing to do but wait, and done is called before, or later on another goroutine.
func (l *Locks) AcquireThen(ctx context.Context, c coord.Caller, p *api.LockAcquireParams, done func(api.LockAcquireResult, error)) {
	l.acquires.Then(ctx, c, p, done)
}

// lockAcquisition is a call of Acquire. It implements lease.Terms.
type lockAcquisition struct {
	lease.Acquisition[AcquireOut, api.LockAcquireResult]
	lease.Untold[api.LockAcquireResult]
	runner *lua.Runner
	in     AcquireIn
	once   lua.StoredReply
}

func (a *lockAcquisition) open(l *Locks, c coord.Caller, p *api.LockAcquireParams) error {
	if err := lease.CheckHeld(c, p.Bind, p.MaxHoldMS, p.Meta, noun); err != nil {
		return err
	}
	x := lease.NewLease(c, noun, p.Name, p.Token, p.Bind, p.TTLMS, l)
	id, key := c.Identity(), l.keys.lock(p.Name)
	a.runner, a.once, a.in = l.runner, coord.StoredReply(key, c), AcquireIn{
		Lock: key, LineKeys: lease.LineKeysOf(key), Token: x.Token, TTLMS: p.TTLMS, Session: x.SessionID(),
		Client: id.Client, Instance: id.Instance, MaxHoldMS: p.MaxHoldMS, Meta: p.Meta,
	}
	a.Acquisition = lease.Acquisition[AcquireOut, api.LockAcquireResult]{
		Leases: l.leases, Lines: l.lines, Caller: c, Verb: "acquire", Lease: x, Made: p.Token == "",
		Line: a.in.LineKeys, Wait: coord.Millis(p.WaitMS), Replicas: int(p.WaitReplicas), Terms: a,
	}
	return nil
}

// Ask implements lease.Terms, and so do those that follow.
func (a *lockAcquisition) Ask(at lease.Place, run *lua.Asked) {
	a.in.Waiter, a.in.HeartbeatMS = at.Waiter, at.Heartbeat.Milliseconds()
	lua.Ask(a.runner, AcquireScript, a.in, a.once, lua.Patient, run)
}

func (a *lockAcquisition) Read(ctx context.Context, run *lua.Asked) (lease.Attempt[AcquireOut], bool, error) {
	out, err := lua.Answer(ctx, a.runner, AcquireScript, run)
	v := out.Value
	return lease.Attempt[AcquireOut]{
		Outcome: out, Look: lease.Look{Served: v.Acquired || out.Replayed, First: v.First, Free: untilFree(v)},
	}, false, err
}

func (a *lockAcquisition) Take(x *lease.Lease, v AcquireOut) {
	x.Fence, x.Final, x.Granted = v.Fence, v.Final, coord.Millis(v.TTLMS)
}

func (a *lockAcquisition) Granted(_ context.Context, t lease.Attempt[AcquireOut]) api.LockAcquireResult {
	return api.LockAcquireResult{
		Acquired: true, Token: a.Lease.Token, Fence: coord.Fence(t.Value.Fence), TTLMS: lease.LeftMS(t.Value.TTLMS, t.Sent),
	}
}

func (a *lockAcquisition) Refused(t lease.Attempt[AcquireOut]) api.LockAcquireResult {
	if t.Served {
		return api.LockAcquireResult{Reason: lease.ReasonReplicas, RetryAfterMS: lease.PollEvery.Milliseconds()}
	}
	return lockBusy(t.Value)
}

func (a *lockAcquisition) Waited(r *api.LockAcquireResult, ms int64) bool {
	r.WaitedMS = ms
	return r.Acquired
}

func lockBusy(v AcquireOut) api.LockAcquireResult {
	if v.TTLMS == 0 && v.SinceMS == 0 {
		// It is free, and those who wait for it come first.
		return api.LockAcquireResult{Reason: lease.ReasonBusy, RetryAfterMS: lease.PollEvery.Milliseconds()}
	}
	return api.LockAcquireResult{
		Reason: lease.ReasonBusy, TTLMS: v.TTLMS, RetryAfterMS: untilFree(v).Milliseconds(),
		HeldBy: coord.HeldBy(v.Client, v.Instance, v.Meta, v.SinceMS),
	}
}

// untilFree is when the holder's TTL is over: what it has left is rounded down.
func untilFree(v AcquireOut) time.Duration { return coord.Millis(v.TTLMS + 1) }

// Replayed answers a request id whose grant was given before. The stored reply
// is only a memory, so that the lock itself is asked, by token and fence. A live
// grant is acquired again without the stored reply: for a token that holds the lock
// this changes no fence, restarts the TTL and binds it to this session, so that
// the give-back of the old one finds it moved. Between the two looks the old
// session may still give it back; the second then took the lock anew, which
// shows in the fence, and returns it: the answer to a replay is its own grant
// or none.
func (a *lockAcquisition) Replayed(ctx context.Context, was AcquireOut) (api.LockAcquireResult, error) {
	x := a.Lease
	op := "lock " + x.Name + ": replay"
	found, err := lua.Run(ctx, a.runner, GetScript, GetIn{Lock: a.in.Lock, Line: a.in.Line}, lua.StoredReply{})
	if err != nil {
		return api.LockAcquireResult{}, coord.Failed(op, err)
	}
	v := found.Value
	switch {
	case !v.Held || v.Token != x.Token || v.Fence != was.Fence:
		reason := lease.ReasonExpired
		if v.LastToken == x.Token {
			reason = lease.ReasonReleased
		}
		return api.LockAcquireResult{Replayed: true, Reason: reason}, nil
	case x.Session == nil:
		return api.LockAcquireResult{
			Acquired: true, Token: x.Token, Fence: coord.Fence(was.Fence), TTLMS: lease.LeftMS(v.TTLMS, found.Sent), Replayed: true,
		}, nil
	}
	again, err := lua.Run(ctx, a.runner, AcquireScript, a.in, lua.StoredReply{})
	switch {
	case err != nil:
		a.Leases.Unsure(ctx, a.Caller, x, false, "", err)
		return api.LockAcquireResult{}, coord.Failed(op, err)
	case !again.Value.Acquired:
		return api.LockAcquireResult{Replayed: true, Reason: lease.ReasonReleased}, nil
	case again.Value.Fence != was.Fence:
		a.Leases.TakeBack(ctx, x.Hold())
		return api.LockAcquireResult{Replayed: true, Reason: lease.ReasonReleased}, nil
	}
	r, err := a.Grant(ctx, lease.Attempt[AcquireOut]{Outcome: again})
	r.Replayed = err == nil
	return r, err
}

// Renew has a lock that the token holds, in whatever session, live so long from now
// on, shorter or longer than before.
func (l *Locks) Renew(ctx context.Context, c coord.Caller, p *api.LockRenewParams) (api.LockRenewResult, error) {
	return l.renews.Run(ctx, c, p)
}

func (l *Locks) renewing() lease.Renewing[api.LockRenewParams, RenewIn, RenewOut, api.LockRenewResult] {
	return lease.Renewing[api.LockRenewParams, RenewIn, RenewOut, api.LockRenewResult]{
		Leases: l.leases, Runner: l.runner, Script: RenewScript, Found: found,
		Ask: func(p *api.LockRenewParams) (lease.ID, time.Duration, RenewIn, error) {
			id := lease.ID{Noun: noun, Name: p.Name, Token: p.Token}
			return id, coord.Millis(p.TTLMS), RenewIn{Lock: l.keys.lock(p.Name), Token: p.Token, TTLMS: p.TTLMS}, nil
		},
		Result: func(_ time.Duration, f lease.Renewal, v RenewOut) api.LockRenewResult {
			if !f.Held {
				return api.LockRenewResult{Reason: f.Reason}
			}
			return api.LockRenewResult{
				Renewed: true, Fence: coord.Fence(v.Fence), TTLMS: lease.LeftMS(v.TTLMS, f.Sent), Reason: lease.ReasonRenewed,
			}
		},
	}
}

// found is what a renewal found.
func found(v RenewOut) lease.Renewal {
	switch v.State {
	case lease.StateOwned:
		return lease.Renewal{Held: true, Final: v.Final, Left: coord.Millis(v.TTLMS)}
	case lease.StateMoved:
		return lease.Renewal{Moved: true}
	default:
		return lease.Renewal{Reason: lease.NotHeld(v.State)}
	}
}

// Release gives a lock back, in whatever session. It runs on its own time: a
// caller that goes away does not stop it. Repeating it answers the same, since
// the first reply may have been lost.
func (l *Locks) Release(ctx context.Context, c coord.Caller, p *api.LockReleaseParams) (api.LockReleaseResult, error) {
	return l.releases.Run(ctx, c, p)
}

func (l *Locks) releasing() lease.Giving[api.LockReleaseParams, ReleaseIn, lease.State, api.LockReleaseResult, struct{}] {
	return lease.Giving[api.LockReleaseParams, ReleaseIn, lease.State, api.LockReleaseResult, struct{}]{
		Verb: "release", Leases: l.leases, Runner: l.runner, Script: ReleaseScript,
		Ask: func(_ coord.Caller, p *api.LockReleaseParams, _ *struct{}) (lease.ID, coord.Question[ReleaseIn], error) {
			id := lease.ID{Noun: noun, Name: p.Name, Token: p.Token}
			return id, coord.Question[ReleaseIn]{In: l.release(lease.Hold{ID: id})}, nil
		},
		Answer: func(_ context.Context, _ *struct{}, found lua.Outcome[lease.State]) (api.LockReleaseResult, coord.Rest[api.LockReleaseResult]) {
			if found.Value == lease.StateOwned || found.Value == lease.StateReleased {
				return api.LockReleaseResult{Released: true, Reason: lease.ReasonReleased}, nil
			}
			return api.LockReleaseResult{Reason: lease.NotHeld(found.Value)}, nil
		},
	}
}

// Get reads a lock.
func (l *Locks) Get(ctx context.Context, _ coord.Caller, p *api.LockGetParams) (api.LockGetResult, error) {
	key := l.keys.lock(p.Name)
	out, err := lua.Run(ctx, l.runner, GetScript, GetIn{Lock: key, Line: lease.LineKeysOf(key).Line}, lua.StoredReply{})
	v := out.Value
	switch {
	case err != nil:
		return api.LockGetResult{}, coord.Failed("lock "+p.Name+": get", err)
	case !v.Held:
		return api.LockGetResult{Waiting: v.Waiting}, nil
	}
	return api.LockGetResult{
		Held: true, Fence: coord.Fence(v.Fence), TTLMS: v.TTLMS, Waiting: v.Waiting,
		HeldBy: coord.HeldBy(v.Client, v.Instance, v.Meta, v.SinceMS),
	}, nil
}

// RenewHeld implements Kind.
func (l *Locks) RenewHeld(ctx context.Context, due []lease.Hold) []lease.Renewal {
	return lease.RenewBy(ctx, l.runner, RenewScript, due, func(h lease.Hold) RenewIn {
		return RenewIn{Lock: l.keys.lock(h.Name), Token: h.Token, TTLMS: h.TTL.Milliseconds(), Session: h.Session}
	}, found)
}

// GiveBackHeld implements Kind. Whatever the scripts find, the holds are no
// longer ours: only an error is worth another try.
func (l *Locks) GiveBackHeld(ctx context.Context, gone []lease.Hold) []error {
	return lease.GiveBackBy(ctx, l.runner, ReleaseScript, gone, l.release)
}

// release is the input of the script that gives back a lock, a ticket in its waiting
// line, or both.
func (l *Locks) release(h lease.Hold) ReleaseIn {
	key := l.keys.lock(h.Name)
	return ReleaseIn{
		Lock: key, LineKeys: lease.LineKeysOf(key), Token: h.Token, Session: h.Session,
		Waiter: h.Waiter, Inboxes: l.keys.Inboxes(),
	}
}
