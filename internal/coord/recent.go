package coord

import (
	"strings"
	"sync"
	"time"
)

// Recent keeps a bounded number of entries, each until it ends. Times are
// since the start of its owner's clock.
type Recent[K comparable, V Ending] struct {
	mu    sync.RWMutex // guards items
	items map[K]V
	// epoch changes whenever entries are dropped by Forget or clear: a value that was read from Redis before and
	// is put after may be out of date.
	epoch uint64
}

// Ending is an entry that a Recent keeps until Ends. About returns the Redis key that it is about.
type Ending interface {
	Ends() time.Duration
	About() string
}

// Dropped is an Ending whose method is called when a Recent drops it. The lock of the Recent is
// held then, so the method must neither block nor use it.
type Dropped interface{ Dropped() }

const (
	// MaxRecent bounds the entries of a Recent, since callers choose the keys.
	MaxRecent = 1 << 14
	// lookAround is how many entries are compared to choose the one that is dropped for a new one.
	lookAround = 8
)

// NewRecent makes an empty Recent.
func NewRecent[K comparable, V Ending]() *Recent[K, V] {
	return &Recent[K, V]{items: make(map[K]V)}
}

// Get returns the entry of k. Epoch is to be passed to Put.
func (r *Recent[K, V]) Get(k K) (v V, ok bool, epoch uint64) {
	r.mu.RLock()
	defer r.mu.RUnlock()
	v, ok = r.items[k]
	return v, ok, r.epoch
}

// Put sets the entry of k, unless the epoch, which Get returned before v was read, has ended.
func (r *Recent[K, V]) Put(k K, v V, epoch uint64) {
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.epoch == epoch {
		r.set(k, v)
	}
}

// Keep returns the entry of k. If there is none, it sets and returns made.
func (r *Recent[K, V]) Keep(k K, made V) V {
	r.mu.Lock()
	defer r.mu.Unlock()
	if v, ok := r.items[k]; ok {
		return v
	}
	r.set(k, made)
	return made
}

// Update replaces the entry of k by what f returns for it. If there is no entry, f gets the zero V.
func (r *Recent[K, V]) Update(k K, f func(V) V) {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.set(k, f(r.items[k]))
}

// set needs r.mu. If the map is full, it drops an entry: of the first few of the map's random order, the one
// that ends first.
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

// Drop drops the entry of k.
func (r *Recent[K, V]) Drop(k K) {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.drop(k)
}

// DropIf drops all entries for which gone returns true. Gone is called with the lock held.
func (r *Recent[K, V]) DropIf(gone func(K, V) bool) {
	r.mu.Lock()
	defer r.mu.Unlock()
	for k, v := range r.items {
		if gone(k, v) {
			r.drop(k)
		}
	}
}

// Forget drops all entries about a Redis key or other keys under its tag, since a change of one key
// may change answers about the others. Changes are rare, so looking through all entries is cheaper
// than a second index, which every call would have to maintain.
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

// Len returns the number of entries.
func (r *Recent[K, V]) Len() int {
	r.mu.RLock()
	defer r.mu.RUnlock()
	return len(r.items)
}
