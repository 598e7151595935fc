package coord

import (
	"context"

	"github.com/coxswain-sidecar/coxswain/client/api"
	"github.com/coxswain-sidecar/coxswain/internal/lua"
)

// RenewHeld implements Kind.
func (s *Semaphores) RenewHeld(ctx context.Context, due []hold) []renewal {
	return renewBy(ctx, s.runner, lua.SemaphoreRenew, due, s.renewal, func(v lua.SemaphoreRenewOut) renewal {
		switch v.State {
		case lua.SemaphoreHeld:
			return renewal{held: true, final: v.Final, left: Millis(v.TTLMS)}
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

// GiveBackHeld implements Kind. Whatever the scripts find, the holds are no
// longer ours: only an error is worth another try.
func (s *Semaphores) GiveBackHeld(ctx context.Context, gone []hold) []error {
	return giveBackBy(ctx, s.runner, lua.SemaphoreRelease, gone, s.release)
}

// release is the input of the script that gives back permits, a ticket in the waiting
// line, or both.
func (s *Semaphores) release(h hold) lua.SemaphoreReleaseIn {
	in := lua.SemaphoreReleaseIn{
		Gone: s.keys.semaphoreGone(h.name, h.token), Token: h.token, Session: h.session,
		Waiter: h.waiter, Inboxes: s.keys.inboxes(),
	}
	in.Semaphore, in.LineKeys = s.keys.semaphore(h.name)
	return in
}

// Renew has the permits of a token, in whatever session, live so long from now on,
// shorter or longer than before.
func (s *Semaphores) Renew(ctx context.Context, _ Caller, p *api.SemaphoreRenewParams) (api.SemaphoreRenewResult, error) {
	op := "semaphore " + p.Name + ": renew"
	// Looked up before the script: a lease that is granted while it runs is
	// another one, and not lost by what the script finds.
	id := leaseID{nounSemaphore, p.Name, p.Token}
	x, err := s.leases.claim(ctx, id)
	if err != nil {
		return api.SemaphoreRenewResult{}, Failed(op, err)
	}
	ttl := Millis(p.TTLMS)
	out, err := lua.Run(ctx, s.runner, lua.SemaphoreRenew, s.renewal(hold{leaseID: id, ttl: ttl}), lua.Latch{})
	if err != nil {
		s.leases.unclaim(x)
		return api.SemaphoreRenewResult{}, Failed(op, err)
	}
	v := out.Value
	if v.State != lua.SemaphoreHeld {
		s.leases.lose(x, ReasonExpired)
		return api.SemaphoreRenewResult{Reason: ReasonExpired}, nil
	}
	s.leases.extend(x, ttl, renewal{sent: out.Sent, final: v.Final, left: Millis(v.TTLMS)})
	return api.SemaphoreRenewResult{Renewed: true, Fence: Fence(v.Fence), TTLMS: leftMS(v.TTLMS, out.Sent), Reason: ReasonRenewed}, nil
}

// Release gives the permits of a token back, in whatever session, and nobody
// else's. It runs on its own time: a caller that goes away does not stop it.
// Repeating it answers the same, since the first reply may have been lost.
func (s *Semaphores) Release(ctx context.Context, c Caller, p *api.SemaphoreReleaseParams) (api.SemaphoreReleaseResult, error) {
	id := leaseID{nounSemaphore, p.Name, p.Token}
	found, err := release(ctx, s.leases, c, id, func(ctx context.Context) (lua.SemaphoreState, error) {
		out, err := lua.Run(ctx, s.runner, lua.SemaphoreRelease, s.release(hold{leaseID: id}), lua.Latch{})
		return out.Value, err
	})
	switch {
	case err != nil:
		return api.SemaphoreReleaseResult{}, err
	case found == lua.SemaphoreHeld || found == lua.SemaphoreReleased:
		return api.SemaphoreReleaseResult{Released: true, Reason: ReasonReleased}, nil
	default:
		return api.SemaphoreReleaseResult{Reason: ReasonExpired}, nil
	}
}

// Get reads a semaphore.
func (s *Semaphores) Get(ctx context.Context, _ Caller, p *api.SemaphoreGetParams) (api.SemaphoreGetResult, error) {
	now, err := s.look(ctx, p.Name)
	if err != nil {
		return api.SemaphoreGetResult{}, Failed("semaphore "+p.Name+": get", err)
	}
	r := api.SemaphoreGetResult{Held: now.Held, Waiting: now.Waiting, Holders: make([]api.SemaphoreHolder, len(now.Holders))}
	for i, h := range now.Holders {
		r.Holders[i] = api.SemaphoreHolder{
			Permits: h.Permits, Fence: Fence(h.Fence), TTLMS: h.TTLMS, HeldBy: heldBy(h.Client, h.Instance, h.Meta, h.SinceMS),
		}
	}
	return r, nil
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
