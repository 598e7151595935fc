package lock

import "github.com/coxswain-sidecar/coxswain/internal/coord"

// keys builds the keys of locks.
type keys struct{ coord.Keys }

// kindLock is the kind of the keys of locks.
const kindLock = "lock"

// lock returns the key of a lock's state. Its hash tag has no colon and that of a limit always has one, so
// a lock and a limit of the same name are not even in the same hash slot of a cluster.
func (k keys) lock(name string) string {
	return k.Key(coord.Escaped(name), kindLock, "")
}
