package coord

import (
	"context"
	"slices"
	"time"

	"github.com/coxswain-sidecar/coxswain/internal/lua"
)

// MemberRef names a member of a pool, and the rule under which it has a bucket.
type MemberRef struct{ Pool, ID, Rule string }

// check refuses what a member's bucket does not have: r is what else the caller said.
func (m MemberRef) check(r LimitRequest) error {
	if err := checkText("pool", m.Pool); err != nil {
		return err
	}
	switch {
	case r.Group != "":
		return invalid("group: given together with pool; a member counts for itself, so leave it out")
	case r.Algorithm != "" || len(r.Limits) > 0:
		return invalid("pool: given together with algorithm or limits; name the rule that permits of it are acquired by")
	case r.Wait != 0:
		return invalid("wait_ms: given together with pool; wait with permit.acquire instead")
	case r.FailMode != "" && r.FailMode != FailClosed:
		return invalid("fail_mode: given together with pool; members have no mode but closed, so leave it out")
	default:
		return checkText("key", m.ID)
	}
}

// Charge takes the cost from a member's bucket as RateLimiter.Acquire does from a
// key's, whoever has the member; peek only looks.
func (p *Permits) Charge(ctx context.Context, c Caller, m MemberRef, r LimitRequest, peek bool) (Decision, error) {
	if err := m.check(r); err != nil {
		return Decision{}, err
	}
	lim, err := p.bucketOf(m)
	if err != nil {
		return Decision{}, err
	}
	if r.Cost < 0 || r.Cost > maxLimit {
		return Decision{}, invalid("cost: %d is out of range; use 0 to %d", r.Cost, int64(maxLimit))
	}
	in := p.bucketIn(m, lim)
	in.Cost, in.Peek = r.Cost, peek || r.Cost == 0
	out, err := lua.Run(ctx, p.runner, lua.RatelimitMember, in, latch(in.State, c))
	switch {
	case err != nil:
		return Decision{}, failed("ratelimit "+lim.label()+": acquire of a member", err)
	case !out.Value.Found:
		return Decision{}, noMember("key")
	}
	d, err := lim.decision(out.Value.RatelimitAnswer, out.Replayed)
	if err != nil {
		return Decision{}, failed("ratelimit "+lim.label()+": reply", err)
	}
	if !d.Allowed && lim.shadow {
		d.Allowed, d.Shadow, d.RetryAfter = true, true, 0
	}
	return d, nil
}

// Forget resets a member's bucket, and reports whether there was anything in it.
func (p *Permits) Forget(ctx context.Context, m MemberRef, ref LimitRef) (bool, error) {
	if err := m.check(LimitRequest{LimitRef: ref}); err != nil {
		return false, err
	}
	lim, err := p.bucketOf(m)
	if err != nil {
		return false, err
	}
	in := p.bucketIn(m, lim)
	in.Reset = true
	out, err := lua.Run(ctx, p.runner, lua.RatelimitMember, in, lua.Latch{})
	switch {
	case err != nil:
		return false, failed("ratelimit "+lim.label()+": reset of a member", err)
	case !out.Value.Found:
		return false, noMember("key")
	}
	return out.Value.Admitted(), nil
}

// bucketOf is what the rule is for a member.
func (p *Permits) bucketOf(m MemberRef) (*limit, error) {
	if m.Rule == "" {
		return nil, invalid("rule: missing; with pool, name the rule that permits of it are acquired by")
	}
	found, err := p.rules.find(m.Rule)
	if err != nil {
		return nil, err
	}
	if err := found.forPermits(); err != nil {
		return nil, err
	}
	return found.of(m.ID, "").lim, nil
}

func (p *Permits) bucketIn(m MemberRef, lim *limit) lua.RatelimitMemberIn {
	return lua.RatelimitMemberIn{
		PoolKeys: p.keys.poolKeys(m.Pool), Buckets: p.keys.memberBuckets(m.Pool, m.Rule), Member: m.ID,
		Revision: lim.revision, Signature: lim.signature, Inboxes: p.keys.inboxes(),
	}
}

