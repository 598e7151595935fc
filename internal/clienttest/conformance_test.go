package clienttest_test

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/coxswain-sidecar/coxswain/client"
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

// The suites that run directly on package coord, again through a real socket.

func TestLimitsConformThroughTheSocket(t *testing.T) {
	t.Parallel()
	redistest.Stores(t, func(t *testing.T, url string) {
		t.Parallel()
		conformance.Limits(t, newSystem(t, url))
	})
}

func TestAlgorithmsConformThroughTheSocket(t *testing.T) {
	t.Parallel()
	redistest.Stores(t, func(t *testing.T, url string) {
		t.Parallel()
		conformance.Algorithms(t, newSystem(t, url))
	})
}

func TestManyConformThroughTheSocket(t *testing.T) {
	t.Parallel()
	redistest.Stores(t, func(t *testing.T, url string) {
		t.Parallel()
		conformance.Many(t, newSystem(t, url))
	})
}

func TestLocksConformThroughTheSocket(t *testing.T) {
	t.Parallel()
	redistest.Stores(t, func(t *testing.T, url string) {
		t.Parallel()
		conformance.Locks(t, newSystem(t, url))
	})
}

func TestWaitingConformsThroughTheSocket(t *testing.T) {
	t.Parallel()
	redistest.Stores(t, func(t *testing.T, url string) {
		t.Parallel()
		conformance.Waiting(t, newSystem(t, url))
	})
}

func TestSemaphoresConformThroughTheSocket(t *testing.T) {
	t.Parallel()
	redistest.Stores(t, func(t *testing.T, url string) {
		t.Parallel()
		conformance.Semaphores(t, newSystem(t, url))
	})
}

func TestUpstreamConformsThroughTheSocket(t *testing.T) {
	t.Parallel()
	redistest.Stores(t, func(t *testing.T, url string) {
		t.Parallel()
		conformance.Upstream(t, newSystem(t, url))
	})
}

// system is two sidecars on one store, each behind its socket.
type system struct {
	*conformance.Clock
	sockets [2]string
}

