package pool

import (
	"context"
	"time"

	"github.com/coxswain-sidecar/coxswain/client/api"
	"github.com/coxswain-sidecar/coxswain/internal/coord"
	"github.com/coxswain-sidecar/coxswain/internal/coord/lease"
	"github.com/coxswain-sidecar/coxswain/internal/lua"
)

// Report gives a permit's member back and applies the outcome of its use to the member's breaker, cooldown and
// pause. It has a deadline of its own: it goes on when its caller is gone. A repeated report returns the
// same result and counts once.
func (p *Permits) Report(ctx context.Context, c coord.Caller, q *api.PermitReportParams) (api.PermitReportResult, error) {
	return p.reports.Run(ctx, c, q)
}

// reported is what Report keeps of a call to make its result.
type reported struct {
	pool, rule, member string
	outcome            outcome
	status             int64
	took, pause        time.Duration
}

func (p *Permits) reporting() lease.Giving[api.PermitReportParams, PermitReportIn, PermitReportOut, api.PermitReportResult, reported] {
	return lease.Giving[api.PermitReportParams, PermitReportIn, PermitReportOut, api.PermitReportResult, reported]{
		Verb: "report", Leases: p.leases, Runner: p.runner, Script: PermitReportScript, Ask: p.report, Answer: p.reported,
	}
}

func (p *Permits) report(_ coord.Caller, q *api.PermitReportParams, k *reported) (id lease.ID, ask coord.Question[PermitReportIn], _ error) {
	if q.Status != 0 && q.Status < coord.MinStatus {
		return id, ask, coord.Invalid("status: %d is no HTTP status; give %d to %d, or leave it out", q.Status, coord.MinStatus, coord.MaxStatus)
	}
	given := &api.PoolReleaseParams{
		Pool: q.Pool, Lease: q.Lease, Outcome: q.Outcome, CooldownMS: q.CooldownMS, UnbanAfterMS: q.UnbanAfterMS,
	}
	l, err := p.releasedLease(given)
	if err != nil {
		return id, ask, err
	}
	*k = reported{
		pool: q.Pool, rule: l.rule, member: l.member, outcome: outcome(q.Outcome), status: q.Status,
		took: coord.Millis(q.DurationMS), pause: p.rules.MemberPause(l.rule, q.Status, coord.Millis(q.RetryAfterMS)),
	}
	ask.In = PermitReportIn{
		ReleaseIn: p.releaseOf(given, l), Heard: heard(q.Outcome), DurationUS: k.took.Microseconds(),
		PauseUS: k.pause.Microseconds(), Jitter: p.breakers.MemberJitter(), Channel: p.keys.Broadcast(),
	}
	return lease.ID{Noun: nounPermit, Name: q.Pool, Token: q.Lease}, ask, nil
}

func (p *Permits) reported(
	ctx context.Context, k *reported, found lua.Outcome[PermitReportOut],
) (api.PermitReportResult, coord.Rest[api.PermitReportResult]) {
	out := found.Value
	if out.State == lease.StateOwned {
		if k.status > 0 {
			p.leases.Tel.Reported(ctx, p.rules.Label(k.rule), coord.StatusClass(k.status), k.took)
		}
		if k.pause > 0 {
			p.leases.Tel.Paused(ctx, p.rules.Label(k.rule), coord.CausePenalty)
		}
	}
	if out.Was != "" {
		p.breakers.MemberChanged(ctx, k.pool, k.member, out.Was, out.Breaker)
	}
	r := p.releaseResult(ctx, k.outcome, out.ReleaseOut)
	return api.PermitReportResult{
		Released: r.Released, Reason: r.Reason, State: r.State, Breaker: out.Breaker, NextAtMS: r.NextAtMS,
	}, nil
}

// heard converts the outcome of a permit to one for its breaker.
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
