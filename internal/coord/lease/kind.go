package lease

import (
	"context"
	"time"

	"github.com/coxswain-sidecar/coxswain/internal/lua"
)

// Kind is what a noun gives the renewer: how to renew many of its leases
// in one pipeline, and how to give many back. Both answer in the order of what
// they are given, and neither touches a lease that moved to another session.
type Kind interface {
	RenewHeld(ctx context.Context, due []Hold) []Renewal
	GiveBackHeld(ctx context.Context, gone []Hold) []error
}

// Renewal is the outcome of renewing one lease.
type Renewal struct {
	Sent time.Time
	// Held: it is valid for its TTL from sent, or, where final is set, for left: then
	// no renewal extends it any more.
	Held, Final bool
	Left        time.Duration
	// Moved: it is held by another session of the same client; forget it in silence.
	Moved bool
	// Reason is why it is lost: not_owner or expired.
	Reason string
	// Err is a passing fault: try again while it is valid.
	Err error
}

// RenewBy is how a noun renews holds: by a script, all in one pipeline. Found is
// what became of one that was answered.
func RenewBy[I, O any](
	ctx context.Context, r *lua.Runner, s lua.Script[I, O], due []Hold, in func(Hold) I, found func(O) Renewal,
) []Renewal {
	ins := make([]I, len(due))
	for i, h := range due {
		ins[i] = in(h)
	}
	outs, errs := lua.Batch(ctx, r, s, ins)
	results := make([]Renewal, len(due))
	for i, out := range outs {
		if errs[i] != nil {
			results[i].Err = errs[i]
			continue
		}
		results[i] = found(out.Value)
		results[i].Sent = out.Sent
	}
	return results
}

// GiveBackBy is how a noun gives holds back: by a script, for each of them.
func GiveBackBy[I, O any](ctx context.Context, r *lua.Runner, s lua.Script[I, O], gone []Hold, in func(Hold) I) []error {
	if len(gone) == 1 {
		// Those of many calls that end at once share batches, where a pipeline for
		// each would use up the pool.
		_, err := lua.Run(ctx, r, s, in(gone[0]), lua.StoredReply{})
		return []error{err}
	}
	ins := make([]I, len(gone))
	for i, h := range gone {
		ins[i] = in(h)
	}
	_, errs := lua.Batch(ctx, r, s, ins)
	return errs
}
