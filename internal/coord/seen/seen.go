// Package seen implements sets of keys that were processed: the first caller that reserves a key
// processes it, and then commits or releases the reservation.
//
// Invariant: a key is reserved by one token at a time, and by none while it is committed, until the
// commit expires.
package seen

import (
	"context"

	"github.com/coxswain-sidecar/coxswain/client/api"
	"github.com/coxswain-sidecar/coxswain/internal/coord"
	"github.com/coxswain-sidecar/coxswain/internal/coord/lease"
	"github.com/coxswain-sidecar/coxswain/internal/lua"
)

// noun names reservations in leases, lost-lease events and metrics.
const noun = "seen"

// ReasonCommitted is the reason if the key was committed.
const ReasonCommitted = "committed"

// Seen reserves and commits keys, so that each is processed once.
type Seen struct {
	runner *lua.Runner
	keys   keys
	leases *lease.Leases

	reserves reserves
	commits  coord.Halved[api.SeenCommitParams, api.SeenCommitResult]
	releases coord.Halved[api.SeenReleaseParams, api.SeenReleaseResult]
}

type reserves = lease.Acquiring[api.SeenReserveParams, ReserveOut, api.SeenReserveResult, reserving]

// New makes the seen noun.
func New(r *lua.Runner, k coord.Keys, l *lease.Leases) *Seen {
	s := &Seen{runner: r, keys: keys{k}, leases: l}
	s.reserves = reserves{
		Open: func(c coord.Caller, p *api.SeenReserveParams, a *reserving) error { return a.open(s, c, p) },
		Of:   func(a *reserving) *lease.Acquisition[ReserveOut, api.SeenReserveResult] { return &a.Acquisition },
	}
	s.commits, s.releases = s.committing().Halved(), s.releasing().Halved()
	return s
}

// Methods lists the methods of the noun.
func (s *Seen) Methods() []coord.Method {
	byKey := coord.Named(noun, "set", "key")
	return []coord.Method{
		coord.On(api.SeenReserve, s.Reserve, coord.Acquires, byKey, s.reserves.Direct()),
		coord.On(api.SeenCommit, s.Commit, byKey, s.commits.Direct),
		coord.On(api.SeenRelease, s.Release, byKey, s.releases.Direct),
	}
}

// The states of a key before a call of Reserve.
const (
	SeenNew      = "new"
	SeenReserved = "reserved"
	SeenDone     = "done"
)

var seenStates = map[Was]string{WasNew: SeenNew, WasReserved: SeenReserved, WasDone: SeenDone}

// Reserve reserves a key of a set, or returns that it is reserved or done. For a repeated request id
// it returns the present state of that call's reservation.
func (s *Seen) Reserve(ctx context.Context, c coord.Caller, p *api.SeenReserveParams) (api.SeenReserveResult, error) {
	return coord.Await(func(done func(api.SeenReserveResult, error)) { s.reserves.Then(ctx, c, p, done) })
}

// reserving is a call of Reserve. It implements lease.Terms.
type reserving struct {
	lease.Acquisition[ReserveOut, api.SeenReserveResult]
	lease.Uncounted[api.SeenReserveResult]
	seen *Seen
	in   ReserveIn
	once lua.StoredReply
}

func (a *reserving) open(s *Seen, c coord.Caller, p *api.SeenReserveParams) error {
	if err := lease.CheckBound(c, p.Bind == api.BindSession, "reservation"); err != nil {
		return err
	}
	x := lease.NewLease(c, noun, seenTag(p.Set, p.Key), "", p.Bind, p.TTLMS, s)
	a.seen, a.in = s, ReserveIn{Seen: s.keys.seen(x.Name), Token: x.Token, TTLMS: p.TTLMS, Session: x.SessionID()}
	a.once = coord.StoredReply(a.in.Seen, c)
	// There is no waiting line: a caller that finds the key reserved goes on with another key.
	a.Acquisition = lease.Acquisition[ReserveOut, api.SeenReserveResult]{
		Leases: s.leases, Caller: c, Verb: "reserve", Lease: x, Made: true, Terms: a,
	}
	return nil
}

// Ask implements lease.Terms, as the methods that follow do.
func (a *reserving) Ask(_ lease.Place, run *lua.Asked) {
	lua.Ask(a.seen.runner, ReserveScript, a.in, a.once, lua.Patient, run)
}

func (a *reserving) Read(ctx context.Context, run *lua.Asked) (lease.Attempt[ReserveOut], bool, error) {
	out, err := lua.Answer(ctx, a.seen.runner, ReserveScript, run)
	return lease.Attempt[ReserveOut]{Outcome: out, Look: lease.Look{Served: out.Value.Reserved}}, false, err
}

func (a *reserving) Take(*lease.Lease, ReserveOut) {}

func (a *reserving) Granted(context.Context, lease.Attempt[ReserveOut]) api.SeenReserveResult {
	return api.SeenReserveResult{Reserved: true, State: SeenNew, Token: a.Lease.Token}
}

func (a *reserving) Refused(t lease.Attempt[ReserveOut]) api.SeenReserveResult {
	return api.SeenReserveResult{State: seenStates[t.Value.Was], RetryAfterMS: t.Value.LeftMS}
}

func (a *reserving) Waited(r *api.SeenReserveResult, _ int64) bool { return r.Reserved }

