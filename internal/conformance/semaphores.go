package conformance

import (
	"context"
	"fmt"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/coxswain-sidecar/coxswain/client/api"
)

// semaphore is one test's view of a semaphore of its own, of three permits.
type semaphore struct {
	locker
	limit int64
}

// Semaphores tests what semaphore.acquire, renew, release and get promise.
func Semaphores(t *testing.T, sys System) {
	for name, test := range map[string]func(semaphore){
		"as many are held as the limit says":                permitsAreLimited,
		"fences rise with every grant":                      permitFences,
		"the same token has the same grant":                 sameTokenSamePermits,
		"what has ended frees nobody else's":                endedFreesNothing,
		"releasing twice answers the same":                  permitsReleasedTwice,
		"nobody passes who asks for many":                   nobodyPasses,
		"who asked for many and leaves lets others in":      leavingLetsIn,
		"a cancelled wait for permits gives its place up":   cancelledPermits,
		"permits that come free serve several who wait":     severalServed,
		"a connection that closes gives its permits back":   closingGivesPermits,
		"permits that ended are told":                       endedPermitsAreTold,
		"permits are held no longer than they may be":       permitsMaxHold,
		"permits of a replay belong to the new connection":  permitsReplayMoves,
		"a replay of permits that ended takes nothing":      permitsReplayOfEnded,
		"a refused request id is tried anew":                permitsBusyIsNotKept,
		"permits that too few replicas have are given back": permitsTooFewReplicas,
		"semaphores are apart, whatever their bytes":        semaphoresAreApart,
		"mistakes in a semaphore's parameters are named":    semaphoreMistakes,
		"two hundred callers, as many grants as permits":    permitsExact,
	} {
		t.Run(name, func(t *testing.T) {
			test(semaphore{locker{t, sys, sys.Connect(t, 0, "a"), sys.Connect(t, 1, "b"), t.Name()}, 3})
		})
	}
}

func (p semaphore) try(c Client, id string, q api.SemaphoreAcquireParams) api.SemaphoreAcquireResult {
	p.t.Helper()
	q.Name, q.Limit = p.name, p.limit
	r, err := do(patient(p.t), c, id, api.SemaphoreAcquire, q)
	require.NoError(p.t, err)
	return r
}

func (p semaphore) take(c Client, q api.SemaphoreAcquireParams) api.SemaphoreAcquireResult {
	p.t.Helper()
	r := p.try(c, "", q)
	require.True(p.t, r.Acquired, "%+v", r)
	return r
}

func (p semaphore) release(c Client, token string) api.SemaphoreReleaseResult {
	p.t.Helper()
	r, err := do(patient(p.t), c, "", api.SemaphoreRelease, api.SemaphoreReleaseParams{Name: p.name, Token: token})
	require.NoError(p.t, err)
	return r
}

func (p semaphore) renew(c Client, token string, ttl time.Duration) api.SemaphoreRenewResult {
	p.t.Helper()
	r, err := do(patient(p.t), c, "", api.SemaphoreRenew, api.SemaphoreRenewParams{Name: p.name, Token: token, TTLMS: ttl.Milliseconds()})
	require.NoError(p.t, err)
	return r
}

// get also checks that the number of held permits is the sum of the holders' permits.
func (p semaphore) get(c Client) api.SemaphoreGetResult {
	p.t.Helper()
	r, err := do(patient(p.t), c, "", api.SemaphoreGet, api.SemaphoreGetParams{Name: p.name})
	require.NoError(p.t, err)
	sum := int64(0)
	for _, h := range r.Holders {
		sum += h.Permits
	}
	require.Equal(p.t, r.Held, sum)
	return r
}

func (p semaphore) becomes(c Client, held int64) {
	p.t.Helper()
	ctx, cancel := context.WithTimeout(patient(p.t), patience)
	defer cancel()
	for p.get(c).Held != held {
		require.NoError(p.t, ctx.Err(), "never so many held: %d", held)
	}
}

