// Package seen is sets of keys that were seen: who reserves a key first works on it, and
// commits it or gives it up.
//
// Its invariant: a key is reserved by one token at a time, and no more once it is committed,
// until that lapses.
package seen

import (
	"context"
	"time"

	"github.com/coxswain-sidecar/coxswain/client/api"
	"github.com/coxswain-sidecar/coxswain/internal/coord"
	"github.com/coxswain-sidecar/coxswain/internal/coord/lease"
	"github.com/coxswain-sidecar/coxswain/internal/lua"
)

// noun is the noun of reservations, of losses and metrics.
const noun = "seen"

// ReasonCommitted: what was reserved is done.
const ReasonCommitted = "committed"

// Seen has things done once: who reserves a key does it, and commits.
type Seen struct {
	runner *lua.Runner
	keys   keys
	leases *lease.Leases
}

// New makes the seen noun.
func New(r *lua.Runner, k coord.Keys, l *lease.Leases) *Seen {
	return &Seen{runner: r, keys: keys{k}, leases: l}
}

// Methods are those of the noun.
func (s *Seen) Methods() []coord.Method {
	byKey := coord.Named(noun, "set", "key")
	return []coord.Method{
		coord.On(api.SeenReserve, s.Reserve, coord.Acquires, byKey),
		coord.On(api.SeenCommit, s.Commit, byKey),
		coord.On(api.SeenRelease, s.Release, byKey),
	}
}

// What a key may have been.
const (
	SeenNew      = "new"
	SeenReserved = "reserved"
	SeenDone     = "done"
)

var seenStates = map[Was]string{WasNew: SeenNew, WasReserved: SeenReserved, WasDone: SeenDone}

// reserving is a call of Reserve.
type reserving struct {
	lease.Acquisition[ReserveOut, api.SeenReserveResult]
	seen *Seen
	in   ReserveIn
}

// Reserve takes a key of a set, or says that it is done or under way. A repeated
// request id answers what became of its reservation.
func (s *Seen) Reserve(ctx context.Context, c coord.Caller, p *api.SeenReserveParams) (api.SeenReserveResult, error) {
	if err := lease.CheckBound(c, p.Bind == api.BindSession, "reservation"); err != nil {
		return api.SeenReserveResult{}, err
	}
	x := lease.NewLease(c, noun, seenTag(p.Set, p.Key), "", p.Bind, p.TTLMS, s)
	a := &reserving{seen: s, in: ReserveIn{
		Seen: s.keys.seen(x.Name), Token: x.Token, TTLMS: p.TTLMS, Session: x.SessionID(),
	}}
	once := coord.Latch(a.in.Seen, c)
	// There is no line: who finds the key reserved does something else meanwhile.
	a.Acquisition = lease.Acquisition[ReserveOut, api.SeenReserveResult]{
		Leases: s.leases, Caller: c, Verb: "reserve", Lease: x, Made: true,
		Ask: func(ctx context.Context, _ lease.Place) (lease.Attempt[ReserveOut], error) {
			out, err := lua.Run(ctx, s.runner, ReserveScript, a.in, once)
			return lease.Attempt[ReserveOut]{Outcome: out, Look: lease.Look{Served: out.Value.Reserved}}, err
		},
		Grant: func(ctx context.Context, t lease.Attempt[ReserveOut]) (api.SeenReserveResult, error) {
			return a.reserved(ctx, t.Sent)
		},
		Refuse: func(t lease.Attempt[ReserveOut]) api.SeenReserveResult {
			return api.SeenReserveResult{State: seenStates[t.Value.Was], RetryAfterMS: t.Value.LeftMS}
		},
		Replay: a.replayed,
	}
	return coord.Await(func(done func(api.SeenReserveResult, error)) { lease.Acquire(ctx, &a.Acquisition, done) })
}

// reserved answers a reservation, and has the session hold it if it is to.
func (a *reserving) reserved(ctx context.Context, sent time.Time) (api.SeenReserveResult, error) {
	if err := a.Held(ctx, sent); err != nil {
		return api.SeenReserveResult{}, err
	}
	return api.SeenReserveResult{Reserved: true, State: SeenNew, Token: a.Lease.Token}, nil
}

// replayed answers a request id that reserved before: whether that is alive is
// asked, and from now on it is this session's.
func (a *reserving) replayed(ctx context.Context, _ ReserveOut) (api.SeenReserveResult, error) {
	out, err := lua.Run(ctx, a.seen.runner, RenewScript, RenewIn{
		Seen: a.in.Seen, Token: a.in.Token, Session: a.in.Session, TTLMS: a.in.TTLMS, Move: true,
	}, lua.Latch{})
	if err != nil {
		a.Leases.Unsure(ctx, a.Caller, a.Lease, false, "", err)
		return api.SeenReserveResult{}, coord.Failed("seen "+a.Lease.Name+": replay", err)
	}
	switch out.Value {
	case StateHeld:
		r, err := a.reserved(ctx, out.Sent)
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

// Commit says that what was reserved is done, and has it remembered. It runs on its
// own time. Only the holder of a live reservation commits; repeating it answers the
// same while it is remembered.
func (s *Seen) Commit(ctx context.Context, c coord.Caller, p *api.SeenCommitParams) (api.SeenCommitResult, error) {
	id := lease.ID{Noun: noun, Name: seenTag(p.Set, p.Key), Token: p.Token}
	found, err := lease.Release(ctx, s.leases, c, id, func(ctx context.Context) (State, error) {
		out, err := lua.Run(ctx, s.runner, CommitScript, CommitIn{
			Seen: s.keys.seen(id.Name), Token: p.Token, KeepMS: p.KeepMS,
		}, lua.Latch{})
		return out.Value, err
	})
	switch {
	case err != nil:
		return api.SeenCommitResult{}, err
	case found == StateHeld || found == StateCommitted:
		return api.SeenCommitResult{Committed: true, Reason: ReasonCommitted}, nil
	default:
		return api.SeenCommitResult{Reason: lease.ReasonExpired}, nil
	}
}

// Release gives a reservation up, as Commit ends it.
func (s *Seen) Release(ctx context.Context, c coord.Caller, p *api.SeenReleaseParams) (api.SeenReleaseResult, error) {
	id := lease.ID{Noun: noun, Name: seenTag(p.Set, p.Key), Token: p.Token}
	found, err := lease.Release(ctx, s.leases, c, id, func(ctx context.Context) (State, error) {
		out, err := lua.Run(ctx, s.runner, ReleaseScript, ReleaseIn{Seen: s.keys.seen(id.Name), Token: p.Token}, lua.Latch{})
		return out.Value, err
	})
	switch {
	case err != nil:
		return api.SeenReleaseResult{}, err
	case found == StateHeld || found == StateReleased:
		return api.SeenReleaseResult{Released: true, Reason: lease.ReasonReleased}, nil
	default:
		return api.SeenReleaseResult{Reason: lease.ReasonExpired}, nil
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
