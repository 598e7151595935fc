package main

import (
	"bytes"
	"encoding/json"
	"fmt"
	"strings"
)

// The table is between these lines.
const (
	tableBegins = "<!-- values: made from values.yaml by make docs -->"
	tableEnds   = "<!-- /values -->"
)

// fill replaces the table in the page.
func fill(page []byte, table string) ([]byte, error) {
	before, rest, begins := bytes.Cut(page, []byte(tableBegins))
	_, after, ends := bytes.Cut(rest, []byte(tableEnds))
	if !begins || !ends {
		return nil, fmt.Errorf("the lines around the table are missing: %s and %s", tableBegins, tableEnds)
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

// rows writes a row for each value with a description. An object whose keys have rows
// of their own has no default in the table.
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
		panic(err) // a value read from YAML can be written as JSON
	}
	return string(text)
}
