package pool_test

import (
	"cmp"
	"fmt"
	"math"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	"pgregory.net/rapid"

	"github.com/coxswain-sidecar/coxswain/internal/coord/lease"
	"github.com/coxswain-sidecar/coxswain/internal/coord/pool"
	"github.com/coxswain-sidecar/coxswain/internal/luatest"
)

// modelPool is a pool as the spec words it: a list of members, looked through from
// the start at each question. It knows no indexes.
type modelPool struct {
	members []*modelMember // in the order in which they came
	fence   int64
}

type modelMember struct {
	id, meta        string
	token, last     string // of the lease, and of the last one that was given back
	session         string
	ends, fence     int64
	since           int64 // of the lease
	ban, pause      int64 // never = without an end
	failures, slips int64
	uses, cools     map[string]int64 // by scope
	prev            int64
	bucket          modelDrip
}

// modelDrip is a bucket of 3 tokens that refills one each second: level is what is
// used, in us of refilling.
type modelDrip struct{ level, at int64 }

const (
	never        = int64(math.MaxInt64)
	dripCapacity = 3
	dripEvery    = int64(1_000_000)
	dripText     = "3/1/1000000/3000"
)

func (d *modelDrip) used(now int64) int64 { return max(d.level-(now-d.at), 0) }

// wait is until cost fits.
func (d *modelDrip) wait(now, cost int64) int64 {
	if cost > dripCapacity {
		return never
	}
	return max(d.used(now)+(cost-dripCapacity)*dripEvery, 0)
}

func (d *modelDrip) take(now, cost int64) {
	if cost > 0 {
		d.level, d.at = d.used(now)+cost*dripEvery, now
	}
}

// left is what is left, in whole tokens.
func (d *modelDrip) left(now int64) int64 {
	return dripCapacity - (d.used(now)+dripEvery-1)/dripEvery
}

func (p *modelPool) find(id string) *modelMember {
	i := slices.IndexFunc(p.members, func(m *modelMember) bool { return m.id == id })
	if i < 0 {
		return nil
	}
	return p.members[i]
}

// holder is the member that a token has.
func (p *modelPool) holder(now int64, token string) *modelMember {
	i := slices.IndexFunc(p.members, func(m *modelMember) bool { return m.token == token && m.ends > now })
	if i < 0 {
		return nil
	}
	return p.members[i]
}

// possible is when a member may be had, and why not before.
func (m *modelMember) possible(now int64, a poolAsk) (at int64, why string) {
	later := func(t int64, reason string) {
		if t > now && t > at {
			at, why = t, reason
		}
	}
	later(m.ends, "busy")
	later(m.cools[a.scope], "cooling")
	later(m.ban, "banned")
	if a.permit {
		later(m.pause, "pause")
		w := m.bucket.wait(now, a.cost)
		if w < never {
			w += now
		}
		later(w, "limit")
	}
	return at, why
}

// poolAsk is one acquisition.
type poolAsk struct {
	token, scope, sticky string
	permit               bool
	cost                 int64
	lease                int64 // ms
	exclude              []string
}

// soonest is when the next member may be had, and every reason that may be told.
func (p *modelPool) soonest(now int64, a poolAsk) (at int64, why []string) {
	at = never
	for _, m := range p.members {
		if slices.Contains(a.exclude, m.id) {
			continue
		}
		switch t, w := m.possible(now, a); {
		case len(why) == 0 || t < at:
			at, why = t, []string{w}
		case t == at:
			why = append(why, w)
		}
	}
	if len(why) == 0 {
		why = []string{"empty"}
	}
	return at, why
}

// choose is the member that an acquisition gets, nil when there is none.
func (p *modelPool) choose(now int64, a poolAsk, sticky string) *modelMember {
	var best *modelMember
	for _, m := range p.members {
		if at, _ := m.possible(now, a); at > 0 || slices.Contains(a.exclude, m.id) {
			continue
		}
		if m.id == sticky {
			return m
		}
		if best == nil || m.uses[a.scope] < best.uses[a.scope] {
			best = m
		}
	}
	return best
}

// explained is what an explanation of an acquisition finds. Who waits is not in the model.
func (p *modelPool) explained(now int64, a poolAsk) (out pool.ExplainOut) {
	for _, m := range p.members {
		if slices.Contains(a.exclude, m.id) {
			continue
		}
		out.Members++
		if m.ends > now {
			out.Holders = append(out.Holders, pool.Holder{ID: m.id, LeftUS: m.ends - now, SinceMS: m.since / 1000})
		}
		at, why := m.possible(now, a)
		if at == 0 {
			out.Free++
			continue
		}
		after := at - now
		if at == never {
			after = -1
		}
		i := slices.IndexFunc(out.Reasons, func(x pool.ExplainReason) bool { return x.Reason == why })
		if i < 0 {
			i, out.Reasons = len(out.Reasons), append(out.Reasons, pool.ExplainReason{Reason: why, ID: m.id, AfterUS: after})
		}
		x := &out.Reasons[i]
		x.Members++
		if after >= 0 && (x.AfterUS < 0 || after < x.AfterUS) {
			x.ID, x.AfterUS = m.id, after
		}
	}
	slices.SortFunc(out.Holders, func(a, b pool.Holder) int {
		return cmp.Or(cmp.Compare(a.LeftUS, b.LeftUS), strings.Compare(a.ID, b.ID))
	})
	if m := p.choose(now, a, ""); m != nil {
		out.ID, out.LastUS = m.id, m.uses[a.scope]
	}
	return out
}

