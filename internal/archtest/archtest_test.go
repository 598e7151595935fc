package archtest_test

import (
	"os"
	"strings"
	"testing"
	"testing/fstest"

	"github.com/stretchr/testify/require"

	"github.com/coxswain-sidecar/coxswain/internal/archtest"
)

func TestTheTreeFollowsItsArchitecture(t *testing.T) {
	t.Parallel()
	broken, err := archtest.Check(os.DirFS("../.."))
	require.NoError(t, err)
	require.Empty(t, broken, strings.Join(broken, "\n"))
}

// imports is a source file of one package with these imports.
func imports(paths ...string) *fstest.MapFile {
	text := "package p\n"
	for _, p := range paths {
		text += "import _ \"" + p + "\"\n"
	}
	return &fstest.MapFile{Data: []byte(text)}
}

const goRedisRefused = " imports github.com/redis/go-redis/v9, which only internal/redis and internal/redistest and internal/luatest may import"

func TestEveryRuleReportsAViolation(t *testing.T) {
	t.Parallel()
	const m = archtest.Module
	for name, c := range map[string]struct {
		file string
		as   *fstest.MapFile
		want string
	}{
		"rpc sees Redis":        {"internal/rpc/a.go", imports("github.com/redis/go-redis/v9"), "internal/rpc/a.go" + goRedisRefused},
		"lua sees Redis":        {"internal/lua/a.go", imports("github.com/redis/go-redis/v9"), "internal/lua/a.go" + goRedisRefused},
		"redis sees lua":        {"internal/redis/a.go", imports(m + "internal/lua"), "internal/redis/a.go: internal/redis must not import internal/lua"},
		"rpc skips coord":       {"internal/rpc/a.go", imports(m + "internal/lua"), "internal/rpc/a.go: internal/rpc must not import internal/lua"},
		"lua sees coord":        {"internal/lua/a.go", imports(m + "internal/coord"), "internal/lua/a.go: internal/lua must not import internal/coord"},
		"coord sees the wire":   {"internal/coord/a.go", imports(m + "internal/rpc"), "internal/coord/a.go: internal/coord must not import internal/rpc"},
		"a noun sees another":   {"internal/coord/pool/a.go", imports(m + "internal/coord/breaker"), "internal/coord/pool/a.go: internal/coord/pool must not import internal/coord/breaker"},
		"lease sees a noun":     {"internal/coord/lease/a.go", imports(m + "internal/coord/lock"), "internal/coord/lease/a.go: internal/coord/lease must not import internal/coord/lock"},
		"coord sees a noun":     {"internal/coord/a.go", imports(m + "internal/coord/lock"), "internal/coord/a.go: internal/coord must not import internal/coord/lock"},
		"rpc sees a noun":       {"internal/rpc/a.go", imports(m + "internal/coord/lock"), "internal/rpc/a.go: internal/rpc must not import internal/coord/lock"},
		"coord reads config":    {"internal/coord/a.go", imports(m + "internal/config"), "internal/coord/a.go: internal/coord must not import internal/config"},
		"telemetry imports api": {"internal/telemetry/a.go", imports(m + "client/api"), "internal/telemetry/a.go: internal/telemetry must not import client/api"},
		"client sees inside":    {"client/a.go", imports(m + "internal/telemetry"), "client/a.go: client must not import internal/telemetry"},
		"client imports a user": {"client/a.go", imports(m + "client/httplimit"), "client/a.go: client must not import client/httplimit"},
		"api is not a leaf":     {"client/api/a.go", imports(m + "client"), "client/api/a.go: client/api must not import client"},
		"example sees inside":   {"examples/go/main.go", imports(m + "internal/lua"), "examples/go/main.go: examples must not import internal/lua"},
		"test kit in product":   {"internal/lua/a.go", imports(m + "internal/redistest"), "internal/lua/a.go imports internal/redistest, which only tests may import"},
		"go-cmp in product":     {"internal/lua/a.go", imports("github.com/google/go-cmp/cmp"), "internal/lua/a.go imports github.com/google/go-cmp/cmp, which only tests may import"},
		"client takes more":     {"client/a.go", imports("github.com/cenkalti/backoff/v4"), "client/a.go imports github.com/cenkalti/backoff/v4, which every user of the client would require"},
		"client takes OTel":     {"client/a.go", imports("go.opentelemetry.io/otel"), "client/a.go imports go.opentelemetry.io/otel, which every user of the client would require"},
		"tracing takes the SDK": {"client/clientotel/a.go", imports("go.opentelemetry.io/other"), "client/clientotel/a.go imports go.opentelemetry.io/other, which every user of the client would require"},
		"package not in table":  {"internal/x/a.go", imports(), "internal/x/a.go: package internal/x is not in the table arrows; add it in internal/archtest"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			broken, err := archtest.Check(fstest.MapFS{c.file: c.as})
			require.NoError(t, err)
			require.Equal(t, []string{c.want}, broken)
		})
	}
}

func TestAllowedImportsPass(t *testing.T) {
	t.Parallel()
	const m = archtest.Module
	broken, err := archtest.Check(fstest.MapFS{
		"internal/rpc/a.go":      imports(m+"internal/coord", m+"client/api", "fmt"),
		"internal/rpc/a_test.go": imports(m+"internal/redistest", m+"internal/lua", "github.com/stretchr/testify/require"),
		"internal/redis/a.go":    imports("github.com/redis/go-redis/v9", "github.com/alicebob/miniredis/v2"),
		"internal/lua/a.go":      imports(m + "internal/redis"),
		"client/a.go":            imports("fmt"),
		"client/httplimit/a.go":  imports(m+"client", m+"client/api", "net/http"),
		"examples/go/main.go":    imports(m+"client", m+"client/api", m+"client/httplimit"),
		"client/b.go":            imports("github.com/hashicorp/go-msgpack/v2/codec"),
		"client/clientotel/a.go": imports(m+"client", m+"client/api", "go.opentelemetry.io/otel/trace"),
		"bench/go.mod":           {Data: []byte("module bench")},
		"bench/a.go":             imports(m + "internal/lua"),
		".cache/a.go":            imports(m + "internal/lua"),
		"internal/testdata/a.go": imports(m + "internal/lua"),
	})
	require.NoError(t, err)
	require.Empty(t, broken)
}

func TestTheModuleOfTheClientIsCheckedToo(t *testing.T) {
	t.Parallel()
	broken, err := archtest.Check(fstest.MapFS{
		"client/go.mod": {Data: []byte("module client")},
		"client/a.go":   imports(archtest.Module + "internal/lua"),
	})
	require.NoError(t, err)
	require.Equal(t, []string{"client/a.go: client must not import internal/lua"}, broken)
}

func TestATreeThatCannotBeReadIsAnError(t *testing.T) {
	t.Parallel()
	_, err := archtest.Check(fstest.MapFS{"client/a.go": {Data: []byte("not go")}})
	require.ErrorContains(t, err, "client/a.go:1:1: expected 'package'")
}
