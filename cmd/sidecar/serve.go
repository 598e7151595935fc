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

Redis may come late or go away: the sidecar is then live and not ready (unless readiness.mode is always), and becomes
ready without a restart. Changed files are read again as soon as they change, and on SIGHUP: rules, telemetry.log_level
and readiness.mode take effect at once, other settings keep their values until a restart, and a file that is not valid
changes nothing.

On SIGTERM or SIGINT it takes no new connections and no new acquisitions, waits for its clients to leave or
limits.shutdown_grace to end, gives back all that they still hold and exits with 0. A second signal ends it at once: the
other one, or the same after a second. The log is on stderr.`,
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

// lastLines bounds writing the end of the log, to a reader that may be slow.
const lastLines = time.Second

// serve runs one sidecar until a signal. From here on all that is said is in the
// log: nothing else on stderr could be read by a machine, or would not block. Profiles
// are served on debug, unless it is empty.
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
		return told(log, invalid)
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
			return told(log, err)
		}
		defer stopDebug()
	}
	a := newApp(c, from, log.Logger)
	a.logDropped = log.CountDropped
	if err := a.Start(); err != nil {
		return told(log, err)
	}
	for {
		var first os.Signal
		select {
		case <-hangups:
			_ = a.Reload() // it tells, whatever comes of it
			continue
		case first = <-signals:
			log.Info("stopping", "signal", first.String())
		case <-ctx.Done():
		}
		return stop(a, first, signals)
	}
}

// told puts why it does not start into the log, and keeps the exit code. In a log
// for people it stays as it is: it may quote the line of a file.
func told(log *telemetry.Log, err error) error {
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

// sameSignal is for how long a signal that comes again is taken for the same
// request: timeout of GNU coreutils sends one to its child and to the group of it.
const sameSignal = time.Second

// stop stops in order, unless a second signal says that order no longer matters:
// another one, or the same after a moment. First is nil where none asked for the end.
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
				a.log.Info("the same signal again, at once: it is taken for one request; send it later to end without cleaning up", "signal", s.String())
				continue
			}
			a.log.Warn("ended by a second signal: what clients hold is left to its TTL", "signal", s.String())
			return &exit{code: signalled(s)}
		}
	}
}
