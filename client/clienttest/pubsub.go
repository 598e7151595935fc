package clienttest

import (
	"fmt"
	"slices"

	"github.com/coxswain-sidecar/coxswain/client/api"
)

// topic is a subscription of a connection, with its channels and patterns.
type topic struct {
	id                 string
	cn                 *conn
	channels, patterns []string
}

func pubsubMethods(t map[string]method) {
	define(t, api.PubsubSubscribe, func(c *call, p *api.PubsubSubscribeParams) (api.PubsubSubscribeResult, error) {
		if n := len(p.Channels) + len(p.Patterns); n < 1 || n > 256 {
			return api.PubsubSubscribeResult{}, invalid("channels: give 1 to 256 channels and patterns together")
		}
		s := c.s
		c.cn.subscribe++
		tp := &topic{id: fmt.Sprintf("%s/%d", c.cn.id, c.cn.subscribe), cn: c.cn, channels: p.Channels, patterns: p.Patterns}
		s.topics = append(s.topics, tp)
		c.cn.subs[tp.id] = func() { s.topics = slices.DeleteFunc(s.topics, func(x *topic) bool { return x == tp }) }
		return api.PubsubSubscribeResult{Subscription: tp.id}, nil
	})
	define(t, api.PubsubUnsubscribe, func(c *call, p *api.PubsubUnsubscribeParams) (api.PubsubUnsubscribeResult, error) {
		return api.PubsubUnsubscribeResult{Unsubscribed: c.unsubscribe(p.Subscription)}, nil
	})
	define(t, api.PubsubPublish, func(c *call, p *api.PubsubPublishParams) (api.PubsubPublishResult, error) {
		told := make(map[string]bool) // counted as Redis does: a sidecar once for the channel, and once for each pattern
		send := func(tp *topic, pattern string) {
			told[pattern] = true
			tp.cn.notify(api.PubsubMessageEvent.Name, api.PubsubMessage{Subscription: tp.id, Channel: p.Channel, Pattern: pattern, Body: p.Body})
		}
		for _, tp := range c.s.topics {
			if slices.Contains(tp.channels, p.Channel) {
				send(tp, "")
			}
			for _, pattern := range tp.patterns {
				if glob(pattern, p.Channel) {
					send(tp, pattern)
				}
			}
		}
		return api.PubsubPublishResult{Receivers: int64(len(told))}, nil
	})
}
