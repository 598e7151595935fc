package main

import (
	"context"
	"io"
	"log/slog"
	"os"

	"github.com/spf13/cobra"

	"github.com/coxswain-sidecar/coxswain/internal/config"
)

// What the tests of this program see of it.
var (
	Main       = main
	ReadParams = readParams
	PrintJSON  = printJSON
	ShowDemo   = showDemo

	RulesRevision = rulesRevision
)

const (
	OK, Failed, Usage, Unreachable, Signal = exitOK, exitFailed, exitUsage, exitUnreachable, exitSignal

	JSON, Pretty = outputJSON, outputPretty
)

// Run carries out a command line in this process.
func Run(ctx context.Context, args, env []string, in io.Reader, out, err io.Writer, signals <-chan os.Signal) int {
	return run(ctx, args, process{
		env: env, in: in, out: out, err: err,
		signals: func() (<-chan os.Signal, func()) { return signals, func() {} },
	})
}

// App is one sidecar.
type App = app

// NewApp makes one.
func NewApp(c *config.Config, log *slog.Logger) *App { return newApp(c, log) }

// Root is the tree of commands, for the reference.
func Root() *cobra.Command { return newRoot(process{}) }
