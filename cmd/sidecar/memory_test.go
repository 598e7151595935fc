package main_test

import (
	"encoding/json"
	"errors"
	"log/slog"
	"math"
	"os"
	"runtime"
	"runtime/debug"
	"runtime/metrics"
	"strings"
	"testing"
	"time"

	"github.com/KimMachineGun/automemlimit/memlimit"
	"github.com/stretchr/testify/require"

	main "github.com/coxswain-sidecar/coxswain/cmd/sidecar"
	"github.com/coxswain-sidecar/coxswain/internal/config"
)

// kept is the line about what the Go runtime keeps to.
type kept struct {
	From   string `json:"memory_limit_from"`
	Bytes  int64  `json:"memory_limit_bytes"`
	Procs  int    `json:"procs"`
	Reason string `json:"reason"`
}

// keptBy waits for that line, which a process writes before it serves, and which comes through its pipe after that.
func keptBy(t testing.TB, log *output) (k kept) {
	t.Helper()
	require.Eventually(t, func() bool {
		for line := range strings.Lines(log.String()) {
			if strings.Contains(line, `"msg":"the Go runtime keeps to"`) && strings.HasSuffix(line, "\n") {
				require.NoError(t, json.Unmarshal([]byte(line), &k))
				return true
			}
		}
		return false
	}, limit, time.Millisecond, "no line says what the Go runtime keeps to:\n%s", log)
	return k
}

// Not parallel: the limit is of the process, and these tests put it back.
func TestTheRuntimeKeepsToNineTenthsOfTheLimit(t *testing.T) {
	before := debug.SetMemoryLimit(-1)
	t.Cleanup(func() { debug.SetMemoryLimit(before) })
	if text, set := os.LookupEnv("GOMEMLIMIT"); set {
		require.NoError(t, os.Unsetenv("GOMEMLIMIT"))
		t.Cleanup(func() { require.NoError(t, os.Setenv("GOMEMLIMIT", text)) }) //nolint:usetesting // it puts back what was there
	}
	const limit = 1 << 40
	for _, c := range []struct {
		name  string
		found memlimit.Provider
		want  kept
	}{
		{"a limit", memlimit.Limit(limit), kept{From: "cgroup", Bytes: limit / 10 * 9}},
		{"none", func() (uint64, error) { return 0, memlimit.ErrNoLimit }, kept{From: "nothing"}},
		{"no cgroups", func() (uint64, error) { return 0, errors.New("no cgroups here") }, kept{From: "nothing", Reason: "no cgroups here"}},
	} {
		t.Run(c.name, func(t *testing.T) {
			debug.SetMemoryLimit(before)
			var log output
			main.LimitMemory(slog.New(slog.NewJSONHandler(&log, nil)), c.found)
			got := keptBy(t, &log)
			require.Positive(t, got.Procs)
			require.Contains(t, got.Reason, c.want.Reason)
			require.Equal(t, c.want.From, got.From)
			require.InDelta(t, c.want.Bytes, got.Bytes, 16)
			if c.want.Bytes > 0 {
				require.Equal(t, got.Bytes, debug.SetMemoryLimit(-1), "said and not set")
			} else {
				require.Equal(t, before, debug.SetMemoryLimit(-1))
			}
		})
	}
}

// A process of its own, whatever cgroup the tests run in.
func TestGOMEMLIMITOverridesTheCgroup(t *testing.T) {
	t.Parallel()
	socket := socketIn(t)
	args := []string{"serve", "--redis", "embedded", "--socket", socket, "--http", "127.0.0.1:0"}
	_, log := spawn(t, []string{"GOMEMLIMIT=96MiB"}, args...)
	wait(t, socket)
	got := keptBy(t, log)
	require.Equal(t, kept{From: "GOMEMLIMIT", Bytes: 96 << 20, Procs: got.Procs}, got)
	_, page := get(t, &sidecar{log: log}, "/metrics")
	require.Contains(t, page, "\ngo_gc_gomemlimit_bytes 1.00663296e+08\n")
}

