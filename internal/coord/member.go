package coord

import (
	"github.com/coxswain-sidecar/coxswain/client/api"
)

// MemberTerms are the bands of a rule (token_bucket), in the form that scripts take.
// The zero value asks for no bucket.
type MemberTerms struct {
	Revision  int64
	Signature string
	// Overrides has those members that have bands of their own, each with its
	// signature after it.
	Overrides []string
}

// MemberLimit is the limit of one member under a rule.
type MemberLimit interface {
	Terms() (revision int64, signature string)
	// Limits are its bands for people, as limit/period; shadow says that it refuses nothing.
	Limits() (bands []string, shadow bool)
	// Answer is a script's answer on the wire.
	Answer(a LimitAnswer, replayed bool) (api.RatelimitResult, error)
}
