package pubsub_test

import (
	"context"
	"sync"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/coxswain-sidecar/coxswain/client/api"
	"github.com/coxswain-sidecar/coxswain/internal/coord"
	"github.com/coxswain-sidecar/coxswain/internal/coordtest"
	"github.com/coxswain-sidecar/coxswain/internal/lua"
	"github.com/coxswain-sidecar/coxswain/internal/luatest"
	"github.com/coxswain-sidecar/coxswain/internal/redistest"
)

// outlet is a client that takes as many notifications as it has room for.
type outlet struct {
	mu      sync.Mutex // guards what follows
	room    int        // further notifications that it takes; -1 = all
	gone    bool
	waiting []func()
	told    []any
}

func (o *outlet) Notify(_ *api.Spec, params any) coord.Told {
	o.mu.Lock()
	defer o.mu.Unlock()
	switch {
	case o.gone:
		return coord.ToldGone
	case o.room == 0:
		return coord.ToldFull
	case o.room > 0:
		o.room--
	}
	o.told = append(o.told, params)
	return coord.ToldSent
}

func (o *outlet) Flush() {}

func (o *outlet) WhenRoom(f func()) {
	o.mu.Lock()
	if o.room == 0 && !o.gone {
		o.waiting = append(o.waiting, f)
		o.mu.Unlock()
		return
	}
	o.mu.Unlock()
	f()
}

// read makes room for n more, -1 for all.
func (o *outlet) read(n int) {
	o.mu.Lock()
	o.room = n
	waiting := o.waiting
	o.waiting = nil
	o.mu.Unlock()
	for _, f := range waiting {
		f()
	}
}

func (o *outlet) end() {
	o.mu.Lock()
	o.gone = true
	o.mu.Unlock()
	o.read(0)
}

func (o *outlet) heard() []any {
	o.mu.Lock()
	defer o.mu.Unlock()
	return append([]any(nil), o.told...)
}

// client is a session with an outlet.
type client struct {
	t *testing.T
	s *coordtest.Sidecar
	*outlet
	session *coord.Session
}

// connect opens a client that has room for this many notifications.
func connect(t *testing.T, s *coordtest.Sidecar, room int) *client {
	t.Helper()
	c := &client{t: t, s: s, outlet: &outlet{room: room}, session: coord.NewSession(coord.Identity{Client: "test"}, func(coord.Loss) {})}
	c.session.Outlet = c.outlet
	t.Cleanup(c.close)
	return c
}

func (c *client) close() { c.session.End(context.Background()) }

func (c *client) caller() coord.Caller { return coord.Caller{Session: c.session} }

func (c *client) try(p api.PubsubSubscribeParams) (string, error) {
	if p.Buffer == 0 {
		p.Buffer = 1000
	}
	r, err := c.s.Pubsub.Subscribe(luatest.Deadline(c.t), c.caller(), &p)
	return r.Subscription, err
}

func (c *client) subscribe(p api.PubsubSubscribeParams) string {
	c.t.Helper()
	id, err := c.try(p)
	require.NoError(c.t, err)
	return id
}

// wants waits for this many notifications and returns them.
func (c *client) wants(n int) []any {
	c.t.Helper()
	require.Eventually(c.t, func() bool { return len(c.heard()) >= n }, time.Minute, time.Millisecond)
	return c.heard()
}

func publish(t *testing.T, s *coordtest.Sidecar, channel, body string) int64 {
	t.Helper()
	r, err := s.Pubsub.Publish(luatest.Deadline(t), coord.Caller{}, &api.PubsubPublishParams{Channel: channel, Body: []byte(body)})
	require.NoError(t, err)
	return r.Receivers
}

func channels(names ...string) api.PubsubSubscribeParams {
	return api.PubsubSubscribeParams{Channels: names}
}

// sidecar starts a sidecar on a store.
func sidecar(t *testing.T, url string) *coordtest.Sidecar {
	t.Helper()
	return coordtest.New(t, luatest.Open(t, lua.Options{URL: url}), redistest.Prefix(t))
}
