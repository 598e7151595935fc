package archtest_test

import (
	"cmp"
	"context"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
)

// usesClient is a program of a user of the client.
const usesClient = `package main

import (
	"context"
	"log"

	"github.com/coxswain-sidecar/coxswain/client"
)

func main() {
	ctx := context.Background()
	c, err := client.Dial(ctx, client.Options{})
	if err == nil {
		err = c.LockDo(ctx, "nightly", client.LockOptions{}, func(context.Context, *client.Lock) error { return nil })
	}
	if err != nil {
		log.Fatal(err)
	}
}
`

// usesTransport is a program that limits its HTTP requests.
const usesTransport = `package main

import (
	"net/http"

	"github.com/coxswain-sidecar/coxswain/client"
	"github.com/coxswain-sidecar/coxswain/client/httplimit"
)

func main() {
	var c *client.Client
	http.DefaultTransport = httplimit.NewTransport(c, httplimit.TransportOptions{Rule: "crawl"})
}
`

// usesTracing is a program that uses OpenTelemetry.
const usesTracing = `package main

import (
	"github.com/coxswain-sidecar/coxswain/client"
	"github.com/coxswain-sidecar/coxswain/client/clientotel"
)

var _ = client.Options{Tracer: clientotel.New(nil)}

func main() {}
`

// usesFake is a program that uses the fake sidecar.
const usesFake = `package main

import "github.com/coxswain-sidecar/coxswain/client/clienttest"

func main() {
	s := clienttest.NewSidecar()
	defer s.Close()
}
`

// otelAPI are the modules of the API of OpenTelemetry, and those that it imports itself.
var otelAPI = []string{
	"github.com/cespare/xxhash/v2", "github.com/go-logr/logr", "github.com/go-logr/stdr", "go.opentelemetry.io/auto/sdk",
	"go.opentelemetry.io/otel", "go.opentelemetry.io/otel/log", "go.opentelemetry.io/otel/metric", "go.opentelemetry.io/otel/trace",
}

// A user's go.mod requires only the codec for the client, and no more for the fake sidecar;
// httplimit adds the modules for host names beyond ASCII, and clientotel the OpenTelemetry API. The
// test makes modules as users do, so it needs a module cache or the network.
func TestAUserOfTheClientRequiresTheCodecAlone(t *testing.T) {
	t.Parallel()
	own := []string{"github.com/coxswain-sidecar/coxswain/client", "github.com/hashicorp/go-msgpack/v2"}
	for name, c := range map[string]struct {
		program string
		want    []string
		sums    int // the most lines of its go.sum
	}{
		"client":     {usesClient, own, 8},
		"clienttest": {usesFake, own, 8},
		"httplimit":  {usesTransport, append([]string{"golang.org/x/net", "golang.org/x/text"}, own...), 12},
		"clientotel": {usesTracing, append(slices.Clone(otelAPI), own...), 27},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			dir := newUser(t, c.program)
			command(t, dir, "mod", "tidy")
			command(t, dir, "build", "-o", os.DevNull, ".")
			mod, err := os.ReadFile(filepath.Join(dir, "go.mod"))
			require.NoError(t, err)
			slices.Sort(c.want)
			require.Equal(t, c.want, required(string(mod)), "go.mod of a user of the client:\n%s", mod)
			sum, err := os.ReadFile(filepath.Join(dir, "go.sum"))
			require.NoError(t, err)
			require.LessOrEqual(t, strings.Count(string(sum), "\n"), c.sums, "go.sum of a user of the client:\n%s", sum)
		})
	}
}

// newUser makes a module of one program that requires the client of this tree.
func newUser(t *testing.T, program string) (dir string) {
	t.Helper()
	client, err := filepath.Abs("../../client")
	require.NoError(t, err)
	// A replace is in effect only in the main module, so the client must have none. Since the
	// test reads the file here, Go runs it again when the file has changed.
	requires, err := os.ReadFile(filepath.Join(client, "go.mod"))
	require.NoError(t, err)
	require.NotContains(t, string(requires), "\nreplace ")
	// With known sums the go command needs no checksum database; tidy drops those that
	// this module does not need.
	sums, err := os.ReadFile(filepath.Join(client, "go.sum"))
	require.NoError(t, err)
	dir = t.TempDir()
	require.NoError(t, os.WriteFile(filepath.Join(dir, "go.sum"), sums, 0o600))
	mod := strings.Join([]string{
		"module example.com/user", "", "go 1.26.0", "",
		"require github.com/coxswain-sidecar/coxswain/client v0.0.0",
		"replace github.com/coxswain-sidecar/coxswain/client => " + client, "",
	}, "\n")
	require.NoError(t, os.WriteFile(filepath.Join(dir, "go.mod"), []byte(mod), 0o600))
	require.NoError(t, os.WriteFile(filepath.Join(dir, "main.go"), []byte(program), 0o600))
	return dir
}

// command runs the go command in a folder; it may change the folder's go.mod.
func command(t *testing.T, dir string, args ...string) {
	t.Helper()
	cmd := exec.CommandContext(context.Background(), "go", args...)
	cmd.Dir = dir
	cmd.Env = append(os.Environ(), "GOFLAGS=-mod=mod -trimpath", "GOWORK=off")
	out, err := cmd.CombinedOutput()
	require.NoError(t, err, "go %s: %s", strings.Join(args, " "), out)
}

// required lists the modules that a go.mod requires, sorted.
func required(mod string) []string {
	var paths []string
	in := false
	for line := range strings.Lines(mod) {
		f := strings.Fields(line)
		switch {
		case len(f) == 0:
		case f[0] == "require" && cmp.Or(f[1:]...) == "(":
			in = true
		case f[0] == ")":
			in = false
		case f[0] == "require":
			paths = append(paths, f[1])
		case in:
			paths = append(paths, f[0])
		}
	}
	slices.Sort(paths)
	return paths
}
