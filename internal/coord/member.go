package coord

import (
	"github.com/coxswain-sidecar/coxswain/client/api"
)

// MemberTerms are the bands of a rule (token_bucket) for a pool's members, in the form that scripts take.
// The zero value is no bucket.
type MemberTerms struct {
	Revision  int64
	Signature string
	// Overrides lists the members that have bands of their own, each followed by its
	// signature.
	Overrides []string
}

// MemberLimit is the limit of one member under a rule.
type MemberLimit interface {
	Terms() (revision int64, signature string)
	// Limits returns its bands for display, as limit/period; shadow = the rule refuses nothing.
	Limits() (bands []string, shadow bool)
	// Answer converts a script's answer to the type of the wire.
	Answer(a LimitAnswer, replayed bool) (api.RatelimitResult, error)
}
