package breaker

import "github.com/coxswain-sidecar/coxswain/internal/coord"

// Lasting lists the kinds of keys that may have no TTL, since a forced breaker stays forced: those of breakers, and
// of the breakers of a pool's members.
var Lasting = []string{"br", "br:members"}

// keys builds the keys of breakers.
type keys struct{ coord.Keys }

// kindBreaker is the kind of the keys of breakers that are not pool members'.
const kindBreaker = "br"

// breaker returns the key of the state of a breaker that is not a pool member's.
func (k keys) breaker(name string) string { return k.Key(coord.Escaped(name), kindBreaker, "") }
