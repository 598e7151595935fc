package coord

import (
	"context"

	"github.com/coxswain-sidecar/coxswain/client/api"
	"github.com/coxswain-sidecar/coxswain/internal/lua"
)

// Report gives a permit's member back and tells its breaker, its cooldown and its
// pause how the work went. It runs on its own time, and repeating it answers the
// same and counts once.
func (p *Permits) Report(ctx context.Context, c Caller, q *api.PermitReportParams) (api.PermitReportResult, error) {
	if q.Status != 0 && q.Status < minStatus {
		return api.PermitReportResult{}, invalid("status: %d is no HTTP status; give %d to %d, or leave it out", q.Status, minStatus, maxStatus)
	}
	given := &api.PoolReleaseParams{
		Pool: q.Pool, Lease: q.Lease, Outcome: q.Outcome, CooldownMS: q.CooldownMS, UnbanAfterMS: q.UnbanAfterMS,
	}
	l, err := p.releasedLease(given)
	if err != nil {
		return api.PermitReportResult{}, err
	}
	pause := p.rules.MemberPause(l.rule, q.Status, Millis(q.RetryAfterMS))
	out, err := release(ctx, p.leases, c, leaseID{nounPermit, q.Pool, q.Lease}, func(ctx context.Context) (lua.PermitReportOut, error) {
		out, err := lua.Run(ctx, p.runner, lua.PermitReport, lua.PermitReportIn{
			PoolReleaseIn: p.releaseOf(given, l), Heard: heard(q.Outcome), DurationUS: Millis(q.DurationMS).Microseconds(),
			PauseUS: pause.Microseconds(), Jitter: p.breakers.MemberJitter(), Channel: p.keys.broadcast(),
		}, lua.Latch{})
		return out.Value, err
	})
	if err != nil {
		return api.PermitReportResult{}, err
	}
	if out.State == lua.LockOwned {
		if q.Status > 0 {
			p.leases.tel.Reported(ctx, p.rules.Label(l.rule), statusClass(q.Status), Millis(q.DurationMS))
		}
		if pause > 0 {
			p.leases.tel.Paused(ctx, p.rules.Label(l.rule), causePenalty)
		}
	}
	if out.Was != "" {
		p.breakers.MemberChanged(ctx, q.Pool, l.member, out.Was, out.Breaker)
	}
	r := p.releaseResult(ctx, given, out.PoolReleaseOut)
	return api.PermitReportResult{
		Released: r.Released, Reason: r.Reason, State: r.State, Breaker: out.Breaker, NextAtMS: r.NextAtMS,
	}, nil
}

// heard is what an outcome is to the breaker.
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
