package coord

import (
	"context"
	"errors"
	"fmt"

	"github.com/coxswain-sidecar/coxswain/internal/lua"
	"github.com/coxswain-sidecar/coxswain/internal/nearest"
	"github.com/coxswain-sidecar/coxswain/internal/redis"
)

// FailMode says how calls are answered while Redis does not answer.
type FailMode string

// The fail modes, as users write them. Empty = what encloses it says.
const (
	FailClosed FailMode = "closed" // the call fails with Unavailable
	FailOpen   FailMode = "open"   // it is let through
	FailLocal  FailMode = "local"  // this process alone limits it
)

var failModes = []string{string(FailClosed), string(FailLocal), string(FailOpen)}

// Or is m, or what holds where it says nothing.
func (m FailMode) Or(other FailMode) FailMode {
	if m == "" {
		return other
	}
	return m
}

// Patience is that of a script under m: it waits out an outage only if nothing else could
// answer, and refusals only if its caller said for how long.
func (m FailMode) Patience(c Caller) lua.Patience {
	switch {
	case m != FailClosed:
		return lua.Impatient
	case c.HasDeadline:
		return lua.Insistent
	}
	return lua.Patient
}

// Mistake says why m is no fail mode, with the remedy; it is empty if m is one.
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

// Unanswered reports whether a run of a script failed for want of Redis, so that
// a fail mode has to answer: it did not run, or nobody knows.
//
// A call that is over is never among them. Who cancels reads no answer. And a
// deadline says nothing of Redis: if it did, a caller with one that is shorter
// than a round trip would be let through by every limit that fails open.
func Unanswered(ctx context.Context, err error) bool {
	return ctx.Err() == nil && (errors.Is(err, redis.ErrUnavailable) || errors.Is(err, redis.ErrMaybeExecuted))
}

// The sources of a decision.
const (
	SourceRedis = "redis" // a script decided
	SourceCache = "cache" // a refusal of a moment ago still holds
	SourceLocal = "local" // the fail mode decided
	SourceList  = "list"  // the rule's allow or deny list has the key
	SourceLease = "lease" // what this sidecar charged ahead was enough
)
