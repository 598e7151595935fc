package cgroup_test

import (
	"math"
	"os"
	"path/filepath"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/coxswain-sidecar/coxswain/internal/cgroup"
)

// group is a control group with these files.
func group(t *testing.T, files map[string]string) cgroup.Group {
	t.Helper()
	root := t.TempDir()
	for name, text := range files {
		path := filepath.Join(root, name)
		require.NoError(t, os.MkdirAll(filepath.Dir(path), 0o700))
		require.NoError(t, os.WriteFile(path, []byte(text), 0o600))
	}
	return cgroup.Group(root)
}

func TestLimitsAndUseAreReadOfBothVersions(t *testing.T) {
	t.Parallel()
	const mib = 1 << 20
	for name, c := range map[string]struct {
		files       map[string]string
		cpu         float64
		throttled   float64
		limit, used int64
	}{
		"none": {nil, math.Inf(1), 0, 0, 0},
		"version 2": {map[string]string{
			"cpu.max": "150000 100000\n", "cpu.stat": "usage_usec 5\nnr_periods 8\nnr_throttled 2\n",
			"memory.max": "67108864\n", "memory.current": "50331648\n", "memory.stat": "anon 1\ninactive_file 16777216\n",
		}, 1.5, 0.25, 64 * mib, 32 * mib},
		"version 2, without limits": {map[string]string{"cpu.max": "max 100000\n", "memory.max": "max\n", "memory.current": "1048576\n"}, math.Inf(1), 0, 0, mib},
		"version 1": {map[string]string{
			"cpu/cpu.cfs_quota_us": "50000\n", "cpu/cpu.cfs_period_us": "100000\n", "cpu/cpu.stat": "nr_periods 4\nnr_throttled 3\n",
			"memory/memory.limit_in_bytes": "67108864\n", "memory/memory.usage_in_bytes": "33554432\n", "memory/memory.stat": "total_inactive_file 1048576\n",
		}, 0.5, 0.75, 64 * mib, 31 * mib},
		"version 1, without limits": {map[string]string{
			"cpu/cpu.cfs_quota_us": "-1\n", "cpu/cpu.cfs_period_us": "100000\n", "memory/memory.limit_in_bytes": "9223372036854771712\n",
		}, math.Inf(1), 0, 0, 0},
		"more of the cache than in use": {map[string]string{"memory.current": "1\n", "memory.stat": "inactive_file 2\n"}, math.Inf(1), 0, 0, 0},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			g := group(t, c.files)
			limit, used := g.Memory()
			require.Equal(t, []any{c.cpu, c.throttled, c.limit, c.used}, []any{g.CPU(), g.Throttled(), limit, used})
		})
	}
}
