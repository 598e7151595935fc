package lua_test

import (
	"errors"
	"fmt"
	"net"
	"path/filepath"
	"strconv"
	"sync"
	"testing"

	"github.com/stretchr/testify/require"
	sdktrace "go.opentelemetry.io/otel/sdk/trace"
	"pgregory.net/rapid"

	"github.com/coxswain-sidecar/coxswain/internal/coord/lock"
	"github.com/coxswain-sidecar/coxswain/internal/coord/ratelimit"
	"github.com/coxswain-sidecar/coxswain/internal/coord/seen"
	"github.com/coxswain-sidecar/coxswain/internal/lua"
	"github.com/coxswain-sidecar/coxswain/internal/luatest"
	"github.com/coxswain-sidecar/coxswain/internal/redis"
	"github.com/coxswain-sidecar/coxswain/internal/redistest"
)

// item is one run of a script, on keys below a prefix.
type item struct {
	script *lua.Source
	run    func(key func(string) string) (keys []string, args []any)
	stored string // the name of its request id; empty = none
	print  string
}

func itemOf[I, O any](s lua.Script[I, O], in func(key func(string) string) I) item {
	return item{script: s.Source, run: func(key func(string) string) ([]string, []any) { return lua.InputOf(s, in(key)) }}
}

func drawItem(t *rapid.T, script string, ids bool) item {
	name := rapid.SampledFrom([]string{"a", "b", "c"}).Draw(t, "name")
	token := rapid.SampledFrom([]string{"t1", "t2"}).Draw(t, "token")
	var it item
	switch script {
	case "ratelimit_token_bucket":
		cost := rapid.Int64Range(0, 3).Draw(t, "cost")
		it = itemOf(ratelimit.TokenBucketScript, func(key func(string) string) ratelimit.TokenBucketIn {
			in := bucket(key(name), 5)
			in.Pace, in.Cost = key(name+"-pace"), cost
			return in
		})
	case "lock_acquire":
		it = itemOf(lock.AcquireScript, func(key func(string) string) (in lock.AcquireIn) {
			in.Lock, in.Line, in.Heartbeats = key(name), key(name+"-line"), key(name+"-heartbeats")
			in.Token, in.TTLMS = token, 5000
			return in
		})
	default:
		it = itemOf(seen.ReserveScript, func(key func(string) string) (in seen.ReserveIn) {
			in.Seen, in.Token, in.TTLMS = key(name), token, 5000
			return in
		})
	}
	if it.script.StoresReply && ids {
		it.stored = rapid.SampledFrom([]string{"id1", "id2"}).Draw(t, "id")
		it.print = rapid.SampledFrom([]string{"p1", "p2"}).Draw(t, "fingerprint")
	}
	return it
}

// A run for many items returns the same replies, and leaves the same keys, as single runs of the items one after the
// other.
func TestARunForManyIsItsRunsOneAfterTheOther(t *testing.T) {
	t.Parallel()
	luatest.EachStore(t, func(t *testing.T, s *luatest.Store) {
		round := 0
		rapid.Check(t, func(rt *rapid.T) {
			round++
			script := rapid.SampledFrom([]string{"ratelimit_token_bucket", "lock_acquire", "seen_reserve"}).Draw(rt, "script")
			ids := rapid.Bool().Draw(rt, "request ids")
			items := rapid.SliceOfN(rapid.Custom(func(t *rapid.T) item { return drawItem(t, script, ids) }), 1, 12).Draw(rt, "items")
			below := func(side string) func(string) string {
				return func(name string) string { return s.Key(fmt.Sprintf("%d:%s:%s", round, side, name)) }
			}
			var keys, all []string
			var args [][]any
			var want []any
			one, many := below("one"), below("many")
			for _, it := range items {
				k, a := it.run(one)
				l := lua.StoredReply{}
				if it.stored != "" {
					l = lua.StoredReply{Key: one(it.stored), Fingerprint: it.print}
				}
				reply, err := s.Eval(it.script, luatest.Epoch, k, a, l)
				require.NoError(rt, err)
				want = append(want, reply)
				k, a = it.run(many)
				if it.stored != "" {
					k, a = append(k, many(it.stored)), append(a, it.print)
				}
				keys, args = append(keys, k...), append(args, append(a, luatest.Epoch))
			}
			_, sha := lua.Clocked(items[0].script, true)
			got, err := s.Client.EvalSha(t.Context(), sha, keys, redis.AppendColumns(nil, len(items), func(i int) []any { return args[i] })...).Slice()
			require.NoError(rt, err)
			require.Equal(rt, want, got)
			for _, it := range items {
				k, _ := it.run(func(name string) string { return name })
				all = append(all, k...)
				if it.stored != "" {
					all = append(all, it.stored)
				}
			}
			for _, name := range all {
				require.Equal(rt, s.Raw(rt, one(name)), s.Raw(rt, many(name)), name)
			}
		})
	})
}

