package main

import (
	"os"
	"syscall"

	"github.com/spf13/cobra"

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
limits.shutdown_grace to end, gives back all that they still hold and exits with 0. A second signal ends it at once. The
log is JSON on stderr.`,
		Example: `  sidecar serve --redis redis://127.0.0.1:6379
  sidecar serve --redis embedded --socket ./sidecar.sock --http 127.0.0.1:8086`,
		Args: cobra.NoArgs,
	}
	flags := addServeFlags(cmd)
	cmd.RunE = func(cmd *cobra.Command, _ []string) error {
		from := origin{sources: flags.sources(cmd, p)}
		c, err := from.read()
		if err != nil {
			return err
		}
		log, level, err := telemetry.NewLog(p.err, c.Telemetry.LogLevel)
		if err != nil {
			return err
		}
		from.level = level
		p.limitMemory(log)
		signals, ignore := p.signals()
		defer ignore()
		hangups, ignoreHangups := p.hangups()
		defer ignoreHangups()
		a := newApp(c, from, log)
		if err := a.Start(); err != nil {
			return err
		}
		for {
			select {
			case <-hangups:
				_ = a.Reload() // it tells, whatever comes of it
				continue
			case s := <-signals:
				log.Info("stopping", "signal", s.String())
			case <-cmd.Context().Done():
			}
			return stop(a, signals)
		}
	}
	return cmd
}

// stop stops in order, unless a second signal says that order no longer matters.
func stop(a *app, signals <-chan os.Signal) error {
	stopped := make(chan struct{})
	go func() {
		defer close(stopped)
		a.Stop()
	}()
	select {
	case <-stopped:
		return nil
	case s := <-signals:
		a.log.Warn("ended by a second signal: what clients hold is left to its TTL", "signal", s.String())
		code := exitSignal
		if n, ok := s.(syscall.Signal); ok {
			code += int(n)
		}
		return &exit{code: code}
	}
}
