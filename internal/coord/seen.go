package coord

import (
	"context"
	"time"

	"github.com/coxswain-sidecar/coxswain/internal/lua"
)

// nounSeen is the noun of reservations, of losses and metrics.
const nounSeen = "seen"

// ReasonCommitted: what was reserved is done.
const ReasonCommitted = "committed"

// maxKeep is how long it is remembered that something is done, as on the wire
// (api.SeenCommitParams).
const maxKeep = 366 * 24 * time.Hour

// Seen has things done once: who reserves a key does it, and commits.
type Seen struct {
	runner *lua.Runner
	keys   Keys
	leases *Leases
}

// NewSeen makes the seen noun.
func NewSeen(r *lua.Runner, k Keys, l *Leases) *Seen { return &Seen{runner: r, keys: k, leases: l} }

// ReserveRequest asks for a key of a set. Bound binds it to the caller's session.
type ReserveRequest struct {
	Set, Key string
	TTL      time.Duration
	Bound    bool
}

// Reservation is one, or what is in the way.
type Reservation struct {
	Reserved bool
	State    string // what it was: new, reserved or done
	Token    string
	// RetryAfter is 0 when reserved, else when what is in the way ends.
	RetryAfter time.Duration
	Replayed   bool
	Reason     string // what became of a replayed one: released or expired
}

// What a key may have been.
const (
	SeenNew      = "new"
	SeenReserved = "reserved"
	SeenDone     = "done"
)

var seenStates = map[lua.SeenWas]string{lua.SeenNew: SeenNew, lua.SeenReserved: SeenReserved, lua.SeenDone: SeenDone}

// Reserve takes a key of a set, or says that it is done or under way. A repeated
// request id answers what became of its reservation.
func (s *Seen) Reserve(ctx context.Context, c Caller, r ReserveRequest) (Reservation, error) {
	if err := checkReserve(c, r); err != nil {
		return Reservation{}, err
	}
	tag := seenTag(r.Set, r.Key)
	op := "seen " + tag + ": reserve"
	if err := s.leases.admit(op); err != nil {
		return Reservation{}, err
	}
	x := &lease{leaseID: leaseID{nounSeen, tag, makeToken(c, nounSeen, tag)}, ttl: r.TTL, kind: s}
	in := lua.SeenReserveIn{Seen: s.keys.seen(tag), Token: x.token, TTLMS: r.TTL.Milliseconds()}
	if r.Bound {
		x.session, in.Session = c.Session, c.Session.ID
	}
	out, err := lua.Run(ctx, s.runner, lua.SeenReserve, in, latch(in.Seen, c))
	v := out.Value
	switch {
	case err != nil:
		s.leases.unsure(ctx, c, x, true, "", err)
		return Reservation{}, failed(op, err)
	case out.Replayed:
		return s.replay(ctx, c, in, x)
	case !v.Reserved:
		return Reservation{State: seenStates[v.Was], RetryAfter: time.Duration(v.LeftMS) * time.Millisecond}, nil
	}
	return s.give(ctx, x, out.Sent)
}

func checkReserve(c Caller, r ReserveRequest) error {
	if err := checkSeen(r.Set, r.Key); err != nil {
		return err
	}
	if err := checkBound(c, r.Bound, "reservation"); err != nil {
		return err
	}
	return checkTTL(r.TTL)
}

func checkSeen(set, key string) error {
	if err := checkText("set", set); err != nil {
		return err
	}
	return checkText("key", key)
}

// give answers a reservation, and has the session hold it if it is to.
func (s *Seen) give(ctx context.Context, x *lease, sent time.Time) (Reservation, error) {
	if x.session != nil {
		if err := s.leases.keep(ctx, x, sent); err != nil {
			return Reservation{}, err
		}
	}
	return Reservation{Reserved: true, State: SeenNew, Token: x.token}, nil
}

