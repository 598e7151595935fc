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
			r.held, r.final, r.left = true, outs[i].Value.Final, ms(outs[i].Value.TTLMS)
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
	return giveBackBy(ctx, l.runner, lua.LockRelease, gone, l.release)
}

// release is what gives a hold back: the lock, its place in the line, or both.
func (l *Locks) release(h hold) lua.LockReleaseIn {
	key := l.keys.lock(h.name)
	return lua.LockReleaseIn{
		Lock: key, LineKeys: l.keys.line(key), Token: h.token, Session: h.session,
		Waiter: h.waiter, Inboxes: l.keys.inboxes(),
	}
}
