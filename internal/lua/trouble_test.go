package lua_test

import (
	"context"
	"errors"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"time"

	goredis "github.com/redis/go-redis/v9"
	"github.com/stretchr/testify/require"

	"github.com/coxswain-sidecar/coxswain/internal/coord/lease"
	"github.com/coxswain-sidecar/coxswain/internal/coord/lock"
	"github.com/coxswain-sidecar/coxswain/internal/coord/ratelimit"
	"github.com/coxswain-sidecar/coxswain/internal/lua"
	"github.com/coxswain-sidecar/coxswain/internal/luatest"
	"github.com/coxswain-sidecar/coxswain/internal/redis"
	"github.com/coxswain-sidecar/coxswain/internal/redistest"
)

// untilTrouble waits until the runner reports the trouble with this name, and returns it; "" = until it is up without
// trouble.
func untilTrouble(t *testing.T, r *lua.Runner, name string) *redis.Trouble {
	t.Helper()
	ctx := luatest.Deadline(t)
	tick := time.NewTicker(5 * time.Millisecond)
	defer tick.Stop()
	for {
		st := r.Status()
		switch {
		case st.Trouble == nil && name == "" && st.Up, st.Trouble != nil && st.Trouble.Name == name:
			return st.Trouble
		}
		select {
		case <-tick.C:
		case <-ctx.Done():
			t.Fatalf("waited for the trouble %q; it is %+v, up %v", name, st.Trouble, st.Up)
		}
	}
}

// harm is a way to make a Redis refuse writes, by a command to each of its masters.
type harm struct {
	name, words string
	begin, end  []string
	then        func(t *testing.T, master *goredis.Client) // after begin
}

var harms = []harm{
	{"oom", "out of memory", []string{"config", "set", "maxmemory", "1"}, []string{"config", "set", "maxmemory", "0"}, nil},
	{"noreplicas", "too few replicas", []string{"config", "set", "min-replicas-to-write", "9"}, []string{"config", "set", "min-replicas-to-write", "0"}, nil},
	{"denied", "ZADD", []string{"acl", "setuser", "default", "-zadd"}, []string{"acl", "setuser", "default", "+zadd"}, nil},
	{"denied", "EVALSHA", []string{"acl", "setuser", "default", "-evalsha"}, []string{"acl", "setuser", "default", "+evalsha"}, nil},
}

// refuses makes Redis refuse writes, checks what callers get and what status and log report, and makes Redis accept
// writes again.
func refuses(t *testing.T, r *lua.Runner, log *noise, h harm, tell func(args []string)) {
	t.Helper()
	key := "{" + redistest.Prefix(t) + "}"
	tell(h.begin)
	took := untilTrouble(t, r, h.name)
	require.Contains(t, took.Words, h.words)
	require.NotEmpty(t, took.Remedy)
	// Redis replies, so that it is not down, except while a probe is late on a busy machine.
	require.Eventually(t, func() bool { return r.Status().Up }, time.Minute, 5*time.Millisecond)
	ctx := luatest.Deadline(t)
	in := lock.AcquireIn{Lock: key, LineKeys: lease.LineKeysOf(key), Token: "t", TTLMS: 60_000}
	// In a cluster the trouble of one node is known first.
	for _, err := lua.Run(ctx, r, lock.AcquireScript, in, lua.StoredReply{}); err == nil; {
		_, err = lua.Run(ctx, r, lock.AcquireScript, in, lua.StoredReply{})
	}
	for range 20 {
		_, err := lua.Run(ctx, r, lock.AcquireScript, in, lua.StoredReply{})
		require.ErrorIs(t, err, redis.ErrUnavailable)
		require.NotErrorIs(t, err, redis.ErrMaybeExecuted, "what was refused did not run")
		var told *redis.Trouble
		require.ErrorAs(t, err, &told)
		require.Equal(t, h.name, told.Name)
		_, errs := lua.Batch(ctx, r, lock.AcquireScript, []lock.AcquireIn{in})
		require.ErrorIs(t, errs[0], redis.ErrUnavailable)
		require.NotErrorIs(t, errs[0], redis.ErrMaybeExecuted)
	}
	insists := make(chan error, 1)
	go func() {
		_, err := lua.RunAs(ctx, r, lock.AcquireScript, in, lua.StoredReply{}, lua.Insistent)
		insists <- err
	}()
	tell(h.end)
	untilTrouble(t, r, "")
	require.NoError(t, <-insists, "who has time is served when it is over")
	_, err := lua.Run(ctx, r, lock.AcquireScript, in, lua.StoredReply{})
	require.NoError(t, err)
	require.Contains(t, log.String(), "trouble="+h.name)
}

