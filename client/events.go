package client

import (
	"context"
	"errors"
	"fmt"
	"sync"

	"github.com/coxswain-sidecar/coxswain/client/api"
)

// EventsGap is the Method of an Event that the client itself makes when events may have been
// missed, because the connection of the subscription was made again. Its Params have a reason:
// reconnected; or refused, with an error, if the sidecar refused the new subscription.
const EventsGap = "events.gap"

// following is the program's subscription to events.
type following struct {
	turn chan struct{} // has a capacity of 1: a mutex for changes, for which a caller waits within its context

	mu    sync.Mutex // guards what follows
	on    bool
	kinds []string
}

func (f *following) set(on bool, kinds []string) {
	f.mu.Lock()
	defer f.mu.Unlock()
	f.on, f.kinds = on, kinds
}

func (f *following) get() (on bool, kinds []string) {
	f.mu.Lock()
	defer f.mu.Unlock()
	return f.on, f.kinds
}

// take starts a change; giveBack ends it.
func (f *following) take(ctx context.Context) error {
	select {
	case f.turn <- struct{}{}:
		return nil
	case <-ctx.Done():
		return ended(ctx.Err())
	}
}

func (f *following) giveBack() { <-f.turn }

// EventsSubscribe subscribes Options.OnEvent, which must be set, to the events of the
// sidecar: those of the given kinds, or all if there are none. It replaces an earlier
// subscription. When the connection is made again, the client calls OnEvent with an
// EventsGap and subscribes again.
//
// Errors are those of Call: api.InvalidArgument for an unknown kind, api.PermissionDenied if
// socket.admin does not allow this user.
func (c *Client) EventsSubscribe(ctx context.Context, kinds ...string) error {
	if c.o.OnEvent == nil {
		return errors.New(api.EventsSubscribe.Name + ": Options.OnEvent is not set, so no function would receive events: set it")
	}
	ctx, cancel := c.withDeadline(ctx)
	defer cancel()
	if err := c.follows.take(ctx); err != nil {
		return fmt.Errorf("%s: %w", api.EventsSubscribe.Name, err)
	}
	defer c.follows.giveBack()
	for {
		// Only the first connection subscribes, because every subscribed connection gets every event.
		cn, err := c.await(ctx, nil, nil, c.slots[0].up.Load)
		if err != nil {
			return fmt.Errorf("%s: %w", api.EventsSubscribe.Name, err)
		}
		err = cn.subscribe(ctx, kinds)
		var broken *brokenError
		switch {
		case errors.As(err, &broken):
			continue // await ends with ctx
		case err != nil:
			return err
		}
		c.follows.set(true, kinds)
		select {
		case <-cn.dead:
			// The next connection may have read the old subscription, so this one is made again.
		default:
			return nil
		}
	}
}

// EventsUnsubscribe ends the subscription. Events that were sent before it may still arrive.
func (c *Client) EventsUnsubscribe(ctx context.Context) error {
	ctx, cancel := c.withDeadline(ctx)
	defer cancel()
	if err := c.follows.take(ctx); err != nil {
		return fmt.Errorf("%s: %w", api.EventsUnsubscribe.Name, err)
	}
	defer c.follows.giveBack()
	c.follows.set(false, nil)
	cn := c.slots[0].up.Load()
	if cn == nil {
		return nil // the subscription ended with its connection
	}
	var r api.Nothing
	err := c.invoke(ctx, invocation{
		method: api.EventsUnsubscribe.Name, idempotent: true, params: &api.Nothing{}, result: &r, on: cn,
	})
	var broken *brokenError
	if errors.As(err, &broken) {
		return nil
	}
	return err
}

func (c *Client) withDeadline(ctx context.Context) (context.Context, context.CancelFunc) {
	if _, ok := ctx.Deadline(); ok {
		return context.WithCancel(ctx)
	}
	return context.WithTimeout(ctx, c.o.Timeout)
}

func (cn *conn) subscribe(ctx context.Context, kinds []string) error {
	var r api.EventsSubscribeResult
	return cn.c.invoke(ctx, invocation{
		method: api.EventsSubscribe.Name, idempotent: true,
		params: &api.EventsSubscribeParams{Kinds: kinds}, result: &r, on: cn,
	})
}

// resume subscribes a new connection before callers can use it. The connection is used
// even if the sidecar refuses the subscription.
func (cn *conn) resume(ctx context.Context) {
	c := cn.c
	on, kinds := c.follows.get()
	if !on || cn.slot != c.slots[0] {
		return
	}
	cn.gap(map[string]any{"reason": "reconnected"})
	ctx, cancel := context.WithTimeout(ctx, helloTimeout)
	defer cancel()
	err := cn.subscribe(ctx, kinds)
	var broken *brokenError
	// An error of a connection that breaks here is no refusal: the next connection subscribes again.
	if err != nil && !errors.As(err, &broken) && c.ctx.Err() == nil {
		c.o.Logger.Warn("the sidecar refused the subscription to events; no further events arrive", "err", err)
		cn.gap(map[string]any{"reason": "refused", "error": err.Error()})
	}
}

func (cn *conn) gap(params map[string]any) { cn.queueEvent(Event{Method: EventsGap, Params: params}) }
