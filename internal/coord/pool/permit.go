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

// nounPermit is the noun of the leases, losses and metrics of permits.
const nounPermit = "permit"

// MemberRules are the rules that permits use: each member of a pool has a bucket of
// its own under a rule.
type MemberRules interface {
	// MemberTerms returns the bands of permits under a rule. It returns an error if there is
	// no such rule, or permits cannot use it.
	MemberTerms(rule string) (coord.MemberTerms, error)
	// MemberLimit returns the limit of one member under a rule, with the same errors.
	MemberLimit(rule, member string) (coord.MemberLimit, error)
	// MemberPause returns for how long an HTTP status pauses a member; 0 = it does not.
	// retryAfter is how long the server asks clients to wait: 0 = it gave no time, negative = it asks for
	// no wait.
	MemberPause(rule string, status int64, retryAfter time.Duration) time.Duration
	// Label returns the rule's name for metrics, if the rule is in force.
	Label(rule string) string
}

// MemberBreakers are the breakers of pool members that permits use.
type MemberBreakers interface {
	// MemberPolicy returns a policy in the form of scripts, and what distinguishes it from others of
	// its name. The error is NotFound.
	MemberPolicy(name, pool string) (text, terms string, err error)
	// MemberJitter returns a random factor for the time of an opening, in thousandths.
	MemberJitter() int64
	// MemberChanged is called after a permit changed the state of a breaker.
	MemberChanged(ctx context.Context, pool, member, was, is string)
}

// PermitsOptions are the arguments of NewPermits.
type PermitsOptions struct {
	Runner   *lua.Runner
	Keys     coord.Keys
	Rules    MemberRules
	Breakers MemberBreakers
	Leases   *lease.Leases
	Lines    *lease.Lines
}

// Permits is the permit noun: members of pools that may be used now. Pool, breaker and bucket
// decide in one script.
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

// Methods returns the methods of the noun. Their calls on a connection keep their order together with those of the pool
// noun that name the same pool.
func (p *Permits) Methods() []coord.Method {
	byPool := coord.Named(nounPool, "pool")
	return []coord.Method{
		coord.OnParked(api.PermitAcquire, p.AcquireThen, coord.Acquires, coord.Piped, byPool, p.acquires.Direct()),
		coord.On(api.PermitExplain, p.Explain, byPool),
		coord.On(api.PermitRenew, p.Renew, byPool),
		coord.On(api.PermitReport, p.Report, coord.Piped, byPool, p.reports.Direct),
	}
}

// Acquire leases the least recently used member that is free, whose breaker allows a call and whose
// bucket has the cost. It takes the member, a probe if the breaker is half open, and the cost.
//
// A call with a repeated request id returns what became of the first grant, as for a pool.
func (p *Permits) Acquire(ctx context.Context, c coord.Caller, q *api.PermitAcquireParams) (api.PermitAcquireResult, error) {
	return coord.Await(func(done func(api.PermitAcquireResult, error)) { p.AcquireThen(ctx, c, q, done) })
}

// AcquireThen is Acquire without a blocked goroutine: done is called when the call is
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

// permitTerms are the fields of PermitAcquireIn that only permits have.
type permitTerms struct {
	runner *lua.Runner
	coord.MemberTerms
	buckets string
	cost    int64
	// policy is the breakers' policy for the scripts, numbers what distinguishes it from
	// others of its name; empty = breakers are not used.
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

// text identifies the terms on which it depends when a member is available.
func (t *permitTerms) text() string {
	return fmt.Sprintf("%d %d %s %s", t.cost, t.Revision, t.Signature, t.numbers)
}

// terms returns the conditions, beyond being free, that a member has to meet.
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

// Renew sets the time that a permit has left, which may shorten it. The permit may be bound to any session. Its probe
// lasts as long.
func (p *Permits) Renew(ctx context.Context, c coord.Caller, q *api.PermitRenewParams) (api.PoolRenewResult, error) {
	return p.renews.Run(ctx, c, (*api.PoolRenewParams)(q))
}
