package lua_test

import (
	"context"
	"errors"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/alicebob/miniredis/v2/server"
	"github.com/stretchr/testify/require"

	"github.com/coxswain-sidecar/coxswain/internal/coord/ratelimit"
	"github.com/coxswain-sidecar/coxswain/internal/lua"
	"github.com/coxswain-sidecar/coxswain/internal/luatest"
	"github.com/coxswain-sidecar/coxswain/internal/redis"
	"github.com/coxswain-sidecar/coxswain/internal/redistest"
)

// actor is a server whose replies a test sets. It replies to PING and SCRIPT as Redis does, and to each EVALSHA with
// the next line of its part, and after the last line with an allowed charge.
type actor struct {
	url, addr string

	news sync.Cond // after each command

	mu      sync.Mutex // guards the rest
	part    []string
	pong    string // instead of PONG
	writes  string // the error with which the probe's script, which tests writing, is refused; "" = it is not refused
	probes  int
	refused int // PINGs without PONG
	evals   int
	loads   int
	args    []string // of the last EVALSHA
	// turnedDown has, by command ("*" = all), the error with which it is refused.
	turnedDown map[string]string
	// names is the master that it names as a sentinel or a node of a cluster; "" = none.
	names string
}

func startActor(t *testing.T, part ...string) *actor {
	t.Helper()
	return startActorTLS(t, nil, part...)
}

// startActorTLS is startActor over TLS, unless the certificates are nil.
func startActorTLS(t *testing.T, certs *redistest.Certificates, part ...string) *actor {
	t.Helper()
	listen, scheme := server.NewServer, "redis://"
	if certs != nil {
		scheme = "rediss://"
		listen = func(addr string) (*server.Server, error) { return server.NewServerTLS(addr, certs.Server(t)) }
	}
	srv, err := listen("127.0.0.1:0")
	require.NoError(t, err)
	t.Cleanup(srv.Close)
	addr := srv.Addr().String()
	a := &actor{url: scheme + addr, addr: addr, names: addr, part: part}
	a.news.L = &a.mu
	srv.SetPreHook(a.turnsDown)
	for name, answer := range map[string]func(c *server.Peer, args []string){
		"PING":    a.ping,
		"SCRIPT":  a.script,
		"EVALSHA": a.evalsha,
		// It is its own sentinel and its own cluster.
		"SENTINEL": a.sentinel, "ROLE": a.role, "CLUSTER": a.cluster,
		"AUTH": ok, "SELECT": ok,
	} {
		require.NoError(t, srv.Register(name, func(c *server.Peer, _ string, args []string) {
			a.mu.Lock()
			defer a.mu.Unlock()
			answer(c, args)
			a.news.Broadcast()
		}))
	}
	return a
}

// turnsDown refuses a command if the test wants it, and reports whether it did.
func (a *actor) turnsDown(c *server.Peer, cmd string, _ ...string) bool {
	a.mu.Lock()
	defer a.mu.Unlock()
	line, ok := a.turnedDown[strings.ToUpper(cmd)]
	if !ok {
		line, ok = a.turnedDown["*"]
	}
	switch {
	case line == "hang up":
		c.Close()
	case ok:
		c.WriteError(line)
	}
	return ok
}

// turnDown makes the actor refuse these commands, and no others, with an error. The line "hang up" makes it close the
// connection instead.
func (a *actor) turnDown(line string, commands ...string) {
	a.mu.Lock()
	defer a.mu.Unlock()
	a.turnedDown = map[string]string{}
	for _, cmd := range commands {
		a.turnedDown[cmd] = line
	}
}

// tells makes the actor name another master, or none.
func (a *actor) tells(addr string) {
	a.mu.Lock()
	defer a.mu.Unlock()
	a.names = addr
}

func (a *actor) sentinel(c *server.Peer, _ []string) {
	if a.names == "" {
		c.WriteNull()
		return
	}
	i := strings.LastIndexByte(a.names, ':')
	c.WriteStrings([]string{a.names[:i], a.names[i+1:]})
}

func ok(c *server.Peer, _ []string) { c.WriteOK() }

func (*actor) role(c *server.Peer, _ []string) {
	c.WriteLen(3)
	c.WriteBulk("master")
	c.WriteInt(0)
	c.WriteLen(0)
}

func (a *actor) cluster(c *server.Peer, _ []string) {
	if a.names == "" {
		c.WriteBulk("id " + a.addr + "@1 myself,master - 0 0 1 connected\n")
		return
	}
	c.WriteBulk("id " + a.names + "@1 master - 0 0 1 connected 0-16383\n")
}

