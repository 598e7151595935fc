package main

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
	"maps"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"github.com/coxswain-sidecar/coxswain/client"
	"github.com/coxswain-sidecar/coxswain/client/api"
)

// benchFlags are the flags of sidecar bench.
type benchFlags struct {
	callers, connections, keys int
	method                     string
	duration                   time.Duration
	rule, algorithm, limits    string
}

func newBench(p process) *cobra.Command {
	cmd := &cobra.Command{
		Use:   "bench",
		Short: "Call a running sidecar as fast as it answers, and measure",
		Long: `Call a running sidecar from many callers, each of which calls again as soon as it is answered. Print the number of calls
per second, how long they took, and how many were refused or failed. Callers and sidecar share this machine's CPUs, so compare
only runs on the same machine. The calls are made by the Go client, whose cost is part of the figures.

Without --rule each call has the limit in its params: a million a second, or --limits. The keys begin with "sidecar bench", so
that other callers are not affected. For lock.acquire, one call is a lock that is acquired and released; each caller has locks
of its own.

A refusal is a result. The exit code is 1 if any call failed; the figures are printed then too.`,
		Example: `  sidecar bench
  sidecar bench --callers 256 --duration 10s -o json
  sidecar bench --method ratelimit.acquire --rule crawler --keys 1
  sidecar bench --method lock.acquire --callers 64`,
		Args: cobra.NoArgs,
	}
	var f benchFlags
	cmd.Flags().IntVar(&f.callers, "callers", 64, "`number` of callers")
	cmd.Flags().IntVar(&f.connections, "connections", 4, "`number` of connections that they share")
	cmd.Flags().IntVar(&f.keys, "keys", 10_000, "`number` of different keys to call with")
	methods := slices.Sorted(maps.Keys(benchCalls))
	addChoice(cmd, &f.method, "method", api.RatelimitAcquire.Name, "`method` to call: "+strings.Join(methods, ", "), methods...)
	cmd.Flags().DurationVar(&f.duration, "duration", 3*time.Second, "`duration` of the load")
	cmd.Flags().StringVar(&f.rule, "rule", "", "`name` of the rule to ask")
	names(ruleNames).of(cmd, "rule")
	addChoice(cmd, &f.algorithm, "algorithm", api.AlgorithmTokenBucket, "`algorithm` of --limits", api.Algorithms...)
	cmd.Flags().StringVar(&f.limits, "limits", "1000000/1s",
		"the `bands` of the limit if there is no --rule: limit/period, separated by commas, such as 10/1s,80/10m")
	socket := addSocketFlag(cmd, p)
	output := addTextOutput(cmd)
	cmd.RunE = func(cmd *cobra.Command, _ []string) error {
		params, err := f.check(cmd.Flags().Changed("limits") || cmd.Flags().Changed("algorithm"))
		if err != nil {
			return err
		}
		r, err := bench(cmd.Context(), *socket, f, params)
		if err != nil {
			return err
		}
		if err := r.print(p.out, *output); err != nil {
			return err
		}
		return r.failure()
	}
	return cmd
}

// check returns the parameters of limits, without a key.
func (f *benchFlags) check(limitGiven bool) (api.RatelimitParams, error) {
	var none api.RatelimitParams
	for _, n := range []struct {
		flag  string
		value int
	}{{"callers", f.callers}, {"connections", f.connections}, {"keys", f.keys}} {
		if n.value < 1 {
			return none, usage("--%s %d: there is at least 1", n.flag, n.value)
		}
	}
	if f.duration <= 0 {
		return none, usage("--duration %v: write a time above 0, such as 3s", f.duration)
	}
	if f.rule != "" {
		if limitGiven {
			return none, usage("--rule has its own limits and algorithm: leave out --limits and --algorithm, or --rule")
		}
		return api.RatelimitParams{Rule: f.rule}, nil
	}
	bands, err := parseBands(f.limits)
	return api.RatelimitParams{Algorithm: f.algorithm, Limits: bands}, err
}

// parseBands parses bands such as 10/1s,80/10m.
func parseBands(text string) ([]api.Band, error) {
	var bands []api.Band
	for part := range strings.SplitSeq(text, ",") {
		count, period, _ := strings.Cut(part, "/")
		limit, err := strconv.ParseInt(count, 10, 64)
		if err == nil {
			var d time.Duration
			d, err = time.ParseDuration(period)
			bands = append(bands, api.Band{Limit: limit, PeriodMS: d.Milliseconds()})
		}
		if err != nil {
			return nil, usage("--limits %s: %q is not a band; write limit/period, such as 80/10m", text, part)
		}
	}
	return bands, nil
}

// benchCall makes one call with a key and reports whether it was granted.
type benchCall func(ctx context.Context, c *client.Client, p *api.RatelimitParams, key string) (granted bool, err error)

