package redistest

// Open is open with another environment; it returns the URL, what it is, and the way to end it.
func Open(env func(string) string) (url, what string, stop func() error, err error) {
	b, err := open(env)
	return b.url, b.what, b.stop, err
}

// Claim is claim.
var Claim = claim
