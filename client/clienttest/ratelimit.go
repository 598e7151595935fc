package clienttest

import (
	"cmp"
	"errors"
	"fmt"
	"maps"
	"reflect"
	"slices"
	"strings"
	"time"

	"github.com/coxswain-sidecar/coxswain/client/api"
)

// pace has the pause, the penalty and the delays of a key.
type pace struct {
	until  time.Time // the end of the pause
	level  int64     // how often the penalty was doubled
	delays map[string]delay
	last   time.Time // the latest admission
}

type delay struct {
	least time.Duration
	until time.Time
}

// grant records what a call was charged, for a refund.
type grant struct {
	l        *limit
	cost     int64
	at       time.Time
	refunded bool
}

// limit is a limit for one key.
type limit struct {
	rule  api.Rule
	state string // the name of its state: the key, with the rule or the bands
	pace  string
	key   string
}

func ratelimitMethods(t map[string]method) {
	define(t, api.RatelimitAcquire, func(c *call, p *api.RatelimitParams) (api.RatelimitResult, error) {
		return c.limited(p, true)
	})
	define(t, api.RatelimitPeek, func(c *call, p *api.RatelimitParams) (api.RatelimitResult, error) {
		p.WaitMS = 0
		return c.limited(p, false)
	})
	define(t, api.RatelimitAcquireMany, acquireMany)
	define(t, api.RatelimitAcquireAny, acquireAny)
	define(t, api.RatelimitRefund, refund)
	define(t, api.RatelimitDone, func(c *call, p *api.RatelimitGrantParams) (api.RatelimitDoneResult, error) {
		return api.RatelimitDoneResult{Done: c.done(p.Grant)}, nil
	})
	define(t, api.RatelimitReset, func(c *call, p *api.RatelimitResetParams) (api.RatelimitResetResult, error) {
		l, err := c.s.limitOf(&api.RatelimitParams{Rule: p.Rule, Algorithm: p.Algorithm, Limits: p.Limits, Key: p.Key, Group: p.Group, Pool: p.Pool})
		if err != nil {
			return api.RatelimitResetResult{}, err
		}
		var r api.RatelimitResetResult
		for i := range l.rule.Limits {
			if _, ok := c.s.buckets[l.band(i)]; ok {
				delete(c.s.buckets, l.band(i))
				r.Reset = true
			}
		}
		return r, nil
	})
	define(t, api.RatelimitReport, report)
	define(t, api.RatelimitPause, pause)
	define(t, api.RatelimitResume, func(c *call, p *api.RatelimitResumeParams) (api.RatelimitResumeResult, error) {
		g, now := c.s.paceOf(p.Rule, p.Pool, p.Key, p.Group), c.s.now()
		r := api.RatelimitResumeResult{Resumed: now.Before(g.until)}
		g.until, g.level = time.Time{}, 0
		return r, nil
	})
	define(t, api.RatelimitSetDelay, setDelay)
	define(t, api.RatelimitRules, func(c *call, _ *api.Nothing) (api.RatelimitRulesResult, error) {
		r := api.RatelimitRulesResult{Rules: []api.RuleInForce{}, Precedence: "file"}
		for _, name := range slices.Sorted(maps.Keys(c.s.rules)) {
			r.Rules = append(r.Rules, api.RuleInForce{Rule: *c.s.rules[name], Source: "redis", Revision: c.s.now().UnixMilli()})
		}
		return r, nil
	})
	define(t, api.RatelimitPutRule, func(c *call, p *api.RatelimitPutRuleParams) (api.RatelimitPutRuleResult, error) {
		return c.s.putRule(*p.Rule)
	})
	define(t, api.RatelimitDeleteRule, func(c *call, p *api.RatelimitDeleteRuleParams) (api.RatelimitDeleteRuleResult, error) {
		_, had := c.s.rules[p.Name]
		delete(c.s.rules, p.Name)
		return api.RatelimitDeleteRuleResult{Deleted: had}, nil
	})
}

