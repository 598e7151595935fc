package conformance

import (
	"context"
	"strconv"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/coxswain-sidecar/coxswain/client/api"
)

// locker is one test's view of a lock of its own.
type locker struct {
	t    *testing.T
	sys  System
	a, b Client // of sidecar 0 and 1
	name string
}

// Locks tests what lock.acquire, renew, release and get promise.
func Locks(t *testing.T, sys System) {
	for name, test := range map[string]func(locker){
		"one holds it and the others learn who":               oneHoldsIt,
		"the fence rises with every owner":                    fenceRises,
		"the same token has the same fence":                   sameTokenSameFence,
		"an old owner changes nothing":                        oldOwnerChangesNothing,
		"renewing lasts so long from now on":                  renewing,
		"releasing twice answers the same":                    releasingTwice,
		"any connection may release by token":                 releasedElsewhere,
		"a connection that closes gives its locks back":       closingGivesBack,
		"a lock bound to its TTL outlives its connection":     ttlOutlives,
		"a token that moves to another session stays held":    tokenMoves,
		"a lock that is gone is told":                         goneIsTold,
		"a lock that another took is told":                    takenIsTold,
		"a lock that was released is not told":                releasedIsNotTold,
		"a replayed grant belongs to the new connection":      replayMoves,
		"a replay without a token has the token":              replayHasTheToken,
		"a replay of a released lock takes nothing":           replayOfReleased,
		"a replay of an expired lock takes nothing":           replayOfExpired,
		"a replay is about its own grant":                     replayOfAnotherGrant,
		"a request id of another call is a conflict":          lockConflict,
		"locks are apart, whatever their bytes":               locksAreApart,
		"a lock and a limit of one name are apart":            lockAndLimit,
		"mistakes in a lock's parameters name their field":    lockMistakes,
		"a busy request id is tried anew":                     busyIsNotKept,
		"a grant that too few replicas have is given back":    tooFewReplicas,
		"two hundred callers through two sidecars, one grant": oneGrant,
		"what its holder says of itself is shown":             metaIsShown,
		"a lock that was held as long as it may be is told":   maxHoldIsTold,
		"no renewal passes the longest hold":                  maxHoldIsNotPassed,
		"a lock that is freed by force is told":               forcedIsTold,
		"a lock that was freed by force was not released":     forcedWasNotReleased,
		"those that are held are listed":                      heldAreListed,
		"mistakes in cursors and holds name their field":      listMistakes,
	} {
		t.Run(name, func(t *testing.T) {
			test(locker{t, sys, sys.Connect(t, 0, "a"), sys.Connect(t, 1, "b"), t.Name()})
		})
	}
}

func (l locker) try(c Client, id string, p api.LockAcquireParams) api.LockAcquireResult {
	l.t.Helper()
	p.Name = l.name
	r, err := do(patient(l.t), c, id, api.LockAcquire, p)
	require.NoError(l.t, err)
	return r
}

func (l locker) take(c Client, p api.LockAcquireParams) api.LockAcquireResult {
	l.t.Helper()
	r := l.try(c, "", p)
	require.True(l.t, r.Acquired, "%+v", r)
	return r
}

func (l locker) release(c Client, token string) api.LockReleaseResult {
	l.t.Helper()
	r, err := do(patient(l.t), c, "", api.LockRelease, api.LockReleaseParams{Name: l.name, Token: token})
	require.NoError(l.t, err)
	return r
}

func (l locker) renew(c Client, token string, ttl time.Duration) api.LockRenewResult {
	l.t.Helper()
	r, err := do(patient(l.t), c, "", api.LockRenew, api.LockRenewParams{Name: l.name, Token: token, TTLMS: ttl.Milliseconds()})
	require.NoError(l.t, err)
	return r
}

func (l locker) get(c Client) api.LockGetResult {
	l.t.Helper()
	r, err := do(patient(l.t), c, "", api.LockGet, api.LockGetParams{Name: l.name})
	require.NoError(l.t, err)
	return r
}

// becomesFree polls until the lock is free: when a connection closes, its leases are given back a little later.
func (l locker) becomesFree(c Client) {
	l.t.Helper()
	ctx, cancel := context.WithTimeout(patient(l.t), patience)
	defer cancel()
	for l.get(c).Held {
		require.NoError(l.t, ctx.Err(), "it is never given back")
	}
}

// loss waits for the next lock.lost.
func (l locker) loss(c Client) api.LostParams {
	l.t.Helper()
	select {
	case lost := <-c.Lost():
		return lost
	case <-time.After(patience):
		l.t.Fatal("no lock.lost")
		return api.LostParams{}
	}
}

