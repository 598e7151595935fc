package coord_test

import (
	"context"
	"fmt"
	"slices"
	"strconv"
	"testing"
	"time"

	"github.com/hashicorp/go-msgpack/v2/codec"
	"github.com/stretchr/testify/require"

	"github.com/coxswain-sidecar/coxswain/client/api"
	"github.com/coxswain-sidecar/coxswain/internal/conformance"
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

func TestLimitsConform(t *testing.T) {
	t.Parallel()
	redistest.Stores(t, func(t *testing.T, url string) {
		t.Parallel()
		conformance.Limits(t, newSystem(t, url))
	})
}

func TestAlgorithmsConform(t *testing.T) {
	t.Parallel()
	redistest.Stores(t, func(t *testing.T, url string) {
		t.Parallel()
		conformance.Algorithms(t, newSystem(t, url))
	})
}

func TestManyConform(t *testing.T) {
	t.Parallel()
	redistest.Stores(t, func(t *testing.T, url string) {
		t.Parallel()
		conformance.Many(t, newSystem(t, url))
	})
}

func TestLocksConform(t *testing.T) {
	t.Parallel()
	redistest.Stores(t, func(t *testing.T, url string) {
		t.Parallel()
		conformance.Locks(t, newSystem(t, url))
	})
}

func TestWaitingConforms(t *testing.T) {
	t.Parallel()
	redistest.Stores(t, func(t *testing.T, url string) {
		t.Parallel()
		conformance.Waiting(t, newSystem(t, url))
	})
}

func TestSemaphoresConform(t *testing.T) {
	t.Parallel()
	redistest.Stores(t, func(t *testing.T, url string) {
		t.Parallel()
		conformance.Semaphores(t, newSystem(t, url))
	})
}

func TestUpstreamConforms(t *testing.T) {
	t.Parallel()
	redistest.Stores(t, func(t *testing.T, url string) {
		t.Parallel()
		conformance.Upstream(t, newSystem(t, url))
	})
}

// sidecar is all of coord that one process has.
type sidecar struct {
	runner  *lua.Runner
	leases  *lease.Leases
	signals *coord.Signals
	lines   *lease.Lines
	locks   *lock.Locks
	queues  *queue.Queues
	rules   *ratelimit.Rules
	limiter *ratelimit.Limiter

	policies *breaker.Policies
	breakers *breaker.Breakers
	pools    *pool.Pools
	permits  *pool.Permits

	methods map[string]coord.Method
}

// newSidecar starts one that uses the runner; the test ends it.
func newSidecar(t testing.TB, r *lua.Runner, prefix string) *sidecar {
	t.Helper()
	return newSidecarBy(t, r, prefix, nil)
}

// newSidecarBy starts one by another clock than the pod's.
func newSidecarBy(t testing.TB, r *lua.Runner, prefix string, clock coord.Clock) *sidecar {
	t.Helper()
	return build(t, r, prefix, clock, false)
}

// newDeafSidecar starts one whose limiter hears nothing of others.
func newDeafSidecar(t testing.TB, r *lua.Runner, prefix string, clock coord.Clock) *sidecar {
	t.Helper()
	return build(t, r, prefix, clock, true)
}

func build(t testing.TB, r *lua.Runner, prefix string, clock coord.Clock, deaf bool) *sidecar {
	t.Helper()
	tel, keys := telemetry.Nop(), coord.NewKeys(prefix, "")
	s := &sidecar{runner: r, leases: lease.NewLeases(tel), rules: ratelimit.NewRules()}
	s.signals = coord.NewSignals(r, keys)
	s.lines = lease.NewLines(r, s.signals, s.leases)
	s.locks = lock.New(r, keys, s.leases, s.lines)
	s.queues = queue.New(r, keys, s.leases, s.lines)
	o := ratelimit.Options{
		Runner: r, Keys: keys, Rules: s.rules, Leases: s.leases, Lines: s.lines, Signals: s.signals, Telemetry: tel, Clock: clock,
	}
	if deaf {
		o.Signals = nil
	}
	o.Answers = coord.NewAnswers(o.Signals)
	s.limiter = ratelimit.New(o)
	s.policies = breakerPolicies(t)
	s.pools = pool.New(r, keys, s.leases, s.lines)
	s.breakers = breaker.New(breaker.Options{
		Runner: r, Keys: keys, Policies: s.policies, Members: s.pools, Leases: s.leases, Answers: o.Answers, Telemetry: tel, Clock: clock,
	})
	s.permits = pool.NewPermits(pool.PermitsOptions{
		Runner: r, Keys: keys, Rules: s.rules, Breakers: s.breakers, Leases: s.leases, Lines: s.lines,
	})
	s.methods = map[string]coord.Method{}
	for _, m := range slices.Concat(
		s.locks.Methods(),
		semaphore.New(r, keys, s.leases, s.lines).Methods(),
		s.queues.Methods(),
		seen.New(r, keys, s.leases).Methods(),
		s.limiter.Methods(), s.rules.Methods(),
		s.breakers.Methods(),
		s.pools.Methods(),
		s.permits.Methods(),
	) {
		s.methods[m.Name] = m
	}
	t.Cleanup(func() {
		s.lines.Stop()
		s.signals.Stop()
		s.leases.Stop(context.Background())
	})
	return s
}

func openRunner(t testing.TB, o lua.Options) *lua.Runner {
	t.Helper()
	o.Telemetry = telemetry.Nop()
	r, err := lua.Open(o)
	require.NoError(t, err)
	t.Cleanup(func() { require.NoError(t, r.Close()) })
	return r
}

// system is two sidecars on one store.
type system struct {
	*conformance.Clock
	sidecars [2]*sidecar
}

func newSystem(t testing.TB, url string) *system {
	t.Helper()
	s := &system{Clock: conformance.NewClock()}
	prefix := redistest.Prefix(t)
	var r *lua.Runner
	for i := range s.sidecars {
		// An embedded store belongs to its runner, so that both share that one.
		if r == nil || url != redis.Embedded {
			r = openRunner(t, lua.Options{URL: url, Clock: s.Micros})
		}
		s.sidecars[i] = newSidecarBy(t, r, prefix, s.Clock)
	}
	return s
}

func (s *system) Connect(t testing.TB, sidecar int, name string) conformance.Client {
	c := &client{sidecar: s.sidecars[sidecar], lost: make(chan api.LostParams, 100)}
	c.session = c.leases.Open(coord.Identity{Client: name, Instance: "conformance"}, func(l coord.Loss) {
		c.lost <- api.LostParams{Name: l.Name, Token: l.Token, Fence: fence(l.Fence), Reason: l.Reason}
	})
	c.open, c.end = context.WithCancel(context.Background())
	t.Cleanup(c.Close)
	return c
}

// client turns wire values into calls, as package rpc does.
type client struct {
	*sidecar
	session *coord.Session
	lost    chan api.LostParams
	// open is the connection: its end cancels the calls on it.
	open context.Context
	end  context.CancelFunc
}

func (c *client) caller(id, method string, params any) coord.Caller {
	who := coord.Caller{Session: c.session}
	if id != "" {
		who.RequestID, who.Fingerprint = id, fmt.Sprintf("%s %+v", method, params)
	}
	return who
}

// client is one of this sidecar, without a session.
func (s *sidecar) client(t testing.TB) *client { return &client{sidecar: s, open: t.Context()} }

// has adds methods to those that can be called.
func (s *sidecar) has(methods []coord.Method) {
	for _, m := range methods {
		s.methods[m.Name] = m
	}
}

// do carries out a call of a method whose noun lists it, as package rpc does. It ends
// with the connection.
func do[P, R any](ctx context.Context, c *client, id string, m api.Method[P, R], p P) (r R, err error) {
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	defer context.AfterFunc(c.open, cancel)()
	call := c.methods[m.Name].New()
	var b []byte
	if err := codec.NewEncoderBytes(&b, &codec.MsgpackHandle{WriteExt: true}).Encode(p); err != nil {
		return r, err
	}
	if err := rpc.ReadParams(b, call.Params()); err != nil {
		return r, err
	}
	if err := call.Run(ctx, c.caller(id, m.Name, p)); err != nil {
		return r, wire(err)
	}
	return *call.Result().(*R), nil
}

// wire turns an error into what a client sees.
func wire(err error) error {
	if err == nil {
		return nil
	}
	return coord.Wire(err)
}

func (c *client) RatelimitAcquire(ctx context.Context, id string, p api.RatelimitParams) (api.RatelimitResult, error) {
	return do(ctx, c, id, api.RatelimitAcquire, p)
}

func (c *client) RatelimitPeek(ctx context.Context, p api.RatelimitParams) (api.RatelimitResult, error) {
	return do(ctx, c, "", api.RatelimitPeek, p)
}

func (c *client) RatelimitAcquireMany(ctx context.Context, id string, p api.RatelimitManyParams) ([]api.RatelimitItemResult, error) {
	r, err := do(ctx, c, id, api.RatelimitAcquireMany, p)
	return r.Results, err
}

func (c *client) RatelimitAcquireAny(ctx context.Context, id string, p api.RatelimitAnyParams) (api.RatelimitAnyResult, error) {
	return do(ctx, c, id, api.RatelimitAcquireAny, p)
}

func (c *client) RatelimitRefund(ctx context.Context, grant string) (api.RatelimitRefundResult, error) {
	return do(ctx, c, "", api.RatelimitRefund, api.RatelimitGrantParams{Grant: grant})
}

func (c *client) RatelimitReset(ctx context.Context, p api.RatelimitResetParams) (api.RatelimitResetResult, error) {
	return do(ctx, c, "", api.RatelimitReset, p)
}

func (c *client) RatelimitReport(ctx context.Context, id string, p api.RatelimitReportParams) (api.RatelimitReportResult, error) {
	return do(ctx, c, id, api.RatelimitReport, p)
}

func (c *client) RatelimitPause(ctx context.Context, p api.RatelimitPauseParams) (api.RatelimitPauseResult, error) {
	return do(ctx, c, "", api.RatelimitPause, p)
}

func (c *client) RatelimitResume(ctx context.Context, p api.RatelimitResumeParams) (api.RatelimitResumeResult, error) {
	return do(ctx, c, "", api.RatelimitResume, p)
}

func (c *client) RatelimitSetDelay(ctx context.Context, p api.RatelimitSetDelayParams) (api.RatelimitSetDelayResult, error) {
	return do(ctx, c, "", api.RatelimitSetDelay, p)
}

func (c *client) LockAcquire(ctx context.Context, id string, p api.LockAcquireParams) (api.LockAcquireResult, error) {
	return do(ctx, c, id, api.LockAcquire, p)
}

func (c *client) LockRenew(ctx context.Context, p api.LockRenewParams) (api.LockRenewResult, error) {
	return do(ctx, c, "", api.LockRenew, p)
}

func (c *client) LockRelease(ctx context.Context, p api.LockReleaseParams) (api.LockReleaseResult, error) {
	return do(ctx, c, "", api.LockRelease, p)
}

func (c *client) LockGet(ctx context.Context, p api.LockGetParams) (api.LockGetResult, error) {
	return do(ctx, c, "", api.LockGet, p)
}

func (c *client) Lost() <-chan api.LostParams { return c.lost }

func (c *client) Close() {
	c.end()
	c.leases.Close(context.Background(), c.session)
}

func millis(n int64) time.Duration { return time.Duration(n) * time.Millisecond }

func fence(n int64) string {
	if n == 0 {
		return ""
	}
	return strconv.FormatInt(n, 10)
}
