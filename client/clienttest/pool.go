package clienttest

import (
	"maps"
	"math"
	"slices"
	"strings"
	"time"

	"github.com/coxswain-sidecar/coxswain/client/api"
)

// pool has the members of a pool, in the order in which they were added.
type pool struct {
	members []*member
	sticky  map[string]string // by scope and sticky name: the member that it was given last
}

type member struct {
	id, meta string
	held     *lease
	banned   bool
	unban    time.Time // when the ban ends; zero = by pool.unban
	failures int64
	breaks   int64                // failures of outcome transport, counted separately
	cooling  map[string]time.Time // by scope
	used     map[string]time.Time // by scope: when it was last acquired
	order    map[string]uint64    // by scope: the order of these acquisitions, also of those at the same instant
}

// never is the time until a member is available that will not become so by itself.
const never = time.Duration(math.MaxInt64)

// wanted has the conditions of an acquisition.
type wanted struct {
	pool, scope, sticky string
	exclude             []string
	limit               *api.RatelimitParams // of a permit with a rule; the key is the member's id
	breaker             string               // the policy of a permit; empty = breakers are not asked
}

func poolMethods(t map[string]method) {
	define(t, api.PoolPut, func(c *call, p *api.PoolPutParams) (api.PoolPutResult, error) {
		pl, r := c.s.pool(p.Pool), api.PoolPutResult{}
		for _, m := range p.Members {
			if was := pl.member(m.ID); was != nil {
				was.meta = m.Meta
				continue
			}
			pl.members = append(pl.members, &member{
				id: m.ID, meta: m.Meta, cooling: make(map[string]time.Time), used: make(map[string]time.Time), order: make(map[string]uint64),
			})
			r.Added++
		}
		r.Total = int64(len(pl.members))
		return r, nil
	})
	define(t, api.PoolRemove, func(c *call, p *api.PoolRemoveParams) (api.PoolRemoveResult, error) {
		pl := c.s.pool(p.Pool)
		before := len(pl.members)
		pl.members = slices.DeleteFunc(pl.members, func(m *member) bool {
			gone := slices.Contains(p.IDs, m.id)
			if gone && m.held != nil {
				c.s.lose(m.held, "expired")
			}
			return gone
		})
		return api.PoolRemoveResult{Removed: int64(before - len(pl.members)), Total: int64(len(pl.members))}, nil
	})
	define(t, api.PoolList, poolList)
	define(t, api.PoolStats, func(c *call, p *api.PoolStatsParams) (api.PoolStatsResult, error) {
		return c.s.stats(p.Pool, p.Scope), nil
	})
	define(t, api.PoolBan, func(c *call, p *api.PoolBanParams) (api.PoolBanResult, error) {
		m := c.s.pool(p.Pool).member(p.ID)
		if m == nil {
			return api.PoolBanResult{}, &api.Error{Code: api.NotFound, Message: "id: the pool has no such member"}
		}
		var until time.Time
		if p.ForMS > 0 {
			until = c.s.now().Add(ms(p.ForMS))
		}
		changed := !m.banned || !m.unban.Equal(until)
		m.banned, m.unban = true, until
		return api.PoolBanResult{Changed: changed}, nil
	})
	define(t, api.PoolUnban, func(c *call, p *api.PoolUnbanParams) (api.PoolBanResult, error) {
		m := c.s.pool(p.Pool).member(p.ID)
		if m == nil {
			return api.PoolBanResult{}, &api.Error{Code: api.NotFound, Message: "id: the pool has no such member"}
		}
		changed := m.banned
		m.banned, m.unban, m.failures, m.breaks = false, time.Time{}, 0, 0
		clear(m.cooling)
		return api.PoolBanResult{Changed: changed}, nil
	})
	define(t, api.PoolPools, func(c *call, p *api.PoolPoolsParams) (api.PoolPoolsResult, error) {
		all := maps.Clone(c.s.pools)
		maps.DeleteFunc(all, func(_ string, pl *pool) bool { return len(pl.members) == 0 })
		r := api.PoolPoolsResult{Pools: []api.PoolListed{}}
		var names []string
		names, r.Cursor = page(all, p.Cursor, p.Count)
		for _, name := range names {
			st := c.s.stats(name, "")
			listed := api.PoolListed{
				Pool: name, Total: st.Total, Live: st.Live, Cooling: st.Cooling, Banned: st.Banned, Free: st.Free, Open: st.Open, Holders: []api.PoolHolder{},
			}
			for line := range c.s.lines {
				if strings.HasPrefix(line, "pool\x00"+name+"\x00") {
					listed.Lines++
				}
			}
			for _, l := range append(c.s.of("pool", name), c.s.of("permit", name)...) {
				listed.Holders = append(listed.Holders, api.PoolHolder{ID: l.member.id, HeldBy: &l.holder, LeftMS: millis(c.s.left(l))})
			}
			listed.Holders = listed.Holders[:min(len(listed.Holders), 3)]
			r.Pools = append(r.Pools, listed)
		}
		return r, nil
	})
	define(t, api.PoolAcquire, poolAcquire)
	define(t, api.PoolRenew, func(c *call, p *api.PoolRenewParams) (api.PoolRenewResult, error) {
		return c.renewMember("pool", p.Pool, p.Lease, p.LeaseMS), nil
	})
	define(t, api.PoolRelease, func(c *call, p *api.PoolReleaseParams) (api.PoolReleaseResult, error) {
		m, reason := c.giveBack("pool", p.Pool, p.Lease, outcome{p.Outcome, p.CooldownMS, p.UnbanAfterMS})
		r := api.PoolReleaseResult{Released: reason == "released", Reason: reason}
		if m != nil {
			var at time.Duration
			r.State, at = c.s.stateOf(m.member, m.scope)
			r.NextAtMS = nextAt(c.s.now(), at)
		}
		return r, nil
	})
	define(t, api.PermitAcquire, permitAcquire)
	define(t, api.PermitRenew, func(c *call, p *api.PermitRenewParams) (api.PoolRenewResult, error) {
		return c.renewMember("permit", p.Pool, p.Lease, p.LeaseMS), nil
	})
	define(t, api.PermitReport, permitReport)
}

