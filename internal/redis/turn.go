package redis

import (
	"context"
	"errors"
)

// Turn is the place of a call among those that have to take effect in the order in
// which they came. Redis executes what one connection sends in order, and the
// pipeline of a node sends in the order of submission, one batch after the other.
// So it is enough that a call is submitted after the one ahead of it, and none has
// to wait for the answer of another, as long as no try fails.
//
// Its methods may be called from any goroutine, and do nothing once the call ended.
type Turn interface {
	// Await returns nil when the call ahead was submitted to the same pipeline, via,
	// or has ended; with a nil via, when all calls ahead have ended.
	Await(ctx context.Context, via any) error
	// Sent lets the call behind be submitted to the same pipeline.
	Sent(via any)
	// Failed keeps back the calls behind until this one, which may be tried again,
	// has ended.
	Failed()
	// Behind reports whether the call ahead failed and has not ended.
	Behind() bool
	// Answered says that Redis has answered the first script of the call.
	Answered()
}

type turnKey struct{}

// WithTurn makes the scripts that are run with the context wait for their turn.
func WithTurn(ctx context.Context, t Turn) context.Context {
	return context.WithValue(ctx, turnKey{}, t)
}

func turnOf(ctx context.Context) Turn {
	t, _ := ctx.Value(turnKey{}).(Turn)
	return t
}

// PassOn lets the calls behind go on, as an answer of Redis to the call's first script
// does.
func PassOn(ctx context.Context) {
	if t := turnOf(ctx); t != nil {
		t.Answered()
	}
}

// errBehind ends a try that was kept back: the call ahead, sent in a batch before,
// failed and may be tried again.
var errBehind = errors.New("the call ahead of it failed")

// keptBack is sent in place of a script that is kept back. No script's answer is this
// text.
var keptBack = []any{"echo", "coxswain: kept back"}

// inTurn is a script's command that looks, when its batch is written, whether the
// call ahead failed in a batch before: by then the caller is asleep, and a hook of
// go-redis would make each wait for a reply look up its goroutine.
type inTurn struct {
	sha1Call
	turn Turn
}

// Args is called when the command is written, and to estimate its size.
func (c *inTurn) Args() []any {
	if c.turn.Behind() {
		c.turn.Failed()
		return keptBack
	}
	return c.sha1Call.Args()
}

// SetErr is called, before the next batch is written, with how the try ended.
func (c *inTurn) SetErr(err error) {
	if f := classify(err); f.Verdict == NotRun || f.Verdict == MaybeRun {
		c.turn.Failed()
	}
	c.sha1Call.SetErr(err)
}

// outcome is the error of a try that is over.
func (c *inTurn) outcome(err error) error {
	if err == nil && c.Val() == keptBack[1] {
		return errBehind
	}
	return c.read(err)
}

// sendInTurn is send for a call that others may be behind of.
func (n *node) sendInTurn(ctx context.Context, cmd sha1Call, turn Turn) error {
	n.running.Add(1)
	defer n.running.Add(-1)
	c := &inTurn{cmd, turn}
	run := n.pipe.Submit(ctx, c)
	turn.Sent(n)
	err := run.WaitContext(ctx)
	if over := ctx.Err(); over != nil && err == over { //nolint:errorlint // WaitContext returns it as it is
		return &abandoned{err, run}
	}
	return c.outcome(err)
}
