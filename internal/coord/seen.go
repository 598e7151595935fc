package coord

import (
	"context"
	"time"

	"github.com/coxswain-sidecar/coxswain/client/api"
	"github.com/coxswain-sidecar/coxswain/internal/lua"
)

// nounSeen is the noun of reservations, of losses and metrics.
const nounSeen = "seen"

// ReasonCommitted: what was reserved is done.
const ReasonCommitted = "committed"

// Seen has things done once: who reserves a key does it, and commits.
type Seen struct {
	runner *lua.Runner
	keys   seenKeys
	leases *Leases
}

// NewSeen makes the seen noun.
func NewSeen(r *lua.Runner, k Keys, l *Leases) *Seen {
	return &Seen{runner: r, keys: seenKeys{k}, leases: l}
}

// Methods are those of the noun.
func (s *Seen) Methods() []Method {
	byKey := Named(nounSeen, "set", "key")
	return []Method{
		On(api.SeenReserve, s.Reserve, Acquires, byKey),
		On(api.SeenCommit, s.Commit, byKey),
		On(api.SeenRelease, s.Release, byKey),
	}
}

// What a key may have been.
const (
	SeenNew      = "new"
	SeenReserved = "reserved"
	SeenDone     = "done"
)

var seenStates = map[lua.SeenWas]string{lua.SeenNew: SeenNew, lua.SeenReserved: SeenReserved, lua.SeenDone: SeenDone}

// reserving is a call of Reserve.
type reserving struct {
	acquisition[lua.SeenReserveOut, api.SeenReserveResult]
	seen *Seen
	in   lua.SeenReserveIn
}

// Reserve takes a key of a set, or says that it is done or under way. A repeated
// request id answers what became of its reservation.
func (s *Seen) Reserve(ctx context.Context, c Caller, p *api.SeenReserveParams) (api.SeenReserveResult, error) {
	if err := checkBound(c, p.Bind == api.BindSession, "reservation"); err != nil {
		return api.SeenReserveResult{}, err
	}
	x := newLease(c, nounSeen, seenTag(p.Set, p.Key), "", p.Bind, p.TTLMS, s)
	a := &reserving{seen: s, in: lua.SeenReserveIn{
		Seen: s.keys.seen(x.name), Token: x.token, TTLMS: p.TTLMS, Session: x.sessionID(),
	}}
	once := Latch(a.in.Seen, c)
	// There is no line: who finds the key reserved does something else meanwhile.
	a.acquisition = acquisition[lua.SeenReserveOut, api.SeenReserveResult]{
		leases: s.leases, caller: c, verb: "reserve", lease: x, made: true,
		ask: func(ctx context.Context, _ place) (attempt[lua.SeenReserveOut], error) {
			out, err := lua.Run(ctx, s.runner, lua.SeenReserve, a.in, once)
			return attempt[lua.SeenReserveOut]{Outcome: out, look: look{served: out.Value.Reserved}}, err
		},
		grant: func(ctx context.Context, t attempt[lua.SeenReserveOut]) (api.SeenReserveResult, error) {
			return a.reserved(ctx, t.Sent)
		},
		refuse: func(t attempt[lua.SeenReserveOut]) api.SeenReserveResult {
			return api.SeenReserveResult{State: seenStates[t.Value.Was], RetryAfterMS: t.Value.LeftMS}
		},
		replay: a.replayed,
	}
	return Await(func(done func(api.SeenReserveResult, error)) { acquire(ctx, &a.acquisition, done) })
}

// reserved answers a reservation, and has the session hold it if it is to.
func (a *reserving) reserved(ctx context.Context, sent time.Time) (api.SeenReserveResult, error) {
	if err := a.held(ctx, sent); err != nil {
		return api.SeenReserveResult{}, err
	}
	return api.SeenReserveResult{Reserved: true, State: SeenNew, Token: a.lease.token}, nil
}

