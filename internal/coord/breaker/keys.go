package breaker

import "github.com/coxswain-sidecar/coxswain/internal/coord"

// keys are those of breakers.
type keys struct{ coord.Keys }

// kindBreaker is the kind of the keys of breakers that are not pool members'.
const kindBreaker = "br"

// breaker is the state of a breaker that is not a pool member's.
func (k keys) breaker(name string) string { return k.Key(coord.Escaped(name), kindBreaker, "") }
