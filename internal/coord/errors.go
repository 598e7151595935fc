package coord

import (
	"context"
	"errors"
	"fmt"
	"strings"

	"github.com/coxswain-sidecar/coxswain/internal/lua"
)

// Code classifies an error for the caller. internal/rpc holds the one map from
// these to the wire.
type Code uint8

// The codes. Zero is Internal, so that an error without a code never looks like
// the caller's mistake.
const (
	Internal Code = iota
	InvalidArgument
	NotFound
	FailedPrecondition
	PermissionDenied
	Conflict
	DeadlineExceeded
	Cancelled
	Unavailable
	Draining
)

// Trouble is what is wrong with Redis. Its words and its name may be sent to callers.
type Trouble = lua.Trouble

// Error is the one error type of this package.
type Error struct {
	Code Code
	// Op names the step, such as "lock orders: acquire". It is for the log.
	Op string
	// Err is the cause. Its text is sent to the caller only for the codes that
	// are the caller's mistake; for the others it is logged.
	Err error
	// Trouble is what Redis said, or what is wrong on the way to it; nil where that
	// is not why.
	Trouble *Trouble
	// MaybeExecuted says that the call may have been carried out although it failed.
	MaybeExecuted bool
}

// Error implements error for logs.
func (e *Error) Error() string { return e.Op + ": " + e.Err.Error() }

// Unwrap returns the cause.
func (e *Error) Unwrap() error { return e.Err }

// invalid is the caller's mistake in one parameter; the text names it and the remedy.
func invalid(format string, args ...any) *Error {
	return &Error{Code: InvalidArgument, Op: "params", Err: fmt.Errorf(format, args...)}
}

// notFound says that what a parameter names does not exist; the text names the remedy.
func notFound(format string, args ...any) *Error {
	return &Error{Code: NotFound, Op: "params", Err: fmt.Errorf(format, args...)}
}

var errConflict = fmt.Errorf("_request_id: %w; give every call an id of its own", lua.ErrConflict)

// failed classifies an error of package lua, once, for every noun.
func failed(op string, err error) *Error {
	e := &Error{Op: op, Err: err}
	_ = errors.As(err, &e.Trouble)
	switch {
	case errors.Is(err, lua.ErrConflict):
		// The caller reads this one, and knows nothing of scripts.
		e.Code, e.Err = Conflict, errConflict
	case errors.Is(err, lua.ErrMaybeExecuted):
		e.Code, e.MaybeExecuted = Unavailable, true
	case errors.Is(err, lua.ErrUnavailable):
		e.Code = Unavailable
	case errors.Is(err, errDraining):
		e.Code = Draining
	case errors.Is(err, context.DeadlineExceeded):
		e.Code = DeadlineExceeded
	case errors.Is(err, context.Canceled):
		e.Code = Cancelled
	}
	return e
}

// Problem is one mistake in a rule or a configuration: where it is, what is
// wrong, and what to write instead.
type Problem struct {
	// Path is the field, such as rules.items[2].limits[0].period_ms.
	Path string
	// Message says what is wrong and ends with the remedy.
	Message string
}

// Problems is every mistake found, so that one run shows them all.
type Problems []Problem

// Error implements error, one line a mistake.
func (p Problems) Error() string {
	lines := make([]string, len(p))
	for i, x := range p {
		lines[i] = x.Path + ": " + x.Message
	}
	return strings.Join(lines, "\n")
}