func (s *Sidecar) pool(name string) *pool {
	if s.pools[name] == nil {
		s.pools[name] = &pool{sticky: make(map[string]string)}
	}
	return s.pools[name]
}

func (pl *pool) member(id string) *member {
	for _, m := range pl.members {
		if m.id == id {
			return m
		}
	}
	return nil
}

// stateOf returns free, leased, cooling or banned, and for how long; never = until pool.unban.
func (s *Sidecar) stateOf(m *member, scope string) (string, time.Duration) {
	now := s.now()
	if m.banned && !m.unban.IsZero() && !now.Before(m.unban) {
		m.banned = false
	}
	switch {
	case m.held != nil:
		return "leased", s.left(m.held)
	case m.banned && m.unban.IsZero():
		return "banned", never
	case m.banned:
		return "banned", m.unban.Sub(now)
	case now.Before(m.cooling[scope]):
		return "cooling", m.cooling[scope].Sub(now)
	default:
		return "free", 0
	}
}

// nextAt returns an instant in the wire form: 0 = now, -1 = never.
func nextAt(now time.Time, after time.Duration) int64 {
	switch after {
	case 0:
		return 0
	case never:
		return -1
	default:
		return now.Add(after).UnixMilli()
	}
}

func (s *Sidecar) stats(name, scope string) api.PoolStatsResult {
	pl := s.pool(name)
	r := api.PoolStatsResult{Total: int64(len(pl.members)), Waiting: int64(len(s.lines[memberLine(&wanted{pool: name, scope: scope})]))}
	for _, m := range pl.members {
		switch state, _ := s.stateOf(m, scope); state {
		case "leased":
			r.Live++
		case "cooling":
			r.Cooling++
		case "banned":
			r.Banned++
		default:
			r.Free++
		}
		if b := s.breakers[breakerName(m.id, name)]; b != nil && (b.state == api.BreakerOpen || b.state == api.BreakerForcedOpen) {
			r.Open++
		}
	}
	return r
}

