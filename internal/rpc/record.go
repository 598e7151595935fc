package rpc

import (
	"context"
	"log/slog"
	"slices"
	"time"

	"github.com/coxswain-sidecar/coxswain/client/api"
)

// record counts a call that is over, and logs it at level debug. k is nil if its params
// were not read.
func (c *conn) record(ctx context.Context, method string, k *call, code string, took time.Duration) {
	t := c.server.opts.Telemetry
	t.RPC(ctx, method, code, took)
	if !c.log.Enabled(ctx, slog.LevelDebug) {
		return
	}
	attrs := append(make([]slog.Attr, 0, 4), slog.String("method", method), slog.String("code", code),
		slog.Float64("duration_ms", float64(took.Microseconds())/1e3))
	if k != nil && t.RecordKeys && k.entry.noun >= 0 {
		attrs = append(attrs, slog.String("name", k.body.noun()))
	}
	c.log.LogAttrs(ctx, slog.LevelDebug, "call", attrs...)
}

// nounParams are the params that name the object of a call. No token is among them, since they are logged.
var nounParams = []string{"name", "key", "pool", "queue", "set", "stream", "channel"}

// nounAt returns the index of the required field of params that names the object of a call, -1 if there is none.
func nounAt(fields []api.Field) int {
	for _, f := range fields {
		if f.Required && f.Kind == api.KindStr && slices.Contains(nounParams, f.Name) {
			return f.Index
		}
	}
	return -1
}
