// Package coord is the coordination logic: one file per noun between the wire
// and the scripts.
//
// Its invariants: every key is built in keys.go; everything that a session
// holds is renewed by one renewer and given back by one path; refusals are
// results and only faults are errors.
//
// It knows neither sockets nor Redis commands: calls come in as Go values and
// go out through package lua.
package coord

// Keys builds every Redis key: <prefix>[:<tenant>]:<layout>:{<tag>}:<kind>[:<part>].
type Keys struct{ base string }

// NewKeys takes redis.prefix and redis.tenant; an empty tenant is left out.
func NewKeys(prefix, tenant string) Keys { panic("not yet") }
