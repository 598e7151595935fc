package api

import (
	"fmt"
	"reflect"
	"strconv"
	"strings"
)

// Kind is the wire type of a field.
type Kind string

// The wire types. Integers are always within 2^53; Any is free-form.
const (
	KindInt  Kind = "int"
	KindStr  Kind = "str"
	KindBool Kind = "bool"
	KindBin  Kind = "bin"
	KindMap  Kind = "map"
	KindList Kind = "list"
	KindAny  Kind = "any"
)

// MaxInt is the largest integer on the wire: beyond 2^53 JavaScript and Lua
// clients, and the Lua scripts themselves, would silently round.
const MaxInt = 1 << 53

// MaxNameBytes is the longest name or key in bytes, unless a field says otherwise.
const MaxNameBytes = 512

// Field describes one key of a params or result map. It is read from the
// struct tags of the contract's types:
//
//	codec    the key on the wire, as go-msgpack reads it
//	required "true": the key must be there, and not be empty
//	default  the value of an absent key
//	min, max the range of an int
//	maxlen   the longest str in bytes (params: 512 where it is not given)
//	enum     the allowed values of a str, separated by commas; {algorithm} is all Algorithms
//	doc      one phrase for people, with the unit
type Field struct {
	Name     string
	Index    int // of the struct field
	Kind     Kind
	Elem     reflect.Type // the struct of a map, or of the items of a list; else nil
	Items    Kind         // of a list without Elem: str or int, which Min and Max bound
	Required bool
	Optional bool // result keys that are left out when they do not apply
	Default  string
	// Zero is what a 0 that was sent is kept as, where that says something else than
	// leaving the key out; 0 = as it is.
	Zero     int64
	Min, Max int64
	MaxLen   int
	Enum     []string
	Doc      string
}

// Fields lists the keys of a params or result struct in declaration order. It
// panics on a tag that cannot be read: that is a fault of this package, found
// by its tests.
func Fields(t reflect.Type) []Field {
	fields := make([]Field, 0, t.NumField())
	for i := range t.NumField() {
		fields = append(fields, field(t.Field(i), i))
	}
	return fields
}

func field(sf reflect.StructField, index int) Field {
	name, opts, _ := strings.Cut(sf.Tag.Get("codec"), ",")
	if name == "" {
		panic(fmt.Sprintf("api: field %s has no codec tag", sf.Name))
	}
	f := Field{
		Name:     name,
		Index:    index,
		Required: sf.Tag.Get("required") == "true",
		Optional: strings.Contains(opts, "omitempty"),
		Default:  sf.Tag.Get("default"),
		Zero:     number(sf, "zero", 0),
		Min:      number(sf, "min", -MaxInt),
		Max:      number(sf, "max", MaxInt),
		MaxLen:   int(number(sf, "maxlen", MaxNameBytes)),
		Doc:      sf.Tag.Get("doc"),
	}
	if e := sf.Tag.Get("enum"); e != "" {
		f.Enum = strings.Split(e, ",")
		if e == "{algorithm}" {
			f.Enum = Algorithms
		}
	}
	f.Kind, f.Elem = kind(sf.Type)
	if f.Kind == KindList && f.Elem == nil {
		f.Items, _ = kind(sf.Type.Elem())
	}
	if f.Kind == "" {
		panic(fmt.Sprintf("api: field %s has no wire type", sf.Name))
	}
	return f
}

func kind(t reflect.Type) (Kind, reflect.Type) {
	switch t.Kind() {
	case reflect.Int64:
		return KindInt, nil
	case reflect.String:
		return KindStr, nil
	case reflect.Bool:
		return KindBool, nil
	case reflect.Interface:
		return KindAny, nil
	case reflect.Struct:
		return KindMap, t
	case reflect.Pointer:
		k, elem := kind(t.Elem())
		return k, elem
	case reflect.Map:
		return KindMap, nil
	case reflect.Slice:
		if t.Elem().Kind() == reflect.Uint8 {
			return KindBin, nil
		}
		_, elem := kind(t.Elem())
		return KindList, elem
	default:
		return "", nil
	}
}

func number(sf reflect.StructField, tag string, absent int64) int64 {
	s, ok := sf.Tag.Lookup(tag)
	if !ok {
		return absent
	}
	n, err := strconv.ParseInt(s, 10, 64)
	if err != nil {
		panic(fmt.Sprintf("api: field %s: tag %s: %v", sf.Name, tag, err))
	}
	return n
}
