package chaostest_test

import (
	"maps"
	"os"
	"slices"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/coxswain-sidecar/coxswain/internal/chaostest"
)

// TestChaos is one run, for make chaos only: in make test it would take as long as all other tests.
func TestChaos(t *testing.T) {
	if os.Getenv(chaostest.EnvTopology) == "" {
		t.Skip("one run takes its time: make chaos SEED=1 DURATION=20s TOPOLOGY=standalone")
	}
	o, err := chaostest.FromEnv(os.Getenv)
	require.NoError(t, err)
	for _, name := range named(t, o.Topology) {
		t.Run(name, func(t *testing.T) {
			o.Topology = name
			chaostest.Run(t, o, topologies[name](t, o.Secure()))
		})
	}
}

// TestChaosOfStreams is a run with consumers that are processes, for make chaos too. If all
// topologies are asked for, it uses sentinel, where a failover loses most.
func TestChaosOfStreams(t *testing.T) {
	if os.Getenv(chaostest.EnvTopology) == "" {
		t.Skip("one run takes its time: make chaos SEED=1 MESSAGES=10000 TOPOLOGY=sentinel")
	}
	o, err := chaostest.FromEnv(os.Getenv)
	require.NoError(t, err)
	switch o.Topology {
	case "all":
		o.Topology = "sentinel"
	case "flushed":
		t.Skip("it is standalone here")
	}
	require.Len(t, named(t, o.Topology), 1)
	chaostest.RunStreams(t, o, topologies[o.Topology](t, o.Secure()))
}

// named are the topologies of a run.
func named(t *testing.T, name string) []string {
	all := slices.Sorted(maps.Keys(topologies))
	if name == "all" {
		return all
	}
	require.Contains(t, topologies, name, "$%s is %q: use all or one of %v", chaostest.EnvTopology, name, all)
	return []string{name}
}
