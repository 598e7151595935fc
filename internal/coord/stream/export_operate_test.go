package stream

import (
	"context"
	"time"

	"github.com/coxswain-sidecar/coxswain/internal/coord"
)

// KeysOf, DelayedOf and RetryOf are the keys of a stream and of a group of it.
func KeysOf(k coord.Keys, stream string) Keys           { return keys{k}.streamKeys(stream) }
func DelayedOf(k coord.Keys, stream string) DelayedKeys { return keys{k}.delayedKeys(stream) }
func RetryOf(k coord.Keys, stream, group string) string { return keys{k}.retry(stream, group) }

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
