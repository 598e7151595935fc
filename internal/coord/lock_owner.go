package coord

import (
	"context"
	"time"

	"github.com/coxswain-sidecar/coxswain/internal/lua"
)

// LockRenewal says whether the lock is still the token's.
type LockRenewal struct {
	Renewed bool
	Fence   int64
	TTL     time.Duration // left at least
	Reason  string        // renewed, not_owner or expired
}

// Renew has a lock that the token holds, in whatever session, live so long from now
// on, shorter or longer than before.
func (l *Locks) Renew(ctx context.Context, _ Caller, name, token string, ttl time.Duration) (LockRenewal, error) {
	if err := checkOwner(name, token); err != nil {
		return LockRenewal{}, err
	}
	if err := checkTTL(ttl); err != nil {
		return LockRenewal{}, err
	}
	// Looked up before the script: a lease that is granted while it runs is
	// another one, and not lost by what the script finds.
	x, err := l.leases.claim(ctx, leaseID{nounLock, name, token})
	if err != nil {
		return LockRenewal{}, failed("lock "+name+": renew", err)
	}
	out, err := lua.Run(ctx, l.runner, lua.LockRenew, lua.LockRenewIn{
		Lock: l.keys.lock(name), Token: token, TTLMS: ttl.Milliseconds(),
	}, lua.Latch{})
	if err != nil {
		l.leases.unclaim(x)
		return LockRenewal{}, failed("lock "+name+": renew", err)
	}
	if out.Value.State == lua.LockOwned {
		l.leases.extend(x, ttl, renewal{sent: out.Sent, final: out.Value.Final, left: ms(out.Value.TTLMS)})
		return LockRenewal{Renewed: true, Fence: out.Value.Fence, TTL: left(out.Value.TTLMS, out.Sent), Reason: ReasonRenewed}, nil
	}
	reason := notHeld(out.Value.State)
	l.leases.lose(x, reason)
	return LockRenewal{Reason: reason}, nil
}

func checkOwner(name, token string) error {
	if err := checkText("name", name); err != nil {
		return err
	}
	return checkText("token", token)
}

// notHeld is the reason for a token that does not hold the lock. Who asks to
// renew what was released is told that it is gone: expired.
func notHeld(s lua.LockState) string {
	if s == lua.LockNotOwner {
		return ReasonNotOwner
	}
	return ReasonExpired
}

// LockRelease says what was found.
type LockRelease struct {
	Released bool
	Reason   string // released, not_owner or expired
}

// Release gives a lock back, in whatever session. It runs on its own time: a
// caller that goes away does not stop it. Repeating it answers the same, since
// the first reply may have been lost.
func (l *Locks) Release(ctx context.Context, c Caller, name, token string) (LockRelease, error) {
	if err := checkOwner(name, token); err != nil {
		return LockRelease{}, err
	}
	id := leaseID{nounLock, name, token}
	var found lua.LockState
	err := l.leases.release(ctx, c, id, func(ctx context.Context) error {
		out, err := lua.Run(ctx, l.runner, lua.LockRelease, l.release(hold{leaseID: id}), lua.Latch{})
		found = out.Value
		return err
	})
	if err != nil {
		return LockRelease{}, err
	}
	switch found {
	case lua.LockOwned, lua.LockReleased:
		return LockRelease{Released: true, Reason: ReasonReleased}, nil
	default:
		return LockRelease{Reason: notHeld(found)}, nil
	}
}

// LockInfo is a lock as others see it.
type LockInfo struct {
	Held   bool
	Fence  int64
	TTL    time.Duration
	Holder *Holder
	// Waiting is how many stand in line for it.
	Waiting int64
}

// Get reads a lock.
func (l *Locks) Get(ctx context.Context, name string) (LockInfo, error) {
	if err := checkText("name", name); err != nil {
		return LockInfo{}, err
	}
	key := l.keys.lock(name)
	out, err := lua.Run(ctx, l.runner, lua.LockGet, lua.LockGetIn{Lock: key, Line: l.keys.line(key).Line}, lua.Latch{})
	if err != nil {
		return LockInfo{}, failed("lock "+name+": get", err)
	}
	return info(out.Value), nil
}

func info(v lua.LockGetOut) LockInfo {
	if !v.Held {
		return LockInfo{Waiting: v.Waiting}
	}
	return LockInfo{
		Held: true, Fence: v.Fence, Waiting: v.Waiting, TTL: ms(v.TTLMS),
		Holder: holder(v.Client, v.Instance, v.Meta, v.SinceMS),
	}
}
