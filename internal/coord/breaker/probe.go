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

// probes is how the probes of one breaker are given back. It is comparable, so
// that those of one breaker share a pipeline.
type probes struct {
	runner *lua.Runner
	at     address
	// members is who looks at it again when it is a member of a pool.
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
		_ = p.members.Touched(ctx, p.at.pool, p.at.name) // without it, the pool looks when the probe's time is over
	}
	return errs
}

// lease is a probe as the caller's session holds it.
func (b *Breakers) lease(c coord.Caller, at address, probe string) *lease.Lease {
	return &lease.Lease{
		ID: lease.ID{Noun: noun, Name: at.name, Token: probe}, TTL: coord.Millis(at.policy.ProbeTTLMS), Session: c.Session,
		Kind: probes{runner: b.runner, at: at, members: b.members}, Fixed: true,
	}
}

// keepProbe has the caller's session hold the probe of a call that passed.
func (b *Breakers) keepProbe(ctx context.Context, x *lease.Lease, sent time.Time) error {
	if over := ctx.Err(); over != nil || x.Session != nil && !b.leases.Bind(x, sent) {
		_, err := b.unused(x, over)(ctx)
		return err
	}
	return nil
}

// unused gives back the probe of a call that is over, or whose connection is: it makes no
// probe.
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

// replay answers a request id that was let through before: by what became of its
// probe, which this session then holds.
func (b *Breakers) replay(ctx context.Context, c coord.Caller, x *lease.Lease, at address, r api.BreakerAllowResult) (api.BreakerAllowResult, error) {
	out, err := lua.Attempt(ctx, b.runner, MoveScript, ProbeIn{
		In: at.in(), Probe: x.Token, Session: c.SessionID(),
	}, lua.StoredReply{})
	if err != nil {
		return api.BreakerAllowResult{}, coord.Failed("breaker "+at.name+": replay", err)
	}
	v := out.Value
	if v.LeftUS == 0 {
		// Even if another may be out now: this call is over.
		r.Allowed, r.Probe, r.State, r.Generation = false, "", v.State, v.Generation
		r.RetryAfterMS = cmp.Or(coord.WaitMS(v.RetryUS), 1)
		return r, nil
	}
	x.TTL = time.Duration(v.LeftUS) * time.Microsecond
	return r, b.keepProbe(ctx, x, out.Sent)
}

// unsure sees to a probe that may be out although the call failed. Where the fail
// mode answers instead, that does not wait for Redis to be back: the probe is
// lost with its time, or given back with the session.
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
