package coord_test

import (
	"context"
	"reflect"
	"slices"
	"testing"
	"time"

	goredis "github.com/redis/go-redis/v9"
	"github.com/stretchr/testify/require"

	"github.com/coxswain-sidecar/coxswain/client/api"
	"github.com/coxswain-sidecar/coxswain/internal/coord"
	"github.com/coxswain-sidecar/coxswain/internal/coordtest"
	"github.com/coxswain-sidecar/coxswain/internal/lua"
	"github.com/coxswain-sidecar/coxswain/internal/luatest"
	"github.com/coxswain-sidecar/coxswain/internal/redistest"
)

// halved is a call of a method that has a direct path.
func halved(t *testing.T, s *coordtest.Sidecar, method string, params any) coord.DirectInvocation {
	t.Helper()
	all := s.Methods()
	at := slices.IndexFunc(all, func(m coord.Method) bool { return m.Name == method })
	require.GreaterOrEqual(t, at, 0, method)
	call, ok := all[at].New().(coord.DirectInvocation)
	require.True(t, ok, "%s has no direct path", method)
	reflect.ValueOf(call.Params()).Elem().Set(reflect.ValueOf(params).Elem())
	return call
}

// halves prepares a call, calls between, submits the call's script, and returns whether the answer has a Rest to run.
func halves(t *testing.T, call coord.DirectInvocation, who coord.Caller, between func()) (more bool, err error) {
	t.Helper()
	prepared, err := call.Prepare(who)
	require.NoError(t, err)
	require.Equal(t, coord.Asking, prepared)
	between()
	c := &answered{call: call, ended: make(chan struct{})}
	require.NotNil(t, call.Asked().Ready())
	require.True(t, call.Asked().Submit(nil, c))
	<-c.ended
	return c.more, c.err
}

// answered answers a call on the goroutine that reads the reply of its script.
type answered struct {
	call  coord.DirectInvocation
	ended chan struct{}
	more  bool
	err   error
}

func (c *answered) Done() coord.Flusher {
	c.more, c.err = c.call.Answer()
	close(c.ended)
	return nil
}

// grants are the calls that are granted something, each with a function that reports whether its result is a grant.
var grants = map[string]struct {
	method string
	params any
	// before creates what the call is granted; nil = nothing must be created.
	before func(ctx context.Context, t *testing.T, s *coordtest.Sidecar)
	got    func(result any) bool
}{
	"lock": {
		method: api.LockAcquire.Name, params: &api.LockAcquireParams{Name: "n", TTLMS: 60_000, Bind: api.BindSession},
		got: func(r any) bool { return r.(*api.LockAcquireResult).Acquired },
	},
	"semaphore": {
		method: api.SemaphoreAcquire.Name,
		params: &api.SemaphoreAcquireParams{Name: "n", Limit: 1, Permits: 1, TTLMS: 60_000, Bind: api.BindSession},
		got:    func(r any) bool { return r.(*api.SemaphoreAcquireResult).Acquired },
	},
	"seen": {
		method: api.SeenReserve.Name, params: &api.SeenReserveParams{Set: "s", Key: "k", TTLMS: 60_000, Bind: api.BindSession},
		got: func(r any) bool { return r.(*api.SeenReserveResult).Reserved },
	},
	"queue": {
		method: api.QueueDequeue.Name, params: &api.QueueDequeueParams{Queue: "q", LeaseMS: 60_000, Bind: api.BindSession},
		before: func(ctx context.Context, t *testing.T, s *coordtest.Sidecar) {
			_, err := s.Queues.Enqueue(ctx, coord.Caller{}, &api.QueueEnqueueParams{Queue: "q", ID: "1", TTLMS: 60_000})
			require.NoError(t, err)
		},
		got: func(r any) bool { return r.(*api.QueueDequeueResult).Found },
	},
	"permit": {
		method: api.PermitAcquire.Name, params: &api.PermitAcquireParams{Pool: "p", LeaseMS: 60_000, Bind: api.BindSession},
		before: func(ctx context.Context, t *testing.T, s *coordtest.Sidecar) {
			_, err := s.Pools.Put(ctx, coord.Caller{}, &api.PoolPutParams{Pool: "p", Members: []api.PoolMember{{ID: "a"}}})
			require.NoError(t, err)
		},
		got: func(r any) bool { return r.(*api.PermitAcquireResult).Acquired },
	},
	"probe": {
		method: api.BreakerAllow.Name, params: &api.BreakerAllowParams{Name: "b", Policy: "one"},
		before: func(ctx context.Context, t *testing.T, s *coordtest.Sidecar) {
			require.NoError(t, s.Policies.Set([]api.BreakerPolicy{{
				Name: "one", FailureThreshold: 1, SuccessThreshold: 1, HalfOpenMax: 1, OpenMS: 1, ProbeTTLMS: 60_000, FailMode: "closed",
			}}))
			_, err := s.Breakers.Report(ctx, coord.Caller{}, &api.BreakerReportParams{Name: "b", Policy: "one", Outcome: api.OutcomeFailure})
			require.NoError(t, err)
			coordtest.Until(t, func() bool {
				r, err := s.Breakers.Get(ctx, coord.Caller{}, &api.BreakerParams{Name: "b", Policy: "one"})
				return err == nil && r.OpenForMS == 0
			})
		},
		got: func(r any) bool { return r.(*api.BreakerAllowResult).Probe != "" },
	},
}

