package conformance

import (
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/coxswain-sidecar/coxswain/client/api"
)

// Upstream tests what ratelimit.pause, resume, set_delay and report promise.
func Upstream(t *testing.T, sys System) {
	for name, test := range map[string]func(limiter){
		"a pause refuses until it ends":              pauseRefuses,
		"of several pauses the longest counts":       longestPause,
		"a pause in the past pauses nothing":         pauseInThePast,
		"a resume unblocks every sidecar":            resumeUnblocks,
		"other keys and rules go on":                 pauseIsOfOneKey,
		"a group is paused as one":                   groupIsPaused,
		"a waiting call is given up at its slot":     pausedWhileWaiting,
		"a short wait is not asked about":            shortWaitGoes,
		"a call waits for the end of a pause":        waitsForThePause,
		"a delay spaces admissions":                  delaySpaces,
		"of several delays the slowest counts":       slowestDelay,
		"a delay that is lifted lifts it everywhere": delayIsLifted,
		"waiting calls keep the delay":               waitingKeepsTheDelay,
		"the server's word is kept to exactly":       retryAfterOfTheServer,
		"who may come back at once is not paused":    noPauseOfTheServer,
		"penalties double, and are forgiven":         penaltiesDouble,
		"one escalation in a window":                 oneEscalation,
		"penalties end at a longest":                 penaltyCap,
		"an answer that is fine pauses nothing":      fineAnswer,
		"a report counts once by its request id":     reportCountsOnce,
		"mistakes about the server name their field": upstreamMistakes,
	} {
		t.Run(name, func(t *testing.T) {
			test(limiter{t: t, sys: sys, client: sys.Connect(t, 0, "upstream"), key: t.Name()})
		})
	}
}

// plenty is a limit that never refuses by itself.
var plenty = per(1_000_000, time.Second)

// other returns the same key at the other sidecar.
func (l limiter) other() limiter {
	l.client = l.sys.Connect(l.t, 1, "upstream")
	return l
}

func (l limiter) pause(p api.RatelimitPauseParams) int64 {
	l.t.Helper()
	p.Key = l.key
	r, err := do(patient(l.t), l.client, "", api.RatelimitPause, p)
	require.NoError(l.t, err)
	return r.PausedUntilAtMS
}

func (l limiter) resume() bool {
	l.t.Helper()
	r, err := do(patient(l.t), l.client, "", api.RatelimitResume, api.RatelimitResumeParams{Key: l.key})
	require.NoError(l.t, err)
	return r.Resumed
}

func (l limiter) delay(p api.RatelimitSetDelayParams) api.RatelimitSetDelayResult {
	l.t.Helper()
	p.Key = l.key
	r, err := do(patient(l.t), l.client, "", api.RatelimitSetDelay, p)
	require.NoError(l.t, err)
	return r
}

func (l limiter) report(status, retryAfter int64) api.RatelimitReportResult {
	l.t.Helper()
	r, err := do(patient(l.t), l.client, "", api.RatelimitReport, api.RatelimitReportParams{Key: l.key, Status: status, RetryAfterMS: retryAfter})
	require.NoError(l.t, err)
	return r
}

// refused checks that a call is refused for this reason and for this long.
func (l limiter) refused(by string, retryMS int64) {
	l.t.Helper()
	r := l.acquire(1, plenty)
	require.False(l.t, r.Allowed)
	require.Equal(l.t, by, r.DeniedBy)
	require.Equal(l.t, retryMS, r.RetryAfterMS)
}

func (l limiter) allowed() {
	l.t.Helper()
	r := l.acquire(1, plenty)
	require.True(l.t, r.Allowed, "%+v", r)
	require.Empty(l.t, r.DeniedBy)
}

// freed waits until this sidecar admits a call after another sidecar freed the key. While the clock stands still, only
// the other sidecar's broadcast ends the refusals that this one remembers.
func (l limiter) freed() {
	l.t.Helper()
	l.until("it is free in this sidecar too", func() bool { return l.acquire(1, plenty).Allowed })
}

func (l limiter) nowMS() int64 { return l.sys.Now().UnixMilli() }

func pauseRefuses(l limiter) {
	l.allowed()
	until := l.pause(api.RatelimitPauseParams{ForMS: 10_000, Reason: "maintenance"})
	require.Equal(l.t, l.nowMS()+10_000, until)
	l.refused("pause", 10_000)
	l.other().refused("pause", 10_000)
	peeked := l.peek(1, plenty)
	require.False(l.t, peeked.Allowed)
	require.Equal(l.t, "pause", peeked.DeniedBy)
	require.Equal(l.t, int64(1), peeked.Current, "a refusal takes nothing")
	l.sys.Advance(9_999 * time.Millisecond)
	l.refused("pause", 1)
	l.sys.Advance(time.Millisecond)
	l.allowed()
}