func (a *actor) ping(c *server.Peer, _ []string) {
	if a.pong == "" {
		c.WriteInline("PONG")
		return
	}
	a.refused++
	if a.pong != "silence" {
		c.WriteError(a.pong)
	}
}

func (a *actor) script(c *server.Peer, args []string) {
	if strings.EqualFold(args[0], "load") {
		a.loads++
		c.WriteBulk("sha")
		return
	}
	c.WriteLen(len(args) - 1)
	for range args[1:] {
		c.WriteInt(1)
	}
}

func (a *actor) evalsha(c *server.Peer, args []string) {
	if args[0] == luatest.ProbeSHA() {
		a.probes++
		if a.writes != "" {
			c.WriteError(a.writes)
			return
		}
		c.WriteLen(2)
		c.WriteBulk("")
		c.WriteBulk("")
		return
	}
	a.evals++
	a.args = args
	if len(a.part) > 0 {
		line := a.part[0]
		a.part = a.part[1:]
		switch line {
		case "hang up":
			c.Close()
			return
		case "silence":
			return
		}
		c.WriteError(line)
		return
	}
	c.WriteLen(9)
	for _, v := range []int{1, 1, 4, 1, 0, 0, 7} {
		c.WriteInt(v)
	}
	c.WriteBulk("")
	c.WriteBulk("")
}

// says sets the actor's reply to PING.
func (a *actor) says(pong string) {
	a.mu.Lock()
	defer a.mu.Unlock()
	a.pong = pong
}

// refuse makes the actor refuse the probe's script, which tests writing.
func (a *actor) refuse(line string) {
	a.mu.Lock()
	defer a.mu.Unlock()
	a.writes = line
}

// await returns when wish reports true, which is checked after each command. Only the test's timeout ends it otherwise.
func (a *actor) await(wish func() bool) {
	a.mu.Lock()
	defer a.mu.Unlock()
	for !wish() {
		a.news.Wait()
	}
}

func (a *actor) counts() (evals, loads int) {
	a.mu.Lock()
	defer a.mu.Unlock()
	return a.evals, a.loads
}

// ready returns when the runner is up, without running a script.
func ready(t *testing.T, r *lua.Runner) {
	ctx := luatest.Deadline(t)
	tick := time.NewTicker(time.Millisecond)
	defer tick.Stop()
	for !r.Status().Up {
		select {
		case <-tick.C:
		case <-ctx.Done():
			t.Fatal("never up")
		}
	}
}

var refusals = []string{
	"LOADING Redis is loading the dataset in memory",
	"READONLY You can't write against a read only replica. script: 5c9d, on @user_script:3.",
	"CLUSTERDOWN The cluster is down",
	"TRYAGAIN Multiple keys request during rehashing of slot",
	"MASTERDOWN Link with MASTER is down and replica-serve-stale-data is set to 'no'.",
	"NOSCRIPT No matching script. Please use EVAL.",
	"BUSY Redis is busy running a script. You can only call SCRIPT KILL or SHUTDOWN NOSAVE.",
	"OOM command not allowed when used memory > 'maxmemory'.",
	"MISCONF Redis is configured to save RDB snapshots, but it's currently unable to persist to disk.",
	"NOREPLICAS Not enough good replicas to write.",
	"ERR max number of clients reached",
}

// passing are refusals that end by themselves or are ended by the runner. A call is tried again after them as long as
// it has time.
var passing = []string{"TRYAGAIN", "NOSCRIPT"}

func TestACallThatRedisRefusedIsTriedAgain(t *testing.T) {
	t.Parallel()
	for _, line := range refusals {
		t.Run(line, func(t *testing.T) {
			t.Parallel()
			a := startActor(t, line, line, line)
			out, err := lua.RunAs(luatest.Deadline(t), luatest.Open(t, lua.Options{URL: a.url}), ratelimit.TokenBucketScript, bucket("k", 5), lua.StoredReply{}, lua.Insistent)
			require.NoError(t, err)
			require.EqualValues(t, 4, out.Value.Remaining)
			evals, _ := a.counts()
			require.Equal(t, 4, evals)
		})
	}
}

// forever returns a part with so many refusals that no call gets beyond the last one.
func forever(line string) []string { return slices.Repeat([]string{line}, 10_000) }