func (s *Sidecar) putRule(r api.Rule) (api.RatelimitPutRuleResult, error) {
	if r.Name == "" {
		return api.RatelimitPutRuleResult{}, invalid("rule: name: it is required")
	}
	if err := checkBands(r.Algorithm, r.Limits); err != nil {
		return api.RatelimitPutRuleResult{}, err
	}
	r.Limits = byPeriod(r.Limits)
	before := s.rules[r.Name]
	s.rules[r.Name] = &r
	return api.RatelimitPutRuleResult{Revision: s.now().UnixMilli(), Replaced: before != nil && !reflect.DeepEqual(*before, r)}, nil
}

func checkBands(algorithm string, bands []api.Band) error {
	if !slices.Contains(api.Algorithms, algorithm) {
		return invalid("algorithm: %q is unknown; use one of %s", algorithm, strings.Join(api.Algorithms, ", "))
	}
	if len(bands) == 0 || len(bands) > api.MaxBands {
		return invalid("limits: give 1 to %d bands", api.MaxBands)
	}
	for i, b := range bands {
		if b.PeriodMS < 1 {
			return invalid("limits[%d]: period_ms: it is required", i)
		}
	}
	return nil
}

// byPeriod returns bands sorted by period, the order in which they are checked.
func byPeriod(bands []api.Band) []api.Band {
	bands = slices.Clone(bands)
	slices.SortStableFunc(bands, func(a, b api.Band) int { return cmp.Compare(a.PeriodMS, b.PeriodMS) })
	return bands
}

// limitOf returns the limit that params name.
func (s *Sidecar) limitOf(p *api.RatelimitParams) (*limit, error) {
	key := cmp.Or(p.Group, p.Key)
	if p.Rule == "" {
		if err := checkBands(p.Algorithm, p.Limits); err != nil {
			return nil, err
		}
		return &limit{
			rule: api.Rule{Algorithm: p.Algorithm, Limits: byPeriod(p.Limits)}, state: fmt.Sprintf("%s %v\x00%s", p.Algorithm, p.Limits, key),
			pace: paceName("", p.Pool, key), key: p.Key,
		}, nil
	}
	r, ok := s.rules[p.Rule]
	switch {
	case p.Algorithm != "" || len(p.Limits) > 0:
		return nil, invalid("rule: give a rule, or algorithm and limits")
	case !ok:
		return nil, &api.Error{Code: api.NotFound, Message: fmt.Sprintf("rule %q: there is no such rule; put it by clienttest's PutRule", p.Rule)}
	}
	rule := *r
	for _, o := range r.Overrides {
		if matched(api.Match{Exact: o.Exact, Glob: o.Glob, Suffix: o.Suffix}, p.Key) {
			if len(o.Limits) > 0 {
				rule.Limits = byPeriod(o.Limits)
			}
			rule.MaxConcurrent = cmp.Or(o.MaxConcurrent, rule.MaxConcurrent)
			break
		}
	}
	rule.Limits = lessHeadroom(rule)
	if p.Group == "" {
		key = s.counted(r, p.Key)
	}
	return &limit{rule: rule, state: p.Rule + "\x00" + p.Pool + "\x00" + key, pace: paceName(p.Rule, p.Pool, key), key: p.Key}, nil
}

// lessHeadroom returns the bands of a rule, reduced by its headroom.
func lessHeadroom(r api.Rule) []api.Band {
	bands := slices.Clone(r.Limits)
	for i := range bands {
		bands[i].Limit = bands[i].Limit * (100 - r.HeadroomPercent) / 100
		if b := bands[i].Burst; b > 0 {
			bands[i].Burst = max(b*(100-r.HeadroomPercent)/100, 1)
		}
	}
	return bands
}

// counted returns the group of a key in a rule; the key if it has none.
func (s *Sidecar) counted(r *api.Rule, key string) string {
	for _, g := range r.Groups {
		if matched(api.Match{Exact: g.Exact, Glob: g.Glob, Suffix: g.Suffix}, key) {
			return cmp.Or(g.Name, g.Suffix)
		}
	}
	return key
}

