package lua

import (
	"context"
	"time"

	"github.com/coxswain-sidecar/coxswain/internal/redis"
)

// Asked is a run of a script for whose first try no goroutine waits: Ask prepares it,
// Submit sends it, and Answer returns its outcome once it has ended. It may be used again for
// another run.
type Asked struct {
	call
	runner *Runner
}

// Ready finds the server for the run and returns the pipeline that keeps the order of the runs
// submitted to it. Nil = the run cannot be submitted now: see redis.Store.Ready.
func (a *Asked) Ready() (via any) { return a.runner.Ready(&a.Try) }

// Ask prepares in a the run of a script that RunAs would execute.
func Ask[I, O any](r *Runner, s Script[I, O], in I, stored StoredReply, p Patience, a *Asked) {
	a.patient, a.insists = p.flags()
	a.runner, a.Tries, a.maybe, a.refusals = r, 0, false, time.Time{}
	a.Replicas, a.Wait, a.Acked = 0, 0, 0
	fill(r, s, in, stored, &a.call)
}

// Answered reports whether the first try was submitted and has its reply, so that Answer will
// not block.
func (a *Asked) Answered() bool { return a.Tries > 0 && a.Failure.Verdict == redis.Answered }

// Answer returns the outcome of a run whose first try has ended or was abandoned. If that try
// got no reply, Answer continues as Run does, for as long as ctx allows. A run that was not
// submitted is executed.
func Answer[I, O any](ctx context.Context, r *Runner, s Script[I, O], a *Asked) (Outcome[O], error) {
	if a.Tries == 0 {
		return carryOut(ctx, r, s, &a.call)
	}
	reply, err := a.Reply, error(nil)
	if !a.Answered() {
		reply, err = r.again(ctx, &a.call)
	}
	a.Reply = nil
	return outcome(s, &a.call, reply, err)
}

// Forget drops the arguments, the reply and the failure of a run. It keeps the memory of the
// arguments for the next one, unless a batch may still read them.
func (a *Asked) Forget() {
	if a.Failure.Verdict != redis.Answered {
		a.Args = nil
	}
	clear(a.Args)
	a.Reply, a.Failure, a.Tries = nil, redis.Failure{}, 0
}
