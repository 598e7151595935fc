package redis

import (
	"context"
	"fmt"
	"log/slog"
	"sync/atomic"

	"github.com/redis/go-redis/v9"
)

// redisLog takes what go-redis says of itself, which would else be plain lines on
// stderr that block when nobody reads them. It has one log for the process, so
// the store that was opened last gets them.
type redisLog struct{ to atomic.Pointer[slog.Logger] }

var libraryLog redisLog

func init() { redis.SetLogger(&libraryLog) } // it is read without a lock: before the first client is made

// Printf implements the interface of go-redis. It logs at debug: the
// probe logs outages already, in words for operators.
func (l *redisLog) Printf(ctx context.Context, format string, args ...any) {
	if to := l.to.Load(); to != nil {
		to.DebugContext(ctx, "go-redis: "+fmt.Sprintf(format, args...))
	}
}
