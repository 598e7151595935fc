package ratelimit_test

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/coxswain-sidecar/coxswain/client/api"
	"github.com/coxswain-sidecar/coxswain/internal/coord/ratelimit"
	"github.com/coxswain-sidecar/coxswain/internal/coordtest"

	sdk "go.opentelemetry.io/otel/sdk/metric"
	"go.opentelemetry.io/otel/trace/noop"

	"github.com/coxswain-sidecar/coxswain/internal/conformance"
	"github.com/coxswain-sidecar/coxswain/internal/coord"
	"github.com/coxswain-sidecar/coxswain/internal/lua"
	"github.com/coxswain-sidecar/coxswain/internal/luatest"
	"github.com/coxswain-sidecar/coxswain/internal/redistest"
	"github.com/coxswain-sidecar/coxswain/internal/telemetry"
)

// by makes a request with a fail mode of its own.
func by(mode coord.FailMode, p api.RatelimitParams, cost int64) *api.RatelimitParams {
	p.FailMode = string(mode)
	return asks(p, cost)
}

// withMode is a rule with a fail mode.
func withMode(mode coord.FailMode, name string, bands ...api.Band) api.Rule {
	r := rule(name, bands...)
	r.FailMode = string(mode)
	return r
}

func TestRedisDownAtStartEachRuleAnswersByItsMode(t *testing.T) {
	t.Parallel()
	server := redistest.Start(t)
	server.Stop()
	s := coordtest.New(t, luatest.Open(t, lua.Options{URL: server.URL()}), "p")
	require.NoError(t, s.Rules.Set([]api.Rule{
		rule("absent", band(10, time.Hour)), withMode(coord.FailOpen, "open", band(10, time.Hour)),
		withMode(coord.FailClosed, "closed", band(10, time.Hour)), withMode(coord.FailLocal, "local", band(2, time.Hour)),
	}, 1))
	acquire := func(r *api.RatelimitParams) (api.RatelimitResult, error) {
		return s.Limiter.Acquire(t.Context(), coord.Caller{}, r)
	}
	for _, name := range []string{"absent", "open"} {
		d, err := acquire(asks(byRule(name, "k"), 1))
		require.NoError(t, err)
		require.Equal(t, api.RatelimitResult{
			Allowed: true, Rule: name, Algorithm: tokenBucket, Band: "10/1h", Limit: 10, Degraded: true, Source: coord.SourceLocal,
		}, d)
	}
	_, err := acquire(asks(byRule("closed", "k"), 1))
	coordtest.RequireCode(t, err, api.Unavailable, "redis")
	for i := range int64(3) {
		d, err := acquire(asks(byRule("local", "k"), 1))
		require.NoError(t, err)
		require.Equal(t, i < 2, d.Allowed, "2 per hour, by this sidecar alone")
		require.True(t, d.Degraded)
	}
	// The call's own mode wins.
	d, err := acquire(by(coord.FailOpen, byRule("closed", "k"), 1))
	require.NoError(t, err)
	require.True(t, d.Degraded)
	_, err = acquire(by(coord.FailClosed, byRule("open", "k"), 1))
	coordtest.RequireCode(t, err, api.Unavailable, "redis")
	err = onTheWire(t, s, by("shut", byRule("open", "k"), 1))
	require.Equal(t, &api.Error{Code: api.InvalidArgument, Message: `fail_mode: one of closed, open, local is expected, not "shut"`}, err)
	// To look is answered likewise, and takes nothing here either.
	d, err = s.Limiter.Peek(t.Context(), coord.Caller{}, asks(byRule("local", "other"), 2))
	require.NoError(t, err)
	require.True(t, d.Allowed && d.Degraded)
	require.EqualValues(t, 2, d.Remaining)

	server.Restart()
	for late := time.Now().Add(30 * time.Second); ; {
		d, err := acquire(asks(byRule("absent", "k"), 1))
		require.NoError(t, err)
		if !d.Degraded {
			require.Equal(t, coord.SourceRedis, d.Source, "without a restart")
			break
		}
		require.True(t, time.Now().Before(late), "Redis is back, and is not asked")
	}
	_, err = acquire(asks(byRule("closed", "k"), 1))
	require.NoError(t, err)
}

func TestADegradedAnswerDialsNothing(t *testing.T) {
	t.Parallel()
	down := coordtest.NewRefusing(t)
	s := coordtest.New(t, luatest.Open(t, lua.Options{URL: down.URL()}), "p")
	limit := inFull("k", band(10, time.Hour))
	// The first one may wait for the first probe's end.
	_, err := s.Limiter.Acquire(t.Context(), coord.Caller{}, asks(limit, 1))
	require.NoError(t, err)
	const calls = 20_000
	before := down.Dials.Load()
	for i := range calls {
		mode := []coord.FailMode{coord.FailOpen, coord.FailLocal, coord.FailClosed}[i%3]
		_, err := s.Limiter.Acquire(t.Context(), coord.Caller{}, by(mode, limit, 1))
		require.Equal(t, mode == coord.FailClosed, err != nil)
	}
	require.Less(t, down.Dials.Load()-before, int64(calls/100), "only the probe dials, and ever more rarely")
}

