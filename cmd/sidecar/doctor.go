package main

import (
	"log/slog"
	"slices"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"github.com/coxswain-sidecar/coxswain/internal/cgroup"
	"github.com/coxswain-sidecar/coxswain/internal/config"
	"github.com/coxswain-sidecar/coxswain/internal/coord/breaker"
	"github.com/coxswain-sidecar/coxswain/internal/coord/pool"
	"github.com/coxswain-sidecar/coxswain/internal/coord/ratelimit"
	"github.com/coxswain-sidecar/coxswain/internal/coord/stream"
	"github.com/coxswain-sidecar/coxswain/internal/doctor"
	"github.com/coxswain-sidecar/coxswain/internal/lua"
	"github.com/coxswain-sidecar/coxswain/internal/telemetry"
)

func newDoctor(p process) *cobra.Command {
	cmd := &cobra.Command{
		Use:   "doctor",
		Short: "Check everything that a sidecar depends on, and print each problem with its cause and its fix",
		Long: `Check everything that a sidecar depends on: its configuration, rules, socket, container and pod, the running sidecar, and
Redis. Each check is ok, warns or fails; a problem is printed with its cause, its fix and its section of docs/doctor.md. The
command reads the same configuration as serve: flags, COXSWAIN_* variables and the file. It changes nothing, except that it
loads the scripts into Redis, as a start does, and ends in a bounded time.

With --pre no sidecar has to run: the checks are whether one could start. The exit code is 0 if no check failed, 1 if one did
(with --strict also if one warns), and 2 for bad usage.`,
		Example: `  sidecar doctor
  sidecar doctor -o json
  sidecar doctor --pre --config coxswain.yaml --socket ./new.sock --http 127.0.0.1:0`,
		Args: cobra.NoArgs,
	}
	flags := addServeFlags(cmd)
	pre := cmd.Flags().Bool("pre", false, "check before a start, without a running sidecar")
	strict := cmd.Flags().Bool("strict", false, "exit with 1 on warnings too")
	output := addTextOutput(cmd)
	timeout := cmd.Flags().Duration("timeout", 10*time.Second, "`duration` that each check may take")
	podinfo := cmd.Flags().String("podinfo", "/etc/podinfo", "`folder` of a downward API volume with the pod's labels and annotations")
	cmd.RunE = func(cmd *cobra.Command, _ []string) error {
		if *timeout <= 0 {
			return usage("--timeout %v: write more than 0", *timeout)
		}
		r := doctor.Run(cmd.Context(), doctor.Options{
			Sources: flags.sources(cmd, p), Rules: checkRules, Open: openForLook, Lasting: lasting(),
			Pre: *pre, Version: version, Timeout: *timeout, Podinfo: *podinfo, Now: time.Now, Proc: "/proc", Group: cgroup.Root,
		})
		if err := writeReport(p, r, *output); err != nil {
			return err
		}
		if !r.OK || *strict && r.Warned > 0 {
			return &exit{code: exitFailed}
		}
		return nil
	}
	return cmd
}

// openForLook opens the store of a configuration with a single connection, and without a log, since the report has its problems.
func openForLook(c *config.Config) (*lua.Runner, error) {
	o := storeOptions(c)
	o.MinIdle, o.MaxConns = 1, 1
	o.Log = slog.New(slog.DiscardHandler)
	return lua.Open(o)
}

// lasting returns the kinds of keys that intentionally have no TTL.
func lasting() []string {
	return slices.Concat(breaker.Lasting, pool.Lasting, ratelimit.Lasting, stream.Lasting)
}

func writeReport(p process, r doctor.Report, format string) error {
	if format != outputText {
		return printJSON(p.out, r, format)
	}
	terminal := telemetry.IsTerminal(p.out)
	return r.Write(p.out, doctor.Look{Signs: terminal, Colours: terminal && coloured(p.env)})
}

// coloured reports whether the terminal supports colours and the user has not disabled them (no-color.org).
func coloured(env []string) bool {
	return !slices.ContainsFunc(env, func(pair string) bool {
		name, value, _ := strings.Cut(pair, "=")
		return name == "NO_COLOR" && value != "" || name == "TERM" && value == "dumb"
	})
}
