package lock

import "github.com/coxswain-sidecar/coxswain/internal/coord"

// Key is the state of a lock.
func Key(k coord.Keys, name string) string { return keys{k}.lock(name) }