func longestPause(l limiter) {
	start := l.nowMS()
	require.Equal(l.t, start+10_000, l.pause(api.RatelimitPauseParams{ForMS: 10_000}))
	require.Equal(l.t, start+10_000, l.other().pause(api.RatelimitPauseParams{ForMS: 5_000}))
	require.Equal(l.t, start+12_000, l.other().pause(api.RatelimitPauseParams{UntilAtMS: start + 12_000}))
	l.other().refused("pause", 12_000)
}

func pauseInThePast(l limiter) {
	require.Zero(l.t, l.pause(api.RatelimitPauseParams{UntilAtMS: 1}))
	require.Zero(l.t, l.pause(api.RatelimitPauseParams{UntilAtMS: l.nowMS()}))
	l.allowed()
	until := l.pause(api.RatelimitPauseParams{ForMS: 1_000})
	require.Equal(l.t, until, l.pause(api.RatelimitPauseParams{UntilAtMS: l.nowMS()}))
	require.Equal(l.t, "pause", l.acquire(1, plenty).DeniedBy)
}

// resumeUnblocks: a resume takes effect at once, although each sidecar remembers its refusal and no time passes.
func resumeUnblocks(l limiter) {
	other := l.other()
	require.False(l.t, l.resume(), "it was not paused")
	l.pause(api.RatelimitPauseParams{ForMS: 3_600_000})
	for _, c := range []limiter{l, other} {
		c.refused("pause", 3_600_000)
		l.until("the refusal is remembered", func() bool { return c.acquire(1, plenty).Source == "cache" })
	}
	require.True(l.t, l.resume())
	l.allowed()
	other.freed()
	require.False(l.t, other.resume(), "it is paused no more")
}

func pauseIsOfOneKey(l limiter) {
	l.pause(api.RatelimitPauseParams{ForMS: 60_000})
	l.refused("pause", 60_000)
	l.key += " another"
	l.allowed()
	l.other().allowed()
}

func groupIsPaused(l limiter) {
	_, err := do(patient(l.t), l.client, "", api.RatelimitPause, api.RatelimitPauseParams{Key: l.key, Group: l.key + " group", ForMS: 60_000})
	require.NoError(l.t, err)
	l.allowed()
	l.key += " group"
	l.refused("pause", 60_000)
	r, err := do(patient(l.t), l.client, "", api.RatelimitResume, api.RatelimitResumeParams{Key: "any", Group: l.key})
	require.NoError(l.t, err)
	require.True(l.t, r.Resumed)
	l.allowed()
}

func pausedWhileWaiting(l limiter) {
	band := per(4, 2*time.Second)
	l.acquire(4, band)
	w := l.wait("", 1, band)
	until := l.other().pause(api.RatelimitPauseParams{ForMS: 60_000})
	r := w.ended(500 * time.Millisecond)
	require.False(l.t, r.Allowed)
	require.Equal(l.t, "pause", r.DeniedBy)
	require.Positive(l.t, r.RetryAfterMS)
	require.LessOrEqual(l.t, r.RetryAfterMS, until-l.nowMS()+r.WaitedMS)
	require.Empty(l.t, r.Grant)
	// The cost of the call still counts as used.
	require.True(l.t, l.resume())
}

func shortWaitGoes(l limiter) {
	band := per(10, time.Second)
	l.acquire(10, band)
	w := l.wait("", 1, band)
	l.pause(api.RatelimitPauseParams{ForMS: 60_000})
	l.sys.Advance(100 * time.Millisecond)
	require.True(l.t, w.ended(100*time.Millisecond).Allowed)
}

func waitsForThePause(l limiter) {
	l.pause(api.RatelimitPauseParams{ForMS: 3_000})
	p := l.params(1, plenty)
	p.WaitMS = 2_999
	r, err := do(patient(l.t), l.client, "", api.RatelimitAcquire, p)
	require.NoError(l.t, err)
	require.Equal(l.t, "pause", r.DeniedBy, "its end is too far")
	w := l.wait("", 1, plenty)
	w.let(3 * time.Second)
}

func delaySpaces(l limiter) {
	r := l.delay(api.RatelimitSetDelayParams{DelayMS: 2_000})
	require.Equal(l.t, api.RatelimitSetDelayResult{DelayMS: 2_000, UntilAtMS: l.nowMS() + 86_400_000}, r)
	l.allowed()
	for range 3 {
		l.refused("delay", 2_000)
		l.other().refused("delay", 2_000)
		l.sys.Advance(1_999 * time.Millisecond)
		l.refused("delay", 1)
		l.sys.Advance(time.Millisecond)
		l.allowed()
	}
	// A limit given in full allows a minute.
	require.Equal(l.t, int64(60_000), l.delay(api.RatelimitSetDelayParams{DelayMS: 86_400_000}).DelayMS)
}

