package coord

import (
	"context"
	"errors"
	"fmt"

	"github.com/coxswain-sidecar/coxswain/internal/lua"
	"github.com/coxswain-sidecar/coxswain/internal/nearest"
	"github.com/coxswain-sidecar/coxswain/internal/redis"
)

// FailMode decides how calls are answered while Redis does not reply.
type FailMode string

// The fail modes, as users write them. Empty = the default that encloses it applies; see Or.
const (
	FailClosed FailMode = "closed" // the call fails with Unavailable
	FailOpen   FailMode = "open"   // the call is admitted
	FailLocal  FailMode = "local"  // this sidecar limits the call by itself
)

var failModes = []string{string(FailClosed), string(FailLocal), string(FailOpen)}

// Or returns m, or other if m is empty.
func (m FailMode) Or(other FailMode) FailMode {
	if m == "" {
		return other
	}
	return m
}

// Patience returns the patience of a script under m: it waits out an outage only if no fail mode can
// answer instead, and replies by which Redis refuses the script only if the caller set a deadline.
func (m FailMode) Patience(c Caller) lua.Patience {
	switch {
	case m != FailClosed:
		return lua.Impatient
	case c.HasDeadline:
		return lua.Insistent
	}
	return lua.Patient
}

// Mistake returns why m is not a fail mode, with the remedy, or an empty text if it is one.
func (m FailMode) Mistake() string {
	switch m {
	case "", FailClosed, FailOpen, FailLocal:
		return ""
	}
	if near, ok := nearest.Name(string(m), failModes); ok {
		return fmt.Sprintf("%q is not a fail mode; did you mean %q?", m, near)
	}
	return fmt.Sprintf("%q is not a fail mode; use closed, open or local", m)
}

// Unanswered reports whether the run of a script failed because of Redis, so that
// a fail mode has to answer: it did not run, or it is unknown whether it ran.
//
// It returns false for a call that has ended. A cancelled call needs no answer. A deadline that has passed
// does not mean that Redis fails: otherwise a call with a deadline shorter than a round trip
// would be admitted by every limit that fails open.
func Unanswered(ctx context.Context, err error) bool {
	return ctx.Err() == nil && (errors.Is(err, redis.ErrUnavailable) || errors.Is(err, redis.ErrMaybeExecuted))
}

// The sources of a decision.
const (
	SourceRedis = "redis" // a script decided
	SourceCache = "cache" // a recent refusal still holds
	SourceLocal = "local" // the fail mode decided
	SourceList  = "list"  // the rule's allow or deny list has the key
	SourceLease = "lease" // a block that this sidecar charged ahead was enough
)
