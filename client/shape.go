package client

import (
	"reflect"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"time"

	"github.com/coxswain-sidecar/coxswain/client/api"
)

// Nearly all params and results are structs of bools, integers and strings. This file encodes
// and decodes those in a fraction of the time that the MessagePack library takes, and without
// allocating strings that repeat with every call. It leaves all other types and every unusual
// encoding to the library. So the library alone decides what is accepted, and as which value.

// shape describes a struct type of params or results.
type shape struct {
	fields []field // sorted by name, as the library writes them
	plain  bool    // this file may encode and decode the type
	wait   int     // the index of the field with wait_ms; -1 = none
}

// field is one key of a shape.
type field struct {
	name  string
	index int
	kind  reflect.Kind // Bool, Int64 or String; the library handles all others
	omit  bool         // it is left out when it is zero
}

var shapes sync.Map // of *shape, by reflect.Type

// module is the path that the packages of the contract and of the client begin with. Only
// their types are encoded here, because types of others may have methods that the library uses.
var module = reflect.TypeFor[shape]().PkgPath()

// shapeOf returns the shape of the struct that v is or points to; nil if it is something else.
func shapeOf(v any) (*shape, reflect.Value) {
	rv := reflect.ValueOf(v)
	if rv.Kind() == reflect.Pointer {
		rv = rv.Elem()
	}
	if rv.Kind() != reflect.Struct {
		return nil, rv
	}
	t := rv.Type()
	s, ok := shapes.Load(t)
	if !ok {
		s, _ = shapes.LoadOrStore(t, newShape(t))
	}
	return s.(*shape), rv
}

func newShape(t reflect.Type) *shape {
	s := &shape{wait: -1, plain: strings.HasPrefix(t.PkgPath()+"/", module+"/")}
	for i := range t.NumField() {
		f := t.Field(i)
		name, options, _ := strings.Cut(f.Tag.Get("codec"), ",")
		if name == api.ParamWaitMS && f.Type.Kind() == reflect.Int64 {
			s.wait = i
		}
		if name == "" || name == "-" || f.Anonymous || !f.IsExported() || (options != "" && options != "omitempty") {
			s.plain = false
		}
		kind := f.Type.Kind()
		if f.Type.PkgPath() != "" { // a named type may have methods that the library uses
			kind = reflect.Invalid
		}
		s.fields = append(s.fields, field{name, i, kind, options == "omitempty"})
	}
	slices.SortFunc(s.fields, func(a, b field) int { return strings.Compare(a.name, b.name) })
	return s
}

// append encodes the pairs of v. It returns ok false if the library must do it.
func (s *shape) append(b []byte, v reflect.Value) (to []byte, pairs int, ok bool) {
	if !s.plain {
		return b, 0, false
	}
	for i := range s.fields {
		f := &s.fields[i]
		fv := v.Field(f.index)
		if f.omit && fv.IsZero() {
			continue
		}
		switch f.kind {
		case reflect.String:
			b = appendText(appendText(b, f.name), fv.String())
		case reflect.Int64:
			n := fv.Int()
			if n < 0 {
				return b, 0, false
			}
			b = appendUint(appendText(b, f.name), uint64(n))
		case reflect.Bool:
			b = append(appendText(b, f.name), 0xc2)
			if fv.Bool() {
				b[len(b)-1] = 0xc3
			}
		default:
			return b, 0, false
		}
		pairs++
	}
	return b, pairs, true
}

// read fills v, which is zero, from the map at the start of b. It returns false if the
// library must do it; v may then be partly filled. known is a string that v probably contains.
func (s *shape) read(b []byte, v reflect.Value, known string) bool {
	if !s.plain {
		return false
	}
	r := cursor{b}
	pairs, ok := r.pairs()
	next := 0 // the keys most likely come in the order of the fields
	for ; ok && pairs > 0; pairs-- {
		name, found := r.bytes()
		if !found {
			return false
		}
		f := s.find(name, &next)
		if f == nil {
			ok = r.skip()
			continue
		}
		ok = f.read(&r, v.Field(f.index), known)
	}
	return ok
}

// find returns the field of a key; nil = it is unknown. The search begins at next.
func (s *shape) find(name []byte, next *int) *field {
	for range s.fields {
		if *next == len(s.fields) {
			*next = 0
		}
		f := &s.fields[*next]
		*next++
		if f.name == string(name) {
			return f
		}
	}
	return nil
}

func (f *field) read(r *cursor, to reflect.Value, known string) bool {
	switch f.kind {
	case reflect.Bool:
		v, _, ok := r.take()
		if !ok || v[0]&^1 != 0xc2 {
			return false
		}
		to.SetBool(v[0] == 0xc3)
	case reflect.Int64:
		n, ok := r.signed()
		if !ok {
			return false
		}
		to.SetInt(n)
	case reflect.String:
		text, ok := r.bytes()
		if !ok {
			return false
		}
		if string(text) != known {
			known = intern(text)
		}
		to.SetString(known)
	default:
		return false
	}
	return true
}

// waitOf returns the wait_ms of params, which is added to the deadline of the call.
func (s *shape) waitOf(v reflect.Value) time.Duration {
	if s == nil || s.wait < 0 {
		return 0
	}
	return time.Duration(v.Field(s.wait).Int()) * time.Millisecond
}

// waitIn returns the wait_ms of params that are a map.
func waitIn(params map[string]any) time.Duration {
	if ms, ok := params[api.ParamWaitMS]; ok && reflect.ValueOf(ms).CanInt() {
		return time.Duration(reflect.ValueOf(ms).Int()) * time.Millisecond
	}
	return 0
}

// Most strings of results repeat: names of rules, bands and algorithms. A string that is read a
// second time is kept, and not allocated again.
const (
	keptTexts   = 512
	longestKept = 40 // bytes
)

var kept [keptTexts]struct {
	last atomic.Uint32 // the hash of the latest string that was not kept
	text atomic.Pointer[string]
}

// intern returns b as a string, without allocating it if it is kept.
func intern(b []byte) string {
	if len(b) == 0 {
		return ""
	}
	if len(b) > longestKept {
		return string(b)
	}
	h := uint32(2166136261) // FNV-1a; a collision costs only an allocation
	for _, c := range b {
		h = (h ^ uint32(c)) * 16777619
	}
	k := &kept[(h^h>>16)%keptTexts]
	if text := k.text.Load(); text != nil && *text == string(b) {
		return *text
	}
	s := string(b)
	if k.last.Swap(h) == h {
		text := s
		k.text.Store(&text)
	}
	return s
}
