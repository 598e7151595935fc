package pubsub

import (
	"strings"

	"github.com/coxswain-sidecar/coxswain/internal/coord"
	"github.com/coxswain-sidecar/coxswain/internal/redis"
)

// keys are the names that Pub/Sub has in Redis.
type keys struct {
	coord.Keys
	channels, patterns string // what those of users begin with
}

func newKeys(k coord.Keys) keys { return keys{k, k.Messages(), k.MessagesPattern()} }

// route is a key that is never written: its slot says which node is asked to publish.
func (k keys) route(channel string) string { return k.Key(coord.Escaped(channel), "pubsub", "") }

// channel is the channel in Redis.
func (k keys) channel(channel string) redis.Topic { return redis.Topic{Name: k.channels + channel} }

// pattern is the pattern in Redis, which matches none but channels of users.
func (k keys) pattern(pattern string) redis.Topic {
	return redis.Topic{Name: k.patterns + pattern, Pattern: true}
}

// named is what a user called a channel.
func (k keys) named(channel string) string { return strings.TrimPrefix(channel, k.channels) }
