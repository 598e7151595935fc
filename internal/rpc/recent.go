package rpc

import (
	"sync"
	"time"

	"github.com/coxswain-sidecar/coxswain/client/api"
	"github.com/coxswain-sidecar/coxswain/internal/telemetry"
)

// slowCall is the duration from which a call is remembered for inspect.snapshot.
const slowCall = 100 * time.Millisecond

// recent holds the latest slow calls and errors. Other calls never touch it.
type recent struct {
	mu     sync.Mutex // guards what follows
	slow   *telemetry.Ring[api.InspectSlow]
	errors *telemetry.Ring[api.InspectError]
}

// maxRecent is how many slow calls are remembered, and how many errors.
const maxRecent = 32

func newRecent() recent {
	return recent{slow: telemetry.NewRing[api.InspectSlow](maxRecent), errors: telemetry.NewRing[api.InspectError](maxRecent)}
}

func (r *recent) lists() ([]api.InspectSlow, []api.InspectError) {
	r.mu.Lock()
	defer r.mu.Unlock()
	return r.slow.List(), r.errors.List()
}

// took remembers a slow call, unless its client asked it to wait.
func (r *recent) took(k *call, d time.Duration, code string) {
	if d < slowCall || k.body.wait() > 0 {
		return
	}
	r.mu.Lock()
	defer r.mu.Unlock()
	r.slow.Add(api.InspectSlow{
		Method: k.entry.Name, DurationMS: d.Milliseconds(), AtMS: time.Now().UnixMilli(), Code: code,
	})
}

// failed remembers an error with the text that its caller gets. It skips cancelled calls and
// mistakes of callers, except CONFLICT: they would push out the errors that matter.
func (r *recent) failed(method string, e *api.Error) {
	if e.Code == api.Cancelled || e.Code.CallerFault() && e.Code != api.Conflict {
		return
	}
	r.mu.Lock()
	defer r.mu.Unlock()
	r.errors.Add(api.InspectError{
		Code: string(e.Code), Method: method, AtMS: time.Now().UnixMilli(), Text: e.Message,
	})
}
