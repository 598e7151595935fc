package client_test

import (
	"context"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/coxswain-sidecar/coxswain/client"
	"github.com/coxswain-sidecar/coxswain/client/api"
)

// granting makes the fake give every lock, and take every one back.
func granting(f *fake) {
	f.on("lock.acquire", func(fr frame) (any, any) {
		ttl := fr.params["ttl_ms"]
		if ttl == nil {
			ttl = 30000
		}
		return map[string]any{"acquired": true, "token": fr.params["token"], "fence": "18446744073709551615", "ttl_ms": ttl}, nil
	})
	f.on("lock.release", func(frame) (any, any) { return map[string]any{"released": true, "reason": "released"}, nil })
}

func TestLockIsHeldUntilReleased(t *testing.T) {
	t.Parallel()
	f := newFake(t)
	granting(f)
	c := dial(t, f.listen(), client.Options{})
	type key struct{}
	ctx, cancel := context.WithCancel(context.WithValue(t.Context(), key{}, "v"))
	lk, err := c.LockAcquire(ctx, "orders", client.LockOptions{})
	require.NoError(t, err)
	p := f.next("lock.acquire").params
	require.Equal(t, lk.Token(), p["token"])
	require.NotContains(t, p, "ttl_ms", "the sidecar's default")
	require.NotContains(t, p, "bind")
	require.Equal(t, "orders", lk.Name())
	require.Equal(t, uint64(18446744073709551615), lk.Fence())

	cancel()
	require.NoError(t, lk.Context().Err(), "the lock outlives the context it was acquired with")
	require.Equal(t, "v", lk.Context().Value(key{}))

	require.NoError(t, lk.Release(ctx), "on a context that has ended, as in a defer")
	require.ErrorIs(t, context.Cause(lk.Context()), client.ErrReleased)
	require.NoError(t, lk.Release(t.Context()), "again")
	require.ErrorIs(t, lk.Renew(t.Context()), client.ErrReleased)
	require.Equal(t, map[string]any{"name": "orders", "token": lk.Token()}, withoutMeta(f.next("lock.release").params))
	require.Empty(t, f.frames, "the second release was no call")
}

func withoutMeta(p map[string]any) map[string]any {
	m := map[string]any{}
	for k, v := range p {
		if !strings.HasPrefix(k, "_") {
			m[k] = v
		}
	}
	return m
}

func TestABusyLockIsATypedError(t *testing.T) {
	t.Parallel()
	f := newFake(t)
	f.on("lock.acquire", func(frame) (any, any) {
		return map[string]any{"acquired": false, "retry_after_ms": 1500, "ttl_ms": 1500, "reason": "busy", "held_by": map[string]any{"client": "a", "instance": "b", "since_at_ms": 5}}, nil
	})
	c := dial(t, f.listen(), client.Options{})
	_, err := c.LockAcquire(t.Context(), "l", client.LockOptions{TTL: 1500 * time.Microsecond, Bind: api.BindTTL})
	var busy *client.BusyError
	require.ErrorAs(t, err, &busy)
	require.ErrorIs(t, err, client.ErrBusy)
	require.Equal(t, &client.BusyError{Noun: "lock", Name: "l", HeldBy: &api.Holder{Client: "a", Instance: "b", SinceAtMS: 5}, RetryAfter: 1500 * time.Millisecond}, busy)
	p := f.next("lock.acquire").params
	require.Equal(t, int64(2), p["ttl_ms"], "rounded up")
	require.Equal(t, "ttl", p["bind"])

	f.on("lock.acquire", func(frame) (any, any) { return nil, []any{0, "UNAVAILABLE: no redis"} })
	_, err = c.LockAcquire(t.Context(), "l", client.LockOptions{})
	require.ErrorIs(t, err, api.Unavailable)
	require.NotErrorIs(t, err, client.ErrBusy)
}

func TestALostLockEndsItsContext(t *testing.T) {
	t.Parallel()
	f := newFake(t)
	granting(f)
	c := dial(t, f.listen(), client.Options{})
	lk, err := c.LockAcquire(t.Context(), "l", client.LockOptions{})
	require.NoError(t, err)
	other, err := c.LockAcquire(t.Context(), "m", client.LockOptions{})
	require.NoError(t, err)
	f.next("lock.acquire").peer.notify("lock.lost", map[string]any{"name": "l", "token": lk.Token(), "fence": "1", "reason": "not_owner"})
	<-lk.Context().Done()
	cause := context.Cause(lk.Context())
	require.ErrorIs(t, cause, client.ErrLost)
	require.EqualError(t, cause, "lost: not_owner")
	require.NoError(t, other.Context().Err(), "another lock of the same connection")

	require.ErrorIs(t, lk.Renew(t.Context()), client.ErrLost)
	require.ErrorIs(t, lk.Release(t.Context()), client.ErrLost, "the caller learns that it was not held to the end")
	require.NoError(t, other.Release(t.Context()))
}