func paceName(rule, pool, key string) string {
	if pool != "" {
		rule = "" // a pause of a pool's member applies to all rules
	}
	return rule + "\x00" + pool + "\x00" + key
}

func (l *limit) band(i int) string { return fmt.Sprintf("%s\x00%d", l.state, i) }

func (s *Sidecar) bucket(name string) *bucket {
	if s.buckets[name] == nil {
		s.buckets[name] = new(bucket)
	}
	return s.buckets[name]
}

func (s *Sidecar) pace(name string) *pace {
	if s.paces[name] == nil {
		s.paces[name] = &pace{delays: make(map[string]delay)}
	}
	return s.paces[name]
}

// paceOf returns the pace of the key, or the group, that a call names.
func (s *Sidecar) paceOf(rule, pool, key, group string) *pace {
	counted := cmp.Or(group, key)
	if r := s.rules[rule]; r != nil && group == "" {
		counted = s.counted(r, key)
	}
	return s.pace(paceName(rule, pool, counted))
}

// limited carries out an acquisition or a peek.
func (c *call) limited(p *api.RatelimitParams, take bool) (api.RatelimitResult, error) {
	l, err := c.s.limitOf(p)
	if err != nil {
		return api.RatelimitResult{}, err
	}
	if p.WaitMS > 0 && !slices.Contains(api.WaitingAlgorithms, l.rule.Algorithm) {
		return api.RatelimitResult{}, invalid("wait_ms: a %s cannot promise a slot; leave it out, or use %s", l.rule.Algorithm, api.AlgorithmSlidingWindowLog)
	}
	take = take && p.Cost > 0
	var r api.RatelimitResult
	end := c.s.now().Add(ms(p.WaitMS))
	waited, err := c.stand("ratelimit:"+l.state, p.WaitMS, func(turn bool) (bool, time.Duration) {
		r = c.s.decide(l, p.Cost)
		retry := ms(r.RetryAfterMS)
		switch {
		case r.Allowed && turn:
			if take {
				c.charge(l, p.Cost, &r)
			}
			return true, 0
		case r.Allowed: // but other calls are before it in the waiting line
			r.Allowed, r.DeniedBy, r.RetryAfterMS = false, "limit", 1
			return false, time.Hour
		case r.RetryAfterMS < 0, c.s.now().Add(retry).After(end):
			return false, -1
		}
		return false, retry
	})
	r.WaitedMS = waited
	return r, err
}

// decide returns the decision about a cost, without charging it.
func (s *Sidecar) decide(l *limit, cost int64) api.RatelimitResult {
	now := s.now()
	first := l.rule.Limits[0]
	r := api.RatelimitResult{
		Allowed: true, Rule: l.rule.Name, Algorithm: l.rule.Algorithm, Band: bandName(first), Limit: first.Limit, Source: "redis",
	}
	listed := func(matches []api.Match) bool {
		return slices.ContainsFunc(matches, func(m api.Match) bool { return matched(m, l.key) })
	}
	switch {
	case listed(l.rule.Deny):
		r.Allowed, r.DeniedBy, r.RetryAfterMS, r.Source = false, "deny_list", -1, "list"
		return r
	case listed(l.rule.Allow):
		r.Source = "list"
		return r
	}
	least := int64(-1)
	for i, b := range l.rule.Limits {
		st := s.bucket(l.band(i)).look(l.rule.Algorithm, b, cost, now)
		refuses := !st.allowed && (r.Allowed || st.retry < 0 || millis(st.retry) > r.RetryAfterMS && r.RetryAfterMS >= 0)
		if refuses || r.Allowed && (least < 0 || st.remaining() < least) {
			least = st.remaining()
			r.Band, r.Limit, r.Remaining, r.Current, r.ResetAfterMS = bandName(b), b.Limit, least, st.current(), millis(st.reset)
			r.ResetAtMS = now.Add(st.reset).UnixMilli()
		}
		if refuses {
			r.Allowed, r.DeniedBy, r.RetryAfterMS = false, "limit", max(api.Millis(st.retry), 1)
			if st.retry < 0 {
				r.RetryAfterMS = -1
			}
		}
	}
	s.heldUp(l, &r, now)
	if l.rule.Shadow && !r.Allowed {
		r.Allowed, r.Shadow, r.RetryAfterMS = true, true, 0
	}
	return r
}

