// Package semaphore gives out a bounded number of permits of one name.
//
// Its invariant: the permits that are held at one time are never more than the limit that the
// callers give.
package semaphore

import (
	"context"
	"time"

	"github.com/coxswain-sidecar/coxswain/client/api"
	"github.com/coxswain-sidecar/coxswain/internal/coord"
	"github.com/coxswain-sidecar/coxswain/internal/coord/lease"
	"github.com/coxswain-sidecar/coxswain/internal/lua"
)

// noun is the noun of a semaphore's leases, losses and metrics.
const noun = "semaphore"

// Semaphores is the semaphore noun: at most limit permits of a name are held at once. Each grant is a lease
// of its own. The free permits are the limit less those of the leases that have not ended: there is no separate
// counter that could become wrong.
type Semaphores struct {
	runner *lua.Runner
	keys   keys
	leases *lease.Leases
	lines  *lease.Lines

	acquires acquires
	renews   coord.Halved[api.SemaphoreRenewParams, api.SemaphoreRenewResult]
	releases coord.Halved[api.SemaphoreReleaseParams, api.SemaphoreReleaseResult]
}

type acquires = lease.Acquiring[api.SemaphoreAcquireParams, AcquireOut, api.SemaphoreAcquireResult, semaphoreAcquisition]

// New makes the semaphore noun.
func New(r *lua.Runner, k coord.Keys, l *lease.Leases, n *lease.Lines) *Semaphores {
	s := &Semaphores{runner: r, keys: keys{k}, leases: l, lines: n}
	s.acquires = acquires{
		Open: func(c coord.Caller, p *api.SemaphoreAcquireParams, a *semaphoreAcquisition) error {
			return a.open(s, c, p)
		},
		Of: func(a *semaphoreAcquisition) *lease.Acquisition[AcquireOut, api.SemaphoreAcquireResult] {
			return &a.Acquisition
		},
	}
	s.renews, s.releases = s.renewing().Halved(), s.releasing().Halved()
	return s
}

// Methods returns the methods of the noun.
func (s *Semaphores) Methods() []coord.Method {
	byName := coord.Named(noun, "name")
	return []coord.Method{
		coord.OnParked(api.SemaphoreAcquire, s.AcquireThen, coord.Acquires, coord.Piped, byName, s.acquires.Direct()),
		coord.On(api.SemaphoreRenew, s.Renew, byName, s.renews.Direct),
		coord.On(api.SemaphoreRelease, s.Release, coord.Piped, byName, s.releases.Direct),
		coord.On(api.SemaphoreGet, s.Get, byName),
		coord.On(api.SemaphoreList, s.List),
	}
}

// Acquire acquires permits. A token that already holds permits gets the same grant
// again, even if the call asks for another number.
//
// A call with a repeated request id returns what became of the first grant: if it is still held, it is bound to
// the calling session; if it has ended, no permits are acquired again.
func (s *Semaphores) Acquire(ctx context.Context, c coord.Caller, p *api.SemaphoreAcquireParams) (api.SemaphoreAcquireResult, error) {
	return coord.Await(func(done func(api.SemaphoreAcquireResult, error)) { s.AcquireThen(ctx, c, p, done) })
}

// AcquireThen is Acquire without a blocked goroutine: done is called when the call is
// answered, before AcquireThen returns or later.
func (s *Semaphores) AcquireThen(
	ctx context.Context, c coord.Caller, p *api.SemaphoreAcquireParams, done func(api.SemaphoreAcquireResult, error),
) {
	s.acquires.Then(ctx, c, p, done)
}

// semaphoreAcquisition is a call of Acquire. It implements lease.Terms.
type semaphoreAcquisition struct {
	lease.Acquisition[AcquireOut, api.SemaphoreAcquireResult]
	lease.Uncounted[api.SemaphoreAcquireResult]
	semaphores *Semaphores
	in         AcquireIn
	once       lua.StoredReply
}

func (a *semaphoreAcquisition) open(s *Semaphores, c coord.Caller, p *api.SemaphoreAcquireParams) error {
	err := lease.CheckHeld(c, p.Bind, p.MaxHoldMS, p.Meta, noun)
	if err == nil && p.Permits > p.Limit {
		err = coord.Invalid("permits: %d are not to be had; ask for 1 to %d, which is the limit", p.Permits, p.Limit)
	}
	if err != nil {
		return err
	}
	x := lease.NewLease(c, noun, p.Name, p.Token, p.Bind, p.TTLMS, s)
	a.semaphores, a.in = s, s.input(c, p, x)
	a.once = coord.StoredReply(a.in.Semaphore.Leases, c)
	a.Acquisition = lease.Acquisition[AcquireOut, api.SemaphoreAcquireResult]{
		Leases: s.leases, Lines: s.lines, Caller: c, Verb: "acquire", Lease: x, Made: p.Token == "",
		Line: a.in.LineKeys, Wait: coord.Millis(p.WaitMS), Replicas: int(p.WaitReplicas), Terms: a,
	}
	return nil
}

