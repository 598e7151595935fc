package seen_test

import (
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	"pgregory.net/rapid"

	"github.com/coxswain-sidecar/coxswain/internal/coord/seen"
	"github.com/coxswain-sidecar/coxswain/internal/luatest"
)

// modelSeen is a key of a set as the spec words it: who reserved it, in order, and
// what became of that.
type modelSeen struct {
	reservations []*modelReservation
}

type modelReservation struct {
	token, session string
	ends           int64
	released       bool
	committed      bool
	forgotten      int64 // when what was committed may be done again
	overtaken      bool  // someone reserved the key since it was forgotten
}

func (r *modelReservation) live(now int64) bool { return !r.released && !r.committed && r.ends > now }

func (m *modelSeen) last() *modelReservation {
	if len(m.reservations) == 0 {
		return nil
	}
	return m.reservations[len(m.reservations)-1]
}

func (m *modelSeen) holder(now int64) *modelReservation {
	if r := m.last(); r != nil && r.live(now) {
		return r
	}
	return nil
}

func (m *modelSeen) reserve(now, ttl int64, token, session string) seen.ReserveOut {
	last := m.last()
	if last != nil && last.committed && last.forgotten > now {
		return seen.ReserveOut{Was: seen.WasDone, LeftMS: luatest.CeilMS(last.forgotten - now)}
	}
	h := m.holder(now)
	if h != nil && h.token != token {
		return seen.ReserveOut{Was: seen.WasReserved, LeftMS: luatest.CeilMS(h.ends - now)}
	}
	if h == nil {
		if last != nil && last.committed {
			last.overtaken = true
		}
		h = &modelReservation{token: token}
		m.reservations = append(m.reservations, h)
	}
	h.session, h.ends = session, max(h.ends, now+ttl)
	return seen.ReserveOut{Reserved: true, LeftMS: (h.ends - now) / 1000}
}

// state is what renewing, committing and releasing should find.
func (m *modelSeen) state(now int64, token, session string) seen.State {
	if h := m.holder(now); h != nil && h.token == token {
		if session != "" && session != h.session {
			return seen.StateMoved
		}
		return seen.StateHeld
	}
	// The newest that ended by its holder's word is remembered, unless its token
	// reserved again.
	for i := len(m.reservations) - 1; i >= 0; i-- {
		switch r := m.reservations[i]; {
		case r.token == token && r.released:
			return seen.StateReleased
		case r.token == token && r.committed && !r.overtaken:
			return seen.StateCommitted
		case r.token == token || r.released || r.committed:
			return seen.StateGone
		}
	}
	return seen.StateGone
}

// seenRun is one random life of a key and of its model.
type seenRun struct {
	s        *luatest.Store
	key      string
	m        modelSeen
	now      int64
	forgets  int64 // when Redis drops the key, 0 = there is none
	timeline []string
}

func (p *seenRun) say(format string, args ...any) {
	p.timeline = append(p.timeline, fmt.Sprintf("at %s ", time.Duration(p.now-luatest.Epoch)*time.Microsecond)+fmt.Sprintf(format, args...))
}

func (p *seenRun) story() string { return strings.Join(p.timeline, "\n") }

// pass lets time go by, sometimes exactly to an end or just before it.
func (p *seenRun) pass(t *rapid.T) {
	d := rapid.SampledFrom([]int64{1, 100_000, 4_999_999, 12_000_000}).Draw(t, "us")
	if r := p.m.last(); r != nil && rapid.Bool().Draw(t, "to an end") {
		end := rapid.SampledFrom([]int64{r.ends, r.forgotten, p.forgets}).Draw(t, "end") - rapid.Int64Range(0, 1).Draw(t, "just before")
		d = max(end-p.now, 0)
	}
	p.now += d
	if p.forgets > 0 && p.now >= p.forgets {
		r := p.m.last()
		require.False(t, r.live(p.now) || r.committed && r.forgotten > p.now, "the key went too early: %s", p.story())
		p.s.Del(t, p.key)
		p.m, p.forgets = modelSeen{}, 0
		p.say("redis forgets it")
	}
}

