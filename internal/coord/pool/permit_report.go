package pool

import (
	"context"

	"github.com/coxswain-sidecar/coxswain/client/api"
	"github.com/coxswain-sidecar/coxswain/internal/coord"
	"github.com/coxswain-sidecar/coxswain/internal/coord/lease"
	"github.com/coxswain-sidecar/coxswain/internal/lua"
)

// Report gives a permit's member back and tells its breaker, its cooldown and its
// pause how the work went. It runs on its own time, and repeating it answers the
// same and counts once.
func (p *Permits) Report(ctx context.Context, c coord.Caller, q *api.PermitReportParams) (api.PermitReportResult, error) {
	if q.Status != 0 && q.Status < coord.MinStatus {
		return api.PermitReportResult{}, coord.Invalid("status: %d is no HTTP status; give %d to %d, or leave it out", q.Status, coord.MinStatus, coord.MaxStatus)
	}
	given := &api.PoolReleaseParams{
		Pool: q.Pool, Lease: q.Lease, Outcome: q.Outcome, CooldownMS: q.CooldownMS, UnbanAfterMS: q.UnbanAfterMS,
	}
	l, err := p.releasedLease(given)
	if err != nil {
		return api.PermitReportResult{}, err
	}
	pause := p.rules.MemberPause(l.rule, q.Status, coord.Millis(q.RetryAfterMS))
	out, err := lease.Release(ctx, p.leases, c, lease.ID{Noun: nounPermit, Name: q.Pool, Token: q.Lease}, func(ctx context.Context) (PermitReportOut, error) {
		out, err := lua.Run(ctx, p.runner, PermitReportScript, PermitReportIn{
			ReleaseIn: p.releaseOf(given, l), Heard: heard(q.Outcome), DurationUS: coord.Millis(q.DurationMS).Microseconds(),
			PauseUS: pause.Microseconds(), Jitter: p.breakers.MemberJitter(), Channel: p.keys.Broadcast(),
		}, lua.Latch{})
		return out.Value, err
	})
	if err != nil {
		return api.PermitReportResult{}, err
	}
	if out.State == lease.StateOwned {
		if q.Status > 0 {
			p.leases.Tel.Reported(ctx, p.rules.Label(l.rule), coord.StatusClass(q.Status), coord.Millis(q.DurationMS))
		}
		if pause > 0 {
			p.leases.Tel.Paused(ctx, p.rules.Label(l.rule), coord.CausePenalty)
		}
	}
	if out.Was != "" {
		p.breakers.MemberChanged(ctx, q.Pool, l.member, out.Was, out.Breaker)
	}
	r := p.releaseResult(ctx, given, out.ReleaseOut)
	return api.PermitReportResult{
		Released: r.Released, Reason: r.Reason, State: r.State, Breaker: out.Breaker, NextAtMS: r.NextAtMS,
	}, nil
}

// heard translates the outcome of a permit into one of its breaker.
func heard(outcome string) string {
	switch outcome {
	case api.OutcomeOK:
		return api.OutcomeSuccess
	case api.OutcomeCancelled:
		return api.OutcomeIgnored
	default:
		return api.OutcomeFailure
	}
}
