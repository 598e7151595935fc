// Package stream is logs of messages with groups of consumers: each message of a stream goes to
// one consumer of each group, at least once, until it is acknowledged.
//
// Its invariant: a message whose publisher was answered stays in the log until it is trimmed, and
// a group is done with it only when a consumer acknowledged it or it is a dead letter. A delivery
// is a lease: it is extended while the connection that has it lives, and given back when that
// closes.
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

// noun is the noun of leases of messages, of losses and metrics.
const noun = "stream"

// Options are what streams need.
type Options struct {
	Runner    *lua.Runner
	Keys      coord.Keys
	Leases    *lease.Leases
	Signals   *coord.Signals
	Telemetry *telemetry.Telemetry
	Log       *slog.Logger
	// Limits admit the messages of groups that deliver by key; nil = no group may.
	Limits Limits
	// Consumer names this pod in its groups. It is the same after a restart; empty = one that
	// is not.
	Consumer string
	Clock    coord.Clock // nil = the pod's
}

// Streams are the streams of one sidecar.
type Streams struct {
	Options
	keys     keys
	dues     *dues
	delivery *delivery

	publishes coord.Halved[api.StreamPublishParams, api.StreamPublishResult]

	newest  atomic.Pointer[named] // the stream that was published to last
	foreign sync.Once             // writes the one line of entries that are no messages
}

// New makes the noun. Stop ends it.
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

// Methods are those of the noun.
func (s *Streams) Methods() []coord.Method {
	return slices.Concat(s.publishing(), s.delivering(), s.operating())
}
