package semaphore_test

import (
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	"pgregory.net/rapid"

	"github.com/coxswain-sidecar/coxswain/internal/coord/lease"
	"github.com/coxswain-sidecar/coxswain/internal/coord/semaphore"
	"github.com/coxswain-sidecar/coxswain/internal/luatest"
)

// modelPermits is a semaphore as the specification describes it: a list of grants, and what became of each.
type modelPermits struct {
	grants []*modelPermit
}

type modelPermit struct {
	token, session       string
	permits, fence, ends int64
	max                  int64 // 0 = never
	released             bool
}

func (m *modelPermits) live(now int64) (all []*modelPermit, held int64) {
	for _, g := range m.grants {
		if !g.released && g.ends > now {
			all, held = append(all, g), held+g.permits
		}
	}
	return all, held
}

func (m *modelPermits) of(now int64, token string) *modelPermit {
	all, _ := m.live(now)
	for _, g := range all {
		if g.token == token {
			return g
		}
	}
	return nil
}

// gone reports whether the newest grant of a token was given back.
func (m *modelPermits) gone(token string) bool {
	for _, g := range slices.Backward(m.grants) {
		if g.token == token {
			return g.released
		}
	}
	return false
}

func (g *modelPermit) hold(until int64) {
	g.ends = max(g.ends, until)
	if g.max > 0 {
		g.ends = min(g.ends, g.max)
	}
}

// permitRun is one random history of a semaphore, run on Redis and on the model.
type permitRun struct {
	s        *luatest.Store
	name     string
	limit    int64
	m        modelPermits
	now      int64
	timeline []string
}

func (p *permitRun) say(format string, args ...any) {
	p.timeline = append(p.timeline, fmt.Sprintf("at %s ", time.Duration(p.now-luatest.Epoch)*time.Microsecond)+fmt.Sprintf(format, args...))
}

func (p *permitRun) story() string { return strings.Join(p.timeline, "\n") }

func (p *permitRun) keys() semaphore.Keys {
	return semaphore.Keys{Leases: p.name, Holders: p.name + ":h", Weights: p.name + ":w"}
}

func (p *permitRun) gone(token string) string { return p.name + ":gone:" + token }

func (p *permitRun) acquire(t *rapid.T, token, session string, permits, ttl, maxHold int64) {
	p.say("acquire %s %s %d for %dms, at most %dms", token, session, permits, ttl, maxHold)
	got := luatest.Call(t, p.s, semaphore.AcquireScript, p.now, semaphore.AcquireIn{
		Semaphore: p.keys(), LineKeys: lease.LineKeysOf(p.name), Gone: p.gone(token), Token: token, Limit: p.limit,
		Permits: permits, TTLMS: ttl, Session: session, MaxHoldMS: maxHold,
	})
	g := p.m.of(p.now, token)
	_, held := p.m.live(p.now)
	if g == nil && p.limit-held < permits {
		require.Equal(t, []any{false, p.limit - held}, []any{got.Acquired, got.Free}, "%s", p.story())
		// Enough leases end exactly at the returned time, and not before.
		_, then := p.m.live(p.now + got.WaitUS)
		_, before := p.m.live(p.now + got.WaitUS - 1)
		require.GreaterOrEqual(t, p.limit-then, permits, "%s", p.story())
		require.Less(t, p.limit-before, permits, "%s", p.story())
		return
	}
	if g == nil {
		g = &modelPermit{token: token, permits: permits, fence: p.now}
		for _, other := range p.m.grants {
			g.fence = max(g.fence, other.fence+1)
		}
		if maxHold > 0 {
			g.max = p.now + maxHold*1000
		}
		p.m.grants = append(p.m.grants, g)
		held += permits
	}
	g.session = session
	g.hold(p.now + ttl*1000)
	require.Equal(t, semaphore.AcquireOut{
		Acquired: true, Fence: g.fence, TTLMS: (g.ends - p.now) / 1000, Final: g.max > 0 && g.ends == g.max,
		Free: p.limit - held, First: true,
	}, got, "%s", p.story())
}

