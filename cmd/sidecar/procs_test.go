package main_test

import (
	"log/slog"
	"os"
	"path/filepath"
	"runtime"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	main "github.com/coxswain-sidecar/coxswain/cmd/sidecar"
	"github.com/coxswain-sidecar/coxswain/internal/cgroup"
)

// One more thread needs two busy seconds in a row, one less half a minute in which it would do.
func TestProcsFollowTheLoad(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		name  string
		most  int
		load  []float64 // processors used in each second
		wants []int
	}{
		{"idle", 4, []float64{0, 0.1, 0}, []int{1, 1, 1}},
		{"one busy second", 4, []float64{1, 0.2, 1, 0.2}, []int{1, 1, 1, 1}},
		{"two", 4, []float64{0.95, 0.95, 0.95, 0.95}, []int{1, 2, 2, 2}},
		{"it goes on to the limit", 3, []float64{1, 1, 2, 2, 3, 3, 3}, []int{1, 2, 2, 3, 3, 3, 3}},
		{"no more than one", 1, []float64{1, 1, 1}, []int{1, 1, 1}},
	} {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			p := main.NewAutoProcs(c.most)
			for i, used := range c.load {
				require.Equal(t, c.wants[i], p.Next(used), "second %d", i+1)
			}
		})
	}
	p := main.NewAutoProcs(2)
	p.Next(1)
	require.Equal(t, 2, p.Next(1))
	for range 29 {
		require.Equal(t, 2, p.Next(0.5))
	}
	require.Equal(t, 2, p.Next(0.7), "one would be too busy")
	for range 29 {
		require.Equal(t, 2, p.Next(0.5))
	}
	require.Equal(t, 1, p.Next(0.5))
}

// Not parallel: GOMAXPROCS is of the process, and the test puts it back.
func TestProcsAreAsConfigured(t *testing.T) {
	before := runtime.GOMAXPROCS(0)
	t.Cleanup(func() { runtime.GOMAXPROCS(before) })
	log := slog.New(slog.DiscardHandler)
	main.SetProcs(log, "3", 1)()
	require.Equal(t, 3, runtime.GOMAXPROCS(0), "a number stands over the limit")

	t.Setenv("GOMAXPROCS", "5")
	main.SetProcs(log, "auto", 4)()
	require.Equal(t, 3, runtime.GOMAXPROCS(0), "the environment stands over auto")
	require.NoError(t, os.Unsetenv("GOMAXPROCS"))
	main.SetProcs(log, "auto", 4)()
	require.Equal(t, 4, runtime.GOMAXPROCS(0), "auto begins with all that it may have")
}

func TestProcessorsFollowTheLimitOfTheCgroup(t *testing.T) {
	t.Parallel()
	all := runtime.NumCPU()
	for _, c := range []struct {
		name  string
		files map[string]string
		want  int
	}{
		{"no cgroup", nil, all},
		{"version 2, none", map[string]string{"cpu.max": "max 100000\n"}, all},
		{"version 2, half a processor", map[string]string{"cpu.max": "50000 100000\n"}, 1},
		{"version 2, one and a half", map[string]string{"cpu.max": "150000 100000\n"}, 1},
		{"version 2, more than there are", map[string]string{"cpu.max": "99900000 100000\n"}, all},
		{"version 1, none", map[string]string{"cpu/cpu.cfs_quota_us": "-1\n", "cpu/cpu.cfs_period_us": "100000\n"}, all},
		{"version 1, one", map[string]string{"cpu/cpu.cfs_quota_us": "100000\n", "cpu/cpu.cfs_period_us": "100000\n"}, 1},
	} {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			root := t.TempDir()
			for name, text := range c.files {
				path := filepath.Join(root, name)
				require.NoError(t, os.MkdirAll(filepath.Dir(path), 0o700))
				require.NoError(t, os.WriteFile(path, []byte(text), 0o600))
			}
			require.Equal(t, c.want, main.WholeProcessors(cgroup.Group(root)))
		})
	}
}

// A process of its own begins with all processors that it may use, and serves with one.
func TestServingHasOneThreadOnceItHasStarted(t *testing.T) {
	t.Parallel()
	socket := socketIn(t)
	_, log := spawn(t, nil, "serve", "--redis", "embedded", "--socket", socket, "--http", "", "--log-level", "debug")
	wait(t, socket)
	most := main.WholeProcessors(cgroup.Root)
	require.Equal(t, most, keptBy(t, log).Procs)
	if most > 1 {
		require.Eventually(t, func() bool {
			return strings.Contains(log.String(), `"msg":"GOMAXPROCS changed","procs":1,"most":`+strconv.Itoa(most))
		}, limit, 10*time.Millisecond)
	}
}
