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
		Use:   "tail [--channel C|--pattern P|--stream S]",
		Short: "Print events of the sidecar, or the messages of channels or of a stream, as they come",
		Long: `Print each event of the sidecar, or each message of channels and patterns or of a stream, as it comes, until it is interrupted.

Without a channel or a stream it prints events, which is an admin call (events.subscribe): refusals of limits, changes of breakers, pauses,
lost leases, decisions of fail modes, reloads. An event is a line with its time, kind, noun and name, for limits the key, its reason, and the
number of events that it represents, since refusals are sampled: one a second of the same kind, noun, name and reason. With -o json it is an
object with the fields of the notification event. --kind, --noun and --name select events; several values of one flag are alternatives.

A message is a line, escaped so that it cannot act on the terminal: its channel or its id, its body, and its fields. With -o json it is an
object with body as base64; and channel, and pattern if it matched one; or id, published_at_ms, fields, and group or attempt.

A pattern is a glob as in Redis: * ? [ab], and a backslash before a character that is meant literally. Missed messages of channels and missed
events are reported on stderr, with -o json as {"dropped":N} among the messages; -1 = it is not known how many.

Without --group, tail reads a stream without affecting its groups, by an admin call (stream.read) twice a second. With --group, it takes
messages as a consumer of that group and acknowledges them after it has printed them, so that no other consumer of the group gets them.
Outages are reported on stderr; tail goes on after them.`,
		Example: `  sidecar tail
  sidecar tail --kind refused --name 'crawl-*' -o json
  sidecar tail --kind lost --kind forced --noun lock
  sidecar tail --channel news
  sidecar tail --pattern 'orders.*' -o json --timeout 1m --count 10
  sidecar tail --stream orders --start first --count 100
  sidecar tail --stream orders --group audit`,
		Args: cobra.NoArgs,
	}
	from := source{socket: addSocketFlag(cmd, p)}
	cmd.Flags().StringArrayVar(&from.channels, "channel", nil, "`name` of a channel; may be given several times")
	cmd.Flags().StringArrayVar(&from.patterns, "pattern", nil, "`glob` of channels; may be given several times")
	cmd.Flags().StringVar(&from.stream, "stream", "", "`name` of a stream, in place of channels")
	names(streamList.names).of(cmd, "stream")
	cmd.Flags().StringVar(&from.group, "group", "", "`name` of a group of its consumers, to take part in")
	addChoice(cmd, &from.start, "start", api.StartNew, "`first` or new: with which message of the stream to begin; of a group, if it is not there yet",
		startFirst, api.StartNew)
	cmd.Flags().StringArrayVar(&from.kinds, "kind", nil, "`kind` of events, such as refused, breaker or lost; may be given several times")
	cmd.Flags().StringArrayVar(&from.nouns, "noun", nil, "`noun` that events are about, such as ratelimit or lock; may be given several times")
	completeBy(cmd, "kind", cobra.FixedCompletions(kindNames(), cobra.ShellCompDirectiveNoFileComp))
	completeBy(cmd, "noun", cobra.FixedCompletions(nounNames(), cobra.ShellCompDirectiveNoFileComp))
	cmd.Flags().StringArrayVar(&from.names, "name", nil, "`glob` of the names that events are about: rules, locks, breakers; may be given several times")
	count := cmd.Flags().Int("count", 0, "`number` of messages or events after which it ends; 0 = none")
	timeout := cmd.Flags().Duration("timeout", 0, "`duration` after which it ends; 0 = none")
	output := addOutput(cmd, outputText, "`format`: text or json, a line each", outputText, outputJSON)
	cmd.RunE = func(cmd *cobra.Command, _ []string) error {
		t := tailing{to: p, json: *output == outputJSON, left: *count}
		if err := from.check(cmd.Flags().Changed("start")); err != nil {
			return err
		}
		ctx, cancel := context.WithCancel(cmd.Context())
		if *timeout > 0 {
			ctx, cancel = context.WithTimeout(cmd.Context(), *timeout)
		}
		defer cancel()
		var err error
		if t.events = from.ofEvents(); t.events {
			err = t.watch(ctx, from)
		} else {
			err = t.read(ctx, from)
		}
		switch {
		case errors.Is(err, errEnough), ctx.Err() != nil && *timeout > 0:
			return nil
		case isConnectError(err):
			return &exit{exitUnreachable, unreachable(*from.socket, err)}
		}
		return err
	}
	return cmd
}

// source selects what is printed: messages of channels or of a stream, or else events.
type source struct {
	socket               *string
	channels, patterns   []string
	stream, group, start string
	kinds, nouns, names  []string
}

func (s *source) ofChannels() bool { return len(s.channels)+len(s.patterns) > 0 }

func (s *source) ofEvents() bool { return !s.ofChannels() && s.stream == "" }

// check refuses flags that exclude each other. starts reports whether --start is given.
func (s *source) check(starts bool) error {
	switch {
	case s.ofChannels() && s.stream != "":
		return usage("tail: give --channel or --pattern, or else --stream")
	case len(s.kinds)+len(s.nouns)+len(s.names) > 0 && !s.ofEvents():
		return usage("tail: --kind, --noun and --name are of events, which are printed without --channel, --pattern and --stream")
	case s.stream == "" && (s.group != "" || starts):
		return usage("tail: --group and --start are of streams")
	}
	return s.checkEvents()
}

// tailing prints messages or events.
type tailing struct {
	to     process
	json   bool
	left   int  // messages or events until it ends; 0 or less = it does not end
	events bool // it prints events, not messages
}

// read prints messages.
func (t *tailing) read(ctx context.Context, from source) error {
	c, err := dial(ctx, *from.socket, "sidecar tail", false)
	if err != nil {
		return err
	}
	defer c.Close()
	switch {
	case from.group != "":
		return t.consume(ctx, c, api.StreamFetchParams{Stream: from.stream, Group: from.group, Start: from.start})
	case from.stream != "":
		return t.follow(ctx, c, api.StreamReadParams{Stream: from.stream, Start: from.start})
	default:
		return c.PubsubSubscribe(ctx, client.PubsubOptions{
			Channels: from.channels, Patterns: from.patterns, OnGap: t.gap, OnSubscribed: t.subscribed,
		}, t.message)
	}
}

// errEnough ends a tail that has printed as many messages or events as it was asked for.
var errEnough = errors.New("that was the last message")

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

// subscribed reports that messages or events are printed from now on.
func (t *tailing) subscribed() { fmt.Fprintln(t.to.err, "subscribed") }

func (t *tailing) gap(dropped int64) {
	what := "messages"
	if t.events {
		what = "events"
	}
	switch {
	case t.json:
		_ = printJSON(t.to.out, map[string]any{"dropped": dropped}, outputJSON) // if stdout is closed, the next message fails
	case dropped < 0:
		fmt.Fprintf(t.to.err, "gap: %s were missed; it is not known how many\n", what)
	default:
		fmt.Fprintf(t.to.err, "gap: %d %s were missed\n", dropped, what)
	}
}
