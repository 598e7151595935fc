package semaphore

import (
	"context"

	"github.com/coxswain-sidecar/coxswain/client/api"
	"github.com/coxswain-sidecar/coxswain/internal/coord"
	"github.com/coxswain-sidecar/coxswain/internal/coord/lease"
	"github.com/coxswain-sidecar/coxswain/internal/lua"
)

// The most holders that semaphore.get returns, and that a list returns of each semaphore.
const (
	mostHolders   = 100
	listedHolders = 3
)

// Get reads a semaphore.
func (s *Semaphores) Get(ctx context.Context, _ coord.Caller, p *api.SemaphoreGetParams) (api.SemaphoreGetResult, error) {
	now, err := s.look(ctx, p.Name, mostHolders)
	if err != nil {
		return api.SemaphoreGetResult{}, coord.Failed("semaphore "+p.Name+": get", err)
	}
	return api.SemaphoreGetResult{Held: now.Held, Waiting: now.Waiting, Holders: holders(now)}, nil
}

func holders(v GetOut) []api.SemaphoreHolder {
	all := make([]api.SemaphoreHolder, len(v.Holders))
	for i, h := range v.Holders {
		all[i] = api.SemaphoreHolder{
			Permits: h.Permits, Fence: coord.Fence(h.Fence), TTLMS: h.TTLMS, HeldBy: coord.HeldBy(h.Client, h.Instance, h.Meta, h.SinceMS),
		}
	}
	return all
}

// look reads a semaphore. It runs the script until all leases that have ended are removed.
func (s *Semaphores) look(ctx context.Context, name string, most int64) (GetOut, error) {
	keys, line := s.keys.semaphore(name)
	for {
		out, err := lua.Run(ctx, s.runner, GetScript, GetIn{Semaphore: keys, Line: line.Line, Most: most}, lua.StoredReply{})
		if err != nil || !out.Value.More {
			return out.Value, err
		}
	}
}

// List lists the semaphores of which permits are held or waited for, as coord.Listing does. If more leases have ended
// than one run of the script removes, the number held is too high for a moment.
func (s *Semaphores) List(ctx context.Context, _ coord.Caller, p *api.SemaphoreListParams) (r api.SemaphoreListResult, err error) {
	r.Semaphores, r.Cursor, err = s.listing(p.State).Page(ctx, p.Cursor, p.Count)
	return r, err
}

func (s *Semaphores) listing(state string) coord.Listing[api.SemaphoreListed] {
	return coord.Listing[api.SemaphoreListed]{
		Runner: s.runner, Method: api.SemaphoreList.Name, Pattern: s.keys.Pattern(kindSemaphore),
		Read: func(ctx context.Context, keys []string) ([]api.SemaphoreListed, error) {
			return coord.ReadEach(ctx, s.runner, GetScript, keys, func(key string) (GetIn, bool) {
				name, ok := s.keys.NameOf(key, kindSemaphore)
				in := GetIn{Line: lease.LineKeysOf(key).Line, Most: listedHolders}
				in.Semaphore, _ = s.keys.semaphore(name)
				return in, ok
			}, func(key string, v GetOut) (api.SemaphoreListed, bool) {
				name, _ := s.keys.NameOf(key, kindSemaphore)
				held, waited := v.Held > 0, v.Waiting > 0
				return api.SemaphoreListed{Name: name, Held: v.Held, Waiting: v.Waiting, Holders: holders(v)},
					(held || waited) && (state != api.StateHeld || held) && (state != api.StateWaited || waited)
			})
		},
	}
}
