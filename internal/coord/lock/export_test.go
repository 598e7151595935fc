package lock

import (
	"github.com/coxswain-sidecar/coxswain/internal/coord"
	"github.com/coxswain-sidecar/coxswain/internal/coord/lease"
)

// LockKey is the state of a lock, LockLine its waiting line.
func LockKey(k coord.Keys, name string) string  { return keys{k}.lock(name) }
func LockLine(k coord.Keys, name string) string { return lease.LineKeysOf(LockKey(k, name)).Line }
