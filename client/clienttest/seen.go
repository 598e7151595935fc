package clienttest

import "github.com/coxswain-sidecar/coxswain/client/api"

func seenMethods(t map[string]method) {
	define(t, api.SeenReserve, func(c *call, p *api.SeenReserveParams) (api.SeenReserveResult, error) {
		s := c.s
		if until, done := s.clocks[doneKey(p.Set, p.Key)]; done {
			return api.SeenReserveResult{State: "done", RetryAfterMS: millis(until.Sub(s.now()))}, nil
		}
		for _, l := range s.of("seen", p.Set) {
			if l.key == p.Key {
				return api.SeenReserveResult{State: "reserved", RetryAfterMS: millis(s.left(l))}, nil
			}
		}
		l := c.grant("seen", p.Set, "", p.Bind, ms(p.TTLMS))
		l.key = p.Key
		return api.SeenReserveResult{Reserved: true, State: "new", Token: l.token}, nil
	})
	define(t, api.SeenCommit, func(c *call, p *api.SeenCommitParams) (api.SeenCommitResult, error) {
		s := c.s
		l := s.leased("seen", p.Set, p.Token)
		if l == nil || l.key != p.Key {
			if _, again := s.clocks[doneKey(p.Set, p.Key)]; again && s.wasReleased("seen", p.Token) {
				return api.SeenCommitResult{Committed: true, Reason: "committed"}, nil
			}
			return api.SeenCommitResult{Reason: "expired"}, nil
		}
		c.release(l)
		s.clocks[doneKey(p.Set, p.Key)] = s.now().Add(ms(p.KeepMS))
		return api.SeenCommitResult{Committed: true, Reason: "committed"}, nil
	})
	define(t, api.SeenRelease, func(c *call, p *api.SeenReleaseParams) (api.SeenReleaseResult, error) {
		l := c.s.leased("seen", p.Set, p.Token)
		if l == nil || l.key != p.Key {
			if _, done := c.s.clocks[doneKey(p.Set, p.Key)]; !done && c.s.wasReleased("seen", p.Token) {
				return api.SeenReleaseResult{Released: true, Reason: "released"}, nil
			}
			return api.SeenReleaseResult{Reason: "expired"}, nil
		}
		c.release(l)
		return api.SeenReleaseResult{Released: true, Reason: "released"}, nil
	})
}

func doneKey(set, key string) string { return "done\x00" + set + "\x00" + key }
