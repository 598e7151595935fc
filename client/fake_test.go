package client_test

import (
	"bufio"
	"cmp"
	"context"
	"fmt"
	"net"
	"path/filepath"
	"sync"
	"testing"

	"github.com/hashicorp/go-msgpack/v2/codec"
	"github.com/stretchr/testify/require"

	"github.com/coxswain-sidecar/coxswain/client"
	"github.com/coxswain-sidecar/coxswain/client/api"
)

// fake is a sidecar that answers what a test says. It speaks the protocol by a
// plain MessagePack library, as a foreign program would.
type fake struct {
	t      testing.TB
	hello  map[string]any
	frames chan frame // every frame but hello, in order
	// greeted, if set, hears the params of each hello.
	greeted func(map[string]any)

	// answering is held while an answer is made: answers may share what they like,
	// and a test that looks at it takes this too.
	answering sync.Mutex

	mu      sync.Mutex // guards what follows
	answers map[string]func(frame) (result, err any)
	conns   []*peer
	wg      sync.WaitGroup
}

// frame is one frame of a client.
type frame struct {
	peer   *peer
	kind   int64
	msgid  any
	method string
	params map[string]any
	list   []any // params, when they are no map
}

// peer is one connection of a client.
type peer struct {
	f  *fake
	nc net.Conn
	// ended is closed when the client closed the connection.
	ended chan struct{}
	mu    sync.Mutex // guards writes
}

func testHandle() *codec.MsgpackHandle {
	h := &codec.MsgpackHandle{WriteExt: true, PositiveIntUnsigned: true}
	h.MapType = nil
	h.SignedInteger = true
	return h
}

func newFake(t testing.TB) *fake {
	return &fake{
		t: t, frames: make(chan frame, 1024),
		hello: map[string]any{
			"server": "fake", "version": "0", "protocol": 1, "session": "s", "limits": map[string]any{"max_frame_bytes": 1 << 20, "max_inflight": 1024},
		},
		answers: map[string]func(frame) (any, any){
			"session.ping": func(frame) (any, any) { return map[string]any{"now_at_ms": 1767225600000}, nil },
		},
	}
}

// listen serves a socket of the test's folder.
func (f *fake) listen() string {
	path := filepath.Join(f.t.TempDir(), "s.sock")
	f.listenAt(path)
	return path
}

// listenAt serves a socket until the test ends, or stop.
func (f *fake) listenAt(path string) (stop func()) {
	l, err := net.Listen("unix", path)
	require.NoError(f.t, err)
	f.wg.Go(func() {
		for {
			nc, err := l.Accept()
			if err != nil {
				return
			}
			f.wg.Go(func() { f.serve(nc) })
		}
	})
	stop = func() {
		_ = l.Close()
		f.closeAll()
		f.wg.Wait()
	}
	f.t.Cleanup(stop)
	return stop
}

// pipe serves in-memory connections: they work in a synctest bubble.
func (f *fake) pipe(context.Context) (net.Conn, error) {
	ours, theirs := net.Pipe()
	f.wg.Go(func() { f.serve(ours) })
	return theirs, nil
}

func (f *fake) serve(nc net.Conn) {
	p := &peer{f: f, nc: nc, ended: make(chan struct{})}
	f.mu.Lock()
	f.conns = append(f.conns, p)
	f.mu.Unlock()
	d := codec.NewDecoder(bufio.NewReader(nc), testHandle())
	for {
		var v []any
		if d.Decode(&v) != nil {
			_ = nc.Close()
			close(p.ended)
			return
		}
		f.handle(p, v)
	}
}

// serveHello answers the first frame and reads no more.
func (f *fake) serveHello(nc net.Conn) {
	var v []any
	d := codec.NewDecoder(bufio.NewReader(nc), testHandle())
	require.NoError(f.t, d.Decode(&v))
	f.handle(&peer{f: f, nc: nc, ended: make(chan struct{})}, v)
}

// socketPair is a connection over a real socket: what a client may dial, and the other end.
func socketPair(t testing.TB) (ours, theirs net.Conn) {
	l, err := net.Listen("unix", filepath.Join(t.TempDir(), "s.sock"))
	require.NoError(t, err)
	defer l.Close()
	ours, err = net.Dial("unix", l.Addr().String())
	require.NoError(t, err)
	theirs, err = l.Accept()
	require.NoError(t, err)
	t.Cleanup(func() { _ = ours.Close(); _ = theirs.Close() })
	return ours, theirs
}

func (f *fake) handle(p *peer, v []any) {
	fr := frame{peer: p, kind: v[0].(int64)}
	rest := v[1:]
	if fr.kind == 0 {
		fr.msgid, rest = v[1], v[2:]
	}
	fr.method = rest[0].(string)
	fr.list, _ = rest[1].([]any)
	if len(fr.list) == 1 {
		fr.params, _ = stringKeys(fr.list[0]).(map[string]any)
	}
	if fr.method == api.SessionHello.Name {
		if f.greeted != nil {
			f.greeted(fr.params)
		}
		p.reply(fr.msgid, f.hello, nil)
		return
	}
	f.frames <- fr
	f.mu.Lock()
	answer := f.answers[fr.method]
	f.mu.Unlock()
	if answer != nil && fr.kind == 0 {
		f.answering.Lock()
		result, err := answer(fr)
		f.answering.Unlock()
		if result != nil || err != nil {
			p.reply(fr.msgid, result, err)
		}
	}
}

// on sets the answer to a method; two nils = none.
func (f *fake) on(method string, answer func(frame) (result, err any)) {
	f.mu.Lock()
	defer f.mu.Unlock()
	f.answers[method] = answer
}

func (f *fake) closeAll() {
	f.mu.Lock()
	defer f.mu.Unlock()
	for _, p := range f.conns {
		_ = p.nc.Close()
	}
}

// next is the next frame of that method; others before it are dropped.
func (f *fake) next(method string) frame {
	for fr := range f.frames {
		if fr.method == method {
			return fr
		}
	}
	return frame{}
}

func (p *peer) reply(msgid, result, err any) { p.send([]any{1, msgid, err, result}) }

func (p *peer) notify(method string, params any) { p.send([]any{2, method, []any{params}}) }

func (p *peer) send(v any) {
	var b []byte
	if err := codec.NewEncoderBytes(&b, testHandle()).Encode(v); err != nil {
		panic(err)
	}
	p.write(b)
}

func (p *peer) write(b []byte) {
	p.mu.Lock()
	defer p.mu.Unlock()
	_, _ = p.nc.Write(b) // a client that has gone is a case of its own
}

func stringKeys(v any) any {
	switch v := v.(type) {
	case map[any]any:
		m := make(map[string]any, len(v))
		for k, x := range v {
			m[fmt.Sprint(k)] = stringKeys(x)
		}
		return m
	case []any:
		for i := range v {
			v[i] = stringKeys(v[i])
		}
	}
	return v
}

// dial connects a client to the fake for the test's time.
func dial(t testing.TB, socket string, o client.Options) *client.Client {
	t.Helper()
	o.Socket, o.Timeout = socket, cmp.Or(o.Timeout, patience)
	c, err := client.Dial(t.Context(), o)
	require.NoError(t, err)
	t.Cleanup(func() { require.NoError(t, c.Close()) })
	return c
}
