package coord

import (
	"context"
	"errors"
	"fmt"

	"github.com/coxswain-sidecar/coxswain/internal/lua"
)

// topicForced is the broadcast that a lock was freed by force.
const topicForced = "forced"

// scansAtOnce bounds the steps through the keyspace of one page: where other keys
// are many, a page may be empty and not the last.
const scansAtOnce = 20

// LockEntry is one lock that is held.
type LockEntry struct {
	Name string
	LockInfo
}

// LockPage is one page of the locks that are held, in no order.
type LockPage struct {
	Locks []LockEntry
	// Cursor is where the next page begins; empty = this was the last.
	Cursor string
}

// List lists about so many of the locks that are held, from a cursor that an
// earlier page ended with, empty for the first. A lock that is held throughout is
// on one page at least; one that is taken or freed meanwhile may be missing, and
// one may come twice.
func (l *Locks) List(ctx context.Context, cursor string, count int) (LockPage, error) {
	page := LockPage{Cursor: cursor}
	for range scansAtOnce {
		keys, next, err := l.runner.Scan(ctx, l.keys.locks(), page.Cursor, count)
		switch {
		case errors.Is(err, lua.ErrCursor):
			return LockPage{}, invalid("cursor: not one that lock.list answered; leave it out to begin anew")
		case err != nil:
			return LockPage{}, failed("lock: list", err)
		}
		if err := l.add(ctx, &page, keys); err != nil {
			return LockPage{}, failed("lock: list", err)
		}
		page.Cursor = next
		if next == "" || len(page.Locks) >= count {
			break
		}
	}
	return page, nil
}

// add reads the locks of these keys, and adds those that are held.
func (l *Locks) add(ctx context.Context, page *LockPage, keys []string) error {
	var names []string
	var ins []lua.LockGetIn
	for _, key := range keys {
		if name, ok := l.keys.lockName(key); ok {
			names = append(names, name)
			ins = append(ins, lua.LockGetIn{Lock: key, Line: l.keys.line(key).Line})
		}
	}
	outs, errs := lua.Batch(ctx, l.runner, lua.LockGet, ins)
	for i, out := range outs {
		if errs[i] != nil {
			return errs[i]
		}
		if out.Value.Held {
			page.Locks = append(page.Locks, LockEntry{Name: names[i], LockInfo: info(out.Value)})
		}
	}
	return nil
}

// LockForced says whose a lock was that was freed by force.
type LockForced struct {
	Released bool
	Fence    int64
	Holder   *Holder // nil when nobody held it
}

// ForceRelease frees a lock whoever holds it. Every sidecar is told, so that the
// owner's asks at once what became of it and tells its session; one that does not
// hear of it finds out by its next renewal. The next owner's fence is higher.
func (l *Locks) ForceRelease(ctx context.Context, c Caller, name, reason string) (LockForced, error) {
	if err := checkText("name", name); err != nil {
		return LockForced{}, err
	}
	if len(reason) > maxMetaBytes {
		return LockForced{}, invalid("reason: %d bytes are too many; give at most %d", len(reason), maxMetaBytes)
	}
	key := l.keys.lock(name)
	out, err := lua.Run(ctx, l.runner, lua.LockForceRelease, lua.LockForceReleaseIn{
		Lock: key, LineKeys: l.keys.line(key), Inboxes: l.keys.inboxes(), Channel: l.keys.broadcast(),
	}, latchAlways(key, c))
	if err != nil {
		return LockForced{}, failed("lock "+name+": force release", err)
	}
	v := out.Value
	if !v.Released {
		return LockForced{}, nil
	}
	if e := l.leases.events.Load(); e.Wanted() {
		by := c.identity()
		e.Publish(Event{
			Kind: EventForced, Noun: nounLock, Name: name, Reason: topicForced,
			Detail: fmt.Sprintf("by client %q, instance %q; it was held by client %q, instance %q, fence %d: %s",
				by.Client, by.Instance, v.Client, v.Instance, v.Fence, reason),
		})
	}
	return LockForced{Released: true, Fence: v.Fence, Holder: holder(v.Client, v.Instance, v.Meta, v.SinceMS)}, nil
}
