package pool_test

import (
	"fmt"
	"slices"

	"github.com/stretchr/testify/require"
	"pgregory.net/rapid"

	"github.com/coxswain-sidecar/coxswain/internal/coord/lease"
	"github.com/coxswain-sidecar/coxswain/internal/coord/pool"
	"github.com/coxswain-sidecar/coxswain/internal/luatest"
)

// poolRun is one random life of one pool and of its model.
type poolRun struct {
	s        *luatest.Store
	name     string
	m        modelPool
	now      int64
	sticky   map[string]string // member by name
	given    map[string]string // member by token, as the last answer said
	removed  map[string]modelDrip
	timeline []string
}

var poolIDs = []string{"a", "b", "c\x00 1:", "\xff"}

func (r *poolRun) keys() pool.Keys {
	key := func(part string) string { return r.s.Key(r.name + part) }
	return pool.Keys{
		Order: key("o"), Meta: key("m"), Changes: key("c"), Members: key("st"), Tokens: key("tk"),
		State: key("s"), Heads: key("hd"), Breakers: key("br"),
	}
}

func (r *poolRun) used(scope string) string { return r.s.Key(r.name + "used" + scope) }

func (r *poolRun) view(a poolAsk) pool.ViewKeys {
	id := fmt.Sprintf("%s/%s/%t/%d/", r.name, a.scope, a.permit, a.cost)
	line := r.s.Key(id + "line")
	return pool.ViewKeys{
		Idle: r.s.Key(id + "idle"), Away: r.s.Key(id + "away"), Seen: r.s.Key(id + "seen"), Used: r.used(a.scope),
		LineKeys: lease.LineKeysOf(line),
	}
}

// end takes away what this life left.
func (r *poolRun) end(t require.TestingT) { r.s.Clear(t, r.name) }

func (r *poolRun) put(t *rapid.T) {
	var in []string
	for _, id := range rapid.SliceOfNDistinct(rapid.SampledFrom(poolIDs), 1, 4, rapid.ID).Draw(t, "put") {
		in = append(in, id, rapid.SampledFrom([]string{"", "m", "\xfe:"}).Draw(t, "meta"))
	}
	r.say("put %q", in)
	added := 0
	for x := range slices.Chunk(in, 2) {
		id, meta := x[0], x[1]
		m := r.m.find(id)
		if m == nil {
			added++
			m = &modelMember{id: id, uses: map[string]int64{}, cools: map[string]int64{}, bucket: r.bucketOf(id)}
			r.m.members = append(r.m.members, m)
		}
		m.meta = meta
	}
	got := luatest.Call(t, r.s, pool.PutScript, r.now, pool.PutIn{Pool: r.keys(), Most: 10, Inboxes: "in:", List: in})
	require.Equal(t, pool.PutOut{Added: int64(added), Total: int64(len(r.m.members))}, got, "%s", r.story())
}

// bucketOf: a member that comes back meets its bucket.
func (r *poolRun) bucketOf(id string) modelDrip {
	return r.removed[id]
}

func (r *poolRun) remove(t *rapid.T) {
	ids := rapid.SliceOfNDistinct(rapid.SampledFrom(poolIDs), 1, 2, rapid.ID).Draw(t, "remove")
	r.say("remove %q", ids)
	before := len(r.m.members)
	r.m.members = slices.DeleteFunc(r.m.members, func(m *modelMember) bool {
		if slices.Contains(ids, m.id) {
			r.removed[m.id] = m.bucket
			return true
		}
		return false
	})
	got := luatest.Call(t, r.s, pool.RemoveScript, r.now, pool.RemoveIn{Pool: r.keys(), IDs: ids})
	require.Equal(t, pool.RemoveOut{Removed: int64(before - len(r.m.members)), Total: int64(len(r.m.members))}, got, "%s", r.story())
}

