// Package archtest enforces the table of ARCHITECTURE.md that lists which package may
// import which. It reads the tree only with go/parser, so that it needs
// neither the network nor a build. The client, a module of its own, is checked by the
// same rules.
//
// Its invariant: a package that is not in the table fails, so that a new package is
// added to the table when it is made.
package archtest

import (
	"fmt"
	"go/ast"
	"go/parser"
	"go/token"
	"io/fs"
	"path"
	"slices"
	"strconv"
	"strings"
)

// Module is the path of the module whose tree is checked.
const Module = "github.com/coxswain-sidecar/coxswain/"

// arrows lists the packages of the module that each of them may import. Test files
// may import more, since tests build what they need from all layers.
var arrows = map[string][]string{
	"client/api":         {},
	"client":             {"client/api"},
	"client/clientotel":  {"client", "client/api"},
	"client/clienttest":  {"client", "client/api"},
	"client/httplimit":   {"client", "client/api"},
	"internal/telemetry": {"internal/finding"},
	"internal/nearest":   {},
	"internal/redisurl":  {},
	"internal/finding":   {},
	"internal/cgroup":    {},
	"internal/redis":     {"internal/finding", "internal/redisurl", "internal/telemetry"},
	"internal/lua":       {"internal/redis", "internal/telemetry"},
	"internal/match":     {"client/api"},
	"internal/coord":     {"client/api", "internal/lua", "internal/nearest", "internal/redis", "internal/telemetry"},
	"internal/coord/lease": {
		"client/api", "internal/coord", "internal/lua", "internal/redis", "internal/telemetry",
	},
	"internal/rpc":    {"client/api", "internal/coord", "internal/coord/lease", "internal/finding", "internal/nearest", "internal/telemetry"},
	"internal/config": {"client/api", "internal/finding", "internal/nearest", "internal/redisurl"},
	"internal/look":   {"client/api"},
	"internal/top":    {"client/api", "internal/look"},
	"internal/port":   {"internal/finding"},
	"internal/status": {"client/api", "internal/look", "internal/port"},
	"internal/health": {"client/api", "internal/finding", "internal/port", "internal/telemetry"},
	"internal/doctor": {
		"client", "client/api", "internal/cgroup", "internal/config", "internal/coord", "internal/finding", "internal/health", "internal/lua",
		"internal/port", "internal/redis", "internal/redisurl", "internal/rpc", "internal/status", "internal/telemetry",
	},
	"cmd/sidecar": {
		"client", "client/api", "internal/cgroup", "internal/config", "internal/coord", "internal/coord/lease", "internal/doctor", "internal/finding",
		"internal/health", "internal/look", "internal/lua", "internal/match", "internal/nearest", "internal/port", "internal/redis", "internal/rpc",
		"internal/status", "internal/telemetry", "internal/top", // and every noun
	},
	"examples":         {"client", "client/api", "client/httplimit"}, // and every package below it
	"hack/chartdoc":    {"client/api", "internal/config"},
	"hack/clientgen":   {"client/api"},
	"hack/kube/pause":  {},
	"hack/pictures":    {},
	"hack/protocoldoc": {"client/api", "internal/config"},

	"internal/archtest":           {},
	"internal/chaostest":          {"client", "client/api"},
	"internal/chaostest/consumer": {"client", "client/api"},
	"internal/clienttest":         {},
	"internal/conformance":        {"client/api"},
	"internal/coordtest": {
		"client/api", "internal/conformance", "internal/coord", "internal/coord/lease", "internal/lua", "internal/redis",
		"internal/luatest", "internal/redistest", "internal/rpc", "internal/telemetry", // and every noun
	},
	"internal/doctest":   {},
	"internal/helmtest":  {},
	"internal/kubetest":  {"client/api", "internal/helmtest"},
	"internal/luatest":   {"internal/coord/ratelimit", "internal/lua", "internal/redis", "internal/redistest"},
	"internal/otlptest":  {},
	"internal/redistest": {},
}

// nouns are folders of internal/coord. None imports another, and only the packages that
// put a sidecar together import them.
var nouns = []string{"breaker", "fleet", "lock", "pool", "pubsub", "queue", "ratelimit", "seen", "semaphore", "stream"}

// ofNouns lists the packages that a noun may import.
var ofNouns = []string{
	"client/api", "internal/coord", "internal/coord/lease", "internal/lua", "internal/match", "internal/nearest", "internal/redis",
	"internal/telemetry",
}

func init() {
	for _, noun := range nouns {
		pkg := "internal/coord/" + noun
		arrows[pkg] = ofNouns
		arrows["cmd/sidecar"] = append(arrows["cmd/sidecar"], pkg)
		arrows["internal/coordtest"] = append(arrows["internal/coordtest"], pkg)
	}
}

// forTests are packages that only test files and each other may import.
var forTests = []string{
	"internal/archtest", "internal/chaostest", "internal/clienttest", "internal/conformance", "internal/coordtest", "internal/doctest", "internal/helmtest",
	"internal/kubetest", "internal/luatest", "internal/otlptest", "internal/redistest",
}

