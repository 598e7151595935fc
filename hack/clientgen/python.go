package main

import (
	"fmt"
	"reflect"
	"strings"

	"github.com/coxswain-sidecar/coxswain/client/api"
)

const (
	pythonHeader = "# Written by `go run ./hack/clientgen` from client/api. Do not edit.\n"
	pythonWidth  = 140
)

// pythonTypes is the module of the typed dictionaries.
func (c contract) pythonTypes() string {
	var b strings.Builder
	b.WriteString(pythonHeader + `"""The maps of the protocol, by the names that the contract gives them: results, events, and what calls take as lists."""

from __future__ import annotations

from typing import Any, Literal, NotRequired, TypedDict

`)
	for _, s := range c.shapes {
		fmt.Fprintf(&b, "\nclass %s(TypedDict):\n", s.name)
		if len(s.fields) == 0 {
			b.WriteString("    pass\n")
		}
		for _, k := range s.fields {
			for _, line := range wrap(k.describe(false), pythonWidth-6) {
				fmt.Fprintf(&b, "    # %s\n", line)
			}
			text := pythonType(k, "list", "dict")
			if !k.must {
				text = "NotRequired[" + text + "]"
			}
			fmt.Fprintf(&b, "    %s: %s\n", k.Name, text)
		}
		b.WriteString("\n")
	}
	b.WriteString("\n# The params of each event.\nEVENTS: dict[str, type] = {\n")
	for _, e := range c.events {
		fmt.Fprintf(&b, "    %q: %s,\n", e.Name, e.Params.Name())
	}
	b.WriteString("}\n")
	return b.String()
}

// pythonType is the type of a key, with the given names for lists and maps.
func pythonType(k key, list, dict string) string {
	item := func(kind api.Kind) string {
		return map[api.Kind]string{api.KindInt: "int", api.KindStr: "str", api.KindBool: "bool", api.KindBin: "bytes", api.KindAny: "Any"}[kind]
	}
	switch {
	case k.Kind == api.KindMap && k.Elem != nil:
		return k.Elem.Name()
	case k.Kind == api.KindMap && k.value.Elem().Kind() == reflect.String:
		return dict + "[str, str]"
	case k.Kind == api.KindMap:
		return dict + "[str, Any]"
	case k.Kind == api.KindList && k.Elem != nil:
		return list + "[" + k.Elem.Name() + "]"
	case k.Kind == api.KindList:
		return list + "[" + item(k.Items) + "]"
	case len(k.Enum) > 0:
		return "Literal[" + strings.Join(quoted(k.Enum), ", ") + "]"
	default:
		return item(k.Kind)
	}
}

// pythonMethods is the module of the calls: for each noun one class whose methods return results, and one whose methods are coroutines.
func (c contract) pythonMethods() string {
	var b strings.Builder
	b.WriteString(pythonHeader + `"""The calls of every method, with keyword arguments as on the wire. Durations end in _ms."""

from __future__ import annotations

from collections.abc import Coroutine, Mapping, Sequence
from typing import Any, Literal, Protocol

from .types import *  # noqa: F403


class Call(Protocol):
    """Calls a method and returns its result."""

    def __call__(self, method: str, params: dict[str, Any], deadline: float | None, /) -> Any: ...


class AsyncCall(Protocol):
    """Calls a method and returns a coroutine of its result."""

    def __call__(self, method: str, params: dict[str, Any], deadline: float | None, /) -> Coroutine[Any, Any, Any]: ...


# Methods that may be called again with the same params after a lost reply. The others need a request id for that.
IDEMPOTENT = frozenset(
    {
`)
	for _, n := range c.nouns {
		for _, m := range n.methods {
			if m.Idempotent {
				fmt.Fprintf(&b, "        %q,\n", m.Name)
			}
		}
	}
	b.WriteString("    }\n)\n")
	for _, form := range []pythonForm{{"", "Call", "%s"}, {"Async", "AsyncCall", "Coroutine[Any, Any, %s]"}} {
		for _, n := range c.nouns {
			form.class(&b, n)
		}
	}
	return b.String()
}

