package coord

import (
	"strings"
	"sync"
	"time"
)

// Recent remembers a bounded number of things, each until it ends. Times are
// since the start of its owner's clock.
type Recent[K comparable, V Ending] struct {
	mu    sync.RWMutex // guards items
	items map[K]V
	// epoch changes with everything that is forgotten: what was learnt before and
	// is put after is not to be trusted.
	epoch uint64
}

// Ending is a thing that a Recent keeps until Ends, about the Redis key About.
type Ending interface {
	Ends() time.Duration
	About() string
}

// Dropped is an Ending that is told when a Recent keeps it no more. It is called with the
// lock of the Recent held, and must neither block nor use it.
type Dropped interface{ Dropped() }

const (
	// MaxRecent bounds each recent: who calls chooses the keys.
	MaxRecent = 1 << 14
	// lookAround is how many are compared for the one that goes.
	lookAround = 8
)

// NewRecent makes an empty one.
func NewRecent[K comparable, V Ending]() *Recent[K, V] {
	return &Recent[K, V]{items: make(map[K]V)}
}

// Get returns what is remembered of k. Epoch is what Put is to be told.
func (r *Recent[K, V]) Get(k K) (v V, ok bool, epoch uint64) {
	r.mu.RLock()
	defer r.mu.RUnlock()
	v, ok = r.items[k]
	return v, ok, r.epoch
}

// Put remembers what was learnt in an epoch, unless that is over.
func (r *Recent[K, V]) Put(k K, v V, epoch uint64) {
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.epoch == epoch {
		r.set(k, v)
	}
}

// Keep returns what is remembered of k, which is made if there was nothing.
func (r *Recent[K, V]) Keep(k K, made V) V {
	r.mu.Lock()
	defer r.mu.Unlock()
	if v, ok := r.items[k]; ok {
		return v
	}
	r.set(k, made)
	return made
}

// Update replaces what is remembered, which may be the zero V.
func (r *Recent[K, V]) Update(k K, f func(V) V) {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.set(k, f(r.items[k]))
}

// set needs r.mu. Of the few that a map happens to start with, the one that ends
// first makes room.
func (r *Recent[K, V]) set(k K, v V) {
	if _, ok := r.items[k]; !ok && len(r.items) >= MaxRecent {
		var victim K
		var first time.Duration
		n := 0
		for o, w := range r.items {
			if e := w.Ends(); n == 0 || e < first {
				victim, first = o, e
			}
			if n++; n == lookAround {
				break
			}
		}
		r.drop(victim)
	}
	r.items[k] = v
}

// drop needs r.mu.
func (r *Recent[K, V]) drop(k K) {
	v, ok := r.items[k]
	delete(r.items, k)
	if d, told := any(v).(Dropped); ok && told {
		d.Dropped()
	}
}

// Drop forgets k.
func (r *Recent[K, V]) Drop(k K) {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.drop(k)
}

// DropIf forgets all that gone is true of. Gone is called with the lock held.
func (r *Recent[K, V]) DropIf(gone func(K, V) bool) {
	r.mu.Lock()
	defer r.mu.Unlock()
	for k, v := range r.items {
		if gone(k, v) {
			r.drop(k)
		}
	}
}

// Forget drops all that is about a Redis key or others under its tag: what
// happened to one of them may have changed what all together say. That is rare,
// and looking through all is cheaper than a second index is for every call.
func (r *Recent[K, V]) Forget(key string) {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.epoch++
	tagged := key[:strings.IndexByte(key, '}')+1]
	for k, v := range r.items {
		if strings.HasPrefix(v.About(), tagged) {
			r.drop(k)
		}
	}
}

func (r *Recent[K, V]) clear() {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.epoch++
	for k := range r.items {
		r.drop(k)
	}
}

// Len returns the number of things that are kept.
func (r *Recent[K, V]) Len() int {
	r.mu.RLock()
	defer r.mu.RUnlock()
	return len(r.items)
}
