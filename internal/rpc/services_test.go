package rpc_test

import (
	"context"
	"slices"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/coxswain-sidecar/coxswain/client/api"
	"github.com/coxswain-sidecar/coxswain/internal/coord"
	"github.com/coxswain-sidecar/coxswain/internal/coord/breaker"
	"github.com/coxswain-sidecar/coxswain/internal/coord/lease"
	"github.com/coxswain-sidecar/coxswain/internal/coord/lock"
	"github.com/coxswain-sidecar/coxswain/internal/coord/pool"
	"github.com/coxswain-sidecar/coxswain/internal/coord/queue"
	"github.com/coxswain-sidecar/coxswain/internal/coord/ratelimit"
	"github.com/coxswain-sidecar/coxswain/internal/coord/seen"
	"github.com/coxswain-sidecar/coxswain/internal/coord/semaphore"
	"github.com/coxswain-sidecar/coxswain/internal/lua"
	"github.com/coxswain-sidecar/coxswain/internal/redis"
	"github.com/coxswain-sidecar/coxswain/internal/redistest"
	"github.com/coxswain-sidecar/coxswain/internal/rpc"
	"github.com/coxswain-sidecar/coxswain/internal/telemetry"
)

// serveAll starts a server with every service over the embedded store.
func serveAll(t testing.TB, more ...rpc.Entry) *bench {
	t.Helper()
	return serveOn(t, rpc.Options{}, openStore(t, redis.Embedded), more...)
}

func openStore(t testing.TB, url string) *lua.Runner {
	t.Helper()
	r, err := lua.Open(lua.Options{URL: url})
	require.NoError(t, err)
	t.Cleanup(func() { require.NoError(t, r.Close()) })
	return r
}

func serveOn(t testing.TB, o rpc.Options, r *lua.Runner, more ...rpc.Entry) *bench {
	t.Helper()
	tel := o.Telemetry
	if tel == nil {
		tel = telemetry.Nop()
	}
	keys := coord.NewKeys(redistest.Prefix(t), "")
	leases := lease.NewLeases(tel)
	signals := coord.NewSignals(r, keys)
	t.Cleanup(signals.Stop)
	lines := lease.NewLines(r, signals, leases)
	t.Cleanup(lines.Stop)
	rules := ratelimit.NewRules()
	runtime := ratelimit.NewRuntimeRules(ratelimit.RuntimeRulesOptions{Runner: r, Keys: keys, Rules: rules, Signals: signals})
	t.Cleanup(runtime.Stop)
	pools := pool.New(r, keys, leases, lines)
	breakers := breaker.New(breaker.Options{
		Runner: r, Keys: keys, Policies: breaker.NewPolicies(), Members: pools, Leases: leases, Answers: coord.NewAnswers(signals), Telemetry: tel,
	})
	permits := pool.NewPermits(pool.PermitsOptions{
		Runner: r, Keys: keys, Rules: rules, Breakers: breakers, Leases: leases, Lines: lines,
	})
	limiter := ratelimit.New(ratelimit.Options{
		Runner: r, Keys: keys, Rules: rules, Leases: leases, Lines: lines, Members: permits, Signals: signals, Telemetry: tel,
	})
	b := serveWith(t, o, rpc.Services{
		Leases: leases,
		Methods: slices.Concat(
			lock.New(r, keys, leases, lines).Methods(),
			semaphore.New(r, keys, leases, lines).Methods(),
			queue.New(r, keys, leases, lines).Methods(),
			seen.New(r, keys, leases).Methods(),
			limiter.Methods(), rules.Methods(), runtime.Methods(),
			breakers.Methods(),
			pools.Methods(),
			permits.Methods(),
		),
		Rules:  rules.InForce,
		Events: coord.NewEvents(),
		Health: func(context.Context) api.HealthResult {
			return api.HealthResult{Live: true, Store: "embedded"}
		},
	}, more...)
	b.limiter = limiter
	return b
}