func TestARedisThatRefusesIsNamedAndAsked(t *testing.T) {
	t.Parallel()
	for _, h := range harms {
		t.Run(h.name+" "+h.words, func(t *testing.T) {
			t.Parallel()
			s := redistest.Start(t)
			var log noise
			r := luatest.Open(t, lua.Options{URL: s.URL(), Log: logTo(&log)})
			require.NoError(t, luatest.UntilUp(t, r))
			admin := s.Client(t)
			refuses(t, r, &log, h, func(args []string) { require.NoError(t, do(t, admin, args)) })
			require.Equal(t, 1, strings.Count(log.String(), "answers and refuses"), "it begins once")
			require.Equal(t, 2, strings.Count(log.String(), "redis is up"), "it ends once, after the start")
		})
	}
}

// topologyHarms are harms, and others that need more than a command.
var topologyHarms = append(harms[:len(harms):len(harms)],
	harm{"misconf", "disk", []string{"config", "set", "save", "3600 1"}, []string{"config", "set", "save", ""}, blockSnapshots},
	harm{"busy", "does not end", []string{"config", "set", "busy-reply-threshold", "1"}, []string{"script", "kill"}, runOn},
)

// blockSnapshots puts a folder where the server writes its snapshot to, and asks for one.
func blockSnapshots(t *testing.T, master *goredis.Client) {
	dir, err := master.ConfigGet(luatest.Deadline(t), "dir").Result()
	require.NoError(t, err)
	file := filepath.Join(dir["dir"], "dump.rdb")
	require.NoError(t, os.RemoveAll(file))
	require.NoError(t, os.Mkdir(file, 0o700))
	require.NoError(t, master.BgSave(luatest.Deadline(t)).Err())
}

// runOn starts a script that does not end.
func runOn(t *testing.T, master *goredis.Client) {
	opt := *master.Options()
	opt.ReadTimeout = -1
	c := goredis.NewClient(&opt)
	ended := make(chan error, 1)
	go func() { ended <- c.Eval(context.Background(), "while true do end", nil).Err() }()
	t.Cleanup(func() {
		require.Error(t, <-ended)
		require.NoError(t, c.Close())
	})
}

func TestTopologyARedisThatRefusesIsNamedAndAsked(t *testing.T) {
	t.Run("cluster", func(t *testing.T) {
		c := redistest.StartCluster(t)
		var log noise
		r := luatest.Open(t, lua.Options{URL: c.URL(), Log: logTo(&log)})
		require.NoError(t, luatest.UntilUp(t, r))
		admin := c.Client(t)
		for _, h := range topologyHarms {
			refuses(t, r, &log, h, func(args []string) {
				require.NoError(t, admin.ForEachMaster(luatest.Deadline(t), func(_ context.Context, m *goredis.Client) error { return harmful(t, m, h, args) }))
			})
		}
	})
	t.Run("sentinel", func(t *testing.T) {
		s := redistest.StartSentinel(t)
		for _, c := range sentinelsOf(t, s.URL()) { // otherwise they would take a master that does not reply for dead
			require.NoError(t, c.Do(luatest.Deadline(t), "sentinel", "set", "mymaster", "down-after-milliseconds", "600000").Err())
		}
		var log noise
		r := luatest.Open(t, lua.Options{URL: s.URL(), Log: logTo(&log)})
		require.NoError(t, luatest.UntilUp(t, r))
		admin := s.Client(t)
		for _, h := range topologyHarms {
			refuses(t, r, &log, h, func(args []string) { require.NoError(t, harmful(t, admin, h, args)) })
		}
		// A replica is reported as no_master, not by its refusal of writes.
		require.NoError(t, admin.ReplicaOf(luatest.Deadline(t), "127.0.0.1", "1").Err())
		untilTrouble(t, r, "no_master")
		require.NoError(t, admin.ReplicaOf(luatest.Deadline(t), "no", "one").Err())
		untilTrouble(t, r, "")
	})
}