func permitsAreLimited(p semaphore) {
	require.Zero(p.t, p.get(p.a).Held)
	g := p.take(p.a, api.SemaphoreAcquireParams{Permits: 2, Meta: "job 7"})
	require.Equal(p.t, int64(1), g.Free)
	require.Positive(p.t, g.TTLMS)
	require.Zero(p.t, g.RetryAfterMS)
	busy := p.try(p.b, "", api.SemaphoreAcquireParams{Permits: 2})
	require.Equal(p.t, api.SemaphoreAcquireResult{Free: 1, Reason: "busy", RetryAfterMS: 30_000}, busy)
	one := p.take(p.b, api.SemaphoreAcquireParams{})
	require.Zero(p.t, one.Free)
	require.Zero(p.t, p.try(p.b, "", api.SemaphoreAcquireParams{}).Free)

	info := p.get(p.b)
	require.Equal(p.t, int64(3), info.Held)
	require.Len(p.t, info.Holders, 2)
	for _, h := range info.Holders {
		want := map[string]api.SemaphoreHolder{
			g.Fence: {Permits: 2, HeldBy: &api.Holder{Client: "a", Meta: "job 7"}}, one.Fence: {Permits: 1, HeldBy: &api.Holder{Client: "b"}},
		}[h.Fence]
		require.Equal(p.t, []any{want.Permits, want.HeldBy.Client, want.HeldBy.Meta, int64(30_000)}, []any{h.Permits, h.HeldBy.Client, h.HeldBy.Meta, h.TTLMS})
	}
	require.Equal(p.t, api.SemaphoreReleaseResult{Released: true, Reason: "released"}, p.release(p.a, g.Token))
	require.Equal(p.t, int64(1), p.get(p.a).Held)
	p.take(p.a, api.SemaphoreAcquireParams{Permits: 2})
}

func permitFences(p semaphore) {
	last := int64(0)
	for i := range 10 {
		g := p.take([]Client{p.a, p.b}[i%2], api.SemaphoreAcquireParams{Bind: api.BindTTL, TTLMS: 1000})
		require.Greater(p.t, p.fence(g.Fence), last, "although the clock stands still")
		last = p.fence(g.Fence)
		if i%3 == 0 {
			p.sys.Advance(time.Second)
		} else {
			p.release(p.a, g.Token)
		}
	}
}

func sameTokenSamePermits(p semaphore) {
	q := api.SemaphoreAcquireParams{Token: "mine", Bind: api.BindTTL, Permits: 2}
	g := p.take(p.a, q)
	p.sys.Advance(20 * time.Second)
	q.Permits = 3
	again := p.take(p.b, q)
	require.Equal(p.t, []any{g.Fence, int64(1)}, []any{again.Fence, again.Free}, "its reply was lost")
	require.Equal(p.t, int64(2), p.get(p.a).Held)
	require.Equal(p.t, int64(30_000), p.get(p.a).Holders[0].TTLMS, "its TTL starts again")
}

// endedFreesNothing: a lease that has ended releases no other lease.
func endedFreesNothing(p semaphore) {
	old := p.take(p.a, api.SemaphoreAcquireParams{Bind: api.BindTTL, TTLMS: 1000, Permits: 3})
	p.sys.Advance(time.Second)
	g := p.take(p.b, api.SemaphoreAcquireParams{Bind: api.BindTTL, Permits: 3})
	require.Equal(p.t, api.SemaphoreReleaseResult{Reason: "expired"}, p.release(p.a, old.Token))
	require.Equal(p.t, api.SemaphoreRenewResult{Reason: "expired"}, p.renew(p.a, old.Token, time.Minute))
	require.Equal(p.t, int64(3), p.get(p.a).Held)
	require.Equal(p.t, "busy", p.try(p.a, "", api.SemaphoreAcquireParams{}).Reason)
	require.Equal(p.t, g.Fence, p.get(p.a).Holders[0].Fence)
}

func permitsReleasedTwice(p semaphore) {
	g := p.take(p.a, api.SemaphoreAcquireParams{})
	other := p.take(p.a, api.SemaphoreAcquireParams{})
	for range 2 {
		require.Equal(p.t, api.SemaphoreReleaseResult{Released: true, Reason: "released"}, p.release(p.a, g.Token))
		require.Equal(p.t, int64(1), p.get(p.a).Held)
	}
	require.Equal(p.t, api.SemaphoreReleaseResult{Reason: "expired"}, p.release(p.a, "never an owner"))
	require.True(p.t, p.renew(p.b, other.Token, time.Minute).Renewed, "from any connection")
}

