package main

import (
	"context"
	"errors"
	"fmt"

	"github.com/spf13/cobra"

	"github.com/coxswain-sidecar/coxswain/client"
	"github.com/coxswain-sidecar/coxswain/client/api"
)

func newTail(p process) *cobra.Command {
	cmd := &cobra.Command{
		Use:   "tail --channel C|--pattern P",
		Short: "Print the messages of channels as they come",
		Long: `Subscribe to channels and patterns and print each message as it comes, until it is interrupted.

A message is a line: its channel and its body, escaped so that it does nothing to a terminal. With -o json it is an object with channel,
body as base64, and pattern where it came by one. Messages that were missed are told on stderr, with -o json as {"dropped":N} among
the messages; -1 = it is not known how many.

A pattern is a glob as of Redis: * ? [ab] and a backslash before what stands for itself.`,
		Example: `  sidecar tail --channel news
  sidecar tail --pattern 'orders.*' -o json --timeout 1m --count 10`,
		Args: cobra.NoArgs,
	}
	socket := addSocketFlag(cmd, p)
	channels := cmd.Flags().StringArray("channel", nil, "`name` of a channel; may be given several times")
	patterns := cmd.Flags().StringArray("pattern", nil, "`glob` of channels; may be given several times")
	count := cmd.Flags().Int("count", 0, "`number` of messages after which it ends; 0 = none")
	timeout := cmd.Flags().Duration("timeout", 0, "`duration` after which it ends; 0 = none")
	output := cmd.Flags().StringP("output", "o", "text", "`format`: text or json, a line each")
	cmd.RunE = func(cmd *cobra.Command, _ []string) error {
		t := tailing{to: p, json: *output == outputJSON, left: *count}
		switch {
		case *output != "text" && !t.json:
			return usage("--output %s is unknown; write text or json", *output)
		case len(*channels)+len(*patterns) == 0:
			return usage("tail: give --channel or --pattern")
		}
		ctx, cancel := context.WithCancel(cmd.Context())
		if *timeout > 0 {
			ctx, cancel = context.WithTimeout(cmd.Context(), *timeout)
		}
		defer cancel()
		c, err := dial(ctx, *socket, "sidecar tail", false)
		if err != nil {
			return err
		}
		defer c.Close()
		err = c.PubsubSubscribe(ctx, client.PubsubOptions{
			Channels: *channels, Patterns: *patterns, OnGap: t.gap,
			OnSubscribed: func() { fmt.Fprintln(p.err, "subscribed") },
		}, t.message)
		switch {
		case errors.Is(err, errEnough), ctx.Err() != nil && *timeout > 0:
			return nil
		case isConnectError(err):
			return &exit{exitUnreachable, unreachable(*socket, err)}
		}
		return err
	}
	return cmd
}

// errEnough ends a tail that has printed what was asked for.
var errEnough = errors.New("that was the last message")

// tailing prints messages.
type tailing struct {
	to   process
	json bool
	left int // until it ends; 0 = it does not
}

// tailed is a message as -o json prints it.
type tailed struct {
	Channel string `json:"channel"`
	Pattern string `json:"pattern,omitempty"`
	Body    []byte `json:"body"`
}

func (t *tailing) message(_ context.Context, m api.PubsubMessage) error {
	var err error
	if t.json {
		err = printJSON(t.to.out, tailed{m.Channel, m.Pattern, m.Body}, outputJSON)
	} else {
		err = printLine(t.to.out, "%s %s", m.Channel, string(m.Body))
	}
	if err != nil {
		return err
	}
	if t.left--; t.left == 0 {
		return errEnough
	}
	return nil
}

func (t *tailing) gap(dropped int64) {
	switch {
	case t.json:
		_ = printJSON(t.to.out, map[string]any{"dropped": dropped}, outputJSON) // the next message tells that nobody reads
	case dropped < 0:
		fmt.Fprintln(t.to.err, "gap: messages were missed; it is not known how many")
	default:
		fmt.Fprintf(t.to.err, "gap: %d messages were missed\n", dropped)
	}
}