func (p *modelPool) lease(now int64, a poolAsk, m *modelMember) {
	p.fence = max(p.fence+1, now)
	m.prev, m.uses[a.scope] = m.uses[a.scope], p.fence
	m.token, m.ends, m.fence, m.session, m.since = a.token, now+a.lease*1000, p.fence, "s", now
	if m.last == a.token {
		m.last = ""
	}
	if a.permit {
		m.bucket.take(now, a.cost)
	}
}

// state is what renew and release should find of a member and a token.
func (m *modelMember) state(now int64, token, session string) lease.State {
	switch {
	case m == nil:
		return lease.StateExpired
	case m.token == token && m.ends > now && (session == "" || session == m.session):
		return lease.StateOwned
	case m.token == token && m.ends > now:
		return lease.StateMoved
	case m.last == token:
		return lease.StateReleased
	case m.ends > now:
		return lease.StateNotOwner
	}
	return lease.StateExpired
}

// judged counts an outcome, and returns how long the member cools down.
func (m *modelMember) judged(now int64, outcome string, unban int64) time.Duration {
	first, most := time.Duration(0), time.Duration(0)
	switch outcome {
	case "ok":
		m.failures, m.slips = 0, 0
	case "ban":
		if m.ban != never {
			m.ban = max(m.ban, now+unban*1000)
			if unban == 0 {
				m.ban = never
			}
		}
	case "soft_block":
		first, most = 30*time.Second, time.Hour
	case "captcha":
		first, most = 2*time.Minute, 6*time.Hour
	case "fail":
		first, most = 10*time.Second, 30*time.Minute
	case "hard_block":
		first, most = 5*time.Minute, 24*time.Hour
	case "transport":
		m.slips++
		return min(time.Second<<(m.slips-1), time.Minute)
	}
	if first == 0 {
		return 0
	}
	m.failures++
	for range m.failures - 1 {
		first = min(first*2, most)
	}
	return first
}

// stats counts as pool.stats does.
func (p *modelPool) stats(now int64, scope string) pool.StatsOut {
	var out pool.StatsOut
	for _, m := range p.members {
		switch {
		case m.ends > now:
			out.Live++
		case m.ban > now:
			out.Banned++
		case m.cools[scope] > now:
			out.Cooling++
		default:
			out.Free++
		}
	}
	return out
}

// TestThePoolEqualsTheModel lives random lives of pools, asked through several
// views: two scopes, with and without a rule, at two costs.
func TestThePoolEqualsTheModel(t *testing.T) {
	t.Parallel()
	luatest.EachStore(t, func(t *testing.T, s *luatest.Store) {
		life := 0
		rapid.Check(t, func(rt *rapid.T) {
			life++
			r := &poolRun{s: s, name: fmt.Sprintf("p%d", life), now: luatest.Epoch, sticky: map[string]string{}, given: map[string]string{}, removed: map[string]modelDrip{}}
			defer r.end(rt)
			r.put(rt)
			for range rapid.IntRange(1, 40).Draw(rt, "steps") {
				r.step(rt)
				r.check(rt)
			}
		})
	})
}

func (r *poolRun) step(t *rapid.T) {
	switch rapid.IntRange(0, 14).Draw(t, "step") {
	case 0:
		r.put(t)
	case 1:
		r.remove(t)
	case 2, 3, 4, 5:
		r.acquire(t)
	case 6, 7, 8:
		r.release(t)
	case 9:
		r.renew(t)
	case 10:
		r.ban(t)
	case 11:
		r.pause(t)
	case 12:
		r.charge(t)
	default:
		r.pass(t)
	}
}

// check compares what is counted and listed.
func (r *poolRun) check(t *rapid.T) {
	for _, scope := range []string{"", "h"} {
		var sum pool.StatsOut
		for cursor, first := int64(0), true; first || cursor != 0; first = false {
			out := luatest.Call(t, r.s, pool.StatsScript, r.now, pool.StatsIn{
				Pool: r.keys(), Used: r.used(scope), Line: r.s.Key(r.name + "line"), After: cursor, Count: 2,
			})
			cursor = out.Cursor
			sum.Live, sum.Cooling, sum.Banned, sum.Free = sum.Live+out.Live, sum.Cooling+out.Cooling, sum.Banned+out.Banned, sum.Free+out.Free
		}
		require.Equal(t, r.m.stats(r.now, scope), sum, "scope %q: %s", scope, r.story())
		require.EqualValues(t, len(r.m.members), sum.Live+sum.Cooling+sum.Banned+sum.Free, "%s", r.story())
	}
	list := luatest.Call(t, r.s, pool.ListScript, r.now, pool.ListIn{Pool: r.keys(), Used: r.used("h"), Count: 250})
	require.Len(t, list.Members, len(r.m.members), "%s", r.story())
	for i, m := range r.m.members {
		got := list.Members[i]
		require.Equal(t, m.id+"/"+m.meta, got.ID+"/"+got.Meta, "%s", r.story())
		require.Equal(t, m.uses["h"], got.LastUS, "%s is used in h: %s", m.id, r.story())
		require.Equal(t, m.failures+m.slips, got.Failures, "%s fails: %s", m.id, r.story())
	}
}

func (r *poolRun) story() string { return strings.Join(r.timeline, "\n") }

func (r *poolRun) say(format string, args ...any) {
	r.timeline = append(r.timeline, fmt.Sprintf("at %s ", time.Duration(r.now-luatest.Epoch)*time.Microsecond)+fmt.Sprintf(format, args...))
}
