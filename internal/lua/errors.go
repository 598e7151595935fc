package lua

import (
	"context"
	"errors"

	"github.com/redis/go-redis/v9"
)

var (
	// ErrUnavailable: Redis cannot be reached, or refused before running
	// anything. The call certainly did not run.
	ErrUnavailable = errors.New("redis is unavailable")
	// ErrMaybeExecuted: the reply was lost and the call may have run.
	ErrMaybeExecuted = errors.New("redis did not answer; the call may have been executed")
	// ErrConflict: the request id was used with other parameters.
	ErrConflict = errors.New("the request id was used before with other parameters")
)

// errClosed is the cause of ErrUnavailable once Close was called.
var errClosed = errors.New("the connection was closed by its owner")

// errRetired ends the connections to a node that is no master any more.
var errRetired = errors.New("the node left the cluster's masters")

// unsent is a failure to make a connection usable: no script ran over it. It
// unwraps to a list, because go-redis strips one layer of errors.Unwrap from
// what a handshake returns, and the type must survive that.
type unsent struct {
	step string // dial, setup, write or down
	err  error
}

func (u *unsent) Error() string   { return u.step + ": " + u.err.Error() }
func (u *unsent) Unwrap() []error { return []error{u.err} }

// abandoned is the end of the caller's context while its command was queued or
// under way; the command may still be written later, and must not be read.
type abandoned struct {
	err error
	run redis.AutoFuture
}

// Settle waits until the run that err says was given up is over, or ctx is: what
// undoes it goes over another connection and would else overtake it. It returns
// at once for any other error.
func Settle(ctx context.Context, err error) {
	var a *abandoned
	if errors.As(err, &a) {
		_ = a.run.WaitContext(ctx) // how it ended changes nothing
	}
}

func (a *abandoned) Error() string { return "the wait was abandoned: " + a.err.Error() }
func (a *abandoned) Unwrap() error { return a.err }

// verdict is what a failure of one try says about the script.
type verdict uint8

const (
	answered verdict = iota // it ran and replied
	fault                   // it failed, and fares no better by another try
	ended                   // the caller's context ended before it was sent
	notRun                  // it certainly did not run
	maybeRun                // it may have run
)

// failure is one try, classified.
type failure struct {
	verdict verdict
	// why names the trouble; it labels metrics and spans too.
	why string
	err error
}

// outcome labels the try's time.
func (f failure) outcome() string {
	if f.verdict == answered {
		return "ok"
	}
	return "error"
}

// trouble is what the failure means.
func (f failure) trouble() *Trouble {
	var t *Trouble
	if errors.As(f.err, &t) {
		return t
	}
	return newTrouble(f.why, f.err)
}

// suspect tells whether the probe has to look now.
func (f failure) suspect() bool { return troubles[f.why].suspect }

// refused tells whether Redis answered, and refused.
func (f failure) refused() bool { return troubles[f.why].refuses }

// at tells whether it is a failure of that step of a connection.
func (f failure) at(step string) bool {
	var before *unsent
	return errors.As(f.err, &before) && before.step == step
}

// classify tells what the error of one try means for the script that was tried.
func classify(err error) failure {
	if err == nil { // before what follows, which is allocated
		return failure{verdict: answered, why: "ok"}
	}
	var before *unsent
	var wait *abandoned
	var reply redis.Error
	switch {
	case errors.As(err, &wait):
		return failure{maybeRun, "abandoned", err}
	case errors.Is(err, redis.ErrClosed), errors.Is(err, errClosed):
		return failure{notRun, "closed", err}
	case errors.Is(err, errBehind):
		return failure{notRun, whyBehind, err}
	// Before the replies: a handshake that Redis refused is no reply to the script.
	case errors.As(err, &before):
		return failure{notRun, before.why(), err}
	case errors.Is(err, redis.ErrPoolTimeout), errors.Is(err, redis.ErrPoolExhausted),
		errors.Is(err, redis.ErrAutoPipelineTimeout), errors.Is(err, redis.ErrAutoPipelineQueueFull):
		return failure{notRun, "pool", err}
	// Reads and writes end in os.ErrDeadlineExceeded; these two come only from
	// waiting for a connection.
	case errors.Is(err, context.Canceled), errors.Is(err, context.DeadlineExceeded):
		return failure{ended, "ended", err}
	case errors.As(err, &reply):
		return refusal(reply)
	default:
		return failure{maybeRun, nameOfWay("", err), err}
	}
}

// why names what kept a connection from being used.
func (u *unsent) why() string {
	var t *Trouble
	var reply redis.Error
	switch {
	case errors.As(u.err, &t):
		return t.Name
	case errors.As(u.err, &reply):
		if name := nameOfReply(reply); name != "" {
			return name
		}
	}
	return nameOfWay(u.step, u.err)
}

// judge is classify for an error that this node gave. A redirection is followed
// in a cluster only: elsewhere the URL is of the wrong kind, and stays so.
func (n *node) judge(err error) failure {
	f := classify(err)
	if n.of.ring == nil && f.verdict == notRun && (f.why == whyMoved || f.why == whyAsk) {
		f.why = whyWrongURL
	}
	return f
}

// refusal is what a reply says that is an error. A command that is denied inside
// a script ends it in the middle.
func refusal(reply redis.Error) failure {
	name := nameOfReply(reply)
	switch {
	case name == "":
		return failure{fault, "error", reply}
	case insideScript(reply) && (name == whyDenied || name == whyNoCommand):
		return failure{maybeRun, name, reply}
	}
	return failure{notRun, name, reply}
}
