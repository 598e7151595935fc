package coord

import (
	"context"
	"time"

	"github.com/coxswain-sidecar/coxswain/internal/lua"
)

// leaseKind is what a noun gives the renewer: how to renew many of its leases
// in one pipeline, and how to give many back. Both answer in the order of what
// they are given, and neither touches a lease that moved to another session.
type leaseKind interface {
	RenewHeld(ctx context.Context, due []hold) []renewal
	GiveBackHeld(ctx context.Context, gone []hold) []error
}

// renewal is what became of one lease.
type renewal struct {
	sent time.Time
	// held: it is valid for its TTL from sent, or, where final is set, for left: then
	// no renewal extends it any more.
	held, final bool
	left        time.Duration
	// moved: it is held by another session of the same client; forget it in silence.
	moved bool
	// reason is why it is lost: not_owner or expired.
	reason string
	// err is a passing fault: try again while it is valid.
	err error
}

// renewBy is how a noun renews holds: by a script, all in one pipeline. Found is
// what became of one that was answered.
func renewBy[I, O any](
	ctx context.Context, r *lua.Runner, s lua.Script[I, O], due []hold, in func(hold) I, found func(O) renewal,
) []renewal {
	ins := make([]I, len(due))
	for i, h := range due {
		ins[i] = in(h)
	}
	outs, errs := lua.Batch(ctx, r, s, ins)
	results := make([]renewal, len(due))
	for i, out := range outs {
		if errs[i] != nil {
			results[i].err = errs[i]
			continue
		}
		results[i] = found(out.Value)
		results[i].sent = out.Sent
	}
	return results
}

// giveBackBy is how a noun gives holds back: by a script, for each of them.
func giveBackBy[I, O any](ctx context.Context, r *lua.Runner, s lua.Script[I, O], gone []hold, in func(hold) I) []error {
	if len(gone) == 1 {
		// Those of many calls that end at once share batches, where a pipeline for
		// each would use up the pool.
		_, err := lua.Run(ctx, r, s, in(gone[0]), lua.Latch{})
		return []error{err}
	}
	ins := make([]I, len(gone))
	for i, h := range gone {
		ins[i] = in(h)
	}
	_, errs := lua.Batch(ctx, r, s, ins)
	return errs
}
