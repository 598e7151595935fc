package rpc

import (
	"sync"
	"time"

	"github.com/coxswain-sidecar/coxswain/client/api"
)

// slowCall is how long a call takes that is remembered for inspect.snapshot.
const slowCall = 100 * time.Millisecond

// recent is what was out of the ordinary lately. Calls that are in order never
// touch it.
type recent struct {
	mu     sync.Mutex // guards what follows
	slow   ring[api.InspectSlow]
	errors ring[api.InspectError]
}

// ring keeps the last of many.
type ring[T any] struct {
	items [32]T
	added int
}

func (r *ring[T]) add(v T) {
	r.items[r.added%len(r.items)] = v
	r.added++
}

// list is a copy, the latest first.
func (r *ring[T]) list() []T {
	n := min(r.added, len(r.items))
	all := make([]T, 0, n)
	for i := range n {
		all = append(all, r.items[(r.added-1-i)%len(r.items)])
	}
	return all
}

func (r *recent) lists() ([]api.InspectSlow, []api.InspectError) {
	r.mu.Lock()
	defer r.mu.Unlock()
	return r.slow.list(), r.errors.list()
}

// took remembers a call that took long, unless it was asked to wait.
func (r *recent) took(k *call, d time.Duration, code string) {
	if d < slowCall || k.body.wait() > 0 {
		return
	}
	r.mu.Lock()
	defer r.mu.Unlock()
	r.slow.add(api.InspectSlow{
		Method: k.entry.Name, DurationMS: d.Milliseconds(), AtMS: time.Now().UnixMilli(), Code: code,
	})
}

// failed remembers an error as its caller is told it. Mistakes of callers, and
// what they cancelled, would only push out what matters.
func (r *recent) failed(method string, e *api.Error) {
	if e.Code == api.Cancelled || e.Code.CallerFault() && e.Code != api.Conflict {
		return
	}
	r.mu.Lock()
	defer r.mu.Unlock()
	r.errors.add(api.InspectError{
		Code: string(e.Code), Method: method, AtMS: time.Now().UnixMilli(), Text: e.Message,
	})
}
