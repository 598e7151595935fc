package lua

import (
	"context"
	"fmt"
	"log/slog"
	"sync/atomic"

	"github.com/redis/go-redis/v9"
)

// redisLog takes what go-redis says of itself, which would else be plain lines on
// stderr that block when nobody reads them. It has one log for the process, so
// the runner that was opened last gets them.
type redisLog struct{ to atomic.Pointer[slog.Logger] }

var libraryLog redisLog

func init() { redis.SetLogger(&libraryLog) } // it is read without a lock: before the first client is made

// Printf implements the interface of go-redis. The probe tells outages, in words
// for those who run a sidecar, so that this is for those who search a fault.
func (l *redisLog) Printf(ctx context.Context, format string, args ...any) {
	if to := l.to.Load(); to != nil {
		to.DebugContext(ctx, "go-redis: "+fmt.Sprintf(format, args...))
	}
}