func drawAsk(t *rapid.T) poolAsk {
	a := poolAsk{
		token:  rapid.SampledFrom([]string{"t1", "t2", "t3"}).Draw(t, "token"),
		scope:  rapid.SampledFrom([]string{"", "h"}).Draw(t, "scope"),
		sticky: rapid.SampledFrom([]string{"", "", "n"}).Draw(t, "sticky"),
		permit: rapid.Bool().Draw(t, "permit"),
		lease:  rapid.SampledFrom([]int64{100, 5_000, 60_000}).Draw(t, "lease"),
	}
	if a.permit {
		a.cost = rapid.SampledFrom([]int64{0, 1, 2, 4}).Draw(t, "cost")
	}
	if rapid.IntRange(0, 3).Draw(t, "excludes") == 0 {
		a.exclude = rapid.SliceOfNDistinct(rapid.SampledFrom(poolIDs), 1, 3, rapid.ID).Draw(t, "exclude")
	}
	return a
}

func (r *poolRun) ask(t *rapid.T, a poolAsk) pool.PermitAcquireOut {
	in := pool.AcquireIn{
		Pool: r.keys(), View: r.view(a), Token: a.token, LeaseMS: a.lease, Session: "s", Inboxes: "in:", Exclude: a.exclude,
	}
	if a.sticky != "" {
		in.Sticky, in.StickyMS = r.s.Key(r.name+"sticky"+a.scope), 1000
	}
	for {
		var out pool.PermitAcquireOut
		if a.permit {
			out = luatest.Call(t, r.s, pool.PermitAcquireScript, r.now, pool.PermitAcquireIn{
				AcquireIn: in, Buckets: r.s.Key(r.name + "bk"), Cost: a.cost, Revision: 1, Signature: dripText,
			})
		} else {
			out.AcquireOut = luatest.Call(t, r.s, pool.AcquireScript, r.now, in)
		}
		if !out.More {
			return out
		}
	}
}

func (r *poolRun) acquire(t *rapid.T) {
	a := drawAsk(t)
	r.say("acquire %+v", a)
	r.explain(t, a)
	m, sticky := r.m.holder(r.now, a.token), ""
	again := m != nil
	if a.sticky != "" {
		sticky = r.sticky[a.scope]
	}
	if again {
		m.ends = max(m.ends, r.now+a.lease*1000)
	} else if m = r.m.choose(r.now, a, sticky); m != nil {
		r.m.lease(r.now, a, m)
		if a.sticky != "" {
			r.sticky[a.scope] = m.id
		}
	}
	got := r.ask(t, a)
	require.Equal(t, m != nil, got.Acquired, "%+v: %s", got, r.story())
	if m == nil {
		at, why := r.m.soonest(r.now, a)
		require.Contains(t, why, got.Reason, "%s", r.story())
		retry, next := at-r.now, (at+999)/1000
		if at == never {
			retry, next = -1, 0
		}
		require.Equal(t, []int64{retry, next}, []int64{got.RetryUS, got.NextMS}, "%s", r.story())
		return
	}
	r.say("got %q", m.id)
	left := int64(0)
	if a.permit {
		left = m.bucket.left(r.now)
	}
	require.Equal(t, pool.PermitAcquireOut{AcquireOut: pool.AcquireOut{
		Acquired: true, ID: m.id, Fence: m.fence, Meta: m.meta, LeaseMS: (m.ends - r.now) / 1000, LastUsedMS: m.prev / 1000, First: true,
	}, Remaining: left}, got, "%s", r.story())
	r.given[a.token] = m.id
}

// explain compares the explanation of an acquisition with the model: read for all members at once, for two at a time, and for one
// member alone.
func (r *poolRun) explain(t *rapid.T, a poolAsk) {
	view := r.view(a)
	in := pool.ExplainIn{
		Pool: r.keys(), Used: view.Used, LineKeys: view.LineKeys, Buckets: r.s.Key(r.name + "bk"), Count: 250, Exclude: a.exclude, Most: 10,
	}
	if a.permit {
		in.Permit, in.Cost, in.Revision, in.Signature = true, a.cost, 1, dripText
	}
	want := r.m.explained(r.now, a)
	whole := luatest.Call(t, r.s, pool.ExplainScript, r.now, in)
	judged := pool.Judged(whole)
	if m := r.m.find(whole.ID); m != nil && m.uses[a.scope] == 0 {
		whole.LastUS = 0 // by when it came, which the model does not know
	}
	require.Equal(t, want, whole, "%s", r.story())
	var pages []pool.ExplainOut
	for in.Count = 2; len(pages) == 0 || in.After != 0; in.After = pages[len(pages)-1].Cursor {
		pages = append(pages, luatest.Call(t, r.s, pool.ExplainScript, r.now, in))
	}
	require.Equal(t, judged, pool.Judged(pages...), "%s", r.story())
	in.Member = rapid.SampledFrom(poolIDs).Draw(t, "explained")
	alone := modelPool{members: slices.DeleteFunc(slices.Clone(r.m.members), func(m *modelMember) bool { return m.id != in.Member })}
	one := luatest.Call(t, r.s, pool.ExplainScript, r.now, in)
	one.LastUS = alone.explained(r.now, a).LastUS
	require.Equal(t, alone.explained(r.now, a), one, "%s", r.story())
}

