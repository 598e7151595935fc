package coord

import (
	"context"
	"slices"
	"strings"
	"time"

	"github.com/coxswain-sidecar/coxswain/client/api"
	"github.com/coxswain-sidecar/coxswain/internal/lua"
)

// MemberRenewal says whether the member is still the lease's.
type MemberRenewal struct {
	Renewed bool
	Lease   time.Duration // left at least
	Reason  string        // renewed, not_owner or expired
}

// MemberRelease gives a member back, and says how it did.
type MemberRelease struct {
	Pool, Lease string
	// Outcome is ok, soft_block, hard_block, transport, captcha, fail, ban or
	// cancelled.
	Outcome string
	// Cooldown is how long it rests in the scope at least, at most a week.
	Cooldown time.Duration
	// UnbanAfter is how long a ban lasts, at most 366 days; 0 = until Unban.
	UnbanAfter time.Duration
}

// MemberReleased says what was found, and what the member is since.
type MemberReleased struct {
	Released bool
	Reason   string    // released, not_owner or expired
	State    string    // free, cooling or banned; empty unless this call released it
	Next     time.Time // when it may be had again; zero = now
	Never    bool      // it may not be had, as things are
}

const maxCooldown = 7 * 24 * time.Hour

var memberOutcomes = []string{
	api.OutcomeOK, api.OutcomeSoftBlock, api.OutcomeHardBlock, api.OutcomeTransport, api.OutcomeCaptcha,
	api.OutcomeFail, api.OutcomeBan, api.OutcomeCancelled,
}

func (r MemberRelease) check() error {
	if err := checkText("pool", r.Pool); err != nil {
		return err
	}
	if !slices.Contains(memberOutcomes, r.Outcome) {
		return invalid("outcome: %q is none; give one of %s", r.Outcome, strings.Join(memberOutcomes, ", "))
	}
	if r.Cooldown < 0 || r.Cooldown > maxCooldown {
		return outOfRange("cooldown_ms", r.Cooldown, 0, maxCooldown)
	}
	if r.UnbanAfter < 0 || r.UnbanAfter > maxPeriod {
		return outOfRange("unban_after_ms", r.UnbanAfter, 0, maxPeriod)
	}
	if r.UnbanAfter > 0 && r.Outcome != api.OutcomeBan {
		return invalid("unban_after_ms: given with the outcome %s; it is of ban alone", r.Outcome)
	}
	return nil
}

// renewOne has a lease, in whatever session, live so long from now on, shorter or
// longer than before.
func (m *members) renewOne(ctx context.Context, pool, text string, d time.Duration) (MemberRenewal, error) {
	if err := checkText("pool", pool); err != nil {
		return MemberRenewal{}, err
	}
	l, err := parseLease(m.noun, text)
	if err != nil {
		return MemberRenewal{}, err
	}
	if err := checkMemberLease(d); err != nil {
		return MemberRenewal{}, err
	}
	// Looked up before the script: a lease that is granted while it runs is
	// another one, and not lost by what the script finds.
	x, err := m.leases.claim(ctx, leaseID{m.noun, pool, text})
	if err != nil {
		return MemberRenewal{}, failed(m.noun+" "+pool+": renew", err)
	}
	out, err := lua.Run(ctx, m.runner, lua.PoolRenew, lua.PoolRenewIn{
		PoolKeys: m.keys.poolKeys(pool), PoolLease: lua.PoolLease{Token: l.token, Member: l.member}, LeaseMS: d.Milliseconds(),
	}, lua.Latch{})
	if err != nil {
		m.leases.unclaim(x)
		return MemberRenewal{}, failed(m.noun+" "+pool+": renew", err)
	}
	if out.Value.State == lua.LockOwned {
		m.leases.extend(x, d, renewal{sent: out.Sent})
		return MemberRenewal{Renewed: true, Lease: left(out.Value.LeaseMS, out.Sent), Reason: ReasonRenewed}, nil
	}
	reason := notHeld(out.Value.State)
	m.leases.lose(x, reason)
	return MemberRenewal{Reason: reason}, nil
}

