package lua_test

import (
	"context"
	"errors"
	"net"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/coxswain-sidecar/coxswain/internal/coord/lock"
	"github.com/coxswain-sidecar/coxswain/internal/coord/ratelimit"
	"github.com/coxswain-sidecar/coxswain/internal/lua"
	"github.com/coxswain-sidecar/coxswain/internal/luatest"
	"github.com/coxswain-sidecar/coxswain/internal/redis"
	"github.com/coxswain-sidecar/coxswain/internal/redistest"
)

// untilDown returns after the first call that fails because Redis is known to be down.
func untilDown(t *testing.T, r *lua.Runner) {
	ctx := luatest.Deadline(t)
	tick := time.NewTicker(2 * time.Millisecond)
	defer tick.Stop()
	for r.Status().Up || r.Status().Trouble == nil {
		select {
		case <-tick.C:
		case <-ctx.Done():
			t.Fatal("never found to be down")
		}
	}
}

func TestAStoreOpenedDuringAnOutageRecoversByItself(t *testing.T) {
	t.Parallel()
	s := redistest.Start(t)
	s.Stop()
	r := luatest.Open(t, lua.Options{URL: s.URL()})
	_, err := take(luatest.Deadline(t), r, "k", 5)
	require.ErrorIs(t, err, redis.ErrUnavailable)
	require.ErrorContains(t, err, "refused")
	st := r.Status()
	require.False(t, st.Up)
	require.ErrorContains(t, st.Trouble, "refused")
	require.False(t, st.ScriptsLoaded)
	require.ErrorIs(t, r.Ping(luatest.Deadline(t)), redis.ErrUnavailable)
	s.Restart()
	require.NoError(t, luatest.UntilUp(t, r))
	require.True(t, r.Status().Up)
	require.True(t, r.Status().ScriptsLoaded)
	require.NoError(t, r.Ping(luatest.Deadline(t)))
}

func TestEveryScriptIsLoadedAtStartAndAfterARestart(t *testing.T) {
	t.Parallel()
	s := redistest.Start(t)
	r := luatest.Open(t, lua.Options{URL: s.URL()})
	loaded := func() {
		t.Helper()
		require.NoError(t, luatest.UntilUp(t, r))
		var shas []string
		for src := range everyScript(t) {
			shas = append(shas, src.SHA())
		}
		have, err := s.Client(t).ScriptExists(luatest.Deadline(t), shas...).Result()
		require.NoError(t, err)
		require.NotContains(t, have, false)
	}
	loaded()
	s.Stop()
	untilDown(t, r)
	s.Restart()
	loaded()
}

func TestWhileDownCallsFailWithoutDialling(t *testing.T) {
	t.Parallel()
	s := redistest.Start(t)
	p := luatest.StartProxy(t, s.URL())
	r := luatest.Open(t, lua.Options{URL: p.URL})
	require.NoError(t, luatest.UntilUp(t, r))
	s.Stop()
	untilDown(t, r)
	before := p.Connections()
	for range 5000 {
		_, err := take(luatest.Deadline(t), r, "k", 5)
		require.ErrorIs(t, err, redis.ErrUnavailable)
		_, errs := lua.Batch(luatest.Deadline(t), r, lock.GetScript, []lock.GetIn{{Lock: "l"}})
		require.ErrorIs(t, errs[0], redis.ErrUnavailable)
	}
	require.Less(t, p.Connections()-before, 500, "only the probe dials, and ever more rarely")
}

func TestACallUnderWayWhenAnOutageBeginsIsAnsweredAfterIt(t *testing.T) {
	t.Parallel()
	s := redistest.Start(t)
	p := luatest.StartProxy(t, s.URL())
	r := luatest.Open(t, lua.Options{URL: p.URL})
	require.NoError(t, luatest.UntilUp(t, r))
	s.Pause()
	p.Lose(luatest.Plan{Pass: 1 << 20})
	done := make(chan error, 1)
	go func() {
		_, err := lua.Run(luatest.Deadline(t), r, ratelimit.TokenBucketScript, bucket("k", 5), lua.StoredReply{Key: "k:idem", Fingerprint: "f"})
		done <- err
	}()
	<-p.Saw // the script was sent
	s.Stop()
	untilDown(t, r)
	_, err := take(luatest.Deadline(t), r, "k", 5)
	require.ErrorIs(t, err, redis.ErrUnavailable, "a call that comes during the outage does not wait")
	s.Restart()
	require.NoError(t, <-done)
	require.EqualValues(t, 1, spent(t, r, "k", 5))
}

