package main

import (
	"context"
	"io"
	"io/fs"
	"log/slog"
	"maps"
	"os"
	"slices"
	"syscall"
	"time"

	"github.com/spf13/cobra"

	"github.com/coxswain-sidecar/coxswain/internal/config"
	"github.com/coxswain-sidecar/coxswain/internal/coord"
)

// What the tests of this program see of it.
var (
	Main       = main
	ReadParams = readParams
	PrintJSON  = printJSON
	ShowDemo   = showDemo

	LimitMemory     = limitMemory
	PaceGarbage     = paceGarbage
	PercentFor      = percentFor
	LiveHeap        = liveHeap
	SetProcs        = setProcs
	WholeProcessors = wholeProcessors
)

const (
	OK, Failed, Usage, Unreachable, Refused, Busy, Signal = exitOK, exitFailed, exitUsage, exitUnreachable, exitRefused, exitBusy, exitSignal

	JSON, Pretty = outputJSON, outputPretty
)

// Run carries out a command line in this process.
func Run(ctx context.Context, args, env []string, in io.Reader, out, err io.Writer, signals <-chan os.Signal) int {
	return run(ctx, args, process{
		env: env, in: in, out: out, err: err,
		signals: func() (<-chan os.Signal, func()) { return signals, func() {} },
		hangups: func() (<-chan os.Signal, func()) { return nil, func() {} },
		raise:   func(syscall.Signal) {},
		pipes:   func() (<-chan os.Signal, func()) { return nil, func() {} },
		keepTo:  func(*slog.Logger, string) func() { return func() {} }, // it would be of all tests
	})
}

// Settled waits as the watch does for a file to stand, while pass is called for
// the time between two looks.
func Settled(file string, pass func() bool) bool {
	return settled(map[string]fs.FileInfo{file: nil}, pass)
}

// App is one sidecar.
type App = app

// NewApp makes one whose configuration is not read again.
func NewApp(c *config.Config, log *slog.Logger) *App { return newApp(c, origin{}, log) }

// LoadApp makes one of what sources say.
func LoadApp(src config.Sources, log *slog.Logger) (*App, error) {
	from := origin{sources: src, level: new(slog.LevelVar)}
	c, err := from.read()
	if err != nil {
		return nil, err
	}
	return newApp(c, from, log), nil
}

// RuleNames are those of the rules in force.
func (a *app) RuleNames() []string { return a.rules.Names() }

// Events carry what happens to it.
func (a *app) Events() *coord.Events { return a.events }

// Revision is that of the rules.
func (a *app) Revision() int64 {
	r := a.reloads.Load()
	r.mu.Lock()
	defer r.mu.Unlock()
	return r.revision
}

// Folders are those that are watched for a file.
var Folders = folders

// Root is the tree of commands, for the reference.
func Root() *cobra.Command { return newRoot(process{}) }

// WireLimits are the limits in force in a process with that memory limit.
var WireLimits = wireLimits

// WaiterBytes is what a call that waits is taken to cost.
const WaiterBytes = waiterBytes

// BenchMethods are those that sidecar bench can measure, sorted.
func BenchMethods() []string { return slices.Sorted(maps.Keys(benchCalls)) }

// CodeOf names an error as sidecar bench counts it.
var CodeOf = codeOf

// Latencies are those of sidecar bench.
type Latencies = latencies

func (l *latencies) Add(d time.Duration)              { l.add(d) }
func (l *latencies) Merge(o *latencies)               { l.merge(o) }
func (l *latencies) Quantile(q float64) time.Duration { return l.quantile(q) }

// NewAutoProcs decides about procs up to most.
func NewAutoProcs(most int) *autoProcs { return &autoProcs{most: most, procs: 1} }

// Next is next without whether it is a change.
func (p *autoProcs) Next(used float64) int {
	n, _ := p.next(used)
	return n
}
