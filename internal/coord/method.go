package coord

import (
	"context"
	"reflect"

	"github.com/coxswain-sidecar/coxswain/client/api"
)

// Method is one method of the contract with the functions that carry it out. Each noun lists its
// methods; package rpc gets all of them and has no other knowledge of nouns.
type Method struct {
	*api.Spec
	// Acquires: the method acquires something. Such calls have a bound of their own, so that they never
	// keep out the calls that give back.
	Acquires bool
	// Piped: a call is one script. On a connection the next call may be sent before this one is
	// answered, and this one before those ahead are answered.
	Piped bool
	// Parks: a call that waits needs no goroutine while it does; see Invocation.Start.
	Parks bool
	// Edits: the method changes what the methods with Follows depend on, so such calls behind it on the same
	// connection take effect after it.
	Edits, Follows bool
	// Names adds the names that a call acts on, from its params; nil = there are none.
	// Calls of one connection that have a name in common take effect in their order.
	Names Naming
	// Direct: its invocations are DirectInvocations.
	Direct bool
	// New makes an Invocation, which is reused for many calls.
	New func() Invocation
}

// Invocation is one call of a method.
type Invocation interface {
	// Params and Result point to structs of the contract. They are the invocation's.
	Params() any
	Result() any
	// Run carries the call out and fills in its result.
	Run(ctx context.Context, c Caller) error
	// Start does so too, for a method that Parks: it returns as soon as there is
	// nothing to do but wait; done is called before it returns, or later on another goroutine.
	Start(ctx context.Context, c Caller, done func(error))
}

// Option is a property of a method.
type Option func(*Method)

// Acquires sets Method.Acquires.
func Acquires(m *Method) { m.Acquires = true }

// Piped sets Method.Piped.
func Piped(m *Method) { m.Piped = true }

// Edits sets Method.Edits.
func Edits(m *Method) { m.Edits = true }

// Follows sets Method.Follows.
func Follows(m *Method) { m.Follows = true }

// Named keeps calls of a connection that act on the same thing in their order; params are those that name it.
func Named(noun string, params ...string) Option {
	return func(m *Method) { m.Names = NamingBy(m.Params, noun, params...) }
}

// NamedBy is Named for names that are not single params.
func NamedBy(n func(params reflect.Type) Naming) Option {
	return func(m *Method) { m.Names = n(m.Params) }
}

// On binds a method of the contract to the function that carries it out.
func On[P, R any](m api.Method[P, R], f func(context.Context, Caller, *P) (R, error), options ...Option) Method {
	return method(m.Spec, func() Invocation { return &invocation[P, R]{run: f} }, options)
}

// OnParked binds a method that may wait to a function that needs no goroutine while it
// waits.
func OnParked[P, R any](
	m api.Method[P, R], start func(context.Context, Caller, *P, func(R, error)), options ...Option,
) Method {
	all := method(m.Spec, func() Invocation { return &invocation[P, R]{start: start} }, options)
	all.Parks = true
	return all
}

// OnEither is OnParked with another function for calls that do not wait, which then
// need no callback.
func OnEither[P, R any](
	m api.Method[P, R], f func(context.Context, Caller, *P) (R, error), start func(context.Context, Caller, *P, func(R, error)),
	options ...Option,
) Method {
	all := method(m.Spec, func() Invocation { return &invocation[P, R]{run: f, start: start} }, options)
	all.Parks = true
	return all
}

func method(s *api.Spec, open func() Invocation, options []Option) Method {
	m := Method{Spec: s, New: open}
	for _, o := range options {
		o(&m)
	}
	return m
}

// invocation is an Invocation of a method with these types.
type invocation[P, R any] struct {
	run   func(context.Context, Caller, *P) (R, error)
	start func(context.Context, Caller, *P, func(R, error))

	params P
	result R
}

func (i *invocation[P, R]) Params() any { return &i.params }
func (i *invocation[P, R]) Result() any { return &i.result }

func (i *invocation[P, R]) Run(ctx context.Context, c Caller) (err error) {
	if i.run == nil {
		i.result, err = Await(func(done func(R, error)) { i.start(ctx, c, &i.params, done) })
		return err
	}
	i.result, err = i.run(ctx, c, &i.params)
	return err
}

func (i *invocation[P, R]) Start(ctx context.Context, c Caller, done func(error)) {
	i.start(ctx, c, &i.params, func(r R, err error) {
		i.result = r
		done(err)
	})
}