func (l locker) fence(text string) int64 {
	l.t.Helper()
	n, err := strconv.ParseInt(text, 10, 64)
	require.NoError(l.t, err, "a fence is a decimal number")
	require.Positive(l.t, n)
	return n
}

func oneHoldsIt(l locker) {
	require.Equal(l.t, api.LockGetResult{}, l.get(l.a))
	g := l.take(l.a, api.LockAcquireParams{})
	require.GreaterOrEqual(l.t, len(g.Token), 16)
	l.fence(g.Fence)
	require.LessOrEqual(l.t, g.TTLMS, int64(30_000))
	require.Positive(l.t, g.TTLMS)
	require.Zero(l.t, g.RetryAfterMS)
	require.Nil(l.t, g.HeldBy)

	for range 2 {
		busy := l.try(l.b, "", api.LockAcquireParams{TTLMS: 1000})
		require.False(l.t, busy.Acquired)
		require.Equal(l.t, "busy", busy.Reason)
		require.Empty(l.t, busy.Token)
		require.Empty(l.t, busy.Fence)
		require.Equal(l.t, "a", busy.HeldBy.Client)
		require.Equal(l.t, "conformance", busy.HeldBy.Instance)
		require.Positive(l.t, busy.HeldBy.SinceAtMS)
		require.Equal(l.t, int64(30_001), busy.RetryAfterMS, "when the holder's TTL is over, rounded up")
	}
	info := l.get(l.b)
	require.True(l.t, info.Held)
	require.Equal(l.t, g.Fence, info.Fence)
	require.Equal(l.t, int64(30_000), info.TTLMS)
	require.Equal(l.t, "a", info.HeldBy.Client)

	require.Equal(l.t, api.LockReleaseResult{Released: true, Reason: "released"}, l.release(l.a, g.Token))
	require.Equal(l.t, api.LockGetResult{}, l.get(l.b))
}

func fenceRises(l locker) {
	last := int64(0)
	for i := range 10 {
		c := []Client{l.a, l.b}[i%2]
		g := l.take(c, api.LockAcquireParams{Bind: api.BindTTL, TTLMS: 1000})
		require.Greater(l.t, l.fence(g.Fence), last, "although the clock stands still")
		last = l.fence(g.Fence)
		if i%3 == 0 {
			l.sys.Advance(time.Second)
		} else {
			l.release(c, g.Token)
		}
	}
}

func sameTokenSameFence(l locker) {
	p := api.LockAcquireParams{Token: "mine", Bind: api.BindTTL}
	g := l.take(l.a, p)
	require.Equal(l.t, "mine", g.Token)
	l.sys.Advance(20 * time.Second)
	require.Equal(l.t, g.Fence, l.take(l.a, p).Fence, "its reply was lost")
	require.Equal(l.t, g.Fence, l.take(l.b, p).Fence, "and again, through another sidecar")
	require.Equal(l.t, int64(30_000), l.get(l.a).TTLMS, "its TTL starts again")
}

func oldOwnerChangesNothing(l locker) {
	old := l.take(l.a, api.LockAcquireParams{Bind: api.BindTTL, TTLMS: 1000})
	l.sys.Advance(time.Second)
	require.Equal(l.t, "expired", l.renew(l.a, old.Token, time.Second).Reason)
	require.Equal(l.t, "expired", l.release(l.a, old.Token).Reason)

	g := l.take(l.b, api.LockAcquireParams{Bind: api.BindTTL, TTLMS: 5000})
	require.Equal(l.t, api.LockReleaseResult{Reason: "not_owner"}, l.release(l.a, old.Token))
	require.Equal(l.t, api.LockRenewResult{Reason: "not_owner"}, l.renew(l.a, old.Token, time.Minute))
	info := l.get(l.a)
	require.True(l.t, info.Held, "the new owner's lock is untouched")
	require.Equal(l.t, g.Fence, info.Fence)
	require.Equal(l.t, int64(5000), info.TTLMS)
}

func renewing(l locker) {
	g := l.take(l.a, api.LockAcquireParams{Bind: api.BindTTL, TTLMS: 10_000})
	l.sys.Advance(9 * time.Second)
	r := l.renew(l.b, g.Token, 10*time.Second)
	require.True(l.t, r.Renewed)
	require.Equal(l.t, "renewed", r.Reason)
	require.Equal(l.t, g.Fence, r.Fence)
	require.Positive(l.t, r.TTLMS)
	require.Equal(l.t, int64(10_000), l.get(l.a).TTLMS)
	r = l.renew(l.a, g.Token, 2*time.Second)
	require.True(l.t, r.Renewed)
	require.LessOrEqual(l.t, r.TTLMS, int64(2000))
	require.Equal(l.t, int64(2000), l.get(l.a).TTLMS, "the owner's own word makes it shorter too")
	again := l.take(l.a, api.LockAcquireParams{Token: g.Token, Bind: api.BindTTL, TTLMS: 1000})
	require.Equal(l.t, g.Fence, again.Fence)
	require.Equal(l.t, int64(2000), l.get(l.a).TTLMS, "acquiring again never does")
	l.sys.Advance(2 * time.Second)
	require.Equal(l.t, api.LockRenewResult{Reason: "expired"}, l.renew(l.a, g.Token, time.Second))
	require.False(l.t, l.get(l.a).Held, "renewing never takes anew")
}

