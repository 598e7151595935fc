package main

import (
	"context"
	"fmt"
	"time"

	"github.com/spf13/cobra"

	"github.com/coxswain-sidecar/coxswain/client"
	"github.com/coxswain-sidecar/coxswain/client/api"
)

// The states that a probe asks for.
const (
	probeLive  = "live"
	probeReady = "ready"
	probeRedis = "redis"
)

var probes = []string{probeLive, probeReady, probeRedis}

// is reports whether a sidecar is in one of the states of probes, by the result of health.get. With
// readiness.mode always, a sidecar can be ready without reaching Redis.
func is(what string, h api.HealthResult) bool {
	switch what {
	case probeLive:
		return h.Live
	case probeReady:
		return h.Ready
	default:
		return h.Ready && !h.Degraded
	}
}

func newProbe(p process) *cobra.Command {
	cmd := &cobra.Command{
		Use:   "probe live|ready|redis",
		Short: "Ask a running sidecar whether it is live or ready",
		Long: `Ask a running sidecar over its socket whether it is live, is ready, or reaches Redis (redis, whatever readiness.mode is):
exit code 0 if it is, 1 if it is not, 3 if the sidecar cannot be reached. For exec probes where an HTTP port is unwanted.`,
		Example:   "  sidecar probe ready",
		Args:      cobra.MatchAll(cobra.ExactArgs(1), cobra.OnlyValidArgs),
		ValidArgs: probes,
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
			return fmt.Errorf("not %s: %w", words(args[0]), err)
		}
		if is(args[0], h) {
			return printLine(p.out, "%s (%s store)", words(args[0]), h.Store)
		}
		return fmt.Errorf("not %s%s", words(args[0]), failures(h))
	}
	return cmd
}

// words returns the text for one of probes.
func words(what string) string {
	if what == probeRedis {
		return "in reach of Redis"
	}
	return what
}

// failures lists the checks that failed, one on each line.
func failures(h api.HealthResult) string {
	var s string
	for _, c := range h.Checks {
		if !c.OK {
			s += fmt.Sprintf("\n  %s: %s", api.Printable(c.Name), api.Printable(c.Detail))
		}
	}
	return s
}
