package main_test

import (
	"bytes"
	"os"
	"os/exec"
	"path/filepath"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/coxswain-sidecar/coxswain/client/api"
	main "github.com/coxswain-sidecar/coxswain/cmd/sidecar"
)

// The plots of docs/concepts.md are what `sidecar rules simulate` decides today: go test ./cmd/sidecar -run Plots -update
func TestThePlotsOfTheAlgorithmsAreCurrent(t *testing.T) {
	t.Parallel()
	const of = "../../docs/img/"
	for _, algorithm := range api.Algorithms {
		a := cli(t, "rules", "simulate", of+"limits.yaml", "--trace", of+"limits.trace", "--rule", algorithm, "-o", "json")
		require.Equal(t, main.OK, a.code, a.err)
		decided := filepath.Join(t.TempDir(), "decided.json")
		require.NoError(t, os.WriteFile(decided, []byte(a.out), 0o600))
		draw := exec.CommandContext(t.Context(), "go", "run", "../../hack/pictures", "limit", decided)
		draw.Stderr = os.Stderr
		want, err := draw.Output()
		require.NoError(t, err)
		if *update {
			require.NoError(t, os.WriteFile(of+algorithm+".svg", want, 0o644))
		}
		got, err := os.ReadFile(of + algorithm + ".svg")
		require.NoError(t, err)
		if !bytes.Equal(got, want) { // a comparison of two pictures helps nobody
			t.Errorf("%s.svg is not what is decided today: run: make docs", algorithm)
		}
	}
}
