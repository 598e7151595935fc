package chaostest

import (
	"context"
	"fmt"
	"slices"
	"time"

	"github.com/coxswain-sidecar/coxswain/client"
	"github.com/coxswain-sidecar/coxswain/client/api"
)

// The pool whose members have buckets and breakers. Most uses of the first members fail.
const (
	permitPool = "pool/permits"
	permitRule = "chaos"
)

var (
	failing    = members[:2]
	permitBand = api.Band{Limit: 8, PeriodMS: 1000, Burst: 4}
)

var permitNoun = noun{
	roles: func(w *worker) []func(context.Context) { return []func(context.Context){w.permit, w.permit} },
	config: func() string {
		return fmt.Sprintf("rules: {items: [{name: %s, algorithm: token_bucket, limits: [{limit: %d, period_ms: %d, burst: %d}]}]}\n",
			permitRule, permitBand.Limit, permitBand.PeriodMS, permitBand.Burst)
	},
	before: func(ctx context.Context, c *client.Client) error { return fill(ctx, c, permitPool) },
	after: func(*run) map[string]func(context.Context, *client.Client) error {
		return map[string]func(context.Context, *client.Client) error{
			permitPool: func(ctx context.Context, c *client.Client) error { return empty(ctx, c, permitPool) },
		}
	},
	judge: func(r *run, losses int, intact time.Duration) []Violation {
		h := r.history
		found := Shut(h.Opened, h.Charges, openFor*9/10, intact) // the jitter is 5 %
		for _, id := range members {
			found = append(found, Bounded(ofKey(h.Charges, permitPool+"/"+id), permitBand, losses, time.Duration(losses)*r.top.Overlap)...)
		}
		return found
	},
	shows: func(h *History) map[string]int {
		n := granted(h, permitPool)
		n["opened breakers of members"] = len(h.Opened)
		return n
	},
}

// permit takes a permit for a member, uses the member, and reports an outcome.
func (w *worker) permit(ctx context.Context) {
	if w.chance(10) {
		w.census(ctx, permitPool)
		return
	}
	p := api.PermitAcquireParams{
		Pool: permitPool, Rule: permitRule, Breaker: policy, LeaseMS: memberTTL.Milliseconds(), Scope: w.one(scopes),
		WaitMS: w.waitMS(), Bind: w.bind(),
	}
	h, on := Hold{Of: permitPool, Call: w.history.Now()}, (*session)(nil)
	var r api.PermitAcquireResult
	_, known := w.settle(ctx, func(ctx context.Context, s *session) (err error) {
		on = s
		r, err = client.Call(ctx, s.Client, api.PermitAcquire, p)
		return err
	})
	if !known || !r.Acquired {
		if r.DeniedBy == "empty" {
			w.refill(ctx, permitPool)
		}
		return
	}
	h.Name, h.Token, h.Fence = permitPool+"/"+r.ID, r.Lease, fence(r.Fence)
	c := Charge{Key: h.Name, Cost: 1, Sent: h.Call, Received: w.history.Now(), Admitted: true}
	w.history.add(func() { w.history.Charges = append(w.history.Charges, c) })
	if w.uses(h, on, p.Bind) {
		w.tells(ctx, r)
	}
}

// tells reports the outcome of a permit's use.
func (w *worker) tells(ctx context.Context, of api.PermitAcquireResult) {
	p := api.PermitReportParams{Pool: permitPool, Lease: of.Lease, Outcome: api.OutcomeOK}
	switch {
	case w.chance(5):
		p.Outcome = "cancelled"
	case slices.Contains(failing, of.ID) && w.chance(80):
		p.Outcome = api.OutcomeTransport
	}
	o := Opening{Key: permitPool + "/" + of.ID, Call: w.history.Now()}
	opened := false
	by, known := w.settle(ctx, func(ctx context.Context, s *session) error {
		r, err := client.Call(ctx, s.Client, api.PermitReport, p)
		opened = r.Released && r.Breaker == api.BreakerOpen
		return err
	})
	if o.Client, o.Return = by, w.history.Now(); known && opened {
		w.history.add(func() { w.history.Opened = append(w.history.Opened, o) })
	}
}
