package ratelimit_test

import (
	"errors"
	"fmt"
	"math/big"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	"pgregory.net/rapid"

	"github.com/coxswain-sidecar/coxswain/client/api"
	"github.com/coxswain-sidecar/coxswain/internal/coord"
	"github.com/coxswain-sidecar/coxswain/internal/coord/ratelimit"
)

const tokenBucket = "token_bucket"

func rule(name string, bands ...api.Band) api.Rule {
	return api.Rule{Name: name, Algorithm: tokenBucket, Limits: bands}
}

func band(limit int64, period time.Duration) api.Band {
	return api.Band{Limit: limit, PeriodMS: period.Milliseconds()}
}

func TestEachMistakeInARuleHasOneMessageWithItsRemedy(t *testing.T) {
	t.Parallel()
	ok := band(80, 10*time.Minute)
	for name, c := range map[string]struct {
		items []api.Rule
		want  string
	}{
		"a name that metrics have": {
			[]api.Rule{rule("inline", ok)},
			`items[0].name: "inline" is what metrics and ratelimit.stats call limits given in full; give the rule another name`,
		},
		"no name":   {[]api.Rule{rule("", ok)}, "items[0].name: missing; give the rule the name that calls will use"},
		"long name": {[]api.Rule{rule(strings.Repeat("n", 513), ok)}, "items[0].name: 513 bytes are too many; use at most 512"},
		"control byte": {
			[]api.Rule{rule("a\x00b", ok)},
			`items[0].name: "a\x00b" has bytes that cannot be shown; use UTF-8 without control characters`,
		},
		"not UTF-8": {
			[]api.Rule{rule("\xff", ok)},
			`items[0].name: "\xff" has bytes that cannot be shown; use UTF-8 without control characters`,
		},
		"duplicate": {
			[]api.Rule{rule("a", ok), rule("b", ok), rule("a", ok)},
			`items[2].name: "a" is also the name of items[0]; give each rule its own name`,
		},
		"no algorithm": {
			[]api.Rule{{Name: "a", Limits: []api.Band{ok}}},
			"items[0].algorithm: missing; use fixed_window, leaky_bucket, sliding_window_counter, sliding_window_log or token_bucket",
		},
		"misspelt algorithm": {
			[]api.Rule{{Name: "a", Algorithm: "token-bucket", Limits: []api.Band{ok}}},
			`items[0].algorithm: "token-bucket" is not an algorithm; did you mean "token_bucket"?`,
		},
		"unknown algorithm": {
			[]api.Rule{{Name: "a", Algorithm: "magic", Limits: []api.Band{ok}}},
			`items[0].algorithm: "magic" is not an algorithm; use fixed_window, leaky_bucket, sliding_window_counter, sliding_window_log or token_bucket`,
		},
		"no limits": {[]api.Rule{rule("a")}, "items[0].limits: missing; give 1 to 4 limits, each with limit and period_ms"},
		"five limits": {
			[]api.Rule{rule("a", band(1, 1*time.Second), band(2, 2*time.Second), band(3, 3*time.Second), band(4, 4*time.Second), band(5, 5*time.Second))},
			"items[0].limits: 5 limits are too many; give at most 4",
		},
		"negative limit": {[]api.Rule{rule("a", band(-1, time.Second))}, "items[0].limits[0].limit: -1 is out of range; use 0 to 1000000000"},
		"huge limit":     {[]api.Rule{rule("a", band(1e9+1, time.Second))}, "items[0].limits[0].limit: 1000000001 is out of range; use 0 to 1000000000"},
		"negative burst": {
			[]api.Rule{rule("a", api.Band{Limit: 1, PeriodMS: 1000, Burst: -2})},
			"items[0].limits[0].burst: -2 is out of range; use 0 to 1000000000",
		},
		"huge burst": {
			[]api.Rule{rule("a", api.Band{Limit: 1, PeriodMS: 1000, Burst: 1e9 + 1})},
			"items[0].limits[0].burst: 1000000001 is out of range; use 0 to 1000000000",
		},
		"no period":       {[]api.Rule{rule("a", band(1, 0))}, "items[0].limits[0].period_ms: missing; give the period in milliseconds, such as 60000 for a minute"},
		"negative period": {[]api.Rule{rule("a", band(1, -time.Second))}, "items[0].limits[0].period_ms: -1000 is out of range; use 1 to 31622400000 (366 days)"},
		"long period": {
			[]api.Rule{rule("a", band(1, 366*24*time.Hour+time.Millisecond))},
			"items[0].limits[0].period_ms: 31622400001 is out of range; use 1 to 31622400000 (366 days)",
		},
		"same period twice": {
			[]api.Rule{rule("a", band(1, time.Second), band(9, time.Minute), band(5, time.Second))},
			"items[0].limits[2].period_ms: 1000 is also the period of limits[0]; keep one limit per period, the lower one",
		},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			problems := ratelimit.CheckRules(c.items)
			require.Len(t, problems, 1, "%v", problems)
			require.Equal(t, c.want, problems.Error())
		})
	}
}