func releasingTwice(l locker) {
	g := l.take(l.a, api.LockAcquireParams{})
	for range 2 {
		require.Equal(l.t, api.LockReleaseResult{Released: true, Reason: "released"}, l.release(l.a, g.Token))
	}
	require.Equal(l.t, api.LockReleaseResult{Reason: "expired"}, l.release(l.a, "never an owner"))
	require.Equal(l.t, "expired", l.renew(l.a, g.Token, time.Second).Reason)
}

func releasedElsewhere(l locker) {
	g := l.take(l.a, api.LockAcquireParams{})
	c := l.sys.Connect(l.t, 0, "c")
	require.True(l.t, l.release(c, g.Token).Released)
	lost := l.loss(l.a)
	require.Equal(l.t, api.LostParams{Name: l.name, Token: g.Token, Fence: g.Fence, Reason: "expired"}, lost, "its holder is told")
}

func locksAreApart(l locker) {
	tokens := make(map[string]string)
	for _, name := range names() {
		l.name = name
		tokens[name] = l.take(l.a, api.LockAcquireParams{}).Token
	}
	for name, token := range tokens {
		l.name = name
		require.True(l.t, l.release(l.b, token).Released, "%q", name)
	}
}

func lockAndLimit(l locker) {
	g := l.take(l.a, api.LockAcquireParams{})
	p := api.RatelimitParams{Algorithm: api.AlgorithmTokenBucket, Limits: []api.Band{per(1, time.Hour)}, Key: l.name}
	r, err := do(patient(l.t), l.a, "", api.RatelimitAcquire, p)
	require.NoError(l.t, err)
	require.True(l.t, r.Allowed)
	_, err = do(patient(l.t), l.a, "", api.RatelimitReset, api.RatelimitResetParams{Algorithm: p.Algorithm, Limits: p.Limits, Key: p.Key})
	require.NoError(l.t, err)
	require.Equal(l.t, g.Fence, l.get(l.a).Fence)
}

func lockMistakes(l locker) {
	for want, p := range map[string]api.LockAcquireParams{
		"name":   {},
		"ttl_ms": {Name: l.name, TTLMS: 99},
		"ttl":    {Name: l.name, TTLMS: 86_400_001},
		"token":  {Name: l.name, Token: string(make([]byte, api.MaxNameBytes+1))},
	} {
		_, err := do(patient(l.t), l.a, "", api.LockAcquire, p)
		require.ErrorIs(l.t, err, api.InvalidArgument, "%+v", p)
		require.ErrorContains(l.t, err, want)
	}
	_, err := do(patient(l.t), l.a, "", api.LockRelease, api.LockReleaseParams{Name: l.name})
	require.ErrorIs(l.t, err, api.InvalidArgument)
	require.ErrorContains(l.t, err, "token")
	_, err = do(patient(l.t), l.a, "", api.LockRenew, api.LockRenewParams{Name: l.name, Token: "t", TTLMS: 1})
	require.ErrorIs(l.t, err, api.InvalidArgument)
	require.ErrorContains(l.t, err, "ttl_ms")
}

// tooFewReplicas requires more replicas than any server of these tests has.
func tooFewReplicas(l locker) {
	r := l.try(l.a, "", api.LockAcquireParams{WaitReplicas: 16})
	require.False(l.t, r.Acquired)
	require.Equal(l.t, "replicas", r.Reason)
	require.Empty(l.t, r.Token)
	require.Nil(l.t, r.HeldBy)
	require.Positive(l.t, r.RetryAfterMS)
	require.False(l.t, l.get(l.b).Held)
	l.take(l.b, api.LockAcquireParams{})
}

func oneGrant(l locker) {
	results := make(chan api.LockAcquireResult, 200)
	for i := range cap(results) {
		go func() {
			r, err := do(patient(l.t), []Client{l.a, l.b}[i%2], "", api.LockAcquire, api.LockAcquireParams{Name: l.name})
			if err != nil {
				l.t.Error(err)
			}
			results <- r
		}()
	}
	granted := 0
	for range cap(results) {
		if r := <-results; r.Acquired {
			granted++
		} else {
			require.Equal(l.t, "busy", r.Reason)
		}
	}
	require.Equal(l.t, 1, granted)
}
