package clienttest

import (
	"time"

	"github.com/coxswain-sidecar/coxswain/client/api"
)

func lockMethods(t map[string]method) {
	define(t, api.LockAcquire, lockAcquire)
	define(t, api.LockRenew, func(c *call, p *api.LockRenewParams) (api.LockRenewResult, error) {
		l := c.s.leased("lock", p.Name, p.Token)
		if l == nil {
			return api.LockRenewResult{Reason: c.s.lacks("lock", p.Name)}, nil
		}
		c.s.renew(l, ms(p.TTLMS))
		return api.LockRenewResult{Renewed: true, Fence: l.fenceText(), TTLMS: millis(c.s.left(l)), Reason: "renewed"}, nil
	})
	define(t, api.LockRelease, func(c *call, p *api.LockReleaseParams) (api.LockReleaseResult, error) {
		l := c.s.leased("lock", p.Name, p.Token)
		if l == nil {
			if c.s.wasReleased("lock", p.Token) {
				return api.LockReleaseResult{Released: true, Reason: "released"}, nil
			}
			return api.LockReleaseResult{Reason: c.s.lacks("lock", p.Name)}, nil
		}
		c.release(l)
		return api.LockReleaseResult{Released: true, Reason: "released"}, nil
	})
	define(t, api.LockGet, func(c *call, p *api.LockGetParams) (api.LockGetResult, error) {
		r := api.LockGetResult{Waiting: int64(len(c.s.lines["lock:"+p.Name]))}
		for _, l := range c.s.of("lock", p.Name) {
			r.Held, r.Fence, r.TTLMS, r.HeldBy = true, l.fenceText(), millis(c.s.left(l)), &l.holder
		}
		return r, nil
	})
	define(t, api.LockList, func(c *call, p *api.LockListParams) (api.LockListResult, error) {
		held := make(map[string]*lease)
		for _, l := range c.s.leases {
			if l.noun == "lock" && (p.State != api.StateWaited || len(c.s.lines["lock:"+l.name]) > 0) {
				held[l.name] = l
			}
		}
		r := api.LockListResult{Locks: []api.LockEntry{}}
		var names []string
		names, r.Cursor = page(held, p.Cursor, p.Count)
		for _, name := range names {
			l := held[name]
			r.Locks = append(r.Locks, api.LockEntry{
				Name: name, Fence: l.fenceText(), TTLMS: millis(c.s.left(l)), HeldBy: &l.holder, Waiting: int64(len(c.s.lines["lock:"+name])),
			})
		}
		return r, nil
	})
	define(t, api.LockForceRelease, func(c *call, p *api.LockForceReleaseParams) (api.LockForceReleaseResult, error) {
		r := api.LockForceReleaseResult{}
		for _, l := range c.s.of("lock", p.Name) {
			r.Released, r.HeldBy, r.Fence = true, &l.holder, l.fenceText()
			c.s.lose(l, "expired")
		}
		return r, nil
	})
}

func lockAcquire(c *call, p *api.LockAcquireParams) (api.LockAcquireResult, error) {
	s := c.s
	var r api.LockAcquireResult
	waited, err := c.stand("lock:"+p.Name, p.WaitMS, func(turn bool) (bool, time.Duration) {
		if held := s.of("lock", p.Name); len(held) > 0 {
			l := held[0]
			if l.token == p.Token { // the holder repeats the call: the new values apply
				l.holder.Meta = p.Meta
				s.renew(l, ms(p.TTLMS))
				r = granted(s, l)
				return true, 0
			}
			left := s.left(l)
			r = api.LockAcquireResult{TTLMS: millis(left), HeldBy: &l.holder, RetryAfterMS: millis(left), Reason: "busy"}
			return false, left
		}
		if !turn {
			r = api.LockAcquireResult{RetryAfterMS: 1, Reason: "busy"}
			return false, time.Hour // the call before it in the line wakes it
		}
		l := c.grant("lock", p.Name, p.Token, p.Bind, ms(p.TTLMS))
		l.holder.Meta = p.Meta
		c.bound(l, p.MaxHoldMS)
		r = granted(s, l)
		return true, 0
	})
	r.WaitedMS = waited
	return r, err
}

func granted(s *Sidecar, l *lease) api.LockAcquireResult {
	return api.LockAcquireResult{Acquired: true, Token: l.token, Fence: l.fenceText(), TTLMS: millis(s.left(l))}
}

// bound sets the longest hold of a lease.
func (c *call) bound(l *lease, maxHoldMS int64) {
	if maxHoldMS > 0 {
		l.last = c.s.now().Add(ms(maxHoldMS))
	}
}

// release ends a lease whose token the caller gave. If the lease is bound to another session, that
// session is notified of the loss.
func (c *call) release(l *lease) {
	if l.on != nil && l.on != c.cn {
		c.s.lose(l, "expired")
		return
	}
	c.s.drop(l, "released")
}

// wasReleased reports whether a token's lease was released a moment ago, so that a repeated
// release gets the same answer.
func (s *Sidecar) wasReleased(noun, token string) bool {
	_, ok := s.clocks["ended\x00"+noun+"\x00"+token+"\x00released"]
	return ok
}

// lacks returns the reason why a token has no lease of a name.
func (s *Sidecar) lacks(noun, name string) string {
	if len(s.of(noun, name)) > 0 {
		return "not_owner"
	}
	return "expired"
}
