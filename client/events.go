package client

import (
	"context"
	"errors"
	"fmt"
	"sync"

	"github.com/coxswain-sidecar/coxswain/client/api"
)

// EventsGap is the Method of an Event that the client itself tells, when it
// follows events and its connection was made anew: what happened meanwhile was
// missed. Params has reason: reconnected, or, when the sidecar then refused to
// go on telling, refused and its error.
const EventsGap = "events.gap"

// following is what the program asked to be told of.
type following struct {
	turn chan struct{} // has one place: changes take turns, as their callers' contexts allow

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

// take is taken before a change and given back after it.
func (f *following) take(ctx context.Context) error {
	select {
	case f.turn <- struct{}{}:
		return nil
	case <-ctx.Done():
		return ended(ctx.Err())
	}
}

func (f *following) giveBack() { <-f.turn }

// EventsSubscribe has Options.OnEvent told what happens in the sidecar, all of
// it or what is of the given kinds, in place of the kinds before. It needs
// Options.OnEvent. A connection that is made anew is told again; OnEvent then
// hears of the gap (EventsGap).
//
// Errors are those of Call: api.InvalidArgument for a kind that does not exist,
// api.PermissionDenied where socket.admin keeps this user out.
func (c *Client) EventsSubscribe(ctx context.Context, kinds ...string) error {
	if c.o.OnEvent == nil {
		return errors.New(api.EventsSubscribe.Name + ": nobody would hear of events: set Options.OnEvent")
	}
	ctx, cancel := withDeadline(ctx)
	defer cancel()
	if err := c.follows.take(ctx); err != nil {
		return fmt.Errorf("%s: %w", api.EventsSubscribe.Name, err)
	}
	defer c.follows.giveBack()
	for {
		// One connection only, always the same one: each would send every event.
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
			// The next connection may have looked before this was set.
		default:
			return nil
		}
	}
}

// EventsUnsubscribe ends what EventsSubscribe began. Events that are under way
// may still come.
func (c *Client) EventsUnsubscribe(ctx context.Context) error {
	ctx, cancel := withDeadline(ctx)
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

func withDeadline(ctx context.Context) (context.Context, context.CancelFunc) {
	if _, ok := ctx.Deadline(); ok {
		return context.WithCancel(ctx)
	}
	return context.WithTimeout(ctx, defaultDeadline)
}

func (cn *conn) subscribe(ctx context.Context, kinds []string) error {
	var r api.EventsSubscribeResult
	return cn.c.invoke(ctx, invocation{
		method: api.EventsSubscribe.Name, idempotent: true,
		params: &api.EventsSubscribeParams{Kinds: kinds}, result: &r, on: cn,
	})
}

// resume subscribes a connection that was made anew, before others see it. That
// it is refused is no reason to be without a connection.
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
	// One that breaks meanwhile has refused nothing: the next is asked too.
	if err != nil && !errors.As(err, &broken) && c.ctx.Err() == nil {
		c.o.Logger.Warn("events are no longer told", "err", err)
		cn.gap(map[string]any{"reason": "refused", "error": err.Error()})
	}
}

func (cn *conn) gap(params map[string]any) { cn.tell(Event{Method: EventsGap, Params: params}) }
