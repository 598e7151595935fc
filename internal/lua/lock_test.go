package lua_test

import (
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/coxswain-sidecar/coxswain/internal/coord/lease"
	"github.com/coxswain-sidecar/coxswain/internal/coord/lock"
	"github.com/coxswain-sidecar/coxswain/internal/lua"
)

func acquire(t require.TestingT, s *store, now int64, key, token string) lock.AcquireOut {
	return call(t, s, lock.AcquireScript, now, lock.AcquireIn{Lock: key, LineKeys: lease.LineKeysOf(key), Token: token, TTLMS: 30_000, Session: "s-" + token})
}

func release(t require.TestingT, s *store, now int64, key, token string) lease.State {
	return call(t, s, lock.ReleaseScript, now, lock.ReleaseIn{Lock: key, LineKeys: lease.LineKeysOf(key), Token: token})
}

func renew(t require.TestingT, s *store, now int64, key, token string) lock.RenewOut {
	return call(t, s, lock.RenewScript, now, lock.RenewIn{Lock: key, Token: token, TTLMS: 30_000})
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
		require.Equal(t, lease.StateNotOwner, release(t, s, epoch+31*second, key, "tA"))
		require.Equal(t, lease.StateNotOwner, renew(t, s, epoch+31*second, key, "tA").State)
		require.Equal(t, before, s.raw(t, key))
		require.Equal(t, lease.StateOwned, renew(t, s, epoch+31*second, key, "tB").State)
	})
}

func TestAnExpiredLockIsNotRevived(t *testing.T) {
	t.Parallel()
	eachStore(t, func(t *testing.T, s *store) {
		key := s.key("a")
		acquire(t, s, epoch, key, "tA")
		require.Equal(t, lease.StateExpired, renew(t, s, epoch+30*second, key, "tA").State)
		require.Equal(t, lease.StateExpired, release(t, s, epoch+30*second, key, "tA"))
		require.False(t, call(t, s, lock.GetScript, epoch+30*second, lock.GetIn{Lock: key, Line: lease.LineKeysOf(key).Line}).Held)
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
		key, l := s.key("a"), lua.Latch{Key: s.key("idem"), Fingerprint: "print"}
		keys, args := lua.InputOf(lock.AcquireScript, lock.AcquireIn{Lock: key, LineKeys: lease.LineKeysOf(key), Token: "tA", TTLMS: 30_000})
		reply, err := s.eval(lock.AcquireScript.Source, epoch, keys, args, l)
		require.NoError(t, err)
		fence := reply[1]
		get := func(now int64) lock.GetOut {
			return call(t, s, lock.GetScript, now, lock.GetIn{Lock: key, Line: lease.LineKeysOf(key).Line})
		}

		again, err := s.eval(lock.AcquireScript.Source, epoch+second, keys, args, l)
		require.NoError(t, err)
		require.Equal(t, []any{"replayed", reply}, again)
		require.Equal(t, fence, get(epoch+second).Fence)
		require.True(t, get(epoch+second).Held)

		require.Equal(t, lease.StateOwned, release(t, s, epoch+second, key, "tA"))
		again, err = s.eval(lock.AcquireScript.Source, epoch+2*second, keys, args, l)
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