func poolList(c *call, p *api.PoolListParams) (api.PoolListResult, error) {
	s, r := c.s, api.PoolListResult{Members: []api.PoolEntry{}}
	after := p.Cursor == ""
	for _, m := range s.pool(p.Pool).members {
		if !after {
			after = m.id == p.Cursor
			continue
		}
		if int64(len(r.Members)) == p.Count {
			r.Cursor = r.Members[len(r.Members)-1].ID
			break
		}
		state, left := s.stateOf(m, p.Scope)
		e := api.PoolEntry{ID: m.id, Meta: m.meta, State: state, ForMS: millis(left), Failures: m.failures}
		if left == never {
			e.ForMS = -1
		}
		if m.held != nil {
			e.HeldBy = &m.held.holder
		}
		if at, ok := m.used[p.Scope]; ok {
			e.LastUsedAtMS = at.UnixMilli()
		}
		if b := s.breakers[breakerName(m.id, p.Pool)]; b != nil {
			e.Breaker = b.state
		}
		if left := s.pace(paceName("", p.Pool, m.id)).until.Sub(s.now()); left > 0 {
			e.PausedForMS = millis(left)
		}
		r.Members = append(r.Members, e)
	}
	return r, nil
}

func memberLine(w *wanted) string {
	rule := ""
	if w.limit != nil {
		rule = w.limit.Rule
	}
	return strings.Join([]string{"pool", w.pool, w.scope, rule, w.breaker}, "\x00")
}

// inTheWay returns the reason why a caller cannot acquire a member, and for how long; empty = it can.
func (c *call) inTheWay(m *member, w *wanted) (reason string, after time.Duration, err error) {
	s := c.s
	if state, left := s.stateOf(m, w.scope); state != "free" {
		if state == "leased" {
			state = "busy"
		}
		return state, left, nil
	}
	if w.limit == nil && w.breaker == "" {
		return "", 0, nil
	}
	if left := s.pace(paceName("", w.pool, m.id)).until.Sub(s.now()); left > 0 {
		return "pause", left, nil
	}
	if w.breaker != "" {
		if g := c.passes(m.id, w.pool, w.breaker, false); !g.Allowed {
			return "open", retry(g.RetryAfterMS), nil
		}
	}
	if w.limit != nil {
		l, err := s.limitOf(w.limitOf(m))
		if err != nil {
			return "", 0, err
		}
		if r := s.decide(l, w.limit.Cost); !r.Allowed {
			return r.DeniedBy, retry(r.RetryAfterMS), nil
		}
	}
	return "", 0, nil
}

func retry(n int64) time.Duration {
	if n < 0 {
		return never
	}
	return ms(n)
}

// limitOf returns the params of the limit of a member.
func (w *wanted) limitOf(m *member) *api.RatelimitParams {
	p := *w.limit
	p.Key, p.Pool = m.id, w.pool
	return &p
}

// choose returns the member that a caller gets; if none is available, the reason and the time of the
// member that becomes available first.
func (c *call) choose(w *wanted) (best *member, reason string, after time.Duration, err error) {
	pl := c.s.pool(w.pool)
	reason, after = "empty", never
	first := true
	for _, m := range pl.members {
		if slices.Contains(w.exclude, m.id) {
			continue
		}
		why, left, err := c.inTheWay(m, w)
		switch {
		case err != nil:
			return nil, "", 0, err
		case why != "" && (first || left < after):
			reason, after, first = why, left, false
		case why != "":
		case w.sticky != "" && pl.sticky[w.scope+"\x00"+w.sticky] == m.id:
			return m, "", 0, nil
		case best == nil || m.order[w.scope] < best.order[w.scope]:
			best = m
		}
	}
	return best, reason, after, nil
}