// lease is a token and the member that it had, or none, or another.
func (r *poolRun) lease(t *rapid.T) (pool.Lease, *modelMember) {
	token := rapid.SampledFrom([]string{"t1", "t2", "t3"}).Draw(t, "token")
	if rapid.IntRange(0, 4).Draw(t, "knows the token alone") == 0 {
		return pool.Lease{Token: token}, r.m.holder(r.now, token)
	}
	id := r.given[token]
	if id == "" || rapid.IntRange(0, 9).Draw(t, "another's") == 0 {
		id = rapid.SampledFrom(poolIDs).Draw(t, "member")
	}
	return pool.Lease{Token: token, Member: id}, r.m.find(id)
}

func (r *poolRun) release(t *rapid.T) {
	held, m := r.lease(t)
	session := rapid.SampledFrom([]string{"", "s", "s", "other"}).Draw(t, "session")
	scope := rapid.SampledFrom([]string{"", "h"}).Draw(t, "scope")
	in := pool.ReleaseIn{
		Pool: r.keys(), Used: r.used(scope), LineKeys: lease.LineKeysOf(r.s.Key(r.name + "line")), Lease: held, Session: session, Inboxes: "in:",
		Outcome:    rapid.SampledFrom([]string{"", "ok", "soft_block", "hard_block", "transport", "captcha", "fail", "ban", "cancelled"}).Draw(t, "outcome"),
		CooldownMS: rapid.SampledFrom([]int64{0, 0, 1, 20_000}).Draw(t, "cooldown"),
		UnbanMS:    rapid.SampledFrom([]int64{0, 3_000}).Draw(t, "unban"),
	}
	r.say("release %q %q in %q: %q, %d ms, unban %d ms", held, session, scope, in.Outcome, in.CooldownMS, in.UnbanMS)
	want := pool.ReleaseOut{State: m.state(r.now, held.Token, session)}
	if want.State == lease.StateOwned {
		cool := max(m.judged(r.now, in.Outcome, in.UnbanMS).Microseconds(), in.CooldownMS*1000)
		if cool > 0 {
			m.cools[scope] = max(m.cools[scope], r.now+cool)
		}
		m.token, m.last, m.ends, m.session = "", held.Token, 0, ""
		next := m.cools[scope]
		switch {
		case m.ban > r.now:
			want.Became, next = "banned", max(m.ban, next)
		case next > r.now:
			want.Became = "cooling"
		default:
			want.Became, next = "free", 0
		}
		want.NextMS = (next + 999) / 1000
		if m.ban == never {
			want.NextMS = -1
		}
	}
	got := luatest.Call(t, r.s, pool.ReleaseScript, r.now, in)
	got.ID = ""
	require.Equal(t, want, got, "%s", r.story())
}

func (r *poolRun) renew(t *rapid.T) {
	held, m := r.lease(t)
	session, ms := rapid.SampledFrom([]string{"", "s", "other"}).Draw(t, "session"), rapid.SampledFrom([]int64{100, 90_000}).Draw(t, "ms")
	r.say("renew %q %q %d ms", held, session, ms)
	want := pool.RenewOut{State: m.state(r.now, held.Token, session)}
	if want.State == lease.StateOwned {
		if session == "" {
			m.ends = 0 // the owner's own word
		}
		m.ends = max(m.ends, r.now+ms*1000)
	}
	if want.State == lease.StateOwned || want.State == lease.StateMoved {
		want.Fence, want.LeaseMS = m.fence, (m.ends-r.now)/1000
	}
	got := luatest.Call(t, r.s, pool.RenewScript, r.now, pool.RenewIn{Pool: r.keys(), Lease: held, Session: session, LeaseMS: ms})
	got.ID = ""
	require.Equal(t, want, got, "%s", r.story())
}

