package main

import (
	"fmt"
	"reflect"
	"strings"

	"github.com/coxswain-sidecar/coxswain/client/api"
)

// typescript is the module of types. Their names are those of the wire, so that they can be found in docs/protocol.md.
func (c contract) typescript() string {
	var b strings.Builder
	b.WriteString("// Written by `go run ./hack/clientgen` from client/api. Do not edit.\n" +
		"// The methods and events of the protocol. Names are as on the wire; durations end in _ms, instants in _at_ms (Unix milliseconds).\n")
	for _, s := range c.shapes {
		fmt.Fprintf(&b, "\nexport interface %s {\n", s.name)
		for _, k := range s.fields {
			optional := "?"
			if k.must {
				optional = ""
			}
			fmt.Fprintf(&b, "  /** %s */\n  %s%s: %s;\n", strings.ReplaceAll(k.describe(strings.HasSuffix(s.name, "Params")), "*/", "*\\/"),
				k.Name, optional, typescriptType(k))
		}
		b.WriteString("}\n")
	}
	b.WriteString("\n/** The params and the result of each method. */\nexport interface Methods {\n")
	for _, m := range c.methods() {
		fmt.Fprintf(&b, "  /** %s */\n  %q: { params: %s; result: %s };\n", m.Summary, m.Name, m.Params.Name(), m.Result.Name())
	}
	b.WriteString("}\n\nexport type MethodName = keyof Methods;\n")
	b.WriteString("\n/** The params of each event. */\nexport interface Events {\n")
	for _, e := range c.events {
		fmt.Fprintf(&b, "  /** %s */\n  %q: %s;\n", e.Summary, e.Name, e.Params.Name())
	}
	b.WriteString("}\n\nexport type EventName = keyof Events;\n")
	b.WriteString("\n/** Methods that may be called again with the same params after a lost reply. The others need a request id for that. */\n" +
		"export const idempotent: ReadonlySet<string> = new Set<MethodName>([\n")
	for _, m := range c.methods() {
		if m.Idempotent {
			fmt.Fprintf(&b, "  %q,\n", m.Name)
		}
	}
	b.WriteString("]);\n\n/** Every method, sorted by name. */\nexport const methodNames: readonly MethodName[] = [\n")
	for _, m := range c.methods() {
		fmt.Fprintf(&b, "  %q,\n", m.Name)
	}
	b.WriteString("];\n")
	return b.String()
}

// methods are those of all nouns.
func (c contract) methods() []*api.Spec {
	var all []*api.Spec
	for _, n := range c.nouns {
		all = append(all, n.methods...)
	}
	return all
}

func typescriptType(k key) string {
	item := func(kind api.Kind) string {
		return map[api.Kind]string{
			api.KindInt: "number", api.KindStr: "string", api.KindBool: "boolean", api.KindBin: "Uint8Array", api.KindAny: "unknown",
		}[kind]
	}
	switch {
	case k.Kind == api.KindMap && k.Elem != nil:
		return k.Elem.Name()
	case k.Kind == api.KindMap && k.value.Elem().Kind() == reflect.String:
		return "Record<string, string>"
	case k.Kind == api.KindMap:
		return "Record<string, unknown>"
	case k.Kind == api.KindList && k.Elem != nil:
		return k.Elem.Name() + "[]"
	case k.Kind == api.KindList:
		return item(k.Items) + "[]"
	case len(k.Enum) > 0:
		return strings.Join(quoted(k.Enum), " | ")
	default:
		return item(k.Kind)
	}
}
