package rpc_test

import (
	"context"
	"errors"
	"fmt"
	"math"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/coxswain-sidecar/coxswain/client/api"
	"github.com/coxswain-sidecar/coxswain/internal/coord"
	"github.com/coxswain-sidecar/coxswain/internal/rpc"
)

// gate is a method whose calls wait until the test lets them return.
type gate struct {
	// entered receives the context of each call that runs; each error sent to open lets one call return.
	entered chan context.Context
	open    chan error
	// deaf makes calls ignore that they are cancelled.
	deaf bool
}

func newGate() *gate {
	return &gate{entered: make(chan context.Context, 100), open: make(chan error, 100)}
}

type gateParams struct {
	Note string `codec:"note,omitempty" maxlen:"1000000" doc:"any text"`
}

type gateResult struct {
	Note string `codec:"note" doc:"the text"`
}

func (g *gate) run(ctx context.Context, p *gateParams) (gateResult, error) {
	g.entered <- ctx
	done := ctx.Done()
	if g.deaf {
		done = nil
	}
	select {
	case err := <-g.open:
		return gateResult{p.Note}, err
	case <-done:
		return gateResult{}, fmt.Errorf("gate: %w", ctx.Err())
	}
}

// method returns the gate as an entry with this name.
func (g *gate) method(name string, flags ...string) rpc.Entry {
	return rpc.On(rpc.NewMethod[gateParams, gateResult](api.Spec{Name: name, Notify: name == "gate.notify"}), g.run, flags...)
}

func TestRepliesComeInAnyOrder(t *testing.T) {
	t.Parallel()
	g := newGate()
	p := serve(t, rpc.Options{}, g.method("gate.wait")).dial(t)
	p.send(request(t, 1, "gate.wait", m{"note": "a"}))
	<-g.entered
	p.alive()
	g.open <- nil
	id, err, result := p.reply()
	require.EqualValues(t, 1, id)
	require.Nil(t, err)
	require.Equal(t, m{"note": "a"}, result)
}

func TestCallsOfOneReadRunSideBySide(t *testing.T) {
	t.Parallel()
	g := newGate()
	p := serve(t, rpc.Options{}, g.method("gate.wait")).dial(t)
	p.send(request(t, 1, "gate.wait"), request(t, 2, "gate.wait"), request(t, 3, "session.ping"), request(t, 4, "gate.wait"))
	id, _, _ := p.reply()
	require.EqualValues(t, 3, id, "the ping is answered first")
	for range 3 {
		<-g.entered
	}
	for range 3 {
		g.open <- nil
	}
	seen := map[any]bool{}
	for range 3 {
		id, err, _ := p.reply()
		require.Nil(t, err)
		seen[id] = true
	}
	require.Len(t, seen, 3)
}

func TestAMsgidInFlightTwiceClosesTheConnection(t *testing.T) {
	t.Parallel()
	g := newGate()
	b := serve(t, rpc.Options{}, g.method("gate.wait"))
	for _, second := range [][]byte{
		request(t, 5, "gate.wait"),
		request(t, 5, "session.ping"),
		request(t, 5.0, "no.such"),
		unhex(t, "9400d3000000000000000590"+"90"), // the same msgid with another width, and an empty method
	} {
		p := b.dial(t)
		p.send(request(t, 5, "gate.wait"))
		ctx := <-g.entered
		p.send(second)
		p.closed()
		<-ctx.Done()
	}
	require.Contains(t, b.log.String(), "duplicate msgid")

	p := b.dial(t)
	for range 3 { // the msgid of an answered request may be used again
		p.send(request(t, 5, "gate.wait"))
		<-g.entered
		g.open <- nil
		_, err, _ := p.reply()
		require.Nil(t, err)
	}
}

func TestCancel(t *testing.T) {
	t.Parallel()
	g := newGate()
	p := serve(t, rpc.Options{}, g.method("gate.wait")).dial(t)
	for _, c := range []struct {
		id     any
		cancel []byte
	}{
		{9, notification(t, "rpc.cancel", []any{9})},
		{9, notification(t, "$/cancelRequest", []any{9.0})},
		{9, notification(t, "rpc.cancel", m{"msgid": 9})},
		{9, notification(t, "rpc.cancel", []any{m{"_x": 1, "msgid": 9}})},
		{9, notification(t, "$/cancelRequest", m{"id": 9})},
		{9, notification(t, "$/cancelRequest", []any{m{"id": 9}})},
		{-3, notification(t, "rpc.cancel", []any{-3})},
		{uint64(math.MaxUint64), notification(t, "rpc.cancel", []any{uint64(math.MaxUint64)})},
	} {
		p.send(request(t, c.id, "gate.wait"))
		ctx := <-g.entered
		p.send(c.cancel)
		<-ctx.Done()
		_, err, _ := p.reply()
		require.Contains(t, errorText(t, err), "CANCELLED: ")
	}
	// A cancel that names no call in flight, or that cannot be read, is dropped without a reply.
	p.send(
		notification(t, "rpc.cancel", []any{77}), notification(t, "rpc.cancel", []any{"x"}),
		notification(t, "rpc.cancel", []any{1, 2}), notification(t, "rpc.cancel", m{}), notification(t, "rpc.cancel", nil),
	)
	p.alive()
}