func TestACallUnderWayDoesNotWaitForTheEndOfAnOutage(t *testing.T) {
	t.Parallel()
	server := redistest.Start(t)
	s := coordtest.New(t, luatest.Open(t, lua.Options{URL: server.URL()}), "p")
	limit := inFull("k", band(10, time.Hour))
	_, err := s.Limiter.Acquire(t.Context(), coord.Caller{}, asks(limit, 1))
	require.NoError(t, err)
	server.Stop()
	// Whoever waited for the end of the outage would wait until this ends, and fail.
	ctx, cancel := context.WithTimeout(t.Context(), 30*time.Second)
	defer cancel()
	d, err := s.Limiter.Acquire(ctx, coord.Caller{RequestID: "id", Fingerprint: "f"}, asks(limit, 1))
	require.NoError(t, err)
	require.True(t, d.Allowed && d.Degraded)
}

func TestALostReplyIsAnsweredByTheModeAndSaysSo(t *testing.T) {
	t.Parallel()
	way := coordtest.ThroughProxy(t)
	// Long enough that only the muted call takes it, on a busy machine too.
	s := coordtest.New(t, luatest.Open(t, lua.Options{URL: way.URL(), CommandTimeout: 5 * time.Second}), redistest.Prefix(t))
	limit := inFull("k", band(10, time.Hour))
	_, err := s.Limiter.Acquire(t.Context(), coord.Caller{}, asks(limit, 1))
	require.NoError(t, err)
	way.Mute()
	d, err := s.Limiter.Acquire(t.Context(), coord.Caller{}, asks(limit, 1))
	require.NoError(t, err)
	require.True(t, d.Degraded && d.MaybeExecuted, "it was written, and its reply never came: %+v", d)
	way.Heal()
}

// No fail mode admits a call that was cancelled or whose deadline has passed.
func TestACallThatHasEndedIsNotAdmitted(t *testing.T) {
	t.Parallel()
	way := coordtest.ThroughProxy(t)
	s := coordtest.New(t, luatest.Open(t, lua.Options{URL: way.URL()}), redistest.Prefix(t))
	limit := inFull("k", band(10, time.Hour))
	_, err := s.Limiter.Acquire(t.Context(), coord.Caller{}, asks(limit, 1))
	require.NoError(t, err)
	way.Mute()
	ctx, cancel := context.WithTimeout(t.Context(), 50*time.Millisecond)
	defer cancel()
	_, err = s.Limiter.Acquire(ctx, coord.Caller{}, asks(limit, 1))
	require.Error(t, err)
	way.Heal()
	ctx, cancel = context.WithCancel(t.Context())
	cancel()
	_, err = s.Limiter.Acquire(ctx, coord.Caller{}, asks(limit, 1))
	coordtest.RequireCode(t, err, api.Cancelled, "")
}

func TestAHundredCancelledCallsTripNothing(t *testing.T) {
	t.Parallel()
	f := perSecond(t, 1)
	var all []*waiter
	for range 100 {
		all = append(all, f.start(0, "", 1, time.Minute))
	}
	for _, w := range all {
		w.leave(t)
	}
	require.Zero(t, f.sleeping())
	f.clock.Advance(250 * time.Millisecond)
	d := f.start(0, "", 1, time.Minute).let(t, 0)
	require.False(t, d.Degraded)
	require.Equal(t, coord.SourceRedis, d.Source)
}

// outage is a limiter by a clock of its own whose Redis can be away.
func outage(t *testing.T, rules ...api.Rule) (*coordtest.Sidecar, *conformance.Clock, *redistest.Server) {
	server, clock := redistest.Start(t), conformance.NewClock()
	r := luatest.Open(t, lua.Options{URL: server.URL(), Clock: clock.Micros})
	s := coordtest.NewWith(t, r, "p", coordtest.Options{Clock: clock})
	require.NoError(t, s.Rules.Set(rules, 1))
	return s, clock, server
}

func TestTheLocalLimitIsThisPodsShareKeptWarm(t *testing.T) {
	t.Parallel()
	shared := withMode(coord.FailLocal, "shared", band(12, 12*time.Second), band(30, time.Minute))
	shared.LocalShareOf = 3
	s, clock, server := outage(t, shared, withMode(coord.FailLocal, "warm", band(4, time.Minute)))
	acquire := func(name string, cost int64) api.RatelimitResult {
		d, err := s.Limiter.Acquire(t.Context(), coord.Caller{}, asks(byRule(name, "k"), cost))
		require.NoError(t, err)
		return d
	}
	require.False(t, acquire("warm", 3).Degraded)
	server.Stop()
	// 30 a minute among 3 pods is one each 6 s, and 4 at once.
	for i := range 5 {
		require.Equal(t, i < 4, acquire("shared", 1).Allowed)
	}
	refused := acquire("shared", 2)
	require.Equal(t, "30/1m", refused.Band)
	require.Equal(t, ratelimit.ReasonLimit, refused.DeniedBy)
	require.Equal(t, 12*time.Second, millis(refused.RetryAfterMS))
	require.Equal(t, 24*time.Second, millis(refused.ResetAfterMS))
	require.Zero(t, refused.Remaining)
	clock.Advance(millis(refused.RetryAfterMS) - time.Millisecond)
	require.False(t, acquire("shared", 2).Allowed, "a millisecond early")
	clock.Advance(time.Millisecond)
	require.True(t, acquire("shared", 2).Allowed)
	// More than the share fits once nothing is used; more than the limit, never.
	dear := acquire("shared", 6)
	clock.Advance(millis(dear.RetryAfterMS))
	require.True(t, acquire("shared", 6).Allowed)
	require.Equal(t, int64(-1), acquire("shared", 13).RetryAfterMS)

	s2 := acquire("warm", 4)
	require.Equal(t, coord.SourceLocal, s2.Source)
	require.True(t, acquire("warm", 0).Allowed)
}

