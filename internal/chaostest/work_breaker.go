package chaostest

import (
	"context"
	"fmt"
	"slices"
	"time"

	"github.com/coxswain-sidecar/coxswain/client"
	"github.com/coxswain-sidecar/coxswain/client/api"
)

// The breakers, for which so many calls fail that they open again and again, and their policy.
var breakers = []string{"breaker/a", "breaker/b"}

const (
	policy   = "chaos"
	openFor  = 200 * time.Millisecond // the first time; longer each further time in a row
	probes   = 2
	probeTTL = 2 * time.Second
)

var breakerNoun = noun{
	roles: func(w *worker) []func(context.Context) { return []func(context.Context){w.breaks, w.breaks} },
	config: func() string {
		return fmt.Sprintf("breakers: {items: [{name: %s, open_ms: %d, half_open_max: %d, probe_ttl_ms: %d}]}\n",
			policy, openFor.Milliseconds(), probes, probeTTL.Milliseconds())
	},
	judge: func(r *run, _ int, intact time.Duration) []Violation {
		asked := slices.DeleteFunc(slices.Clone(r.history.Asked), func(o BreakerOp) bool { return o.Return >= intact })
		return append(Generations(asked), Probes(asked, probes)...)
	},
	shows: func(h *History) map[string]int {
		n := map[string]int{"probes of breakers": 0, "open breakers": 0, "closed breakers": 0}
		for _, o := range h.Asked {
			switch {
			case o.Probe != "":
				n["probes of breakers"]++
			case o.State == api.BreakerOpen:
				n["open breakers"]++
			case o.State == api.BreakerClosed:
				n["closed breakers"]++
			}
		}
		return n
	},
}

// breaks calls breaker.allow, and if the call is allowed, waits a moment and reports an outcome.
func (w *worker) breaks(ctx context.Context) {
	o := BreakerOp{Name: w.one(breakers), Kind: Allow, Call: w.history.Now()}
	var r api.BreakerAllowResult
	var on *session
	_, known := w.settle(ctx, func(ctx context.Context, s *session) (err error) {
		on = s
		r, err = client.Call(ctx, s.Client, api.BreakerAllow, api.BreakerAllowParams{Name: o.Name, Policy: policy, FailMode: failClosed})
		return err
	})
	if !known {
		return
	}
	o.Client, o.Return, o.State, o.Generation = on.name, w.history.Now(), r.State, r.Generation
	if r.Allowed {
		w.pause(20 * time.Millisecond)
		o.Probe = r.Probe
		o.Until = min(w.history.Now(), o.Call+probeTTL, on.ended())
	}
	w.asked(o, r.Source)
	if r.Allowed {
		w.reports(ctx, o)
	}
}

// reports reports the outcome of an allowed call: mostly a failure while the breaker is closed, and mostly a success
// for a probe, so that all states of the breaker occur.
func (w *worker) reports(ctx context.Context, of BreakerOp) {
	p := api.BreakerReportParams{Name: of.Name, Policy: policy, Generation: of.Generation, Probe: of.Probe, Outcome: api.OutcomeSuccess}
	bad := 80
	if of.Probe != "" {
		bad = 10
	}
	switch {
	case w.chance(10):
		p.Outcome = api.OutcomeIgnored
	case w.chance(bad):
		p.Outcome = api.OutcomeFailure
	}
	o := BreakerOp{Name: of.Name, Kind: Report, Call: w.history.Now()}
	by, known := w.settle(ctx, func(ctx context.Context, s *session) error {
		r, err := client.Call(ctx, s.Client, api.BreakerReport, p)
		o.State, o.Generation = r.State, r.Generation
		return err
	})
	if known {
		o.Client, o.Return = by, w.history.Now()
		w.asked(o, sourceRedis)
	}
}

// Values of the wire: the source of a decision that Redis made, and the fail mode that never allows a call without
// Redis.
const (
	sourceRedis = "redis"
	failClosed  = "closed"
)

func (w *worker) asked(o BreakerOp, source string) {
	if source == sourceRedis {
		w.history.add(func() { w.history.Asked = append(w.history.Asked, o) })
	}
}