// What is granted to a session that closed between the halves of a call is given back, and
// not on the goroutine that reads the replies of Redis.
func TestAGrantWhoseSessionClosedBetweenTheHalvesIsGivenBack(t *testing.T) {
	t.Parallel()
	for name, g := range grants {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			redistest.Stores(t, func(t *testing.T, url string) {
				s := upOn(t, lua.Options{URL: url})
				if g.before != nil {
					g.before(t.Context(), t, s)
				}
				gone, call := coordtest.OpenSession(t, s), halved(t, s, g.method, g.params)
				more, err := halves(t, call, gone.Caller(), func() { gone.Close(t.Context()) })
				require.NoError(t, err)
				require.True(t, more, "giving back would block")
				coordtest.RequireCode(t, call.Finish(t.Context()), api.Cancelled, "the connection closed before")
				call.Forget()
				require.Zero(t, s.Leases.Held())

				next, again := coordtest.OpenSession(t, s), halved(t, s, g.method, g.params)
				more, err = halves(t, again, next.Caller(), func() {})
				require.NoError(t, err)
				require.False(t, more)
				require.True(t, g.got(again.Result()), "%+v", again.Result())
				require.True(t, next.Holding(), "it is bound in the second half")
			})
		})
	}
}

// A call that ends before its script is sent leaves nothing in Redis; one whose script may have run gives back what
// the script took.
func TestAnAbandonedGrantIsGivenBack(t *testing.T) {
	t.Parallel()
	for name, g := range grants {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			s, proxy, server := behindProxy(t, g.before)
			over, cancel := context.WithCancel(t.Context())
			cancel()
			who := coordtest.OpenSession(t, s)
			keys := server.Keys(t.Context(), "*").Val()
			unsent := halved(t, s, g.method, g.params)
			prepared, err := unsent.Prepare(who.Caller())
			require.NoError(t, err)
			require.Equal(t, coord.Asking, prepared)
			coordtest.RequireCode(t, unsent.Finish(over), api.Cancelled, "")
			require.ElementsMatch(t, keys, server.Keys(t.Context(), "*").Val(), "it was executed")

			sent := halved(t, s, g.method, g.params)
			_, err = sent.Prepare(who.Caller())
			require.NoError(t, err)
			proxy.Lose(luatest.Plan{Mute: true})
			require.NotNil(t, sent.Asked().Ready())
			require.True(t, sent.Asked().Submit(nil, &answered{call: sent, ended: make(chan struct{})}))
			<-proxy.Saw
			require.True(t, sent.Asked().Abandon(context.Canceled))
			proxy.CutMuted(t) // it has run, and what it took can be given back
			require.ErrorContains(t, sent.Finish(over), "may have been executed")

			next, again := coordtest.OpenSession(t, s), halved(t, s, g.method, g.params)
			more, err := halves(t, again, next.Caller(), func() {})
			require.NoError(t, err)
			require.False(t, more)
			require.True(t, g.got(again.Result()), "%+v", again.Result())
		})
	}
}