// Each call gets the reply of its own item and counts once, while there are calls for other keys and scripts are
// flushed.
func TestEachCallOfABatchGetsItsOwnReply(t *testing.T) {
	t.Parallel()
	redistest.Stores(t, func(t *testing.T, url string) {
		r, prefix := luatest.Open(t, lua.Options{URL: url}), redistest.Prefix(t)
		const callers, calls = 64, 20
		var wg sync.WaitGroup
		failed := make(chan error, callers)
		for i := range callers {
			wg.Go(func() {
				key, capacity := prefix+":{"+strconv.Itoa(i)+"}", int64(1000+i)
				for n := range int64(calls) {
					out, err := take(luatest.Deadline(t), r, key, capacity)
					if err == nil && out.Value.Remaining != capacity-n-1 {
						err = fmt.Errorf("caller %d: %d remaining after call %d, not %d", i, out.Value.Remaining, n+1, capacity-n-1)
					}
					if err != nil {
						failed <- err
						return
					}
				}
			})
		}
		wg.Wait()
		close(failed)
		for err := range failed {
			require.NoError(t, err)
		}
	})
}

// The error of an item that fails is returned to its own call only.
func TestAnItemFailsAlone(t *testing.T) {
	t.Parallel()
	s := redistest.Start(t)
	r, admin := luatest.Open(t, lua.Options{URL: s.URL()}), s.Client(t)
	require.NoError(t, luatest.UntilUp(t, r))
	require.NoError(t, admin.Set(t.Context(), "{bad}", "text", 0).Err())
	const callers = 32
	var wg sync.WaitGroup
	errs := make([]error, callers)
	start := make(chan struct{})
	for i := range callers {
		wg.Go(func() {
			<-start
			key := "{" + strconv.Itoa(i) + "}"
			if i%4 == 0 {
				key = "{bad}"
			}
			_, errs[i] = take(luatest.Deadline(t), r, key, 9)
		})
	}
	close(start)
	wg.Wait()
	for i, err := range errs {
		if i%4 == 0 {
			require.ErrorContains(t, err, "WRONGTYPE")
			require.False(t, errors.Is(err, redis.ErrUnavailable) || errors.Is(err, redis.ErrMaybeExecuted), "it is a fault: %v", err)
		} else {
			require.NoError(t, err)
		}
	}
}

// A server refuses a run with keys of several slots. From then on each name gets a run of its own. The server here is
// the only node of a cluster; a proxy in front of a cluster may do the same.
func TestCallsGoApartWhereKeysOfSeveralSlotsAreRefused(t *testing.T) {
	t.Parallel()
	l, err := net.Listen("tcp", "127.0.0.1:0")
	require.NoError(t, err)
	bus := l.Addr().(*net.TCPAddr).Port
	require.NoError(t, l.Close())
	s := redistest.Start(t, "--cluster-enabled", "yes", "--cluster-port", strconv.Itoa(bus),
		"--cluster-config-file", filepath.Join(t.TempDir(), "nodes.conf"))
	require.NoError(t, s.Client(t).ClusterAddSlotsRange(t.Context(), 0, 16383).Err())
	o := observe(t, s.URL(), false, sdktrace.NeverSample())
	var wg sync.WaitGroup
	failed := make(chan error, 64)
	for i := range cap(failed) {
		wg.Go(func() {
			key := "{" + strconv.Itoa(i) + "}"
			for n := range int64(20) {
				out, err := take(luatest.Deadline(t), o.Runner, key, 100)
				if err == nil && out.Value.Remaining != 99-n {
					err = fmt.Errorf("%s: %d remaining after call %d", key, out.Value.Remaining, n+1)
				}
				if err != nil {
					failed <- err
					return
				}
			}
		})
	}
	wg.Wait()
	close(failed)
	for err := range failed {
		require.NoError(t, err)
	}
	again := o.total(t, "coxswain.script.retries", "reason")
	require.Positive(t, again["crossslot"], "%v", again)
	require.LessOrEqual(t, again["crossslot"], int64(256), "one batch met it")
}
