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
		Use:   "wait",
		Short: "Wait until a sidecar is ready",
		Long: `Wait until a sidecar is ready, starting included: exit code 0 once it is, 1 when it is not in time, 3 when none
could be reached in time.`,
		Args: cobra.NoArgs,
	}
	socket := addSocketFlag(cmd, p)
	timeout := cmd.Flags().Duration("timeout", time.Minute, "`duration` to wait at most")
	cmd.RunE = func(cmd *cobra.Command, _ []string) error {
		ctx, cancel := context.WithTimeout(cmd.Context(), *timeout)
		defer cancel()
		c, err := dial(ctx, *socket, "sidecar wait", true)
		if err != nil {
			return err
		}
		defer c.Close()
		return untilReady(ctx, c, *socket, *timeout)
	}
	return cmd
}

// untilReady asks until the answer is ready. Its error is about the last answer.
func untilReady(ctx context.Context, c *client.Client, socket string, timeout time.Duration) error {
	last := errors.New("it did not answer")
	for {
		h, err := client.Call(ctx, c, api.HealthGet, api.Nothing{})
		switch {
		case err == nil && h.Ready:
			return nil
		case err == nil:
			last = fmt.Errorf("not ready%s", failures(h))
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
