package coord

import (
	"context"
	"time"

	"github.com/coxswain-sidecar/coxswain/internal/lua"
)

// Locks are mutual exclusion with owners, TTLs and fencing tokens.
type Locks struct{}

// NewLocks makes the lock noun.
func NewLocks(r *lua.Runner, k Keys, l *Leases) *Locks { panic("not yet") }

// LockRequest asks for a lock. Bound binds it to the caller's session.
type LockRequest struct {
	Name, Token string // an empty Token is made
	TTL         time.Duration
	Bound       bool
}

// LockGrant is a grant, or who is in the way.
type LockGrant struct {
	Acquired bool
	Token    string
	Fence    int64
	// TTL is what the owner or the present holder has left at least.
	TTL      time.Duration
	Holder   *Holder // when it is not acquired and someone holds it
	Replayed bool
	// Reason is busy, released or expired when it is not acquired.
	Reason string
}

// Holder is who holds something.
type Holder struct {
	Identity
	Since time.Time // by the Redis server's clock
}

// Acquire takes a lock. A token that holds it already gets the same fence again.
func (l *Locks) Acquire(ctx context.Context, c Caller, r LockRequest) (LockGrant, error) {
	panic("not yet")
}

// LockRenewal says whether the lock is still the token's.
type LockRenewal struct {
	Renewed bool
	Fence   int64
	TTL     time.Duration
	Reason  string // renewed, not_owner or expired
}

// Renew extends a lock that the token holds.
func (l *Locks) Renew(ctx context.Context, c Caller, name, token string, ttl time.Duration) (LockRenewal, error) {
	panic("not yet")
}

// LockRelease says what was found.
type LockRelease struct {
	Released bool
	Reason   string // released, not_owner or expired
}

// Release gives a lock back. It runs on its own time: a caller that goes away
// does not stop it.
func (l *Locks) Release(ctx context.Context, c Caller, name, token string) (LockRelease, error) {
	panic("not yet")
}

// LockInfo is a lock as others see it.
type LockInfo struct {
	Held   bool
	Fence  int64
	TTL    time.Duration
	Holder *Holder
}

// Get reads a lock.
func (l *Locks) Get(ctx context.Context, name string) (LockInfo, error) { panic("not yet") }
