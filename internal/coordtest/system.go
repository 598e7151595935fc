package coordtest

import (
	"context"
	"fmt"
	"reflect"
	"strconv"
	"testing"

	"github.com/hashicorp/go-msgpack/v2/codec"
	"github.com/stretchr/testify/require"

	"github.com/coxswain-sidecar/coxswain/client/api"
	"github.com/coxswain-sidecar/coxswain/internal/conformance"
	"github.com/coxswain-sidecar/coxswain/internal/coord"
	"github.com/coxswain-sidecar/coxswain/internal/coord/ratelimit"
	"github.com/coxswain-sidecar/coxswain/internal/lua"
	"github.com/coxswain-sidecar/coxswain/internal/luatest"
	"github.com/coxswain-sidecar/coxswain/internal/redis"
	"github.com/coxswain-sidecar/coxswain/internal/redistest"
	"github.com/coxswain-sidecar/coxswain/internal/rpc"
)

// System is two sidecars on one store, as the suites of package conformance need it.
type System struct {
	*conformance.Clock
	Sidecars [2]*Sidecar
	direct   bool
}

// NewDirectSystem is NewRulesSystem, but every call whose method has a direct path takes it.
func NewDirectSystem(t testing.TB, url string) *System {
	t.Helper()
	s := NewRulesSystem(t, url, false)
	s.direct = true
	return s
}

// NewSystem starts a system whose rules are only those of files.
func NewSystem(t testing.TB, url string) *System {
	t.Helper()
	return newSystem(t, url, false, func(*Sidecar) {})
}

// NewRulesSystem starts a system whose sidecars also use the rules in Redis. Deaf ones receive no broadcasts.
func NewRulesSystem(t testing.TB, url string, deaf bool) *System {
	t.Helper()
	return newSystem(t, url, deaf, func(s *Sidecar) {
		o := ratelimit.RuntimeRulesOptions{}
		if !deaf {
			o.Signals = s.Signals
		}
		s.FollowRules(t, o)
	})
}

func newSystem(t testing.TB, url string, deaf bool, begin func(*Sidecar)) *System {
	t.Helper()
	s := &System{Clock: conformance.NewClock()}
	prefix := redistest.Prefix(t)
	var r *lua.Runner
	for i := range s.Sidecars {
		// An embedded store belongs to its runner, so that both sidecars share one runner.
		if r == nil || url != redis.Embedded {
			r = luatest.Open(t, lua.Options{URL: url, Clock: s.Micros})
		}
		s.Sidecars[i] = NewWith(t, r, prefix, Options{Clock: s.Clock, Deaf: deaf})
		begin(s.Sidecars[i])
		s.Sidecars[i].Fleet.Start()
		t.Cleanup(func() { _ = s.Sidecars[i].Fleet.Stop(context.Background()) }) // Redis may be away by now
	}
	return s
}

// Connect implements conformance.System.
func (s *System) Connect(t testing.TB, sidecar int, name string) conformance.Client {
	t.Helper()
	c := s.Sidecars[sidecar].connect(t, name)
	c.direct = s.direct
	return c
}

// SetFile implements conformance.RulesSystem.
func (s *System) SetFile(t testing.TB, sidecar int, precedence string, rules ...api.Rule) {
	t.Helper()
	require.NoError(t, s.Sidecars[sidecar].Rules.SetFirst(rules, s.Now().UnixMilli(), ratelimit.Precedence(precedence)))
}

// Connect opens a client of this sidecar, as conformance.System.Connect does.
func (s *Sidecar) Connect(t testing.TB, name string) conformance.Client { return s.connect(t, name) }

// ConnectTo is Connect for a client that receives notifications.
func (s *Sidecar) ConnectTo(t testing.TB, name string, o coord.Outlet) conformance.Client {
	c := s.connect(t, name)
	c.session.Outlet = o
	return c
}

