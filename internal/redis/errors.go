package redis

import (
	"context"
	"errors"
	"fmt"

	"github.com/redis/go-redis/v9"
)

var (
	// ErrUnavailable: Redis cannot be reached, or refused before it ran
	// anything. The call certainly did not run.
	ErrUnavailable = errors.New("redis is unavailable")
	// ErrMaybeExecuted: the reply was lost and the call may have run.
	ErrMaybeExecuted = errors.New("redis did not answer; the call may have been executed")
)

// errClosed is the cause of ErrUnavailable after Close.
var errClosed = errors.New("the connection was closed by its owner")

// errRetired is why calls fail on a node that is not a master any more.
var errRetired = errors.New("the node left the cluster's masters")

// errAnotherMaster is why connections end when the sentinels name another master.
var errAnotherMaster = errors.New("the sentinels name another master")

// unsent is a failure before anything was sent: the connection could not be made or
// used, and no script ran over it. Unwrap returns a list, because go-redis strips one
// layer of errors.Unwrap from what a handshake returns.
type unsent struct {
	step string // dial, setup, write or down
	err  error
}

func (u *unsent) Error() string   { return u.step + ": " + u.err.Error() }
func (u *unsent) Unwrap() []error { return []error{u.err} }

// abandoned is the error of a wait that the caller's context ended while the command
// was under way. Its reply may still come, and is dropped.
type abandoned struct {
	err  error
	done <-chan struct{} // closed when the run has ended
}

// Settle waits until the abandoned run of err has ended, or ctx has. Call it before a
// call that undoes the run: that call goes over another connection and could be
// executed first. For any other error it returns at once.
func Settle(ctx context.Context, err error) {
	var a *abandoned
	if errors.As(err, &a) {
		select {
		case <-a.done: // how it ended changes nothing
		case <-ctx.Done():
		}
	}
}

func (a *abandoned) Error() string { return "the wait was abandoned: " + a.err.Error() }
func (a *abandoned) Unwrap() error { return a.err }

// Verdict is whether the script of a try has run.
type Verdict uint8

// The verdicts. After the first three another try is of no use.
const (
	Answered Verdict = iota // it ran and replied
	Fault                   // it failed, and another try would fail too
	Ended                   // the caller's context ended before it was sent
	NotRun                  // it certainly did not run
	MaybeRun                // it may have run
)

// Failure is how one try ended. The zero Failure means that Redis replied.
type Failure struct {
	Verdict Verdict
	// Why is the name of the trouble, which also labels metrics and spans.
	Why string
	Err error
	// Known is set if the node was known to refuse before the try.
	Known bool
}

// AsError is the error that a call returns if its last try ended so; nil if Redis replied.
// ctx is the caller's, and maybe is set if an earlier try of the call may have run.
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

// outcome is the label of the metric of the try's time.
func (f Failure) outcome() string {
	if f.Verdict == Answered {
		return "ok"
	}
	return "error"
}

// trouble is the trouble behind the failure.
func (f Failure) trouble() *Trouble {
	var t *Trouble
	if errors.As(f.Err, &t) {
		return t
	}
	return newTrouble(f.Why, f.Err)
}

// suspect reports whether the probe has to run at once.
func (f Failure) suspect() bool { return troubles[f.Why].suspect }

// Refused reports whether Redis replied and refused to run the script.
func (f Failure) Refused() bool { return troubles[f.Why].refuses }

// at reports whether the failure happened in that step of making or using a connection.
func (f Failure) at(step string) bool {
	var before *unsent
	return errors.As(f.Err, &before) && before.step == step
}

// classify determines from the error of one try whether its script has run.
func classify(err error) Failure {
	if err == nil { // before the variables below, which are allocated
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
	// This case comes before the one of replies: a refused handshake is not a reply to
	// the script.
	case errors.As(err, &before):
		return Failure{Verdict: NotRun, Why: before.why(), Err: err}
	case errors.Is(err, redis.ErrPoolTimeout), errors.Is(err, redis.ErrPoolExhausted):
		return Failure{Verdict: NotRun, Why: "pool", Err: err}
	// A read or write that times out returns os.ErrDeadlineExceeded. These two errors come
	// only from the wait for a connection.
	case errors.Is(err, context.Canceled), errors.Is(err, context.DeadlineExceeded):
		return Failure{Verdict: Ended, Why: "ended", Err: err}
	case errors.As(err, &reply):
		return refusal(reply)
	default:
		return Failure{Verdict: MaybeRun, Why: nameOfStep("", err), Err: err}
	}
}

// why is the name of the trouble that kept the connection from being used.
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
	return nameOfStep(u.step, u.err)
}

// judge is classify for an error from this node. A redirection without a cluster in the URL
// means that the URL has the wrong scheme; another try does not help then.
func (n *node) judge(err error) Failure {
	f := classify(err)
	if n.of.ring == nil && f.Verdict == NotRun && (f.Why == whyMoved || f.Why == whyAsk) {
		f.Why = whyWrongURL
	}
	return f
}

// refusal classifies an error reply. A command that is denied inside a script stops the
// script in the middle, so that it may have run in part.
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
