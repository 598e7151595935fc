package lua

import (
	"context"
	"errors"
	"fmt"
	"strings"

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
	step string // dial or setup
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
	fault                   // Redis refused it, or it failed: another try fares no better
	ended                   // the caller's context ended before it was sent
	notRun                  // it certainly did not run
	maybeRun                // it may have run
)

// failure is one try, classified.
type failure struct {
	verdict verdict
	// why labels metrics and spans: dial, setup, pool, loading, noscript, lost, ...
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

// suspect tells whether Redis may be away: nothing that it answers while it
// serves others, such as OOM, asks for a probe.
func (f failure) suspect() bool {
	switch f.why {
	case "dial", "setup", "write", "lost", "loading", "masterdown", "auth", "readonly":
		return true
	}
	return false
}

// refusals are the error codes with which Redis turns a script away before its
// first write, and which may pass. Inside a script the same codes come from the
// first write command that it tries, since a script that has written is not
// refused any more, so they too mean that nothing was changed.
var refusals = map[string]string{
	"LOADING": "loading", "READONLY": "readonly", "CLUSTERDOWN": "clusterdown", "TRYAGAIN": "tryagain",
	"MASTERDOWN": "masterdown", "NOSCRIPT": whyNoScript, "BUSY": "busy", "OOM": "oom", "MISCONF": "misconf",
	"NOREPLICAS": "noreplicas", "NOAUTH": "auth", "WRONGPASS": "auth", "MOVED": whyMoved, "ASK": whyAsk,
}

const (
	whyNoScript = "noscript"
	whyMoved    = "moved" // the slot has another master
	whyAsk      = "ask"   // the key has moved already, its slot not yet
	whyBehind   = "order" // the call ahead of it is to be tried again
	// maxClients has no code of its own.
	maxClients = "ERR max number of clients reached"
)

// classify tells what the error of one try means for the script that was tried.
func classify(err error) failure {
	var before *unsent
	var wait *abandoned
	var reply redis.Error
	switch {
	case err == nil:
		return failure{verdict: answered, why: "ok"}
	case errors.As(err, &wait):
		return failure{maybeRun, "abandoned", err}
	case errors.Is(err, redis.ErrClosed):
		return failure{notRun, "closed", err}
	case errors.Is(err, errBehind):
		return failure{notRun, whyBehind, err}
	// Before the replies: a handshake that Redis refused is no reply to the script.
	case errors.As(err, &before):
		return failure{notRun, before.step, err}
	case errors.Is(err, redis.ErrPoolTimeout), errors.Is(err, redis.ErrPoolExhausted),
		errors.Is(err, redis.ErrAutoPipelineTimeout), errors.Is(err, redis.ErrAutoPipelineQueueFull):
		return failure{notRun, "pool", err}
	// Reads and writes end in os.ErrDeadlineExceeded; these two come only from
	// waiting for a connection.
	case errors.Is(err, context.Canceled), errors.Is(err, context.DeadlineExceeded):
		return failure{ended, "ended", err}
	case errors.As(err, &reply):
		return refused(reply)
	default:
		return failure{maybeRun, "lost", err}
	}
}

// judge is classify for an error that this node gave. A redirection is followed
// in a cluster only: elsewhere the URL is of the wrong kind, and stays so.
func (n *node) judge(err error) failure {
	f := classify(err)
	if n.of.ring == nil && (f.why == whyMoved || f.why == whyAsk) {
		return failure{fault, "error", fmt.Errorf("%w (this is a node of a cluster: write redis+cluster:// in redis.url)", err)}
	}
	return f
}

func refused(reply redis.Error) failure {
	text := reply.Error()
	code, _, _ := strings.Cut(text, " ")
	if why, ok := refusals[code]; ok {
		return failure{notRun, why, reply}
	}
	if strings.HasPrefix(text, maxClients) {
		return failure{notRun, "maxclients", reply}
	}
	return failure{fault, "error", reply}
}