// heldUp refuses a call that a pause, a delay or max_concurrent does not admit.
func (s *Sidecar) heldUp(l *limit, r *api.RatelimitResult, now time.Time) {
	refuse := func(by string, after time.Duration) {
		if after > 0 && (r.Allowed || millis(after) > r.RetryAfterMS && r.RetryAfterMS >= 0) {
			r.Allowed, r.DeniedBy, r.RetryAfterMS = false, by, millis(after)
		}
	}
	g := s.pace(l.pace)
	refuse("pause", g.until.Sub(now))
	if least, _ := g.delay(now); least > 0 && !g.last.IsZero() {
		refuse("delay", g.last.Add(least).Sub(now))
	}
	if most := l.rule.MaxConcurrent; most > 0 && r.Allowed {
		if held := s.of("ratelimit", l.state); int64(len(held)) >= most {
			refuse("concurrency", max(s.left(held[0]), time.Millisecond))
		}
	}
}

// charge charges a cost that was allowed.
func (c *call) charge(l *limit, cost int64, r *api.RatelimitResult) {
	s := c.s
	now := s.now()
	if r.Source == "list" || r.Shadow {
		return
	}
	for i, b := range l.rule.Limits {
		s.bucket(l.band(i)).take(l.rule.Algorithm, b, cost, now)
	}
	s.pace(l.pace).last = now
	after := s.standing(l, now)
	r.Band, r.Limit, r.Remaining, r.Current, r.ResetAfterMS = after.Band, after.Limit, after.Remaining, after.Current, after.ResetAfterMS
	r.ResetAtMS = after.ResetAtMS
	s.fences++
	r.Grant = fmt.Sprintf("grant-%d", s.fences)
	s.grants[r.Grant] = &grant{l: l, cost: cost, at: now}
	if l.rule.MaxConcurrent > 0 {
		c.grant("ratelimit", l.state, r.Grant, api.BindSession, 30*time.Second)
		r.Held = true
	}
}

// standing returns the figures of the band with the least remaining.
func (s *Sidecar) standing(l *limit, now time.Time) api.RatelimitResult {
	var r api.RatelimitResult
	for i, b := range l.rule.Limits {
		st := s.bucket(l.band(i)).look(l.rule.Algorithm, b, 0, now)
		if i == 0 || st.remaining() < r.Remaining {
			r = api.RatelimitResult{
				Band: bandName(b), Limit: b.Limit, Remaining: st.remaining(), Current: st.current(), ResetAfterMS: millis(st.reset),
				ResetAtMS: now.Add(st.reset).UnixMilli(),
			}
		}
	}
	return r
}

func acquireMany(c *call, p *api.RatelimitManyParams) (api.RatelimitManyResult, error) {
	if len(p.Items) > api.MaxItems {
		return api.RatelimitManyResult{}, invalid("items: give 1 to %d", api.MaxItems)
	}
	one := func(i api.RatelimitItem, cost int64) api.RatelimitItemResult {
		r, err := c.limited(&api.RatelimitParams{
			Rule: i.Rule, Algorithm: i.Algorithm, Limits: i.Limits, Key: i.Key, Group: i.Group, Cost: cost,
		}, true)
		if e := (*api.Error)(nil); errors.As(err, &e) {
			return api.RatelimitItemResult{Error: &api.ItemError{Code: string(e.Code), Message: e.Message}}
		}
		return api.RatelimitItemResult{Result: &r}
	}
	var r api.RatelimitManyResult
	if p.Atomic {
		var cost int64
		for _, i := range p.Items {
			cost += cmp.Or(i.Cost, 1)
			if i.Rule != p.Items[0].Rule || cmp.Or(i.Group, i.Key) != cmp.Or(p.Items[0].Group, p.Items[0].Key) {
				return r, invalid("items: with atomic they share one rule and one group")
			}
		}
		same := one(p.Items[0], cost)
		for range p.Items {
			r.Results = append(r.Results, same)
		}
		return r, nil
	}
	for _, i := range p.Items {
		r.Results = append(r.Results, one(i, cmp.Or(i.Cost, 1)))
	}
	return r, nil
}

