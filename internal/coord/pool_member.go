package coord

import (
	"context"
	"fmt"
	"strconv"
	"strings"
	"time"

	"github.com/coxswain-sidecar/coxswain/client/api"
	"github.com/coxswain-sidecar/coxswain/internal/lua"
)

// What pools and permits share: both lease a member, in the same place, and a
// permit asks for more of it.

// The bounds of a member's lease, as on the wire (api.PoolAcquireParams).
const (
	minMemberLease = 100 * time.Millisecond
	maxMemberLease = 24 * time.Hour
)

// stickyFor is how long a name keeps its member beyond its last use.
const stickyFor = 24 * time.Hour

// MemberRequest asks for a member of a pool. Bound binds it to the caller's session.
type MemberRequest struct {
	Pool string
	// Scope is whose least recent use and cooldowns count; Sticky is who gets the
	// same member again while it can be had; empty = there is none.
	Scope, Sticky string
	Exclude       []string
	Lease         time.Duration
	// Wait is how long to stand in line, no longer than the call's deadline.
	Wait  time.Duration
	Bound bool
}

func (r MemberRequest) check(c Caller, noun string) error {
	if err := checkText("pool", r.Pool); err != nil {
		return err
	}
	for _, f := range [...]struct{ field, text string }{{"scope", r.Scope}, {"sticky", r.Sticky}} {
		if f.text != "" {
			if err := checkText(f.field, f.text); err != nil {
				return err
			}
		}
	}
	if n := len(r.Exclude); n > api.MaxExcluded {
		return invalid("exclude: %d members are too many; give at most %d", n, api.MaxExcluded)
	}
	for i, id := range r.Exclude {
		if err := checkText(fmt.Sprintf("exclude[%d]", i), id); err != nil {
			return err
		}
	}
	if err := checkBound(c, r.Bound, noun); err != nil {
		return err
	}
	if err := checkWait(r.Wait); err != nil {
		return err
	}
	return checkMemberLease(r.Lease)
}

func checkMemberLease(d time.Duration) error {
	if d < minMemberLease || d > maxMemberLease {
		return outOfRange("lease_ms", d, minMemberLease, maxMemberLease)
	}
	return nil
}

// MemberGrant is a member, or why there is none.
type MemberGrant struct {
	Acquired bool
	ID       string
	Lease    string // its owner's secret
	Meta     string
	Fence    int64     // rises with every lease of the pool
	LastUsed time.Time // before, in the scope, by the Redis server's clock; zero = never
	// RetryAfter is 0 when acquired, else when the soonest member may be had, and
	// Never when none ever may, as things are. Next is that instant.
	RetryAfter time.Duration
	Next       time.Time
	// Waited is from when the call came to when the try that decided was sent.
	Waited   time.Duration
	Replayed bool
	// Reason is why there is none: busy, cooling, banned or empty, of a replay
	// released or expired; and of permits also open, limit or pause.
	Reason string
}

// memberLease is what the text of a lease says, so that any sidecar can renew it
// and give it back without having kept anything.
type memberLease struct {
	noun          string
	token, member string // an empty member = it is not known which
	scope, rule   string
}

// leaseMarks begin the texts of each noun's leases. They are changed when the text
// changes its meaning, since leases outlive rollouts.
var leaseMarks = map[string]string{nounPool: "p1", nounPermit: "m1"}

// String is the lease as its owner sees it. Texts of the user's come last.
func (m memberLease) String() string {
	return fmt.Sprintf("%s.%s.%d.%d.%s%s%s", leaseMarks[m.noun], m.token, len(m.scope), len(m.rule), m.scope, m.rule, m.member)
}

// parseLease reads what a caller says a lease is.
func parseLease(noun, text string) (memberLease, error) {
	bad := invalid("lease: this is not one of %s.acquire; give the lease as it was answered there", noun)
	parts := strings.SplitN(text, ".", 5)
	if len(parts) != 5 || parts[0] != leaseMarks[noun] || parts[1] == "" || len(parts[1]) > 64 {
		return memberLease{}, bad
	}
	scope, err := strconv.ParseUint(parts[2], 10, 16)
	rule, errRule := strconv.ParseUint(parts[3], 10, 16)
	rest := parts[4]
	if err != nil || errRule != nil || uint64(len(rest)) < scope+rule ||
		max(scope, rule, uint64(len(rest))-scope-rule) > api.MaxNameBytes {
		return memberLease{}, bad
	}
	return memberLease{
		noun: noun, token: parts[1], scope: rest[:scope], rule: rest[scope : scope+rule], member: rest[scope+rule:],
	}, nil
}

