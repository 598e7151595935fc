package main_test

import (
	"bytes"
	"context"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"runtime/debug"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	main "github.com/coxswain-sidecar/coxswain/examples/crawlhub"
	"github.com/coxswain-sidecar/coxswain/internal/redistest"
)

// The example starts this program again as its worker processes.
func TestMain(m *testing.M) {
	if slices.Contains(os.Args, "-process") {
		if err := main.Run(context.Background(), os.Args[1:], os.Stdin, os.Stdout); err != nil {
			fmt.Fprintln(os.Stderr, err)
			os.Exit(1)
		}
		return
	}
	redistest.Main(m)
}

// sidecars starts n real sidecars on one Redis, and returns their sockets.
func sidecars(t *testing.T, n int, config string) []string {
	t.Helper()
	dir, err := os.MkdirTemp("", "cox-") //nolint:usetesting // t.TempDir has the test's name in it, and is too long for a socket
	require.NoError(t, err)
	t.Cleanup(func() { require.NoError(t, os.RemoveAll(dir)) })
	exe, file := filepath.Join(dir, "sidecar"), filepath.Join(dir, "sidecar.yaml")
	require.NoError(t, os.WriteFile(file, []byte(config), 0o600))
	build := []string{"build", "-o", exe}
	if raced() {
		build = append(build, "-race") // as everything that is built already
	}
	out, err := exec.CommandContext(t.Context(), "go", append(build, "../../cmd/sidecar")...).CombinedOutput()
	require.NoError(t, err, "%s", out)
	env := append(os.Environ(), "COXSWAIN_REDIS_URL="+redistest.URL(t), "COXSWAIN_REDIS_PREFIX="+redistest.Prefix(t))
	var sockets []string
	for i := range n {
		socket := filepath.Join(dir, fmt.Sprint(i))
		sockets = append(sockets, socket)
		var log bytes.Buffer
		cmd := exec.Command(exe, "serve", "--socket", socket, "--http", "127.0.0.1:0", "--config", file)
		cmd.Env = env
		cmd.Stdout, cmd.Stderr = &log, &log
		require.NoError(t, cmd.Start())
		t.Cleanup(func() {
			_ = cmd.Process.Signal(os.Interrupt)
			if err := cmd.Wait(); err != nil || t.Failed() {
				t.Errorf("the sidecar ended with %v:\n%s", err, log.String())
			}
		})
	}
	return sockets
}

func raced() bool {
	info, ok := debug.ReadBuildInfo()
	for _, s := range info.Settings {
		if ok && s.Key == "-race" {
			return s.Value == "true"
		}
	}
	return false
}

func TestNoIdentityIsUsedTwiceAtOnceOrAboveItsRate(t *testing.T) {
	t.Parallel()
	// Ten minutes take a second, so that few workers use up the limit of an identity.
	args := []string{
		"-scale", "600", "-requests", "400", "-duration", "1m", "-processes", "2", "-workers", "20", "-identities", "8", "-shops", "3", "-takes", "5ms",
	}
	var config, out bytes.Buffer
	require.NoError(t, main.Run(t.Context(), append(args, "-print-config"), nil, &config))
	sockets := sidecars(t, 2, config.String())

	err := main.Run(t.Context(), []string{"-scale", "30", "-socket", sockets[0]}, nil, io.Discard)
	require.ErrorContains(t, err, "start it with the configuration that -print-config prints", "another rule would prove nothing")

	err = main.Run(t.Context(), append(args, "-socket", strings.Join(sockets, ",")), nil, &out)
	require.NoError(t, err, "%s", out.String())
	require.Contains(t, out.String(), "no identity was used twice at once")
	require.NotRegexp(t, regexp.MustCompile(`(?m)^crawler/\d+ +0 `), out.String(), "those that were never used come first")
	require.Contains(t, out.String(), "permits lost: 0;")
}

func TestErrorsNameTheWrongFlag(t *testing.T) {
	t.Parallel()
	err := main.Run(t.Context(), []string{"-processes", "0", "-limit", "8", "-scale", "0", "-period", time.Minute.String()}, nil, io.Discard)
	for _, want := range []string{"-processes 0: use 1 to 1000", "-limit 8: use at least -burst 7 plus 2", "-scale 0: use a scale above 0"} {
		require.ErrorContains(t, err, want)
	}
}
