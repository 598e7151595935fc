package stream

import (
	"context"
	"time"

	"github.com/coxswain-sidecar/coxswain/internal/coord"
)

// OperatedKeys are those of a stream, of its delayed messages and of what a group of it has to
// try again.
func OperatedKeys(k coord.Keys, stream, group string) (Keys, DelayedKeys, GroupKeys) {
	return keys{k}.streamKeys(stream), keys{k}.delayedKeys(stream), keys{k}.groupKeys(stream, group)
}

// Packed is a message as it is kept.
func Packed(ctx context.Context, body []byte, fields map[string]string) (string, error) {
	return pack(ctx, body, fields)
}

// Reap and ReapIdle run the reaper.
func Reap(ctx context.Context, s *Streams, stream, group string) error {
	return s.reap(ctx, stream, group)
}

func ReapIdle(ctx context.Context, s *Streams, stream, group string, idle time.Duration) error {
	return s.reapIdle(ctx, stream, group, idle)
}
