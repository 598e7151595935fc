package lua

import (
	"fmt"
	"reflect"
	"slices"
	"strconv"
	"strings"
)

// A contract is the inputs and the outputs of a script. It is made of two structs, once,
// and is the only place that has the order of KEYS, of ARGV and of the reply: Go fills
// and reads the structs by it, and a script has named locals.
//
// A field has the same name in Lua, in snake case (TTLMS is ttl_ms). Its type and tag
// decide what it is there:
//
//	string                text, any bytes
//	int64                 a number
//	bool                  true or false
//	[]string              a table of texts
//	`lua:"key"`           a key of Redis, the local lock_key of a field Lock
//	`lua:"key,optional"`  the same; empty in Go is nil in Lua
//	a struct              its fields; with `lua:"table"` a table with the field's name
//	                      that has them
//
// Outputs have the same types, and slices of structs. A script returns a table with
// their names; an output that is missing there is zero.
type contract struct {
	keys, args []member // of the inputs
	ins        []member // in the order of the struct, for the script's locals
	outs       []member
	single     bool // the output is a number or a bool, and not a struct
}

// member is one field, which may be nested in structs.
type member struct {
	name  string   // in Lua, without the tables around it
	table string   // the table that it is in; empty = it is a local
	index []int    // of the field in Go
	at    int      // the position of a key or an argument, from 1
	kind  kind     // its type in Lua
	items []member // of a list of structs
}

type kind uint8

const (
	kindText kind = iota
	kindInt
	kindFlag
	kindTexts
	kindKey
	kindOptionalKey
	kindItems
)

// contractOf makes the contract of a script's structs. value is the name of an output that is not a struct. A field with a
// type or a tag that is not listed above is a fault of the build: it panics when the package is loaded.
func contractOf(in, out reflect.Type, value string) *contract {
	c := &contract{}
	c.ins = membersOf(in, nil, "")
	for i := range c.ins {
		m := &c.ins[i]
		if m.isKey() {
			c.keys = append(c.keys, *m)
			m.at = len(c.keys)
		} else {
			c.args = append(c.args, *m)
			m.at = len(c.args)
		}
		if m.kind == kindItems {
			panic(fmt.Sprintf("lua: %s: %s is a list of structs, which no input can be", in, m.name))
		}
	}
	if out.Kind() != reflect.Struct {
		c.single = true
		c.outs = []member{{name: value, kind: kindOf(out, value)}}
		return c
	}
	c.outs = membersOf(out, nil, "")
	return c
}

func (m member) isKey() bool { return m.kind == kindKey || m.kind == kindOptionalKey }

// local returns the name of the script's local variable.
func (m member) local() string {
	if m.isKey() && m.table == "" {
		return m.name + "_key"
	}
	return m.name
}

func membersOf(t reflect.Type, index []int, table string) (all []member) {
	for i := range t.NumField() {
		f := t.Field(i)
		at := append(slices.Clone(index), i)
		name, tag := inLua(f.Name), f.Tag.Get("lua")
		if f.Type.Kind() == reflect.Struct {
			switch {
			case tag == "":
				name = table
			case tag == "table" && table == "":
				// The table has the field's name.
			default:
				panic(fmt.Sprintf("lua: %s.%s: the tag is %q; a struct has none, or table if it is not in a table", t, f.Name, tag))
			}
			all = append(all, membersOf(f.Type, at, name)...)
			continue
		}
		m := member{name: name, table: table, index: at, kind: kindOf(f.Type, name)}
		switch tag {
		case "":
		case "key":
			m.kind = kindKey
		case "key,optional":
			m.kind = kindOptionalKey
		default:
			panic(fmt.Sprintf("lua: %s.%s: the tag is %q; known are key and key,optional", t, f.Name, tag))
		}
		if m.kind == kindItems {
			m.items = membersOf(f.Type.Elem(), nil, "")
		}
		all = append(all, m)
	}
	return all
}

// inLua returns the name of a field in Lua: TTLMS is ttl_ms, LastToken is last_token. It runs
// for all fields when the package is loaded, so that it uses no regular expression.
func inLua(name string) string {
	b := make([]byte, 0, len(name)+4)
	for i := range len(name) {
		if i > 0 && beginsWord(name, i) {
			b = append(b, '_')
		}
		b = append(b, name[i])
	}
	return strings.ToLower(string(b))
}

// beginsWord reports whether a word of a Go name begins at i, which is not 0: at an
// upper-case letter after a lower-case letter, at a unit after an acronym (TTLMS), and at
// the upper-case letter after an acronym that begins the next word. The s of IDs does not
// begin a word.
func beginsWord(name string, i int) bool {
	upper := func(i int) bool { return 'A' <= name[i] && name[i] <= 'Z' }
	switch rest := name[i:]; {
	case !upper(i):
		return false
	case !upper(i - 1), rest == "MS", rest == "US":
		return true
	default:
		return len(rest) > 2 && !upper(i+1)
	}
}

