package lock

import (
	"context"
	"fmt"

	"github.com/coxswain-sidecar/coxswain/client/api"
	"github.com/coxswain-sidecar/coxswain/internal/coord"
	"github.com/coxswain-sidecar/coxswain/internal/coord/lease"
	"github.com/coxswain-sidecar/coxswain/internal/lua"
)

// topicForced is the topic of the broadcast about a lock that was freed by force.
const topicForced = "forced"

// listing lists the locks that are held and, if state is api.StateWaited, have a waiting line.
func (l *Locks) listing(state string) coord.Listing[api.LockEntry] {
	return coord.Listing[api.LockEntry]{
		Runner: l.runner, Method: api.LockList.Name, Pattern: l.keys.Pattern(kindLock),
		Read: func(ctx context.Context, keys []string) ([]api.LockEntry, error) {
			return coord.ReadEach(ctx, l.runner, GetScript, keys, func(key string) (GetIn, bool) {
				_, ok := l.keys.NameOf(key, kindLock)
				return GetIn{Lock: key, Line: lease.LineKeysOf(key).Line}, ok
			}, func(key string, v GetOut) (api.LockEntry, bool) {
				name, _ := l.keys.NameOf(key, kindLock)
				return api.LockEntry{
					Name: name, Fence: coord.Fence(v.Fence), TTLMS: v.TTLMS, Waiting: v.Waiting,
					HeldBy: coord.HeldBy(v.Client, v.Instance, v.Meta, v.SinceMS),
				}, v.Held && (state != api.StateWaited || v.Waiting > 0)
			})
		},
	}
}

// List lists the locks that are held, as coord.Listing does.
func (l *Locks) List(ctx context.Context, _ coord.Caller, p *api.LockListParams) (r api.LockListResult, err error) {
	r.Locks, r.Cursor, err = l.listing(p.State).Page(ctx, p.Cursor, p.Count)
	return r, err
}

// ForceRelease frees a lock, whichever token holds it. A broadcast makes the holder's sidecar renew the lock at
// once, find it gone and report the loss to the session. A sidecar that misses the broadcast finds the loss by its next
// renewal. The next owner's fence is higher.
//
// It writes a warning to the log, for audits.
func (l *Locks) ForceRelease(ctx context.Context, c coord.Caller, p *api.LockForceReleaseParams) (api.LockForceReleaseResult, error) {
	if len(p.Reason) > lease.MaxMetaBytes {
		return api.LockForceReleaseResult{}, coord.Invalid("reason: %d bytes are too many; give at most %d", len(p.Reason), lease.MaxMetaBytes)
	}
	key := l.keys.lock(p.Name)
	out, err := lua.Run(ctx, l.runner, ForceReleaseScript, ForceReleaseIn{
		Lock: key, LineKeys: lease.LineKeysOf(key), Inboxes: l.keys.Inboxes(), Channel: l.keys.Broadcast(),
	}, coord.StoredReplyAlways(key, c))
	v := out.Value
	switch {
	case err != nil:
		return api.LockForceReleaseResult{}, coord.Failed("lock "+p.Name+": force release", err)
	case !v.Released:
		return api.LockForceReleaseResult{}, nil
	}
	by := c.Identity()
	if e := l.leases.Events.Load(); e.Wanted() {
		e.Publish(coord.Event{
			Kind: coord.EventForced, Noun: noun, Name: p.Name, Reason: topicForced,
			Detail: fmt.Sprintf("by client %q, instance %q; it was held by client %q, instance %q, fence %d: %s",
				by.Client, by.Instance, v.Client, v.Instance, v.Fence, p.Reason),
		})
	}
	c.Logger().Warn("a lock was taken from its holder by hand", "lock", p.Name, "reason", p.Reason, "fence", v.Fence,
		"client", by.Client, "instance", by.Instance, "held_by", v.Client, "held_by_instance", v.Instance)
	return api.LockForceReleaseResult{
		Released: true, Fence: coord.Fence(v.Fence), HeldBy: coord.HeldBy(v.Client, v.Instance, v.Meta, v.SinceMS),
	}, nil
}
