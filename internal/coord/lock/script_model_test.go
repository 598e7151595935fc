package lock_test

import (
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	"pgregory.net/rapid"

	"github.com/coxswain-sidecar/coxswain/internal/coord/lease"
	"github.com/coxswain-sidecar/coxswain/internal/coord/lock"
	"github.com/coxswain-sidecar/coxswain/internal/luatest"
)

// modelLock is a plain model of a lock: its grants in order, and what became of each.
// It keeps the whole history, which the key in Redis does not.
type modelLock struct {
	grants []modelGrant
}

type modelGrant struct {
	token, session, client string
	fence, since, ends     int64
	max                    int64 // when it ends at the latest, 0 = never
	released               bool
	forced                 bool
}

// last is the newest grant, nil before the first.
func (m *modelLock) last() *modelGrant {
	if len(m.grants) == 0 {
		return nil
	}
	return &m.grants[len(m.grants)-1]
}

// holder returns the grant that is held at now, nil when the lock is free.
func (m *modelLock) holder(now int64) *modelGrant {
	if g := m.last(); g != nil && !g.released && !g.forced && g.ends > now {
		return g
	}
	return nil
}

// lastToken returns the token that was released last, empty if it has become the owner again since.
func (m *modelLock) lastToken() string {
	last := ""
	for _, g := range m.grants {
		switch {
		case g.released:
			last = g.token
		case g.token == last:
			last = ""
		}
	}
	return last
}

// state returns what renew and release should find.
func (m *modelLock) state(now int64, token, session string) lease.State {
	switch h := m.holder(now); {
	case h != nil && h.token != token:
		return lease.StateNotOwner
	case h != nil && session != "" && session != h.session:
		return lease.StateMoved
	case h != nil:
		return lease.StateOwned
	}
	if m.lastToken() == token {
		return lease.StateReleased
	}
	return lease.StateExpired
}

// hold extends a grant, up to its maximal hold.
func (g *modelGrant) hold(until int64) {
	g.ends = max(g.ends, until)
	if g.max > 0 {
		g.ends = min(g.ends, g.max)
	}
}

// final reports whether no renewal extends the grant any more.
func (g *modelGrant) final() bool { return g.max > 0 && g.ends == g.max }

func (m *modelLock) acquire(now, ttl, maxHold int64, token, session, client string) lock.AcquireOut {
	h := m.holder(now)
	if h != nil && h.token != token {
		return lock.AcquireOut{First: true, TTLMS: (h.ends - now) / 1000, Client: h.client, Instance: h.client + "-1", Meta: h.client + "!", SinceMS: h.since / 1000}
	}
	if h == nil {
		g := modelGrant{token: token, fence: now, since: now}
		if l := m.last(); l != nil {
			g.fence = max(g.fence, l.fence+1)
		}
		if maxHold > 0 {
			g.max = now + maxHold
		}
		m.grants = append(m.grants, g)
		h = m.last()
	}
	h.session, h.client = session, client
	h.hold(now + ttl)
	return lock.AcquireOut{
		First:    true,
		Acquired: true, Fence: h.fence, TTLMS: (h.ends - now) / 1000,
		Client: client, Instance: client + "-1", SinceMS: h.since / 1000, Meta: client + "!", Final: h.final(),
	}
}

// lockRun is one random sequence of steps on a lock and on its model.
type lockRun struct {
	s        *luatest.Store
	lock     string
	m        modelLock
	now      int64
	back     int64 // how far the clock may still step back
	forgets  int64 // when Redis drops the key, 0 = there is no key
	fence    int64 // the highest fence that was given out
	timeline []string
}

func (l *lockRun) say(format string, args ...any) {
	l.timeline = append(l.timeline, fmt.Sprintf("at %s ", time.Duration(l.now-luatest.Epoch)*time.Microsecond)+fmt.Sprintf(format, args...))
}

func (l *lockRun) story() string { return strings.Join(l.timeline, "\n") }

// pass moves the clock: forward, sometimes exactly to the end of a hold, or back. All steps back together are shorter
// than the time for which the key of a free lock is kept.
func (l *lockRun) pass(t *rapid.T) {
	d := rapid.Int64Range(0, 20_000_000).Draw(t, "us")
	switch h := l.m.last(); rapid.IntRange(0, 4).Draw(t, "how") {
	case 0:
		if h != nil && h.ends > l.now {
			d = h.ends - l.now - rapid.Int64Range(0, 1).Draw(t, "just before")
		}
	case 1:
		d = min(rapid.Int64Range(0, 10_000_000).Draw(t, "back"), l.back)
		l.back -= d
		d = -d
	case 2:
		if l.forgets > l.now {
			d = l.forgets - l.now
		}
	}
	l.now += d
	if l.forgets > 0 && l.now >= l.forgets {
		require.Nil(t, l.m.holder(l.now), "the key went while it was held: %s", l.story())
		l.s.Del(t, l.lock)
		l.m, l.forgets = modelLock{}, 0
		l.say("redis forgets it")
	}
}

// wrote checks whether the last step wrote, by the TTL that it set.
func (l *lockRun) wrote(t *rapid.T, before string, want bool) {
	ttl := l.s.TTL(l.lock)
	require.Equal(t, want, ttl > 0, "a write sets a TTL, and nothing else does: %s", l.story())
	if want {
		l.forgets = l.now + ttl.Microseconds()
		return
	}
	require.Equal(t, before, l.s.Raw(t, l.lock), "it should not have written: %s", l.story())
}

