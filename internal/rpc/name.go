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
	case "ratelimit":
		return inPool(pool, namedLimit(at))
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

// namedLimit names a limit by rule and key, and by the group that counts in the
// key's place, if the call gives one. What it cannot name goes by the rules alone.
func namedLimit(at func(string) int) coord.Naming {
	rule, key, group, keys, items, grant := at("rule"), at("key"), at("group"), at("keys"), at("items"), at("grant")
	text := func(v reflect.Value, i int) string {
		if i < 0 {
			return ""
		}
		return v.Field(i).String()
	}
	switch {
	case key >= 0:
		return func(names []uint64, v reflect.Value) []uint64 {
			return appendLimit(names, text(v, rule), text(v, key), text(v, group))
		}
	case keys >= 0:
		return func(names []uint64, v reflect.Value) []uint64 {
			for i := range v.Field(keys).Len() {
				names = appendLimit(names, text(v, rule), v.Field(keys).Index(i).String(), "")
			}
			return names
		}
	case items >= 0:
		return func(names []uint64, v reflect.Value) []uint64 {
			list := v.Field(items)
			of := func(key string) int { return coord.ParamAt(list.Type().Elem(), key) }
			rule, key, group := of("rule"), of("key"), of("group")
			for i := range list.Len() {
				names = appendLimit(names, text(list.Index(i), rule), text(list.Index(i), key), text(list.Index(i), group))
			}
			return names
		}
	case grant >= 0:
		return func(names []uint64, v reflect.Value) []uint64 {
			if rule, counted, ok := coord.GrantedFor(v.Field(grant).String()); ok {
				return append(names, coord.NameOf("ratelimit", rule, counted))
			}
			return names
		}
	default:
		return func(names []uint64, _ reflect.Value) []uint64 { return append(names, coord.NameOf("ratelimit")) }
	}
}

func appendLimit(names []uint64, rule, key, group string) []uint64 {
	names = append(names, coord.NameOf("ratelimit", rule, key))
	if group != "" {
		names = append(names, coord.NameOf("ratelimit", rule, group))
	}
	return names
}
