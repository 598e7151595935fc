package main

import (
	"context"
	"fmt"
	"time"

	"github.com/spf13/cobra"

	"github.com/coxswain-sidecar/coxswain/client"
	"github.com/coxswain-sidecar/coxswain/client/api"
)

const (
	probeLive  = "live"
	probeReady = "ready"
)

func newProbe(p process) *cobra.Command {
	cmd := &cobra.Command{
		Use:   "probe live|ready",
		Short: "Ask a running sidecar whether it is live or ready",
		Long: `Ask a running sidecar over its socket whether it is live or ready: exit code 0 when it is, 1 when it is not,
3 when it cannot be reached. For exec probes where an HTTP port is unwanted.`,
		Args:      cobra.MatchAll(cobra.ExactArgs(1), cobra.OnlyValidArgs),
		ValidArgs: []string{probeLive, probeReady},
	}
	socket := addSocketFlag(cmd, p)
	timeout := cmd.Flags().Duration("timeout", 2*time.Second, "`duration` that the answer may take")
	cmd.RunE = func(cmd *cobra.Command, args []string) error {
		ctx, cancel := context.WithTimeout(cmd.Context(), *timeout)
		defer cancel()
		c, err := dial(ctx, *socket, "sidecar probe", false)
		if err != nil {
			return err
		}
		defer c.Close()
		h, err := client.Call(ctx, c, api.HealthGet, api.Nothing{})
		if err != nil {
			return fmt.Errorf("not %s: %w", args[0], err)
		}
		if args[0] == probeLive && h.Live || args[0] == probeReady && h.Ready {
			return printLine(p.out, "%s (%s store)", args[0], h.Store)
		}
		return fmt.Errorf("not %s%s", args[0], failures(h))
	}
	return cmd
}

// failures lists the checks that failed, one a line.
func failures(h api.HealthResult) string {
	var s string
	for _, c := range h.Checks {
		if !c.OK {
			s += fmt.Sprintf("\n  %s: %s", api.Printable(c.Name), api.Printable(c.Detail))
		}
	}
	return s
}
