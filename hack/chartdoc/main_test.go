package main_test

import (
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"reflect"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/coxswain-sidecar/coxswain/client/api"
	"github.com/coxswain-sidecar/coxswain/internal/coord/breaker"

	main "github.com/coxswain-sidecar/coxswain/hack/chartdoc"
	"github.com/coxswain-sidecar/coxswain/internal/config"
)

const chart = "../../" + main.Chart

func TestTheCommittedFilesAreCurrent(t *testing.T) {
	t.Parallel()
	files, err := main.Render(chart)
	require.NoError(t, err)
	require.Len(t, files, 2)
	for name, want := range files {
		got, err := os.ReadFile(filepath.Join(chart, name))
		require.NoError(t, err)
		require.Equal(t, string(want), string(got), "%s: run: go run ./hack/chartdoc", name)
	}
}

// of renders a chart with these values.
func of(t *testing.T, values string) (schema map[string]any, page string, err error) {
	t.Helper()
	dir := t.TempDir()
	require.NoError(t, os.WriteFile(filepath.Join(dir, "values.yaml"), []byte(values), 0o600))
	const empty = "# A chart\n<!-- values: made from values.yaml by make docs -->\nold\n<!-- /values -->\nend\n"
	require.NoError(t, os.WriteFile(filepath.Join(dir, "README.md"), []byte(empty), 0o600))
	files, err := main.Render(dir)
	if err != nil {
		return nil, "", err
	}
	require.NoError(t, json.Unmarshal(files["values.schema.json"], &schema))
	return schema, string(files["README.md"]), nil
}

func TestACommentBecomesDescriptionSchemaAndRow(t *testing.T) {
	t.Parallel()
	schema, page, err := of(t, `# About the file.

box:
  # How large,
  # or | how small.
  # @schema: {$ref: quantity, maxLength: 4}
  size: 1Mi
# Yours.
# @schema: {additionalProperties: {type: string}}
labels:
  a: b
# Of the sidecar.
# @schema: {$ref: config}
config:
  redis:
    # Where it is.
    url: redis://x
`)
	require.NoError(t, err)
	require.Equal(t, false, schema["additionalProperties"])
	require.Equal(t, []any{"box", "labels", "config"}, schema["required"])
	require.Equal(t, map[string]any{
		"global": map[string]any{"type": "object"},
		"box": map[string]any{
			"type": "object", "additionalProperties": false, "required": []any{"size"}, "properties": map[string]any{"size": map[string]any{
				"type": "string", "default": "1Mi", "description": "How large, or | how small.", "maxLength": 4.0,
				"allOf": []any{map[string]any{"$ref": "#/definitions/quantity"}},
			}},
		},
		"labels": map[string]any{
			"type": "object", "default": map[string]any{"a": "b"}, "description": "Yours.",
			"additionalProperties": map[string]any{"type": "string"},
		},
		"config": map[string]any{
			"type": "object", "default": map[string]any{"redis": map[string]any{"url": "redis://x"}}, "description": "Of the sidecar.",
			"allOf": []any{map[string]any{"$ref": "#/definitions/config"}},
		},
	}, schema["properties"])
	require.Equal(t, `# A chart
<!-- values: made from values.yaml by make docs -->

| key | default | what it is |
|---|---|---|
| `+"`box.size` | `\"1Mi\"`"+` | How large, or \| how small. |
| `+"`labels` | `{\"a\":\"b\"}`"+` | Yours. |
| `+"`config`"+` |  | Of the sidecar. |
| `+"`config.redis.url` | `\"redis://x\"`"+` | Where it is. |

<!-- /values -->
end
`, page)
}

func TestValuesWithoutDescriptionOrTypeAreErrors(t *testing.T) {
	t.Parallel()
	for values, want := range map[string]string{
		"a: 1\n":                                    "values.yaml: line 1: a: no comment above it describes it",
		"# About the file.\n\nb:\n  c: 1\n":         "values.yaml: line 3: b: line 4: b.c: no comment above it describes it",
		"# Nothing.\na:\n":                          "values.yaml: line 2: a: <nil>: its type cannot be inferred from this value",
		"# It.\n# @schema: {$ref: size}\na: 1\n":    `values.yaml: line 3: a: @schema: has no definition "size"`,
		"# It.\n# @schema: [1]\na: 1\n":             "values.yaml: line 3: a: ",
		"# It.\na: 1\n---\n# Another file.\nb: 1\n": "values.yaml: 2 documents; one is expected",
	} {
		_, _, err := of(t, values)
		require.ErrorContains(t, err, want, values)
	}
	dir := t.TempDir()
	require.NoError(t, os.WriteFile(filepath.Join(dir, "values.yaml"), []byte("# It.\na: 1\n"), 0o600))
	require.NoError(t, os.WriteFile(filepath.Join(dir, "README.md"), []byte("# A chart\n"), 0o600))
	_, err := main.Render(dir)
	require.ErrorContains(t, err, "README.md: the lines around the table are missing")
}