// Replayed answers a repeated request id that reserved the key before. It asks Redis whether that
// reservation still exists, and moves it to this call's session.
func (a *reserving) Replayed(ctx context.Context, _ ReserveOut) (api.SeenReserveResult, error) {
	out, err := lua.Run(ctx, a.seen.runner, RenewScript, RenewIn{
		Seen: a.in.Seen, Token: a.in.Token, Session: a.in.Session, TTLMS: a.in.TTLMS, Move: true,
	}, lua.StoredReply{})
	if err != nil {
		a.Leases.Unsure(ctx, a.Caller, a.Lease, false, "", err)
		return api.SeenReserveResult{}, coord.Failed("seen "+a.Lease.Name+": replay", err)
	}
	switch out.Value {
	case StateHeld:
		r, err := a.Grant(ctx, lease.Attempt[ReserveOut]{Outcome: lua.Outcome[ReserveOut]{Sent: out.Sent}})
		r.Replayed = err == nil
		return r, err
	case StateCommitted:
		return api.SeenReserveResult{State: SeenDone, Replayed: true, Reason: lease.ReasonReleased}, nil
	case StateReleased:
		return api.SeenReserveResult{State: SeenNew, Replayed: true, Reason: lease.ReasonReleased}, nil
	default:
		return api.SeenReserveResult{State: SeenNew, Replayed: true, Reason: lease.ReasonExpired}, nil
	}
}

// Commit marks a reserved key as done for keep_ms. The end of the call's connection does not end it.
// Only the holder of a reservation can commit; a repeated commit returns the same as long as the state
// is kept.
func (s *Seen) Commit(ctx context.Context, c coord.Caller, p *api.SeenCommitParams) (api.SeenCommitResult, error) {
	return s.commits.Run(ctx, c, p)
}

func (s *Seen) committing() lease.Giving[api.SeenCommitParams, CommitIn, State, api.SeenCommitResult, struct{}] {
	return lease.Giving[api.SeenCommitParams, CommitIn, State, api.SeenCommitResult, struct{}]{
		Verb: "commit", Leases: s.leases, Runner: s.runner, Script: CommitScript,
		Ask: func(_ coord.Caller, p *api.SeenCommitParams, _ *struct{}) (lease.ID, coord.Question[CommitIn], error) {
			id := lease.ID{Noun: noun, Name: seenTag(p.Set, p.Key), Token: p.Token}
			return id, coord.Question[CommitIn]{In: CommitIn{Seen: s.keys.seen(id.Name), Token: p.Token, KeepMS: p.KeepMS}}, nil
		},
		Answer: func(_ context.Context, _ *struct{}, found lua.Outcome[State]) (api.SeenCommitResult, coord.Rest[api.SeenCommitResult]) {
			if found.Value == StateHeld || found.Value == StateCommitted {
				return api.SeenCommitResult{Committed: true, Reason: ReasonCommitted}, nil
			}
			return api.SeenCommitResult{Reason: lease.ReasonExpired}, nil
		},
	}
}

// Release ends a reservation without a commit; it runs as Commit does.
func (s *Seen) Release(ctx context.Context, c coord.Caller, p *api.SeenReleaseParams) (api.SeenReleaseResult, error) {
	return s.releases.Run(ctx, c, p)
}

func (s *Seen) releasing() lease.Giving[api.SeenReleaseParams, ReleaseIn, State, api.SeenReleaseResult, struct{}] {
	return lease.Giving[api.SeenReleaseParams, ReleaseIn, State, api.SeenReleaseResult, struct{}]{
		Verb: "release", Leases: s.leases, Runner: s.runner, Script: ReleaseScript,
		Ask: func(_ coord.Caller, p *api.SeenReleaseParams, _ *struct{}) (lease.ID, coord.Question[ReleaseIn], error) {
			id := lease.ID{Noun: noun, Name: seenTag(p.Set, p.Key), Token: p.Token}
			return id, coord.Question[ReleaseIn]{In: ReleaseIn{Seen: s.keys.seen(id.Name), Token: p.Token}}, nil
		},
		Answer: func(_ context.Context, _ *struct{}, found lua.Outcome[State]) (api.SeenReleaseResult, coord.Rest[api.SeenReleaseResult]) {
			if found.Value == StateHeld || found.Value == StateReleased {
				return api.SeenReleaseResult{Released: true, Reason: lease.ReasonReleased}, nil
			}
			return api.SeenReleaseResult{Reason: lease.ReasonExpired}, nil
		},
	}
}

// RenewHeld implements Kind.
func (s *Seen) RenewHeld(ctx context.Context, due []lease.Hold) []lease.Renewal {
	return lease.RenewBy(ctx, s.runner, RenewScript, due, func(h lease.Hold) RenewIn {
		return RenewIn{Seen: s.keys.seen(h.Name), Token: h.Token, Session: h.Session, TTLMS: h.TTL.Milliseconds()}
	}, func(state State) lease.Renewal {
		switch state {
		case StateHeld:
			return lease.Renewal{Held: true}
		case StateMoved:
			return lease.Renewal{Moved: true}
		default:
			return lease.Renewal{Reason: lease.ReasonExpired}
		}
	})
}

// GiveBackHeld implements Kind.
func (s *Seen) GiveBackHeld(ctx context.Context, gone []lease.Hold) []error {
	return lease.GiveBackBy(ctx, s.runner, ReleaseScript, gone, func(h lease.Hold) ReleaseIn {
		return ReleaseIn{Seen: s.keys.seen(h.Name), Token: h.Token, Session: h.Session}
	})
}
