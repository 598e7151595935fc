package lock

import "github.com/coxswain-sidecar/coxswain/internal/coord"

// keys are those of locks.
type keys struct{ coord.Keys }

// kindLock is the kind of the keys of locks.
const kindLock = "lock"

// lock is a lock's state. Its tag has no colon and a limit's always has one, so
// that a lock and a limit of one name do not even share a slot.
func (k keys) lock(name string) string {
	return k.Key(coord.Escaped(name), kindLock, "")
}
