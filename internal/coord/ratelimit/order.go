package ratelimit

import (
	"reflect"

	"github.com/coxswain-sidecar/coxswain/internal/coord"
)

// limited sets the options of all methods of the noun: on one connection, a call runs after the
// calls before it that change rules, and in order with calls that name the same limit.
func limited(m *coord.Method) {
	m.Follows, m.Names = true, coord.InPool(m.Params, limitNames(m.Params))
}

// limitNames names a limit by rule and key, and by the group that counts instead of the key, if
// the call gives one. A call that it cannot name is ordered only with changes of rules.
func limitNames(params reflect.Type) coord.Naming {
	at := func(key string) int { return coord.ParamAt(params, key) }
	key, keys, items, grant := at("key"), at("keys"), at("items"), at("grant")
	of := limitAt(params)
	switch {
	case key >= 0:
		return of.names
	case keys >= 0:
		return func(names []uint64, v reflect.Value) []uint64 {
			rule := of.text(v, of.rule)
			for i := range v.Field(keys).Len() {
				names = append(names, coord.NameOf(noun, rule, v.Field(keys).Index(i).String()))
			}
			return names
		}
	case items >= 0:
		item := limitAt(params.Field(items).Type.Elem())
		return func(names []uint64, v reflect.Value) []uint64 {
			for i := range v.Field(items).Len() {
				names = item.names(names, v.Field(items).Index(i))
			}
			return names
		}
	case grant >= 0:
		return func(names []uint64, v reflect.Value) []uint64 {
			if rule, counted, ok := grantedFor(v.Field(grant).String()); ok {
				return append(names, coord.NameOf(noun, rule, counted))
			}
			return names
		}
	default:
		return func(names []uint64, _ reflect.Value) []uint64 { return append(names, coord.NameOf(noun)) }
	}
}

// limitParams has the field index of each param that names a limit; -1 = there is none.
type limitParams struct{ rule, key, group int }

func limitAt(params reflect.Type) limitParams {
	return limitParams{coord.ParamAt(params, "rule"), coord.ParamAt(params, "key"), coord.ParamAt(params, "group")}
}

func (limitParams) text(v reflect.Value, i int) string {
	if i < 0 {
		return ""
	}
	return v.Field(i).String()
}

func (p limitParams) names(names []uint64, v reflect.Value) []uint64 {
	rule := p.text(v, p.rule)
	names = append(names, coord.NameOf(noun, rule, p.text(v, p.key)))
	if group := p.text(v, p.group); group != "" {
		names = append(names, coord.NameOf(noun, rule, group))
	}
	return names
}