// memberGrant is an acquired member, or the reason why there is none.
type memberGrant struct {
	*member
	lease         *lease
	before        int64 // when it was last used before, in the wire form
	reason        string
	after, waited int64 // milliseconds
	at            int64 // when a member may become available, in the wire form
}

// acquireMember acquires a member, at once or after a wait in the waiting line.
func (c *call) acquireMember(noun string, w *wanted, bind string, leaseMS, waitMS int64) (memberGrant, error) {
	s := c.s
	var g memberGrant
	var failed error
	waited, err := c.stand(memberLine(w), waitMS, func(turn bool) (bool, time.Duration) {
		m, reason, after, err := c.choose(w)
		switch {
		case err != nil:
			failed = err
			return false, -1
		case m == nil:
			g = memberGrant{reason: reason, after: millis(after), at: nextAt(s.now(), after)}
			if after == never {
				g.after, g.at = -1, 0
			}
			return false, min(after, time.Hour)
		case !turn:
			g = memberGrant{reason: "busy", after: 1, at: s.now().Add(time.Millisecond).UnixMilli()}
			return false, time.Hour
		}
		g = memberGrant{member: m, lease: c.grant(noun, w.pool, "", bind, ms(leaseMS))}
		if at, ok := m.used[w.scope]; ok {
			g.before = at.UnixMilli()
		}
		m.held, m.used[w.scope], m.order[w.scope] = g.lease, s.now(), g.lease.fence
		g.lease.member, g.lease.scope = m, w.scope
		g.lease.freed = func() { m.held = nil }
		if w.sticky != "" {
			s.pool(w.pool).sticky[w.scope+"\x00"+w.sticky] = m.id
		}
		return true, 0
	})
	if failed != nil {
		err = failed
	}
	g.waited = waited
	return g, err
}

func poolAcquire(c *call, p *api.PoolAcquireParams) (api.PoolAcquireResult, error) {
	g, err := c.acquireMember("pool", &wanted{pool: p.Pool, scope: p.Scope, sticky: p.Sticky, exclude: p.Exclude}, p.Bind, p.LeaseMS, p.WaitMS)
	if err != nil || g.member == nil {
		return api.PoolAcquireResult{Reason: g.reason, RetryAfterMS: g.after, NextAtMS: g.at, WaitedMS: g.waited}, err
	}
	return api.PoolAcquireResult{
		Acquired: true, ID: g.id, Meta: g.meta, Lease: g.lease.token, Fence: g.lease.fenceText(), LastUsedAtMS: g.before, WaitedMS: g.waited,
	}, nil
}

func permitAcquire(c *call, p *api.PermitAcquireParams) (api.PermitAcquireResult, error) {
	w := &wanted{pool: p.Pool, scope: p.Scope, sticky: p.Sticky, exclude: p.Exclude, breaker: p.Breaker}
	if p.Rule != "" {
		w.limit = &api.RatelimitParams{Rule: p.Rule, Cost: p.Cost, Key: "any"}
		if _, err := c.s.limitOf(w.limit); err != nil {
			return api.PermitAcquireResult{}, err
		}
	}
	if err := c.s.checkPolicy(p.Breaker); err != nil {
		return api.PermitAcquireResult{}, err
	}
	g, err := c.acquireMember("permit", w, p.Bind, p.LeaseMS, p.WaitMS)
	if err != nil || g.member == nil {
		return api.PermitAcquireResult{DeniedBy: g.reason, RetryAfterMS: g.after, NextAtMS: g.at, WaitedMS: g.waited}, err
	}
	r := api.PermitAcquireResult{
		Acquired: true, ID: g.id, Meta: g.meta, Lease: g.lease.token, Fence: g.lease.fenceText(), LastUsedAtMS: g.before, WaitedMS: g.waited,
	}
	if w.limit != nil {
		l, err := c.s.limitOf(w.limitOf(g.member))
		if err != nil {
			return r, err
		}
		var charged api.RatelimitResult
		c.charge(l, p.Cost, &charged)
		r.Remaining = charged.Remaining
		g.lease.rule = p.Rule
	}
	if p.Breaker != "" {
		b := c.passes(g.id, p.Pool, p.Breaker, true)
		r.Generation, r.Probe = b.Generation, b.Probe != ""
		g.lease.breaker = &api.BreakerReportParams{Name: g.id, Pool: p.Pool, Policy: p.Breaker, Generation: b.Generation, Probe: b.Probe}
	}
	return r, nil
}

