package coord

import (
	"context"
	"time"

	"github.com/coxswain-sidecar/coxswain/client/api"
	"github.com/coxswain-sidecar/coxswain/internal/lua"
)

// forces are what a breaker can be forced to be, as users write it.
var forces = map[string]lua.Forced{
	api.BreakerOpen: lua.ForcedOpen, api.BreakerClosed: lua.ForcedClosed, api.BreakerDisabled: lua.Disabled,
}

// Force holds a breaker in a state until Reset: open, closed or disabled.
func (b *Breakers) Force(ctx context.Context, r BreakerRef, state string) (BreakerState, error) {
	f, ok := forces[state]
	if !ok {
		return BreakerState{}, invalid("state: %q cannot be forced; use open, closed or disabled", state)
	}
	return b.force(ctx, r, f, "force")
}

// Reset closes a breaker and forgets what it counted, and that it was forced.
func (b *Breakers) Reset(ctx context.Context, r BreakerRef) (BreakerState, error) {
	return b.force(ctx, r, lua.ForcedNot, "reset")
}

func (b *Breakers) force(ctx context.Context, r BreakerRef, f lua.Forced, verb string) (BreakerState, error) {
	at, _, err := b.find(r)
	if err != nil {
		return BreakerState{}, err
	}
	out, err := lua.Run(ctx, b.runner, lua.BreakerForce, lua.BreakerForceIn{
		BreakerIn: at.in(), Forced: f, Channel: b.keys.broadcast(),
	}, lua.Latch{})
	if err != nil {
		return BreakerState{}, failed("breaker "+r.Name+": "+verb, err)
	}
	b.answers.forget(at.key)
	v := out.Value
	b.changed(ctx, r, v.Was, v.State, "by hand")
	if err := b.touched(ctx, r); err != nil {
		return BreakerState{}, failed("breaker "+r.Name+": "+verb+", pool "+r.Pool, err)
	}
	return BreakerState{State: v.State, Generation: v.Generation, Changed: v.Was != v.State}, nil
}

// BreakerInfo is all that is known of a breaker.
type BreakerInfo struct {
	State      string
	Generation int64
	Policy     string
	// Failures in a row while closed, Successes of probes while half open.
	Failures, Successes int64
	Probes              int64         // out now
	OpenFor             time.Duration // until a probe may pass
	Opened              int64         // times in a row
	// Calls, Failed and Slow are of the rolling window.
	Calls, Failed, Slow int64
	Changed             time.Time // by the Redis server's clock; zero = never, or it is forgotten
	Forced              time.Time // since when it is; zero = it is not
}

// Get reads a breaker.
func (b *Breakers) Get(ctx context.Context, r BreakerRef) (BreakerInfo, error) {
	at, _, err := b.find(r)
	if err != nil {
		return BreakerInfo{}, err
	}
	out, err := lua.Run(ctx, b.runner, lua.BreakerGet, at.in(), lua.Latch{})
	if err != nil {
		return BreakerInfo{}, failed("breaker "+r.Name+": get", err)
	}
	v := out.Value
	i := BreakerInfo{
		State: v.State, Generation: v.Generation, Policy: at.policy.Name, Failures: v.Failures, Successes: v.Successes,
		Probes: v.Probes, OpenFor: ceilMS(v.OpenUS), Opened: v.Opened, Calls: v.Calls, Failed: v.Failed, Slow: v.Slow,
	}
	if v.ChangedUS > 0 {
		i.Changed = time.UnixMicro(v.ChangedUS)
	}
	if v.Forced {
		i.Forced = i.Changed
	}
	return i, nil
}