// state returns the state that a renewal or a release must find.
func (p *permitRun) state(token, session string) (semaphore.State, *modelPermit) {
	switch g := p.m.of(p.now, token); {
	case g != nil && session != "" && session != g.session:
		return semaphore.Moved, g
	case g != nil:
		return semaphore.Held, g
	case p.m.gone(token):
		return semaphore.Released, nil
	default:
		return semaphore.Expired, nil
	}
}

func (p *permitRun) renew(t *rapid.T, token, session string, ttl int64) {
	p.say("renew %s %s %dms", token, session, ttl)
	state, g := p.state(token, session)
	want := semaphore.RenewOut{State: state}
	if state == semaphore.Held {
		if session == "" {
			g.ends = 0 // the owner's own renewal may shorten it
		}
		g.hold(p.now + ttl*1000)
	}
	if g != nil {
		want.Fence, want.TTLMS, want.Final = g.fence, (g.ends-p.now)/1000, g.max > 0 && g.ends == g.max
	}
	require.Equal(t, want, luatest.Call(t, p.s, semaphore.RenewScript, p.now, semaphore.RenewIn{
		Semaphore: p.keys(), Gone: p.gone(token), Token: token, TTLMS: ttl, Session: session,
	}), "%s", p.story())
}

func (p *permitRun) release(t *rapid.T, token, session string) {
	p.say("release %s %s", token, session)
	state, g := p.state(token, session)
	if state == semaphore.Held {
		g.released = true
	}
	require.Equal(t, state, luatest.Call(t, p.s, semaphore.ReleaseScript, p.now, semaphore.ReleaseIn{
		Semaphore: p.keys(), LineKeys: lease.LineKeysOf(p.name), Gone: p.gone(token), Token: token, Session: session,
	}), "%s", p.story())
}

// check requires, after every step, that the permits held are those of live leases.
func (p *permitRun) check(t *rapid.T) {
	live, held := p.m.live(p.now)
	got := luatest.Call(t, p.s, semaphore.GetScript, p.now, semaphore.GetIn{Semaphore: p.keys(), Line: lease.LineKeysOf(p.name).Line, Most: 100})
	require.Equal(t, []any{held, len(live)}, []any{got.Held, len(got.Holders)}, "%s", p.story())
	require.LessOrEqual(t, held, p.limit, "%s", p.story())
	for _, h := range got.Holders {
		require.True(t, slices.ContainsFunc(live, func(g *modelPermit) bool {
			return g.fence == h.Fence && g.permits == h.Permits && (g.ends-p.now)/1000 == h.TTLMS
		}), "%+v: %s", h, p.story())
	}
}

func TestSemaphoreEqualsTheModel(t *testing.T) {
	t.Parallel()
	luatest.EachStore(t, func(t *testing.T, s *luatest.Store) {
		run := 0
		rapid.Check(t, func(rt *rapid.T) {
			run++
			p := &permitRun{s: s, name: s.Key(fmt.Sprintf("s%d", run)), now: luatest.Epoch, limit: rapid.Int64Range(1, 6).Draw(rt, "limit")}
			tokens := []string{"tA", "tB", "tC", "tD"}
			defer func() {
				for _, key := range []string{p.keys().Leases, p.keys().Holders, p.keys().Weights} {
					s.Del(t, key)
				}
				for _, token := range tokens {
					s.Del(t, p.gone(token))
				}
			}()
			for range rapid.IntRange(1, 30).Draw(rt, "steps") {
				token := rapid.SampledFrom(tokens).Draw(rt, "token")
				session := rapid.SampledFrom([]string{"", "s1", "s2"}).Draw(rt, "session")
				ttl := rapid.SampledFrom([]int64{100, 5_000, 30_000}).Draw(rt, "ttl")
				switch rapid.IntRange(0, 7).Draw(rt, "step") {
				case 0, 1, 2:
					hold := rapid.SampledFrom([]int64{0, 0, 7_000}).Draw(rt, "max_hold")
					p.acquire(rt, token, session, rapid.Int64Range(1, p.limit).Draw(rt, "permits"), ttl, hold)
				case 3:
					p.renew(rt, token, session, ttl)
				case 4, 5:
					p.release(rt, token, session)
				default:
					p.now += rapid.SampledFrom([]int64{1, 100_000, 4_999_999, 12_000_000}).Draw(rt, "us")
				}
				p.check(rt)
			}
		})
	})
}
