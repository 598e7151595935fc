package coord

import "github.com/coxswain-sidecar/coxswain/client/api"

// First is the first of the sets that has the key, -1 = none.
func First(key string, sets ...api.Match) int {
	m := newMatcher(sets)
	return m.first(key)
}
