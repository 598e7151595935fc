package main

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"slices"
	"strings"

	"github.com/coxswain-sidecar/coxswain/client"
	"github.com/coxswain-sidecar/coxswain/client/api"
	"github.com/coxswain-sidecar/coxswain/internal/coord"
	"github.com/coxswain-sidecar/coxswain/internal/match"
	"github.com/coxswain-sidecar/coxswain/internal/nearest"
)

// checkEvents refuses nouns and names that no event can have. The sidecar checks the kinds.
func (s *source) checkEvents() error {
	known := nounNames()
	for _, n := range s.nouns {
		if slices.Contains(known, n) {
			continue
		}
		hint := "known are " + strings.Join(known, ", ")
		if near, ok := nearest.Name(n, known); ok {
			hint = "did you mean " + near + "?"
		}
		return usage("--noun %s is unknown; %s", n, hint)
	}
	for _, glob := range s.names {
		if match.BadEscape(glob) >= 0 {
			return usage(`--name %s: a backslash stands before *, ? or a backslash alone`, glob)
		}
	}
	return nil
}

// kindNames returns the kinds of all events, sorted.
func kindNames() []string {
	var names []string
	for _, k := range coord.EventKinds() {
		names = append(names, string(k))
	}
	return names
}

// nounNames returns the nouns of all methods, sorted.
func nounNames() []string {
	var names []string
	for _, m := range api.Methods() {
		noun, _, _ := strings.Cut(m.Name, ".")
		names = append(names, noun)
	}
	slices.Sort(names)
	return slices.Compact(names)
}

// watch prints events until it is interrupted, or has printed as many as were asked for.
func (t *tailing) watch(ctx context.Context, from source) error {
	names := match.Matcher{}
	for i, glob := range from.names {
		names.Add(i, api.Match{Glob: glob})
	}
	wanted := func(noun, name string) bool {
		return (len(from.nouns) == 0 || slices.Contains(from.nouns, noun)) && (len(from.names) == 0 || names.First(name) >= 0)
	}
	ended := make(chan error, 1)
	over := false // used by OnEvent only, whose calls do not overlap
	c, err := client.Dial(ctx, client.Options{
		Socket: *from.socket, Client: "sidecar tail", Version: version, FailFast: true,
		// The client warns of a lost connection, and of events that were not read in time.
		Logger: slog.New(slog.NewTextHandler(t.to.err, &slog.HandlerOptions{Level: slog.LevelWarn})),
		OnEvent: func(e client.Event) {
			if over {
				return
			}
			if err := t.happened(e, wanted); err != nil {
				over = true
				ended <- err
			}
		},
	})
	if err != nil {
		return &exit{exitUnreachable, unreachable(*from.socket, err)}
	}
	defer c.Close()
	if err := c.EventsSubscribe(ctx, from.kinds...); err != nil {
		return err
	}
	t.subscribed()
	select {
	case err = <-ended:
		return err
	case <-ctx.Done():
		return ctx.Err()
	}
}

// happened reports events that were missed before this one, and then prints this one if it is wanted.
func (t *tailing) happened(e client.Event, wanted func(noun, name string) bool) error {
	text := func(key string) string { s, _ := e.Params[key].(string); return s }
	switch e.Method {
	case client.EventsGap:
		if text("reason") == "refused" {
			return errors.New(text("error"))
		}
		t.gap(-1)
		return nil
	case api.EventHappened.Name:
	default:
		return nil
	}
	if dropped := integer(e.Params["dropped"]); dropped > 0 {
		t.gap(dropped)
		delete(e.Params, "dropped")
	}
	if !wanted(text("noun"), text("name")) {
		return nil
	}
	if t.json {
		return t.printed(printJSON(t.to.out, e.Params, outputJSON))
	}
	words := []string{instant(integer(e.Params["at_ms"])), text("kind")}
	for _, key := range []string{"noun", "name"} {
		if s := text(key); s != "" {
			words = append(words, s)
		}
	}
	for _, key := range []string{"key", "reason"} {
		if s := text(key); s != "" {
			words = append(words, key+"="+s)
		}
	}
	if n := integer(e.Params["count"]); n > 1 {
		words = append(words, fmt.Sprintf("count=%d", n))
	}
	if s := text("detail"); s != "" {
		words = append(words, "("+s+")")
	}
	return t.printed(printLine(t.to.out, "%s", strings.Join(words, " ")))
}

// integer converts an integer of a notification's params, whose Go type depends on its encoding on the wire.
func integer(v any) int64 {
	switch v := v.(type) {
	case int64:
		return v
	case uint64:
		return int64(v)
	}
	return 0
}
