package chaostest

import (
	"context"
	"slices"
	"time"

	"github.com/coxswain-sidecar/coxswain/client"
	"github.com/coxswain-sidecar/coxswain/client/api"
)

// The semaphores, of the same kinds as the locks: with TTLs longer than any hold, without and with a waiting line, and
// those of sessions. Their limits are low, so that they are full most of the time.
var (
	ownedSemaphores   = []string{"owned/s"}
	queuedSemaphores  = []string{"queued/s"}
	sessionSemaphores = []string{"session/s"}
)

const semaphoreLimit = 3

var semaphoreNoun = noun{
	roles: func(w *worker) []func(context.Context) { return []func(context.Context){w.share, w.share, w.permits} },
	judge: func(r *run, _ int, intact time.Duration) []Violation {
		return Crowded(slices.DeleteFunc(slices.Clone(r.history.Holds), func(x Hold) bool { return x.From >= intact }), &r.stalls)
	},
	shows: func(h *History) map[string]int {
		return granted(h, slices.Concat(ownedSemaphores, queuedSemaphores, sessionSemaphores)...)
	},
}

// share takes, renews and releases permits by a token.
func (w *worker) share(ctx context.Context) {
	names, wait := ownedSemaphores, int64(0)
	if w.chance(40) {
		names, wait = queuedSemaphores, 1000*int64(w.rnd.IntN(3))
	}
	o := LockOp{Name: w.one(names), Token: w.token(), Limit: semaphoreLimit, Permits: int64(1 + w.rnd.IntN(2))}
	if w.take(ctx, o, wait) != Acquired {
		return
	}
	w.pause(30 * time.Millisecond)
	if w.chance(30) {
		w.take(ctx, o, 0)
	}
	if w.chance(30) {
		p := api.SemaphoreRenewParams{Name: o.Name, Token: o.Token, TTLMS: ownedTTL.Milliseconds()}
		o.Kind = Renew
		w.lockOp(ctx, o, func(ctx context.Context, s *session, o *LockOp) error {
			r, err := client.Call(ctx, s.Client, api.SemaphoreRenew, p)
			o.Outcome, o.Fence = outcome(r.Reason), fence(r.Fence)
			return err
		})
	}
	p := api.SemaphoreReleaseParams{Name: o.Name, Token: o.Token}
	o.Kind = Release
	w.lockOp(ctx, o, func(ctx context.Context, s *session, o *LockOp) error {
		r, err := client.Call(ctx, s.Client, api.SemaphoreRelease, p)
		o.Outcome = outcome(r.Reason)
		return err
	})
}

// take asks for permits.
func (w *worker) take(ctx context.Context, o LockOp, waitMS int64) Outcome {
	o.Kind = Acquire
	p := api.SemaphoreAcquireParams{
		Name: o.Name, Token: o.Token, Limit: o.Limit, Permits: o.Permits, TTLMS: ownedTTL.Milliseconds(), WaitMS: waitMS, Bind: api.BindTTL,
	}
	return w.lockOp(ctx, o, func(ctx context.Context, s *session, o *LockOp) error {
		r, err := client.Call(ctx, s.Client, api.SemaphoreAcquire, p)
		switch {
		case err != nil:
		case r.Acquired:
			o.Outcome, o.Fence = Acquired, fence(r.Fence)
		case r.Replayed:
			o.Outcome = Gone
		default:
			o.Outcome = Busy
		}
		return err
	}).Outcome
}

// permits takes and holds permits for its session, as hold does with a lock.
func (w *worker) permits(ctx context.Context) {
	o := client.SemaphoreOptions{TTL: shortTTL, Limit: semaphoreLimit, Permits: int64(1 + w.rnd.IntN(2))}
	if w.chance(60) {
		o.Wait = 10 * time.Second
	}
	most := 30 * time.Millisecond
	if w.chance(5) {
		most = 2 * shortTTL
	}
	h := Hold{Name: w.one(sessionSemaphores), Limit: semaphoreLimit, Permits: o.Permits}
	w.keep(ctx, h, o.Wait, most, func(ctx context.Context, s *session, h *Hold) (holding, error) {
		return s.SemaphoreAcquire(ctx, h.Name, o)
	})
}