// releaseBy has run give a member back by the lease, in whatever session. It runs
// on its own time: a caller that goes away does not stop it. Repeating it answers
// the same, since the first reply may have been lost.
func (m *members) releaseBy(ctx context.Context, c Caller, r MemberRelease,
	run func(context.Context, memberLease) (lua.PoolReleaseOut, error),
) (MemberReleased, error) {
	if err := r.check(); err != nil {
		return MemberReleased{}, err
	}
	l, err := parseLease(m.noun, r.Lease)
	if err != nil {
		return MemberReleased{}, err
	}
	var out lua.PoolReleaseOut
	err = m.leases.release(ctx, c, leaseID{m.noun, r.Pool, r.Lease}, func(ctx context.Context) (err error) {
		out, err = run(ctx, l)
		return err
	})
	if err != nil {
		return MemberReleased{}, err
	}
	if out.State != lua.LockOwned && out.State != lua.LockReleased {
		return MemberReleased{Reason: notHeld(out.State)}, nil
	}
	if out.State == lua.LockOwned {
		m.leases.tel.MemberReleased(ctx, m.noun, r.Outcome)
	}
	d := MemberReleased{Released: true, Reason: ReasonReleased, State: out.Became, Never: out.NextMS < 0}
	if out.NextMS > 0 {
		d.Next = time.UnixMilli(out.NextMS)
	}
	return d, nil
}

// releaseIn is what gives a member back, with how it did if that is known.
func (m *members) releaseIn(pool string, l memberLease) lua.PoolReleaseIn {
	return lua.PoolReleaseIn{
		PoolKeys: m.keys.poolKeys(pool), Used: m.keys.used(pool, l.scope), LineKeys: m.keys.line(m.keys.pool(pool, "none")),
		PoolLease: lua.PoolLease{Token: l.token, Member: l.member}, Inboxes: m.keys.inboxes(),
	}
}

// releaseOf is releaseIn with what the caller says of it.
func (m *members) releaseOf(r MemberRelease, l memberLease) lua.PoolReleaseIn {
	in := m.releaseIn(r.Pool, l)
	if r.Outcome != api.OutcomeCancelled {
		in.Outcome = r.Outcome
	}
	in.CooldownMS, in.UnbanMS = r.Cooldown.Milliseconds(), r.UnbanAfter.Milliseconds()
	return in
}

// memberKind is how members are renewed and given back. The line is that of who
// waited, and only of what is in doubt.
type memberKind struct {
	*members
	line lua.LineKeys
}

// renew implements leaseKind.
func (k memberKind) renew(ctx context.Context, due []hold) []renewal {
	return renewBy(ctx, k.runner, lua.PoolRenew, due, func(h hold) lua.PoolRenewIn {
		l, _ := parseLease(k.noun, h.token) // ours
		return lua.PoolRenewIn{
			PoolKeys: k.keys.poolKeys(h.name), PoolLease: lua.PoolLease{Token: l.token, Member: l.member},
			Session: h.session, LeaseMS: h.ttl.Milliseconds(),
		}
	}, func(v lua.PoolRenewOut) renewal {
		switch v.State {
		case lua.LockOwned:
			return renewal{held: true}
		case lua.LockMoved:
			return renewal{moved: true}
		default:
			return renewal{reason: notHeld(v.State)}
		}
	})
}

// giveBack implements leaseKind. Nobody says how the members did, so that nothing
// of that is counted.
func (k memberKind) giveBack(ctx context.Context, gone []hold) []error {
	return giveBackBy(ctx, k.runner, lua.PoolRelease, gone, func(h hold) lua.PoolReleaseIn {
		l, _ := parseLease(k.noun, h.token) // ours, or none
		in := k.releaseIn(h.name, l)
		in.Session, in.Waiter = h.session, h.waiter
		if k.line != (lua.LineKeys{}) {
			in.LineKeys = k.line
		}
		return in
	})
}
