package pubsub

import (
	"strings"

	"github.com/coxswain-sidecar/coxswain/internal/coord"
	"github.com/coxswain-sidecar/coxswain/internal/redis"
)

// keys builds the names of channels and patterns in Redis.
type keys struct {
	coord.Keys
	channels, patterns string // what those of users begin with
}

func newKeys(k coord.Keys) keys { return keys{k, k.Messages(), k.MessagesPattern()} }

// route returns a key that is never written; its slot determines the node that publishes.
func (k keys) route(channel string) string { return k.Key(coord.Escaped(channel), "pubsub", "") }

// channel returns the name of a channel in Redis.
func (k keys) channel(channel string) redis.Topic { return redis.Topic{Name: k.channels + channel} }

// pattern returns a pattern in Redis, which matches only channels of users.
func (k keys) pattern(pattern string) redis.Topic {
	return redis.Topic{Name: k.patterns + pattern, Pattern: true}
}

// named returns the name that users gave a channel in Redis.
func (k keys) named(channel string) string { return strings.TrimPrefix(channel, k.channels) }
