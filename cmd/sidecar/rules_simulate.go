package main

import (
	"bufio"
	"context"
	"fmt"
	"io"
	"os"
	"strconv"
	"strings"
	"sync/atomic"
	"time"

	"github.com/spf13/cobra"

	"github.com/coxswain-sidecar/coxswain/client/api"
	"github.com/coxswain-sidecar/coxswain/internal/coord"
	"github.com/coxswain-sidecar/coxswain/internal/coord/ratelimit"
	"github.com/coxswain-sidecar/coxswain/internal/lua"
	"github.com/coxswain-sidecar/coxswain/internal/redis"
	"github.com/coxswain-sidecar/coxswain/internal/telemetry"
)

func newRulesSimulate(p process) *cobra.Command {
	cmd := &cobra.Command{
		Use:   "simulate FILE --trace FILE",
		Short: "Show how a file of rules would decide about a recorded load",
		Long: `Show how the scripts would decide about each call of a trace with a file of rules, or the rules of a whole configuration.
It needs no Redis and does not wait: the scripts run on the embedded store, with the clock of the trace.

A line of the trace is: at key cost rule. At is a duration since the start (1.5s) or milliseconds (1500), never less
than in the line before; cost may be left out and is then 1; rule may be left out and is then --rule, or the only one of
the file. What follows # is a comment. - reads the trace from standard input.

Calls do not wait. A trace has no ends of grants, pauses or delays, so that max_concurrent is ignored.
Windows are aligned to the clock, so that --start matters to fixed_window and sliding_window_counter.`,
		Example: `  printf '%s\n' '0s ua-1 1' '0s ua-1 3' '2s ua-1 1' | sidecar rules simulate rules.yaml --rule user --trace -`,
		Args:    cobra.ExactArgs(1),
	}
	trace := cmd.Flags().String("trace", "", "`file` of calls, - for standard input")
	rule := cmd.Flags().String("rule", "", "`name` of the rule of lines that name none")
	start := cmd.Flags().String("start", "2000-01-01T00:00:00Z", "`instant` at which the trace starts, RFC 3339")
	output := addOutput(cmd, outputText, "`format`: text, or json (one object a line)", outputText, outputJSON)
	cmd.RunE = func(cmd *cobra.Command, args []string) error {
		epoch, err := time.Parse(time.RFC3339Nano, *start)
		switch {
		case err != nil:
			return usage("--start %s is not a time; write one such as 2000-01-01T00:00:00Z", *start)
		case *trace == "":
			return usage("--trace is missing; name a file of lines: at key cost")
		}
		rules, err := loadRules(args)
		if err != nil {
			return err
		}
		in, closeTrace, err := openTrace(*trace, p.in)
		if err != nil {
			return err
		}
		defer closeTrace()
		s, err := newSimulation(rules, *rule, epoch)
		if err != nil {
			return err
		}
		defer s.close()
		return s.run(cmd.Context(), *trace, in, printer(p.out, *output))
	}
	return cmd
}

func openTrace(name string, in io.Reader) (io.Reader, func(), error) {
	if name == "-" {
		return in, func() {}, nil
	}
	f, err := os.Open(name)
	if err != nil {
		return nil, nil, usage("--trace: %v; name a file of lines: at key cost", err)
	}
	return f, func() { _ = f.Close() }, nil
}

// simulation is a limiter that uses the clock of a trace.
type simulation struct {
	runner  *lua.Runner
	limiter *ratelimit.Limiter
	rule    string // the rule of lines that name none
	epoch   time.Time
	now     *traceClock
}

// traceClock is the time of the last line of the trace.
type traceClock struct{ us atomic.Int64 }

func (c *traceClock) Now() time.Time { return time.UnixMicro(c.us.Load()) }

// AfterFunc calls nothing: no call of a simulation waits.
func (c *traceClock) AfterFunc(time.Duration, func()) func() bool { return func() bool { return true } }

