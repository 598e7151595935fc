package stream_test

import (
	"context"
	"errors"
	"strconv"
	"sync"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/coxswain-sidecar/coxswain/client/api"
	"github.com/coxswain-sidecar/coxswain/internal/conformance"
	"github.com/coxswain-sidecar/coxswain/internal/coord"
	"github.com/coxswain-sidecar/coxswain/internal/coord/stream"
	"github.com/coxswain-sidecar/coxswain/internal/coordtest"
	"github.com/coxswain-sidecar/coxswain/internal/lua"
	"github.com/coxswain-sidecar/coxswain/internal/luatest"
	"github.com/coxswain-sidecar/coxswain/internal/redistest"
)

// patience bounds a wait in a test that fails. No outcome depends on it.
const patience = time.Minute

// fleet makes sidecars on one store. Its stream is jobs, its group workers.
type fleet struct {
	t      *testing.T
	runner *lua.Runner
	prefix string
}

// onStores runs a test on the embedded store and on Redis.
func onStores(t *testing.T, test func(t *testing.T, f *fleet)) {
	t.Helper()
	t.Parallel()
	redistest.Stores(t, func(t *testing.T, url string) {
		t.Parallel()
		test(t, newFleet(t, url))
	})
}

// onRedis runs a test on Redis.
func onRedis(t *testing.T) *fleet {
	t.Helper()
	t.Parallel()
	return newFleet(t, redistest.URL(t))
}

func newFleet(t *testing.T, url string) *fleet {
	return &fleet{t, luatest.Open(t, lua.Options{URL: url}), redistest.Prefix(t)}
}

func (f *fleet) sidecar() *coordtest.Sidecar { return coordtest.New(f.t, f.runner, f.prefix) }

// publish adds messages and returns their ids.
func (f *fleet) publish(bodies ...string) (ids []string) {
	f.t.Helper()
	keys, delayed := f.keys()
	for _, body := range bodies {
		text, err := stream.Pack(f.t.Context(), body)
		require.NoError(f.t, err)
		out, err := lua.Run(f.t.Context(), f.runner, stream.PublishScript, stream.PublishIn{
			Keys: keys, DelayedKeys: delayed, Message: text, Broadcast: coord.NewKeys(f.prefix, "").Broadcast(),
		}, lua.StoredReply{})
		require.NoError(f.t, err)
		ids = append(ids, out.Value.ID)
	}
	return ids
}

func (f *fleet) keys() (stream.Keys, stream.DelayedKeys) {
	return stream.KeysOf(coord.NewKeys(f.prefix, ""), "jobs")
}

// pending acknowledges a message without a sidecar, and reports whether it was pending.
func (f *fleet) pending(id string) bool {
	f.t.Helper()
	out, err := lua.Run(f.t.Context(), f.runner, stream.AckScript, stream.AckOf(coord.NewKeys(f.prefix, ""), "jobs", "workers", id), lua.StoredReply{})
	require.NoError(f.t, err)
	return out.Value
}

// consumer is a client, with the messages that it was sent.
type consumer struct {
	conformance.Client
	t *testing.T
	*outlet
}

// connect connects a client.
func connect(t *testing.T, s *coordtest.Sidecar) *consumer {
	o := &outlet{sent: make(chan api.StreamMessage, 100_000)}
	c := &consumer{s.ConnectTo(t, "consumer", o), t, o}
	return c
}

// do makes a call.
func do[P, R any](c *consumer, m api.Method[P, R], p P) (r R, err error) {
	ctx, cancel := context.WithTimeout(c.t.Context(), patience)
	defer cancel()
	err = c.Do(ctx, "", m.Name, &p, &r)
	return r, err
}

func must[P, R any](c *consumer, m api.Method[P, R], p P) R {
	c.t.Helper()
	r, err := do(c, m, p)
	require.NoError(c.t, err)
	return r
}

// subscribe subscribes to workers of jobs.
func (c *consumer) subscribe(p api.StreamSubscribeParams) string {
	c.t.Helper()
	p.Stream, p.Group = "jobs", "workers"
	return must(c, api.StreamSubscribe, p).Subscription
}

func (c *consumer) ack(id string) bool {
	c.t.Helper()
	return must(c, api.StreamAck, api.StreamMessageParams{Stream: "jobs", Group: "workers", ID: id}).Acked
}

func (c *consumer) nack(id string, delayMS int64) api.StreamNackResult {
	c.t.Helper()
	return must(c, api.StreamNack, api.StreamNackParams{Stream: "jobs", Group: "workers", ID: id, DelayMS: delayMS})
}

// next waits for a message.
func (c *consumer) next() api.StreamMessage {
	c.t.Helper()
	select {
	case m := <-c.sent:
		return m
	case <-time.After(patience):
		c.t.Fatal("no message comes")
		return api.StreamMessage{}
	}
}

// bodies waits for n messages and returns their bodies.
func (c *consumer) bodies(n int) (all []string) {
	c.t.Helper()
	for range n {
		all = append(all, string(c.next().Body))
	}
	return all
}

// outlet is a client that reads when the test says so.
type outlet struct {
	sent chan api.StreamMessage

	mu    sync.Mutex // guards what follows
	room  int        // for so many notifications; negative = unbounded
	some  bool       // room is set
	gone  bool
	wants []func()
}

// Notify implements coord.Outlet.
func (o *outlet) Notify(e *api.Spec, params any) coord.Told {
	o.mu.Lock()
	defer o.mu.Unlock()
	switch {
	case o.gone:
		return coord.ToldGone
	case o.some && o.room == 0:
		return coord.ToldFull
	}
	if o.some {
		o.room--
	}
	m, ok := params.(api.StreamMessage)
	if !ok || e.Name != "stream.message" {
		panic("not a message: " + e.Name)
	}
	o.sent <- m
	return coord.ToldSent
}

// Flush implements coord.Outlet.
func (o *outlet) Flush() {}

// WhenRoom implements coord.Outlet.
func (o *outlet) WhenRoom(f func()) {
	o.mu.Lock()
	if o.some && o.room == 0 && !o.gone {
		o.wants = append(o.wants, f)
		o.mu.Unlock()
		return
	}
	o.mu.Unlock()
	f()
}

// read makes room for n messages.
func (o *outlet) read(n int) {
	o.mu.Lock()
	o.some, o.room = true, n
	wants := o.wants
	if n > 0 {
		o.wants = nil
	}
	o.mu.Unlock()
	for _, f := range wants {
		if n > 0 {
			f()
		}
	}
}

// waiting reports whether WhenRoom was called and its function has not run.
func (o *outlet) waiting() bool {
	o.mu.Lock()
	defer o.mu.Unlock()
	return len(o.wants) > 0
}

// hangUp closes the connection; the session is notified later.
func (o *outlet) hangUp() {
	o.mu.Lock()
	defer o.mu.Unlock()
	o.gone = true
}

// eventually waits until is returns true.
func eventually(t *testing.T, is func() bool) {
	t.Helper()
	require.Eventually(t, is, patience, time.Millisecond)
}

// numbered returns n texts.
func numbered(n int) (all []string) {
	for i := range n {
		all = append(all, strconv.Itoa(i))
	}
	return all
}

// requireCode requires an error with that code.
func requireCode(t *testing.T, err error, code api.Code) {
	t.Helper()
	var e *api.Error
	require.True(t, errors.As(err, &e), "%v", err)
	require.Equal(t, code, e.Code, "%v", err)
}

var background = context.Background()
