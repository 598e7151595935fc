package main_test

import (
	"go/ast"
	"go/parser"
	"go/token"
	"os"
	"strconv"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/coxswain-sidecar/coxswain/client/api"
	main "github.com/coxswain-sidecar/coxswain/hack/protocoldoc"
)

func TestTheCommittedReferenceIsCurrent(t *testing.T) {
	t.Parallel()
	want, err := main.Render()
	require.NoError(t, err)
	got, err := os.ReadFile("../../" + main.File)
	require.NoError(t, err)
	require.Equal(t, string(want), string(got), "run: go run ./hack/protocoldoc")
}

func TestEveryMethodAndKeyIsInTheReference(t *testing.T) {
	t.Parallel()
	b, err := main.Render()
	require.NoError(t, err)
	for _, s := range append(api.Methods(), api.Events()...) {
		_, section, found := strings.Cut(string(b), "\n#### `"+s.Name+"`\n")
		require.True(t, found, s.Name)
		section, _, _ = strings.Cut(section, "\n#")
		require.Contains(t, section, s.Summary)
		for _, f := range api.Fields(s.Params) {
			if !strings.Contains(section, "Params: as of `") {
				require.Contains(t, section, "| `"+f.Name+"` | ", s.Name)
			}
		}
	}
}

// The test reads the codes from the source of the contract, since there is no table of
// them, and a code that is missing here would be undocumented.
func TestEveryCodeIsExplained(t *testing.T) {
	t.Parallel()
	f, err := parser.ParseFile(token.NewFileSet(), "../../client/api/code.go", nil, 0)
	require.NoError(t, err)
	var declared, explained []string
	ast.Inspect(f, func(n ast.Node) bool {
		spec, ok := n.(*ast.ValueSpec)
		if !ok {
			return true
		}
		if id, ok := spec.Type.(*ast.Ident); ok && id.Name == "Code" {
			text, err := strconv.Unquote(spec.Values[0].(*ast.BasicLit).Value)
			require.NoError(t, err)
			declared = append(declared, text)
		}
		return true
	})
	for _, c := range main.Codes {
		explained = append(explained, string(c.Code))
		require.NotEmpty(t, c.Meaning)
	}
	require.Equal(t, declared, explained)
}

func TestARecursiveTypeIsListedOnce(t *testing.T) {
	t.Parallel()
	rows := main.Result(api.RPCMethods.Spec).Rows
	var names []string
	for _, r := range rows {
		names = append(names, r.Name)
	}
	require.Contains(t, names, "methods[].params[].name")
	require.Contains(t, names, "methods[].result")
	require.NotContains(t, names, "methods[].params[].fields[].name")
	require.NotContains(t, names, "methods[].result[].name")
}

func TestEveryLimitHasItsDefault(t *testing.T) {
	t.Parallel()
	for _, l := range main.Limits() {
		require.NotContains(t, []string{"", "0"}, l.Default, l.Name)
	}
}
