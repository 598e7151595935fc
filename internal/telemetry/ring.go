package telemetry

// Ring keeps the last items that were added. Its owner must guard it by a lock.
type Ring[T any] struct {
	items []T
	added int
	size  int
}

// NewRing makes a ring with room for that many items.
func NewRing[T any](size int) *Ring[T] { return &Ring[T]{size: size} }

// Add adds an item, in place of the oldest if there is no room.
func (r *Ring[T]) Add(v T) {
	if len(r.items) < r.size {
		r.items = append(r.items, v)
	} else {
		r.items[r.added%r.size] = v
	}
	r.added++
}

// Last returns the item that was added last; nil = there is none.
func (r *Ring[T]) Last() *T {
	if r.added == 0 {
		return nil
	}
	return &r.items[(r.added-1)%r.size]
}

// List returns a copy of the items, the latest first.
func (r *Ring[T]) List() []T {
	all := make([]T, 0, len(r.items))
	for i := range r.items {
		all = append(all, r.items[(r.added-1-i)%r.size])
	}
	return all
}
