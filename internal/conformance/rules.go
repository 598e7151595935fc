package conformance

import (
	"context"
	"errors"
	"fmt"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/coxswain-sidecar/coxswain/client/api"
)

// RulesSystem is a System of its own for each test, since its rules are for all
// keys.
type RulesSystem interface {
	System
	// SetFile makes these the rules of the file of sidecar 0 or 1, as if changed now, under rules.precedence.
	SetFile(t testing.TB, sidecar int, precedence string, rules ...api.Rule)
}

// ruled is one test's view of two sidecars and their rules.
type ruled struct {
	t    *testing.T
	sys  RulesSystem
	at   [2]Client
	deaf bool
}

// deleteRule reports whether there was one.
func deleteRule(ctx context.Context, c Client, name string) (bool, error) {
	r, err := do(ctx, c, "", api.RatelimitDeleteRule, api.RatelimitDeleteRuleParams{Name: name})
	return r.Deleted, err
}

// Rules tests what ratelimit.rules, put_rule, delete_rule, explain and stats promise. The sidecars of a deaf system
// receive no broadcasts.
func Rules(t *testing.T, open func(t *testing.T, deaf bool) RulesSystem) {
	for name, test := range map[string]func(ruled){
		"a rule that was put is in force everywhere":       putIsInForceEverywhere,
		"what was used is kept when a rule is put again":   putKeepsWhatWasUsed,
		"every algorithm keeps it":                         putKeepsWhatWasUsedByEveryAlgorithm,
		"the same rule again changes nothing":              putAgain,
		"a deleted rule is gone everywhere":                deletedIsGone,
		"the file comes first":                             fileFirst,
		"redis comes first, until it has no such rule":     redisFirst,
		"a rule with mistakes is refused with all of them": mistakesOfARule,
		"every field of a rule is kept":                    everyFieldIsKept,
		"an explanation tells what a call would be told":   explanation,
		"decisions are counted by rule":                    statsByRule,
		"the longest grant is taken back":                  longestGrant,
		"a leased rule is served from memory":              leasedIsServed,
	} {
		for how, deaf := range map[string]bool{"": false, ", without broadcasts": true} {
			t.Run(name+how, func(t *testing.T) {
				t.Parallel()
				r := ruled{t: t, sys: open(t, deaf), deaf: deaf}
				for i := range r.at {
					r.at[i] = r.sys.Connect(t, i, "rules")
				}
				test(r)
			})
		}
	}
}

func bucket(name string, limit int64) api.Rule {
	return api.Rule{Name: name, Algorithm: api.AlgorithmTokenBucket, Limits: []api.Band{per(limit, time.Hour)}}
}

func (r ruled) put(sidecar int, rule api.Rule) api.RatelimitPutRuleResult {
	r.t.Helper()
	p, err := do(patient(r.t), r.at[sidecar], "", api.RatelimitPutRule, api.RatelimitPutRuleParams{Rule: &rule})
	require.NoError(r.t, err)
	return p
}

func (r ruled) take(sidecar int, rule string, cost int64) api.RatelimitResult {
	r.t.Helper()
	d, err := do(patient(r.t), r.at[sidecar], "", api.RatelimitAcquire, api.RatelimitParams{Rule: rule, Key: "k", Cost: cost})
	require.NoError(r.t, err)
	return d
}

// seen waits until a sidecar's list of rules is as wanted. A sidecar that receives no broadcasts reads the rules once a
// second.
func (r ruled) seen(sidecar int, what string, is func(api.RatelimitRulesResult) bool) {
	r.t.Helper()
	if r.deaf {
		r.sys.Advance(time.Second)
	}
	advanced := time.Now()
	for late := advanced.Add(patience); ; {
		// The clock stands still otherwise: a sidecar whose timer was not set yet when the second passed waits for the
		// next second.
		if r.deaf && time.Since(advanced) > 3*time.Second {
			advanced = time.Now()
			r.sys.Advance(time.Second)
		}
		l, err := do(patient(r.t), r.at[sidecar], "", api.RatelimitRules, api.Nothing{})
		require.NoError(r.t, err)
		if is(l) {
			return
		}
		require.True(r.t, time.Now().Before(late), "%s; it has %+v", what, l)
	}
}

