package breaker

import (
	"context"

	"github.com/coxswain-sidecar/coxswain/client/api"
	"github.com/coxswain-sidecar/coxswain/internal/coord"
	"github.com/coxswain-sidecar/coxswain/internal/lua"
)

// forces are the states that a breaker can be forced into, by the names that users write.
var forces = map[string]Forced{
	api.BreakerOpen: ForcedOpen, api.BreakerClosed: ForcedClosed, api.BreakerDisabled: Disabled,
}

// Force holds a breaker in a state until Reset: open, closed or disabled.
func (b *Breakers) Force(ctx context.Context, _ coord.Caller, p *api.BreakerForceParams) (api.BreakerChangeResult, error) {
	return b.force(ctx, &api.BreakerParams{Name: p.Name, Pool: p.Pool, Policy: p.Policy}, forces[p.State], "force")
}

// Reset closes a breaker, clears its counts, and ends a Force.
func (b *Breakers) Reset(ctx context.Context, _ coord.Caller, p *api.BreakerParams) (api.BreakerChangeResult, error) {
	return b.force(ctx, p, ForcedNot, "reset")
}

func (b *Breakers) force(ctx context.Context, p *api.BreakerParams, f Forced, verb string) (api.BreakerChangeResult, error) {
	at, _, err := b.find(p.Name, p.Pool, p.Policy)
	if err != nil {
		return api.BreakerChangeResult{}, err
	}
	out, err := lua.Run(ctx, b.runner, ForceScript, ForceIn{
		In: at.in(), Forced: f, Channel: b.keys.Broadcast(),
	}, lua.StoredReply{})
	if err != nil {
		return api.BreakerChangeResult{}, coord.Failed("breaker "+p.Name+": "+verb, err)
	}
	b.answers.Forget(at.key)
	v := out.Value
	b.changed(ctx, at, v.Was, v.State, "by hand")
	if err := b.touched(ctx, at); err != nil {
		return api.BreakerChangeResult{}, coord.Failed("breaker "+p.Name+": "+verb+", pool "+p.Pool, err)
	}
	return api.BreakerChangeResult{State: v.State, Generation: v.Generation, Changed: v.Was != v.State}, nil
}
