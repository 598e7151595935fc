package main

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"slices"
	"strings"
	"time"

	"github.com/coxswain-sidecar/coxswain/client"
	"github.com/coxswain-sidecar/coxswain/client/api"
)

const (
	// startFirst is the other start than api.StartNew.
	startFirst = "first"
	// readAgain is the pause before a stream is read again that had no more messages, and
	// tryAgain that after a failure.
	readAgain = 500 * time.Millisecond
	tryAgain  = time.Second
	// tailPage is how many messages are read at once, and tailTake how many are taken of a
	// group: those are nobody else's until they are printed.
	tailPage = 64
	tailTake = 16
)

// tailedEntry is a message of a stream as -o json prints it.
type tailedEntry struct {
	ID            string            `json:"id"`
	PublishedAtMS int64             `json:"published_at_ms"`
	Group         string            `json:"group,omitempty"`
	Attempt       int64             `json:"attempt,omitempty"`
	Body          []byte            `json:"body"`
	Fields        map[string]string `json:"fields,omitempty"`
}

// entry prints a message of a stream.
func (t *tailing) entry(e tailedEntry) error {
	if t.json {
		return t.printed(printJSON(t.to.out, e, outputJSON))
	}
	var b strings.Builder
	fmt.Fprint(&b, e.ID, " ", string(e.Body))
	for _, name := range slices.Sorted(maps.Keys(e.Fields)) {
		fmt.Fprint(&b, " ", name, "=", e.Fields[name])
	}
	return t.printed(printLine(t.to.out, "%s", b.String()))
}

// follow prints the messages of a stream without taking part in it.
func (t *tailing) follow(ctx context.Context, c *client.Client, p api.StreamReadParams) error {
	p.Count = tailPage
	for first := true; ; first = false {
		r, err := insist(ctx, t, func() (api.StreamReadResult, error) { return c.StreamRead(ctx, p) })
		if err != nil {
			return err
		}
		if first {
			t.subscribed()
		}
		for _, m := range r.Messages {
			if err := t.entry(tailedEntry{ID: m.ID, PublishedAtMS: m.PublishedAtMS, Group: m.Group, Body: m.Body, Fields: m.Fields}); err != nil {
				return err
			}
		}
		if p.After = r.Next; r.More {
			continue
		}
		if err := rest(ctx, readAgain); err != nil {
			return err
		}
	}
}

// consume prints the messages that a group is given, and acknowledges each.
func (t *tailing) consume(ctx context.Context, c *client.Client, p api.StreamFetchParams) error {
	for first := true; ; first = false {
		p.Count = tailTake
		if t.left > 0 {
			p.Count = int64(min(t.left, tailTake)) // one that is not to be printed is not taken from others
		}
		messages, err := insist(ctx, t, func() ([]api.StreamMessage, error) { return c.StreamFetch(ctx, p) })
		if err != nil {
			return err
		}
		if first { // the group is there: what is published from now on is printed
			t.subscribed()
			p.WaitMS = time.Second.Milliseconds()
		}
		for _, m := range messages {
			// After the last one too, and when it was interrupted: it has been printed.
			last := t.entry(tailedEntry{ID: m.ID, PublishedAtMS: m.PublishedAtMS, Attempt: m.Attempt, Body: m.Body, Fields: m.Fields})
			if last != nil && !errors.Is(last, errEnough) {
				return last
			}
			_, err := insist(ctx, t, func() (bool, error) {
				ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), api.DefaultDeadlineMS*time.Millisecond)
				defer cancel()
				return c.StreamAck(ctx, api.StreamMessageParams{Stream: p.Stream, Group: p.Group, ID: m.ID})
			})
			if err != nil {
				return err
			}
			if last != nil {
				return last
			}
		}
	}
}

// insist makes a call again while Redis or the sidecar is away, and tells of that once.
func insist[R any](ctx context.Context, t *tailing, call func() (R, error)) (R, error) {
	for told := false; ; told = true {
		r, err := call()
		var reply *api.Error
		passes := isConnectError(err) || errors.As(err, &reply) && reply.Retryable
		if err == nil || ctx.Err() != nil || !passes {
			return r, err
		}
		if !told {
			_ = printLine(t.to.err, "it goes on when it can: %s", err)
		}
		if rest(ctx, tryAgain) != nil {
			return r, err
		}
	}
}

// rest waits, and returns the error of ctx if that ends before.
func rest(ctx context.Context, d time.Duration) error {
	timer := time.NewTimer(d)
	defer timer.Stop()
	select {
	case <-timer.C:
		return nil
	case <-ctx.Done():
		return ctx.Err()
	}
}
