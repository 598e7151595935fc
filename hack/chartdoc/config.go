package main

import (
	"fmt"
	"maps"
	"reflect"
	"strings"
	"time"

	"github.com/coxswain-sidecar/coxswain/internal/config"
)

const durationPattern = `^([0-9]+(\.[0-9]+)?(ns|us|µs|ms|s|m|h))+$`

// ofTheChart are keys of the configuration that the chart sets itself, by flag,
// variable or from a value of its own.
var ofTheChart = []string{"socket.path", "http", "redis.password_file"}

// words are keys of the configuration that hold one of a few.
var words = map[string][]string{
	"telemetry.log_level":     {"debug", "info", "warn", "error"},
	"telemetry.log_format":    {"auto", "json", "text"},
	"readiness.mode":          {config.ReadinessRedis, config.ReadinessAlways},
	"rules.precedence":        {config.PrecedenceFile, config.PrecedenceRedis},
	"rules.items[].fail_mode": {"closed", "open", "local"},
	// Strings: YAML 1.1, which helm reads, takes a bare off for false.
	"rules.items[].deny_cache":   {"on", "off"},
	"breakers.items[].fail_mode": {"closed", "open"},
}

// configuration is the schema of the sidecar's file. What it cannot say of a value
// the sidecar says when it reads it.
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
	maps.Copy(under(s, "socket.mode"), object{"pattern": "^(0o)?[0-7]{1,4}$"})
	return s
}

func typed(t reflect.Type) object {
	if t == reflect.TypeFor[time.Duration]() {
		return object{"type": "string", "pattern": durationPattern}
	}
	switch t.Kind() {
	case reflect.String:
		return object{"type": "string"}
	case reflect.Bool:
		return object{"type": "boolean"}
	case reflect.Int, reflect.Int64:
		return object{"type": "integer"}
	case reflect.Pointer:
		return typed(t.Elem())
	case reflect.Slice:
		return object{"type": "array", "items": typed(t.Elem())}
	case reflect.Struct:
		keys := object{}
		for f := range t.Fields() {
			if name, _, _ := strings.Cut(f.Tag.Get("yaml"), ","); name != "" {
				keys[name] = typed(f.Type)
			}
		}
		return object{"type": "object", "properties": keys, "additionalProperties": false}
	default:
		panic(fmt.Sprintf("chartdoc: no type of JSON is known for %s", t))
	}
}