// of returns the rule with this name and source in a list, or nil.
func of(l api.RatelimitRulesResult, name, source string) *api.RuleInForce {
	for _, x := range l.Rules {
		if x.Rule.Name == name && x.Source == source {
			return &x
		}
	}
	return nil
}

func has(name string, revision int64) func(api.RatelimitRulesResult) bool {
	return func(l api.RatelimitRulesResult) bool {
		x := of(l, name, "redis")
		return x != nil && x.Revision == revision
	}
}

func putIsInForceEverywhere(r ruled) {
	first := r.put(0, bucket("first", 5))
	require.Equal(r.t, int64(4), r.take(0, "first", 1).Remaining, "at once where it was put")
	r.seen(1, "the other sidecar gets it", has("first", first.Revision))
	require.Equal(r.t, int64(3), r.take(1, "first", 1).Remaining)
	require.False(r.t, first.Replaced)
	require.False(r.t, first.Hidden)
	name, second := "second", r.put(1, bucket("second", 7))
	if r.deaf {
		unknown := func() bool {
			_, err := do(patient(r.t), r.at[0], "", api.RatelimitAcquire, api.RatelimitParams{Rule: name, Key: "k"})
			return errors.Is(err, api.NotFound)
		}
		// A read of the rules that was due before the rule was put may have been carried out after it. There are only a
		// few of those.
		for i := 0; i < 10 && !unknown(); i++ {
			name = fmt.Sprint("second", i)
			second = r.put(1, bucket(name, 7))
		}
		require.True(r.t, unknown(), "nobody told it, and no time has passed")
	}
	r.seen(0, "it comes back", has(name, second.Revision))
	require.Equal(r.t, int64(6), r.take(0, name, 1).Remaining)
}

func putKeepsWhatWasUsed(r ruled) {
	one := r.put(0, bucket("b", 10))
	r.seen(1, "both have it", has("b", one.Revision))
	require.True(r.t, r.take(1, "b", 10).Allowed)
	require.False(r.t, r.take(1, "b", 1).Allowed)
	raised := r.put(0, bucket("b", 20))
	require.True(r.t, raised.Replaced)
	require.Greater(r.t, raised.Revision, one.Revision)
	r.seen(1, "both have the new one", has("b", raised.Revision))
	d := r.take(1, "b", 10)
	require.True(r.t, d.Allowed, "raised, it unblocks at once")
	require.Zero(r.t, d.Remaining, "and forgives nothing")
	lowered := r.put(1, bucket("b", 15))
	r.seen(0, "both have the last one", has("b", lowered.Revision))
	require.False(r.t, r.take(0, "b", 1).Allowed, "lowered, it forgives nothing")
}

func putKeepsWhatWasUsedByEveryAlgorithm(r ruled) {
	for _, algorithm := range everyAlgorithm {
		as := limiter{algorithm: algorithm}
		raised, lowered := algorithm+" raised", algorithm+" lowered"
		put := func(name string, band api.Band) {
			r.put(0, api.Rule{Name: name, Algorithm: algorithm, Limits: as.bands([]api.Band{band})})
		}
		put(raised, per(10, time.Hour))
		require.True(r.t, r.take(0, raised, 10).Allowed)
		require.False(r.t, r.take(0, raised, 1).Allowed)
		put(raised, per(1000, time.Second))
		require.True(r.t, r.take(0, raised, 1).Allowed, "%s: the next call is admitted", algorithm)

		put(lowered, per(100, time.Hour))
		require.True(r.t, r.take(0, lowered, 80).Allowed)
		put(lowered, per(10, time.Hour))
		d := r.take(0, lowered, 1)
		require.False(r.t, d.Allowed, algorithm)
		require.Zero(r.t, d.Remaining, "never negative")
		r.sys.Advance(time.Duration(d.RetryAfterMS) * time.Millisecond)
		require.True(r.t, r.take(0, lowered, 1).Allowed, algorithm)
	}
}

func putAgain(r ruled) {
	one := r.put(0, bucket("b", 10))
	r.seen(1, "both have it", has("b", one.Revision))
	r.sys.Advance(time.Minute)
	again := r.put(1, bucket("b", 10))
	require.Equal(r.t, one.Revision, again.Revision)
	require.False(r.t, again.Replaced)
}

