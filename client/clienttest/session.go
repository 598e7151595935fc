package clienttest

import (
	"slices"
	"strings"

	"github.com/coxswain-sidecar/coxswain/client/api"
)

// The sidecar's part of the result of session.hello.
const (
	server        = "coxswain"
	version       = "0.0.0-fake"
	maxFrameBytes = 1 << 20
	maxInflight   = 1024
)

// eventKinds are the kinds that events.subscribe accepts.
var eventKinds = []string{"breaker", "degraded", "draining", "forced", "lost", "paused", "refused", "reloaded", "resumed"}

func sessionMethods(t map[string]method) {
	define(t, api.SessionHello, func(c *call, p *api.HelloParams) (api.HelloResult, error) {
		c.cn.hello = *p
		r := api.HelloResult{
			Server: server, Version: version, Protocol: api.ProtocolVersion, Session: c.cn.id, NowAtMS: c.s.now().UnixMilli(),
			Limits: api.Limits{MaxFrameBytes: maxFrameBytes, MaxInflight: maxInflight},
		}
		for _, m := range api.Methods() {
			r.Methods = append(r.Methods, m.Name)
		}
		return r, nil
	})
	define(t, api.SessionPing, func(c *call, _ *api.Nothing) (api.PingResult, error) {
		return api.PingResult{NowAtMS: c.s.now().UnixMilli()}, nil
	})
	define(t, api.SessionDrain, func(c *call, p *api.DrainParams) (api.DrainResult, error) {
		at := c.s.now().Add(ms(p.DeadlineMS)).UnixMilli()
		for cn := range c.s.conns {
			cn.notify(api.SessionDraining.Name, api.DrainingParams{DeadlineAtMS: at})
		}
		return api.DrainResult{Draining: true, DeadlineAtMS: at, Connections: int64(len(c.s.conns))}, nil
	})
	define(t, api.EventsSubscribe, func(c *call, p *api.EventsSubscribeParams) (api.EventsSubscribeResult, error) {
		kinds := slices.Sorted(slices.Values(p.Kinds))
		if len(kinds) == 0 {
			kinds = eventKinds
		}
		for _, k := range kinds {
			if !slices.Contains(eventKinds, k) {
				return api.EventsSubscribeResult{}, invalid("kinds: %q is unknown; use kinds out of %s", k, strings.Join(eventKinds, ", "))
			}
		}
		c.cn.kinds = kinds
		return api.EventsSubscribeResult{Subscribed: kinds}, nil
	})
	define(t, api.EventsUnsubscribe, func(c *call, _ *api.Nothing) (api.Nothing, error) {
		c.cn.kinds = nil
		return api.Nothing{}, nil
	})
}
