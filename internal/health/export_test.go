package health

// The times that tests step by.
const (
	Every   = every
	Soonest = soonest
	Stale   = stale
)

// MaxConns bounds the connections of the health port.
const MaxConns = maxConns