func acquireAny(c *call, p *api.RatelimitAnyParams) (api.RatelimitAnyResult, error) {
	if len(p.Keys) > api.MaxItems {
		return api.RatelimitAnyResult{}, invalid("keys: give 1 to %d", api.MaxItems)
	}
	var soonest api.RatelimitAnyResult
	for i, key := range p.Keys {
		r, err := c.limited(&api.RatelimitParams{Rule: p.Rule, Algorithm: p.Algorithm, Limits: p.Limits, Key: key, Cost: p.Cost}, true)
		if err != nil {
			return soonest, err
		}
		if r.Allowed {
			return api.RatelimitAnyResult{Key: key, Result: r}, nil
		}
		before := soonest.Result.RetryAfterMS
		if i == 0 || r.RetryAfterMS >= 0 && (before < 0 || r.RetryAfterMS < before) {
			soonest = api.RatelimitAnyResult{Key: key, Result: r}
		}
	}
	return soonest, nil
}

func refund(c *call, p *api.RatelimitGrantParams) (api.RatelimitRefundResult, error) {
	g := c.s.grants[p.Grant]
	switch {
	case g == nil:
		return api.RatelimitRefundResult{Reason: "expired"}, nil
	case g.refunded:
		return api.RatelimitRefundResult{Reason: "repeated"}, nil
	}
	g.refunded = true
	now, counts := c.s.now(), false
	for i, b := range g.l.rule.Limits {
		counts = c.s.bucket(g.l.band(i)).giveBack(g.l.rule.Algorithm, b, g.cost, g.at, now) || counts
	}
	if !counts {
		return api.RatelimitRefundResult{Reason: "expired"}, nil
	}
	return api.RatelimitRefundResult{Refunded: true, Reason: "refunded"}, nil
}

// done gives back the permit of a grant under max_concurrent.
func (c *call) done(grant string) bool {
	for _, l := range c.s.leases {
		if l.noun == "ratelimit" && l.token == grant {
			c.s.drop(l, "released")
			return true
		}
	}
	return false
}

func report(c *call, p *api.RatelimitReportParams) (api.RatelimitReportResult, error) {
	s := c.s
	if p.Grant != "" {
		c.done(p.Grant)
	}
	var penalty *api.Penalty
	if p.Rule != "" {
		r, ok := s.rules[p.Rule]
		if !ok {
			return api.RatelimitReportResult{}, &api.Error{Code: api.NotFound, Message: fmt.Sprintf("rule %q: there is no such rule", p.Rule)}
		}
		penalty = r.Penalty
	}
	g := s.paceOf(p.Rule, p.Pool, p.Key, p.Group)
	s.penalize(g, penalty, p.Status, p.RetryAfterMS)
	var r api.RatelimitReportResult
	if left := g.until.Sub(s.now()); left > 0 {
		r.WaitMS, r.PausedUntilAtMS = millis(left), g.until.UnixMilli()
	}
	return r, nil
}