func TestWhatRedisAdmittedCountsInTheLocalLimitToo(t *testing.T) {
	t.Parallel()
	s, _, server := outage(t, withMode(coord.FailLocal, "r", band(4, time.Minute)))
	for range 3 {
		d, err := s.Limiter.Acquire(t.Context(), coord.Caller{}, asks(byRule("r", "k"), 1))
		require.NoError(t, err)
		require.False(t, d.Degraded)
	}
	server.Stop()
	for i := range 2 {
		d, err := s.Limiter.Acquire(t.Context(), coord.Caller{}, asks(byRule("r", "k"), 1))
		require.NoError(t, err)
		require.True(t, d.Degraded)
		require.Equal(t, i == 0, d.Allowed)
	}
}

func TestDegradedDecisionsAreCountedAndShown(t *testing.T) {
	t.Parallel()
	reader := sdk.NewManualReader()
	tel, err := telemetry.New(noop.NewTracerProvider(), sdk.NewMeterProvider(sdk.WithReader(reader)), false)
	require.NoError(t, err)
	down := coordtest.NewRefusing(t)
	rules, now := ratelimit.NewRules(), time.Now()
	events := coord.NewEventsBy(func() time.Time { // slow enough for each to be published
		now = now.Add(time.Minute)
		return now
	})
	require.NoError(t, rules.Set([]api.Rule{withMode(coord.FailLocal, "r", band(1, time.Hour))}, 1))
	l := ratelimit.New(ratelimit.Options{
		Runner: luatest.Open(t, lua.Options{URL: down.URL()}), Keys: coord.NewKeys("p", ""),
		Rules: rules, Events: events, Telemetry: tel,
	})
	var seen []string
	defer events.Subscribe(nil, func(e coord.Event) {
		seen = append(seen, strings.Join([]string{string(e.Kind), e.Noun, e.Name, e.Key, e.Reason}, " "))
	})()
	for _, mode := range []coord.FailMode{"", coord.FailLocal, coord.FailOpen, coord.FailClosed} {
		_, err := l.Acquire(t.Context(), coord.Caller{}, by(mode, byRule("r", "k"), 1))
		var e *coord.Error
		require.Equal(t, mode == coord.FailClosed, errors.As(err, &e), "%v", err)
		_, _ = l.Peek(t.Context(), coord.Caller{}, by(mode, byRule("r", "k"), 1))
	}
	require.Equal(t, map[string]int64{"r degraded_allowed": 2, "r degraded_limit": 1, "r unavailable": 1}, decisions(t, reader), "looking decides nothing")
	require.Equal(t, []string{
		"degraded ratelimit r k local",
		"degraded ratelimit r k local", "refused ratelimit r k limit",
		"degraded ratelimit r k open", "degraded ratelimit r k closed",
	}, seen)
}

func TestMistakesOfAFailModeNameTheirField(t *testing.T) {
	t.Parallel()
	for want, change := range map[string]func(*api.Rule){
		`items[0].fail_mode: "opened" is not a fail mode; did you mean "open"?`:                                  func(r *api.Rule) { r.FailMode = "opened" },
		`items[0].local_share_of: -1 is out of range; use 1 to 1000000, the number of pods that share the limit`: func(r *api.Rule) { r.LocalShareOf = -1 },
		`items[0].deny_cache: "maybe" is neither on nor off; write one of them`:                                  func(r *api.Rule) { r.DenyCache = "maybe" },
	} {
		r := rule("r", band(1, time.Second))
		change(&r)
		require.Equal(t, want, ratelimit.CheckRules([]api.Rule{r}).Error())
	}
}

func TestLocalLimitsAreBounded(t *testing.T) {
	t.Parallel()
	down := coordtest.NewRefusing(t)
	s := coordtest.New(t, luatest.Open(t, lua.Options{URL: down.URL()}), "p")
	for i := range coord.MaxRecent + 1000 {
		_, err := s.Limiter.Acquire(t.Context(), coord.Caller{}, by(coord.FailLocal, inFull(fmt.Sprint("k", i), band(1, time.Hour)), 1))
		require.NoError(t, err)
	}
	_, local := s.Limiter.Remembered()
	require.Equal(t, coord.MaxRecent, local)
}
