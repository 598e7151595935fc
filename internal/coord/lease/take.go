package lease

import (
	"context"
	"crypto/rand"
	"crypto/sha256"
	"encoding/base32"
	"errors"
	"fmt"
	"time"

	"github.com/coxswain-sidecar/coxswain/client/api"
	"github.com/coxswain-sidecar/coxswain/internal/coord"
	"github.com/coxswain-sidecar/coxswain/internal/redis"
)

// What all nouns do that give out leases, around the scripts of their own.

// MakeToken is 128 random bits. With a request id it is made of the id and the
// call instead, so that a retry through another sidecar has the same token.
// That gives nothing away: whoever can name both can replay the call, and is
// then answered the token anyway.
func MakeToken(c coord.Caller, noun, name string) string {
	if c.RequestID == "" {
		return rand.Text()
	}
	// Lengths first: no two triples make the same text.
	sum := sha256.Sum256(fmt.Appendf(nil, "%s token %d %d %s%s%s",
		noun, len(c.RequestID), len(c.Fingerprint), c.RequestID, c.Fingerprint, name))
	return base32.StdEncoding.WithPadding(base32.NoPadding).EncodeToString(sum[:16])
}

// Unbound gives back what was granted to a session that closed meanwhile, and returns the
// error that says so.
func (l *Leases) Unbound(ctx context.Context, x *Lease) error {
	l.TakeBack(ctx, x.Hold())
	return &coord.Error{
		Code: api.Cancelled, Op: x.Noun + " " + x.Name + ": bind",
		Err: fmt.Errorf("the connection closed before the %s was granted; it was given back", x.Noun),
	}
}

// TakeBack gives back one grant on its own time: the caller may be gone.
func (l *Leases) TakeBack(ctx context.Context, h Hold) {
	l.GiveBack(context.WithoutCancel(ctx), []Hold{h})
}

// Unsure sees to a lease that may have been granted although the call failed,
// and to the place in the line of a call that waited, empty for none. When nobody
// else knows the token, since it was made here, or the caller cancelled, it is
// given back now. The session, if it is to be bound to one, remembers it too: the
// command may run after all, and a caller that knows the token, or repeats the
// request, may still want it.
func (l *Leases) Unsure(ctx context.Context, c coord.Caller, x *Lease, made bool, waiter string, err error) {
	maybe, abandoned := errors.Is(err, redis.ErrMaybeExecuted), false
	h := Hold{ID: ID{Noun: x.Noun, Name: x.Name}, Kind: x.Kind, Waiter: waiter}
	h.Session = x.Owner
	if x.Session != nil {
		h.Session = x.Session.ID
	}
	if maybe {
		// What no session remembers is given back when the time is over, too.
		over := errors.Is(ctx.Err(), context.Canceled) || x.Session == nil && ctx.Err() != nil
		abandoned = made && (c.RequestID == "" || over)
		if x.Session != nil {
			abandoned = !l.Ambiguous(x, err) || abandoned
		}
	}
	if !abandoned && waiter == "" {
		return
	}
	h.Ambiguous = err
	if abandoned {
		h.Token = x.Token
		l.TakeBack(ctx, h)
		return
	}
	// Once: a place that stays behind is taken out by a heartbeat.
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), GiveBackTime)
	defer cancel()
	redis.Settle(ctx, err)
	_ = x.Kind.GiveBackHeld(ctx, []Hold{h})
}

// LeftMS is the part of a TTL that has not passed since the call was sent, in
// milliseconds, rounded down.
func LeftMS(ttlMS int64, sent time.Time) int64 {
	return max(0, coord.Millis(ttlMS)-time.Since(sent)).Milliseconds()
}

// CheckBound refuses to bind what has no session to be bound to.
func CheckBound(c coord.Caller, bound bool, what string) error {
	if bound && c.Session == nil {
		return coord.Invalid("bind: this call has no session to bind the %s to; use ttl", what)
	}
	return nil
}

// NewLease makes the lease that a call asks for. An empty token is replaced by a new
// one; bind says whether the lease is bound to the caller's session.
func NewLease(c coord.Caller, noun, name, token, bind string, ttlMS int64, k Kind) *Lease {
	x := &Lease{ID: ID{noun, name, token}, TTL: coord.Millis(ttlMS), Kind: k}
	if token == "" {
		x.Token = MakeToken(c, noun, name)
	}
	if bind == api.BindSession {
		x.Session = c.Session
	}
	return x
}

// SessionID is that of the session it is bound to, empty for none.
func (x *Lease) SessionID() string {
	if x.Session == nil {
		return ""
	}
	return x.Session.ID
}

// CheckHeld checks what the contract's tags do not of the params with which a lease is
// asked for.
func CheckHeld(c coord.Caller, bind string, maxHoldMS int64, meta, what string) error {
	if err := CheckBound(c, bind == api.BindSession, what); err != nil {
		return err
	}
	return checkHold(coord.Millis(maxHoldMS), meta)
}

// The bounds of max_hold_ms and meta, as on the wire.
const (
	maxHold      = 7 * 24 * time.Hour
	MaxMetaBytes = 512
)

func checkHold(d time.Duration, meta string) error {
	if d != 0 && (d < MinTTL || d > maxHold) {
		return coord.Invalid("max_hold_ms: %d is out of range; use %d to %d, or 0 for no end",
			d.Milliseconds(), MinTTL.Milliseconds(), maxHold.Milliseconds())
	}
	if len(meta) > MaxMetaBytes {
		return coord.Invalid("meta: %d bytes are too many; give at most %d, such as the id of what is longer", len(meta), MaxMetaBytes)
	}
	return nil
}

// The bounds of a lease's TTL, as on the wire (api.LockAcquireParams): below 100 ms there
// is no time to renew it, and a lease of days is a mistake.
const (
	MinTTL = 100 * time.Millisecond
	MaxTTL = 24 * time.Hour
)

// NotHeld returns the reason for a token that does not hold the lease. A caller that renews
// a lease that was released is told that it has expired.
func NotHeld(s State) string {
	if s == StateNotOwner {
		return ReasonNotOwner
	}
	return ReasonExpired
}
