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

// What all nouns that give out leases do around their own scripts.

// MakeToken returns a token of 128 random bits. For a call with a request id the token is a hash of the id and the
// call's fingerprint instead, so that a repeated call through another sidecar has the same token.
// That reveals nothing: a client that has both can repeat the call and gets the token in the
// answer anyway.
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
// error of the call.
func (l *Leases) Unbound(ctx context.Context, x *Lease) error {
	l.TakeBack(ctx, x.Hold())
	return &coord.Error{
		Code: api.Cancelled, Op: x.Noun + " " + x.Name + ": bind",
		Err: fmt.Errorf("the connection closed before the %s was granted; it was given back", x.Noun),
	}
}

// TakeBack gives back one grant. It goes on after ctx ends, since the caller may be gone.
func (l *Leases) TakeBack(ctx context.Context, h Hold) {
	l.GiveBack(context.WithoutCancel(ctx), []Hold{h})
}

// Unsure handles a call that failed with err: it gives up the ticket of its waiter, empty for none, and decides about a
// lease that may have been granted although the reply was lost.
//
// Unsure gives such a lease back at once if the sidecar made the token and no caller can ask for the lease again,
// since the call has no request id or its caller has gone. If the lease was to be bound to a session, the session
// keeps it as ambiguous: the command may still run, and a caller that has the token, or repeats the request, may want
// the lease. If that session has closed, the lease is given back at once.
func (l *Leases) Unsure(ctx context.Context, c coord.Caller, x *Lease, made bool, waiter string, err error) {
	maybe, abandoned := errors.Is(err, redis.ErrMaybeExecuted), false
	h := Hold{ID: ID{Noun: x.Noun, Name: x.Name}, Kind: x.Kind, Waiter: waiter}
	h.Session = x.Owner
	if x.Session != nil {
		h.Session = x.Session.ID
	}
	if maybe {
		// A lease that no session keeps is also given back if the call's deadline has passed.
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
	// One try is enough: a heartbeat removes a ticket that is left behind.
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), GiveBackTime)
	defer cancel()
	redis.Settle(ctx, err)
	_ = x.Kind.GiveBackHeld(ctx, []Hold{h})
}

// LeftMS returns the part of a TTL that has not passed since the call was sent, in
// milliseconds, rounded down.
func LeftMS(ttlMS int64, sent time.Time) int64 {
	return max(0, coord.Millis(ttlMS)-time.Since(sent)).Milliseconds()
}

// CheckBound returns an error if a lease is to be bound to a session and the call has none.
func CheckBound(c coord.Caller, bound bool, what string) error {
	if bound && c.Session == nil {
		return coord.Invalid("bind: this call has no session to bind the %s to; use ttl", what)
	}
	return nil
}

// NewLease makes the lease that a call asks for. An empty token is replaced by a new
// one. If bind is api.BindSession, the lease is bound to the caller's session.
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

// SessionID returns the id of the session that the lease is bound to, empty for none.
func (x *Lease) SessionID() string {
	if x.Session == nil {
		return ""
	}
	return x.Session.ID
}

// CheckHeld checks those params of an acquisition that the tags of the contract do not check.
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

// NotHeld returns the reason for a token that does not hold the lease. For a renewal of a lease that was
// released it is ReasonExpired.
func NotHeld(s State) string {
	if s == StateNotOwner {
		return ReasonNotOwner
	}
	return ReasonExpired
}
