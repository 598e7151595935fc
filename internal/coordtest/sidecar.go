// Package coordtest runs the coordination logic of a sidecar within a test: all nouns over a runner, their callers, and
// connections to Redis that fail. It is for tests only.
//
// Its invariant: everything that it starts ends with the test that started it, in the order in which a sidecar ends it.
package coordtest

import (
	"context"
	"log/slog"
	"slices"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/coxswain-sidecar/coxswain/internal/conformance"
	"github.com/coxswain-sidecar/coxswain/internal/coord"
	"github.com/coxswain-sidecar/coxswain/internal/coord/breaker"
	"github.com/coxswain-sidecar/coxswain/internal/coord/fleet"
	"github.com/coxswain-sidecar/coxswain/internal/coord/lease"
	"github.com/coxswain-sidecar/coxswain/internal/coord/lock"
	"github.com/coxswain-sidecar/coxswain/internal/coord/pool"
	"github.com/coxswain-sidecar/coxswain/internal/coord/pubsub"
	"github.com/coxswain-sidecar/coxswain/internal/coord/queue"
	"github.com/coxswain-sidecar/coxswain/internal/coord/ratelimit"
	"github.com/coxswain-sidecar/coxswain/internal/coord/seen"
	"github.com/coxswain-sidecar/coxswain/internal/coord/semaphore"
	"github.com/coxswain-sidecar/coxswain/internal/coord/stream"
	"github.com/coxswain-sidecar/coxswain/internal/lua"
	"github.com/coxswain-sidecar/coxswain/internal/telemetry"
)

// Sidecar is all nouns of one process.
type Sidecar struct {
	Runner   *lua.Runner
	Keys     coord.Keys
	Leases   *lease.Leases
	Signals  *coord.Signals
	Lines    *lease.Lines
	Locks    *lock.Locks
	Queues   *queue.Queues
	Rules    *ratelimit.Rules
	Limiter  *ratelimit.Limiter
	Policies *breaker.Policies
	Breakers *breaker.Breakers
	Pools    *pool.Pools
	Permits  *pool.Permits
	Streams  *stream.Streams
	Pubsub   *pubsub.Pubsub
	Fleet    *fleet.Fleet

	clock   coord.Clock
	methods []coord.Method
}

// Options are options that most tests do not need.
type Options struct {
	Clock     coord.Clock          // nil = the pod's
	Telemetry *telemetry.Telemetry // nil = none
	Log       *slog.Logger         // nil = none; for the nouns that log
	Deaf      bool                 // its limits and breakers receive no broadcasts of other sidecars
}

// New starts a sidecar that uses the runner, until the test ends.
func New(t testing.TB, r *lua.Runner, prefix string) *Sidecar {
	t.Helper()
	return NewWith(t, r, prefix, Options{})
}

// NewWith is New with options.
func NewWith(t testing.TB, r *lua.Runner, prefix string, o Options) *Sidecar {
	t.Helper()
	tel, keys := o.Telemetry, coord.NewKeys(prefix, "")
	if tel == nil {
		tel = telemetry.Nop()
	}
	s := &Sidecar{
		Runner: r, Keys: keys, Leases: lease.NewLeases(tel), Signals: coord.NewSignals(r, keys),
		Rules: ratelimit.NewRules(), Policies: breaker.NewPolicies(), clock: o.Clock,
	}
	require.NoError(t, s.Policies.Set(conformance.BreakerPolicies()))
	s.Lines = lease.NewLines(r, s.Signals, s.Leases)
	heard := s.Signals
	if o.Deaf {
		heard = nil
	}
	answers := coord.NewAnswers(heard)
	s.Locks = lock.New(r, keys, s.Leases, s.Lines)
	s.Queues = queue.New(r, keys, s.Leases, s.Lines)
	s.Pools = pool.New(r, keys, s.Leases, s.Lines)
	s.Breakers = breaker.New(breaker.Options{
		Runner: r, Keys: keys, Policies: s.Policies, Members: s.Pools, Leases: s.Leases, Answers: answers, Telemetry: tel, Clock: o.Clock,
	})
	s.Permits = pool.NewPermits(pool.PermitsOptions{
		Runner: r, Keys: keys, Rules: s.Rules, Breakers: s.Breakers, Leases: s.Leases, Lines: s.Lines,
	})
	s.Limiter = ratelimit.New(ratelimit.Options{
		Runner: r, Keys: keys, Rules: s.Rules, Leases: s.Leases, Lines: s.Lines, Members: s.Permits,
		Signals: heard, Answers: answers, Telemetry: tel, Clock: o.Clock,
	})
	s.Streams = stream.New(stream.Options{
		Runner: r, Keys: keys, Leases: s.Leases, Signals: s.Signals, Telemetry: tel, Log: o.Log, Clock: o.Clock, Limits: s.Limiter,
	})
	s.Pubsub = pubsub.New(pubsub.Options{Runner: r, Keys: keys, Telemetry: tel})
	s.Fleet = fleet.New(fleet.Options{Runner: r, Keys: keys, Sidecar: s.Signals.Sidecar, Clock: o.Clock, About: func() fleet.About {
		return fleet.About{Pod: "pod", Version: "test", Rules: int64(len(s.Rules.Names()))}
	}})
	s.methods = slices.Concat(
		s.Locks.Methods(),
		semaphore.New(r, keys, s.Leases, s.Lines).Methods(),
		s.Queues.Methods(),
		seen.New(r, keys, s.Leases).Methods(),
		s.Limiter.Methods(), s.Rules.Methods(),
		s.Breakers.Methods(),
		s.Pools.Methods(),
		s.Permits.Methods(),
		s.Streams.Methods(),
		s.Pubsub.Methods(),
		s.Fleet.Methods(),
	)
	t.Cleanup(func() {
		s.Pubsub.Stop()
		_ = s.Streams.Stop(context.Background()) // the only error is that of the context, which has none
		_ = s.Limiter.Stop(context.Background())
		s.Lines.Stop()
		s.Signals.Stop()
		s.Leases.Stop(context.Background())
	})
	return s
}

// FollowRules adds the rules in Redis to the sidecar's rules until the test ends. It sets Runner, Keys, Rules and Clock
// of the options to the sidecar's.
func (s *Sidecar) FollowRules(t testing.TB, o ratelimit.RuntimeRulesOptions) *ratelimit.RuntimeRules {
	t.Helper()
	o.Runner, o.Keys, o.Rules, o.Clock = s.Runner, s.Keys, s.Rules, s.clock
	r := ratelimit.NewRuntimeRules(o)
	t.Cleanup(r.Stop)
	s.methods = append(s.methods, r.Methods()...)
	return r
}

// Methods returns the methods of all nouns.
func (s *Sidecar) Methods() []coord.Method { return s.methods }