// harmful sends one master the command that begins or ends a harm.
func harmful(t *testing.T, master *goredis.Client, h harm, args []string) error {
	err := do(t, master, args)
	if err == nil && h.then != nil && &args[0] == &h.begin[0] {
		h.then(t, master)
	}
	return err
}

func do(t *testing.T, c *goredis.Client, args []string) error {
	list := make([]any, len(args))
	for i, a := range args {
		list[i] = a
	}
	return c.Do(luatest.Deadline(t), list...).Err()
}

// If a thousand calls at once are refused, each is sent about once, and once more because of what the probe finds. They
// are not repeated as often as their deadlines allow.
func TestRefusedCallsThatArePipelinedMakeNoStorm(t *testing.T) {
	t.Parallel()
	const calls = 1200
	a := startActor(t, forever("OOM command not allowed when used memory > 'maxmemory'.")...)
	r := luatest.Open(t, lua.Options{URL: a.url})
	ready(t, r)
	a.refuse("OOM command not allowed when used memory > 'maxmemory'.")
	ctx := luatest.Deadline(t)
	var wg sync.WaitGroup
	errs := make(chan error, calls)
	for range calls {
		wg.Go(func() {
			_, err := take(ctx, r, "k", 5)
			errs <- err
		})
	}
	wg.Wait()
	close(errs)
	for err := range errs {
		require.ErrorIs(t, err, redis.ErrUnavailable)
		require.NotErrorIs(t, err, redis.ErrMaybeExecuted)
	}
	evals, _ := a.counts()
	require.LessOrEqual(t, evals, 3*calls)
	for range 100 {
		_, err := take(ctx, r, "k", 5)
		require.ErrorIs(t, err, redis.ErrUnavailable)
	}
	again, _ := a.counts()
	require.Equal(t, 100, again-evals, "what is known is asked once each")
}

// Scripts that free something need no memory, and are still executed.
func TestReadsSucceedWhileRedisIsOutOfMemory(t *testing.T) {
	t.Parallel()
	s := redistest.Start(t)
	r := luatest.Open(t, lua.Options{URL: s.URL()})
	in := lock.AcquireIn{Lock: "l", LineKeys: lease.LineKeysOf("l"), Token: "t", TTLMS: 60_000}
	_, err := lua.Run(luatest.Deadline(t), r, lock.AcquireScript, in, lua.StoredReply{})
	require.NoError(t, err)
	require.NoError(t, s.Client(t).ConfigSet(luatest.Deadline(t), "maxmemory", "1").Err())
	untilTrouble(t, r, "oom")
	got, err := lua.Run(luatest.Deadline(t), r, lock.GetScript, lock.GetIn{Lock: "l", Line: lease.LineKeysOf("l").Line}, lua.StoredReply{})
	require.NoError(t, err)
	require.True(t, got.Value.Held)
}

func TestAScriptIsNotBegunThatWouldStopInTheMiddle(t *testing.T) {
	t.Parallel()
	s := redistest.Start(t)
	r, admin := luatest.Open(t, lua.Options{URL: s.URL()}), s.Client(t)
	require.NoError(t, luatest.UntilUp(t, r))
	require.NoError(t, admin.Do(luatest.Deadline(t), "acl", "setuser", "default", "-pexpire").Err())
	untilTrouble(t, r, "denied")
	_, err := take(luatest.Deadline(t), r, "k", 5)
	require.ErrorIs(t, err, redis.ErrUnavailable)
	require.ErrorContains(t, err, "PEXPIRE")
	require.Zero(t, admin.Exists(luatest.Deadline(t), "k").Val(), "no state without a TTL is left")
}

func TestAReadOnlyRedisIsNamed(t *testing.T) {
	t.Parallel()
	s := redistest.Start(t)
	r, admin := luatest.Open(t, lua.Options{URL: s.URL()}), s.Client(t)
	require.NoError(t, luatest.UntilUp(t, r))
	require.NoError(t, admin.ReplicaOf(luatest.Deadline(t), "127.0.0.1", "1").Err())
	require.Contains(t, untilTrouble(t, r, "readonly").Words, "read only")
	_, err := take(luatest.Deadline(t), r, "k", 5)
	require.ErrorIs(t, err, redis.ErrUnavailable)
	require.NotErrorIs(t, err, redis.ErrMaybeExecuted)
	require.NoError(t, admin.ConfigSet(luatest.Deadline(t), "replica-serve-stale-data", "no").Err())
	untilTrouble(t, r, "masterdown")
	require.False(t, r.Status().Up, "it does not even answer")
	require.NoError(t, admin.ReplicaOf(luatest.Deadline(t), "no", "one").Err())
	untilTrouble(t, r, "")
}

