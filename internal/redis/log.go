package redis

import (
	"context"
	"fmt"
	"log/slog"
	"sync/atomic"

	"github.com/redis/go-redis/v9"
)

// redisLog receives the log lines of go-redis, which otherwise go to stderr and block
// if nobody reads them. go-redis has one logger for the process, so that the store that
// was opened last receives them.
type redisLog struct{ to atomic.Pointer[slog.Logger] }

var libraryLog redisLog

func init() { redis.SetLogger(&libraryLog) } // go-redis reads it without a lock, so it is set before the first client is made

// Printf implements the logger of go-redis. It logs at debug level, since the probe
// already logs outages in texts for operators.
func (l *redisLog) Printf(ctx context.Context, format string, args ...any) {
	if to := l.to.Load(); to != nil {
		to.DebugContext(ctx, "go-redis: "+fmt.Sprintf(format, args...))
	}
}
