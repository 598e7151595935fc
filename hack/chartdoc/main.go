// Command chartdoc generates the files that repeat the chart's values:
// charts/sidecar/values.schema.json, and the table in charts/sidecar/README.md.
// It reads charts/sidecar/values.yaml with its comments, and the keys of the
// sidecar's configuration from package config.
//
// Its invariant: a value without a description is an error, and the schema refuses a
// key that values.yaml or the configuration does not have. A test fails if the
// committed files differ from the output of this program.
//
// Run it from the root of the checkout: go run ./hack/chartdoc
package main

import (
	"fmt"
	"os"
	"path/filepath"
)

// Chart is the folder of the chart, from the root of the checkout.
const Chart = "charts/sidecar"

func main() {
	if err := write(Chart); err != nil {
		fmt.Fprintln(os.Stderr, "chartdoc:", err)
		os.Exit(1)
	}
}

func write(chart string) error {
	files, err := render(chart)
	if err != nil {
		return err
	}
	for name, b := range files {
		//nolint:gosec // documentation may be read by all users
		if err := os.WriteFile(filepath.Join(chart, name), b, 0o644); err != nil {
			return err
		}
	}
	return nil
}

// render returns the whole text of each file that is generated or has a generated part.
func render(chart string) (map[string][]byte, error) {
	text, err := os.ReadFile(filepath.Join(chart, "values.yaml"))
	if err != nil {
		return nil, err
	}
	page, err := os.ReadFile(filepath.Join(chart, "README.md"))
	if err != nil {
		return nil, err
	}
	values, err := read(text)
	if err != nil {
		return nil, fmt.Errorf("values.yaml: %w", err)
	}
	rules, err := schema(values)
	if err != nil {
		return nil, fmt.Errorf("values.yaml: %w", err)
	}
	if page, err = fill(page, table(values)); err != nil {
		return nil, fmt.Errorf("README.md: %w", err)
	}
	return map[string][]byte{"values.schema.json": rules, "README.md": page}, nil
}
