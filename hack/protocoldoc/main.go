// Command protocoldoc generates docs/protocol.md: the prose of protocol.md.tmpl
// around tables that are made from the contract, package api.
//
// Its invariant: the reference describes a method as the sidecar checks
// it, since both use the same table. A test fails if the
// committed file differs from the output of this program.
//
// Run it from the root of the checkout: go run ./hack/protocoldoc
package main

import (
	"bytes"
	_ "embed"
	"fmt"
	"os"
	"reflect"
	"strconv"
	"strings"
	"text/template"

	"github.com/coxswain-sidecar/coxswain/client/api"
	"github.com/coxswain-sidecar/coxswain/internal/config"
)

// File is the path of the generated file, from the root of the checkout.
const File = "docs/protocol.md"

//go:embed protocol.md.tmpl
var prose string

func main() {
	b, err := render()
	if err == nil {
		err = os.WriteFile(File, b, 0o644) //nolint:gosec // documentation may be read by all users
	}
	if err != nil {
		fmt.Fprintln(os.Stderr, "protocoldoc:", err)
		os.Exit(1)
	}
}

// render returns the whole file.
func render() ([]byte, error) {
	t, err := template.New(File).Funcs(template.FuncMap{
		"nouns": nouns, "params": params, "result": result, "event": event, "codes": func() []code { return codes }, "limits": limits,
	}).Parse(prose)
	if err != nil {
		return nil, err
	}
	var out bytes.Buffer
	err = t.Execute(&out, map[string]any{
		"Version": api.ProtocolVersion, "Events": api.Events(),
		"MaxInt": "2^53", "MaxRequestIDBytes": api.MaxRequestIDBytes, "MaxNameBytes": api.MaxNameBytes,
		"DefaultDeadlineMS": api.DefaultDeadlineMS, "MaxDeadlineMS": api.MaxDeadlineMS, "CancelAlias": api.CancelAlias,
	})
	return out.Bytes(), err
}

// noun is the methods that share the part before the dot.
type noun struct {
	Name    string
	Methods []*api.Spec
}

func nouns() []noun {
	var all []noun
	for _, m := range api.Methods() {
		name, _, _ := strings.Cut(m.Name, ".")
		if len(all) == 0 || all[len(all)-1].Name != name {
			all = append(all, noun{Name: name})
		}
		last := &all[len(all)-1]
		last.Methods = append(last.Methods, m)
	}
	return all
}

// row is one line of a table of keys.
type row struct{ Name, Type, Must, Doc string }

// keys are a map's keys, or the method that lists the same ones.
type keys struct {
	Rows   []row
	SameAs string
}

func params(s *api.Spec) keys {
	for _, m := range api.Methods() {
		if m.Params == s.Params && m.Name < s.Name && s.Params.NumField() > 0 {
			return keys{SameAs: m.Name}
		}
	}
	return table(s.Params, false)
}

func result(s *api.Spec) keys {
	for _, m := range api.Methods() {
		if m.Result == s.Result && m.Name < s.Name && s.Result.NumField() > 0 {
			return keys{SameAs: m.Name}
		}
	}
	return table(s.Result, true)
}

func event(s *api.Spec) keys { return table(s.Params, true) }

func table(t reflect.Type, isResult bool) keys {
	w := walk{isResult: isResult, shown: map[reflect.Type]string{}}
	w.rows(t, "")
	return keys{Rows: w.all}
}

// walk lists the keys of a map and, below each map or list, those inside it. A
// type that occurs again, such as a recursive one, is listed once.
type walk struct {
	isResult bool
	all      []row
	shown    map[reflect.Type]string // where
}

func (w *walk) rows(t reflect.Type, prefix string) {
	for _, f := range api.Fields(t) {
		r := row{Name: prefix + f.Name, Type: kind(f), Must: must(f, w.isResult), Doc: f.Doc + bounds(f, w.isResult)}
		inside := r.Name
		if f.Kind == api.KindList {
			inside += "[]"
		}
		where, again := w.shown[f.Elem]
		if f.Elem != nil && again {
			r.Doc += "; its keys are those of `" + where + "`"
		}
		w.all = append(w.all, r)
		if f.Elem != nil && !again {
			w.shown[f.Elem] = inside
			w.rows(f.Elem, inside+".")
		}
	}
}

func kind(f api.Field) string {
	if f.Kind == api.KindList {
		if f.Elem == nil {
			return "list of " + string(f.Items)
		}
		return "list of maps"
	}
	return string(f.Kind)
}

// must describes whether a key is present: for params "required" or its default,
// for results whether it is always present.
func must(f api.Field, isResult bool) string {
	switch {
	case isResult && f.Optional:
		return "sometimes"
	case isResult:
		return "always"
	case f.Required:
		return "required"
	case f.Default != "":
		return "`" + f.Default + "`"
	default:
		return "-"
	}
}

// bounds are the bounds of a key's value, unless they are those of all values.
func bounds(f api.Field, isResult bool) string {
	var all []string
	if len(f.Enum) > 0 {
		all = append(all, "one of `"+strings.Join(f.Enum, "`, `")+"`")
	}
	if !isResult && f.Kind == api.KindInt && (f.Min != -api.MaxInt || f.Max != api.MaxInt) {
		all = append(all, "from "+strconv.FormatInt(f.Min, 10)+" to "+strconv.FormatInt(f.Max, 10))
	}
	if !isResult && f.Kind == api.KindStr && len(f.Enum) == 0 && f.MaxLen != api.MaxNameBytes {
		all = append(all, fmt.Sprintf("at most %d bytes", f.MaxLen))
	}
	if len(all) == 0 {
		return ""
	}
	return " (" + strings.Join(all, "; ") + ")"
}

// limit is one bound of connections with its default.
type limit struct{ Name, Doc, Default string }

func limits() []limit {
	c := config.Default().Limits
	byKey := map[string]int64{
		"max_frame_bytes": c.MaxFrameBytes, "max_depth": c.MaxDepth, "max_elements": c.MaxElements,
		"max_inflight": c.MaxInflight, "max_waiting": c.MaxWaiting, "max_connections": c.MaxConnections,
	}
	var all []limit
	for _, f := range api.Fields(reflect.TypeFor[api.Limits]()) {
		text := "by the memory limit"
		if n, ok := byKey[f.Name]; ok {
			text = strconv.FormatInt(n, 10)
		}
		all = append(all, limit{f.Name, f.Doc, text})
	}
	return all
}
