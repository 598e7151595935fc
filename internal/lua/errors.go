package lua

import "errors"

var (
	// ErrUnavailable: Redis cannot be reached, or refused before running
	// anything. The call certainly did not run.
	ErrUnavailable = errors.New("redis is unavailable")
	// ErrMaybeExecuted: the reply was lost and the call may have run.
	ErrMaybeExecuted = errors.New("redis did not answer; the call may have been executed")
	// ErrConflict: the request id was used with other parameters.
	ErrConflict = errors.New("the request id was used before with other parameters")
)
