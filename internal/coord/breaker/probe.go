package breaker

import (
	"cmp"
	"context"
	"errors"
	"slices"
	"time"

	"github.com/coxswain-sidecar/coxswain/client/api"
	"github.com/coxswain-sidecar/coxswain/internal/coord"
	"github.com/coxswain-sidecar/coxswain/internal/coord/lease"
	"github.com/coxswain-sidecar/coxswain/internal/lua"
	"github.com/coxswain-sidecar/coxswain/internal/redis"
)

// probes gives back the probes of one breaker. It is comparable, so that the probes of one breaker are given back in
// one pipeline.
type probes struct {
	runner *lua.Runner
	at     address
	// members is notified if it is the breaker of a pool's member.
	members Members
}

// RenewHeld implements lease.Kind. It is never called: a probe is not renewed, since otherwise a
// caller that hangs would keep a breaker half open for as long as it is connected.
func (p probes) RenewHeld(_ context.Context, due []lease.Hold) []lease.Renewal {
	lost := make([]lease.Renewal, len(due))
	for i := range due {
		lost[i].Reason = lease.ReasonExpired
	}
	return lost
}

// GiveBackHeld implements lease.Kind.
func (p probes) GiveBackHeld(ctx context.Context, gone []lease.Hold) []error {
	errs := lease.GiveBackBy(ctx, p.runner, DropScript, gone, func(h lease.Hold) ProbeIn {
		return ProbeIn{In: p.at.in(), Probe: h.Token, Session: h.Session}
	})
	if p.at.pool != "" && slices.Contains(errs, nil) {
		// If it fails, the pool judges the member again when the probe's time is over.
		_ = p.members.Touched(ctx, p.at.pool, p.at.name)
	}
	return errs
}

// lease returns a probe as a lease of the caller's session.
func (b *Breakers) lease(c coord.Caller, at address, probe string) *lease.Lease {
	return &lease.Lease{
		ID: lease.ID{Noun: noun, Name: at.name, Token: probe}, TTL: coord.Millis(at.policy.ProbeTTLMS), Session: c.Session,
		Kind: probes{runner: b.runner, at: at, members: b.members}, Fixed: true,
	}
}

// keepProbe binds the probe of an allowed call to the caller's session, or gives the probe back if the call or the
// connection has ended.
func (b *Breakers) keepProbe(ctx context.Context, x *lease.Lease, sent time.Time) error {
	if over := ctx.Err(); over != nil || x.Session != nil && !b.leases.Bind(x, sent) {
		_, err := b.unused(x, over)(ctx)
		return err
	}
	return nil
}

// unused gives back the probe of a call that has ended, or whose connection has: the caller will not use it.
func (b *Breakers) unused(x *lease.Lease, over error) coord.Rest[api.BreakerAllowResult] {
	return func(ctx context.Context) (none api.BreakerAllowResult, err error) {
		if over == nil {
			return none, b.leases.Unbound(ctx, x)
		}
		h := lease.Hold{ID: x.ID, Kind: x.Kind}
		if x.Session != nil {
			h.Session = x.Session.ID
		}
		b.leases.TakeBack(ctx, h)
		return none, coord.Failed("breaker "+x.Name+": allow", over)
	}
}

// replay answers a repeated request id whose first call was allowed as a probe. If the probe is still out, it is
// bound to this session; otherwise the call is refused.
func (b *Breakers) replay(ctx context.Context, c coord.Caller, x *lease.Lease, at address, r api.BreakerAllowResult) (api.BreakerAllowResult, error) {
	out, err := lua.Attempt(ctx, b.runner, MoveScript, ProbeIn{
		In: at.in(), Probe: x.Token, Session: c.SessionID(),
	}, lua.StoredReply{})
	if err != nil {
		return api.BreakerAllowResult{}, coord.Failed("breaker "+at.name+": replay", err)
	}
	v := out.Value
	if v.LeftUS == 0 {
		// Refused even if another probe may pass now: the probe of this request id has ended.
		r.Allowed, r.Probe, r.State, r.Generation = false, "", v.State, v.Generation
		r.RetryAfterMS = cmp.Or(coord.WaitMS(v.RetryUS), 1)
		return r, nil
	}
	x.TTL = time.Duration(v.LeftUS) * time.Microsecond
	return r, b.keepProbe(ctx, x, out.Sent)
}

// unsure deals with a probe that may be out although the call failed. If the fail mode answers the call, the answer
// does not wait until Redis is back: the probe is lost when its time is over, or given back with the session.
func (b *Breakers) unsure(ctx context.Context, c coord.Caller, x *lease.Lease, mode coord.FailMode, err error) {
	if !errors.Is(err, redis.ErrMaybeExecuted) {
		return
	}
	if mode == coord.FailOpen && ctx.Err() == nil {
		if x.Session != nil {
			b.leases.Ambiguous(x, err)
		}
		return
	}
	b.leases.Unsure(ctx, c, x, true, "", err)
}
