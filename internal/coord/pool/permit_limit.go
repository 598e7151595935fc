package pool

import (
	"context"

	"github.com/coxswain-sidecar/coxswain/client/api"
	"github.com/coxswain-sidecar/coxswain/internal/coord"
	"github.com/coxswain-sidecar/coxswain/internal/lua"
)

// The methods of ratelimit for calls whose params name a pool. Their key is a member, and
// their limit is the member's bucket under a rule, which permits charge too.

// checkMember returns an error for params that are not possible for the bucket of a member.
func checkMember(group, algorithm string, limits []api.Band) error {
	switch {
	case group != "":
		return coord.Invalid("group: given together with pool; a member counts for itself, so leave it out")
	case algorithm != "" || len(limits) > 0:
		return coord.Invalid("pool: given together with algorithm or limits; name the rule that permits of it are acquired by")
	default:
		return nil
	}
}

// memberBucket returns the bucket of a member under a rule.
func (p *Permits) memberBucket(pool, id, rule string) (in RatelimitMemberIn, lim coord.MemberLimit, err error) {
	if rule == "" {
		return in, nil, coord.Invalid("rule: missing; with pool, name the rule that permits of it are acquired by")
	}
	if lim, err = p.rules.MemberLimit(rule, id); err != nil {
		return in, nil, err
	}
	in = RatelimitMemberIn{
		Pool: p.keys.poolKeys(pool), Buckets: p.keys.memberBuckets(pool, rule), Member: id, Inboxes: p.keys.Inboxes(),
	}
	in.Revision, in.Signature = lim.Terms()
	return in, lim, nil
}

// Charge carries out ratelimit.acquire for a member, leased or not; with peek it carries out
// ratelimit.peek and charges nothing.
func (p *Permits) Charge(ctx context.Context, c coord.Caller, q *api.RatelimitParams, peek bool) (api.RatelimitResult, error) {
	if err := checkMember(q.Group, q.Algorithm, q.Limits); err != nil {
		return api.RatelimitResult{}, err
	}
	switch {
	case q.WaitMS != 0:
		return api.RatelimitResult{}, coord.Invalid("wait_ms: given together with pool; wait with permit.acquire instead")
	case q.FailMode != "" && coord.FailMode(q.FailMode) != coord.FailClosed:
		return api.RatelimitResult{}, coord.Invalid("fail_mode: given together with pool; members have no mode but closed, so leave it out")
	}
	in, lim, err := p.memberBucket(q.Pool, q.Key, q.Rule)
	if err != nil {
		return api.RatelimitResult{}, err
	}
	in.Cost, in.Peek = q.Cost, peek || q.Cost == 0
	out, err := lua.Run(ctx, p.runner, RatelimitMemberScript, in, coord.StoredReply(in.Pool.State, c))
	switch {
	case err != nil:
		return api.RatelimitResult{}, coord.Failed("ratelimit "+q.Rule+": acquire of a member", err)
	case !out.Value.Found:
		return api.RatelimitResult{}, noMember("key")
	}
	return lim.Answer(out.Value.LimitAnswer, out.Replayed)
}

// Forget carries out ratelimit.reset for a member.
func (p *Permits) Forget(ctx context.Context, _ coord.Caller, q *api.RatelimitResetParams) (api.RatelimitResetResult, error) {
	if err := checkMember(q.Group, q.Algorithm, q.Limits); err != nil {
		return api.RatelimitResetResult{}, err
	}
	in, _, err := p.memberBucket(q.Pool, q.Key, q.Rule)
	if err != nil {
		return api.RatelimitResetResult{}, err
	}
	in.Reset = true
	out, err := lua.Run(ctx, p.runner, RatelimitMemberScript, in, lua.StoredReply{})
	switch {
	case err != nil:
		return api.RatelimitResetResult{}, coord.Failed("ratelimit "+q.Rule+": reset of a member", err)
	case !out.Value.Found:
		return api.RatelimitResetResult{}, noMember("key")
	}
	return api.RatelimitResetResult{Reset: out.Value.Admitted()}, nil
}

