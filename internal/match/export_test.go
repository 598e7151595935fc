package match

import "github.com/coxswain-sidecar/coxswain/client/api"

// First is the first of the sets that has the key, -1 = none.
func First(key string, sets ...api.Match) int {
	m := New(sets)
	return m.First(key)
}