func TestACallThatRedisKeepsRefusingEndsAtItsDeadline(t *testing.T) {
	t.Parallel()
	for _, line := range refusals {
		t.Run(line, func(t *testing.T) {
			t.Parallel()
			a := startActor(t, forever(line)...)
			r := luatest.Open(t, lua.Options{URL: a.url})
			ready(t, r)
			var err error
			for err == nil || errors.Is(err, redis.ErrMaybeExecuted) { // the deadline cut the last reply off
				ctx, cancel := context.WithTimeout(context.Background(), time.Second)
				_, err = lua.RunAs(ctx, r, ratelimit.TokenBucketScript, bucket("k", 5), lua.StoredReply{}, lua.Insistent)
				cancel()
				require.Error(t, err)
			}
			require.ErrorIs(t, err, redis.ErrUnavailable)
			code, _, _ := strings.Cut(line, " ")
			require.ErrorContains(t, err, code)
			evals, _ := a.counts()
			require.Greater(t, evals, 1)
			require.Less(t, evals, 500, "it pauses between tries")
		})
	}
}

func TestARefusalEndsACallLongBeforeItsDeadline(t *testing.T) {
	t.Parallel()
	for _, line := range refusals {
		if code, _, _ := strings.Cut(line, " "); slices.Contains(passing, code) {
			continue
		}
		t.Run(line, func(t *testing.T) {
			t.Parallel()
			a := startActor(t, forever(line)...)
			r := luatest.Open(t, lua.Options{URL: a.url})
			ready(t, r)
			ctx := luatest.Deadline(t)
			for name, run := range map[string]func() error{
				"run": func() error { _, err := take(ctx, r, "k", 5); return err },
				"attempt": func() error {
					_, err := lua.Attempt(ctx, r, ratelimit.TokenBucketScript, bucket("k", 5), lua.StoredReply{})
					return err
				},
			} {
				err := run()
				require.NoError(t, ctx.Err(), "%s: it took its whole time", name)
				require.ErrorIs(t, err, redis.ErrUnavailable, name)
				require.NotErrorIs(t, err, redis.ErrMaybeExecuted, name)
				var trouble *redis.Trouble
				require.ErrorAs(t, err, &trouble, name)
				require.NotEmpty(t, trouble.Remedy, name)
			}
		})
	}
}

func TestErrorsOfAScriptAreNotRetried(t *testing.T) {
	t.Parallel()
	for _, line := range []string{
		"ERR user_script:1: attempt to index a nil value script: 5c9d, on @user_script:1.",
		"WRONGTYPE Operation against a key holding the wrong kind of value",
	} {
		t.Run(line, func(t *testing.T) {
			t.Parallel()
			a := startActor(t, line)
			_, err := take(luatest.Deadline(t), luatest.Open(t, lua.Options{URL: a.url}), "k", 5)
			require.ErrorContains(t, err, line)
			require.NotErrorIs(t, err, redis.ErrUnavailable)
			require.NotErrorIs(t, err, redis.ErrMaybeExecuted)
			evals, _ := a.counts()
			require.Equal(t, 1, evals)
		})
	}
}

func TestALostReplyIsTriedAgainOnlyWhenThatCountsOnce(t *testing.T) {
	t.Parallel()
	a := startActor(t, "hang up")
	r := luatest.Open(t, lua.Options{URL: a.url})
	_, err := take(luatest.Deadline(t), r, "k", 5)
	require.ErrorIs(t, err, redis.ErrMaybeExecuted)
	evals, _ := a.counts()
	require.Equal(t, 1, evals)

	a = startActor(t, "hang up", "LOADING wait", "hang up")
	r = luatest.Open(t, lua.Options{URL: a.url})
	_, err = lua.Run(luatest.Deadline(t), r, ratelimit.TokenBucketScript, bucket("k", 5), lua.StoredReply{Key: "i", Fingerprint: "f"})
	require.NoError(t, err)
	evals, _ = a.counts()
	require.Equal(t, 4, evals)
}

func TestAnUnknownOutcomeStaysUnknownAfterFurtherTries(t *testing.T) {
	t.Parallel()
	part := []string{"hang up"}
	for range 10_000 {
		part = append(part, "LOADING wait")
	}
	a := startActor(t, part...)
	r := luatest.Open(t, lua.Options{URL: a.url})
	ready(t, r)
	_, err := lua.Run(luatest.Deadline(t), r, ratelimit.TokenBucketScript, bucket("k", 5), lua.StoredReply{Key: "i", Fingerprint: "f"})
	require.ErrorIs(t, err, redis.ErrMaybeExecuted)
	require.ErrorContains(t, err, "LOADING", "what came last is told all the same")
}

