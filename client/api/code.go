package api

import "time"

// Code classifies an error. Codes are errors themselves, so that callers write
// errors.Is(err, api.Unavailable).
type Code string

// The codes of protocol version 1.
const (
	// InvalidArgument: a parameter is wrong; the message names the key and the remedy.
	InvalidArgument Code = "INVALID_ARGUMENT"
	// InvalidRequest: the envelope is not a request.
	InvalidRequest Code = "INVALID_REQUEST"
	// MethodNotFound: no such method; the message names the nearest one.
	MethodNotFound Code = "METHOD_NOT_FOUND"
	// NotFound: what the call names does not exist, such as a rule.
	NotFound Code = "NOT_FOUND"
	// FailedPrecondition: the call makes no sense in the present state.
	FailedPrecondition Code = "FAILED_PRECONDITION"
	// PermissionDenied: this client may not call this method.
	PermissionDenied Code = "PERMISSION_DENIED"
	// Conflict: the request id was used before with other parameters.
	Conflict Code = "CONFLICT"
	// DeadlineExceeded: the call's time ran out.
	DeadlineExceeded Code = "DEADLINE_EXCEEDED"
	// Cancelled: the client cancelled the call.
	Cancelled Code = "CANCELLED"
	// Overloaded: this connection has too many calls in flight; read replies first.
	Overloaded Code = "OVERLOADED"
	// Unavailable: Redis cannot be reached, did not answer, or refuses.
	Unavailable Code = "UNAVAILABLE"
	// Draining: the sidecar is shutting down and takes no new acquisitions.
	Draining Code = "DRAINING"
	// Internal: a fault of the sidecar; its log has the cause.
	Internal Code = "INTERNAL"
)

// Error implements error, so that a Code can be the target of errors.Is.
func (c Code) Error() string { return string(c) }

// Retryable reports whether the same call may succeed later, unchanged.
func (c Code) Retryable() bool {
	switch c {
	case Unavailable, Overloaded, Draining, DeadlineExceeded:
		return true
	default:
		return false
	}
}

// CallerFault reports whether the mistake is the caller's: kind 1 of the
// two-element error on the wire, where everything else is kind 0.
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
	// Retryable says that the same call may succeed later, unchanged.
	Retryable bool `codec:"retryable"`
	// RetryAfterMS is how long to wait first, in milliseconds; 0 = not known.
	RetryAfterMS int64          `codec:"retry_after_ms,omitempty"`
	Details      map[string]any `codec:"details,omitempty"`
}

// Error implements error with the text that the two-element form carries.
func (e *Error) Error() string { return string(e.Code) + ": " + e.Message }

// Is makes errors.Is(err, api.Unavailable) true for an error with that code.
func (e *Error) Is(target error) bool {
	c, ok := target.(Code)
	return ok && c == e.Code
}

// RetryAfter is how long to wait before the next try; 0 = not known.
func (e *Error) RetryAfter() time.Duration {
	return time.Duration(e.RetryAfterMS) * time.Millisecond
}

// MaybeExecuted reports whether the call may have been carried out although it
// failed: its reply was lost and it had no request id to repeat it safely.
func (e *Error) MaybeExecuted() bool {
	m, _ := e.Details[DetailMaybeExecuted].(bool)
	return m
}

// Trouble is the name of what kept Redis from carrying the call out, such as oom,
// readonly or refused, as docs/redis.md lists them; empty where that is not why.
func (e *Error) Trouble() string {
	t, _ := e.Details[DetailTrouble].(string)
	return t
}

const (
	// DetailMaybeExecuted is the key of Error.Details that says so.
	DetailMaybeExecuted = "maybe_executed"
	// DetailTrouble is the key of Error.Details that names what is wrong with Redis.
	DetailTrouble = "trouble"
)