func closingGivesPermits(p semaphore) {
	dying := p.sys.Connect(p.t, 0, "dying")
	for range 2 {
		p.take(dying, api.SemaphoreAcquireParams{TTLMS: 86_400_000})
	}
	byTTL := p.take(dying, api.SemaphoreAcquireParams{Bind: api.BindTTL})
	next := p.stand(patient(p.t), p.b, api.SemaphoreAcquireParams{Permits: 2})
	dying.Close()
	p.served(next)
	require.True(p.t, p.renew(p.a, byTTL.Token, time.Minute).Renewed)
}

func endedPermitsAreTold(p semaphore) {
	g := p.take(p.a, api.SemaphoreAcquireParams{TTLMS: 9000})
	p.sys.Advance(time.Hour)
	require.Equal(p.t, api.LostParams{Name: p.name, Token: g.Token, Fence: g.Fence, Reason: "expired"}, p.loss(p.a))
}

func permitsMaxHold(p semaphore) {
	told := p.take(p.a, api.SemaphoreAcquireParams{MaxHoldMS: 300})
	require.Equal(p.t, api.LostParams{Name: p.name, Token: told.Token, Fence: told.Fence, Reason: "max_hold"}, p.loss(p.a))
	p.sys.Advance(300 * time.Millisecond)
	require.Zero(p.t, p.get(p.a).Held)
	g := p.take(p.a, api.SemaphoreAcquireParams{Bind: api.BindTTL, TTLMS: 10_000, MaxHoldMS: 15_000})
	p.sys.Advance(9 * time.Second)
	r := p.renew(p.b, g.Token, 10*time.Second)
	require.True(p.t, r.Renewed)
	require.LessOrEqual(p.t, r.TTLMS, int64(6000))
	require.Equal(p.t, int64(6000), p.get(p.b).Holders[0].TTLMS)
	p.sys.Advance(6 * time.Second)
	require.Equal(p.t, "expired", p.renew(p.b, g.Token, 10*time.Second).Reason)
	g = p.take(p.a, api.SemaphoreAcquireParams{TTLMS: 60_000})
	require.LessOrEqual(p.t, p.renew(p.a, g.Token, 2*time.Second).TTLMS, int64(2000))
	require.Equal(p.t, int64(2000), p.get(p.a).Holders[0].TTLMS, "shorter too")
}

func permitsReplayMoves(p semaphore) {
	for i, to := range []Client{p.sys.Connect(p.t, 0, "to"), p.sys.Connect(p.t, 1, "to")} {
		from := p.sys.Connect(p.t, 0, "from")
		marker := p
		marker.name += " marker"
		marker.take(from, api.SemaphoreAcquireParams{})
		id := fmt.Sprint("id", i)
		g := p.try(from, id, api.SemaphoreAcquireParams{Permits: 2})
		require.True(p.t, g.Acquired)
		again := p.try(to, id, api.SemaphoreAcquireParams{Permits: 2})
		require.Equal(p.t, []any{true, true, g.Token, g.Fence}, []any{again.Acquired, again.Replayed, again.Token, again.Fence})
		from.Close()
		marker.becomes(p.b, 0)
		require.Equal(p.t, int64(2), p.get(p.b).Held, "the lost connection's end does not give them back")
		require.Equal(p.t, "to", p.get(p.b).Holders[0].HeldBy.Client)
		to.Close()
		p.becomes(p.b, 0)
	}
}

