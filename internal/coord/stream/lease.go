package stream

import (
	"context"
	"strings"

	"github.com/coxswain-sidecar/coxswain/internal/coord"
	"github.com/coxswain-sidecar/coxswain/internal/coord/lease"
	"github.com/coxswain-sidecar/coxswain/internal/lua"
)

// A delivery is a lease: its name is that of the group (groupName.lease), its token the id of
// the message.

// groupOf parses a name that groupName.lease made.
func groupOf(name string) groupName {
	stream, group, _ := strings.Cut(name, ":")
	return groupName{coord.Unescaped(stream), coord.Unescaped(group)}
}

// held returns the script input that names a message of this consumer.
func (d *delivery) held(n groupName, id string) HeldIn {
	return HeldIn{Keys: d.keys.streamKeys(n.stream), GroupKeys: d.keys.groupKeys(n.stream, n.group), Group: n.group, Consumer: d.Consumer, ID: id}
}

// RenewHeld implements lease.Kind.
func (d *delivery) RenewHeld(ctx context.Context, due []lease.Hold) []lease.Renewal {
	return lease.RenewBy(ctx, d.Runner, ExtendScript, due, func(h lease.Hold) HeldIn {
		return d.held(groupOf(h.Name), h.Token)
	}, found)
}

// found converts the state that ExtendScript returned to the outcome of a renewal.
func found(state State) lease.Renewal {
	switch state {
	case StateDone:
		return lease.Renewal{Held: true}
	case StateTaken:
		return lease.Renewal{Reason: lease.ReasonNotOwner}
	default:
		return lease.Renewal{Reason: lease.ReasonExpired}
	}
}

// GiveBackHeld implements lease.Kind. The messages are delivered again at once.
func (d *delivery) GiveBackHeld(ctx context.Context, gone []lease.Hold) []error {
	return d.giveBack(ctx, gone, false)
}

// untouched is the lease.Kind of messages that were not sent to a client: their delivery does not
// count as an attempt.
type untouched struct{ *delivery }

// GiveBackHeld implements lease.Kind.
func (u untouched) GiveBackHeld(ctx context.Context, gone []lease.Hold) []error {
	return u.giveBack(ctx, gone, true)
}

func (d *delivery) giveBack(ctx context.Context, gone []lease.Hold, unseen bool) []error {
	ins := make([]ReturnIn, len(gone))
	for i, h := range gone {
		n := groupOf(h.Name)
		ins[i] = ReturnIn{
			HeldIn: d.held(n, h.Token), Untouched: unseen, Broadcast: d.keys.Broadcast(),
		}
	}
	outs, errs := make([]lua.Outcome[State], len(ins)), make([]error, len(ins))
	if len(ins) == 1 { // Run shares batches with other calls
		outs[0], errs[0] = lua.Run(ctx, d.Runner, ReturnScript, ins[0], lua.StoredReply{})
	} else {
		outs, errs = lua.Batch(ctx, d.Runner, ReturnScript, ins)
	}
	var returned int64
	for i := range outs {
		if errs[i] == nil && outs[i].Value == StateDone {
			returned++
		}
	}
	d.Telemetry.StreamMessages(ctx, "returned", returned)
	return errs
}

// giveBackUnseen gives back messages that were not sent to a client, in the background.
func (d *delivery) giveBackUnseen(n groupName, ids []string) {
	if len(ids) == 0 {
		return
	}
	d.inBackground(func() {
		d.Leases.GiveBack(context.Background(), d.holds(n, ids, untouched{d}))
	})
}