func slowestDelay(l limiter) {
	l.delay(api.RatelimitSetDelayParams{DelayMS: 5_000, Source: "head", TTLMS: 8_000})
	require.Equal(l.t, int64(5_000), l.other().delay(api.RatelimitSetDelayParams{DelayMS: 2_000}).DelayMS)
	l.allowed()
	l.refused("delay", 5_000)
	l.sys.Advance(5 * time.Second)
	l.allowed()
	// The slowest delay ends. The other one is then in effect, counted from the last admission.
	l.sys.Advance(3 * time.Second)
	l.allowed()
	l.refused("delay", 2_000)
	require.Equal(l.t, api.RatelimitSetDelayResult{}, l.delay(api.RatelimitSetDelayParams{}))
	l.allowed()
	l.allowed()
}

func delayIsLifted(l limiter) {
	other := l.other()
	l.delay(api.RatelimitSetDelayParams{DelayMS: 50_000})
	other.allowed()
	other.refused("delay", 50_000)
	l.delay(api.RatelimitSetDelayParams{})
	other.freed()
}

func waitingKeepsTheDelay(l limiter) {
	l.delay(api.RatelimitSetDelayParams{DelayMS: 2_000})
	l.allowed()
	first := l.wait("", 1, plenty)
	second := l.other().wait("", 1, plenty)
	l.refused("delay", 6_000)
	first.let(2 * time.Second)
	second.let(4 * time.Second)
}

func retryAfterOfTheServer(l limiter) {
	start := l.nowMS()
	require.Equal(l.t, api.RatelimitReportResult{WaitMS: 2_000, PausedUntilAtMS: start + 2_000}, l.report(429, 2_000))
	l.refused("pause", 2_000)
	l.other().refused("pause", 2_000)
	require.Equal(l.t, start+2_000, l.other().report(503, 1_000).PausedUntilAtMS, "shorter")
	require.Equal(l.t, start+2_000, l.report(503, 0).PausedUntilAtMS, "not said: the window has its pause")
	require.Equal(l.t, start+9_000, l.other().report(429, 9_000).PausedUntilAtMS, "longer")
	l.sys.Advance(9 * time.Second)
	l.allowed()
	require.InDelta(l.t, 60_000, l.report(429, 0).WaitMS, 6_000, "none of our own was before it")
}

// noPauseOfTheServer: with a Retry-After of 0, or of a date that has passed, the server asks for no pause.
func noPauseOfTheServer(l limiter) {
	for _, ms := range []int64{-1, -60_000} {
		require.Zero(l.t, l.report(429, ms))
		l.allowed()
	}
	l.report(429, 5_000)
	require.Equal(l.t, int64(5_000), l.other().report(429, -1).WaitMS, "a pause in force stays")
	l.sys.Advance(5 * time.Second)
	require.InDelta(l.t, 60_000, l.report(429, 0).WaitMS, 6_000, "it counted as no pause of ours")
}

// penaltiesDouble is with the jitter of 10 % that a limit given in full has.
func penaltiesDouble(l limiter) {
	for _, want := range []int64{60_000, 120_000, 240_000} {
		r := l.report(503, 0)
		require.InDelta(l.t, want, r.WaitMS, float64(want/10))
		require.Equal(l.t, l.nowMS()+r.WaitMS, r.PausedUntilAtMS)
		l.refused("pause", r.WaitMS)
		l.sys.Advance(time.Duration(r.WaitMS) * time.Millisecond)
		l.allowed()
	}
	l.sys.Advance(30*time.Minute - time.Millisecond)
	r := l.report(429, 0)
	require.InDelta(l.t, 480_000, r.WaitMS, 48_000, "not forgiven yet")
	l.sys.Advance(time.Duration(r.WaitMS)*time.Millisecond + 30*time.Minute)
	r = l.report(429, 0)
	require.InDelta(l.t, 60_000, r.WaitMS, 6_000, "forgiven")
	require.True(l.t, l.resume())
	require.InDelta(l.t, 60_000, l.report(429, 0).WaitMS, 6_000, "forgotten")
}

func oneEscalation(l limiter) {
	other := l.other()
	r := l.report(429, 0)
	for range 5 {
		require.Equal(l.t, r, l.report(429, 0))
		require.Equal(l.t, r, other.report(503, 0))
	}
	l.sys.Advance(time.Duration(r.WaitMS) * time.Millisecond)
	require.InDelta(l.t, 120_000, other.report(429, 0).WaitMS, 12_000)
}

func penaltyCap(l limiter) {
	longest := (24 * time.Hour).Milliseconds()
	for range 13 {
		r := l.report(429, 0)
		require.LessOrEqual(l.t, r.WaitMS, longest)
		l.sys.Advance(time.Duration(r.WaitMS) * time.Millisecond)
	}
	require.GreaterOrEqual(l.t, l.report(429, 0).WaitMS, longest*9/10)
}

