// Command clientgen generates the parts of the Python and the Node client that
// follow from the contract, package api: the calls of each method with their types,
// and the types of params, results and events.
//
// Its invariant: a client has every method and key of the contract under the
// name that it has on the wire, since both come from the same table. A test
// fails if the committed files differ from the output of this program. The code
// that sends, repeats and ends a call is not generated.
//
// Run it from the root of the checkout: go run ./hack/clientgen
package main

import (
	"fmt"
	"os"
	"path/filepath"
	"reflect"
	"slices"
	"strconv"
	"strings"

	"github.com/coxswain-sidecar/coxswain/client/api"
)

// files returns the generated files, by the path from the root of the checkout.
func files() map[string]string {
	c := read()
	return map[string]string{
		"clients/python/src/coxswain/types.py":    c.pythonTypes(),
		"clients/python/src/coxswain/_methods.py": c.pythonMethods(),
		"clients/node/src/methods.ts":             c.typescript(),
	}
}

func main() {
	for path, text := range files() {
		err := os.MkdirAll(filepath.Dir(path), 0o755) //nolint:gosec // source is for everybody
		if err == nil {
			err = os.WriteFile(path, []byte(text), 0o644) //nolint:gosec // source is for everybody
		}
		if err != nil {
			fmt.Fprintln(os.Stderr, "clientgen:", err)
			os.Exit(1)
		}
	}
}

// contract is the part of package api that clients need.
type contract struct {
	nouns  []noun
	events []*api.Spec
	shapes []shape
}

// noun is the methods that share the part before the dot.
type noun struct {
	name    string
	methods []*api.Spec
}

// shape is a map of the contract, by the name of its struct.
type shape struct {
	name   string
	fields []key
}

// key is a field of a shape.
type key struct {
	api.Field
	value reflect.Type // of the struct's field
	must  bool         // it is always present
}

// read collects the methods that can be called. It omits those that are only notifications, which clients send by themselves.
func read() contract {
	s := shapes{by: map[reflect.Type]*use{}}
	c := contract{events: api.Events()}
	for _, m := range api.Methods() {
		if m.NotifyOnly {
			continue
		}
		name, _, _ := strings.Cut(m.Name, ".")
		if len(c.nouns) == 0 || c.nouns[len(c.nouns)-1].name != name {
			c.nouns = append(c.nouns, noun{name: name})
		}
		last := &c.nouns[len(c.nouns)-1]
		last.methods = append(last.methods, m)
		s.add(m.Params, true)
		s.add(m.Result, false)
	}
	for _, e := range c.events {
		s.add(e.Params, false)
	}
	c.shapes = s.sorted()
	return c
}

// shapes collects the structs of the contract, each once.
type shapes struct{ by map[reflect.Type]*use }

// use is where a struct occurs, since different tags mark the keys that a caller may omit and those that a result may omit.
type use struct{ params, results bool }

func (s shapes) add(t reflect.Type, params bool) {
	u := s.by[t]
	if u == nil {
		u = new(use)
		s.by[t] = u
	}
	if params && u.params || !params && u.results {
		return
	}
	if params {
		u.params = true
	} else {
		u.results = true
	}
	for _, f := range api.Fields(t) {
		if f.Elem != nil {
			s.add(f.Elem, params)
		}
	}
}

func (s shapes) sorted() []shape {
	all := make([]shape, 0, len(s.by))
	for t, u := range s.by {
		all = append(all, shape{t.Name(), keys(t, *u)})
	}
	slices.SortFunc(all, func(a, b shape) int { return strings.Compare(a.name, b.name) })
	return all
}

func keys(t reflect.Type, u use) []key {
	fields := api.Fields(t)
	all := make([]key, 0, len(fields))
	for _, f := range fields {
		must := (!u.params || f.Required) && (!u.results || !f.Optional)
		all = append(all, key{f, t.Field(f.Index).Type, must})
	}
	return all
}

// params returns the keys of a call, required ones first.
func params(m *api.Spec) []key {
	all := keys(m.Params, use{params: true})
	slices.SortStableFunc(all, func(a, b key) int {
		switch {
		case a.must == b.must:
			return 0
		case a.must:
			return -1
		default:
			return 1
		}
	})
	return all
}

// describe is the text of a key, with its bounds.
func (k key) describe(isParam bool) string {
	text := k.Doc
	if isParam {
		switch lo, hi := k.Min != -api.MaxInt, k.Max != api.MaxInt; {
		case k.Kind != api.KindInt:
		case lo && hi:
			text += fmt.Sprintf(" (%d to %d)", k.Min, k.Max)
		case lo:
			text += fmt.Sprintf(" (at least %d)", k.Min)
		case hi:
			text += fmt.Sprintf(" (at most %d)", k.Max)
		}
		if k.Default != "" {
			text += "; absent = " + k.Default
		}
	}
	return text
}

// camel converts a name to that of a type: rate_limit is RateLimit.
func camel(name string) string {
	var b strings.Builder
	for part := range strings.SplitSeq(name, "_") {
		b.WriteString(strings.ToUpper(part[:1]) + part[1:])
	}
	return b.String()
}

// wrap breaks text into lines of at most width columns.
func wrap(text string, width int) []string {
	var lines []string
	line := ""
	for word := range strings.FieldsSeq(text) {
		switch {
		case line == "":
			line = word
		case len(line)+1+len(word) > width:
			lines = append(lines, line)
			line = word
		default:
			line += " " + word
		}
	}
	return append(lines, line)
}

// quoted are the values of an enumeration as both languages write them.
func quoted(enum []string) []string {
	all := make([]string, 0, len(enum))
	for _, e := range enum {
		all = append(all, strconv.Quote(e))
	}
	return all
}
