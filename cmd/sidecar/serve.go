package main

import (
	"context"
	"errors"
	"fmt"
	"os"
	"time"

	"github.com/spf13/cobra"

	"github.com/coxswain-sidecar/coxswain/internal/config"
	"github.com/coxswain-sidecar/coxswain/internal/doctor"
	"github.com/coxswain-sidecar/coxswain/internal/telemetry"
)

func newServe(p process) *cobra.Command {
	cmd := &cobra.Command{
		Use:   "serve",
		Short: "Serve calls until a signal",
		Long: `Serve calls on the socket, and health and metrics pages over HTTP, until SIGTERM or SIGINT.

While Redis does not answer, the sidecar is live and not ready (unless readiness.mode is always), and becomes ready without a
restart. It reads its files again when they change, and on SIGHUP: rules, telemetry.log_level and readiness.mode take effect
at once, other settings keep their values until a restart, and a file that is not valid changes nothing.

On SIGTERM or SIGINT it refuses new connections and new acquisitions, waits until its clients have disconnected or
limits.shutdown_grace is over, gives back all leases that they still hold, and exits with 0. A second signal ends it at once:
the other of the two, or the same one more than a second after the first. It logs to stderr.`,
		Example: `  sidecar serve --redis redis://127.0.0.1:6379
  sidecar serve --redis embedded --socket ./sidecar.sock --http 127.0.0.1:8086`,
		Args: cobra.NoArgs,
	}
	flags := addServeFlags(cmd)
	debug := cmd.Flags().String("debug-addr", "", "`address` of profiles (net/http/pprof), 127.0.0.1:port; none by default")
	cmd.RunE = func(cmd *cobra.Command, _ []string) error {
		if *debug != "" {
			if err := checkDebugAddr(*debug); err != nil {
				return err
			}
		}
		return serve(cmd.Context(), origin{sources: flags.sources(cmd, p)}, *debug, p)
	}
	return cmd
}

// lastLines bounds the time for writing the last lines of the log, whose reader may be slow.
const lastLines = time.Second

// serve runs one sidecar until a signal. From here on, errors too are written by the log: programs
// can parse it, and writing to it does not block. Profiles are served on the address debug, unless
// it is empty.
func serve(ctx context.Context, from origin, debug string, p process) error {
	_, ignorePipes := p.pipes()
	defer ignorePipes()
	c, invalid := from.read()
	o := telemetry.LogOptions{Level: config.Default().Telemetry.LogLevel}
	if invalid == nil {
		o.Level, o.Format = c.Telemetry.LogLevel, c.Telemetry.LogFormat
	}
	log, err := telemetry.NewLog(p.err, o)
	if err != nil {
		return err
	}
	defer log.Close(lastLines)
	if invalid != nil {
		return logged(log, invalid)
	}
	from.level = log.Level
	defer p.keepTo(log.Logger, c.Runtime.Procs)()
	signals, ignore := p.signals()
	defer ignore()
	hangups, ignoreHangups := p.hangups()
	defer ignoreHangups()
	if debug != "" {
		stopDebug, err := serveDebug(debug, log.Logger)
		if err != nil {
			return logged(log, err)
		}
		defer stopDebug()
	}
	a := newApp(c, from, log.Logger)
	a.logDropped = log.CountDropped
	if err := a.Start(); err != nil {
		return logged(log, err)
	}
	for {
		var first os.Signal
		select {
		case <-hangups:
			_ = a.Reload() // it logs its outcome
			continue
		case first = <-signals:
			log.Info("stopping", "signal", first.String())
		case <-ctx.Done():
		}
		return stop(a, first, signals)
	}
}

// logged logs why the sidecar does not start, and returns an error with the same exit code. In a
// text log it writes the error's text as it is, since that may quote lines of a file.
func logged(log *telemetry.Log, err error) error {
	code := exitFailed
	var e *exit
	if errors.As(err, &e) {
		code = e.code
	}
	docs := doctor.Docs(err)
	switch {
	case log.Format == telemetry.FormatText && docs != "":
		fmt.Fprintf(log.AsyncWriter, "%v\nsee %s\n", err, docs)
	case log.Format == telemetry.FormatText:
		fmt.Fprintln(log.AsyncWriter, err)
	case docs != "":
		log.Error("the sidecar does not start", "err", err, "docs", docs)
	default:
		log.Error("the sidecar does not start", "err", err)
	}
	return &exit{code: code}
}

// sameSignal is how long a repeated signal is taken for the same request: timeout of GNU coreutils
// sends a signal to its child and also to the child's process group.
const sameSignal = time.Second

// stop stops the sidecar in order, or returns at once on a second signal: the other one, or the same
// one later than sameSignal. first is nil if no signal requested the end.
func stop(a *app, first os.Signal, signals <-chan os.Signal) error {
	begun := time.Now()
	stopped := make(chan struct{})
	go func() {
		defer close(stopped)
		a.Stop()
	}()
	for {
		select {
		case <-stopped:
			return nil
		case s := <-signals:
			if s == first && time.Since(begun) < sameSignal {
				a.log.Info("the same signal came twice within a second and counts as one; send it again to end without cleaning up", "signal", s.String())
				continue
			}
			a.log.Warn("ended by a second signal: the leases of clients end at their TTL", "signal", s.String())
			return &exit{code: signalled(s)}
		}
	}
}