func (s *Semaphores) input(c coord.Caller, p *api.SemaphoreAcquireParams, x *lease.Lease) AcquireIn {
	id := c.Identity()
	in := AcquireIn{
		Gone: s.keys.semaphoreGone(x.Name, x.Token), Token: x.Token, Limit: p.Limit, Permits: p.Permits,
		TTLMS: p.TTLMS, Session: x.SessionID(), Client: id.Client, Instance: id.Instance, Meta: p.Meta,
		MaxHoldMS: p.MaxHoldMS, Inboxes: s.keys.Inboxes(),
	}
	in.Semaphore, in.LineKeys = s.keys.semaphore(x.Name)
	return in
}

// Ask implements lease.Terms, as do the methods that follow.
func (a *semaphoreAcquisition) Ask(at lease.Place, run *lua.Asked) {
	a.in.Waiter, a.in.HeartbeatMS = at.Waiter, at.Heartbeat.Milliseconds()
	lua.Ask(a.semaphores.runner, AcquireScript, a.in, a.once, lua.Patient, run)
}

// Read reports that the script must run again if more leases have ended than one run removes.
func (a *semaphoreAcquisition) Read(ctx context.Context, run *lua.Asked) (lease.Attempt[AcquireOut], bool, error) {
	out, err := lua.Answer(ctx, a.semaphores.runner, AcquireScript, run)
	v := out.Value
	return lease.Attempt[AcquireOut]{
		Outcome: out, Look: lease.Look{Served: v.Acquired || out.Replayed, First: v.First, Free: untilEnough(v)},
	}, v.More, err
}

func (a *semaphoreAcquisition) Take(x *lease.Lease, v AcquireOut) {
	x.Fence, x.Final, x.Granted = v.Fence, v.Final, coord.Millis(v.TTLMS)
}

func (a *semaphoreAcquisition) Granted(_ context.Context, t lease.Attempt[AcquireOut]) api.SemaphoreAcquireResult {
	v := t.Value
	return api.SemaphoreAcquireResult{
		Acquired: true, Token: a.Lease.Token, Fence: coord.Fence(v.Fence), TTLMS: lease.LeftMS(v.TTLMS, t.Sent), Free: v.Free,
	}
}

func (a *semaphoreAcquisition) Refused(t lease.Attempt[AcquireOut]) api.SemaphoreAcquireResult {
	if t.Served {
		return api.SemaphoreAcquireResult{
			Reason: lease.ReasonReplicas, Free: t.Value.Free + a.in.Permits, RetryAfterMS: lease.PollEvery.Milliseconds(),
		}
	}
	return api.SemaphoreAcquireResult{Reason: lease.ReasonBusy, Free: t.Value.Free, RetryAfterMS: untilEnough(t.Value).Milliseconds()}
}

func (a *semaphoreAcquisition) Waited(r *api.SemaphoreAcquireResult, ms int64) bool {
	r.WaitedMS = ms
	return r.Acquired
}

// untilEnough returns the time until enough TTLs are over, rounded up to milliseconds, or until the call should
// ask again.
func untilEnough(out AcquireOut) time.Duration {
	if out.WaitUS == 0 {
		return lease.PollEvery
	}
	return coord.Millis((out.WaitUS + 999) / 1000)
}

// Replayed answers a repeated request id whose first call was granted permits. The stored reply may be out of date,
// so it looks up the grant itself, by token and fence. A grant that is still held is bound to this session and its
// TTL restarts, both in one step, so that the give-back of the old session finds it moved. The number of free permits
// is the current one.
func (a *semaphoreAcquisition) Replayed(ctx context.Context, was AcquireOut) (api.SemaphoreAcquireResult, error) {
	s, x := a.semaphores, a.Lease
	op := "semaphore " + x.Name + ": replay"
	ask := RenewIn{Semaphore: a.in.Semaphore, Gone: a.in.Gone, Token: x.Token, Fence: was.Fence}
	if x.Session != nil {
		ask.Session, ask.Move, ask.Client, ask.Instance, ask.TTLMS = a.in.Session, true, a.in.Client, a.in.Instance, a.in.TTLMS
	}
	now, err := s.look(ctx, x.Name, 0)
	if err != nil {
		return api.SemaphoreAcquireResult{}, coord.Failed(op, err)
	}
	free := max(0, a.in.Limit-now.Held)
	found, err := lua.Run(ctx, s.runner, RenewScript, ask, lua.StoredReply{})
	if err != nil {
		if x.Session != nil {
			s.leases.Unsure(ctx, a.Caller, x, false, "", err)
		}
		return api.SemaphoreAcquireResult{}, coord.Failed(op, err)
	}
	v := found.Value
	if v.State != Held {
		return api.SemaphoreAcquireResult{Replayed: true, Reason: ended(v.State), Free: free}, nil
	}
	r, err := a.Grant(ctx, lease.Attempt[AcquireOut]{Outcome: lua.Outcome[AcquireOut]{Sent: found.Sent, Value: AcquireOut{
		Fence: v.Fence, TTLMS: v.TTLMS, Final: v.Final, Free: free,
	}}})
	r.Replayed = err == nil
	return r, err
}

// ended returns the reason for a token that holds nothing.
func ended(s State) string {
	if s == Released {
		return lease.ReasonReleased
	}
	return lease.ReasonExpired
}