// penalize pauses a key after a response whose status has a penalty.
func (s *Sidecar) penalize(g *pace, p *api.Penalty, status, retryAfterMS int64) {
	codes, base, most := []int64{429, 503}, int64(60_000), int64(86_400_000)
	if p != nil {
		if len(p.Codes) > 0 {
			codes = p.Codes
		}
		base, most = cmp.Or(p.BaseMS, base), cmp.Or(p.MaxMS, most)
	}
	if !slices.Contains(codes, status) || retryAfterMS < 0 {
		return
	}
	d := min(base<<min(g.level, 20), most)
	if retryAfterMS > 0 {
		d = retryAfterMS
	} else {
		g.level++
	}
	if until := s.now().Add(ms(d)); until.After(g.until) {
		g.until = until
	}
}

func pause(c *call, p *api.RatelimitPauseParams) (api.RatelimitPauseResult, error) {
	if (p.ForMS > 0) == (p.UntilAtMS > 0) {
		return api.RatelimitPauseResult{}, invalid("for_ms: give for_ms or until_at_ms")
	}
	g := c.s.paceOf(p.Rule, p.Pool, p.Key, p.Group)
	until := c.s.now().Add(ms(p.ForMS))
	if p.UntilAtMS > 0 {
		until = time.UnixMilli(p.UntilAtMS)
	}
	if until.After(g.until) {
		g.until = until
	}
	return api.RatelimitPauseResult{PausedUntilAtMS: g.until.UnixMilli()}, nil
}

func setDelay(c *call, p *api.RatelimitSetDelayParams) (api.RatelimitSetDelayResult, error) {
	g, now := c.s.paceOf(p.Rule, "", p.Key, p.Group), c.s.now()
	g.delays[p.Source] = delay{ms(p.DelayMS), now.Add(ms(p.TTLMS))}
	if p.DelayMS == 0 {
		delete(g.delays, p.Source)
	}
	least, until := g.delay(now)
	r := api.RatelimitSetDelayResult{DelayMS: least.Milliseconds()}
	if least > 0 {
		r.UntilAtMS = until.UnixMilli()
	}
	return r, nil
}

// delay returns the longest delay in force.
func (g *pace) delay(now time.Time) (least time.Duration, until time.Time) {
	for _, d := range g.delays {
		if now.Before(d.until) && d.least > least {
			least, until = d.least, d.until
		}
	}
	return least, until
}

// bandName returns a band as limit/period, such as 80/10m.
func bandName(b api.Band) string {
	for _, u := range []struct {
		ms   int64
		name string
	}{{86_400_000, "d"}, {3_600_000, "h"}, {60_000, "m"}, {1000, "s"}} {
		if b.PeriodMS%u.ms == 0 {
			return fmt.Sprintf("%d/%d%s", b.Limit, b.PeriodMS/u.ms, u.name)
		}
	}
	return fmt.Sprintf("%d/%dms", b.Limit, b.PeriodMS)
}

func matched(m api.Match, key string) bool {
	switch {
	case m.Exact != "":
		return m.Exact == key
	case m.Glob != "":
		return glob(m.Glob, key)
	default:
		domain, key := strings.ToLower(m.Suffix), strings.ToLower(key)
		return key == domain || strings.HasSuffix(key, "."+domain)
	}
}

// glob reports whether a text matches a pattern: * matches any text, ? one byte, [ab] one byte of the
// set, and a backslash escapes the next byte.
func glob(pattern, text string) bool {
	if pattern == "" {
		return text == ""
	}
	switch pattern[0] {
	case '*':
		for i := range len(text) + 1 {
			if glob(pattern[1:], text[i:]) {
				return true
			}
		}
		return false
	case '?':
		return text != "" && glob(pattern[1:], text[1:])
	case '[':
		end := strings.IndexByte(pattern, ']')
		if end < 0 || text == "" {
			return false
		}
		set, not := strings.CutPrefix(pattern[1:end], "^")
		return strings.ContainsRune(set, rune(text[0])) != not && glob(pattern[end+1:], text[1:])
	case '\\':
		if len(pattern) > 1 {
			pattern = pattern[1:]
		}
	}
	return text != "" && pattern[0] == text[0] && glob(pattern[1:], text[1:])
}
