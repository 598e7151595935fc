package rpc

import (
	"reflect"
	"strings"

	"github.com/coxswain-sidecar/coxswain/internal/coord"
)

// nameOfRules is the line of what changes rules, and of what comes behind it.
var nameOfRules = coord.NameOf("rules")

// namingOf is how the calls of a method are ordered; nil = they are not.
func namingOf(method string, params reflect.Type) coord.Naming {
	noun, _, _ := strings.Cut(method, ".")
	at := func(key string) int { return coord.ParamAt(params, key) }
	pool := at("pool")
	switch noun {
	case "pool", "permit":
		return namedBy("pool", pool, -1)
	case "breaker":
		return inPool(pool, namedBy(noun, at("name"), -1))
	case "lock", "semaphore":
		return namedBy(noun, at("name"), -1)
	case "queue":
		return namedBy(noun, at("queue"), -1)
	case "seen":
		return namedBy(noun, at("set"), at("key"))
	}
	return nil
}

// namedBy is for nouns that one or two params name.
func namedBy(noun string, first, second int) coord.Naming {
	switch {
	case first < 0:
		return nil
	case second < 0:
		return func(names []uint64, v reflect.Value) []uint64 {
			return append(names, coord.NameOf(noun, v.Field(first).String()))
		}
	default:
		return func(names []uint64, v reflect.Value) []uint64 {
			return append(names, coord.NameOf(noun, v.Field(first).String(), v.Field(second).String()))
		}
	}
}

// inPool names a pool, where the call says that it acts on a member of one.
func inPool(pool int, other coord.Naming) coord.Naming {
	if pool < 0 {
		return other
	}
	return func(names []uint64, v reflect.Value) []uint64 {
		if p := v.Field(pool).String(); p != "" {
			return append(names, coord.NameOf("pool", p))
		}
		return other(names, v)
	}
}