// The sidecar may tell of a loss in the same breath as of the grant.
func TestALossRightBehindTheGrant(t *testing.T) {
	t.Parallel()
	f := newFake(t)
	f.on("lock.acquire", func(fr frame) (any, any) {
		token := fr.params["token"]
		fr.peer.reply(fr.msgid, map[string]any{"acquired": true, "token": token, "fence": "7", "ttl_ms": 30000}, nil)
		fr.peer.notify("lock.lost", map[string]any{"name": "l", "token": token, "fence": "7", "reason": "expired"})
		return nil, nil
	})
	c := dial(t, f.listen(), client.Options{})
	for range 100 {
		lk, err := c.LockAcquire(t.Context(), "l", client.LockOptions{})
		require.NoError(t, err)
		<-lk.Context().Done()
		require.ErrorIs(t, context.Cause(lk.Context()), client.ErrLost)
	}
}

func TestALockEndsWithItsConnection(t *testing.T) {
	t.Parallel()
	f := newFake(t)
	granting(f)
	c := dial(t, f.listen(), client.Options{})
	lk, err := c.LockAcquire(t.Context(), "l", client.LockOptions{})
	require.NoError(t, err)
	byTTL, err := c.LockAcquire(t.Context(), "m", client.LockOptions{Bind: api.BindTTL})
	require.NoError(t, err)
	fr := f.next("lock.acquire")
	_ = fr.peer.nc.Close()
	<-lk.Context().Done()
	require.ErrorIs(t, context.Cause(lk.Context()), client.ErrLost)
	require.ErrorContains(t, context.Cause(lk.Context()), "the connection ended")

	// What a killed sidecar left behind is freed by the token, over the next one.
	require.ErrorIs(t, lk.Release(t.Context()), client.ErrLost)
	require.NotSame(t, fr.peer, f.next("lock.release").peer)

	require.NoError(t, byTTL.Context().Err(), "a lock bound to its TTL does not mind")
	require.NoError(t, byTTL.Release(t.Context()))
}

func TestCloseLosesTheLocks(t *testing.T) {
	t.Parallel()
	f := newFake(t)
	granting(f)
	c, err := client.Dial(t.Context(), client.Options{Socket: f.listen(), Timeout: patience})
	require.NoError(t, err)
	lk, err := c.LockAcquire(t.Context(), "l", client.LockOptions{})
	require.NoError(t, err)
	require.NoError(t, c.Close())
	<-lk.Context().Done()
	require.ErrorIs(t, context.Cause(lk.Context()), client.ErrLost)
	require.ErrorIs(t, lk.Release(t.Context()), client.ErrClosed)
}

// A grant that nobody waits for any more is given back when it comes.
func TestALateGrantIsGivenBack(t *testing.T) {
	t.Parallel()
	f := newFake(t)
	f.on("lock.acquire", nil)
	c := dial(t, f.listen(), client.Options{})
	ctx, cancel := context.WithCancel(t.Context())
	ended := make(chan error, 1)
	go func() {
		_, err := c.LockAcquire(ctx, "l", client.LockOptions{})
		ended <- err
	}()
	fr := f.next("lock.acquire")
	cancel()
	require.ErrorIs(t, <-ended, context.Canceled)
	require.Equal(t, []any{fr.msgid}, f.next("rpc.cancel").list)
	fr.peer.reply(fr.msgid, map[string]any{"acquired": true, "token": fr.params["token"], "fence": "7", "ttl_ms": 30000}, nil)
	back := f.next("lock.release")
	require.Equal(t, int64(2), back.kind, "a notification")
	require.Equal(t, map[string]any{"name": "l", "token": fr.params["token"]}, back.params)
}

// An acquisition that may have happened although it failed is given back too.
func TestAnUncertainGrantIsGivenBack(t *testing.T) {
	t.Parallel()
	f := newFake(t)
	f.on("lock.acquire", func(frame) (any, any) {
		return nil, map[string]any{"code": "UNAVAILABLE", "message": "maybe executed", "details": map[string]any{"maybe_executed": true}}
	})
	c := dial(t, f.listen(), client.Options{})
	_, err := c.LockAcquire(t.Context(), "l", client.LockOptions{})
	require.ErrorIs(t, err, api.Unavailable)
	token := f.next("lock.acquire").params["token"]
	require.Equal(t, token, f.next("lock.release").params["token"])

	f.on("lock.acquire", func(frame) (any, any) {
		return map[string]any{"acquired": true, "fence": "not a number", "ttl_ms": 1000}, nil
	})
	_, err = c.LockAcquire(t.Context(), "l", client.LockOptions{})
	require.ErrorContains(t, err, "fence")
	token = f.next("lock.acquire").params["token"]
	require.Equal(t, token, f.next("lock.release").params["token"])
}