// A grant whose reply was lost is fetched by another run of its script, as by every call.
func TestAGrantOnTheDirectPathOutlivesALostReply(t *testing.T) {
	t.Parallel()
	for name, g := range grants {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			s, proxy, _ := behindProxy(t, g.before)
			who, call := coordtest.OpenSession(t, s), halved(t, s, g.method, g.params)
			more, err := halves(t, call, who.Caller(), func() { proxy.Lose(luatest.Plan{}) })
			require.NoError(t, err)
			require.True(t, more)
			require.NoError(t, call.Finish(t.Context()))
			require.True(t, g.got(call.Result()), "%+v", call.Result())
			require.True(t, who.Holding())
		})
	}
}

// behindProxy is a sidecar whose replies may be lost, and its Redis, which no other test uses.
func behindProxy(
	t *testing.T, before func(context.Context, *testing.T, *coordtest.Sidecar),
) (*coordtest.Sidecar, *luatest.Proxy, *goredis.Client) {
	t.Helper()
	server := redistest.Start(t)
	proxy := luatest.StartProxy(t, server.URL())
	s := upOn(t, lua.Options{URL: proxy.URL, CommandTimeout: time.Minute})
	if before != nil {
		before(t.Context(), t, s)
	}
	return s, proxy, server.Client(t)
}

// upOn is a sidecar whose store is known to be up, so that scripts can be submitted.
func upOn(t *testing.T, o lua.Options) *coordtest.Sidecar {
	t.Helper()
	r := luatest.Open(t, o)
	require.NoError(t, luatest.UntilUp(t, r))
	return coordtest.New(t, r, redistest.Prefix(t))
}

// A repeated request has no plain answer: a goroutine finds out what became of its grant.
func TestAReplayedGrantHasMoreToDo(t *testing.T) {
	t.Parallel()
	for name, g := range grants {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			s := upOn(t, lua.Options{URL: redistest.URL(t)})
			if g.before != nil {
				g.before(t.Context(), t, s)
			}
			for again := range 2 {
				session, call := coordtest.OpenSession(t, s), halved(t, s, g.method, g.params)
				who := session.Caller()
				who.RequestID, who.Fingerprint = "id", "f"
				more, err := halves(t, call, who, func() {})
				require.NoError(t, err)
				require.Equal(t, again == 1, more)
				if more {
					require.NoError(t, call.Finish(t.Context()))
				}
				require.True(t, g.got(call.Result()), "%+v", call.Result())
				require.True(t, session.Holding(), "it is the session's that asked last")
			}
		})
	}
}

// A give-back is not stopped by the end of its call, nor by a script that was not sent.
func TestAReleaseThatWasPreparedIsCarriedOut(t *testing.T) {
	t.Parallel()
	s := upOn(t, lua.Options{URL: redistest.URL(t)})
	who := coordtest.OpenSession(t, s)
	held := coordtest.Take(t, s, who.Caller(), coordtest.Bound("n", time.Minute))
	call := halved(t, s, api.LockRelease.Name, &api.LockReleaseParams{Name: "n", Token: held.Token})
	prepared, err := call.Prepare(who.Caller())
	require.NoError(t, err)
	require.Equal(t, coord.Asking, prepared)
	require.True(t, call.OwnTime())
	require.False(t, who.Holding(), "nothing renews it from here on")
	over, cancel := context.WithCancel(t.Context())
	cancel()
	require.NoError(t, call.Finish(over))
	require.True(t, call.Result().(*api.LockReleaseResult).Released)
}

// A call that must wait for a renewal leaves the direct path; a renewal on the direct path keeps others out until it
// is answered.
func TestARenewalOnTheDirectPathIsTheOnlyOne(t *testing.T) {
	t.Parallel()
	s := upOn(t, lua.Options{URL: redistest.URL(t)})
	who := coordtest.OpenSession(t, s)
	held := coordtest.Take(t, s, who.Caller(), coordtest.Bound("n", time.Minute))
	renew := &api.LockRenewParams{Name: "n", Token: held.Token, TTLMS: 120_000}
	first, second := halved(t, s, api.LockRenew.Name, renew), halved(t, s, api.LockRenew.Name, renew)
	more, err := halves(t, first, who.Caller(), func() {
		prepared, err := second.Prepare(who.Caller())
		require.NoError(t, err)
		require.Equal(t, coord.Elsewhere, prepared)
	})
	require.NoError(t, err)
	require.False(t, more)
	require.True(t, first.Result().(*api.LockRenewResult).Renewed)
	require.NoError(t, second.Run(t.Context(), who.Caller()))
	require.True(t, second.Result().(*api.LockRenewResult).Renewed)
}