func deletedIsGone(r ruled) {
	one := r.put(0, bucket("b", 10))
	r.seen(1, "both have it", has("b", one.Revision))
	was, err := deleteRule(patient(r.t), r.at[1], "b")
	require.NoError(r.t, err)
	require.True(r.t, was)
	_, err = do(patient(r.t), r.at[1], "", api.RatelimitAcquire, api.RatelimitParams{Rule: "b", Key: "k"})
	require.ErrorIs(r.t, err, api.NotFound, "at once where it was deleted")
	r.seen(0, "and in the other", func(l api.RatelimitRulesResult) bool { return len(l.Rules) == 0 })
	_, err = do(patient(r.t), r.at[0], "", api.RatelimitAcquire, api.RatelimitParams{Rule: "b", Key: "k"})
	require.ErrorIs(r.t, err, api.NotFound)
	was, err = deleteRule(patient(r.t), r.at[0], "b")
	require.NoError(r.t, err)
	require.False(r.t, was)
	require.Greater(r.t, r.put(0, bucket("b", 10)).Revision, one.Revision, "a new one comes after it")
}

func fileFirst(r ruled) {
	r.sys.SetFile(r.t, 0, "file", bucket("b", 3), bucket("only", 4))
	put := r.put(0, bucket("b", 100))
	require.True(r.t, put.Hidden)
	require.Equal(r.t, int64(3), r.take(0, "b", 1).Limit)
	l, err := do(patient(r.t), r.at[0], "", api.RatelimitRules, api.Nothing{})
	require.NoError(r.t, err)
	require.Equal(r.t, "file", l.Precedence)
	require.Len(r.t, l.Rules, 3)
	require.True(r.t, of(l, "b", "redis").Hidden)
	require.False(r.t, of(l, "b", "file").Hidden)
	require.False(r.t, of(l, "only", "file").Hidden)

	// The other sidecar has no such file, and uses the rule in Redis.
	r.seen(1, "the other has it", has("b", put.Revision))
	require.Equal(r.t, int64(100), r.take(1, "b", 1).Limit)

	// The file no longer has the rule: the rule in Redis takes over, and counts as the newer one.
	r.sys.Advance(time.Second)
	r.sys.SetFile(r.t, 0, "file", bucket("only", 4))
	d := r.take(0, "b", 10)
	require.True(r.t, d.Allowed)
	require.Equal(r.t, int64(100), d.Limit)
}

func redisFirst(r ruled) {
	r.sys.SetFile(r.t, 0, "redis", bucket("b", 3))
	require.Equal(r.t, int64(2), r.take(0, "b", 1).Remaining)
	r.sys.Advance(time.Second)
	put := r.put(0, bucket("b", 100))
	require.False(r.t, put.Hidden)
	d := r.take(0, "b", 50)
	require.True(r.t, d.Allowed)
	require.Equal(r.t, int64(49), d.Remaining, "what was used under the file's rule counts")
	l, err := do(patient(r.t), r.at[0], "", api.RatelimitRules, api.Nothing{})
	require.NoError(r.t, err)
	require.Equal(r.t, "redis", l.Precedence)
	require.True(r.t, of(l, "b", "file").Hidden)
	require.False(r.t, of(l, "b", "redis").Hidden)

	// Without it the file's is in force again, though its file is older.
	_, err = deleteRule(patient(r.t), r.at[0], "b")
	require.NoError(r.t, err)
	d = r.take(0, "b", 1)
	require.False(r.t, d.Allowed)
	require.Equal(r.t, int64(3), d.Limit)
}

func mistakesOfARule(r ruled) {
	bad := bucket("b", 1)
	bad.Algorithm = api.AlgorithmLeakyBucket
	bad.Limits = []api.Band{{Limit: 1, PeriodMS: 60_000}, {Limit: 2, PeriodMS: 60_000}}
	bad.Allow = []api.Match{{}}
	_, err := do(patient(r.t), r.at[0], "", api.RatelimitPutRule, api.RatelimitPutRuleParams{Rule: &bad})
	require.ErrorIs(r.t, err, api.InvalidArgument)
	require.ErrorContains(r.t, err, "rule.limits[1].period_ms: 60000 is also the period of limits[0]")
	require.ErrorContains(r.t, err, "rule.allow[0]: matches no key")
	l, err := do(patient(r.t), r.at[0], "", api.RatelimitRules, api.Nothing{})
	require.NoError(r.t, err)
	require.Empty(r.t, l.Rules)
}

