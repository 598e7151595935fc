package main

import (
	"fmt"
	"sync"
	"sync/atomic"
)

// keyCount is how many keys the workload spreads over.
const keyCount = 10_000

// keySpace makes the sequence of keys of one caller.
type keySpace func(caller int) (next func() string)

// shared makes each caller visit n keys, a power of ten, in an order of its own: by a
// stride that shares no factor with n.
func shared(n int) keySpace {
	keys := table(n)
	return func(caller int) func() string {
		i := caller * 7919
		return func() string {
			i += 6151
			return keys[i%n]
		}
	}
}

// inTurn makes all callers together visit n keys in turn, so that two calls use the same key
// only if they are n calls apart.
func inTurn(n int) keySpace {
	keys := table(n)
	var turn atomic.Int64
	return func(int) func() string {
		return func() string { return keys[int(turn.Add(1)-1)%n] }
	}
}

var tables struct {
	mu   sync.Mutex // guards keys
	keys []string
}

// table returns the first n keys. They have 12 digits each, as those that redis-benchmark
// puts in place of __rand_int__.
func table(n int) []string {
	tables.mu.Lock()
	defer tables.mu.Unlock()
	for i := len(tables.keys); i < n; i++ {
		tables.keys = append(tables.keys, fmt.Sprintf("%012d", i))
	}
	return tables.keys[:n]
}
