package coord

import (
	"context"
	"slices"

	"github.com/coxswain-sidecar/coxswain/client/api"
	"github.com/coxswain-sidecar/coxswain/internal/lua"
)

// checkMember refuses what a member's bucket does not have: a group, and a rule or limits
// other than those that permits of its pool are acquired by.
func checkMember(group, algorithm string, limits []api.Band) error {
	switch {
	case group != "":
		return invalid("group: given together with pool; a member counts for itself, so leave it out")
	case algorithm != "" || len(limits) > 0:
		return invalid("pool: given together with algorithm or limits; name the rule that permits of it are acquired by")
	default:
		return nil
	}
}

// checkCharge refuses what only a key's limit can be asked.
func checkCharge(q *api.RatelimitParams) error {
	if err := checkMember(q.Group, q.Algorithm, q.Limits); err != nil {
		return err
	}
	switch {
	case q.WaitMS != 0:
		return invalid("wait_ms: given together with pool; wait with permit.acquire instead")
	case q.FailMode != "" && q.FailMode != string(FailClosed):
		return invalid("fail_mode: given together with pool; members have no mode but closed, so leave it out")
	default:
		return nil
	}
}

// Charge takes the cost from a member's bucket as RateLimiter.Acquire does from a
// key's, whoever has the member; peek only looks.
func (p *Permits) Charge(ctx context.Context, c Caller, q *api.RatelimitParams, peek bool) (api.RatelimitResult, error) {
	if err := checkCharge(q); err != nil {
		return api.RatelimitResult{}, err
	}
	lim, err := p.bucketOf(q.Rule, q.Key)
	if err != nil {
		return api.RatelimitResult{}, err
	}
	in := p.bucketIn(q.Pool, q.Key, q.Rule, lim)
	in.Cost, in.Peek = q.Cost, peek || q.Cost == 0
	out, err := lua.Run(ctx, p.runner, lua.RatelimitMember, in, latch(in.State, c))
	switch {
	case err != nil:
		return api.RatelimitResult{}, failed("ratelimit "+lim.label()+": acquire of a member", err)
	case !out.Value.Found:
		return api.RatelimitResult{}, noMember("key")
	}
	d, err := lim.decision(out.Value.RatelimitAnswer, out.Replayed)
	if err != nil {
		return api.RatelimitResult{}, failed("ratelimit "+lim.label()+": reply", err)
	}
	if !d.Allowed && lim.shadow {
		d.Allowed, d.Shadow, d.RetryAfterMS = true, true, 0
	}
	return d.RatelimitResult, nil
}

// Forget resets a member's bucket, and reports whether there was anything in it.
func (p *Permits) Forget(ctx context.Context, _ Caller, q *api.RatelimitResetParams) (api.RatelimitResetResult, error) {
	if err := checkMember(q.Group, q.Algorithm, q.Limits); err != nil {
		return api.RatelimitResetResult{}, err
	}
	lim, err := p.bucketOf(q.Rule, q.Key)
	if err != nil {
		return api.RatelimitResetResult{}, err
	}
	in := p.bucketIn(q.Pool, q.Key, q.Rule, lim)
	in.Reset = true
	out, err := lua.Run(ctx, p.runner, lua.RatelimitMember, in, lua.Latch{})
	switch {
	case err != nil:
		return api.RatelimitResetResult{}, failed("ratelimit "+lim.label()+": reset of a member", err)
	case !out.Value.Found:
		return api.RatelimitResetResult{}, noMember("key")
	}
	return api.RatelimitResetResult{Reset: out.Value.Admitted()}, nil
}

// bucketOf is what the rule is for a member.
func (p *Permits) bucketOf(rule, member string) (*limit, error) {
	if rule == "" {
		return nil, invalid("rule: missing; with pool, name the rule that permits of it are acquired by")
	}
	found, err := p.rules.find(rule)
	if err != nil {
		return nil, err
	}
	if err := found.forPermits(); err != nil {
		return nil, err
	}
	return found.of(member, "").lim, nil
}