func TestIdleConnectionsThatTheServerClosedCostNoCall(t *testing.T) {
	t.Parallel()
	secured(t, "standalone", func(t *testing.T, o lua.Options, masters []witness) {
		r := luatest.Open(t, o)
		for i := range 20 {
			_, err := take(luatest.Deadline(t), r, "k", 50)
			require.NoError(t, err, i)
			// If a probe's connection is cut several times in a row, the server counts as down. So each kill waits for
			// a successful one.
			await(t, func() bool { return r.Ping(luatest.Deadline(t)) == nil })
			require.NoError(t, masters[0].ClientKillByFilter(luatest.Deadline(t), "TYPE", "normal", "SKIPME", "yes").Err())
		}
		require.EqualValues(t, 20, spent(t, r, "k", 50))
	})
}

func TestConnectionsKilledUnderLoad(t *testing.T) {
	t.Parallel()
	s := redistest.Start(t)
	r, admin := luatest.Open(t, lua.Options{URL: s.URL()}), s.Client(t)
	require.NoError(t, luatest.UntilUp(t, r))
	stop := make(chan struct{})
	served := make(chan struct{}, 1) // a call was answered
	var mu sync.Mutex                // guards ok, maybe and others
	var ok, maybe int64
	var others []error
	var wg sync.WaitGroup
	for range 16 {
		wg.Go(func() {
			for {
				select {
				case <-stop:
					return
				default:
				}
				_, err := take(luatest.Deadline(t), r, "k", 10_000_000)
				mu.Lock()
				switch {
				case err == nil:
					ok++
					select {
					case served <- struct{}{}:
					default:
					}
				case errors.Is(err, redis.ErrMaybeExecuted):
					maybe++
				default:
					others = append(others, err)
				}
				mu.Unlock()
			}
		})
	}
	for range 60 {
		require.NoError(t, admin.ClientKillByFilter(luatest.Deadline(t), "TYPE", "normal", "SKIPME", "yes").Err())
		<-served // this call may have been answered before the kill
		<-served
		for r.Ping(luatest.Deadline(t)) != nil { // a probe must succeed between two kills too
		}
	}
	close(stop)
	wg.Wait()
	require.Empty(t, others[:min(3, len(others))], "a killed connection is no outage")
	counted := spent(t, r, "k", 10_000_000)
	require.LessOrEqual(t, ok, counted)
	require.LessOrEqual(t, counted, ok+maybe)
}

func TestAServerThatStopsAnsweringIsDownUntilItAnswers(t *testing.T) {
	t.Parallel()
	s := redistest.Start(t)
	r := luatest.Open(t, lua.Options{URL: s.URL(), CommandTimeout: 200 * time.Millisecond})
	require.NoError(t, luatest.UntilUp(t, r))
	s.Pause()
	_, err := take(luatest.Deadline(t), r, "k", 5)
	for !errors.Is(err, redis.ErrMaybeExecuted) { // a probe has found it before the call was sent
		require.ErrorIs(t, err, redis.ErrUnavailable)
		s.Resume()
		require.NoError(t, luatest.UntilUp(t, r))
		s.Pause()
		_, err = take(luatest.Deadline(t), r, "k", 5)
	}
	untilDown(t, r)
	_, err = take(luatest.Deadline(t), r, "k", 5)
	require.ErrorIs(t, err, redis.ErrUnavailable)
	s.Resume()
	require.NoError(t, luatest.UntilUp(t, r))
}

func TestPausedClientsMeetTheirOwnDeadlines(t *testing.T) {
	t.Parallel()
	s := redistest.Start(t)
	r, admin := luatest.Open(t, lua.Options{URL: s.URL()}), s.Client(t)
	require.NoError(t, luatest.UntilUp(t, r))
	require.NoError(t, admin.Do(luatest.Deadline(t), "client", "pause", 600_000, "write").Err())
	var maybe int64
	// A busy machine may not have sent one in the time.
	for within := 500 * time.Millisecond; within < 30*time.Second && maybe == 0; within *= 2 {
		ctx, cancel := context.WithTimeout(context.Background(), within)
		var wg sync.WaitGroup
		errs := make(chan error, 8)
		for range cap(errs) { // one is sent alone, the others in batches
			wg.Go(func() { _, err := take(ctx, r, "k", 50); errs <- err })
		}
		wg.Wait()
		cancel()
		close(errs)
		for err := range errs {
			require.ErrorIs(t, err, context.DeadlineExceeded)
			if errors.Is(err, redis.ErrMaybeExecuted) {
				maybe++
			}
		}
	}
	require.Positive(t, maybe, "what was sent may be executed")
	require.NoError(t, admin.ClientUnpause(luatest.Deadline(t)).Err())
	require.NoError(t, luatest.UntilUp(t, r))
	require.LessOrEqual(t, spent(t, r, "k", 50), maybe, "what waited behind it was taken out of the queue")
}