func TestCancellationBetweenTriesIsTheCallersOwn(t *testing.T) {
	t.Parallel()
	a := startActor(t, forever("LOADING wait")...)
	r := luatest.Open(t, lua.Options{URL: a.url})
	ctx, cancel := context.WithCancel(context.Background())
	done := make(chan error, 1)
	go func() {
		_, err := lua.RunAs(ctx, r, ratelimit.TokenBucketScript, bucket("k", 5), lua.StoredReply{}, lua.Insistent)
		done <- err
	}()
	a.await(func() bool { return a.evals >= 3 })
	cancel()
	err := <-done
	require.ErrorIs(t, err, context.Canceled)
	require.NotErrorIs(t, err, redis.ErrUnavailable, "a fail mode must not answer for a caller that left")
	require.NotErrorIs(t, err, redis.ErrMaybeExecuted)
}

func TestAServerThatIsLoadingIsDownForNewCalls(t *testing.T) {
	t.Parallel()
	a := startActor(t)
	r := luatest.Open(t, lua.Options{URL: a.url})
	require.NoError(t, luatest.UntilUp(t, r))
	a.says("LOADING Redis is loading the dataset in memory")
	untilDown(t, r)
	require.ErrorContains(t, r.Status().Trouble, "LOADING")
	_, err := take(luatest.Deadline(t), r, "k", 5)
	require.ErrorIs(t, err, redis.ErrUnavailable)
	a.says("")
	require.NoError(t, luatest.UntilUp(t, r))
}

func TestCallsWaitingForAServerAreAnsweredWhenItIsFoundDown(t *testing.T) {
	t.Parallel()
	a := startActor(t, "silence")
	r := luatest.Open(t, lua.Options{URL: a.url, CommandTimeout: time.Hour})
	done := make(chan error, 1)
	go func() { _, err := take(luatest.Deadline(t), r, "k", 5); done <- err }()
	a.await(func() bool { return a.evals == 1 })
	a.says("LOADING Redis is loading the dataset in memory")
	err := <-done
	require.ErrorIs(t, err, redis.ErrMaybeExecuted)
	require.NotErrorIs(t, err, context.DeadlineExceeded)
	require.False(t, r.Status().Up)
}

func TestCloseDoesNotWaitForASilentServer(t *testing.T) {
	t.Parallel()
	a := startActor(t)
	r := luatest.Open(t, lua.Options{URL: a.url, CommandTimeout: time.Hour})
	ready(t, r)
	a.says("silence")
	a.await(func() bool { return a.refused > 0 }) // now the probe waits for a reply, for up to an hour
	require.NoError(t, r.Close())
}

func TestAServerThatIsBusyIsUp(t *testing.T) {
	t.Parallel()
	var log noise
	a := startActor(t)
	r := luatest.Open(t, lua.Options{URL: a.url, Log: logTo(&log)})
	ready(t, r)
	a.says("BUSY Redis is busy running a script.")
	const mine = 3
	for range mine { // each makes a probe
		require.Error(t, r.Ping(luatest.Deadline(t)))
	}
	a.await(func() bool { return a.refused >= mine+2 })
	require.True(t, r.Status().Up)
	require.NotContains(t, log.String(), "redis is down")
}

func TestNoscriptIsRecoveredByOneLoadForAll(t *testing.T) {
	t.Parallel()
	part := make([]string, 64)
	for i := range part {
		part[i] = "NOSCRIPT No matching script."
	}
	a := startActor(t, part...)
	r := luatest.Open(t, lua.Options{URL: a.url})
	ready(t, r)
	ins := make([]ratelimit.TokenBucketIn, 64)
	for i := range ins {
		ins[i] = bucket("k", 5)
	}
	_, errs := lua.Batch(luatest.Deadline(t), r, ratelimit.TokenBucketScript, ins)
	for _, err := range errs {
		require.NoError(t, err)
	}
	evals, loads := a.counts()
	require.Equal(t, 128, evals)
	require.Equal(t, lua.Loaded(r)+1, loads, "and the probe")
}

// Scripts are flushed as fast as they are loaded.
func TestABatchSucceedsWhileScriptsAreFlushed(t *testing.T) {
	t.Parallel()
	const flushes = 8
	part := make([]string, flushes)
	for i := range part {
		part[i] = "NOSCRIPT No matching script."
	}
	a := startActor(t, part...)
	r := luatest.Open(t, lua.Options{URL: a.url})
	ready(t, r)
	_, errs := lua.Batch(luatest.Deadline(t), r, ratelimit.TokenBucketScript, []ratelimit.TokenBucketIn{bucket("k", 5)})
	require.NoError(t, errs[0])
	evals, _ := a.counts()
	require.Equal(t, flushes+1, evals)
}
