package api

import "reflect"

// AsWire converts a value of the contract for encoding as JSON: a struct becomes a map
// whose keys are the names on the wire.
func AsWire(v any) any { return wired(reflect.ValueOf(v)) }

func wired(v reflect.Value) any {
	switch v.Kind() {
	case reflect.Pointer:
		if v.IsNil() {
			return nil
		}
		return wired(v.Elem())
	case reflect.Struct:
		m := make(map[string]any, v.NumField())
		for _, f := range Fields(v.Type()) {
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