func newSystem(t testing.TB, url string) *system {
	t.Helper()
	s := &system{Clock: conformance.NewClock()}
	prefix := redistest.Prefix(t)
	var r *lua.Runner
	for i := range s.sockets {
		// An embedded store belongs to its runner, so that both share that one.
		if r == nil || url != redis.Embedded {
			r = openRunner(t, lua.Options{URL: url, Clock: s.Micros})
		}
		s.sockets[i] = serveBy(t, r, prefix, s.Clock)
	}
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

// serve starts a sidecar that uses the runner, and returns its socket.
func serve(t testing.TB, r *lua.Runner, prefix string) string {
	t.Helper()
	return serveBy(t, r, prefix, nil)
}

// serveBy starts one by another clock than the pod's.
func serveBy(t testing.TB, r *lua.Runner, prefix string, clock coord.Clock) string {
	t.Helper()
	return serveRules(t, r, prefix, clock, ratelimit.NewRules(), false)
}

// serveRules starts one with these rules, which those in Redis join. A deaf one hears
// nothing of others.
func serveRules(t testing.TB, r *lua.Runner, prefix string, clock coord.Clock, rules *ratelimit.Rules, deaf bool) string {
	t.Helper()
	tel, keys := telemetry.Nop(), coord.NewKeys(prefix, "")
	leases, signals := lease.NewLeases(tel), coord.NewSignals(r, keys)
	lines := lease.NewLines(r, signals, leases)
	heard := signals
	if deaf {
		heard = nil
	}
	answers := coord.NewAnswers(heard)
	pools := pool.New(r, keys, leases, lines)
	breakers := breaker.New(breaker.Options{
		Runner: r, Keys: keys, Policies: breakerPolicies(t), Members: pools, Leases: leases, Answers: answers, Telemetry: tel, Clock: clock,
	})
	permits := pool.NewPermits(pool.PermitsOptions{
		Runner: r, Keys: keys, Rules: rules, Breakers: breakers, Leases: leases, Lines: lines,
	})
	runtime := ratelimit.NewRuntimeRules(ratelimit.RuntimeRulesOptions{Runner: r, Keys: keys, Rules: rules, Signals: heard, Clock: clock})
	limiter := ratelimit.New(ratelimit.Options{
		Runner: r, Keys: keys, Rules: rules, Leases: leases, Lines: lines, Members: permits,
		Signals: heard, Answers: answers, Telemetry: tel, Clock: clock,
	})
	path := filepath.Join(t.TempDir(), "s.sock")
	s, err := rpc.Listen(rpc.Options{Path: path, Mode: 0o600, UID: -1, GID: -1, Telemetry: tel}, rpc.Services{
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
	})
	require.NoError(t, err)
	t.Cleanup(func() {
		ended, cancel := context.WithCancel(context.Background())
		cancel() // connections that are left are a test's own and need no time
		_ = s.Shutdown(ended)
		runtime.Stop()
		lines.Stop()
		signals.Stop()
		leases.Stop(context.Background())
	})
	return path
}

func (s *system) Connect(t testing.TB, sidecar int, name string) conformance.Client {
	t.Helper()
	w := &wireClient{test: t.Name(), lost: make(chan api.LostParams, 100)}
	c, err := client.Dial(t.Context(), client.Options{
		Socket: s.sockets[sidecar], Client: name, Instance: "conformance",
		OnEvent: func(e client.Event) {
			if strings.HasSuffix(e.Method, ".lost") {
				str := func(k string) string { v, _ := e.Params[k].(string); return v }
				w.lost <- api.LostParams{Name: str("name"), Token: str("token"), Fence: str("fence"), Reason: str("reason")}
			}
		},
	})
	require.NoError(t, err)
	w.Client = c
	t.Cleanup(w.Close)
	return w
}

// wireClient is a client as the suites want it.
type wireClient struct {
	*client.Client
	test string
	lost chan api.LostParams
	once sync.Once
}

// withID is a request id of one test alone: a sidecar that all tests share knows which
// call an id belongs to, whatever the call names.
func (w *wireClient) withID(ctx context.Context, id string) context.Context {
	if id != "" {
		sum := sha256.Sum256([]byte(w.test + " " + id))
		id = hex.EncodeToString(sum[:16])
	}
	return client.WithRequestID(ctx, id)
}

func (w *wireClient) RatelimitAcquire(ctx context.Context, id string, p api.RatelimitParams) (api.RatelimitResult, error) {
	return w.Client.RatelimitAcquire(w.withID(ctx, id), p)
}

func (w *wireClient) RatelimitAcquireMany(ctx context.Context, id string, p api.RatelimitManyParams) ([]api.RatelimitItemResult, error) {
	return w.Client.RatelimitAcquireMany(w.withID(ctx, id), p)
}

func (w *wireClient) RatelimitAcquireAny(ctx context.Context, id string, p api.RatelimitAnyParams) (api.RatelimitAnyResult, error) {
	return w.Client.RatelimitAcquireAny(w.withID(ctx, id), p)
}

func (w *wireClient) RatelimitReset(ctx context.Context, p api.RatelimitResetParams) (api.RatelimitResetResult, error) {
	return client.Call(ctx, w.Client, api.RatelimitReset, p)
}

func (w *wireClient) RatelimitReport(ctx context.Context, id string, p api.RatelimitReportParams) (api.RatelimitReportResult, error) {
	return w.Client.RatelimitReport(w.withID(ctx, id), p)
}

func (w *wireClient) RatelimitResume(ctx context.Context, p api.RatelimitResumeParams) (api.RatelimitResumeResult, error) {
	was, err := w.Client.RatelimitResume(ctx, p)
	return api.RatelimitResumeResult{Resumed: was}, err
}

func (w *wireClient) LockAcquire(ctx context.Context, id string, p api.LockAcquireParams) (api.LockAcquireResult, error) {
	return client.Call(w.withID(ctx, id), w.Client, api.LockAcquire, p)
}

func (w *wireClient) LockRenew(ctx context.Context, p api.LockRenewParams) (api.LockRenewResult, error) {
	return client.Call(ctx, w.Client, api.LockRenew, p)
}

func (w *wireClient) LockRelease(ctx context.Context, p api.LockReleaseParams) (api.LockReleaseResult, error) {
	return client.Call(ctx, w.Client, api.LockRelease, p)
}

func (w *wireClient) LockGet(ctx context.Context, p api.LockGetParams) (api.LockGetResult, error) {
	return client.Call(ctx, w.Client, api.LockGet, p)
}

func (w *wireClient) LockList(ctx context.Context, p api.LockListParams) (api.LockListResult, error) {
	return w.Client.LockList(ctx, p.Cursor, int(p.Count))
}

func (w *wireClient) LockForceRelease(ctx context.Context, p api.LockForceReleaseParams) (api.LockForceReleaseResult, error) {
	return w.Client.LockForceRelease(ctx, p.Name, p.Reason)
}

func (w *wireClient) SemaphoreAcquire(ctx context.Context, id string, p api.SemaphoreAcquireParams) (api.SemaphoreAcquireResult, error) {
	return client.Call(w.withID(ctx, id), w.Client, api.SemaphoreAcquire, p)
}

func (w *wireClient) SemaphoreRenew(ctx context.Context, p api.SemaphoreRenewParams) (api.SemaphoreRenewResult, error) {
	return client.Call(ctx, w.Client, api.SemaphoreRenew, p)
}

func (w *wireClient) SemaphoreRelease(ctx context.Context, p api.SemaphoreReleaseParams) (api.SemaphoreReleaseResult, error) {
	return client.Call(ctx, w.Client, api.SemaphoreRelease, p)
}

func (w *wireClient) SemaphoreGet(ctx context.Context, p api.SemaphoreGetParams) (api.SemaphoreGetResult, error) {
	return w.Client.SemaphoreGet(ctx, p.Name)
}

func (w *wireClient) Lost() <-chan api.LostParams { return w.lost }

func (w *wireClient) Close() { w.once.Do(func() { _ = w.Client.Close() }) }

// What follows is about the client on a real sidecar and a real Redis.

func live(t *testing.T) string {
	t.Helper()
	return serve(t, openRunner(t, lua.Options{URL: redistest.URL(t)}), redistest.Prefix(t))
}

func inline(key string, limit int64) api.RatelimitParams {
	return api.RatelimitParams{Algorithm: api.AlgorithmTokenBucket, Key: key, Limits: []api.Band{{Limit: limit, PeriodMS: 86_400_000}}}
}

// A reply that is lost with its connection after the call was carried out: the
// repeated call gets that reply, and it was counted once.
func TestALostReplyIsCountedOnce(t *testing.T) {
	t.Parallel()
	cut := newCutter(t, live(t))
	c := dial(t, cut.socket, client.Options{})
	for i := range int64(5) {
		cut.next.Store(true)
		r, err := c.RatelimitAcquire(t.Context(), inline("k", 100))
		require.NoError(t, err)
		require.True(t, r.Allowed)
		require.True(t, r.Replayed)
		require.Equal(t, 99-i, r.Remaining)
	}
	require.Equal(t, int32(5), cut.cuts.Load())
}

// The same for a lock: it is held once, whichever of the old session's end and
// the repeated call came first.
func TestALostGrantIsStillOneGrant(t *testing.T) {
	t.Parallel()
	socket := live(t)
	cut := newCutter(t, socket)
	c := dial(t, cut.socket, client.Options{Client: "cut"})
	other := dial(t, socket, client.Options{})
	last := uint64(0)
	for range 5 {
		cut.next.Store(true)
		lk, err := c.LockAcquire(t.Context(), "l", client.LockOptions{})
		require.NoError(t, err)
		require.Greater(t, lk.Fence(), last)
		last = lk.Fence()
		var busy *client.BusyError
		_, err = other.LockAcquire(t.Context(), "l", client.LockOptions{})
		require.ErrorAs(t, err, &busy)
		require.Equal(t, "cut", busy.HeldBy.Client)
		require.NoError(t, lk.Context().Err())
		require.NoError(t, lk.Release(t.Context()))
	}
}

// A client that dies frees its lock at once: its TTL is a day.
func TestAClientThatDiesFreesItsLock(t *testing.T) {
	t.Parallel()
	socket := live(t)
	cut := newCutter(t, socket)
	dying, err := client.Dial(t.Context(), client.Options{Socket: cut.socket})
	require.NoError(t, err)
	lk, err := dying.LockAcquire(t.Context(), "l", client.LockOptions{TTL: 24 * time.Hour})
	require.NoError(t, err)
	cut.kill()
	heir := dial(t, socket, client.Options{})
	ctx, cancel := context.WithTimeout(t.Context(), patience)
	defer cancel()
	for {
		got, err := heir.LockAcquire(ctx, "l", client.LockOptions{})
		if err == nil {
			require.Greater(t, got.Fence(), lk.Fence())
			require.NoError(t, got.Release(t.Context()))
			break
		}
		require.ErrorIs(t, err, client.ErrBusy)
	}
	<-lk.Context().Done()
	require.ErrorIs(t, context.Cause(lk.Context()), client.ErrLost)
	require.NoError(t, dying.Close())
}

// Two pods use one request id for different calls: never the other's result.
func TestOneRequestIDForTwoCallsIsAConflict(t *testing.T) {
	t.Parallel()
	socket := live(t)
	a, b := dial(t, socket, client.Options{}), dial(t, socket, client.Options{})
	ctx := client.WithRequestID(t.Context(), "id")
	_, err := a.RatelimitAcquire(ctx, inline("k", 10))
	require.NoError(t, err)
	p := inline("k", 10)
	p.Cost = 2
	_, err = b.RatelimitAcquire(ctx, p)
	require.ErrorIs(t, err, api.Conflict)
	r, err := b.RatelimitAcquire(ctx, inline("k", 10))
	require.NoError(t, err)
	require.True(t, r.Replayed)
	r, err = b.RatelimitPeek(t.Context(), inline("k", 10))
	require.NoError(t, err)
	require.Equal(t, int64(9), r.Remaining, "counted once")
}

// A lock deleted behind the sidecar's back is lost before its validity ends.
func TestALockThatIsGoneFromRedisIsLost(t *testing.T) {
	t.Parallel()
	now := atomic.Int64{}
	now.Store(time.Now().UnixMicro())
	socket := serve(t, openRunner(t, lua.Options{URL: redistest.URL(t), Clock: now.Load}), redistest.Prefix(t))
	c := dial(t, socket, client.Options{})
	lk, err := c.LockAcquire(t.Context(), "l", client.LockOptions{TTL: 3 * time.Second})
	require.NoError(t, err)
	now.Add(time.Hour.Microseconds())
	<-lk.Context().Done()
	require.EqualError(t, context.Cause(lk.Context()), "lost: expired")
	require.ErrorIs(t, lk.Release(t.Context()), client.ErrLost)
}

func TestManyCallersShareALimitExactly(t *testing.T) {
	t.Parallel()
	socket := live(t)
	c := dial(t, socket, client.Options{Connections: 2})
	var allowed atomic.Int64
	var wg sync.WaitGroup
	for range 200 {
		wg.Go(func() {
			r, err := c.RatelimitAcquire(context.Background(), inline("k", 70))
			if err != nil {
				t.Error(err)
			} else if r.Allowed {
				allowed.Add(1)
			}
		})
	}
	wg.Wait()
	require.Equal(t, int64(70), allowed.Load())
}

// Hundreds of locks at once, each of its own goroutine, on one connection.
func TestLocksOfManyGoroutines(t *testing.T) {
	t.Parallel()
	c := dial(t, live(t), client.Options{})
	var wg sync.WaitGroup
	for i := range 100 {
		wg.Go(func() {
			for range 5 {
				lk, err := c.LockAcquire(context.Background(), strconv.Itoa(i), client.LockOptions{})
				if err != nil {
					t.Error(err)
					return
				}
				if err := lk.Release(context.Background()); err != nil {
					t.Error(err)
				}
			}
		})
	}
	wg.Wait()
}
