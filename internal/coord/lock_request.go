package coord

import "time"

// LockRequest asks for a lock. Bound binds it to the caller's session.
type LockRequest struct {
	Name, Token string // an empty Token is made
	TTL         time.Duration
	// Wait is how long to stand in line for it, no longer than the call's deadline.
	Wait time.Duration
	// Replicas is how many replicas of Redis must have the grant; with fewer it is
	// given back, whoever's token it was.
	Replicas int
	Bound    bool
	// MaxHold is after how long it is lost, whoever renews it; 0 = never.
	MaxHold time.Duration
	Meta    string // shown with the holder
}

// check is for all nouns that are asked for in this way.
func (r LockRequest) check(c Caller, noun string) error {
	if err := checkText("name", r.Name); err != nil {
		return err
	}
	if r.Token != "" {
		if err := checkText("token", r.Token); err != nil {
			return err
		}
	}
	if err := checkBound(c, r.Bound, noun); err != nil {
		return err
	}
	if err := checkWait(r.Wait); err != nil {
		return err
	}
	if err := checkHold(r.MaxHold, r.Meta); err != nil {
		return err
	}
	return checkTTL(r.TTL)
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

func checkTTL(ttl time.Duration) error {
	if ttl < minLockTTL || ttl > maxLockTTL {
		return invalid("ttl_ms: %d is out of range; use %d to %d", ttl.Milliseconds(), minLockTTL.Milliseconds(), maxLockTTL.Milliseconds())
	}
	return nil
}

// Holder is who holds something.
type Holder struct {
	Identity
	Since time.Time // by the Redis server's clock
	Meta  string
}

func holder(client, instance, meta string, sinceMS int64) *Holder {
	return &Holder{Identity: Identity{client, instance}, Since: time.UnixMilli(sinceMS), Meta: meta}
}

// LockRenewal says whether the lock is still the token's.
type LockRenewal struct {
	Renewed bool
	Fence   int64
	TTL     time.Duration // left at least
	Reason  string        // renewed, not_owner or expired
}

func checkOwner(name, token string) error {
	if err := checkText("name", name); err != nil {
		return err
	}
	return checkText("token", token)
}

// LockRelease says what was found.
type LockRelease struct {
	Released bool
	Reason   string // released, not_owner or expired
}
