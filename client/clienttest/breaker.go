package clienttest

import (
	"cmp"
	"fmt"
	"maps"
	"slices"
	"strings"
	"time"

	"github.com/coxswain-sidecar/coxswain/client/api"
)

// breaker is the state of one breaker.
type breaker struct {
	state      string
	generation int64
	failures   int64
	successes  int64
	opened     int64
	until      time.Time // when it may become half-open, while it is open
	changed    time.Time
	forced     time.Time
}

func breakerMethods(t map[string]method) {
	define(t, api.BreakerAllow, func(c *call, p *api.BreakerAllowParams) (api.BreakerAllowResult, error) {
		if err := c.s.checkPolicy(p.Policy); err != nil {
			return api.BreakerAllowResult{}, err
		}
		return c.passes(p.Name, p.Pool, p.Policy, true), nil
	})
	define(t, api.BreakerReport, func(c *call, p *api.BreakerReportParams) (api.BreakerReportResult, error) {
		if err := c.s.checkPolicy(p.Policy); err != nil {
			return api.BreakerReportResult{}, err
		}
		return c.s.judge(p), nil
	})
	define(t, api.BreakerGet, func(c *call, p *api.BreakerParams) (api.BreakerGetResult, error) {
		s := c.s
		b, policy := s.breaker(p.Name, p.Pool), s.policy(p.Name, p.Pool, p.Policy)
		r := api.BreakerGetResult{
			State: b.state, Generation: b.generation, Policy: policy.Name, Failures: b.failures, Successes: b.successes, Opened: b.opened,
			Probes: int64(len(s.of("breaker", breakerName(p.Name, p.Pool)))),
		}
		if b.state == api.BreakerOpen {
			r.OpenForMS = millis(b.until.Sub(s.now()))
		}
		if !b.changed.IsZero() {
			r.ChangedAtMS = b.changed.UnixMilli()
		}
		if !b.forced.IsZero() {
			r.ForcedAtMS = b.forced.UnixMilli()
		}
		return r, nil
	})
	define(t, api.BreakerReset, func(c *call, p *api.BreakerParams) (api.BreakerChangeResult, error) {
		b := c.s.breaker(p.Name, p.Pool)
		changed := b.state != api.BreakerClosed || b.failures > 0 || b.opened > 0
		if changed {
			c.s.become(p.Name, p.Pool, b, api.BreakerClosed)
		}
		b.opened, b.forced = 0, time.Time{}
		return api.BreakerChangeResult{State: b.state, Generation: b.generation, Changed: changed}, nil
	})
	define(t, api.BreakerForce, func(c *call, p *api.BreakerForceParams) (api.BreakerChangeResult, error) {
		b := c.s.breaker(p.Name, p.Pool)
		state := p.State
		if state != api.BreakerDisabled {
			state = "forced_" + state
		}
		changed := b.state != state
		if changed {
			c.s.become(p.Name, p.Pool, b, state)
		}
		b.forced = c.s.now()
		return api.BreakerChangeResult{State: b.state, Generation: b.generation, Changed: changed}, nil
	})
	define(t, api.BreakerList, func(c *call, p *api.BreakerListParams) (api.BreakerListResult, error) {
		s, all := c.s, make(map[string]*breaker)
		for name, b := range s.breakers {
			pool, of, _ := strings.Cut(name, "\x00")
			if pool == p.Pool && (p.State == "" || p.State == b.state || p.State == api.BreakerNotClosed && b.state != api.BreakerClosed) {
				all[of] = b
			}
		}
		r := api.BreakerListResult{Breakers: []api.BreakerListed{}}
		var names []string
		names, r.Cursor = page(all, p.Cursor, p.Count)
		for _, name := range names {
			b := all[name]
			listed := api.BreakerListed{
				Name: name, State: b.state, Policy: s.policy(name, p.Pool, "").Name, Failures: b.failures, Successes: b.successes, Opened: b.opened,
				Probes: int64(len(s.of("breaker", breakerName(name, p.Pool)))),
			}
			if b.state == api.BreakerOpen {
				listed.OpenForMS = millis(b.until.Sub(s.now()))
			}
			if !b.changed.IsZero() {
				listed.ChangedAtMS = b.changed.UnixMilli()
			}
			r.Breakers = append(r.Breakers, listed)
		}
		return r, nil
	})
}

func breakerName(name, pool string) string { return pool + "\x00" + name }

func (s *Sidecar) breaker(name, pool string) *breaker {
	at := breakerName(name, pool)
	if s.breakers[at] == nil {
		s.breakers[at] = &breaker{state: api.BreakerClosed, generation: 1}
	}
	return s.breakers[at]
}

// checkPolicy returns an error if the named policy is not configured.
func (s *Sidecar) checkPolicy(named string) error {
	if _, ok := s.policies[named]; ok || named == "" || named == "default" {
		return nil
	}
	return &api.Error{Code: api.NotFound, Message: fmt.Sprintf("policy %q: there is no such policy; put it by clienttest's PutPolicy", named)}
}

