package chaostest_test

import (
	"maps"
	"os"
	"slices"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/coxswain-sidecar/coxswain/internal/chaostest"
)

// TestChaos is one run, for make chaos: in make test it would take the time of
// everything else.
func TestChaos(t *testing.T) {
	if os.Getenv(chaostest.EnvTopology) == "" {
		t.Skip("one run takes its time: make chaos SEED=1 DURATION=20s TOPOLOGY=standalone")
	}
	o, err := chaostest.FromEnv(os.Getenv)
	require.NoError(t, err)
	all := slices.Sorted(maps.Keys(topologies))
	names := all
	if o.Topology != "all" {
		require.Contains(t, topologies, o.Topology, "$%s is %q: use all or one of %v", chaostest.EnvTopology, o.Topology, all)
		names = []string{o.Topology}
	}
	for _, name := range names {
		t.Run(name, func(t *testing.T) {
			o.Topology = name
			chaostest.Run(t, o, topologies[name](t, o.Secure()))
		})
	}
}
