package coord_test

import (
	"context"
	"time"

	"github.com/coxswain-sidecar/coxswain/client/api"
	"github.com/coxswain-sidecar/coxswain/internal/coord"
)

func (c *client) RatelimitReport(ctx context.Context, id string, p api.RatelimitReportParams) (api.RatelimitReportResult, error) {
	b, err := c.limiter.Report(ctx, c.caller(id, "ratelimit.report", p), coord.ReportRequest{
		GateRef: coord.GateRef{Rule: p.Rule, Key: p.Key, Group: p.Group}, Grant: p.Grant,
		Status: p.Status, Latency: millis(p.LatencyMS), RetryAfter: millis(p.RetryAfterMS),
	})
	return api.RatelimitReportResult{WaitMS: b.Wait.Milliseconds(), PausedUntilAtMS: unixMillis(b.Until)}, wire(err)
}

func (c *client) RatelimitPause(ctx context.Context, p api.RatelimitPauseParams) (api.RatelimitPauseResult, error) {
	r := coord.PauseRequest{GateRef: coord.GateRef{Rule: p.Rule, Key: p.Key, Group: p.Group}, For: millis(p.ForMS), Reason: p.Reason}
	if p.UntilAtMS != 0 {
		r.Until = time.UnixMilli(p.UntilAtMS)
	}
	until, err := c.limiter.Pause(ctx, r)
	return api.RatelimitPauseResult{PausedUntilAtMS: unixMillis(until)}, wire(err)
}

func (c *client) RatelimitResume(ctx context.Context, p api.RatelimitResumeParams) (api.RatelimitResumeResult, error) {
	was, err := c.limiter.Resume(ctx, coord.GateRef{Rule: p.Rule, Key: p.Key, Group: p.Group})
	return api.RatelimitResumeResult{Resumed: was}, wire(err)
}

func (c *client) RatelimitSetDelay(ctx context.Context, p api.RatelimitSetDelayParams) (api.RatelimitSetDelayResult, error) {
	source := p.Source
	if source == "" {
		source = "robots"
	}
	d, err := c.limiter.SetDelay(ctx, coord.DelayRequest{
		GateRef: coord.GateRef{Rule: p.Rule, Key: p.Key, Group: p.Group},
		Delay:   millis(p.DelayMS), TTL: millis(orDefault(p.TTLMS, 86_400_000)), Source: source,
	})
	return api.RatelimitSetDelayResult{DelayMS: d.Delay.Milliseconds(), UntilAtMS: unixMillis(d.Until)}, wire(err)
}

func unixMillis(t time.Time) int64 {
	if t.IsZero() {
		return 0
	}
	return t.UnixMilli()
}
