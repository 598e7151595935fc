package main

import (
	"fmt"
	"maps"
	"reflect"
	"strings"
	"time"

	"github.com/coxswain-sidecar/coxswain/client/api"
	"github.com/coxswain-sidecar/coxswain/internal/config"
)

const durationPattern = `^([0-9]+(\.[0-9]+)?(ns|us|µs|ms|s|m|h))+$`

// ofTheChart are keys of the configuration that the chart sets itself: by a flag,
// by a variable, or from another value.
var ofTheChart = []string{"socket.path", "http", "redis.password_file"}

// words are keys of the configuration whose value is one of a few words.
var words = map[string][]string{
	"telemetry.log_level":  {"debug", "info", "warn", "error"},
	"telemetry.log_format": {"auto", "json", "text"},
	"readiness.mode":       {config.ReadinessRedis, config.ReadinessAlways},
	"rules.precedence":     {config.PrecedenceFile, config.PrecedenceRedis},
}

// more has the bounds of keys that are not part of the wire contract. A test
// compares them with the configuration's own checks.
var more = map[string]object{
	"socket.mode":                      {"pattern": "^(0o)?[0-7]{1,4}$"},
	"redis.url":                        {"pattern": `^(embedded$|rediss?(\+sentinel|\+cluster)?://.|unix:///.)`},
	"redis.pool.max":                   {"minimum": 1, "maximum": 10_000},
	"redis.pool.min_idle":              {"minimum": 1, "maximum": 10_000},
	"limits.max_frame_bytes":           {"minimum": 1 << 10, "maximum": 64 << 20},
	"limits.max_depth":                 {"minimum": 4, "maximum": 64},
	"limits.max_elements":              {"minimum": 64, "maximum": 1 << 20},
	"limits.max_inflight":              {"minimum": 1, "maximum": 65_536},
	"limits.max_waiting":               {"minimum": 1, "maximum": 65_536},
	"limits.max_connections":           {"minimum": 1, "maximum": 65_536},
	"runtime.procs":                    {"type": []string{"integer", "string"}, "minimum": 1, "maximum": 1024, "pattern": "^(auto|[1-9][0-9]{0,3})$"},
	"streams.consumer":                 {"maxLength": config.MaxConsumer},
	"rules.items[]":                    {"required": []string{"name", "algorithm", "limits"}},
	"rules.items[].limits":             {"minItems": 1, "maxItems": api.MaxBands},
	"rules.items[].limits[]":           {"required": []string{"period_ms"}},
	"rules.items[].overrides[].limits": {"maxItems": api.MaxBands},
	"rules.items[].allow[]":            {"minProperties": 1, "maxProperties": 1},
	"rules.items[].deny[]":             {"minProperties": 1, "maxProperties": 1},

	"breakers.items[]":        {"required": []string{"name"}},
	"breakers.items[].window": {"required": []string{"window_ms"}},
}

// onOff lists the values of a key that is on or off: helm reads YAML 1.1, where an
// unquoted off is false, while in JSON it stays a word.
func onOff() []any { return []any{true, false, "on", "off", "true", "false"} }

// configuration is the schema of the sidecar's file. The sidecar itself makes the checks
// that a schema cannot express.
func configuration() object {
	s := typed(reflect.TypeFor[config.Config]())
	for _, path := range ofTheChart {
		section, key := s, path
		if i := strings.LastIndexByte(path, '.'); i >= 0 {
			section, key = under(s, path[:i]), path[i+1:]
		}
		delete(section["properties"].(object), key)
	}
	for path, list := range words {
		maps.Copy(under(s, path), object{"enum": list})
	}
	asOnTheWire(under(s, "rules.items[]"), reflect.TypeFor[api.Rule]())
	asOnTheWire(under(s, "breakers.items[]"), reflect.TypeFor[api.BreakerPolicy]())
	for path, rules := range more {
		maps.Copy(under(s, path), rules)
	}
	return s
}

// asOnTheWire adds the words and bounds of the contract's type, which has the same
// names, to the keys of a section.
func asOnTheWire(section object, t reflect.Type) {
	keys := section["properties"].(object)
	for _, f := range api.Fields(t) {
		key, ok := keys[f.Name].(object)
		switch {
		case !ok:
		case f.Name == "deny_cache":
			keys[f.Name] = object{"enum": onOff()}
		case len(f.Enum) > 0:
			key["enum"] = f.Enum
		case f.Kind == api.KindInt:
			bound(key, f)
		case f.Kind == api.KindList && f.Items == api.KindInt:
			bound(key["items"].(object), f)
		case f.Kind == api.KindList && f.Elem != nil:
			asOnTheWire(key["items"].(object), f.Elem)
		case f.Kind == api.KindMap && f.Elem != nil:
			asOnTheWire(key, f.Elem)
		}
	}
}

func bound(key object, f api.Field) {
	if f.Min > -api.MaxInt {
		key["minimum"] = f.Min
	}
	if f.Max < api.MaxInt {
		key["maximum"] = f.Max
	}
}

func typed(t reflect.Type) object {
	if t == reflect.TypeFor[time.Duration]() {
		return object{"type": "string", "pattern": durationPattern}
	}
	switch t.Kind() {
	case reflect.String:
		return object{"type": "string"}
	case reflect.Bool:
		return object{"enum": onOff()}
	case reflect.Int, reflect.Int64:
		return object{"type": "integer"}
	case reflect.Float64:
		return object{"type": "number"}
	case reflect.Pointer:
		return typed(t.Elem())
	case reflect.Slice:
		return object{"type": []string{"array", "null"}, "items": typed(t.Elem())}
	case reflect.Struct:
		keys := object{}
		for f := range t.Fields() {
			if name, _, _ := strings.Cut(f.Tag.Get("yaml"), ","); name != "" {
				keys[name] = typed(f.Type)
			}
		}
		// In the file a section without keys, which is null, means its defaults.
		return object{"type": []string{"object", "null"}, "properties": keys, "additionalProperties": false}
	default:
		panic(fmt.Sprintf("chartdoc: no type of JSON is known for %s", t))
	}
}
