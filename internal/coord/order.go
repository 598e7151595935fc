package coord

import (
	"hash/maphash"
	"reflect"
	"strings"
)

// Naming adds hashes of the names that a call acts on, from its params.
type Naming func(names []uint64, params reflect.Value) []uint64

// seed is random, so that no client can choose names whose hashes collide.
var seed = maphash.MakeSeed()

// NameOf returns the hash of a noun and a name of it, which may consist of several texts.
func NameOf(noun string, name ...string) uint64 {
	h := maphash.String(seed, noun)
	for _, text := range name {
		h = (h<<7 | h>>57) * 0x9e3779b97f4a7c15
		h ^= maphash.String(seed, text)
	}
	return h
}

// ParamAt returns the index of the field with that key, or -1.
func ParamAt(params reflect.Type, key string) int {
	for i := range params.NumField() {
		if name, _, _ := strings.Cut(params.Field(i).Tag.Get("codec"), ","); name == key {
			return i
		}
	}
	return -1
}

// NamingBy returns the Naming of methods whose names are one or two params.
func NamingBy(params reflect.Type, noun string, keys ...string) Naming {
	at := make([]int, len(keys))
	for i, key := range keys {
		if at[i] = ParamAt(params, key); at[i] < 0 {
			panic("coord: " + params.String() + " has no " + key)
		}
	}
	first := at[0]
	if len(at) == 1 {
		return func(names []uint64, v reflect.Value) []uint64 {
			return append(names, NameOf(noun, v.Field(first).String()))
		}
	}
	second := at[1]
	return func(names []uint64, v reflect.Value) []uint64 {
		return append(names, NameOf(noun, v.Field(first).String(), v.Field(second).String()))
	}
}

// InPool returns a Naming that adds the pool if the call acts on a member of one, and else what other adds.
func InPool(params reflect.Type, other Naming) Naming {
	pool := ParamAt(params, "pool")
	if pool < 0 {
		return other
	}
	return func(names []uint64, v reflect.Value) []uint64 {
		if p := v.Field(pool).String(); p != "" {
			return append(names, NameOf("pool", p))
		}
		return other(names, v)
	}
}
