// Command sidecar is Coxswain: it serves coordination calls on a Unix socket, and has commands to
// call, probe and try out a running sidecar.
//
// Invariants: nothing here is global, so that several sidecars can run in one process; only main
// ends the process; a command prints its answer on stdout, and everything else on stderr.
//
// This package decides nothing about limits or locks: it reads the configuration, and starts and
// stops the layers in order.
package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"os"
	"os/signal"
	"strings"
	"syscall"

	"github.com/KimMachineGun/automemlimit/memlimit"
	"github.com/spf13/cobra"
	"github.com/spf13/pflag"

	"github.com/coxswain-sidecar/coxswain/internal/cgroup"
	"github.com/coxswain-sidecar/coxswain/internal/nearest"
)

// version is set by the linker.
var version = "0.1.0-dev"

func main() {
	os.Exit(run(context.Background(), os.Args[1:], process{
		env: os.Environ(), in: os.Stdin, out: os.Stdout, err: os.Stderr,
		signals: func() (<-chan os.Signal, func()) { return notify(syscall.SIGTERM, syscall.SIGINT) },
		hangups: func() (<-chan os.Signal, func()) { return notify(syscall.SIGHUP) },
		raise:   raise,
		pipes:   func() (<-chan os.Signal, func()) { return notify(syscall.SIGPIPE) },
		keepTo: func(log *slog.Logger, procs string) (stop func()) {
			stopProcs := setProcs(log, procs, wholeProcessors(cgroup.Root))
			limitMemory(log, memlimit.FromCgroup)
			stopCollecting := paceGarbage()
			return func() {
				stopCollecting()
				stopProcs()
			}
		},
	}))
}

// process is the environment of a command. Tests replace parts of it.
type process struct {
	env      []string
	in       io.Reader
	out, err io.Writer
	// signals starts the delivery of signals that request the end, SIGTERM and SIGINT. The
	// function that it returns stops the delivery.
	signals func() (<-chan os.Signal, func())
	// hangups does the same for SIGHUP, which requests a reload. It has a channel of its own, so
	// that no flood of SIGHUP can delay a request to end.
	hangups func() (<-chan os.Signal, func())
	// raise ends this process and the others of its process group by a signal.
	raise func(syscall.Signal)
	// pipes does the same for SIGPIPE. While it is delivered, a write to a closed stdout or
	// stderr does not end the process, but fails with an error, as with any other file.
	pipes func() (<-chan os.Signal, func())
	// keepTo sets the CPU and memory limits of the Go runtime before the process serves. stop
	// ends the goroutines that adapt them to the load.
	keepTo func(log *slog.Logger, procs string) (stop func())
}

func notify(which ...os.Signal) (<-chan os.Signal, func()) {
	c := make(chan os.Signal, 2)
	signal.Notify(c, which...)
	return c, func() { signal.Stop(c) }
}

// The exit codes. They are an interface: scripts and probes rely on them.
const (
	exitOK = iota
	// exitFailed: the call failed, the sidecar is not ready or could not start.
	exitFailed
	// exitUsage: bad arguments or an invalid configuration.
	exitUsage
	// exitUnreachable: no sidecar answers on the socket.
	exitUnreachable
	// exitRefused and exitBusy are used only with --exit-code: a limit or a breaker refuses, or the
	// caller does not get or hold what the call is about.
	exitRefused
	exitBusy
	// exitSignal plus its number: ended by a second signal, without cleaning up.
	exitSignal = 128
)

const exitCodes = `Exit codes:
  0    the command succeeded
  1    the call failed, the sidecar is not ready, or it could not start
  2    bad usage or an invalid configuration
  3    no sidecar answers on the socket
  4    with --exit-code: a limit or a breaker refuses
  5    with --exit-code: the caller does not get or hold what the call is about
  128+ ended by a second signal (130 SIGINT, 143 SIGTERM) without cleaning up`

// exit is an error with an exit code of the process. An error without one means exitFailed. If err
// is nil, the error has been printed already.
type exit struct {
	code int
	err  error
}

func (e *exit) Error() string {
	if e.err == nil {
		return fmt.Sprintf("exit %d", e.code)
	}
	return e.err.Error()
}