// pythonForm is one of the two forms of a noun's class.
type pythonForm struct{ prefix, call, result string }

func (f pythonForm) class(b *strings.Builder, n noun) {
	fmt.Fprintf(b, "\n\nclass %s%sMethods:\n    \"\"\"The calls of %s.\"\"\"\n\n", f.prefix, camel(n.name), n.name)
	fmt.Fprintf(b, "    def __init__(self, call: %s) -> None:\n        self._call = call\n", f.call)
	for _, m := range n.methods {
		f.method(b, m)
	}
}

func (f pythonForm) method(b *strings.Builder, m *api.Spec) {
	_, verb, _ := strings.Cut(m.Name, ".")
	all := params(m)
	fmt.Fprintf(b, "\n    def %s(\n        self,\n        *,\n", verb)
	for _, k := range all {
		fmt.Fprintf(b, "        %s,\n", pythonParam(k))
	}
	if !m.Idempotent {
		b.WriteString("        request_id: str | None = None,\n")
	}
	b.WriteString("        deadline: float | None = None,\n")
	result := fmt.Sprintf(f.result, m.Result.Name())
	fmt.Fprintf(b, "    ) -> %s:\n", result)
	pythonDoc(b, m, all)

	b.WriteString("        params: dict[str, Any] = {")
	for i, k := range all {
		if !k.must {
			break
		}
		if i > 0 {
			b.WriteString(", ")
		}
		fmt.Fprintf(b, "%q: %s", k.Name, k.Name)
	}
	b.WriteString("}\n")
	for _, k := range all {
		if !k.must {
			fmt.Fprintf(b, "        if %s:\n            params[%q] = %s\n", pythonGiven(k), k.Name, k.Name)
		}
	}
	if !m.Idempotent {
		fmt.Fprintf(b, "        if request_id is not None:\n            params[%q] = request_id\n", api.MetaRequestID)
	}
	fmt.Fprintf(b, "        result: %s = self._call(%q, params, deadline)\n        return result\n", result, m.Name)
}

// pythonParam is a parameter with its default: that of the contract, or None, with which the key is not sent.
func pythonParam(k key) string {
	text := k.Name + ": " + pythonType(k, "Sequence", "Mapping")
	switch {
	case k.must:
		return text
	case k.Kind == api.KindBool:
		return text + " = False"
	case k.Default != "" && k.Kind == api.KindInt:
		return text + " = " + k.Default
	case k.Default != "":
		return fmt.Sprintf("%s = %q", text, k.Default)
	default:
		return text + " | None = None"
	}
}

// pythonGiven is the condition under which a key is sent.
func pythonGiven(k key) string {
	switch {
	case k.Kind == api.KindBool:
		return k.Name
	case k.Default != "" && k.Kind == api.KindInt:
		return k.Name + " != " + k.Default
	case k.Default != "":
		return fmt.Sprintf("%s != %q", k.Name, k.Default)
	default:
		return k.Name + " is not None"
	}
}

func pythonDoc(b *strings.Builder, m *api.Spec, all []key) {
	escape := strings.NewReplacer(`\`, `\\`, `"""`, `\"\"\"`).Replace
	lines := wrap(escape(m.Summary), pythonWidth-11)
	fmt.Fprintf(b, "        \"\"\"%s", lines[0])
	for _, line := range lines[1:] {
		fmt.Fprintf(b, "\n        %s", line)
	}
	b.WriteString("\n\n")
	write := func(name, text string) {
		for i, line := range wrap(escape(name+": "+text), pythonWidth-12) {
			indent := "        "
			if i > 0 {
				indent += "    "
			}
			b.WriteString(indent + line + "\n")
		}
	}
	for _, k := range all {
		write(k.Name, k.describe(true))
	}
	if !m.Idempotent {
		write("request_id", "makes the call run once however often it is sent; absent = a new one")
	}
	write("deadline", "seconds for the call; absent = the client's, and wait_ms")
	b.WriteString("        \"\"\"\n")
}
