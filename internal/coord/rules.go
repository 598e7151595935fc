package coord

import (
	"context"
	"time"

	"github.com/coxswain-sidecar/coxswain/internal/lua"
	"github.com/coxswain-sidecar/coxswain/internal/telemetry"
)

// Band is one limit of a rule as users write it: Limit per Period, Burst at
// once (0 = Limit).
type Band struct {
	Limit  int64
	Period time.Duration
	Burst  int64
}

// RuleOptions is a rule as users write it.
type RuleOptions struct {
	Name, Algorithm string
	Limits          []Band
}

// Rules is the set of rules in force. It is replaced as a whole.
type Rules struct{}

// NewRules starts with an empty set.
func NewRules() *Rules { panic("not yet") }

// Set validates all rules and then puts them in force together, or changes
// nothing and returns Problems whose paths start with items[i]. Revision orders
// versions of the set across pods: the file's modification time in Unix
// milliseconds.
func (r *Rules) Set(items []RuleOptions, revision int64) error { panic("not yet") }

// Names lists the rules in force, sorted.
func (r *Rules) Names() []string { panic("not yet") }

// CheckRules returns every mistake in the rules, with paths that start with items[i].
func CheckRules(items []RuleOptions) Problems { panic("not yet") }

// LimitRef names a limit: by rule, or in full.
type LimitRef struct {
	Rule      string
	Algorithm string
	Limits    []Band
	Key       string
}

// RateLimiter decides whether a call may go now.
type RateLimiter struct{}

// Decision answers for one band.
type Decision struct {
	Allowed         bool
	Rule, Algorithm string
	// Band is limit/period of the band that refused, else of the one with the
	// least remaining, such as 80/10m.
	Band                      string
	Limit, Remaining, Current int64
	ResetAfter                time.Duration // rounded up to a millisecond
	ResetAt                   time.Time     // by the Redis server's clock
	// RetryAfter is 0 when allowed and Never when the cost never fits.
	RetryAfter time.Duration
	DeniedBy   string // limit
	Replayed   bool
}

// Never is Decision.RetryAfter of a cost that never fits.
const Never time.Duration = -1

// Acquire takes cost, or says when it may succeed. Cost 0 only looks.
func (l *RateLimiter) Acquire(ctx context.Context, c Caller, ref LimitRef, cost int64) (Decision, error) {
	panic("not yet")
}

// Peek answers what Acquire would and takes nothing.
func (l *RateLimiter) Peek(ctx context.Context, ref LimitRef, cost int64) (Decision, error) {
	panic("not yet")
}

// Reset forgets the state of one key and reports whether there was any.
func (l *RateLimiter) Reset(ctx context.Context, ref LimitRef) (bool, error) { panic("not yet") }

// NewRateLimiter makes the noun.
func NewRateLimiter(r *lua.Runner, k Keys, rules *Rules, t *telemetry.Telemetry) *RateLimiter {
	panic("not yet")
}
