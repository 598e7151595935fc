package main

import (
	"context"
	"fmt"
	"time"

	"github.com/spf13/cobra"

	"github.com/coxswain-sidecar/coxswain/client"
	"github.com/coxswain-sidecar/coxswain/client/api"
)

// drainTime bounds the command, since the time of a preStop hook is part of the pod's grace period.
const drainTime = 5 * time.Second

func newDrain(p process) *cobra.Command {
	cmd := &cobra.Command{
		Use:   "drain",
		Short: "Tell the clients of a running sidecar that the pod ends",
		Long: `Tell the clients of a running sidecar that the pod ends: those that hold leases or have subscriptions are sent
session.draining with the time that is left. Calls still work, acquisitions too, since the app may need them to finish; only
SIGTERM makes the sidecar refuse new ones. Messages of streams are not delivered any more. The command prints one line and
returns at once. Running it again changes nothing.

It is made for preStop hooks, which must not keep the pod from ending: the exit code is 0 even if no sidecar answers on the
socket, which is reported on stderr. It is 1 if the sidecar refuses the call (socket.admin), and 2 for bad usage.`,
		Example: `  sidecar drain --grace 25s`,
		Args:    cobra.NoArgs,
	}
	socket := addSocketFlag(cmd, p)
	grace := cmd.Flags().Duration("grace", 30*time.Second, "`duration` until the pod ends: its terminationGracePeriodSeconds")
	cmd.RunE = func(cmd *cobra.Command, _ []string) error {
		if *grace < time.Millisecond || *grace > 24*time.Hour {
			return usage("drain: --grace: %v is out of range; give 1ms to 24h", *grace)
		}
		ctx, cancel := context.WithTimeout(cmd.Context(), drainTime)
		defer cancel()
		c, err := dial(ctx, *socket, "sidecar drain", false)
		if err != nil {
			_ = printLine(p.err, "nothing to drain: %v", err)
			return nil
		}
		defer c.Close()
		r, err := client.Call(ctx, c, api.SessionDrain, api.DrainParams{DeadlineMS: grace.Milliseconds()})
		if err != nil {
			return fmt.Errorf("drain: %w", err)
		}
		_, err = fmt.Fprintf(p.out, "draining until %s, %d connections\n",
			time.UnixMilli(r.DeadlineAtMS).UTC().Format(time.RFC3339), r.Connections-1)
		return err
	}
	return cmd
}
