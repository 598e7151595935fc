package lock

import (
	"context"
	"fmt"

	"github.com/coxswain-sidecar/coxswain/client/api"
	"github.com/coxswain-sidecar/coxswain/internal/coord"
	"github.com/coxswain-sidecar/coxswain/internal/coord/lease"
	"github.com/coxswain-sidecar/coxswain/internal/lua"
)

// ExplainScript reads a lock and its waiting line.
var ExplainScript = lua.Define[ExplainIn, ExplainOut](files, lua.Source{
	Name:       "lock_explain",
	Idempotent: true,
})

// ExplainIn names one lock.
type ExplainIn struct {
	Lock string `lua:"key"`
	lease.LineKeys
}

// ExplainOut is the lock's state. The fields about the owner are zero when the lock is free.
type ExplainOut struct {
	Held             bool
	Fence, TTLMS     int64
	Client, Instance string
	SinceMS          int64
	Meta             string
	Bound            bool  // to a session
	MaxMS            int64 // when its maximal hold ends, by Redis's clock: renewals do not go beyond; 0 = no maximum
	Waiting          int64 // tickets in the waiting line, those of dead sidecars too until they come first
	Standing         []lease.LineView
}

// Explain returns what lock.acquire would answer to a call that does not wait, and why.
func (l *Locks) Explain(ctx context.Context, _ coord.Caller, p *api.LockGetParams) (api.LockExplainResult, error) {
	key := l.keys.lock(p.Name)
	out, err := lua.Run(ctx, l.runner, ExplainScript, ExplainIn{Lock: key, LineKeys: lease.LineKeysOf(key)}, lua.StoredReply{})
	if err != nil {
		return api.LockExplainResult{}, coord.Failed("lock "+p.Name+": explain", err)
	}
	v := out.Value
	r := api.LockExplainResult{
		Decision: api.ExplainAcquired, Held: v.Held, Fence: coord.Fence(v.Fence), TTLMS: v.TTLMS, FinalAtMS: v.MaxMS,
		Waiting: v.Waiting, Line: lease.ExplainLine(v.Standing),
	}
	switch {
	case v.Held:
		r.Decision, r.RetryAfterMS, r.Bind = lease.ReasonBusy, v.TTLMS+1, api.BindTTL
		if v.Bound {
			r.Bind = api.BindSession
		}
		r.HeldBy = coord.HeldBy(v.Client, v.Instance, v.Meta, v.SinceMS)
	case lease.Taken(v.Standing):
		r.Decision, r.RetryAfterMS = lease.ReasonBusy, lease.PollEvery.Milliseconds()
	}
	r.Text = explained(p.Name, r)
	return r, nil
}

// explained describes a lock in one sentence.
func explained(name string, r api.LockExplainResult) string {
	text := fmt.Sprintf("lock %s is free", name)
	switch {
	case r.Held:
		text = fmt.Sprintf("lock %s is held by %s since %s; ", name, coord.Who(r.HeldBy), coord.At(r.HeldBy.SinceAtMS))
		if r.Bind == api.BindSession {
			text += "its sidecar renews it for as long as the holder is connected"
		} else {
			text += "only the holder itself renews it"
		}
		text += fmt.Sprintf("; without that it is free in %v", coord.Millis(r.RetryAfterMS))
		if r.FinalAtMS > 0 {
			text += ", and at the latest at " + coord.At(r.FinalAtMS)
		}
	case r.Decision == api.ExplainAcquired:
		return text + ": a call would acquire it"
	}
	if r.Waiting > 0 {
		text += fmt.Sprintf("; calls ahead in the waiting line: %d", r.Waiting)
	}
	return text
}
