package client

import (
	"bytes"
	"context"
	"fmt"
	"net/url"
	"strings"
	"sync"

	"github.com/hashicorp/go-msgpack/v2/codec"

	"github.com/coxswain-sidecar/coxswain/client/api"
)

// delivery is a message that was sent to this client and is not acknowledged.
type delivery struct {
	api.StreamMessage
	ctx context.Context // ends when it is lost
	end context.CancelCauseFunc
}

// streamFeed is the deliveries of a subscription, over all its connections. The sidecar bounds
// them by prefetch.
type streamFeed struct {
	ctx  context.Context // the parent of all deliveries' contexts
	more chan struct{}   // filled when next has something to return; has a capacity of 1

	mu         sync.Mutex // guards what follows
	queue      []*delivery
	deliveries map[string]*delivery // by id, those in queue included
	down       chan struct{}        // filled when the connection has ended, emptied by next or wait; has a capacity of 1
}

func newStreamFeed(ctx context.Context) *streamFeed {
	return &streamFeed{ctx: ctx, more: make(chan struct{}, 1), deliveries: make(map[string]*delivery), down: make(chan struct{}, 1)}
}

// hear implements subscriber.
func (f *streamFeed) hear(method string, params []byte, d *codec.Decoder) error {
	if method != api.StreamMessageEvent.Name {
		return nil
	}
	m := new(delivery)
	if err := decode(d, params, &m.StreamMessage); err != nil {
		return err
	}
	m.Body = bytes.Clone(m.Body) // it may be a part of the read buffer
	m.ctx, m.end = context.WithCancelCause(f.ctx)
	f.mu.Lock()
	defer f.mu.Unlock()
	if before := f.deliveries[m.ID]; before != nil {
		f.drop(before, lost("it was delivered again"))
	}
	f.deliveries[m.ID] = m
	f.queue = append(f.queue, m)
	wake(f.more)
	return nil
}

// ended implements subscriber: the sidecar has given back all messages of the connection.
func (f *streamFeed) ended(err error) {
	f.mu.Lock()
	defer f.mu.Unlock()
	for _, m := range f.deliveries {
		f.drop(m, lost("the connection ended: "+err.Error()))
	}
	wake(f.down)
	wake(f.more)
}

func wake(c chan struct{}) {
	select {
	case c <- struct{}{}:
	default:
	}
}

// next takes the first message whose function was not started. If there is none and the connection
// has ended, it returns down, once.
func (f *streamFeed) next() (m *delivery, down bool) {
	f.mu.Lock()
	defer f.mu.Unlock()
	if len(f.queue) == 0 {
		f.queue = nil
		select {
		case <-f.down:
			return nil, true
		default:
			return nil, false
		}
	}
	m = f.queue[0]
	f.queue[0] = nil
	f.queue = f.queue[1:]
	return m, false
}

// wait waits until ended was called for the connection, which has ended.
func (f *streamFeed) wait() { <-f.down }

// drop ends a delivery. The caller holds mu.
func (f *streamFeed) drop(m *delivery, why error) {
	m.end(why)
	if f.deliveries[m.ID] == m {
		delete(f.deliveries, m.ID)
	}
	for i, q := range f.queue {
		if q == m {
			f.queue = append(f.queue[:i], f.queue[i+1:]...)
			break
		}
	}
}

// forget ends a delivery whose outcome was sent to the sidecar.
func (f *streamFeed) forget(m *delivery) {
	f.mu.Lock()
	defer f.mu.Unlock()
	f.drop(m, ErrReleased)
}

// lose ends the delivery of a message that another consumer may have.
func (f *streamFeed) lose(id string, why error) {
	f.mu.Lock()
	defer f.mu.Unlock()
	if m := f.deliveries[id]; m != nil {
		f.drop(m, why)
	}
}

// all returns the present deliveries.
func (f *streamFeed) all() []*delivery {
	f.mu.Lock()
	defer f.mu.Unlock()
	list := make([]*delivery, 0, len(f.deliveries))
	for _, m := range f.deliveries {
		list = append(list, m)
	}
	return list
}

// has reports whether a message of a group is among the deliveries.
func (f *streamFeed) has(id, stream, group string) bool {
	f.mu.Lock()
	defer f.mu.Unlock()
	m := f.deliveries[id]
	return m != nil && m.Stream == stream && m.Group == group
}

// lostMessage ends the delivery of a message that is lost.
func (cn *conn) lostMessage(p api.LostParams) {
	stream, group, ok := groupIn(p.Name)
	if !ok {
		return // the lease of another noun
	}
	cn.mu.Lock()
	var feeds []*streamFeed
	for _, s := range cn.subs.by {
		if f, ok := s.(*streamFeed); ok {
			feeds = append(feeds, f)
		}
	}
	cn.mu.Unlock()
	for _, f := range feeds {
		if f.has(p.Token, stream, group) {
			f.lose(p.Token, fmt.Errorf("%w: %s", ErrLost, p.Reason))
		}
	}
}

// groupIn returns the stream and the group in the name of a loss.
func groupIn(name string) (stream, group string, ok bool) {
	stream, group, ok = strings.Cut(name, ":")
	stream, err := url.PathUnescape(stream)
	group, err2 := url.PathUnescape(group)
	return stream, group, ok && err == nil && err2 == nil
}