func everyFieldIsKept(r ruled) {
	none := int64(0)
	full := api.Rule{
		Name: "full", Algorithm: api.AlgorithmTokenBucket, Limits: []api.Band{{Limit: 3, PeriodMS: 5000, Burst: 4}, {Limit: 80, PeriodMS: 600_000}},
		FailMode: "local", LocalShareOf: 7, DenyCache: "off",
		Overrides: []api.Override{
			{Exact: "a", Limits: []api.Band{{Limit: 10, PeriodMS: 1000}}}, {Glob: "b*", MaxConcurrent: 2}, {Suffix: "c.d", MaxConcurrent: 3},
		},
		Allow: []api.Match{{Exact: "e"}}, Deny: []api.Match{{Glob: "f?"}, {Suffix: "g.h"}},
		Groups: []api.Group{{Suffix: "i.j"}, {Exact: "k", Name: "l"}},
		Shadow: true, MaxConcurrent: 9, HeadroomPercent: 20, MaxDelayMS: 1000,
		Penalty: &api.Penalty{Codes: []int64{403}, BaseMS: 1, MaxMS: 2, ForgiveMS: 3, JitterPercent: &none},
	}
	leased := bucket("leased", 100) // which excludes max_concurrent
	leased.Mode, leased.Lease = "leased", &api.RuleLease{MaxSharePercent: 20, TTLMS: 500}
	for _, rule := range []api.Rule{full, leased} {
		put := r.put(0, rule)
		r.seen(1, "the other has it", has(rule.Name, put.Revision))
		for i := range r.at {
			l, err := do(patient(r.t), r.at[i], "", api.RatelimitRules, api.Nothing{})
			require.NoError(r.t, err)
			require.Equal(r.t, rule, of(l, rule.Name, "redis").Rule)
		}
	}
}

// leasedIsServed: calls for a busy key are served from the block that their sidecar charged ahead, which counts as used
// for all other sidecars, until the key is paused.
func leasedIsServed(r ruled) {
	rule := api.Rule{Name: "l", Algorithm: api.AlgorithmTokenBucket, Limits: []api.Band{per(1000, 24*time.Hour)}, Mode: "leased"}
	put := r.put(0, rule)
	r.seen(1, "both have it", has("l", put.Revision))
	let := int64(0)
	warm := func() (d api.RatelimitResult) {
		// A late broadcast may end a block that was already charged.
		for range 500 {
			r.sys.Advance(10 * time.Millisecond)
			d = r.take(0, "l", 1)
			require.True(r.t, d.Allowed)
			let++
			if d.Source == "lease" {
				break
			}
		}
		return d
	}
	d := warm()
	require.Equal(r.t, "lease", d.Source)
	require.Empty(r.t, d.Grant)
	require.LessOrEqual(r.t, d.Current, let)
	other := r.take(1, "l", 1)
	require.Equal(r.t, "redis", other.Source, "each sidecar holds blocks by its own demand")
	require.GreaterOrEqual(r.t, other.Current, let+1)
	e, err := do(patient(r.t), r.at[1], "", api.RatelimitExplain, api.RatelimitExplainParams{Rule: "l", Key: "k"})
	require.NoError(r.t, err)
	require.Nil(r.t, e.Block, "what a sidecar holds is told by itself")

	_, err = do(patient(r.t), r.at[0], "", api.RatelimitPause, api.RatelimitPauseParams{Rule: "l", Key: "k", ForMS: 60_000})
	require.NoError(r.t, err)
	for i := range r.at {
		require.Equal(r.t, "pause", r.take(i, "l", 1).DeniedBy)
	}
}

