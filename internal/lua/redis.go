package lua

import (
	"context"
	"log/slog"
	"time"

	"github.com/coxswain-sidecar/coxswain/internal/telemetry"
)

// Embedded is the URL of the in-process development store.
const Embedded = "embedded"

// Options say where Redis is and how to use it.
type Options struct {
	// URL is redis://[user:password@]host:port[/db], or Embedded.
	URL string
	// MinIdle and MaxConns bound the pool (10 and 50).
	MinIdle, MaxConns int
	// DialTimeout (5 s) and CommandTimeout (3 s) bound one step each; the
	// call's own deadline bounds all of them.
	DialTimeout, CommandTimeout time.Duration
	Log                         *slog.Logger
	Telemetry                   *telemetry.Telemetry
	// Clock, in tests, is what scripts read instead of TIME: Unix microseconds.
	Clock func() int64
}

// Open makes a runner and starts connecting in the background: Redis being away
// is a state, not an error. It fails only on options that can never work.
func Open(o Options) (*Runner, error) { panic("not yet") }

// Close ends the runner and its connections; calls that run then fail.
func (r *Runner) Close() error { panic("not yet") }

// Status is what health pages show of the connection.
type Status struct {
	Topology string // standalone or embedded
	Address  string // without credentials
	Up       bool
	// Err is why it is down, without credentials.
	Err error
	// ScriptsLoaded: every script was loaded since the connection last came up.
	ScriptsLoaded bool
	// EvictionPolicy is Redis's maxmemory-policy, empty when it may not be read.
	EvictionPolicy               string
	RTT                          time.Duration
	UsedMemory                   int64 // bytes
	PoolTotal, PoolIdle, PoolMax int
}

// Status answers from memory; a background probe keeps it fresh.
func (r *Runner) Status() Status { panic("not yet") }

// Ping asks Redis now, within ctx.
func (r *Runner) Ping(ctx context.Context) error { panic("not yet") }