// replay answers a request id that reserved before: whether that is alive is
// asked, and from now on it is this session's.
func (s *Seen) replay(ctx context.Context, c Caller, in lua.SeenReserveIn, x *lease) (Reservation, error) {
	out, err := lua.Run(ctx, s.runner, lua.SeenRenew, lua.SeenRenewIn{
		Seen: in.Seen, Token: in.Token, Session: in.Session, TTLMS: in.TTLMS, Move: true,
	}, lua.Latch{})
	if err != nil {
		s.leases.unsure(ctx, c, x, false, "", err)
		return Reservation{}, failed("seen "+x.name+": replay", err)
	}
	switch out.Value {
	case lua.SeenHeld:
		r, err := s.give(ctx, x, out.Sent)
		r.Replayed = err == nil
		return r, err
	case lua.SeenCommitted:
		return Reservation{State: SeenDone, Replayed: true, Reason: ReasonReleased}, nil
	case lua.SeenReleased:
		return Reservation{State: SeenNew, Replayed: true, Reason: ReasonReleased}, nil
	default:
		return Reservation{State: SeenNew, Replayed: true, Reason: ReasonExpired}, nil
	}
}

// Commit says that what was reserved is done, and has it remembered for keep. It
// runs on its own time. Only the holder of a live reservation commits; repeating
// it answers the same while it is remembered.
func (s *Seen) Commit(ctx context.Context, c Caller, set, key, token string, keep time.Duration) (LeaseOutcome, error) {
	if keep < time.Millisecond || keep > maxKeep {
		return LeaseOutcome{}, invalid("keep_ms: %d is out of range; use 1 to %d", keep.Milliseconds(), maxKeep.Milliseconds())
	}
	return s.end(ctx, c, set, key, token, lua.SeenCommitted, ReasonCommitted, func(ctx context.Context, k string) (lua.SeenState, error) {
		out, err := lua.Run(ctx, s.runner, lua.SeenCommit, lua.SeenCommitIn{Seen: k, Token: token, KeepMS: keep.Milliseconds()}, lua.Latch{})
		return out.Value, err
	})
}

// Release gives a reservation up, as Commit ends it.
func (s *Seen) Release(ctx context.Context, c Caller, set, key, token string) (LeaseOutcome, error) {
	return s.end(ctx, c, set, key, token, lua.SeenReleased, ReasonReleased, func(ctx context.Context, k string) (lua.SeenState, error) {
		out, err := lua.Run(ctx, s.runner, lua.SeenRelease, lua.SeenReleaseIn{Seen: k, Token: token}, lua.Latch{})
		return out.Value, err
	})
}

// end ends a reservation by run. Again is what a repetition finds.
func (s *Seen) end(
	ctx context.Context, c Caller, set, key, token string, again lua.SeenState, done string,
	run func(ctx context.Context, seen string) (lua.SeenState, error),
) (LeaseOutcome, error) {
	if err := checkSeen(set, key); err != nil {
		return LeaseOutcome{}, err
	}
	if err := checkText("token", token); err != nil {
		return LeaseOutcome{}, err
	}
	tag := seenTag(set, key)
	var found lua.SeenState
	err := s.leases.release(ctx, c, leaseID{nounSeen, tag, token}, func(ctx context.Context) (err error) {
		found, err = run(ctx, s.keys.seen(tag))
		return err
	})
	switch {
	case err != nil:
		return LeaseOutcome{}, err
	case found == lua.SeenHeld || found == again:
		return LeaseOutcome{Done: true, Reason: done}, nil
	default:
		return LeaseOutcome{Reason: ReasonExpired}, nil
	}
}

// renew implements leaseKind.
func (s *Seen) renew(ctx context.Context, due []hold) []renewal {
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

// giveBack implements leaseKind.
func (s *Seen) giveBack(ctx context.Context, gone []hold) []error {
	return giveBackBy(ctx, s.runner, lua.SeenRelease, gone, func(h hold) lua.SeenReleaseIn {
		return lua.SeenReleaseIn{Seen: s.keys.seen(h.name), Token: h.token, Session: h.session}
	})
}
