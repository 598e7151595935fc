package lua

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/cenkalti/backoff/v4"
	"github.com/redis/go-redis/v9"
)

// call is one run of a script through all its tries.
type call struct {
	s    *Source
	args []any
	// repeatable: another run counts once at most.
	repeatable bool
	// patient: it may wait for the end of an outage.
	patient bool
	// insists: it may wait for the end of refusals, too.
	insists bool

	tries int
	// troubled: at the last try it was known that the node refuses.
	troubled bool
	// refusals end what refusals may take; zero before the first of them.
	refusals time.Time
	node     *node     // of the last try
	ask      bool      // the next try goes where ASK sent it
	sent     time.Time // of the last try
	loads    uint64    // of scripts, before the last try
	// after is done on the connection of a try that was answered, see RunReplicated.
	after func(ctx context.Context, cn *redis.Conn)
	// maybe: an earlier try may have run.
	maybe bool
	// turn is the call's place among those before and behind it; nil = it has none.
	turn Turn
}

const (
	// patience bounds the retries of a call without a deadline.
	patience = 5 * time.Second
	// refusedFor is how long a call may try again that Redis answers and refuses: a
	// failover or a script that was too slow is over by then, and who has another
	// answer, or none, is not kept from it.
	refusedFor = 250 * time.Millisecond
	// toAnswer is left of a deadline to tell why the call failed.
	toAnswer = 100 * time.Millisecond
)

// run tries until there is an answer, or no further try is allowed.
func (r *Runner) run(ctx context.Context, c *call) (any, error) {
	if err := ctx.Err(); err != nil {
		return nil, err
	}
	c.turn = turnOf(ctx)
	var err error
	if c.node, err = r.route(ctx, c.key(), false); err != nil {
		return nil, c.fail(ctx, classify(err))
	}
	reply, f := r.try(ctx, c)
	if f.verdict == answered {
		return reply, nil
	}
	return r.again(ctx, c, f)
}

// try sends once.
func (r *Runner) try(ctx context.Context, c *call) (any, failure) {
	if err := ctx.Err(); err != nil {
		return nil, failure{ended, "ended", err}
	}
	if t := c.node.bars(c.s); t != nil {
		c.troubled = true
		return nil, failure{notRun, t.Name, t}
	}
	if err := c.await(ctx); err != nil {
		return nil, failure{ended, "ended", err}
	}
	c.tries++
	c.troubled = c.node.condition.Load().refusing()
	c.loads, c.sent = c.node.loads.Load(), time.Now()
	cmd := sha1Call{redis.NewCmd(ctx, c.args...)}
	f := c.node.judge(c.transmit(ctx, cmd))
	switch over := ctx.Err() != nil; {
	case f.verdict == ended && !over:
		f.verdict = notRun // a limit of the pool's own, not the caller's
	case f.at("write") && over:
		f.verdict = ended
	}
	r.tel.Script(ctx, c.s.Name, f.outcome(), time.Since(c.sent))
	if f.verdict == answered {
		if c.turn != nil {
			c.turn.Answered()
		}
		return cmd.Val(), f
	}
	// A reply that the caller's own deadline cut off says nothing about Redis.
	if ctx.Err() == nil && f.suspect() && (!c.troubled || !f.refused()) {
		c.node.look()
	}
	return nil, f
}

// transmit sends the command the way that this call needs.
func (c *call) transmit(ctx context.Context, cmd sha1Call) error {
	switch {
	case c.ask:
		return c.node.asking(ctx, cmd)
	case c.after != nil:
		return c.node.sticky(ctx, cmd, c.after)
	}
	if c.turn != nil {
		return c.node.sendInTurn(ctx, cmd, c.turn)
	}
	return c.node.send(ctx, cmd)
}

// await waits for the call's turn. What is not sent through the node's pipeline,
// and what failed once, goes when all calls ahead have ended.
func (c *call) await(ctx context.Context) error {
	switch {
	case c.turn == nil:
		return nil
	case c.tries > 0, c.ask, c.after != nil:
		return c.turn.Await(ctx, nil)
	default:
		return c.turn.Await(ctx, c.node)
	}
}

// key is what the call is routed by.
func (c *call) key() string { return firstKey(c.args) }

// firstKey of a command that command made.
func firstKey(args []any) string {
	if n, _ := args[2].(int); n > 0 {
		key, _ := args[3].(string)
		return key
	}
	return ""
}

// again decides after a failure whether to try once more, and does.
func (r *Runner) again(ctx context.Context, c *call, f failure) (any, error) {
	caller := ctx
	ctx, cancel := bounded(ctx)
	defer cancel()
	pauses := newPauses()
	for {
		c.maybe = c.maybe || f.verdict == maybeRun
		lost := f.verdict == maybeRun && !c.repeatable
		if f.verdict <= ended || lost || ctx.Err() != nil || !r.prepareWithin(ctx, c, f, pauses) {
			return nil, c.fail(caller, f)
		}
		r.tel.Retry(ctx, c.s.Name, f.why)
		reply, next := r.try(ctx, c)
		switch {
		case next.verdict == answered:
			return reply, nil
		case next.verdict == ended, next.verdict == notRun && ctx.Err() != nil:
			// The time ran out on the way there; the failure before says more.
			return nil, c.fail(caller, f)
		}
		f = next
	}
}

