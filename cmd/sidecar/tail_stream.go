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
	// startFirst is the alternative to api.StartNew.
	startFirst = "first"
	// readAgain is the pause after a read that found no more messages, tryAgain the pause after
	// a failure.
	readAgain = 500 * time.Millisecond
	tryAgain  = time.Second
	// tailPage is how many messages are read at once, tailTake how many are fetched for a group.
	// tailTake is smaller, since no other consumer gets fetched messages before they are printed.
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

// follow prints the messages of a stream without being a consumer of a group.
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

// consume prints the messages that it fetches as a consumer of a group, and acknowledges each.
func (t *tailing) consume(ctx context.Context, c *client.Client, p api.StreamFetchParams) error {
	for first := true; ; first = false {
		p.Count = tailTake
		if t.left > 0 {
			p.Count = int64(min(t.left, tailTake)) // a message that is not printed must stay for other consumers
		}
		messages, err := insist(ctx, t, func() ([]api.StreamMessage, error) { return c.StreamFetch(ctx, p) })
		if err != nil {
			return err
		}
		if first { // the group exists, so that messages that are published from now on are printed
			t.subscribed()
			p.WaitMS = time.Second.Milliseconds()
		}
		for _, m := range messages {
			// A printed message is acknowledged below, even if it is the last one or ctx has ended.
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

// insist repeats a call while Redis or the sidecar does not answer, and reports that once.
func insist[R any](ctx context.Context, t *tailing, call func() (R, error)) (R, error) {
	for reported := false; ; reported = true {
		r, err := call()
		var reply *api.Error
		// A call that is in flight when Redis stops may reach its deadline before the sidecar has noticed that.
		passes := isConnectError(err) || errors.As(err, &reply) && (reply.Retryable || reply.Code == api.DeadlineExceeded)
		if err == nil || ctx.Err() != nil || !passes {
			return r, err
		}
		if !reported {
			_ = printLine(t.to.err, "retrying: %s", err)
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
