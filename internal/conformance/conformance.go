// Package conformance tests what the nouns promise their clients. The tests use an
// interface: they run directly on package coord, and again through a real socket with the Go
// client. It is for tests only.
//
// Its invariant: a suite uses nothing but wire parameters and results, and time passes only where the suite advances
// it, so that no outcome depends on a slow machine.
package conformance

import (
	"context"
	"testing"
	"time"

	"github.com/coxswain-sidecar/coxswain/client/api"
)

// System is the system under test: two sidecars on one store.
type System interface {
	// Connect opens a client of sidecar 0 or 1, which introduces itself with that name and
	// the instance "conformance". It is closed when the test ends, if not before.
	Connect(t testing.TB, sidecar int, name string) Client
	// Advance moves the clock (see Clock) by which scripts and sidecars decide on limits; otherwise it stands still.
	// The timers of leases in sidecars use the real clock.
	Advance(d time.Duration)
	// Now is the time of that clock.
	Now() time.Time
}

// Client is one connection.
type Client interface {
	// Do calls a method of the contract. Params and result point to its structs; a
	// request id may be empty. Parameters are sent as they are, so that zero values are
	// absent and get the wire's defaults.
	Do(ctx context.Context, requestID, method string, params, result any) error
	// Lost delivers the notifications of losses to this connection.
	Lost() <-chan api.LostParams
	// Close ends the connection. What it held may be given back a little later.
	Close()
}

// do is Client.Do with the types of the method.
func do[P, R any](ctx context.Context, c Client, requestID string, m api.Method[P, R], p P) (r R, err error) {
	err = c.Do(ctx, requestID, m.Name, &p, &r)
	return r, err
}

// patience bounds waits for something that never comes. No outcome depends on it.
const patience = 30 * time.Second

// patient returns a context with a deadline that is far enough away for any call. On a slow machine the default
// deadline of a client might pass before Redis is asked.
func patient(t testing.TB) context.Context {
	ctx, cancel := context.WithTimeout(t.Context(), 2*patience)
	t.Cleanup(cancel)
	return ctx
}

// nasty names are those that a careless key format would confuse, or a cluster misplace.
var nasty = []string{
	"a", "a{b}c", "{}", "}{", "{a}", "x:y", "x", "y", ":", "%", "%3A", "a%7Bb%7Dc", "", // the last is replaced by 512 bytes
	"grüße 世界", "nul\x00", "nul", "a\nb", " ", "v1", "lock", "rl",
}

func names() []string {
	long := make([]byte, api.MaxNameBytes)
	for i := range long {
		long[i] = 'n'
	}
	all := append([]string(nil), nasty...)
	for i, n := range all {
		if n == "" {
			all[i] = string(long)
		}
	}
	return all
}