// Pause carries out ratelimit.pause for a member: no permits of it are given out meanwhile.
func (p *Permits) Pause(ctx context.Context, _ coord.Caller, q *api.RatelimitPauseParams) (api.RatelimitPauseResult, error) {
	if err := checkMember(q.Group, "", nil); err != nil {
		return api.RatelimitPauseResult{}, err
	}
	if err := coord.CheckPause(q); err != nil {
		return api.RatelimitPauseResult{}, err
	}
	in := PauseIn{ForUS: q.ForMS * 1000, UntilUS: q.UntilAtMS * 1000, LongestUS: coord.MaxPeriod.Microseconds()}
	out, err := p.pause(ctx, q.Pool, q.Key, in)
	switch {
	case err != nil:
		return api.RatelimitPauseResult{}, err
	case out.UntilUS < 0:
		return api.RatelimitPauseResult{}, coord.ErrFarPause
	}
	if out.Changed {
		p.leases.Tel.Paused(ctx, p.rules.Label(q.Rule), coord.CauseManual)
	}
	return api.RatelimitPauseResult{PausedUntilAtMS: coord.InstantMS(out.UntilUS)}, nil
}

// Resume carries out ratelimit.resume for a member.
func (p *Permits) Resume(ctx context.Context, _ coord.Caller, q *api.RatelimitResumeParams) (api.RatelimitResumeResult, error) {
	if err := checkMember(q.Group, "", nil); err != nil {
		return api.RatelimitResumeResult{}, err
	}
	out, err := p.pause(ctx, q.Pool, q.Key, PauseIn{Resume: true})
	return api.RatelimitResumeResult{Resumed: out.Changed}, err
}

// Answered carries out ratelimit.report for a member: it pauses the member as the answer of its remote
// server requires, as Report does for a permit.
func (p *Permits) Answered(ctx context.Context, _ coord.Caller, q *api.RatelimitReportParams) (api.RatelimitReportResult, error) {
	if err := checkMember(q.Group, "", nil); err != nil {
		return api.RatelimitReportResult{}, err
	}
	if q.Grant != "" {
		return api.RatelimitReportResult{}, coord.Invalid("grant: given together with pool; a permit is given back by permit.report")
	}
	p.leases.Tel.Reported(ctx, p.rules.Label(q.Rule), coord.StatusClass(q.Status), coord.Millis(q.LatencyMS))
	d := p.rules.MemberPause(q.Rule, q.Status, coord.Millis(q.RetryAfterMS))
	if d <= 0 {
		return api.RatelimitReportResult{}, nil
	}
	out, err := p.pause(ctx, q.Pool, q.Key, PauseIn{ForUS: d.Microseconds(), LongestUS: coord.MaxPeriod.Microseconds()})
	if err != nil {
		return api.RatelimitReportResult{}, err
	}
	if out.Changed {
		p.leases.Tel.Paused(ctx, p.rules.Label(q.Rule), coord.CausePenalty)
	}
	return api.RatelimitReportResult{WaitMS: coord.CeilMS(out.UntilUS - out.NowUS).Milliseconds(), PausedUntilAtMS: coord.InstantMS(out.UntilUS)}, nil
}

func (p *Permits) pause(ctx context.Context, pool, id string, in PauseIn) (coord.PauseOut, error) {
	in.Pool, in.Member, in.Inboxes = p.keys.poolKeys(pool), id, p.keys.Inboxes()
	out, err := lua.Run(ctx, p.runner, PauseScript, in, lua.StoredReply{})
	if err != nil {
		return coord.PauseOut{}, coord.Failed("pool "+pool+": pause", err)
	}
	if !out.Value.Found {
		return coord.PauseOut{}, noMember("key")
	}
	return out.Value.PauseOut, nil
}
