package match

import "github.com/coxswain-sidecar/coxswain/client/api"

// First returns the index of the first set that contains the key, -1 = none.
func First(key string, sets ...api.Match) int {
	m := New(sets)
	return m.First(key)
}
