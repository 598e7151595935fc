package pool

import (
	"cmp"
	"context"
	"fmt"
	"slices"
	"strings"

	"github.com/coxswain-sidecar/coxswain/client/api"
	"github.com/coxswain-sidecar/coxswain/internal/coord"
	"github.com/coxswain-sidecar/coxswain/internal/coord/lease"
	"github.com/coxswain-sidecar/coxswain/internal/lua"
)

// explainedHolders is how many holders of members an explanation names.
const explainedHolders = 20

// Explain tells which member an acquisition would lease, or what keeps each.
func (p *Pools) Explain(ctx context.Context, _ coord.Caller, q *api.PoolExplainParams) (api.PoolExplainResult, error) {
	return p.explain(ctx, &api.PermitExplainParams{Pool: q.Pool, Scope: q.Scope, Exclude: q.Exclude, ID: q.ID}, ExplainIn{})
}

// Explain returns which member a permit would lease, and the reasons that keep the others.
func (p *Permits) Explain(ctx context.Context, _ coord.Caller, q *api.PermitExplainParams) (r api.PoolExplainResult, _ error) {
	t, err := p.terms(&api.PermitAcquireParams{Pool: q.Pool, Rule: q.Rule, Breaker: q.Breaker, Cost: q.Cost})
	if err != nil {
		return r, err
	}
	r, err = p.explain(ctx, q, ExplainIn{
		Permit: true, Buckets: t.buckets, Cost: t.cost, Revision: t.Revision, Signature: t.Signature, Overrides: t.Overrides, Policy: t.policy,
	})
	if err != nil {
		return r, err
	}
	r.Rule, r.Breaker = q.Rule, q.Breaker
	if q.Rule != "" && r.ID != "" {
		lim, err := p.rules.MemberLimit(q.Rule, r.ID)
		if err != nil {
			return r, err
		}
		r.Limits, r.Shadow = lim.Limits()
		for i := 0; i < len(t.Overrides); i += 2 {
			r.Override = r.Override || t.Overrides[i] == r.ID
		}
	}
	return r, nil
}

// explain judges the members of a pool, a page at a time: each counts once, with its state at that moment. For a permit the
// caller sets the terms in in.
func (m *members) explain(ctx context.Context, q *api.PermitExplainParams, in ExplainIn) (r api.PoolExplainResult, _ error) {
	if err := checkExclude(q.Exclude); err != nil {
		return r, err
	}
	in.Pool, in.Used = m.keys.poolKeys(q.Pool), m.keys.used(q.Pool, q.Scope)
	in.LineKeys = m.keys.view(q.Pool, m.noun, [3]string{q.Scope, q.Rule, q.Breaker}, "").LineKeys
	in.Count, in.Member, in.Exclude, in.Most = listAtOnce, q.ID, q.Exclude, explainedHolders
	if in.Buckets == "" {
		in.Buckets = m.keys.memberBuckets(q.Pool, "")
	}
	sum := judged{by: map[string]*ExplainReason{}}
	for {
		out, err := lua.Run(ctx, m.runner, ExplainScript, in, lua.StoredReply{})
		if err != nil {
			return r, coord.Failed(m.noun+" "+q.Pool+": explain", err)
		}
		sum.add(out.Value)
		if in.After = out.Value.Cursor; in.After == 0 {
			break
		}
	}
	if q.ID != "" && sum.Members == 0 && !slices.Contains(q.Exclude, q.ID) {
		return r, noMember("id")
	}
	r = sum.result()
	r.Text = explained(m.noun, q, r)
	return r, nil
}

// judged adds up the results of several pages.
type judged struct {
	ExplainOut
	by map[string]*ExplainReason
}

