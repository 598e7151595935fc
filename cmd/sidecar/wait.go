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

// askAgain is the pause between questions: short, since a container's start
// waits for the answer, and each costs the sidecar some microseconds.
const askAgain = 50 * time.Millisecond

func newWait(p process) *cobra.Command {
	cmd := &cobra.Command{
		Use:   "wait [live|ready|redis]",
		Short: "Wait until a sidecar is ready",
		Long: `Wait until a sidecar is ready, starting included: exit code 0 once it is, 1 when it is not in time, 3 when none
could be reached in time. With live it waits for the socket alone, so that an outage of Redis holds nobody; with redis
until Redis is reached, whatever readiness.mode is.`,
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

// untilIs repeats the question until the sidecar is in the state that was asked for.
// Its error says why the last answer was another.
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
			last = err // the end of the time says less than what was known before
		}
		select {
		case <-ctx.Done():
			return fmt.Errorf("not within %v: %w", timeout, last)
		case <-time.After(askAgain):
		}
	}
}
