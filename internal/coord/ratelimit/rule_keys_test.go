package ratelimit_test

import (
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/coxswain-sidecar/coxswain/client/api"
	"github.com/coxswain-sidecar/coxswain/internal/coord"
	"github.com/coxswain-sidecar/coxswain/internal/coord/ratelimit"
	"github.com/coxswain-sidecar/coxswain/internal/coordtest"
	"github.com/coxswain-sidecar/coxswain/internal/redis"
)

func TestEachMistakeAboutKeysHasOneMessageWithItsRemedy(t *testing.T) {
	t.Parallel()
	long := strings.Repeat("n", 513)
	for want, change := range map[string]func(*api.Rule){
		`items[0].limits[0].burst: a fixed_window has none; remove it, or use token_bucket or leaky_bucket`: func(r *api.Rule) {
			r.Algorithm, r.Limits = "fixed_window", []api.Band{{Limit: 1, PeriodMS: 1000, Burst: 2}}
		},
		`items[0].limits[0].limit: 10001 is more than a sliding_window_log keeps; use at most 10000, or sliding_window_counter`: func(r *api.Rule) {
			r.Algorithm, r.Limits = "sliding_window_log", []api.Band{band(10_001, time.Second)}
		},
		`items[0].max_concurrent: -1 is out of range; use 1 to 1000000, or leave it out for any number`: func(r *api.Rule) { r.MaxConcurrent = -1 },
		`items[0].max_concurrent: 1000001 is out of range; use 1 to 1000000, or leave it out for any number`: func(r *api.Rule) {
			r.MaxConcurrent = 1_000_001
		},
		`items[0].allow[0]: matches no key; give exact, glob or suffix`: func(r *api.Rule) { r.Allow = []api.Match{{}} },
		`items[0].deny[1]: has 2 of exact, glob and suffix; keep one, and write another entry for the other`: func(r *api.Rule) {
			r.Deny = []api.Match{coordtest.Exact("a"), {Exact: "a", Suffix: "b"}}
		},
		`items[0].deny[0].exact: 513 bytes are too many, since no key has more than 512; shorten it`: func(r *api.Rule) { r.Deny = []api.Match{coordtest.Exact(long)} },
		`items[0].allow[0].glob: the \ at byte 3 is not before a *, ? or \; write \*, \? or \\`: func(r *api.Rule) {
			r.Allow = []api.Match{coordtest.Glob(`\**\`)}
		},
		`items[0].allow[0].glob: the \ at byte 0 is not before a *, ? or \; write \*, \? or \\`: func(r *api.Rule) {
			r.Allow = []api.Match{coordtest.Glob(`\d`)}
		},
		`items[0].allow[0].suffix: ".example.com" begins or ends with a dot; write the domain alone, such as example.com`: func(r *api.Rule) {
			r.Allow = []api.Match{coordtest.Suffix(".example.com")}
		},
		`items[0].deny[0].suffix: "*.star.example" has a wildcard, which no host has; write the domain alone, since those under it match too, or use glob`: func(r *api.Rule) {
			r.Deny = []api.Match{coordtest.Suffix("*.star.example")}
		},
		`items[0].overrides[0].suffix: "http://url.example/" is more than a domain; write the host of it alone, such as example.com, or use glob for keys that are no hosts`: func(r *api.Rule) {
			r.Overrides = []api.Override{{Suffix: "http://url.example/", MaxConcurrent: 1}}
		},
		`items[0].groups[0].suffix: "two words.example" is more than a domain; write the host of it alone, such as example.com, or use glob for keys that are no hosts`: func(r *api.Rule) {
			r.Groups = []api.Group{{Suffix: "two words.example"}}
		},
		`items[0].allow[0].suffix: "a..example" has two dots side by side; write the domain alone, such as example.com`: func(r *api.Rule) {
			r.Allow = []api.Match{coordtest.Suffix("a..example")}
		},
		`items[0].groups[0].name: missing; give the name under which these keys count together, as only a suffix has one of its own`: func(r *api.Rule) {
			r.Groups = []api.Group{{Glob: "*"}}
		},
		`items[0].groups[0].name: 513 bytes are too many; use at most 512`: func(r *api.Rule) {
			r.Groups = []api.Group{{Glob: "*", Name: long}}
		},
		`items[0].overrides[0]: changes nothing; give limits or max_concurrent, or remove it`: func(r *api.Rule) {
			r.Overrides = []api.Override{{Exact: "a"}}
		},
		`items[0].overrides[0].limits[1].period_ms: 1000 is also the period of limits[0]; keep one limit per period, the lower one`: func(r *api.Rule) {
			r.Overrides = []api.Override{{Exact: "a", Limits: []api.Band{band(1, time.Second), band(2, time.Second)}}}
		},
		`items[0].overrides[0].max_concurrent: -1 is out of range; use 1 to 1000000, or leave it out for any number`: func(r *api.Rule) {
			r.Overrides = []api.Override{{Exact: "a", MaxConcurrent: -1}}
		},
		`items[0].headroom_percent: 100 is out of range; use 0 to 99`: func(r *api.Rule) { r.HeadroomPercent = 100 },
		`items[0].headroom_percent: -1 is out of range; use 0 to 99`:  func(r *api.Rule) { r.HeadroomPercent = -1 },
		`items[0].limits[0].limit: nothing of 80 is left without headroom_percent, 99; lower that, or write the same rate over a longer period`: func(r *api.Rule) {
			r.HeadroomPercent = 99
		},
		`items[0].overrides[0].limits[1].limit: nothing of 1 is left without headroom_percent, 1; lower that, or write the same rate over a longer period`: func(r *api.Rule) {
			r.HeadroomPercent = 1
			r.Overrides = []api.Override{{Exact: "a", Limits: []api.Band{band(0, time.Minute), band(1, time.Second)}}}
		},
		`items[0].max_delay_ms: 86400001 is out of range; use 1 to 86400000, or leave it out`: func(r *api.Rule) { r.MaxDelayMS = 86_400_001 },
		`items[0].penalty.codes[1]: 99 is no HTTP status; use 100 to 999`:                     func(r *api.Rule) { r.Penalty = &api.Penalty{Codes: []int64{429, 99}} },
		`items[0].penalty.base_ms: -1000 is out of range; use 1 to 31622400000, or leave it out`: func(r *api.Rule) {
			r.Penalty = &api.Penalty{BaseMS: -1000}
		},
		`items[0].penalty.max_ms: 30000 is less than base_ms, 60000; raise it, or lower base_ms (absent they are 86400000 and 60000)`: func(r *api.Rule) {
			r.Penalty = &api.Penalty{MaxMS: 30_000}
		},
		`items[0].penalty.forgive_ms: 31622400001 is out of range; use 1 to 31622400000, or leave it out`: func(r *api.Rule) {
			r.Penalty = &api.Penalty{ForgiveMS: 31_622_400_001}
		},
		`items[0].penalty.jitter_percent: 101 is out of range; use 0 to 100`: func(r *api.Rule) { percent := int64(101); r.Penalty = &api.Penalty{JitterPercent: &percent} },
	} {
		r := rule("a", band(80, 10*time.Minute))
		change(&r)
		problems := ratelimit.CheckRules([]api.Rule{r})
		require.Len(t, problems, 1, "%v", problems)
		require.Equal(t, want, problems.Error())
	}
}

func TestEachFieldOfARuleIsAccepted(t *testing.T) {
	t.Parallel()
	r := rule("all", band(80, 10*time.Minute))
	r.Overrides = []api.Override{
		{Exact: "a", Limits: []api.Band{band(0, time.Second)}}, {Glob: `a\*\?\\*?`, MaxConcurrent: 1_000_000},
	}
	r.Allow, r.Deny = []api.Match{coordtest.Suffix("example.com")}, []api.Match{coordtest.Glob("*")}
	r.Groups = []api.Group{{Suffix: "example.com"}, {Exact: "x", Name: "y"}}
	r.MaxDelayMS = 86_400_000
	r.Penalty = &api.Penalty{Codes: []int64{100, 999}, BaseMS: 3_600_000, MaxMS: 3_600_000, ForgiveMS: 1, JitterPercent: new(int64)}
	log := rule("log", band(10_000, time.Second))
	log.Algorithm = "sliding_window_log"
	leaky := rule("leaky", api.Band{Limit: 1, PeriodMS: 1000, Burst: 3})
	leaky.Algorithm = "leaky_bucket"
	require.Empty(t, ratelimit.CheckRules([]api.Rule{r, log, leaky}))
}

func TestTheCapacityIsTheAlgorithms(t *testing.T) {
	t.Parallel()
	b := band(3, 5*time.Second)
	for algorithm, want := range map[string]string{
		"token_bucket": "3/3/5000000/5000", "leaky_bucket": "1/3/5000000/5000", "fixed_window": "3/3/5000000/5000",
		"sliding_window_log": "3/3/5000000/5000", "sliding_window_counter": "3/3/5000000/5000",
	} {
		require.Equal(t, want, ratelimit.CompileBy(algorithm, b).Signature, algorithm)
	}
	require.Equal(t, "6/3/5000000/5000", ratelimit.CompileBy("leaky_bucket", api.Band{Limit: 3, PeriodMS: 5000, Burst: 6}).Signature)
	require.Equal(t, "0/0/1/5000", ratelimit.CompileBy("leaky_bucket", api.Band{Limit: 0, PeriodMS: 5000, Burst: 6}).Signature)
}

func TestHeadroomIsKeptBackFromEveryLimitAndBurst(t *testing.T) {
	t.Parallel()
	for _, algorithm := range []string{tokenBucket, "leaky_bucket", "fixed_window", "sliding_window_log", "sliding_window_counter"} {
		s := coordtest.NewSystem(t, redis.Embedded).Sidecars[0]
		r := rule("r", band(100, time.Hour), band(1000, 24*time.Hour))
		r.Algorithm, r.HeadroomPercent = algorithm, 34
		r.Overrides = []api.Override{{Exact: "o", Limits: []api.Band{band(50, time.Hour)}}}
		if algorithm == "leaky_bucket" {
			r.Limits[0].Burst, r.Limits[1].Burst, r.Overrides[0].Limits[0].Burst = 100, 1000, 50
		}
		require.NoError(t, s.Rules.Set([]api.Rule{r}, 1))
		for key, left := range map[string]int64{"k": 66, "o": 33} {
			d, err := s.Limiter.Acquire(t.Context(), coord.Caller{}, asks(byRule("r", key), left+1))
			require.NoError(t, err)
			require.Equal(t, []any{false, int64(-1)}, []any{d.Allowed, d.RetryAfterMS}, "%s %s", algorithm, key)
			d, err = s.Limiter.Acquire(t.Context(), coord.Caller{}, asks(byRule("r", key), left))
			require.NoError(t, err)
			require.Equal(t, []any{true, left, int64(0)}, []any{d.Allowed, d.Limit, d.Remaining}, "%s %s", algorithm, key)
		}
		e, err := s.Limiter.Explain(t.Context(), coord.Caller{}, explain(byRule("r", "k")))
		require.NoError(t, err)
		require.Equal(t, []string{"66/1h", "660/1d"}, []string{e.Bands[0].Band, e.Bands[1].Band})
	}
}

func TestCallsAreCountedByGroupOrKey(t *testing.T) {
	t.Parallel()
	r := rule("r", band(10, time.Second))
	r.Groups = []api.Group{{Suffix: "Example.com"}, {Glob: "api-*", Name: "apis"}, {Glob: "*.example.com", Name: "never"}}
	r.Overrides = []api.Override{
		{Exact: "apis", Limits: []api.Band{band(20, time.Second)}},
		{Exact: "api-1", Limits: []api.Band{band(30, time.Second)}},
		{Glob: "vip*", MaxConcurrent: 3},
		{Exact: "vip", Limits: []api.Band{band(40, time.Second)}},
	}
	r.Deny, r.Allow = []api.Match{coordtest.Exact("bad.example.com")}, []api.Match{coordtest.Suffix("example.com"), coordtest.Exact("apis")}
	r.MaxConcurrent = 7
	rules := ratelimit.NewRules()
	require.NoError(t, rules.Set([]api.Rule{r}, 1))
	ten, twenty := ratelimit.Compile(r.Limits...).Signature, ratelimit.Compile(r.Overrides[0].Limits...).Signature
	for _, c := range []struct {
		key, group string
		want       ratelimit.Matched
	}{
		{"other", "", ratelimit.Matched{Counted: "other", Signature: ten, MaxConcurrent: 7}},
		{"a.example.com", "", ratelimit.Matched{Counted: "example.com", List: "allow", Signature: ten, MaxConcurrent: 7}},
		{"bad.example.com", "", ratelimit.Matched{Counted: "example.com", List: "deny", Signature: ten, MaxConcurrent: 7}},
		{"api-1", "", ratelimit.Matched{Counted: "apis", Signature: twenty, MaxConcurrent: 7}},
		{"api-1", "mine", ratelimit.Matched{Counted: "mine", Signature: ten, MaxConcurrent: 7}},
		{"x", "vip", ratelimit.Matched{Counted: "vip", Signature: ten, MaxConcurrent: 3}},
		{"vip", "x", ratelimit.Matched{Counted: "x", Signature: ten, MaxConcurrent: 7}},
	} {
		require.Equal(t, c.want, rules.Match("r", c.key, c.group), "%s in %q", c.key, c.group)
	}
}

// Not parallel: it counts the allocations of the whole process.
func TestAKeyIsMatchedWithoutAllocating(t *testing.T) {
	r := rule("r", band(10, time.Second))
	r.Groups = []api.Group{{Suffix: "example.com"}}
	r.Overrides = []api.Override{{Glob: "*x*", MaxConcurrent: 3}}
	r.Deny = []api.Match{coordtest.Exact("bad.example.com")}
	rules := ratelimit.NewRules()
	require.NoError(t, rules.Set([]api.Rule{r, rule("plain", band(1, time.Second))}, 1))
	require.Zero(t, testing.AllocsPerRun(100, func() {
		rules.Match("r", "a.b.c.example.com", "")
		rules.Match("plain", "a.b.c.example.com", "")
	}))
}