func TestCommandsThatWereRenamedAwayAreNamed(t *testing.T) {
	t.Parallel()
	for _, name := range []string{"EVALSHA", "SCRIPT", "ZADD", "PING"} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			r := luatest.Open(t, lua.Options{URL: redistest.Start(t, "--rename-command", name, "").URL()})
			require.Contains(t, untilTrouble(t, r, "no_command").Words, name)
			in := lock.AcquireIn{Lock: "l", LineKeys: lease.LineKeysOf("l"), Token: "t", TTLMS: 60_000}
			_, err := lua.Attempt(luatest.Deadline(t), r, lock.AcquireScript, in, lua.StoredReply{})
			require.ErrorIs(t, err, redis.ErrUnavailable)
			require.NotErrorIs(t, err, redis.ErrMaybeExecuted)
		})
	}
	t.Run("EVAL is not needed", func(t *testing.T) {
		t.Parallel()
		r := luatest.Open(t, lua.Options{URL: redistest.Start(t, "--rename-command", "EVAL", "").URL()})
		untilTrouble(t, r, "")
		_, err := take(luatest.Deadline(t), r, "k", 5)
		require.NoError(t, err)
	})
}

// A server is recognised as a node of a cluster by the first key that is on another node.
func TestTopologyARedisURLThatNamesANodeOfAClusterIsNamed(t *testing.T) {
	t.Parallel()
	c := redistest.SharedCluster(t)
	first, _, _ := strings.Cut(strings.TrimPrefix(c, "redis+cluster://"), ",")
	r := luatest.Open(t, lua.Options{URL: "redis://" + first})
	var err error
	for _, k := range spanning(t, 60) {
		if _, err = take(luatest.Deadline(t), r, k, 5); err != nil {
			break
		}
	}
	require.ErrorIs(t, err, redis.ErrUnavailable)
	var told *redis.Trouble
	require.True(t, errors.As(err, &told))
	require.Equal(t, "cluster_url", told.Name)
	require.Contains(t, told.Remedy, "redis+cluster://")
}

func TestADiskThatTakesNoSnapshotIsNamed(t *testing.T) {
	t.Parallel()
	s := redistest.Start(t, "--enable-protected-configs", "yes")
	var log noise
	r := luatest.Open(t, lua.Options{URL: s.URL(), Log: logTo(&log)})
	require.NoError(t, luatest.UntilUp(t, r))
	admin := s.Client(t)
	for _, args := range [][]string{{"config", "set", "dir", "/proc"}, {"config", "set", "save", "3600 1"}} {
		require.NoError(t, do(t, admin, args))
	}
	h := harm{"misconf", "disk", []string{"bgsave"}, []string{"config", "set", "save", ""}, nil}
	refuses(t, r, &log, h, func(args []string) { require.NoError(t, do(t, admin, args)) })
}

func TestAScriptThatDoesNotEndIsNamed(t *testing.T) {
	t.Parallel()
	s := redistest.Start(t, "--busy-reply-threshold", "1")
	r, admin := luatest.Open(t, lua.Options{URL: s.URL()}), s.Client(t)
	require.NoError(t, luatest.UntilUp(t, r))
	ended := make(chan error, 1)
	go func() { ended <- admin.Eval(context.Background(), "while true do end", nil).Err() }()
	untilTrouble(t, r, "busy")
	require.True(t, r.Status().Up, "it keeps its connections")
	_, err := lua.Attempt(luatest.Deadline(t), r, ratelimit.TokenBucketScript, bucket("k", 5), lua.StoredReply{})
	require.ErrorIs(t, err, redis.ErrUnavailable)
	require.NotErrorIs(t, err, redis.ErrMaybeExecuted)
	require.NoError(t, s.Client(t).ScriptKill(luatest.Deadline(t)).Err())
	require.Error(t, <-ended)
	untilTrouble(t, r, "")
}
