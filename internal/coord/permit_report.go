package coord

import (
	"context"
	"math/rand/v2"
	"slices"
	"strconv"
	"time"

	"github.com/coxswain-sidecar/coxswain/client/api"
	"github.com/coxswain-sidecar/coxswain/internal/lua"
)

// PermitReport is a permit, and how the work went.
type PermitReport struct {
	MemberRelease
	Status     int64         // HTTP's, 100 to 999; 0 = nobody says
	RetryAfter time.Duration // that the server asks for, at most 366 days; negative = no pause, 0 = it does not say
	Took       time.Duration // for the breaker's slow rate, at most 24 h; 0 = nobody says
}

// PermitReported says what was found, and what the member and its breaker are
// since. An empty Breaker was not asked for the permit.
type PermitReported struct {
	MemberReleased
	Breaker string
}

// Report gives a permit's member back and tells its breaker, its cooldown and its
// pause how the work went. It runs on its own time, and repeating it answers the
// same and counts once.
func (p *Permits) Report(ctx context.Context, c Caller, r PermitReport) (PermitReported, error) {
	if err := r.check(); err != nil {
		return PermitReported{}, err
	}
	var last lua.PermitReportOut
	var member string
	d, err := p.releaseBy(ctx, c, r.MemberRelease, func(ctx context.Context, l memberLease) (lua.PoolReleaseOut, error) {
		member = l.member
		pause := p.pauseFor(l.rule, r)
		out, err := lua.Run(ctx, p.runner, lua.PermitReport, lua.PermitReportIn{
			PoolReleaseIn: p.releaseOf(r.MemberRelease, l), Heard: heard(r.Outcome), DurationUS: r.Took.Microseconds(),
			PauseUS: pause.Microseconds(), Jitter: jitter(), Channel: p.keys.broadcast(),
		}, lua.Latch{})
		last = out.Value
		if err == nil && last.State == lua.LockOwned {
			if r.Status > 0 {
				p.leases.tel.Reported(ctx, p.label(l.rule), statusClass(r.Status), r.Took)
			}
			if pause > 0 {
				p.leases.tel.Paused(ctx, p.label(l.rule), causePenalty)
			}
		}
		return last.PoolReleaseOut, err
	})
	if err != nil {
		return PermitReported{}, err
	}
	if p.breakers != nil && last.Was != "" {
		p.breakers.changed(ctx, BreakerRef{Name: member, Pool: r.Pool}, last.Was, last.Breaker, "")
	}
	return PermitReported{d, last.Breaker}, nil
}

func (r PermitReport) check() error {
	switch {
	case r.Status != 0 && (r.Status < minStatus || r.Status > maxStatus):
		return invalid("status: %s is no HTTP status; give %d to %d, or leave it out", strconv.FormatInt(r.Status, 10), minStatus, maxStatus)
	case r.RetryAfter < -maxPeriod || r.RetryAfter > maxPeriod:
		return outOfRange("retry_after_ms", r.RetryAfter, -maxPeriod, maxPeriod)
	case r.Took < 0 || r.Took > maxBreakerCall:
		return outOfRange("duration_ms", r.Took, 0, maxBreakerCall)
	default:
		return r.MemberRelease.check()
	}
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

// penaltyOf is what the rule of a permit leads to; one that is gone by now is as
// one that says nothing of it.
func (p *Permits) penaltyOf(rule string) api.Penalty {
	if rule != "" {
		if found, err := p.rules.find(rule); err == nil {
			return found.upstream.penalty
		}
	}
	return noRule.upstream.penalty
}

// pauseFor is how long an answer of the server pauses the member: for as long as
// the server asks, if it does, else the first pause of the rule's penalty. It does not double:
// what grows with failures in a row is the member's cooldown.
func (p *Permits) pauseFor(rule string, r PermitReport) time.Duration {
	o := p.penaltyOf(rule)
	switch {
	case !slices.Contains(o.Codes, r.Status), r.RetryAfter < 0:
		return 0
	case r.RetryAfter > 0:
		return r.RetryAfter
	default:
		return min(Millis(o.BaseMS)/1000*time.Duration(pauseFactor(o)), Millis(o.MaxMS))
	}
}

// label is the rule's name for metrics: one that is in force, since the lease is
// the caller's to write.
func (p *Permits) label(rule string) string {
	if found, err := p.rules.find(rule); err == nil {
		return found.label()
	}
	return noRule.label()
}

// jitter is how long a breaker opens, in thousandths, as BreakerPolicy.text has it.
func jitter() int64 { return 950 + rand.Int64N(101) }

// Renew has a permit, in whatever session, live so long from now on, shorter or
// longer than before. A probe stays out as long.
func (p *Permits) Renew(ctx context.Context, _ Caller, pool, lease string, d time.Duration) (MemberRenewal, error) {
	return p.renewOne(ctx, pool, lease, d)
}