func TestTheSchemaOmitsKeysThatTheChartSets(t *testing.T) {
	t.Parallel()
	schema, _, err := of(t, "# It.\na: 1\n")
	require.NoError(t, err)
	at := func(keys ...string) map[string]any {
		found := schema
		for _, k := range keys {
			require.Contains(t, found, k)
			found = found[k].(map[string]any)
		}
		return found
	}
	sections := at("definitions", "config", "properties")
	require.NotContains(t, sections, "http")
	require.Contains(t, sections, "breakers")
	require.NotContains(t, at("definitions", "config", "properties", "socket", "properties"), "path")
	require.NotContains(t, at("definitions", "config", "properties", "redis", "properties"), "password_file")
	require.Equal(t, []any{"redis", "always"}, at("definitions", "config", "properties", "readiness", "properties", "mode")["enum"])
	rule := at("definitions", "config", "properties", "rules", "properties", "items", "items")
	require.Equal(t, false, rule["additionalProperties"])
	keys := rule["properties"].(map[string]any)
	require.Equal(t, map[string]any{"enum": []any{true, false, "on", "off", "true", "false"}}, keys["deny_cache"])
	require.Equal(t, keys["deny_cache"], keys["shadow"], "what helm makes of a bare word is one or the other")
	require.Contains(t, keys["algorithm"].(map[string]any)["enum"], "token_bucket")
	require.Equal(t, map[string]any{"type": "integer", "minimum": 0.0, "maximum": 1_000_000.0}, keys["max_concurrent"])
	require.Equal(t, []any{"name", "algorithm", "limits"}, rule["required"])
}

// The schema and the configuration's own check have the same bounds for each number.
func TestTheBoundsOfTheSchemaAreThoseOfTheConfiguration(t *testing.T) {
	t.Parallel()
	load := func(path string, value int) error {
		section, key, _ := strings.Cut(path, ".")
		for parts := strings.Split(key, "."); len(parts) > 1; parts = parts[1:] {
			section, key = section+": {"+parts[0], strings.Join(parts[1:], ".")
		}
		text := fmt.Sprintf("%s: {%s: %d", section, key, value)
		file := filepath.Join(t.TempDir(), "sidecar.yaml")
		require.NoError(t, os.WriteFile(file, []byte(text+strings.Repeat("}", strings.Count(text, "{"))+"\n"), 0o600))
		_, err := config.Load(config.Sources{File: file, Env: []string{"COXSWAIN_REDIS_POOL_MIN_IDLE=1"}})
		return err
	}
	checked := 0
	for path, rules := range main.More {
		least, most := rules["minimum"], rules["maximum"]
		if least == nil || path == "redis.pool.min_idle" { // the first's most is redis.pool.max
			continue
		}
		for value, good := range map[int]bool{least.(int): true, most.(int): true, least.(int) - 1: false, most.(int) + 1: false} {
			if err := load(path, value); good {
				require.NoError(t, err, "%s: %d", path, value)
			} else {
				require.ErrorContains(t, err, path, "%d", value)
			}
		}
		checked++
	}
	require.Equal(t, 8, checked)
}

func TestTheBoundsOfBreakersAreThoseOfTheirCheck(t *testing.T) {
	t.Parallel()
	checked := 0
	for _, c := range []struct {
		prefix string
		of     reflect.Type
	}{{"", reflect.TypeFor[api.BreakerPolicy]()}, {"window.", reflect.TypeFor[api.BreakerWindow]()}} {
		for _, f := range api.Fields(c.of) {
			if f.Kind != api.KindInt {
				continue
			}
			for value, good := range map[int64]bool{f.Min: true, f.Max: true, f.Min - 1: false, f.Max + 1: false} {
				w := api.BreakerWindow{WindowMS: 1000, FailureRate: 1}
				o := api.BreakerPolicy{Name: "a", Window: &w}
				switch f.Name {
				case "failure_rate":
					w.SlowRate, w.SlowMS = 1, 1000
				case "slow_ms":
					w.SlowRate = min(value, 1)
				case "slow_rate":
					w.SlowMS = min(value, 1)
				}
				at := reflect.ValueOf(&o).Elem()
				if c.prefix != "" {
					at = reflect.ValueOf(&w).Elem()
				}
				at.Field(f.Index).SetInt(value)
				var named []string
				for _, p := range breaker.CheckPolicies([]api.BreakerPolicy{o}) {
					named = append(named, p.Path)
				}
				if good {
					require.Empty(t, named, "%s: %d", f.Name, value)
				} else {
					require.Contains(t, named, "items[0]."+c.prefix+f.Name, "%d", value)
				}
			}
			checked++
		}
	}
	require.Equal(t, 11, checked)
}

func TestAnUnsupportedGoTypePanics(t *testing.T) {
	t.Parallel()
	require.PanicsWithValue(t, "chartdoc: no type of JSON is known for map[string]int", func() {
		main.Typed(reflect.TypeFor[map[string]int]())
	})
}