// members is what the two nouns are made of.
type members struct {
	noun   string
	runner *lua.Runner
	keys   Keys
	leases *Leases
	lines  *Lines
}

// asked is one acquisition: its request and its token. A call that waits keeps nothing
// else. The inputs of scripts are made from it each time, since the keys alone take a
// kilobyte.
type asked struct {
	MemberRequest
	caller Caller
	lease  memberLease // without its member
	policy string      // the name of what the breakers of its members are asked by
	terms  string      // beyond rule and policy, what makes members possible at different times
}

// ask is one for a request that was checked.
func (m *members) ask(c Caller, r MemberRequest, rule, policy, terms string) *asked {
	return &asked{MemberRequest: r, caller: c, policy: policy, terms: terms, lease: memberLease{
		noun: m.noun, token: makeToken(c, m.noun, r.Pool), scope: r.Scope, rule: rule,
	}}
}

// input is what scripts are asked. The line is one for each scope, rule and policy.
func (m *members) input(a *asked) lua.PoolAcquireIn {
	id := a.caller.identity()
	in := lua.PoolAcquireIn{
		PoolKeys: m.keys.poolKeys(a.Pool), ViewKeys: m.keys.view(a.Pool, m.noun, [3]string{a.Scope, a.lease.rule, a.policy}, a.terms),
		Token: a.lease.token, LeaseMS: a.Lease.Milliseconds(), Client: id.Client, Instance: id.Instance,
		Inboxes: m.keys.inboxes(), Exclude: a.Exclude, StickyMS: stickyFor.Milliseconds(),
	}
	if a.Sticky != "" {
		in.Sticky = m.keys.sticky(a.Pool, a.Scope, a.Sticky)
	}
	if a.Bound {
		in.Session = a.caller.Session.ID
	}
	return in
}

// try is one run of a noun's script.
type try func(context.Context, lua.PoolAcquireIn, lua.Latch) (out lua.PoolAcquireOut, replayed bool, sent time.Time, err error)

// acquire has a script lease a member, once or in the caller's turn.
func (m *members) acquire(ctx context.Context, a *asked, run try, done func(MemberGrant, error)) {
	op := m.noun + " " + a.Pool + ": acquire"
	if err := m.leases.admit(op); err != nil {
		done(MemberGrant{}, err)
		return
	}
	came := time.Now()
	m.take(ctx, a, run, func(out lua.PoolAcquireOut, replayed bool, sent time.Time, waiter string, err error) {
		g, err := m.granted(ctx, a, out, replayed, sent, waiter, err)
		if a.Wait > 0 {
			g.Waited = m.leases.waited(ctx, m.noun, came, sent, g.Acquired, err)
		}
		outcome := "acquired"
		switch {
		case err != nil:
			outcome = "failed"
		case !g.Acquired:
			outcome = g.Reason
		}
		m.leases.tel.MemberDecided(ctx, m.noun, outcome)
		done(g, err)
	})
}

// granted answers what take found, in a try that was sent at that time.
func (m *members) granted(
	ctx context.Context, a *asked, out lua.PoolAcquireOut, replayed bool, sent time.Time, waiter string, err error,
) (MemberGrant, error) {
	switch {
	case err != nil:
		x := m.held(a, "", 0)
		x.kind = memberKind{m, m.input(a).LineKeys}
		m.leases.unsure(ctx, a.caller, x, true, waiter, err)
		return MemberGrant{}, failed(m.noun+" "+a.Pool+": acquire", err)
	case replayed:
		return m.replay(ctx, a, out)
	case !out.Acquired:
		return refusal(out), nil
	default:
		return m.keep(ctx, a, grantOf(out), sent)
	}
}