func explanation(r ruled) {
	rule := bucket("b", 10)
	rule.Limits = append(rule.Limits, api.Band{Limit: 100, PeriodMS: 86_400_000, Burst: 40})
	rule.Overrides = []api.Override{{Glob: "k*", Limits: []api.Band{per(2, time.Hour)}}}
	rule.Groups = []api.Group{{Exact: "x", Name: "key"}}
	rule.Deny = []api.Match{{Exact: "bad"}}
	put := r.put(0, rule)
	ask := func(key string) api.RatelimitExplainResult {
		e, err := do(patient(r.t), r.at[0], "", api.RatelimitExplain, api.RatelimitExplainParams{Rule: "b", Key: key})
		require.NoError(r.t, err)
		return e
	}
	e := ask("other")
	require.Equal(r.t, "allowed", e.Decision)
	require.Equal(r.t, put.Revision, e.Revision)
	require.Equal(r.t, []api.ExplainBand{
		{Band: "10/1h", Limit: 10, Burst: 10, Remaining: 10}, {Band: "100/1d", Limit: 100, Burst: 40, Remaining: 40},
	}, e.Bands)
	require.Equal(r.t, "other", e.Counted)

	require.True(r.t, r.take(0, "b", 2).Allowed)
	e = ask("k")
	require.Equal(r.t, "limit", e.Decision)
	require.Equal(r.t, int64(1_800_000), e.RetryMS)
	require.Equal(r.t, "glob:k*", e.Override)
	require.Equal(r.t, []api.ExplainBand{{Band: "2/1h", Limit: 2, Burst: 2, Current: 2, ResetAfterMS: 3_600_000}}, e.Bands)

	e = ask("x")
	require.Equal(r.t, "key", e.Counted)
	require.Equal(r.t, "glob:k*", e.Override, "of what is counted")
	e = ask("bad")
	require.Equal(r.t, "deny_list", e.Decision)
	require.Equal(r.t, "deny", e.List)
	require.Equal(r.t, int64(-1), e.RetryMS)
	inFull := api.RatelimitParams{Algorithm: api.AlgorithmTokenBucket, Limits: []api.Band{per(5, time.Hour)}, Key: "k", Cost: 3}
	_, err := do(patient(r.t), r.at[0], "", api.RatelimitAcquire, inFull)
	require.NoError(r.t, err)
	for limit, used := range map[int64]int64{5: 3, 6: 0} {
		e, err = do(patient(r.t), r.at[0], "", api.RatelimitExplain, api.RatelimitExplainParams{
			Algorithm: inFull.Algorithm, Limits: []api.Band{per(limit, time.Hour)}, Key: "k",
		})
		require.NoError(r.t, err)
		require.Equal(r.t, used, e.Bands[0].Current, "of the limit with these bands")
	}
	_, err = do(patient(r.t), r.at[0], "", api.RatelimitExplain, api.RatelimitExplainParams{Rule: "none", Key: "k"})
	require.ErrorIs(r.t, err, api.NotFound)
}

func statsByRule(r ruled) {
	shadow := bucket("shadow", 1)
	shadow.Shadow = true
	r.put(0, bucket("b", 2))
	r.put(0, shadow)
	for range 3 {
		r.take(0, "b", 1)
		r.take(0, "shadow", 1)
	}
	_, err := do(patient(r.t), r.at[0], "", api.RatelimitPeek, api.RatelimitParams{Rule: "b", Key: "k"})
	require.NoError(r.t, err)
	_, err = do(patient(r.t), r.at[0], "", api.RatelimitAcquire, api.RatelimitParams{
		Algorithm: api.AlgorithmTokenBucket, Limits: []api.Band{per(1, time.Hour)}, Key: "k",
	})
	require.NoError(r.t, err)
	s, err := do(patient(r.t), r.at[0], "", api.RatelimitStats, api.Nothing{})
	require.NoError(r.t, err)
	require.Positive(r.t, s.Since)
	require.Equal(r.t, []api.RuleStats{
		{Rule: "b", Allowed: 2, Refused: 1}, {Rule: "inline", Allowed: 1}, {Rule: "shadow", Allowed: 3, Shadowed: 2},
	}, s.Rules)
	s, err = do(patient(r.t), r.at[1], "", api.RatelimitStats, api.Nothing{})
	require.NoError(r.t, err)
	require.Empty(r.t, s.Rules, "each sidecar counts its own")
}
