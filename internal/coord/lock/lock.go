// Package lock is mutual exclusion: locks with owners, TTLs and fences.
//
// Its invariant: at any time, by the clock of Redis, at most one token owns a name, and each new owner
// of the name gets a higher fence than every owner before it. A holder may lose its lock without
// noticing, for example while its process is paused. It therefore passes its fence with each write: a store
// that rejects a fence lower than the highest it has seen rejects the writes of all former holders.
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

// Locks is the lock noun: mutual exclusion with owners, TTLs and fences.
//
// lock_acquire.lua makes the fence when it grants a lock that is free. The fence is the larger of two numbers: the
// previous fence of the name plus 1, and the clock of Redis in microseconds. The first makes the fence rise when
// the clock steps back: the key of a free lock is kept with its fence for a while. The second makes it rise when
// the key is gone, because it expired or because Redis lost its data. An owner that acquires or renews again
// keeps its fence.
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

// New makes the lock noun. It subscribes, by the signals of n, to the broadcast about locks
// that are freed by force.
func New(r *lua.Runner, k coord.Keys, l *lease.Leases, n *lease.Lines) *Locks {
	keys := keys{k}
	n.Signals.OnForget(func(topic, key string) {
		if name, ok := keys.NameOf(key, kindLock); ok && topic == topicForced {
			l.Hurry(noun, name)
		}
	}, func() {}) // nothing to do after missed broadcasts: the next renewals find the locks that are gone
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

// Methods returns the methods of the noun.
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

// Acquire acquires a lock, at once or by waiting in line for up to wait_ms. A token that already holds
// the lock gets the same fence again.
//
// A call with a repeated request id returns what became of the first grant: if it is still held, it is bound to the
// calling session; if it has ended, the lock is not acquired again.
func (l *Locks) Acquire(ctx context.Context, c coord.Caller, p *api.LockAcquireParams) (api.LockAcquireResult, error) {
	return coord.Await(func(done func(api.LockAcquireResult, error)) { l.AcquireThen(ctx, c, p, done) })
}

// AcquireThen is Acquire without a blocked goroutine, so that thousands of calls can wait: it returns as soon as
// the call has nothing to do but wait. done is called before it returns, or later on another goroutine.
func (l *Locks) AcquireThen(ctx context.Context, c coord.Caller, p *api.LockAcquireParams, done func(api.LockAcquireResult, error)) {
	l.acquires.Then(ctx, c, p, done)
}

// lockAcquisition is one call of Acquire. It implements lease.Terms.
type lockAcquisition struct {
	lease.Acquisition[AcquireOut, api.LockAcquireResult]
	lease.Uncounted[api.LockAcquireResult]
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

// Ask implements lease.Terms, as do the methods that follow.
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
		// The lock is free, but calls in its waiting line come first.
		return api.LockAcquireResult{Reason: lease.ReasonBusy, RetryAfterMS: lease.PollEvery.Milliseconds()}
	}
	return api.LockAcquireResult{
		Reason: lease.ReasonBusy, TTLMS: v.TTLMS, RetryAfterMS: untilFree(v).Milliseconds(),
		HeldBy: coord.HeldBy(v.Client, v.Instance, v.Meta, v.SinceMS),
	}
}

// untilFree returns the time until the holder's TTL ends. One millisecond is added because TTLMS is rounded down.
func untilFree(v AcquireOut) time.Duration { return coord.Millis(v.TTLMS + 1) }

// Replayed answers a call whose request id has a stored reply. That reply is from the time of the first grant,
// which may have ended since. Replayed therefore reads the lock and compares its token and fence with those of the
// stored reply.
//
// If the grant is still held and the call binds it to a session, Replayed acquires the lock again without a request
// id. For a token that holds the lock this keeps the fence, restarts the TTL and binds the lock to the calling
// session; when the old session then tries to give the lock back, the script finds lease.StateMoved and changes
// nothing. The old session may also release the lock between the read and the second acquire. That acquire is then a
// new grant, with another fence, and Replayed gives it back: it returns the first grant or none.
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

// Renew sets the time that a lock has left to ttl_ms, which may shorten it, if the token holds the lock. The lock
// may be bound to any session.
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

// found returns what a renewal found, from the output of its script.
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

// Release gives a lock back if the token holds it, bound to any session. It has a deadline of its own:
// it goes on when its caller is gone. A repeated release returns the same result, since the first reply
// may have been lost.
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

// RenewHeld implements lease.Kind.
func (l *Locks) RenewHeld(ctx context.Context, due []lease.Hold) []lease.Renewal {
	return lease.RenewBy(ctx, l.runner, RenewScript, due, func(h lease.Hold) RenewIn {
		return RenewIn{Lock: l.keys.lock(h.Name), Token: h.Token, TTLMS: h.TTL.Milliseconds(), Session: h.Session}
	}, found)
}

// GiveBackHeld implements lease.Kind. The states that the scripts return are not needed: in every state this sidecar
// no longer holds the lock. Only an error is tried again.
func (l *Locks) GiveBackHeld(ctx context.Context, gone []lease.Hold) []error {
	return lease.GiveBackBy(ctx, l.runner, ReleaseScript, gone, l.release)
}

// release returns the input of the script that gives back a lock, a ticket in its waiting
// line, or both.
func (l *Locks) release(h lease.Hold) ReleaseIn {
	key := l.keys.lock(h.Name)
	return ReleaseIn{
		Lock: key, LineKeys: lease.LineKeysOf(key), Token: h.Token, Session: h.Session,
		Waiter: h.Waiter, Inboxes: l.keys.Inboxes(),
	}
}
