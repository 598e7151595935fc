package coord

import (
	"context"

	"github.com/coxswain-sidecar/coxswain/internal/lua"
)

// The reasons of a Refund, beside expired.
const (
	ReasonRefunded = "refunded"
	ReasonRepeated = "repeated" // it was refunded before
)

// Refund says what became of a grant that was given back.
type Refund struct {
	Refunded bool
	Reason   string // refunded, repeated or expired
}

// Refund gives back what a grant took and was not used for. It runs on its own
// time: a caller that goes away does not stop it. Refusals that other sidecars
// remember stay for a second at most.
//
// That it was not used is the caller's word; what was taken is not: of a grant
// that no sidecar of the fleet sealed nothing is known. Its place, if a session
// of this sidecar has it, is freed first.
func (l *RateLimiter) Refund(ctx context.Context, c Caller, text string) (Refund, error) {
	g, seal, err := parseGrant(text)
	if err != nil {
		return Refund{}, err
	}
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), giveBackTime)
	defer cancel()
	if l.holds(text) {
		if _, err := l.Done(ctx, c, text); err != nil {
			return Refund{}, err
		}
	}
	body, _ := g.appendBody(nil)
	genuine, err := l.seals.made(ctx, body, seal)
	if err != nil {
		return Refund{}, failed("ratelimit "+g.rule()+": refund", err)
	}
	if !genuine {
		return Refund{Reason: ReasonExpired}, nil
	}
	state := l.keys.limitPart(g.tag, g.part)
	out, err := lua.Run(ctx, l.runner, lua.RatelimitRefund, lua.RatelimitRefundIn{
		State: state, Marker: l.keys.refunded(g.tag, g.id), Algorithm: algorithmOf(g.part), ID: g.id, Cost: g.cost, AtUS: g.at,
	}, lua.Latch{})
	if err != nil {
		return Refund{}, failed("ratelimit "+g.rule()+": refund", err)
	}
	switch out.Value {
	case lua.Refunded:
		l.forget("", state) // there is more than was told
		return Refund{Refunded: true, Reason: ReasonRefunded}, nil
	case lua.RefundRepeated:
		return Refund{Reason: ReasonRepeated}, nil
	default:
		return Refund{Reason: ReasonExpired}, nil
	}
}
