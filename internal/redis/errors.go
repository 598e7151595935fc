package redis

import (
	"context"
	"errors"
	"fmt"

	"github.com/redis/go-redis/v9"
)

var (
	// ErrUnavailable: Redis cannot be reached, or refused before running
	// anything. The call certainly did not run.
	ErrUnavailable = errors.New("redis is unavailable")
	// ErrMaybeExecuted: the reply was lost and the call may have run.
	ErrMaybeExecuted = errors.New("redis did not answer; the call may have been executed")
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

// Verdict is what the end of one try says about the script.
type Verdict uint8

// The verdicts. After the first three another try changes nothing.
const (
	Answered Verdict = iota // it ran and replied
	Fault                   // it failed, and fares no better by another try
	Ended                   // the caller's context ended before it was sent
	NotRun                  // it certainly did not run
	MaybeRun                // it may have run
)

// Failure is how one try ended, classified; the zero Failure is none.
type Failure struct {
	Verdict Verdict
	// Why names the trouble; it labels metrics and spans too.
	Why string
	Err error
	// Known: it was known before the try that the node refuses.
	Known bool
}

// AsError is what a caller is told whose last try ended so, nil if it was answered.
// Maybe is that an earlier try may have run; ctx is the caller's.
func (f Failure) AsError(ctx context.Context, maybe bool) error {
	over := ctx.Err()
	switch {
	case f.Verdict == Answered:
		return nil
	case maybe || f.Verdict == MaybeRun:
		if over != nil && !errors.Is(f.Err, over) {
			return fmt.Errorf("%w: %w: %w", ErrMaybeExecuted, f.trouble(), over)
		}
		return fmt.Errorf("%w: %w", ErrMaybeExecuted, f.trouble())
	case over != nil && (f.Verdict == Ended || errors.Is(over, context.Canceled)):
		return over
	case f.Verdict == NotRun:
		return fmt.Errorf("%w: %w", ErrUnavailable, f.trouble())
	default:
		return f.Err
	}
}

// outcome labels the try's time.
func (f Failure) outcome() string {
	if f.Verdict == Answered {
		return "ok"
	}
	return "error"
}

// trouble is what the failure means.
func (f Failure) trouble() *Trouble {
	var t *Trouble
	if errors.As(f.Err, &t) {
		return t
	}
	return newTrouble(f.Why, f.Err)
}

// suspect tells whether the probe has to look now.
func (f Failure) suspect() bool { return troubles[f.Why].suspect }

// Refused tells whether Redis answered, and refused.
func (f Failure) Refused() bool { return troubles[f.Why].refuses }

// at tells whether it is a failure of that step of a connection.
func (f Failure) at(step string) bool {
	var before *unsent
	return errors.As(f.Err, &before) && before.step == step
}

// classify tells what the error of one try means for the script that was tried.
func classify(err error) Failure {
	if err == nil { // before what follows, which is allocated
		return Failure{Verdict: Answered, Why: "ok"}
	}
	var before *unsent
	var wait *abandoned
	var reply redis.Error
	switch {
	case errors.As(err, &wait):
		return Failure{Verdict: MaybeRun, Why: "abandoned", Err: err}
	case errors.Is(err, redis.ErrClosed), errors.Is(err, errClosed):
		return Failure{Verdict: NotRun, Why: "closed", Err: err}
	case errors.Is(err, errBehind):
		return Failure{Verdict: NotRun, Why: whyBehind, Err: err}
	// Before the replies: a handshake that Redis refused is no reply to the script.
	case errors.As(err, &before):
		return Failure{Verdict: NotRun, Why: before.why(), Err: err}
	case errors.Is(err, redis.ErrPoolTimeout), errors.Is(err, redis.ErrPoolExhausted),
		errors.Is(err, redis.ErrAutoPipelineTimeout), errors.Is(err, redis.ErrAutoPipelineQueueFull):
		return Failure{Verdict: NotRun, Why: "pool", Err: err}
	// Reads and writes end in os.ErrDeadlineExceeded; these two come only from
	// waiting for a connection.
	case errors.Is(err, context.Canceled), errors.Is(err, context.DeadlineExceeded):
		return Failure{Verdict: Ended, Why: "ended", Err: err}
	case errors.As(err, &reply):
		return refusal(reply)
	default:
		return Failure{Verdict: MaybeRun, Why: nameOfWay("", err), Err: err}
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
func (n *node) judge(err error) Failure {
	f := classify(err)
	if n.of.ring == nil && f.Verdict == NotRun && (f.Why == whyMoved || f.Why == whyAsk) {
		f.Why = whyWrongURL
	}
	return f
}

// refusal is what a reply says that is an error. A command that is denied inside
// a script ends it in the middle.
func refusal(reply redis.Error) Failure {
	name := nameOfReply(reply)
	switch {
	case name == "":
		return Failure{Verdict: Fault, Why: "error", Err: reply}
	case insideScript(reply) && (name == whyDenied || name == whyNoCommand):
		return Failure{Verdict: MaybeRun, Why: name, Err: reply}
	}
	return Failure{Verdict: NotRun, Why: name, Err: reply}
}