func TestWrongCredentialsAreAStateAndNeverShown(t *testing.T) {
	t.Parallel()
	s := redistest.Start(t, "--requirepass", "open-sesame")
	addr := strings.TrimPrefix(s.URL(), "redis://")
	for name, c := range map[string]struct{ url, want string }{
		"none":  {s.URL(), "NOAUTH"},
		"wrong": {"redis://:hunter2@" + addr, "WRONGPASS"},
		"user":  {"redis://crawler:hunter2@" + addr, "WRONGPASS"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			var log noise
			r := luatest.Open(t, lua.Options{URL: c.url, Log: logTo(&log)})
			_, err := take(luatest.Deadline(t), r, "k", 5)
			require.ErrorIs(t, err, redis.ErrUnavailable)
			require.ErrorContains(t, err, c.want)
			require.ErrorContains(t, r.Status().Trouble, c.want)
			require.Equal(t, addr, r.Status().Address)
			require.NotContains(t, err.Error()+log.String(), "hunter2")
		})
	}
	r := luatest.Open(t, lua.Options{URL: "redis://:open-sesame@" + addr + "/3"})
	_, err := take(luatest.Deadline(t), r, "k", 5)
	require.NoError(t, err)
	admin := luatest.Open(t, lua.Options{URL: "redis://:open-sesame@" + addr})
	require.Zero(t, spent(t, admin, "k", 5), "another database has another k")
}

func TestAServerWithoutRoomIsDownUntilThereIs(t *testing.T) {
	t.Parallel()
	s := redistest.Start(t, "--maxclients", "8")
	var fill []net.Conn
	for {
		c, err := net.Dial("tcp", strings.TrimPrefix(s.URL(), "redis://"))
		require.NoError(t, err)
		fill = append(fill, c)
		_, err = c.Write([]byte("PING\r\n"))
		require.NoError(t, err)
		answer := make([]byte, 5)
		_, err = c.Read(answer)
		require.NoError(t, err)
		if string(answer[:4]) == "-ERR" {
			break
		}
	}
	r := luatest.Open(t, lua.Options{URL: s.URL(), MinIdle: 1, MaxConns: 2})
	for range 100 {
		_, err := take(luatest.Deadline(t), r, "k", 5)
		require.ErrorIs(t, err, redis.ErrUnavailable)
		require.ErrorContains(t, err, "max number of clients reached")
		require.ErrorContains(t, r.Ping(luatest.Deadline(t)), "max number of clients reached")
	}
	for _, c := range fill {
		require.NoError(t, c.Close())
	}
	require.NoError(t, luatest.UntilUp(t, r))
}

func TestStatus(t *testing.T) {
	t.Parallel()
	s := redistest.Start(t, "--maxmemory", "50mb", "--maxmemory-policy", "allkeys-lru")
	r := luatest.Open(t, lua.Options{URL: s.URL(), MinIdle: 2, MaxConns: 7})
	require.NoError(t, luatest.UntilUp(t, r))
	st := r.Status()
	require.Equal(t, "standalone", st.Topology)
	require.Equal(t, strings.TrimPrefix(s.URL(), "redis://"), st.Address)
	require.Nil(t, st.Trouble)
	require.True(t, st.ScriptsLoaded)
	require.Equal(t, "allkeys-lru", st.EvictionPolicy)
	require.Positive(t, st.UsedMemory)
	require.Positive(t, st.RTT)
	require.Equal(t, 7, st.PoolMax)
	require.Positive(t, st.PoolTotal)

	r = luatest.Open(t, lua.Options{URL: redis.Embedded})
	require.NoError(t, luatest.UntilUp(t, r))
	st = r.Status()
	require.Equal(t, "embedded", st.Topology)
	require.True(t, st.Up)
	require.True(t, st.ScriptsLoaded)
	require.Empty(t, st.EvictionPolicy)
	require.NoError(t, r.Ping(luatest.Deadline(t)))
}
