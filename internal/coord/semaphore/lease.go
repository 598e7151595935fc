package semaphore

import (
	"context"
	"time"

	"github.com/coxswain-sidecar/coxswain/client/api"
	"github.com/coxswain-sidecar/coxswain/internal/coord"
	"github.com/coxswain-sidecar/coxswain/internal/coord/lease"
	"github.com/coxswain-sidecar/coxswain/internal/lua"
)

// RenewHeld implements lease.Kind.
func (s *Semaphores) RenewHeld(ctx context.Context, due []lease.Hold) []lease.Renewal {
	return lease.RenewBy(ctx, s.runner, RenewScript, due, s.renewal, found)
}

// found converts what the script of a renewal returns.
func found(v RenewOut) lease.Renewal {
	switch v.State {
	case Held:
		return lease.Renewal{Held: true, Final: v.Final, Left: coord.Millis(v.TTLMS)}
	case Moved:
		return lease.Renewal{Moved: true}
	default:
		return lease.Renewal{Reason: lease.ReasonExpired}
	}
}

// renewal returns the input of the script that extends a hold.
func (s *Semaphores) renewal(h lease.Hold) RenewIn {
	in := RenewIn{
		Gone: s.keys.semaphoreGone(h.Name, h.Token), Token: h.Token, TTLMS: h.TTL.Milliseconds(), Session: h.Session,
	}
	in.Semaphore, _ = s.keys.semaphore(h.Name)
	return in
}

// GiveBackHeld implements lease.Kind. The states that the scripts return are not needed: in every state this sidecar
// no longer holds the permits. Only an error is tried again.
func (s *Semaphores) GiveBackHeld(ctx context.Context, gone []lease.Hold) []error {
	return lease.GiveBackBy(ctx, s.runner, ReleaseScript, gone, s.release)
}

// release returns the input of the script that gives back permits, a ticket in the waiting line, or both.
func (s *Semaphores) release(h lease.Hold) ReleaseIn {
	in := ReleaseIn{
		Gone: s.keys.semaphoreGone(h.Name, h.Token), Token: h.Token, Session: h.Session,
		Waiter: h.Waiter, Inboxes: s.keys.Inboxes(),
	}
	in.Semaphore, in.LineKeys = s.keys.semaphore(h.Name)
	return in
}

// Renew sets the time that the permits of a token have left, which may shorten it. They may be bound to any
// session.
func (s *Semaphores) Renew(ctx context.Context, c coord.Caller, p *api.SemaphoreRenewParams) (api.SemaphoreRenewResult, error) {
	return s.renews.Run(ctx, c, p)
}

func (s *Semaphores) renewing() lease.Renewing[api.SemaphoreRenewParams, RenewIn, RenewOut, api.SemaphoreRenewResult] {
	return lease.Renewing[api.SemaphoreRenewParams, RenewIn, RenewOut, api.SemaphoreRenewResult]{
		Leases: s.leases, Runner: s.runner, Script: RenewScript, Found: found,
		Ask: func(p *api.SemaphoreRenewParams) (lease.ID, time.Duration, RenewIn, error) {
			id, ttl := lease.ID{Noun: noun, Name: p.Name, Token: p.Token}, coord.Millis(p.TTLMS)
			return id, ttl, s.renewal(lease.Hold{ID: id, TTL: ttl}), nil
		},
		Result: func(_ time.Duration, f lease.Renewal, v RenewOut) api.SemaphoreRenewResult {
			if !f.Held {
				return api.SemaphoreRenewResult{Reason: f.Reason}
			}
			return api.SemaphoreRenewResult{
				Renewed: true, Fence: coord.Fence(v.Fence), TTLMS: lease.LeftMS(v.TTLMS, f.Sent), Reason: lease.ReasonRenewed,
			}
		},
	}
}

// Release gives the permits of a token back, bound to any session. It has a deadline of its own: it goes on when its
// caller is gone. A repeated release returns the same result, since the first reply may have been lost.
func (s *Semaphores) Release(ctx context.Context, c coord.Caller, p *api.SemaphoreReleaseParams) (api.SemaphoreReleaseResult, error) {
	return s.releases.Run(ctx, c, p)
}

func (s *Semaphores) releasing() lease.Giving[api.SemaphoreReleaseParams, ReleaseIn, State, api.SemaphoreReleaseResult, struct{}] {
	return lease.Giving[api.SemaphoreReleaseParams, ReleaseIn, State, api.SemaphoreReleaseResult, struct{}]{
		Verb: "release", Leases: s.leases, Runner: s.runner, Script: ReleaseScript,
		Ask: func(_ coord.Caller, p *api.SemaphoreReleaseParams, _ *struct{}) (lease.ID, coord.Question[ReleaseIn], error) {
			id := lease.ID{Noun: noun, Name: p.Name, Token: p.Token}
			return id, coord.Question[ReleaseIn]{In: s.release(lease.Hold{ID: id})}, nil
		},
		Answer: func(_ context.Context, _ *struct{}, found lua.Outcome[State]) (api.SemaphoreReleaseResult, coord.Rest[api.SemaphoreReleaseResult]) {
			if found.Value == Held || found.Value == Released {
				return api.SemaphoreReleaseResult{Released: true, Reason: lease.ReasonReleased}, nil
			}
			return api.SemaphoreReleaseResult{Reason: lease.ReasonExpired}, nil
		},
	}
}
