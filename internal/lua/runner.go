package lua

import (
	"errors"
	"strings"

	"github.com/coxswain-sidecar/coxswain/internal/redis"
	"github.com/coxswain-sidecar/coxswain/internal/telemetry"
)

// ErrConflict: the request id was used with other parameters.
var ErrConflict = errors.New("the request id was used before with other parameters")

// Options are the store's: whoever only runs scripts needs no other package to open
// one.
type Options = redis.Options

// Runner executes scripts on one store.
type Runner struct {
	*redis.Store
	tel   *telemetry.Telemetry
	clock func() int64 // instead of the server's, if it is set
}

// Open opens a store that has all scripts loaded, and makes its runner. Redis being
// away is a state, not an error. It fails only on options that can never work.
func Open(o Options) (*Runner, error) {
	if o.Telemetry == nil {
		o.Telemetry = telemetry.Nop()
	}
	r := &Runner{tel: o.Telemetry, clock: o.Clock}
	var err error
	r.Store, err = redis.Open(o, r.scripts())
	if err != nil {
		return nil, err
	}
	return r, nil
}

// scripts are the texts and names of all scripts, for the store to load.
func (r *Runner) scripts() redis.Scripts {
	var all redis.Scripts
	for _, s := range scripts {
		text, sha := r.made(s)
		all.Texts, all.SHAs = append(all.Texts, text), append(all.SHAs, sha)
	}
	all.Commands = commandsOf(strings.Join(all.Texts, "\n"))
	return all
}

// made is a script as it is run here, and its name for EVALSHA.
func (r *Runner) made(s *Source) (text, sha string) {
	if r.clock != nil {
		return s.clocked()
	}
	return s.plain()
}