func (j *judged) add(page ExplainOut) {
	if page.Free > 0 && (j.Free == 0 || page.LastUS < j.LastUS || page.LastUS == j.LastUS && page.ID < j.ID) {
		j.ID, j.LastUS = page.ID, page.LastUS
	}
	j.Members, j.Free = j.Members+page.Members, j.Free+page.Free
	j.Holders = firstToEnd(append(j.Holders, page.Holders...), explainedHolders)
	j.Waiting, j.Standing = page.Waiting, page.Standing
	for _, x := range page.Reasons {
		was, ok := j.by[x.Reason]
		if !ok {
			j.by[x.Reason] = &x
			continue
		}
		was.Members += x.Members
		if sooner(x.AfterUS, was.AfterUS) < 0 {
			was.ID, was.AfterUS = x.ID, x.AfterUS
		}
	}
}

// sooner compares two waits of a script; -1 has no end.
func sooner(a, b int64) int { return cmp.Compare(uint64(a), uint64(b)) }

func (j *judged) result() api.PoolExplainResult {
	r := api.PoolExplainResult{
		ID: j.ID, Members: j.Members, Free: j.Free, Holders: holders(j.Holders), Waiting: j.Waiting, Line: lease.ExplainLine(j.Standing),
	}
	var reasons []*ExplainReason
	for _, x := range j.by {
		reasons = append(reasons, x)
	}
	slices.SortFunc(reasons, func(a, b *ExplainReason) int {
		return cmp.Or(sooner(a.AfterUS, b.AfterUS), strings.Compare(a.Reason, b.Reason))
	})
	for _, x := range reasons {
		r.Reasons = append(r.Reasons, api.ExplainReason{Reason: x.Reason, Members: x.Members, ID: x.ID, AfterMS: coord.WaitMS(x.AfterUS)})
	}
	switch {
	case lease.Taken(j.Standing):
		r.Decision, r.RetryAfterMS = lease.ReasonBusy, lease.PollEvery.Milliseconds()
	case r.Free > 0:
		r.Decision = api.ExplainAcquired
	case len(r.Reasons) > 0:
		r.Decision, r.RetryAfterMS = r.Reasons[0].Reason, r.Reasons[0].AfterMS
	default:
		r.Decision, r.RetryAfterMS = reasonEmpty, -1
	}
	if r.ID == "" && len(r.Reasons) > 0 {
		r.ID = r.Reasons[0].ID
	}
	return r
}

// reasonEmpty: there are no members, or only excluded ones.
const reasonEmpty = "empty"

// kept has the words for members that are not available, by reason.
var kept = map[string]string{
	lease.ReasonBusy: "leased", "cooling": "cooling down", "banned": "banned", "open": "behind an open breaker",
	"limit": "out of tokens", "pause": "paused",
}

// explained describes an acquisition in one sentence.
func explained(noun string, q *api.PermitExplainParams, r api.PoolExplainResult) string {
	of := "pool " + q.Pool
	if noun == nounPermit {
		of = "a permit of " + of
	}
	if q.Scope != "" {
		of += " in scope " + q.Scope
	}
	if q.ID != "" {
		of = "member " + q.ID + " of " + of
	}
	var why []string
	for _, x := range r.Reasons {
		why = append(why, fmt.Sprintf("%d %s", x.Members, kept[x.Reason]))
	}
	because := fmt.Sprintf("of %d members %s", r.Members, strings.Join(append([]string{fmt.Sprintf("%d free", r.Free)}, why...), ", "))
	switch {
	case r.Decision == api.ExplainAcquired:
		return fmt.Sprintf("%s: a call would get member %s; %s", of, r.ID, because)
	case r.Members == 0:
		return of + ": there is no member to be had; pool.put adds some"
	case r.Free > 0:
		return fmt.Sprintf("%s: calls ahead in the waiting line: %d; %s", of, r.Waiting, because)
	case r.Reasons[0].AfterMS < 0:
		return fmt.Sprintf("%s: no member may be had, and no time changes that; %s", of, because)
	default:
		return fmt.Sprintf("%s: no member may be had; the soonest is %s, in %v; %s; %d waiting in line",
			of, r.ID, coord.Millis(r.Reasons[0].AfterMS), because, r.Waiting)
	}
}
