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
	// ErrBusy: someone else holds it. The error is a *BusyError.
	ErrBusy = errors.New("busy")
	// ErrLost: what was held is no longer held, though nobody released it.
	ErrLost = errors.New("lost")
	// ErrReleased: what was held was released by its own holder.
	ErrReleased = errors.New("released")
)

// BusyError is the answer to an acquisition of what someone else holds.
type BusyError struct {
	// Noun is what it is: lock, semaphore, pool or permit.
	Noun string
	// Name is what was wanted.
	Name string
	// HeldBy is who has it; nil when that is not known.
	HeldBy *api.Holder
	// Reason is why no member of a pool is to be had: busy, cooling, banned or
	// empty; for permits also open, limit or pause. It is empty for locks and
	// semaphores.
	Reason string
	// RetryAfter is when the holder's TTL ends unless it is renewed; of a pool when
	// the soonest member may be had, and negative when none ever may, as things are.
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
