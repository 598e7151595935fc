// Package api is the wire contract of Coxswain, version 1: the name, the
// parameters, the result and the guarantees of every method, and the codes of
// every error. It is the one source of truth: the sidecar decodes and
// describes calls from it, the Go client encodes them from it, and
// docs/protocol.md is generated from it.
//
// Its invariant: within protocol version 1 methods, optional parameters and
// result keys are added; nothing is renamed or removed.
//
// It converts between durations and the milliseconds of the wire, holds no other behaviour,
// and knows neither sockets nor Redis.
package api

import (
	"fmt"
	"reflect"
	"slices"
	"strings"
)

// ProtocolVersion is what session.hello answers as protocol.
const ProtocolVersion = 1

// Spec is what the sidecar says of one method, in rpc.describe and in the docs.
type Spec struct {
	// Name is the method on the wire: noun, dot, verb.
	Name string
	// Summary is one sentence for people.
	Summary string
	// Idempotent methods may be called again with the same parameters after a
	// lost reply. The others need a request id to be repeated safely.
	Idempotent bool
	// Notify methods are also run when they come as a notification.
	Notify bool
	// NotifyOnly methods exist only as a notification, so they have no result.
	NotifyOnly bool
	// Admin methods can be switched off or bound to uids in the configuration.
	Admin bool
	// Since is the version of Coxswain that first had the method.
	Since string
	// Params and Result are struct types; see Fields for their tags.
	Params, Result reflect.Type
}

// Method is a Spec that knows its parameter and result types at compile time:
// P is the struct of parameters, R the struct of results.
type Method[P, R any] struct{ *Spec }

// Event is a notification from the sidecar to its clients, with params type P.
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

// Methods returns every method, sorted by name. The slice is shared: do not change it.
func Methods() []*Spec { return methods }

// Events returns every notification that the sidecar may send, sorted by name.
// The slice is shared: do not change it.
func Events() []*Spec { return events }

// Lookup finds a method by its exact name.
func Lookup(name string) (*Spec, bool) {
	i, ok := slices.BinarySearchFunc(methods, name, compareName)
	if !ok {
		return nil, false
	}
	return methods[i], true
}

// Nothing is the params or result of a method that has none.
type Nothing struct{}
