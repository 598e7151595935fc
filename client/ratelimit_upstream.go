package client

import (
	"context"
	"time"

	"github.com/coxswain-sidecar/coxswain/client/api"
)

// RatelimitReport reports the response of the remote server, and returns how long to stay
// away from it. A status among the penalty codes of the rule pauses the key for all
// callers: for as long as the server asks, or else longer each time. It also gives back the
// permit of the grant under a rule with max_concurrent.
func (c *Client) RatelimitReport(ctx context.Context, p api.RatelimitReportParams) (api.RatelimitReportResult, error) {
	return Call(ctx, c, api.RatelimitReport, p)
}

// RatelimitPause pauses a key in all sidecars for a time, and returns when the pause that is
// in force ends, by the clock of the Redis server. If there are several, the longest is in force.
func (c *Client) RatelimitPause(ctx context.Context, p api.RatelimitPauseParams) (until time.Time, err error) {
	r, err := Call(ctx, c, api.RatelimitPause, p)
	return instant(r.PausedUntilAtMS), err
}

// RatelimitResume ends the pause of a key, clears its penalty, and reports whether it was
// paused.
func (c *Client) RatelimitResume(ctx context.Context, p api.RatelimitResumeParams) (bool, error) {
	r, err := Call(ctx, c, api.RatelimitResume, p)
	return r.Resumed, err
}

// RatelimitSetDelay sets the least time between two admissions of a key, and returns the
// delay that is in force. If several sources set one, the longest is in force.
func (c *Client) RatelimitSetDelay(ctx context.Context, p api.RatelimitSetDelayParams) (api.RatelimitSetDelayResult, error) {
	return Call(ctx, c, api.RatelimitSetDelay, p)
}
