package conformance

import (
	"context"
	"fmt"
	"strings"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/coxswain-sidecar/coxswain/client/api"
)

func metaIsShown(l locker) {
	l.take(l.a, api.LockAcquireParams{Meta: "job 7"})
	require.Equal(l.t, "job 7", l.get(l.b).HeldBy.Meta)
	require.Equal(l.t, "job 7", l.try(l.b, "", api.LockAcquireParams{Meta: "mine"}).HeldBy.Meta)
}

// maxHoldIsTold waits for the loss by the real clock. The scripts' clock stands still meanwhile, so that by it the lock
// is still held when the loss is reported.
func maxHoldIsTold(l locker) {
	g := l.take(l.a, api.LockAcquireParams{MaxHoldMS: 300})
	require.LessOrEqual(l.t, g.TTLMS, int64(300))
	require.Equal(l.t, api.LostParams{Name: l.name, Token: g.Token, Fence: g.Fence, Reason: "max_hold"}, l.loss(l.a))
	require.False(l.t, l.try(l.b, "", api.LockAcquireParams{}).Acquired, "it is told before the lock is free")
	l.sys.Advance(300 * time.Millisecond)
	l.take(l.b, api.LockAcquireParams{})
}

func maxHoldIsNotPassed(l locker) {
	p := api.LockAcquireParams{Bind: api.BindTTL, TTLMS: 10_000, MaxHoldMS: 15_000, Token: "mine"}
	g := l.take(l.a, p)
	l.sys.Advance(9 * time.Second)
	r := l.renew(l.a, g.Token, 10*time.Second)
	require.True(l.t, r.Renewed)
	require.LessOrEqual(l.t, r.TTLMS, int64(6000))
	require.Equal(l.t, int64(6000), l.get(l.b).TTLMS)
	p.MaxHoldMS = 0
	require.Equal(l.t, g.Fence, l.take(l.a, p).Fence)
	require.Equal(l.t, int64(6000), l.get(l.b).TTLMS, "asking again makes it no longer")
	l.sys.Advance(6 * time.Second)
	require.Equal(l.t, api.LockRenewResult{Reason: "expired"}, l.renew(l.a, g.Token, 10*time.Second))
	next := l.take(l.b, api.LockAcquireParams{})
	require.Greater(l.t, l.fence(next.Fence), l.fence(g.Fence))
}

func (l locker) force(c Client) api.LockForceReleaseResult {
	l.t.Helper()
	r, err := do(patient(l.t), c, "", api.LockForceRelease, api.LockForceReleaseParams{Name: l.name, Reason: "a test"})
	require.NoError(l.t, err)
	return r
}

// forcedIsTold uses a TTL of a day, so that no renewal is due during the test.
func forcedIsTold(l locker) {
	require.Equal(l.t, api.LockForceReleaseResult{}, l.force(l.b), "nobody holds it")
	g := l.take(l.a, api.LockAcquireParams{TTLMS: 86_400_000, Meta: "job 7"})
	next := l.stand(patient(l.t), l.b, "", api.LockAcquireParams{})
	r := l.force(l.b)
	require.True(l.t, r.Released)
	require.Equal(l.t, g.Fence, r.Fence)
	require.Equal(l.t, []string{"a", "job 7"}, []string{r.HeldBy.Client, r.HeldBy.Meta})
	require.Greater(l.t, l.fence(l.served(next).Fence), l.fence(g.Fence), "the next one is granted it")

	lost := l.forcedLoss(l.a, l.b)
	require.Contains(l.t, []string{"expired", "not_owner"}, lost.Reason, "whether the next one has it already")
	require.Equal(l.t, []string{l.name, g.Token, g.Fence}, []string{lost.Name, lost.Token, lost.Fence})
	require.False(l.t, l.release(l.a, g.Token).Released)
}

// forcedLoss waits for the loss, and repeats the forced release every second, since a sidecar that has not subscribed
// yet does not receive the broadcast.
func (l locker) forcedLoss(c, by Client) api.LostParams {
	l.t.Helper()
	again := time.NewTicker(time.Second)
	defer again.Stop()
	never := time.After(patience)
	for {
		select {
		case lost := <-c.Lost():
			return lost
		case <-again.C:
			l.force(by)
		case <-never:
			l.t.Fatal("no lock.lost")
		}
	}
}

func forcedWasNotReleased(l locker) {
	g := l.try(l.a, "id", api.LockAcquireParams{Bind: api.BindTTL})
	require.True(l.t, l.force(l.a).Released)
	require.False(l.t, l.force(l.a).Released, "once")
	require.False(l.t, l.get(l.a).Held)
	require.Equal(l.t, api.LockAcquireResult{Replayed: true, Reason: "expired"}, l.try(l.a, "id", api.LockAcquireParams{Bind: api.BindTTL}))
	require.Equal(l.t, api.LockReleaseResult{Reason: "expired"}, l.release(l.a, g.Token), "its owner did not give it back")
}

// listed returns the locks of this test from a list that is read in pages of count.
func (l locker) listed(c Client, count int64) map[string]api.LockEntry {
	l.t.Helper()
	ctx, cancel := context.WithTimeout(patient(l.t), patience)
	defer cancel()
	all := map[string]api.LockEntry{}
	for cursor, pages := "", 0; pages == 0 || cursor != ""; pages++ {
		r, err := do(ctx, c, "", api.LockList, api.LockListParams{Cursor: cursor, Count: count})
		require.NoError(l.t, err)
		for _, e := range r.Locks {
			if strings.HasPrefix(e.Name, l.name) {
				all[e.Name] = e
			}
		}
		cursor = r.Cursor
	}
	return all
}

func heldAreListed(l locker) {
	tokens := map[string]string{}
	fences := map[string]string{}
	mine := l.name
	for i, name := range append(names()[:8], make([]string, 30)...) {
		l.name = fmt.Sprint(mine, i, " ", name)
		g := l.take(l.a, api.LockAcquireParams{Meta: "m"})
		tokens[l.name], fences[l.name] = g.Token, g.Fence
	}
	freed := l.name
	require.True(l.t, l.release(l.a, tokens[freed]).Released)
	delete(fences, freed)
	l.name = mine
	for _, count := range []int64{0, 50, 1000} {
		got := map[string]string{}
		for name, e := range l.listed(l.b, count) {
			got[name] = e.Fence
			require.Equal(l.t, []string{"a", "m"}, []string{e.HeldBy.Client, e.HeldBy.Meta})
			require.Equal(l.t, int64(30_000), e.TTLMS)
		}
		require.Equal(l.t, fences, got)
	}
}

func listMistakes(l locker) {
	for _, cursor := range []string{"x", "1", "-1.0", "16384.0", "0.x", "0.-1"} {
		_, err := do(patient(l.t), l.a, "", api.LockList, api.LockListParams{Cursor: cursor})
		require.ErrorIs(l.t, err, api.InvalidArgument, cursor)
		require.ErrorContains(l.t, err, "cursor: ")
	}
	for field, p := range map[string]api.LockAcquireParams{
		"max_hold_ms: ": {Name: l.name, MaxHoldMS: 99},
		"max_hold_ms":   {Name: l.name, MaxHoldMS: 604_800_001},
		"meta: ":        {Name: l.name, Meta: strings.Repeat("m", 513)},
	} {
		_, err := do(patient(l.t), l.a, "", api.LockAcquire, p)
		require.ErrorIs(l.t, err, api.InvalidArgument, "%+v", p)
		require.ErrorContains(l.t, err, field)
	}
}
