package lua

import (
	"context"
	"errors"
	"time"

	"github.com/redis/go-redis/v9"
)

// RunReplicated is Run, and then waits on the same connection until so many
// replicas have what the script wrote, for at most wait and no longer than ctx.
// Acked is how many have; it is 0 as well when that could not be learned, and on
// the embedded store, which has no replicas, and where none are asked for.
//
// The error is that of the script: too few replicas are none.
func RunReplicated[I, O any](
	ctx context.Context, r *Runner, s Script[I, O], in I, latch Latch, replicas int, wait time.Duration,
) (out Outcome[O], acked int, err error) {
	after := func(ctx context.Context, cn *redis.Conn) {
		acked = 0
		if due, ok := ctx.Deadline(); ok {
			wait = min(wait, time.Until(due))
		}
		// 0 would wait without end.
		n, err := cn.Wait(ctx, replicas, max(wait, time.Millisecond)).Result()
		if err == nil {
			acked = int(n)
		}
	}
	if r.topology == Embedded || replicas == 0 {
		after = nil
	}
	out, err = execute(ctx, r, s, in, latch, call{patient: true, after: after})
	return out, acked, err
}

// sticky sends a command over a connection that is kept for what comes after
// its answer.
func (n *node) sticky(ctx context.Context, cmd sha1Call, after func(context.Context, *redis.Conn)) error {
	n.running.Add(1)
	defer n.running.Add(-1)
	cn := n.client.Conn()
	defer func() { _ = cn.Close() }()
	err := cmd.read(cn.Process(ctx, cmd))
	if err == nil {
		after(ctx, cn)
	}
	return err
}

// asking sends a command to a node that is about to become the slot's master,
// and runs it only when told that this is known.
func (n *node) asking(ctx context.Context, cmd sha1Call) error {
	n.running.Add(1)
	defer n.running.Add(-1)
	p := n.client.Pipeline()
	_ = p.Process(ctx, redis.NewCmd(ctx, "asking")) // both are only queued
	_ = p.Process(ctx, cmd)
	_, err := p.Exec(ctx)
	var before *unsent
	if errors.As(err, &before) { // it is not told to the commands
		return err
	}
	return cmd.read(cmd.Err())
}
