// Package pubsub implements channels: a message is sent at once to the present subscribers, at most
// once, and is not kept.
//
// Invariant: between two messages that a subscriber was sent, it missed none that reached this
// sidecar's Redis, unless a gap was sent between them, or is sent as soon as Redis has confirmed the
// subscription again. A slow reader delays no other one, and the messages kept for it are bounded.
package pubsub

import (
	"cmp"
	"context"
	"errors"
	"slices"
	"strings"
	"sync"
	"sync/atomic"

	"github.com/coxswain-sidecar/coxswain/client/api"
	"github.com/coxswain-sidecar/coxswain/internal/coord"
	"github.com/coxswain-sidecar/coxswain/internal/lua"
	"github.com/coxswain-sidecar/coxswain/internal/redis"
	"github.com/coxswain-sidecar/coxswain/internal/telemetry"
)

// noun is the noun of names.
const noun = "pubsub"

const (
	// maxTopics bounds the channels and patterns of one call.
	maxTopics = 256
	// maxSessionTopics bounds the topics of all subscriptions of one session.
	maxSessionTopics = 1024
	// maxSessionBytes bounds the bytes kept for the subscriptions of one session, maxBytes those of
	// all sessions.
	maxSessionBytes = 8 << 20
	maxBytes        = 64 << 20
)

// Options configure Pubsub.
type Options struct {
	Runner    *lua.Runner
	Keys      coord.Keys
	Telemetry *telemetry.Telemetry
}

// Pubsub is the channels of one sidecar.
type Pubsub struct {
	Options
	keys      keys
	publishes coord.Halved[api.PubsubPublishParams, api.PubsubPublishResult]
	// listener listens to the topics of all subscriptions. It makes its callbacks with a lock held
	// that must be taken before mu.
	listener *redis.Listener
	bytes    atomic.Int64 // kept for all subscriptions

	mu       sync.RWMutex // guards what follows
	topics   map[redis.Topic]*topic
	sessions map[*coord.Session]*member
}

// topic is a channel or a pattern that has subscriptions.
type topic struct {
	redis redis.Topic
	// pattern is what the user wrote, empty for a channel.
	pattern string
	// on reports that Redis has confirmed it.
	on bool
	// subs is replaced and never changed, so that it can be read without a lock.
	subs []*subscription
}

// member has the subscriptions of a session.
type member struct {
	subs   map[string]*subscription
	topics int
	bytes  atomic.Int64 // kept for it
}

// New returns the Pub/Sub of a sidecar. It listens to nothing until a call subscribes. Stop ends it.
func New(o Options) *Pubsub {
	p := &Pubsub{
		Options: o, keys: newKeys(o.Keys), topics: make(map[redis.Topic]*topic), sessions: make(map[*coord.Session]*member),
	}
	p.publishes = p.publishing().Halved()
	p.listener = o.Runner.Listen(redis.Hearer{Message: p.message, Listening: p.listening, Refused: p.refused, Lost: p.lost})
	return p
}

// Stop ends all subscriptions. Nothing is sent after it has returned.
func (p *Pubsub) Stop() {
	p.listener.Stop()
	p.mu.RLock()
	var all []*subscription
	for _, m := range p.sessions {
		for _, s := range m.subs {
			all = append(all, s)
		}
	}
	p.mu.RUnlock()
	for _, s := range all {
		p.quit(s)
	}
}

// Inspect lists the topics with subscriptions: channels, then patterns, each sorted.
func (p *Pubsub) Inspect() []api.InspectChannel {
	p.mu.RLock()
	defer p.mu.RUnlock()
	all := make([]api.InspectChannel, 0, len(p.topics))
	for _, t := range p.topics {
		one := api.InspectChannel{Pattern: t.pattern, Subscriptions: int64(len(t.subs)), Listening: t.on}
		if t.pattern == "" {
			one.Channel = p.keys.named(t.redis.Name)
		}
		all = append(all, one)
	}
	slices.SortFunc(all, func(a, b api.InspectChannel) int {
		return cmp.Or(strings.Compare(a.Pattern, b.Pattern), strings.Compare(a.Channel, b.Channel))
	})
	return all
}

// Methods lists the methods of the noun.
func (p *Pubsub) Methods() []coord.Method {
	return []coord.Method{
		coord.On(api.PubsubPublish, p.Publish, coord.Piped, coord.Named(noun, "channel"), p.publishes.Direct),
		coord.On(api.PubsubSubscribe, p.Subscribe),
		coord.On(api.PubsubUnsubscribe, p.Unsubscribe),
	}
}

// Publish sends a message to the present subscribers of a channel.
func (p *Pubsub) Publish(ctx context.Context, c coord.Caller, params *api.PubsubPublishParams) (api.PubsubPublishResult, error) {
	return p.publishes.Run(ctx, c, params)
}

// errDenied is the error if the user of redis.url may not publish to the channel.
var errDenied = errors.New("redis denies the sidecar's user to publish to channels of pubsub (NOPERM); docs/redis.md has the rules that it needs")

func (p *Pubsub) publishing() coord.Single[api.PubsubPublishParams, PublishIn, PublishOut, api.PubsubPublishResult, string] {
	return coord.Single[api.PubsubPublishParams, PublishIn, PublishOut, api.PubsubPublishResult, string]{
		Runner: p.Runner, Script: PublishScript,
		Ask: func(
			c coord.Caller, params *api.PubsubPublishParams, channel *string,
		) (ask coord.Question[PublishIn], _ coord.Prepared, r api.PubsubPublishResult, _ error) {
			*channel = params.Channel
			route := p.keys.route(params.Channel)
			ask.Patience, ask.StoredReply = lua.Patient, coord.StoredReply(route, c)
			ask.In = PublishIn{Route: route, Channel: p.keys.channel(params.Channel).Name, Body: string(params.Body)}
			return ask, coord.Asking, r, nil
		},
		Answer: func(ctx context.Context, channel *string, out lua.Outcome[PublishOut], err error) (
			r api.PubsubPublishResult, _ coord.Rest[api.PubsubPublishResult], _ error,
		) {
			if err != nil {
				return r, nil, coord.Failed("pubsub "+*channel+": publish", err)
			}
			if out.Value.Receivers < 0 {
				return r, nil, &coord.Error{Code: api.FailedPrecondition, Op: "pubsub " + *channel + ": publish", Err: errDenied}
			}
			if !out.Replayed {
				p.Telemetry.PubsubMessages(ctx, telemetry.PubsubPublished, 1)
			}
			return api.PubsubPublishResult{Receivers: out.Value.Receivers}, nil, nil
		},
	}
}
