package telemetry

// Ring keeps the last of many. Its owner guards it.
type Ring[T any] struct {
	items []T
	added int
	size  int
}

// NewRing makes one that keeps so many.
func NewRing[T any](size int) *Ring[T] { return &Ring[T]{size: size} }

// Add keeps a thing, in place of the oldest when there is no room.
func (r *Ring[T]) Add(v T) {
	if len(r.items) < r.size {
		r.items = append(r.items, v)
	} else {
		r.items[r.added%r.size] = v
	}
	r.added++
}

// Last is the one that was added last; nil = there is none.
func (r *Ring[T]) Last() *T {
	if r.added == 0 {
		return nil
	}
	return &r.items[(r.added-1)%r.size]
}

// List copies what is kept, the latest first.
func (r *Ring[T]) List() []T {
	all := make([]T, 0, len(r.items))
	for i := range r.items {
		all = append(all, r.items[(r.added-1-i)%r.size])
	}
	return all
}
