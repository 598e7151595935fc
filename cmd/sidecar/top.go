package main

import (
	"context"
	"fmt"
	"os"
	"slices"
	"strings"
	"time"

	"github.com/spf13/cobra"
	"golang.org/x/term"

	"github.com/coxswain-sidecar/coxswain/client"
	"github.com/coxswain-sidecar/coxswain/client/api"
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

It is an admin call (inspect.snapshot); of locks and others, which are in Redis, it shows at most a page of about 200.`,
		Example: `  sidecar top -n 1
  sidecar top -n 2 --interval 1s --view calls`,
		Args: cobra.NoArgs,
	}
	socket := addSocketFlag(cmd, p)
	interval := cmd.Flags().Duration("interval", 2*time.Second, "`duration` between two looks, at least 100ms")
	times := cmd.Flags().IntP("times", "n", 0, "`number` of times to print it as text; 0 = once, or on a terminal until q is pressed")
	var view string
	addChoice(cmd, &view, "view", "", "`name` of the view to begin with, or to print alone: "+strings.Join(topViews(), ", "), topViews()...)
	cmd.RunE = func(cmd *cobra.Command, _ []string) error {
		switch {
		case *interval < 100*time.Millisecond:
			return usage("--interval %s is too short; use 100ms or more", *interval)
		case *times < 0:
			return usage("-n %d is negative; use 0 or more", *times)
		}
		at := slices.Index(topViews(), view) // -1 = none is named
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
			err = printTop(ctx, p, c, max(*times, 1), *interval, at)
		} else {
			err = showTop(ctx, p, c, topScreen{in: in, out: out}, *interval, max(at, 0))
		}
		if isConnectError(err) {
			return &exit{exitUnreachable, unreachable(*socket, err)}
		}
		return err
	}
	return cmd
}

// topViews are the names of the views, in their order.
func topViews() (names []string) {
	for _, t := range topTables(nil, topSample{}) {
		names = append(names, t.name)
	}
	return names
}

// terminalOf returns a stream as a file, and whether it is a terminal.
func terminalOf(stream any) (*os.File, bool) {
	f, ok := stream.(*os.File)
	return f, ok && term.IsTerminal(int(f.Fd()))
}

const (
	// textWidth is that of text, which nobody cuts at the edge of a terminal.
	textWidth = 120
	// textRows is how many rows of each view are printed.
	textRows = 20
)

// printTop prints views as text: one of them, or all that have rows.
func printTop(ctx context.Context, p process, c *client.Client, times int, interval time.Duration, view int) error {
	var was *topSample
	for i := range times {
		if i > 0 {
			if err := rest(ctx, interval); err != nil {
				return err
			}
		}
		is, err := takeSample(ctx, c)
		if err != nil {
			return err
		}
		was = sameSidecar(was, is)
		lines := topHeader(was, is, textWidth)
		for at, t := range topTables(was, is) {
			if view >= 0 && at != view {
				continue
			}
			if len(t.rows) == 0 && t.note == "" && view < 0 {
				continue
			}
			t.arrange("", t.order, false)
			lines = append(lines, "", strings.ToUpper(t.name))
			lines = append(lines, t.lines(textWidth, 0, textRows, -1)...)
			if more := len(t.rows) - textRows; more > 0 {
				lines = append(lines, fmt.Sprintf("... and %d more", more))
			}
		}
		if i > 0 {
			lines = append([]string{""}, lines...)
		}
		for _, l := range lines {
			if _, err := fmt.Fprintln(p.out, strings.TrimRight(l, " ")); err != nil {
				return err
			}
		}
		was = &is
	}
	return nil
}

// topLook is the result of one look at the sidecar.
type topLook struct {
	sample topSample
	err    error
}

// lookOn asks for samples until ctx ends, also while the sidecar is away.
func lookOn(ctx context.Context, c *client.Client, interval time.Duration) <-chan topLook {
	looks := make(chan topLook)
	go func() {
		for {
			bounded, cancel := context.WithTimeout(ctx, api.DefaultDeadlineMS*time.Millisecond)
			s, err := takeSample(bounded, c)
			cancel()
			select {
			case looks <- topLook{s, err}:
			case <-ctx.Done():
				return
			}
			if rest(ctx, interval) != nil {
				return
			}
		}
	}()
	return looks
}

// showTop shows views on a terminal until it is left, and leaves the terminal as it was.
func showTop(ctx context.Context, p process, c *client.Client, screen topScreen, interval time.Duration, view int) error {
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	ends, stop := p.signals()
	defer stop()
	hangups, stop := p.hangups()
	defer stop()
	if err := screen.open(); err != nil {
		return err
	}
	defer screen.close() // also when what follows panics
	resized, stop := screen.resized()
	defer stop()
	keys, looks := screen.keys(ctx), lookOn(ctx, c, interval)
	v := topView{at: view}
	for {
		width, height := screen.size()
		if err := screen.draw(v.lines(width, height)); err != nil {
			return err
		}
		select {
		case look := <-looks:
			v.take(look)
		case key, open := <-keys:
			if !open || v.press(key) {
				return nil
			}
		case <-resized:
		case <-ends:
			return nil
		case <-hangups:
			return nil
		case <-ctx.Done():
			return ctx.Err()
		}
	}
}
