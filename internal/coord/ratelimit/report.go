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

// Report pauses a key if its remote server's answer is one to pause for: as long
// as the server asks, else as the rule's penalty says. It returns how long the key
// is paused, whoever paused it. Then it frees the grant's place, so that nobody
// gets it who would go before the pause.
func (l *Limiter) Report(ctx context.Context, c coord.Caller, p *api.RatelimitReportParams) (api.RatelimitReportResult, error) {
	return l.reports.Run(ctx, c, p)
}

// reported is what an answer of Report needs of its call.
type reported struct {
	caller             coord.Caller
	gate               gate
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

// report makes the question of a call, but for a member of a pool.
func (l *Limiter) report(
	c coord.Caller, p *api.RatelimitReportParams, k *reported,
) (ask coord.Question[ReportIn], _ coord.Prepared, r api.RatelimitReportResult, _ error) {
	if p.Pool != "" {
		return ask, coord.Elsewhere, r, nil
	}
	g, err := l.gate(p.Rule, p.Key, p.Group)
	if err == nil && p.Grant != "" {
		_, _, err = parseGrant(p.Grant)
	}
	if err != nil {
		return ask, coord.Known, r, err
	}
	by := g.upstream.penalty
	*k = reported{
		caller: c, gate: g, key: p.Key, status: strconv.FormatInt(p.Status, 10), grant: p.Grant,
		class: coord.StatusClass(p.Status), latency: coord.Millis(p.LatencyMS),
	}
	ask.StoredReply, ask.Patience = coord.StoredReply(g.key, c), lua.Patient
	ask.In = ReportIn{
		Gate: g.key, Hit: slices.Contains(by.Codes, p.Status) && p.RetryAfterMS >= 0, RetryUS: max(p.RetryAfterMS, 0) * 1000,
		BaseMS: by.BaseMS, MaxMS: by.MaxMS, Factor: pauseFactor(by), ForgiveUS: by.ForgiveMS * 1000,
		Why: k.status, Channel: l.keys.Broadcast(),
	}
	return ask, coord.Asking, r, nil
}

// reported answers how long the key is paused. The rest is to free the grant's place.
func (l *Limiter) reported(
	ctx context.Context, k *reported, out lua.Outcome[ReportOut], err error,
) (r api.RatelimitReportResult, _ coord.Rest[api.RatelimitReportResult], _ error) {
	g, o := k.gate, out.Value
	l.tel.Reported(ctx, g.label(), k.class, k.latency)
	if err != nil {
		return r, nil, coord.Failed("ratelimit "+g.label()+": report", err)
	}
	if o.Did != PenaltyNone && !out.Replayed {
		l.answers.Forget(g.key)
		if o.Did == PenaltyBegan {
			l.paused(ctx, g, k.key, coord.CausePenalty, k.status)
		}
	}
	if o.UntilUS != 0 {
		r = api.RatelimitReportResult{WaitMS: coord.WaitMS(o.UntilUS - o.NowUS), PausedUntilAtMS: coord.InstantMS(o.UntilUS)}
	}
	if k.grant == "" || g.options.MaxConcurrent == 0 && !l.holds(k.grant) {
		return r, nil, nil
	}
	return r, l.freeing(k, r), nil
}

// freeing frees the place of a call that was reported.
func (l *Limiter) freeing(k *reported, r api.RatelimitReportResult) coord.Rest[api.RatelimitReportResult] {
	return func(ctx context.Context) (api.RatelimitReportResult, error) {
		if _, err := l.Done(ctx, k.caller, &api.RatelimitGrantParams{Grant: k.grant}); err != nil {
			return api.RatelimitReportResult{}, err
		}
		return r, nil
	}
}

// pauseFactor is how many thousandths of a pause are kept to: keys that were paused at
// one time are not to come back at one time.
func pauseFactor(p api.Penalty) int64 {
	most := *p.JitterPercent * 10
	return max(1, 1000-most+rand.Int64N(2*most+1))
}
