// Package helmtest renders charts with the real helm, for tests only.
//
// Its tests run if COXSWAIN_HELM names the binary, as in `make test-chart`.
package helmtest

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"github.com/goccy/go-yaml"
)

// Object is a rendered manifest.
type Object map[string]any

// Kind of the manifest.
func (o Object) Kind() string { return text(o, "kind") }

// Name of the manifest.
func (o Object) Name() string { return text(o.At("metadata"), "name") }

// Namespace of the manifest, empty if it has none.
func (o Object) Namespace() string { return text(o.At("metadata"), "namespace") }

// At returns the object under these keys, nil if there is none.
func (o Object) At(keys ...string) Object {
	for _, k := range keys {
		next, _ := o[k].(map[string]any)
		o = next
	}
	return o
}

func text(o Object, key string) string {
	s, _ := o[key].(string)
	return s
}

// Chart is the path of the project's chart.
func Chart() string { return filepath.Join(Root(), "charts", "sidecar") }

// Root is the path of the project's folder; tests run in the folder of their package.
func Root() string {
	dir, err := os.Getwd()
	for err == nil && dir != filepath.Dir(dir) {
		if _, err := os.Stat(filepath.Join(dir, "charts")); err == nil {
			return dir
		}
		dir = filepath.Dir(dir)
	}
	panic("helmtest: no folder above has charts/")
}

// Helm runs the binary and returns its standard output and standard error together;
// the test is skipped if there is no binary.
func Helm(t testing.TB, args ...string) (string, error) {
	t.Helper()
	bin := os.Getenv("COXSWAIN_HELM")
	if bin == "" {
		t.Skip("COXSWAIN_HELM is not set: make test-chart runs this")
	}
	cmd := exec.CommandContext(t.Context(), bin, args...) //nolint:gosec // the binary that the test was given
	cmd.Env = append(os.Environ(), "HELM_CACHE_HOME="+t.TempDir(), "HELM_CONFIG_HOME="+t.TempDir(), "HELM_DATA_HOME="+t.TempDir())
	out, err := cmd.CombinedOutput()
	return string(out), err
}

// Template renders a chart for Kubernetes 1.37 as release "demo" in namespace
// "crawlers", with further arguments of helm template.
func Template(t testing.TB, chart string, args ...string) []Object {
	t.Helper()
	out, err := Helm(t, append([]string{"template", "demo", chart, "--namespace", "crawlers", "--kube-version", "1.37.2"}, args...)...)
	if err != nil {
		t.Fatalf("helm template: %v\n%s", err, out)
	}
	objects, err := Parse(out)
	if err != nil {
		t.Fatal(err)
	}
	return objects
}

// Dependent returns the path of a copy of testdata/NAME, a chart that depends on the
// project's, with that in its charts/.
func Dependent(t testing.TB, name string) string {
	t.Helper()
	dir := filepath.Join(t.TempDir(), name)
	err := errors.Join(
		os.CopyFS(dir, os.DirFS(filepath.Join(Root(), "internal", "helmtest", "testdata", name))),
		os.CopyFS(filepath.Join(dir, "charts", "sidecar"), os.DirFS(Chart())),
	)
	if err != nil {
		t.Fatal(err)
	}
	return dir
}

// Parse reads the documents of a stream of YAML.
func Parse(text string) ([]Object, error) {
	var objects []Object
	d := yaml.NewDecoder(bytes.NewReader([]byte(text)))
	for {
		var o Object
		err := d.Decode(&o)
		if errors.Is(err, io.EOF) {
			return objects, nil
		}
		if err != nil {
			return nil, fmt.Errorf("manifest %d: %w", len(objects)+1, err)
		}
		if o != nil {
			objects = append(objects, o)
		}
	}
}

// One returns the only object of a kind whose name contains part.
func One(t testing.TB, objects []Object, kind, part string) Object {
	t.Helper()
	var found []Object
	for _, o := range objects {
		if o.Kind() == kind && strings.Contains(o.Name(), part) {
			found = append(found, o)
		}
	}
	if len(found) != 1 {
		t.Fatalf("%d objects are a %s with %q in their name", len(found), kind, part)
	}
	return found[0]
}
