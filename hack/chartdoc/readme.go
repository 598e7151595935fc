package main

import (
	"bytes"
	"encoding/json"
	"fmt"
	"strings"
)

// The table stands between these lines.
const (
	tableBegins = "<!-- values: made from values.yaml by make docs -->"
	tableEnds   = "<!-- /values -->"
)

// fill puts the table into its place in the page.
func fill(page []byte, table string) ([]byte, error) {
	before, rest, begins := bytes.Cut(page, []byte(tableBegins))
	_, after, ends := bytes.Cut(rest, []byte(tableEnds))
	if !begins || !ends {
		return nil, fmt.Errorf("lacks the lines between which the table stands: %s and %s", tableBegins, tableEnds)
	}
	return bytes.Join([][]byte{before, []byte(tableBegins), []byte(table), []byte(tableEnds), after}, nil), nil
}

func table(values []*value) string {
	var b strings.Builder
	b.WriteString("\n\n| key | default | what it is |\n|---|---|---|\n")
	rows(&b, values)
	b.WriteByte('\n')
	return b.String()
}

// rows lists what has a description. An object whose keys have rows of their own
// shows no default.
func rows(b *strings.Builder, values []*value) {
	for _, v := range values {
		var below strings.Builder
		rows(&below, v.children)
		if v.doc != "" {
			initial := ""
			if below.Len() == 0 {
				initial = "`" + compact(v.initial) + "`"
			}
			fmt.Fprintf(b, "| `%s` | %s | %s |\n", v.path, initial, strings.ReplaceAll(v.doc, "|", `\|`))
		}
		b.WriteString(below.String())
	}
}

func compact(v any) string {
	text, err := json.Marshal(v)
	if err != nil {
		panic(err) // what YAML gave has a JSON
	}
	return string(text)
}