func (r *poolRun) ban(t *rapid.T) {
	id, ban := rapid.SampledFrom(poolIDs).Draw(t, "member"), rapid.Bool().Draw(t, "ban")
	ms := rapid.SampledFrom([]int64{0, 2_000}).Draw(t, "ms")
	r.say("ban %q %t %d ms", id, ban, ms)
	m, want := r.m.find(id), pool.ChangeOut{}
	if m != nil {
		want = pool.ChangeOut{Found: true, Changed: ban != (m.ban > r.now)}
		switch {
		case !ban:
			m.ban, m.failures, m.slips = 0, 0, 0
			clear(m.cools)
		case ms == 0:
			m.ban = never
		default:
			m.ban = max(m.ban, r.now+ms*1000)
		}
	}
	got := luatest.Call(t, r.s, pool.BanScript, r.now, pool.BanIn{Pool: r.keys(), Member: id, Ban: ban, ForMS: ms, Inboxes: "in:"})
	require.Equal(t, want, got, "%s", r.story())
}

func (r *poolRun) pause(t *rapid.T) {
	id, resume := rapid.SampledFrom(poolIDs).Draw(t, "member"), rapid.Bool().Draw(t, "resume")
	us := rapid.SampledFrom([]int64{1, 2_500_000, 40_000_000}).Draw(t, "us")
	r.say("pause %q %t %d us", id, resume, us)
	m := r.m.find(id)
	if m != nil && resume {
		m.pause = 0
	} else if m != nil {
		m.pause = max(m.pause, r.now+us)
	}
	got := luatest.Call(t, r.s, pool.PauseScript, r.now, pool.PauseIn{
		Pool: r.keys(), Member: id, ForUS: us, LongestUS: us, Resume: resume, Inboxes: "in:",
	})
	require.Equal(t, m != nil, got.Found, "%s", r.story())
	if m != nil {
		require.Equal(t, m.pause, got.UntilUS, "%s", r.story())
	}
}

// charge takes from a member's bucket, or forgets it.
func (r *poolRun) charge(t *rapid.T) {
	id, reset := rapid.SampledFrom(poolIDs).Draw(t, "member"), rapid.Bool().Draw(t, "reset")
	r.say("charge %q reset %t", id, reset)
	m := r.m.find(id)
	got := luatest.Call(t, r.s, pool.RatelimitMemberScript, r.now, pool.RatelimitMemberIn{
		Pool: r.keys(), Buckets: r.s.Key(r.name + "bk"), Member: id, Cost: 1, Reset: reset, Revision: 1, Signature: dripText, Inboxes: "in:",
	})
	require.Equal(t, m != nil, got.Found, "%s", r.story())
	switch {
	case m == nil:
	case reset:
		m.bucket = modelDrip{}
	default:
		paused := max(m.pause-r.now, 0)
		wait := max(m.bucket.wait(r.now, 1), paused)
		if wait == 0 {
			m.bucket.take(r.now, 1)
		}
		require.Equal(t, wait == 0, got.Admitted(), "%s", r.story())
		require.Equal(t, []int64{wait, m.bucket.left(r.now)}, []int64{got.RetryAfterUS, got.Remaining}, "%s", r.story())
	}
}

// pass lets time go by, often exactly to when something ends.
func (r *poolRun) pass(t *rapid.T) {
	d := rapid.Int64Range(0, 20_000_000).Draw(t, "us")
	if n := len(r.m.members); n > 0 && rapid.Bool().Draw(t, "to an end") {
		m := r.m.members[rapid.IntRange(0, n-1).Draw(t, "of")]
		for _, end := range []int64{m.ends, m.cools["h"], m.pause} {
			if end > r.now {
				d = end - r.now - rapid.Int64Range(0, 1).Draw(t, "just before")
				break
			}
		}
	}
	r.now += d
	if rapid.IntRange(0, 9).Draw(t, "views go") == 0 {
		// As when nobody asked for 10 minutes. What they follow is older than they are.
		a := poolAsk{scope: "h", permit: true, cost: 1}
		v := r.view(a)
		r.s.Del(t, v.Seen)
		if rapid.Bool().Draw(t, "whole") {
			r.s.Del(t, v.Idle)
			r.s.Del(t, v.Away)
		}
	}
}
