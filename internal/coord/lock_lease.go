package coord

import (
	"context"

	"github.com/coxswain-sidecar/coxswain/internal/lua"
)

// renew implements leaseKind.
func (l *Locks) renew(ctx context.Context, due []hold) []renewal {
	ins := make([]lua.LockRenewIn, len(due))
	for i, h := range due {
		ins[i] = lua.LockRenewIn{Lock: l.keys.lock(h.name), Token: h.token, TTLMS: h.ttl.Milliseconds(), Session: h.session}
	}
	outs, errs := lua.Batch(ctx, l.runner, lua.LockRenew, ins)
	results := make([]renewal, len(due))
	for i := range due {
		if errs[i] != nil {
			results[i].err = errs[i]
			continue
		}
		r := renewal{sent: outs[i].Sent}
		switch s := outs[i].Value.State; s {
		case lua.LockOwned:
			r.held = true
		case lua.LockMoved:
			r.moved = true
		default:
			r.reason = notHeld(s)
		}
		results[i] = r
	}
	return results
}

// giveBack implements leaseKind. Whatever the scripts find, the holds are no
// longer ours: only an error is worth another try.
func (l *Locks) giveBack(ctx context.Context, gone []hold) []error {
	if len(gone) == 1 {
		// Those of many calls that end at once share batches, where a pipeline for
		// each would use up the pool.
		_, err := lua.Run(ctx, l.runner, lua.LockRelease, l.release(gone[0]), lua.Latch{})
		return []error{err}
	}
	ins := make([]lua.LockReleaseIn, len(gone))
	for i, h := range gone {
		ins[i] = l.release(h)
	}
	_, errs := lua.Batch(ctx, l.runner, lua.LockRelease, ins)
	return errs
}

// release is what gives a hold back: the lock, its place in the line, or both.
func (l *Locks) release(h hold) lua.LockReleaseIn {
	key := l.keys.lock(h.name)
	return lua.LockReleaseIn{
		Lock: key, LineKeys: l.keys.line(key), Token: h.token, Session: h.session,
		Waiter: h.waiter, Inboxes: l.keys.inboxes(),
	}
}
