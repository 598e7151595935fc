package rpc

import (
	"reflect"
	"strings"

	"github.com/coxswain-sidecar/coxswain/internal/coord"
)

// namingOf is how the calls of a method are ordered; nil = they are not.
func namingOf(method string, params reflect.Type) coord.Naming {
	noun, _, _ := strings.Cut(method, ".")
	at := func(key string) int { return coord.ParamAt(params, key) }
	switch noun {
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
