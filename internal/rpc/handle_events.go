package rpc

import (
	"context"
	"fmt"
	"reflect"
	"slices"
	"strings"

	"github.com/coxswain-sidecar/coxswain/client/api"
	"github.com/coxswain-sidecar/coxswain/internal/coord"
	"github.com/coxswain-sidecar/coxswain/internal/nearest"
)

// events.subscribe and events.unsubscribe are instant: the goroutine that reads the connection
// answers them, so they take effect in the order in which the client sent them.

func eventsSubscribe(_ context.Context, k *call, p *api.EventsSubscribeParams) (api.EventsSubscribeResult, error) {
	known := kindNames()
	kinds := make([]coord.EventKind, len(p.Kinds))
	for i, name := range p.Kinds {
		if !slices.Contains(known, name) {
			return api.EventsSubscribeResult{}, unknownKind(i, name, known)
		}
		kinds[i] = coord.EventKind(name)
	}
	k.conn.subscriber.Follow(kinds)
	if len(p.Kinds) == 0 {
		return api.EventsSubscribeResult{Subscribed: known}, nil
	}
	subscribed := slices.Clone(p.Kinds)
	slices.Sort(subscribed)
	return api.EventsSubscribeResult{Subscribed: slices.Compact(subscribed)}, nil
}

func eventsUnsubscribe(_ context.Context, k *call, _ *api.Nothing) (api.Nothing, error) {
	k.conn.subscriber.Leave()
	return api.Nothing{}, nil
}

func kindNames() []string {
	var names []string
	for _, k := range coord.EventKinds() {
		names = append(names, string(k))
	}
	return names
}

func unknownKind(i int, name string, known []string) error {
	hint := "known are " + strings.Join(known, ", ")
	if near, ok := nearest.Name(name, known); ok {
		hint = "did you mean " + near + "?"
	}
	return &api.Error{Code: api.InvalidArgument, Message: fmt.Sprintf(
		"kinds[%d]: %s is no kind of event; %s", i, found(cursor{b: appendText(nil, name)}), hint)}
}

var eventParams = compiled.of(reflect.TypeFor[api.EventParams]())

// maxEventBytes is how many unwritten bytes make a connection drop further events. It is
// well below maxUnwritten, so that a subscriber that reads too slowly loses events, not
// its connection with the leases that it holds.
const maxEventBytes = maxUnwritten / 2

// tellEvent sends an event, or counts it as dropped if the write buffer has no room. It never
// blocks, since it runs under the lock of the hub, which has other subscribers to notify.
func (c *conn) tellEvent(e coord.Event) {
	p := api.EventParams{
		Kind: string(e.Kind), AtMS: e.At.UnixMilli(), Noun: e.Noun, Name: e.Name, Key: e.Key,
		Reason: e.Reason, Detail: e.Detail, Count: e.Count,
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.closed {
		return
	}
	if len(c.out)+c.rest >= maxEventBytes {
		c.untold += e.Count
		return
	}
	p.Dropped, c.untold = c.untold, 0
	b := append(appendText([]byte{0x93, 2}, api.EventHappened.Name), 0x91)
	c.appendLocked(eventParams.append(b, reflect.ValueOf(p)))
	c.flushLocked()
}
