package lua

import (
	"context"
	"fmt"

	"github.com/coxswain-sidecar/coxswain/internal/redis"
)

// batchSize bounds one pipeline: its replies are read only after it is written.
const batchSize = 256

// Batch executes a script for each input in one pipeline, without a stored reply and
// without retries: the caller repeats what failed. Outcomes and errors are in
// the order of ins.
//
// More than 256 inputs go in several pipelines, one after the other. Only runs
// that failed with NOSCRIPT or MOVED are sent again, until ctx ends (5 s if it
// has no deadline). A pipeline whose context is cancelled still waits for its
// replies, within the command timeout.
func Batch[I, O any](ctx context.Context, r *Runner, s Script[I, O], ins []I) ([]Outcome[O], []error) {
	return BatchOnce(ctx, r, s, ins, nil)
}

// BatchOnce is Batch with request ids: stored has the stored reply of each of ins, nil means that none has one. A run that
// failed can be repeated by Run with the same stored reply.
func BatchOnce[I, O any](ctx context.Context, r *Runner, s Script[I, O], ins []I, stored []StoredReply) ([]Outcome[O], []error) {
	outs, errs := make([]Outcome[O], len(ins)), make([]error, len(ins))
	for from := 0; from < len(ins); from += batchSize {
		runs := make([]batched, min(batchSize, len(ins)-from))
		for i := range runs {
			var one StoredReply
			if stored != nil {
				one = stored[from+i]
			}
			runs[i].Try = redis.Try{Args: command(r, s, ins[from+i], one, nil), Script: s.Name, Runs: s.commands}
		}
		r.batch(ctx, s.Source, runs)
		for i := range runs {
			b, out, err := &runs[i], &outs[from+i], runs[i].err
			out.Sent = b.Sent
			if err == nil {
				out.Value, out.Replayed, err = decode(s, b.Reply)
			}
			if err != nil {
				errs[from+i] = fmt.Errorf("script %s: %w", s.Name, err)
			}
		}
	}
	return outs, errs
}

// batched is one run of a batch, with the error of its last try.
type batched struct {
	redis.Try
	err error
}

// batch sends the runs until none has to be sent again.
func (r *Runner) batch(ctx context.Context, s *Source, runs []batched) {
	ctx, span := r.startSpan(ctx, s)
	open := make([]*batched, len(runs))
	for i := range runs {
		open[i] = &runs[i]
	}
	tries := 1
	if open = r.exchange(ctx, open); len(open) > 0 {
		tries += r.exchangeAgain(ctx, s, open)
	}
	if span != nil {
		r.endBatchSpan(span, s, runs, tries)
	}
}

// exchangeAgain sends runs again until none has to be sent again or the time is over. It
// returns how often it sent.
func (r *Runner) exchangeAgain(ctx context.Context, s *Source, open []*batched) (times int) {
	within, cancel := bounded(ctx)
	defer cancel()
	for pauses := newPauses(); len(open) > 0 && within.Err() == nil; times++ {
		if times >= quickTries && !pause(within, pauses) {
			break
		}
		r.tel.Retry(ctx, s.Name, open[0].Failure.Why)
		open = r.exchange(ctx, open)
	}
	return times
}

// exchange sends runs once and returns those that have to be sent again.
func (r *Runner) exchange(ctx context.Context, open []*batched) (again []*batched) {
	tries := make([]*redis.Try, len(open))
	for i, b := range open {
		tries[i] = &b.Try
	}
	r.Exchange(ctx, tries)
	for _, b := range open {
		b.err = b.Failure.AsError(ctx, false)
		if b.Again {
			again = append(again, b)
		}
	}
	return again
}
