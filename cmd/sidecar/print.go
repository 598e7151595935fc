package main

import (
	"errors"
	"fmt"
	"io"
	"reflect"
	"strings"

	"github.com/coxswain-sidecar/coxswain/client/api"
)

// printLine prints for people: texts and errors among the values are those of users
// as well, and cannot do anything to a terminal, nor begin a line.
func printLine(to io.Writer, format string, values ...any) error {
	shown := make([]any, len(values))
	for i, v := range values {
		switch v := v.(type) {
		case string:
			shown[i] = api.Printable(v)
		case error:
			shown[i] = printableError(v)
		default:
			shown[i] = v
		}
	}
	_, err := fmt.Fprintf(to, format+"\n", shown...)
	return err
}

// printableError is an error's text. What a sidecar answers is one line; the errors
// of this program may have several.
func printableError(err error) string {
	var reply *api.Error
	if errors.As(err, &reply) {
		return api.Printable(err.Error())
	}
	lines := strings.Split(err.Error(), "\n")
	for i, l := range lines {
		lines[i] = api.Printable(strings.ReplaceAll(l, "\t", "    "))
	}
	return strings.Join(lines, "\n")
}

// asWire is a value of the contract by the names that it has on the wire.
func asWire(v any) any { return wired(reflect.ValueOf(v)) }

func wired(v reflect.Value) any {
	switch v.Kind() {
	case reflect.Pointer:
		if v.IsNil() {
			return nil
		}
		return wired(v.Elem())
	case reflect.Struct:
		m := make(map[string]any, v.NumField())
		for _, f := range api.Fields(v.Type()) {
			if x := v.Field(f.Index); !f.Optional || !x.IsZero() {
				m[f.Name] = wired(x)
			}
		}
		return m
	case reflect.Slice:
		if v.Type().Elem().Kind() == reflect.Uint8 {
			return v.Interface()
		}
		all := make([]any, v.Len())
		for i := range all {
			all[i] = wired(v.Index(i))
		}
		return all
	default:
		return v.Interface()
	}
}
