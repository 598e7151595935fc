package breaker

import "github.com/coxswain-sidecar/coxswain/internal/coord"

// Lasting are the kinds of keys that may have no TTL: a breaker that is forced stays so. So may be those of a pool's members.
var Lasting = []string{"br", "br:members"}

// keys are those of breakers.
type keys struct{ coord.Keys }

// kindBreaker is the kind of the keys of breakers that are not pool members'.
const kindBreaker = "br"

// breaker is the state of a breaker that is not a pool member's.
func (k keys) breaker(name string) string { return k.Key(coord.Escaped(name), kindBreaker, "") }