// replayed answers a request id that reserved before: whether that is alive is
// asked, and from now on it is this session's.
func (a *reserving) replayed(ctx context.Context, _ lua.SeenReserveOut) (api.SeenReserveResult, error) {
	out, err := lua.Run(ctx, a.seen.runner, lua.SeenRenew, lua.SeenRenewIn{
		Seen: a.in.Seen, Token: a.in.Token, Session: a.in.Session, TTLMS: a.in.TTLMS, Move: true,
	}, lua.Latch{})
	if err != nil {
		a.leases.unsure(ctx, a.caller, a.lease, false, "", err)
		return api.SeenReserveResult{}, Failed("seen "+a.lease.name+": replay", err)
	}
	switch out.Value {
	case lua.SeenHeld:
		r, err := a.reserved(ctx, out.Sent)
		r.Replayed = err == nil
		return r, err
	case lua.SeenCommitted:
		return api.SeenReserveResult{State: SeenDone, Replayed: true, Reason: ReasonReleased}, nil
	case lua.SeenReleased:
		return api.SeenReserveResult{State: SeenNew, Replayed: true, Reason: ReasonReleased}, nil
	default:
		return api.SeenReserveResult{State: SeenNew, Replayed: true, Reason: ReasonExpired}, nil
	}
}

// Commit says that what was reserved is done, and has it remembered. It runs on its
// own time. Only the holder of a live reservation commits; repeating it answers the
// same while it is remembered.
func (s *Seen) Commit(ctx context.Context, c Caller, p *api.SeenCommitParams) (api.SeenCommitResult, error) {
	id := leaseID{nounSeen, seenTag(p.Set, p.Key), p.Token}
	found, err := release(ctx, s.leases, c, id, func(ctx context.Context) (lua.SeenState, error) {
		out, err := lua.Run(ctx, s.runner, lua.SeenCommit, lua.SeenCommitIn{
			Seen: s.keys.seen(id.name), Token: p.Token, KeepMS: p.KeepMS,
		}, lua.Latch{})
		return out.Value, err
	})
	switch {
	case err != nil:
		return api.SeenCommitResult{}, err
	case found == lua.SeenHeld || found == lua.SeenCommitted:
		return api.SeenCommitResult{Committed: true, Reason: ReasonCommitted}, nil
	default:
		return api.SeenCommitResult{Reason: ReasonExpired}, nil
	}
}

// Release gives a reservation up, as Commit ends it.
func (s *Seen) Release(ctx context.Context, c Caller, p *api.SeenReleaseParams) (api.SeenReleaseResult, error) {
	id := leaseID{nounSeen, seenTag(p.Set, p.Key), p.Token}
	found, err := release(ctx, s.leases, c, id, func(ctx context.Context) (lua.SeenState, error) {
		out, err := lua.Run(ctx, s.runner, lua.SeenRelease, lua.SeenReleaseIn{Seen: s.keys.seen(id.name), Token: p.Token}, lua.Latch{})
		return out.Value, err
	})
	switch {
	case err != nil:
		return api.SeenReleaseResult{}, err
	case found == lua.SeenHeld || found == lua.SeenReleased:
		return api.SeenReleaseResult{Released: true, Reason: ReasonReleased}, nil
	default:
		return api.SeenReleaseResult{Reason: ReasonExpired}, nil
	}
}

// RenewHeld implements Kind.
func (s *Seen) RenewHeld(ctx context.Context, due []hold) []renewal {
	return renewBy(ctx, s.runner, lua.SeenRenew, due, func(h hold) lua.SeenRenewIn {
		return lua.SeenRenewIn{Seen: s.keys.seen(h.name), Token: h.token, Session: h.session, TTLMS: h.ttl.Milliseconds()}
	}, func(state lua.SeenState) renewal {
		switch state {
		case lua.SeenHeld:
			return renewal{held: true}
		case lua.SeenMoved:
			return renewal{moved: true}
		default:
			return renewal{reason: ReasonExpired}
		}
	})
}

// GiveBackHeld implements Kind.
func (s *Seen) GiveBackHeld(ctx context.Context, gone []hold) []error {
	return giveBackBy(ctx, s.runner, lua.SeenRelease, gone, func(h hold) lua.SeenReleaseIn {
		return lua.SeenReleaseIn{Seen: s.keys.seen(h.name), Token: h.token, Session: h.session}
	})
}
