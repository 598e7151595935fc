package chaostest

import (
	"context"
	"maps"
	"slices"
	"strings"
	"time"

	"github.com/coxswain-sidecar/coxswain/client"
)

// noun is the part of a run that is about one noun, apart from locks and limits.
type noun struct {
	// roles returns the tasks of this noun for workers of one sidecar, one for each worker.
	roles func(*worker) []func(context.Context)
	// config returns its part of the sidecars' configuration; may be nil.
	config func() string
	// before is called once before the workers begin; may be nil.
	before func(context.Context, *client.Client) error
	// after returns checks, by their subjects, that must succeed when all work is done; may be nil.
	after func(*run) map[string]func(context.Context, *client.Client) error
	// judge applies its rules to the history. losses and intact are those of the run.
	judge func(r *run, losses int, intact time.Duration) []Violation
	// shows returns counts, by what they count. If any is 0, the run shows nothing.
	shows func(*History) map[string]int
}

// nouns are all nouns of a run.
var nouns = []noun{
	breakerNoun,
	permitNoun,
	poolNoun,
	queueNoun,
	semaphoreNoun,
	streamNoun,
}

// rolesOfNouns returns the roles of all nouns.
func rolesOfNouns(w *worker) []func(context.Context) {
	var all []func(context.Context)
	for _, n := range nouns {
		all = append(all, n.roles(w)...)
	}
	return all
}

// config returns the sidecars' configuration, which has what calls cannot give.
func config() string {
	var b strings.Builder
	for _, n := range nouns {
		if n.config != nil {
			b.WriteString(n.config())
		}
	}
	return b.String()
}

// beforeWork makes the objects that the workers of nouns use.
func beforeWork(ctx context.Context, s *Sidecar) error {
	c, err := client.Dial(ctx, client.Options{Socket: s.Socket(), Client: "chaos", Instance: "before"})
	if err != nil {
		return err
	}
	defer func() { _ = c.Close() }()
	for _, n := range nouns {
		if n.before == nil {
			continue
		}
		if err := n.before(ctx, c); err != nil {
			return err
		}
	}
	return nil
}

// judgeNouns applies the rules of all nouns.
func (r *run) judgeNouns(losses int, intact time.Duration) []Violation {
	var found []Violation
	for _, n := range nouns {
		found = append(found, n.judge(r, losses, intact)...)
	}
	return found
}

// idleNouns reports nouns of which nothing happened in the run, as idle does.
func (r *run) idleNouns() []Violation {
	var found []Violation
	for _, n := range nouns {
		shows := n.shows(r.history)
		for _, what := range slices.Sorted(maps.Keys(shows)) {
			if shows[what] == 0 {
				found = append(found, Violation{Rule: "work", What: what + ": there were none: the run shows nothing"})
			}
		}
	}
	return found
}

// granted counts the grants of these names.
func granted(h *History, names ...string) map[string]int {
	n := make(map[string]int)
	for _, name := range names {
		n["grants of "+name] = 0
	}
	for _, g := range h.Grants() {
		if slices.Contains(names, g.Name) {
			n["grants of "+g.Name]++
		}
	}
	return n
}

// until repeats a question until it returns no error, or ctx ends.
func until(ctx context.Context, question func() error) error {
	for {
		err := question()
		if err == nil {
			return nil
		}
		select {
		case <-time.After(20 * time.Millisecond):
		case <-ctx.Done():
			return err
		}
	}
}