func (p *Permits) bucketIn(pool, member, rule string, lim *limit) lua.RatelimitMemberIn {
	return lua.RatelimitMemberIn{
		PoolKeys: p.keys.poolKeys(pool), Buckets: p.keys.memberBuckets(pool, rule), Member: member,
		Revision: lim.revision, Signature: lim.signature, Inboxes: p.keys.inboxes(),
	}
}

// Pause holds up permits of a member, and returns when the longest pause ends: 0 when
// none is in force.
func (p *Permits) Pause(ctx context.Context, _ Caller, q *api.RatelimitPauseParams) (api.RatelimitPauseResult, error) {
	if err := checkMember(q.Group, "", nil); err != nil {
		return api.RatelimitPauseResult{}, err
	}
	if err := checkPause(q); err != nil {
		return api.RatelimitPauseResult{}, err
	}
	out, err := p.pause(ctx, q.Pool, q.Key, lua.PoolPauseIn{
		ForUS: q.ForMS * 1000, UntilUS: q.UntilAtMS * 1000, LongestUS: maxPeriod.Microseconds(),
	})
	if err != nil {
		return api.RatelimitPauseResult{}, err
	}
	if out.UntilUS < 0 {
		return api.RatelimitPauseResult{}, errFarPause
	}
	if out.Changed {
		p.leases.tel.Paused(ctx, p.label(q.Rule), causeManual)
	}
	return api.RatelimitPauseResult{PausedUntilAtMS: msUp(out.UntilUS)}, nil
}

// Resume ends the pause of a member, and reports whether it was paused.
func (p *Permits) Resume(ctx context.Context, _ Caller, q *api.RatelimitResumeParams) (api.RatelimitResumeResult, error) {
	if err := checkMember(q.Group, "", nil); err != nil {
		return api.RatelimitResumeResult{}, err
	}
	out, err := p.pause(ctx, q.Pool, q.Key, lua.PoolPauseIn{Resume: true})
	return api.RatelimitResumeResult{Resumed: out.Changed}, err
}

// Answered pauses a member for what its remote server answered, as Report does
// with a permit.
func (p *Permits) Answered(ctx context.Context, _ Caller, q *api.RatelimitReportParams) (api.RatelimitReportResult, error) {
	if err := checkMember(q.Group, "", nil); err != nil {
		return api.RatelimitReportResult{}, err
	}
	if q.Grant != "" {
		return api.RatelimitReportResult{}, invalid("grant: given together with pool; a permit is given back by permit.report")
	}
	p.leases.tel.Reported(ctx, p.label(q.Rule), statusClass(q.Status), Millis(q.LatencyMS))
	d := p.pauseFor(q.Rule, PermitReport{Status: q.Status, RetryAfter: Millis(q.RetryAfterMS)})
	if !slices.Contains(p.penaltyOf(q.Rule).Codes, q.Status) || d <= 0 {
		return api.RatelimitReportResult{}, nil
	}
	out, err := p.pause(ctx, q.Pool, q.Key, lua.PoolPauseIn{ForUS: d.Microseconds(), LongestUS: maxPeriod.Microseconds()})
	if err != nil {
		return api.RatelimitReportResult{}, err
	}
	if out.Changed {
		p.leases.tel.Paused(ctx, p.label(q.Rule), causePenalty)
	}
	return api.RatelimitReportResult{WaitMS: msUp(out.UntilUS - out.NowUS), PausedUntilAtMS: msUp(out.UntilUS)}, nil
}

func (p *Permits) pause(ctx context.Context, pool, member string, in lua.PoolPauseIn) (lua.RatelimitPauseOut, error) {
	in.PoolKeys, in.Member, in.Inboxes = p.keys.poolKeys(pool), member, p.keys.inboxes()
	out, err := lua.Run(ctx, p.runner, lua.PoolPause, in, lua.Latch{})
	if err != nil {
		return lua.RatelimitPauseOut{}, failed("pool "+pool+": pause", err)
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