func (l *lockRun) acquire(t *rapid.T, token, session string, ttl int64) {
	before := l.s.Raw(t, l.lock)
	client := rapid.SampledFrom([]string{"", "crawler", "a\x00b", "\xff"}).Draw(t, "client")
	maxHold := rapid.SampledFrom([]int64{0, 0, 1, 7_000, 40_000}).Draw(t, "max_hold")
	l.say("acquire %s %s %dms for at most %dms", token, session, ttl, maxHold)
	free := l.m.holder(l.now) == nil
	want := l.m.acquire(l.now, ttl*1000, maxHold*1000, token, session, client)
	got := luatest.Call(t, l.s, lock.AcquireScript, l.now, lock.AcquireIn{
		Lock: l.lock, LineKeys: lease.LineKeysOf(l.lock), Token: token, TTLMS: ttl, Session: session, Client: client, Instance: client + "-1",
		MaxHoldMS: maxHold, Meta: client + "!",
	})
	require.Equal(t, want, got, "%s", l.story())
	l.wrote(t, before, got.Acquired)
	if free {
		require.Greater(t, got.Fence, l.fence, "fences rise with every owner, whatever was forgotten: %s", l.story())
		l.fence = got.Fence
	}
}

func (l *lockRun) renew(t *rapid.T, token, session string, ttl int64) {
	before := l.s.Raw(t, l.lock)
	l.say("renew %s %s %dms", token, session, ttl)
	want := lock.RenewOut{State: l.m.state(l.now, token, session)}
	if want.State == lease.StateOwned {
		if session == "" {
			l.m.last().ends = 0 // a renewal by the owner may shorten the hold
		}
		l.m.last().hold(l.now + ttl*1000)
	}
	if want.State == lease.StateOwned || want.State == lease.StateMoved {
		g := l.m.last()
		want.Fence, want.TTLMS, want.Final = g.fence, (g.ends-l.now)/1000, g.final()
	}
	got := luatest.Call(t, l.s, lock.RenewScript, l.now, lock.RenewIn{Lock: l.lock, Token: token, TTLMS: ttl, Session: session})
	require.Equal(t, want, got, "%s", l.story())
	l.wrote(t, before, got.State == lease.StateOwned)
}

func (l *lockRun) release(t *rapid.T, token, session string) {
	before := l.s.Raw(t, l.lock)
	l.say("release %s %s", token, session)
	want := l.m.state(l.now, token, session)
	if want == lease.StateOwned {
		l.m.last().released = true
	}
	got := luatest.Call(t, l.s, lock.ReleaseScript, l.now, lock.ReleaseIn{Lock: l.lock, LineKeys: lease.LineKeysOf(l.lock), Token: token, Session: session})
	require.Equal(t, want, got, "%s", l.story())
	l.wrote(t, before, got == lease.StateOwned)
}

func (l *lockRun) force(t *rapid.T) {
	before := l.s.Raw(t, l.lock)
	l.say("force release")
	want := lock.ForceReleaseOut{}
	if h := l.m.holder(l.now); h != nil {
		h.forced = true
		want = lock.ForceReleaseOut{
			Released: true, Fence: h.fence, Client: h.client, Instance: h.client + "-1", SinceMS: h.since / 1000, Meta: h.client + "!",
		}
	}
	got := luatest.Call(t, l.s, lock.ForceReleaseScript, l.now, lock.ForceReleaseIn{Lock: l.lock, LineKeys: lease.LineKeysOf(l.lock)})
	require.Equal(t, want, got, "%s", l.story())
	l.wrote(t, before, got.Released)
}

func (l *lockRun) get(t *rapid.T) {
	before := l.s.Raw(t, l.lock)
	l.say("get")
	want := lock.GetOut{LastToken: l.m.lastToken()}
	if g := l.m.last(); g != nil {
		want.Fence = g.fence
	}
	got := luatest.Call(t, l.s, lock.GetScript, l.now, lock.GetIn{Lock: l.lock, Line: lease.LineKeysOf(l.lock).Line})
	if h := l.m.holder(l.now); h != nil {
		want = lock.GetOut{
			Held: true, Fence: h.fence, TTLMS: (h.ends - l.now) / 1000,
			Client: h.client, Instance: h.client + "-1", SinceMS: h.since / 1000,
			Token: h.token, LastToken: l.m.lastToken(), Meta: h.client + "!", Final: h.final(),
		}
	}
	require.Equal(t, want, got, "%s", l.story())
	l.wrote(t, before, false)
}

// TestTopologyLockEqualsTheModel is the same on the cluster.
func TestTopologyLockEqualsTheModel(t *testing.T) { TestLockEqualsTheModel(t) }

func TestLockEqualsTheModel(t *testing.T) {
	t.Parallel()
	luatest.EachStore(t, func(t *testing.T, s *luatest.Store) {
		run := 0
		rapid.Check(t, func(rt *rapid.T) {
			run++
			l := &lockRun{s: s, lock: s.Key(fmt.Sprintf("l%d", run)), now: luatest.Epoch, back: 50_000_000}
			defer s.Del(t, l.lock)
			for range rapid.IntRange(1, 40).Draw(rt, "steps") {
				token := rapid.SampledFrom([]string{"tA", "tB", "tC"}).Draw(rt, "token")
				session := rapid.SampledFrom([]string{"", "s1", "s2"}).Draw(rt, "session")
				ttl := rapid.SampledFrom([]int64{100, 5_000, 30_000, 86_400_000}).Draw(rt, "ttl")
				switch rapid.IntRange(0, 10).Draw(rt, "step") {
				case 0, 1, 2:
					l.acquire(rt, token, session, ttl)
				case 3:
					l.renew(rt, token, session, ttl)
				case 4, 5:
					l.release(rt, token, session)
				case 6:
					l.get(rt)
				case 7:
					l.force(rt)
				default:
					l.pass(rt)
				}
			}
		})
	})
}