// benchCalls are the methods that can be measured.
var benchCalls = map[string]benchCall{
	api.RatelimitAcquire.Name: limitCall(api.RatelimitAcquire),
	api.RatelimitPeek.Name:    limitCall(api.RatelimitPeek),
	api.LockAcquire.Name: func(ctx context.Context, c *client.Client, _ *api.RatelimitParams, key string) (bool, error) {
		l, err := c.LockAcquire(ctx, key, client.LockOptions{})
		if errors.Is(err, client.ErrBusy) {
			return false, nil
		}
		if err != nil {
			return false, err
		}
		return true, l.Release(ctx)
	},
	api.SessionPing.Name: func(ctx context.Context, c *client.Client, _ *api.RatelimitParams, _ string) (bool, error) {
		_, err := client.Call(ctx, c, api.SessionPing, api.Nothing{})
		return true, err
	},
}

func limitCall(m api.Method[api.RatelimitParams, api.RatelimitResult]) benchCall {
	return func(ctx context.Context, c *client.Client, p *api.RatelimitParams, key string) (bool, error) {
		asked := *p
		asked.Key = key
		r, err := client.Call(ctx, c, m, asked)
		return r.Allowed, err
	}
}

// bench runs the load. Failed calls are counted; bench returns an error only if no call could be made.
func bench(ctx context.Context, socket string, f benchFlags, params api.RatelimitParams) (*benchResult, error) {
	c, err := client.Dial(ctx, client.Options{
		Socket: socket, Client: "sidecar bench", Version: version, Connections: f.connections, FailFast: true,
	})
	if err != nil {
		return nil, &exit{exitUnreachable, unreachable(socket, err)}
	}
	defer c.Close()
	call := benchCalls[f.method]
	r := measured(f.callers, f.duration, func(caller, n int) (bool, error) {
		key := benchKey(f, caller, n)
		return call(ctx, c, &params, key)
	})
	if r.Calls == 0 && isConnectError(r.first) {
		return nil, &exit{exitUnreachable, unreachable(socket, r.first)}
	}
	r.Method, r.Callers, r.Connections, r.Keys = f.method, f.callers, f.connections, f.keys
	return r, nil
}

// benchKey returns the key of a caller's nth call. Callers go through all keys, each in an order of its
// own; each caller has locks of its own.
func benchKey(f benchFlags, caller, n int) string {
	const prime = 6151 // the step between a caller's keys
	key := "sidecar bench " + strconv.Itoa((caller*7919+n*prime)%f.keys)
	if f.method == api.LockAcquire.Name {
		key += " of " + strconv.Itoa(caller)
	}
	return key
}

// codeOf names an error in the summary: by the code of a reply, or else by its kind.
func codeOf(err error) string {
	var reply *api.Error
	switch {
	case errors.As(err, &reply):
		return string(reply.Code)
	case errors.Is(err, context.DeadlineExceeded):
		return string(api.DeadlineExceeded)
	case isConnectError(err):
		return "CONNECTION_LOST"
	default:
		return "OTHER"
	}
}

// print prints the result in a format.
func (r *benchResult) print(to io.Writer, format string) error {
	if format != outputText {
		return printJSON(to, r, format)
	}
	lines := []string{
		fmt.Sprintf("%s: %d callers on %d connections, %d keys, %.1f s", r.Method, r.Callers, r.Connections, r.Keys, float64(r.DurationMS)/1000),
		fmt.Sprintf("%.0f calls/s, %d calls", r.Rate, r.Calls),
		fmt.Sprintf("p50 %v, p99 %v, max %v", us(r.P50US), us(r.P99US), us(r.MaxUS)),
		fmt.Sprintf("%d refused", r.Refused),
		fmt.Sprintf("%d failed", r.failed()),
	}
	for _, code := range slices.SortedFunc(maps.Keys(r.Errors), func(a, b string) int {
		return cmp.Or(cmp.Compare(r.Errors[b], r.Errors[a]), cmp.Compare(a, b))
	}) {
		lines = append(lines, fmt.Sprintf("  %d %s", r.Errors[code], code))
	}
	_, err := io.WriteString(to, strings.Join(lines, "\n")+"\n")
	return err
}

func us(n int64) time.Duration { return time.Duration(n) * time.Microsecond }

func (r *benchResult) failed() int64 {
	var n int64
	for _, of := range r.Errors {
		n += of
	}
	return n
}

// failure returns the first error, nil if no call failed.
func (r *benchResult) failure() error {
	if r.first == nil {
		return nil
	}
	return fmt.Errorf("%d of %d calls failed, the first by: %w", r.failed(), r.failed()+r.Calls, r.first)
}
