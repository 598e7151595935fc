package redis

import (
	"context"
	"errors"
)

// Turn is the position of a call among calls that have to take effect in the order in
// which they came. Redis executes the commands of one connection in order, and the
// pipeline of a node sends them in the order of submission, batch by batch. So it is
// enough to submit a call after the one ahead of it; no call waits for the reply to
// another as long as no try fails.
//
// Its methods may be called from any goroutine, and do nothing once the call has ended.
type Turn interface {
	// Await waits until the call ahead was submitted to the pipeline via or has ended.
	// If via is nil, it waits until all calls ahead have ended.
	Await(ctx context.Context, via any) error
	// Sent lets the call behind be submitted to the same pipeline.
	Sent(via any)
	// Failed stops the calls behind until this call has ended: it may be tried again.
	Failed()
	// Behind reports whether the call ahead failed and has not ended.
	Behind() bool
	// Answered is called when Redis has replied to the first script of the call.
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

// PassOn lets the calls behind continue, as the reply to the call's first script does.
func PassOn(ctx context.Context) {
	if t := turnOf(ctx); t != nil {
		t.Answered()
	}
}

// errBehind is the error of a try that was not sent, because the call ahead of it,
// which was in an earlier batch, failed and may be tried again.
var errBehind = errors.New("the call ahead of it failed")
