package ratelimit_test

import (
	"bytes"
	"log/slog"
	"reflect"
	"strconv"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/coxswain-sidecar/coxswain/client/api"
	"github.com/coxswain-sidecar/coxswain/internal/conformance"
	"github.com/coxswain-sidecar/coxswain/internal/coord"
	"github.com/coxswain-sidecar/coxswain/internal/coord/ratelimit"
	"github.com/coxswain-sidecar/coxswain/internal/coordtest"
	"github.com/coxswain-sidecar/coxswain/internal/lua"
	"github.com/coxswain-sidecar/coxswain/internal/luatest"
	"github.com/coxswain-sidecar/coxswain/internal/redis"
	"github.com/coxswain-sidecar/coxswain/internal/redistest"
)

// What a rule says gets through Redis whole, and in the form that sidecars of other
// versions read.
func TestEveryFieldOfARuleIsInItsText(t *testing.T) {
	t.Parallel()
	o := api.Rule{
		Name: "full", Algorithm: "token_bucket", Limits: []api.Band{{Limit: 3, PeriodMS: 1000, Burst: 4}},
		FailMode: "local", LocalShareOf: 7, DenyCache: "off",
		Overrides: []api.Override{{Glob: "b*", Limits: []api.Band{{Limit: 10, PeriodMS: 60_000}}, MaxConcurrent: 2}},
		Allow:     []api.Match{{Exact: "e"}}, Deny: []api.Match{{Suffix: "g.h"}},
		Groups: []api.Group{{Exact: "k", Name: "l"}},
		Shadow: true, MaxConcurrent: 9, HeadroomPercent: 10, MaxDelayMS: 1000,
		Mode: "exact", Lease: &api.RuleLease{MaxSharePercent: 20, TTLMS: 500},
		Penalty: &api.Penalty{Codes: []int64{403}, BaseMS: 1, MaxMS: 1000, ForgiveMS: 3_600_000, JitterPercent: new(int64)},
	}
	for i := range reflect.TypeOf(o).NumField() {
		require.False(t, reflect.ValueOf(o).Field(i).IsZero(), "%s is not in this test", reflect.TypeOf(o).Field(i).Name)
	}
	text, err := ratelimit.TextOf(o)
	require.NoError(t, err)
	got, err := ratelimit.ReadRule("full", text)
	require.NoError(t, err)
	require.Equal(t, o, got)

	require.Equal(t, `{"name":"full","algorithm":"token_bucket","limits":[{"limit":3,"period_ms":1000,"burst":4}],`+
		`"fail_mode":"local","local_share_of":7,"deny_cache":"off",`+
		`"overrides":[{"glob":"b*","limits":[{"limit":10,"period_ms":60000}],"max_concurrent":2}],`+
		`"allow":[{"exact":"e"}],"deny":[{"suffix":"g.h"}],"groups":[{"exact":"k","name":"l"}],`+
		`"shadow":true,"max_concurrent":9,"headroom_percent":10,"max_delay_ms":1000,`+
		`"mode":"exact","lease":{"max_share_percent":20,"ttl_ms":500},`+
		`"penalty":{"codes":[403],"base_ms":1,"max_ms":1000,"forgive_ms":3600000,"jitter_percent":0}}`, text)

	o.Penalty = &api.Penalty{}
	text, err = ratelimit.TextOf(o)
	require.NoError(t, err)
	require.NotContains(t, text, "penalty", "one that says nothing is none")
}

func TestATextThatIsNoRuleIsRefused(t *testing.T) {
	t.Parallel()
	good, err := ratelimit.TextOf(rule("a", band(1, time.Second)))
	require.NoError(t, err)
	for text, want := range map[string]string{
		"":         "EOF",
		"nonsense": "invalid character",
		strings.Replace(good, "{", `{"weight":1,`, 1):               `unknown field "weight"`,
		strings.Replace(good, `"a"`, `"b"`, 1):                      "not the text of one rule of that name",
		good + good:                                                 "not the text of one rule of that name",
		strings.Replace(good, "token_bucket", "token_bin", 1):       "items[0].algorithm",
		strings.Replace(good, ":1000}", ":9223372036854775807}", 1): "items[0].limits[0].period_ms",
	} {
		_, err := ratelimit.ReadRule("a", text)
		require.ErrorContains(t, err, want, text)
	}
	o := rule("a", band(1, time.Second))
	o.Allow = []api.Match{{Exact: "\xff"}}
	_, err = ratelimit.TextOf(o)
	coordtest.RequireCode(t, err, api.InvalidArgument, `rule: "\xff" is not UTF-8, which is all that can be kept in redis; match such keys by a glob with ?`)
	for i := range 2000 {
		o.Allow = append(o.Allow[1:], api.Match{Exact: strconv.Itoa(i)}, api.Match{Exact: strings.Repeat("x", 100)})
	}
	_, err = ratelimit.TextOf(o)
	require.ErrorContains(t, err, "more than 65536; keep a rule with so long lists in a file")
}