// The connection broke after the grant, whose session's end gave the lock back:
// the repeated call learns so, and a new one takes the lock.
func TestAGrantThatDiedWithItsConnectionIsAskedForAnew(t *testing.T) {
	t.Parallel()
	f := newFake(t)
	var tokens, ids []any
	f.on("lock.acquire", func(fr frame) (any, any) {
		tokens, ids = append(tokens, fr.params["token"]), append(ids, fr.params["_request_id"])
		switch len(tokens) {
		case 1:
			_ = fr.peer.nc.Close()
			return nil, nil
		case 2:
			return map[string]any{"acquired": false, "replayed": true, "reason": "released"}, nil
		default:
			return map[string]any{"acquired": true, "fence": "8", "ttl_ms": 30000}, nil
		}
	})
	granted := f.answers["lock.acquire"]
	granting(f)
	f.on("lock.acquire", granted)
	c := dial(t, f.listen(), client.Options{})
	lk, err := c.LockAcquire(client.WithRequestID(t.Context(), "not for locks"), "l", client.LockOptions{})
	require.NoError(t, err)
	require.NoError(t, lk.Context().Err(), "the first connection's end is not this lock's")
	require.NoError(t, lk.Release(t.Context()))
	f.answering.Lock()
	defer f.answering.Unlock()
	require.Equal(t, tokens[0], tokens[1])
	require.Equal(t, ids[0], ids[1])
	require.NotEqual(t, tokens[1], tokens[2])
	require.NotEqual(t, ids[1], ids[2])
	require.NotContains(t, ids, "not for locks")
}

// The same, but the repeated call found the grant and took it over.
func TestAGrantThatIsTakenOverIsHeld(t *testing.T) {
	t.Parallel()
	f := newFake(t)
	granting(f)
	broken := false
	f.on("lock.acquire", func(fr frame) (any, any) {
		if !broken {
			broken = true
			_ = fr.peer.nc.Close()
			return nil, nil
		}
		return map[string]any{"acquired": true, "replayed": true, "fence": "8", "ttl_ms": 30000}, nil
	})
	c := dial(t, f.listen(), client.Options{})
	lk, err := c.LockAcquire(t.Context(), "l", client.LockOptions{})
	require.NoError(t, err)
	require.NoError(t, lk.Context().Err())
	require.NoError(t, lk.Release(t.Context()))
}

func TestALockBoundToItsTTLEndsWithItsValidity(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		f := newFake(t)
		granting(f)
		c := bubble(t, f, client.Options{})
		defer f.wg.Wait()
		defer c.Close()
		lk, err := c.LockAcquire(t.Context(), "l", client.LockOptions{TTL: 10 * time.Second, Bind: api.BindTTL})
		require.NoError(t, err)

		f.on("lock.renew", func(frame) (any, any) {
			return map[string]any{"renewed": true, "reason": "renewed", "ttl_ms": 10000}, nil
		})
		time.Sleep(9 * time.Second) // the bubble's clock
		require.NoError(t, lk.Renew(t.Context()))
		require.Equal(t, int64(10000), f.next("lock.renew").params["ttl_ms"])
		time.Sleep(9890 * time.Millisecond)
		require.NoError(t, lk.Context().Err(), "within the validity of the renewal")
		time.Sleep(10 * time.Millisecond) // 10 s less 1 % and 2 ms have passed
		synctest.Wait()
		require.EqualError(t, context.Cause(lk.Context()), "lost: its TTL ran out")

		lk, err = c.LockAcquire(t.Context(), "l", client.LockOptions{TTL: 10 * time.Second, Bind: api.BindTTL})
		require.NoError(t, err)
		f.on("lock.renew", func(frame) (any, any) { return map[string]any{"renewed": false, "reason": "not_owner"}, nil })
		require.ErrorIs(t, lk.Renew(t.Context()), client.ErrLost)
		require.EqualError(t, context.Cause(lk.Context()), "lost: not_owner")
	})
}

