package coord

import (
	"context"
	"crypto/rand"
	"crypto/sha256"
	"encoding/base32"
	"errors"
	"fmt"
	"time"

	"github.com/coxswain-sidecar/coxswain/client/api"

	"github.com/coxswain-sidecar/coxswain/internal/lua"
	"github.com/coxswain-sidecar/coxswain/internal/redis"
)

// What all nouns do that give out leases, around the scripts of their own.

// makeToken is 128 random bits. With a request id it is made of the id and the
// call instead, so that a retry through another sidecar has the same token.
// That gives nothing away: whoever can name both can replay the call, and is
// then answered the token anyway.
func makeToken(c Caller, noun, name string) string {
	if c.RequestID == "" {
		return rand.Text()
	}
	// Lengths first: no two triples make the same text.
	sum := sha256.Sum256(fmt.Appendf(nil, "%s token %d %d %s%s%s",
		noun, len(c.RequestID), len(c.Fingerprint), c.RequestID, c.Fingerprint, name))
	return base32.StdEncoding.WithPadding(base32.NoPadding).EncodeToString(sum[:16])
}

// keep has the session of a lease hold what was granted by a call sent at that
// time. When it closed meanwhile the grant is given back, and the error says so.
func (l *Leases) keep(ctx context.Context, x *lease, sent time.Time) error {
	if l.bind(x, sent) {
		return nil
	}
	l.takeBack(ctx, x.hold())
	return &Error{
		Code: api.Cancelled, Op: x.noun + " " + x.name + ": bind",
		Err: fmt.Errorf("the connection closed before the %s was granted; it was given back", x.noun),
	}
}

// takeBack gives back one grant on its own time: the caller may be gone.
func (l *Leases) takeBack(ctx context.Context, h hold) {
	l.giveBack(context.WithoutCancel(ctx), []hold{h})
}

// unsure sees to a lease that may have been granted although the call failed,
// and to the place in the line of a call that waited, empty for none. When nobody
// else knows the token, since it was made here, or the caller cancelled, it is
// given back now. The session, if it is to be bound to one, remembers it too: the
// command may run after all, and a caller that knows the token, or repeats the
// request, may still want it.
func (l *Leases) unsure(ctx context.Context, c Caller, x *lease, made bool, waiter string, err error) {
	maybe, abandoned := errors.Is(err, redis.ErrMaybeExecuted), false
	h := hold{leaseID: leaseID{noun: x.noun, name: x.name}, kind: x.kind, waiter: waiter}
	h.session = x.owner
	if x.session != nil {
		h.session = x.session.ID
	}
	if maybe {
		// What no session remembers is given back when the time is over, too.
		over := errors.Is(ctx.Err(), context.Canceled) || x.session == nil && ctx.Err() != nil
		abandoned = made && (c.RequestID == "" || over)
		if x.session != nil {
			abandoned = !l.doubt(x, err) || abandoned
		}
	}
	if !abandoned && waiter == "" {
		return
	}
	h.doubt = err
	if abandoned {
		h.token = x.token
		l.takeBack(ctx, h)
		return
	}
	// Once: a place that stays behind is taken out by a beat.
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), GiveBackTime)
	defer cancel()
	redis.Settle(ctx, err)
	_ = x.kind.GiveBackHeld(ctx, []hold{h})
}

// release has run give a lease back, in whatever session it is, and returns what the
// script found. It runs on its own time: a caller that goes away does not stop it.
func release[F any](
	ctx context.Context, l *Leases, c Caller, id leaseID, run func(context.Context) (F, error),
) (found F, err error) {
	// Before the script: nothing renews or reports what is being released.
	x := l.forget(id)
	if x != nil && x.session != c.Session {
		l.tell(x, ReasonExpired) // someone else gave it back
	}
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), GiveBackTime)
	defer cancel()
	found, err = run(ctx)
	if err == nil {
		return found, nil
	}
	if x != nil {
		// No longer renewed, but closing the session tries once more.
		l.doubt(&lease{leaseID: x.leaseID, ttl: x.ttl, session: x.session, kind: x.kind}, err)
	}
	return found, Failed(id.noun+" "+id.name+": release", err)
}

// leftMS is the part of a TTL that has not passed since the call was sent, in
// milliseconds, rounded down.
func leftMS(ttlMS int64, sent time.Time) int64 {
	return max(0, Millis(ttlMS)-time.Since(sent)).Milliseconds()
}

// checkBound refuses to bind what has no session to be bound to.
func checkBound(c Caller, bound bool, what string) error {
	if bound && c.Session == nil {
		return invalid("bind: this call has no session to bind the %s to; use ttl", what)
	}
	return nil
}

// newLease makes the lease that a call asks for. An empty token is replaced by a new
// one; bind says whether the lease is bound to the caller's session.
func newLease(c Caller, noun, name, token, bind string, ttlMS int64, k leaseKind) *lease {
	x := &lease{leaseID: leaseID{noun, name, token}, ttl: Millis(ttlMS), kind: k}
	if token == "" {
		x.token = makeToken(c, noun, name)
	}
	if bind == api.BindSession {
		x.session = c.Session
	}
	return x
}

// sessionID is that of the session it is bound to, empty for none.
func (x *lease) sessionID() string {
	if x.session == nil {
		return ""
	}
	return x.session.ID
}

// checkHeld checks what the contract's tags do not of the params with which a lease is
// asked for.
func checkHeld(c Caller, bind string, maxHoldMS int64, meta, what string) error {
	if err := checkBound(c, bind == api.BindSession, what); err != nil {
		return err
	}
	return checkHold(Millis(maxHoldMS), meta)
}

// The bounds of max_hold_ms and meta, as on the wire.
const (
	maxHold      = 7 * 24 * time.Hour
	maxMetaBytes = 512
)

func checkHold(d time.Duration, meta string) error {
	if d != 0 && (d < minLockTTL || d > maxHold) {
		return invalid("max_hold_ms: %d is out of range; use %d to %d, or 0 for no end",
			d.Milliseconds(), minLockTTL.Milliseconds(), maxHold.Milliseconds())
	}
	if len(meta) > maxMetaBytes {
		return invalid("meta: %d bytes are too many; give at most %d, such as the id of what is longer", len(meta), maxMetaBytes)
	}
	return nil
}

// The bounds of a lock's TTL, as on the wire (api.LockAcquireParams): below
// 100 ms there is no time to renew it, and a lock of days is a mistake.
const (
	minLockTTL = 100 * time.Millisecond
	maxLockTTL = 24 * time.Hour
)

// notHeld is the reason for a token that does not hold the lock. Who asks to
// renew what was released is told that it is gone: expired.
func notHeld(s lua.LockState) string {
	if s == lua.LockNotOwner {
		return ReasonNotOwner
	}
	return ReasonExpired
}
