package semaphore

import (
	"github.com/coxswain-sidecar/coxswain/internal/coord"
	"github.com/coxswain-sidecar/coxswain/internal/coord/lease"
)

// keys builds the keys of semaphores.
type keys struct{ coord.Keys }

// kindSemaphore is the kind of the keys of semaphores' leases.
const kindSemaphore = "sem"

// semaphore returns the keys of a semaphore, and those of its waiting line.
func (k keys) semaphore(name string) (s Keys, line lease.LineKeys) {
	leases := k.Key(coord.Escaped(name), kindSemaphore, "")
	return Keys{Leases: leases, Holders: leases + ":holders", Weights: leases + ":weights"}, lease.LineKeysOf(leases)
}

// semaphoreGone returns the key of the mark that a token gave permits back.
func (k keys) semaphoreGone(name, token string) string {
	return k.Key(coord.Escaped(name), "sem:gone:", coord.Escaped(token))
}
