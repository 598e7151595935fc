package coord

// breakerKeys are those of breakers.
type breakerKeys struct{ Keys }

// breaker is the state of a breaker that is not a pool member's.
func (k breakerKeys) breaker(name string) string { return k.key(Escaped(name), "br", "") }
