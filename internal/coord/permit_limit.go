package coord

import (
	"context"

	"github.com/coxswain-sidecar/coxswain/client/api"
	"github.com/coxswain-sidecar/coxswain/internal/lua"
)

// What the methods of ratelimit do whose params name a pool: the key is a member, and
// the limit is its bucket under the rule that permits of it are acquired by.

// checkMember refuses what the bucket of a member does not have.
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

// memberBucket is the bucket of a member under a rule.
func (p *Permits) memberBucket(pool, id, rule string) (in lua.RatelimitMemberIn, lim MemberLimit, err error) {
	if rule == "" {
		return in, nil, invalid("rule: missing; with pool, name the rule that permits of it are acquired by")
	}
	if lim, err = p.rules.MemberLimit(rule, id); err != nil {
		return in, nil, err
	}
	in = lua.RatelimitMemberIn{
		PoolKeys: p.keys.poolKeys(pool), Buckets: p.keys.memberBuckets(pool, rule), Member: id, Inboxes: p.keys.inboxes(),
	}
	in.Revision, in.Signature = lim.Terms()
	return in, lim, nil
}

// Charge carries out ratelimit.acquire for a member, whoever has it; with peek it only
// looks, as ratelimit.peek.
func (p *Permits) Charge(ctx context.Context, c Caller, q *api.RatelimitParams, peek bool) (api.RatelimitResult, error) {
	if err := checkMember(q.Group, q.Algorithm, q.Limits); err != nil {
		return api.RatelimitResult{}, err
	}
	switch {
	case q.WaitMS != 0:
		return api.RatelimitResult{}, invalid("wait_ms: given together with pool; wait with permit.acquire instead")
	case q.FailMode != "" && FailMode(q.FailMode) != FailClosed:
		return api.RatelimitResult{}, invalid("fail_mode: given together with pool; members have no mode but closed, so leave it out")
	}
	in, lim, err := p.memberBucket(q.Pool, q.Key, q.Rule)
	if err != nil {
		return api.RatelimitResult{}, err
	}
	in.Cost, in.Peek = q.Cost, peek || q.Cost == 0
	out, err := lua.Run(ctx, p.runner, lua.RatelimitMember, in, Latch(in.State, c))
	switch {
	case err != nil:
		return api.RatelimitResult{}, Failed("ratelimit "+q.Rule+": acquire of a member", err)
	case !out.Value.Found:
		return api.RatelimitResult{}, noMember("key")
	}
	return lim.Answer(out.Value.RatelimitAnswer, out.Replayed)
}

// Forget carries out ratelimit.reset for a member.
func (p *Permits) Forget(ctx context.Context, _ Caller, q *api.RatelimitResetParams) (api.RatelimitResetResult, error) {
	if err := checkMember(q.Group, q.Algorithm, q.Limits); err != nil {
		return api.RatelimitResetResult{}, err
	}
	in, _, err := p.memberBucket(q.Pool, q.Key, q.Rule)
	if err != nil {
		return api.RatelimitResetResult{}, err
	}
	in.Reset = true
	out, err := lua.Run(ctx, p.runner, lua.RatelimitMember, in, lua.Latch{})
	switch {
	case err != nil:
		return api.RatelimitResetResult{}, Failed("ratelimit "+q.Rule+": reset of a member", err)
	case !out.Value.Found:
		return api.RatelimitResetResult{}, noMember("key")
	}
	return api.RatelimitResetResult{Reset: out.Value.Admitted()}, nil
}

// Pause carries out ratelimit.pause for a member: it holds up permits of it.
func (p *Permits) Pause(ctx context.Context, _ Caller, q *api.RatelimitPauseParams) (api.RatelimitPauseResult, error) {
	if err := checkMember(q.Group, "", nil); err != nil {
		return api.RatelimitPauseResult{}, err
	}
	if err := checkPause(q); err != nil {
		return api.RatelimitPauseResult{}, err
	}
	in := lua.PoolPauseIn{ForUS: q.ForMS * 1000, UntilUS: q.UntilAtMS * 1000, LongestUS: maxPeriod.Microseconds()}
	out, err := p.pause(ctx, q.Pool, q.Key, in)
	switch {
	case err != nil:
		return api.RatelimitPauseResult{}, err
	case out.UntilUS < 0:
		return api.RatelimitPauseResult{}, errFarPause
	}
	if out.Changed {
		p.leases.tel.Paused(ctx, p.rules.Label(q.Rule), causeManual)
	}
	return api.RatelimitPauseResult{PausedUntilAtMS: instantMS(out.UntilUS)}, nil
}

// Resume carries out ratelimit.resume for a member.
func (p *Permits) Resume(ctx context.Context, _ Caller, q *api.RatelimitResumeParams) (api.RatelimitResumeResult, error) {
	if err := checkMember(q.Group, "", nil); err != nil {
		return api.RatelimitResumeResult{}, err
	}
	out, err := p.pause(ctx, q.Pool, q.Key, lua.PoolPauseIn{Resume: true})
	return api.RatelimitResumeResult{Resumed: out.Changed}, err
}

// Answered carries out ratelimit.report for a member: it is paused for what its remote
// server answered, as Report does with a permit.
func (p *Permits) Answered(ctx context.Context, _ Caller, q *api.RatelimitReportParams) (api.RatelimitReportResult, error) {
	if err := checkMember(q.Group, "", nil); err != nil {
		return api.RatelimitReportResult{}, err
	}
	if q.Grant != "" {
		return api.RatelimitReportResult{}, invalid("grant: given together with pool; a permit is given back by permit.report")
	}
	p.leases.tel.Reported(ctx, p.rules.Label(q.Rule), statusClass(q.Status), Millis(q.LatencyMS))
	d := p.rules.MemberPause(q.Rule, q.Status, Millis(q.RetryAfterMS))
	if d <= 0 {
		return api.RatelimitReportResult{}, nil
	}
	out, err := p.pause(ctx, q.Pool, q.Key, lua.PoolPauseIn{ForUS: d.Microseconds(), LongestUS: maxPeriod.Microseconds()})
	if err != nil {
		return api.RatelimitReportResult{}, err
	}
	if out.Changed {
		p.leases.tel.Paused(ctx, p.rules.Label(q.Rule), causePenalty)
	}
	return api.RatelimitReportResult{WaitMS: ceilMS(out.UntilUS - out.NowUS).Milliseconds(), PausedUntilAtMS: instantMS(out.UntilUS)}, nil
}

func (p *Permits) pause(ctx context.Context, pool, id string, in lua.PoolPauseIn) (lua.RatelimitPauseOut, error) {
	in.PoolKeys, in.Member, in.Inboxes = p.keys.poolKeys(pool), id, p.keys.inboxes()
	out, err := lua.Run(ctx, p.runner, lua.PoolPause, in, lua.Latch{})
	if err != nil {
		return lua.RatelimitPauseOut{}, Failed("pool "+pool+": pause", err)
	}
	if !out.Value.Found {
		return lua.RatelimitPauseOut{}, noMember("key")
	}
	return out.Value.RatelimitPauseOut, nil
}