func kindOf(t reflect.Type, name string) kind {
	slice := t.Kind() == reflect.Slice
	switch {
	case t.Kind() == reflect.String:
		return kindText
	case t.Kind() == reflect.Int64:
		return kindInt
	case t.Kind() == reflect.Bool:
		return kindFlag
	case slice && t.Elem().Kind() == reflect.String:
		return kindTexts
	case slice && t.Elem().Kind() == reflect.Struct:
		return kindItems
	}
	panic(fmt.Sprintf("lua: %s is %s, which has no form in Lua", name, t))
}

// appendKeys appends KEYS, as pointers into the struct, since an interface that holds a text
// would be allocated. For an empty optional key the first key is sent, since in a cluster the
// empty key has a slot of its own.
func (c *contract) appendKeys(to []any, in reflect.Value) []any {
	first := len(to)
	for i := range c.keys {
		v := in.FieldByIndex(c.keys[i].index)
		if c.keys[i].kind == kindOptionalKey && v.Len() == 0 {
			to = append(to, to[first])
			continue
		}
		to = append(to, (*string)(v.Addr().UnsafePointer()))
	}
	return to
}

// appendArgs appends ARGV, texts and numbers as pointers into the struct.
func (c *contract) appendArgs(to []any, in reflect.Value) []any {
	for i := range c.args {
		v := in.FieldByIndex(c.args[i].index)
		switch c.args[i].kind {
		case kindInt:
			to = append(to, (*int64)(v.Addr().UnsafePointer()))
		case kindFlag:
			flag := 0
			if v.Bool() {
				flag = 1
			}
			to = append(to, flag)
		case kindTexts:
			to = append(to, packed(v))
		default:
			to = append(to, (*string)(v.Addr().UnsafePointer()))
		}
	}
	return to
}

// packed joins a list of texts, each after its length, so that they may contain any bytes.
func packed(list reflect.Value) string {
	var b strings.Builder
	for i := range list.Len() {
		text := list.Index(i).String()
		b.WriteString(strconv.Itoa(len(text)))
		b.WriteByte(':')
		b.WriteString(text)
	}
	return b.String()
}

// readInto reads a reply. A replayed reply may be of a version with fewer outputs; outputs
// that it lacks stay zero.
func (c *contract) readInto(out reflect.Value, r *Reply, replayed bool) {
	if c.single {
		c.outs[0].read(out, r)
		return
	}
	for i := range c.outs {
		if replayed && !r.More() {
			return
		}
		c.outs[i].read(out.FieldByIndex(c.outs[i].index), r)
	}
}

func (m *member) read(v reflect.Value, r *Reply) {
	switch m.kind {
	case kindInt:
		v.SetInt(r.Int())
	case kindFlag:
		v.SetBool(r.Bool())
	case kindText:
		v.SetString(r.Str())
	case kindTexts:
		list := make([]string, 0)
		for range r.Int() {
			list = append(list, r.Str())
		}
		v.Set(reflect.ValueOf(list))
	case kindItems:
		n := int(r.Int())
		if n <= 0 || r.err != nil {
			return
		}
		list := reflect.MakeSlice(v.Type(), 0, min(n, len(r.values)))
		for range n {
			item := reflect.New(v.Type().Elem()).Elem()
			for i := range m.items {
				m.items[i].read(item.FieldByIndex(m.items[i].index), r)
			}
			if r.err != nil {
				return
			}
			list = reflect.Append(list, item)
		}
		v.Set(list)
	case kindKey, kindOptionalKey:
	}
}

// names returns the names of the inputs and outputs in their order. A list of structs is
// returned as its own name, "then", and the names of one item.
func (c *contract) names() (keys, args, returns []string) {
	for _, m := range c.keys {
		keys = append(keys, m.name)
	}
	for _, m := range c.args {
		args = append(args, m.name)
	}
	for _, m := range c.outs {
		name := m.name
		returns = append(returns, name)
		switch m.kind {
		case kindItems:
			returns = append(returns, "then")
			for _, f := range m.items {
				returns = append(returns, f.name)
			}
		case kindTexts:
			returns = append(returns, "then", "text")
		default:
		}
	}
	return keys, args, returns
}

// lists reports whether an input is a list of texts.
func (c *contract) lists() bool {
	return slices.ContainsFunc(c.ins, func(m member) bool { return m.kind == kindTexts })
}
