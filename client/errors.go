package client

import (
	"errors"
	"fmt"
	"time"

	"github.com/coxswain-sidecar/coxswain/client/api"
)

var (
	// ErrClosed: the client was closed.
	ErrClosed = errors.New("the client is closed")
	// ErrBusy: the acquisition was refused, for example because another client holds the
	// lock. The error is a *BusyError.
	ErrBusy = errors.New("busy")
	// ErrLost: a lease ended although its holder did not release it.
	ErrLost = errors.New("lost")
	// ErrReleased: the holder released the lease.
	ErrReleased = errors.New("released")
)

// BusyError is the refusal of an acquisition.
type BusyError struct {
	// Noun is lock, semaphore, pool, permit or queue.
	Noun string
	// Name is the name that was to be acquired.
	Name string
	// HeldBy is the holder; nil = unknown.
	HeldBy *api.Holder
	// Reason is why no member of a pool is available: busy, cooling, banned or empty; for
	// permits also open, limit or pause. It is empty for all other nouns.
	Reason string
	// RetryAfter is the time until the TTL of the holder ends, unless it is renewed. For a
	// pool it is the time until a member may be available; negative = never, unless the
	// pool changes.
	RetryAfter time.Duration
}

// Error implements error.
func (e *BusyError) Error() string {
	if e.Reason != "" {
		if e.RetryAfter < 0 {
			return fmt.Sprintf("%s %s: %s", e.Noun, e.Name, e.Reason)
		}
		return fmt.Sprintf("%s %s: %s for up to %v", e.Noun, e.Name, e.Reason, e.RetryAfter)
	}
	if e.HeldBy == nil {
		return fmt.Sprintf("%s %s: busy for up to %v", e.Noun, e.Name, e.RetryAfter)
	}
	return fmt.Sprintf("%s %s: busy: held by %s %s for up to %v", e.Noun, e.Name, api.Printable(e.HeldBy.Client), api.Printable(e.HeldBy.Instance), e.RetryAfter)
}

// Is makes errors.Is(err, ErrBusy) true.
func (e *BusyError) Is(target error) bool { return target == ErrBusy }
