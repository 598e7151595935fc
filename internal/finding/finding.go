// Package finding has the type of the problems that checks find. The code that recognises a problem makes it, with its cause
// and its fix; the log of serve, the health pages and sidecar doctor show the same one.
//
// Its invariant: a problem names the section of docs/doctor.md that explains it.
//
// It checks nothing itself.
package finding

// Problem is one result of a check that is not ok.
type Problem struct {
	// ID is the check of sidecar doctor that finds it, and the heading of its section in docs/doctor.md.
	ID string
	// Cause describes the fault, and Fix the remedy. Neither contains a password.
	Cause, Fix string
	// Warns is set if the sidecar works nevertheless.
	Warns bool
	// Err is the error behind it, if there is one; Cause contains its text if that has more details.
	Err error
}

// Error implements error.
func (p *Problem) Error() string { return p.Cause + "; " + p.Fix }

// Unwrap returns Err.
func (p *Problem) Unwrap() error { return p.Err }

// Page is the page of the checks.
const Page = "docs/doctor.md"

// Docs returns the address of the section that explains the problem of a check.
func Docs(id string) string { return Page + "#" + id }
