package conformance

import (
	"fmt"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/coxswain-sidecar/coxswain/client/api"
)

func closingGivesBack(l locker) {
	g := l.take(l.a, api.LockAcquireParams{TTLMS: 86_400_000})
	l.a.Close()
	l.becomesFree(l.b)
	next := l.take(l.b, api.LockAcquireParams{})
	require.Greater(l.t, l.fence(next.Fence), l.fence(g.Fence))
}

func ttlOutlives(l locker) {
	g := l.take(l.a, api.LockAcquireParams{Bind: api.BindTTL, TTLMS: 1000})
	probe := l.sys.Connect(l.t, 0, "probe")
	marker := locker{l.t, l.sys, l.a, probe, l.name + " marker"}
	marker.take(l.a, api.LockAcquireParams{})
	l.a.Close()
	marker.becomesFree(probe) // by now the connection's end is dealt with
	require.True(l.t, l.get(probe).Held)
	require.True(l.t, l.renew(l.b, g.Token, 2*time.Second).Renewed, "from any connection")
	l.sys.Advance(2 * time.Second)
	require.False(l.t, l.get(probe).Held)
}

func tokenMoves(l locker) {
	for _, to := range []Client{l.b, l.sys.Connect(l.t, 0, "c")} {
		from := l.sys.Connect(l.t, 0, "from")
		marker := locker{l.t, l.sys, from, l.b, l.name + " marker"}
		marker.take(from, api.LockAcquireParams{})
		g := l.take(from, api.LockAcquireParams{Token: "mine"})
		require.Equal(l.t, g.Fence, l.take(to, api.LockAcquireParams{Token: "mine"}).Fence)
		from.Close()
		marker.becomesFree(l.b)
		require.True(l.t, l.get(l.b).Held, "the old connection's end does not give back what moved")
		require.True(l.t, l.release(to, "mine").Released)
	}
}

func goneIsTold(l locker) {
	g := l.take(l.a, api.LockAcquireParams{TTLMS: 9000})
	l.sys.Advance(time.Hour)
	require.Equal(l.t, api.LostParams{Name: l.name, Token: g.Token, Fence: g.Fence, Reason: "expired"}, l.loss(l.a))
}

func takenIsTold(l locker) {
	g := l.take(l.a, api.LockAcquireParams{TTLMS: 86_400_000})
	l.sys.Advance(24 * time.Hour)
	l.take(l.b, api.LockAcquireParams{})
	require.Equal(l.t, "not_owner", l.renew(l.a, g.Token, time.Minute).Reason)
	require.Equal(l.t, api.LostParams{Name: l.name, Token: g.Token, Fence: g.Fence, Reason: "not_owner"}, l.loss(l.a))
}

func releasedIsNotTold(l locker) {
	g := l.take(l.a, api.LockAcquireParams{})
	require.True(l.t, l.release(l.a, g.Token).Released)
	l.renew(l.a, g.Token, time.Minute) // finds it gone
	marker := locker{l.t, l.sys, l.a, l.b, l.name + " marker"}
	m := marker.take(l.a, api.LockAcquireParams{TTLMS: 86_400_000})
	l.sys.Advance(24 * time.Hour)
	marker.renew(l.a, m.Token, time.Minute)
	require.Equal(l.t, marker.name, l.loss(l.a).Name, "the first loss it hears of")
}

func replayMoves(l locker) {
	for i, to := range []Client{l.sys.Connect(l.t, 0, "to"), l.sys.Connect(l.t, 1, "to")} {
		from := l.sys.Connect(l.t, 0, "from")
		marker := locker{l.t, l.sys, from, l.b, l.name + " marker"}
		marker.take(from, api.LockAcquireParams{})
		p := api.LockAcquireParams{Token: "mine"}
		id := fmt.Sprint("id", i)
		g := l.try(from, id, p)
		require.True(l.t, g.Acquired)
		require.False(l.t, g.Replayed)

		again := l.try(to, id, p)
		require.True(l.t, again.Acquired)
		require.True(l.t, again.Replayed)
		require.Equal(l.t, g.Token, again.Token)
		require.Equal(l.t, g.Fence, again.Fence)
		from.Close()
		marker.becomesFree(l.b)
		require.True(l.t, l.get(l.b).Held, "the lost connection's end does not give it back")
		to.Close()
		l.becomesFree(l.b)
	}
}

func replayHasTheToken(l locker) {
	for _, bind := range []string{api.BindSession, api.BindTTL} {
		g := l.try(l.a, bind, api.LockAcquireParams{Bind: bind})
		require.True(l.t, g.Acquired)
		again := l.try(l.b, bind, api.LockAcquireParams{Bind: bind})
		require.True(l.t, again.Replayed)
		require.True(l.t, again.Acquired)
		require.Equal(l.t, g.Token, again.Token, "made by one sidecar, known to the other")
		require.Equal(l.t, g.Fence, again.Fence)
		require.True(l.t, l.release(l.b, again.Token).Released)
	}
}

func replayOfReleased(l locker) {
	for _, p := range []api.LockAcquireParams{{}, {Bind: api.BindTTL}, {Token: "mine"}} {
		id := "id" + p.Bind + p.Token
		g := l.try(l.a, id, p)
		require.True(l.t, g.Acquired)
		l.release(l.a, g.Token)
		want := api.LockAcquireResult{Replayed: true, Reason: "released"}
		require.Equal(l.t, want, l.try(l.a, id, p))
		require.Equal(l.t, want, l.try(l.b, id, p))
		require.False(l.t, l.get(l.a).Held, "nothing is taken again")
		other := l.take(l.b, api.LockAcquireParams{})
		require.Equal(l.t, want, l.try(l.a, id, p), "another owner since")
		require.True(l.t, l.release(l.b, other.Token).Released)
	}
}

func replayOfExpired(l locker) {
	p := api.LockAcquireParams{Bind: api.BindTTL, TTLMS: 1000}
	g := l.try(l.a, "id", p)
	require.True(l.t, g.Acquired)
	l.sys.Advance(time.Second)
	want := api.LockAcquireResult{Replayed: true, Reason: "expired"}
	require.Equal(l.t, want, l.try(l.a, "id", p))
	require.False(l.t, l.get(l.a).Held)
	l.take(l.b, api.LockAcquireParams{})
	require.Equal(l.t, want, l.try(l.a, "id", p))
}

func replayOfAnotherGrant(l locker) {
	p := api.LockAcquireParams{Token: "mine", Bind: api.BindTTL}
	g := l.try(l.a, "first", p)
	require.True(l.t, g.Acquired)
	l.release(l.a, "mine")
	second := l.try(l.a, "second", p)
	require.True(l.t, second.Acquired)
	replay := l.try(l.b, "first", p)
	require.True(l.t, replay.Replayed)
	require.False(l.t, replay.Acquired, "the same token holds it, but by another grant")
	require.Equal(l.t, second.Fence, l.get(l.b).Fence)
}

func busyIsNotKept(l locker) {
	g := l.take(l.a, api.LockAcquireParams{})
	require.Equal(l.t, "busy", l.try(l.b, "id", api.LockAcquireParams{}).Reason)
	l.release(l.a, g.Token)
	again := l.try(l.b, "id", api.LockAcquireParams{})
	require.True(l.t, again.Acquired)
	require.False(l.t, again.Replayed)
}

func lockConflict(l locker) {
	l.try(l.a, "id", api.LockAcquireParams{})
	_, err := do(patient(l.t), l.b, "id", api.LockAcquire, api.LockAcquireParams{Name: l.name, TTLMS: 1000})
	require.ErrorIs(l.t, err, api.Conflict, "never the other's result")
}
