package stream

import (
	"context"
	"time"

	"github.com/coxswain-sidecar/coxswain/internal/coord"
)

// Pack encodes a message as it is kept in Redis.
func Pack(ctx context.Context, body string) (string, error) { return pack(ctx, []byte(body), nil) }

// KeysOf are the keys of a stream.
func KeysOf(k coord.Keys, stream string) (Keys, DelayedKeys) {
	return keys{k}.streamKeys(stream), keys{k}.delayedKeys(stream)
}

// AckOf returns the input of AckScript for a message.
func AckOf(k coord.Keys, stream, group, id string) AckIn {
	return AckIn{Keys: keys{k}.streamKeys(stream), GroupKeys: keys{k}.groupKeys(stream, group), Group: group, ID: id}
}

// Reading reports whether the loop of a group reads new messages.
func Reading(s *Streams, stream, group string) bool {
	g := s.delivery.find(groupName{stream, group})
	if g == nil {
		return false
	}
	g.mu.Lock()
	defer g.mu.Unlock()
	return g.capacity() > 0 && !g.retries
}

// Wait returns how long messages are kept for a client that reads too slowly.
func Wait(visibility time.Duration) time.Duration { return visibility / 3 }

// Looked returns when the loop of a group last began to claim messages that are to be delivered
// again.
func Looked(s *Streams, stream, group string) time.Time {
	g := s.delivery.find(groupName{stream, group})
	g.mu.Lock()
	defer g.mu.Unlock()
	return g.looked
}
