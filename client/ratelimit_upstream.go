package client

import (
	"context"

	"github.com/coxswain-sidecar/coxswain/client/api"
)

// RatelimitReport tells how the remote server answered, and returns how long to
// stay away: a status among the rule's penalty codes pauses the key for everyone,
// as long as the server asks, else ever longer. It frees the grant's place.
func (c *Client) RatelimitReport(ctx context.Context, p api.RatelimitReportParams) (api.RatelimitReportResult, error) {
	return Call(ctx, c, api.RatelimitReport, p)
}

// RatelimitPause refuses a key for a time, in every sidecar, and returns what is
// in force: of several pauses the longest counts.
func (c *Client) RatelimitPause(ctx context.Context, p api.RatelimitPauseParams) (api.RatelimitPauseResult, error) {
	return Call(ctx, c, api.RatelimitPause, p)
}

// RatelimitResume ends the pause of a key and forgets its penalty, and reports
// whether it was paused.
func (c *Client) RatelimitResume(ctx context.Context, p api.RatelimitResumeParams) (bool, error) {
	r, err := Call(ctx, c, api.RatelimitResume, p)
	return r.Resumed, err
}

// RatelimitSetDelay keeps a time between any two admissions of a key, and returns
// what is in force: of several sources the slowest counts.
func (c *Client) RatelimitSetDelay(ctx context.Context, p api.RatelimitSetDelayParams) (api.RatelimitSetDelayResult, error) {
	return Call(ctx, c, api.RatelimitSetDelay, p)
}
