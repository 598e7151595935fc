package coord

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/coxswain-sidecar/coxswain/client/api"
	"github.com/coxswain-sidecar/coxswain/internal/lua"
)

// nounPermit is the noun of permits' leases, losses and metrics.
const nounPermit = "permit"

// PermitsOptions are what the noun is made of.
type PermitsOptions struct {
	Runner   *lua.Runner
	Keys     Keys
	Rules    *Rules
	Policies *BreakerPolicies
	Leases   *Leases
	Lines    *Lines
	// Breakers hear of changes of members' breakers. It may be nil.
	Breakers *Breakers
}

// Permits are members of pools that may be used now: pool, breaker and bucket
// decide in one step.
type Permits struct {
	members
	rules    *Rules
	policies *BreakerPolicies
	breakers *Breakers
}

// NewPermits makes the noun.
func NewPermits(o PermitsOptions) *Permits {
	return &Permits{
		members: members{nounPermit, o.Runner, o.Keys, o.Leases, o.Lines},
		rules:   o.Rules, policies: o.Policies, breakers: o.Breakers,
	}
}

// PermitRequest asks for a member that is good for something.
type PermitRequest struct {
	MemberRequest
	// Rule is a token_bucket of which each member has its own; empty = no limit.
	Rule string
	// Breaker is the policy of the members' breakers; empty = they are not asked.
	Breaker string
	Cost    int64
}

// PermitGrant is a member that may be used now, or why there is none.
type PermitGrant struct {
	MemberGrant
	Generation int64 // of its breaker; 0 when that was not asked
	Probe      bool  // its breaker is half open, and this is a probe
	Remaining  int64 // of its bucket, rounded down
}

// Acquire leases the first member in the order of their last use that is free,
// that its breaker lets pass and whose bucket has the cost, and takes all three.
//
// A repeated request id answers what became of its grant, as of a pool.
func (p *Permits) Acquire(ctx context.Context, c Caller, r PermitRequest) (PermitGrant, error) {
	return Await(func(done func(PermitGrant, error)) { p.AcquireThen(ctx, c, r, done) })
}

// AcquireThen is Acquire as that of Locks.
func (p *Permits) AcquireThen(ctx context.Context, c Caller, r PermitRequest, done func(PermitGrant, error)) {
	if err := r.check(c, nounPermit); err != nil {
		done(PermitGrant{}, err)
		return
	}
	terms, text, err := p.terms(r)
	if err != nil {
		done(PermitGrant{}, err)
		return
	}
	var got struct {
		generation, remaining int64
		probe                 bool
	}
	p.acquire(ctx, p.ask(c, r.MemberRequest, r.Rule, r.Breaker, text),
		func(ctx context.Context, ask lua.PoolAcquireIn, once lua.Latch) (lua.PoolAcquireOut, bool, time.Time, error) {
			out, err := lua.Run(ctx, p.runner, lua.PermitAcquire, terms.input(ask), once)
			v := out.Value
			got.generation, got.remaining, got.probe = v.Generation, v.Remaining, v.Probe
			return v.PoolAcquireOut, out.Replayed, out.Sent, err
		}, func(g MemberGrant, err error) {
			all := PermitGrant{MemberGrant: g}
			if err == nil && g.Acquired {
				all.Generation, all.Probe, all.Remaining = got.generation, got.probe, got.remaining
			}
			done(all, err)
		})
}

// permitTerms are those of lua.PermitAcquireIn that are a permit's own.
type permitTerms struct {
	buckets, signature, policy string
	cost, revision             int64
	overrides                  []string // of members, each with its signature after it
}

func (t *permitTerms) input(ask lua.PoolAcquireIn) lua.PermitAcquireIn {
	return lua.PermitAcquireIn{
		PoolAcquireIn: ask, Buckets: t.buckets, Cost: t.cost, Revision: t.revision, Signature: t.signature,
		Overrides: t.overrides, Policy: t.policy,
	}
}

// terms is what a permit asks of members beyond being free. Its text tells apart
// what makes members possible at different times.
func (p *Permits) terms(r PermitRequest) (in *permitTerms, text string, err error) {
	if r.Cost < 0 || r.Cost > maxLimit {
		return in, "", invalid("cost: %d is out of range; use 0 to %d", r.Cost, int64(maxLimit))
	}
	in = &permitTerms{cost: r.Cost, buckets: p.keys.memberBuckets(r.Pool, r.Rule)}
	if r.Rule != "" {
		found, err := p.rules.find(r.Rule)
		if err != nil {
			return in, "", err
		}
		if err := found.forPermits(); err != nil {
			return in, "", err
		}
		if !found.shadow {
			in.revision, in.signature, in.overrides = found.revision, found.signature, found.ofMembers()
		}
	}
	numbers := ""
	if r.Breaker != "" {
		policy, err := p.policy(r.Breaker, r.Pool)
		if err != nil {
			return in, "", err
		}
		in.policy, numbers = policy.text(), policy.numbers
	}
	return in, fmt.Sprintf("%d %d %s %s", in.cost, in.revision, in.signature, numbers), nil
}

// policy finds the policy that a permit names.
func (p *Permits) policy(name, pool string) (BreakerPolicy, error) {
	if err := checkText("breaker", name); err != nil {
		return BreakerPolicy{}, err
	}
	policy, err := p.policies.Find(name, pool)
	var e *Error
	if errors.As(err, &e) {
		// The parameter has another name here.
		text := strings.Replace(e.Err.Error(), "policy: ", "breaker: ", 1)
		return policy, notFound("%s", strings.Replace(text, "leave policy out", "leave breaker out", 1))
	}
	return policy, err
}

// maxMemberOverrides bounds what every acquisition sends along.
const maxMemberOverrides = 100

// forPermits tells whether a rule can be one of members: which one it will be is
// not known before the script runs, so that what the rule says of single keys
// travels along, and has to be a list of them.
func (r *rule) forPermits() error {
	bad := func(has, remedy string) error {
		return invalid("rule: %s %s; %s, or name another rule", r.rule, has, remedy)
	}
	o := r.options
	switch {
	case r.algorithm.name != api.AlgorithmTokenBucket:
		return bad("is a "+r.algorithm.name+", and a permit takes from a token_bucket", "make it one")
	case len(o.Groups) > 0:
		return bad("has groups, and members have buckets of their own", "leave them out")
	case len(o.Allow)+len(o.Deny) > 0:
		return bad("has lists, which permits do not know", "remove or ban the members (pool.remove, pool.ban)")
	case len(o.Overrides) > maxMemberOverrides:
		return bad(fmt.Sprintf("has %d overrides, and at most %d go with a permit", len(o.Overrides), maxMemberOverrides), "make several pools")
	case slices.ContainsFunc(o.Overrides, func(x api.Override) bool { return x.Exact == "" }):
		return bad("has overrides by glob or suffix, and a permit's are of single members", "write exact ones")
	default:
		return nil
	}
}

// ofMembers are those members that have bands of their own, each with its signature
// after it: of several overrides for one the first counts.
func (r *rule) ofMembers() []string {
	var all []string
	had := make(map[string]bool, len(r.options.Overrides))
	for i, x := range r.options.Overrides {
		if !had[x.Exact] {
			had[x.Exact] = true
			all = append(all, x.Exact, r.others[i].signature)
		}
	}
	return all
}