func TestAllMistakesAreReturnedAtOnceAndNothingChanges(t *testing.T) {
	t.Parallel()
	r := ratelimit.NewRules()
	require.NoError(t, r.Set([]api.Rule{rule("old", band(1, time.Second))}, 1))
	err := r.Set([]api.Rule{
		rule("good", band(1, time.Second)),
		{Algorithm: "x", Limits: []api.Band{band(-1, 0), band(1, time.Second)}},
	}, 2)
	var p coord.Problems
	require.True(t, errors.As(err, &p))
	var paths []string
	for _, x := range p {
		paths = append(paths, x.Path)
	}
	require.Equal(t, []string{"items[1].name", "items[1].algorithm", "items[1].limits[0].limit", "items[1].limits[0].period_ms"}, paths)
	require.Equal(t, []string{"old"}, r.Names())
}

func TestASetReplacesTheOneBefore(t *testing.T) {
	t.Parallel()
	r := ratelimit.NewRules()
	require.Empty(t, r.Names())
	require.NoError(t, r.Set([]api.Rule{rule("b", band(1, time.Second)), rule("a", band(0, time.Second))}, 1))
	require.Equal(t, []string{"a", "b"}, r.Names())
	require.NoError(t, r.Set(nil, 2))
	require.Empty(t, r.Names())
}

func TestTheBoundsOfARuleAreAllowed(t *testing.T) {
	t.Parallel()
	require.Empty(t, ratelimit.CheckRules([]api.Rule{
		rule(strings.Repeat("n", 512),
			api.Band{Limit: 0, PeriodMS: 1, Burst: 0},
			api.Band{Limit: 1e9, PeriodMS: 31_622_400_000, Burst: 1e9}),
		rule("grüße 世界", band(1, time.Second), band(2, 2*time.Second), band(3, 3*time.Second), band(4, 4*time.Second)),
	}))
}

func TestALimitIsReducedAndSortedByPeriod(t *testing.T) {
	t.Parallel()
	c := ratelimit.Compile(
		api.Band{Limit: 80, PeriodMS: 600_000},
		api.Band{Limit: 10, PeriodMS: 1000, Burst: 25},
		api.Band{Limit: 3, PeriodMS: 1500},
		api.Band{Limit: 0, PeriodMS: 86_400_000, Burst: 9},
	)
	require.Equal(t, "25/1/100000/1000;3/1/500000/1500;80/1/7500000/600000;0/0/1/86400000", c.Signature)
	require.Equal(t, []string{"10/1s", "3/1500ms", "80/10m", "0/1d"}, c.Names)
	require.Equal(t, int64(25), c.Bands[0].Capacity)
	require.Equal(t, int64(0), c.Bands[3].Capacity, "a limit of 0 admits nothing, whatever its burst")
}

func TestBandNamesUseTheLargestWholeUnit(t *testing.T) {
	t.Parallel()
	for want, b := range map[string]api.Band{
		"1/1ms":           band(1, time.Millisecond),
		"10/1s":           band(10, time.Second),
		"3/90s":           band(3, 90*time.Second),
		"100/1m":          band(100, time.Minute),
		"5/36h":           band(5, 36*time.Hour),
		"1000000000/366d": band(1e9, 366*24*time.Hour),
	} {
		require.Equal(t, []string{want}, ratelimit.Compile(b).Names)
	}
}