func newSimulation(rules []api.Rule, rule string, epoch time.Time) (*simulation, error) {
	set := ratelimit.NewRules()
	for i := range rules {
		rules[i].MaxConcurrent = 0
		// A cached refusal would have the decision of the scripts too, but not what remains.
		rules[i].DenyCache = "off"
		for k := range rules[i].Overrides {
			rules[i].Overrides[k].MaxConcurrent = 0
		}
	}
	if err := set.Set(rules, 0); err != nil {
		return nil, err
	}
	if names := set.Names(); rule == "" && len(names) == 1 {
		rule = names[0]
	}
	s := &simulation{rule: rule, epoch: epoch, now: &traceClock{}}
	s.now.us.Store(epoch.UnixMicro())
	var err error
	if s.runner, err = lua.Open(lua.Options{URL: redis.Embedded, Clock: s.now.us.Load}); err != nil {
		return nil, err
	}
	s.limiter = ratelimit.New(ratelimit.Options{
		Runner: s.runner, Keys: coord.NewKeys("simulate", ""), Rules: set, Telemetry: telemetry.Nop(), Clock: s.now,
	})
	return s, nil
}

func (s *simulation) close() { _ = s.runner.Close() }

// simulated is one call of a trace and what was decided.
type simulated struct {
	line int
	at   time.Duration
	key  string
	cost int64
	rule string
	api.RatelimitResult
}

// run decides about the calls of the trace in order, and prints each decision.
func (s *simulation) run(ctx context.Context, name string, trace io.Reader, p *simulationPrinter) error {
	lines := bufio.NewScanner(trace)
	last := time.Duration(0)
	for n := 1; lines.Scan(); n++ {
		c, ok, err := s.parse(strings.TrimPrefix(lines.Text(), "\ufeff"))
		if err == nil && c.at < last {
			err = fmt.Errorf("at %v is before %v, the line before; sort the trace by time", c.at, last)
		}
		if err != nil {
			return usage("%s:%d: %w", name, n, err)
		}
		if !ok {
			continue
		}
		c.line, last = n, c.at
		s.now.us.Store(s.epoch.UnixMicro() + c.at.Microseconds())
		c.RatelimitResult, err = s.limiter.Acquire(ctx, coord.Caller{}, &api.RatelimitParams{
			Rule: c.rule, Key: c.key, Cost: c.cost, FailMode: string(coord.FailClosed),
		})
		if err != nil {
			return usage("%s:%d: %w", name, n, err)
		}
		if err := p.call(c); err != nil {
			return err
		}
	}
	if err := lines.Err(); err != nil {
		return fmt.Errorf("%s: %w", name, err)
	}
	return p.summary()
}

// maxCost is the highest cost of a call, as on the wire (api.RatelimitParams).
const maxCost = 1_000_000_000

// parse parses a line. ok is false if the line has no call.
func (s *simulation) parse(line string) (c simulated, ok bool, err error) {
	line, _, _ = strings.Cut(line, "#")
	f := strings.Fields(line)
	switch {
	case len(f) == 0:
		return c, false, nil
	case len(f) < 2 || len(f) > 4:
		return c, false, fmt.Errorf("%d columns; write: at key cost rule, the last two where they are needed", len(f))
	}
	if c.at, err = parseAt(f[0]); err != nil {
		return c, false, err
	}
	c.key, c.cost, c.rule = f[1], 1, s.rule
	if len(f) > 2 {
		if c.cost, err = strconv.ParseInt(f[2], 10, 64); err != nil {
			return c, false, fmt.Errorf("cost %q is not a whole number; write one such as 1", f[2])
		}
		if c.cost < 0 || c.cost > maxCost {
			return c, false, fmt.Errorf("params: cost: %d is out of range; use 0 to %d", c.cost, maxCost)
		}
	}
	if len(c.key) > api.MaxNameBytes {
		return c, false, fmt.Errorf("params: key: %d bytes are too many; give at most %d, such as a hash of what is longer", len(c.key), api.MaxNameBytes)
	}
	if len(f) > 3 {
		c.rule = f[3]
	}
	if c.rule == "" {
		return c, false, fmt.Errorf("which rule? the file has several; name one with --rule or in a fourth column")
	}
	return c, true, nil
}

func parseAt(text string) (time.Duration, error) {
	at, err := time.ParseDuration(text)
	if ms, bad := strconv.ParseInt(text, 10, 44); bad == nil {
		at, err = time.Duration(ms)*time.Millisecond, nil
	}
	if err != nil || at < 0 {
		return 0, fmt.Errorf("at %q is no time since the start; write a duration such as 1.5s, or milliseconds", text)
	}
	return at, nil
}