func (c *call) renewMember(noun, pool, token string, leaseMS int64) api.PoolRenewResult {
	l := c.s.leased(noun, pool, token)
	if l == nil {
		return api.PoolRenewResult{Reason: "expired"}
	}
	c.s.renew(l, ms(leaseMS))
	return api.PoolRenewResult{Renewed: true, LeaseMS: millis(c.s.left(l)), Reason: "renewed"}
}

// outcome is the outcome of the use of a member, as the caller reported it.
type outcome struct {
	kind                   string
	cooldownMS, unbanAfter int64
}

// cooldowns are the first and the longest cooldown of each outcome.
var cooldowns = map[string][2]time.Duration{
	api.OutcomeTransport: {time.Second, time.Minute},
	api.OutcomeFail:      {10 * time.Second, 30 * time.Minute},
	api.OutcomeSoftBlock: {30 * time.Second, time.Hour},
	api.OutcomeCaptcha:   {2 * time.Minute, 6 * time.Hour},
	api.OutcomeHardBlock: {5 * time.Minute, 24 * time.Hour},
}

// given is a member that was given back, with its scope and its lease.
type given struct {
	*member
	scope string
	lease *lease
}

// giveBack ends the lease of a member with an outcome. It returns the member, nil if there is no such
// lease, and the reason of the result.
func (c *call) giveBack(noun, pool, token string, o outcome) (*given, string) {
	s := c.s
	l := s.leased(noun, pool, token)
	if l == nil {
		if s.wasReleased(noun, token) {
			return nil, "released"
		}
		return nil, "expired"
	}
	m := l.member
	c.release(l)
	now := s.now()
	switch o.kind {
	case api.OutcomeOK:
		m.failures, m.breaks = 0, 0
	case api.OutcomeBan:
		m.banned, m.unban = true, time.Time{}
		if o.unbanAfter > 0 {
			m.unban = now.Add(ms(o.unbanAfter))
		}
	}
	rest := ms(o.cooldownMS)
	if of, cools := cooldowns[o.kind]; cools {
		row := &m.failures
		if o.kind == api.OutcomeTransport {
			row = &m.breaks
		}
		rest = max(rest, min(of[0]<<min(*row, 20), of[1]))
		*row++
	}
	if until := now.Add(rest); rest > 0 && until.After(m.cooling[l.scope]) {
		m.cooling[l.scope] = until
	}
	return &given{m, l.scope, l}, "released"
}

func permitReport(c *call, p *api.PermitReportParams) (api.PermitReportResult, error) {
	s := c.s
	m, reason := c.giveBack("permit", p.Pool, p.Lease, outcome{p.Outcome, p.CooldownMS, p.UnbanAfterMS})
	r := api.PermitReportResult{Released: reason == "released", Reason: reason}
	if m == nil {
		return r, nil
	}
	if b := m.lease.breaker; b != nil {
		switch p.Outcome {
		case api.OutcomeOK:
			b.Outcome = api.OutcomeSuccess
		case api.OutcomeCancelled:
			b.Outcome = api.OutcomeIgnored
		default:
			b.Outcome = api.OutcomeFailure
		}
		b.DurationMS = p.DurationMS
		r.Breaker = s.judge(b).State
	}
	if rule := s.rules[m.lease.rule]; rule != nil {
		s.penalize(s.pace(paceName("", p.Pool, m.id)), rule.Penalty, p.Status, p.RetryAfterMS)
	}
	var at time.Duration
	r.State, at = s.stateOf(m.member, m.scope)
	r.NextAtMS = nextAt(s.now(), max(at, s.pace(paceName("", p.Pool, m.id)).until.Sub(s.now()), 0))
	return r, nil
}