func TestReducingALimitChangesNoRate(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(t *rapid.T) {
		b := api.Band{
			Limit:    rapid.Int64Range(1, 1e9).Draw(t, "limit"),
			PeriodMS: rapid.Int64Range(1, 31_622_400_000).Draw(t, "period_ms"),
			Burst:    rapid.Int64Range(0, 1e9).Draw(t, "burst"),
		}
		c := ratelimit.Compile(b)
		got := c.Bands[0]
		require.Zero(t, big.NewRat(b.Limit, b.PeriodMS*1000).Cmp(big.NewRat(got.L, got.P)))
		require.Equal(t, int64(1), new(big.Int).GCD(nil, nil, big.NewInt(got.L), big.NewInt(got.P)).Int64())
		want := b.Burst
		if want == 0 {
			want = b.Limit
		}
		require.Equal(t, want, got.Capacity)
		// The signature is what the scripts read the parameters back from.
		var parts []string
		for _, n := range []int64{got.Capacity, got.L, got.P, b.PeriodMS} {
			parts = append(parts, strconv.FormatInt(n, 10))
		}
		require.Equal(t, strings.Join(parts, "/"), c.Signature)
	})
}

func TestLimitsGivenInFullAreRememberedWithinABound(t *testing.T) {
	t.Parallel()
	in := ratelimit.NewInline()
	for i := range 3 * ratelimit.MaxInline {
		require.NoError(t, in.Find(tokenBucket, []api.Band{band(int64(i), time.Second)}))
	}
	require.Equal(t, ratelimit.MaxInline, in.Known())
}

// Not parallel: it counts the allocations of the whole process.
func TestAKnownLimitIsFoundWithoutAllocating(t *testing.T) {
	in, bands := ratelimit.NewInline(), []api.Band{band(10, time.Second), band(100, time.Minute)}
	require.NoError(t, in.Find(tokenBucket, bands))
	require.Zero(t, testing.AllocsPerRun(100, func() {
		if in.Find(tokenBucket, bands) != nil {
			panic("it was found before")
		}
	}))
}

func TestWrongLimitsGivenInFullNameTheirFields(t *testing.T) {
	t.Parallel()
	in := ratelimit.NewInline()
	for want, bands := range map[string][]api.Band{
		"limits[0].period_ms: missing; give the period in milliseconds, such as 60000 for a minute":                                                                     {band(1, 0)},
		"limits: missing; give 1 to 4 limits, each with limit and period_ms":                                                                                            nil,
		"limits[0].limit: -1 is out of range; use 0 to 1000000000; limits[1].period_ms: 1000 is also the period of limits[0]; keep one limit per period, the lower one": {band(-1, time.Second), band(1, time.Second)},
		"limits: 5 limits are too many; give at most 4":                                                                                                                 {band(1, 1e9), band(1, 2e9), band(1, 3e9), band(1, 4e9), band(1, 5e9)},
	} {
		err := in.Find(tokenBucket, bands)
		var e *coord.Error
		require.ErrorAs(t, err, &e)
		require.Equal(t, api.InvalidArgument, e.Code)
		require.Equal(t, want, e.Err.Error())
	}
	require.Zero(t, in.Known(), "mistakes are not remembered")
}

func ExampleCheckRules() {
	problems := ratelimit.CheckRules([]api.Rule{{
		Name: "per-host", Algorithm: "token_buckt",
		Limits: []api.Band{{Limit: 80, PeriodMS: 600_000}, {Limit: -1, PeriodMS: 1000}},
	}})
	fmt.Println(problems)
	// Output:
	// items[0].algorithm: "token_buckt" is not an algorithm; did you mean "token_bucket"?
	// items[0].limits[1].limit: -1 is out of range; use 0 to 1000000000
}

func TestRulesAreShown(t *testing.T) {
	t.Parallel()
	r := ratelimit.NewRules()
	require.Empty(t, r.InForce())
	require.NoError(t, r.Set([]api.Rule{
		{Name: "ua", Algorithm: "token_bucket", Limits: []api.Band{
			{Limit: 80, PeriodMS: 600_000}, {Limit: 3, PeriodMS: 5000, Burst: 6},
		}},
		{Name: "crawl", Algorithm: "token_bucket", Limits: []api.Band{{Limit: 1, PeriodMS: 3_600_000}}},
	}, 17))
	require.Equal(t, []api.InspectRule{
		{Name: "crawl", Algorithm: "token_bucket", Limits: []string{"1/1h"}, Revision: 17},
		{Name: "ua", Algorithm: "token_bucket", Limits: []string{"3/5s burst 6", "80/10m"}, Revision: 17},
	}, r.InForce())
}