func fineAnswer(l limiter) {
	for _, status := range []int64{200, 301, 404, 500, 999} {
		require.Equal(l.t, api.RatelimitReportResult{}, l.report(status, 60_000), "%d", status)
	}
	l.allowed()
	until := l.pause(api.RatelimitPauseParams{ForMS: 7_000})
	require.Equal(l.t, api.RatelimitReportResult{WaitMS: 7_000, PausedUntilAtMS: until}, l.report(200, 0), "it tells what is in force")
}

func reportCountsOnce(l limiter) {
	other := l.other()
	p := api.RatelimitReportParams{Key: l.key, Status: 429}
	first, err := do(patient(l.t), l.client, "id", api.RatelimitReport, p)
	require.NoError(l.t, err)
	l.sys.Advance(time.Duration(first.WaitMS) * time.Millisecond)
	again, err := do(patient(l.t), other.client, "id", api.RatelimitReport, p)
	require.NoError(l.t, err)
	require.Equal(l.t, first, again)
	l.allowed()
	require.InDelta(l.t, 120_000, l.report(429, 0).WaitMS, 12_000)
}

func upstreamMistakes(l limiter) {
	ctx := patient(l.t)
	pause := func(change func(*api.RatelimitPauseParams)) error {
		p := api.RatelimitPauseParams{Key: l.key, ForMS: 1_000}
		change(&p)
		_, err := do(ctx, l.client, "", api.RatelimitPause, p)
		return err
	}
	report := func(p api.RatelimitReportParams) error {
		_, err := do(ctx, l.client, "", api.RatelimitReport, p)
		return err
	}
	delay := func(p api.RatelimitSetDelayParams) error {
		_, err := do(ctx, l.client, "", api.RatelimitSetDelay, p)
		return err
	}
	year := (366 * 24 * time.Hour).Milliseconds()
	for _, c := range []struct {
		err  error
		code api.Code
		want string
	}{
		{pause(func(p *api.RatelimitPauseParams) { p.Key = "" }), api.InvalidArgument, "key"},
		{pause(func(p *api.RatelimitPauseParams) { p.ForMS = 0 }), api.InvalidArgument, "for_ms"},
		{pause(func(p *api.RatelimitPauseParams) { p.UntilAtMS = 1 }), api.InvalidArgument, "until_at_ms"},
		{pause(func(p *api.RatelimitPauseParams) { p.ForMS = year + 1 }), api.InvalidArgument, "for_ms"},
		{pause(func(p *api.RatelimitPauseParams) { p.ForMS, p.UntilAtMS = 0, l.nowMS()+year+1 }), api.InvalidArgument, "until_at_ms"},
		{pause(func(p *api.RatelimitPauseParams) { p.ForMS, p.UntilAtMS = 0, 1<<62 }), api.InvalidArgument, "until_at_ms"},
		{pause(func(p *api.RatelimitPauseParams) { p.Rule = "none" }), api.NotFound, "none"},
		{report(api.RatelimitReportParams{Key: l.key}), api.InvalidArgument, "status"},
		{report(api.RatelimitReportParams{Key: l.key, Status: 99}), api.InvalidArgument, "status"},
		{report(api.RatelimitReportParams{Key: l.key, Status: 1000}), api.InvalidArgument, "status"},
		{report(api.RatelimitReportParams{Key: l.key, Status: 429, RetryAfterMS: year + 1}), api.InvalidArgument, "retry_after_ms"},
		{report(api.RatelimitReportParams{Key: l.key, Status: 429, LatencyMS: -1}), api.InvalidArgument, "latency_ms"},
		{report(api.RatelimitReportParams{Key: l.key, Status: 429, Grant: "x"}), api.InvalidArgument, "grant"},
		{report(api.RatelimitReportParams{Key: l.key, Status: 429, Rule: "none"}), api.NotFound, "none"},
		{delay(api.RatelimitSetDelayParams{Key: l.key, DelayMS: 86_400_001}), api.InvalidArgument, "delay_ms"},
		{delay(api.RatelimitSetDelayParams{Key: l.key, DelayMS: 1, TTLMS: year + 1}), api.InvalidArgument, "ttl_ms"},
		{delay(api.RatelimitSetDelayParams{Key: l.key, DelayMS: 1, Source: string(make([]byte, 65))}), api.InvalidArgument, "source"},
		{delay(api.RatelimitSetDelayParams{Key: l.key, DelayMS: 1, Rule: "none"}), api.NotFound, "none"},
	} {
		require.ErrorIs(l.t, c.err, c.code, c.want)
		require.ErrorContains(l.t, c.err, c.want)
	}
	l.allowed()
	l.allowed()
}
