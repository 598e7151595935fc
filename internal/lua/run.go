package lua

import (
	"context"
	"time"
)

// Latch makes a run happen once per request id, whatever is lost on the way.
// The zero Latch does nothing.
type Latch struct {
	// Key is the latch's key, under the same tag as the script's keys.
	Key string
	// Fingerprint is a hash of method and params: the same id with another
	// fingerprint is a conflict.
	Fingerprint string
}

// Outcome is a script's answer and what a caller must know of how it came.
type Outcome[O any] struct {
	Value O
	// Replayed: the value is the stored reply of an earlier run with this id.
	Replayed bool
	// Sent is when the run that answered was sent: validity counts from here.
	Sent time.Time
}

// Run executes a script once, retrying what certainly did not run, and what is
// ambiguous only when the script is Idempotent or a latch is given.
//
// Errors: ErrConflict; ErrUnavailable (it did not run); ErrMaybeExecuted (it
// may have run and was not repeated); the context's error when it ended before
// anything was sent, else ErrMaybeExecuted wrapping it; anything else is a fault
// of the script or its reply.
func Run[I Input, O any](ctx context.Context, r *Runner, s Script[I, O], in I, latch Latch) (Outcome[O], error) {
	panic("not yet")
}

// Batch executes a script for each input in one pipeline, without a latch and
// without retries: the caller repeats what failed. Outcomes and errors are in
// the order of ins.
func Batch[I Input, O any](ctx context.Context, r *Runner, s Script[I, O], ins []I) ([]Outcome[O], []error) {
	panic("not yet")
}

// Runner executes scripts on one store.
type Runner struct{}
