package config_test

import (
	"go/ast"
	"go/parser"
	"go/token"
	"io/fs"
	"os"
	"path"
	"reflect"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/goccy/go-yaml"
	"github.com/stretchr/testify/require"

	"github.com/coxswain-sidecar/coxswain/client/api"
	"github.com/coxswain-sidecar/coxswain/internal/config"
)

// known adds the keys of the configuration, sections included.
func known(into map[string]bool, at string, t reflect.Type) {
	for t.Kind() == reflect.Pointer || t.Kind() == reflect.Slice {
		t = t.Elem()
	}
	if t.Kind() != reflect.Struct {
		return
	}
	for f := range t.Fields() {
		if key, _, _ := strings.Cut(f.Tag.Get("yaml"), ","); key != "" && key != "-" {
			into[at+key] = true
			known(into, at+key+".", f.Type)
		}
	}
}

// values adds the keys of the chart, since some of its sections have the names of sections of the configuration.
func values(into map[string]bool, at string, v any) {
	if m, ok := v.(map[string]any); ok {
		for key, v := range m {
			into[at+key] = true
			values(into, at+key+".", v)
		}
	}
}

// fields adds the keys of maps on the wire, for the same reason.
func fields(into map[string]bool, at string, t reflect.Type, outer ...reflect.Type) {
	for _, f := range api.Fields(t) {
		into[at+f.Name] = true
		if f.Elem != nil && !slices.Contains(outer, f.Elem) {
			fields(into, at+f.Name+".", f.Elem, append(outer, f.Elem)...)
		}
	}
}

var (
	// keyLike matches text that can only be a key: a section and the names after it, if
	// it is not the end of a path, a host, a metric or a variable of a program.
	keyLike = regexp.MustCompile(`(?:^|[^\w./@:*$-])((?:socket|http|redis|limits|telemetry|readiness|rules|breakers|streams)(?:(?:\[\d+\])?\.[A-Za-z_]\w*)+)(\(?)`)
	index   = regexp.MustCompile(`\[\d+\]`)
	// other matches what looks like a key and is a file, a host, a name of Go, or a limit of a container.
	other = regexp.MustCompile(`\.(?:go|lua|yaml|yml|md|sh|conf|sock|json|txt|log|tgz|io|com|example|org|svc|default|test)$|\.[A-Z]|^limits\.(?:cpu|memory)$|\.example\.|\.svc\.`)
)

func TestEveryKeyThatIsNamedExists(t *testing.T) {
	t.Parallel()
	keys := map[string]bool{}
	known(keys, "", reflect.TypeFor[config.Config]())
	require.Contains(t, keys, "redis.tls.ca_file")
	require.Contains(t, keys, "rules.items.penalty.codes")
	var chart map[string]any
	text, err := os.ReadFile("../../charts/sidecar/values.yaml")
	require.NoError(t, err)
	require.NoError(t, yaml.Unmarshal(text, &chart))
	values(keys, "", chart)
	for _, m := range api.Methods() {
		fields(keys, "", m.Params)
		fields(keys, "", m.Result)
	}
	check := func(where, text string) {
		for _, m := range keyLike.FindAllStringSubmatch(text, -1) {
			name := index.ReplaceAllString(m[1], "")
			if m[2] == "" && !keys[name] && !other.MatchString(name) {
				t.Errorf("%s names %s, which is no key of the configuration", where, name)
			}
		}
	}
	tree := os.DirFS("../..")
	require.NoError(t, fs.WalkDir(tree, ".", func(name string, d fs.DirEntry, err error) error {
		switch {
		case err != nil:
			return err
		case d.IsDir() && (d.Name() == ".git" || d.Name() == "testdata" || name == "bin"):
			return fs.SkipDir
		case d.IsDir() || strings.HasSuffix(name, "_test.go"):
			return nil
		}
		switch path.Ext(name) {
		case ".md", ".tmpl":
			text, err := fs.ReadFile(tree, name)
			check(name, string(text))
			return err
		case ".go":
			return eachText(tree, name, check)
		}
		return nil
	}))
}

// eachText checks the comments and the strings of a program.
func eachText(tree fs.FS, name string, check func(where, text string)) error {
	text, err := fs.ReadFile(tree, name)
	if err != nil {
		return err
	}
	files := token.NewFileSet()
	f, err := parser.ParseFile(files, name, text, parser.ParseComments)
	if err != nil {
		return err
	}
	for _, group := range f.Comments {
		check(files.Position(group.Pos()).String(), group.Text())
	}
	ast.Inspect(f, func(n ast.Node) bool {
		if lit, ok := n.(*ast.BasicLit); ok && lit.Kind == token.STRING {
			check(files.Position(lit.Pos()).String(), strings.Trim(lit.Value, "`\""))
		}
		return true
	})
	return nil
}
