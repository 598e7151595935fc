package breaker

import "github.com/coxswain-sidecar/coxswain/internal/coord"

// keys are those of breakers.
type keys struct{ coord.Keys }

// breaker is the state of a breaker that is not a pool member's.
func (k keys) breaker(name string) string { return k.Key(coord.Escaped(name), "br", "") }
