package redis

import (
	"context"
	"errors"
	"time"

	"github.com/redis/go-redis/v9"
)

// sha1Call is one EVALSHA. go-redis must not repeat it: in a cluster it would do so after
// redirections and lost connections, whatever MaxRetries is.
type sha1Call struct{ *redis.Cmd }

// NoRetry implements redis.Cmder.
func (sha1Call) NoRetry() bool { return true }

// read returns the error of a command that has ended, where err is what go-redis reports.
// When the connection breaks in a pipeline, go-redis sets the error on all its commands,
// also on those whose replies it had read. Only a list is certain to be complete: other
// values may have been read in part.
func (c sha1Call) read(err error) error {
	if values, ok := c.Val().([]any); ok && values != nil {
		return nil
	}
	return err
}

// send carries out a try. A try that is alone goes directly to a connection: passing it to
// the goroutine of the batches and back would double its latency. A try with a turn always
// goes in a batch, since the calls behind it are submitted after it.
func (n *node) send(ctx context.Context, t *Try) (reply any, err error) {
	running := n.running.Add(1)
	defer n.running.Add(-1)
	if t.turn != nil || !n.crowd.Alone(running > 1) {
		return n.batches.carryOut(ctx, t)
	}
	cmd := sha1Call{redis.NewCmd(ctx, t.Args...)}
	err = cmd.read(n.client.Process(ctx, cmd))
	// The connection's timer ends some microseconds before the context's.
	if due, ok := ctx.Deadline(); err != nil && ok && !time.Now().Before(due) {
		<-ctx.Done()
	}
	return cmd.Val(), err
}

// sticky sends a command and then waits for replicas over the same connection, since
// WAIT counts for the connection's own writes.
func (n *node) sticky(ctx context.Context, t *Try) (reply any, err error) {
	n.running.Add(1)
	defer n.running.Add(-1)
	cn := n.client.Conn()
	defer func() { _ = cn.Close() }()
	cmd := sha1Call{redis.NewCmd(ctx, t.Args...)}
	err = cmd.read(cn.Process(ctx, cmd))
	t.Acked = 0
	if err != nil {
		return nil, err
	}
	wait := t.Wait
	if due, ok := ctx.Deadline(); ok {
		wait = min(wait, time.Until(due))
	}
	// WAIT with 0 has no time limit.
	if n, err := cn.Wait(ctx, t.Replicas, max(wait, time.Millisecond)).Result(); err == nil {
		t.Acked = int(n)
	}
	return cmd.Val(), nil
}

// asking sends a command to a node that is about to become the slot's master. Without
// ASKING before it the node would redirect the command.
func (n *node) asking(ctx context.Context, t *Try) (reply any, err error) {
	n.running.Add(1)
	defer n.running.Add(-1)
	cmd := sha1Call{redis.NewCmd(ctx, t.Args...)}
	p := n.client.Pipeline()
	_ = p.Process(ctx, redis.NewCmd(ctx, "asking")) // both are only queued
	_ = p.Process(ctx, cmd)
	_, err = p.Exec(ctx)
	var before *unsent
	if errors.As(err, &before) { // go-redis does not set it on the commands
		return nil, err
	}
	return cmd.Val(), cmd.read(cmd.Err())
}