func TestTwoWaysToWriteARuleAreOne(t *testing.T) {
	t.Parallel()
	short := rule("a", band(1, time.Second), band(80, time.Minute))
	ten := int64(10)
	long := ratelimit.PlainRule(api.Rule{
		Name: "a", Algorithm: "token_bucket", FailMode: "open", LocalShareOf: 1, DenyCache: "on", MaxDelayMS: 60_000,
		Limits:  []api.Band{{Limit: 80, PeriodMS: 60_000, Burst: 80}, {Limit: 1, PeriodMS: 1000, Burst: 1}},
		Penalty: &api.Penalty{Codes: []int64{429, 503}, BaseMS: 60_000, MaxMS: 86_400_000, ForgiveMS: 1_800_000, JitterPercent: &ten},
	})
	require.Empty(t, long.Overrides)
	long.Overrides = nil
	require.Equal(t, ratelimit.PlainRule(short).Limits, long.Limits)
	require.Nil(t, long.Penalty)
	require.Equal(t, short.FailMode, long.FailMode)
	require.Zero(t, long.LocalShareOf)
	require.Zero(t, long.MaxDelayMS)
	other := long
	other.Limits = []api.Band{{Limit: 1, PeriodMS: 1000, Burst: 2}}
	require.NotEqual(t, short.Limits, ratelimit.PlainRule(other).Limits, "what says something stays")
}

// log is a handler's output that several goroutines may write.
type syncLog struct {
	mu sync.Mutex
	b  bytes.Buffer
}

func (l *syncLog) Write(p []byte) (int, error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.b.Write(p)
}

func (l *syncLog) count(text string) int {
	l.mu.Lock()
	defer l.mu.Unlock()
	return strings.Count(l.b.String(), text)
}

func put(t *testing.T, r *ratelimit.RuntimeRules, rule api.Rule) (api.RatelimitPutRuleResult, error) {
	return r.Put(t.Context(), coord.Caller{}, &api.RatelimitPutRuleParams{Rule: &rule})
}

func deleted(t *testing.T, r *ratelimit.RuntimeRules, name string) (bool, error) {
	d, err := r.Delete(t.Context(), coord.Caller{}, &api.RatelimitDeleteRuleParams{Name: name})
	return d.Deleted, err
}

// unreadable are the rules in Redis that are in force nowhere here.
func unreadable(t *testing.T, r *ratelimit.Rules) []string {
	all, err := r.All(t.Context(), coord.Caller{}, &api.Nothing{})
	require.NoError(t, err)
	return all.Unreadable
}

// lasts waits until something is so.
func lasts(t *testing.T, what string, is func() bool) {
	t.Helper()
	for late := time.Now().Add(30 * time.Second); !is(); {
		require.True(t, time.Now().Before(late), what)
	}
}

func TestARuleThatThisVersionCannotReadIsLeftOutAndNamed(t *testing.T) {
	t.Parallel()
	clock, prefix := conformance.NewClock(), redistest.Prefix(t)
	s := coordtest.New(t, luatest.Open(t, lua.Options{URL: redistest.URL(t)}), prefix)
	var log syncLog
	r := s.FollowRules(t, ratelimit.RuntimeRulesOptions{Log: slog.New(slog.NewTextHandler(&log, nil))})
	_, err := put(t, r, rule("good", band(1, time.Second)))
	require.NoError(t, err)

	// A later version put a rule with a field that this one does not know.
	raw := redistest.Client(t)
	key := ratelimit.RulesKey(coord.NewKeys(prefix, ""))
	require.NoError(t, raw.HSet(t.Context(), key, "r:new", `5000000000000 {"name":"new","weight":1}`, "revision", 5_000_000_000_000).Err())
	clock.Advance(time.Second)
	lasts(t, "it is seen", func() bool { return len(unreadable(t, s.Rules)) > 0 })
	require.Equal(t, []string{"new"}, unreadable(t, s.Rules))
	require.Equal(t, []string{"good"}, s.Rules.Names())
	lasts(t, "it is told", func() bool { return log.count("weight") > 0 })
	require.Equal(t, 1, log.count("this version cannot read it"))

	// Another change does not log it again, and leaves it as it is.
	_, err = put(t, r, rule("third", band(1, time.Second)))
	require.NoError(t, err)
	require.Equal(t, 1, log.count("this version cannot read it"))
	again, err := put(t, r, rule("new", band(1, time.Second)))
	require.NoError(t, err)
	require.Greater(t, again.Revision, int64(5_000_000_000_000))
	require.Empty(t, unreadable(t, s.Rules))
	require.Equal(t, []string{"good", "new", "third"}, s.Rules.Names())
}

