package ratelimit

import (
	"context"

	"github.com/coxswain-sidecar/coxswain/client/api"
	"github.com/coxswain-sidecar/coxswain/internal/coord"
)

// record counts a decision, and publishes the event of a refusal.
func (l *Limiter) record(ctx context.Context, q question, d decision) {
	if q.peek {
		return
	}
	l.stats.count(q.lim.label(), d)
	outcome := "allowed"
	switch {
	case d.Shadow:
		outcome = "shadow_" + d.DeniedBy
	case !d.Allowed:
		outcome = d.DeniedBy
		l.refused.count(l.clock.Now(), q.lim.label(), q.key, d.DeniedBy)
		if l.events.Wanted() {
			l.events.Publish(coord.Event{Kind: coord.EventRefused, Noun: noun, Name: q.lim.options.Name, Key: q.key, Reason: d.DeniedBy})
		}
	}
	switch {
	case d.Source == coord.SourceList, d.Degraded && d.Shadow:
		l.tel.Degraded(ctx, q.lim.label(), outcome)
	case !d.Degraded:
		l.tel.Decision(ctx, q.lim.label(), outcome, min(1, float64(d.Remaining)/float64(max(1, d.Limit))))
	case d.Allowed:
		l.tel.Degraded(ctx, q.lim.label(), "degraded_allowed")
	default:
		l.tel.Degraded(ctx, q.lim.label(), "degraded_limit")
	}
}

// label is the rule's name, for metrics and errors.
func (l *limit) label() string {
	if l.options.Name == "" {
		return inlineLabel
	}
	return l.options.Name
}

// listed is the decision about a key that is in a list of the rule.
func (l *limit) listed(list string) decision {
	d := decision{RatelimitResult: api.RatelimitResult{
		Allowed: list == listAllow, Rule: l.options.Name, Algorithm: l.algorithm.name,
		Band: l.names[0], Limit: l.limits[0], Source: coord.SourceList,
	}}
	if !d.Allowed {
		d.DeniedBy, d.RetryAfterMS = ReasonDenyList, neverMS
	}
	return d
}
