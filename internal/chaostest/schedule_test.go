package chaostest_test

import (
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/coxswain-sidecar/coxswain/internal/chaostest"
)

var some = []chaostest.Fault{
	{Name: "often", Targets: 3, Weight: 9, Longest: time.Second},
	{Name: "at times", Weight: 1},
	{Name: "surely", Targets: 30, Every: 4 * time.Second, Longest: 5 * time.Second},
}

func TestASeedGivesOneSchedule(t *testing.T) {
	t.Parallel()
	const length = 20 * time.Second
	require.Equal(t, chaostest.Schedule(7, length, some), chaostest.Schedule(7, length, some))
	require.NotEqual(t, chaostest.Schedule(7, length, some), chaostest.Schedule(8, length, some))
}

func TestAScheduleHasEveryFaultAndEndsInTime(t *testing.T) {
	t.Parallel()
	const length = 20 * time.Second
	for seed := range uint64(20) {
		count := map[string]int{}
		last := time.Duration(0)
		for i, e := range chaostest.Schedule(seed, length, some) {
			count[e.Fault]++
			require.Equal(t, i, e.N)
			require.GreaterOrEqual(t, e.At, last)
			require.LessOrEqual(t, e.At+e.For, length)
			require.Less(t, e.Target, 30)
			last = e.At
			if e.Fault == "at times" {
				require.Zero(t, e.For)
				require.Zero(t, e.Target)
			}
		}
		require.Positive(t, count["at times"])
		require.Greater(t, count["often"], count["at times"])
		require.GreaterOrEqual(t, count["surely"], 3)
		require.LessOrEqual(t, count["surely"], 7)
	}
}

func TestTheSeedSaysWhetherThereIsTLSForEachTopology(t *testing.T) {
	t.Parallel()
	for name := range topologies {
		count := map[bool]int{}
		for seed := range uint64(20) {
			o := chaostest.Options{Seed: seed, Topology: name}
			require.Equal(t, o.Secure(), o.Secure())
			count[o.Secure()]++
		}
		require.Positive(t, count[true], name)
		require.Positive(t, count[false], name)
	}
}

func TestARunIsToldByItsEnvironment(t *testing.T) {
	t.Parallel()
	read := func(vars ...string) (chaostest.Options, error) {
		env := map[string]string{}
		for i := 0; i < len(vars); i += 2 {
			env[vars[i]] = vars[i+1]
		}
		return chaostest.FromEnv(func(name string) string { return env[name] })
	}
	o, err := read(chaostest.EnvTopology, "standalone")
	require.NoError(t, err)
	require.Equal(t, chaostest.Options{Seed: 1, Duration: 20 * time.Second, Topology: "standalone", Messages: 10_000}, o)
	o, err = read(chaostest.EnvTopology, "cluster", chaostest.EnvSeed, "12", chaostest.EnvDuration, "3m", chaostest.EnvMessages, "2000")
	require.NoError(t, err)
	require.Equal(t, chaostest.Options{Seed: 12, Duration: 3 * time.Minute, Topology: "cluster", Messages: 2000}, o)
	for _, wrong := range [][]string{
		{chaostest.EnvSeed, "1"},
		{chaostest.EnvTopology, "standalone", chaostest.EnvSeed, "-1"},
		{chaostest.EnvTopology, "standalone", chaostest.EnvDuration, "20"},
		{chaostest.EnvTopology, "standalone", chaostest.EnvDuration, "1ms"},
		{chaostest.EnvTopology, "standalone", chaostest.EnvMessages, "many"},
		{chaostest.EnvTopology, "standalone", chaostest.EnvMessages, "10"},
	} {
		_, err := read(wrong...)
		require.ErrorContains(t, err, "use ", "%v", wrong)
	}
}
