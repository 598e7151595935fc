package lua_test

import (
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/coxswain-sidecar/coxswain/internal/lua"
)

// lineOf are the keys of the line for a lock.
func lineOf(lock string) lua.LineKeys {
	return lua.LineKeys{Line: lock + ":line", Beats: lock + ":beats"}
}

func acquire(t require.TestingT, s *store, now int64, key, token string) lua.LockAcquireOut {
	return call(t, s, lua.LockAcquire, now, lua.LockAcquireIn{Lock: key, LineKeys: lineOf(key), Token: token, TTLMS: 30_000, Session: "s-" + token})
}

func release(t require.TestingT, s *store, now int64, key, token string) lua.LockState {
	return call(t, s, lua.LockRelease, now, lua.LockReleaseIn{Lock: key, LineKeys: lineOf(key), Token: token})
}

func renew(t require.TestingT, s *store, now int64, key, token string) lua.LockRenewOut {
	return call(t, s, lua.LockRenew, now, lua.LockRenewIn{Lock: key, Token: token, TTLMS: 30_000})
}

func TestARetriedAcquireIsTheSameGrant(t *testing.T) {
	t.Parallel()
	eachStore(t, func(t *testing.T, s *store) {
		first := acquire(t, s, epoch, s.key("a"), "tA")
		again := acquire(t, s, epoch+second, s.key("a"), "tA")
		require.True(t, again.Acquired)
		require.Equal(t, first.Fence, again.Fence)
		require.Equal(t, first.SinceMS, again.SinceMS)
	})
}

func TestAnExpiredOwnerCannotTouchTheNextOnesLock(t *testing.T) {
	t.Parallel()
	eachStore(t, func(t *testing.T, s *store) {
		key := s.key("a")
		a := acquire(t, s, epoch, key, "tA")
		b := acquire(t, s, epoch+30*second, key, "tB")
		require.True(t, b.Acquired)
		require.Greater(t, b.Fence, a.Fence)
		before := s.raw(t, key)
		require.Equal(t, lua.LockNotOwner, release(t, s, epoch+31*second, key, "tA"))
		require.Equal(t, lua.LockNotOwner, renew(t, s, epoch+31*second, key, "tA").State)
		require.Equal(t, before, s.raw(t, key))
		require.Equal(t, lua.LockOwned, renew(t, s, epoch+31*second, key, "tB").State)
	})
}

func TestAnExpiredLockIsNotRevived(t *testing.T) {
	t.Parallel()
	eachStore(t, func(t *testing.T, s *store) {
		key := s.key("a")
		acquire(t, s, epoch, key, "tA")
		require.Equal(t, lua.LockExpired, renew(t, s, epoch+30*second, key, "tA").State)
		require.Equal(t, lua.LockExpired, release(t, s, epoch+30*second, key, "tA"))
		require.False(t, call(t, s, lua.LockGet, epoch+30*second, lua.LockGetIn{Lock: key, Line: lineOf(key).Line}).Held)
	})
}

func TestFencesRiseThroughFlushAll(t *testing.T) {
	t.Parallel()
	eachStore(t, func(t *testing.T, s *store) {
		key := s.key("a")
		a := acquire(t, s, epoch, key, "tA")
		s.del(t, key)
		b := acquire(t, s, epoch+1, key, "tB")
		require.True(t, b.Acquired)
		require.Greater(t, b.Fence, a.Fence)
	})
}

// TestAReplayLearnsWhatBecameOfItsGrant is what coord rests on: a latched grant
// stays the stored reply, and lock_get tells alive, released and expired apart
// by fence and last token.
func TestAReplayLearnsWhatBecameOfItsGrant(t *testing.T) {
	t.Parallel()
	eachStore(t, func(t *testing.T, s *store) {
		key, l := s.key("a"), latch{s.key("idem"), "print"}
		keys, args := lua.InputOf(lua.LockAcquire, lua.LockAcquireIn{Lock: key, LineKeys: lineOf(key), Token: "tA", TTLMS: 30_000})
		reply, err := s.eval(lua.LockAcquire.Source, epoch, keys, args, l)
		require.NoError(t, err)
		fence := reply[1]
		get := func(now int64) lua.LockGetOut {
			return call(t, s, lua.LockGet, now, lua.LockGetIn{Lock: key, Line: lineOf(key).Line})
		}

		again, err := s.eval(lua.LockAcquire.Source, epoch+second, keys, args, l)
		require.NoError(t, err)
		require.Equal(t, []any{"replayed", reply}, again)
		require.Equal(t, fence, get(epoch+second).Fence)
		require.True(t, get(epoch+second).Held)

		require.Equal(t, lua.LockOwned, release(t, s, epoch+second, key, "tA"))
		again, err = s.eval(lua.LockAcquire.Source, epoch+2*second, keys, args, l)
		require.NoError(t, err)
		require.Equal(t, []any{"replayed", reply}, again)
		now := get(epoch + 2*second)
		require.False(t, now.Held, "nothing was taken again")
		require.Equal(t, "tA", now.LastToken, "released")

		acquire(t, s, epoch+3*second, key, "tB")
		require.Equal(t, "tA", get(epoch+33*second).LastToken, "tA was released, tB expired")
		acquire(t, s, epoch+33*second, key, "tA")
		require.Empty(t, get(epoch+63*second).LastToken, "tA owned again, and expired")
	})
}
