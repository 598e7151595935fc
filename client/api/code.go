package api

import "time"

// Code classifies an error. A Code is an error itself, so that callers can write
// errors.Is(err, api.Unavailable).
type Code string

// The codes of protocol version 1.
const (
	// InvalidArgument: a parameter is wrong; the message names its key and how to correct it.
	InvalidArgument Code = "INVALID_ARGUMENT"
	// InvalidRequest: the frame is MessagePack, but not a MessagePack-RPC request.
	InvalidRequest Code = "INVALID_REQUEST"
	// MethodNotFound: there is no such method; the message suggests the most similar name.
	MethodNotFound Code = "METHOD_NOT_FOUND"
	// NotFound: something that the call names does not exist, such as a rule.
	NotFound Code = "NOT_FOUND"
	// FailedPrecondition: the call is not possible in the present state.
	FailedPrecondition Code = "FAILED_PRECONDITION"
	// PermissionDenied: this client may not call this method.
	PermissionDenied Code = "PERMISSION_DENIED"
	// Conflict: the request id was already used with other parameters.
	Conflict Code = "CONFLICT"
	// DeadlineExceeded: the deadline of the call passed before it had a result.
	DeadlineExceeded Code = "DEADLINE_EXCEEDED"
	// Cancelled: the client cancelled the call.
	Cancelled Code = "CANCELLED"
	// Overloaded: too many calls are in flight, on this connection or in all; read replies first.
	Overloaded Code = "OVERLOADED"
	// Unavailable: Redis cannot be reached, did not reply in time, or refused the command.
	Unavailable Code = "UNAVAILABLE"
	// Draining: the sidecar is shutting down and grants nothing new.
	Draining Code = "DRAINING"
	// Internal: a defect of the sidecar; its log has the cause.
	Internal Code = "INTERNAL"
)

// Error returns the code itself. It makes Code an error, so that it can be the target of errors.Is.
func (c Code) Error() string { return string(c) }

// Retryable reports whether the same call may succeed later without a change.
func (c Code) Retryable() bool {
	switch c {
	case Unavailable, Overloaded, Draining, DeadlineExceeded:
		return true
	default:
		return false
	}
}

// CallerFault reports whether the caller made the mistake. Such an error has kind 1
// in the two-element form on the wire; every other error has kind 0.
func (c Code) CallerFault() bool {
	switch c {
	case InvalidArgument, InvalidRequest, MethodNotFound, NotFound, FailedPrecondition, PermissionDenied, Conflict:
		return true
	default:
		return false
	}
}

// Error is an error reply. On the wire it is [kind, "CODE: message"], or, after
// session.hello {errors: "map"}, a map with these keys.
type Error struct {
	Code    Code   `codec:"code"`
	Message string `codec:"message"`
	// Retryable reports that the same call may succeed later without a change.
	Retryable bool `codec:"retryable"`
	// RetryAfterMS is how long to wait before the next try, in milliseconds; 0 = unknown.
	RetryAfterMS int64          `codec:"retry_after_ms,omitempty"`
	Details      map[string]any `codec:"details,omitempty"`
}

// Error returns "CODE: message", the text of the two-element form on the wire.
func (e *Error) Error() string { return string(e.Code) + ": " + e.Message }

// Is reports whether target is the Code of this error, for calls such as errors.Is(err, api.Unavailable).
func (e *Error) Is(target error) bool {
	c, ok := target.(Code)
	return ok && c == e.Code
}

// RetryAfter returns how long to wait before the next try; 0 = unknown.
func (e *Error) RetryAfter() time.Duration {
	return time.Duration(e.RetryAfterMS) * time.Millisecond
}

// MaybeExecuted reports whether the call may have been carried out although it
// failed: its reply was lost, and it had no request id by which it could be repeated safely.
func (e *Error) MaybeExecuted() bool {
	m, _ := e.Details[DetailMaybeExecuted].(bool)
	return m
}

// Trouble returns the name of the condition that kept Redis from carrying out the call, such
// as oom, readonly or refused (docs/redis.md lists them). It is empty if Redis is not the cause.
func (e *Error) Trouble() string {
	t, _ := e.Details[DetailTrouble].(string)
	return t
}

const (
	// DetailMaybeExecuted is the key in Error.Details that Error.MaybeExecuted reads.
	DetailMaybeExecuted = "maybe_executed"
	// DetailTrouble is the key in Error.Details that Error.Trouble reads.
	DetailTrouble = "trouble"
)
