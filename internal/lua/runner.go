package lua

import (
	"errors"
	"slices"
	"sync"

	"github.com/coxswain-sidecar/coxswain/internal/redis"
	"github.com/coxswain-sidecar/coxswain/internal/telemetry"
)

// ErrConflict: the request id was used with other parameters.
var ErrConflict = errors.New("the request id was used before with other parameters")

// Options are those of the store, so that packages that only run scripts need not import
// package redis to open one.
type Options = redis.Options

// Runner executes scripts on one store.
type Runner struct {
	*redis.Store
	tel   *telemetry.Telemetry
	clock func() int64 // instead of the server's, if it is set
	// alone is set if runs are never combined. For the embedded store that gains nothing,
	// since it is in this process, and it takes long to load a script.
	alone bool
}

// Open opens a store that loads all scripts, and makes its runner. An unreachable Redis
// is a state, not an error. It fails only on options that can never work.
func Open(o Options) (*Runner, error) {
	if o.Telemetry == nil {
		o.Telemetry = telemetry.Nop()
	}
	r := &Runner{tel: o.Telemetry, clock: o.Clock, alone: o.URL == redis.Embedded}
	var err error
	r.Store, err = redis.Open(o, r.scripts())
	if err != nil {
		return nil, err
	}
	return r, nil
}

// scripts returns the texts and names of all scripts, which the store loads. Texts are
// assembled concurrently, since a start waits for them.
func (r *Runner) scripts() redis.Scripts {
	var all redis.Scripts
	add := func(s *Source, f form) {
		t := s.form(f, r.clock != nil)
		all.Texts, all.SHAs = append(all.Texts, t.body), append(all.SHAs, t.sha)
	}
	var assembled sync.WaitGroup
	for _, s := range scripts {
		assembled.Go(func() {
			r.many(s)
			s.form(forOne, r.clock != nil)
			s.commands()
		})
	}
	assembled.Wait()
	for _, s := range scripts {
		add(s, forOne)
		if s.takes() > 0 && !r.alone {
			add(s, forMany)
		}
		all.Commands = append(all.Commands, s.commands()...)
	}
	slices.Sort(all.Commands)
	all.Commands = slices.Compact(all.Commands)
	return all
}

// many returns the name for EVALSHA of a script's form for many items; empty for a script
// that is never run for many.
func (r *Runner) many(s *Source) string {
	if r.alone || s.takes() == 0 {
		return ""
	}
	return s.form(forMany, r.clock != nil).sha
}