// policy returns the policy of a breaker, with defaults: the named one, else the first by name that matches.
func (s *Sidecar) policy(name, pool, named string) api.BreakerPolicy {
	p := api.BreakerPolicy{Name: "default"}
	if named != "" {
		if own, ok := s.policies[named]; ok {
			p = own
		}
	} else {
		for _, of := range slices.Sorted(maps.Keys(s.policies)) {
			if glob(of, cmp.Or(pool, name)) {
				p = s.policies[of]
				break
			}
		}
	}
	p.FailureThreshold, p.SuccessThreshold = cmp.Or(p.FailureThreshold, 3), cmp.Or(p.SuccessThreshold, 3)
	p.OpenMS = cmp.Or(p.OpenMS, 600_000)
	p.OpenMaxMS = max(cmp.Or(p.OpenMaxMS, 3_600_000), p.OpenMS)
	p.HalfOpenMax, p.ProbeTTLMS = cmp.Or(p.HalfOpenMax, p.SuccessThreshold), cmp.Or(p.ProbeTTLMS, 60_000)
	return p
}

// become changes the state of a breaker, which begins a new generation and ends its probes.
func (s *Sidecar) become(name, pool string, b *breaker, state string) {
	for _, l := range s.of("breaker", breakerName(name, pool)) {
		s.drop(l, "released")
	}
	b.state, b.failures, b.successes, b.changed = state, 0, 0, s.now()
	b.generation++
}

// passes returns a breaker's decision. Only if probe is set it may grant a probe, which changes the breaker's state.
func (c *call) passes(name, pool, policyName string, probe bool) api.BreakerAllowResult {
	s := c.s
	b, policy := s.breaker(name, pool), s.policy(name, pool, policyName)
	r := api.BreakerAllowResult{State: b.state, Generation: b.generation, Source: "redis"}
	switch b.state {
	case api.BreakerClosed, api.BreakerForcedClosed, api.BreakerDisabled:
		r.Allowed = true
		return r
	case api.BreakerForcedOpen:
		r.RetryAfterMS = -1
		return r
	case api.BreakerOpen:
		if left := b.until.Sub(s.now()); left > 0 {
			r.RetryAfterMS = millis(left)
			return r
		}
		if !probe {
			r.Allowed = true
			return r
		}
		s.become(name, pool, b, api.BreakerHalfOpen)
		r.State, r.Generation = b.state, b.generation
	}
	out := s.of("breaker", breakerName(name, pool))
	if int64(len(out)) >= min(policy.HalfOpenMax, policy.SuccessThreshold-b.successes) {
		r.RetryAfterMS = policy.ProbeTTLMS
		if len(out) > 0 {
			r.RetryAfterMS = max(millis(out[0].ends.Sub(s.now())), 1)
		}
		return r
	}
	r.Allowed = true
	if probe {
		l := c.grant("breaker", breakerName(name, pool), "", api.BindTTL, ms(policy.ProbeTTLMS))
		l.key, c.held = name, true // the probe ends at its TTL, or with its connection
		r.Probe = l.token
	}
	return r
}

// judge applies a report to its breaker.
func (s *Sidecar) judge(p *api.BreakerReportParams) api.BreakerReportResult {
	b, policy := s.breaker(p.Name, p.Pool), s.policy(p.Name, p.Pool, p.Policy)
	r := func(changed, counted bool) api.BreakerReportResult {
		return api.BreakerReportResult{State: b.state, Generation: b.generation, Changed: changed, Counted: counted}
	}
	l := s.leased("breaker", breakerName(p.Name, p.Pool), p.Probe)
	if l != nil {
		s.drop(l, "released")
	}
	present := p.Generation == b.generation || p.Generation == 0 && (b.state == api.BreakerClosed || b.state == api.BreakerForcedClosed)
	if p.Outcome == api.OutcomeIgnored || !present {
		return r(false, false)
	}
	failed := p.Outcome == api.OutcomeFailure
	switch b.state {
	case api.BreakerClosed, api.BreakerForcedClosed:
		if !failed {
			b.failures = 0
			return r(false, true)
		}
		b.failures++
		if b.state == api.BreakerClosed && b.failures >= policy.FailureThreshold {
			s.open(p.Name, p.Pool, b, policy)
			return r(true, true)
		}
		return r(false, true)
	case api.BreakerHalfOpen:
		switch {
		case l == nil:
			return r(false, false)
		case failed:
			s.open(p.Name, p.Pool, b, policy)
			return r(true, true)
		}
		if b.successes++; b.successes >= policy.SuccessThreshold {
			s.become(p.Name, p.Pool, b, api.BreakerClosed)
			b.opened = 0
			return r(true, true)
		}
		return r(false, true)
	default:
		return r(false, false)
	}
}

// open opens a breaker, each time in a row for twice as long. Unlike in a real sidecar, the time has
// no jitter, so that a test can compute when it ends.
func (s *Sidecar) open(name, pool string, b *breaker, policy api.BreakerPolicy) {
	s.become(name, pool, b, api.BreakerOpen)
	b.opened++
	d := min(policy.OpenMS<<min(b.opened-1, 20), policy.OpenMaxMS)
	b.until = s.now().Add(ms(d))
}
