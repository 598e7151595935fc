package rpc_test

import (
	"context"
	"testing"
	"time"

	"github.com/coxswain-sidecar/coxswain/client/api"
	"github.com/coxswain-sidecar/coxswain/internal/coord"
	"github.com/coxswain-sidecar/coxswain/internal/coord/ratelimit"
	"github.com/coxswain-sidecar/coxswain/internal/coordtest"
	"github.com/coxswain-sidecar/coxswain/internal/lua"
	"github.com/coxswain-sidecar/coxswain/internal/luatest"
	"github.com/coxswain-sidecar/coxswain/internal/redis"
	"github.com/coxswain-sidecar/coxswain/internal/redistest"
	"github.com/coxswain-sidecar/coxswain/internal/rpc"
)

// serveAll starts a server with every service over the embedded store.
func serveAll(t testing.TB, more ...rpc.Entry) *bench {
	t.Helper()
	return serveOn(t, rpc.Options{}, luatest.Open(t, lua.Options{URL: redis.Embedded}), more...)
}

func serveOn(t testing.TB, o rpc.Options, r *lua.Runner, more ...rpc.Entry) *bench {
	t.Helper()
	s := coordtest.NewWith(t, r, redistest.Prefix(t), coordtest.Options{Telemetry: o.Telemetry})
	s.FollowRules(t, ratelimit.RuntimeRulesOptions{Signals: s.Signals})
	b := serveWith(t, o, rpc.Services{
		Leases:       s.Leases,
		Methods:      s.Methods(),
		Rules:        s.Rules.InForce,
		StreamGroups: s.Streams.Inspect,
		Channels:     s.Pubsub.Inspect,
		Events:       coord.NewEvents(),
		Draining:     func(time.Time) { s.Streams.Drain() },
		Health: func(context.Context) api.HealthResult {
			return api.HealthResult{Live: true, Store: "embedded"}
		},
	}, more...)
	b.limiter, b.streams = s.Limiter, s.Streams
	return b
}
