package redis_test

import (
	"bytes"
	"log/slog"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/coxswain-sidecar/coxswain/internal/redis"
)

// Not parallel: go-redis logs to the store that was opened last.
func TestTheLogOfGoRedisIsWrittenToTheLogOfTheStore(t *testing.T) {
	var log bytes.Buffer
	r, err := redis.Open(redis.Options{
		URL: redis.Embedded, Log: slog.New(slog.NewTextHandler(&log, &slog.HandlerOptions{Level: slog.LevelDebug})),
	}, redis.Scripts{})
	require.NoError(t, err)
	redis.SayAsGoRedis("pool: %d", 1)
	require.NoError(t, r.Close())
	require.Contains(t, log.String(), `level=DEBUG msg="go-redis: pool: 1"`)
}
