package ratelimit

import (
	"context"
	"math/rand/v2"
	"slices"
	"strconv"
	"time"

	"github.com/coxswain-sidecar/coxswain/client/api"
	"github.com/coxswain-sidecar/coxswain/internal/coord"
	"github.com/coxswain-sidecar/coxswain/internal/lua"
)

// Report pauses a key if the rule's penalty lists the status of its remote server's answer:
// for as long as the server asks, or else by the penalty. It returns how long the key is
// paused, for whatever reason. It releases the grant's permit afterwards, so that no call
// that gets the permit is admitted before the pause.
func (l *Limiter) Report(ctx context.Context, c coord.Caller, p *api.RatelimitReportParams) (api.RatelimitReportResult, error) {
	return l.reports.Run(ctx, c, p)
}

// reported is what the answer of Report needs to know about its call.
type reported struct {
	caller             coord.Caller
	pacedKey           pacedKey
	key, status, grant string
	class              string // of the status
	latency            time.Duration
}

func (l *Limiter) reporting() coord.Single[api.RatelimitReportParams, ReportIn, ReportOut, api.RatelimitReportResult, reported] {
	return coord.Single[api.RatelimitReportParams, ReportIn, ReportOut, api.RatelimitReportResult, reported]{
		Runner: l.runner, Script: ReportScript, Ask: l.report, Answer: l.reported,
		Elsewhere: func(ctx context.Context, c coord.Caller, p *api.RatelimitReportParams) (api.RatelimitReportResult, error) {
			own := *p
			return l.members.Answered(ctx, c, &own)
		},
	}
}

// report prepares the script of a call; a member of a pool is reported elsewhere.
func (l *Limiter) report(
	c coord.Caller, p *api.RatelimitReportParams, k *reported,
) (ask coord.Question[ReportIn], _ coord.Prepared, r api.RatelimitReportResult, _ error) {
	if p.Pool != "" {
		return ask, coord.Elsewhere, r, nil
	}
	paced, err := l.pacedKey(p.Rule, p.Key, p.Group)
	if err == nil && p.Grant != "" {
		_, _, err = parseGrant(p.Grant)
	}
	if err != nil {
		return ask, coord.Known, r, err
	}
	by := paced.upstream.penalty
	*k = reported{
		caller: c, pacedKey: paced, key: p.Key, status: strconv.FormatInt(p.Status, 10), grant: p.Grant,
		class: coord.StatusClass(p.Status), latency: coord.Millis(p.LatencyMS),
	}
	ask.StoredReply, ask.Patience = coord.StoredReply(paced.key, c), lua.Patient
	ask.In = ReportIn{
		Pace: paced.key, Hit: slices.Contains(by.Codes, p.Status) && p.RetryAfterMS >= 0, RetryUS: max(p.RetryAfterMS, 0) * 1000,
		BaseMS: by.BaseMS, MaxMS: by.MaxMS, Factor: pauseFactor(by), ForgiveUS: by.ForgiveMS * 1000,
		Why: k.status, Channel: l.keys.Broadcast(),
	}
	return ask, coord.Asking, r, nil
}

// reported answers how long the key is paused. It returns the release of the grant's permit
// as the rest of the call.
func (l *Limiter) reported(
	ctx context.Context, k *reported, out lua.Outcome[ReportOut], err error,
) (r api.RatelimitReportResult, _ coord.Rest[api.RatelimitReportResult], _ error) {
	paced, o := k.pacedKey, out.Value
	l.tel.Reported(ctx, paced.label(), k.class, k.latency)
	if err != nil {
		return r, nil, coord.Failed("ratelimit "+paced.label()+": report", err)
	}
	if o.Did != PenaltyNone && !out.Replayed {
		l.answers.Forget(paced.key)
		if o.Did == PenaltyBegan {
			l.paused(ctx, paced, k.key, coord.CausePenalty, k.status)
		}
	}
	if o.UntilUS != 0 {
		r = api.RatelimitReportResult{WaitMS: coord.WaitMS(o.UntilUS - o.NowUS), PausedUntilAtMS: coord.InstantMS(o.UntilUS)}
	}
	if k.grant == "" || paced.options.MaxConcurrent == 0 && !l.holds(k.grant) {
		return r, nil, nil
	}
	return r, l.freeing(k, r), nil
}

// freeing returns the release of the permit of a call that was reported.
func (l *Limiter) freeing(k *reported, r api.RatelimitReportResult) coord.Rest[api.RatelimitReportResult] {
	return func(ctx context.Context) (api.RatelimitReportResult, error) {
		if _, err := l.Done(ctx, k.caller, &api.RatelimitGrantParams{Grant: k.grant}); err != nil {
			return api.RatelimitReportResult{}, err
		}
		return r, nil
	}
}

// pauseFactor is the random factor of a pause, in thousandths, so that keys that were paused
// at the same time do not resume at the same time.
func pauseFactor(p api.Penalty) int64 {
	most := *p.JitterPercent * 10
	return max(1, 1000-most+rand.Int64N(2*most+1))
}
