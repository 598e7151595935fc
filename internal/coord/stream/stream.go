// Package stream implements logs of messages with consumer groups: each message of a stream is
// delivered to one consumer of each group, at least once, until it is acknowledged.
//
// Invariant: once its publisher has been answered, a message stays in the log until it is trimmed,
// and a group is done with it only when a consumer has acknowledged it or it is a dead letter. A
// delivery is a lease: it is extended while the connection that holds it is open, and given back
// when that connection closes.
package stream

import (
	"crypto/rand"
	"log/slog"
	"slices"
	"sync"
	"sync/atomic"

	"github.com/coxswain-sidecar/coxswain/client/api"
	"github.com/coxswain-sidecar/coxswain/internal/coord"
	"github.com/coxswain-sidecar/coxswain/internal/coord/lease"
	"github.com/coxswain-sidecar/coxswain/internal/lua"
	"github.com/coxswain-sidecar/coxswain/internal/telemetry"
)

// noun names streams in leases, lost-lease events and metrics.
const noun = "stream"

// Options configure Streams.
type Options struct {
	Runner    *lua.Runner
	Keys      coord.Keys
	Leases    *lease.Leases
	Signals   *coord.Signals
	Telemetry *telemetry.Telemetry
	Log       *slog.Logger
	// Limits admit the messages of groups that deliver by key; nil = no group may deliver by key.
	Limits Limits
	// Consumer is this pod's name in its groups, and stays the same after a restart. If it is
	// empty, New makes a random name, which changes with each restart.
	Consumer string
	Clock    coord.Clock // nil = the system clock
}

// Streams are the streams of one sidecar.
type Streams struct {
	Options
	keys     keys
	dues     *dues
	delivery *delivery

	publishes coord.Halved[api.StreamPublishParams, api.StreamPublishResult]

	newest  atomic.Pointer[named] // the stream that was published to last
	foreign sync.Once             // logs once that a stream has entries that no sidecar wrote
}

// New returns the streams of a sidecar. Stop ends them.
func New(o Options) *Streams {
	if o.Consumer == "" {
		o.Consumer = rand.Text()
	}
	if o.Log == nil {
		o.Log = slog.New(slog.DiscardHandler)
	}
	s := &Streams{Options: o, keys: keys{o.Keys}}
	s.dues = newDues(o, s.keys)
	s.publishes = s.publication().Halved()
	s.delivery = newDelivery(s)
	return s
}

// Methods lists the methods of streams.
func (s *Streams) Methods() []coord.Method {
	return slices.Concat(s.publishing(), s.delivering(), s.operating())
}