func (s *Sidecar) connect(t testing.TB, name string) *client {
	c := &client{sidecar: s, lost: make(chan api.LostParams, 100)}
	c.session = s.Leases.Open(coord.Identity{Client: name, Instance: "conformance"}, func(l coord.Loss) {
		c.lost <- api.LostParams{Name: l.Name, Token: l.Token, Fence: fence(l.Fence), Reason: l.Reason}
	})
	c.open, c.end = context.WithCancel(context.Background())
	t.Cleanup(c.Close)
	return c
}

// client makes calls from wire values, as package rpc does.
type client struct {
	sidecar *Sidecar
	session *coord.Session
	lost    chan api.LostParams
	// open is the context of the connection, whose end cancels its calls.
	open   context.Context
	end    context.CancelFunc
	direct bool
}

// Do carries out a call of a method that a noun lists, as package rpc does. The call ends at the latest with the
// connection.
func (c *client) Do(ctx context.Context, id, method string, params, result any) error {
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	defer context.AfterFunc(c.open, cancel)()
	call, err := c.sidecar.invocation(method)
	if err != nil {
		return err
	}
	var b []byte
	if err := codec.NewEncoderBytes(&b, &codec.MsgpackHandle{WriteExt: true}).Encode(params); err != nil {
		return err
	}
	if err := rpc.ReadParams(b, call.Params()); err != nil {
		return err
	}
	who := coord.Caller{Session: c.session}
	if id != "" {
		who.RequestID, who.Fingerprint = id, fmt.Sprintf("%s %+v", method, params)
	}
	if halves, ok := call.(coord.DirectInvocation); ok && c.direct {
		err = carryOut(ctx, halves, who)
	} else {
		err = call.Run(ctx, who)
	}
	if err != nil {
		return coord.Wire(err)
	}
	reflect.ValueOf(result).Elem().Set(reflect.ValueOf(call.Result()).Elem())
	return nil
}

// carryOut runs a call on the direct path, as package rpc does.
func carryOut(ctx context.Context, call coord.DirectInvocation, who coord.Caller) error {
	defer call.Forget()
	switch prepared, err := call.Prepare(who); {
	case err != nil, prepared == coord.Known:
		return err
	case prepared == coord.Elsewhere:
		return call.Run(ctx, who)
	}
	run, s := call.Asked(), &submitted{call: call, ended: make(chan struct{})}
	if run.Ready() == nil || !run.Submit(nil, s) {
		return call.Finish(ctx)
	}
	gone := ctx.Done()
	if call.OwnTime() {
		gone = nil
	}
	select {
	case <-gone:
		if run.Abandon(ctx.Err()) {
			return call.Finish(ctx)
		}
		<-s.ended
	case <-s.ended:
	}
	if s.more {
		return call.Finish(ctx)
	}
	return s.err
}

// submitted is a call whose script was submitted.
type submitted struct {
	call  coord.DirectInvocation
	ended chan struct{}
	more  bool
	err   error
}

// Done implements coord.Completion. It reads the answer on the goroutine that reads Redis's reply, as package rpc does.
func (s *submitted) Done() coord.Flusher {
	s.more, s.err = s.call.Answer()
	close(s.ended)
	return nil
}

// invocation returns a call of the method with this name.
func (s *Sidecar) invocation(method string) (coord.Invocation, error) {
	for _, m := range s.methods {
		if m.Name == method {
			return m.New(), nil
		}
	}
	return nil, fmt.Errorf("no noun lists %s", method)
}

// Lost implements conformance.Client.
func (c *client) Lost() <-chan api.LostParams { return c.lost }

// Close implements conformance.Client.
func (c *client) Close() {
	c.end()
	c.session.End(context.Background())
	c.sidecar.Leases.Close(context.Background(), c.session)
}

func fence(n int64) string {
	if n == 0 {
		return ""
	}
	return strconv.FormatInt(n, 10)
}
