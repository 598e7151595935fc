package main_test

import (
	"encoding/json"
	"errors"
	"math"
	"math/rand/v2"
	"slices"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	main "github.com/coxswain-sidecar/coxswain/cmd/sidecar"
)

// figures are what sidecar bench prints with -o json.
type figures struct {
	Method                     string
	Callers, Connections, Keys int
	Calls, Refused             int64
	Rate                       float64 `json:"calls_per_second"`
	P50                        int64   `json:"p50_us"`
	P99                        int64   `json:"p99_us"`
	Max                        int64   `json:"max_us"`
	Errors                     map[string]int64
}

func benchOf(t *testing.T, s *sidecar, code int, args ...string) figures {
	t.Helper()
	a := cli(t, append([]string{"bench", "--socket", s.socket, "--duration", "50ms", "-o", "json"}, args...)...)
	require.Equal(t, code, a.code, a.err)
	var f figures
	require.NoError(t, json.Unmarshal([]byte(a.out), &f), a.out)
	return f
}

func TestEveryMethodThatBenchOffersIsMeasured(t *testing.T) {
	t.Parallel()
	s := ready(t)
	for _, method := range main.BenchMethods() {
		f := benchOf(t, s, main.OK, "--callers", "8", "--connections", "2", "--keys", "10", "--method", method)
		require.Equal(t, method, f.Method)
		require.Equal(t, []int{8, 2, 10}, []int{f.Callers, f.Connections, f.Keys})
		require.GreaterOrEqual(t, f.Calls, int64(8), "%s: each caller calls", method)
		require.Positive(t, f.Rate, method)
		require.Positive(t, f.P50, method)
		require.GreaterOrEqual(t, f.P99, f.P50, method)
		require.GreaterOrEqual(t, f.Max, f.P99, method)
		require.Zero(t, f.Refused, "%s: a million a second is not used up, and no two callers want one lock", method)
		require.Empty(t, f.Errors, method)
	}
}

func TestBenchCountsRefusalsAsResults(t *testing.T) {
	t.Parallel()
	s := ready(t)
	f := benchOf(t, s, main.OK, "--callers", "4", "--keys", "1", "--limits", "3/1h,5/24h")
	require.Equal(t, int64(3), f.Calls-f.Refused, "the tighter band lets 3 through")
}

func TestBenchCountsErrorsByCodeAndExitsWith1(t *testing.T) {
	t.Parallel()
	s := ready(t)
	f := benchOf(t, s, main.Failed, "--callers", "3", "--rule", "none")
	require.Zero(t, f.Calls)
	require.GreaterOrEqual(t, f.Errors["NOT_FOUND"], int64(3))
	require.Len(t, f.Errors, 1)

	a := cli(t, "bench", "--socket", s.socket, "--duration", "1ms", "--callers", "1", "--rule", "none")
	require.Equal(t, main.Failed, a.code)
	require.Contains(t, a.out, "1 failed\n  1 NOT_FOUND\n")
	require.Contains(t, a.err, "1 of 1 calls failed, the first by: NOT_FOUND: ")
}

func TestBenchPrintsTheSameFiguresAsText(t *testing.T) {
	t.Parallel()
	s := ready(t)
	a := cli(t, "bench", "--socket", s.socket, "--duration", "1ms", "--callers", "2", "--method", "session.ping")
	require.Equal(t, main.OK, a.code, a.err)
	require.Regexp(t, `^session\.ping: 2 callers on 4 connections, 10000 keys, \d+\.\d s
\d+ calls/s, \d+ calls
p50 \S+s, p99 \S+s, max \S+s
0 refused
0 failed
$`, a.out)
	require.Empty(t, a.err)
}

func TestBenchOfNoSidecarExitsWith3(t *testing.T) {
	t.Parallel()
	a := cli(t, "bench", "--socket", socketIn(t))
	require.Equal(t, main.Unreachable, a.code)
	require.Contains(t, a.err, "there is no such file")
}

func TestBenchRefusesWhatItCannotMeasure(t *testing.T) {
	t.Parallel()
	const usageOfBench = "Usage: sidecar bench [flags]; more: sidecar bench --help\n"
	for want, args := range map[string][]string{
		"--callers 0: there is at least 1\n":                                    {"--callers", "0"},
		"--keys -1: there is at least 1\n":                                      {"--keys", "-1"},
		"--duration 0s: write a time above 0, such as 3s\n":                     {"--duration", "0s"},
		"--output yaml is unknown; write text, json or pretty\n" + usageOfBench: {"-o", "yaml"},
		"--method lock.get is unknown; write lock.acquire, ratelimit.acquire, ratelimit.peek or session.ping\n" + usageOfBench: {"--method", "lock.get"},
		"--limits 10: \"10\" is not a band; write limit/period, such as 80/10m\n":                                              {"--limits", "10"},
		"--limits 1/1s,x/1m: \"x/1m\" is not a band; write limit/period, such as 80/10m\n":                                     {"--limits", "1/1s,x/1m"},
		"--rule has its own limits and algorithm: leave out --limits and --algorithm, or --rule\n":                             {"--rule", "r", "--limits", "1/1s"},
	} {
		a := cli(t, append([]string{"bench", "--socket", "/none"}, args...)...)
		require.Equal(t, answer{main.Usage, "", want}, a)
	}
}

func TestQuantilesAreWithinABucketOfTheTrueOnes(t *testing.T) {
	t.Parallel()
	var all []time.Duration
	var l main.Latencies
	r := rand.New(rand.NewPCG(1, 2))
	for range 10_000 {
		d := time.Duration(math.Exp(r.Float64() * 25)) // from 1 ns to 72 s
		all = append(all, d)
		if len(all)%2 == 0 {
			l.Add(d)
			continue
		}
		var other main.Latencies
		other.Add(d)
		l.Merge(&other)
	}
	slices.Sort(all)
	for _, q := range []float64{0, 0.5, 0.99, 0.999, 1} {
		want := all[min(int(q*float64(len(all))), len(all)-1)]
		got := l.Quantile(q)
		require.GreaterOrEqual(t, got, want, "%v", q)
		require.LessOrEqual(t, float64(got), float64(want)*(1+1.0/32)+1, "%v", q)
	}
	l.Add(math.MaxInt64)
	require.Equal(t, time.Duration(math.MaxInt64), l.Quantile(1))
	var none main.Latencies
	require.Zero(t, none.Quantile(0.5))
}

func TestErrorsAreNamedByTheirCodes(t *testing.T) {
	t.Parallel()
	require.Equal(t, "OTHER", main.CodeOf(errors.New("x")))
}
