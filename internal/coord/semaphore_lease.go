package coord

import (
	"context"
	"time"

	"github.com/coxswain-sidecar/coxswain/internal/lua"
)

// renew implements leaseKind.
func (s *Semaphores) renew(ctx context.Context, due []hold) []renewal {
	return renewBy(ctx, s.runner, lua.SemaphoreRenew, due, s.renewal, func(v lua.SemaphoreRenewOut) renewal {
		switch v.State {
		case lua.SemaphoreHeld:
			return renewal{held: true, final: v.Final, left: ms(v.TTLMS)}
		case lua.SemaphoreMoved:
			return renewal{moved: true}
		default:
			return renewal{reason: ReasonExpired}
		}
	})
}

// renewal is what extends a hold.
func (s *Semaphores) renewal(h hold) lua.SemaphoreRenewIn {
	in := lua.SemaphoreRenewIn{
		Gone: s.keys.semaphoreGone(h.name, h.token), Token: h.token, TTLMS: h.ttl.Milliseconds(), Session: h.session,
	}
	in.Semaphore, _ = s.keys.semaphore(h.name)
	return in
}

// giveBack implements leaseKind. Whatever the scripts find, the holds are no
// longer ours: only an error is worth another try.
func (s *Semaphores) giveBack(ctx context.Context, gone []hold) []error {
	return giveBackBy(ctx, s.runner, lua.SemaphoreRelease, gone, s.release)
}

// release is what gives a hold back: the permits, its place in the line, or both.
func (s *Semaphores) release(h hold) lua.SemaphoreReleaseIn {
	in := lua.SemaphoreReleaseIn{
		Gone: s.keys.semaphoreGone(h.name, h.token), Token: h.token, Session: h.session,
		Waiter: h.waiter, Inboxes: s.keys.inboxes(),
	}
	in.Semaphore, in.LineKeys = s.keys.semaphore(h.name)
	return in
}

// Renew has the permits of a token, in whatever session, live so long from now on,
// shorter or longer than before. The reason is renewed or expired.
func (s *Semaphores) Renew(ctx context.Context, _ Caller, name, token string, ttl time.Duration) (LockRenewal, error) {
	if err := checkOwner(name, token); err != nil {
		return LockRenewal{}, err
	}
	if err := checkTTL(ttl); err != nil {
		return LockRenewal{}, err
	}
	// Looked up before the script: a lease that is granted while it runs is
	// another one, and not lost by what the script finds.
	id := leaseID{nounSemaphore, name, token}
	x, err := s.leases.claim(ctx, id)
	if err != nil {
		return LockRenewal{}, failed("semaphore "+name+": renew", err)
	}
	out, err := lua.Run(ctx, s.runner, lua.SemaphoreRenew, s.renewal(hold{leaseID: id, ttl: ttl}), lua.Latch{})
	if err != nil {
		s.leases.unclaim(x)
		return LockRenewal{}, failed("semaphore "+name+": renew", err)
	}
	v := out.Value
	if v.State != lua.SemaphoreHeld {
		s.leases.lose(x, ReasonExpired)
		return LockRenewal{Reason: ReasonExpired}, nil
	}
	s.leases.extend(x, ttl, renewal{sent: out.Sent, final: v.Final, left: ms(v.TTLMS)})
	return LockRenewal{
		Renewed: true, Fence: v.Fence, TTL: left(v.TTLMS, out.Sent), Reason: ReasonRenewed,
	}, nil
}

// Release gives the permits of a token back, in whatever session, and nobody
// else's. It runs on its own time: a caller that goes away does not stop it.
// Repeating it answers the same, since the first reply may have been lost. The
// reason is released or expired.
func (s *Semaphores) Release(ctx context.Context, c Caller, name, token string) (LockRelease, error) {
	if err := checkOwner(name, token); err != nil {
		return LockRelease{}, err
	}
	id := leaseID{nounSemaphore, name, token}
	var found lua.SemaphoreState
	err := s.leases.release(ctx, c, id, func(ctx context.Context) error {
		out, err := lua.Run(ctx, s.runner, lua.SemaphoreRelease, s.release(hold{leaseID: id}), lua.Latch{})
		found = out.Value
		return err
	})
	if err != nil {
		return LockRelease{}, err
	}
	if found == lua.SemaphoreHeld || found == lua.SemaphoreReleased {
		return LockRelease{Released: true, Reason: ReasonReleased}, nil
	}
	return LockRelease{Reason: ReasonExpired}, nil
}

// SemaphoreInfo is a semaphore as others see it.
type SemaphoreInfo struct {
	Held, Waiting int64
	Holders       []SemaphoreHolder // at most 100, by when their TTLs end
}

// SemaphoreHolder is one grant.
type SemaphoreHolder struct {
	Permits, Fence int64
	TTL            time.Duration
	Holder         *Holder
}

// Get reads a semaphore.
func (s *Semaphores) Get(ctx context.Context, name string) (SemaphoreInfo, error) {
	if err := checkText("name", name); err != nil {
		return SemaphoreInfo{}, err
	}
	now, err := s.look(ctx, name)
	if err != nil {
		return SemaphoreInfo{}, failed("semaphore "+name+": get", err)
	}
	i := SemaphoreInfo{Held: now.Held, Waiting: now.Waiting}
	for _, h := range now.Holders {
		i.Holders = append(i.Holders, SemaphoreHolder{
			Permits: h.Permits, Fence: h.Fence, TTL: ms(h.TTLMS), Holder: holder(h.Client, h.Instance, h.Meta, h.SinceMS),
		})
	}
	return i, nil
}

// look reads a semaphore, once all that has ended is out of it.
func (s *Semaphores) look(ctx context.Context, name string) (lua.SemaphoreGetOut, error) {
	keys, line := s.keys.semaphore(name)
	for {
		out, err := lua.Run(ctx, s.runner, lua.SemaphoreGet, lua.SemaphoreGetIn{Semaphore: keys, Line: line.Line}, lua.Latch{})
		if err != nil || !out.Value.More {
			return out.Value, err
		}
	}
}
