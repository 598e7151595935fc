package lock_test

import (
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/coxswain-sidecar/coxswain/internal/coord/lease"
	"github.com/coxswain-sidecar/coxswain/internal/coord/lock"
	"github.com/coxswain-sidecar/coxswain/internal/lua"
	"github.com/coxswain-sidecar/coxswain/internal/luatest"
)

func acquire(t require.TestingT, s *luatest.Store, now int64, key, token string) lock.AcquireOut {
	return luatest.Call(t, s, lock.AcquireScript, now, lock.AcquireIn{Lock: key, LineKeys: lease.LineKeysOf(key), Token: token, TTLMS: 30_000, Session: "s-" + token})
}

func release(t require.TestingT, s *luatest.Store, now int64, key, token string) lease.State {
	return luatest.Call(t, s, lock.ReleaseScript, now, lock.ReleaseIn{Lock: key, LineKeys: lease.LineKeysOf(key), Token: token})
}

func renew(t require.TestingT, s *luatest.Store, now int64, key, token string) lock.RenewOut {
	return luatest.Call(t, s, lock.RenewScript, now, lock.RenewIn{Lock: key, Token: token, TTLMS: 30_000})
}

func TestARetriedAcquireIsTheSameGrant(t *testing.T) {
	t.Parallel()
	luatest.EachStore(t, func(t *testing.T, s *luatest.Store) {
		first := acquire(t, s, luatest.Epoch, s.Key("a"), "tA")
		again := acquire(t, s, luatest.Epoch+luatest.Second, s.Key("a"), "tA")
		require.True(t, again.Acquired)
		require.Equal(t, first.Fence, again.Fence)
		require.Equal(t, first.SinceMS, again.SinceMS)
	})
}

func TestAnExpiredOwnerCannotTouchTheNextOnesLock(t *testing.T) {
	t.Parallel()
	luatest.EachStore(t, func(t *testing.T, s *luatest.Store) {
		key := s.Key("a")
		a := acquire(t, s, luatest.Epoch, key, "tA")
		b := acquire(t, s, luatest.Epoch+30*luatest.Second, key, "tB")
		require.True(t, b.Acquired)
		require.Greater(t, b.Fence, a.Fence)
		before := s.Raw(t, key)
		require.Equal(t, lease.StateNotOwner, release(t, s, luatest.Epoch+31*luatest.Second, key, "tA"))
		require.Equal(t, lease.StateNotOwner, renew(t, s, luatest.Epoch+31*luatest.Second, key, "tA").State)
		require.Equal(t, before, s.Raw(t, key))
		require.Equal(t, lease.StateOwned, renew(t, s, luatest.Epoch+31*luatest.Second, key, "tB").State)
	})
}

func TestAnExpiredLockIsNotRevived(t *testing.T) {
	t.Parallel()
	luatest.EachStore(t, func(t *testing.T, s *luatest.Store) {
		key := s.Key("a")
		acquire(t, s, luatest.Epoch, key, "tA")
		require.Equal(t, lease.StateExpired, renew(t, s, luatest.Epoch+30*luatest.Second, key, "tA").State)
		require.Equal(t, lease.StateExpired, release(t, s, luatest.Epoch+30*luatest.Second, key, "tA"))
		require.False(t, luatest.Call(t, s, lock.GetScript, luatest.Epoch+30*luatest.Second, lock.GetIn{Lock: key, Line: lease.LineKeysOf(key).Line}).Held)
	})
}

func TestFencesRiseThroughFlushAll(t *testing.T) {
	t.Parallel()
	luatest.EachStore(t, func(t *testing.T, s *luatest.Store) {
		key := s.Key("a")
		a := acquire(t, s, luatest.Epoch, key, "tA")
		s.Del(t, key)
		b := acquire(t, s, luatest.Epoch+1, key, "tB")
		require.True(t, b.Acquired)
		require.Greater(t, b.Fence, a.Fence)
	})
}

// TestAReplayFindsWhatBecameOfItsGrant tests what Locks relies on for repeated requests: a grant remains
// the stored reply, and the fence and the last token that lock_get returns show whether it is still held, was
// released or has expired.
func TestAReplayFindsWhatBecameOfItsGrant(t *testing.T) {
	t.Parallel()
	luatest.EachStore(t, func(t *testing.T, s *luatest.Store) {
		key, l := s.Key("a"), lua.StoredReply{Key: s.Key("idem"), Fingerprint: "print"}
		keys, args := lua.InputOf(lock.AcquireScript, lock.AcquireIn{Lock: key, LineKeys: lease.LineKeysOf(key), Token: "tA", TTLMS: 30_000})
		reply, err := s.Eval(lock.AcquireScript.Source, luatest.Epoch, keys, args, l)
		require.NoError(t, err)
		fence := reply[1]
		get := func(now int64) lock.GetOut {
			return luatest.Call(t, s, lock.GetScript, now, lock.GetIn{Lock: key, Line: lease.LineKeysOf(key).Line})
		}

		again, err := s.Eval(lock.AcquireScript.Source, luatest.Epoch+luatest.Second, keys, args, l)
		require.NoError(t, err)
		require.Equal(t, []any{"replayed", reply}, again)
		require.Equal(t, fence, get(luatest.Epoch+luatest.Second).Fence)
		require.True(t, get(luatest.Epoch+luatest.Second).Held)

		require.Equal(t, lease.StateOwned, release(t, s, luatest.Epoch+luatest.Second, key, "tA"))
		again, err = s.Eval(lock.AcquireScript.Source, luatest.Epoch+2*luatest.Second, keys, args, l)
		require.NoError(t, err)
		require.Equal(t, []any{"replayed", reply}, again)
		now := get(luatest.Epoch + 2*luatest.Second)
		require.False(t, now.Held, "nothing was taken again")
		require.Equal(t, "tA", now.LastToken, "released")

		acquire(t, s, luatest.Epoch+3*luatest.Second, key, "tB")
		require.Equal(t, "tA", get(luatest.Epoch+33*luatest.Second).LastToken, "tA was released, tB expired")
		acquire(t, s, luatest.Epoch+33*luatest.Second, key, "tA")
		require.Empty(t, get(luatest.Epoch+63*luatest.Second).LastToken, "tA owned again, and expired")
	})
}
