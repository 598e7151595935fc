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

// probe is one question with its checks and its loop.
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

// round runs all checks side by side and reports whether the state is good.
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
		p.tell()
	}
	return p.good
}

// tell logs a change. Its caller holds p.mu: a line that came after the next
// change would lie.
func (p *probe) tell() {
	if p.good {
		p.log.Info("health: " + p.name)
		return
	}
	p.log.Warn("health: not "+p.name, "why", strings.Join(problems(p.found, failed), "; "))
}

// state is whether the answer is yes, and what it rests on. A loop that stands
// still answers no: for liveness that is how a stuck process is found.
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

// started is like state for having been good once.
func (p *probe) started() (good bool, found []outcome) {
	good, found = p.state()
	p.mu.Lock()
	defer p.mu.Unlock()
	return good || p.ever, found
}

// problems lists the outcomes of a grade, one line each.
func problems(found []outcome, g grade) []string {
	var lines []string
	for _, o := range found {
		if o.grade == g {
			lines = append(lines, o.name+": "+o.problem)
		}
	}
	return lines
}
