package main

import (
	"context"
	"fmt"
	"time"

	"github.com/spf13/cobra"

	"github.com/coxswain-sidecar/coxswain/client"
	"github.com/coxswain-sidecar/coxswain/client/api"
)

// drainTime bounds the command: a hook must leave the pod's grace to the app.
const drainTime = 5 * time.Second

func newDrain(p process) *cobra.Command {
	cmd := &cobra.Command{
		Use:   "drain",
		Short: "Tell the clients of a running sidecar that the pod ends",
		Long: `Tell the clients of a running sidecar that the pod ends: those that hold or follow something get session.draining
with the time that is left. Calls go on, acquisitions included, since the app is still finishing; only SIGTERM refuses new
ones. Messages of streams are delivered no more. It prints one line, changes nothing when it is run again, and returns at once.

For a preStop hook, where nothing may keep the pod from ending: the exit code is 0 also when no sidecar answers on the
socket, which is then said on stderr; 1 when the sidecar refuses (socket.admin), 2 for bad usage.`,
		Example: `  sidecar drain --grace 25s`,
		Args:    cobra.NoArgs,
	}
	socket := addSocketFlag(cmd, p)
	grace := cmd.Flags().Duration("grace", 30*time.Second, "`duration` that the pod still has: its terminationGracePeriodSeconds")
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
