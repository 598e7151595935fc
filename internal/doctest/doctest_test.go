package doctest_test

import (
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"testing/fstest"

	"github.com/google/go-cmp/cmp"
	"github.com/stretchr/testify/require"

	"github.com/coxswain-sidecar/coxswain/internal/doctest"
)

const root = "../.."

func TestFilesTargetsAndTestsInPagesExist(t *testing.T) {
	t.Parallel()
	broken, err := doctest.Check(os.DirFS(root))
	require.NoError(t, err)
	for _, b := range broken {
		t.Error(b)
	}
}

func TestPagesQuoteTheirExamplesUnchanged(t *testing.T) {
	t.Parallel()
	for _, q := range []struct{ page, file, language string }{
		{"README.md", "clients/python/examples/first.py", "python"},
		{"README.md", "clients/python/examples/first_async.py", "python"},
		{"README.md", "examples/go/main.go", "go"},
		{"docs/python.md", "examples/python/coxswain.py", "python"},
		{"README.md", "clients/node/examples/first.mjs", "js"},
		{"docs/node.md", "clients/node/examples/first.mjs", "js"},
	} {
		page, err := os.ReadFile(root + "/" + q.page)
		require.NoError(t, err)
		want, err := os.ReadFile(root + "/" + q.file)
		require.NoError(t, err)
		blocks := doctest.Blocks(string(page), q.language)
		if !slices.Contains(blocks, string(want)) {
			t.Errorf("%s does not quote %s unchanged:\n%s", q.page, q.file, cmp.Diff(string(want), strings.Join(blocks, "----\n")))
		}
	}
	python, err := os.ReadFile(root + "/examples/python/coxswain.py")
	require.NoError(t, err)
	if n := strings.Count(string(python), "\n"); n > 52 {
		t.Errorf("examples/python/coxswain.py has %d lines; with threads and lost locks it must have at most 52", n)
	}
}

func TestTheIndexListsEveryPage(t *testing.T) {
	t.Parallel()
	index, err := os.ReadFile(root + "/docs/README.md")
	require.NoError(t, err)
	pages, err := filepath.Glob(root + "/docs/*.md")
	require.NoError(t, err)
	require.NotEmpty(t, pages)
	for _, page := range pages {
		if name := filepath.Base(page); name != "README.md" && !strings.Contains(string(index), "]("+name+")") {
			t.Errorf("docs/README.md does not list %s", name)
		}
	}
}

// Each block of the page about Go is a part of an example, which the tests of the client run.
func TestTheGoPageShowsPartsOfExamples(t *testing.T) {
	t.Parallel()
	plain := func(code string) string {
		lines := strings.Split(strings.TrimSpace(code), "\n")
		for i := range lines {
			lines[i] = strings.TrimSpace(lines[i])
		}
		return strings.Join(lines, "\n")
	}
	var examples strings.Builder
	for _, pattern := range []string{"client/example*_test.go", "client/*/example_test.go"} {
		files, err := filepath.Glob(filepath.Join(root, pattern))
		require.NoError(t, err)
		require.NotEmpty(t, files, pattern)
		for _, f := range files {
			b, err := os.ReadFile(f)
			require.NoError(t, err)
			examples.WriteString(plain(string(b)) + "\n")
		}
	}
	page, err := os.ReadFile(root + "/docs/go.md")
	require.NoError(t, err)
	blocks := doctest.Blocks(string(page), "go")
	require.NotEmpty(t, blocks)
	for _, b := range blocks {
		if !strings.Contains(examples.String(), plain(b)) {
			t.Errorf("docs/go.md has a block that is in no example:\n%s", b)
		}
	}
}

func TestMissingFilesHeadingsTargetsAndTestsAreReported(t *testing.T) {
	t.Parallel()
	page := strings.Join([]string{
		"# Title: one `two`", "",
		"[ok](docs/a.md#a-part) [gone](docs/b.md) [no heading](docs/a.md#b) [self](#title-one-two) [web](https://example.com/x)",
		"`internal/rpc/gone.go` `internal/rpc/here.go` `internal/*/here.go` `internal/rpc/...` `gone.lua` `here.go`",
		"`make test` `make nothing` `client.Dial` `a/b` `TestHere` `TestGone`",
		"```", "`internal/in/a/block.go`", "```", "",
	}, "\n")
	tree := fstest.MapFS{
		"README.md":            {Data: []byte(page)},
		"docs/a.md":            {Data: []byte("## A part\n")},
		"internal/rpc/here.go": {},
		"internal/a_test.go":   {Data: []byte("func TestHere(t *testing.T) {\n// func TestGone(t *testing.T)\n")},
		"Makefile":             {Data: []byte("test: build ## run\nnothing:\n")},
	}
	broken, err := doctest.Check(tree)
	require.NoError(t, err)
	want := []string{
		"README.md links to docs/a.md#b, which has no such heading",
		"README.md links to docs/b.md, which does not exist",
		"README.md names TestGone, which is not a Go test",
		"README.md names `make nothing`, which is not a target of the Makefile",
		"README.md names gone.lua, which does not exist in the tree",
		"README.md names internal/rpc/gone.go, which does not exist",
	}
	if diff := cmp.Diff(want, broken); diff != "" {
		t.Error(diff)
	}
}

func TestBlocksReturnsFencedCodeUnchanged(t *testing.T) {
	t.Parallel()
	page := "x\n```python\na\n\n  b\n```\n```sh\nc\n```\n```python\nd\n```\n"
	require.Equal(t, []string{"a\n\n  b\n", "d\n"}, doctest.Blocks(page, "python"))
}
