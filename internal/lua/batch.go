package lua

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/redis/go-redis/v9"
)

// batchSize bounds one pipeline: its replies are read only after it is written.
const batchSize = 256

// Batch executes a script for each input in one pipeline, without a latch and
// without retries: the caller repeats what failed. Outcomes and errors are in
// the order of ins.
//
// More than 256 inputs go in several pipelines, one after the other. Only
// NOSCRIPT is recovered from, by running again what met it. A pipeline whose
// context is cancelled still waits for its replies, within the command timeout.
func Batch[I Input, O any](ctx context.Context, r *Runner, s Script[I, O], ins []I) ([]Outcome[O], []error) {
	outs, errs := make([]Outcome[O], len(ins)), make([]error, len(ins))
	for from := 0; from < len(ins); from += batchSize {
		cmds := make([]batched, min(batchSize, len(ins)-from))
		for i := range cmds {
			cmds[i].args = command(r, s.Source, ins[from+i], Latch{})
		}
		r.pipeline(ctx, s.Source, cmds)
		for i, c := range cmds {
			out, err := &outs[from+i], c.err
			out.Sent = c.sent
			if err == nil {
				out.Value, out.Replayed, err = decode(s, c.reply)
			}
			if err != nil {
				errs[from+i] = fmt.Errorf("script %s: %w", s.Name, err)
			}
		}
	}
	return outs, errs
}

// batched is one run of a batch.
type batched struct {
	args  []any
	reply any
	sent  time.Time
	err   error
}

// pipeline fills in replies and errors.
func (r *Runner) pipeline(ctx context.Context, s *Source, cmds []batched) {
	ctx, span := r.startSpan(ctx, s)
	open := make([]*batched, len(cmds))
	for i := range cmds {
		open[i] = &cmds[i]
	}
	tries := 0
	for len(open) > 0 {
		tries++
		loads := r.loads.Load()
		open = r.exchange(ctx, s, open)
		if len(open) == 0 || tries > quickReloads || r.reload(ctx, loads) != nil {
			break
		}
		r.tel.Retry(ctx, s.Name, whyNoScript)
	}
	if span != nil {
		r.endBatchSpan(span, s, cmds, tries)
	}
}

// exchange sends commands once and returns those that met NOSCRIPT.
func (r *Runner) exchange(ctx context.Context, s *Source, cmds []*batched) (again []*batched) {
	sent := time.Now()
	replies, whole := r.exec(ctx, cmds)
	worst := whole
	for i, c := range cmds {
		f := whole
		if f.verdict == answered {
			f = classify(replies[i].read(replies[i].Err()))
		}
		c.sent, c.reply, c.err = sent, nil, nil
		if f.verdict == answered {
			c.reply = replies[i].Val()
			continue
		}
		worst = f
		c.err = (&call{s: s}).fail(ctx, f)
		if f.why == whyNoScript {
			again = append(again, c)
		}
	}
	r.tel.Script(ctx, s.Name, worst.outcome(), time.Since(sent))
	if worst.suspect() && ctx.Err() == nil {
		r.look()
	}
	return again
}

// exec writes one pipeline and reads its replies. The failure is one of all
// commands: none of them was written.
func (r *Runner) exec(ctx context.Context, cmds []*batched) ([]sha1Call, failure) {
	if err := ctx.Err(); err != nil {
		return nil, failure{ended, "ended", err}
	}
	if err := r.gate(ctx, false); err != nil {
		return nil, failure{notRun, "down", err}
	}
	replies := make([]sha1Call, len(cmds))
	p := r.client.Pipeline()
	for i, c := range cmds {
		replies[i] = sha1Call{redis.NewCmd(ctx, c.args...)}
		_ = p.Process(ctx, replies[i]) // it only queues
	}
	_, err := p.Exec(ctx)
	// A handshake that Redis refused is not told to the commands.
	var before *unsent
	if errors.As(err, &before) {
		return nil, classify(err)
	}
	return replies, failure{}
}
