package coord

import (
	"cmp"
	"context"
	"errors"
	"slices"
	"time"

	"github.com/coxswain-sidecar/coxswain/client/api"
	"github.com/coxswain-sidecar/coxswain/internal/lua"
	"github.com/coxswain-sidecar/coxswain/internal/redis"
)

// probes is how the probes of one breaker are given back. It is comparable, so
// that those of one breaker share a pipeline.
type probes struct {
	runner *lua.Runner
	at     breakerAt
	// members is who looks at it again when it is a member of a pool.
	members Members
}

// RenewHeld implements Kind. It is never asked: a probe is not renewed, or a
// caller that hangs would keep a breaker half open for as long as it is connected.
func (p probes) RenewHeld(_ context.Context, due []hold) []renewal {
	lost := make([]renewal, len(due))
	for i := range due {
		lost[i].reason = ReasonExpired
	}
	return lost
}

// GiveBackHeld implements Kind.
func (p probes) GiveBackHeld(ctx context.Context, gone []hold) []error {
	errs := giveBackBy(ctx, p.runner, lua.BreakerDrop, gone, func(h hold) lua.BreakerProbeIn {
		return lua.BreakerProbeIn{BreakerIn: p.at.in(), Probe: h.token, Session: h.session}
	})
	if p.at.pool != "" && slices.Contains(errs, nil) {
		_ = p.members.Touched(ctx, p.at.pool, p.at.name) // without it, the pool looks when the probe's time is over
	}
	return errs
}

// lease is a probe as the caller's session holds it.
func (b *Breakers) lease(c Caller, at breakerAt, probe string) *lease {
	return &lease{
		leaseID: leaseID{nounBreaker, at.name, probe}, ttl: Millis(at.policy.ProbeTTLMS), session: c.Session,
		kind: probes{runner: b.runner, at: at, members: b.members}, fixed: true,
	}
}

// keepProbe has the caller's session hold the probe of a call that passed. A call
// that is over, or whose connection is, makes no probe: it is given back.
func (b *Breakers) keepProbe(ctx context.Context, c Caller, x *lease, sent time.Time) error {
	if over := ctx.Err(); over != nil {
		h := hold{leaseID: x.leaseID, session: c.sessionID(), kind: x.kind}
		b.leases.takeBack(ctx, h)
		return Failed("breaker "+x.name+": allow", over)
	}
	if c.Session == nil {
		return nil
	}
	return b.leases.keep(ctx, x, sent)
}

// replay answers a request id that was let through before: by what became of its
// probe, which this session then holds.
func (b *Breakers) replay(ctx context.Context, c Caller, x *lease, at breakerAt, r api.BreakerAllowResult) (api.BreakerAllowResult, error) {
	out, err := lua.Attempt(ctx, b.runner, lua.BreakerMove, lua.BreakerProbeIn{
		BreakerIn: at.in(), Probe: x.token, Session: c.sessionID(),
	}, lua.Latch{})
	if err != nil {
		return api.BreakerAllowResult{}, Failed("breaker "+at.name+": replay", err)
	}
	v := out.Value
	if v.LeftUS == 0 {
		// Even if another may be out now: this call is over.
		r.Allowed, r.Probe, r.State, r.Generation = false, "", v.State, v.Generation
		r.RetryAfterMS = cmp.Or(waitMS(v.RetryUS), 1)
		return r, nil
	}
	x.ttl = time.Duration(v.LeftUS) * time.Microsecond
	return r, b.keepProbe(ctx, c, x, out.Sent)
}

// unsure sees to a probe that may be out although the call failed. Where the fail
// mode answers instead, that does not wait for Redis to be back: the probe is
// lost with its time, or given back with the session.
func (b *Breakers) unsure(ctx context.Context, c Caller, x *lease, mode FailMode, err error) {
	if !errors.Is(err, redis.ErrMaybeExecuted) {
		return
	}
	if mode == FailOpen && ctx.Err() == nil {
		if x.session != nil {
			b.leases.doubt(x, err)
		}
		return
	}
	b.leases.unsure(ctx, c, x, true, "", err)
}
