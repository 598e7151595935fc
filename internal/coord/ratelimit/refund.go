package ratelimit

import (
	"context"

	"github.com/coxswain-sidecar/coxswain/client/api"
	"github.com/coxswain-sidecar/coxswain/internal/coord"
	"github.com/coxswain-sidecar/coxswain/internal/coord/lease"
	"github.com/coxswain-sidecar/coxswain/internal/lua"
)

// The reasons of a refund, beside expired.
const (
	ReasonRefunded = "refunded"
	ReasonRepeated = "repeated" // it was refunded before
)

// Refund gives back what an unused grant took. The script has a time limit of its own: a caller
// that goes away does not stop it. Other sidecars may answer with remembered refusals for a
// second at most.
//
// Refund trusts the caller that the grant was not used, but not how much it took: a grant that
// no sidecar of the fleet sealed is answered as expired. If a session of this sidecar holds
// the grant's permit, it is released first.
func (l *Limiter) Refund(ctx context.Context, c coord.Caller, p *api.RatelimitGrantParams) (api.RatelimitRefundResult, error) {
	g, seal, err := parseGrant(p.Grant)
	if err != nil {
		return api.RatelimitRefundResult{}, err
	}
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), lease.GiveBackTime)
	defer cancel()
	if l.holds(p.Grant) {
		if _, err := l.Done(ctx, c, p); err != nil {
			return api.RatelimitRefundResult{}, err
		}
	}
	body, _ := g.appendBody(nil)
	genuine, err := l.seals.made(ctx, body, seal)
	if err != nil {
		return api.RatelimitRefundResult{}, coord.Failed("ratelimit "+g.rule()+": refund", err)
	}
	if !genuine {
		return api.RatelimitRefundResult{Reason: lease.ReasonExpired}, nil
	}
	state := l.keys.limitPart(g.tag, g.part)
	out, err := lua.Run(ctx, l.runner, RefundScript, RefundIn{
		State: state, Marker: l.keys.refunded(g.tag, g.id), Algorithm: algorithmOf(g.part), ID: g.id, Cost: g.cost, AtUS: g.at,
	}, lua.StoredReply{})
	if err != nil {
		return api.RatelimitRefundResult{}, coord.Failed("ratelimit "+g.rule()+": refund", err)
	}
	switch out.Value {
	case Refunded:
		l.forget("", state) // more is free than remembered refusals state
		return api.RatelimitRefundResult{Refunded: true, Reason: ReasonRefunded}, nil
	case RefundRepeated:
		return api.RatelimitRefundResult{Reason: ReasonRepeated}, nil
	default:
		return api.RatelimitRefundResult{Reason: lease.ReasonExpired}, nil
	}
}