// A sidecar that stops answering cannot tell of a loss, so its silence is one.
func TestALockBoundToTheSessionIsLostWithASilentSidecar(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		f := newFake(t)
		granting(f)
		c := bubble(t, f, client.Options{})
		defer f.wg.Wait()
		defer c.Close()
		began := time.Now()
		lk, err := c.LockAcquire(t.Context(), "l", client.LockOptions{TTL: 30 * time.Second})
		require.NoError(t, err)
		time.Sleep(5 * time.Minute)
		require.NoError(t, lk.Context().Err(), "the sidecar answers")
		f.on("session.ping", nil)
		<-lk.Context().Done()
		require.EqualError(t, context.Cause(lk.Context()), "lost: the sidecar does not answer")
		// Answered last at 5 min, when the last renewal was 10 s old at most.
		require.LessOrEqual(t, time.Since(began), 5*time.Minute+20*time.Second)
		f.on("session.ping", func(frame) (any, any) { return map[string]any{}, nil })
		require.ErrorIs(t, lk.Release(t.Context()), client.ErrLost)

		lk, err = c.LockAcquire(t.Context(), "l", client.LockOptions{TTL: 30 * time.Second})
		require.NoError(t, err)
		require.NoError(t, lk.Release(t.Context()))
		synctest.Wait()
		for len(f.frames) > 0 {
			<-f.frames
		}
		time.Sleep(time.Hour)
		require.Empty(t, f.frames, "nobody asks for a released lock")
	})
}

func TestReleaseFindsWhatBecameOfTheLock(t *testing.T) {
	t.Parallel()
	f := newFake(t)
	granting(f)
	f.on("lock.release", func(frame) (any, any) { return nil, []any{0, "UNAVAILABLE: no redis"} })
	c := dial(t, f.listen(), client.Options{})
	lk, err := c.LockAcquire(t.Context(), "l", client.LockOptions{})
	require.NoError(t, err)
	require.ErrorIs(t, lk.Release(t.Context()), api.Unavailable)
	require.ErrorIs(t, context.Cause(lk.Context()), client.ErrReleased, "the holder is done with it all the same")
	f.on("lock.release", func(frame) (any, any) { return map[string]any{"released": false, "reason": "expired"}, nil })
	err = lk.Release(t.Context())
	require.ErrorIs(t, err, client.ErrLost)
	require.EqualError(t, err, "lock l: release: lost: expired")
	require.NoError(t, lk.Release(t.Context()), "it was told")
}

// A lock that was waited for longer than its TTL is held from its grant on.
func TestAWaitCountsFromTheGrant(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		f := newFake(t)
		granting(f)
		f.on("lock.acquire", func(fr frame) (any, any) {
			time.Sleep(40 * time.Second) // in the bubble's time, as in the line
			return map[string]any{"acquired": true, "token": fr.params["token"], "fence": "7", "ttl_ms": 30000, "waited_ms": 40000}, nil
		})
		c := bubble(t, f, client.Options{})
		defer f.wg.Wait()
		defer c.Close()
		lk, err := c.LockAcquire(t.Context(), "l", client.LockOptions{Wait: 60 * time.Second, Bind: api.BindTTL})
		require.NoError(t, err)
		p := f.next("lock.acquire").params
		require.Equal(t, int64(60000), p["wait_ms"])
		require.Equal(t, int64(65000), p["_deadline_ms"], "the wait is beside the call's own time")
		synctest.Wait()
		require.NoError(t, lk.Context().Err())
		time.Sleep(29 * time.Second)
		synctest.Wait()
		require.NoError(t, lk.Context().Err())
		time.Sleep(time.Second)
		synctest.Wait()
		require.ErrorIs(t, context.Cause(lk.Context()), client.ErrLost)
		require.Error(t, lk.Release(t.Context()))
	})
}

// Each of many leases ends in its own time, whatever became of the others.
func TestEachLeaseEndsInItsTime(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		f := newFake(t)
		granting(f)
		c := bubble(t, f, client.Options{})
		defer f.wg.Wait()
		defer c.Close()
		var wg sync.WaitGroup
		began := time.Now()
		for i := range 200 {
			ttl := time.Duration(50-i*7%50) * time.Second
			lk, err := c.LockAcquire(t.Context(), "l", client.LockOptions{TTL: ttl, Bind: api.BindTTL})
			require.NoError(t, err)
			alarms := client.Alarms(c)
			if i%3 == 0 {
				require.NoError(t, lk.Release(t.Context()))
				require.Equal(t, alarms-1, client.Alarms(c))
				continue
			}
			wg.Go(func() {
				<-lk.Context().Done()
				require.ErrorIs(t, context.Cause(lk.Context()), client.ErrLost)
				require.Equal(t, ttl-ttl/100-2*time.Millisecond, time.Since(began), "by the bubble's clock")
			})
		}
		wg.Wait()
		require.Zero(t, client.Alarms(c))
	})
}
