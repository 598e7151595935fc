package coord

import (
	"context"
	"errors"
	"fmt"
	"reflect"
	"slices"
	"strings"
	"unicode"
	"unicode/utf8"

	"github.com/coxswain-sidecar/coxswain/client/api"

	"github.com/coxswain-sidecar/coxswain/internal/lua"
	"github.com/coxswain-sidecar/coxswain/internal/redis"
)

// Trouble describes a fault of Redis or of the connection to it. Its words and its name may be sent to callers.
type Trouble = redis.Trouble

// ErrDraining is the cause of a call that is refused while the sidecar drains.
var ErrDraining = errors.New("the sidecar is shutting down; ask another, or again when it is back")

// Error is the one error type of this package.
type Error struct {
	// Code is the code that the caller gets; empty = Internal, so that an error without a
	// code never looks like the caller's mistake.
	Code api.Code
	// Op names the step, such as "lock orders: acquire". It is for the log.
	Op string
	// Err is the cause. Its text is sent to the caller only for the codes that
	// are the caller's mistake; for the others it is logged.
	Err error
	// Trouble is the fault of Redis or of the connection to it that caused the error; nil if
	// the error has another cause.
	Trouble *Trouble
	// MaybeExecuted: the call may have been carried out although it failed.
	MaybeExecuted bool
}

// Error implements error for logs.
func (e *Error) Error() string { return e.Op + ": " + e.Err.Error() }

// Unwrap returns the cause.
func (e *Error) Unwrap() error { return e.Err }

// Invalid returns the error of a mistake in one parameter; the text names it and the remedy.
func Invalid(format string, args ...any) *Error {
	return &Error{Code: api.InvalidArgument, Op: "params", Err: fmt.Errorf(format, args...)}
}

// NotFound returns the error of a parameter that names what does not exist; the text names the remedy.
func NotFound(format string, args ...any) *Error {
	return &Error{Code: api.NotFound, Op: "params", Err: fmt.Errorf(format, args...)}
}

var errConflict = fmt.Errorf("_request_id: %w; give every call an id of its own", lua.ErrConflict)

// Failed classifies an error of package lua, in one place for all nouns.
func Failed(op string, err error) *Error {
	e := &Error{Op: op, Err: err}
	_ = errors.As(err, &e.Trouble)
	switch {
	case errors.Is(err, lua.ErrConflict):
		// This text is sent to the caller, so it must not mention scripts.
		e.Code, e.Err = api.Conflict, errConflict
	case errors.Is(err, redis.ErrMaybeExecuted):
		e.Code, e.MaybeExecuted = api.Unavailable, true
	case errors.Is(err, redis.ErrUnavailable):
		e.Code = api.Unavailable
	case errors.Is(err, ErrDraining):
		e.Code = api.Draining
	case errors.Is(err, context.DeadlineExceeded):
		e.Code = api.DeadlineExceeded
	case errors.Is(err, context.Canceled):
		e.Code = api.Cancelled
	}
	return e
}

// texts are the messages of errors that are not the caller's fault. The cause may
// hold addresses or script text, so it goes to the log only.
var texts = map[api.Code]string{
	api.DeadlineExceeded: "the call's time ran out before it was carried out; give it more with _deadline_ms",
	api.Cancelled:        "the client cancelled the call",
	api.Unavailable:      "redis cannot be reached, and nothing was done; try again later",
	api.Draining:         "the sidecar is shutting down and takes no new acquisitions",
	api.Internal:         "a fault of the sidecar; its log has the cause",
	api.Overloaded:       "too many calls are in flight or waiting on this connection; read replies first",
}

// maybeExecuted begins the text of a failure that leaves it open whether
// the call was carried out.
const maybeExecuted = "maybe executed: "

// Plain returns the error of a code, without a cause.
func Plain(c api.Code) *api.Error {
	return &api.Error{Code: c, Message: texts[c], Retryable: c.Retryable()}
}

// Wire converts any error of a call to the error that the caller gets.
func Wire(err error) *api.Error {
	var own *api.Error
	var ce *Error
	switch {
	case errors.As(err, &own):
		return own
	case errors.As(err, &ce):
		return ce.wire()
	case errors.Is(err, context.DeadlineExceeded):
		return Plain(api.DeadlineExceeded)
	case errors.Is(err, context.Canceled):
		return Plain(api.Cancelled)
	default:
		return Plain(api.Internal)
	}
}

func (e *Error) wire() *api.Error {
	code := e.Code
	if _, known := texts[code]; !known && !code.CallerFault() {
		code = api.Internal
	}
	w := Plain(code)
	if code.CallerFault() {
		w.Message = strings.ReplaceAll(e.Err.Error(), "\n", "; ")
	}
	why := "redis did not answer in time"
	if t := e.Trouble; t != nil && code == api.Unavailable {
		why = t.Words
		w.Message = t.Words + ", and nothing was done; " + t.Remedy
		w.Details = map[string]any{api.DetailTrouble: t.Name}
	}
	if e.MaybeExecuted {
		w.Message = maybeExecuted + why + "; repeat the call with the same _request_id to be sure"
		if code == api.Cancelled {
			w.Message = maybeExecuted + "the client cancelled the call while redis ran it"
		}
		if w.Details == nil {
			w.Details = map[string]any{}
		}
		w.Details[api.DetailMaybeExecuted] = true
	}
	return w
}

// Problem is one mistake in a rule or a configuration: where it is, what is
// wrong, and what to write instead.
type Problem struct {
	// Path is the field, such as rules.items[2].limits[0].period_ms.
	Path string
	// Message describes the mistake and ends with the remedy.
	Message string
}

// Problems are all mistakes that were found, so that one run shows them all.
type Problems []Problem

// Error implements error, one line a mistake.
func (p Problems) Error() string {
	lines := make([]string, len(p))
	for i, x := range p {
		lines[i] = x.Path + ": " + x.Message
	}
	return strings.Join(lines, "\n")
}

// Add adds a mistake: what is wrong with the field at path, and what to write instead.
func (p *Problems) Add(path, format string, args ...any) {
	*p = append(*p, Problem{Path: path, Message: fmt.Sprintf(format, args...)})
}

// AddBounds adds a mistake for each number of a struct of the contract that is out of the bounds in its
// tag, unless there is a mistake about that field already. A field with 0 counts as left out.
func (p *Problems) AddBounds(at string, of any) {
	v := reflect.ValueOf(of)
	for _, f := range api.Fields(v.Type()) {
		path := at + f.Name
		if f.Kind != api.KindInt || slices.ContainsFunc(*p, func(x Problem) bool { return x.Path == path }) {
			continue
		}
		unit := ""
		if strings.HasSuffix(f.Name, "_rate") {
			unit = " percent"
		}
		if n := v.Field(f.Index).Int(); n < 0 || n > f.Max {
			p.Add(path, "%d is out of range; use 1 to %d%s, or leave it out", n, f.Max, unit)
		}
	}
}

// AddName adds what is wrong with a name of a rule or a policy, if anything. It is strict because
// such names appear in answers, logs and metric labels.
func (p *Problems) AddName(path, name string) {
	switch {
	case len(name) > api.MaxNameBytes:
		p.Add(path, "%d bytes are too many; use at most %d", len(name), api.MaxNameBytes)
	case !utf8.ValidString(name) || strings.ContainsFunc(name, unicode.IsControl):
		p.Add(path, "%q has bytes that cannot be shown; use UTF-8 without control characters", name)
	}
}
