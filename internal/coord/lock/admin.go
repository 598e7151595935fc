package lock

import (
	"context"
	"errors"
	"fmt"

	"github.com/coxswain-sidecar/coxswain/client/api"
	"github.com/coxswain-sidecar/coxswain/internal/coord"
	"github.com/coxswain-sidecar/coxswain/internal/coord/lease"
	"github.com/coxswain-sidecar/coxswain/internal/lua"
	"github.com/coxswain-sidecar/coxswain/internal/redis"
)

// topicForced is the broadcast that a lock was freed by force.
const topicForced = "forced"

// scansAtOnce bounds the steps through the keyspace of one page: where other keys
// are many, a page may be empty and not the last.
const scansAtOnce = 20

// List lists about as many of the locks that are held as Count says, from the cursor
// that an earlier page ended with, empty for the first, in no order. A lock that is held
// throughout is on one page at least; one that is taken or freed meanwhile may be
// missing, and one may come twice.
func (l *Locks) List(ctx context.Context, _ coord.Caller, p *api.LockListParams) (api.LockListResult, error) {
	page := api.LockListResult{Cursor: p.Cursor}
	for range scansAtOnce {
		keys, next, err := l.runner.Scan(ctx, l.keys.locks(), page.Cursor, int(p.Count))
		switch {
		case errors.Is(err, redis.ErrCursor):
			return api.LockListResult{}, coord.Invalid("cursor: not one that lock.list answered; leave it out to begin anew")
		case err != nil:
			return api.LockListResult{}, coord.Failed("lock: list", err)
		}
		if err := l.add(ctx, &page, keys); err != nil {
			return api.LockListResult{}, coord.Failed("lock: list", err)
		}
		page.Cursor = next
		if next == "" || len(page.Locks) >= int(p.Count) {
			break
		}
	}
	return page, nil
}

// add reads the locks of these keys, and adds those that are held.
func (l *Locks) add(ctx context.Context, page *api.LockListResult, keys []string) error {
	var names []string
	var ins []GetIn
	for _, key := range keys {
		if name, ok := l.keys.lockName(key); ok {
			names = append(names, name)
			ins = append(ins, GetIn{Lock: key, Line: lease.LineKeysOf(key).Line})
		}
	}
	outs, errs := lua.Batch(ctx, l.runner, GetScript, ins)
	for i, out := range outs {
		if errs[i] != nil {
			return errs[i]
		}
		if v := out.Value; v.Held {
			page.Locks = append(page.Locks, api.LockEntry{
				Name: names[i], Fence: coord.Fence(v.Fence), TTLMS: v.TTLMS, HeldBy: coord.HeldBy(v.Client, v.Instance, v.Meta, v.SinceMS),
			})
		}
	}
	return nil
}

// ForceRelease frees a lock whoever holds it. Every sidecar is told, so that the
// owner's asks at once what became of it and tells its session; one that does not
// hear of it finds out by its next renewal. The next owner's fence is higher.
//
// It leaves a line in the log, since what it does is to be accounted for.
func (l *Locks) ForceRelease(ctx context.Context, c coord.Caller, p *api.LockForceReleaseParams) (api.LockForceReleaseResult, error) {
	if len(p.Reason) > lease.MaxMetaBytes {
		return api.LockForceReleaseResult{}, coord.Invalid("reason: %d bytes are too many; give at most %d", len(p.Reason), lease.MaxMetaBytes)
	}
	key := l.keys.lock(p.Name)
	out, err := lua.Run(ctx, l.runner, ForceReleaseScript, ForceReleaseIn{
		Lock: key, LineKeys: lease.LineKeysOf(key), Inboxes: l.keys.Inboxes(), Channel: l.keys.Broadcast(),
	}, coord.LatchAlways(key, c))
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