func TestACancelledCallThatFinishedAnswersItsResult(t *testing.T) {
	t.Parallel()
	g := newGate()
	g.deaf = true
	p := serve(t, rpc.Options{}, g.method("gate.wait")).dial(t)
	p.send(request(t, 1, "gate.wait", m{"note": "done"}))
	ctx := <-g.entered
	p.send(notification(t, "rpc.cancel", []any{1}))
	<-ctx.Done()
	g.open <- nil
	_, err, result := p.reply()
	require.Nil(t, err)
	require.Equal(t, m{"note": "done"}, result)
}

// While all goroutines for calls are busy, calls wait in a queue. They run in order,
// and a cancelled one is answered at once and never runs.
func TestQueuedCalls(t *testing.T) {
	t.Parallel()
	g := newGate()
	b := serve(t, rpc.Options{}, g.method("gate.wait"))
	b.SetRunning(1)
	p, other := b.dial(t), b.dial(t)
	p.send(request(t, 1, "gate.wait", m{"note": "1"}))
	<-g.entered
	for id := 2; id <= 5; id++ {
		p.send(request(t, id, "gate.wait", m{"note": fmt.Sprint(id)}))
	}
	p.send(notification(t, "rpc.cancel", []any{3}))
	id, err, _ := p.reply()
	require.EqualValues(t, 3, id)
	require.Contains(t, errorText(t, err), "CANCELLED: ")
	other.alive()

	for _, want := range []int{1, 2, 4, 5} {
		g.open <- nil
		id, err, result := p.reply()
		require.Nil(t, err)
		require.EqualValues(t, want, id)
		require.Equal(t, m{"note": fmt.Sprint(want)}, result)
	}
	require.Len(t, g.entered, 3, "the cancelled call was not run")
}

func TestAQueuedCallWhoseTimeIsUpIsNotRun(t *testing.T) {
	t.Parallel()
	g := newGate()
	b := serve(t, rpc.Options{}, g.method("gate.wait"))
	b.SetRunning(1)
	p := b.dial(t)
	p.send(request(t, 1, "gate.wait"))
	<-g.entered
	p.send(request(t, 2, "gate.wait", m{"_deadline_ms": 0}))
	p.alive() // so the call was read, and is in the queue
	g.open <- nil
	p.reply()
	_, err, _ := p.reply()
	require.Contains(t, errorText(t, err), "DEADLINE_EXCEEDED: ")
	require.Empty(t, g.entered)
}

func TestDeadlines(t *testing.T) {
	t.Parallel()
	g := newGate()
	p := serve(t, rpc.Options{DefaultDeadline: api.DefaultDeadlineMS * time.Millisecond}, g.method("gate.wait")).dial(t)
	left := func(params m) time.Duration {
		p.send(request(t, 1, "gate.wait", params))
		ctx := <-g.entered
		deadline, ok := ctx.Deadline()
		require.True(t, ok)
		g.open <- nil
		p.reply()
		return time.Until(deadline)
	}
	require.LessOrEqual(t, left(m{}), 5*time.Second)
	require.LessOrEqual(t, left(m{"_deadline_ms": 60_000}), time.Minute)
	require.Greater(t, left(m{"_deadline_ms": 60_000}), 5*time.Second)
	require.LessOrEqual(t, left(m{"_deadline_ms": 1_000_000}), 70*time.Second)

	_, err := p.call("gate.wait", m{"_deadline_ms": 1})
	require.Contains(t, err, "DEADLINE_EXCEEDED: ")
}

func TestClosingCancelsTheCalls(t *testing.T) {
	t.Parallel()
	g := newGate()
	b := serve(t, rpc.Options{}, g.method("gate.wait"))
	p := b.dial(t)
	p.send(request(t, 1, "gate.wait"), request(t, 2, "gate.wait"))
	first, second := <-g.entered, <-g.entered
	require.NoError(t, p.conn.Close())
	<-first.Done()
	<-second.Done()
	eventually(t, "the connection is forgotten", func() bool { return b.Connections() == 0 })
}

