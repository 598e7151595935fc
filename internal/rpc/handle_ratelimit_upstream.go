package rpc

import (
	"context"
	"time"

	"github.com/coxswain-sidecar/coxswain/client/api"
	"github.com/coxswain-sidecar/coxswain/internal/coord"
)

func ratelimitReport(ctx context.Context, k *call, p *api.RatelimitReportParams) (api.RatelimitReportResult, error) {
	if p.Pool != "" {
		return k.services().Permits.Answered(ctx, k.caller(), p)
	}
	b, err := k.services().RateLimiter.Report(ctx, k.caller(), coord.ReportRequest{
		GateRef: coord.GateRef{Rule: p.Rule, Key: p.Key, Group: p.Group}, Grant: p.Grant,
		Status: p.Status, Latency: coord.Millis(p.LatencyMS), RetryAfter: coord.Millis(p.RetryAfterMS),
	})
	return api.RatelimitReportResult{WaitMS: coord.MillisUp(b.Wait), PausedUntilAtMS: unixMillis(b.Until)}, err
}

func ratelimitPause(ctx context.Context, k *call, p *api.RatelimitPauseParams) (api.RatelimitPauseResult, error) {
	if p.Pool != "" {
		return k.services().Permits.Pause(ctx, k.caller(), p)
	}
	r := coord.PauseRequest{GateRef: coord.GateRef{Rule: p.Rule, Key: p.Key, Group: p.Group}, For: coord.Millis(p.ForMS), Reason: p.Reason}
	if p.UntilAtMS != 0 {
		r.Until = time.UnixMilli(p.UntilAtMS)
	}
	until, err := k.services().RateLimiter.Pause(ctx, r)
	return api.RatelimitPauseResult{PausedUntilAtMS: unixMillis(until)}, err
}

func ratelimitResume(ctx context.Context, k *call, p *api.RatelimitResumeParams) (api.RatelimitResumeResult, error) {
	if p.Pool != "" {
		return k.services().Permits.Resume(ctx, k.caller(), p)
	}
	was, err := k.services().RateLimiter.Resume(ctx, coord.GateRef{Rule: p.Rule, Key: p.Key, Group: p.Group})
	return api.RatelimitResumeResult{Resumed: was}, err
}

func ratelimitSetDelay(ctx context.Context, k *call, p *api.RatelimitSetDelayParams) (api.RatelimitSetDelayResult, error) {
	d, err := k.services().RateLimiter.SetDelay(ctx, coord.DelayRequest{
		GateRef: coord.GateRef{Rule: p.Rule, Key: p.Key, Group: p.Group},
		Delay:   coord.Millis(p.DelayMS), TTL: coord.Millis(p.TTLMS), Source: p.Source,
	})
	return api.RatelimitSetDelayResult{DelayMS: coord.MillisUp(d.Delay), UntilAtMS: unixMillis(d.Until)}, err
}

// unixMillis is an instant on the wire, 0 for none.
func unixMillis(t time.Time) int64 {
	if t.IsZero() {
		return 0
	}
	return t.UnixMilli()
}
