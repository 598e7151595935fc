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
		Use:   "tail --channel C|--pattern P|--stream S",
		Short: "Print the messages of channels or of a stream as they come",
		Long: `Print each message of channels and patterns, or of a stream, as it comes, until it is interrupted.

A message is a line, escaped so that it does nothing to a terminal: its channel or its id, its body, and its fields. With -o json it is an
object with body as base64; channel, and pattern where it came by one; or id, published_at_ms, fields, and group or attempt.

A pattern is a glob as of Redis: * ? [ab] and a backslash before what stands for itself. Messages of channels that were missed are told
on stderr, with -o json as {"dropped":N} among the messages; -1 = it is not known how many.

A stream is read without taking part in it: nobody misses a message for that, and nothing is left behind. It is an admin call (stream.read),
asked again twice a second. With --group messages are taken as a consumer of that group and acknowledged once they are printed, so that
no other consumer of it gets them. Outages are told on stderr, and it goes on after them.`,
		Example: `  sidecar tail --channel news
  sidecar tail --pattern 'orders.*' -o json --timeout 1m --count 10
  sidecar tail --stream orders --start first --count 100
  sidecar tail --stream orders --group audit`,
		Args: cobra.NoArgs,
	}
	socket := addSocketFlag(cmd, p)
	channels := cmd.Flags().StringArray("channel", nil, "`name` of a channel; may be given several times")
	patterns := cmd.Flags().StringArray("pattern", nil, "`glob` of channels; may be given several times")
	stream := cmd.Flags().String("stream", "", "`name` of a stream, in place of channels")
	group := cmd.Flags().String("group", "", "`name` of a group of its consumers, to take part in")
	start := cmd.Flags().String("start", api.StartNew, "`first` or new: with which message of the stream to begin; of a group, if it is not there yet")
	count := cmd.Flags().Int("count", 0, "`number` of messages after which it ends; 0 = none")
	timeout := cmd.Flags().Duration("timeout", 0, "`duration` after which it ends; 0 = none")
	output := cmd.Flags().StringP("output", "o", "text", "`format`: text or json, a line each")
	cmd.RunE = func(cmd *cobra.Command, _ []string) error {
		t := tailing{to: p, json: *output == outputJSON, left: *count}
		switch {
		case *output != "text" && !t.json:
			return usage("--output %s is unknown; write text or json", *output)
		case !oneOf(len(*channels)+len(*patterns) > 0, *stream != ""):
			return usage("tail: give --channel or --pattern, or else --stream")
		case *stream == "" && (*group != "" || cmd.Flags().Changed("start")):
			return usage("tail: --group and --start are of streams")
		case *start != api.StartNew && *start != startFirst:
			return usage("--start %s is unknown; write first or new", *start)
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
		switch {
		case *group != "":
			err = t.consume(ctx, c, api.StreamFetchParams{Stream: *stream, Group: *group, Start: *start})
		case *stream != "":
			err = t.follow(ctx, c, api.StreamReadParams{Stream: *stream, Start: *start})
		default:
			err = c.PubsubSubscribe(ctx, client.PubsubOptions{
				Channels: *channels, Patterns: *patterns, OnGap: t.gap, OnSubscribed: t.subscribed,
			}, t.message)
		}
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
	return t.printed(err)
}

// printed counts a message, and returns err, or errEnough after the last one.
func (t *tailing) printed(err error) error {
	if err != nil {
		return err
	}
	if t.left--; t.left == 0 {
		return errEnough
	}
	return nil
}

// subscribed tells that messages come from now on.
func (t *tailing) subscribed() { fmt.Fprintln(t.to.err, "subscribed") }

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
