package rpc

import (
	"context"
	"errors"
	"strings"

	"github.com/coxswain-sidecar/coxswain/client/api"
	"github.com/coxswain-sidecar/coxswain/internal/coord"
)

// codes is the one map from the errors of package coord to the wire.
var codes = map[coord.Code]api.Code{
	coord.Internal:           api.Internal,
	coord.InvalidArgument:    api.InvalidArgument,
	coord.NotFound:           api.NotFound,
	coord.FailedPrecondition: api.FailedPrecondition,
	coord.PermissionDenied:   api.PermissionDenied,
	coord.Conflict:           api.Conflict,
	coord.DeadlineExceeded:   api.DeadlineExceeded,
	coord.Cancelled:          api.Cancelled,
	coord.Unavailable:        api.Unavailable,
	coord.Draining:           api.Draining,
}

// texts are what callers are told where the fault is not theirs: the cause may
// hold addresses or script text, so it goes to the log only.
var texts = map[api.Code]string{
	api.DeadlineExceeded: "the call's time ran out before it was carried out; give it more with _deadline_ms",
	api.Cancelled:        "the client cancelled the call",
	api.Unavailable:      "redis cannot be reached, and nothing was done; try again later",
	api.Draining:         "the sidecar is shutting down and takes no new acquisitions",
	api.Internal:         "a fault of the sidecar; its log has the cause",
	api.Overloaded:       "too many calls are in flight or waiting on this connection; read replies first",
}

// maybeExecuted begins the text of a failure after which nobody knows whether
// the call was carried out.
const maybeExecuted = "maybe executed: "

func plain(c api.Code) *api.Error {
	return &api.Error{Code: c, Message: texts[c], Retryable: c.Retryable()}
}

// wireError turns any error of a handler into what the caller is told.
func wireError(err error) *api.Error {
	var own *api.Error
	var ce *coord.Error
	switch {
	case errors.As(err, &own):
		return own
	case errors.As(err, &ce):
		return coordError(ce)
	case errors.Is(err, context.DeadlineExceeded):
		return plain(api.DeadlineExceeded)
	case errors.Is(err, context.Canceled):
		return plain(api.Cancelled)
	default:
		return plain(api.Internal)
	}
}

func coordError(ce *coord.Error) *api.Error {
	code, ok := codes[ce.Code]
	if !ok {
		code = api.Internal
	}
	e := plain(code)
	if code.CallerFault() {
		e.Message = strings.ReplaceAll(ce.Err.Error(), "\n", "; ")
	}
	why := "redis did not answer in time"
	if t := ce.Trouble; t != nil && code == api.Unavailable {
		why = t.Words
		e.Message = t.Words + ", and nothing was done; " + t.Remedy
		e.Details = map[string]any{api.DetailTrouble: t.Name}
	}
	if ce.MaybeExecuted {
		e.Message = maybeExecuted + why + "; repeat the call with the same _request_id to be sure"
		if code == api.Cancelled {
			e.Message = maybeExecuted + "the client cancelled the call while redis ran it"
		}
		if e.Details == nil {
			e.Details = map[string]any{}
		}
		e.Details[api.DetailMaybeExecuted] = true
	}
	return e
}

// cancelledError is the answer to a call that failed after its client cancelled
// it: whatever the failure looked like, the cancelling was its cause.
func cancelledError(err error) *api.Error {
	var ce *coord.Error
	return coordError(&coord.Error{Code: coord.Cancelled, MaybeExecuted: errors.As(err, &ce) && ce.MaybeExecuted})
}

// appendError writes an error in the form that the connection asked for.
func appendError(b []byte, e *api.Error, asMap bool) []byte {
	if !asMap {
		fault := byte(0)
		if e.Code.CallerFault() {
			fault = 1
		}
		return appendText(append(b, 0x92, fault), e.Error())
	}
	at := len(b)
	b = append(b, 0x83)
	b = appendText(appendText(b, "code"), string(e.Code))
	b = appendText(appendText(b, "message"), e.Message)
	b = appendBool(appendText(b, "retryable"), e.Retryable)
	if e.RetryAfterMS > 0 {
		b[at]++
		b = appendInt(appendText(b, "retry_after_ms"), e.RetryAfterMS)
	}
	if len(e.Details) == 0 {
		return b
	}
	b[at]++
	b = appendText(b, "details")
	details := len(b)
	b = append(b, 0x80)
	if e.MaybeExecuted() {
		b[details]++
		b = appendBool(appendText(b, api.DetailMaybeExecuted), true)
	}
	if t := e.Trouble(); t != "" {
		b[details]++
		b = appendText(appendText(b, api.DetailTrouble), t)
	}
	return b
}
