package clienttest

import (
	"slices"

	"github.com/coxswain-sidecar/coxswain/client/api"
)

// What a sidecar says of itself.
const (
	server        = "coxswain"
	version       = "0.0.0-fake"
	maxFrameBytes = 1 << 20
	maxInflight   = 1024
)

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
		c.cn.follows, c.cn.kinds = true, p.Kinds
		return api.EventsSubscribeResult{Subscribed: slices.Sorted(slices.Values(p.Kinds))}, nil
	})
	define(t, api.EventsUnsubscribe, func(c *call, _ *api.Nothing) (api.Nothing, error) {
		c.cn.follows, c.cn.kinds = false, nil
		return api.Nothing{}, nil
	})
}
