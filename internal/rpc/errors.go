package rpc

import (
	"errors"

	"github.com/coxswain-sidecar/coxswain/client/api"
	"github.com/coxswain-sidecar/coxswain/internal/coord"
)

// cancelledError returns the error of a call that failed after its client cancelled
// it. Whatever the failure was, the cancellation caused it.
func cancelledError(err error) *api.Error {
	var ce *coord.Error
	return coord.Wire(&coord.Error{Code: api.Cancelled, MaybeExecuted: errors.As(err, &ce) && ce.MaybeExecuted})
}

// appendError encodes an error in the form that the connection asked for.
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
