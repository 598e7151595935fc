// Package api is the wire contract of Coxswain, version 1: the name, the
// parameters, the result and the guarantees of every method, and the codes of
// every error. Everything else is derived from it: the sidecar decodes and
// describes calls by these types, the Go client encodes calls by them, and
// docs/protocol.md and the methods of the Python and the Node client are
// generated from them.
//
// Within protocol version 1, methods, optional parameters and result keys may be
// added; none is renamed or removed.
//
// Besides the types it has only small conversions, such as between durations and the
// milliseconds of the wire. It uses neither sockets nor Redis.
package api

import (
	"fmt"
	"reflect"
	"slices"
	"strings"
)

// ProtocolVersion is the version that session.hello returns as protocol.
const ProtocolVersion = 1

// Spec describes one method or event, for rpc.describe and the documentation.
type Spec struct {
	// Name is the method on the wire: noun, dot, verb.
	Name string
	// Summary is what the method does, in a sentence or two.
	Summary string
	// Idempotent reports that a call whose reply was lost may be repeated with the
	// same parameters. Other methods need a request id to be repeated safely.
	Idempotent bool
	// Notify reports that the method may also be sent as a notification, without a reply.
	Notify bool
	// NotifyOnly reports that the method exists only as a notification and has no result.
	NotifyOnly bool
	// Admin reports that the configuration can switch the method off or restrict it to some uids.
	Admin bool
	// Since is the version of Coxswain that first had the method.
	Since string
	// Params and Result are struct types; see Fields for their tags.
	Params, Result reflect.Type
}

// Method is a Spec with its types: P is the struct of its parameters, R the struct
// of its result.
type Method[P, R any] struct{ *Spec }

// Event is the Spec of a notification from the sidecar to its clients, whose parameters have type P.
type Event[P any] struct{ *Spec }

var (
	methods []*Spec
	events  []*Spec
)

func define[P, R any](s Spec) Method[P, R] {
	s.Params, s.Result = reflect.TypeFor[P](), reflect.TypeFor[R]()
	methods = insert(methods, &s)
	return Method[P, R]{&s}
}

func defineEvent[P any](s Spec) Event[P] {
	s.Params, s.Result = reflect.TypeFor[P](), reflect.TypeFor[Nothing]()
	events = insert(events, &s)
	return Event[P]{&s}
}

func insert(table []*Spec, s *Spec) []*Spec {
	i, dup := slices.BinarySearchFunc(table, s.Name, compareName)
	if dup {
		panic(fmt.Sprintf("api: %s is defined twice", s.Name))
	}
	return slices.Insert(table, i, s)
}

func compareName(s *Spec, name string) int { return strings.Compare(s.Name, name) }

// Methods returns every method, sorted by name. The slice is shared; do not modify it.
func Methods() []*Spec { return methods }

// Events returns every notification that the sidecar may send, sorted by name.
// The slice is shared; do not modify it.
func Events() []*Spec { return events }

// Lookup returns the method with this exact name, and whether there is one.
func Lookup(name string) (*Spec, bool) {
	i, ok := slices.BinarySearchFunc(methods, name, compareName)
	if !ok {
		return nil, false
	}
	return methods[i], true
}

// Nothing is the type of the params or the result of a method that has none.
type Nothing struct{}