// take asks once, or stands in line. The waiter, if there was one, may still be in
// the line after an error.
func (m *members) take(
	ctx context.Context, a *asked, run try,
	done func(out lua.PoolAcquireOut, replayed bool, sent time.Time, waiter string, err error),
) {
	var out lua.PoolAcquireOut
	var replayed bool
	var sent time.Time
	in := m.input(a)
	once := latch(in.State, a.caller)
	// A pool of which little is known is looked at in several runs.
	whole := func(ctx context.Context, in lua.PoolAcquireIn) (err error) {
		for {
			out, replayed, sent, err = run(ctx, in, once)
			if err != nil || !out.More {
				return err
			}
			if err := ctx.Err(); err != nil {
				return err
			}
		}
	}
	m.lines.stand(ctx, in.LineKeys, a.Wait, func(ctx context.Context, at place) (look, error) {
		in := m.input(a)
		in.Waiter, in.BeatMS = at.waiter, at.beat.Milliseconds()
		err := whole(ctx, in)
		return look{served: out.Acquired || replayed, first: out.First, free: max(0, ceilMS(out.RetryUS))}, err
	}, func(waiter string, err error) { done(out, replayed, sent, waiter, err) })
}

// held is the lease of a member that was granted; without one it is not known which.
func (m *members) held(a *asked, member string, fence int64) *lease {
	l := a.lease
	l.member = member
	x := &lease{leaseID: leaseID{m.noun, a.Pool, l.String()}, fence: fence, ttl: a.Lease, kind: memberKind{members: m}}
	if a.Bound {
		x.session = a.caller.Session
	}
	return x
}

// keep has the session hold a grant, if it is to be bound to one.
func (m *members) keep(ctx context.Context, a *asked, g MemberGrant, sent time.Time) (MemberGrant, error) {
	x := m.held(a, g.ID, g.Fence)
	g.Lease = x.token
	if !a.Bound {
		if over := ctx.Err(); over != nil {
			// Nobody hears of the grant, to end it.
			m.leases.takeBack(ctx, hold{leaseID: x.leaseID, ttl: x.ttl, kind: x.kind})
			return MemberGrant{}, failed(m.noun+" "+a.Pool+": acquire", over)
		}
		return g, nil
	}
	if err := m.leases.keep(ctx, x, sent); err != nil {
		return MemberGrant{}, err
	}
	return g, nil
}

// replay answers a request id whose grant was given before. The latched reply is
// only a memory, so that Redis is asked, by token: a live lease moves to this
// session, so that the give-back of the old one finds it moved.
func (m *members) replay(ctx context.Context, a *asked, was lua.PoolAcquireOut) (MemberGrant, error) {
	in := m.input(a)
	out, err := lua.Run(ctx, m.runner, lua.PoolRenew, lua.PoolRenewIn{
		PoolKeys: in.PoolKeys, PoolLease: lua.PoolLease{Token: in.Token, Member: was.ID},
		Session: in.Session, LeaseMS: in.LeaseMS, Move: true, Client: in.Client, Instance: in.Instance,
	}, lua.Latch{})
	if err != nil {
		x := m.held(a, was.ID, 0)
		m.leases.unsure(ctx, a.caller, x, false, "", err)
		return MemberGrant{}, failed(m.noun+" "+a.Pool+": replay", err)
	}
	switch out.Value.State {
	case lua.LockOwned:
		g, err := m.keep(ctx, a, grantOf(was), out.Sent)
		g.Replayed = err == nil
		return g, err
	case lua.LockReleased:
		return MemberGrant{Replayed: true, Reason: ReasonReleased}, nil
	default:
		return MemberGrant{Replayed: true, Reason: ReasonExpired}, nil
	}
}

func grantOf(out lua.PoolAcquireOut) MemberGrant {
	g := MemberGrant{Acquired: true, ID: out.ID, Meta: out.Meta, Fence: out.Fence}
	if out.LastUsedMS > 0 {
		g.LastUsed = time.UnixMilli(out.LastUsedMS)
	}
	return g
}

func refusal(out lua.PoolAcquireOut) MemberGrant {
	g := MemberGrant{Reason: out.Reason, RetryAfter: Never}
	if out.RetryUS >= 0 {
		g.RetryAfter = ceilMS(out.RetryUS)
	}
	if out.NextMS > 0 {
		g.Next = time.UnixMilli(out.NextMS)
	}
	return g
}
