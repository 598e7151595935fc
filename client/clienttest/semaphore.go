package clienttest

import (
	"time"

	"github.com/coxswain-sidecar/coxswain/client/api"
)

func semaphoreMethods(t map[string]method) {
	define(t, api.SemaphoreAcquire, semaphoreAcquire)
	define(t, api.SemaphoreRenew, func(c *call, p *api.SemaphoreRenewParams) (api.SemaphoreRenewResult, error) {
		l := c.s.leased("semaphore", p.Name, p.Token)
		if l == nil {
			return api.SemaphoreRenewResult{Reason: "expired"}, nil
		}
		c.s.renew(l, ms(p.TTLMS))
		return api.SemaphoreRenewResult{Renewed: true, Fence: l.fenceText(), TTLMS: millis(c.s.left(l)), Reason: "renewed"}, nil
	})
	define(t, api.SemaphoreRelease, func(c *call, p *api.SemaphoreReleaseParams) (api.SemaphoreReleaseResult, error) {
		l := c.s.leased("semaphore", p.Name, p.Token)
		if l == nil && !c.s.wasReleased("semaphore", p.Token) {
			return api.SemaphoreReleaseResult{Reason: "expired"}, nil
		}
		if l != nil {
			c.release(l)
		}
		return api.SemaphoreReleaseResult{Released: true, Reason: "released"}, nil
	})
	define(t, api.SemaphoreGet, func(c *call, p *api.SemaphoreGetParams) (api.SemaphoreGetResult, error) {
		held, holders := c.s.holders(p.Name)
		return api.SemaphoreGetResult{Held: held, Holders: holders, Waiting: int64(len(c.s.lines["semaphore:"+p.Name]))}, nil
	})
	define(t, api.SemaphoreList, func(c *call, p *api.SemaphoreListParams) (api.SemaphoreListResult, error) {
		all := make(map[string]bool)
		for _, l := range c.s.leases {
			if l.noun == "semaphore" && (p.State != api.StateWaited || len(c.s.lines["semaphore:"+l.name]) > 0) {
				all[l.name] = true
			}
		}
		r := api.SemaphoreListResult{Semaphores: []api.SemaphoreListed{}}
		var names []string
		names, r.Cursor = page(all, p.Cursor, p.Count)
		for _, name := range names {
			held, holders := c.s.holders(name)
			r.Semaphores = append(r.Semaphores, api.SemaphoreListed{
				Name: name, Held: held, Waiting: int64(len(c.s.lines["semaphore:"+name])), Holders: holders[:min(len(holders), 3)],
			})
		}
		return r, nil
	})
}

// holders returns how many permits of a semaphore are held, and the holders.
func (s *Sidecar) holders(name string) (held int64, holders []api.SemaphoreHolder) {
	holders = []api.SemaphoreHolder{}
	for _, l := range s.of("semaphore", name) {
		held += l.permits
		holders = append(holders, api.SemaphoreHolder{Permits: l.permits, Fence: l.fenceText(), TTLMS: millis(s.left(l)), HeldBy: &l.holder})
	}
	return held, holders
}

func semaphoreAcquire(c *call, p *api.SemaphoreAcquireParams) (api.SemaphoreAcquireResult, error) {
	s := c.s
	if p.Permits > p.Limit {
		return api.SemaphoreAcquireResult{}, invalid("permits: %d is more than limit, which is %d", p.Permits, p.Limit)
	}
	var r api.SemaphoreAcquireResult
	waited, err := c.stand("semaphore:"+p.Name, p.WaitMS, func(turn bool) (bool, time.Duration) {
		l := s.leased("semaphore", p.Name, p.Token)
		held, _ := s.holders(p.Name)
		if l == nil && turn && held+p.Permits <= p.Limit {
			l = c.grant("semaphore", p.Name, p.Token, p.Bind, ms(p.TTLMS))
			l.permits, l.holder.Meta = p.Permits, p.Meta
			c.bound(l, p.MaxHoldMS)
			held += p.Permits
		}
		if l != nil {
			r = api.SemaphoreAcquireResult{
				Acquired: true, Token: l.token, Fence: l.fenceText(), TTLMS: millis(s.left(l)), Free: max(p.Limit-held, 0),
			}
			return true, 0
		}
		left := s.untilFree(p)
		r = api.SemaphoreAcquireResult{Free: max(p.Limit-held, 0), RetryAfterMS: max(millis(left), 1), Reason: "busy"}
		return false, max(left, time.Millisecond)
	})
	r.WaitedMS = waited
	return r, err
}

// untilFree returns after how long enough leases have ended for the permits that are asked for.
func (s *Sidecar) untilFree(p *api.SemaphoreAcquireParams) time.Duration {
	held, _ := s.holders(p.Name)
	var longest time.Duration
	for _, l := range s.of("semaphore", p.Name) {
		if held+p.Permits <= p.Limit {
			break
		}
		held -= l.permits
		longest = max(longest, s.left(l))
	}
	return longest
}
