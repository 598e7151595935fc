package pool

import (
	"context"
	"fmt"
	"time"

	"github.com/coxswain-sidecar/coxswain/client/api"
	"github.com/coxswain-sidecar/coxswain/internal/coord"
	"github.com/coxswain-sidecar/coxswain/internal/coord/lease"
	"github.com/coxswain-sidecar/coxswain/internal/lua"
)

// nounPermit is the noun of permits' leases, losses and metrics.
const nounPermit = "permit"

// MemberRules are the rules as permits use them: each member of a pool has a bucket of
// its own under a rule.
type MemberRules interface {
	// MemberTerms returns the bands that permits under a rule go by. The error says that
	// there is no such rule, or why permits cannot use it.
	MemberTerms(rule string) (coord.MemberTerms, error)
	// MemberLimit returns the limit of one member under a rule, with the same errors.
	MemberLimit(rule, member string) (coord.MemberLimit, error)
	// MemberPause returns for how long an HTTP status pauses a member; 0 = it does not.
	// retryAfter is how long the server asks for: 0 = it does not say, negative = not
	// at all.
	MemberPause(rule string, status int64, retryAfter time.Duration) time.Duration
	// Label is the rule's name for metrics, if it is in force.
	Label(rule string) string
}

// MemberBreakers are the breakers of pools' members, as permits use them.
type MemberBreakers interface {
	// MemberPolicy is a policy as scripts take it, and what tells it from others of
	// its name. The error is NotFound.
	MemberPolicy(name, pool string) (text, terms string, err error)
	// MemberJitter returns a random factor for the time of an opening, in thousandths.
	MemberJitter() int64
	// MemberChanged hears of a breaker that a permit changed.
	MemberChanged(ctx context.Context, pool, member, was, is string)
}

// PermitsOptions are what the noun is made of.
type PermitsOptions struct {
	Runner   *lua.Runner
	Keys     coord.Keys
	Rules    MemberRules
	Breakers MemberBreakers
	Leases   *lease.Leases
	Lines    *lease.Lines
}

// Permits are members of pools that may be used now: pool, breaker and bucket
// decide in one step.
type Permits struct {
	members
	rules    MemberRules
	breakers MemberBreakers

	acquires permitAcquires
	reports  coord.Halved[api.PermitReportParams, api.PermitReportResult]
}

type permitAcquires = lease.Acquiring[api.PermitAcquireParams, PermitAcquireOut, api.PermitAcquireResult, memberAcquisition]

// NewPermits makes the noun.
func NewPermits(o PermitsOptions) *Permits {
	p := &Permits{
		members: newMembers(nounPermit, o.Runner, o.Keys, o.Leases, o.Lines), rules: o.Rules, breakers: o.Breakers,
	}
	p.acquires = permitAcquires{
		Open: p.open,
		Of: func(a *memberAcquisition) *lease.Acquisition[PermitAcquireOut, api.PermitAcquireResult] {
			return &a.Acquisition
		},
	}
	p.reports = p.reporting().Halved()
	return p
}

// Methods are those of the noun. A pool's members are ordered with those that permits
// have of them.
func (p *Permits) Methods() []coord.Method {
	byPool := coord.Named(nounPool, "pool")
	return []coord.Method{
		coord.OnParked(api.PermitAcquire, p.AcquireThen, coord.Acquires, coord.Piped, byPool, p.acquires.Direct()),
		coord.On(api.PermitExplain, p.Explain, byPool),
		coord.On(api.PermitRenew, p.Renew, byPool),
		coord.On(api.PermitReport, p.Report, coord.Piped, byPool, p.reports.Direct),
	}
}

// Acquire leases the first member in the order of their last use that is free,
// that its breaker lets pass and whose bucket has the cost, and takes all three.
//
// A repeated request id answers what became of its grant, as of a pool.
func (p *Permits) Acquire(ctx context.Context, c coord.Caller, q *api.PermitAcquireParams) (api.PermitAcquireResult, error) {
	return coord.Await(func(done func(api.PermitAcquireResult, error)) { p.AcquireThen(ctx, c, q, done) })
}

// AcquireThen is Acquire for a caller that does not block: done is called when the call is
// answered, before AcquireThen returns or later.
func (p *Permits) AcquireThen(ctx context.Context, c coord.Caller, q *api.PermitAcquireParams, done func(api.PermitAcquireResult, error)) {
	p.acquires.Then(ctx, c, q, done)
}

func (p *Permits) open(c coord.Caller, q *api.PermitAcquireParams, a *memberAcquisition) error {
	if err := checkAsked(c, q, nounPermit); err != nil {
		return err
	}
	terms, err := p.terms(q)
	if err != nil {
		return err
	}
	a.open(&p.members, c, q, terms.text(), terms)
	return nil
}

// permitTerms are those of PermitAcquireIn that are a permit's own.
type permitTerms struct {
	runner *lua.Runner
	coord.MemberTerms
	buckets string
	cost    int64
	// policy is that of the breakers for the scripts, numbers what tells it from
	// others of its name; empty = they are not asked.
	policy, numbers string
}

func (t *permitTerms) input(ask AcquireIn) PermitAcquireIn {
	return PermitAcquireIn{
		AcquireIn: ask, Buckets: t.buckets, Cost: t.cost, Revision: t.Revision, Signature: t.Signature,
		Overrides: t.Overrides, Policy: t.policy,
	}
}

func (t *permitTerms) ask(in AcquireIn, once lua.StoredReply, run *lua.Asked) {
	lua.Ask(t.runner, PermitAcquireScript, t.input(in), once, lua.Patient, run)
}

func (t *permitTerms) read(ctx context.Context, run *lua.Asked) (lua.Outcome[PermitAcquireOut], error) {
	return lua.Answer(ctx, t.runner, PermitAcquireScript, run)
}

// text tells apart what makes members possible at different times.
func (t *permitTerms) text() string {
	return fmt.Sprintf("%d %d %s %s", t.cost, t.Revision, t.Signature, t.numbers)
}

// terms are the conditions, beyond being free, that a member has to meet.
func (p *Permits) terms(q *api.PermitAcquireParams) (*permitTerms, error) {
	t := &permitTerms{runner: p.runner, cost: q.Cost, buckets: p.keys.memberBuckets(q.Pool, q.Rule)}
	var err error
	if q.Rule != "" {
		if t.MemberTerms, err = p.rules.MemberTerms(q.Rule); err != nil {
			return nil, err
		}
	}
	if q.Breaker != "" {
		if t.policy, t.numbers, err = p.breakers.MemberPolicy(q.Breaker, q.Pool); err != nil {
			return nil, err
		}
	}
	return t, nil
}

// Renew has a permit, in whatever session, live so long from now on, shorter or
// longer than before. A probe stays out as long.
func (p *Permits) Renew(ctx context.Context, c coord.Caller, q *api.PermitRenewParams) (api.PoolRenewResult, error) {
	return p.renews.Run(ctx, c, (*api.PoolRenewParams)(q))
}
