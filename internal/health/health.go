// Package health knows whether the sidecar lives and whether it can decide, and
// tells it over HTTP.
//
// Its invariants: checks run in the background, so that asking costs nothing
// and cannot be used to load Redis; liveness and readiness have loops of their
// own, so that no Redis that hangs ever ends a living process; two bad rounds
// leave a good state, one good round returns to it.
//
// It knows no check: package main brings them.
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

// Check is one thing to look at.
type Check struct {
	Name string
	// Run says what it found, and as an error what is wrong: a finding.Problem, which
	// leaves the state good if it only warns, or any other error. It ends when ctx
	// does, after two seconds.
	Run func(ctx context.Context) (detail string, err error)
}

// Options are what to check.
type Options struct {
	// Live is what must work for the process to be worth keeping: nothing of
	// Redis. All of it having passed once is being started.
	Live []Check
	// Ready is what must work to decide.
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

// SetAlways says whether the sidecar counts as ready whatever its checks find,
// as readiness.mode always has it: then an outage of Redis takes no pod out of
// service, and the pages say degraded.
func (h *Health) SetAlways(always bool) { h.always.Store(always) }

// readiness is the state of being ready. Degraded is that it is good by
// SetAlways alone.
func (h *Health) readiness() (good, degraded bool, found []outcome) {
	good, found = h.ready.state()
	degraded = !good && h.always.Load()
	return good || degraded, degraded, found
}

// Stop ends the checks. What was found last stays.
func (h *Health) Stop() {
	h.stop()
	h.loops.Wait()
}

// Snapshot is what was found last, for health.get and ?verbose.
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

// grade is how a check went.
type grade uint8

const (
	passed grade = iota
	warned
	failed
)

// outcome is how one check went last.
type outcome struct {
	name, detail, problem string
	grade                 grade
	known                 *finding.Problem // what problem is of, if it is one that is known
}

// text is detail and problem in one line.
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

// result is the outcome as health.get tells it.
func (o outcome) result() api.HealthCheck {
	r := api.HealthCheck{Name: o.name, OK: o.grade != failed, Detail: o.text()}
	if o.known != nil {
		r.Cause, r.Fix, r.Docs = o.known.Cause, o.known.Fix, finding.Docs(o.known.ID)
	}
	return r
}

// look runs a check within ctx, or until stopped: a read that does not see that
// its context is cancelled must not hold up Stop.
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
	// every is the time between rounds while all is well.
	every = time.Second
	// soonest is the time to the second round when the first was bad; it
	// doubles from there to every. A sidecar on a warm Redis is ready within
	// milliseconds, and one without Redis does not spin.
	soonest = 10 * time.Millisecond
	// timeout bounds one check.
	timeout = 2 * time.Second
	// stale is the age at which the last round says nothing of now any more.
	stale = 10 * time.Second
	// patience is how many bad rounds in a row leave a good state: one lost
	// probe must not take a pod out of service.
	patience = 2
)