// foreign lists the only packages that may import a module of another project; test files may import all.
var foreign = map[string][]string{
	"github.com/redis/go-redis":         {"internal/redis", "internal/redistest", "internal/luatest"},
	"github.com/alicebob/miniredis":     {"internal/redis", "internal/redistest", "internal/luatest"},
	"github.com/hashicorp/go-msgpack":   {"client", "client/clienttest", "internal/rpc", "internal/coord/stream", "internal/coordtest"},
	"github.com/spf13/cobra":            {"cmd/sidecar"},
	"github.com/spf13/pflag":            {"cmd/sidecar"},
	"github.com/KimMachineGun":          {"cmd/sidecar"},
	"golang.org/x/term":                 {"cmd/sidecar", "internal/top"},
	"github.com/goccy/go-yaml":          {"internal/config", "internal/helmtest", "internal/kubetest", "hack/chartdoc"},
	"github.com/stretchr/testify":       {},
	"github.com/google/go-cmp":          {},
	"github.com/anishathalye/porcupine": {},
	"github.com/Shopify/toxiproxy":      {},
	"github.com/testcontainers":         {"internal/redistest"},
	"github.com/prometheus":             {"internal/telemetry"},
	"go.opentelemetry.io/otel/sdk":      {"internal/telemetry"},
	"go.opentelemetry.io/otel/exporter": {"internal/telemetry"},
}

// clientModule is the folder of the client, which is a module that users require.
const clientModule = "client"

// clientForeign lists the packages of other projects that the client's packages may import:
// users of the client require their modules too.
var clientForeign = map[string][]string{
	"client/api":        {},
	"client":            {"github.com/hashicorp/go-msgpack/"},
	"client/clientotel": {"go.opentelemetry.io/otel"},
	"client/clienttest": {"github.com/hashicorp/go-msgpack/"},
	"client/httplimit":  {"golang.org/x/net/idna"},
}

// Check returns everything in the tree that breaks a rule, sorted.
func Check(tree fs.FS) ([]string, error) {
	c := checker{tree: tree}
	if err := fs.WalkDir(tree, ".", c.visit); err != nil {
		return nil, fmt.Errorf("archtest: %w", err)
	}
	slices.Sort(c.broken)
	return c.broken, nil
}

type checker struct {
	tree   fs.FS
	broken []string
}

func (c *checker) add(format string, args ...any) {
	c.broken = append(c.broken, fmt.Sprintf(format, args...))
}

func (c *checker) visit(file string, d fs.DirEntry, err error) error {
	if err != nil {
		return err
	}
	if d.IsDir() {
		if file != "." && (d.Name()[0] == '.' || d.Name() == "testdata" || file != clientModule && c.isModule(file)) {
			return fs.SkipDir
		}
		return nil
	}
	if path.Ext(file) != ".go" || strings.HasSuffix(file, "_test.go") {
		return nil // tests may import more
	}
	return c.source(file)
}

// isModule reports whether a folder is a module, such as bench or tools.
func (c *checker) isModule(dir string) bool {
	_, err := fs.Stat(c.tree, path.Join(dir, "go.mod"))
	return err == nil
}

func (c *checker) source(file string) error {
	b, err := fs.ReadFile(c.tree, file)
	if err != nil {
		return err
	}
	f, err := parser.ParseFile(token.NewFileSet(), file, b, parser.ImportsOnly)
	if err != nil {
		return err
	}
	return c.imports(file, f)
}

func (c *checker) imports(file string, f *ast.File) error {
	pkg := path.Dir(file)
	if strings.HasPrefix(pkg, "examples/") {
		pkg = "examples"
	}
	allowed, known := arrows[pkg]
	if !known {
		c.add("%s: package %s is not in the table arrows; add it in internal/archtest", file, pkg)
		return nil
	}
	for _, spec := range f.Imports {
		to, err := strconv.Unquote(spec.Path.Value)
		if err != nil {
			return fmt.Errorf("%s: import: %w", file, err)
		}
		if own, ok := strings.CutPrefix(to, Module); ok {
			c.own(file, pkg, own, allowed)
			continue
		}
		if mayBe, ok := clientForeign[pkg]; ok && isForeign(to) && !hasPrefix(to, mayBe) {
			c.add("%s imports %s, which every user of the client would require", file, to)
		}
		for prefix, only := range foreign {
			tests := len(only) == 0 && slices.Contains(forTests, pkg)
			if strings.HasPrefix(to, prefix) && !tests && !slices.Contains(only, pkg) {
				c.add("%s imports %s, which only %s may import", file, to, orTests(only))
			}
		}
	}
	return nil
}

// isForeign reports whether a package is neither of this project nor of Go's library.
func isForeign(pkg string) bool {
	first, _, _ := strings.Cut(pkg, "/")
	return strings.Contains(first, ".")
}

func hasPrefix(text string, prefixes []string) bool {
	return slices.ContainsFunc(prefixes, func(p string) bool { return strings.HasPrefix(text, p) })
}

func (c *checker) own(file, pkg, to string, allowed []string) {
	switch {
	case slices.Contains(forTests, to) && !slices.Contains(forTests, pkg):
		c.add("%s imports %s, which only tests may import", file, to)
	case !slices.Contains(allowed, to):
		c.add("%s: %s must not import %s", file, pkg, to)
	}
}

func orTests(only []string) string {
	if len(only) == 0 {
		return "tests"
	}
	return strings.Join(only, " and ")
}