func (e *exit) Unwrap() error { return e.err }

func usage(format string, args ...any) error {
	return &exit{exitUsage, fmt.Errorf(format, args...)}
}

// run carries out one command line and returns its exit code.
func run(ctx context.Context, args []string, p process) int {
	parsed := false
	root := newRoot(p) //nolint:contextcheck // cleaning up must go on after the context has ended
	root.PersistentPreRun = func(*cobra.Command, []string) { parsed = true }
	if len(args) > 0 && strings.HasPrefix(args[0], cobra.ShellCompRequestCmd) {
		completeOthers(root) // only here, since cobra keeps completions in a global table
	}
	root.SetArgs(args)
	cmd, err := root.ExecuteContextC(ctx)
	if err == nil {
		return exitOK
	}
	var e *exit
	if !errors.As(err, &e) {
		e = &exit{exitFailed, err}
		if !parsed {
			e.code = exitUsage
		}
	}
	if e.err != nil {
		fmt.Fprintln(p.err, printableError(e.err))
	}
	if !parsed {
		fmt.Fprintf(p.err, "Usage: %s; more: %s --help\n", cmd.UseLine(), cmd.CommandPath())
	}
	return e.code
}

func newRoot(p process) *cobra.Command {
	root := &cobra.Command{
		Use:   "sidecar",
		Short: "Rate limits and locks for every process of a pod, over a Unix socket",
		Long: `Coxswain runs as a sidecar in each pod. It serves rate limits, locks and other coordination that all pods share to
programs in any language over a Unix socket, and keeps the state in Redis.

Settings: a flag takes precedence over a COXSWAIN_* variable, a variable over the file, the file over the default.
A variable's name is COXSWAIN_ and the setting's path in upper case joined by _, such as COXSWAIN_REDIS_URL for redis.url;
COXSWAIN_SOCKET sets socket.path, and COXSWAIN_CONFIG names the file. sidecar config print shows them all. Shell completion: sidecar completion --help.

` + exitCodes,
		Example: `  sidecar serve --redis redis://127.0.0.1:6379
  sidecar doctor
  sidecar call ratelimit.acquire '{"key":"a","algorithm":"token_bucket","limits":[{"limit":3,"period_ms":5000}]}'
  sidecar exec --lock nightly -- ./report.sh`,
		SilenceErrors: true,
		SilenceUsage:  true,

		DisableFlagsInUseLine: true,
	}
	root.SetIn(p.in)
	root.SetOut(p.out)
	root.SetErr(p.err)
	// Cobra's own version flag uses text/template, with which the linker keeps every exported method:
	// a quarter of the binary.
	asked := root.Flags().BoolP("version", "v", false, "print the version")
	root.RunE = func(cmd *cobra.Command, _ []string) error {
		if *asked {
			_, err := fmt.Fprintln(p.out, versionText())
			return err
		}
		return cmd.Help()
	}
	root.SetFlagErrorFunc(didYouMean)
	root.AddCommand(
		newServe(p), newCall(p), newMethods(p), newDescribe(p), newProbe(p), newWait(p),
		newDrain(p), newExec(p), newConfig(p), newDoctor(p), newRules(p), newExplain(p), newPublish(p), newTail(p), newTop(p), newDead(p),
		newBench(p), newDemo(p), newDemoHolder(p), newVersion(p), newCompletion(p),
	)
	root.AddCommand(newNouns(p)...)
	return root
}

// didYouMean adds a suggestion to the error for an unknown flag, and the possible values to that for an unknown value.
func didYouMean(cmd *cobra.Command, err error) error {
	var unknown *pflag.NotExistError
	if !errors.As(err, &unknown) {
		return unknownChoice(err)
	}
	var names []string
	cmd.Flags().VisitAll(func(f *pflag.Flag) {
		if !f.Hidden {
			names = append(names, f.Name)
		}
	})
	if near, ok := nearest.Name(unknown.GetSpecifiedName(), names); ok {
		return fmt.Errorf("%w; did you mean --%s?", err, near)
	}
	return err
}