// bounded is ctx with a deadline.
func bounded(ctx context.Context) (context.Context, context.CancelFunc) {
	if _, ok := ctx.Deadline(); ok {
		return context.WithCancel(ctx)
	}
	return context.WithTimeout(ctx, patience)
}

// newPauses are the pauses between tries: about 4 ms at first, 250 ms at most.
func newPauses() backoff.BackOff {
	return backoff.NewExponentialBackOff(
		backoff.WithInitialInterval(4*time.Millisecond), backoff.WithMaxInterval(250*time.Millisecond),
		backoff.WithMultiplier(2), backoff.WithRandomizationFactor(0.5), backoff.WithMaxElapsedTime(0))
}

// pause waits for the next of pauses; false when ctx ended first.
func pause(ctx context.Context, pauses backoff.BackOff) bool {
	timer := time.NewTimer(pauses.NextBackOff())
	defer timer.Stop()
	select {
	case <-timer.C:
		return true
	case <-ctx.Done():
		return false
	}
}

// quickReloads is how often NOSCRIPT is answered without a pause: more often
// means that somebody flushes scripts as fast as they are loaded, or that they
// are loaded into another server than the one that runs them; and MOVED, that
// the nodes of a cluster do not agree.
const quickReloads = 3

// prepareWithin is prepare within the time that refusals may take.
func (r *Runner) prepareWithin(ctx context.Context, c *call, f failure, pauses backoff.BackOff) bool {
	if !f.refused() {
		return r.prepare(ctx, c, f, pauses)
	}
	if c.refusals.IsZero() {
		c.refusals = time.Now().Add(refusedFor)
		if due, ok := ctx.Deadline(); ok && c.insists {
			c.refusals = due.Add(-min(toAnswer, time.Until(due)/10))
		}
	}
	if c.troubled && !c.insists {
		return false // it is known already
	}
	ctx, cancel := context.WithDeadline(ctx, c.refusals)
	defer cancel()
	return c.node.settled(ctx) && r.prepare(ctx, c, f, pauses)
}

// settled waits until the probe has looked and, if it finds that the node refuses,
// until it does no more; false when ctx ended first. So a thousand calls that are
// refused at once ask once, and not each for itself.
func (n *node) settled(ctx context.Context) bool {
	looked := n.round.Load().over
	if !n.condition.Load().refusing() {
		n.look()
		select {
		case <-looked:
		case <-n.ctx.Done(): // the probe looks no more
			return false
		case <-ctx.Done():
			return false
		}
	}
	c := n.condition.Load()
	if !c.refusing() {
		return true
	}
	select {
	case <-c.changed:
		return true
	case <-ctx.Done():
		return false
	}
}

// prepare waits until another try makes sense; false when the time is over.
func (r *Runner) prepare(ctx context.Context, c *call, f failure, pauses backoff.BackOff) bool {
	c.ask = false
	quick := c.tries <= quickReloads
	switch {
	case f.why == whyNoScript:
		// Its own failure shows in the next try.
		_ = c.node.reload(ctx, c.loads)
	case f.why == whyBehind:
		// It waits for the call ahead, however long.
		quick = true
	case f.why == whyAsk && r.ring != nil:
		if n := r.ring.redirected(f, c.node.addr); n != nil {
			c.ask, c.node = true, n
			return true
		}
	case f.why == whyMoved && r.ring != nil:
		r.ring.redirected(f, c.node.addr)
	default:
		quick = false
		if f.why == whyCluster && r.ring != nil {
			r.ring.look()
		}
	}
	if !quick && !pause(ctx, pauses) {
		return false
	}
	// It was under way when the outage came, so it may wait for its end.
	n, err := r.route(ctx, c.key(), c.patient)
	c.node = n
	return err == nil
}

// fail makes the error of a call out of its last failure.
func (c *call) fail(ctx context.Context, f failure) error {
	over := ctx.Err()
	switch {
	case c.maybe || f.verdict == maybeRun:
		if over != nil && !errors.Is(f.err, over) {
			return fmt.Errorf("%w: %w: %w", ErrMaybeExecuted, f.trouble(), over)
		}
		return fmt.Errorf("%w: %w", ErrMaybeExecuted, f.trouble())
	case over != nil && (f.verdict == ended || errors.Is(over, context.Canceled)):
		return over
	case f.verdict == notRun:
		return fmt.Errorf("%w: %w", ErrUnavailable, f.trouble())
	default:
		return f.err
	}
}
