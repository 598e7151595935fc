// Package finding is what a check finds wrong. The code that recognises a problem makes it, with its cause and its fix;
// the log of serve, the health pages and sidecar doctor show the same one.
//
// Its invariant: a problem names the section of docs/doctor.md that explains it.
//
// It checks nothing itself.
package finding

// Problem is something that is wrong.
type Problem struct {
	// ID is the check of sidecar doctor that finds it, and the heading of its section in docs/doctor.md.
	ID string
	// Cause is what is wrong, Fix what to do about it. Neither holds a password.
	Cause, Fix string
	// Warns: the sidecar works all the same.
	Warns bool
	// Err is the error behind it, if there is one; its text is part of Cause where it says more.
	Err error
}

// Error implements error.
func (p *Problem) Error() string { return p.Cause + "; " + p.Fix }

// Unwrap returns Err.
func (p *Problem) Unwrap() error { return p.Err }

// Page is the page of the checks.
const Page = "docs/doctor.md"

// Docs is where the problem of a check is explained.
func Docs(id string) string { return Page + "#" + id }
