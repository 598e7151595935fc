package health

// The times that tests step by.
const (
	Every   = every
	Soonest = soonest
	Stale   = stale
)