func TestRulesOutliveAnOutageOfRedis(t *testing.T) {
	t.Parallel()
	clock, server := conformance.NewClock(), redistest.Start(t)
	first := coordtest.New(t, luatest.Open(t, lua.Options{URL: server.URL()}), "p")
	r := first.FollowRules(t, ratelimit.RuntimeRulesOptions{})
	_, err := put(t, r, rule("kept", band(1, time.Hour)))
	require.NoError(t, err)
	server.Stop()
	_, err = put(t, r, rule("late", band(1, time.Hour)))
	require.Error(t, err)
	_, err = deleted(t, r, "kept")
	require.Error(t, err)
	clock.Advance(time.Second)
	require.Equal(t, []string{"kept"}, first.Rules.Names())

	// A sidecar that starts meanwhile has them when Redis comes back.
	later := coordtest.New(t, luatest.Open(t, lua.Options{URL: server.URL()}), "p")
	later.FollowRules(t, ratelimit.RuntimeRulesOptions{})
	require.Empty(t, later.Rules.Names())
	server.Restart()
	require.NoError(t, server.Client(t).HSet(t.Context(), ratelimit.RulesKey(coord.NewKeys("p", "")),
		"r:back", `7 {"name":"back","algorithm":"token_bucket","limits":[{"limit":1,"period_ms":1000}]}`, "revision", 7).Err())
	lasts(t, "they are seen", func() bool { return reflect.DeepEqual(later.Rules.Names(), []string{"back"}) })
	lasts(t, "what Redis lost is gone everywhere", func() bool {
		clock.Advance(time.Second)
		return reflect.DeepEqual(first.Rules.Names(), []string{"back"})
	})
}

func TestThereAreOnlySoManyRules(t *testing.T) {
	t.Parallel()
	prefix := redistest.Prefix(t)
	s := coordtest.New(t, luatest.Open(t, lua.Options{URL: redistest.URL(t)}), prefix)
	raw, key := redistest.Client(t), ratelimit.RulesKey(coord.NewKeys(prefix, ""))
	fields := []any{"revision", 1}
	for i := range 999 {
		fields = append(fields, "r:"+strconv.Itoa(i), "1 {}")
	}
	require.NoError(t, raw.HSet(t.Context(), key, fields...).Err())
	r := s.FollowRules(t, ratelimit.RuntimeRulesOptions{})
	_, err := put(t, r, rule("one more", band(1, time.Second)))
	coordtest.RequireCode(t, err, api.FailedPrecondition, "rule: redis keeps 999 rules already, the most; remove some with ratelimit.delete_rule, or keep this one in a file")
	_, err = deleted(t, r, "5")
	require.NoError(t, err)
	_, err = put(t, r, rule("one more", band(1, time.Second)))
	require.NoError(t, err)
	require.Equal(t, []string{"one more"}, s.Rules.Names())
	err = s.Connect(t, "c").Do(t.Context(), "", api.RatelimitDeleteRule.Name,
		&api.RatelimitDeleteRuleParams{}, new(api.RatelimitDeleteRuleResult))
	var e *api.Error
	require.ErrorAs(t, err, &e)
	require.Equal(t, api.InvalidArgument, e.Code)
	require.Contains(t, e.Message, "name: text of 1 to 512 bytes is expected")
}

func TestAChangeOfRulesIsAnEvent(t *testing.T) {
	t.Parallel()
	prefix, events := redistest.Prefix(t), coord.NewEvents()
	s := coordtest.New(t, luatest.Open(t, lua.Options{URL: redis.Embedded}), prefix)
	told := make(chan coord.Event, 10)
	defer events.Subscribe(nil, func(e coord.Event) { told <- e })()
	r := s.FollowRules(t, ratelimit.RuntimeRulesOptions{Events: events})
	_, err := put(t, r, rule("a", band(1, time.Second)))
	require.NoError(t, err)
	_, err = put(t, r, rule("b", band(1, time.Second)))
	require.NoError(t, err)
	e := <-told
	require.Equal(t, coord.EventReloaded, e.Kind)
	require.Equal(t, "ratelimit", e.Noun)
	require.Equal(t, "ok", e.Reason)
	require.Contains(t, e.Detail, "rules in redis changed: ")
}
