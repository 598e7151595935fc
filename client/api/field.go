package api

import (
	"fmt"
	"reflect"
	"strconv"
	"strings"
)

// Kind is the wire type of a field.
type Kind string

// The wire types. An integer is always within 2^53; KindAny is any value.
const (
	KindInt  Kind = "int"
	KindStr  Kind = "str"
	KindBool Kind = "bool"
	KindBin  Kind = "bin"
	KindMap  Kind = "map"
	KindList Kind = "list"
	KindAny  Kind = "any"
)

// MaxInt is the largest integer on the wire. Beyond 2^53 clients in JavaScript and Lua,
// and the Lua scripts themselves, would silently round.
const MaxInt = 1 << 53

// MaxNameBytes is the longest name or key in bytes, unless a field has a maxlen of its own.
const MaxNameBytes = 512

// Field describes one key of a params or result map. It is read from these
// struct tags of the contract's types:
//
//	codec    the key on the wire, as go-msgpack reads it
//	required "true": the key must be present and not empty
//	default  the value of an absent key
//	zero     the value that an explicit 0 is replaced by, where 0 and an absent key differ
//	min, max the range of an int
//	maxlen   the longest str in bytes (512 where a param has no maxlen)
//	enum     the allowed values of a str, separated by commas; {algorithm} stands for all Algorithms
//	doc      a phrase for people, with the unit
type Field struct {
	Name     string
	Index    int // of the field in its struct
	Kind     Kind
	Elem     reflect.Type // the struct of a map or of a list's items; otherwise nil
	Items    Kind         // of a list without Elem: the kind of its items, str or int (bounded by Min and Max)
	Required bool
	Optional bool // a result key that is left out when it does not apply
	Default  string
	// Zero is the value that replaces an explicit 0 where it means something other than
	// an absent key; 0 = a 0 stays a 0.
	Zero     int64
	Min, Max int64
	MaxLen   int
	Enum     []string
	Doc      string
}

// Fields returns the keys of a params or result struct in declaration order. It
// panics if it cannot read a tag, which is a defect of this package that its
// tests find.
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
