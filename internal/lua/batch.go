package lua

import (
	"context"
	"errors"
	"fmt"
	"sync"
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
// NOSCRIPT and MOVED are recovered from, by running again what met them, until
// ctx ends (5 s where it has no deadline). A pipeline whose context is cancelled
// still waits for its replies, within the command timeout.
func Batch[I, O any](ctx context.Context, r *Runner, s Script[I, O], ins []I) ([]Outcome[O], []error) {
	outs, errs := make([]Outcome[O], len(ins)), make([]error, len(ins))
	for from := 0; from < len(ins); from += batchSize {
		cmds := make([]batched, min(batchSize, len(ins)-from))
		for i := range cmds {
			cmds[i].args = command(r, s, ins[from+i], Latch{})
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

// pipeline fills in replies and errors: one pipeline for each node that has
// some of the keys, side by side.
func (r *Runner) pipeline(ctx context.Context, s *Source, cmds []batched) {
	ctx, span := r.startSpan(ctx, s)
	open := make([]*batched, len(cmds))
	for i := range cmds {
		open[i] = &cmds[i]
	}
	tries := 1
	if open = r.spread(ctx, s, open); len(open) > 0 {
		tries += r.spreadAgain(ctx, s, open)
	}
	if span != nil {
		r.endBatchSpan(span, s, cmds, tries)
	}
}

// spreadAgain sends what is worth another try until all are answered or the time
// is over, and returns how often.
func (r *Runner) spreadAgain(ctx context.Context, s *Source, open []*batched) (times int) {
	within, cancel := bounded(ctx)
	defer cancel()
	for pauses := newPauses(); len(open) > 0 && within.Err() == nil; times++ {
		if times >= quickReloads && !pause(within, pauses) {
			break
		}
		r.tel.Retry(ctx, s.Name, whyNoScript)
		open = r.spread(ctx, s, open)
	}
	return times
}

// spread sends commands once, each to its node, and returns those that are
// worth another try.
func (r *Runner) spread(ctx context.Context, s *Source, cmds []*batched) (again []*batched) {
	groups := map[*node][]*batched{}
	for _, c := range cmds {
		n, err := r.way(ctx, s, firstKey(c.args))
		if err != nil {
			c.sent, c.reply = time.Now(), nil
			c.err = (&call{s: s}).fail(ctx, classify(err))
			continue
		}
		groups[n] = append(groups[n], c)
	}
	if len(groups) == 1 {
		for n, group := range groups {
			return n.exchange(ctx, s, group)
		}
	}
	var wg sync.WaitGroup
	var mu sync.Mutex // guards again
	for n, group := range groups {
		wg.Go(func() {
			some := n.exchange(ctx, s, group)
			mu.Lock()
			defer mu.Unlock()
			again = append(again, some...)
		})
	}
	wg.Wait()
	return again
}

// way is route for a script that has not begun.
func (r *Runner) way(ctx context.Context, s *Source, key string) (*node, error) {
	if err := ctx.Err(); err != nil {
		return nil, err
	}
	n, err := r.route(ctx, key, false)
	if err != nil {
		return nil, err
	}
	if t := n.bars(s); t != nil {
		return nil, &unsent{"down", t}
	}
	return n, nil
}

// exchange sends commands once and returns those that met NOSCRIPT, once the
// scripts are loaded, and those whose slot has another master.
func (n *node) exchange(ctx context.Context, s *Source, cmds []*batched) (again []*batched) {
	sent, loads := time.Now(), n.loads.Load()
	replies, whole := n.exec(ctx, cmds)
	worst := whole
	var unloaded []*batched
	for i, c := range cmds {
		f := whole
		if f.verdict == answered {
			f = n.judge(replies[i].read(replies[i].Err()))
		}
		c.sent, c.reply, c.err = sent, nil, nil
		if f.verdict == answered {
			c.reply = replies[i].Val()
			continue
		}
		worst = f
		c.err = (&call{s: s}).fail(ctx, f)
		switch {
		case f.why == whyNoScript:
			unloaded = append(unloaded, c)
		case f.why == whyMoved && n.of.ring != nil:
			n.of.ring.redirected(f, n.addr)
			again = append(again, c)
		}
	}
	n.of.tel.Script(ctx, s.Name, worst.outcome(), time.Since(sent))
	if worst.suspect() && ctx.Err() == nil && (!worst.refused() || !n.condition.Load().refusing()) {
		n.look()
	}
	if len(unloaded) > 0 && n.reload(ctx, loads) == nil {
		again = append(again, unloaded...)
	}
	return again
}

// exec writes one pipeline and reads its replies. The failure is one of all
// commands: none of them was written.
func (n *node) exec(ctx context.Context, cmds []*batched) ([]sha1Call, failure) {
	n.running.Add(1)
	defer n.running.Add(-1)
	replies := make([]sha1Call, len(cmds))
	p := n.client.Pipeline()
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