func TestServingLogsTheLimitsOfTheCgroup(t *testing.T) {
	t.Parallel()
	socket := socketIn(t)
	_, log := spawn(t, nil, "serve", "--redis", "embedded", "--socket", socket, "--http", "")
	wait(t, socket)
	got := keptBy(t, log)
	limit, err := memlimit.FromCgroup()
	if err != nil {
		t.Logf("there is no limit here: %v", err)
		require.Equal(t, "nothing", got.From)
		require.Zero(t, got.Bytes)
		return
	}
	require.Equal(t, "cgroup", got.From)
	require.InDelta(t, float64(limit)*0.9, got.Bytes, 16)
}

func TestWhatClientsMayTakeTogetherFollowsFromTheMemoryLimit(t *testing.T) {
	t.Parallel()
	l := config.Default().Limits
	const share = 128 << 20 / 10 * 9 / 5
	got := main.WireLimits(l, 128<<20/10*9)
	require.InDelta(t, share, got.MaxTotalBytes, 8)
	require.EqualValues(t, share/main.WaiterBytes, got.MaxTotalWaiting)

	small := main.WireLimits(l, 16<<20)
	require.Equal(t, config.TotalBytesFor(l.MaxFrameBytes), small.MaxTotalBytes, "a frame of the greatest length fits in any case")
	without := main.WireLimits(l, math.MaxInt64)
	require.EqualValues(t, 256<<20, without.MaxTotalBytes)
	require.EqualValues(t, 65_536, without.MaxTotalWaiting)

	l.MaxTotalBytes, l.MaxTotalWaiting = 100<<20, 7
	set := main.WireLimits(l, 16<<20)
	require.EqualValues(t, 100<<20, set.MaxTotalBytes)
	require.EqualValues(t, 7, set.MaxTotalWaiting)
}

// Not parallel: the setting is of the process, and the test puts it back.
func TestGarbageIsCollectedAtALeastHeap(t *testing.T) {
	before := debug.SetGCPercent(100)
	t.Cleanup(func() { debug.SetGCPercent(before) })
	percent := func() int {
		sample := []metrics.Sample{{Name: "/gc/gogc:percent"}}
		metrics.Read(sample)
		return int(sample[0].Value.Uint64())
	}
	follows := func(live []byte, why string) {
		t.Helper()
		require.Eventually(t, func() bool {
			runtime.GC()
			return percent() == main.PercentFor(main.LiveHeap())
		}, time.Minute, 10*time.Millisecond, why)
		runtime.KeepAlive(live)
	}
	var stop func()
	for { // the start is a second, which may pass on a busy machine before the setting is read
		begun := time.Now()
		stop = main.PaceGarbage()
		during := percent()
		if time.Since(begun) < time.Second {
			require.Equal(t, 800, during, "during the start")
			break
		}
		stop()
	}
	live := make([]byte, 64<<20)
	follows(live, "with more live than the least heap")
	require.Equal(t, 100, percent())
	follows(nil, "once that is garbage")
	require.Greater(t, percent(), 100)
	stop()
	require.Equal(t, 100, percent(), "it stops with the sidecar")
	runtime.GC()
	require.Equal(t, 100, percent())

	main.PaceGarbage()()
	require.Equal(t, 100, percent(), "of a sidecar that ends in its first second")

	t.Setenv("GOGC", "50")
	defer main.PaceGarbage()()
	require.Equal(t, 100, percent(), "the environment takes precedence: the runtime has read it")
}

func TestTheHeapIsCollectedAt32MiBOrAtTwiceWhatIsLive(t *testing.T) {
	t.Parallel()
	for live, want := range map[uint64]int{0: 800, 1 << 20: 800, 4 << 20: 700, 8 << 20: 300, 16 << 20: 100, 17 << 20: 100, 1 << 30: 100} {
		require.Equal(t, want, main.PercentFor(live), live)
	}
}
