package coord

import (
	"context"

	"github.com/coxswain-sidecar/coxswain/internal/lua"
)

// renew implements leaseKind.
func (l *Locks) renew(ctx context.Context, due []hold) []renewal {
	return renewBy(ctx, l.runner, lua.LockRenew, due, func(h hold) lua.LockRenewIn {
		return lua.LockRenewIn{Lock: l.keys.lock(h.name), Token: h.token, TTLMS: h.ttl.Milliseconds(), Session: h.session}
	}, func(v lua.LockRenewOut) renewal {
		switch v.State {
		case lua.LockOwned:
			return renewal{held: true, final: v.Final, left: ms(v.TTLMS)}
		case lua.LockMoved:
			return renewal{moved: true}
		default:
			return renewal{reason: notHeld(v.State)}
		}
	})
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
