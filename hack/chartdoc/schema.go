package main

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"strings"
)

// draft is the one that every helm 3 supports. It ignores keywords beside a $ref.
const draft = "http://json-schema.org/draft-07/schema#"

const amount = `(0*[1-9][0-9]*(\.[0-9]+)?|0+\.0*[1-9][0-9]*)(m|[kMGT]|[KMGT]i)?`

type object = map[string]any

// definitions are the schemas to which a @schema line may refer.
func definitions() object {
	return object{
		"quantity":        object{"type": "string", "pattern": "^" + amount + "$"},
		"quantityOrEmpty": object{"type": "string", "pattern": "^(" + amount + ")?$"},
		"config":          configuration(),
	}
}

func schema(values []*value) ([]byte, error) {
	root, err := properties(values)
	if err != nil {
		return nil, err
	}
	// Helm adds global to the values of a chart that is a dependency.
	root["properties"].(object)["global"] = object{"type": "object"}
	root["$schema"], root["title"], root["definitions"] = draft, "Values of the chart sidecar", definitions()
	var out bytes.Buffer
	e := json.NewEncoder(&out)
	e.SetEscapeHTML(false)
	e.SetIndent("", "  ")
	err = e.Encode(root)
	return out.Bytes(), err
}

func properties(values []*value) (object, error) {
	all, names := object{}, make([]string, 0, len(values))
	for _, v := range values {
		s, err := v.schema()
		if err != nil {
			return nil, fmt.Errorf("line %d: %s: %w", v.line, v.path, err)
		}
		all[v.name] = s
		names = append(names, v.name)
	}
	// For a null, such as a section whose keys are all commented out, Helm removes the
	// default; the templates need all defaults.
	return object{"type": "object", "properties": all, "additionalProperties": false, "required": names}, nil
}

func (v *value) schema() (object, error) {
	s, err := v.plain()
	if err != nil {
		return nil, err
	}
	if v.doc != "" {
		s["description"] = v.doc
	}
	maps.Copy(s, v.rules)
	if name, ok := s["$ref"].(string); ok {
		if _, known := definitions()[name]; !known {
			return nil, fmt.Errorf("%s has no definition %q", rulesMark, name)
		}
		delete(s, "$ref")
		s["allOf"] = []object{{"$ref": "#/definitions/" + name}}
	}
	return s, nil
}

// plain is the schema that follows from the value's type and comment in the file.
func (v *value) plain() (object, error) {
	switch {
	case v.ours():
		return properties(v.children)
	case v.doc == "":
		return nil, errors.New("no comment above it describes it")
	}
	t, err := typeOf(v.initial)
	return object{"type": t, "default": v.initial}, err
}

func typeOf(v any) (string, error) {
	switch v.(type) {
	case string:
		return "string", nil
	case bool:
		return "boolean", nil
	case int64, uint64:
		return "integer", nil
	case []any:
		return "array", nil
	case map[string]any:
		return "object", nil
	}
	return "", fmt.Errorf("%v: its type cannot be inferred from this value", v)
}

// under is the schema of a path such as rules.items[].limits, nil if there is none.
func under(s object, path string) object {
	for key := range strings.SplitSeq(strings.ReplaceAll(path, "[]", ".[]"), ".") {
		var next object
		if key == "[]" {
			next, _ = s["items"].(object)
		} else if all, ok := s["properties"].(object); ok {
			next, _ = all[key].(object)
		}
		if s = next; s == nil {
			return nil
		}
	}
	return s
}
