package lease

import (
	"context"
	"time"

	"github.com/coxswain-sidecar/coxswain/internal/lua"
)

// Kind is what a noun implements for the renewer: renewing many of its leases
// in one pipeline, and giving many back. Both return outcomes in the order of their
// argument, and neither touches a lease that moved to another session.
type Kind interface {
	RenewHeld(ctx context.Context, due []Hold) []Renewal
	GiveBackHeld(ctx context.Context, gone []Hold) []error
}

// Renewal is the outcome of renewing one lease.
type Renewal struct {
	Sent time.Time
	// Held: the lease is valid for its TTL from Sent. If Final is set, no renewal extends it any
	// more, and it is valid for Left from Sent.
	Held, Final bool
	Left        time.Duration
	// Moved: the token's lease is now bound to another session. This one drops it without reporting a loss.
	Moved bool
	// Reason is why the lease is lost: not_owner or expired.
	Reason string
	// Err is a temporary fault: the renewal is tried again while the lease is valid.
	Err error
}

// RenewBy renews holds by a script, all in one pipeline. Found makes the Renewal from
// the output of a script.
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

// GiveBackBy gives holds back by a script, one run for each of them.
func GiveBackBy[I, O any](ctx context.Context, r *lua.Runner, s lua.Script[I, O], gone []Hold, in func(Hold) I) []error {
	if len(gone) == 1 {
		// lua.Run shares batches. When many calls end at once, a pipeline for each would use up
		// the connections of the pool.
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
