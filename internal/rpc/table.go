package rpc

import (
	"fmt"
	"reflect"
	"slices"
	"strconv"
	"strings"
	"sync"

	"github.com/coxswain-sidecar/coxswain/client/api"
)

// A table is a struct type of the contract, compiled once, so that the decoder and
// the encoder need not read the tags of its fields for each call.
type table struct {
	fields []field
	names  []string
	// blank is the struct with every default set.
	blank reflect.Value
	// required has a bit for each field that must be given.
	required uint64
}

// field is one key of a params or result map.
type field struct {
	api.Field
	// key is the name, encoded for the wire.
	key []byte
	// want is what the error about a wrong value says is expected: "a map is expected".
	want string
	// sub is the table of a map, or of the maps in a list. item is an element of a list of
	// texts or integers, or a text of a map whose keys are not fixed.
	sub  *table
	item *field
	// prose is text for people.
	prose bool
	// pointer fields are left nil when their key is absent.
	pointer bool
}

// prose are the keys of texts that the sidecar writes for people, and that may quote
// texts of clients.
var prose = []string{"message", "text", "detail"}

// textsType is the type of the only maps whose keys the contract does not fix.
var textsType = reflect.TypeFor[map[string]string]()

// maxFields bounds a table to the bits of its masks.
const maxFields = 64

// tables has the tables of struct types, each compiled once. It is safe for concurrent use:
// the servers of one process share it, and each has a list of methods of its own.
type tables struct {
	mu     sync.Mutex
	byType map[reflect.Type]*table
}

func newTables() *tables { return &tables{byType: map[reflect.Type]*table{}} }

// of returns the table of a struct type. It panics on a type that has no wire form, which
// is a fault of the contract; every server compiles all of its methods when it is made.
func (ts *tables) of(t reflect.Type) *table {
	ts.mu.Lock()
	defer ts.mu.Unlock()
	return ts.compile(t)
}

// compile adds a type to byType before it compiles its fields, so that a type may contain itself.
func (ts *tables) compile(t reflect.Type) *table {
	if c, ok := ts.byType[t]; ok {
		return c
	}
	c := &table{blank: reflect.New(t).Elem()}
	ts.byType[t] = c
	described := api.Fields(t)
	if len(described) > maxFields {
		panic(fmt.Sprintf("rpc: %s has more than %d fields", t, maxFields))
	}
	for i, d := range described {
		if d.Kind == api.KindAny || d.Kind == api.KindMap && d.Elem == nil && t.Field(d.Index).Type != textsType {
			panic(fmt.Sprintf("rpc: %s.%s: free-form values have no codec here", t, d.Name))
		}
		f := field{Field: d, key: appendText(nil, d.Name), want: want(d), pointer: t.Field(d.Index).Type.Kind() == reflect.Pointer}
		f.prose = slices.Contains(prose, d.Name)
		switch {
		case d.Elem != nil:
			f.sub = ts.compile(d.Elem)
		case d.Kind == api.KindMap:
			item := api.Field{Kind: api.KindStr, MaxLen: d.MaxLen}
			f.item = &field{Field: item, want: want(item)}
		case d.Kind == api.KindList:
			if d.Items != api.KindStr && d.Items != api.KindInt {
				panic(fmt.Sprintf("rpc: %s.%s: a list of %s has no codec here", t, d.Name, d.Items))
			}
			item := api.Field{Kind: d.Items, MaxLen: d.MaxLen, Min: d.Min, Max: d.Max}
			f.item = &field{Field: item, want: want(item)}
		}
		if d.Required {
			c.required |= 1 << i
		}
		if d.Default != "" {
			setDefault(c.blank.Field(d.Index), d)
		}
		c.fields = append(c.fields, f)
		c.names = append(c.names, d.Name)
	}
	return c
}

func setDefault(v reflect.Value, d api.Field) {
	switch d.Kind {
	case api.KindInt:
		n, err := strconv.ParseInt(d.Default, 10, 64)
		if err != nil {
			panic(fmt.Sprintf("rpc: default of %s: %v", d.Name, err))
		}
		v.SetInt(n)
	case api.KindStr:
		v.SetString(d.Default)
	case api.KindBool:
		v.SetBool(d.Default == "true")
	default:
		panic(fmt.Sprintf("rpc: %s: a %s has no default", d.Name, d.Kind))
	}
}

// want returns the part of an error text about what a field accepts.
func want(d api.Field) string {
	switch d.Kind {
	case api.KindInt:
		return fmt.Sprintf("an integer from %d to %d is expected", d.Min, d.Max)
	case api.KindStr:
		switch {
		case len(d.Enum) > 0:
			return "one of " + strings.Join(d.Enum, ", ") + " is expected"
		case d.Required:
			return fmt.Sprintf("text of 1 to %d bytes is expected", d.MaxLen)
		default:
			return fmt.Sprintf("text of at most %d bytes is expected", d.MaxLen)
		}
	case api.KindBool:
		return "true or false, or 1 or 0, is expected"
	case api.KindBin:
		return fmt.Sprintf("bin of at most %d bytes is expected", d.MaxLen)
	case api.KindMap:
		return "a map is expected"
	default:
		return "a list is expected"
	}
}

// find returns the index of the field with this key, or -1. Clients mostly
// send keys in the order of the docs, so the search begins where the last one
// ended.
func (t *table) find(key []byte, from int) int {
	for i := range t.fields {
		at := from + i
		if at >= len(t.fields) {
			at -= len(t.fields)
		}
		if t.fields[at].Name == string(key) {
			return at
		}
	}
	return -1
}