// wrote checks whether the last step wrote, by the TTL that it set.
func (p *seenRun) wrote(t *rapid.T, before string, want bool) {
	ttl := p.s.TTL(p.key)
	require.Equal(t, want, ttl > 0, "a write sets a TTL, and nothing else does: %s", p.story())
	if want {
		p.forgets = p.now + ttl.Microseconds()
		end := p.now
		if r := p.m.last(); r.committed {
			end = r.forgotten
		} else if !r.released {
			end = r.ends
		}
		if p.s.Name == "embedded" { // where time stands still between a write and the look at its TTL
			require.GreaterOrEqual(t, p.forgets, end+150_000_000, "what became of it is told for so long: %s", p.story())
		}
		return
	}
	require.Equal(t, before, p.s.Raw(t, p.key), "it should not have written: %s", p.story())
}

func (p *seenRun) reserve(t *rapid.T, token, session string, ttl int64) {
	before := p.s.Raw(t, p.key)
	p.say("reserve %s %s %dms", token, session, ttl)
	want := p.m.reserve(p.now, ttl*1000, token, session)
	got := luatest.Call(t, p.s, seen.ReserveScript, p.now, seen.ReserveIn{Seen: p.key, Token: token, TTLMS: ttl, Session: session})
	require.Equal(t, want, got, "%s", p.story())
	p.wrote(t, before, got.Reserved)
}

func (p *seenRun) renew(t *rapid.T, token, session string, ttl int64, move bool) {
	before := p.s.Raw(t, p.key)
	p.say("renew %s %s %dms, move %v", token, session, ttl, move)
	whose := session
	if move {
		whose = ""
	}
	want := p.m.state(p.now, token, whose)
	if want == seen.StateHeld {
		h := p.m.last()
		h.ends = max(h.ends, p.now+ttl*1000)
		if move {
			h.session = session
		}
	}
	got := luatest.Call(t, p.s, seen.RenewScript, p.now, seen.RenewIn{Seen: p.key, Token: token, Session: session, TTLMS: ttl, Move: move})
	require.Equal(t, want, got, "%s", p.story())
	p.wrote(t, before, got == seen.StateHeld)
}

func (p *seenRun) commit(t *rapid.T, token string, keep int64) {
	before := p.s.Raw(t, p.key)
	p.say("commit %s for %dms", token, keep)
	want := p.m.state(p.now, token, "")
	if want == seen.StateHeld {
		h := p.m.last()
		h.committed, h.forgotten = true, p.now+keep*1000
	}
	got := luatest.Call(t, p.s, seen.CommitScript, p.now, seen.CommitIn{Seen: p.key, Token: token, KeepMS: keep})
	require.Equal(t, want, got, "%s", p.story())
	p.wrote(t, before, got == seen.StateHeld)
}

func (p *seenRun) release(t *rapid.T, token, session string) {
	before := p.s.Raw(t, p.key)
	p.say("release %s %s", token, session)
	want := p.m.state(p.now, token, session)
	if want == seen.StateHeld {
		p.m.last().released = true
	}
	got := luatest.Call(t, p.s, seen.ReleaseScript, p.now, seen.ReleaseIn{Seen: p.key, Token: token, Session: session})
	require.Equal(t, want, got, "%s", p.story())
	p.wrote(t, before, got == seen.StateHeld)
}

func TestSeenEqualsTheModel(t *testing.T) {
	t.Parallel()
	luatest.EachStore(t, func(t *testing.T, s *luatest.Store) {
		run := 0
		rapid.Check(t, func(rt *rapid.T) {
			run++
			p := &seenRun{s: s, key: s.Key(fmt.Sprintf("seen%d", run)), now: luatest.Epoch}
			defer s.Del(t, p.key)
			for range rapid.IntRange(1, 40).Draw(rt, "steps") {
				token := rapid.SampledFrom([]string{"tA", "tB", "tC"}).Draw(rt, "token")
				session := rapid.SampledFrom([]string{"", "s1", "s2"}).Draw(rt, "session")
				ms := rapid.SampledFrom([]int64{100, 5_000, 30_000, 400_000}).Draw(rt, "ms")
				switch rapid.IntRange(0, 9).Draw(rt, "step") {
				case 0, 1, 2:
					p.reserve(rt, token, session, ms)
				case 3:
					p.renew(rt, token, session, ms, rapid.Bool().Draw(rt, "move"))
				case 4, 5:
					p.commit(rt, token, ms)
				case 6:
					p.release(rt, token, session)
				default:
					p.pass(rt)
				}
			}
		})
	})
}