// Beyond max_inflight, calls that acquire are refused. Calls that give back have a bound of their own.
func TestOverload(t *testing.T) {
	t.Parallel()
	g, back := newGate(), newGate()
	b := serve(t, rpc.Options{Limits: api.Limits{MaxInflight: 2}},
		g.method("gate.take", "acquires"), back.method("gate.back"), back.method("gate.notify"))
	p := b.dial(t)
	p.send(request(t, 1, "gate.take"), request(t, 2, "gate.take"), request(t, 3, "gate.take"))
	id, err, _ := p.reply()
	require.EqualValues(t, 3, id)
	require.Contains(t, errorText(t, err), "OVERLOADED: ")
	<-g.entered
	<-g.entered

	p.send(request(t, 4, "gate.back"), request(t, 5, "gate.back"), request(t, 6, "gate.back"))
	id, err, _ = p.reply()
	require.EqualValues(t, 6, id, "its own bound, though not at the cost of memory")
	require.Contains(t, errorText(t, err), "OVERLOADED: ")
	<-back.entered
	<-back.entered

	// The client of a notification gets no error and would not repeat it, so it runs in any case.
	p.send(notification(t, "gate.notify", nil), notification(t, "rpc.cancel", []any{1}))
	<-back.entered
	back.open <- nil
	p.reply() // of the call that returned, or of the cancelled one
	for range 2 {
		back.open <- nil
	}
	for range 2 {
		p.reply()
	}
	p.alive()
}

func TestPanicsAreInternalAndLogged(t *testing.T) {
	t.Parallel()
	type none struct{}
	boom := rpc.NewMethod[none, none](api.Spec{Name: "test.boom"})
	foreign := rpc.NewMethod[none, none](api.Spec{Name: "test.foreign"})
	b := serve(t, rpc.Options{},
		rpc.On(boom, func(context.Context, *none) (none, error) { panic("secret state") }),
		rpc.On(foreign, func(context.Context, *none) (none, error) {
			return none{}, errors.New("dial 10.0.0.7: hunter2")
		}, "instant"))
	p := b.dial(t)
	_, err := p.call("test.boom")
	require.Equal(t, "INTERNAL: a fault of the sidecar; its log has the cause", err)
	_, err = p.call("test.foreign")
	require.Equal(t, "INTERNAL: a fault of the sidecar; its log has the cause", err)
	p.alive()
	log := b.log.String()
	require.Contains(t, log, "secret state")
	require.Contains(t, log, "conn_test.go", "the stack")
	require.Contains(t, log, "hunter2")
}

func TestMaybeExecutedReachesTheClient(t *testing.T) {
	t.Parallel()
	g := newGate()
	p := serve(t, rpc.Options{}, g.method("gate.wait")).dial(t)
	lost := &coord.Error{Code: api.Unavailable, Err: errors.New("eof"), MaybeExecuted: true}
	g.open <- lost
	_, err := p.call("gate.wait")
	require.Contains(t, err, "UNAVAILABLE: maybe executed: ")

	p.must("session.hello", m{"errors": "map"})
	g.open <- lost
	p.send(request(t, 1, "gate.wait"))
	_, e, _ := p.reply()
	require.Equal(t, m{"maybe_executed": true}, e.(m)["details"])
	require.Equal(t, true, e.(m)["retryable"])
}

func TestHelloChoosesTheFormOfErrors(t *testing.T) {
	t.Parallel()
	p := serveAll(t).dial(t)
	_, err := p.call("no.such")
	require.Contains(t, err, "METHOD_NOT_FOUND: ")

	hello := p.must("session.hello", m{"client": "test", "errors": "map"})
	require.Equal(t, "coxswain", hello["server"])
	require.Equal(t, "1.2.3", hello["version"])
	require.EqualValues(t, api.ProtocolVersion, hello["protocol"])
	require.NotEmpty(t, hello["session"])
	require.Len(t, hello["methods"], len(api.Methods()))
	require.EqualValues(t, 1<<20, hello["limits"].(m)["max_frame_bytes"])

	p.send(request(t, 1, "lock.aquire"))
	_, e, _ := p.reply()
	require.Equal(t, m{
		"code": "METHOD_NOT_FOUND", "message": "lock.aquire: no such method; did you mean lock.acquire?", "retryable": false,
	}, e)

	p.must("session.hello")
	_, err = p.call("no.such")
	require.Contains(t, err, "METHOD_NOT_FOUND: ", "the list is the default again")
}

func TestAdminMethods(t *testing.T) {
	t.Parallel()
	type none struct{}
	admin := func() rpc.Entry {
		m := rpc.NewMethod[none, none](api.Spec{Name: "test.admin", Admin: true})
		return rpc.On(m, func(context.Context, *none) (none, error) { return none{}, nil }, "instant")
	}
	_, err := serve(t, rpc.Options{}, admin()).dial(t).call("test.admin")
	require.Empty(t, err)
	_, err = serve(t, rpc.Options{AdminOff: true}, admin()).dial(t).call("test.admin")
	require.Contains(t, err, "PERMISSION_DENIED: test.admin: ")
	_, err = serve(t, rpc.Options{AdminUIDs: []int{-7}}, admin()).dial(t).call("test.admin")
	require.Contains(t, err, "PERMISSION_DENIED: test.admin: ")
}
