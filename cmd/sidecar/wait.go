package main

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/spf13/cobra"

	"github.com/coxswain-sidecar/coxswain/client"
	"github.com/coxswain-sidecar/coxswain/client/api"
)

// askAgain is the pause between two calls. It is short, since the start of a container waits for the
// answer, and a call costs the sidecar only some microseconds.
const askAgain = 50 * time.Millisecond

func newWait(p process) *cobra.Command {
	cmd := &cobra.Command{
		Use:   "wait [live|ready|redis]",
		Short: "Wait until a sidecar is ready",
		Long: `Wait until a sidecar is ready; it may not have started yet. The exit code is 0 once it is ready, 1 if it is not ready in
time, and 3 if no sidecar could be reached in time. With live it waits only for the socket, so that an outage of Redis does not
delay it; with redis it waits until the sidecar reaches Redis, whatever readiness.mode is.`,
		Example:   "  sidecar wait --timeout 30s\n  sidecar wait live",
		Args:      cobra.MatchAll(cobra.MaximumNArgs(1), cobra.OnlyValidArgs),
		ValidArgs: probes,
	}
	socket := addSocketFlag(cmd, p)
	timeout := cmd.Flags().Duration("timeout", time.Minute, "`duration` to wait at most")
	cmd.RunE = func(cmd *cobra.Command, args []string) error {
		what := probeReady
		if len(args) > 0 {
			what = args[0]
		}
		ctx, cancel := context.WithTimeout(cmd.Context(), *timeout)
		defer cancel()
		c, err := dial(ctx, *socket, "sidecar wait", true)
		if err != nil {
			return err
		}
		defer c.Close()
		return untilIs(ctx, what, c, *socket, *timeout)
	}
	return cmd
}

// untilIs calls health.get until the sidecar is in the state that was asked for. Its error has the
// reason why the last call did not find that.
func untilIs(ctx context.Context, what string, c *client.Client, socket string, timeout time.Duration) error {
	last := errors.New("it did not answer")
	for {
		h, err := client.Call(ctx, c, api.HealthGet, api.Nothing{})
		switch {
		case err == nil && is(what, h):
			return nil
		case err == nil:
			last = fmt.Errorf("not %s%s", words(what), failures(h))
		case isConnectError(err):
			last = &exit{exitUnreachable, unreachable(socket, err)}
		case ctx.Err() == nil && !errors.Is(err, api.DeadlineExceeded):
			last = err // when the time is over, the error before is more useful than that of the deadline
		}
		select {
		case <-ctx.Done():
			return fmt.Errorf("not within %v: %w", timeout, last)
		case <-time.After(askAgain):
		}
	}
}