func permitsReplayOfEnded(p semaphore) {
	q := api.SemaphoreAcquireParams{Permits: 2, Bind: api.BindTTL}
	g := p.try(p.a, "id", q)
	require.True(p.t, p.release(p.a, g.Token).Released)
	want := api.SemaphoreAcquireResult{Replayed: true, Reason: "released", Free: p.limit}
	require.Equal(p.t, want, p.try(p.a, "id", q))
	require.Equal(p.t, want, p.try(p.b, "id", q))
	require.Zero(p.t, p.get(p.a).Held, "nothing is taken again")

	live := p.try(p.a, "live", q)
	p.sys.Advance(10 * time.Second)
	again := p.try(p.b, "live", q)
	require.Equal(p.t, []any{true, true, live.Fence, p.limit - 2}, []any{again.Acquired, again.Replayed, again.Fence, again.Free})
	require.Equal(p.t, int64(20_000), p.get(p.a).Holders[0].TTLMS, "nobody renews it by asking")
	p.sys.Advance(20 * time.Second)
	want.Reason = "expired"
	require.Equal(p.t, want, p.try(p.a, "live", q))
	_, err := do(patient(p.t), p.b, "live", api.SemaphoreAcquire, api.SemaphoreAcquireParams{Name: p.name, Limit: 9})
	require.ErrorIs(p.t, err, api.Conflict)
}

func permitsBusyIsNotKept(p semaphore) {
	g := p.take(p.a, api.SemaphoreAcquireParams{Permits: 3})
	require.Equal(p.t, "busy", p.try(p.b, "id", api.SemaphoreAcquireParams{}).Reason)
	p.release(p.a, g.Token)
	again := p.try(p.b, "id", api.SemaphoreAcquireParams{})
	require.True(p.t, again.Acquired)
	require.False(p.t, again.Replayed)
}

// permitsTooFewReplicas requires more replicas than any server of these tests has.
func permitsTooFewReplicas(p semaphore) {
	r := p.try(p.a, "", api.SemaphoreAcquireParams{WaitReplicas: 16, Permits: 2})
	require.Equal(p.t, []any{false, "replicas", int64(3)}, []any{r.Acquired, r.Reason, r.Free})
	require.Positive(p.t, r.RetryAfterMS)
	require.Zero(p.t, p.get(p.b).Held)
}

func semaphoresAreApart(p semaphore) {
	p.limit = 1
	tokens := make(map[string]string)
	for _, name := range names() {
		p.name = name
		tokens[name] = p.take(p.a, api.SemaphoreAcquireParams{}).Token
		l, err := do(patient(p.t), p.a, "", api.LockAcquire, api.LockAcquireParams{Name: name})
		require.NoError(p.t, err)
		require.True(p.t, l.Acquired, "a lock of the same name is another thing")
		_, err = do(patient(p.t), p.a, "", api.LockRelease, api.LockReleaseParams{Name: name, Token: l.Token})
		require.NoError(p.t, err)
	}
	for name, token := range tokens {
		p.name = name
		require.True(p.t, p.release(p.b, token).Released, "%q", name)
	}
}

func semaphoreMistakes(p semaphore) {
	for want, q := range map[string]api.SemaphoreAcquireParams{
		"name":        {Limit: 1},
		"limit":       {Name: p.name, Limit: 10_001},
		"permits: ":   {Name: p.name, Limit: 3, Permits: 4},
		"ttl_ms":      {Name: p.name, Limit: 1, TTLMS: 99},
		"wait_ms":     {Name: p.name, Limit: 1, WaitMS: 60_001},
		"max_hold_ms": {Name: p.name, Limit: 1, MaxHoldMS: 99},
		"meta":        {Name: p.name, Limit: 1, Meta: string(make([]byte, 513))},
		"token":       {Name: p.name, Limit: 1, Token: string(make([]byte, api.MaxNameBytes+1))},
	} {
		_, err := do(patient(p.t), p.a, "", api.SemaphoreAcquire, q)
		require.ErrorIs(p.t, err, api.InvalidArgument, "%+v", q)
		require.ErrorContains(p.t, err, want)
	}
	require.Zero(p.t, p.get(p.a).Held)
}

func permitsExact(p semaphore) {
	p.limit = 70
	results := make(chan bool, 200)
	for i := range cap(results) {
		go func() {
			r, err := do(patient(p.t), []Client{p.a, p.b}[i%2], "", api.SemaphoreAcquire, api.SemaphoreAcquireParams{Name: p.name, Limit: p.limit})
			if err != nil {
				p.t.Error(err)
			}
			results <- r.Acquired
		}()
	}
	granted := int64(0)
	for range cap(results) {
		if <-results {
			granted++
		}
	}
	require.Equal(p.t, p.limit, granted)
	require.Equal(p.t, p.limit, p.get(p.a).Held)
}
