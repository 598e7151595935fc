package main

import (
	"context"
	"os"
	"slices"
	"strings"
	"time"

	"github.com/spf13/cobra"
	"golang.org/x/term"

	"github.com/coxswain-sidecar/coxswain/internal/top"
)

func newTop(p process) *cobra.Command {
	cmd := &cobra.Command{
		Use:   "top",
		Short: "Show what a sidecar does now: calls, limits, locks, pools, breakers, queues, streams",
		Long: `Show what a sidecar does now, on a terminal and anew every --interval: calls by method with rates and times, the rules that refuse most
and the keys that are refused most, locks and semaphores with who waits, pools, breakers, queues and streams, and what was out of the
ordinary lately. Press ? for the keys, q to quit.

Where stdout is no terminal, or with -n, it prints all as text, -n times, and ends. Rates are since the time before; the first ones are since
the sidecar started. P50 and P99 are since it started.

It needs the right to make admin calls (inspect.snapshot). Locks and other state are read from Redis, one page of each list per
interval. If there are very many keys, a view says that it is still looking, or how old its rows may be. As text, it first reads up
to 10 pages. Of each list it keeps 2,000 rows: those with most waiting calls, those furthest behind, or those that are not closed.`,
		Example: `  sidecar top -n 1
  sidecar top -n 2 --interval 1s --view calls`,
		Args: cobra.NoArgs,
	}
	socket := addSocketFlag(cmd, p)
	interval := cmd.Flags().Duration("interval", 2*time.Second, "`duration` between two updates, at least 100ms")
	times := cmd.Flags().IntP("times", "n", 0, "`number` of times to print it as text; 0 = once, or on a terminal until q is pressed")
	var view string
	addChoice(cmd, &view, "view", "", "`name` of the view to begin with, or to print alone: "+strings.Join(top.Views(), ", "), top.Views()...)
	cmd.RunE = func(cmd *cobra.Command, _ []string) error {
		switch {
		case *interval < 100*time.Millisecond:
			return usage("--interval %s is too short; use 100ms or more", *interval)
		case *times < 0:
			return usage("-n %d is negative; use 0 or more", *times)
		}
		at := slices.Index(top.Views(), view) // -1 = no view was given
		ctx, cancel := context.WithCancel(cmd.Context())
		defer cancel()
		c, err := dial(ctx, *socket, "sidecar top", false)
		if err != nil {
			return err
		}
		defer c.Close()
		in, fromTerminal := terminalOf(p.in)
		out, onTerminal := terminalOf(p.out)
		if *times > 0 || !fromTerminal || !onTerminal {
			err = top.Print(ctx, p.out, c.CallRaw, max(*times, 1), *interval, at)
		} else {
			ends, ignoreEnds := p.signals()
			defer ignoreEnds()
			hangups, ignoreHangups := p.hangups()
			defer ignoreHangups()
			go func() {
				defer cancel()
				select {
				case <-ends:
				case <-hangups:
				case <-ctx.Done():
				}
			}()
			err = top.Show(ctx, in, out, c.CallRaw, *interval, max(at, 0))
		}
		if isConnectError(err) {
			return &exit{exitUnreachable, unreachable(*socket, err)}
		}
		return err
	}
	return cmd
}

// terminalOf returns a stream as a file, and whether it is a terminal.
func terminalOf(stream any) (*os.File, bool) {
	f, ok := stream.(*os.File)
	return f, ok && term.IsTerminal(int(f.Fd()))
}
