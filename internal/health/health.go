// Package health checks whether the sidecar is live and ready, and serves the results over HTTP.
//
// Invariants: checks run in the background, so that a request costs nothing and cannot put load on
// Redis; liveness and readiness have loops of their own, so that a Redis that hangs never ends a live
// process; the state turns bad after two bad rounds in a row, and good after one good round.
//
// The checks themselves are those of its caller, package main.
package health

import (
	"context"
	"errors"
	"log/slog"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"time"

	"github.com/coxswain-sidecar/coxswain/client/api"
	"github.com/coxswain-sidecar/coxswain/internal/finding"
	"github.com/coxswain-sidecar/coxswain/internal/telemetry"
)

// Check is one check.
type Check struct {
	Name string
	// Run returns a text about what it found, and an error if something is wrong: a
	// finding.Problem, which leaves the state good if it only warns, or any other error. Run
	// returns when ctx ends, after two seconds.
	Run func(ctx context.Context) (detail string, err error)
}

// Options configure Health.
type Options struct {
	// Live are the checks of liveness: if they fail, the process should be restarted. They do
	// not depend on Redis. The sidecar has started once all of them have passed.
	Live []Check
	// Ready are the checks of readiness: the sidecar can decide about calls if they pass.
	Ready []Check
	// Store names the topology, for the report.
	Store     string
	Log       *slog.Logger
	Telemetry *telemetry.Telemetry
}

// Health runs the checks.
type Health struct {
	store       string
	live, ready *probe
	always      atomic.Bool
	stop        context.CancelFunc
	loops       sync.WaitGroup
}

// Start runs the checks until Stop.
func Start(o Options) (*Health, error) {
	ctx, stop := context.WithCancel(context.Background())
	h := &Health{
		store: o.Store,
		live:  &probe{name: "live", checks: o.Live, log: o.Log},
		ready: &probe{name: "ready", checks: o.Ready, log: o.Log},
		stop:  stop,
	}
	err := o.Telemetry.Gauge("coxswain.ready", "", "1 while the sidecar is ready, else 0.", func(context.Context) float64 {
		if good, _, _ := h.readiness(); good {
			return 1
		}
		return 0
	})
	if err != nil {
		stop()
		return nil, err
	}
	h.loops.Go(func() { h.live.loop(ctx) })
	h.loops.Go(func() { h.ready.loop(ctx) })
	return h, nil
}

// SetAlways sets whether the sidecar counts as ready whatever its checks find (readiness.mode always).
// An outage of Redis then takes no pod out of service, and the pages report degraded.
func (h *Health) SetAlways(always bool) { h.always.Store(always) }

// readiness returns whether the sidecar is ready. degraded reports that it is ready only by SetAlways.
func (h *Health) readiness() (good, degraded bool, found []outcome) {
	good, found = h.ready.state()
	degraded = !good && h.always.Load()
	return good || degraded, degraded, found
}

// Stop ends the checks. The last results stay.
func (h *Health) Stop() {
	h.stop()
	h.loops.Wait()
}

// Snapshot returns the last results, for health.get and ?verbose.
func (h *Health) Snapshot() api.HealthResult {
	live, liveChecks := h.live.state()
	ready, degraded, readyChecks := h.readiness()
	checks := make([]api.HealthCheck, 0, len(liveChecks)+len(readyChecks))
	for _, o := range slices.Concat(liveChecks, readyChecks) {
		checks = append(checks, o.result())
	}
	slices.SortFunc(checks, func(a, b api.HealthCheck) int { return strings.Compare(a.Name, b.Name) })
	return api.HealthResult{Live: live, Ready: ready, Degraded: degraded, Store: h.store, Checks: checks}
}

// grade is the grade of a check's result.
type grade uint8

const (
	passed grade = iota
	warned
	failed
)

// outcome is the last result of a check.
type outcome struct {
	name, detail, problem string
	grade                 grade
	known                 *finding.Problem // what problem is of, if it is one that is known
}

// text returns detail and problem in one line.
func (o outcome) text() string {
	problem := o.problem
	if o.grade == warned {
		problem = "warning: " + problem
	}
	if o.detail == "" || problem == "" {
		return o.detail + problem
	}
	return o.detail + "; " + problem
}

// result converts the outcome to the form of health.get.
func (o outcome) result() api.HealthCheck {
	r := api.HealthCheck{Name: o.name, OK: o.grade != failed, Detail: o.text()}
	if o.known != nil {
		r.Cause, r.Fix, r.Docs = o.known.Cause, o.known.Fix, finding.Docs(o.known.ID)
	}
	return r
}

// look runs a check until it returns or stopped is closed, so that a check that ignores its context does
// not delay Stop.
func look(ctx context.Context, stopped <-chan struct{}, c Check) outcome {
	found := make(chan outcome, 1)
	go func() { found <- run(ctx, c) }()
	select {
	case o := <-found:
		return o
	case <-stopped:
		return outcome{name: c.Name, grade: failed, problem: "not looked at: the checks have been stopped"}
	}
}

func run(ctx context.Context, c Check) outcome {
	detail, err := c.Run(ctx)
	o := outcome{name: c.Name, detail: detail}
	if err == nil {
		return o
	}
	o.grade, o.problem = failed, err.Error()
	if errors.As(err, &o.known) && o.known.Warns {
		o.grade = warned
	}
	return o
}

const (
	// every is the time between rounds while the state is good.
	every = time.Second
	// soonest is the time to the second round if the first was bad; it doubles with each bad
	// round up to every. So a sidecar whose Redis has the scripts is ready within milliseconds,
	// and one without Redis does not check in a busy loop.
	soonest = 10 * time.Millisecond
	// timeout bounds one check.
	timeout = 2 * time.Second
	// stale is the age at which the result of the last round is not valid any more.
	stale = 10 * time.Second
	// patience is how many bad rounds in a row make a good state bad: a single lost probe must not
	// take a pod out of service.
	patience = 2
)