// Pause holds up permits of a member, and returns when the longest pause ends:
// zero when none is in force. r is a PauseRequest as for a key.
func (p *Permits) Pause(ctx context.Context, m MemberRef, r PauseRequest) (time.Time, error) {
	if err := m.check(LimitRequest{LimitRef: LimitRef{Group: r.Group}}); err != nil {
		return time.Time{}, err
	}
	if err := r.check(); err != nil {
		return time.Time{}, err
	}
	in := lua.PoolPauseIn{ForUS: r.For.Microseconds(), LongestUS: maxPeriod.Microseconds()}
	if r.For == 0 {
		in.UntilUS = r.Until.UnixMicro()
	}
	out, err := p.pause(ctx, m, in)
	if err != nil {
		return time.Time{}, err
	}
	if out.UntilUS < 0 {
		return time.Time{}, errFarPause
	}
	if out.Changed {
		p.leases.tel.Paused(ctx, p.label(m.Rule), causeManual)
	}
	return instant(out.UntilUS), nil
}

// Resume ends the pause of a member, and reports whether it was paused.
func (p *Permits) Resume(ctx context.Context, m MemberRef, group string) (bool, error) {
	if err := m.check(LimitRequest{LimitRef: LimitRef{Group: group}}); err != nil {
		return false, err
	}
	out, err := p.pause(ctx, m, lua.PoolPauseIn{Resume: true})
	return out.Changed, err
}

// Answered pauses a member for what its remote server answered, as Report does
// with a permit.
func (p *Permits) Answered(ctx context.Context, m MemberRef, r ReportRequest) (Backoff, error) {
	if err := m.check(LimitRequest{LimitRef: LimitRef{Group: r.Group}}); err != nil {
		return Backoff{}, err
	}
	if r.Grant != "" {
		return Backoff{}, invalid("grant: given together with pool; a permit is given back by permit.report")
	}
	if err := r.check(); err != nil {
		return Backoff{}, err
	}
	p.leases.tel.Reported(ctx, p.label(m.Rule), statusClass(r.Status), r.Latency)
	d := p.pauseFor(m.Rule, PermitReport{Status: r.Status, RetryAfter: r.RetryAfter})
	if !slices.Contains(p.penaltyOf(m.Rule).Codes, r.Status) || d <= 0 {
		return Backoff{}, nil
	}
	out, err := p.pause(ctx, m, lua.PoolPauseIn{ForUS: d.Microseconds(), LongestUS: maxPeriod.Microseconds()})
	if err != nil {
		return Backoff{}, err
	}
	if out.Changed {
		p.leases.tel.Paused(ctx, p.label(m.Rule), causePenalty)
	}
	return Backoff{Wait: ceilMS(out.UntilUS - out.NowUS), Until: instant(out.UntilUS)}, nil
}

func (p *Permits) pause(ctx context.Context, m MemberRef, in lua.PoolPauseIn) (lua.RatelimitPauseOut, error) {
	in.PoolKeys, in.Member, in.Inboxes = p.keys.poolKeys(m.Pool), m.ID, p.keys.inboxes()
	out, err := lua.Run(ctx, p.runner, lua.PoolPause, in, lua.Latch{})
	if err != nil {
		return lua.RatelimitPauseOut{}, failed("pool "+m.Pool+": pause", err)
	}
	if !out.Value.Found {
		return lua.RatelimitPauseOut{}, noMember("key")
	}
	return out.Value.RatelimitPauseOut, nil
}

// touched has views look at a member again whose breaker was changed from outside.
// Without it they find out when they believe it to be possible: at the latest when
// it is no longer open or a probe is lost, but never where it was forced open. It
// runs on its own time: the change was made, whether or not its caller is there.
func (b *Breakers) touched(ctx context.Context, r BreakerRef) error {
	if r.Pool == "" {
		return nil
	}
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), giveBackTime)
	defer cancel()
	_, err := lua.Run(ctx, b.runner, lua.PoolTouch, b.touch(r), lua.Latch{})
	return err
}

func (b *Breakers) touch(r BreakerRef) lua.PoolTouchIn {
	return lua.PoolTouchIn{PoolKeys: b.keys.poolKeys(r.Pool), Member: r.Name, Inboxes: b.keys.inboxes()}
}
