package health

import (
	"context"
	"fmt"
	"log/slog"
	"slices"
	"strings"
	"sync"
	"time"
)

// probe is liveness or readiness, with its checks and its loop.
type probe struct {
	name   string // live or ready
	checks []Check
	log    *slog.Logger

	mu    sync.Mutex // guards what follows
	good  bool
	ever  bool // it was good once
	bad   int  // bad rounds in a row
	at    time.Time
	found []outcome
}

func (p *probe) loop(ctx context.Context) {
	wait := soonest
	for {
		if p.round(ctx) {
			wait = every
		}
		select {
		case <-ctx.Done():
			return
		case <-time.After(wait):
		}
		if wait *= 2; wait > every {
			wait = every
		}
	}
}

// round runs all checks at once and reports whether the state is good.
func (p *probe) round(ctx context.Context) bool {
	stopped := ctx.Done()
	ctx, cancel := context.WithTimeout(ctx, timeout)
	defer cancel()
	found := make([]outcome, len(p.checks))
	var wg sync.WaitGroup
	for i, c := range p.checks {
		wg.Go(func() { found[i] = look(ctx, stopped, c) })
	}
	wg.Wait()
	select {
	case <-stopped: // what was found last stays
		return false
	default:
	}

	p.mu.Lock()
	defer p.mu.Unlock()
	was, first := p.good, p.at.IsZero()
	p.at, p.found = time.Now(), found
	if slices.ContainsFunc(found, func(o outcome) bool { return o.grade == failed }) {
		p.bad++
		p.good = p.good && p.bad < patience
	} else {
		p.good, p.ever, p.bad = true, true, 0
	}
	if p.good != was || first {
		p.logChange()
	}
	return p.good
}

// logChange logs a change. Its caller holds p.mu, so that the lines are in the order of the changes.
func (p *probe) logChange() {
	if p.good {
		p.log.Info("health: " + p.name)
		return
	}
	p.log.Warn("health: not "+p.name, "why", strings.Join(problems(p.found, failed), "; "))
}

// state returns whether the state is good, and the results of the checks. If the loop is stuck, the
// state is bad: for liveness, that is how a stuck process is found.
func (p *probe) state() (good bool, found []outcome) {
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.at.IsZero() {
		return false, []outcome{{name: p.name, grade: failed, problem: "the checks have not run yet; ask again"}}
	}
	if age := time.Since(p.at); age > stale {
		return false, append(slices.Clone(p.found), outcome{name: p.name, grade: failed, problem: fmt.Sprintf(
			"no round of checks has ended for %s: the process hangs or gets no CPU", age.Round(time.Second))})
	}
	return p.good, p.found
}

// started is like state, but reports whether the state has been good once.
func (p *probe) started() (good bool, found []outcome) {
	good, found = p.state()
	p.mu.Lock()
	defer p.mu.Unlock()
	return good || p.ever, found
}

// problems lists the outcomes of a grade, one on each line.
func problems(found []outcome, g grade) []string {
	var lines []string
	for _, o := range found {
		if o.grade == g {
			lines = append(lines, o.name+": "+o.problem)
		}
	}
	return lines
}
